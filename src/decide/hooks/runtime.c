/* Running hooks for events: sessions and their sets, the queue of children. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "hooks/internal.h"

enum { LOAD_MS = 500, TOKEN = 16, STARTS_AT_ONCE = 1, BACKGROUND_AT_ONCE = HOOKS_AT_ONCE / 2 };

#define HELD_MAX MIB(256)

/* A session and the hooks it was given. One without an owner is freed when its files have been read and its events
 * fired: it was made for one event, or released meanwhile. */
struct hooks_session {
	struct hooks_session *next;
	struct hooks *hooks;
	bool owned;
	char *agent, *id, *cwd;
	struct hook_set *set; /* NULL: on its way */
	struct fire *waiting, **last;
	int64_t asked_us;       /* monotonic: since when its files are being read */
	bool own;               /* it answers a question of ours: see is_own */
	bool user_asked;        /* the project's cannot be read; the user's own are read alone */
	uint8_t ran[HOOKS_MAX]; /* once */
	unsigned refs;          /* running jobs for it */
};

/* One event: all hooks it is for. */
struct fire {
	struct fire *next;
	struct hooks *hooks;
	struct hooks_request q;
	struct hook_set *set;
	struct run **runs;  /* in the order of definition; without observers */
	struct run **first; /* to be queued; a sequential group hangs on its first */
	unsigned nruns, nfirst, pending;
	bool own; /* of its session */
};

/* First in, first out. */
struct queue {
	struct run *first, **last;
};

/* One hook for one event. */
struct run {
	struct run *next; /* in the queue, or among those that run */
	struct run *then; /* the one after it in a sequential group */
	struct hooks *hooks;
	struct hook_set *set; /* a reference: hook lies in it */
	const struct hook *hook;
	struct fire *fire;         /* NULL: nobody waits for it */
	const struct event *event; /* as this run sees it; lives as long as the fire */
	struct loop_child *child;
	enum event_kind kind;
	int64_t queued_us; /* monotonic */
	char *agent, *session;
	struct buf input;  /* for a prompt hook, the data of its question */
	struct buf system; /* the rest of that */
	size_t held;       /* of it, counted in hooks->held */
	char **env;
	char *dir;
	struct hook_answer answer; /* in the arena of the event */
	str output, error;
	bool ended, own; /* own: of its session */
};

struct hooks {
	struct hooks_config config;
	struct loop_children *children;
	struct hooks_session *sessions;
	unsigned nsessions;
	struct queue queue, background; /* runs that an event waits for, and those that none does */
	struct run *running;
	struct run *asking;     /* a model */
	unsigned in_background; /* of those that run */
	struct hooks_state state;
	struct hook_history *history;
	char token[2 * TOKEN + 1];
	size_t held; /* bytes of input of all runs */
	struct loop_timer *late_loads;
	bool stopping, starting; /* starting: more of the queue is taken in the loop's next round */
};

/* -- history ----------------------------------------------------------------------------------- */

static void remember(struct run *r, const struct child_result *c)
{
	const struct hook_run_info info = { .hook = r->hook,
		.agent = r->agent,
		.session = r->session,
		.kind = r->kind };
	struct hooks *h = r->hooks;

	hook_history_add(h->history, h->config.redactor, &info, c, &r->answer);
	h->state.runs++;
	h->state.failures += str_is_set(r->answer.failure);
	h->state.timeouts += c->timed_out;
}

void hooks_write_history(const struct hooks *h, struct json_writer *w, unsigned limit)
{
	hook_history_write(h->history, w, limit);
}

/* -- the end of an event ----------------------------------------------------------------------- */

static void let_go_of_input(struct run *r)
{
	r->hooks->held -= r->held;
	r->held = 0;
	buf_release(&r->input);
	buf_release(&r->system);
}

static void run_free(struct run *r)
{
	let_go_of_input(r);
	hook_environment_free(r->env);
	free(r->dir);
	free(r->agent);
	free(r->session);
	hook_set_unref(r->set);
	free(r);
}

