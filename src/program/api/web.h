/* web: HTTP in front of the operations: one thread, one door, one table of routes.
 *
 * DESIGN. Connections live on a thread and loop of their own, so that a thousand slow clients cannot delay a hook. A
 * request that was admitted becomes a web_call, which is handed to the daemon's loop, calls an operation or the engine
 * there, and is handed back to be answered; its bytes stay in its connection meanwhile.
 *
 * The door (door.c) is the only place that decides who may go on, and it decides before a byte of the body is read:
 * on the Unix socket the peer's uid is enough; over TCP the Host must be ours, an Origin or Sec-Fetch-Site must not be
 * another page's, and there must be the bearer token or the cookie of a login. Only GET /api/health is open.
 * What changes where events are sent (contracts.c) wants the owner's token instead.
 * What comes in from elsewhere (inbound.c) has a signature instead, which is checked before anything of it is parsed.
 *
 * TCP is opened on demand, on 127.0.0.1 only. The bearer token lies in <state>/http.token; it is less than the owner's
 * token, which operations that change what runs want as well. */
#ifndef HOOKD_API_WEB_H
#define HOOKD_API_WEB_H

#include <pthread.h>

#include "api/api.h"
#include "http/http.h"

struct web;

/* Serves the Unix socket at once, TCP when the configuration says so or somebody asks. Without a socket or a token it
 * says so in the log and does without. */
struct web *web_start(struct api *a, const struct paths *paths, const struct config *config);
/* Ends the thread; calls that are still with the daemon's loop may come back afterwards. */
void web_stop(struct web *w);
void web_free(struct web *w);

/* An event was stored; for /events. From the daemon's loop. arg is the web. */
void web_tell(const struct record *r, void *arg);

/* Whether anybody follows /events; any thread. */
bool web_is_followed(const struct web *w);

/* Something that is no event; for /events, under this name. From the daemon's loop. */
void web_announce(struct web *w, const char *name, str json);

/* -- for the files of web ---------------------------------------------------------------------- */

enum { WEB_CODE = 32, WEB_LOGINS = 16, DOOR_GUESSES = 10, DOOR_LATE_MS = 1000 };

/* One request on its way. Handlers run on the daemon's loop. */
struct web_call {
	struct web_call *prev, *next;
	struct web *web;
	struct http_conn *conn;
	const struct http_request *request;
	const struct route *route;
	struct arena arena;
	struct buf body; /* of the answer */
	int status;
	bool guessed; /* a secret was given that is none: see door_count_guess() */
	const char *type;
	char fields[256];
	void *state; /* the handler's own */
};

enum {
	ROUTE_OPEN = 1 << 0,
	ROUTE_STREAM = 1 << 1,
	ROUTE_PREFIX = 1 << 2,
	ROUTE_JSON = 1 << 3,
	ROUTE_OTLP = 1 << 4,   /* JSON or protobuf, and gzip of them */
	ROUTE_SIGNED = 1 << 5, /* its signature is looked at when the body is there, instead of a token */
	ROUTE_NAME = 1 << 6,   /* its path ends in a name: small letters, digits, - and _ */
	ROUTE_OWNER = 1 << 7,  /* over TCP it wants the owner's token as the bearer; that of HTTP is not enough */
};

struct route {
	const char *method, *path;
	void (*run)(struct web_call *c); /* web_done() must follow exactly once */
	size_t body_max;
	unsigned flags;
	size_t gzip_max; /* of a compressed body; 0: none is taken */
};

extern const struct route routes[]; /* ends with a row without a method */

/* The call has its answer. Daemon's loop. */
void web_done(struct web_call *c);
/* With a JSON object {"error": …}. */
void web_fail(struct web_call *c, int status, const char *error);
struct api *web_api(struct web *w);
struct door *web_door(struct web *w);
/* Whether the caller's worker says that it is busy. Daemon's loop. */
bool *web_processing(struct web *w);

/* -- door.c ------------------------------------------------------------------------------------ */

/* Who may come in over TCP. Used on the web's thread; codes are made on the daemon's loop. */
struct door {
	pthread_mutex_t lock;
	unsigned port; /* 0: not open */
	char token[65];
	const char *owner;                      /* the owner's; NULL: there is none */
	char codes[WEB_LOGINS][WEB_CODE + 1];   /* logins that nobody has used */
	char cookies[WEB_LOGINS][WEB_CODE + 1]; /* logins that somebody has */
	unsigned next_code, next_cookie;
	/* Wrong tokens, cookies and codes; the web's thread. */
	int64_t guesses_since_us;
	unsigned guesses;
};

/* As http_handlers.admit. */
int door_admit(struct door *d, const struct http_head *h, enum http_door way, struct http_terms *ret);
/* The token of a request, or STR_NONE. */
str door_bearer(const struct http_head *h);
/* Somebody gave a wrong secret: how many milliseconds late that is said. The first DOOR_GUESSES of a minute cost no
 * time, as a person may have an old token; who has the right one never waits. The web's thread. */
unsigned door_count_guess(struct door *d);
/* A code for one login. False: the system has no random numbers. */
bool door_new_code(struct door *d, char ret[WEB_CODE + 1]);
/* Exchanges a code for a cookie. */
bool door_log_in(struct door *d, const char *code, char ret_cookie[WEB_CODE + 1]);
/* NULL: no such path; *ret_allow: the methods it has, when it is not the method's. */
const struct route *route_find(str method, str path, const char **ret_allow);

/* -- forward.c: requests that are events ------------------------------------------------------- */

struct web_event {
	str agent, event, cwd, payload; /* live until the call is answered */
	void (*encode)(const struct event *e, const struct verdict *v, struct arena *a, struct answer *ret);
};

/* Makes it a call of the engine. What encode() wrote is in c->body when then() is called; NULL: that is the answer. */
void web_forward(struct web_call *c, const struct web_event *e, void (*then)(struct web_call *c));

/* Asks for an operation's result, once the event is in the store; done(answer, c) must lead to web_done(). params is
 * JSON. */
void web_ask(struct web_call *c, const char *method, str params,
	void (*done)(const struct op_answer *answer, void *arg));
/* What a session came to. which: "turn" its last one, "start" what is there when it begins, NULL all of it. */
void web_ask_sums(struct web_call *c, str session, const char *which,
	void (*done)(const struct op_answer *answer, void *arg));

void web_run_oak(struct web_call *c);     /* oak.c */
void web_run_inbound(struct web_call *c); /* inbound.c */

/* -- contracts.c ------------------------------------------------------------------------------- */

void web_run_contracts_list(struct web_call *c);
void web_run_contracts_add(struct web_call *c);
void web_run_contracts_remove(struct web_call *c);
void web_run_properties(struct web_call *c);

/* -- mem.c ------------------------------------------------------------------------------------- */

void web_run_mem_inject(struct web_call *c);
void web_run_mem_init(struct web_call *c);
void web_run_mem_observation(struct web_call *c);
void web_run_mem_summarize(struct web_call *c);
void web_run_mem_complete(struct web_call *c);
void web_run_mem_processing(struct web_call *c);

int op_http(struct op_call *call);

#endif
