/* What a memory is worth beside how well it fits. What is old, and what was given and never used, gives way to a rival
 * that fits about as well; it is never hidden by that. The amounts are small on purpose: with ages drawn at random
 * they must not cost recall (tools/aging.py measures it). */
#include <math.h>

#include "base/clock.h"
#include "memory/memory.h"

#define DAY_US (24 * 3600 * USEC_PER_SEC)

static const double age_loss = 0.12, half_life_days = 60; /* the most that age takes, and when half of it is gone */
static const double disuse_loss = 0.08, disuse_half = 4;  /* likewise, by times it was given in vain */

float memory_worth(const struct memory_past *p, int64_t now_us)
{
	int64_t since = MAX(p->created_us, p->used_us);
	/* Whole days, so that the same question gets the same answer for a while. */
	double days = since && since < now_us ? (double)((now_us - since) / DAY_US) : 0;
	double in_vain = (double)MAX(p->shown - 3 * p->used, (int64_t)0);

	if (p->pinned)
		return 1;
	return (float)(1 - age_loss * (1 - exp2(-days / half_life_days)) -
		disuse_loss * in_vain / (in_vain + disuse_half));
}
