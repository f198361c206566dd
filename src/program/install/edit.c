#include "install/edit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "install/entry.h"
#include "install/files.h"
#include "json/edit.h"

static const str mark = { "\xEF\xBB\xBF", 3 };

/* A text being edited: its tree, and the edit. */
struct work {
	const struct hook_file *file;
	str text; /* without a byte order mark */
	bool marked;
	struct json *root;
	struct json *hooks; /* the member, or NULL */
	struct arena *a;
	struct json_edit edit;
	struct install_counts counts;
};

/* -- reading ----------------------------------------------------------------------------------- */

_printf_(4, 5) static int fail_at(const struct work *w, size_t at, struct err *err, const char *fmt, ...)
{
	char text[sizeof err->text];
	unsigned line, col;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	json_locate(w->text, at, &line, &col);
	return err_set_at(err, -EBADMSG, line, col, "%s", text);
}

/* Most agents read with a plain parser: no comments, but any UTF-8. */
static int parse_settings(struct work *w, struct err *err)
{
	unsigned flags = JSON_LENIENT_UTF8 | (w->file->comments ? JSON_COMMENTS : 0);
	struct json *lenient;
	struct err strict;
	int r = json_parse(w->a, w->text, flags, &w->root, &strict);

	if (r == 0)
		return 0;
	if (json_parse(w->a, w->text, JSON_LENIENT_UTF8 | JSON_COMMENTS, &lenient, NULL) == 0)
		return err_set_at(err, r, strict.line, strict.col,
			"a comment, or a comma before a closing bracket: the agent reads plain JSON; remove it");
	if (err)
		*err = strict;
	return r;
}

static int open_work(struct work *w, const struct install_request *q, str text, struct arena *a, struct err *err)
{
	int r;

	*w = (struct work){ .file = hook_file_first(q->agent), .text = text, .a = a, .marked = str_starts(text, mark) };
	if (w->marked)
		w->text = str_from(text, mark.n);
	if (str_empty(str_trim(w->text)))
		w->text = STR("{}\n");
	r = parse_settings(w, err);
	if (r < 0)
		return r;
	if (w->root->type != JSON_OBJECT)
		return fail_at(w, w->root->begin, err, "the file must contain an object");
	json_each(m, w->root) {
		if (!str_eq(m->key, STR("hooks")))
			continue;
		if (w->hooks)
			return fail_at(w, m->begin, err, "\"hooks\" appears a second time; merge the two");
		w->hooks = m;
	}
	json_edit_init(&w->edit, a, w->text, w->root);
	return 0;
}

static int close_work(struct work *w, str *ret, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	int r;

	if (w->marked)
		buf_add_str(&b, mark);
	r = json_edit_apply(&w->edit, &b);
	if (r == 0)
		*ret = arena_str(w->a, buf_str(&b));
	buf_release(&b);
	return r < 0 ? err_set(err, -EFBIG, "the file would become larger than 4 MiB") : 0;
}

/* The entries of one group of an event, or NULL. */
static struct json *group_entries(const struct json *group)
{
	struct json *entries = json_get(group, STR("hooks"));

	return entries && entries->type == JSON_ARRAY ? entries : NULL;
}

static bool is_array(const struct json *v)
{
	return v->type == JSON_ARRAY;
}

/* -- taking out -------------------------------------------------------------------------------- */

/* What goes: every entry of ours, or, when one is to be kept, its doubles. */
struct sieve {
	bool flat;
	const struct json *keep;
	const struct json *original; /* its "hooks": what was there before us stays */
};

/* A group without a matcher gets every event of its kind, so a second entry of ours there is a
 * double; one behind a matcher was put there by a person. */
static bool is_unrestricted(const struct json *group)
{
	str matcher = json_str(json_get(group, STR("matcher")));

	return str_empty(matcher) || str_eq(matcher, STR("*"));
}

static bool entry_gone(const struct json *entry, void *ctx)
{
	const struct sieve *s = ctx;

	return entry != s->keep && entry_is_ours(entry);
}

static bool group_gone(const struct json *group, void *ctx)
{
	const struct sieve *s = ctx;
	struct json *entries = group_entries(group);

	if (s->flat)
		return entry_gone(group, ctx) && !(s->keep && !is_unrestricted(group));
	if (!entries || !entries->first || (s->keep && !is_unrestricted(group)))
		return false;
	json_each(entry, entries)
		if (!entry_gone(entry, ctx))
			return false;
	return true;
}

