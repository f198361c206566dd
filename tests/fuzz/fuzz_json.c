/* What parses is written, parsed again and is the same; what is written is valid UTF-8; the lenient
 * parser takes everything the strict one takes. The first byte holds the switches. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_same(const struct json *a, const struct json *b)
{
	const struct json *x, *y;

	check(a->type == b->type && str_eq(a->key, b->key));
	switch (a->type) {
	case JSON_STRING:
	case JSON_NUMBER: check(str_eq(a->text, b->text)); return;
	case JSON_BOOL: check(a->flag == b->flag); return;
	case JSON_NULL: return;
	}
	check(a->count == b->count);
	for (x = a->first, y = b->first; x && y; x = x->next, y = y->next)
		check_same(x, y);
	check(!x && !y);
}

static void check_places(const struct json *v, str input)
{
	check(v->begin < v->end && v->end <= input.n);
	if (v->type == JSON_ARRAY || v->type == JSON_OBJECT)
		json_each(m, v) {
			check(m->begin > v->begin && m->end < v->end);
			check_places(m, input);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json *v = NULL, *again = NULL;
	struct buf out = BUF_INIT(64 << 20);
	struct err err = { 0 };
	struct arena a;
	unsigned flags;
	str input;

	if (size == 0)
		return 0;
	flags = data[0] & 3;
	input = str_n((const char *)data + 1, size - 1);
	arena_init(&a);
	if (json_parse(&a, input, flags, &v, &err) < 0) {
		check(!v && err.code < 0 && err.line > 0 && err.col > 0 && err.text[0]);
		check(json_parse(&a, input, 0, &v, NULL) < 0 || err.code == 0);
	} else {
		check_places(v, input);
		check(json_write(&out, v) == 0 && utf8_valid(buf_str(&out)));
		check(json_parse(&a, buf_str(&out), 0, &again, NULL) == 0);
		check_same(v, again);
	}
	buf_release(&out);
	arena_release(&a);
	return 0;
}
