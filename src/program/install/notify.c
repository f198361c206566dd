#include "install/notify.h"

#include <errno.h>

#include "base/limits.h"
#include "install/entry.h"
#include "install/toml.h"

enum { WORDS_MAX = 32 };

/* What a text says about the key. */
struct look {
	struct toml_shape shape;
	unsigned count;       /* how often it occurs, in whatever form */
	bool plain;           /* as one array before the first table */
	size_t statement;     /* where its line begins */
	size_t begin, end;    /* its value */
	str words[WORDS_MAX]; /* of that array; nwords is -1 when it holds anything else */
	int nwords;
};

static void take(const struct toml_value *v, void *ctx)
{
	struct look *l = ctx;

	if (!str_eq(v->path[0], STR("notify")))
		return;
	l->count++;
	l->plain = v->top && v->npath == 1 && v->type == TOML_ARRAY;
	l->statement = v->statement;
	l->begin = v->begin;
	l->end = v->end;
}

static int look_at(str text, struct arena *a, struct look *ret, struct err *err)
{
	int r;

	*ret = (struct look){ .nwords = -1 };
	r = toml_scan(text, a, take, ret, &ret->shape, err);
	if (r == 0 && ret->count == 1 && ret->plain)
		ret->nwords = toml_strings(text, ret->begin, a, ret->words, WORDS_MAX);
	return r;
}

static bool is_ours(const struct look *l)
{
	return l->nwords > 0 && entry_is_hookc(l->words[0]);
}

static bool is_current(const struct install_request *q, const struct look *l)
{
	const str wanted[] = { str_of(q->hookc), STR("--dir"), str_of(q->state), str_of(q->agent->name),
		STR(INSTALL_NOTIFY) };

	if (l->nwords != (int)countof(wanted))
		return false;
	for (size_t i = 0; i < countof(wanted); i++)
		if (!str_eq(l->words[i], wanted[i]))
			return false;
	return true;
}

static void write_value(const struct install_request *q, struct buf *b)
{
	const char *words[] = { q->hookc, "--dir", q->state, q->agent->name, INSTALL_NOTIFY };

	for (size_t i = 0; i < countof(words); i++) {
		buf_add_str(b, i ? STR(", ") : STR("["));
		toml_write_string(b, str_of(words[i]));
	}
	buf_add_char(b, ']');
}

/* -- lines ------------------------------------------------------------------------------------- */

static size_t line_before(str text, size_t at)
{
	if (at)
		at--;
	while (at && text.p[at - 1] != '\n')
		at--;
	return at;
}

static str line_at(str text, size_t at)
{
	return str_trim(str_head(str_from(text, at), toml_line_end(text, at) - at));
}

/* Where the comment lines directly above a table begin. */
static size_t above_table(str text, size_t at)
{
	size_t before;

	while (at && str_starts(line_at(text, before = line_before(text, at)), STR("#")))
		at = before;
	/* A byte order mark stays in front. */
	return at == 0 && str_starts(text, STR("\xEF\xBB\xBF")) ? 3 : at;
}

/* -- putting in -------------------------------------------------------------------------------- */

/* Behind the last key that belongs to no table. */
static int insert(const struct install_request *q, str text, const struct look *l, struct arena *a, str *ret,
	struct err *err)
{
	struct buf b = BUF_INIT(KIB(64));
	bool before_table = !l->shape.statements && l->shape.first_table < text.n;
	size_t at = l->shape.statements ? l->shape.last_end
		: before_table          ? above_table(text, l->shape.first_table)
					: text.n;
	str newline = toml_newline(text);
	bool open_line = at && at == text.n && text.p[at - 1] != '\n' && !str_eq(text, STR("\xEF\xBB\xBF"));
	int r;

