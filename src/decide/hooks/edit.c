/* Adding a hook to the user's file, and removing one; everything else in it stays as it is. */
#include <errno.h>

#include "base/limits.h"
#include "hooks/internal.h"
#include "json/edit.h"

static const str bom = STR("\xEF\xBB\xBF");

/* {"hooks": {EVENT: [{"matcher": …, "hooks": [HOOK]}]}} */
static struct json *whole(struct arena *a, str event, str matcher, const struct json *hook)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct json_writer w = JSON_WRITER(&b);
	struct json *v = NULL;

	jw_object(&w);
	jw_key(&w, "hooks");
	jw_object(&w);
	jw_key_str(&w, event);
	jw_array(&w);
	jw_object(&w);
	jw_field_str(&w, "matcher", matcher);
	jw_key(&w, "hooks");
	jw_array(&w);
	jw_value(&w, hook);
	jw_end_array(&w);
	jw_end_object(&w);
	jw_end_array(&w);
	jw_end_object(&w);
	jw_end_object(&w);
	if (b.full || json_parse(a, arena_str(a, buf_str(&b)), 0, &v, NULL) < 0)
		v = NULL;
	buf_release(&b);
	return v;
}

static int check(const struct json *v, char ret_id[HOOK_ID + 1], struct err *err)
{
	_cleanup_(hook_set_unrefp) struct hook_set *s = hook_set_new();
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct hook_source *source;

	json_write(&b, v);
	source = hook_source_new(s, HOOK_USER, HOOK_FORM_OWN, STR(""), buf_str(&b));
	buf_release(&b);
	hooks_parse(s, source);
	for (const struct hook_problem *p = source->problems; p; p = p->next)
		if (p->error)
			return err_set(err, -EINVAL, STR_FMT, STR_ARG(p->text));
	if (s->count != 1)
		return err_set(err, -EINVAL, "this is not a hook");
	memcpy(ret_id, s->all[0]->id, HOOK_ID + 1);
	return 0;
}

int hooks_edit_add(str text, str event, str matcher, const struct json *hook, struct buf *ret, char ret_id[HOOK_ID + 1],
	struct err *err)
{
	struct json *root, *more, *at, *next;
	struct json_edit e;
	struct arena a;
	int r;

	arena_init(&a);
	more = whole(&a, event, matcher, hook);
	r = more ? check(more, ret_id, err) : err_set(err, -EINVAL, "this is not a hook");
	if (str_starts(text, bom)) {
		buf_add_str(ret, bom);
		text = str_from(text, bom.n);
	}
	if (str_empty(str_trim(text)))
		text = STR("{}\n");
	if (r == 0)
		r = json_parse(&a, text, JSON_COMMENTS, &root, err);
	if (r == 0) {
		json_edit_init(&e, &a, text, root);
		/* As deep as what is there already goes. */
		for (at = root; at->type == JSON_OBJECT && (next = json_get(at, more->first->key)); at = next)
			more = more->first;
		if (at->type != more->type)
			r = err_set(err, -EBADMSG, "%s should be where the file has %s", json_type_name(more->type),
				json_type_name(at->type));
		else
			json_edit_append(&e, at, more);
	}
	if (r == 0 && json_edit_apply(&e, ret) < 0)
		r = err_set(err, -EFBIG, "the file would become too large");
	arena_release(&a);
	return r;
}

static bool is_it(const struct json *item, void *ctx)
{
	return item == ctx;
}

struct found {
	str text;
	struct json *root;
	const struct json *groups, *group, *hook;
};

/* The object that a hook was made from. */
static const struct json *find(str text, const struct json *groups, const struct hook *h, const struct json **ret_group)
{
	unsigned line, col;

	json_each(group, groups)
		json_each(v, json_get(group, STR("hooks"))) {
			json_locate(text, v->begin, &line, &col);
			if (line == h->line && col == h->col) {
				*ret_group = group;
				return v;
			}
		}
	return NULL;
}

/* A hook of a text by its id, as a tree. The set holds everything. */
static int locate(struct hook_set *s, str text, enum hook_form form, str event, str id, struct found *ret,
	struct err *err)
{
	struct hook_source *source = hook_source_new(s, HOOK_USER, form, STR(""), text);
	int r;

	*ret = (struct found){ 0 };
	hooks_parse(s, source);
	ret->text = str_empty(str_trim(source->text)) ? STR("{}") : source->text;
	r = json_parse(&s->arena, ret->text, JSON_COMMENTS, &ret->root, err);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < s->count && !ret->hook; i++)
		if (str_eq(str_of(s->all[i]->id), id) &&
			(str_empty(event) || event_kind_by_name(event) == s->all[i]->group->kind)) {
			ret->groups = json_get(hook_events_of(ret->root, form),
				str_of(event_kinds[s->all[i]->group->kind].name));
			ret->hook = find(source->text, ret->groups, s->all[i], &ret->group);
		}
	if (!ret->hook)
		return err_set(err, -ENOENT, "there is no hook '" STR_FMT "' in the user's file",
			STR_ARG(str_cut_utf8(id, 64)));
	return 0;
}

static int close_edit(const struct json_edit *e, str text, struct buf *ret, struct err *err)
{
	if (str_starts(text, bom))
		buf_add_str(ret, bom);
	return json_edit_apply(e, ret) < 0 ? err_set(err, -EFBIG, "the file would become too large") : 0;
}

int hooks_edit_remove(str text, str event, str id, struct buf *ret, struct err *err)
{
	_cleanup_(hook_set_unrefp) struct hook_set *s = hook_set_new();
	struct json_edit e;
	struct found f;
	int r = locate(s, text, HOOK_FORM_OWN, event, id, &f, err);

	if (r < 0)
		return r;
	json_edit_init(&e, &s->arena, f.text, f.root);
	if (json_get(f.group, STR("hooks"))->count == 1)
		json_edit_remove(&e, f.groups, is_it, (void *)f.group);
	else
		json_edit_remove(&e, json_get(f.group, STR("hooks")), is_it, (void *)f.hook);
	return close_edit(&e, text, ret, err);
}

int hooks_edit_toggle(str text, enum hook_form form, str id, bool disabled, struct buf *ret, struct err *err)
{
	_cleanup_(hook_set_unrefp) struct hook_set *s = hook_set_new();
	struct json *member, *more = NULL;
	struct json_edit e;
	struct found f;
	int r = locate(s, text, form, STR_NONE, id, &f, err);

	if (r < 0)
		return r;
	if (json_true(json_get(f.group, STR("disabled"))))
		return err_set(err, -EINVAL, "all hooks of its group are disabled, by a member of the group");
	member = json_get(f.hook, STR("disabled"));
	if (json_true(member) == disabled)
		return err_set(err, -EALREADY, "it is %s already", disabled ? "disabled" : "enabled");
	json_edit_init(&e, &s->arena, f.text, f.root);
	if (!disabled) {
		json_edit_remove(&e, f.hook, is_it, member);
	} else if (member) {
		json_parse(&s->arena, STR("true"), 0, &more, NULL);
		json_edit_replace(&e, member, more);
	} else {
		json_parse(&s->arena, STR("{\"disabled\":true}"), 0, &more, NULL);
		json_edit_append(&e, f.hook, more);
	}
	return close_edit(&e, text, ret, err);
}
