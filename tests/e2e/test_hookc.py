"""hookc from the outside: the release binary against a small daemon that lives in this file.

Every test has its own directory with a short name (socket addresses end after 107 bytes), its own
copy of hookc, and beside that copy a stand-in for hookd that writes down how it was called. Times
appear only as bounds against hanging. HOOKC names another binary, e.g. one built with sanitizers.
"""
import fcntl
import hashlib
import json
import os
import pty
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOOKC = Path(os.environ.get("HOOKC", ROOT / "build" / "hookc"))
RELEASE = HOOKC.name == "hookc"
release_only = pytest.mark.skipif(not RELEASE, reason="sanitizers need memory and descriptors")

HOOK, WAIT, DONE, REFUSED = 1, 2, 3, 4
CAPTURE_MS, DECISION_MS = 150, 400
KEPT = 8 << 20
HANG = 20  # seconds after which a test says that hookc hangs

PAYLOAD = json.dumps({
    "session_id": "5a1e", "hook_event_name": "PostToolUse", "tool_name": "Bash",
    "tool_input": {"command": "echo '}' \"]\" \\ {["}, "tool_response": {"stdout": "grün\n"},
}).encode()


# -- frames ---------------------------------------------------------------------------------------

class Hook:
    """A decoded HOOK frame."""

    def __init__(self, frame):
        magic, proto, kind, zero, length = struct.unpack("<BBBBI", frame[:8])
        assert (magic, proto, kind, zero) == (0xF5, 1, HOOK, 0)
        assert length == len(frame) - 8
        self.frame, self.args, self.env = frame, [], {}
        self.event = self.cwd = ""
        self.cut = None
        at = 8
        while at < len(frame):
            tag, n = struct.unpack_from("<BI", frame, at)
            value = frame[at + 5:at + 5 + n]
            assert len(value) == n
            at += 5 + n
            self.take(tag, value)

    def take(self, tag, value):
        if tag == 1:
            self.id = value
        elif tag in (2, 3, 4, 5):
            setattr(self, {2: "at_ms", 3: "deadline_ms", 4: "pid", 5: "ppid"}[tag],
                    int.from_bytes(value, "little"))
        elif tag in (6, 7, 8):
            setattr(self, {6: "agent", 7: "event", 8: "cwd"}[tag], os.fsdecode(value))
        elif tag == 9:
            self.args.append(os.fsdecode(value))
        elif tag == 10:
            name, text = os.fsdecode(value).split("=", 1)
            self.env[name] = text
        elif tag == 11:
            self.cut = (int.from_bytes(value[:8], "little"), value[8:])
        elif tag == 12:
            self.payload = value


def reply(kind, out=b"", err=b"", code=0, stored=1, wait_ms=0):
    body = struct.pack("<BBHIII", stored, code, 0, wait_ms, len(out), len(err)) + out + err
    return struct.pack("<BBBBI", 0xF5, 1, kind, 0, len(body)) + body


def receive_frame(conn):
    data = bytearray()
    while len(data) < 8 or len(data) < 8 + struct.unpack_from("<I", data, 4)[0]:
        piece = conn.recv(1 << 20)
        if not piece:
            return None
        data += piece
    return bytes(data)


class Daemon:
    """Listens at `path`; `answer` is bytes to send for every frame, or a function (conn, hook)."""

    def __init__(self, path, answer=reply(DONE), backlog=64):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.hooks, self.answer = [], answer
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.relpath(path) if len(str(path)) > 100 else str(path))
        self.listener.listen(backlog)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                conn = self.listener.accept()[0]
            except OSError:
                return
            with conn:
                frame = receive_frame(conn)
                if frame is None:
                    continue
                hook = Hook(frame)
                self.hooks.append(hook)
                try:
                    if callable(self.answer):
                        self.answer(conn, hook)
                    else:
                        conn.sendall(self.answer)
                except OSError:
                    pass  # hookc went away, which some tests want

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(HANG)


# -- the place of one test ------------------------------------------------------------------------

FAKE_HOOKD = """#!{python} -SE
import os, sys
here = os.path.dirname(os.path.abspath(__file__))
args = sys.argv[1:]
fd = int(args[args.index("--fd") + 1])
with open(here + "/called.tmp", "wb") as out:
    out.write("\\0".join(args + [os.getcwd()]).encode("utf-8", "surrogateescape"))
with open(here + "/frame", "wb") as out:
    while piece := os.read(fd, 1 << 20):
        out.write(piece)
os.rename(here + "/called.tmp", here + "/called")
sys.stdout.write("offline answer")
"""


