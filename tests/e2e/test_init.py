"""init, uninstall, config: what a person types, from the outside."""
import hashlib
import json
import os
import pty
import re
import select
import socket
import subprocess
import time
import tomllib

import pytest

SETTINGS = b'{\r\n\t"model" : "opus",\r\n\t"hooks": { "Stop": [ ] }\r\n}'


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def settings(world):
    path = world.home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(SETTINGS)
    path.chmod(0o644)
    return path


def on_terminal(world, answer, *args):
    """Runs hookd on a terminal of its own and answers its question; (exit code, all it said)."""
    master, slave = pty.openpty()
    p = subprocess.Popen([str(world.build / "hookd"), *args], stdin=slave, stdout=slave, stderr=slave,
                         env=world.env, cwd=world.top)
    os.close(slave)
    said, until = b"", time.monotonic() + 30
    while time.monotonic() < until:
        if select.select([master], [], [], 0.1)[0]:
            try:
                said += os.read(master, 65536)
            except OSError:
                break
        elif p.poll() is not None:
            break
        if b"[y/N]" in said and answer:
            os.write(master, answer)
            answer = None
    os.close(master)
    return p.wait(10), said


def test_without_a_terminal_nothing_is_changed(world, settings):
    done = world.hookd("init", ok=False)
    assert done.returncode == 1
    assert b"--yes" in done.stderr and done.stderr.count(b"\n") == 1
    assert settings.read_bytes() == SETTINGS


def test_dry_run_shows_and_touches_nothing(world, settings):
    done = world.hookd("init", "--dry-run")
    assert b'hookc' in done.stdout and b"\n@@ " in done.stdout
    plan = json.loads(world.hookd("init", "--dry-run", "--json").stdout)
    assert plan["applied"] is False
    assert [(a["agent"], a["path"], a["added"]) for a in plan["agents"]] == [("claude", str(settings), 28)]
    assert settings.read_bytes() == SETTINGS
    assert [p.name for p in world.dir.iterdir()] == ["places"]  # the harness wrote it


def test_there_and_back(world, settings):
    done = world.hookd("init", "--yes")
    assert b"hookd doctor" in done.stdout
    installed = settings.read_bytes()
    hooks = json.loads(installed)["hooks"]
    for event, groups in hooks.items():
        [entry] = [e for g in groups for e in g["hooks"]]
        assert entry["command"] == str(world.build / "hookc")
        assert entry["args"] == ["--dir", str(world.dir), "claude", event]
    assert settings.stat().st_mode & 0o777 == 0o644
    assert world.pid(), "the daemon was not started"

    world.hookd("init", "--yes")
    assert settings.read_bytes() == installed
    done = world.hookd("uninstall", ok=False)
    assert done.returncode == 1 and settings.read_bytes() == installed
    world.hookd("uninstall", "--yes")
    assert settings.read_bytes() == SETTINGS
    assert b"No hooks" in world.hookd("uninstall", "--yes").stdout


@pytest.mark.parametrize("answer, code", [(b"n\n", 1), (b"\n", 1), (b"y\n", 0)])
def test_the_question(world, settings, answer, code):
    got, said = on_terminal(world, answer, "init")
    assert got == code, said
    assert b"[y/N]" in said
    assert (settings.read_bytes() == SETTINGS) == (code == 1)


def test_a_project_has_its_own_file(world, settings):
    project = world.top / "p"
    project.mkdir()
    world.hookd("init", "--agent", "claude", "--project", "--yes", cwd=project)
    assert "hookc" in (project / ".claude/settings.local.json").read_text()
    assert settings.read_bytes() == SETTINGS
    world.hookd("uninstall", "--project", "--yes", cwd=project)
    assert list(project.iterdir()) == []


def test_a_broken_file_is_named_and_left_alone(world, settings):
    settings.write_bytes(b'{\n  "a": 1\n  "b": 2\n}')
    done = world.hookd("init", "--yes", ok=False)
    assert done.returncode == 1
    assert f"{settings}:3:3: ".encode() in done.stderr
    assert settings.read_bytes() == b'{\n  "a": 1\n  "b": 2\n}'


def test_codex_has_two_files(world):
    hooks, config = world.home / ".codex/hooks.json", world.home / ".codex/config.toml"
    before = b'model = "x"\r\n\r\n[tui]\r\nnotifications = true'
    hooks.parent.mkdir()
    config.write_bytes(before)
    done = world.hookd("init", "--agent", "codex", "--dry-run")
    assert done.stdout.count(b"\n@@ ") == 2 and b"+notify = [" in done.stdout
    plan = json.loads(world.hookd("init", "--dry-run", "--json").stdout)
    assert [(a["agent"], a["path"], a["added"]) for a in plan["agents"]] == [
        ("codex", str(hooks), 12), ("codex", str(config), 1)]
    [note] = plan["notes"]
    assert note.startswith(str(hooks)) and "/hooks" in note
    done = world.hookd("init", "--yes")
    assert b"12 hooks added in" in done.stdout and b"1 setting added in" in done.stdout
    for event, groups in json.loads(hooks.read_bytes())["hooks"].items():
        [entry] = [e for g in groups for e in g["hooks"]]
        assert entry["command"] == f"{world.build / 'hookc'} --dir {world.dir} codex {event}"
    world.hookd("uninstall", "--yes")
    assert config.read_bytes() == before and not hooks.exists()


