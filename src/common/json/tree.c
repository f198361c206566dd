/* Looking things up in a tree. */
#include "json/json.h"

#include <stdarg.h>

const char *json_type_name(enum json_type type)
{
	static const char *const names[JSON_TYPE_MAX] = {
		[JSON_NULL] = "null",
		[JSON_BOOL] = "true or false",
		[JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return names[type];
}

struct json *json_get(const struct json *obj, str key)
{
	struct json *found = NULL;

	if (!obj || obj->type != JSON_OBJECT)
		return NULL;
	json_each(m, obj)
		if (str_eq(m->key, key))
			found = m;
	return found;
}

struct json *json_path(const struct json *obj, ...)
{
	struct json *at = (struct json *)obj;
	const char *step;
	va_list ap;

	va_start(ap, obj);
	while (at && (step = va_arg(ap, const char *)))
		at = json_get(at, str_of(step));
	va_end(ap);
	return at;
}

str json_str(const struct json *v)
{
	return v && v->type == JSON_STRING ? v->text : STR_NONE;
}

bool json_int(const struct json *v, int64_t *ret)
{
	return v && v->type == JSON_NUMBER && str_to_int(v->text, ret);
}

/* Puts v where the row says; false when the type does not fit. */
static bool take_field(const struct json_field *f, const struct json *v, void *dest, str input)
{
	void *to = (char *)dest + f->offset;

	switch (f->type) {
	case JSON_FIELD_STR:
		if (v->type != JSON_STRING)
			return false;
		*(str *)to = v->text;
		return true;
	case JSON_FIELD_TEXT:
		if (v->type == JSON_STRING)
			*(str *)to = v->text;
		else if (v->type == JSON_NUMBER || v->type == JSON_BOOL)
			*(str *)to = str_n(input.p + v->begin, v->end - v->begin);
		else
			return false;
		return true;
	case JSON_FIELD_TREE: *(const struct json **)to = v; return true;
	case JSON_FIELD_BOOL:
		if (v->type != JSON_BOOL)
			return false;
		*(bool *)to = v->flag;
		return true;
	case JSON_FIELD_INT: return json_int(v, to);
	}
	return false;
}

static const struct json *get_present(const struct json *obj, const char *name)
{
	const struct json *v = json_get(obj, str_of(name));

	return v && v->type != JSON_NULL ? v : NULL;
}

unsigned json_take_fields(const struct json *obj, const struct json_field *fields, void *dest, str input)
{
	unsigned wrong = 0;

	for (const struct json_field *f = fields; f->name; f++) {
		const struct json *v = get_present(obj, f->name);
		bool taken = false;

		/* An alias: an earlier row has already filled the same place. */
		for (const struct json_field *g = fields; v && g < f; g++)
			taken |= g->offset == f->offset && get_present(obj, g->name);
		if (v && !taken)
			wrong += !take_field(f, v, dest, input);
	}
	return wrong;
}
