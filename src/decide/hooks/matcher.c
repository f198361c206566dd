/* Which hooks an event is for.
 *
 * A matcher is a list of exact names, a class of tools ("class:shell"), everything, or a pattern; its characters tell
 * which, as in Claude Code. A pattern that runs into its limits counts as a hit: the hook then decides. */
#include <errno.h>

#include "config/names.h"
#include "hooks/internal.h"

/* -- what is matched --------------------------------------------------------------------------- */

static const char *const sources[] = { "startup", "resume", "clear", "compact", "fork", NULL };
static const char *const reasons[] = { "clear", "resume", "logout", "prompt_input_exit", "exit", "other", NULL };
static const char *const triggers[] = { "manual", "auto", NULL };
static const char *const setups[] = { "init", "maintenance", NULL };

static const struct hook_subject subjects[] = {
	{ EVENT_SESSION_START, "source", sources },
	{ EVENT_SESSION_END, "reason", reasons },
	{ EVENT_SETUP, "trigger", setups },
	{ EVENT_PRE_COMPACT, "trigger", triggers },
	{ EVENT_POST_COMPACT, "trigger", triggers },
	{ EVENT_INSTRUCTIONS_LOADED, "load_reason", NULL },
	{ EVENT_NOTIFICATION, "notification_type", NULL },
	{ EVENT_STOP_FAILURE, "error", NULL },
	{ EVENT_SUBAGENT_START, "agent_type", NULL },
	{ EVENT_SUBAGENT_STOP, "agent_type", NULL },
	{ EVENT_CONFIG_CHANGE, "source", NULL },
	{ EVENT_DIRECTORY_ADDED, "source", NULL },
	{ EVENT_USER_PROMPT_EXPANSION, "command_name", NULL },
	{ EVENT_ELICITATION, "mcp_server_name", NULL },
	{ EVENT_ELICITATION_RESULT, "mcp_server_name", NULL },
	{ EVENT_PRE_MODEL_SWITCH, "to_model", NULL },
	{ EVENT_POST_MODEL_SWITCH, "to_model", NULL },
	{ EVENT_FILE_CHANGED, "file_path", NULL },
};

const struct hook_subject *hook_subject_of(enum event_kind kind)
{
	for (size_t i = 0; i < countof(subjects); i++)
		if (subjects[i].kind == kind)
			return &subjects[i];
	return NULL;
}

/* -- a matcher --------------------------------------------------------------------------------- */

static bool is_listed(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-|, :", c));
}

static int class_of(str name)
{
	for (int i = 0; i < TOOL_CLASS_MAX; i++)
		if (str_eq(name, str_of(tool_class_names[i])))
			return i;
	return -1;
}

/* False: it is a pattern after all. */
static bool take_list(str text, struct arena *a, struct hook_matcher *m, struct err *err)
{
	str *names = arena_alloc(a, (text.n + 1) * sizeof *names), rest = text, word;
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		if (!is_listed(text.p[i]))
			return false;
	while (!str_empty(rest)) {
		size_t end = 0;

		while (end < rest.n && rest.p[end] != '|' && rest.p[end] != ',')
			end++;
		word = str_trim(str_head(rest, end));
		rest = str_from(rest, end + 1);
		if (str_starts(word, STR("class:"))) {
			int class = class_of(str_from(word, 6));

			if (class < 0) {
				err_set(err, -EINVAL,
					"there is no class '" STR_FMT
					"' of tools; use shell, read, write, search, web, mcp, agent or other",
					STR_ARG(str_cut_utf8(str_from(word, 6), 40)));
				return true;
			}
			m->classes |= 1U << class;
		} else if (str_find_char(word, ':') >= 0) {
			return false;
		} else if (!str_empty(word)) {
			names[n++] = word;
		}
	}
	m->names = names;
	m->nnames = n;
	return true;
}

