#include "install/otel.h"

#include <errno.h>

#include "base/limits.h"
#include "install/notify.h"
#include "install/toml.h"

#define OURS "# hookd"

/* One statement of the table. */
struct line {
	bool there, ours;
	size_t begin, end; /* its line or lines, with the line end */
};

/* What a text says about telemetry. */
struct look {
	str text;
	struct line exporter, prompts;
	bool others;          /* the table holds more */
	bool dotted;          /* otel.x = … before the first table: no header can follow */
	str endpoint, header; /* of our exporter */
	bool has_table;
	size_t table, table_end; /* its header */
};

static void take_line(struct look *l, struct line *line, const struct toml_value *v)
{
	*line = (struct line){ .there = true, .begin = v->statement, .end = toml_line_end(l->text, v->end) };
	line->ours = str_ends(str_trim(str_n(l->text.p + line->begin, line->end - line->begin)), STR(OURS));
}

static void take(const struct toml_value *v, void *ctx)
{
	struct look *l = ctx;

	if (!str_eq(v->path[0], STR("otel")))
		return;
	l->dotted |= v->top;
	if (v->npath > 1 && str_eq(v->path[1], STR("exporter"))) {
		take_line(l, &l->exporter, v);
		if (v->npath == 4 && str_eq(v->path[3], STR("endpoint")))
			l->endpoint = v->text;
		if (v->npath == 5 && str_eq(v->path[4], STR("Authorization")))
			l->header = v->text;
	} else if (v->npath == 2 && str_eq(v->path[1], STR("log_user_prompt"))) {
		take_line(l, &l->prompts, v);
	} else {
		l->others = true;
	}
}

static int look_at(str text, struct arena *a, struct look *ret, struct err *err)
{
	struct toml_shape shape;
	int r;

	*ret = (struct look){ .text = text };
	r = toml_scan(text, a, take, ret, &shape, err);
	if (r == 0)
		ret->has_table = toml_find_table(text, a, STR("otel"), &ret->table, &ret->table_end);
	return r;
}

static bool is_current(const struct install_otel *o, const struct look *l, struct arena *a)
{
	return l->exporter.ours && str_eq(l->endpoint, str_of(o->endpoint)) &&
		str_eq(l->header, arena_strf(a, "Bearer %s", o->token));
}

static void write_exporter(const struct install_otel *o, struct arena *a, str newline, struct buf *b)
{
	buf_add_str(b, STR("exporter = { otlp-http = { endpoint = "));
	toml_write_string(b, str_of(o->endpoint));
	buf_add_str(b, STR(", protocol = \"binary\", headers = { Authorization = "));
	toml_write_string(b, arena_strf(a, "Bearer %s", o->token));
	buf_add_str(b, STR(" } } } " OURS));
	buf_add_str(b, newline);
}

/* Into the table that is there, or with one behind everything. */
static int put_in(const struct install_otel *o, const struct look *l, struct arena *a, str *ret, struct err *err)
{
	struct buf b = BUF_INIT(KIB(16));
	size_t at = l->exporter.ours ? l->exporter.begin : l->has_table ? l->table_end : l->text.n;
	size_t to = l->exporter.ours ? l->exporter.end : at;
	str newline = toml_newline(l->text);
	int r;

	if (at && l->text.p[at - 1] != '\n')
		buf_add_str(&b, newline);
	if (!l->has_table && !l->exporter.ours) {
		if (at)
			buf_add_str(&b, newline);
		buf_add_str(&b, STR("[otel] " OURS));
		buf_add_str(&b, newline);
	}
	write_exporter(o, a, newline, &b);
	/* What the hooks report anyway; it goes to hookd alone. */
	if (!l->prompts.there) {
		buf_add_str(&b, STR("log_user_prompt = true " OURS));
		buf_add_str(&b, newline);
	}
	r = toml_splice(l->text, at, to, buf_str(&b), a, ret, err);
	buf_release(&b);
	return r;
}

static int add_otel(const struct install_request *q, str text, struct arena *a, str *ret, struct install_counts *n,
	struct err *err)
{
	struct look l;
	int r = look_at(text, a, &l, err);

	*ret = text;
	if (r < 0 || is_current(q->otel, &l, a))
		return r;
	if ((l.exporter.there && !l.exporter.ours) || (l.dotted && !l.has_table)) {
		n->note = STR(
			"otel is already configured; hookd does without its telemetry, because the hooks report the "
			"same");
		return 0;
	}
	n->added += !l.exporter.there;
	n->changed += l.exporter.there;
	r = put_in(q->otel, &l, a, ret, err);
	if (r == 0 && (look_at(*ret, a, &l, NULL) < 0 || !is_current(q->otel, &l, a)))
		r = err_set(err, -EIO, "the result failed its check, so nothing will be changed");
	return r;
}

int install_otel_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	int r = install_notify_add(q, text, a, ret, ret_counts, err);

	if (r < 0 || !q->otel)
		return r;
	r = add_otel(q, *ret, a, ret, ret_counts, err);
	ret_counts->unused &= !ret_counts->added && !ret_counts->changed;
	return r;
}

/* -- taking out -------------------------------------------------------------------------------- */

static int cut(struct look *l, size_t begin, size_t end, struct arena *a, str *ret, struct install_counts *n,
	struct err *err)
{
	int r = toml_splice(l->text, begin, end, STR(""), a, ret, err);

	n->removed = 1;
	return r < 0 ? r : look_at(*ret, a, l, err);
}

/* The header that was put in with them, and the blank line before it. */
static int cut_table(struct look *l, struct arena *a, str *ret, struct install_counts *n, struct err *err)
{
	size_t begin = l->table;
	str newline = toml_newline(l->text), line = str_n(l->text.p + l->table, l->table_end - l->table);

	if (!l->has_table || l->others || l->exporter.there || l->prompts.there || !str_ends(str_trim(line), STR(OURS)))
		return 0;
	if (str_ends(str_head(l->text, begin), newline))
		begin -= newline.n;
	return cut(l, begin, l->table_end, a, ret, n, err);
}

int install_otel_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct install_counts n = { 0 };
	struct look l;
	int r = install_notify_remove(q, text, original, a, ret, ret_counts, err);

	/* A file that somebody broke meanwhile is no reason to leave hooks elsewhere. */
	if (r < 0 || str_find(*ret, STR(OURS)) < 0)
		return r;
	r = look_at(*ret, a, &l, err);
	if (r == 0 && l.exporter.ours)
		r = cut(&l, l.exporter.begin, l.exporter.end, a, ret, &n, err);
	if (r == 0 && l.prompts.ours)
		r = cut(&l, l.prompts.begin, l.prompts.end, a, ret, &n, err);
	if (r == 0)
		r = cut_table(&l, a, ret, &n, err);
	ret_counts->removed += n.removed;
	return r;
}
