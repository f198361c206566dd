/* pack_secrets: secrets as operands of any program. */
#include "guard/descriptor.h"

void judge_operands(struct run *x, struct cmd *c)
{
	const struct descriptor *d = descriptor_of(c->name);
	bool reader, skip, names;

	if (c->n < 2 || (d && d->touch == TOUCH_USES))
		return;
	reader = d && d->touch == TOUCH_SHOWS;
	skip = d && d->pattern_first && !cmd_has(c, "-e") && !cmd_has(c, "-f");
	names = str_in(c->name, "grep rg") && (cmd_has(c, "-l") || cmd_has(c, "-q") || cmd_has(c, "-c"));
	for (size_t i = 1; i < c->n; i++) {
		str w = c->v[i];
		enum secrecy s;

		if (!w.n || w.p[0] == '-')
			continue;
		if (skip) {
			skip = false;
			continue;
		}
		if (w.n > 1 && w.p[0] == '@')
			w = str_from(w, 1);
		s = secrecy_of(x, path_resolve(x, w));
		if (s == SECRET_KEY || (s != SECRET_NOT && reader && !names))
			judge_read(x, c, w);
	}
}

/* -- programs that hand out secrets ----------------------------------------------------------- */

static void do_echo(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (has_mark(c->v[i], "\6") && !c->net_out) {
			FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints a secret from the environment");
			return;
		}
}

/* openssl: -in is read, -out and -keyout are written. */
static void do_openssl(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i + 1 < c->n; i++)
		if (str_in(c->v[i], "-in -inkey -key"))
			judge_read(x, c, c->v[i + 1]);
		else if (str_in(c->v[i], "-out -keyout"))
			judge_write(x, c, c->v[i + 1], STR("\1"), false);
}

const struct handler pack_secrets[] = {
	{ "echo", do_echo },
	{ "openssl", do_openssl },
	{ 0 },
};
