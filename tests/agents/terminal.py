"""A person at a terminal: types at an interactive agent and reads what it shows."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time

from rig import RUN_SECONDS, wait_for

ROWS, COLUMNS = 50, 140
ENTER = "\r"
# Cursor movements, colours, titles and the like; what is left is text in the order it was drawn.
ESCAPES = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)"
                     rb"|[P_^X][^\x1b]*\x1b\\|[ -/]*[0-~])")
# What a terminal answers when it is asked where the cursor is and what it is.
ANSWERS = ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;c"))


def sit_down(claude, model, *args, env=None):
    """Claude Code as a person starts it, once it listens."""
    t = Terminal([claude.program, *args], {**claude.env(model), **(env or {})}, claude.rig.project)
    try:
        t.wait("❯")
    except BaseException:
        t.__exit__()
        raise
    return t


class Terminal:
    """Runs one program. The text is that of all it ever drew, without blanks: a screen is drawn in
    pieces, and a blank may be a movement of the cursor."""

    def __init__(self, argv, env, cwd):
        self._shown, self._lock = b"", threading.Lock()
        self._fd, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        # setsid makes it the leader of a session that this terminal controls.
        self._process = subprocess.Popen(
            ["setsid", "--ctty", *map(str, argv)], stdin=other, stdout=other, stderr=other, cwd=cwd,
            env={**env, "TERM": "xterm-256color"})
        os.close(other)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.kill()
        self._thread.join(5)
        os.close(self._fd)

    def _read(self):
        while True:
            try:
                data = os.read(self._fd, 65536)
            except OSError:  # the program ended
                return
            if not data:
                return
            with self._lock:
                self._shown += data
            for question, answer in ANSWERS:
                if question in data:
                    os.write(self._fd, answer)

    def mark(self):
        """A place in what was shown, to look only behind it."""
        return len(self._shown)

    def text(self, since=0):
        with self._lock:
            shown = self._shown[since:]
        return "".join(ESCAPES.sub(b"", shown).decode(errors="replace").split())

    def wait(self, regex, since=0, seconds=20):
        """Waits until the text is there; blanks in the regex do not count."""
        look = re.compile("".join(regex.split()))
        try:
            wait_for(f"{regex!r} on the screen", lambda: look.search(self.text(since)), seconds)
        except AssertionError:
            shown = self.text(since)[-1500:]
            raise AssertionError(f"no {regex!r} on the screen: {shown}") from None

    def type(self, text):
        """Types a line and Enter. Enter comes by itself once the text is seen: a chunk with both is
        taken for pasted text."""
        here = self.mark()
        os.write(self._fd, text.encode())
        self.wait(re.escape(text.replace(" ", "")), here)
        time.sleep(0.1)
        self.press(ENTER)

    def press(self, keys):
        os.write(self._fd, keys.encode())

    def press_until(self, keys, what, check, seconds=20):
        """Presses again and again: a question that has just been drawn may not listen yet."""
        def pressed():
            self.press(keys)
            try:
                return wait_for(what, check, 0.5)
            except AssertionError:
                return None
        return wait_for(what, pressed, seconds)

    def kill(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)

    def ended(self):
        return self._process.poll() is not None

    def end(self, seconds=RUN_SECONDS):
        """The exit code, once the program ended by itself."""
        return self._process.wait(seconds)
