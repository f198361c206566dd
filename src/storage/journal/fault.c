/* Simulated failures. "write:3,fsync:1,write:7+": the third write fails once, the first fsync fails once,
 * every write from the seventh on fails. Set by an argument (hookd run --test-fail), never by the
 * environment, which a project could set. Without a plan a call costs one comparison. */
#include "journal/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum { FAULTS_MAX = 8 };

static struct fault {
	char what[16];
	long at;
	bool onwards;
	long seen;
} faults[FAULTS_MAX];
static _Atomic int nfaults; /* set when the table is whole; loop and writer both look */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void journal_fault_plan(str plan)
{
	str rest = plan, piece;
	int n = 0;

	while (n < FAULTS_MAX && str_split(&rest, ',', &piece)) {
		ptrdiff_t colon = str_find_char(piece, ':');
		struct fault *f = &faults[n];
		int64_t at;

		if (colon <= 0 || (size_t)colon >= sizeof f->what)
			continue;
		memcpy(f->what, piece.p, (size_t)colon);
		piece = str_from(piece, (size_t)colon + 1);
		f->onwards = str_ends(piece, STR("+"));
		if (!str_to_int(str_head(piece, piece.n - f->onwards), &at))
			continue;
		f->at = (long)at;
		n++;
	}
	nfaults = n;
}

int journal_fault(const char *what)
{
	int r = 0;

	if (nfaults == 0)
		return 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < nfaults; i++) {
		struct fault *f = &faults[i];

		if (strcmp(f->what, what) != 0)
			continue;
		f->seen++;
		if (f->seen == f->at || (f->onwards && f->seen > f->at))
			r = strcmp(what, "write") == 0 || strcmp(what, "spool") == 0 ? -ENOSPC : -EIO;
	}
	pthread_mutex_unlock(&lock);
	return r;
}
