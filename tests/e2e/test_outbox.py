"""Events go out: to a web server, a program, a file, a collector, a chat; once, in order, and again when it failed."""
import hashlib
import hmac
import json
import os
import pathlib
import signal
import sqlite3
import stat
import time

import pytest

from models import Model
from receiver import Receiver
from world import ROOT, WAIT, alive, hook, payload, read_frame, tool, wait_for

SESSION = "0f8e6a52-77a1-4c59-8d0e-9f2f31c0a001"


@pytest.fixture
def receiver():
    r = Receiver(seed=1)
    yield r
    r.close()


def configure(world, *sinks, **options):
    (world.dir / "config.json").write_text(json.dumps({**options, "sinks": list(sinks)}))
    return world


def tell(world, event, session=SESSION, agent="claude", **fields):
    done = world.hookc(event, payload(event, session, **fields), agent=agent)
    assert (done.returncode, done.stderr) == (0, b"")


def a_turn(world, session=SESSION, text="Fix the parser", answer="The parser is fixed."):
    tell(world, "SessionStart", session, source="startup", transcript_path="/t/x.jsonl")
    tell(world, "UserPromptSubmit", session, prompt=text)
    tell(world, "Stop", session, last_assistant_message=answer)


def arrived(receiver, n, *types):
    return wait_for(lambda: len(b := receiver.bodies(*types)) >= n and b, what=f"{n} deliveries")


def deliveries(world, *args):
    return world.json("outbox", "list", "--json", "-n", "10000", *args)["deliveries"]


def sink_state(world, name="team"):
    return next(s for s in world.json("sinks", "--json")["sinks"] if s["name"] == name)


def change_store(world, sql, *values):
    """Changes the store while no daemon runs."""
    world.stop()
    db = sqlite3.connect(world.dir / "hookd.db")
    changed = db.execute(sql, values).rowcount
    db.commit()
    db.close()
    return changed


# -- what arrives ------------------------------------------------------------------------------------


def test_a_turn_arrives_event_by_event(world, receiver):
    configure(world, receiver.sink())
    a_turn(world)
    tell(world, "Notification", message="Claude needs your permission", notification_type="permission_prompt")
    tell(world, "SessionEnd", reason="exit")
    got = arrived(receiver, 5)
    assert [b["event_type"] for b in got] == ["session_start", "prompt", "stop", "notification", "session_end"]
    assert len({b["session_id"] for b in got}) == 1 and got[0]["session_id"] != SESSION
    assert {b["data"]["session_id"] for b in got} == {SESSION}
    assert {b["agent"] for b in got} == {"claude"}
    start, prompt, stop, note, end = (b["data"] for b in got)
    assert (start["source"], start["transcript_path"]) == ("startup", "/t/x.jsonl")
    assert prompt["prompt"] == "Fix the parser"
    assert (stop["prompt"], stop["answer"], stop["transcript_path"]) == ("Fix the parser", "The parser is fixed.", "/t/x.jsonl")
    assert (note["message"], note["notification_type"]) == ("Claude needs your permission", "permission_prompt")
    assert end["reason"] == "exit"
    assert [e["headers"]["X-Hookd-Event"] for e in receiver.got] == [b["event_type"] for b in got]


def test_our_name_of_a_session_is_the_same_in_another_store(world, receiver):
    configure(world, receiver.sink())
    a_turn(world)
    first = arrived(receiver, 3)[0]["session_id"]
    world.stop()
    for p in world.dir.glob("hookd.db*"):
        p.unlink()
    tell(world, "UserPromptSubmit", "another-session-0123456789", prompt="hello")
    tell(world, "UserPromptSubmit", prompt="again")
    got = arrived(receiver, 5)
    assert got[4]["session_id"] == first != got[3]["session_id"]


def test_secrets_never_go_out(world, receiver):
    configure(world, receiver.sink())
    secret = "ghp_" + "aB3dE6gH9" * 4
    tell(world, "UserPromptSubmit", prompt=f"the token is {secret}")
    got = arrived(receiver, 1)
    assert secret not in json.dumps(got) and "the token is" in got[0]["data"]["prompt"]


def test_a_private_session_goes_nowhere(world, receiver):
    configure(world, receiver.sink())
    tell(world, "UserPromptSubmit", "private-session-00000", prompt="<private>the plan</private>")
    tell(world, "Stop", "private-session-00000", last_assistant_message="it is done")
    tell(world, "UserPromptSubmit", prompt="hello")
    assert [b["data"]["prompt"] for b in arrived(receiver, 1)] == ["hello"]
    assert [d["type"] for d in wait_for(lambda: deliveries(world, "--state", "delivered"), what="the note that it went out")] == ["prompt"]


def test_a_stop_brings_its_turn_as_markdown_if_asked(world, receiver):
    configure(world, receiver.sink(transcript="markdown", events=["stop"]))
    tell(world, "UserPromptSubmit", prompt="Fix the parser")
    world.hookc("PreToolUse", payload("PreToolUse", SESSION, tool_name="Bash", tool_use_id="t1",
                                      tool_input={"command": "make test"}))
    world.hookc("PostToolUse", payload("PostToolUse", SESSION, tool_name="Bash", tool_use_id="t1",
                                       tool_input={"command": "make test"}, tool_response={"stdout": "12 passed"}))
    tell(world, "Stop", last_assistant_message="The parser is fixed.")
    text = arrived(receiver, 1)[0]["data"]["transcript"]
    assert text.startswith("## Prompt\n\n> Fix the parser\n")
    assert "**Tool** Bash\n\n```\nmake test\n```" in text and "12 passed" in text
    assert text.endswith("**Answer**\n\n> The parser is fixed.\n\n")


def test_a_summary_comes_along_when_there_is_one(world, receiver):
    configure(world, receiver.sink(events=["session_end"]))
    a_turn(world)
    tell(world, "SessionEnd", reason="exit")
    wait_for(lambda: not world.json("jobs", "--json")["jobs"], what="the summary")
    tell(world, "SessionStart", source="resume", transcript_path="/t/x.jsonl")
    tell(world, "SessionEnd", reason="logout")
    first, second = (b["data"] for b in arrived(receiver, 2))
    assert "title" in first and "title" in second and second.get("summary")


