/* transcript: what agents wrote is read as one stream of items, the same one in one go and in pieces; and files that
 * are none of that cost little and do no harm. */
#include "test.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/err.h"
#include "os/os.h"
#include "transcript/transcript.h"

static const char *golden(const char *name)
{
	static char ring[4][FS_PATH];
	static unsigned next;
	char *out = ring[next++ % 4];

	snprintf(out, FS_PATH, "%s/tests/golden/transcripts/%s", getenv("SRCDIR") ? getenv("SRCDIR") : ".", name);
	return out;
}

/* -- a stream of items as text ----------------------------------------------------------------- */

static const char *const kind_names[TRANSCRIPT_KIND_MAX] = {
	[TRANSCRIPT_START] = "start",
	[TRANSCRIPT_PROMPT] = "prompt",
	[TRANSCRIPT_ANSWER] = "answer",
	[TRANSCRIPT_CALL] = "call",
	[TRANSCRIPT_RESULT] = "result",
	[TRANSCRIPT_USAGE] = "usage",
	[TRANSCRIPT_COMPACTED] = "compacted",
};

static void add_item(struct buf *b, const struct transcript_item *i)
{
	const struct {
		const char *key;
		str text;
	} texts[] = {
		{ "id", i->id }, { "session", i->session }, { "cwd", i->cwd }, { "model", i->model },
		{ "prompt_id", i->prompt_id }, { "agent_id", i->agent_id }, { "agent_type", i->agent_type },
		{ "source", i->source }, { "text", i->text }, { "tool", i->tool }, { "tool_id", i->tool_id },
	};
	struct json_writer w = JSON_WRITER(b);
	char at[CLOCK_TEXT];

	assert_true(i->kind < TRANSCRIPT_KIND_MAX && i->id.n > 0);
	clock_format(i->at_us, 0, at);
	jw_object(&w);
	jw_field_str(&w, "kind", str_of(kind_names[i->kind]));
	jw_field_str(&w, "at", str_of(at));
	for (size_t n = 0; n < countof(texts); n++)
		jw_field_str(&w, texts[n].key, texts[n].text);
	if (i->input) {
		jw_key(&w, "input");
		jw_value(&w, i->input);
	}
	if (i->output) {
		jw_key(&w, "output");
		jw_value(&w, i->output);
	}
	if (i->failed || i->final || i->sidechain) {
		jw_field_bool(&w, "failed", i->failed);
		jw_field_bool(&w, "final", i->final);
		jw_field_bool(&w, "sidechain", i->sidechain);
	}
	if (i->kind == TRANSCRIPT_USAGE) {
		jw_key(&w, "tokens");
		jw_array(&w);
		jw_int(&w, i->tokens.input);
		jw_int(&w, i->tokens.cache_read);
		jw_int(&w, i->tokens.cache_write);
		jw_int(&w, i->tokens.output);
		jw_int(&w, i->tokens.reasoning);
		jw_end_array(&w);
	}
	jw_end_object(&w);
	buf_add_char(b, '\n');
	assert_false(b->full);
}

static int open_at(const char *path, const char *agent, const struct transcript_position *from, struct transcript **ret)
{
	struct transcript_request q = { .path = path, .agent = agent };
	struct err err = { 0 };
	int r;

	if (from) {
		q.identity = from->identity;
		q.offset = from->offset;
		q.state = from->state;
	}
	r = transcript_open(&q, ret, &err);
	if (r < 0)
		assert_true(err.text[0] != 0 && err.code == r);
	return r;
}

/* Everything from here to the end, appended to b. */
static void read_rest(struct transcript *t, struct buf *b)
{
	struct transcript_item item;
	int r;

	while ((r = transcript_next(t, &item)) == 1)
		add_item(b, &item);
	assert_int_equal(r, 0);
	assert_int_equal(transcript_next(t, &item), 0);
}

static struct transcript_counts read_file(const char *path, const char *agent, struct buf *b)
{
	struct transcript_counts counts;
	struct transcript *t;

	assert_int_equal(open_at(path, agent, NULL, &t), 0);
	read_rest(t, b);
	transcript_get_counts(t, &counts);
	transcript_close(t);
	return counts;
}