static bool event_gone(const struct json *event, void *ctx)
{
	const struct sieve *s = ctx;

	if (!is_array(event) || !event->first || json_get(s->original, event->key))
		return false;
	json_each(group, event)
		if (!group_gone(group, ctx))
			return false;
	return true;
}

static bool hooks_gone(const struct json *member, void *ctx)
{
	const struct sieve *s = ctx;

	if (!str_eq(member->key, STR("hooks")) || member->type != JSON_OBJECT || !member->first || s->original)
		return false;
	json_each(event, member)
		if (!event_gone(event, ctx))
			return false;
	return true;
}

static unsigned count_gone(const struct json *event, struct sieve *s)
{
	unsigned n = 0;

	if (is_array(event) && s->flat)
		json_each(entry, event)
			n += group_gone(entry, s);
	else if (is_array(event))
		json_each(group, event)
			if (group_entries(group) && !(s->keep && !is_unrestricted(group)))
				json_each(entry, group_entries(group))
					n += entry_gone(entry, s);
	return n;
}

static void sift_event(struct work *w, const struct json *event, struct sieve *s)
{
	if (!is_array(event))
		return;
	json_edit_remove(&w->edit, event, group_gone, s);
	json_each(group, s->flat ? NULL : event)
		if (group_entries(group) && !group_gone(group, s) && !(s->keep && !is_unrestricted(group)))
			json_edit_remove(&w->edit, group_entries(group), entry_gone, s);
}

/* Where hooks are trusted by their place, those behind ours lose it. */
static str moved_note(const struct work *w, struct sieve *s)
{
	json_each(event, w->hooks) {
		bool gone = false;

		json_each(group, is_array(event) ? event : NULL) {
			if (gone && !group_gone(group, s))
				return arena_strf(w->a,
					"hooks of " STR_FMT
					" move up when ours are removed; the agent will ask you to trust them again",
					STR_ARG(str_head(event->key, 60)));
			gone = gone || group_gone(group, s);
		}
	}
	return STR_NONE;
}

/* The "hooks" of the text before the first install; NULL when it is not known or had none. */
static struct json *original_hooks(const struct install_request *q, str original, struct arena *a)
{
	struct work w;

	if (!str_is_set(original) || open_work(&w, q, original, a, NULL) < 0)
		return NULL;
	return w.hooks;
}

int install_edit_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct sieve s = { .flat = hook_file_first(q->agent)->flat, .original = original_hooks(q, original, a) };
	struct work w;
	int r = open_work(&w, q, text, a, err);

	if (r < 0)
		return r;
	if (w.hooks && w.hooks->type == JSON_OBJECT)
		json_each(event, w.hooks)
			w.counts.removed += count_gone(event, &s);
	if (w.counts.removed && w.file->trust)
		w.counts.note = moved_note(&w, &s);
	*ret_counts = w.counts;
	if (!w.counts.removed) {
		*ret = text;
		return 0;
	}
	if (json_edit_remove(&w.edit, w.root, hooks_gone, &s) == 0) {
		json_edit_remove(&w.edit, w.hooks, event_gone, &s);
		json_each(event, w.hooks)
			if (!event_gone(event, &s))
				sift_event(&w, event, &s);
	}
	return close_work(&w, ret, err);
}

static bool is_only_version(const struct work *w)
{
	return w->file->version && w->root->count == 1 && str_eq(w->root->first->key, STR("version"));
}

bool install_edit_is_empty(const struct install_request *q, str text)
{
	struct arena a;
	struct work w;
	bool empty;

	arena_init(&a);
	empty = open_work(&w, q, text, &a, NULL) == 0 && (!w.root->first || is_only_version(&w));
	arena_release(&a);
	return empty;
}

/* -- putting in -------------------------------------------------------------------------------- */

/* An entry that calls another hookc or state directory. Only these two values change when the entry
 * has them, so that a timeout somebody chose stays. */
static void refresh_entry(struct work *w, const struct install_request *q, str event, const struct json *entry)
{
	struct json *now = entry_make(q, event, w->a), *command = json_get(entry, STR("command")),
		    *args = json_get(entry, STR("args"));

	if (entry_is_current(q, event, entry, w->a))
		return;
	w->counts.changed++;
	if (!entry_is_command(w->file, entry) || !(w->file->shell ? !args : args && is_array(args))) {
		json_edit_replace(&w->edit, entry, now);
		return;
	}
	json_edit_replace(&w->edit, command, json_get(now, STR("command")));
	if (args)
		json_edit_replace(&w->edit, args, json_get(now, STR("args")));
}

