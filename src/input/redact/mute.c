/* Muted sessions as marker files. The name is a hash because a session id is whatever an agent sent: it may hold
 * slashes, or be a megabyte long.
 *
 * A marker says from when to when: its times are the moments of the private prompt and of the one that ended it
 * (modification and access; nobody reads the file, so nothing else changes them). Events do not come in order: one
 * that waited in a queue or for a daemon belongs to the moment it happened, not to the one it arrived. So a marker
 * outlives its end for an hour.
 *
 * Every event asks, and nearly always there is not one marker. So whoever watches the directory may look once and
 * skip the question: `changes` counts what may have brought a marker, `none_at` is the count at which there was none.
 *
 * If a marker cannot be written, the session is muted in this process's memory, and status and log report it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/sha256.h"
#include "redact/redact.h"

enum {
	MARKER_NAME = sizeof "muted/" + SHA256_HEX,
	KEPT_S = 3600,      /* after its end */
	SWEEP_MAX = 256,    /* old markers looked at in one go */
	UNWRITTEN_MAX = 64, /* the oldest is replaced */
};

struct interval {
	int64_t begin_us, end_us; /* end 0: not yet */
};

/* A clock that was set back makes everything look older than it is: rather too private than not. */
static bool covers(const struct interval *i, int64_t at_us)
{
	if (i->end_us)
		return at_us >= i->begin_us && at_us < i->end_us;
	return at_us >= i->begin_us || clock_wall_us() < i->begin_us;
}

static _Atomic unsigned changes = 1, none_at;

static bool nobody_is_muted(void)
{
	return none_at == changes;
}

void redact_mutes_changed(void)
{
	changes++;
}

static void marker_name(str agent, str session, char out[MARKER_NAME])
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, agent.n ? agent.p : "", agent.n);
	/* A zero between them: agent "ab", session "c" is not agent "a", session "bc". */
	sha256_add(&s, "", 1);
	sha256_add(&s, session.n ? session.p : "", session.n);
	sha256_end(&s, digest);
	sha256_hex(digest, hex);
	snprintf(out, MARKER_NAME, "muted/%s", hex);
}

/* -- what could not be written ----------------------------------------------------------------- */

/* Redactors of several threads share it; it is empty unless the disk fails. */
static struct {
	pthread_mutex_t lock;
	struct {
		char name[MARKER_NAME];
		struct interval when;
	} list[UNWRITTEN_MAX];
	unsigned n;
	int error;
} unwritten = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int find_unwritten(const char *name)
{
	for (unsigned i = 0; i < unwritten.n; i++)
		if (strcmp(unwritten.list[i].name, name) == 0)
			return (int)i;
	return -1;
}

