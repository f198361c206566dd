/* For llm/ only. */
#ifndef HOOKD_LLM_INTERNAL_H
#define HOOKD_LLM_INTERNAL_H

#include <pthread.h>

#include "base/err.h"
#include "base/fs.h"
#include "llm/llm.h"
#include "redact/redact.h"

/* -- settings.c -------------------------------------------------------------------------------- */

enum { LLM_KEY_MAX = 4096 };

struct llm_settings {
	enum llm_provider provider;
	char url[1024]; /* with the protocol's path */
	char model[256];
	char key_file[FS_PATH];
	bool key_needed;
	unsigned max_tokens, context;
	int64_t budget, timeout_us;
};

/* False: nothing can be asked, and err says what is missing (nothing, if no provider is configured). */
bool llm_settings_read(struct llm_settings *s, const struct config *c, const char *state, struct err *err);
/* The key for one request, or "". -EPERM: others could read it. May block. */
int llm_read_key(const struct llm_settings *s, char ret[LLM_KEY_MAX], struct err *err);

/* -- provider.c -------------------------------------------------------------------------------- */

struct llm_protocol {
	const char *name, *url, *path;
	const char *key_header, *header; /* what comes before the key; another one, or "" */
	void (*write)(const struct llm_question *q, struct json_writer *w);
	void (*read)(const struct json *root, struct arena *a, struct llm_reading *ret);
};
extern const struct llm_protocol llm_protocols[LLM_PROVIDER_MAX];

/* -- budget.c ---------------------------------------------------------------------------------- */

enum { LLM_DAY = 10 }; /* "2026-11-16" */

struct llm_budget {
	char path[FS_PATH];
	char day[LLM_DAY + 1];
	int64_t spent; /* in it, with what is set aside */
	int broken;    /* -errno: the file cannot be read, so nobody knows */
};

/* What was set aside for one request. */
struct llm_ticket {
	char day[LLM_DAY + 1];
	int64_t amount;
};

void llm_budget_open(struct llm_budget *b, const char *path, int64_t now_us);
/* Sets an amount aside, on disk. -EDQUOT: there is not that much left today; other -errno: the file. */
int llm_budget_take(struct llm_budget *b, int64_t amount, int64_t limit, int64_t now_us, struct llm_ticket *ret);
/* It has cost this much. */
int llm_budget_settle(struct llm_budget *b, const struct llm_ticket *t, int64_t cost, int64_t now_us);

/* -- retry.c ----------------------------------------------------------------------------------- */

/* After failures in a row the provider is left alone, each time for longer. */
struct llm_circuit {
	unsigned failures;
	int64_t pause_us, until_us; /* monotonic; 0: closed */
};

int64_t llm_circuit_left(const struct llm_circuit *c, int64_t now_us);
void llm_circuit_good(struct llm_circuit *c);
/* retry_after_s: as the provider asks, or -1. */
void llm_circuit_bad(struct llm_circuit *c, enum llm_result r, int retry_after_s, int64_t now_us);

/* How long to wait before the next try, or -1: there is none. status: of HTTP, or 0. */
int64_t llm_retry_wait(enum llm_result r, int status, unsigned tries, int retry_after_s, unsigned dice);

/* -- queue.c ----------------------------------------------------------------------------------- */

/* One question, from llm_ask() to its callback. */
struct llm_asked {
	struct llm_asked *next;
	struct llm *llm;
	struct llm_request q; /* its texts are ours */
	char *texts;
	size_t bytes;
	int64_t until_us, ready_us; /* monotonic: the end of its time; not before */
	unsigned tries;
	struct llm_answer answer;
	struct buf text, why;
};

struct llm {
	struct llm_config config;
	struct llm_settings settings;
	bool on;
	char mark[LLM_MARK + 1];
	int wake[2]; /* readable when it stops: ends calls in flight */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock: */
	struct llm_asked *first;
	unsigned queued, threads, in_flight, background;
	size_t bytes;
	bool stopping;
	struct llm_circuit circuit;
	struct llm_health health; /* what only the threads know */
	/* Under its own lock, because it waits for a disk: */
	pthread_mutex_t budget_lock;
	struct llm_budget budget;
};

/* -- ask.c ------------------------------------------------------------------------------------- */

/* What came of one try; the texts are in the question's own buffers. */
struct llm_outcome {
	enum llm_result result;
	int status, retry_after_s;
	bool sent; /* the provider may have seen it */
	int64_t tokens_in, tokens_out;
};

void llm_try(struct llm *l, struct llm_asked *x, struct redactor *redactor, struct llm_outcome *ret);

#endif
