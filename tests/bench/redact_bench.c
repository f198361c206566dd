/* redact_bench: what redaction costs. Prints microseconds for one PostToolUse payload of about 2.3
 * KB (parsed before; walk, redaction and writing are timed), and megabytes a second over plain text
 * and over text in which secrets are many. Run it on an otherwise idle machine, in an optimised
 * build. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "redact/internal.h"

static const char code[] = "static int conn_read(struct conn *c)\n{\n\tssize_t n;\n\n\tfor (;;) "
			   "{\n\t\tn = recv(c->fd, c->in + c->len, "
			   "sizeof c->in - c->len, 0);\n\t\tif (n < 0 && errno == "
			   "EINTR)\n\t\t\tcontinue;\n\t\tif (n <= 0)\n\t\t\t"
			   "return n < 0 ? -errno : -ECONNRESET;\n\t\tc->len += (size_t)n;\n\t\tif "
			   "(conn_has_frame(c))\n\t\t\treturn "
			   "conn_dispatch(c);\n\t}\n}\n\n/* The token of a session is compared in "
			   "constant time. */\nstatic bool "
			   "token_matches(str given, str wanted)\n{\n\tunsigned char different = "
			   "given.n != wanted.n;\n\n\tfor (size_t "
			   "i = 0; i < given.n && i < wanted.n; i++)\n\t\tdifferent |= given.p[i] "
			   "^ wanted.p[i];\n\treturn !different;\n}\n";

static str make_payload(struct buf *b)
{
	buf_add_str(b,
		STR("{\"session_id\":\"3f2b8c1e-0b7a-4a57-9d2e-5a7c1f0e9b12\",\"transcript_path\":"
		    "\"/home/user/.claude/projects/-home-user-project/3f2b8c1e.jsonl\",\"cwd\":"
		    "\"/home/user/"
		    "project\",\"permission_mode\":\"default\",\"hook_event_name\":\"PostToolUse\","
		    "\"tool_name\":\"Edit\",\"tool_use_id\":\"toolu_01AbCdEfGh\",\"tool_input\":{"
		    "\"file_path\":"
		    "\"/home/user/project/src/server/"
		    "conn.c\",\"replace_all\":false,\"old_string\":"));
	json_write_string(b, str_head(str_of(code), 300));
	buf_add_str(b, STR(",\"new_string\":"));
	json_write_string(b, str_head(str_of(code), 500));
	buf_add_str(b,
		STR("},\"tool_response\":{\"filePath\":\"/home/user/project/src/server/"
		    "conn.c\",\"userModified\":"
		    "false,\"originalFile\":"));
	json_write_string(b, str_of(code));
	buf_add_str(b, STR("}}"));
	return buf_str(b);
}

static void bench_payload(struct redactor *r)
{
	enum { ROUNDS = 20000 };
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(1));
	str raw = make_payload(&b);
	struct arena tree, out;
	struct event e = { .kind = EVENT_POST_TOOL_USE,
		.agent = STR("claude"),
		.native = STR("PostToolUse"),
		.session = STR("3f2b8c1e-0b7a-4a57-9d2e-5a7c1f0e9b12"),
		.tool_name = STR("Edit"),
		.tool_use_id = STR("toolu_01AbCdEfGh"),
		.cwd = STR("/home/user/project"),
		.raw = raw };
	struct json *root;
	struct record rec;
	int64_t begin;

	arena_init(&tree);
	arena_init(&out);
	if (json_parse(&tree, raw, JSON_LENIENT_UTF8, &root, NULL) < 0)
		exit(1);
	e.payload = root;
	redact(r, &out, &e, 0, &rec, NULL);
	begin = clock_mono_us();
	for (int i = 0; i < ROUNDS; i++) {
		arena_reset(&out);
		redact(r, &out, &e, 0, &rec, NULL);
	}
	printf("payload of %zu bytes: %.2f us\n", raw.n, (double)(clock_mono_us() - begin) / ROUNDS);
	arena_release(&tree);
	arena_release(&out);
}

static void bench_text(struct redactor *r, const char *what, const char *piece)
{
	enum { ROUNDS = 10 };
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(8));
	unsigned found = 0;
	int64_t begin;

	while (b.len < MIB(4))
		buf_add_str(&b, str_of(piece));
	begin = clock_mono_us();
	for (int i = 0; i < ROUNDS; i++) {
		struct automaton_scan scan = { .text = buf_str(&b) };
		struct automaton_hit hit;

		while (automaton_next(r->automaton, &scan, &hit))
			found++;
	}
	printf("%s: automaton %.0f MB/s (%u literals)", what,
		(double)b.len * ROUNDS / (double)(clock_mono_us() - begin), found / ROUNDS);
	begin = clock_mono_us();
	for (int i = 0; i < ROUNDS; i++)
		secrets_clean(r, buf_str(&b), NULL);
	printf(", all %.0f MB/s\n", (double)b.len * ROUNDS / (double)(clock_mono_us() - begin));
}

int main(void)
{
	int64_t begin = clock_mono_us();
	struct redactor *r = redactor_new();

	printf("new redactor: %lld us, automaton of %zu bytes, %zu patterns\n", (long long)(clock_mono_us() - begin),
		automaton_bytes(r->automaton), nsecrets);
	bench_payload(r);
	bench_text(r, "prose", "It was a bright cold day, and the clocks on the wall were all late by an hour. ");
	bench_text(r, "code", code);
	bench_text(r, "secrets", "password = \"hunter22\" and https://user:letmein99@host/path\n");
	redactor_free(r);
	return 0;
}
