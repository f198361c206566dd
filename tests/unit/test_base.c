/* base: strings, buffers, arenas, text encodings, keys, hashes, clocks, files, the log. */
#include "test.h"

#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
/* The file itself, so that the table can be held against the instruction. */
#include "base/crc32c.c"
#include "base/err.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/ulid.h"
#include "base/utf8.h"

/* -- str --------------------------------------------------------------------------------------- */

static void test_str_parts(void **state)
{
	str s = STR("abcabc");

	assert_true(str_starts(s, STR("abc")) && str_ends(s, STR("bc")));
	assert_false(str_starts(STR("ab"), STR("abc")) || str_ends(STR("bc"), STR("abc")));
	assert_true(str_starts(STR_NONE, STR("")) && str_ends(STR_NONE, STR_NONE));
	assert_str(str_from(s, 4), STR("bc"));
	assert_int_equal(str_from(s, 7).n, 0);
	assert_str(str_head(s, 2), STR("ab"));
	assert_str(str_head(s, 99), s);
	assert_int_equal(str_find(s, STR("ca")), 2);
	assert_int_equal(str_find(s, STR("x")), -1);
	assert_int_equal(str_find(s, STR("")), 0);
	assert_int_equal(str_find(STR_NONE, STR("a")), -1);
	assert_int_equal(str_find_char(s, 'c'), 2);
	assert_int_equal(str_find_char(STR_NONE, 'c'), -1);
	assert_str(str_trim(STR(" \t\r\na b\n")), STR("a b"));
	assert_int_equal(str_trim(STR(" \n ")).n, 0);
	assert_false(str_is_set(str_of(NULL)));
	assert_true(str_is_set(STR("")) && str_empty(STR_NONE) && str_eq(STR_NONE, STR("")));
}

static void test_str_names(void **state)
{
	assert_true(str_eq_nocase(STR("AbZ"), STR("aBz")));
	assert_false(str_eq_nocase(STR("a["), STR("A{")));
	assert_false(str_eq_nocase(STR("\xC3\x84"), STR("\xC3\xA4")));
	assert_true(str_eq_name(STR("PreToolUse"), STR("pre-tool_use")));
	assert_true(str_eq_name(STR("-_a-"), STR("A")));
	assert_true(str_eq_name(STR("--"), STR("")));
	assert_false(str_eq_name(STR("PreToolUse"), STR("PreToolUs")));
	assert_false(str_eq_name(STR("a b"), STR("ab")));
}

static void test_str_cut(void **state)
{
	str s = STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z");
	static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };

	for (size_t n = 0; n < countof(want); n++)
		assert_int_equal(str_cut_utf8(s, n).n, want[n]);
	assert_true(str_cut_utf8(STR("\x80\x80\x80"), 2).n <= 2);
}

static void test_str_to_int(void **state)
{
	static const char *const bad[] = { "", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "--1", "9223372036854775808",
		"-9223372036854775809", "99999999999999999999999", "\xD9\xA1" };
	int64_t v = 7;

	for (size_t i = 0; i < countof(bad); i++)
		assert_false(str_to_int(str_of(bad[i]), &v));
	assert_int_equal(v, 7);
	assert_false(str_to_int(STR_NONE, &v));
	assert_true(str_to_int(STR("9223372036854775807"), &v) && v == INT64_MAX);
	assert_true(str_to_int(STR("-9223372036854775808"), &v) && v == INT64_MIN);
	assert_true(str_to_int(STR("-0"), &v) && v == 0);
	assert_true(str_to_int(STR("007"), &v) && v == 7);
}

static void test_str_split(void **state)
{
	str rest = STR("a,,b,"), piece;
	const char *want[] = { "a", "", "b", "" };

	for (size_t i = 0; i < countof(want); i++) {
		assert_true(str_split(&rest, ',', &piece));
		assert_str(piece, str_of(want[i]));
	}
	assert_false(str_split(&rest, ',', &piece));
	rest = STR("");
	assert_true(str_split(&rest, ',', &piece) && piece.n == 0);
	assert_false(str_split(&rest, ',', &piece));
}

/* -- buf --------------------------------------------------------------------------------------- */

static void check_buf(const struct buf *b)
{
	assert_non_null(b->p);
	assert_int_equal(b->p[b->len], 0);
	assert_true(b->len <= b->max && (b->cap == 0 || b->len < b->cap));
}

