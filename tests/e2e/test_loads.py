"""Trust is of bytes, of everything that runs: what a trusted script sources, imports and starts is pinned with it, or it
does not run and says why."""
import pytest

from test_bytes import state_of
from test_hooks import one, project, script, world  # noqa: F401
from test_trust import ask, settle, trust

SAY = "echo @ bytes >&2\nexit 2\n"
SAY_PY = "import sys\nsys.stderr.write('@ bytes')\nsys.exit(2)\n"
PY = "#!/usr/bin/env python3\n"

# name: (command, files; @ is the word they say)
RUNS = {
    "beside $0": ("tools/a.sh", {"tools/a.sh": '#!/bin/sh\n. "$(dirname "$0")/lib.sh"\n', "tools/lib.sh": SAY}),
    "${0%/*}": ("tools/a.sh", {"tools/a.sh": '#!/bin/sh\n. "${0%/*}/lib.sh"\n', "tools/lib.sh": SAY}),
    "BASH_SOURCE": ("tools/a.sh", {"tools/a.sh": '#!/bin/bash\nsource "$(dirname "${BASH_SOURCE[0]}")/lib.sh"\n', "tools/lib.sh": SAY}),
    "SCRIPT_DIR": ("bash tools/a.sh", {
        "tools/a.sh": 'HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nsource "$HERE/lib.sh"\n', "tools/lib.sh": SAY}),
    "cd to itself": ("sh tools/a.sh", {"tools/a.sh": 'cd "$(dirname "$0")" || exit 1\n. ./lib.sh\n', "tools/lib.sh": SAY}),
    "above itself": ("sh tools/a.sh", {"tools/a.sh": '. "$(dirname "$0")/../share/lib.sh"\n', "share/lib.sh": SAY}),
    "by the directory it runs in": ("sh tools/a.sh", {"tools/a.sh": ". ./tools/lib.sh\n", "tools/lib.sh": SAY}),
    "by the directory, quoted": ("sh tools/a.sh", {"tools/a.sh": ". './tools/'\"lib.sh\"\n", "tools/lib.sh": SAY}),
    "by the project's directory": ("sh tools/a.sh", {"tools/a.sh": '. "$CLAUDE_PROJECT_DIR/tools/lib.sh"\n', "tools/lib.sh": SAY}),
    "after cd": ("sh tools/a.sh", {"tools/a.sh": "cd tools\n. ./lib.sh\n", "tools/lib.sh": SAY}),
    "by a variable": ("sh tools/a.sh", {"tools/a.sh": "LIB=tools/lib.sh\nif true; then . $LIB; fi\n", "tools/lib.sh": SAY}),
    "a library of a library": ("sh tools/a.sh", {
        "tools/a.sh": '. "$(dirname "$0")/lib.sh"\nload two\n', "tools/lib.sh": 'load() { . "$(dirname "$0")/$1.sh"; }\n', "tools/two.sh": SAY}),
    "another script": ("sh tools/a.sh", {"tools/a.sh": "./tools/b.sh\nexit $?\n", "tools/b.sh": "#!/bin/sh\n" + SAY}),
    "another script, by sh": ("sh tools/a.sh", {"tools/a.sh": "exec sh tools/b.sh\n", "tools/b.sh": SAY}),
    "another, behind timeout": ("sh tools/a.sh", {"tools/a.sh": "timeout 5 tools/b.sh now\nexit $?\n", "tools/b.sh": "#!/bin/sh\n" + SAY}),
    "a program of Python": ("sh tools/a.sh", {"tools/a.sh": "python3 tools/b.py\nexit $?\n", "tools/b.py": SAY_PY}),
    "a module beside": ("python3 tools/a.py", {"tools/a.py": "import lib\nlib.say()\n", "tools/lib.py": SAY_PY.replace("sys.", "  sys.").replace(
        "import sys\n", "import sys\ndef say():\n")}),
    "from a package": ("tools/a.py", {"tools/a.py": PY + "from pack.deep import say\n", "tools/pack/__init__.py": "", "tools/pack/deep/__init__.py": "",
                                      "tools/pack/deep/say.py": SAY_PY}),
    "relative import": ("tools/a.py", {"tools/a.py": PY + "import pack\n", "tools/pack/__init__.py": "from . import say\n", "tools/pack/say.py": SAY_PY}),
    "sys.path from __file__": ("python3 tools/a.py", {
        "tools/a.py": "import os, sys\nHERE = os.path.dirname(os.path.abspath(__file__))\nsys.path.insert(0, os.path.join(HERE, '..', 'lib'))\n"
                      "import say\n", "lib/say.py": SAY_PY}),
    "a module of Node": ("node tools/a.js", {"tools/a.js": "require('./lib');\n", "tools/lib.js": "console.error('@ bytes'); process.exit(2);\n"}),
    "an import of Node": ("node tools/a.mjs", {"tools/a.mjs": "import { say } from './lib.mjs';\nsay();\n",
                                               "tools/lib.mjs": "export function say() { console.error('@ bytes'); process.exit(2); }\n"}),
    "an interpreter": ("./tools/a", {"tools/a": "#!%ROOT%/tools/run\nwhatever\n", "tools/run": "#!/bin/sh\n" + SAY}),
    "an interpreter with words": ("tools/a one two", {"tools/a": "#!%ROOT%/tools/run -x\nwhatever\n", "tools/run": "#!/bin/sh\nshift\n. \"$1.sh\"\n",
                                                      "tools/a.sh": SAY}),
    "a pattern": ("./tools/a?.sh", {"tools/ab.sh": '#!/bin/sh\n. "$(dirname "$0")/lib.sh"\n', "tools/lib.sh": SAY}),
    "data beside it": ("sh tools/a.sh", {"tools/a.sh": 'cat "$(dirname "$0")/text" >&2\nexit 2\n', "tools/text": "@ bytes\n"}),
    "a program of awk": ("sh tools/a.sh", {"tools/a.sh": "awk -f tools/a.awk </dev/null >&2\nexit 2\n", "tools/a.awk": 'BEGIN { print "@ bytes" }\n'}),
}
NOT_HERE = {"a module of Node", "an import of Node"}

