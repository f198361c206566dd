"""What the tests of efforts share: an agent in a project, told of by its hooks."""
import json
import uuid

from world import wait_for


class Agent:
    """One agent with one session; calls its hooks as Claude Code does."""

    def __init__(self, world, cwd, session=None, agent="claude", env=None):
        self.world, self.cwd, self.agent, self.env = world, cwd, agent, env or {}
        self.session = session or uuid.uuid4().hex
        self.n = 0

    def say(self, event, **more):
        """(exit code, what the hook printed as JSON, or {})"""
        payload = {"session_id": self.session, "hook_event_name": event, "cwd": str(self.cwd), **more}
        done = self.world.hookc(event, payload, agent=self.agent, env=self.env)
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def start(self, source="startup", **more):
        return context(self.say("SessionStart", source=source, **more))

    def end(self, reason="other"):
        return self.say("SessionEnd", reason=reason)

    def prompt(self, text="go on"):
        return context(self.say("UserPromptSubmit", prompt=text))

    def call(self, tool, sub=None, **given):
        """Before and after a call: why it was denied, or None; and all context."""
        self.n += 1
        who = {"agent_id": sub, "agent_type": "general-purpose"} if sub else {}
        use = {"tool_name": tool, "tool_input": given, "tool_use_id": f"{self.session}-{self.n}", **who}
        before = self.say("PreToolUse", **use)
        self.texts = [context(before)]
        said = before.get("hookSpecificOutput", {})
        if said.get("permissionDecision") == "deny":
            return said["permissionDecisionReason"]
        self.texts.append(context(self.say("PostToolUse", tool_response={"stdout": ""}, **use)))
        return None

    def bash(self, command, **kw):
        return self.call("Bash", command=command, **kw)

    def read(self, path, **kw):
        return self.call("Read", file_path=str(path), **kw)

    def edit(self, path, **kw):
        return self.call("Edit", file_path=str(path), old_string="a", new_string="b", **kw)

    def hookd(self, *args, **kw):
        """Runs `hookd …` as a call of this agent: its hooks hear of it, and it really runs."""
        denied = self.bash("hookd " + " ".join(quoted(a) for a in args), **kw)
        assert denied is None, denied
        return self.world.hookd(*args, cwd=self.cwd, env={**self.env, "CLAUDE_CODE_SESSION_ID": self.session})


def quoted(word):
    return "'" + str(word).replace("'", "'\\''") + "'"


def context(answer):
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def effort(world, *args, ok=True, **kw):
    """The answer of one `hookd effort …`, or what it says when it fails."""
    done = world.hookd("effort", *args, "--json", ok=ok, **kw)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.decode()


def begin(world, cwd, skill="review", *args, **kw):
    return effort(world, "start", skill, *args, cwd=cwd, **kw)


def metadata(**members):
    return ["--metadata", json.dumps(members)]


def windows(world, uid):
    return effort(world, "show", uid)["windows"]


def messages(world, uid, kind):
    return [m["text"] for m in effort(world, "show", uid)["messages"] if m["kind"] == kind]


def skill(root, name, text):
    folder = root / ".hookd/skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text)
    return folder


def until_loaded(world):
    """The daemon reads the active efforts once after its start; until then it gates nothing."""
    wait_for(lambda: world.rpc("hello"), what="the daemon")
