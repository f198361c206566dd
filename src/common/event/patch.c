#include "event/event.h"

/* How a line names a file, in the form that Codex invented and others took over. */
static const struct {
	const char *head;
	enum patch_change change;
} heads[] = {
	{ "*** Add File:", PATCH_ADDS },
	{ "*** Update File:", PATCH_UPDATES },
	{ "*** Delete File:", PATCH_DELETES },
	{ "*** Move to:", PATCH_MOVES },
};

/* The same of `diff -u`. */
static const char old_file[] = "--- ", new_file[] = "+++ ";

bool patch_is(str text)
{
	return str_find(text, STR("*** Begin Patch")) >= 0;
}

struct patch patch_open(str text)
{
	return (struct patch){ .rest = text, .unified = !patch_is(text) };
}

/* "--- a/src/x.c\t2026-01-01": git puts a/ and b/ before the names, diff a time behind them. */
static bool take_unified(struct patch *p, str line, struct patch_file *ret)
{
	bool is_new = str_starts(line, str_of(new_file));
	ptrdiff_t tab;
	str path;

	if (!is_new && !str_starts(line, str_of(old_file)))
		return false;
	path = str_trim(str_from(line, strlen(new_file)));
	tab = str_find_char(path, '\t');
	path = tab > 0 ? str_trim(str_head(path, (size_t)tab)) : path;
	if (!is_new) {
		p->old = path;
		return false;
	}
	*ret = (struct patch_file){ .change = PATCH_UPDATES, .path = path };
	if (str_eq(p->old, STR("/dev/null")))
		ret->change = PATCH_ADDS;
	if (str_eq(path, STR("/dev/null")))
		*ret = (struct patch_file){ .change = PATCH_DELETES, .path = p->old };
	if (str_starts(ret->path, STR("a/")) || str_starts(ret->path, STR("b/")))
		ret->path = str_from(ret->path, 2);
	p->old = STR_NONE;
	return ret->path.n > 0;
}

bool patch_next(struct patch *p, struct patch_file *ret)
{
	str line;

	while (str_split(&p->rest, '\n', &line)) {
		line = str_trim(line); /* who applies it does not mind either */
		if (p->unified && take_unified(p, line, ret))
			return true;
		for (size_t i = 0; i < countof(heads) && !p->unified; i++)
			if (str_starts(line, str_of(heads[i].head))) {
				ret->change = heads[i].change;
				ret->path = str_trim(str_from(line, strlen(heads[i].head)));
				return true;
			}
	}
	return false;
}
