/* What one would do after a change, before one says that it is done. A row says which files, what is wanted, and how a
 * command looks that does it. */
#include <string.h>

#include "remind/internal.h"

static bool is_one_of(str word, const char *const *list)
{
	for (; *list; list++)
		if (str_eq(word, str_of(*list)))
			return true;
	return false;
}

static bool has_word(str command, const char *const *list)
{
	while (command.n) {
		size_t n = 0;

		while (n < command.n && !strchr(" \t\n;&|()'\"", command.p[n]))
			n++;
		if (n && is_one_of(str_head(command, n), list))
			return true;
		command = str_from(command, n + (n < command.n));
	}
	return false;
}

/* Installing, building or testing shows whether the new ones can be had. */
static bool needs_are_met(str command)
{
	static const char *const words[] = { "install", "i", "ci", "sync", "add", "update", "lock", "tidy", "build",
		"check", "restore", "resolve", "bundle", "make", "ninja", NULL };

	return command_runs_tests(command) || has_word(command, words);
}

static bool schema_is_tried(str command)
{
	static const char *const words[] = { "migrate", "migration", "migrations", "upgrade", "psql", "sqlite3",
		"mysql", "mariadb", "alembic", "flyway", "liquibase", "prisma", "dbmate", "goose", "db:migrate", "sqlx",
		NULL };

	return command_runs_tests(command) || has_word(command, words);
}

const struct file_check file_checks[FILE_KINDS] = {
	[FILE_CODE] = { "no tests were run since", "Run the tests that cover it", command_runs_tests },
	[FILE_NEEDS] = { "nothing was installed or built since", "Install or build with the changed dependencies",
		needs_are_met },
	[FILE_SCHEMA] = { "it was not tried since", "Try it on a test database", schema_is_tried },
};

/* -- files ------------------------------------------------------------------------------------- */

static const char *const code[] = { "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm", "py", "pyx", "js", "jsx",
	"mjs", "cjs", "ts", "tsx", "mts", "vue", "svelte", "go", "rs", "java", "kt", "kts", "scala", "groovy", "cs",
	"fs", "vb", "rb", "php", "pl", "pm", "lua", "swift", "dart", "ex", "exs", "erl", "hs", "ml", "mli", "clj",
	"cljs", "elm", "jl", "r", "sh", "bash", "zsh", "zig", "nim", "f90", "asm", "s", NULL };
static const char *const needs[] = { "package.json", "Cargo.toml", "pyproject.toml", "setup.py", "setup.cfg",
	"requirements.txt", "Pipfile", "go.mod", "Gemfile", "composer.json", "pom.xml", "build.gradle",
	"build.gradle.kts", "mix.exs", "Package.swift", "pubspec.yaml", "environment.yml", NULL };

static str after_last(str path, char c)
{
	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == c)
			return str_from(path, i);
	return c == '/' ? path : STR("");
}

enum file_kind file_kind_of(str path)
{
	str name = after_last(path, '/');

	if (is_one_of(name, needs))
		return FILE_NEEDS;
	if (str_find(path, STR("migrations/")) >= 0 || str_find(path, STR("db/migrate/")) >= 0 ||
		str_ends(name, STR(".sql")))
		return FILE_SCHEMA;
	return is_one_of(after_last(name, '.'), code) ? FILE_CODE : FILE_KINDS;
}