class Place:
    def __init__(self, root):
        self.root = root
        self.state = root / "s"
        self.sock = self.state / "run" / "hookd.sock"
        self.bin = root / "bin"
        self.bin.mkdir()
        self.hookc = self.bin / "hookc"
        shutil.copy(HOOKC, self.hookc)
        self.hookd = self.bin / "hookd"
        self.hookd.write_text(FAKE_HOOKD.format(python=sys.executable))
        self.hookd.chmod(0o755)
        self.daemons, self.children, self.lock = [], [], None

    def daemon(self, answer=reply(DONE), path=None, proof=True, **more):
        """With `proof` it holds the daemon's lock, as hookd does."""
        self.daemons.append(Daemon(path or self.sock, answer, **more))
        if proof and not self.lock:
            self.sock.parent.mkdir(parents=True, exist_ok=True)
            self.lock = open(self.sock.parent / "hookd.lock", "w")
            fcntl.lockf(self.lock, fcntl.LOCK_EX)
        return self.daemons[-1]

    def start(self, *args, env=None, **more):
        more.setdefault("stdin", subprocess.PIPE)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("cwd", self.root)
        env = {"HOOKD_DIR": str(self.state)} if env is None else env
        child = subprocess.Popen([str(self.hookc), *map(str, args)], env=env, **more)
        self.children.append(child)
        return child

    def run_once(self, *args, data=PAYLOAD, **more):
        """Runs hookc to its end; the result has returncode, stdout, stderr."""
        child = self.start(*args, **more)
        out, err = child.communicate(data if child.stdin else None, timeout=HANG)
        return subprocess.CompletedProcess(args, child.returncode, out, err)

    def run(self, *args, **more):
        """The same, for tests with a daemon that answers. On a machine so loaded that Python is
        late with its answer, hookc is right to hand over; then the attempt does not count."""
        for _ in range(10):
            done = self.run_once(*args, **more)
            if not self.daemons or not self.was_late():
                break
        return done

    def was_late(self):
        if not (self.bin / "called").exists() or self.reason() not in ("timeout", "busy"):
            return False
        (self.bin / "called").unlink()
        for daemon in self.daemons:
            daemon.hooks.clear()
        return True

    def handed_over(self):
        """(arguments of hookd, its working directory, the frame it was given)"""
        called = (self.bin / "called").read_bytes().decode("utf-8", "surrogateescape").split("\0")
        return called[:-1], called[-1], (self.bin / "frame").read_bytes()

    def reason(self):
        args = self.handed_over()[0]
        return args[args.index("--reason") + 1]

    def close(self):
        for child in self.children:
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)
                child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass
        for daemon in self.daemons:
            daemon.close()


@pytest.fixture
def place():
    root = Path(tempfile.mkdtemp(prefix="hc", dir="/tmp"))
    here = Place(root)
    yield here
    here.close()
    shutil.rmtree(root, ignore_errors=True)


def assert_neutral(done):
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def assert_offline(done):
    assert (done.returncode, done.stdout) == (0, b"offline answer")


# -- the ordinary event ---------------------------------------------------------------------------

def test_one_event(place):
    daemon = place.daemon(reply(DONE, b'{"a":1}\n', b"note\n", 3))
    before = time.time() * 1000
    done = place.run("claude", "PostToolUse", "x", "y")
    assert (done.returncode, done.stdout, done.stderr) == (3, b'{"a":1}\n', b"note\n")
    hook, = daemon.hooks
    assert (hook.agent, hook.event, hook.args) == ("claude", "PostToolUse", ["x", "y"])
    assert (hook.cwd, hook.pid, hook.ppid) == (str(place.root), place.children[0].pid, os.getpid())
    assert hook.payload == PAYLOAD and hook.cut is None
    assert before - 1000 < hook.at_ms < time.time() * 1000 + 1000
    assert int.from_bytes(hook.id[:6], "big") == hook.at_ms


def test_ids_differ(place):
    daemon = place.daemon()
    for _ in range(20):
        assert_neutral(place.run("claude", "Stop"))
    assert len({hook.id for hook in daemon.hooks}) == 20


def test_exit_two_only_when_told(place):
    place.daemon(reply(DONE, err=b"blocked", code=2))
    done = place.run("claude", "PreToolUse")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"blocked")


def test_large_answer(place):
    out, err = b"o" * 700_000, b"e" * 300_000
    place.daemon(reply(DONE, out, err))
    done = place.run("claude", "Stop")
    assert done.stdout == out and done.stderr == err


def test_answer_beyond_the_limit_is_none(place):
    place.daemon(reply(DONE, b"x" * (2 << 20)))
    assert_offline(place.run("claude", "Stop"))
    assert place.reason() == "protocol"


# -- framing of stdin ------------------------------------------------------------------------------

def open_pipe_answer(place, data, *args):
    """What hookc sends while the writer keeps the pipe open."""
    daemon = place.daemon()
    child = place.start("claude", *args)
    child.stdin.write(data)
    child.stdin.flush()
    assert child.wait(HANG) == 0
    return daemon.hooks[0]


