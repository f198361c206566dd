"""hookd under the real Gemini CLI, headless."""

import json

import pytest

import scenes
from hookd import CONTEXT_TEXT, SELFTEST_CONTEXT, SELFTEST_DENY, named
from model import say, use
from rig import wait_for
from terminal import ENTER, Terminal

PROMPT = "Please prepare the greeting: naïve “quotes” and a back\\slash."
UNTRUSTED_EXIT = 55  # what the CLI ends with in a folder it does not trust


def shell(id, command):
    return use("run_shell_command", id, command=command, description="a test")


def work(project):
    """A command, a file, a command that fails, text."""
    return [
        say("I look first.", shell("call_1", "echo out-of-shell")),
        say("", use("write_file", "call_2", file_path=str(project / "greeting.txt"), content="hello\n")),
        say("One fails.", shell("call_3", "echo to-stderr >&2; exit 3")),
        say("The greeting is ready."),
    ]


@pytest.fixture
def installed(gemini, hookd):
    hookd.init("gemini")
    hookd.start()
    return hookd


def doctor(hookd):
    """(finding, text) of everything doctor says about Gemini."""
    checks = json.loads(hookd.call("doctor", "--json").out)["checks"]
    return [(c["finding"], c["text"]) for c in checks if c["check"] == "gemini"]


def only_batch(hookd):
    [session] = hookd.sessions()
    [batch] = hookd.show(session.id)["batches"]
    return batch


def test_the_file_comes_back_after_a_session(gemini, hookd, model):
    before = gemini.settings.read_bytes()
    hookd.init("gemini")
    first = gemini.settings.read_bytes()
    assert first != before and b"// No question" in first and b"/* really */" in first
    hookd.init("gemini")
    assert gemini.settings.read_bytes() == first
    gemini.ask(model([say("Nothing to do.")]), "hello").ok()
    assert gemini.settings.read_bytes() == first
    hookd.uninstall()
    assert gemini.settings.read_bytes() == before


def test_a_session_is_stored_once_and_whole(rig, gemini, installed, model):
    m = model(work(rig.project))
    assert "The greeting is ready." in gemini.ask(m, PROMPT).ok().out
    assert m.main.left == 0 and (rig.project / "greeting.txt").read_text() == "hello\n"
    events = installed.wait_for_event("SessionEnd")
    counts = {name: len(named(events, name)) for name in {e.event for e in events}}
    posts = counts.pop("PostToolUse", 0) + counts.pop("PostToolUseFailure", 0)
    assert posts == 3
    assert counts == {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 3, "Stop": 1, "SessionEnd": 1}
    [session] = installed.sessions()
    assert (session.agent, session.cwd, session.events) == ("gemini", str(rig.project), len(events))
    assert {e.session for e in events} == {session.id}
    batch = only_batch(installed)
    assert batch["prompt"] == PROMPT and "The greeting is ready." in batch["response"]
    assert [a["tool"] for a in batch["activities"]] == ["run_shell_command", "write_file", "run_shell_command"]
    assert "out-of-shell" in batch["activities"][0]["output"]
    assert {a["state"] for a in batch["activities"]} <= {"done", "failed"}


def test_the_end_of_a_session_counts_once(gemini, installed, model):
    gemini.ask(model([say("Bye.")]), "hello").ok()
    installed.wait_for_event("SessionEnd")
    [session] = installed.sessions()
    assert session.status == "completed"
    shown = installed.show(session.id)
    assert shown["session"]["end_reason"] == "exit" and len(shown["windows"]) == 1


def test_a_person_quits(rig, gemini, installed, model):
    """At a terminal /quit tells of the end several times; it counts once."""
    m = model([say("Fine.")])
    with Terminal([gemini.program, "-m", "gemini-2.5-flash"], gemini.env(m), rig.project) as t:
        t.wait("Type your message", seconds=40)
        t.type("hello")
        t.wait("Fine.")
        here = t.mark()
        t.press("/quit")
        t.wait("/quit", here)
        t.press_until(ENTER, "the end", t.ended)
        assert t.end() == 0
    ends = named(installed.wait_for_event("SessionEnd"), "SessionEnd")
    [session] = installed.sessions()
    assert session.status == "completed" and {e.session for e in ends} == {session.id}
    shown = installed.show(session.id)
    assert [(b["prompt"], b["response"]) for b in shown["batches"]] == [("hello", "Fine.")]
    assert len(shown["windows"]) == 1 and shown["session"]["events"] == 4


