/* What kind of work a turn was, without a model: by what failed, what was made and what was changed. */
#include "memory/memory.h"

#define NAMES(...)                \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

const struct turn_class turn_classes[] = {
	{ "exploration", "Reading and asking.", 3, NAMES("explore", "investigation", "research", "discovery") },
	{ "debugging", "Finding out why something fails.", 2, NAMES("bug_fix", "bugfix", "debug", "fix") },
	{ "implementation", "Making something new.", 2, NAMES("feature", "implement") },
	{ "refactoring", "Changing what is there.", 2, NAMES("refactor", "cleanup") },
	{ 0 },
};

const struct turn_class *turn_class_find(str name)
{
	for (const struct turn_class *c = turn_classes; c->name; c++) {
		if (str_eq_name(name, str_of(c->name)))
			return c;
		for (const char *const *alias = c->aliases; *alias; alias++)
			if (str_eq_name(name, str_of(*alias)))
				return c;
	}
	return NULL;
}

int memory_classify(struct store *s, int64_t batch, struct turn_sums *ret_sums, const struct turn_class **ret)
{
	enum { EXPLORATION, DEBUGGING, IMPLEMENTATION, REFACTORING };
	struct query *q = store_ask(s,
		"SELECT count(*), total(state = 'failed'), total(change = 'created'), total(change = 'modified') FROM "
		"activities WHERE batch = ?1 AND kind = 'tool'",
		"i", batch);
	int got = query_step(q);

	*ret_sums = (struct turn_sums){ 0 };
	if (got == 1)
		*ret_sums = (struct turn_sums){ query_int(q, 0), query_int(q, 1), query_int(q, 2), query_int(q, 3) };
	query_reset(q);
	*ret = &turn_classes[ret_sums->failed                           ? DEBUGGING
			: ret_sums->created                             ? IMPLEMENTATION
			: 10 * ret_sums->modified > 3 * ret_sums->calls ? REFACTORING
									: EXPLORATION];
	return MIN(got, 0);
}
