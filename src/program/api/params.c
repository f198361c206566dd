/* Parameters: checked and converted by the row of the operation before it runs, and published as JSON Schema. */
#include <errno.h>
#include <stdio.h>

#include "api/ops.h"
#include "base/clock.h"

static const char *const type_words[] = {
	[OP_TEXT] = "a text",
	[OP_INT] = "a number",
	[OP_BOOL] = "true or false",
	[OP_TIME] = "a time: microseconds since 1970, or a text such as 2h, 3d, 2026-11-01",
	[OP_ENUM] = "one of its words",
	[OP_SESSION] = "a session's id, a prefix of one, or its key",
	[OP_PROJECT] = "a project's name, path or key",
	[OP_JSON] = "an object",
	[OP_LIST] = "a list",
};

static unsigned count_params(const struct op *op)
{
	unsigned n = 0;

	while (op->params && op->params[n].name)
		n++;
	return n;
}

/* -- one value --------------------------------------------------------------------------------- */

static int refuse_type(const struct op_param *p, struct err *err)
{
	return err_set(err, -EINVAL, "'%s' must be %s%s", p->name,
		p->flags & OP_REPEATED ? "a list; each item must be " : "", type_words[p->type]);
}

static int refuse_choice(const struct op_param *p, str given, struct err *err)
{
	struct name_suggestion near = { 0 };
	char list[200] = "", shown[NAME_SHOWN];

	for (const char *const *c = p->choices; *c; c++) {
		name_suggest(&near, given, str_of(*c));
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", *c);
	}
	if (near.best.p)
		return err_set(err, -EINVAL, "'%s' is not a valid '%s'; did you mean '" STR_FMT "'?",
			name_shown(given, shown), p->name, STR_ARG(near.best));
	return err_set(err, -EINVAL, "'%s' is not a valid '%s'; valid values: %s", name_shown(given, shown), p->name,
		list);
}

static int take_int(const struct op_param *p, const struct json *v, struct op_value *ret, struct err *err)
{
	bool is_number = v->type == JSON_NUMBER ? json_int(v, &ret->number)
						: v->type == JSON_STRING && str_to_int(v->text, &ret->number);

	if (!is_number)
		return refuse_type(p, err);
	if (ret->number < p->min || (p->max && ret->number > p->max)) {
		if (p->max)
			return err_set(err, -EINVAL, "'%s' must be from %lld to %lld", p->name, (long long)p->min,
				(long long)p->max);
		return err_set(err, -EINVAL, "'%s' must be %lld or more", p->name, (long long)p->min);
	}
	return 0;
}

static int take_time(const struct op_param *p, const struct json *v, struct op_value *ret, struct err *err)
{
	bool is_time = json_int(v, &ret->number);

	if (v->type == JSON_STRING)
		is_time = str_to_int(v->text, &ret->number) || clock_parse_when(v->text, clock_wall_us(), &ret->number);

	return is_time && ret->number >= 0 ? 0 : refuse_type(p, err);
}

static int take_enum(const struct op_param *p, const struct json *v, struct op_value *ret, struct err *err)
{
	if (v->type != JSON_STRING)
		return refuse_type(p, err);
	for (const char *const *c = p->choices; *c; c++)
		if (str_eq_nocase(v->text, str_of(*c))) {
			ret->text = str_of(*c);
			return 0;
		}
	return refuse_choice(p, v->text, err);
}

static int take_value(const struct op_param *p, const struct json *v, struct op_value *ret, struct err *err)
{
	bool word = v->type == JSON_STRING || v->type == JSON_NUMBER;

	switch (p->type) {
	case OP_TEXT:
		ret->text = v->text;
		return v->type == JSON_STRING || (word && p->flags & OP_OR_NUMBER) ? 0 : refuse_type(p, err);
	case OP_INT: return take_int(p, v, ret, err);
	case OP_BOOL: ret->number = json_true(v); return v->type == JSON_BOOL ? 0 : refuse_type(p, err);
	case OP_TIME: return take_time(p, v, ret, err);
	case OP_ENUM: return take_enum(p, v, ret, err);
	case OP_SESSION:
	case OP_PROJECT: return word && v->text.n ? 0 : refuse_type(p, err);
	case OP_JSON: return v->type == JSON_OBJECT ? 0 : refuse_type(p, err);
	case OP_LIST: return v->type == JSON_ARRAY ? 0 : refuse_type(p, err);
	}
	return 0;
}