/* All answers are there: they are added in the order of definition, so that it does not matter which was faster. */
static void fire_end(struct fire *f)
{
	struct hook_outcome *list = NULL, **tail = &list;
	struct arena *a = f->q.arena;

	for (unsigned i = 0; i < f->nruns; i++) {
		struct run *r = f->runs[i];
		struct hook_outcome *o;

		hook_answer_apply(r->hook, f->q.event, &r->answer, a, f->q.verdict);
		o = arena_new(a, struct hook_outcome);
		o->hook = r->hook;
		o->success = !str_is_set(r->answer.failure);
		o->decision = r->answer.continue_turn ? VERDICT_DENY : r->answer.action;
		o->output = r->output;
		o->error = str_is_set(r->answer.failure) ? r->answer.failure : r->error;
		*tail = o;
		tail = &o->next;
	}
	f->q.done(list, f->q.arg);
	for (unsigned i = 0; i < f->nruns; i++)
		run_free(f->runs[i]);
	free(f->runs);
	free(f->first);
	hook_set_unref(f->set);
	free(f);
}

static void run_end(struct run *r);

static void skip(struct run *r, str why)
{
	r->answer = (struct hook_answer){ .failure = why };
	run_end(r);
}

/* -- starting ---------------------------------------------------------------------------------- */

static void start_next(struct hooks *h);

static void take_out(struct run **list, struct run *r)
{
	while (*list != r)
		list = &(*list)->next;
	*list = r->next;
}

static void on_done(const struct child_result *c, void *arg)
{
	struct run *r = arg;
	struct hooks *h = r->hooks;
	struct arena own, *a = r->fire ? r->fire->q.arena : &own;
	struct event e = { .kind = r->kind };

	arena_init(&own);
	hook_answer_read(r->hook, r->fire ? r->event : &e, c, a, &r->answer);
	remember(r, c);
	if (r->fire) {
		r->output = arena_str(a, str_cut_utf8(c->out, KIB(64)));
		r->error = arena_str(a, str_cut_utf8(c->err, KIB(64)));
	}
	take_out(&h->running, r);
	h->state.running--;
	h->in_background -= !r->fire;
	let_go_of_input(r);
	r->child = NULL;
	run_end(r);
	arena_release(&own);
	start_next(h);
}

/* An agent that has given up continues. A hook that must decide (on_failure) times out before that. */
static int64_t time_of(const struct run *r)
{
	bool firm = r->fire && r->hook->on_failure != VERDICT_NONE;

	if (!firm)
		return r->hook->timeout_us;
	return MIN(r->hook->timeout_us, HOOK_FIRM_S * USEC_PER_SEC - (clock_mono_us() - r->queued_us));
}

/* An http hook is posted by curl, a child like any other: with its deadline, its limits and its capped output, and
 * without a line of network code in the daemon. Everything that varies is passed in the environment and on stdin,
 * which only this user can read; redirects are not followed, and an answer other than 2xx is a failure. */
static const char http_script[] =
	"exec 3<&0; printf '%s\\n' \"$HOOKD_HTTP_HEADERS\" | exec \"$HOOKD_HTTP_CURL\" -q --silent "
	"--show-error --fail --proto =http,https --header @- --data-binary @/dev/fd/3 -- \"$HOOKD_HTTP_URL\"";

static void start(struct run *r)
{
	struct hooks *h = r->hooks;
	char *shell[] = { (char *)(r->hook->bash ? "/bin/bash" : "/bin/sh"), (char *)"-c", NULL, NULL };
	struct child_spec spec = { .path = shell[0],
		.argv = shell,
		.envp = r->env,
		.dir = r->dir,
		.input = buf_str(&r->input),
		.timeout_us = time_of(r),
		.output_max = MIB(1) };
	char *line = NULL;

	if (r->hook->tied) {
		spec.argv = (char *const *)r->hook->tied;
		spec.path = r->hook->tied[0];
	} else {
		line = r->hook->type == HOOK_HTTP ? xstrdup(http_script)
						  : xstrndup(r->hook->command.p, r->hook->command.n);
		shell[2] = line;
	}
	r->next = h->running;
	h->running = r;
	h->state.running++;
	h->in_background += !r->fire;
	r->child = loop_child_start(h->children, &spec, on_done, r);
	free(line);
}

