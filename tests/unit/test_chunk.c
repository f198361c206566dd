/* chunk: languages, windows of lines, pieces by syntax trees. Cases that need grammars are skipped where there are none;
 * GRAMMARS names their folder. */
#include "test.h"

#include "base/utf8.h"
#include "chunk/internal.h"
#include "chunk/names.h"

static struct chunker *with_grammars, *without;
static struct arena arena;

static int open_all(void **state)
{
	(void)state;
	arena_init(&arena);
	with_grammars = chunker_new(getenv("GRAMMARS"));
	without = chunker_new(NULL);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	chunker_free(with_grammars);
	chunker_free(without);
	arena_release(&arena);
	return 0;
}

static void need_grammars(void)
{
	if (!chunker_grammars(with_grammars)[0]) {
		print_message("note: there are no grammars (tools/grammars.sh build/grammars)\n");
		skip();
	}
}

/* -- what holds for every text --------------------------------------------------------------------- */

/* Every line that is not blank is in exactly one chunk, unless something was cut; sizes are within their caps. */
static void check(str text, const struct chunks *all)
{
	unsigned line = 1;
	size_t chunk = 0;
	str rest = text, one;

	while (str_split(&rest, '\n', &one)) {
		while (chunk < all->n && line >= all->all[chunk].line + all->all[chunk].lines)
			chunk++;
		if (!all->cut && !line_is_blank(one)) {
			assert_true(chunk < all->n && line >= all->all[chunk].line);
			assert_true(one.p >= all->all[chunk].text.p &&
				one.p + one.n <= all->all[chunk].text.p + all->all[chunk].text.n);
		}
		line++;
	}
	for (size_t i = 0; i < all->n; i++) {
		const struct chunk *c = &all->all[i];

		assert_in_range(c->lines, 1, CHUNK_LINES_MAX);
		assert_in_range(c->text.n, 1, CHUNK_BYTES_MAX);
		assert_true(c->symbol.n <= CHUNK_SYMBOL_BYTES);
		assert_true(i == 0 || c->line >= c[-1].line + c[-1].lines);
	}
	for (size_t i = 0; i < all->nsymbols; i++) {
		const struct chunk_symbol *s = &all->symbols[i];

		assert_true(s->chunk < all->n && s->name.n > 0);
		assert_in_range(s->line, all->all[s->chunk].line,
			all->all[s->chunk].line + all->all[s->chunk].lines - 1);
	}
}

static struct chunks read_text(struct chunker *c, const char *language, str text)
{
	const struct language *l = language_find(str_of(language));
	struct chunks all;

	assert_non_null(l);
	chunker_read(c, l, text, false, &arena, &all);
	check(text, &all);
	return all;
}

/* A line for each chunk, with the names it defines. */
static str shape_of(const struct chunks *all)
{
	struct buf b = BUF_INIT(MIB(1));
	str ret;

	for (size_t i = 0; i < all->n; i++) {
		const struct chunk *c = &all->all[i];

		buf_addf(&b, "%u-%u %s", c->line, c->line + c->lines - 1, chunk_kind_name(c->kind));
		if (str_is_set(c->symbol))
			buf_addf(&b, " " STR_FMT, STR_ARG(c->symbol));
		for (size_t k = 0; k < all->nsymbols; k++)
			if (all->symbols[k].chunk == i)
				buf_addf(&b, "%s" STR_FMT "@%u%c", k && all->symbols[k - 1].chunk == i ? " " : ": ",
					STR_ARG(all->symbols[k].name), all->symbols[k].line,
					chunk_kind_name(all->symbols[k].kind)[0]);
		buf_add_char(&b, '\n');
	}
	ret = arena_str(&arena, buf_str(&b));
	buf_release(&b);
	return ret;
}

/* -- languages ------------------------------------------------------------------------------------- */

