"""What a session wrote, fetched or changed is judged by its text when it is run, in a later call as well.

The scripts are text: nothing here runs one. hookd is told of calls that an agent is about to make."""
import json
import os
import subprocess
import time

import pytest

from efforts import Agent

DENIED = "rm -rf ~\n"
ASKED = "git push --force-with-lease origin main && npm publish\n"


@pytest.fixture
def agent(world):
    world.start()
    project = world.top / "p"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    one = Agent(world, project)
    return one


def begun(agent):
    """A session, and a moment later: what is written from now on is younger than it."""
    agent.start()
    time.sleep(0.02)
    return agent


def put(agent, name, text, mode=0o755):
    path = agent.cwd / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def verdict(agent, command):
    said = agent.say("PreToolUse", tool_name="Bash", tool_input={"command": command}, tool_use_id=f"c{time.monotonic_ns()}")
    out = said.get("hookSpecificOutput", {})
    return out.get("permissionDecision", "allow"), out.get("permissionDecisionReason", "")


@pytest.mark.parametrize("command", ["./x.sh", "sh x.sh", "bash -x ./x.sh a b", ". ./x.sh", "source x.sh", "cd sub; ../x.sh",
                                     "env A=1 ./x.sh", "timeout 5 ./x.sh | tee log", "find . -name '*.c' -exec ./x.sh {} +",
                                     "make -C . all", "npm test", "npm run test", "yarn test", "direnv allow", "just all"])
def test_a_script_of_the_session_is_read_when_it_is_run(agent, command):
    begun(agent)
    put(agent, "sub/keep", "")
    put(agent, "x.sh", "#!/bin/sh\nset -e\n" + DENIED)
    put(agent, "Makefile", "all: first\n\nfirst:\n\t@echo x\n\trm -rf $(HOME)\n")
    put(agent, "package.json", json.dumps({"scripts": {"test": "rm -rf ~", "build": "tsc"}}))
    put(agent, ".envrc", DENIED)
    put(agent, "justfile", "all:\n    rm -rf ~\n")
    decision, reason = verdict(agent, command)
    assert decision == "deny" and "in the script" in reason, reason


@pytest.mark.parametrize("name, text, command", [
    ("x.py", "import shutil, os\nshutil.rmtree(os.path.expanduser('~'))\n", "python3 x.py"),
    ("x.py", "#!/usr/bin/env python3\nimport os\nos.system('rm -rf ~')\n", "./x.py"),
    ("x.js", "require('child_process').execSync('rm -rf ~')\n", "node x.js"),
    ("x.rb", "require 'fileutils'\nFileUtils.rm_rf(Dir.home)\n", "ruby x.rb"),
    ("x.pl", "system('rm -rf ~');\n", "perl x.pl")])
def test_programs_of_interpreters_too(agent, name, text, command):
    begun(agent)
    put(agent, name, text)
    assert verdict(agent, command)[0] == "deny"


def test_a_script_that_was_there_before_is_the_users_business(agent):
    put(agent, "x.sh", DENIED)
    time.sleep(0.02)
    begun(agent)
    assert verdict(agent, "./x.sh")[0] == "allow"


@pytest.mark.parametrize("how", ["written over", "appended to", "moved there", "made executable", "unpacked with its old time"])
def test_whatever_changed_it(agent, how):
    path = put(agent, "x.sh", DENIED if how != "appended to" else "#!/bin/sh\n")
    other = put(agent, "elsewhere", DENIED)
    os.utime(other, (1, 1))
    time.sleep(0.02)
    begun(agent)
    if how == "written over":
        path.write_text(DENIED)
    elif how == "appended to":
        path.write_text(path.read_text() + DENIED)
    elif how == "moved there":
        other.rename(path)
    elif how == "made executable":
        path.chmod(0o700)
    else:
        path.write_text(DENIED)
        os.utime(path, (1, 1))
    assert verdict(agent, "./x.sh")[0] == "deny"


def test_only_what_would_run_counts(agent):
    """The goal that is asked for, the script that is named: not everything that stands in the file."""
    begun(agent)
    put(agent, "Makefile", "BUILD = build\n\nall: $(BUILD)/x\n\n$(BUILD)/x: x.c\n\t$(CC) -o $@ $<\n\nclean:\n\trm -rf $(BUILD)\n\n"
                           "uninstall:\n\trm -rf ~\n\ntest: all\n\t./run-tests\n\n.PHONY: all clean test\n")
    put(agent, "package.json", json.dumps({"scripts": {"test": "jest", "release": "npm publish", "posttest": "eslint ."}}))
    for command in ("make", "make test", "make clean", "npm test", "npm install", "npm run test -- --watch"):
        assert verdict(agent, command)[0] == "allow", command
    assert verdict(agent, "make uninstall")[0] == "deny"
    assert verdict(agent, "npm run release")[0] in ("ask", "deny")


