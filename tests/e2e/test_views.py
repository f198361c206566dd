"""What a person sees of captured work: sessions, show, plans, stats, export, projects."""
import html.parser
import json
import os
import re
import signal
import sqlite3
import subprocess
import time

import pytest

from world import World, payload

HOSTILE = "\x1b[31mred\x1b[0m <script>alert(1)</script> ![x](http://e.example/x.png) \u202egnp.exe\x9b2J"


class Agent:
    """Sends what Claude Code sends."""

    def __init__(self, world, session, cwd, agent="claude"):
        self.world, self.session, self.cwd, self.agent, self.prompt_id = world, session, str(cwd), agent, None

    def say(self, event, **more):
        if self.prompt_id and event not in ("SessionStart", "SessionEnd"):
            more.setdefault("prompt_id", self.prompt_id)
        done = self.world.hookc(event, {**payload(event, self.session), "cwd": self.cwd, **more}, agent=self.agent)
        assert done.returncode == 0, done

    def prompt(self, id, text):
        self.prompt_id = id
        self.say("UserPromptSubmit", prompt=text)

    def tool(self, use, name, response=None, error=None, denied=None, agent_id=None, **input):
        more = {"tool_name": name, "tool_use_id": use, "tool_input": input}
        if agent_id:
            more |= {"agent_id": agent_id, "agent_type": "general-purpose"}
        self.say("PreToolUse", **more)
        if denied:
            self.say("PermissionDenied", reason=denied, **more)
        elif error:
            self.say("PostToolUseFailure", error=error, is_interrupt=False, duration_ms=16, **more)
        else:
            self.say("PostToolUse", tool_response=response or {"stdout": "fine"}, duration_ms=7, **more)


PLAN = "# Make it fast\n\n1. measure\n2. <b>change</b>\n"


def tell(world, root):
    """A session with everything in it, and the one it was cleared into."""
    a = Agent(world, "11111111-aaaa-4000-8000-000000000001", root)
    a.say("SessionStart", source="startup", model="opus", transcript_path="/t/1.jsonl")
    a.prompt("p1", "Fix the parser\nand the tests")
    a.tool("u1", "Read", file_path=f"{root}/parse.c", response={"file": {"content": "x" * 300}})
    a.tool("u2", "Edit", file_path=f"{root}/parse.c", old_string="a", new_string="b")
    a.tool("u3", "Write", file_path=f"{root}/new.c", content="int x;", response={"type": "create"})
    a.tool("u4", "Bash", command="make test", error="Exit code 2\nparse.c:1: error")
    a.tool("u5", "Write", file_path=f"{root}/secret.c", content="int y;", denied="not there")
    a.say("Stop", last_assistant_message="Parser fixed.\nTests too.", stop_hook_active=False)
    a.prompt("p2", "Look at it with a helper")
    a.tool("u6", "Agent", description="look", prompt="look at it", subagent_type="general-purpose")
    a.say("SubagentStart", agent_id="ag1", agent_type="general-purpose")
    a.tool("u7", "Grep", agent_id="ag1", pattern="TODO")
    a.say("SubagentStop", agent_id="ag1", agent_type="general-purpose", last_assistant_message="nothing left to do",
          stop_hook_active=False)
    a.say("PreCompact", trigger="auto")
    a.say("SessionStart", source="compact", model="opus")
    # The end of this call finds the daemon busy and comes through the spool.
    more = {"tool_name": "Bash", "tool_use_id": "u8", "tool_input": {"command": "make bench"}}
    a.say("PreToolUse", **more)
    os.kill(world.pid(), signal.SIGSTOP)
    a.say("PostToolUse", tool_response={"stdout": "fast"}, duration_ms=1500, **more)
    os.kill(world.pid(), signal.SIGCONT)
    a.say("Stop", last_assistant_message="All seen.", stop_hook_active=False)
    a.prompt("p3", "<private>the colour is mauve</private>")
    a.say("Stop", last_assistant_message="I will not tell about mauve.", stop_hook_active=False)
    a.prompt("p4", "Plan the rest")
    a.tool("u9", "Write", file_path=f"{world.home}/.claude/plans/quick-fox.md", content="# Draft\n", response={"type": "create"})
    a.tool("u10", "Write", file_path=f"{world.home}/.claude/plans/quick-fox.md", content=PLAN, response={"type": "update"})
    a.say("Stop", last_assistant_message="Planned.", stop_hook_active=False)
    a.say("SessionEnd", reason="clear")
    b = Agent(world, "11111111-aaaa-4000-8000-000000000002", root)
    b.say("SessionStart", source="clear", model="opus")
    b.prompt("q1", "Go on")
    b.tool("v1", "Bash", command="ls")
    b.say("Stop", last_assistant_message="Gone on.", stop_hook_active=False)
    return a, b