static void a_name_says_the_language(void **state)
{
	static const struct {
		const char *path, *head, *name, *fence;
	} rows[] = {
		{ "a/b.py", "", "python", "python" },
		{ "x.d.ts", "", "typescript", "typescript" },
		{ "x.TSX", "", "tsx", "typescript" },
		{ "x.jsx", "", "javascript", "javascript" },
		{ "a.h", "int f(void);\n", "c", "c" },
		{ "a.h", "#pragma once\nnamespace a {\n", "cpp", "cpp" },
		{ "lib/Rakefile", "", "ruby", "ruby" },
		{ "Makefile", "", "make", "makefile" },
		{ "Makefile.am", "", "make", "makefile" },
		{ "Dockerfile.dev", "", "dockerfile", "dockerfile" },
		{ "CMakeLists.txt", "", "cmake", "cmake" },
		{ "k.kt", "", "kotlin", "kotlin" },
		{ "q.sql", "", "sql", "sql" },
		{ "bin/run", "#!/usr/bin/env -S python3.11 -u\nx\n", "python", "python" },
		{ "bin/run", "#! /bin/sh -e\n", "bash", "bash" },
		{ "bin/run", "#!/usr/bin/env FOO=1 node", "javascript", "javascript" },
		{ "bin/run", "no script", "text", "text" },
		{ ".profile", "", "bash", "bash" },
		{ "README", "", "text", "text" },
		{ "", "", "text", "text" },
		{ "a.", "", "text", "text" },
		{ "dir.py/", "", "text", "text" },
	};

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		const struct language *l = language_of(str_of(rows[i].path), str_of(rows[i].head));

		assert_string_equal(language_name(l), rows[i].name);
		assert_string_equal(language_fence(l), rows[i].fence);
		assert_ptr_equal(language_find(str_of(rows[i].name)), l);
	}
	assert_null(language_find(STR("klingon")));
}

/* Two languages that claim the same ending would depend on the order of the table. */
static void nothing_is_two_languages(void **state)
{
	(void)state;
	for (size_t i = 0; i < nlanguages; i++) {
		str rest = str_of(languages[i].endings), ending;

		while (str_split(&rest, ' ', &ending)) {
			str path = arena_strf(&arena, "x." STR_FMT, STR_ARG(ending));

			if (!str_empty(ending))
				assert_string_equal(language_name(language_of(path, STR(""))), languages[i].name);
		}
	}
}

static void a_path_says_what_kind_of_file_it_is(void **state)
{
	static const struct {
		const char *path;
		enum file_class class;
	} rows[] = {
		{ "src/a.c", FILE_CODE },
		{ "src/contest.py", FILE_CODE },
		{ "src/latest/a.py", FILE_CODE },
		{ "Test.java", FILE_CODE },
		{ "tests/a.py", FILE_TEST },
		{ "pkg/__tests__/a.js", FILE_TEST },
		{ "a/test_a.py", FILE_TEST },
		{ "a/a_test.go", FILE_TEST },
		{ "a/a.spec.ts", FILE_TEST },
		{ "a/ATest.java", FILE_TEST },
		{ "tests/data.json", FILE_TEST },
		{ "tests/README.md", FILE_DOCS },
		{ "docs/a.rst", FILE_DOCS },
		{ "docs/conf.py", FILE_CODE },
		{ "package.json", FILE_CONFIG },
		{ "Dockerfile", FILE_CONFIG },
		{ "a.toml", FILE_CONFIG },
		{ "app/locales/de.json", FILE_I18N },
		{ "po/de.po", FILE_I18N },
		{ "src/i18n/load.ts", FILE_CODE },
	};

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		str path = str_of(rows[i].path);
		enum file_class class = file_class_of(path, language_of(path, STR("")));

		if (class != rows[i].class)
			fail_msg("%s is %s", rows[i].path, file_class_name(class));
	}
}

