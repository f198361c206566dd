/* Records of what was trusted. */
#include "trust/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diff.h"
#include "base/limits.h"

const char *const trust_state_names[TRUST_STATE_MAX] = {
	[TRUST_NOTHING] = "nothing to trust",
	[TRUST_NONE] = "not trusted",
	[TRUST_CHANGED] = "changed since it was trusted",
	[TRUST_HOLDS] = "trusted",
};

/* -- places ------------------------------------------------------------------------------------ */

static int place_of(const char *state, const char *root, char out[FS_PATH])
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 h;
	int n;

	sha256_init(&h);
	sha256_add(&h, root, strlen(root));
	sha256_end(&h, digest);
	sha256_hex(digest, hex);
	n = snprintf(out, FS_PATH, "%s/trust/%.32s", state, hex);
	return n < 0 || n >= FS_PATH - 128 ? -ENAMETOOLONG : 0;
}

static int copies_of(const char *place, const uint8_t digest[SHA256_BYTES], char out[FS_PATH])
{
	char hex[SHA256_HEX + 1];

	sha256_hex(digest, hex);
	return fs_join(out, place, hex);
}

/* -- records ----------------------------------------------------------------------------------- */

static struct json *read_record(const char *place, struct arena *a)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json *v = NULL;
	char path[FS_PATH];

	if (fs_join(path, place, "record.json") < 0 || fs_read_file(path, &b) < 0 ||
		json_parse(a, arena_str(a, buf_str(&b)), 0, &v, NULL) < 0 || v->type != JSON_OBJECT)
		v = NULL;
	buf_release(&b);
	return v;
}

