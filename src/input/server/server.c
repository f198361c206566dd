#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "os/os.h"

enum {
	BACKLOG = 1024,
	ACCEPT_AT_ONCE = 64,
	FIRST_READ = 4096,   /* most hook frames fit */
	KEEP_BUFFER = 16384, /* larger buffers are given back between requests */
	LISTENERS_MAX = 4,
	SPARE_CONNS = 64,
	ACCEPT_PAUSE_MS = 50,
	COMPLAIN_EVERY_S = 60,
};

enum conn_state { CONN_READING, CONN_BUSY, CONN_SENDING, CONN_CLOSING };

struct conn {
	struct server *server;
	struct conn *prev, *next; /* all connections */
	int fd;
	struct loop_io *io;
	enum conn_state state;
	bool gone, eof, framed, dialect_known;
	bool advancing; /* conn_next() is at work further up the stack */
	struct buf in, out;
	size_t request;   /* bytes at the front of `in` that the current request takes */
	int64_t moved_us; /* last progress, for server_expire() */
};

struct listener {
	struct server *server;
	int fd;
	struct loop_io *io;
	char path[FS_PATH];
	dev_t dev;
	ino_t ino;
};

struct server {
	struct loop *loop;
	struct server_handlers handlers;
	struct listener listeners[LISTENERS_MAX];
	unsigned nlisteners;
	struct conn *conns, *spare;
	unsigned nspare;
	struct loop_timer *resume_accept;
	int64_t complained_us; /* about connections that have to wait */
	struct server_state state;
};

static void conn_next(struct conn *c);
static void on_conn(int what, void *arg);

/* -- connections ------------------------------------------------------------------------------- */

static struct conn *conn_new(struct server *s, int fd)
{
	struct conn *c = s->spare;

	if (c) {
		s->spare = c->next;
		s->nspare--;
	} else {
		c = xcalloc(1, sizeof *c);
		buf_init(&c->in, LIMIT_FRAME + WIRE_HEADER);
		buf_init(&c->out, LIMIT_RPC_REPLY + KIB(64));
	}
	c->server = s;
	c->fd = fd;
	c->state = CONN_READING;
	c->moved_us = clock_mono_us();
	c->next = s->conns;
	if (s->conns)
		s->conns->prev = c;
	s->conns = c;
	s->state.connections++;
	return c;
}

static void trim(struct buf *b)
{
	if (b->cap > KEEP_BUFFER)
		buf_release(b);
	else
		buf_clear(b);
}

static void conn_free(struct conn *c)
{
	struct server *s = c->server;

	loop_io_free(c->io);
	close(c->fd);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->state.connections--;
	trim(&c->in);
	trim(&c->out);
	if (s->nspare < SPARE_CONNS) {
		*c = (struct conn){ .in = c->in, .out = c->out, .next = s->spare };
		s->spare = c;
		s->nspare++;
	} else {
		buf_release(&c->in);
		buf_release(&c->out);
		free(c);
	}
}

static void conn_watch(struct conn *c, int what)
{
	if (c->io)
		loop_io_set(c->io, what);
	else if (what)
		c->io = loop_io_new(c->server->loop, c->fd, what, on_conn, c);
}

/* Ends the connection now, or when its handler has answered. */
static void conn_drop(struct conn *c)
{
	c->gone = true;
	if (c->state == CONN_BUSY)
		conn_watch(c, 0);
	else
		conn_free(c);
}

bool conn_is_gone(const struct conn *c)
{
	return c->gone;
}

/* -- requests ---------------------------------------------------------------------------------- */

