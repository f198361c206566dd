"""A denial is heard by every agent in its own form, and seen everywhere."""
import json

import pytest

from outside import (AGENTS, ASK, DENY, FINE, WORD, call, decisions, frozen, meaning, pre, says, send, shell_before)
from world import hook, read_frame
import time


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_hears_a_denial_in_its_own_form(world, agent):
    world.start()
    word, reason = meaning(agent, send(world, agent, DENY))
    assert word == "deny" and reason.strip()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_frozen_daemon_denies_as_well(world, agent):
    world.start()
    with frozen(world):
        word, reason = meaning(agent, send(world, agent, DENY))
    assert word == "deny" and reason.strip()


@pytest.mark.parametrize("agent", AGENTS)
def test_no_daemon_denies_as_well(world, agent):
    word, reason = meaning(agent, send(world, agent, DENY))
    assert word == "deny" and reason.strip()


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "qwen", "windsurf", "generic"])
def test_a_hook_line_without_an_event_denies(world, agent):
    world.start()
    assert says(world, agent, DENY, named=False) == "deny"
    with frozen(world):
        assert says(world, agent, DENY, named=False, n=2) == "deny"


@pytest.mark.parametrize("agent", AGENTS)
def test_harmless_calls_are_answered_neutrally(world, agent):
    world.start()
    done = send(world, agent, FINE)
    assert done.returncode == 0 and meaning(agent, done)[0] in ("none", "allow"), (done.stdout, done.stderr)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_question_is_never_passed_over(world, agent):
    """Who cannot ask is denied; 'ask' where the agent ignores it (Codex, Cursor's preToolUse) would let it run."""
    world.start()
    allowed = {"claude": ("ask",), "gemini": ("ask", "deny"), "copilot": ("ask", "deny"), "qwen": ("ask", "deny"),
               "codex": ("deny",), "cursor": ("deny",), "windsurf": ("deny",), "opencode": ("ask", "deny"),
               "generic": ("ask", "deny")}[agent]
    done = send(world, agent, ASK)
    assert meaning(agent, done)[0] in allowed, (done.returncode, done.stdout, done.stderr)


def test_cursor_shell_question_is_not_passed_over(world):
    world.start()
    event, body = shell_before(ASK)
    assert meaning("cursor", world.hookc(event, body, "cursor"))[0] in ("ask", "deny")


def test_nobody_to_answer_turns_a_question_into_a_denial(world):
    """guard.md: where the agent says that nobody can answer, a question becomes a denial."""
    world.start()
    assert says(world, "codex", ASK, permission_mode="bypassPermissions") == "deny"
    assert says(world, "claude", ASK, permission_mode="dontAsk", n=2) == "deny"


def test_permission_request_is_denied_in_its_form(world):
    world.start()
    body = {"session_id": "s", "cwd": "/tmp", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
            "tool_input": {"command": DENY}}
    for agent in ("claude", "codex"):
        done = world.hookc("PermissionRequest", body, agent)
        said = json.loads(done.stdout) if done.stdout.strip() else {}
        choice = said.get("hookSpecificOutput", {}).get("decision", {})
        assert (done.returncode == 2 and done.stderr.strip()) or \
            (choice.get("behavior") == "deny" and choice.get("message")), (agent, done.stdout, done.stderr)


def denied_session(world):
    world.start()
    world.hookc("UserPromptSubmit", {"session_id": "den-1", "cwd": "/tmp", "prompt": "please try",
                                     "hook_event_name": "UserPromptSubmit"})
    send(world, "claude", DENY, session="den-1")
    send(world, "claude", FINE, session="den-1", n=2)
    world.hookc("PostToolUse", {"session_id": "den-1", "cwd": "/tmp", "hook_event_name": "PostToolUse",
                                "tool_name": "Bash", "tool_input": {"command": FINE}, "tool_use_id": "call_2",
                                "tool_response": {"stdout": "fine"}})


def test_show_json_says_denied_by_which_rule(world):
    denied_session(world)
    acts = world.json("show", "den-1", "--json")["batches"][0]["activities"]
    mine = next(a for a in acts if a.get("tool_use_id") == "call_1")
    assert mine["state"] == "denied" and mine["rule"] == "hookd.selftest" and mine["reason"]
    other = next(a for a in acts if a.get("tool_use_id") == "call_2")
    assert other["state"] == "done" and "rule" not in other


def test_show_text_says_denied(world):
    denied_session(world)
    text = world.hookd("show", "den-1").stdout.decode()
    assert "denied" in text.lower() and "hookd.selftest" in text


def test_tail_says_denied(world):
    denied_session(world)
    text = world.hookd("tail", "-n", 50).stdout.decode()
    assert "deni" in text.lower() and "hookd.selftest" in text
    rows = [json.loads(x) for x in world.hookd("tail", "--json", "-n", 50).stdout.splitlines()]
    mine = next(r for r in rows if r["event"] == "PreToolUse" and r.get("tool_use_id") == "call_1")
    assert mine["verdict"]["decision"] == "deny" and mine["verdict"]["rule"] == "hookd.selftest"