static void test_plain_words_stay_in_their_line_and_frame(void **state)
{
	static const struct {
		const char *text, *plain;
		size_t most;
	} rows[] = {
		{ "as it is", "as it is", 100 },
		{ " a\n\r\tb\x01\x1b\x7f ", "a b", 100 },
		{ "</system-reminder>", "‹/system-reminder›", 100 },
		{ "a\u2028b\u2029c\xc2\x85"
		  "d é €",
			"a b c d é €", 100 },
		{ "one two", "one…", 4 },
		{ "äöü", "ä…", 3 },
		{ "", "", 3 },
	};

	for (size_t i = 0; i < countof(rows); i++) {
		struct buf b = BUF_INIT(1000);

		buf_add_str(&b, STR("x: "));
		assert_int_equal(buf_add_plain(&b, str_of(rows[i].text), rows[i].most), 0);
		assert_str(str_from(buf_str(&b), 3), str_of(rows[i].plain));
		buf_release(&b);
	}
	(void)state;
}

static void test_buf_invariants(void **state)
{
	struct buf b = BUF_INIT(100);
	uint64_t seed = 1;

	check_buf(&b);
	assert_int_equal(buf_add(&b, NULL, 0), 0);
	check_buf(&b);
	for (int i = 0; i < 20000; i++) {
		size_t before = b.len, n = test_random(&seed) % 40;
		static const char text[40] = "abcdefghijklmnopqrstuvwxyz0123456789ABCD";

		switch (test_random(&seed) % 6) {
		case 0: assert_int_equal(buf_add(&b, text, n), before + n > 100 ? -E2BIG : 0); break;
		case 1: assert_int_equal(buf_addf(&b, "%.*s", (int)n, text), before + n > 100 ? -E2BIG : 0); break;
		case 2: buf_consume(&b, n < b.len ? n : b.len); break;
		case 3: buf_add_char(&b, 'x'); break;
		case 4:
			if (buf_reserve(&b, n))
				buf_commit(&b, 0);
			break;
		default:
			if (test_random(&seed) % 8 == 0)
				buf_clear(&b);
			if (test_random(&seed) % 32 == 0)
				buf_release(&b);
		}
		check_buf(&b);
	}
	buf_release(&b);
}

static void test_buf_cap(void **state)
{
	struct buf b = BUF_INIT(8);

	assert_int_equal(buf_add_str(&b, STR("12345678")), 0);
	assert_false(b.full);
	assert_int_equal(buf_add_char(&b, '9'), -E2BIG);
	assert_true(b.full);
	assert_int_equal(buf_addf(&b, "%d", 10), -E2BIG);
	assert_str(buf_str(&b), STR("12345678"));
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_true(b.cap <= 9);
	buf_clear(&b);
	assert_false(b.full);
	assert_int_equal(buf_addf(&b, "%s", ""), 0);
	check_buf(&b);
	buf_release(&b);
	check_buf(&b);
	buf_init(&b, 0);
	assert_int_equal(buf_add_char(&b, 'x'), -E2BIG);
	assert_int_equal(buf_addf(&b, "%s", ""), 0);
	check_buf(&b);
	buf_release(&b);
}

static void test_buf_detach(void **state)
{
	struct buf b = BUF_INIT(64);
	size_t n = 1;
	char *p = buf_detach(&b, &n);

	assert_string_equal(p, "");
	assert_int_equal(n, 0);
	free(p);
	buf_add_str(&b, STR("kept"));
	p = buf_detach(&b, NULL);
	assert_string_equal(p, "kept");
	assert_int_equal(b.len, 0);
	check_buf(&b);
	buf_add_str(&b, STR("again"));
	assert_string_equal(p, "kept");
	free(p);
	buf_release(&b);
}

/* -- arena and alloc --------------------------------------------------------------------------- */

static void test_arena(void **state)
{
	struct arena a;
	uint64_t seed = 2;
	size_t first;
	char *bytes;
	str s;

	arena_init(&a);
	for (int i = 0; i < 3000; i++) {
		size_t n = test_random(&seed) % 300 + 1;
		unsigned char *p = arena_alloc(&a, n);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xFF, n);
		bytes = arena_bytes(&a, n % 7 + 1);
		memset(bytes, 0xEE, n % 7 + 1);
	}
	assert_true(a.total > 400000);
	memset(arena_bytes(&a, MIB(3)), 1, MIB(3));
	arena_reset(&a);
	first = a.total;
	assert_true(first <= 4096);
	s = arena_strf(&a, "%s-%d", "x", 5);
	assert_str(s, STR("x-5"));
	assert_int_equal(s.p[s.n], 0);
	assert_int_equal(a.total, first);
	assert_false(str_is_set(arena_str(&a, STR_NONE)));
	assert_true(str_is_set(arena_str(&a, STR(""))));
	assert_string_equal(arena_cstr(&a, STR_NONE), "");
	assert_string_equal(arena_cstr(&a, str_head(STR("abc"), 2)), "ab");
	arena_release(&a);
	assert_int_equal(a.total, 0);
	arena_reset(&a);
	arena_release(&a);
}

