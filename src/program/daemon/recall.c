/* Memories in the daemon: their index, and writing it to files in the background. */
#include "daemon/recall.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/log.h"
#include "daemon/encoding.h"

struct recall {
	struct loop *loop;
	struct readers *readers;
	struct memories *memories;
	struct context *context;
	struct encoding *encoding;
	struct code *code;
};

struct merge {
	struct recall *recall;
	int64_t project;
};

static void work(void *arg)
{
	struct merge *m = arg;
	struct store *s = NULL;
	struct err err;

	if (readers_try(m->recall->readers, &s, &err) < 0)
		return;
	(void)memories_merge(m->recall->memories, s, m->project);
	readers_give_back(m->recall->readers, s);
}

static void submit(void *arg)
{
	struct merge *m = arg;

	loop_submit_lane(m->recall->loop, LOOP_BACKGROUND, work, free, m);
}

/* From any thread. */
static void wants_merge(int64_t project, void *arg)
{
	struct merge *m = xcalloc(1, sizeof *m);

	*m = (struct merge){ arg, project };
	loop_post(m->recall->loop, submit, m);
}

static void wants_encoding(int64_t project, void *arg)
{
	struct recall *c = arg;

	encoding_add(c->encoding, c->memories, project);
}

struct recall *recall_new(struct loop *l, struct readers *r, const struct paths *p, const struct config *config,
	const char *secret)
{
	struct recall *c = xcalloc(1, sizeof *c);
	struct memories_wants wants = { wants_merge, wants_encoding, c };
	char weights[FS_PATH] = "", dir[FS_PATH] = "";

	c->loop = l;
	c->readers = r;
	c->encoding = encoding_new(r);
	if (config_number(config, OPTION_CONTEXT_ENCODER))
		paths_installed("encoder.bin", weights);
	c->memories = memories_new(p->index, weights, &wants);
	(void)fs_join(dir, p->data, "code");
	c->code = code_new(dir, weights);
	c->context = context_new(&(struct context_config){ .readers = r,
		.memories = c->memories,
		.code = c->code,
		.config = config,
		.secret = secret,
		.home = p->home });
	return c;
}

void recall_free(struct recall *c)
{
	if (!c)
		return;
	encoding_free(c->encoding);
	context_free(c->context);
	memories_free(c->memories);
	code_free(c->code);
	free(c);
}

struct memories *recall_memories(struct recall *c)
{
	return c->memories;
}

struct code *recall_code(struct recall *c)
{
	return c->code;
}

struct context *recall_context(struct recall *c)
{
	return c->context;
}
