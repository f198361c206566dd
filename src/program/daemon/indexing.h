/* indexing: the indexers of the repositories in which agents work. For daemon/ only; on the loop thread.
 *
 * An indexer (`hookd indexer ROOT`) is started when an agent is heard of in a repository, and told of the files that are
 * changed. It ends by itself when nothing happens any more. One that crashes is started again, later each time; the
 * daemon never waits for any. */
#ifndef HOOKD_DAEMON_INDEXING_H
#define HOOKD_DAEMON_INDEXING_H

#include "config/config.h"
#include "config/paths.h"
#include "event/event.h"
#include "loop/loop.h"

struct indexing;

struct indexing *indexing_new(struct loop *l, const struct paths *p, const struct config *config);
/* Ends them. After the workers have stopped. */
void indexing_free(struct indexing *x);

/* An agent did something; arg is the indexing. */
void indexing_hear(const struct event *e, void *arg);
/* Somebody wants an index to be up to date, whatever the options say. */
void indexing_update(struct indexing *x, const char *root);

#endif
