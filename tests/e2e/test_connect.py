"""init, doctor and uninstall for the agents that are not tested by their own programs alone: files, folders, formats."""
import json
import pathlib

import pytest

FLAT = '{\n  "version": 1,\n\t"hooks": {"stop" : [ {"command":"./mine.sh"} ],\n "preToolUse":[]}  }'
ROWS = {  # agent: file of the user, file of a project, what a person may have there
    "copilot": (".copilot/hooks/hookd.json", ".github/hooks/hookd.json", FLAT),
    "qwen": (".qwen/settings.json", ".qwen/settings.json",
             '// mine\n{ "model": {"name":"x"}, "hooks": { "Stop": [{"hooks":[{"type":"command","command":"true"}]}] } }\n'),
    "cursor": (".cursor/hooks.json", ".cursor/hooks.json", FLAT),
    "windsurf": (".codeium/windsurf/hooks.json", ".windsurf/hooks.json",
                 '{"hooks":{"pre_run_command":[{"command":"python3 mine.py","show_output":true}]}}'),
    "opencode": (".config/opencode/plugins/hookd.js", ".opencode/plugins/hookd.js", None),
}
AGENTS = list(ROWS)


def home_of(world):
    return pathlib.Path(world.env["HOME"])


def connect(world, agent, *more, **kw):
    return world.hookd("init", "--agent", agent, "--yes", "--no-import", *more, **kw)


def everything(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_home_without_the_file_is_left_as_it_was(world, agent):
    home = home_of(world)
    before = everything(home)
    connect(world, agent)
    path = home / ROWS[agent][0]
    first = path.read_bytes()
    assert b"hookc" in first
    connect(world, agent)
    assert path.read_bytes() == first
    world.hookd("uninstall", "--yes")
    assert everything(home) == before


@pytest.mark.parametrize("agent", [a for a in AGENTS if ROWS[a][2]])
def test_a_persons_file_comes_back_byte_for_byte(world, agent):
    path = home_of(world) / ROWS[agent][0]
    path.parent.mkdir(parents=True)
    path.write_text(ROWS[agent][2])
    connect(world, agent)
    text = path.read_text()
    assert "mine" in text and "hookc" in text
    world.hookd("uninstall", "--yes")
    assert path.read_text() == ROWS[agent][2]


@pytest.mark.parametrize("agent", [a for a in AGENTS if ROWS[a][2]])
def test_a_file_that_changed_since_keeps_the_change(world, agent):
    path = home_of(world) / ROWS[agent][0]
    path.parent.mkdir(parents=True)
    path.write_text(ROWS[agent][2])
    connect(world, agent)
    path.write_text(path.read_text().rstrip().removesuffix("}") + ', "later": 1 }')
    world.hookd("uninstall", "--yes")
    text = path.read_text()
    assert "hookc" not in text and "later" in text and "mine" in text


@pytest.mark.parametrize("agent", AGENTS)
def test_doctor_follows_every_line_to_the_store(world, agent):
    connect(world, agent)
    checks = [c for c in world.json("doctor", "--json", ok=False)["checks"] if c["check"] == agent]
    assert [c["text"] for c in checks if c["finding"] == "bad"] == []
    assert [c for c in checks if "denial came back" in c["text"]]


@pytest.mark.parametrize("agent", AGENTS)
def test_in_a_project(world, agent, tmp_path):
    connect(world, agent, "--project", cwd=tmp_path)
    assert b"hookc" in (tmp_path / ROWS[agent][1]).read_bytes()
    world.hookd("uninstall", "--agent", agent, "--project", "--yes", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("agent", ["copilot", "cursor"])
def test_flat_lists_hold_entries_and_a_version(world, agent):
    connect(world, agent)
    v = json.loads((home_of(world) / ROWS[agent][0]).read_text())
    assert v["version"] == 1
    for event, entries in v["hooks"].items():
        [entry] = entries
        assert entry["type"] == "command" and f" {agent} {event}" in entry["command"], entry


def test_units_of_timeouts(world):
    for agent, key, tenth in (("copilot", "timeoutSec", 10), ("cursor", "timeout", 10), ("qwen", "timeout", 10000)):
        connect(world, agent)
        hooks = json.loads((home_of(world) / ROWS[agent][0]).read_text())["hooks"]
        [entry] = hooks["sessionStart" if agent != "qwen" else "SessionStart"]
        assert (entry["hooks"][0] if agent == "qwen" else entry)[key] == tenth


def test_one_unreadable_file_stops_that_agent_only(world):
    home = home_of(world)
    for folder in (".cursor", ".qwen", ".copilot"):
        (home / folder).mkdir()
    (home / ".cursor/hooks.json").write_text('{"hooks": [}')
    done = world.hookd("init", "--yes", "--no-import", ok=False)
    assert done.returncode == 1 and b".cursor/hooks.json:1:12" in done.stderr
    assert (home / ".cursor/hooks.json").read_text() == '{"hooks": [}'
    assert (home / ".qwen/settings.json").exists() and (home / ".copilot/hooks/hookd.json").exists()
    done = world.hookd("uninstall", "--yes", ok=False)
    assert done.returncode == 1
    assert not (home / ".qwen/settings.json").exists() and not (home / ".copilot/hooks").exists()


def test_a_plugin_of_another_origin_is_left_alone(world):
    path = home_of(world) / ROWS["opencode"][0]
    path.parent.mkdir(parents=True)
    path.write_text("export const mine = async () => ({})\n")
    done = world.hookd("init", "--agent", "opencode", "--yes", "--no-import", ok=False)
    assert done.returncode == 1 and path.read_text() == "export const mine = async () => ({})\n"


def test_the_matrix_names_every_agent_and_event(world):
    matrix = world.json("agents", "--json")["agents"]
    assert [a["name"] for a in matrix] == ["claude", "codex", "gemini", "cursor", "copilot", "qwen", "opencode",
                                           "windsurf", "generic"]
    by = {a["name"]: a for a in matrix}
    assert by["cursor"]["verified"] is None and by["copilot"]["verified"]
    [pre] = [e for e in by["copilot"]["events"] if e["event"] == "preToolUse"]
    assert pre["kind"] == "PreToolUse" and pre["installed"] and {"deny", "ask", "input", "context"} <= set(pre["verbs"])
    assert world.hookd("agents", "nobody", ok=False).returncode == 64


def test_any_program_gets_the_documented_answer(world):
    """docs/agents.md: 0 and silence, or 2 and a reason on stderr; nothing else."""
    world.start()
    call = {"sessionId": "s", "cwd": "/", "toolName": "bash", "toolUseId": "t1", "toolInput": {"command": "ls"}}
    done = world.hookc("PreToolUse", call, agent="generic")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    call = {**call, "toolUseId": "t2", "toolInput": '{"command": "echo hookd-selftest-deny"}'}
    done = world.hookc("PreToolUse", call, agent="generic")
    assert done.returncode == 2 and done.stdout == b"" and b"hookd-selftest-deny" in done.stderr and done.stderr.count(b"\n") == 1
    done = world.hookc(None, {"session_id": "s", "hook_event_name": "SomethingNew", "x": 1}, agent="generic")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [e["native_event"] for e in world.events()] == ["PreToolUse", "PreToolUse", "SomethingNew"]
