// hookd: tells hookd what opencode does, and carries out what hookd answers.
// Written by `hookd init`, taken out by `hookd uninstall`. Changes made here are lost.
import { spawn, spawnSync } from "node:child_process"

const HOOKC = "@HOOKC@"
const STATE = "@STATE@"
const LIMIT_MS = 30000 // no answer by then is none: a plugin that waits stops the agent
const KEPT = 1000      // sessions and calls that are remembered

const argv = (event) => ["--dir", STATE, "opencode", event]

function read(text) {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

// For what waits for an answer.
function ask(event, body) {
  return new Promise((done) => {
    try {
      const child = spawn(HOOKC, argv(event), { stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS)
      const chunks = []
      child.stdout.on("data", (chunk) => chunks.push(chunk))
      child.stdin.on("error", () => {})
      child.on("error", () => { clearTimeout(timer); done({}) })
      child.on("close", () => { clearTimeout(timer); done(read(Buffer.concat(chunks).toString())) })
      child.stdin.end(JSON.stringify(body))
    } catch {
      done({})
    }
  })
}

// For what has happened. It returns when hookd has it: opencode may be about to exit.
function tell(event, body) {
  try {
    const done = spawnSync(HOOKC, argv(event),
      { input: JSON.stringify(body), stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT_MS })
    return read(String(done.stdout ?? ""))
  } catch {
    return {}
  }
}

function remember(map, key, value) {
  if (map.size >= KEPT) map.delete(map.keys().next().value)
  map.set(key, value)
}

const context = (answer) => answer.hookSpecificOutput?.additionalContext

export const hookd = async ({ directory }) => {
  const parents = new Map() // a subagent's session -> the session that started it
  const sessions = new Map() // that began or had a prompt here
  const texts = new Map() // session -> its last answer
  const waiting = new Map() // session -> context for its next prompt
  const known = new Map() // calls whose failure needs no report: refused by us, or reported

  const root = (session) => {
    for (let n = 0; n < 20 && parents.has(session); n++) session = parents.get(session)
    return session
  }
  const about = (session, rest) => ({ directory, rootID: root(session), ...rest })

  const failed = (part) => {
    if (part?.type !== "tool" || part.state?.status !== "error" || known.has(part.callID)) return
    remember(known, part.callID, true)
    tell("tool.execute.error", about(part.sessionID, {
      input: { tool: part.tool, sessionID: part.sessionID, callID: part.callID, args: part.state.input },
      error: String(part.state.error ?? ""),
    }))
  }

  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "message.part.updated") return failed(event.properties.part)
      if (!session) return
      if (event.type === "session.created") {
        const parent = event.properties.info?.parentID
        if (parent) remember(parents, session, parent)
        else remember(sessions, session, true)
        const text = context(tell(event.type, about(session, { input: event })))
        if (text) remember(waiting, session, text)
      } else if (event.type === "session.idle") {
        tell(event.type, about(session, { input: event, text: texts.get(session) }))
      } else if (["session.error", "session.compacted", "permission.asked"].includes(event.type)) {
        tell(event.type, about(session, { input: event }))
      } else if (event.type === "session.deleted") {
        sessions.delete(session)
        tell(event.type, about(session, { input: event, reason: "deleted" }))
      }
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID
      if (!parents.has(session)) remember(sessions, session, true)
      const answer = await ask("chat.message", about(session, { input, output }))
      const text = [waiting.get(session), context(answer)].filter(Boolean).join("\n\n")
      waiting.delete(session)
      const first = output.parts[0]
      if (text && first) output.parts.push({ ...first, id: first.id + "h", type: "text", text, synthetic: true })
    },
    "tool.execute.before": async (input, output) => {
      const answer = await ask("tool.execute.before", about(input.sessionID, { input, output }))
      const said = answer.hookSpecificOutput ?? {}
      if (said.permissionDecision === "deny") {
        remember(known, input.callID, true)
        throw new Error(said.permissionDecisionReason)
      }
      if (said.updatedInput) {
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, said.updatedInput)
      }
    },
    "tool.execute.after": async (input, output) => {
      const text = context(await ask("tool.execute.after", about(input.sessionID, { input, output })))
      if (text && typeof output.output === "string") output.output += "\n\n" + text
    },
    "experimental.text.complete": async (input, output) => {
      remember(texts, input.sessionID, output.text)
    },
    "experimental.session.compacting": async (input) => {
      tell("session.compacting", about(input.sessionID, { input }))
    },
    dispose: async () => {
      for (const session of sessions.keys()) tell("session.end", about(session, { input: { sessionID: session }, reason: "exit" }))
      sessions.clear()
    },
  }
}
