/* What projects and agents write for efforts: a SKILL.md gives a bounded JSON object or is refused, its phases are in
 * order, and a section of it lies in it; metadata gives gates and rules or an error in words; an event changes the
 * table or does not. The first byte chooses. */
#include <stdint.h>
#include <stdlib.h>

#include "effort/effort.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void require_order(const struct json *phases)
{
	struct effort_phase p, before;
	bool first = true;

	json_each(v, phases) {
		require(effort_phase_parse(json_str(v), &p, NULL) == 0);
		if (!first)
			require(before.major < p.major || (before.major == p.major && p.is_part));
		before = p;
		first = false;
	}
}

static void try_skill(str text, struct arena *a)
{
	struct json *v = NULL;
	str config, section;

	if (effort_skill_parse(text, a, &config) == 0) {
		require(config.n <= EFFORT_JSON_MAX && json_parse(a, config, 0, &v, NULL) == 0 &&
			v->type == JSON_OBJECT);
		require_order(json_get(v, STR("phases")));
	}
	section = effort_skill_section(text, STR("1: x"));
	if (str_is_set(section))
		require(section.p >= text.p && section.p + section.n <= text.p + text.n);
}

static void try_metadata(str text, struct arena *a)
{
	const struct effort_facts facts = { .heartbeat = 3,
		.context_usage = -1,
		.tool_name = STR("Bash"),
		.command = STR("git push"),
		.skill = STR("x") };
	uint64_t spoken[EFFORT_SPOKEN] = { 0 };
	struct effort_gates gates = { 0 };
	struct effort_rules *rules = NULL;
	struct json *v = NULL;
	struct err err = { 0 };
	int r;

	if (json_parse(a, text, 0, &v, NULL) < 0)
		return;
	r = effort_gates_read(json_get(v, STR("gates")), &gates, &err);
	require(r == 0 || err.text[0]);
	require(gates.heartbeat_block >= 0 && gates.overflow_warn >= 0 && gates.overflow_warn <= 100);
	err.text[0] = 0;
	r = effort_rules_parse(json_get(v, STR("rules")), &rules, &err);
	require(r == 0 || (err.text[0] && !rules));
	effort_rules_free(rules);
	require(effort_rules_parse(json_get(v, STR("rules")), &rules, NULL) == 0);
	for (struct effort_fired *f = effort_rules_fire(rules, &facts, spoken, a); f; f = f->next)
		require(f->rule.n > 0);
	effort_rules_free(rules);
}

static void try_events(str text, struct arena *a)
{
	struct efforts *e = efforts_new();
	struct json *v = NULL;
	str line;

	efforts_fill(e, NULL);
	while (str_split(&text, '\n', &line))
		if (json_parse(a, line, 0, &v, NULL) == 0)
			efforts_apply(e, v, 1);
	require(efforts_count(e) <= EFFORT_LIVE_MAX);
	efforts_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str text = str_n((const char *)data + 1, size ? size - 1 : 0);
	struct arena a = { 0 };

	if (!size)
		return 0;
	switch (data[0]) {
	case 'm': try_metadata(text, &a); break;
	case 'e': try_events(text, &a); break;
	default: try_skill(text, &a);
	}
	arena_release(&a);
	return 0;
}
