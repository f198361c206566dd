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
	struct index_part part = { .segment = s, .dead = NULL };
	struct hit hits[3];

	(void)state;
	assert_int_equal(index_search(&part, 1, STR("why does the database leak connections?"), NULL, hits, 3, NULL),
		1);
	assert_int_equal(hits[0].key, 20);
	assert_true(hits[0].covered > 0.9F);
	assert_int_equal(index_search(&part, 1, STR("pnpm"), NULL, hits, 3, NULL), 1);
	assert_int_equal(hits[0].key, 30);
	assert_int_equal(index_search(&part, 1, STR("unrelated words"), NULL, hits, 3, NULL), 0);
	assert_int_equal(index_search(&part, 1, STR(""), NULL, hits, 3, NULL), 0);
	segment_unref(s);
}

static void the_dead_are_not_found(void **state)
{
	static const struct segment_doc docs[] = { { .key = 1, .text = { "alpha beta", 10 } },
		{ .key = 2, .text = { "alpha gamma", 11 } } };
	struct segment *s = segment_with(docs, countof(docs));
	uint8_t dead[1] = { 0 };
	struct index_part part = { .segment = s, .dead = dead };
	struct hit hits[2];

	(void)state;
	assert_int_equal(segment_mark(s, (int64_t[]){ 1, 5 }, 2, dead), 1);
	assert_int_equal(index_search(&part, 1, STR("alpha"), NULL, hits, 2, NULL), 1);
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
	struct index_part part = { .segment = s, .dead = NULL };
	struct hit hits[3];

	(void)state;
	assert_int_equal(index_search(&part, 1, STR("paint a sunrise"), NULL, hits, 3, NULL), 3);
	assert_int_equal(hits[2].key, 3);
	segment_unref(s);
}

/* A vector that has one number, at some place; two of them have nothing to do with each other, or everything. */
static struct vector direction(size_t place)
{
	struct vector v = { .scale = 1.0F / 127 };

	v.bytes[place] = 127;
	return v;
}

/* A document without a single word of the query comes first if it stands out as the closest; one without a vector is
 * found by its words as ever; a dead one is close to nothing. */
static void what_is_close_is_found_without_words(void **state)
{
	enum { DOCS = 40, CLOSE = 7, BARE = 9, DEAD = 11 };
	struct segment_doc docs[DOCS];
	struct vector vectors[DOCS], query = direction(1);
	uint32_t slots[DOCS];
	uint8_t dead[DOCS / 8 + 1] = { 0 };
	struct segment *s;
	struct index_part part;
	struct hit hits[DOCS];
	size_t n;

	(void)state;
	for (size_t i = 0; i < DOCS; i++) {
		docs[i] = (struct segment_doc){ .key = (int64_t)i,
			.text = i % 2 ? STR("alpha beta") : STR("gamma delta") };
		vectors[i] = direction(i == CLOSE || i == DEAD ? 1 : 10 + i);
		slots[i] = i == BARE ? NO_VECTOR : (uint32_t)i;
	}
	s = segment_with(docs, DOCS);
	dead[DEAD / 8] = 1 << DEAD % 8;
	part = (struct index_part){ .segment = s,
		.dead = dead,
		.vectors = { (const char *)vectors, sizeof vectors[0], slots } };
	n = index_search(&part, 1, STR("gamma"), &query, hits, DOCS, NULL);
	assert_int_equal(hits[0].key, CLOSE);
	assert_true(hits[0].encoded && hits[0].close > 3 && hits[0].score > hits[1].score);
	for (size_t i = 1; i < n; i++)
		assert_int_not_equal(hits[i].key, DEAD);
	n = index_search(&part, 1, STR("beta"), &query, hits, DOCS, NULL);
	for (size_t i = 0; i < n; i++)
		if (hits[i].key == BARE)
			assert_true(!hits[i].encoded && hits[i].score > 0);
	/* Too few vectors say nothing, and neither does a query without a word. */
	for (size_t i = 2; i < DOCS; i++)
		slots[i] = NO_VECTOR;
	assert_int_equal(index_search(&part, 1, STR("unknown"), &query, hits, DOCS, NULL), 0);
	assert_int_equal(index_search(&part, 1, STR(""), &(struct vector){ 0 }, hits, DOCS, NULL), 0);
	segment_unref(s);
}

