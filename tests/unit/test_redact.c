#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "redact/internal.h"
#include "secret_samples.h"

static struct redactor *r;
static struct arena arena;

static int set_up(void **state)
{
	r = redactor_new();
	arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	redactor_free(r);
	arena_release(&arena);
	return 0;
}

static bool has(str hay, const char *needle)
{
	return str_find(hay, str_of(needle)) >= 0;
}

static void assert_text(const char *in, const char *out)
{
	str got = redact_text(r, &arena, str_of(in));

	if (!str_eq(got, str_of(out)))
		fail_msg("'%s' became '" STR_FMT "', not '%s'", in, STR_ARG(got), out);
}

static void assert_same(const char *in)
{
	assert_text(in, in);
}

/* An event as the adapter would make it, from the JSON of a payload. */
static struct event event_of(enum event_kind kind, const char *json)
{
	struct event e = { .kind = kind,
		.agent = STR("claude"),
		.native = STR("Native"),
		.session = STR("3f2b8c1e-0b7a-4a57-9d2e-5a7c1f0e9b12") };
	struct json *root = NULL;

	e.raw = arena_str(&arena, str_of(json));
	if (json_parse(&arena, e.raw, JSON_LENIENT_UTF8, &root, NULL) < 0)
		e.marks |= EVENT_NOT_JSON;
	e.payload = root;
	e.prompt = json_str(json_get(root, STR("prompt")));
	e.tool_input = json_get(root, STR("tool_input"));
	e.tool_response = json_get(root, STR("tool_response"));
	e.command = json_str(json_get(e.tool_input, STR("command")));
	e.file_path = json_str(json_get(e.tool_input, STR("file_path")));
	return e;
}

static struct record record_of(const struct event *e, unsigned flags, struct redact_report *report)
{
	struct record rec;
	struct json *tree;

	redact(r, &arena, e, flags, &rec, report);
	assert_true(utf8_valid(rec.payload));
	assert_int_equal(json_parse(&arena, rec.payload, 0, &tree, NULL), 0);
	assert_int_equal(tree->type, JSON_OBJECT);
	return rec;
}

static str payload_of(enum event_kind kind, const char *json)
{
	struct event e = event_of(kind, json);

	return record_of(&e, 0, NULL).payload;
}

/* -- secrets ----------------------------------------------------------------------------------- */

static void check_sample(const struct sample *s, uint64_t *seed)
{
	_cleanup_(buf_release) struct buf in = BUF_INIT(KIB(16)), want = BUF_INIT(KIB(16)), secret = BUF_INIT(KIB(16));
	uint64_t same = *seed;

	sample_expand(&in, s->before, seed);
	sample_expand(&want, s->before, &same);
	sample_expand(&secret, s->secret, seed);
	buf_add_str(&in, buf_str(&secret));
	buf_addf(&want, "[redacted:%s]", s->name);
	buf_add_str(&in, str_of(s->after));
	buf_add_str(&want, str_of(s->after));
	assert_text(in.p, want.p);
	/* What was redacted once stays as it is. */
	assert_same(want.p);
	buf_clear(&in);
	sample_expand(&in, s->harmless, seed);
	assert_same(in.p);
}

static void every_sample(void **state)
{
	uint64_t seed = 0x9E3779B97F4A7C15;

	for (size_t i = 0; i < countof(samples); i++)
		for (int round = 0; round < 3; round++)
			check_sample(&samples[i], &seed);
}

/* A sample shows a row at work when the row's own pattern finds something in it. */
static bool shows(const struct sample *s, const struct secret *row, uint64_t *seed)
{
	_cleanup_(buf_release) struct buf text = BUF_INIT(KIB(16));
	_cleanup_(match_freep) struct match *m = NULL;

	if (strcmp(s->name, row->name))
		return false;
	sample_expand(&text, s->before, seed);
	sample_expand(&text, s->secret, seed);
	buf_add_str(&text, str_of(s->after));
	assert_int_equal(match_compile(str_of(row->pattern), row->flags & SECRET_NOCASE ? MATCH_NOCASE : 0, &m, NULL),
		0);
	return match_find(m, buf_str(&text), 0, NULL) == 1;
}

static void every_row_has_a_sample(void **state)
{
	uint64_t seed = 42;

	assert_true(nsecrets >= 60);
	for (size_t i = 0; i < nsecrets; i++) {
		bool shown = false;

		for (size_t j = 0; j < countof(samples); j++)
			shown |= shows(&samples[j], &secrets[i], &seed);
		if (!shown)
			fail_msg("no sample for row %zu, %s", i, secrets[i].name);
	}
	print_message("# %zu patterns, %zu keywords, automaton of %zu bytes\n", nsecrets, nkeywords,
		automaton_bytes(r->automaton));
	assert_true(automaton_bytes(r->automaton) < 200 * 1024);
}

