"""The daemon's life, and the commands around it."""
import json
import os
import re
import signal
import stat
import subprocess
import time

import pytest

from world import BUILD, World, alive, payload, tool, wait_for


def test_start_status_stop(world):
    world.start()
    assert world.status()["running"] is True
    assert "health       ok" in world.hookd("status").stdout.decode()
    assert world.hookd("start").stdout == b"hookd is already running\n"
    pid = world.pid()
    world.hookd("stop")
    assert not alive(pid)
    assert world.hookd("status", ok=False).returncode == 1
    assert json.loads(world.hookd("status", "--json", ok=False).stdout) == {"running": False, "changes": []}
    assert b"not running" in world.hookd("stop").stdout


def test_restart_is_another_process_with_the_same_events(world):
    first = world.start()
    world.hookc("PostToolUse", tool(1))
    world.hookd("restart")
    assert world.pid() != first
    assert len(world.events()) == 1


def test_readers_start_the_daemon(world):
    assert world.json("sessions", "--json") == {"sessions": []}
    assert world.pid() and alive(world.pid())


def test_readers_include_every_acknowledged_event(world):
    world.start()
    for n in range(50):
        world.hookc("PostToolUse", tool(n))
        assert len(world.events()) == n + 1


def test_a_session_from_start_to_end(world):
    events = [
        ("SessionStart", payload("SessionStart", source="startup", transcript_path="/t/x.jsonl")),
        ("UserPromptSubmit", payload("UserPromptSubmit", prompt="make it work")),
        ("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id="u1", tool_input={"command": "ls"})),
        ("PostToolUse", payload("PostToolUse", tool_name="Bash", tool_use_id="u1", tool_input={"command": "ls"},
                                tool_response={"stdout": "a"})),
        ("Stop", payload("Stop", stop_hook_active=False, last_assistant_message="done")),
        ("SessionEnd", payload("SessionEnd", reason="other")),
    ]
    for name, data in events:
        done = world.hookc(name, data)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [e["event"] for e in world.events()] == [name for name, _ in events]
    (s,) = world.json("sessions", "--json")["sessions"]
    assert (s["agent"], s["id"], s["cwd"], s["status"]) == ("claude", "s1", "/tmp", "completed")
    assert (s["events"], s["prompts"], s["tools"], s["transcript_path"]) == (6, 1, 1, "/t/x.jsonl")
    (a,) = world.rpc("activities")["activities"]
    assert (a["tool_use_id"], a["tool"], a["class"], a["state"]) == ("u1", "Bash", "shell", "done")


def test_new_events_make_a_session_active_again(world):
    world.hookc("SessionEnd", payload("SessionEnd", reason="other"))
    assert world.json("sessions", "--json")["sessions"][0]["status"] == "completed"
    world.hookc("SessionStart", payload("SessionStart", source="resume"))
    assert world.json("sessions", "--json")["sessions"][0]["status"] == "active"


def test_the_test_rule_denies_in_the_words_of_claude_code(world):
    done = world.hookc("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id="u",
                                             tool_input={"command": "echo hookd-selftest-deny"}))
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert done.returncode == 0 and done.stderr == b""
    assert (answer["hookEventName"], answer["permissionDecision"]) == ("PreToolUse", "deny")
    assert "hookd" in answer["permissionDecisionReason"]
    other = world.hookc("PreToolUse", payload("PreToolUse", tool_name="Read", tool_use_id="v",
                                              tool_input={"file_path": "hookd-selftest-deny"}))
    assert other.stdout == b""


