#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "os/os.h"

/* A daemon that sends WAIT for this long is broken, whatever it runs: no agent lets a hook run for an hour. One that
 * sends it more often than every 50 ms is not ours: counting frames stops such a flood within a second. */
enum { LONGEST_EXCHANGE_S = 3600, MOST_WAITS = LONGEST_EXCHANGE_S * 20 };

/* Pauses between two attempts at a full backlog: short at first, because it mostly drains in well
 * under a millisecond, then longer, because many clients may be trying. */
enum { RETRY_FIRST_US = 500, RETRY_MOST_US = 8000 };

static void pause_until(int64_t us, int64_t deadline_us)
{
	int64_t left = deadline_us - clock_mono_us();
	struct timespec t;

	us = MIN(us, left);
	if (us <= 0)
		return;
	t = (struct timespec){ .tv_sec = us / USEC_PER_SEC, .tv_nsec = us % USEC_PER_SEC * 1000 };
	nanosleep(&t, NULL);
}

/* 0 when something happened on fd (or poll cannot tell: the next call will), -ETIMEDOUT. */
static int wait_for(int fd, short events, int64_t deadline_us)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		int64_t left = deadline_us - clock_mono_us();
		int n;

		if (left <= 0)
			return -ETIMEDOUT;
		/* Rounded up: waking a moment early would mean asking again. */
		n = poll(&p, 1, (int)MIN((left + USEC_PER_MSEC - 1) / USEC_PER_MSEC, 60000));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* -- connecting -------------------------------------------------------------------------------- */

static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), high, saved;

	if (fd < 0)
		return -errno;
	if (fd > STDERR_FILENO)
		return fd;
	/* Started with one of 0-2 closed: the socket must not become somebody's stdout. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	saved = errno;
	close(fd);
	return high < 0 ? -saved : high;
}

static int finish_connect(int fd, int64_t deadline_us)
{
	int r = wait_for(fd, POLLOUT, deadline_us), failed = 0;
	socklen_t n = sizeof failed;

	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &n) < 0)
		return -errno;
	return -failed;
}

static int connect_patiently(int fd, const struct sockaddr_un *a, int64_t deadline_us)
{
	int64_t pause = RETRY_FIRST_US;

	for (;;) {
		if (connect(fd, (const struct sockaddr *)a, sizeof *a) == 0 || errno == EISCONN)
			return 0;
		if (errno == EINPROGRESS)
			return finish_connect(fd, deadline_us);
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (clock_mono_us() >= deadline_us)
			return -EAGAIN;
		/* The backlog is full: nothing can be polled for, so try again shortly. */
		pause_until(pause, deadline_us);
		pause = MIN(pause * 2, RETRY_MOST_US);
	}
}

static int connect_here(const char *path, int64_t deadline_us)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	uid_t peer;
	int fd, r;

	if (n == 0)
		return -ENOENT;
	if (n >= sizeof a.sun_path)
		return -ENAMETOOLONG;
	memcpy(a.sun_path, path, n);
	fd = open_socket();
	if (fd < 0)
		return fd;
	r = connect_patiently(fd, &a, deadline_us);
	if (r == 0)
		r = os_peer_uid(fd, &peer);
	if (r == 0 && peer != geteuid())
		r = -EPERM;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int wire_connect(const char *path, int64_t deadline_us)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int r = connect_here(path, deadline_us), back;

	if (r != -ENAMETOOLONG || !slash || (size_t)(slash - path) >= sizeof dir)
		return r;
	/* Socket addresses end after 107 bytes; from inside the directory the name is short. Only
	 * programs of one thread come here. */
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = 0;
	back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (chdir(dir) < 0)
		r = -errno;
	else
		r = connect_here(slash + 1, deadline_us);
	/* A directory that cannot be opened cannot be returned to, and did not matter. */
	if (back >= 0) {
		(void)!fchdir(back);
		close(back);
	}
	return r;
}

/* -- one exchange ------------------------------------------------------------------------------ */

