/* outbox: events that go out: to a web server, a program, a file, a collector, a chat.
 *
 *   sinks.c      the user's `sinks`: read, checked, kept as a snapshot       fields.c   what may stand in one
 *   criteria.c   which events a sink wants
 *   mapping.c    what an agent's event is called outside, and what it must bring
 *   body.c       event → the body that is sent                               turn.c     the turn that a stop ends
 *   types.c      the types of sinks: how each writes and sends               webhook.c  exec.c  file.c  otlp.c  chat.c
 *   enqueue.c    in the fold's transaction: who wants it, is there room
 *   deliver.c    the threads that send
 *   state.c      how the sinks fare
 *   contracts.c  sinks that were added by an operation, for a time
 *   inbound.c    what may come in: whether it is signed, and what it says
 *
 * DESIGN (docs/decisions/0022-outbox.md, for users docs/outbox.md). What a sink wants becomes a job of kind `deliver`
 * (jobs/) in the transaction that stores the event; its body is made then, from what was stored, and never changes.
 * Once that is committed, threads of the outbox send: at most OUTBOX_AT_ONCE at a time, of each session of a sink
 * only the oldest. Each sink can always have one, so that one which hangs holds up no other. How it ended is stored
 * before the next one of that session goes out. So a delivery is made at least once, in order, and one that is made
 * again carries the same key.
 *
 *   event ─▶ journal ─▶ fold: outbox_tell() ─commit─▶ outbox_committed() ─▶ thread: head of a stream ─▶ send ─▶ end
 *
 * Without sinks nothing is asked about events, no thread exists and nothing is written.
 *
 * A sink that fails is left alone for longer and longer; each failure is a try of one delivery, and after ten a
 * delivery is dead. After OUTBOX_BREAK failures in a row one delivery at a time is tried, so that an hour without the
 * sink does not give up everything that waits. What is wrong here (no key file, no curl, a full disk) costs no try.
 *
 * Sinks come from the user's file alone, never from a project's, and change when a person asks for it (hookd reload)
 * or at the next start. */
#ifndef HOOKD_OUTBOX_OUTBOX_H
#define HOOKD_OUTBOX_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "event/event.h"
#include "json/json.h"
#include "store/store.h"

enum {
	SINKS_MAX = 16,
	SINK_NAME = 32,
	SINK_PROBLEMS_MAX = 50,
	SINK_WORDS = 32,  /* of a command, a list of names, a list of values */
	SINK_HEADERS = 4, /* of one's own */
	SINK_PROPERTIES = 16,
	INBOUND_MAX = 16,
	INBOUND_BODY = 1 << 20,
	INBOUND_WINDOW_S = 300,     /* how old, or how far ahead, a signature may be */
	OUTBOX_AT_ONCE = SINKS_MAX, /* deliveries on their way: one for each sink, whatever the others do */
	OUTBOX_OF_SINK = 2,         /* for one sink, of different sessions, while that leaves one for each other sink */
	OUTBOX_BREAK = 3,
	OUTBOX_BODY = 256 << 10,
	OUTBOX_SAMPLES = 512, /* lags that percentiles are made of, for each sink */
};

/* -- what goes out ----------------------------------------------------------------------------- */

/* The types of events that every sink may expect; anything else has its canonical name as its type. */
enum outbox_type {
	OUTBOX_SESSION_START,
	OUTBOX_PROMPT,
	OUTBOX_STOP,
	OUTBOX_NOTIFICATION,
	OUTBOX_SESSION_END,
	OUTBOX_ERROR,   /* one of those that lacks what it must bring; or a turn that failed */
	OUTBOX_SUMMARY, /* a session was summarized: no event, and only for who names it */
	OUTBOX_OTHER,
	OUTBOX_TYPE_MAX,
};

struct outbox_type_info {
	const char *name; /* NULL: that of the event */
	bool critical;    /* never dropped, and nothing takes its place */
	bool unasked;     /* a sink that names nothing gets it */
	const char *text;
};
extern const struct outbox_type_info outbox_types[OUTBOX_TYPE_MAX];

/* What an event must bring. */
enum {
	NEEDS_SESSION = 1 << 0,
	NEEDS_TRANSCRIPT = 1 << 1,
	NEEDS_PROMPT = 1 << 2,
};

/* What an event is outside. False: it goes to nobody. */
struct outbox_meaning {
	enum outbox_type type;
	enum outbox_type meant; /* OUTBOX_ERROR: what it would have been, OUTBOX_ERROR again if it failed */
	unsigned missing;       /* NEEDS_* */
};
bool outbox_understand(const struct event *e, const struct record *r, struct outbox_meaning *ret);

