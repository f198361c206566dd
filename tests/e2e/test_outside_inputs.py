"""Whatever shape a tool's input has, it is judged or asked about."""
import json

import pytest

from outside import DENY, FINE, WORD, call, decisions, meaning, pre, says
from world import payload

STRONG = ("deny", "ask")
KEY = "/home/ada/.ssh/id_rsa"

SHAPES = {
    "json string": json.dumps({"command": DENY}),
    "json string twice": json.dumps(json.dumps({"command": DENY})),
    "bare string": DENY,
    "list": [DENY],
    "list of objects": [{"command": DENY}],
    "argv": {"command": ["bash", "-lc", DENY]},
    "argv without shell": {"command": ["echo", WORD]},
    "nested": {"params": {"command": DENY}},
    "nested deep": {"a": {"b": [{"c": {"command": DENY}}]}},
    "cmd": {"cmd": DENY},
    "script": {"script": DENY},
    "command as object": {"command": {"line": DENY}},
    "second member": {"command": FINE, "cmd": DENY},
    "duplicate command": None,
}


@pytest.mark.parametrize("shape", [k for k in SHAPES if SHAPES[k] is not None])
def test_bash_input_in_any_shape_is_judged(world, shape):
    world.start()
    assert pre(world, "Bash", SHAPES[shape]) in STRONG


@pytest.mark.parametrize("shape", ["json string", "argv", "nested", "cmd", "script", "list"])
def test_unknown_and_mcp_tools_are_judged(world, shape):
    world.start()
    for i, tool in enumerate(("Frobnicate", "mcp__srv__run", "mcp_srv_exec", "terminal")):
        assert pre(world, tool, SHAPES[shape], n=i) in STRONG, tool


def test_two_members_of_the_same_name(world):
    world.start()
    for i, pair in enumerate(((FINE, DENY), (DENY, FINE))):
        raw = ('{"session_id":"s","cwd":"/tmp","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"d%d",'
               '"tool_input":{"command":%s,"command":%s}}' % (i, *map(json.dumps, pair))).encode()
        assert meaning("claude", world.hookc("PreToolUse", raw))[0] in STRONG, pair


@pytest.mark.parametrize("value", [7, 3.5, True, None, [], {}, [[]], {"command": None}, {"command": 7},
                                   {"command": ""}, {"command": [1, 2]}, {"command": {"x": 1}}])
def test_odd_values_do_no_harm(world, value):
    world.start()
    done = world.hookc("PreToolUse", payload("PreToolUse", tool_name="Bash", tool_use_id="o", tool_input=value))
    assert done.returncode in (0, 2)
    assert says(world, "claude", DENY, n=2) == "deny" and says(world, "claude", FINE, n=3) == "none"
    assert world.status()["events"] is not None and len(world.events()) == 3


@pytest.mark.parametrize("member", ["session_id", "cwd", "tool_name", "tool_use_id", "hook_event_name"])
@pytest.mark.parametrize("value", [42, ["x"], {"a": 1}, None])
def test_numbers_where_text_is_expected(world, member, value):
    world.start()
    _, body = call("claude", DENY)
    body[member] = value
    assert meaning("claude", world.hookc("PreToolUse", body))[0] in STRONG


def test_deep_nesting_is_asked_about(world):
    world.start()
    deep = {"command": DENY}
    for _ in range(400):
        deep = {"a": deep}
    assert pre(world, "Bash", deep) in STRONG


def test_deep_arrays_are_asked_about(world):
    world.start()
    raw = b'{"session_id":"s","cwd":"/tmp","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":' + \
        b"[" * 5000 + json.dumps(DENY).encode() + b"]" * 5000 + b"}}"
    assert meaning("claude", world.hookc("PreToolUse", raw))[0] in STRONG
    assert says(world, "claude", FINE, n=2) == "none"


def test_a_huge_command_is_asked_about_or_denied(world):
    world.start()
    assert pre(world, "Bash", {"command": "echo " + "a" * 3_000_000 + "; " + DENY}) in STRONG
    assert pre(world, "Bash", {"command": "echo x; " * 60000 + DENY}, n=2) in STRONG
    assert says(world, "claude", FINE, n=3) == "none"


