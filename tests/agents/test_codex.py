"""hookd under the real Codex CLI: hooks that must be trusted, and notify beside them."""

import json

import pytest

import scenes
from codex_cli import BYPASS
from hookd import CONTEXT_TEXT, SELFTEST_CONTEXT, SELFTEST_DENY, named
from model import say, use, use_text
from rig import wait_for
from terminal import ENTER, Terminal

PROMPT = "Please prepare the greeting: naïve “quotes” and a back\\slash."
PATCH = "*** Begin Patch\n*** Add File: greeting.txt\n+hello\n*** End Patch\n"
# A person's own hook, in a file with odd blanks and no line end. The placeholder is its command.
OWN_HOOKS = ('{"description" : "mine",\n\n  "hooks":{ "PreToolUse" :[\n {"matcher":"Bash",  "hooks":['
             '{"type":"command","command":"@COMMAND@"}]}\n]} }')


def work():
    """A command, a patch, a command that fails, text."""
    return [
        say("I look first.", use("exec_command", "call_work_1", cmd="echo out-of-shell")),
        say("", use_text("apply_patch", PATCH, "call_work_2")),
        say("One fails.", use("exec_command", "call_work_3", cmd="echo to-stderr >&2; exit 3")),
        say("The greeting is ready."),
    ]


@pytest.fixture
def installed(codex, hookd):
    hookd.init("codex")
    hookd.start()
    return hookd


@pytest.fixture
def trusted(codex, installed):
    codex.trust_hooks()
    return installed


def doctor(hookd):
    """(finding, text) of everything doctor says about Codex."""
    checks = json.loads(hookd.call("doctor", "--json").out)["checks"]
    return [(c["finding"], c["text"]) for c in checks if c["check"] == "codex"]


def whole_turn(hookd, session=None):
    """`hookd show` of the only session, once hooks have ended it and notify has been told."""
    def look():
        found = hookd.sessions()
        assert len(found) <= 1, found
        if not found or not named(hookd.events(), "TurnComplete"):
            return None
        return hookd.show(found[0].id)
    return wait_for("the turn from hooks and notify", look, 15, 0.2)


# -- files -----------------------------------------------------------------------------------------

def test_both_files_come_back_after_a_session(codex, hookd, model):
    before = codex.config.read_bytes()
    codex.hooks.write_bytes(OWN_HOOKS.replace("@COMMAND@", "true").encode())
    own = codex.hooks.read_bytes()
    hookd.init("codex")
    first = codex.config.read_bytes(), codex.hooks.read_bytes()
    assert b"notify = [" in first[0] and first[0] != before and first[1] != own
    hookd.init("codex")
    assert (codex.config.read_bytes(), codex.hooks.read_bytes()) == first
    codex.ask(model([say("Nothing to do.")]), "hello", BYPASS).ok()
    assert (codex.config.read_bytes(), codex.hooks.read_bytes()) == first
    hookd.uninstall()
    assert codex.config.read_bytes() == before
    assert codex.hooks.read_bytes() == own


def test_files_that_init_made_go_again(codex, hookd):
    codex.config.unlink()
    hookd.init("codex")
    assert codex.config.exists() and codex.hooks.exists()
    hookd.uninstall()
    assert not codex.config.exists() and not codex.hooks.exists()


# -- trust -----------------------------------------------------------------------------------------

def test_doctor_says_of_trust_what_codex_says(codex, installed):
    assert {h["trustStatus"] for h in codex.known_hooks()} == {"untrusted"}
    assert [f for f, text in doctor(installed) if "skips 12 of 12 hooks" in text] == ["bad"]
    codex.trust_hooks()
    assert {h["trustStatus"] for h in codex.known_hooks()} == {"trusted"}
    found = doctor(installed)
    assert not [text for _, text in found if "skips" in text]
    assert [f for f, text in found if "trusts all 12 hooks" in text] == ["ok"]
    # A second init leaves the lines as they are, and so trusted.
    installed.init("codex")
    assert {h["trustStatus"] for h in codex.known_hooks()} == {"trusted"}


def test_a_person_trusts_at_the_start(rig, codex, installed, model):
    """What init and doctor say: codex asks when it starts. It also keeps notes in config.toml then."""
    m = model([])
    before = codex.config.read_text()
    with Terminal([codex.program, *codex.options(m)], codex.env(m), rig.project) as t:
        t.wait("12 hooks are new or changed")
        t.press_until("2", "the second choice", lambda: "›2.Trustall" in t.text())
        t.press_until(ENTER, "trust", lambda: codex.config.read_text().count("trusted_hash") == 12)
    assert ("ok", "Codex CLI trusts all 12 hooks") in doctor(installed)
    after = codex.config.read_text()
    ours = next(line for line in before.splitlines(True) if line.startswith("notify"))
    installed.uninstall()
    assert codex.config.read_text() == after.replace(ours, "") != after


