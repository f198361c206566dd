"""Rules go off and on without a restart, and every surface says what is in force."""
import json

import pytest

from outside import ASK, DENY, FINE, configure, decisions, frozen, says
from world import wait_for

RESET = "git reset --hard HEAD"
RULE = "git.reset-hard"


def mode(world, rule=RULE):
    return next(r["mode"] for r in world.json("rules", "--json")["rules"] if r["name"] == rule)


def test_disable_and_enable_without_restart(world):
    pid = world.start()
    assert says(world, "claude", RESET, n=1) == "deny"
    world.hookd("rules", "disable", RULE)
    assert says(world, "claude", RESET, n=2) == "none"
    world.hookd("rules", "enable", RULE)
    assert says(world, "claude", RESET, n=3) == "deny"
    assert world.pid() == pid


def test_disabled_holds_for_frozen_and_absent_daemons(world):
    world.start()
    world.hookd("rules", "disable", RULE)
    with frozen(world):
        assert says(world, "claude", RESET, n=1) == "none"
        assert says(world, "claude", DENY, n=2) == "deny"
    world.hookd("rules", "enable", RULE)
    with frozen(world):
        assert says(world, "claude", RESET, n=3) == "deny"
    world.stop()
    assert says(world, "claude", RESET, n=4) == "deny"


def test_switching_without_a_daemon(world):
    world.start()
    world.stop()
    world.hookd("rules", "disable", RULE)
    assert says(world, "claude", RESET, n=1) == "none"
    world.hookd("rules", "enable", RULE)
    assert says(world, "claude", RESET, n=2) == "deny"


def test_disabled_survives_a_restart(world):
    world.start()
    world.hookd("rules", "disable", RULE)
    world.hookd("restart")
    assert says(world, "claude", RESET) == "none"
    assert mode(world) != "enforce"


def test_observe_records_and_lets_pass(world):
    world.start()
    world.hookd("rules", "observe", RULE)
    assert says(world, "claude", RESET) == "none"
    rows = decisions(world)
    assert [(r["rule"], r["observed"], r["prevailed"]) for r in rows] == [(RULE, True, False)], rows
    assert world.json("stats", "--json")["total"]["denied"] == 0
    assert world.rpc("activities", limit=3)["activities"][0]["state"] != "denied"
    world.hookd("rules", "enforce", RULE)
    assert says(world, "claude", RESET, n=2) == "deny"


def test_enforce_ends_disable(world):
    world.start()
    world.hookd("rules", "disable", RULE)
    world.hookd("rules", "enforce", RULE)
    assert says(world, "claude", RESET) == "deny" and mode(world) == "enforce"


def test_enable_of_an_observed_rule(world):
    world.start()
    world.hookd("rules", "observe", RULE)
    assert mode(world) == "observe"
    world.hookd("rules", "disable", RULE)
    assert says(world, "claude", RESET, n=1) == "none" and not decisions(world)


def test_own_rules_cannot_be_switched(world):
    world.start()
    for verb in ("disable", "observe"):
        done = world.hookd("rules", verb, "hookd.selftest", ok=False)
        assert done.returncode in (1, 64) and done.stderr.strip(), verb
    configure(world, {"guard": {"disable": ["hookd.selftest"], "observe": ["hookd.selftest"]}})
    world.hookd("reload", ok=False)
    assert says(world, "claude", DENY) == "deny"


def test_an_unknown_rule_is_an_error(world):
    world.start()
    done = world.hookd("rules", "disable", "git.no-such", ok=False)
    assert done.returncode in (1, 64) and done.stderr.decode().count("\n") == 1


def test_mode_observe_by_config_set(world):
    world.start()
    world.hookd("config", "set", "guard.mode", "observe")
    assert says(world, "claude", RESET, n=1) == "none"
    assert says(world, "claude", ASK, n=2) == "none"
    assert len([d for d in decisions(world) if d["observed"]]) == 2
    with frozen(world):
        assert says(world, "claude", RESET, n=3) == "none"
    world.hookd("config", "set", "guard.mode", "enforce")
    assert says(world, "claude", RESET, n=4) == "deny"


