/* watch: an agent in the foreground of this terminal, started again when its context was full.
 *
 * The agent gets the terminal, and this process stays out of its way: it shares its process group, so keys reach the
 * agent as ever. A thread asks the daemon whether the agent is to be started again; everything else happens in one
 * loop over a pipe, into which signals and that thread write. Without a daemon the agent runs as it would alone.
 *
 * Started again is only what the daemon had end: never an agent that its user has left, that crashed, or that is at a
 * limit of its provider. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/ulid.h"
#include "cli/commands.h"
#include "cli/launch.h"

enum {
	ROUND_MS = 30000,
	MORE_MS = 10000,
	AWAY_S = 5,       /* until an absent daemon is asked again */
	TERM_MS = 3000,   /* after INT */
	KILL_MS = 10000,  /* after TERM */
	PAUSE_MAX_S = 60, /* between two starts */
	RESTARTS = 5,     /* in an hour */
	RESTARTS_MAX = 100,
	TEXT_MAX = 4096,
	BY_PROCESS = 0x80, /* a signal that another process has sent */
	NEWS = 0x7f,       /* the thread has heard something */
};

struct watch {
	struct cli *cli;
	char id[ULID_TEXT + 1];
	const char *const *words;
	int nwords;
	int64_t max_restarts;
	struct termios terminal;
	bool has_terminal;
	pid_t child;
	bool ends;                      /* it was asked to */
	bool user_quit;                 /* somebody pressed ^C, or ended us */
	int64_t restarts[RESTARTS_MAX]; /* when */
	size_t nrestarts;
	/* Of the thread. */
	struct cli asks;
	pthread_mutex_t lock;
	char prompt[TEXT_MAX], effort[ULID_TEXT + 1];
	bool limited;
};

static int news[2] = { -1, -1 }; /* of the one supervisor that a process is */

/* -- what is heard ------------------------------------------------------------------------------- */

static void say(unsigned char what)
{
	int before = errno;

	(void)!write(news[1], &what, 1);
	errno = before;
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	say((unsigned char)(signo | (info->si_code <= 0 ? BY_PROCESS : 0)));
}

static void take_orders(struct watch *w, const struct json *result)
{
	str event = cell_text(result, "event");

	pthread_mutex_lock(&w->lock);
	w->limited |= str_eq(event, STR("rate_limit"));
	if (str_eq(event, STR("overflow"))) {
		snprintf(w->prompt, sizeof w->prompt, STR_FMT, STR_ARG(cell_text(result, "prompt")));
		snprintf(w->effort, sizeof w->effort, STR_FMT, STR_ARG(cell_text(result, "effort")));
	}
	pthread_mutex_unlock(&w->lock);
	say(NEWS);
}

/* The thread. It ends with the process. */
static void *listen_to_daemon(void *arg)
{
	const struct timespec pause = { .tv_sec = AWAY_S };
	struct watch *w = arg;
	int64_t since = clock_wall_us();

	w->asks.answer_ms = ROUND_MS + MORE_MS;
	for (;;) {
		struct json *result = NULL;
		struct err err = { 0 };
		int64_t asked = clock_wall_us();
		str params = arena_strf(&w->asks.arena, "{\"watch\":\"%s\",\"since_us\":%lld,\"timeout_ms\":%d}", w->id,
			(long long)since, ROUND_MS);

		if (cli_call(&w->asks, false, "fleet.supervise", params, &result, &err) < 0) {
			nanosleep(&pause, NULL);
		} else if (json_true(json_get(result, STR("happened")))) {
			take_orders(w, result);
			since = asked;
		}
		arena_reset(&w->asks.arena);
	}
	return NULL;
}