def test_a_summary_follows_the_stop_that_it_is_about(world, receiver):
    """Once by rules and once by the model; no stop carries that of an earlier turn, and only who asks gets one."""
    model, other = Model(text=json.dumps({"title": "The parser and its test", "summary": "The parser was wrong. It was mended.",
                                          "class": "debugging", "observations": []})), Receiver()
    try:
        configure(world, receiver.sink(events=["stop", "summary"]), other.sink("other"), **model.options())

        def turn(n):
            tell(world, "UserPromptSubmit", prompt=f"why does the parser hang on input {n}?")
            for i in range(3):
                world.hookc("PostToolUse", tool(10 * n + i, session=SESSION, tool_response={"text": "x"}))
            tell(world, "Stop", last_assistant_message=f"It waits for something: {n}.")
            tell(world, "SessionEnd", reason="exit")

        turn(1)
        told = wait_for(lambda: [b for b in receiver.bodies("summary") if b["data"]["source"] == "model"], what="the summary")[0]
        stop, = receiver.bodies("stop")
        assert told["data"]["summary"] == "The parser was wrong. It was mended." and told["data"]["title"] == "The parser and its test"
        assert told["data"]["stop_event_id"] == stop["event_id"] and told["session_id"] == stop["session_id"]
        assert len({b["id"] for b in receiver.bodies()}) == len(receiver.bodies())
        tell(world, "SessionStart", source="resume", transcript_path="/t/x.jsonl")
        turn(2)
        arrived(receiver, 2, "stop")
        assert not any("summary" in b["data"] for b in receiver.bodies("stop"))
        arrived(other, 2, "session_end")
        assert other.bodies("summary") == [] and not any("summary" in b["data"] for b in other.bodies("session_end"))
    finally:
        model.close()
        other.close()


def test_a_large_event_is_shortened_and_says_so(world, receiver):
    configure(world, receiver.sink(events=["prompt", "PostToolUse"]))
    tell(world, "UserPromptSubmit", prompt="word " * 40000)
    world.hookc("PostToolUse", payload("PostToolUse", SESSION, tool_name="Bash", tool_use_id="t1", tool_input={"command": "cat x"},
                                       tool_response={"stdout": "\x01" * 300000}))
    got = wait_for(lambda: len(receiver.got) >= 2 and receiver.got, what="both")
    prompt, ran = (g["body"] for g in got)
    assert prompt["cut"] == ["prompt"] and prompt["data"]["prompt"].startswith("word word")
    assert "tool_response" in ran["cut"]
    assert max(len(g["raw"]) for g in got) <= 256 << 10


def test_what_was_told_twice_arrives_once(world, receiver):
    configure(world, receiver.sink())
    world.start()
    a_turn(world)
    tell(world, "Stop", last_assistant_message="The parser is fixed.")  # a second hook line
    tell(world, "UserPromptSubmit", prompt="Next")
    arrived(receiver, 4)
    assert [b["event_type"] for b in receiver.bodies()] == ["session_start", "prompt", "stop", "prompt"]


def test_what_was_told_without_a_daemon_arrives_in_its_place(world, receiver):
    configure(world, receiver.sink())
    pid = world.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        a_turn(world)
    finally:
        os.kill(pid, signal.SIGCONT)
    tell(world, "UserPromptSubmit", prompt="Next")
    arrived(receiver, 4)
    assert [b["event_type"] for b in receiver.bodies()] == ["session_start", "prompt", "stop", "prompt"]


def test_history_and_refolding_send_nothing(world, receiver):
    configure(world, receiver.sink())
    a_turn(world)
    arrived(receiver, 3)
    world.hookd("import", ROOT / "tests/golden/transcripts/claude.jsonl", ok=False)
    world.hookd("db", "rebuild")
    wait_for(lambda: not world.json("db", "rebuild", "--dry-run", "--json")["left"], what="the rebuild")
    tell(world, "UserPromptSubmit", prompt="Next")
    arrived(receiver, 4)
    assert len(receiver.got) == 4


# -- which events ------------------------------------------------------------------------------------


def test_other_events_only_go_to_a_sink_that_names_them(world, receiver):
    with_tools = Receiver()
    try:
        configure(world, receiver.sink("all"), with_tools.sink("tools", events=["PostToolUse", "stop"]))
        a_turn(world)
        world.hookc("PostToolUse", tool(1, session=SESSION, tool_response={"text": "x"}))
        tell(world, "Notification", message="look")
        arrived(receiver, 4)
        arrived(with_tools, 2)
        assert {b["event_type"] for b in receiver.bodies()} == {"session_start", "prompt", "stop", "notification"}
        stop, ran = with_tools.bodies()
        assert (stop["event_type"], ran["event_type"]) == ("stop", "PostToolUse")
        assert ran["data"]["tool_name"] == "Read" and ran["data"]["tool_input"] == {"file_path": "/x/1"}
    finally:
        with_tools.close()


def test_a_denial_can_be_sent(world, receiver):
    configure(world, receiver.sink(events=["Decision"]))
    world.hookc("PreToolUse", payload("PreToolUse", SESSION, tool_name="Bash", tool_use_id="u",
                                      tool_input={"command": "echo hookd-selftest-deny"}))
    assert arrived(receiver, 1)[0]["event_type"] == "Decision"


@pytest.mark.parametrize("when,expected", [
    ({"agent": "gemini"}, {"g"}),
    ({"agent": ["gemini", "cod*"]}, {"g", "x"}),
    ({"type": "notif*"}, {"c", "g", "x"}),
    ({"type": "stop"}, set()),
    ({"properties": {"notification_type": "idle_prompt"}}, {"g"}),
    ({"properties": {"notification_type": ["idle_prompt", "permission*"]}}, {"c", "g"}),
    ({"properties": {"notification_type": True}}, {"c", "g"}),
    ({"properties": {"notification_type": False}}, {"x"}),
    ({"properties": {"message": "*needs*"}, "agent": "claude"}, {"c"}),
    ({"project": "shop"}, {"c"}),
    ({"project": ["sh*", "other"]}, {"c", "g"}),
    ({"project": "*/deep/*"}, {"x"}),
])
def test_criteria(world, receiver, when, expected):
    configure(world, receiver.sink(when=when), receiver.sink("last", events=["session_end"]))
    dirs = {"c": world.top / "shop", "g": world.top / "other", "x": world.top / "deep/third"}
    for d in dirs.values():
        (d / ".git").mkdir(parents=True)
    for name, agent, kind in (("c", "claude", "permission_prompt"), ("g", "gemini", "idle_prompt"), ("x", "codex-like", None)):
        more = {"notification_type": kind} if kind else {}
        world.hookc("Notification", payload("Notification", f"session-of-{name}-0123456789", cwd=str(dirs[name]),
                                            message=f"{name} needs you", **more), agent=agent)
    tell(world, "SessionEnd", reason="exit")
    arrived(receiver, 1, "session_end")
    wait_for(lambda: not deliveries(world), what="nothing to wait")
    assert {b["data"]["message"][0] for b in receiver.bodies("notification")} == expected


