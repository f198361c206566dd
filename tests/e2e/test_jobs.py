"""Jobs: ordered with what makes them necessary, done once, listed and tried again when they cannot be done."""
import json
import os
import signal
import sqlite3

from test_learning import Session, learned, memories, project  # noqa: F401 (project is a fixture)
from world import ROOT, wait_for


def jobs(world, *args):
    return json.loads(world.hookd("jobs", "--json", "-n", "1000", *args).stdout)["jobs"]


def change(world, sql, *values):
    """Changes the store while no daemon runs."""
    world.stop()
    db = sqlite3.connect(world.dir / "hookd.db")
    changed = db.execute(sql, values).rowcount
    db.commit()
    db.close()
    return changed


def turn(world, project, name, text):
    s = Session(world, project, name)
    s.prompt(text)
    s.stop()
    return s


def test_a_turn_is_one_job_and_a_session_another(world, project):
    s = turn(world, project, "s1", "Please always check the list first.")
    learned(world, "check the list")
    done = jobs(world, "--state", "done", "--kind", "extract")
    assert [(j["kind"], j["session"], j["tries"]) for j in done] == [("extract", "s1", 1)]
    waiting = jobs(world)
    assert [(j["kind"], j["state"], j["session"]) for j in waiting] == [("summarize", "waiting", "s1")]
    assert "waiting summarize" in world.hookd("jobs").stdout.decode()
    s.send("SessionEnd", reason="exit")
    wait_for(lambda: not jobs(world), what="the summary to be written")
    assert "no jobs" in world.hookd("jobs").stdout.decode()


def test_refolding_does_not_do_them_again(world, project):
    turn(world, project, "s1", "Please always check the list first.").send("SessionEnd", reason="exit")
    learned(world, "check the list")
    wait_for(lambda: not jobs(world), what="everything to be done")
    before = jobs(world, "--state", "done")
    world.hookd("db", "rebuild")
    wait_for(lambda: not world.json("db", "rebuild", "--dry-run", "--json")["left"], what="the rebuild")
    assert jobs(world) == [] and jobs(world, "--state", "done") == before


def test_a_job_that_was_cut_off_is_done_by_the_next_daemon(world, project):
    s = Session(world, project)
    s.prompt("Please always check the list first.")
    s.stop()
    os.kill(world.pid(), signal.SIGKILL)
    learned(world, "check the list")
    assert len(memories(world)) == 1


def test_a_job_that_ends_the_daemon_each_time_is_given_up_and_can_be_tried_again(world, project):
    turn(world, project, "s1", "Please always check the list first.")
    learned(world, "check the list")
    # As eight daemons would have left it that died while they ran it.
    assert change(world, "UPDATE jobs SET state = 0, tries = 8, due_at = 0 WHERE kind = 'extract'") == 1
    dead, = wait_for(lambda: jobs(world, "--state", "dead"), what="the job to be given up")
    assert dead["error"] == "hookd ended 8 times while it ran"
    assert "dead extract" in world.hookd("jobs").stdout.decode()
    turn(world, project, "s2", "Please always check the other list first.")
    learned(world, "the other list")  # it holds up nobody
    assert world.hookd("jobs", "retry", "999", ok=False).returncode == 1
    assert "1 jobs" in world.hookd("jobs", "retry", str(dead["id"])).stdout.decode()
    wait_for(lambda: not jobs(world, "--state", "dead") and len(jobs(world, "--state", "done", "--kind", "extract")) == 2,
             what="the job to be done")


def test_turns_of_a_session_are_looked_at_in_order(world, project):
    s = Session(world, project)
    for n in range(3):
        s.prompt(f"Please always do thing number {n} first.")
        s.stop()
    learned(world, "thing number 2")
    change(world, "UPDATE jobs SET state = 0, tries = 0, due_at = CASE id WHEN (SELECT min(id) FROM jobs WHERE kind = 'extract') "
           "THEN 9e15 ELSE 0 END WHERE kind = 'extract'")
    other = turn(world, project, "s2", "Please always do the other thing first.")
    learned(world, "the other thing")
    assert other
    waiting = jobs(world, "--kind", "extract")
    assert len(waiting) == 3 and [j["tries"] for j in waiting] == [0, 0, 0]
    world.hookd("jobs", "retry", str(waiting[0]["id"]))
    wait_for(lambda: not jobs(world, "--kind", "extract"), what="the others to follow")


def test_done_twice_is_done_once(world, project):
    turn(world, project, "s1", "Please always check the list first.").send("SessionEnd", reason="exit")
    learned(world, "check the list")
    assert change(world, "UPDATE jobs SET state = 0, due_at = 0, tries = 0") == 2
    wait_for(lambda: len(jobs(world, "--state", "done")) == 2, what="the jobs to be done again")
    assert len(memories(world)) == 1


def test_a_store_of_the_release_before_gets_its_jobs(world, project):
    path = world.dir / "hookd.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.create_function("payload_pack", -1, lambda *x: x[0])  # hookd's own; here are no payloads yet
    db.execute("PRAGMA page_size = 4096")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for sql in sorted((ROOT / "schema").glob("000[1-8]_*.sql")):
        db.executescript(sql.read_text())
    db.execute("PRAGMA user_version = 8")
    db.execute("INSERT INTO facts VALUES ('capture', '5')")
    for key, name in ((1, "old"), (2, "new")):
        told = {"session_id": name, "cwd": str(project), "hook_event_name": "UserPromptSubmit",
                "prompt": f"Please always check the {name} list first."}
        db.execute("INSERT INTO sessions(key, agent, native_id, cwd, started_at, last_at, last_ord, prompts, last_batch) "
                   "VALUES (?, 'claude', ?, ?, 1, 1, ?, 1, ?)", (key, name, str(project), key, 4 * key))
        db.execute("INSERT INTO events(seq, id, ord, lag, what, session, native, payload) VALUES (?, ?, ?, 0, 5, ?, '', ?)",
                   (key, key.to_bytes(16, "big"), key, key, json.dumps(told)))
        db.execute("INSERT INTO batches(key, session, ord, number, source, prompt, status, started_at, last_at) "
                   "VALUES (?, ?, ?, 1, 'user', ?, 'completed', 1, 1)", (4 * key, key, key, told["prompt"]))
    db.execute("INSERT INTO extracted VALUES (1, 1)")
    db.close()
    path.chmod(0o600)
    learned(world, "the new list")
    done = wait_for(lambda: len(jobs(world, "--state", "done")) == 3 and jobs(world, "--state", "done"), what="the jobs to be done")
    assert sorted((j["kind"], j["session"]) for j in done) == [("extract", "new"), ("summarize", "new"), ("summarize", "old")]
    assert len(memories(world)) == 1


def test_what_goes_takes_its_jobs_along(world, project):
    turn(world, project, "s1", "Please always check the list first.")
    learned(world, "check the list")
    world.hookd("purge", "--session", "s1", "--yes")
    assert jobs(world) == [] and jobs(world, "--state", "done") == []
    db = sqlite3.connect(f"file:{world.dir}/hookd.db?mode=ro", uri=True)
    assert [db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("turns", "summaries", "jobs")] == [0, 0, 0]
    db.close()
