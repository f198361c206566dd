"""opencode in a rig."""

import json

from rig import Agent


class Opencode(Agent):
    name = "opencode"
    program_env = "HOOKD_TEST_OPENCODE"
    pins = "opencode"

    @property
    def settings(self):
        return self.rig.home / ".config/opencode/plugins/hookd.js"

    def env(self, model):
        options = {"baseURL": model.url + "/v1", "apiKey": "fake-opencode-0000000000"}
        models = {"scripted": {"name": "scripted", "tool_call": True, "limit": {"context": 100000, "output": 4000}}}
        (self.rig.project / "opencode.json").write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "model": "fake/scripted", "small_model": "fake/scripted",
            "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options,
                                  "models": models}}}))
        return self.rig.env(OPENCODE_DISABLE_AUTOUPDATE=1, OPENCODE_DISABLE_MODELS_FETCH=1,
                            OPENCODE_DISABLE_LSP_DOWNLOAD=1, OPENCODE_DISABLE_DEFAULT_PLUGINS=1,
                            # It installs packages when it starts, and would wait for a network.
                            npm_config_offline="true", npm_config_fetch_retries=0)

    def argv(self, prompt, *more):
        return ["run", "--model", "fake/scripted", *more, prompt]
