"""The life of a turn: late calls, several calls about one happening, inputs that hooks changed, ends that are held up."""
import json
import os
import random
import signal
import time

import pytest

from test_hooks import answer, bash, configure, one, script, specific
from world import DONE, WAIT, hook, in_threads, payload, read_frame, wait_for

DENIED = "echo hookd-selftest-deny"


def counting(world, name="ran", then="true"):
    """A hook that leaves a line each time it runs."""
    log = world.top / name
    return script(world.top / f"{name}.sh", f"#!/bin/sh\ncat >/dev/null\necho x >>{log}\n{then}\n"), log


def lines(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


def ask(world, data, **kw):
    """The last frame of one call, on a connection of its own."""
    with world.connect() as s:
        s.sendall(hook(json.dumps(data).encode(), **kw))
        while True:
            got = read_frame(s)
            if got[0] != WAIT:
                return got


# -- late ------------------------------------------------------------------------------------------

def test_a_late_call_is_judged_and_recorded_and_runs_no_hook(world):
    program, log = counting(world)
    configure(world, one("PreToolUse", program))
    world.start()
    long_ago = int(time.time() * 1000) - 10000
    kind, stored, _, out, _ = ask(world, bash(DENIED, session="late"), event=b"PreToolUse", at_ms=long_ago, deadline_ms=400)
    assert kind == DONE and stored == 1
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert lines(log) == 0
    assert [(e["event"], e["marks"] & 32) for e in world.events()] == [("PreToolUse", 32)]
    assert [d["decision"] for d in world.json("decisions", "--json")["decisions"]] == ["deny"]


def test_a_late_harmless_call_gets_nothing(world):
    world.start()
    kind, _, code, out, err = ask(world, bash("ls", session="late"), event=b"PreToolUse",
                                  at_ms=int(time.time() * 1000) - 10000, deadline_ms=400)
    assert (kind, code, out, err) == (DONE, 0, b"", b"")


# -- twins -----------------------------------------------------------------------------------------

def cursor(command, n, native):
    base = {"conversation_id": "c1", "generation_id": f"g{n}", "workspace_roots": ["/tmp"], "hook_event_name": native}
    if native == "preToolUse":
        return {**base, "tool_name": "Shell", "tool_input": {"command": command}, "tool_use_id": f"u{n}", "cwd": "/tmp"}
    return {**base, "command": command, "cwd": "/tmp"}


def test_two_events_of_one_call_run_hooks_once_and_both_are_answered(world):
    program, log = counting(world, then="echo not now >&2; exit 2")
    configure(world, one("PreToolUse", program))
    world.start()
    for native in ("preToolUse", "beforeShellExecution"):
        done = world.hookc(native, cursor("make all", 1, native), agent="cursor")
        answer = json.loads(done.stdout)
        assert (done.returncode, answer["permission"], answer["agent_message"]) == (0, "deny", "not now")
    assert lines(log) == 1
    assert len(world.json("decisions", "--json")["decisions"]) == 1
    assert len(world.events()) == 2


def test_a_follower_waits_for_its_leader_and_speaks_its_own_language(world):
    program, log = counting(world, then="sleep 0.3; echo busy >&2; exit 2")
    configure(world, one("PreToolUse", program))
    world.start()
    answers = {}

    def call(i):
        if i == 0:
            answers["cursor"] = ask(world, cursor("make", 1, "preToolUse"), agent=b"cursor", event=b"preToolUse")
        else:
            wait_for(lambda: lines(log), what="the leader's hook to run")
            data = payload("PreToolUse", "c1", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="u1")
            answers["claude"] = ask(world, data, event=b"PreToolUse")

    in_threads(2, call)
    answer = json.loads(answers["cursor"][3])
    assert (answers["cursor"][2], answer["permission"], answer["agent_message"]) == (0, "deny", "busy")
    assert json.loads(answers["claude"][3])["hookSpecificOutput"]["permissionDecisionReason"] == "busy"
    assert lines(log) == 1


def test_the_same_call_twice_the_same_way_is_two_happenings(world):
    program, log = counting(world)
    configure(world, one("PreToolUse", program))
    world.start()
    for n in range(3):
        data = payload("PreToolUse", "twice", tool_name="Bash", tool_input={"command": "make"})
        assert answer(world.hookc("PreToolUse", data)) == {}
    assert lines(log) == 3
    # With an id it is one.
    for n in range(3):
        world.hookc("PreToolUse", bash("make", session="thrice", tool_use_id="t"))
    assert lines(log) == 4


def test_a_follower_is_judged_by_its_own_bytes(world):
    """A read of one file told as two: the second names the same file and hides something in its input."""
    world.start()
    leader = payload("PreToolUse", "own", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="x")
    assert answer(world.hookc("PreToolUse", leader)) == {}
    other = payload("PreToolUse", "own", tool_name="Bash", tool_input={"command": DENIED}, tool_use_id="x")
    assert specific(world.hookc("PreToolUse", other))["permissionDecision"] == "deny"


@pytest.mark.parametrize("rounds", [int(os.environ.get("DOUBLE_FIRES", 60))])
def test_random_double_fires_run_each_hook_once(world, rounds):
    program, log = counting(world)
    configure(world, one("PreToolUse", program))
    world.start()
    rng = random.Random(rounds)

    def call(i):
        with world.connect() as s:
            for n in range(i, rounds, 4):
                ways = [(b"cursor", b"preToolUse", cursor(f"make {n}", n, "preToolUse")),
                        (b"cursor", b"beforeShellExecution", cursor(f"make {n}", n, "beforeShellExecution")),
                        (b"claude", b"PreToolUse", payload("PreToolUse", "c1", tool_name="Bash", tool_use_id=f"u{n}",
                                                           tool_input={"command": f"make {n}"}))]
                rng.shuffle(ways)
                for agent, event, data in ways[:rng.randrange(2, 4)]:
                    s.sendall(hook(json.dumps(data).encode(), agent=agent, event=event))
                    while read_frame(s)[0] == WAIT:
                        pass

    in_threads(4, call)
    assert lines(log) == rounds


# -- a changed input -------------------------------------------------------------------------------

def test_an_input_that_a_hook_changed_is_judged_again(world):
    say = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                                  "updatedInput": {"command": DENIED}}}
    configure(world, one("PreToolUse", script(world.top / "change.sh", f"#!/bin/sh\ncat <<'E'\n{json.dumps(say)}\nE\n")))
    world.start()
    got = specific(world.hookc("PreToolUse", bash("ls")))
    assert got["permissionDecision"] == "deny"
    assert "hookd-selftest-deny" in got["permissionDecisionReason"]
    done = world.hookc("BeforeTool", payload("BeforeTool", "g", tool_name="run_shell_command", tool_input={"command": "ls"}),
                       agent="gemini")
    assert json.loads(done.stdout)["decision"] == "deny"


