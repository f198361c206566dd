"""hookd watch: an agent whose context is full is started again where its effort stands, and in no other case."""
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from efforts import begin, effort, windows
from world import BUILD, HANG, wait_for

# Stands for Claude Code: calls the hooks, and does what the test wrote down for its n-th start.
AGENT = r'''#!{python}
import json, os, signal, subprocess, sys, time
home = {home!r}
n = len([x for x in os.listdir(home) if x.startswith("run-")]) + 1
does = (open(home + "/does").read().split("\n") + ["exit 0"] * 9)[n - 1].split(";")
session = "s%d" % n
seen = {{"argv": sys.argv[1:], "agent_id": os.environ.get("AGENT_ID"), "watch": os.environ.get("HOOKD_WATCH"), "signals": [], "tty": os.isatty(0), "pid": os.getpid()}}
def save():
    with open(home + "/.run", "w") as f:
        json.dump(seen, f)
    os.rename(home + "/.run", home + "/run-%d" % n)
def hook(event, **more):
    payload = {{"session_id": session, "hook_event_name": event, "cwd": os.getcwd(), **more}}
    out = subprocess.run([{hookc!r}, "claude", event], input=json.dumps(payload).encode(), capture_output=True).stdout
    return json.loads(out)["hookSpecificOutput"].get("additionalContext", "") if out.strip() else ""
def on(signo, frame):
    seen["signals"].append(signo)
    save()
    if signo == signal.SIGTERM:
        sys.exit(143)
for s in (signal.SIGINT, signal.SIGTERM):
    signal.signal(s, on)
seen["context"] = hook("SessionStart", source="startup")
save()
for one in does:
    word, _, rest = one.strip().partition(" ")
    if word == "exit":
        sys.exit(int(rest))
    if word == "die":
        os.kill(os.getpid(), int(rest))
    if word == "prompt":
        hook("UserPromptSubmit", prompt=rest)
    if word == "full":
        hook("PreCompact", trigger=rest, custom_instructions="")
    if word == "limit":
        hook("Stop", stop_hook_active=False, last_assistant_message="Claude usage limit reached. Your limit will reset at 7pm.")
    if word == "said":
        seen["said"] = sys.stdin.readline()
        save()
    while word == "stay":
        time.sleep(0.05)
'''


@pytest.fixture
def project(world):
    p = world.top / "bridge"
    (p / ".git").mkdir(parents=True)
    return p


@pytest.fixture
def agent(world, project):
    """What it does at each start; what was seen of it; and `hookd watch` around it."""
    folder, bin = world.top / "agent", world.top / "bin"
    folder.mkdir()
    bin.mkdir()
    (bin / "claude").write_text(AGENT.format(python=sys.executable, home=str(folder), hookc=str(BUILD / "hookc")))
    (bin / "claude").chmod(0o755)

    class Runs:
        def does(self, *lines):
            (folder / "does").write_text("\n".join(lines))

        def watch(self, *args, stdin=subprocess.DEVNULL, env=None, options=(), **kw):
            p = subprocess.Popen([str(BUILD / "hookd"), "watch", *options, "--", str(bin / "claude"), *args], cwd=project, stdin=stdin,
                                 stdout=kw.pop("stdout", subprocess.PIPE), stderr=kw.pop("stderr", subprocess.PIPE), env={**world.env, **(env or {})}, **kw)
            world.started.append(p)
            return p

        def seen(self, n=None):
            if n:
                wait_for((folder / f"run-{n}").exists, what=f"start {n}")
                return json.loads((folder / f"run-{n}").read_text())
            return len(list(folder.glob("run-*")))

    return Runs()


def test_overflow_story(world, project, agent):
    """Seed 004: the window ends with a snapshot, the agent is ended, another window goes on with the effort."""
    world.start()
    e = begin(world, project, "work", "--goal", "Build the bridge")
    effort(world, "checkpoint", "-e", e["effort"], "--next", "the second pier")
    agent.does("prompt go on; full auto; stay", "exit 7")
    p = agent.watch("--model", "x", "build the bridge please")
    out, err = p.communicate(timeout=HANG)
    assert p.returncode == 7, err
    first, second = agent.seen(1), agent.seen(2)
    assert first["watch"] == second["watch"] and first["signals"] == [signal.SIGINT, signal.SIGTERM]
    assert second["argv"][:2] == ["--model", "x"] and "build the bridge please" not in second["argv"]
    assert f"Continue effort {e['effort']}" in second["argv"][2] and second["agent_id"] == e["effort"]
    assert "the second pier" in second["context"] and "Build the bridge" in second["context"]
    now, before = windows(world, e["effort"])
    assert before["end_reason"] == "overflow" and before["checkpoint"]["next"] == "the second pier" and now["session"] == "s2"
    assert now["previous"] == before["window"]
    assert b"the context was full; going on with effort" in err


def test_a_compaction_that_somebody_asked_for_is_left_alone(world, project, agent):
    world.start()
    begin(world, project, "work")
    agent.does("prompt go on; full manual; exit 3")
    assert agent.watch().wait(HANG) == 3 and agent.seen() == 1 and agent.seen(1)["signals"] == []