def test_calls_at_once_are_paired(gemini, installed, model):
    # The first takes longest, so that they end in another order than they began.
    calls = [shell(f"call_{n}", f"sleep 0.{3 - n}; echo par-{n}") for n in range(3)]
    gemini.ask(model([say("", *calls), say("Fine.")]), "three at once").ok()
    installed.wait_for_event("SessionEnd")
    batch = only_batch(installed)
    assert len(batch["activities"]) == 3
    for a in batch["activities"]:
        n = a["input"]["command"][-1]
        assert a["state"] == "done" and f"par-{n}" in a["output"], a


@pytest.mark.parametrize("daemon", ["up", "down"])
def test_a_denied_command_does_not_run(rig, gemini, installed, model, daemon):
    if daemon == "down":
        installed.call("stop").ok()
        wait_for("the daemon to end", lambda: not rig.processes())
    m = model([say("", shell("call_deny", f"touch ran-anyway; echo {SELFTEST_DENY}")),
               say("", shell("call_fine", "touch allowed")),
               say("Understood.")])
    assert "Understood." in gemini.ask(m, "try the forbidden thing").ok().out
    assert not (rig.project / "ran-anyway").exists() and (rig.project / "allowed").exists()
    text, _ = m.results()["call_deny"]
    assert "blocked" in text and "hookd" in text, text
    events = installed.wait_for_event("SessionEnd")
    [after] = named(events, "PostToolUse")
    assert after.payload["tool_input"]["command"] == "touch allowed"


def test_doctor_proves_the_whole_path(installed):
    found = doctor(installed)
    assert [text for f, text in found if f == "bad"] == []
    assert [text for f, text in found if text.startswith("BeforeTool") and "denial came back" in text]
    assert [f for f, text in found if "untrusted folders" in text] == ["note"]


def test_an_untrusted_folder_is_not_captured(gemini, installed, model):
    """As doctor says: the CLI does not even start there."""
    settings = gemini.settings.read_text().replace(
        '"gemini-api-key" }', '"gemini-api-key" }, "folderTrust": { "enabled": true }')
    gemini.settings.write_text(settings)
    done = gemini.ask(model([say("Hello.")]), "hello", env={"GEMINI_CLI_TRUST_WORKSPACE": "false"})
    assert done.rc == UNTRUSTED_EXIT and installed.events() == []


def test_a_missing_hookd_does_not_matter(rig, gemini, installed, model):
    installed.call("stop").ok()
    wait_for("the daemon to end", lambda: not rig.processes())
    for name in ("hookc", "hookd"):
        (rig.bin / name).unlink()
    m = model([say("", use("read_file", "call_1", file_path=str(rig.project / "README"))), say("Fine.")])
    (rig.project / "README").write_text("a place for greetings\n")
    assert "Fine." in gemini.ask(m, PROMPT).ok().out
    assert m.main.left == 0


def test_hooks_of_our_own_see_what_the_rig_scripts(rig, gemini, model):
    """The rig itself, without hookd."""
    command, seen = scenes.recorder(rig)
    hook = [{"hooks": [{"type": "command", "command": command}]}]
    settings = gemini.settings.read_text().rstrip().removesuffix("}")
    gemini.settings.write_text(settings + ', "hooks": ' + json.dumps({"BeforeTool": hook, "AfterAgent": hook}) + "}")
    m = model(work(rig.project))
    gemini.ask(m, PROMPT).ok()
    assert [p["hook_event_name"] for p in seen()] == ["BeforeTool"] * 3 + ["AfterAgent"]
    assert m.main.left == 0 and "out-of-shell" in m.results()["call_1"][0]


def test_context_reaches_the_model(gemini, installed, model):
    m = model([say("I read it.")])
    assert "I read it." in gemini.ask(m, f"please mind {SELFTEST_CONTEXT}").ok().out
    assert m.saw(CONTEXT_TEXT)
