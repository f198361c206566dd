#include "daemon/mutes.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "os/os.h"
#include "redact/redact.h"

struct mutes {
	struct loop *loop;
	const char *run_dir;
	struct loop_io *io;
	int watch;
	bool busy; /* a worker looks */
};

struct mutes *mutes_new(struct loop *l, const char *run_dir)
{
	struct mutes *m = xcalloc(1, sizeof *m);

	*m = (struct mutes){ .loop = l, .run_dir = run_dir, .watch = -1 };
	return m;
}

void mutes_free(struct mutes *m)
{
	if (!m)
		return;
	fs_closep(&m->watch);
	free(m);
}

void mutes_lost(struct mutes *m)
{
	redact_mutes_changed();
	if (!m->io)
		return; /* the watch, if there is one, is still a worker's */
	loop_io_free(m->io);
	m->io = NULL;
	fs_closep(&m->watch);
}

static void on_change(int what, void *arg)
{
	(void)what;
	os_watch_drain(((struct mutes *)arg)->watch);
	redact_mutes_changed();
}

static void begin_watch(void *arg)
{
	struct mutes *m = arg;
	char dir[FS_PATH];

	if (fs_join(dir, m->run_dir, "muted") < 0)
		return;
	(void)mkdir(dir, 0700);
	m->watch = os_watch_dir(dir);
}

static void look(void *arg)
{
	redact_mutes_look(((struct mutes *)arg)->run_dir);
}

static void looked(void *arg)
{
	((struct mutes *)arg)->busy = false;
}

/* Only now: what comes after the look must be noticed. */
static void watched(void *arg)
{
	struct mutes *m = arg;

	m->busy = m->watch >= 0;
	if (!m->busy)
		return;
	m->io = loop_io_new(m->loop, m->watch, LOOP_READ, on_change, m);
	loop_submit_lane(m->loop, LOOP_PEOPLE, look, looked, m);
}

void mutes_look(struct mutes *m)
{
	if (m->busy)
		return;
	m->busy = true;
	if (m->io)
		loop_submit_lane(m->loop, LOOP_PEOPLE, look, looked, m);
	else
		loop_submit_lane(m->loop, LOOP_PEOPLE, begin_watch, watched, m);
}