static void test_alloc(void **state)
{
	_cleanup_(freep) char *a = xstrdup("abc"), *b = xstrndup("abcdef", 2);
	_cleanup_(freep) unsigned char *z = xcalloc(3, 5);

	assert_string_equal(a, "abc");
	assert_string_equal(b, "ab");
	for (int i = 0; i < 15; i++)
		assert_int_equal(z[i], 0);
	a = xrealloc(a, 0);
	assert_non_null(a);
}

static void test_err(void **state)
{
	struct err e = { 0 };
	char big[1000];

	assert_int_equal(err_set(NULL, -EINVAL, "x"), -EINVAL);
	assert_int_equal(err_set_at(&e, -EBADMSG, 3, 4, "no %s", "way"), -EBADMSG);
	assert_int_equal(e.code, -EBADMSG);
	assert_true(e.line == 3 && e.col == 4);
	assert_string_equal(e.text, "no way");
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = 0;
	err_set(&e, -E2BIG, "%s", big);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	assert_int_equal(e.line, 0);
}

/* -- utf8 -------------------------------------------------------------------------------------- */

/* Unicode table 3-7 written down a second time, by value instead of by byte ranges. */
static bool well_formed(const unsigned char *p, size_t n)
{
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned c;

	if (n == 1)
		return p[0] < 0x80;
	if (n == 2)
		c = p[0] & 0x1Fu;
	else
		c = n == 3 ? p[0] & 0x0Fu : p[0] & 0x07u;
	if (n == 2 ? p[0] >> 5 != 6 : n == 3 ? p[0] >> 4 != 14 : p[0] >> 3 != 30)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return false;
		c = c << 6 | (p[i] & 0x3Fu);
	}
	return c >= least[n] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
}

static void test_utf8_exhaustive(void **state)
{
	unsigned char p[4];

	for (unsigned a = 0; a < 256; a++) {
		p[0] = (unsigned char)a;
		assert_int_equal(utf8_sequence(p, 1), well_formed(p, 1));
		for (unsigned b = 0; b < 256; b++) {
			size_t want = well_formed(p, 1) ? 1 : 0;

			p[1] = (unsigned char)b;
			if (!want && well_formed(p, 2))
				want = 2;
			assert_int_equal(utf8_sequence(p, 2), want);
			for (unsigned c = 0x7F; !want && c <= 0xC0; c++) {
				p[2] = (unsigned char)c;
				assert_int_equal(utf8_sequence(p, 3), well_formed(p, 3) ? 3 : 0);
				p[3] = (unsigned char)(c ^ 0x15);
				assert_int_equal(utf8_sequence(p, 4),
					well_formed(p, 3)           ? 3
						: well_formed(p, 4) ? 4
								    : 0);
			}
		}
	}
	assert_int_equal(utf8_sequence(p, 0), 0);
}

static void test_utf8_scalars(void **state)
{
	for (unsigned c = 0; c < 0x110010; c += c < 0x11000 ? 1 : 37) {
		char out[4];
		size_t n = utf8_encode(c, out);

		assert_int_equal(utf8_sequence((const unsigned char *)out, n), n);
		if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
			assert_memory_equal(out, "\xEF\xBF\xBD", 3);
	}
}

static void check_clean(str in, const char *want)
{
	struct buf b = BUF_INIT(4096);

	assert_int_equal(utf8_add_clean(&b, in), 0);
	assert_str(buf_str(&b), str_of(want));
	assert_true(utf8_valid(buf_str(&b)));
	buf_release(&b);
}

#define BAD "\xEF\xBF\xBD"

static void test_utf8_clean(void **state)
{
	struct buf tight = BUF_INIT(4);

	check_clean(STR("plain ascii, longer than eight"), "plain ascii, longer than eight");
	check_clean(STR("\x80"), BAD);
	check_clean(STR("a\xBFz"), "a" BAD "z");
	check_clean(STR("\xC3"), BAD);
	check_clean(STR("\xE2\x82"), BAD BAD);
	check_clean(STR("12345678\xF0\x9F\x98"), "12345678" BAD BAD BAD);
	check_clean(STR("\xC0\x80"), BAD BAD);
	check_clean(STR("\xC0\xAF"), BAD BAD);
	check_clean(STR("\xE0\x80\xAF"), BAD BAD BAD);
	check_clean(STR("\xED\xA0\x80"), BAD BAD BAD);
	check_clean(STR("\xF4\x90\x80\x80"), BAD BAD BAD BAD);
	check_clean(STR("\xFE\xFF"), BAD BAD);
	check_clean(STR("\xEF\xBB\xBF\xEF\xBF\xBF\xE2\x80\xAE"), "\xEF\xBB\xBF\xEF\xBF\xBF\xE2\x80\xAE");
	check_clean(STR_NONE, "");
	assert_int_equal(utf8_add_clean(&tight, STR("\x80\x80")), -E2BIG);
	buf_release(&tight);
	for (size_t at = 0; at < 20; at++) {
		char text[21] = "aaaaaaaaaaaaaaaaaaaa";

		text[at] = (char)0x9B;
		assert_int_equal(utf8_valid_prefix(str_n(text, 20)), at);
	}
}

