#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "api/web.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "capture/capture.h"
#include "config/config.h"
#include "config/owner.h"
#include "daemon/claim.h"
#include "daemon/indexing.h"
#include "daemon/mutes.h"
#include "daemon/recall.h"
#include "daemon/spawn.h"
#include "daemon/tmux.h"
#include "daemon/upkeep.h"
#include "engine/follow.h"
#include "engine/learn.h"
#include "engine/output.h"
#include "llm/llm.h"
#include "outbox/outbox.h"
#include "os/os.h"
#include "remind/remind.h"

enum {
	WORKERS = 4,       /* a backup, a reader and a transcript may each take long; events need one more */
	OPEN_LOOKS = 100,  /* ten a second: a migration may take longer, and nothing is checked then */
	TEMP_AGE_S = 60,   /* a temporary file that is older belongs to nobody who still runs */
	STALL_S = 15,      /* a connection that stalls in the middle of something */
	RELISTEN_MS = 500, /* after the socket went: it may be the first of a whole directory */
	STARTED_MS = 1000, /* after that, code of the start is not needed any more */
	STOP_MS = 1500,    /* for open turns */
	LEAVE_S = 5,       /* after that, for threads that do not end */
	EVICTED_S = 600,   /* then a whole store may have to be copied, and nothing else has it */
};

struct daemon {
	const struct paths *paths;
	struct config config;
	struct config_problem *problems;
	char token[OWNER_TOKEN + 1]; /* the owner's, or "" */
	struct claim claim;
	struct loop *loop;
	struct journal *journal;
	struct guard *guard;
	struct llm *llm;
	struct engine *engine;
	struct server *server;
	struct capture *capture;
	struct writer *writer;
	struct journal_syncer *syncer;
	struct readers *readers;
	struct tmux *tmux;
	struct recall *recall;
	struct indexing *indexing;
	struct learner *learner;
	struct outbox *outbox;
	char contracts[FS_PATH]; /* of the outbox */
	struct follow *follow;
	struct outputs *outputs;
	struct api *api;
	struct web *web;
	struct janitor *janitor;
	struct loop_signal *signals[3];
	struct loop_io *spool_io, *place_io;
	int spool_watch, place_watch;
	struct mutes *mutes;
	struct loop_timer *relisten_timer;
	bool checking;                  /* a worker looks whether the directory is still ours */
	bool unreachable;               /* the socket is not, and will be looked at again */
	_Atomic enum claim_state place; /* as it was last seen */
	_Atomic bool evicted;           /* the directory is not ours, and the loop knows or will be told */
	struct loop_timer *stop_timer, *started_timer;
	int64_t stop_until_us;
	bool stopping;
	_Atomic bool cancelled; /* stopping, for workers */
	struct upkeep upkeep;
};

/* -- duties ------------------------------------------------------------------------------------ */

static void duty_expire(void *arg)
{
	struct daemon *d = arg;

	server_expire(d->server, STALL_S * USEC_PER_SEC);
}

static void duty_readers(void *arg)
{
	readers_close_idle(((struct daemon *)arg)->readers);
}

static void duty_spool(void *arg)
{
	struct daemon *d = arg;

	writer_notify_spool(d->writer);
}

static void duty_complete(void *arg)
{
	struct daemon *d = arg;

	upkeep_complete(&d->upkeep);
	learner_wake(d->learner); /* batches that end by themselves, imports */
}

static void duty_retain(void *arg)
{
	upkeep_retain(&((struct daemon *)arg)->upkeep);
}

static void duty_backup(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping)
		upkeep_back_up(&d->upkeep);
}

/* -- whose directory it is --------------------------------------------------------------------- */

static void begin_stop(void *arg);

static int listen_everywhere(struct daemon *d, struct err *err);

/* Another daemon may be at home there by now, or soon: this one stops. From any thread but the loop. */
static void evict(struct daemon *d, enum claim_state is)
{
	if (atomic_exchange(&d->evicted, true))
		return;
	log_warn(LOG_DAEMON, "%s; stopping, so that the next hook starts a daemon it can reach",
		is == CLAIM_REMOVED ? "the state directory was removed"
				    : "the state directory or its lock was moved or replaced");
	loop_post(d->loop, begin_stop, d);
}

/* The socket alone is gone. It is made again, but not at once: somebody may be removing the whole directory. */
static void on_unreachable(void *arg)
{
	struct daemon *d = arg;

	if (!d->unreachable && !d->stopping)
		loop_timer_set(d->relisten_timer, RELISTEN_MS * USEC_PER_MSEC);
	d->unreachable = true;
}

