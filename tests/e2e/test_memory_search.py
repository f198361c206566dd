"""Looking things up: unspaced scripts, memories among the hits, the three layers, related sessions, tools with schemas, and
the switch of context."""
import json
import time

import pytest

from test_learning import Session, memories
from test_mcp import initialize, request, talk
from world import wait_for

GOTCHA = "Database connections leak under load: always use the context manager"
ASKED = "the database connections leak when there is load, why?"


@pytest.fixture
def project(world):
    path = world.top / "project"
    (path / ".git").mkdir(parents=True)
    return path


def remember(world, text, *args, **kw):
    return json.loads(world.hookd("remember", text, "--json", *args, **kw).stdout)["id"]


def search(world, *args):
    return json.loads(world.hookd("search", "--json", *args).stdout)["hits"]


# -- unspaced scripts ----------------------------------------------------------------------------

TEXTS = ["データベースの接続は必ず閉じること。APIキーは渡さない", "缓存在午夜清除，数据库连接要关闭", "ห้ามลบฐานข้อมูลก่อนสำรองข้อมูล",
         "데이터베이스연결을닫아야한다", "ဒေတာဘေ့စ်ကိုပိတ်ပါ", "close the database connection before midnight"]


@pytest.mark.parametrize("query,found", [
    ("接続", [0]), ("閉じる", [0]), ("APIキー", [0]), ("キー", [0]), ("缓存", [1]), ("数据库", [1]), ("午夜 连接", [1]),
    ("ข้อมูล", [2]), ("สำรองข้อมูล", [2]), ("연결", [3]), ("ပိတ်ပါ", [4]), ("database", [5]), ("接続 database", [0, 5]),
    ("続接", []), ("库数", []), ("ลบสำรอง", [])])
def test_a_part_of_unspaced_text_is_found(world, project, query, found):
    for n, text in enumerate(TEXTS):
        s = Session(world, project, f"s{n}")
        s.prompt(text)
        s.stop("Done.")
    hits = search(world, query, "--in", "prompts")
    assert sorted(int(h["session"][1:]) for h in hits) == found
    assert all(h["snippet"] == TEXTS[int(h["session"][1:])] for h in hits)


def test_unspaced_answers_and_commands_are_found_and_forgotten(world, project):
    s = Session(world, project)
    s.prompt("go")
    s.shell("echo 接続テスト完了")
    s.stop("すべての接続を閉じました")
    assert {h["kind"] for h in search(world, "接続")} == {"answer", "command"}
    world.hookd("purge", "--session", "s1", "--yes")
    assert search(world, "接続") == []


# -- memories among the hits ---------------------------------------------------------------------

def test_memories_are_searched_too(world, project):
    name = remember(world, GOTCHA, cwd=project)
    remember(world, "The office coffee machine takes oat milk only", "-g")
    s = Session(world, project)
    s.prompt("why do the connections leak?")
    s.stop()
    hit, = search(world, "connections leak", "--in", "memory")
    assert (hit["id"], hit["kind"], hit["project"], hit["snippet"]) == (name, "memory", "project", GOTCHA)
    assert hit["tokens"] == (len(GOTCHA) + 3) // 4 and hit["confidence"] in ("high", "medium", "low")
    assert {h["kind"] for h in search(world, "connections leak")} == {"memory", "prompt"}
    assert {h["kind"] for h in search(world, "connections leak", "--in", "sessions")} == {"prompt"}
    assert [h["kind"] for h in search(world, "oat milk", "--project", str(project))] == ["memory"]
    assert search(world, "oat milk", "--until", "2020-01-01") == []
    assert search(world, "something else entirely", "--in", "memory") == []
    assert world.hookd("search", "x", "--in", "nonsense", ok=False).returncode == 1


# -- three layers --------------------------------------------------------------------------------