static void ordinary_text_stays(void **state)
{
	static const char *const same[] = {
		"",
		"a",
		"password",
		"secret",
		"3f2b8c1e-0b7a-4a57-9d2e-5a7c1f0e9b12",
		"8b693a2f1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"\"integrity\": \"sha512-oRz9xyUzJtYc0Wq5Wn0eHfGm1iJ4Zo0aF7cQ==\"",
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
		"/home/user/project/src/auth/token_store.c:120:14",
		"static int token_next(struct lexer *lx, struct token *ret)",
		"password: string",
		"password?: string;",
		"token: str = None",
		"token = get_token()",
		"self.password = password",
		"password=password, token=token",
		"if (token == TOKEN_EOF)",
		"const { data: session, status: authStatus } = useSession()",
		"max_tokens: 4096",
		"tokens = tokenizer.encode(text1)",
		"author: \"Jane Roe\"",
		"auth_type = \"oauth2\"",
		"token_type: bearer",
		"passed: 120, bypass=0",
		"<input type=\"password\" name=\"pass\" placeholder=\"Password\">",
		"parser.add_argument(\"--password\", help=\"the password 123\")",
		"throw new Error(\"Invalid password: must have 8 characters\")",
		"secrets: inherit",
		"api_key = os.getenv(\"OPENAI_API_KEY\")",
		"git clone https://github.com/owner/repo.git",
		"http://localhost:8080/path@v2",
		"docker pull docker://alpine:3.18@sha256:abc",
		"Bearer of bad news",
		"cookie: chocolate",
		"token: \"IDENTIFIER\"",
		"PASSWORD_MIN_LENGTH = 12",
		"secretName: db-credentials-1",
		"credentials_path: /etc/x1/creds",
		"TOKEN=$(cat /run/token1)",
		"API_KEY={{ api_key_1 }}",
		"SECRET=xxxxxxxxxxxx",
		"password=********",
		"private_key_path=\"/etc/ssl/x1.txt\"",
		"START = b\"-----BEGIN OPENSSH PRIVATE KEY-----\"",
		"use the --password options of curl",
		"test number 2 would I<pass> or I<fail> 10 times",
		"def f(private_key: ed25519.Ed25519PrivateKey, n: int)",
		"pwd=/home/user1/work",
		"PWD=/home/user1/work",
	};

	for (size_t i = 0; i < countof(same); i++)
		assert_same(same[i]);
}

static void secrets_in_every_surrounding(void **state)
{
	_cleanup_(buf_release) struct buf token = BUF_INIT(100), b = BUF_INIT(KIB(4));
	static const char *const around[] = { "%s", "x=%s", "'%s'", "\\n%s\\n", "%%3D%s&", "(%s)", "[%s]", "é%sé",
		"<%s>", "url/%s/x", "a %s, b", "{\"k\":\"%s\"}", "%s\n%s", "-%s\n+%s" };
	uint64_t seed = 7;

	sample_expand(&token, "npm_{a36}", &seed);
	for (size_t i = 0; i < countof(around); i++) {
		buf_clear(&b);
		buf_addf(&b, around[i], token.p, token.p);
		assert_false(has(redact_text(r, &arena, buf_str(&b)), token.p));
	}
}

static void many_and_overlapping(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(4));
	uint64_t seed = 8;
	str out;

	for (int i = 0; i < 2000; i++) {
		buf_add_str(&b, STR("GITHUB_TOKEN=\""));
		sample_expand(&b, "ghp_{a36}", &seed);
		buf_add_str(&b, STR("\" x\n"));
	}
	out = redact_text(r, &arena, buf_str(&b));
	assert_int_equal(out.n, 2000 * strlen("GITHUB_TOKEN=\"[redacted:github-token]\" x\n"));
}

static void unclosed_pem_takes_the_rest(void **state)
{
	assert_text("a\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE", "a\n[redacted:private-key]");
	assert_text("a\n-----BEGIN PRIVATE KEY-----", "a\n[redacted:private-key]");
	assert_text("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nb", "[redacted:private-key]\nb");
}

/* -- tags -------------------------------------------------------------------------------------- */

static void tags(void **state)
{
	assert_text("a<private>b</private>c", "ac");
	assert_text("a<PRIVATE>b</Private>c", "ac");
	assert_text("a<private reason=\"x\" y>b</private >c", "ac");
	assert_text("a<private\n>b</private>c", "ac");
	assert_text("a<private>b<private>c</private>d</private>e", "ae");
	assert_text("a<private>b<private>c</private>d", "a");
	assert_text("a<private>b", "a");
	assert_text("a<private", "a");
	assert_text("a<private/>b", "ab");
	assert_text("a<private>b<\\/private>c", "ac");
	assert_text("a<private x=\"/>\">b</private>c", "ac");
	assert_text("a<system-reminder>b <private> c</system-reminder>d", "ad");
	assert_text("<claude-mem-context>x</claude-mem-context><system_instruction>y</"
		    "system_instruction>"
		    "<system-instruction>z</system-instruction><persisted-output>p</persisted-output>.",
		".");
	assert_text("<pri<private>x</private>vate>secret</private>left", "left");
	assert_same("<privateer>a</privateer>");
	assert_same("a < private > b <b>c</b>");
	assert_same("</private>");
}