@pytest.fixture(scope="module")
def told():
    world = World()
    world.start()
    root = world.top / "proj"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    a, b = tell(world, root)
    world.root, world.a, world.b = root, a, b
    # Until everything has been folded, late things too.
    until = time.monotonic() + 10
    while world.json("show", "--json", a.session)["batches"][1]["activities"][-1]["state"] != "done" and time.monotonic() < until:
        time.sleep(0.05)
    yield world
    world.close()


# -- sessions ------------------------------------------------------------------------------------


def ids(result):
    return [s["id"][-1] for s in result["sessions"]]


def test_sessions_as_json(told):
    b, a = told.json("sessions", "--json")["sessions"]
    assert (a["agent"], a["id"], a["cwd"], a["status"], a["end_reason"]) == ("claude", told.a.session, str(told.root), "completed", "clear")
    assert (a["title"], a["model"], a["prompts"], a["tools"]) == ("Fix the parser\nand the tests", "opus", 4, 10)
    assert a["project"] == {"key": a["project"]["key"], "name": "proj", "path": str(told.root)}
    assert (a["last_user"], a["last_assistant"], a["transcript_path"]) == ("Plan the rest", "Planned.", "/t/1.jsonl")
    assert a["started_us"] <= a["last_us"] == a["ended_us"] and "parent" not in a
    assert (b["parent"], b["parent_reason"], b["status"]) == (told.a.session, "clear", "active")
    assert "ended_us" not in b


def test_sessions_can_be_filtered(told):
    def ask(*args):
        return ids(told.json("sessions", "--json", *args))

    assert ask() == ["2", "1"]
    assert ask("-n", 1) == ["2"]
    assert ask("--status", "completed") == ["1"]
    assert ask("--agent", "codex") == [] and ask("--agent", "claude") == ["2", "1"]
    assert ask("--project", "proj") == ask("-p", "PROJ") == ask("-p", told.root) == ask("-p", told.root / "deep/er") == ["2", "1"]
    assert ask("--since", "1h") == ["2", "1"] and ask("--until", "1h") == []
    assert ask("--since", "2999-01-01") == [] and ask("--since", "2001-01-01T10:00") == ["2", "1"]
    assert ask("-q", "PARSER") == ["1"]
    by_key = told.rpc("sessions", after=0, limit=1)
    assert ids(by_key) == ["1"]
    assert ids(told.rpc("sessions", after=by_key["sessions"][0]["key"])) == ["2"]
    assert ids(json.loads(told.hookd("sessions", "--json", "-p", ".", cwd=told.root).stdout)) == ["2", "1"]


def test_wrong_references_say_what_to_do(told):
    def fails(code, *args):
        done = told.hookd(*args, ok=False)
        assert done.returncode == code and done.stdout == b"" and done.stderr.count(b"\n") == 1, done
        return done.stderr.decode()

    assert "no session 'zzz'; list them with: hookd sessions" in fails(1, "show", "zzz")
    said = fails(1, "show", "1111")
    assert "several sessions" in said and told.a.session in said and told.b.session in said and "more of the id" in said
    assert "no project 'nope'; list them with: hookd project list" in fails(1, "sessions", "--project", "nope")
    assert "no plan 'nope'" in fails(1, "plans", "nope")
    assert "does not understand 'soon'" in fails(64, "sessions", "--since", "soon")
    assert "at least 1" in fails(64, "sessions", "-n", "0")
    assert "which sessions" in fails(64, "export")
    assert "no format 'pdf'" in fails(64, "export", "--all", "--format", "pdf")
    assert "no 'project burn'" in fails(64, "project", "burn")
    assert "takes 2 arguments" in fails(64, "project", "merge", "x")
    assert "cannot be written" in fails(1, "export", "--all", "-o", told.top / "no/where")
    assert "\x1b" not in fails(1, "show", "\x1b[2J")