def test_an_event_that_lacks_what_it_must_bring_is_an_error(world, receiver):
    configure(world, receiver.sink())
    tell(world, "SessionStart", source="startup")
    tell(world, "UserPromptSubmit", prompt="hello", transcript_path="/t.jsonl")
    error, prompt = arrived(receiver, 2)
    assert error["event_type"] == "error" and error["data"]["missing"] == ["transcript_path"]
    assert error["data"]["meant"] == "session_start" and "transcript_path" in error["data"]["why"]
    assert prompt["event_type"] == "prompt"


def test_gemini_AfterAgent_that_fires_twice_is_one_delivery(world, receiver):
    """Seed 003 has it as a fault of Gemini's: the same turn is reported again."""
    configure(world, receiver.sink())
    tell(world, "BeforeAgent", agent="gemini", prompt="Fix the parser")
    for _ in range(2):
        tell(world, "AfterAgent", agent="gemini", prompt="Fix the parser", prompt_response="It is fixed.", stop_hook_active=False)
    tell(world, "SessionEnd", agent="gemini", reason="exit")
    arrived(receiver, 3)
    wait_for(lambda: not deliveries(world), what="nothing to wait")
    assert [b["event_type"] for b in receiver.bodies()] == ["prompt", "stop", "session_end"]
    stop = receiver.bodies("stop")[0]["data"]
    assert (stop["prompt"], stop["answer"]) == ("Fix the parser", "It is fixed.")


def test_gemini_AfterAgent_has_the_last_user_input_of_its_transcript(world, receiver):
    """Seed 003: when no hook has brought it. Secrets are removed, and a file elsewhere is not opened."""
    secret = "ghp_" + "aB3dE6gH9" * 4
    chat = {"sessionId": "x", "projectHash": "p", "startTime": "2026-11-15T06:47:00.000Z", "lastUpdated": "2026-11-15T06:48:00.000Z", "messages": [
        {"id": "1", "timestamp": "2026-11-15T06:47:01.000Z", "type": "user", "content": "the first"},
        {"id": "2", "timestamp": "2026-11-15T06:47:02.000Z", "type": "gemini", "content": "yes"},
        {"id": "3", "timestamp": "2026-11-15T06:47:03.000Z", "type": "user", "content": f"push it with {secret}"}]}
    here, elsewhere = world.home / ".gemini/tmp/p/chats/session-1.json", world.top / "session-1.json"
    here.parent.mkdir(parents=True)
    for path in (here, elsewhere):
        path.write_text(json.dumps(chat))
    configure(world, receiver.sink(events=["stop"]))
    for n, path in enumerate((here, elsewhere)):
        tell(world, "AfterAgent", f"gemini-session-{n}-0123456789", agent="gemini", transcript_path=str(path), prompt_response="done")
    first, second = (b["data"] for b in arrived(receiver, 2))
    assert first["prompt"].startswith("push it with ") and secret not in json.dumps(first)
    assert "prompt" not in second and second["answer"] == "done"


@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool", "BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress"])
def test_gemini_other_events_refresh_the_transcript_path_and_drive_nothing(world, receiver, event):
    configure(world, receiver.sink())
    tell(world, "SessionStart", agent="gemini", source="startup", transcript_path="/t/first.json")
    tell(world, event, agent="gemini", transcript_path="/t/second.json", tool_name="read_file", tool_input={"file_path": "/x"})
    tell(world, "SessionEnd", agent="gemini", reason="exit")
    start, end = arrived(receiver, 2)
    assert (start["event_type"], end["event_type"]) == ("session_start", "session_end")
    assert (start["data"]["transcript_path"], end["data"]["transcript_path"]) == ("/t/first.json", "/t/second.json")


# -- how it is sent ----------------------------------------------------------------------------------


def test_a_signature_is_over_time_and_body(world, receiver):
    secret = world.top / "secret"
    secret.write_text("wh-0123456789abcdef\n")
    secret.chmod(0o600)
    configure(world, receiver.sink(secret_file=str(secret), headers={"X-Team": "blue"}))
    tell(world, "UserPromptSubmit", prompt="hello")
    arrived(receiver, 1)
    g = receiver.got[0]
    signed = g["headers"]["X-Hookd-Timestamp"].encode() + b"." + g["raw"]
    assert g["headers"]["X-Hookd-Signature"] == "sha256=" + hmac.new(b"wh-0123456789abcdef", signed, hashlib.sha256).hexdigest()
    assert abs(int(g["headers"]["X-Hookd-Timestamp"]) - time.time()) < 60
    assert g["headers"]["X-Team"] == "blue" and g["headers"]["Idempotency-Key"] == g["body"]["id"]
    assert not [p for p in world.files() if b"wh-0123456789abcdef" in p.read_bytes()]


def test_without_its_secret_nothing_is_sent_and_no_try_is_spent(world, receiver):
    secret = world.top / "secret"
    secret.write_text("s3cret-word")
    secret.chmod(0o644)  # others can read it
    configure(world, receiver.sink(secret_file=str(secret)))
    tell(world, "UserPromptSubmit", prompt="hello")
    state = wait_for(lambda: (s := sink_state(world))["state"] == "resting" and s, what="the sink to rest")
    assert "chmod 600" in state["trouble"] and receiver.got == []
    waiting, = deliveries(world)
    assert (waiting["state"], waiting["tries"]) == ("waiting", 0)
    assert b"BAD   sinks" in world.hookd("doctor", ok=False).stdout
    secret.chmod(0o600)
    world.hookd("reload")
    arrived(receiver, 1)
    assert b"BAD   sinks" not in world.hookd("doctor", ok=False).stdout


def test_a_token_is_sent_as_bearer(world, receiver):
    token = world.top / "token"
    token.write_text("tk_1")
    token.chmod(0o600)
    configure(world, receiver.sink(token_file=str(token)))
    tell(world, "UserPromptSubmit", prompt="hello")
    arrived(receiver, 1)
    assert receiver.got[0]["headers"]["Authorization"] == "Bearer tk_1"


@pytest.mark.parametrize("how", ["broken", "resets", "garbage", "drops", "redirects"])
def test_what_failed_is_sent_again_with_the_same_key(world, receiver, how):
    receiver.how = [how, "ok"]
    configure(world, receiver.sink())
    a_turn(world)
    got = arrived(receiver, 3)
    assert [b["event_type"] for b in got] == ["session_start", "prompt", "stop"]
    first, again = receiver.got[:2]
    assert first["raw"] == again["raw"] and first["headers"]["Idempotency-Key"] == again["headers"]["Idempotency-Key"]
    assert again["at"] - first["at"] > 0.9
    wait_for(lambda: not deliveries(world), what="nothing to wait")
    assert [d["tries"] for d in deliveries(world, "--state", "delivered")] == [2, 1, 1]


