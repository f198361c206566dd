#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "capture/capture.h"
#include "config/config.h"
#include "os/os.h"
#include "wire/wire.h"

enum {
	WORKERS = 4,         /* a backup, a reader and a transcript may each take long; events need one more */
	SETTLE_AT_ONCE = 8,  /* sessions that an import left */
	STALL_S = 15,        /* a connection that stalls in the middle of something */
	STOP_MS = 1500,      /* for open turns */
	LEAVE_S = 5,         /* after that, for threads that do not end */
	LOCK_WAIT_MS = 2000, /* a restart: the old daemon may still be closing its store */
};

struct daemon {
	const struct paths *paths;
	struct config config;
	struct config_problem *problems;
	int lock_fd;
	struct loop *loop;
	struct journal *journal;
	struct guard *guard;
	struct engine *engine;
	struct server *server;
	struct capture *capture;
	struct writer *writer;
	struct journal_syncer *syncer;
	struct api *api;
	struct janitor *janitor;
	struct loop_signal *signals[3];
	struct loop_io *spool_io;
	int spool_watch;
	struct loop_timer *stop_timer;
	int64_t stop_until_us;
	bool stopping, backing_up;
	/* The writer thread's. */
	bool retain; /* look for what exceeds the limits */
	struct capture_count retained;
};

/* -- duties ------------------------------------------------------------------------------------ */

static void duty_expire(void *arg)
{
	struct daemon *d = arg;

	server_expire(d->server, STALL_S * USEC_PER_SEC);
}

static void duty_readers(void *arg)
{
	api_close_idle_readers(((struct daemon *)arg)->api);
}

static void duty_spool(void *arg)
{
	struct daemon *d = arg;

	writer_notify_spool(d->writer);
}

static int tend(struct store *s, void *arg)
{
	struct daemon *d = arg;
	int r = capture_refold_due(d->capture, s, SETTLE_AT_ONCE); /* an import that was interrupted */

	return r < 0 ? r : capture_complete_stale(s, clock_wall_us());
}

static void duty_tend(void *arg)
{
	struct daemon *d = arg;

	writer_post(d->writer, tend, d);
}

static int retain(struct store *s, void *arg)
{
	(void)s;
	((struct daemon *)arg)->retain = true;
	return 0;
}

/* Only makes it due; the writer deletes in small steps when it has nothing to fold. */
static void duty_retain(void *arg)
{
	struct daemon *d = arg;

	writer_post(d->writer, retain, d);
}

static void back_up(void *arg)
{
	struct daemon *d = arg;
	struct err err = { 0 };
	char path[FS_PATH];
	int r = store_backup_daily(d->paths->store, d->paths->backups, false, path, &err);

	if (r == 1)
		log_info(LOG_STORE, "daily backup: %s", path);
	/* Before the first event there is nothing to copy. */
	if (r < 0 && r != -ENOENT)
		log_error(LOG_STORE, "no daily backup could be made: %s", err.text);
	if (r == -EUCLEAN)
		writer_suspect(d->writer);
}

static void backed_up(void *arg)
{
	((struct daemon *)arg)->backing_up = false;
}

static void duty_backup(void *arg)
{
	struct daemon *d = arg;

	if (d->backing_up || d->stopping)
		return;
	d->backing_up = true;
	loop_submit_lane(d->loop, LOOP_BACKGROUND, back_up, backed_up, d);
}

static void begin_stop(void *arg);

/* Somebody removed or replaced our socket: hooks no longer reach this daemon, so it stops and lets them start
 * another. */
static void duty_own_socket(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping && !server_owns_paths(d->server)) {
		log_warn(LOG_DAEMON,
			"the socket is no longer ours; stopping, so that the next hook starts a daemon it can reach");
		begin_stop(d);
	}
}

const struct duty daemon_duties[] = {
	{ "close stalled connections", 60 * USEC_PER_SEC, duty_expire },
	{ "close unused readers of the store", 60 * USEC_PER_SEC, duty_readers },
	{ "pick up the spool", 60 * USEC_PER_SEC, duty_spool },
	{ "check that the socket is still ours", 60 * USEC_PER_SEC, duty_own_socket },
	{ "complete batches (300 s) and sessions (1 h) without activity", 60 * USEC_PER_SEC, duty_tend },
	{ "copy the store once a day when it has changed; the newest three are kept", 600 * USEC_PER_SEC, duty_backup },
	{ "delete sessions beyond retention.days and store.max_mb", 600 * USEC_PER_SEC, duty_retain },
	{ 0 },
};

