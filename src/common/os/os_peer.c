/* Peer credentials: apart from os.c because hookc links only this and os_self.c. */
#include "os/os.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__linux__)

int os_peer_uid(int fd, uid_t *ret)
{
	/* struct ucred, spelled out because musl hides it without _GNU_SOURCE. */
	struct {
		pid_t pid;
		uid_t uid;
		gid_t gid;
	} cred;
	socklen_t n = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0)
		return -errno;
	*ret = cred.uid;
	return 0;
}

#else

int os_peer_uid(int fd, uid_t *ret)
{
	gid_t gid;

	return getpeereid(fd, ret, &gid) < 0 ? -errno : 0;
}

#endif
