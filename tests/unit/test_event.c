/* event: names and kinds, the bytes of a record, and how voices become one verdict. */
#include "test.h"

#include "event/event.h"
#include "records.h"

/* -- kinds ------------------------------------------------------------------------------------- */

static void test_every_kind_is_described(void **state)
{
	for (enum event_kind k = 0; k < EVENT_KIND_MAX; k++) {
		assert_non_null(event_kinds[k].name);
		assert_true(event_kinds[k].text && str_ends(str_of(event_kinds[k].text), STR(".")));
		assert_true(event_kinds[k].log_tag && event_kinds[k].log_tag[0]);
		for (enum event_kind other = 0; other < k; other++)
			assert_false(str_eq_name(str_of(event_kinds[k].name), str_of(event_kinds[other].name)));
	}
	for (enum tool_class c = 0; c < TOOL_CLASS_MAX; c++)
		assert_non_null(tool_class_names[c]);
	for (enum verdict_action a = 0; a < VERDICT_ACTION_MAX; a++)
		assert_non_null(verdict_action_names[a]);
}

/* PreToolUse: pre-tool-use, pre_tool_use, preToolUse, PRETOOLUSE, PRE_TOOL_USE. */
static void spell(const char *name, char sep, bool upper, char *out)
{
	for (const char *p = name; *p; p++) {
		if (sep && p > name && *p >= 'A' && *p <= 'Z')
			*out++ = sep;
		*out++ = (char)(upper && *p >= 'a' ? *p - 32 : !upper && *p <= 'Z' ? *p + 32 : *p);
	}
	*out = 0;
}

static void test_every_spelling(void **state)
{
	char text[128];

	for (enum event_kind k = EVENT_UNKNOWN + 1; k < EVENT_KIND_MAX; k++) {
		static const char seps[] = { 0, '-', '_' };

		assert_int_equal(event_kind_by_name(str_of(event_kinds[k].name)), k);
		for (size_t i = 0; i < sizeof seps; i++)
			for (int upper = 0; upper < 2; upper++) {
				spell(event_kinds[k].name, seps[i], upper, text);
				assert_int_equal(event_kind_by_name(str_of(text)), k);
			}
		snprintf(text, sizeof text, "%s", event_kinds[k].name);
		text[0] = (char)(text[0] | 0x20);
		assert_int_equal(event_kind_by_name(str_of(text)), k);
		snprintf(text, sizeof text, "%sX", event_kinds[k].name);
		assert_int_equal(event_kind_by_name(str_of(text)), EVENT_UNKNOWN);
	}
	assert_int_equal(event_kind_by_name(STR_NONE), EVENT_UNKNOWN);
	assert_int_equal(event_kind_by_name(STR("Unknown")), EVENT_UNKNOWN);
	assert_int_equal(event_kind_by_name(STR("Pre Tool Use")), EVENT_UNKNOWN);
	assert_int_equal(event_kind_by_name(STR("PreToolUse\0")), EVENT_UNKNOWN);
}

/* -- records ----------------------------------------------------------------------------------- */

static bool same_record(const struct record *a, const struct record *b)
{
#define SAME(m) (str_is_set(a->m) == str_is_set(b->m) && str_eq(a->m, b->m))
	return ulid_eq(&a->id, &b->id) && a->at_us == b->at_us && a->order_us == b->order_us && a->kind == b->kind &&
		a->tool_class == b->tool_class && a->marks == b->marks && SAME(agent) && SAME(native) &&
		SAME(session) && SAME(cwd) && SAME(transcript_path) && SAME(agent_id) && SAME(tool_name) &&
		SAME(tool_use_id) && SAME(host) && SAME(payload);
#undef SAME
}

static void check_round_trip(const struct record *r)
{
	struct buf b = BUF_INIT(KIB(64));
	struct record back;

	assert_int_equal(record_encode(r, &b), 0);
	assert_int_equal(record_decode(buf_str(&b), &back), 0);
	assert_true(same_record(r, &back));
	buf_release(&b);
}

static void test_record_round_trip(void **state)
{
	struct record r = { .agent = STR("x") };

	check_round_trip(&r);
	for (enum event_kind k = 0; k < EVENT_KIND_MAX; k++)
		for (enum tool_class c = 0; c < TOOL_CLASS_MAX; c++) {
			r = record_sample(k * 8 + c, STR("{}"));
			r.kind = k;
			r.tool_class = c;
			check_round_trip(&r);
		}
	r.at_us = INT64_MIN;
	r.order_us = INT64_MAX;
	r.marks = 0xFFFFFFFF;
	r.host = r.agent_id = STR("\0\xFF\n");
	r.session = STR(""); /* empty is not the same as missing */
	r.transcript_path = STR_NONE;
	check_round_trip(&r);
}

static void test_record_unknown_tags(void **state)
{
	struct record r = record_sample(1, STR("{}")), back;
	struct buf b = BUF_INIT(KIB(64));

	record_encode(&r, &b);
	for (unsigned tag = 66; tag < 256; tag++) {
		char field[8] = { (char)tag, 3, 0, 0, 0, 'a', 'b', 'c' };

		buf_add(&b, field, sizeof field);
	}
	buf_add(&b, "\xC8\0\0\0\0", 5);
	assert_int_equal(record_decode(buf_str(&b), &back), 0);
	assert_true(same_record(&r, &back));
	buf_release(&b);
}

