/* Listening at a path that only this user can reach. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "os/os.h"

/* A dead daemon's socket file may be removed; anything else at that path is not ours. */
static int remove_stale(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -EADDRINUSE;
	return unlink(path) < 0 ? -errno : 0;
}

/* Paths longer than the address has room for are bound relative to their directory. Happens at
 * start, before there are threads that could mind the changed directory. */
static int bind_path(int fd, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *slash = strrchr(path, '/'), *name = path;
	char dir[FS_PATH];
	int r = 0;

	if (strlen(path) >= sizeof a.sun_path) {
		if (!slash)
			return -ENAMETOOLONG;
		snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
		name = slash + 1;
		if (strlen(name) >= sizeof a.sun_path)
			return -ENAMETOOLONG;
		if (chdir(dir) < 0)
			return -errno;
	}
	memcpy(a.sun_path, name, strlen(name) + 1);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0)
		r = -errno;
	else if (chmod(name, 0600) < 0)
		r = -errno;
	if (name != path && chdir("/") < 0 && r == 0)
		r = -errno;
	return r;
}

int os_listen_unix(const char *path, int backlog)
{
	int fd, r = remove_stale(path);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = bind_path(fd, path);
	if (r == 0 && listen(fd, backlog) < 0)
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}
