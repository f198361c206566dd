"""A file system that never answers: a FUSE mount whose server reads no request. Whoever touches it hangs."""
import ctypes
import json
import os
import threading

import pytest

from test_hooks import bash, configure, one, specific
from world import payload, wait_for

LAZY = 2  # MNT_DETACH
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def hung(world):
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("mounting needs root and /dev/fuse")
    path = world.top / "mnt"
    path.mkdir()
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"hung", str(path).encode(), b"fuse.hung", 0, options):
        os.close(fd)
        pytest.skip(f"no FUSE here: {os.strerror(ctypes.get_errno())}")
    yield path
    os.close(fd)  # whoever hangs gets an error
    libc.umount2(str(path).encode(), LAZY)


def in_background(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_dead_mount_does_not_delay_another_project(world, hung):
    configure(world, one("PreToolUse", "true"))
    world.start()
    done = []
    # More sessions than there are workers, each in a directory of its own on the dead mount.
    stuck = [in_background(lambda n=n: done.append(world.hookc("PreToolUse", bash(
        f"cat {hung}/p{n}/file", session=f"dead{n}", cwd=f"{hung}/p{n}")))) for n in range(8)]
    wait_for(lambda: len(world.daemons()) == 1)
    for n in range(5):
        denied = world.hookc("PreToolUse", bash("echo hookd-selftest-deny", session=f"alive{n}", cwd=str(world.home)), seconds=10)
        assert specific(denied)["permissionDecision"] == "deny"
        assert world.hookc("PostToolUse", payload("PostToolUse", f"alive{n}", tool_name="Read", tool_input={}),
                           seconds=10).returncode == 0
    assert len([e for e in world.events() if e["session"].startswith("alive")]) == 10
    del stuck


def test_on_a_dead_mount_the_text_decides(world, hung):
    world.start()
    denied = world.hookc("PreToolUse", bash("echo hookd-selftest-deny", session="d", cwd=str(hung)), seconds=20)
    assert specific(denied)["permissionDecision"] == "deny"
    assert world.status()["events"]["judged_by_text"] >= 1
    assert b"did not answer" in world.hookd("logs").stdout
