"""The daemon's environment is its own: neither the PATH nor the HOME of whoever starts or calls it decides what runs."""
import http.server
import json
import os
import subprocess
import threading

import pytest

from test_hooks import bash, configure, one, script, world  # noqa: F401
from world import World, payload, wait_for

FIXED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def evil_bin(world, *names):
    """Programs of a project that leave a mark when they run."""
    folder, mark = world.top / "evil", world.top / "evil-ran"
    for name in names:
        script(folder / name, f"#!/bin/sh\necho {name} >> {mark}\nexit 0\n")
    return folder, mark


@pytest.fixture
def down():
    w = World()
    yield w
    w.close()


@pytest.mark.parametrize("how", ["start", "hookc", "foreground"])
def test_the_path_of_the_starter_does_not_count(down, how):
    folder, mark = evil_bin(down, "cat", "env", "printf", "sh")
    configure(down, one("PreToolUse", f"cat > {down.top}/seen; env > {down.top}/env", "Bash"))
    foreign = {"PATH": f"{folder}:{os.environ['PATH']}"}
    if how == "start":
        down.hookd("start", env=foreign)
    elif how == "hookc":
        down.hookc("Stop", payload("Stop", "first"), env=foreign)
        wait_for(down.daemons, what="a daemon")
    else:
        down.started.append(subprocess.Popen([str(down.build / "hookd"), "run", "--dir", str(down.dir)],
                                             env={**down.env, **foreign}, stdout=subprocess.DEVNULL))
        wait_for(lambda: (down.dir / "run/hookd.sock").exists(), what="the socket")
    down.hookc("PreToolUse", bash("ls", session="clean"))
    assert not mark.exists()
    assert f"PATH={FIXED}" in (down.top / "env").read_text().splitlines()


def test_the_path_of_the_caller_does_not_count(world):
    folder, mark = evil_bin(world, "cat", "env")
    configure(world, {"PreToolUse": [{"hooks": [
        {"type": "command", "command": f"cat > /dev/null; env > {world.top}/env", "env": ["PATH", "HOME"]}]}]})
    world.hookc("PreToolUse", bash("ls"), env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder)})
    assert not mark.exists()
    got = (world.top / "env").read_text().splitlines()
    assert f"PATH={FIXED}" in got and f"HOME={world.home}" in got


def test_the_users_config_says_where_programs_are(down):
    script(down.top / "mine/check", "#!/bin/sh\necho from my own directory >&2\nexit 2\n")
    down.hookd("config", "set", "hooks.path", f"{down.top}/mine:/usr/bin:/bin")
    assert down.hookd("config", "get", "hooks.path").stdout.decode().strip() == f"{down.top}/mine:/usr/bin:/bin"
    text = json.loads((down.dir / "config.json").read_text())
    text["hooks"].update(one("PreToolUse", "check", "Bash"))
    (down.dir / "config.json").write_text(json.dumps(text))
    down.hookd("config", "validate")
    down.hookd("hooks", "validate")
    assert b"from my own directory" in down.hookc("PreToolUse", bash("ls")).stdout
    assert down.hookd("config", "set", "hooks.path", "bin:/usr/bin", ok=False).returncode == 1


def test_a_project_does_not_say_where_programs_are(world):
    root = world.top / "p"
    (root / ".hookd").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".hookd/config.json").write_text(json.dumps({"hooks": {"path": "/evil"}}))
    told = [p["text"] for s in world.rpc("hooks", cwd=str(root))["sources"] for p in s["problems"]]
    assert any("hooks.path is ignored in a project" in t for t in told)


