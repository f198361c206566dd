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
		if (!d && str_in(c->v[i - 1], "-i -k --key --key-file --keyfile --identity --private-key --ssh-key"))
			continue; /* to be used; what is not known is asked about */
		if (s == SECRET_KEY || (s != SECRET_NOT && reader && !names))
			judge_read(x, c, w);
	}
}

/* -- programs that hand out secrets ----------------------------------------------------------- */

static void do_echo(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n && !x->logs_in; i++)
		/* ::add-mask:: tells a build to hide what follows. */
		if (has_mark(c->v[i], "\6") && !c->net_out && !str_starts(c->v[i], STR("::add-mask::"))) {
			FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints a secret from the environment");
			return;
		}
}

/* openssl: most of it uses a key and shows nothing of it; some prints what -in holds, or puts it into -out. */
static void do_openssl(struct run *x, struct cmd *c)
{
	bool shows = c->n > 1 && str_in(c->v[1], "rsa ec dsa pkey pkcs8 pkcs12 enc base64 rsautl pkeyutl cms smime"),
	     out = false;
	str content = STR("\1");

	for (size_t i = 1; i < c->n; i++) {
		shows &= !str_in(c->v[i], "-pubout -pubin -noout -export -nokeys -encrypt");
		out |= str_eq(c->v[i], STR("-out"));
	}
	for (size_t i = 1; i + 1 < c->n && shows; i++)
		if (str_eq(c->v[i], STR("-in")) && secrecy_of(x, path_resolve(x, c->v[i + 1])) != SECRET_NOT) {
			if (!out || secrecy_of(x, path_resolve(x, c->v[i + 1])) == SECRET_KEY)
				judge_read(x, c, c->v[i + 1]);
			content = STR("\5");
		}
	for (size_t i = 1; i + 1 < c->n; i++)
		if (str_in(c->v[i], "-out -keyout"))
			judge_write(x, c, c->v[i + 1], content, false);
}

const struct handler pack_secrets[] = {
	{ "echo", do_echo },
	{ "openssl", do_openssl },
	{ 0 },
};
