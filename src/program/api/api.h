/* api: what hookd can be asked, as one table of operations (table.c).
 *
 * A row is an operation: name, description, parameters, where it runs, and a function from parameters to a result.
 * Parameters are checked and converted according to the row before the function runs (params.c): an invalid one is
 * JSON-RPC error -32602, with a message that says what would be valid. The socket serves the rows as JSON-RPC 2.0
 * methods; HTTP routes and MCP tools will be made from the same rows. Operations that read the store run on a worker
 * with a read-only handle, after everything acknowledged up to the call has been committed, so a reader never misses
 * what a hook just reported, and in one snapshot, so that rows of different tables fit together.
 *
 *   → {"jsonrpc":"2.0","id":1,"method":"sessions","params":{"limit":10}}
 *   ← {"jsonrpc":"2.0","id":1,"result":{…}}
 *
 * What changes what runs, or destroys what was captured, needs the owner's token beside params: "token":"…".
 *
 * The older form {"cmd":…,"args":…} is accepted too. "env" beside params holds variables of the caller (AGENT_ID …):
 * they count for this request alone, and only those that hookc would send along. */
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
struct web;

/* What operations work on. Everything outlives the api. */
struct api_context {
	struct loop *loop;
	struct server *server;
	struct engine *engine;
	struct guard *guard;
	struct journal *journal;
	struct writer *writer;
	struct journal_syncer *syncer;
	struct capture *capture; /* the writer's: for jobs only */
	const struct paths *paths;
	const struct config *config;
	const struct config_problem *config_problems;
	const char *token;  /* the owner's; NULL: nothing that needs it can be done */
	int64_t started_us; /* wall clock */
	struct readers *readers;
	struct memories *memories;
	struct context *context;
	struct code *code;
	struct llm *llm; /* NULL: none is ever asked */
	struct outbox *outbox;
	struct outputs *outputs;
	struct web **web;                           /* where the web is, once there is one */
	void (*stop)(void *arg);                    /* asks the daemon to stop */
	void (*has_jobs)(void *arg);                /* jobs may be due; on the loop */
	void (*index)(const char *root, void *arg); /* brings an index up to date; on the loop */
	void *stop_arg;
};

/* -- parameters -------------------------------------------------------------------------------- */

enum op_type {
	OP_TEXT,
	OP_INT,
	OP_BOOL,
	OP_TIME, /* microseconds since 1970, or as people write it: 2h, 2026-11-01 */
	OP_ENUM,
	OP_SESSION, /* becomes a key */
	OP_PROJECT, /* becomes a key */
	OP_JSON,
	OP_LIST,
};

enum {
	OP_REQUIRED = 1 << 0,
	OP_REPEATED = 1 << 1,  /* an array of such values */
	OP_OR_NUMBER = 1 << 2, /* a text that may be written as a number */
	OP_A_FILE = 1 << 3,    /* a file that is written: not for callers over TCP */
};

struct op_param {
	const char *name; /* NULL ends */
	enum op_type type;
	unsigned flags;
	int64_t min, max;           /* of a number; max 0: any */
	const char *const *choices; /* of an enum; NULL ends */
	int64_t fallback;           /* of a number that was not given */
	const char *text;
};

/* One parameter as it was given, in the order of the row. */
struct op_value {
	const struct json *json; /* NULL: it was not given */
	int64_t number;          /* number, time, truth, key */
	str text;                /* text, word; keys of several sessions as a JSON array */
};

struct op_call {
	struct api *api;
	const struct op *op;
	struct op_value *values;
	const struct json *params; /* as they were given, or NULL */
	const struct json *env;    /* the caller's variables, or NULL */
	bool owner;                /* it came with the owner's token: a person speaks */
	const struct api_context *ctx;
	struct store *store; /* OP_READER: read-only, one snapshot; OP_WRITER: the writer's, in a transaction */
	struct arena *arena;
	struct json_writer *w; /* the result goes here */
	struct err *err;
	struct request *later; /* OP_LATER: what op_finish() wants; the arena lives until then */
};