static void tags_of_a_hostile_number(void **state)
{
	static const char *const units[] = { "<private>", "<private>x</private>", "<pri<private>", "<private ",
		"</private>", "<<<private/>", "<system-reminder><private>", "<private></privat" };
	int64_t begin = clock_mono_us();

	for (size_t i = 0; i < countof(units); i++) {
		_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(8));

		for (int n = 0; n < 100000; n++)
			buf_add_str(&b, str_of(units[i]));
		buf_add_str(&b, STR("<private>marker"));
		assert_false(has(redact_text(r, &arena, buf_str(&b)), "marker"));
		arena_reset(&arena);
	}
	assert_true(clock_mono_us() - begin < 20 * USEC_PER_SEC);
}

/* Every literal of every table, 10^5 times: nothing may look at the whole string each time. */
static void literals_of_a_hostile_number(void **state)
{
	static const char *const units[] = { "password=$", "token=\"", "eyJ", "eyJaaaaaaaa.", "cookie:a=b;",
		"://a:", "sk-", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\"x ", "bearer ", "password=", "bot ",
		"authorization: bearer ", "curl -u ", "-us1", "secret: '\\", "mysql -p ", "<password>", "--token " };
	int64_t begin = clock_mono_us();

	for (size_t i = 0; i < countof(units); i++) {
		_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(8));

		for (int n = 0; n < 50000; n++)
			buf_add_str(&b, str_of(units[i]));
		redact_text(r, &arena, buf_str(&b));
		arena_reset(&arena);
	}
	assert_true(clock_mono_us() - begin < 30 * USEC_PER_SEC);
}

/* -- records ----------------------------------------------------------------------------------- */

static void keeps_the_shape(void **state)
{
	const char *json = "{\"b\":1.50,\"a\":[true,null,\"x\",{\"k\":\"\\u00e9\\n\"}],\"b\":-0}";

	assert_true(str_eq(payload_of(EVENT_STOP, json),
		STR("{\"b\":1.50,\"a\":[true,null,\"x\",{\"k\":\"é\\n\"}],\"b\":-0}")));
	assert_true(str_eq(payload_of(EVENT_STOP, "[1]"), STR("{\"value\":[1]}")));
}

static void keys_name_secrets(void **state)
{
	str out = payload_of(EVENT_PRE_TOOL_USE,
		"{\"tool_input\":{\"dbPassword\":\"sunshine\",\"api-key\":\"abcdef\",\"token\":"
		"\"abcdef\","
		"\"secrets\":[\"onesecret\"],\"author\":\"Jane "
		"Roe\",\"max_tokens\":5,\"token_type\":\"bearer99\","
		"\"password\":\"${PW}\",\"Authorization\":\"Bearer "
		"zzzzzz\",\"argv\":[\"x\",\"--password\",\"sunshine\"],"
		"\"pwd\":\"hunter22\"}}");

	assert_false(has(out, "sunshine"));
	assert_false(has(out, "abcdef"));
	assert_false(has(out, "onesecret"));
	assert_false(has(out, "zzzzzz"));
	assert_false(has(out, "hunter22"));
	assert_true(has(out, "\"dbPassword\":\"[redacted:password]\""));
	assert_true(has(out, "Jane Roe") && has(out, "\"max_tokens\":5") && has(out, "bearer99") && has(out, "${PW}"));
}

static void pairs_of_name_and_value(void **state)
{
	str out = payload_of(EVENT_POST_TOOL_USE,
		"{\"env\":[{\"value\":\"sunshine\",\"name\":\"DB_PASSWORD\"},{\"Key\":\"region\","
		"\"Value\":"
		"\"eu-west\"},{\"name\":\"max_tokens\",\"value\":\"100000\"}]}");

	assert_true(str_eq(out,
		STR("{\"env\":[{\"value\":\"[redacted:password]\",\"name\":\"DB_PASSWORD\"},{"
		    "\"Key\":"
		    "\"region\",\"Value\":\"eu-west\"},{\"name\":\"max_tokens\",\"value\":"
		    "\"100000\"}]}")));
}

static void secrets_in_keys_and_escapes(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(KIB(4)), token = BUF_INIT(100);
	uint64_t seed = 9;
	str out;

	sample_expand(&token, "ghp_{a36}", &seed);
	buf_addf(&b, "{\"%s\":1,\"x\":\"\\u0067%s\",\"y\":\"\\u003cprivate>hidden\"}", token.p, token.p + 1);
	out = payload_of(EVENT_STOP, b.p);
	assert_false(has(out, token.p + 4));
	assert_false(has(out, "hidden"));
	assert_true(has(out, "{\"[redacted:github-token]\":1"));
}

static void numbers_under_the_name_of_a_secret(void **state)
{
	str out = payload_of(EVENT_PRE_TOOL_USE,
		"{\"password\":12345678,\"db\":{\"passwd\":4711},\"pin\":1234,\"otp\":\"987654\",\"secret\":99887766,"
		"\"max_tokens\":40960,\"tokens\":1234567,\"token_count\":1234567,\"port\":54321,\"pins\":1234,"
		"\"argv\":[\"--password\",55443322]}");

	assert_true(str_eq(out,
		STR("{\"password\":\"[redacted:password]\",\"db\":{\"passwd\":\"[redacted:password]\"},"
		    "\"pin\":\"[redacted:pin]\",\"otp\":\"[redacted:pin]\",\"secret\":\"[redacted:secret]\","
		    "\"max_tokens\":40960,\"tokens\":1234567,\"token_count\":1234567,\"port\":54321,\"pins\":1234,"
		    "\"argv\":[\"--password\",\"[redacted:password]\"]}")));
}

