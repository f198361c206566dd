/* Frames, replies, decision events, and one exchange over real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "wire/wire.h"

static struct wire_hook sample(void)
{
	struct wire_hook h = {
		.id = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
		.at_ms = INT64_C(1794730000123),
		.deadline_ms = WIRE_FIRST_DECISION_MS,
		.pid = 4242,
		.ppid = 1,
		.agent = STR("claude"),
		.event = STR("PreToolUse"),
		.cwd = STR("/home/me/project"),
		.args = { STR("one"), STR("") },
		.nargs = 2,
		.env = { STR("TERM=xterm"), STR("CI=1") },
		.nenv = 2,
		.cut = true,
		.total = UINT64_C(1) << 40,
		.payload = STR("{\"tool_name\":\"Bash\"}"),
	};

	for (int i = 0; i < SHA256_BYTES; i++)
		h.sha256[i] = (uint8_t)(i * 7);
	return h;
}

/* Head and payload as one string of bytes, as they lie on the wire. */
static str whole_frame(const struct wire_hook *h, char *p, size_t cap)
{
	ptrdiff_t n = wire_hook_encode(h, p, cap);

	assert_true(n > 0);
	assert_true((size_t)n + h->payload.n <= cap);
	if (h->payload.n)
		memcpy(p + n, h->payload.p, h->payload.n);
	return str_n(p, (size_t)n + h->payload.n);
}

static void assert_same_hook(const struct wire_hook *a, const struct wire_hook *b)
{
	assert_true(ulid_eq(&a->id, &b->id));
	assert_int_equal(a->at_ms, b->at_ms);
	assert_int_equal(a->deadline_ms, b->deadline_ms);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->ppid, b->ppid);
	assert_true(str_eq(a->agent, b->agent));
	assert_true(str_eq(a->event, b->event));
	assert_true(str_eq(a->cwd, b->cwd));
	assert_true(str_eq(a->payload, b->payload));
	assert_int_equal(a->cut, b->cut);
	assert_int_equal(a->total, b->total);
	assert_memory_equal(a->sha256, b->sha256, SHA256_BYTES);
	assert_int_equal(a->nargs, b->nargs);
	for (size_t i = 0; i < a->nargs; i++)
		assert_true(str_eq(a->args[i], b->args[i]));
	assert_int_equal(a->nenv, b->nenv);
	for (size_t i = 0; i < a->nenv; i++)
		assert_true(str_eq(a->env[i], b->env[i]));
}

static void test_header(void **state)
{
	uint8_t b[WIRE_HEADER];
	struct wire_header h;

	wire_header_encode(b, WIRE_DONE, 0x01020304);
	assert_int_equal(b[0], 0xF5);
	assert_int_equal(b[4], 4);
	assert_int_equal(wire_header_decode(b, &h), 0);
	assert_int_equal(h.proto, WIRE_PROTO);
	assert_int_equal(h.type, WIRE_DONE);
	assert_int_equal(h.length, 0x01020304);
	for (int at = 0; at < 4; at++) {
		uint8_t bad[WIRE_HEADER];

		memcpy(bad, b, sizeof bad);
		bad[at] = at == 0 ? '{' : at == 1 ? 0 : 0xEE;
		assert_int_equal(wire_header_decode(bad, &h), -EBADMSG);
	}
	/* Another number is the caller's to refuse. */
	b[1] = 200;
	b[2] = 99;
	assert_int_equal(wire_header_decode(b, &h), 0);
	assert_int_equal(h.proto, 200);
}

static void test_hook_round_trip(void **state)
{
	struct wire_hook h = sample(), back;
	struct wire_header head;
	char room[1024];
	str frame = whole_frame(&h, room, sizeof room);

	assert_int_equal(wire_header_decode(frame.p, &head), 0);
	assert_int_equal(head.type, WIRE_HOOK);
	assert_int_equal(head.length, frame.n - WIRE_HEADER);
	assert_int_equal(wire_hook_decode(str_from(frame, WIRE_HEADER), &back), 0);
	assert_same_hook(&h, &back);
	h.cut = false;
	h.total = 0;
	h.event = h.cwd = h.payload = STR_NONE;
	h.nargs = h.nenv = 0;
	memset(h.sha256, 0, sizeof h.sha256);
	frame = whole_frame(&h, room, sizeof room);
	assert_int_equal(wire_hook_decode(str_from(frame, WIRE_HEADER), &back), 0);
	assert_same_hook(&h, &back);
}

