/* retrieve: terms, segments, search. */
#include "test.h"

#include "base/fs.h"
#include "base/limits.h"
#include "retrieve/retrieve.h"

static size_t terms_of(const char *text, uint32_t *ret, size_t max)
{
	struct terms t = terms_open(str_of(text));
	size_t n = 0;
	uint32_t hash;

	while (terms_next(&t, &hash))
		if (n < max)
			ret[n++] = hash;
	return n;
}

/* Whether a text has a term that is the only one of the other. */
static bool has(const char *text, const char *word)
{
	uint32_t all[256], one[8];
	size_t n = terms_of(text, all, 256), m = terms_of(word, one, 8);

	assert_true(m >= 1);
	for (size_t i = 0; i < n; i++)
		if (all[i] == one[m - 1])
			return true;
	return false;
}

static void endings_are_cut(void **state)
{
	static const char *const pairs[][2] = { { "caresses", "caress" }, { "ponies", "poni" }, { "cats", "cat" },
		{ "agreed", "agre" }, { "plastered", "plaster" }, { "motoring", "motor" }, { "sing", "sing" },
		{ "conflated", "conflat" }, { "hopping", "hop" }, { "falling", "fall" }, { "happy", "happi" },
		{ "relational", "relat" }, { "conditional", "condit" }, { "generalization", "gener" },
		{ "hopefulness", "hope" }, { "triplicate", "triplic" }, { "adjustment", "adjust" },
		{ "adoption", "adopt" }, { "probate", "probat" }, { "controlling", "control" } };

	(void)state;
	for (size_t i = 0; i < countof(pairs); i++) {
		char word[32];
		size_t n = strlen(pairs[i][0]);

		memcpy(word, pairs[i][0], n + 1);
		n = stem_english(word, n);
		word[n] = 0;
		assert_string_equal(word, pairs[i][1]);
	}
}

static void identifiers_are_whole_and_split(void **state)
{
	(void)state;
	assert_true(has("call parseHttpDate(x)", "parse"));
	assert_true(has("call parseHttpDate(x)", "date"));
	assert_true(has("HTTPServer", "http"));
	assert_true(has("HTTPServer", "server"));
	assert_true(has("max_open_files", "files"));
	assert_true(has("utf8", "utf"));
	assert_true(has("The Connections were leaking", "connection"));
	assert_true(has("The Connections were leaking", "leaks"));
	assert_false(has("the and of", "server"));
}

static void unspaced_scripts_are_found_by_pairs(void **state)
{
	(void)state;
	assert_true(has("データベースの接続", "接続"));
	assert_true(has("数据库连接泄漏", "连接"));
	assert_true(has("Größe", "größe"));
	assert_true(has("ПРИВЕТ", "привет"));
}

static void any_bytes_are_a_text(void **state)
{
	char bytes[512];

	(void)state;
	for (int i = 0; i < 512; i++)
		bytes[i] = (char)(i * 37);
	struct terms t = terms_open(str_n(bytes, sizeof bytes));
	uint32_t hash;
	int n = 0;

	while (terms_next(&t, &hash))
		n++;
	assert_true(n < 2048);
}

static struct segment *segment_with(const struct segment_doc *docs, size_t n)
{
	struct buf b = BUF_INIT(MIB(64));

	segment_build(docs, n, 7, &b);
	return segment_from(&b);
}

static void the_best_comes_first(void **state)
{
	static const struct segment_doc docs[] = {
		{ .key = 10, .text = { "The cache is cleared at midnight", 32 } },
		{ .key = 20, .text = { "Database connections leak under load", 36 } },
		{ .key = 30, .text = { "Use pnpm, not npm, in this repository", 37 } },
	};
	struct segment *s = segment_with(docs, countof(docs));
	struct index_part part = { s, NULL };
	struct hit hits[3];

	(void)state;
	assert_int_equal(index_search(&part, 1, STR("why does the database leak connections?"), hits, 3, NULL), 1);
	assert_int_equal(hits[0].key, 20);
	assert_true(hits[0].covered > 0.9F);
	assert_int_equal(index_search(&part, 1, STR("pnpm"), hits, 3, NULL), 1);
	assert_int_equal(hits[0].key, 30);
	assert_int_equal(index_search(&part, 1, STR("unrelated words"), hits, 3, NULL), 0);
	assert_int_equal(index_search(&part, 1, STR(""), hits, 3, NULL), 0);
	segment_unref(s);
}

