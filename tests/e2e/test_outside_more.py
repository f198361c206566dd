"""A second round, written after the first had been seen."""
import base64
import json
import pathlib
import subprocess
import time

import pytest

from outside import (AGENTS, ASK, DENY, FINE, call, configure, counting, decisions, frozen, meaning, pre, says, script,
                     send, shell_before)
from world import ROOT, hook, in_threads, payload, read_frame, tool, wait_for

STRONG = ("deny", "ask")
RESET = "git reset --hard HEAD"


# -- calls in odd envelopes ---------------------------------------------------------------------------

@pytest.mark.parametrize("wrap", ["payload", "input", "data", "list"])
def test_a_call_in_an_unknown_envelope_is_not_passed_over(world, wrap):
    """A decision event in which no call can be made out is not neutral when it plainly holds one."""
    world.start()
    inner = {"tool_name": "Bash", "tool_input": {"command": DENY}}
    body = payload("PreToolUse", **{wrap: inner}) if wrap != "list" else [payload("PreToolUse", **inner)]
    assert meaning("claude", world.hookc("PreToolUse", body))[0] in STRONG


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot", "qwen", "windsurf", "generic"])
def test_a_call_without_a_tool_name_is_judged(world, agent):
    world.start()
    event, body = call(agent, DENY)
    for name in ("tool_name", "toolName"):
        body.pop(name, None)
    assert meaning(agent, world.hookc(event, body, agent))[0] in STRONG


@pytest.mark.parametrize("agent", ["copilot", "cursor", "gemini", "qwen", "windsurf"])
def test_another_agents_words_under_this_label(world, agent):
    """Claude's payload through another label, as .claude/settings.json in Cursor and Copilot brings it."""
    world.start()
    event, body = call("claude", DENY)
    assert meaning(agent, world.hookc(event, body, agent))[0] == "deny"


def test_tool_response_events_are_never_blocked_by_the_guard(world):
    world.start()
    for agent, event in (("claude", "PostToolUse"), ("codex", "PostToolUse"), ("gemini", "AfterTool")):
        done = world.hookc(event, payload(event, tool_name="Bash", tool_use_id="x", tool_input={"command": DENY},
                                          tool_response="x"), agent)
        assert done.returncode == 0 and b"deny" not in done.stdout, agent


def test_copilots_permission_request(world):
    world.start()
    done = world.hookc("permissionRequest", {"hookName": "permissionRequest", "sessionId": "s", "cwd": "/tmp",
                                             "toolName": "bash", "toolInput": {"command": DENY}}, "copilot")
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    assert said.get("behavior") == "deny" or done.returncode == 2, done


# -- hooks that fail --------------------------------------------------------------------------------------

def hooks(world, groups, event="PreToolUse"):
    configure(world, {"hooks": {event: groups}})


DEAD = {"type": "command", "command": "/nonexistent/program", "on_failure": "deny"}


@pytest.mark.parametrize("group,command,word", [
    ({"matcher": "class:shell"}, FINE, "deny"), ({"matcher": "B.*h"}, FINE, "deny"), ({"matcher": "Write|Edit"}, FINE, "none"),
    ({}, FINE, "deny"), ({"matcher": ""}, FINE, "deny"), ({"matcher": "*"}, FINE, "deny")])
def test_offline_failure_follows_the_matcher(world, group, command, word):
    hooks(world, [{**group, "hooks": [DEAD]}])
    world.start()
    assert says(world, "claude", command, n=1) == word
    with frozen(world):
        assert says(world, "claude", command, n=2) == word


def test_offline_failure_follows_if(world):
    hooks(world, [{"hooks": [{**DEAD, "if": "Bash(git *)"}]}])
    world.start()
    for n, (line, word) in enumerate((("git status", "deny"), (FINE, "none"))):
        assert says(world, "claude", line, n=n) == word
        with frozen(world):
            assert says(world, "claude", line, n=n + 10) == word


@pytest.mark.parametrize("member", ["disabled", "observer", "async"])
def test_what_does_not_decide_does_not_deny(world, member):
    hooks(world, [{"hooks": [{**DEAD, member: True}]}])
    world.start()
    assert says(world, "claude", FINE) == "none"
    with frozen(world):
        assert says(world, "claude", FINE, n=2) == "none"


def test_removing_the_hook_by_hand_changes_nothing_for_the_session(world):
    """A session keeps the hooks it began with, and the daemon's trouble must not weaken them."""
    hooks(world, [{"hooks": [DEAD]}])
    world.start()
    assert says(world, "claude", FINE, n=1) == "deny"
    configure(world, {})
    assert says(world, "claude", FINE, n=2) == "deny"
    with frozen(world):
        assert says(world, "claude", FINE, n=3) == "deny"


