/* Gates: what an effort asks for, as its skill or its metadata writes it. */
#include <errno.h>

#include "config/names.h"
#include "effort/effort.h"

enum { HEARTBEAT_MAX = 1000, PERCENT_MAX = 100 };

const struct effort_gate effort_gates[] = {
	{ "heartbeat", "a line in the log at least every so many calls (10)" },
	{ "overflow", "a checkpoint when the context is nearly full (90 per cent)" },
	{ "directives", "directives of a folder are read before something in it is changed" },
	{ "checklists", "the effort cannot be finished before its checklists are worked through" },
	{ "session", "of a task: nothing is changed in it without an effort" },
	{ 0 },
};

/* Gates with two numbers, and what true stands for. */
static const struct levels {
	const char *name;
	size_t warn, block; /* in struct effort_gates */
	int64_t max, usual_warn, usual_block;
	bool number_blocks; /* a number alone says when it blocks, else when it warns */
} levels[] = {
	{ "heartbeat", offsetof(struct effort_gates, heartbeat_warn), offsetof(struct effort_gates, heartbeat_block),
		HEARTBEAT_MAX, 0, 10, true },
	{ "overflow", offsetof(struct effort_gates, overflow_warn), offsetof(struct effort_gates, overflow_block),
		PERCENT_MAX, 90, 0, false },
};

static const struct {
	const char *name;
	size_t at;
} switches[] = {
	{ "directives", offsetof(struct effort_gates, directives) },
	{ "checklists", offsetof(struct effort_gates, checklists) },
	{ "session", offsetof(struct effort_gates, session) },
};

static int64_t *number_at(struct effort_gates *g, size_t offset)
{
	return (int64_t *)((char *)g + offset);
}

static bool take_number(const struct json *v, int64_t max, int64_t *ret)
{
	int64_t n;

	if (!v)
		return true;
	if (v->type == JSON_BOOL && !v->flag)
		n = 0;
	else if (!json_int(v, &n) || n < 0 || n > max)
		return false;
	*ret = n;
	return true;
}

static bool take_levels(const struct levels *l, const struct json *v, struct effort_gates *g)
{
	int64_t warn = 0, block = 0;
	bool good = true;

	if (v->type == JSON_BOOL) {
		warn = v->flag ? l->usual_warn : 0;
		block = v->flag ? l->usual_block : 0;
	} else if (v->type == JSON_OBJECT) {
		good = take_number(json_get(v, STR("warn")), l->max, &warn) &&
			take_number(json_get(v, STR("block")), l->max, &block);
	} else {
		good = v->type == JSON_NUMBER && take_number(v, l->max, l->number_blocks ? &block : &warn);
	}
	if (!good)
		return false;
	*number_at(g, l->warn) = warn;
	*number_at(g, l->block) = block;
	return true;
}

static int refuse_name(str name, struct err *err)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (const struct effort_gate *g = effort_gates; g->name; g++)
		name_suggest(&near, name, str_of(g->name));
	if (near.best.p)
		return err_set(err, -EINVAL, "there is no gate '%s'; did you mean '" STR_FMT "'?",
			name_shown(name, shown), STR_ARG(near.best));
	return err_set(err, -EINVAL,
		"there is no gate '%s'; there are: heartbeat, overflow, directives, checklists, session",
		name_shown(name, shown));
}

static int take_gate(const struct json *v, struct effort_gates *g, struct err *err)
{
	for (size_t i = 0; i < countof(levels); i++) {
		if (!str_eq_name(v->key, str_of(levels[i].name)))
			continue;
		return take_levels(&levels[i], v, g) ? 0
						     : err_set(err, -EINVAL,
							       "the gate '%s' takes true, false, a number up to %lld, "
							       "or {\"warn\": N, \"block\": N}",
							       levels[i].name, (long long)levels[i].max);
	}
	for (size_t i = 0; i < countof(switches); i++) {
		if (!str_eq_name(v->key, str_of(switches[i].name)))
			continue;
		if (v->type != JSON_BOOL)
			return err_set(err, -EINVAL, "the gate '%s' takes true or false", switches[i].name);
		*(bool *)((char *)g + switches[i].at) = v->flag;
		return 0;
	}
	return refuse_name(v->key, err);
}

int effort_gates_read(const struct json *gates, struct effort_gates *ret, struct err *err)
{
	int r = 0;

	if (gates && gates->type != JSON_OBJECT)
		return err_set(err, -EINVAL, "gates must be an object, such as {\"heartbeat\": true}");
	json_each(v, gates) {
		r = take_gate(v, ret, err);
		if (r < 0 && err)
			return r;
	}
	return 0;
}
