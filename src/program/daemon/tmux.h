/* tmux: panes and windows show what the agents in them are doing. For daemon/ only. */
#ifndef HOOKD_DAEMON_TMUX_H
#define HOOKD_DAEMON_TMUX_H

#include "config/config.h"
#include "engine/engine.h"
#include "loop/loop.h"

struct tmux;

/* NULL: it is switched off. The engine and the paths must outlive it. */
struct tmux *tmux_new(struct loop *l, struct engine *e, const struct paths *p, const struct config *config);
/* Ends what runs. */
void tmux_free(struct tmux *t);

#endif
