#include "json/json.h"

#include <errno.h>

#include "base/utf8.h"
#include "json/plain.h"

static char short_escape(unsigned char c)
{
	switch (c) {
	case '"': return '"';
	case '\\': return '\\';
	case '\n': return 'n';
	case '\r': return 'r';
	case '\t': return 't';
	case '\b': return 'b';
	case '\f': return 'f';
	default: return 0;
	}
}

/* n plain bytes and an escaped one, in one piece: a text of quotes and newlines has an escape every few bytes. */
static void add_escaped(struct buf *b, const unsigned char *plain, size_t n, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	const char six[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, letter = short_escape(c);
	size_t more = letter ? 2 : sizeof six;
	char *to = buf_reserve(b, n + more);

	if (!to)
		return;
	memcpy(to, plain, n);
	if (letter) {
		to[n] = '\\';
		to[n + 1] = letter;
	} else {
		memcpy(to + n, six, sizeof six);
	}
	buf_commit(b, n + more);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

int json_write_string(struct buf *b, str text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t i = 0, from = 0;

	buf_add_char(b, '"');
	while (i < text.n) {
		size_t n;

		i += json_plain_run(p + i, text.n - i);
		while (i < text.n && is_plain(p[i]))
			i++;
		if (i == text.n)
			break;
		if (p[i] >= 0x80 && (n = utf8_sequence(p + i, text.n - i)) > 0) {
			i += n;
			continue;
		}
		if (p[i] >= 0x80) {
			buf_add(b, p + from, i - from);
			buf_add(b, "\xEF\xBF\xBD", 3);
		} else {
			add_escaped(b, p + from, i - from, p[i]);
		}
		from = ++i;
	}
	buf_add(b, p + from, i - from);
	buf_add_char(b, '"');
	return b->full ? -E2BIG : 0;
}

static void write_value(struct buf *b, const struct json *v)
{
	bool object = v->type == JSON_OBJECT;

	switch (v->type) {
	case JSON_NULL: buf_add(b, "null", 4); return;
	case JSON_BOOL: buf_add_str(b, v->flag ? STR("true") : STR("false")); return;
	case JSON_NUMBER: buf_add_str(b, v->text); return;
	case JSON_STRING: json_write_string(b, v->text); return;
	}
	buf_add_char(b, object ? '{' : '[');
	json_each(m, v) {
		if (m != v->first)
			buf_add_char(b, ',');
		if (object) {
			json_write_string(b, m->key);
			buf_add_char(b, ':');
		}
		write_value(b, m);
	}
	buf_add_char(b, object ? '}' : ']');
}

int json_write(struct buf *b, const struct json *v)
{
	write_value(b, v);
	return b->full ? -E2BIG : 0;
}

/* Before a value or key: a comma when something precedes it on this level. */
static void separate(struct json_writer *w)
{
	uint64_t bit = UINT64_C(1) << (w->depth & 63);

	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->more & bit)
		buf_add_char(w->b, ',');
	w->more |= bit;
}

static void open_level(struct json_writer *w, char c)
{
	separate(w);
	buf_add_char(w->b, c);
	w->depth++;
	w->more &= ~(UINT64_C(1) << (w->depth & 63));
}

void jw_object(struct json_writer *w)
{
	open_level(w, '{');
}

void jw_array(struct json_writer *w)
{
	open_level(w, '[');
}

void jw_end_object(struct json_writer *w)
{
	w->depth--;
	buf_add_char(w->b, '}');
}

void jw_end_array(struct json_writer *w)
{
	w->depth--;
	buf_add_char(w->b, ']');
}

void jw_key_str(struct json_writer *w, str key)
{
	separate(w);
	json_write_string(w->b, key);
	buf_add_char(w->b, ':');
	w->after_key = true;
}

void jw_key(struct json_writer *w, const char *key)
{
	jw_key_str(w, str_of(key));
}

void jw_str(struct json_writer *w, str text)
{
	separate(w);
	json_write_string(w->b, text);
}

void jw_int(struct json_writer *w, int64_t value)
{
	separate(w);
	buf_addf(w->b, "%lld", (long long)value);
}

void jw_bool(struct json_writer *w, bool value)
{
	separate(w);
	buf_add_str(w->b, value ? STR("true") : STR("false"));
}

void jw_null(struct json_writer *w)
{
	separate(w);
	buf_add(w->b, "null", 4);
}

void jw_value(struct json_writer *w, const struct json *v)
{
	separate(w);
	json_write(w->b, v);
}

void jw_raw(struct json_writer *w, str json)
{
	separate(w);
	buf_add_str(w->b, json);
}

void jw_stored(struct json_writer *w, str json)
{
	struct arena scratch = { 0 };
	struct json *root;
	struct err err;

	if (json_parse(&scratch, json, 0, &root, &err) == 0)
		jw_raw(w, json);
	else
		jw_str(w, json);
	arena_release(&scratch);
}

void jw_field_str(struct json_writer *w, const char *key, str text)
{
	if (!str_is_set(text))
		return;
	jw_key(w, key);
	jw_str(w, text);
}

void jw_field_int(struct json_writer *w, const char *key, int64_t value)
{
	jw_key(w, key);
	jw_int(w, value);
}

void jw_field_bool(struct json_writer *w, const char *key, bool value)
{
	jw_key(w, key);
	jw_bool(w, value);
}
