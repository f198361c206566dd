#include "daemon/upkeep.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "jobs/jobs.h"
#include "outbox/outbox.h"

enum { SETTLE_AT_ONCE = 8 }; /* sessions that an import left */

/* -- what is over ------------------------------------------------------------------------------ */

static int complete(struct store *s, void *arg)
{
	struct upkeep *u = arg;
	int r = capture_refold_due(u->capture, s, SETTLE_AT_ONCE); /* an import that was interrupted */

	if (r >= 0)
		r = capture_complete_stale(s, clock_wall_us());
	if (r >= 0)
		r = jobs_tidy(s, clock_wall_us());
	return r < 0 ? r : outbox_recount(u->outbox, s);
}

void upkeep_complete(struct upkeep *u)
{
	writer_post(u->writer, complete, u);
}

/* -- what exceeds the limits ------------------------------------------------------------------- */

static int make_due(struct store *s, void *arg)
{
	(void)s;
	((struct upkeep *)arg)->retain = true;
	return 0;
}

/* Only makes it due; the writer deletes in small steps when it has nothing to fold. */
void upkeep_retain(struct upkeep *u)
{
	writer_post(u->writer, make_due, u);
}

/* 1: more to delete, or pages to release. */
static int retain_some(struct upkeep *u, struct store *s)
{
	const struct capture_limits limits = { .days = config_number(u->config, OPTION_RETENTION_DAYS),
		.bytes = config_number(u->config, OPTION_STORE_MAX_MB) << 20 };
	int r = capture_retain_some(s, &limits, clock_wall_us(), &u->retained);

	if (r == 0)
		r = capture_shrink_some(s);
	if (r)
		return r;
	u->retain = false;
	if (u->retained.sessions)
		log_info(LOG_STORE, "%lld sessions over the limits deleted, with %lld events",
			(long long)u->retained.sessions, (long long)u->retained.events);
	u->retained = (struct capture_count){ 0 };
	return 0;
}

/* What the writer does when there is nothing to fold, in this order; each returns 1 while it has more to do. */
static int rebuild_some(struct upkeep *u, struct store *s)
{
	return capture_rebuild_some(u->capture, s);
}

static int retain_if_due(struct upkeep *u, struct store *s)
{
	return u->retain ? retain_some(u, s) : 0;
}

int upkeep_idle(struct store *s, void *arg)
{
	static int (*const chores[])(struct upkeep * u, struct store * s) = { rebuild_some, retain_if_due };
	int r = 0;

	for (size_t i = 0; i < countof(chores) && r == 0; i++)
		r = chores[i](arg, s);
	return r;
}

/* -- the daily copy ---------------------------------------------------------------------------- */

static void back_up(void *arg)
{
	struct upkeep *u = arg;
	struct err err = { 0 };
	char path[FS_PATH];
	int r = store_backup_daily(u->paths->store, u->paths->backups, false, path, &err);

	if (r == 1)
		log_info(LOG_STORE, "daily backup: %s", path);
	/* Before the first event there is nothing to copy. */
	if (r < 0 && r != -ENOENT)
		log_error(LOG_STORE, "no daily backup could be made: %s", err.text);
	if (r == -EUCLEAN)
		writer_suspect(u->writer);
}

static void backed_up(void *arg)
{
	((struct upkeep *)arg)->backing_up = false;
}

void upkeep_back_up(struct upkeep *u)
{
	if (u->backing_up)
		return;
	u->backing_up = true;
	loop_submit_lane(u->loop, LOOP_BACKGROUND, back_up, backed_up, u);
}