static void test_record_names_of_later_releases(void **state)
{
	struct record r = { .agent = STR("x") }, back;
	struct buf b = BUF_INIT(KIB(4));

	record_encode(&r, &b);
	buf_add(&b, "\x40\x05\0\0\0Later\x41\x05\0\0\0later", 20);
	assert_int_equal(record_decode(buf_str(&b), &back), 0);
	assert_int_equal(back.kind, EVENT_UNKNOWN);
	assert_int_equal(back.tool_class, TOOL_OTHER);
	buf_release(&b);
}

/* Cut anywhere: refused, or (between two fields, which only the journal's checksum can tell) a record
 * made of the fields before the cut. Nothing is read past the end either way. */
static void test_record_cut_anywhere(void **state)
{
	struct record r = record_sample(1, STR("{\"a\":1}")), back;
	struct buf b = BUF_INIT(KIB(4));
	bool boundary[1024] = { false };

	record_encode(&r, &b);
	for (size_t at = 40; at < b.len;) {
		boundary[at] = true;
		at += 5 + (uint8_t)b.p[at + 1] + ((size_t)(uint8_t)b.p[at + 2] << 8);
	}
	for (size_t n = 0; n < b.len; n++) {
		char *exact = malloc(n ? n : 1);
		int got;

		memcpy(exact, b.p, n);
		got = record_decode(str_n(exact, n), &back);
		if (!boundary[n])
			assert_int_equal(got, -EBADMSG);
		else if (got == 0)
			assert_false(str_is_set(back.payload));
		free(exact);
	}
	buf_release(&b);
}

static void test_record_nonsense(void **state)
{
	struct record r = record_sample(1, STR("{}")), back = { .at_us = 5 };
	struct buf b = BUF_INIT(KIB(4));

	assert_int_equal(record_decode(STR_NONE, &back), -EBADMSG);
	record_encode(&r, &b);
	b.p[0] = 2; /* another version */
	assert_int_equal(record_decode(buf_str(&b), &back), -EBADMSG);
	assert_int_equal(back.at_us, 5);
	buf_clear(&b);
	r.agent = STR_NONE;
	record_encode(&r, &b);
	assert_int_equal(record_decode(buf_str(&b), &back), -EBADMSG);
	buf_clear(&b);
	r.agent = STR("");
	record_encode(&r, &b);
	assert_int_equal(record_decode(buf_str(&b), &back), -EBADMSG);
	buf_release(&b);
	buf_init(&b, 30);
	assert_int_equal(record_encode(&r, &b), -E2BIG);
	buf_release(&b);
}

/* -- verdicts ---------------------------------------------------------------------------------- */

static void test_strictest_wins(void **state)
{
	/* Every order of the four voices. */
	for (int order = 0; order < 256; order++) {
		enum verdict_action voice[4] = { order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 & 3 }, most = 0;
		struct verdict v = { 0 };
		str first = STR_NONE;

		for (int i = 0; i < 4; i++) {
			str rule = str_of((const char *const[]){ "a", "b", "c", "d" }[i]);

			verdict_raise(&v, voice[i], rule, rule);
			if (voice[i] > most) {
				most = voice[i];
				first = rule;
			}
		}
		assert_int_equal(v.action, most);
		assert_str(v.rule, first);
		assert_str(v.reason, first);
		assert_int_equal(verdict_is_neutral(&v), most == VERDICT_NONE);
	}
}

static void test_context_in_order(void **state)
{
	struct verdict v = { 0 };
	struct arena a;

	arena_init(&a);
	verdict_add_context(&v, &a, STR("t"), STR(""));
	assert_true(verdict_is_neutral(&v));
	verdict_add_context(&v, &a, STR("1"), STR("one"));
	verdict_add_context(&v, &a, STR_NONE, STR("two"));
	assert_str(v.context->text, STR("one"));
	assert_str(v.context->next->text, STR("two"));
	assert_null(v.context->next->next);
	assert_false(verdict_is_neutral(&v));
	arena_release(&a);
}

static void test_neutral(void **state)
{
	struct json input = { .type = JSON_OBJECT };

	assert_true(verdict_is_neutral(&(struct verdict){ 0 }));
	assert_true(verdict_is_neutral(&(struct verdict){ .reason = STR("x"), .rule = STR("y") }));
	assert_false(verdict_is_neutral(&(struct verdict){ .action = VERDICT_ALLOW }));
	assert_false(verdict_is_neutral(&(struct verdict){ .updated_input = &input }));
	assert_false(verdict_is_neutral(&(struct verdict){ .system_message = STR("x") }));
	assert_false(verdict_is_neutral(&(struct verdict){ .continue_turn = true }));
	assert_false(verdict_is_neutral(&(struct verdict){ .end_turn = true }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_is_described),
		cmocka_unit_test(test_every_spelling),
		cmocka_unit_test(test_record_round_trip),
		cmocka_unit_test(test_record_unknown_tags),
		cmocka_unit_test(test_record_names_of_later_releases),
		cmocka_unit_test(test_record_cut_anywhere),
		cmocka_unit_test(test_record_nonsense),
		cmocka_unit_test(test_strictest_wins),
		cmocka_unit_test(test_context_in_order),
		cmocka_unit_test(test_neutral),
	};

	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
