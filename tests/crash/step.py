#!/usr/bin/env python3
"""Lets calls fail one after another: step.py --build build [--points 400] [--seed N] [--only NAME] [--jobs 2].

Start and fold, purge, restore and offline each run under a shim (faults.c) in which one allocation, or one change on the
disk, fails: with EIO, with ENOSPC, or by killing the process there. First the calls are counted; then each one is made to fail
in a run of its own, or as many as --points says, spread evenly. Of allocations there are tens of thousands, most of them in loops: of
those, one is made to fail for each way in which the program comes to one. Afterwards a daemon without the shim must find everything that was
acknowledged, once, in a sound store. A program that runs out of memory may give up with a message; nothing may crash."""
import argparse
import concurrent.futures
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import world as w  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SECRET = "the-text-that-must-go"
WAYS = (("alloc", ""), ("io", "eio"), ("io", "enospc"), ("io", "kill"))
CRASHES = (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL)


class Failure(Exception):
    pass


def build_shim(folder):
    out = folder / "faults.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(out), str(HERE / "faults.c"), "-ldl", "-lpthread"], check=True)
    return out


def shim_env(rig, calls, how, at):
    """at: the number of a call, or the way to one."""
    which = {"FAULT_PATH": at} if isinstance(at, str) else {"FAULT_AT": str(at)}
    env = {"LD_PRELOAD": str(rig.shim), "FAULT_CALLS": calls, "FAULT_COUNT": str(rig.world.top / "count"), **which}
    return {**env, "FAULT_HOW": how} if how else env


def same_addresses():
    """Ways to a call are known by addresses: those of every program from here on are the same in each run."""
    ADDR_NO_RANDOMIZE = 0x0040000
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def event(name, session="s", text="x"):
    return w.tool(name, session=session, tool_response={"text": text * 40})


def send(s, name, **more):
    s.sendall(w.hook(json.dumps(event(name, **more)).encode()))
    reply = w.read_frame(s)
    while reply[0] != w.DONE:
        reply = w.read_frame(s)
    return reply[1]


def send_all(world, names):
    """Those that were acknowledged before the daemon ended."""
    taken = set()
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(str(world.dir / "run/hookd.sock"))
            for name in names:
                if send(s, name):
                    taken.add(f"t{name}")
    except (OSError, EOFError):
        pass
    return taken


def run_daemon(rig, calls, how, at):
    p = subprocess.Popen([str(rig.world.build / "hookd"), "run", "--dir", str(rig.world.dir)], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, env={**rig.world.env, **shim_env(rig, calls, how, at)})
    rig.world.started.append(p)
    until = time.monotonic() + 10
    while p.poll() is None and time.monotonic() < until:
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(str(rig.world.dir / "run/hookd.sock"))
                return p
            except OSError:
                time.sleep(0.002)
    return p


def end_daemon(p):
    if p.poll() is None:
        p.terminate()
    try:
        p.wait(15)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        raise Failure("the daemon did not end")
    if p.returncode in CRASHES:
        raise Failure(f"the daemon crashed: {p.returncode}")


def stored(world):
    """Starts a daemon without the shim."""
    world.hookd("start")
    names = [e["tool_use_id"] for e in world.events()]
    if len(names) != len(set(names)):
        raise Failure("doubled")
    if not world.rpc("check")["ok"]:
        raise Failure("the store is damaged")
    return set(names)


class Rig:
    """A state directory that each run begins with."""

    def __init__(self, build):
        self.world = w.World(build=build)
        self.shim = build_shim(self.world.top)
        self.saved = self.world.top / "saved"
        self.backup = self.world.top / "backup.db"
        self.world.hookd("start")
        with self.world.connect() as s:
            for n in range(6):
                send(s, f"b{n}")
                send(s, f"g{n}", session="gone", text=SECRET)
        self.before = {f"t{k}{n}" for k in "bg" for n in range(6)}
        assert {e["tool_use_id"] for e in self.world.events()} == self.before
        self.world.hookd("backup", self.backup)
        self.world.stop()
        for p in (self.world.dir / "journal").iterdir():
            p.unlink()
        shutil.copytree(self.world.dir, self.saved, ignore=shutil.ignore_patterns("*.sock"))

    def fresh(self):
        for pid in self.world.daemons():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.world.dir, ignore_errors=True)
        shutil.copytree(self.saved, self.world.dir)

    def close(self):
        self.world.close()


def fold(rig, calls, how, at):
    p = run_daemon(rig, calls, how, at)
    taken = send_all(rig.world, [f"n{i}" for i in range(10)])
    rig.world.hookd("rpc", "sessions", "{}", ok=False)  # whoever reads has it folded
    taken |= send_all(rig.world, [f"m{i}" for i in range(5)])
    end_daemon(p)
    lost = (rig.before | taken) - stored(rig.world)
    if lost:
        raise Failure(f"lost: {sorted(lost)}")


