"""What the real agents write themselves, read by hookd: alone, and beside their hooks."""

import json

import pytest

from model import say, use
from rig import wait_for


def claude_steps(project):
    return [say("I look first.", use("Bash", "toolu_1", command="echo out-of-shell")),
            say("", use("Bash", "toolu_2", command="echo hello")),
            say("The greeting is ready.")]


def codex_steps(project):
    return [say("I look first.", use("exec_command", "call_1", cmd="echo out-of-shell")),
            say("", use("exec_command", "call_2", cmd="echo hello > greeting.txt")),
            say("The greeting is ready.")]


def gemini_steps(project):
    return [say("I look first.", use("run_shell_command", "call_1", command="echo out-of-shell", description="t")),
            say("", use("write_file", "call_2", file_path=str(project / "greeting.txt"), content="hello\n")),
            say("The greeting is ready.")]


def copilot_steps(project):
    return [say("I look first.", use("bash", "call_1", command="echo out-of-shell", description="t")),
            say("", use("create", "call_2", path=str(project / "greeting.txt"), file_text="hello\n")),
            say("The greeting is ready.")]


def qwen_steps(project):
    return [say("I look first.", use("run_shell_command", "call_1", command="echo out-of-shell", description="t", is_background=False)),
            say("", use("write_file", "call_2", file_path=str(project / "greeting.txt"), content="hello\n")),
            say("The greeting is ready.")]


def opencode_steps(project):
    return [say("I look first.", use("bash", "call_1", command="echo out-of-shell", description="t")),
            say("", use("write", "call_2", filePath=str(project / "greeting.txt"), content="hello\n")),
            say("The greeting is ready.")]


AGENTS = {"claude": claude_steps, "codex": codex_steps, "gemini": gemini_steps, "copilot": copilot_steps, "qwen": qwen_steps,
          "opencode": opencode_steps}
WRITES = ("gemini", "copilot", "qwen", "opencode")
PROMPT = "Please prepare the greeting"


def imported(hookd):
    return json.loads(hookd.call("import", "--json", seconds=60).ok().out)


def story(hookd):
    [session] = hookd.sessions()
    shown = hookd.show(session.id)
    return session, [(b["prompt"], b.get("response"),
                      [(a["class"], a["state"]) for a in b["activities"] if a["kind"] == "tool"]) for b in shown["batches"]]


def wanted(agent, live=False):
    """What the model said last; but Gemini's hook gives everything it said in the turn."""
    answer = "I look first.\nThe greeting is ready." if live and agent == "gemini" else "The greeting is ready."
    prompt = f'"{PROMPT}"' if agent == "opencode" else PROMPT  # as `opencode run` puts it
    return [(prompt, answer, [("shell", "done"), ("write" if agent in WRITES else "shell", "done")])]


@pytest.mark.parametrize("agent", AGENTS)
def test_history_written_without_hookd(request, rig, hookd, model, agent):
    cli = request.getfixturevalue(agent)
    m = model(AGENTS[agent](rig.project))
    assert "ready" in cli.ask(m, PROMPT).ok().out
    done = imported(hookd)
    assert done["files"] >= 1 and done["new"] > 4 and done["broken_lines"] == 0 and done["refused"] == 0
    session, told = story(hookd)
    assert session.agent == agent and told == wanted(agent)
    again = imported(hookd)
    assert again["new"] == 0
    usage = json.loads(hookd.call("usage", "--json").ok().out)["total"]
    assert usage["answers"] == 3 and usage["output"] > 0
    hits = json.loads(hookd.call("search", "greeting", "--json").ok().out)["hits"]
    assert {"prompt", "answer"} <= {h["kind"] for h in hits}


@pytest.mark.parametrize("agent", AGENTS)
def test_history_beside_hooks_adds_only_tokens(request, rig, hookd, model, agent):
    cli = request.getfixturevalue(agent)
    hookd.init(agent)
    hookd.start()
    if agent == "codex":
        cli.trust_hooks()
    assert "ready" in cli.ask(model(AGENTS[agent](rig.project)), PROMPT).ok().out
    hookd.wait_for_event("Stop" if agent == "qwen" else "SessionEnd")
    if agent == "copilot":  # its hook does not say what was said; its file does
        wait_for("the answer", lambda: story(hookd)[1][0][1])
    _, live = story(hookd)
    before = len(hookd.events())
    imported(hookd)
    session, told = story(hookd)
    assert told == live == wanted(agent, live=True)
    assert len(hookd.events()) == before
    assert json.loads(hookd.call("usage", "--json").ok().out)["total"]["answers"] == 3
