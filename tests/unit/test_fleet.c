/* The fleet: who an agent is, what it is doing, and the table that is filled from the store. */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fleet/fleet.h"
#include "test.h"

static int64_t now_us = 1700000000000000;

/* One event of an agent; env: "NAME=value" up to NULL. */
static struct fleet_agent *tell(struct fleet *f, const char *session, enum event_kind kind, const char *const *env,
	uint32_t ppid, bool *ret_changed)
{
	str words[8];
	bool changed;
	struct event e = { .kind = kind,
		.agent = STR("claude"),
		.session = str_of(session),
		.cwd = STR("/p"),
		.source = STR("startup"),
		.at_us = now_us += 1000,
		.ppid = ppid,
		.env = words };

	for (; env && env[e.nenv]; e.nenv++)
		words[e.nenv] = str_of(env[e.nenv]);
	return fleet_see(f, &e, ret_changed ? ret_changed : &changed);
}

static const char *const pane[] = { "TMUX=/tmp/t,1,0", "TMUX_PANE=%4", NULL };
static const char *const named[] = { "AGENT_ID=w1", "AGENT_LABEL=Pier", NULL };

static const char *const no_socket[] = { "TMUX=nowhere,1,0", "TMUX_PANE=%4", NULL };
static const char *const no_pane[] = { "TMUX=/tmp/t,1,0", "TMUX_PANE=%4;rm", NULL };

static void test_who_an_agent_is(void **state)
{
	static const struct {
		const char *session;
		const char *const *env;
		const char *name, *pane, *socket;
	} rows[] = {
		{ "s1", NULL, "s1", "", "" },
		{ "s2", pane, "%4", "%4", "/tmp/t" },
		{ "s3", named, "w1", "", "" },
		{ "s4", no_socket, "s4", "", "" },
		{ "s5", no_pane, "s5", "", "" },
	};
	_cleanup_(fleet_freep) struct fleet *f = fleet_new();

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		struct fleet_agent *a = tell(f, rows[i].session, EVENT_SESSION_START, rows[i].env, 0, NULL);

		assert_string_equal(a->name, rows[i].name);
		assert_string_equal(a->pane, rows[i].pane);
		assert_string_equal(a->socket, rows[i].socket);
		assert_ptr_equal(fleet_find(f, str_of(rows[i].session)), a);
	}
	assert_null(fleet_find(f, STR("s")));
	assert_null(fleet_find(f, STR("")));
}

static void test_whoever_starts_at_a_place_takes_it(void **state)
{
	_cleanup_(fleet_freep) struct fleet *f = fleet_new();

	(void)state;
	tell(f, "s1", EVENT_SESSION_START, pane, 0, NULL);
	tell(f, "s1", EVENT_SESSION_END, pane, 0, NULL);
	tell(f, "s2", EVENT_SESSION_START, pane, 0, NULL);
	assert_null(fleet_find(f, STR("s1")));
	assert_string_equal(fleet_find(f, STR("%4"))->session, "s2");
}

/* `claude -p …` in a shell of an agent has all its variables. */
static void test_an_agent_that_another_one_runs_is_its_child(void **state)
{
	static const char *const both[] = { "TMUX=/tmp/t,1,0", "TMUX_PANE=%4", "AGENT_ID=w1", NULL };
	uint32_t parent = (uint32_t)getpid(), child = (uint32_t)getppid();
	_cleanup_(fleet_freep) struct fleet *f = fleet_new();
	struct fleet_agent *a;

	(void)state;
	tell(f, "outer", EVENT_SESSION_START, both, parent, NULL);
	tell(f, "outer", EVENT_USER_PROMPT_SUBMIT, both, parent, NULL);
	a = tell(f, "inner", EVENT_SESSION_START, both, child, NULL);
	assert_string_equal(a->name, "inner");
	assert_string_equal(a->parent, "w1");
	assert_string_equal(a->pane, "");
	assert_string_equal(fleet_find(f, STR("w1"))->session, "outer");
}

