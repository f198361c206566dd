"""The code index, by one who has read only what the documents promise."""
import http.client
import json
import os
import socket
import subprocess
import threading
import time

import pytest

from outside import configure
from outside_repos import (
    SOON, TOKENS, TOPICS, ask, begin, body, code, end, git, gone, has, index, indexers, library, made, named, numbers, plain,
    prompt, put, soon, start_event, strings, written_event)
from world import alive, wait_for


# -- commands ---------------------------------------------------------------------------------------

def test_index_then_code_symbols_and_map(world):
    world.start()
    repo = library(world)
    index(world, repo)
    hit = has(world, repo, "reconcile_ledger_entries")[0]
    assert any("billing/ledger.py" in s for s in strings(hit))
    row = named(world, repo, "reconcile_ledger_entries")[0]
    assert any("billing/ledger.py" in s for s in strings(row)) and 4 in list(numbers(row))
    out = world.hookd("map", "-p", repo).stdout.decode()
    assert "billing/ledger.py" in out and "reconcile_ledger_entries" in out


def test_the_human_output_names_path_and_lines(world):
    world.start()
    repo = library(world)
    index(world, repo)
    out = world.hookd("code", "reconcile ledger entries", cwd=repo).stdout.decode()
    assert "billing/ledger.py" in out and "def reconcile_ledger_entries" in out
    out = world.hookd("symbols", "reconcile", cwd=repo).stdout.decode()
    assert "reconcile_ledger_entries" in out and "billing/ledger.py" in out


def test_in_a_directory_below_the_root(world):
    world.start()
    repo = library(world)
    world.hookd("index", "--no-vectors", cwd=repo / "billing", seconds=120)
    assert "mixer.py" in world.hookd("code", "attenuate_channel_gain", cwd=repo / "chess").stdout.decode()


def test_lines_and_limit(world):
    world.start()
    repo = library(world)
    index(world, repo)
    got = code(world, repo, "items limit sum", lines=2, limit=3)
    assert 1 <= len(got) <= 3
    assert all(s.count("\n") <= 2 for r in got for s in strings(r))
    assert not any("def attenuate" in s and "\n" in s for r in code(world, repo, "attenuate_channel_gain", lines=0) for s in strings(r))


def test_map_below_a_path_and_under_a_budget(world):
    world.start()
    repo = library(world)
    index(world, repo)
    out = world.hookd("map", "billing", cwd=repo).stdout.decode()
    assert "reconcile_ledger_entries" in out and "attenuate_channel_gain" not in out
    small = world.hookd("map", "--tokens", 50, cwd=repo).stdout
    large = world.hookd("map", "--tokens", 5000, cwd=repo).stdout
    assert len(small) <= 50 * 4 and len(small) < len(large) <= 5000 * 4
    json.loads(world.hookd("map", "--json", cwd=repo).stdout)


def test_map_out_of_the_tree(world):
    world.start()
    repo = library(world)
    index(world, repo)
    for path in ("../..", "/etc", "no/such", ""):
        done = world.hookd("map", path, cwd=repo, ok=False)
        assert done.returncode in (0, 1, 64), path
        assert b"root:" not in done.stdout


def test_status_counts_files(world):
    world.start()
    repo = library(world)
    index(world, repo)
    told = world.json("index", "status", "--json", repo)
    assert len(TOPICS) in list(numbers(told)), told
    assert str(len(TOPICS)) in world.hookd("index", "status", repo).stdout.decode()


def test_status_before_any_index(world):
    world.start()
    repo = library(world)
    done = world.hookd("index", "status", repo, ok=False)
    assert done.returncode in (0, 1) and (done.stdout + done.stderr).strip()
    done = world.hookd("index", "status", "--json", repo, ok=False)
    if done.returncode == 0:
        json.loads(done.stdout)


def test_code_without_an_index_says_so(world):
    world.start()
    folder = plain(world, {"a.py": "def lonely():\n    pass\n"})
    for command in (["code", "lonely"], ["symbols", "lonely"], ["map"]):
        done = world.hookd(*command, cwd=folder, ok=False)
        assert done.returncode in (0, 1) and (done.stdout + done.stderr).strip(), (command, done)
        assert done.stderr.count(b"\n") <= 1


@pytest.mark.parametrize("args", [["code"], ["symbols"], ["symbols", "--limit", "x", "a"], ["map", "--tokens", "many"],
                                  ["index", "a", "b", "c"], ["index", "--no-such"], ["code", "--limit", "-1", "a"],
                                  ["map", "a", "b"], ["recall", "--in", "sausages", "text"]],
                         ids=lambda a: " ".join(a))
def test_wrong_arguments(world, args):
    world.start()
    done = world.hookd(*args, cwd=world.top, ok=False)
    assert done.returncode in (1, 64) and done.stderr.strip(), done
    assert done.returncode == 64 or args[0] == "recall" or args[1:2] in (["a"], ["--limit"], ["--tokens"])


