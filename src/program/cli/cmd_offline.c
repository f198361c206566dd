/* offline: what hookc becomes when no daemon answers.
 *
 * hookc execs this with the frame it could not deliver in a memory file. When there is no daemon at
 * all, one is started and tried for a moment; otherwise, or if that fails, the event is decided by the
 * static rules and kept in the spool, redacted, where the next daemon finds it. Whatever goes wrong
 * here, the agent gets its neutral answer in time.
 *
 * This file links the adapters, redaction, guard, the reading half of hooks and journal; never the store or the loop
 * (a test reads the link map). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agents/agents.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "cli/commands.h"
#include "config/config.h"
#include "daemon/spawn.h"
#include "guard/guard.h"
#include "hooks/hooks.h"
#include "journal/journal.h"
#include "redact/redact.h"
#include "wire/wire.h"

enum {
	/* From the last byte of stdin: 250 ms for capture and 500 ms for decisions are promised; what
	 * remains after these is for parsing, the spool and the end of the process. */
	GIVE_UP_CAPTURE_MS = 190,
	GIVE_UP_DECISION_MS = 440,
	SYNC_LATE_MS = 40, /* and this for a sync */
	RETRY_EVERY_MS = 2,
};

struct offline {
	struct cli *cli;
	struct buf frame;
	struct wire_hook hook;
	const struct agent *agent;
	struct event event;
	int64_t started_us;
	enum { STRICT_UNKNOWN, STRICT_NO, STRICT_YES } strict; /* durability */
	bool decision;                                         /* the answer can stop or change what the agent does */
};

/* -- the frame --------------------------------------------------------------------------------- */

static int read_frame(struct offline *o, int fd)
{
	struct wire_header h;
	off_t at = 0;

	buf_init(&o->frame, LIMIT_FRAME + WIRE_HEADER);
	for (;;) {
		char *to = buf_reserve(&o->frame, MIN(KIB(256), o->frame.max - o->frame.len));
		ssize_t n = to ? pread(fd, to, MIN(KIB(256), o->frame.max - o->frame.len), at) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_commit(&o->frame, (size_t)n);
		at += n;
	}
	if (o->frame.len < WIRE_HEADER || wire_header_decode(o->frame.p, &h) < 0 ||
		h.length != o->frame.len - WIRE_HEADER)
		return -EBADMSG;
	return wire_hook_decode(str_from(buf_str(&o->frame), WIRE_HEADER), &o->hook);
}

/* -- a daemon that is absent ------------------------------------------------------------------- */

/* Of all callers that find no daemon, whoever gets this lock starts one; it is kept until the process
 * ends, so that the others do not start another one meanwhile. */
static void start_daemon_once(struct offline *o)
{
	const struct paths *p = &o->cli->paths;
	struct err err = { 0 };
	char path[FS_PATH];
	int fd;

	if (paths_make(p, &err) < 0 || fs_join(path, p->run, "start.lock") < 0)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || daemon_has_lock(p))
		return;
	(void)daemon_spawn(cli_self_path(o->cli), p, 0, &err);
}

/* When to stop waiting for a daemon. */
static int64_t give_up_us(const struct offline *o)
{
	return o->started_us + (o->decision ? GIVE_UP_DECISION_MS : GIVE_UP_CAPTURE_MS) * USEC_PER_MSEC;
}

static int connect_for_a_while(struct offline *o)
{
	const struct timespec pause = { .tv_nsec = RETRY_EVERY_MS * 1000000 };
	int64_t until = MIN(clock_mono_us() + WIRE_START_RETRY_MS * USEC_PER_MSEC, give_up_us(o));
	int fd;

	for (;;) {
		fd = wire_connect(o->cli->paths.socket, until);
		if (fd >= 0 || (fd != -ENOENT && fd != -ECONNREFUSED) || clock_mono_us() >= until)
			return fd;
		nanosleep(&pause, NULL);
	}
}

static void write_out(int fd, str s)
{
	if (s.n)
		(void)fs_write_all(fd, s.p, s.n);
}

/* Delivers the frame to the daemon that has come up meanwhile. True when it answered. */
static bool deliver(struct offline *o, int *ret_exit)
{
	struct wire_reply reply;
	char *room;
	int r, fd = connect_for_a_while(o);

	if (fd < 0)
		return false;
	room = arena_bytes(&o->cli->arena, LIMIT_REPLY);
	r = wire_exchange(fd, buf_str(&o->frame), STR_NONE, o->cli->paths.lock, give_up_us(o), room, LIMIT_REPLY,
		&reply);
	close(fd);
	if (r < 0)
		return false;
	write_out(STDOUT_FILENO, reply.out);
	write_out(STDERR_FILENO, reply.err);
	*ret_exit = reply.exit_code;
	return true;
}

/* -- alone ------------------------------------------------------------------------------------- */

static bool is_strict(struct offline *o)
{
	struct config_problem *problems = NULL;
	struct config config = { 0 };

	if (o->strict == STRICT_UNKNOWN) {
		config_load(o->cli->paths.config, &config, &problems);
		o->strict = config_number(&config, OPTION_DURABILITY) ? STRICT_YES : STRICT_NO;
		config_problems_free(problems);
		config_release(&config);
	}
	return o->strict == STRICT_YES;
}

/* Not rotated from here: the daemon would go on writing to the file that was put aside. */
static bool open_log(const struct paths *p)
{
	struct stat st;

	return (stat(p->log, &st) < 0 || st.st_size < (off_t)(2 * LIMIT_LOG_FILE)) && log_open(p->log, 0, false) == 0;
}

/* Durability strict: on the disk before the answer, but the answer is not late because of it. A sync cannot be
 * interrupted, so a process of its own does it, and goes on if this one cannot wait for it. */