static void test_hook_no_room(void **state)
{
	struct wire_hook h = sample();
	char room[1024];
	ptrdiff_t n = wire_hook_encode(&h, room, sizeof room);

	for (ptrdiff_t cap = 0; cap < n; cap++) {
		/* A block of exactly that size, so that a sanitizer sees a byte too many. */
		char *exact = malloc((size_t)cap + 1);

		assert_int_equal(wire_hook_encode(&h, exact, (size_t)cap), -ENOBUFS);
		free(exact);
	}
	assert_int_equal(wire_hook_encode(&h, room, (size_t)n), n);
}

static void test_hook_every_truncation(void **state)
{
	struct wire_hook h = sample(), back;
	char room[1024];
	str frame = whole_frame(&h, room, sizeof room);

	for (size_t n = WIRE_HEADER; n < frame.n; n++) {
		char *exact = malloc(n - WIRE_HEADER + 1);
		int r;

		memcpy(exact, room + WIRE_HEADER, n - WIRE_HEADER);
		r = wire_hook_decode(str_n(exact, n - WIRE_HEADER), &back);
		/* A cut between two fields is a shorter frame; anywhere else it is none. */
		assert_true(r == 0 || r == -EBADMSG);
		if (n > frame.n - h.payload.n)
			assert_int_equal(r, -EBADMSG);
		free(exact);
	}
}

static void test_hook_refuses(void **state)
{
	static const char id[] = "\1\x10\0\0\0"
				 "0123456789abcdef";
	static const char agent[] = "\6\1\0\0\0"
				    "x";
	struct wire_hook back;
	char body[128];
	size_t n = 0;

#define ADD(bytes) (memcpy(body + n, bytes, sizeof(bytes) - 1), n += sizeof(bytes) - 1)
	ADD(id);
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), -EBADMSG); /* no agent */
	ADD(agent);
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), 0);
	ADD("\xC8\2\0\0\0??"); /* unknown tag */
	ADD("\0\0\0\0\0");
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), 0);
	assert_true(str_eq(back.agent, STR("x")));
	ADD(agent);
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), -EBADMSG); /* twice */
	n -= sizeof agent - 1;
	ADD("\4\3\0\0\0???"); /* wrong size */
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), -EBADMSG);
	n -= 8;
	ADD("\x0C\xFF\xFF\xFF\xFF"); /* 4 GiB of payload */
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), -EBADMSG);
	n = 0;
	ADD(agent);
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), -EBADMSG); /* no id */
	n = 0;
	ADD(id);
	ADD("\6\0\0\0\0"); /* empty agent */
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), -EBADMSG);
	assert_int_equal(wire_hook_decode(STR_NONE, &back), -EBADMSG);
#undef ADD
}

static void test_hook_too_many(void **state)
{
	struct wire_hook back;
	char body[4096];
	size_t n = 0;

	memcpy(body,
		"\1\x10\0\0\0"
		"0123456789abcdef"
		"\6\1\0\0\0"
		"x",
		n = 27);
	for (int i = 0; i < 300; i++, n += 6)
		memcpy(body + n, i % 2 ? "\x09\1\0\0\0a" : "\x0A\1\0\0\0e", 6);
	assert_int_equal(wire_hook_decode(str_n(body, n), &back), 0);
	assert_int_equal(back.nargs, WIRE_ARGS_MAX);
	assert_int_equal(back.nenv, WIRE_ENV_MAX);
}

static void test_reply(void **state)
{
	struct wire_reply r = { .type = WIRE_DONE,
		.stored = WIRE_STORED_COMMITTED,
		.exit_code = 2,
		.out = STR("out"),
		.err = STR("error") },
			  back;
	uint8_t fixed[WIRE_REPLY_FIXED];
	char body[64];
	struct wire_header h;

	wire_reply_encode(&r, fixed);
	assert_int_equal(wire_header_decode(fixed, &h), 0);
	assert_int_equal(h.length, 16 + 3 + 5);
	memcpy(body, fixed + WIRE_HEADER, 16);
	memcpy(body + 16, "outerror", 8);
	assert_int_equal(wire_reply_decode(h.type, str_n(body, 24), &back), 0);
	assert_int_equal(back.stored, WIRE_STORED_COMMITTED);
	assert_int_equal(back.exit_code, 2);
	assert_true(str_eq(back.out, r.out));
	assert_true(str_eq(back.err, r.err));
	for (size_t n = 0; n < 24; n++)
		assert_int_equal(wire_reply_decode(h.type, str_n(body, n), &back), -EBADMSG);
	assert_int_equal(wire_reply_decode(WIRE_HOOK, str_n(body, 24), &back), -EBADMSG);
	assert_int_equal(wire_reply_decode(9, str_n(body, 24), &back), -EBADMSG);
	body[0] = WIRE_STORED_MAX;
	assert_int_equal(wire_reply_decode(h.type, str_n(body, 24), &back), -EBADMSG);
	body[0] = 0;
	memset(body + 8, 0xFF, 8); /* two lengths whose sum would wrap in 32 bits */
	assert_int_equal(wire_reply_decode(h.type, str_n(body, 24), &back), -EBADMSG);
	assert_string_equal(wire_stored_name(WIRE_STORED_JOURNALED), "journaled");
	assert_string_equal(wire_stored_name((enum wire_stored)77), "?");
}