@pytest.mark.parametrize("what", ["missing", "file", "deleted", "fifo"])
def test_index_of_what_is_no_directory(world, what):
    world.start()
    path = world.top / "thing"
    if what == "file":
        path.write_text("x")
    if what == "fifo":
        os.mkfifo(path)
    if what == "deleted":
        made(world, {"a.py": "def gone_soon():\n    pass\n"}, "thing")
        index(world, path)
        subprocess.run(["rm", "-r", str(path)], check=True)
    done = world.hookd("index", path, ok=False)
    assert done.returncode in (1, 64) and done.stderr.count(b"\n") == 1, done
    world.hookd("status")


@pytest.mark.parametrize("method,params", [
    ("code", {}), ("code", {"query": 5}), ("code", {"query": None}), ("code", {"query": ["a"]}),
    ("code", {"query": "a", "limit": 0}), ("code", {"query": "a", "limit": 101}), ("code", {"query": "a", "limit": "x"}),
    ("code", {"query": "a", "lines": "x"}), ("code", {"query": "a", "sausage": 1}), ("code", {"query": "a", "project": {}}),
    ("symbols", {}), ("symbols", {"name": 1}), ("symbols", {"name": "a", "limit": 1.5}), ("map", {"tokens": 49}),
    ("map", {"tokens": 50001}), ("map", {"path": 3}), ("index_status", {"project": 7}), ("index_update", {}),
    ("index_update", {"root": []}), ("recall", {"queries": "x"}), ("recall", {}), ("search", {"query": "a", "in": 4})])
def test_wrong_types(world, method, params):
    world.start()
    got = ask(world, method, params)
    assert got.get("error", {}).get("code") == -32602 and got["error"]["message"], got
    world.hookd("status")


@pytest.mark.parametrize("method,params", [
    ("code", {"query": ""}), ("code", {"query": "\0"}), ("code", {"query": "a" * 1000000}), ("code", {"query": "\" NEAR( * -: ^"}),
    ("code", {"query": "a", "lines": -1}), ("code", {"query": "a", "lines": 2 ** 62}), ("symbols", {"name": ""}),
    ("symbols", {"name": "%_*'\";--"}), ("symbols", {"name": "x" * 100000}), ("map", {"path": "../../.."}),
    ("code", {"query": "a", "project": "/no/such"}), ("code", {"query": "a", "project": "x" * 10000}),
    ("index_update", {"root": "relative"}), ("index_update", {"root": "/no/such"}), ("index_update", {"root": "/dev/null"}),
    ("recall", {"queries": [1, None, {}, {"query": "a"}], "in": "code"}), ("recall", {"queries": [], "in": "code"}),
    ("recall", {"queries": [{"id": {}, "query": [], "project": 4}], "in": "code"})],
    ids=lambda v: str(v)[:40])
def test_odd_values_are_answered(world, method, params):
    pid = world.start()
    repo = made(world, {"a.py": "def a():\n    return 1\n"})
    index(world, repo)
    if "project" not in params and method in ("code", "symbols", "map"):
        params = {**params, "project": str(repo)}
    got = ask(world, method, params)
    assert ("result" in got) != ("error" in got)
    world.hookd("status")
    assert world.pid() == pid and alive(pid)


def test_search_in_code(world):
    world.start()
    repo = library(world)
    index(world, repo)
    hits = world.json("search", "--in", "code", "--json", "attenuate_channel_gain", cwd=repo)["hits"]
    assert hits and hits[0]["kind"] == "code" and hits[0]["confidence"] in ("high", "medium", "low")
    assert any("mixer.py" in s for s in strings(hits[0]))
    assert not world.json("search", "--json", "attenuate_channel_gain", cwd=repo)["hits"], "code only when it is named"


def test_a_code_hit_is_got_in_full(world):
    world.start()
    repo = library(world)
    index(world, repo)
    hit = world.json("search", "--in", "code", "--json", "attenuate_channel_gain", cwd=repo)["hits"][0]
    assert "return waveform" in world.hookd("get", hit["id"], cwd=repo).stdout.decode() or \
        "def attenuate_channel_gain" in world.hookd("get", hit["id"], cwd=repo).stdout.decode()


def test_recall_batch_in_code(world):
    world.start()
    repo = library(world)
    index(world, repo)
    asked = [{"id": f"q{i}", "query": f"{name} {words}", "project": str(repo)} for i, (name, words) in enumerate(TOPICS.values())]
    done = world.hookd("recall", "--batch", "--in", "code", input="".join(json.dumps(a) + "\n" for a in asked).encode())
    got = [json.loads(line) for line in done.stdout.splitlines()]
    assert [g["id"] for g in got] == [a["id"] for a in asked]
    for g, path in zip(got, TOPICS):
        assert 1 <= len(g["hits"]) <= 10
        assert all({"ref", "kind", "score", "confidence"} <= set(h) for h in g["hits"])
        assert path in g["hits"][0]["ref"], (path, g["hits"][0])
        assert all(h["kind"] == "code" for h in g["hits"])