static void keys_under_the_name_of_a_secret(void **state)
{
	str out = payload_of(EVENT_PRE_TOOL_USE,
		"{\"secrets\":{\"9f8a7b6c5d4e3f2a\":\"alice\",\"description\":\"of the team\"},"
		"\"password\":{\"value\":\"sunshine\"},\"commits\":{\"9f8a7b6c5d4e3f2a\":1}}");

	assert_true(str_eq(out,
		STR("{\"secrets\":{\"[redacted:secret]\":\"alice\",\"description\":\"of the team\"},"
		    "\"password\":{\"value\":\"[redacted:password]\"},\"commits\":{\"9f8a7b6c5d4e3f2a\":1}}")));
}

/* Appends text as base64. */
static void add_base64(struct buf *b, str text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < text.n; i += 3) {
		unsigned v = 0;

		for (size_t j = 0; j < 3; j++)
			v = v << 8 | (i + j < text.n ? (unsigned char)text.p[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			buf_add_char(b, i + j <= text.n ? digits[v >> (18 - 6 * j) & 63] : '=');
	}
}

static void secrets_in_base64(void **state)
{
	static const struct {
		const char *secret, *name;
	} forms[] = { { "AKIA{u16}", "aws-access-key-id" }, { "ghp_{a36}", "github-token" },
		{ "sk-ant-{a40}", "anthropic-key" }, { "xoxb-{d12}-{d12}-{a24}", "slack-token" },
		{ "-----BEGIN RSA PRIVATE KEY-----\n{a64}\n{a64}\n-----END RSA PRIVATE KEY-----\n", "private-key" } };
	static const char *const before[] = { "", "x ", "key=", "[default]\nkey=" };
	uint64_t seed = 11;

	for (size_t i = 0; i < countof(forms); i++)
		for (size_t k = 0; k < countof(before); k++) {
			_cleanup_(buf_release) struct buf plain = BUF_INIT(KIB(4)), coded = BUF_INIT(KIB(8));
			_cleanup_(buf_release) struct buf want = BUF_INIT(KIB(4));

			buf_add_str(&plain, str_of(before[k]));
			sample_expand(&plain, forms[i].secret, &seed);
			buf_add_str(&coded, STR("data: "));
			add_base64(&coded, buf_str(&plain));
			buf_add_str(&coded, STR(" # kept"));
			buf_add_char(&coded, 0);
			buf_addf(&want, "data: [redacted:%s] # kept", forms[i].name);
			assert_text(coded.p, want.p);
		}
}

/* As `base64` folds it: no line of it may stay. */
static void folded_base64_goes_whole(void **state)
{
	_cleanup_(buf_release) struct buf plain = BUF_INIT(KIB(4)), coded = BUF_INIT(KIB(8)), folded = BUF_INIT(KIB(8));
	uint64_t seed = 12;

	sample_expand(&plain,
		"-----BEGIN RSA PRIVATE KEY-----\n{a64}\n{a64}\n{a64}\n{a64}\n-----END RSA PRIVATE KEY-----\n", &seed);
	add_base64(&coded, buf_str(&plain));
	for (size_t i = 0; i < coded.len; i += 76)
		buf_addf(&folded, STR_FMT "\n", STR_ARG(str_head(str_from(buf_str(&coded), i), 76)));
	buf_add_str(&folded, STR("\nafter"));
	buf_add_char(&folded, 0);
	assert_text(folded.p, "[redacted:private-key]\n\nafter");
}

/* Time stays linear when everything looks like the beginning of something. */
static void base64_of_a_hostile_number(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(4));

	while (b.len < MIB(1))
		buf_add_str(&b, STR("QUtJQZ2hwX"));
	assert_int_equal(redact_text(r, &arena, buf_str(&b)).n, b.len);
}

static void fields_are_cleaned(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(KIB(4)), longer = BUF_INIT(KIB(16));
	struct event e = event_of(EVENT_SESSION_START, "{\"x\":1}");
	str env[] = { STR("TERM=xterm"), STR("MY_TOKEN=abcdef123456"), STR("NOVALUE") };
	uint64_t seed = 10;
	struct record rec;

	sample_expand(&b, "tool-ghp_{a36}", &seed);
	for (int i = 0; i < 3000; i++)
		buf_add_str(&longer, STR("é"));
	e.tool_name = buf_str(&b);
	e.cwd = STR("/a\xff/b");
	e.agent_id = str_from(buf_str(&longer), 0);
	e.transcript_path = buf_str(&longer);
	e.env = env;
	e.nenv = countof(env);
	e.pid = 12;
	rec = record_of(&e, 0, NULL);
	assert_true(str_eq(rec.session, e.session));
	assert_true(str_eq(rec.tool_name, STR("tool-[redacted:github-token]")));
	assert_true(str_eq(rec.cwd, STR("/a\xEF\xBF\xBD/b")));
	assert_true(rec.agent_id.n == LIMIT_NAME && utf8_valid(rec.agent_id));
	assert_true(rec.transcript_path.n == 4096 && utf8_valid(rec.transcript_path));
	assert_true(str_eq(rec.host,
		STR("{\"pid\":12,\"ppid\":0,\"env\":{\"TERM\":\"xterm\","
		    "\"MY_TOKEN\":\"[redacted:token]\"}}")));
	assert_false(str_is_set(rec.tool_use_id));
	e.kind = EVENT_STOP;
	assert_false(str_is_set(record_of(&e, 0, NULL).host));
}