static int send_all(int fd, str head, str payload, int64_t deadline_us)
{
	while (head.n || payload.n) {
		struct iovec iov[2] = {
			{ .iov_base = (void *)(uintptr_t)head.p, .iov_len = head.n },
			{ .iov_base = (void *)(uintptr_t)payload.p, .iov_len = payload.n },
		};
		struct msghdr m = { .msg_iov = head.n ? iov : iov + 1 };
		ssize_t n;
		size_t sent;

		m.msg_iovlen = head.n && payload.n ? 2 : 1;
		n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0) {
			int r = errno == EAGAIN ? wait_for(fd, POLLOUT, deadline_us) : -errno;

			if (r < 0 && r != -EINTR)
				return r;
			continue;
		}
		sent = MIN((size_t)n, head.n);
		head = str_from(head, sent);
		payload = str_from(payload, (size_t)n - sent);
	}
	return 0;
}

/* 1: *ret is the first frame in room, *ret_size its bytes. 0: more bytes are needed. */
static int take_frame(const char *room, size_t have, size_t room_size, struct wire_reply *ret, size_t *ret_size)
{
	struct wire_header h;
	int r;

	if (have < WIRE_HEADER)
		return 0;
	if (wire_header_decode(room, &h) < 0)
		return -EPROTO;
	/* "I do not speak your number" must be understood whatever number says it, and needs no
	 * body. */
	if (h.type == WIRE_REFUSED) {
		*ret = (struct wire_reply){ .type = WIRE_REFUSED };
		return -EPROTO;
	}
	if (h.proto < WIRE_PROTO_MIN || h.proto > WIRE_PROTO || h.length > room_size - WIRE_HEADER)
		return -EPROTO;
	*ret_size = WIRE_HEADER + (size_t)h.length;
	if (have < *ret_size)
		return 0;
	r = wire_reply_decode(h.type, str_n(room + WIRE_HEADER, h.length), ret);
	return r < 0 ? -EPROTO : 1;
}

/* More bytes behind the `have` that are there already. */
static int receive_more(int fd, int64_t deadline_us, char *room, size_t room_size, size_t *have)
{
	/* Waiting first, since the answer is never there already. */
	int r = wait_for(fd, POLLIN, deadline_us);
	ssize_t n;

	if (r < 0)
		return r;
	n = recv(fd, room + *have, room_size - *have, MSG_DONTWAIT);
	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	*have += (size_t)n;
	return 0;
}

/* -- who is the daemon ------------------------------------------------------------------------- */

int wire_hold(int lock_fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(lock_fd, F_SETLK, &l) < 0 ? -errno : 0;
}

/* The kernel says who holds the lock, and who listens at the other end. */
static bool is_daemon(int fd, const char *lock)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int file = open(lock, O_RDONLY | O_CLOEXEC), r;
	pid_t peer = -1;

	if (file < 0)
		return false;
	r = fcntl(file, F_GETLK, &l);
	close(file);
	if (r < 0 || l.l_type == F_UNLCK)
		return false;
	return os_peer_pid(fd, &peer) == -ENOSYS || peer == l.l_pid;
}

static int receive_done(int fd, const char *lock, int64_t deadline_us, char *room, size_t room_size,
	struct wire_reply *ret)
{
	int64_t last_us = clock_mono_us() + LONGEST_EXCHANGE_S * USEC_PER_SEC;
	size_t start = 0, have = 0, size = 0;
	unsigned waits = 0;
	bool proven = false;

	for (;;) {
		int r = take_frame(room + start, have - start, room_size, ret, &size);

		if (r < 0)
			return r;
		if (r > 0 && ret->type == WIRE_DONE)
			return 0;
		if (r > 0) {
			if (waits++ == 0)
				proven = is_daemon(fd, lock);
			if (waits > MOST_WAITS)
				return -EPROTO;
			start += size;
			if (proven)
				deadline_us = MIN(clock_mono_us() + WIRE_NEXT_FRAME_MS * USEC_PER_MSEC, last_us);
			continue;
		}
		/* What is left of an answered WAIT makes room for the whole of the next frame. */
		if (start) {
			have -= start;
			memmove(room, room + start, have);
			start = 0;
		}
		r = receive_more(fd, deadline_us, room, room_size, &have);
		if (r < 0)
			return r;
	}
}

int wire_exchange(int fd, str head, str payload, const char *lock, int64_t deadline_us, char *room, size_t room_size,
	struct wire_reply *ret)
{
	int r;

	*ret = (struct wire_reply){ .type = 0 };
	if (room_size < WIRE_REPLY_FIXED)
		return -ENOBUFS;
	r = send_all(fd, head, payload, deadline_us);
	/* A daemon that closes before it has read everything has usually said why. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return r;
	return receive_done(fd, lock, deadline_us, room, room_size, ret);
}
