"""A scripted stand-in for a model API, so that real agent CLIs run without a network.

A script is a list of steps; each answers one request of the agent's conversation, in order:

    [
        {"say": "Let me look.",
         "use": [{"tool": "Bash", "id": "toolu_1", "input": {"command": "ls"}}]},
        {"fail": {"status": 529, "type": "overloaded_error", "message": "busy"}},
        {"say": "Done."},
    ]

    say   text of the answer
    use   tool calls after the text; an id is made up when none is given
    fail  an API error instead of an answer
    tokens  how much context the request is said to have used, of which a CLI compacts by itself
    wait  seconds to wait before answering
    then  a Python callable run before answering, with the request: the way to do something in the
          middle of a session (kill a daemon, look at a file) at an exact moment

Subagents hold conversations of their own, which run beside the main one. Each gets a lane: a list
of steps and a regex looked for in the conversation's opening user message (or, with where="system",
in the system prompt). Requests that offer no tools (titles, summaries) are side work of the CLI:
they get a fixed answer and use up no step.

The agents speak different APIs; what those look like is in apis.py, and a script is the same for all.

Every request is kept in Model.log, and written to a file as one JSON object a line, so that a test
can say what reached the model. Only loopback is bound."""

import http.server
import json
import re
import threading
import time

from apis import Messages, api_for, count_for, new_id

SIDE_ANSWER = "ok"
OVERRUN_ANSWER = "the script has no more steps"


def say(text, *calls, **more):
    """A step: text, then tool calls."""
    return {"say": text, "use": list(calls), **more}


def use(tool, id=None, **input):
    """A tool call for say()."""
    return {"tool": tool, "id": id or new_id("toolu_"), "input": input}


def use_text(tool, text, id=None):
    """A call of a tool that takes text instead of an object."""
    return {"tool": tool, "id": id or new_id("call_"), "raw": text}


class Lane:
    def __init__(self, steps, when=None, where="user"):
        self.steps, self.where, self.taken = list(steps), where, 0
        self.when = re.compile(when, re.S) if when else None

    def matches(self, api, request):
        if not self.when:
            return True
        text = api.system(request) if self.where == "system" else api.opening(request)
        return bool(self.when.search(text))

    def next(self):
        self.taken += 1
        if self.taken <= len(self.steps):
            return self.steps[self.taken - 1]
        return {"say": OVERRUN_ANSWER}

    @property
    def left(self):
        return len(self.steps) - self.taken


class Model:
    """The server. `steps` is the main conversation; `lanes` those of subagents."""

    def __init__(self, steps, lanes=(), log_file=None):
        self.main = Lane(steps)
        self.lanes = list(lanes)
        self.log = []
        self._log_file = log_file
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self._server.server_address[1]

    # -- what the tests ask ------------------------------------------------------------------

    def asked(self, lane=None):
        """The requests that took a step, as the agent sent them, oldest first."""
        return [e["request"] for e in self.log
                if e["kind"] == "turn" and (lane is None or e["lane"] == lane)]

    def results(self):
        """Id of a call -> (text, is_error), of every tool result that reached the model."""
        return {id: result for e in self.log if e["kind"] == "turn"
                for id, result in e["api"].results(e["request"])}

    def saw(self, text):
        """Whether the text is anywhere in what the agent sent (in any lane)."""
        needle = json.dumps(text, ensure_ascii=False)[1:-1]
        return any(needle in json.dumps(r, ensure_ascii=False) for r in self.asked())

    # -- answering ---------------------------------------------------------------------------

    def note(self, kind, **fields):
        entry = {"kind": kind, "at": time.time(), **fields}
        with self._lock:
            self.log.append(entry)
            if self._log_file:
                with open(self._log_file, "a", encoding="utf-8") as f:
                    f.write(json.dumps(entry, default=repr) + "\n")

    def choose(self, api, request):
        """The step for a request. Noted before it is carried out: what `then` sees is complete."""
        lanes = [*self.lanes, self.main]
        with self._lock:
            lane = next(k for k in lanes if k.matches(api, request))
            side = lane is self.main and not request.get("tools")
            step = {"say": SIDE_ANSWER} if side else lane.next()
        name = "main" if lane is self.main else lane.when.pattern
        self.note("side" if side else "turn", api=api, lane=name, step=step,
                  request=request)
        return step


def _handler(model):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 120

        def log_message(self, *_):
            pass

        def body(self):
            if "chunked" in self.headers.get("Transfer-Encoding", ""):
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def reply(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def error(self, status, type, message, api=Messages):
            self.reply(status, api.error(type, message))

        def do_HEAD(self):
            self.reply(200, {})

        def do_GET(self):
            path = self.path.split("?")[0].rstrip("/")
            if path == "/v1/models":
                model.note("models", path=self.path)
                return self.reply(200, {"data": [], "models": [], "has_more": False,
                                        "first_id": None, "last_id": None})
            model.note("unknown", method="GET", path=self.path)
            self.error(404, "not_found_error", "no such endpoint in the scripted model")

        def do_POST(self):
            path = self.path.split("?")[0].rstrip("/")
            raw = self.body()
            try:
                request = json.loads(raw or b"{}")
            except ValueError:
                model.note("broken", path=self.path, size=len(raw))
                return self.error(400, "invalid_request_error", "the body is not JSON")
            if api := api_for(path):
                return self.answer(api, path, request)
            if count := count_for(path, len(raw)):
                model.note("count", request=request)
                return self.reply(200, count)
            model.note("unknown", method="POST", path=self.path, request=request)
            self.error(404, "not_found_error", "no such endpoint in the scripted model")

        def answer(self, api, path, request):
            step = model.choose(api, request)
            if step.get("then"):
                step["then"](request)
            time.sleep(step.get("wait", 0))
            if fail := step.get("fail"):
                return self.error(fail.get("status", 500), fail.get("type", "api_error"),
                                  fail.get("message", "scripted error"), api)
            answer = api.answer(request, step)
            if not api.streams(path, request):
                return self.reply(200, answer)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.close_connection = True
            self.end_headers()
            for event in api.events(answer):
                name = f"event: {event['type']}\n" if "type" in event else ""
                data = event if isinstance(event, str) else json.dumps(event)
                self.wfile.write(f"{name}data: {data}\n\n".encode())

    return Handler