static void write_record(const struct trust_tree *t, struct buf *b)
{
	struct json_writer w = JSON_WRITER(b);
	char hex[SHA256_HEX + 1];

	jw_object(&w);
	jw_field_str(&w, "root", str_of(t->root));
	jw_field_int(&w, "owner", t->owner);
	sha256_hex(t->digest, hex);
	jw_field_str(&w, "digest", str_of(hex));
	jw_field_int(&w, "at_us", clock_wall_us());
	jw_key(&w, "files");
	jw_array(&w);
	for (unsigned i = 0; i < t->n; i++) {
		const struct trust_file *f = &t->files[i];

		jw_object(&w);
		jw_field_str(&w, "name", f->name);
		jw_field_bool(&w, "absent", f->absent);
		jw_field_bool(&w, "executable", f->executable);
		sha256_hex(f->sha256, hex);
		jw_field_str(&w, "sha256", str_of(hex));
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	buf_add_char(b, '\n');
}

/* -- links ------------------------------------------------------------------------------------- */

/* Inside single quotes. */
static void add_quoted_path(struct buf *b, const char *path)
{
	for (; *path; path++)
		buf_add_str(b, *path == '\'' ? STR("'\\''") : str_n(path, 1));
}

/* What the copy of a file holds. */
static str copied_bytes(const struct trust_file *f, const char *copies, struct arena *a)
{
	struct buf b = BUF_INIT(4 * (size_t)TRUST_FILE_MAX);
	size_t at = 0;
	str bytes;

	if (!f->links)
		return f->bytes;
	for (const struct trust_link *link = f->links; link; link = link->next) {
		buf_add_str(&b, str_n(f->bytes.p + at, link->begin - at));
		for (size_t i = 0; i < link->text.n; i++) {
			if (link->text.p[i] == TRUST_COPY)
				add_quoted_path(&b, copies);
			else
				buf_add_char(&b, link->text.p[i]);
		}
		at = link->end;
	}
	buf_add_str(&b, str_from(f->bytes, at));
	bytes = b.full ? STR_NONE : arena_str(a, buf_str(&b));
	buf_release(&b);
	return bytes;
}

/* <digest>.seen, beside the copies. */
static int seen_of(const char *copies, char out[FS_PATH])
{
	int n = snprintf(out, FS_PATH, "%s.seen", copies);

	return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
}

/* A copy that is not what was trusted (disk error, manual change) must not be run. */
static bool copies_are_whole(const char *copies, const struct trust_tree *t)
{
	int dir = open(copies, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct trust_tree *kept = arena_alloc(t->arena, sizeof *kept);
	bool whole = dir >= 0;

	*kept = (struct trust_tree){ .arena = t->arena, .root_fd = dir };
	for (unsigned i = 0; whole && i < t->n; i++) {
		const struct trust_file *want = &t->files[i], *f;

		whole = trust_tree_add(kept, want->name, &f, NULL) >= 0 && f->absent == want->absent &&
			(want->absent || str_eq(f->bytes, copied_bytes(want, copies, t->arena)));
	}
	fs_closep(&dir);
	return whole;
}

enum trust_state trust_look(const char *state, const struct trust_tree *t, char ret_copies[FS_PATH])
{
	char place[FS_PATH], copies[FS_PATH], hex[SHA256_HEX + 1];
	const struct json *record;
	unsigned present = 0;

	for (unsigned i = 0; i < t->n; i++)
		present += !t->files[i].absent;
	if (place_of(state, t->root, place) < 0)
		return TRUST_NONE;
	record = read_record(place, t->arena);
	if (!record)
		return present ? TRUST_NONE : TRUST_NOTHING;
	sha256_hex(t->digest, hex);
	if (!str_eq(json_str(json_get(record, STR("digest"))), str_of(hex)) ||
		!str_eq(json_str(json_get(record, STR("root"))), str_of(t->root)))
		return TRUST_CHANGED;
	if (copies_of(place, t->digest, copies) < 0 || !copies_are_whole(copies, t))
		return TRUST_CHANGED;
	if (ret_copies)
		memcpy(ret_copies, copies, FS_PATH);
	return TRUST_HOLDS;
}

static const struct json *find_file(const struct json *files, str name)
{
	json_each(f, files)
		if (str_eq(json_str(json_get(f, STR("name"))), name))
			return f;
	return NULL;
}

bool trust_covers(const char *state, const char *root, const char *name, str bytes)
{
	char place[FS_PATH], hex[SHA256_HEX + 1], *real = realpath(root, NULL);
	uint8_t digest[SHA256_BYTES];
	const struct json *record, *file;
	struct sha256 h;
	struct arena a;
	bool covered = false;

	arena_init(&a);
	if (real && place_of(state, real, place) == 0 && (record = read_record(place, &a)) &&
		str_eq(json_str(json_get(record, STR("root"))), str_of(real)) &&
		(file = find_file(json_get(record, STR("files")), str_of(name)))) {
		sha256_init(&h);
		sha256_add(&h, bytes.p ? bytes.p : "", bytes.n);
		sha256_end(&h, digest);
		sha256_hex(digest, hex);
		covered = !json_true(json_get(file, STR("absent"))) &&
			str_eq(json_str(json_get(file, STR("sha256"))), str_of(hex));
	}
	arena_release(&a);
	free(real);
	return covered;
}

/* -- granting ---------------------------------------------------------------------------------- */

static int write_copy(const char *copies, const struct trust_file *f, str bytes)
{
	char path[FS_PATH], name[FS_PATH];
	int n = snprintf(name, sizeof name, STR_FMT, STR_ARG(f->name)), r, fd;

	if (n < 0 || (size_t)n >= sizeof name || fs_join(path, copies, name) < 0)
		return -ENAMETOOLONG;
	*strrchr(path, '/') = 0;
	r = fs_private_dir(path);
	if (r < 0)
		return r;
	fs_join(path, copies, name);
	unlink(path); /* of a grant that was interrupted */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = str_is_set(bytes) ? fs_write_all(fd, bytes.p, bytes.n) : -EFBIG;
	if (r == 0 && fchmod(fd, f->executable ? 0500 : 0400) < 0)
		r = -errno;
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool is_seen_dir(const char *name)
{
	return str_ends(str_of(name), STR(".seen"));
}

/* The oldest copies beyond TRUST_COPIES, but never the newest one. */
static void prune(const char *place)
{
	for (;;) {
		DIR *d = opendir(place);
		char oldest[FS_PATH] = "", path[FS_PATH];
		struct timespec when = { 0 };
		unsigned count = 0;
		struct dirent *e;
		struct stat st;

		while (d && (e = readdir(d)))
			if (e->d_name[0] != '.' && !is_seen_dir(e->d_name) && fs_join(path, place, e->d_name) == 0 &&
				lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
				count++;
				if (!oldest[0] || st.st_mtim.tv_sec < when.tv_sec ||
					(st.st_mtim.tv_sec == when.tv_sec && st.st_mtim.tv_nsec < when.tv_nsec)) {
					when = st.st_mtim;
					memcpy(oldest, path, sizeof oldest);
				}
			}
		if (d)
			closedir(d);
		if (count <= TRUST_COPIES)
			return;
		remove_tree(oldest);
		if (seen_of(oldest, path) == 0)
			remove_tree(path);
		if (access(oldest, F_OK) == 0)
			return;
	}
}

int trust_grant(const char *state, const struct trust_tree *t, struct err *err)
{
	char place[FS_PATH], copies[FS_PATH], path[FS_PATH];
	struct buf b = BUF_INIT(MIB(1));
	int r = place_of(state, t->root, place);

	if (r == 0)
		r = copies_of(place, t->digest, copies);
	if (r == 0)
		r = fs_private_dir(copies);
	if (r == 0)
		r = seen_of(copies, path);
	for (unsigned i = 0; r == 0 && i < t->n; i++) {
		const struct trust_file *f = &t->files[i];

		if (!f->absent)
			r = write_copy(copies, f, copied_bytes(f, copies, t->arena));
		if (r == 0 && f->links && (r = fs_private_dir(path)) == 0)
			r = write_copy(path, f, f->bytes);
	}
	if (r == 0)
		r = utimensat(AT_FDCWD, copies, NULL, 0) < 0 ? -errno : 0;
	write_record(t, &b);
	if (r == 0)
		r = fs_join(path, place, "record.json");
	if (r == 0)
		r = b.full ? -EFBIG : fs_replace_file(path, buf_str(&b), true);
	buf_release(&b);
	if (r < 0)
		return err_set(err, r, "the trust in %s cannot be recorded: %s", t->root, strerror(-r));
	prune(place);
	return 0;
}

int trust_revoke(const char *state, const char *root, struct err *err)
{
	char place[FS_PATH], path[FS_PATH];
	int r = place_of(state, root, place);

	if (r == 0)
		r = fs_join(path, place, "record.json");
	if (r == 0 && unlink(path) < 0)
		r = -errno;
	if (r < 0)
		return err_set(err, r, "%s %s", root, r == -ENOENT ? "is not trusted" : strerror(-r));
	remove_tree(place);
	return 0;
}

/* -- for people -------------------------------------------------------------------------------- */

/* What is on the disk now may hold anything; a terminal must not obey it. */
static str visible(struct arena *a, str text, bool one_line)
{
	char *out = arena_bytes(a, text.n);

	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		out[i] = (c < 0x20 && (one_line || (c != '\n' && c != '\t'))) || c == 0x7f ? '?' : text.p[i];
	}
	return str_n(out, text.n);
}

static void write_file_diff(const char *copies, const struct json *was, const struct trust_file *now, struct arena *a,
	struct buf *b)
{
	bool was_absent = !was || json_true(json_get(was, STR("absent")));
	str name = now ? now->name : json_str(json_get(was, STR("name")));
	const char *shown = arena_cstr(a, visible(a, name, true));
	struct buf old = BUF_INIT(TRUST_FILE_MAX + 1);
	char path[FS_PATH], seen[FS_PATH];

	/* As it was seen, not as it runs. */
	if (!was_absent &&
		(seen_of(copies, seen) < 0 || fs_join(path, seen, arena_cstr(a, name)) < 0 ||
			fs_read_file(path, &old) < 0) &&
		fs_join(path, copies, arena_cstr(a, name)) == 0)
		(void)fs_read_file(path, &old);
	diff_write(b, was_absent ? "/dev/null" : arena_strf(a, "trusted/%s", shown).p, visible(a, buf_str(&old), false),
		!now || now->absent ? "/dev/null" : shown, now ? visible(a, now->bytes, false) : STR(""));
	if (was && now && !was_absent && !now->absent && json_true(json_get(was, STR("executable"))) != now->executable)
		buf_addf(b, "%s is %s executable\n", shown, now->executable ? "now" : "no longer");
	buf_release(&old);
}

void trust_write_diff(const char *state, const struct trust_tree *t, struct buf *b)
{
	char place[FS_PATH], copies[FS_PATH] = "";
	const struct json *record, *files;
	str digest;

	if (place_of(state, t->root, place) < 0)
		return;
	record = read_record(place, t->arena);
	files = json_get(record, STR("files"));
	digest = json_str(json_get(record, STR("digest")));
	if (record && digest.n == SHA256_HEX && !memchr(digest.p, '/', digest.n))
		(void)fs_join(copies, place, arena_cstr(t->arena, digest));
	for (unsigned i = 0; i < t->n; i++)
		write_file_diff(copies, find_file(files, t->files[i].name), &t->files[i], t->arena, b);
	json_each(f, files)
		if (!trust_tree_find(t, json_str(json_get(f, STR("name")))))
			write_file_diff(copies, f, NULL, t->arena, b);
}

void trust_write_list(const char *state, struct json_writer *w)
{
	char dir[FS_PATH], place[FS_PATH];
	struct dirent *e;
	struct arena a;
	DIR *d;

	arena_init(&a);
	jw_array(w);
	d = fs_join(dir, state, "trust") == 0 ? opendir(dir) : NULL;
	while (d && (e = readdir(d))) {
		const struct json *record;

		if (e->d_name[0] == '.' || fs_join(place, dir, e->d_name) < 0)
			continue;
		record = read_record(place, &a);
		if (record)
			jw_value(w, record);
	}
	if (d)
		closedir(d);
	jw_end_array(w);
	arena_release(&a);
}
