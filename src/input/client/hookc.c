/* hookc [--dir STATE] <agent> [<Event>] [args…]: see client.h. */
#include "client/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"

#ifndef HOOKD_VERSION
#define HOOKD_VERSION "unknown"
#endif

extern char **environ;

enum {
	EXIT_USAGE = 64,
	OUTPUT_MS = 10000, /* for whoever reads stdout or stderr to make room */
	ARGS_BYTES_MAX = 16 << 10,
};

/* All memory. cwd, head, the path of the lock, socket path and reply lie in `work` one behind the other, each only as
 * long as it is: an ordinary event touches a single page there, and page faults are a good part
 * of what a start costs. */
static struct {
	struct wire_hook hook;
	size_t used;
	char work[3 * PATH_MAX + LIMIT_FRAME_HEAD + WIRE_REPLY_FIXED + LIMIT_REPLY];
	char payload[LIMIT_PAYLOAD];
} mem;

static char *work_here(void)
{
	return mem.work + mem.used;
}

static size_t work_left(void)
{
	return sizeof mem.work - mem.used;
}

/* -- output ------------------------------------------------------------------------------------ */

/* The reader may be gone, slow, or never read: in each case hookc gives up. It writes pieces that a pipe takes whole,
 * each after a poll, so it never blocks. */
static void print(int fd, str s)
{
	int64_t end_us = clock_mono_us() + OUTPUT_MS * USEC_PER_MSEC;

	while (s.n) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		int64_t left_ms = (end_us - clock_mono_us()) / USEC_PER_MSEC;
		ssize_t n;
		int r = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0 || p.revents & POLLNVAL)
			return;
		n = write(fd, s.p, MIN(s.n, PIPE_BUF));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		s = str_from(s, n > 0 ? (size_t)n : 0);
	}
}

static _Noreturn void finish(const struct wire_reply *reply)
{
	/* Only writing can hit a broken pipe. */
	if (reply->out.n || reply->err.n)
		signal(SIGPIPE, SIG_IGN);
	print(STDOUT_FILENO, reply->out);
	print(STDERR_FILENO, reply->err);
	_exit(reply->exit_code);
}

/* -- command line ------------------------------------------------------------------------------ */

struct call {
	const char *dir, *agent, *event;
	str payload; /* set when it came as an argument */
	bool version, help;
};

/* Options come before the agent. Unknown ones are skipped: a hook line written for another release must keep working.
 */
static char **take_options(char **arg, struct call *c)
{
	for (; *arg && (*arg)[0] == '-'; arg++) {
		str a = str_of(*arg);

		if (str_eq(a, STR("--dir")) && arg[1])
			c->dir = *++arg;
		else if (str_starts(a, STR("--dir=")))
			c->dir = a.p + sizeof "--dir=" - 1;
		else if (str_eq(a, STR("--version")))
			c->version = true;
		else if (str_eq(a, STR("--help")) || str_eq(a, STR("-h")))
			c->help = true;
	}
	if (c->dir && !*c->dir)
		c->dir = NULL;
	return arg;
}

static void take_arguments(char **arg, struct call *c, struct wire_hook *h)
{
	size_t bytes = 0;

	arg = take_options(arg, c);
	if (!*arg)
		return;
	/* An empty word is what a script makes of an unset variable. */
	c->agent = (*arg)[0] ? *arg : "generic";
	arg++;
	if (*arg && (*arg)[0] != '-')
		c->event = *arg++;
	if (c->event && !*c->event)
		c->event = NULL;
	/* Codex passes its notification as the last argument and leaves stdin to the terminal. */
	if (*arg && c->event && str_eq_name(str_of(c->event), STR("notify"))) {
		char **last = arg;

		while (last[1])
			last++;
		c->payload = str_head(str_of(*last), LIMIT_PAYLOAD);
		*last = NULL;
	}
	for (; *arg && h->nargs < WIRE_ARGS_MAX; arg++) {
		str a = str_cut_utf8(str_of(*arg), ARGS_BYTES_MAX - bytes);

		h->args[h->nargs++] = a;
		bytes += a.n;
	}
	h->agent = str_cut_utf8(str_of(c->agent), LIMIT_NAME);
	h->event = c->event ? str_cut_utf8(str_of(c->event), LIMIT_NAME) : STR_NONE;
}

static _Noreturn void help(const struct call *c)
{
	char proto = '0' + WIRE_PROTO;
	struct wire_reply r = { .exit_code = c->version || c->help ? 0 : EXIT_USAGE };

	if (c->version) {
		print(STDOUT_FILENO, STR("hookc " HOOKD_VERSION " protocol "));
		print(STDOUT_FILENO, str_n(&proto, 1));
		r.out = STR("\n");
	} else {
		r.err = STR("usage: hookc [--dir STATE] <agent> [<Event>] < payload.json\n"
			    "       hookc codex notify '<json>'\n"
			    "       hookc --version\n"
			    "Agents call this for every hook event; `hookd init` sets it up.\n");
	}
	finish(&r);
}

/* -- payload ----------------------------------------------------------------------------------- */

static void take_payload(const struct call *c, struct wire_hook *h)
{
	struct input in;

	if (str_is_set(c->payload)) {
		h->payload = c->payload;
		return;
	}
	input_read(STDIN_FILENO, mem.payload, sizeof mem.payload, &in);
	h->payload = in.kept;
	h->cut = in.cut;
	h->total = in.total;
	memcpy(h->sha256, in.sha256, sizeof h->sha256);
}

/* -- the daemon -------------------------------------------------------------------------------- */

