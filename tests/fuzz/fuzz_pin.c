/* Whatever a command of a project and its scripts say: either it is not run and says why, or the text that runs is the
 * same every time; names and places that it is tied to lie in the tree. The input is the command, then the contents of
 * files[], each behind a byte 1. */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "hooks/hooks.h"
#include "hooks/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "tools/check.sh", "tools/lib.sh", "tools/check.py", "tools/check.js", "check.pl" };

struct world {
	str bytes[countof(files)];
};

static void require(int holds)
{
	if (!holds)
		abort();
}

static int find(str name)
{
	for (size_t i = 0; i < countof(files); i++)
		if (str_eq(name, str_of(files[i])))
			return (int)i;
	return -1;
}

static bool read_one(str name, str *ret_bytes, bool *ret_executable, void *arg)
{
	struct world *w = arg;
	int i = find(name);

	if (i < 0)
		return false;
	*ret_bytes = w->bytes[i];
	if (ret_executable)
		*ret_executable = true;
	return true;
}

static bool exists(str name, void *arg)
{
	(void)arg;
	return find(name) >= 0;
}

static void take_name(str name, void *arg)
{
	(void)arg;
	require(name.n == 0 || name.p[0] != '/');
}

static void take_link(str file, size_t begin, size_t end, str text, void *arg)
{
	struct world *w = arg;
	int i = find(file);

	require(i >= 0 && begin <= end && end <= w->bytes[i].n && text.n > 0);
}

static void pin(struct hook *h, struct world *w)
{
	const struct hook_tree tree = { .root = STR("/r"),
		.home = STR("/h"),
		.copies = STR(HOOK_COPIES_TO_BE),
		.read = read_one,
		.exists = exists,
		.arg = w };
	const struct hook_taker taker = { take_name, take_link, w };
	str why = STR_NONE, again_why = STR_NONE, text, again;
	struct arena a;

	arena_init(&a);
	hook_each_file(h, &tree, &a, &taker);
	text = hook_pin_text(h, &tree, &a, &why);
	again = hook_pin_text(h, &tree, &a, &again_why);
	require(str_is_set(why) == str_is_set(again_why) && str_is_set(text) == str_is_set(again));
	require(!str_is_set(text) || str_eq(text, again));
	if (h->exec_form && !str_is_set(why))
		(void)hook_pin_words(h, &tree, &a);
	arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str rest = str_n((const char *)data, size), command, args[8];
	struct hook h = { 0 };
	struct world w;
	size_t n = 0;

	if (size > KIB(16) || !str_split(&rest, 1, &command) || !command.n || memchr(command.p, 0, command.n))
		return 0;
	for (size_t i = 0; i < countof(files); i++)
		if (!str_split(&rest, 1, &w.bytes[i]))
			w.bytes[i] = STR("");
	h.command = command;
	pin(&h, &w);
	/* The exec form: a word a line. */
	rest = command;
	(void)str_split(&rest, '\n', &h.command);
	while (n < countof(args) && str_split(&rest, '\n', &args[n]))
		n++;
	h.exec_form = true;
	h.args = args;
	h.nargs = n;
	if (h.command.n)
		pin(&h, &w);
	return 0;
}
