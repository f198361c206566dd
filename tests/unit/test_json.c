/* json: what is accepted, what is kept, what is bounded. The list of cases is json_cases.txt. */
#include "test.h"

#include "base/utf8.h"
#include "json/json.h"

static struct arena arena;

static int parse(str input, unsigned flags, struct json **ret)
{
	struct err err = { 0 };
	int r = json_parse(&arena, input, flags, ret, &err);

	if (r < 0) {
		assert_int_equal(err.code, r);
		assert_true(err.text[0] != 0 && err.line > 0 && err.col > 0);
	}
	return r;
}

static struct json *parsed(str input, unsigned flags)
{
	struct json *v = NULL;

	assert_int_equal(parse(input, flags, &v), 0);
	assert_non_null(v);
	return v;
}

static int reset(void **state)
{
	(void)state;
	arena_reset(&arena);
	return 0;
}

static void assert_written(const struct json *v, str want)
{
	struct buf b = BUF_INIT(MIB(64));

	assert_int_equal(json_write(&b, v), 0);
	assert_str(buf_str(&b), want);
	buf_release(&b);
}

static bool same(const struct json *a, const struct json *b)
{
	const struct json *x, *y;

	if (a->type != b->type || !str_eq(a->key, b->key))
		return false;
	if (a->type == JSON_STRING || a->type == JSON_NUMBER)
		return str_eq(a->text, b->text);
	if (a->type == JSON_BOOL)
		return a->flag == b->flag;
	if (a->type == JSON_NULL)
		return true;
	if (a->count != b->count)
		return false;
	for (x = a->first, y = b->first; x && y; x = x->next, y = y->next)
		if (!same(x, y))
			return false;
	return !x && !y;
}

/* What was read, written and read again is the same, and written twice is the same bytes. */
static void check_round_trip(const struct json *v)
{
	struct buf one = BUF_INIT(MIB(64)), two = BUF_INIT(MIB(64));
	struct json *again;

	assert_int_equal(json_write(&one, v), 0);
	assert_true(utf8_valid(buf_str(&one)));
	again = parsed(buf_str(&one), 0);
	assert_true(same(v, again));
	assert_int_equal(json_write(&two, again), 0);
	assert_str(buf_str(&one), buf_str(&two));
	buf_release(&one);
	buf_release(&two);
}

/* -- the list of cases ------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* The C-like escapes of json_cases.txt, into a block of the exact size. */
static str unescape_case(const char *from, size_t n)
{
	char *out = malloc(n + 1), *exact;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (from[i] != '\\') {
			out[len++] = from[i];
			continue;
		}
		switch (from[++i]) {
		case 'e': break;
		case 'n': out[len++] = '\n'; break;
		case 'r': out[len++] = '\r'; break;
		case 't': out[len++] = '\t'; break;
		case '0': out[len++] = 0; break;
		case '\\': out[len++] = '\\'; break;
		case 'x':
			out[len++] = (char)(hex_digit(from[i + 1]) << 4 | hex_digit(from[i + 2]));
			i += 2;
			break;
		default: fail_msg("unknown escape in json_cases.txt: %.*s", (int)n, from);
		}
	}
	/* Reading one byte past the end must be seen. */
	exact = malloc(len ? len : 1);
	memcpy(exact, out, len);
	free(out);
	return str_n(exact, len);
}

static void run_case(str line, str word, str input)
{
	static const unsigned flags[] = { 0, JSON_LENIENT_UTF8, JSON_COMMENTS, JSON_LENIENT_UTF8 | JSON_COMMENTS };

	for (size_t i = 0; i < countof(flags); i++) {
		bool want = str_eq(word, STR("accept"));
		struct json *v = NULL;
		int r;

		if (str_eq(word, STR("lenient")))
			want = flags[i] & JSON_LENIENT_UTF8;
		if (str_eq(word, STR("jsonc")))
			want = flags[i] & JSON_COMMENTS;
		r = parse(input, flags[i], &v);
		if (r != (want ? 0 : -EBADMSG))
			fail_msg("flags %u give %d for: " STR_FMT, flags[i], r, STR_ARG(line));
		if (r == 0)
			check_round_trip(v);
		else
			assert_null(v);
		arena_reset(&arena);
	}
}

