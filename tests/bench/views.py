#!/usr/bin/python3
"""How fast readers answer from a large store: tests/bench/views.py --build build [--activities 1000000].

Makes a store with fill.py, starts a daemon on it and prints the median over 50 calls of each operation, measured from
the request on the socket to the last byte of the answer. Nothing is asserted."""

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

from fill import fill

CALLS = 50
GOAL_MS = 50  # sessions, show, tail


class Daemon:
    def __init__(self, build, top):
        self.program, self.dir = pathlib.Path(build) / "hookd", pathlib.Path(top) / "d"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(top), "HOOKD_DIR": str(self.dir)}

    def hookd(self, *args):
        return subprocess.run([str(self.program), *args], env=self.env, check=True, capture_output=True, timeout=120).stdout

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(str(self.dir / "run/hookd.sock"))

    def call(self, method, params):
        """Seconds and bytes of the answer."""
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
        begin = time.perf_counter()
        self.socket.sendall(line)
        pieces = [self.socket.recv(1 << 20)]
        while not pieces[-1].endswith(b"\n"):
            pieces.append(self.socket.recv(1 << 20))
        took, answer = time.perf_counter() - begin, b"".join(pieces)
        if b'"error":{"code"' in answer[:100]:
            raise SystemExit(f"{method} {params}: {answer[:400].decode()}")
        return took, len(answer)


def calls(big, now_us):
    """(name, operation, parameters, does the goal hold)"""
    week = now_us - 7 * 86400 * 1000000
    return [
        ("sessions", "sessions", {}, True),
        ("sessions of a project", "sessions", {"project": "project7"}, True),
        ("sessions of an agent", "sessions", {"agent": "cursor"}, True),
        ("sessions since a week", "sessions", {"since": week}, True),
        ("sessions by title, none", "sessions", {"query": "no such words"}, True),
        ("show, 1000 calls", "show", {"session": big}, True),
        ("show by prefix", "show", {"session": big[:12]}, True),
        ("tail", "events", {"limit": 20}, True),
        ("tail of a session", "events", {"limit": 20, "session": big}, True),
        ("tail of a project", "events", {"limit": 20, "project": "project7"}, True),
        ("tail of an agent", "events", {"limit": 20, "agent": "cursor"}, True),
        ("tail, following", "events", {"limit": 1000, "after": 1 << 40}, True),
        ("activities", "activities", {"limit": 50}, True),
        ("activities of a session", "activities", {"limit": 50, "session": big}, True),
        ("events of a session", "session_events", {"session": big}, False),
        ("plans", "plans", {}, False),
        ("projects", "projects", {}, False),
        ("stats since a week", "stats", {"since": week}, False),
        ("stats", "stats", {}, False),
    ]


def measure(daemon, method, params):
    times, size = [], 0
    # What takes seconds is not called fifty times.
    while len(times) < CALLS and sum(times) < 10:
        took, size = daemon.call(method, params)
        times.append(took)
    return statistics.median(times) * 1000, max(times) * 1000, size, len(times)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--activities", type=int, default=1000000)
    p.add_argument("--keep", action="store_true", help="leave the store and say where it is")
    args = p.parse_args()
    top = tempfile.mkdtemp(prefix="hk.")
    daemon = Daemon(args.build, top)
    try:
        daemon.hookd("start")
        daemon.hookd("stop")
        begin = time.perf_counter()
        made = fill(daemon.dir / "hookd.db", args.activities)
        size = (daemon.dir / "hookd.db").stat().st_size
        print(f"{made['activities']} activities, {made['sessions']} sessions, {made['events']} events, {size / 1e6:.0f} MB,"
              f" made in {time.perf_counter() - begin:.0f} s")
        daemon.hookd("start")
        daemon.connect()
        print(f"{'operation':28} {'median ms':>10} {'most ms':>10} {'bytes':>10} {'calls':>6}")
        for name, method, params, goal in calls(made["big"], time.time_ns() // 1000):
            median, most, size, n = measure(daemon, method, params)
            note = "" if not goal else " ok" if median <= GOAL_MS else " missed"
            print(f"{name:28} {median:10.2f} {most:10.2f} {size:10} {n:6}{note}")
    finally:
        try:
            daemon.hookd("stop")
        except (OSError, subprocess.SubprocessError):
            pass
        if args.keep:
            print(f"kept in {top}")
        else:
            shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
