"""A poisoned record costs nothing but itself."""
import json
import os
import struct
import time

import pytest

from outside import DENY, FINE, call, decisions, frozen, says, send
from world import field, frame, hook, in_threads, payload, read_frame, tool, wait_for

OWN = ["Decision", "ModelUsage", "Injection", "Memory", "Effort", "Output", "Inbound", "decision", "model_usage", "MODEL-USAGE"]


def well(world, n=900):
    """Everything else works: an event is stored, shown, judged, and there is no trouble."""
    assert says(world, "claude", DENY, n=n, session="well") == "deny"
    world.hookc("PostToolUse", tool(n, session="well"))
    assert any(e["session"] == "well" and e["event"] == "PostToolUse" for e in world.events())
    assert world.json("show", "well", "--json")["session"]["id"] == "well"
    done = world.hookd("status", ok=False)
    assert done.returncode == 0, done.stdout
    return world.status()


def rebuild_keeps(world):
    before = sorted(e["id"] for e in world.events())
    shown = sorted((s["id"], s["events"], s["prompts"], s["tools"])
                   for s in world.json("sessions", "--all", "--json", "-n", 1000)["sessions"])
    said = len(decisions(world))
    world.hookd("db", "rebuild")
    wait_for(lambda: sorted((s["id"], s["events"], s["prompts"], s["tools"]) for s in
                            world.json("sessions", "--all", "--json", "-n", 1000)["sessions"]) == shown,
             what="the sessions as before")
    assert sorted(e["id"] for e in world.events()) == before and len(decisions(world)) == said


@pytest.mark.parametrize("name", OWN)
def test_payloads_named_like_hookds_own_kinds(world, name):
    world.start()
    body = payload(name, rule="fs.rm-home", decision="allow", rules=[1], tool_use_id="x", event_id="zz",
                   findings=[{"rule": "fs.rm-home", "decision": "allow"}], usage={"input_tokens": "many"})
    for arg in (name, None):
        done = world.hookc(arg, body)
        assert done.returncode == 0
    well(world)
    assert [d["rule"] for d in decisions(world)] == ["hookd.selftest"], "a client forged a decision"
    rebuild_keeps(world)


def test_own_kinds_through_the_spool(world):
    world.start()
    with frozen(world):
        for name in OWN[:3]:
            world.hookc(name, payload(name, rule="x.y", decision="deny"))
    time.sleep(0.3)
    well(world)
    assert [d["rule"] for d in decisions(world)] == ["hookd.selftest"]


def test_own_kinds_by_frame(world):
    world.start()
    s = world.connect()
    for name in OWN:
        s.sendall(hook(json.dumps(payload(name, decision="allow", rule="x")).encode(), event=name.encode()))
        read_frame(s)
    well(world)
    assert [d["rule"] for d in decisions(world)] == ["hookd.selftest"]
    rebuild_keeps(world)


def test_the_same_key_twice_is_one_event(world):
    world.start()
    key = os.urandom(6) + b"0123456789"
    key = int(time.time() * 1000).to_bytes(6, "big") + b"0123456789"
    s = world.connect()
    for text in ("one", "two", "one"):
        s.sendall(hook(json.dumps(payload("Notification", message=text)).encode(), event=b"Notification", key=key))
        assert read_frame(s)[1]
    assert len(world.events()) == 1
    well(world)
    rebuild_keeps(world)


def test_the_same_key_in_two_sessions(world):
    world.start()
    key = int(time.time() * 1000).to_bytes(6, "big") + b"abcdefghij"
    for session in ("k1", "k2"):
        s = world.connect()
        s.sendall(hook(json.dumps(tool(1, session=session)).encode(), key=key))
        read_frame(s)
    well(world)


@pytest.mark.parametrize("at", [0, 1, 2**31, 2110130413114, 2**53, 2**63 - 1, 2**63, 2**64 - 1])
def test_absurd_client_times(world, at):
    """model.md: in the order of a session, an implausible client time gives way to the daemon's."""
    world.start()
    s = world.connect()
    world.hookc("PostToolUse", tool(1, session="absurd"))
    s.sendall(hook(json.dumps(tool(2, session="absurd")).encode(), at_ms=at))
    stored = read_frame(s)[1]
    assert stored or at >= 2**53, "hookc hands a refused frame over to hookd offline"
    world.hookc("PostToolUse", tool(3, session="absurd"))
    got = [e["tool_use_id"] for e in world.rpc("session_events", session="absurd")["events"]]
    assert got == (["t1", "t2", "t3"] if stored else ["t1", "t3"])
    well(world)
    rebuild_keeps(world)


