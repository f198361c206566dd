"""Hooks written once, in Claude Code's own settings or in hookd's, under all three real agents."""

import json

import pytest

from model import say, use
from rig import wait_for

# The two example scripts of the hooks' reference: one decides (its dialect: not zero blocks), one keeps a log.
VALIDATE = """#!/bin/bash
if [ "$TOOL_NAME" = "Bash" ]; then
  case "$COMMAND" in
    *"rm -rf"*) echo "BLOCKED: Dangerous command" >&2; exit 1 ;;
  esac
fi
exit 0
"""
LOG = """#!/bin/bash
echo "$SESSION_ID | $TOOL_NAME | $TOOL_INPUT" >> "$HOME/tool-usage.log"
exit 0
"""

AGENTS = ["claude", "codex", "gemini"]


def shell(agent, id, command):
    """A call of the agent's own shell tool."""
    if agent == "codex":
        return use("exec_command", id, cmd=command)
    if agent == "gemini":
        return use("run_shell_command", id, command=command, description="a test")
    return use("Bash", id, command=command)


@pytest.fixture(params=AGENTS)
def agent(request):
    return request.param


@pytest.fixture
def cli(request, agent, hookd):
    return request.getfixturevalue(agent)


def script(rig, name, text):
    path = rig.home / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def configure(rig, hooks):
    """hookd's own config of the user: the same for every agent."""
    rig.hookd_dir.mkdir(mode=0o700, exist_ok=True)
    (rig.hookd_dir / "config.json").write_text(json.dumps({"hooks": hooks}))


def connect(agent, cli, hookd):
    hookd.init(agent)
    hookd.start()
    if agent == "codex":
        cli.trust_hooks()


def test_the_two_example_scripts_guard_every_agent(rig, agent, cli, hookd, model):
    validate, log = script(rig, "validate-command.sh", VALIDATE), script(rig, "log-tool-usage.sh", LOG)
    configure(rig, {
        "PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": validate, "timeout": 5000, "exit_dialect": "code-agent", "name": "validate"}]}],
        "PostToolUse": [{"matcher": ".*", "hooks": [{"type": "command", "command": log}]}],
    })
    connect(agent, cli, hookd)
    # Harmless, so that it is the script who objects and not a rule.
    m = model([say("", shell(agent, "call_deny", "touch ran; echo rm -rf")),
               say("", shell(agent, "call_fine", "echo fine")),
               say("Understood.")])
    assert "Understood." in cli.ask(m, "try the forbidden thing").ok().out
    assert not (rig.project / "ran").exists()
    assert "BLOCKED: Dangerous command" in m.results()["call_deny"][0]
    assert "fine" in m.results()["call_fine"][0]
    hookd.wait_for_event("SessionEnd")
    told = (rig.home / "tool-usage.log").read_text()
    assert "| Bash | " in told and "echo fine" in told and "rm -rf" not in told
    [d] = [d for d in json.loads(hookd.call("decisions", "--json").ok().out)["decisions"] if d["prevailed"]]
    assert (d["rule"], d["decision"]) == ("hook:validate", "deny")


def test_a_changed_input_runs_instead(rig, agent, cli, hookd, model):
    change = script(rig, "change.py", "#!/usr/bin/env python3\n"
                    "import json, sys\n"
                    "e = json.load(sys.stdin)\n"
                    "i = dict(e['tool_input'], command='echo changed')\n"
                    "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse', 'permissionDecision': 'allow',"
                    " 'updatedInput': i}}))\n")
    configure(rig, {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": change}]}]})
    connect(agent, cli, hookd)
    m = model([say("", shell(agent, "call_1", "echo original")), say("Done.")])
    cli.ask(m, "go").ok()
    text = m.results()["call_1"][0]
    assert "changed" in text and "original" not in text.replace("[System]", "")


def test_context_of_a_hook_reaches_the_model(rig, agent, cli, hookd, model):
    configure(rig, {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo 'the moon is full'"}]}]})
    connect(agent, cli, hookd)
    m = model([say("I see.")])
    cli.ask(m, "hello").ok()
    assert m.saw("the moon is full")


def test_a_projects_hook_does_not_run_untrusted(rig, agent, cli, hookd, model):
    folder = rig.project / ".hookd"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "config.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": f"touch {rig.home}/ran-untrusted; exit 2"}]}]}}))
    connect(agent, cli, hookd)
    m = model([say("", shell(agent, "call_1", "echo fine")), say("Done.")])
    cli.ask(m, "go").ok()
    assert "fine" in m.results()["call_1"][0]
    assert not (rig.home / "ran-untrusted").exists()


def test_hooks_of_claudes_settings_work_for_the_others(rig, agent, cli, hookd, model):
    """Each of them once: Claude Code runs its file itself, hookd runs it for the others."""
    if agent == "claude":
        pytest.skip("its own file is its own business")
    settings = rig.home / ".claude"
    settings.mkdir(exist_ok=True)
    (settings / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "echo once >> $HOME/counted; echo 'no shell today' >&2; exit 2"}]}]}}))
    connect(agent, cli, hookd)
    m = model([say("", shell(agent, "call_1", "touch ran")), say("Done.")])
    cli.ask(m, "go").ok()
    assert "no shell today" in m.results()["call_1"][0] and not (rig.project / "ran").exists()
    assert (rig.home / "counted").read_text() == "once\n"


@pytest.mark.parametrize("daemon", ["up", "down"])
def test_a_rule_stops_every_agent(rig, agent, cli, hookd, model, daemon):
    """The built-in rules, through the real path: not run, the reason told, kept; also without a daemon."""
    connect(agent, cli, hookd)
    if daemon == "down":
        hookd.call("stop").ok()
    kept = rig.project / ".git" / "HEAD"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("ref: refs/heads/main\n")
    m = model([say("", shell(agent, "call_deny", "cd . && x=.git && rm -rf \"$x\"")), say("Understood.")])
    assert "Understood." in cli.ask(m, "tidy up").ok().out
    assert kept.exists()
    assert "fs.rm-project" in m.results()["call_deny"][0]
    hookd.wait_for_event("SessionEnd")
    told = wait_for("the decision", lambda: json.loads(hookd.call("decisions", "--json").ok().out)["decisions"], 15, 0.2)
    assert {(d["rule"], d["decision"]) for d in told} == {("fs.rm-project", "deny")}
    assert all("ran_us" not in d for d in told)