def test_the_table_fits_the_terminal(told):
    text = told.hookd("sessions", env={"COLUMNS": "100"}).stdout.decode()
    assert max(map(len, text.splitlines())) <= 100 and re.search("Fix the p\\w*…", text) and told.a.session in text
    assert max(map(len, told.hookd("sessions", env={"COLUMNS": "70"}).stdout.decode().splitlines())) <= 70
    assert "Fix the parser and the tests" in told.hookd("sessions").stdout.decode()


# -- show ----------------------------------------------------------------------------------------


def numbers(stats):
    return {k: v for k, v in stats.items() if k not in ("tool_counts", "duration_minutes")}


def test_show_as_json(told):
    whole = told.json("show", "--json", told.a.session)
    assert whole["session"]["id"] == told.a.session and "next" not in whole
    assert [c["id"] for c in whole["children"]] == [told.b.session]
    assert [(w["source"], w.get("agent_id")) for w in whole["windows"]] == [("startup", None), ("subagent", "ag1"), ("compact", None)]
    first, sub, second = whole["windows"]
    assert (sub["parent"], sub["message"], second["previous"]) == (first["key"], "nothing left to do", first["key"])
    assert [(b["number"], b.get("prompt_id"), b["source"], b["status"], b["closed_by"], b["private"]) for b in whole["batches"]] == [
        (1, "p1", "user", "completed", "stop", False), (2, "p2", "user", "completed", "stop", False),
        (3, None, "user", "completed", "stop", True), (4, "p4", "plan", "completed", "stop", False)]
    assert [b.get("response") for b in whole["batches"]] == ["Parser fixed.\nTests too.", "All seen.", None, "Planned."]
    assert [[(x.get("tool", x["kind"]), x["state"]) for x in b["activities"]] for b in whole["batches"]] == [
        [("Read", "done"), ("Edit", "done"), ("Write", "done"), ("Bash", "failed"), ("Write", "denied")],
        [("Agent", "done"), ("SubagentStart", "done"), ("Grep", "done"), ("SubagentStop", "done"), ("PreCompact", "done"), ("Bash", "done")],
        [], [("Write", "done"), ("Write", "done")]]
    assert b"mauve" not in told.hookd("show", "--json", told.a.session).stdout


def test_activities_in_show(told):
    batches = told.json("show", "--json", told.a.session)["batches"]
    read, edit, write, bash, denied = batches[0]["activities"]
    assert (read["file"], read["change"], read["output"], read["duration_ms"]) == ("parse.c", "read", "<300 chars read>", 7)
    assert (edit["change"], edit["input"]["old_string"], edit["class"]) == ("modified", "<1 chars>", "write")
    assert (write["file"], write["change"], write["tool_use_id"]) == ("new.c", "created", "u3")
    assert (bash["error"], bash["input"], bash["duration_ms"]) == ("Exit code 2\nparse.c:1: error", {"command": "make test"}, 16)
    grep, late = batches[1]["activities"][2], batches[1]["activities"][5]
    assert (grep["agent_id"], grep["window"]) == ("ag1", told.json("show", "--json", told.a.session)["windows"][1]["key"])
    assert (late["tool_use_id"], late["duration_ms"], late["output"]) == ("u8", 1500, "fast")
    assert denied["file"] == "secret.c"


def test_a_call_that_was_denied_changed_nothing_and_says_why(told):
    denied = told.json("show", "--json", told.a.session)["batches"][0]["activities"][4]
    assert "change" not in denied and denied["error"] == "not there"