REFUSED = {
    "sourced by name": ("sh tools/a.sh", {"tools/a.sh": '. "tools/$(cat tools/which)"\n', "tools/which": "b.sh\n", "tools/b.sh": SAY}, "only known"),
    "eval": ("sh tools/a.sh", {"tools/a.sh": "eval \"sh tools/b.sh\"\nexit 2\n", "tools/b.sh": SAY}, "inside another text"),
    "sh -c": ("sh tools/a.sh", {"tools/a.sh": "sh -c 'tools/b.sh'\nexit 2\n", "tools/b.sh": "#!/bin/sh\n" + SAY}, "inside another text"),
    "a loop over scripts": ("sh tools/a.sh", {"tools/a.sh": "for f in tools/b*.sh; do sh $f; done\nexit 2\n", "tools/b.sh": SAY}, "only known"),
    "a named loop": ("sh tools/a.sh", {"tools/a.sh": "for f in b c; do sh tools/$f.sh; done\n", "tools/b.sh": SAY, "tools/c.sh": SAY}, "a.sh"),
    "make": ("sh tools/a.sh", {"tools/a.sh": "make -s say\n", "Makefile": "say:\n\t@echo @ bytes >&2; exit 2\n"}, "make"),
    "npm, deep": ("sh tools/a.sh", {"tools/a.sh": '. "$(dirname "$0")/lib.sh"\n', "tools/lib.sh": "npm test\n"}, "npm"),
    "PATH": ("sh tools/a.sh", {"tools/a.sh": "PATH=$PWD/tools:$PATH\nb\n", "tools/b": "#!/bin/sh\n" + SAY}, "PATH"),
    "arguments": ("sh tools/a.sh", {"tools/a.sh": 'sh "$FILE_PATH"\n'}, "only known"),
    "python -c": ("sh tools/a.sh", {"tools/a.sh": "python3 -c 'import b'\n", "b.py": SAY_PY}, "-I -c"),
    "exec": ("python3 tools/a.py", {"tools/a.py": "exec(open('tools/b.py').read())\n", "tools/b.py": SAY_PY}, "exec"),
    "importlib": ("python3 tools/a.py", {"tools/a.py": "import importlib, os\n", "tools/b.py": SAY_PY}, "importlib"),
    "sys.path of the project": ("python3 tools/a.py", {"tools/a.py": "import sys\nsys.path.insert(0, 'tools')\nimport b\n", "tools/b.py": SAY_PY}, "sys.path"),
    "os.system": ("python3 tools/a.py", {"tools/a.py": "import os\nos.system('sh tools/b.sh')\n", "tools/b.sh": SAY}, "a.py"),
    "subprocess": ("python3 tools/a.py", {"tools/a.py": "import subprocess, sys\nsys.exit(subprocess.run(['tools/b.sh']).returncode)\n",
                                          "tools/b.sh": "#!/bin/sh\n" + SAY}, "a.py"),
    "subprocess of what": ("python3 tools/a.py", {"tools/a.py": "import subprocess\nsubprocess.run(open('tools/which').read())\n", "tools/which": "x"}, "a.py"),
    "a path in a string": ("python3 tools/a.py", {
        "tools/a.py": "import os, subprocess\np = 'tools/b.sh'\nsubprocess.run(['env', 'X=1', p])\n", "tools/b.sh": "#!/bin/sh\n" + SAY}, "tools/"),
    "require of a variable": ("node tools/a.js", {"tools/a.js": "require(process.cwd() + '/tools/b.js')\n", "tools/b.js": "0"}, "require"),
    "node_modules": ("node tools/a.js", {"tools/a.js": "require('left-pad')\n", "node_modules/left-pad/package.json": "{}"}, "node_modules"),
    "perl do": ("perl tools/a.pl", {"tools/a.pl": "do './tools/b.pl';\n", "tools/b.pl": "print STDERR '@ bytes'; exit 2;\n"}, "from the project"),
    "ruby require": ("ruby tools/a.rb", {"tools/a.rb": "require './tools/b'\n", "tools/b.rb": "exit 2\n"}, "from the project"),
    "runs in the copies": ("sh tools/a.sh", {"tools/a.sh": 'cd "$(dirname "$0")/.."\ngit status\n'}, "CLAUDE_PROJECT_DIR"),
    "not the shell's grammar": ("sh tools/a.sh", {"tools/a.sh": "if true; then (\n"}, "a.sh"),
}

