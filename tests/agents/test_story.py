"""A day's work with everything that happens to it, and what `hookd show` tells of it afterwards.

    tests/agents/run -s tests/agents/test_story.py      prints the story, to be read by a person"""

import json
import os
import re
import signal
import threading

from hookd import Event, named
from model import Lane, say, use
from rig import wait_for
from terminal import ENTER, sit_down

SUMMARY = "<analysis>short</analysis><summary>There is a greeting.</summary>"
PLAN = "# Say goodbye\n\n1. Write farewell.txt.\n2. Tell everybody.\n"


class Story:
    """One scene after the other, each a run of the agent in the same session."""

    def __init__(self, rig, claude, hookd, model):
        self.rig, self.claude, self.hookd, self.model = rig, claude, hookd, model
        self.session = None
        self.path = lambda name: str(rig.project / name)

    def ask(self, prompt, steps, *lanes):
        """A prompt in a run of its own, to the end of the run."""
        m = self.model(steps, *lanes)
        more = ["--resume", self.session] if self.session else []
        done = self.claude.ask(m, prompt, *more)
        assert m.main.left == 0 and all(k.left == 0 for k in m.lanes), f"{done}"
        return done

    def pids(self, program):
        """The processes of this rig that run a program."""
        def runs(pid):
            try:
                return os.path.samefile(f"/proc/{pid}/exe", program)
            except OSError:
                return False
        return [p for p in self.rig.processes() if runs(p)]

    # -- scenes ------------------------------------------------------------------------------

    def look_around(self):
        (self.rig.project / "README").write_text("A place for greetings.\n")
        self.ask("Please look around and ask a helper to count.", [
            say("I look.", use("Bash", "toolu_ls", command="ls")),
            say("", use("Read", "toolu_readme", file_path=self.path("README"))),
            say("", use("Agent", "toolu_helper", description="count the files",
                        prompt="LANE-HELPER: count", subagent_type="general-purpose",
                        run_in_background=False)),
            say("There is one file,\nsays the helper."),
        ], Lane([say("", use("Bash", "toolu_count", command="ls | wc -l")),
                 say("There is one file.")], when="LANE-HELPER")).ok()
        [start] = named(self.hookd.wait_for_event("SessionEnd"), "SessionStart")
        self.session = start.session

    def write_while_the_daemon_dies(self):
        """It hangs before the first call, whose events wait in the spool, and is killed in the
        middle of the second; the third finds a new one."""
        go = self.rig.project / "go"
        daemon = self.hookd.pid()

        def hang(_):
            os.kill(daemon, signal.SIGSTOP)

        def kill_during_call(_):
            def kill():
                wait_for("the call", (self.rig.project / "waiting").exists)
                os.kill(daemon, signal.SIGKILL)
                go.touch()
            threading.Thread(target=kill, daemon=True).start()

        self.ask("Write the greeting.", [
            say("", use("Write", "toolu_write", file_path=self.path("greeting.txt"),
                        content="hello\n"), then=hang),
            say("", use("Bash", "toolu_wait", command="touch waiting; until [ -e go ]; "
                        "do sleep 0.02; done; echo went on"), then=kill_during_call),
            say("", use("Bash", "toolu_bad", command="echo no such word >&2; exit 4")),
            say("The greeting is written."),
        ]).ok()

    def compact(self):
        self.ask("Make it longer.", [
            say("", use("Edit", "toolu_edit", file_path=self.path("greeting.txt"),
                        old_string="hello", new_string="hello, all of you"), tokens=990_000),
            say(SUMMARY),
            say("", use("Read", "toolu_read", file_path=self.path("greeting.txt"))),
            say("It is longer now."),
        ]).ok()

    def be_killed(self):
        """In the middle of a call, so that neither its end nor the prompt's is ever told."""
        def kill_during_call(_):
            def kill():
                wait_for("the call", (self.rig.project / "endless").exists)
                for pid in self.pids(self.claude.program):
                    os.kill(pid, signal.SIGKILL)
            threading.Thread(target=kill, daemon=True).start()

        done = self.ask("Translate it into everything.", [
            say("This will take long.",
                use("Bash", "toolu_endless", command="touch endless; sleep 30"),
                then=kill_during_call)])
        assert done.rc == -signal.SIGKILL, f"{done}"

    def plan_and_clear(self):
        """At a terminal. The plan goes where the agent wants it; it is approved; then /clear."""
        write = say("", use("Write", "toolu_plan", file_path="", content=PLAN))

        def where_told(request):
            path = re.search(r'[^\s"`\\]+/\.claude/plans/[^\s"`\\]+\.md', json.dumps(request))
            write["use"][0]["input"]["file_path"] = path[0]

        m = self.model([{**write, "then": where_told},
                        say("", use("ExitPlanMode", "toolu_exit", plan=PLAN)),
                        say("The plan is made."),
                        say("", use("Write", "toolu_bye", file_path=self.path("farewell.txt"),
                                    content="goodbye\n")),
                        say("Farewell is said.")])
        stops = len(named(self.hookd.events(), "Stop"))
        with sit_down(self.claude, m, "--resume", self.session, "--permission-mode", "plan") as t:
            t.type("Plan how to say goodbye.")
            t.wait("Would you like to proceed")
            t.press_until(ENTER, "the plan", lambda: self.results("toolu_exit"))
            self.hookd.wait_for_event("Stop", stops + 1)
            t.type("/clear")
            start = wait_for("the cleared session", lambda: [
                e for e in named(self.hookd.events(), "SessionStart")
                if e.payload["source"] == "clear"], 15, 0.2)[0]
            t.type("Say goodbye as planned.")
            self.hookd.wait_for_event("Stop", stops + 2)
            t.type("/exit")
            assert t.end() == 0
        return start.session

    def results(self, use):
        return [e for e in named(self.hookd.events(), "PostToolUse") if e.use == use]


