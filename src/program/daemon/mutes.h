/* mutes: whether any session is private, without asking the disk at every event.
 *
 * `hookd offline` marks sessions as private as well. As long as the directory of its marks is watched and there are
 * none, redact/ skips the question. Everything here is called on the loop thread; the disk is asked by workers. */
#ifndef HOOKD_DAEMON_MUTES_H
#define HOOKD_DAEMON_MUTES_H

#include "loop/loop.h"

struct mutes;

struct mutes *mutes_new(struct loop *l, const char *run_dir);
/* After mutes_lost(), and after the loop with its workers is gone. */
void mutes_free(struct mutes *m);

/* Looks for marks, and begins to watch if it does not yet. */
void mutes_look(struct mutes *m);
/* The directory may have been removed: stops watching until the next look. */
void mutes_lost(struct mutes *m);

#endif
