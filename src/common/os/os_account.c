/* What the system knows of the user who runs this process. */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

enum { LINE_ROOM = 4096 };

/* The home in a line "name:password:uid:gid:gecos:home:shell", if it is this user's. */
static bool home_in_line(str line, uid_t uid, str *ret)
{
	enum { UID = 2, HOME = 5 };
	str field;
	int64_t id;

	for (int i = 0; str_split(&line, ':', &field); i++) {
		if (i == UID && (!str_to_int(field, &id) || id < 0 || (uid_t)id != uid))
			return false;
		if (i == HOME) {
			*ret = field;
			return true;
		}
	}
	return false;
}

/* The C library's own lookup loads code and allocates, and crashes if there is no memory for it; the file has nearly
 * every account there is. False: not this one. */
static bool find_in_file(uid_t uid, char *out, size_t size)
{
	_close_ int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	char room[LINE_ROOM];
	size_t have = 0;
	str home;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, room + have, sizeof room - have)) > 0) {
		str rest = str_n(room, have + (size_t)n);
		ptrdiff_t end;

		while ((end = str_find_char(rest, '\n')) >= 0) {
			if (home_in_line(str_head(rest, (size_t)end), uid, &home) && home.n && home.p[0] == '/') {
				int len = snprintf(out, size, STR_FMT, STR_ARG(home));

				return len > 0 && (size_t)len < size;
			}
			rest = str_from(rest, (size_t)end + 1);
		}
		/* A line that is longer than any real one is not looked at. */
		have = rest.n < sizeof room ? rest.n : 0;
		memmove(room, rest.p, have);
	}
	return false;
}

int os_account_home(char *out, size_t size)
{
	struct passwd entry, *found = NULL;
	char room[16384];
	int n;

	if (find_in_file(geteuid(), out, size))
		return 0;
	if (getpwuid_r(geteuid(), &entry, room, sizeof room, &found) != 0 || !found || !found->pw_dir ||
		found->pw_dir[0] != '/')
		return -ENOENT;
	n = snprintf(out, size, "%s", found->pw_dir);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
