"""From finished turns to classes, titles and summaries, without a model."""
import datetime
import json

import pytest

import transcripts
from test_learning import Session, finished, learned, memories, project  # noqa: F401 (project is a fixture)
from world import wait_for


def batches(world, name):
    return json.loads(world.hookd("show", name, "--json").stdout)["batches"]


def classes(world, name):
    finished(world)
    return [b.get("class") for b in batches(world, name)]


def session_of(world, name):
    return next(s for s in json.loads(world.hookd("sessions", "--json").stdout)["sessions"] if s["id"] == name)


def summarized(world, name):
    """The session's row once it has a summary."""
    return wait_for(lambda: session_of(world, name).get("summary") and session_of(world, name), what=f"a summary of {name}")


def edit(s, name, created=False):
    path = str(s.project / name)
    if created:
        s.tool("Write", {"file_path": path, "content": "x"}, {"type": "create", "filePath": path})
    else:
        s.tool("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, {"filePath": path})


def read(s, name):
    s.tool("Read", {"file_path": str(s.project / name)}, {"type": "text"})


@pytest.mark.parametrize("work,expected", [
    (lambda s: [read(s, "a.c"), read(s, "b.c")], "exploration"),
    (lambda s: [s.shell("make", "error: no rule", failed=True), edit(s, "a.c")], "debugging"),
    (lambda s: [read(s, "a.c"), edit(s, "new.c", created=True)], "implementation"),
    (lambda s: [read(s, "a.c"), edit(s, "a.c")], "refactoring"),
])
def test_a_turn_has_a_class(world, project, work, expected):
    s = Session(world, project)
    s.prompt("do it")
    work(s)
    s.stop()
    assert classes(world, "s1") == [expected]
    assert expected in world.hookd("show", "s1").stdout.decode()


def test_a_turn_that_goes_on_is_looked_at_again(world, project):
    s = Session(world, project)
    s.prompt("do it")
    s.stop("The root cause was the first thing that came to mind.")
    assert classes(world, "s1") == ["exploration"]
    s.shell("make", "error: no rule", failed=True)
    s.stop("The root cause was the second thing that came to mind.")
    assert classes(world, "s1") == ["debugging"]
    assert learned(world, "the first thing") and learned(world, "the second thing")


def test_classes_survive_a_rebuild(world, project):
    s = Session(world, project)
    s.prompt("do it")
    edit(s, "new.c", created=True)
    s.stop()
    assert classes(world, "s1") == ["implementation"]
    world.hookd("db", "rebuild")
    assert classes(world, "s1") == ["implementation"]


def test_a_session_that_ends_has_title_and_summary(world, project):
    s = Session(world, project)
    s.prompt("/model opus")
    s.stop()
    s.prompt("Please make the nightly export of invoices work again, because the accountants have been waiting for it since "
             "Tuesday\nand more")
    edit(s, "export.py")
    edit(s, "zones.py")
    s.shell('git commit -m "Write invoices in the zone of the customer"')
    s.stop("The export writes UTC again.\nMore text.")
    s.prompt("thanks")
    s.stop()
    s.send("SessionEnd", reason="exit")
    row = summarized(world, "s1")
    assert row["title"] == "Please make the nightly export of invoices work again, because the accountants…"
    assert row["summary"].splitlines() == [
        'Asked: "Please make the nightly export of invoices work again, because the accountants have been waiting…"; '
        '"thanks" and 1 more.',
        "Changed: export.py, zones.py.",
        "Committed: Write invoices in the zone of the customer.",
        "Result: Done.",
    ]
    shown = world.hookd("show", "s1").stdout.decode()
    assert "Changed: export.py" in shown
    assert "Please make the nightly export" in world.hookd("sessions").stdout.decode()
    start = {"session_id": "next", "cwd": str(project), "hook_event_name": "SessionStart", "source": "startup"}
    told = world.hookc("SessionStart", start).stdout.decode()
    assert "Please make the nightly export" in told and "Changed: export.py, zones.py." in told


def test_the_words_of_a_session_that_read_the_web_are_not_passed_on(world, project):
    s = Session(world, project)
    s.prompt("what does the page say?")
    s.tool("WebFetch", {"url": "https://example.org/", "prompt": "x"}, {"result": "text"})
    s.stop("It says that parrots like bananas.")
    s.send("SessionEnd", reason="exit")
    assert "parrots" not in summarized(world, "s1")["summary"]


def test_a_summary_follows_the_session(world, project):
    s = Session(world, project)
    s.prompt("first question")
    s.stop("First answer.")
    s.send("SessionEnd", reason="exit")
    assert "First answer" in summarized(world, "s1")["summary"]
    s.send("SessionStart", source="resume")
    s.prompt("second question")
    s.stop("Second answer.")
    s.send("SessionEnd", reason="exit")
    wait_for(lambda: "Second answer" in session_of(world, "s1")["summary"], what="another summary")
    assert "second question" in session_of(world, "s1")["summary"]


def test_a_purge_takes_what_was_made_of_the_text(world, project):
    s = Session(world, project)
    s.prompt("tell me about the zebra crossing")
    s.stop("The crossing has stripes.")
    s.prompt("and now something else")
    s.stop("Fine.")
    s.send("SessionEnd", reason="exit")
    assert "zebra" in summarized(world, "s1")["summary"]
    world.hookd("purge", "--match", "zebra", "--yes")
    wait_for(lambda: session_of(world, "s1").get("summary"), what="another summary")
    assert "zebra" not in json.dumps(session_of(world, "s1"))
    assert b"zebra" not in (world.dir / "hookd.db").read_bytes()


def test_excluded_projects_are_described_but_teach_nothing(world, project):
    world.hookd("config", "set", "extract.exclude_projects", str(project))
    world.hookd("restart")
    s = Session(world, project)
    s.prompt("Always use tabs in this project.")
    s.stop()
    s.send("SessionEnd", reason="exit")
    assert summarized(world, "s1")["title"] == "Always use tabs in this project."
    assert memories(world, "--project", str(project)) == []


# -- what hooks do not say, and transcripts do ------------------------------------------------------

REMINDER = "<system-reminder>never mind the zebra</system-reminder>"


class Transcript(transcripts.Claude):
    """One that an older Claude Code writes beside its hooks, as things happen. It began before hookd was here."""

    def __init__(self, project):
        super().__init__("s1", cwd=str(project), start=self.now() - 500)
        self.prompt("an earlier question, of before hookd was here").answer("An earlier answer.")

    @staticmethod
    def now():
        return (datetime.datetime.now(datetime.timezone.utc) - transcripts.START).total_seconds()

    def live(self):
        self.at = self.now() - 1  # each row is a second later than the last
        return self


def test_an_answer_that_the_hook_does_not_give_is_read(world, project):
    t = Transcript(project)
    path = t.write(world.home)
    s = Session(world, project)
    s.send("UserPromptSubmit", prompt="why does it fail?", transcript_path=str(path))
    t.live().prompt("why does it fail?" + REMINDER)
    t.live().at += 0.01  # after the prompt, by any rounding of a machine that does all of this within a millisecond
    t.answer("The root cause was the worn gearbox." + REMINDER).write(world.home)
    s.send("Stop", transcript_path=str(path))
    assert learned(world, "worn gearbox")["type"] == "bug_fix"
    batch, = batches(world, "s1")
    assert batch["response"] == "The root cause was the worn gearbox." and batch["prompt"] == "why does it fail?"
    assert "zebra" not in json.dumps(batches(world, "s1"))


def test_a_prompt_that_no_hook_gives_is_read(world, project):
    t = Transcript(project)
    path = t.write(world.home)
    s = Session(world, project)
    t.live().prompt("We always oil the gearbox on fridays." + REMINDER)
    s.shell("make")
    t.live().answer("Done.").write(world.home)
    s.send("Stop", transcript_path=str(path), last_assistant_message="Done.")
    assert learned(world, "We always oil the gearbox")["trust"] == "user"
    batch, = batches(world, "s1")
    assert batch["prompt"] == "We always oil the gearbox on fridays."
    assert "zebra" not in json.dumps(batches(world, "s1"))
