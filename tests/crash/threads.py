#!/usr/bin/env python3
"""Drives a daemon built with ThreadSanitizer: threads.py --build build-tsan [--seconds 12].

Bursts from tests/bench/load.c, readers, an import's jobs, a backup, a purge and a rebuild at the same time, with both
durabilities. Fails when the sanitizer has anything to say."""
import argparse
import json
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import receiver as rc  # noqa: E402
import world as w  # noqa: E402

SRC = HERE.parent.parent / "src/common"


def build_load(folder):
    out = folder / "load"
    sources = [HERE.parent / "bench/load.c", *(SRC / s for s in ("wire/frame.c", "base/sha256.c", "base/str.c", "base/ulid.c"))]
    subprocess.run(["gcc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-I", str(SRC), "-o", str(out), *map(str, sources)], check=True)
    return out


def read(world, stop):
    calls = [("sessions", {}), ("events", {"limit": 50}), ("activities", {"limit": 50}), ("stats", {}), ("search", {"text": "orders"}),
             ("status", {}), ("sinks", {}), ("outbox", {}), ("purge_preview", {"match": "nothing"}), ("decisions", {})]
    n = 0
    while not stop.is_set():
        name, params = calls[n % len(calls)]
        world.hookd("rpc", name, json.dumps(params), ok=False)
        n += 1


def keep(world, stop):
    while not stop.is_set():
        for command in (["backup"], ["db", "rebuild"], ["purge", "--match", "no such text", "--yes"], ["retention"], ["reload"],
                        ["outbox", "retry"], ["outbox", "drop", "--state", "dead"], ["sinks", "test", "team"]):
            world.hookd(*command, ok=False, seconds=120)


def drive(build, durability, seconds):
    receiver = rc.Receiver("flaky", seed=1)
    world = w.World(build=build, env={"TSAN_OPTIONS": "exitcode=66 halt_on_error=0 second_deadlock_stack=1"})
    try:
        load = build_load(world.top)
        world.dir.mkdir(mode=0o700, exist_ok=True)
        (world.dir / "config.json").write_text(json.dumps({
            "durability": durability, "outbox": {"max": 200},
            "sinks": [receiver.sink(events=["PreToolUse", "PostToolUse", "stop"], timeout=5),
                      {"name": "log", "type": "file", "path": str(world.top / "events.jsonl"), "events": ["PreToolUse", "PostToolUse"]},
                      {"name": "prog", "type": "exec", "command": ["/bin/cat"], "events": ["PostToolUse"]}]}))
        said = open(world.top / "said", "wb")
        daemon = subprocess.Popen([str(build / "hookd"), "run", "--dir", str(world.dir)], env=world.env, stdout=said, stderr=said)
        world.started.append(daemon)
        w.wait_for(lambda: (world.dir / "run/hookd.sock").is_socket(), what="the daemon")
        stop = threading.Event()
        threads = [threading.Thread(target=f, args=(world, stop)) for f in (read, read, keep)]
        for t in threads:
            t.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            subprocess.run([str(load), "-m", "keep", "-c", "8", "-n", "400", "-t", "20", str(world.dir / "run/hookd.sock")],
                           check=True, stdout=subprocess.DEVNULL)
            subprocess.run([str(load), "-m", "fresh", "-c", "8", "-n", "100", "-t", "20", str(world.dir / "run/hookd.sock")],
                           check=True, stdout=subprocess.DEVNULL)
        stop.set()
        for t in threads:
            t.join()
        daemon.terminate()
        code = daemon.wait(60)
        text = (world.top / "said").read_text(errors="replace")
        sent = len(receiver.got)
        bad = not sent or code != 0 or "WARNING: ThreadSanitizer" in text
        print(f"{durability}: exit code {code}, {sent} requests, {text.count('WARNING: ThreadSanitizer')} findings")
        if bad:
            print(text[:8000])
        return not bad
    finally:
        world.close()
        receiver.close()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build-tsan")
    a.add_argument("--seconds", type=float, default=6)
    a = a.parse_args()
    build = pathlib.Path(a.build).resolve()
    return 0 if all([drive(build, d, a.seconds) for d in ("normal", "strict")]) else 1


if __name__ == "__main__":
    sys.exit(main())
