/* Payloads of a session that are stored together: read back as they came, and gone when they shall be. */
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fs.h"
#include "capture/capture.h"
#include "stores.h"

enum { EVENTS = 100 };

static struct store *fresh(void)
{
	return open_ok(test_path(test_dir(), "hookd.db"), STORE_WRITE);
}

static const char *const sessions[] = { "first", "second" };

/* Every tenth payload says "secret". */
static str payload_text(struct arena *a, unsigned n)
{
	return arena_strf(a,
		"{\"session_id\":\"%s\",\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/home/dev/"
		"%s\",\"tool_name\":\"Bash\","
		"\"tool_use_id\":\"use-%u\",\"tool_input\":{\"command\":\"make %s-%u\"}}",
		sessions[n % 2], sessions[n % 2], n, n % 10 == 0 ? "secret" : "test", n);
}

static struct record record_in(struct arena *a, unsigned n)
{
	struct record r = record_sample(n, payload_text(a, n));

	r.order_us = r.at_us;
	r.session = str_of(sessions[n % 2]);
	r.tool_use_id = arena_strf(a, "use-%u", n);
	return r;
}

static void fold(struct capture *c, struct store *s, unsigned from, unsigned to)
{
	struct arena a = { 0 };

	assert_int_equal(store_exec(s, "BEGIN"), 0);
	for (unsigned n = from; n < to; n++) {
		struct record r = record_in(&a, n);

		assert_int_equal(capture_fold(c, s, &r), 1);
		arena_reset(&a);
	}
	arena_release(&a);
}

static void commit(struct capture *c, struct store *s)
{
	assert_int_equal(capture_finish(c, s), 0);
	assert_int_equal(store_exec(s, "COMMIT"), 0);
}

/* How many payloads are there; each must be the one of its event. */
static unsigned check_payloads(struct store *s)
{
	struct query *q = store_query(s, "SELECT payload_text(payload), id FROM events ORDER BY seq");
	struct arena a = { 0 };
	unsigned n = 0;

	while (query_step(q) == 1) {
		struct record r = { 0 };

		memcpy(r.id.b, query_str(q, 1).p, ULID_BYTES);
		assert_true(str_eq(query_str(q, 0), payload_text(&a, record_number(&r))));
		n++;
	}
	query_reset(q);
	arena_release(&a);
	return n;
}

static int64_t blocks(struct store *s)
{
	return one_number(s, "SELECT count(DISTINCT key / 128) FROM blocks");
}

static void test_payloads_of_a_commit_are_read_back_as_they_came(void **state)
{
	struct store *s = fresh();
	struct capture *c = capture_new();

	fold(c, s, 0, EVENTS);
	commit(c, s);
	assert_int_equal(check_payloads(s), EVENTS);
	assert_int_equal(blocks(s), 2); /* one for each session */
	assert_int_equal(
		one_number(s, "SELECT sum(payload_bytes(payload) = length(payload_text(payload))) FROM events"),
		EVENTS);
	/* Few hold more than many small ones would. */
	assert_true(one_number(s, "SELECT sum(length(body)) FROM blocks") <
		one_number(s, "SELECT sum(length(payload_pack(payload))) FROM events") / 3);
	capture_free(c);
	store_close(s);
}

static void test_what_comes_alone_is_stored_by_itself(void **state)
{
	struct store *s = fresh();
	struct capture *c = capture_new();

	for (unsigned n = 0; n < 6; n++) {
		fold(c, s, n, n + 1);
		commit(c, s);
	}
	assert_int_equal(blocks(s), 0);
	assert_int_equal(one_number(s, "SELECT sum(typeof(payload) = 'blob') FROM events"), 6);
	assert_int_equal(check_payloads(s), 6);
	capture_free(c);
	store_close(s);
}

