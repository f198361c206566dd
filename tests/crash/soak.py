#!/usr/bin/env python3
"""Many events through one daemon: soak.py --build build [--events 500000]        make soak

A day and more of work: sessions that begin and end, tool calls of many sizes, denials, a hook now and then, readers, and
every few thousand events a burst of payloads of 8 MB. Memory, descriptors and files must be the same at the end as they were
half-way, and everything acknowledged must be in the store, once. Before that, with --large N: N payloads of 8 MB, and a minute later
resident memory must be down to 20 MB."""
import argparse
import json
import os
import pathlib
import random
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import world as w  # noqa: E402

THREADS = 4
BURST = 20  # payloads of 8 MB
QUIET_MB = 20


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def look(world):
    pid = world.pid()
    return {"mb": resident_mb(pid), "fds": len(os.listdir(f"/proc/{pid}/fd")), "files": len([p for p in world.files() if p.parent.name != "hooks"]),
            "snapshots": len(list((world.dir / "run").rglob("hooks/*"))), "threads": len(os.listdir(f"/proc/{pid}/task"))}


def one(rng, name, session):
    kind = rng.random()
    if kind < 0.02:
        return w.payload("UserPromptSubmit", session, prompt=f"prompt {name}")
    if kind < 0.04:
        return w.payload("Stop", session)
    if kind < 0.3:
        return w.payload("PreToolUse", session, tool_name="Bash", tool_use_id=name, tool_input={"command": f"ls {name}"})
    return w.payload("PostToolUse", session, tool_name="Read", tool_use_id=name, tool_input={"file_path": f"/x/{name}"},
                     tool_response={"text": "lorem ipsum " * rng.choice((1, 10, 100, 1000))})


def send(s, event):
    s.sendall(w.hook(json.dumps(event).encode(), event=event["hook_event_name"].encode()))
    reply = w.read_frame(s)
    while reply[0] == w.WAIT:
        reply = w.read_frame(s)
    return reply[1] > 0


def work(world, first, n, seed, refused):
    rng = random.Random(seed)
    with world.connect() as s:
        for i in range(n):
            name = f"e{first + i}"
            if not send(s, one(rng, name, f"s{(first + i) // 200}")):
                refused.append(name)


def burst(world, tag):
    def go(i):
        with world.connect() as s:
            send(s, w.tool(f"{tag}.{i}", session="large", tool_response={"text": f"lorem ipsum {i} " * (8 * 1024 * 1024 // 16)}))
    w.in_threads(4, lambda k: [go(4 * j + k) for j in range(BURST // 4)])


def settle(world, patient):
    world.rpc("sessions", limit=1)
    if patient:  # segments go with a checkpoint, after half a minute of quiet
        w.wait_for(lambda: len(list((world.dir / "journal").glob("*.j"))) <= 2, 120, "the journal to be folded")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--events", type=int, default=500000)
    a.add_argument("--large", type=int, default=0)
    a = a.parse_args()
    world = w.World(build=pathlib.Path(a.build).resolve())
    rounds = max(4, a.events // 20000)
    each = a.events // rounds // THREADS
    refused, looks, first = [], [], 0
    try:
        world.hookd("start")
        if a.large:
            for k in range(a.large // BURST):
                burst(world, f"l{k}")
            print(f"{a.large} payloads of 8 MB: {look(world)}", flush=True)
            w.wait_for(lambda: resident_mb(world.pid()) <= QUIET_MB, 75, f"memory to be down to {QUIET_MB} MB")
            print(f"later: {look(world)}", flush=True)
        for r in range(rounds):
            starts = [first + k * each for k in range(THREADS)]
            w.in_threads(THREADS, lambda k: work(world, starts[k], each, r * THREADS + k, refused))
            first += THREADS * each
            if r % 3 == 2:
                burst(world, f"b{r}")
            settle(world, a.events > 50000)
            looks.append(look(world))
            print(f"{first} events: {looks[-1]}", flush=True)
        with sqlite3.connect(f"file:{world.dir / 'hookd.db'}?mode=ro", uri=True) as db:
            stored = db.execute("SELECT count(*) FROM events").fetchone()[0]
        early, late = looks[len(looks) // 2], looks[-1]
        flat = late["mb"] <= early["mb"] * 1.2 + 16 and late["fds"] <= early["fds"] + 4 and late["files"] <= early["files"] + 4 and late["threads"] <= early["threads"] + 4
        sound = world.rpc("check")["ok"]
        print(f"{first} events, {len(refused)} not stored, {stored} in the store; flat: {flat}, sound: {sound}")
        return 0 if flat and sound and not refused and stored >= first else 1
    finally:
        world.close()


if __name__ == "__main__":
    sys.exit(main())
