/* floor: the least a hook client can do: stdin, one round trip over a Unix socket, stdout.
 *
 *     floor SOCKET
 *
 * Built like hookc (static musl, same flags). It checks nothing, decides nothing and knows no
 * deadline, so what hookc takes beyond it is the price of doing the job. A frame is a length of
 * four bytes and as many bytes, both ways; `echo` answers. */
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static char room[1 << 20];

static int get(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t r = read(fd, p, n);

		if (r <= 0)
			return -1;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	uint32_t length = 0;
	struct iovec parts[2];
	ssize_t r;
	int fd;

	if (argc != 2 || strlen(argv[1]) >= sizeof to.sun_path)
		return 64;
	memcpy(to.sun_path, argv[1], strlen(argv[1]));
	while (length < sizeof room && (r = read(0, room + length, sizeof room - length)) > 0)
		length += (uint32_t)r;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		return 1;
	parts[0] = (struct iovec){ &length, sizeof length };
	parts[1] = (struct iovec){ room, length };
	r = writev(fd, parts, 2);
	if (r < (ssize_t)sizeof length)
		return 1;
	/* A socket takes the few KB of a payload in one piece; the loop is for larger ones. */
	for (size_t done = (size_t)r - sizeof length; done < length; done += (size_t)r)
		if ((r = write(fd, room + done, length - done)) <= 0)
			return 1;
	if (get(fd, (char *)&length, sizeof length) < 0 || length > sizeof room || get(fd, room, length) < 0)
		return 1;
	for (size_t done = 0; done < length; done += (size_t)r)
		if ((r = write(1, room + done, length - done)) <= 0)
			return 1;
	return 0;
}