@pytest.mark.parametrize("data", [PAYLOAD, b"[]", b'\xef\xbb\xbf {"a":"}"}', b"\n\n{}",
                                  b"[" * 5000 + b"]" * 5000, b'{"\\"":"\\\\"}'])
def test_does_not_wait_for_eof(place, data):
    assert open_pipe_answer(place, data).payload == data


def test_what_follows_the_value_is_not_sent(place):
    assert open_pipe_answer(place, b'{"a":1}\n{"b":2}\n').payload == b'{"a":1}'


def test_one_byte_at_a_time(place):
    daemon = place.daemon()
    child = place.start("claude", "PostToolUse")
    for i in range(len(PAYLOAD)):
        child.stdin.write(PAYLOAD[i:i + 1])
        child.stdin.flush()
        time.sleep(0.001)
    assert child.wait(HANG) == 0
    assert daemon.hooks[0].payload == PAYLOAD


@pytest.mark.parametrize("data", [b"", b" \n", b"null", b'"text"', b"12", b"hello }",
                                  PAYLOAD[:-1], b"{", '{"a":1}'.encode("utf-16"), b"\0{}"])
def test_the_end_of_anything_else_is_eof(place, data):
    daemon = place.daemon()
    assert_neutral(place.run("claude", "PostToolUse", data=data))
    assert daemon.hooks[0].payload == data


def test_silence_ends_what_has_no_end(place):
    assert open_pipe_answer(place, b"no json").payload == b"no json"


def test_writer_dies_in_the_middle(place):
    daemon = place.daemon()
    read, write = os.pipe()
    child = place.start("claude", "PreToolUse", stdin=read)
    os.close(read)
    os.write(write, PAYLOAD[:40])
    os.close(write)
    assert child.wait(HANG) == 0
    assert daemon.hooks[0].payload == PAYLOAD[:40]


# -- strange standard descriptors ------------------------------------------------------------------

def close_fds(*fds):
    def closer():
        for fd in fds:
            os.close(fd)
    return closer


def test_stdin_closed(place):
    daemon = place.daemon(reply(DONE, b"ok"))
    assert place.run("claude", "Stop", stdin=None, preexec_fn=close_fds(0)).stdout == b"ok"
    assert daemon.hooks[0].payload == b""


def test_stdin_terminal(place):
    daemon = place.daemon()
    master, slave = pty.openpty()
    child = place.start("claude", "Stop", stdin=slave)
    assert child.wait(HANG) == 0
    os.close(master)
    os.close(slave)
    assert daemon.hooks[0].payload == b""


def test_stdin_terminal_with_text(place):
    daemon = place.daemon()
    master, slave = pty.openpty()
    child = place.start("claude", "Stop", stdin=slave)
    os.write(master, b'{"typed":1}\n')
    assert child.wait(HANG) == 0
    os.close(master)
    os.close(slave)
    assert daemon.hooks[0].payload == b'{"typed":1}'


@release_only
def test_stdin_zero(place):
    daemon = place.daemon()
    with open("/dev/zero", "rb") as zero:
        assert_neutral(place.run("claude", "Stop", stdin=zero))
    assert daemon.hooks[0].payload == bytes(KEPT)
    assert daemon.hooks[0].cut[0] > KEPT


def test_stdin_directory(place):
    daemon = place.daemon()
    fd = os.open("/", os.O_RDONLY)
    assert_neutral(place.run("claude", "Stop", stdin=fd))
    os.close(fd)
    assert daemon.hooks[0].payload == b""


def test_stdin_file(place):
    daemon = place.daemon()
    (place.root / "p").write_bytes(PAYLOAD + b"\n")
    with open(place.root / "p", "rb") as file:
        assert_neutral(place.run("claude", "Stop", stdin=file))
    assert daemon.hooks[0].payload == PAYLOAD


@pytest.mark.parametrize("blocking", [True, False])
def test_stdin_socket(place, blocking):
    daemon = place.daemon()
    ours, theirs = socket.socketpair()
    theirs.setblocking(blocking)
    child = place.start("claude", "Stop", stdin=theirs.fileno())
    time.sleep(0.05)
    ours.sendall(PAYLOAD[:10])
    time.sleep(0.05)
    ours.sendall(PAYLOAD[10:])
    assert child.wait(HANG) == 0
    # The description is shared with the agent: its flags are not ours to change.
    assert os.get_blocking(theirs.fileno()) == blocking
    ours.close()
    theirs.close()
    assert daemon.hooks[0].payload == PAYLOAD


def test_stdout_closed(place):
    place.daemon(reply(DONE, b"out", b"err", 7))
    done = place.run("claude", "Stop", stdout=None, preexec_fn=close_fds(1))
    assert (done.returncode, done.stderr) == (7, b"err")


