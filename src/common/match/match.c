#include "match/match.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"

enum {
	PATTERN_MAX = 16 << 10,
	/* Steps, nesting and KiB of one search: about 0.3 ms of compiled code at the worst. */
	MATCH_LIMIT = 100000,
	DEPTH_LIMIT = 10000,
	HEAP_LIMIT_KIB = 1024,
};

struct match {
	pcre2_code *code;
	pcre2_match_context *limits;
	bool direct; /* machine code, and no check of the subject is needed */
};

/* Where a search puts its groups: one room for each thread, whatever the pattern, so that a pattern is never written to
 * and every thread can ask it at once. */
static __thread pcre2_match_data *room;
static pthread_key_t room_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_room(void *data)
{
	pcre2_match_data_free(data);
}

static void make_key(void)
{
	if (pthread_key_create(&room_key, free_room) != 0)
		abort();
}

static pcre2_match_data *get_room(void)
{
	if (room)
		return room;
	pthread_once(&once, make_key);
	room = pcre2_match_data_create(MATCH_GROUPS, NULL);
	if (!room || pthread_setspecific(room_key, room) != 0)
		abort();
	return room;
}

/* Every option a caller may ask for, and what PCRE2 calls it. */
static const struct {
	unsigned flag;
	uint32_t option;
} options[] = {
	{ MATCH_NOCASE, PCRE2_CASELESS },
	{ MATCH_UTF, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_UCP },
	{ MATCH_ANCHORED, PCRE2_ANCHORED },
	{ MATCH_LINES, PCRE2_MULTILINE },
};

/* \C could stop in the middle of a character. */
static uint32_t options_of(unsigned flags)
{
	uint32_t all = PCRE2_NEVER_BACKSLASH_C;

	for (size_t i = 0; i < countof(options); i++)
		if (flags & options[i].flag)
			all |= options[i].option;
	return all;
}

int match_compile(str pattern, unsigned flags, struct match **ret, struct err *err)
{
	_cleanup_(match_freep) struct match *m = xcalloc(1, sizeof *m);
	PCRE2_UCHAR text[200];
	PCRE2_SIZE at;
	int code;

	if (pattern.n > PATTERN_MAX)
		return err_set(err, -E2BIG, "a pattern may have %d bytes", PATTERN_MAX);
	m->code =
		pcre2_compile((PCRE2_SPTR)(pattern.p ? pattern.p : ""), pattern.n, options_of(flags), &code, &at, NULL);
	if (!m->code) {
		pcre2_get_error_message(code, text, sizeof text);
		return err_set_at(err, -EINVAL, 1, (unsigned)at + 1, "%s", (char *)text);
	}
	/* Not every processor has a compiler; the interpreter gives the same answers. */
	m->direct = pcre2_jit_compile(m->code, PCRE2_JIT_COMPLETE) == 0 && !(flags & MATCH_UTF);
	m->limits = pcre2_match_context_create(NULL);
	if (!m->limits)
		abort();
	pcre2_set_match_limit(m->limits, MATCH_LIMIT);
	pcre2_set_depth_limit(m->limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(m->limits, HEAP_LIMIT_KIB);
	*ret = TAKE(m);
	return 0;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	pcre2_code_free(m->code);
	pcre2_match_context_free(m->limits);
	free(m);
}

static int run(const struct match *m, pcre2_match_data *data, PCRE2_SPTR p, size_t n, size_t from)
{
	int r;

	if (m->direct)
		r = pcre2_jit_match(m->code, p, n, from, 0, data, m->limits);
	else
		r = pcre2_match(m->code, p, n, from, 0, data, m->limits);
	/* Machine code uses 32 KiB of our stack; what needs more is asked of the interpreter, which
	 * keeps its state on the heap. */
	if (r == PCRE2_ERROR_JIT_STACKLIMIT)
		r = pcre2_match(m->code, p, n, from, PCRE2_NO_JIT, data, m->limits);
	return r;
}

int match_find(const struct match *m, str subject, size_t from, size_t ret_groups[2 * MATCH_GROUPS])
{
	pcre2_match_data *data = get_room();
	const PCRE2_SIZE *found;
	int r;

	if (from > subject.n)
		return 0;
	r = run(m, data, (PCRE2_SPTR)(subject.p ? subject.p : ""), subject.n, from);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r < 0)
		return -ELOOP;
	if (!ret_groups)
		return 1;
	/* r counts the groups up to the last one that took part; 0 means there were more than fit.
	 */
	found = pcre2_get_ovector_pointer(data);
	for (int i = 0; i < MATCH_GROUPS; i++) {
		bool set = (r == 0 || i < r) && found[2 * i] != PCRE2_UNSET;

		ret_groups[2 * i] = set ? found[2 * i] : MATCH_UNSET;
		ret_groups[2 * i + 1] = set ? found[2 * i + 1] : MATCH_UNSET;
	}
	return 1;
}
