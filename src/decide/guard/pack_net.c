/* pack_net: what comes from the network, what goes there, and shells that are joined to it. */
#include "guard/internal.h"

/* -- sending ---------------------------------------------------------------------------------- */

static bool is_secret_file(struct run *x, str word)
{
	return word.n && secrecy_of(x, path_resolve(x, word)) != SECRET_NOT;
}

void judge_send(struct run *x, struct cmd *c, str file)
{
	str content;

	if (is_secret_file(x, file) || (fs_written(x, file, &content) && has_mark(content, "\5")))
		FAULT(x, c, RULE_SECRET_EXFIL, VERDICT_DENY, "this sends secrets to another machine: " STR_FMT,
			STR_ARG(file));
}

static void sends_text(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (has_mark(c->v[i], "\5")) {
			FAULT(x, c, RULE_SECRET_EXFIL, VERDICT_DENY, "this sends secrets to another machine");
			return;
		}
	if (str_is_set(c->in) && has_mark(c->in, "\5"))
		FAULT(x, c, RULE_SECRET_EXFIL, VERDICT_DENY, "this sends secrets to another machine");
}

/* This machine, and not localhost.example.org or localhost@example.org. */
static bool is_local_url(str url)
{
	ptrdiff_t at = str_find(url, STR("://"));
	str host = at >= 0 ? str_from(url, (size_t)at + 3) : url;

	for (size_t i = 0; i < host.n; i++)
		if (host.p[i] == '/' || host.p[i] == '?' || host.p[i] == '#')
			host = str_head(host, i);
	if (has_mark(host, MARKS_ANY) || str_find_char(host, '@') >= 0 || str_find_char(host, '\\') >= 0)
		return false;
	at = str_starts(host, STR("[")) ? str_find(host, STR("]:")) + 1 : str_find_char(host, ':');
	host = at > 0 ? str_head(host, (size_t)at) : host;
	if (str_eq(host, STR("localhost")) || str_eq(host, STR("[::1]")) || str_eq(host, STR("0.0.0.0")))
		return true;
	for (size_t i = 0; i < host.n; i++)
		if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'))
			return false;
	return str_starts(host, STR("127."));
}

/* -- curl, wget ------------------------------------------------------------------------------- */

static str url_file(str url)
{
	ptrdiff_t q = str_find_char(url, '?');
	str base = str_base(q >= 0 ? str_head(url, (size_t)q) : url);

	return base.n ? base : STR("index.html");
}

static void judge_url(struct run *x, struct cmd *c, str url, bool deletes)
{
	if (str_has(url, "127.0.0.1:7717") || str_has(url, "localhost:7717") || str_has(url, "[::1]:7717")) {
		if (deletes)
			FAULT(x, c, RULE_SELF, VERDICT_DENY, "this would change the guard through its own interface");
	} else if (deletes && str_has(url, "api.github.com/repos")) {
		FAULT(x, c, RULE_CLOUD, VERDICT_DENY, "this deletes something on GitHub");
	} else if (deletes &&
		(str_has(url, ":9200") || str_has(url, "elastic") || str_has(url, ":8983") || str_has(url, ":5984") ||
			str_has(url, ":8123"))) {
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this deletes data of a database");
	} else if (deletes && !is_local_url(url)) {
		FAULT(x, c, RULE_CLOUD, VERDICT_ASK, "this deletes something on another machine: " STR_FMT,
			STR_ARG(url));
	}
}

