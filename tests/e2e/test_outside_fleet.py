"""The fleet, the queue and watch, as an outsider expects them: tests from the documents alone."""
import concurrent.futures
import json
import sys
import time

from efforts import Agent, begin, effort, windows
from outside_agents import SCRIPT, ask, each, fleet, here, of, project, refused, soon, status_of


# -- the fleet -----------------------------------------------------------------------------------------


@each("ops,status", [(["userPrompt"], "working"), (["userPrompt", "preToolUse"], "working"), (["userPrompt", "notification"], "attention"),
                                        (["userPrompt", "permissionRequest"], "attention"), (["userPrompt", "postToolUseFailure"], "error"),
                                        (["userPrompt", "stop"], "done"), (["notification", "userPrompt"], "working"), ([], "checked")])
def test_the_latest_event_is_the_status(world, here, ops, status):
    for op in ["sessionStart", *ops]:
        ask(world, op, here)
    soon(lambda: status_of(world, "r1") == status, f"{status}, not {status_of(world, 'r1')}")


def test_looking_turns_done_and_attention_into_checked_and_leaves_work_alone(world, here):
    for name, op in (("a1", "stop"), ("a2", "notification"), ("a3", "userPrompt")):
        ask(world, "sessionStart", here, session=name)
        ask(world, op, here, session=name)
    soon(lambda: len(fleet(world)) == 3, "three agents")
    world.hookd("fleet", "focus", "a1")
    soon(lambda: status_of(world, "a1") == "checked", "checked")
    assert status_of(world, "a2") == "attention"
    world.hookd("fleet", "checked")
    soon(lambda: status_of(world, "a2") == "checked", "checked")
    assert status_of(world, "a3") == "working"
    refused(world, "fleet", "focus", "nobody")


def test_the_most_urgent_agent_comes_first(world, here):
    for name, op in (("w", "userPrompt"), ("d", "stop"), ("n", "notification"), ("e", "postToolUseFailure")):
        ask(world, "sessionStart", here, session=name)
        ask(world, op, here, session=name)
    soon(lambda: [a["session"] for a in fleet(world)] == ["e", "n", "w", "d"], f"the order {fleet(world)}")


def test_a_parent_is_shown_and_an_ended_agent_only_with_all(world, here):
    env = {"AGENT_ID": "kid", "AGENT_PARENT": "boss", "AGENT_LABEL": "the kid"}
    ask(world, "sessionStart", here, env=env)
    ask(world, "userPrompt", here, env=env)
    shown = soon(lambda: of(world, "r1"), "the agent")
    assert shown["agent"] == "kid" and "boss" in json.dumps(shown)
    ask(world, "sessionEnd", here, env=env)
    world.hookd("fleet", "checked")
    soon(lambda: of(world, "r1") is None, "the end")
    assert of(world, "r1", "--all")["ended"] is True


def test_an_agent_whose_turn_ended_because_its_context_is_full_is_stuck(world, here):
    ask(world, "sessionStart", here)
    ask(world, "userPrompt", here)
    ask(world, "stop", here, last_assistant_message="Prompt is too long")
    soon(lambda: "stuck" in world.hookd("fleet").stdout.decode(), "stuck")


def test_waiting_ends_in_time_at_once_and_when_it_happens(world, here):
    for name in ("a1", "a2"):
        ask(world, "sessionStart", here, session=name)
        ask(world, "userPrompt", here, session=name)
    began = time.monotonic()
    assert world.hookd("wait", "--session", "a1", "--timeout", "1", ok=False).returncode == 1
    assert 0.8 < time.monotonic() - began < 8
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: world.hookd("wait", "--any", "--timeout", "20", "--json", ok=False))
        time.sleep(0.5)
        ask(world, "stop", here, session="a2")
        done = waiting.result()
    assert done.returncode == 0 and "a2" in done.stdout.decode()
    assert world.hookd("wait", "--session", "a2", "--timeout", "5", ok=False).returncode == 0
    assert world.hookd("wait", "--session", "a2", "--next", "--timeout", "1", ok=False).returncode == 1