def test_ordinary_scripts_pass(agent):
    begun(agent)
    put(agent, "a.sh", '#!/usr/bin/env bash\nset -euo pipefail\ntmp=$(mktemp -d)\ntrap \'rm -rf "$tmp"\' EXIT\n'
                       'for f in "$@"; do "$RUNNER" "$f" > "$tmp/out" || exit 1; done\ncp -r build/* dist/\n')
    put(agent, "b.py", "import json, sys\nprint(json.load(open(sys.argv[1]))['x'])\n")
    put(agent, "c.js", "const fs = require('fs');\nfs.writeFileSync('out.txt', 'x');\n")
    for command in ("./a.sh x y", "bash a.sh", "python3 b.py data.json", "node c.js"):
        assert verdict(agent, command)[0] == "allow", (command, verdict(agent, command))


def test_it_runs_others_and_itself(agent):
    begun(agent)
    put(agent, "a.sh", "./b.sh\n./a.sh\n")
    put(agent, "b.sh", ". ./c.sh\n")
    put(agent, "c.sh", DENIED)
    assert verdict(agent, "./a.sh")[0] == "deny"
    put(agent, "c.sh", "echo well\n")
    assert verdict(agent, "./a.sh")[0] == "allow"


def test_what_is_too_much_to_read_is_asked_about(agent):
    begun(agent)
    put(agent, "big.sh", "echo x\n" * 200000)
    assert verdict(agent, "./big.sh")[0] in ("ask", "deny")
    put(agent, "binary", "\0\1\2" * 1000)
    assert verdict(agent, "./binary")[0] == "allow"
    for n in range(40):
        put(agent, f"s{n}.sh", "echo x\n")
    assert verdict(agent, "; ".join(f"./s{n}.sh" for n in range(40)))[0] in ("ask", "deny")


def test_what_is_no_file_is_not_opened(agent):
    begun(agent)
    os.mkfifo(agent.cwd / "fifo.sh")
    (agent.cwd / "dir.sh").mkdir()
    for command in ("./fifo.sh", "sh fifo.sh", "./dir.sh", "sh none.sh"):
        assert verdict(agent, command)[0] == "allow"


@pytest.mark.parametrize("hook", [".git/hooks/pre-commit", ".husky/pre-commit"])
def test_hooks_of_git_that_the_session_has_made(agent, hook):
    begun(agent)
    put(agent, hook, "#!/bin/sh\n" + DENIED)
    assert verdict(agent, "git add . && git commit -m x")[0] == "deny"
    assert "in the script" not in verdict(agent, "git commit --no-verify -m x")[1]
    assert verdict(agent, "git status")[0] == "allow"


@pytest.mark.parametrize("command, decision", [
    ("PATH=$PWD/bin:$PATH git status", "deny"), ("export PATH=./bin:$PATH; git status", "deny"),
    ("PATH=$PWD/bin:$PATH ls", "allow"), ("git status", "allow"),
    ("export BASH_ENV=./bin/git", "deny"), ("export NODE_OPTIONS='--max-old-space-size=4096 --require ./evil.js'", "deny"),
    ("NODE_OPTIONS=--import=./evil.js npm run x", "deny"), ("export NODE_OPTIONS='--import tsx --no-warnings'", "allow"),
    ("export GIT_SSH_COMMAND='rm -rf ~'", "deny"), ("export GIT_SSH_COMMAND='ssh -i key'", "allow"),
    ("export EDITOR=vim PAGER=less", "allow"), ("export LD_PRELOAD=./x.so", "ask"), ("export GIT_CONFIG_GLOBAL=/dev/null", "allow"),
    ("declare -x PYTHONSTARTUP=/tmp/x.py", "ask")])
def test_what_is_set_for_later_calls_counts_when_it_is_set(agent, command, decision):
    begun(agent)
    put(agent, "bin/git", "#!/bin/sh\n" + DENIED)
    put(agent, "evil.js", "require('child_process').execSync('rm -rf ~')\n")
    assert verdict(agent, command)[0] == decision


def test_without_a_daemon_it_is_the_same(agent):
    world = agent.world
    begun(agent)
    put(agent, "x.sh", DENIED)
    world.stop()
    (world.dir / "run/hookd.lock").unlink(missing_ok=True)
    (world.dir / "run/hookd.lock").mkdir()  # no daemon can start
    assert verdict(agent, "./x.sh")[0] == "deny"
