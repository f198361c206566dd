/* The simple commands of a script on standard input as JSON lines, in the order of their places:
 *
 *   {"at":0,"words":[{"text":"rm","constant":true,"begin":0,"end":2},…],"assigns":[[begin,end],…],
 *    "redirects":[{"fd":2,"target":"x","constant":true,…}]}
 *
 * A word that is not constant is shown as it is written. Bytes above 127 are written as if they were Latin-1, so that
 * every script has a form. A script that is refused gives {"error":…,"at":…,"line":…,"col":…} and exit 1. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "shell/shell.h"

struct dump {
	struct arena *a;
	struct buf *out;
	str text;
};

static void put_string(struct buf *b, str text)
{
	buf_add_char(b, '"');
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c == '"' || c == '\\')
			buf_addf(b, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			buf_addf(b, "\\u%04x", c);
		else
			buf_add_char(b, (char)c);
	}
	buf_add_char(b, '"');
}

static void put_word(struct dump *d, const char *key, const struct shell_word *w)
{
	str literal = shell_word_literal(d->a, w);
	bool constant = str_is_set(literal);

	buf_addf(d->out, "\"%s\":", key);
	put_string(d->out, constant ? literal : str_n(d->text.p + w->begin, w->end - w->begin));
	buf_addf(d->out, ",\"constant\":%s,\"begin\":%u,\"end\":%u", constant ? "true" : "false", w->begin, w->end);
}

static void put_simple(const struct shell_node *n, void *arg)
{
	struct dump *d = arg;
	uint32_t at = UINT32_MAX;
	const char *comma = "";

	if (n->words)
		at = MIN(at, n->words->begin);
	if (n->assigns)
		at = MIN(at, n->assigns->begin);
	if (n->redirects)
		at = MIN(at, n->redirects->begin);
	if (at == UINT32_MAX)
		return; /* "!" or "time" alone */
	buf_addf(d->out, "{\"at\":%u,\"words\":[", at);
	for (const struct shell_word *w = n->words; w; w = w->next) {
		buf_addf(d->out, "%s{", comma);
		put_word(d, "text", w);
		buf_add_char(d->out, '}');
		comma = ",";
	}
	buf_add_str(d->out, STR("],\"assigns\":["));
	comma = "";
	for (const struct shell_assign *assign = n->assigns; assign; assign = assign->next) {
		buf_addf(d->out, "%s[%u,%u]", comma, assign->begin, assign->end);
		comma = ",";
	}
	buf_add_str(d->out, STR("],\"redirects\":["));
	comma = "";
	for (const struct shell_redirect *r = n->redirects; r; r = r->next) {
		buf_addf(d->out, "%s{\"fd\":%d,\"op\":%d,", comma, r->fd, (int)r->op);
		put_word(d, "target", r->target);
		buf_add_char(d->out, '}');
		comma = ",";
	}
	buf_add_str(d->out, STR("]}\n"));
}

int main(void)
{
	/* Scripts of a distribution are longer and deeper than anything a guard is asked about. */
	const struct shell_limits limits = { .bytes = MIB(16), .nodes = 10000000, .depth = 200 };
	struct buf in = BUF_INIT(MIB(16)), out = BUF_INIT(MIB(256));
	struct shell_node *list;
	struct err err = { 0 };
	struct dump d = { .out = &out };
	struct arena a;
	size_t n, at = 0;
	char *room;
	int r;

	arena_init(&a);
	while ((room = buf_reserve(&in, KIB(64))) && (n = fread(room, 1, KIB(64), stdin)) > 0)
		buf_commit(&in, n);
	d.a = &a;
	d.text = buf_str(&in);
	r = shell_parse(&a, d.text, &limits, &list, &at, &err);
	if (r == 0) {
		shell_each_simple(list, put_simple, &d);
	} else {
		buf_add_str(&out, STR("{\"error\":"));
		put_string(&out, str_of(err.text));
		buf_addf(&out, ",\"at\":%zu,\"line\":%u,\"col\":%u}\n", at, err.line, err.col);
	}
	fwrite(out.p, 1, out.len, stdout);
	buf_release(&out);
	buf_release(&in);
	arena_release(&a);
	return r < 0;
}
