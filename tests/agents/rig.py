"""The place a real agent runs in: a fresh home, a private project, a private hookd, no network.

Everything of one test lies in one short directory (a socket's path ends at 107 bytes):

    /tmp/hk….../home   HOME of the agent        /tmp/hk….../d     HOOKD_DIR
               /proj   the git project          /tmp/hk….../bin   copies of hookd and hookc

hookd is copied so that a test can remove or break it. The environment is built from nothing, so no
key, proxy or setting of the person who runs the tests gets in. At the end every process that still
belongs to the directory is stopped, each by its own id.

A further agent is a further subclass of Agent; Codex and Gemini have files of their own."""

import ctypes
import dataclasses
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("HOOKD_TEST_BUILD") or ROOT / "build")

FAKE_KEY = "sk-ant-" + "fake-0000000000"
RUN_SECONDS = 60  # for one run of an agent; a normal one takes about three


def wait_for(what, check, seconds=10.0, step=0.05):
    """Calls check until it returns something true, which is returned."""
    end = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}; last seen: {value!r}")
        time.sleep(step)


def leave_network():
    """Moves this process, before it has threads, into a network with nothing but loopback. Every
    child is born there. True when it worked; it takes root, and without it the tests still run."""
    CLONE_NEWNET, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8913, 0x8914, 1
    if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        ifreq = fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", ifreq)[1]
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
    return True


@dataclasses.dataclass
class Done:
    """A program that ended."""
    argv: list
    rc: int
    out: str
    err: str
    seconds: float

    def ok(self):
        assert self.rc == 0, f"{self}"
        return self

    def __str__(self):
        return (f"{' '.join(map(str, self.argv))}\nexit code {self.rc} after {self.seconds:.2f} s"
                f"\nstdout: {self.out[-3000:]}\nstderr: {self.err[-3000:]}")


class Rig:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="hk", dir="/tmp"))
        self.home = self.root / "home"
        self.project = self.root / "proj"
        self.hookd_dir = self.root / "d"
        self.bin = self.root / "bin"
        self.tmp = self.root / "tmp"
        for d in (self.home, self.project, self.hookd_dir, self.bin, self.tmp):
            d.mkdir(mode=0o700)
        (self.hookd_dir / "places").write_text(f"home={self.home}\n")  # the daemon does not ask HOME
        self.model = None
        git = ["git", "-C", str(self.project),
               "-c", "user.name=t", "-c", "user.email=t@example.org"]
        self.run([*git, "init", "-q"]).ok()
        self.run([*git, "commit", "-q", "--allow-empty", "-m", "start"]).ok()

    def env(self, **more):
        return {
            "HOME": str(self.home), "HOOKD_DIR": str(self.hookd_dir), "TMPDIR": str(self.tmp),
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "SHELL": "/bin/bash",
            "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1",
            **{k: str(v) for k, v in more.items()},
        }

    def run(self, argv, env=None, input="", seconds=RUN_SECONDS, cwd=None):
        """Runs a program to its end, in a process group of its own, which is killed when it takes
        too long. Output goes to files: a daemon that kept a pipe open must not hold up the test
        (that it does not is for hookd's own tests)."""
        argv = [str(a) for a in argv]
        start = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
                tempfile.TemporaryFile() as inp:
            inp.write(input.encode())
            inp.seek(0)
            p = subprocess.Popen(argv, stdin=inp, stdout=out, stderr=err, cwd=cwd or self.project,
                                 env=env or self.env(), start_new_session=True)
            late = False
            try:
                p.wait(seconds)
            except subprocess.TimeoutExpired:
                late = True
                os.killpg(p.pid, signal.SIGKILL)
                p.wait(10)
            out.seek(0)
            err.seek(0)
            done = Done(argv, p.returncode, out.read().decode(errors="replace"),
                        err.read().decode(errors="replace"), time.monotonic() - start)
        assert not late, f"stopped because it took longer than {seconds} s: {done}"
        return done

    def take_hookd(self):
        """Copies what was built into the rig; returns the path of hookd."""
        for name in ("hookd", "hookc"):
            source = BUILD / name
            assert source.exists(), f"{source} is missing; run make build (or set BUILD)"
            shutil.copy2(source, self.bin / name)
        for source in BUILD.glob("*.so"):
            shutil.copy2(source, self.bin / source.name)
        return self.bin / "hookd"

    def processes(self):
        """Ids of the processes that belong to this rig: named after it in their environment or
        arguments, or with one of its files open."""
        mark, found = str(self.root) + "/", []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f"/proc/{entry}/stat", "rb") as f:
                    if f.read().rpartition(b")")[2].split()[0] == b"Z":
                        continue
                ours = False
                for text in ("environ", "cmdline"):
                    with open(f"/proc/{entry}/{text}", "rb") as f:
                        ours = ours or mark.encode() in f.read()
                if not ours:
                    links = [f"/proc/{entry}/cwd"]
                    links += [f"/proc/{entry}/fd/{n}" for n in os.listdir(f"/proc/{entry}/fd")]
                    ours = any((os.readlink(n) + "/").startswith(mark) for n in links)
            except OSError:  # it ended meanwhile, or is not ours to look at
                continue
            if ours:
                found.append(int(entry))
        return found

    def stop(self):
        """Ends what still runs and removes the directory."""
        for sig, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            for pid in self.processes():
                try:
                    os.kill(pid, sig)
                except ProcessLookupError:
                    pass
            end = time.monotonic() + seconds
            while self.processes() and time.monotonic() < end:
                time.sleep(0.02)
        left = self.processes()
        if not os.environ.get("HOOKD_TEST_KEEP"):
            shutil.rmtree(self.root, ignore_errors=True)
        assert not left, f"processes survived SIGKILL: {left}"