@each("args", [("--agent", "nobody", "--timeout", "1"), ("--any", "--timeout", "-1"), ("--any", "--timeout", "soon"), ("--any", "--for",
        "lunch"),
                                  ("--session", "a1", "--notify", "x", "--to", "nobody"), ()])
def test_an_odd_wait_ends_with_an_error_and_does_not_hang(world, here, args):
    ask(world, "sessionStart", here, session="a1")
    done = world.hookd("wait", *args, ok=False, seconds=10)
    assert done.returncode in (1, 64), done


@each("words", [("wait", "--any"), ("queue", "next", "--as", "boss")])
def test_a_timeout_of_zero_does_not_wait_for_ever(world, here, words):
    assert world.hookd(*words, "--timeout", "0", ok=False, cwd=here, seconds=6).returncode in (1, 64)


def test_a_listener_survives_a_kill_and_tells_once(world, here):
    boss, kid = Agent(world, here, env={"AGENT_ID": "boss"}), Agent(world, here, env={"AGENT_ID": "kid"})
    boss.start(), kid.start()
    kid.prompt()
    soon(lambda: len(fleet(world)) == 2, "both agents")
    world.hookd("wait", "--agent", "kid", "--for", "done", "--notify", "MERGE-ITS-BRANCH", "--to", "boss")
    assert len(world.json("fleet", "listeners", "--json")["listeners"]) == 1
    world.kill()
    world.start()
    assert "MERGE-ITS-BRANCH" not in boss.prompt()
    kid.say("Stop", stop_hook_active=False)
    soon(lambda: status_of(world, kid.session) == "done", "done")
    told = [boss.prompt() for _ in range(3)]
    assert sum("MERGE-ITS-BRANCH" in t for t in told) == 1, told
    assert world.json("fleet", "listeners", "--json")["listeners"] == []


def test_a_listener_that_was_dropped_tells_nothing(world, here):
    boss, kid = Agent(world, here, env={"AGENT_ID": "boss"}), Agent(world, here, env={"AGENT_ID": "kid"})
    boss.start(), kid.start()
    soon(lambda: len(fleet(world)) == 2, "both agents")
    world.hookd("wait", "--agent", "kid", "--next", "--notify", "MERGE-ITS-BRANCH", "--to", "boss")
    listener = world.json("fleet", "listeners", "--json")["listeners"][0]
    world.hookd("fleet", "drop", next(str(listener[k]) for k in ("listener", "id", "n") if k in listener))
    kid.prompt()
    kid.say("Stop", stop_hook_active=False)
    assert not any("MERGE-ITS-BRANCH" in boss.prompt() for _ in range(2))
    refused(world, "fleet", "drop", "no-such")


def test_an_idle_teammate_is_done_and_nobody_else(world, here):
    for name in ("bo", "al"):
        ask(world, "sessionStart", here, session=name, env={"AGENT_ID": name})
        ask(world, "userPrompt", here, session=name, env={"AGENT_ID": name})
    ask(world, "teammateIdle", here, session="al", env={"AGENT_ID": "al"})
    soon(lambda: status_of(world, "bo") == "done", "bo to be done")
    assert status_of(world, "al") == "working"


def test_the_time_an_agent_waited_for_its_user_is_recorded(world, here):
    ask(world, "sessionStart", here)
    ask(world, "userPrompt", here)
    ask(world, "permissionRequest", here)
    time.sleep(1.2)
    ask(world, "userPrompt", here, prompt="yes")
    soon(lambda: 1_000_000 <= of(world, "r1")["waited_us"] < 20_000_000, "a second of waiting")


@each("name", ["x" * 5000, "a\x1b[2Jb", "名前 with space", "../../x", "-rf", ""])
def test_an_odd_agent_id_harms_nobody(world, here, name):
    e = begin(world, here)["effort"]
    a = Agent(world, here, env={"AGENT_ID": name})
    a.start()
    assert a.bash("ls") is None
    assert b"\x1b" not in world.hookd("fleet").stdout
    assert effort(world, "show", e)["state"] == "active"


