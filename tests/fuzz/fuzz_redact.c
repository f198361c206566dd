/* Any bytes as a payload, with a secret planted in them: the record must be a JSON object in valid
 * UTF-8, and the secret must not be in it. The first byte chooses kind, flags and where it is
 * planted. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "redact/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* Put together here so that no file holds it in one piece. */
static const char *marker(void)
{
	static char text[64];

	snprintf(text, sizeof text, " %s_%s%s ", "ghp", "0123456789abcdefghij", "klmnopqrstuvwxyzABCD");
	return text;
}

static void check_record(struct arena *a, const struct record *rec, bool planted)
{
	struct json *root;

	check(utf8_valid(rec->payload), "payload is not UTF-8");
	check(json_parse(a, rec->payload, 0, &root, NULL) == 0, "payload is not JSON");
	check(root->type == JSON_OBJECT, "payload is not an object");
	check(rec->payload.n <= LIMIT_RECORD, "payload is too long");
	check(utf8_valid(rec->session) && rec->session.n <= LIMIT_NAME, "session");
	check(!planted || str_find(rec->payload, str_trim(str_of(marker()))) < 0, "the secret is still there");
}

/* As text between blanks, or as a JSON string of its own: {"x":<bytes>,"y":"…"}. */
static str plant(struct buf *b, str bytes, unsigned how)
{
	if (how & 1)
		buf_add_str(b, STR("{\"x\":"));
	buf_add_str(b, str_head(bytes, how & 1 ? bytes.n : bytes.n / 2));
	if (how & 1)
		buf_add_str(b, STR(",\"y\":\""));
	buf_add_str(b, str_of(marker()));
	if (how & 1)
		buf_add_str(b, STR("\"}"));
	else
		buf_add_str(b, str_from(bytes, bytes.n / 2));
	return buf_str(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct redactor *r;
	_cleanup_(buf_release) struct buf b = BUF_INIT(MIB(16));
	str bytes = str_n((const char *)data + (size > 0), size - (size > 0));
	unsigned how = size ? data[0] : 0;
	struct event e = { .kind = how % EVENT_KIND_MAX, .agent = STR("fuzz") };
	struct json *root = NULL;
	struct record rec;
	struct arena a;
	str again;

	if (!r)
		r = redactor_new();
	arena_init(&a);
	e.raw = how & 64 ? bytes : plant(&b, bytes, how >> 5);
	if (json_parse(&a, e.raw, JSON_LENIENT_UTF8, &root, NULL) == 0)
		e.payload = root;
	else
		e.marks |= EVENT_NOT_JSON | (how & 16 ? EVENT_CUT : 0);
	e.prompt = json_str(json_get(root, STR("prompt")));
	e.command = json_str(json_get(root, STR("command")));
	e.session = str_head(bytes, 2000);
	redact(r, &a, &e, how & 128 ? REDACT_MUTED : 0, &rec, NULL);
	check_record(&a, &rec, !(how & 64));
	again = redact_text(r, &a, bytes);
	check(utf8_valid(again), "text is not UTF-8");
	arena_release(&a);
	return 0;
}