def test_stderr_closed(place):
    place.daemon(reply(DONE, b"out", b"err", 7))
    done = place.run("claude", "Stop", stderr=None, preexec_fn=close_fds(2))
    assert (done.returncode, done.stdout) == (7, b"out")


@pytest.mark.parametrize("fds", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_several_closed(place, fds):
    seen = []

    def answer(conn, hook):
        # What hookc prints must not come back through the socket.
        conn.sendall(reply(DONE, b"out", b"err", 7))
        conn.settimeout(HANG)
        seen.append(conn.recv(100))

    place.daemon(answer)
    child = place.start("claude", "Stop", stdin=None, preexec_fn=close_fds(*fds))
    assert child.wait(HANG) == 7
    place.daemons[0].close()
    place.daemons.clear()
    assert seen == [b""]


@pytest.mark.parametrize("fds", [(0,), (1,), (0, 1, 2)])
def test_closed_and_no_daemon(place, fds):
    child = place.start("claude", "Stop", stdin=subprocess.DEVNULL, preexec_fn=close_fds(*fds))
    assert child.wait(HANG) == 0
    args, _, frame = place.handed_over()
    assert int(args[args.index("--fd") + 1]) > 2
    assert Hook(frame).agent == "claude"


def test_stdout_full_device(place):
    place.daemon(reply(DONE, b"out", b"err", 7))
    with open("/dev/full", "wb") as full:
        done = place.run("claude", "Stop", stdout=full)
    assert (done.returncode, done.stderr) == (7, b"err")


@pytest.mark.parametrize("before", [None, lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)])
def test_stdout_without_reader(place, before):
    place.daemon(reply(DONE, b"out" * 100_000, b"err", 7))
    read, write = os.pipe()
    os.close(read)
    done = place.run("claude", "Stop", stdout=write, preexec_fn=before)
    os.close(write)
    assert (done.returncode, done.stderr) == (7, b"err")


def full_pipe():
    read, write = os.pipe()
    os.set_blocking(write, False)
    size = 0
    try:
        while True:
            size += os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    return read, write, size


def test_stdout_read_late(place):
    out = b"answer" * 1000
    place.daemon(reply(DONE, out))
    read, write, size = full_pipe()
    child = place.start("claude", "Stop", stdout=write)
    os.close(write)
    child.stdin.write(PAYLOAD)
    child.stdin.close()
    child.stdin = None
    time.sleep(0.3)
    assert child.poll() is None
    got = b""
    while piece := os.read(read, 65536):
        got += piece
    os.close(read)
    assert got[size:] == out and child.wait(HANG) == 0


def test_stdout_never_read(place):
    place.daemon(reply(DONE, b"out", code=7))
    read, write, _ = full_pipe()
    assert place.run("claude", "Stop", stdout=write).returncode == 7
    os.close(read)
    os.close(write)


# -- environment and limits ------------------------------------------------------------------------

@pytest.mark.parametrize("home", [None, "", "relative", "/", "/nonexistent"])
def test_home_is_no_use(place, home):
    env = {} if home is None else {"HOME": home}
    assert_offline(place.run("claude", "Stop", env=env))
    assert place.reason() == "absent"
    assert "--dir" not in place.handed_over()[0]


@pytest.mark.parametrize("env,where", [
    ({"HOOKD_DIR": "{}/a"}, "a/run"),
    ({"HOOKD_DIR": "relative", "XDG_RUNTIME_DIR": "{}/r"}, "r/hookd"),
    ({"HOOKD_DIR": "", "XDG_RUNTIME_DIR": "{}/r", "XDG_STATE_HOME": "{}/s"}, "r/hookd"),
    ({"XDG_RUNTIME_DIR": "{}/none", "XDG_STATE_HOME": "{}/s"}, "s/hookd/run"),
    ({"XDG_RUNTIME_DIR": "r", "XDG_STATE_HOME": "s", "HOME": "{}/h"},
     "h/.local/state/hookd/run"),
    ({"HOME": "{}/h"}, "h/.local/state/hookd/run"),
])
def test_places(place, env, where):
    env = {name: value.format(place.root) for name, value in env.items()}
    daemon = place.daemon(path=place.root / where / "hookd.sock")
    assert_neutral(place.run("claude", "Stop", env=env))
    assert len(daemon.hooks) == 1


@pytest.mark.parametrize("form", ["two", "equals"])
def test_dir_beats_environment(place, form):
    theirs = place.daemon(path=place.root / "theirs/run/hookd.sock")
    ours = place.daemon(path=place.root / "ours/run/hookd.sock")
    where = place.root / "ours"
    args = ["--dir", where] if form == "two" else [f"--dir={where}"]
    env = {"HOOKD_DIR": str(place.root / "theirs"), "XDG_RUNTIME_DIR": str(place.root / "theirs")}
    assert_neutral(place.run(*args, "claude", "Stop", env=env))
    assert (len(ours.hooks), len(theirs.hooks)) == (1, 0)


