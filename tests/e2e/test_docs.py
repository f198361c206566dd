"""What the documentation says is so: its commands exist and run, its shapes are the program's."""
import json
import re
import shlex
import subprocess

import pytest

from receiver import Receiver
from world import BUILD, ROOT, payload, tool, wait_for

# The reference is printed by the program itself; test_operations compares it.
PAGES = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").glob("*.md")) if p.name != "reference.md")]


def commands_named():
    """(page, command, words) for every `hookd …` in code."""
    found = set()
    for page in PAGES:
        for text in re.findall(r"`([^`\n]+)`|^    (.+)$", page.read_text(), re.M):
            text = text[0] or text[1]
            for m in re.finditer(r"(?:^|[\s;/])hookd ([a-z][a-z-]*)((?: [^\s;|#…]+)*)", text):
                found.add((page.name, m.group(1), m.group(2).strip()))
    return sorted(found)


@pytest.mark.parametrize("page,command,words", commands_named())
def test_every_command_in_the_documentation_exists(world, page, command, words):
    done = world.hookd(command, "--help")
    text = done.stdout.decode()
    assert text.startswith(f"usage: hookd {command}")
    for option in re.findall(r"(?<!\S)(--[a-z-]+|-[a-z](?!\S))", words):
        assert option in text, (page, command, option)


def test_make_targets_in_the_documentation_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"`?make ([a-z][a-z-]+)\b", page.read_text()):
            if re.search(rf"(?:`|    )make {target}\b", page.read_text()):
                assert re.search(rf"^{target}:|^\.PHONY:.*\b{target}\b", makefile, re.M), (page.name, target)


def test_the_readme_lists_each_command_once(world):
    table = (ROOT / "README.md").read_text().split("| command |")[1].split("\n\n")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines()[2:]]
    named = [re.sub(r"^hookd ", "", code).split()[0] for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    listed = re.findall(r"^  ([a-z]+) +[A-Z]", world.hookd("help").stdout.decode(), re.M)
    assert sorted(named) == sorted(listed)


def test_the_commands_of_the_readme_in_its_order(world):
    """init, doctor, tail, status, sessions, uninstall, as a newcomer would type them."""
    settings = world.home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_bytes(b'{"permissions":{}}')
    world.hookd("init", "--yes")
    assert b"all is well" in world.hookd("doctor").stdout
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="hello"))
    assert b"hello" in world.hookd("tail").stdout
    assert b"s1" in world.hookd("sessions").stdout
    assert b"health       ok" in world.hookd("status").stdout
    world.hookd("config", "set", "durability", "strict")
    assert b"strict" in world.hookd("config", "get", "durability").stdout
    world.hookd("uninstall", "--yes")
    assert settings.read_bytes() == b'{"permissions":{}}'


def keys_of(example):
    return set(re.findall(r'"([a-z_]+)":', example))


def test_shapes_of_the_protocol_page(world):
    page = (ROOT / "docs/protocol.md").read_text()
    world.hookc("PreToolUse", tool(1, "PreToolUse", transcript_path="/t"))
    world.hookc("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id="d",
                                      tool_input={"command": "echo hookd-selftest-deny"}))
    world.hookc("SessionEnd", payload("SessionEnd"))
    sessions = keys_of(page.split("`hookd sessions --json`")[1].split("`hookd tail --json`")[0])
    events = keys_of(page.split("`hookd tail --json`")[1].split("`marks`")[0])
    got = world.json("sessions", "--json")
    assert set(got) | set(got["sessions"][0]) <= sessions
    for e in world.events():
        assert set(e) <= events
    assert any("verdict" in e for e in world.events())


def test_help_lists_every_command_and_the_schema_every_option(world):
    overview = world.hookd("help").stdout.decode()
    for name in ("init", "uninstall", "doctor", "status", "sessions", "tail", "config", "start", "stop", "db", "logs", "version"):
        assert re.search(rf"^  {name} +[A-Z]", overview, re.M), name
    schema = json.loads(world.hookd("config", "schema").stdout)
    assert "durability" in json.dumps(schema) and "linger_ms" in json.dumps(schema)
    assert subprocess.run([str(BUILD / "hookd")], capture_output=True, env=world.env).returncode == 0


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.M | re.S)