int hook_matcher_compile(str text, struct arena *a, struct hook_matcher *ret, struct err *err)
{
	*ret = (struct hook_matcher){ .text = text };
	if (str_empty(text) || str_eq(text, STR("*"))) {
		ret->all = true;
		return 0;
	}
	err->code = 0;
	if (take_list(text, a, ret, err))
		return err->code;
	ret->names = NULL;
	ret->nnames = ret->classes = 0;
	return match_compile(text, MATCH_UTF, &ret->re, err);
}

static bool hits(const struct hook_matcher *m, str subject)
{
	if (m->all)
		return true;
	for (size_t i = 0; i < m->nnames; i++)
		if (str_eq(m->names[i], subject))
			return true;
	return m->re && match_find(m->re, subject, 0, NULL) != 0;
}

/* -- what can never match ---------------------------------------------------------------------- */

static const char *tool_trouble(str name, struct arena *a)
{
	char shown[NAME_SHOWN];
	str near;

	name_shown(name, shown);
	if (str_starts(name, STR("mcp__")) && str_find(str_from(name, 5), STR("__")) < 0)
		return arena_strf(a, "'%s' alone names no tool; '%s__.*' matches all tools of a server", shown, shown)
			.p;
	if (str_starts(name, STR("mcp__")) || hook_is_known_tool(name))
		return NULL;
	near = hook_suggest_tool(name);
	if (near.p)
		return arena_strf(a, "no known tool is called '%s'; did you mean '" STR_FMT "'?", shown, STR_ARG(near))
			.p;
	return arena_strf(a, "no known tool is called '%s'; unless an agent has one, this never matches", shown).p;
}

static const char *value_trouble(str name, const struct hook_subject *subject, struct arena *a)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (size_t i = 0; subject->values && subject->values[i]; i++) {
		if (str_eq(name, str_of(subject->values[i])))
			return NULL;
		name_suggest(&near, name, str_of(subject->values[i]));
	}
	if (!subject->values)
		return NULL;
	name_shown(name, shown);
	return near.best.p ? arena_strf(a, "%s is matched by its %s, which is never '%s'; did you mean '" STR_FMT "'?",
				     event_kinds[subject->kind].name, subject->field, shown, STR_ARG(near.best))
				     .p
			   : arena_strf(a, "%s is matched by its %s, which is never '%s'",
				     event_kinds[subject->kind].name, subject->field, shown)
				     .p;
}

const char *hook_matcher_trouble(const struct hook_matcher *m, enum event_kind kind, struct arena *a)
{
	const struct hook_subject *subject = hook_subject_of(kind);
	bool tool = event_kinds[kind].flags & EVENT_IS_TOOL;
	const char *trouble;

	if (m->all)
		return NULL;
	if (!tool && m->classes)
		return arena_strf(a, "%s is not an event of a tool: a class never matches", event_kinds[kind].name).p;
	if (!tool && !subject)
		return arena_strf(a, "%s has nothing to match; the hook runs every time", event_kinds[kind].name).p;
	for (size_t i = 0; i < m->nnames; i++) {
		trouble = tool ? tool_trouble(m->names[i], a) : value_trouble(m->names[i], subject, a);
		if (trouble)
			return trouble;
	}
	return NULL;
}

/* -- if: "Bash(git *)" ------------------------------------------------------------------------- */

/* "git *" also means a bare "git"; "git:*" is another way to write it. */
static bool wild_command(str pattern, str text, struct arena *a)
{
	if (str_ends(pattern, STR(":*")))
		pattern = arena_strf(a, STR_FMT " *", STR_ARG(str_head(pattern, pattern.n - 2)));
	return str_fits(pattern, text) ||
		(str_ends(pattern, STR(" *")) && str_eq(str_head(pattern, pattern.n - 2), text));
}