/* -- sockets ----------------------------------------------------------------------------------- */

static int64_t soon(int ms)
{
	return clock_mono_us() + ms * USEC_PER_MSEC;
}

static char dir[64];

static int make_dir(void **state)
{
	snprintf(dir, sizeof dir, "/tmp/wire.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

static int listen_at(const char *path, int backlog)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static void test_connect(void **state)
{
	char path[96], too_long[200];
	int l, fd, held[8], n = 0;

	snprintf(path, sizeof path, "%s/s", dir);
	assert_int_equal(wire_connect(path, soon(50)), -ENOENT);
	assert_int_equal(wire_connect("", soon(50)), -ENOENT);
	assert_int_equal(wire_connect(dir, soon(50)), -ECONNREFUSED);
	memset(too_long, 'x', sizeof too_long);
	too_long[sizeof too_long - 1] = 0;
	assert_int_equal(wire_connect(too_long, soon(50)), -ENAMETOOLONG);
	l = listen_at(path, 0);
	fd = wire_connect(path, soon(1000));
	assert_true(fd > 2);
	held[n++] = fd;
	/* Nobody accepts: sooner or later the backlog is full, and that ends at the deadline. */
	while (n < 8 && (fd = wire_connect(path, soon(30))) >= 0)
		held[n++] = fd;
	assert_int_equal(fd, -EAGAIN);
	while (n)
		close(held[--n]);
	close(l);
	assert_int_equal(wire_connect(path, soon(50)), -ECONNREFUSED); /* a stale file */
	unlink(path);
}

/* The peer of one exchange: reads everything it is sent, writes `say` in pieces, then closes. */
struct peer {
	int fd;
	const char *say;
	size_t n, piece;
	useconds_t pause;
	bool hang, deaf, stranger; /* stranger: not who holds the lock */
	pthread_t thread;
};

static void *run_peer(void *arg)
{
	struct peer *p = arg;
	uint8_t head[WIRE_HEADER];
	char junk[65536];
	struct wire_header h;
	size_t left;

	if (!p->deaf && recv(p->fd, head, sizeof head, MSG_WAITALL) == (ssize_t)sizeof head) {
		wire_header_decode(head, &h);
		for (left = h.length; left;) {
			ssize_t n = recv(p->fd, junk, MIN(left, sizeof junk), 0);

			if (n <= 0)
				break;
			left -= (size_t)n;
		}
	}
	for (size_t at = 0; at < p->n; at += p->piece) {
		if (send(p->fd, p->say + at, MIN(p->piece, p->n - at), MSG_NOSIGNAL) < 0)
			break;
		if (p->pause)
			usleep(p->pause);
	}
	/* Until the other side has given up, and without reading. */
	if (p->hang)
		poll(&(struct pollfd){ .fd = p->fd, .events = POLLRDHUP }, 1, 20000);
	close(p->fd);
	return NULL;
}

/* Who holds the lock is another process, which also made the sockets: to the client it is the daemon. */
static char lock_path[64];
static pid_t daemon_pid;
static int daemon_life[2] = { -1, -1 };

/* Two descriptors over a socket. */
static void send_pair(int fd, const int pair[2])
{
	char byte = 0, room[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(2 * sizeof(int)) };
	memcpy(CMSG_DATA(c), pair, 2 * sizeof(int));
	sendmsg(fd, &m, MSG_NOSIGNAL);
}

static void receive_pair(int fd, int pair[2])
{
	char byte, room[CMSG_SPACE(2 * sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };

	assert_int_equal(recvmsg(fd, &m, 0), 1);
	assert_non_null(CMSG_FIRSTHDR(&m));
	memcpy(pair, CMSG_DATA(CMSG_FIRSTHDR(&m)), 2 * sizeof(int));
}

/* Makes a pair of sockets for every byte it is sent, and ends with whoever sends them. */
static void run_daemon(int fd)
{
	int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char byte;

	if (lock < 0 || wire_hold(lock) < 0)
		_exit(1);
	while (read(fd, &byte, 1) == 1) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			_exit(1);
		send_pair(fd, pair);
		close(pair[0]);
		close(pair[1]);
	}
	_exit(0);
}

static int start_daemon(void **state)
{
	snprintf(lock_path, sizeof lock_path, "/tmp/hookd-wire-%ld.lock", (long)getpid());
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, daemon_life) < 0)
		return -1;
	daemon_pid = fork();
	if (daemon_pid == 0) {
		close(daemon_life[0]);
		run_daemon(daemon_life[1]);
	}
	close(daemon_life[1]);
	return daemon_pid < 0 ? -1 : 0;
}