/* A directory that may hold the socket: base, then tail. */
struct place {
	const char *base, *tail;
};

enum { PLACES_MAX = 2 };

static size_t list_places(const struct call *c, const struct env_places *env, struct place out[PLACES_MAX])
{
	size_t n = 0;

	/* A hook line that names its directory leaves nothing for a project's environment to
	 * change. */
	if (c->dir) {
		out[n++] = (struct place){ c->dir, "/run" };
		return n;
	}
	if (env->hookd_dir) {
		out[n++] = (struct place){ env->hookd_dir, "/run" };
		return n;
	}
	if (env->runtime_dir)
		out[n++] = (struct place){ env->runtime_dir, "/hookd" };
	if (env->state_home)
		out[n++] = (struct place){ env->state_home, "/hookd/run" };
	else if (env->home)
		out[n++] = (struct place){ env->home, "/.local/state/hookd/run" };
	return n;
}

/* The place and a name in it, where the next piece of `work` begins. Its length, or 0 when it is too long. */
static size_t join(const struct place *place, const char *name)
{
	size_t base = strlen(place->base), tail = strlen(place->tail), n = strlen(name);
	char *path = work_here();

	if (base + tail + n >= PATH_MAX)
		return 0;
	memcpy(path, place->base, base);
	memcpy(path + base, place->tail, tail);
	memcpy(path + base + tail, name, n + 1);
	return base + tail + n;
}

static int connect_place(const struct place *place, int64_t deadline_us)
{
	/* Good until the reply comes. */
	return join(place, "/hookd.sock") ? wire_connect(work_here(), deadline_us) : -ENAMETOOLONG;
}

static enum handover_reason reason_for(int error, const struct wire_reply *reply)
{
	switch (-error) {
	case EPROTO: return reply->type == WIRE_REFUSED ? REASON_REFUSED : REASON_PROTOCOL;
	case ETIMEDOUT: return REASON_TIMEOUT;
	case EAGAIN: return REASON_BUSY;
	case EPERM:
	case EACCES: return REASON_FOREIGN;
	case EPROTOTYPE: return REASON_PROTOCOL;
	default: return REASON_ABSENT;
	}
}

/* Prints the daemon's answer and exits, or returns why there was none. */
static enum handover_reason ask_daemon(const struct call *c, const struct env_places *env, str head,
	int64_t deadline_us)
{
	enum handover_reason reason = REASON_ABSENT;
	struct place places[PLACES_MAX];
	size_t n = list_places(c, env, places);
	const char *lock = work_here();

	/* The last place is the directory of the state, where the daemon's lock is. */
	if (n)
		mem.used += join(&places[n - 1], "/hookd.lock") + 1;
	for (size_t i = 0; i < n; i++) {
		struct wire_reply reply = { .type = 0 };
		int fd = connect_place(&places[i], deadline_us), r = fd;

		if (fd >= 0) {
			r = wire_exchange(fd, head, mem.hook.payload, lock, deadline_us, work_here(), work_left(),
				&reply);
			if (r == 0)
				finish(&reply);
			/* It may have accepted the event; a second daemon must not get it too. */
			close(fd);
			return reason_for(r, &reply);
		}
		/* "Nobody there" says less than the error from another place. */
		if (reason == REASON_ABSENT)
			reason = reason_for(r, &reply);
	}
	return reason;
}

/* The promise to the agent is for both: waiting, and the hand-over if that was in vain, in which hookd parses, redacts
 * and stores the payload. For a large one that is most of the time there is. A daemon that lives says so as soon as it
 * has it. */
static int64_t patience_ms(const struct wire_hook *h)
{
	enum { LARGEST_HANDOVER_MS = 120 };

	return (int64_t)h->deadline_ms - (int64_t)(h->payload.n * LARGEST_HANDOVER_MS / LIMIT_PAYLOAD);
}

int main(int argc, char **argv)
{
	struct wire_hook *h = &mem.hook;
	struct call c = { NULL };
	struct env_places env;
	struct handover over;
	bool decision;
	int64_t start_us;
	ptrdiff_t head;

	take_arguments(argc > 0 ? argv + 1 : argv, &c, h);
	if (!c.agent || c.version || c.help)
		help(&c);
	/* Before stdin is read: the agent may still be writing meanwhile. */
	env_collect(environ, &env, h);
	if (getcwd(mem.work, PATH_MAX)) {
		h->cwd = str_of(mem.work);
		mem.used = h->cwd.n + 1;
	}
	h->pid = (uint32_t)getpid();
	h->ppid = (uint32_t)getppid();
	take_payload(&c, h);

	start_us = clock_mono_us();
	h->id = ulid_make();
	h->at_ms = ulid_ms(&h->id);
	/* A hook line without an event may be any. */
	decision = !c.event || is_decision(h->event);
	h->deadline_ms = decision ? WIRE_FIRST_DECISION_MS : WIRE_FIRST_CAPTURE_MS;
	head = wire_hook_encode(h, work_here(), LIMIT_FRAME_HEAD);
	if (head < 0)
		_exit(0);
	over = (struct handover){
		.argv0 = argv[0],
		.dir = c.dir,
		.agent = c.agent,
		.event = c.event,
		.cwd = h->cwd.p,
		.head = str_n(work_here(), (size_t)head),
		.payload = h->payload,
		.started_us = start_us,
	};
	mem.used += (size_t)head;
	over.reason = ask_daemon(&c, &env, over.head, start_us + patience_ms(h) * USEC_PER_MSEC);
	handover(&over);
	_exit(0);
}
