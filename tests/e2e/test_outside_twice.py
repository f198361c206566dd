"""The same call told several ways is one call; the same command on purpose is two."""
import json
import time

import pytest

from outside import (ASK, DENY, FINE, call, configure, counting, decisions, frozen, meaning, script, send, shell_before)
from world import hook, in_threads, read_frame, wait_for


def claude_form(agent_session, command, n=1, ident=True, **more):
    body = {"session_id": agent_session, "cwd": "/tmp", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command}, **more}
    if ident:
        body["tool_use_id"] = f"call_{n}"
    return "PreToolUse", body


def cursor_three_ways(command, session="s-1", n=1):
    """preToolUse, beforeShellExecution, and the .claude file that Cursor runs as well."""
    return [("cursor", *call("cursor", command, session=session, n=n)),
            ("cursor", *shell_before(command, session=session, n=n)),
            ("claude", *claude_form(session, command, n))]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_cursor_three_ways_run_hooks_once(world, order):
    ran = counting(world)
    world.start()
    ways = cursor_three_ways(FINE)
    for i in order:
        agent, event, body = ways[i]
        assert world.hookc(event, body, agent).returncode == 0
    assert ran() == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_cursor_three_ways_one_decision_everybody_answered(world, order):
    world.start()
    ways = cursor_three_ways(DENY)
    for i in order:
        agent, event, body = ways[i]
        assert meaning(agent, world.hookc(event, body, agent))[0] == "deny", ways[i]
    assert len(decisions(world)) == 1
    acts = world.rpc("activities", limit=9)["activities"]
    assert [a["state"] for a in acts] == ["denied"], acts
    assert world.json("stats", "--json")["total"]["denied"] == 1


def test_concurrent_double_fire_waits_and_gets_the_same(world):
    ran = counting(world, then="sleep 0.7; echo no-such-day >&2; exit 2")
    world.start()
    ways = cursor_three_ways(FINE)
    got = [None] * 3

    def work(i):
        time.sleep(0.1 * i)
        got[i] = world.hookc(ways[i][1], ways[i][2], ways[i][0])
    in_threads(3, work)
    for i in range(3):
        word, reason = meaning(ways[i][0], got[i])
        assert word == "deny" and "no-such-day" in (reason + got[i].stdout.decode()), (i, got[i])
    assert ran() == 1
    assert len([d for d in decisions(world) if d["decision"] == "deny"]) == 1


def test_twin_gets_the_hooks_context_as_well(world):
    say = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                                             "permissionDecisionReason": "marzipan"}})
    ran = counting(world, then=f"echo '{say}'")
    world.start()
    for agent, event, body in [("copilot", *call("copilot", FINE)), ("claude", *claude_form("s-1", FINE, ident=False))]:
        done = world.hookc(event, body, agent)
        assert meaning(agent, done)[0] in ("ask", "deny") and b"marzipan" in done.stdout, (agent, done)
    assert ran() == 1


@pytest.mark.parametrize("first", ["copilot", "claude"])
def test_copilot_double_fire_without_ids(world, first):
    ran = counting(world)
    world.start()
    ways = {"copilot": ("copilot", *call("copilot", DENY)),
            "claude": ("claude", *claude_form("s-1", DENY, ident=False))}
    for name in [first] + [k for k in ways if k != first]:
        agent, event, body = ways[name]
        assert meaning(agent, world.hookc(event, body, agent))[0] == "deny"
    assert len(decisions(world)) == 1
    assert ran() <= 1


def test_copilot_both_spellings(world):
    """camelCase and PascalCase entries of Copilot itself."""
    ran = counting(world)
    world.start()
    world.hookc("preToolUse", call("copilot", FINE)[1], "copilot")
    world.hookc("PreToolUse", {"session_id": "s-1", "cwd": "/tmp", "hook_event_name": "PreToolUse",
                               "timestamp": "2026-11-15T06:47:41Z", "tool_name": "Bash",
                               "tool_input": {"command": FINE, "description": "x", "mode": "sync"}}, "copilot")
    assert ran() == 1
    assert len(world.rpc("activities", limit=9)["activities"]) == 1