class Take(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.seen.append(self.headers.get("Authorization"))
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


def test_a_foreign_curl_never_sees_the_credentials(down):
    folder, mark = evil_bin(down, "curl", "printf")
    server = http.server.HTTPServer(("127.0.0.1", 0), Take)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        configure(down, {"path": f"{folder}:/usr/bin:/bin", "PreToolUse": [{"hooks": [
            {"type": "http", "url": f"http://127.0.0.1:{server.server_port}/x", "headers": {"Authorization": "Bearer of-mine"}}]}]})
        down.hookd("start", env={"PATH": f"{folder}:{os.environ['PATH']}"})
        down.hookc("PreToolUse", bash("ls"))
    finally:
        server.shutdown()
    assert server.seen == ["Bearer of-mine"] and not mark.exists()


@pytest.mark.parametrize("how", ["start", "hookc", "offline"])
def test_a_foreign_home_is_not_the_users(down, how):
    foreign = down.top / "foreign"
    mark = down.top / "foreign-ran"
    path = foreign / ".claude/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": f"touch {mark}; exit 2", "on_failure": "deny"}]}]}}))
    env = {"HOME": str(foreign)}
    if how == "start":
        down.hookd("start", env=env)
        done = down.hookc("PreToolUse", bash("ls", session="clean"), agent="codex")
    elif how == "hookc":
        down.hookc("Stop", payload("Stop", "first"), env=env)
        wait_for(down.daemons, what="a daemon")
        done = down.hookc("PreToolUse", bash("ls", session="clean"), agent="codex")
    else:
        (down.dir / "run").mkdir()
        (down.dir / "run/hookd.sock").write_text("nobody listens here")
        done = down.hookc("PreToolUse", bash("ls", session="clean"), agent="codex", env=env)
    assert done.stdout == b"" and not mark.exists()
    if how != "offline":
        assert "foreign" not in json.dumps(down.rpc("hooks", cwd=str(down.top))["sources"])


def test_the_home_is_the_accounts_unless_the_state_directory_says_otherwise(down):
    (down.dir / "places").unlink()
    down.hookd("start")
    environ = dict(e.split(b"=", 1) for e in open(f"/proc/{down.pid()}/environ", "rb").read().split(b"\0") if e)
    assert environ[b"HOME"].decode() == os.path.expanduser("~" + os.environ.get("USER", "root"))
    assert set(environ) <= {b"HOME", b"PATH", b"LANG", b"TZ", b"ASAN_OPTIONS", b"UBSAN_OPTIONS", b"TSAN_OPTIONS"}


def test_init_under_another_home_is_remembered_once(down):
    (down.dir / "places").unlink()
    (down.home / ".claude").mkdir()
    down.hookd("init", "--agent", "claude", "--yes", "--no-import")
    assert f"home={down.home}\n" in (down.dir / "places").read_text()
    (down.top / "other/.claude").mkdir(parents=True)
    done = down.hookd("init", "--agent", "claude", "--yes", "--no-import", env={"HOME": str(down.top / "other")})
    assert b"as your home" in done.stderr
    assert f"home={down.home}\n" in (down.dir / "places").read_text()


@pytest.mark.parametrize("name, value", [("LD_PRELOAD", "/nonexistent.so"), ("BASH_ENV", "/nonexistent"), ("IFS", "/"),
                                         ("TZ", ":/etc/passwd"), ("LANG", "../../x"), ("HTTP_PROXY", "http://evil"),
                                         ("XDG_CONFIG_HOME", "/evil"), ("TMPDIR", "/evil"), ("PYTHONPATH", "/evil")])
def test_nothing_else_of_the_starter_reaches_a_hook(down, name, value):
    configure(down, one("PreToolUse", f"env > {down.top}/env", "Bash"))
    down.hookd("start", env={name: value})
    down.hookc("PreToolUse", bash("ls"))
    assert f"{name}={value}" not in (down.top / "env").read_text().splitlines()


def test_a_preloaded_library_of_the_project_does_not_reach_hookd(down, tmp_path):
    """Without a daemon hookc hands over to hookd, which is linked dynamically."""
    source, library, mark = tmp_path / "x.c", tmp_path / "x.so", tmp_path / "loaded"
    source.write_text('#include <fcntl.h>\n__attribute__((constructor)) static void f(void)'
                      f'{{ open("{mark}", O_CREAT | O_WRONLY, 0600); }}\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    down.hookc("Stop", payload("Stop"), env={"LD_PRELOAD": str(library)})
    assert not mark.exists()
