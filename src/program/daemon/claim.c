#include "daemon/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "wire/wire.h"

enum {
	LOCK_WAIT_MS = 2000,  /* a restart: the old daemon may still be closing its store */
	LEAVE_WAIT_MS = 8000, /* its lock was taken from it: it has seen that, and has this long to end everything */
};

static void note(struct claim_file *f, const char *path, const struct stat *st)
{
	*f = (struct claim_file){ path, st->st_dev, st->st_ino };
}

/* Gone or another's; an error of the disk is neither. */
static bool is_lost(const struct claim_file *f)
{
	struct stat st;

	if (lstat(f->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return st.st_dev != f->dev || st.st_ino != f->ino;
}

/* Through a link of the user's own, if there is one. */
static bool is_dir_lost(const struct claim_file *f)
{
	struct stat st;

	if (stat(f->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return st.st_dev != f->dev || st.st_ino != f->ino;
}

/* Both locks at once, and on files that are still at their paths: 1; 0: somebody has one; -errno. *ret_leaves: whoever
 * has the directory has no lock at the path. */
static int try_locks(struct claim *c, bool *ret_leaves)
{
	struct stat dir, lock;

	*ret_leaves = false;
	claim_release(c);
	c->dir_fd = open(c->paths->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c->lock_fd = open(c->paths->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->dir_fd < 0 || c->lock_fd < 0)
		return -errno;
	if (flock(c->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK || errno == EINTR ? 0 : -errno;
	/* File systems without locks on directories have the other one. */
	if (flock(c->dir_fd, LOCK_EX | LOCK_NB) < 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
		*ret_leaves = true;
		return 0;
	}
	if (fstat(c->dir_fd, &dir) < 0 || fstat(c->lock_fd, &lock) < 0)
		return -errno;
	note(&c->dir, c->paths->state, &dir);
	note(&c->lock, c->paths->lock, &lock);
	return !is_dir_lost(&c->dir) && !is_lost(&c->lock);
}

int claim_take(struct claim *c, const struct paths *paths, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int64_t began = clock_mono_us();
	char pid[32];
	bool leaves;
	int r;

	*c = (struct claim){ .paths = paths, .dir_fd = -1, .lock_fd = -1 };
	pthread_mutex_init(&c->sockets_lock, NULL);
	while ((r = try_locks(c, &leaves)) == 0) {
		if (clock_mono_us() > began + (leaves ? LEAVE_WAIT_MS : LOCK_WAIT_MS) * USEC_PER_MSEC)
			return err_set(err, -EEXIST, "another hookd is running for %s", paths->state);
		nanosleep(&pause, NULL);
	}
	if (r < 0)
		return err_set(err, r, "the lock %s cannot be taken: %s", paths->lock, strerror(-r));
	/* By this one clients tell us from others who listen; without it they do not wait for long hooks. */
	if (wire_hold(c->lock_fd) < 0)
		log_warn(LOG_DAEMON, "the lock %s cannot be shown to clients", paths->lock);
	/* For people only; the lock is the truth. */
	snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (ftruncate(c->lock_fd, 0) == 0)
		(void)!write(c->lock_fd, pid, strlen(pid));
	return 0;
}

void claim_release(struct claim *c)
{
	fs_closep(&c->lock_fd);
	fs_closep(&c->dir_fd);
}

void claim_add_socket(struct claim *c, const char *path)
{
	struct stat st;

	pthread_mutex_lock(&c->sockets_lock);
	if (c->nsockets < CLAIM_SOCKETS && lstat(path, &st) == 0)
		note(&c->sockets[c->nsockets++], path, &st);
	pthread_mutex_unlock(&c->sockets_lock);
}

void claim_drop_sockets(struct claim *c)
{
	pthread_mutex_lock(&c->sockets_lock);
	c->nsockets = 0;
	pthread_mutex_unlock(&c->sockets_lock);
}

static bool is_socket_lost(struct claim *c)
{
	struct claim_file sockets[CLAIM_SOCKETS];
	unsigned n;

	/* The disk is not asked under a lock that the loop takes. */
	pthread_mutex_lock(&c->sockets_lock);
	n = c->nsockets;
	memcpy(sockets, c->sockets, sizeof sockets);
	pthread_mutex_unlock(&c->sockets_lock);
	for (unsigned i = 0; i < n; i++)
		if (is_lost(&sockets[i]))
			return true;
	return false;
}

enum claim_state claim_check(struct claim *c)
{
	struct stat dir;

	if (is_dir_lost(&c->dir))
		return fstat(c->dir_fd, &dir) == 0 && dir.st_nlink == 0 ? CLAIM_REMOVED : CLAIM_MOVED;
	if (is_lost(&c->lock))
		return CLAIM_MOVED;
	return is_socket_lost(c) ? CLAIM_UNREACHABLE : CLAIM_HELD;
}