/* An event as it is written: with what is known of its session and turn. */
struct outbox_notice {
	struct outbox_meaning meaning;
	str type; /* its name */
	const struct event *event;
	str id, event_id, session_id; /* the delivery's key; the event's; our name of the session */
	str agent, event_name, native_event;
	int64_t at_us;
	str project, project_path;
	str native_session, transcript_path, cwd, model, notification_type;
	str prompt, answer, message, heading, title, summary, transcript;
	str text; /* what was said */
	str stop; /* the event that ended the last turn of what was summarized */
	const struct json *seq, *final, *skipped_bytes;
	str inbound_type, inbound_at; /* what came in */
	const struct json *properties;
	const struct json *details;
	str why;
};

/* A name of a session that is the same for ever, whatever becomes of the store: a UUID. */
enum { OUTBOX_SESSION_ID = 36 };
void outbox_session_id(str agent, str native, char ret[OUTBOX_SESSION_ID + 1]);

/* -- sinks ------------------------------------------------------------------------------------- */

enum sink_type { SINK_WEBHOOK, SINK_EXEC, SINK_FILE, SINK_OTLP, SINK_NTFY, SINK_SLACK, SINK_TYPE_MAX };

struct sink_words {
	str words[SINK_WORDS];
	size_t n;
};

/* What a value must be: one of these, with * for anything; or there at all; or not there. */
struct sink_test {
	str property;
	enum { TEST_NONE, TEST_ONE_OF, TEST_THERE, TEST_ABSENT } how;
	struct sink_words values;
};

/* Everything that is given must hold. */
struct sink_criteria {
	struct sink_test type, agent, project;
	struct sink_test *properties;
	size_t n;
};

struct sink {
	str name;
	enum sink_type type;
	bool enabled, markdown;
	bool types[OUTBOX_TYPE_MAX]; /* wanted; OTHER: by kind */
	uint64_t kinds;              /* canonical events that are named: bits */
	uint64_t hears;              /* of all that may become something for it */
	bool contract;               /* added by an operation, not by the user's file */
	int64_t expires_s;           /* seconds since 1970; 0: never */
	struct sink_criteria when;
	int64_t timeout_s, max_mb;
	str url, topic;
	str secret_file, token_file, path; /* absolute */
	struct sink_words command;
	str headers[SINK_HEADERS]; /* "Name: value" */
	size_t nheaders;
	unsigned line;
};

/* What may come in from elsewhere, at POST /hooks/inbound/NAME. */
enum inbound_type { INBOUND_GENERIC, INBOUND_GITHUB, INBOUND_TYPE_MAX };

struct inbound {
	str name;
	enum inbound_type type;
	bool enabled;
	str secret_file; /* absolute */
	struct sink_test events;
	struct sink_criteria when; /* type and properties */
	struct {
		struct sink_test session, agent, project;
	} to; /* whom it is told; without any of them nobody */
	unsigned line;
};

struct sink_problem {
	struct sink_problem *next;
	struct err err;
};

/* Immutable, and counted. */
struct sinks {
	unsigned refs;
	struct arena arena;
	struct sink *list[SINKS_MAX];
	size_t n;
	uint64_t kinds; /* of events that any of them may want: bits */
	struct inbound *inbound[INBOUND_MAX];
	size_t ninbound;
	struct sink_problem *problems;
	unsigned nproblems;
};

/* Reads the sinks of a config file. What is wrong with one leaves it out and is a problem; home: for ~/. Never NULL. */
struct sinks *sinks_parse(str text, const char *home);
/* The same from a file, and from one with contracts (NULL: without); one that is not there has none. NULL, with err:
 * it cannot be read. */
struct sinks *sinks_load(const char *path, const char *contracts, const char *home, struct err *err);
struct sinks *sinks_ref(struct sinks *s);
void sinks_unref(struct sinks *s);
const struct sink *sinks_find(const struct sinks *s, str name);

extern const char *const sink_type_names[SINK_TYPE_MAX];
extern const char *const inbound_type_names[INBOUND_TYPE_MAX];

/* Whether a sink wants this notice. */
bool sink_wants(const struct sink *s, const struct outbox_notice *n);

/* The body as this sink gets it, at most OUTBOX_BODY bytes. */
void sink_write(const struct sink *s, const struct outbox_notice *n, struct buf *ret);

/* An object for programs: which types of events there are, and which members their data may have. */
void outbox_write_vocabulary(struct json_writer *w);

