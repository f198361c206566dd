#!/usr/bin/python3
"""Does an event cost the same in a store of a million calls? tests/bench/growth.py --build build [--activities 1000000].

Folds the same burst into an empty store and into one that fill.py has filled, and prints the CPU time of the writer and
of the loop per event for both, and what the store's file is to the bytes of its payloads. Nothing is asserted."""

import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import time

from fill import fill

EVENTS = 20000


def hookd(build, top, *args):
    env = {"PATH": os.environ["PATH"], "HOME": str(top), "HOOKD_DIR": str(top)}
    return subprocess.run([str(build / "hookd"), *args], env=env, check=True, capture_output=True).stdout


def load(build, top, events):
    """Sends a burst and waits until it is folded; the status afterwards."""
    subprocess.run([str(build / "bench-tools/load"), "-m", "keep", "-c", "8", "-n", str(events), str(top / "run/hookd.sock")],
                   check=True, capture_output=True)
    until = time.monotonic() + 120
    hookd(build, top, "rpc", "sessions", '{"limit": 1}')  # whoever reads has everything folded first
    while True:
        status = json.loads(hookd(build, top, "status", "--json"))
        if status["journal"]["unfolded_records"] == 0 or time.monotonic() > until:
            return status
        time.sleep(0.05)


def burst(build, top):
    """CPU of loop and writer, in µs per event."""
    hookd(build, top, "start")
    # The store is checked when it is opened, and the writer counts its time at commits: the first burst takes both.
    before = load(build, top, 1000)
    after = load(build, top, EVENTS)
    hookd(build, top, "stop")
    return {k: (after["cpu"][k] - before["cpu"][k]) / EVENTS for k in ("loop_us", "writer_us")}


def ratio(top):
    """Bytes of the file to bytes of the payloads, of what went through hooks."""
    db = sqlite3.connect(top / "hookd.db")
    # A packed payload: the dictionary's number, then a zstd frame whose size stands behind its descriptor.
    payloads = sum(len(p.encode()) if isinstance(p, str) else int.from_bytes(p[6:8], "little") + 256 if p[5] >> 6 == 1 else p[6]
                   for (p,) in db.execute("SELECT payload FROM events"))
    db.close()
    return (top / "hookd.db").stat().st_size / payloads


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    a.add_argument("--activities", type=int, default=1000000)
    a = a.parse_args()
    build = a.build.resolve()
    empty, full = (pathlib.Path(tempfile.mkdtemp(prefix="hk.")) for _ in range(2))
    try:
        small = burst(build, empty)
        print(f"empty store: loop {small['loop_us']:.1f} µs, writer {small['writer_us']:.1f} µs per event; "
              f"the file is {ratio(empty):.2f} × its payloads")
        hookd(build, full, "start")
        hookd(build, full, "stop")
        fill(str(full / "hookd.db"), a.activities)
        # A million calls are more than the budget of a store; its reduction is not what is measured.
        (full / "config.json").write_text('{"store": {"max_mb": 100000}}')
        print(f"filled: {(full / 'hookd.db').stat().st_size >> 20} MB")
        large = burst(build, full)
        print(f"{a.activities:,} calls: loop {large['loop_us']:.1f} µs, writer {large['writer_us']:.1f} µs per event")
        print(f"writer {large['writer_us'] / small['writer_us']:.2f} × (goal 1.3), loop {large['loop_us'] / small['loop_us']:.2f} ×")
    finally:
        for top in (empty, full):
            shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
