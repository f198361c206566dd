"""Code Agent's own hook files and events, switching single hooks off, variables in headers, variables of a request."""
import json
import os
import socket

import pytest

from test_hooks import Server, answer, bash, configure, one, post, project, script, specific, world  # noqa: F401
from test_trust import trust
from world import wait_for

FILE = ".code-agent/hooks/hooks.json"
EVENTS = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "Setup",
          "SessionStart", "SessionEnd", "Notification", "SubagentStart", "PermissionRequest", "PostExecution", "TaskCreated",
          "TaskCompleted", "PermissionDenied", "PostCompact", "StopFailure", "RoleWake", "VoiceCallStarted",
          "VoiceCallPaused", "VoiceCallEnded"]


def put(folder, hooks):
    path = folder / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    for p in (path.parent.parent, path.parent):
        p.chmod(0o755)
    path.write_text(json.dumps(hooks))
    path.chmod(0o644)
    return path


def ids(world, **more):
    return {h["name"]: h for h in world.rpc("hooks", **more)["hooks"]}


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_users_file_is_read_in_its_own_dialect(world, wrapped):
    no = script(world.home / "no.sh", "#!/bin/sh\necho 'the script says no'\nexit 1\n")
    hooks = one("PreToolUse", no, "Bash", timeout=5000, name="no")
    put(world.home, {"hooks": hooks} if wrapped else hooks)
    # Exit code 1 refuses here, stdout is the reason, and times are milliseconds.
    said = specific(world.hookc("PreToolUse", bash()))
    assert (said["permissionDecision"], said["permissionDecisionReason"]) == ("deny", "the script says no")
    hook = ids(world)["no"]
    assert (hook["exit_dialect"], hook["timeout_ms"], hook["scope"]) == ("code-agent", 5000, "user")
    # For every agent: none of them reads this file itself.
    assert b"deny" in world.hookc("PreToolUse", bash(session="s2"), agent="codex").stdout


