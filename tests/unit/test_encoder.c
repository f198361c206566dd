/* encoder: words, numbers as the reference has them, damaged files. */
#include "test.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "encoder/internal.h"
#include "json/json.h"

static struct encoder *encoder;

static const char *in_source(const char *name, char path[FS_PATH])
{
	snprintf(path, FS_PATH, "%s/%s", getenv("SRCDIR"), name);
	return path;
}

static int open_weights(void **state)
{
	char path[FS_PATH];
	struct err err = { 0 };

	(void)state;
	if (encoder_open(in_source("data/encoder.bin", path), &encoder, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int close_weights(void **state)
{
	(void)state;
	encoder_close(encoder);
	return 0;
}

/* Every set of loops that this machine can run. */
static const struct kernels *const *all_kernels(size_t *ret)
{
	static const struct kernels *all[3] = { &kernels_portable };
	const struct kernels *here = kernels_of_this_machine();

	*ret = 1;
#if defined(__x86_64__)
	if (here != &kernels_portable)
		all[(*ret)++] = &kernels_avx2;
	if (here == &kernels_vnni)
		all[(*ret)++] = &kernels_vnni;
#endif
	return all;
}

/* -- against the reference ---------------------------------------------------------------------- */

/* Calls check for each row of the file that the reference program wrote: text, mode, ids, n, first16. */
static size_t each_row(void (*check)(const struct json *row, struct encoder_work *w), struct encoder_work *w,
	size_t max)
{
	_cleanup_(buf_release) struct buf text = BUF_INIT(MIB(1));
	char path[FS_PATH];
	struct arena a;
	str rest, line;
	size_t n = 0;

	assert_int_equal(fs_read_file(in_source("tests/golden/encoder_vectors.jsonl", path), &text), 0);
	arena_init(&a);
	for (rest = buf_str(&text); n < max && str_split(&rest, '\n', &line) && line.n; n++) {
		struct json *row;

		assert_int_equal(json_parse(&a, line, 0, &row, NULL), 0);
		check(row, w);
	}
	arena_release(&a);
	return n;
}

static enum encoder_mode mode_of(const struct json *row)
{
	return str_eq(json_str(json_get(row, STR("mode"))), STR("q")) ? ENCODE_QUERY : ENCODE_DOCUMENT;
}

static double number_of(const struct json *v)
{
	char text[64];

	snprintf(text, sizeof text, STR_FMT, STR_ARG(v->text));
	return strtod(text, NULL);
}

static void check_tokens(const struct json *row, struct encoder_work *w)
{
	enum encoder_mode mode = mode_of(row);
	uint16_t ids[TOKENS_MAX];
	str text = json_str(json_get(row, STR("text")));
	size_t n = encoder_tokens(encoder, mode, text, ids, mode == ENCODE_QUERY ? 40 : 160), i = 0;

	(void)w;
	json_each(id, json_get(row, STR("ids"))) {
		if (i < n && (double)ids[i] != number_of(id))
			fail_msg("token %zu of '" STR_FMT "' is %u, not %g", i, STR_ARG(text), ids[i], number_of(id));
		i++;
	}
	assert_int_equal((int)number_of(json_get(row, STR("n"))), n);
}

static void words_are_those_of_the_reference(void **state)
{
	(void)state;
	assert_true(each_row(check_tokens, NULL, SIZE_MAX) >= 50);
}

static void check_vector(const struct json *row, struct encoder_work *w)
{
	str text = json_str(json_get(row, STR("text")));
	float got[ENCODER_DIMENSIONS];
	size_t i = 0;

	if (str_empty(text))
		return; /* the reference encodes the mark alone; here it is close to nothing */
	encoder_encode_exactly(encoder, w, mode_of(row), text, got);
	json_each(want, json_get(row, STR("first16"))) {
		if (fabs(got[i] - number_of(want)) > .004)
			fail_msg("%s: number %zu of '" STR_FMT "' is %.5f, not %.5f", w->kernels->name, i,
				STR_ARG(text), (double)got[i], number_of(want));
		i++;
	}
	assert_int_equal(i, 16);
}

static void vectors_are_those_of_the_reference(void **state)
{
	_cleanup_(encoder_work_freep) struct encoder_work *w = encoder_work_new(encoder);
	size_t n;
	const struct kernels *const *all = all_kernels(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		/* The plain loops take long under the sanitizers. */
		size_t rows = i == 0 ? 6 : 50;

		w->kernels = all[i];
		assert_int_equal(each_row(check_vector, w, rows), rows);
	}
}

/* -- inner loops -------------------------------------------------------------------------------- */

static uint32_t random_state = 1;

static int8_t random_byte(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (int8_t)((int)(random_state >> 24) % 255 - 127);
}

enum { ROWS = 7, COLUMNS = 96, OUT = 32 };

/* The sums as a child would write them down. */
static void multiply_slowly(const struct matrix *m, const float *x, float by, float *ret)
{
	for (size_t t = 0; t < ROWS; t++)
		for (size_t r = 0; r < OUT; r++) {
			int32_t sum = 0;

			for (size_t k = 0; k < COLUMNS; k++)
				sum += (int32_t)lrintf(x[t * COLUMNS + k]) *
					m->bytes[(r / 8 * (COLUMNS / 4) + k / 4) * 32 + r % 8 * 4 + k % 4];
			ret[t * OUT + r] = by + (float)sum;
		}
}

/* Extremes included: 127 by 127 in every place is the largest sum there can be. */
static void all_loops_multiply_the_same(void **state)
{
	static int8_t weights[OUT * COLUMNS], bytes[ROWS * COLUMNS];
	static uint8_t unsigned_bytes[ROWS * COLUMNS];
	float scale[OUT], a_scale[ROWS], x[ROWS * COLUMNS], want[ROWS * OUT], got[ROWS * OUT];
	int32_t excess[OUT];
	struct matrix m = { OUT, COLUMNS, scale, excess, weights };
	struct activations a = { ROWS, COLUMNS, bytes, unsigned_bytes, a_scale, false };
	size_t n;
	const struct kernels *const *all = all_kernels(&n);

	(void)state;
	for (size_t i = 0; i < OUT; i++)
		scale[i] = 1;
	for (int round = 0; round < 200; round++) {
		a.positive = round % 3 == 0;
		memset(excess, 0, sizeof excess);
		for (size_t i = 0; i < sizeof weights; i++) {
			weights[i] = round < 8 ? (int8_t)(round & 1 ? 127 : -127) : random_byte();
			excess[i / (8 * COLUMNS) * 8 + i / 4 % 8] -= 128 * weights[i];
		}
		/* Each row has a 127, so its scale is 1. */
		for (size_t i = 0; i < countof(x); i++) {
			x[i] = i % COLUMNS == 5 ? 127 : round < 8 ? (round & 2 ? 127 : -127) : random_byte();
			x[i] = a.positive ? fabsf(x[i]) : x[i];
		}
		multiply_slowly(&m, x, (float)(round & 1), want);
		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < countof(got); k++)
				got[k] = 1;
			all[i]->quantize(x, &a);
			all[i]->multiply(&m, &a, got, round & 1);
			if (memcmp(want, got, sizeof want) != 0)
				fail_msg("%s multiplies otherwise in round %d", all[i]->name, round);
			assert_int_equal(all[0]->dot(weights, bytes, COLUMNS), all[i]->dot(weights, bytes, COLUMNS));
		}
	}
}

/* -- texts -------------------------------------------------------------------------------------- */

static struct vector vector_of(const char *text)
{
	_cleanup_(encoder_work_freep) struct encoder_work *w = encoder_work_new(encoder);
	struct vector v;

	encoder_encode(encoder, w, ENCODE_DOCUMENT, str_of(text), &v);
	return v;
}

static void what_means_the_same_is_close(void **state)
{
	struct vector leak = vector_of("fix the memory leak in the parser"),
		      also = vector_of("parser: free the buffer that was never released"),
		      other = vector_of("rotate the picture by ninety degrees");
	float scanned[2];
	struct vector both[] = { also, other };

	(void)state;
	assert_true(vector_cosine(&leak, &leak) > .99f && vector_cosine(&leak, &leak) < 1.01f);
	assert_true(vector_cosine(&leak, &also) > vector_cosine(&leak, &other) + .1f);
	vector_scan(&leak, both, 2, scanned);
	assert_true(scanned[0] == vector_cosine(&leak, &also) && scanned[1] == vector_cosine(&leak, &other));
}

static void texts_without_words_are_close_to_nothing(void **state)
{
	struct vector some = vector_of("some text"), none = vector_of(""),
		      marks = vector_of("... --- !!! \xE2\x80\x94");

	(void)state;
	assert_true(vector_cosine(&some, &none) == 0 && vector_cosine(&some, &marks) == 0);
}

/* A thread keeps its last query; which one that was must not show. */
static void a_query_is_the_same_whatever_was_asked_before(void **state)
{
	_cleanup_(encoder_work_freep) struct encoder_work *w = encoder_work_new(encoder);
	static const char *const asked[] = { "sort a list", "sort a list", "open a file", "sort a list", "",
		"open a file" };

	(void)state;
	for (size_t i = 0; i < countof(asked); i++) {
		struct vector fresh, got;

		encoder_encode(encoder, w, ENCODE_QUERY, str_of(asked[i]), &fresh);
		assert_int_equal(encoder_query(encoder, str_of(asked[i]), &got), asked[i][0] != 0);
		assert_memory_equal(&got, &fresh, sizeof fresh);
	}
}

static void any_bytes_are_a_text(void **state)
{
	_cleanup_(encoder_work_freep) struct encoder_work *w = encoder_work_new(encoder);
	static char text[1 << 20];
	uint16_t ids[TOKENS_MAX];

	(void)state;
	for (int round = 0; round < 3; round++) {
		float v[ENCODER_DIMENSIONS];

		for (size_t i = 0; i < sizeof text; i++)
			text[i] = round == 0 ? 'a' : round == 1 ? '\xFF' : (char)random_byte();
		encoder_encode_exactly(encoder, w, ENCODE_DOCUMENT, str_n(text, sizeof text), v);
		for (size_t i = 0; i < ENCODER_DIMENSIONS; i++)
			assert_true(isfinite(v[i]));
		assert_true(encoder_tokens(encoder, ENCODE_DOCUMENT, str_n(text, sizeof text), ids, 160) <= 160);
	}
	assert_int_equal(encoder_tokens(encoder, ENCODE_QUERY, STR("a b c"), ids, 2), 2);
	assert_int_equal(encoder_tokens(encoder, ENCODE_QUERY, STR("a b c"), ids, 0), 0);
}

/* -- damage ------------------------------------------------------------------------------------- */

static void write_at(const char *path, off_t at, unsigned char byte)
{
	int fd = open(path, O_WRONLY);

	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void assert_refused(const char *path, const char *why)
{
	struct encoder *e = NULL;
	struct err err = { 0 };

	if (encoder_open(path, &e, &err) != -EBADMSG || e || !strstr(err.text, "install hookd again"))
		fail_msg("%s is taken, or refused with '%s'", why, err.text);
}

/* A flipped bit anywhere in the head, and in places all over the body; a file that is cut off, or longer. */
static void damaged_files_are_refused(void **state)
{
	_cleanup_(buf_release) struct buf bytes = BUF_INIT(MIB(64));
	char path[FS_PATH], why[64], copy[] = "/tmp/hookd-encoder-XXXXXX";
	int fd = mkstemp(copy);
	struct encoder *e = NULL;

	(void)state;
	assert_int_equal(fs_read_file(in_source("data/encoder.bin", path), &bytes), 0);
	assert_int_equal(write(fd, bytes.p, bytes.len), (ssize_t)bytes.len);
	for (size_t at = 0; at < bytes.len; at += at < 64 ? 1 : bytes.len / 20) {
		write_at(copy, (off_t)at, (unsigned char)bytes.p[at] ^ 0x10);
		snprintf(why, sizeof why, "a file damaged at %zu", at);
		assert_refused(copy, why);
		write_at(copy, (off_t)at, (unsigned char)bytes.p[at]);
	}
	assert_int_equal(ftruncate(fd, (off_t)bytes.len + 64), 0);
	assert_refused(copy, "a longer file");
	for (size_t n = 0; n < bytes.len; n = n ? n * 5 : 1) {
		assert_int_equal(ftruncate(fd, (off_t)n), 0);
		assert_refused(copy, "a file that is cut off");
	}
	close(fd);
	unlink(copy);
	assert_int_equal(encoder_open(copy, &e, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_the_reference),
		cmocka_unit_test(vectors_are_those_of_the_reference),
		cmocka_unit_test(all_loops_multiply_the_same),
		cmocka_unit_test(what_means_the_same_is_close),
		cmocka_unit_test(texts_without_words_are_close_to_nothing),
		cmocka_unit_test(a_query_is_the_same_whatever_was_asked_before),
		cmocka_unit_test(any_bytes_are_a_text),
		cmocka_unit_test(damaged_files_are_refused),
	};

	return cmocka_run_group_tests(tests, open_weights, close_weights);
}