class Agent:
    """One agent CLI in a rig. Subclasses say how it is found, set up and asked."""
    name = None         # as hookd calls it
    program_env = None  # the variable in which tests/agents/run hands over the program
    pins = None         # the folder here that says which version

    def __init__(self, rig):
        self.rig = rig
        self.program = os.environ.get(self.program_env) or self.cached()
        assert self.program and os.access(self.program, os.X_OK), \
            f"{self.name} is not installed; run tests/agents/run once, which downloads it"
        self.prepare()

    def cached(self):
        """The program in the cache, when pytest is called without tests/agents/run."""
        version = next(iter(json.loads((HERE / self.pins / "package.json").read_text())["dependencies"].values()))
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        folder = cache / "hookd/agents" / f"{self.pins}-{version}"
        program = folder / "program"
        return str(folder / program.read_text().strip()) if program.exists() else None

    def prepare(self):
        """Writes what a first start would ask for."""

    def env(self, model):
        raise NotImplementedError

    def argv(self, prompt, *more):
        raise NotImplementedError

    def run(self, model, *args, env=None, input="", seconds=RUN_SECONDS, cwd=None):
        """The program with these arguments, to its end."""
        return self.rig.run([self.program, *args], env={**self.env(model), **(env or {})},
                            input=input, seconds=seconds, cwd=cwd)

    def ask(self, model, prompt, *more, env=None, seconds=RUN_SECONDS):
        """One whole session: a prompt, all its turns, the end."""
        return self.run(model, *self.argv(prompt, *more), env=env, seconds=seconds)


class Claude(Agent):
    name = "claude"
    program_env = "HOOKD_TEST_CLAUDE"
    pins = "claude-code"

    @property
    def settings(self):
        return self.rig.home / ".claude/settings.json"

    def write_settings(self, text):
        self.settings.write_bytes(text if isinstance(text, bytes) else text.encode())

    def prepare(self):
        self.settings.parent.mkdir(exist_ok=True)
        # Past the welcome, the theme, the question about the key and the one about the folder.
        (self.rig.home / ".claude.json").write_text(json.dumps({
            "hasCompletedOnboarding": True, "theme": "dark",
            "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
            "projects": {str(self.rig.project): {"hasTrustDialogAccepted": True}},
        }))

    def env(self, model):
        return self.rig.env(
            ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY=FAKE_KEY,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1, DISABLE_TELEMETRY=1,
            DISABLE_ERROR_REPORTING=1, DISABLE_AUTOUPDATER=1,
            # A scripted error is meant; trying again would use up the next step.
            CLAUDE_CODE_MAX_RETRIES=0)

    def argv(self, prompt, *more):
        return ["-p", prompt, *more]