def test_mode_observe_is_said_by_rules_and_status(world):
    world.start()
    world.hookd("config", "set", "guard.mode", "observe")
    assert "observe" in world.hookd("rules").stdout.decode()
    assert "observe" in world.hookd("status").stdout.decode().lower()
    assert "observe" in world.hookd("guard", "explain", RESET).stdout.decode().lower()


def test_config_set_of_guard_disable(world):
    world.start()
    world.hookd("config", "set", "guard.disable", RULE)
    assert says(world, "claude", RESET) == "none"
    assert RULE in world.hookd("config", "get", "guard.disable").stdout.decode()


def test_dry_run_changes_nothing(world):
    world.start()
    path = configure(world, "{}\n")
    done = world.hookd("rules", "disable", RULE, "--dry-run")
    assert RULE in done.stdout.decode() and path.read_text() == "{}\n"
    assert says(world, "claude", RESET) == "deny"


def test_comments_are_kept(world):
    path = configure(world, '// mine\n{\n  // guard below\n  "guard": { "mode": "enforce" /* yes */ }\n}\n')
    world.start()
    world.hookd("rules", "disable", RULE)
    text = path.read_text()
    assert "// mine" in text and "// guard below" in text and "/* yes */" in text and RULE in text
    world.hookd("rules", "enable", RULE)
    assert "// guard below" in path.read_text() and says(world, "claude", RESET) == "deny"


def test_a_hand_edit_waits_for_reload(world):
    world.start()
    configure(world, {"guard": {"disable": [RULE]}})
    assert says(world, "claude", RESET, n=1) == "deny"
    with frozen(world):
        assert says(world, "claude", RESET, n=2) == "deny", "an agent that edits the file changes nothing"
    world.hookd("reload")
    assert says(world, "claude", RESET, n=3) == "none"
    with frozen(world):
        assert says(world, "claude", RESET, n=4) == "none"


@pytest.mark.parametrize("surface", [("rules",), ("guard", "explain", RESET), ("doctor",), ("status",)])
def test_every_surface_says_that_the_file_differs(world, surface):
    world.start()
    before = world.hookd(*surface, ok=False)
    assert "reload" not in (before.stdout + before.stderr).decode()
    configure(world, {"guard": {"disable": [RULE]}})
    during = world.hookd(*surface, ok=False)
    assert "reload" in (during.stdout + during.stderr).decode(), during
    world.hookd("reload")
    after = world.hookd(*surface, ok=False)
    assert "hookd reload" not in (after.stdout + after.stderr).decode()


def test_rules_say_what_is_in_force_not_what_is_in_the_file(world):
    world.start()
    configure(world, {"guard": {"disable": [RULE]}})
    assert mode(world) == "enforce"
    assert "deny" in world.hookd("guard", "explain", RESET, ok=False).stdout.decode().lower()
    world.hookd("reload")
    assert mode(world) != "enforce"


def test_a_broken_file_takes_nothing_away(world):
    configure(world, {"guard": {"rules": [{"name": "no-make", "program": "make", "decision": "deny"}]}})
    world.start()
    assert says(world, "claude", "make all", n=1) == "deny"
    configure(world, '{"guard": {"rules": [')
    done = world.hookd("reload", ok=False)
    assert done.returncode == 1 and done.stderr.strip()
    assert says(world, "claude", "make all", n=2) == "deny"
    with frozen(world):
        assert says(world, "claude", "make all", n=3) == "deny"


def test_a_broken_file_survives_a_restart_of_the_daemon(world):
    """The rules that were in force stay so."""
    configure(world, {"guard": {"rules": [{"name": "no-make", "program": "make", "decision": "deny"}]}})
    world.start()
    configure(world, '{"guard": {"rules": [')
    world.hookd("restart", ok=False)
    assert says(world, "claude", "make all", n=2) == "deny"
    assert says(world, "claude", DENY, n=3) == "deny"


def test_a_broken_file_refuses_the_switch(world):
    world.start()
    path = configure(world, '{"guard": {')
    done = world.hookd("rules", "disable", RULE, ok=False)
    assert done.returncode == 1 and path.read_text() == '{"guard": {'
    assert says(world, "claude", RESET) == "deny"


