/* launch: how agents are started so that they begin with a prompt. For cli/ only. */
#ifndef HOOKD_CLI_LAUNCH_H
#define HOOKD_CLI_LAUNCH_H

#include "cli/cli.h"

/* An agent's program, and what stands before a prompt on its command line. */
struct launch {
	const char *agent, *program, *option; /* option NULL: the prompt is an argument of its own */
};

extern const struct launch launches[]; /* ends with a row without a name */

/* By the agent's name, or by its program's. NULL: it is not known. */
const struct launch *launch_find(const char *name);

/* argv with the prompt in its place. What the user gave comes first; n words of it. */
char **launch_argv(struct cli *cli, const struct launch *l, const char *const *words, int n, str prompt);

#endif
