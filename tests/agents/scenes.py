"""Scripted sessions that more than one test plays, and what must have been seen of them."""

import collections
import json

from model import say, use

PROMPT = "Please prepare the greeting: naïve “quotes”, a tab\tand a back\\slash."
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
          "Stop", "SessionEnd")

# What a person's settings file may look like: own hooks, odd blanks, no newline at the end. The
# placeholder is a command that records its input.
FOREIGN_SETTINGS = (
    '{ "permissions" : {"allow":["Bash","Write" , "Read","Edit", "Agent"]},\n'
    '\n'
    '\t"env":{ "GREETING":"gr\\u00fc\\u00df dich – 你好" },\n'
    '      "hooks"  : {\n'
    '  "PreToolUse":[ {"matcher":"Bash",\n'
    '"hooks":[{"type":"command" ,"command":"@RECORD@","timeout":10}]}\n'
    '   ],\n'
    '    "Stop": [{"hooks": [{"type": "command", "command": "@RECORD@"}]}]   },\n'
    '  "cleanupPeriodDays":   99 , "includeCoAuthoredBy" : false}')


def recorder(rig, name="record"):
    """A hook command that keeps each input in a file of its own; returns (command, reader)."""
    folder = rig.root / name
    folder.mkdir(exist_ok=True)
    script = rig.root / (name + ".sh")
    script.write_text(f'#!/bin/sh\numask 077\nf={folder}/$(date +%s%N)-$$\ncat >"$f.part"\n'
                      'mv "$f.part" "$f"\n')
    script.chmod(0o700)

    def read():
        return [json.loads(f.read_text()) for f in sorted(folder.iterdir()) if f.suffix != ".part"]

    return str(script), read


def every_event(command):
    """Settings with one hook command on each event of a whole session."""
    hook = {"hooks": [{"type": "command", "command": command, "timeout": 20}]}
    return json.dumps({"permissions": {"allow": ["Bash", "Write", "Read", "Edit", "Agent"]},
                       "hooks": {event: [hook] for event in EVENTS}}, indent=2)


def work(project, then=None):
    """Bash, Write, Read, a Bash that fails, text. `then` maps a step's number to a callable."""
    greeting = str(project / "greeting.txt")
    steps = [
        say("I look first.", use("Bash", "toolu_work_1", command="echo out-of-bash; pwd")),
        say("", use("Write", "toolu_work_2", file_path=greeting, content="hello\n")),
        say("", use("Read", "toolu_work_3", file_path=greeting)),
        say("One fails.", use("Bash", "toolu_work_4", command="echo to-stderr >&2; exit 3")),
        say("The greeting is ready."),
    ]
    for number, act in (then or {}).items():
        steps[number]["then"] = act
    return steps


def check_work(payloads, project, prompt=PROMPT):
    """Asserts that the payloads are those of one session of work(): each once, nothing mixed up.
    Returns the session's id."""
    by = collections.defaultdict(list)
    for p in payloads:
        by[p["hook_event_name"]].append(p)
    tools = {"toolu_work_1": "Bash", "toolu_work_2": "Write", "toolu_work_3": "Read",
             "toolu_work_4": "Bash"}

    def uses(event):
        return sorted((p["tool_use_id"], p["tool_name"]) for p in by[event])

    counts = {event: len(by[event]) for event in EVENTS}
    assert counts == {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 4, "PostToolUse": 3,
                      "PostToolUseFailure": 1, "Stop": 1, "SessionEnd": 1}
    assert uses("PreToolUse") == sorted(tools.items())
    assert uses("PostToolUse") == sorted(tools.items())[:3]
    assert uses("PostToolUseFailure") == [("toolu_work_4", "Bash")]

    sessions = {p["session_id"] for event in EVENTS for p in by[event]}
    assert len(sessions) == 1, sessions
    assert {p["cwd"] for event in EVENTS for p in by[event]} == {str(project)}
    assert by["SessionStart"][0]["source"] == "startup"
    assert by["UserPromptSubmit"][0]["prompt"] == prompt
    assert by["Stop"][0]["last_assistant_message"] == "The greeting is ready."
    pre = {p["tool_use_id"]: p["tool_input"] for p in by["PreToolUse"]}
    assert pre["toolu_work_1"]["command"] == "echo out-of-bash; pwd"
    assert pre["toolu_work_2"]["content"] == "hello\n"
    post = {p["tool_use_id"]: p["tool_response"] for p in by["PostToolUse"]}
    assert "out-of-bash" in post["toolu_work_1"]["stdout"]
    assert "to-stderr" in by["PostToolUseFailure"][0]["error"]
    return sessions.pop()