def test_a_foreign_notify_is_reported(world):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_bytes(b'notify = ["say", "done"]\n')
    _, note = json.loads(world.hookd("init", "--dry-run", "--json").stdout)["notes"]
    assert note.startswith(str(config)) and "already used by say done" in note
    assert b"already used by say done" in world.hookd("init", "--yes").stdout
    assert config.read_bytes() == b'notify = ["say", "done"]\n'


def test_broken_toml_is_named_and_nothing_changes(world):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_bytes(b"a = 1\nb = [1 2]\n")
    done = world.hookd("init", "--yes", ok=False)
    assert done.returncode == 1 and f"{config}:2:8: ".encode() in done.stderr
    assert [p.name for p in config.parent.iterdir()] == ["config.toml"]


def codex_hash(event, entry):
    """What Codex keeps of a hook that is trusted; event in snake case."""
    known = {"event_name": event, "hooks": [{"async": False, **entry}]}
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def doctor(world, agent):
    """(finding, text) of everything doctor says about an agent."""
    checks = json.loads(world.hookd("doctor", "--json", ok=False).stdout)["checks"]
    return [(c["finding"], c["text"]) for c in checks if c["check"] == agent]


def test_doctor_knows_what_codex_trusts(world):
    world.hookd("init", "--agent", "codex", "--yes")
    found = doctor(world, "codex")
    [finding] = [f for f, text in found if "skips 12 of 12" in text and "/hooks" in text]
    assert finding == "bad"
    assert len([text for f, text in found if f == "ok" and "fired, stored once" in text]) >= 11

    hooks, config = world.home / ".codex/hooks.json", world.home / ".codex/config.toml"
    trust = []
    for event, groups in json.loads(hooks.read_text())["hooks"].items():
        snake = re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()
        trust.append(f'\n[hooks.state."{hooks}:{snake}:0:0"]\n'
                     f'trusted_hash = "{codex_hash(snake, groups[0]["hooks"][0])}"\n')
    notify = config.read_text()
    config.write_text(notify + "".join(trust))
    assert ("ok", "Codex CLI trusts all 12 hooks") in doctor(world, "codex")
    config.write_text(notify + "".join(trust[2:]) + trust[0] + "enabled = false\n")
    texts = dict((text, f) for f, text in doctor(world, "codex"))
    assert any("skips 1 of 12" in text for text in texts)
    assert texts["1 of 12 hooks are switched off in Codex CLI"] == "note"
    # Uninstall takes our line and leaves what Codex wrote.
    world.hookd("uninstall", "--yes")
    assert config.read_text() == ("".join(trust[2:]) + trust[0] + "enabled = false\n").lstrip()


def test_doctor_tells_of_folders_gemini_does_not_trust(world):
    world.hookd("init", "--agent", "gemini", "--yes")
    found = doctor(world, "gemini")
    assert [f for f, text in found if "untrusted folders" in text] == ["note"]
    assert ("ok", "SessionEnd") in [(f, text.split(":")[0]) for f, text in found]


def test_gemini_settings_may_hold_comments(world):
    settings = world.home / ".gemini/settings.json"
    before = b'{\n  // mine\n  "ui": { "theme": "x" }\n}\n'
    settings.parent.mkdir()
    settings.write_bytes(before)
    world.hookd("init", "--yes")
    text = settings.read_text()
    assert "// mine\n" in text
    hooks = json.loads(text.replace("// mine\n", ""))["hooks"]
    assert len(hooks) == 7
    for event, groups in hooks.items():
        [entry] = [e for g in groups for e in g["hooks"]]
        assert entry["name"] == "hookd" and entry["timeout"] >= 5000
        assert entry["command"] == f"{world.build / 'hookc'} --dir {world.dir} gemini {event} 2>/dev/null || exit 0"
    world.hookd("uninstall", "--yes")
    assert settings.read_bytes() == before


def test_words_that_are_wrong(world):
    assert world.hookd("init", "--agent", "nobody", ok=False).returncode == 64
    done = world.hookd("init", "--agent", "generic", "--yes", ok=False)
    assert done.returncode == 1 and b"hookc generic EVENT" in done.stderr
    assert world.hookd("config", "get", ok=False).returncode == 64
    assert world.hookd("config", "what", ok=False).returncode == 64