@pytest.mark.parametrize("how", ["busy", "away"])
def test_a_server_that_asks_for_time_gets_it(world, receiver, how):
    receiver.how = [how, "ok"]
    configure(world, receiver.sink())
    tell(world, "UserPromptSubmit", prompt="hello")
    arrived(receiver, 1)
    first, again = receiver.got
    assert again["at"] - first["at"] > 1.9


def test_one_that_hangs_is_given_up_after_its_time_and_holds_up_nobody_else(world, receiver):
    receiver.how = "hangs"
    other = Receiver()
    try:
        configure(world, receiver.sink(timeout=1), other.sink("other"))
        tell(world, "UserPromptSubmit", prompt="hello")
        arrived(other, 1)
        began = time.monotonic()
        tell(world, "Stop", last_assistant_message="done")  # and no agent
        assert time.monotonic() - began < 5
        arrived(other, 2)
        wait_for(lambda: sink_state(world)["failed"], what="the timeout")
        assert "time" in sink_state(world)["trouble"]
        receiver.how = "ok"
        arrived(receiver, 2)
    finally:
        other.close()


def test_sinks_that_hang_hold_up_no_other(world, receiver):
    """Each has a thread of its own, however many sessions wait for those that hang."""
    hanging = [Receiver("hangs") for _ in range(4)]
    try:
        configure(world, *(h.sink(f"hangs-{i}", events=["prompt"], timeout=50) for i, h in enumerate(hanging)), receiver.sink(events=["stop"]))
        for n in range(3):
            tell(world, "UserPromptSubmit", f"session-number-{n}-0123456789", prompt="hello")
        wait_for(lambda: all(h.in_flight == 2 for h in hanging), what="two sessions to hang at each")
        tell(world, "Stop", "session-number-0-0123456789", last_assistant_message="done")
        arrived(receiver, 1)
        assert [h.in_flight for h in hanging] == [2] * 4
    finally:
        for h in hanging:
            h.close()


def test_every_sink_but_one_may_hang(world, receiver):
    hanging = [Receiver("hangs") for _ in range(15)]
    try:
        configure(world, *(h.sink(f"hangs-{i}", timeout=50) for i, h in enumerate(hanging)), receiver.sink(events=["stop"]))
        for n in range(2):
            tell(world, "UserPromptSubmit", f"session-number-{n}-0123456789", prompt="hello")
        wait_for(lambda: all(h.in_flight for h in hanging), what="all of them to hang")
        tell(world, "Stop", "session-number-0-0123456789", last_assistant_message="done")
        arrived(receiver, 1)
        assert sum(h.in_flight for h in hanging) == 15
    finally:
        for h in hanging:
            h.close()


@pytest.mark.parametrize("how,status", [("refuses", 400), ("forbids", 401)])
def test_a_refusal_is_final_and_the_session_goes_on(world, receiver, how, status):
    receiver.how = [how, "ok"]
    configure(world, receiver.sink())
    a_turn(world)
    assert [b["event_type"] for b in arrived(receiver, 2)] == ["prompt", "stop"]
    # What went out is noted a moment after the answer came.
    dead, = wait_for(lambda: len(deliveries(world)) == 1 and deliveries(world), what="the dead one alone")
    assert (dead["state"], dead["tries"], dead["type"]) == ("dead", 1, "session_start") and str(status) in dead["error"]
    assert b"session_start" in world.hookd("outbox").stdout
    assert b"1 deliveries" in world.hookd("outbox", "retry", "--dry-run").stdout
    assert b"1 deliveries" in world.hookd("outbox", "retry", str(dead["id"])).stdout
    arrived(receiver, 3)
    wait_for(lambda: not deliveries(world), what="nothing to wait")


def test_nobody_listens_then_somebody_does(world, receiver):
    port = receiver.port
    receiver.close()
    configure(world, receiver.sink())
    a_turn(world)
    state = wait_for(lambda: (s := sink_state(world))["failed"] and s, what="a failure")
    assert "connect" in state["trouble"].lower() and state["waiting"] == 3
    assert "TROUBLE" in world.hookd("status").stdout.decode()
    later = Receiver(port=port)
    try:
        assert [b["event_type"] for b in arrived(later, 3)] == ["session_start", "prompt", "stop"]
        status = world.hookd("status").stdout.decode()
        assert "sink         team: ok, 0 waiting, 0 given up, lag" in status
    finally:
        later.close()


def test_after_ten_tries_it_is_dead_and_the_next_one_has_its_turn(world, receiver):
    receiver.how = "broken"
    configure(world, receiver.sink())
    a_turn(world)
    wait_for(lambda: deliveries(world)[0]["tries"] == 1, what="a try")
    assert change_store(world, "UPDATE jobs SET tries = 9, due_at = 0 WHERE kind = 'deliver' AND tries > 0") == 1
    world.start()
    dead = wait_for(lambda: deliveries(world, "--state", "dead"), what="it to be given up")
    assert [(d["tries"], d["type"]) for d in dead] == [(10, "session_start")] and "500" in dead[0]["error"]
    receiver.how = "ok"
    assert [b["event_type"] for b in arrived(receiver, 2)] == ["prompt", "stop"]


def test_a_delivery_that_ends_hookd_runs_out_of_tries(world):
    """Each time by its pid; the next one of its session goes on."""
    seen, script = world.top / "seen", world.top / "ends-hookd"
    script.write_text(f"""#!/bin/sh
read -r body
case "$body" in
*poison*) echo "$HOOKD_ID" >> {seen}; kill -9 "$(cat {world.dir}/run/hookd.lock)"; sleep 5;;
*) echo fine >> {seen};;
esac
""")
    script.chmod(0o755)
    configure(world, {"name": "team", "type": "exec", "command": [str(script)], "events": ["prompt", "notification"]})
    tries = job_tries(world)
    tell(world, "UserPromptSubmit", prompt="poison")
    for n in range(1, 11):
        wait_for(lambda: seen.exists() and len(seen.read_text().split()) == n, what=f"try {n}")
        wait_for(lambda: not world.pid() or not alive(world.pid()), what="the daemon to be gone")
        db = sqlite3.connect(world.dir / "hookd.db")
        db.execute("UPDATE jobs SET due_at = 0 WHERE kind = 'deliver'")
        db.commit()
        db.close()
        world.start()
        if n > 1 and n < 10:  # it waits first, which nobody has to wait for here
            wait_for(lambda: tries() == n, what="the lost try to be counted")
            world.hookd("outbox", "retry", "--state", "waiting")
    dead = wait_for(lambda: deliveries(world, "--state", "dead"), what="it to be given up")
    assert [(d["tries"], d["error"]) for d in dead] == [(10, "hookd has ended each time that it was sent")]
    assert len(set(seen.read_text().split())) == 1
    tell(world, "Notification", message="look")
    wait_for(lambda: seen.read_text().endswith("fine\n"), what="the next one")
    assert sink_state(world)["dead"] == 1


