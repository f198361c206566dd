"""GitHub Copilot CLI in a rig, with a provider of one's own instead of GitHub's."""

from rig import Agent


class Copilot(Agent):
    name = "copilot"
    program_env = "HOOKD_TEST_COPILOT"
    pins = "copilot-cli"

    @property
    def settings(self):
        return self.rig.home / ".copilot/hooks/hookd.json"

    def env(self, model):
        return self.rig.env(COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false", COPILOT_MODEL="scripted",
                            COPILOT_PROVIDER_BASE_URL=model.url + "/v1", COPILOT_PROVIDER_TYPE="openai",
                            COPILOT_PROVIDER_API_KEY="fake-copilot-0000000000")

    def argv(self, prompt, *more):
        return ["--no-color", "--disable-builtin-mcps", "--disable-client-telemetry", "--allow-all-tools",
                "--trust-folder", *more, "-p", prompt]