def test_a_payload_over_eight_mebibytes_is_at_least_asked(world):
    world.start()
    assert pre(world, "Bash", {"description": "a" * 9_000_000, "command": DENY}) in STRONG


def test_not_json_is_asked_about(world):
    world.start()
    done = world.hookc("PreToolUse", b"this is no JSON at all: " + DENY.encode())
    assert meaning("claude", done)[0] in STRONG
    done = world.hookc("PreToolUse", b'{"tool_name":"Bash","tool_input":{"command":"' + DENY.encode() + b'"')
    assert meaning("claude", done)[0] in STRONG


PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch\n"


@pytest.mark.parametrize("agent", ["codex", "claude"])
def test_patches_of_credentials_are_judged(world, agent):
    world.start()
    plain = pre(world, "Write", {"file_path": "/etc/sudoers", "content": "x"}, agent=agent)
    assert plain == "deny"
    body = PATCH.format("/etc/sudoers")
    shapes = [("apply_patch", {"command": body}), ("apply_patch", {"input": body}), ("apply_patch", {"patch": body}),
              ("apply_patch", body), ("apply_patch", {"command": ["apply_patch", body]}),
              ("apply_patch", {"command": body.replace("*** U", "   *** U")}),
              ("Bash", {"command": "apply_patch <<'EOF'\n" + body + "EOF\n"}),
              ("mcp__fs__patch", {"patch": body})]
    for i, (tool, value) in enumerate(shapes):
        assert pre(world, tool, value, agent=agent, n=i + 5) == plain, (tool, value)


def test_a_patch_that_moves_or_deletes_is_judged(world):
    world.start()
    for i, head in enumerate(("*** Delete File: /etc/sudoers", "*** Add File: /etc/sudoers\n+x",
                              "*** Update File: a.txt\n*** Move to: /etc/sudoers\n@@\n-a\n+b")):
        assert pre(world, "apply_patch", {"command": f"*** Begin Patch\n{head}\n*** End Patch\n"}, agent="codex",
                   n=i) in STRONG, head


READS = [("claude", "Read", {"file_path": KEY}), ("gemini", "read_file", {"file_path": KEY}),
         ("gemini", "read_file", {"absolute_path": KEY}),
         ("gemini", "read_many_files", {"paths": ["README.md", KEY]}),
         ("gemini", "read_many_files", {"include": ["/home/ada/.ssh/*"]}),
         ("gemini", "grep_search", {"pattern": "KEY", "dir_path": "/home/ada/.ssh"}),
         ("gemini", "grep_search", {"pattern": "KEY", "path": "/home/ada/.ssh"}),
         ("claude", "Grep", {"pattern": "x", "path": KEY}), ("claude", "Grep", {"pattern": "x", "glob": "**/id_rsa"}),
         ("claude", "mcp__fs__read_file", {"path": KEY}), ("claude", "mcp__fs__read_multiple_files", {"paths": [KEY]}),
         ("claude", "Frobnicate", {"target": {"file": KEY}}), ("claude", "NotebookRead", {"notebook_path": KEY})]


@pytest.mark.parametrize("n", range(len(READS)))
def test_reading_private_keys_by_any_tool(world, n):
    agent, tool, value = READS[n]
    world.start()
    body = {"session_id": "s", "cwd": "/home/ada/p", "tool_name": tool, "tool_input": value,
            "hook_event_name": "BeforeTool" if agent == "gemini" else "PreToolUse"}
    assert meaning(agent, world.hookc(body["hook_event_name"], body, agent))[0] in STRONG, (tool, value)


def test_sql_of_an_mcp_tool(world):
    world.start()
    plain = pre(world, "Bash", {"command": "psql -c 'DROP DATABASE shop'"})
    assert plain == "deny"
    for i, key in enumerate(("sql", "query", "statement")):
        assert pre(world, "mcp__pg__query", {key: "DROP DATABASE shop"}, n=i + 3) in STRONG, key
    assert pre(world, "mcp__pg__query", {"sql": "SELECT 1"}, n=9) == "none"


