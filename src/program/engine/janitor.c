#include "engine/engine.h"

#include <stdlib.h>

#include "base/alloc.h"

struct round {
	struct janitor *janitor;
	const struct duty *duty;
	struct loop_timer *timer;
};

struct janitor {
	void *arg;
	unsigned n;
	struct round rounds[];
};

static void do_duty(void *arg)
{
	struct round *r = arg;

	r->duty->run(r->janitor->arg);
	loop_timer_set(r->timer, r->duty->every_us);
}

struct janitor *janitor_new(struct loop *l, const struct duty *duties, void *arg)
{
	struct janitor *j;
	unsigned n = 0;

	while (duties[n].text)
		n++;
	j = xcalloc(1, sizeof *j + n * sizeof j->rounds[0]);
	j->arg = arg;
	j->n = n;
	for (unsigned i = 0; i < n; i++) {
		j->rounds[i].janitor = j;
		j->rounds[i].duty = &duties[i];
		j->rounds[i].timer = loop_timer_new(l, do_duty, &j->rounds[i]);
		loop_timer_set(j->rounds[i].timer, duties[i].every_us);
	}
	return j;
}

void janitor_free(struct janitor *j)
{
	if (!j)
		return;
	for (unsigned i = 0; i < j->n; i++)
		loop_timer_free(j->rounds[i].timer);
	free(j);
}
