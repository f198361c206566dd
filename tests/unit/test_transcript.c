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
		{ "id", i->id },
		{ "session", i->session },
		{ "cwd", i->cwd },
		{ "model", i->model },
		{ "prompt_id", i->prompt_id },
		{ "agent_id", i->agent_id },
		{ "agent_type", i->agent_type },
		{ "source", i->source },
		{ "text", i->text },
		{ "tool", i->tool },
		{ "tool_id", i->tool_id },
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
	{ "claude-nameless.jsonl", "claude", "claude-nameless.items" },
	{ "subagents/agent-a9b2.jsonl", "claude", "subagents/agent-a9b2.items" },
	{ "codex.jsonl", "codex", "codex.items" },
	{ "codex-old.jsonl", "codex", "codex-old.items" },
	{ "codex-bare.jsonl", "codex", "codex-bare.items" },
	{ "codex-items.jsonl", "codex", "codex-items.items" },
	{ "codex-sub.jsonl", "codex", "codex-sub.items" },
	{ "copilot.jsonl", "copilot", "copilot.items" },
	{ "copilot-sub.jsonl", "copilot", "copilot-sub.items" },
	{ "qwen.jsonl", "qwen", "qwen.items" },
	{ "qwen-parent.jsonl", "qwen", "qwen-parent.items" },
	{ "qwen-sub.jsonl", "qwen", "qwen-sub.items" },
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

/* -- files that are none, or no longer the same ------------------------------------------------ */

static int open_error(const char *path, const char *agent)
{
	struct transcript *t = NULL;
	int r = open_at(path, agent, NULL, &t);

	if (r == 0)
		transcript_close(t);
	return r;
}

static void test_not_a_file(void **state)
{
	const char *dir = test_dir(), *plain = test_path(dir, "plain.jsonl");
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char fifo[FS_PATH], link[FS_PATH], theirs[FS_PATH];
	int fd;

	test_write(plain, "{\"type\":\"user\",\"sessionId\":\"s\"}\n", 32);
	fs_join(fifo, dir, "fifo");
	fs_join(link, dir, "link");
	fs_join(theirs, dir, "theirs");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("plain.jsonl", link), 0);
	snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", dir);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
	close(fd);
	assert_int_equal(open_error(fifo, "claude"), -EINVAL);
	assert_int_equal(open_error(link, "claude"), -EINVAL);
	assert_int_equal(open_error(name.sun_path, "claude"), -EINVAL);
	assert_int_equal(open_error("/dev/urandom", "claude"), -EINVAL);
	assert_int_equal(open_error(dir, "claude"), -EINVAL);
	assert_int_equal(open_error(test_path(dir, "nothing"), "claude"), -ENOENT);
	assert_int_equal(open_error(plain, "claude"), 0);
	assert_int_equal(open_error(plain, "nobody"), -ENOMSG);
	test_write(test_path(dir, "notes.txt"), "hello\n", 6);
	assert_int_equal(open_error(test_path(dir, "notes.txt"), NULL), -ENOMSG);
	test_write(test_path(dir, "empty"), "", 0);
	assert_int_equal(open_error(test_path(dir, "empty"), NULL), -ENOMSG);
	assert_int_equal(open_error(test_path(dir, "empty"), "codex"), 0);
	/* Only root can make a file somebody else's. */
	if (geteuid() != 0)
		return;
	test_write(theirs, "{\"type\":\"user\",\"sessionId\":\"s\"}\n", 32);
	assert_int_equal(chown(theirs, 12345, 12345), 0);
	assert_int_equal(open_error(theirs, "claude"), -EPERM);
}

#define LINE_A "{\"type\":\"user\",\"uuid\":\"a\",\"sessionId\":\"s\",\"message\":{\"content\":\"first\"}}\n"
#define LINE_B "{\"type\":\"user\",\"uuid\":\"b\",\"sessionId\":\"s\",\"message\":{\"content\":\"second\"}}\n"
#define LINE_C "{\"type\":\"user\",\"uuid\":\"c\",\"sessionId\":\"z\",\"message\":{\"content\":\"third\"}}\n"

