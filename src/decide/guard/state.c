/* state: what a command has said so far: variables, functions, files it wrote, links it made.
 *
 * Facts are a list with the newest in front. A subshell keeps the pointer to the list it began with
 * and puts it back when it ends; nothing is ever taken out. */
#include <errno.h>

#include "guard/internal.h"

/* Work that one command line may cost. At some ten nanoseconds a step this ends far below the
 * millisecond that a decision may take at worst. */
enum { STEPS_MAX = 400000, REFS_MAX = 16 };

void reach_cap(struct run *x, const char *what)
{
	x->unread = true;
	x->unread_in = x->file;
	FAULT(x, NULL, RULE_CAP, VERDICT_ASK, "this has more %s than are checked, so a person should look at it", what);
}

bool spend(struct run *x, unsigned cost)
{
	if (x->spent)
		return false;
	x->report->cost += MIN(cost, (unsigned)STEPS_MAX + 1);
	if (x->report->cost <= STEPS_MAX)
		return true;
	if (!x->spent) {
		x->spent = x->report->spent = true;
		find_fault(x, NULL, RULE_BUDGET, VERDICT_ASK,
			STR("this command is too large or too deeply nested to be checked, so a "
			    "person should look at it"));
	}
	return false;
}

const struct fact *fact_find(struct run *x, const struct fact *list, enum fact_kind kind, str key)
{
	unsigned walked = 0;

	for (; list; list = list->next, walked++)
		if (list->kind == kind && str_eq(list->key, key))
			break;
	(void)spend(x, walked / 4);
	return list;
}

static struct fact *fact_new(struct run *x, struct fact *next, enum fact_kind kind, str key, str value)
{
	struct fact *f = arena_new(x->a, struct fact);

	*f = (struct fact){ .next = next, .kind = kind, .key = key, .value = value };
	return f;
}

/* The variable that a name stands for: declare -n makes one stand for another. */
static str referred(struct run *x, str name)
{
	for (int i = 0; x->refs; i++) {
		const struct fact *f = fact_find(x, x->st.facts, FACT_REF, name);

		if (!f)
			break;
		if (i == REFS_MAX) {
			reach_cap(x, "names that stand for names");
			break;
		}
		name = f->value;
	}
	return name;
}

void var_refer(struct run *x, str name, str to)
{
	x->refs = true;
	x->st.facts = fact_new(x, x->st.facts, FACT_REF, name, to);
}

void array_set(struct run *x, str name, const struct fields *items)
{
	x->st.facts = fact_new(x, x->st.facts, FACT_ARRAY, referred(x, name), STR(""));
	x->st.facts->items = items;
}

void var_set(struct run *x, str name, str value)
{
	name = referred(x, name);
	x->st.facts = fact_new(x, x->st.facts, FACT_VAR, name, value);
	if (value.n > 4)
		run_assigned(x, name, value);
}

void fs_note(struct run *x, enum fact_kind kind, str key, str value)
{
	x->fs = fact_new(x, x->fs, kind, key, value);
}

