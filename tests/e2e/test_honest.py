"""Status says what is; after trouble a person is told once, in a line of the user interface."""
import json
import os
import signal

from test_disk import start_with_fault
from world import WAIT, hook, payload, read_frame, tool, wait_for


def start(world, session="n"):
    done = world.hookc("SessionStart", payload("SessionStart", session=session, source="startup"))
    assert done.returncode == 0 and done.stderr == b""
    return json.loads(done.stdout) if done.stdout else {}


def test_status_tells_of_agents_spool_wal_and_replay(world):
    world.hookc("PreToolUse", tool(1, "PreToolUse"))
    world.hookc("PostToolUse", tool(1))
    world.hookc("Stop", payload("Stop", session="g"), agent="gemini")
    world.events()  # the store is there
    status = world.status()
    assert [(a["agent"], a["tools_before"], a["tools_after"]) for a in status["agents"]] == [("claude", 1, 1), ("gemini", 0, 0)]
    assert status["store"]["bytes"] + status["store"]["wal_bytes"] > 0
    assert status["spool"]["oldest_age_us"] == 0
    text = world.hookd("status").stdout.decode()
    assert "claude, last event" in text and "gemini, last event" in text and "health       ok" in text
    os.kill(world.pid(), signal.SIGSTOP)
    try:
        world.hookc("PostToolUse", tool(2))
        assert list((world.dir / "spool").glob("*.j"))
    finally:
        os.kill(world.pid(), signal.SIGCONT)
    wait_for(lambda: world.status()["spool"]["picked_up"] == 1, what="the spool")


def test_what_a_dead_daemon_left_is_told(world):
    assert start_with_fault(world, "commit:1+")
    with world.connect() as s:
        for n in range(7):
            s.sendall(hook(json.dumps(tool(n)).encode()))
            read_frame(s)
    world.kill()
    world.hookd("start")
    wait_for(lambda: world.status()["store"]["replayed"] == 7, what="the replay")
    assert "7 events of an earlier daemon" in world.hookd("status").stdout.decode()


def test_an_agent_that_reports_tools_only_afterwards(world):
    for n in range(25):
        world.hookc("PostToolUse", tool(n))
    assert world.status()["agents"][0]["misses_before"] is True
    assert "never before" in world.hookd("status").stdout.decode()
    said = start(world)
    assert "never before" in said["systemMessage"]
    # For the person, not for the model; and once.
    assert "hookSpecificOutput" not in said
    assert start(world, "n2") == {}


def test_trouble_is_said_once_at_the_next_start_of_a_session(world):
    assert start_with_fault(world, "write:2,truncate:1,spool:1")
    with world.connect() as s:
        stored = []
        for n in range(3):
            s.sendall(hook(json.dumps(tool(n)).encode()))
            reply = read_frame(s)
            while reply[0] == WAIT:
                reply = read_frame(s)
            stored.append(reply[1])
    assert 0 in stored
    assert "could not be kept" in start(world)["systemMessage"]
    assert start(world, "n2") == {}


def test_a_quiet_start_says_nothing(world):
    assert start(world) == {}


def test_a_recovered_store_is_told_once(world):
    world.hookc("PostToolUse", tool(1))
    world.events()
    world.stop()
    db = world.dir / "hookd.db"
    data = db.read_bytes()
    db.write_bytes(b"\0" * 16384 + data[16384:])
    world.hookd("start")
    wait_for(lambda: world.status()["store"]["recovery"], what="the recovery")
    said = start(world)["systemMessage"]
    assert "damaged" in said or "anew" in said or "moved" in said, said
    assert start(world, "n2") == {}
    world.hookd("restart")
    assert start(world, "n3") == {}