enum op_place {
	OP_LOOP,   /* at once; must not block */
	OP_READER, /* on a worker, with everything acknowledged before the call */
	OP_WRITER, /* on the writer thread; -errno undoes what it did */
	OP_LATER,  /* begins at once on the loop; the answer comes with op_finish(), unless it fails right away */
};

enum {
	OP_IS_READ = 1 << 0,
	OP_MUTATES = 1 << 1,
	OP_DESTROYS = 1 << 2,
	OP_STREAMS = 1 << 3,    /* answers in pieces */
	OP_RECENT = 1 << 4,     /* rows may be two seconds old: polling forces no commits */
	OP_MCP = 1 << 5,        /* a tool for agents */
	OP_IDEMPOTENT = 1 << 7, /* a change that makes no difference the second time */
	OP_OPEN = 1 << 6,       /* unknown parameters are accepted */
};

/* Who may call it, beyond the user who owns the daemon. */
enum op_scope { OP_OWNER, OP_AGENT, OP_VIEWER };

struct op {
	const char *name, *text;
	enum op_place place;
	int (*run)(struct op_call *call); /* 0, or -errno with call->err */
	const struct op_param *params;    /* checked and converted before it runs */
	const struct op_column *result;   /* what its result is made of; NULL: an object */
	unsigned flags;
	enum op_scope scope;
	enum loop_lane lane;
	int budget_ms;     /* 0: no limit */
	bool alone;        /* on a worker without the shared handle: takes long, or brings its own */
	bool rotates;      /* wants the journal to begin a new segment first */
	bool finds_itself; /* calls op_resolve() itself, once it has a store */
	bool owner;        /* needs the owner's token beside the uid, and is recorded: see config/owner.h */
};

extern const struct op ops[]; /* ends with a row without a name */

struct api *api_new(const struct api_context *ctx);
void api_free(struct api *a);

/* -- calling them ------------------------------------------------------------------------------ */

/* Why an operation was not done; the numbers are JSON-RPC's. */
enum op_code {
	OP_UNKNOWN = -32601, /* or not for this caller */
	OP_BAD_PARAMS = -32602,
	OP_FAILED = -32000,
	OP_NOT_OWNER = -32001,
};

struct op_answer {
	int code;    /* 0: done */
	str result;  /* JSON, when done */
	str message; /* else why not */
};

/* All it points to lives until done(), which is called exactly once, on the loop; with NULL when the daemon stops
 * before there is an answer. */
struct op_request {
	str method;
	const struct json *params; /* or NULL */
	const struct json *env;    /* variables of the caller, name to value; or NULL */
	str token;                 /* the owner's, if the caller has it */
	enum op_scope scope;       /* who calls */
	bool over_tcp;             /* a page, or a program that has no more than the token of HTTP */
	void (*done)(const struct op_answer *answer, void *arg);
	void *arg;
};

/* From the loop thread. */
void api_call(struct api *a, const struct op_request *q);

/* -- rpc.c: JSON-RPC 2.0 ----------------------------------------------------------------------- */

/* One request as text, which must live until done(). reply: a JSON object without a newline; STR_NONE: the daemon
 * stops. */
void rpc_call(struct api *a, str text, bool over_tcp, void (*done)(str reply, void *arg), void *arg);

/* Handler of the server: a line has arrived. arg is the api. */
void api_line(struct conn *c, str line, void *arg);

const struct api_context *api_context_of(const struct api *a);

/* What an earlier daemon had begun and could not finish; on a worker, once, after the start. arg is the api. */
void api_resume(void *arg);

/* Handler of the server: a frame of history has arrived. arg is the api. */
void api_records(struct conn *c, str body, void *arg);

/* Answers an OP_LATER; not from inside its run(). */
void op_finish(struct request *later, str result);
/* The same when it could not be done. */
void op_give_up(struct request *later, const char *why);

/* Parameters as the row says; what was not given is its fallback, 0, false or STR_NONE. */
bool op_has(const struct op_call *call, const char *name);
int64_t op_int(const struct op_call *call, const char *name); /* keys of sessions and projects too */
bool op_bool(const struct op_call *call, const char *name);
str op_text(const struct op_call *call, const char *name);
const struct json *op_json(const struct op_call *call, const char *name);

#endif