static bool get_unwritten(const char *name, struct interval *ret)
{
	int i;

	if (!__atomic_load_n(&unwritten.n, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&unwritten.lock);
	i = find_unwritten(name);
	if (i >= 0)
		*ret = unwritten.list[i].when;
	pthread_mutex_unlock(&unwritten.lock);
	return i >= 0;
}

static void put_unwritten(const char *name, const struct interval *when, int error)
{
	int i;

	pthread_mutex_lock(&unwritten.lock);
	redact_mutes_changed();
	i = find_unwritten(name);
	if (i < 0 && unwritten.n == UNWRITTEN_MAX)
		memmove(unwritten.list, unwritten.list + 1, --unwritten.n * sizeof unwritten.list[0]);
	if (i < 0)
		i = (int)unwritten.n;
	snprintf(unwritten.list[i].name, MARKER_NAME, "%s", name);
	unwritten.list[i].when = *when;
	unwritten.error = error;
	if ((unsigned)i == unwritten.n)
		__atomic_store_n(&unwritten.n, unwritten.n + 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&unwritten.lock);
}

static void drop_unwritten(const char *name)
{
	int i;

	if (!__atomic_load_n(&unwritten.n, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&unwritten.lock);
	i = find_unwritten(name);
	if (i >= 0) {
		unwritten.list[i] = unwritten.list[unwritten.n - 1];
		__atomic_store_n(&unwritten.n, unwritten.n - 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&unwritten.lock);
}

unsigned redact_mute_trouble(int *ret_error)
{
	unsigned n;

	pthread_mutex_lock(&unwritten.lock);
	n = unwritten.n;
	*ret_error = unwritten.error;
	pthread_mutex_unlock(&unwritten.lock);
	return n;
}

/* -- markers ----------------------------------------------------------------------------------- */

static int64_t us_of(struct timespec t)
{
	return (int64_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

static struct timespec time_of(int64_t us)
{
	return (struct timespec){ .tv_sec = us / USEC_PER_SEC, .tv_nsec = us % USEC_PER_SEC * 1000 };
}

static struct interval interval_of(const struct stat *st)
{
	struct interval i = { .begin_us = us_of(st->st_mtim), .end_us = us_of(st->st_atim) };

	if (i.end_us <= i.begin_us)
		i.end_us = 0;
	return i;
}

/* One call and not three: every event asks this. */
static bool read_marker(const char *run_dir, const char *name, struct interval *ret)
{
	char path[FS_PATH + MARKER_NAME];
	struct stat st;
	int n = snprintf(path, sizeof path, "%s/%s", run_dir, name);

	if (n <= 0 || (size_t)n >= sizeof path || lstat(path, &st) < 0)
		return false;
	*ret = interval_of(&st);
	return true;
}

/* Deletes markers that ended long ago. True when none is left. */
static bool sweep(int dir)
{
	int64_t oldest = clock_wall_us() - KEPT_S * USEC_PER_SEC;
	int fd = openat(dir, "muted", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;
	bool none = d != NULL;

	if (!d && fd >= 0)
		close(fd);
	for (int i = 0; d && i < SWEEP_MAX && (e = readdir(d)); i++) {
		if (e->d_name[0] == '.')
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !interval_of(&st).end_us ||
			interval_of(&st).end_us >= oldest || unlinkat(fd, e->d_name, 0) < 0)
			none = false;
	}
	if (d)
		closedir(d);
	return none;
}

void redact_mutes_look(const char *run_dir)
{
	unsigned seen = changes;
	int dir = open(run_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	if (dir < 0)
		return;
	if (sweep(dir) && !__atomic_load_n(&unwritten.n, __ATOMIC_RELAXED))
		none_at = seen;
	close(dir);
}

static int write_marker(const char *run_dir, const char *name, const struct interval *when)
{
	struct timespec times[2] = { time_of(when->end_us ? when->end_us : when->begin_us), time_of(when->begin_us) };
	int dir = open(run_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC), fd = -1, r = 0;

	if (dir < 0)
		return -errno;
	if (mkdirat(dir, "muted", 0700) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0 && (fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	redact_mutes_changed();
	if (r == 0 && futimens(fd, times) < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	(void)sweep(dir);
	close(dir);
	return r;
}

static void set_interval(const char *run_dir, const char *name, const struct interval *when)
{
	int r = write_marker(run_dir, name, when);

	if (r == 0) {
		drop_unwritten(name);
		return;
	}
	put_unwritten(name, when, -r);
	log_error(LOG_ENGINE,
		"a session cannot be marked as private under %s: %s; it is treated as private until hookd stops",
		run_dir, strerror(-r));
}

static bool get_interval(const char *run_dir, const char *name, struct interval *ret)
{
	if (!get_unwritten(name, ret))
		return read_marker(run_dir, name, ret);
	/* The disk may work again. */
	if (write_marker(run_dir, name, ret) == 0)
		drop_unwritten(name);
	return true;
}

bool redact_is_muted(const char *run_dir, str agent, str session, int64_t at_us)
{
	char name[MARKER_NAME];
	struct interval when;

	if (nobody_is_muted())
		return false;
	marker_name(agent, session, name);
	return get_interval(run_dir, name, &when) && covers(&when, at_us);
}

void redact_mute(const char *run_dir, str agent, str session, int64_t at_us)
{
	char name[MARKER_NAME];

	marker_name(agent, session, name);
	set_interval(run_dir, name, &(struct interval){ .begin_us = at_us });
}

void redact_unmute(const char *run_dir, str agent, str session, int64_t at_us)
{
	char name[MARKER_NAME];
	struct interval when;

	if (nobody_is_muted())
		return;
	marker_name(agent, session, name);
	if (!get_interval(run_dir, name, &when) || when.end_us || at_us <= when.begin_us)
		return;
	when.end_us = at_us;
	set_interval(run_dir, name, &when);
}

void redact_and_mute(struct redactor *r, struct arena *a, const char *run_dir, const struct event *e,
	struct record *ret, struct redact_report *ret_report)
{
	bool prompt = e->kind == EVENT_USER_PROMPT_SUBMIT;
	bool muted = !prompt && redact_is_muted(run_dir, e->agent, e->session, e->at_us);

	redact(r, a, e, muted ? REDACT_MUTED : 0, ret, ret_report);
	if (prompt && ret_report->wholly_private)
		redact_mute(run_dir, e->agent, e->session, e->at_us);
	else if (prompt || e->kind == EVENT_SESSION_END)
		redact_unmute(run_dir, e->agent, e->session, e->at_us);
}