/* -- ulid -------------------------------------------------------------------------------------- */

static void test_ulid_text(void **state)
{
	static const uint8_t ones[10] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 }, zero[10];
	struct ulid u = ulid_from(1469918176385, zero), back;
	char text[ULID_TEXT + 1];
	uint64_t seed = 3;

	/* The time part of the example in the ULID specification. */
	ulid_format(&u, text);
	assert_string_equal(text, "01ARYZ6S410000000000000000");
	u = ulid_from((INT64_C(1) << 48) - 1, ones);
	ulid_format(&u, text);
	assert_string_equal(text, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
	assert_true(ulid_parse(STR("7zzzzzzzzzzzzzzzzzzzzzzzzz"), &back) && ulid_eq(&u, &back));
	for (int i = 0; i < 2000; i++) {
		for (int k = 0; k < ULID_BYTES; k++)
			u.b[k] = (uint8_t)test_random(&seed);
		ulid_format(&u, text);
		assert_true(ulid_parse(str_of(text), &back));
		assert_true(ulid_eq(&u, &back));
	}
}

static void test_ulid_bad_text(void **state)
{
	static const char *const bad[] = { "", "01ARYZ6S41000000000000000", "01ARYZ6S4100000000000000000",
		"81ARYZ6S410000000000000000", "01ARYZ6S41000000000000000U", "01ARYZ6S41000000000000000I",
		"01ARYZ6S41000000000000000L", "01ARYZ6S41000000000000000O", "01ARYZ6S4100000000000000 0",
		"01ARYZ6S410000000000000/00",
		"\xC3"
		"1ARYZ6S410000000000000000" };
	struct ulid u;

	for (size_t i = 0; i < countof(bad); i++)
		assert_false(ulid_parse(str_of(bad[i]), &u));
	assert_false(ulid_parse(STR("01ARYZ6S4100000000000000\0"
				    "0"),
		&u));
	assert_false(ulid_parse(STR_NONE, &u));
}

static void test_ulid_sorts(void **state)
{
	static const uint8_t low[10] = { 0 }, high[10] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
	int64_t times[] = { 0, 1, 255, 256, 1 << 20, INT64_C(1) << 40, (INT64_C(1) << 48) - 1 };

	for (size_t i = 1; i < countof(times); i++) {
		struct ulid a = ulid_from(times[i - 1], high), b = ulid_from(times[i], low);
		char x[ULID_TEXT + 1], y[ULID_TEXT + 1];

		ulid_format(&a, x);
		ulid_format(&b, y);
		assert_true(memcmp(a.b, b.b, ULID_BYTES) < 0);
		assert_true(strcmp(x, y) < 0);
		assert_int_equal(ulid_ms(&b), times[i]);
	}
}

static void test_ulid_make(void **state)
{
	int64_t before = clock_wall_us() / 1000, after;
	struct ulid a = ulid_make(), b = ulid_make();

	after = clock_wall_us() / 1000;
	assert_false(ulid_eq(&a, &b));
	assert_in_range(ulid_ms(&a), before, after);
}

/* -- checksums --------------------------------------------------------------------------------- */

static void check_sha(const void *p, size_t n, const char *want)
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];

	for (size_t step = 1; step <= n + 1; step += step < 70 ? 1 : n) {
		struct sha256 s;

		sha256_init(&s);
		for (size_t at = 0; at < n; at += step)
			sha256_add(&s, (const char *)p + at, MIN(step, n - at));
		sha256_end(&s, digest);
		sha256_hex(digest, hex);
		assert_string_equal(hex, want);
	}
}