static void do_curl(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "oAbcCdDeEFhHKmPQrTtuUwxXyYzI",
		.longs = "output request data data-binary data-raw data-ascii data-urlencode form "
			 "form-string header user user-agent cookie "
			 "upload-file url proxy max-time connect-timeout cacert cert key referer "
			 "config write-out retry retry-delay resolve json "
			 "output-dir limit-rate range netrc-file unix-socket interface" };
	struct fields urls = { 0 };
	bool changes = false, remote_name = false, head = false;
	str output = STR_NONE;
	struct arg a;

	it.shorts = "oAbcCdDeEFHKmPQrTtuUwxXyYz";
	while (args_next(&it, &a)) {
		if (a.operand || arg_is(&a, 0, "url"))
			fields_add(x->a, &urls, a.value);
		else if (arg_is(&a, 'o', "output"))
			output = a.value;
		else if (a.letter == 'O' || arg_is(&a, 0, "remote-name remote-name-all"))
			remote_name = true;
		else if (arg_is(&a, 'I', "head"))
			head = true;
		else if (arg_is(&a, 'X', "request"))
			changes |= str_in_nocase(a.value, "DELETE PUT POST PATCH");
		else if (arg_is(&a, 'T', "upload-file"))
			judge_send(x, c, str_eq(a.value, STR("-")) ? STR("") : a.value);
		else if (arg_is(&a, 'K', "config netrc-file"))
			judge_read(x, c, a.value);
		else if (arg_is(&a, 'd', "data data-binary data-ascii data-urlencode json") ||
			arg_is(&a, 'F', "form")) {
			ptrdiff_t at = str_find_char(a.value, '@');

			changes = true;
			if (at >= 0 && (at == 0 || a.value.p[at - 1] == '=')) {
				str file = str_from(a.value, (size_t)at + 1);
				ptrdiff_t semi = str_find_char(file, ';');

				judge_send(x, c, semi > 0 ? str_head(file, (size_t)semi) : file);
			}
			at = str_find(a.value, STR("=<"));
			if (at > 0)
				judge_send(x, c, str_from(a.value, (size_t)at + 2));
		}
	}
	sends_text(x, c);
	for (size_t i = 0; i < urls.n; i++) {
		bool deletes = false, local_file = str_starts(urls.v[i], STR("file://"));

		for (size_t k = 1; k < c->n; k++)
			deletes |= str_in(c->v[k], "DELETE -XDELETE --request=DELETE -sXDELETE -fsXDELETE");
		judge_url(x, c, urls.v[i], deletes || (changes && str_has(urls.v[i], ":7717")));
		if (str_has(urls.v[i], "_delete_by_query"))
			FAULT(x, c, RULE_DB, VERDICT_DENY, "this deletes data of a database");
		if (local_file)
			judge_read(x, c, str_from(urls.v[i], 7));
		if (remote_name)
			judge_write(x, c, url_file(urls.v[i]), STR("\4"), false);
		if (str_has(urls.v[i], "169.254.169.254") || str_has(urls.v[i], "metadata.google.internal"))
			FAULT(x, c, RULE_SECRET_READ, VERDICT_DENY,
				"this reads credentials of the machine from its metadata service");
	}
	if (str_is_set(output) && !str_eq(output, STR("-")))
		judge_write(x, c, output, STR("\4"), false);
	c->out = head || remote_name || (str_is_set(output) && !str_eq(output, STR("-"))) ? STR("") : STR("\4");
}

static void do_wget(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "OoaPeUitTwQlARDIXB",
		.longs = "output-document output-file post-file post-data body-file body-data "
			 "method header directory-prefix user-agent timeout tries input-file" };
	struct fields urls = { 0 };
	str output = STR_NONE, dir = STR_NONE;
	bool deletes = false;
	struct arg a;

	while (args_next(&it, &a)) {
		if (a.operand)
			fields_add(x->a, &urls, a.value);
		else if (arg_is(&a, 'O', "output-document"))
			output = a.value;
		else if (arg_is(&a, 'P', "directory-prefix"))
			dir = a.value;
		else if (arg_is(&a, 0, "post-file body-file"))
			judge_send(x, c, a.value);
		else if (arg_is(&a, 0, "method"))
			deletes = str_in_nocase(a.value, "DELETE");
	}
	sends_text(x, c);
	c->out = STR("");
	for (size_t i = 0; i < urls.n; i++) {
		judge_url(x, c, urls.v[i], deletes);
		if (str_has(urls.v[i], "169.254.169.254"))
			FAULT(x, c, RULE_SECRET_READ, VERDICT_DENY,
				"this reads credentials of the machine from its metadata service");
		if (str_is_set(output) && !str_in(output, "- /dev/stdout"))
			judge_write(x, c, output, STR("\4"), false);
		else if (str_is_set(output))
			c->out = STR("\4");
		else if (!cmd_has(c, "--spider"))
			judge_write(x, c,
				dir.n ? arena_strf(x->a, STR_FMT "/" STR_FMT, STR_ARG(dir),
						STR_ARG(url_file(urls.v[i])))
				      : url_file(urls.v[i]),
				STR("\4"), false);
	}
}