static int take_param(const struct op_param *p, const struct json *v, struct op_value *ret, struct err *err)
{
	int r = 0;

	*ret = (struct op_value){ .json = v };
	if (!(p->flags & OP_REPEATED))
		return take_value(p, v, ret, err);
	if (v->type != JSON_ARRAY || !v->first)
		return refuse_type(p, err);
	json_each(item, v)
		r = r < 0 ? r : take_value(p, item, ret, err);
	return r;
}

/* -- all of them ------------------------------------------------------------------------------- */

static int refuse_name(const struct op *op, str name, struct err *err)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (const struct op_param *p = op->params; p && p->name; p++)
		name_suggest(&near, name, str_of(p->name));
	if (near.best.p)
		return err_set(err, -EINVAL, "'%s' takes no '%s'; did you mean '" STR_FMT "'?", op->name,
			name_shown(name, shown), STR_ARG(near.best));
	return err_set(err, -EINVAL, "'%s' takes no '%s'; see: hookd rpc --schema %s", op->name,
		name_shown(name, shown), op->name);
}

static int find_param(const struct op *op, str name)
{
	for (int i = 0; op->params && op->params[i].name; i++)
		if (str_eq(name, str_of(op->params[i].name)))
			return i;
	return -1;
}

int op_take_params(const struct op *op, const struct json *params, struct arena *a, struct op_value **ret,
	struct err *err)
{
	unsigned n = count_params(op);
	struct op_value *values = arena_alloc(a, (n + 1) * sizeof *values);
	int r = 0;

	memset(values, 0, (n + 1) * sizeof *values);
	*ret = values;
	if (params && params->type != JSON_OBJECT && params->type != JSON_NULL)
		return err_set(err, -EINVAL, "the parameters of '%s' must be an object", op->name);
	json_each(m, params) {
		int i = find_param(op, m->key);

		/* null is the same as nothing. */
		if (r < 0 || m->type == JSON_NULL)
			continue;
		if (i >= 0)
			r = take_param(&op->params[i], m, &values[i], err);
		else if (!(op->flags & OP_OPEN))
			r = refuse_name(op, m->key, err);
	}
	for (unsigned i = 0; i < n && r == 0; i++)
		if (op->params[i].flags & OP_REQUIRED && !values[i].json)
			r = err_set(err, -EINVAL, "'%s' needs '%s': %s", op->name, op->params[i].name,
				op->params[i].text);
	return r;
}

/* Sessions and projects become keys; a list of sessions a JSON array of keys. */
static int resolve(struct op_call *call, const struct op_param *p, struct op_value *v)
{
	struct buf b = BUF_INIT(1 << 20);
	struct json_writer w = JSON_WRITER(&b);
	int64_t key;
	int r = 0;

	if (p->type == OP_PROJECT)
		return op_find_project(call, v->json, p->name, &v->number);
	if (!(p->flags & OP_REPEATED))
		return op_find_session(call, v->json, p->name, &v->number);
	jw_array(&w);
	json_each(given, v->json) {
		if (r == 0)
			r = op_find_session(call, given, p->name, &key);
		if (r == 0)
			jw_int(&w, key);
	}
	jw_end_array(&w);
	v->text = arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	return r;
}

int op_resolve(struct op_call *call)
{
	int r = 0;

	for (unsigned i = 0; call->op->params && call->op->params[i].name && r == 0; i++) {
		const struct op_param *p = &call->op->params[i];

		if (call->values[i].json && (p->type == OP_SESSION || p->type == OP_PROJECT))
			r = resolve(call, p, &call->values[i]);
	}
	return r;
}

/* -- what operations ask ----------------------------------------------------------------------- */

static const struct op_value *value_of(const struct op_call *call, const char *name)
{
	int i = find_param(call->op, str_of(name));

	return i >= 0 && call->values[i].json ? &call->values[i] : NULL;
}

bool op_has(const struct op_call *call, const char *name)
{
	return value_of(call, name) != NULL;
}

int64_t op_int(const struct op_call *call, const char *name)
{
	const struct op_value *v = value_of(call, name);
	int i = find_param(call->op, str_of(name));

	return v ? v->number : i >= 0 ? call->op->params[i].fallback : 0;
}

bool op_bool(const struct op_call *call, const char *name)
{
	return op_int(call, name) != 0;
}

str op_text(const struct op_call *call, const char *name)
{
	const struct op_value *v = value_of(call, name);

	return v ? v->text : STR_NONE;
}