def test_a_projects_file_is_data_until_it_is_trusted(world, project):
    mark = world.top / "ran"
    script(project / "check.sh", f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    put(project, one("PreToolUse", "./check.sh", "Bash", name="check"))
    assert answer(world.hookc("PreToolUse", bash(cwd=str(project)))) == {} and not mark.exists()
    assert ids(world, cwd=str(project))["check"]["state"] == "waits for: hookd trust"
    shown = trust(world, project)
    assert FILE in shown and "check.sh" in shown
    said = specific(world.hookc("PreToolUse", bash(cwd=str(project), session="s2")))
    assert said["permissionDecision"] == "deny" and mark.exists()
    # Another byte, and it is data again.
    put(project, one("PreToolUse", "./check.sh", "Bash", name="check", timeout=1000))
    mark.unlink()
    assert answer(world.hookc("PreToolUse", bash(cwd=str(project), session="s3"))) == {} and not mark.exists()


def test_a_session_keeps_its_hooks_over_a_restart(world):
    put(world.home, one("PreToolUse", script(world.home / "no.sh", "#!/bin/sh\nexit 1\n"), "Bash"))
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecision"] == "deny"
    (world.home / FILE).unlink()
    world.stop()
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecision"] == "deny"
    assert answer(world.hookc("PreToolUse", bash(session="s2"))) == {}


def test_a_misspelt_event_is_named_with_its_place(world):
    path = put(world.home, {})
    path.write_text('{\n  "PreToolUze": []\n}')
    done = world.hookd("hooks", "validate", path, ok=False)
    assert done.returncode == 1 and f"{path}:2:3: ".encode() in done.stderr and b"PreToolUse" in done.stderr


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_known(world, event):
    out = world.top / "seen"
    configure(world, one(event, script(world.top / "note.sh", f'#!/bin/sh\nprintf %s "$HOOK_EVENT" > {out}\n'), name="n"))
    world.start()
    got = world.rpc("trigger", type=event, sessionId="s", payload={"toolName": "Bash", "input": {"command": "ls"}})
    assert got["allowed"] is True and [r["success"] for r in got["results"]] == [True]
    assert out.read_text() == event


# -- switches --------------------------------------------------------------------------------------

def test_one_hook_is_switched_off_and_on_again(world):
    no = script(world.top / "no.sh", "#!/bin/sh\necho no >&2\nexit 2\n")
    text = ('{ // mine\n  "hooks": { "PreToolUse": [ { "matcher": "Bash", "hooks": [\n    {"type": "command", "name": "no", '
            f'"command": "{no}"}},\n    {{"type": "command", "name": "other", "command": "true"}}\n  ] }} ] }}\n}}\n')
    (world.dir / "config.json").write_text(text)
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecision"] == "deny"
    hook = ids(world)["no"]["hookId"]
    out = world.hookd("hooks", "disable", hook).stdout
    assert b"disabled" in out and b"reload" in out
    assert (ids(world)["no"]["state"], ids(world)["other"]["state"]) == ("disabled", "runs")
    # The session that began before keeps it, until a person says otherwise.
    assert specific(world.hookc("PreToolUse", bash()))["permissionDecision"] == "deny"
    world.hookd("hooks", "reload")
    assert answer(world.hookc("PreToolUse", bash())) == {}
    assert b"already" in world.hookd("hooks", "disable", hook, ok=False).stderr
    world.hookd("hooks", "enable", hook)
    assert (world.dir / "config.json").read_text() == text
    assert specific(world.hookc("PreToolUse", bash(session="s2")))["permissionDecision"] == "deny"


def test_switching_needs_the_owner(world):
    configure(world, one("PreToolUse", "true", name="x"))
    world.start()
    hook = ids(world)["x"]["hookId"]
    done = world.hookd("hooks", "disable", hook, ok=False, owner=False)
    assert done.returncode == 1 and ids(world)["x"]["state"] == "runs"


def test_a_hook_of_code_agent_is_switched_in_its_own_file(world):
    path = put(world.home, one("Stop", "true", name="x"))
    before = path.read_bytes()
    world.start()
    hook = ids(world)["x"]["hookId"]
    world.hookd("hooks", "disable", hook)
    assert json.loads(path.read_bytes())["Stop"][0]["hooks"][0]["disabled"] is True
    world.hookd("hooks", "enable", hook)
    assert path.read_bytes() == before
    assert b"there is no hook" in world.hookd("hooks", "disable", "0123456789ab", ok=False).stderr


# -- headers ---------------------------------------------------------------------------------------

def test_headers_name_variables_that_are_allowed(world):
    with Server() as server:
        configure(world, post(server.url, headers={"X-Team": "a $AGENT_TEAM ${AGENT_TEAM}!", "X-Home": "[$HOME]", "X-Price": "$5 $"},
                              allowedEnvVars=["AGENT_TEAM"]))
        env = {"AGENT_TEAM": "blue\r\nX-Evil: 1"}
        world.hookc("PreToolUse", bash(), env=env)
        [(_, headers, _)] = server.seen
    assert headers["X-Team"] == "a blueX-Evil: 1 blueX-Evil: 1!" and "X-Evil" not in headers
    assert headers["X-Home"] == "[]" and headers["X-Price"] == "$5 $"
    hints = world.hookd("hooks", "validate").stderr
    assert b"$HOME is not in allowedEnvVars" in hints and b"AGENT_TEAM is not" not in hints


# -- variables of a request ------------------------------------------------------------------------

def ask(world, request):
    with world.connect() as s:
        s.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(s.makefile().readline())


@pytest.mark.parametrize("older", [False, True])
def test_variables_come_with_the_request_and_end_with_it(world, older):
    out = world.top / "seen"
    names = ["AGENT_ID", "AGENT_TOKEN", "SHELL"]
    configure(world, one("Notification", script(world.top / "note.sh", f'#!/bin/sh\necho "[$AGENT_ID|$AGENT_TOKEN|$SHELL]" >> {out}\n'),
                         env=names))
    world.start()

    def call(session, env):
        params = {"session_id": session, "message": "m"}
        request = ({"cmd": "hooks.notification", "args": params} if older else
                   {"jsonrpc": "2.0", "id": 1, "method": "hooks.notification", "params": params})
        if env is not None:
            request["env"] = env
        assert ask(world, request)["result"]["ok"] is True

    call("a", {"AGENT_ID": "alpha", "AGENT_TOKEN": "never", "SHELL": "/bin/evil", "X": 1, "AGENT_N": 5})
    call("b", {"AGENT_ID": "beta"})
    call("c", None)
    call("d", [1, 2])
    wait_for(lambda: out.exists() and len(out.read_text().splitlines()) == 4, what="four runs")
    assert sorted(out.read_text().splitlines()) == sorted(["[alpha||]", "[beta||]", "[||]", "[||]"])


def test_hookd_rpc_sends_its_own_along(world):
    out = world.top / "seen"
    configure(world, one("Notification", script(world.top / "note.sh", f'#!/bin/sh\nprintf %s "$AGENT_ID" > {out}\n'), env=["AGENT_ID"]))
    world.start()
    world.hookd("rpc", "hooks.notification", '{"session_id": "s", "message": "m"}', env={"AGENT_ID": "from-cli"})
    wait_for(lambda: out.exists() and out.read_text() == "from-cli", what="the hook")


def test_the_directory_may_be_a_variable(world):
    world.start()
    reply = ask(world, {"id": 1, "method": "hooks.stop", "params": {"sessionId": "s"}, "env": {"CWD": "/usr"}})
    assert reply["result"]["ok"] is True
    assert world.rpc("sessions")["sessions"][0]["cwd"] == "/usr"
