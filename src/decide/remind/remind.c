/* The reminders. */
#include <stdio.h>
#include <string.h>

#include "remind/internal.h"

enum {
	FAILS = 3,  /* the same way, before anything is said */
	LOOKS = 5,  /* in a row */
	UNKEPT = 3, /* files changed without a look at the list */
	SHOWN = 3,  /* tasks, files */
};

const struct reminder_name reminder_names[] = {
	{ "errors", "the same call has failed three times in a turn; before a change, what has failed so far",
		REMIND_ERRORS },
	{ "looking", "five calls in a row only looked", REMIND_LOOKING },
	{ "plan", "the agent's list of tasks is not kept while it works, or not finished when it stops", REMIND_PLAN },
	{ "checkpoint", "files were changed and nothing was run since that would show whether they work",
		REMIND_CHECKPOINT },
	{ NULL, NULL, 0 },
};

unsigned reminders_of(str names)
{
	unsigned mask = 0;
	str name;

	while (str_split(&names, ' ', &name))
		for (const struct reminder_name *r = reminder_names; r->name; r++)
			if (str_eq(name, str_of(r->name)))
				mask |= r->bit;
	return mask;
}

/* -- while it works ---------------------------------------------------------------------------- */

static str current_task(const struct tally *t)
{
	for (size_t i = 0; i < t->todos.n; i++)
		if (t->todos.v[i].status == TODO_ACTIVE)
			return str_of(t->todos.v[i].text);
	return STR_NONE;
}

static str failed_thrice(struct tally *t, const struct event *e, struct arena *a)
{
	const struct failure *last = t->nfailures ? &t->failures[t->nfailures - 1] : NULL;

	(void)e;
	if (!last || last->times < FAILS || last->times % FAILS != 0)
		return STR_NONE;
	t->said_failures = true;
	return arena_strf(a,
		"This has failed %u times in the same way (%s). Find out why before you try it again, or ask the user.",
		last->times, last->text);
}

/* What went wrong so far, before something is changed; not about a single failure. */
static str failures_before(struct tally *t, const struct event *e, struct arena *a)
{
	str text, task = current_task(t);

	if (t->nfailures < 2 || t->said_failures || (e->tool_class != TOOL_WRITE && e->tool_class != TOOL_SHELL))
		return STR_NONE;
	t->said_failures = true;
	text = STR("Failed in this turn so far:");
	for (size_t i = 0; i < t->nfailures; i++)
		text = arena_strf(a, STR_FMT " %s%s", STR_ARG(text), t->failures[i].text,
			i + 1 < t->nfailures ? ";" : ".");
	return str_is_set(task) ? arena_strf(a, STR_FMT " The task is: " STR_FMT, STR_ARG(text), STR_ARG(task)) : text;
}

static str only_looks(struct tally *t, const struct event *e, struct arena *a)
{
	(void)e;
	if (t->looks < LOOKS || t->said_looks)
		return STR_NONE;
	t->said_looks = true;
	return arena_strf(a,
		"%u calls in a row only looked. If you know enough, begin; if something is missing, say what it is.",
		t->looks);
}

static bool is_open(const struct todo *one)
{
	return one->status == TODO_PENDING || one->status == TODO_ACTIVE;
}

static size_t count_open(const struct tally *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->todos.n; i++)
		n += is_open(&t->todos.v[i]);
	return n;
}

static str list_is_old(struct tally *t, const struct event *e, struct arena *a)
{
	(void)e;
	if (!t->keeps_todos || t->unkept < UNKEPT || t->said_unkept || !count_open(t))
		return STR_NONE;
	t->said_unkept = true;
	return arena_strf(a, "%u files were changed since your list of tasks was last updated: mark what is done.",
		t->unkept);
}

/* -- when it stops ----------------------------------------------------------------------------- */

/* A list that was left from an earlier turn, and that nobody worked on in this one, is not what the turn was about. */
static str list_is_open(struct tally *t, const struct event *e, struct arena *a)
{
	size_t open = count_open(t), shown = 0;
	str text = STR("Your list of tasks is not finished:");

	(void)e;
	if (!open || !t->worked)
		return STR_NONE;
	for (size_t i = 0; i < t->todos.n && shown < SHOWN; i++)
		if (is_open(&t->todos.v[i]))
			text = arena_strf(a, STR_FMT "%s %s", STR_ARG(text), shown++ ? ";" : "", t->todos.v[i].text);
	if (open > shown)
		text = arena_strf(a, STR_FMT "; and %zu more", STR_ARG(text), open - shown);
	return arena_strf(a,
		STR_FMT
		". Go on with it. If something is no longer wanted or waits for the user, take it off the list and "
		"say so.",
		STR_ARG(text));
}

