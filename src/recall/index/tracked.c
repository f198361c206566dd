/* What git knows: the paths in its index. A file that was added counts even if a rule ignores it. Versions 2, 3 and 4
 * of the format are read; whatever else is there, or is damaged, says nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "index/internal.h"

enum {
	HEAD = 12,  /* "DIRC", version, number of entries */
	FIXED = 62, /* of an entry: times, owner, size, name of its object, flags */
	FLAGS = 60, /* where those are */
	MTIME = 8,
	SIZE = 36,
	EXTENDED = 0x40, /* in the first byte of them: two more follow */
	ALIGNED = 8,
};

#define INDEX_BYTES_MAX MIB(128)

static uint32_t get_be(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* How many bytes of the path before are dropped: 7 bits a byte, the higher ones first, and each that follows counts one
 * more. */
static bool take_number(str *rest, size_t *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < rest->n && i < 5; i++) {
		unsigned char c = (unsigned char)rest->p[i];

		n = (i ? n + 1 : n) << 7 | (c & 0x7F);
		if (!(c & 0x80)) {
			*rest = str_from(*rest, i + 1);
			*ret = n;
			return true;
		}
	}
	return false;
}

/* The path at the front of rest, which moves behind it; before: the one before. */
static bool take_path(str *rest, uint32_t version, size_t fixed, str before, struct arena *a, str *ret)
{
	size_t dropped = 0, n, whole;

	if (version == 4 && (!take_number(rest, &dropped) || dropped > before.n))
		return false;
	n = strnlen(rest->p, rest->n);
	if (n == rest->n)
		return false;
	if (version == 4) {
		*ret = arena_strf(a, STR_FMT STR_FMT, STR_ARG(str_head(before, before.n - dropped)),
			STR_ARG(str_head(*rest, n)));
		*rest = str_from(*rest, n + 1);
		return true;
	}
	*ret = arena_str(a, str_head(*rest, n));
	whole = (fixed + n + ALIGNED) / ALIGNED * ALIGNED - fixed;
	*rest = str_from(*rest, whole);
	return true;
}

void tracked_parse(str bytes, struct arena *a, struct tracked *ret)
{
	uint32_t version = bytes.n > HEAD ? get_be(bytes.p + 4) : 0, count = version ? get_be(bytes.p + 8) : 0;
	str rest = str_from(bytes, HEAD), before = STR("");

	*ret = (struct tracked){ 0 };
	if (version < 2 || version > 4 || memcmp(bytes.p, "DIRC", 4) != 0 || count > bytes.n / FIXED)
		return;
	ret->paths = arena_alloc(a, ((size_t)count + 1) * sizeof *ret->paths);
	ret->stats = arena_alloc(a, ((size_t)count + 1) * sizeof *ret->stats);
	while (ret->n < count) {
		size_t fixed = FIXED;

		if (rest.n < FIXED + 2)
			break;
		if (version > 2 && (unsigned char)rest.p[FLAGS] & EXTENDED)
			fixed += 2;
		ret->stats[ret->n] = (struct tracked_stat){ get_be(rest.p + SIZE), get_be(rest.p + MTIME),
			get_be(rest.p + MTIME + 4) };
		rest = str_from(rest, fixed);
		if (!take_path(&rest, version, fixed, before, a, &ret->paths[ret->n]))
			break;
		before = ret->paths[ret->n++];
	}
	/* Half of it would be worse than nothing. */
	if (ret->n < count)
		ret->n = 0;
}

/* .git is a directory, or a file that says where it is. */
static int open_index(int root)
{
	int fd = openat(root, ".git/index", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	_close_ int link = -1;
	char text[FS_PATH + 16], path[FS_PATH + 32];
	ssize_t n;

	if (fd >= 0 || errno != ENOTDIR)
		return fd;
	link = openat(root, ".git", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	n = link < 0 ? -1 : read(link, text, sizeof text - 1);
	if (n < 10)
		return -1;
	text[strcspn((text[n] = 0, text), "\n")] = 0;
	if (strncmp(text, "gitdir: /", 9) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/index", text + 8);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

void tracked_read(int root, struct arena *a, struct tracked *ret)
{
	_close_ int fd = open_index(root);
	struct buf b = BUF_INIT(INDEX_BYTES_MAX);
	struct stat st;
	ssize_t n = 1;
	char *room;

	*ret = (struct tracked){ 0 };
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)INDEX_BYTES_MAX)
		return;
	while (n > 0 && (room = buf_reserve(&b, KIB(64)))) {
		n = read(fd, room, KIB(64));
		buf_commit(&b, n > 0 ? (size_t)n : 0);
	}
	if (n == 0)
		tracked_parse(buf_str(&b), a, ret);
	buf_release(&b);
}

/* Paths are sorted by their bytes. */
bool tracked_has(const struct tracked *t, str path, bool is_dir)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		str at = t->paths[mid];
		int order = memcmp(at.p, path.p, MIN(at.n, path.n));

		if (order == 0)
			order = at.n < path.n ? -1 : at.n > path.n && is_dir && at.p[path.n] < '/' ? -1 : 0;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == t->n || !str_starts(t->paths[low], path))
		return false;
	return is_dir ? t->paths[low].n > path.n && t->paths[low].p[path.n] == '/' : t->paths[low].n == path.n;
}

/* -- the state of files ------------------------------------------------------------------------ */

static const struct tracked_stat *stat_of(const struct tracked *t, str path)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		str at = t->paths[mid];
		int order = memcmp(at.p, path.p, MIN(at.n, path.n));

		order = order ? order : at.n < path.n ? -1 : at.n > path.n;
		if (order == 0)
			return &t->stats[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* By size and time alone, as git itself looks first: a file that was touched and is the same counts as changed. */
static enum git_state state_of(int root, const struct tracked *t, str path, struct arena *a)
{
	const struct tracked_stat *known = stat_of(t, path);
	struct stat st;

	if (fstatat(root, arena_cstr(a, path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return known ? GIT_GONE : GIT_UNKNOWN;
	if (!known)
		return GIT_NEW;
	return known->size == (uint32_t)st.st_size && known->mtime_s == (uint32_t)st.st_mtim.tv_sec ? GIT_KEPT
												    : GIT_CHANGED;
}

void git_states(const char *root, const str *paths, size_t n, struct arena *a, enum git_state *ret)
{
	_close_ int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tracked t = { 0 };

	if (dir >= 0)
		tracked_read(dir, a, &t);
	for (size_t i = 0; i < n; i++)
		ret[i] = t.n && !str_empty(paths[i]) && paths[i].p[0] != '/' ? state_of(dir, &t, paths[i], a)
									     : GIT_UNKNOWN;
}

size_t git_changed_since(const char *root, int64_t since_us, size_t most, struct arena *a, struct git_change *ret,
	size_t room)
{
	_close_ int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tracked t = { 0 };
	size_t found = 0;

	if (dir >= 0)
		tracked_read(dir, a, &t);
	for (size_t i = 0; i < MIN(t.n, most) && found < room; i++) {
		struct stat st;
		int64_t at_us;

		if (fstatat(dir, arena_cstr(a, t.paths[i]), &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		at_us = (int64_t)st.st_mtim.tv_sec * USEC_PER_SEC + st.st_mtim.tv_nsec / 1000;
		if (at_us >= since_us)
			ret[found++] = (struct git_change){ t.paths[i], at_us };
	}
	return found;
}
