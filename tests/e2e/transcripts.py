"""Transcripts as agents write them, made to measure: what the tests know about the formats, in one place."""
import datetime
import json
import sqlite3
import uuid

START = datetime.datetime(2026, 9, 1, 9, 0, 0, tzinfo=datetime.timezone.utc)


def stamp(seconds):
    return (START + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lines(rows):
    return b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in rows)


class Claude:
    """One session of Claude Code; every prompt has a thought, some calls and an answer."""

    def __init__(self, session=None, cwd="/home/dev/proj", start=0, model="claude-opus-5-5"):
        self.session = session or str(uuid.uuid4())
        self.cwd, self.at, self.model = cwd, start, model
        self.rows, self.parent, self.count = [], None, 0
        self.prompt_id = None

    def row(self, kind, **more):
        self.at += 1
        key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session}{len(self.rows)}"))
        self.rows.append({"parentUuid": self.parent, "isSidechain": False, "type": kind, "uuid": key,
                          "timestamp": stamp(self.at), "cwd": self.cwd, "sessionId": self.session,
                          "version": "2.1.325", "gitBranch": "main", **more})
        self.parent = key
        return self

    def prompt(self, text, **more):
        self.count += 1
        self.prompt_id = f"{self.session}-p{self.count}"
        return self.row("user", message={"role": "user", "content": text}, promptId=self.prompt_id, **more)

    def assistant(self, blocks, stop="end_turn", tokens=(100, 20, 0, 0)):
        """One message, a line per block, as Claude Code writes it: the usage stands on every line."""
        key = f"msg_{self.session[:8]}_{len(self.rows)}"
        usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "cache_read_input_tokens": tokens[2],
                 "cache_creation_input_tokens": tokens[3]}
        for block in blocks:
            self.row("assistant", message={"id": key, "type": "message", "role": "assistant", "model": self.model,
                                           "content": [block], "stop_reason": stop, "usage": usage})
        return self

    def call(self, name, call_input, result, key=None, failed=False, tokens=(100, 20, 0, 0), thought="Let me see."):
        key = key or f"toolu_{self.session[:8]}_{len(self.rows)}"
        self.assistant([{"type": "text", "text": thought},
                        {"type": "tool_use", "id": key, "name": name, "input": call_input}], "tool_use", tokens)
        content = result if isinstance(result, str) else json.dumps(result)
        return self.row("user", message={"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": key, "content": content, "is_error": failed}]},
            toolUseResult=result, promptId=self.prompt_id)

    def shell(self, command, output="done", **more):
        return self.call("Bash", {"command": command}, {"stdout": output, "stderr": "", "interrupted": False}, **more)

    def answer(self, text, tokens=(200, 50, 1000, 10)):
        return self.assistant([{"type": "text", "text": text}], tokens=tokens)

    def write(self, home, text=None):
        folder = home / ".claude/projects" / self.cwd.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.session}.jsonl"
        path.write_bytes(lines(self.rows) if text is None else text)
        return path