def test_from_a_row_to_its_surroundings_to_all_of_it(world, project):
    s = Session(world, project)
    for n in range(6):
        s.prompt(f"step {n} of the gearbox rebuild " + "with many words " * 30)
        s.shell(f"make gearbox-{n}")
        s.stop(f"finished step {n}")
    rows = search(world, "gearbox", "--in", "prompts,commands")
    row = next(r for r in rows if r["kind"] == "prompt" and "step 3" in r["snippet"])
    assert row["tokens"] > 100
    around = json.loads(world.hookd("timeline", row["id"], "-n", "4", "--json").stdout)["timeline"]
    assert [i["text"][:6] for i in around] == ["step 2", "step 3", "step 4", "step 5"]
    command = next(r["id"] for r in rows if r["kind"] == "command")
    name = remember(world, GOTCHA, cwd=project)
    items = json.loads(world.hookd("get", row["id"], command, name, "--json").stdout)["items"]
    assert [i["kind"] for i in items] == ["prompt", "command", "memory"]
    assert items[0]["text"].startswith("step 3") and items[0]["answer"] == "finished step 3"
    assert items[1]["text"].startswith("make gearbox-") and items[2]["text"] == GOTCHA
    assert "→ " in world.hookd("timeline", row["id"]).stdout.decode()
    assert "finished step 3" in world.hookd("get", row["id"]).stdout.decode()


@pytest.mark.parametrize("args", [["get", "prompt:1"], ["get", "nothing"], ["timeline", "plan:7"], ["timeline", "nothing"],
                                  ["get", "prompt:"], ["get", ":1"]])
def test_what_is_not_there_is_an_error(world, args):
    world.start()
    done = world.hookd(*args, ok=False)
    assert done.returncode == 1 and b"there is no" in done.stderr


# -- related sessions ----------------------------------------------------------------------------

def work(world, project, name, prompt, file, agent="claude"):
    s = Session(world, project, name, agent)
    s.prompt(prompt)
    s.tool("Edit", {"file_path": str(project / file), "old_string": "a", "new_string": "b"}, {"filePath": "x"})
    s.stop("Done.")
    s.send("SessionEnd", reason="exit")
    time.sleep(0.01)


def test_a_session_that_continues_another_is_suggested_and_accepted(world, project):
    work(world, project, "first", "add retries to the payment gateway client", "src/gateway.py")
    work(world, project, "other", "write the release notes of spring", "CHANGES.md")
    work(world, project, "second", "the retries of the payment gateway client need a limit", "src/gateway.py", "codex")
    got = json.loads(world.hookd("related", "second", "--json").stdout)
    assert got["related"][0]["session"] == "first" and got["suggested_parent"] == "first" and "parent" not in got
    assert got["related"][0]["shared_files"] == 1
    assert "hookd related second --accept" in world.hookd("related", "second").stdout.decode()
    world.hookd("related", "second", "--accept")
    world.hookd("db", "rebuild")

    def parent():
        return {s["id"]: (s.get("parent"), s.get("parent_reason")) for s in world.rpc("sessions")["sessions"]}["second"]

    assert parent() == ("first", "accepted")
    assert [c["id"] for c in world.rpc("show", session="first")["children"]] == ["second"]
    got = json.loads(world.hookd("related", "second", "--json").stdout)
    assert got["parent"] == "first" and "suggested_parent" not in got
    for child, of in (("first", "second"), ("first", "first")):
        done = world.hookd("related", child, "--parent", of, ok=False)
        assert done.returncode == 1 and b"cannot continue itself" in done.stderr
    world.hookd("related", "second", "--reject")
    assert parent() == (None, None)
    assert world.hookd("related", "first", "--accept", ok=False).returncode == 1


def test_a_purged_session_is_nobodys_parent(world, project):
    work(world, project, "first", "add retries to the payment gateway client", "src/gateway.py")
    work(world, project, "second", "the retries of the payment gateway client need a limit", "src/gateway.py")
    world.hookd("related", "second", "--parent", "first")
    world.hookd("context", "off", "--session", "first")
    world.hookd("purge", "--session", "first", "--yes")
    assert "parent" not in json.loads(world.hookd("related", "second", "--json").stdout)
    assert json.loads(world.hookd("context", "--json").stdout)["off"] == []


# -- tools ---------------------------------------------------------------------------------------

