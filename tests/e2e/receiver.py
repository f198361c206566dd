"""A receiver of webhooks on loopback that behaves as a test wants.

`how` is one of the methods below, or a list of them, used up from the front, the last one staying. What came is in `got`, in
the order of arrival, with the behaviour it met."""
import http.server
import json
import random
import socket
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        r = self.server.receiver
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with r.lock:
            how = r.next_way()
            r.got.append({"at": time.time(), "path": self.path, "headers": dict(self.headers), "raw": raw, "how": how,
                          "body": json.loads(raw)})
            r.in_flight += 1
            r.most_at_once = max(r.most_at_once, r.in_flight)
        try:
            getattr(r, how)(self)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with r.lock:
                r.in_flight -= 1
            self.close_connection = True

    def log_message(self, *args):
        pass

    def reply(self, status, text=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


class Receiver:
    ACCEPTS = {"ok", "slow"}  # whoever sent knows that it has arrived

    def __init__(self, how="ok", port=0, seed=None):
        self.how = how
        self.got, self.lock = [], threading.Lock()
        self.in_flight = self.most_at_once = 0
        self.closing = threading.Event()
        self.rng = random.Random(seed)
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.receiver = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def next_way(self):
        if isinstance(self.how, str):
            way = self.how
        else:
            way = self.how.pop(0) if len(self.how) > 1 else self.how[0]
        # Now this, now that; sometimes it has taken what it seems not to have taken.
        return self.rng.choice(("ok",) * 8 + ("broken", "resets", "garbage", "drops")) if way == "flaky" else way

    def sink(self, name="team", **more):
        return {"name": name, "type": "webhook", "url": self.url, **more}

    def bodies(self, *types):
        """What has arrived, as far as the sender can know: each once."""
        seen, found = set(), []
        with self.lock:
            for g in self.got:
                key = g["headers"]["Idempotency-Key"]
                if g["how"] in self.ACCEPTS and key not in seen and (not types or g["body"]["event_type"] in types):
                    seen.add(key)
                    found.append(g["body"])
        return found

    # -- behaviours ----------------------------------------------------------------------------

    def ok(self, h):
        h.reply(204)

    def slow(self, h):
        self.closing.wait(0.3)
        h.reply(200, b"{}")

    def broken(self, h):
        h.reply(500, b"oops")

    def away(self, h):
        h.reply(503, b"", [("Retry-After", "2")])

    def busy(self, h):
        h.reply(429, b"", [("Retry-After", "2")])

    def refuses(self, h):
        h.reply(400, b"I do not like it")

    def forbids(self, h):
        h.reply(401)

    def redirects(self, h):
        h.reply(307, b"", [("Location", self.url + "/elsewhere")])

    def resets(self, h):
        h.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        h.connection.close()

    def garbage(self, h):
        h.wfile.write(b"\xff\xfe\0 this is no HTTP\r\n\r\n")

    def hangs(self, h):
        """Until whoever sent has gone."""
        h.connection.settimeout(0.05)
        until = time.monotonic() + 60
        while time.monotonic() < until and not self.closing.is_set():
            try:
                if not h.connection.recv(1, socket.MSG_PEEK):
                    return
            except TimeoutError:
                pass

    def drops(self, h):
        """Takes it, and is gone before it says so."""
        h.connection.shutdown(socket.SHUT_RDWR)