/* -- asking a model ---------------------------------------------------------------------------- */

static void on_asked(bool answered, str text, void *arg)
{
	struct run *r = arg;
	struct arena own, *a = r->fire ? r->fire->q.arena : &own;
	struct event e = { .kind = r->kind };
	struct child_result c = { .duration_us = clock_mono_us() - r->queued_us, .out = answered ? text : STR("") };

	arena_init(&own);
	if (answered)
		hook_read_opinion(text, r->fire ? r->event : &e, a, &r->answer);
	else
		r->answer = (struct hook_answer){ .failure = arena_strf(a, "the model could not be asked: " STR_FMT,
							  STR_ARG(str_cut_utf8(text, KIB(1)))) };
	remember(r, &c);
	if (r->fire)
		r->output = arena_str(a, str_cut_utf8(c.out, KIB(64)));
	take_out(&r->hooks->asking, r);
	run_end(r);
	arena_release(&own);
}

/* Whoever answers has a queue of its own: no process of ours waits, so no slot is taken. */
static void ask(struct run *r)
{
	struct hooks *h = r->hooks;
	struct hook_question q = { .system = buf_str(&r->system),
		.user = buf_str(&r->input),
		.done = on_asked,
		.arg = r };

	r->queued_us = clock_mono_us();
	q.timeout_us = time_of(r);
	if (h->stopping || !h->config.ask)
		skip(r, h->stopping ? STR("hookd is stopping") : STR("there is no model to ask"));
	else if (r->own)
		skip(r, STR("this session answers a question of hookd's own, and a model is not asked about that"));
	else if (r->input.full || r->system.full)
		skip(r, STR("the event is too large for a question"));
	else if (r->fire && r->fire->q.wanted && !r->fire->q.wanted(r->fire->q.arg))
		skip(r, STR("nobody is waiting for the answer any more"));
	else {
		r->next = h->asking;
		h->asking = r;
		h->config.ask(&q, h->config.ask_arg);
		let_go_of_input(r);
	}
}

/* -- the queue --------------------------------------------------------------------------------- */

static struct run *take(struct hooks *h, struct queue *q)
{
	struct run *r = q->first;

	q->first = r->next;
	if (!q->first)
		q->last = &q->first;
	h->state.queued--;
	return r;
}

/* Hooks that an event waits for come first, and the others never take all the slots. */
static struct queue *next_queue(struct hooks *h)
{
	if (h->state.running >= HOOKS_AT_ONCE)
		return NULL;
	if (h->queue.first)
		return &h->queue;
	return h->background.first && h->in_background < BACKGROUND_AT_ONCE ? &h->background : NULL;
}

static void start_more(void *arg)
{
	struct hooks *h = arg;

	h->starting = false;
	start_next(h);
}

/* Starting a process takes a good part of a millisecond; other work runs in between. */
static void start_next(struct hooks *h)
{
	struct queue *q;
	struct run *r;

	for (int n = 0; !h->starting && (q = next_queue(h)); n++) {
		if (n == STARTS_AT_ONCE) {
			h->starting = true;
			loop_post(h->config.loop, start_more, h);
			return;
		}
		r = take(h, q);
		if (r->fire && r->fire->q.wanted && !r->fire->q.wanted(r->fire->q.arg))
			skip(r, STR("nobody is waiting for the answer any more"));
		else if (time_of(r) <= 0)
			skip(r, STR("it waited too long in the queue"));
		else
			start(r);
	}
}

