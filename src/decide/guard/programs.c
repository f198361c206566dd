/* programs: which descriptor knows a program, and which handlers there are. Names are sorted by the build and found by
 * bisection; a descriptor is read when its program is first met. Two threads may read the same one at once: the first
 * to be done is kept. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "guard/descriptor.h"

enum { FILES_MAX = 2048 };

static const struct handler *const packs[] = { pack_shell, pack_wrap, pack_code, pack_files, pack_disk, pack_git,
	pack_net, pack_secrets, pack_db, pack_system, pack_container, pack_windows, pack_remote, pack_recipes,
	pack_self };

const struct handler *handler_of(str name)
{
	for (size_t p = 0; p < countof(packs); p++)
		for (const struct handler *h = packs[p]; h->name; h++)
			if (str_eq(name, str_of(h->name)))
				return h;
	return NULL;
}

struct kept {
	struct arena arena;
	struct descriptor descriptor;
};

static struct kept *_Atomic read_already[FILES_MAX];

static int compare_names(str a, str b)
{
	size_t n = MIN(a.n, b.n);
	int r = n ? memcmp(a.p, b.p, n) : 0; /* of nothing there may be no bytes to point at */

	return r ? r : a.n < b.n ? -1 : a.n > b.n;
}

static const struct program_name *find_name(str name)
{
	size_t lo = 0, hi = program_names_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int r = compare_names(str_of(program_names[mid].name), name);

		if (!r)
			return &program_names[mid];
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static void drop(struct kept *k)
{
	arena_release(&k->arena);
	free(k);
}

/* What was compiled in has been read by the tests; one that cannot be read anyway knows nothing. */
static const struct descriptor *read_file(unsigned file)
{
	const struct program_text *t = &program_texts[file];
	struct kept *k = xcalloc(1, sizeof *k), *other = NULL;
	struct err err;

	if (descriptor_read(&k->arena, str_n(t->text, t->size), &k->descriptor, &err) < 0)
		k->descriptor = (struct descriptor){ 0 };
	if (atomic_compare_exchange_strong(&read_already[file], &other, k))
		return &k->descriptor;
	drop(k);
	return &other->descriptor;
}

const struct descriptor *descriptor_of(str name)
{
	const struct program_name *known = find_name(name);
	struct kept *k;

	if (!known || known->file >= FILES_MAX)
		return NULL;
	k = atomic_load(&read_already[known->file]);
	return k ? &k->descriptor : read_file(known->file);
}

void judge_by_name(struct run *x, struct cmd *c)
{
	const struct descriptor *d = descriptor_of(c->name);

	for (size_t i = 0; d && i < d->nhandlers; i++)
		d->handlers[i]->judge(x, c);
	if (d)
		perform(x, c, d);
}
