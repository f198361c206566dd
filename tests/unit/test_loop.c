/* loop: what runs where, and in which order. */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "loop/loop.h"

/* One test's loop and what happened in it, as a line of letters. */
struct scene {
	struct loop *l;
	char story[256];
	_Atomic int count;
	pthread_t thread;
	int fds[2];
	struct loop_io *io;
	struct loop_timer *timer, *other;
};

static void say(struct scene *s, char c)
{
	size_t n = strlen(s->story);

	/* Callbacks belong to the loop's thread, whoever caused them. */
	assert_true(pthread_equal(pthread_self(), s->thread));
	if (n + 1 < sizeof s->story)
		s->story[n] = c;
}

static void scene_start(struct scene *s, unsigned workers)
{
	*s = (struct scene){ .thread = pthread_self(), .fds = { -1, -1 } };
	s->l = loop_new(workers);
	assert_non_null(s->l);
}

static void say_a(void *arg)
{
	say(arg, 'a');
}
static void say_b(void *arg)
{
	say(arg, 'b');
}
static void say_s(void *arg)
{
	say(arg, 's');
}

static void say_stop(void *arg)
{
	struct scene *s = arg;

	say(s, '.');
	loop_stop(s->l);
}

/* -- posts ------------------------------------------------------------------------------------- */

static void test_posts_in_order(void **state)
{
	struct scene s;

	scene_start(&s, 0);
	loop_post(s.l, say_a, &s);
	loop_post(s.l, say_b, &s);
	loop_post(s.l, say_a, &s);
	loop_post(s.l, say_stop, &s);
	loop_run(s.l);
	assert_string_equal(s.story, "aba.");
	loop_free(s.l);
	loop_free(NULL);
}

static void post_again(void *arg)
{
	struct scene *s = arg;

	say(s, 'p');
	loop_post(s->l, s->count++ < 3 ? post_again : say_stop, s);
}

/* A post from inside a post comes in a later iteration, after the step before sleeping. */
static void test_before_sleep(void **state)
{
	struct scene s;

	scene_start(&s, 0);
	loop_before_sleep(s.l, say_s, &s);
	loop_post(s.l, post_again, &s);
	loop_run(s.l);
	assert_string_equal(s.story, "pspspsps.s");
	loop_free(s.l);
}

enum { POSTERS = 4, POSTS = 500 };

static void count_post(void *arg)
{
	struct scene *s = arg;

	assert_true(pthread_equal(pthread_self(), s->thread));
	if (++s->count == POSTERS * POSTS)
		loop_stop(s->l);
}

static void *post_many(void *arg)
{
	struct scene *s = arg;

	for (int i = 0; i < POSTS; i++)
		loop_post(s->l, count_post, s);
	return NULL;
}

static void test_posts_from_threads(void **state)
{
	pthread_t t[POSTERS];
	struct scene s;

	scene_start(&s, 0);
	for (int i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, post_many, &s), 0);
	loop_run(s.l);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(s.count, POSTERS * POSTS);
	loop_free(s.l);
}

/* -- jobs -------------------------------------------------------------------------------------- */

struct job {
	struct scene *s;
	pthread_t ran_on;
	int result;
};

enum { JOBS = 40 };

static void work(void *arg)
{
	struct job *j = arg;

	j->ran_on = pthread_self();
	j->result = 42;
}

static void done(void *arg)
{
	struct job *j = arg;

	assert_true(pthread_equal(pthread_self(), j->s->thread));
	assert_false(pthread_equal(j->ran_on, j->s->thread));
	assert_int_equal(j->result, 42);
	if (++j->s->count == JOBS) {
		assert_int_equal(loop_jobs(j->s->l), 0);
		loop_stop(j->s->l);
	}
}

static void test_jobs(void **state)
{
	struct job jobs[JOBS] = { 0 };
	struct scene s;

	scene_start(&s, 2);
	for (int i = 0; i < JOBS; i++) {
		jobs[i].s = &s;
		loop_submit(s.l, work, done, &jobs[i]);
	}
	assert_int_equal(loop_jobs(s.l), JOBS);
	loop_run(s.l);
	assert_int_equal(s.count, JOBS);
	loop_free(s.l);
}

/* What was submitted is finished, and its callback run, even if the loop does not run any more. */
static void test_stop_workers(void **state)
{
	struct job jobs[JOBS - 1] = { 0 };
	struct scene s;

	scene_start(&s, 2);
	for (int i = 0; i < JOBS - 1; i++) {
		jobs[i].s = &s;
		loop_submit(s.l, work, done, &jobs[i]);
	}
	loop_stop_workers(s.l);
	assert_int_equal(s.count, JOBS - 1);
	assert_int_equal(loop_jobs(s.l), 0);
	loop_stop_workers(s.l);
	loop_free(s.l);
}

/* -- timers ------------------------------------------------------------------------------------ */

