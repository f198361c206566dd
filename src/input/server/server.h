/* server: the Unix socket of the daemon, and the two protocols on it.
 *
 * DESIGN. The first byte of a connection tells the protocol: WIRE_MAGIC is hookc's frame, anything
 * else is a line of JSON-RPC. Either way the server hands one request at a time to its handler and
 * reads no further until that one is answered, so a request's bytes stay where they are (in the
 * connection's buffer) for as long as somebody works on it; pipelined requests wait in the buffer
 * and the kernel's.
 *
 * A connection is in one of four states, and moves READING → BUSY → (SENDING) → READING:
 *   READING  waiting for a whole request
 *   BUSY     its handler holds it; a client that disconnects meanwhile is only noticed when answered
 *   SENDING  an answer did not fit the socket's buffer
 *   CLOSING  to be freed as soon as nobody holds it
 *
 * Peers with another uid are disconnected before a byte is read. File descriptors that are sent along are never
 * received. Sizes and times are bounded: LIMIT_FRAME, LIMIT_RPC_LINE, LIMIT_CONNECTIONS, and server_expire() closes
 * connections that stall in the middle of a request or do not read their answer.
 *
 * Everything runs on the loop thread. */
#ifndef HOOKD_SERVER_SERVER_H
#define HOOKD_SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/macro.h"
#include "base/str.h"
#include "loop/loop.h"
#include "wire/wire.h"

struct server;
struct conn;

struct server_handlers {
	/* A HOOK frame's body; conn_answer() must follow exactly once, now or later. */
	void (*hook)(struct conn *c, str body, void *arg);
	/* A RECORDS frame's body; NULL: refused. */
	void (*records)(struct conn *c, str body, void *arg);
	/* A line without its newline; conn_answer() must follow exactly once. */
	void (*line)(struct conn *c, str line, void *arg);
	void *arg;
};

struct server *server_new(struct loop *l, const struct server_handlers *handlers);
void server_free(struct server *s);
DEFINE_FREEP(struct server, server_free);

/* Binds and listens at path (mode 0600). A stale socket file is removed: the caller holds the
 * daemon's lock, so it can only be a dead daemon's. -EADDRINUSE when something else is in the way. */
int server_listen(struct server *s, const char *path);

/* Removes the socket files that are still ours and accepts no more. */
void server_close_listeners(struct server *s);

/* True while the file at every listened path is the socket we bound. */
bool server_owns_paths(const struct server *s);

/* Sends the pieces and makes the connection ready for its next request. */
void conn_answer(struct conn *c, const struct iovec *pieces, int n);
/* Sends without ending the request: WAIT frames. */
void conn_send(struct conn *c, const struct iovec *pieces, int n);
/* The client has disconnected. Only as current as the last attempt to send. */
bool conn_is_gone(const struct conn *c);

/* Closes connections that have stalled for more than `us`; idle ones between requests may stay. */
void server_expire(struct server *s, int64_t us);

struct server_state {
	unsigned connections, busy;
	uint64_t accepted, refused_peers, refused_frames, expired;
};

void server_get_state(const struct server *s, struct server_state *ret);

#endif