def test_recall_batch_in_memory_has_no_code(world):
    world.start()
    repo = library(world)
    index(world, repo)
    done = world.hookd("recall", "--batch", "--in", "memory", cwd=repo,
                       input=json.dumps({"id": 1, "query": "attenuate_channel_gain", "project": str(repo)}).encode() + b"\n")
    assert json.loads(done.stdout)["hits"] == []


def test_recall_batch_survives_bad_lines(world):
    world.start()
    repo = library(world)
    index(world, repo)
    good = {"id": "g", "query": "attenuate_channel_gain", "project": str(repo)}
    lines = [b"", b"not json", b"[]", b'{"id":1}', b'{"id":2,"query":7}', b'{"query":"no id"}', b"\xff\xfe", json.dumps(good).encode()]
    done = world.hookd("recall", "--batch", "--in", "code", input=b"\n".join(lines) + b"\n", ok=False)
    assert done.returncode in (0, 1, 64) and (done.returncode == 0 or done.stderr.strip())
    for line in done.stdout.splitlines():
        json.loads(line)
    if done.returncode == 0:
        assert [g for g in map(json.loads, done.stdout.splitlines()) if g.get("id") == "g" and g["hits"]]
    world.hookd("status")


def test_mcp_has_the_tools(world):
    world.start()
    repo = library(world)
    index(world, repo)
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "o", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
             {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
                 "name": "code", "arguments": {"query": "attenuate_channel_gain", "project": str(repo)}}},
             {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
                 "name": "symbols", "arguments": {"name": "attenuate", "project": str(repo)}}},
             {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
                 "name": "map", "arguments": {"project": str(repo)}}}]
    done = world.hookd("mcp", input="".join(json.dumps(x) + "\n" for x in lines).encode(), cwd=repo)
    got = {a["id"]: a for a in map(json.loads, done.stdout.splitlines()) if "id" in a}
    assert {"code", "symbols", "map"} <= {t["name"] for t in got[2]["result"]["tools"]}
    for n in (3, 4, 5):
        text = "\n".join(strings(got[n]["result"]))
        assert "mixer.py" in text and "attenuate_channel_gain" in text, (n, text[:500])


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("hookd")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(str(self.path))


def test_session_start_tells_index_counts(world):
    world.start()
    repo = library(world)
    index(world, repo)
    web = Unix(world.dir / "run/api.sock")
    web.request("POST", "/api/oak/ci/session-start", json.dumps({
        "session_id": "o-1", "agent": "claude", "source": "startup", "cwd": str(repo)}), {"Content-Type": "application/json"})
    got = json.loads(web.getresponse().read())
    index_part = (got.get("context") or {}).get("index") or got.get("index") or {}
    assert any(n >= len(TOPICS) for n in numbers(index_part)), got


# -- where --------------------------------------------------------------------------------------------

def test_without_git(world):
    world.start()
    folder = plain(world, {"a/x.py": "def plainly_here():\n    pass\n", ".hidden/y.py": "def hidden_there():\n    pass\n"})
    index(world, folder)
    assert named(world, folder, "plainly_here") and not named(world, folder, "hidden_there")


def test_empty_repository(world):
    world.start()
    repo = made(world, commit=False)
    index(world, repo)
    assert code(world, repo, "anything") == []
    put(repo, "late.py", "def came_late():\n    pass\n")
    index(world, repo)
    assert named(world, repo, "came_late")


def test_without_commits(world):
    world.start()
    repo = made(world, {"a.py": "def uncommitted():\n    pass\n", ".gitignore": "b.py\n", "b.py": "def not_me():\n    pass\n"}, commit=False)
    index(world, repo)
    assert named(world, repo, "uncommitted") and not named(world, repo, "not_me")


def test_a_nested_repository_is_its_own(world):
    world.start()
    repo = made(world, {"a.py": "def outer_thing():\n    pass\n"})
    inner = made(world, {"b.py": "def inner_thing():\n    pass\n"}, "repo/inside")
    index(world, repo)
    assert named(world, repo, "outer_thing") and not named(world, repo, "inner_thing")
    index(world, inner)
    assert named(world, inner, "inner_thing") and not named(world, inner, "outer_thing")


def test_a_submodule_is_its_own(world):
    world.start()
    other = made(world, {"b.py": "def module_thing():\n    pass\n"}, "other")
    repo = made(world, {"a.py": "def outer_thing():\n    pass\n"})
    git(repo, "submodule", "--quiet", "add", str(other), "sub")
    index(world, repo)
    assert named(world, repo, "outer_thing") and not named(world, repo, "module_thing")
    index(world, repo / "sub")
    assert named(world, repo / "sub", "module_thing")