def test_a_hook_switched_off_is_told(codex, trusted):
    with codex.server() as call:
        [found] = call("hooks/list", cwds=[str(codex.rig.project)])["data"]
        key = found["hooks"][0]["key"]
        call("config/batchWrite", reloadUserConfig=True, edits=[
            {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": {
                key: {"trusted_hash": found["hooks"][0]["currentHash"], "enabled": False}}}])
    assert ("note", "1 of 12 hooks are switched off in Codex CLI") in doctor(trusted)


def test_a_persons_own_hook_stays_trusted(rig, codex, hookd, model):
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse",
                                     "additionalContext": "context-of-the-person"}}
    script = rig.root / "own.sh"
    script.write_text(f"#!/bin/sh\ncat >/dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    script.chmod(0o700)
    codex.hooks.write_text(OWN_HOOKS.replace("@COMMAND@", str(script)))
    codex.trust_hooks()
    hookd.init("codex")
    by_command = {h["command"]: h["trustStatus"] for h in codex.known_hooks()}
    assert by_command.pop(str(script)) == "trusted"
    assert len(by_command) == 12 and set(by_command.values()) == {"untrusted"}
    m = model([say("", use("exec_command", "call_1", cmd="true")), say("Done.")])
    codex.ask(m, "hello").ok()
    assert m.saw("context-of-the-person")
    # And it is still trusted when ours are gone.
    hookd.uninstall()
    assert [h["trustStatus"] for h in codex.known_hooks()] == ["trusted"]


def test_untrusted_hooks_leave_notify(codex, installed, model):
    codex.ask(model(work()), PROMPT).ok()
    shown = whole_turn(installed)
    [batch] = shown["batches"]
    assert (batch["prompt"], batch["response"]) == (PROMPT, "The greeting is ready.")
    assert {e.event for e in installed.events()} == {"TurnComplete"}
    assert shown["session"]["cwd"] == str(codex.rig.project)


# -- capture ---------------------------------------------------------------------------------------

def check_work(shown, hookd, project):
    session = shown["session"]
    assert (session["agent"], session["cwd"]) == ("codex", str(project))
    [batch] = shown["batches"]
    assert (batch["prompt"], batch["response"]) == (PROMPT, "The greeting is ready.")
    assert batch["status"] == "completed"
    calls = {a["tool_use_id"]: a for a in batch["activities"]}
    assert sorted(calls) == [f"call_work_{n}" for n in (1, 2, 3)] and len(batch["activities"]) == 3
    assert [calls[c]["tool"] for c in sorted(calls)] == ["Bash", "apply_patch", "Bash"]
    assert {a["state"] for a in calls.values()} <= {"done", "failed"}
    assert "out-of-shell" in calls["call_work_1"]["output"]
    assert "to-stderr" in calls["call_work_3"]["output"]
    assert not shown["outside"]
    events = hookd.events()
    counts = {name: len(named(events, name)) for name in {e.event for e in events}}
    assert counts == {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 3, "PostToolUse": 3, "Stop": 1,
                      "TurnComplete": 1, "SessionEnd": 1}
    assert {(e.agent, e.session) for e in events} == {("codex", session["id"])}


def test_hooks_and_notify_make_one_story(rig, codex, trusted, model):
    m = model(work())
    assert "The greeting is ready." in codex.ask(m, PROMPT).ok().out
    assert m.main.left == 0 and (rig.project / "greeting.txt").read_text() == "hello\n"
    trusted.wait_for_event("SessionEnd")
    check_work(whole_turn(trusted), trusted, rig.project)


def test_one_run_may_go_without_trust(rig, codex, installed, model):
    codex.ask(model(work()), PROMPT, BYPASS).ok()
    installed.wait_for_event("SessionEnd")
    check_work(whole_turn(installed), installed, rig.project)


def test_without_notify_the_hooks_tell_the_same(rig, codex, hookd, model):
    codex.config.write_bytes(b'notify = ["true"]\n' + codex.config.read_bytes())
    done = hookd.init("codex")
    assert "already used by true" in done.out
    hookd.start()
    codex.ask(model(work()), PROMPT, BYPASS).ok()
    hookd.wait_for_event("SessionEnd")
    [session] = hookd.sessions()
    [batch] = hookd.show(session.id)["batches"]
    assert (batch["prompt"], batch["response"]) == (PROMPT, "The greeting is ready.")
    assert len(batch["activities"]) == 3 and not named(hookd.events(), "TurnComplete")


def test_calls_at_once_are_told_apart(codex, trusted, model):
    calls = [use("exec_command", f"call_par_{n}", cmd=f"echo par-{n}") for n in range(3)]
    codex.ask(model([say("", *calls), say("Fine.")]), "three at once").ok()
    trusted.wait_for_event("SessionEnd")
    [session] = trusted.sessions()
    [batch] = trusted.show(session.id)["batches"]
    assert {a["tool_use_id"]: a["output"].strip() for a in batch["activities"]} == {
        f"call_par_{n}": f"par-{n}" for n in range(3)}


def test_a_second_prompt_goes_on_in_the_session(codex, trusted, model):
    codex.ask(model([say("One.")]), "first").ok()
    trusted.wait_for_event("SessionEnd")
    m = model([say("Two.")])
    codex.run(m, "exec", "resume", "--last", *codex.options(m), "second").ok()
    trusted.wait_for_event("SessionEnd", 2)
    shown = wait_for("both turns", lambda: (
        s if len(named(trusted.events(), "TurnComplete")) == 2 and
        (s := trusted.show(trusted.sessions()[0].id)) else None), 15, 0.2)
    assert len(trusted.sessions()) == 1
    assert [(b["prompt"], b["response"]) for b in shown["batches"]] == [("first", "One."), ("second", "Two.")]


# -- deciding --------------------------------------------------------------------------------------

@pytest.mark.parametrize("daemon", ["up", "down"])
def test_a_denied_command_does_not_run(rig, codex, trusted, model, daemon):
    if daemon == "down":
        trusted.call("stop").ok()
        wait_for("the daemon to end", lambda: not rig.processes())
    m = model([say("", use("exec_command", "call_deny", cmd=f"touch ran-anyway; echo {SELFTEST_DENY}")),
               say("", use("exec_command", "call_fine", cmd="touch allowed")),
               say("Understood.")])
    assert "Understood." in codex.ask(m, "try the forbidden thing").ok().out
    assert not (rig.project / "ran-anyway").exists() and (rig.project / "allowed").exists()
    assert "hookd" in m.results()["call_deny"][0], m.results()["call_deny"]
    events = trusted.wait_for_event("SessionEnd")
    assert [e.use for e in named(events, "PostToolUse")] == ["call_fine"]


def test_doctor_proves_the_whole_path(codex, trusted):
    bad = [text for f, text in doctor(trusted) if f == "bad"]
    assert bad == []
    assert [text for f, text in doctor(trusted) if text.startswith("PreToolUse") and "denial came back" in text]
    assert [f for f, text in doctor(trusted) if text.startswith("notify: fired, stored once")] == ["ok"]


# -- when hookd is broken --------------------------------------------------------------------------

def test_a_missing_hookd_does_not_matter(rig, codex, trusted, model):
    trusted.call("stop").ok()
    wait_for("the daemon to end", lambda: not rig.processes())
    for name in ("hookc", "hookd"):
        (rig.bin / name).unlink()
    m = model(work())
    assert "The greeting is ready." in codex.ask(m, PROMPT).ok().out
    assert m.main.left == 0 and "out-of-shell" in m.results()["call_work_1"][0]


def test_hooks_of_our_own_see_what_the_rig_scripts(rig, codex, model):
    """The rig itself, without hookd."""
    command, seen = scenes.recorder(rig)
    hook = [{"hooks": [{"type": "command", "command": command}]}]
    codex.hooks.write_text(json.dumps({"hooks": {"PreToolUse": hook, "Stop": hook}}))
    m = model(work())
    codex.ask(m, PROMPT, BYPASS).ok()
    assert [p["hook_event_name"] for p in seen()] == ["PreToolUse"] * 3 + ["Stop"]
    assert m.main.left == 0 and "out-of-shell" in m.results()["call_work_1"][0]


def test_context_reaches_the_model(codex, trusted, model):
    m = model([say("I read it.")])
    assert "I read it." in codex.ask(m, f"please mind {SELFTEST_CONTEXT}").ok().out
    assert m.saw(CONTEXT_TEXT)
