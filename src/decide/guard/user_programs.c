/* user_programs: what the user's own file says of programs, in the form of data/programs. It adds to what is known; one
 * whose own examples are decided otherwise is wrong, and left out. */
#include <errno.h>

#include "guard/user.h"

enum { PROGRAMS_MAX = 200 };

static const struct {
	const char *key;
	enum verdict_action action;
} lists[] = { { "deny", VERDICT_DENY }, { "ask", VERDICT_ASK }, { "allow", VERDICT_NONE } };

/* With this descriptor and what is built in. */
static enum verdict_action decide(struct descriptor *d, str command)
{
	static const struct guard_context c = { .cwd = { "/home/user/project", 18 }, .home = { "/home/user", 10 } };
	struct guard_policy only = { .refs = 1, .programs = d, .nprograms = 1 };
	struct guard_report report = { 0 };
	enum verdict_action got;
	struct arena a;

	arena_init(&a);
	got = guard_command(&only, &c, command, &a, &report);
	arena_release(&a);
	return got == VERDICT_ALLOW ? VERDICT_NONE : got;
}

static void complain_at(struct reading *r, const struct json *v, const char *what, const char *key)
{
	unsigned line = 0, col = 0;

	json_locate(r->text, v->begin, &line, &col);
	err_set_at(policy_problem(r), -EINVAL, line, col, "%s%s", what, key);
}

static bool check_examples(struct reading *r, const struct json *v, struct descriptor *d)
{
	bool good = true;

	json_each(list, json_get(v, STR("examples"))) {
		size_t i = 0;

		while (i < countof(lists) && !str_eq(list->key, str_of(lists[i].key)))
			i++;
		if (i == countof(lists)) {
			complain_at(r, list, "examples are deny, ask and allow", "");
			return false;
		}
		json_each(one, list) {
			if (decide(d, json_str(one)) == lists[i].action)
				continue;
			complain_at(r, one, "this example is not decided as it says: ", lists[i].key);
			good = false;
		}
	}
	return good;
}

bool user_knows(struct run *x, str name)
{
	for (size_t i = 0; x->policy && i < x->policy->nprograms; i++)
		for (size_t k = 0; k < x->policy->programs[i].names.n; k++)
			if (str_eq(x->policy->programs[i].names.v[k], name))
				return true;
	return false;
}

void read_user_programs(struct reading *r, const struct json *list)
{
	struct guard_policy *p = r->p;

	if (list->type != JSON_ARRAY || list->count > PROGRAMS_MAX) {
		complain_at(r, list, "'guard.programs' must be a list of at most 200 descriptors", "");
		return;
	}
	p->programs = arena_alloc(&p->arena, (list->count + 1) * sizeof *p->programs);
	json_each(v, list) {
		struct descriptor *d = &p->programs[p->nprograms];
		struct err err = { 0 };

		if (descriptor_take(&p->arena, r->text, v, d, &err) < 0)
			*policy_problem(r) = err;
		else if (check_examples(r, v, d))
			p->nprograms++;
	}
}

void judge_user_programs(struct run *x, struct cmd *c)
{
	const struct guard_policy *p = x->policy;

	for (size_t i = 0; p && i < p->nprograms; i++)
		for (size_t k = 0; k < p->programs[i].names.n; k++)
			if (str_eq(p->programs[i].names.v[k], c->name))
				perform(x, c, &p->programs[i]);
}
