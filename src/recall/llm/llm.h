/* llm: questions to a language model that the user has configured. Off unless llm.provider is set.
 *
 *   provider.c   the protocols as a table: question → request, answer → text and tokens
 *   budget.c     how many tokens a day may cost, kept on disk
 *   retry.c      when to try again, and when to leave a failing provider alone
 *   queue.c      llm_ask(): questions wait here for a thread
 *   ask.c        one question on its way: redaction, budget, request, answer
 *   settings.c   the options llm.*, the key's file
 *   models.c     what models' contexts hold, and what they cost
 *
 * DESIGN. A question is put into a bounded queue and answered by one of at most LLM_AT_ONCE threads, which exist only
 * while there is something to ask. Nothing here ever runs on the loop but llm_ask() itself, which copies the texts, and
 * the callback. Background questions (LLM_BACKGROUND) get one thread at most, so that an agent which waits for an
 * answer (LLM_URGENT) always finds another.
 *
 * What leaves the machine: system and user text after redaction, nothing else. Each call leaves one line in the log:
 * purpose, provider, tokens, how it ended. The key is read from its file for each call and never logged.
 *
 * Money. Before a request is sent, everything it could cost is written to <state>/llm.budget and synced; when the
 * answer is there, the rest is given back. A daemon that is killed in between has therefore spent what it could have
 * spent, never less. A day is a day of UTC. A file that cannot be read or written means that nothing is asked.
 *
 * Recursion. A model may be an agent that has hookd's hooks itself. Every question holds llm_mark(), which is derived
 * from the owner's token and known to nobody else; whoever is about to ask because of a text first asks llm_is_own().
 *
 * Answers are somebody else's bytes: at most LLM_ANSWER_MAX, strict JSON, one text in valid UTF-8. What the text says
 * is for the caller to distrust. */
#ifndef HOOKD_LLM_LLM_H
#define HOOKD_LLM_LLM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "config/config.h"
#include "json/json.h"
#include "loop/loop.h"

enum {
	LLM_AT_ONCE = 2,            /* calls in flight */
	LLM_QUEUED = 64,            /* questions that wait */
	LLM_TRIES = 3,              /* for one question */
	LLM_ANSWER_MAX = 384 << 10, /* bytes of an answer as it comes from the network */
	LLM_TEXT_MAX = 256 << 10,   /* of the text in it */
	LLM_QUEUE_BYTES = 8 << 20,  /* of all texts that wait */
	LLM_MARK = 48,
};

struct llm;

/* Everything here outlives it. The options are read once: `hookd restart` applies changes. */
struct llm_config {
	struct loop *loop;           /* callbacks run on it */
	const struct config *config; /* llm.* */
	const char *state;           /* directory: llm.budget, llm.key */
	const char *secret;          /* from which the mark is derived: the owner's token */
};

struct llm *llm_new(const struct llm_config *config);
/* Ends calls in flight and answers what waits with LLM_STOPPED. Nothing is asked any more. Does not wait. */
void llm_stop(struct llm *l);
/* Stops, and waits for the threads: after it, every callback has been posted to the loop. */
void llm_join(struct llm *l);
void llm_free(struct llm *l);

/* Whether it is configured well enough to ask anything. */
bool llm_is_on(const struct llm *l);
/* llm.context: how many tokens question and answer may have together, for whoever fits texts into it. */
unsigned llm_context_tokens(const struct llm *l);
/* What a text will cost, estimated to be too much rather than too little. */
unsigned llm_count_tokens(str text);

/* -- asking ------------------------------------------------------------------------------------ */

enum llm_lane { LLM_BACKGROUND, LLM_URGENT };

struct llm_answer;

struct llm_request {
	const char *purpose; /* a word for log and status: "prompt-hook", "extract". Lives forever. */
	str system, user;    /* copied; redacted before they leave */
	enum llm_lane lane;
	unsigned max_tokens; /* of the answer; 0: llm.max_tokens */
	int64_t timeout_us;  /* with waiting and all tries; 0: llm.timeout for one try, and LLM_TRIES of them */
	void (*done)(const struct llm_answer *a, void *arg);
	void *arg;
};