/* -- stopping ---------------------------------------------------------------------------------- */

static void check_stopped(void *arg)
{
	struct daemon *d = arg;

	if ((engine_turns(d->engine) || loop_jobs(d->loop)) && clock_mono_us() < d->stop_until_us) {
		loop_timer_set(d->stop_timer, 5 * USEC_PER_MSEC);
		return;
	}
	loop_stop(d->loop);
}

static void begin_stop(void *arg)
{
	struct daemon *d = arg;

	if (d->stopping)
		return;
	d->stopping = true;
	server_close_listeners(d->server);
	engine_stop_hooks(d->engine);
	d->stop_until_us = clock_mono_us() + STOP_MS * USEC_PER_MSEC;
	/* Not at once: the answer to `hookd stop` itself still has to leave. */
	loop_timer_set(d->stop_timer, USEC_PER_MSEC);
}

static void on_signal(int signo, void *arg)
{
	log_info(LOG_DAEMON, "stopping on signal %d", signo);
	begin_stop(arg);
}

/* -- starting ---------------------------------------------------------------------------------- */

static int take_lock(struct daemon *d, struct err *err)
{
	int64_t until = clock_mono_us() + LOCK_WAIT_MS * USEC_PER_MSEC;
	const struct timespec pause = { .tv_nsec = 10000000 };
	char pid[32];

	d->lock_fd = open(d->paths->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d->lock_fd < 0)
		return err_set(err, -errno, "the lock %s cannot be opened: %s", d->paths->lock, strerror(errno));
	while (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(err, -errno, "the lock %s cannot be taken: %s", d->paths->lock, strerror(errno));
		if (clock_mono_us() > until)
			return err_set(err, -EEXIST, "another hookd is running for %s", d->paths->state);
		nanosleep(&pause, NULL);
	}
	/* By this one clients tell us from others who listen; without it they do not wait for long hooks. */
	if (wire_hold(d->lock_fd) < 0)
		log_warn(LOG_DAEMON, "the lock %s cannot be shown to clients: %s", d->paths->lock, strerror(errno));
	/* For people only; the lock is the truth. */
	snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (ftruncate(d->lock_fd, 0) == 0)
		(void)!write(d->lock_fd, pid, strlen(pid));
	return 0;
}

static void load_config(struct daemon *d)
{
	config_load(d->paths->config, &d->config, &d->problems);
	log_set_levels(config_text(&d->config, OPTION_LOG_LEVEL), true, NULL);
}

static void log_config_problems(const struct daemon *d)
{
	for (const struct config_problem *p = d->problems; p; p = p->next)
		log_warn(LOG_CONFIG, "%s:%u:%u: %s", d->paths->config, p->err.line, p->err.col, p->err.text);
}

/* Hooks come in bursts; each needs a file descriptor for a moment. */
static void raise_fd_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = MIN(r.rlim_max, (rlim_t)LIMIT_CONNECTIONS * 2);
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static int listen_everywhere(struct daemon *d, struct err *err)
{
	char dir[FS_PATH];
	const char *second = d->paths->runtime_socket;
	int r = server_listen(d->server, d->paths->socket);

	if (r < 0)
		return err_set(err, r, "cannot listen at %s: %s", d->paths->socket,
			r == -EADDRINUSE ? "something that is not our socket is in the way; move it" : strerror(-r));
	if (!second[0])
		return 0;
	/* The second address is a convenience; without it hookc finds the first. */
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(second, '/') - second), second);
	r = fs_private_dir(dir);
	if (r == 0)
		r = server_listen(d->server, second);
	if (r < 0)
		log_warn(LOG_DAEMON, "cannot listen at %s: %s; using %s alone", second, strerror(-r), d->paths->socket);
	return 0;
}

static void on_spool(int what, void *arg)
{
	struct daemon *d = arg;

	(void)what;
	os_watch_drain(d->spool_watch);
	writer_notify_spool(d->writer);
}