def test_copilot_file_tool_both_spellings(world):
    ran = counting(world)
    world.start()
    args = {"path": "/tmp/x/out.txt", "file_text": "line\n"}
    world.hookc("preToolUse", {"sessionId": "s-1", "timestamp": 1, "cwd": "/tmp/x", "toolName": "create",
                               "toolArgs": args}, "copilot")
    world.hookc("PreToolUse", {"session_id": "s-1", "cwd": "/tmp/x", "hook_event_name": "PreToolUse",
                               "tool_name": "Write", "tool_input": args}, "claude")
    assert ran() == 1


def test_the_same_id_again_is_the_same_call(world):
    ran = counting(world)
    world.start()
    for _ in range(3):
        send(world, "codex", FINE, n=7)
    assert ran() == 1


@pytest.mark.parametrize("agent", ["claude", "codex", "qwen", "opencode"])
def test_another_id_is_another_call(world, agent):
    ran = counting(world)
    world.start()
    send(world, agent, FINE, n=1)
    send(world, agent, FINE, n=2)
    assert ran() == 2


@pytest.mark.parametrize("agent", ["gemini", "copilot"])
def test_the_same_way_twice_without_id_is_two_calls(world, agent):
    ran = counting(world)
    world.start()
    send(world, agent, FINE)
    send(world, agent, FINE)
    assert ran() == 2
    assert len(world.rpc("activities", limit=9)["activities"]) == 2


def test_cursor_on_purpose_twice_is_two_runs_with_all_ways(world):
    ran = counting(world)
    world.start()
    for n in (1, 2):
        for agent, event, body in cursor_three_ways(FINE, n=n):
            world.hookc(event, body, agent)
    assert ran() == 2
    assert len(world.rpc("activities", limit=9)["activities"]) == 2


def test_denied_twice_on_purpose_is_two_decisions(world):
    world.start()
    for n in (1, 2):
        for agent, event, body in cursor_three_ways(DENY, n=n):
            assert meaning(agent, world.hookc(event, body, agent))[0] == "deny"
    assert len(decisions(world)) == 2


def test_other_sessions_are_other_calls(world):
    ran = counting(world)
    world.start()
    send(world, "cursor", FINE, session="a")
    event, body = shell_before(FINE, session="b")
    world.hookc(event, body, "cursor")
    assert ran() == 2


def test_another_command_is_no_twin(world):
    """The same id with other text must be judged on its own bytes."""
    world.start()
    assert meaning("cursor", send(world, "cursor", FINE))[0] in ("none", "allow")
    event, body = shell_before(DENY)
    assert meaning("cursor", world.hookc(event, body, "cursor"))[0] == "deny"
    done = send(world, "claude", DENY, n=1)
    assert meaning("claude", done)[0] == "deny"


def test_same_id_with_another_command_is_judged(world):
    world.start()
    assert meaning("claude", send(world, "claude", FINE, n=1))[0] == "none"
    assert meaning("claude", send(world, "claude", DENY, n=1))[0] == "deny"
    assert [d["decision"] for d in decisions(world)] == ["deny"], "a denial somebody heard has no row"


def test_late_first_then_in_time(world):
    """Late: judged, recorded, no hooks; the way that comes in time has its hooks run."""
    ran = counting(world)
    world.start()
    event, body = call("cursor", FINE)
    s = world.connect()
    s.sendall(hook(json.dumps(body).encode(), agent=b"cursor", event=event.encode(), deadline_ms=1,
                   at_ms=int(time.time() * 1000) - 3000))
    assert read_frame(s)[1]
    assert ran() == 0
    event, body = shell_before(FINE)
    world.hookc(event, body, "cursor")
    assert ran() == 1


