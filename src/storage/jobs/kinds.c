/* The kinds of jobs. */
#include "base/clock.h"
#include "base/macro.h"
#include "jobs/jobs.h"

/* A dozen kills of a daemon in the middle of the same job are no reason to give it up; a job that fails by itself fails
 * the same way each time, and after eight attempts has waited for two minutes. */
const struct job_kind_info job_kinds[JOB_KIND_MAX] = {
	[JOB_EXTRACT] = { "extract", "Looks what a finished turn was about and what it teaches.", JOB_ON_WORKER, 8,
		1000, 60000 },
	[JOB_SUMMARIZE] = { "summarize", "Writes title and summary of a session that has ended or is idle.",
		JOB_ON_WORKER, 8, 1000, 60000 },
	[JOB_CONSULT] = { "consult", "Asks the model what a finished turn teaches.", JOB_ON_MODEL, 8, 1000, 60000 },
	[JOB_RETELL] = { "retell", "Asks the model for title and summary of a session.", JOB_ON_MODEL, 8, 1000, 60000 },
	[JOB_DELIVER] = { "deliver", "Sends an event to a sink of the user's.", JOB_ON_SINK, 10, 1000, 60000 },
};

enum job_kind job_kind_find(str name)
{
	enum job_kind kind = 0;

	while (kind < JOB_KIND_MAX && !str_eq(name, str_of(job_kinds[kind].name)))
		kind++;
	return kind;
}

int64_t job_wait_us(enum job_kind kind, int tries)
{
	const struct job_kind_info *k = &job_kinds[kind];
	int64_t ms = k->wait_ms;

	for (int i = 1; i < tries && ms < k->wait_most_ms; i++)
		ms *= 2;
	return MIN(ms, (int64_t)k->wait_most_ms) * USEC_PER_MSEC;
}
