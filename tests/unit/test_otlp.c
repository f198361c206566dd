/* OTLP: both readers, gzip, and Codex's events in the words of its hooks. */
#include "test.h"

#include <zlib.h>

#include "json/json.h"
#include "otlp/otlp.h"

/* -- making batches ---------------------------------------------------------------------------- */

static void put_varint(struct buf *b, uint64_t n)
{
	for (; n > 0x7f; n >>= 7)
		buf_add_char(b, (char)((n & 0x7f) | 0x80));
	buf_add_char(b, (char)n);
}

static void put_bytes(struct buf *b, unsigned field, str bytes)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, bytes.n);
	buf_add_str(b, bytes);
}

static void put_time(struct buf *b, unsigned field, uint64_t ns)
{
	put_varint(b, field << 3 | 1);
	for (int i = 0; i < 8; i++)
		buf_add_char(b, (char)(ns >> 8 * i));
}

static void put_text(struct buf *b, const char *key, str text)
{
	struct buf value = BUF_INIT(1 << 20), pair = BUF_INIT(1 << 20);

	put_bytes(&value, 1, text);
	put_bytes(&pair, 1, str_of(key));
	put_bytes(&pair, 2, buf_str(&value));
	put_bytes(b, 6, buf_str(&pair));
	buf_release(&value);
	buf_release(&pair);
}

/* Around the bytes of a record. */
static void wrap(struct buf *b, str record)
{
	struct buf scope = BUF_INIT(1 << 24), resource = BUF_INIT(1 << 24);

	put_bytes(&scope, 2, record);
	put_bytes(&resource, 2, buf_str(&scope));
	put_bytes(b, 1, buf_str(&resource));
	buf_release(&scope);
	buf_release(&resource);
}

/* What a reading found. */
struct seen {
	unsigned records, hooks;
	struct otlp_hook hook; /* the last one */
	struct arena arena;
};

static void see(const struct otlp_record *r, void *arg)
{
	struct seen *s = arg;

	s->records++;
	s->hooks += otlp_hook(r, &s->arena, &s->hook);
}

static int read_all(str body, enum otlp_type type, struct seen *s)
{
	struct otlp_reading reading = { .record = see, .arg = s };
	int r;

	*s = (struct seen){ 0 };
	arena_init(&s->arena);
	r = otlp_read(body, type, &reading);
	if (r == 0)
		assert_int_equal(reading.records, s->records);
	return r;
}

#define CALL_JSON                                                                                        \
	"{\"resourceLogs\":[{\"resource\":{},\"scopeLogs\":[{\"logRecords\":[{\"observedTimeUnixNano\":" \
	"\"1794725359328000000\",\"attributes\":["                                                       \
	"{\"key\":\"event.name\",\"value\":{\"stringValue\":\"codex.tool_result\"}},"                    \
	"{\"key\":\"conversation.id\",\"value\":{\"stringValue\":\"s1\"}},"                              \
	"{\"key\":\"tool_name\",\"value\":{\"stringValue\":\"exec_command\"}},"                          \
	"{\"key\":\"call_id\",\"value\":{\"stringValue\":\"c1\"}},"                                      \
	"{\"key\":\"arguments\",\"value\":{\"stringValue\":\"{\\\"cmd\\\":\\\"echo hi\\\"}\"}},"         \
	"{\"key\":\"output\",\"value\":{\"stringValue\":\"Process exited with code 2\\nOutput:\\nhi\"}}" \
	"]}]}]}]}"

static void make_call(struct buf *ret)
{
	struct buf record = BUF_INIT(1 << 20);

	put_time(&record, 11, 1794725359328000000u);
	put_text(&record, "event.name", STR("codex.tool_result"));
	put_text(&record, "conversation.id", STR("s1"));
	put_text(&record, "tool_name", STR("exec_command"));
	put_text(&record, "call_id", STR("c1"));
	put_text(&record, "arguments", STR("{\"cmd\":\"echo hi\"}"));
	put_text(&record, "output", STR("Process exited with code 2\nOutput:\nhi"));
	wrap(ret, buf_str(&record));
	buf_release(&record);
}

/* -- tests ------------------------------------------------------------------------------------- */