def test_a_broken_file_keeps_its_last_good_text(world):
    hooks(world, [{"hooks": [DEAD]}])
    world.start()
    assert says(world, "claude", FINE, n=1) == "deny"
    configure(world, '{"hooks": {')
    assert says(world, "claude", FINE, n=2, session="new") == "deny"
    with frozen(world):
        assert says(world, "claude", FINE, n=3, session="newer") == "deny"


@pytest.mark.parametrize("text", ["{bad json", '{"hookSpecificOutput": 7}', '{"decision": 7}', "\\377\\376"])
def test_nonsense_from_a_hook_with_on_failure_deny(world, text):
    path = script(world, "n.sh", f"printf '{text}'")
    hooks(world, [{"hooks": [{"type": "command", "command": str(path), "on_failure": "deny"}]}])
    world.start()
    done = send(world, "claude", FINE)
    assert done.returncode in (0, 2)
    if text == "{bad json":
        assert meaning("claude", done)[0] == "deny"


def test_a_hook_with_a_flood_of_output(world):
    path = script(world, "f.sh", "head -c 3000000 /dev/zero | tr '\\0' 'a'; exit 2")
    hooks(world, [{"hooks": [{"type": "command", "command": str(path)}]}])
    world.start()
    assert says(world, "claude", FINE) == "deny"
    assert says(world, "claude", DENY, n=2) == "deny"


def test_the_strictest_hook_wins(world):
    groups = [{"hooks": [{"type": "command", "command": c} for c in (
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'",
        "echo no >&2; exit 2",
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\"}}'")]}]
    hooks(world, groups)
    world.start()
    assert says(world, "claude", FINE) == "deny"


def test_two_updated_inputs_one_of_which_is_denied(world):
    def line(command):
        return "echo '" + json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                                                            "updatedInput": {"command": command}}}) + "'"
    hooks(world, [{"sequential": True, "hooks": [{"type": "command", "command": line(DENY)},
                                                 {"type": "command", "command": line("echo fine")}]}])
    world.start()
    done = send(world, "claude", FINE)
    word = meaning("claude", done)[0]
    assert word in STRONG or b"hookd-selftest" not in done.stdout, done


def test_an_updated_input_of_a_file_tool_is_judged(world):
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                                                "updatedInput": {"file_path": "/etc/sudoers", "content": "x"}}})
    hooks(world, [{"hooks": [{"type": "command", "command": f"echo '{answer}'"}]}])
    world.start()
    assert pre(world, "Write", {"file_path": "/tmp/a", "content": "x"}) == "deny"


@pytest.mark.parametrize("value", ["a string", 7, [DENY], {"command": [DENY]}, {"cmd": DENY}, json.dumps({"command": DENY})])
def test_an_updated_input_in_an_odd_shape_is_judged_or_dropped(world, value):
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                                                "updatedInput": value}})
    hooks(world, [{"hooks": [{"type": "command", "command": f"cat <<'E'\n{answer}\nE"}]}])
    world.start()
    done = send(world, "claude", FINE)
    assert meaning("claude", done)[0] in STRONG or b"updatedInput" not in done.stdout, done


def test_a_permission_requests_updated_input_is_judged(world):
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {
        "behavior": "allow", "updatedInput": {"command": DENY}}}})
    configure(world, {"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": f"echo '{answer}'"}]}]}})
    world.start()
    done = world.hookc("PermissionRequest", payload("PermissionRequest", tool_name="Bash", tool_input={"command": FINE}))
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    choice = said.get("hookSpecificOutput", {}).get("decision", {})
    assert choice.get("behavior") != "allow" or "updatedInput" not in choice, done


@pytest.mark.parametrize("value", [True, "true", 1])
def test_stop_hook_active_in_odd_types_never_loops(world, value):
    counting(world, then="echo again >&2; exit 2", event="Stop")
    world.start()
    for n in range(2):
        done = world.hookc("Stop", payload("Stop", stop_hook_active=value, last_assistant_message=f"m{n}"))
    assert b"again" not in done.stdout + done.stderr


def test_subagent_stop_is_held_once(world):
    counting(world, then="echo again >&2; exit 2", event="SubagentStop")
    world.start()
    seen = []
    for active in (False, True):
        done = world.hookc("SubagentStop", payload("SubagentStop", agent_id="a1", agent_type="x", stop_hook_active=active,
                                                   last_assistant_message="m"))
        seen.append(b"again" in done.stdout + done.stderr)
    assert seen == [True, False]


# -- double fires ---------------------------------------------------------------------------------------

def test_double_fire_of_a_question_is_one_row(world):
    world.start()
    for agent, (event, body) in (("cursor", call("cursor", ASK)), ("cursor", shell_before(ASK)), ("claude", call("claude", ASK))):
        assert meaning(agent, world.hookc(event, body, agent))[0] in STRONG
    assert len(decisions(world)) == 1