static void test_only_changes_are_changes(void **state)
{
	static const struct {
		enum event_kind kind;
		bool changed;
		enum agent_status status;
	} rows[] = {
		{ EVENT_SESSION_START, true, AGENT_STATUS_CHECKED },
		{ EVENT_USER_PROMPT_SUBMIT, true, AGENT_STATUS_WORKING },
		{ EVENT_PRE_TOOL_USE, false, AGENT_STATUS_WORKING },
		{ EVENT_PERMISSION_REQUEST, true, AGENT_STATUS_ATTENTION },
		{ EVENT_NOTIFICATION, false, AGENT_STATUS_ATTENTION },
		{ EVENT_POST_TOOL_USE, true, AGENT_STATUS_WORKING },
		{ EVENT_PRE_COMPACT, false, AGENT_STATUS_WORKING },
		{ EVENT_POST_TOOL_USE_FAILURE, true, AGENT_STATUS_ERROR },
		{ EVENT_STOP, true, AGENT_STATUS_DONE },
		{ EVENT_SESSION_END, false, AGENT_STATUS_DONE },
	};
	_cleanup_(fleet_freep) struct fleet *f = fleet_new();
	bool changed;

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		struct fleet_agent *a = tell(f, "s", rows[i].kind, named, 0, &changed);

		assert_int_equal(changed, rows[i].changed);
		assert_int_equal(a->status, rows[i].status);
	}
	assert_null(tell(f, "unknown", EVENT_PRE_COMPACT, NULL, 0, &changed));
	assert_null(tell(f, "hookd-doctor-1", EVENT_STOP, NULL, 0, &changed));
}

static struct fleet_agent *idle(struct fleet *f, const char *session, const char *name, bool *ret_changed)
{
	struct arena a = { 0 };
	struct json *payload = NULL;
	struct event e = { .kind = EVENT_TEAMMATE_IDLE,
		.agent = STR("claude"),
		.session = str_of(session),
		.at_us = now_us += 1000 };
	struct fleet_agent *about;

	assert_int_equal(json_parse(&a, arena_strf(&a, "{\"teammate_name\":\"%s\"}", name), 0, &payload, NULL), 0);
	e.payload = payload;
	about = fleet_see(f, &e, ret_changed);
	arena_release(&a);
	return about;
}

static void test_an_idle_teammate_is_the_one_that_is_named(void **state)
{
	static const char *const lead[] = { "AGENT_ID=lead", NULL }, *const bo[] = { "AGENT_ID=bo", NULL };
	_cleanup_(fleet_freep) struct fleet *f = fleet_new();
	struct fleet_agent *l = tell(f, "lead-1", EVENT_USER_PROMPT_SUBMIT, lead, 0, NULL), *b;
	bool changed;

	(void)state;
	tell(f, "plain", EVENT_USER_PROMPT_SUBMIT, NULL, 0, NULL);
	assert_ptr_equal(idle(f, "lead-1", "bo", &changed), l);
	assert_true(!changed && l->status == AGENT_STATUS_WORKING);
	assert_string_equal(idle(f, "plain", "bo", &changed)->session, "plain");
	assert_true(changed);
	b = tell(f, "bo-1", EVENT_USER_PROMPT_SUBMIT, bo, 0, NULL);
	assert_ptr_equal(idle(f, "lead-1", "bo", &changed), b);
	assert_true(changed && b->status == AGENT_STATUS_DONE);
	assert_ptr_equal(idle(f, "bo-1", "bo", &changed), b);
	assert_ptr_equal(idle(f, "lead-1", "lead", &changed), l);
	assert_true(changed);
}

static void test_who_coordinates_a_teammate(void **state)
{
	static const struct {
		const char *boss[3], *mate[3];
		bool found;
	} rows[] = {
		{ { "AGENT_ID=boss", NULL }, { "AGENT_ID=bo", "AGENT_PARENT=boss", NULL }, true },
		{ { "AGENT_LABEL=boss", NULL }, { "AGENT_ID=bo", "AGENT_PARENT=boss", NULL }, true },
		{ { "AGENT_ID=boss", "AGENT_MANAGES=al,bo", NULL }, { "AGENT_ID=bo", NULL }, true },
		{ { "AGENT_ID=boss", "AGENT_MANAGES=bo al", NULL }, { "AGENT_ID=bo", NULL }, true },
		{ { "AGENT_ID=boss", "AGENT_MANAGES=, bo ,", NULL }, { "AGENT_ID=bo", NULL }, true },
		{ { "AGENT_ID=boss", "AGENT_MANAGES=bob,abo", NULL }, { "AGENT_ID=bo", NULL }, false },
		{ { "AGENT_ID=boss", NULL }, { "AGENT_ID=bo", "AGENT_PARENT=other", NULL }, false },
		{ { "AGENT_ID=boss", NULL }, { "AGENT_ID=bo", "AGENT_PARENT=bo", NULL }, false },
	};

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		_cleanup_(fleet_freep) struct fleet *f = fleet_new();
		struct fleet_agent *boss = tell(f, "boss-1", EVENT_STOP, rows[i].boss, 0, NULL);
		struct fleet_agent *mate = tell(f, "bo-1", EVENT_STOP, rows[i].mate, 0, NULL);

		assert_ptr_equal(fleet_coordinator(f, mate, STR("bo")), rows[i].found ? boss : NULL);
	}
}

