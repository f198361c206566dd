/* Codex: [mcp_servers.hookd] in config.toml, beside notify and telemetry. */
#include <errno.h>

#include "base/limits.h"
#include "install/mcp.h"
#include "install/notify.h"
#include "install/otel.h"
#include "install/toml.h"

enum { TABLES_MAX = 16 };

/* What a text says about a server that is called hookd. */
struct look {
	str text;
	bool there;
	bool in_table; /* under the header [mcp_servers.hookd] */
	size_t table, table_end;
	struct toml_value command, args;
	/* The first statements about it that follow one another. */
	bool found, over;
	size_t begin, end;
};

static void take(const struct toml_value *v, void *ctx)
{
	struct look *l = ctx;

	if (v->npath < 2 || !str_eq(v->path[0], STR("mcp_servers")) || !str_eq(v->path[1], STR("hookd"))) {
		l->over = l->found;
		return;
	}
	l->there = true;
	if (!l->over) {
		l->begin = l->found ? l->begin : v->statement;
		l->end = toml_line_end(l->text, v->end);
		l->found = true;
	}
	if (v->npath == 3 && v->type == TOML_STRING && str_eq(v->path[2], STR("command")))
		l->command = *v;
	if (v->npath == 3 && v->type == TOML_ARRAY && str_eq(v->path[2], STR("args")))
		l->args = *v;
}

static int look_at(str text, struct arena *a, struct look *ret, struct err *err)
{
	struct toml_shape shape;
	int r;

	*ret = (struct look){ .text = text };
	r = toml_scan(text, a, take, ret, &shape, err);
	if (r == 0)
		ret->in_table = toml_find_table(text, a, STR("mcp_servers.hookd"), &ret->table, &ret->table_end);
	return r;
}

static size_t words_of(const struct look *l, struct arena *a, str words[MCP_WORDS_MAX])
{
	int n = 0;

	if (!str_is_set(l->command.text))
		return 0;
	words[0] = l->command.text;
	if (l->args.end)
		n = toml_strings(l->text, l->args.begin, a, words + 1, MCP_WORDS_MAX - 1);
	return n < 0 ? 0 : 1 + (size_t)n;
}

static bool is_ours(const struct look *l, struct arena *a)
{
	str words[MCP_WORDS_MAX];
	size_t n = words_of(l, a, words);

	return l->in_table && n && mcp_is_ours(words, n);
}

static bool is_current(const struct install_request *q, const struct look *l, struct arena *a)
{
	str words[MCP_WORDS_MAX];

	return is_ours(l, a) && mcp_is_current(q, words, words_of(l, a, words), a);
}

static void write_args(const str words[MCP_WORDS], struct buf *b)
{
	for (size_t i = 1; i < MCP_WORDS; i++) {
		buf_add_str(b, i == 1 ? STR("[") : STR(", "));
		toml_write_string(b, words[i]);
	}
	buf_add_char(b, ']');
}

/* A table behind everything. */
static int append_table(const struct look *l, const str words[MCP_WORDS], struct arena *a, str *ret, struct err *err)
{
	struct buf b = BUF_INIT(KIB(16));
	str newline = toml_newline(l->text);
	int r;

	if (l->text.n && l->text.p[l->text.n - 1] != '\n')
		buf_add_str(&b, newline);
	if (l->text.n)
		buf_add_str(&b, newline);
	buf_add_str(&b, STR("[mcp_servers.hookd]"));
	buf_add_str(&b, newline);
	buf_add_str(&b, STR("command = "));
	toml_write_string(&b, words[0]);
	buf_add_str(&b, newline);
	buf_add_str(&b, STR("args = "));
	write_args(words, &b);
	buf_add_str(&b, newline);
	r = toml_splice(l->text, l->text.n, l->text.n, buf_str(&b), a, ret, err);
	buf_release(&b);
	return r;
}

