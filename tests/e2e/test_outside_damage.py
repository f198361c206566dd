"""Damage as it comes from outside: disks that fill up or become read-only, files and directories that are replaced, clocks that
are set back, backups cut short, kills upon kills, children that run away. Whatever happens, what was acknowledged is there, once,
and nothing says that it kept what it did not."""
import ctypes
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import time

import pytest

from world import DONE, HANG, WAIT, alive, hook, in_threads, payload, read_frame, tool, wait_for

CLONE_NEWNS = 0x00020000


# -- helpers -----------------------------------------------------------------------------------------


def tell(world, names, session="s1", **more):
    """Sends events over one connection; those that were said to be stored."""
    taken = []
    try:
        with world.connect() as s:
            s.settimeout(HANG)
            for n in names:
                event = tool(n, session=session, tool_response={"text": f"text of {n} " * 20}, **more)
                s.sendall(hook(json.dumps(event).encode()))
                kind, stored, *_ = read_frame(s)
                while kind == WAIT:
                    kind, stored, *_ = read_frame(s)
                if kind == DONE and stored:
                    taken.append(f"t{n}")
    except (OSError, EOFError):
        pass
    return taken


def stored(world):
    """In order; each once; in a sound store."""
    names = [e["tool_use_id"] for e in world.events() if "tool_use_id" in e]
    assert len(names) == len(set(names)), "doubled"
    assert world.rpc("check")["ok"]
    return names


def settle(world):
    world.hookd("start", ok=False)
    wait_for(lambda: not list((world.dir / "spool").glob("*.j")), what="the spool to be picked up")
    return stored(world)


def hookc_all(world, names):
    for n in names:
        done = world.hookc("PostToolUse", tool(n))
        assert (done.returncode, done.stdout) == (0, b""), done
    return [f"t{n}" for n in names]


@pytest.fixture(scope="module")
def mounts():
    """Mounts of our own, which nobody else sees and which end with us."""
    if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        pytest.skip("needs a mount namespace")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


@pytest.fixture
def small_disk(world, mounts):
    """The state directory on a disk of its own."""
    def make(size="3m"):
        places = (world.dir / "places").read_bytes()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", str(world.dir)], check=True)
        (world.dir / "places").write_bytes(places)
        (world.dir / "places").chmod(0o600)
    yield make
    for pid in world.daemons():
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid))
    subprocess.run(["umount", "-l", str(world.dir)], check=False, capture_output=True)


def remount(world, how):
    subprocess.run(["mount", "-o", f"remount,{how}", str(world.dir)], check=True)


def fill(world, leave=0):
    """Takes all the room there is, but for some."""
    path = world.dir / "filler"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        while os.write(fd, b"x" * 4096):
            pass
    except OSError:
        pass
    finally:
        os.close(fd)
    if leave:
        os.truncate(path, max(0, path.stat().st_size - leave))
    return path


# -- names and directories ---------------------------------------------------------------------------


def test_the_directory_becomes_a_link_to_itself_elsewhere(world):
    world.start()
    taken = tell(world, range(5))
    moved = world.top / "moved"
    world.dir.rename(moved)
    world.dir.symlink_to(moved)
    taken += hookc_all(world, range(5, 10))
    assert set(settle(world)) == set(taken)
    assert len(world.daemons()) == 1


def test_a_directory_that_was_a_link_from_the_beginning(world):
    real = world.top / "real"
    world.dir.rename(real)
    world.dir.symlink_to(real)
    world.start()
    taken = tell(world, range(5))
    world.kill()
    taken += hookc_all(world, range(5, 8))
    assert set(settle(world)) == set(taken)


def test_the_journal_is_replaced_by_a_file(world):
    world.start()
    taken = tell(world, range(5))
    journal = world.dir / "journal"
    journal.rename(world.dir / "journal.was")
    journal.write_text("not a directory")
    taken += tell(world, range(5, 10))
    journal.unlink()
    taken += tell(world, range(10, 15))
    assert set(taken) <= set(settle(world))
    world.kill()
    assert set(taken) <= set(settle(world))


def test_the_spool_is_a_link_to_nowhere(world):
    (world.dir / "run").mkdir(mode=0o700, exist_ok=True)
    (world.dir / "run/hookd.lock").mkdir()  # no daemon can run
    (world.dir / "spool").symlink_to(world.top / "nowhere")
    assert world.hookc("PostToolUse", tool(1)).returncode == 0
    (world.dir / "spool").unlink()
    taken = hookc_all(world, range(2, 5))
    (world.dir / "run/hookd.lock").rmdir()
    assert set(taken) <= set(settle(world))