static void names_have_dots(void **state)
{
	static const struct {
		const char *text, *qualified, *last;
	} rows[] = {
		{ "f", "f", "f" },
		{ "*f(int)", "f", "f" },
		{ "Buffer<pair<int, int>>::next", "Buffer.next", "next" },
		{ "A::~A", "A.~A", "~A" },
		{ "A::operator+=", "A.operator+=", "operator+=" },
		{ "Foo.prototype.bar", "Foo.prototype.bar", "bar" },
		{ "Stack<T>", "Stack", "Stack" },
		{ "empty?", "empty?", "empty?" },
		{ "do-it", "do-it", "do-it" },
		{ "x = 5", "x", "x" },
		{ "'quoted'", "quoted", "quoted" },
		{ "größe", "größe", "größe" },
		{ "a, b", NULL, NULL },
		{ "{ a, b }", NULL, NULL },
		{ "\xff\xfe", NULL, NULL },
		{ "", NULL, NULL },
	};
	str qualified, last;

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		bool is_name = name_identifier(str_of(rows[i].text), &arena, &qualified, &last);

		assert_int_equal(is_name, rows[i].qualified != NULL);
		if (is_name) {
			assert_str(qualified, str_of(rows[i].qualified));
			assert_str(last, str_of(rows[i].last));
		}
	}
	assert_str(name_receiver(STR("(s *Server[T])")), STR("Server"));
	assert_str(name_receiver(STR("(Server)")), STR("Server"));
	assert_true(name_plain(STR(" \"a b\"\nc"), &last));
	assert_str(last, STR("\"a b\""));
	assert_true(name_plain(STR("'on'"), &last));
	assert_str(last, STR("on"));
}

/* -- windows of lines ------------------------------------------------------------------------------ */

static str repeat(const char *line, unsigned n)
{
	struct buf b = BUF_INIT(MIB(256));
	str ret;

	for (unsigned i = 0; i < n; i++)
		buf_addf(&b, "%s", line);
	ret = arena_str(&arena, buf_str(&b));
	buf_release(&b);
	return ret;
}

static void windows_break_where_the_text_does(void **state)
{
	struct chunks all;
	str text;

	(void)state;
	/* 40 lines, a blank one, 30 lines: there is one good place. */
	text = arena_strf(&arena, STR_FMT "\n" STR_FMT, STR_ARG(repeat("word\n", 40)), STR_ARG(repeat("word\n", 30)));
	all = read_text(without, "text", text);
	assert_str(shape_of(&all), STR("1-40 lines\n42-71 lines\n"));
	/* The line that is out farthest begins the second one; the comment above it goes with it. */
	text = arena_strf(&arena, STR_FMT "  # about\nnext:\n" STR_FMT, STR_ARG(repeat("\tword\n", 44)),
		STR_ARG(repeat("\tword\n", 30)));
	all = read_text(without, "make", text);
	assert_str(shape_of(&all), STR("1-44 lines\n45-76 lines\n"));
	assert_false(all.by_grammar);
	assert_int_equal(all.nsymbols, 0);
}

static void small_texts_are_one_chunk_and_blank_ones_none(void **state)
{
	struct chunks all;

	(void)state;
	all = read_text(without, "text", STR("\n\n  one\n\n\ntwo\n\n"));
	assert_str(shape_of(&all), STR("3-6 lines\n"));
	assert_str(all.all[0].text, STR("  one\n\n\ntwo"));
	assert_int_equal(read_text(without, "text", STR("")).n, 0);
	assert_int_equal(read_text(without, "text", STR_NONE).n, 0);
	assert_int_equal(read_text(without, "text", STR("\n \t\r\n\f\n")).n, 0);
	assert_int_equal(read_text(without, "text", STR("no end of line")).n, 1);
}

static void long_lines_stand_alone_and_are_cut(void **state)
{
	str text = arena_strf(&arena, "before\n" STR_FMT "\nafter\n", STR_ARG(repeat("ä", 5000)));
	struct chunks all = read_text(without, "text", text);

	(void)state;
	assert_str(shape_of(&all), STR("1-1 lines\n2-2 lines\n3-3 lines\n"));
	assert_int_equal(all.all[1].text.n, CHUNK_BYTES_MAX);
	assert_true(utf8_valid(all.all[1].text));
	assert_true(all.cut);
	/* Lines of 100 bytes: bytes are the limit, not lines. */
	text = repeat("012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
		      "6789\n",
		200);
	all = read_text(without, "text", text);
	assert_true(all.n >= 5 && !all.cut);
}

