/* loop/child.c: programs that behave, and programs that do not. */
#include "test.h"

#include <signal.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "loop/loop.h"

struct seen {
	struct loop *loop;
	struct child_result result;
	char *out, *err;
	int calls;
};

static void note(const struct child_result *r, void *arg)
{
	struct seen *s = arg;

	s->result = *r;
	s->out = xstrndup(r->out.p, r->out.n);
	s->err = xstrndup(r->err.p, r->err.n);
	s->calls++;
	loop_stop(s->loop);
}

static void forget(struct seen *s)
{
	free(s->out);
	free(s->err);
}

static struct seen run(const char *text, str input, int64_t timeout_us, size_t max)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)text, NULL },
	     *env[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	struct child_spec spec = { .path = argv[0],
		.argv = argv,
		.envp = env,
		.dir = "/",
		.input = input,
		.timeout_us = timeout_us,
		.output_max = max };
	struct seen s = { .loop = loop_new(0) };
	struct loop_children *all = loop_children_new(s.loop, NULL);

	loop_child_start(all, &spec, note, &s);
	assert_int_equal(s.calls, 0); /* never from inside */
	loop_run(s.loop);
	assert_int_equal(s.calls, 1);
	loop_children_free(all);
	loop_free(s.loop);
	return s;
}

struct talk {
	struct seen seen;
	struct loop_child *child;
	struct loop_timer *timer;
	int said;
};

/* One word at a time, and then no more. */
static void say(void *arg)
{
	struct talk *t = arg;

	if (t->said++ < 3) {
		assert_int_equal(loop_child_write(t->child, STR("word\n")), 0);
		loop_timer_set(t->timer, 20 * USEC_PER_MSEC);
		return;
	}
	loop_child_end_input(t->child);
	assert_int_equal(loop_child_write(t->child, STR("late")), -EPIPE);
}

static void one_that_stays_is_told_more(void **state)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)"while read x; do echo got $x; done; exit 4", NULL },
	     *env[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	struct child_spec spec = { .path = argv[0],
		.argv = argv,
		.envp = env,
		.dir = "/",
		.stays = true,
		.output_max = 1000 };
	struct talk t = { .seen = { .loop = loop_new(0) } };
	struct loop_children *all = loop_children_new(t.seen.loop, NULL);
	(void)state;

	t.timer = loop_timer_new(t.seen.loop, say, &t);
	t.child = loop_child_start(all, &spec, note, &t.seen);
	loop_timer_set(t.timer, USEC_PER_MSEC);
	loop_run(t.seen.loop);
	assert_int_equal(t.seen.result.exit_code, 4);
	assert_string_equal(t.seen.out, "got word\ngot word\ngot word\n");
	loop_timer_free(t.timer);
	loop_children_free(all);
	loop_free(t.seen.loop);
	forget(&t.seen);
}

static void input_and_output(void **state)
{
	struct seen s = run("cat; echo err >&2; exit 7", STR("hello"), 5 * USEC_PER_SEC, 1000);

	(void)state;
	assert_string_equal(s.out, "hello");
	assert_string_equal(s.err, "err\n");
	assert_int_equal(s.result.exit_code, 7);
	assert_int_equal(s.result.error, 0);
	forget(&s);
}

static void output_past_the_limit_is_counted(void **state)
{
	struct seen s = run("head -c 500000 /dev/zero | tr '\\0' x", STR(""), 5 * USEC_PER_SEC, 1000);

	(void)state;
	assert_int_equal(strlen(s.out), 1000);
	assert_int_equal(s.result.out_total, 500000);
	forget(&s);
}

static void input_that_nobody_reads(void **state)
{
	char *large = xcalloc(1, MIB(1));
	struct seen s = run("exit 0", str_n(large, MIB(1)), 5 * USEC_PER_SEC, 1000);

	(void)state;
	assert_int_equal(s.result.exit_code, 0);
	forget(&s);
	free(large);
}

static void past_its_time(void **state)
{
	int64_t began = clock_mono_us();
	struct seen s = run("sleep 30", STR(""), 100000, 1000);

	(void)state;
	assert_true(s.result.timed_out);
	assert_int_equal(s.result.signal, SIGTERM);
	assert_true(clock_mono_us() - began < 2 * USEC_PER_SEC);
	forget(&s);
	s = run("trap '' TERM; while :; do sleep 1; done", STR(""), 100000, 1000);
	assert_true(s.result.timed_out);
	assert_int_equal(s.result.signal, SIGKILL);
	forget(&s);
}

static void signals_have_their_defaults(void **state)
{
	struct seen s;

	(void)state;
	s = run("kill -PIPE $$; exit 3", STR(""), 5 * USEC_PER_SEC, 1000);
	assert_int_equal(s.result.exit_code, -1);
	assert_int_equal(s.result.signal, SIGPIPE);
	forget(&s);
}

static void what_cannot_be_started(void **state)
{
	static const struct {
		const char *path;
		int code;
	} rows[] = { { "/nonexistent", 127 }, { "/", 126 }, { "no-such-program", 127 }, { "/etc/passwd", 126 },
		{ "true", 0 } };

	(void)state;
	for (size_t i = 0; i < countof(rows); i++) {
		char *argv[] = { (char *)rows[i].path, NULL },
		     *env[] = { (char *)"PATH=:x:/nowhere:/usr/bin:/bin", NULL };
		struct child_spec spec = { .path = argv[0],
			.argv = argv,
			.envp = env,
			.dir = "/nowhere",
			.timeout_us = 5 * USEC_PER_SEC,
			.output_max = 1000 };
		struct seen s = { .loop = loop_new(0) };
		struct loop_children *all = loop_children_new(s.loop, NULL);

		loop_child_start(all, &spec, note, &s);
		loop_run(s.loop);
		assert_int_equal(s.result.exit_code, rows[i].code);
		forget(&s);
		loop_children_free(all);
		loop_free(s.loop);
	}
}

static void killed_and_abandoned(void **state)
{
	char *argv[] = { (char *)"/bin/sleep", (char *)"30", NULL }, *env[] = { NULL };
	struct child_spec spec = { .path = argv[0],
		.argv = argv,
		.envp = env,
		.dir = "/",
		.timeout_us = 60 * USEC_PER_SEC,
		.output_max = 1000 };
	struct seen s = { .loop = loop_new(0) };
	struct loop_children *all = loop_children_new(s.loop, NULL);

	(void)state;
	loop_child_start(all, &spec, NULL, NULL); /* still runs when the others are freed */
	loop_child_kill(loop_child_start(all, &spec, note, &s));
	loop_run(s.loop);
	assert_true(s.result.killed);
	assert_int_equal(s.result.signal, SIGKILL);
	forget(&s);
	loop_children_free(all);
	loop_free(s.loop);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_stays_is_told_more),
		cmocka_unit_test(input_and_output),
		cmocka_unit_test(output_past_the_limit_is_counted),
		cmocka_unit_test(input_that_nobody_reads),
		cmocka_unit_test(past_its_time),
		cmocka_unit_test(signals_have_their_defaults),
		cmocka_unit_test(what_cannot_be_started),
		cmocka_unit_test(killed_and_abandoned),
	};

	signal(SIGPIPE, SIG_IGN); /* as the daemon does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