static void check_place(void *arg)
{
	struct daemon *d = arg;

	d->place = claim_check(&d->claim);
	if (d->place == CLAIM_UNREACHABLE)
		loop_post(d->loop, on_unreachable, d);
	else if (d->place != CLAIM_HELD)
		evict(d, d->place);
}

static void place_checked(void *arg)
{
	((struct daemon *)arg)->checking = false;
}

static void duty_place(void *arg)
{
	struct daemon *d = arg;

	if (d->checking || d->stopping)
		return;
	d->checking = true;
	loop_submit_lane(d->loop, LOOP_PEOPLE, check_place, place_checked, d);
}

static void listen_again(void *arg)
{
	struct daemon *d = arg;
	struct err err = { 0 };

	d->unreachable = false;
	if (d->stopping || d->evicted || d->place != CLAIM_UNREACHABLE)
		return;
	log_warn(LOG_DAEMON, "the socket was removed or replaced; making it again");
	server_close_listeners(d->server);
	claim_drop_sockets(&d->claim);
	if (listen_everywhere(d, &err) < 0) {
		log_error(LOG_DAEMON, "%s; stopping", err.text);
		begin_stop(d);
	}
}

static void on_relisten(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping)
		loop_submit_lane(d->loop, LOOP_PEOPLE, check_place, listen_again, d);
}

static void duty_mutes(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping)
		mutes_look(d->mutes);
}

static void on_place(int what, void *arg)
{
	struct daemon *d = arg;

	(void)what;
	os_watch_drain(d->place_watch);
	mutes_lost(d->mutes); /* its directory may be what was removed */
	duty_place(d);
}

/* The sockets apart: store and journal are ours as long as directory and lock are. */
static bool is_home(void *arg)
{
	return claim_check(&((struct daemon *)arg)->claim) <= CLAIM_UNREACHABLE;
}

/* -- after the start --------------------------------------------------------------------------- */

/* The pages were checked when the store was opened. Whether every index agrees with its table takes longer. */
static void check_after_crash(struct daemon *d)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	struct writer_state state;
	char problem[200];

	writer_get_state(d->writer, &state);
	for (int i = 0; i < OPEN_LOOKS && !state.open && !d->cancelled; i++) {
		nanosleep(&pause, NULL);
		writer_get_state(d->writer, &state);
	}
	if (!state.open || !state.unclean)
		return;
	if (store_check_indexes(d->paths->store, &d->cancelled, problem) == -EUCLEAN) {
		log_error(LOG_STORE, "a check after a crash found: %s", problem);
		writer_suspect(d->writer);
	}
}

/* On a worker: what an earlier daemon left behind. */
static void clean_up(void *arg)
{
	struct daemon *d = arg;

	paths_sweep(d->paths, TEMP_AGE_S);
	api_resume(d->api);
	check_after_crash(d);
}

static void cleaned_up(void *arg)
{
	(void)arg;
}

static void sweep(void *arg)
{
	paths_sweep(((struct daemon *)arg)->paths, TEMP_AGE_S);
}

/* Callers are killed as well, in the middle of writing to the spool. */
static void duty_sweep(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping)
		loop_submit_lane(d->loop, LOOP_PEOPLE, sweep, cleaned_up, d);
}

const struct duty daemon_duties[] = {
	{ "close stalled connections", 60 * USEC_PER_SEC, duty_expire },
	{ "close unused readers of the store", 60 * USEC_PER_SEC, duty_readers },
	{ "pick up the spool", 60 * USEC_PER_SEC, duty_spool },
	{ "check that directory, lock and socket are still ours", 60 * USEC_PER_SEC, duty_place },
	{ "look whether any session is private", 60 * USEC_PER_SEC, duty_mutes },
	{ "complete batches (300 s) and sessions (1 h) without activity", 60 * USEC_PER_SEC, duty_complete },
	{ "delete temporary files that nobody writes any more", 600 * USEC_PER_SEC, duty_sweep },
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
	d->cancelled = true;
	server_close_listeners(d->server);
	engine_stop_hooks(d->engine);
	llm_stop(d->llm);
	outbox_stop(d->outbox);
	indexing_stop(d->indexing);
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
	claim_add_socket(&d->claim, d->paths->socket);
	if (!second[0])
		return 0;
	/* The second address is a convenience; without it hookc finds the first. */
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(second, '/') - second), second);
	r = fs_private_dir(dir);
	if (r == 0)
		r = server_listen(d->server, second);
	if (r == 0)
		claim_add_socket(&d->claim, second);
	else
		log_warn(LOG_DAEMON, "cannot listen at %s: %s; using %s alone", second, strerror(-r), d->paths->socket);
	return 0;
}