/* -- netcat and other pipes to the network ---------------------------------------------------- */

static void do_nc(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "ceiIMmopPqsTVwXxg", .longs = "exec sh-exec lua-exec source port" };
	struct arg a;

	while (args_next(&it, &a))
		if (arg_is(&a, 'e', "exec") || arg_is(&a, 'c', "sh-exec"))
			if (!(a.letter == 'c' && str_eq(c->name, STR("nc")) && !str_is_set(a.value)))
				FAULT(x, c, RULE_NET_SHELL, VERDICT_DENY,
					"this gives a program on this machine to whoever connects");
	sends_text(x, c);
	c->out = STR("\4");
}

/* EXEC:"sh -c 'x'",pty: the command, without the options behind it. */
static str socat_command(struct run *x, str spec)
{
	struct text t = { .a = x->a };
	char quote = 0;

	for (size_t i = 0; i < spec.n; i++) {
		char c = spec.p[i];

		if (c == '\\' && i + 1 < spec.n && strchr(",!:\\", spec.p[i + 1])) {
			text_char(&t, spec.p[++i]);
			continue;
		}
		if (!quote && (c == ',' || (c == '!' && i + 1 < spec.n && spec.p[i + 1] == '!')))
			break;
		if (c == '"' || c == '\'')
			quote = quote == c ? 0 : quote ? quote : c;
		text_char(&t, c);
	}
	spec = str_trim(text_str(&t));
	/* One pair of quotes around all of it is socat's own. */
	if (spec.n > 1 && strchr("\"'", spec.p[0]) && spec.p[spec.n - 1] == spec.p[0] &&
		str_find_char(str_n(spec.p + 1, spec.n - 2), spec.p[0]) < 0)
		spec = str_n(spec.p + 1, spec.n - 2);
	return spec;
}

/* Both halves of a word: A!!B. */
static void run_socat_word(struct run *x, str word)
{
	static const char *const runs[] = { "exec:", "system:", "shell:" };
	str lower = str_lower(x->a, word);

	for (size_t k = 0; k < countof(runs); k++) {
		str name = str_of(runs[k]);
		size_t at = 0;
		ptrdiff_t found;

		while ((found = str_find(str_from(lower, at), name)) >= 0) {
			size_t begin = at + (size_t)found;

			at = begin + name.n;
			if (!begin || lower.p[begin - 1] == '!')
				(void)run_child_text(x, socat_command(x, str_from(word, at)), STR("\1"));
		}
	}
}

static void do_socat(struct run *x, struct cmd *c)
{
	bool exec = false, net = false;

	for (size_t i = 1; i < c->n; i++) {
		ptrdiff_t at;

		run_socat_word(x, c->v[i]);
		exec |= str_has_nocase(c->v[i], "exec:") || str_has_nocase(c->v[i], "system:") ||
			str_has_nocase(c->v[i], "shell:");
		net |= str_has_nocase(c->v[i], "tcp") || str_has_nocase(c->v[i], "udp") ||
			str_has_nocase(c->v[i], "openssl") || str_has_nocase(c->v[i], "sctp");
		if (str_has_nocase(c->v[i], "file:") || str_has_nocase(c->v[i], "open:")) {
			at = str_find_char(c->v[i], ':');
			judge_send(x, c, str_from(c->v[i], (size_t)at + 1));
		}
	}
	if (exec && net)
		FAULT(x, c, RULE_NET_SHELL, VERDICT_DENY, "this connects a program to another machine");
	sends_text(x, c);
	c->out = STR("\4");
}