static void several_segments_are_one_index(void **state)
{
	static const struct segment_doc a[] = { { .key = 1, .text = { "red apple", 9 } } },
					b[] = { { .key = 2, .text = { "green apple tree", 16 } },
						{ .key = 3, .text = { "red car", 7 } } };
	struct segment *s = segment_with(a, 1), *t = segment_with(b, 2);
	struct index_part parts[] = { { .segment = s, .dead = NULL }, { .segment = t, .dead = NULL } };
	struct hit hits[2];

	(void)state;
	assert_int_equal(index_search(parts, 2, STR("red apple"), NULL, hits, 2, NULL), 2);
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
	assert_int_equal(
		index_search(&(struct index_part){ .segment = s, .dead = NULL }, 1, STR("two"), NULL, &hit, 1, NULL),
		1);
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

/* The same bytes as if they had been built together, but for the moment. */
static void merged_segments_are_as_if_built_at_once(void **state)
{
	static const char *const texts[] = { "the zebra eats grass", "parse_line reads a line", "zebra zebra grass",
		"dead text that nobody finds", "lines of grass_parser" };
	struct segment_doc docs[5], live[4];
	struct segment *parts[2];
	const uint8_t third[] = { 1 << 1 }, *dead[] = { NULL, third };
	struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20), merged = BUF_INIT(1 << 20), whole = BUF_INIT(1 << 20);
	(void)state;

	for (int i = 0; i < 5; i++)
		docs[i] = (struct segment_doc){ .key = 10 + i,
			.title = STR("a/path.c"),
			.text = str_of(texts[i]),
			.title_times = 2 };
	/* The later keys first: merging puts them in order. */
	segment_build(docs + 2, 3, 1, &a);
	segment_build(docs, 2, 2, &b);
	memcpy(live, docs, 3 * sizeof docs[0]);
	live[3] = docs[4];
	segment_build(live, 4, 7, &whole);
	parts[0] = segment_from(&b);
	parts[1] = segment_from(&a);
	segment_merge(parts, dead, 2, 7, &merged);
	assert_int_equal(merged.len, whole.len);
	assert_memory_equal(merged.p, whole.p, whole.len);
	segment_unref(parts[0]);
	segment_unref(parts[1]);
	buf_release(&merged);
	buf_release(&whole);
}

static void a_title_may_count_twice(void **state)
{
	struct segment_doc docs[] = {
		{ .key = 1, .title = STR("x"), .text = STR("walrus and others of its kind here") },
		{ .key = 2, .title = STR("walrus"), .text = STR("others and more of its kind here"), .title_times = 2 }
	};
	struct buf b = BUF_INIT(1 << 20);
	struct index_part part = { 0 };
	struct hit hits[2];
	(void)state;

	segment_build(docs, 2, 1, &b);
	part.segment = segment_from(&b);
	assert_int_equal(index_search(&part, 1, STR("walrus"), NULL, hits, 2, NULL), 2);
	assert_int_equal(hits[0].key, 2);
	assert_int_equal(index_frequency(&part, 1, STR("walrus")), 2);
	assert_int_equal(index_frequency(&part, 1, STR("nowhere")), 0);
	segment_unref(part.segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_segments_are_as_if_built_at_once),
		cmocka_unit_test(a_title_may_count_twice),
		cmocka_unit_test(endings_are_cut),
		cmocka_unit_test(identifiers_are_whole_and_split),
		cmocka_unit_test(unspaced_scripts_are_found_by_pairs),
		cmocka_unit_test(any_bytes_are_a_text),
		cmocka_unit_test(the_best_comes_first),
		cmocka_unit_test(the_dead_are_not_found),
		cmocka_unit_test(neighbours_in_a_thread_help),
		cmocka_unit_test(what_is_close_is_found_without_words),
		cmocka_unit_test(several_segments_are_one_index),
		cmocka_unit_test(a_file_is_a_segment_and_damage_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