static void refresh_one(struct work *w, const struct install_request *q, const struct json *event,
	const struct json *group, const struct json *entry, struct sieve *s)
{
	bool all = is_unrestricted(group);

	if (!entry_is_ours(entry) || (all && s->keep))
		return;
	if (all)
		s->keep = entry;
	refresh_entry(w, q, event->key, entry);
}

/* Brings our entries on one event up to date and takes doubles out. */
static void refresh_event(struct work *w, const struct install_request *q, const struct json *event)
{
	struct sieve s = { .flat = w->file->flat };

	if (!is_array(event))
		return;
	json_each(group, event) {
		if (s.flat)
			refresh_one(w, q, event, group, group, &s);
		else
			json_each(entry, group_entries(group))
				refresh_one(w, q, event, group, entry, &s);
	}
	if (s.keep) {
		w->counts.removed += count_gone(event, &s);
		sift_event(w, event, &s);
	}
}

static bool has_ours(const struct work *w, const struct json *event)
{
	struct sieve all = { .flat = w->file->flat };

	return event && count_gone(event, &all) > 0;
}

/* [{"hooks": [ENTRY]}], or [ENTRY], for one event. No matcher: a missing one means all. */
static void write_groups(struct json_writer *jw, const struct install_request *q, str event, struct arena *a)
{
	bool flat = hook_file_first(q->agent)->flat;

	jw_array(jw);
	if (!flat) {
		jw_object(jw);
		jw_key(jw, "hooks");
		jw_array(jw);
	}
	jw_value(jw, entry_make(q, event, a));
	if (!flat) {
		jw_end_array(jw);
		jw_end_object(jw);
	}
	jw_end_array(jw);
}

static struct json *tree_of(struct buf *b, struct arena *a)
{
	struct json *v = NULL;

	if (!b->full)
		json_parse(a, arena_str(a, buf_str(b)), 0, &v, NULL);
	buf_release(b);
	return v;
}

static struct json *groups_tree(const struct install_request *q, str event, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	struct json_writer jw = JSON_WRITER(&b);

	write_groups(&jw, q, event, a);
	return tree_of(&b, a);
}

static bool lacks_version(const struct work *w)
{
	return w->file->version && !json_get(w->root, STR("version"));
}

static struct json *version_tree(struct arena *a)
{
	struct json *v = NULL;

	json_parse(a, STR("{\"version\":1}"), 0, &v, NULL);
	return v;
}

/* The events that the file does not mention yet, below "hooks" when that is missing too. */
static struct json *missing_events(struct work *w, const struct install_request *q)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	struct json_writer jw = JSON_WRITER(&b);
	const struct agent_event *row = NULL;

	jw_object(&jw);
	if (!w->hooks && lacks_version(w))
		jw_field_int(&jw, "version", 1);
	if (!w->hooks) {
		jw_key(&jw, "hooks");
		jw_object(&jw);
	}
	while ((row = entry_next_wanted(q, row)))
		if (!json_get(w->hooks, str_of(row->native))) {
			jw_key(&jw, row->native);
			write_groups(&jw, q, str_of(row->native), w->a);
			w->counts.added++;
		}
	if (!w->hooks)
		jw_end_object(&jw);
	jw_end_object(&jw);
	return tree_of(&b, w->a);
}

static int add_entries(struct work *w, const struct install_request *q, struct err *err)
{
	const struct agent_event *row = NULL;
	struct json *event, *more;

	if (w->hooks && w->hooks->type != JSON_OBJECT)
		return fail_at(w, w->hooks->begin, err, "\"hooks\" must be an object");
	if (w->hooks)
		json_each(member, w->hooks)
			refresh_event(w, q, member);
	while ((row = entry_next_wanted(q, row))) {
		event = json_get(w->hooks, str_of(row->native));
		if (!event || has_ours(w, event))
			continue;
		if (!is_array(event))
			return fail_at(w, event->begin, err, "\"%s\" must be an array", row->native);
		json_edit_append(&w->edit, event, groups_tree(q, str_of(row->native), w->a));
		w->counts.added++;
	}
	if (w->hooks && lacks_version(w) && w->counts.added)
		json_edit_append(&w->edit, w->root, version_tree(w->a));
	more = missing_events(w, q);
	if (more && more->first)
		json_edit_append(&w->edit, w->hooks ? w->hooks : w->root, more);
	return 0;
}