def test_things_in_spool_and_journal_that_are_no_files(world):
    world.start()
    taken = tell(world, range(3))
    world.kill()
    for folder in ("journal", "spool"):
        os.mkfifo(world.dir / folder / "00000000000000f0.j")
        (world.dir / folder / "00000000000000f1.j").mkdir()
        (world.dir / folder / "00000000000000f2.j").symlink_to("/dev/zero")
    world.hookd("start")
    taken += tell(world, range(3, 6))
    assert set(stored(world)) == set(taken)


def test_the_store_is_emptied_in_place(world):
    """Truncated to nothing by somebody, while it is open."""
    world.start()
    taken = tell(world, range(10))
    assert set(stored(world)) == set(taken)
    world.hookd("backup", world.top / "b.db")
    os.truncate(world.dir / "hookd.db", 0)
    more = tell(world, range(10, 15))
    assert more == [f"t{n}" for n in range(10, 15)]
    world.kill()
    world.hookd("start")
    names = set(stored(world))
    assert set(more) <= names
    assert names == set(taken + more) or world.status()["store"]["recovery"]


def test_the_wal_goes_and_then_the_daemon(world):
    world.start()
    taken = tell(world, range(10))
    stored(world)
    taken += tell(world, range(10, 20))
    (world.dir / "hookd.db-wal").unlink()
    taken += tell(world, range(20, 25))
    world.kill()
    world.hookd("start")
    lost = set(taken) - set(stored(world))
    assert not lost or world.status()["store"]["recovery"]
    assert not lost & set(taken[20:])


def test_a_directory_in_the_place_of_the_wal(world):
    world.start()
    taken = tell(world, range(5))
    stored(world)
    world.stop()
    (world.dir / "hookd.db-wal").unlink(missing_ok=True)
    (world.dir / "hookd.db-wal").mkdir()
    world.hookd("start", ok=False)
    taken += hookc_all(world, range(5, 8))
    wait_for(lambda: world.status()["store"]["trouble"], what="somebody to say so")
    world.stop()
    (world.dir / "hookd.db-wal").rmdir()
    assert set(settle(world)) == set(taken)


def test_the_lock_is_a_link_to_something_else(world):
    victim = world.top / "victim"
    victim.write_text("mine\n")
    (world.dir / "run").mkdir(mode=0o700, exist_ok=True)
    (world.dir / "run/hookd.lock").symlink_to(victim)
    world.hookd("start", ok=False)
    hookc_all(world, [1])
    assert victim.read_text() == "mine\n"
    world.stop()
    (world.dir / "run/hookd.lock").unlink(missing_ok=True)
    assert settle(world) == ["t1"]


# -- disks -------------------------------------------------------------------------------------------


def test_read_only_from_the_start(world, small_disk):
    small_disk("8m")
    world.start()
    before = tell(world, range(5))
    stored(world)
    world.stop()
    remount(world, "ro")
    world.hookd("start", ok=False)
    assert world.hookc("PostToolUse", tool(7)).returncode == 0
    done = world.hookc("PreToolUse", payload("PreToolUse", tool_name="Read", tool_use_id="r", tool_input={"file_path": "/x"}))
    assert done.returncode == 0
    remount(world, "rw")
    assert set(before) <= set(settle(world))


@pytest.mark.parametrize("leave", [0, 4096, 65536])
def test_the_disk_is_full_while_events_come(world, small_disk, leave):
    small_disk("3m")
    world.start()
    taken = tell(world, range(5))
    filler = fill(world, leave)
    taken += tell(world, range(5, 2000))
    assert len(taken) < 2000  # it cannot all have gone anywhere
    filler.unlink()
    taken += wait_for(lambda: tell(world, [time.monotonic_ns()]), what="an event to be stored again")
    assert set(taken) <= set(settle(world))
    world.kill()
    assert set(taken) <= set(settle(world))


def test_the_disk_is_full_at_the_start(world, small_disk):
    small_disk("3m")
    world.start()
    taken = tell(world, range(50))
    world.kill()
    filler = fill(world)
    world.hookd("start", ok=False)
    assert world.hookc("PostToolUse", tool(60)).returncode == 0
    for pid in world.daemons():
        os.kill(pid, signal.SIGKILL)
    filler.unlink()
    assert set(taken) <= set(settle(world))


