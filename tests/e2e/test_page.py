"""The status page in a browser: what agents said is text on it, whatever it looks like.

The promises that a browser would keep are tested on the bytes. Where there is a browser (chromium, or BROWSER), it is asked
as well: it logs in with the address that `hookd url` prints, and must run nothing and fetch nothing."""
import html.parser
import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest

from test_http import Web
from world import HANG, payload, wait_for

BROWSER = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, ["chromium-headless-shell", "chromium", "chromium-browser"])), None)
ELEMENTS = {"html", "head", "meta", "title", "body", "h1", "p", "code", "pre"}

# {u}: an address that must never be asked for. The page shows 31 bytes of the names of 16 agents.
HOSTILE = ["<script src={u}>", "</pre><img src={u}>", "<img/src={u}>", "<iframe src={u}>", "<embed src={u}>", "<base href={u}>", "<svg onload=alert(1)>", "<body onload=stop()>",
           "</title><script>alert(1)", "&lt;img src={u}&gt;", "\"><img src={u}>", "\x1b[31m<img src={u}>", "\u202e<img src={u}>", "<plaintext>", "<!--<script>stop()//-->"]


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.attributes, self.text = set(), set(), ""
        self.feed(text)

    def handle_starttag(self, name, attributes):
        self.names.add(name)
        self.attributes |= {a for a, _ in attributes}

    def handle_data(self, data):
        self.text += data


def tell(world, port=1):
    """Each of them as the name of an agent: that is what the page shows of what others said."""
    names = [text.format(u=f"//127.0.0.1:{port}") for text in HOSTILE]
    for n, name in enumerate(names):
        world.hookc("Notification", payload("Notification", f"<b>{n}", message=name), agent=name)
    return names


def test_what_agents_said_is_text(world):
    web = Web(world)
    names = tell(world)
    a = web.get("/")
    page = Elements(a.body.decode())
    assert page.names == ELEMENTS and page.attributes <= {"lang", "charset"}
    assert [n for n in names if json.dumps(n, ensure_ascii=False)[1:-1] not in page.text] == []
    assert not set(a.body) & (set(range(32)) - {10}) and b"\x7f" not in a.body


def test_the_page_may_load_run_send_and_be_framed_by_nothing(world):
    a = Web(world).get("/")
    policy = dict(part.strip().split(" ", 1) for part in next(line for line in a.head.split("\r\n") if line.startswith("Content-Security-Policy"))[24:].split(";"))
    assert policy == {name: "'none'" for name in ("default-src", "base-uri", "form-action", "frame-ancestors")}
    for field in ("X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-store", "Cross-Origin-Resource-Policy: same-origin",
                  "Content-Type: text/html; charset=utf-8"):
        assert field in a.head


# -- a browser ---------------------------------------------------------------------------------------


class Trap:
    """Counts who asks it for anything."""

    def __init__(self):
        self.asked = []
        trap = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                trap.asked.append(self.path)
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def browse(world, url):
    """The page as the browser has it after everything on it has run."""
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={world.top}/browser",
                           "--virtual-time-budget=3000", "--dump-dom", url], capture_output=True, timeout=4 * HANG, env={**world.env, "HOME": str(world.home)})
    return done.stdout.decode()


@pytest.mark.skipif(not BROWSER, reason="needs a browser")
def test_a_browser_logs_in_runs_nothing_and_asks_nobody(world):
    trap = Trap()
    try:
        (world.top / "control.html").write_text(f"<img src=http://127.0.0.1:{trap.port}/image><script src=http://127.0.0.1:{trap.port}/script></script>")
        browse(world, f"file://{world.top}/control.html")
        wait_for(lambda: {"/image", "/script"} <= set(trap.asked), what="what a page without promises does")
        web, trap.asked = Web(world), []
        tell(world, trap.port)
        page = Elements(browse(world, f"{web.address}/login?code={web.code}"))
        assert page.names == ELEMENTS and "hookd sessions" in page.text and "<script" in page.text
        assert [path for path in trap.asked if path != "/favicon.ico"] == []
    finally:
        trap.close()