/* Whatever grammars there are: sizes are bounded, and so is the time. */
static void huge_texts_are_bounded(void **state)
{
	static const struct {
		const char *language, *piece;
		unsigned times;
	} rows[] = {
		{ "javascript", "x", 20000000 },
		{ "text", "\n", 20000000 },
		{ "text", "a\n", 1000000 },
		{ "json", "[", 100000 },
		{ "json", "{\"a\":\n", 100000 },
		{ "javascript", "(", 100000 },
		{ "javascript", "{\n", 100000 },
		{ "python", "if x:\n", 100000 },
		{ "c", "{(", 100000 },
		{ "c", "int a;\n", 100000 },
		{ "cpp", "namespace a {\n", 20000 },
		{ "cpp", "a<", 50000 },
		{ "yaml", "- ", 50000 },
		{ "yaml", "a:\n", 50000 },
		{ "markdown", "> ", 20000 },
		{ "markdown", "# a\n", 50000 },
		{ "bash", "$(", 50000 },
		{ "ruby", "class A\n", 20000 },
		{ "rust", "mod a {\n", 20000 },
		{ "go", "func(){", 20000 },
		{ "typescript", "class A { x = ", 20000 },
	};

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		struct chunks all = read_text(with_grammars, rows[i].language, repeat(rows[i].piece, rows[i].times));

		assert_true(all.n <= CHUNKS_MAX);
		arena_reset(&arena);
	}
}

/* -- pieces by the tree ---------------------------------------------------------------------------- */

struct sample {
	const char *language, *text, *shape;
};

static void check_samples(const struct sample *rows, size_t n)
{
	need_grammars();
	for (size_t i = 0; i < n; i++) {
		struct chunks all = read_text(with_grammars, rows[i].language, str_of(rows[i].text));
		str shape = shape_of(&all);

		if (!all.by_grammar)
			fail_msg("%s: there is no grammar", rows[i].language);
		if (!str_eq(shape, str_of(rows[i].shape)))
			fail_msg("%s, number %zu:\n" STR_FMT "is not\n%s", rows[i].language, i, STR_ARG(shape),
				rows[i].shape);
	}
}

#include "chunk_samples.h"

static void pieces_are_definitions(void **state)
{
	(void)state;
	check_samples(samples, countof(samples));
}

/* A class of methods that are too long for one chunk together, and one that is too long alone. */
static void large_types_are_a_head_and_members(void **state)
{
	struct chunks all;
	str text;

	(void)state;
	need_grammars();
	text = arena_strf(&arena,
		"class Big(Base):\n    x = 1\n\n"
		"    # About it.\n    @wrap\n    def short(self):\n" STR_FMT "\n"
		"    def long(self):\n" STR_FMT,
		STR_ARG(repeat("        self.x += 1\n", 30)),
		STR_ARG(repeat("        if self.x:\n            self.x = 2\n", 45)));
	all = read_text(with_grammars, "python", text);
	assert_str(shape_of(&all),
		STR("1-2 type Big: Big@1t x@2d\n"
		    "4-36 function Big.short: short@6f\n"
		    "38-84 function Big.long: long@38f\n"
		    "85-128 function Big.long\n"));
}

static void large_functions_are_cut_between_statements(void **state)
{
	struct chunks all;
	str text;

	(void)state;
	need_grammars();
	text = arena_strf(&arena, "static void *f(int n)\n{\n" STR_FMT "}\n",
		STR_ARG(repeat("\tfor (;;) {\n\t\tg(n);\n\t\th(n);\n\t}\n", 25)));
	all = read_text(with_grammars, "c", text);
	assert_int_equal(all.n, 2);
	for (size_t i = 0; i < all.n; i++) {
		assert_str(all.all[i].symbol, STR("f"));
		assert_int_equal(all.all[i].kind, CHUNK_FUNCTION);
		assert_true(str_ends(all.all[i].text, STR("}")));
	}
	assert_true(str_starts(all.all[1].text, STR("\tfor")));
}