def test_numbers_of_show(told):
    whole = told.json("show", "--json", told.a.session)
    assert [numbers(b["stats"]) for b in whole["batches"]] == [
        {"activity_count": 5, "files_touched": 2, "files_created": 1, "files_modified": 1, "failed": 1, "denied": 1},
        {"activity_count": 3, "files_touched": 0, "files_created": 0, "files_modified": 0, "failed": 0, "denied": 0},
        {"activity_count": 0, "files_touched": 0, "files_created": 0, "files_modified": 0, "failed": 0, "denied": 0},
        {"activity_count": 2, "files_touched": 1, "files_created": 1, "files_modified": 1, "failed": 0, "denied": 0}]
    assert [b["stats"]["tool_counts"] for b in whole["batches"]] == [
        {"Write": 2, "Bash": 1, "Edit": 1, "Read": 1}, {"Agent": 1, "Bash": 1, "Grep": 1}, {}, {"Write": 2}]
    assert numbers(whole["stats"]) == {"activity_count": 10, "files_touched": 3, "files_created": 2, "files_modified": 2,
                                       "failed": 1, "denied": 1}
    assert whole["stats"]["tool_counts"] == {"Write": 4, "Bash": 2, "Agent": 1, "Edit": 1, "Grep": 1, "Read": 1}
    assert isinstance(whole["stats"]["duration_minutes"], float) and 0 <= whole["stats"]["duration_minutes"] < 1
    plan = f"{told.home}/.claude/plans/quick-fox.md"
    assert [(f["file"], f["created"], f["modified"], f["read"]) for f in whole["files"]] == [
        (plan, True, 1, 0), ("new.c", True, 0, 0), ("parse.c", False, 1, 1)]


def test_show_by_prefix_key_and_page(told):
    whole = told.json("show", "--json", told.a.session)
    assert told.json("show", "--json", whole["session"]["key"]) == whole
    pages = [told.rpc("show", session=told.a.session, skip=n, limit=1) for n in range(4)]
    assert [p.get("next") for p in pages] == [1, 2, 3, None]
    assert [b for p in pages for b in p["batches"]] == whole["batches"]
    assert all("windows" not in p for p in pages[1:])


STORY = [
    "Fix the parser and the tests", "session    11111111", "agent      claude, opus", "project    proj", "status     completed (clear)",
    "continued  11111111-aaaa-4000-8000-000000000002", "window 1 · startup", "#1 · ", "> Fix the parser", "> and the tests", "✓ Read       parse.c  7 ms",
    "✓ Write      new.c", "✗ Bash       make test  16 ms", "Exit code 2", "⊘ Write      secret.c", "not there", "< Parser fixed.", "#2 · ",
    "> Look at it with a helper", "SubagentStart general-purpose", "      ✓ Grep       TODO", "SubagentStop nothing left to do", "PreCompact auto",
    "window 2 · compact", "✓ Bash       make bench  1.5 s", "< All seen.", "#3 · ", "(private", "#4 · ", "> Plan the rest", "< Planned.",
    "plan Make it fast", "version 2 (write)", "| 1. measure", "files", "new.c  created", "parse.c  modified ×1, read ×1",
    "4 prompts, 10 tool calls: Write 4, Bash 2", "(1 failed, 1 denied); 3 files touched, 2 created, 2 modified",
]


def in_order(text, pieces):
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        assert found >= 0, (piece, text[at:at + 400])
        at = found + len(piece)


def test_show_reads_like_a_story(told):
    text = told.hookd("show", told.a.session).stdout.decode()
    in_order(text, STORY)
    assert "mauve" not in text and "\x1b" not in text
    child = told.hookd("show", told.b.session).stdout.decode()
    in_order(child, ["Go on", "parent     11111111-aaaa-4000-8000-000000000001 (clear)", "window 1 · clear", "> Go on", "✓ Bash       ls", "< Gone on."])


