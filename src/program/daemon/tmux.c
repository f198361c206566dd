/* The display in tmux: a tint for each pane in which an agent is, the colour of the most urgent one for its window, and
 * a hook of tmux that tells us which pane somebody looks at.
 *
 * tmux is asked by its own program, one call at a time, as a child of the loop with a deadline: first which panes are
 * in which windows, then for all changes of one server at once. What cannot be shown is not tried again until it
 * changes. When an agent ends, what was set for its pane is unset, and tmux's own settings hold again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/tmux.h"
#include "fleet/fleet.h"
#include "os/os.h"

enum {
	DEADLINE_S = 3,
	PANES_MAX = 64, /* at once; the others have their turn afterwards */
	WORDS_MAX = PANES_MAX * 24 + 64,
	OUTPUT_MAX = 64 << 10,
	HOOK_PLACE = 7717, /* among the user's own */
};

struct tmux {
	struct engine *engine;
	const struct paths *paths;
	struct loop_children *children;
	const char *path;
	bool runs;
	struct arena arena; /* of the call that runs */
	const char *socket; /* of the server that is asked, in the arena */
};

/* What each status looks like; NULL: as the pane is without us. */
static const struct {
	const char *pane, *window;
} looks[AGENT_STATUS_MAX] = {
	[AGENT_STATUS_DONE] = { "bg=#0f2a17", "fg=green" },
	[AGENT_STATUS_WORKING] = { "bg=#0e1a30", "fg=blue" },
	[AGENT_STATUS_ATTENTION] = { "bg=#38300a", "fg=yellow" },
	[AGENT_STATUS_ERROR] = { "bg=#3a1111", "fg=red" },
};

/* -- what should be shown ---------------------------------------------------------------------- */

static bool is_gone(const struct fleet_agent *a)
{
	return a->ended || (a->pid && kill((pid_t)a->pid, 0) < 0 && errno == ESRCH);
}

/* AGENT_STATUS_UNKNOWN: nothing of ours. */
static enum agent_status wanted(const struct fleet_agent *a)
{
	return is_gone(a) ? AGENT_STATUS_UNKNOWN : a->status;
}

static bool is_due(const struct fleet_agent *a)
{
	return a->pane[0] && a->painted != wanted(a);
}

/* -- words for tmux ---------------------------------------------------------------------------- */

struct words {
	char *v[WORDS_MAX];
	size_t n;
	struct arena *arena;
};

static void add_word(struct words *w, const char *word)
{
	if (w->n + 1 < WORDS_MAX)
		w->v[w->n++] = (char *)arena_cstr(w->arena, str_of(word));
}

/* One of its commands; value NULL: it is unset. */
static void add_option(struct words *w, const char *flags, const char *target, const char *name, const char *value)
{
	add_word(w, "set-option");
	add_word(w, arena_strf(w->arena, "-q%s%s", flags, value ? "" : "u").p);
	add_word(w, "-t");
	add_word(w, target);
	add_word(w, name);
	if (value)
		add_word(w, value);
	add_word(w, ";");
}

static void add_pane(struct words *w, const struct fleet_agent *a)
{
	enum agent_status status = wanted(a);
	const char *look = looks[status].pane;

	add_option(w, "p", a->pane, "@hookd", status ? agent_status_names[status] : NULL);
	add_option(w, "p", a->pane, "window-style", look);
	add_option(w, "p", a->pane, "window-active-style", look);
}

static void add_window(struct words *w, const char *window, enum agent_status status)
{
	add_option(w, "w", window, "@hookd", status ? agent_status_names[status] : NULL);
	add_option(w, "w", window, "window-status-style", looks[status].window);
}

/* A path that a shell and tmux take as it is. */
static bool is_plain(const char *path)
{
	return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+@-")] == '\0';
}

/* Whoever selects a pane has seen what its agent waits for. */
static void add_hooks(struct tmux *t, struct words *w, bool any)
{
	static const char *const moments[] = { "after-select-pane", "after-select-window" };
	char self[4096];
	bool fits = os_self_path(self, sizeof self) == 0 && is_plain(self) && is_plain(t->socket) &&
		is_plain(t->paths->state);

	for (size_t i = 0; i < countof(moments) && fits; i++) {
		add_word(w, "set-hook");
		add_word(w, any ? "-g" : "-gu");
		add_word(w, arena_strf(w->arena, "%s[%d]", moments[i], HOOK_PLACE).p);
		if (any)
			add_word(w,
				arena_strf(w->arena,
					"run-shell -b \"%s fleet --dir %s focus --quiet --pane '#{pane_id}' --socket "
					"%s\"",
					self, t->paths->state, t->socket)
					.p);
		add_word(w, ";");
	}
}

/* -- calls ------------------------------------------------------------------------------------- */