FINE = {
    "PATH of the system": ("sh tools/a.sh", {"tools/a.sh": 'PATH=/usr/local/bin:"$HOME/.local/bin":$PATH\nexport PATH\ndate >/dev/null\n'}),
    "IFS": ("sh tools/a.sh", {"tools/a.sh": 'while IFS= read -r line; do echo "$line" >/dev/null; done\nIFS="\n"\ntrue\n'}),
    "input": ("sh tools/a.sh", {"tools/a.sh": 'input=$(cat)\ncmd=$(printf %s "$input" | jq -r .tool_input.command)\ncase "$cmd" in *deploy*) exit 2;; esac\n'}),
    "functions": ("sh tools/a.sh", {"tools/a.sh": 'die() { echo "$1" >&2; exit 2; }\nmain() { [ -n "$1" ] || return 0; die "$1"; }\nmain "$@"\n'}),
    "trap": ("sh tools/a.sh", {"tools/a.sh": "t=$(mktemp)\ntrap 'rm -f \"$t\"' EXIT\ncat >\"$t\"\ngrep -q x \"$t\" || true\n"}),
    "git": ("sh tools/a.sh", {"tools/a.sh": 'cd "$CLAUDE_PROJECT_DIR" || exit 0\ngit diff --name-only | while read -r f; do wc -l "$f"; done\n'}),
    "a tool": ("python3 tools/a.py", {"tools/a.py": 'import json, subprocess, sys\nd = json.load(sys.stdin)\n'
                                      'subprocess.run(["true", d.get("cwd", "")], check=False)\nsys.exit(0)\n'}),
    "a list of tools": ("python3 tools/a.py", {"tools/a.py": 'import subprocess\ncmd = ["true", "--fix"]\nsubprocess.run(cmd + ["x"])\n'}),
    "a list of names": ("python3 tools/a.py", {"tools/a.py": 'PROTECTED = ["deploy.sh", "tools/a.py"]\nimport re, json, sys\n', "deploy.sh": "x"}),
    "asyncio.run": ("python3 tools/a.py", {"tools/a.py": "import asyncio\nasync def main():\n    pass\nasyncio.run(main())\n"}),
    "python -I -c": ("sh tools/a.sh", {"tools/a.sh": "python3 -I -c 'import json, sys; json.load(sys.stdin)'\n"}),
    "a missing library": ("sh tools/a.sh", {"tools/a.sh": '[ -f "$(dirname "$0")/own.sh" ] && . "$(dirname "$0")/own.sh"\nexit 0\n'}),
    "read -a": ("bash tools/a.sh", {"tools/a.sh": 'a=(one two)\nfor x in "${a[@]}"; do printf "%s\\n" "$x"; done\n[[ "$x" == two ]] && exit 0\n'}),
}