static void wholly_private_prompts(void **state)
{
	static const struct {
		const char *prompt;
		bool private;
	} cases[] = {
		{ "<private>x</private>", true },
		{ " \\n<private>x</private>\\t", true },
		{ "<system-reminder>r</system-reminder><PRIVATE a>x", true },
		{ "<private>x</private> y", false },
		{ "<system-reminder>r</system-reminder>", false },
		{ "  ", false },
		{ "", false },
	};

	for (size_t i = 0; i < countof(cases); i++) {
		str json = arena_strf(&arena, "{\"prompt\":\"%s\",\"cwd\":\"/w\"}", cases[i].prompt);
		struct event e = event_of(EVENT_USER_PROMPT_SUBMIT, json.p);
		struct redact_report report;
		struct record rec = record_of(&e, 0, &report);

		assert_int_equal(report.wholly_private, cases[i].private);
		assert_int_equal(!!(rec.marks & EVENT_PRIVATE), cases[i].private);
		assert_int_equal(has(rec.payload, "/w"), !cases[i].private);
		/* Nor is the answer kept when prompt and answer are told together. */
		e.kind = EVENT_TURN_COMPLETE;
		rec = record_of(&e, 0, &report);
		assert_int_equal(has(rec.payload, "/w"), !cases[i].private);
	}
}

static void muted_keeps_no_content(void **state)
{
	struct event e = event_of(EVENT_POST_TOOL_USE, "{\"tool_input\":{\"x\":\"content\"}}");
	struct record rec;

	e.tool_name = STR("Bash");
	e.tool_use_id = STR("tu_1");
	rec = record_of(&e, REDACT_MUTED, NULL);
	assert_true(rec.marks & EVENT_PRIVATE);
	assert_true(str_eq(rec.payload,
		STR("{\"hook_event_name\":\"Native\",\"session_id\":"
		    "\"3f2b8c1e-0b7a-4a57-9d2e-5a7c1f0e9b12\",\"tool_"
		    "name\":\"Bash\",\"tool_use_id\":\"tu_1\","
		    "\"private\":true}")));
}

static void secret_files(void **state)
{
	static const char *const secret[] = { ".env", "/a/.env", "a/.env.local", "C:\\x\\.ENV", "id_ed25519",
		"/h/.ssh/id_rsa", "x.pem", "server.key", "/h/.aws/credentials", "/h/.kube/config",
		"service-account-prod.json", "secrets.yaml", ".netrc", ".pgpass", "k.p12" };
	static const char *const open[] = { "", "env", ".env/", ".env.example", ".env.sample", "a/.env/x.py",
		"id_rsa.pub", "credentials", "config", "key", "monkey.c", ".envoy", "environment.ts", "secrets.py" };
	str base;

	for (size_t i = 0; i < countof(secret); i++)
		if (!file_is_secret(str_of(secret[i]), &base))
			fail_msg("%s", secret[i]);
	for (size_t i = 0; i < countof(open); i++)
		if (file_is_secret(str_of(open[i]), &base))
			fail_msg("%s", open[i]);
}

static void commands_that_read_them(void **state)
{
	static const char *const reads[] = { "cat .env", "cd x && cat ./.env | grep A", "source .env; x", ". ./.env",
		"sudo cat /etc/shadow", "export $(grep -v '^#' .env | xargs)", "head -5 \"config/.env\"",
		"wc -l < .env", "FOO=1 /bin/cat .env.local", "git show HEAD:.env", "awk '{print}' id_rsa",
		"bash -c 'cat .env'", "sed -n '1,5p;$p' .env" };
	static const char *const not [] = { "ls -la .env", "rm .env", "echo .env", "cat README.md", "cat .env.example",
		"touch .env && cat x", "test -f .env", "" };
	str base;

	for (size_t i = 0; i < countof(reads); i++)
		if (!command_touches(&arena, str_of(reads[i]), &base))
			fail_msg("%s", reads[i]);
	for (size_t i = 0; i < countof(not ); i++)
		if (command_touches(&arena, str_of(not [i]), &base))
			fail_msg("%s", not [i]);
}