static void start_watching(struct daemon *d)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	for (size_t i = 0; i < countof(signals); i++)
		d->signals[i] = loop_signal_new(d->loop, signals[i], on_signal, d);
	d->spool_watch = os_watch_dir(d->paths->spool);
	if (d->spool_watch >= 0)
		d->spool_io = loop_io_new(d->loop, d->spool_watch, LOOP_READ, on_spool, d);
	d->stop_timer = loop_timer_new(d->loop, check_stopped, d);
	d->janitor = janitor_new(d->loop, daemon_duties, d);
}

static int fold(struct store *s, const struct record *r, bool careful, void *arg)
{
	struct capture *c = ((struct daemon *)arg)->capture;

	return careful ? capture_fold_carefully(c, s, r) : capture_fold(c, s, r);
}

static int finish(struct store *s, void *arg)
{
	struct daemon *d = arg;

	if (s)
		return capture_finish(d->capture, s);
	capture_forget(d->capture);
	return 0;
}

/* 1: more to delete, or pages to release. */
static int retain_some(struct daemon *d, struct store *s)
{
	const struct capture_limits limits = { .days = config_number(&d->config, OPTION_RETENTION_DAYS),
		.bytes = config_number(&d->config, OPTION_STORE_MAX_MB) << 20 };
	int r = capture_retain_some(s, &limits, clock_wall_us(), &d->retained);

	if (r == 0)
		r = capture_shrink_some(s);
	if (r)
		return r;
	d->retain = false;
	if (d->retained.sessions)
		log_info(LOG_STORE, "%lld sessions over the limits deleted, with %lld events",
			(long long)d->retained.sessions, (long long)d->retained.events);
	d->retained = (struct capture_count){ 0 };
	return 0;
}

static int idle(struct store *s, void *arg)
{
	struct daemon *d = arg;
	int r = capture_rebuild_some(d->capture, s);

	return r == 0 && d->retain ? retain_some(d, s) : r;
}

/* What the journal cannot keep safe is folded at once. On the sync thread. */
static void on_synced(const struct journal_sync_state *s, void *arg)
{
	struct daemon *d = arg;

	if (s->trouble[0])
		writer_notify(d->writer, s->failed, 0, WRITER_NOW);
	engine_synced(d->engine);
}

static void start_writer(struct daemon *d)
{
	struct writer_config w = {
		.store_path = d->paths->store,
		.journal_dir = d->paths->journal,
		.spool_dir = d->paths->spool,
		.backup_dir = d->paths->backups,
		.journal = d->journal,
		.linger_ms = (int)config_number(&d->config, OPTION_STORE_LINGER_MS),
		.fold = fold,
		.finish = finish,
		.idle = idle,
		.fold_arg = d,
	};

	d->writer = writer_start(&w);
	d->syncer = journal_syncer_start(d->journal, on_synced, d);
	engine_set_writer(d->engine, d->writer, d->syncer);
}

/* The handlers of the server have different owners. */
static void on_hook(struct conn *c, str body, void *arg)
{
	engine_hook(c, body, ((struct daemon *)arg)->engine);
}

static void on_line(struct conn *c, str line, void *arg)
{
	api_line(c, line, ((struct daemon *)arg)->api);
}

static void on_records(struct conn *c, str body, void *arg)
{
	api_records(c, body, ((struct daemon *)arg)->api);
}