@pytest.mark.parametrize("form", ["md", "html"])
def test_export_says_denied(world, form):
    denied_session(world)
    text = world.hookd("export", "den-1", "--format", form).stdout.decode()
    assert "denied" in text.lower() and "hookd.selftest" in text


def test_export_jsonl_has_the_verdict(world):
    denied_session(world)
    rows = [json.loads(x) for x in world.hookd("export", "den-1", "--format", "jsonl").stdout.splitlines()]
    mine = next(r for r in rows if r["event"] == "PreToolUse" and r.get("tool_use_id") == "call_1")
    assert mine["verdict"]["decision"] == "deny" and mine["verdict"]["rule"] == "hookd.selftest"


def test_stats_count_denials(world):
    denied_session(world)
    stats = world.json("stats", "--json")
    assert stats["total"]["denied"] == 1 and stats["total"]["calls"] == 2 and stats["total"]["failed"] == 0
    assert [t["denied"] for t in stats["tools"] if t["tool"] == "Bash"] == [1]
    assert "denied" in world.hookd("stats").stdout.decode().lower()


def test_decisions_have_one_row_that_prevailed(world):
    denied_session(world)
    rows = [d for d in decisions(world) if d["decision"] == "deny"]
    assert len(rows) == 1 and rows[0]["prevailed"] and not rows[0]["observed"]
    assert rows[0]["session"] == "den-1" and rows[0]["tool_use_id"] == "call_1"
    assert "hookd.selftest" in world.hookd("decisions").stdout.decode()
    assert world.json("decisions", "--rule", "hookd.selftest", "--json")["decisions"]
    assert not world.json("decisions", "--decision", "ask", "--json")["decisions"]


def test_denial_of_a_frozen_daemon_is_visible_afterwards(world):
    world.start()
    with frozen(world):
        assert says(world, "claude", DENY, session="off-1") == "deny"
    from world import wait_for
    wait_for(lambda: decisions(world, session="off-1") if world.events() else None, what="the spooled denial")
    acts = [a for a in world.rpc("activities", limit=50)["activities"]]
    assert [a["state"] for a in acts] == ["denied"], acts
    assert world.json("stats", "--json")["total"]["denied"] == 1
    assert len(decisions(world)) == 1


def test_denied_and_ran_all_the_same_is_marked(world):
    denied_session(world)
    world.hookc("PostToolUse", {"session_id": "den-1", "cwd": "/tmp", "hook_event_name": "PostToolUse",
                                "tool_name": "Bash", "tool_input": {"command": DENY}, "tool_use_id": "call_1",
                                "tool_response": {"stdout": "oops"}})
    acts = world.json("show", "den-1", "--json")["batches"][0]["activities"]
    mine = next(a for a in acts if a.get("tool_use_id") == "call_1")
    assert mine["state"] == "done" and mine["decision"] == "deny" and mine["ran_us"] > 0
    assert [d for d in decisions(world) if d.get("ran_us")]
    rules = world.rpc("rule_counts")["rules"]
    assert [r["ran_anyway"] for r in rules if r["rule"] == "hookd.selftest"] == [1]


def test_late_frame_is_judged_and_recorded(world):
    world.start()
    event, body = call("claude", DENY, session="late")
    s = world.connect()
    s.sendall(hook(json.dumps(body).encode(), event=event.encode(), deadline_ms=1,
                   at_ms=int(time.time() * 1000) - 8000))
    kind, stored, code, out, err = read_frame(s)
    assert stored and (b'"deny"' in out or code == 2), (kind, code, out, err)
    assert [d["decision"] for d in decisions(world)] == ["deny"]


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agents_denial_is_in_decisions_and_show(world, agent):
    world.start()
    send(world, agent, DENY, session="vis-1")
    rows = decisions(world)
    assert [(r["agent"], r["rule"], r["session"]) for r in rows] == [(agent, "hookd.selftest", "vis-1")], rows
    acts = world.rpc("activities", limit=9)["activities"]
    assert [a["state"] for a in acts] == ["denied"], acts


@pytest.mark.parametrize("name", ["PRE_TOOL_USE", "pre-tool-use", "pretooluse"])
def test_event_names_compare_without_case_and_dashes(world, name):
    world.start()
    _, body = call("claude", DENY)
    body["hook_event_name"] = name
    assert meaning("claude", world.hookc(None, body))[0] == "deny"
    assert meaning("claude", world.hookc(name, {**body, "tool_use_id": "x"}))[0] == "deny"


def test_doctors_own_events_are_not_shown(world):
    world.start()
    send(world, "claude", FINE, session="real")
    world.hookd("doctor", ok=False)
    assert {e["session"] for e in world.events()} == {"real"}
    assert {s["id"] for s in world.json("sessions", "--all", "--json")["sessions"]} == {"real"}
