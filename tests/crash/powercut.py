#!/usr/bin/env python3
"""Simulates power cuts: powercut.py --build build [--cases 200] [--seed N].

A daemon with durability strict works under a recorder (recorder.c) that notes everything it writes below its directory
and every sync; here is noted how far that log was when each event was acknowledged. Then, many times over, a moment is
chosen and a disk is made as a power cut then could have left it: what had been synced is there; of everything else
an arbitrary part, in pieces of a page and in any order. A daemon is started on each, and everything that was promised
must be there, once, in a store that is sound.

The model: a sync makes a file's earlier writes, size and name durable (as ext4, xfs and btrfs do); deletions and renames
may or may not have happened until their directory is synced."""
import argparse
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import world as w  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PAGE = 4096


# -- recording -------------------------------------------------------------------------------------

def build_recorder(folder):
    out = folder / "recorder.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(out), str(HERE / "recorder.c"), "-ldl", "-lpthread"], check=True)
    return out


def send(s, n, rng):
    size = rng.choice((10, 300, 3000, 30000, 120000))
    event = {"session_id": f"s{n % 3}", "hook_event_name": "PostToolUse", "cwd": "/tmp", "tool_name": "Read", "tool_use_id": f"e{n}",
             "tool_input": {"file_path": "/x"}, "tool_response": {"text": rng.randbytes(size // 2).hex()}}
    s.sendall(w.hook(json.dumps(event).encode()))
    kind, stored, *_ = w.read_frame(s)
    while kind == w.WAIT:
        kind, stored, *_ = w.read_frame(s)
    return kind == w.DONE and stored == 2


def record(world, recorder, log, rng, events):
    """[(bytes of the log at that moment, event)…] for everything that was promised to be on the disk."""
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text('{"durability": "strict", "store": {"linger_ms": 40}}')
    daemon = subprocess.Popen([str(world.build / "hookd"), "run", "--dir", str(world.dir)],
                              env={**world.env, "LD_PRELOAD": str(recorder), "RECORD_UNDER": str(world.dir), "RECORD_TO": str(log)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.started.append(daemon)
    w.wait_for(lambda: (world.dir / "run/hookd.sock").is_socket(), what="the daemon")
    promised = []
    with world.connect() as s:
        for n in range(events):
            if send(s, n, rng):
                promised.append((log.stat().st_size, f"e{n}"))
            if n % 37 == 36:  # begins a new segment and writes the store anew
                world.hookd("purge", "--session", "e-nobody", "--yes", ok=False)
            if rng.random() < 0.2:
                time.sleep(0.03)
    daemon.kill()
    daemon.wait()
    return promised


# -- what is on the disk -----------------------------------------------------------------------------

def entries(data):
    """(where it ends in the log, op, path, offset, data)"""
    at = 0
    while at + 15 <= len(data):
        op, path_n, offset, n = chr(data[at]), *struct.unpack_from("<HQI", data, at + 1)
        path = data[at + 15:at + 15 + path_n].decode()
        body = data[at + 15 + path_n:at + 15 + path_n + n]
        at += 15 + path_n + n
        if at > len(data):
            return
        yield at, op, path, offset, body


class File:
    def __init__(self):
        self.pending = []  # (op, offset, data) not synced
        self.durable = bytearray()
        self.named = False  # its name would survive


def apply(content, op, offset, data):
    if op == "t":
        del content[offset:]
        content.extend(bytes(max(0, offset - len(content))))
        return
    if len(content) < offset + len(data):
        content.extend(bytes(offset + len(data) - len(content)))
    content[offset:offset + len(data)] = data


class Disk:
    """The files at one moment, synced and not."""

    def __init__(self):
        self.files, self.names, self.syncing, self.changes = {}, {}, {}, []

    def take(self, op, path, offset, data):
        if op in "wt":
            self.files.setdefault(path, File()).pending.append((op, offset, data))
        elif op == "b":
            f = self.files.get(path)
            self.syncing[offset, path] = (f, len(f.pending) if f else 0, len(self.changes))
        elif op == "e":
            f, n, changes = self.syncing.pop((offset, path), (None, 0, 0))
            if f:
                for piece in f.pending[:n]:
                    apply(f.durable, *piece)
                del f.pending[:n]
                f.named = True
            else:  # a directory
                done = [c for c in self.changes[:changes] if os.path.dirname(c[1]) == path]
                self.changes = [c for c in self.changes if c not in done]
        elif op == "u":
            self.changes.append(("u", path, None, self.files.pop(path, None)))
        elif op == "r":
            source = data.decode()
            f = self.files.pop(source, None)
            self.changes.append(("r", path, source, (f, self.files.get(path))))
            if f:
                self.files[path] = f

    def after_cut(self, rng):
        """{path: bytes}, one of the ways it may look."""
        way = rng.choice(("nothing", "everything", "some", "some", "prefix"))
        found = {path: f for path, f in self.files.items()}
        for kind, path, source, f in reversed(self.changes):  # deletions and renames that may not have happened
            if way == "everything" or rng.random() < 0.5:
                continue
            if kind == "u" and f and path not in found:
                found[path] = f
            elif kind == "r" and f[0] and found.get(path) is f[0]:
                found[source] = found.pop(path)
                if f[1]:
                    found[path] = f[1]
        return {path: self.content(f, way, rng) for path, f in found.items() if f.named or way != "nothing" and rng.random() < 0.8}

    @staticmethod
    def content(f, way, rng):
        content = bytearray(f.durable)
        pieces = []
        for op, offset, data in f.pending:
            if op == "t":
                pieces.append((op, offset, data))
                continue
            while data:  # page by page
                n = PAGE - offset % PAGE
                pieces.append((op, offset, data[:n]))
                offset, data = offset + n, data[n:]
        if way == "nothing":
            pieces = []
        elif way == "prefix":
            pieces = pieces[:rng.randrange(len(pieces) + 1)]
        elif way == "some":
            share = rng.random()
            pieces = [p for p in pieces if rng.random() < share]
        for piece in pieces:
            apply(content, *piece)
        return bytes(content)


# -- starting on it ----------------------------------------------------------------------------------

def lay_out(world, top, files):
    shutil.rmtree(world.dir, ignore_errors=True)
    world.dir.mkdir(mode=0o700, exist_ok=True)
    for path, data in files.items():
        name = pathlib.Path(path).relative_to(top)
        if name.parts[0] in ("run", "hookd.log") or str(name).endswith("-shm"):
            continue
        (world.dir / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (world.dir / name).write_bytes(data)
        os.chmod(world.dir / name, 0o600)


def look(world):
    """(events by name, sound)"""
    world.hookd("start")
    names, after = [], 0
    while True:
        rows = world.rpc("events", after=after, limit=2000)
        if not rows["events"]:
            break
        names += [e["tool_use_id"] for e in rows["events"] if e["tool_use_id"]]
        after = rows["last"]
    sound = world.rpc("check")["ok"] and not world.status()["store"]["recovery"]
    world.stop()
    return names, sound


def cut(world, top, log, moment, promised, rng):
    disk = Disk()
    for end, op, path, offset, data in entries(log):
        if end > moment:
            break
        disk.take(op, path, offset, data)
    lay_out(world, top, disk.after_cut(rng))
    names, sound = look(world)
    wanted = {name for at, name in promised if at <= moment}
    return wanted - set(names), len(names) - len(set(names)), sound


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--cases", type=int, default=200)
    a.add_argument("--events", type=int, default=150)
    a.add_argument("--seed", type=int, default=None)
    a = a.parse_args()
    seed = a.seed if a.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    first, second = (w.World(build=pathlib.Path(a.build).resolve()) for _ in range(2))
    bad, n, began = 0, 0, time.monotonic()
    try:
        path = first.top / "log"
        promised = record(first, build_recorder(first.top), path, rng, a.events)
        log, top = path.read_bytes(), first.dir
        moments = [end for end, *_ in entries(log)]
        print(f"{len(promised)} events promised, {len(moments)} writes and syncs, seed {seed}")
        if len(promised) < a.events // 2:
            print("too few events were promised")
            return 1
        for n in range(1, a.cases + 1):
            moment = rng.choice(moments)
            lost, doubled, sound = cut(second, top, log, moment, promised, rng)
            if lost or doubled or not sound:
                bad += 1
                print(f"case {n}, cut at byte {moment}: {len(lost)} lost {sorted(lost)[:5]}, {doubled} doubled,"
                      f" store {'sound' if sound else 'NOT SOUND'}")
        print(f"{n} power cuts, {bad} bad, {time.monotonic() - began:.0f} s")
        return 1 if bad else 0
    finally:
        first.close()
        second.close()


if __name__ == "__main__":
    sys.exit(main())
