"""No command prints a character that drives a terminal or turns the direction of text, whoever wrote it.

The commands are taken from hookd's own list: one that is new must be given arguments here before the test passes."""
import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from test_views import Agent
from world import HANG, World

# What terminals and readers are fooled with; each once, so that what is left of it can be named.
TRICKS = ["\x1b[2J", "\x1b]0;title\x07", "\x1b[31m", "\x1bP+q\x1b\\", "\x9b6n", "\x9d8;;http://x\x9c", "\b\b\b", "\x0b\x0c", "\x7f",
          "\x00", "\x0e", "\u061c", "\u200e\u200f", "\u2028\u2029", "\u202a\u202b\u202c\u202d\u202e", "\u2066\u2067\u2068\u2069",
          "\u206a\u206f", "\ufff9\ufffa\ufffb", "\U000e0041\U000e007f", "\r\x1b[K", "\x85"]
HOSTILE = "evil" + "|".join(TRICKS) + "end"
NAME = HOSTILE.replace("\x00", "").replace("/", "")  # what a file may be called
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]")
ARGUMENT = NAME[:60]

# What each command is run with; {session} and {plan} are ids that were captured.
READERS = {
    "status": [[], ["--json"]],
    "model": [[], ["--json"], ["test"], ["key", "--dry-run"], [ARGUMENT]],
    "doctor": [[], ["--json"]],
    "sessions": [[], ["--json"], ["--all"], ["--project", ARGUMENT], ["--agent", ARGUMENT], ["--since", ARGUMENT]],
    "show": [["1"], ["1", "--full"], ["1", "--json"], [ARGUMENT], ["evil"]],
    "tail": [[], ["--json"], ["--session", ARGUMENT], ["-n", ARGUMENT]],
    "search": [["evil"], ["evil", "--json"], [ARGUMENT], ["evil", "--in", ARGUMENT], ["end", "--in", "prompts,answers,commands,plans"]],
    "index": [["{root}", "--no-vectors"], ["status", "{root}"], ["status", "{root}", "--json"], ["status", ARGUMENT], [ARGUMENT]],
    "code": [["evil", "--project", "{root}"], ["evil", "--project", "{root}", "--json"], [ARGUMENT], ["evil", "--project", ARGUMENT]],
    "symbols": [["evil", "--project", "{root}"], ["evil", "--project", "{root}", "--json"], [ARGUMENT]],
    "map": [["--project", "{root}"], ["--project", "{root}", "--json"], [ARGUMENT]],
    "timeline": [[], ["--json"], [ARGUMENT], ["-n", ARGUMENT]],
    "get": [[ARGUMENT], ["prompt:4", "--json"], ["evil"]],
    "related": [["1"], ["1", "--json"], [ARGUMENT], ["1", "--parent", ARGUMENT], ["1", "--accept", "--dry-run"]],
    "effort": [["list"], ["list", "--json"], ["show"], ["show", "--json"], ["show", ARGUMENT], ["start", ARGUMENT], ["phase", ARGUMENT],
               ["log", NAME], ["gate"], ["gate", ARGUMENT, "on"], ["metadata", ARGUMENT], ["checklist", ARGUMENT], ["skill", "evil"],
               ["skill", ARGUMENT], ["resume", "--agent", ARGUMENT], ["resume"], [ARGUMENT]],
    "fleet": [[], ["--all"], ["--json"], ["focus", ARGUMENT], ["checked"], ["listeners"], ["listeners", "--json"], ["drop", ARGUMENT],
              ["--stuck", ARGUMENT], [ARGUMENT]],
    "queue": [[], ["--all"], ["--json"], ["add", NAME, "--role", ARGUMENT], ["add", NAME], ["--all"], ["approve", ARGUMENT],
              ["claim", "--role", ARGUMENT, "--as", "x"], ["done", "1", NAME, "--as", ARGUMENT], ["release", ARGUMENT], ["drop", ARGUMENT],
              ["next", "--timeout", ARGUMENT], [ARGUMENT]],
    "wait": [["--agent", ARGUMENT, "--timeout", "1"], ["--session", ARGUMENT, "--timeout", "1"], ["--for", ARGUMENT],
             ["--agent", "x", "--notify", NAME, "--to", "y"], ["--agent", "x", "--notify", NAME], [ARGUMENT]],
    "watch": [["--max-restarts", ARGUMENT, "--", "true"], ["--", f"/nowhere/{ARGUMENT}"]],
    "task": [["list"], ["list", "--json"], ["show"], ["show", "--json"], ["show", ARGUMENT], ["change", "--title", NAME], [ARGUMENT]],
    "plans": [[], ["--json"], ["{plan}"], ["{plan}", "--json"], [ARGUMENT]],
    "remember": [[NAME, "--dry-run"], [ARGUMENT]],
    "memories": [[], ["--json"], [ARGUMENT], ["--type", ARGUMENT]],
    "memory": [["show", "evil"], ["show", ARGUMENT], ["import", ARGUMENT], [ARGUMENT, ARGUMENT], ["merge", ARGUMENT, ARGUMENT],
               ["forget", ARGUMENT], ["forget", "--match", "e", "--dry-run"], ["forget", "--type", ARGUMENT]],
    "review": [[], ["--json"], [ARGUMENT], ["approve", ARGUMENT]],
    "outbox": [[], ["--json"], ["list", "--sink", ARGUMENT], ["--state", ARGUMENT], ["--type", ARGUMENT], ["retry", ARGUMENT],
               ["retry", "--sink", ARGUMENT], ["drop", ARGUMENT], ["drop", "--before", ARGUMENT], [ARGUMENT]],
    "sinks": [[], ["--json"], ["test", ARGUMENT], [ARGUMENT]],
    "jobs": [[], ["--json"], ["--state", ARGUMENT], ["--kind", ARGUMENT], ["retry", ARGUMENT], [ARGUMENT]],
    "why": [[], ["--json"], [ARGUMENT], ["-n", ARGUMENT]],
    "preview": [["--prompt", "evil"], ["--event", "SessionStart"], ["--json"], ["--event", ARGUMENT]],
    "context": [[], ["--json"], [ARGUMENT], ["off", "--session", ARGUMENT], ["off", "-p", ARGUMENT]],
    "recall": [["evil"], ["evil", "--json"], [ARGUMENT], ["--batch"]],
    "usage": [[], ["--json"], ["model"], ["project"], ["session"], ["agent"], ["statusline"], [ARGUMENT]],
    "stats": [[], ["--json"], ["--project", ARGUMENT]],
    "import": [["--dry-run"], [ARGUMENT]],
    "transcript": [["{transcript}"], ["{transcript}", "--last"], ["{transcript}", "--last", "--json"], [ARGUMENT]],
    "export": [["1"], ["1", "--format", "html"], ["1", "--format", "jsonl"], [ARGUMENT], ["1", "--format", ARGUMENT]],
    "decisions": [[], ["--json"], ["--rule", ARGUMENT], ["--decision", ARGUMENT]],
    "project": [["list"], ["list", "--json"], ["rename", "1", NAME], ["list"], ["rename", ARGUMENT, "x"], ["merge", ARGUMENT, "1"],
                [ARGUMENT]],
    "logs": [[], ["-n", "1000"], ["-n", ARGUMENT]],
    "config": [[], ["show"], ["show", "--origin"], ["show", "--json"], ["get", ARGUMENT], ["set", ARGUMENT, ARGUMENT],
               ["set", "--dry-run", "log.level", ARGUMENT], ["validate", ARGUMENT], ["validate"], ["schema"], [ARGUMENT]],
    "guard": [["explain", HOSTILE.replace("\0", "")], ["explain", "--json", HOSTILE.replace("\0", "")], ["validate"], ["backtest"],
              ["backtest", "--json"], ["learn"], ["learn", "--json"], ["check"], [ARGUMENT]],
    "rules": [[], ["list"], ["--json"], ["disable", ARGUMENT], [ARGUMENT]],
    "reload": [[]],
    "hooks": [[], ["list"], ["--json"], ["validate"], ["validate", ARGUMENT], ["run", ARGUMENT], ["run", "PreToolUse"], ["history"],
              ["history", "--json"], ["run", "PreToolUse", "--tool", ARGUMENT], [ARGUMENT]],
    "trust": [["--list"], ["--list", "--json"], [ARGUMENT], ["{root}"]],
    "untrust": [[ARGUMENT], ["{root}"]],
    "db": [["check"], ["check", "--json"], ["repair", "--dry-run"], ["rebuild", "--dry-run"], [ARGUMENT]],
    "backup": [[], ["{root}/copy.db"], [f"/nowhere/{ARGUMENT}"]],
    "restore": [[ARGUMENT], ["--dry-run", "{root}/copy.db"]],
    "purge": [["--session", "1", "--dry-run"], ["--session", ARGUMENT], ["--match", "evil", "--dry-run"], ["--project", ARGUMENT]],
    "retention": [["--dry-run"], ["--dry-run", "--json"]],
    "rpc": [["ops"], ["sessions.list"], [ARGUMENT], ["sessions.list", ARGUMENT], ["events.tail", "{}"]],
    "mcp": [[], [ARGUMENT]],
    "url": [["--json"], [ARGUMENT]],
    "token": [[], [ARGUMENT]],
    "agents": [[], ["--json"], [ARGUMENT]],
    "version": [[], ["--json"], [ARGUMENT]],
    "help": [[], ["show"], [ARGUMENT]],
    "start": [[], [ARGUMENT]],
    "stop": [[ARGUMENT]],
    "restart": [[ARGUMENT]],
    "run": [[ARGUMENT]],
    "init": [["--dry-run"], ["--agent", ARGUMENT], ["--dry-run", "--project", "--yes"]],
    "uninstall": [["--dry-run"], ["--agent", ARGUMENT]],
}


