/* toml: finds values in TOML text; for install/ and its tests.
 *
 * DESIGN. Just enough to change one key of somebody's file as text and to read a few settings: the
 * scanner knows where each statement, key and value begins and ends, and refuses what it cannot
 * follow. It does not judge further (doubled keys, dates that do not exist). Every value is handed
 * over with its whole path, so that [a.b] c = 1, a.b.c = 1 and a = { b = { c = 1 } } read the same.
 * Values in arrays are not handed over; an array is one value.
 *
 * Limits: TOML_PATH_MAX keys in a path, TOML_DEPTH_MAX brackets; time and memory are linear. */
#ifndef HOOKD_INSTALL_TOML_H
#define HOOKD_INSTALL_TOML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { TOML_PATH_MAX = 32, TOML_DEPTH_MAX = 64 };

enum toml_type {
	TOML_STRING,
	TOML_ARRAY,
	TOML_TABLE, /* {} with nothing in it */
	TOML_PLAIN, /* numbers, dates, true and false */
};

struct toml_value {
	const str *path; /* decoded; lives as long as the call */
	size_t npath;
	bool top;          /* it is before the first table header */
	size_t statement;  /* where the line begins on which its statement does */
	size_t begin, end; /* its bytes */
	enum toml_type type;
	str text; /* TOML_STRING: decoded, in the arena; TOML_PLAIN: as written */
};

/* Where statements without a table are. */
struct toml_shape {
	size_t first_table;  /* its header's line; the size of the text without one */
	size_t last_end;     /* behind the last statement before it, with its line end */
	unsigned statements; /* how many there are before it */
};

/* Hands every value over in the order of the text. -EBADMSG: not TOML; err names line and column. */
int toml_scan(str text, struct arena *a, void (*take)(const struct toml_value *v, void *ctx), void *ctx,
	struct toml_shape *ret, struct err *err);

/* The line of the header [name] (a dot for every level), which ends where the next begins. False: there is none, or the
 * text is not TOML. */
bool toml_find_table(str text, struct arena *a, str name, size_t *ret_begin, size_t *ret_end);

/* The strings of the array that begins at a byte of a text that was scanned: how many, or -1 when it
 * holds more than max or anything else. */
int toml_strings(str text, size_t begin, struct arena *a, str *list, size_t max);

/* Behind the end of the line that holds a byte; the line end that the text uses. */
size_t toml_line_end(str text, size_t at);
str toml_newline(str text);

/* The text with [from, to) replaced, in the arena. */
int toml_splice(str text, size_t from, size_t to, str with, struct arena *a, str *ret, struct err *err);

/* Appends text as a string of one line. */
void toml_write_string(struct buf *b, str text);

#endif
