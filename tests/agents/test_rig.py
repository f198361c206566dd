"""The rig itself, with the real Claude Code and hooks of our own: what hookd's tests rely on."""

import json
import os
import signal
import subprocess
import sys

import rig as rigs
import scenes
from model import Lane, say, use


def test_only_loopback_is_there(rig, offline):
    if offline:
        done = rig.run(["cat", "/proc/net/dev"]).ok()
        names = {line.split(":")[0].strip() for line in done.out.splitlines()[2:]}
        # The kernel may add tunnel stubs of its own to a new namespace; none of them is up.
        assert "lo" in names and not any(n.startswith(("eth", "en", "wl")) for n in names)
        assert len(rig.run(["cat", "/proc/net/route"]).ok().out.splitlines()) <= 1


def test_environment_is_built_from_nothing(rig, monkeypatch):
    monkeypatch.setenv("HOOKD_TEST_LEAK", "leaked")
    show = "import os, json; print(json.dumps(dict(os.environ)))"
    env = json.loads(rig.run([sys.executable, "-c", show]).ok().out)
    assert "HOOKD_TEST_LEAK" not in env
    assert env["HOME"] == str(rig.home) and env["HOOKD_DIR"] == str(rig.hookd_dir)


def test_what_was_left_running_is_stopped():
    r = rigs.Rig()
    # Two ways to get lost: a new session, and a new session with an empty environment.
    kept = subprocess.Popen(["sleep", "60"], env=r.env(), start_new_session=True)
    bare = subprocess.Popen(["sleep", "60"], env={}, start_new_session=True, cwd=r.project)
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert set(r.processes()) == {kept.pid, bare.pid}
        r.stop()
        assert kept.wait(5) == -signal.SIGTERM and bare.wait(5) == -signal.SIGTERM
        assert other.poll() is None and not r.root.exists()
    finally:
        other.kill()
        other.wait()


def test_a_program_that_hangs_is_stopped(rig):
    try:
        rig.run(["sleep", "60"], seconds=0.3)
    except AssertionError as e:
        assert "longer than" in str(e)
    else:
        raise AssertionError("the run was not stopped")


def test_a_hook_sees_the_bash_call(rig, model, claude):
    command, seen = scenes.recorder(rig)
    claude.write_settings(json.dumps({
        "permissions": {"allow": ["Bash"]},
        "hooks": {"PreToolUse": [{"matcher": "Bash",
                                  "hooks": [{"type": "command", "command": command}]}]}}))
    m = model([say("Running.", use("Bash", "toolu_rig_1", command="echo from-the-tool")),
               say("All done.")])
    done = claude.ask(m, "run it").ok()
    assert "All done." in done.out
    [call] = seen()
    assert call["hook_event_name"] == "PreToolUse" and call["tool_name"] == "Bash"
    assert call["tool_input"]["command"] == "echo from-the-tool"
    assert call["tool_use_id"] == "toolu_rig_1" and call["cwd"] == str(rig.project)
    assert m.results() == {"toolu_rig_1": ("from-the-tool", False)}
    assert m.main.left == 0


def test_a_whole_session_fires_each_event_once(rig, model, claude):
    command, seen = scenes.recorder(rig)
    claude.write_settings(scenes.every_event(command))
    m = model(scenes.work(rig.project))
    claude.ask(m, scenes.PROMPT).ok()
    scenes.check_work(seen(), rig.project)
    assert m.saw(scenes.PROMPT)
    assert m.results()["toolu_work_4"][1]
    assert (rig.project / "greeting.txt").read_text() == "hello\n"


def test_a_denial_reaches_the_model_and_a_broken_hook_does_not_matter(rig, model, claude):
    deny = rig.root / "deny.sh"
    deny.write_text("#!/bin/sh\ngrep -q forbidden || exit 0\necho not-on-my-watch >&2\nexit 2\n")
    deny.chmod(0o700)
    claude.write_settings(json.dumps({
        "permissions": {"allow": ["Bash"]},
        "hooks": {"PreToolUse": [{"hooks": [
            {"type": "command", "command": str(deny)},
            {"type": "command", "command": "/nowhere/hookc claude"}]}]}}))
    m = model([say("", use("Bash", "toolu_deny", command="touch forbidden")),
               say("", use("Bash", "toolu_fine", command="touch fine")), say("Ok.")])
    assert "Ok." in claude.ask(m, "try it").ok().out
    text, failed = m.results()["toolu_deny"]
    assert failed and "not-on-my-watch" in text
    assert not (rig.project / "forbidden").exists() and (rig.project / "fine").exists()


def test_a_subagent_has_a_lane_of_its_own(rig, model, claude):
    claude.write_settings(scenes.every_event("true"))
    m = model(
        [say("", use("Agent", "toolu_agent", description="look", prompt="LANE-SUB: look around",
                     subagent_type="general-purpose", run_in_background=False)),
         say("The helper is back.")],
        Lane([say("", use("Bash", "toolu_sub", command="echo inside")), say("helper result")],
             when="LANE-SUB"))
    assert "The helper is back." in claude.ask(m, "ask a helper").ok().out
    assert m.results()["toolu_sub"][0] == "inside"
    assert "helper result" in m.results()["toolu_agent"][0]
    assert m.main.left == 0 and m.lanes[0].left == 0


def test_a_step_can_fail_and_act(rig, model, claude):
    claude.write_settings("{}")
    acted = []
    m = model([{"then": lambda request: acted.append(len(request["messages"])),
                "fail": {"status": 429, "type": "rate_limit_error",
                         "message": "scripted-refusal"}}])
    done = claude.ask(m, "hello")
    assert acted and "scripted-refusal" in done.out + done.err
    assert os.path.exists(rig.root / "model.jsonl")