def job_tries(world):
    def read():
        db = sqlite3.connect(f"file:{world.dir}/hookd.db?mode=ro", uri=True)
        row = db.execute("SELECT tries FROM jobs WHERE kind = 'deliver'").fetchone()
        db.close()
        return row and row[0]
    return read


def test_a_stop_of_hookd_is_no_try(world, receiver):
    receiver.how = "hangs"
    configure(world, receiver.sink(timeout=50))
    for n in range(3):
        tell(world, "UserPromptSubmit", prompt=f"prompt {n}")
    for n in range(2):
        wait_for(lambda: receiver.in_flight, what="it to hang")
        world.stop()
        wait_for(lambda: not receiver.in_flight, what="it to be cut off")
        world.start()
    assert {d["tries"] for d in deliveries(world)} == {0}
    receiver.how = "ok"
    world.stop()
    world.start()
    arrived(receiver, 3)
    wait_for(lambda: not deliveries(world), what="nothing to wait")
    assert [d["tries"] for d in deliveries(world, "--state", "delivered")] == [1, 1, 1]


def test_sessions_do_not_wait_for_each_other(world, receiver):
    receiver.how = ["broken", "ok"]
    configure(world, receiver.sink())
    tell(world, "UserPromptSubmit", "first-session-0123456789", prompt="one")
    wait_for(lambda: len(receiver.got) == 1, what="the first try")
    tell(world, "UserPromptSubmit", "second-session-0123456789", prompt="two")
    assert arrived(receiver, 1)[0]["data"]["prompt"] == "two"
    assert arrived(receiver, 2)[1]["data"]["prompt"] == "one"


def test_two_at_a_time_and_one_of_each_session(world, receiver):
    receiver.how = "slow"
    configure(world, receiver.sink())
    world.start()
    for n in range(4):
        tell(world, "UserPromptSubmit", f"session-{n}-0123456789abcdef", prompt=f"{n}")
        tell(world, "Stop", f"session-{n}-0123456789abcdef", last_assistant_message=f"{n}")
    arrived(receiver, 8)
    assert receiver.most_at_once == 2
    for n in range(4):
        mine = [b["event_type"] for b in receiver.bodies() if b["data"]["session_id"].startswith(f"session-{n}-")]
        assert mine == ["prompt", "stop"]


def test_a_daemon_that_is_stopped_in_the_middle_goes_on_later(world, receiver):
    receiver.how = "hangs"
    configure(world, receiver.sink(timeout=60))
    a_turn(world)
    wait_for(lambda: receiver.got, what="a request")
    began = time.monotonic()
    world.stop()
    assert time.monotonic() - began < 30  # it does not wait for the request that hangs
    receiver.how = "ok"
    world.start()
    assert [b["event_type"] for b in arrived(receiver, 3)] == ["session_start", "prompt", "stop"]
    gone = wait_for(lambda: len(rows := deliveries(world, "--state", "delivered")) == 3 and rows, what="the notes that they went out")
    assert [d["tries"] for d in gone] == [1, 1, 1]


# -- programs, files, collectors, chats --------------------------------------------------------------


def script(world, text, name="program"):
    path = world.top / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o700)
    return str(path)


def exec_sink(world, text, *args, **more):
    return {"name": "prog", "type": "exec", "command": [script(world, text), *args], **more}


def test_a_program_gets_the_body_and_no_shell(world):
    out = world.top / "out"
    configure(world, exec_sink(world, f'cat >> {out}; echo " $1 $HOOKD_SINK $HOOKD_EVENT" >> {out}; env > {out}.env\n',
                               "$(touch bad); *"))
    tell(world, "UserPromptSubmit", prompt="hello")
    wait_for(lambda: out.exists() and out.read_text().endswith("\n"), what="the program")
    body, rest = out.read_text().split("} $(", 1)
    assert json.loads(body + "}")["data"]["prompt"] == "hello"
    assert rest == "touch bad); * prog prompt\n"
    names = {line.split("=")[0] for line in pathlib.Path(f"{out}.env").read_text().splitlines()}
    assert names <= {"PATH", "LANG", "HOME", "PWD", "HOOKD_SINK", "HOOKD_EVENT", "HOOKD_ID", "SHLVL", "_", "OLDPWD"}
    wait_for(lambda: not deliveries(world), what="nothing to wait")


@pytest.mark.parametrize("code,state", [(75, "waiting"), (127, "waiting"), (1, "dead"), (2, "dead")])
def test_how_a_program_ends_says_what_becomes_of_the_delivery(world, code, state):
    configure(world, exec_sink(world, f"cat > /dev/null; echo 'no luck today' >&2; exit {code}\n"))
    tell(world, "UserPromptSubmit", prompt="hello")
    d, = wait_for(lambda: [d for d in deliveries(world) if d["tries"]], what="a try")
    assert d["state"] == state and d["error"] == f"it exited with {code}: no luck today"


def test_a_program_that_takes_too_long_is_ended_with_all_it_started(world):
    pids = world.top / "pids"
    configure(world, exec_sink(world, f"sleep 300 & echo $$ $! > {pids}; trap '' TERM; while :; do sleep 300; done\n", timeout=1))
    tell(world, "UserPromptSubmit", prompt="hello")
    d, = wait_for(lambda: [d for d in deliveries(world) if d["tries"]], what="a try")
    assert "longer than 1 s" in d["error"]
    for pid in map(int, pids.read_text().split()):
        wait_for(lambda: not alive(pid), what="its processes to be gone")


def test_a_program_that_is_not_there_costs_no_try(world):
    configure(world, {"name": "prog", "type": "exec", "command": [str(world.top / "none")]})
    assert b"BAD   sinks" in world.hookd("doctor", ok=False).stdout
    tell(world, "UserPromptSubmit", prompt="hello")
    d, = wait_for(lambda: [d for d in deliveries(world) if d["tries"] or sink_state(world, "prog")["trouble"]], what="a try")
    assert d["state"] == "waiting"