static void enqueue(struct run *r)
{
	struct hooks *h = r->hooks;
	struct queue *q = r->fire ? &h->queue : &h->background;
	unsigned part = r->fire ? 1 : 2;

	if (r->hook->type == HOOK_PROMPT) {
		ask(r);
		return;
	}
	/* Observers get half of the queue, so that they cannot crowd out decisions. */
	if (h->stopping || h->state.queued >= HOOKS_QUEUED / part || h->held > HELD_MAX / part) {
		skip(r, h->stopping ? STR("hookd is stopping") : STR("too many hooks are waiting"));
		return;
	}
	r->held = r->input.len;
	h->held += r->held;
	r->next = NULL;
	r->queued_us = clock_mono_us();
	*q->last = r;
	q->last = &r->next;
	h->state.queued++;
}

/* In a sequential group a refusal ends the sequence: nothing more has to be decided. */
static void run_end(struct run *r)
{
	struct fire *f = r->fire;
	struct run *then = r->then;
	bool refused = r->answer.action == VERDICT_DENY;

	r->ended = true;
	for (; then && refused; then = then->then) {
		then->ended = true;
		if (then->fire)
			then->fire->pending--;
	}
	if (then)
		enqueue(then);
	if (!f)
		run_free(r);
	else if (--f->pending == 0)
		fire_end(f);
}

/* -- one event with its set -------------------------------------------------------------------- */

static struct run *make_run(struct fire *f, const struct hook *hook, const struct event *e)
{
	struct run *r = xcalloc(1, sizeof *r);
	str dir = str_is_set(f->set->root) ? f->set->root : e->cwd;

	r->hooks = f->hooks;
	r->set = f->set;
	r->set->refs++;
	r->hook = hook;
	r->event = e;
	r->kind = e->kind;
	r->own = f->own;
	r->agent = xstrndup(e->agent.p ? e->agent.p : "", e->agent.n);
	r->session = xstrndup(e->session.p ? e->session.p : "", MIN(e->session.n, (size_t)LIMIT_NAME));
	r->fire = hook->async || hook->observer ? NULL : f;
	buf_init(&r->input, LIMIT_RECORD);
	buf_init(&r->system, LIMIT_RECORD);
	r->dir = dir.n && dir.p[0] == '/' ? xstrndup(dir.p, dir.n) : xstrdup("/");
	return r;
}

/* An agent that a hook started calls us again with the mark of that hook in its environment: ":id" of each hook that
 * led here. The secret in front is known to nobody else, so that a project cannot switch hooks off by setting it. */
static str chain_of(const struct hooks *h, const struct event *e)
{
	const str name = STR("HOOKD_HOOK=");
	size_t token = strlen(h->token);

	for (size_t i = 0; token && i < e->nenv; i++)
		if (str_starts(e->env[i], name) && str_starts(str_from(e->env[i], name.n), str_of(h->token)))
			return str_from(e->env[i], name.n + token);
	return STR("");
}

static bool is_in_chain(str chain, const struct hook *h)
{
	str id;

	while (str_split(&chain, ':', &id))
		if (str_eq(id, str_of(h->id)))
			return true;
	return false;
}

/* The input of each; may run on a worker, so it has an arena of its own. */
static void prepare(void *arg)
{
	struct fire *f = arg;
	struct hook_surroundings where = { .root = f->set->root,
		.home = f->hooks->config.home,
		.path = f->hooks->config.path,
		.token = f->hooks->token,
		.chain = chain_of(f->hooks, f->q.event) };
	struct arena a;

	arena_init(&a);
	for (unsigned i = 0; i < f->nfirst; i++)
		for (struct run *r = f->first[i]; r; r = r->then) {
			str name = hook_tool_name(r->hook->group, r->event, &a);

			if (r->hook->type == HOOK_PROMPT) {
				hook_write_question(r->hook, r->event, name, &r->system, &r->input);
				continue;
			}
			hook_write_stdin(r->event, name, &r->input);
			r->env = hook_environment(r->hook, r->event, name, &where);
		}
	arena_release(&a);
}

