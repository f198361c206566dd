"""A private hookd for one test: own directory, own daemon, everything stopped by pid at the end.

The directory's name is short because socket addresses end after 107 bytes. BUILD names the folder
with hookd and hookc (default: build)."""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
HANG = 30  # seconds after which something is said to hang


def wait_for(condition, seconds=HANG, what="condition"):
    """Polls; the value as soon as it is true."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"waited {seconds} s in vain for: {what}")
        time.sleep(0.01)


class World:
    def __init__(self, build=BUILD, home=None, env=None):
        self.build = build
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="hk."))
        self.dir = self.top / "d"
        self.home = self.top / "h"
        self.home.mkdir()
        # The daemon takes its home from the account, never from HOME; a state directory may say otherwise.
        self.dir.mkdir(mode=0o700)
        (self.dir / "places").write_text(f"home={self.home}\n")
        (self.dir / "places").chmod(0o600)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "HOOKD_DIR": str(self.dir),
                    **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}, **(env or {})}
        self.started = []

    # -- programs ------------------------------------------------------------------------------

    # What changes what runs, or destroys: without a terminal it needs the owner's token.
    OWNER = {"config", "rules", "reload", "hooks", "purge", "retention", "restore", "untrust", "rpc", "memory", "review", "model", "remember", "outbox",
             "sinks", "queue"}

    def hookd(self, *args, input=b"", ok=True, env=None, seconds=HANG, cwd=None, owner=True):
        args = [str(a) for a in args]
        if owner and args and args[0] in self.OWNER:
            args[1:1] = ["--token-file", str(self.dir / "owner.token")]
        done = subprocess.run([str(self.build / "hookd"), *args], input=input, capture_output=True,
                              env={**self.env, **(env or {})}, timeout=seconds, cwd=cwd or self.top)
        if ok:
            assert done.returncode == 0, (args, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    def hookc(self, event, payload, agent="claude", env=None, seconds=HANG, args=()):
        if not isinstance(payload, (bytes, bytearray)):
            payload = json.dumps(payload).encode()
        return subprocess.run([str(self.build / "hookc"), *args, agent, *([event] if event else [])], input=payload,
                              capture_output=True, env={**self.env, **(env or {})}, timeout=seconds, cwd=self.top)

    def start(self, **kw):
        self.hookd("start", **kw)
        return self.pid()

    def stop(self):
        return self.hookd("stop", ok=False)

    def pid(self):
        try:
            return int((self.dir / "run/hookd.lock").read_text())
        except (OSError, ValueError):
            return None

    def daemons(self):
        """Pids of every daemon of this directory."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"run" in words[1:2] and str(self.dir).encode() in words:
                found.append(int(pid))
        return found

    def kill(self, pid=None):
        pid = pid or self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), what="the daemon to be gone")

    # -- reading -------------------------------------------------------------------------------

    def json(self, *args, **kw):
        return json.loads(self.hookd(*args, **kw).stdout)

    def rpc(self, method, **params):
        return self.json("rpc", method, json.dumps(params))

    def events(self, limit=100000):
        """What agents told; what hookd itself decided is asked for by `hookd decisions`."""
        told = [json.loads(line) for line in self.hookd("tail", "--json", "-n", limit).stdout.splitlines()]
        return [e for e in told if e["event"] != "Decision"]

    def status(self):
        return self.json("status", "--json")

    def files(self):
        return [p for p in self.dir.rglob("*") if p.is_file()]

    def contains(self, needle):
        """Files under the directory that hold these bytes.  The daemon goes on working meanwhile:
        a file it took away since the listing (a folded journal segment) holds nothing."""
        return [p for p in self.files() if needle in read_if_there(p)]

    # -- the socket itself ---------------------------------------------------------------------

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(HANG)
        until = time.monotonic() + HANG
        while True:
            try:
                s.connect(str(self.dir / "run/hookd.sock"))
                return s
            except (BlockingIOError, ConnectionRefusedError):  # the backlog is full; bound, not yet listening
                if time.monotonic() > until:
                    raise
                time.sleep(0.001)

    def close(self):
        for p in self.started:
            if p.poll() is None:
                p.kill()
            p.wait()
        for pid in self.daemons():
            try:
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        until = time.monotonic() + 5
        while self.daemons() and time.monotonic() < until:
            time.sleep(0.01)
        for pid in self.daemons():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.top, ignore_errors=True)


def read_if_there(path):
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def payload(event="PostToolUse", session="s1", **more):
    return {"session_id": session, "hook_event_name": event, "cwd": "/tmp", **more}


def tool(n, event="PostToolUse", session="s1", **more):
    return payload(event, session, tool_name="Read", tool_use_id=f"t{n}", tool_input={"file_path": f"/x/{n}"}, **more)


# -- frames ----------------------------------------------------------------------------------------

HOOK, WAIT, DONE, REFUSED = 1, 2, 3, 4


def field(tag, value):
    return struct.pack("<BI", tag, len(value)) + value


def frame(body, kind=HOOK, proto=1, length=None):
    return struct.pack("<BBBBI", 0xF5, proto, kind, 0, len(body) if length is None else length) + body


def hook(data, agent=b"claude", event=b"PostToolUse", key=None, deadline_ms=60000, at_ms=None):
    now = int(time.time() * 1000)
    at = now if at_ms is None else at_ms
    key = key or now.to_bytes(6, "big") + os.urandom(10)
    return frame(field(1, key) + field(2, struct.pack("<Q", at)) + field(3, struct.pack("<I", deadline_ms)) +
                 field(6, agent) + field(7, event) + field(8, b"/tmp") + field(12, data))


def read_exact(s, n):
    got = b""
    while len(got) < n:
        piece = s.recv(n - len(got))
        if not piece:
            raise EOFError
        got += piece
    return got


def read_frame(s):
    """(type, stored, exit code, stdout, stderr)"""
    head = read_exact(s, 8)
    _, _, kind, _, length = struct.unpack("<BBBBI", head)
    body = read_exact(s, length)
    if kind == REFUSED:
        return kind, 0, 0, b"", b""
    stored, code = body[0], body[1]
    out_n, err_n = struct.unpack("<II", body[8:16])
    return kind, stored, code, body[16:16 + out_n], body[16 + out_n:16 + out_n + err_n]


def read_done(s):
    """The last frame; on a busy machine WAIT frames come before it."""
    while True:
        got = read_frame(s)
        if got[0] != WAIT:
            return got


def in_threads(n, work):
    """Runs work(i) in n threads; raises what any of them raised."""
    errors = []

    def call(i):
        try:
            work(i)
        except BaseException as e:  # noqa: the test must see it
            errors.append(e)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