/* With the dictionary of releases before. */
static void test_what_older_releases_packed_is_read(void **state)
{
	static const char *const texts[] = {
		"{\"session_id\":\"old\",\"hook_event_name\":\"UserPromptSubmit\",\"cwd\":\"/home/dev/"
		"shop\",\"prompt\":\"Say "
		"hello\"}",
		"{\"session_id\":\"old\",\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/home/dev/"
		"shop\",\"tool_name\":\"Bash\","
		"\"tool_input\":{\"command\":\"make\"}}",
	};
	struct store *s = fresh();

	fill_events(s, 3);
	assert_int_equal(
		store_exec(s,
			"UPDATE events SET payload = x'0128b52ffd2065dd0000286f73686f7006fca2ba0cec8246c6ddb01e"
			"6a39fa7f85029aa503' WHERE seq = 1;"
			"UPDATE events SET payload = 64 * 9 + seq - 2 WHERE seq > 1;"
			"INSERT INTO blocks(key, body) VALUES (128 * 9, x'4128b52ffd20e77d0100780265007d006f686f"
			"6d616b65227d7d0af050cea6b8ba36e581063ad5ef0dfc0f471433b24eb88f8eba9bd6457a0c')"),
		0);
	for (int64_t seq = 1; seq <= 3; seq++) {
		struct query *q = store_ask(s, "SELECT payload_text(payload) FROM events WHERE seq = ?1", "i", seq);

		assert_int_equal(query_step(q), 1);
		assert_str(query_str(q, 0), str_of(texts[seq == 3]));
		query_reset(q);
	}
	/* What is stored now is packed with another one. */
	assert_int_equal(one_number(s, "SELECT substr(payload_pack(payload), 1, 1) = x'02' FROM events WHERE seq = 2"),
		1);
	store_close(s);
}

static void test_a_batch_that_is_undone_leaves_nothing_for_the_next(void **state)
{
	struct store *s = fresh();
	struct capture *c = capture_new();

	fold(c, s, 0, 10);
	commit(c, s);
	fold(c, s, 10, 30);
	assert_int_equal(store_exec(s, "ROLLBACK"), 0);
	capture_forget(c);
	fold(c, s, 20, 40);
	commit(c, s);
	assert_int_equal(check_payloads(s), 30);
	assert_int_equal(blocks(s), 4);
	capture_free(c);
	store_close(s);
}

