/* Whose memories somebody gets who is in a directory, or names a project. */
#include "memory/memory.h"

/* The main checkout, and what a project was merged into. */
#define WHOSE "coalesce(p.merged, p.parent, p.key)"

static int find_by_path(struct store *s, str path, int64_t *ret)
{
	int got = 0;

	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	while (got == 0 && path.n > 1) {
		got = store_number(s, ret,
			"SELECT " WHOSE " FROM projects p WHERE p.path = ?1 UNION ALL SELECT " WHOSE
			" FROM directories d JOIN projects p ON p.key = d.project WHERE d.path = ?1 LIMIT 1",
			"s", path);
		while (path.n && path.p[path.n - 1] != '/')
			path.n--;
		path.n -= path.n > 0;
	}
	return got;
}

int memory_project_find(struct store *s, str wanted, int64_t *ret)
{
	if (!str_empty(wanted) && wanted.p[0] == '/')
		return find_by_path(s, wanted, ret);
	return store_number(s, ret,
		"SELECT " WHOSE " FROM projects p WHERE p.name = ?1 OR p.path = ?1 "
		"ORDER BY p.path = ?1 DESC, p.named DESC, p.key LIMIT 1",
		"s", wanted);
}
