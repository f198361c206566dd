/* claim: one daemon per state directory, as long as it is the same directory.
 *
 * The lock is on two things: run/hookd.lock, which others look at, and the directory itself, so that removing the
 * first does not let a second daemon in. Somebody may remove, move or replace the directory under a running daemon,
 * and the next hook then starts another one at the same path. What was opened before stays ours, wherever it is; what
 * is at the path may be another's. So everything that goes by path asks first. */
#ifndef HOOKD_DAEMON_CLAIM_H
#define HOOKD_DAEMON_CLAIM_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "config/paths.h"

enum { CLAIM_SOCKETS = 2 };

struct claim {
	const struct paths *paths;
	int dir_fd, lock_fd;
	struct claim_file {
		const char *path;
		dev_t dev;
		ino_t ino;
	} dir, lock, sockets[CLAIM_SOCKETS];
	unsigned nsockets;
	pthread_mutex_t sockets_lock;
};

enum claim_state {
	CLAIM_HELD,
	CLAIM_UNREACHABLE, /* the directory is ours, the socket at its path is not */
	CLAIM_MOVED,       /* the directory, or its lock, is not at its path any more */
	CLAIM_REMOVED,     /* nor anywhere else */
};

/* -EEXIST: another daemon has it; err has the message. Afterwards, and after an error, claim_release(). */
int claim_take(struct claim *c, const struct paths *paths, struct err *err);
void claim_release(struct claim *c);

/* A socket that was bound. */
void claim_add_socket(struct claim *c, const char *path);
void claim_drop_sockets(struct claim *c);

/* From any thread but the loop: it asks the disk. A disk that cannot answer says nothing. */
enum claim_state claim_check(struct claim *c);

#endif
