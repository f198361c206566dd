/* Phases: the next one may be entered, everything else needs a reason that somebody can read later. */
#include <errno.h>
#include <stdio.h>

#include "base/utf8.h"
#include "config/names.h"
#include "effort/effort.h"

enum { NUMBER_MAX = 999, LABEL_MAX = 120 };

/* -- labels ------------------------------------------------------------------------------------ */

static bool take_number(str *text, unsigned *ret)
{
	size_t n = 0;

	for (*ret = 0; n < text->n && text->p[n] >= '0' && text->p[n] <= '9' && *ret <= NUMBER_MAX; n++)
		*ret = *ret * 10 + (unsigned)(text->p[n] - '0');
	*text = str_from(*text, n);
	return n > 0 && *ret <= NUMBER_MAX;
}

/* "2", "2.1", and what follows the colon. */
static bool take_label(str label, struct effort_phase *ret)
{
	str rest = str_trim(label);

	*ret = (struct effort_phase){ .label = rest };
	if (rest.n > LABEL_MAX || !take_number(&rest, &ret->major))
		return false;
	if (rest.n && rest.p[0] == '.') {
		rest = str_from(rest, 1);
		ret->is_part = take_number(&rest, &ret->minor);
		if (!ret->is_part)
			return false;
	}
	rest = str_trim(rest);
	if (rest.n && rest.p[0] != ':')
		return false;
	ret->name = str_trim(str_from(rest, 1));
	for (size_t i = 0; i < ret->label.n; i++)
		if ((unsigned char)ret->label.p[i] < ' ')
			return false;
	return true;
}

int effort_phase_parse(str label, struct effort_phase *ret, struct err *err)
{
	char shown[NAME_SHOWN];

	/* Bytes that are no text become longer when they are written, and the label is no label any more. */
	if (utf8_valid(label) && take_label(label, ret) && !str_empty(ret->name))
		return 0;
	return err_set(err, -EINVAL, "'%s' is not a phase; write \"2: Name\", or \"2.1: Name\" for a part of it",
		name_shown(label, shown));
}

/* -- order ------------------------------------------------------------------------------------- */

static int compare(const struct effort_phase *a, const struct effort_phase *b)
{
	unsigned x = a->is_part ? a->minor + 1 : 0, y = b->is_part ? b->minor + 1 : 0;

	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return x == y ? 0 : x < y ? -1 : 1;
}

/* The phases as the skill has them, or none. */
struct outline {
	struct effort_phase phases[EFFORT_PHASES_MAX];
	size_t n;
};

static void read_outline(const struct json *list, struct outline *ret)
{
	ret->n = 0;
	json_each(item, list)
		if (ret->n < EFFORT_PHASES_MAX && take_label(json_str(item), &ret->phases[ret->n]))
			ret->n++;
}

static const struct effort_phase *find(const struct outline *o, const struct effort_phase *p)
{
	for (size_t i = 0; i < o->n; i++)
		if (compare(&o->phases[i], p) == 0)
			return &o->phases[i];
	return NULL;
}

static bool has_major(const struct outline *o, unsigned major)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->phases[i].major == major)
			return true;
	return false;
}

/* The first one behind `at`; NULL: there is none. at NULL: the first of all. */
static const struct effort_phase *next_of(const struct outline *o, const struct effort_phase *at)
{
	for (size_t i = 0; i < o->n; i++)
		if (!at || compare(&o->phases[i], at) > 0)
			return &o->phases[i];
	return NULL;
}

/* The first one behind the whole phase that `at` is in or is part of. */
static const struct effort_phase *next_major(const struct outline *o, const struct effort_phase *at)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->phases[i].major > at->major)
			return &o->phases[i];
	return NULL;
}

static bool is(const struct effort_phase *a, const struct effort_phase *b)
{
	return a && compare(a, b) == 0;
}

/* -- entering ---------------------------------------------------------------------------------- */