/* How many prompts there are from a position on, and whether the file was taken for another one. */
static unsigned count_prompts(const char *path, const struct transcript_position *from, bool *ret_replaced)
{
	struct transcript_item item;
	struct transcript *t;
	unsigned n = 0;

	assert_int_equal(open_at(path, "claude", from, &t), 0);
	while (transcript_next(t, &item) == 1)
		n += item.kind == TRANSCRIPT_PROMPT;
	*ret_replaced = transcript_was_replaced(t);
	transcript_close(t);
	return n;
}

static void test_replaced(void **state)
{
	const char *dir = test_dir();
	char path[FS_PATH], state_text[4096], identity[256];
	struct transcript_position at;
	struct transcript *t;
	bool replaced;
	struct buf b = BUF_INIT(4096);

	fs_join(path, dir, "s.jsonl");
	test_write(path, LINE_A LINE_B, strlen(LINE_A LINE_B));
	assert_int_equal(open_at(path, "claude", NULL, &t), 0);
	read_rest(t, &b);
	buf_release(&b);
	transcript_position(t, &at);
	snprintf(state_text, sizeof state_text, STR_FMT, STR_ARG(at.state));
	snprintf(identity, sizeof identity, STR_FMT, STR_ARG(at.identity));
	at.state = str_of(state_text);
	at.identity = str_of(identity);
	transcript_close(t);
	assert_int_equal(count_prompts(path, &at, &replaced), 0);
	assert_false(replaced);
	/* Shorter. */
	test_write(path, LINE_A, strlen(LINE_A));
	assert_int_equal(count_prompts(path, &at, &replaced), 1);
	assert_true(replaced);
	/* Another beginning in the same inode. */
	test_write(path, LINE_C LINE_B LINE_A, strlen(LINE_C LINE_B LINE_A));
	assert_int_equal(count_prompts(path, &at, &replaced), 3);
	assert_true(replaced);
	/* Another inode with the same beginning. */
	test_write(test_path(dir, "new"), LINE_A LINE_B LINE_C, strlen(LINE_A LINE_B LINE_C));
	assert_int_equal(rename(test_path(dir, "new"), path), 0);
	assert_int_equal(count_prompts(path, &at, &replaced), 3);
	assert_true(replaced);
	/* Nobody remembers what it was: the offset must at least stand behind a line. */
	at.identity = STR_NONE;
	assert_int_equal(count_prompts(path, &at, &replaced), 1);
	assert_false(replaced);
	at.offset--;
	assert_int_equal(count_prompts(path, &at, &replaced), 3);
	assert_true(replaced);
	at.offset++;
	at.state = STR("not a state");
	assert_int_equal(count_prompts(path, &at, &replaced), 3);
	assert_true(replaced);
}

/* A document is as long as it is: unchanged it says nothing, changed it says everything again. */
static void test_document(void **state)
{
	_cleanup_(buf_release) struct buf whole = BUF_INIT(MIB(1)), b = BUF_INIT(MIB(1)), again = BUF_INIT(MIB(1));
	_cleanup_(buf_release) struct buf kept = BUF_INIT(MIB(1));
	const char *dir = test_dir();
	char path[FS_PATH];
	struct transcript_position at;
	struct transcript_counts n;
	struct transcript *t;
	size_t cut;
	int fd;

	fs_join(path, dir, "session-1.json");
	test_read(golden("gemini/project/chats/session-2026-02-03T04-05-old.json"), &whole);
	/* Half written. */
	test_write(path, whole.p, whole.len / 2);
	n = read_file(path, "gemini", &b);
	assert_int_equal(n.broken, 1);
	assert_int_equal(b.len, 0);
	test_write(path, whole.p, whole.len);
	assert_int_equal(open_at(path, NULL, NULL, &t), 0);
	read_rest(t, &b);
	transcript_position(t, &at);
	assert_int_equal(at.offset, whole.len);
	cut = at.state.n;
	buf_add_str(&kept, at.state);
	buf_add_str(&kept, at.identity);
	transcript_close(t);
	at.state = str_head(buf_str(&kept), cut);
	at.identity = str_from(buf_str(&kept), cut);
	assert_int_equal(open_at(path, "gemini", &at, &t), 0);
	read_rest(t, &again);
	assert_int_equal(again.len, 0);
	assert_false(transcript_was_replaced(t));
	transcript_close(t);
	buf_add_char(&whole, '\n');
	test_write(path, whole.p, whole.len);
	assert_int_equal(open_at(path, "gemini", &at, &t), 0);
	read_rest(t, &again);
	assert_true(transcript_was_replaced(t));
	transcript_close(t);
	assert_str(buf_str(&again), buf_str(&b));
	/* Too large to be read in one piece. */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, TRANSCRIPT_LINE_MAX + 1), 0);
	close(fd);
	assert_int_equal(open_error(path, "gemini"), -EFBIG);
}

