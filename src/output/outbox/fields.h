/* fields: what may stand in a sink, in its criteria; for outbox/ only. A row says what a member must be, for which
 * types of sinks it is, and where it goes. */
#ifndef HOOKD_OUTBOX_FIELDS_H
#define HOOKD_OUTBOX_FIELDS_H

#include "outbox/outbox.h"

enum sink_field_type {
	SINK_FIELD_NAME,
	SINK_FIELD_TYPE,
	SINK_FIELD_BOOL,
	SINK_FIELD_INT,
	SINK_FIELD_URL,
	SINK_FIELD_FILE,    /* absolute, or from ~/ */
	SINK_FIELD_COMMAND, /* a list: a program and its arguments */
	SINK_FIELD_HEADERS, /* an object of texts */
	SINK_FIELD_EVENTS,  /* a list of names */
	SINK_FIELD_FORM,    /* "markdown" or "none" */
	SINK_FIELD_WHEN,    /* an object: the criteria */
	SINK_FIELD_KIND,    /* of what comes in: its type */
	SINK_FIELD_TEST,    /* a text, or a list of them */
	SINK_FIELD_TO,      /* an object: to whom it is told */
};

struct sink_field {
	const char *name;
	enum sink_field_type type;
	size_t offset;          /* in struct sink or struct inbound */
	unsigned types, needed; /* bits of enum sink_type: where it may stand, where it must */
	int64_t minimum, maximum;
	const char *text; /* what it must be, for messages */
};

extern const struct sink_field sink_fields[], inbound_fields[]; /* end with a row without a name */

#endif
