/* client: hookc, the program agents call for every hook event.
 *
 * It reads one payload from stdin, sends it to the daemon in one frame, and prints what comes back.
 * It knows no agent, no rule and no JSON beyond brackets: everything an agent wants to see is
 * decided elsewhere, so hookc is the part that must never fail. Three promises:
 *
 *   - it never waits long: not for stdin, not for the daemon, not for whoever reads stdout;
 *   - our own problems never affect the agent: without a usable daemon the bytes go to
 *     `hookd offline`, and if even that cannot be started, hookc says nothing and exits 0;
 *   - it costs little: no allocation, no stdio, no second process, a handful of system calls.
 *
 * All memory is static (see hookc.c); structs here borrow from it, from argv and from the
 * environment, all of which live as long as the process. Everything but main() is also part of
 * libhookd, so that it can be tested and fuzzed with the host's compiler. */
#ifndef HOOKD_CLIENT_CLIENT_H
#define HOOKD_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/str.h"
#include "wire/wire.h"

/* -- scanner.c: is the JSON value complete? ------------------------------------------------------
 *
 * Agents keep the pipe open after the last brace, so hookc must see for itself where the value ends. Counting
 * brackets outside strings is enough for that. The daemon checks whether the value is valid, so a wrong closing
 * bracket counts like a right one. Input that starts with anything but '{' or '[' (after an optional byte order mark
 * and blanks) has no end the scanner could see.
 *
 * A zeroed struct is ready for use. */
enum scanner_state {
	SCAN_START = 0, /* nothing seen; a byte order mark may come */
	SCAN_MARK_2,    /* inside the byte order mark */
	SCAN_MARK_3,
	SCAN_BLANK, /* before the first bracket */
	SCAN_PLAIN, /* inside the value, outside strings */
	SCAN_STRING,
	SCAN_ESCAPE, /* the byte after a backslash */
	SCAN_OTHER,  /* no value of ours: ends with the input */
	SCAN_DONE,
};

struct scanner {
	uint64_t depth;
	enum scanner_state state;
};

/* Takes bytes up to and including the last one of the value; returns how many it took. Fewer than n
 * only when the value is complete. */
size_t scanner_feed(struct scanner *s, const char *p, size_t n);

static inline bool scanner_done(const struct scanner *s)
{
	return s->state == SCAN_DONE;
}

/* -- input.c: stdin ---------------------------------------------------------------------------- */

enum {
	INPUT_IDLE_MS = 2000,   /* a writer that pauses this long is taken to be done */
	INPUT_TOTAL_MS = 10000, /* and one that never pauses is cut off */
};

struct input {
	str kept;
	/* More came than there was room for. total and the hash cover all that was read. */
	bool cut;
	uint64_t total;
	uint8_t sha256[SHA256_BYTES];
};

/* Reads one payload into room. Never fails: a closed, unreadable or silent stdin is an empty one. What does not fit
 * is read, counted and hashed, because a writer must not get a broken pipe for sending a lot. The file descriptor's
 * flags are not changed: the agent shares them. */
void input_read(int fd, char *room, size_t room_size, struct input *ret);

/* -- env.c: what of the environment leaves this process ---------------------------------------- */

/* The places hookc itself needs; NULL when unset, empty or relative. */
struct env_places {
	const char *hookd_dir, *runtime_dir, *state_home, *home;
};

/* One pass over envp: places, and into h->env what tells which host, terminal and session this is.
 * Nothing that may be a credential passes, whatever its name starts with. */
void env_collect(char *const *envp, struct env_places *ret, struct wire_hook *h);

/* -- handover.c: no usable daemon -------------------------------------------------------------- */

/* Why there is none; `hookd offline --reason` takes these words. */
enum handover_reason {
	REASON_ABSENT,   /* nobody listens, or the listener went away in the middle */
	REASON_REFUSED,  /* it does not speak our protocol number */
	REASON_TIMEOUT,  /* it listens but did not answer in time */
	REASON_PROTOCOL, /* its answer made no sense */
	REASON_FOREIGN,  /* the socket is not ours */
	REASON_BUSY,     /* its backlog stayed full */
	REASON_MAX,
};

struct handover {
	const char *argv0;
	const char *dir; /* --dir as given, or NULL */
	const char *agent;
	const char *event; /* or NULL */
	const char *cwd;   /* where to go back to first, or NULL */
	str head, payload; /* together the HOOK frame */
	int64_t started_us;
	enum handover_reason reason;
};

/* Becomes `hookd offline`, with the frame in a memory file that it inherits. Returns only when that
 * is not possible. */
void handover(const struct handover *h);

/* -- decision.c -------------------------------------------------------------------------------- */

/* True for events whose answer can stop or change what some agent does, in its spelling. They get the longer
 * deadline: a loaded machine must not make a guard weaker. The names come from the table of agents, when hookc is
 * built. */
bool is_decision(str event);

#endif