def test_long_texts_are_cut_unless_full(world):
    a = Agent(world, "long", "/tmp")
    a.prompt("p", "\n".join(f"line {n} " + "x" * 300 for n in range(30)))
    a.tool("u", "Bash", command="y" * 400, response={"stdout": "first\nsecond"})
    short = world.hookd("show", "long", env={"COLUMNS": "80"}).stdout.decode()
    assert "line 3 " in short and "line 4 " not in short and "26 more lines, with --full" in short
    assert max(map(len, short.splitlines()[10:-2])) <= 80
    full = world.hookd("show", "long", "--full", env={"COLUMNS": "80"}).stdout.decode()
    assert "line 29 " + "x" * 300 in full and "| second" in full and "more lines" not in full


def test_a_session_larger_than_one_answer_is_shown_whole(world):
    a = Agent(world, "large", "/tmp")
    for n in range(160):
        a.prompt(f"p{n}", f"{n} " + "ä" * 9990)
        a.say("Stop", last_assistant_message=f"answer {n} " + "ö" * 19900)
    pages, skip = 0, 0
    while skip is not None:
        skip, pages = world.rpc("show", session="large", skip=skip).get("next"), pages + 1
    assert pages > 1
    whole = world.json("show", "--json", "large")
    assert [b["number"] for b in whole["batches"]] == list(range(1, 161)) and "next" not in whole
    in_order(world.hookd("show", "large").stdout.decode(), [f"> {n} " for n in range(160)])
    in_order(world.hookd("export", "large", "-f", "html").stdout.decode(), [f"answer {n} " for n in range(160)])
    assert len(world.hookd("export", "large", "-f", "jsonl").stdout.splitlines()) == 320


# -- plans, stats, tail --------------------------------------------------------------------------


def test_plans(told):
    (p,) = told.json("plans", "--json")["plans"]
    path = f"{told.home}/.claude/plans/quick-fox.md"
    assert (p["title"], p["path"], p["versions"], p["source"], p["session"], p["agent"], p["project"]) == (
        "Make it fast", path, 2, "write", told.a.session, "claude", "proj")
    for name in (p["key"], path, "quick-fox.md", "quick-fox"):
        one = told.json("plans", "--json", name)
        assert [(v["version"], v["source"], v["content"]) for v in one["history"]] == [(2, "write", PLAN), (1, "write", "# Draft\n")]
    assert PLAN.encode() in told.hookd("plans", "quick-fox").stdout
    assert b"# Draft" in told.hookd("plans", "quick-fox", "--version", "1").stdout
    assert b"no version 7" in told.hookd("plans", "quick-fox", "--version", "7", ok=False).stderr
    assert told.json("plans", "--json", "--session", told.b.session) == {"plans": []}
    assert told.json("plans", "--json", "--project", "proj", "--since", "1h")["plans"] == [p]


def test_stats(told):
    s = told.json("stats", "--json")
    sums = {"sessions": 2, "prompts": 5, "calls": 11, "failed": 1, "denied": 1}

    def of(row, *names):
        return {k: row[k] for k in names or sums}

    assert of(s["total"]) == sums
    assert [of(r) for r in s["agents"]] == [sums] and s["agents"][0]["agent"] == "claude"
    assert [of(r) for r in s["projects"]] == [sums] and s["projects"][0]["name"] == "proj"
    assert sum(d["calls"] for d in s["days"]) == 11 and re.fullmatch(r"\d{4}-\d\d-\d\d", s["days"][0]["day"])
    assert {t["tool"]: t["calls"] for t in s["tools"]} == {"Write": 4, "Bash": 3, "Agent": 1, "Edit": 1, "Grep": 1, "Read": 1}
    assert told.json("stats", "--json", "--until", "1h")["total"]["calls"] == 0
    assert told.json("stats", "--json", "--since", "1h")["total"] == s["total"]
    assert told.json("stats", "--json", "--agent", "codex")["tools"] == []
    text = told.hookd("stats").stdout.decode()
    in_order(text, ["2 sessions, 5 prompts, 11 tool calls (1 failed, 1 denied)", "DAY", "PROJECT", "proj", "AGENT", "claude", "TOOL", "Write"])
    assert b"nothing happened" in told.hookd("stats", "--until", "1h").stdout