static void on_spool(int what, void *arg)
{
	struct daemon *d = arg;

	(void)what;
	os_watch_drain(d->spool_watch);
	writer_notify_spool(d->writer);
	engine_load_fleet(d->engine, d->readers);
}

static void start_watching(struct daemon *d)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	for (size_t i = 0; i < countof(signals); i++)
		d->signals[i] = loop_signal_new(d->loop, signals[i], on_signal, d);
	d->spool_watch = os_watch_dir(d->paths->spool);
	if (d->spool_watch >= 0)
		d->spool_io = loop_io_new(d->loop, d->spool_watch, LOOP_READ, on_spool, d);
	d->place_watch = os_watch_place(d->paths->state, d->paths->run);
	if (d->place_watch >= 0)
		d->place_io = loop_io_new(d->loop, d->place_watch, LOOP_READ, on_place, d);
	d->mutes = mutes_new(d->loop, d->paths->run);
	mutes_look(d->mutes);
	d->stop_timer = loop_timer_new(d->loop, check_stopped, d);
	d->relisten_timer = loop_timer_new(d->loop, on_relisten, d);
	d->janitor = janitor_new(d->loop, daemon_duties, d);
}

static int fold(struct store *s, const struct record *r, enum writer_care care, void *arg)
{
	struct capture *c = ((struct daemon *)arg)->capture;
	int got;

	capture_hush(c, care == WRITER_AGAIN);
	got = care == WRITER_PLAINLY ? capture_fold(c, s, r) : capture_fold_carefully(c, s, r);
	capture_hush(c, false);
	return got;
}

static int finish(struct store *s, void *arg)
{
	struct daemon *d = arg;

	if (s)
		return capture_finish(d->capture, s);
	capture_forget(d->capture);
	return 0;
}

static int idle(struct store *s, void *arg)
{
	return upkeep_idle(s, &((struct daemon *)arg)->upkeep);
}

/* What the journal cannot keep safe is folded at once. On the sync thread. */
static void on_synced(const struct journal_sync_state *s, void *arg)
{
	struct daemon *d = arg;

	if (s->trouble[0])
		writer_notify(d->writer, s->failed, 0, WRITER_NOW);
	engine_synced(d->engine);
	check_place(d);
}

static void wake_learner(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping)
		learner_wake(d->learner);
}

/* On the writer thread. */
static void on_committed(void *arg)
{
	struct daemon *d = arg;

	outbox_committed(d->outbox);
	if (capture_has_ordered(d->capture))
		loop_post(d->loop, wake_learner, d);
}

static void listen_to_capture(struct daemon *d)
{
	if (fs_join(d->contracts, d->paths->state, "contracts.json") < 0)
		d->contracts[0] = 0;
	d->outbox = outbox_new(&(struct outbox_config){ .config = d->paths->config,
		.contracts = d->contracts[0] ? d->contracts : NULL,
		.home = d->paths->home,
		.max = config_number(&d->config, OPTION_OUTBOX_MAX) });
	capture_listen(d->capture,
		&(struct capture_listener){ .wants = outbox_wants,
			.tell = outbox_tell,
			.forget = outbox_forget,
			.arg = d->outbox });
	engine_set_urgent(d->engine, outbox_urgent(d->outbox));
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
		.is_home = is_home,
		.fold_arg = d,
		.committed = on_committed,
		.arg = d,
	};

	d->upkeep.writer = d->writer = writer_start(&w);
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

/* Once, when the start is over. */
static void on_started(void *arg)
{
	wake_learner(arg); /* what an earlier daemon left */
	os_release_code();
}

static void start_learning(struct daemon *d)
{
	struct learner_config c = { .loop = d->loop,
		.engine = d->engine,
		.readers = d->readers,
		.memories = recall_memories(d->recall),
		.writer = d->writer,
		.capture = d->capture,
		.llm = d->llm,
		.outbox = d->outbox,
		.config = &d->config,
		.home = d->paths->home };

	d->learner = learner_new(&c);
}

static void on_event(const struct event *e, void *arg)
{
	struct daemon *d = arg;

	indexing_hear(e, d->indexing);
	outputs_hear(e, d->outputs);
}

