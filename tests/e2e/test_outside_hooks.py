"""The user's own hooks: what they change is judged, what they fail at holds, a turn is held once."""
import json
import subprocess

import pytest

from outside import ASK, DENY, FINE, call, configure, counting, decisions, frozen, meaning, says, script, send
from world import hook, read_frame


def answering(world, answer, **more):
    return counting(world, then="cat <<'E'\n" + json.dumps(answer) + "\nE", **more)


def updated(command, decision="allow"):
    own = {"hookEventName": "PreToolUse", "updatedInput": {"command": command}}
    if decision:
        own["permissionDecision"] = decision
    return {"hookSpecificOutput": own}


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot"])
def test_an_updated_input_is_judged_again(world, agent):
    answering(world, updated(DENY))
    world.start()
    done = send(world, agent, FINE)
    assert meaning(agent, done)[0] == "deny", done
    assert [d["rule"] for d in decisions(world) if d["decision"] == "deny"] == ["hookd.selftest"]


@pytest.mark.parametrize("decision", [None, "allow", "ask"])
def test_an_updated_input_is_judged_whatever_it_says(world, decision):
    answering(world, updated(DENY, decision))
    world.start()
    assert says(world, "claude", FINE) == "deny"


def test_an_updated_input_that_asks_is_asked(world):
    answering(world, updated(ASK))
    world.start()
    assert says(world, "claude", FINE) == "ask"


def test_modified_input_of_the_other_dialect_is_judged(world):
    answering(world, {"action": "allow", "modifiedInput": {"command": DENY}})
    world.start()
    assert says(world, "claude", FINE) == "deny"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot", "qwen", "windsurf", "generic"])
def test_a_harmless_update_arrives_or_the_call_is_held(world, agent):
    """What the hook changed must not run unchanged: it arrives in the agent's own words, or the call is asked about."""
    answering(world, updated("echo better"))
    world.start()
    done = send(world, agent, FINE)
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    own = said.get("hookSpecificOutput", {})
    new = own.get("updatedInput") or own.get("tool_input") or said.get("updated_input") or said.get("modifiedArgs")
    assert (new and new["command"] == "echo better") or meaning(agent, done)[0] in ("ask", "deny"), done
    if agent == "codex":
        assert own["permissionDecision"] == "allow" and new == {"command": "echo better"}


def test_a_hooks_allow_does_not_lift_a_denial(world):
    answering(world, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})
    world.start()
    assert says(world, "claude", DENY) == "deny"
    assert says(world, "claude", ASK, n=2) == "ask"


FAILING = {"missing": {"type": "command", "command": "/nonexistent/program"},
           "exit 1": {"type": "command", "command": "exit 1"},
           "signal": {"type": "command", "command": "kill -9 $$"},
           "timeout": {"type": "command", "command": "sleep 20", "timeout": 1},
           "prompt": {"type": "prompt", "prompt": "is it fine?"},
           "http": {"type": "http", "url": "http://127.0.0.1:9/x"}}


def failing(world, how, on_failure="deny", event="PreToolUse"):
    configure(world, {"hooks": {event: [{"hooks": [{**FAILING[how], "on_failure": on_failure}]}]}})


@pytest.mark.parametrize("how", list(FAILING))
def test_on_failure_deny_holds(world, how):
    failing(world, how)
    world.start()
    assert says(world, "claude", FINE) == "deny"


@pytest.mark.parametrize("how", ["missing", "prompt", "exit 1"])
def test_on_failure_deny_without_event_name(world, how):
    failing(world, how)
    world.start()
    assert says(world, "claude", FINE, named=False) == "deny"
    with frozen(world):
        assert says(world, "claude", FINE, named=False, n=2) == "deny"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot", "windsurf"])
@pytest.mark.parametrize("how", ["missing", "prompt"])
def test_on_failure_deny_with_a_frozen_daemon(world, how, agent):
    failing(world, how)
    world.start()
    with frozen(world):
        assert says(world, agent, FINE) == "deny"


@pytest.mark.parametrize("how", ["missing", "prompt"])
def test_on_failure_deny_without_a_daemon(world, how):
    failing(world, how)
    world.start()
    world.stop()
    assert says(world, "claude", FINE, n=4) == "deny"