def test_tail_and_activities_of_one_session(told):
    def events(*args, n=1000):
        return [json.loads(line) for line in told.hookd("tail", "--json", "-n", n, *args).stdout.splitlines()]

    assert {e["session"] for e in events("--session", told.b.session)} == {told.b.session}
    assert len(events("--session", told.b.session)) == 5
    assert len(events("--project", "proj")) == len(events("--agent", "claude")) == len(events())
    assert events("--agent", "codex") == []
    assert [e["event"] for e in events("--session", told.b.session, n=1)] == ["Stop"]
    after = told.rpc("events", after=0, session=told.b.session, limit=2)
    assert [e["event"] for e in after["events"]] == ["SessionStart", "UserPromptSubmit"]
    assert [x["tool_use_id"] for x in told.rpc("activities", session=told.a.session)["activities"]] == [f"u{n}" for n in range(10, 0, -1)]


# -- export --------------------------------------------------------------------------------------


def test_export_markdown(told):
    text = told.hookd("export", told.a.session).stdout.decode()
    in_order(text, ["# Fix the parser and the tests", "- **agent**: claude, opus", "## window 1 · startup", "### Prompt 1", "> Fix the parser\n> and the tests",
                    "- ✓ Read `parse.c` (7 ms)", "- ✗ Bash `make test` (16 ms) **failed** `Exit code 2", "- ⊘ Write `secret.c`", "**Answer**",
                    "> Parser fixed.", "  - ✓ Grep `TODO`", "## window 2 · compact", "## Plan: Make it fast", "```\n# Make it fast", "## Files", "## Numbers"])
    both = told.hookd("export", "--project", "proj", "--format", "md").stdout.decode()
    assert both.startswith(text) and "# Go on" in both
    assert told.hookd("export", "--since", "2999-01-01").stdout == b""


def test_export_jsonl_has_every_event_as_it_is(told):
    lines = told.hookd("export", "--all", "--format", "jsonl").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    agents = [e for e in events if e["event"] != "Injection"]  # hookd's own, which lists leave out
    assert sorted(agents, key=lambda e: e["seq"]) == sorted(told.events(), key=lambda e: e["seq"])
    mine = [e for e in events if e["session"] == told.a.session]
    assert mine[0]["event"] == "SessionStart" and mine[-1]["event"] == "SessionEnd"
    got, cursor = [], None
    while True:
        page = told.rpc("session_events", session=told.a.session, limit=3, **({"cursor": cursor} if cursor else {}))
        got += page["events"]
        cursor = page.get("cursor")
        if not cursor:
            break
    assert got == mine


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


OURS = {"html", "head", "meta", "title", "style", "body", "article", "h1", "h2", "h3", "dl", "dt", "dd", "pre", "code", "ul", "li", "b", "p", "span",
        "details", "summary"}


def harmless(page):
    """Nothing of what was captured became markup, and nothing is asked of anybody."""
    assert page.tags <= OURS
    assert {name for name, _ in page.attributes} <= {"lang", "charset", "http-equiv", "content", "name", "class"}
    (policy,) = [value for name, value in page.attributes if name == "content" and "default-src" in value]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_export_html(told):
    path = told.top / "out.html"
    told.hookd("export", "--all", "--format", "html", "-o", path)
    assert path.stat().st_mode & 0o777 == 0o600
    page = Page(path.read_text())
    harmless(page)
    in_order(page.text, ["Fix the parser", "window 1 · startup", "Fix the parser\nand the tests", "✓ Read parse.c", "✗ Bash make test", "Exit code 2",
                         "Parser fixed.", "window 2 · compact", "2. <b>change</b>", "Files", "Go on"])


# -- hostile text --------------------------------------------------------------------------------