static str names_of_changed(const struct tally *t, enum file_kind kind, struct arena *a)
{
	size_t shown = 0, n = 0;
	str text = STR("");

	for (size_t i = 0; i < t->nchanged; i++)
		if (t->changed[i].kind == kind && n++ < SHOWN)
			text = arena_strf(a, STR_FMT "%s%s", STR_ARG(text), shown++ ? ", " : "", t->changed[i].path);
	return n > shown ? arena_strf(a, STR_FMT " and %zu more", STR_ARG(text), n - shown) : text;
}

/* One sentence for a kind of files. */
static str want_of(const struct tally *t, enum file_kind kind, struct arena *a)
{
	const struct file_check *c = &file_checks[kind];
	bool failed = t->failed_at[kind] > t->done_at[kind] && t->failed_at[kind] >= t->changed_at[kind];

	if (!t->changed_at[kind] || t->done_at[kind] >= t->changed_at[kind])
		return STR_NONE;
	return arena_strf(a, STR_FMT " changed, and %s. %s, or say why not.", STR_ARG(names_of_changed(t, kind, a)),
		failed ? "the last check failed" : c->what, failed ? "Make it work" : c->wants);
}

static str is_unchecked(struct tally *t, const struct event *e, struct arena *a)
{
	str text = STR_NONE;

	(void)e;
	for (enum file_kind kind = 0; kind < FILE_KINDS; kind++) {
		str want = want_of(t, kind, a);

		if (str_is_set(want))
			text = str_is_set(text) ? arena_strf(a, STR_FMT "\n" STR_FMT, STR_ARG(text), STR_ARG(want))
						: want;
	}
	return text;
}

/* -- the table --------------------------------------------------------------------------------- */

static const struct rule {
	enum reminder bit;
	enum event_kind at;
	const char *name;
	bool now; /* what cannot be said at once is not worth saying later */
	str (*says)(struct tally *t, const struct event *e, struct arena *a);
} rules[] = {
	{ REMIND_ERRORS, EVENT_POST_TOOL_USE_FAILURE, "remind.errors", false, failed_thrice },
	{ REMIND_ERRORS, EVENT_PRE_TOOL_USE, "remind.errors", true, failures_before },
	{ REMIND_LOOKING, EVENT_POST_TOOL_USE, "remind.looking", false, only_looks },
	{ REMIND_PLAN, EVENT_POST_TOOL_USE, "remind.plan", false, list_is_old },
	{ REMIND_PLAN, EVENT_STOP, "remind.plan", true, list_is_open },
	{ REMIND_CHECKPOINT, EVENT_STOP, "remind.checkpoint", true, is_unchecked },
};

static void owe(struct tally *t, str text)
{
	size_t n = strlen(t->owed);

	if (n + text.n + 2 < OWED_KEPT)
		snprintf(t->owed + n, OWED_KEPT - n, "%s" STR_FMT, n ? "\n" : "", STR_ARG(text));
}

void remind(struct tally *t, unsigned mask, const struct event *e, bool listens, struct arena *a, struct reminding *ret)
{
	*ret = (struct reminding){ .text = STR_NONE, .go_on = e->kind == EVENT_STOP };
	for (size_t i = 0; i < countof(rules); i++) {
		const struct rule *r = &rules[i];
		str text = STR_NONE;

		if (mask & r->bit && r->at == e->kind && (listens || !r->now))
			text = r->says(t, e, a);
		if (!str_is_set(text))
			continue;
		if (!listens) {
			owe(t, text);
			continue;
		}
		ret->name = ret->name ? ret->name : r->name;
		ret->text = str_is_set(ret->text)
			? arena_strf(a, STR_FMT "\n" STR_FMT, STR_ARG(ret->text), STR_ARG(text))
			: text;
	}
	if (!listens || ret->go_on || !t->owed[0])
		return;
	ret->name = ret->name ? ret->name : "remind";
	ret->text = str_is_set(ret->text) ? arena_strf(a, "%s\n" STR_FMT, t->owed, STR_ARG(ret->text))
					  : arena_str(a, str_of(t->owed));
	t->owed[0] = 0;
}
