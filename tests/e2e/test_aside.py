"""Records that cannot be folded cost nothing but themselves."""
import json
import os
import struct
import time

from world import DONE, field, frame, read_frame, tool, wait_for


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def record(kind, payload, session=b"s1"):
    """A record's bytes as in journal and spool."""
    now = int(time.time() * 1000000)
    key = (now // 1000).to_bytes(6, "big") + os.urandom(10)
    return key, struct.pack("<BBBBI", 1, 0, 0, 0, 0) + key + struct.pack("<qq", now, now) + field(64, kind) + field(65, b"other") + \
        field(1, b"claude") + field(2, kind) + field(3, session) + field(10, payload)


def segment(bodies, number=0, identity=7):
    out = b"hookdjnl" + struct.pack("<QQQ", 1, number, identity)
    for body in bodies:
        head = struct.pack("<I", len(body))
        out += head + struct.pack("<I", crc32c(head + body)) + body
    return out


POISON = b'{"rulings":[{"rule":"x","decision":"deny"}]}'  # a decision about nothing: a column of its row must not be empty


def test_an_agents_event_with_a_name_of_our_own_is_an_unknown_event(world):
    world.start()
    for n, name in enumerate(["Decision", "ModelUsage", "decision", "model_usage"]):
        payload = {**tool(n, event=name), "rulings": [{"rule": "x", "decision": "deny"}], "message_id": "m"}
        assert world.hookc(name, payload).returncode == 0
    world.hookc("PostToolUse", tool(9))
    told = world.rpc("events", limit=100)["events"]
    assert [e["event"] for e in told] == ["Unknown"] * 4 + ["PostToolUse"]
    assert world.rpc("decisions")["decisions"] == []
    assert world.status()["store"]["trouble"] == "" and world.status()["store"]["unfolded"] == 0


def test_a_poisoned_record_in_the_journal_costs_only_itself(world):
    world.start()
    world.hookc("PostToolUse", tool(1))
    world.events()
    world.stop()
    (key, poison), (_, sound) = record(b"Decision", POISON), record(b"SessionEnd", b'{"session_id":"s1","reason":"other"}')
    (world.dir / "journal/00000000000000aa.j").write_bytes(segment([poison, sound], 0xAA))
    world.start()
    world.hookc("PostToolUse", tool(2))
    told = world.rpc("events", limit=100)["events"]
    assert [e["event"] for e in told] == ["PostToolUse", "Decision", "SessionEnd", "PostToolUse"]
    status = world.status()["store"]
    assert (status["unfolded"], status["quarantined"], status["trouble"]) == (1, 0, "")
    assert b"1 events could not be folded" in world.hookd("status").stdout
    assert b"NOT NULL constraint failed" in world.hookd("logs", "-n", 100).stdout
    # It stays so over a restart, and what can be understood is made from all the rest.
    world.stop()
    world.start()
    wait_for(lambda: world.status()["store"]["unfolded"] == 1, what="the count")
    assert len(world.rpc("activities", limit=10)["activities"]) == 2


def test_a_poisoned_record_in_the_spool_costs_only_itself(world):
    world.start()
    world.hookc("PostToolUse", tool(1))
    for n, (kind, payload) in enumerate([(b"Decision", POISON), (b"Notification", b'{"session_id":"s1","message":"hello"}')]):
        (world.dir / f"spool/01ARZ3NDEKTSV4RRFFQ69G5FA{n}.j").write_bytes(segment([record(kind, payload)[1]]))
    wait_for(lambda: not list((world.dir / "spool").glob("*.j")), what="the spool to be picked up")
    assert sorted(e["event"] for e in world.rpc("events", limit=100)["events"]) == ["Decision", "Notification", "PostToolUse"]
    assert world.status()["store"]["unfolded"] == 1


def test_rebuild_makes_everything_again_from_events(world):
    world.start()
    for n in range(5):
        world.hookc("UserPromptSubmit", {"session_id": f"s{n}", "hook_event_name": "UserPromptSubmit", "cwd": "/tmp", "prompt": f"do {n}"})
        world.hookc("PostToolUse", tool(n, session=f"s{n}"))
    before = world.rpc("activities", limit=100)["activities"], world.rpc("sessions")["sessions"]
    dry = world.json("db", "rebuild", "--dry-run", "--json")
    assert (dry["left"], dry["sessions"], dry["events"]) == (0, 5, 10)
    assert b"5 sessions were refolded from 10 events" in world.hookd("db", "rebuild").stdout
    assert (world.rpc("activities", limit=100)["activities"], world.rpc("sessions")["sessions"]) == before
    assert world.json("db", "rebuild", "--json")["left"] == 0


def test_what_was_put_aside_is_tried_again_by_a_rebuild(world):
    world.start()
    world.stop()
    key, poison = record(b"Decision", POISON)
    (world.dir / "journal/00000000000000aa.j").write_bytes(segment([poison], 0xAA))
    world.start()
    wait_for(lambda: world.status()["store"]["unfolded"] == 1, what="the record to be put aside")
    done = world.hookd("db", "rebuild").stdout
    assert b"1 of them could not be folded" in done
    assert world.status()["store"]["unfolded"] == 1  # still bad; tried, and aside again
    assert world.hookd("logs", "-n", 100).stdout.count(b"cannot be folded") >= 2


def test_frames_of_records_bring_no_decisions(world):
    world.start()
    head = json.dumps({"path": "", "agent": "claude"}).encode()
    good, bad = record(b"ModelUsage", b'{"message_id":"m1","input_tokens":5}')[1], record(b"Decision", POISON)[1]
    body = b"".join(struct.pack("<I", len(p)) + p for p in (head, bad, good))
    with world.connect() as s:
        s.sendall(frame(body, kind=5))
        kind, stored, code, out, _ = read_frame(s)
    assert (kind, stored, code) == (DONE, 2, 0), out
    assert json.loads(out) == {"new": 1, "known": 0, "unreadable": 1}
    assert world.rpc("decisions")["decisions"] == [] and world.status()["store"]["unfolded"] == 0