static int start_listening(struct watch *w)
{
	static const int signals[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t all, before;
	pthread_t thread;
	int r;

	if (pipe(news) < 0 || fcntl(news[0], F_SETFD, FD_CLOEXEC) < 0 || fcntl(news[1], F_SETFD, FD_CLOEXEC) < 0 ||
		fcntl(news[1], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	sigfillset(&act.sa_mask);
	for (size_t i = 0; i < countof(signals); i++)
		sigaction(signals[i], &act, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, NULL, listen_to_daemon, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

/* -- the agent ------------------------------------------------------------------------------------- */

static int start(struct watch *w, char *const *argv)
{
	fflush(NULL);
	w->ends = false;
	w->child = fork();
	if (w->child < 0)
		return cli_fail("%s cannot be started: %s", argv[0], strerror(errno));
	if (w->child > 0)
		return EXIT_DONE;
	execvp(argv[0], argv); /* what was caught is at its default there */
	cli_fail("%s cannot be started: %s", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* What the user gave, without the prompt and the session of the first time. */
static int words_again(const struct watch *w, const char **ret)
{
	static const char *const one[] = { "--continue", "-c" };
	static const char *const two[] = { "--resume", "-r", "--session-id" };
	int n = 0;

	for (int i = 0; i < w->nwords; i++) {
		bool skip = false;

		for (size_t k = 0; k < countof(one) && i; k++)
			skip |= strcmp(w->words[i], one[k]) == 0;
		for (size_t k = 0; k < countof(two) && i; k++)
			if (strcmp(w->words[i], two[k]) == 0) {
				skip = true;
				i += i + 1 < w->nwords && w->words[i + 1][0] != '-';
				break;
			}
		/* A text with blanks in the last place is a prompt. */
		skip |= i && i == w->nwords - 1 && w->words[i][0] != '-' && strchr(w->words[i], ' ');
		if (!skip)
			ret[n++] = w->words[i];
	}
	return n;
}

static char **first_argv(struct watch *w)
{
	char **argv = arena_alloc(&w->cli->arena, ((size_t)w->nwords + 1) * sizeof *argv);

	for (int i = 0; i < w->nwords; i++)
		argv[i] = (char *)w->words[i];
	argv[w->nwords] = NULL;
	return argv;
}

static char **next_argv(struct watch *w)
{
	const char *words[ARGS_MAX];
	int n = words_again(w, words);
	char **argv;

	pthread_mutex_lock(&w->lock);
	argv = launch_argv(w->cli, launch_find(w->words[0]), words, n, str_of(w->prompt));
	w->prompt[0] = '\0';
	pthread_mutex_unlock(&w->lock);
	/* So the next window goes on with this effort and no other. */
	if (!getenv("AGENT_ID"))
		setenv("AGENT_ID", w->effort, 1);
	return argv;
}

/* -- while it runs --------------------------------------------------------------------------------- */

static bool is_wanted_again(struct watch *w)
{
	bool wanted;

	pthread_mutex_lock(&w->lock);
	wanted = w->prompt[0];
	pthread_mutex_unlock(&w->lock);
	return wanted;
}

/* Politely at first. Returns how long until the next step, in ms. */
static int press(const struct watch *w, size_t *step)
{
	static const struct {
		int signo, wait_ms;
	} steps[] = { { SIGINT, TERM_MS }, { SIGTERM, KILL_MS }, { SIGKILL, KILL_MS } };
	size_t now = *step;

	kill(w->child, steps[now].signo);
	*step = MIN(now + 1, countof(steps) - 1);
	return steps[now].wait_ms;
}

static void on_byte(struct watch *w, unsigned char byte)
{
	int signo = byte & ~BY_PROCESS;
	bool keyboard = !(byte & BY_PROCESS) && (signo == SIGINT || signo == SIGQUIT);

	if (byte == NEWS || signo == SIGCHLD)
		return;
	w->user_quit |= keyboard ? w->ends : true;
	/* Keys have reached the agent already. */
	if (!keyboard)
		kill(w->child, signo);
}

/* Until it ends: its status as of waitpid(). */
static int attend(struct watch *w)
{
	struct pollfd p = { .fd = news[0], .events = POLLIN };
	int status = 0, wait_ms = -1;
	size_t step = 0;

	for (;;) {
		unsigned char byte;
		int n = poll(&p, 1, wait_ms);

		if (n > 0 && read(news[0], &byte, 1) == 1)
			on_byte(w, byte);
		if (waitpid(w->child, &status, WNOHANG) == w->child)
			return status;
		if (!w->ends && is_wanted_again(w))
			w->ends = true;
		else if (!w->ends || n != 0)
			continue;
		wait_ms = press(w, &step);
	}
}

/* -- again ----------------------------------------------------------------------------------------- */

static size_t restarts_lately(const struct watch *w)
{
	int64_t hour_ago = clock_mono_us() - 3600 * (int64_t)USEC_PER_SEC;
	size_t n = 0;

	for (size_t i = 0; i < MIN(w->nrestarts, (size_t)RESTARTS_MAX); i++)
		n += w->restarts[i] > hour_ago;
	return n;
}

/* The first at once, then after 1, 2, 4 … seconds. False: the user does not want it any more. */
static bool pause_for(struct watch *w, size_t before)
{
	int64_t until = clock_mono_us() +
		(before ? MIN(1LL << MIN(before - 1, (size_t)10), (long long)PAUSE_MAX_S) : 0) * (int64_t)USEC_PER_SEC;

	for (;;) {
		struct pollfd p = { .fd = news[0], .events = POLLIN };
		int64_t left = (until - clock_mono_us()) / USEC_PER_MSEC;
		unsigned char byte;

		if (left <= 0)
			return true;
		if (poll(&p, 1, (int)left) > 0 && read(news[0], &byte, 1) == 1 && byte != NEWS &&
			(byte & ~BY_PROCESS) != SIGCHLD)
			return false;
	}
}

static int exit_code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int report(struct watch *w, int status)
{
	if (w->limited)
		fprintf(stderr, "hookd: the agent has met a rate limit of its provider; it is not started again\n");
	return exit_code_of(status);
}

static int give_up(const struct watch *w, size_t times)
{
	const struct launch *known = launch_find(w->words[0]);

	return cli_fail(
		"the agent's context was full %zu times within an hour; go on with: hookd effort resume %s%s%s%s",
		times, w->effort, known ? " --agent " : "", known ? known->agent : "", known ? " --run" : "");
}

static int supervise(struct watch *w)
{
	int r = start(w, first_argv(w)), status;

	for (; r == EXIT_DONE; r = start(w, next_argv(w))) {
		size_t before = restarts_lately(w);

		status = attend(w);
		if (w->has_terminal)
			tcsetattr(STDIN_FILENO, TCSADRAIN, &w->terminal);
		if (!w->ends || w->user_quit || w->limited)
			return report(w, status);
		if (before >= (size_t)w->max_restarts)
			return give_up(w, before + 1);
		if (!pause_for(w, before))
			return exit_code_of(status);
		w->restarts[w->nrestarts++ % RESTARTS_MAX] = clock_mono_us();
		fprintf(stderr, "hookd: the context was full; going on with effort %s\n", w->effort);
	}
	return r;
}

static int run_watch(struct cli *cli)
{
	struct watch *w = arena_new(&cli->arena, struct watch);
	struct ulid id = ulid_make();
	const char *agent = cli_value(cli, "agent", NULL);
	int r;

	*w = (struct watch){ .cli = cli, .words = cli->args, .nwords = cli->nargs, .max_restarts = RESTARTS };
	if (cli_value(cli, "max-restarts", NULL) &&
		(!str_to_int(str_of(cli_value(cli, "max-restarts", NULL)), &w->max_restarts) || w->max_restarts < 0 ||
			w->max_restarts >= RESTARTS_MAX))
		return cli_usage_error(cli, "--max-restarts needs a number from 0 to %d", RESTARTS_MAX - 1);
	ulid_format(&id, w->id);
	setenv("HOOKD_WATCH", w->id, 1);
	if (agent)
		setenv("AGENT_ID", agent, 1);
	w->has_terminal = tcgetattr(STDIN_FILENO, &w->terminal) == 0;
	w->asks = *cli;
	w->asks.arena = (struct arena){ 0 };
	pthread_mutex_init(&w->lock, NULL);
	r = start_listening(w);
	return r < 0 ? cli_fail("signals cannot be heard: %s", strerror(-r)) : supervise(w);
}

static const struct cmd_option options[] = {
	{ "agent", 0, "NAME", false, "its AGENT_ID" },
	{ "max-restarts", 0, "N", false, "start it again at most so often in an hour (default 5)" },
	{ 0 },
};

const struct cmd cmd_watch = {
	.name = "watch",
	.args = "-- PROGRAM [ARGUMENT …]",
	.text = "Run an agent here, and when its context is full, end it and start it again where its effort stands.",
	.min_args = 1,
	.max_args = ARGS_MAX - 1,
	.options = options,
	.run = run_watch,
};
