/* encoding: the thread that gives memories their vectors, when the machine has nothing better to do. For daemon/ only.
 *
 * It is started when there is something to do and ends when there is not. It has the least claim to the processor and
 * waits while the machine is busy or on battery, unless somebody waits for it (memories_hurry()). */
#ifndef HOOKD_DAEMON_ENCODING_H
#define HOOKD_DAEMON_ENCODING_H

#include "memory/memory.h"
#include "store/store.h"

struct encoding;

struct encoding *encoding_new(struct readers *r);
/* Waits until the thread has ended: at most for one text. */
void encoding_free(struct encoding *e);

/* From any thread. */
void encoding_add(struct encoding *e, struct memories *m, int64_t project);

#endif
