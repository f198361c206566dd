/* spawn: starting the daemon from outside. Apart from daemon.h, because `hookd offline` uses this and
 * must not link what the daemon is made of. */
#ifndef HOOKD_DAEMON_SPAWN_H
#define HOOKD_DAEMON_SPAWN_H

#include <stdbool.h>

#include "base/err.h"
#include "config/paths.h"

/* File descriptor on which `hookd run --detached` reports how its start went: "+" when it listens, "=" and a
 * text when another daemon has the lock, "-" and a text when it failed. */
enum { SPAWN_READY_FD = 3 };

/* All of the daemon's environment, whoever starts it: the user's home, a fixed PATH, language and time zone. From
 * malloc, with a NULL at its end. */
char **daemon_environment(const struct paths *p);

/* Somebody holds the daemon's lock: it is alive, or starting. */
bool daemon_has_lock(const struct paths *p);

/* Starts `self run --detached --dir STATE` in a session of its own, with none of the caller's file descriptors, and
 * waits up to timeout_ms until it listens (0: does not wait). -EEXIST: another one is already running. err has the
 * message. */
int daemon_spawn(const char *self, const struct paths *paths, int timeout_ms, struct err *err);

#endif
