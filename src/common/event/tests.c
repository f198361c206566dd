/* Which commands run tests. */
#include <string.h>

#include "base/macro.h"
#include "event/event.h"

/* How commands that run tests look. A word is one of the command's, wherever it stands. */
static const struct {
	const char *word, *then;
} tests[] = {
	{ "pytest", NULL },
	{ "tox", NULL },
	{ "unittest", NULL },
	{ "cargo", "test" },
	{ "cargo", "nextest" },
	{ "go", "test" },
	{ "npm", "test" },
	{ "pnpm", "test" },
	{ "yarn", "test" },
	{ "bun", "test" },
	{ "deno", "test" },
	{ "jest", NULL },
	{ "vitest", NULL },
	{ "mocha", NULL },
	{ "make", "test" },
	{ "make", "check" },
	{ "ninja", "test" },
	{ "meson", "test" },
	{ "ctest", NULL },
	{ "mvn", "test" },
	{ "gradle", "test" },
	{ "gradlew", "test" },
	{ "bazel", "test" },
	{ "dotnet", "test" },
	{ "rspec", NULL },
	{ "phpunit", NULL },
	{ "rake", "test" },
	{ "mix", "test" },
	{ "swift", "test" },
};

static bool next_word(str *rest, str *ret)
{
	size_t n = 0;

	while (rest->n && strchr(" \t\n;&|()'\"", rest->p[0]))
		*rest = str_from(*rest, 1);
	while (n < rest->n && !strchr(" \t\n;&|()'\"", rest->p[n]))
		n++;
	*ret = str_head(*rest, n);
	*rest = str_from(*rest, n);
	for (size_t i = ret->n; i > 0; i--)
		if (ret->p[i - 1] == '/') {
			*ret = str_from(*ret, i);
			break;
		}
	return n > 0;
}

bool command_runs_tests(str command)
{
	bool waits[countof(tests)] = { false };
	str word;

	while (next_word(&command, &word))
		for (size_t i = 0; i < countof(tests); i++) {
			if (str_eq(word, str_of(tests[i].word))) {
				if (!tests[i].then)
					return true;
				waits[i] = true;
			} else if (waits[i] && str_starts(word, str_of(tests[i].then))) {
				return true;
			}
		}
	return false;
}
