/* All sources of a project become one set. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "hooks/internal.h"
#include "install/install.h"
#include "project/project.h"

/* -- sets -------------------------------------------------------------------------------------- */

struct hook_set *hook_set_new(void)
{
	struct hook_set *s = xcalloc(1, sizeof *s);

	arena_init(&s->arena);
	s->refs = 1;
	return s;
}

void hook_set_unref(struct hook_set *s)
{
	if (!s || --s->refs)
		return;
	for (int k = 0; k < EVENT_KIND_MAX; k++)
		for (struct hook_group *g = s->groups[k]; g; g = g->next)
			match_free(g->matcher.re);
	arena_release(&s->arena);
	free(s);
}

static bool is_same_source(const struct hook_source *a, const struct hook_source *b)
{
	return a->scope == b->scope && a->form == b->form && a->kept == b->kept && a->errors == b->errors &&
		str_eq(a->path, b->path) && str_eq(a->text, b->text);
}

bool hook_set_is_same(const struct hook_set *a, const struct hook_set *b)
{
	const struct hook_source *x = a->sources, *y = b->sources;

	if (a->trouble.text[0] || b->trouble.text[0] || str_is_set(a->changed_script) || str_is_set(b->changed_script))
		return false; /* these are told to one session */
	for (; x && y && is_same_source(x, y); x = x->next)
		y = y->next;
	if (x || y || a->count != b->count)
		return false;
	/* Where nothing runs it does not matter where. */
	return !a->count ||
		(a->trust == b->trust && str_eq(a->root, b->root) && str_eq(a->home, b->home) &&
			str_eq(a->copies, b->copies));
}

struct hook_source *hook_source_new(struct hook_set *s, enum hook_scope scope, enum hook_form form, str path, str text)
{
	struct hook_source *source = arena_new(&s->arena, struct hook_source);

	source->scope = scope;
	source->form = form;
	source->path = arena_str(&s->arena, path);
	source->text = arena_str(&s->arena, text.p ? text : STR(""));
	return source;
}

bool hook_is_ours(const struct json *entry)
{
	return install_is_ours(entry);
}

bool hooks_agent_borrows(str agent)
{
	return !agent_find(agent)->runs_claude_settings;
}

/* -- the project ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum hook_scope scope;
	enum hook_form form;
} project_files[] = {
	{ ".hookd/config.local.json", HOOK_LOCAL, HOOK_FORM_OWN },
	{ ".claude/settings.local.json", HOOK_LOCAL, HOOK_FORM_CLAUDE },
	{ ".hookd/config.json", HOOK_PROJECT, HOOK_FORM_OWN },
	{ ".claude/settings.json", HOOK_PROJECT, HOOK_FORM_CLAUDE },
	{ HOOK_CODE_AGENT_FILE, HOOK_PROJECT, HOOK_FORM_CODE_AGENT },
};

struct gathering {
	struct trust_tree *tree;
	struct err *err;
	int failed;
};

static void gather_name(str name, void *arg)
{
	struct gathering *g = arg;
	char path[FS_PATH];
	struct stat st;
	int n = snprintf(path, sizeof path, STR_FMT, STR_ARG(name));
	bool there;

	if (g->failed || n <= 0 || n >= (int)sizeof path)
		return;
	there = fstatat(g->tree->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	/* A word without a slash that names nothing is just a word. */
	if (there ? S_ISDIR(st.st_mode) : str_find_char(name, '/') < 0)
		return;
	if (trust_tree_add(g->tree, name, NULL, g->err) < 0)
		g->failed = g->err->code;
}