class Codex:
    """One thread of Codex CLI."""

    def __init__(self, session=None, cwd="/home/dev/proj", start=0, model="gpt-5-codex"):
        self.session = session or str(uuid.uuid4())
        self.cwd, self.at, self.model = cwd, start, model
        self.rows, self.turns, self.turn = [], 0, None
        self.row("session_meta", id=self.session, timestamp=stamp(start), cwd=cwd, originator="codex_cli_rs",
                 cli_version="0.166.0", source="cli", model_provider="openai")

    def row(self, kind, **payload):
        self.at += 1
        self.rows.append({"timestamp": stamp(self.at), "ordinal": len(self.rows), "type": kind, "payload": payload})
        return self

    def prompt(self, text):
        self.turns += 1
        self.turn = f"{self.session}-t{self.turns}"
        self.row("turn_context", turn_id=self.turn, cwd=self.cwd, model=self.model, approval_policy="never")
        self.row("response_item", type="message", role="user", content=[{"type": "input_text", "text": text}])
        return self.row("event_msg", type="item_completed", thread_id=self.session, turn_id=self.turn,
                        item={"type": "UserMessage", "id": f"u{self.turns}", "content": [{"type": "text", "text": text}]})

    def shell(self, command, output="done", key=None):
        key = key or f"call_{self.session[:8]}_{len(self.rows)}"
        self.row("response_item", type="function_call", name="exec_command", call_id=key,
                 arguments=json.dumps({"cmd": command}))
        return self.row("response_item", type="function_call_output", call_id=key, output=output)

    def answer(self, text, tokens=(100, 20)):
        self.row("event_msg", type="item_completed", thread_id=self.session, turn_id=self.turn,
                 item={"type": "AgentMessage", "id": f"a{self.turns}", "content": [{"type": "Text", "text": text}]})
        self.row("token_usage_record", thread_id=self.session, turn_id=self.turn, session_id=self.session,
                 response_id=f"resp_{self.session[:8]}_{self.turns}",
                 usage={"input_tokens": tokens[0], "cached_input_tokens": 0, "cache_write_input_tokens": 0,
                        "output_tokens": tokens[1], "reasoning_output_tokens": 0, "total_tokens": sum(tokens)})
        return self.row("event_msg", type="task_complete", turn_id=self.turn, last_agent_message=text)

    def write(self, home):
        folder = home / ".codex/sessions/2026/09/01"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-2026-09-01T09-00-00-{self.session}.jsonl"
        path.write_bytes(lines(self.rows))
        return path


class Opencode:
    """opencode's database, with what of its tables is read; as in 1.18.33. It stays open, as it does under opencode."""

    def __init__(self, home, at=1_790_000_000_000):
        path = home / ".local/share/opencode/opencode.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.at, self.db, self.count = path, at, sqlite3.connect(path, isolation_level=None), 0
        self.db.executescript("""PRAGMA journal_mode = WAL;
            CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, project_id text, parent_id text, directory text NOT NULL, title text, agent text,
              time_created integer NOT NULL, time_updated integer NOT NULL);
            CREATE TABLE IF NOT EXISTS message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
            CREATE TABLE IF NOT EXISTS part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
              data text NOT NULL);""")

    def key(self, kind):
        self.count += 1
        self.at += 1000
        return f"{kind}_{self.count:08}"

    def session(self, parent=None, agent="build", directory="/home/dev/proj"):
        key = self.key("ses")
        self.db.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?,?)", (key, "p", parent, directory, "t", agent, self.at, self.at))
        return key

    def message(self, session, data, parts):
        key = self.key("msg")
        text = data if isinstance(data, str) else json.dumps({"time": {"created": self.at, "completed": self.at}, **data})
        self.db.execute("INSERT INTO message VALUES (?,?,?,?,?)", (key, session, self.at, self.at, text))
        for part in parts:
            self.db.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", (self.key("prt"), key, session, self.at, self.at, part if isinstance(part, str) else json.dumps(part)))
        self.db.execute("UPDATE session SET time_updated = ? WHERE id = ?", (self.at, session))
        return key

    def prompt(self, session, text, **more):
        self.parent = self.message(session, {"role": "user"}, [{"type": "text", "text": "added by opencode", "synthetic": True}, {"type": "text", "text": text, **more}])

    def model(self, session, *parts, finish="stop", tokens=None):
        tokens = tokens or {"total": 175, "input": 120, "output": 30, "reasoning": 5, "cache": {"read": 20, "write": 0}}
        return self.message(session, {"role": "assistant", "parentID": self.parent, "modelID": "scripted", "finish": finish, "tokens": tokens},
                            [{"type": "step-start"}, *parts, {"type": "step-finish", "tokens": tokens}])

    @staticmethod
    def text(text):
        return {"type": "text", "text": text}

    def call(self, tool, key, given, output="", status="completed", exit=0):
        state = {"status": status, "input": given, "time": {"start": self.at, "end": self.at + 1}}
        state |= {"error": output} if status == "error" else {"title": tool, "output": output, "metadata": {"exit": exit}}
        return {"type": "tool", "tool": tool, "callID": key, "state": state}