/* -- hostile contents -------------------------------------------------------------------------- */

static void write_at(const char *path, int64_t offset, str text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, (off_t)offset, SEEK_SET), offset);
	assert_int_equal(fs_write_all(fd, text.p, text.n), 0);
	close(fd);
}

/* Twenty gigabytes that are not there, in the midst of lines that are. */
static void test_sparse(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(1));
	const int64_t hole = INT64_C(20) << 30;
	const char *path = test_path(test_dir(), "s.jsonl");
	int64_t before = clock_mono_us();
	struct transcript_counts n;
	char copy[FS_PATH];

	snprintf(copy, sizeof copy, "%s", path);
	write_at(copy, 0, STR(LINE_A));
	write_at(copy, hole, STR(LINE_B));
	n = read_file(copy, "claude", &b);
	assert_int_equal(n.lines, 2);
	assert_int_equal(n.bytes, hole + (int64_t)strlen(LINE_B));
	assert_true(str_find(buf_str(&b), STR("first")) >= 0 && str_find(buf_str(&b), STR("second")) >= 0);
	/* Nothing but a hole, and a hole at the end. */
	assert_int_equal(truncate(copy, 0), 0);
	assert_int_equal(truncate(copy, hole), 0);
	n = read_file(copy, "claude", &b);
	assert_int_equal(n.lines, 0);
	write_at(copy, 0, STR(LINE_A "{\"type\":"));
	n = read_file(copy, "claude", &b);
	assert_int_equal(n.lines, 1);
	/* Reading byte by byte would take minutes under the sanitizers. */
	assert_true(clock_mono_us() - before < 20 * USEC_PER_SEC);
}

static void write_long_line(const char *path, size_t n, bool end)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(64));

	buf_add_str(&b, STR(LINE_A "{\"type\":\"user\",\"message\":{\"content\":\""));
	memset(buf_reserve(&b, n), 'x', n);
	buf_commit(&b, n);
	if (end)
		buf_add_str(&b, STR("\"}}\n" LINE_B));
	test_write(path, b.p, b.len);
}

static void test_long_line(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(4)), kept = BUF_INIT(MIB(1));
	const char *dir = test_dir();
	char path[FS_PATH];
	struct transcript_position at;
	struct transcript_counts n;
	struct transcript *t;
	size_t cut;
	bool replaced;

	fs_join(path, dir, "s.jsonl");
	write_long_line(path, TRANSCRIPT_LINE_MAX + 1000, true);
	n = read_file(path, "claude", &b);
	assert_int_equal(n.long_lines, 1);
	assert_int_equal(n.lines, 3);
	assert_true(str_find(buf_str(&b), STR("first")) >= 0 && str_find(buf_str(&b), STR("second")) >= 0);
	/* One that has no end yet is not read again from its beginning. */
	write_long_line(path, TRANSCRIPT_LINE_MAX + MIB(1), false);
	assert_int_equal(open_at(path, "claude", NULL, &t), 0);
	read_rest(t, &b);
	transcript_position(t, &at);
	assert_int_equal(at.offset, transcript_size(t));
	cut = at.state.n;
	buf_add_str(&kept, at.state);
	buf_add_str(&kept, at.identity);
	transcript_close(t);
	at.state = str_head(buf_str(&kept), cut);
	at.identity = str_from(buf_str(&kept), cut);
	write_at(path, at.offset, STR("xxx\"}}\n" LINE_B));
	assert_int_equal(count_prompts(path, &at, &replaced), 1);
	assert_false(replaced);
}