def commands(world):
    return re.findall(r"^  ([a-z]+) ", world.hookd("help").stdout.decode(), re.M)


def transcript(world, root):
    """The agent's own log, with the same text in every place."""
    path = world.home / ".claude/projects/-p" / "evil.jsonl"
    path.parent.mkdir(parents=True)
    rows = [{"type": "user", "uuid": "a", "sessionId": NAME, "cwd": str(root), "timestamp": "2026-01-01T00:00:00Z",
             "message": {"role": "user", "content": HOSTILE}},
            {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": NAME, "timestamp": "2026-01-01T00:00:01Z",
             "message": {"role": "assistant", "model": HOSTILE, "id": "m1", "usage": {"input_tokens": 5, "output_tokens": 7}, "content": [
                 {"type": "text", "text": HOSTILE}, {"type": "tool_use", "id": "t1", "name": HOSTILE, "input": {"command": HOSTILE}}]}}]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


@pytest.fixture(scope="module")
def captured():
    w = World()
    try:
        root = w.top / NAME[:120]
        root.mkdir()
        w.dir.mkdir(parents=True, exist_ok=True)
        (w.dir / "config.json").write_text(json.dumps({
            "guard": {"rules": [{"name": "evil-rule", "match": "evil", "action": "ask", "reason": HOSTILE}]},
            "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "printf '%s' '" + NAME.replace("'", "") + "' >&2; exit 1"}]}]}}))
        (root / "evil.py").write_bytes(b"def evil():\n    # " + HOSTILE.encode() + b"\n    return 1\n")
        (root / (NAME[:80] + ".py")).write_text("def evil_too():\n    return 2\n")
        log = transcript(w, root)
        w.start()
        a = Agent(w, HOSTILE, root)
        a.say("SessionStart", source=HOSTILE, model=HOSTILE, transcript_path=str(log))
        a.prompt("p", HOSTILE)
        a.tool("u1", HOSTILE, command=HOSTILE)
        w.hookc("PreToolUse", {"session_id": HOSTILE, "cwd": str(root), "tool_name": "Bash", "tool_use_id": "u2",
                               "tool_input": {"command": HOSTILE}})
        a.tool("u3", "Write", file_path=f"{root}/{HOSTILE}", content=HOSTILE, response={"type": "create"})
        a.tool("u4", "Write", file_path=f"{w.home}/.claude/plans/{NAME}.md", content=HOSTILE, response={"type": "create"})
        a.tool("u5", "Bash", command=HOSTILE, error=HOSTILE)
        a.tool("u6", "Bash", command="hookd-selftest-deny " + HOSTILE, denied=HOSTILE)
        a.say(NAME, x=HOSTILE)
        a.say("Notification", message=HOSTILE, title=HOSTILE)
        skill = root / ".claude/skills/evil/SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: evil\ndescription: {NAME}\n---\n\n## 1: {NAME}\n\n{NAME}\n")
        w.hookd("effort", "start", "evil", "--goal", NAME, "--phase", f"1: {NAME[:60]}", cwd=root, ok=False)
        w.hookd("effort", "start", "evil", "--goal", NAME, cwd=root, ok=False)
        w.hookd("effort", "log", NAME, cwd=root, ok=False)
        w.hookd("effort", "checkpoint", "--goal", NAME, "--next", NAME, "--done", NAME, "--file", NAME[:60], cwd=root, ok=False)
        w.hookd("effort", "artifact", "LOG", NAME, cwd=root, ok=False)
        assert "evil" in w.hookd("effort", "list", "--all").stdout.decode()
        a.say("Stop", last_assistant_message=HOSTILE)
        a.say("SessionEnd", reason=HOSTILE)
        w.hookd("import", ok=False)
        plans = w.json("plans", "--json")["plans"]
        w.names = {"{plan}": str(plans[0]["key"]) if plans else "1", "{transcript}": str(log), "{root}": str(root)}
        yield w
    finally:
        w.close()


def filled(world, args):
    for name, value in world.names.items():
        args = [a.replace(name, value) for a in args]
    return args


def test_every_command_is_here(captured):
    assert sorted(commands(captured)) == sorted(READERS)


CASES = [(name, args) for name, lists in READERS.items() for args in lists]


@pytest.mark.parametrize("name,args", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_nothing_that_drives_a_terminal(captured, name, args):
    where = captured.names["{root}"] if name in ("effort", "task") else None
    done = captured.hookd(name, *filled(captured, args), ok=False, input=json.dumps({"id": HOSTILE, "command": HOSTILE}).encode(), cwd=where)
    for stream in (done.stdout, done.stderr):
        text = stream.decode("utf-8")  # and it is valid
        assert not FORBIDDEN.search(text), (name, args, text[max(0, FORBIDDEN.search(text).start() - 60):][:150])
    if "--json" in args and done.returncode == 0:
        lines = done.stdout.decode().splitlines() if name == "tail" else [done.stdout.decode()]
        for line in filter(None, lines):
            json.loads(line)


def strings(value):
    """Every string in a parsed JSON value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


@pytest.mark.parametrize("args", [["show", "1", "--json"], ["export", "1", "--format", "jsonl"]])
def test_json_keeps_what_was_captured(captured, args):
    """Escaped, not replaced."""
    found = [s for line in captured.hookd(*args).stdout.decode().splitlines() for s in strings(json.loads(line))]
    assert HOSTILE in found


def on_a_terminal(world, *args):
    """Everything the command wrote to a terminal of its own."""
    master, slave = pty.openpty()
    child = subprocess.Popen([str(world.build / "hookd"), *args], stdin=slave, stdout=slave, stderr=slave, cwd=world.top,
                             env={**world.env, "TERM": "xterm"})
    os.close(slave)
    out, until = b"", time.monotonic() + HANG
    while time.monotonic() < until:
        if select.select([master], [], [], 0.2)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        elif child.poll() is not None:
            break
    child.wait(HANG)
    os.close(master)
    return out.decode("utf-8")


@pytest.mark.parametrize("args", [["sessions"], ["show", "1", "--full"], ["tail"], ["search", "evil"], ["decisions"], ["stats"],
                                  ["project", "list"], ["plans"], ["hooks", "history"], ["status"], ["usage", "model"], ["tail", "--json"]])
def test_on_a_terminal_only_colours_are_left(captured, args):
    text = on_a_terminal(captured, *args)
    assert "evil" in text or args[0] in ("status", "hooks", "usage", "plans")
    rest = re.sub("\x1b\\[(0|1|2|31|32|33|36|1;33)m", "", text).replace("\r\n", "\n").replace("\r\x1b[K", "")
    assert not FORBIDDEN.search(rest), rest[max(0, FORBIDDEN.search(rest).start() - 60):][:150]


# -- other ways in: directories, settings, variables, raw bytes ------------------------------------------

ODD = "d\x1b[7m\u202e\x9b"
RAW = [b'{"session_id":"raw1","hook_event_name":"Notification","cwd":"/tmp","message":"\\u001b]52;c;eA==\\u0007\\u009b201~\\u202e"}',
       b'{"session_id":"raw2","hook_event_name":"Notification","cwd":"/tmp","message":"a\x9bb \xc0\x9b \xe0\x80\x9b \xed\xa0\x80 \xff"}',
       b'not json \x1b[5n \x9b \xe2\x80\xae \x07',
       b'{"session_id":"raw3","hook_event_name":"PreToolUse","cwd":"/tmp/\\u001b[3m","permission_mode":"\\u001b[1m","tool_name":"mcp__\\u202e__x",'
       b'"tool_use_id":"\\u001b[H","agent_id":"\\u001b[H","agent_type":"\\u2066x","prompt_id":"\\u001bc","tool_input":{"\\u001b[2J":"\\u0085"}}']


@pytest.fixture(scope="module")
def odd():
    w = World()
    try:
        w.dir, w.home = w.top / ODD, w.top / ("h" + ODD)
        w.home.mkdir()
        w.env |= {"HOOKD_DIR": str(w.dir), "HOME": str(w.home), "AGENT_NAME": ODD, "TERM_PROGRAM": ODD, "COLUMNS": "40"}
        w.dir.mkdir()
        (w.dir / "config.json").write_text(json.dumps({ODD: 1, "log": {"level": ODD}, "guard": {"rules": [{ODD: ODD, "name": ODD}]},
                                                       "hooks": {ODD: [], "Stop": [{"hooks": [{"type": ODD, "command": ODD}]}]}}))
        project = w.top / "project"
        (project / ".claude").mkdir(parents=True)
        (project / ".claude/settings.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": ODD}]}]}}))
        w.start()
        for raw in RAW:
            w.hookc("Notification" if b"Notification" in raw else "PreToolUse", raw)
        w.hookc("Stop", {"session_id": "odd", "hook_event_name": "Stop", "cwd": str(project)}, env={"TMUX_PANE": ODD})
        yield w
    finally:
        w.close()


@pytest.mark.parametrize("args", [
    ["status"], ["status", "--json"], ["doctor"], ["config", "show", "--origin"], ["config", "validate"], ["config", "validate", "--json"],
    ["guard", "validate"], ["hooks"], ["hooks", "validate"], ["hooks", "validate", "--json"], ["rules"], ["logs", "-n", "500"], ["sessions"],
    ["sessions", "--json"], ["show", "1"], ["show", "2", "--full"], ["show", "3"], ["tail"], ["tail", "--json"], ["backup"], ["db", "check"],
    ["export"], ["export", "--format", "jsonl"], ["trust", "--list"], ["trust", "project"], ["retention", "--dry-run"], ["init", "--dry-run"],
    ["restore", ODD], ["purge", "--match", ODD, "--dry-run"], ["rpc", "status"], ["rpc", ODD], ["--dir", ODD, "status"], ["status", "--" + ODD],
], ids=lambda a: " ".join(a).encode("unicode_escape").decode())
def test_odd_directories_settings_and_bytes(odd, args):
    done = odd.hookd(*args, ok=False)
    for stream in (done.stdout, done.stderr):
        text = stream.decode("utf-8")
        assert not FORBIDDEN.search(text), text[max(0, FORBIDDEN.search(text).start() - 60):][:150]


def test_an_exported_file_is_as_clean_as_the_terminal(captured):
    for form in ("md", "html"):
        path = captured.top / f"out.{form}"
        captured.hookd("export", "1", "--format", form, "-o", path)
        text = path.read_text("utf-8")
        assert "evil" in text and not FORBIDDEN.search(text), form
