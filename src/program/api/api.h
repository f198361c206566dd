/* api: what hookd can be asked, as one table of operations.
 *
 * A row is an operation: name, a sentence, where it runs, a function from parameters to a result. The
 * socket serves the rows as JSON-RPC 2.0 methods; HTTP routes and MCP tools will be made from the same
 * rows. Operations that read the store run on a worker with a read-only handle, after everything
 * acknowledged up to the call has been committed, so a reader never misses what a hook just reported, and
 * in one snapshot, so that rows of different tables fit together.
 *
 *   → {"jsonrpc":"2.0","id":1,"method":"sessions","params":{"limit":10}}
 *   ← {"jsonrpc":"2.0","id":1,"result":{…}}
 *
 * The older shape {"cmd":…,"args":…} is understood too. */
#ifndef HOOKD_API_API_H
#define HOOKD_API_API_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "capture/capture.h"
#include "config/config.h"
#include "engine/engine.h"
#include "json/json.h"
#include "loop/loop.h"
#include "server/server.h"
#include "store/store.h"

struct api;
struct request;

/* What operations work on. Everything outlives the api. */
struct api_context {
	struct loop *loop;
	struct server *server;
	struct engine *engine;
	struct journal *journal;
	struct writer *writer;
	struct journal_syncer *syncer;
	struct capture *capture; /* the writer's: for jobs only */
	const struct paths *paths;
	const struct config *config;
	const struct config_problem *config_problems;
	int64_t started_us; /* wall clock */
	void (*stop)(void *arg); /* asks the daemon to end */
	void *stop_arg;
};

struct op_call {
	struct api *api;
	const struct api_context *ctx;
	struct store *store;       /* OP_READER: read-only, one snapshot; OP_WRITER: the writer's, in a transaction */
	struct arena *arena;
	const struct json *params; /* an object, or NULL */
	struct json_writer *w;     /* the result goes here */
	struct err *err;
	struct request *later;     /* OP_LATER: what op_finish() wants; the arena lives until then */
};

enum op_place {
	OP_LOOP,   /* at once; must not block */
	OP_READER, /* on a worker, with everything acknowledged before the call */
	OP_WRITER, /* on the writer thread; -errno undoes what it did */
	OP_LATER,  /* begins at once on the loop; the answer comes with op_finish(), unless it fails right away */
};

struct op {
	const char *name, *text;
	enum op_place place;
	int (*run)(struct op_call *call); /* 0, or -errno with call->err */
	bool alone;   /* on a worker without the shared handle: takes long, or brings its own */
	bool rotates; /* wants the journal to begin a new segment first */
};

extern const struct op ops[]; /* ends with a row without a name */

struct api *api_new(const struct api_context *ctx);
void api_free(struct api *a);

/* Handler of the server: a line has come. arg is the api. */
void api_line(struct conn *c, str line, void *arg);

/* An agent's turn is over, so its transcript has more to tell. arg is the api. */
void api_turn_ended(void *arg);

const struct api_context *api_context_of(const struct api *a);

/* Handler of the server: a frame of history has come. arg is the api. */
void api_records(struct conn *c, str body, void *arg);

/* Answers an OP_LATER; not from inside its run(). */
void op_finish(struct request *later, str result);

/* Parameters, with defaults. */
int64_t op_param_int(const struct op_call *call, const char *name, int64_t fallback, int64_t min, int64_t max);
str op_param_str(const struct op_call *call, const char *name);

#endif
