/* Whatever the file says, each sink that is taken is one that could be used, and what it is sent is JSON of the allowed
 * size. The first byte chooses which event. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/url.h"
#include "outbox/outbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_sink(const struct sinks *all, const struct sink *s)
{
	bool any = s->kinds != 0;

	require(s->name.n > 0 && s->name.n <= SINK_NAME && sinks_find(all, s->name) == s);
	require(!str_is_set(s->url) || url_check(s->url, NULL) == 0);
	require(!str_is_set(s->path) || s->path.p[0] == '/');
	require(!str_is_set(s->secret_file) || s->secret_file.p[0] == '/');
	require(s->type != SINK_EXEC || (s->command.n > 0 && s->command.words[0].p[0] == '/'));
	require(s->timeout_s >= 1 && s->timeout_s <= 120 && s->nheaders <= SINK_HEADERS);
	for (size_t i = 0; i < OUTBOX_TYPE_MAX; i++)
		any |= s->types[i];
	require(any);
}

static void check_writing(const struct sink *s, str text, unsigned choice)
{
	struct event e = { .kind = EVENT_POST_TOOL_USE, .tool_name = STR("Bash"), .command = text };
	struct outbox_notice n = { .meaning = { .type = choice % OUTBOX_TYPE_MAX },
		.type = STR("stop"),
		.event = &e,
		.id = STR("01M7S82EXGEWNFJSZXW3G8RP19"),
		.agent = str_head(text, 20),
		.native_session = str_head(text, 40),
		.prompt = text,
		.answer = text,
		.message = text,
		.project = str_head(text, 30),
		.project_path = text };
	struct buf b = BUF_INIT(OUTBOX_BODY);
	struct json *root;
	struct arena a;

	(void)sink_wants(s, &n);
	arena_init(&a);
	sink_write(s, &n, &b);
	require(!b.full && b.len <= OUTBOX_BODY && json_parse(&a, buf_str(&b), 0, &root, NULL) == 0);
	arena_release(&a);
	buf_release(&b);
}

/* Whatever was signed: what is kept of it is JSON of the allowed size. */
static void check_inbound(const struct inbound *in, str body)
{
	const struct inbound_request q = { .delivery = str_head(body, 40), .event = str_head(body, 20), .body = body };
	struct json *root;
	struct arena a;
	str payload;
	int r;

	arena_init(&a);
	r = inbound_normalise(in, &q, 0, &a, &payload);
	require(r == 0 || r == -EBADMSG || r == -ENOENT);
	require(r != 0 || (payload.n < LIMIT_RECORD && json_parse(&a, payload, JSON_LENIENT_UTF8, &root, NULL) == 0));
	arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inbound in = { .name = STR("ci") };
	str text = str_n((const char *)data + (size > 0), size ? size - 1 : 0);
	struct sinks *s;

	if (size > KIB(64))
		return 0;
	for (in.type = 0; in.type < INBOUND_TYPE_MAX; in.type++)
		check_inbound(&in, text);
	s = sinks_parse(text, "/home/dev");
	require(s->ninbound <= INBOUND_MAX);
	for (size_t i = 0; i < s->ninbound; i++) {
		require(s->inbound[i]->secret_file.p[0] == '/' &&
			inbound_find(s, s->inbound[i]->name) == s->inbound[i]);
		check_inbound(s->inbound[i], text);
	}
	require(s->n <= SINKS_MAX);
	for (size_t i = 0; i < s->n; i++)
		check_sink(s, s->list[i]);
	for (size_t i = 0; i < s->n && i < 3; i++)
		check_writing(s->list[i], text, size ? data[0] : 0);
	sinks_unref(s);
	return 0;
}
