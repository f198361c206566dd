"""Trust is of bytes: however a project's command spells its script, what was seen runs or nothing does."""
import json
import os

import pytest

from test_hooks import bash, configure, one, project, script, world  # noqa: F401
from test_trust import ask, at_terminal, settle, trust

SPELLINGS = [
    "./tools/check.sh", "tools/check.sh", "cd tools && ./check.sh", "cd tools; ./check.sh", "(cd tools && ./check.sh)",
    "cd tools && sh check.sh", "sh tools/check.sh", "bash ./tools/check.sh", ". tools/check.sh", ". ./tools/check.sh",
    "./tools/ch*.sh", "./tools/c?eck.sh", "./tools/[c]heck.sh", "cd tools && ./ch*.sh", "tools/../tools/check.sh",
    "./tools/./check.sh", ".//tools//check.sh", "\"$CLAUDE_PROJECT_DIR\"/tools/check.sh", "${CLAUDE_PROJECT_DIR}/tools/check.sh",
    "$PWD/tools/check.sh", "D=tools; $D/check.sh", "D=tools; sh \"$D/check.sh\"", "S=./tools/check.sh; $S", "./tools/che\\ck.sh",
    "./'tools'/check.sh", "./to\"ol\"s/check.sh", "$'./tools/check.sh'", "./tools/{check,}.sh", "exec ./tools/check.sh",
    "exec sh tools/check.sh", "env ./tools/check.sh", "env A=1 sh tools/check.sh", "timeout 5 ./tools/check.sh",
    "nice ./tools/check.sh", "true && ./tools/check.sh", "false || ./tools/check.sh", "if true; then ./tools/check.sh; fi",
    "{ ./tools/check.sh; }", "f() { ./tools/check.sh; }; f", "f() { \"$@\"; }; f ./tools/check.sh", "! ./tools/check.sh",
    "./tools/check.sh || exit 2", "./tools/check.sh </dev/null", "cat tools/check.sh | sh", "sh < tools/check.sh",
    "sh -c ./tools/check.sh", "sh -c 'cd tools; ./check.sh'", "eval ./tools/check.sh", "eval 'sh tools/check.sh'",
    "`echo ./tools/check.sh`", "$(echo ./tools/check.sh)", "sh $(ls tools/*.sh)", "find tools -name '*.sh' -exec sh {} \\;",
    "find tools -name check.sh | xargs sh", "ls tools/*.sh | xargs -n1 sh", "echo tools/check.sh | xargs sh",
    "for s in tools/*.sh; do sh $s; done", "for s in check; do ./tools/$s.sh; done", "PATH=$PWD/tools:$PATH check.sh",
    "export PATH=tools:$PATH; check.sh", "BASH_ENV=tools/check.sh bash -c true", "ENV=tools/check.sh sh -c true",
    "~/../$PWD/tools/check.sh", "cd /; \"$OLDPWD\"/tools/check.sh", "cd tools/sub/.. && ./check.sh", "pushd tools && ./check.sh",
    "trap ./tools/check.sh EXIT", "alias c=./tools/check.sh; c", "awk 'BEGIN { system(\"./tools/check.sh\") }'",
    "sh <<E\n./tools/check.sh\nE", "while read x; do sh tools/$x; done < tools/list", "cp tools/check.sh /tmp/hookd-test-x; sh /tmp/hookd-test-x",
    "ln -sf $PWD/tools/check.sh /tmp/hookd-test-x; /tmp/hookd-test-x", "command ./tools/check.sh", "builtin . tools/check.sh",
    "make -f tools/Makefile", "make check", "python3 tools/check.py", "python3 -c 'exec(open(\"tools/check.py\").read())'",
    "python3 -m tools.check", "cd tools && python3 check.py", "python3 tools", "python3 -c 'import check' ", "cd tools; python3 -c 'import check'",
    "perl -e 'do \"./tools/check.pl\"'", "perl -Itools -MCheck -e1", "env python3 tools/check.py", "python3 < tools/check.py",
    "python3 - < tools/check.py", "cat tools/check.py | python3", "test -x tools/check.sh && tools/check.sh", "sh ./tools/check.s\\h",
    "sh \"$(pwd)/tools/check.sh\"", "sh ${D:-tools}/check.sh", "sh $UNSET_THING/tools/check.sh", "A=(tools/check.sh); sh ${A[0]}",
    "printf 'sh tools/check.sh' | sh", "xargs sh tools/check.sh </dev/null", "sh -- tools/check.sh", "sh -e tools/check.sh", "setsid ./tools/check.sh",
]


def put(root, word):
    """A set of scripts that say this word and refuse."""
    say = f"#!/bin/sh\necho {word} bytes >&2\nexit 2\n"
    for name in ("tools/check.sh", "tools/sub/x"):
        script(root / name, say)
    script(root / "tools/check.py", f"import sys\nsys.stderr.write('{word} bytes')\nsys.exit(2)\n", 0o644)
    script(root / "tools/__main__.py", f"import sys\nsys.stderr.write('{word} bytes')\nsys.exit(2)\n", 0o644)
    script(root / "tools/check.pl", f"print STDERR '{word} bytes'; exit 2;\n", 0o644)
    script(root / "tools/Check.pm", f"print STDERR '{word} bytes'; exit 2;\n", 0o644)
    for name in ("tools/Makefile", "Makefile"):
        script(root / name, f"check:\n\t@echo {word} bytes >&2; exit 2\n", 0o644)
    script(root / "tools/list", "check.sh\n", 0o644)
    (root / "tools").chmod(0o755)
    (root / "tools/sub").chmod(0o755)