/* Reads the result back: nothing is written that cannot be read or that lacks an entry. */
static int verify(const struct install_request *q, str text, struct arena *a)
{
	const struct agent_event *row = NULL;
	struct work w;
	int r = open_work(&w, q, text, a, NULL);

	while (r == 0 && (row = entry_next_wanted(q, row)))
		if (!has_ours(&w, json_get(w.hooks, str_of(row->native))))
			r = -EIO;
	return r;
}

/* A key for which the agent would not read the file at all. */
static str root_note(const struct work *w)
{
	const char *const *known = w->file->root;
	unsigned line, col;

	json_each(m, known ? w->root : NULL) {
		size_t i = 0;

		while (known[i] && !str_eq(m->key, str_of(known[i])))
			i++;
		if (known[i] || m == w->hooks)
			continue;
		json_locate(w->text, m->begin, &line, &col);
		return arena_strf(w->a,
			"line %u: \"" STR_FMT
			"\" does not belong there: the agent ignores the whole file because of it; remove it",
			line, STR_ARG(str_head(m->key, 60)));
	}
	return STR_NONE;
}

int install_edit_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct work w;
	int r = open_work(&w, q, text, a, err);

	if (r < 0)
		return r;
	w.counts.note = root_note(&w);
	r = add_entries(&w, q, err);
	if (r < 0)
		return r;
	*ret_counts = w.counts;
	if (!w.counts.added && !w.counts.changed && !w.counts.removed) {
		*ret = text;
		return 0;
	}
	r = close_work(&w, ret, err);
	if (r == 0 && verify(q, *ret, a) < 0)
		r = err_set(err, -EIO, "the result failed its check, so nothing will be changed");
	return r;
}

/* -- listing ----------------------------------------------------------------------------------- */

/* Whether the user has switched off all hooks, or ours. */
static bool is_off(const struct work *w)
{
	const struct json *off = w->file->off ? json_get(w->root, str_of(w->file->off)) : NULL,
			  *enabled = json_get(off, STR("enabled"));

	if (enabled && enabled->type == JSON_BOOL && !enabled->flag)
		return true;
	json_each(name, json_get(off, STR("disabled")))
		if (str_eq(json_str(name), str_of(w->file->name)))
			return true;
	return false;
}

static struct install_entry *list_entry(const struct install_request *q, const struct json *event,
	const struct json *entry, struct arena *a)
{
	struct install_entry *e = arena_new(a, struct install_entry);
	struct json *args = json_get(entry, STR("args"));
	size_t n = args && is_array(args) ? args->count : 0;
	str *list = arena_alloc(a, (n + 1) * sizeof *list);

	e->event = event->key;
	e->command = json_str(json_get(entry, STR("command")));
	e->entry = entry;
	e->shell = !n;
	e->current = entry_is_current(q, event->key, entry, a);
	if (n)
		json_each(arg, args)
			list[e->nargs++] = json_str(arg);
	e->args = list;
	return e;
}

static struct install_entry **list_group(const struct install_request *q, const struct json *event,
	const struct json *group, unsigned place, struct arena *a, struct install_entry **tail)
{
	unsigned index = 0;

	if (hook_file_first(q->agent)->flat && entry_is_ours(group)) {
		*tail = list_entry(q, event, group, a);
		(*tail)->group = group;
		(*tail)->place[0] = place;
		return &(*tail)->next;
	}
	json_each(entry, group_entries(group)) {
		if (entry_is_ours(entry)) {
			*tail = list_entry(q, event, entry, a);
			(*tail)->group = group;
			(*tail)->place[0] = place;
			(*tail)->place[1] = index;
			tail = &(*tail)->next;
		}
		index++;
	}
	return tail;
}

int install_edit_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err)
{
	struct install_entry **tail = ret;
	struct work w;
	int r = open_work(&w, q, text, a, err);

	*ret = NULL;
	if (r < 0 || !w.hooks || w.hooks->type != JSON_OBJECT)
		return r;
	json_each(event, w.hooks) {
		unsigned place = 0;

		if (!is_array(event))
			continue;
		json_each(group, event)
			tail = list_group(q, event, group, place++, a, tail);
	}
	for (struct install_entry *e = *ret; e && is_off(&w); e = e->next)
		e->trust = INSTALL_DISABLED;
	return 0;
}