def test_worktrees_have_their_own_text(world):
    world.start()
    repo = library(world)
    index(world, repo)
    tree = world.top / "tree"
    git(repo, "worktree", "add", "-q", "-b", "side", str(tree))
    put(tree, "side.py", "def only_in_side():\n    pass\n")
    os.unlink(tree / "audio/mixer.py")
    index(world, tree)
    assert named(world, tree, "only_in_side") and not named(world, repo, "only_in_side")
    assert named(world, repo, "attenuate_channel_gain") and not named(world, tree, "attenuate_channel_gain")
    assert named(world, tree, "reconcile_ledger_entries")


def test_a_deleted_repository(world):
    pid = world.start()
    repo = library(world)
    index(world, repo)
    subprocess.run(["rm", "-r", str(repo)], check=True)
    for command in (["code", "--json", "-p", repo, "attenuate_channel_gain"], ["symbols", "--json", "-p", repo, "attenuate"],
                    ["map", "-p", repo], ["index", "status", repo]):
        done = world.hookd(*command, ok=False)
        assert done.returncode in (0, 1), command
        assert b"def attenuate" not in done.stdout
    prompt(world, repo)
    assert world.pid() == pid and alive(pid)


def test_made_again_under_the_same_path(world):
    world.start()
    repo = library(world)
    index(world, repo)
    subprocess.run(["rm", "-r", str(repo)], check=True)
    repo = made(world, {"n.py": "def quite_new():\n    pass\n"})
    index(world, repo)
    assert named(world, repo, "quite_new") and not named(world, repo, "attenuate_channel_gain")


@pytest.mark.parametrize("where", ["/", "home"])
def test_sessions_in_root_and_home_index_nothing(world, where):
    world.start()
    place = world.home if where == "home" else "/"
    put(world.home, "notes.py", "def in_the_home():\n    pass\n")
    begin(world, place)
    prompt(world, place, "where is in_the_home defined?")
    repo = library(world)  # something that is indexed, to know when it would have been
    begin(world, repo, session="s2")
    soon(world, repo, "attenuate_channel_gain")
    roots = [p.read_bytes() for p in world.dir.rglob("code/*/root")]
    assert not [r for r in roots if r.strip(b"\0\n ") == os.fsencode(str(place))], roots


def test_index_of_the_file_systems_root_is_refused_or_bounded(world):
    world.start()
    try:
        done = world.hookd("index", "--no-vectors", "/", ok=False, seconds=30)
    except subprocess.TimeoutExpired:
        raise AssertionError("hookd index / reads the whole machine")
    assert done.returncode in (1, 64) and done.stderr.count(b"\n") == 1, done


def test_index_of_the_home_directory(world):
    world.start()
    put(world.home, ".ssh/id_rsa", "def private_home_key():\n    pass\n")
    put(world.home, ".config/app/x.py", "def hidden_home_config():\n    pass\n")
    done = index(world, world.home, ok=False)
    assert done.returncode in (0, 1, 64)
    if done.returncode == 0:
        assert not has(world, world.home, "private_home_key") and not has(world, world.home, "hidden_home_config")


def test_many_files(world):
    world.start()
    repo = made(world, {f"d{i % 40}/f{i}.py": f"def numbered_{i}():\n    return {i}\n" for i in range(5000)}, commit=False)
    index(world, repo)
    assert 5000 in list(numbers(world.json("index", "status", "--json", repo)))
    for i in (0, 2500, 4999):
        assert len(named(world, repo, f"numbered_{i}")) == 1


# -- names --------------------------------------------------------------------------------------------

NAMES = ["with space.py", "new\nline.py", "quo\"te's.py", b"bad\xff\xfeutf8.py", "-dash.py", "back\\slash.py", "émoji-🦀.py",
         "tab\there.py", "esc\x1b[31m.py", "star*?[x].py", "n" * 250 + ".py", "deep/" * 60 + "x.py", "**bold** `tick`.py"]


def test_odd_names_are_names_like_others(world):
    pid = world.start()
    repo = made(world, {n: f"def odd_name_{i}():\n    return {i}\n" for i, n in enumerate(NAMES)})
    index(world, repo)
    lost = [n for i, n in enumerate(NAMES) if not named(world, repo, f"odd_name_{i}")]
    assert not lost
    assert world.pid() == pid


def test_odd_names_do_not_break_the_output(world):
    world.start()
    repo = made(world, {n: f"def odd_name_{i}():\n    return {i}\n" for i, n in enumerate(NAMES)})
    index(world, repo)
    for command in (["code", "-n", 50, "odd_name"], ["symbols", "-n", 50, "odd_name"], ["map", "--tokens", 5000]):
        out = world.hookd(*command, "-p", repo).stdout
        assert b"\x1b" not in out and b"new\nline.py" not in out, command
        world.json(*command, "--json", "-p", repo)