/* The number of a block that was deleted is given to another; a reader may have kept what the first one held. */
/* Hardly anything of it repeats. */
static str noise(struct arena *a, unsigned n)
{
	uint64_t x = (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
	str text = STR("{\"x\":\"");

	for (unsigned i = 0; i < 12; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		text = arena_strf(a, STR_FMT "%016llx", STR_ARG(text), (unsigned long long)x);
	}
	return arena_strf(a, STR_FMT "\"}", STR_ARG(text));
}

/* Of two sessions at once, the one that began later fills its block first; the place of the other's is before it. */
static void test_blocks_fill_the_pages_of_their_table(void **state)
{
	enum { COMMITS = 20, FEW = 20, MANY = 80 };
	struct store *s = fresh();
	struct capture *c = capture_new();
	struct arena a = { 0 };
	unsigned n = 0;

	for (unsigned commits = 0; commits < COMMITS; commits++) {
		assert_int_equal(store_exec(s, "BEGIN"), 0);
		for (unsigned i = 0; i < FEW + MANY; i++, n++) {
			struct record r = record_sample(n, noise(&a, n));

			r.session = arena_strf(&a, "%s-%u", i < FEW ? "few" : "many", commits);
			assert_int_equal(capture_fold(c, s, &r), 1);
		}
		commit(c, s);
	}
	assert_int_equal(blocks(s), 3 * COMMITS);
	assert_true(one_number(s, "SELECT sum(unused) * 100 / sum(pgsize) FROM dbstat WHERE name = 'blocks'") < 9);
	arena_release(&a);
	capture_free(c);
	store_close(s);
}

static void test_a_number_that_is_used_again_is_read_anew(void **state)
{
	char path[FS_PATH];
	struct store *s, *reader;
	struct capture *c = capture_new();

	fs_join(path, test_dir(), "hookd.db");
	s = open_ok(path, STORE_WRITE);
	fold(c, s, 0, 20);
	commit(c, s);
	reader = open_ok(path, STORE_READ);
	assert_int_equal(check_payloads(reader), 20);
	assert_int_equal(
		store_exec(s,
			"DELETE FROM activities; DELETE FROM windows; DELETE FROM batches; DELETE FROM blocks; "
			"DELETE FROM events; DELETE FROM sessions"),
		0);
	fold(c, s, 20, 40);
	commit(c, s);
	assert_int_equal(check_payloads(reader), 20);
	store_close(reader);
	capture_free(c);
	store_close(s);
}

static void test_a_purged_session_takes_its_blocks_with_it(void **state)
{
	struct store *s = fresh();
	struct capture *c = capture_new();
	struct capture_choice choice = { .sessions = STR("[1]") };
	struct capture_count count;

	fold(c, s, 0, EVENTS);
	commit(c, s);
	assert_int_equal(capture_purge(c, s, &choice, &count), 0);
	assert_int_equal(count.events, EVENTS / 2);
	assert_int_equal(blocks(s), 1);
	assert_int_equal(check_payloads(s), EVENTS / 2);
	capture_free(c);
	store_close(s);
}

/* Not only the rows: nothing that is stored may hold what was purged. */
static void test_purged_events_leave_nothing_in_a_block(void **state)
{
	struct store *s = fresh();
	struct capture *c = capture_new();
	struct capture_choice choice = { .match = STR("secret") };
	struct capture_count count;

	fold(c, s, 0, EVENTS);
	commit(c, s);
	assert_int_equal(capture_count(s, &choice, &count), 0);
	assert_int_equal(count.events, EVENTS / 10);
	assert_int_equal(capture_purge(c, s, &choice, &count), 0);
	assert_int_equal(count.events, EVENTS / 10);
	assert_int_equal(check_payloads(s), EVENTS - EVENTS / 10);
	/* Only the first session had any. */
	assert_int_equal(one_number(s, "SELECT sum(typeof(payload) = 'integer') FROM events"), EVENTS / 2);
	assert_int_equal(blocks(s), 1);
	capture_free(c);
	store_close(s);
}

/* -- names that are numbers -------------------------------------------------------------------- */

static void test_every_kind_and_class_is_read_by_its_name(void **state)
{
	struct store *s = fresh();
	struct capture *c = capture_new();
	struct query *q;

	for (enum event_kind k = EVENT_UNKNOWN; k < EVENT_KIND_MAX; k++) {
		struct record r = record_sample(k, STR("{}"));

		r.order_us = r.at_us + 7;
		r.kind = k;
		r.native = STR("");
		assert_int_equal(capture_fold(c, s, &r), 1);
	}
	assert_int_equal(capture_finish(c, s), 0);
	q = store_query(s, "SELECT kind, ord - at FROM events ORDER BY seq");
	for (enum event_kind k = EVENT_UNKNOWN; k < EVENT_KIND_MAX; k++) {
		assert_int_equal(query_step(q), 1);
		assert_true(str_eq(query_str(q, 0), str_of(event_kinds[k].name)));
		assert_int_equal(query_int(q, 1), 7);
	}
	query_reset(q);
	for (enum tool_class n = TOOL_OTHER; n < TOOL_CLASS_MAX; n++) {
		assert_int_equal(store_do(s, "UPDATE activities SET class_n = ?1", "i", (int64_t)n), 0);
		q = store_query(s, "SELECT class FROM activities LIMIT 1");
		assert_int_equal(query_step(q), 1);
		assert_true(str_eq(query_str(q, 0), str_of(tool_class_names[n])));
		query_reset(q);
	}
	capture_free(c);
	store_close(s);
}

/* The number in a row, and the name that is read from it; what has no number keeps its name. */
static void check_tool(struct store *s, str name, bool numbered)
{
	struct query *q;

	assert_int_equal(store_do(s, "UPDATE events SET tool_n = ?1", "t", name), 0);
	assert_int_equal(store_do(s, "UPDATE activities SET tool_n = ?1", "t", name), 0);
	q = store_query(s,
		"SELECT e.tool, a.tool, typeof(e.tool_n) = 'integer' AND typeof(a.tool_n) = 'integer' "
		"FROM events e, activities a LIMIT 1");
	assert_int_equal(query_step(q), 1);
	assert_true(str_is_set(name) ? str_eq(query_str(q, 0), name) : query_is_null(q, 0));
	assert_true(str_is_set(name) ? str_eq(query_str(q, 1), name) : query_is_null(q, 1));
	assert_int_equal(query_int(q, 2), numbered);
	query_reset(q);
}

static void test_every_tool_is_read_by_its_name(void **state)
{
	struct store *s = fresh();
	struct capture *c = capture_new();
	const char *name;
	int64_t n;

	fold(c, s, 0, 1);
	commit(c, s);
	for (n = 1; (name = store_tool_name(n)); n++) {
		assert_int_equal(store_tool_number(str_of(name)), n);
		check_tool(s, str_of(name), true);
	}
	assert_int_equal(n, 17); /* those of schema/0012: a number that was ever written stays */
	assert_null(store_tool_name(0));
	assert_null(store_tool_name(-1));
	check_tool(s, STR("mcp__shop__find"), false);
	check_tool(s, STR("7"), false);
	check_tool(s, STR(""), false);
	check_tool(s, STR_NONE, false);
	capture_free(c);
	store_close(s);
}

/* -- damage ------------------------------------------------------------------------------------ */

struct taken {
	unsigned n;
	bool seen[EVENTS];
};

static int take(const struct record *r, void *arg)
{
	struct taken *t = arg;
	struct arena a = { 0 };
	unsigned n = record_number(r);

	assert_true(n < EVENTS);
	assert_true(str_eq(r->payload, payload_text(&a, n)));
	assert_true(str_eq(r->session, str_of(sessions[n % 2])));
	arena_release(&a);
	if (t->seen[n])
		return 0;
	t->seen[n] = true;
	t->n++;
	return 1;
}

static unsigned salvage(const char *path)
{
	struct taken t = { 0 };
	const struct salvage_sink sink = { .take = take, .arg = &t };
	struct store *into = open_ok(test_path(test_dir(), "new.db"), STORE_WRITE);
	struct salvage found;

	assert_int_equal(store_exec(into, "BEGIN"), 0);
	assert_int_equal(store_salvage(path, into, &sink, &found), 0);
	assert_int_equal(store_exec(into, "COMMIT"), 0);
	assert_int_equal(found.fresh, t.n);
	store_close(into);
	return t.n;
}

static void overwrite(const char *path, off_t at, size_t n)
{
	_cleanup_(freep) char *bytes = xcalloc(1, n);
	FILE *f = fopen(path, "r+");

	assert_non_null(f);
	memset(bytes, 0xA5, n);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void test_payloads_are_carved_out_of_a_store_without_a_schema(void **state)
{
	char path[FS_PATH];
	struct store *s;
	struct capture *c = capture_new();

	fs_join(path, test_dir(), "hookd.db");
	s = open_ok(path, STORE_WRITE);
	for (unsigned n = 0; n < EVENTS; n += 20) {
		fold(c, s, n, n + 20);
		commit(c, s);
	}
	assert_int_equal(store_exec(s, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
	capture_free(c);
	store_close(s);
	assert_int_equal(salvage(path), EVENTS);
	overwrite(path, 0, PAGE);
	assert_int_equal(salvage(path), EVENTS);
}

/* The page of a block is gone: its events are, others are not. */
static void test_a_damaged_block_costs_its_own_payloads(void **state)
{
	char path[FS_PATH];
	struct store *s;
	struct capture *c = capture_new();
	int64_t page;
	unsigned n;

	fs_join(path, test_dir(), "hookd.db");
	s = open_ok(path, STORE_WRITE);
	for (n = 0; n < EVENTS; n += 20) {
		fold(c, s, n, n + 20);
		commit(c, s);
	}
	page = one_number(s, "SELECT rootpage FROM sqlite_schema WHERE name = 'blocks'");
	assert_int_equal(store_exec(s, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
	capture_free(c);
	store_close(s);
	/* In the row that was written first: cells fill a page from its end. */
	overwrite(path, (page - 1) * PAGE + PAGE - 200, 100);
	n = salvage(path);
	assert_true(n < EVENTS && n >= EVENTS - 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_payloads_of_a_commit_are_read_back_as_they_came),
		cmocka_unit_test(test_what_comes_alone_is_stored_by_itself),
		cmocka_unit_test(test_what_older_releases_packed_is_read),
		cmocka_unit_test(test_a_batch_that_is_undone_leaves_nothing_for_the_next),
		cmocka_unit_test(test_blocks_fill_the_pages_of_their_table),
		cmocka_unit_test(test_a_number_that_is_used_again_is_read_anew),
		cmocka_unit_test(test_a_purged_session_takes_its_blocks_with_it),
		cmocka_unit_test(test_purged_events_leave_nothing_in_a_block),
		cmocka_unit_test(test_every_kind_and_class_is_read_by_its_name),
		cmocka_unit_test(test_every_tool_is_read_by_its_name),
		cmocka_unit_test(test_payloads_are_carved_out_of_a_store_without_a_schema),
		cmocka_unit_test(test_a_damaged_block_costs_its_own_payloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