static void test_cases(void **state)
{
	struct buf file = BUF_INIT(KIB(64));
	str rest, line;
	int cases = 0;

	test_read(test_path(getenv("SRCDIR"), "tests/unit/json_cases.txt"), &file);
	rest = buf_str(&file);
	while (str_split(&rest, '\n', &line)) {
		ptrdiff_t blank = str_find_char(line, ' ');
		str word = str_head(line, blank < 0 ? 0 : (size_t)blank), input;

		if (line.n == 0 || line.p[0] == '#')
			continue;
		if (!str_eq(word, STR("accept")) && !str_eq(word, STR("reject")) && !str_eq(word, STR("lenient")) &&
			!str_eq(word, STR("jsonc")))
			fail_msg("not a case: " STR_FMT, STR_ARG(line));
		input = unescape_case(line.p + blank + 1, line.n - (size_t)blank - 1);
		run_case(line, word, input);
		free((char *)input.p);
		cases++;
	}
	assert_true(cases >= 250);
	buf_release(&file);
}

/* -- what is kept ------------------------------------------------------------------------------ */

static void test_numbers_keep_their_text(void **state)
{
	static const char *const numbers[] = { "-0", "1.0", "1e5", "1E+05", "123456789012345678901234567890", "0.1000",
		"-9223372036854775809", "1e999999" };

	for (size_t i = 0; i < countof(numbers); i++) {
		struct json *v = parsed(str_of(numbers[i]), 0);

		assert_int_equal(v->type, JSON_NUMBER);
		assert_str(v->text, str_of(numbers[i]));
		assert_written(v, str_of(numbers[i]));
	}
}

static void test_order_and_doubles(void **state)
{
	str text = STR("{\"b\":1,\"a\":2,\"b\":[3],\"\":4,\"a\":{\"c\":5}}");
	struct json *v = parsed(text, 0);

	assert_int_equal(v->count, 5);
	assert_written(v, text);
	assert_int_equal(json_get(v, STR("b"))->type, JSON_ARRAY);
	assert_str(json_path(v, "a", "c", NULL)->text, STR("5"));
	assert_str(json_get(v, STR(""))->text, STR("4"));
	assert_null(json_get(v, STR("c")));
	assert_null(json_path(v, "b", "c", NULL));
	assert_null(json_get(NULL, STR("a")));
	assert_null(json_get(v->first, STR("a")));
	/* Equal after decoding is equal. */
	v = parsed(STR("{\"tool_input\":1,\"tool\\u005finput\":2}"), 0);
	assert_str(json_get(v, STR("tool_input"))->text, STR("2"));
}

static void test_strings_decode(void **state)
{
	static const struct {
		const char *in;
		str out;
	} rows[] = {
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", { "\"\\/\b\f\n\r\t", 8 } },
		{ "\"a\\u0000b\"", { "a\0b", 3 } },
		{ "\"\\u00e4\\u20AC\\ud83d\\ude00\"", { "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9 } },
		{ "\"\\ud800\"", { "\xEF\xBF\xBD", 3 } },
		{ "\"\\ude00\\ud83d\"", { "\xEF\xBF\xBD\xEF\xBF\xBD", 6 } },
		{ "\"\\ud83d\\ud83d\\ude00\"", { "\xEF\xBF\xBD\xF0\x9F\x98\x80", 7 } },
		{ "\"a\xFFz\"", { "a\xEF\xBF\xBDz", 5 } },
		{ "\"\xE2\x82\"", { "\xEF\xBF\xBD\xEF\xBF\xBD", 6 } },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct json *v = parsed(str_of(rows[i].in), JSON_LENIENT_UTF8);

		assert_str(v->text, rows[i].out);
		check_round_trip(v);
	}
}

static void test_plain_strings_are_borrowed(void **state)
{
	str text = STR("{\"key\":\"gr\xC3\xBC\xC3\x9F\",\"k\\u0065y\":\"a\\tb\"}");
	struct json *v = parsed(text, 0);

	assert_true(v->first->text.p > text.p && v->first->text.p < text.p + text.n);
	assert_true(v->first->key.p > text.p && v->first->key.p < text.p + text.n);
	assert_false(v->first->next->text.p > text.p && v->first->next->text.p < text.p + text.n);
	assert_str(v->first->next->key, STR("key"));
}

