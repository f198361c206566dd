/* The languages: how their files are called, and which nodes of a syntax tree are pieces. */
#include "chunk/internal.h"

/* -- what the nodes of each grammar are ----------------------------------------------------------- */

static const struct node_rule python[] = {
	{ "function_definition", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "class_definition", ROLE_TYPE, FIELD_NAME, 0 },
	{ "type_alias_statement", ROLE_TYPE, FIELD_LEFT, 0 },
	{ "decorated_definition", ROLE_WRAP, FIELD_NONE, 0 },
	{ "expression_statement", ROLE_WRAP, FIELD_NONE, 0 },
	{ "assignment", ROLE_DATA, FIELD_LEFT, 0 },
	{ "lambda", ROLE_FUNCTION, FIELD_NONE, 0 },
	{ "block", ROLE_BODY, FIELD_NONE, 0 },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

/* TypeScript is JavaScript and more: names that a grammar does not have do no harm. */
static const struct node_rule javascript[] = {
	{ "function_declaration", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "generator_function_declaration", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "function_expression", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "generator_function", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "arrow_function", ROLE_FUNCTION, FIELD_NONE, 0 },
	{ "method_definition", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "function_signature", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "method_signature", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "abstract_method_signature", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "class_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "abstract_class_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "class", ROLE_TYPE, FIELD_NAME, 0 },
	{ "interface_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "type_alias_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "enum_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "enum_assignment", ROLE_DATA, FIELD_NAME, 0 },
	{ "internal_module", ROLE_SCOPE, FIELD_NAME, 0 },
	{ "module", ROLE_SCOPE, FIELD_NAME, 0 },
	{ "export_statement", ROLE_WRAP, FIELD_NONE, RULE_DEFAULT },
	{ "ambient_declaration", ROLE_WRAP, FIELD_NONE, 0 },
	{ "lexical_declaration", ROLE_WRAP, FIELD_NONE, 0 },
	{ "variable_declaration", ROLE_WRAP, FIELD_NONE, 0 },
	{ "variable_declarator", ROLE_DATA, FIELD_NAME, 0 },
	{ "expression_statement", ROLE_WRAP, FIELD_NONE, 0 },
	{ "assignment_expression", ROLE_ASSIGN, FIELD_LEFT, 0 },
	{ "pair", ROLE_ASSIGN, FIELD_KEY, 0 },
	{ "field_definition", ROLE_ASSIGN, FIELD_PROPERTY, 0 },
	{ "public_field_definition", ROLE_ASSIGN, FIELD_NAME, 0 },
	{ "class_body", ROLE_BODY, FIELD_NONE, 0 },
	{ "interface_body", ROLE_BODY, FIELD_NONE, 0 },
	{ "enum_body", ROLE_BODY, FIELD_NONE, 0 },
	{ "statement_block", ROLE_BODY, FIELD_NONE, 0 },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ "decorator", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

static const struct node_rule go[] = {
	{ "function_declaration", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "method_declaration", ROLE_FUNCTION, FIELD_NAME, RULE_RECEIVER },
	{ "func_literal", ROLE_FUNCTION, FIELD_NONE, 0 },
	{ "method_elem", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "type_declaration", ROLE_WRAP, FIELD_NONE, 0 },
	{ "type_spec", ROLE_TYPE, FIELD_NAME, 0 },
	{ "type_alias", ROLE_TYPE, FIELD_NAME, 0 },
	{ "interface_type", ROLE_BODY, FIELD_NONE, 0 },
	{ "const_declaration", ROLE_WRAP, FIELD_NONE, 0 },
	{ "const_spec", ROLE_DATA, FIELD_NAME, 0 },
	{ "var_declaration", ROLE_WRAP, FIELD_NONE, 0 },
	{ "var_spec_list", ROLE_WRAP, FIELD_NONE, 0 },
	{ "var_spec", ROLE_DATA, FIELD_NAME, 0 },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

static const struct node_rule rust[] = {
	{ "function_item", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "function_signature_item", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "macro_definition", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "closure_expression", ROLE_FUNCTION, FIELD_NONE, 0 },
	{ "struct_item", ROLE_TYPE, FIELD_NAME, 0 },
	{ "enum_item", ROLE_TYPE, FIELD_NAME, 0 },
	{ "union_item", ROLE_TYPE, FIELD_NAME, 0 },
	{ "trait_item", ROLE_TYPE, FIELD_NAME, 0 },
	{ "type_item", ROLE_TYPE, FIELD_NAME, 0 },
	{ "enum_variant", ROLE_DATA, FIELD_NAME, 0 },
	{ "const_item", ROLE_DATA, FIELD_NAME, 0 },
	{ "static_item", ROLE_DATA, FIELD_NAME, 0 },
	{ "impl_item", ROLE_SCOPE, FIELD_TYPE, 0 },
	{ "mod_item", ROLE_SCOPE, FIELD_NAME, RULE_NEEDS_BODY },
	{ "foreign_mod_item", ROLE_BODY, FIELD_NONE, 0 },
	{ "declaration_list", ROLE_BODY, FIELD_NONE, 0 },
	{ "enum_variant_list", ROLE_BODY, FIELD_NONE, 0 },
	{ "line_comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ "block_comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ "attribute_item", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

static const struct node_rule java[] = {
	{ "method_declaration", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "constructor_declaration", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "compact_constructor_declaration", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "annotation_type_element_declaration", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "lambda_expression", ROLE_FUNCTION, FIELD_NONE, 0 },
	{ "class_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "interface_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "enum_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "record_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "annotation_type_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "field_declaration", ROLE_DATA, FIELD_DECLARATOR, 0 },
	{ "constant_declaration", ROLE_DATA, FIELD_DECLARATOR, 0 },
	{ "enum_constant", ROLE_DATA, FIELD_NAME, 0 },
	{ "class_body", ROLE_BODY, FIELD_NONE, 0 },
	{ "interface_body", ROLE_BODY, FIELD_NONE, 0 },
	{ "enum_body", ROLE_BODY, FIELD_NONE, 0 },
	{ "enum_body_declarations", ROLE_BODY, FIELD_NONE, 0 },
	{ "annotation_type_body", ROLE_BODY, FIELD_NONE, 0 },
	{ "line_comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ "block_comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

/* C++ as well, which has all of C. */
static const struct node_rule c[] = {
	{ "function_definition", ROLE_FUNCTION, FIELD_DECLARATOR, 0 },
	{ "preproc_function_def", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "lambda_expression", ROLE_FUNCTION, FIELD_NONE, 0 },
	{ "struct_specifier", ROLE_TYPE, FIELD_NAME, RULE_NEEDS_BODY },
	{ "union_specifier", ROLE_TYPE, FIELD_NAME, RULE_NEEDS_BODY },
	{ "enum_specifier", ROLE_TYPE, FIELD_NAME, RULE_NEEDS_BODY },
	{ "class_specifier", ROLE_TYPE, FIELD_NAME, RULE_NEEDS_BODY },
	{ "type_definition", ROLE_TYPE, FIELD_DECLARATOR, 0 },
	{ "alias_declaration", ROLE_TYPE, FIELD_NAME, 0 },
	{ "concept_definition", ROLE_TYPE, FIELD_NAME, 0 },
	{ "namespace_definition", ROLE_SCOPE, FIELD_NAME, 0 },
	{ "template_declaration", ROLE_WRAP, FIELD_NONE, 0 },
	{ "declaration", ROLE_DATA, FIELD_DECLARATOR, 0 },
	{ "preproc_def", ROLE_DATA, FIELD_NAME, 0 },
	{ "enumerator", ROLE_DATA, FIELD_NAME, 0 },
	{ "function_declarator", ROLE_PROTOTYPE, FIELD_NONE, 0 },
	{ "parenthesized_declarator", ROLE_PAREN, FIELD_NONE, 0 },
	{ "field_declaration_list", ROLE_BODY, FIELD_NONE, 0 },
	{ "enumerator_list", ROLE_BODY, FIELD_NONE, 0 },
	{ "declaration_list", ROLE_BODY, FIELD_NONE, 0 },
	{ "linkage_specification", ROLE_BODY, FIELD_NONE, 0 },
	{ "preproc_if", ROLE_BODY, FIELD_NONE, 0 },
	{ "preproc_ifdef", ROLE_BODY, FIELD_NONE, 0 },
	{ "preproc_else", ROLE_BODY, FIELD_NONE, 0 },
	{ "preproc_elif", ROLE_BODY, FIELD_NONE, 0 },
	{ "preproc_elifdef", ROLE_BODY, FIELD_NONE, 0 },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

static const struct node_rule ruby[] = {
	{ "method", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "singleton_method", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "lambda", ROLE_FUNCTION, FIELD_NONE, 0 },
	{ "class", ROLE_TYPE, FIELD_NAME, 0 },
	{ "module", ROLE_TYPE, FIELD_NAME, 0 },
	{ "singleton_class", ROLE_BODY, FIELD_NONE, 0 },
	{ "assignment", ROLE_DATA, FIELD_LEFT, 0 },
	{ "body_statement", ROLE_BODY, FIELD_NONE, 0 },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

static const struct node_rule bash[] = {
	{ "function_definition", ROLE_FUNCTION, FIELD_NAME, 0 },
	{ "variable_assignment", ROLE_DATA, FIELD_NAME, 0 },
	{ "declaration_command", ROLE_WRAP, FIELD_NONE, 0 },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

static const struct node_rule markdown[] = {
	{ "section", ROLE_SECTION, FIELD_HEADING, RULE_PLAIN },
	{ 0 },
};

static const struct node_rule json[] = {
	{ "pair", ROLE_DATA, FIELD_KEY, RULE_PLAIN },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

static const struct node_rule yaml[] = {
	{ "block_mapping_pair", ROLE_DATA, FIELD_KEY, RULE_PLAIN },
	{ "flow_pair", ROLE_DATA, FIELD_KEY, RULE_PLAIN },
	{ "comment", ROLE_LEAD, FIELD_NONE, 0 },
	{ 0 },
};

/* -- the languages ------------------------------------------------------------------------------- */

/* Name and label, kind of file, endings, names of files, programs of scripts, comments, nodes, joint of names. The last
 * row is what everything else is. */
const struct language languages[] = {
	{ "python", "python", FILE_CODE, "py pyi pyw", "sconstruct sconscript wscript", "python pypy uv", "#", python,
		"." },
	{ "javascript", "javascript", FILE_CODE, "js jsx mjs cjs", "jakefile", "node nodejs bun", "//", javascript,
		"." },
	{ "typescript", "typescript", FILE_CODE, "ts mts cts", "", "deno ts-node tsx", "//", javascript, "." },
	{ "tsx", "typescript", FILE_CODE, "tsx", "", "", "//", javascript, "." },
	{ "go", "go", FILE_CODE, "go", "", "", "//", go, "." },
	{ "rust", "rust", FILE_CODE, "rs", "", "rust-script", "//", rust, "." },
	{ "java", "java", FILE_CODE, "java", "", "", "//", java, "." },
	{ "c", "c", FILE_CODE, "c h", "", "", "//", c, "." },
	{ "cpp", "cpp", FILE_CODE, "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp cu cuh", "", "", "//", c, "." },
	{ "ruby", "ruby", FILE_CODE, "rb rake gemspec ru podspec",
		"rakefile gemfile vagrantfile podfile fastfile brewfile", "ruby jruby", "#", ruby, "." },
	{ "bash", "bash", FILE_CODE, "sh bash zsh ksh bats ebuild", ".bashrc .bash_profile .profile .zshrc pkgbuild",
		"sh bash zsh ksh dash ash bats", "#", bash, "." },
	{ "markdown", "markdown", FILE_DOCS, "md markdown mdx mkd", "", "", NULL, markdown, " > " },
	{ "json", "json", FILE_CONFIG, "json jsonc json5 geojson webmanifest",
		".babelrc .eslintrc .prettierrc composer.lock", "", NULL, json, "." },
	{ "yaml", "yaml", FILE_CONFIG, "yaml yml", ".clang-format .clang-tidy", "", "#", yaml, "." },
	{ "kotlin", "kotlin", FILE_CODE, "kt kts", "", "kotlin", "//", NULL, "." },
	{ "sql", "sql", FILE_CODE, "sql ddl dml psql pgsql", "", "", "--", NULL, "." },
	{ "csharp", "csharp", FILE_CODE, "cs csx", "", "", "//", NULL, "." },
	{ "swift", "swift", FILE_CODE, "swift", "", "swift", "//", NULL, "." },
	{ "objective-c", "objectivec", FILE_CODE, "m mm", "", "", "//", NULL, "." },
	{ "php", "php", FILE_CODE, "php phtml php5", "", "php", "//", NULL, "." },
	{ "scala", "scala", FILE_CODE, "scala sc sbt", "", "scala", "//", NULL, "." },
	{ "groovy", "groovy", FILE_CODE, "groovy gradle", "jenkinsfile", "groovy", "//", NULL, "." },
	{ "dart", "dart", FILE_CODE, "dart", "", "dart", "//", NULL, "." },
	{ "lua", "lua", FILE_CODE, "lua", ".luacheckrc", "lua luajit", "--", NULL, "." },
	{ "perl", "perl", FILE_CODE, "pl pm t", "", "perl", "#", NULL, "." },
	{ "r", "r", FILE_CODE, "r", ".rprofile", "rscript", "#", NULL, "." },
	{ "julia", "julia", FILE_CODE, "jl", "", "julia", "#", NULL, "." },
	{ "haskell", "haskell", FILE_CODE, "hs lhs", "", "runhaskell", "--", NULL, "." },
	{ "elixir", "elixir", FILE_CODE, "ex exs", "", "elixir", "#", NULL, "." },
	{ "erlang", "erlang", FILE_CODE, "erl hrl", "", "escript", "%", NULL, "." },
	{ "clojure", "clojure", FILE_CODE, "clj cljs cljc edn", "", "", ";", NULL, "." },
	{ "ocaml", "ocaml", FILE_CODE, "ml mli", "", "ocaml", NULL, NULL, "." },
	{ "zig", "zig", FILE_CODE, "zig", "", "", "//", NULL, "." },
	{ "nim", "nim", FILE_CODE, "nim nims", "", "", "#", NULL, "." },
	{ "assembly", "asm", FILE_CODE, "s asm", "", "", "#", NULL, "." },
	{ "powershell", "powershell", FILE_CODE, "ps1 psm1", "", "pwsh", "#", NULL, "." },
	{ "batch", "bat", FILE_CODE, "bat cmd", "", "", "rem ", NULL, "." },
	{ "fish", "fish", FILE_CODE, "fish", "", "fish", "#", NULL, "." },
	{ "awk", "awk", FILE_CODE, "awk", "", "awk gawk mawk", "#", NULL, "." },
	{ "vue", "vue", FILE_CODE, "vue", "", "", NULL, NULL, "." },
	{ "svelte", "svelte", FILE_CODE, "svelte astro", "", "", NULL, NULL, "." },
	{ "html", "html", FILE_CODE, "html htm xhtml jinja j2 erb ejs hbs", "", "", NULL, NULL, "." },
	{ "css", "css", FILE_CODE, "css", "", "", NULL, NULL, "." },
	{ "scss", "scss", FILE_CODE, "scss sass less", "", "", "//", NULL, "." },
	{ "graphql", "graphql", FILE_CODE, "graphql gql", "", "", "#", NULL, "." },
	{ "protobuf", "protobuf", FILE_CODE, "proto", "", "", "//", NULL, "." },
	{ "hcl", "hcl", FILE_CONFIG, "tf tfvars hcl nomad", "", "", "#", NULL, "." },
	{ "nix", "nix", FILE_CONFIG, "nix", "", "", "#", NULL, "." },
	{ "make", "makefile", FILE_CONFIG, "mk mak", "makefile gnumakefile justfile", "make", "#", NULL, "." },
	{ "cmake", "cmake", FILE_CONFIG, "cmake", "cmakelists.txt", "", "#", NULL, "." },
	{ "meson", "meson", FILE_CONFIG, "", "meson.build meson_options.txt meson.options", "", "#", NULL, "." },
	{ "bazel", "python", FILE_CONFIG, "bzl bazel star", "build workspace", "", "#", NULL, "." },
	{ "dockerfile", "dockerfile", FILE_CONFIG, "dockerfile containerfile", "dockerfile containerfile", "", "#",
		NULL, "." },
	{ "toml", "toml", FILE_CONFIG, "toml", "pipfile cargo.lock poetry.lock", "", "#", NULL, "." },
	{ "ini", "ini", FILE_CONFIG, "ini cfg conf cnf properties service editorconfig env",
		".editorconfig .gitconfig .npmrc .gitignore .dockerignore .gitattributes .env", "", "#", NULL, "." },
	{ "xml", "xml", FILE_CONFIG, "xml xsd xsl xslt plist csproj vcxproj props svg", "", "", NULL, NULL, "." },
	{ "gettext", "po", FILE_I18N, "po pot", "", "", "#", NULL, "." },
	{ "strings", "text", FILE_I18N, "strings stringsdict xliff xlf arb resx ftl", "", "", NULL, NULL, "." },
	{ "csv", "csv", FILE_CONFIG, "csv tsv", "", "", NULL, NULL, "." },
	{ "restructuredtext", "rst", FILE_DOCS, "rst rest", "", "", NULL, NULL, "." },
	{ "asciidoc", "asciidoc", FILE_DOCS, "adoc asciidoc", "", "", NULL, NULL, "." },
	{ "tex", "latex", FILE_DOCS, "tex sty bib", "", "", "%", NULL, "." },
	{ "roff", "text", FILE_DOCS, "1 2 3 4 5 6 7 8 9 man", "", "", NULL, NULL, "." },
	{ "org", "org", FILE_DOCS, "org", "", "", NULL, NULL, "." },
	{ "text", "text", FILE_DOCS, "txt text log", "readme license copying authors changelog notice todo news", "",
		NULL, NULL, "." },
};

const size_t nlanguages = countof(languages);

/* -- which one a file is in ----------------------------------------------------------------------- */

/* Whether a list between blanks has a word. */
static bool has_word(const char *list, str word)
{
	str rest = str_of(list), one;

	if (str_empty(word))
		return false;
	while (str_split(&rest, ' ', &one))
		if (str_eq_nocase(one, word))
			return true;
	return false;
}

static str name_of(str path)
{
	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/')
			return str_from(path, i);
	return path;
}

/* What stands behind the last dot; nothing for .profile. */
static str ending_of(str name)
{
	for (size_t i = name.n; i > 1; i--)
		if (name.p[i - 1] == '.')
			return str_from(name, i);
	return STR("");
}

/* "python" of "#!/usr/bin/env -S python3.11 -u". */
static str program_of(str head)
{
	str line, word, rest = head;

	if (!str_starts(head, STR("#!")) || !str_split(&rest, '\n', &line))
		return STR("");
	rest = str_trim(str_from(line, 2));
	while (str_split(&rest, ' ', &word)) {
		word = name_of(str_trim(word));
		if (str_empty(word) || word.p[0] == '-' || str_find_char(word, '=') >= 0 || str_eq(word, STR("env")))
			continue;
		while (word.n > 1 &&
			(word.p[word.n - 1] == '.' || (word.p[word.n - 1] >= '0' && word.p[word.n - 1] <= '9')))
			word.n--;
		return word;
	}
	return STR("");
}

/* A header that C would not understand; only a look, for .h says nothing. */
static bool looks_like_cpp(str head)
{
	static const str signs[] = { STR("\nclass "), STR("\nnamespace "), STR("\ntemplate <"), STR("\ntemplate<"),
		STR("\nusing "), STR("std::"), STR("\npublic:"), STR("-*- C++ -*-") };

	for (size_t i = 0; i < countof(signs); i++)
		if (str_find(head, signs[i]) >= 0)
			return true;
	return false;
}

const struct language *language_of(str path, str head)
{
	str name = name_of(path), ending = ending_of(name), program;

	for (size_t i = 0; i < nlanguages; i++)
		if (has_word(languages[i].names, name))
			return &languages[i];
	/* Dockerfile.dev, Makefile.am */
	if (str_starts(name, STR("Dockerfile.")))
		return language_find(STR("dockerfile"));
	if (str_starts(name, STR("Makefile.")))
		return language_find(STR("make"));
	if (str_eq(ending, STR("h")) && looks_like_cpp(head))
		return language_find(STR("cpp"));
	for (size_t i = 0; i < nlanguages; i++)
		if (has_word(languages[i].endings, ending))
			return &languages[i];
	program = program_of(head);
	for (size_t i = 0; i < nlanguages; i++)
		if (has_word(languages[i].programs, program))
			return &languages[i];
	return &languages[nlanguages - 1];
}

const struct language *language_find(str name)
{
	for (size_t i = 0; i < nlanguages; i++)
		if (str_eq(str_of(languages[i].name), name))
			return &languages[i];
	return NULL;
}

const char *language_name(const struct language *l)
{
	return l->name;
}

const char *language_fence(const struct language *l)
{
	return l->fence;
}

/* -- what kind of file it is ---------------------------------------------------------------------- */

static const char test_folders[] = "test tests testing __tests__ __mocks__ spec specs testdata test_data fixtures e2e "
				   "testutil testutils androidtest unittests";
static const char i18n_folders[] = "locale locales i18n l10n lang langs translations translation";

static bool is_below(str path, const char *folders)
{
	str rest = path, part;

	while (str_split(&rest, '/', &part) && !str_empty(rest))
		if (has_word(folders, part))
			return true;
	return false;
}

/* How tests are called in one language or another; `before` stands in front of the ending. */
static bool is_test_name(str name)
{
	static const str before[] = { STR("_test"), STR("_tests"), STR("_spec"), STR(".test"), STR(".spec"),
		STR("-test"), STR("Test"), STR("Tests"), STR("TestCase"), STR(".cy"), STR(".e2e"), STR("_unittest") };
	str ending = ending_of(name), stem = ending.n ? str_head(name, name.n - ending.n - 1) : name;

	if (str_starts(name, STR("test_")) || str_starts(name, STR("conftest.")) || str_eq(ending, STR("bats")))
		return true;
	for (size_t i = 0; i < countof(before); i++)
		if (stem.n > before[i].n && str_ends(stem, before[i]))
			return true;
	return false;
}

enum file_class file_class_of(str path, const struct language *l)
{
	if (l->class == FILE_I18N)
		return FILE_I18N;
	/* Programs that translate are programs; tables of words are not. */
	if (l->class == FILE_CONFIG && is_below(path, i18n_folders))
		return FILE_I18N;
	if (l->class == FILE_DOCS)
		return FILE_DOCS;
	if (is_below(path, test_folders) || is_test_name(name_of(path)))
		return FILE_TEST;
	return l->class;
}

const char *file_class_name(enum file_class class)
{
	static const char *const names[] = {
		[FILE_CODE] = "code",
		[FILE_TEST] = "test",
		[FILE_DOCS] = "docs",
		[FILE_CONFIG] = "config",
		[FILE_I18N] = "i18n",
	};

	return (size_t) class < countof(names) ? names[class] : "code";
}
