/* Memories in the daemon. For daemon/ only. */
#ifndef HOOKD_DAEMON_RECALL_H
#define HOOKD_DAEMON_RECALL_H

#include "config/paths.h"
#include "context/context.h"
#include "index/index.h"
#include "loop/loop.h"
#include "memory/memory.h"
#include "store/store.h"

struct recall;

struct recall *recall_new(struct loop *l, struct readers *r, const struct paths *p, const struct config *config,
	const char *secret);
void recall_free(struct recall *c);

struct memories *recall_memories(struct recall *c);
struct context *recall_context(struct recall *c);
struct code *recall_code(struct recall *c);

#endif
