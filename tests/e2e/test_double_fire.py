"""Agents that report one call twice: Cursor's two events and its Claude lines, Copilot's two files. Whatever the order
and however close together: one activity for each call, hooks run once, every caller answered."""
import random
import threading

import pytest

from outside import counting, decisions, meaning

ROUNDS, BATCH = 1000, 40
SEED = 20261115
CURSOR_ENV, COPILOT_ENV = {"CURSOR_VERSION": "2.6.0"}, {"COPILOT_CLI": "1"}


def cursor(session, n, command):
    common = {"conversation_id": session, "generation_id": f"g{n}", "workspace_roots": ["/tmp"],
              "cursor_version": "2.6.0"}
    whole = {**common, "tool_name": "Shell", "tool_input": {"command": command}, "tool_use_id": f"{session}-{n}",
             "cwd": "/tmp"}
    return [("cursor", "preToolUse", {**whole, "hook_event_name": "preToolUse"}),
            ("cursor", "beforeShellExecution",
             {**common, "hook_event_name": "beforeShellExecution", "command": command, "cwd": "/tmp", "sandbox": False}),
            ("claude", "PreToolUse", {**whole, "session_id": session, "hook_event_name": "PreToolUse",
                                      "tool_name": "Bash"})]


def copilot(session, n, command):
    """It has no ids for calls: only that they came another way makes them one."""
    return [("copilot", "preToolUse", {"sessionId": session, "timestamp": 1794725694835 + n, "cwd": "/tmp",
                                       "toolName": "bash", "toolArgs": {"command": command, "mode": "sync"}}),
            ("claude", "PreToolUse", {"hook_event_name": "PreToolUse", "session_id": session, "cwd": "/tmp",
                                      "timestamp": "2026-11-15T06:56:38.829Z", "tool_name": "Bash",
                                      "tool_input": {"command": command, "mode": "sync"}})]


@pytest.mark.parametrize("agent,ways", [("cursor", cursor), ("copilot", copilot)])
def test_randomised_interleavings(world, agent, ways):
    ran = counting(world)
    world.start()
    rng = random.Random(SEED)
    left, denied, calls, asked = ROUNDS // 2, 0, 0, 0
    env = CURSOR_ENV if agent == "cursor" else COPILOT_ENV
    while left:
        group = []
        for _ in range(min(BATCH, left)):
            calls += 1
            deny = rng.random() < 0.2
            denied += deny
            command = f"echo {calls} hookd-selftest-deny" if deny else f"echo {calls}"
            group += [(deny, *way) for way in ways(f"s-{rng.randrange(3)}", calls, command)]
        left -= min(BATCH, left)
        rng.shuffle(group)
        asked += len(group)
        send_all(world, group, env, agent, rng.randrange(1, 9))
    assert ran() == calls, "each call runs the hook once"
    acts = world.rpc("activities", limit=1000)["activities"]
    assert len(acts) == calls
    assert len([a for a in acts if a["state"] == "denied"]) == denied == len(decisions(world))
    assert {s["agent"] for s in world.json("sessions", "--json")["sessions"]} == {agent}
    assert len(world.events()) == asked


def send_all(world, group, env, agent, threads):
    """Every row of the group by one of some threads, in its order; each must get its answer."""
    wrong = []

    def work(rows):
        for deny, name, event, body in rows:
            done = world.hookc(event, body, name, env=env)
            said = meaning(agent, done)[0]
            if done.returncode != 0 or (said == "deny") != deny:
                wrong.append((event, deny, done.returncode, done.stdout[:300]))
    workers = [threading.Thread(target=work, args=(group[i::threads],)) for i in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert wrong == [], wrong[:3]