@pytest.mark.parametrize("event", ["BrandNew", "", "pre-tool-use", "PRETOOLUSE", "x" * 5000])
def test_unknown_events_are_stored_and_answered_neutrally(world, event):
    data = payload("BrandNew", tool_name="Read", tool_input={})
    done = world.hookc(event, data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (e,) = world.events()
    assert e["event"] == ("PreToolUse" if "tool" in event.lower() else "Unknown")


def test_agents_without_an_adapter_lose_nothing(world):
    for agent in ("codex", "gemini", "cursor", "copilot", "qwen", "opencode", "windsurf", "generic", "somebody"):
        done = world.hookc("PreToolUse", payload("PreToolUse", session=agent, tool_name="x"), agent=agent)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert {e["agent"] for e in world.events()} == {"codex", "gemini", "cursor", "copilot", "qwen", "opencode",
                                                    "windsurf", "generic", "somebody"}


def test_everything_is_private_whatever_the_umask():
    world = World()
    try:
        old = os.umask(0)
        try:
            world.hookc("PostToolUse", tool(1))
            world.hookd("status")
        finally:
            os.umask(old)
        world.stop()  # a daemon at work makes and removes files while they are looked at
        for p in [world.dir, *world.dir.rglob("*")]:
            mode = p.lstat().st_mode
            assert stat.S_IMODE(mode) == (0o700 if p.is_dir() else 0o600), (p, oct(mode))
    finally:
        world.close()


def send(world, event):
    """Straight to the daemon: a hookc that a busy machine holds up would leave the event to the spool."""
    from world import DONE, hook, read_done, read_frame
    data = json.dumps(payload(event, prompt="p", tool_name="Read", tool_use_id="1")).encode()
    with world.connect() as s:
        s.sendall(hook(data, event=event.encode()))
        while read_frame(s)[0] != DONE:
            pass


def logged(world, pattern):
    """The line is written after the answer has left."""
    return wait_for(lambda: re.search(pattern, world.hookd("logs").stdout.decode()), what=f"the log to have {pattern}")


def test_the_log_has_its_tags(world):
    world.start()
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"):
        send(world, event)
    for tag in ("SESSION-START", "PROMPT", "TOOL", "STOP", "SESSION-END"):
        logged(world, rf" engine +{tag} claude s1 ")


def test_nothing_of_the_log_reaches_the_terminal(world):
    for name in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"):
        done = world.hookc(name, payload(name, prompt="p", tool_name="Read", tool_use_id="1"))
        assert done.stdout + done.stderr == b""


def test_doubles_are_logged_as_deduped(world):
    from world import DONE, hook, read_done, read_frame
    world.start()
    key = b"\1" * 16
    for _ in range(2):
        with world.connect() as s:
            s.sendall(hook(json.dumps(tool(1)).encode(), key=key))
            assert read_done(s)[0] == DONE
    assert len(world.events()) == 1
    logged(world, "Deduped 1")


def test_hostile_text_cannot_forge_log_lines_or_drive_the_terminal(world):
    world.hookc("PreToolUse", payload("PreToolUse", session="x\n2026-01-01T00:00:00.000Z info  engine  FORGED\x1b[2J",
                                      tool_name="\x1b]0;title\x07\x9b31m", tool_use_id="1",
                                      tool_input={"command": "a\x1b[31m \x9b2J"}))
    log = (world.dir / "hookd.log").read_text()
    assert "\x1b" not in log and "\x07" not in log and "\x9b" not in log
    assert not any(line.endswith("FORGED") and line.startswith("2026-01-01") for line in log.splitlines())
    shown = world.hookd("tail").stdout.decode() + world.hookd("sessions").stdout.decode()
    assert "\x1b" not in shown and "\x9b" not in shown


def test_tail_follows(world):
    world.start()
    world.hookc("PostToolUse", tool(1))
    p = subprocess.Popen([str(BUILD / "hookd"), "tail", "-f", "--json"], env=world.env, stdout=subprocess.PIPE)
    world.started.append(p)
    assert json.loads(p.stdout.readline())["tool_use_id"] == "t1"
    world.hookc("PostToolUse", tool(2))
    assert json.loads(p.stdout.readline())["tool_use_id"] == "t2"


def test_the_older_request_shape_and_errors_of_rpc(world):
    world.start()
    with world.connect() as s:
        f = s.makefile("rwb")

        def ask(line):
            f.write(line + b"\n")
            f.flush()
            return json.loads(f.readline())

        assert ask(b'{"cmd":"hello","args":{},"env":{}}')["result"]["pid"] == world.pid()
        assert ask(b'{"jsonrpc":"2.0","id":"x","method":"nope"}')["error"]["code"] == -32601
        assert ask(b'{"jsonrpc":"2.0","id":7,"method":"hello"}')["id"] == 7
        assert ask(b"not json")["error"]["code"] == -32700
        assert ask(b"[]")["error"]["code"] == -32600
        assert ask(b'{"id":1}')["error"]["code"] == -32600


def test_errors_say_what_why_and_what_to_do(world):
    def fails(code, *args):
        done = world.hookd(*args, ok=False)
        assert done.returncode == code, (args, done)
        assert re.match(rb"hookd: [a-z'-].*[;:].*\n\Z", done.stderr), done.stderr
        return done.stderr.decode()

    assert "see: hookd help" in fails(64, "nonsense")
    assert "--frobnicate" in fails(64, "status", "--frobnicate")
    assert "needs a value" in fails(64, "tail", "-n")
    assert "too many" in fails(64, "version", "x")
    assert "missing" in fails(64, "rpc")
    assert "no such method" in fails(1, "rpc", "nope")
    assert "not JSON" in fails(1, "rpc", "hello", "{")
    assert "no 'db fix'" in fails(64, "db", "fix")


def test_no_home_is_an_error_that_says_so(world):
    env = {"PATH": os.environ["PATH"]}
    done = subprocess.run([str(BUILD / "hookd"), "status"], env=env, capture_output=True)
    assert done.returncode == 1 and b"HOME" in done.stderr
    done = subprocess.run([str(BUILD / "hookc"), "claude", "Stop"], input=b"{}", env=env, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_db_check(world):
    world.hookc("PostToolUse", tool(1))
    assert world.hookd("db", "check").stdout == b"the store is sound\n"


def test_xdg_places(world):
    env = {k: v for k, v in world.env.items() if k != "HOOKD_DIR"}
    run = world.top / "r"
    run.mkdir(mode=0o700)
    env["XDG_RUNTIME_DIR"] = str(run)
    call = lambda *a, **k: subprocess.run(a, env=env, capture_output=True, **k)  # noqa: E731
    try:
        assert call(str(BUILD / "hookd"), "start").returncode == 0
        assert (run / "hookd/hookd.sock").is_socket()
        assert (world.home / ".local/state/hookd/run/hookd.sock").is_socket()
        assert call(str(BUILD / "hookc"), "claude", "Stop", input=json.dumps(payload("Stop")).encode()).returncode == 0
        events = call(str(BUILD / "hookd"), "tail", "--json").stdout
        assert json.loads(events)["event"] == "Stop"
        assert (world.home / ".local/share/hookd/hookd.db").exists()
        # The hook line names the state directory; the environment of an agent then does not count.
        state = str(world.home / ".local/state/hookd")
        done = subprocess.run([str(BUILD / "hookc"), "--dir", state, "claude", "SessionEnd"], capture_output=True,
                              input=json.dumps(payload("SessionEnd")).encode(), env={"HOOKD_DIR": "/nonexistent"})
        assert done.returncode == 0
        assert len(call(str(BUILD / "hookd"), "tail", "--json").stdout.splitlines()) == 2
        # A daemon started from the hook line alone finds the same store.
        assert call(str(BUILD / "hookd"), "stop").returncode == 0
        subprocess.run([str(BUILD / "hookc"), "--dir", state, "claude", "Stop"], capture_output=True,
                       input=json.dumps(payload("Stop")).encode(), env={"XDG_DATA_HOME": "/nonexistent"})
        wait_for(lambda: len(call(str(BUILD / "hookd"), "tail", "--json").stdout.splitlines()) == 3, what="the third event")
    finally:
        call(str(BUILD / "hookd"), "stop")


def test_stop_answers_what_is_under_way_and_ends_soon(world):
    world.start()
    pid = world.pid()
    idle = [world.connect() for _ in range(20)]
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not alive(pid), 5, "the daemon to end with idle connections")
    for s in idle:
        s.close()


def test_a_daemon_whose_socket_was_taken_away_is_replaced(world):
    world.start()
    (world.dir / "run/hookd.sock").unlink()
    world.hookc("PostToolUse", tool(1))  # goes to the spool: nobody listens where hookc looks
    wait_for(lambda: not any((world.dir / "spool").glob("*.j")), what="the spool to be picked up")
    assert len(world.daemons()) == 1


def test_strict_durability_answers_committed(world):
    world.dir.mkdir(exist_ok=True)
    (world.dir / "config.json").write_text('{"durability": "strict"}')
    from world import hook, read_frame
    world.start()
    assert world.status()["durability"] == "strict"
    with world.connect() as s:
        for n in range(5):
            s.sendall(hook(json.dumps(tool(n)).encode()))
            kind, stored, code, out, err = read_frame(s)
            while kind == 2:
                kind, stored, code, out, err = read_frame(s)
            assert (kind, stored) == (3, 2)
    assert len(world.events()) == 5


def test_an_answer_that_is_too_large_is_an_error_and_not_broken_json(world):
    world.start()
    for n in range(4):
        world.hookc("PostToolUse", tool(n, tool_response={"stdout": chr(97 + n) * 7_000_000}))
    world.hookc("PostToolUse", tool(4))
    with world.connect() as s:
        f = s.makefile("rwb")
        f.write(b'{"id":1,"method":"events"}\n')
        f.flush()
        answer = json.loads(f.readline())
    assert "ask for less" in answer["error"]["message"]
    assert len(world.rpc("events", limit=2)["events"]) == 2


def test_readers_that_wait_for_the_store_leave_a_worker_for_events(world):
    from world import DONE, hook, read_done, read_frame
    world.hookd("start", env={"HOOKD_TEST_FAIL": "commit:1+"})
    world.hookc("PostToolUse", tool(1))
    readers = [world.connect() for _ in range(4)]
    for s in readers:
        s.sendall(b'{"id":1,"method":"sessions"}\n')
    time.sleep(0.05)
    began = time.monotonic()
    with world.connect() as s:
        s.sendall(hook(json.dumps(tool(2, tool_response={"stdout": "x" * 100000})).encode()))
        assert read_done(s)[:2] == (DONE, 1)
    assert time.monotonic() - began < 1.5
    for s in readers:
        s.close()
    assert world.stop().returncode == 0


def test_a_reader_that_starts_the_daemon_starts_it_in_the_same_places(world):
    env = {k: v for k, v in world.env.items() if k != "HOOKD_DIR"}
    call = lambda *a: subprocess.run([str(BUILD / "hookd"), *a], env=env, capture_output=True)  # noqa: E731
    try:
        assert call("sessions").returncode == 0
        assert (world.home / ".local/share/hookd/hookd.db").exists()
        assert not (world.home / ".local/state/hookd/hookd.db").exists()
    finally:
        call("stop")


def test_closed_standard_descriptors(world):
    hookd = str(BUILD / "hookd")
    done = subprocess.run(["/bin/sh", "-c", f"exec {hookd} start <&- >&- 2>&-"], env=world.env, timeout=30)
    assert done.returncode == 0
    assert world.status()["running"]
    assert (world.dir / "run/hookd.lock").read_text() == f"{world.pid()}\n"