static void test_sha256(void **state)
{
	char a[200];

	check_sha("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_sha("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	/* Around the lengths where padding takes another block. */
	memset(a, 'a', sizeof a);
	check_sha(a, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	check_sha(a, 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
	check_sha(a, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
	check_sha(a, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	check_sha(a, 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
}

static void test_sha256_million(void **state)
{
	struct sha256 s;
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1], chunk[1000];

	memset(chunk, 'a', sizeof chunk);
	sha256_init(&s);
	for (int i = 0; i < 1000; i++)
		sha256_add(&s, chunk, sizeof chunk);
	sha256_end(&s, digest);
	sha256_hex(digest, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_crc32c_vectors(void **state)
{
	uint8_t p[32] = { 0 };

	/* RFC 3720, appendix B.4, and the usual check value. */
	assert_int_equal(crc32c(0, p, 32), 0x8A9136AA);
	memset(p, 0xFF, 32);
	assert_int_equal(crc32c(0, p, 32), 0x62A8AB43);
	for (int i = 0; i < 32; i++)
		p[i] = (uint8_t)i;
	assert_int_equal(crc32c(0, p, 32), 0x46DD794E);
	assert_int_equal(crc32c(0, "123456789", 9), 0xE3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
}

static void test_crc32c_same_everywhere(void **state)
{
	unsigned char p[300];
	uint64_t seed = 4;

	for (size_t i = 0; i < sizeof p; i++)
		p[i] = (unsigned char)test_random(&seed);
	for (size_t from = 0; from < 9; from++)
		for (size_t n = 0; from + n <= sizeof p; n += 1 + n / 16) {
			uint32_t start = test_random(&seed), mid = (uint32_t)n / 3;

			assert_int_equal(crc_best(start, p + from, n), crc_table(start, p + from, n));
			assert_int_equal(crc32c(crc32c(0, p + from, mid), p + from + mid, n - mid),
				crc32c(0, p + from, n));
		}
}

/* -- clock ------------------------------------------------------------------------------------- */

static void test_clock_parse(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-15T08:27:50.123Z", INT64_C(1794731270123000) },
		{ "2026-11-15T08:27:50.123456789Z", INT64_C(1794731270123456) },
		{ "2026-11-15 09:27:50+01:00", INT64_C(1794731270000000) },
		{ "2026-11-15T00:57:50-07:30", INT64_C(1794731270000000) },
		{ "2026-11-15T08:27:50", INT64_C(1794731270000000) },
		{ "2024-02-29T23:59:60Z", INT64_C(1709251200000000) },
		{ "1969-12-31T23:59:59.5Z", -500000 },
		{ "0000-03-01T00:00:00Z", INT64_C(-62162035200000000) },
	};
	static const char *const bad[] = { "", "2026", "2026-11-15", "2026-13-15T08:27:50Z", "2026-11-00T08:27:50Z",
		"2026-11-15T24:27:50Z", "2026-11-15T08:27:61Z", "2026-11-15T08:27:50X", "2026-11-15T08:27:50+0100",
		"2026/11/15T08:27:50Z", "2026-11-15T08:27:50+25:00", "-026-11-15T08:27:50Z" };
	int64_t us = 7;

	for (size_t i = 0; i < countof(good); i++) {
		assert_true(clock_parse(good[i].text, strlen(good[i].text), &us));
		assert_true(us == good[i].us);
	}
	us = 7;
	for (size_t i = 0; i < countof(bad); i++)
		assert_false(clock_parse(bad[i], strlen(bad[i]), &us));
	assert_int_equal(us, 7);
}

static void test_clock_format(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1, "1970-01-01T00:00:00.000Z" },
		{ -1000, "1969-12-31T23:59:59.999Z" },
		{ -1000000, "1969-12-31T23:59:59.000Z" },
		{ INT64_C(1794730070123456), "2026-11-15T08:07:50.123Z" },
		{ INT64_C(951782400000000), "2000-02-29T00:00:00.000Z" },
		{ INT64_C(4294967296000000), "2106-02-07T06:28:16.000Z" },
	};
	char out[CLOCK_TEXT];

	for (size_t i = 0; i < countof(rows); i++) {
		clock_format(rows[i].us, 0, out);
		assert_string_equal(out, rows[i].text);
	}
	/* Whatever a client claims fits the buffer. */
	clock_format(INT64_MAX, 0, out);
	assert_true(strlen(out) < CLOCK_TEXT);
	clock_format(INT64_MIN, 0, out);
	assert_true(strlen(out) < CLOCK_TEXT);
	setenv("TZ", "UTC", 1);
	tzset();
	clock_format(0, 1, out);
	assert_string_equal(out, "1970-01-01 00:00:00");
}

static void test_clock_age(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} rows[] = {
		{ -5, "0 ms" },
		{ 0, "0 ms" },
		{ 999999, "999 ms" },
		{ 3000000, "3 s" },
		{ 59999999, "59 s" },
		{ 60000000, "1 min" },
		{ INT64_C(7200000000), "2 h" },
		{ INT64_C(432000000000), "5 d" },
	};
	char out[CLOCK_TEXT];

	for (size_t i = 0; i < countof(rows); i++) {
		clock_format_age(rows[i].us, out);
		assert_string_equal(out, rows[i].text);
	}
}

/* -- fs ---------------------------------------------------------------------------------------- */

static int mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? -errno : (int)(st.st_mode & 07777);
}

static int private_dirs_under_umask(void *arg)
{
	const char *dir = arg;

	umask(0777);
	if (fs_private_dir(test_path(dir, "a/b/c")) < 0 || mode_of(test_path(dir, "a/b/c")) != 0700 ||
		mode_of(test_path(dir, "a")) != 0700)
		return 1;
	umask(0);
	if (fs_private_dir(test_path(dir, "d/e")) < 0 || mode_of(test_path(dir, "d/e")) != 0700 ||
		mode_of(test_path(dir, "d")) != 0700)
		return 2;
	return 0;
}

static void test_fs_private_dir(void **state)
{
	const char *dir = test_dir();
	char longest[FS_PATH + 8];

	assert_int_equal(test_child(private_dirs_under_umask, (void *)dir), 0);
	assert_int_equal(mkdir(test_path(dir, "open"), 0755), 0);
	assert_int_equal(fs_private_dir(test_path(dir, "open")), 0);
	assert_int_equal(mode_of(test_path(dir, "open")), 0700);
	test_write(test_path(dir, "file"), "", 0);
	assert_int_equal(fs_private_dir(test_path(dir, "file")), -ENOTDIR);
	assert_int_equal(fs_private_dir(test_path(dir, "file/below")), -ENOTDIR);
	assert_int_equal(symlink("open", test_path(dir, "link")), 0);
	assert_int_equal(fs_private_dir(test_path(dir, "link")), 0);
	assert_int_equal(symlink("nowhere", test_path(dir, "dangling")), 0);
	assert_true(fs_private_dir(test_path(dir, "dangling")) < 0);
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = 0;
	assert_int_equal(fs_private_dir(longest), -ENAMETOOLONG);
	assert_int_equal(fs_join((char[FS_PATH]){ 0 }, dir, longest), -ENAMETOOLONG);
}

static void test_fs_private_dir_of_another(void **state)
{
	const char *dir = test_dir();

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(test_path(dir, "theirs"), 0700), 0);
	assert_int_equal(chown(test_path(dir, "theirs"), 12345, 12345), 0);
	assert_int_equal(fs_private_dir(test_path(dir, "theirs")), -EPERM);
}

static void test_fs_read(void **state)
{
	const char *dir = test_dir(), *file = test_path(dir, "f");
	struct buf b = BUF_INIT(100000);
	char big[100001];

	memset(big, 'q', sizeof big);
	assert_int_equal(fs_read_file(file, &b), -ENOENT);
	test_write(file, "", 0);
	assert_int_equal(fs_read_file(file, &b), 0);
	assert_int_equal(b.len, 0);
	test_write(file, big, 100000);
	assert_int_equal(fs_read_file(file, &b), 0);
	assert_int_equal(b.len, 100000);
	assert_int_equal(fs_read_file(file, &b), -EFBIG);
	buf_clear(&b);
	test_write(file, big, 100001);
	assert_int_equal(fs_read_file(file, &b), -EFBIG);
	assert_int_equal(b.len, 0);
	assert_int_equal(fs_read_file(dir, &b), -EISDIR);
	assert_int_equal(mkfifo(test_path(dir, "fifo"), 0600), 0);
	assert_int_equal(fs_read_file(test_path(dir, "fifo"), &b), -EINVAL);
	assert_int_equal(fs_read_file("/dev/zero", &b), -EINVAL);
	/* A file of /proc says it is empty and is not. */
	assert_int_equal(fs_read_file("/proc/self/status", &b), 0);
	assert_true(b.len > 0);
	buf_release(&b);
	buf_init(&b, 16);
	assert_int_equal(fs_read_file("/proc/self/status", &b), -EFBIG);
	buf_release(&b);
}

static void count_entries(const char *dir, int want)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	assert_int_equal(n, want);
}

static void check_contents(const char *path, str want)
{
	struct buf b = BUF_INIT(1000);

	test_read(path, &b);
	assert_str(buf_str(&b), want);
	buf_release(&b);
}

static void test_fs_replace(void **state)
{
	const char *dir = test_dir();
	char file[FS_PATH];

	assert_int_equal(fs_join(file, dir, "f"), 0);
	assert_int_equal(fs_replace_file(file, STR("one"), true), 0);
	assert_int_equal(mode_of(file), 0600);
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(fs_replace_file(file, STR("two"), false), 0);
	assert_int_equal(mode_of(file), 0644);
	check_contents(file, STR("two"));
	assert_int_equal(fs_replace_file(file, STR_NONE, false), 0);
	check_contents(file, STR(""));
	assert_int_equal(fs_replace_file(test_path(dir, "no/such"), STR("x"), true), -ENOENT);
	assert_int_equal(mkdir(test_path(dir, "d"), 0700), 0);
	assert_true(fs_replace_file(test_path(dir, "d"), STR("x"), false) < 0);
	count_entries(dir, 2);
}

/* A full disk in the middle leaves the old file whole and nothing beside it. */
static int replace_without_room(void *arg)
{
	struct rlimit small = { 4096, 4096 };
	char big[8192];
	const char *dir = arg;
	int r;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	memset(big, 'x', sizeof big);
	r = fs_replace_file(test_path(dir, "f"), str_n(big, sizeof big), true);
	return r == -EFBIG ? 0 : 1;
}

static void test_fs_replace_full_disk(void **state)
{
	const char *dir = test_dir();

	test_write(test_path(dir, "f"), "old", 3);
	assert_int_equal(test_child(replace_without_room, (void *)dir), 0);
	check_contents(test_path(dir, "f"), STR("old"));
	count_entries(dir, 1);
}

static void test_fs_sizes(void **state)
{
	const char *dir = test_dir();
	struct fs_dir_look look;

	assert_true(fs_free_bytes(dir) > 0);
	assert_int_equal(fs_free_bytes(test_path(dir, "none")), -1);
	look = fs_look_at_dir(test_path(dir, "none"));
	assert_true(look.bytes == 0 && look.files == 0 && look.oldest_us == 0);
	test_write(test_path(dir, "a"), "12345", 5);
	test_write(test_path(dir, "b"), "123", 3);
	test_write(test_path(dir, ".hidden"), "1", 1);
	assert_int_equal(mkdir(test_path(dir, "sub"), 0700), 0);
	assert_int_equal(symlink("/etc/passwd", test_path(dir, "l")), 0);
	look = fs_look_at_dir(dir);
	assert_true(look.bytes == 8 && look.files == 2 && look.oldest_us > 0);
	assert_int_equal(fs_file_bytes(test_path(dir, "a")), 5);
	assert_int_equal(fs_file_bytes(test_path(dir, "none")), 0);
}

/* -- log --------------------------------------------------------------------------------------- */

static void test_log_levels(void **state)
{
	static const char *const bad[] = { "loud", "info,store", "store=loud", "shop=info", "=info", "info,", "" };
	struct err err;

	assert_int_equal(log_set_levels(STR("warn, store = DEBUG"), true, &err), 0);
	assert_true(log_wanted(LOG_STORE, LOG_DEBUG) && log_wanted(LOG_API, LOG_WARN));
	assert_false(log_wanted(LOG_API, LOG_INFO));
	for (size_t i = 0; i < countof(bad); i++) {
		err.text[0] = 0;
		assert_int_equal(log_set_levels(str_of(bad[i]), true, &err), -EINVAL);
		assert_true(err.text[0] != 0);
		assert_true(log_wanted(LOG_STORE, LOG_DEBUG));
	}
	assert_int_equal(log_set_levels(STR("error"), false, &err), 0);
	assert_true(log_wanted(LOG_STORE, LOG_DEBUG));
	assert_int_equal(log_set_levels(STR("info"), true, &err), 0);
	assert_false(log_wanted(LOG_STORE, LOG_DEBUG));
}

static void test_log_lines(void **state)
{
	const char *dir = test_dir();
	char file[FS_PATH], big[5000];
	struct buf b = BUF_INIT(100000);
	unsigned lines = 0;

	fs_join(file, dir, "hookd.log");
	log_write(LOG_API, LOG_INFO, "before log_open: goes nowhere");
	assert_int_equal(log_open(file, 0, false), 0);
	assert_int_equal(mode_of(file), 0600);
	log_write(LOG_ENGINE, LOG_INFO,
		"a\nb\x1b[31m\rc\x7f\x01 \xC3\xA4 \xC2\x9B"
		"31m");
	/* The cut falls into a run of three-byte characters. */
	for (size_t i = 0; i + 3 < sizeof big; i += 3)
		memcpy(big + i, "\xE2\x82\xAC", 4);
	log_write(LOG_STORE, LOG_WARN, "%s", big);
	log_debug(LOG_STORE, "not wanted");
	log_close();
	test_read(file, &b);
	for (size_t i = 0; i < b.len; i++) {
		unsigned char c = (unsigned char)b.p[i];

		lines += c == '\n';
		assert_true((c >= 0x20 || c == '\n') && c != 0x7F);
	}
	assert_int_equal(lines, 2);
	assert_true(utf8_valid(buf_str(&b)));
	assert_true(str_find(buf_str(&b), STR(" info  engine  a b [31m c")) > 0);
	assert_true(str_find(buf_str(&b), STR("\xC3\xA4")) > 0);
	assert_int_equal(str_find(buf_str(&b), STR("\xC2\x9B")), -1);
	assert_true(b.len < 2000 + 200);
	buf_release(&b);
}

static size_t size_of(const char *file)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return (size_t)st.st_size;
}