static const struct {
	const char *name;
	str text;
	unsigned prompts, broken;
} odd_files[] = {
	{ "CRLF", STR("{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"content\":\"x\"}}\r\n\r\n"), 1, 0 },
	{ "BOM", STR("\xEF\xBB\xBF" LINE_A), 1, 0 },
	{ "no end", STR(LINE_A "{\"type\":\"user\",\"message\":{\"content\":\"x\"}}"), 1, 0 },
	{ "NULs", STR("\0\0\0\0" LINE_A "\0\0\0\n" LINE_B), 2, 0 },
	{ "NUL within", STR("{\"type\":\"user\",\"message\":{\"content\":\"a\0b\"}}\n" LINE_B), 1, 1 },
	{ "bad UTF-8", STR("{\"type\":\"user\",\"message\":{\"content\":\"a\xFF\xC0\x80\"}}\n"), 1, 0 },
	{ "not objects", STR("[]\n1\nnull\n\"user\"\n{}\n" LINE_A), 1, 4 },
	{ "wrong types",
		STR("{\"type\":\"user\",\"message\":7}\n{\"type\":\"assistant\",\"message\":[]}\n"
		    "{\"type\":\"assistant\",\"message\":{\"content\":[1,null,{}],\"usage\":3,\"id\":4}}\n"
		    "{\"type\":\"user\",\"sessionId\":{},\"cwd\":[],\"message\":{\"content\":{\"a\":1}}}\n"
		    "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\"}]}}\n"),
		0, 0 },
	{ "cut", STR("{\"type\":\"user\",\"message\":{\"content\":\"x\n{\"type\n{\n}\n\"\n" LINE_A), 1, 5 },
};

static void test_odd_lines(void **state)
{
	const char *dir = test_dir();

	for (size_t i = 0; i < countof(odd_files); i++) {
		_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(1));
		struct transcript_counts n;
		unsigned prompts = 0;
		str line, rest;

		test_write(test_path(dir, "s"), odd_files[i].text.p, odd_files[i].text.n);
		n = read_file(test_path(dir, "s"), "claude", &b);
		rest = buf_str(&b);
		while (str_split(&rest, '\n', &line))
			prompts += str_starts(line, STR("{\"kind\":\"prompt\""));
		if (prompts != odd_files[i].prompts || n.broken != odd_files[i].broken)
			fail_msg("%s: %u prompts, %u broken\n%s", odd_files[i].name, prompts, (unsigned)n.broken, b.p);
	}
}

static void test_deep(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(16)), items = BUF_INIT(MIB(1));
	const char *path = test_path(test_dir(), "s");
	struct transcript_counts n;

	buf_add_str(&b, STR("{\"type\":\"user\",\"message\":"));
	memset(buf_reserve(&b, MIB(8)), '[', MIB(8));
	buf_commit(&b, MIB(8));
	buf_add_str(&b, STR("\n" LINE_A));
	test_write(path, b.p, b.len);
	n = read_file(path, "claude", &items);
	assert_int_equal(n.broken, 1);
	assert_true(items.len > 0);
}

/* A hundred thousand blocks in a line with as many members, a long id and a long folder: what holds for all of them
 * is neither looked up nor copied for each. */
static void test_crowded_line(void **state)
{
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(16));
	const char *path = test_path(test_dir(), "s");
	size_t before = os_resident_bytes(), most = before;
	int64_t start = clock_mono_us();
	struct transcript_item item;
	struct transcript *t;
	unsigned n = 0;

	buf_add_str(&b, STR("{\"type\":\"assistant\",\"sessionId\":\"s\",\"uuid\":\""));
	memset(buf_reserve(&b, MIB(1)), 'u', MIB(1));
	buf_commit(&b, MIB(1));
	buf_add_str(&b, STR("\",\"cwd\":\"/"));
	memset(buf_reserve(&b, 5000), 'd', 5000);
	buf_commit(&b, 5000);
	buf_add_str(&b, STR("\",\"message\":{\"content\":["));
	for (unsigned i = 0; i < 100000; i++)
		buf_add_str(&b, STR("{\"type\":\"text\",\"text\":\"x\"},"));
	buf_add_str(&b, STR("{}]}"));
	for (unsigned i = 0; i < 100000; i++)
		buf_add_str(&b, STR(",\"a\":0"));
	buf_add_str(&b, STR("}\n"));
	test_write(path, b.p, b.len);
	assert_int_equal(open_at(path, "claude", NULL, &t), 0);
	while (transcript_next(t, &item) == 1) {
		n += item.kind == TRANSCRIPT_ANSWER;
		if (n == 2)
			most = os_resident_bytes();
		assert_true(item.id.n <= LIMIT_NAME && item.cwd.n <= 4096);
	}
	transcript_close(t);
	assert_int_equal(n, 100000);
	assert_true(most - before < MIB(512));
	assert_true(clock_mono_us() - start < 20 * USEC_PER_SEC);
}

