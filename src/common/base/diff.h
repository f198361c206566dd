/* diff: the difference of two texts for people, in the unified form. */
#ifndef HOOKD_BASE_DIFF_H
#define HOOKD_BASE_DIFF_H

#include "base/buf.h"
#include "base/str.h"

/* Appends nothing when the texts are equal. The names go into the two header lines. A difference of
 * thousands of lines is shown as one block taken out and one put in. */
void diff_write(struct buf *b, const char *old_name, str old, const char *new_name, str new_text);

#endif