static void test_both_encodings_say_the_same(void **state)
{
	struct buf body = BUF_INIT(1 << 20);
	struct seen binary, text;

	(void)state;
	make_call(&body);
	assert_int_equal(read_all(buf_str(&body), OTLP_PROTOBUF, &binary), 0);
	assert_int_equal(read_all(STR(CALL_JSON), OTLP_JSON, &text), 0);
	assert_int_equal(binary.hooks, 1);
	assert_int_equal(text.hooks, 1);
	assert_memory_equal(binary.hook.id.b, text.hook.id.b, ULID_BYTES);
	assert_str(binary.hook.payload, text.hook.payload);
	assert_int_equal(binary.hook.at_us, 1794725359328000);
	assert_string_equal(binary.hook.event, "codex.tool_result");
	assert_str(binary.hook.payload,
		STR("{\"session_id\":\"s1\",\"tool_name\":\"Bash\",\"tool_use_id\":\"c1\",\"tool_input\":{\"command\":"
		    "\"echo hi\"},\"tool_response\":\"hi\",\"success\":false,\"error\":\"hi\"}"));
	arena_release(&binary.arena);
	arena_release(&text.arena);
	buf_release(&body);
}

static void test_every_cut_is_refused(void **state)
{
	struct buf body = BUF_INIT(1 << 20);
	str json = STR(CALL_JSON);
	struct seen s;

	(void)state;
	make_call(&body);
	for (size_t n = 1; n < body.len; n++) {
		assert_int_equal(read_all(str_head(buf_str(&body), n), OTLP_PROTOBUF, &s), -EBADMSG);
		arena_release(&s.arena);
	}
	for (size_t n = 0; n < json.n; n++) {
		assert_int_equal(read_all(str_head(json, n), OTLP_JSON, &s), -EBADMSG);
		arena_release(&s.arena);
	}
	/* An empty message is one without records. */
	assert_int_equal(read_all(STR(""), OTLP_PROTOBUF, &s), 0);
	assert_int_equal(s.records, 0);
	arena_release(&s.arena);
	buf_release(&body);
}