def file_sink(world, **more):
    return {"name": "log", "type": "file", "path": str(world.top / "events.jsonl"), **more}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_file_gets_a_line_for_each_event(world):
    configure(world, file_sink(world))
    path = world.top / "events.jsonl"
    a_turn(world)
    got = wait_for(lambda: len(found := lines(path)) == 3 and found, what="three lines")
    assert [e["event_type"] for e in got] == ["session_start", "prompt", "stop"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_is_rotated_at_its_size(world):
    configure(world, file_sink(world, max_mb=1))
    path, old = world.top / "events.jsonl", world.top / "events.jsonl.1"
    path.write_bytes(b"{}\n" * 349500)
    tell(world, "UserPromptSubmit", prompt="x" * 2000)
    wait_for(lambda: old.exists() and len(lines(path)) == 1, what="the new file")
    assert old.stat().st_size == 349500 * 3 and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_a_link_or_a_pipe_is_not_written(world):
    target = world.top / "target"
    target.write_text("mine\n")
    (world.top / "events.jsonl").symlink_to(target)
    configure(world, file_sink(world))
    tell(world, "UserPromptSubmit", prompt="hello")
    state = wait_for(lambda: (s := sink_state(world, "log"))["trouble"] and s, what="the trouble")
    assert "link" in state["trouble"] and target.read_text() == "mine\n"
    (world.top / "events.jsonl").unlink()
    os.mkfifo(world.top / "events.jsonl")
    world.hookd("reload")
    wait_for(lambda: "link" not in sink_state(world, "log")["trouble"] and sink_state(world, "log")["trouble"], what="the pipe")
    (world.top / "events.jsonl").unlink()
    world.hookd("reload")
    wait_for(lambda: len(lines(world.top / "events.jsonl")) == 1, what="the line")


def test_a_collector_gets_log_records(world, receiver):
    configure(world, {"name": "otel", "type": "otlp", "url": receiver.url.replace("/hook", "/v1/logs")})
    a_turn(world)
    wait_for(lambda: len(receiver.got) == 3, what="three requests")
    g = receiver.got[2]
    assert g["path"] == "/v1/logs" and g["headers"]["Content-Type"] == "application/json"
    resource, = g["body"]["resourceLogs"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "hookd"}}]
    record, = resource["scopeLogs"][0]["logRecords"]
    attributes = {a["key"]: a["value"]["stringValue"] for a in record["attributes"]}
    assert attributes["hookd.event_type"] == "stop" and attributes["hookd.data.answer"] == "The parser is fixed."
    assert record["eventName"] == "hookd.stop" and record["severityNumber"] == 9
    assert abs(int(record["timeUnixNano"]) / 1e9 - time.time()) < 60 and "has finished" in record["body"]["stringValue"]


def test_ntfy_gets_a_short_message_for_its_topic(world, receiver):
    configure(world, {"name": "phone", "type": "ntfy", "url": receiver.url.replace("/hook", "/my-topic"), "events": ["notification"]})
    tell(world, "Notification", message="Claude needs\nyour permission", notification_type="permission_prompt")
    wait_for(lambda: receiver.got, what="the message")
    g = receiver.got[0]
    assert g["path"] == "/" and g["body"]["topic"] == "my-topic" and g["body"]["priority"] == 4
    assert g["body"]["title"] == "claude wants you in tmp" and g["body"]["message"] == "Claude needs your permission"


def test_slack_gets_a_short_text_in_which_nothing_is_markup(world, receiver):
    configure(world, {"name": "chat", "type": "slack", "url": receiver.url, "events": ["stop"]})
    a_turn(world, answer="See <!channel> & <http://x|here>")
    wait_for(lambda: receiver.got, what="the message")
    assert receiver.got[0]["body"] == {"text": "claude has finished in tmp\n> See &lt;!channel&gt; &amp; &lt;http://x|here&gt;"}


# -- the file and its changes ------------------------------------------------------------------------


@pytest.mark.parametrize("sink,problem", [
    ({"type": "webhook", "url": "https://x.example/"}, "a sink of type webhook needs 'name'"),
    ({"name": "a", "url": "https://x.example/"}, "a sink needs a 'type'"),
    ({"name": "a", "type": "pigeon"}, "'type' must be \"webhook\""),
    ({"name": "A b", "type": "webhook", "url": "https://x.example/"}, "'name' must be from 1 to 32 small letters"),
    ({"name": "a", "type": "webhook"}, "needs 'url'"),
    ({"name": "a", "type": "webhook", "url": "http://x.example/"}, "http:// is for localhost"),
    ({"name": "a", "type": "webhook", "url": "https://u:p@x.example/"}, "a name or password"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "path": "/x"}, "has no 'path'"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "evnets": ["stop"]}, "did you mean 'events'"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "events": ["stopp"]}, "did you mean 'stop'"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "events": ["Memory"]}, "there is no event 'Memory'"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "events": []}, "'events' must be a list"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "timeout": 0}, "from 1 to 120"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "headers": {"Host": "y"}}, "no name of a header"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "headers": {"X": "a\nb"}}, "each of one line"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "when": {"agnet": "x"}}, "'agnet' is no criterion"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "when": {"agent": {}}}, "'agent' must be a text"),
    ({"name": "a", "type": "webhook", "url": "https://x.example/", "secret_file": "secret"}, "an absolute path"),
    ({"name": "a", "type": "exec", "command": ["rel/prog"]}, "'command' must be a list of texts"),
    ({"name": "a", "type": "exec", "command": "/bin/true"}, "'command' must be a list of texts"),
    ({"name": "a", "type": "file"}, "needs 'path'"),
    ({"name": "a", "type": "ntfy", "url": "https://ntfy.sh"}, "must end with the topic"),
    ({"name": "a", "type": "slack", "url": "https://x.example/", "transcript": "markdown"}, "has no 'transcript'"),
    ("team", "a sink must be an object, not a string"),
])
def test_a_mistake_is_named_with_its_place_and_leaves_the_sink_out(world, receiver, sink, problem):
    text = '{\n  "sinks": [\n    ' + json.dumps(sink) + ",\n    " + json.dumps(receiver.sink("good")) + "\n  ]\n}"
    (world.dir / "config.json").write_text(text)
    done = world.hookd("config", "validate", ok=False)
    said = done.stderr.decode()
    assert done.returncode == 1 and problem in said and f"{world.dir}/config.json:3:" in said, said
    assert world.json("config", "validate", "--json", ok=False)["problems"][0]["line"] == 3
    world.start()
    assert [s["name"] for s in world.json("sinks", "--json")["sinks"]] == ["good"]
    assert b"TROUBLE" in world.hookd("status").stdout


def test_two_of_one_name_and_a_list_that_is_none(world, receiver):
    configure(world, receiver.sink(), receiver.sink())
    assert b"there is a sink 'team' already" in world.hookd("config", "validate", ok=False).stderr
    (world.dir / "config.json").write_text('{"sinks": {}}')
    assert b"'sinks' must be a list of objects" in world.hookd("config", "validate", ok=False).stderr
    (world.dir / "config.json").write_text('{"sinks": [')
    assert len(world.hookd("config", "validate", ok=False).stderr.splitlines()) == 1