def test_two_different_calls_at_once_are_two(world):
    ran = counting(world, then="sleep 0.3")
    world.start()
    in_threads(4, lambda i: send(world, "gemini", f"echo {i}", session="g"))
    assert ran() == 4


def test_write_told_by_cursor_and_by_its_claude_file(world):
    ran = counting(world)
    world.start()
    value = {"file_path": "/tmp/p/a.txt", "content": "x"}
    world.hookc("preToolUse", {"conversation_id": "s", "generation_id": "g", "hook_event_name": "preToolUse",
                               "workspace_roots": ["/tmp/p"], "cwd": "/tmp/p", "tool_name": "Write", "tool_use_id": "w1",
                               "tool_input": value}, "cursor")
    world.hookc("PreToolUse", {"session_id": "s", "cwd": "/tmp/p", "hook_event_name": "PreToolUse", "tool_name": "Write",
                               "tool_use_id": "w1", "tool_input": value}, "claude")
    assert ran() == 1


def test_codex_turn_by_hooks_and_notify_is_one_batch(world):
    world.start()
    world.hookc("UserPromptSubmit", {"session_id": "th", "turn_id": "t1", "cwd": "/tmp", "prompt": "build",
                                     "hook_event_name": "UserPromptSubmit"}, "codex")
    world.hookc("Stop", {"session_id": "th", "turn_id": "t1", "cwd": "/tmp", "hook_event_name": "Stop",
                         "stop_hook_active": False, "last_assistant_message": "built"}, "codex")
    told = {"type": "agent-turn-complete", "thread-id": "th", "turn-id": "t1", "cwd": "/tmp", "input-messages": ["build"],
            "last-assistant-message": "built"}
    for _ in range(2):
        subprocess.run([str(world.build / "hookc"), "codex", "notify", json.dumps(told)], env=world.env, timeout=20,
                       stdin=subprocess.DEVNULL, check=True)
    shown = world.json("show", "th", "--json")["batches"]
    assert [(b["prompt"], b["response"]) for b in shown] == [("build", "built")]


def test_session_start_told_twice_runs_hooks_once(world):
    ran = counting(world, event="SessionStart", then="echo context-of-mine")
    world.start()
    a = world.hookc("sessionStart", {"conversation_id": "c", "session_id": "c", "hook_event_name": "sessionStart",
                                     "workspace_roots": ["/tmp"], "is_background_agent": False}, "cursor")
    b = world.hookc("SessionStart", payload("SessionStart", "c"), "claude")
    assert ran() == 1, (a, b)


# -- purge, poison, secrets -----------------------------------------------------------------------------

def test_purged_bytes_are_gone_when_purge_says_so(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "zz-1", prompt="zucchini"))
    done = world.hookd("purge", "--session", "zz-1", "--yes")
    assert b"journal" in done.stdout
    assert not [p.name for p in world.contains(b"zucchini")]


def test_purge_by_key_and_by_prefix_of_an_imported_session(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "0123abcd-ef", prompt="x"))
    key = world.json("sessions", "--all", "--json")["sessions"][0]["key"]
    world.hookd("purge", "--session", key, "--yes")
    assert not world.json("sessions", "--all", "--json")["sessions"]


def test_private_in_a_transcript_is_not_imported(world):
    sample = (ROOT / "tests/golden/transcripts/claude.jsonl").read_text()
    path = world.home / ".claude/projects/-home-dev-proj/b67da4fc-8416-4f95-b8e9-8e91b8e6a62f.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(sample.replace('"Say hello"', '"Say <private>pelican</private> hello"'))
    world.start()
    world.hookd("import", path)
    assert world.json("sessions", "--all", "--json")["sessions"]
    assert not world.contains(b"pelican") and b"pelican" not in world.hookd("tail", "--json", "-n", 1000).stdout


def test_secret_in_codex_notify(world):
    world.start()
    token = "ghp_" + "Zq7Xw2Lp9Rt4Vb6Nm1Kc8Hd3Fg5Js0Ya2TeU"
    told = {"type": "agent-turn-complete", "thread-id": "th", "turn-id": "t1", "cwd": "/tmp", "input-messages": ["use " + token],
            "last-assistant-message": "<private>pelican</private>" + base64.b64encode(token.encode()).decode()}
    subprocess.run([str(world.build / "hookc"), "codex", "notify", json.dumps(told)], env=world.env, timeout=20,
                   stdin=subprocess.DEVNULL, check=True)
    assert world.events()
    for needle in (token.encode(), b"pelican", base64.b64encode(token.encode())):
        assert not world.contains(needle)


@pytest.mark.parametrize("value", [918273645.5463, -918273645111, 9.182736453e20])
def test_numbers_of_every_kind_as_a_password(world, value):
    world.start()
    world.hookc("PostToolUse", payload(tool_name="Http", tool_use_id="h", tool_input={"password": value}))
    assert "9182736" not in json.dumps(world.events()[0]["payload"]) and "9.18" not in json.dumps(world.events()[0]["payload"])