def test_dir_without_daemon_asks_nobody_else(place):
    theirs = place.daemon(path=place.root / "theirs/run/hookd.sock")
    done = place.run("--dir", place.root / "ours", "claude", "Stop",
                     env={"HOOKD_DIR": str(place.root / "theirs")})
    assert_offline(done)
    assert theirs.hooks == []
    args = place.handed_over()[0]
    assert args[:3] == ["offline", "--dir", str(place.root / "ours")]


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("listening", [True, False])
def test_path_too_long_for_a_socket(place, listening, relative, monkeypatch):
    deep = place.root / ("d" * 60) / ("e" * 60) / ("f" * 60)
    (deep / "run").mkdir(parents=True)
    given = deep.relative_to(place.root) if relative else deep
    if listening:
        monkeypatch.chdir(deep / "run")
        daemon = place.daemon(path=deep / "run" / "hookd.sock")
        assert_neutral(place.run("--dir", given, "claude", "Stop"))
        assert daemon.hooks[0].cwd == str(place.root)
    else:
        assert_offline(place.run("--dir", given, "claude", "Stop"))
        args, cwd, frame = place.handed_over()
        assert args[2] == str(given) and cwd == str(place.root) == Hook(frame).cwd


def test_path_too_long_for_anything(place):
    assert_offline(place.run("--dir", "/" + "x/" * 3000, "claude", "Stop"))
    assert place.reason() == "absent"


def test_working_directory_gone(place):
    daemon = place.daemon()
    gone = place.root / "gone"
    gone.mkdir()
    done = place.run("claude", "Stop", cwd=gone, preexec_fn=lambda: os.rmdir(gone))
    assert_neutral(done)
    assert daemon.hooks[0].cwd == ""


@release_only
def test_small_limits(place):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))

    daemon = place.daemon(reply(DONE, b"ok"))
    data = b'{"a":"' + b"x" * (9 << 20) + b'"}'
    assert place.run("claude", "Stop", data=data, preexec_fn=limit).stdout == b"ok"
    assert daemon.hooks[0].cut[0] == len(data)


@release_only
def test_no_descriptor_left(place):
    place.daemon()
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    assert place.run("claude", "Stop", preexec_fn=limit).returncode == 0


@pytest.mark.parametrize("mask", [0, 0o777])
def test_umask(place, mask):
    place.daemon(reply(DONE, b"ok"))
    assert place.run("claude", "Stop", preexec_fn=lambda: os.umask(mask) and None).stdout == b"ok"


def test_signals_blocked_or_ignored(place):
    def spoil():
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    place.daemon(reply(DONE, b"ok"))
    assert place.run("claude", "Stop", preexec_fn=spoil).stdout == b"ok"


def test_environment_allow_list(place):
    daemon = place.daemon()
    passes = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/p", "CLAUDE_CODE_SESSION_ID": "s",
              "CLAUDE_CODE_REMOTE_ENVIRONMENT": "x", "AI_AGENT": "a", "AGENT_TEAM": "t",
              "TERM": "xterm", "TMUX_PANE": "%1", "SSH_TTY": "/dev/pts/1", "CI": "",
              "CURSOR_VERSION": "3", "GEMINI_SESSION_ID": "g", "CODEX_HOME": "/c"}
    stays = {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_MESSAGING_TOKEN": "t",
             "CLAUDE_CODE_MESSAGING_SOCKET": "/s", "AGENT_TOKEN": "t", "AGENT_API_KEY": "k",
             "AGENT_SECRET": "s", "AGENT_DB_PASSWORD": "p", "AGENT_ACCESS_TOKEN_FILE": "f",
             "CLAUDE_CODE_REMOTE_TOKEN": "t", "GEMINI_API_KEY": "k", "CODEX_API_KEY": "k",
             "CURSOR_USER_EMAIL": "m", "PATH": "/bin", "LD_PRELOAD": "", "SSH_AUTH_SOCK": "/a"}
    env = {"HOOKD_DIR": str(place.state), **passes, **stays}
    assert_neutral(place.run("claude", "Stop", env=env))
    assert daemon.hooks[0].env == passes


def test_environment_is_bounded(place):
    daemon = place.daemon()
    env = {f"AGENT_{i}": "v" * 6000 for i in range(100)}
    assert_neutral(place.run("claude", "Stop", *["a" * 9000] * 30,
                             env={**env, "HOOKD_DIR": str(place.state)}))
    hook = daemon.hooks[0]
    assert 8 <= len(hook.env) <= 64 and len(hook.args) <= 16
    assert {len(value) for value in hook.env.values()} == {4096}
    assert len(hook.frame) - len(hook.payload) <= 96 << 10


# -- command line ---------------------------------------------------------------------------------

