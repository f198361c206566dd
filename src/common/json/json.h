/* json: a tree in an arena, made for passing through what others wrote.
 *
 * DESIGN. hookd sits between programs that add fields every week, so the tree keeps everything: member order,
 * duplicate keys, the text of numbers (never a double), and where each value was in the input. Strings without
 * escapes are borrowed from the input; the input and the arena must both outlive the tree. Nothing is freed one by
 * one.
 *
 * The parser accepts exactly RFC 8259, with these switches:
 *   JSON_LENIENT_UTF8  invalid bytes and lone surrogates become U+FFFD instead of an error: what
 *                      leaves hookd is always valid UTF-8, whatever came in
 *   JSON_COMMENTS      // and block comments and a comma before a closing bracket (config files)
 * Limits: depth LIMIT_JSON_DEPTH, nodes LIMIT_JSON_NODES, input 4 GiB; time is linear in the input.
 *
 * Lookups of a duplicate key return the last one, like JavaScript's JSON.parse, which is what the agents themselves
 * use. */
#ifndef HOOKD_JSON_JSON_H
#define HOOKD_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
	JSON_TYPE_MAX,
};

struct json {
	struct json *next;   /* sibling in the same array or object */
	str key;             /* in an object: the decoded key */
	uint32_t begin, end; /* the value's bytes in the input: [begin, end) */
	uint8_t type;
	bool flag; /* JSON_BOOL: its value */
	union {
		str text; /* JSON_STRING: decoded; JSON_NUMBER: as written */
		struct {
			struct json *first;
			size_t count;
		};
	};
};

enum {
	JSON_LENIENT_UTF8 = 1 << 0,
	JSON_COMMENTS = 1 << 1,
};

/* Parses the whole input as one value (blanks around it allowed).
 * -EBADMSG: not JSON; -E2BIG: deeper or larger than the limits. err names line and column. */
int json_parse(struct arena *a, str input, unsigned flags, struct json **ret, struct err *err);

/* The same for the value at the beginning of the input, after blanks; *ret_used: how many bytes it takes. */
int json_parse_next(struct arena *a, str input, unsigned flags, struct json **ret, size_t *ret_used);

const char *json_type_name(enum json_type type);

/* Line and column, counted from 1, of a byte of the input. */
void json_locate(str input, size_t at, unsigned *ret_line, unsigned *ret_col);

/* The last member of that name, or NULL; NULL and non-objects are fine as obj. */
struct json *json_get(const struct json *obj, str key);
/* json_get() step by step: json_path(root, "hookSpecificOutput", "reason", NULL). */
struct json *json_path(const struct json *obj, ...) __attribute__((sentinel));

/* The text of a string, else STR_NONE. NULL is fine. */
str json_str(const struct json *v);
/* Whole number that fits; else false. */
bool json_int(const struct json *v, int64_t *ret);
static inline bool json_true(const struct json *v)
{
	return v && v->type == JSON_BOOL && v->flag;
}

static inline struct json *json_first(const struct json *v)
{
	return v && v->type >= JSON_ARRAY ? v->first : NULL;
}

/* Members or items, in order; nothing for NULL and for scalars. */
#define json_each(item, parent) for (struct json *item = json_first(parent); item; item = item->next)

/* -- field tables: from an object into a struct ------------------------------------------------ */

enum json_field_type {
	JSON_FIELD_STR,  /* str: a string's text */
	JSON_FIELD_TEXT, /* str: a string's text, or a number or bool as written */
	JSON_FIELD_TREE, /* const struct json *: anything but null */
	JSON_FIELD_BOOL, /* bool */
	JSON_FIELD_INT,  /* int64_t */
};

/* One row: where the member called name goes. Several rows with one offset are aliases; the first
 * row whose member is present and not null wins. */
struct json_field {
	const char *name;
	enum json_field_type type;
	size_t offset;
};

#define JSON_FIELD(name_, TYPE, structure, member)                                                \
	{                                                                                         \
		.name = (name_), .type = JSON_FIELD_##TYPE, .offset = offsetof(structure, member) \
	}

/* Fills dest from obj by the table (ended by a row without a name). Members of the wrong type are skipped and counted
 * in the result. */
unsigned json_take_fields(const struct json *obj, const struct json_field *fields, void *dest, str input);

/* -- writing ----------------------------------------------------------------------------------- */

/* Appends a value as compact JSON: order and number text kept, strings escaped afresh. */
int json_write(struct buf *b, const struct json *v);
/* Appends text as a JSON string with quotes; invalid bytes become U+FFFD. */
int json_write_string(struct buf *b, str text);

/* Writes commas and colons by itself, up to 64 levels deep (hookd's own answers have a handful; trees
 * of others go through jw_value(), which has no such limit). Errors stick in the
 * buf (b->full); check once at the end. */
struct json_writer {
	struct buf *b;
	uint64_t more; /* bit per level: something was already written there */
	unsigned depth;
	bool after_key;
};

#define JSON_WRITER(buf_)   \
	{                   \
		.b = (buf_) \
	}

void jw_object(struct json_writer *w);
void jw_array(struct json_writer *w);
void jw_end_object(struct json_writer *w);
void jw_end_array(struct json_writer *w);
void jw_key(struct json_writer *w, const char *key);
void jw_key_str(struct json_writer *w, str key);
void jw_str(struct json_writer *w, str text);
void jw_int(struct json_writer *w, int64_t value);
void jw_bool(struct json_writer *w, bool value);
void jw_null(struct json_writer *w);
void jw_value(struct json_writer *w, const struct json *v);
/* Text that is already JSON. */
void jw_raw(struct json_writer *w, str json);
/* Text that was JSON when it was stored; a damaged disk may have changed it, and then it is written as a string. */
void jw_stored(struct json_writer *w, str json);

/* key and value in one; a missing str is left out. */
void jw_field_str(struct json_writer *w, const char *key, str text);
void jw_field_int(struct json_writer *w, const char *key, int64_t value);
void jw_field_bool(struct json_writer *w, const char *key, bool value);

#endif