static void test_places(void **state)
{
	str text = STR(" {\"a\" : [ 1, \"x\\n\" ] , \"b\":true} ");
	struct json *v = parsed(text, 0), *a = json_get(v, STR("a")), *b = json_get(v, STR("b"));

#define SPAN(v) str_n(text.p + (v)->begin, (v)->end - (v)->begin)
	assert_str(SPAN(v), str_trim(text));
	assert_str(SPAN(a), STR("[ 1, \"x\\n\" ]"));
	assert_str(SPAN(a->first), STR("1"));
	assert_str(SPAN(a->first->next), STR("\"x\\n\""));
	assert_str(SPAN(b), STR("true"));
#undef SPAN
}

static void check_error_at(const char *text, unsigned flags, unsigned line, unsigned col)
{
	struct err err = { 0 };
	struct json *v;

	assert_int_equal(json_parse(&arena, str_of(text), flags, &v, &err), -EBADMSG);
	if (err.line != line || err.col != col)
		fail_msg("%s: error at %u:%u, not %u:%u", text, err.line, err.col, line, col);
}

static void test_errors_name_the_place(void **state)
{
	unsigned line, col;

	check_error_at("", 0, 1, 1);
	check_error_at("x", 0, 1, 1);
	check_error_at("{\n  \"a\": 1,\n  b: 2\n}", 0, 3, 3);
	check_error_at("[1,\n2,\n\n  tru]", 0, 4, 3);
	check_error_at("\"\xC3\xA4\xC3\xA4\n\"", 0, 1, 4);
	check_error_at("{} x", 0, 1, 4);
	check_error_at("/* never\nclosed", JSON_COMMENTS, 1, 1);
	json_locate(STR("a\nb\xC3\xA4"
			"c"),
		5, &line, &col);
	assert_true(line == 2 && col == 3);
	json_locate(STR("a\n"), 99, &line, &col);
	assert_true(line == 2 && col == 1);
	json_locate(STR_NONE, 0, &line, &col);
	assert_true(line == 1 && col == 1);
	/* Nobody has to want the text. */
	assert_int_equal(json_parse(&arena, STR("["), 0, &(struct json *){ NULL }, NULL), -EBADMSG);
}

static void test_type_names(void **state)
{
	for (enum json_type t = 0; t < JSON_TYPE_MAX; t++)
		assert_true(strlen(json_type_name(t)) > 0);
}

static void test_values(void **state)
{
	struct json *v = parsed(STR("[5,\"5\",5.0,true,null,-9223372036854775808,9223372036854775808]"), 0);
	bool want[] = { true, false, false, false, false, true, false };
	int64_t n;
	size_t i = 0;

	json_each(item, v)
		assert_int_equal(json_int(item, &n), want[i++]);
	assert_int_equal(i, countof(want));
	assert_false(json_int(NULL, &n) || json_true(NULL));
	assert_true(json_true(v->first->next->next->next));
	assert_str(json_str(v->first->next), STR("5"));
	assert_false(str_is_set(json_str(v->first)) || str_is_set(json_str(NULL)));
}

/* -- limits ------------------------------------------------------------------------------------ */

static str repeat(const char *what, size_t times, const char *tail)
{
	size_t n = strlen(what), t = strlen(tail);
	char *p = malloc(n * times + t + 1);

	for (size_t i = 0; i < times; i++)
		memcpy(p + i * n, what, n);
	memcpy(p + n * times, tail, t + 1);
	return str_n(p, n * times + t);
}

/* Memory stays in proportion: nodes are bounded, text is copied at most three times over. */
static bool memory_is_bounded(size_t input)
{
	return arena.total <= MIB(2) + LIMIT_JSON_NODES * sizeof(struct json) + 4 * input;
}

static void check_limit(const char *what, size_t times, const char *tail, int want)
{
	struct json *v = NULL;
	str text = repeat(what, times, tail);
	int r = parse(text, JSON_LENIENT_UTF8, &v);

	if (r != want)
		fail_msg("%zu times %.10s gives %d, not %d", times, what, r, want);
	assert_true(memory_is_bounded(text.n));
	free((char *)text.p);
	arena_reset(&arena);
}