def test_changed_sinks_are_in_force_after_a_reload_and_not_before(world, receiver):
    world.start()
    pid = world.pid()
    configure(world, receiver.sink())
    tell(world, "UserPromptSubmit", prompt="too early")
    assert b"in effect now" in world.hookd("reload").stdout
    tell(world, "Stop", last_assistant_message="done")
    assert arrived(receiver, 1)[0]["event_type"] == "stop"
    configure(world, receiver.sink(events=["notification"]))
    world.hookd("reload")
    tell(world, "UserPromptSubmit", prompt="not wanted")
    tell(world, "Notification", message="wanted")
    assert arrived(receiver, 2)[1]["data"]["message"] == "wanted"
    configure(world)
    world.hookd("reload")
    tell(world, "Notification", message="nobody wants it")
    assert world.json("sinks", "--json")["sinks"] == [] and world.pid() == pid
    configure(world, {**receiver.sink(), "typo": 1})
    done = world.hookd("reload", ok=False)
    assert done.returncode == 1 and b"sinks are ignored; see: hookd config validate" in done.stderr
    assert len(receiver.got) == 2


def test_what_leaves_the_machine_is_changed_by_the_owner_alone(world, receiver):
    configure(world, receiver.sink())
    tell(world, "UserPromptSubmit", prompt="hello")
    arrived(receiver, 1)
    for command in (["reload"], ["sinks", "test", "team"], ["outbox", "drop", "--all"]):
        done = world.hookd(*command, ok=False, owner=False)
        assert done.returncode == 1 and b"is for the owner" in done.stderr, command
    for method in ("outbox_drop", "sinks_test"):
        done = world.hookd("rpc", method, json.dumps({"sink": "team"}), ok=False, owner=False)
        assert b"for the owner" in done.stderr
    assert len(receiver.got) == 1


def test_a_project_cannot_add_a_sink(world, receiver):
    project = world.top / "project"
    for place in (".hookd", ".claude"):
        (project / place).mkdir(parents=True)
        for name in ("config.json", "settings.json"):
            (project / place / name).write_text(json.dumps({"sinks": [receiver.sink()]}))
    (project / ".git").mkdir()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", SESSION, cwd=str(project), prompt="hello"))
    assert world.json("sinks", "--json") == {"sinks": [], "known": []}
    assert world.events() and receiver.got == []


# -- commands ----------------------------------------------------------------------------------------


def test_a_sink_is_tried(world, receiver):
    configure(world, receiver.sink(), {"name": "none", "type": "webhook", "url": "http://127.0.0.1:9/"})
    world.start()
    assert b"team has it, after" in world.hookd("sinks", "test", "team").stdout
    assert receiver.got[0]["body"]["agent"] == "hookd" and "test" in receiver.got[0]["body"]["data"]["message"]
    done = world.hookd("sinks", "test", "none", ok=False)
    assert done.returncode == 1 and b"none:" in done.stderr
    assert b"no sink of that name" in world.hookd("sinks", "test", "other", ok=False).stderr
    assert deliveries(world) == []


def test_what_waits_can_be_dropped(world, receiver):
    receiver.how = "broken"
    configure(world, receiver.sink())
    a_turn(world)
    wait_for(lambda: sink_state(world)["failed"], what="a failure")
    assert world.hookd("outbox", "drop", ok=False).returncode == 64
    assert b"3 deliveries would be dropped" in world.hookd("outbox", "drop", "--sink", "team", "--dry-run").stdout
    assert b"was ever meant for a sink of that name" in world.hookd("outbox", "drop", "--sink", "other", ok=False).stderr
    first = deliveries(world)[0]["id"]
    assert b"1 deliveries dropped" in world.hookd("outbox", "drop", first).stdout
    assert world.hookd("outbox", "drop", first, ok=False).returncode == 1
    receiver.how = "ok"
    world.hookd("outbox", "retry", "--state", "waiting")
    assert [b["event_type"] for b in arrived(receiver, 2)] == ["prompt", "stop"]
    receiver.how = "broken"
    tell(world, "Notification", message="look")
    wait_for(lambda: deliveries(world), what="it to wait")
    world.hookd("outbox", "drop", "--all")
    assert deliveries(world) == [] and sink_state(world)["waiting"] == 0


def test_what_is_left_of_a_sink_that_is_gone_is_shown(world, receiver):
    receiver.how = "broken"
    configure(world, receiver.sink())
    tell(world, "UserPromptSubmit", prompt="hello")
    wait_for(lambda: deliveries(world), what="it to wait")
    configure(world)
    world.hookd("reload")
    assert b"team is not configured any more; 1 deliveries are left" in world.hookd("sinks").stdout
    receiver.how = "ok"
    configure(world, receiver.sink())
    world.hookd("reload")
    arrived(receiver, 1)


def test_a_purge_takes_what_was_to_be_sent(world, receiver):
    receiver.how = "broken"
    configure(world, receiver.sink())
    a_turn(world, text="the needle in the haystack")
    a_turn(world, "other-session-0123456789", text="something else")
    wait_for(lambda: len(deliveries(world)) == 6, what="all to wait")
    world.hookd("purge", "--match", "needle", "--yes")
    left = deliveries(world)
    assert {d["session"] for d in left} == {SESSION, "other-session-0123456789"} and len(left) == 4  # its start has no such word
    world.hookd("purge", "--session", "other-session-0123456789", "--yes")
    assert [d["type"] for d in deliveries(world)] == ["session_start"]
    world.stop()
    assert world.contains(b"needle") == []
    receiver.how = "ok"
    world.start()
    wait_for(lambda: not deliveries(world), what="the rest to be sent")
    assert "needle" not in json.dumps(receiver.bodies())


def test_what_is_long_over_goes(world, receiver):
    receiver.how = ["refuses", "ok"]
    configure(world, receiver.sink())
    a_turn(world)
    arrived(receiver, 2)
    wait_for(lambda: len(deliveries(world, "--state", "delivered")) == 2, what="the ends to be stored")
    week = 8 * 86400 * 1000000
    change_store(world, "UPDATE deliveries SET done_at = done_at - ?, dead_at = dead_at - ?", week, 4 * week)
    world.start()
    world.hookd("rpc", "sessions", "{}")
    db = sqlite3.connect(f"file:{world.dir}/hookd.db?mode=ro", uri=True)
    wait_for(lambda: db.execute("SELECT count(*) FROM deliveries").fetchone() == (0,), seconds=90, what="them to go")
    assert db.execute("SELECT count(*) FROM jobs WHERE kind = 'deliver'").fetchone() == (0,)
    db.close()


# -- contracts ---------------------------------------------------------------------------------------