static void prepared(void *arg)
{
	struct fire *f = arg;
	struct hooks *h = f->hooks;

	for (unsigned i = 0; i < f->nfirst; i++)
		enqueue(f->first[i]);
	start_next(h);
	if (--f->pending == 0)
		fire_end(f);
}

/* What the user should know when a session starts. */
static void tell_trouble(const struct hook_set *s, const struct hooks_request *q)
{
	struct verdict *v = q->verdict;
	struct arena *a = q->arena;
	unsigned untrusted = 0;
	str say = STR_NONE;

	if (q->event->kind != EVENT_SESSION_START)
		return;
	for (unsigned i = 0; i < s->count; i++)
		untrusted += s->all[i]->state == HOOK_UNTRUSTED;
	for (const struct hook_source *source = s->sources; source; source = source->next)
		if (source->errors && source->problems && source->scope == HOOK_USER)
			say = arena_strf(a, "hookd: " STR_FMT ":%u:%u: " STR_FMT "%s", STR_ARG(source->path),
				source->problems->line, source->problems->col, STR_ARG(source->problems->text),
				source->kept ? "; its last valid version is used" : "");
	if (!str_is_set(say) && s->trouble.text[0])
		/* The reason names files as the project calls them. */
		say = STR("hookd: files of this project must not be used, so its hooks do not run; to see why: hookd "
			  "trust");
	if (!str_is_set(say) && str_is_set(s->changed_script))
		say = arena_strf(a, "hookd: " STR_FMT ", which a hook of yours runs, has changed; it runs as it is now",
			STR_ARG(s->changed_script));
	if (!str_is_set(say) && untrusted)
		say = arena_strf(a, "hookd: %u hooks of this project %s and do not run; to review them: hookd trust",
			untrusted, trust_state_names[s->trust == TRUST_CHANGED ? TRUST_CHANGED : TRUST_NONE]);
	if (str_is_set(say))
		v->system_message = str_empty(v->system_message)
			? say
			: arena_strf(a, STR_FMT "\n" STR_FMT, STR_ARG(v->system_message), STR_ARG(say));
}

static void add_run(struct fire *f, const struct hook *hook, const struct event *view, struct run **last)
{
	struct run *r = make_run(f, hook, view), *before = *last;

	if (r->fire) {
		f->runs[f->nruns++] = r;
		f->pending++;
	}
	if (before && before->hook->group == hook->group && hook->group->sequential && before->fire && r->fire)
		before->then = r;
	else
		f->first[f->nfirst++] = r;
	*last = r;
}

static void add_runs(struct fire *f, struct hooks_session *s, struct hook **list, unsigned n)
{
	str chain = chain_of(f->hooks, f->q.event);
	const struct event *views[HOOK_VIEWS];
	struct run *last = NULL;
	bool more;
	size_t nviews = hook_views(f->q.event, f->q.arena, views, &more);

	f->runs = xcalloc(n * nviews + 1, sizeof *f->runs);
	f->first = xcalloc(n * nviews + 1, sizeof *f->first);
	f->pending = 1; /* ours, until all are queued */
	for (unsigned i = 0; i < n; i++) {
		hook_cannot_run(list[i], f->q.event, f->q.arena, f->q.verdict);
		if (list[i]->state != HOOK_LIVE || (list[i]->once && s->ran[list[i]->index]) ||
			is_in_chain(chain, list[i]))
			continue;
		s->ran[list[i]->index] = 1;
		for (size_t j = 0; j < nviews; j++)
			add_run(f, list[i], views[j], &last);
	}
	if (more && f->nruns && f->q.event->kind == EVENT_PRE_TOOL_USE)
		verdict_raise(f->q.verdict, VERDICT_ASK, STR("hook"),
			STR("this patch changes more files than are shown to its hooks"));
}

