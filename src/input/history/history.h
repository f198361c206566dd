/* history: turns what agents wrote to disk themselves into records, as if their hooks had reported it.
 *
 * DESIGN. transcript/ reads files; capture/ folds records. This module connects them: every item of a transcript is
 * put into the form that the agent's own hook would have sent (so that one adapter understands both), goes through
 * redact() like any event, and gets a key made from what it is (agent, session, kind, the item's own id) instead of a
 * random one. Reading a file again gives the same records with the same keys, and a known key changes nothing, so
 * importing twice or stopping half-way is harmless.
 *
 * Times: the order of lines is the order of events, also within one millisecond; where the clock of a
 * file stands still or steps back a little, a microsecond is added.
 *
 * Long outputs are cut: the transcript has them, and projections need only their beginning. */
#ifndef HOOKD_HISTORY_HISTORY_H
#define HOOKD_HISTORY_HISTORY_H

#include "base/err.h"
#include "base/macro.h"
#include "event/event.h"
#include "redact/redact.h"
#include "transcript/transcript.h"

struct history;

/* As transcript_open(), whose request it takes; q->state is one of history_position(). The redactor must outlive it. */
int history_open(const struct transcript_request *q, struct redactor *redactor, struct history **ret, struct err *err);
void history_close(struct history *h);
DEFINE_FREEP(struct history, history_close);

/* 1: a record, valid until the next call; 0: the end for now; -errno. */
int history_next(struct history *h, struct record *ret);

/* Where the records handed out so far end; strings live until the next call on h. */
void history_position(struct history *h, struct transcript_position *ret);

const struct transcript *history_transcript(const struct history *h);

/* -- frames: what goes to the daemon ----------------------------------------------------------- */

/* The head of a RECORDS frame, as JSON. */
void history_write_head(struct history *h, const char *path, struct buf *b);

#endif
