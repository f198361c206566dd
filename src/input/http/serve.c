/* Connections: reading, answering, streaming, and the time each of them may take. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "http/http.h"
#include "os/os.h"

enum {
	BACKLOG = 256,
	LISTENERS_MAX = 3,
	ACCEPT_AT_ONCE = 64,
	READ_AT_ONCE = 64 << 10,
	KEEP_BUFFER = 16 << 10,   /* larger buffers are given back between requests */
	STREAM_SNDBUF = 32 << 10, /* the ring is the buffer; the kernel's would hold a megabyte for each client */
	LINGER_S = 1,
};

enum state { CONN_HEAD, CONN_BODY, CONN_BUSY, CONN_LATE, CONN_SENDING, CONN_STREAM, CONN_LINGER };

struct http_conn {
	struct http_server *server;
	struct http_conn *prev, *next;
	int fd;
	enum http_door door;
	struct loop_io *io;
	enum state state;
	bool eof, closes, refused;
	bool advancing; /* advance() is at work on it, further up the stack, and frees it when it is dead */
	bool dead;
	struct buf in, out;
	size_t seen;       /* bytes of an incomplete head */
	size_t head_bytes; /* of the current request, at the front of `in` */
	struct http_request request;
	struct buf body; /* of chunks, put together */
	size_t body_max;
	size_t promised;     /* how large it may become: counted in server->promised */
	uint64_t chunk_left; /* of the current chunk */
	bool in_chunk;
	bool full;        /* a stream whose client does not read: it waits for room */
	uint64_t cursor;  /* of a stream: what it has, counted from the first byte ever pushed */
	int64_t until_us; /* monotonic: it is closed then; 0: never */
	int64_t since_us; /* when it came into its state */
};

struct listener {
	struct http_server *server;
	int fd;
	enum http_door door;
	struct loop_io *io;
	char path[FS_PATH];
};

struct http_server {
	struct loop *loop;
	struct http_handlers handlers;
	struct listener listeners[LISTENERS_MAX];
	unsigned nlisteners;
	struct http_conn *conns;
	struct loop_timer *timer;
	int64_t timer_us; /* when it fires; 0: not set */
	char *ring;       /* the newest HTTP_RING bytes of all streams; made with the first */
	uint64_t pushed;
	struct loop_timer *streamer; /* the streams get what was pushed meanwhile */
	bool streaming;              /* it is set */
	size_t unsent;               /* bytes that wait for it */
	size_t promised;             /* bytes of bodies that are being read or worked on */
	unsigned late;               /* connections in CONN_LATE */
	struct http_state state;
};

static void advance(struct http_conn *c);
static void send_late(struct http_conn *c);

/* -- connections ------------------------------------------------------------------------------- */

static void watch(struct http_conn *c, int what)
{
	loop_io_set(c->io, what);
}

static void free_promise(struct http_conn *c)
{
	c->server->promised -= c->promised;
	c->promised = 0;
}

static void drop(struct http_conn *c)
{
	struct http_server *s = c->server;

	if (c->advancing) {
		c->dead = true;
		return;
	}
	free_promise(c);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->state.connections--;
	s->state.streams -= c->state == CONN_STREAM;
	s->late -= c->state == CONN_LATE;
	loop_io_free(c->io);
	close(c->fd);
	buf_release(&c->in);
	buf_release(&c->out);
	buf_release(&c->body);
	free(c);
}

static void set_timer(struct http_server *s, int64_t at)
{
	int64_t now = clock_mono_us();

	if (s->timer_us && s->timer_us <= at)
		return;
	s->timer_us = at;
	loop_timer_set(s->timer, at > now ? at - now : 0);
}

static void set_deadline(struct http_conn *c, int seconds)
{
	c->since_us = clock_mono_us();
	c->until_us = seconds ? c->since_us + seconds * USEC_PER_SEC : 0;
	if (c->until_us)
		set_timer(c->server, c->until_us);
}

static void on_timer(void *arg)
{
	struct http_server *s = arg;
	int64_t now = clock_mono_us(), soonest = 0;
	struct http_conn *next;

	s->timer_us = 0;
	for (struct http_conn *c = s->conns; c; c = next) {
		next = c->next;
		if (!c->until_us)
			continue;
		if (c->until_us <= now && c->state == CONN_LATE) {
			send_late(c);
		} else if (c->until_us <= now) {
			s->state.expired++;
			drop(c);
		} else if (!soonest || c->until_us < soonest) {
			soonest = c->until_us;
		}
	}
	if (soonest)
		set_timer(s, soonest);
}

