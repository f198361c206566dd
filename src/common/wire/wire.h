/* wire: the frames between hookc and the daemon.
 *
 * DESIGN. A frame is an 8-byte header and a body:
 *
 *     byte 0     0xF5, which starts neither UTF-8 text nor JSON, so that one socket also serves
 *                line-delimited JSON-RPC: the first byte tells which
 *     byte 1     protocol number
 *     byte 2     type (enum wire_type)
 *     byte 3     zero
 *     bytes 4-7  length of the body, little endian
 *
 * The body of a HOOK frame is a list of fields (tag byte, 4-byte length, bytes). Unknown tags are
 * skipped, so fields may be added without a new protocol number; the number changes only when an old
 * reader would misunderstand. Client and daemon never compare release strings. A daemon that does
 * not speak the client's number answers REFUSED, and the client hands over to `hookd offline` of its
 * own release.
 *
 * Replies are WAIT (still working; the client then allows WIRE_NEXT_FRAME_MS for the next
 * frame, and `ms` says what the daemon expects to need) or DONE (bytes for stdout and
 * stderr, and the exit code): everything an agent wants to see is decided by the daemon, so a new
 * agent never needs a new client. `stored`, not the exit code, is the acknowledgement.
 *
 * The same HOOK frame, byte for byte, is what hookc leaves in a memory file for `hookd offline`.
 *
 * Everything borrows: decoded fields point into the caller's bytes. Nothing allocates, nothing keeps
 * state, and there is no libc beyond string.h in frame.c; talk.c adds sockets and clocks. */
#ifndef HOOKD_WIRE_WIRE_H
#define HOOKD_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/ulid.h"

enum {
	WIRE_MAGIC = 0xF5,
	WIRE_PROTO = 1,     /* what this build speaks */
	WIRE_PROTO_MIN = 1, /* the oldest it still understands */
	WIRE_HEADER = 8,
	WIRE_FIELD_HEADER = 5,
	WIRE_ARGS_MAX = 16,
	WIRE_ENV_MAX = 64,
	WIRE_ENV_VALUE_MAX = 4096, /* longer values are cut; none we know is */
};

enum wire_type {
	WIRE_HOOK = 1,
	WIRE_WAIT = 2,
	WIRE_DONE = 3,
	WIRE_REFUSED = 4,
	WIRE_RECORDS = 5, /* history, from `hookd import`: see below */
	WIRE_TYPE_MAX,
};

enum wire_stored {
	WIRE_STORED_NO = 0,
	WIRE_STORED_JOURNALED = 1,
	WIRE_STORED_COMMITTED = 2,
	WIRE_STORED_MAX,
};

/* One call of hookc. */
struct wire_hook {
	struct ulid id;
	int64_t at_ms;        /* client's wall clock when the last byte of stdin had come */
	uint32_t deadline_ms; /* how long the client will wait for the first frame */
	uint32_t pid, ppid;
	str agent, event, cwd;   /* event may be empty: then the payload names it */
	str args[WIRE_ARGS_MAX]; /* arguments after <Event>, e.g. notify's */
	size_t nargs;
	str env[WIRE_ENV_MAX]; /* "NAME=value" */
	size_t nenv;
	/* More came on stdin than was kept: bytes in all and a hash over all of them. */
	bool cut;
	uint64_t total;
	uint8_t sha256[SHA256_BYTES];
	str payload;
};

struct wire_reply {
	enum wire_type type; /* WAIT, DONE or REFUSED */
	enum wire_stored stored;
	uint32_t wait_ms;  /* WAIT */
	uint8_t exit_code; /* DONE */
	str out, err;      /* DONE */
};

struct wire_header {
	uint8_t proto;
	uint8_t type;
	uint32_t length; /* of the body */
};

/* -EBADMSG when the bytes (at least WIRE_HEADER) are not a header. The caller checks sizes. */
int wire_header_decode(const void *p, struct wire_header *ret);
void wire_header_encode(void *p, uint8_t type, uint32_t length);

/* Writes header and all fields up to and including the head of the payload field, so that the payload's bytes can
 * follow without a copy. Returns the size, or -ENOBUFS. */
ptrdiff_t wire_hook_encode(const struct wire_hook *h, void *p, size_t cap);

/* -EBADMSG: lengths do not fit, a field has the wrong size, id or agent is missing, or the time is invalid. */
int wire_hook_decode(str body, struct wire_hook *ret);

/* Writes header and the fixed part of a reply; out and err follow without a copy. */
enum { WIRE_REPLY_FIXED = WIRE_HEADER + 16 };
void wire_reply_encode(const struct wire_reply *r, uint8_t out[WIRE_REPLY_FIXED]);
int wire_reply_decode(uint8_t type, str body, struct wire_reply *ret);

const char *wire_stored_name(enum wire_stored s);

/* Patience, in milliseconds. */
enum {
	WIRE_FIRST_CAPTURE_MS = 150,
	WIRE_FIRST_DECISION_MS = 400,
	WIRE_NEXT_FRAME_MS = 200,
	WIRE_START_RETRY_MS = 100, /* how long a caller tries to reach a daemon that is starting */
};

/* A variable of this name (without "=value") may be sent along with a call. */
bool wire_env_is_allowed(str name);

/* -- records.c: the body of RECORDS ------------------------------------------------------------ */

/* A head in JSON (which file, how far it has been read) and encoded, redacted records, each with its length
 * in front. The answer is DONE when all of it is committed, as one: out is JSON with the result. */
void wire_records_begin(struct buf *b, str head);
void wire_records_add(struct buf *b, str record);
/* Takes the next piece: the head first, then the records. 1: *ret is one; 0: the end; -EBADMSG. */
int wire_records_next(str *rest, str *ret);

/* -- talk.c: one exchange over a socket -------------------------------------------------------- */

/* Connects to the socket at path and checks that the peer runs as this user.
 * -ENOENT, -ECONNREFUSED: nobody listens. -EAGAIN: the backlog was full until the deadline.
 * -EPERM: somebody else's socket. Paths longer than a socket address
 * are reached from inside their directory, so call it before there are threads.
 * deadline_us is on the monotonic clock. */
int wire_connect(const char *path, int64_t deadline_us);

/* Sends head and payload and reads frames until DONE. Each WAIT moves the deadline to
 * WIRE_NEXT_FRAME_MS from then: a daemon that hangs in the middle is noticed. It must come from the daemon, which is
 * who holds `lock` (a path): WAIT from anybody else moves nothing, so that whoever only listens where the daemon
 * should cannot keep a client. `room` receives the reply; ret->out and ret->err point into it.
 * 0: DONE. -EPROTO: nonsense, or REFUSED, which ret->type then says. -ETIMEDOUT, -EPIPE, …: no usable answer. */
int wire_exchange(int fd, str head, str payload, const char *lock, int64_t deadline_us, char *room, size_t room_size,
	struct wire_reply *ret);

/* Takes the lock for wire_exchange() of others, on the descriptor of the daemon's lock file. The kernel gives it back
 * when the process closes any descriptor of that file: nobody else in the daemon may open it. */
int wire_hold(int lock_fd);

#endif
