/* How far memories are encoded, so that they are found by what they mean. */
#include "api/ops.h"
#include "memory/memory.h"

enum { PROJECTS_MAX = 10000 };

struct progress {
	int64_t all, encoded;
	bool possible;
	struct err why;
};

static void add_project(struct op_call *call, int64_t project, struct progress *p)
{
	int64_t all, encoded;

	p->possible = memories_encoded(call->ctx->memories, call->store, project, &all, &encoded, &p->why);
	p->all += all;
	p->encoded += encoded;
}

int op_vectors(struct op_call *call)
{
	int64_t *projects = arena_alloc(call->arena, PROJECTS_MAX * sizeof *projects);
	struct query *q =
		store_ask(call->store, "SELECT DISTINCT project FROM memories LIMIT ?1", "i", (int64_t)PROJECTS_MAX);
	struct progress p = { .possible = true };
	size_t n = 0;
	int got;

	while ((got = query_step(q)) == 1)
		projects[n++] = query_int(q, 0);
	query_reset(q);
	if (op_bool(call, "hurry"))
		memories_hurry(call->ctx->memories);
	for (size_t i = 0; i < n && p.possible; i++)
		add_project(call, projects[i], &p);
	jw_object(call->w);
	jw_field_bool(call->w, "possible", p.possible);
	if (!p.possible)
		jw_field_str(call->w, "reason", str_of(p.why.text));
	jw_field_int(call->w, "memories", p.all);
	jw_field_int(call->w, "encoded", p.encoded);
	jw_end_object(call->w);
	return MIN(got, 0);
}