static void contents_of_secret_files(void **state)
{
	static const char *const payloads[] = {
		"{\"tool_input\":{\"file_path\":\"/p/.env\",\"content\":\"MARKER\"}}",
		"{\"tool_input\":{\"file_path\":\"/p/"
		".env\",\"old_string\":\"MARKER\",\"new_string\":\"MARKER\"},"
		"\"tool_response\":{\"filePath\":\"/p/"
		".env\",\"originalFile\":\"MARKER\",\"structuredPatch\":"
		"[{\"lines\":[\"-MARKER\"]}]}}",
		"{\"tool_response\":{\"type\":\"text\",\"file\":{\"filePath\":\"/p/"
		".env\",\"content\":\"MARKER\"}}}",
		"{\"tool_input\":{\"command\":\"cat "
		".env\"},\"tool_response\":{\"stdout\":\"MARKER\",\"stderr\":\"\"}}",
		"{\"tool_input\":{\"command\":[\"bash\",\"-lc\",\"cat "
		".env\"]},\"tool_response\":\"MARKER\"}",
		"{\"file_path\":\"/p/.env\",\"edits\":[{\"old_string\":\"MARKER\"}]}",
		"{\"calls\":[{\"tool_input\":{\"path\":\".env\"},\"tool_response\":[{\"text\":"
		"\"MARKER\"}]}]}",
		"{\"tool_input\":{\"path\":\".env\",\"pattern\":\"A\"},\"tool_response\":{"
		"\"content\":\"MARKER\"}}",
		/* Patches: alone, in a command, and with the secret file as the second or new name. */
		"{\"tool_input\":{\"command\":\"*** Begin Patch\\n*** Add File: .env\\n+MARKER\\n*** End Patch\"}}",
		"{\"tool_input\":{\"command\":\"*** Begin Patch\\n*** Add File: a.c\\n+x\\n*** Update File: p/.env\\n"
		"+MARKER\"},\"tool_response\":\"MARKER\"}",
		"{\"tool_input\":{\"command\":\"apply_patch <<X\\n*** Begin Patch\\n*** Update File: a\\n"
		"*** Move to: .env\\n+MARKER\\nX\"}}",
	};

	for (size_t i = 0; i < countof(payloads); i++) {
		str out = payload_of(EVENT_POST_TOOL_USE, payloads[i]);

		if (has(out, "MARKER") || !has(out, ".env not kept: "))
			fail_msg("%s: " STR_FMT, payloads[i], STR_ARG(out));
	}
	assert_true(has(payload_of(EVENT_POST_TOOL_USE, payloads[0]), "[contents of .env not kept: 6 bytes]"));
	assert_true(has(payload_of(EVENT_POST_TOOL_USE, payloads[2]), "\"filePath\":\"/p/.env\""));
	assert_true(has(payload_of(EVENT_POST_TOOL_USE,
				"{\"tool_input\":{\"file_path\":\"a.c\"},"
				"\"tool_response\":{\"content\":\"MARKER\"}}"),
		"MARKER"));
	assert_true(has(payload_of(EVENT_PRE_TOOL_USE,
				"{\"tool_input\":{\"command\":\"*** Begin Patch\\n"
				"*** Add File: a.c\\n+MARKER\\n*** End Patch\"}}"),
		"MARKER"));
}

static void text_that_is_no_json(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(KIB(4));
	uint64_t seed = 11;
	str out;

	buf_add_str(&b, STR("{\"a\":\xff \\u003cprivate>gone</private> \"password\":\"hunter22\" "));
	sample_expand(&b, "glpat-{w20}", &seed);
	out = payload_of(EVENT_UNKNOWN, b.p);
	assert_true(str_eq(out,
		STR("{\"raw\":\"{\\\"a\\\":\xEF\xBF\xBD  "
		    "\\\"password\\\":\\\"[redacted:password]\\\" "
		    "[redacted:gitlab-token]\"}")));
	assert_true(str_eq(payload_of(EVENT_UNKNOWN, ""), STR("{\"raw\":\"\"}")));
}

static struct event cut_event(enum event_kind kind, const char *raw)
{
	return (struct event){ .kind = kind,
		.agent = STR("claude"),
		.marks = EVENT_CUT | EVENT_NOT_JSON,
		.raw = str_of(raw),
		.total = 9000000,
		.sha256 = { 0xab } };
}

static void cut_payloads(void **state)
{
	struct event e = cut_event(EVENT_POST_TOOL_USE, "{\"a\":\"x <private>hidden \\u003c/private");
	struct redact_report report;
	str out = record_of(&e, 0, NULL).payload;

	assert_true(str_eq(out,
		STR("{\"raw\":\"{\\\"a\\\":\\\"x \",\"cut\":{\"bytes\":9000000,\"sha256\":\""
		    "ab00000000000000000000000000000000000000000000000000000000000000\"}}")));
	e.raw = STR("{\"a\":\"-----BEGIN RSA PRIVATE KEY-----\\nMIIhidden\\nMII");
	assert_false(has(record_of(&e, 0, NULL).payload, "MII"));
	e.raw = STR("{\"a\":\"key ghp_0123456789abcdef");
	assert_false(has(record_of(&e, 0, NULL).payload, "ghp_"));
	e = cut_event(EVENT_USER_PROMPT_SUBMIT, "{\"prompt\":\"<private>hidden");
	out = record_of(&e, 0, &report).payload;
	assert_true(report.wholly_private);
	assert_false(has(out, "hidden"));
}

