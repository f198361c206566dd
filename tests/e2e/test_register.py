"""init --mcp: hookd among the MCP servers of each agent, in that agent's own form, and out again."""
import json
import tomllib

import pytest

# agent: (its file, where the servers are, how an entry of ours looks)
AGENTS = {
    "claude": (".claude.json", "mcpServers", {"type": "stdio", "command": 0, "args": 1}),
    "gemini": (".gemini/settings.json", "mcpServers", {"command": 0, "args": 1}),
    "qwen": (".qwen/settings.json", "mcpServers", {"command": 0, "args": 1}),
    "cursor": (".cursor/mcp.json", "mcpServers", {"command": 0, "args": 1}),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers", {"command": 0, "args": 1}),
    "copilot": (".copilot/mcp-config.json", "mcpServers", {"type": "local", "command": 0, "args": 1, "tools": ["*"]}),
    "opencode": (".config/opencode/opencode.json", "mcp", {"type": "local", "command": 2, "enabled": True}),
}

THEIRS = {"other": {"command": "/bin/true", "args": ["mcp"]}}

TEXTS = {
    "nothing": None,
    "empty object": "{}",
    "other members": '{\r\n\t"theme": "dark"\r\n}\r\n',
    "no servers": '{ "%s": {} }',
    "a server of theirs": '{\n    "%s": {\n        "other": { "command": "/bin/true", "args": ["mcp"] }\n    },\n'
                          '    "last": [1, 2]\n}',
}


def wanted(world, form):
    words = [str(world.build / "hookd"), "mcp", "--dir", str(world.dir)]
    return {k: {0: words[0], 1: words[1:], 2: words}[v] if v in (0, 1, 2) and v is not True else v
            for k, v in form.items()}


def prepare(world, agent, text=None):
    path, servers, form = AGENTS[agent]
    path = world.home / path
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        path.write_text(text.replace("%s", servers), newline="")
    return path, servers, form


def doctor(world, agent):
    checks = json.loads(world.hookd("doctor", "--json", ok=False).stdout)["checks"]
    return [(c["finding"], c["text"]) for c in checks if c["check"] == agent and c["text"].startswith("mcp: ")]


@pytest.mark.parametrize("agent", AGENTS)
def test_there_and_back(world, agent):
    for text in TEXTS.values():
        there_and_back(world, agent, text)


def there_and_back(world, agent, text):
    path, servers, form = prepare(world, agent, text)
    before = path.read_bytes() if path.exists() else None
    shown = world.hookd("init", "--agent", agent, "--mcp", "--dry-run", "--no-import").stdout.decode()
    assert str(path) in shown and "mcp" in shown and "hookd" in shown
    assert (path.read_bytes() if path.exists() else None) == before
    world.hookd("init", "--agent", agent, "--mcp", "--yes", "--no-import")
    wrote = path.read_bytes()
    got = json.loads(wrote)
    assert got[servers]["hookd"] == wanted(world, form)
    if before is not None:
        old = json.loads(before)
        assert {k: v for k, v in got.items() if k not in (servers, "hooks")} == {
            k: v for k, v in old.items() if k != servers}
        assert {k: v for k, v in got[servers].items() if k != "hookd"} == old.get(servers, {})
    world.hookd("init", "--agent", agent, "--mcp", "--yes", "--no-import")
    world.hookd("init", "--agent", agent, "--yes", "--no-import")
    assert path.read_bytes() == wrote
    world.hookd("uninstall", "--agent", agent, "--yes")
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_only_ours_comes_out_of_a_file_that_changed_since(world, agent):
    path, servers, _ = prepare(world, agent, TEXTS["a server of theirs"])
    before = path.read_text()
    world.hookd("init", "--agent", agent, "--mcp", "--yes", "--no-import")
    path.write_text(path.read_text().replace("[1, 2]", "[1, 2, 3]"))
    world.hookd("uninstall", "--agent", agent, "--yes")
    assert path.read_text() == before.replace("[1, 2]", "[1, 2, 3]")


@pytest.mark.parametrize("agent", AGENTS)
def test_doctor_starts_what_is_registered(world, agent):
    prepare(world, agent)
    world.hookd("init", "--agent", agent, "--yes", "--no-import")
    [(finding, text)] = doctor(world, agent)
    assert finding == "ok" and "not registered" in text
    world.hookd("init", "--agent", agent, "--mcp", "--yes", "--no-import")
    [(finding, text)] = doctor(world, agent)
    assert finding == "ok" and "lists its tools" in text


def test_a_moved_hookd_is_found_and_mended(world):
    path, servers, form = prepare(world, "cursor")
    world.hookd("init", "--agent", "cursor", "--mcp", "--yes", "--no-import")
    moved = json.loads(path.read_text())
    moved[servers]["hookd"].update(command="/nowhere/hookd", env={"A": "b"})
    path.write_text(json.dumps(moved))
    [(finding, text)] = doctor(world, "cursor")
    assert finding == "bad" and "init --mcp" in text
    world.hookd("init", "--agent", "cursor", "--mcp", "--yes", "--no-import")
    assert json.loads(path.read_text())[servers]["hookd"] == {**wanted(world, form), "env": {"A": "b"}}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_server_of_another_origin_keeps_its_name(world, agent):
    path, servers, _ = prepare(world, agent, '{"%s":{"hookd":{"command":"/usr/bin/other","args":["serve"]}}}')
    out = world.hookd("init", "--agent", agent, "--mcp", "--yes", "--no-import").stdout
    assert b"of another origin is called hookd" in out
    assert json.loads(path.read_bytes())[servers]["hookd"]["command"] == "/usr/bin/other"
    world.hookd("uninstall", "--agent", agent, "--yes")
    assert json.loads(path.read_bytes())[servers]["hookd"]["command"] == "/usr/bin/other"