def test_version(place):
    done = place.run("--version", stdin=subprocess.DEVNULL)
    words = done.stdout.split()
    assert words[0] == b"hookc" and words[2:] == [b"protocol", b"1"]
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("args,code", [((), 64), (("--help",), 0), (("--dir",), 64),
                                       (("--dir", "/x"), 64), (("--unknown",), 64)])
def test_usage(place, args, code):
    done = place.run(*args, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (code, b"")
    assert b"usage: hookc" in done.stderr


@pytest.mark.parametrize("args,agent,event,rest", [
    (("claude",), "claude", "", []),
    (("claude", "Stop"), "claude", "Stop", []),
    (("claude", "--later", "Stop"), "claude", "", ["--later", "Stop"]),
    (("--later", "claude", "Stop", "-x"), "claude", "Stop", ["-x"]),
    (("claude", ""), "claude", "", []),
    (("", "Stop"), "generic", "Stop", []),
    (("a" * 5000, "b" * 5000), "a" * 512, "b" * 512, []),
])
def test_arguments(place, args, agent, event, rest):
    daemon = place.daemon()
    assert_neutral(place.run(*args))
    hook = daemon.hooks[0]
    assert (hook.agent, hook.event, hook.args) == (agent, event, rest)


@pytest.mark.parametrize("before", [[], ["--flag"]])
def test_notify_takes_its_argument(place, before):
    daemon = place.daemon()
    text = '{"type":"agent-turn-complete","last-assistant-message":"grün"}'
    child = place.start("codex", "notify", *before, text)  # stdin stays open and silent
    assert child.wait(HANG) == 0
    hook = daemon.hooks[0]
    assert (hook.agent, hook.event, hook.args) == ("codex", "notify", before)
    assert hook.payload == text.encode()


def test_notify_without_argument_reads_stdin(place):
    daemon = place.daemon()
    assert_neutral(place.run("codex", "notify"))
    assert daemon.hooks[0].payload == PAYLOAD


@pytest.mark.parametrize("args,data,patience", [
    (("PreToolUse",), b"{}", DECISION_MS),
    (("pre-tool-use",), b"{}", DECISION_MS),
    (("PostToolUse",), b'{"hook_event_name":"PreToolUse"}', CAPTURE_MS),
    ((), b'{"hook_event_name":"PreToolUse"}', DECISION_MS),
    ((), b'{"hook_event_name" :\n "beforeShellExecution"}', DECISION_MS),
    ((), b'{"agent_action_name":"pre_run_command"}', DECISION_MS),
    # A hook line that names no event may stand at any.
    (("",), b'{"hook_event_name":"PreToolUse"}', DECISION_MS),
    ((), b'{"hook_event_name":"PostToolUse","text":"PreToolUse"}', DECISION_MS),
    ((), b'{"hook_event_name":', DECISION_MS),
    ((), b"", DECISION_MS),
])
def test_patience(place, args, data, patience):
    daemon = place.daemon()
    assert_neutral(place.run("claude", *args, data=data))
    assert daemon.hooks[0].deadline_ms == patience


# -- the daemon's behaviour -----------------------------------------------------------------------

def test_wait_frames_extend(place):
    def answer(conn, hook):
        for _ in range(40):
            conn.sendall(reply(WAIT, stored=1, wait_ms=50))
            time.sleep(0.02)
        conn.sendall(reply(DONE, b"at last"))

    place.daemon(answer)
    assert place.run("claude", "PostToolUse").stdout == b"at last"


@pytest.mark.parametrize("event", ["PostToolUse", "PreToolUse"])
@pytest.mark.parametrize("pause", [0.001, 0.02, 0.1])
def test_who_only_listens_cannot_make_hookc_wait(place, event, pause):
    """It says WAIT for ever, but does not hold the daemon's lock: the first deadline is the last."""
    def answer(conn, hook):
        for _ in range(int(5 / pause)):  # then it closes, and hookc would call it absent
            conn.sendall(reply(WAIT, stored=1, wait_ms=50))
            time.sleep(pause)

    place.daemon(answer, proof=False)
    assert_offline(place.run_once("claude", event))
    assert place.reason() == "timeout"


def test_another_process_with_the_lock_proves_nothing(place):
    """Somebody holds the lock, but not who listens."""
    place.sock.parent.mkdir(parents=True)
    holder = subprocess.Popen([sys.executable, "-c", "import fcntl, sys, time\n"
                               "f = open(sys.argv[1], 'w')\nfcntl.lockf(f, fcntl.LOCK_EX)\nprint('held', flush=True)\n"
                               "sys.stdin.read()", str(place.sock.parent / "hookd.lock")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"

        def answer(conn, hook):
            for _ in range(600):
                conn.sendall(reply(WAIT, stored=1, wait_ms=50))
                time.sleep(0.05)

        place.daemon(answer, proof=False)
        assert_offline(place.run_once("claude", "PreToolUse"))
        assert place.reason() == "timeout"
    finally:
        holder.stdin.close()
        holder.wait(HANG)


def test_answer_in_pieces(place):
    def answer(conn, hook):
        for byte in reply(WAIT) + reply(DONE, b"out", b"err", 4):
            conn.sendall(bytes([byte]))

    place.daemon(answer)
    done = place.run("claude", "PreToolUse")
    assert (done.returncode, done.stdout, done.stderr) == (4, b"out", b"err")


def test_everything_after_done_is_ignored(place):
    place.daemon(reply(DONE, b"out") + reply(DONE, b"second") + b"x" * 100000)
    assert place.run("claude", "Stop").stdout == b"out"


def wait_for_hang_up(conn, hook):
    conn.settimeout(HANG)
    conn.recv(1)


def wait_then_hang(conn, hook):
    conn.sendall(reply(WAIT, wait_ms=60000))
    wait_for_hang_up(conn, hook)


def half_an_answer(conn, hook):
    conn.sendall(reply(DONE, b"never to be seen")[:-1])
    wait_for_hang_up(conn, hook)


@pytest.mark.parametrize("answer,reason", [
    (wait_for_hang_up, "timeout"),
    (wait_then_hang, "timeout"),
    (half_an_answer, "timeout"),
    (reply(REFUSED), "refused"),
    (b"\xf5\x09\x04\x00" + bytes(4), "refused"),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol"),
    (b"\xf5\x01\x03\x00\xff\xff\xff\xff", "protocol"),
    (b"\xf5\x02\x03\x00\x10\x00\x00\x00" + bytes(16), "protocol"),
    (b"\xf5\x01\x01\x00\x10\x00\x00\x00" + bytes(16), "protocol"),
    (reply(DONE, stored=9), "protocol"),
    (reply(WAIT) * 100_000, "protocol"),
    (b"", "absent"),
    (reply(DONE, b"cut off")[:-1], "absent"),
])
def test_no_usable_answer(place, answer, reason):
    place.daemon(answer)
    assert_offline(place.run_once("claude", "PreToolUse"))
    assert place.reason() == reason


def test_connection_closed_unread(place):
    place.sock.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place.sock))
        listener.listen(1)
        child = place.start("claude", "Stop")
        child.stdin.write(b'{"a":"' + b"x" * 3_000_000 + b'"}')
        child.stdin.flush()
        listener.accept()[0].close()
        assert child.wait(HANG) == 0
    assert place.reason() == "absent"


def test_backlog_full(place):
    place.sock.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place.sock))
        listener.listen(0)
        waiting = fill_backlog(place.sock)
        assert_offline(place.run("claude", "Stop"))
        assert place.reason() == "busy"
        for conn in waiting:
            conn.close()


