/* The JSON form. The way to the records is walked without a tree, and each record is parsed by itself into an arena
 * that is used again: a tree of thousands of records would take many times their size. */
#include <errno.h>

#include "json/json.h"
#include "otlp/otlp.h"

enum { FIRST_BLOCK = 32 << 10 };

struct walk {
	str rest;
	struct arena arena; /* of one value */
	struct otlp_reading *reading;
};

static void skip_blanks(struct walk *w)
{
	size_t n = 0;

	while (n < w->rest.n && strchr(" \t\r\n", w->rest.p[n]) && w->rest.p[n])
		n++;
	w->rest = str_from(w->rest, n);
}

static bool take(struct walk *w, char c)
{
	skip_blanks(w);
	if (!w->rest.n || w->rest.p[0] != c)
		return false;
	w->rest = str_from(w->rest, 1);
	return true;
}

/* The value that is next; it lives until the next one is read. */
static int read_value(struct walk *w, struct json **ret)
{
	size_t used;
	int r;

	arena_reset(&w->arena);
	r = json_parse_next(&w->arena, w->rest, JSON_LENIENT_UTF8, ret, &used);
	if (r == 0)
		w->rest = str_from(w->rest, used);
	return r;
}

static int skip_value(struct walk *w)
{
	struct json *ignored;

	return read_value(w, &ignored);
}

/* -- the way in -------------------------------------------------------------------------------- */

static int read_record(struct walk *w);

/* Each level is an object whose member of this name is an array of the next level. */
static const char *const inward[] = { "resourceLogs", "scopeLogs", "logRecords" };

static int walk_object(struct walk *w, size_t level);

static int walk_array(struct walk *w, size_t level)
{
	int r;

	if (!take(w, '['))
		return skip_value(w); /* null, or nothing that we know */
	if (take(w, ']'))
		return 0;
	do {
		r = level == countof(inward) ? read_record(w) : walk_object(w, level);
		if (r < 0)
			return r;
	} while (take(w, ','));
	return take(w, ']') ? 0 : -EBADMSG;
}

static int walk_object(struct walk *w, size_t level)
{
	struct json *key;
	int r;

	if (!take(w, '{'))
		return -EBADMSG;
	if (take(w, '}'))
		return 0;
	do {
		bool further;

		r = read_value(w, &key);
		if (r < 0 || key->type != JSON_STRING || !take(w, ':'))
			return r < 0 ? r : -EBADMSG;
		further = str_eq(key->text, str_of(inward[level]));
		r = further ? walk_array(w, level + 1) : skip_value(w);
		if (r < 0)
			return r;
	} while (take(w, ','));
	return take(w, '}') ? 0 : -EBADMSG;
}

/* -- records ----------------------------------------------------------------------------------- */

/* 64-bit numbers are texts, or numbers where somebody did not know. */
static bool read_number(const struct json *v, int64_t *ret)
{
	return v && (v->type == JSON_STRING ? str_to_int(v->text, ret) : json_int(v, ret));
}

static uint64_t read_time(const struct json *v)
{
	int64_t ns = 0;

	return read_number(v, &ns) && ns > 0 ? (uint64_t)ns : 0;
}

/* Values that are of no use to us. Members that nobody knows are none: exporters may add some. */
static bool is_other_value(str key)
{
	static const char *const others[] = { "doubleValue", "arrayValue", "kvlistValue", "bytesValue" };

	for (size_t i = 0; i < countof(others); i++)
		if (str_eq(key, str_of(others[i])))
			return true;
	return false;
}

static bool read_any(const struct json *value, struct otlp_attribute *ret)
{
	json_each(v, value) {
		if (str_eq(v->key, STR("stringValue"))) {
			ret->type = OTLP_TEXT;
			ret->text = json_str(v);
			if (!str_is_set(ret->text))
				return false;
		} else if (str_eq(v->key, STR("boolValue"))) {
			ret->type = OTLP_BOOL;
			ret->number = json_true(v);
		} else if (str_eq(v->key, STR("intValue"))) {
			ret->type = OTLP_INT;
			if (!read_number(v, &ret->number))
				return false;
		} else if (is_other_value(v->key)) {
			ret->type = OTLP_OTHER;
		}
	}
	return true;
}

static bool read_attributes(const struct json *list, struct otlp_record *rec)
{
	json_each(pair, list) {
		struct otlp_attribute *a;

		if (pair->type != JSON_OBJECT)
			return false;
		if (rec->nattributes == OTLP_ATTRIBUTES_MAX)
			return true;
		a = &rec->attributes[rec->nattributes++];
		*a = (struct otlp_attribute){ .key = STR("") };
		json_each(m, pair) {
			if (str_eq(m->key, STR("key")))
				a->key = json_str(m);
			else if (str_eq(m->key, STR("value")) && !read_any(m, a))
				return false;
		}
	}
	return true;
}

static int read_record(struct walk *w)
{
	struct otlp_record rec;
	struct json *v;
	int r;

	if (++w->reading->records > OTLP_RECORDS_MAX)
		return -E2BIG;
	r = read_value(w, &v);
	if (r < 0 || v->type != JSON_OBJECT)
		return r < 0 ? r : -EBADMSG;
	rec.time_ns = rec.observed_ns = 0;
	rec.nattributes = 0;
	json_each(m, v) {
		if (str_eq(m->key, STR("timeUnixNano")))
			rec.time_ns = read_time(m);
		else if (str_eq(m->key, STR("observedTimeUnixNano")))
			rec.observed_ns = read_time(m);
		else if (str_eq(m->key, STR("attributes")) && !read_attributes(m, &rec))
			return -EBADMSG;
	}
	if (w->reading->record)
		w->reading->record(&rec, w->reading->arg);
	return 0;
}

int otlp_read_json(str body, struct otlp_reading *reading)
{
	struct walk w = { .rest = body, .reading = reading };
	int r;

	arena_init(&w.arena);
	(void)arena_bytes(&w.arena, FIRST_BLOCK); /* a record fits; it is kept from one to the next */
	r = walk_object(&w, 0);
	skip_blanks(&w);
	if (r == 0 && w.rest.n)
		r = -EBADMSG;
	arena_release(&w.arena);
	return r;
}
