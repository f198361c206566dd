/* Whether the file that a memory is about has changed since: a hint that the memory may be out of date. */
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "context/internal.h"

static str root_of(struct moment *m)
{
	struct query *q;

	if (str_is_set(m->root))
		return m->root;
	q = store_ask(m->store, "SELECT path FROM projects WHERE key = ?1", "i", m->project);
	m->root = query_step(q) == 1 ? arena_str(m->arena, query_str(q, 0)) : STR("");
	query_reset(q);
	return m->root;
}

/* "src/db.c:12" and "src/db.c:12:3" are places in src/db.c. */
static str without_line(str file)
{
	for (int i = 0; i < 2; i++) {
		size_t n = file.n;

		while (n && file.p[n - 1] >= '0' && file.p[n - 1] <= '9')
			n--;
		if (n > 1 && n < file.n && file.p[n - 1] == ':')
			file.n = n - 1;
	}
	return file;
}

bool file_has_changed(struct moment *m, const struct memory_row *row)
{
	str file = without_line(row->file), root;
	int64_t since = MAX(row->created_us, row->updated_us);
	struct stat st;
	const char *path;

	if (str_empty(file) || memchr(file.p, 0, file.n))
		return false;
	root = file.p[0] == '/' ? STR("") : root_of(m);
	if (file.p[0] != '/' && (str_empty(root) || root.p[0] != '/'))
		return false;
	path = arena_strf(m->arena, STR_FMT "%s" STR_FMT, STR_ARG(root), root.n ? "/" : "", STR_ARG(file)).p;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		(int64_t)st.st_mtim.tv_sec * USEC_PER_SEC + st.st_mtim.tv_nsec / 1000 > since;
}
