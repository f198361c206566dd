/* Reading the file. */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "config/names.h"
#include "json/edit.h"
#include "json/json.h"

/* More problems than this help nobody. */
enum { PROBLEMS_MAX = 50 };

struct reader {
	str text;
	struct config *config;
	struct config_problem **tail;
	unsigned problems;
};

static struct err *add_problem(struct reader *r)
{
	static struct err ignored;
	struct config_problem *p;

	if (++r->problems > PROBLEMS_MAX)
		return &ignored;
	p = xcalloc(1, sizeof *p);
	*r->tail = p;
	r->tail = &p->next;
	return &p->err;
}

/* A problem with what is at byte `at`. */
#define complain(r, at, code, ...)                                            \
	do {                                                                  \
		unsigned line_, col_;                                         \
		locate((r), (at), &line_, &col_);                             \
		err_set_at(add_problem(r), (code), line_, col_, __VA_ARGS__); \
	} while (0)

static void locate(const struct reader *r, size_t at, unsigned *ret_line, unsigned *ret_col)
{
	*ret_line = *ret_col = 0;
	/* Counting lines costs a pass over the text: not for problems that nobody sees. */
	if (r->problems < PROBLEMS_MAX)
		json_locate(r->text, at, ret_line, ret_col);
}

size_t option_group_end(size_t first, unsigned level)
{
	size_t end = first + 1;

	for (; end < OPTION_ID_MAX; end++)
		for (unsigned i = 0; i < level; i++)
			if (!str_eq(option_step(&options[first], i), option_step(&options[end], i)))
				return end;
	return end;
}

static const enum json_type wanted_types[] = {
	[OPTION_BOOL] = JSON_BOOL,
	[OPTION_INT] = JSON_NUMBER,
	[OPTION_ENUM] = JSON_STRING,
	[OPTION_TEXT] = JSON_STRING,
	[OPTION_LIST] = JSON_ARRAY,
};

/* ["a", "b"] as "a b"; anything else than texts in it makes it no list of names. */
static str text_of(struct reader *r, const struct json *v, struct buf *list)
{
	if (v->type == JSON_BOOL)
		return str_n(r->text.p + v->begin, v->end - v->begin);
	if (v->type != JSON_ARRAY)
		return v->text;
	json_each(item, v) {
		if (list->len)
			buf_add_char(list, ' ');
		buf_add_str(list, item->type == JSON_STRING && json_str(item).n ? json_str(item) : STR(","));
	}
	return buf_str(list);
}

static void take_value(struct reader *r, size_t id, const struct json *v)
{
	const struct option *o = &options[id];
	struct buf list = BUF_INIT(LIMIT_CONFIG);
	struct config_value value;
	struct err err;
	unsigned line, col;
	int checked;

	if (v->type != wanted_types[o->type]) {
		struct buf fit = BUF_INIT(256);

		option_describe(o, &fit);
		complain(r, v->begin, -EINVAL, "%s must be " STR_FMT ", not %s", o->name, STR_ARG(buf_str(&fit)),
			json_type_name(v->type));
		buf_release(&fit);
		return;
	}
	checked = config_check(o, text_of(r, v, &list), &value, &err);
	buf_release(&list);
	if (checked < 0) {
		complain(r, v->begin, err.code, "%s", err.text);
		return;
	}
	json_locate(r->text, v->begin, &line, &col);
	value.origin = ORIGIN_USER;
	value.line = line;
	free(r->config->values[id].text);
	r->config->values[id] = value;
}

/* Parts of the file that are no options: guard/, hooks/ and outbox/ read their rules, programs and sinks themselves. */
static bool read_elsewhere(size_t first, unsigned level, str key)
{
	str group = option_step(&options[first], 0);

	if (level == 1)
		return str_eq(group, STR("hooks")) || (str_eq(group, STR("guard")) && str_eq(key, STR("rules")));
	return level == 0 && (str_eq(key, STR("$schema")) || str_eq(key, STR("sinks")) || str_eq(key, STR("inbound")));
}

/* An unknown name: the likely one, or the right way to write a dotted one. */
static void complain_unknown(struct reader *r, size_t first, unsigned level, str key, size_t at)
{
	size_t end = level ? option_group_end(first, level) : OPTION_ID_MAX;
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	name_shown(key, shown);
	for (size_t i = 0; i < OPTION_ID_MAX; i++)
		if (!option_is_leaf(&options[i], 0) && str_eq(key, str_of(options[i].name))) {
			complain(r, at, -EINVAL,
				"'%s' is written as nested objects: {\"" STR_FMT "\": {\"" STR_FMT "\": …}}", shown,
				STR_ARG(option_step(&options[i], 0)), STR_ARG(option_step(&options[i], 1)));
			return;
		}
	for (size_t i = first; i < end; i = option_group_end(i, level + 1))
		name_suggest(&near, key, option_step(&options[i], level));
	if (near.best.p)
		complain(r, at, -EINVAL, "unknown option '%s'; did you mean '" STR_FMT "'?", shown, STR_ARG(near.best));
	else
		complain(r, at, -EINVAL, "unknown option '%s'; 'hookd config show' lists them all", shown);
}