def test_hostile_text_is_harmless_everywhere(world):
    bad = HOSTILE + "\n# forged\n```\n</pre><img src=x onerror=alert(1)>"
    session = "evil\x1b[2J\nid<i>"
    root = world.top / "p\x1b[31m<u>"
    root.mkdir()
    a = Agent(world, session, root)
    a.say("SessionStart", source=bad, model=bad)
    a.prompt("p", bad)
    a.tool("u1", "Ba\x1bsh<b>", command=bad)
    a.tool("u2", "Bash", command=bad, error=bad)
    a.tool("u3", "Write", file_path=f"{root}/{bad}", content="x", response={"type": "create"})
    a.tool("u4", "Write", file_path=f"{world.home}/.claude/plans/<b>\x1b.md", content=bad, response={"type": "create"})
    a.say("Notification", message=bad)
    a.say("Stop", last_assistant_message=bad)
    a.say("SessionEnd", reason=bad)
    outputs, plan = {}, world.json("plans", "--json")["plans"][0]["key"]
    for command in (["sessions"], ["show", "1"], ["show", "1", "--full"], ["plans"], ["plans", str(plan)], ["stats"], ["project", "list"], ["tail"],
                    ["export", "1"], ["export", "1", "--format", "html"], ["export", "1", "--format", "jsonl"], ["show", "1", "--json"],
                    ["project", "rename", "1", "fine"]):
        text = outputs[" ".join(command)] = world.hookd(*command).stdout.decode()
        assert "\x1b" not in text and "\x07" not in text, command
        if "jsonl" not in command and "--json" not in command:
            assert "\x9b" not in text and "\u202e" not in text, command
    done = world.hookd("show", "evil\x1b[2J\nidX", ok=False)
    assert b"\x1b" not in done.stderr and done.stderr.count(b"\n") == 1
    page = Page(outputs["export 1 --format html"])
    harmless(page)
    assert "<script>alert(1)</script>" in page.text and "</pre><img src=x onerror=alert(1)>" in page.text
    md = outputs["export 1"]
    outside = re.sub(r"^(`{3,}).*?^\1$", "", md, flags=re.M | re.S)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert "\n# forged" not in outside and "\n# forged" not in outputs["show 1 --full"]
    assert "<script" not in outside and "<img" not in outside and "![" not in outside
    for line in outputs["export 1 --format jsonl"].splitlines():
        json.loads(line)


# -- projects ------------------------------------------------------------------------------------


def git(*args, cwd):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *args], cwd=cwd, check=True, capture_output=True)


def work(world, session, cwd):
    a = Agent(world, session, cwd)
    a.say("SessionStart", source="startup")
    a.prompt("p" + session, "work " + session)
    a.tool("u" + session, "Read", file_path=f"{cwd}/x.c")
    a.say("Stop")


def projects(world):
    return world.json("project", "list", "--json")["projects"]


def project_of(world, session):
    return world.json("show", "--json", session)["session"]["project"]


@pytest.fixture
def repo(world):
    root = world.top / "repo"
    (root / "src/deep").mkdir(parents=True)
    git("init", "-q", cwd=root)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=root)
    return root


def test_worktrees_and_subdirectories_are_one_project(world, repo):
    tree = world.top / "tree"
    git("worktree", "add", "-q", str(tree), cwd=repo)
    work(world, "s1", repo)
    work(world, "s2", repo / "src/deep")
    work(world, "s3", tree)
    (p,) = projects(world)
    assert (p["name"], p["path"], p["named"], p["sessions"], p["tools"]) == ("repo", str(repo), False, 3, 3)
    assert [(w["name"], w["path"]) for w in p["worktrees"]] == [("tree", str(tree))]
    assert {project_of(world, s)["key"] for s in ("s1", "s2", "s3")} == {p["key"]}
    assert world.json("show", "--json", "s3")["session"]["worktree"] == str(tree)
    assert world.json("show", "--json", "s3")["batches"][0]["activities"][0]["file"] == "x.c"
    assert {s["id"] for s in world.json("sessions", "--json", "-p", "repo")["sessions"]} == {"s1", "s2", "s3"}
    assert {s["id"] for s in world.json("sessions", "--json", "-p", tree)["sessions"]} == {"s3"}
    assert world.json("stats", "--json")["projects"][0]["calls"] == 3
    text = world.hookd("project", "list").stdout.decode()
    in_order(text, ["repo", str(repo), "  tree", str(tree)])