def test_the_sinks_of_the_outbox_page_are_valid(world):
    examples = [b for b in blocks("outbox.md", "json") if "sinks" in b]
    assert len(examples) == 2
    for text in examples:
        (world.dir / "config.json").write_text(text)
        assert b"fine" in world.hookd("config", "validate").stdout


def test_the_body_the_signature_and_the_program_of_the_outbox_page(world):
    body, = [b for b in blocks("outbox.md", "json") if "event_type" in b]
    check, = blocks("outbox.md", "python")
    program, = blocks("outbox.md", "sh")
    script, secret = world.top / "agent-done", world.top / "team.secret"
    script.write_text(program.rstrip("\n") + f" > {world.top}/said\n")
    script.chmod(0o700)
    secret.write_text("shared")
    secret.chmod(0o600)
    receiver = Receiver()
    try:
        (world.dir / "config.json").write_text(json.dumps({"sinks": [
            receiver.sink(secret_file=str(secret), events=["stop"]),
            {"name": "desktop", "type": "exec", "command": [str(script)], "events": ["stop"]}]}))
        shop = world.top / "shop"
        (shop / ".git").mkdir(parents=True)
        session = "a2676770-4d09-46a3-aab3-65a7f3f0f4a3"
        for event, fields in (("UserPromptSubmit", {"prompt": "Fix the parser"}), ("Stop", {"last_assistant_message": "The parser is fixed."})):
            world.hookc(event, {"session_id": session, "cwd": str(shop), "hook_event_name": event, "transcript_path": "/t.jsonl", **fields})
        got = wait_for(lambda: receiver.got and receiver.got[0], what="the delivery")
        known = {}
        exec(check, known)
        assert known["is_from_hookd"](b"shared", got["headers"], got["raw"])
        assert not known["is_from_hookd"](b"other", got["headers"], got["raw"])
        told = json.loads(body)
        assert list(got["body"]) == list(told) and list(got["body"]["data"]) == list(told["data"])
        assert {k: got["body"]["data"][k] for k in ("prompt", "answer", "title")} == {k: told["data"][k] for k in ("prompt", "answer", "title")}
        wait_for(lambda: (world.top / "said").exists() and (world.top / "said").read_text() == "an agent is done in shop\n", what="the program")
    finally:
        receiver.close()


def test_the_commands_of_the_efforts_page_in_their_order(world):
    """Every block of commands is typed as it stands, and then its skill is read."""
    project = world.top / "shop"
    (project / ".git").mkdir(parents=True)
    lines = [line for block in blocks("efforts.md", "sh") for line in block.splitlines()]
    assert len(lines) > 15
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "hookd"
        if words[1:3] == ["effort", "resume"] and "--agent" not in words:
            world.hookd("effort", "start", "review", cwd=project)  # the one above is finished
        done = world.hookd(*words[1:], cwd=project)
        assert done.stdout, line
    skill, = blocks("efforts.md", "markdown")
    (project / ".hookd/skills/review").mkdir(parents=True)
    (project / ".hookd/skills/review/SKILL.md").write_text(skill)
    config = json.loads(world.hookd("effort", "skill", "review", "--json", cwd=project).stdout)["config"]
    assert config["phases"] == ["1: Read", "2: Judge"] and config["gates"] == {"heartbeat": 10, "checklists": True}
    assert config["modes"] == ["quick", "deep"] and config["preload"] == ["docs/architecture.md"] and config["directives"] == ["TESTING"]


def test_gates_of_the_efforts_page(world):
    """Each row is a gate that can be switched on as the page says."""
    project = world.top / "shop"
    (project / ".git").mkdir(parents=True)
    page = (ROOT / "docs/efforts.md").read_text().split("## Gates")[1].split("##")[0]
    gates = re.findall(r"^\| `(\w+)` \|", page, re.M)
    world.hookd("effort", "start", "review", cwd=project)
    for gate in gates:
        world.hookd("effort", "gate", gate, "on", cwd=project)
    assert set(json.loads(world.hookd("effort", "gate", "--json", cwd=project).stdout)["metadata"]["gates"]) == set(gates)