/* A frame this daemon does not speak gets REFUSED: the client then uses its own release's offline. */
static void refuse_frame(struct conn *c, const char *why)
{
	uint8_t reply[WIRE_HEADER];

	log_warn(LOG_SERVER, "a frame was refused: %s", why);
	c->server->state.refused_frames++;
	wire_header_encode(reply, WIRE_REFUSED, 0);
	(void)!send(c->fd, reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Is a whole frame there? 1: c->request is set; 0: not yet; -1: nonsense. */
static int frame_ready(struct conn *c)
{
	struct wire_header h;

	if (c->in.len < WIRE_HEADER)
		return 0;
	if (wire_header_decode(c->in.p, &h) < 0) {
		refuse_frame(c, "no valid frame header");
		return -1;
	}
	if (h.proto < WIRE_PROTO_MIN || h.proto > WIRE_PROTO ||
		!(h.type == WIRE_HOOK || (h.type == WIRE_RECORDS && c->server->handlers.records))) {
		refuse_frame(c, "unknown protocol number or type");
		return -1;
	}
	if (h.length > LIMIT_FRAME) {
		refuse_frame(c, "larger than any frame may be");
		return -1;
	}
	if (c->in.len < WIRE_HEADER + (size_t)h.length) {
		/* The size is known now: one allocation for all of it, not doubling steps. */
		buf_reserve(&c->in, WIRE_HEADER + (size_t)h.length - c->in.len);
		return 0;
	}
	c->request = WIRE_HEADER + (size_t)h.length;
	return 1;
}

static int line_ready(struct conn *c)
{
	ptrdiff_t end = str_find_char(buf_str(&c->in), '\n');

	if (end < 0)
		return c->in.len > LIMIT_RPC_LINE ? -1 : 0;
	c->request = (size_t)end + 1;
	return 1;
}

static int request_ready(struct conn *c)
{
	if (!c->in.len)
		return 0;
	if (!c->dialect_known) {
		c->framed = (unsigned char)c->in.p[0] == WIRE_MAGIC;
		c->dialect_known = true;
	}
	return c->framed ? frame_ready(c) : line_ready(c);
}

static void conn_hand_over(struct conn *c)
{
	struct server *s = c->server;

	/* While the request is in progress nothing more is read. The file descriptor is registered only once it had
	 * to wait, and stays so until more comes before the answer: that saves two system calls for the client that
	 * asks once, and two a request for the one that asks again. */
	c->state = CONN_BUSY;
	s->state.busy++;
	if (c->framed && (uint8_t)c->in.p[2] == WIRE_RECORDS)
		s->handlers.records(c, str_n(c->in.p + WIRE_HEADER, c->request - WIRE_HEADER), s->handlers.arg);
	else if (c->framed)
		s->handlers.hook(c, str_n(c->in.p + WIRE_HEADER, c->request - WIRE_HEADER), s->handlers.arg);
	else
		s->handlers.line(c, str_n(c->in.p, c->request - 1), s->handlers.arg);
}

/* Takes up one request after the other while whole ones are in the buffer and they are answered at
 * once; else waits for the answer or goes back to reading. A loop, not a recursion: a client may
 * send a hundred thousand requests in one write. */
static void conn_next(struct conn *c)
{
	int ready = 0;

	if (c->advancing)
		return;
	c->advancing = true;
	while (c->state == CONN_READING && !c->gone && (ready = request_ready(c)) == 1)
		conn_hand_over(c);
	c->advancing = false;
	if (c->state != CONN_READING)
		return;
	if (c->gone || ready < 0 || c->eof)
		conn_drop(c);
	else
		conn_watch(c, LOOP_READ);
}

static void conn_read(struct conn *c)
{
	size_t room = c->in.cap > c->in.len + 1 ? c->in.cap - c->in.len - 1 : FIRST_READ;
	char *to;
	ssize_t n;

	room = MIN(room, c->in.max - c->in.len);
	to = buf_reserve(&c->in, room);
	n = to && room ? read(c->fd, to, room) : -1;
	if (n < 0) {
		if (to && room && (errno == EAGAIN || errno == EINTR)) {
			conn_watch(c, LOOP_READ);
			return;
		}
		conn_drop(c);
		return;
	}
	c->moved_us = clock_mono_us();
	if (n == 0)
		c->eof = true;
	buf_commit(&c->in, (size_t)n);
	conn_next(c);
}

/* -- answers ----------------------------------------------------------------------------------- */

static void conn_answered(struct conn *c)
{
	c->state = CONN_READING;
	conn_next(c);
}

static void conn_write_rest(struct conn *c)
{
	ssize_t n = send(c->fd, c->out.p, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		/* Not freed while BUSY: it may have been a WAIT frame, and a turn still holds this. */
		conn_drop(c);
		return;
	}
	c->moved_us = clock_mono_us();
	buf_consume(&c->out, (size_t)n);
	if (c->out.len)
		return;
	trim(&c->out);
	if (c->state == CONN_SENDING)
		conn_answered(c);
	else
		conn_watch(c, 0); /* a WAIT frame was sent, the handler is still working */
}

void conn_send(struct conn *c, const struct iovec *pieces, int n)
{
	struct msghdr m = { .msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)n };
	size_t skip = 0;
	ssize_t sent = 0;

	if (c->gone)
		return;
	if (!c->out.len && n) {
		sent = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			c->gone = true;
			return;
		}
	}
	skip = sent > 0 ? (size_t)sent : 0;
	for (int i = 0; i < n; i++) {
		size_t drop = MIN(skip, pieces[i].iov_len);

		skip -= drop;
		if (buf_add(&c->out, (const char *)pieces[i].iov_base + drop, pieces[i].iov_len - drop) < 0)
			c->gone = true;
	}
	if (c->out.len && !c->gone)
		conn_watch(c, LOOP_WRITE);
}

void conn_answer(struct conn *c, const struct iovec *pieces, int n)
{
	conn_send(c, pieces, n);
	c->server->state.busy--;
	c->moved_us = clock_mono_us();
	buf_consume(&c->in, c->request);
	c->request = 0;
	if (!c->in.len)
		trim(&c->in);
	if (c->out.len && !c->gone)
		c->state = CONN_SENDING;
	else
		conn_answered(c);
}