static void take_object(struct reader *r, size_t first, unsigned level, const struct json *obj);

static void take_member(struct reader *r, size_t id, unsigned level, const struct json *m)
{
	if (option_is_leaf(&options[id], level))
		take_value(r, id, m);
	else if (m->type == JSON_OBJECT)
		take_object(r, id, level + 1, m);
	else
		complain(r, m->begin, -EINVAL, "'" STR_FMT "' must be an object, not %s",
			STR_ARG(option_step(&options[id], level)), json_type_name(m->type));
}

/* The members of one object; options[first] shares the steps above it. Of a duplicate name the last one is used, as
 * everywhere else in JSON. */
static void take_object(struct reader *r, size_t first, unsigned level, const struct json *obj)
{
	size_t end = level ? option_group_end(first, level) : OPTION_ID_MAX, id;
	const struct json *found[OPTION_ID_MAX] = { 0 }, *prev = NULL;

	json_each(m, obj) {
		for (id = first; id < end && !str_eq(m->key, option_step(&options[id], level));)
			id = option_group_end(id, level + 1);
		if (id < end) {
			if (found[id])
				complain(r, json_item_start(r->text, obj, prev), -EEXIST,
					"'" STR_FMT "' appears a second time; this one is used", STR_ARG(m->key));
			found[id] = m;
		} else if (!read_elsewhere(first, level, m->key)) {
			complain_unknown(r, first, level, m->key, json_item_start(r->text, obj, prev));
		}
		prev = m;
	}
	for (id = first; id < end; id++)
		if (found[id])
			take_member(r, id, level, found[id]);
}

static void take_text(struct reader *r, struct arena *a)
{
	struct json *root;
	struct err err;

	/* Editors of other systems put a byte order mark in front; an empty file says nothing. */
	if (str_starts(r->text, STR("\xEF\xBB\xBF")))
		r->text = str_from(r->text, 3);
	if (str_empty(str_trim(r->text)))
		return;
	if (json_parse(a, r->text, JSON_COMMENTS, &root, &err) < 0)
		*add_problem(r) = err;
	else if (root->type != JSON_OBJECT)
		complain(r, root->begin, -EINVAL, "the file must contain an object, not %s",
			json_type_name(root->type));
	else
		take_object(r, 0, 0, root);
}

static void load_defaults(struct config *c)
{
	for (size_t i = 0; i < OPTION_ID_MAX; i++)
		if (config_check(&options[i], str_of(options[i].fallback), &c->values[i], NULL) < 0)
			abort(); /* a row of the table contradicts itself */
}

void config_parse(str text, struct config *ret, struct config_problem **ret_problems)
{
	struct reader r = { .text = text, .config = ret, .tail = ret_problems };
	struct arena a;

	*ret_problems = NULL;
	load_defaults(ret);
	arena_init(&a);
	take_text(&r, &a);
	arena_release(&a);
	if (r.problems > PROBLEMS_MAX)
		err_set(&container_of(r.tail, struct config_problem, next)->err, -E2BIG, "and %u more problems",
			r.problems - PROBLEMS_MAX + 1);
}

void config_load(const char *path, struct config *ret, struct config_problem **ret_problems)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	int r = fs_read_file(path, &b);

	if (r < 0 && r != -ENOENT) {
		config_parse(STR(""), ret, ret_problems);
		*ret_problems = xcalloc(1, sizeof **ret_problems);
		err_set(&(*ret_problems)->err, r, "%s, so the file is ignored",
			r == -EFBIG            ? "larger than 1 MiB"
				: r == -EINVAL ? "not a plain file"
					       : strerror(-r));
	} else {
		config_parse(buf_str(&b), ret, ret_problems);
	}
	buf_release(&b);
}

void config_release(struct config *c)
{
	for (size_t i = 0; i < OPTION_ID_MAX; i++)
		free(c->values[i].text);
	*c = (struct config){ 0 };
}

void config_problems_free(struct config_problem *p)
{
	struct config_problem *next;

	for (; p; p = next) {
		next = p->next;
		free(p);
	}
}