static void test_depth(void **state)
{
	char deep[2 * LIMIT_JSON_DEPTH + 3];

	for (int extra = 0; extra < 2; extra++) {
		size_t n = LIMIT_JSON_DEPTH + (size_t)extra;
		struct json *v;

		memset(deep, '[', n);
		memset(deep + n, ']', n);
		assert_int_equal(parse(str_n(deep, 2 * n), 0, &v), extra ? -E2BIG : 0);
		if (!extra)
			check_round_trip(v);
	}
	for (size_t times = 129; times <= 1000000; times *= 10) {
		check_limit("[", times, "", -E2BIG);
		check_limit("{\"a\":", times, "", -E2BIG);
		check_limit("[{\"a\":", times, "", -E2BIG);
	}
	check_limit("[", 128, "", -EBADMSG);
	check_limit("{\"\":", 128, "", -EBADMSG);
	/* Side by side is not nested. */
	check_limit("[[[[]]]],", 0, "[[],[],[[]]]", 0);
}

static void test_nodes(void **state)
{
	str text = repeat("0,", LIMIT_JSON_NODES - 2, "0]"), more;
	char *p = malloc(text.n + 3);
	struct json *v;

	p[0] = '[';
	memcpy(p + 1, text.p, text.n);
	assert_int_equal(parse(str_n(p, text.n + 1), 0, &v), 0);
	assert_int_equal(v->count, LIMIT_JSON_NODES - 1);
	arena_reset(&arena);
	memcpy(p + text.n, ",0]", 3);
	more = str_n(p, text.n + 3);
	assert_int_equal(parse(more, 0, &v), -E2BIG);
	free(p);
	free((char *)text.p);
}

static void test_many_keys(void **state)
{
	struct buf b = BUF_INIT(MIB(32));
	struct json *v;

	buf_add_char(&b, '{');
	for (int i = 0; i < 1000000; i++)
		buf_addf(&b, "%s\"k%d\":0", i ? "," : "", i);
	buf_add_char(&b, '}');
	assert_int_equal(parse(buf_str(&b), 0, &v), -E2BIG);
	arena_reset(&arena);
	/* As many as fit. */
	buf_clear(&b);
	buf_add_char(&b, '{');
	for (int i = 0; i < LIMIT_JSON_NODES - 1; i++)
		buf_addf(&b, "%s\"k%d\":0", i ? "," : "", i);
	buf_add_char(&b, '}');
	assert_int_equal(parse(buf_str(&b), 0, &v), 0);
	assert_non_null(json_get(v, STR("k0")));
	assert_non_null(json_get(v, STR("k499998")));
	buf_release(&b);
}

static void test_long_things(void **state)
{
	str number = repeat("9", 10000000, ""), text;
	struct json *v = parsed(number, 0);
	int64_t n;

	assert_int_equal(v->text.n, 10000000);
	assert_false(json_int(v, &n));
	free((char *)number.p);
	arena_reset(&arena);
	/* A string of nothing but bad bytes grows threefold and no more. */
	text = repeat("\xFF", 1000000, "\"");
	((char *)text.p)[0] = '"';
	v = parsed(text, JSON_LENIENT_UTF8);
	assert_int_equal(v->text.n, 3 * 999999);
	assert_true(memory_is_bounded(text.n));
	free((char *)text.p);
	arena_reset(&arena);
	/* A key of a megabyte. */
	text = repeat("k", 1000000, "\":1}");
	((char *)text.p)[0] = '{';
	((char *)text.p)[1] = '"';
	v = parsed(text, 0);
	assert_int_equal(v->first->key.n, 999998);
	free((char *)text.p);
	check_limit("\"\\u", 100000, "", -EBADMSG);
	check_limit("/*", 100000, "", -EBADMSG);
}

