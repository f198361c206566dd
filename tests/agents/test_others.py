"""hookd under the real Copilot CLI, Qwen Code and opencode, headless: the same sessions for all three."""

import dataclasses
import json

import pytest

import scenes
from hookd import CONTEXT_TEXT, SELFTEST_CONTEXT, SELFTEST_DENY, named
from model import say, use
from rig import wait_for

PROMPT = "Please prepare the greeting: naïve “quotes” and a back\\slash."


@dataclasses.dataclass
class Form:
    """How an agent names its tools, and what it reports beyond the rest."""
    shell: str
    write: str
    write_args: tuple  # of path and content
    read: str
    read_arg: str
    ends: bool  # it says when a session ends

    def run(self, id, command):
        more = {"description": "a test"} if self.shell != "run_shell_command" else \
            {"description": "a test", "is_background": False}
        return use(self.shell, id, command=command, **more)

    def put(self, id, path, text):
        return use(self.write, id, **dict(zip(self.write_args, (str(path), text))))

    def get(self, id, path):
        return use(self.read, id, **{self.read_arg: str(path)})


FORMS = {
    "copilot": Form("bash", "create", ("path", "file_text"), "view", "path", True),
    "qwen": Form("run_shell_command", "write_file", ("file_path", "content"), "read_file", "file_path", False),
    "opencode": Form("bash", "write", ("filePath", "content"), "read", "filePath", True),
}


