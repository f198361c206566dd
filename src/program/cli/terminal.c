/* Text that may come from anywhere, on its way to a terminal.
 *
 * DESIGN. Twice, because one printf() that was forgotten is enough. Commands put what others wrote through
 * cli_add_safe(), which makes one line of it and keeps its width. And whatever they print goes through the two streams
 * that cli_guard_output() puts in place of stdout and stderr: no control character and nothing that turns the direction
 * of text leaves them, save line ends, tabs and the few colours hookd itself uses, on a terminal. There it is written
 * as JSON writes it (\\u202e), so that --json stays JSON with the same meaning. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/cli.h"

/* Scalar values that would do something, or show something else than what is there. */
static const struct {
	unsigned from, to;
} unsafe[] = {
	{ 0x00, 0x1F }, { 0x7F, 0x9F }, { 0x061C, 0x061C }, /* marks and controls of direction */
	{ 0x200E, 0x200F }, { 0x2028, 0x202E },             /* with the ends of lines and paragraphs */
	{ 0x2066, 0x206F }, { 0xFFF9, 0xFFFB },             /* annotations */
	{ 0xE0000, 0xE007F },                               /* letters that are not shown */
};

static unsigned scalar_of(const unsigned char *p, size_t len)
{
	static const unsigned char first[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	unsigned c = p[0] & first[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3Fu);
	return c;
}

static bool is_unsafe(unsigned c)
{
	for (size_t i = 0; i < countof(unsafe) && c >= unsafe[i].from; i++)
		if (c <= unsafe[i].to)
			return true;
	return false;
}

/* -- for commands ------------------------------------------------------------------------------ */

/* The replacement: blanks for blanks, a picture for a control character, U+FFFD for the rest. */
static size_t stand_in(const unsigned char *p, size_t len, char out[4])
{
	unsigned c = len ? scalar_of(p, len) : 0xFFFD;

	if (c == '\t' || c == '\n' || c == '\r') {
		out[0] = ' ';
		return 1;
	}
	if (c < 0x20 || c == 0x7F)
		return utf8_encode(c == 0x7F ? 0x2421 : 0x2400u + c, out);
	return !len || is_unsafe(c) ? utf8_encode(0xFFFD, out) : 0;
}

size_t cli_next_safe(str text, size_t *at, char room[4], str *ret)
{
	const unsigned char *p = (const unsigned char *)text.p + *at;
	size_t len = utf8_sequence(p, text.n - *at), n = stand_in(p, len, room);

	*ret = n ? str_n(room, n) : str_n((const char *)p, len);
	*at += len ? len : 1;
	return ret->n;
}

size_t cli_width(str s)
{
	size_t n = 0, at = 0;
	char room[4];
	str c;

	while (at < s.n) {
		cli_next_safe(s, &at, room, &c);
		n++;
	}
	return n;
}

size_t cli_add_safe(struct buf *b, str text, size_t limit)
{
	size_t shown = 0, at = 0;
	bool cut = limit != SIZE_MAX && cli_width(text) > limit;
	char room[4];
	str c;

	while (at < text.n && shown + cut < limit) {
		cli_next_safe(text, &at, room, &c);
		buf_add_str(b, c);
		shown++;
	}
	if (cut && limit) {
		buf_add_str(b, STR("…"));
		shown++;
	}
	return shown;
}

void cli_print_safe(str text)
{
	struct buf b = BUF_INIT(SIZE_MAX / 2);

	cli_add_safe(&b, text, SIZE_MAX);
	fwrite(b.p, 1, b.len, stdout);
	buf_release(&b);
}

/* -- for everything ---------------------------------------------------------------------------- */

/* All that hookd itself says to a terminal. */
static const char *const own[] = { "\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[36m",
	"\033[1;33m", "\r\033[K" };

enum { TAIL_MAX = 8 };

struct guarded {
	int fd;
	bool terminal;
	unsigned char tail[TAIL_MAX]; /* the front of a sequence whose rest has not been printed yet */
	size_t ntail;
};

/* Length of what begins at p and is hookd's own; 0: it is not; SIZE_MAX: the rest decides. */
static size_t own_at(const struct guarded *g, const unsigned char *p, size_t n)
{
	for (size_t i = 0; g->terminal && i < countof(own); i++) {
		size_t len = strlen(own[i]);

		if (memcmp(p, own[i], n < len ? n : len) == 0)
			return n < len ? SIZE_MAX : len;
	}
	return 0;
}

/* A sequence that was cut by the end of a buffer: its front is well formed so far. */
static bool may_go_on(const unsigned char *p, size_t n)
{
	size_t need = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : p[0] >= 0xC2 ? 2 : 1;

	if (n >= need)
		return false;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xC0) != 0x80)
			return false;
	return true;
}

static void add_escape(struct buf *b, unsigned c)
{
	if (c > 0xFFFF)
		buf_addf(b, "\\u%04x\\u%04x", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF));
	else
		buf_addf(b, "\\u%04x", c);
}

/* Appends what may be printed; returns how many bytes at the end wait for more. */
static size_t filter(const struct guarded *g, struct buf *b, const unsigned char *p, size_t n)
{
	size_t at = 0, from = 0, len, mine;

	while (at < n) {
		unsigned c = p[at];

		if ((c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t') {
			at++;
			continue;
		}
		mine = own_at(g, p + at, n - at);
		len = utf8_sequence(p + at, n - at);
		if (mine && mine != SIZE_MAX) {
			at += mine;
			continue;
		}
		if (len && !mine && !is_unsafe(scalar_of(p + at, len))) {
			at += len;
			continue;
		}
		buf_add(b, p + from, at - from);
		if (mine || (!len && may_go_on(p + at, n - at)))
			return n - at;
		if (len)
			add_escape(b, scalar_of(p + at, len));
		else
			buf_add_str(b, STR("\xEF\xBF\xBD"));
		at += len ? len : 1;
		from = at;
	}
	buf_add(b, p + from, n - from);
	return 0;
}

static ssize_t guarded_write(void *cookie, const char *bytes, size_t n)
{
	struct guarded *g = cookie;
	struct buf in = BUF_INIT(SIZE_MAX / 2), out = BUF_INIT(SIZE_MAX / 2);
	bool failed = false;

	buf_add(&in, g->tail, g->ntail);
	buf_add(&in, bytes, n);
	g->ntail = filter(g, &out, (const unsigned char *)in.p, in.len);
	memcpy(g->tail, in.p + in.len - g->ntail, g->ntail);
	for (size_t done = 0; done < out.len && !failed;) {
		ssize_t r = write(g->fd, out.p + done, out.len - done);

		failed = r < 0 && errno != EINTR;
		done += r > 0 ? (size_t)r : 0;
	}
	buf_release(&in);
	buf_release(&out);
	return failed ? 0 : (ssize_t)n;
}

static FILE *guard(int fd, int mode)
{
	struct guarded *g = xcalloc(1, sizeof *g);
	FILE *f;

	*g = (struct guarded){ .fd = fd, .terminal = isatty(fd) };
	f = fopencookie(g, "w", (cookie_io_functions_t){ .write = guarded_write });
	if (f)
		setvbuf(f, NULL, g->terminal && mode == _IOFBF ? _IOLBF : mode, BUFSIZ);
	return f;
}

void cli_guard_output(void)
{
	FILE *out = guard(STDOUT_FILENO, _IOFBF), *err = guard(STDERR_FILENO, _IOLBF);

	if (!out || !err)
		abort(); /* rather nothing than something unguarded */
	stdout = out;
	stderr = err;
}