static void the_limit_of_a_record(void **state)
{
	size_t n = LIMIT_PAYLOAD - 100;
	char *raw = xmalloc(n + 100);
	struct event e = { .kind = EVENT_STOP, .agent = STR("x") };
	struct record rec;
	struct json *root;
	int head;

	/* One byte of input, six of output. */
	head = snprintf(raw, 100, "{\"a\":{\"b\":[\"");
	memset(raw + head, 0x7F, n);
	memcpy(raw + head + n, "\",\"x\"],\"c\":1}}", 15);
	e.raw = str_of(raw);
	assert_int_equal(json_parse(&arena, e.raw, JSON_LENIENT_UTF8, &root, NULL), 0);
	e.payload = root;
	rec = record_of(&e, 0, NULL);
	assert_true(rec.payload.n <= LIMIT_RECORD && rec.payload.n > LIMIT_RECORD / 2);
	assert_true(rec.marks & EVENT_CUT);
	/* Three of output, and no JSON. */
	memset(raw, 0xFF, n);
	e.payload = NULL;
	rec = record_of(&e, 0, NULL);
	assert_true(rec.payload.n <= LIMIT_RECORD);
	assert_true(rec.marks & EVENT_CUT);
	arena_release(&arena);
	free(raw);
}

static void hostile_depth(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(KIB(4));
	str out;

	for (int i = 0; i < 120; i++)
		buf_add_str(&b, i % 2 ? STR("[1,") : STR("{\"a\":1,\"k\":"));
	buf_add_str(&b, STR("\"<private>x\""));
	for (int i = 120; i-- > 0;)
		buf_add_str(&b, i % 2 ? STR(",2]") : STR(",\"z\":3}"));
	out = payload_of(EVENT_STOP, b.p);
	assert_int_equal(out.n, b.len - strlen("<private>x"));
}

static void hostile_bytes(void **state)
{
	assert_true(has(payload_of(EVENT_STOP, "{\"a\":\"\xff\xc0\x80\xed\xa0\x80 \\ud800\"}"), "\xEF\xBF\xBD"));
	assert_true(has(payload_of(EVENT_STOP, "{\"a\":\"\\u0000password=\\u0000hunter22\"}"), "\\u0000"));
}

/* What was found clean is not looked at again; a string of the same length or place in the table is. */
static void strings_that_come_again(void **state)
{
	char json[256];

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 500; i++) {
			struct event e;
			struct record rec;

			snprintf(json, sizeof json,
				"{\"key%03d\":\"plain value %03d\",\"api_key\":\"q9Zk3Vt7Lx2Wm8R%03d\"}", i, i % 100,
				i);
			e = event_of(EVENT_POST_TOOL_USE, json);
			redact(r, &arena, &e, 0, &rec, NULL);
			snprintf(json, sizeof json,
				"{\"key%03d\":\"plain value %03d\",\"api_key\":\"[redacted:api-key]\"}", i, i % 100);
			if (!str_eq(rec.payload, str_of(json)))
				fail_msg("%s became " STR_FMT, json, STR_ARG(rec.payload));
		}
}

/* -- mute -------------------------------------------------------------------------------------- */

/* The directory and the markers in it. */
/* Nor are paths and commands: what was harmless stays so, and what names a file of secrets does so every time. */
static void paths_and_commands_that_come_again(void **state)
{
	static const struct {
		const char *json;
		bool kept;
	} rows[] = {
		{ "{\"tool_input\":{\"file_path\":\"/p/env\",\"content\":\"MARKER\"}}", true },
		{ "{\"tool_input\":{\"file_path\":\"/p/.env\",\"content\":\"MARKER\"}}", false },
		{ "{\"tool_input\":{\"command\":\"cat env\"},\"tool_response\":{\"stdout\":\"MARKER\"}}", true },
		{ "{\"tool_input\":{\"command\":\"cat .env\"},\"tool_response\":{\"stdout\":\"MARKER\"}}", false },
	};

	for (size_t i = 0; i < 3 * countof(rows); i++) {
		struct event e = event_of(EVENT_POST_TOOL_USE, rows[i % countof(rows)].json);

		assert_int_equal(has(record_of(&e, 0, NULL).payload, "MARKER"), rows[i % countof(rows)].kept);
	}
}

static void test_remove(const char *dir)
{
	char path[512];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "%s/muted", dir);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof path, "%s/muted/%s", dir, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	snprintf(path, sizeof path, "%s/muted", dir);
	rmdir(path);
	rmdir(dir);
}

enum { SECOND = 1000000 };