static void the_dead_are_not_found(void **state)
{
	static const struct segment_doc docs[] = { { .key = 1, .text = { "alpha beta", 10 } },
		{ .key = 2, .text = { "alpha gamma", 11 } } };
	struct segment *s = segment_with(docs, countof(docs));
	uint8_t dead[1] = { 0 };
	struct index_part part = { s, dead };
	struct hit hits[2];

	(void)state;
	assert_int_equal(segment_mark(s, (int64_t[]){ 1, 5 }, 2, dead), 1);
	assert_int_equal(index_search(&part, 1, STR("alpha"), hits, 2, NULL), 1);
	assert_int_equal(hits[0].key, 2);
	segment_unref(s);
}

/* The answer stands beside the question. */
static void neighbours_in_a_thread_help(void **state)
{
	static const struct segment_doc docs[] = {
		{ .key = 1, .thread = 5, .text = { "What did you paint last weekend?", 32 } },
		{ .key = 2, .thread = 5, .text = { "A sunrise over the lake", 23 } },
		{ .key = 3, .thread = 6, .text = { "A sunrise is bright", 19 } },
	};
	struct segment *s = segment_with(docs, countof(docs));
	struct index_part part = { s, NULL };
	struct hit hits[3];

	(void)state;
	assert_int_equal(index_search(&part, 1, STR("paint a sunrise"), hits, 3, NULL), 3);
	assert_int_equal(hits[2].key, 3);
	segment_unref(s);
}

static void several_segments_are_one_index(void **state)
{
	static const struct segment_doc a[] = { { .key = 1, .text = { "red apple", 9 } } },
					b[] = { { .key = 2, .text = { "green apple tree", 16 } },
						{ .key = 3, .text = { "red car", 7 } } };
	struct segment *s = segment_with(a, 1), *t = segment_with(b, 2);
	struct index_part parts[] = { { s, NULL }, { t, NULL } };
	struct hit hits[2];

	(void)state;
	assert_int_equal(index_search(parts, 2, STR("red apple"), hits, 2, NULL), 2);
	assert_int_equal(hits[0].key, 1);
	segment_unref(s);
	segment_unref(t);
}

static void a_file_is_a_segment_and_damage_is_noticed(void **state)
{
	static const struct segment_doc docs[] = { { .key = 4, .text = { "one two three", 13 } } };
	const char *path = test_path(test_dir(), "segment");
	struct buf b = BUF_INIT(MIB(1));
	struct segment *s = NULL;
	struct hit hit;

	(void)state;
	segment_build(docs, 1, 99, &b);
	assert_int_equal(fs_replace_file(path, buf_str(&b), false), 0);
	assert_int_equal(segment_open(path, &s), 0);
	assert_int_equal(segment_stamp(s), 99);
	assert_int_equal(index_search(&(struct index_part){ s, NULL }, 1, STR("two"), &hit, 1, NULL), 1);
	segment_unref(s);
	for (size_t i = 0; i < b.len; i++) {
		b.p[i] ^= 0x10;
		assert_int_equal(fs_replace_file(path, buf_str(&b), false), 0);
		assert_int_equal(segment_open(path, &s), -EBADMSG);
		b.p[i] ^= 0x10;
	}
	assert_int_equal(fs_replace_file(path, str_head(buf_str(&b), b.len - 1), false), 0);
	assert_int_equal(segment_open(path, &s), -EBADMSG);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endings_are_cut),
		cmocka_unit_test(identifiers_are_whole_and_split),
		cmocka_unit_test(unspaced_scripts_are_found_by_pairs),
		cmocka_unit_test(any_bytes_are_a_text),
		cmocka_unit_test(the_best_comes_first),
		cmocka_unit_test(the_dead_are_not_found),
		cmocka_unit_test(neighbours_in_a_thread_help),
		cmocka_unit_test(several_segments_are_one_index),
		cmocka_unit_test(a_file_is_a_segment_and_damage_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