/* Nothing is run: what on_failure says holds. */
static void fail_all(struct fire *f, struct hook **list, unsigned n)
{
	const struct hook_answer failed = { .failure = f->q.not_run };

	for (unsigned i = 0; i < n; i++) {
		hook_cannot_run(list[i], f->q.event, f->q.arena, f->q.verdict);
		if (list[i]->state == HOOK_LIVE && !list[i]->async && !list[i]->observer)
			hook_answer_apply(list[i], f->q.event, &failed, f->q.arena, f->q.verdict);
	}
}

static void fire_with(struct fire *f, struct hooks_session *s)
{
	struct hook *list[HOOKS_MAX];
	unsigned n = 0;

	f->set = s->set;
	f->set->refs++;
	f->own = s->own;
	tell_trouble(f->set, &f->q);
	if (!f->hooks->stopping)
		n = hooks_match(f->set, f->q.event, f->q.arena, list);
	if (str_is_set(f->q.not_run)) {
		fail_all(f, list, n);
		n = 0;
	}
	add_runs(f, s, list, n);
	if (f->nfirst && f->q.event->raw.n > LIMIT_INLINE_PAYLOAD) {
		loop_submit(f->hooks->config.loop, prepare, prepared, f);
		return;
	}
	prepare(f);
	prepared(f);
}

/* -- sessions ---------------------------------------------------------------------------------- */

static void session_free(struct hooks_session *s)
{
	struct hooks_session **at = &s->hooks->sessions;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->hooks->nsessions--;
	hook_set_unref(s->set);
	free(s->agent);
	free(s->id);
	free(s->cwd);
	free(s);
}

void hooks_session_free(struct hooks_session *s)
{
	if (!s)
		return;
	s->owned = false;
	if (!s->refs)
		session_free(s); /* its file remembers it */
}

struct job {
	struct hooks *hooks;
	struct hooks_session *session;
	struct hook_set *set;
	bool fresh;     /* whatever the snapshot says */
	bool user_only; /* without the project, whose disk does not answer */
	int failed;     /* writing it */
	struct reload *reload;
};

struct reload {
	struct hooks *hooks;
	unsigned jobs, sessions, broken;
	void (*done)(unsigned sessions, unsigned broken, void *arg);
	void *arg;
};

static void load(void *arg)
{
	struct job *j = arg;
	const struct hooks_config *c = &j->hooks->config;
	struct hooks_session *s = j->session;
	struct hooks_where where = { .agent = s->agent[0] ? s->agent : NULL,
		.cwd = j->user_only ? NULL : s->cwd,
		.home = c->home,
		.user_config = c->user_config,
		.state = c->state };

	if (s->id[0] && !j->fresh)
		j->set = hook_snapshot_read(c->run, str_of(s->agent), str_of(s->id));
	if (j->set)
		return;
	j->set = hooks_load(&where);
	if (s->id[0] && !j->user_only)
		j->failed = hook_snapshot_write(c->run, str_of(s->agent), str_of(s->id), j->set);
}

static unsigned count_broken(const struct hook_set *s)
{
	unsigned n = 0;

	for (const struct hook_source *source = s->sources; source; source = source->next)
		if (source->errors && source->problems) {
			n++;
			log_warn(LOG_CONFIG, STR_FMT ":%u:%u: " STR_FMT "%s", STR_ARG(source->path),
				source->problems->line, source->problems->col, STR_ARG(source->problems->text),
				source->kept ? "; its last valid version is used" : "");
		}
	return n;
}

static void reload_end(struct reload *r, unsigned broken)
{
	r->broken = MAX(r->broken, broken);
	if (--r->jobs)
		return;
	r->done(r->sessions, r->broken, r->arg);
	free(r);
}

/* Most sessions of a machine have the same hooks: they share one set. */
static struct hook_set *share(const struct hooks *h, struct hook_set *set)
{
	for (const struct hooks_session *s = h->sessions; s; s = s->next)
		if (s->set && hook_set_is_same(s->set, set)) {
			hook_set_unref(set);
			s->set->refs++;
			return s->set;
		}
	return set;
}

