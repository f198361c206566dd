/* names: names and values that a user wrote, as they appear in messages; for config/ only. */
#ifndef HOOKD_CONFIG_NAMES_H
#define HOOKD_CONFIG_NAMES_H

#include "base/buf.h"
#include "base/str.h"
#include "config/config.h"

/* The closest of the candidates offered so far, if any is close enough to be what was meant. */
struct name_suggestion {
	str best;
	unsigned distance;
};

void name_suggest(struct name_suggestion *s, str wrong, str candidate);

/* A name or value from outside, shortened and without control characters, for a message. */
enum { NAME_SHOWN = 64 };
const char *name_shown(str value, char out[NAME_SHOWN]);

/* What fits the option, in words: "a whole number from 1 to 1024". */
void option_describe(const struct option *o, struct buf *b);

/* Steps of an option's name: "log.level" has two. */
static inline str option_step(const struct option *o, unsigned level)
{
	str rest = str_of(o->name), piece = STR_NONE;

	for (unsigned i = 0; i <= level; i++)
		if (!str_split(&rest, '.', &piece))
			return STR_NONE;
	return piece;
}

static inline bool option_is_leaf(const struct option *o, unsigned level)
{
	return !str_is_set(option_step(o, level + 1));
}

/* Options [first, end) whose names share the first `level` steps with options[first]; the table
 * keeps them together. */
size_t option_group_end(size_t first, unsigned level);

#endif
