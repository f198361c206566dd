"""Everything the agent tests know about hookd's output. When a shape changes, it changes here.

What is taken for granted:
    hookd tail --json -n N     one object a line: id, at, agent, session, event, tool, marks,
                               payload
    hookd sessions --json      {"sessions": [{"agent", "id", "cwd", "events", "status"}, …]}
    hookd status --json        an object with the daemon's pid
    hookd show ID --json       as in docs/protocol.md
    hookd rpc METHOD [JSON]    the result as JSON"""

import dataclasses
import json
import os
import pathlib
import shutil

from rig import wait_for

RPC_SESSIONS = "sessions"  # the operation behind `hookd sessions`
SELFTEST_CONTEXT = "hookd-selftest-context"  # a prompt with this text gets CONTEXT_TEXT beside it
CONTEXT_TEXT = "This line was added by hookd, to test that context arrives."
SELFTEST_DENY = "hookd-selftest-deny"  # a command with this text is denied by a built-in rule


@dataclasses.dataclass
class Event:
    id: str       # hookd's own
    agent: str
    session: str  # the agent's own
    event: str
    tool: str
    payload: dict
    marks: int

    SPOOLED = 16

    @property
    def use(self):
        return self.payload.get("tool_use_id")


@dataclasses.dataclass
class Session:
    agent: str
    id: str
    cwd: str
    events: int
    status: str


def _sessions(value):
    return [Session(s["agent"], s["id"], s.get("cwd"), s["events"], s["status"])
            for s in value["sessions"]]


class Hookd:
    def __init__(self, rig):
        self.rig = rig
        self.program = rig.take_hookd()

    def call(self, *args, input="", seconds=20):
        return self.rig.run([self.program, *args], input=input, seconds=seconds)

    # -- set-up ------------------------------------------------------------------------------

    def init(self, agent, *more):
        return self.call("init", "--agent", agent, "--yes", *more).ok()

    def set_option(self, name, value):
        """Without a terminal that needs the owner's token, which a first start makes."""
        self.start()
        self.call("config", "--token-file", str(self.rig.hookd_dir / "owner.token"), "set", name, str(value)).ok()
        return self.call("stop").ok()

    def uninstall(self):
        return self.call("uninstall", "--yes").ok()

    def start(self):
        return self.call("start").ok()

    def pid(self):
        """The daemon's process id, or None."""
        done = self.call("status", "--json")
        try:
            return json.loads(done.out).get("pid") or None
        except (ValueError, AttributeError):
            return None

    # -- reading -----------------------------------------------------------------------------

    def events(self, session=None):
        """Everything agents told, oldest first."""
        found = []
        for line in self.call("tail", "--json", "-n", "1000").ok().out.splitlines():
            e = json.loads(line)
            payload = e["payload"]
            if isinstance(payload, str):
                payload = json.loads(payload)
            found.append(Event(e["id"], e["agent"], e["session"], e["event"], e.get("tool") or "",
                               payload or {}, e["marks"]))
        return [e for e in found if session in (None, e.session) and e.event != "Decision"]

    def sessions(self):
        return _sessions(json.loads(self.call("sessions", "--json").ok().out))

    def sessions_by_rpc(self):
        return _sessions(json.loads(self.call("rpc", RPC_SESSIONS).ok().out))

    def show(self, session):
        """`hookd show --json`, the object as it is."""
        return json.loads(self.call("show", session, "--json").ok().out)

    def wait_for_event(self, name, count=1, seconds=15):
        """All events, once `count` of that name are there."""
        return wait_for(f"{count} × {name}", lambda: (
            all if len(named(all := self.events(), name)) >= count else None), seconds, 0.2)

    # -- files -------------------------------------------------------------------------------

    def files(self):
        """Every file hookd may have written: its directory, its XDG places, the project's."""
        rig = self.rig
        places = [rig.hookd_dir, rig.project / ".hookd",
                  *(rig.home / p / "hookd"
                    for p in (".config", ".local/share", ".local/state", ".cache"))]
        for place in places:
            for folder, _, names in os.walk(place):
                for name in names:
                    path = pathlib.Path(folder, name)
                    if path.is_file():
                        yield path

    def files_with(self, *needles):
        """(file, needle) for every file that holds one of the texts, as it is or in hex. Copied
        first, so that a database that grows meanwhile is read whole."""
        hits = []
        for path in self.files():
            copy = self.rig.root / "scan"
            try:
                shutil.copyfile(path, copy)
            except FileNotFoundError:  # a journal segment that was just folded
                continue
            data = copy.read_bytes()
            for needle in needles:
                if needle.encode() in data or needle.encode().hex().encode() in data.lower():
                    hits.append((str(path.relative_to(self.rig.root)), needle))
        return hits


def named(events, *names):
    return [e for e in events if e.event in names]
