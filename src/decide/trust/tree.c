/* Reading a project's files without being redirected elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trust/trust.h"

/* Nobody but the user and root can change it. */
static int check_stat(const struct stat *st)
{
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return -EPERM;
	return st->st_mode & (S_IWGRP | S_IWOTH) ? -EACCES : 0;
}

static int open_dir_at(int at, const char *name, bool any_writer)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;
	struct stat st;

	if (fd < 0)
		/* A link in the place of a directory is ENOTDIR to the kernel. */
		return errno == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)
			? -ELOOP
			: -errno;
	r = fstat(fd, &st) < 0 ? -errno : any_writer ? 0 : check_stat(&st);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static int open_file_at(int at, const char *name, bool any_writer)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	struct stat st;

	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EINVAL : any_writer ? 0 : check_stat(&st);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static int open_below(int dir_fd, str name, bool any_writer)
{
	char step[NAME_MAX + 1];
	str rest = name, piece;
	int at = dir_fd, next;

	for (;;) {
		bool more = str_split(&rest, '/', &piece), last;

		last = str_empty(rest) || !rest.p;
		if (!more || str_empty(piece) || str_eq(piece, STR(".")) || str_eq(piece, STR("..")) ||
			piece.n > NAME_MAX || memchr(piece.p, 0, piece.n)) {
			next = piece.n > NAME_MAX ? -ENAMETOOLONG : -EINVAL;
			last = true;
		} else {
			memcpy(step, piece.p, piece.n);
			step[piece.n] = 0;
			next = last ? open_file_at(at, step, any_writer) : open_dir_at(at, step, any_writer);
		}
		if (at != dir_fd)
			close(at);
		if (last || next < 0)
			return next;
		at = next;
	}
}

int trust_open_below(int dir_fd, str name)
{
	return open_below(dir_fd, name, /* any_writer= */ false);
}

static const char *why(int r)
{
	return r == -EPERM     ? "it belongs to another user"
		: r == -EACCES ? "it, or a directory on the way to it, can be written by others (chmod go-w)"
		: r == -ELOOP  ? "it, or a directory on the way to it, is a link"
		: r == -EINVAL ? "it is not a plain file"
		: r == -EFBIG  ? "it is larger than 1 MiB"
			       : strerror(-r);
}

int trust_tree_open(const char *root, struct arena *a, struct trust_tree *ret, struct err *err)
{
	char *real = realpath(root, NULL);
	struct stat st;
	int r;

	*ret = (struct trust_tree){ .arena = a, .root_fd = -1 };
	if (!real)
		return err_set(err, -errno, "%s: %s", root, strerror(errno));
	r = snprintf(ret->root, sizeof ret->root, "%s", real) >= (int)sizeof ret->root ? -ENAMETOOLONG : 0;
	free(real);
	if (r < 0)
		return err_set(err, r, "%s: %s", root, strerror(-r));
	ret->root_fd = open_dir_at(AT_FDCWD, ret->root, /* any_writer= */ false);
	if (ret->root_fd < 0 || fstat(ret->root_fd, &st) < 0) {
		r = ret->root_fd < 0 ? ret->root_fd : -errno;
		return err_set(err, r, "nothing in %s is used: %s", ret->root, why(r));
	}
	ret->owner = st.st_uid;
	return 0;
}

void trust_tree_close(struct trust_tree *t)
{
	fs_closep(&t->root_fd);
}

