/* policy: which rules of the guard are in effect, and what the user's file says. For cli/ only.
 *
 * A daemon that runs has read the file at its start or with the last reload, and decides by that; without one the
 * next process that decides reads the file as it is. Every command that reports on rules takes them from here, so
 * that all of them agree. */
#ifndef HOOKD_CLI_POLICY_H
#define HOOKD_CLI_POLICY_H

#include "cli/cli.h"
#include "guard/guard.h"

struct policy_view {
	struct guard_policy *in_force, *file;
	unsigned problems; /* with the file */
	bool running;      /* a daemon reported what is in effect */
	bool differs;      /* and the file says something else */
};

/* complain: says on stderr what is wrong with the file. */
void policy_view_load(struct cli *cli, bool complain, struct policy_view *ret);
void policy_view_release(struct policy_view *v);

/* A sentence for people when the file differs; NULL when it does not. */
const char *policy_difference(const struct policy_view *v);

/* "enforce", "observe" or "disabled". */
str policy_mode(const struct guard_policy *p, str rule);

/* Makes a running daemon reload the file, and prints the result to stdout. Returns an exit code. */
int cli_reload(struct cli *cli);

#endif