static void go_on(struct tmux *t);

static void call(struct tmux *t, struct words *w, void (*done)(const struct child_result *r, void *arg))
{
	const char *const env[] = { arena_strf(&t->arena, "PATH=%s", t->path).p, "TERM=screen", NULL };
	struct child_spec spec = { .path = "tmux",
		.argv = w->v,
		.envp = (char *const *)env,
		.dir = "/",
		.timeout_us = DEADLINE_S * (int64_t)USEC_PER_SEC,
		.output_max = OUTPUT_MAX };

	w->v[w->n] = NULL;
	(void)loop_child_start(t->children, &spec, done, t);
}

static void shown(const struct child_result *r, void *arg)
{
	struct tmux *t = arg;

	if (r->error || r->exit_code)
		log_info(LOG_DAEMON, "tmux at %s did not take the colours of its panes", t->socket);
	t->runs = false;
	go_on(t);
}

/* The window of a pane, from lines of "%3 @1". */
static const char *window_of(struct tmux *t, str lines, const char *pane)
{
	str line, word;

	while (str_split(&lines, '\n', &line))
		if (str_split(&line, ' ', &word) && str_eq(word, str_of(pane)) && str_starts(line, STR("@")))
			return arena_strf(&t->arena, STR_FMT, STR_ARG(line)).p;
	return NULL;
}

static bool is_on(const struct tmux *t, const struct fleet_agent *a)
{
	return a->pane[0] && strcmp(a->socket, t->socket) == 0;
}

/* The most urgent of all agents in it; AGENT_STATUS_UNKNOWN: there are none. */
static enum agent_status most_urgent(struct tmux *t, str lines, const char *window)
{
	enum agent_status most = AGENT_STATUS_UNKNOWN;

	for (const struct fleet_agent *a = fleet_first(engine_fleet(t->engine)); a; a = a->older) {
		const char *its = is_on(t, a) ? window_of(t, lines, a->pane) : NULL;

		if (its && strcmp(its, window) == 0)
			most = MAX(most, wanted(a));
	}
	return most;
}

static void have_panes(const struct child_result *r, void *arg)
{
	struct tmux *t = arg;
	struct fleet *f = engine_fleet(t->engine);
	struct words *w = arena_new(&t->arena, struct words);
	str lines = r->error || r->exit_code ? STR("") : arena_str(&t->arena, r->out);
	size_t panes = 0;
	bool any = false;

	*w = (struct words){ .arena = &t->arena };
	add_word(w, "tmux");
	add_word(w, "-S");
	add_word(w, t->socket);
	for (struct fleet_agent *a = fleet_first(f); a; a = a->older) {
		const char *window;

		any |= is_on(t, a) && wanted(a);
		if (!is_on(t, a) || !is_due(a) || panes == PANES_MAX)
			continue;
		a->painted = wanted(a);
		window = window_of(t, lines, a->pane);
		if (!window)
			continue;
		add_pane(w, a);
		add_window(w, window, most_urgent(t, lines, window));
		panes++;
	}
	if (panes) {
		add_hooks(t, w, any);
		call(t, w, shown);
		return;
	}
	t->runs = false;
	go_on(t);
}

static void look(struct tmux *t, const char *socket)
{
	struct words *w;

	arena_reset(&t->arena);
	t->runs = true;
	t->socket = arena_strf(&t->arena, "%s", socket).p;
	w = arena_new(&t->arena, struct words);
	*w = (struct words){ .arena = &t->arena };
	add_word(w, "tmux");
	add_word(w, "-S");
	add_word(w, t->socket);
	add_word(w, "list-panes");
	add_word(w, "-a");
	add_word(w, "-F");
	add_word(w, "#{pane_id} #{window_id}");
	call(t, w, have_panes);
}

static void go_on(struct tmux *t)
{
	for (struct fleet_agent *a = fleet_first(engine_fleet(t->engine)); a && !t->runs; a = a->older)
		if (is_due(a))
			look(t, a->socket);
}

static void on_fleet(void *arg)
{
	go_on(arg);
}

struct tmux *tmux_new(struct loop *l, struct engine *e, const struct paths *p, const struct config *config)
{
	struct tmux *t;

	if (!config_number(config, OPTION_FLEET_TMUX))
		return NULL;
	t = xcalloc(1, sizeof *t);
	t->engine = e;
	t->paths = p;
	t->path = config_text(config, OPTION_HOOKS_PATH).p;
	/* Without a keeper: it starts nothing itself, and ends by itself. */
	t->children = loop_children_new(l, NULL);
	engine_on_fleet(e, on_fleet, t);
	return t;
}

void tmux_free(struct tmux *t)
{
	if (!t)
		return;
	loop_children_free(t->children);
	arena_release(&t->arena);
	free(t);
}