static void test_log_gathers(void **state)
{
	char file[FS_PATH];
	size_t size;

	fs_join(file, test_dir(), "hookd.log");
	assert_int_equal(log_open(file, 0, false), 0);
	log_gather();
	log_write(LOG_API, LOG_INFO, "one");
	assert_int_equal(size_of(file), 0);
	log_write(LOG_API, LOG_WARN, "two"); /* takes the first with it */
	size = size_of(file);
	assert_true(size > 60);
	for (int i = 0; i < 500; i++)
		log_write(LOG_API, LOG_INFO, "more than is gathered: %d", i);
	assert_true(size_of(file) > size);
	log_flush();
	size = size_of(file);
	log_write(LOG_API, LOG_INFO, "at once again");
	assert_true(size_of(file) > size);
	log_gather();
	log_write(LOG_API, LOG_INFO, "the last one");
	size = size_of(file);
	log_close();
	log_flush();
	assert_true(size_of(file) > size);
}

static void test_log_rotates(void **state)
{
	const char *dir = test_dir();
	char file[FS_PATH], old[FS_PATH];
	struct stat now, before;

	fs_join(file, dir, "hookd.log");
	fs_join(old, dir, "hookd.log.1");
	assert_int_equal(log_open(file, 1000, false), 0);
	for (int i = 0; i < 500; i++)
		log_write(LOG_API, LOG_INFO, "line %d of a storm", i);
	log_close();
	assert_int_equal(stat(file, &now), 0);
	assert_int_equal(stat(old, &before), 0);
	assert_true(now.st_size <= 1000 && before.st_size <= 1000 && before.st_size > 800);
	count_entries(dir, 2);
	/* Opened again it goes on where it was. */
	assert_int_equal(log_open(file, 1000000, false), 0);
	log_write(LOG_API, LOG_INFO, "one more");
	log_close();
	assert_int_equal(stat(file, &before), 0);
	assert_true(before.st_size > now.st_size);
}