static bool wants_output(void *arg)
{
	const struct daemon *d = arg;

	return *outbox_kinds(d->outbox) >> EVENT_OUTPUT & 1 || web_is_followed(d->web);
}

/* Who hears of events before they are answered. */
static void start_hearing(struct daemon *d)
{
	d->indexing = indexing_new(d->loop, d->paths, &d->config);
	d->outputs = outputs_new(&(struct output_config){ .loop = d->loop,
		.engine = d->engine,
		.home = d->paths->home,
		.wanted = wants_output,
		.arg = d });
	engine_on_event(d->engine, on_event, d);
	d->tmux = tmux_new(d->loop, d->engine, d->paths, &d->config);
}

static void start_following(struct daemon *d)
{
	d->follow = follow_new(&(struct follow_config){ .loop = d->loop,
		.journal = d->journal,
		.writer = d->writer,
		.capture = d->capture,
		.home = d->paths->home,
		.store = d->paths->store });
	engine_on_turn_end(d->engine, follow_soon, d->follow);
}

static void on_index(const char *root, void *arg)
{
	indexing_update(((struct daemon *)arg)->indexing, root);
}

static struct guard *make_guard(const struct paths *paths)
{
	struct guard *guard = guard_new(paths);
	struct guard_problem *problems = guard_problems(guard);

	for (const struct guard_problem *p = problems; p; p = p->next)
		log_warn(LOG_CONFIG, "%s:%u:%u: %s", paths->config, p->err.line, p->err.col, p->err.text);
	guard_problems_free(problems);
	return guard;
}

static int build(struct daemon *d, struct err *err)
{
	struct engine_config engine = { .run_dir = d->paths->run,
		.spool = d->paths->spool,
		.keeper = os_this_program,
		.state = d->paths->state,
		.user_config = d->paths->config,
		.home = d->paths->home,
		.hook_path = config_text(&d->config, OPTION_HOOKS_PATH).p,
		.reminders = reminders_of(config_text(&d->config, OPTION_REMIND)),
		.strict = config_number(&d->config, OPTION_DURABILITY) != 0 };
	struct server_handlers handlers = { .hook = on_hook, .records = on_records, .line = on_line, .arg = d };
	struct api_context api = { .paths = d->paths,
		.config = &d->config,
		.config_problems = d->problems,
		.token = d->token,
		.started_us = clock_wall_us(),
		.stop = begin_stop,
		.has_jobs = wake_learner,
		.index = on_index,
		.stop_arg = d };
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
	journal_set_claim(d->journal, is_home, d);
	engine.loop = api.loop = d->loop;
	engine.guard = api.guard = d->guard = make_guard(d->paths);
	engine.journal = api.journal = d->journal;
	d->llm = engine.llm = api.llm = llm_new(&(struct llm_config){ .loop = d->loop,
		.config = &d->config,
		.state = d->paths->state,
		.secret = d->token });
	d->engine = api.engine = engine_new(&engine);
	loop_before_sleep(d->loop, engine_before_sleep, d->engine);
	d->capture = capture_new();
	listen_to_capture(d);
	d->upkeep = (struct upkeep){ .paths = d->paths,
		.config = &d->config,
		.loop = d->loop,
		.capture = d->capture,
		.outbox = d->outbox };
	start_writer(d);
	api.readers = d->readers = readers_new(d->paths->store);
	api.outbox = d->outbox;
	outbox_start(d->outbox, d->writer, d->readers);
	start_hearing(d);
	api.outputs = d->outputs;
	d->recall = recall_new(d->loop, d->readers, d->paths, &d->config, d->token);
	engine_set_context(d->engine, recall_context(d->recall));
	engine_load_efforts(d->engine, d->readers);
	api.memories = recall_memories(d->recall);
	api.context = recall_context(d->recall);
	api.code = recall_code(d->recall);
	api.writer = d->writer;
	api.syncer = d->syncer;
	api.capture = d->capture;
	api.web = &d->web;
	d->api = api_new(&api);
	d->web = web_start(d->api, d->paths, &d->config);
	engine_on_record(d->engine, web_tell, d->web);
	start_following(d);
	start_learning(d);
	d->started_timer = loop_timer_new(d->loop, on_started, d);
	loop_timer_set(d->started_timer, STARTED_MS * USEC_PER_MSEC);
	start_watching(d);
	loop_submit_lane(d->loop, LOOP_BACKGROUND, clean_up, cleaned_up, d);
	return 0;
}