static void test_truncated_everywhere(void **state)
{
	struct buf b = BUF_INIT(KIB(64));
	str whole;

	test_read(test_path(getenv("SRCDIR"), "tests/golden/claude/PostToolUse.json"), &b);
	whole = str_trim(buf_str(&b));
	assert_true(whole.n > 300);
	for (size_t n = 0; n <= whole.n; n++) {
		char *exact = malloc(n ? n : 1);
		struct json *v;

		memcpy(exact, whole.p, n);
		assert_int_equal(parse(str_n(exact, n), 0, &v), n == whole.n ? 0 : -EBADMSG);
		assert_int_equal(parse(str_n(exact, n), JSON_LENIENT_UTF8 | JSON_COMMENTS, &v),
			n == whole.n ? 0 : -EBADMSG);
		if (n == whole.n)
			check_round_trip(v);
		free(exact);
		arena_reset(&arena);
	}
	buf_release(&b);
}

/* -- field tables ------------------------------------------------------------------------------ */

struct taken {
	str name, text;
	const struct json *tree;
	bool flag;
	int64_t number;
};

static const struct json_field table[] = {
	JSON_FIELD("name", STR, struct taken, name),
	JSON_FIELD("alias", STR, struct taken, name),
	JSON_FIELD("text", TEXT, struct taken, text),
	JSON_FIELD("tree", TREE, struct taken, tree),
	JSON_FIELD("flag", BOOL, struct taken, flag),
	JSON_FIELD("number", INT, struct taken, number),
	{ 0 },
};

static unsigned take(const char *text, struct taken *ret)
{
	*ret = (struct taken){ .number = -7 };
	return json_take_fields(parsed(str_of(text), 0), table, ret, str_of(text));
}

static void test_fields(void **state)
{
	struct taken t;

	assert_int_equal(take("{\"flag\":true,\"number\":5,\"text\":1.50,\"tree\":[],\"name\":\"n\",\"x\":0}", &t), 0);
	assert_str(t.name, STR("n"));
	assert_str(t.text, STR("1.50"));
	assert_int_equal(t.tree->type, JSON_ARRAY);
	assert_true(t.flag && t.number == 5);
	assert_int_equal(take("{\"text\":false}", &t), 0);
	assert_str(t.text, STR("false"));
	assert_int_equal(take("{\"text\":\"s\",\"text\":\"last\"}", &t), 0);
	assert_str(t.text, STR("last"));
	assert_int_equal(take("[]", &t), 0);
	assert_false(str_is_set(t.name) || t.tree);
	assert_int_equal(json_take_fields(NULL, table, &t, STR_NONE), 0);
}

static void test_fields_of_wrong_type(void **state)
{
	struct taken t;

	assert_int_equal(take("{\"name\":1,\"text\":[],\"flag\":1,\"number\":\"5\"}", &t), 4);
	assert_false(str_is_set(t.name) || str_is_set(t.text) || t.flag);
	assert_int_equal(t.number, -7);
	assert_int_equal(take("{\"number\":1.5}", &t), 1);
	assert_int_equal(take("{\"number\":9223372036854775808}", &t), 1);
	assert_int_equal(take("{\"name\":null,\"text\":null,\"tree\":null,\"flag\":null,\"number\":null}", &t), 0);
	assert_null(t.tree);
}

static void test_aliases(void **state)
{
	struct taken t;

	take("{\"alias\":\"a\",\"name\":\"n\"}", &t);
	assert_str(t.name, STR("n"));
	take("{\"alias\":\"a\"}", &t);
	assert_str(t.name, STR("a"));
	/* Present and null is absent: the next name gets its turn. */
	take("{\"name\":null,\"alias\":\"a\"}", &t);
	assert_str(t.name, STR("a"));
}

/* -- writing ----------------------------------------------------------------------------------- */

