/* Memories about the file that was just read or changed, or about a directory it is in. That a memory names the file
 * does not make it helpful: of those that do, two in three have nothing to do with the task. So they are weighed by the
 * task, too: how well they fit the prompt among all memories of the project, and how many name the same file. */
#include <math.h>

#include "context/internal.h"

enum {
	LEVELS = 8,       /* directories above the file */
	PER_FILE = 16,    /* memories of one file that are looked at */
	PROMPT_HITS = 50, /* of which the order by the prompt is known */
	FEW = 20,         /* memories of a project: then every one that names the file is given */
};

struct named {
	struct memory_row row;
	bool exact;      /* the file itself, not a directory */
	size_t siblings; /* memories about the same, with this one */
	float confidence;
};

/* Fitted by tools/confidence.py --files: a constant, how far in front it is, its share of the best score, whether it is
 * about the very file, how alone it is. */
static const double coefficients[] = { -3.75, 1.80, 1.35, 0.44, 1.50 };

static float rate(const struct named *n, const struct hit *hits, int nhits)
{
	double front = 0, share = 0, z;

	for (int i = 0; i < nhits; i++)
		if (hits[i].key == n->row.key) {
			front = 1.0 / (1 + i);
			share = hits[0].score > 0 ? (double)(hits[i].score / hits[0].score) : 0;
			break;
		}
	z = coefficients[0] + coefficients[1] * front + coefficients[2] * share + coefficients[3] * n->exact +
		coefficients[4] / (double)n->siblings;
	return (float)(1 / (1 + exp(-z)));
}

/* -- which name it ----------------------------------------------------------------------------- */

/* The memories whose file is this text; number of those that were added. */
static int find_file(struct moment *m, str file, bool exact, struct named *ret, size_t room)
{
	struct query *q = store_ask(m->store,
		"SELECT " MEMORY_ROW
		" FROM memories m WHERE m.project = ?1 AND m.file = ?2 AND m.status = 'active' AND NOT "
		"m.muted AND m.trust <> 'web' ORDER BY m.pinned DESC, m.importance DESC, m.created_at DESC, m.key "
		"LIMIT ?3",
		"isi", m->project, file, (int64_t)MIN(room, (size_t)PER_FILE));
	size_t n = 0;
	int got;

	while ((got = query_step(q)) == 1) {
		ret[n] = (struct named){ .exact = exact };
		memory_row_read(q, m->arena, &ret[n++].row);
	}
	query_reset(q);
	for (size_t i = 0; i < n; i++)
		ret[i].siblings = n;
	return got < 0 ? got : (int)n;
}

/* The file, then the directories above it, with and without a slash at the end. */
static int find_named(struct moment *m, str file, struct named *ret, size_t room)
{
	int n = find_file(m, file, true, ret, room), got = n;

	for (int level = 0; level < LEVELS && got >= 0 && (size_t)n < room; level++) {
		while (file.n && file.p[file.n - 1] != '/')
			file.n--;
		if (!file.n)
			break;
		got = find_file(m, file, false, ret + n, room - (size_t)n);
		n += MAX(got, 0);
		file.n--;
		if (got >= 0 && (size_t)n < room)
			got = find_file(m, file, false, ret + n, room - (size_t)n);
		n += MAX(got, 0);
	}
	return got < 0 ? got : n;
}

/* -- which of them are given ------------------------------------------------------------------- */

static int rate_all(struct moment *m, struct named *named, int n)
{
	struct hit hits[PROMPT_HITS];
	int64_t all = memories_count(m->context->memories, m->store, m->project);
	bool every = all < FEW || str_empty(str_trim(m->ask->prompt));
	int found = 0;

	if (!every)
		found = memories_search(m->context->memories, m->store, m->project, m->ask->prompt, false, hits,
			PROMPT_HITS);
	for (int i = 0; i < n && found >= 0; i++)
		named[i].confidence =
			(every || named[i].row.pinned) && named[i].exact ? 1 : rate(&named[i], hits, found);
	return MIN(found, 0);
}

static const struct named *surest(const struct named *named, int n)
{
	const struct named *best = NULL;

	for (int i = 0; i < n; i++)
		if (named[i].confidence > (best ? best->confidence : 0))
			best = &named[i];
	return best;
}

int recall_named(struct moment *m, str file, float least, size_t max, recall_add *add)
{
	struct named named[CONTEXT_NAMED];
	int n = find_named(m, file, named, CONTEXT_NAMED);
	int r = n > 0 ? rate_all(m, named, n) : n;
	const struct named *next;

	while (r >= 0 && m->reply->n < max && (next = surest(named, n)) && next->confidence >= least) {
		if (!block_was_given(m, next->row.key))
			add(m, &next->row, next->confidence);
		((struct named *)next)->confidence = 0;
	}
	/* Who was left out here is not found by the name of the file again. */
	for (int i = 0; i < n && r >= 0; i++)
		m->unfit[m->nunfit++] = named[i].row.key;
	return r;
}