static void test_shrinks(void **state)
{
	const char *path = test_path(test_dir(), "s");
	struct transcript_item item;
	struct transcript *t;
	char copy[FS_PATH];
	int r;

	snprintf(copy, sizeof copy, "%s", path);
	write_long_line(copy, MIB(4), true);
	assert_int_equal(open_at(copy, "claude", NULL, &t), 0);
	assert_int_equal(transcript_next(t, &item), 1);
	assert_int_equal(truncate(copy, 10), 0);
	while ((r = transcript_next(t, &item)) == 1)
		assert_int_not_equal(item.text.n, MIB(4));
	assert_int_equal(r, 0);
	transcript_close(t);
}

/* -- finding ----------------------------------------------------------------------------------- */

static void make_file(const char *home, const char *name, unsigned age)
{
	struct timespec times[2] = { { .tv_sec = 1700000000 - age }, { .tv_sec = 1700000000 - age } };
	char path[FS_PATH], dir[FS_PATH];

	snprintf(path, sizeof path, "%s/%s", home, name);
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
	assert_int_equal(fs_private_dir(dir), 0);
	test_write(path, "x", 1);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

struct listing {
	const char *home;
	struct buf b;
	int stop_after;
};

static int list_file(const struct transcript_file *f, void *arg)
{
	struct listing *l = arg;

	assert_true(strncmp(f->path, l->home, strlen(l->home)) == 0 && f->bytes == 1 && f->mtime_us > 0);
	assert_true(transcript_is_history(l->home, f->agent, f->path));
	buf_addf(&l->b, "%s %s\n", f->agent, f->path + strlen(l->home) + 1);
	return --l->stop_after == 0 ? 77 : 0;
}

static void clear_places(void)
{
	unsetenv("CLAUDE_CONFIG_DIR");
	unsetenv("CODEX_HOME");
	unsetenv("GEMINI_CLI_HOME");
}

static void test_find(void **state)
{
	const char *home = test_dir();
	struct listing all = { .home = home, .b = BUF_INIT(MIB(1)), .stop_after = -1 };
	char link[FS_PATH];

	clear_places();
	make_file(home, ".claude/projects/-p/s1.jsonl", 50);
	make_file(home, ".claude/projects/-p/s1/subagents/agent-a.jsonl", 10);
	make_file(home, ".claude/projects/-p/s1/subagents/agent-a.meta.json", 1);
	make_file(home, ".claude/projects/-p/s1/journal.jsonl", 1);
	make_file(home, ".claude/projects/stray.jsonl", 1);
	make_file(home, ".claude/history.jsonl", 1);
	make_file(home, ".codex/sessions/2026/11/15/rollout-x.jsonl", 40);
	make_file(home, ".codex/archived_sessions/rollout-y.jsonl", 30);
	make_file(home, ".codex/sessions/2026/11/15/rollout-x.jsonl.zst", 1);
	make_file(home, ".gemini/tmp/proj/chats/session-1.json", 60);
	make_file(home, ".gemini/tmp/proj/chats/session-2.jsonl", 20);
	make_file(home, ".gemini/tmp/proj/chats/s2/sub.jsonl", 15);
	make_file(home, ".gemini/tmp/proj/logs.json", 1);
	make_file(home, "elsewhere/-p/s3.jsonl", 1);
	snprintf(link, sizeof link, "%s/.claude/projects/linked", home);
	assert_int_equal(symlink("../../elsewhere/-p", link), 0);
	snprintf(link, sizeof link, "%s/.claude/projects/-p/linked.jsonl", home);
	assert_int_equal(symlink("../../../elsewhere/-p/s3.jsonl", link), 0);
	assert_int_equal(transcript_find(home, NULL, list_file, &all), 0);
	assert_str(buf_str(&all.b),
		STR("claude .claude/projects/-p/s1/subagents/agent-a.jsonl\n"
		    "gemini .gemini/tmp/proj/chats/s2/sub.jsonl\n"
		    "gemini .gemini/tmp/proj/chats/session-2.jsonl\n"
		    "codex .codex/archived_sessions/rollout-y.jsonl\n"
		    "codex .codex/sessions/2026/11/15/rollout-x.jsonl\n"
		    "claude .claude/projects/-p/s1.jsonl\n"
		    "gemini .gemini/tmp/proj/chats/session-1.json\n"));
	buf_clear(&all.b);
	all.stop_after = 1;
	assert_int_equal(transcript_find(home, "codex", list_file, &all), 77);
	assert_str(buf_str(&all.b), STR("codex .codex/archived_sessions/rollout-y.jsonl\n"));
	buf_release(&all.b);
}

static int moved_child(void *arg)
{
	const char *home = arg;
	struct listing l = { .home = home, .b = BUF_INIT(MIB(1)), .stop_after = -1 };
	char path[FS_PATH];

	fs_join(path, home, "c");
	setenv("CLAUDE_CONFIG_DIR", path, 1);
	fs_join(path, home, "x");
	setenv("CODEX_HOME", path, 1);
	fs_join(path, home, "g");
	setenv("GEMINI_CLI_HOME", path, 1);
	CHECK(transcript_find(home, NULL, list_file, &l) == 0);
	CHECK(str_eq(buf_str(&l.b),
		STR("gemini g/.gemini/tmp/p/chats/session-1.jsonl\n"
		    "codex x/sessions/rollout-1.jsonl\n"
		    "claude c/projects/p/s.jsonl\n")));
	buf_release(&l.b);
	fs_join(path, home, ".claude/projects/p/s.jsonl");
	CHECK(!transcript_is_history(home, NULL, path));
	return 0;
}

static void test_find_moved(void **state)
{
	const char *home = test_dir();

	make_file(home, ".claude/projects/p/s.jsonl", 1);
	make_file(home, "c/projects/p/s.jsonl", 4);
	make_file(home, "x/sessions/rollout-1.jsonl", 3);
	make_file(home, "g/.gemini/tmp/p/chats/session-1.jsonl", 2);
	assert_int_equal(test_child(moved_child, (void *)home), 0);
}

static void test_is_history(void **state)
{
	static const struct {
		const char *agent, *path;
		bool is;
	} rows[] = {
		{ "claude", "/home/a/.claude/projects/-p/s.jsonl", true },
		{ NULL, "/home/a/.claude/projects/-p/s.jsonl", true },
		{ "codex", "/home/a/.claude/projects/-p/s.jsonl", false },
		{ "claude", "/home/a/.claude/projects/-p/../../x/s.jsonl", false },
		{ "claude", "/home/a/.claude/projects/-p//s.jsonl", false },
		{ "claude", "/home/a/.claude/projects//etc/shadow.jsonl", false },
		{ "claude", "/home/a/.claude/projectsx/-p/s.jsonl", false },
		{ "claude", "/home/a/.claude/projects/-p/s.json", false },
		{ "claude", "/etc/shadow", false },
		{ "claude", "", false },
		{ "claude", NULL, false },
		{ "gemini", "/home/a/.gemini/tmp/p/chats/session-1.json", true },
		{ "gemini", "/home/a/.gemini/tmp/p/checkpoint.json", false },
		{ "codex", "/home/a/.codex/sessions/2026/01/02/rollout-x.jsonl", true },
		{ "codex", "/home/a/.codex/history.jsonl", false },
	};

	clear_places();
	for (size_t i = 0; i < countof(rows); i++)
		if (transcript_is_history("/home/a", rows[i].agent, rows[i].path) != rows[i].is)
			fail_msg("%s", rows[i].path);
}

/* -- texts ------------------------------------------------------------------------------------- */

static void test_plain_text(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "plain", "plain" },
		{ "  a < b && c > d \n", "a < b && c > d" },
		{ "<system-reminder>x</system-reminder>", "" },
		{ "a<system-reminder>\nx\n</system-reminder> b", "a b" },
		{ "a <system-reminder>x</system-reminder>b<ide_selection>y</ide_selection>c", "a bc" },
		{ "a <system-reminder>never closed", "a" },
		{ "a <system-reminders>b", "a <system-reminders>b" },
		{ "a </system-reminder> b", "a </system-reminder> b" },
		{ "<system-reminder a=\"1\">x</other></system-reminder>b", "b" },
		{ "<task-notification>x</task-notification>", "<task-notification>x</task-notification>" },
		{ "<", "<" },
		{ "", "" },
	};
	struct arena a;
	str in = STR(" borrowed ");

	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++)
		assert_str(transcript_plain_text(&a, str_of(rows[i].in)), str_of(rows[i].out));
	assert_ptr_equal(transcript_plain_text(&a, in).p, in.p + 1);
	arena_release(&a);
}

