/* daemon: puts the parts together, runs them, and shuts them down in the right order.
 *
 * Start: directories, lock, log, journal, sockets, and from then on events are accepted, decided and acknowledged;
 * meanwhile the writer thread opens, migrates and replays the store. One daemon per state directory: the lock is held
 * for the life of the process, and a stale socket is removed only under it.
 *
 * Stop: no new connections, open turns are answered, the journal is synced, the store is closed.
 * A stop takes at most two seconds even when something hangs; what was acknowledged is in the journal. */
#ifndef HOOKD_DAEMON_DAEMON_H
#define HOOKD_DAEMON_DAEMON_H

#include <stdbool.h>

#include "base/err.h"
#include "config/paths.h"
#include "engine/engine.h"

struct daemon_options {
	bool foreground; /* log to stderr as well */
	/* Called once it listens: a parent may be waiting for that. */
	void (*ready)(void *arg);
	void *arg;
};

/* Runs until stopped. -EEXIST: another daemon has the lock. err has the message. */
int daemon_run(const struct paths *paths, const struct daemon_options *how, struct err *err);

/* What the janitor does, for doctor. */
extern const struct duty daemon_duties[];

#endif
