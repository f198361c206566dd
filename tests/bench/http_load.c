/* http_load SOCKET|PORT CONNECTIONS SECONDS REQUEST: sends one request again and again on connections that are kept,
 * one at a time on each, and prints how many were answered with 200 in a second. Answers must all be as long as the
 * first. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 256 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int connect_to(const char *where)
{
	struct sockaddr_un u = { .sun_family = AF_UNIX };
	struct sockaddr_in t = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd;

	if (where[0] == '/') {
		snprintf(u.sun_path, sizeof u.sun_path, "%s", where);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		return connect(fd, (void *)&u, sizeof u) == 0 ? fd : -1;
	}
	t.sin_port = htons((unsigned short)atoi(where));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	return connect(fd, (void *)&t, sizeof t) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
	struct pollfd all[CONNECTIONS_MAX];
	size_t have[CONNECTIONS_MAX] = { 0 }, length = 0, bytes;
	int n = argc == 5 ? atoi(argv[2]) : 0;
	double begin, until;
	unsigned long done = 0;
	char in[65536];

	if (n < 1 || n > CONNECTIONS_MAX)
		return 2;
	bytes = strlen(argv[4]);
	for (int i = 0; i < n; i++) {
		all[i] = (struct pollfd){ .fd = connect_to(argv[1]), .events = POLLIN };
		if (all[i].fd < 0 || send(all[i].fd, argv[4], bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
			return 1;
	}
	/* The first answer says how long they are. */
	length = (size_t)recv(all[0].fd, in, sizeof in, 0);
	if (length < 20 || length > sizeof in || memcmp(in, "HTTP/1.1 200", 12) != 0 ||
		send(all[0].fd, argv[4], bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		return 1;
	begin = now();
	until = begin + atof(argv[3]);
	while (now() < until) {
		if (poll(all, (nfds_t)n, 1000) <= 0)
			return 1;
		for (int i = 0; i < n; i++) {
			ssize_t got;

			if (!all[i].revents)
				continue;
			got = recv(all[i].fd, in, sizeof in, 0);
			if (got <= 0 || (!have[i] && memcmp(in, "HTTP/1.1 200", (size_t)(got < 12 ? got : 12)) != 0))
				return 1;
			have[i] += (size_t)got;
			if (have[i] < length)
				continue;
			have[i] = 0;
			done++;
			if (send(all[i].fd, argv[4], bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
				return 1;
		}
	}
	printf("%.0f\n", (double)done / (now() - begin));
	return 0;
}
