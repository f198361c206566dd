#include "install/mcp.h"

#include <errno.h>

#include "base/limits.h"
#include "json/edit.h"

static const str mark = { "\xEF\xBB\xBF", 3 }, name = { "hookd", 5 };

const str mcp_foreign_note = { "an MCP server of another origin is called hookd there; hookd mcp is not registered",
	sizeof "an MCP server of another origin is called hookd there; hookd mcp is not registered" - 1 };

/* -- words ------------------------------------------------------------------------------------- */

void mcp_words(const struct install_request *q, struct arena *a, str words[MCP_WORDS])
{
	const char *slash = strrchr(q->hookc, '/');

	words[0] = arena_strf(a, "%.*s/hookd", slash ? (int)(slash - q->hookc) : 0, q->hookc);
	words[1] = STR("mcp");
	words[2] = STR("--dir");
	words[3] = str_of(q->state);
}

bool mcp_is_ours(const str *words, size_t n)
{
	bool mcp = false;

	for (size_t i = 1; i < n; i++)
		mcp = mcp || str_eq(words[i], STR("mcp"));
	return mcp && (str_eq(words[0], name) || str_ends(words[0], STR("/hookd")));
}

bool mcp_is_current(const struct install_request *q, const str *words, size_t n, struct arena *a)
{
	str wanted[MCP_WORDS];

	if (!q->hookc || n != MCP_WORDS)
		return false;
	mcp_words(q, a, wanted);
	for (size_t i = 0; i < n; i++)
		if (!str_eq(words[i], wanted[i]))
			return false;
	return true;
}

struct install_entry *mcp_entry(const struct install_request *q, const str *words, size_t n, struct arena *a)
{
	struct install_entry *e = arena_new(a, struct install_entry);
	str *args = arena_alloc(a, n * sizeof *args);

	for (size_t i = 1; i < n; i++)
		args[i - 1] = words[i];
	*e = (struct install_entry){ .event = STR("mcp"),
		.command = words[0],
		.args = args,
		.nargs = n - 1,
		.current = mcp_is_current(q, words, n, a),
		.is_mcp = true };
	return e;
}

/* -- how each agent writes it ------------------------------------------------------------------ */

static const struct mcp_form {
	const char *agent;
	const char *servers; /* the member that holds them */
	const char *type;    /* or NULL */
	bool one_list;       /* the arguments are part of "command" */
	const char *rest;    /* members that the agent wants besides, or "" */
} forms[] = {
	{ "claude", "mcpServers", "stdio", false, "" },
	{ "gemini", "mcpServers", NULL, false, "" },
	{ "qwen", "mcpServers", NULL, false, "" },
	{ "cursor", "mcpServers", NULL, false, "" },
	{ "windsurf", "mcpServers", NULL, false, "" },
	{ "copilot", "mcpServers", "local", false, ",\"tools\":[\"*\"]" },
	{ "opencode", "mcp", "local", true, ",\"enabled\":true" },
};

static const struct mcp_form *form_of(const struct agent *agent)
{
	for (size_t i = 0; i < countof(forms); i++)
		if (strcmp(forms[i].agent, agent->name) == 0)
			return &forms[i];
	return &forms[0];
}

static void write_words(struct json_writer *w, const str *words, size_t n)
{
	jw_array(w);
	for (size_t i = 0; i < n; i++)
		jw_str(w, words[i]);
	jw_end_array(w);
}

static void write_entry(const struct install_request *q, struct json_writer *w, struct arena *a)
{
	const struct mcp_form *f = form_of(q->agent);
	str words[MCP_WORDS];

	mcp_words(q, a, words);
	jw_object(w);
	if (f->type)
		jw_field_str(w, "type", str_of(f->type));
	jw_key(w, "command");
	if (f->one_list) {
		write_words(w, words, MCP_WORDS);
	} else {
		jw_str(w, words[0]);
		jw_key(w, "args");
		write_words(w, words + 1, MCP_WORDS - 1);
	}
	buf_add_str(w->b, str_of(f->rest));
	jw_end_object(w);
}