def test_args_beside_a_command(world):
    world.start()
    assert pre(world, "mcp__proc__spawn", {"command": "git", "args": ["reset", "--hard", "HEAD~3"]}) in STRONG
    assert pre(world, "mcp__proc__spawn", {"command": "git", "args": ["status"]}, n=2) == "none"


def test_windsurf_mcp_arguments(world):
    world.start()
    body = {"agent_action_name": "pre_mcp_tool_use", "trajectory_id": "t", "execution_id": "e", "tool_info": {
        "mcp_server_name": "sh", "mcp_tool_name": "run", "mcp_tool_arguments": {"command": DENY}}}
    assert meaning("windsurf", world.hookc("pre_mcp_tool_use", body, "windsurf"))[0] == "deny"
    body["tool_info"]["mcp_tool_arguments"] = json.dumps({"command": DENY})
    body["execution_id"] = "e2"
    assert meaning("windsurf", world.hookc("pre_mcp_tool_use", body, "windsurf"))[0] == "deny"


def test_windsurf_reads_and_writes(world):
    world.start()
    for i, (name, info) in enumerate((("pre_read_code", {"file_path": KEY}),
                                      ("pre_write_code", {"file_path": "/etc/sudoers",
                                                          "edits": [{"old_string": "a", "new_string": "b"}]}))):
        body = {"agent_action_name": name, "trajectory_id": "t", "execution_id": f"e{i}", "tool_info": info}
        assert meaning("windsurf", world.hookc(name, body, "windsurf"))[0] == "deny", name


def test_cursor_mcp_input_is_a_string(world):
    world.start()
    body = {"conversation_id": "c", "generation_id": "g", "hook_event_name": "beforeMCPExecution",
            "workspace_roots": ["/tmp"], "tool_name": "run", "tool_input": json.dumps({"command": DENY}),
            "command": "npx server"}
    assert meaning("cursor", world.hookc("beforeMCPExecution", body, "cursor"))[0] in STRONG


def test_cursor_reads_of_keys(world):
    world.start()
    body = {"conversation_id": "c", "generation_id": "g", "hook_event_name": "beforeReadFile",
            "workspace_roots": ["/tmp"], "file_path": KEY, "content": "x", "attachments": []}
    assert meaning("cursor", world.hookc("beforeReadFile", body, "cursor"))[0] == "deny"


def test_copilot_arguments_as_a_string(world):
    world.start()
    body = {"sessionId": "s", "cwd": "/tmp", "toolName": "bash", "toolArgs": json.dumps({"command": DENY})}
    assert meaning("copilot", world.hookc("preToolUse", body, "copilot"))[0] in STRONG


def test_guard_check_takes_the_same_path(world):
    world.start()
    lines = [{"id": "1", "command": DENY}, {"id": "2", "command": FINE},
             {"id": "3", "tool": "Bash", "input": json.dumps({"command": DENY})},
             {"id": "4", "tool": "mcp__x__y", "input": {"script": DENY}},
             {"id": "5", "tool": "Read", "input": {"file_path": KEY}}]
    out = world.hookd("guard", "check", input="\n".join(map(json.dumps, lines)).encode()).stdout.splitlines()
    got = {r["id"]: r["decision"] for r in map(json.loads, out)}
    assert got["1"] == "deny" and got["2"] == "allow" and got["3"] in STRONG and got["4"] in STRONG
    assert got["5"] == "deny" and [json.loads(x)["id"] for x in out] == ["1", "2", "3", "4", "5"]


def test_lowering_by_a_later_finding_is_impossible(world):
    world.start()
    inner = f"git worktree remove x; {DENY}; git worktree remove x"
    assert says(world, "claude", inner) == "deny"
    assert says(world, "claude", f"bash -c '{inner}'", n=2) == "deny"


def test_caps_yield_at_least_ask(world):
    world.start()
    brace = "echo {" + ",".join(f"w{i}" for i in range(5000)) + "," + WORD + "}"
    words = "echo " + " ".join(f"w{i}" for i in range(100000)) + "; git reset --hard"
    nested = DENY
    for _ in range(30):
        nested = "bash -c " + "'" + nested.replace("'", "'\\''") + "'" if len(nested) < 200000 else nested
    for i, line in enumerate((brace, words, nested)):
        assert says(world, "claude", line, n=i) in STRONG, i