/* Both values where they stand; the later one first, so that the other does not move. */
static int replace_values(const struct look *l, const str words[MCP_WORDS], struct arena *a, str *ret, struct err *err)
{
	struct buf b[2] = { BUF_INIT(KIB(16)), BUF_INIT(KIB(16)) };
	const struct toml_value *v[2] = { &l->command, &l->args };
	int first = v[0]->begin < v[1]->begin ? 0 : 1, r;

	toml_write_string(&b[0], words[0]);
	write_args(words, &b[1]);
	r = toml_splice(l->text, v[!first]->begin, v[!first]->end, buf_str(&b[!first]), a, ret, err);
	if (r == 0)
		r = toml_splice(*ret, v[first]->begin, v[first]->end, buf_str(&b[first]), a, ret, err);
	buf_release(&b[0]);
	buf_release(&b[1]);
	return r;
}

static int add_server(const struct install_request *q, str text, struct arena *a, str *ret, struct install_counts *n,
	struct err *err)
{
	str words[MCP_WORDS];
	struct look l;
	int r = look_at(text, a, &l, err);

	*ret = text;
	if (r < 0 || is_current(q, &l, a))
		return r;
	if ((l.there || l.in_table) && !is_ours(&l, a)) {
		n->note = str_is_set(n->note) ? n->note : mcp_foreign_note;
		return 0;
	}
	mcp_words(q, a, words);
	n->added += !l.there;
	n->changed += l.there;
	r = (l.there ? replace_values : append_table)(&l, words, a, ret, err);
	if (r == 0 && (look_at(*ret, a, &l, NULL) < 0 || !is_current(q, &l, a)))
		r = err_set(err, -EIO, "the result failed its check, so nothing will be changed");
	return r;
}

int install_codex_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	int r = install_otel_add(q, text, a, ret, ret_counts, err);

	if (r < 0 || !q->mcp)
		return r;
	r = add_server(q, *ret, a, ret, ret_counts, err);
	ret_counts->unused &= !ret_counts->added && !ret_counts->changed;
	return r;
}

/* -- taking out -------------------------------------------------------------------------------- */

/* The header above a table's first statement, and the blank line before it. */
static size_t header_above(const struct look *l)
{
	str newline = toml_newline(l->text);
	size_t at = l->begin;

	do {
		if (at)
			at--;
		while (at && l->text.p[at - 1] != '\n')
			at--;
	} while (at && l->text.p[at] != '[');
	return at && str_ends(str_head(l->text, at), newline) ? at - newline.n : at;
}

/* The table, and those below it that a person may have added: without it they would be half a server, which Codex
 * refuses to start with. */
static int cut_tables(str text, struct arena *a, str *ret, struct err *err)
{
	struct look l;
	int r = 0;

	*ret = text;
	for (int i = 0; r == 0 && i < TABLES_MAX; i++) {
		r = look_at(*ret, a, &l, err);
		if (r < 0 || !l.found)
			break;
		r = toml_splice(*ret, header_above(&l), l.end, STR(""), a, ret, err);
	}
	return r;
}

int install_codex_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct look l;
	bool ours;
	int r = look_at(text, a, &l, NULL);

	ours = r == 0 && is_ours(&l, a);
	*ret = text;
	if (ours)
		r = cut_tables(text, a, ret, err);
	if (ours && r < 0)
		return r;
	r = install_otel_remove(q, *ret, original, a, ret, ret_counts, err);
	ret_counts->removed += ours;
	return r;
}

int install_codex_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err)
{
	str words[MCP_WORDS_MAX];
	struct look l;
	int r = install_notify_list(q, text, a, ret, err);

	if (r < 0 || !q->mcp || look_at(text, a, &l, NULL) < 0 || !is_ours(&l, a))
		return r;
	while (*ret)
		ret = &(*ret)->next;
	*ret = mcp_entry(q, words, words_of(&l, a, words), a);
	return 0;
}
