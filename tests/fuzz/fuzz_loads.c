/* Whatever a program says: names of files that it is said to load are relative ones that stay in the tree, and whoever
 * is refused is told why. The first byte chooses the language. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "hooks/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void require_name(str name)
{
	str rest = name, piece;

	require(name.n > 0 && name.p[0] != '/');
	while (str_split(&rest, '/', &piece))
		require(piece.n > 0 && !str_eq(piece, STR("..")) && !str_eq(piece, STR(".")));
}

/* Half of all names are there: which ones is decided by the name. */
static bool exists(str name, void *arg)
{
	unsigned sum = 0;

	(void)arg;
	require_name(name);
	for (size_t i = 0; i < name.n; i++)
		sum += (unsigned char)name.p[i];
	return sum & 1;
}

static mode_t in_project(str name, void *arg)
{
	return exists(name, arg) ? S_IFREG | 0755 : 0;
}

static void load(str name, bool code, void *arg)
{
	(void)code;
	require(exists(name, arg));
}

static void refuse(str why, void *arg)
{
	(void)arg;
	require(why.n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const languages[] = { "python", "node", "ruby", "perl", "php", "lua", "other" };
	const struct hook_loads to = { exists, in_project, load, refuse, NULL };
	struct arena a;

	if (size < 1 || size > KIB(64))
		return 0;
	arena_init(&a);
	for (int deep = 0; deep < 2; deep++)
		hook_each_load(str_of(languages[data[0] % countof(languages)]), str_n((const char *)data + 1, size - 1),
			deep ? STR("a/b/program") : STR("program"), deep ? STR("a/b") : STR(""), &a, &to);
	arena_release(&a);
	return 0;
}
