"""hookd under the real Claude Code: what a user gets from `hookd init` to `hookd uninstall`."""

import concurrent.futures
import json
import os
import signal

import pytest

import scenes
from hookd import CONTEXT_TEXT, SELFTEST_CONTEXT, SELFTEST_DENY, named
from model import say, use
from rig import FAKE_KEY, wait_for


@pytest.fixture
def user(rig, claude):
    """A person who already has hooks: (original bytes of settings.json, what those hooks saw)."""
    command, seen = scenes.recorder(rig, "foreign")
    original = scenes.FOREIGN_SETTINGS.replace("@RECORD@", command).encode()
    claude.write_settings(original)
    return original, seen


@pytest.fixture
def installed(user, hookd):
    hookd.init("claude")
    hookd.start()
    return hookd


def only_foreign(settings, foreign):
    """The parsed settings with no hook commands but the foreign ones."""
    kept = json.loads(json.dumps(settings))
    for event, groups in list(kept["hooks"].items()):
        for group in groups:
            group["hooks"] = [h for h in group["hooks"] if h.get("command") in foreign]
        kept["hooks"][event] = [g for g in groups if g["hooks"]]
        if not kept["hooks"][event]:
            del kept["hooks"][event]
    return kept


# -- 1 and 7: the settings file --------------------------------------------------------------------

def test_init_keeps_what_was_there(user, claude, hookd):
    original, _ = user
    before = json.loads(original)
    foreign = {h["command"]
               for groups in before["hooks"].values() for g in groups for h in g["hooks"]}
    hookd.init("claude")
    after_bytes = claude.settings.read_bytes()
    after = json.loads(after_bytes)
    assert only_foreign(after, foreign) == before
    for event in scenes.EVENTS:
        lines = json.dumps(after["hooks"][event])
        assert "hookc" in lines, f"no hook on {event}"
    # Text that is not ours keeps its odd blanks and escapes.
    assert b'"env":{ "GREETING":"gr\\u00fc\\u00df dich' in after_bytes
    assert b'"cleanupPeriodDays":   99 , "includeCoAuthoredBy" : false' in after_bytes
    assert claude.settings.stat().st_mode & 0o777 == 0o644 & ~_umask()

    hookd.init("claude")
    assert claude.settings.read_bytes() == after_bytes, "a second init changed the file"


def test_uninstall_restores_every_byte(user, claude, hookd, model):
    original, _ = user
    hookd.init("claude")
    assert claude.settings.read_bytes() != original
    # A session in between: the agent reads the file and must not make hookd lose the original.
    claude.ask(model([say("Nothing to do.")]), "hello").ok()
    hookd.uninstall()
    assert claude.settings.read_bytes() == original


def test_uninstall_removes_a_file_that_init_made(claude, hookd):
    hookd.init("claude")
    assert claude.settings.exists()
    hookd.uninstall()
    assert not claude.settings.exists()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# -- 2: a whole session ----------------------------------------------------------------------------

def test_a_session_is_stored_once_and_whole(rig, user, claude, installed, model):
    _, foreign_saw = user
    m = model(scenes.work(rig.project))
    assert "The greeting is ready." in claude.ask(m, scenes.PROMPT).ok().out
    assert m.main.left == 0

    events = installed.wait_for_event("SessionEnd")
    session = scenes.check_work([e.payload for e in named(events, *scenes.EVENTS)], rig.project)
    assert len({e.id for e in events}) == len(events)
    assert {(e.agent, e.session) for e in events} == {("claude", session)}
    for e in named(events, "PreToolUse", "PostToolUse", "PostToolUseFailure"):
        assert e.tool == e.payload["tool_name"] and e.event == e.payload["hook_event_name"]

    [listed] = installed.sessions()
    assert (listed.agent, listed.id, listed.cwd) == ("claude", session, str(rig.project))
    assert listed.events == len(events)
    assert installed.sessions_by_rpc() == [listed]

    # The person's own hooks ran beside ours, as often as before.
    assert [p["hook_event_name"] for p in foreign_saw()] == ["PreToolUse", "PreToolUse", "Stop"]


def test_two_sessions_at_once_stay_apart(rig, claude, installed, model):
    prompts = [f"parallel-{n}" for n in range(3)]
    models = [model([say("", use("Bash", f"toolu_par_{n}", command=f"echo par-{n}")), say("Fine.")])
              for n in range(3)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for done in pool.map(claude.ask, models, prompts):
            done.ok()
    events = installed.wait_for_event("SessionEnd", 3)
    for n, prompt in enumerate(prompts):
        [e] = [e for e in named(events, "UserPromptSubmit") if e.payload["prompt"] == prompt]
        mine = [x for x in events if x.session == e.session]
        assert [x.use for x in named(mine, "PostToolUse")] == [f"toolu_par_{n}"]
        assert len(named(mine, "SessionStart")) == len(named(mine, "SessionEnd")) == 1


# -- 3: a denial -----------------------------------------------------------------------------------

@pytest.mark.parametrize("daemon", ["up", "down"])
def test_a_denied_command_does_not_run(rig, claude, installed, model, daemon):
    def stop_daemon(_):
        if daemon == "down":
            os.kill(installed.pid(), signal.SIGKILL)

    command = f"touch ran-anyway; echo {SELFTEST_DENY}"
    m = model([say("", use("Bash", "toolu_deny", command=command), then=stop_daemon),
               say("", use("Bash", "toolu_fine", command="touch allowed")),
               say("Understood.")])
    assert "Understood." in claude.ask(m, "try the forbidden thing").ok().out
    assert not (rig.project / "ran-anyway").exists()
    assert (rig.project / "allowed").exists()
    text, failed = m.results()["toolu_deny"]
    assert failed and "hookd" in text, text
    events = installed.wait_for_event("SessionEnd")
    assert [e.use for e in named(events, "PreToolUse")].count("toolu_deny") == 1
    assert not [e for e in named(events, "PostToolUse") if e.use == "toolu_deny"]


# -- 4: secrets ------------------------------------------------------------------------------------

# Put together here so that no scanner takes this file for a leak.
AWS_ID = "AKIA" + "Q3EGRIGTESTKEY47"
AWS_SECRET = "wJalr" + "XUtnFEMI/K7MDENG/bPxRfiCYzzRIGKEY47"
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
PEM_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEF" + "RigTestOnlyNotAKey0000000000"
PEM = f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}\n-----END PRIVATE KEY-----\n"