/* How a question ended. Only LLM_ANSWERED has a text. The names are llm_result_names[]. */
enum llm_result {
	LLM_ANSWERED,
	LLM_OFF,         /* no provider is configured, or not completely: why says what is missing */
	LLM_NO_BUDGET,   /* for today; or the budget's file cannot be used */
	LLM_PAUSED,      /* it failed too often, or asked us to wait: retry_us says how long */
	LLM_BUSY,        /* the queue is full */
	LLM_TOO_LONG,    /* the question does not fit into llm.context */
	LLM_TIMEOUT,     /* no answer in time */
	LLM_UNREACHABLE, /* no connection */
	LLM_REFUSED,     /* the provider says that we may not (401, 403, …): a setting is wrong */
	LLM_FAILED,      /* it answered with another error (429, 5xx) */
	LLM_GARBLED,     /* what came back is not an answer of this protocol */
	LLM_CUT,         /* the answer was longer than max_tokens: its end is missing, so it is not used */
	LLM_OWN,         /* the text holds a question of ours already: see llm_is_own() */
	LLM_STOPPED,     /* hookd is stopping */
	LLM_RESULT_MAX,
};
extern const char *const llm_result_names[LLM_RESULT_MAX];

/* Whether the same question may do better later, so that a job should wait instead of spending an attempt. */
bool llm_should_wait(enum llm_result r);

struct llm_answer {
	enum llm_result result;
	str text;                      /* until the callback returns */
	str why;                       /* else: a sentence for people */
	int64_t tokens_in, tokens_out; /* as the provider says, else estimated */
	int64_t retry_us;              /* LLM_PAUSED, LLM_NO_BUDGET: not before this much time */
};

/* Asks. From the loop's thread. done is called exactly once, on the loop, never from inside this function; also when
 * nothing is configured. */
void llm_ask(struct llm *l, const struct llm_request *q);

/* -- recursion --------------------------------------------------------------------------------- */

/* A word that every question holds. */
const char *llm_mark(const struct llm *l);
/* The text (a prompt, a transcript) contains a question of ours: do not ask about it. */
bool llm_is_own(const struct llm *l, str text);

/* -- health ------------------------------------------------------------------------------------ */

enum llm_state { LLM_IS_OFF, LLM_IS_OK, LLM_IS_UNTRIED, LLM_IS_FAILING, LLM_IS_PAUSED, LLM_IS_SPENT, LLM_STATE_MAX };
extern const char *const llm_state_names[LLM_STATE_MAX];

struct llm_health {
	enum llm_state state;
	char provider[16], model[128], url[256];
	char trouble[320];        /* the last failure, or what is missing; "" when the last call went well */
	uint64_t calls, failures; /* requests sent, and those of them that were of no use, since the start */
	unsigned waiting, in_flight;
	int64_t today, budget; /* tokens spent or set aside today; those allowed */
	int64_t paused_us;     /* for how much longer */
	int64_t last_good_us;  /* wall time of the last answer, 0: none yet */
};

/* From any thread. */
void llm_health(struct llm *l, struct llm_health *ret);
/* The same as JSON: an object. */
void llm_write_health(struct llm *l, struct json_writer *w);

/* -- models: data ------------------------------------------------------------------------------ */

/* When prices were last looked up; shown beside every sum. */
extern const char llm_prices_as_of[];

struct llm_tokens {
	int64_t input, cache_read, cache_write, output;
};

/* Micro-dollars for these tokens, an estimate. False: the model's price is not known. */
bool llm_price_of(str model, const struct llm_tokens *t, int64_t *ret);
/* Tokens that a model's context holds. 0: unknown. */
int64_t llm_window_of(str model);

/* -- protocols: pure, for tests and fuzzing ---------------------------------------------------- */

/* In the order of the option's values. LLM_COMPATIBLE speaks OpenAI's protocol as other servers know it. */
enum llm_provider { LLM_NOBODY, LLM_OPENAI, LLM_COMPATIBLE, LLM_ANTHROPIC, LLM_PROVIDER_MAX };

struct llm_question {
	str model, system, user;
	unsigned max_tokens;
};

/* What an answer's bytes say. Texts are in the arena. */
struct llm_reading {
	enum llm_result result; /* LLM_ANSWERED, LLM_GARBLED, LLM_CUT, LLM_REFUSED, LLM_FAILED */
	str text, why;
	int64_t tokens_in, tokens_out; /* -1: it does not say */
};

/* Appends the body of the request. */
void llm_write_question(enum llm_provider p, const struct llm_question *q, struct buf *ret);
/* Reads the body that came with this status of HTTP. Never fails otherwise than by saying so. */
void llm_read_answer(enum llm_provider p, int status, str body, struct arena *a, struct llm_reading *ret);

#endif