static void test_log_no_link(void **state)
{
	const char *dir = test_dir();

	assert_int_equal(symlink("/tmp/elsewhere", test_path(dir, "l")), 0);
	assert_true(log_open(test_path(dir, "l"), 0, false) < 0);
	log_write(LOG_API, LOG_INFO, "nowhere");
	log_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_str_parts),
		cmocka_unit_test(test_str_names),
		cmocka_unit_test(test_str_cut),
		cmocka_unit_test(test_str_to_int),
		cmocka_unit_test(test_str_split),
		cmocka_unit_test(test_buf_invariants),
		cmocka_unit_test(test_plain_words_stay_in_their_line_and_frame),
		cmocka_unit_test(test_buf_cap),
		cmocka_unit_test(test_buf_detach),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_utf8_exhaustive),
		cmocka_unit_test(test_utf8_scalars),
		cmocka_unit_test(test_utf8_clean),
		cmocka_unit_test(test_ulid_text),
		cmocka_unit_test(test_ulid_bad_text),
		cmocka_unit_test(test_ulid_sorts),
		cmocka_unit_test(test_ulid_make),
		cmocka_unit_test(test_sha256),
		cmocka_unit_test(test_sha256_million),
		cmocka_unit_test(test_crc32c_vectors),
		cmocka_unit_test(test_crc32c_same_everywhere),
		cmocka_unit_test(test_clock_parse),
		cmocka_unit_test(test_clock_format),
		cmocka_unit_test(test_clock_age),
		cmocka_unit_test(test_fs_private_dir),
		cmocka_unit_test(test_fs_private_dir_of_another),
		cmocka_unit_test(test_fs_read),
		cmocka_unit_test(test_fs_replace),
		cmocka_unit_test(test_fs_replace_full_disk),
		cmocka_unit_test(test_fs_sizes),
		cmocka_unit_test(test_log_levels),
		cmocka_unit_test(test_log_lines),
		cmocka_unit_test(test_log_gathers),
		cmocka_unit_test(test_log_rotates),
		cmocka_unit_test(test_log_no_link),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