@pytest.mark.parametrize("key", [b"\0" * 16, b"\xff" * 16])
def test_absurd_keys(world, key):
    world.start()
    s = world.connect()
    s.sendall(hook(json.dumps(tool(1, session="keyed")).encode(), key=key))
    try:
        read_frame(s)
    except EOFError:
        pass
    well(world)
    rebuild_keeps(world)


def test_absurd_times_inside_the_payload(world):
    world.start()
    for i, when in enumerate(("9999-99-99T99:99:99Z", "not a time", -1, 1e300, 10**30, None, "")):
        world.hookc("PostToolUse", tool(i, session="odd", timestamp=when, duration_ms=when))
    assert len(world.events()) == 7
    well(world)
    rebuild_keeps(world)


JUNK = [b"\x00" * 64, b"\xff" * 64, b"\xf5", b"\xf5\x01\x01\x00", b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"{", b"{}\n",
        b"[" * 100000 + b"\n", b'{"jsonrpc":"2.0","id":1}\n', b'{"jsonrpc":"2.0","id":1,"method":7}\n', b"\n\n\n\n",
        b'{"jsonrpc":"2.0","id":1,"method":"show","params":{"session":{"a":1}}}\n', b"\xf5\x63\x01\x00\x00\x00\x00\x00",
        frame(b"", kind=1), frame(b"\x01\xff\xff\xff\xff"), frame(b"abc", length=2**32 - 1), frame(b"abc", kind=9),
        frame(field(1, b"short") + field(12, b"{}")), frame(b"\x00\x00\x00\x00junk", kind=5),
        frame(struct.pack("<I", 5) + b"{\"a\"}" + struct.pack("<I", 9) + b"123456789", kind=5)]


@pytest.mark.parametrize("n", range(len(JUNK)))
def test_junk_on_the_socket(world, n):
    pid = world.start()
    s = world.connect()
    try:
        s.sendall(JUNK[n])
        s.settimeout(0.3)
        s.recv(65536)
    except OSError:
        pass
    s.close()
    well(world)
    assert world.pid() == pid


def test_junk_to_hookc(world):
    world.start()
    for raw in (b"", b"\0\0\0", b"\xff\xfe{}", b"null", b"[]", b"7", b'"x"', b"{}", os.urandom(3000), b'{"session_id":'):
        for event in ("PostToolUse", "Stop", "SessionStart", None):
            done = world.hookc(event, raw)
            assert done.returncode == 0, (raw, event, done)
    well(world)
    rebuild_keeps(world)


def test_invalid_utf8_and_nul_in_texts(world):
    world.start()
    raws = [b'{"session_id":"u","cwd":"/tmp","hook_event_name":"UserPromptSubmit","prompt":"a\xff\xfeb"}',
            b'{"session_id":"u","cwd":"/tmp","hook_event_name":"UserPromptSubmit","prompt":"a\\u0000b"}',
            b'{"session_id":"u","cwd":"/tmp","hook_event_name":"UserPromptSubmit","prompt":"a\\ud800b"}',
            b'{"session_id":"u\\u0000v","cwd":"/tmp\\u0000x","hook_event_name":"UserPromptSubmit","prompt":"ok"}']
    for raw in raws:
        assert world.hookc("UserPromptSubmit", raw).returncode == 0
    assert len(world.events()) == 4
    for form in ("md", "html", "jsonl"):
        world.hookd("export", "--all", "--format", form)
    well(world)
    rebuild_keeps(world)


def test_records_out_of_order(world):
    world.start()
    world.hookc("PostToolUse", tool(1, session="ooo"))
    world.hookc("SessionEnd", payload("SessionEnd", "ooo", reason="other"))
    world.hookc("PreToolUse", tool(1, "PreToolUse", session="ooo"))
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "ooo", prompt="first?"))
    world.hookc("SessionStart", payload("SessionStart", "ooo", source="startup"))
    shown = world.json("show", "ooo", "--json")
    calls = [a for b in shown["batches"] for a in b["activities"] if a["kind"] == "tool"] + \
            [a for a in shown.get("outside", []) if a["kind"] == "tool"]
    assert [c["state"] for c in calls] == ["done"]
    well(world)
    rebuild_keeps(world)