def test_a_rate_limit_in_the_transcript_is_reported_at_the_stop(world, here):
    file = world.home / ".claude/projects/p/t.jsonl"
    file.parent.mkdir(parents=True)
    said = {"type": "assistant", "isApiErrorMessage": True, "error": "rate_limit",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "You've hit your limit · resets 3pm"}]}}
    file.write_text("".join(json.dumps(x) + "\n" for x in ({"type": "user", "message": {"role": "user", "content": "go"}}, said)))
    ask(world, "sessionStart", here, transcript_path=str(file))
    ask(world, "userPrompt", here, transcript_path=str(file))
    ask(world, "stop", here, transcript_path=str(file), last_assistant_message="You've hit your limit · resets 3pm")
    soon(lambda: "rate_limit" in world.hookd("fleet").stdout.decode(), "the limit, in the fleet")


# -- the queue -----------------------------------------------------------------------------------------


def test_work_is_claimed_only_after_a_person_approved_it(world, here):
    world.hookd("queue", "add", "write tests", "--role", "tester", cwd=here)
    world.hookd("queue", "claim", "1", "--as", "t", ok=False, cwd=here)
    assert world.json("queue", "--json", cwd=here)["work"][0]["state"] == "needs"
    done = world.hookd("queue", "approve", "1", owner=False, ok=False, cwd=here, env={"AGENT_ID": "t"})
    assert done.returncode == 1, "an agent approved work"
    world.hookd("queue", "approve", "1", cwd=here)
    assert world.json("queue", "claim", "--role", "tester", "--as", "t", "--json", cwd=here)["claimed_by"] == "t"


def test_claims_that_race_get_each_work_once(world, here):
    for i in range(5):
        world.hookd("queue", "add", f"work {i}", cwd=here)
        world.hookd("queue", "approve", i + 1, cwd=here)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: world.hookd("queue", "claim", "--as", f"t{i}", "--json", ok=False, cwd=here).stdout, range(12)))
    claimed = [json.loads(g)["n"] for g in got if b'"n"' in g]
    assert sorted(claimed) == [1, 2, 3, 4, 5]


def test_only_whoever_claimed_work_may_end_or_leave_it(world, here):
    world.hookd("queue", "add", "w", cwd=here)
    world.hookd("queue", "approve", "1", cwd=here)
    world.hookd("queue", "claim", "1", "--as", "t", cwd=here)
    for verb in ("done", "release", "claim"):
        refused(world, "queue", verb, "1", "--as", "other", cwd=here)
    world.hookd("queue", "release", "1", "--as", "t", cwd=here)
    world.hookd("queue", "claim", "1", "--as", "other", cwd=here)
    world.hookd("queue", "done", "1", "all pass", "--as", "other", cwd=here)
    refused(world, "queue", "claim", "1", "--as", "t", cwd=here)
    assert world.json("queue", "--json", cwd=here)["work"] == []
    assert world.json("queue", "--all", "--json", cwd=here)["work"][0]["state"] == "done"


def test_work_of_a_role_is_not_claimed_for_another(world, here):
    world.hookd("queue", "add", "w", "--role", "tester", cwd=here)
    world.hookd("queue", "approve", "1", cwd=here)
    assert b'"n"' not in world.hookd("queue", "claim", "--role", "writer", "--as", "w", "--json", ok=False, cwd=here).stdout
    assert b'"n"' not in world.hookd("queue", "claim", "--as", "w", "--json", ok=False, cwd=here).stdout


@each("args", [("approve", "0"), ("approve", "-1"), ("approve", "abc"), ("approve", "99"), ("approve",), ("add", ""), ("add",), ("drop", "99"),
                                  ("done", "99", "--as", "x"), ("claim", "99", "--as", "x"), ("next", "--timeout", "x"), ("claim", "--as", "")])
def test_odd_arguments_of_the_queue_are_clear_errors(world, here, args):
    verb, *rest = args
    refused(world, "queue", verb, *(["--"] if "-1" in rest else []), *rest, cwd=here)