def state_of(world, root):
    return world.rpc("hooks", cwd=str(root))["hooks"][0]


@pytest.mark.parametrize("command", SPELLINGS, ids=lambda c: c.replace("\n", " ")[:50])
def test_changed_bytes_never_run(world, project, command):  # noqa: F811
    put(project, "old")
    settle(project, one("PreToolUse", command, "Bash"))
    trust(world, project)
    before = ask(world, project, "began", agent="claude")
    assert "new bytes" not in before
    put(project, "new")
    for session in ("began", "later"):
        said = ask(world, project, session, agent="claude")
        assert "new bytes" not in said, (command, said)
        assert not any("new bytes" in r.get("stderr", "") for r in world.rpc("hooks_history")["runs"]), command
    put(project, "old")
    how = state_of(world, project)
    assert how["state"] == "runs" or how["why"], how
    if how["state"] != "runs":
        assert before == ""


@pytest.mark.parametrize("command", SPELLINGS[:43], ids=lambda c: c.replace("\n", " ")[:50])
def test_what_can_be_resolved_runs_from_the_copy(world, project, command):  # noqa: F811
    put(project, "old")
    settle(project, one("PreToolUse", command, "Bash"))
    trust(world, project)
    assert state_of(world, project)["state"] == "runs", state_of(world, project)
    if not command.startswith("! "):
        assert "old bytes" in ask(world, project, "one", agent="claude")


def test_what_cannot_be_resolved_says_why(world, project):  # noqa: F811
    put(project, "old")
    settle(project, {"PreToolUse": [{"hooks": [
        {"type": "command", "command": "$SOMETHING --now", "name": "program"}, {"type": "command", "command": "make check", "name": "runner"},
        {"type": "command", "command": "PATH=tools:$PATH check.sh", "name": "path"}, {"type": "command", "command": "curl x | sh", "name": "input"},
        {"type": "command", "command": "sh", "args": ["-c", "./tools/check.sh"], "name": "exec"},
        {"type": "command", "command": "python3", "args": ["-m", "tools.check"], "name": "module"}]}]})
    shown = trust(world, project)
    why = {h["name"]: h["why"] for h in world.rpc("hooks", cwd=str(project))["hooks"]}
    assert "only known when it runs" in why["program"] and "make runs what files" in why["runner"]
    assert "PATH" in why["path"] and "from its input" in why["input"] and "inside another text" in why["exec"] and "code" in why["module"]
    assert shown.count("cannot be pinned") >= 6
    assert ask(world, project, "x") == ""


@pytest.mark.parametrize("command", [
    "exit 0", "echo fine", "cat > /dev/null; exit 0", "test -n \"$FILE_PATH\" && echo \"$FILE_PATH\" | grep -q secret && exit 2; exit 0",
    "jq -r .tool_input.command | grep -q deploy && { echo no >&2; exit 2; }; exit 0", "echo \"$TOOL_INPUT\" > out.log",
    "case \"$COMMAND\" in *deploy*) exit 2;; esac", "git status --short | head -5 >&2; exit 0", "wc -l src/*.c; exit 0",
    "mkdir -p build/x && date > build/x/stamp", "[ -d tools ] || exit 2", "sh -c 'exit 0'", "ls tools; exit 0"])
def test_ordinary_commands_still_run(world, project, command):  # noqa: F811
    put(project, "old")
    settle(project, one("PreToolUse", command, "Bash"))
    trust(world, project)
    assert state_of(world, project)["state"] == "runs", state_of(world, project)
    ask(world, project, "one")
    assert not list((world.dir / "trust").rglob("stamp"))


def test_a_script_that_appears_later_never_runs(world, project):  # noqa: F811
    settle(project, {"PreToolUse": [{"hooks": [{"type": "command", "command": c} for c in (
        "./later.sh", "sh later.sh", ". ./later.sh", "cd . && ./later.sh", "./lat*.sh", "bash -c './later.sh'", "sh ./later.sh || true")]}]})
    trust(world, project)
    assert ask(world, project, "began") == ""
    script(project / "later.sh", f"#!/bin/sh\ntouch {world.top}/ran\nexit 2\n")
    assert ask(world, project, "began") == "" and ask(world, project, "new") == ""
    assert not (world.top / "ran").exists()


@pytest.mark.parametrize("command", ["{s}", "sh {s}", "cd {d} && ./mine.sh", "~/hooks/mine.sh", "$HOME/hooks/mine.sh", "exec sh \"{s}\" --fast"])
def test_a_changed_script_of_the_users_own_is_told_and_still_runs(world, command):  # noqa: F811
    path = script(world.home / "hooks/mine.sh", "#!/bin/sh\necho first >&2\nexit 2\n")
    configure(world, one("PreToolUse", command.format(s=path, d=path.parent), "Bash"))
    assert "first" in ask(world, world.top, "a", agent="claude")
    start = {"hook_event_name": "SessionStart", "cwd": str(world.top), "source": "startup"}
    assert world.hookc("SessionStart", {"session_id": "b", **start}).stdout == b""
    assert "changed" not in world.hookd("status").stdout.decode()
    path.write_text("#!/bin/sh\necho second >&2\nexit 2\n")
    assert "mine.sh" in world.hookc("SessionStart", {"session_id": "c", **start}).stdout.decode()
    assert world.hookc("SessionStart", {"session_id": "d", **start}).stdout == b""  # once
    assert "second" in ask(world, world.top, "e", agent="claude")
    shown = world.hookd("status").stdout.decode()
    assert f"hook script {path}" in shown, shown