static void loaded(void *arg)
{
	struct job *j = arg;
	struct hooks *h = j->hooks;
	struct hooks_session *s = j->session;
	struct fire *f = s->waiting, *next;
	unsigned broken = count_broken(j->set);

	h->state.broken = broken;
	if (j->failed < 0)
		log_error(LOG_CONFIG, "the hooks of a session cannot be kept over a restart: %s", strerror(-j->failed));
	if (s->set && j->user_only) { /* the project's came after all */
		hook_set_unref(j->set);
	} else {
		if (s->set)
			memset(s->ran, 0, sizeof s->ran);
		hook_set_unref(s->set);
		s->set = NULL;
		s->set = share(h, j->set);
	}
	s->waiting = NULL;
	s->last = &s->waiting;
	s->refs--;
	for (; f; f = next) {
		next = f->next;
		fire_with(f, s);
	}
	if (j->reload)
		reload_end(j->reload, broken);
	if (!s->owned && !s->refs)
		session_free(s);
	free(j);
}

enum { LOAD_FRESH = 1 << 0, LOAD_USER_ONLY = 1 << 1 };

static void submit(struct hooks *h, struct hooks_session *s, unsigned how, struct reload *reload)
{
	struct job *j = xcalloc(1, sizeof *j);

	j->hooks = h;
	j->session = s;
	j->fresh = how & LOAD_FRESH;
	j->user_only = how & LOAD_USER_ONLY;
	j->reload = reload;
	s->refs++;
	loop_submit(h->config.loop, load, loaded, j);
}

/* A disk that does not answer affects only what is on it: the project's hooks. The user's own run without them. */
static void look_for_late_loads(void *arg)
{
	struct hooks *h = arg;
	int64_t now = clock_mono_us();
	bool more = false;

	for (struct hooks_session *s = h->sessions; s; s = s->next) {
		if (s->set || s->user_asked)
			continue;
		if (now - s->asked_us < LOAD_MS * USEC_PER_MSEC) {
			more = true;
			continue;
		}
		s->user_asked = true;
		log_warn(LOG_CONFIG, "the hooks of %s cannot be read: its disk does not answer", s->cwd);
		submit(h, s, LOAD_USER_ONLY, NULL);
	}
	if (more)
		loop_timer_set(h->late_loads, LOAD_MS * USEC_PER_MSEC / 2);
}

static char *copy_path(str path)
{
	bool good = path.n && path.n < FS_PATH && path.p[0] == '/' && !memchr(path.p, 0, path.n);

	return good ? xstrndup(path.p, path.n) : xstrdup("");
}

static struct hooks_session *make_session(struct hooks *h, str agent, str id, str cwd)
{
	struct hooks_session *s = xcalloc(1, sizeof *s);

	s->hooks = h;
	s->agent = xstrndup(agent.p ? agent.p : "", agent.n);
	s->id = xstrndup(id.p ? id.p : "", id.n);
	s->cwd = copy_path(cwd);
	s->last = &s->waiting;
	s->next = h->sessions;
	h->sessions = s;
	h->nsessions++;
	s->asked_us = clock_mono_us();
	submit(h, s, 0, NULL);
	loop_timer_set(h->late_loads, LOAD_MS * USEC_PER_MSEC);
	return s;
}

struct hooks_session *hooks_session_new(struct hooks *h, str agent, str session, str cwd)
{
	struct hooks_session *s = make_session(h, agent, str_head(session, LIMIT_NAME), cwd);

	s->owned = true;
	return s;
}

/* `hookd doctor` sends events of its own; the user's programs should not see them. */
static bool is_rehearsal(const struct event *e)
{
	return str_starts(e->session, STR("hookd-doctor-"));
}

/* Most sessions have no hook for most events. */
static bool has_nothing(const struct hooks_session *s, enum event_kind kind)
{
	return s->set && !s->set->groups[kind] && kind != EVENT_SESSION_START;
}

