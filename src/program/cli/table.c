/* Tables for people. */
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
			widths[c] = MAX(widths[c], cli_width(t->cells[r * t->columns + c]));
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
