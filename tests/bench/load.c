/* load: sends a burst of events to the daemon in hookc's own frames and counts the acknowledged.
 *
 *     load [-m fresh|keep] [-c CONNECTIONS] [-d DEPTH] [-n EVENTS] [-t SECONDS] [-r] SOCKET
 *     load -p                    prints one payload and stops
 *
 *     -m fresh   a connection per event, as hookc does; CONNECTIONS of them at a time
 *     -m keep    CONNECTIONS stay open, with DEPTH events under way on each (1: one after another)
 *     -r         wait for a daemon that is not there yet: the time of its first answer is printed
 *
 * Every event is new (ULID, tool_use_id, one of 50 sessions), because a daemon that recognises a
 * double does less. What was under way on a connection that broke is sent again, with its old ULID.
 * An event counts as acknowledged when the reply says journaled or committed. One thread, so that a
 * second core stays free for the daemon. Prints one JSON object. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/wire.h"

enum {
	CONNECTIONS_MAX = 1024,
	DEPTH_MAX = 64,
	FRAME_MAX = 4096,
	SESSIONS = 50,
	REPLY_ROOM = 65536,
	PAUSE_US = 200, /* before trying again to connect */
};

struct link {
	int fd;
	bool writing; /* waits for room in the socket */
	/* Numbers of the events under way, oldest first, and when each was sent. */
	unsigned events[DEPTH_MAX];
	int64_t sent_us[DEPTH_MAX];
	size_t first, count;
	char *out;
	size_t out_done, out_used;
	char in[REPLY_ROOM];
	size_t in_used;
};

static struct {
	const char *path;
	bool keep, patient;
	unsigned connections, depth, events;
	double seconds;
} opt = { .connections = 16, .depth = 1, .events = 1000, .seconds = 60 };

static struct {
	unsigned next;   /* first event not sent yet */
	unsigned *again; /* events to send again */
	unsigned nagain;
	unsigned answered, journaled, committed, not_stored, refused;
	unsigned reconnects, waits, busy; /* busy: the backlog was full */
	int64_t start_us, first_us, end_us;
	double *latency;
} run;

static struct link links[CONNECTIONS_MAX];
static int poller;
static uint8_t seed[6];
static int64_t start_ms;

static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* -- events ------------------------------------------------------------------------------------ */

/* A PostToolUse as Claude Code sends it, about 2.3 KB: the end of a test run. */
static size_t make_payload(unsigned number, char *p, size_t cap)
{
	unsigned session = number % SESSIONS;
	int n = snprintf(p, cap,
		"{\"session_id\":\"%02x%02x%02x%02x-0000-4000-8000-%012u\","
		"\"transcript_path\":\"/home/bench/.claude/projects/-home-bench-shop/%012u.jsonl\","
		"\"cwd\":\"/home/bench/shop\",\"prompt_id\":\"7d0c2f5e-0000-4000-8000-%012u\","
		"\"permission_mode\":\"default\",\"effort\":{\"level\":\"medium\"},"
		"\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Bash\","
		"\"tool_input\":{\"command\":\"make -C services/orders test FILTER=case_%u\","
		"\"description\":\"Run the order tests\",\"timeout\":120000},"
		"\"tool_response\":{\"stdout\":\"entering services/orders\\n",
		seed[0], seed[1], seed[2], seed[3], session, session, number / SESSIONS, number);

	for (unsigned i = 0; i < 28 && n > 0 && (size_t)n < cap; i++)
		n += snprintf(p + n, cap - (size_t)n,
			"  ok %2u - orders/case_%u/step_%02u keeps the total (%u.%03u s)\\n", i + 1, number, i, i % 3,
			number * 7 % 1000);
	if (n > 0 && (size_t)n < cap)
		n += snprintf(p + n, cap - (size_t)n,
			"28 passed\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false,"
			"\"noOutputExpected\":false},\"tool_use_id\":\"toolu_%02x%02x%02x%02x%016u\","
			"\"duration_ms\":%u}\n",
			seed[2], seed[3], seed[4], seed[5], number, 40 + number % 900);
	if (n < 0 || (size_t)n >= cap) {
		errno = ENOBUFS;
		die("payload");
	}
	return (size_t)n;
}

static size_t make_frame(unsigned number, char *p, size_t cap)
{
	static char payload[FRAME_MAX];
	struct wire_hook hook = {
		.at_ms = clock_wall_us() / USEC_PER_MSEC,
		.deadline_ms = WIRE_FIRST_CAPTURE_MS,
		.pid = (uint32_t)getpid(),
		.ppid = (uint32_t)getppid(),
		.agent = STR("claude"),
		.event = STR("PostToolUse"),
		.cwd = STR("/home/bench/shop"),
		.env = { STR("CLAUDECODE=1"), STR("CLAUDE_CODE_ENTRYPOINT=cli"),
			STR("CLAUDE_PROJECT_DIR=/home/bench/shop") },
		.nenv = 3,
	};
	uint8_t random[10];
	ptrdiff_t head;

	memcpy(random, seed, sizeof seed);
	for (int i = 0; i < 4; i++)
		random[6 + i] = (uint8_t)(number >> (24 - 8 * i));
	hook.id = ulid_from(start_ms, random);
	hook.payload = str_n(payload, make_payload(number, payload, sizeof payload));
	head = wire_hook_encode(&hook, p, cap);
	if (head < 0 || (size_t)head + hook.payload.n > cap) {
		errno = ENOBUFS;
		die("frame");
	}
	memcpy(p + head, hook.payload.p, hook.payload.n);
	return (size_t)head + hook.payload.n;
}

