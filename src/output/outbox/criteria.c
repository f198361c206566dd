/* Which events a sink wants. */
#include "outbox/internal.h"

enum { COMPARED = 4096 }; /* bytes of a text that patterns are compared with */

bool test_holds(const struct sink_test *t, str value, bool there)
{
	if (t->how == TEST_NONE)
		return true;
	if (t->how != TEST_ONE_OF)
		return there == (t->how == TEST_THERE);
	for (size_t i = 0; i < t->values.n && there; i++)
		if (str_find_char(t->values.words[i], '*') < 0
				? str_eq(t->values.words[i], value)
				: str_fits(t->values.words[i], str_head(value, COMPARED)))
			return true;
	return false;
}

/* A project by its name or its path. */
static bool project_holds(const struct sink_test *t, const struct outbox_notice *n)
{
	bool there = !str_empty(n->project_path);

	return test_holds(t, n->project, there) || (t->how == TEST_ONE_OF && test_holds(t, n->project_path, there));
}

static bool properties_hold(const struct sink_criteria *c, const struct outbox_notice *n)
{
	struct arena a;
	bool hold = true;

	if (!c->n)
		return true;
	arena_init(&a);
	for (size_t i = 0; i < c->n && hold; i++) {
		str value = STR("");
		bool there = notice_property(n, c->properties[i].property, &a, &value);

		hold = test_holds(&c->properties[i], value, there);
	}
	arena_release(&a);
	return hold;
}

static bool wants_type(const struct sink *s, const struct outbox_notice *n)
{
	if (n->meaning.type != OUTBOX_OTHER)
		return s->types[n->meaning.type];
	return s->kinds >> n->event->kind & 1;
}

bool sink_wants(const struct sink *s, const struct outbox_notice *n)
{
	const struct sink_criteria *c = &s->when;

	return s->enabled && (!s->expires_s || clock_wall_us() / USEC_PER_SEC < s->expires_s) && wants_type(s, n) &&
		test_holds(&c->type, n->type, true) && test_holds(&c->agent, n->agent, true) &&
		project_holds(&c->project, n) && properties_hold(c, n);
}