/* A disk that hangs blocks whoever waits for it, and no thread can be ended from outside. What was acknowledged is in
 * the journal, so exiting is as safe as being killed. */
static void *leave_at_last(void *arg)
{
	const struct timespec patience = { .tv_sec = *(const int *)arg };

	nanosleep(&patience, NULL);
	log_error(LOG_DAEMON, "something did not finish within %d s (is a disk hanging?); exiting without it",
		*(const int *)arg);
	_exit(1);
}

static void bound_stop(bool evicted)
{
	static int seconds;
	pthread_t thread;

	seconds = evicted ? EVICTED_S : LEAVE_S;
	if (pthread_create(&thread, NULL, leave_at_last, &seconds) == 0)
		pthread_detach(thread);
}

/* In reverse order of dependency: first what brings work in, then what does it, last what they depend on. */
static void take_apart(struct daemon *d)
{
	bound_stop(d->evicted);
	web_stop(d->web);
	if (d->server)
		server_close_listeners(d->server);
	if (d->engine)
		engine_before_sleep(d->engine);
	outbox_join(d->outbox); /* what was sent is written down */
	writer_stop(d->writer);
	journal_syncer_stop(d->syncer);
	llm_join(d->llm); /* its callbacks are among those that run now */
	loop_stop_workers(d->loop);
	janitor_free(d->janitor);
	loop_io_free(d->spool_io);
	loop_io_free(d->place_io);
	if (d->mutes)
		mutes_lost(d->mutes);
	fs_closep(&d->spool_watch);
	fs_closep(&d->place_watch);
	for (size_t i = 0; i < countof(d->signals); i++)
		loop_signal_free(d->signals[i]);
	loop_timer_free(d->stop_timer);
	loop_timer_free(d->started_timer);
	loop_timer_free(d->relisten_timer);
	follow_free(d->follow);
	outputs_free(d->outputs);
	api_free(d->api);
	web_free(d->web);
	server_free(d->server);
	tmux_free(d->tmux);
	engine_free(d->engine);
	guard_free(d->guard);
	indexing_free(d->indexing);
	learner_free(d->learner);
	llm_free(d->llm);
	loop_free(d->loop);
	recall_free(d->recall);
	readers_free(d->readers);
	mutes_free(d->mutes); /* a worker may have looked until now */
	writer_free(d->writer);
	journal_syncer_free(d->syncer);
	capture_free(d->capture);
	outbox_free(d->outbox);
	journal_free(d->journal);
	config_problems_free(d->problems);
	config_release(&d->config);
	claim_release(&d->claim);
}

/* However it was started: what runs later must not depend on the shell or agent that happened to be first. */
static void take_own_environment(const struct paths *paths)
{
	extern char **environ;

	environ = daemon_environment(paths);
	tzset();
}

int daemon_run(const struct paths *paths, const struct daemon_options *how, struct err *err)
{
	struct daemon d = { .paths = paths, .spool_watch = -1, .place_watch = -1 };
	struct err token_err = { 0 };
	int r = paths_make(paths, err), token;

	umask(0077);
	take_own_environment(paths);
	os_keep_memory_small();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is like a full disk: the write says so */
	raise_fd_limit();
	if (r < 0)
		return r;
	r = claim_take(&d.claim, paths, err);
	if (r < 0) {
		claim_release(&d.claim);
		return r;
	}
	load_config(&d);
	token = owner_token(paths, d.token, &token_err);
	r = log_open(paths->log, (size_t)config_number(&d.config, OPTION_LOG_MAX_MB) << 20, how->foreground);
	if (r < 0)
		fprintf(stderr, "hookd: the log %s cannot be opened: %s; continuing without it\n", paths->log,
			strerror(-r));
	log_config_problems(&d);
	if (token < 0)
		log_error(LOG_DAEMON, "%s; what needs it is refused", token_err.text);
	r = build(&d, err);
	if (r == 0) {
		log_info(LOG_DAEMON, "hookd %s listens at %s, pid %ld", HOOKD_VERSION, paths->socket, (long)getpid());
		if (how->ready)
			how->ready(how->arg);
		os_give_memory_back(); /* what reading the configuration and building tables took */
		loop_run(d.loop);
		log_info(LOG_DAEMON, "stopped");
	} else {
		log_error(LOG_DAEMON, "%s", err->text);
	}
	take_apart(&d);
	log_close();
	return r;
}