static bool take_event(unsigned *ret)
{
	if (run.nagain > 0)
		*ret = run.again[--run.nagain];
	else if (run.next < opt.events)
		*ret = run.next++;
	else
		return false;
	return true;
}

static bool events_left(void)
{
	return run.nagain > 0 || run.next < opt.events;
}

/* -- connections ------------------------------------------------------------------------------- */

static void watch(struct link *l, int op)
{
	struct epoll_event event = {
		.events = EPOLLIN | (l->writing ? EPOLLOUT : 0),
		.data.ptr = l,
	};

	if (epoll_ctl(poller, op, l->fd, &event) < 0)
		die("epoll_ctl");
}

/* Ends a connection; what was under way on it goes back to be sent again. */
static void hang_up(struct link *l)
{
	close(l->fd);
	l->fd = -1;
	for (; l->count > 0; l->count--, l->first++)
		run.again[run.nagain++] = l->events[l->first % DEPTH_MAX];
	l->first = l->out_done = l->out_used = l->in_used = 0;
	l->writing = false;
}

/* False when the connection broke. */
static bool flush(struct link *l)
{
	bool was_writing = l->writing;

	while (l->out_done < l->out_used) {
		ssize_t n = send(l->fd, l->out + l->out_done, l->out_used - l->out_done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			return false;
		l->out_done += (size_t)n;
	}
	if (l->out_done == l->out_used)
		l->out_done = l->out_used = 0;
	l->writing = l->out_used > 0;
	if (l->writing != was_writing)
		watch(l, EPOLL_CTL_MOD);
	return true;
}

/* Puts as many events under way as this connection may have. */
static bool fill(struct link *l)
{
	size_t depth = opt.keep ? opt.depth : 1;
	unsigned number;

	while (l->count < depth && l->out_used + FRAME_MAX <= (size_t)DEPTH_MAX * FRAME_MAX && take_event(&number)) {
		size_t slot = (l->first + l->count++) % DEPTH_MAX;

		l->events[slot] = number;
		l->sent_us[slot] = clock_mono_us();
		l->out_used += make_frame(number, l->out + l->out_used, FRAME_MAX);
	}
	return flush(l);
}

/* Connects and sends. False when it has to be tried again later. */
static bool open_link(struct link *l)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		die("socket");
	memcpy(to.sun_path, opt.path, strlen(opt.path));
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
		int e = errno;

		close(fd);
		errno = e;
		if (e == EAGAIN)
			run.busy++;
		else if (!opt.patient || (e != ENOENT && e != ECONNREFUSED))
			die(opt.path);
		return false;
	}
	l->fd = fd;
	watch(l, EPOLL_CTL_ADD);
	if (!fill(l)) {
		hang_up(l);
		run.reconnects++;
		return false;
	}
	return true;
}

/* Takes one reply; false when the connection is over. */
static bool take_reply(struct link *l, const struct wire_header *header, str body)
{
	struct wire_reply reply;
	int64_t now = clock_mono_us();
	size_t slot = l->first % DEPTH_MAX;

	if (l->count == 0 || wire_reply_decode(header->type, body, &reply) < 0) {
		errno = EPROTO;
		die("reply");
	}
	if (reply.type == WIRE_WAIT) {
		run.waits++;
		return true;
	}
	if (reply.type == WIRE_REFUSED)
		run.refused++;
	else if (reply.stored == WIRE_STORED_JOURNALED)
		run.journaled++;
	else if (reply.stored == WIRE_STORED_COMMITTED)
		run.committed++;
	else
		run.not_stored++;
	if (run.answered == 0)
		run.first_us = now;
	run.latency[run.answered++] = (double)(now - l->sent_us[slot]);
	run.end_us = now;
	l->first++;
	l->count--;
	return opt.keep && reply.type == WIRE_DONE;
}

/* Reads what came. False: the connection is over. */
static bool receive(struct link *l)
{
	ssize_t n = recv(l->fd, l->in + l->in_used, sizeof l->in - l->in_used, MSG_DONTWAIT);
	size_t at = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		run.reconnects++;
		return false;
	}
	l->in_used += (size_t)n;
	while (l->in_used - at >= WIRE_HEADER) {
		struct wire_header header;

		if (wire_header_decode(l->in + at, &header) < 0 || header.length > sizeof l->in - WIRE_HEADER) {
			errno = EPROTO;
			die("reply header");
		}
		if (l->in_used - at < WIRE_HEADER + header.length)
			break;
		if (!take_reply(l, &header, str_n(l->in + at + WIRE_HEADER, header.length)))
			return false;
		at += WIRE_HEADER + header.length;
	}
	l->in_used -= at;
	memmove(l->in, l->in + at, l->in_used);
	return fill(l);
}