def fill_backlog(path):
    waiting = []
    while True:
        conn = socket.socket(socket.AF_UNIX)
        conn.setblocking(False)
        try:
            conn.connect(str(path))
        except BlockingIOError:
            conn.close()
            return waiting
        waiting.append(conn)


def test_backlog_clears(place):
    place.sock.parent.mkdir(parents=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place.sock))
    listener.listen(0)
    waiting = fill_backlog(place.sock)
    child = place.start("claude", "PreToolUse")
    child.stdin.write(PAYLOAD)
    child.stdin.flush()
    time.sleep(0.05)
    for _ in waiting:
        listener.accept()[0].close()
    listener.settimeout(HANG)
    with listener.accept()[0] as conn:
        assert Hook(receive_frame(conn)).payload == PAYLOAD
        conn.sendall(reply(DONE, b"in the end"))
        assert child.communicate(timeout=HANG)[0] == b"in the end"
    for conn in waiting:
        conn.close()
    listener.close()


def make_stale(path):
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))


def make_datagram(path):
    datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagram.bind(str(path))
    return datagram


@pytest.mark.parametrize("make,reason", [
    (lambda path: None, "absent"),
    (make_stale, "absent"),
    (lambda path: path.mkdir(), "absent"),
    (lambda path: path.write_text(""), "absent"),
    (lambda path: path.symlink_to("nowhere"), "absent"),
    (lambda path: path.symlink_to(path.name), "absent"),
    (lambda path: os.mkfifo(path), "absent"),
    (make_datagram, "protocol"),
])
def test_no_socket_there(place, make, reason):
    place.sock.parent.mkdir(parents=True)
    kept = make(place.sock)
    assert_offline(place.run("claude", "Stop"))
    assert place.reason() == reason
    del kept


