"""Gemini CLI in a rig."""

from rig import Agent

FAKE_KEY = "fake-gemini-0000000000"
# What a person's file may look like: comments and all.
SETTINGS = """{
  // No question about the way to log in, nothing sent anywhere.
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "general":{"enableAutoUpdate":false, "enableAutoUpdateNotification":false},
  "privacy": { "usageStatisticsEnabled": false }, /* really */
  "telemetry": {"enabled": false}
}
"""


class Gemini(Agent):
    name = "gemini"
    program_env = "HOOKD_TEST_GEMINI"
    pins = "gemini-cli"

    @property
    def settings(self):
        return self.rig.home / ".gemini/settings.json"

    def prepare(self):
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_text(SETTINGS)

    def env(self, model):
        return self.rig.env(GOOGLE_GEMINI_BASE_URL=model.url, GEMINI_API_KEY=FAKE_KEY,
                            GEMINI_CLI_TRUST_WORKSPACE="true")

    def argv(self, prompt, *more):
        # A model by name: otherwise it asks another one first which to take.
        return ["-m", "gemini-2.5-flash", "--approval-mode=yolo", *more, "-p", prompt]