def test_odd_names_follow_hooks_and_prompts(world):
    pid = world.start()
    repo = library(world)
    index(world, repo)
    for i, n in enumerate(NAMES):
        path = put(repo, n, f"def late_odd_{i}(bounce):\n    return bounce + {i}\n")
        event, what = written_event("claude", repo, path.decode(errors="surrogateescape"), "x")
        world.hookc(event, json.dumps(what).encode())
    for i in range(len(NAMES)):
        wait_for(lambda: named(world, repo, f"late_odd_{i}"), SOON, f"late_odd_{i}: {NAMES[i]!r}")
    for i in range(len(NAMES)):
        text = prompt(world, repo, f"what does late_odd_{i} do with bounce?", session=f"p{i}")
        assert "\x1b" not in text and "new\nline.py" not in text
    assert world.pid() == pid


# -- what is left out -----------------------------------------------------------------------------------

def test_ignored_files(world):
    world.start()
    f = "def {}():\n    pass\n"
    repo = made(world, {".gitignore": "*.log.py\n/build/\nsub/**/x.py\n!keep.log.py\n", "a.log.py": f.format("ign_a"),
                        "keep.log.py": f.format("kept_b"), "build/c.py": f.format("ign_c"), "in/build/d.py": f.format("kept_d"),
                        "sub/y/x.py": f.format("ign_e"), "sub/y/z.py": f.format("kept_f"),
                        "own/.gitignore": "*\n!me.py\n!.gitignore\n", "own/me.py": f.format("kept_g"), "own/you.py": f.format("ign_h"),
                        "tr\\ail .py": f.format("kept_i")}, commit=False)
    index(world, repo)
    for name in "kept_b kept_d kept_f kept_g kept_i".split():
        assert named(world, repo, name), name
    for name in "ign_a ign_c ign_e ign_h".split():
        assert not named(world, repo, name), name


def test_other_places_of_ignore_rules(world):
    put(world.home, ".config/git/ignore", "user_rule.py\n")
    world.start()
    repo = made(world, {"user_rule.py": "def by_user():\n    pass\n", "info_rule.py": "def by_info():\n    pass\n",
                        "fine.py": "def by_nobody():\n    pass\n"}, commit=False)
    put(repo, ".git/info/exclude", "info_rule.py\n")
    index(world, repo)
    assert named(world, repo, "by_nobody") and not named(world, repo, "by_user") and not named(world, repo, "by_info")


def test_tracked_although_ignored(world):
    world.start()
    repo = made(world, {"t.py": "def tracked_first():\n    pass\n"})
    put(repo, ".gitignore", "*.py\n")
    put(repo, "u.py", "def untracked_then():\n    pass\n")
    index(world, repo)
    assert named(world, repo, "tracked_first") and not named(world, repo, "untracked_then")


def test_ignore_rules_that_change(world):
    world.start()
    repo = made(world, {"a.py": "def first_seen():\n    pass\n", "b.py": "def always_seen():\n    pass\n", ".gitignore": "c.py\n",
                        "c.py": "def later_seen():\n    pass\n"}, commit=False)
    begin(world, repo)
    wait_for(lambda: named(world, repo, "first_seen"), SOON, "a.py")
    put(repo, ".gitignore", "a.py\n")
    wait_for(lambda: not named(world, repo, "first_seen") and named(world, repo, "later_seen"), SOON, "the new rules")
    assert named(world, repo, "always_seen")


def test_own_exclude_rules_win(world):
    configure(world, {"index": {"exclude": ["legacy/", "*.old.py"]}})
    world.start()
    repo = made(world, {"legacy/a.py": "def excl_a():\n    pass\n", "b.old.py": "def excl_b():\n    pass\n",
                        "c.py": "def incl_c():\n    pass\n", ".gitignore": "!legacy/\n!*.old.py\n"})
    index(world, repo)
    assert named(world, repo, "incl_c") and not named(world, repo, "excl_a") and not named(world, repo, "excl_b")


