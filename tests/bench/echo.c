/* echo: a server that does nothing, which is what the others are measured against.
 *
 *     echo frames SOCKET    a length of four bytes and as many bytes come back as they are (floor)
 *     echo http SOCKET      any HTTP request is answered 200 and {} (curl, node)
 *     echo wire SOCKET      any HOOK frame is answered DONE, journaled (load): with it `load` shows
 *                           how fast it can go itself; nothing hookd does is measured beyond that
 *
 * Runs until SIGTERM. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/wire.h"

enum { ROOM = 1 << 17, CONNECTIONS_MAX = 4096 };

struct connection {
	int fd;
	size_t used;
	char room[ROOM];
};

/* Answers the first whole request in the room; returns its size, 0 when it is not whole yet, -1 to
 * hang up. */
typedef ptrdiff_t answer_fn(struct connection *c);

/* Answers are small and the client is waiting, so the socket always takes them whole; a client for
 * which that is not so is not one of ours. */
static bool put(int fd, const void *p, size_t n)
{
	return send(fd, p, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static ptrdiff_t answer_frame(struct connection *c)
{
	uint32_t length;

	if (c->used < sizeof length)
		return 0;
	memcpy(&length, c->room, sizeof length);
	if (length > ROOM - sizeof length)
		return -1;
	if (c->used < sizeof length + length)
		return 0;
	return put(c->fd, c->room, sizeof length + length) ? (ptrdiff_t)(sizeof length + length) : -1;
}

static ptrdiff_t answer_http(struct connection *c)
{
	static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
	const char *end = memmem(c->room, c->used, "\r\n\r\n", 4);
	size_t total;

	if (!end)
		return c->used == ROOM ? -1 : 0;
	total = (size_t)(end - c->room) + 4;
	for (const char *line = c->room; line < end; line++) {
		if (strncasecmp(line, "content-length:", 15) == 0)
			total += strtoul(line + 15, NULL, 10);
		line = memchr(line, '\n', (size_t)(end + 2 - line));
		if (!line)
			break;
	}
	if (total > ROOM)
		return -1;
	if (c->used < total)
		return 0;
	return put(c->fd, reply, sizeof reply - 1) ? (ptrdiff_t)total : -1;
}

static ptrdiff_t answer_wire(struct connection *c)
{
	struct wire_reply reply = { .type = WIRE_DONE, .stored = WIRE_STORED_JOURNALED };
	uint8_t out[WIRE_REPLY_FIXED];
	struct wire_header header;
	struct wire_hook hook;

	if (c->used < WIRE_HEADER)
		return 0;
	if (wire_header_decode(c->room, &header) < 0 || header.type != WIRE_HOOK || header.length > ROOM - WIRE_HEADER)
		return -1;
	if (c->used < WIRE_HEADER + header.length)
		return 0;
	if (wire_hook_decode(str_n(c->room + WIRE_HEADER, header.length), &hook) < 0 || str_empty(hook.payload))
		return -1;
	wire_reply_encode(&reply, out);
	return put(c->fd, out, sizeof out) ? (ptrdiff_t)(WIRE_HEADER + header.length) : -1;
}

/* False: hang up. */
static bool serve(struct connection *c, answer_fn *answer)
{
	ssize_t n = recv(c->fd, c->room + c->used, ROOM - c->used, 0);
	ptrdiff_t size;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	c->used += (size_t)n;
	while ((size = answer(c)) > 0) {
		c->used -= (size_t)size;
		memmove(c->room, c->room + size, c->used);
	}
	return size >= 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct epoll_event event = { .events = EPOLLIN }, events[64];
	answer_fn *answer;
	int listener, poll, live = 0;

	if (argc != 3 || strlen(argv[2]) >= sizeof at.sun_path) {
		fprintf(stderr, "usage: echo frames|http|wire SOCKET\n");
		return 64;
	}
	if (strcmp(argv[1], "http") == 0)
		answer = answer_http;
	else if (strcmp(argv[1], "wire") == 0)
		answer = answer_wire;
	else
		answer = answer_frame;
	memcpy(at.sun_path, argv[2], strlen(argv[2]));
	(void)unlink(argv[2]);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	poll = epoll_create1(EPOLL_CLOEXEC);
	if (listener < 0 || poll < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) < 0 ||
		listen(listener, 4096) < 0) {
		perror("echo");
		return 1;
	}
	event.data.ptr = NULL;
	epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);

	for (;;) {
		int n = epoll_wait(poll, events, 64, -1);

		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;

			if (c) {
				if (!serve(c, answer)) {
					close(c->fd);
					free(c);
					live--;
				}
				continue;
			}
			int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

			if (fd < 0)
				continue;
			c = live < CONNECTIONS_MAX ? malloc(sizeof *c) : NULL;
			if (!c) {
				close(fd);
				continue;
			}
			live++;
			c->fd = fd;
			c->used = 0;
			event.data.ptr = c;
			epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
		}
	}
}