def test_one_unreadable_file_stops_that_agent_only(world):
    broken, _, _ = prepare(world, "cursor", '{"mcpServers": {')
    other, servers, _ = prepare(world, "copilot")
    done = world.hookd("init", "--agent", "cursor", "--agent", "copilot", "--mcp", "--yes", "--no-import", ok=False)
    assert done.returncode == 1 and f"{broken}:1:17: ".encode() in done.stderr
    assert broken.read_text() == '{"mcpServers": {' and not (world.home / ".cursor/hooks.json").exists()
    assert "hookd" in json.loads(other.read_text())[servers]


def test_a_project_has_no_servers(world):
    done = world.hookd("init", "--agent", "claude", "--project", "--mcp", "--yes", ok=False)
    assert done.returncode == 64 and b"--mcp" in done.stderr


def test_claude_folder_elsewhere(world):
    elsewhere = world.top / "elsewhere"
    elsewhere.mkdir()
    env = {"CLAUDE_CONFIG_DIR": str(elsewhere)}
    world.hookd("init", "--agent", "claude", "--mcp", "--yes", "--no-import", env=env)
    assert "hookd" in json.loads((elsewhere / ".claude.json").read_text())["mcpServers"]
    world.hookd("uninstall", "--agent", "claude", "--yes", env=env)
    assert not (elsewhere / ".claude.json").exists()


CODEX = {
    "nothing": None,
    "no end of line": b'model = "x"',
    "tables": b'model = "x"\r\n\r\n[tui]\r\nnotifications = true\r\n',
    "a server of theirs": b'[mcp_servers.other]\ncommand = "true"\n\n[mcp_servers.other.env]\nA = "b"\n',
}


@pytest.mark.parametrize("name", CODEX)
def test_codex_there_and_back(world, name):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    if CODEX[name] is not None:
        config.write_bytes(CODEX[name])
    world.start()
    assert b"[mcp_servers.hookd]" in world.hookd("init", "--agent", "codex", "--mcp", "--dry-run").stdout
    world.hookd("init", "--agent", "codex", "--mcp", "--yes", "--no-import")
    wrote = config.read_bytes()
    got, before = tomllib.loads(wrote.decode()), tomllib.loads((CODEX[name] or b"").decode())
    assert got["mcp_servers"].pop("hookd") == {"command": str(world.build / "hookd"),
                                               "args": ["mcp", "--dir", str(world.dir)]}
    assert got["mcp_servers"] == before.get("mcp_servers", {})
    world.hookd("init", "--agent", "codex", "--mcp", "--yes", "--no-import")
    world.hookd("init", "--agent", "codex", "--yes", "--no-import")
    assert config.read_bytes() == wrote
    assert [f for f, text in doctor(world, "codex") if "lists its tools" in text] == ["ok"]
    world.hookd("uninstall", "--agent", "codex", "--yes")
    assert (config.read_bytes() if config.exists() else None) == CODEX[name]


def test_codex_keeps_what_came_since_and_loses_what_belongs_to_ours(world):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_bytes(CODEX["tables"])
    world.hookd("init", "--agent", "codex", "--mcp", "--yes", "--no-import")
    config.write_bytes(config.read_bytes().replace(b"\r\nargs", b"\r\nstartup_timeout_sec = 5\r\nargs") +
                       b'\r\n[mine]\r\ny = 2\r\n\r\n[mcp_servers.hookd.env]\r\nA = "b"\r\n')
    world.hookd("uninstall", "--agent", "codex", "--yes")
    assert config.read_bytes() == CODEX["tables"] + b"\r\n[mine]\r\ny = 2\r\n"


def test_codex_follows_a_moved_hookd(world):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text('[mcp_servers.hookd]\nargs = ["mcp", "--dir", "/x"] # here\ncommand = "/nowhere/hookd"\nz = 1\n')
    world.hookd("init", "--agent", "codex", "--mcp", "--yes", "--no-import")
    assert tomllib.loads(config.read_text())["mcp_servers"]["hookd"] == {
        "command": str(world.build / "hookd"), "args": ["mcp", "--dir", str(world.dir)], "z": 1}
    assert "# here" in config.read_text()


@pytest.mark.parametrize("text", ['mcp_servers.hookd.url = "http://127.0.0.1:1"\n',
                                  '[mcp_servers]\nhookd = { command = "hookd", args = ["mcp"] }\n',
                                  '[mcp_servers.hookd]\ncommand = "other"\n'])
def test_codex_keeps_a_server_that_is_not_ours(world, text):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text(text)
    out = world.hookd("init", "--agent", "codex", "--mcp", "--yes", "--no-import").stdout
    assert b"of another origin is called hookd" in out
    assert tomllib.loads(config.read_text())["mcp_servers"] == tomllib.loads(text)["mcp_servers"]
    world.hookd("uninstall", "--agent", "codex", "--yes")
    assert config.read_text() == text
