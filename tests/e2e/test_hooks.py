"""The user's own hooks through the real path: hookc, daemon, real scripts, the agent's answer."""
import json
import os
import signal
import time

import pytest

from world import alive, payload, wait_for

HOME_CLAUDE = ".claude/settings.json"


def script(path, text, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def configure(world, hooks, **more):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text(json.dumps({"hooks": hooks, **more}))


def one(event, command, matcher=None, **more):
    group = {"hooks": [{"type": "command", "command": str(command), **more}]}
    if matcher is not None:
        group["matcher"] = matcher
    return {event: [group]}


def bash(command="ls", event="PreToolUse", session="s1", **more):
    return payload(event, session, tool_name="Bash", tool_input={"command": command}, tool_use_id="t1", **more)


def answer(done):
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout else {}


def specific(done):
    return answer(done).get("hookSpecificOutput", {})


@pytest.fixture
def project(world):
    path = world.top / "proj"
    path.mkdir(mode=0o755)
    (path / ".git").mkdir()
    return path


# -- decisions -------------------------------------------------------------------------------------

def test_exit_2_denies_with_stderr(world):
    hook = script(world.top / "no.sh", "#!/bin/sh\ncat >/dev/null\necho not this one >&2\nexit 2\n")
    configure(world, one("PreToolUse", hook, "Bash", name="no"))
    got = specific(world.hookc("PreToolUse", bash("rm x")))
    assert got["permissionDecision"] == "deny"
    assert got["permissionDecisionReason"] == "not this one"
    assert answer(world.hookc("PreToolUse", payload("PreToolUse", tool_name="Read", tool_input={}))) == {}
