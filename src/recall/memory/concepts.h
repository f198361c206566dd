/* concepts: how much a text is about what orders to an agent are about. Used by poison.c alone.
 *
 * Patterns know phrases, and whoever chooses other words gets past them. So the matters themselves are counted: a
 * second person, an order, an agent, a secret, consent, secrecy, a foreign host and so on, each with a weight. The
 * weights began as a logistic fit to texts as in tests/poison and to the subjects of commits, adjusted by hand; no
 * weight is negative, or else adding harmless words would hide the others. */
#ifndef HOOKD_MEMORY_CONCEPTS_H
#define HOOKD_MEMORY_CONCEPTS_H

#include <stdbool.h>

#include "base/str.h"

struct concepts;

struct concepts *concepts_new(void);
void concepts_free(struct concepts *c);
/* The text is one that disguise_read() has made plain. */
bool concepts_suspect(const struct concepts *c, str text);

#endif
