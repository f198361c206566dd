#include "client/client.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"

/* What is drained passes through here. As large as a pipe. */
static char spare[KIB(64)];

/* Bytes read; 0 when there will be no more, for whatever reason. */
static size_t read_some(int fd, char *p, size_t n, int64_t end_us)
{
	for (;;) {
		struct pollfd in = { .fd = fd, .events = POLLIN };
		int64_t left_ms = (end_us - clock_mono_us()) / USEC_PER_MSEC;
		ssize_t got;
		int r;

		if (left_ms <= 0)
			return 0;
		r = poll(&in, 1, (int)MIN(left_ms, INPUT_IDLE_MS));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0 || in.revents & POLLNVAL)
			return 0;
		got = read(fd, p, n);
		if (got >= 0)
			return (size_t)got;
		/* Somebody else made it non-blocking, or another reader was faster. */
		if (errno != EINTR && errno != EAGAIN)
			return 0;
	}
}

/* A device such as /dev/zero has no writer that waits for us, and no end. */
static bool is_endless(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

static void drain(int fd, struct scanner *s, int64_t end_us, struct input *in)
{
	size_t n = read_some(fd, spare, sizeof spare, end_us);
	struct sha256 hash;

	if (n == 0)
		return; /* it just fitted */
	in->cut = true;
	sha256_init(&hash);
	sha256_add(&hash, in->kept.p, in->kept.n);
	for (;;) {
		n = scanner_feed(s, spare, n);
		sha256_add(&hash, spare, n);
		in->total += n;
		if (scanner_done(s) || is_endless(fd))
			break;
		n = read_some(fd, spare, sizeof spare, end_us);
		if (n == 0)
			break;
	}
	sha256_end(&hash, in->sha256);
}

void input_read(int fd, char *room, size_t room_size, struct input *ret)
{
	int64_t end_us = clock_mono_us() + INPUT_TOTAL_MS * USEC_PER_MSEC;
	struct scanner s = { 0 };
	size_t n = 0;

	while (n < room_size && !scanner_done(&s)) {
		size_t got = read_some(fd, room + n, room_size - n, end_us);

		if (got == 0)
			break;
		/* Whatever came behind the value in the same read is not part of it: whether it
		 * comes in the same read is chance, and the answer must not depend on that. */
		n += scanner_feed(&s, room + n, got);
	}
	*ret = (struct input){ .kept = str_n(room, n), .total = n };
	if (n == room_size && !scanner_done(&s))
		drain(fd, &s, end_us, ret);
}