	if (open_line)
		buf_add_str(&b, newline);
	buf_add_str(&b, STR("notify = "));
	write_value(q, &b);
	if (!open_line)
		buf_add_str(&b, newline);
	if (before_table)
		buf_add_str(&b, newline);
	r = b.full ? err_set(err, -EFBIG, "the paths are too long")
		   : toml_splice(text, at, at, buf_str(&b), a, ret, err);
	buf_release(&b);
	return r;
}

static int replace(const struct install_request *q, str text, const struct look *l, struct arena *a, str *ret,
	struct err *err)
{
	struct buf b = BUF_INIT(KIB(64));
	int r;

	write_value(q, &b);
	r = b.full ? err_set(err, -EFBIG, "the paths are too long")
		   : toml_splice(text, l->begin, l->end, buf_str(&b), a, ret, err);
	buf_release(&b);
	return r;
}

/* The program that is notified instead of us. */
static str foreign_note(const struct look *l, struct arena *a)
{
	struct buf b = BUF_INIT(200);
	str note;

	for (int i = 0; i < l->nwords; i++)
		if (buf_addf(&b, "%s" STR_FMT, i ? " " : "", STR_ARG(l->words[i])) < 0)
			break;
	note = arena_strf(a, "notify is already used by %s; hookd does without it, because the hooks report the same",
		b.len ? b.p : "something else");
	buf_release(&b);
	return note;
}

static int verify(const struct install_request *q, str text, struct arena *a)
{
	struct look l;

	return look_at(text, a, &l, NULL) == 0 && is_current(q, &l) ? 0 : -EIO;
}

int install_notify_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	struct look l;
	int r = look_at(text, a, &l, err);

	*ret = text;
	*ret_counts = (struct install_counts){ 0 };
	if (r < 0 || is_current(q, &l))
		return r;
	if (l.count && !is_ours(&l)) {
		ret_counts->unused = true;
		ret_counts->note = foreign_note(&l, a);
		return 0;
	}
	if (l.count)
		ret_counts->changed = 1;
	else
		ret_counts->added = 1;
	r = (l.count ? replace : insert)(q, text, &l, a, ret, err);
	if (r == 0 && verify(q, *ret, a) < 0)
		r = err_set(err, -EIO, "the result failed its check, so nothing will be changed");
	return r;
}

/* -- taking out and listing -------------------------------------------------------------------- */

int install_notify_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err)
{
	size_t from, to;
	struct look l;
	int r;

	*ret = text;
	*ret_counts = (struct install_counts){ 0 };
	/* A file that somebody broke meanwhile is no reason to leave hooks elsewhere. */
	if (str_find(text, STR("hookc")) < 0)
		return 0;
	r = look_at(text, a, &l, err);
	if (r < 0 || !is_ours(&l))
		return r;
	from = l.statement;
	to = toml_line_end(text, l.end);
	/* The blank line that was put in with it, and the line end before it. */
	if (l.shape.statements == 1 && l.shape.first_table < text.n && str_empty(line_at(text, to)))
		to = toml_line_end(text, to);
	if (to == text.n && from && text.p[to - 1] != '\n') {
		from -= text.p[from - 1] == '\n';
		from -= from && text.p[from - 1] == '\r';
	}
	ret_counts->removed = 1;
	return toml_splice(text, from, to, STR(""), a, ret, err);
}

int install_notify_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err)
{
	struct look l;
	int r = look_at(text, a, &l, err);
	str *args;

	*ret = NULL;
	if (r < 0 || !is_ours(&l))
		return r;
	*ret = arena_new(a, struct install_entry);
	args = arena_alloc(a, (size_t)l.nwords * sizeof *args);
	for (int i = 1; i < l.nwords; i++)
		args[i - 1] = l.words[i];
	**ret = (struct install_entry){
		.event = STR(INSTALL_NOTIFY),
		.command = l.words[0],
		.args = args,
		.nargs = (size_t)l.nwords - 1,
		.current = is_current(q, &l),
		.is_notify = true,
	};
	return 0;
}

bool install_notify_is_empty(const struct install_request *q, str text)
{
	return str_empty(str_trim(text));
}