/* Compares with a file; TRANSCRIPT_GOLDEN=write makes it anew, to be looked at with git diff. */
static void compare_golden(const char *name, str got)
{
	_cleanup_(buf_release) struct buf want = BUF_INIT(MIB(4));
	const char *mode = getenv("TRANSCRIPT_GOLDEN");

	if (mode && strcmp(mode, "write") == 0)
		test_write(golden(name), got.p, got.n);
	test_read(golden(name), &want);
	if (str_eq(buf_str(&want), got))
		return;
	for (str a = buf_str(&want), b = got, x, y; str_split(&a, '\n', &x) | str_split(&b, '\n', &y);)
		if (!str_eq(x, y))
			fail_msg("%s:\nwant " STR_FMT "\ngot  " STR_FMT, name, STR_ARG(x), STR_ARG(y));
}

#define GEMINI "gemini/project/chats/"

static const struct {
	const char *file, *agent, *items;
	unsigned broken, long_lines;
} samples[] = {
	{ "claude.jsonl", "claude", "claude.items" },
	{ "claude-split.jsonl", "claude", "claude-split.items", 2 },
	{ "subagents/agent-a9b2.jsonl", "claude", "subagents/agent-a9b2.items" },
	{ "codex.jsonl", "codex", "codex.items" },
	{ "codex-old.jsonl", "codex", "codex-old.items" },
	{ "codex-bare.jsonl", "codex", "codex-bare.items" },
	{ "codex-sub.jsonl", "codex", "codex-sub.items" },
	{ GEMINI "session-2026-11-15T11-39-7fbcf1b6.jsonl", "gemini", "gemini/run.items" },
	{ GEMINI "session-2026-02-03T04-05-5f3a0000.jsonl", "gemini", "gemini/lines.items" },
	{ GEMINI "5f3a0000-0000-4000-8000-000000000001/91ac2631.jsonl", "gemini", "gemini/subagent.items" },
	{ GEMINI "session-2026-02-03T04-05-old.json", "gemini", "gemini/document.items" },
};

static void test_samples(void **state)
{
	for (size_t i = 0; i < countof(samples); i++) {
		_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(4));
		struct transcript_counts n;
		struct transcript *t;

		n = read_file(golden(samples[i].file), samples[i].agent, &b);
		compare_golden(samples[i].items, buf_str(&b));
		assert_int_equal(n.broken, samples[i].broken);
		assert_int_equal(n.long_lines, 0);
		assert_int_equal(n.bytes, fs_file_bytes(golden(samples[i].file)));
		/* The file itself says whose it is. */
		assert_int_equal(open_at(golden(samples[i].file), NULL, NULL, &t), 0);
		assert_string_equal(transcript_agent(t), samples[i].agent);
		assert_false(transcript_was_replaced(t));
		transcript_close(t);
	}
}

/* -- in pieces --------------------------------------------------------------------------------- */

/* The key of a line made by add_item(): kind and id. */
static str item_key(str line)
{
	ptrdiff_t at = str_find(line, STR("\"at\":")), id = str_find(line, STR("\"id\":"));
	ptrdiff_t end = str_find(line, STR("\",\"session\""));

	(void)at;
	if (id < 0 || end < id)
		end = str_find(line, STR("\"}"));
	return str_n(line.p + id, (size_t)(end - id));
}

static bool same_key(str a, str b)
{
	return str_eq(item_key(a), item_key(b)) && str_eq(str_head(a, 12), str_head(b, 12));
}

/* Items as a consumer has them in the end: a later one of the same kind and id takes the place of the earlier. */
static void fold_items(str all, struct buf *out)
{
	static str lines[4096];
	size_t n = 0;
	str line;

	while (str_split(&all, '\n', &line)) {
		size_t i = 0;

		if (line.n == 0)
			continue;
		while (i < n && !same_key(lines[i], line))
			i++;
		assert_true(i < countof(lines));
		lines[i] = line;
		n += i == n;
	}
	/* What may come early (usage at the end of a file) is compared without its place. */
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < n; i++)
			if (str_starts(lines[i], STR("{\"kind\":\"usage\"")) == (pass == 1)) {
				buf_add_str(out, lines[i]);
				buf_add_char(out, '\n');
			}
}