/* -- sending ----------------------------------------------------------------------------------- */

static void trim(struct buf *b)
{
	if (b->cap > KEEP_BUFFER)
		buf_release(b);
	else
		buf_clear(b);
}

static void end_request(struct http_conn *c)
{
	size_t taken = c->head_bytes;

	if (c->request.head.has_length)
		taken += (size_t)c->request.head.length;
	buf_consume(&c->in, taken < c->in.len ? taken : c->in.len);
	if (!c->in.len)
		trim(&c->in);
	trim(&c->body);
	trim(&c->out);
	free_promise(c);
	c->seen = c->head_bytes = 0;
	c->request = (struct http_request){ .door = c->door };
	c->state = CONN_HEAD;
	set_deadline(c, c->in.len ? HTTP_HEAD_S : HTTP_IDLE_S);
	watch(c, LOOP_READ);
}

/* A client that is still sending would be told of a reset, and never of the answer: what comes is read for a moment and
 * thrown away. */
static void linger(struct http_conn *c)
{
	(void)shutdown(c->fd, SHUT_WR);
	c->state = CONN_LINGER;
	buf_release(&c->in);
	buf_release(&c->body);
	free_promise(c);
	set_deadline(c, LINGER_S);
	watch(c, LOOP_READ);
}

/* False: the connection is gone. */
static bool send_more(struct http_conn *c)
{
	size_t sent = 0;

	while (sent < c->out.len) {
		ssize_t n = send(c->fd, c->out.p + sent, c->out.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			buf_consume(&c->out, sent);
			watch(c, LOOP_WRITE);
			return true;
		}
		if (n < 0) {
			drop(c);
			return false;
		}
		sent += (size_t)n;
	}
	buf_clear(&c->out);
	if (c->closes && c->refused) {
		linger(c);
		return true;
	}
	if (c->closes) {
		drop(c);
		return false;
	}
	end_request(c);
	return true;
}

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = { { 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" }, { 303, "See Other" },
		{ 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 411, "Length Required" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" }, { 431, "Request Header Fields Too Large" },
		{ 500, "Internal Error" }, { 503, "Service Unavailable" } };

	for (size_t i = 0; i < countof(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Answer";
}

static void write_head(struct http_conn *c, const struct http_answer *a)
{
	buf_addf(&c->out, "HTTP/1.1 %d %s\r\n", a->status, reason(a->status));
	if (a->type)
		buf_addf(&c->out, "Content-Type: %s\r\n", a->type);
	if (a->status >= 200 && a->status != 204)
		buf_addf(&c->out, "Content-Length: %zu\r\n", a->type ? a->body.n : 0);
	buf_addf(&c->out,
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
		"Cross-Origin-Resource-Policy: same-origin\r\n%s%s\r\n",
		c->closes ? "Connection: close\r\n" : "", a->fields ? a->fields : "");
}

/* The answer is written; it waits with nothing else. */
static void keep_waiting(struct http_conn *c, unsigned ms)
{
	struct http_server *s = c->server;

	if (s->late >= HTTP_LATE_MAX) {
		drop(c);
		return;
	}
	s->late++;
	c->state = CONN_LATE;
	c->until_us = clock_mono_us() + (int64_t)ms * USEC_PER_MSEC;
	set_timer(s, c->until_us);
	buf_release(&c->in);
	buf_release(&c->body);
	free_promise(c);
	watch(c, 0);
}

static void send_late(struct http_conn *c)
{
	c->server->late--;
	c->state = CONN_SENDING;
	set_deadline(c, HTTP_REQUEST_S);
	send_more(c);
}

void http_answer(struct http_conn *c, const struct http_answer *a)
{
	bool head_only = str_eq(c->request.head.method, STR("HEAD"));

	c->refused |= a->late_ms > 0;
	c->closes |= c->request.head.closes || c->eof || a->late_ms;
	write_head(c, a);
	if (a->type && !head_only)
		buf_add_str(&c->out, a->body);
	if (a->late_ms) {
		keep_waiting(c, a->late_ms);
		return;
	}
	c->state = CONN_SENDING;
	set_deadline(c, HTTP_REQUEST_S);
	/* From inside request() its caller goes on. */
	if (send_more(c) && c->state == CONN_HEAD && !c->advancing)
		advance(c);
}

/* What comes after it cannot be found, or is not wanted. */
static void refuse_late(struct http_conn *c, int status, const char *fields, unsigned late_ms)
{
	c->server->state.refused++;
	c->closes = c->refused = true;
	c->request.head.method = STR_NONE;
	http_answer(c, &(struct http_answer){ .status = status, .fields = fields, .late_ms = late_ms });
}

static void refuse(struct http_conn *c, int status, const char *fields)
{
	refuse_late(c, status, fields, 0);
}

/* -- streams ----------------------------------------------------------------------------------- */

/* False: it is gone. */
static bool stream_more(struct http_conn *c)
{
	struct http_server *s = c->server;

	if (s->pushed - c->cursor > HTTP_RING) {
		s->state.fell_behind++;
		drop(c);
		return false;
	}
	while (c->cursor < s->pushed) {
		size_t at = (size_t)(c->cursor % HTTP_RING);
		size_t n = MIN((size_t)(s->pushed - c->cursor), (size_t)HTTP_RING - at);
		ssize_t sent = send(c->fd, s->ring + at, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN) {
			c->full = true;
			watch(c, LOOP_READ | LOOP_WRITE);
			return true;
		}
		if (sent < 0) {
			drop(c);
			return false;
		}
		c->cursor += (uint64_t)sent;
	}
	if (c->full)
		watch(c, LOOP_READ); /* to see it go */
	c->full = false;
	return true;
}

void http_stream(struct http_conn *c)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
				   "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nretry: 1000\n\n";
	struct http_server *s = c->server;
	int room = STREAM_SNDBUF;

	(void)setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (!s->ring)
		s->ring = xmalloc(HTTP_RING);
	if (send(c->fd, head, sizeof head - 1, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof head - 1) {
		c->eof = true; /* it did not even take the head */
		refuse(c, 503, NULL);
		return;
	}
	c->state = CONN_STREAM;
	c->cursor = s->pushed;
	s->state.streams++;
	set_deadline(c, 0);
	buf_release(&c->in);
	buf_release(&c->body);
	watch(c, LOOP_READ);
}

/* Who has no room is told by the kernel when it has; until then only its place on the ring counts. */
static void send_streams(struct http_server *s)
{
	struct http_conn *next;

	for (struct http_conn *c = s->conns; c; c = next) {
		next = c->next;
		if (c->state == CONN_STREAM && (!c->full || s->pushed - c->cursor > HTTP_RING))
			stream_more(c);
	}
}

static void on_streamer(void *arg)
{
	struct http_server *s = arg;

	s->streaming = false;
	s->unsent = 0;
	send_streams(s);
}

void http_push(struct http_server *s, str event)
{
	if (!s->state.streams || event.n > HTTP_RING)
		return;
	for (size_t done = 0; done < event.n;) {
		size_t at = (size_t)((s->pushed + done) % HTTP_RING), n = MIN(event.n - done, (size_t)HTTP_RING - at);

		memcpy(s->ring + at, event.p + done, n);
		done += n;
	}
	s->pushed += event.n;
	s->unsent += event.n;
	if (!s->streaming || s->unsent > HTTP_RING / 2) {
		s->unsent = 0;
		send_streams(s);
	}
	if (!s->streaming)
		loop_timer_set(s->streamer, HTTP_STREAM_MS * USEC_PER_MSEC);
	s->streaming = true;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Takes n bytes out of the input, behind the head. */
static void cut_input(struct http_conn *c, size_t n)
{
	memmove(c->in.p + c->head_bytes, c->in.p + c->head_bytes + n, c->in.len - c->head_bytes - n);
	c->in.len -= n;
}

/* The bytes of a chunk and the CRLF behind them. As take_chunks(). */
static int take_chunk(struct http_conn *c)
{
	str rest = str_from(buf_str(&c->in), c->head_bytes);
	size_t part = MIN((size_t)c->chunk_left, rest.n);

	if (buf_add(&c->body, rest.p, part) < 0)
		return 413;
	c->chunk_left -= part;
	cut_input(c, part);
	rest = str_from(buf_str(&c->in), c->head_bytes);
	if (c->chunk_left || rest.n < 2)
		return 0;
	if (!str_starts(rest, STR("\r\n")))
		return 400;
	cut_input(c, 2);
	c->in_chunk = false;
	return 1;
}

/* Chunks are put together in `body`. 1: the last one is there; 0: more to come; else a status. */
static int take_chunks(struct http_conn *c)
{
	for (;;) {
		str rest = str_from(buf_str(&c->in), c->head_bytes);
		int got = c->in_chunk ? take_chunk(c) : 1;
		ssize_t n;

		if (got != 1)
			return got;
		rest = str_from(buf_str(&c->in), c->head_bytes);
		n = http_parse_chunk_size(rest, &c->chunk_left);
		if (n <= 0)
			return n < 0 ? 400 : 0;
		if (c->chunk_left > c->body_max - MIN(c->body.len, c->body_max))
			return 413;
		if (c->chunk_left == 0) {
			if (rest.n < (size_t)n + 2)
				return 0;
			if (!str_starts(str_from(rest, (size_t)n), STR("\r\n")))
				return 400; /* trailers */
			cut_input(c, (size_t)n + 2);
			return 1;
		}
		cut_input(c, (size_t)n);
		c->in_chunk = true;
	}
}

/* As take_chunks(). */
static int take_body(struct http_conn *c)
{
	const struct http_head *h = &c->request.head;
	str rest = str_from(buf_str(&c->in), c->head_bytes);

	if (h->chunked)
		return take_chunks(c);
	return rest.n >= h->length;
}

/* The buffer may have moved since the head was read. */
static void read_head_again(struct http_conn *c)
{
	(void)http_parse_head(buf_str(&c->in), 0, &c->request.head);
}

static void hand_over(struct http_conn *c)
{
	read_head_again(c);
	c->request.body = c->request.head.chunked
		? buf_str(&c->body)
		: str_head(str_from(buf_str(&c->in), c->head_bytes), (size_t)c->request.head.length);
	c->state = CONN_BUSY;
	c->server->state.requests++;
	set_deadline(c, 0);
	watch(c, 0);
	c->server->handlers.request(c, &c->request, c->server->handlers.arg);
}

/* Small ones always fit. */
static bool promise(struct http_conn *c, size_t bytes)
{
	if (bytes > READ_AT_ONCE && c->server->promised + bytes > HTTP_BODIES_MAX)
		return false;
	c->promised = bytes;
	c->server->promised += bytes;
	return true;
}

/* The head is complete: who may go on, and with how much? False: it has been refused. */
static bool admit(struct http_conn *c)
{
	const struct http_head *h = &c->request.head;
	struct http_server *s = c->server;
	struct http_terms terms = { 0 };
	int status = s->handlers.admit(h, c->door, &terms, s->handlers.arg);

	c->body_max = terms.body_max;
	if (status == 0 && h->has_length && h->length > c->body_max)
		status = 413;
	if (status == 0 && !promise(c, h->has_length ? (size_t)h->length : h->chunked ? c->body_max : 0)) {
		status = 503;
		terms.field = "Retry-After: 1\r\n";
	}
	if (status) {
		refuse_late(c, status, terms.field, terms.late_ms);
		return false;
	}
	c->in.max = MAX((size_t)HTTP_HEAD_MAX + READ_AT_ONCE, c->head_bytes + (size_t)h->length + READ_AT_ONCE);
	c->body.max = c->body_max;
	c->in_chunk = false;
	c->state = CONN_BODY;
	set_deadline(c, HTTP_REQUEST_S);
	if (h->expects && (h->length || h->chunked) && c->in.len == c->head_bytes)
		(void)send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL | MSG_DONTWAIT);
	return true;
}

/* 1: the head is complete and admitted; 0: more to come, or it was refused. */
static int take_head(struct http_conn *c)
{
	ssize_t n = http_parse_head(buf_str(&c->in), c->seen, &c->request.head);

	if (n == 0) {
		if (!c->seen && c->in.len)
			set_deadline(c, HTTP_HEAD_S);
		c->seen = c->in.len;
		return 0;
	}
	if (n < 0) {
		refuse(c, n == -E2BIG ? 431 : 400, NULL);
		return 0;
	}
	c->head_bytes = (size_t)n;
	return admit(c);
}

/* Goes as far as the bytes reach. The connection may be gone afterwards. */
static void advance(struct http_conn *c)
{
	int got;

	c->advancing = true;
	while (!c->dead && (c->state == CONN_HEAD || c->state == CONN_BODY)) {
		if (c->state == CONN_HEAD && !take_head(c))
			break;
		got = take_body(c);
		if (got > 1)
			refuse(c, got, NULL);
		if (got != 1)
			break;
		hand_over(c);
	}
	c->advancing = false;
	if (c->dead)
		drop(c);
}

static void on_conn(int what, void *arg)
{
	struct http_conn *c = arg;
	char thrown_away[4096], *to;
	ssize_t n;

	if (c->state == CONN_STREAM && what & LOOP_WRITE && !stream_more(c))
		return;
	if (c->state == CONN_SENDING) {
		if (what & LOOP_WRITE && send_more(c) && c->state == CONN_HEAD)
			advance(c);
		return;
	}
	if (!(what & LOOP_READ))
		return;
	if (c->state == CONN_STREAM || c->state == CONN_LINGER) {
		n = recv(c->fd, thrown_away, sizeof thrown_away, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			drop(c);
		return;
	}
	to = buf_reserve(&c->in, READ_AT_ONCE);
	if (!to) {
		refuse(c, 413, NULL);
		return;
	}
	n = recv(c->fd, to, READ_AT_ONCE, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	buf_commit(&c->in, (size_t)n);
	advance(c);
}

/* -- listening --------------------------------------------------------------------------------- */

static void conn_new(struct http_server *s, int fd, enum http_door door)
{
	struct http_conn *c = xcalloc(1, sizeof *c);

	c->server = s;
	c->fd = fd;
	c->door = c->request.door = door;
	buf_init(&c->in, HTTP_HEAD_MAX + READ_AT_ONCE);
	buf_init(&c->out, LIMIT_RPC_REPLY * 3);
	buf_init(&c->body, 0);
	c->next = s->conns;
	if (s->conns)
		s->conns->prev = c;
	s->conns = c;
	s->state.connections++;
	c->io = loop_io_new(s->loop, fd, LOOP_READ, on_conn, c);
	set_deadline(c, HTTP_HEAD_S);
}

/* Somebody who only connects must not keep others out, least of all those on the Unix socket: of the connections that
 * have not finished a head, the one that has waited longest is closed. False: all are at work. */
static bool make_room(struct http_server *s)
{
	struct http_conn *first = NULL;

	for (struct http_conn *c = s->conns; c; c = c->next)
		if ((c->state == CONN_HEAD || c->state == CONN_LINGER) && (!first || c->since_us < first->since_us))
			first = c;
	if (!first)
		return false;
	s->state.expired++;
	drop(first);
	return true;
}

static void on_listener(int what, void *arg)
{
	struct listener *l = arg;
	struct http_server *s = l->server;
	int one = 1;
	uid_t uid;

	(void)what;
	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if ((l->door == HTTP_UNIX && (os_peer_uid(fd, &uid) < 0 || uid != geteuid())) ||
			(s->state.connections >= HTTP_CONNECTIONS_MAX && !make_room(s))) {
			s->state.refused++;
			close(fd);
			continue;
		}
		if (l->door == HTTP_TCP)
			(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		conn_new(s, fd, l->door);
	}
}

static void add_listener(struct http_server *s, int fd, enum http_door door, const char *path)
{
	struct listener *l = &s->listeners[s->nlisteners++];

	*l = (struct listener){ .server = s, .fd = fd, .door = door };
	snprintf(l->path, sizeof l->path, "%s", path);
	l->io = loop_io_new(s->loop, fd, LOOP_READ, on_listener, l);
}

int http_listen_unix(struct http_server *s, const char *path)
{
	int fd = s->nlisteners < LISTENERS_MAX ? os_listen_unix(path, BACKLOG) : -ENOSPC;

	if (fd < 0)
		return fd;
	add_listener(s, fd, HTTP_UNIX, path);
	return 0;
}

int http_listen_tcp(struct http_server *s, unsigned port, unsigned *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int one = 1, r,
	    fd = s->nlisteners < LISTENERS_MAX ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

	if (fd < 0)
		return s->nlisteners < LISTENERS_MAX ? -errno : -ENOSPC;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, BACKLOG) < 0 ||
		getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_port = ntohs(a.sin_port);
	add_listener(s, fd, HTTP_TCP, "");
	return 0;
}

void http_close_listeners(struct http_server *s)
{
	for (unsigned i = 0; i < s->nlisteners; i++) {
		struct listener *l = &s->listeners[i];

		loop_io_free(l->io);
		close(l->fd);
		if (l->path[0])
			unlink(l->path);
	}
	s->nlisteners = 0;
}

struct http_server *http_new(struct loop *l, const struct http_handlers *handlers)
{
	struct http_server *s = xcalloc(1, sizeof *s);

	s->loop = l;
	s->handlers = *handlers;
	s->timer = loop_timer_new(l, on_timer, s);
	s->streamer = loop_timer_new(l, on_streamer, s);
	return s;
}

void http_free(struct http_server *s)
{
	if (!s)
		return;
	http_close_listeners(s);
	while (s->conns)
		drop(s->conns);
	loop_timer_free(s->timer);
	loop_timer_free(s->streamer);
	free(s->ring);
	free(s);
}

void http_get_state(const struct http_server *s, struct http_state *ret)
{
	*ret = s->state;
}
