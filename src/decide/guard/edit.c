/* edit: switching rules in the user's file. */
#include <errno.h>

#include "base/limits.h"
#include "config/names.h"
#include "guard/user.h"
#include "json/edit.h"

const char *const guard_switch_names[GUARD_SWITCH_MAX] = {
	[GUARD_ENABLE] = "enable",
	[GUARD_DISABLE] = "disable",
	[GUARD_OBSERVE] = "observe",
	[GUARD_ENFORCE] = "enforce",
};

/* In which lists of the file the rule must stand, and in which not; a list that is not named stays as it is. */
static const struct {
	const char *add, *remove[2];
} switches[GUARD_SWITCH_MAX] = {
	[GUARD_ENABLE] = { NULL, { "disable" } },
	[GUARD_DISABLE] = { "disable", { "observe" } },
	[GUARD_OBSERVE] = { "observe", { "disable" } },
	[GUARD_ENFORCE] = { NULL, { "disable", "observe" } },
};

static int find_rule(const struct guard_policy *p, str rule, struct err *err)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	name_shown(rule, shown);
	for (size_t i = 0; i < p->nrules; i++) {
		if (str_eq(rule, p->listed[i].name))
			return 0;
		name_suggest(&near, rule, p->listed[i].name);
	}
	for (const struct guard_rule *r = guard_rules; r->name; r++) {
		if (str_eq(rule, str_of(r->name)))
			return !str_starts(rule, STR("hookd."))
				? 0
				: err_set(err, -ENOENT, "%s protects hookd itself and cannot be switched", r->name);
		name_suggest(&near, rule, str_of(r->name));
	}
	if (near.best.p)
		return err_set(err, -ENOENT, "there is no rule '%s'; did you mean '" STR_FMT "'?", shown,
			STR_ARG(near.best));
	return err_set(err, -ENOENT, "there is no rule '%s'; 'hookd rules' lists them all", shown);
}

static bool is_rule(const struct json *item, void *rule)
{
	return str_eq(json_str(item), *(str *)rule);
}

/* {"guard": {"disable": ["x"]}}, from the level on that is missing. */
static struct json *nested(struct arena *a, unsigned level, const char *list, str rule)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct json_writer w = JSON_WRITER(&b);
	struct json *v = NULL;

	for (unsigned i = level; i < 2; i++) {
		jw_object(&w);
		jw_key(&w, i == 0 ? "guard" : list);
	}
	jw_array(&w);
	jw_str(&w, rule);
	jw_end_array(&w);
	for (unsigned i = level; i < 2; i++)
		jw_end_object(&w);
	(void)json_parse(a, arena_str(a, buf_str(&b)), 0, &v, NULL);
	buf_release(&b);
	return v;
}

static bool holds(const struct json *list, str rule)
{
	json_each(item, list)
		if (str_eq(json_str(item), rule))
			return true;
	return false;
}

static int add_rule(struct json_edit *e, const struct json *root, const char *list, str rule, struct err *err)
{
	const struct json *guard = json_get(root, STR("guard")), *there = json_get(guard, str_of(list));
	const struct json *at = there ? there : guard ? guard : root;
	unsigned level = there ? 2 : guard ? 1 : 0, line, col;
	struct json *with;

	if (holds(there, rule))
		return 0;
	if (at->type != (there ? JSON_ARRAY : JSON_OBJECT)) {
		json_locate(e->text, at->begin, &line, &col);
		return err_set_at(err, -EBADMSG, line, col, "this should be %s, not %s",
			there ? "a list of rules" : "an object", json_type_name(at->type));
	}
	with = nested(e->a, level, list, rule);
	if (!with)
		return err_set(err, -EINVAL, "the rule's name cannot be written as JSON");
	json_edit_append(e, at, with);
	return 0;
}

static int change(struct arena *a, str text, enum guard_switch how, str rule, struct buf *ret, struct err *err)
{
	struct json *root;
	struct json_edit e;
	int r = json_parse(a, text, JSON_COMMENTS, &root, err);

	if (r < 0)
		return r;
	json_edit_init(&e, a, text, root);
	for (size_t i = 0; i < countof(switches[how].remove) && switches[how].remove[i]; i++) {
		const struct json *list = json_path(root, "guard", switches[how].remove[i], NULL);

		if (list && list->type == JSON_ARRAY)
			(void)json_edit_remove(&e, list, is_rule, &rule);
	}
	if (switches[how].add)
		r = add_rule(&e, root, switches[how].add, rule, err);
	if (r == 0 && json_edit_apply(&e, ret) < 0)
		r = err_set(err, -EFBIG, "the file would become too large");
	return r;
}

/* Reads the changed text back: what was switched must be so. */
static int verify(str text, enum guard_switch how, str rule, struct err *err)
{
	struct guard_problem *problems;
	_cleanup_(guard_policy_unrefp) struct guard_policy *p = guard_policy_parse(text, &problems);
	bool off = guard_policy_disabled(p, rule);

	guard_problems_free(problems);
	if (off == (how == GUARD_DISABLE) && (how != GUARD_OBSERVE || guard_policy_observes(p, rule)))
		return 0;
	return err_set(err, -EIO, "the rule could not be switched in this file; change it by hand");
}

int guard_edit(str text, enum guard_switch how, str rule, struct buf *ret, struct err *err)
{
	struct guard_problem *problems;
	_cleanup_(guard_policy_unrefp) struct guard_policy *p = guard_policy_parse(text, &problems);
	const str mark = STR("\xEF\xBB\xBF");
	size_t begin = ret->len;
	struct arena a;
	int r = find_rule(p, rule, err);

	guard_problems_free(problems);
	if (r < 0)
		return r;
	if (str_starts(text, mark)) {
		buf_add_str(ret, mark);
		text = str_from(text, mark.n);
	}
	arena_init(&a);
	r = change(&a, str_empty(str_trim(text)) ? STR("{}\n") : text, how, rule, ret, err);
	if (r == 0)
		r = verify(str_from(buf_str(ret), begin), how, rule, err);
	arena_release(&a);
	return r;
}