def test_a_renamed_folder_stays_one_project(world, repo):
    work(world, "s1", repo)
    (before,) = projects(world)
    new = repo.rename(world.top / "called otherwise")
    work(world, "s2", new / "src")
    (p,) = projects(world)
    assert (p["key"], p["name"], p["path"], p["sessions"], p["other_paths"]) == (before["key"], "called otherwise", str(new), 2, [str(repo)])
    assert world.json("sessions", "--json", "-p", repo)["sessions"] == world.json("sessions", "--json", "-p", new)["sessions"] != []
    new.rename(repo)
    work(world, "s3", repo / "src/deep")
    (p,) = projects(world)
    assert (p["key"], p["path"], p["sessions"], p["other_paths"]) == (before["key"], str(repo), 3, [str(new)])


def test_a_given_name_wins(world, repo):
    work(world, "s1", repo)
    assert "would be called" in world.hookd("project", "rename", "repo", "My Thing", "--dry-run").stdout.decode()
    assert projects(world)[0]["name"] == "repo"
    assert "is called My Thing" in world.hookd("project", "rename", "repo", "My Thing").stdout.decode()
    new = repo.rename(world.top / "moved")
    work(world, "s2", new)
    (p,) = projects(world)
    assert (p["name"], p["named"], p["path"]) == ("My Thing", True, str(new))
    assert len(world.json("sessions", "--json", "-p", "my thing")["sessions"]) == 2
    world.hookd("project", "rename", "My Thing", "")
    assert (projects(world)[0]["name"], projects(world)[0]["named"]) == ("moved", False)
    for bad in ("a\nb", "/x", "12", " x", "n" * 201):
        assert world.hookd("project", "rename", "moved", bad, ok=False).returncode == 1


def test_merge_moves_everything_and_keeps_the_path(world, repo):
    other = world.top / "old copy"
    (other / "sub").mkdir(parents=True)
    git("init", "-q", cwd=other)
    work(world, "s1", repo)
    work(world, "s2", other)
    assert len(projects(world)) == 2
    assert "would move 1 sessions and 1 directories to repo" in world.hookd("project", "merge", other, "repo", "--dry-run").stdout.decode()
    assert len(projects(world)) == 2
    result = world.json("project", "merge", "old copy", repo, "--json")
    assert (result["sessions_moved"], result["directories_moved"], result["project"]["sessions"]) == (1, 1, 2)
    work(world, "s3", other / "sub")
    work(world, "s4", other)
    (p,) = projects(world)
    assert (p["name"], p["path"], p["sessions"], p["other_paths"]) == ("repo", str(repo), 4, [str(other)])
    assert len(world.json("sessions", "--json", "-p", other)["sessions"]) == 4
    assert world.json("show", "--json", "s4")["batches"][0]["activities"][0]["file"] == "x.c"
    done = world.hookd("project", "merge", other, repo, ok=False)
    assert done.returncode == 1 and b"same project" in done.stderr
    assert world.hookd("db", "check").stdout == b"the store is sound\n"


def test_one_name_for_two_projects_asks_which(world):
    for parent in ("a", "b"):
        (world.top / parent / "web").mkdir(parents=True)
        work(world, "s" + parent, world.top / parent / "web")
    done = world.hookd("sessions", "-p", "web", ok=False)
    assert done.returncode == 1 and b"several projects" in done.stderr and str(world.top / "a/web").encode() in done.stderr
    assert [s["id"] for s in world.json("sessions", "--json", "-p", world.top / "b/web")["sessions"]] == ["sb"]


def test_hidden_sessions_appear_with_all(world):
    work(world, "s1", "/tmp")
    world.hookd("stop")
    with sqlite3.connect(world.dir / "hookd.db") as db:  # as the daemon does when nothing happened in it for an hour
        db.execute("UPDATE sessions SET hidden = 1")
    db.close()
    assert world.json("sessions", "--json")["sessions"] == []
    assert len(world.json("sessions", "--json", "--all")["sessions"]) == 1
