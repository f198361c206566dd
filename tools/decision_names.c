/* Prints decision_names.h for hookc: the native names of all events whose answer can stop or change what an agent does.
 * Names that differ only in case, '-' or '_' are one. */
#include <stdio.h>

#include "agents/agents.h"

enum { NAMES_MAX = 256, NAME_MAX_ = 32 };

static bool is_decision(const struct agent_event *row)
{
	return event_kinds[row->kind].flags & EVENT_IS_DECISION && row->takes & TAKES_DECISION;
}

int main(void)
{
	const char *names[NAMES_MAX];
	size_t n = 0;

	for (size_t i = 0; agents[i]; i++)
		for (const struct agent_event *row = agents[i]->events; row->native; row++) {
			size_t k = 0;

			while (k < n && !str_eq_name(str_of(names[k]), str_of(row->native)))
				k++;
			if (!is_decision(row) || k < n)
				continue;
			if (n == NAMES_MAX || strlen(row->native) >= NAME_MAX_) {
				fprintf(stderr, "decision_names: more or longer names than there is room for\n");
				return 1;
			}
			names[n++] = row->native;
		}
	printf("/* Made by tools/decision_names.c from the table of agents. */\n");
	printf("static const char decision_names[][%d] = {\n", NAME_MAX_);
	for (size_t i = 0; i < n; i++)
		printf("\t\"%s\",\n", names[i]);
	printf("};\n");
	return 0;
}
