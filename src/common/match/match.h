/* match: regular expressions with a bounded cost. The only module that knows PCRE2.
 *
 * DESIGN. A pattern is compiled once (to machine code where the processor allows it) and then used many times.
 * Whoever wrote it, a search never runs away: the number of steps and the memory of one match_find() are capped, and
 * reaching a cap is an answer of its own (-ELOOP), never "no match". What that answer means is the caller's decision:
 * a guard rule takes it as a hit, redaction as a miss of one of its own patterns, which are written so that it cannot
 * happen.
 *
 * Subjects are bytes. With MATCH_UTF a '.' is a character and \w knows letters beyond ASCII;
 * invalid bytes in the subject match nothing, and are no error. Without it a byte is a byte, which
 * is faster and right for patterns made of ASCII only.
 *
 * A compiled pattern never changes: any number of threads may use it at once. */
#ifndef HOOKD_MATCH_MATCH_H
#define HOOKD_MATCH_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"

struct match;

enum {
	MATCH_NOCASE = 1 << 0,
	MATCH_UTF = 1 << 1,
	MATCH_ANCHORED = 1 << 2, /* only at `from`, not after it */
	MATCH_LINES = 1 << 3,    /* ^ and $ also at line ends */
};

enum { MATCH_GROUPS = 8 }; /* the whole hit and the first seven groups */
#define MATCH_UNSET SIZE_MAX

/* -EINVAL: not a pattern; err (which may be NULL) says what is wrong and in col where.
 * -E2BIG: longer than a pattern may be. */
int match_compile(str pattern, unsigned flags, struct match **ret, struct err *err);
void match_free(struct match *m);
DEFINE_FREEP(struct match, match_free);

/* The first hit that begins at `from` or later. 1: found; 0: none; -ELOOP: a limit was reached. ret_groups (which may
 * be NULL) gets begin and end of each group, MATCH_UNSET for groups that did not take part. Look-behinds see what
 * comes before `from`. */
int match_find(const struct match *m, str subject, size_t from, size_t ret_groups[2 * MATCH_GROUPS]);

#endif
