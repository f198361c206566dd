"""Other users of the same machine: they reach nothing of ours, and nothing of theirs is taken for ours.

The directories are private, so nobody else even gets to the sockets; here that is undone first, because each wall must
hold by itself."""
import json
import os
import socket
import subprocess
import sys

import pytest

from test_http import Web
from world import payload, tool, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
OTHER = 65534

TALK = """import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
try:
    s.sendall(sys.argv[2].encode())
    print(len(s.recv(1000)))
except (BrokenPipeError, ConnectionResetError):
    print(0)
"""

# Takes the place of a daemon, and says how many bytes whoever comes sends before it closes.
LISTEN = """import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen()
print(flush=True)
while True:
    c = s.accept()[0]
    print(len(c.recv(1000)), flush=True)
    c.close()
"""


def open_up(world):
    for p in (world.top, world.dir, world.dir / "run"):
        p.chmod(0o777)
    for p in (world.dir / "run").glob("*.sock"):
        p.chmod(0o777)


def as_other(world, code, *args):
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], user=OTHER, group=OTHER, capture_output=True, timeout=60, cwd="/")


# -- theirs to ours ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name, text", [("hookd.sock", '{"id":1,"method":"hello"}\n'), ("api.sock", "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n")])
def test_a_socket_answers_its_own_user_only(world, name, text):
    Web(world)
    open_up(world)
    done = as_other(world, TALK, world.dir / "run" / name, text)
    assert (done.returncode, done.stdout) == (0, b"0\n"), done.stderr
    with socket.socket(socket.AF_UNIX) as s:  # the same from ourselves is answered
        s.settimeout(20)
        s.connect(str(world.dir / "run" / name))
        s.sendall(text.encode())
        assert s.recv(1000)


def test_over_tcp_another_user_has_no_token(world):
    """The port is open to everybody; the files that say where and with what are not."""
    web = Web(world)
    world.top.chmod(0o755)
    code = ("import http.client, sys\nfor f in sys.argv[2:]:\n    try:\n        open(f)\n        print('read', f)\n    except PermissionError:\n        pass\n"
            "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20)\nc.request('GET', '/metrics')\nr = c.getresponse()\nprint(r.status, len(r.read()))\n")
    done = as_other(world, code, web.port, world.dir / "http.token", world.dir / "owner.token", world.dir / "run/http.address")
    assert done.stdout == b"401 0\n", done


# -- ours to theirs ----------------------------------------------------------------------------------


@pytest.fixture
def foreign(world):
    """Another user's program where our daemon would listen."""
    (world.dir / "run").mkdir()
    open_up(world)
    p = subprocess.Popen([sys.executable, "-c", LISTEN, str(world.dir / "run/hookd.sock")], user=OTHER, group=OTHER, stdout=subprocess.PIPE, cwd="/")
    world.started.append(p)
    assert p.stdout.readline() == b"\n"
    return p


def test_a_foreign_daemon_is_told_nothing(world, foreign):
    """T15: hookc answers its agent without it and keeps the event; hookd does not show its answers as ours."""
    done = world.hookc("PostToolUse", tool("secret"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert foreign.stdout.readline() == b"0\n"
    done = world.hookd("sessions", ok=False)
    assert done.returncode != 0 and done.stdout == b""
    foreign.kill()
    foreign.wait()
    assert set(foreign.stdout.read().split()) <= {b"0"}
    (world.dir / "run/hookd.sock").unlink()
    world.start()
    wait_for(lambda: [e["tool_use_id"] for e in world.events()] == ["tsecret"], what="the event that was kept")


@pytest.mark.parametrize("place", ["", "run", "journal", "spool"])
@pytest.mark.parametrize("link", [False, True])
def test_a_directory_of_another_user_is_not_used(world, place, link):
    """T16: whether it is theirs, or a link of theirs that leads to one of ours."""
    path, mine = world.dir / place, world.top / "mine"
    if place == "":
        (world.dir / "places").unlink()
        world.dir.rmdir()
    mine.mkdir(mode=0o700)
    if link:
        path.symlink_to(mine)
    else:
        path.mkdir(mode=0o777)
        path.chmod(0o777)
    os.chown(path, OTHER, OTHER, follow_symlinks=False)
    done = world.hookd("start", ok=False)
    assert done.returncode != 0 and str(path).encode() in done.stderr and b"another user" in done.stderr, done
    assert world.daemons() == []
    if place != "spool":
        assert list(mine.iterdir()) == [] and (link or list(path.iterdir()) == [])
    assert world.hookc("PostToolUse", tool("x")).returncode == 0


def test_modes_that_are_too_wide_are_narrowed(world):
    """T16: a directory of ours that everybody could write to is private again before anything is in it."""
    (world.dir / "run").mkdir()
    open_up(world)
    world.start()
    for p in (world.dir, world.dir / "run"):
        assert p.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("what", ["file", "link", "theirs"])
def test_what_lies_where_a_socket_would_be_is_not_removed(world, what):
    """T16: only a socket of our own may be a dead daemon's."""
    path, mine = world.dir / "run/hookd.sock", world.top / "mine"
    path.parent.mkdir(mode=0o700)
    mine.write_text("mine")
    if what == "file":
        path.write_text("mine")
    elif what == "link":
        path.symlink_to(mine)
    else:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(path))
        os.chown(path, OTHER, OTHER)
    done = world.hookd("start", ok=False)
    assert done.returncode != 0 and b"in the way" in done.stderr + (world.dir / "hookd.log").read_bytes(), done
    assert os.path.lexists(path) and mine.read_text() == "mine" and world.daemons() == []


def test_links_where_files_are_written_lead_nowhere(world):
    """T16: log, token and address were laid out as links before the first start."""
    (world.dir / "run").mkdir(mode=0o700)
    mine = world.top / "mine"
    for name in ("hookd.log", "http.token", "run/http.address"):
        (world.dir / name).symlink_to(mine)
    world.hookd("start")
    world.hookd("url", ok=False)
    world.hookc("PostToolUse", tool("x"))
    assert world.events() and not mine.exists()


@pytest.mark.parametrize("how", ["theirs", "link", "wide"])
def test_a_runtime_directory_of_another_user_is_done_without(world, how):
    """T16: the second address is a convenience; events arrive by the first."""
    run = world.top / "r"
    run.mkdir()
    env = {k: v for k, v in world.env.items() if k != "HOOKD_DIR"} | {"XDG_RUNTIME_DIR": str(run)}
    own = run / "hookd"
    if how == "link":
        own.symlink_to(world.home)
        os.chown(own, OTHER, OTHER, follow_symlinks=False)
    else:
        own.mkdir()
        own.chmod(0o777)
        if how == "theirs":
            os.chown(own, OTHER, OTHER)
    call = lambda *a, **k: subprocess.run([str(world.build / a[0]), *a[1:]], env=env, capture_output=True, timeout=60, cwd=world.top, **k)  # noqa: E731
    try:
        done = call("hookd", "start")
        assert done.returncode == 0, done
        assert (own / "hookd.sock").exists() == (how == "wide")
        assert how != "wide" or own.stat().st_mode & 0o777 == 0o700
        assert call("hookc", "claude", "Stop", input=json.dumps(payload("Stop")).encode()).returncode == 0
        assert json.loads(call("hookd", "tail", "--json").stdout)["event"] == "Stop"
    finally:
        call("hookd", "stop")
