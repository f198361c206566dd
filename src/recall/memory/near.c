/* Near duplicates: a memory that says almost the same as an older one takes its place. */
#include "memory/memory.h"

enum { LOOK_AT = 4 };

/* Older, of the same type, by somebody no more trusted, and not of the same session, whose memories belong together. */
static int read_older(struct store *s, int64_t key, const struct memory_note *n, bool *ret_fits, struct arena *a,
	str *ret_text, bool *ret_same_file, struct ulid *ret_uid)
{
	struct query *q = store_ask(s,
		"SELECT m.uid, m.text, m.type = ?2 AND m.status = 'active' AND NOT m.pinned AND m.uid <> ?3 AND "
		"m.created_at <= ?4 "
		"AND (?5 IS NULL OR s.native_id IS NULL OR s.native_id <> ?5), m.file IS NOT NULL AND m.file = ?6, "
		"m.trust FROM memories m LEFT JOIN sessions s ON s.key = m.session WHERE m.key = ?1",
		"isbiss", key, n->type, n->uid.b, (size_t)ULID_BYTES, n->created_us, n->session, n->file);
	int got = query_step(q);

	*ret_fits = got == 1 && query_int(q, 2) && query_str(q, 0).n == ULID_BYTES &&
		memory_trust_rank(query_str(q, 4)) <= memory_trust_rank(n->trust);
	if (*ret_fits) {
		memcpy(ret_uid->b, query_str(q, 0).p, ULID_BYTES);
		*ret_text = arena_str(a, query_str(q, 1));
		*ret_same_file = query_int(q, 3);
	}
	query_reset(q);
	return MIN(got, 0);
}

int memories_find_near(struct memories *m, struct store *s, int64_t project, const struct memory_note *n, float similar,
	struct arena *a, struct ulid *ret)
{
	struct hit hits[LOOK_AT];
	int found = memories_search(m, s, project, n->text, true, hits, LOOK_AT), r = 0;

	for (int i = 0; i < found && r == 0; i++) {
		bool fits, same_file = false;
		str text;

		r = read_older(s, hits[i].key, n, &fits, a, &text, &same_file, ret);
		/* About the same file, a little less will do. */
		if (r == 0 && fits && terms_overlap(text, n->text) >= similar - (same_file ? 0.07F : 0))
			return 1;
	}
	return found < 0 ? found : r;
}
