#!/usr/bin/env python3
"""Kills hookd at random moments under load and counts.

    crash.py --build build --rounds 500        make crash N=500
    crash.py --build build --seconds 60        the part inside make test

A round: several writers send numbered events over the socket, and hookc processes send theirs, while a
killer waits a random moment and then kills -9 the daemon (or some hookc processes). Every event whose
reply said "stored" is written into a ledger here. In between rounds the next hook starts the next
daemon. At the end the ledger is compared with the store: nothing acknowledged may be missing, nothing
may be there twice, and the store must be sound. Events of hookc are acknowledged by its own exit after
the hand-over, so all of them whose process was not killed must be there.

The seed is printed; --seed repeats a run's choices (the scheduler's are its own)."""
import argparse
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import world as w  # noqa: E402


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.sent = 0
        self.acknowledged = set()
        self.possible = set()

    def next(self):
        with self.lock:
            self.sent += 1
            name = f"e{self.sent}"
            self.possible.add(name)
            return name

    def acknowledge(self, name):
        with self.lock:
            self.acknowledged.add(name)


def event(name):
    return {"session_id": "crash", "hook_event_name": "PostToolUse", "cwd": "/tmp", "tool_name": "Read",
            "tool_use_id": name, "tool_input": {"file_path": "/x"}, "tool_response": {"text": "y" * random.randint(0, 3000)}}


def connect(world):
    """Without patience: between two daemons there may be nobody for as long as no hook runs."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(w.HANG)
    s.connect(str(world.dir / "run/hookd.sock"))
    return s


def socket_writer(world, ledger, stop):
    """Events over a connection of its own, until told to stop or the daemon dies."""
    while not stop.is_set():
        try:
            with connect(world) as s:
                while not stop.is_set():
                    name = ledger.next()
                    s.sendall(w.hook(json.dumps(event(name)).encode()))
                    kind, stored, *_ = w.read_frame(s)
                    while kind == w.WAIT:
                        kind, stored, *_ = w.read_frame(s)
                    if kind == w.DONE and stored:
                        ledger.acknowledge(name)
        except (OSError, EOFError):
            time.sleep(0.005)


def hookc_writer(world, ledger, stop, kill_clients, rng):
    while not stop.is_set():
        name = ledger.next()
        p = subprocess.Popen([str(world.build / "hookc"), "claude", "PostToolUse"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=world.env)
        try:
            p.stdin.write(json.dumps(event(name)).encode())
            p.stdin.close()
        except BrokenPipeError:
            pass
        if kill_clients and rng.random() < 0.3:
            time.sleep(rng.random() * 0.004)
            p.kill()
        if p.wait() == 0:
            ledger.acknowledge(name)


def one_round(world, ledger, rng, n):
    stop = threading.Event()
    kill_clients = n % 3 == 2
    threads = [threading.Thread(target=socket_writer, args=(world, ledger, stop)) for _ in range(3)]
    threads += [threading.Thread(target=hookc_writer, args=(world, ledger, stop, kill_clients, random.Random(rng.random())))
                for _ in range(2)]
    for t in threads:
        t.start()
    time.sleep(rng.uniform(0.01, 0.15))
    for pid in world.daemons():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    time.sleep(rng.uniform(0, 0.03))
    stop.set()
    for t in threads:
        t.join()


def tear_journal(world, rng):
    """Now and then the newest segment loses its tail, as after a power cut: only what was not yet
    written in full may go. A torn record is made by appending half of one."""
    segments = sorted((world.dir / "journal").glob("*.j"))
    if segments and not world.daemons():
        with open(segments[-1], "ab") as f:
            f.write(os.urandom(rng.randint(1, 40)))


def verdict(world, ledger):
    world.hookd("start")
    w.wait_for(lambda: not list((world.dir / "spool").glob("*.j")), 60, "the spool to be picked up")
    names, after = [], 0
    while True:
        rows = world.rpc("events", after=after, limit=2000)
        if not rows["events"]:
            break
        names += [e["tool_use_id"] for e in rows["events"]]
        after = rows["last"]
    lost = ledger.acknowledged - set(names)
    doubled = len(names) - len(set(names))
    unknown = set(names) - ledger.possible
    sound = world.rpc("check")["ok"]
    activities = len(world.rpc("activities", limit=20000)["activities"])
    print(f"{ledger.sent} events sent, {len(ledger.acknowledged)} acknowledged, {len(names)} stored: "
          f"{len(lost)} lost, {doubled} doubled, {len(unknown)} unknown, {activities} activities, "
          f"store {'sound' if sound else 'DAMAGED'}")
    if lost:
        print("lost:", sorted(lost)[:20])
    return not lost and not doubled and not unknown and sound and activities == min(len(set(names)), 20000)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--rounds", type=int, default=10 ** 9)
    a.add_argument("--seconds", type=float, default=10 ** 9)
    a.add_argument("--seed", type=int, default=None)
    a = a.parse_args()
    seed = a.seed if a.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    world = w.World(build=pathlib.Path(a.build).resolve())
    ledger = Ledger()
    until, n = time.monotonic() + a.seconds, 0
    try:
        world.hookd("start")
        while n < a.rounds and time.monotonic() < until:
            one_round(world, ledger, rng, n)
            if rng.random() < 0.2:
                tear_journal(world, rng)
            n += 1
            if sys.stderr.isatty() and n % 10 == 0:
                print(f"\r{n} crashes", end="", file=sys.stderr)
        print(f"{n} crashes, seed {seed}")
        ok = n > 0 and verdict(world, ledger)
        if not ok:
            print(f"kept for a look: {world.top}")
            world.top = pathlib.Path("/nonexistent")
        return 0 if ok else 1
    finally:
        world.close()


if __name__ == "__main__":
    sys.exit(main())
