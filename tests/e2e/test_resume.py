"""Purge and restore are killed at every step; the next daemon finishes them, or nothing has happened."""
import os
import shutil
import sqlite3
import subprocess

import pytest

from test_disk import start_with_fault
from world import BUILD, ROOT, tool, wait_for

SECRET = b"the-text-that-must-go"
STEPS = 6  # places in a purge at which a test may end it


def fill(world, n=6):
    for i in range(n):
        world.hookc("PostToolUse", tool(f"g{i}", session="gone", tool_response={"text": SECRET.decode() + str(i)}))
        world.hookc("PostToolUse", tool(f"k{i}", session="kept"))
    assert len(world.events()) == 2 * n


def sessions(world):
    return {e["session"] for e in world.events()}


@pytest.mark.parametrize("choice", (("--session", "gone"), ("--match", SECRET.decode())))
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_purge_that_is_killed_is_finished_by_the_next_daemon(world, step, choice):
    world.start()
    fill(world)
    world.rpc("backup", automatic=True)
    world.stop()
    assert world.contains(SECRET)
    assert start_with_fault(world, f"purge:{step}")
    world.hookd("purge", *choice, "--yes", ok=False)
    wait_for(lambda: not world.daemons(), what="the daemon to die")
    world.start()
    wait_for(lambda: not (world.dir / "purge.order").exists(), what="the purge to be finished")
    assert sessions(world) == {"kept"}
    assert len(world.events()) == 6
    world.stop()
    assert not world.contains(SECRET)  # in no file: store, WAL, journal, spool, backups, the order itself


def test_there_are_that_many_steps(world):
    world.start()
    fill(world)
    world.stop()
    assert start_with_fault(world, f"purge:{STEPS + 1}")
    world.hookd("purge", "--session", "gone", "--yes")
    assert world.daemons()


def test_a_purge_reaches_the_whole_spool_and_temporary_files(world):
    """More files than one transaction takes, and one that a killed process left half-written."""
    world.start()
    world.hookc("PostToolUse", tool("k", session="kept"))
    world.stop()
    shutil.move(world.dir / "run/hookd.lock", world.dir / "run/x")
    (world.dir / "run/hookd.lock").mkdir()  # no daemon can start: events go to the spool
    world.hookc("PostToolUse", tool("g", session="gone", tool_response={"text": SECRET.decode()}))
    (world.dir / "run/hookd.lock").rmdir()
    (one,) = (world.dir / "spool").glob("*.j")
    for n in range(2100):
        os.link(one, one.with_name(f"01ARZ3NDEKTSV4RRFFQ69G{n:04d}.j"))
    for name in ("spool/.01ARZ3NDEKTSV4RRFFQ69G5FAV.tmp", "config.json.hookd-Ab12xY"):
        (world.dir / name).write_bytes(SECRET)
        os.utime(world.dir / name, (1, 1))
    world.hookd("purge", "--match", SECRET.decode(), "--yes")
    assert not world.contains(SECRET)
    assert sessions(world) == {"kept"}


# -- restore -----------------------------------------------------------------------------------------

def restore_killed_at(world, backup, call):
    """hookd restore under a shim that kills it before its n-th change of a name. False: it came to its end."""
    done = world.hookd("restore", backup, "--yes", ok=False,
                       env={"LD_PRELOAD": str(call[0]), "FAULT_CALLS": "names", "FAULT_AT": str(call[1]), "FAULT_HOW": "kill"})
    return done.returncode != 0


def test_a_restore_is_all_or_nothing_wherever_it_is_killed(world):
    shim = build_shim(world.top)
    world.start()
    for i in range(3):
        world.hookc("PostToolUse", tool(f"b{i}"))
    backup = world.top / "backup.db"
    world.hookd("backup", backup)
    world.hookc("PostToolUse", tool("later"))
    whole = {"tb0", "tb1", "tb2", "tlater"}
    assert {e["tool_use_id"] for e in world.events()} == whole
    world.stop()
    for p in (world.dir / "journal").iterdir():  # folded whole; it would be folded into the restored store again
        p.unlink()
    saved = world.top / "saved"
    shutil.copytree(world.dir, saved, ignore=shutil.ignore_patterns("*.sock"))
    for n in range(1, 60):
        world.stop()
        shutil.rmtree(world.dir)
        shutil.copytree(saved, world.dir)
        killed = restore_killed_at(world, backup, (shim, n))
        world.hookd("start")
        found = {e["tool_use_id"] for e in world.events()}
        assert found in (whole, whole - {"tlater"}), n
        assert world.rpc("check")["ok"]
        assert not [p.name for p in world.dir.iterdir() if ".restor" in p.name and ".hookd-" not in p.name], n
        aside = [p for p in world.dir.glob("hookd.db.before-restore-*") if not p.name.endswith(("-wal", "-shm"))]
        assert len(aside) == (found != whole), n
        if not killed:
            assert found != whole
            return
    raise AssertionError("it never came to its end")


def build_shim(folder):
    out = folder / "faults.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(out),
                    str(ROOT / "tests/crash/faults.c"), "-ldl", "-lpthread"], check=True)
    return out


# -- recovery ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("backup", (False, True))
@pytest.mark.parametrize("step", range(1, 5))
def test_a_recovery_that_is_killed_is_finished_by_the_next_daemon(world, step, backup):
    world.start()
    for i in range(12):
        world.hookc("PostToolUse", tool(f"r{i}"))
        if i == 5 and backup:
            world.rpc("backup", automatic=True)
    assert len(world.events()) == 12
    world.stop()
    for p in (world.dir / "journal").iterdir():
        p.unlink()
    with sqlite3.connect(world.dir / "hookd.db") as db:
        page = db.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'activities'").fetchone()[0]
    with open(world.dir / "hookd.db", "r+b") as f:
        f.seek((page - 1) * 4096)
        f.write(b"\xff" * 64)
    if not start_with_fault(world, f"recover:{step}"):
        pass  # it died at once
    wait_for(lambda: not world.daemons(), what="the daemon to die")
    world.hookd("start")
    wait_for(lambda: "was damaged" in world.status()["store"]["recovery"], what="the recovery")
    assert sorted(e["tool_use_id"] for e in world.events()) == sorted(f"tr{i}" for i in range(12))
    assert world.rpc("check")["ok"]
    assert not (world.dir / "hookd.db.recovery").exists()
