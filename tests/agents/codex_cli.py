"""Codex CLI in a rig. What it needs to reach the scripted model is given on its command line, so that
config.toml holds only what a test puts there."""

import contextlib
import json
import select
import subprocess
import time

from rig import RUN_SECONDS, Agent

FAKE_KEY = "sk-" + "fake-codex-0000000000"
# What a person's file may look like; the table at the end keeps the CLI from asking about the folder.
CONFIG = ('# mine\r\nmodel   = "gpt-5.5"  # a name, nothing more\r\n'
          'check_for_update_on_startup = false\r\ncli_auth_credentials_store = \'file\'\r\n\r\n'
          '[analytics]\r\nenabled = false\r\n[feedback]\r\nenabled = false\r\n'
          '[otel]\r\nmetrics_exporter = "none"\r\n'
          # It would wait five seconds at the end for a list of plugins from the network.
          '[features]\r\nplugins = false\r\n\r\n'
          '[projects."@PROJECT@"]\r\ntrust_level = "trusted"')
BYPASS = "--dangerously-bypass-hook-trust"  # trusts every hook, for one run


class Codex(Agent):
    name = "codex"
    program_env = "HOOKD_TEST_CODEX"
    pins = "codex"

    @property
    def folder(self):
        return self.rig.home / ".codex"

    @property
    def hooks(self):
        return self.folder / "hooks.json"

    @property
    def config(self):
        return self.folder / "config.toml"

    def prepare(self):
        self.folder.mkdir(exist_ok=True)
        self.config.write_bytes(CONFIG.replace("@PROJECT@", str(self.rig.project)).encode())

    def env(self, model):
        return self.rig.env(FAKE_KEY=FAKE_KEY)

    @staticmethod
    def options(model):
        values = {
            "model_provider": "scripted", "model_providers.scripted.name": "scripted",
            "model_providers.scripted.base_url": model.url + "/v1",
            "model_providers.scripted.wire_api": "responses",
            "model_providers.scripted.env_key": "FAKE_KEY",
            # A scripted error is meant; trying again would use up the next step.
            "model_providers.scripted.request_max_retries": 0,
            "model_providers.scripted.stream_max_retries": 0,
            "features.enable_request_compression": False,
            # Its own sandbox cannot be set up below /tmp.
            "sandbox_mode": "danger-full-access",
        }
        return [word for key, value in values.items() for word in ("-c", f"{key}={json.dumps(value)}")]

    def ask(self, model, prompt, *more, env=None, seconds=RUN_SECONDS):
        return self.run(model, "exec", *self.options(model), *more, prompt, env=env, seconds=seconds)

    # -- trust -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def server(self):
        """Its app-server, which the /hooks screen of the CLI itself asks: call(method, params)."""
        log = open(self.rig.root / "app-server.log", "wb")
        p = subprocess.Popen([self.program, "app-server"], env=self.env(None), cwd=self.rig.project,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        pending, last = b"", 0

        def read_line(end):
            nonlocal pending
            while b"\n" not in pending:
                left = end - time.monotonic()
                assert left > 0 and select.select([p.stdout], [], [], left)[0], "codex does not answer"
                piece = p.stdout.read1(65536)
                assert piece, "codex ended"
                pending += piece
            line, _, pending = pending.partition(b"\n")
            return json.loads(line)

        def send(**message):
            p.stdin.write(json.dumps(message).encode() + b"\n")
            p.stdin.flush()

        def call(method, **params):
            nonlocal last
            last += 1
            send(id=last, method=method, params=params)
            end = time.monotonic() + 20
            while (answer := read_line(end)).get("id") != last:
                pass
            assert "result" in answer, answer
            return answer["result"]

        try:
            call("initialize", clientInfo={"name": "t", "title": "t", "version": "0"},
                 capabilities={"experimentalApi": True})
            send(method="initialized")
            yield call
        finally:
            p.stdin.close()
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait(10)
            p.stdout.close()
            log.close()

    def known_hooks(self):
        """Every hook that the CLI itself found, with its own word about trust."""
        with self.server() as call:
            [found] = call("hooks/list", cwds=[str(self.rig.project)])["data"]
        assert not found["errors"], found
        return found["hooks"]

    def trust_hooks(self):
        """What a person does with /hooks: all that are there now."""
        with self.server() as call:
            [found] = call("hooks/list", cwds=[str(self.rig.project)])["data"]
            state = {h["key"]: {"trusted_hash": h["currentHash"]} for h in found["hooks"]}
            call("config/batchWrite", reloadUserConfig=True, edits=[
                {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}])