def test_on_failure_deny_without_a_daemon_that_ever_ran(world):
    failing(world, "missing")
    assert says(world, "claude", FINE) == "deny"


def test_on_failure_deny_for_a_late_event(world):
    failing(world, "missing")
    world.start()
    event, body = call("claude", FINE)
    import time
    s = world.connect()
    s.sendall(hook(json.dumps(body).encode(), event=event.encode(), deadline_ms=1,
                   at_ms=int(time.time() * 1000) - 5000))
    _, stored, code, out, err = read_frame(s)
    assert stored and (b'"deny"' in out or code == 2), (code, out, err)


@pytest.mark.parametrize("how", ["missing", "exit 1", "prompt", "timeout"])
def test_failures_let_pass_by_default(world, how):
    failing(world, how, "allow")
    world.start()
    assert says(world, "claude", FINE) == "none"


def test_on_failure_ask(world):
    failing(world, "missing", "ask")
    world.start()
    assert says(world, "claude", FINE) == "ask"
    with frozen(world):
        assert says(world, "claude", FINE, n=2) == "ask"


def test_on_failure_only_for_what_matches(world):
    configure(world, {"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [
        {**FAILING["missing"], "on_failure": "deny"}]}]}})
    world.start()
    assert says(world, "claude", FINE) == "none"
    with frozen(world):
        assert says(world, "claude", FINE, n=2) == "none"


def test_on_failure_deny_of_a_prompt_event(world):
    failing(world, "missing", event="UserPromptSubmit")
    world.start()
    body = {"session_id": "s", "cwd": "/tmp", "prompt": "hi", "hook_event_name": "UserPromptSubmit"}
    done = world.hookc("UserPromptSubmit", body)
    assert done.returncode == 2 and done.stderr or b'"block"' in done.stdout, done


BLOCK = {"decision": "block", "reason": "write the tests first"}


def stops(agent, n, active):
    if agent == "gemini":
        return "AfterAgent", {"session_id": "s", "cwd": "/tmp", "hook_event_name": "AfterAgent", "prompt": "p",
                              "prompt_response": f"r{n}", "stop_hook_active": active}
    if agent == "cursor":
        return "stop", {"conversation_id": "s", "generation_id": f"g{n}", "hook_event_name": "stop",
                        "status": "completed", "loop_count": 1 if active else 0, "workspace_roots": ["/tmp"]}
    if agent == "copilot":
        return "agentStop", {"sessionId": "s", "cwd": "/tmp", "timestamp": n, "stopReason": "end_turn",
                             "stop_hook_active": active}
    return "Stop", {"session_id": "s", "cwd": "/tmp", "hook_event_name": "Stop", "stop_hook_active": active,
                    "last_assistant_message": f"r{n}"}


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot", "qwen"])
def test_a_stop_is_held_once(world, agent):
    answering(world, BLOCK, event="Stop")
    world.start()
    event, body = stops(agent, 1, False)
    first = world.hookc(event, body, agent)
    if agent != "cursor":  # the rest of its adapter comes later (issue 8)
        assert b"write the tests first" in first.stdout + first.stderr, first
    event, body = stops(agent, 2, True)
    second = world.hookc(event, body, agent)
    assert b"write the tests first" not in second.stdout + second.stderr and second.returncode == 0, second


def test_a_stop_hook_that_exits_two_holds_once(world):
    counting(world, then="echo not yet >&2; exit 2", event="Stop")
    world.start()
    first = world.hookc(*stops("claude", 1, False))
    assert b"not yet" in first.stdout + first.stderr
    second = world.hookc(*stops("claude", 2, True))
    assert second.returncode == 0 and b"not yet" not in second.stdout + second.stderr


def test_the_next_turn_is_held_again(world):
    answering(world, BLOCK, event="Stop")
    world.start()
    for n in (1, 3):
        world.hookc("UserPromptSubmit", {"session_id": "s", "cwd": "/tmp", "prompt": f"p{n}", "prompt_id": f"i{n}",
                                         "hook_event_name": "UserPromptSubmit"})
        held = world.hookc(*stops("claude", n, False))
        assert b"write the tests" in held.stdout + held.stderr, n
        free = world.hookc(*stops("claude", n + 1, True))
        assert b"write the tests" not in free.stdout + free.stderr, n