static void test_last_texts(void **state)
{
	static const struct {
		const char *file, *user, *assistant;
		int64_t tail;
	} rows[] = {
		{ "claude.jsonl", "Say hello", "done", 0 },
		{ "claude.jsonl", NULL, "done", 3000 },
		{ "claude.jsonl", NULL, NULL, 10 },
		{ "claude-split.jsonl", "/review the last commit", "Of a cat.", 0 },
		{ "subagents/agent-a9b2.jsonl", "SUBAGENT-TASK do it", "Only a.c.", 0 },
		{ "codex.jsonl", "Say hello", "Continued after stop hook.", 0 },
		{ "codex.jsonl", NULL, "Continued after stop hook.", 1000 },
		{ "codex-bare.jsonl", NULL, "hi", 200 },
		{ GEMINI "session-2026-02-03T04-05-5f3a0000.jsonl", "thanks", "Welcome.", 0 },
		{ GEMINI "session-2026-02-03T04-05-old.json", "thanks", "Welcome.", 10 },
	};
	struct err err = { 0 };
	struct arena a;
	str user, model;

	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++) {
		assert_int_equal(
			transcript_last_texts(golden(rows[i].file), NULL, rows[i].tail, &a, &user, &model, &err), 0);
		assert_str(user, str_of(rows[i].user));
		assert_str(model, str_of(rows[i].assistant));
		assert_int_equal(str_is_set(user), rows[i].user != NULL);
	}
	assert_int_equal(transcript_last_texts("/dev/zero", "claude", 0, &a, &user, &model, &err), -EINVAL);
	assert_true(err.text[0] != 0);
	arena_release(&a);
}