static bool is_there(str name, void *arg)
{
	struct gathering *g = arg;
	char path[FS_PATH];
	struct stat st;
	int n = snprintf(path, sizeof path, STR_FMT, STR_ARG(name));

	return n > 0 && n < (int)sizeof path && fstatat(g->tree->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISDIR(st.st_mode);
}

/* What is read takes part. */
static bool gather_file(str name, str *ret_bytes, bool *ret_executable, void *arg)
{
	struct gathering *g = arg;
	const struct trust_file *f;

	if (g->failed || !is_there(name, arg))
		return false;
	if (trust_tree_add(g->tree, name, &f, g->err) < 0) {
		g->failed = g->err->code;
		return false;
	}
	*ret_bytes = f->bytes;
	*ret_executable = f->executable;
	return !f->absent;
}

static void gather_link(str file, size_t begin, size_t end, str text, void *arg)
{
	struct gathering *g = arg;
	int r = g->failed ? 0 : trust_tree_link(g->tree, file, begin, end, text);

	if (r < 0)
		g->failed = err_set(g->err, r, "%s/" STR_FMT " cannot be pinned: %s", g->tree->root, STR_ARG(file),
			r == -EINVAL ? "hooks disagree about what it runs" : "it names too many files");
}

static int gather(struct trust_tree *t, str home, struct err *err)
{
	struct gathering g = { .tree = t, .err = err };
	const struct hook_tree tree = { str_of(t->root), home, STR(HOOK_COPIES_TO_BE), gather_file, is_there, &g };
	const struct hook_taker taker = { gather_name, gather_link, &g };
	const struct trust_file *f;
	struct hook_set *s = hook_set_new();
	int r = 0;

	for (size_t i = 0; r >= 0 && i < countof(project_files); i++) {
		r = trust_tree_add(t, str_of(project_files[i].name), &f, err);
		if (r == 1)
			hooks_parse(s,
				hook_source_new(s, project_files[i].scope, project_files[i].form, f->name, f->bytes));
	}
	for (unsigned i = 0; r >= 0 && i < s->count; i++)
		if (s->all[i]->state != HOOK_OURS) {
			hook_each_name(s->all[i], str_of(t->root), t->arena, gather_name, &g);
			hook_each_file(s->all[i], &tree, t->arena, &taker);
		}
	hook_set_unref(s);
	return r < 0 ? r : g.failed;
}

int hooks_project(const char *cwd, const char *home, struct arena *a, struct trust_tree *ret, struct err *err)
{
	struct project p;
	int r;

	*ret = (struct trust_tree){ .arena = a, .root_fd = -1 };
	if (!cwd || project_find(cwd, home, &p) < 0 || !p.found)
		return err_set(err, -ENOENT, "%s is not in a project", cwd ? cwd : "this");
	r = trust_tree_open(p.root, a, ret, err);
	if (r == 0)
		r = gather(ret, str_of(home), err);
	if (r == 0)
		trust_tree_finish(ret);
	return r;
}

/* -- tying a project's commands to the copies of its files ------------------------------------- */

struct copies {
	const char *dir;
	struct arena *a;
};

static int find_copy(const struct copies *c, str name, struct stat *ret, char path[FS_PATH])
{
	if (fs_join(path, c->dir, arena_cstr(c->a, name)) < 0 || lstat(path, ret) < 0)
		return -ENOENT;
	return S_ISREG(ret->st_mode) ? 0 : -ENOENT;
}

static bool has_copy(str name, void *arg)
{
	char path[FS_PATH];
	struct stat st;

	return find_copy(arg, name, &st, path) == 0;
}

static bool read_copy(str name, str *ret_bytes, bool *ret_executable, void *arg)
{
	struct buf b = BUF_INIT(4 * (size_t)TRUST_FILE_MAX);
	const struct copies *c = arg;
	char path[FS_PATH];
	struct stat st;
	bool there = find_copy(c, name, &st, path) == 0 && fs_read_file(path, &b) == 0;

	*ret_bytes = there ? arena_str(c->a, b.len ? buf_str(&b) : STR("")) : STR_NONE;
	*ret_executable = there && st.st_mode & S_IXUSR;
	buf_release(&b);
	return there;
}

static void tie(struct hook_set *s, const char *copies, struct hook *h)
{
	_cleanup_(arena_release) struct arena once = { 0 };
	struct arena *a = &s->arena;
	struct copies c = { copies, &once };
	const struct hook_tree tree = { s->root, s->home, str_of(copies), read_copy, has_copy, &c };
	str text, why = STR_NONE;

	if (h->type == HOOK_HTTP || h->type == HOOK_PROMPT)
		return; /* runs nothing of the tree */
	text = hook_pin_text(h, &tree, &once, &why);
	if (str_is_set(why)) {
		h->why = arena_str(a, why);
		h->state = HOOK_UNTIED;
		return;
	}
	if (h->exec_form) {
		h->tied = hook_pin_words(h, &tree, a);
	} else if (str_is_set(text)) {
		const char **words = arena_alloc(a, 4 * sizeof *words);

		words[0] = h->bash ? "/bin/bash" : "/bin/sh";
		words[1] = "-c";
		words[2] = arena_cstr(a, text);
		words[3] = NULL;
		h->tied = words;
	}
}

void hook_set_settle(struct hook_set *s, const char *copies)
{
	for (unsigned i = 0; i < s->count; i++) {
		struct hook *h = s->all[i];

		/* Of a project that nobody has trusted not even the name of a hook may reach an agent. */
		if (h->state == HOOK_NOT_RUN && h->group->source->scope != HOOK_USER && !copies)
			h->state = HOOK_UNTRUSTED;
		if (h->state != HOOK_LIVE)
			continue;
		if (h->group->source->scope == HOOK_USER) {
			if (h->exec_form && h->type == HOOK_COMMAND) {
				const char **out = arena_alloc(&s->arena, (h->nargs + 2) * sizeof *out);

				out[0] = arena_cstr(&s->arena, hook_expand_root(h->command, s->root, &s->arena));
				for (size_t j = 0; j < h->nargs; j++)
					out[j + 1] =
						arena_cstr(&s->arena, hook_expand_root(h->args[j], s->root, &s->arena));
				h->tied = out;
			}
		} else if (!copies) {
			h->state = HOOK_UNTRUSTED;
		} else {
			tie(s, copies, h);
		}
	}
}

/* -- the user's files -------------------------------------------------------------------------- */

static void good_path(const char *state, str path, char out[FS_PATH])
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, path.p, path.n);
	sha256_end(&h, digest);
	sha256_hex(digest, hex);
	if (snprintf(out, FS_PATH, "%s/hooks/%.32s", state, hex) >= FS_PATH)
		out[0] = 0;
}