/* The whole line, or any command in it: a false match only runs the hook, a missed one bypasses it. */
static bool wild_line(str pattern, str line, struct arena *a)
{
	size_t begin = 0;

	if (wild_command(pattern, str_trim(line), a))
		return true;
	for (size_t i = 0; i <= line.n; i++)
		if (i == line.n || strchr(";|&()`\n{}", line.p[i])) {
			if (i > begin && wild_command(pattern, str_trim(str_n(line.p + begin, i - begin)), a))
				return true;
			begin = i + 1;
		}
	return false;
}

static bool condition_holds(const struct hook *h, const struct event *e, const str *names, size_t n, struct arena *a)
{
	ptrdiff_t open = str_find_char(h->condition, '(');
	str tool = str_trim(open < 0 ? h->condition : str_head(h->condition, (size_t)open)), pattern;
	struct buf b = BUF_INIT(1 << 20);
	bool named = false, holds;

	if (!str_is_set(h->condition))
		return true;
	if (!(event_kinds[e->kind].flags & EVENT_IS_TOOL))
		return false;
	for (size_t i = 0; i < n; i++)
		named |= str_fits(tool, names[i]);
	if (!named || open < 0 || !str_ends(h->condition, STR(")")))
		return named && open < 0;
	pattern = str_from(str_head(h->condition, h->condition.n - 1), (size_t)open + 1);
	if (str_is_set(e->command))
		return wild_line(pattern, e->command, a);
	if (str_is_set(e->file_path))
		return str_fits(pattern, e->file_path);
	if (e->tool_input)
		json_write(&b, e->tool_input);
	/* Too large to look at counts as a hit. */
	holds = b.full || str_fits(pattern, buf_str(&b));
	buf_release(&b);
	return holds;
}

/* -- all of it --------------------------------------------------------------------------------- */

static str base_name(str path)
{
	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/')
			return str_from(path, i);
	return path;
}

static bool server_fits(str server, const str *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], STR("mcp__")) && str_starts(str_from(names[i], 5), server) &&
			str_starts(str_from(names[i], 5 + server.n), STR("__")))
			return true;
	return false;
}

static bool group_fits(const struct hook_group *g, const struct event *e, const str *names, size_t n)
{
	const struct hook_subject *subject = hook_subject_of(e->kind);
	str value;

	if (str_is_set(g->mcp_server) && !server_fits(g->mcp_server, names, n))
		return false;
	if (g->matcher.all)
		return true;
	if (event_kinds[e->kind].flags & EVENT_IS_TOOL) {
		if (g->matcher.classes & 1U << e->tool_class)
			return true;
		for (size_t i = 0; i < n; i++)
			if (hits(&g->matcher, names[i]))
				return true;
		/* The agent's own name, where it is written out. */
		return g->matcher.nnames && hits(&g->matcher, e->tool_name);
	}
	if (!subject)
		return true;
	value = json_str(json_get(e->payload, str_of(subject->field)));
	if (e->kind == EVENT_FILE_CHANGED)
		value = base_name(value);
	return str_is_set(value) && hits(&g->matcher, value);
}

/* Of identical hooks one runs, and it is as strict as the strictest of them. */
static bool is_double(struct hook *h, struct hook **list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (memcmp(list[i]->key, h->key, sizeof h->key) == 0 &&
			(list[i]->state == HOOK_LIVE || h->state != HOOK_LIVE)) {
			list[i]->on_failure = MAX(list[i]->on_failure, h->on_failure);
			return true;
		}
	return false;
}

unsigned hooks_match(const struct hook_set *s, const struct event *e, struct arena *a, struct hook *ret[HOOKS_MAX])
{
	str names[HOOK_NAMES];
	size_t nnames = hook_tool_names(e, a, names);
	unsigned n = 0;

	for (const struct hook_group *g = s->groups[e->kind]; g; g = g->next) {
		if (!group_fits(g, e, names, nnames))
			continue;
		for (struct hook *h = g->hooks; h; h = h->next)
			if (condition_holds(h, e, names, nnames, a) && !is_double(h, ret, n))
				ret[n++] = h;
	}
	return n;
}
