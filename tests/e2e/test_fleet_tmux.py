"""Colours of panes, with a real tmux on a socket of its own."""
import json
import subprocess

import pytest

from efforts import Agent
from world import HANG, wait_for


class Tmux:
    def __init__(self, world):
        self.world, self.socket = world, str(world.top / "tm")
        self.say("new-session", "-d", "-s", "work", "-x", "120", "-y", "40", "sleep 600")
        self.say("split-window", "-t", "work", "sleep 600")
        self.say("new-window", "-t", "work", "sleep 600")
        self.panes = self.say("list-panes", "-a", "-F", "#{pane_id}").split()
        self.pid = self.say("display-message", "-p", "#{pid}")

    def say(self, *words, ok=True):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], capture_output=True, text=True, timeout=HANG,
                              env={"PATH": self.world.env["PATH"], "HOME": str(self.world.home), "TERM": "xterm", "SHELL": "/bin/sh"})
        assert not ok or done.returncode == 0, (words, done.stderr)
        return done.stdout.strip()

    def style(self, pane):
        return self.say("show-options", "-pqv", "-t", pane, "window-style")

    def window(self, pane):
        return self.say("show-options", "-wqv", "-t", pane, "@hookd")

    def agent(self, project, pane, **env):
        a = Agent(self.world, project, env={"TMUX": f"{self.socket},{self.pid},0", "TMUX_PANE": pane, **env})
        a.start()
        return a


@pytest.fixture
def tmux(world):
    world.hookd("config", "set", "fleet.tmux", "true")
    world.start()
    t = Tmux(world)
    yield t
    t.say("kill-server", ok=False)


@pytest.fixture
def project(world):
    p = world.top / "bridge"
    (p / ".git").mkdir(parents=True)
    return p


def becomes(read, wanted):
    wait_for(lambda: read() == wanted, what=f"{wanted}, not {read()}")


BLUE, YELLOW, GREEN, RED = "bg=#0e1a30", "bg=#38300a", "bg=#0f2a17", "bg=#3a1111"


def test_each_pane_has_the_colour_of_its_agent(tmux, project):
    a = tmux.agent(project, tmux.panes[0])
    a.prompt()
    becomes(lambda: tmux.style(tmux.panes[0]), BLUE)
    a.say("PermissionRequest", tool_name="Bash", tool_input={"command": "ls"})
    becomes(lambda: tmux.style(tmux.panes[0]), YELLOW)
    a.say("StopFailure", error="server_error")
    becomes(lambda: tmux.style(tmux.panes[0]), RED)
    a.prompt()
    a.say("Stop", stop_hook_active=False)
    becomes(lambda: tmux.style(tmux.panes[0]), GREEN)
    assert tmux.style(tmux.panes[1]) == "" == tmux.style(tmux.panes[2])


def test_a_window_shows_the_most_urgent_of_its_panes(tmux, project):
    a, b, c = (tmux.agent(project, p) for p in tmux.panes)
    for x in (a, b, c):
        x.prompt()
    becomes(lambda: tmux.window(tmux.panes[0]), "working")
    a.say("PermissionRequest", tool_name="Bash", tool_input={"command": "ls"})
    becomes(lambda: tmux.window(tmux.panes[1]), "attention")
    b.say("Stop", stop_hook_active=False)
    becomes(lambda: tmux.style(tmux.panes[1]), GREEN)
    assert tmux.window(tmux.panes[0]) == "attention" and tmux.window(tmux.panes[2]) == "working"
    a.prompt()
    becomes(lambda: tmux.window(tmux.panes[0]), "working")


def test_selecting_a_pane_checks_its_agent(tmux, world, project):
    a, b = (tmux.agent(project, p) for p in tmux.panes[:2])
    for x in (a, b):
        x.prompt()
        x.say("Stop", stop_hook_active=False)
    becomes(lambda: (tmux.style(tmux.panes[0]), tmux.style(tmux.panes[1])), (GREEN, GREEN))
    tmux.say("select-pane", "-t", tmux.panes[0])
    becomes(lambda: (tmux.style(tmux.panes[0]), tmux.style(tmux.panes[1])), ("", GREEN))
    assert {x["agent"]: x["status"] for x in world.json("fleet", "--json")["agents"]} == {tmux.panes[0]: "checked", tmux.panes[1]: "done"}


def test_what_was_set_is_unset_when_the_agent_ends(tmux, world, project):
    tmux.say("set-option", "-g", "window-style", "fg=white")
    a, b = (tmux.agent(project, p) for p in tmux.panes[:2])
    for x in (a, b):
        x.prompt()
        becomes(lambda: tmux.style(x.env["TMUX_PANE"]), BLUE)
    assert "fleet" in tmux.say("show-hooks", "-g")
    a.end()
    becomes(lambda: tmux.style(tmux.panes[0]), "")
    assert "hookd" in tmux.say("show-hooks", "-g") and tmux.window(tmux.panes[0]) == "working"
    b.end()
    becomes(lambda: tmux.style(tmux.panes[1]), "")
    wait_for(lambda: "fleet" not in tmux.say("show-hooks", "-g"), what="the hooks to be gone")
    assert tmux.say("show-options", "-gv", "window-style") == "fg=white"
    for pane in tmux.panes[:2]:
        assert "hookd" not in tmux.say("show-options", "-p", "-t", pane) + tmux.say("show-options", "-w", "-t", pane)


def test_a_restart_restores_what_ended_meanwhile(tmux, world, project):
    a = tmux.agent(project, tmux.panes[0])
    a.prompt()
    becomes(lambda: tmux.style(tmux.panes[0]), BLUE)
    world.stop()
    a.end()
    world.hookd("start", ok=False)
    becomes(lambda: tmux.style(tmux.panes[0]), "")


def test_a_tmux_that_is_gone_or_hangs_holds_nobody_up(tmux, world, project):
    hung = world.top / "bin"
    hung.mkdir()
    (hung / "tmux").write_text("#!/bin/sh\nexec sleep 600\n")
    (hung / "tmux").chmod(0o755)
    gone = Agent(world, project, env={"TMUX": f"{world.top}/nowhere,1,0", "TMUX_PANE": "%0"})
    gone.start()
    gone.prompt()
    a = tmux.agent(project, tmux.panes[0])
    a.prompt()
    becomes(lambda: tmux.style(tmux.panes[0]), BLUE)
    world.hookd("config", "set", "hooks.path", str(hung))
    world.stop()
    world.start()
    a.say("Stop", stop_hook_active=False)
    assert a.bash("ls") is None
    assert {x["agent"]: x["status"] for x in world.json("fleet", "--json")["agents"]}[tmux.panes[0]] == "working"
    assert world.stop().returncode == 0


def test_nothing_is_touched_unless_it_is_switched_on(world, project):
    world.start()
    t = Tmux(world)
    try:
        a = t.agent(project, t.panes[0])
        a.prompt()
        assert json.loads(world.hookd("wait", "--session", a.session, "--timeout", "1", "--json", ok=False).stdout)["timed_out"]
        assert t.style(t.panes[0]) == "" and "hookd" not in t.say("show-hooks", "-g")
    finally:
        t.say("kill-server", ok=False)
