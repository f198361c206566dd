"""What the outsider's tests of efforts, the fleet, sinks and reminders share."""
import inspect
import json
import subprocess
import traceback

import pytest

from efforts import Agent
from receiver import Receiver
from world import World, wait_for

AGENTS = ["codex", "gemini", "qwen", "copilot"]

# What each of the fifteen hooks brings, by its operation.
HOOKS = {
    "sessionStart": ("SessionStart", {"source": "startup"}),
    "sessionEnd": ("SessionEnd", {"reason": "other"}),
    "preCompact": ("PreCompact", {"trigger": "manual", "custom_instructions": ""}),
    "preToolUse": ("PreToolUse", {"tool_name": "Read", "tool_input": {"file_path": "a.c"}, "tool_use_id": "u1"}),
    "postToolUse": ("PostToolUse", {"tool_name": "Read", "tool_input": {"file_path": "a.c"}, "tool_use_id": "u1", "tool_response": {"ok": 1}}),
    "postToolUseFailure": ("PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "u2", "error": "no"}),
    "stop": ("Stop", {"stop_hook_active": False, "last_assistant_message": "all is well"}),
    "userPrompt": ("UserPromptSubmit", {"prompt": "go on"}),
    "notification": ("Notification", {"message": "look", "notification_type": "permission_prompt", "title": "T"}),
    "permissionRequest": ("PermissionRequest", {"tool_name": "Bash", "tool_input": {"command": "ls"}, "permission_suggestions": []}),
    "teammateIdle": ("TeammateIdle", {"teammate_name": "bo", "team_name": "crew"}),
    "taskCompleted": ("TaskCompleted", {"task_id": "7", "task_subject": "the parser", "task_description": "all of it"}),
    "subagentStart": ("SubagentStart", {"agent_id": "sub1", "agent_type": "general-purpose"}),
    "subagentStop": ("SubagentStop", {"stop_hook_active": False, "agent_id": "sub1", "agent_type": "general-purpose",
                                      "agent_transcript_path": "/nowhere", "last_assistant_message": "found it"}),
    "configChange": ("ConfigChange", {"source": "project_settings", "file_path": "x"}),
}


def soon(condition, what):
    return wait_for(condition, 8, what)


def project(world, name="proj"):
    place = world.top / name
    place.mkdir()
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    return place


@pytest.fixture
def here(world):
    world.start()
    return project(world)


def each(names, rows):
    """One case of many rows: each has a world of its own, and all that fail are told of."""
    names = names.split(",")

    def of_all_rows(test):
        wanted = inspect.signature(test).parameters

        def test_all():
            wrong = []
            for row in rows:
                given = dict(zip(names, row if len(names) > 1 else (row,)))
                if failed := in_a_world(test, wanted, given):
                    wrong.append(f"{given!r:.300}: {failed}")
            assert not wrong, "\n".join([f"{len(wrong)} of {len(rows)} rows"] + wrong)

        test_all.__name__, test_all.__doc__ = test.__name__, test.__doc__
        return test_all

    return of_all_rows


def in_a_world(test, wanted, given):
    """What went wrong, or None."""
    world, receiver = World(), Receiver() if "receiver" in wanted else None
    try:
        given = {"world": world, **({"receiver": receiver} if receiver else {}), **given}
        if "here" in wanted:
            world.start()
            given["here"] = project(world)
        test(**given)
    except Exception as e:  # noqa: the next rows are to be tried as well
        line = [s.lineno for s in traceback.extract_tb(e.__traceback__) if s.filename == inspect.getsourcefile(test)][-1]
        return f"{type(e).__name__} in line {line}: {str(e)[:700]}"
    finally:
        world.close()
        if receiver:
            receiver.close()


def refused(world, *args, **kw):
    """What a command says that must fail: one line, lower case, and never exit code 2."""
    done = world.hookd(*args, ok=False, **kw)
    said = done.stderr.decode()
    assert done.returncode in (1, 64), (args, done)
    assert said.startswith("hookd: ") and len(said.strip().splitlines()) == 1 and len(said) < 2000, said
    assert said[len("hookd: ")].islower() or not said[len("hookd: ")].isalpha(), said
    return said


def alive_and_well(world, cwd):
    """An agent is served, and so is whoever asks."""
    agent = Agent(world, cwd)
    agent.start()
    assert agent.bash("ls") is None
    agent.end()
    assert world.rpc("hello")


def ask(world, op, cwd, session="r1", env=None, camel=False, **more):
    """hooks.OP over the socket, with AGENT_ID and the like beside the parameters."""
    event, fields = HOOKS[op]
    params = {"session_id": session, "hook_event_name": event, "cwd": str(cwd), "transcript_path": "/nowhere/t.jsonl",
              "permission_mode": "default", **fields, **more}
    if camel:
        params = {camelled(k): v for k, v in params.items()}
    return call(world, "hooks." + op, params, env)["result"]


def call(world, method, params, env=None, token=None):
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    if env:
        request["env"] = env
    if token:
        request["token"] = token
    with world.connect() as s:
        s.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(s.makefile("rb").readline())


def camelled(word):
    first, *rest = word.split("_")
    return first + "".join(w.capitalize() for w in rest)


def fleet(world, *args):
    return world.json("fleet", "--json", *args)["agents"]


def of(world, session, *args):
    return next((a for a in fleet(world, *args) if a["session"] == session), None)


def status_of(world, session, *args):
    return (of(world, session, *args) or {}).get("status")


def configure(world, **members):
    (world.dir / "config.json").write_text(json.dumps(members))
    (world.dir / "config.json").chmod(0o600)


def secret(world, name="ci.secret", word="very-private-word"):
    file = world.dir / name
    file.write_text(word)
    file.chmod(0o600)
    return str(file)


SCRIPT = r"""
import json, os, signal, subprocess, sys, time
HOOKC, CWD, OUT, PLAN = sys.argv[1:5]
def say(event, **more):
    p = {"session_id": f"w{run}", "cwd": CWD, "hook_event_name": event, "transcript_path": "/nowhere", **more}
    return subprocess.run([HOOKC, "claude", event], input=json.dumps(p).encode(), capture_output=True).stdout.decode()
run = sum(1 for l in open(OUT) if l.startswith("RUN")) if os.path.exists(OUT) else 0
told = say("SessionStart", source="startup")
with open(OUT, "a") as f:
    f.write("RUN " + json.dumps({"told": told, "argv": sys.argv[5:], "id": os.environ.get("AGENT_ID")}) + "\n")
steps = PLAN.split(";")
for step in steps[min(run, len(steps) - 1)].split(","):
    word, _, n = step.partition(":")
    if word == "compact":
        say("UserPromptSubmit", prompt="go on")
        say("PreCompact", trigger=n, custom_instructions=None)
        time.sleep(6)
        open(OUT, "a").write("SURVIVED\n")
    elif word == "limit":
        say("StopFailure", error="rate_limit", error_details="429")
        time.sleep(1)
    elif word == "leave":
        say("SessionEnd", reason="prompt_input_exit")
    elif word == "exit":
        sys.exit(int(n))
    elif word == "kill":
        os.kill(os.getpid(), int(n))
"""
