"""The state directory, or a part of it, is removed, moved or replaced under a running daemon. Nothing acknowledged is lost,
nothing of another daemon is touched, and hooks find a daemon again."""
import json
import os
import shutil
import signal
import subprocess

import pytest

from world import DONE, World, alive, hook, read_frame, tool, wait_for


def send(s, name):
    s.sendall(hook(json.dumps(tool(name)).encode()))
    reply = read_frame(s)
    while reply[0] != DONE:
        reply = read_frame(s)
    return reply[1]


def acknowledged(s, names):
    """Those of the names that were."""
    taken = []
    for name in names:
        try:
            if send(s, name):
                taken.append(f"t{name}")
        except (OSError, EOFError):
            break
    return taken


def stored(world):
    return sorted(e["tool_use_id"] for e in world.events())


def remove(path):
    """As a person does it, again if need be: a daemon that has just begun may be making files."""
    while subprocess.run(["rm", "-rf", str(path)], stderr=subprocess.DEVNULL).returncode:
        pass


def gone(pid):
    wait_for(lambda: not alive(pid), what="the evicted daemon to stop")


@pytest.mark.parametrize("folded", (False, True))
def test_removed_and_nobody_there(world, folded):
    pid = world.start()
    with world.connect() as s:
        taken = acknowledged(s, ("a1", "a2"))
        if folded:
            assert stored(world) == taken
        remove(world.dir)
        taken += acknowledged(s, ("a3", "a4"))
    gone(pid)
    wait_for(lambda: stored(world) == taken, what="everything to be back")
    if folded:  # else only the journal had them
        assert "removed while in use" in world.status()["store"]["recovery"]
    assert not list((world.dir / "spool").glob("*.db"))


def test_removed_and_another_daemon_there_at_once(world):
    pid = world.start()
    with world.connect() as s:
        taken = acknowledged(s, [f"a{n}" for n in range(50)])
        os.kill(pid, signal.SIGSTOP)  # it cannot notice before the other one has begun
        remove(world.dir)
        assert world.hookc("PostToolUse", tool("b1")).returncode == 0
        wait_for(lambda: world.pid() not in (None, pid), what="another daemon")
        os.kill(pid, signal.SIGCONT)
        taken += acknowledged(s, ("c1", "c2"))
    gone(pid)
    wait_for(lambda: stored(world) == sorted([*taken, "tb1"]), what="the events of both")


def test_removed_under_load(world):
    """More than the writer can fold while it stops."""
    pid = world.start()
    taken = []
    with world.connect() as s:
        taken += acknowledged(s, [f"a{n}" for n in range(6000)])
        remove(world.dir)
        taken += acknowledged(s, [f"b{n}" for n in range(6000)])
    gone(pid)
    wait_for(lambda: not set(taken) - set(stored(world)), what="everything to be back")


def test_moved_away_whole(world):
    pid = world.start()
    with world.connect() as s:
        taken = acknowledged(s, ("a1", "a2"))
        os.kill(pid, signal.SIGSTOP)
        elsewhere = world.top / "e"
        world.dir.rename(elsewhere)
        assert world.hookc("PostToolUse", tool("b1")).returncode == 0
        wait_for(lambda: world.pid() not in (None, pid), what="another daemon")
        os.kill(pid, signal.SIGCONT)
        taken += acknowledged(s, ("c1", "c2"))
    gone(pid)
    # What is at the path is the other's, as if the first had never been; the first's is where it was moved.
    assert stored(world) == ["tb1"]
    assert not list(world.dir.glob("hookd.db.*"))
    world.stop()
    found = subprocess.run([str(world.build / "hookd"), "tail", "--json", "-n", "100"], capture_output=True, timeout=30,
                           env={**world.env, "HOOKD_DIR": str(elsewhere)}).stdout
    subprocess.run([str(world.build / "hookd"), "stop"], capture_output=True, timeout=30, env={**world.env, "HOOKD_DIR": str(elsewhere)})
    assert sorted(json.loads(line)["tool_use_id"] for line in found.splitlines()) == taken


def test_another_ones_segments_are_not_deleted(world):
    """Both have a segment of the same number; the daemon that was evicted folds its own and deletes neither."""
    pid = world.start()
    with world.connect() as s:
        acknowledged(s, [f"a{n}" for n in range(100)])
    os.kill(pid, signal.SIGSTOP)
    world.dir.rename(world.top / "e")
    (world.dir / "journal").mkdir(mode=0o700, parents=True)
    (world.dir / "spool").mkdir(mode=0o700)
    others = [world.dir / "journal" / p.name for p in (world.top / "e/journal").glob("*.j")] + [world.dir / "spool/x.j"]
    for p in others:
        p.write_bytes(b"another's")
    (world.dir / "hookd.db").write_bytes(b"another's")
    (world.dir / "hookd.db-wal").write_bytes(b"another's")
    os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGTERM)
    gone(pid)
    assert all(p.read_bytes() == b"another's" for p in [*others, world.dir / "hookd.db", world.dir / "hookd.db-wal"])


def test_the_lock_is_removed(world):
    """It lets no second daemon into the same directory."""
    pid = world.start()
    with world.connect() as s:
        taken = acknowledged(s, ("a1",))
        (world.dir / "run/hookd.lock").unlink()
        taken += acknowledged(s, ("a2",))
    world.hookd("start")
    gone(pid)
    assert len(world.daemons()) == 1
    assert stored(world) == taken


@pytest.mark.parametrize("how", ("removed", "replaced"))
def test_the_journal_alone(world, how):
    world.start()
    with world.connect() as s:
        taken = acknowledged(s, ("a1", "a2"))  # not folded yet: only the journal's file has them
        if how == "removed":
            remove(world.dir / "journal")
        else:
            (world.dir / "journal").rename(world.dir / "before")
            (world.dir / "journal").mkdir(mode=0o700)
        taken += acknowledged(s, ("a3", "a4"))
        wait_for(lambda: world.status()["journal"]["trouble"], what="the daemon to notice")
        taken += acknowledged(s, ("a5",))
    wait_for(lambda: list((world.dir / "journal").glob("*.j")), what="a new segment")
    assert stored(world) == taken
    assert world.status()["store"]["trouble"] == ""


def test_a_copy_of_the_directory_in_its_place():
    """As after unpacking an archive over it: the lock at the path has another inode, and the daemon of before leaves."""
    world = World()
    try:
        pid = world.start()
        with world.connect() as s:
            taken = acknowledged(s, ("a1", "a2"))
        assert stored(world) == taken
        copy = world.top / "c"
        shutil.copytree(world.dir, copy, ignore=shutil.ignore_patterns("*.sock"))
        world.dir.rename(world.top / "e")
        copy.rename(world.dir)
        gone(pid)
        assert world.hookc("PostToolUse", tool("b1")).returncode == 0
        assert stored(world) == sorted([*taken, "tb1"])
    finally:
        world.close()