/* -- the burst --------------------------------------------------------------------------------- */

static void burst(void)
{
	int64_t end = clock_mono_us() + (int64_t)(opt.seconds * 1e6);
	struct epoll_event events[64];

	run.start_us = clock_mono_us();
	while (run.answered < opt.events && clock_mono_us() < end) {
		unsigned open = 0, waiting = 0;

		for (unsigned i = 0; i < opt.connections; i++) {
			struct link *l = &links[i];

			if (l->fd < 0 && events_left() && !open_link(l))
				waiting++;
			open += l->fd >= 0;
		}
		if (open == 0) {
			usleep(PAUSE_US);
			continue;
		}
		int n = epoll_wait(poller, events, 64, waiting ? 1 : 100);

		for (int i = 0; i < n; i++) {
			struct link *l = events[i].data.ptr;
			bool alive = true;

			if (l->fd < 0)
				continue;
			if (events[i].events & EPOLLOUT)
				alive = flush(l);
			if (alive && events[i].events & ~(uint32_t)EPOLLOUT)
				alive = receive(l);
			if (!alive)
				hang_up(l);
		}
	}
	if (run.end_us == 0)
		run.end_us = clock_mono_us();
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double share(double p)
{
	return run.answered ? run.latency[(size_t)((run.answered - 1) * p)] : 0;
}

static void report(void)
{
	double seconds = (double)(run.end_us - run.start_us) / 1e6;
	unsigned acked = run.journaled + run.committed;
	struct rusage u;

	qsort(run.latency, run.answered, sizeof *run.latency, by_value);
	getrusage(RUSAGE_SELF, &u);
	printf("{\"mode\":\"%s\",\"connections\":%u,\"depth\":%u,\"events\":%u,\"answered\":%u,"
	       "\"acked\":%u,\"journaled\":%u,\"committed\":%u,\"not_stored\":%u,\"refused\":%u,"
	       "\"waits\":%u,\"reconnects\":%u,\"backlog_full\":%u,",
		opt.keep ? "keep" : "fresh", opt.connections, opt.keep ? opt.depth : 1, opt.events, run.answered, acked,
		run.journaled, run.committed, run.not_stored, run.refused, run.waits, run.reconnects, run.busy);
	printf("\"seconds\":%.4f,\"acked_per_second\":%.0f,\"start_mono_us\":%lld,"
	       "\"first_mono_us\":%lld,\"end_mono_us\":%lld,",
		seconds, seconds > 0 ? acked / seconds : 0, (long long)run.start_us, (long long)run.first_us,
		(long long)run.end_us);
	printf("\"latency_us\":{\"min\":%.0f,\"median\":%.0f,\"p95\":%.0f,\"p99\":%.0f,"
	       "\"max\":%.0f},\"cpu_us\":%.0f}\n",
		share(0), share(.5), share(.95), share(.99), share(1),
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec));
}

static void usage(void)
{
	fprintf(stderr,
		"usage: load [-m fresh|keep] [-c CONNECTIONS] [-d DEPTH] [-n EVENTS]"
		" [-t SECONDS] [-r] SOCKET\n       load -p\n");
	exit(64);
}

static unsigned number_arg(const char *text, unsigned max)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end || v < 1 || v > max)
		usage();
	return (unsigned)v;
}

int main(int argc, char **argv)
{
	char payload[FRAME_MAX];
	int o;

	if (getrandom(seed, sizeof seed, 0) != sizeof seed)
		die("getrandom");
	start_ms = clock_wall_us() / USEC_PER_MSEC;
	while ((o = getopt(argc, argv, "m:c:d:n:t:rp")) != -1) {
		switch (o) {
		case 'm': opt.keep = strcmp(optarg, "keep") == 0; break;
		case 'c': opt.connections = number_arg(optarg, CONNECTIONS_MAX); break;
		case 'd': opt.depth = number_arg(optarg, DEPTH_MAX); break;
		case 'n': opt.events = number_arg(optarg, 10000000); break;
		case 't': opt.seconds = strtod(optarg, NULL); break;
		case 'r': opt.patient = true; break;
		case 'p': fwrite(payload, 1, make_payload(1, payload, sizeof payload), stdout); return 0;
		default: usage();
		}
	}
	if (optind + 1 != argc || strlen(argv[optind]) >= sizeof((struct sockaddr_un *)0)->sun_path)
		usage();
	opt.path = argv[optind];
	poller = epoll_create1(EPOLL_CLOEXEC);
	run.again = calloc((size_t)opt.events + 1, sizeof *run.again);
	run.latency = calloc((size_t)opt.events + 1, sizeof *run.latency);
	if (poller < 0 || !run.again || !run.latency)
		die("set-up");
	for (unsigned i = 0; i < opt.connections; i++) {
		links[i].fd = -1;
		links[i].out = malloc((size_t)DEPTH_MAX * FRAME_MAX);
		if (!links[i].out)
			die("set-up");
	}
	burst();
	report();
	return 0;
}
