/* memory: the files of vectors. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "retrieve/vectors.h"

static struct vector_record record_of(int64_t key, int64_t change, float scale)
{
	return (struct vector_record){ .key = key,
		.change = change,
		.text = (uint64_t)change,
		.vector = { .scale = scale } };
}

static float scale_of(const struct vectors *v, int64_t key)
{
	struct vector_map *map = vectors_map(v);
	uint32_t at = vectors_find(v, key);
	float scale = at == UINT32_MAX ? -1 : vector_map_records(map)[at].vector.scale;

	vector_map_unref(map);
	return scale;
}

static void append(struct vectors *v, int64_t key, int64_t change, float scale)
{
	struct vector_record r = record_of(key, change, scale);

	assert_int_equal(vectors_append(v, &r, 1), 0);
}

static void the_later_record_of_a_memory_counts(void **state)
{
	const char *path = test_path(test_dir(), "vectors");
	struct vectors *v = vectors_new(path, 1);

	(void)state;
	unlink(path);
	assert_int_equal(vectors_count(v), 0);
	assert_int_equal(vectors_find(v, 4), UINT32_MAX);
	assert_null(vectors_map(v));
	for (int64_t key = 0; key < 500; key++)
		append(v, 4 * key, key, (float)key);
	append(v, 40, 1000, 5000);
	assert_int_equal(vectors_count(v), 501);
	assert_int_equal(vectors_change(v), 1000);
	for (int64_t key = 0; key < 500; key++)
		assert_true(scale_of(v, 4 * key) == (key == 10 ? 5000 : (float)key));
	assert_true(scale_of(v, 41) == -1);
	vectors_free(v);
	/* And after a restart. */
	v = vectors_new(path, 1);
	assert_int_equal(vectors_count(v), 501);
	assert_int_equal(vectors_change(v), 1000);
	assert_true(scale_of(v, 40) == 5000 && scale_of(v, 44) == 11);
	vectors_free(v);
}

/* Whoever holds a map keeps what it had, though the file has grown and the owner has gone. */
static void a_map_stays_as_it_is(void **state)
{
	const char *path = test_path(test_dir(), "held");
	struct vectors *v = vectors_new(path, 1);
	struct vector_map *map;

	(void)state;
	append(v, 1, 1, 7);
	map = vectors_map(v);
	for (int64_t i = 2; i < 300; i++)
		append(v, i, i, 8);
	vectors_free(v);
	unlink(path);
	assert_true(vector_map_records(map)[0].key == 1 && vector_map_records(map)[0].vector.scale == 7);
	vector_map_unref(map);
}

static void other_weights_begin_anew(void **state)
{
	const char *path = test_path(test_dir(), "version");
	struct vectors *v = vectors_new(path, 1);

	(void)state;
	append(v, 1, 1, 1);
	vectors_free(v);
	v = vectors_new(path, 2);
	assert_int_equal(vectors_count(v), 0);
	assert_int_equal(access(path, F_OK), -1);
	append(v, 2, 2, 2);
	assert_true(vectors_count(v) == 1 && scale_of(v, 2) == 2);
	vectors_free(v);
}

/* A flipped bit anywhere, or a torn last record: what was before it stays, the rest is made again. */
static void damage_costs_what_comes_after_it(void **state)
{
	enum { RECORDS = 6 };
	const char *path = test_path(test_dir(), "damaged");
	const size_t head = 64, each = sizeof(struct vector_record);
	struct vectors *v;

	(void)state;
	for (size_t at = 0; at < head + RECORDS * each; at += at < head ? 5 : 31) {
		unsigned char byte;
		int fd;

		unlink(path);
		v = vectors_new(path, 1);
		for (int64_t i = 0; i < RECORDS; i++)
			append(v, i, i, 1);
		vectors_free(v);
		fd = open(path, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 0x20;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		close(fd);
		v = vectors_new(path, 1);
		if (at >= head)
			assert_int_equal(vectors_count(v), (at - head) / each);
		else
			assert_true(vectors_count(v) == 0 || vectors_count(v) == RECORDS);
		append(v, 100, 100, 3);
		assert_true(scale_of(v, 100) == 3);
		vectors_free(v);
		v = vectors_new(path, 1);
		assert_true(scale_of(v, 100) == 3);
		vectors_free(v);
	}
	v = vectors_new(path, 1);
	append(v, 7, 7, 7);
	vectors_free(v);
	assert_int_equal(truncate(path, (off_t)(head + each / 2)), 0);
	v = vectors_new(path, 1);
	assert_int_equal(vectors_count(v), 0);
	append(v, 8, 8, 8);
	assert_true(scale_of(v, 8) == 8);
	vectors_free(v);
}

static void texts_are_told_apart(void **state)
{
	(void)state;
	assert_true(vectors_hash(STR("a"), STR("b")) == vectors_hash(STR("a"), STR("b")));
	assert_true(vectors_hash(STR("a"), STR("b")) != vectors_hash(STR("a"), STR("c")));
	assert_true(vectors_hash(STR("text"), STR_NONE) != vectors_hash(STR("Text"), STR_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_later_record_of_a_memory_counts),
		cmocka_unit_test(a_map_stays_as_it_is),
		cmocka_unit_test(other_weights_begin_anew),
		cmocka_unit_test(damage_costs_what_comes_after_it),
		cmocka_unit_test(texts_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
