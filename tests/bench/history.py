#!/usr/bin/env python3
"""Figures of history: how fast it is imported, what that costs hooks, how fast it is searched.

    tests/bench/history.py [--build build] [--mb 120]

Makes transcripts of Claude Code in the proportions real ones have (prompts, thoughts, calls, results told twice,
attachments nobody needs), imports them with a private daemon, and measures. Times are of this machine at this
moment; the ratio of hookc to the floor is taken while an import runs, in turns.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
from bench import Place, Tools, run  # noqa: E402
from transcripts import Claude, lines  # noqa: E402

WORDS = None


def words(rng, n):
    """Words with the uneven frequencies of speech, so that searches meet common and rare ones."""
    global WORDS
    if WORDS is None:
        letters = "etaoinshrdlucmfwypvbgkqjxz"
        WORDS = ["".join(rng.choice(letters[:14]) for _ in range(rng.randint(2, 9))) for _ in range(20000)]
    return " ".join(WORDS[min(int(rng.paretovariate(0.7)), len(WORDS)) - 1] for _ in range(n))


def session(rng, number, prompts):
    c = Claude(f"{rng.getrandbits(32):08x}-0000-4000-8000-{number:012d}", cwd=f"/home/dev/p{number % 12}", start=number * 4000)
    for _ in range(prompts):
        c.prompt(words(rng, rng.randint(5, 60)))
        c.row("attachment", attachment={"type": "session_context", "content": words(rng, 200)}, rendered=[{"content": words(rng, 200)}])
        for _ in range(rng.randint(1, 9)):
            size = int(min(rng.lognormvariate(5, 1.2), 4000))
            kind = rng.random()
            if kind < 0.55:
                c.shell(f"{rng.choice(['make', 'grep -rn', 'git', 'ls', 'cargo'])} {words(rng, rng.randint(1, 8))}", words(rng, size))
            elif kind < 0.85:
                c.call("Read", {"file_path": f"{c.cwd}/src/{words(rng, 1)}.c"},
                       {"type": "text", "file": {"filePath": "x", "content": words(rng, size), "numLines": 40}})
            else:
                c.call("Edit", {"file_path": f"{c.cwd}/src/{words(rng, 1)}.c", "old_string": words(rng, 20), "new_string": words(rng, 20)},
                       {"filePath": "x", "oldString": words(rng, 20), "newString": words(rng, 20), "originalFile": words(rng, size)})
        c.answer(words(rng, rng.randint(20, 200)))
    return c


def make_texts(home, texts):
    """Prompts and commands alone, so many together; everything else is as small as it can be."""
    rng, n = random.Random(11), 0
    while n * 100 < texts:
        c = Claude(f"{rng.getrandbits(32):08x}-0000-4000-8000-{n:012d}", cwd=f"/home/dev/p{n % 12}", start=n * 400)
        for _ in range(50):
            c.prompt(words(rng, rng.randint(5, 60)))
            c.shell(words(rng, rng.randint(2, 12)), "", thought="")
        c.write(home, lines(c.rows))
        n += 1


def make(home, megabytes):
    rng, made, prompts, n = random.Random(7), 0, 0, 0
    while made < megabytes * 1e6:
        c = session(rng, n, rng.randint(3, 40))
        made += c.write(home, lines(c.rows)).stat().st_size
        prompts += c.count
        n += 1
    return n, prompts, made


def importing(p):
    begin = time.monotonic()
    q = subprocess.Popen([str(p.hookd), "import", "--json", str(p.home / ".claude")], env=p.env, stdout=subprocess.PIPE)
    out = q.stdout.read()
    _, status, usage = os.wait4(q.pid, 0)
    q.returncode = status
    took = time.monotonic() - begin
    return json.loads(out), took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def client_ratio(p, tools, echo, runs):
    out = json.loads(run([tools.spawn, "-n", runs, "-w", 5, "-t", 60, "-i", p.payload, "--", "floor", tools.floor, echo,
                          "--", "hookc", p.hookc, "claude", "PostToolUse"], p.env, 120))
    return out["hookc"]["wall_us"]["median"] / out["floor"]["wall_us"]["median"], out


def search_times(p, rng, n=200):
    """CPU of the daemon per search, by the kernel's count for the thread that answers."""
    queries = [words(rng, rng.randint(1, 3)) for _ in range(n)]
    times = []
    for q in queries:
        before = sum(p.proc_cpu_us()[1].values())
        run([p.hookd, "rpc", "search", json.dumps({"query": q})], p.env, 60)
        times.append((sum(p.proc_cpu_us()[1].values()) - before) / 1000)
    return times


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--build", default="build")
    a.add_argument("--mb", type=int, default=120)
    a.add_argument("--texts", type=int, default=100000)
    a.add_argument("--only", choices=["import", "search", "hooks"])
    args = a.parse_args()
    build = pathlib.Path(args.build).resolve()
    tools = Tools(build / "bench-tools")
    if args.only in (None, "import"):
        bench_import(build, tools, args)
    if args.only in (None, "search"):
        bench_search(build, tools, args)
    if args.only in (None, "hooks"):
        bench_hooks(build, tools, args)


def bench_import(build, tools, args):
    with Place(build, tools) as p:
        n, prompts, size = make(p.home, args.mb)
        print(f"{n} transcripts, {prompts} prompts, {size / 1e6:.0f} MB")
        p.start()
        whole_before = p.proc_cpu_us()[0]
        first, took, cpu, rss = importing(p)
        print(f"import     {size / 1e6 / took:6.1f} MB/s (goal 15): {first['new']} records in {took:.1f} s; CPU {cpu:.1f} s command,"
              f" {(p.proc_cpu_us()[0] - whole_before) / 1e6:.1f} s daemon; memory {rss:.0f} MB command, {p.rss() / 1e6:.0f} MB daemon")
        again, took, _, _ = importing(p)
        print(f"again      {again['new']} new, {again['unchanged']} of {again['files']} unchanged, {took:.2f} s")
        store = pathlib.Path(p.env["HOOKD_DIR"], "hookd.db").stat().st_size
        print(f"store      {store / 1e6:.0f} MB, {store / size:.2f} of the transcripts")


def bench_search(build, tools, args):
    with Place(build, tools) as p:
        make_texts(p.home, args.texts)
        p.start()
        importing(p)
        times = search_times(p, random.Random(3))
        print(f"search     {statistics.median(times):.1f} ms CPU median (goal 15), {sorted(times)[len(times) * 95 // 100]:.1f} at 95 %,"
              f" {max(times):.1f} worst, over {args.texts} prompts and commands")


def bench_hooks(build, tools, args):
    with Place(build, tools) as p:
        make(p.home, args.mb)
        p.start()
        echo = p.server("frames")
        quiet, _ = client_ratio(p, tools, echo, 100)
        q = subprocess.Popen([str(p.hookd), "import", "--json", str(p.home / ".claude")], env=p.env, stdout=subprocess.PIPE)
        time.sleep(0.3)
        busy, out = client_ratio(p, tools, echo, 300)
        running = q.poll() is None
        q.communicate()
        print(f"hooks      {busy:.2f} × floor during an import (goal 1.5; {quiet:.2f} without;"
              f" {'it was still running' if running else 'the import ended first: use more --mb'};"
              f" floor {out['floor']['wall_us']['median']:.0f} µs, hookc {out['hookc']['wall_us']['median']:.0f} µs)")


main()
