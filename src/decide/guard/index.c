/* index: which rows know a program, by its name. The packs are read once; a name is then found by
 * bisection. */
#include <pthread.h>
#include <stdlib.h>

#include "guard/internal.h"

static const struct program *const packs[] = { pack_shell, pack_wrap, pack_run, pack_code, pack_files, pack_disk,
	pack_git, pack_net, pack_secrets, pack_db, pack_system, pack_container, pack_windows, pack_remote, pack_self };

static const struct row *const row_packs[] = { rows_cloud, rows_db, rows_system, rows_container, rows_git };

enum { ENTRIES_MAX = 4096 };

struct entry {
	str name;
	unsigned order; /* rows of one name keep theirs */
	const struct program *program;
	const struct row *row;
};

static struct entry entries[ENTRIES_MAX];
static unsigned count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compare_names(str a, str b)
{
	int r = memcmp(a.p, b.p, MIN(a.n, b.n));

	return r ? r : a.n < b.n ? -1 : a.n > b.n;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = compare_names(x->name, y->name);

	return r ? r : x->order < y->order ? -1 : x->order > y->order;
}

static void add(const char *names, const struct program *program, const struct row *row)
{
	str rest = str_of(names), name;

	while (str_split(&rest, ' ', &name))
		if (name.n && count < ENTRIES_MAX) {
			entries[count] = (struct entry){ name, count, program, row };
			count++;
		}
}

static void build(void)
{
	for (size_t p = 0; p < countof(packs); p++)
		for (const struct program *row = packs[p]; row->names; row++)
			add(row->names, row, NULL);
	for (size_t p = 0; p < countof(row_packs); p++)
		for (const struct row *row = row_packs[p]; row->programs; row++)
			if (row->action > VERDICT_ALLOW)
				add(row->programs, NULL, row);
	qsort(entries, count, sizeof(entries[0]), compare);
}

void judge_by_name(struct run *x, struct cmd *c)
{
	unsigned lo = 0, hi;

	pthread_once(&once, build);
	for (hi = count; lo < hi;) {
		unsigned mid = (lo + hi) / 2;

		if (compare_names(entries[mid].name, c->name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < count && str_eq(entries[lo].name, c->name); lo++) {
		if (entries[lo].program)
			entries[lo].program->judge(x, c);
		else
			(void)judge_row(x, c, entries[lo].row);
	}
}
