"""hooks.*: an agent's events forwarded by JSON-RPC."""
import json

import pytest

METHODS = ["sessionStart", "sessionEnd", "preCompact", "preToolUse", "postToolUse", "postToolUseFailure", "stop", "userPrompt", "notification",
           "permissionRequest", "teammateIdle", "taskCompleted", "subagentStart", "subagentStop", "configChange"]


def base(**more):
    return {"sessionId": "s1", "transcriptPath": "/t.jsonl", "cwd": "/", "permissionMode": "default", **more}


def test_a_session(world):
    world.start()
    a = world.rpc("hooks.sessionStart", **base(source="startup", model="m"))
    assert (a["found"], a["effortId"], a["sessionId"], a["skillConfig"], a["filesToPreload"]) == (False, None, None, None, [])
    a = world.rpc("hooks.userPrompt", **base(prompt="go"))
    assert a["effortId"] is None and a["heartbeat"] == 0 and a["allow"] is True
    call = {"toolName": "Bash", "toolInput": {"command": "ls"}, "toolUseId": "t1"}
    a = world.rpc("hooks.preToolUse", **base(**call))
    assert a["allow"] is True and a["firedRules"] == [] and a["pendingPreloads"] == [] and a["heartbeatCount"] == 0
    a = world.rpc("hooks.postToolUse", **base(toolResponse={"stdout": "x"}, **call))
    assert a == {"heartbeatCount": 0, "pendingInjections": [], "dialogueEntry": None, "additionalContext": ""}
    assert world.rpc("hooks.stop", **base(stopHookActive=False, lastAssistantMessage="Done."))["continue"] is False
    world.rpc("hooks.sessionEnd", **base(reason="other"))
    [session] = world.rpc("sessions")["sessions"]
    assert (session["id"], session["agent"], session["status"], session["prompts"], session["tools"]) == ("s1", "claude", "completed", 1, 1)


def test_a_rule_denies(world):
    world.start()
    a = world.rpc("hooks.preToolUse", **base(toolName="Bash", toolInput={"command": "echo hookd-selftest-deny"}, toolUseId="t1"))
    assert a["allow"] is False and a["firedRules"] == ["hookd.selftest"] and a["reason"]


def test_both_spellings_and_unknown_members(world):
    world.start()
    world.rpc("hooks.notification", session_id="s2", cwd="/", message="m", notificationType="idle_prompt", colour={"red": 1})
    [e] = world.events()
    assert e["session"] == "s2" and e["payload"]["colour"] == {"red": 1} and e["payload"]["notification_type"] == "idle_prompt"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("params", [{}, {"sessionId": 5}, {"toolInput": "text", "cwd": None}, {"session_id": "x", "sessionId": "y"}])
def test_nothing_it_is_told_stops_an_agent(world, method, params):
    world.start()
    a = world.rpc(f"hooks.{method}", **params)
    assert isinstance(a, dict) and a.get("allow", True) is True


def test_params_must_be_an_object(world):
    world.start()
    done = world.hookd("rpc", "hooks.stop", "[1]", ok=False)
    assert done.returncode == 1 and done.stderr
    assert world.events() == []


def test_the_same_call_by_rpc_and_by_hookc_is_one(world):
    world.start()
    payload = {"session_id": "s", "hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Bash", "tool_use_id": "same", "tool_input": {"command": "ls"}}
    world.hookc("PreToolUse", payload)
    world.rpc("hooks.preToolUse", **payload)
    assert len(world.rpc("activities")["activities"]) == 1