void hooks_fire(struct hooks *h, const struct hooks_request *q)
{
	struct hooks_session *s;
	struct fire *f;

	if (q->event->kind == EVENT_UNKNOWN || h->stopping || is_rehearsal(q->event) ||
		(q->wanted && !q->wanted(q->arg))) {
		q->done(NULL, q->arg);
		return;
	}
	s = q->session;
	if (!s)
		s = make_session(h, q->event->agent, str_head(q->event->session, LIMIT_NAME), q->event->cwd);
	if (q->event->kind == EVENT_USER_PROMPT_SUBMIT && h->config.is_own)
		s->own = h->config.is_own(q->event->prompt, h->config.ask_arg);
	if (has_nothing(s, q->event->kind)) {
		q->done(NULL, q->arg);
		return;
	}
	f = xcalloc(1, sizeof *f);
	f->hooks = h;
	f->q = *q;
	if (s->set) {
		fire_with(f, s);
		return;
	}
	*s->last = f;
	s->last = &f->next;
}

static void clear(void *arg)
{
	hook_snapshot_clear(((struct reload *)arg)->hooks->config.run);
}

static void cleared(void *arg)
{
	struct reload *r = arg;

	for (struct hooks_session *s = r->hooks->sessions; s; s = s->next) {
		r->jobs++;
		r->sessions++;
		submit(r->hooks, s, LOAD_FRESH, r);
	}
	reload_end(r, 0);
}

/* First delete all files, including those of sessions this daemon has not seen yet. */
void hooks_reload(struct hooks *h, void (*done)(unsigned sessions, unsigned broken, void *arg), void *arg)
{
	struct reload *r = xcalloc(1, sizeof *r);

	r->hooks = h;
	r->done = done;
	r->arg = arg;
	r->jobs = 1;
	loop_submit(h->config.loop, clear, cleared, r);
}

/* -- life -------------------------------------------------------------------------------------- */

struct hooks *hooks_new(const struct hooks_config *config)
{
	struct hooks *h = xcalloc(1, sizeof *h);
	unsigned char random[TOKEN];

	h->config = *config;
	h->queue.last = &h->queue.first;
	h->background.last = &h->background.first;
	h->history = hook_history_new();
	h->children = loop_children_new(config->loop, config->keeper);
	h->late_loads = loop_timer_new(config->loop, look_for_late_loads, h);
	if (getrandom(random, sizeof random, 0) == (ssize_t)sizeof random)
		for (size_t i = 0; i < TOKEN; i++)
			snprintf(h->token + 2 * i, 3, "%02x", random[i]);
	return h;
}

void hooks_stop(struct hooks *h)
{
	struct run *r;

	h->stopping = true;
	while (h->queue.first || h->background.first)
		skip(take(h, h->queue.first ? &h->queue : &h->background), STR("hookd is stopping"));
	for (r = h->running; r; r = r->next)
		loop_child_kill(r->child);
}

void hooks_get_state(const struct hooks *h, struct hooks_state *ret)
{
	*ret = h->state;
	ret->sessions = h->nsessions;
}

static void fire_free(struct fire *f)
{
	for (unsigned i = 0; i < f->nruns; i++)
		run_free(f->runs[i]);
	free(f->runs);
	free(f->first);
	hook_set_unref(f->set);
	free(f);
}

void hooks_free(struct hooks *h)
{
	struct run *r;

	if (!h)
		return;
	loop_children_free(h->children);
	loop_timer_free(h->late_loads);
	/* Their owners inform the waiters; a fire is freed with the last of its runs here. */
	while ((r = h->running)) {
		h->running = r->next;
		if (!r->fire)
			run_free(r);
		else if (--r->fire->pending == 0)
			fire_free(r->fire);
	}
	for (struct hooks_session *s = h->sessions, *next; s; s = next) {
		next = s->next;
		for (struct fire *f = s->waiting, *after; f; f = after) {
			after = f->next;
			fire_free(f);
		}
		session_free(s);
	}
	hook_history_free(h->history);
	free(h);
}