/* Variables every session has, with values that are right enough to judge by; ~ is the home. */
static const struct {
	const char *name, *value;
} session_vars[] = {
	{ "HOME", "~" },
	{ "TMPDIR", "/tmp" },
	{ "TMP", "/tmp" },
	{ "TEMP", "/tmp" },
	{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
	{ "SHELL", "/bin/bash" },
	{ "BASH", "/bin/bash" },
	{ "IFS", " \t\n" },
	{ "XDG_RUNTIME_DIR", "/run/user/1000" },
	{ "XDG_CONFIG_HOME", "~/.config" },
	{ "XDG_DATA_HOME", "~/.local/share" },
	{ "XDG_STATE_HOME", "~/.local/state" },
	{ "XDG_CACHE_HOME", "~/.cache" },
	{ "CODEX_HOME", "~/.codex" },
	{ "CLAUDE_CONFIG_DIR", "~/.claude" },
	{ "HOOKD_DIR", "~/.local/state/hookd" },
	/* Programs that build files call by a variable. */
	{ "CC", "cc" },
	{ "CXX", "c++" },
	{ "MAKE", "make" },
	{ "PYTHON", "python3" },
	{ "EDITOR", "editor" },
	{ "VISUAL", "editor" },
	{ "PAGER", "less" },
	{ "BROWSER", "browser" },
	{ "_", "" },
	{ "-", "hB" },
	{ "?", "0" },
};

/* A token's path, file or URL is not the token. */
static bool names_a_place(str name)
{
	static const char *const ends[] = { "_PATH", "_FILE", "_DIR", "_URL", "_URI", "_ENDPOINT", "_ENDPOINTS",
		"_NAME" };

	for (size_t i = 0; i < countof(ends); i++)
		if (str_ends(name, str_of(ends[i])))
			return true;
	return false;
}

static bool name_is_secret(str name)
{
	if (names_a_place(name))
		return false;
	return str_has_nocase(name, "SECRET") || str_has_nocase(name, "PASSWORD") || str_has_nocase(name, "PASSWD") ||
		str_has_nocase(name, "TOKEN") || str_has_nocase(name, "APIKEY") || str_has_nocase(name, "API_KEY") ||
		str_has_nocase(name, "PRIVATE_KEY") || str_has_nocase(name, "ACCESS_KEY") ||
		str_has_nocase(name, "CREDENTIAL");
}

static str session_var(struct run *x, str name)
{
	if (str_in(name, "USER LOGNAME"))
		return str_base(x->c->home);
	if (str_eq(name, STR("PWD")))
		return x->st.cwd;
	if (str_eq(name, STR("OLDPWD")))
		return x->st.oldcwd.n ? x->st.oldcwd : STR("\1");
	if (str_in(name, "CLAUDE_PROJECT_DIR GEMINI_PROJECT_DIR") && x->c->root.n)
		return x->c->root;
	for (size_t i = 0; i < countof(session_vars); i++) {
		const char *value = session_vars[i].value;

		if (!str_eq(name, str_of(session_vars[i].name)))
			continue;
		return value[0] == '~' ? arena_strf(x->a, STR_FMT "%s", STR_ARG(x->c->home), value + 1) : str_of(value);
	}
	return name_is_secret(name) ? STR("\6") : STR_NONE;
}

str var_get(struct run *x, str name)
{
	const struct fact *f;

	name = referred(x, name);
	for (f = x->st.facts; f; f = f->next)
		if ((f->kind == FACT_VAR || f->kind == FACT_ARRAY) && str_eq(f->key, name))
			break;
	(void)spend(x, 1);
	if (f)
		return f->kind == FACT_ARRAY ? (f->items->n ? f->items->v[0] : STR("")) : f->value;
	return session_var(x, name);
}

bool fs_known(struct run *x, str path, str *ret)
{
	const struct fact *f = fact_find(x, x->fs, FACT_FILE, path);

	if (f)
		*ret = f->value;
	return f != NULL;
}

bool fs_written(struct run *x, str word, str *ret)
{
	return x->fs && fs_known(x, path_resolve(x, word), ret);
}

/* On the disk it is looked at only if nobody knows it better. */
static bool script_on_disk(struct run *x, str path, str *ret)
{
	int r;

	if (!x->c->script || x->remote || path_is_dynamic(path) || has_mark(path, MARKS_ANY))
		return false;
	for (const struct script_read *s = x->on_disk; s; s = s->up)
		if (str_eq(s->path, path))
			return false; /* it runs itself again: nothing new */
	r = x->c->script(x->c->script_arg, x->a, path, ret);
	if (r == -EAGAIN)
		x->wants_disk = true;
	if (r == -EFBIG)
		reach_cap(x, "the script that this runs");
	x->found_on_disk = r == 0 ? path : STR_NONE;
	return r == 0;
}

bool script_known_at(struct run *x, str path, str *ret)
{
	x->found_on_disk = STR_NONE;
	return fs_known(x, path, ret) || script_on_disk(x, path, ret);
}

const struct script_read *script_enter(struct run *x)
{
	const struct script_read *before = x->on_disk;
	struct script_read *here;

	if (!str_is_set(x->found_on_disk))
		return before;
	here = arena_new(x->a, struct script_read);
	*here = (struct script_read){ .up = before, .path = x->found_on_disk };
	x->on_disk = here;
	return before;
}

void script_leave(struct run *x, const struct script_read *before)
{
	x->on_disk = before;
}

bool script_known(struct run *x, str word, str *ret)
{
	x->found_on_disk = STR_NONE;
	/* No link needs to be followed to open a file. */
	return fs_written(x, word, ret) || (x->c->script && script_on_disk(x, path_join(x, x->st.cwd, word), ret));
}

str fs_content(struct run *x, str path)
{
	str known;
	bool shared;

	if (str_in(path, "/dev/stdin /dev/fd/0 /proc/self/fd/0"))
		return str_is_set(x->in) ? x->in : STR("");
	if (fs_known(x, path, &known))
		return known;
	if (str_in(path, "/dev/null"))
		return STR("");
	if (is_protected(x, path, &shared) && !shared)
		return STR("hookd\1"); /* a number in it is that of the daemon */
	if (str_ends(path, STR(".pid")) && str_has(path, "hookd"))
		return STR("\1 hookd\n");
	return secrecy_of(x, path) != SECRET_NOT ? STR("\5") : STR("\1");
}
