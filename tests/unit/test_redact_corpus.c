/* Two figures of the whole: how many of 1,000 secrets, made from a fixed seed and put where secrets
 * are met, are gone from the record; and how many of 5,000 lines of ordinary code change. The lines
 * are read at test time from what every development machine has, and from this repository. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "redact/internal.h"
#include "secret_samples.h"

enum { SECRETS = 1000, LINES = 5000, LINES_PER_FILE = 40 };

/* Where a secret is met: the kind of event and the members around it. %s is the JSON text of a
 * string that holds the sample between two pieces of ordinary text. */
static const struct {
	enum event_kind kind;
	const char *payload;
	const char *before, *after;
} contexts[] = {
	{ EVENT_USER_PROMPT_SUBMIT, "{\"prompt\":%s}", "Please use ", " for the deployment, thanks." },
	{ EVENT_USER_PROMPT_SUBMIT, "{\"prompt\":%s}", "", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":%s}}", "cd /srv && ", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":%s}}", "echo '", "' > out.txt" },
	{ EVENT_POST_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_response\":{\"stdout\":%s,\"stderr\":\"\"}}",
		"total 12\nmain.c\n", "\ndone\n" },
	{ EVENT_POST_TOOL_USE,
		"{\"tool_name\":\"Read\",\"tool_response\":{\"file\":{\"filePath\":\"a.yml\","
		"\"content\":%s}}}",
		"version: 3\nservices:\n  ", "\n  ports: [80]\n" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"a.py\",\"content\":%s}}",
		"import os\n\nVALUE = \"", "\"\nprint(VALUE)\n" },
	{ EVENT_POST_TOOL_USE, "{\"tool_response\":%s}", "2026-01-02T03:04:05Z INFO request id=17 sent ", " in 12 ms" },
	{ EVENT_POST_TOOL_USE, "{\"tool_response\":{\"stdout\":%s}}", "{\"level\":\"info\",\"msg\":\"", "\"}" },
	{ EVENT_POST_TOOL_USE, "{\"tool_response\":[{\"type\":\"text\",\"text\":%s}]}",
		"REGION=eu\nVALUE=", "\nDEBUG=1\n" },
	{ EVENT_NOTIFICATION, "{\"message\":%s}", "     12\t", "" },
	{ EVENT_UNKNOWN, "not json %s", "+ ", "" },
};

/* The part before a sample must not be a word that the sample's first one would run into. */
static bool make_one(struct redactor *r, struct arena *a, size_t i, uint64_t *seed)
{
	_cleanup_(buf_release) struct buf secret = BUF_INIT(KIB(8)), text = BUF_INIT(KIB(16)), json = BUF_INIT(KIB(64)),
					  all = BUF_INIT(KIB(64));
	const struct sample *s = &samples[i % countof(samples)];
	size_t c = sample_random(seed) % countof(contexts);
	struct event e = { .kind = contexts[c].kind, .agent = STR("claude") };
	struct json *root = NULL;
	struct record rec;

	sample_expand(&secret, s->secret, seed);
	buf_add_str(&text, str_of(contexts[c].before));
	sample_expand(&text, s->before, seed);
	buf_add_str(&text, buf_str(&secret));
	buf_add_str(&text, str_of(s->after));
	buf_add_str(&text, str_of(contexts[c].after));
	json_write_string(&json, buf_str(&text));
	buf_addf(&all, contexts[c].payload, json.p);
	e.raw = buf_str(&all);
	if (json_parse(a, e.raw, JSON_LENIENT_UTF8, &root, NULL) == 0)
		e.payload = root;
	else
		e.marks |= EVENT_NOT_JSON;
	redact(r, a, &e, 0, &rec, NULL);
	/* As JSON would write it, without the quotes. */
	buf_clear(&json);
	json_write_string(&json, buf_str(&secret));
	if (str_find(rec.payload, str_n(json.p + 1, json.len - 2)) < 0)
		return true;
	print_message("# kept: %s in " STR_FMT "\n", s->name, STR_ARG(rec.payload));
	return false;
}

static void secrets_are_gone(void **state)
{
	struct redactor *r = redactor_new();
	uint64_t seed = 20261115;
	struct arena a;
	int gone = 0;

	arena_init(&a);
	for (size_t i = 0; i < SECRETS; i++) {
		gone += make_one(r, &a, i, &seed);
		arena_reset(&a);
	}
	print_message("# secrets: %d of %d gone (%.1f %%)\n", gone, SECRETS, 100.0 * gone / SECRETS);
	arena_release(&a);
	redactor_free(r);
	assert_true(gone >= SECRETS * 99 / 100);
}

/* -- ordinary lines ---------------------------------------------------------------------------- */

struct lines {
	struct redactor *r;
	struct arena a;
	int seen, changed, most;
};

static void take_line(struct lines *l, char *line)
{
	str s = str_trim(str_of(line)), out;

	if (s.n < 4 || !utf8_valid(s))
		return;
	out = redact_text(l->r, &l->a, s);
	l->seen++;
	if (!str_eq(s, out)) {
		l->changed++;
		print_message("# changed: " STR_FMT " -> " STR_FMT "\n", STR_ARG(s), STR_ARG(out));
	}
	arena_reset(&l->a);
}

/* Every seventh line, so that not all of them are the licence. */
static void take_file(struct lines *l, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[1000];
	int taken = 0;

	if (!f)
		return;
	for (int n = 0; taken < LINES_PER_FILE && l->seen < l->most && fgets(line, sizeof line, f); n++)
		if (n % 7 == 3) {
			take_line(l, line);
			taken++;
		}
	fclose(f);
}

static bool is_code(const char *name)
{
	static const char *const endings[] = { ".h", ".c", ".py", ".pm", ".pl", ".sh", ".js", ".ts" };
	str s = str_of(name);

	for (size_t i = 0; i < countof(endings); i++)
		if (str_ends(s, str_of(endings[i])))
			return true;
	return false;
}

static void take_dir(struct lines *l, const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		const struct dirent *e = entries[i];
		char path[4096];

		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (l->seen < l->most && e->d_type == DT_REG && is_code(e->d_name))
			take_file(l, path);
		else if (l->seen < l->most && e->d_type == DT_DIR && e->d_name[0] != '.')
			take_dir(l, path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static void take_tree(struct lines *l, const char *root, int most)
{
	l->most = MIN(LINES, l->seen + most);
	take_dir(l, root);
}

static void ordinary_lines_stay(void **state)
{
	const char *source = getenv("SRCDIR");
	struct lines l = { .r = redactor_new() };
	char own[4096];

	arena_init(&l.a);
	snprintf(own, sizeof own, "%s/src", source ? source : ".");
	take_tree(&l, own, 1000);
	take_tree(&l, "/usr/lib/python3", 1200);
	take_tree(&l, "/usr/lib/python3.11", 1800);
	take_tree(&l, "/usr/share/perl", 1000);
	take_tree(&l, "/usr/share/perl5", 1000);
	take_tree(&l, "/usr/include", LINES);
	take_tree(&l, "/usr/lib", LINES);
	print_message("# ordinary lines: %d of %d changed (%.2f %%)\n", l.changed, l.seen,
		l.seen ? 100.0 * l.changed / l.seen : 0);
	arena_release(&l.a);
	redactor_free(l.r);
	if (l.seen < 1000)
		skip();
	assert_true(l.changed * 100 <= l.seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_gone),
		cmocka_unit_test(ordinary_lines_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