/* -- Markdown ---------------------------------------------------------------------------------- */

static int write_markdown(const char *path, struct buf *b)
{
	struct transcript *t;
	int r;

	assert_int_equal(open_at(path, NULL, NULL, &t), 0);
	r = transcript_write_markdown(t, b);
	transcript_close(t);
	return r;
}

static void test_markdown(void **state)
{
	static const char *const rows[][2] = {
		{ "claude-split.jsonl", "claude-split.md" },
		{ "claude-fences.jsonl", "claude-fences.md" },
		{ "codex-old.jsonl", "codex-old.md" },
		{ GEMINI "session-2026-02-03T04-05-5f3a0000.jsonl", "gemini/lines.md" },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(1));

		assert_int_equal(write_markdown(golden(rows[i][0]), &b), 0);
		compare_golden(rows[i][1], buf_str(&b));
	}
}

/* A page that is full ends where an item ends: it is a beginning of the whole page. */
static void test_markdown_full(void **state)
{
	_cleanup_(buf_release) struct buf whole = BUF_INIT(MIB(1));
	size_t last = 0;

	assert_int_equal(write_markdown(golden("claude-split.jsonl"), &whole), 0);
	for (size_t max = 0; max < whole.len; max += 37) {
		_cleanup_(buf_release) struct buf b = BUF_INIT(max);

		assert_int_equal(write_markdown(golden("claude-split.jsonl"), &b), -E2BIG);
		assert_true(str_starts(buf_str(&whole), buf_str(&b)));
		assert_true(b.len >= last && (b.len == 0 || str_ends(buf_str(&b), STR("\n\n"))));
		last = b.len;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_in_pieces),
		cmocka_unit_test(test_position_after_each_item),
		cmocka_unit_test(test_not_a_file),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_odd_lines),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_crowded_line),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_moved),
		cmocka_unit_test(test_is_history),
		cmocka_unit_test(test_plain_text),
		cmocka_unit_test(test_last_texts),
		cmocka_unit_test(test_markdown),
		cmocka_unit_test(test_markdown_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