def test_prompts_told_twice_are_one(world):
    ran = counting(world, event="UserPromptSubmit", then="echo remember-the-milk")
    world.start()
    world.hookc("beforeSubmitPrompt", {"conversation_id": "p-1", "generation_id": "g1", "prompt": "build it",
                                       "hook_event_name": "beforeSubmitPrompt", "workspace_roots": ["/tmp"]}, "cursor")
    world.hookc("UserPromptSubmit", {"session_id": "p-1", "cwd": "/tmp", "prompt": "build it",
                                     "hook_event_name": "UserPromptSubmit"}, "claude")
    assert ran() == 1
    assert len(world.json("show", "p-1", "--json")["batches"]) == 1


def test_prompts_with_two_ids_are_two(world):
    ran = counting(world, event="UserPromptSubmit")
    world.start()
    for pid in ("a1", "a2"):
        world.hookc("UserPromptSubmit", {"session_id": "p-1", "cwd": "/tmp", "prompt": "go on", "prompt_id": pid,
                                         "hook_event_name": "UserPromptSubmit"}, "claude")
    assert ran() == 2
    assert len(world.json("show", "p-1", "--json")["batches"]) == 2


def test_the_label_is_the_specific_one(world):
    world.start()
    for agent, event, body in reversed(cursor_three_ways(FINE)):
        world.hookc(event, body, agent)
    found = world.json("sessions", "--all", "--json")["sessions"]
    assert [(s["agent"], s["id"]) for s in found] == [("cursor", "s-1")]


def test_post_events_told_twice_run_hooks_once(world):
    ran = counting(world, event="PostToolUse")
    world.start()
    world.hookc("postToolUse", {"conversation_id": "s-1", "generation_id": "g", "hook_event_name": "postToolUse",
                                "workspace_roots": ["/tmp"], "cwd": "/tmp", "tool_name": "Shell", "tool_use_id": "c1",
                                "tool_input": {"command": FINE}, "tool_output": "\"fine\"", "duration": 3}, "cursor")
    world.hookc("afterShellExecution", {"conversation_id": "s-1", "generation_id": "g", "output": "fine",
                                        "hook_event_name": "afterShellExecution", "workspace_roots": ["/tmp"],
                                        "command": FINE, "duration": 3, "sandbox": False}, "cursor")
    assert ran() == 1


def test_stop_told_twice_is_one(world):
    ran = counting(world, event="Stop")
    world.start()
    world.hookc("stop", {"conversation_id": "s-1", "generation_id": "g", "hook_event_name": "stop", "status": "completed",
                         "loop_count": 0, "workspace_roots": ["/tmp"]}, "cursor")
    world.hookc("Stop", {"session_id": "s-1", "cwd": "/tmp", "hook_event_name": "Stop", "stop_hook_active": False},
                "claude")
    assert ran() == 1


def test_the_leader_went_away_the_twin_is_answered(world):
    """The first caller is killed while its hook runs; the second still gets the verdict."""
    import subprocess
    ran = counting(world, then="sleep 1; echo gone-fishing >&2; exit 2")
    world.start()
    ways = cursor_three_ways(FINE)
    first = subprocess.Popen([str(world.build / "hookc"), "cursor", ways[0][1]], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=world.env, cwd=world.top)
    world.started.append(first)
    first.stdin.write(json.dumps(ways[0][2]).encode())
    first.stdin.flush()
    wait_for(lambda: ran() == 1, what="the first hook")
    first.kill()
    done = world.hookc(ways[1][1], ways[1][2], "cursor")
    assert meaning("cursor", done)[0] == "deny", done
    assert ran() <= 2


def test_many_double_fires_at_random(world):
    import random
    dice = random.Random(8)
    ran = counting(world)
    world.start()
    for n in range(25):
        ways = cursor_three_ways(f"echo number {n}", n=n)[:dice.choice((2, 3))]
        dice.shuffle(ways)
        in_threads(len(ways), lambda i: world.hookc(ways[i][1], ways[i][2], ways[i][0]))
    assert ran() == 25
    assert len(world.rpc("activities", limit=99)["activities"]) == 25