@pytest.mark.parametrize("leave", [0, 16384, 131072, 400000])
def test_the_disk_is_full_while_a_purge_runs(world, small_disk, leave):
    small_disk("3m")
    world.start()
    kept = tell(world, range(20))
    tell(world, range(20, 40), session="gone")
    stored(world)
    filler = fill(world, leave)
    done = world.hookd("purge", "--session", "gone", "--yes", ok=False)
    filler.unlink()
    world.kill()
    world.hookd("start")
    wait_for(lambda: not (world.dir / "purge.order").exists(), what="the purge to be finished")
    names = set(stored(world))
    assert set(kept) <= names
    if done.returncode == 0:
        assert names == set(kept)
    else:
        assert done.stderr


@pytest.mark.parametrize("leave", [0, 16384, 131072, 300000])
def test_the_disk_is_full_while_a_restore_runs(world, small_disk, leave):
    small_disk("3m")
    world.start()
    first = tell(world, range(10))
    stored(world)
    world.hookd("backup", world.top / "b.db")
    second = tell(world, range(10, 20))
    stored(world)
    world.stop()
    filler = fill(world, leave)
    done = world.hookd("restore", world.top / "b.db", "--yes", ok=False)
    filler.unlink()
    # What the journal still has comes to a restored store as well.
    assert set(settle(world)) in (set(first), set(first + second))
    assert done.returncode == 0 or done.stderr


def test_files_may_only_be_small(world):
    """RLIMIT_FSIZE: a write past it is a signal that ends most programs."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    p = subprocess.Popen([str(world.build / "hookd"), "run", "--dir", str(world.dir)], env=world.env, preexec_fn=limit,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.started.append(p)
    wait_for(lambda: (world.dir / "run/hookd.sock").exists(), what="the daemon")
    taken = tell(world, range(1500))
    p.kill()
    p.wait()
    assert taken and set(taken) <= set(settle(world))


def test_few_descriptors_and_many_callers(world):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    p = subprocess.Popen([str(world.build / "hookd"), "run", "--dir", str(world.dir)], env=world.env, preexec_fn=limit,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.started.append(p)
    wait_for(lambda: (world.dir / "run/hookd.sock").exists(), what="the daemon")
    in_threads(12, lambda k: hookc_all(world, range(10 * k, 10 * k + 10)))
    p.terminate()
    p.wait(HANG)
    assert set(settle(world)) == {f"t{n}" for n in range(120)}


def test_little_memory_and_large_payloads(world):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
    p = subprocess.Popen([str(world.build / "hookd"), "run", "--dir", str(world.dir)], env=world.env, preexec_fn=limit,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.started.append(p)
    wait_for(lambda: (world.dir / "run/hookd.sock").exists(), what="the daemon")
    taken = []

    def large(k):
        with world.connect() as s:
            event = tool(f"l{k}", tool_response={"text": "lorem " * (7 << 20 >> 3)})
            s.sendall(hook(json.dumps(event).encode()))
            kind, kept, *_ = read_frame(s)
            while kind == WAIT:
                kind, kept, *_ = read_frame(s)
            if kind == DONE and kept:
                taken.append(f"tl{k}")

    def quietly(k):
        try:
            large(k)
        except (OSError, EOFError):
            pass
    in_threads(8, quietly)
    taken += tell(world, range(5))
    p.kill()
    p.wait()
    assert p.returncode in (-signal.SIGKILL, -signal.SIGABRT)
    world.hookd("start")
    world.rpc("sessions")
    world.stop()
    with sqlite3.connect(f"file:{world.dir / 'hookd.db'}?mode=ro", uri=True) as db:
        assert set(taken) <= {r[0] for r in db.execute("SELECT tool_use_id FROM events")}


# -- clocks ------------------------------------------------------------------------------------------

CLOCK_SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	static long by;
	if (!real) {
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
		by = getenv("CLOCK_BY") ? atol(getenv("CLOCK_BY")) : 0;
	}
	int r = real(id, t);
	if (id == CLOCK_REALTIME)
		t->tv_sec += by;
	return r;
}
"""