def conforms(value, schema, path="$"):
    """As much of JSON Schema as the tools use."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    kind = schema.get("type")
    assert kind is None or (isinstance(value, kinds[kind]) and (kind not in ("integer", "number") or not isinstance(value, bool))), \
        (path, kind, value)
    if kind == "object":
        for name in schema.get("required", []):
            assert name in value, (path, name)
        for name, member in value.items():
            known = schema.get("properties", {})
            assert name in known or schema.get("additionalProperties", True), (path, name)
            conforms(member, known.get(name, {}), f"{path}.{name}")
    if kind == "array":
        for n, item in enumerate(value):
            conforms(item, schema["items"], f"{path}[{n}]")


def test_results_of_tools_are_as_their_schemas_say(world, project):
    s = Session(world, project)
    s.prompt("fix the gearbox of the payment client")
    s.shell("make gearbox")
    s.stop("The root cause was a stale gearbox cache.")
    old = remember(world, "The gearbox test of the broker needs a running instance on port 9000", "--type", "pattern", cwd=project,
                   )
    tools = {t["name"]: t for t in talk(world, initialize(), request(2, "tools/list"))[1]["result"]["tools"]}

    def call(name, **arguments):
        answer = talk(world, initialize(), request(2, "tools/call", name=name, arguments=arguments))[1]["result"]
        assert "isError" not in answer, answer
        conforms(answer["structuredContent"], tools[name]["outputSchema"], name)
        return answer["structuredContent"]

    for name in ("search", "timeline", "get", "context", "remember", "forget", "memories", "memory", "recall", "related"):
        assert tools[name]["outputSchema"]["properties"], name
    assert call("remember", text="The gearbox test of the pump needs a running instance", project=str(project))["status"] == "active"
    assert call("remember", text="The gearbox test of the pump needs a running instance", project=str(project))["known"]
    ids = [h["id"] for h in call("search", query="gearbox")["hits"]]
    assert len(ids) >= 4
    assert call("timeline", id=ids[0])["timeline"]
    assert len(call("get", ids=ids)["items"]) == len(ids)
    # What takes too long on a busy machine is left out. With vectors these two are told apart, but not surely.
    wait_for(lambda: "gearbox" in call("context", task="run the gearbox test of the broker", project=str(project))["text"], what="the memory")
    assert call("memory", id=old)["concepts"] == ["pattern"]
    assert call("memories")["memories"]
    assert call("recall", queries=[{"id": 1, "query": "gearbox", "project": str(project)}, {"query": "x", "project": "nowhere"}])
    assert call("related", session="s1")["related"] == []
    call("forget", id=old)
    for name, reads, idempotent in (("search", True, True), ("timeline", True, True), ("get", True, True), ("context", True, True),
                                    ("remember", False, True), ("forget", False, True)):
        notes = tools[name]["annotations"]
        assert (notes["readOnlyHint"], notes["idempotentHint"], notes["destructiveHint"]) == (reads, idempotent, False), name


# -- the switch ----------------------------------------------------------------------------------

def test_context_can_be_switched_off_for_a_project(world, project):
    remember(world, GOTCHA, cwd=project)
    assert "off" in world.hookd("context", "off", cwd=project).stdout.decode()
    assert [o["what"] for o in json.loads(world.hookd("context", "--json").stdout)["off"]] == ["project"]
    assert GOTCHA not in Session(world, project, "a").prompt(ASKED)
    assert Session(world, project, "b").send("SessionStart", source="compact") == ""
    world.hookd("restart")
    assert GOTCHA not in Session(world, project, "c").prompt(ASKED)
    assert GOTCHA in world.rpc("context", task=ASKED, project=str(project))["text"]  # asked for is asked for
    world.hookd("context", "on", cwd=project)
    assert GOTCHA in Session(world, project, "d").send("SessionStart", source="compact")
    assert world.hookd("context", "off", "-p", "no-such-project", ok=False).returncode == 1


def test_context_can_be_switched_off_for_a_session(world, project):
    remember(world, GOTCHA, cwd=project)
    for name in ("a", "b"):
        Session(world, project, name)
    world.hookd("context", "off", "--session", "a")
    loud, quiet = ({"session_id": n, "cwd": str(project), "hook_event_name": "SessionStart", "source": "compact"} for n in "ba")
    assert GOTCHA.encode() in world.hookc("SessionStart", loud).stdout
    assert GOTCHA.encode() not in world.hookc("SessionStart", quiet).stdout
    assert f"off for the session a" in world.hookd("context").stdout.decode()