static void test_what_is_no_wire_format_is_refused(void **state)
{
	static const struct {
		str record;
		int result;
	} cases[] = {
		{ STR("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0 },            /* the largest varint */
		{ STR("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), -EBADMSG },     /* a bit too many */
		{ STR("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -EBADMSG }, /* a byte too many */
		{ STR("\x02\x00"), -EBADMSG },                                         /* field 0 */
		{ STR("\x0b\x0c"), -EBADMSG },                                         /* a group */
		{ STR("\x0e"), -EBADMSG }, { STR("\x0f"), -EBADMSG },
		{ STR("\x32\x05\x0a"), -EBADMSG },                 /* a length that leads outside */
		{ STR("\x32\x02\x0a\x05"), -EBADMSG },             /* and one further in */
		{ STR("\x09\x01\x02"), -EBADMSG },                 /* half a number */
		{ STR("\xfa\xff\xff\xff\xff\xff\x01"), -EBADMSG }, /* a field number past 29 bits */
		{ STR("\xfa\x7f\x00"), 0 },                        /* a field that nobody knows */
	};
	struct seen s;

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		struct buf body = BUF_INIT(1 << 10);

		wrap(&body, cases[i].record);
		assert_int_equal(read_all(buf_str(&body), OTLP_PROTOBUF, &s), cases[i].result);
		arena_release(&s.arena);
		buf_release(&body);
	}
}

/* The inner message of an array is a value, that of a list a pair with a value. */
static int read_nested(bool pairs, int depth)
{
	struct buf value = BUF_INIT(1 << 24), next = BUF_INIT(1 << 24), pair = BUF_INIT(1 << 24),
		   record = BUF_INIT(1 << 24), body = BUF_INIT(1 << 24);
	struct seen s;
	int r;

	put_bytes(&value, 1, STR("x"));
	for (int i = 0; i < depth; i++) {
		buf_clear(&next);
		put_bytes(&next, pairs ? 2 : 1, buf_str(&value));
		buf_clear(&pair);
		put_bytes(&pair, 1, buf_str(&next));
		buf_clear(&value);
		put_bytes(&value, pairs ? 6 : 5, pairs ? buf_str(&pair) : buf_str(&next));
	}
	buf_clear(&pair);
	put_bytes(&pair, 2, buf_str(&value));
	put_bytes(&record, 6, buf_str(&pair));
	wrap(&body, buf_str(&record));
	r = read_all(buf_str(&body), OTLP_PROTOBUF, &s);
	arena_release(&s.arena);
	buf_release(&value);
	buf_release(&next);
	buf_release(&pair);
	buf_release(&record);
	buf_release(&body);
	return r;
}

static void test_nesting_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(read_nested(false, OTLP_DEPTH_MAX), 0);
	assert_int_equal(read_nested(false, OTLP_DEPTH_MAX + 2), -E2BIG);
	assert_int_equal(read_nested(false, 10000), -E2BIG);
	assert_int_equal(read_nested(true, OTLP_DEPTH_MAX), 0);
	assert_int_equal(read_nested(true, 10000), -E2BIG);
}

static void test_the_number_of_records_is_bounded(void **state)
{
	struct buf scope = BUF_INIT(1 << 22), resource = BUF_INIT(1 << 22), body = BUF_INIT(1 << 22);
	struct otlp_reading reading = { 0 };

	(void)state;
	for (int i = 0; i < 1000000; i++)
		buf_add(&scope, "\x12\x00", 2);
	put_bytes(&resource, 2, buf_str(&scope));
	put_bytes(&body, 1, buf_str(&resource));
	assert_int_equal(otlp_read(buf_str(&body), OTLP_PROTOBUF, &reading), -E2BIG);
	buf_release(&scope);
	buf_release(&resource);
	buf_release(&body);
}

/* -- gzip -------------------------------------------------------------------------------------- */

static void pack(struct buf *b, const void *p, size_t n)
{
	z_stream z = { .next_in = (void *)(uintptr_t)p, .avail_in = (unsigned)n };
	size_t room = n + 1000;
	char *to = buf_reserve(b, room);

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = (void *)to;
	z.avail_out = (unsigned)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_commit(b, room - z.avail_out);
	deflateEnd(&z);
}

static int unpack(str in, size_t max, const char *expected)
{
	struct buf out;
	int r = otlp_gunzip(in, max, &out);

	if (r == 0 && expected)
		assert_str(buf_str(&out), str_of(expected));
	buf_release(&out);
	return r;
}

static void test_gzip(void **state)
{
	struct buf b = BUF_INIT(1 << 26);
	size_t one;

	(void)state;
	pack(&b, "hello ", 6);
	one = b.len;
	assert_int_equal(unpack(buf_str(&b), 100, "hello "), 0);
	pack(&b, "world", 5);
	assert_int_equal(unpack(buf_str(&b), 100, "hello world"), 0);
	assert_int_equal(unpack(buf_str(&b), 11, "hello world"), 0);
	assert_int_equal(unpack(buf_str(&b), 10, NULL), -E2BIG);
	for (size_t n = 0; n < b.len; n++)
		if (n != one)
			assert_int_equal(unpack(str_head(buf_str(&b), n), 100, NULL), -EBADMSG);
	b.p[b.len - 6] ^= 1; /* the checksum */
	assert_int_equal(unpack(buf_str(&b), 100, NULL), -EBADMSG);
	b.p[b.len - 6] ^= 1;
	buf_add_char(&b, 0);
	assert_int_equal(unpack(buf_str(&b), 100, NULL), -EBADMSG);
	buf_release(&b);
}

static void test_a_hundredfold_is_no_bomb(void **state)
{
	struct buf b = BUF_INIT(1 << 26);
	char *zeros = calloc(1, 1 << 20);

	(void)state;
	pack(&b, zeros, 1 << 20);
	assert_true(b.len < (1 << 20) / 500);
	assert_int_equal(unpack(buf_str(&b), OTLP_BODY_MAX, NULL), 0);
	for (int i = 0; i < 16; i++)
		pack(&b, zeros, 1 << 20);
	assert_int_equal(unpack(buf_str(&b), OTLP_BODY_MAX, NULL), -E2BIG);
	free(zeros);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_encodings_say_the_same),
		cmocka_unit_test(test_every_cut_is_refused),
		cmocka_unit_test(test_what_is_no_wire_format_is_refused),
		cmocka_unit_test(test_nesting_is_bounded),
		cmocka_unit_test(test_the_number_of_records_is_bounded),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_a_hundredfold_is_no_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