/* -- what comes in ----------------------------------------------------------------------------- */

/* A request as it came. */
struct inbound_request {
	str signature; /* of the header that the type has */
	str timestamp; /* seconds since 1970, as text; not with GitHub */
	str delivery, event;
	str body;
};

const struct inbound *inbound_find(const struct sinks *s, str name);

/* Whether it was signed with the secret of this one, and within the window. -EPERM: it was not; -ESTALE: its time is
 * past; else our side is to blame: err. ret: its digest, the same whenever the same is sent. Reads the secret's
 * file. */
int inbound_check(const struct inbound *in, const struct inbound_request *q, int64_t now_us, uint8_t ret[SHA256_BYTES],
	struct err *err);
/* The payload of an Inbound event: {source, type, timestamp, properties}. -EBADMSG: no JSON object; -ENOENT: it is not
 * one of those that are wanted. */
int inbound_normalise(const struct inbound *in, const struct inbound_request *q, int64_t now_us, struct arena *a,
	str *ret);
/* Whether it is for this session, by its agent and the project's path. */
bool inbound_is_for(const struct inbound *in, str agent, str session, str cwd);
bool inbound_tells(const struct inbound *in);

/* -- the outbox -------------------------------------------------------------------------------- */

struct outbox;

/* What is in force now; to be given back with sinks_unref(). Any thread. */
struct sinks *outbox_sinks(struct outbox *o);

/* Everything in it outlives the outbox. */
struct outbox_config {
	const char *config;    /* the user's file */
	const char *contracts; /* hookd's own: sinks that operations added */
	const char *home;      /* the user's */
	int64_t max;           /* deliveries that may wait for one sink */
};

/* Before the writer is started, because it tells us what is new. */
struct outbox *outbox_new(const struct outbox_config *config);
/* From now on things are sent, first what waits from before. */
void outbox_start(struct outbox *o, struct writer *w, struct readers *r);
/* Ends what is on its way; nothing is sent any more. Does not wait. */
void outbox_stop(struct outbox *o);
/* Stops, and waits for the threads; while the writer still runs. */
void outbox_join(struct outbox *o);
void outbox_free(struct outbox *o);

/* Takes up the sinks as they are in the file now. -errno: those in force stay; err says why. *ret_problems: how many
 * parts of them are ignored. Blocks. */
int outbox_reload(struct outbox *o, unsigned *ret_problems, struct err *err);

/* Adds a sink (or replaces one that was added so), or takes one away: kept in a file, and in force at once. Blocks.
 * -EINVAL, -EEXIST, -ENOENT or what the disk says, with err. */
int contract_add(struct outbox *o, str name, str entry, struct err *err);
int contract_remove(struct outbox *o, str name, struct err *err);

/* Bits of the kinds of events that may be wanted. Changes under whoever looks. */
const _Atomic uint64_t *outbox_kinds(const struct outbox *o);
/* Those of them that are folded at once: a sink that has failed several times in a row can wait. */
const _Atomic uint64_t *outbox_urgent(const struct outbox *o);

/* For capture_listen(); arg is the outbox. On the writer thread. */
struct captured;
bool outbox_wants(const struct record *r, void *arg);
int outbox_tell(struct store *s, const struct captured *what, void *arg);
void outbox_forget(void *arg);
/* A session has a summary, by "rules" or by a "model": in the transaction that stores it. 0 or -errno. */
int outbox_tell_summary(struct outbox *o, struct store *s, int64_t session, str source);
/* After a commit, on the writer thread. */
void outbox_committed(struct outbox *o);
/* Deliveries may have been changed otherwise (retried, dropped, purged): a job of the writer, in their transaction or
 * in another. 0 or -errno. */
int outbox_recount(struct outbox *o, struct store *s);

/* {…} of each sink that is configured, from any thread: what it is and how it fares. */
void outbox_write_state(struct outbox *o, struct json_writer *w);
bool outbox_has_sinks(struct outbox *o);
/* Parts of the sinks in the file that are ignored. */
unsigned outbox_problems(struct outbox *o);

/* Sends a test event, at once and without the queue. Blocks. -ENOENT: there is no such sink. */
struct outbox_trial {
	bool delivered;
	int64_t took_us;
	char text[200]; /* why not */
};
int outbox_try(struct outbox *o, str name, struct outbox_trial *ret);

/* What would keep a sink from working that can be seen without sending anything. False: text says what. */
bool sink_check(const struct sink *s, char text[200]);

#endif
