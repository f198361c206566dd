/* Peer credentials: apart from os.c because hookc links only this and os_self.c. */
#include "os/os.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__linux__)

/* struct ucred, spelled out because musl hides it without _GNU_SOURCE. */
struct credentials {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

static int peer(int fd, struct credentials *ret)
{
	socklen_t n = sizeof *ret;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0 ? -errno : 0;
}

int os_peer_uid(int fd, uid_t *ret)
{
	struct credentials c;
	int r = peer(fd, &c);

	if (r == 0)
		*ret = c.uid;
	return r;
}

int os_peer_pid(int fd, pid_t *ret)
{
	struct credentials c;
	int r = peer(fd, &c);

	if (r == 0)
		*ret = c.pid;
	return r;
}

#else

int os_peer_uid(int fd, uid_t *ret)
{
	gid_t gid;

	return getpeereid(fd, ret, &gid) < 0 ? -errno : 0;
}

int os_peer_pid(int fd, pid_t *ret)
{
	(void)fd;
	(void)ret;
	return -ENOSYS;
}

#endif