# -- hooks that must decide ------------------------------------------------------------------------

@pytest.mark.parametrize("running", [True, False])
def test_a_hook_that_cannot_be_run_decides_by_on_failure(world, running):
    configure(world, {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "is this wise?", "on_failure": "deny"}]}]})
    world.start()
    if not running:
        os.kill(world.pid(), signal.SIGSTOP)  # it hangs; nobody starts another one
    got = specific(world.hookc("PreToolUse", bash("ls")))
    os.kill(world.pid(), signal.SIGCONT)
    assert got["permissionDecision"] == "deny"


@pytest.mark.parametrize("kind, data", [("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
                                        ("UserPromptSubmit", {"prompt": "hello"})])
def test_an_explicit_deny_holds_without_a_daemon_and_without_an_event_on_the_line(world, kind, data):
    configure(world, one(kind, "true", on_failure="deny"))
    world.start()
    pid = world.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        got = answer(world.hookc(None, payload(kind, "n1", **data)))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert got.get("decision") == "block" or got["hookSpecificOutput"]["permissionDecision"] == "deny"


# -- the end of a turn -----------------------------------------------------------------------------

def test_the_end_of_a_turn_is_held_up_once(world):
    configure(world, one("Stop", "echo tests first >&2; exit 2"))
    world.start()
    assert answer(world.hookc("Stop", payload("Stop", "e1", last_assistant_message="a")))["decision"] == "block"
    # Whether or not the agent says so itself.
    assert answer(world.hookc("Stop", payload("Stop", "e1", last_assistant_message="b"))) == {}
    assert answer(world.hookc("Stop", payload("Stop", "e1", stop_hook_active=True, last_assistant_message="c"))) == {}
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "e1", prompt="again"))
    assert answer(world.hookc("Stop", payload("Stop", "e1", last_assistant_message="d")))["decision"] == "block"


# -- what was heard --------------------------------------------------------------------------------

def test_no_row_claims_a_denial_that_nobody_heard(world):
    """Copilot CLI cannot be stopped at a prompt: a hook's refusal there is observed, not enforced."""
    configure(world, one("UserPromptSubmit", "echo no >&2; exit 2"))
    world.start()
    done = world.hookc("userPromptSubmitted", {"sessionId": "p1", "cwd": "/tmp", "prompt": "hello"}, agent="copilot")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    rows = world.json("decisions", "--json")["decisions"]
    assert len(rows) == 1 and rows[0]["observed"] and not rows[0]["prevailed"]
    done = world.hookc("preToolUse", {"sessionId": "p1", "cwd": "/tmp", "toolName": "bash", "toolArgs": {"command": DENIED}},
                       agent="copilot")
    assert json.loads(done.stdout)["permissionDecision"] == "deny"


# -- nobody is forgotten ---------------------------------------------------------------------------

def test_a_large_call_on_a_worker_hears_wait(world):
    configure(world, one("PreToolUse", "sleep 0.3"))
    world.start()
    data = payload("PreToolUse", "big", tool_name="Bash", tool_input={"command": "echo " + "x" * 200000})
    with world.connect() as s:
        s.sendall(hook(json.dumps(data).encode(), event=b"PreToolUse"))
        kinds = []
        while not kinds or kinds[-1] == WAIT:
            kinds.append(read_frame(s)[0])
    assert WAIT in kinds and kinds[-1] == DONE


def test_a_call_told_twice_is_one_activity(world):
    world.start()
    start = {"conversation_id": "c1", "workspace_roots": ["/tmp"], "session_id": "c1"}
    world.hookc("sessionStart", start, agent="cursor")
    world.hookc("beforeSubmitPrompt", {**start, "prompt": "build it", "generation_id": "g1"}, agent="cursor")
    for native in ("preToolUse", "beforeShellExecution"):
        world.hookc(native, cursor("make", 1, native), agent="cursor")
    world.hookc("postToolUse", {**cursor("make", 1, "preToolUse"), "tool_output": "{}"}, agent="cursor")
    world.hookc("afterShellExecution", {**cursor("make", 1, "afterShellExecution"), "output": "done"}, agent="cursor")
    assert len(world.events()) == 6
    for _ in range(2):
        session = world.json("sessions", "--json", "--all")["sessions"][0]
        assert session["tools"] == 1, session
        world.hookd("db", "rebuild")
