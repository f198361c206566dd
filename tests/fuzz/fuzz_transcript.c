/* Bytes as a transcript of each agent in turn: reading ends, every item has a kind, an id and valid texts, a position
 * lies within the file and only moves forward, and reading in two pieces gives as many prompts, calls and results
 * as reading at once. The first byte says whose it is, where it is cut, and whether it is a document. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "transcript/transcript.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

struct tally {
	unsigned kinds[TRANSCRIPT_KIND_MAX];
};

static void check_item(const struct transcript_item *item, struct tally *n, struct buf *scratch)
{
	check(item->kind < TRANSCRIPT_KIND_MAX && item->id.n > 0);
	check(item->tokens.input >= 0 && item->tokens.output >= 0);
	n->kinds[item->kind]++;
	buf_clear(scratch);
	if (str_is_set(item->text))
		json_write_string(scratch, item->text);
	json_write_string(scratch, item->id);
	if (item->input)
		json_write(scratch, item->input);
	if (item->output)
		json_write(scratch, item->output);
}

/* Reads to the end from a position; leaves where it ended in kept, state first. */
static void read_all(const char *path, const char *agent, const struct transcript_position *from, struct tally *n,
	struct buf *kept, struct transcript_position *ret)
{
	struct transcript_request q = { .path = path, .agent = agent };
	struct buf scratch = BUF_INIT(MIB(4));
	struct transcript_item item;
	struct transcript *t;
	int64_t before = 0;
	int r;

	if (from) {
		q.identity = from->identity;
		q.offset = from->offset;
		q.state = from->state;
	}
	check(transcript_open(&q, &t, NULL) == 0);
	while ((r = transcript_next(t, &item)) == 1) {
		check_item(&item, n, &scratch);
		transcript_position(t, ret);
		check(ret->offset >= before && ret->offset <= transcript_size(t));
		before = ret->offset;
	}
	check(r == 0);
	transcript_position(t, ret);
	r = (int)ret->state.n;
	buf_clear(kept);
	buf_add_str(kept, ret->state);
	buf_add_str(kept, ret->identity);
	ret->state = str_head(buf_str(kept), (size_t)r);
	ret->identity = str_from(buf_str(kept), (size_t)r);
	transcript_close(t);
	buf_release(&scratch);
}

static void write_markdown(const char *path, const char *agent)
{
	struct transcript_request q = { .path = path, .agent = agent };
	struct buf page = BUF_INIT(KIB(64));
	struct transcript *t;
	struct arena a;
	str user, model;

	check(transcript_open(&q, &t, NULL) == 0);
	(void)transcript_write_markdown(t, &page);
	transcript_close(t);
	buf_release(&page);
	arena_init(&a);
	check(transcript_last_texts(path, agent, 300, &a, &user, &model, NULL) == 0);
	(void)transcript_plain_text(&a, user);
	arena_release(&a);
}

/* In memory where there is such a file system: a hundred thousand files take long on a disk. */
static void write_file(const char *path, str text)
{
	_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const agents[] = { "claude", "codex", "gemini", "copilot", "qwen", "opencode" };
	static unsigned long inputs;
	const char *agent;
	struct buf kept = BUF_INIT(MIB(2)), more = BUF_INIT(MIB(2));
	struct transcript_request unknown;
	struct transcript_position at, end;
	struct tally whole = { 0 }, parts = { 0 };
	struct transcript *t = NULL;
	char path[64];
	size_t cut;
	str text;

	if (size == 0)
		return 0;
	agent = agents[data[0] % 96 < 48 ? data[0] % 3 : 3 + data[0] % 3];
	text = str_n((const char *)data + 1, size - 1);
	if (str_starts(text, STR("SQLite format 3\0")))
		return 0; /* a database: SQLite's own fuzzers are better at it */
	cut = text.n * (data[0] / 3 % 16) / 16;
	snprintf(path, sizeof path, "%s/hookd-fuzz-%d.%s", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
		(int)getpid(), data[0] >= 192 ? "json" : "jsonl");
	write_file(path, text);
	read_all(path, agent, NULL, &whole, &kept, &end);
	/* These open the file three times more, to read the same: of many inputs every fourth gets them. */
	if (inputs++ < 256 || inputs % 4 == 0) {
		write_markdown(path, agent);
		unknown = (struct transcript_request){ .path = path };
		if (transcript_open(&unknown, &t, NULL) == 0)
			transcript_close(t);
	}
	/* The same inode, shorter first. */
	check(truncate(path, (off_t)cut) == 0);
	read_all(path, agent, NULL, &parts, &kept, &at);
	write_file(path, text);
	at.identity = STR_NONE;
	read_all(path, agent, &at, &parts, &more, &end);
	if (data[0] < 192) {
		check(whole.kinds[TRANSCRIPT_RESULT] <= parts.kinds[TRANSCRIPT_RESULT]);
		check(whole.kinds[TRANSCRIPT_CALL] <= parts.kinds[TRANSCRIPT_CALL]);
		check(whole.kinds[TRANSCRIPT_PROMPT] == parts.kinds[TRANSCRIPT_PROMPT]);
	}
	unlink(path);
	buf_release(&kept);
	buf_release(&more);
	return 0;
}