LEFT_OUT = {
    "generated": ("gen_pb2.py", "# Code generated by protoc. DO NOT EDIT.\n"),
    "generated2": ("api.go", "// Code generated by mockgen. DO NOT EDIT.\n\npackage api\n"),
    "node_modules": ("node_modules/x/index.js", ""),
    "vendor": ("vendor/x/x.go", "package x\n"),
    "minified": ("app.min.js", "var a=1;" * 2000 + "\n"),
    "large": ("large.py", "x = 1  # padding\n" * 80000),
    "binary": ("blob.py", "\0\1\2\n"),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_left_out(world, kind):
    world.start()
    name, head = LEFT_OUT[kind]
    text = {"py": "def quirky_left_out():\n    return 1\n", "js": "function quirky_left_out() { return 1 }\n",
            "go": "func quirky_left_out() int { return 1 }\n"}[name.rsplit(".")[-1]]
    repo = made(world, {name: head + text, "ok.py": "def stays_in():\n    pass\n"})
    index(world, repo)
    assert named(world, repo, "stays_in")
    assert not named(world, repo, "quirky_left_out") and not has(world, repo, "quirky_left_out")


@pytest.mark.parametrize("name", [".env", ".env.production", "id_rsa", "id_ed25519", "server.pem", "tls.key", ".netrc",
                                  ".git-credentials", ".aws/credentials", "deep/.env.local"])
def test_files_that_hold_secrets(world, name):
    world.start()
    repo = made(world, {name: "QUIRKYNAME=quirkyvalue12345\nquirky_password = hunter2hunter2\n", "ok.py": "def stays_in():\n    pass\n"})
    index(world, repo)
    assert named(world, repo, "stays_in")
    for word in ("quirkyvalue12345", "QUIRKYNAME", "quirky_password"):
        assert not has(world, repo, word), word
    assert not world.contains(b"quirkyvalue12345")
    begin(world, repo)
    assert "quirkyvalue12345" not in prompt(world, repo, "what is QUIRKYNAME quirkyvalue12345 quirky_password?")




def test_tokens_inside_source_are_removed(world):
    world.start()
    repo = library(world, {"billing/pay.py": "def charge_customer_invoice(invoice):\n    \"\"\"Charges the invoice of a customer.\"\"\"\n" +
                           "".join(f"    token_{i} = \"{t}\"\n" for i, t in enumerate(TOKENS)) + "    return post(invoice, token_0)\n"})
    index(world, repo, vectors=True)
    begin(world, repo)
    outs = [world.hookd("code", "--lines", 50, "charge_customer_invoice", "-p", repo).stdout.decode(),
            world.hookd("code", "--json", "charge_customer_invoice token_0", "-p", repo).stdout.decode(),
            world.hookd("search", "--in", "code", "--json", "charge_customer_invoice", cwd=repo).stdout.decode(),
            world.hookd("preview", "--prompt", "charge_customer_invoice charges the invoice of a customer twice", "-p", repo).stdout.decode(),
            prompt(world, repo, "charge_customer_invoice charges the invoice of a customer twice"),
            world.hookd("map", "-p", repo).stdout.decode()]
    assert "charge_customer_invoice" in outs[0]
    for t in TOKENS:
        assert not [o for o in outs if t in o], t
        assert not world.contains(t.encode()) and not world.contains(t.lower().encode()), t


def test_links_and_devices(world):
    world.start()
    outside = plain(world, {"o.py": "def out_of_tree():\n    pass\n"}, "outside")
    repo = made(world, {"a/x.py": "def in_tree():\n    pass\n"}, commit=False)
    os.symlink("..", repo / "a/loop")
    os.symlink("self", repo / "self")
    os.symlink(outside, repo / "away")
    os.symlink(outside / "o.py", repo / "away.py")
    os.symlink("/dev/zero", repo / "zero.py")
    os.symlink("x.py", repo / "a/alias.py")
    os.mkfifo(repo / "pipe.py")
    s = socket.socket(socket.AF_UNIX)
    s.bind(str(repo / "sock.py"))
    index(world, repo)
    assert len(named(world, repo, "in_tree")) == 1 and not named(world, repo, "out_of_tree")
    begin(world, repo)
    os.symlink(outside / "o.py", repo / "later.py")
    put(repo, "a/marker.py", "def marker_now():\n    pass\n")
    soon(world, repo, "marker_now")
    assert not named(world, repo, "out_of_tree")


def test_a_file_that_becomes_a_link_out_of_the_tree(world):
    world.start()
    secret = plain(world, {"o.py": body("reconcile_ledger_entries", TOPICS["billing/ledger.py"][1]).replace("limit=10", "limit=424242")}, "outside")
    repo = library(world)
    index(world, repo, vectors=True)
    begin(world, repo)
    path = repo / "billing/ledger.py"
    path.unlink()
    os.symlink(secret / "o.py", path)
    assert "424242" not in prompt(world, repo)
    put(repo, "marker.py", "def marker_now():\n    pass\n")
    soon(world, repo, "marker_now")
    assert "424242" not in prompt(world, repo, session="s2")
    assert "424242" not in world.hookd("code", "reconcile_ledger_entries", "-p", repo).stdout.decode()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(world):
    world.start()
    repo = made(world, {"a.py": "def readable():\n    pass\n", "b.py": "def unreadable():\n    pass\n", "d/c.py": "def below():\n    pass\n"})
    os.chmod(repo / "b.py", 0)
    os.chmod(repo / "d", 0)
    index(world, repo)
    os.chmod(repo / "d", 0o700)
    assert named(world, repo, "readable") and not named(world, repo, "unreadable")


# -- following ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot", "qwen"])
def test_written_by_an_agent(world, agent):
    world.start()
    repo = library(world)
    event, what = start_event(agent, repo)
    world.hookc(event, what, agent)
    soon(world, repo, "attenuate_channel_gain")
    text = "def freshly_written():\n    return 'fresh'\n"
    path = put(repo, "new/fresh.py", text).decode()
    event, what = written_event(agent, repo, path, text)
    assert world.hookc(event, what, agent).returncode == 0
    soon(world, repo, "freshly_written", "new/fresh.py")
    text = "def changed_again():\n    return 'again'\n"
    put(repo, "new/fresh.py", text)
    event, what = written_event(agent, repo, path, text)
    world.hookc(event, what, agent)
    soon(world, repo, "changed_again")
    gone(world, repo, "freshly_written")


def test_written_by_nobody_known(world):
    world.start()
    repo = library(world)
    begin(world, repo)
    soon(world, repo, "attenuate_channel_gain")
    put(repo, "a/b/c/d/new.py", "def plain_write():\n    pass\n")
    soon(world, repo, "plain_write")
    os.rename(repo / "a/b/c/d/new.py", repo / "moved.py")
    soon(world, repo, "plain_write", "moved.py")
    wait_for(lambda: len(has(world, repo, "plain_write")) == 1, SOON, "one place only")
    os.rename(repo / "audio", repo / "sound")
    soon(world, repo, "attenuate_channel_gain", "sound/mixer.py")
    wait_for(lambda: len(named(world, repo, "attenuate_channel_gain")) == 1, SOON, "one place only")
    (repo / "moved.py").unlink()
    gone(world, repo, "plain_write")


def test_an_event_about_a_file_that_is_not_there(world):
    pid = world.start()
    repo = library(world)
    begin(world, repo)
    soon(world, repo, "attenuate_channel_gain")
    for path in (repo / "no.py", "/etc/passwd", "/dev/zero", str(repo) + "/../x.py", "relative.py", "", str(repo), "x" * 9000, "/proc/self/mem"):
        event, what = written_event("claude", repo, path, "x")
        assert world.hookc(event, what).returncode == 0
    put(repo, "marker.py", "def marker_now():\n    pass\n")
    soon(world, repo, "marker_now")
    assert not has(world, repo, "root:x:0")
    assert world.pid() == pid


def test_an_event_about_an_ignored_or_secret_file(world):
    world.start()
    repo = library(world, {".gitignore": "ignored.py\n"})
    begin(world, repo)
    soon(world, repo, "attenuate_channel_gain")
    for name in ("ignored.py", ".env", "node_modules/x.js", ".git/hook.py"):
        path = put(repo, name, "quirkyword = 1\n").decode()
        event, what = written_event("claude", repo, path, "quirkyword = 1\n")
        world.hookc(event, what)
    put(repo, "marker.py", "def marker_now():\n    pass\n")
    soon(world, repo, "marker_now")
    assert not has(world, repo, "quirkyword")


def test_checkout_of_another_branch(world):
    world.start()
    repo = library(world)
    git(repo, "checkout", "-q", "-b", "side")
    put(repo, "side.py", "def side_only():\n    pass\n")
    put(repo, "billing/ledger.py", "def ledger_of_side():\n    pass\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "side")
    begin(world, repo)
    soon(world, repo, "side_only")
    git(repo, "checkout", "-q", "main")
    gone(world, repo, "side_only")
    soon(world, repo, "reconcile_ledger_entries")
    git(repo, "checkout", "-q", "side")
    soon(world, repo, "ledger_of_side")
    gone(world, repo, "reconcile_ledger_entries")


def test_files_that_change_while_they_are_indexed(world):
    pid = world.start()
    repo = made(world, {f"f{i}.py": f"def start_{i}():\n    pass\n" for i in range(800)}, commit=False)
    stop = threading.Event()

    def churn():
        n = 0
        while not stop.is_set():
            n += 1
            put(repo, f"f{n % 800}.py", f"def churn_{n}():\n    pass\n" * (1 + n % 50))
            if n % 7 == 0:
                os.unlink(repo / f"f{n % 800}.py")
            time.sleep(0.001)

    t = threading.Thread(target=churn)
    t.start()
    try:
        begin(world, repo)
        for _ in range(3):
            index(world, repo)
    finally:
        stop.set()
        t.join()
    for i in range(800):
        put(repo, f"f{i}.py", f"def settled_{i}():\n    pass\n")
    for i in (0, 399, 799):
        wait_for(lambda: len(named(world, repo, f"settled_{i}")) == 1, SOON, f"settled_{i}")
    gone(world, repo, "churn_7")
    assert world.pid() == pid


def test_a_burst_of_files(world):
    world.start()
    repo = library(world)
    begin(world, repo)
    soon(world, repo, "attenuate_channel_gain")
    for i in range(3000):
        put(repo, f"burst/d{i % 300}/f{i}.py", f"def burst_{i}():\n    return {i}\n")
    for i in (0, 1500, 2999):
        wait_for(lambda: len(named(world, repo, f"burst_{i}")) == 1, SOON, f"burst_{i}")
    subprocess.run(["rm", "-r", str(repo / "burst")], check=True)
    for i in (0, 1500, 2999):
        wait_for(lambda: not named(world, repo, f"burst_{i}"), SOON, f"burst_{i} to go")


def test_indexer_killed(world):
    pid = world.start()
    repo = made(world, {f"d{i % 20}/f{i}.py": f"def killed_{i}():\n    return {i}\n" for i in range(2000)}, commit=False)
    begin(world, repo)
    for wait in (0, 0.05):
        found = wait_for(lambda: indexers(world), SOON, "an indexer")
        time.sleep(wait)
        for p in found:
            end(p)
        wait_for(lambda: not [p for p in found if alive(p)], SOON, "its end")
    put(repo, "late.py", "def late_but_found():\n    pass\n")
    soon(world, repo, "late_but_found")
    for i in (0, 1000, 1999):
        wait_for(lambda: len(named(world, repo, f"killed_{i}")) == 1, SOON, f"killed_{i}")
    assert world.pid() == pid


def test_idle_indexer_killed_then_a_change(world):
    world.start()
    repo = library(world)
    begin(world, repo)
    soon(world, repo, "attenuate_channel_gain")
    for p in wait_for(lambda: indexers(world), SOON, "an indexer"):
        end(p)
    path = put(repo, "after.py", "def after_the_kill():\n    pass\n").decode()
    event, what = written_event("claude", repo, path, "x")
    world.hookc(event, what)
    soon(world, repo, "after_the_kill")
    (repo / "after.py").unlink()
    gone(world, repo, "after_the_kill")


def test_daemon_killed_while_indexing(world):
    world.start()
    repo = made(world, {f"d{i % 20}/f{i}.py": f"def daemon_{i}():\n    return {i}\n" for i in range(2000)}, commit=False)
    for wait in (0.02, 0.3):
        begin(world, repo)
        time.sleep(wait)
        world.kill()
        put(repo, "d0/f0.py", f"def daemon_0():\n    return {wait}\n")
        world.start()
    os.unlink(repo / "d1/f1.py")
    begin(world, repo)
    for i in (0, 1000, 1999):
        wait_for(lambda: len(named(world, repo, f"daemon_{i}")) == 1, SOON, f"daemon_{i}")
    wait_for(lambda: not named(world, repo, "daemon_1") or all("daemon_1" not in list(strings(r)) for r in named(world, repo, "daemon_1")),
             SOON, "the deleted file to go")


def test_changes_while_no_daemon_lives(world):
    world.start()
    repo = library(world)
    index(world, repo)
    world.stop()
    put(repo, "audio/mixer.py", "def while_away():\n    pass\n")
    (repo / "chess/engine.py").unlink()
    world.start()
    begin(world, repo)
    soon(world, repo, "while_away")
    gone(world, repo, "attenuate_channel_gain")
    gone(world, repo, "evaluate_pawn_structure")


def test_the_foreground_index_killed(world):
    world.start()
    repo = made(world, {f"d{i % 20}/f{i}.py": f"def fore_{i}():\n    return {i}\n" for i in range(2000)}, commit=False)
    for wait in (0.01, 0.2):
        p = subprocess.Popen([str(world.build / "hookd"), "index", "--no-vectors", str(repo)], env=world.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        world.started.append(p)
        time.sleep(wait)
        p.kill()
        p.wait()
    index(world, repo)
    for i in (0, 1000, 1999):
        assert len(named(world, repo, f"fore_{i}")) == 1


def test_two_indexes_at_once(world):
    world.start()
    repo = made(world, {f"f{i}.py": f"def both_{i}():\n    return {i}\n" for i in range(500)}, commit=False)
    begin(world, repo)
    ps = [subprocess.Popen([str(world.build / "hookd"), "index", "--no-vectors", str(repo)], env=world.env,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(3)]
    world.started += ps
    for p in ps:
        err = p.communicate(timeout=120)[1]
        assert p.returncode == 0, err
    assert len(named(world, repo, "both_499")) == 1 and len(has(world, repo, "both_250")) == 1


@pytest.mark.parametrize("how", ["garbage", "empty", "deleted", "half"])
def test_a_damaged_index_is_made_again(world, how):
    world.start()
    repo = library(world)
    index(world, repo)
    begin(world, repo)
    world.stop()
    places = [p.parent for p in world.dir.rglob("code/*/root")]
    assert places
    for place in places:
        for f in [p for p in place.iterdir() if p.is_file() and p.name != "lock"]:
            if how == "deleted":
                f.unlink()
            else:
                data = f.read_bytes()
                f.write_bytes({"garbage": os.urandom(len(data)), "empty": b"", "half": data[:len(data) // 2]}[how])
    pid = world.start()
    world.hookd("code", "x", "-p", repo, ok=False)
    begin(world, repo)
    index(world, repo)
    soon(world, repo, "attenuate_channel_gain")
    assert len(named(world, repo, "attenuate_channel_gain")) == 1
    assert world.pid() == pid and alive(pid)