const struct json *op_json(const struct op_call *call, const char *name)
{
	const struct op_value *v = value_of(call, name);

	return v ? v->json : NULL;
}

/* -- JSON Schema ------------------------------------------------------------------------------- */

static void write_type(struct json_writer *w, const struct op_param *p)
{
	static const char *const types[] = { [OP_TEXT] = "string",
		[OP_INT] = "integer",
		[OP_BOOL] = "boolean",
		[OP_TIME] = "string",
		[OP_ENUM] = "string",
		[OP_SESSION] = "string", /* a number is taken as well; but models and their servers want one type */
		[OP_PROJECT] = "string",
		[OP_JSON] = "object",
		[OP_LIST] = "array" };

	jw_field_str(w, "type", str_of(types[p->type]));
	if (p->type == OP_INT)
		jw_field_int(w, "minimum", p->min);
	if (p->type == OP_INT && p->max)
		jw_field_int(w, "maximum", p->max);
	if (p->type != OP_ENUM)
		return;
	jw_key(w, "enum");
	jw_array(w);
	for (const char *const *c = p->choices; *c; c++)
		jw_str(w, str_of(*c));
	jw_end_array(w);
}

static void write_param(struct json_writer *w, const struct op_param *p)
{
	jw_key(w, p->name);
	jw_object(w);
	jw_field_str(w, "description", str_of(p->text));
	if (p->flags & OP_REPEATED) {
		jw_field_str(w, "type", STR("array"));
		jw_key(w, "items");
		jw_object(w);
		write_type(w, p);
		jw_end_object(w);
	} else {
		write_type(w, p);
	}
	if (p->type == OP_INT && p->fallback)
		jw_field_int(w, "default", p->fallback);
	jw_end_object(w);
}

void op_write_schema(struct json_writer *w, const struct op *op)
{
	jw_object(w);
	jw_field_str(w, "type", STR("object"));
	jw_key(w, "properties");
	jw_object(w);
	for (const struct op_param *p = op->params; p && p->name; p++)
		write_param(w, p);
	jw_end_object(w);
	jw_key(w, "required");
	jw_array(w);
	for (const struct op_param *p = op->params; p && p->name; p++)
		if (p->flags & OP_REQUIRED)
			jw_str(w, str_of(p->name));
	jw_end_array(w);
	jw_field_bool(w, "additionalProperties", op->flags & OP_OPEN);
	jw_end_object(w);
}

/* -- JSON Schema of results -------------------------------------------------------------------- */

static void write_members(struct json_writer *w, const struct op_column *members, bool all);

static void write_member(struct json_writer *w, const struct op_column *m)
{
	static const struct {
		char letter;
		const char *type;
	} types[] = { { 's', "string" }, { 'i', "integer" }, { 'n', "number" }, { 'b', "boolean" }, { 'l', "array" },
		{ 't', "array" }, { 'o', "object" } };

	if (m->type == 'o') {
		write_members(w, m->members, false);
		return;
	}
	jw_object(w);
	for (size_t i = 0; i < countof(types); i++)
		if (m->type == types[i].letter)
			jw_field_str(w, "type", str_of(types[i].type));
	if (m->type == 'l') {
		jw_key(w, "items");
		write_members(w, m->members, false);
	} else if (m->type == 't') {
		jw_key(w, "items");
		jw_object(w);
		jw_field_str(w, "type", STR("string"));
		jw_end_object(w);
	}
	jw_end_object(w);
}

/* all: the lists in it are always there. What has no value is left out, so nothing else is sure to be. */
static void write_members(struct json_writer *w, const struct op_column *members, bool all)
{
	jw_object(w);
	jw_field_str(w, "type", STR("object"));
	jw_key(w, "properties");
	jw_object(w);
	for (const struct op_column *m = members; m && m->name; m++)
		if (m->name[0]) {
			jw_key(w, m->name);
			write_member(w, m);
		}
	jw_end_object(w);
	if (all) {
		jw_key(w, "required");
		jw_array(w);
		for (const struct op_column *m = members; m && m->name; m++)
			if (m->type == 'l')
				jw_str(w, str_of(m->name));
		jw_end_array(w);
	}
	if (members)
		jw_field_bool(w, "additionalProperties", false);
	jw_end_object(w);
}

void op_write_result_schema(struct json_writer *w, const struct op *op)
{
	write_members(w, op->result, op->result != NULL);
}