def test_the_clock_goes_back_with_every_restart(world):
    """An hour each time, and so do the callers' clocks; the order stays that of happening."""
    (world.top / "clock.c").write_text(CLOCK_SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(world.top / "clock.so"), str(world.top / "clock.c"), "-ldl"], check=True)
    sent = []
    for k, by in enumerate((7200, 3600, 0, -3600, -86400)):
        p = subprocess.Popen([str(world.build / "hookd"), "run", "--dir", str(world.dir)], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL,
                             env={**world.env, "LD_PRELOAD": str(world.top / "clock.so"), "CLOCK_BY": str(by)})
        world.started.append(p)
        wait_for(lambda: (world.dir / "run/hookd.sock").exists() and world.pid() == p.pid, what="the daemon")
        at = int((time.time() + by) * 1000)
        with world.connect() as s:
            for i in range(4):
                name = f"c{k}-{i}"
                key = (at + i).to_bytes(6, "big") + os.urandom(10)
                s.sendall(hook(json.dumps(tool(name)).encode(), key=key, at_ms=at + i))
                while read_frame(s)[0] != DONE:
                    pass
                sent.append(f"t{name}")
        p.send_signal(signal.SIGKILL if k % 2 else signal.SIGTERM)
        p.wait(HANG)
    assert settle(world) == sent
    world.stop()
    with sqlite3.connect(f"file:{world.dir / 'hookd.db'}?mode=ro", uri=True) as db:
        rows = [r[0] for r in db.execute("SELECT tool_use_id FROM events WHERE tool_use_id IS NOT NULL ORDER BY session, ord, id")]
    assert rows == sent


# -- kills upon kills --------------------------------------------------------------------------------


def test_a_purge_is_killed_again_and_again(world):
    rng = random.Random(11)
    world.start()
    kept = tell(world, range(30))
    secret = "purge-this-text"
    tell(world, range(30, 60), session="gone")
    tell(world, ["x"], session="gone", error=secret)
    stored(world)
    asked = subprocess.Popen([str(world.build / "hookd"), "purge", "--token-file", str(world.dir / "owner.token"), "--session", "gone",
                              "--yes"], env=world.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=world.top)
    world.started.append(asked)
    for _ in range(8):
        time.sleep(rng.uniform(0, 0.03))
        for pid in world.daemons():
            os.kill(pid, signal.SIGKILL)
        world.hookd("start", ok=False)
    asked.wait(HANG)
    world.hookd("start", ok=False)
    wait_for(lambda: not (world.dir / "purge.order").exists(), what="the purge to be finished")
    names = set(stored(world))
    assert set(kept) <= names
    if not names <= set(kept):  # it was never ordered: then all of it is there
        assert len(names) == 61
    else:
        world.stop()
        assert not world.contains(secret.encode())