def test_secrets_are_in_no_file(rig, claude, installed, model):
    secrets = rig.project / "credentials"
    secrets.write_text(f"aws_access_key_id = {AWS_ID}\naws_secret_access_key = {AWS_SECRET}\n"
                       f"GITHUB_TOKEN={GITHUB}\nvisible-in-output\n{PEM}")
    m = model([say("", use("Bash", "toolu_cat", command="cat credentials")),
               say("", use("Read", "toolu_read", file_path=str(secrets))),
               say("", use("Write", "toolu_write", file_path=str(rig.project / "copy"),
                           content=f"export AWS_SECRET_ACCESS_KEY={AWS_SECRET}\n")),
               say(f"The key is {AWS_ID}.")])
    claude.ask(m, f"visible-in-prompt: deploy with {AWS_ID} and {GITHUB}, please").ok()
    events = installed.wait_for_event("SessionEnd")

    # The rest of the text is there, so that nothing is proved by storing nothing.
    assert "visible-in-prompt" in named(events, "UserPromptSubmit")[0].payload["prompt"]
    assert any("visible-in-output" in json.dumps(e.payload) for e in named(events, "PostToolUse"))
    # The agent itself works on the real values.
    assert AWS_SECRET in (rig.project / "copy").read_text() and m.saw(AWS_ID)

    hidden = (AWS_ID, AWS_SECRET, GITHUB, PEM_BODY, FAKE_KEY)
    assert installed.files_with(*hidden) == []
    shown = installed.call("tail", "--json", "-n", "1000").out
    assert not [s for s in hidden if s in shown]


def test_a_private_part_of_a_prompt_is_in_no_file(claude, installed, model):
    m = model([say("Noted.")])
    claude.ask(m, "visible-part <private>hidden-part-4711</private> visible-end").ok()
    events = installed.wait_for_event("SessionEnd")
    stored = named(events, "UserPromptSubmit")[0].payload["prompt"]
    assert "visible-part" in stored and "visible-end" in stored
    assert m.saw("hidden-part-4711")
    assert installed.files_with("hidden-part-4711") == []


def test_a_private_prompt_mutes_its_turn(rig, claude, installed, model):
    m = model([say("", use("Bash", "toolu_priv", command="echo hidden-tool-4711")),
               say("hidden-answer-4711")])
    claude.ask(m, "<private>hidden-prompt-4711</private>").ok()
    installed.wait_for_event("SessionEnd")
    assert m.results()["toolu_priv"][0] == "hidden-tool-4711"
    hidden = ("hidden-prompt-4711", "hidden-tool-4711", "hidden-answer-4711")
    assert installed.files_with(*hidden) == []


# -- 5: the daemon dies ----------------------------------------------------------------------------

def test_killing_the_daemon_loses_and_doubles_nothing(rig, claude, installed, model):
    killed = []

    def kill(_):
        pid = installed.pid()
        if pid:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    # Before the second tool and again before the last one.
    m = model(scenes.work(rig.project, then={1: kill, 3: kill}))
    done = claude.ask(m, scenes.PROMPT).ok()
    assert "The greeting is ready." in done.out and killed
    assert m.main.left == 0

    installed.call("start")  # in case the session's last call left the work to the next start
    events = wait_for("all events", lambda: (
        all if len(named(all := installed.events(), *scenes.EVENTS)) >= 12 else None), 20, 0.2)
    scenes.check_work([e.payload for e in named(events, *scenes.EVENTS)], rig.project)
    assert len({e.id for e in events}) == len(events)


# -- 6: hookd is missing or broken -----------------------------------------------------------------

def _remove(path):
    path.unlink()


def _garbage(path):
    path.unlink()
    path.write_bytes(b"\x7fELF" + bytes(60))
    path.chmod(0o755)


def _fails(path):
    path.unlink()
    path.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    path.chmod(0o755)


def _not_executable(path):
    path.chmod(0o644)


@pytest.mark.parametrize("how", [_remove, _garbage, _fails, _not_executable])
@pytest.mark.parametrize("which", ["hookc", "hookd", "both"])
def test_a_broken_hookd_does_not_matter(rig, claude, user, hookd, model, how, which):
    hookd.init("claude")
    hookd.call("stop")
    wait_for("the daemon to end", lambda: not rig.processes())
    for name in ("hookc", "hookd") if which == "both" else (which,):
        how(rig.bin / name)
    m = model(scenes.work(rig.project))
    done = claude.ask(m, scenes.PROMPT).ok()
    assert "The greeting is ready." in done.out
    assert m.main.left == 0 and (rig.project / "greeting.txt").exists()
    results = m.results()
    assert "out-of-bash" in results["toolu_work_1"][0] and not results["toolu_work_1"][1]
    assert not m.saw("hook error")


def test_context_reaches_the_model(claude, installed, model):
    m = model([say("I read it.")])
    assert "I read it." in claude.ask(m, f"please mind {SELFTEST_CONTEXT}").ok().out
    assert m.saw(CONTEXT_TEXT)