static int build(struct daemon *d, struct err *err)
{
	struct engine_config engine = { .run_dir = d->paths->run,
		.state = d->paths->state,
		.user_config = d->paths->config,
		.home = getenv("HOME"),
		.strict = config_number(&d->config, OPTION_DURABILITY) != 0 };
	struct server_handlers handlers = { .hook = on_hook, .records = on_records, .line = on_line, .arg = d };
	struct api_context api = { .paths = d->paths,
		.config = &d->config,
		.config_problems = d->problems,
		.started_us = clock_wall_us(),
		.stop = begin_stop,
		.stop_arg = d };
	struct guard_problem *problems;
	int r;

	d->loop = loop_new(WORKERS);
	if (!d->loop)
		return err_set(err, -ENOMEM, "the event loop cannot be made");
	/* The sockets first, because they fail most often; nobody is served before loop_run(), when everything else
	 * is ready. */
	d->server = api.server = server_new(d->loop, &handlers);
	r = listen_everywhere(d, err);
	if (r < 0)
		return r;
	r = journal_open(d->paths->journal, &d->journal);
	if (r < 0)
		return err_set(err, r, "the journal in %s cannot be opened: %s", d->paths->journal, strerror(-r));
	engine.loop = api.loop = d->loop;
	engine.guard = api.guard = d->guard = guard_new(d->paths);
	problems = guard_problems(d->guard);
	for (const struct guard_problem *p = problems; p; p = p->next)
		log_warn(LOG_CONFIG, "%s:%u:%u: %s", d->paths->config, p->err.line, p->err.col, p->err.text);
	guard_problems_free(problems);
	engine.journal = api.journal = d->journal;
	d->engine = api.engine = engine_new(&engine);
	loop_before_sleep(d->loop, engine_before_sleep, d->engine);
	d->capture = capture_new();
	start_writer(d);
	api.writer = d->writer;
	api.syncer = d->syncer;
	api.capture = d->capture;
	d->api = api_new(&api);
	engine_on_turn_end(d->engine, api_turn_ended, d->api);
	start_watching(d);
	return 0;
}

/* A disk that hangs blocks whoever waits for it, and no thread can be ended from outside. What was acknowledged is in
 * the journal, so exiting is as safe as being killed. */
static void *leave_at_last(void *arg)
{
	const struct timespec patience = { .tv_sec = LEAVE_S };

	(void)arg;
	nanosleep(&patience, NULL);
	log_error(LOG_DAEMON, "something did not finish within %d s (is a disk hanging?); exiting without it", LEAVE_S);
	_exit(1);
}

static void bound_stop(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, leave_at_last, NULL) == 0)
		pthread_detach(thread);
}

/* In reverse order of dependency: first what brings work in, then what does it, last what they depend on. */
static void take_apart(struct daemon *d)
{
	bound_stop();
	if (d->server)
		server_close_listeners(d->server);
	if (d->engine)
		engine_before_sleep(d->engine);
	writer_stop(d->writer);
	journal_syncer_stop(d->syncer);
	loop_stop_workers(d->loop);
	janitor_free(d->janitor);
	loop_io_free(d->spool_io);
	fs_closep(&d->spool_watch);
	for (size_t i = 0; i < countof(d->signals); i++)
		loop_signal_free(d->signals[i]);
	loop_timer_free(d->stop_timer);
	api_free(d->api);
	server_free(d->server);
	engine_free(d->engine);
	guard_free(d->guard);
	loop_free(d->loop);
	writer_free(d->writer);
	journal_syncer_free(d->syncer);
	capture_free(d->capture);
	journal_free(d->journal);
	config_problems_free(d->problems);
	config_release(&d->config);
	fs_closep(&d->lock_fd);
}

int daemon_run(const struct paths *paths, const struct daemon_options *how, struct err *err)
{
	struct daemon d = { .paths = paths, .lock_fd = -1, .spool_watch = -1 };
	int r = paths_make(paths, err);

	umask(0077);
	os_keep_memory_small();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is like a full disk: the write says so */
	raise_fd_limit();
	if (r == 0)
		r = take_lock(&d, err);
	if (r < 0) {
		fs_closep(&d.lock_fd);
		return r;
	}
	load_config(&d);
	r = log_open(paths->log, (size_t)config_number(&d.config, OPTION_LOG_MAX_MB) << 20, how->foreground);
	if (r < 0)
		fprintf(stderr, "hookd: the log %s cannot be opened: %s; continuing without it\n", paths->log,
			strerror(-r));
	log_config_problems(&d);
	r = build(&d, err);
	if (r == 0) {
		log_info(LOG_DAEMON, "hookd %s listens at %s, pid %ld", HOOKD_VERSION, paths->socket, (long)getpid());
		if (how->ready)
			how->ready(how->arg);
		loop_run(d.loop);
		log_info(LOG_DAEMON, "stopped");
	} else {
		log_error(LOG_DAEMON, "%s", err->text);
	}
	take_apart(&d);
	log_close();
	return r;
}
