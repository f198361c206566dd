#!/usr/bin/env python3
"""Prints docs/reference.md: commands and operations as the program itself describes them.

    tools/reference.py build/hookd > docs/reference.md

The operations are asked of a daemon, so HOOKD_DIR should name a directory of its own."""
import json
import re
import subprocess
import sys

HEAD = """# Reference

Made by `tools/reference.py` from the tables of the program; a test checks that it is current.

## Commands

"""

AGENTS = """
## Agents

What each agent reports and honours; the matrix of `hookd agents`, then `generic` in full. [agents.md](agents.md) says how to use it.

"""

OPERATIONS = """
## Operations

What the daemon can be asked, over its socket as JSON-RPC 2.0 or with `hookd rpc METHOD JSON`. `hookd rpc --schema METHOD` prints the
parameters as JSON Schema. A parameter that is unknown or of the wrong type is error -32602, and the message says what would be
right. Sessions are named by id, prefix of an id, or key; projects by name, path or key; times are microseconds since 1970 or
words such as `2h`, `3d`, `2026-11-01`.
"""


def run(hookd, *args):
    return subprocess.run([hookd, *args], capture_output=True, text=True, check=True).stdout


def commands(hookd):
    names = re.findall(r"^  ([a-z]+) +[A-Z]", run(hookd, "help"), re.M)
    for name in names:
        text = run(hookd, "help", name).rstrip()
        yield f"### {name}\n\n```\n{text}\n```\n"


def kind(p):
    if p.get("type") == "array":
        return "list of " + kind(p.get("items", {}))
    if "enum" in p:
        return ", ".join(f"`{c}`" for c in p["enum"])
    kinds = p.get("type", "any")
    text = " or ".join(kinds) if isinstance(kinds, list) else kinds
    if p.get("minimum") and p.get("maximum"):
        text += f" {p['minimum']}–{p['maximum']}"
    return text


def operations(hookd):
    for op in json.loads(run(hookd, "rpc", "ops"))["ops"]:
        yield f"### {op['name']}\n\n{op['text']}\n"
        schema = op["params"]
        if not schema["properties"]:
            continue
        rows = ["| parameter | kind | |", "|---|---|---|"]
        for name, p in schema["properties"].items():
            notes = p["description"].replace("|", "\\|")
            if name in schema["required"]:
                notes += " (required)"
            if "default" in p:
                notes += f" (default {p['default']})"
            rows.append(f"| `{name}` | {kind(p)} | {notes} |")
        yield "\n".join(rows) + "\n"


def agents(hookd):
    for args in ([], ["generic"]):
        yield f"```\n{run(hookd, 'agents', *args).rstrip()}\n```\n"


def main():
    hookd = sys.argv[1]
    print(HEAD + "\n".join(commands(hookd)) + AGENTS + "\n".join(agents(hookd)) + OPERATIONS + "\n" + "\n".join(operations(hookd)), end="")


if __name__ == "__main__":
    main()
