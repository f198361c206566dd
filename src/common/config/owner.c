#include "config/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"

/* -- the token --------------------------------------------------------------------------------- */

static bool is_hex(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return true;
}

int owner_token_from(const char *path, char ret[OWNER_TOKEN + 1])
{
	_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[OWNER_TOKEN + 2];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IRWXG | S_IRWXO))
		return -EPERM;
	n = read(fd, text, sizeof text);
	if (n < OWNER_TOKEN || !is_hex(str_n(text, OWNER_TOKEN)))
		return n < 0 ? -errno : -EBADMSG;
	memcpy(ret, text, OWNER_TOKEN);
	ret[OWNER_TOKEN] = 0;
	return 0;
}

/* Written aside and linked into place: of two processes that make one at once, both end up with the same. */
static int make_token(const struct paths *p, const char *token)
{
	unsigned char random[OWNER_TOKEN / 2];
	char text[OWNER_TOKEN + 2], path[FS_PATH + 32];
	int fd, r;

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	text[OWNER_TOKEN] = '\n';
	r = fs_private_dir(p->state);
	if (r < 0)
		return r;
	snprintf(path, sizeof path, "%s.%ld", token, (long)getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fs_write_all(fd, text, OWNER_TOKEN + 1);
	if (r == 0 && (fchmod(fd, 0600) < 0 || fsync(fd) < 0))
		r = -errno;
	if (r == 0 && link(path, token) < 0 && errno != EEXIST)
		r = -errno;
	close(fd);
	unlink(path);
	return r;
}

static int token_at(const struct paths *p, const char *token, char ret[OWNER_TOKEN + 1], struct err *err)
{
	int r = owner_token_from(token, ret);

	if (r == -ENOENT) {
		r = make_token(p, token);
		if (r == 0)
			r = owner_token_from(token, ret);
	}
	if (r < 0)
		return err_set(err, r, "the token %s cannot be used: %s", token,
			r == -EPERM             ? "it must be a file of yours that nobody else can read or write"
				: r == -EBADMSG ? "it does not hold a token; remove it, and restart hookd"
						: strerror(-r));
	return 0;
}

int owner_token(const struct paths *p, char ret[OWNER_TOKEN + 1], struct err *err)
{
	return token_at(p, p->token, ret, err);
}

int owner_http_token(const struct paths *p, char ret[OWNER_TOKEN + 1], struct err *err)
{
	return token_at(p, p->http_token, ret, err);
}

bool owner_token_is(const char token[OWNER_TOKEN + 1], str given)
{
	unsigned char different = given.n != OWNER_TOKEN || !token[0];

	for (size_t i = 0; i < OWNER_TOKEN; i++)
		different |= (unsigned char)token[i] ^ (unsigned char)(i < given.n ? given.p[i] : 0);
	return !different;
}

/* -- the record -------------------------------------------------------------------------------- */

#define CHANGES_MAX KIB(256)

static void path_with(const struct paths *p, const char *end, char out[FS_PATH + 16])
{
	snprintf(out, FS_PATH + 16, "%s%s", p->changes, end);
}

void owner_note(const struct paths *p, const char *what, str detail, const char *by)
{
	struct buf b = BUF_INIT(KIB(8));
	struct json_writer w = JSON_WRITER(&b);
	char old[FS_PATH + 16];
	int fd;

	jw_object(&w);
	jw_field_int(&w, "at_us", clock_wall_us());
	jw_field_str(&w, "what", str_of(what));
	jw_field_str(&w, "detail", str_cut_utf8(str_is_set(detail) ? detail : STR(""), 1000));
	jw_field_str(&w, "by", str_of(by));
	jw_field_int(&w, "pid", getpid());
	jw_end_object(&w);
	buf_add_char(&b, '\n');
	path_with(p, ".old", old);
	if (fs_file_bytes(p->changes) > (long long)CHANGES_MAX)
		(void)rename(p->changes, old);
	/* One write to the end of the file: lines of several processes do not mix. */
	fd = open(p->changes, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && !b.full)
		(void)fs_write_all(fd, b.p, b.len);
	fs_closep(&fd);
	buf_release(&b);
}

static int64_t seen_until(const struct paths *p)
{
	struct buf b = BUF_INIT(64);
	char path[FS_PATH + 16];
	int64_t at = 0;

	path_with(p, ".seen", path);
	if (fs_read_file(path, &b) == 0 && !str_to_int(str_trim(buf_str(&b)), &at))
		at = 0;
	buf_release(&b);
	return at;
}

void owner_changes_seen(const struct paths *p)
{
	char path[FS_PATH + 16], text[32];

	path_with(p, ".seen", path);
	snprintf(text, sizeof text, "%lld\n", (long long)clock_wall_us());
	(void)fs_replace_file(path, str_of(text), false);
}

/* The last lines of the file, the newest first. */
static unsigned read_lines(const struct paths *p, struct arena *a, struct buf *b,
	const struct json *ret[OWNER_CHANGES_SHOWN])
{
	const struct json *ring[OWNER_CHANGES_SHOWN];
	unsigned n = 0, shown;
	str rest, line;

	if (fs_read_file(p->changes, b) < 0)
		return 0;
	rest = buf_str(b);
	while (str_split(&rest, '\n', &line)) {
		struct json *v;

		if (line.n && json_parse(a, line, JSON_LENIENT_UTF8, &v, NULL) == 0 && v->type == JSON_OBJECT)
			ring[n++ % OWNER_CHANGES_SHOWN] = v;
	}
	shown = MIN(n, (unsigned)OWNER_CHANGES_SHOWN);
	for (unsigned i = 0; i < shown; i++)
		ret[i] = ring[(n - 1 - i) % OWNER_CHANGES_SHOWN];
	return shown;
}

unsigned owner_write_changes(const struct paths *p, struct json_writer *w)
{
	const struct json *list[OWNER_CHANGES_SHOWN];
	struct buf b = BUF_INIT(2 * CHANGES_MAX);
	int64_t seen = seen_until(p);
	unsigned unseen = 0, n;
	struct arena a;

	arena_init(&a);
	n = read_lines(p, &a, &b, list);
	jw_array(w);
	for (unsigned i = 0; i < n; i++) {
		int64_t at = 0;

		(void)json_int(json_get(list[i], STR("at_us")), &at);
		jw_object(w);
		jw_field_int(w, "at_us", at);
		jw_field_str(w, "what", json_str(json_get(list[i], STR("what"))));
		jw_field_str(w, "detail", json_str(json_get(list[i], STR("detail"))));
		jw_field_str(w, "by", json_str(json_get(list[i], STR("by"))));
		jw_field_bool(w, "seen", at <= seen);
		jw_end_object(w);
		unseen += at > seen;
	}
	jw_end_array(w);
	arena_release(&a);
	buf_release(&b);
	return unseen;
}