static int stop_daemon(void **state)
{
	int status = 0;

	close(daemon_life[0]);
	waitpid(daemon_pid, &status, 0);
	unlink(lock_path);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static void sockets_of_daemon(int pair[2])
{
	assert_int_equal(write(daemon_life[0], "x", 1), 1);
	receive_pair(daemon_life[0], pair);
}

/* One exchange with that peer; the payload is larger than a socket holds when `large`. */
static int exchange(struct peer *p, int ms, bool large, char *room, size_t size, struct wire_reply *ret)
{
	static char payload[2 << 20];
	struct wire_hook h = sample();
	char head[1024];
	int pair[2], r;
	ptrdiff_t n;

	h.payload = str_n(payload, large ? sizeof payload : 10);
	n = wire_hook_encode(&h, head, sizeof head);
	if (p->stranger)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	else
		sockets_of_daemon(pair);
	p->fd = pair[1];
	if (!p->piece)
		p->piece = p->n ? p->n : 1;
	pthread_create(&p->thread, NULL, run_peer, p);
	r = wire_exchange(pair[0], str_n(head, (size_t)n), h.payload, lock_path, soon(ms), room, size, ret);
	close(pair[0]);
	pthread_join(p->thread, NULL);
	return r;
}

static size_t put_reply(char *out, struct wire_reply r)
{
	wire_reply_encode(&r, (uint8_t *)out);
	if (r.out.n)
		memcpy(out + WIRE_REPLY_FIXED, r.out.p, r.out.n);
	if (r.err.n)
		memcpy(out + WIRE_REPLY_FIXED + r.out.n, r.err.p, r.err.n);
	return WIRE_REPLY_FIXED + r.out.n + r.err.n;
}

static void test_exchange_done(void **state)
{
	static char room[4096];
	char say[256];
	struct wire_reply r;
	size_t n = 0;

	n += put_reply(say + n, (struct wire_reply){ .type = WIRE_WAIT, .wait_ms = 50 });
	n += put_reply(say + n, (struct wire_reply){ .type = WIRE_WAIT, .wait_ms = 50 });
	n += put_reply(say + n,
		(struct wire_reply){ .type = WIRE_DONE,
			.exit_code = 2,
			.stored = WIRE_STORED_JOURNALED,
			.out = STR("hello"),
			.err = STR("no") });
	for (int piece = 1; piece < 40; piece += 6) {
		struct peer p = { .say = say, .n = n, .piece = (size_t)piece };

		assert_int_equal(exchange(&p, 5000, piece == 1, room, sizeof room, &r), 0);
		assert_int_equal(r.type, WIRE_DONE);
		assert_int_equal(r.exit_code, 2);
		assert_int_equal(r.stored, WIRE_STORED_JOURNALED);
		assert_true(str_eq(r.out, STR("hello")));
		assert_true(str_eq(r.err, STR("no")));
	}
}

static void test_exchange_wait_outlives_the_first_deadline(void **state)
{
	static char room[4096], say[WIRE_REPLY_FIXED * 31];
	struct peer p = { .say = say, .piece = WIRE_REPLY_FIXED, .pause = 20000 };
	struct wire_reply r;

	for (int i = 0; i < 30; i++)
		p.n += put_reply(say + p.n, (struct wire_reply){ .type = WIRE_WAIT });
	p.n += put_reply(say + p.n, (struct wire_reply){ .type = WIRE_DONE });
	assert_int_equal(exchange(&p, 300, false, room, sizeof room, &r), 0);
}

/* Who listens is not who holds the lock, or nobody holds one: the first deadline stays. */
static void test_exchange_wait_of_a_stranger_moves_nothing(void **state)
{
	static char room[4096], say[WIRE_REPLY_FIXED * 2000];
	struct peer p = { .say = say, .piece = WIRE_REPLY_FIXED, .pause = 5000, .stranger = true };
	struct wire_reply r;

	while (p.n < sizeof say)
		p.n += put_reply(say + p.n, (struct wire_reply){ .type = WIRE_WAIT });
	assert_int_equal(exchange(&p, 100, false, room, sizeof room, &r), -ETIMEDOUT);
	/* An answer in time is taken from anybody of this user. */
	p.n = put_reply(say, (struct wire_reply){ .type = WIRE_WAIT });
	p.n += put_reply(say + p.n, (struct wire_reply){ .type = WIRE_DONE, .exit_code = 3 });
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), 0);
	assert_int_equal(r.exit_code, 3);
}