static void private_is_what_comes_after_the_prompt(void **state)
{
	char dir[] = "/tmp/hookd-mute-XXXXXX", path[64];
	const int64_t now = clock_wall_us() / SECOND * SECOND - 60 * SECOND;
	str session = STR("../../x\n/\0y"), claude = STR("claude");
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/muted", dir);
	assert_false(redact_is_muted(dir, claude, session, now));
	redact_unmute(dir, claude, session, now);
	redact_mute(dir, claude, session, now);
	assert_true(redact_is_muted(dir, claude, session, now) && redact_is_muted(dir, claude, session, now + SECOND));
	assert_false(redact_is_muted(dir, claude, session, now - 1));
	assert_false(redact_is_muted(dir, STR("claud"), STR("e../../x\n/\0y"), now));
	assert_false(redact_is_muted(dir, STR("codex"), session, now));
	assert_false(redact_is_muted(dir, STR_NONE, STR_NONE, now));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	/* A prompt from before it ends nothing; a later one does, and what happened in between stays private. */
	redact_unmute(dir, claude, session, now - SECOND);
	assert_true(redact_is_muted(dir, claude, session, now + 9 * SECOND));
	redact_unmute(dir, claude, session, now + 5 * SECOND);
	assert_true(redact_is_muted(dir, claude, session, now + 4 * SECOND));
	assert_false(redact_is_muted(dir, claude, session, now + 5 * SECOND));
	/* One that ended long ago goes when another is written. */
	redact_mute(dir, claude, STR("old"), SECOND);
	redact_unmute(dir, claude, STR("old"), 2 * SECOND);
	redact_mute(dir, claude, STR("another"), now);
	assert_false(redact_is_muted(dir, claude, STR("old"), SECOND));
	/* The clock was set back since. */
	redact_mute(dir, claude, STR("another"), clock_wall_us() + 100 * INT64_C(1000000));
	assert_true(redact_is_muted(dir, claude, STR("another"), clock_wall_us()));
	test_remove(dir);
}

static void nobody_is_asked_about_while_there_are_no_markers(void **state)
{
	char dir[] = "/tmp/hookd-mute-XXXXXX", path[64], other[128];
	const int64_t now = clock_wall_us() / SECOND * SECOND - 60 * SECOND;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/muted", dir);
	snprintf(other, sizeof other, "%s/aside", dir);
	redact_mute(dir, STR("claude"), STR("s"), now);
	redact_mutes_look(dir);
	assert_true(redact_is_muted(dir, STR("claude"), STR("s"), now));
	/* As if another process wrote it after we looked: not seen until somebody says so. */
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	redact_mutes_look(dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rename(other, path), 0);
	assert_false(redact_is_muted(dir, STR("claude"), STR("s"), now));
	redact_mutes_changed();
	assert_true(redact_is_muted(dir, STR("claude"), STR("s"), now));
	/* Nor is it forgotten that we wrote one ourselves. */
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	redact_mutes_look(dir);
	redact_mute(dir, STR("claude"), STR("t"), now);
	assert_true(redact_is_muted(dir, STR("claude"), STR("t"), now));
	test_remove(dir);
	redact_mutes_changed();
}

static void a_marker_that_cannot_be_written_is_kept_in_mind(void **state)
{
	char dir[] = "/tmp/hookd-mute-XXXXXX", path[64];
	const int64_t now = clock_wall_us() / SECOND * SECOND - 60 * SECOND;
	int error = 0, fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/muted", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* a file where the folder should be */
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(redact_mute_trouble(&error), 0);
	redact_mute(dir, STR("claude"), STR("s"), now);
	assert_int_equal(redact_mute_trouble(&error), 1);
	assert_int_equal(error, ENOTDIR);
	assert_true(redact_is_muted(dir, STR("claude"), STR("s"), now));
	assert_false(redact_is_muted(dir, STR("claude"), STR("s"), now - 1));
	redact_unmute(dir, STR("claude"), STR("s"), now + SECOND);
	assert_false(redact_is_muted(dir, STR("claude"), STR("s"), now + SECOND));
	/* As soon as the disk is well again, it is written. */
	assert_int_equal(unlink(path), 0);
	assert_true(redact_is_muted(dir, STR("claude"), STR("s"), now));
	assert_int_equal(redact_mute_trouble(&error), 0);
	assert_true(redact_is_muted(dir, STR("claude"), STR("s"), now));
	test_remove(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_sample),
		TEST(every_row_has_a_sample),
		TEST(ordinary_text_stays),
		TEST(secrets_in_every_surrounding),
		TEST(many_and_overlapping),
		TEST(unclosed_pem_takes_the_rest),
		TEST(tags),
		TEST(tags_of_a_hostile_number),
		TEST(literals_of_a_hostile_number),
		TEST(keeps_the_shape),
		TEST(keys_name_secrets),
		TEST(pairs_of_name_and_value),
		TEST(secrets_in_keys_and_escapes),
		TEST(numbers_under_the_name_of_a_secret),
		TEST(keys_under_the_name_of_a_secret),
		TEST(secrets_in_base64),
		TEST(folded_base64_goes_whole),
		TEST(base64_of_a_hostile_number),
		TEST(fields_are_cleaned),
		TEST(wholly_private_prompts),
		TEST(muted_keeps_no_content),
		TEST(secret_files),
		TEST(commands_that_read_them),
		TEST(contents_of_secret_files),
		TEST(text_that_is_no_json),
		TEST(cut_payloads),
		TEST(the_limit_of_a_record),
		TEST(hostile_depth),
		TEST(hostile_bytes),
		TEST(strings_that_come_again),
		TEST(paths_and_commands_that_come_again),
		TEST(private_is_what_comes_after_the_prompt),
		TEST(nobody_is_asked_about_while_there_are_no_markers),
		TEST(a_marker_that_cannot_be_written_is_kept_in_mind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