def test_without_an_effort_nothing_is_ended(world, project, agent):
    world.start()
    agent.does("prompt go on; full auto; exit 4")
    assert agent.watch().wait(HANG) == 4 and agent.seen() == 1


def test_without_watch_the_agent_compacts_as_ever(world, project, agent):
    world.start()
    e = begin(world, project, "work")
    agent.does("prompt go on; full auto; exit 5")
    done = subprocess.run([str(world.top / "bin/claude")], cwd=project, env=world.env, stdin=subprocess.DEVNULL)
    assert done.returncode == 5 and "end_reason" not in windows(world, e["effort"])[0]


@pytest.mark.parametrize("does, code", [("exit 0", 0), ("exit 42", 42), ("die 9", 137), ("die 11", 139)])
def test_the_exit_code_is_passed_through_and_it_is_not_started_again(world, project, agent, does, code):
    world.start()
    begin(world, project, "work")
    agent.does(f"prompt go on; {does}")
    assert agent.watch().wait(HANG) == code and agent.seen() == 1


def test_a_rate_limit_is_reported_and_not_evaded(world, project, agent):
    world.start()
    begin(world, project, "work")
    agent.does("prompt go on; limit; full auto; stay")
    p = agent.watch()
    out, err = p.communicate(timeout=HANG)
    assert agent.seen() == 1 and b"rate limit of its provider; it is not started again" in err and p.returncode == 143


def test_the_budget_of_restarts(world, project, agent):
    world.start()
    begin(world, project, "work")
    agent.does(*["prompt go on; full auto; stay"] * 4)
    p = agent.watch(options=("--max-restarts", "1"))
    out, err = p.communicate(timeout=HANG)
    assert p.returncode == 1 and agent.seen() == 2 and b"context was full 2 times within an hour" in err


def test_a_second_overflow_waits_before_it_goes_on_and_may_be_given_up(world, project, agent):
    world.start()
    begin(world, project, "work")
    agent.does(*["prompt go on; full auto; stay"] * 2, "prompt go on; full auto; stay", "exit 0")
    p = agent.watch()
    agent.seen(3)
    wait_for(lambda: signal.SIGTERM in agent.seen(3)["signals"], what="the third end")
    time.sleep(0.2)
    p.send_signal(signal.SIGTERM)
    assert p.wait(HANG) == 143 and agent.seen() == 3


def test_signals_are_passed_on_and_end_it_for_good(world, project, agent):
    world.start()
    begin(world, project, "work")
    agent.does("prompt go on; stay")
    p = agent.watch()
    agent.seen(1)
    p.send_signal(signal.SIGINT)
    wait_for(lambda: agent.seen(1)["signals"] == [signal.SIGINT], what="INT")
    p.send_signal(signal.SIGTERM)
    assert p.wait(HANG) == 143 and agent.seen() == 1


def test_keys_reach_the_agent_on_the_terminal(world, project, agent):
    """The agent has the terminal: it reads what is typed, and ^C reaches it once."""
    world.start()
    begin(world, project, "work")
    agent.does("said; stay")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(project)
        os.execve(str(BUILD / "hookd"), ["hookd", "watch", "--", str(world.top / "bin/claude")], world.env)
    try:
        assert agent.seen(1)["tty"]
        os.write(fd, b"hello\n")
        wait_for(lambda: agent.seen(1).get("said") == "hello\n", what="the line")
        os.write(fd, b"\x03")
        wait_for(lambda: agent.seen(1)["signals"], what="^C")
        time.sleep(0.3)
        assert agent.seen(1)["signals"] == [signal.SIGINT]
        os.kill(agent.seen(1)["pid"], signal.SIGTERM)
        until = time.monotonic() + HANG
        while time.monotonic() < until:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    os.read(fd, 4096)
                except OSError:
                    break
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143
    finally:
        os.close(fd)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def test_without_a_daemon_the_agent_runs_as_alone(world, project, agent):
    agent.does("exit 6")
    (world.dir / "config.json").write_text("{}")
    p = agent.watch("-p", "x", env={"HOOKD_DIR": str(world.top / "no/such")})
    assert p.wait(HANG) == 6 and agent.seen(1)["argv"] == ["-p", "x"]


def test_a_daemon_that_is_killed_and_comes_back_is_asked_again(world, project, agent):
    world.start()
    e = begin(world, project, "work")
    agent.does("prompt go on; said; full auto; stay", "exit 8")
    p = agent.watch(stdin=subprocess.PIPE)
    agent.seen(1)
    world.kill()
    world.start()
    # Until both are read from the store everything is let pass.
    effort(world, "log", "both are known", "-e", e["effort"])
    world.rpc("fleet.wait", **{"for": "change"})
    p.stdin.write(b"now\n")
    p.stdin.flush()
    assert p.wait(HANG) == 8 and agent.seen() == 2


def test_mistakes(world):
    assert world.hookd("watch", ok=False).returncode == 64
    assert world.hookd("watch", "--max-restarts", "x", "--", "true", ok=False).returncode == 64
    done = world.hookd("watch", "--", "/no/such/agent", ok=False)
    assert done.returncode == 127 and b"/no/such/agent cannot be started" in done.stderr
