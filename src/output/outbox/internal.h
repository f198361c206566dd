/* What the files of outbox/ share. */
#ifndef HOOKD_OUTBOX_INTERNAL_H
#define HOOKD_OUTBOX_INTERNAL_H

#include <pthread.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/macro.h"
#include "jobs/jobs.h"
#include "net/net.h"
#include "outbox/outbox.h"

/* -- mapping.c --------------------------------------------------------------------------------- */

/* Kinds of events that may become one of this type. */
uint64_t outbox_kinds_of(enum outbox_type type);

/* -- criteria.c -------------------------------------------------------------------------------- */

bool test_holds(const struct sink_test *t, str value, bool there);

/* -- body.c ------------------------------------------------------------------------------------ */

/* What `data` of the body has under this name, as text. False: nothing. What is no text, number or truth is there, but
 * empty. */
bool notice_property(const struct outbox_notice *n, str name, struct arena *a, str *ret);
/* The same of a member of a tree. */
bool tree_property(const struct json *tree, str name, str *ret);
/* The names of what `data` may have for a type, as an array. */
void notice_write_names(enum outbox_type type, struct json_writer *w);
/* The body that programs read: {id, event_type, session_id, …, data}. */
void notice_write(const struct outbox_notice *n, struct buf *ret);
/* The same with texts shortened more the higher the level; ret->full if it does not fit. */
enum { NOTICE_LEVELS = 4 };
void notice_write_at(const struct outbox_notice *n, unsigned level, struct buf *ret);
/* One line for people: "claude has finished in shop: …", and what it is about. */
void notice_headline(const struct outbox_notice *n, struct buf *ret);
void notice_gist(const struct outbox_notice *n, size_t max, struct buf *ret);

/* -- turn.c ------------------------------------------------------------------------------------ */

/* A turn as Markdown, from what was stored of it. 0, or -errno. */
int turn_write(struct store *s, int64_t batch, str prompt, str answer, struct buf *ret);

/* -- types.c ----------------------------------------------------------------------------------- */

enum send_result {
	SEND_DONE,
	SEND_FAILED,    /* once more, later */
	SEND_REFUSED,   /* the same again would end the same */
	SEND_UNUSABLE,  /* something here is wrong: no try */
	SEND_CANCELLED, /* hookd is stopping */
};

/* One delivery on its way. */
struct sending {
	const struct sink *sink;
	str id, type, body;
	int cancel_fd;
	int retry_after_s; /* out: -1: the sink does not say */
	char error[300];   /* out, unless SEND_DONE */
};

struct sink_type_info {
	const char *name, *text;
	void (*write)(const struct sink *s, const struct outbox_notice *n, struct buf *ret);
	enum send_result (*send)(struct sending *x);
	bool (*check)(const struct sink *s, char text[200]);
};
extern const struct sink_type_info sink_types[SINK_TYPE_MAX];

enum send_result send_webhook(struct sending *x);
enum send_result send_post(struct sending *x); /* JSON, without a signature */
enum send_result send_exec(struct sending *x);
enum send_result send_file(struct sending *x);
bool check_post(const struct sink *s, char text[200]);
bool check_exec(const struct sink *s, char text[200]);
bool check_file(const struct sink *s, char text[200]);
void write_otlp(const struct sink *s, const struct outbox_notice *n, struct buf *ret);
void write_ntfy(const struct sink *s, const struct outbox_notice *n, struct buf *ret);
void write_slack(const struct sink *s, const struct outbox_notice *n, struct buf *ret);

enum send_result send_say(struct sending *x, enum send_result r, const char *fmt, ...) _printf_(3, 4);

/* A secret in a file of the user's alone: one word. -errno with err. */
enum { SECRET_MAX = 1024 };
int secret_read(str path, char ret[SECRET_MAX], struct err *err);

/* -- the outbox -------------------------------------------------------------------------------- */

/* How a sink fares; by name, so it outlives changes of the file. Under the lock, but for what says otherwise. */
struct sink_state {
	char name[SINK_NAME + 1];
	int64_t key;           /* its number in the store; 0: not known yet */
	int64_t waiting, dead; /* -1: to be counted */
	int64_t stream;        /* that had its turn last */
	unsigned failures;     /* in a row */
	unsigned on_way;
	int64_t rest_until_us; /* monotonic: it is left alone */
	int64_t last_good_us;  /* wall clock */
	uint64_t delivered, failed, refused;
	char trouble[300];
	uint32_t lags_ms[OUTBOX_SAMPLES];
	uint64_t nlags;
};

struct outbox {
	struct outbox_config config;
	int64_t boot;          /* which daemon this is, for deliveries that it has begun */
	struct writer *writer; /* NULL: not started yet */
	struct readers *readers;
	pthread_mutex_t lock;
	pthread_mutex_t contracts; /* one at a time changes their file */
	pthread_cond_t changed;
	struct sinks *sinks; /* in force */
	_Atomic uint64_t kinds, urgent;
	struct sink_state *states[SINKS_MAX]; /* of each of them, in their order */
	/* Deliveries that are on their way, one for each thread. */
	struct {
		int64_t id;
		bool used, thread;
	} on_way[OUTBOX_AT_ONCE];
	unsigned threads;
	bool resting;    /* one of them waits for something to be due: */
	int64_t next_us; /* at this time */
	uint64_t looked; /* counts up whenever there may be something to send */
	size_t turn;     /* whose sink is looked at first */
	bool looking;    /* one looks into the store */
	bool open;       /* what an earlier daemon left in journal and spool is in the store */
	bool stopping;
	int wake[2]; /* readable: stop */
	/* The writer's: */
	bool added; /* in this transaction; what waits has changed */
};

/* state.c. Under the lock: NULL: no sink of that name is in force. */
struct sink_state *state_of(struct outbox *o, str name);
/* How a delivery ended; retry_after_s: the sink wants to be left alone for that long, or -1. */
void state_good(struct sink_state *s, int64_t lag_us);
void state_failed(struct sink_state *s, const char *why, int retry_after_s);
void state_refused(struct sink_state *s, const char *why);
void state_unusable(struct sink_state *s, const char *why);
/* Whose events are urgent, after one of them fared otherwise than before. */
void state_note_urgent(struct outbox *o);
/* On the writer thread: what must be counted is; nothing is known any more. */
int state_count(struct outbox *o, struct store *s);
void state_forget(struct outbox *o);
/* How many wait for a sink, whose number this is; and that it is one more, or one less. */
int64_t state_begin(struct outbox *o, str name, int64_t key);
/* What is for it may go out at once. */
bool state_is_good(struct outbox *o, str name);
void state_add(struct outbox *o, int64_t key, int by);

/* deliver.c. There may be something to send; from any thread. */
void deliver_wake(struct outbox *o);

#endif