static void remember_good(const char *state, str path, str text)
{
	struct buf old = BUF_INIT(LIMIT_SETTINGS);
	char good[FS_PATH], dir[FS_PATH];

	good_path(state, path, good);
	if (fs_join(dir, state, "hooks") == 0 && fs_private_dir(dir) == 0 &&
		(fs_read_file(good, &old) < 0 || !str_eq(buf_str(&old), text)))
		(void)fs_replace_file(good, text, false);
	buf_release(&old);
}

static void copy_problems(struct hook_set *s, const struct hook_source *from, struct hook_source *to)
{
	struct hook_problem **tail = &to->problems;

	*tail = NULL;
	to->errors = from->errors;
	to->count = from->count;
	for (const struct hook_problem *p = from->problems; p; p = p->next) {
		struct hook_problem *q = arena_new(&s->arena, struct hook_problem);

		*q = *p;
		q->next = NULL;
		q->text = arena_str(&s->arena, p->text);
		*tail = q;
		tail = &q->next;
	}
}

static int read_user_file(const char *path, struct buf *b, struct err *err)
{
	struct stat st;
	int r = fs_read_file(path, b);

	if (r == -ENOENT || r == -ENOTDIR)
		return r;
	if (r == 0 && stat(path, &st) == 0 && ((st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & S_IWOTH))
		return err_set(err, -EPERM, "it belongs to another user, or others can write to it");
	if (r < 0)
		err_set(err, r, "%s",
			r == -EFBIG            ? "it is too large"
				: r == -EINVAL ? "it is not a plain file"
					       : strerror(-r));
	return r;
}

/* A text with an error in it is replaced by the last valid one. */
static void add_user_file(struct hook_set *s, const char *path, enum hook_form form, const char *state)
{
	struct buf text = BUF_INIT(LIMIT_SETTINGS), good = BUF_INIT(LIMIT_SETTINGS);
	struct hook_set *trial = hook_set_new();
	struct hook_source *tried, *source;
	char good_file[FS_PATH] = "";
	struct err err = { 0 };
	int r = read_user_file(path, &text, &err);

	if (r != -ENOENT && r != -ENOTDIR) {
		tried = hook_source_new(trial, HOOK_USER, form, str_of(path), r < 0 ? STR("") : buf_str(&text));
		hooks_parse(trial, tried);
		if (r < 0)
			hook_complain(trial, tried, true, SIZE_MAX, "%s, so the file is ignored", err.text);
		if (state)
			good_path(state, str_of(path), good_file);
		if (tried->errors && good_file[0] && fs_read_file(good_file, &good) == 0) {
			source = hook_source_new(s, HOOK_USER, form, str_of(path), buf_str(&good));
			source->kept = true;
		} else {
			source = hook_source_new(s, HOOK_USER, form, str_of(path), r < 0 ? STR("") : buf_str(&text));
		}
		hooks_parse(s, source);
		copy_problems(s, tried, source);
		if (!tried->errors && state)
			remember_good(state, str_of(path), buf_str(&text));
	}
	hook_set_unref(trial);
	buf_release(&good);
	buf_release(&text);
}

/* -- all of it --------------------------------------------------------------------------------- */

static void add_project(struct hook_set *s, const struct hooks_where *w, bool claude, char copies[FS_PATH])
{
	/* The tree is much larger than what is taken from it, and a set lives as long as its session. */
	_cleanup_(arena_release) struct arena once = { 0 };
	struct trust_tree *t = arena_alloc(&once, sizeof *t);
	int r = hooks_project(w->cwd, w->home, &once, t, &s->trouble);
	const struct trust_file *f;

	if (t->root[0])
		s->root = arena_str(&s->arena, str_of(t->root));
	if (r == -ENOENT)
		s->trouble = (struct err){ 0 };
	if (r == 0) {
		s->trust = trust_look(w->state, t, copies);
		for (size_t i = 0; i < countof(project_files); i++) {
			f = trust_tree_find(t, str_of(project_files[i].name));
			if (f && !f->absent && (claude || project_files[i].form != HOOK_FORM_CLAUDE))
				hooks_parse(s,
					hook_source_new(s, project_files[i].scope, project_files[i].form,
						arena_strf(&s->arena, "%s/%s", t->root, project_files[i].name),
						f->bytes));
		}
	}
	trust_tree_close(t);
}

static void make_digest(struct hook_set *s)
{
	struct sha256 h;

	sha256_init(&h);
	for (const struct hook_source *source = s->sources; source; source = source->next) {
		sha256_add(&h, source->path.p, source->path.n + 1);
		sha256_add(&h, source->text.p, source->text.n);
	}
	sha256_end(&h, s->digest);
}

struct hook_set *hooks_load(const struct hooks_where *w)
{
	bool claude = !w->agent || hooks_agent_borrows(str_of(w->agent));
	char copies[FS_PATH] = "", path[FS_PATH];
	struct hook_set *s = hook_set_new();

	if (w->home)
		s->home = arena_str(&s->arena, str_of(w->home));
	if (w->cwd)
		add_project(s, w, claude, copies);
	if (w->user_config)
		add_user_file(s, w->user_config, HOOK_FORM_OWN, w->state);
	if (claude && w->home && fs_join(path, w->home, ".claude/settings.json") == 0)
		add_user_file(s, path, HOOK_FORM_CLAUDE, w->state);
	if (w->home && fs_join(path, w->home, HOOK_CODE_AGENT_FILE) == 0)
		add_user_file(s, path, HOOK_FORM_CODE_AGENT, w->state);
	hook_set_settle(s, copies[0] ? copies : NULL);
	s->copies = arena_str(&s->arena, str_of(copies));
	if (w->state)
		hook_scripts_check(s, w->state);
	make_digest(s);
	return s;
}

struct hook_set *hooks_load_file(const char *path, struct err *err)
{
	enum hook_form form = strstr(path, ".claude/") ? HOOK_FORM_CLAUDE
		: strstr(path, ".code-agent/")         ? HOOK_FORM_CODE_AGENT
						       : HOOK_FORM_OWN;
	struct hook_set *s;

	if (access(path, F_OK) < 0) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	s = hook_set_new();
	add_user_file(s, path, form, NULL);
	hook_set_settle(s, NULL);
	return s;
}
