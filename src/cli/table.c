/* Tables for people, and text that may come from anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/cli.h"

enum { COLUMNS_MAX = 16, GAP = 2 };

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

/* Characters, not bytes; wide ones count as one, which only costs alignment. */
static size_t width(str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
	return n;
}

static size_t terminal_width(void)
{
	struct winsize w;
	const char *columns = getenv("COLUMNS");
	int64_t n;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col)
		return w.ws_col;
	return str_to_int(str_of(columns), &n) && n > 20 ? (size_t)n : isatty(STDOUT_FILENO) ? 80 : SIZE_MAX;
}

/* Also U+0080 to U+009F, which some terminals take for escape sequences. */
static bool drives_terminal(const unsigned char *p, size_t len)
{
	return *p < 0x20 || *p == 0x7F || (len == 2 && p[0] == 0xC2 && p[1] < 0xA0);
}

static void print_cell(str s, size_t limit)
{
	size_t shown = 0, i = 0;

	while (i < s.n && shown < limit) {
		size_t len = utf8_sequence((const unsigned char *)s.p + i, s.n - i);

		if (!len || drives_terminal((const unsigned char *)s.p + i, len)) {
			putchar(len ? ' ' : '?');
			len = MAX(len, 1);
		} else {
			fwrite(s.p + i, 1, len, stdout);
		}
		i += len;
		shown++;
	}
}

void table_print(const struct table *t, bool colour)
{
	size_t widths[COLUMNS_MAX] = { 0 }, room = terminal_width();

	for (unsigned r = 0; r < t->rows; r++)
		for (unsigned c = 0; c < t->columns; c++)
			widths[c] = MAX(widths[c], width(t->cells[r * t->columns + c]));
	for (unsigned r = 0; r < t->rows; r++) {
		size_t used = 0;

		if (colour && r == 0)
			fputs("\033[1m", stdout);
		for (unsigned c = 0; c < t->columns && used < room; c++) {
			str s = t->cells[r * t->columns + c];
			size_t limit = MIN(widths[c], room - used);

			print_cell(s, limit);
			used += widths[c] + GAP;
			for (size_t pad = MIN(width(s), limit); c + 1 < t->columns && pad < widths[c] + GAP && used <= room; pad++)
				putchar(' ');
		}
		if (colour && r == 0)
			fputs("\033[0m", stdout);
		putchar('\n');
	}
}

void cli_print_safe(str text)
{
	print_cell(text, SIZE_MAX);
}
