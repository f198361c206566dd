/* Calls that survive a crash of what they call. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macro.h"
#include "os/os.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static volatile int sink, *volatile nowhere = (volatile int *)(uintptr_t)64;

static void read_nowhere(void *arg)
{
	sink = *nowhere;
}

static void write_nowhere(void *arg)
{
	*nowhere = 1;
}

static void give_up(void *arg)
{
	abort();
}

static int dig(volatile char *above)
{
	volatile char here[4096];

	here[0] = *above;
	return *above ? 0 : dig(here) + here[0];
}

static void run_out_of_stack(void *arg)
{
	char c = 0;

	sink = dig(&c);
}

static void count(void *arg)
{
	++*(int *)arg;
}

static void crash_inside(void *arg)
{
	*(int *)arg = os_call_guarded(read_nowhere, NULL);
	read_nowhere(NULL);
}

static void test_a_crash_comes_back_as_its_signal(void **state)
{
	int n = 0;

	os_catch_crashes(); /* again: the test library has handlers of its own around every test */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(os_call_guarded(read_nowhere, NULL), SIGSEGV);
		assert_int_equal(os_call_guarded(write_nowhere, NULL), SIGSEGV);
		assert_int_equal(os_call_guarded(give_up, NULL), SIGABRT);
		assert_int_equal(os_call_guarded(count, &n), 0);
	}
	assert_int_equal(n, 3);
}

static void test_a_stack_that_runs_out_is_a_crash_like_any_other(void **state)
{
	os_catch_crashes(); /* again: the test library has handlers of its own around every test */
	assert_int_equal(os_call_guarded(run_out_of_stack, NULL), SIGSEGV);
	assert_int_equal(os_call_guarded(run_out_of_stack, NULL), SIGSEGV);
}

static void test_calls_within_calls_each_end_their_own(void **state)
{
	int inner = 0;

	os_catch_crashes(); /* again: the test library has handlers of its own around every test */
	assert_int_equal(os_call_guarded(crash_inside, &inner), SIGSEGV);
	assert_int_equal(inner, SIGSEGV);
}

static void *crash_in_thread(void *arg)
{
	*(int *)arg = os_call_guarded(read_nowhere, NULL);
	return NULL;
}

static void test_every_thread_has_its_own(void **state)
{
	pthread_t threads[4];
	int got[4] = { 0 };

	os_catch_crashes(); /* again: the test library has handlers of its own around every test */
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, crash_in_thread, &got[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(got[i], SIGSEGV);
	}
}

/* Runs fn in a child and says how it ended. */
static int fate_of(void (*fn)(void *arg))
{
	struct rlimit none = { 0, 0 };
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSEGV, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		os_catch_crashes();
		fn(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void send_segv_while_guarded(void *arg)
{
	kill(getpid(), SIGSEGV);
	pause();
}

static void guard_a_kill(void *arg)
{
	(void)os_call_guarded(send_segv_while_guarded, NULL);
}

static void test_other_crashes_end_the_process(void **state)
{
	int n = 0, status;

	os_catch_crashes(); /* again: the test library has handlers of its own around every test */
	assert_int_equal(os_call_guarded(count, &n), 0);
	status = fate_of(read_nowhere);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = fate_of(give_up);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	status = fate_of(guard_a_kill);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* The last two are for builds without sanitizers, which give every frame a shadow of its own and end a process in their
 * own way. */
int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_a_crash_comes_back_as_its_signal),
		cmocka_unit_test(test_calls_within_calls_each_end_their_own),
		cmocka_unit_test(test_every_thread_has_its_own),
		cmocka_unit_test(test_a_stack_that_runs_out_is_a_crash_like_any_other),
		cmocka_unit_test(test_other_crashes_end_the_process),
	};
	const struct CMUnitTest some[] = { all[0], all[1], all[2] };

	return SANITIZED ? cmocka_run_group_tests_name("crash", some, NULL, NULL)
			 : cmocka_run_group_tests_name("crash", all, NULL, NULL);
}