def test_a_coordinator_hears_of_its_children_first_then_of_work(world, here):
    world.hookd("queue", "add", "w", cwd=here)
    world.hookd("queue", "approve", "1", cwd=here)
    for name, op in (("k1", "stop"), ("k2", "postToolUseFailure")):
        env = {"AGENT_ID": name, "AGENT_PARENT": "boss"}
        ask(world, "sessionStart", here, session=name, env=env)
        ask(world, op, here, session=name, env=env)
    soon(lambda: status_of(world, "k2") == "error", "the error")
    ask_next = lambda: json.loads(world.hookd("queue", "next", "--as", "boss", "--timeout", "1", "--json", ok=False, cwd=here).stdout)  # noqa
    answers = [ask_next() for _ in range(4)]
    assert [a["kind"] for a in answers] == ["CHILD", "CHILD", "WORK", "TIMEOUT"], answers
    assert "k2" in json.dumps(answers[0]) and "k1" in json.dumps(answers[1])


# -- watch, with an agent of our own -------------------------------------------------------------------


def watch(world, cwd, plan, *options, words=(), seconds=60):
    """Runs `hookd watch` over the scripted agent: how it ended, and what each run of the agent noted."""
    file, out = world.top / "agent.py", world.top / "notes"
    file.write_text(SCRIPT)
    done = world.hookd("watch", *options, "--", sys.executable, file, world.build / "hookc", cwd, out, plan, *words, ok=False, cwd=cwd,
            seconds=seconds)
    lines = out.read_text().splitlines() if out.exists() else []
    return done, [json.loads(line[4:]) for line in lines if line.startswith("RUN")], "SURVIVED" in lines


def test_watch_starts_the_agent_again_after_an_automatic_compaction_with_the_checkpoint(world, here):
    e = begin(world, here, "review", "--goal", "GOAL-OF-IT")["effort"]
    effort(world, "checkpoint", "--next", "NEXT-STEP", cwd=here)
    done, runs, survived = watch(world, here, "compact:auto;leave,exit:0")
    assert done.returncode == 0 and len(runs) == 2 and not survived, (done, runs)
    assert "NEXT-STEP" in runs[1]["told"] and e in runs[1]["told"]
    assert [w for w in windows(world, e) if w["session"] == "w0" and "ended_us" in w]


def test_watch_leaves_a_manual_compaction_alone(world, here):
    begin(world, here)
    done, runs, survived = watch(world, here, "compact:manual,leave,exit:0")
    assert len(runs) == 1 and survived and done.returncode == 0


def test_watch_without_an_effort_leaves_the_agent_alone(world, here):
    done, runs, survived = watch(world, here, "compact:auto,exit:4")
    assert len(runs) == 1 and survived and done.returncode == 4


@each("plan,code", [("exit:0", 0), ("exit:7", 7), ("leave,exit:0", 0), ("kill:9", 137), ("limit,exit:3", 3)])
def test_watch_ends_as_its_agent_ended_and_starts_nothing_again(world, here, plan, code):
    begin(world, here)
    done, runs, _ = watch(world, here, plan)
    assert done.returncode == code and len(runs) == 1, (done, runs)


def test_watch_stops_when_the_budget_of_restarts_is_used_up(world, here):
    begin(world, here)
    done, runs, _ = watch(world, here, "compact:auto", "--max-restarts", "1")
    assert len(runs) == 2 and b"hookd effort resume" in done.stderr, (done, len(runs))
    assert b"--agent /" not in done.stderr, "it names a program where `effort resume` wants one of its agents: " + done.stderr.decode()[-200:]


def test_watch_without_a_daemon_runs_the_agent_as_it_would_alone(world):
    place = project(world)
    done, runs, _ = watch(world, place, "exit:5", words=("a b", "--flag"))
    assert done.returncode == 5 and len(runs) == 1 and runs[0]["argv"] == ["a b", "--flag"]


def test_watch_sets_agent_id(world, here):
    _, runs, _ = watch(world, here, "exit:0", "--agent", "reviewer")
    assert runs[0]["id"] == "reviewer"


@each("args", [("--", "/no/such/program"), ("--",), (), ("--max-restarts", "x", "--", "true")])
def test_watch_of_nothing_that_can_run_is_a_clear_error(world, here, args):
    done = world.hookd("watch", *args, ok=False, cwd=here, seconds=10)
    assert done.returncode in (1, 64, 126, 127) and done.stderr.startswith(b"hookd: "), done