static void on_conn(int what, void *arg)
{
	struct conn *c = arg;

	if (what & LOOP_WRITE)
		conn_write_rest(c);
	else if (c->state == CONN_READING)
		conn_read(c);
	else
		conn_watch(c, 0); /* more came, or the end: it waits until this request is answered */
}

/* -- listening --------------------------------------------------------------------------------- */

/* A listener that is ready but not accepted from would spin, so it rests for a moment. */
static void pause_accepting(struct server *s, const char *why)
{
	int64_t now = clock_mono_us();

	if (!s->complained_us || now - s->complained_us > COMPLAIN_EVERY_S * USEC_PER_SEC) {
		log_warn(LOG_SERVER, "%s; new connections wait", why);
		s->complained_us = now;
	}
	for (unsigned i = 0; i < s->nlisteners; i++)
		loop_io_set(s->listeners[i].io, 0);
	loop_timer_set(s->resume_accept, ACCEPT_PAUSE_MS * USEC_PER_MSEC);
}

static void resume_accepting(void *arg)
{
	struct server *s = arg;

	for (unsigned i = 0; i < s->nlisteners; i++)
		loop_io_set(s->listeners[i].io, LOOP_READ);
}

static bool accept_one(struct server *s, int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uid_t uid;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			pause_accepting(s, strerror(errno));
		return false;
	}
	s->state.accepted++;
	if (os_peer_uid(fd, &uid) < 0 || uid != geteuid()) {
		log_warn(LOG_SERVER, "a connection from another user was refused");
		s->state.refused_peers++;
		close(fd);
		return true;
	}
	/* The client has most likely sent its request already: try before waiting. */
	conn_read(conn_new(s, fd));
	return true;
}

static void on_listener(int what, void *arg)
{
	struct listener *l = arg;
	struct server *s = l->server;

	(void)what;
	for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
		if (s->state.connections >= LIMIT_CONNECTIONS) {
			pause_accepting(s, "the limit on connections is reached");
			return;
		}
		if (!accept_one(s, l->fd))
			return;
	}
}

int server_listen(struct server *s, const char *path)
{
	struct listener *l = &s->listeners[s->nlisteners];
	struct stat st;
	int r;

	if (s->nlisteners == LISTENERS_MAX)
		return -ENOSPC;
	l->fd = os_listen_unix(path, BACKLOG);
	if (l->fd < 0)
		return l->fd;
	if (stat(path, &st) < 0) {
		r = -errno;
		fs_closep(&l->fd);
		return r;
	}
	l->server = s;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	snprintf(l->path, sizeof l->path, "%s", path);
	l->io = loop_io_new(s->loop, l->fd, LOOP_READ, on_listener, l);
	s->nlisteners++;
	return 0;
}

static bool listener_owns_path(const struct listener *l)
{
	struct stat st;

	return lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino;
}

bool server_owns_paths(const struct server *s)
{
	for (unsigned i = 0; i < s->nlisteners; i++)
		if (!listener_owns_path(&s->listeners[i]))
			return false;
	return true;
}

void server_close_listeners(struct server *s)
{
	for (unsigned i = 0; i < s->nlisteners; i++) {
		struct listener *l = &s->listeners[i];

		if (listener_owns_path(l))
			unlink(l->path);
		loop_io_free(l->io);
		/* To -1: a request to stop comes from inside on_listener(), which goes on to accept. */
		fs_closep(&l->fd);
	}
	s->nlisteners = 0;
}

struct server *server_new(struct loop *l, const struct server_handlers *handlers)
{
	struct server *s = xcalloc(1, sizeof *s);

	s->loop = l;
	s->handlers = *handlers;
	s->resume_accept = loop_timer_new(l, resume_accepting, s);
	return s;
}

void server_free(struct server *s)
{
	struct conn *c, *next;

	if (!s)
		return;
	server_close_listeners(s);
	for (c = s->conns; c; c = next) {
		next = c->next;
		conn_free(c);
	}
	for (c = s->spare; c; c = next) {
		next = c->next;
		buf_release(&c->in);
		buf_release(&c->out);
		free(c);
	}
	loop_timer_free(s->resume_accept);
	free(s);
}

void server_expire(struct server *s, int64_t us)
{
	int64_t now = clock_mono_us();
	struct conn *c, *next;

	for (c = s->conns; c; c = next) {
		bool stalled = c->state == CONN_SENDING || (c->state == CONN_READING && c->in.len) ||
			(c->state == CONN_READING && !c->dialect_known);

		next = c->next;
		if (stalled && now - c->moved_us > us) {
			s->state.expired++;
			c->state = CONN_CLOSING;
			conn_drop(c);
		}
	}
}

void server_get_state(const struct server *s, struct server_state *ret)
{
	*ret = s->state;
}