/* Writes the first `cut` bytes, reads, writes the rest, goes on in a new reader. */
static void read_in_two(const char *path, const char *agent, str whole, size_t cut, struct buf *out)
{
	_cleanup_(buf_release) struct buf kept = BUF_INIT(MIB(1));
	struct transcript_position at;
	struct transcript *t;
	size_t state_n;
	int fd;

	test_write(path, whole.p, cut);
	assert_int_equal(open_at(path, agent, NULL, &t), 0);
	read_rest(t, out);
	transcript_position(t, &at);
	assert_true(at.offset <= (int64_t)cut);
	state_n = at.state.n;
	buf_add_str(&kept, at.state);
	buf_add_str(&kept, at.identity);
	transcript_close(t);
	at.state = str_head(buf_str(&kept), state_n);
	at.identity = str_from(buf_str(&kept), state_n);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(fs_write_all(fd, whole.p + cut, whole.n - cut), 0);
	close(fd);
	assert_int_equal(open_at(path, agent, &at, &t), 0);
	assert_false(transcript_was_replaced(t));
	read_rest(t, out);
	transcript_close(t);
}

/* Every line boundary, the bytes around it, and places in the midst of lines. */
static bool is_cut(str whole, size_t i)
{
	if (i == 0 || i == whole.n)
		return true;
	return whole.p[i - 1] == '\n' || whole.p[i] == '\n' || i % 997 == 0;
}

static void test_in_pieces(void **state)
{
	const char *dir = test_dir();

	for (size_t i = 0; i < countof(samples); i++) {
		_cleanup_(buf_release) struct buf whole = BUF_INIT(MIB(4)), all = BUF_INIT(MIB(4));
		_cleanup_(buf_release) struct buf want = BUF_INIT(MIB(4));
		char path[FS_PATH];

		/* A document is not appended to. */
		if (str_ends(str_of(samples[i].file), STR(".json")))
			continue;
		snprintf(path, sizeof path, "%s/%zu.jsonl", dir, i);
		test_read(golden(samples[i].file), &whole);
		test_write(path, whole.p, whole.len);
		(void)read_file(path, samples[i].agent, &all);
		fold_items(buf_str(&all), &want);
		for (size_t cut = 0; cut <= whole.len; cut++) {
			_cleanup_(buf_release) struct buf got = BUF_INIT(MIB(4)), folded = BUF_INIT(MIB(4));

			if (!is_cut(buf_str(&whole), cut))
				continue;
			read_in_two(path, samples[i].agent, buf_str(&whole), cut, &got);
			fold_items(buf_str(&got), &folded);
			if (!str_eq(buf_str(&folded), buf_str(&want)))
				fail_msg("%s cut at %zu:\n%s\nis not\n%s", samples[i].file, cut, folded.p, want.p);
		}
	}
}

/* A position after any item loses nothing and repeats at most what stood in the same line. */
static void test_position_after_each_item(void **state)
{
	for (size_t i = 0; i < countof(samples); i++) {
		_cleanup_(buf_release) struct buf all = BUF_INIT(MIB(4)), want = BUF_INIT(MIB(4));
		struct transcript_item item;
		size_t items = 0;

		(void)read_file(golden(samples[i].file), samples[i].agent, &all);
		fold_items(buf_str(&all), &want);
		for (size_t n = 0; n < all.len; n++)
			items += all.p[n] == '\n';
		for (size_t stop = 0; stop < items; stop++) {
			_cleanup_(buf_release) struct buf got = BUF_INIT(MIB(4)), folded = BUF_INIT(MIB(4));
			struct transcript_position at;
			struct transcript *t, *u;

			assert_int_equal(open_at(golden(samples[i].file), samples[i].agent, NULL, &t), 0);
			for (size_t n = 0; n < stop; n++) {
				assert_int_equal(transcript_next(t, &item), 1);
				add_item(&got, &item);
			}
			transcript_position(t, &at);
			assert_int_equal(open_at(golden(samples[i].file), samples[i].agent, &at, &u), 0);
			read_rest(u, &got);
			transcript_close(u);
			transcript_close(t);
			fold_items(buf_str(&got), &folded);
			assert_str(buf_str(&folded), buf_str(&want));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_in_pieces),
		cmocka_unit_test(test_position_after_each_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