static void test_timers_in_order(void **state)
{
	struct loop_timer *a, *b, *never, *stop;
	struct scene s;

	scene_start(&s, 0);
	a = loop_timer_new(s.l, say_a, &s);
	b = loop_timer_new(s.l, say_b, &s);
	never = loop_timer_new(s.l, say_s, &s);
	stop = loop_timer_new(s.l, say_stop, &s);
	loop_timer_set(never, 5000);
	loop_timer_set(b, 20000);
	loop_timer_set(a, 60000);
	loop_timer_set(a, 10000); /* moved, not doubled */
	loop_timer_set(stop, 40000);
	loop_timer_set(never, -1);
	loop_run(s.l);
	assert_string_equal(s.story, "ab.");
	loop_timer_free(a);
	loop_timer_free(b);
	loop_timer_free(never);
	loop_timer_free(stop);
	loop_timer_free(NULL);
	loop_free(s.l);
}

static void set_again_then_free(void *arg)
{
	struct scene *s = arg;

	say(s, 't');
	if (++s->count < 3) {
		loop_timer_set(s->timer, 0);
		return;
	}
	/* Also from inside its own callback. */
	loop_timer_free(s->timer);
	loop_timer_free(s->other);
	loop_stop(s->l);
}

static void test_timer_frees_itself(void **state)
{
	struct scene s;

	scene_start(&s, 0);
	s.timer = loop_timer_new(s.l, set_again_then_free, &s);
	s.other = loop_timer_new(s.l, say_a, &s);
	loop_timer_set(s.other, 10 * INT64_C(1000000));
	loop_timer_set(s.timer, 1000);
	loop_run(s.l);
	assert_string_equal(s.story, "ttt");
	loop_free(s.l);
}

/* -- descriptors and signals ------------------------------------------------------------------- */

static void on_io(int what, void *arg)
{
	struct scene *s = arg;

	if (what & LOOP_WRITE) {
		say(s, 'w');
		assert_int_equal(write(s->fds[1], "xy", 2), 2);
		loop_io_set(s->io, 0); /* quiet until somebody says otherwise */
	}
}

static void on_readable(int what, void *arg)
{
	struct scene *s = arg;
	char c;

	assert_int_equal(what, LOOP_READ);
	assert_int_equal(read(s->fds[0], &c, 1), 1);
	say(s, c);
	if (c == 'y')
		loop_stop(s->l);
}

static void test_descriptors(void **state)
{
	struct loop_io *in;
	struct scene s;

	scene_start(&s, 0);
	assert_int_equal(pipe2(s.fds, O_CLOEXEC | O_NONBLOCK), 0);
	s.io = loop_io_new(s.l, s.fds[1], 0, on_io, &s);
	in = loop_io_new(s.l, s.fds[0], LOOP_READ, on_readable, &s);
	loop_io_set(s.io, LOOP_WRITE);
	loop_run(s.l);
	assert_string_equal(s.story, "wxy");
	loop_io_free(s.io);
	loop_io_free(in);
	loop_io_free(NULL);
	loop_free(s.l);
	close(s.fds[0]);
	close(s.fds[1]);
}

static void free_itself(int what, void *arg)
{
	struct scene *s = arg;

	(void)what;
	say(s, 'f');
	loop_io_free(s->io);
	loop_post(s->l, say_stop, s);
}

static void test_descriptor_frees_itself(void **state)
{
	struct scene s;

	scene_start(&s, 0);
	assert_int_equal(pipe2(s.fds, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(write(s.fds[1], "abc", 3), 3);
	s.io = loop_io_new(s.l, s.fds[0], LOOP_READ, free_itself, &s);
	loop_run(s.l);
	assert_string_equal(s.story, "f.");
	loop_free(s.l);
	close(s.fds[0]);
	close(s.fds[1]);
}

static void on_signal(int signo, void *arg)
{
	assert_int_equal(signo, SIGUSR1);
	say_stop(arg);
}

static void raise_signal(void *arg)
{
	say(arg, 'r');
	raise(SIGUSR1);
}

static void test_signals(void **state)
{
	struct loop_signal *sig;
	struct scene s;

	scene_start(&s, 2);
	sig = loop_signal_new(s.l, SIGUSR1, on_signal, &s);
	loop_post(s.l, raise_signal, &s);
	loop_run(s.l);
	assert_string_equal(s.story, "r.");
	loop_signal_free(sig);
	loop_signal_free(NULL);
	assert_true(loop_cpu_us(s.l) >= 0);
	loop_free(s.l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_posts_in_order),
		cmocka_unit_test(test_before_sleep),
		cmocka_unit_test(test_posts_from_threads),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_stop_workers),
		cmocka_unit_test(test_timers_in_order),
		cmocka_unit_test(test_timer_frees_itself),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_descriptor_frees_itself),
		cmocka_unit_test(test_signals),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
