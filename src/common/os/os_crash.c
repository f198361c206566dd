/* Calls that survive a crash of what they call. */
#include "os/os.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room for the handler when it was the stack that ran out; saved registers alone take up to 12 KiB. */
enum { HANDLER_STACK = 64 << 10 };

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
enum { CRASHES = sizeof crashes / sizeof crashes[0] };

struct call {
	struct call *around;
	sigjmp_buf back;
};

static __thread struct call *volatile current; /* the innermost guarded call of this thread */
static __thread void *handler_stack;
static struct sigaction before[CRASHES]; /* what happened on a crash before we took care of it */
static pthread_key_t stack_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* This thread did it itself: no kill(2) from outside. */
static bool is_own(int signal, const siginfo_t *info)
{
	return signal == SIGABRT ? info->si_code == SI_TKILL && info->si_pid == getpid() : info->si_code > 0;
}

/* Signals stay unblocked (SA_NODEFER), so that jumping away leaves nothing to be put back. */
static void on_crash(int signal, siginfo_t *info, void *context)
{
	struct call *call = current;

	if (call && is_own(signal, info))
		siglongjmp(call->back, signal);
	/* Somebody else's crash: what would have happened without us. A fault happens again by itself. */
	for (int i = 0; i < CRASHES; i++)
		if (crashes[i] == signal)
			sigaction(signal, &before[i], NULL);
	if (!is_own(signal, info) || signal == SIGABRT)
		raise(signal);
}

static void free_stack(void *stack)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	sigaltstack(&none, NULL);
	munmap(stack, HANDLER_STACK);
}

static void make_key(void)
{
	if (pthread_key_create(&stack_key, free_stack) != 0)
		abort();
}

void os_catch_crashes(void)
{
	struct sigaction action = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER }, old;

	pthread_once(&once, make_key);
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < CRASHES; i++)
		if (sigaction(crashes[i], &action, &old) == 0 && old.sa_sigaction != on_crash)
			before[i] = old;
}

/* Without memory for it an overflowing stack still ends the process, everything else is caught. */
static void give_stack(void)
{
	stack_t stack = { .ss_size = HANDLER_STACK };
	stack_t old;

	if (handler_stack)
		return;
	handler_stack = mmap(NULL, HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (handler_stack == MAP_FAILED) {
		handler_stack = NULL;
		return;
	}
	stack.ss_sp = handler_stack;
	if (sigaltstack(NULL, &old) == 0 && !(old.ss_flags & SS_DISABLE)) {
		munmap(handler_stack, HANDLER_STACK); /* somebody gave this thread one already */
		handler_stack = old.ss_sp;
		return;
	}
	if (sigaltstack(&stack, NULL) == 0)
		pthread_setspecific(stack_key, handler_stack);
}

int os_call_guarded(void (*fn)(void *arg), void *arg)
{
	struct call call = { .around = current };
	int signal;

	give_stack();
	signal = sigsetjmp(call.back, 0);
	if (signal == 0) {
		current = &call;
		fn(arg);
	}
	current = call.around;
	return signal;
}