static void sync_in_time(struct offline *o, const struct record *record)
{
	const struct paths *p = &o->cli->paths;
	int fds[2], left = (int)((give_up_us(o) + SYNC_LATE_MS * USEC_PER_MSEC - clock_mono_us()) / USEC_PER_MSEC);
	struct pollfd done;
	char result = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		/* The agent waits for the end of our output, not of this. */
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		result = spool_sync(p->spool, record) == 0 ? '+' : '-';
		_exit(write(fds[1], &result, 1) == 1 ? 0 : 1);
	}
	close(fds[1]);
	done = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	if (pid > 0 && poll(&done, 1, MAX(left, 0)) == 1)
		(void)!read(fds[0], &result, 1);
	close(fds[0]);
	if (result != '+' && open_log(p))
		log_warn(LOG_SPOOL, "an event of " STR_FMT " is in the spool, but the disk did not confirm it in time",
			STR_ARG(record->agent));
}

static void keep_in_spool(struct offline *o, const struct event *e)
{
	const struct paths *p = &o->cli->paths;
	_cleanup_(redactor_freep) struct redactor *redactor = redactor_new();
	struct redact_report report = { 0 };
	struct record record;
	struct err err;
	int r;

	if (!p->state[0])
		return;
	if (paths_make(p, &err) < 0) {
		struct err why;

		if (paths_make_spool(p, &why) < 0)
			return;
		if (open_log(p))
			log_error(LOG_SPOOL, "no daemon can run: %s; events are kept in the spool", err.text);
	}
	redact_and_mute(redactor, &o->cli->arena, p->run, e, &record, &report);
	record.marks |= EVENT_SPOOLED;
	/* Clients report milliseconds. An event that goes to the spool came after those that the daemon accepted in
	 * the same one. */
	record.at_us += USEC_PER_MSEC - 1;
	record.order_us = record.at_us;
	r = spool_write(p->spool, &record, false);
	if (r == 0 && is_strict(o))
		sync_in_time(o, &record);
	if (r < 0 && open_log(p))
		log_error(LOG_SPOOL, "an event of " STR_FMT " could not be kept: %s", STR_ARG(record.agent),
			strerror(-r));
}

static void keep_decision(struct offline *o, const struct verdict *v)
{
	struct arena *a = &o->cli->arena;
	str payload = verdict_audit(v, &o->event, agent_hears(o->agent, &o->event, v), a);
	struct event decision;

	if (!str_is_set(payload))
		return;
	event_own(EVENT_DECISION, &o->event, payload, a, &decision);
	keep_in_spool(o, &decision);
}

static int answer_alone(struct offline *o)
{
	const struct paths *p = &o->cli->paths;
	struct arena *a = &o->cli->arena;
	struct verdict verdict = { 0 };
	struct buf out = BUF_INIT(LIMIT_REPLY);
	struct answer answer = { .out = &out };
	_cleanup_(guard_freep) struct guard *guard = guard_new_offline(&o->cli->paths);

	(void)guard_event(guard, &o->event, a, &verdict, /* may_use_disk= */ true);
	if (o->decision && p->state[0])
		hooks_decide_alone(&(struct hooks_where){ .agent = arena_cstr(a, o->event.agent),
					   .cwd = arena_cstr(a, o->event.cwd),
					   .home = p->home,
					   .user_config = p->config,
					   .state = p->state },
			p->run, &o->event, a, &verdict);
	agent_render(o->agent, &o->event, &verdict, a, &answer);
	keep_in_spool(o, &o->event);
	keep_decision(o, &verdict);
	write_out(STDOUT_FILENO, buf_str(&out));
	write_out(STDERR_FILENO, answer.err);
	buf_release(&out);
	return answer.exit_code;
}

static int run(struct cli *cli)
{
	struct offline o = { .cli = cli };
	const char *reason = cli_value(cli, "reason", "");
	int64_t fd, started;
	int exit_code = 0;

	signal(SIGPIPE, SIG_IGN); /* whoever does not want the answer may ignore it */
	if (!str_to_int(str_of(cli_value(cli, "fd", "")), &fd) || read_frame(&o, (int)fd) < 0)
		return EXIT_DONE; /* nothing that could be kept, and nobody to tell */
	o.started_us = str_to_int(str_of(cli_value(cli, "started-us", "")), &started) ? started : clock_mono_us();
	o.agent = agent_of_call(&o.hook);
	agent_parse(o.agent, &o.hook, &cli->arena, &o.event);
	o.decision = event_kinds[o.event.kind].flags & EVENT_IS_DECISION;
	/* Without a HOME there is nowhere to store anything, but the rules apply. A daemon that is there but hangs,
	 * is full or has another protocol is left alone. */
	if (strcmp(reason, "absent") == 0 && cli->paths.state[0]) {
		start_daemon_once(&o);
		if (deliver(&o, &exit_code))
			goto done;
	}
	exit_code = answer_alone(&o);
done:
	buf_release(&o.frame);
	return exit_code;
}

static const struct cmd_option offline_options[] = {
	{ "fd", 0, "N", false, "file descriptor of the frame" },
	{ "started-us", 0, "T", false, "monotonic time at which the client's deadline began" },
	{ "reason", 0, "WORD", false, "why the daemon was not used" },
	{ 0 },
};

const struct cmd cmd_offline = {
	.name = "offline",
	.args = "AGENT [EVENT]",
	.text = "Handle an event without a daemon; called by hookc.",
	.flags = CMD_HIDDEN | CMD_ANYWHERE,
	.min_args = 0,
	.max_args = ARGS_MAX,
	.options = offline_options,
	.run = run,
};
