/* capture: records become rows a person can find again.
 *
 * capture_fold() is the one way into the store: live events, replay after a crash and spool pickup
 * all come through it, in any order and any number of times. Row one is `events`, keyed by the ULID;
 * a record whose key is there already changes nothing. Everything else is a projection with a unique
 * native key (session; session and tool_use_id), written so that the order of arrival does not
 * matter.
 *
 * Runs on the writer thread, inside its transaction. */
#ifndef HOOKD_CAPTURE_CAPTURE_H
#define HOOKD_CAPTURE_CAPTURE_H

#include "event/event.h"
#include "store/store.h"

/* 1: new; 0: seen before; -errno: the transaction must be rolled back. */
int capture_fold(struct store *s, const struct record *r);

#endif
