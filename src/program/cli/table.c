/* Tables for people, and text that may come from anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/cli.h"

enum { COLUMNS_MAX = 16, GAP = 2, NARROW = 6 };

void table_init(struct table *t, struct arena *a, unsigned columns)
{
	*t = (struct table){ .arena = a, .columns = columns < COLUMNS_MAX ? columns : COLUMNS_MAX };
}

void table_add(struct table *t, const str *cells)
{
	if (t->rows == t->cap) {
		unsigned cap = t->cap ? t->cap * 2 : 32;
		str *more = arena_alloc(t->arena, cap * t->columns * sizeof *more);

		if (t->rows)
			memcpy(more, t->cells, t->rows * t->columns * sizeof *more);
		t->cells = more;
		t->cap = cap;
	}
	memcpy(t->cells + t->rows * t->columns, cells, t->columns * sizeof *cells);
	t->rows++;
}

size_t cli_terminal_width(void)
{
	struct winsize w;
	const char *columns = getenv("COLUMNS");
	int64_t n;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col)
		return w.ws_col;
	return str_to_int(str_of(columns), &n) && n > 20 ? (size_t)n : isatty(STDOUT_FILENO) ? 80 : SIZE_MAX;
}

/* -- text that may come from anywhere ---------------------------------------------------------- */

/* The replacement for a character that would not be shown, or would do something: blanks for blanks, a picture for
 * a control character, a replacement for the second set of those and for what turns the direction of text. */
static size_t stand_in(const unsigned char *p, size_t len, char out[4])
{
	bool second = len == 2 && p[0] == 0xC2 && p[1] < 0xA0;
	bool turns = len == 3 && p[0] == 0xE2 &&
		((p[1] == 0x80 && p[2] >= 0xA8 && p[2] <= 0xAE) || (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9));

	if (len == 1 && (p[0] == '\t' || p[0] == '\n' || p[0] == '\r')) {
		out[0] = ' ';
		return 1;
	}
	if (len == 1 && (p[0] < 0x20 || p[0] == 0x7F))
		return utf8_encode(p[0] == 0x7F ? 0x2421 : 0x2400u + p[0], out);
	return !len || second || turns ? utf8_encode(0xFFFD, out) : 0;
}

size_t cli_next_safe(str text, size_t *at, char room[4], str *ret)
{
	const unsigned char *p = (const unsigned char *)text.p + *at;
	size_t len = utf8_sequence(p, text.n - *at), n = stand_in(p, len, room);

	*ret = n ? str_n(room, n) : str_n((const char *)p, len);
	*at += len ? len : 1;
	return ret->n;
}

/* Characters, not bytes; wide ones count as one, which only costs alignment. */
static size_t width(str s)
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
	bool cut = limit != SIZE_MAX && width(text) > limit;
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

/* -- tables ------------------------------------------------------------------------------------ */

/* Narrows the widest column from `first` on until the row fits or nothing is left to take there. */
static void fit(size_t *widths, unsigned first, unsigned columns, size_t room)
{
	size_t total = 0, widest;

	for (unsigned c = 0; c < columns; c++)
		total += widths[c] + (c ? GAP : 0);
	for (; total > room; total--) {
		widest = first;
		for (unsigned c = first + 1; c < columns; c++)
			if (widths[c] >= widths[widest])
				widest = c;
		if (widths[widest] <= NARROW)
			return;
		widths[widest]--;
	}
}

void table_print(const struct table *t, bool colour)
{
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	size_t widths[COLUMNS_MAX] = { 0 }, room = cli_terminal_width(), shown;

	for (unsigned r = 0; r < t->rows; r++)
		for (unsigned c = 0; c < t->columns; c++)
			widths[c] = MAX(widths[c], width(t->cells[r * t->columns + c]));
	if (t->firm < t->columns)
		fit(widths, t->firm, t->columns, room);
	fit(widths, 0, t->columns, room);
	for (unsigned r = 0; r < t->rows; r++) {
		if (colour && r == 0)
			buf_add_str(&b, STR("\033[1m"));
		for (unsigned c = 0; c < t->columns; c++) {
			shown = cli_add_safe(&b, t->cells[r * t->columns + c], widths[c]);
			for (; c + 1 < t->columns && shown < widths[c] + GAP; shown++)
				buf_add_char(&b, ' ');
		}
		if (colour && r == 0)
			buf_add_str(&b, STR("\033[0m"));
		buf_add_char(&b, '\n');
	}
	fwrite(b.p, 1, b.len, stdout);
	buf_release(&b);
}
