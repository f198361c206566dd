/* otlp: OpenTelemetry's log records, and what of them is news about an agent.
 *
 * DESIGN. Exporters send batches of log records over HTTP, as protobuf or JSON, plain or in gzip. They are reports
 * after the fact: nobody waits for a verdict, and a batch that was not acknowledged is sent again. So this module only
 * reads; it starts no hook and keeps no state. The steps:
 *
 *   otlp_gunzip()   bytes of the body, at most OTLP_BODY_MAX of them
 *   otlp_read()     one record after the other; if it fails, the batch is refused as a whole, and what was handed over
 *                   must be forgotten
 *   otlp_hook()     what the record is in the words of the agent's own hook: event name and payload, which the agent's
 *                   adapter then understands like any other; most records are none (each piece of a streamed answer is
 *                   one) and are only counted
 *
 * An id is made from what a record says and when, whatever the encoding, so a batch that is sent twice changes nothing.
 *
 * Refused are bad varints, field 0, groups, lengths that lead outside, values nested deeper than OTLP_DEPTH_MAX, and
 * more than OTLP_RECORDS_MAX records (an empty one takes two bytes). Unknown fields are skipped. Memory is bounded by
 * the largest record, not by the batch. */
#ifndef HOOKD_OTLP_OTLP_H
#define HOOKD_OTLP_OTLP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/ulid.h"

enum {
	OTLP_BODY_MAX = 16 << 20,
	OTLP_GZIP_MAX = 4 << 20, /* of a compressed body; text shrinks to a fifth and less */
	OTLP_RECORDS_MAX = 65536,
	OTLP_ATTRIBUTES_MAX = 64, /* Codex has at most 25; more are checked and dropped */
	OTLP_DEPTH_MAX = 16,
};

/* -- gzip.c ------------------------------------------------------------------------------------ */

/* The whole of a gzip body: all members one after the other. -E2BIG: more than max bytes, noticed without keeping
 * them; -EBADMSG: it is cut short, damaged, or followed by something else. The caller releases ret. */
int otlp_gunzip(str in, size_t max, struct buf *ret);

/* -- protobuf.c, json.c ------------------------------------------------------------------------ */

enum otlp_type { OTLP_PROTOBUF, OTLP_JSON };

/* A value is a text, or a number, or something nested, which nobody here asks for. */
struct otlp_attribute {
	str key;
	enum { OTLP_NONE, OTLP_TEXT, OTLP_INT, OTLP_BOOL, OTLP_OTHER } type;
	str text;
	int64_t number;
};

/* One log record; its bytes live until the callback returns. */
struct otlp_record {
	uint64_t time_ns, observed_ns;
	size_t nattributes;
	struct otlp_attribute attributes[OTLP_ATTRIBUTES_MAX];
};

struct otlp_reading {
	size_t records; /* how many there are */
	/* NULL: only check. */
	void (*record)(const struct otlp_record *r, void *arg);
	void *arg;
};

/* 0; -EBADMSG: not what its type says; -E2BIG: too many records, or nested too deeply. Then what was handed over so far
 * is void. */
int otlp_read(str body, enum otlp_type type, struct otlp_reading *reading);

/* The same for one type. */
int otlp_read_protobuf(str body, struct otlp_reading *reading);
int otlp_read_json(str body, struct otlp_reading *reading);

/* NULL: there is none. */
const struct otlp_attribute *otlp_find(const struct otlp_record *r, str key);
/* Its text, or STR_NONE. */
str otlp_text(const struct otlp_record *r, const char *key);
/* A number, also one that is written as a text; false: neither. */
bool otlp_number(const struct otlp_record *r, const char *key, int64_t *ret);

/* -- codex.c ----------------------------------------------------------------------------------- */

/* How the ids of tokens begin that were reported in this way. Transcripts report the same ones by the answer's own id;
 * see capture/usage.c. */
#define OTLP_MESSAGE "otlp:"

/* A record as the agent's hook would have reported it. */
struct otlp_hook {
	struct ulid id;
	int64_t at_us; /* 0: it does not say */
	const char *agent;
	const char *event; /* its name in the agent's table of events */
	bool is_usage;     /* tokens: an event of hookd's own kind */
	str payload;       /* in the arena */
};

/* False: it is nothing that a hook would report. */
bool otlp_hook(const struct otlp_record *r, struct arena *a, struct otlp_hook *ret);

#endif
