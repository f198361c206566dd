"""A language model on loopback that speaks the two protocols and behaves as a test wants.

`how` is one of the methods below; it may change while the server runs. What was asked is in `asked`."""
import http.server
import json
import socket
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        model = self.server.model
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with model.lock:
            model.in_flight += 1
            model.asked.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
        try:
            getattr(model, model.how)(self)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with model.lock:
                model.in_flight -= 1
            self.close_connection = True

    def log_message(self, *args):
        pass

    def reply(self, status, text, headers=()):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


class Model:
    def __init__(self, how="good", text="ALLOW", tokens=(50, 5)):
        self.how, self.text, self.tokens = how, text, tokens
        self.asked, self.lock = [], threading.Lock()
        self.in_flight = 0
        self.closing = threading.Event()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.model = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def options(self, provider="compatible", **more):
        return {"llm": {"provider": provider, "url": self.url, "model": "test-model", **more}}

    def last(self):
        """What the last question consisted of: its system and its user text."""
        body = self.asked[-1]["body"]
        texts = {m["role"]: m["content"] for m in body["messages"]}
        return body.get("system", texts.get("system", "")), texts["user"]

    # -- behaviours ----------------------------------------------------------------------------

    def answer_of(self, path):
        if path.endswith("/messages"):
            return {"type": "message", "role": "assistant", "content": [{"type": "text", "text": self.text}],
                    "stop_reason": "end_turn",
                    "usage": {"input_tokens": self.tokens[0], "output_tokens": self.tokens[1]}}
        return {"choices": [{"index": 0, "finish_reason": "stop",
                             "message": {"role": "assistant", "content": self.text}}],
                "usage": {"prompt_tokens": self.tokens[0], "completion_tokens": self.tokens[1]}}

    def good(self, h):
        h.reply(200, json.dumps(self.answer_of(h.path)))

    def slow(self, h):
        self.closing.wait(1)
        self.good(h)

    def silent(self, h):
        """Until whoever asked has gone."""
        h.connection.settimeout(0.05)
        until = time.monotonic() + 60
        while time.monotonic() < until and not self.closing.is_set():
            try:
                if not h.connection.recv(1, socket.MSG_PEEK):
                    return
            except TimeoutError:
                pass

    def hangs_up(self, h):
        h.connection.shutdown(socket.SHUT_RDWR)

    def garbage(self, h):
        h.reply(200, b"\xff\xfe<html>no model lives here")

    def other_schema(self, h):
        h.reply(200, json.dumps({"result": {"text": "ALLOW"}, "choices": "none"}))

    def huge(self, h):
        h.reply(200, json.dumps({"choices": [{"message": {"content": "A" * (10 << 20)}}]}))

    def cut(self, h):
        told = self.answer_of(h.path)
        if "choices" in told:
            told["choices"][0]["finish_reason"] = "length"
        else:
            told["stop_reason"] = "max_tokens"
        h.reply(200, json.dumps(told))

    def refuses(self, h):
        key = h.headers.get("Authorization", h.headers.get("x-api-key", ""))
        h.reply(401, json.dumps({"error": {"message": "wrong key: " + key}}))

    def busy(self, h):
        h.reply(429, json.dumps({"error": {"message": "slow down"}}), [("Retry-After", "2")])

    def busy_for_long(self, h):
        h.reply(429, json.dumps({"error": {"message": "come back tomorrow"}}), [("Retry-After", "86400")])

    def broken(self, h):
        h.reply(500, "oops")

    def redirects(self, h):
        h.reply(307, "", [("Location", f"http://127.0.0.1:{self.port}/elsewhere")])

    def floods(self, h):
        """Without an end, and without a length."""
        h.send_response(200)
        h.send_header("Connection", "close")
        h.end_headers()
        until = time.monotonic() + 20
        while time.monotonic() < until and not self.closing.is_set():
            h.wfile.write(b"[" * 65536)

    def floods_headers(self, h):
        h.wfile.write(b"HTTP/1.1 200 OK\r\n")
        until = time.monotonic() + 20
        while time.monotonic() < until and not self.closing.is_set():
            h.wfile.write(b"X-More: " + b"a" * 1000 + b"\r\n")