static void test_exchange_refused(void **state)
{
	static char room[4096];
	char say[64];
	struct wire_reply r;
	struct peer p = { .say = say };

	p.n = put_reply(say, (struct wire_reply){ .type = WIRE_REFUSED });
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -EPROTO);
	assert_int_equal(r.type, WIRE_REFUSED);
	/* By a daemon of another number, that did not read what it was sent. */
	say[1] = 9;
	p = (struct peer){ .say = say, .n = WIRE_HEADER, .deaf = true };
	assert_int_equal(exchange(&p, 5000, true, room, sizeof room, &r), -EPROTO);
	assert_int_equal(r.type, WIRE_REFUSED);
}

static void test_exchange_nonsense(void **state)
{
	static const char *const texts[] = { "HTTP/1.1 200 OK\r\n\r\n", "{\"jsonrpc\":\"2.0\"}\n", "\xF5\1\3\1????",
		"\xF5\1\7\1????", "\xF5\7\3\1????" };
	static char room[4096];
	struct wire_reply r;
	char say[64];

	for (size_t i = 0; i < countof(texts); i++) {
		struct peer p = { .say = texts[i], .n = strlen(texts[i]), .hang = true };

		assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -EPROTO);
	}
	/* A frame larger than the room is refused by its header, not by reading it. */
	wire_header_encode(say, WIRE_DONE, sizeof room - WIRE_HEADER + 1);
	struct peer p = { .say = say, .n = WIRE_HEADER, .hang = true };
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -EPROTO);
	wire_header_encode(say, WIRE_DONE, 3);
	p = (struct peer){ .say = say, .n = WIRE_HEADER + 3, .hang = true };
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -EPROTO);
}

static void test_exchange_no_answer(void **state)
{
	static char room[4096];
	char say[64];
	struct wire_reply r;
	struct peer p = { .hang = true };

	assert_int_equal(exchange(&p, 50, false, room, sizeof room, &r), -ETIMEDOUT);
	p = (struct peer){ .hang = true, .deaf = true }; /* sending alone fills the socket */
	assert_int_equal(exchange(&p, 50, true, room, sizeof room, &r), -ETIMEDOUT);
	p = (struct peer){ .n = 0 };
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -EPIPE);
	/* One WAIT, then silence. */
	p = (struct peer){ .say = say, .hang = true };
	p.n = put_reply(say, (struct wire_reply){ .type = WIRE_WAIT, .wait_ms = 60000 });
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -ETIMEDOUT);
	/* Half a DONE, then the end. */
	p = (struct peer){ .say = say };
	p.n = put_reply(say, (struct wire_reply){ .type = WIRE_DONE, .out = STR("abc") }) - 1;
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -EPIPE);
	assert_int_equal(wire_exchange(-1, STR("x"), STR_NONE, lock_path, soon(50), room, 10, &r), -ENOBUFS);
}

static void test_exchange_flood(void **state)
{
	static char room[4096], say[WIRE_REPLY_FIXED * 100000];
	struct peer p = { .say = say };
	struct wire_reply r;

	while (p.n + WIRE_REPLY_FIXED <= sizeof say)
		p.n += put_reply(say + p.n, (struct wire_reply){ .type = WIRE_WAIT, .wait_ms = 1 });
	assert_int_equal(exchange(&p, 5000, false, room, sizeof room, &r), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_hook_round_trip),
		cmocka_unit_test(test_hook_no_room),
		cmocka_unit_test(test_hook_every_truncation),
		cmocka_unit_test(test_hook_refuses),
		cmocka_unit_test(test_hook_too_many),
		cmocka_unit_test(test_reply),
		cmocka_unit_test_setup_teardown(test_connect, make_dir, remove_dir),
		cmocka_unit_test(test_exchange_done),
		cmocka_unit_test(test_exchange_wait_outlives_the_first_deadline),
		cmocka_unit_test(test_exchange_wait_of_a_stranger_moves_nothing),
		cmocka_unit_test(test_exchange_refused),
		cmocka_unit_test(test_exchange_nonsense),
		cmocka_unit_test(test_exchange_no_answer),
		cmocka_unit_test(test_exchange_flood),
	};

	return cmocka_run_group_tests(tests, start_daemon, stop_daemon);
}
