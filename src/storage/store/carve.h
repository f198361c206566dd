/* carve: rows read from the bare pages of a file that SQLite can no longer make sense of; for store/ only. */
#ifndef HOOKD_STORE_CARVE_H
#define HOOKD_STORE_CARVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* A row of events as it was stored; texts are valid during the call. */
struct carved_event {
	int64_t seq, ord, at, session, marks;
	str id, kind, native, tool, tool_use_id, agent_id, host, payload;
	str block; /* set: payload is in it, at this place */
	unsigned place;
};

/* What other tables tell of an event: a tool call, something else in a timeline, or a prompt. */
struct carved_trace {
	int64_t seq, session, ord;    /* seq: of the event that made the row */
	int64_t started_at, ended_at; /* 0: that half of a call was not seen */
	bool is_call;
	str same, kind, tool, agent_id; /* same: a call's tool_use_id, or what it was given instead */
	str input, text, state;         /* JSON; output or prompt, shortened; of a call */
};

struct carve_sink {
	int (*event)(const struct carved_event *e, void *arg); /* < 0 ends it */
	void (*session)(int64_t key, str agent, str native, void *arg);
	void (*name)(int64_t seq, str id, void *arg);          /* an entry of the index of events; may be NULL */
	int (*trace)(const struct carved_trace *t, void *arg); /* as event; may be NULL */
	bool (*go_on)(void *arg);                              /* asked before each page */
	void *arg;
};

/* First all sessions, names and blocks, then all events, then all traces. wal: pages from the WAL beside it replace
 * those of the file. 0, or what the sink gave. */
int carve(const char *path, bool wal, const struct carve_sink *sink);

#endif