@pytest.fixture(params=list(FORMS))
def agent(request):
    """Each of them, or those that a test names."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def form(agent):
    return FORMS[agent.name]


@pytest.fixture
def installed(agent, hookd):
    hookd.init(agent.name)
    hookd.start()
    return hookd


def last_event(form):
    return "SessionEnd" if form.ends else "Stop"


def calls(batch):
    """Without the questions for permission, which Copilot reports as well."""
    return [a for a in batch["activities"] if a["kind"] == "tool"]


def test_a_session_is_stored_once_and_whole(rig, agent, form, installed, model):
    missing = rig.project / "missing"
    m = model([
        say("I look first.", form.run("call_1", "echo out-of-shell")),
        say("", form.put("call_2", rig.project / "greeting.txt", "hello\n")),
        say("One fails.", form.run("call_3", "echo to-stderr >&2; exit 3")),
        say("Another, too.", form.get("call_4", missing)),
        say("The greeting is ready."),
    ])
    assert "The greeting is ready." in agent.ask(m, PROMPT).ok().out
    assert m.main.left == 0 and (rig.project / "greeting.txt").read_text() == "hello\n"
    events = installed.wait_for_event(last_event(form))
    [session] = installed.sessions()
    assert (session.agent, session.cwd) == (agent.name, str(rig.project))
    assert {e.session for e in events} == {session.id}
    assert len(named(events, "SessionStart")) == len(named(events, "UserPromptSubmit")) == len(named(events, "Stop")) == 1
    assert len(named(events, "PreToolUse")) == 4
    assert len(named(events, "PostToolUse", "PostToolUseFailure")) == 4
    [batch] = installed.show(session.id)["batches"]
    assert PROMPT in batch["prompt"]
    acts = calls(batch)
    assert [a["tool"] for a in acts] == [form.shell, form.write, form.shell, form.read]
    assert [a["state"] for a in acts] == ["done", "done", "failed", "failed"], acts
    assert "out-of-shell" in acts[0]["output"]
    if form.ends:
        assert session.status == "completed"


@pytest.mark.parametrize("daemon", ["up", "down"])
def test_a_denied_command_does_not_run(rig, agent, form, installed, model, daemon):
    if daemon == "down":
        installed.call("stop").ok()
        wait_for("the daemon to end", lambda: not rig.processes())
    m = model([say("", form.run("call_deny", f"touch ran-anyway; echo {SELFTEST_DENY}")),
               say("", form.run("call_fine", "touch allowed")),
               say("Understood.")])
    assert "Understood." in agent.ask(m, "try the forbidden thing").ok().out
    assert not (rig.project / "ran-anyway").exists() and (rig.project / "allowed").exists()
    assert "hookd" in m.results()["call_deny"][0], m.results()
    events = installed.wait_for_event(last_event(form))
    assert len(named(events, "PostToolUse", "PostToolUseFailure")) == 1


def test_context_reaches_the_model(agent, installed, model):
    m = model([say("I read it.")])
    assert "I read it." in agent.ask(m, f"please mind {SELFTEST_CONTEXT}").ok().out
    assert m.saw(CONTEXT_TEXT)


def with_hook(rig, hookd, agent, event, answer, times=1):
    """Connects the agent, with one hook in hookd's own configuration that says this, in Claude's words, so often."""
    script, said = rig.root / "hook.sh", rig.root / "said"
    script.write_text(f"#!/bin/sh\ncat >/dev/null\necho x >>{said}\n[ $(wc -l <{said}) -gt {times} ] ||"
                      f" echo '{json.dumps(answer)}'\n")
    script.chmod(0o700)
    config = rig.hookd_dir / "config.json"
    config.write_text(json.dumps({"hooks": {event: [{"hooks": [{"type": "command", "command": str(script)}]}]}}))
    config.chmod(0o600)
    hookd.init(agent.name)
    hookd.start()


def test_context_of_a_hook_reaches_the_model(rig, agent, form, hookd, model):
    with_hook(rig, hookd, agent, "PostToolUse", {"hookSpecificOutput": {
        "hookEventName": "PostToolUse", "additionalContext": "mind the greeting"}})
    m = model([say("", form.run("call_1", "echo hi")), say("Fine.")])
    agent.ask(m, "say hi").ok()
    assert m.saw("mind the greeting")


@pytest.mark.parametrize("agent", ["copilot", "opencode"], indirect=True)
def test_a_hook_changes_the_command(rig, agent, form, hookd, model):
    with_hook(rig, hookd, agent, "PreToolUse", {"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "touch other", "description": "changed"}}})
    agent.ask(model([say("", form.run("call_1", "touch first")), say("Fine.")]), "touch it").ok()
    assert (rig.project / "other").exists() and not (rig.project / "first").exists()


@pytest.mark.parametrize("agent", ["qwen"], indirect=True)
def test_a_change_that_is_not_understood_does_not_run(rig, agent, form, hookd, model):
    with_hook(rig, hookd, agent, "PreToolUse", {"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "touch other"}}})
    agent.ask(model([say("", form.run("call_1", "touch first")), say("Fine.")]), "touch it").ok()
    assert not (rig.project / "other").exists() and not (rig.project / "first").exists()


@pytest.mark.parametrize("agent", ["copilot", "qwen"], indirect=True)
def test_a_hook_makes_the_turn_go_on(rig, agent, hookd, model):
    with_hook(rig, hookd, agent, "Stop", {"decision": "block", "reason": "count to three first"})
    m = model([say("First answer."), say("Second answer.")])
    assert "Second answer." in agent.ask(m, "hello").ok().out
    assert m.saw("count to three first") and m.main.left == 0


def test_a_missing_hookd_does_not_matter(rig, agent, form, installed, model):
    installed.call("stop").ok()
    wait_for("the daemon to end", lambda: not rig.processes())
    for name in ("hookc", "hookd"):
        (rig.bin / name).unlink()
    m = model([say("", form.run("call_1", "touch allowed")), say("Fine.")])
    assert "Fine." in agent.ask(m, PROMPT).ok().out
    assert m.main.left == 0 and (rig.project / "allowed").exists()


@pytest.mark.parametrize("agent", ["copilot", "opencode"], indirect=True)
def test_the_file_comes_back_after_a_session(agent, hookd, model):
    before = agent.settings.read_bytes() if agent.settings.exists() else None
    hookd.init(agent.name)
    first = agent.settings.read_bytes()
    agent.ask(model([say("Nothing to do.")]), "hello").ok()
    assert agent.settings.read_bytes() == first
    hookd.uninstall()
    assert (agent.settings.read_bytes() if agent.settings.exists() else None) == before


def test_qwen_rewrites_its_file_and_still_gets_rid_of_us(qwen, hookd, model):
    """It adds a number of its own, so the original cannot come back as a whole; but nothing of ours stays."""
    before = qwen.settings.read_text()
    hookd.init("qwen")
    qwen.ask(model([say("Nothing to do.")]), "hello").ok()
    hookd.uninstall()
    text = qwen.settings.read_text()
    assert "hookc" not in text and '"hooks"' not in text
    for line in before.splitlines()[2:4]:
        assert all(word in text for word in line.split('"')[1::2])


def test_copilot_runs_claude_lines_as_itself(rig, copilot, installed_claude_line, model):
    """A project's .claude/settings.json beside the user's own file: both fire, and it is one call of one session."""
    form = FORMS["copilot"]
    m = model([say("", form.run("call_1", "echo once")),
               say("", form.run("call_deny", f"touch ran-anyway; echo {SELFTEST_DENY}")), say("Fine.")])
    copilot.ask(m, "say it once").ok()
    installed_claude_line.wait_for_event("SessionEnd")
    [session] = installed_claude_line.sessions()
    assert session.agent == "copilot"
    [batch] = installed_claude_line.show(session.id)["batches"]
    assert [a["state"] for a in calls(batch)] == ["done", "denied"]
    assert not (rig.project / "ran-anyway").exists()


@pytest.fixture
def installed_claude_line(rig, copilot, hookd):
    hookd.init("copilot")
    (rig.project / ".claude").mkdir()
    line = {"type": "command", "timeout": 30}
    (rig.project / ".claude/settings.json").write_text(json.dumps({"hooks": {
        event: [{"hooks": [{**line, "command": f"{rig.bin}/hookc --dir {rig.hookd_dir} claude {event}"}]}]
        for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")}}))
    hookd.start()
    return hookd
