/* redirect: what a command's descriptors are joined to. For guard/ only. */
#ifndef HOOKD_GUARD_REDIRECT_H
#define HOOKD_GUARD_REDIRECT_H

#include "guard/internal.h"

struct joint_out {
	struct joint_out *next;
	str path;
	bool append, output; /* output: takes what the command prints, not only its errors */
};

struct joint {
	struct joint_out *outs, **tail;
	bool net_in, net_out, taken; /* taken: nothing is left for the pipe */
};

/* Sets x->in, and looks at what is read. */
void redirect_begin(struct run *x, const struct shell_redirect *r, struct joint *j);
/* Looks at what is written; gives what is left for the pipe. */
str redirect_end(struct run *x, struct joint *j, str out);

#endif