static int refuse_unknown(const struct outline *o, str wanted, struct err *err)
{
	char list[200] = "", shown[NAME_SHOWN], one[NAME_SHOWN];

	for (size_t i = 0; i < o->n && strlen(list) < sizeof list - NAME_SHOWN - 4; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
			name_shown(o->phases[i].label, one));
	return err_set(err, -EINVAL, "the skill has no phase '%s'; it has: %s", name_shown(wanted, shown), list);
}

static int refuse_jump(const struct outline *o, const struct effort_phase *at, const struct effort_phase *to,
	struct err *err)
{
	const struct effort_phase *next = next_of(o, at);
	char shown[NAME_SHOWN], due[NAME_SHOWN];

	if (!next)
		return err_set(err, -EPERM,
			"'%s' lies behind; going back needs a reason: hookd effort phase … --reason TEXT",
			name_shown(to->label, shown));
	return err_set(err, -EPERM, "the next phase is '%s', not '%s'; to %s, say why: --reason TEXT",
		name_shown(next->label, due), name_shown(to->label, shown),
		at && compare(to, at) < 0 ? "go back" : "skip ahead");
}

/* Without an outline any label will do, and only a number may name the current one again. */
static int enter_freely(const struct effort_phase *at, const struct effort_phase *to, enum effort_step *ret_step,
	str *ret_label, struct err *err)
{
	struct effort_phase named;

	*ret_step = is(at, to) ? EFFORT_STEP_SAME : at && compare(to, at) < 0 ? EFFORT_STEP_BACK : EFFORT_STEP_NEXT;
	*ret_label = is(at, to) ? at->label : to->label;
	if (*ret_step == EFFORT_STEP_SAME)
		return 0;
	return effort_phase_parse(to->label, &named, err);
}

static enum effort_step step_of(const struct outline *o, const struct effort_phase *at, const struct effort_phase *to,
	bool listed)
{
	if (is(at, to))
		return EFFORT_STEP_SAME;
	/* A part that is not listed, of the phase that it is in. */
	if (!listed)
		return at && at->major == to->major && compare(to, at) > 0 ? EFFORT_STEP_ADDED
			: at && compare(to, at) < 0                        ? EFFORT_STEP_BACK
									   : EFFORT_STEP_SKIPPED;
	/* Parts may be left out, whole phases may not. */
	if (is(next_of(o, at), to) || (at && is(next_major(o, at), to)))
		return EFFORT_STEP_NEXT;
	return at && compare(to, at) < 0 ? EFFORT_STEP_BACK : EFFORT_STEP_SKIPPED;
}

int effort_phase_enter(const struct json *list, str current, str wanted, str reason, enum effort_step *ret_step,
	str *ret_label, struct err *err)
{
	struct outline o;
	struct effort_phase now, to;
	const struct effort_phase *at, *known;
	char shown[NAME_SHOWN];

	read_outline(list, &o);
	at = take_label(current, &now) ? &now : NULL;
	if (!take_label(wanted, &to))
		return effort_phase_parse(wanted, &to, err);
	if (!o.n)
		return enter_freely(at, &to, ret_step, ret_label, err);
	known = find(&o, &to);
	if (known && !str_empty(to.name) && !str_eq_nocase(to.name, known->name))
		return err_set(err, -EINVAL, "the skill calls this phase '%s'; name it so, or give its number alone",
			name_shown(known->label, shown));
	if (!known && !(to.is_part && has_major(&o, to.major) && !str_empty(to.name)) && !is(at, &to))
		return refuse_unknown(&o, wanted, err);
	*ret_step = step_of(&o, at, known ? known : &to, known != NULL);
	*ret_label = known ? known->label : is(at, &to) ? at->label : to.label;
	if ((*ret_step == EFFORT_STEP_SKIPPED || *ret_step == EFFORT_STEP_BACK) && str_empty(str_trim(reason)))
		return refuse_jump(&o, at, known ? known : &to, err);
	return 0;
}