def test_a_number_as_password_in_a_json_body_of_a_command(world):
    world.start()
    line = "curl -d '{\"user\": \"ada\", \"password\": 4815162342108}' http://localhost/login"
    world.hookc("PostToolUse", payload(tool_name="Bash", tool_use_id="h", tool_input={"command": line}))
    assert not world.contains(b"4815162342108")


def test_html_export_escapes_what_was_said(world):
    world.start()
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", "x-1", prompt="<script>alert(1)</script>"))
    pre(world, "Bash", {"command": DENY + " '<img src=x onerror=y>'"}, session="x-1")
    text = world.hookd("export", "x-1", "--format", "html").stdout.decode()
    assert "<script" not in text.lower() and "<img" not in text.lower() and "denied" in text.lower()


def test_frozen_daemon_is_answered_in_time(world):
    """250 ms for what is captured, 500 ms where a rule decides; three times that on a shared machine."""
    world.start()
    with frozen(world):
        t = time.monotonic()
        world.hookc("PostToolUse", tool(1))
        a = time.monotonic() - t
        t = time.monotonic()
        assert says(world, "claude", DENY) == "deny"
        b = time.monotonic() - t
    assert a < 0.75 and b < 1.5, (a, b)


def test_the_directory_of_the_hook_line_wins_over_the_environment(world):
    """decisions 14: a project could set the variable and bypass the guard's options."""
    world.start()
    other = world.top / "other"
    other.mkdir(mode=0o700)
    (other / "config.json").write_text(json.dumps({"guard": {"mode": "observe"}}))
    event, body = call("claude", RESET)
    done = world.hookc(event, body, env={"HOOKD_DIR": str(other)}, args=("--dir", str(world.dir)))
    assert meaning("claude", done)[0] == "deny"
    assert decisions(world)


def test_config_set_of_an_unknown_rule_changes_nothing_or_says_how(world):
    """An error leaves the file as it was, and later switches are not failures for it."""
    world.start()
    done = world.hookd("config", "set", "guard.disable", "no.such-rule", ok=False)
    assert done.returncode == 1
    assert "no.such-rule" not in ((world.dir / "config.json").read_text() if (world.dir / "config.json").exists() else "")


def test_two_rules_by_config_set_with_a_comma(world):
    world.start()
    done = world.hookd("config", "set", "guard.disable", "git.reset-hard,git.clean", ok=False)
    assert done.returncode == 0 or b"space" in done.stderr, "it does not say what would be right: " + done.stderr.decode()


def test_hand_edit_and_frozen_daemon(world):
    configure(world, {"guard": {"mode": "enforce"}})
    world.start()
    assert says(world, "claude", RESET, n=1) == "deny"
    configure(world, {"guard": {"mode": "observe"}})
    with frozen(world):
        assert says(world, "claude", RESET, n=2) == "deny"


def test_json_surfaces_say_that_the_file_differs(world):
    world.start()
    configure(world, {"guard": {"disable": ["git.reset-hard"]}})
    text = json.dumps(world.status()) + json.dumps(world.json("rules", "--json"))
    assert "reload" in text or "differ" in text


def test_rules_text_shows_off_and_observe(world):
    world.start()
    world.hookd("rules", "disable", "git.reset-hard")
    world.hookd("rules", "observe", "git.clean")
    lines = {x.split()[0]: x.split()[1] for x in world.hookd("rules").stdout.decode().splitlines() if "." in x.split()[0]}
    assert lines["git.reset-hard"] in ("off", "disable", "disabled") and lines["git.clean"] == "observe"


def test_geminis_three_session_ends_run_hooks_once(world):
    """decisions 4: keys that name only the session hold per window, outside it for 10 s; /quit fires three times."""
    ran = counting(world, event="SessionEnd")
    world.start()
    for _ in range(3):
        world.hookc("SessionEnd", {"session_id": "g", "cwd": "/tmp", "hook_event_name": "SessionEnd", "reason": "exit"},
                    "gemini")
    assert ran() == 1


@pytest.mark.parametrize("agent", ["codex", "gemini", "cursor", "windsurf"])
def test_a_question_that_was_told_as_a_denial_is_shown_as_denied(world, agent):
    """protocol.md: prevailed is what the agent was told; the denied call is shown as denied."""
    world.start()
    assert says(world, agent, ASK) == "deny"
    assert [(d["decision"], d["prevailed"]) for d in decisions(world)][0] in (("deny", True), ("ask", False))
    assert world.rpc("activities", limit=5)["activities"][0]["state"] == "denied"
    assert world.json("stats", "--json")["total"]["denied"] == 1