@pytest.mark.parametrize("how", ["cut", "half a page", "middle flipped", "grown", "empty"])
def test_a_bad_backup_is_not_restored(world, how):
    world.start()
    first = tell(world, range(30))
    stored(world)
    backup = world.top / "b.db"
    world.hookd("backup", backup)
    data = bytearray(backup.read_bytes())
    if how == "cut":
        del data[len(data) // 4096 // 2 * 4096:]
    elif how == "half a page":
        del data[-2000:]
    elif how == "middle flipped":
        for at in range(len(data) // 3, len(data) // 3 + 8192):
            data[at] ^= 0x55
    elif how == "grown":
        data += os.urandom(9000)
    else:
        data.clear()
    backup.write_bytes(data)
    second = tell(world, range(30, 35))
    stored(world)
    done = world.hookd("restore", backup, "--yes", ok=False)
    assert set(settle(world)) == set(first + second)  # the newer ones are still in the journal
    assert bool(done.returncode) == (how != "grown")


def set_version(world, change):
    db = sqlite3.connect(world.dir / "hookd.db")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute(f"PRAGMA user_version = {change(version)}")
    db.commit()
    db.close()
    return version


def test_a_second_daemon_and_one_of_a_later_release(world):
    world.start()
    taken = tell(world, range(5))
    second = subprocess.run([str(world.build / "hookd"), "run", "--dir", str(world.dir)], env=world.env, capture_output=True, timeout=HANG)
    assert second.returncode != 0 and len(world.daemons()) == 1
    stored(world)
    world.stop()
    version = set_version(world, lambda v: v + 7)
    before = (world.dir / "hookd.db").read_bytes()
    world.hookd("start", ok=False)
    taken += tell(world, range(5, 8))
    wait_for(lambda: world.status()["store"]["trouble"], what="somebody to say so")
    world.stop()
    assert (world.dir / "hookd.db").read_bytes() == before  # not moved, not changed
    set_version(world, lambda v: version)
    assert set(settle(world)) == set(taken)


def test_a_daemon_that_is_stopped_and_goes_on(world):
    """For longer than any caller waits: their events come by the spool, and perhaps by the socket as well."""
    pid = world.start()
    for round_ in range(3):
        os.kill(pid, signal.SIGSTOP)
        hookc_all(world, range(10 * round_, 10 * round_ + 4))
        os.kill(pid, signal.SIGCONT)
        hookc_all(world, range(10 * round_ + 4, 10 * round_ + 10))
    assert set(settle(world)) == {f"t{n}" for n in range(30)}


def test_callers_that_are_killed_while_handing_over(world):
    rng = random.Random(5)
    pid = world.start()
    os.kill(pid, signal.SIGSTOP)
    done = set()

    def call(k):
        p = subprocess.Popen([str(world.build / "hookc"), "claude", "PostToolUse"], stdin=subprocess.PIPE, env=world.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        p.stdin.write(json.dumps(tool(k, tool_response={"text": "y" * 200_000})).encode())
        p.stdin.close()
        time.sleep(0.14 + rng.uniform(0, 0.04))
        p.kill()
        if p.wait() == 0:
            done.add(f"t{k}")
    for k in range(0, 40, 4):
        in_threads(4, lambda i: call(k + i))
    os.kill(pid, signal.SIGCONT)
    assert done <= set(settle(world))
    world.stop()
    for left in (world.dir / "spool").glob(".*.tmp"):
        os.utime(left, (time.time() - 3600,) * 2)
    world.start()
    wait_for(lambda: not list((world.dir / "spool").glob(".*.tmp")), what="left-over temporary files to go")


def test_a_segment_is_emptied_while_it_is_written(world):
    """What was in it and not yet folded is gone: then somebody says so, and what comes later is kept."""
    world.start()
    tell(world, range(10))
    for p in (world.dir / "journal").glob("*.j"):
        os.truncate(p, 0)
    later = tell(world, range(10, 20))
    world.hookd("rpc", "sessions", "{}", ok=False)
    later += tell(world, range(20, 25))
    names = set(settle(world))
    status = world.status()["store"]
    log = (world.dir / "hookd.log").read_bytes()
    assert set(later[10:]) <= names
    assert {f"t{n}" for n in range(20)} <= names or status["missing"] or status["damaged"] or b"damaged" in log or b"lost" in log


# -- children ----------------------------------------------------------------------------------------

RUNAWAY = """#!/usr/bin/env python3
import os, signal, sys, time
for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
    signal.signal(s, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        with open(sys.argv[1], "w") as f:
            f.write(str(os.getpid()))
        time.sleep(120)
    os._exit(0)
time.sleep(float(sys.argv[2]))
"""


def run_away(world, stays, timeout):
    script, pidfile = world.top / "runaway.py", world.top / "pid"
    script.write_text(RUNAWAY)
    script.chmod(0o755)
    (world.dir / "config.json").write_text(json.dumps({"hooks": {"PostToolUse": [{"hooks": [
        {"type": "command", "command": f"{script} {pidfile} {stays}", "timeout": timeout}]}]}}))
    pid = world.start()
    p = subprocess.Popen([str(world.build / "hookc"), "claude", "PostToolUse"], stdin=subprocess.PIPE, env=world.env,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.started.append(p)
    p.stdin.write(json.dumps(tool(1)).encode())
    p.stdin.close()
    wait_for(lambda: pidfile.exists() and pidfile.read_text(), what="the child")
    return pid, int(pidfile.read_text()), p


def test_a_child_in_a_session_of_its_own_dies_with_the_daemon(world):
    pid, child, caller = run_away(world, 60, 100)
    try:
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(child), 15, "the child to end")
    finally:
        if alive(child):
            os.kill(child, signal.SIGKILL)
    # It may have found the next daemon, which runs the hook again and has it wait.
    assert caller.poll() in (None, 0)
    caller.kill()
    caller.wait(HANG)
    assert settle(world) == ["t1"]


def test_a_child_in_a_session_of_its_own_does_not_outlive_its_timeout(world):
    _, child, caller = run_away(world, 60, 1)
    try:
        assert caller.wait(HANG) == 0
        wait_for(lambda: not alive(child), 15, "the child to end")
    finally:
        if alive(child):
            os.kill(child, signal.SIGKILL)
    assert stored(world) == ["t1"]