static int read_all(int fd, struct buf *b)
{
	for (;;) {
		char *to = buf_reserve(b, MIN((size_t)65536, b->max - b->len));
		ssize_t n = read(fd, to, MIN((size_t)65536, b->max - b->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		buf_commit(b, (size_t)n);
		if (b->len == b->max)
			return -EFBIG;
	}
}

int trust_read_restriction(const char *root, const char *name, struct buf *b, struct err *err)
{
	_close_ int dir = open_dir_at(AT_FDCWD, root, /* any_writer= */ true), fd = -1;
	int r = dir;

	if (r >= 0)
		r = fd = open_below(dir, str_of(name), /* any_writer= */ true);
	if (r >= 0)
		r = read_all(fd, b);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	return r < 0 ? err_set(err, r, "%s/%s is not used: %s", root, name, why(r)) : 1;
}

const struct trust_file *trust_tree_find(const struct trust_tree *t, str name)
{
	for (unsigned i = 0; i < t->n; i++)
		if (str_eq(t->files[i].name, name))
			return &t->files[i];
	return NULL;
}

int trust_tree_add(struct trust_tree *t, str name, const struct trust_file **ret, struct err *err)
{
	const struct trust_file *known = trust_tree_find(t, name);
	struct buf b = BUF_INIT(TRUST_FILE_MAX + 1);
	struct trust_file *f = &t->files[t->n];
	struct sha256 hash;
	struct stat st;
	int r, fd;

	if (known) {
		if (ret)
			*ret = known;
		return !known->absent;
	}
	if (t->n == TRUST_FILES_MAX)
		return err_set(err, -E2BIG, "more than %d files of %s take part", TRUST_FILES_MAX, t->root);
	fd = trust_open_below(t->root_fd, name);
	r = fd >= 0 ? read_all(fd, &b) : fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
	if (r == 0) {
		*f = (struct trust_file){ .name = arena_str(t->arena, name), .absent = fd < 0 };
		f->executable = fd >= 0 && fstat(fd, &st) == 0 && st.st_mode & S_IXUSR;
		f->bytes = fd >= 0 ? arena_str(t->arena, buf_str(&b)) : STR_NONE;
		sha256_init(&hash);
		sha256_add(&hash, f->bytes.p ? f->bytes.p : "", f->bytes.n);
		sha256_end(&hash, f->sha256);
		if (ret)
			*ret = f;
		t->n++;
	}
	fs_closep(&fd);
	buf_release(&b);
	if (r < 0)
		return err_set(err, r, "%s/" STR_FMT " is not used: %s", t->root, STR_ARG(name), why(r));
	return !f->absent;
}

int trust_tree_link(struct trust_tree *t, str name, size_t begin, size_t end, str text)
{
	struct trust_file *f = NULL;
	struct trust_link **at, *link;
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++)
		if (str_eq(t->files[i].name, name))
			f = &t->files[i];
	if (!f || f->absent || begin >= end || end > f->bytes.n)
		return -ENOENT;
	for (at = &f->links; *at && (*at)->begin < end; at = &(*at)->next, n++)
		if ((*at)->end > begin)
			return (*at)->begin == begin && (*at)->end == end && str_eq((*at)->text, text) ? 0 : -EINVAL;
	for (link = *at; link; link = link->next)
		n++;
	if (n >= TRUST_LINKS_MAX)
		return -E2BIG;
	link = arena_new(t->arena, struct trust_link);
	*link = (struct trust_link){ .next = *at, .begin = begin, .end = end, .text = arena_str(t->arena, text) };
	*at = link;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	str x = ((const struct trust_file *)a)->name, y = ((const struct trust_file *)b)->name;
	int order = memcmp(x.p, y.p, MIN(x.n, y.n));

	return order ? order : (x.n > y.n) - (x.n < y.n);
}

/* Each piece with its length in front: no two trees have the same sequence. */
static void add_piece(struct sha256 *h, const void *p, size_t n)
{
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)n >> (8 * i));
	sha256_add(h, length, sizeof length);
	sha256_add(h, p, n);
}

void trust_tree_finish(struct trust_tree *t)
{
	uint32_t owner = (uint32_t)t->owner;
	struct sha256 h;

	qsort(t->files, t->n, sizeof t->files[0], by_name);
	sha256_init(&h);
	add_piece(&h, t->root, strlen(t->root));
	add_piece(&h, &owner, sizeof owner);
	for (unsigned i = 0; i < t->n; i++) {
		const struct trust_file *f = &t->files[i];
		uint8_t flags = (uint8_t)(f->absent | f->executable << 1);

		add_piece(&h, f->name.p, f->name.n);
		add_piece(&h, &flags, 1);
		add_piece(&h, f->sha256, sizeof f->sha256);
	}
	sha256_end(&h, t->digest);
}