/* {"hookd": ENTRY}, below the member for servers when that is missing. */
static struct json *make_members(const struct install_request *q, bool with_servers, struct arena *a)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);
	struct json *v = NULL;

	jw_object(&w);
	if (with_servers) {
		jw_key(&w, form_of(q->agent)->servers);
		jw_object(&w);
	}
	jw_key(&w, "hookd");
	write_entry(q, &w, a);
	if (with_servers)
		jw_end_object(&w);
	jw_end_object(&w);
	if (!b.full)
		json_parse(a, arena_str(a, buf_str(&b)), 0, &v, NULL);
	buf_release(&b);
	return v;
}

/* The words of an entry; 0: it runs no program, or is none. */
static size_t words_of(const struct json *entry, str words[MCP_WORDS_MAX])
{
	const struct json *command = json_get(entry, STR("command")), *args = json_get(entry, STR("args"));
	size_t n = 0;

	if (str_is_set(json_str(command)))
		words[n++] = json_str(command);
	else
		args = command;
	json_each(arg, args) {
		if (n == MCP_WORDS_MAX || !str_is_set(json_str(arg)))
			return 0;
		words[n++] = json_str(arg);
	}
	return n;
}

static bool entry_is_server(const struct json *entry)
{
	str words[MCP_WORDS_MAX];
	size_t n = words_of(entry, words);

	return n && mcp_is_ours(words, n);
}

/* -- a text ------------------------------------------------------------------------------------ */

struct work {
	str text; /* without a byte order mark */
	bool marked;
	struct json *root, *servers, *entry; /* the last two may be missing */
	struct json_edit edit;
};

/* Comments are kept where they are, whether or not the agent bears them. */
static int open_work(struct work *w, const struct install_request *q, str text, struct arena *a, struct err *err)
{
	const char *servers = form_of(q->agent)->servers;
	unsigned line, col;
	int r;

	*w = (struct work){ .text = text, .marked = str_starts(text, mark) };
	if (w->marked)
		w->text = str_from(text, mark.n);
	if (str_empty(str_trim(w->text)))
		w->text = STR("{}\n");
	r = json_parse(a, w->text, JSON_LENIENT_UTF8 | JSON_COMMENTS, &w->root, err);
	if (r < 0)
		return r;
	w->servers = json_get(w->root, str_of(servers));
	if (w->root->type != JSON_OBJECT || (w->servers && w->servers->type != JSON_OBJECT)) {
		json_locate(w->text, (w->servers ? w->servers : w->root)->begin, &line, &col);
		return err_set_at(err, -EBADMSG, line, col, "%s must be an object", w->servers ? servers : "the file");
	}
	w->entry = json_get(w->servers, name);
	json_edit_init(&w->edit, a, w->text, w->root);
	return 0;
}

static int close_work(struct work *w, struct arena *a, str *ret, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	int r;

	if (w->marked)
		buf_add_str(&b, mark);
	r = json_edit_apply(&w->edit, &b);
	if (r == 0)
		*ret = arena_str(a, buf_str(&b));
	buf_release(&b);
	return r < 0 ? err_set(err, -EFBIG, "the file would become larger than 4 MiB") : 0;
}

/* Only the words change where they can, so that what a person added stays. */
static void refresh(struct work *w, const struct install_request *q, struct arena *a)
{
	struct json *now = json_get(make_members(q, false, a), name), *args = json_get(w->entry, STR("args")),
		    *wanted = json_get(now, STR("args"));

	if (!args != !wanted) {
		json_edit_replace(&w->edit, w->entry, now);
		return;
	}
	json_edit_replace(&w->edit, json_get(w->entry, STR("command")), json_get(now, STR("command")));
	if (args)
		json_edit_replace(&w->edit, args, wanted);
}