static bool is_this_machine(str target)
{
	return glob_any(target, "localhost:* 127.0.0.1:* *@localhost:* *@127.0.0.1:* [[]::1]:*");
}

/* Copies to a host: the local operands must hold no secrets. */
static void do_scp(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "cFiJloPSDXe", .longs = "rsh exclude include filter files-from" };
	struct fields f = { 0 };
	struct arg a;
	bool remote = false;

	while (args_next(&it, &a))
		if (a.operand)
			fields_add(x->a, &f, a.value);
	if (f.n > 1 && is_this_machine(f.v[f.n - 1])) /* relative paths are those of the home */
		judge_write(x, c,
			path_join(x, x->c->home, str_from(f.v[f.n - 1], (size_t)str_find_char(f.v[f.n - 1], ':') + 1)),
			STR("\1"), false);
	for (size_t i = 0; i < f.n; i++)
		remote |= str_find_char(f.v[i], ':') > 0 &&
			!(str_find_char(f.v[i], '/') >= 0 && str_find_char(f.v[i], '/') < str_find_char(f.v[i], ':'));
	if (!remote || f.n < 2)
		return;
	for (size_t i = 0; i + 1 < f.n; i++)
		if (str_find_char(f.v[i], ':') < 0)
			judge_send(x, c, f.v[i]);
	if (str_find_char(f.v[f.n - 1], ':') < 0 && !str_eq(c->name, STR("rsync")))
		judge_write(x, c, f.v[f.n - 1], STR("\4"), false);
}

/* Anything else that sends: its operands and what comes in. */
static void do_sender(struct run *x, struct cmd *c)
{
	sends_text(x, c);
	for (size_t i = 1; i < c->n; i++) {
		ptrdiff_t at = str_find_char(c->v[i], '@');

		if (c->v[i].n && c->v[i].p[0] != '-')
			judge_send(x, c,
				at >= 0 && at + 1 < (ptrdiff_t)c->v[i].n && (at == 0 || c->v[i].p[at - 1] == '=')
					? str_from(c->v[i], (size_t)at + 1)
					: c->v[i]);
	}
}

/* What they are given by name they use; what comes in goes out. */
static void do_sender_in(struct run *x, struct cmd *c)
{
	if (!str_eq(c->name, STR("openssl")) || row_matches(c, "s_client"))
		sends_text(x, c);
}

static void do_aws_cp(struct run *x, struct cmd *c)
{
	if (row_matches(c, "s3 cp|mv|sync") || row_matches(c, "s3api put-object") || row_matches(c, "cp") ||
		row_matches(c, "storage cp|mv|rsync") || row_matches(c, "copy|sync|copyto|move") ||
		row_matches(c, "gist create") || row_matches(c, "rsync") || row_matches(c, "storage blob upload"))
		do_sender(x, c);
	if (row_matches(c, "secret|variable set") || row_matches(c, "secrets|variables set"))
		return;
}

static void do_fetcher(struct run *x, struct cmd *c)
{
	(void)x;
	c->out = STR("\4");
}

/* python -m http.server and the like would offer every file. */
const struct handler pack_net[] = {
	{ "curl", do_curl },
	{ "wget", do_wget },
	{ "nc", do_nc },
	{ "socat", do_socat },
	{ "scp", do_scp },
	{ "sender", do_sender },
	{ "sender_in", do_sender_in },
	{ "aws_cp", do_aws_cp },
	{ "fetcher", do_fetcher },
	{ 0 },
};