def test_a_contract_is_added_kept_and_removed(world, receiver):
    world.start()
    assert world.json("rpc", "contracts_add", json.dumps({
        "name": "dash", "url": receiver.url, "events": ["stop", "PostToolUse"],
        "when": {"agent": ["claude", "cod*"], "properties": {"answer": True}}, "ttl_s": 3600})) == {"name": "dash"}
    state = sink_state(world, "dash")
    assert state["origin"] == "api" and 3500e6 < state["expires_us"] - time.time() * 1e6 < 3700e6
    assert stat.S_IMODE((world.dir / "contracts.json").stat().st_mode) == 0o600
    a_turn(world)
    assert [b["event_type"] for b in arrived(receiver, 1)] == ["stop"]
    world.stop()
    world.start()  # it outlives the daemon
    tell(world, "Stop", "another-session-0123456789", last_assistant_message="done")
    arrived(receiver, 2)
    world.rpc("contracts_remove", name="dash")
    tell(world, "Stop", last_assistant_message="again")
    world.events()
    assert world.json("sinks", "--json")["sinks"] == [] and len(receiver.got) == 2


def test_a_contract_ends_with_its_time(world, receiver):
    world.start()
    world.rpc("contracts_add", name="brief", url=receiver.url, ttl_s=1)
    wait_for(lambda: sink_state(world, "brief")["state"] == "expired", what="its time to be over")
    tell(world, "Stop", last_assistant_message="done")
    world.events()
    assert receiver.got == [] and deliveries(world) == []
    world.rpc("contracts_add", name="other", url=receiver.url)
    assert [s["name"] for s in json.loads((world.dir / "contracts.json").read_text())["sinks"]] == ["other"]


def test_a_contract_takes_nothing_from_the_users_file(world, receiver):
    configure(world, receiver.sink())
    world.start()
    for params, said in (({"name": "team", "url": receiver.url}, "user's own file"),
                         ({"name": "x", "url": "http://example.com/"}, "url"),
                         ({"name": "X y", "url": receiver.url}, "small letters"),
                         ({"name": "x", "url": receiver.url, "events": ["nonsense"]}, "no event"),
                         ({"name": "x", "url": receiver.url, "when": {"who": "x"}}, "no criterion"),
                         ({"name": "x", "url": receiver.url, "ttl_s": 0}, "ttl_s")):
        done = world.hookd("rpc", "contracts_add", json.dumps(params), ok=False)
        assert done.returncode != 0 and said in (done.stdout + done.stderr).decode(), params
    assert not (world.dir / "contracts.json").exists()
    done = world.hookd("rpc", "contracts_remove", json.dumps({"name": "team"}), ok=False)
    assert done.returncode != 0 and b"no contract" in done.stdout + done.stderr
    assert sink_state(world)["origin"] == "config"


def test_a_broken_file_of_contracts_keeps_the_users_sinks(world, receiver):
    configure(world, receiver.sink())
    (world.dir / "contracts.json").write_text('{"sinks": [')
    tell(world, "UserPromptSubmit", prompt="hello")
    arrived(receiver, 1)
    world.rpc("contracts_add", name="dash", url=receiver.url)
    assert {s["name"] for s in world.json("sinks", "--json")["sinks"]} == {"team", "dash"}


def test_contracts_are_for_the_owner(world, receiver):
    world.start()
    for method, params in (("contracts_add", {"name": "dash", "url": receiver.url}), ("contracts_remove", {"name": "dash"})):
        done = world.hookd("rpc", method, json.dumps(params), ok=False, owner=False)
        assert done.returncode != 0 and b"owner" in done.stdout + done.stderr


# -- too much ----------------------------------------------------------------------------------------


def test_a_sink_that_is_down_keeps_what_matters_and_coalesces_the_rest(world, receiver):
    receiver.how = "broken"
    configure(world, receiver.sink(events=["prompt", "stop", "PostToolUse"]), outbox={"max": 100})
    world.start()
    with world.connect() as s:
        def send(event, fields):
            s.sendall(hook(json.dumps(payload(event, SESSION, **fields)).encode(), event=event.encode()))
            while read_frame(s)[0] == WAIT:
                pass
        for turn in range(4):
            send("UserPromptSubmit", {"prompt": f"prompt {turn}"})
            for n in range(40):
                send("PostToolUse", {"tool_name": "Read", "tool_use_id": f"t{turn}.{n}", "tool_input": {"file_path": f"/x/{n}"},
                                     "tool_response": {"text": "x"}})
            send("Stop", {"last_assistant_message": f"answer {turn}"})
    waiting = wait_for(lambda: len(d := deliveries(world)) >= 75 and d, what="them to wait")
    types = [d["type"] for d in waiting]
    assert types.count("prompt") == types.count("stop") == 4
    known = world.json("sinks", "--json")["known"][0]
    assert known["coalesced"] == 160 - types.count("PostToolUse") > 0 and known["dropped"] == 0
    # Each turn has kept at least its newest call, in its place.
    assert [t for t in types if t != "PostToolUse"] == ["prompt", "stop"] * 4
    for turn in range(4):
        begin = [i for i, t in enumerate(types) if t == "prompt"][turn]
        assert "PostToolUse" in types[begin:begin + 42]
    receiver.how = "ok"
    world.hookd("outbox", "retry", "--state", "waiting")
    wait_for(lambda: not deliveries(world), seconds=60, what="all to be sent")
    assert [b["data"]["prompt"] for b in receiver.bodies("prompt")] == [f"prompt {n}" for n in range(4)]


def test_without_sinks_there_is_nothing(world):
    world.start()
    a_turn(world)
    world.events()
    db = sqlite3.connect(f"file:{world.dir}/hookd.db?mode=ro", uri=True)
    assert [db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("sinks", "deliveries")] == [0, 0]
    assert db.execute("SELECT count(*) FROM jobs WHERE kind = 'deliver'").fetchone()[0] == 0
    db.close()
    threads = [pathlib.Path(f"/proc/{world.pid()}/task/{t}/comm").read_text() for t in os.listdir(f"/proc/{world.pid()}/task")]
    assert "outbox\n" not in threads
    assert "sinks" not in world.status()
    assert b"nothing is sent anywhere" in world.hookd("sinks").stdout


def test_threads_exist_only_while_something_is_to_be_sent(world, receiver):
    configure(world, receiver.sink())

    def threads():
        pid = world.pid()
        names = []
        for t in os.listdir(f"/proc/{pid}/task"):
            try:
                names.append(pathlib.Path(f"/proc/{pid}/task/{t}/comm").read_text().strip())
            except FileNotFoundError:
                pass
        return names.count("outbox")

    receiver.how = "slow"
    a_turn(world)
    wait_for(lambda: threads() > 0, what="a thread")
    arrived(receiver, 3)
    wait_for(lambda: threads() == 0, what="the threads to end")