int install_mcp_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	str words[MCP_WORDS_MAX];
	struct work w;
	int r = open_work(&w, q, text, a, err);

	*ret = text;
	*ret_counts = (struct install_counts){ .noun = "MCP server" };
	if (r < 0 || (w.entry && mcp_is_current(q, words, words_of(w.entry, words), a)))
		return r;
	if (w.entry && !entry_is_server(w.entry)) {
		ret_counts->note = mcp_foreign_note;
		ret_counts->unused = true;
		return 0;
	}
	if (w.entry)
		refresh(&w, q, a);
	else
		json_edit_append(&w.edit, w.servers ? w.servers : w.root, make_members(q, !w.servers, a));
	ret_counts->added = !w.entry;
	ret_counts->changed = !!w.entry;
	r = close_work(&w, a, ret, err);
	if (r == 0 && (open_work(&w, q, *ret, a, NULL) < 0 || !mcp_is_current(q, words, words_of(w.entry, words), a)))
		r = err_set(err, -EIO, "the result failed its check, so nothing will be changed");
	return r;
}

static bool member_gone(const struct json *m, void *ctx)
{
	(void)ctx;
	return str_eq(m->key, name) && entry_is_server(m);
}

static bool is_it(const struct json *m, void *ctx)
{
	return m == ctx;
}

static bool holds_only_ours(const struct json *servers)
{
	json_each(entry, servers)
		if (!member_gone(entry, NULL))
			return false;
	return true;
}

int install_mcp_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct work w, before;
	bool had;
	int r = open_work(&w, q, text, a, err);

	*ret = text;
	*ret_counts = (struct install_counts){ .noun = "MCP server" };
	if (r < 0 || !w.entry || !entry_is_server(w.entry))
		return r;
	had = str_is_set(original) && open_work(&before, q, original, a, NULL) == 0 && before.servers;
	ret_counts->removed = 1;
	if (!had && holds_only_ours(w.servers))
		json_edit_remove(&w.edit, w.root, is_it, w.servers);
	else
		json_edit_remove(&w.edit, w.servers, member_gone, NULL);
	return close_work(&w, a, ret, err);
}

int install_mcp_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err)
{
	str words[MCP_WORDS_MAX];
	struct work w;
	int r = open_work(&w, q, text, a, err);

	*ret = NULL;
	if (r == 0 && w.entry && entry_is_server(w.entry))
		*ret = mcp_entry(q, words, words_of(w.entry, words), a);
	return r;
}

bool install_mcp_is_empty(const struct install_request *q, str text)
{
	struct arena a;
	struct work w;
	bool empty;

	arena_init(&a);
	empty = open_work(&w, q, text, &a, NULL) == 0 && !w.root->first;
	arena_release(&a);
	return empty;
}

/* -- beside hooks ------------------------------------------------------------------------------ */

static void add_counts(struct install_counts *to, const struct install_counts *n)
{
	if (n->added + n->changed + n->removed)
		to->noun = "setting";
	to->added += n->added;
	to->changed += n->changed;
	to->removed += n->removed;
	if (!str_is_set(to->note))
		to->note = n->note;
}

int install_settings_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct install_counts n = { 0 };
	int r = install_edit_add(q, text, a, ret, ret_counts, err);

	if (r < 0 || !q->mcp)
		return r;
	r = install_mcp_add(q, *ret, a, ret, &n, err);
	add_counts(ret_counts, &n);
	return r;
}

/* In the other order: what was put in last comes out first. */
int install_settings_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct install_counts n = { 0 };
	int r = install_mcp_remove(q, text, original, a, ret, &n, err);

	if (r < 0)
		return r;
	r = install_edit_remove(q, *ret, original, a, ret, ret_counts, err);
	add_counts(ret_counts, &n);
	return r;
}

int install_settings_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err)
{
	int r = install_edit_list(q, text, a, ret, err);

	if (r < 0 || !q->mcp)
		return r;
	while (*ret)
		ret = &(*ret)->next;
	return install_mcp_list(q, text, a, ret, err);
}
