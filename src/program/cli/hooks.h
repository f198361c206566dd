/* hooks: what init and uninstall share: which agents, what would change, confirmation. For cli/ only. */
#ifndef HOOKD_CLI_HOOKS_H
#define HOOKD_CLI_HOOKS_H

#include "cli/commands.h"
#include "install/install.h"

enum { HOOK_CHANGES_MAX = OPTIONS_MAX };

struct hook_change {
	struct install_request request;
	struct install_plan plan;
};

struct hook_changes {
	struct hook_change *list[HOOK_CHANGES_MAX];
	unsigned n;
	bool any;   /* a file would change */
	int failed; /* the exit code when an agent was left out because a file of it cannot be used */
};

struct hook_work {
	int (*plan)(const struct install_request *q, struct arena *a, struct install_plan *ret, struct err *err);
	/* Which agents are meant when none is named. */
	bool (*wanted)(const struct install_request *q);
	const char *hookc; /* absolute, or NULL when it is not needed */
	const struct install_otel *otel;
	bool mcp;
};

/* The plans for the agents that were named, or for all that are wanted. An agent whose file cannot be used is left out,
 * after the reason was printed; the others are not affected. 0, or the exit code when there is nothing left to do. */
int hooks_plan(struct cli *cli, const struct hook_work *work, struct hook_changes *ret);

/* Shows the change and its notes, and asks for confirmation. 0: proceed. Otherwise the exit code: --dry-run, or a no.
 */
int hooks_agree(struct cli *cli, const struct hook_changes *c, const char *question);

/* Makes the changes. 0, or the exit code after the reason was printed. */
int hooks_apply(const struct hook_changes *c);

/* One line for each file: what happened to it. */
void hooks_print_done(const struct hook_changes *c);

/* {"agents": […], "notes": […], "applied": …} without the closing brace, so that the caller can add to it. */
void hooks_write_json(struct json_writer *w, const struct hook_changes *c, bool applied);

#endif
