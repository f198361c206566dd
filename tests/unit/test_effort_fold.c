/* Efforts in the store: their rows do not depend on the order in which events arrive, nor on how often. */
#include "capture/capture.h"
#include "stores.h"

enum { SCRIPT_MAX = 6 };

#define UID "01HF7YAT00C0V0000000000001"
#define OTHER "01HF7YAT00C0V0000000000002"
#define WINDOW "01HF7YAT00C0V0000000000003"
#define NEXT "01HF7YAT00C0V0000000000004"

/* What happens to one effort, in order. */
static const char *const script[] = {
	"\"op\":\"start\",\"task\":\"/"
	"t\",\"skill\":\"review\",\"ordinal\":1,\"goal\":\"g\",\"config\":{\"phases\":[\"1: A\"]}",
	"\"op\":\"phase\",\"phase\":\"1: A\",\"proof\":{\"x\":1}",
	"\"op\":\"phase\",\"phase\":\"2: B\",\"reason\":\"why\"",
	"\"op\":\"phase\",\"phase\":\"1: A\"",
	"\"op\":\"finish\",\"result\":\"done\"",
};

/* What happens to two of them, in which one session works. */
static const struct {
	const char *effort, *members;
} turns[] = {
	{ UID, "\"op\":\"start\",\"task\":\"/t\",\"skill\":\"review\",\"ordinal\":1" },
	{ UID, "\"op\":\"window\",\"window\":\"" WINDOW "\",\"by\":\"claude\",\"session\":\"s\"" },
	{ UID, "\"op\":\"end\",\"window\":\"" WINDOW "\",\"reason\":\"left\",\"loads\":[\"/t/a.c\"]" },
	{ OTHER, "\"op\":\"start\",\"task\":\"/t\",\"skill\":\"fix\",\"ordinal\":2" },
	{ OTHER,
		"\"op\":\"window\",\"window\":\"" NEXT "\",\"by\":\"claude\",\"session\":\"s\",\"previous\":\"" WINDOW
		"\"" },
};

static void take_of(struct capture *c, struct store *s, unsigned n, const char *effort, const char *members)
{
	char payload[1024];
	struct record r;

	snprintf(payload, sizeof payload, "{\"effort\":\"%s\",%s}", effort, members);
	r = record_sample(n, str_of(payload));
	r.kind = EVENT_EFFORT;
	r.tool_class = TOOL_OTHER;
	r.agent = STR("hookd");
	r.native = STR("Effort");
	r.session = r.cwd = r.tool_name = STR_NONE;
	r.tool_use_id = str_of(effort);
	r.order_us = r.at_us;
	assert_in_range(capture_fold(c, s, &r), 0, 1);
}

static void take(struct capture *c, struct store *s, unsigned n)
{
	take_of(c, s, n, UID, script[n]);
}

static void take_turn(struct capture *c, struct store *s, unsigned n)
{
	take_of(c, s, n, turns[n].effort, turns[n].members);
}

/* All rows of all tables of efforts. */
static void dump(struct store *s, struct buf *b)
{
	static const char *const queries[] = {
		"SELECT json_array(ulid_text(uid), task, skill, ordinal, state, phase, goal, result, config, "
		"created_at, "
		"updated_at, finished_at, last_ord, ulid_text(last_id)) FROM efforts ORDER BY uid",
		"SELECT json_array(ulid_text(effort), n, label, reason, proof, at) FROM effort_phases ORDER BY effort, "
		"n",
		"SELECT json_array(path, created_at, updated_at) FROM tasks ORDER BY path",
		"SELECT json_array(ulid_text(id), ulid_text(effort), session, ulid_text(previous), started_at, "
		"ended_at, end_reason) FROM effort_windows ORDER BY id",
		"SELECT json_array(ulid_text(effort), path, ulid_text(window)) FROM effort_loads ORDER BY effort, path",
	};

	for (size_t i = 0; i < countof(queries); i++) {
		struct query *q = store_query(s, queries[i]);

		while (query_step(q) == 1)
			buf_addf(b, STR_FMT "\n", STR_ARG(query_str(q, 0)));
		query_reset(q);
	}
}

typedef void (*taker)(struct capture *c, struct store *s, unsigned n);

static void fold_in_order(taker take_one, const unsigned *order, unsigned n, struct buf *ret)
{
	char path[128];
	struct capture *c = capture_new();
	struct store *s;

	snprintf(path, sizeof path, "%s/t.db", test_dir());
	s = open_ok(path, STORE_WRITE);
	assert_int_equal(store_exec(s, "BEGIN IMMEDIATE"), 0);
	for (unsigned i = 0; i < n; i++)
		take_one(c, s, order[i]);
	/* A journal is read twice after a crash. */
	for (unsigned i = 0; i < n; i++)
		take_one(c, s, order[i]);
	assert_int_equal(capture_finish(c, s), 0);
	assert_int_equal(store_exec(s, "COMMIT"), 0);
	dump(s, ret);
	store_close(s);
	capture_free(c);
	test_remove_tree(path);
}

/* The k-th order of n things. */
static void permute(unsigned k, unsigned n, unsigned *ret)
{
	unsigned left[SCRIPT_MAX];

	for (unsigned i = 0; i < n; i++)
		left[i] = i;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = k % (n - i);

		k /= n - i;
		ret[i] = left[at];
		memmove(&left[at], &left[at + 1], (n - i - at - 1) * sizeof left[0]);
	}
}

static void fold_in_every_order(taker take_one, unsigned n, struct buf *first)
{
	unsigned orders = 1, order[SCRIPT_MAX];
	struct buf other = BUF_INIT(1 << 20);

	for (unsigned i = 2; i <= n; i++)
		orders *= i;
	for (unsigned k = 0; k < orders; k++) {
		permute(k, n, order);
		buf_clear(&other);
		fold_in_order(take_one, order, n, k ? &other : first);
		if (k && !str_eq(buf_str(first), buf_str(&other)))
			fail_msg("order %u: %s\n%s", k, other.p, first->p);
	}
	buf_release(&other);
}

static void test_every_order_gives_the_same_rows(void **state)
{
	struct buf rows = BUF_INIT(1 << 20);

	fold_in_every_order(take, countof(script), &rows);
	assert_non_null(strstr(rows.p, "\"finished\",\"1: A\""));
	assert_non_null(strstr(rows.p, ",3,\"1: A\""));
	buf_release(&rows);
}

static void test_two_efforts_of_a_session_keep_their_windows_in_every_order(void **state)
{
	struct buf rows = BUF_INIT(1 << 20);

	fold_in_every_order(take_turn, countof(turns), &rows);
	assert_non_null(strstr(rows.p, "[\"" WINDOW "\",\"" UID "\",\"s\",null,"));
	assert_non_null(strstr(rows.p, ",\"left\"]"));
	assert_non_null(strstr(rows.p, "[\"" NEXT "\",\"" OTHER "\",\"s\",\"" WINDOW "\","));
	assert_non_null(strstr(rows.p, "[\"" UID "\",\"/t/a.c\",\"" WINDOW "\"]"));
	buf_release(&rows);
}

static void test_a_change_without_a_beginning_waits_for_it(void **state)
{
	struct buf b = BUF_INIT(1 << 20);

	fold_in_order(take, (const unsigned[]){ 1, 2 }, 2, &b);
	assert_null(strstr(b.p, "review"));
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_order_gives_the_same_rows),
		cmocka_unit_test(test_two_efforts_of_a_session_keep_their_windows_in_every_order),
		cmocka_unit_test(test_a_change_without_a_beginning_waits_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