def purge(rig, calls, how, at):
    p = run_daemon(rig, calls, how, at)
    done = rig.world.hookd("purge", "--session", "gone", "--yes", ok=False)
    end_daemon(p)
    names = stored(rig.world)
    w.wait_for(lambda: not (rig.world.dir / "purge.order").exists(), 20, "the purge to be finished")
    kept = {n for n in rig.before if n[1] == "b"}
    if not kept <= names:
        raise Failure("lost what was not to be purged")
    rig.world.stop()
    # A page that could not be read is damage: that store is set aside, and the purge says that the copy is there.
    left = [p for p in rig.world.contains(SECRET.encode()) if str(p).encode() not in done.stdout]
    if done.returncode == 0 and left:
        raise Failure(f"purged, and still in {[p.name for p in left]}; {done.stdout[-300:]}")


def restore(rig, calls, how, at):
    rig.world.hookd("start")
    with rig.world.connect() as s:
        send(s, "later")
    rig.world.events()
    rig.world.stop()
    for p in (rig.world.dir / "journal").iterdir():
        p.unlink()
    done = subprocess.run([str(rig.world.build / "hookd"), "restore", "--token-file", str(rig.world.dir / "owner.token"), str(rig.backup),
                           "--yes"], capture_output=True, timeout=60, env={**rig.world.env, **shim_env(rig, calls, how, at)})
    if done.returncode in CRASHES:
        raise Failure(f"restore crashed: {done.returncode}")
    names = stored(rig.world)
    if names not in (rig.before, rig.before | {"tlater"}):
        raise Failure(f"half restored: {sorted(names)}")
    if done.returncode == 0 and "tlater" in names:
        raise Failure("restored, it said")


def offline(rig, calls, how, at):
    """hookc beside a hookd that runs with the shim; nothing listens, and no daemon can be started."""
    folder = rig.world.top / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "hookc").exists():
        shutil.copy(rig.world.build / "hookc", folder / "hookc")
    sets = " ".join(f"{k}={v}" for k, v in shim_env(rig, calls, how, at).items())
    (folder / "hookd").write_text(f'#!/bin/sh\n{sets} exec {rig.world.build}/hookd "$@"\n')
    (folder / "hookd").chmod(0o755)
    (rig.world.dir / "run/hookd.lock").unlink(missing_ok=True)
    (rig.world.dir / "run/hookd.lock").mkdir()
    done = subprocess.run([str(folder / "hookc"), "claude", "PostToolUse"], input=json.dumps(event("off")).encode(), capture_output=True,
                          env=rig.world.env, timeout=30)
    if done.returncode in CRASHES:
        raise Failure(f"offline crashed: {done.returncode}")
    (rig.world.dir / "run/hookd.lock").rmdir()
    kept = bool(list((rig.world.dir / "spool").glob("*.j")))
    names = stored(rig.world)
    if not rig.before <= names or kept != ("toff" in names):
        raise Failure("lost")


SCENES = (fold, purge, restore, offline)


def count(rig, scene, calls):
    """How many calls there are, and the points at which to fail: all of them, or all ways to an allocation."""
    rig.fresh()
    (rig.world.top / "count").unlink(missing_ok=True)
    scene(rig, calls, "", 0)
    total, *ways = (rig.world.top / "count").read_text().split()
    return int(total), ways if calls == "alloc" else list(range(1, int(total) + 1))


def attempt(rig, scene, calls, how, at):
    rig.fresh()
    try:
        scene(rig, calls, how, at)
    except (Failure, AssertionError, OSError, subprocess.TimeoutExpired) as e:
        print(f"{scene.__name__}, {calls} {how} {at}: {str(e)[:300]}", flush=True)
        return 1
    return 0


def step(rigs, scene, calls, how, points):
    """Each rig takes every n-th point. How many failed."""
    def share(i):
        return sum(attempt(rigs[i], scene, calls, how, at) for at in points[i::len(rigs)])
    with concurrent.futures.ThreadPoolExecutor(len(rigs)) as pool:
        return sum(pool.map(share, range(len(rigs))))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--points", type=int, default=10 ** 9, help="of each scene and way")
    a.add_argument("--seed", type=int, default=None)
    a.add_argument("--only", default="")
    a.add_argument("--jobs", type=int, default=1)
    a = a.parse_args()
    seed = a.seed if a.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    same_addresses()
    rigs = [Rig(pathlib.Path(a.build).resolve()) for _ in range(a.jobs)]
    failures = 0
    try:
        for scene in SCENES:
            if a.only and a.only != scene.__name__:
                continue
            for calls, how in WAYS:
                total, points = count(rigs[0], scene, calls)
                if len(points) > a.points:
                    points = sorted(rng.sample(points, a.points))
                failures += step(rigs, scene, calls, how, points)
                print(f"{scene.__name__}: {len(points)} of {total} {calls} calls failed ({how or 'no memory'})", flush=True)
        print(f"{failures} failures, seed {seed}")
        return 1 if failures else 0
    finally:
        for rig in rigs:
            rig.close()


if __name__ == "__main__":
    sys.exit(main())