static void test_the_table_is_bounded_by_who_was_heard_last(void **state)
{
	_cleanup_(fleet_freep) struct fleet *f = fleet_new();
	char session[32];
	unsigned n = 0;

	(void)state;
	for (int i = 0; i < FLEET_AGENTS_MAX + 10; i++) {
		snprintf(session, sizeof session, "session-%04d", i);
		tell(f, session, EVENT_STOP, NULL, 0, NULL);
		tell(f, "session-0000", EVENT_STOP, NULL, 0, NULL);
	}
	for (struct fleet_agent *a = fleet_first(f); a; a = a->older)
		n++;
	assert_int_equal(n, FLEET_AGENTS_MAX);
	assert_non_null(fleet_find(f, STR("session-0000")));
	assert_null(fleet_find(f, STR("session-0001")));
}

static void fill(struct fleet *f, const char *text)
{
	struct arena a = { 0 };
	struct json *rows = NULL;

	assert_int_equal(json_parse(&a, str_of(text), 0, &rows, NULL), 0);
	fleet_fill(f, rows);
	arena_release(&a);
}

static void test_rows_change_nothing_that_was_heard_later(void **state)
{
	_cleanup_(fleet_freep) struct fleet *f = fleet_new();

	(void)state;
	tell(f, "live", EVENT_USER_PROMPT_SUBMIT, NULL, 0, NULL);
	fill(f,
		"{\"agents\":[{\"agent\":\"claude\",\"session\":\"live\",\"status\":1,\"since\":5,\"seen\":5},"
		"{\"agent\":\"claude\",\"session\":\"old\",\"status\":4,\"since\":5,\"seen\":5,\"checked\":9},"
		"{\"agent\":\"claude\",\"session\":\"bad\",\"status\":77},{\"session\":3},7,"
		"{\"agent\":\"claude\",\"session\":\"gone\",\"status\":1,\"since\":5,\"seen\":5,\"ended\":1,\"host\":{"
		"\"env\":"
		"{\"AGENT_ID\":\"w9\",\"X\":[]}}}],\"listeners\":[{\"uid\":\"no\"},{}]}");
	assert_true(fleet_known(f));
	assert_int_equal(fleet_find(f, STR("live"))->status, AGENT_STATUS_WORKING);
	assert_int_equal(fleet_find(f, STR("old"))->status, AGENT_STATUS_CHECKED);
	assert_true(fleet_find(f, STR("w9"))->ended);
	assert_null(fleet_find(f, STR("bad")));
	/* What came by the spool. */
	fill(f,
		"{\"agents\":[{\"agent\":\"claude\",\"session\":\"live\",\"status\":1,\"since\":1900000000000000,"
		"\"seen\":"
		"1900000000000000}]}");
	assert_int_equal(fleet_find(f, STR("live"))->status, AGENT_STATUS_DONE);
	fill(f, "7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_an_agent_is),
		cmocka_unit_test(test_whoever_starts_at_a_place_takes_it),
		cmocka_unit_test(test_an_agent_that_another_one_runs_is_its_child),
		cmocka_unit_test(test_only_changes_are_changes),
		cmocka_unit_test(test_an_idle_teammate_is_the_one_that_is_named),
		cmocka_unit_test(test_who_coordinates_a_teammate),
		cmocka_unit_test(test_the_table_is_bounded_by_who_was_heard_last),
		cmocka_unit_test(test_rows_change_nothing_that_was_heard_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