def put(root, files, word):
    for name, text in files.items():
        script(root / name, text.replace("@", word).replace("%ROOT%", str(root)))
    for d in {p for name in files for p in (root / name).parents if root in p.parents}:
        d.chmod(0o755)


@pytest.mark.parametrize("name", RUNS)
def test_what_it_loads_is_pinned_with_it(world, project, name):  # noqa: F811
    command, files = RUNS[name]
    put(project, files, "old")
    settle(project, one("PreToolUse", command, "Bash"))
    trust(world, project)
    assert state_of(world, project)["state"] == "runs", state_of(world, project)
    if name in NOT_HERE:
        return
    assert "old bytes" in ask(world, project, "began", agent="claude"), world.rpc("hooks_history")
    changed = [f for f in files if "@" in files[f]]
    for gone in (changed, list(files)):
        put(project, {f: files[f] for f in gone}, "new")
        for session in ("began", "later"):
            said = ask(world, project, session, agent="claude")
            assert "new bytes" not in said, said
        assert "old bytes" in ask(world, project, "began", agent="claude")
    assert state_of(world, project)["state"] != "runs"  # nobody has seen these bytes
    put(project, files, "old")
    assert state_of(world, project)["state"] == "runs"


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_pinned_does_not_run_and_says_why(world, project, name):  # noqa: F811
    command, files, why = REFUSED[name]
    put(project, files, "old")
    settle(project, one("PreToolUse", command, "Bash"))
    assert "cannot be pinned" in trust(world, project)
    how = state_of(world, project)
    assert how["state"] != "runs" and why in how["why"], how
    assert how["why"] in world.hookd("hooks", cwd=project).stderr.decode()
    assert ask(world, project, "one", agent="claude") == ""


@pytest.mark.parametrize("name", FINE)
def test_ordinary_scripts_still_run(world, project, name):  # noqa: F811
    command, files = FINE[name]
    put(project, files, "old")
    settle(project, one("PreToolUse", command, "Bash"))
    trust(world, project)
    assert state_of(world, project)["state"] == "runs", state_of(world, project)
    ask(world, project, "one", agent="claude")
    runs = world.rpc("hooks_history")["runs"]
    assert runs and runs[0]["exitCode"] in (0, 1), runs


def test_the_difference_shows_what_the_person_saw(world, project):  # noqa: F811
    put(project, {"tools/a.sh": ". ./tools/lib.sh\n", "tools/lib.sh": SAY}, "old")
    settle(project, one("PreToolUse", "sh tools/a.sh", "Bash"))
    trust(world, project)
    put(project, {"tools/a.sh": "true\n. ./tools/lib.sh\n"}, "old")
    shown = trust(world, project)
    assert "+true" in shown and "-. ./tools/lib.sh" not in shown and str(world.dir) not in shown, shown