def test_symlink_to_our_own_socket(place):
    daemon = place.daemon(path=place.root / "real.sock")
    place.sock.parent.mkdir(parents=True, exist_ok=True)
    place.sock.symlink_to(place.root / "real.sock")
    assert_neutral(place.run("claude", "Stop"))
    assert len(daemon.hooks) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_somebody_elses_daemon(place):
    place.sock.parent.mkdir(parents=True)
    for folder in (place.root, place.state, place.sock.parent):
        folder.chmod(0o777)
    code = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\n"
            "s.listen()\nprint(flush=True)\nc=s.accept()[0]\nprint(len(c.recv(9)),flush=True)\n")
    other = subprocess.Popen([sys.executable, "-c", code, str(place.sock)], user=65534, group=65534,
                             stdout=subprocess.PIPE)
    place.children.append(other)
    other.stdout.readline()
    assert_offline(place.run("claude", "Stop"))
    assert place.reason() == "foreign"
    assert other.stdout.readline() == b"0\n"  # not one byte of the event


# -- large payloads -------------------------------------------------------------------------------

def peak_rss(pid):
    """In bytes, since exec; wait4 would count the memory of the process that started it."""
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10


@pytest.mark.parametrize("size", [KEPT - 1, KEPT, KEPT + 1, KEPT + 70_000])
def test_payload_at_the_limit(place, size):
    daemon = place.daemon()
    data = b'{"a":"' + b"x" * (size - 8) + b'"}'
    assert_neutral(place.run("claude", "PostToolUse", data=data + b" trailing"))
    hook = daemon.hooks[0]
    assert hook.payload == data[:KEPT]
    assert hook.cut == (None if size <= KEPT else (size, hashlib.sha256(data).digest()))


def write_hundred_megabytes(child):
    """The size and digest of what was written; the pipe stays open."""
    piece, digest = b'"text \\" { [ ",' * 70_000, hashlib.sha256(b"[")
    child.stdin.write(b"[")
    total = 1
    while total < 100 << 20:
        child.stdin.write(piece)
        digest.update(piece)
        total += len(piece)
    digest.update(b"0]")
    child.stdin.write(b"0]")
    child.stdin.flush()
    return total + 2, digest.digest()


def test_hundred_megabytes(place):
    peaks = []

    def answer(conn, hook):
        peaks.append(peak_rss(hook.pid))
        conn.sendall(reply(DONE, b"ok"))

    daemon = place.daemon(answer)
    for _ in range(10):
        child = place.start("claude", "PostToolUse")
        written = write_hundred_megabytes(child)
        assert child.wait(HANG) == 0
        if not place.was_late():
            break
    assert child.stdout.read() == b"ok"
    assert daemon.hooks[0].cut == written
    assert len(daemon.hooks[0].payload) == KEPT
    if RELEASE:
        assert max(peaks) <= 24 << 20


# -- hand-over ------------------------------------------------------------------------------------

def monotonic_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def test_hand_over(place):
    before = monotonic_us()
    assert_offline(place.run("claude", "PostToolUse", "extra"))
    args, cwd, frame = place.handed_over()
    named = dict(zip(args[1:7:2], args[2:7:2]))
    assert args[0] == "offline" and args[7:] == ["claude", "PostToolUse"]
    assert set(named) == {"--fd", "--started-us", "--reason"}
    assert named["--reason"] == "absent"
    assert before <= int(named["--started-us"]) <= monotonic_us()
    hook = Hook(frame)
    assert (hook.payload, hook.args, hook.cwd) == (PAYLOAD, ["extra"], cwd)


def test_hand_over_without_event(place):
    assert_offline(place.run("claude"))
    assert place.handed_over()[0][7:] == ["claude"]


def test_hand_over_of_the_very_frame(place):
    daemon = place.daemon(reply(REFUSED))
    assert_offline(place.run_once("claude", "PreToolUse", data=b'{"a":"' + b"x" * KEPT + b'"}'))
    assert place.handed_over()[2] == daemon.hooks[0].frame


def test_hand_over_keeps_only_what_it_should(place):
    place.hookd.write_text(f"#!{sys.executable} -SE\nimport os\n"
                           "print(*sorted(int(x) for x in os.listdir('/proc/self/fd')))\n")
    place.daemon(wait_for_hang_up)
    fds = [int(fd) for fd in place.run_once("claude", "Stop").stdout.split()]
    # 0-2, the frame, and the one that lists them.
    assert fds[:3] == [0, 1, 2] and len(fds) == 5


@pytest.mark.skipif(os.path.exists("/usr/local/bin/hookd"), reason="hookd is installed")
@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.chmod(0o600),
                                   lambda path: path.write_text("no program")])
def test_nothing_to_hand_over_to(place, spoil):
    spoil(place.hookd)
    assert_neutral(place.run("claude", "PreToolUse"))


def test_found_through_a_link(place):
    link = place.root / "elsewhere"
    link.symlink_to(place.hookc)
    place.hookc = link
    assert_offline(place.run("claude", "Stop"))