static void keys_and_headings_qualify(void **state)
{
	struct chunks all;
	str text;

	(void)state;
	need_grammars();
	text = arena_strf(&arena,
		"{\n\"name\": 1,\n\"a.b\": {\n" STR_FMT "\"z\": 1\n},\n\"end\": {\n" STR_FMT "\"z\": 2\n}\n}\n",
		STR_ARG(repeat("\"k\": [\n1\n],\n", 25)), STR_ARG(repeat("\"k\": 2,\n", 30)));
	all = read_text(with_grammars, "json", text);
	assert_int_equal(all.n, 4);
	assert_str(all.all[1].symbol, STR("a.b"));
	assert_str(all.all[3].symbol, STR("end"));
	text = arena_strf(&arena, "# One\n\nintro\n\n## Two\n\n" STR_FMT "\n### Three\n\n" STR_FMT,
		STR_ARG(repeat("a\n\n", 15)), STR_ARG(repeat("b\n\n", 20)));
	all = read_text(with_grammars, "markdown", text);
	assert_str(shape_of(&all),
		STR("1-3 section One: One@1s\n"
		    "5-35 section One > Two: Two@5s\n"
		    "38-78 section One > Two > Three: Three@38s\n"));
}

static void plain_means_lines(void **state)
{
	const struct language *l = language_find(STR("python"));
	struct chunks all;

	(void)state;
	chunker_read(with_grammars, l, STR("def f():\n    pass\n"), true, &arena, &all);
	assert_false(all.by_grammar);
	assert_str(shape_of(&all), STR("1-2 lines\n"));
	assert_null(chunker_grammars(without)[0]);
}

/* Not one of them, a directory that is none, files that are no libraries. */
static void grammars_that_are_none_are_not_used(void **state)
{
	const char *dir = test_dir();
	struct chunker *c = chunker_new(dir);

	(void)state;
	assert_null(chunker_grammars(c)[0]);
	assert_false(read_text(c, "python", STR("x = 1\n")).by_grammar);
	chunker_free(c);
	test_write(test_path(dir, "runtime.so"), "no library", 10);
	test_write(test_path(dir, "python.so"), "no library", 10);
	c = chunker_new(dir);
	assert_string_equal(chunker_grammars(c)[0], "python");
	assert_false(read_text(c, "python", STR("x = 1\n")).by_grammar);
	assert_false(read_text(c, "python", STR("x = 1\n")).by_grammar);
	chunker_free(c);
	c = chunker_new("/dev/null");
	assert_false(read_text(c, "python", STR("x = 1\n")).by_grammar);
	chunker_free(c);
}

/* Bytes of all kinds, and samples with bytes changed, in every language. */
static void any_bytes_are_a_text(void **state)
{
	uint64_t seed = 7;
	char bytes[3000];

	(void)state;
	for (unsigned round = 0; round < 20; round++)
		for (size_t i = 0; i < nlanguages; i++) {
			size_t n = test_random(&seed) % sizeof bytes;

			for (size_t k = 0; k < n; k++)
				bytes[k] = (char)(round % 2 ? test_random(&seed)
							    : "\n \t(){}[]\"'#:;ab\0\xff"[test_random(&seed) % 18]);
			read_text(with_grammars, languages[i].name, str_n(bytes, n));
			arena_reset(&arena);
		}
	for (unsigned round = 0; round < 50; round++)
		for (size_t i = 0; i < countof(samples); i++) {
			size_t n = MIN(strlen(samples[i].text), sizeof bytes);

			memcpy(bytes, samples[i].text, n);
			for (unsigned k = 0; k < 1 + round % 8; k++)
				bytes[test_random(&seed) % n] = (char)test_random(&seed);
			read_text(with_grammars, samples[i].language, str_n(bytes, n));
			arena_reset(&arena);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_the_language),
		cmocka_unit_test(nothing_is_two_languages),
		cmocka_unit_test(a_path_says_what_kind_of_file_it_is),
		cmocka_unit_test(names_have_dots),
		cmocka_unit_test(windows_break_where_the_text_does),
		cmocka_unit_test(small_texts_are_one_chunk_and_blank_ones_none),
		cmocka_unit_test(long_lines_stand_alone_and_are_cut),
		cmocka_unit_test(pieces_are_definitions),
		cmocka_unit_test(large_types_are_a_head_and_members),
		cmocka_unit_test(large_functions_are_cut_between_statements),
		cmocka_unit_test(keys_and_headings_qualify),
		cmocka_unit_test(plain_means_lines),
		cmocka_unit_test(grammars_that_are_none_are_not_used),
		cmocka_unit_test(any_bytes_are_a_text),
		cmocka_unit_test(huge_texts_are_bounded),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
