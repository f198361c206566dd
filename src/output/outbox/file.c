/* A line for each event. */
#include "outbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* A plain file of the user's, through no link. */
static int open_file(const char *path, int *ret, struct stat *st)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600),
	    r = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) < 0)
		r = -errno;
	else if (!S_ISREG(st->st_mode))
		r = -EINVAL;
	else if (st->st_uid != geteuid())
		r = -EPERM;
	if (r < 0)
		fs_closep(&fd);
	*ret = fd;
	return r;
}

/* The full one is kept as one with .1 at its end. */
static int rotate(const char *path, int *fd, struct stat *st)
{
	char old[FS_PATH + 8];

	snprintf(old, sizeof old, "%s.1", path);
	if (rename(path, old) < 0)
		return -errno;
	fs_closep(fd);
	return open_file(path, fd, st);
}

/* All of it, in one write, or nothing. */
static int append(int fd, off_t size, str body)
{
	struct buf b = BUF_INIT(OUTBOX_BODY + 2);
	ssize_t n;
	int r = 0;

	buf_add_str(&b, body);
	buf_add_char(&b, '\n');
	n = write(fd, b.p, b.len);
	if (n < 0)
		r = -errno;
	else if ((size_t)n < b.len)
		r = ftruncate(fd, size) < 0 ? -errno : -ENOSPC;
	buf_release(&b);
	return r;
}

static const char *trouble_of(int r)
{
	return r == -EINVAL   ? "it is not a plain file"
		: r == -EPERM ? "it belongs to somebody else"
		: r == -ELOOP ? "it is a link"
			      : strerror(-r);
}

enum send_result send_file(struct sending *x)
{
	off_t max = (off_t)x->sink->max_mb << 20;
	char path[FS_PATH];
	_close_ int fd = -1;
	struct stat st;
	int r;

	snprintf(path, sizeof path, STR_FMT, STR_ARG(x->sink->path));
	r = open_file(path, &fd, &st);
	if (r == 0 && st.st_size > 0 && st.st_size + (off_t)x->body.n >= max)
		r = rotate(path, &fd, &st);
	if (r == 0)
		r = append(fd, st.st_size, x->body);
	return r == 0 ? SEND_DONE : send_say(x, SEND_UNUSABLE, "%.180s: %s", path, trouble_of(r));
}

bool check_file(const struct sink *s, char text[200])
{
	char path[FS_PATH];
	_close_ int fd = -1;
	struct stat st;
	int r;

	snprintf(path, sizeof path, STR_FMT, STR_ARG(s->path));
	r = open_file(path, &fd, &st);
	if (r < 0)
		snprintf(text, 200, "%.120s: %s", path, trouble_of(r));
	return r == 0;
}
