"""The audit: every decision is kept, whoever made it and however it was delivered."""
import json
import os
import signal

from world import payload, wait_for

DENIED = "echo hookd-selftest-deny"


def call(n, event="PreToolUse", command=DENIED, **more):
    return payload(event, tool_name="Bash", tool_use_id=f"t{n}", tool_input={"command": command}, **more)


def decisions(world, *args):
    return world.json("decisions", "--json", *args)["decisions"]


def test_a_denial_is_kept_with_its_rule(world):
    world.hookc("PreToolUse", call(1))
    world.hookc("PreToolUse", call(2, command="ls"))
    [d] = decisions(world)
    assert (d["rule"], d["decision"], d["prevailed"], d["event"], d["tool_use_id"]) == (
        "hookd.selftest", "deny", True, "PreToolUse", "t1")
    assert d["reason"].startswith("hookd denied") and "ran_us" not in d
    [pre] = [e for e in world.events() if e["tool_use_id"] == "t1" and e["event"] == "PreToolUse"]
    assert d["event_id"] == pre["id"]
    assert decisions(world, "--decision", "ask") == [] and decisions(world, "--rule", "x") == []
    assert len(decisions(world, "--session", "s1", "--agent", "claude", "--since", "1h")) == 1
    [rule] = world.rpc("rule_counts")["rules"]
    assert (rule["rule"], rule["fired"], rule["denied"], rule["ran_anyway"]) == ("hookd.selftest", 1, 1, 0)
    text = world.hookd("decisions").stdout.decode()
    assert text.startswith("deny hookd.selftest") and "words that test" in text


def test_what_ran_although_it_was_denied_is_told(world):
    world.hookc("PreToolUse", call(1))
    world.hookc("PostToolUse", call(1, "PostToolUse", tool_response={"stdout": ""}))
    wait_for(lambda: "ran_us" in decisions(world)[0], what="the mark")
    assert "ran anyway" in world.hookd("decisions").stdout.decode()


def test_decisions_without_a_daemon_are_kept_too(world):
    world.start()
    os.kill(world.pid(), signal.SIGSTOP)
    try:
        done = world.hookc("PreToolUse", call(1))
    finally:
        os.kill(world.pid(), signal.SIGCONT)
    assert b"deny" in done.stdout
    wait_for(lambda: len(decisions(world)) == 1, what="the decision from the spool")
    world.hookd("restart")
    assert len(decisions(world)) == 1


def test_secrets_are_not_in_the_audit(world):
    token = "ghp_" + "A1b2C3d4" * 4 + "Z9y8"
    world.hookc("PreToolUse", call(1, command=f"{DENIED} {token}"))
    assert len(decisions(world)) == 1
    world.hookd("stop")
    assert world.contains(token.encode()) == []


def test_a_purge_takes_decisions_along(world):
    world.hookc("PreToolUse", call(1))
    assert len(decisions(world)) == 1
    world.hookd("purge", "--session", "s1", "--yes")
    assert decisions(world) == [] and world.rpc("check")["ok"]


def test_a_private_turn_keeps_no_subject(world):
    world.hookc("UserPromptSubmit", payload("UserPromptSubmit", prompt="<private>all of it</private>"))
    world.hookc("PreToolUse", call(1, command=f"{DENIED} Zaubernuss"))
    wait_for(lambda: len(world.events()) >= 2, what="the events")
    world.hookd("stop")
    assert world.contains(b"Zaubernuss") == []


def test_what_a_hook_decides_is_kept_too(world):
    world.dir.mkdir(mode=0o700, exist_ok=True)
    (world.dir / "config.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "name": "no-push", "command": "echo 'not today' >&2; exit 2"}]}]}}))
    done = world.hookc("PreToolUse", call(1, command="git push"))
    assert b"not today" in done.stdout
    [d] = decisions(world)
    assert (d["rule"], d["decision"], d["prevailed"], d["reason"]) == ("hook:no-push", "deny", True, "not today")


def test_rules_are_tried_on_history(world):
    from transcripts import Claude
    c = Claude("11111111-aaaa-4bbb-8ccc-000000000001")
    c.prompt("x").shell("ls -la").shell("rm -rf ~").shell("git push --force origin main").shell("make test").answer("done").write(world.home)
    text = world.hookd("init", "--yes").stdout.decode()
    assert "Of 4 calls in it, hookd's rules would have denied 2" in text
    told = world.json("guard", "backtest", "--json")
    assert (told["calls"], told["denied"], told["asked"]) == (4, 2, 0)
    assert {r["rule"]: r["examples"][0]["command"] for r in told["rules"]} == {
        "fs.rm-home": "rm -rf ~", "git.push-force": "git push --force origin main"}
    assert "rm -rf ~" in world.hookd("guard", "backtest").stdout.decode()
    assert world.json("guard", "backtest", "--json", "--since", "2030-01-01")["calls"] == 0
    assert decisions(world) == []  # nothing is kept


def test_rules_that_ask_about_habits_are_proposed_to_be_observed(world):
    from transcripts import Claude
    for day in (1, 2, 3):
        c = Claude(f"11111111-aaaa-4bbb-8ccc-00000000000{day}", start=day * 86400)
        c.prompt("x").shell("git stash drop").shell("git stash drop stash@{1}").shell("rm -rf ~").shell("npm publish")
        c.answer("done").write(world.home)
    world.hookd("init", "--yes")
    told = world.json("guard", "learn", "--json")
    # What is denied is no habit, and neither is what was done three times.
    assert [(r["rule"], r["times"], r["days"]) for r in told["observe"]] == [("git.stash", 6, 3)], told
    text = world.hookd("guard", "learn").stdout.decode()
    assert "hookd rules observe git.stash" in text and "git stash drop" in text and "rm -rf" not in text
    world.hookd("rules", "observe", "git.stash")
    assert world.json("guard", "learn", "--json")["observe"] == []
    assert "none shows a habit" in world.hookd("guard", "learn").stdout.decode()


def test_what_was_stopped_once_is_no_habit(world):
    for n in range(1, 7):
        world.hookc("PreToolUse", call(n, command="git stash drop"))
    assert world.json("guard", "learn", "--json")["observe"] == []


def test_rules_say_how_often_they_spoke(world):
    world.hookc("PreToolUse", call(1, command="rm -rf ~"))
    rules = {r["name"]: r for r in world.json("rules", "--json")["rules"]}
    assert rules["fs.rm-home"]["fired"] == rules["fs.rm-home"]["denied"] == 1 and rules["fs.rm-root"]["fired"] == 0
    [d] = decisions(world)
    assert d["subject"] == f"rm -rf {world.home}" and (d["begin"], d["end"]) == (0, 8)
