/* Reports after the fact: records that no turn stands behind. They share the journal's write with the turns of the same
 * iteration; if it fails, whoever sent them is asked to send them again, so they need no rescue. */
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/turn.h"

struct report {
	struct report *next;
	struct record *records;
	size_t n;
	void (*done)(bool stored, void *arg);
	void *arg;
};

void engine_redact(struct engine *e, struct arena *a, const struct event *event, struct record *ret,
	unsigned *ret_secrets)
{
	struct redact_report report = { 0 };

	pthread_mutex_lock(&e->worker_lock);
	redact_and_mute(e->worker_redactor, a, e->config.run_dir, event, ret, &report);
	pthread_mutex_unlock(&e->worker_lock);
	*ret_secrets = report.secrets;
}

void engine_store(struct engine *e, struct record *records, size_t n, void (*done)(bool stored, void *arg), void *arg)
{
	struct report *r = xcalloc(1, sizeof *r);

	*r = (struct report){ .next = e->reports, .records = records, .n = n, .done = done, .arg = arg };
	for (size_t i = 0; i < n; i++)
		if (turn_journal(e, &records[i]) < 0)
			e->state.unstored++; /* too large even after it was cut; sending it again would not help */
	e->reports = r;
}

void engine_tell(struct engine *e, const struct record *records, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		e->state.kinds[records[i].kind]++;
		if (records[i].kind == EVENT_EFFORT)
			efforts_note(e, &records[i]);
		if (records[i].kind == EVENT_FLEET)
			fleet_note(e, &records[i]);
		if (e->stored)
			e->stored(&records[i], e->stored_arg);
	}
}

unsigned reports_written(struct engine *e, bool stored)
{
	struct report *r = e->reports, *next;
	unsigned records = 0;

	e->reports = NULL;
	for (; r; r = next) {
		next = r->next;
		records += (unsigned)r->n;
		e->state.journaled += stored ? r->n : 0;
		if (stored)
			engine_tell(e, r->records, r->n);
		r->done(stored, r->arg);
		free(r);
	}
	return records;
}

void reports_free(struct engine *e)
{
	struct report *r;

	while ((r = e->reports)) {
		e->reports = r->next;
		free(r);
	}
}
