/* edit: changes to JSON text that leave everything else as it is.
 *
 * DESIGN. Users' files are never rewritten from scratch. A change is a list of splices at the places the tree points
 * to; what is inserted is laid out like its surroundings: same line ends, same indentation, on one line where the
 * file is. Comments and a comma before the closing bracket are understood, so config files are edited the same way.
 * Nothing here touches a file.
 *
 * Taking out what was appended to a container that was not empty gives back the same bytes.
 *
 * Splices may be added in any order and must not overlap; text, trees and the arena must outlive
 * the edit. */
#ifndef HOOKD_JSON_EDIT_H
#define HOOKD_JSON_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "json/json.h"

/* How a text is laid out. */
struct json_style {
	str newline; /* "\n" or "\r\n"; empty: everything is on one line */
	str indent;  /* one step */
	bool spaced; /* a blank after ':' and ',' */
};

/* Two blanks, "\n": what a new file gets. */
extern const struct json_style json_style_default;

/* Of a text that was parsed; an empty container says nothing and gives the default. */
struct json_style json_style_of(str text, const struct json *root);

/* Appends a value in a style; `at` is the indentation of the line it starts on. An array of plain
 * values stays on one line. */
void json_write_styled(struct buf *b, const struct json *v, const struct json_style *s, str at);

/* Where the member (item) after `prev` starts; NULL: the first. At its key, or its value in an
 * array. */
size_t json_item_start(str text, const struct json *in, const struct json *prev);

struct json_splice;

struct json_edit {
	struct arena *a;
	str text;
	struct json_style style;
	struct json_splice *splices; /* newest first */
	size_t count;
	bool full; /* a piece became larger than any file may be */
};

void json_edit_init(struct json_edit *e, struct arena *a, str text, const struct json *root);

/* Puts another value in the place of v. */
void json_edit_replace(struct json_edit *e, const struct json *v, const struct json *with);

/* Adds the members (items) of `more` after the last one of `to`; two objects, or two arrays. */
void json_edit_append(struct json_edit *e, const struct json *to, const struct json *more);

/* Takes out the members (items) of `from` that `gone` says; returns how many. */
size_t json_edit_remove(struct json_edit *e, const struct json *from, bool (*gone)(const struct json *item, void *ctx),
	void *ctx);

/* Appends the changed text. -E2BIG: more than the buf takes. */
int json_edit_apply(const struct json_edit *e, struct buf *b);

#endif