def test_out_of_order_by_client_time(world):
    """Within a minute the client's clock decides the order."""
    world.start()
    now = int(time.time() * 1000)
    s = world.connect()
    rows = [("Stop", payload("Stop", "ord", last_assistant_message="answer", stop_hook_active=False), now - 1000),
            ("PostToolUse", tool(1, session="ord"), now - 2000),
            ("UserPromptSubmit", payload("UserPromptSubmit", "ord", prompt="question"), now - 5000)]
    for event, body, at in rows:
        s.sendall(hook(json.dumps(body).encode(), event=event.encode(), at_ms=at))
        assert read_frame(s)[1]
    well(world)
    rebuild_keeps(world)


def test_a_very_long_session_id_and_names(world):
    world.start()
    for i, n in enumerate((300, 5000, 200000)):
        world.hookc("PostToolUse", tool(i, session="x" * n))
        world.hookc("PostToolUse", {**tool(i + 10, session="y"), "tool_name": "T" * n, "tool_use_id": "i" * n})
        world.hookc("E" * min(n, 5000), payload("E" * n, "z"))
    well(world)
    rebuild_keeps(world)


def test_wrong_types_everywhere(world):
    world.start()
    odd = [7, -1, 1e308, True, None, [], [1], {}, {"a": {"b": 1}}, "", "\u202e", "'; DROP TABLE events; --"]
    events = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "PreCompact",
              "SessionEnd", "Notification"]
    s = world.connect()
    sent = 0
    for event in events:
        for i, v in enumerate(odd):
            body = {"session_id": "types", "cwd": "/tmp", "hook_event_name": event, "prompt": v, "prompt_id": v,
                    "tool_name": v, "tool_input": v, "tool_response": v, "tool_use_id": v, "error": v, "source": v,
                    "reason": v, "transcript_path": v, "agent_id": v, "agent_type": v, "trigger": v, "duration_ms": v,
                    "last_assistant_message": v, "stop_hook_active": v, "model": v, "permission_mode": v}
            s.sendall(hook(json.dumps(body).encode(), event=event.encode()))
            assert read_frame(s)[1], (event, v)
            sent += 1
    assert len(world.events()) == sent
    well(world)
    rebuild_keeps(world)


def test_unknown_events_are_kept(world):
    world.start()
    for name in ("Frobnicated", "Täst", "a b c", "../../etc", "x" * 200):
        done = world.hookc(None, payload(name, "unk"))
        assert done.returncode == 0 and not done.stdout
    assert len(world.events()) == 5
    well(world)


def test_status_is_without_trouble_after_poison(world):
    world.start()
    world.hookc("Decision", payload("Decision", rule=7))
    st = well(world)
    texts = json.dumps(st.get("trouble", ""))
    assert st["events"], texts
    assert world.hookd("db", "check").returncode == 0


def test_codex_notify_with_junk(world):
    import subprocess
    world.start()
    for arg in ("", "{", "null", '{"type":7}', '{"type":"agent-turn-complete","thread-id":5,"input-messages":"x"}',
                '{"type":"Decision","thread-id":"t","turn-id":"u"}'):
        done = subprocess.run([str(world.build / "hookc"), "codex", "notify", arg], env=world.env, capture_output=True,
                              timeout=20, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (arg, done)
    well(world)
    rebuild_keeps(world)


def test_rebuild_keeps_everything_of_a_busy_store(world):
    world.start()
    for n in range(30):
        world.hookc("UserPromptSubmit", payload("UserPromptSubmit", f"b{n % 3}", prompt=f"p{n}", prompt_id=f"i{n}"))
        world.hookc("PreToolUse", tool(n, "PreToolUse", session=f"b{n % 3}"))
        world.hookc("PostToolUse", tool(n, session=f"b{n % 3}"))
    send(world, "claude", DENY, session="b0", n=77)
    before = [world.json("show", f"b{i}", "--json")["stats"] for i in range(3)]
    rebuild_keeps(world)
    assert [world.json("show", f"b{i}", "--json")["stats"] for i in range(3)] == before
    assert before[0]["denied"] == 1


def test_spool_junk_is_set_aside(world):
    world.start()
    with frozen(world):
        world.hookc("PostToolUse", tool(1, session="spooled"))
        spool = next(p for p in world.dir.rglob("spool") if p.is_dir())
        (spool / "01JCQZZZZZZZZZZZZZZZZZZZZZ.j").write_bytes(os.urandom(500))
        (spool / "junk.j").write_bytes(b"")
        (spool / "readme.txt").write_bytes(b"hello")
    wait_for(lambda: any(e["session"] == "spooled" for e in world.events()), what="the good spool file")
    assert says(world, "claude", DENY, n=5) == "deny"
