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
};

struct carve_sink {
	int (*event)(const struct carved_event *e, void *arg); /* < 0 ends it */
	void (*session)(int64_t key, str agent, str native, void *arg);
	bool (*go_on)(void *arg); /* asked before each page */
	void *arg;
};

/* First all sessions, then all events. wal: pages from the WAL beside it replace those of the file. 0, or what the
 * sink gave. */
int carve(const char *path, bool wal, const struct carve_sink *sink);

#endif