def test_a_hooks_denial_is_visible_with_its_name(world):
    counting(world, then="echo not on fridays >&2; exit 2", name="fridays")
    world.start()
    done = send(world, "claude", FINE, session="h-1")
    assert meaning("claude", done)[0] == "deny" and "not on fridays" in meaning("claude", done)[1]
    assert [(d["rule"], d["decision"]) for d in decisions(world)] == [("hook:fridays", "deny")]
    acts = world.rpc("activities", limit=3)["activities"]
    assert acts[0]["state"] == "denied" and acts[0]["rule"] == "hook:fridays"
    assert "hook:fridays" in world.hookd("show", "h-1").stdout.decode()


def test_settings_json_is_run_only_for_agents_that_do_not(world):
    mark = world.top / "m.txt"
    path = script(world, "c.sh", f"echo x >> {mark}")
    (world.home / ".claude").mkdir()
    (world.home / ".claude/settings.json").write_text(json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": str(path)}]}]}}))
    world.start()
    for i, agent in enumerate(("claude", "cursor", "copilot")):
        send(world, agent, FINE, session=f"n{i}")
    assert not mark.exists()
    for i, agent in enumerate(("codex", "gemini", "qwen", "windsurf")):
        send(world, agent, FINE, session=f"y{i}")
        assert mark.exists() and len(mark.read_text().split()) == i + 1, agent


def test_matchers_see_claudes_names(world):
    ran = counting(world, matcher="Bash")
    world.start()
    for i, agent in enumerate(("claude", "codex", "gemini", "cursor", "copilot", "qwen", "windsurf")):
        send(world, agent, FINE, session=f"s{i}")
        assert ran() == i + 1, agent


def test_code_agent_dialect(world):
    configure(world, {"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": "exit 1", "exit_dialect": "code-agent"}]}]}})
    world.start()
    assert says(world, "claude", FINE) == "deny"


def test_code_agent_dialect_for_all_of_hooks(world):
    configure(world, {"hooks": {"exit_dialect": "code-agent", "PreToolUse": [{"hooks": [
        {"type": "command", "command": "exit 1"}]}]}})
    world.start()
    assert says(world, "claude", FINE) == "deny"


def test_an_observer_decides_nothing(world):
    ran = counting(world, then="exit 2", observer=True)
    world.start()
    assert says(world, "claude", FINE) == "none"


def test_once_and_disabled(world):
    ran = counting(world, once=True)
    world.start()
    send(world, "claude", FINE, n=1)
    send(world, "claude", FINE, n=2)
    assert ran() == 1
    send(world, "claude", FINE, n=3, session="other")
    assert ran() == 2


def test_group_writable_project_keeps_its_deny_rules(world):
    proj = world.top / "proj"
    (proj / ".hookd").mkdir(parents=True)
    f = proj / ".hookd/config.json"
    f.write_text(json.dumps({"guard": {"rules": [{"name": "no-make", "program": "make", "decision": "deny",
                                                   "message": "use ninja"}]}}))
    f.chmod(0o664)
    proj.chmod(0o775)
    world.start()
    assert says(world, "claude", "make all", cwd=str(proj)) == "deny"
    with frozen(world):
        assert says(world, "claude", "make all", cwd=str(proj), n=2) == "deny"


def test_a_project_rule_cannot_allow(world):
    proj = world.top / "proj"
    (proj / ".hookd").mkdir(parents=True)
    (proj / ".hookd/config.json").write_text(json.dumps({"guard": {
        "mode": "observe", "disable": ["git.reset-hard"],
        "rules": [{"name": "yes", "program": "git", "decision": "allow", "override": "git.reset-hard"}]}}))
    world.start()
    assert says(world, "claude", "git reset --hard", cwd=str(proj)) == "deny"


def test_untrusted_project_hooks_do_not_run(world):
    proj = world.top / "proj"
    (proj / ".hookd").mkdir(parents=True)
    mark = world.top / "bad.txt"
    (proj / ".hookd/config.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": f"touch {mark}"}]}]}}))
    world.start()
    says(world, "claude", FINE, cwd=str(proj))
    assert not mark.exists()
