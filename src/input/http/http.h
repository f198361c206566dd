/* http: HTTP/1.1 for clients on this machine: a strict reader, a writer, event streams. No routes and no policy.
 *
 * DESIGN. Everything runs on the thread of the loop it was made with. The reader takes one spelling of everything: what
 * two programs could read in two ways (a bare LF, a folded line, two lengths, a length and chunks, a trailer) is
 * refused, whatever it means. A connection reads one request at a time and moves
 *
 *   HEAD ─▶ admit() ─▶ BODY ─▶ request() ─▶ BUSY ─▶ http_answer() ─▶ SENDING ─▶ HEAD
 *                                              └──▶ http_stream() ─▶ STREAM
 *
 * admit() sees the head before a byte of the body is read, and says how much body it will take. Deadlines are totals,
 * not idle times: HTTP_HEAD_S for a head, HTTP_REQUEST_S for the whole request and for sending its answer. A client
 * that disconnects while its request is BUSY is noticed when it is answered. An answer may be sent late, so that
 * guessing takes time; it closes its connection, and of more than HTTP_LATE_MAX such connections the newest are closed
 * without an answer, so that those who guess do not take the connections of those who know.
 *
 * Streams share one ring of the newest bytes and have a cursor each, so a thousand clients that never read cost no
 * more than one; who falls off the ring is disconnected, and says with Last-Event-ID what it has when it comes back.
 * An event is sent at once after a quiet moment, and otherwise together with those of the next HTTP_STREAM_MS: the
 * events of a busy agent, each sent to hundreds of clients by itself, would take a core from it. */
#ifndef HOOKD_HTTP_HTTP_H
#define HOOKD_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"
#include "loop/loop.h"

enum {
	HTTP_HEAD_MAX = 16 << 10,
	HTTP_FIELDS_MAX = 64,
	HTTP_HEAD_S = 5,
	HTTP_REQUEST_S = 10,
	HTTP_IDLE_S = 60,            /* between requests */
	HTTP_CONNECTIONS_MAX = 1200, /* beyond it the one that has been silent longest makes room */
	HTTP_LATE_MAX = 64,
	HTTP_RING = 256 << 10,
	HTTP_STREAM_MS = 100,
	HTTP_BODIES_MAX = 64 << 20, /* of all requests together; beyond it they are asked to come again (503) */
};

/* -- parse.c: the reader ----------------------------------------------------------------------- */

/* Fields that are known; others are checked and dropped. STR_NONE: not there. */
struct http_head {
	str method, path, query; /* the query without its '?' */
	bool closes;             /* HTTP/1.0, or Connection: close */
	bool chunked, expects;
	bool has_length;
	uint64_t length;
	str host, origin, authorization, cookie, accept, content_type, content_encoding, sec_fetch_site, last_event_id;
	str mcp_version, mcp_method, mcp_name;
	str signature, timestamp, delivery, event;  /* of another hookd, or of whoever writes as it does */
	str hub_signature, hub_delivery, hub_event; /* of GitHub */
};

/* How many bytes the head at the beginning of `in` takes; its parts point into them. 0: it is not complete; -EBADMSG:
 * it is none, or could be read in two ways; -E2BIG: too long or too many fields. seen: so many bytes were there the
 * last time, when it was not complete. */
ssize_t http_parse_head(str in, size_t seen, struct http_head *ret);

/* The size line of a chunk. How many bytes it takes; 0: not complete; -EBADMSG. */
ssize_t http_parse_chunk_size(str in, uint64_t *ret);

/* The value of name in a query or a form, decoded into out; false: it is not there, or does not fit. */
bool http_query_value(str query, str name, char *out, size_t room);
/* Likewise of a cookie; not decoded. */
str http_cookie(str cookie, str name);

/* -- serve.c: connections ---------------------------------------------------------------------- */

struct http_server;
struct http_conn;

/* How a client came. */
enum http_door { HTTP_UNIX, HTTP_TCP };

struct http_request {
	struct http_head head;
	enum http_door door;
	str body;
};

/* What admit() says beside yes and no. */
struct http_terms {
	size_t body_max;
	const char *field; /* a header line of the refusal, or NULL */
	unsigned late_ms;  /* the refusal is sent so much later */
};

struct http_handlers {
	/* 0: read the body; else the status to refuse it with. */
	int (*admit)(const struct http_head *head, enum http_door door, struct http_terms *ret, void *arg);
	/* A whole request; its bytes live until it is answered, by exactly one http_answer() or http_stream(). */
	void (*request)(struct http_conn *c, const struct http_request *r, void *arg);
	void *arg;
};

struct http_server *http_new(struct loop *l, const struct http_handlers *handlers);
void http_free(struct http_server *s);

/* A Unix socket (0600, peers of another uid are dropped), or TCP on 127.0.0.1; port 0: any, *ret_port: which. */
int http_listen_unix(struct http_server *s, const char *path);
int http_listen_tcp(struct http_server *s, unsigned port, unsigned *ret_port);
/* Accepts no more and removes the socket's file. */
void http_close_listeners(struct http_server *s);

struct http_answer {
	int status;
	const char *type;   /* of the body; NULL: no body */
	const char *fields; /* more header lines, each with its CRLF, or NULL */
	str body;
	unsigned late_ms; /* it is sent so much later, and the connection closed */
};

void http_answer(struct http_conn *c, const struct http_answer *a);

/* Turns the connection into a stream of events from now on. */
void http_stream(struct http_conn *c);
/* To all streams: "data: …\n\n". */
void http_push(struct http_server *s, str event);

struct http_state {
	unsigned connections, streams;
	uint64_t requests, refused, expired, fell_behind;
};

void http_get_state(const struct http_server *s, struct http_state *ret);

#endif