static void test_write_strings(void **state)
{
	static const struct {
		str in;
		const char *out;
	} rows[] = {
		{ { NULL, 0 }, "\"\"" },
		{ { "a\"b\\c/d", 7 }, "\"a\\\"b\\\\c/d\"" },
		{ { "\b\f\n\r\t", 5 }, "\"\\b\\f\\n\\r\\t\"" },
		{ { "\0\x01\x1F\x7F", 4 }, "\"\\u0000\\u0001\\u001f\\u007f\"" },
		{ { "\xC3\xA4\xFF\xE2\x82", 5 }, "\"\xC3\xA4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct buf b = BUF_INIT(100);

		assert_int_equal(json_write_string(&b, rows[i].in), 0);
		assert_str(buf_str(&b), str_of(rows[i].out));
		buf_release(&b);
	}
}

static void test_writer(void **state)
{
	struct buf b = BUF_INIT(1000);
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_str(&w, "s", STR("x"));
	jw_field_str(&w, "left out", STR_NONE);
	jw_field_str(&w, "e", STR(""));
	jw_field_int(&w, "i", INT64_MIN);
	jw_field_bool(&w, "b", false);
	jw_key(&w, "a");
	jw_array(&w);
	jw_int(&w, 1);
	jw_null(&w);
	jw_bool(&w, true);
	jw_object(&w);
	jw_end_object(&w);
	jw_array(&w);
	jw_end_array(&w);
	jw_end_array(&w);
	jw_key_str(&w, STR("\""));
	jw_value(&w, parsed(STR("[1,{}]"), 0));
	jw_key(&w, "r");
	jw_raw(&w, STR("1.0"));
	jw_end_object(&w);
	assert_str(buf_str(&b),
		STR("{\"s\":\"x\",\"e\":\"\",\"i\":-9223372036854775808,\"b\":false,"
		    "\"a\":[1,null,true,{},[]],\"\\\"\":[1,{}],\"r\":1.0}"));
	parsed(buf_str(&b), 0);
	buf_release(&b);
}

static void test_writer_full(void **state)
{
	struct json *v = parsed(STR("{\"a\":[1,2,\"three\"]}"), 0);

	for (size_t max = 0; max < 19; max++) {
		struct buf b = BUF_INIT(max);

		assert_int_equal(json_write(&b, v), -E2BIG);
		assert_true(b.full);
		buf_release(&b);
	}
}

/* Random trees: written and read back they are the same. */
static void write_random(struct json_writer *w, uint64_t *seed, int depth)
{
	static const char *const strings[] = { "", "a", "\x01\x7F\"\\", "\xF0\x9F\x98\x80", "key", "\xC3" };
	unsigned kind = test_random(seed) % (depth > 6 ? 5 : 8);

	switch (kind) {
	case 0: jw_null(w); return;
	case 1: jw_bool(w, test_random(seed) & 1); return;
	case 2: jw_int(w, (int32_t)test_random(seed)); return;
	case 3: jw_raw(w, STR("-1.50e+3")); return;
	case 4: jw_str(w, str_of(strings[test_random(seed) % countof(strings)])); return;
	}
	if (kind == 5)
		jw_array(w);
	else
		jw_object(w);
	for (unsigned i = test_random(seed) % 5; i; i--) {
		if (kind != 5)
			jw_key(w, strings[test_random(seed) % countof(strings)]);
		write_random(w, seed, depth + 1);
	}
	if (kind == 5)
		jw_end_array(w);
	else
		jw_end_object(w);
}

static void test_random_round_trips(void **state)
{
	uint64_t seed = 5;

	for (int i = 0; i < 2000; i++) {
		struct buf b = BUF_INIT(MIB(1));
		struct json_writer w = JSON_WRITER(&b);

		write_random(&w, &seed, 0);
		check_round_trip(parsed(buf_str(&b), 0));
		buf_release(&b);
		arena_reset(&arena);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, reset)
	const struct CMUnitTest tests[] = {
		T(test_cases),
		T(test_numbers_keep_their_text),
		T(test_order_and_doubles),
		T(test_strings_decode),
		T(test_plain_strings_are_borrowed),
		T(test_places),
		T(test_errors_name_the_place),
		T(test_type_names),
		T(test_values),
		T(test_depth),
		T(test_nodes),
		T(test_many_keys),
		T(test_long_things),
		T(test_truncated_everywhere),
		T(test_fields),
		T(test_fields_of_wrong_type),
		T(test_aliases),
		T(test_write_strings),
		T(test_writer),
		T(test_writer_full),
		T(test_random_round_trips),
	};
#undef T
	int failed = cmocka_run_group_tests_name("json", tests, NULL, NULL);

	arena_release(&arena);
	return failed;
}