def test_own_rules_take_force_by_reload(world):
    world.start()
    assert says(world, "claude", "make deploy", n=1) == "none"
    configure(world, {"guard": {"rules": [{"name": "no-deploy", "program": ["make", "just"], "argv": "deploy",
                                          "decision": "deny", "message": "deploy from CI"}]}})
    world.hookd("reload")
    assert says(world, "claude", "make deploy", n=2) == "deny"
    assert says(world, "claude", "make test", n=3) == "none"
    assert "no-deploy" in world.hookd("rules").stdout.decode()
    world.hookd("rules", "disable", "no-deploy")
    assert says(world, "claude", "make deploy", n=4) == "none"
    world.hookd("rules", "enable", "no-deploy")
    assert says(world, "claude", "make deploy", n=5) == "deny"


def test_an_allow_of_mine_takes_back_a_question(world):
    configure(world, {"guard": {"rules": [{"name": "env-ok", "program": "printenv", "decision": "allow"},
                                          {"name": "reset-ok", "program": "git", "argv": "reset", "decision": "allow",
                                           "override": RULE}]}})
    world.start()
    assert says(world, "claude", ASK, n=1) in ("none", "allow")
    assert says(world, "claude", RESET, n=2) in ("none", "allow")
    assert says(world, "claude", RESET + "; " + DENY, n=3) == "deny"
    assert says(world, "claude", ASK + "; git branch -D x", n=4) == "ask"


def test_a_rule_that_fails_its_examples_is_left_out_and_said(world):
    configure(world, {"guard": {"rules": [{"name": "odd", "program": "make", "decision": "deny",
                                          "examples": {"match": ["ninja all"]}}]}})
    world.start()
    assert says(world, "claude", "make all") == "none"
    done = world.hookd("guard", "validate", ok=False)
    assert done.returncode == 1 and b"odd" in done.stdout + done.stderr


def test_guard_check_follows_the_switch(world):
    world.start()
    line = json.dumps({"id": "a", "command": RESET}).encode()
    assert json.loads(world.hookd("guard", "check", input=line).stdout)["decision"] == "deny"
    world.hookd("rules", "disable", RULE)
    assert json.loads(world.hookd("guard", "check", input=line).stdout)["decision"] == "allow"


def test_disabling_one_rule_leaves_findings_of_others(world):
    """A disabled rule between two others neither crashes nor lowers."""
    world.start()
    world.hookd("rules", "disable", "git.worktree")
    inner = f"git worktree remove x; {DENY}; git worktree remove x"
    assert says(world, "claude", f"bash -c '{inner}'", n=1) == "deny"
    with frozen(world):
        assert says(world, "claude", f"bash -c '{inner}'", n=2) == "deny"
    assert says(world, "claude", "git worktree remove --force x", n=3) == "none"
    assert says(world, "claude", f"git worktree remove --force x; {ASK}", n=4) == "ask"


def test_many_switches_in_a_row(world):
    world.start()
    for i in range(6):
        world.hookd("rules", "disable" if i % 2 == 0 else "enable", RULE)
        assert says(world, "claude", RESET, n=i) == ("none" if i % 2 == 0 else "deny")


def test_switching_twice_is_no_error_and_adds_no_double(world):
    world.start()
    world.hookd("rules", "disable", RULE)
    world.hookd("rules", "disable", RULE)
    assert (world.dir / "config.json").read_text().count(RULE) == 1


def test_sessions_under_way_follow_the_switch(world):
    """'A session keeps the hooks it began with' is about hooks, not rules."""
    world.start()
    world.hookc("SessionStart", {"session_id": "s-1", "cwd": "/tmp", "hook_event_name": "SessionStart",
                                 "source": "startup"})
    assert says(world, "claude", RESET, n=1) == "deny"
    world.hookd("rules", "disable", RULE)
    assert says(world, "claude", RESET, n=2) == "none"


def test_an_agent_must_not_switch_rules(world):
    world.start()
    for i, line in enumerate(("hookd rules disable git.reset-hard", "hookd config set guard.mode observe",
                              "hookd stop", "hookd uninstall --yes")):
        assert says(world, "claude", line, n=i) in ("deny", "ask"), line
