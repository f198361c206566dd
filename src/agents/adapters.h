/* adapters: the rows of agents[], for agents.c only. */
#ifndef HOOKD_AGENTS_ADAPTERS_H
#define HOOKD_AGENTS_ADAPTERS_H

#include "agents/agents.h"

extern const struct agent agent_claude, agent_codex, agent_gemini, agent_cursor, agent_copilot, agent_qwen,
	agent_opencode, agent_windsurf, agent_generic;

/* The members every agent of the Claude family shares. */
extern const struct json_field generic_fields[];

#endif
