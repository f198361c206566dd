/* stores: what the tests of store/ share. */
#ifndef HOOKD_TESTS_UNIT_STORES_H
#define HOOKD_TESTS_UNIT_STORES_H

#include "records.h"
#include "store/store.h"
#include "test.h"

enum { PAGE = 4096 }; /* of the store's file */

static inline struct store *open_ok(const char *path, enum store_mode mode)
{
	struct store *s = NULL;
	struct err err = { 0 };

	if (store_open(path, mode, "/nonexistent", &s, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	return s;
}

static inline int64_t one_number(struct store *s, const char *sql)
{
	struct query *q = store_query(s, sql);
	int64_t n;

	assert_int_equal(query_step(q), 1);
	n = query_int(q, 0);
	query_reset(q);
	return n;
}

/* Rows of events that belong to no session. */
static inline void fill_events(struct store *s, int n)
{
	struct query *q;

	assert_int_equal(store_exec(s, "BEGIN"), 0);
	for (int i = 0; i < n; i++) {
		struct record r = record_sample((unsigned)i, STR_NONE);

		q = store_query(s,
			"INSERT INTO events(id, ord, lag, what, native, payload) VALUES (?1, ?2, ?2, '', '', ?3)");
		query_bind_blob(q, 1, r.id.b, ULID_BYTES);
		query_bind_int(q, 2, i);
		query_bind_str(q, 3, STR("{\"some\":\"payload that takes room, so that there are many pages\"}"));
		assert_int_equal(query_run(q), 0);
	}
	assert_int_equal(store_exec(s, "COMMIT"), 0);
}

#endif
