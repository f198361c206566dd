#!/usr/bin/python3
"""What indexing and searching code cost: code.py --build BUILD [--files N] [--tree DIRECTORY] [--json]

Without a tree, one is made of N files: this repository's own sources, again and again, each time with other names. It
is indexed on one core without vectors; then a daemon follows it while files are changed by events, and is asked.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from world import World, payload, wait_for  # noqa: E402

ENDINGS = (".c", ".h", ".py", ".js", ".md")
PROMPTS = ["why does the journal lose its last record when the disk is full", "where are children killed after a timeout",
           "fix the race between the writer and the reader of the store", "add a column to the table of sessions",
           "how are secrets removed from what is stored", "the guard denies a command that is harmless, find out why"]


def make_tree(top, count):
    sources = [p for p in sorted((ROOT / "src").rglob("*")) + sorted((ROOT / "tests").rglob("*.py")) if p.suffix in ENDINGS]
    texts = [(p.relative_to(ROOT), p.read_text(errors="replace")) for p in sources]
    for n in range(count):
        path, text = texts[n % len(texts)]
        turn = n // len(texts)
        if turn:  # names of its own, as other code would have
            text = re.sub(r"\b([a-z]{4,})_([a-z]{3,})\b", lambda m: f"{m[1]}{turn}_{m[2]}", text)
        to = top / f"part{turn}" / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)


def tree_bytes(top):
    return sum(p.stat().st_size for p in top.rglob("*") if p.is_file() and ".git" not in p.parts)


def measure_index(world, tree):
    """MB/s of source and CPU seconds on one core."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["taskset", "-c", "0", world.build / "hookd", "index", "--json", tree], env=world.env, check=True,
                   capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - began


def call(s, method, **params):
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
    got = b""
    while not got.endswith(b"\n"):
        got += s.recv(1 << 20)
    return json.loads(got)["result"]


def measure_change(world, tree, rounds):
    """Milliseconds from the event (a hook is run for it) until the file is found; the median and the worst."""
    s, took = world.connect(), []
    for n in range(rounds):
        path, word = tree / f"changed{n % 5}.py", f"wombat{n}x{os.getpid()}"
        path.write_text(f"def feed_{word}():\n    return {n}\n")
        event = payload("PostToolUse", cwd=str(tree), tool_name="Write", tool_use_id=f"b{n}", tool_input={"file_path": str(path)})
        began = time.monotonic()
        world.hookc("PostToolUse", event)
        while not call(s, "code", query=f"feed_{word}", project=str(tree), lines=0, limit=1)["hits"]:
            if time.monotonic() - began > 20:
                raise SystemExit("a changed file was not found within 20 s")
        took.append((time.monotonic() - began) * 1000)
        time.sleep(0.05)
    return sorted(took)[len(took) // 2], max(took)


def cpu_us(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000000 // os.sysconf("SC_CLK_TCK")


def measure_search(world, tree, rounds):
    """CPU microseconds of the daemon for one search, all included; wall milliseconds."""
    s, pid = world.connect(), world.pid()
    ask = lambda n: call(s, "recall", queries=[{"id": n, "query": PROMPTS[n % len(PROMPTS)], "project": str(tree)}], **{"in": "code"})
    ask(0)
    before, began = cpu_us(pid), time.monotonic()
    for n in range(rounds):
        ask(n)
    return (cpu_us(pid) - before) / rounds, (time.monotonic() - began) * 1000 / rounds


def rss_anon_mb(pid):
    return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--tree", type=pathlib.Path)
    parser.add_argument("--vectors", action="store_true", help="wait until every piece has its vector, then search")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    top = pathlib.Path(tempfile.mkdtemp(prefix="hookd-code."))
    world = World(build=args.build.resolve())
    try:
        tree = args.tree.resolve() if args.tree else top / "tree"
        if not args.tree:
            tree.mkdir()
            make_tree(tree, args.files)
        megabytes = tree_bytes(tree) / 1e6
        if not args.vectors:
            world.hookd("config", "set", "context.encoder", "false")
        cpu, wall = measure_index(world, tree)
        state = world.json("index", "status", "--json", tree)
        result = {"files": state["files"], "pieces": state["pieces"], "megabytes": round(megabytes, 1), "index_cpu_s": round(cpu, 2),
                  "index_wall_s": round(wall, 2), "mb_per_cpu_s": round(megabytes / cpu, 1)}
        world.start()
        world.hookc("SessionStart", payload("SessionStart", cwd=str(tree), source="startup"))
        scans = state["scans"]
        wait_for(lambda: world.json("index", "status", "--json", tree)["scans"] > scans, seconds=120, what="a scan")
        if args.vectors:
            wait_for(lambda: world.json("index", "status", "--json", tree)["vectors"] >= state["pieces"] * 0.95, seconds=3600)
        result["search_cpu_us"], result["search_wall_ms"] = [round(v, 2) for v in measure_search(world, tree, 200)]
        result["change_ms_median"], result["change_ms_worst"] = [round(v, 1) for v in measure_change(world, tree, 30)]
        result["daemon_rss_anon_mb"] = round(rss_anon_mb(world.pid()), 1)
        result["index_disk_mb"] = round(sum(p.stat().st_size for p in (world.dir / "code").rglob("*")) / 1e6, 1)
        print(json.dumps(result) if args.json else "\n".join(f"{k:>20} {v}" for k, v in result.items()))
    finally:
        world.close()
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