def test_config(world):
    world.hookd("config", "set", "log.level", "debug")
    assert world.hookd("config", "get", "log.level").stdout == b"debug\n"
    shown = json.loads(world.hookd("config", "show", "--json").stdout)
    [level] = [o for o in shown["options"] if o["name"] == "log.level"]
    assert (level["value"], level["default"], level["origin"]) == ("debug", "info", "user")
    before = (world.dir / "config.json").read_bytes()
    assert b'+  "durability"' in world.hookd("config", "set", "durability", "strict", "--dry-run").stdout
    done = world.hookd("config", "set", "log.max_mb", "0", ok=False)
    assert done.returncode == 1 and b"from 1 to 1024" in done.stderr
    assert (world.dir / "config.json").read_bytes() == before
    assert b"config.json:3" in world.hookd("config", "show", "--origin").stdout

    (world.top / "bad.json").write_text('{ "durabilty": "strict" }')
    done = world.hookd("config", "validate", "bad.json", ok=False)
    assert done.returncode == 1
    assert b"bad.json:1:3: " in done.stderr and b"did you mean 'durability'?" in done.stderr
    schema = json.loads(world.hookd("config", "schema").stdout)
    assert schema["properties"]["log"]["properties"]["max_mb"]["maximum"] == 1024


def test_a_broken_config_does_not_stop_the_daemon(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text('{ "durability": ')
    assert world.start()


OTEL = {
    "no table": b'model = "x"\r\n\r\n[tui]\r\nnotifications = true',
    "nothing": b"",
    "a table with other keys": b'[otel]\nmetrics_exporter = "none" # mine\n[tui]\nx = 1\n',
    "an empty table at the end": b'model = "x"\n[otel]',
    "a table below it": b'[otel.trace]\nx = 1\n',
    "prompts are kept out": b'[otel]  # mine\nlog_user_prompt = false\n',
    "it stands in a string": b'x = """\n[otel]\nexporter = 1 # hookd\n"""\n',
}


@pytest.mark.parametrize("name", OTEL)
def test_telemetry_is_put_in_once_and_taken_out_byte_for_byte(world, name):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_bytes(OTEL[name])
    port = free_port()
    world.hookd("config", "set", "http.port", port)
    shown = world.hookd("init", "--agent", "codex", "--otel", "--dry-run").stdout
    assert b"/v1/logs" in shown and config.read_bytes() == OTEL[name]
    world.hookd("init", "--agent", "codex", "--otel", "--yes")
    wrote = config.read_bytes()
    otel = tomllib.loads(wrote.decode())["otel"]
    token = world.hookd("token").stdout.decode().strip()
    assert otel["exporter"] == {"otlp-http": {"endpoint": f"http://127.0.0.1:{port}/v1/logs", "protocol": "binary",
                                              "headers": {"Authorization": f"Bearer {token}"}}}
    assert otel["log_user_prompt"] is (name != "prompts are kept out")
    # Nothing else has changed.
    before, after = tomllib.loads(OTEL[name].decode()), tomllib.loads(wrote.decode())
    assert {k: v for k, v in after.items() if k not in ("otel", "notify")} == {
        k: v for k, v in before.items() if k != "otel"}
    # It is open now, and after a restart.
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port), 5) as s:
            s.sendall(f"POST /v1/logs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
                      "Content-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n".encode())
            assert s.recv(100).startswith(b"HTTP/1.1 200 ")
        world.stop()
        world.start()
    world.hookd("init", "--agent", "codex", "--otel", "--yes")
    world.hookd("init", "--agent", "codex", "--yes")
    assert config.read_bytes() == wrote
    world.hookd("uninstall", "--yes")
    assert config.read_bytes() == OTEL[name] if OTEL[name] else not config.exists() or config.read_bytes() == b""


@pytest.mark.parametrize("name", ["no table", "a table with other keys"])
def test_telemetry_is_taken_out_of_a_file_that_others_changed(world, name):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_bytes(OTEL[name] + b"\n")
    world.hookd("config", "set", "http.port", free_port())
    world.hookd("init", "--agent", "codex", "--otel", "--yes")
    config.write_bytes(config.read_bytes() + b"[mine]\ny = 2\n")
    world.hookd("uninstall", "--yes")
    assert config.read_bytes() == OTEL[name] + b"\n[mine]\ny = 2\n"


@pytest.mark.parametrize("text", [b'otel.environment = "dev"\n', b'[otel]\nexporter = "none"\n',
                                  b'[otel.exporter.otlp-http]\nendpoint = "http://127.0.0.1:4318/v1/logs"\n'])
def test_a_foreign_exporter_stays(world, text):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_bytes(text)
    world.hookd("config", "set", "http.port", free_port())
    assert b"otel is already configured" in world.hookd("init", "--agent", "codex", "--otel", "--yes").stdout
    before = tomllib.loads(text.decode())
    assert tomllib.loads(config.read_bytes().decode())["otel"] == before["otel"]


def test_telemetry_follows_a_changed_port(world):
    config = world.home / ".codex/config.toml"
    config.parent.mkdir()
    for port in [free_port(), free_port()]:
        world.hookd("config", "set", "http.port", port)
        world.hookd("init", "--agent", "codex", "--otel", "--yes")
        endpoint = tomllib.loads(config.read_text())["otel"]["exporter"]["otlp-http"]["endpoint"]
        assert endpoint == f"http://127.0.0.1:{port}/v1/logs"
        world.stop()