def in_order(text, *wanted):
    """Asserts that the lines are there, one after the other."""
    at = 0
    for regex in wanted:
        found = re.compile(regex, re.M).search(text, at)
        assert found, f"{regex!r} does not follow in:\n{text[at:]}"
        at = found.end()


def test_the_day_reads_like_a_story(rig, claude, hookd, model):
    claude.write_settings(json.dumps({
        "permissions": {"allow": ["Bash", "Write", "Read", "Edit", "Agent"]}}))
    hookd.init("claude")
    hookd.start()
    story = Story(rig, claude, hookd, model)
    story.look_around()
    story.write_while_the_daemon_dies()
    story.compact()
    story.be_killed()
    story.ask("Are you still there?", [say("Yes. Where were we?")]).ok()
    cleared = story.plan_and_clear()

    wait_for("the end", lambda: named(hookd.events(cleared), "SessionEnd"), 15, 0.2)
    events = hookd.events()
    assert {e.session for e in events} == {story.session, cleared}
    assert len({e.id for e in events}) == len(events)
    # What the hanging daemon could not take came through the spool; the rest did not.
    spooled = {e.use for e in events if e.marks & Event.SPOOLED}
    assert "toolu_write" in spooled and "toolu_ls" not in spooled and "toolu_edit" not in spooled
    # Every call has a beginning and, unless the agent was killed in it, an end; once each.
    calls = [e.use for e in named(events, "PreToolUse")]
    assert sorted(calls) == sorted(set(calls)) and len(calls) == 13
    assert sorted(e.use for e in named(events, "PostToolUse", "PostToolUseFailure")) == \
        sorted(set(calls) - {"toolu_endless"})

    text, after = hookd.call("show", story.session).ok().out, hookd.call("show", cleared).ok().out
    print(f"\n{text}\n{'=' * 100}\n\n{after}")
    minutes = r"; \d+\.\d minutes$"
    in_order(
        text,
        r"^Please look around and ask a helper to count\.$",
        rf"^  session +{story.session}$", r"^  agent +claude", rf"^  directory +{rig.project}$",
        r"^  status +completed \(clear\)$", rf"^  continued +{cleared} \(clear\)$",
        r"window 1 · startup",
        r"^#1 ", r"^  > Please look around and ask a helper to count\.$",
        r"^  ✓ Bash +ls ", r"^  ✓ Read +README ", r"^  ✓ Agent +count the files ",
        r"^  · SubagentStart general-purpose$", r"^      ✓ Bash +ls \| wc -l ",
        r"^  · SubagentStop There is one file\.$",
        r"^  < There is one file,$", r"^  < says the helper\.$",
        r"window 2 · resume",
        r"^#2 ", r"^  > Write the greeting\.$",
        r"^  ✓ Write +greeting\.txt ", r"^  ✓ Bash +touch waiting", r"^  ✗ Bash +echo no such word",
        r"no such word$", r"^  < The greeting is written\.$",
        r"window 3 · resume",
        r"^#3 ", r"^  > Make it longer\.$",
        r"^  ✓ Edit +greeting\.txt ", r"^  · PreCompact auto$", r"window 4 · compact",
        r"^  · PostCompact ", r"^  ✓ Read +greeting\.txt ", r"^  < It is longer now\.$",
        r"window 5 · resume",
        r"^#4 ", r"^  > Translate it into everything\.$", r"^  … Bash +touch endless; sleep 30$",
        r"window 6 · resume",
        r"^#5 ", r"^  > Are you still there\?$", r"^  < Yes\. Where were we\?$",
        r"window 7 · resume",
        r"^#6 ", r"^  > Plan how to say goodbye\.$", r"^  ✓ Write +.*\.claude/plans/\S+\.md ",
        r"^  ✓ ExitPlanMode # Say goodbye", r"^  < The plan is made\.$",
        r"^plan Say goodbye$", r"\.claude/plans/\S+\.md, version 2 \(approved\)$",
        r"^  \| # Say goodbye$", r"^  \| 1\. Write farewell\.txt\.$",
        r"^files$",
        r"^6 prompts, 12 tool calls: .*Bash 5.* \(1 failed, 0 denied\); "
        r"3 files touched, 2 created, 1 modified" + minutes)
    assert text.count("\n#") == 6 and text.count("── window") == 7
    in_order(
        after,
        r"^Say goodbye as planned\.$", rf"^  parent +{story.session} \(clear\)$",
        r"window 1 · clear", r"^#1 ", r"^  > Say goodbye as planned\.$",
        r"^  ✓ Write +farewell\.txt ", r"^  < Farewell is said\.$",
        r"^files$", r"^  farewell\.txt +created$",
        r"^1 prompts, 1 tool calls: Write 1 \(0 failed, 0 denied\); 1 files touched, 1 created, "
        r"0 modified" + minutes)

    show = hookd.show(story.session)
    assert [b["closed_by"] for b in show["batches"]] == \
        ["stop", "stop", "stop", "window", "stop", "stop"]
    assert show["session"]["events"] == len([e for e in events if e.session == story.session])
