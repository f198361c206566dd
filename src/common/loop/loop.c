#include "loop/pool.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "os/os.h"

enum { RELIEF_MS = 60 };

/* First in, first out, shared between threads. */
struct task_queue {
	pthread_mutex_t lock;
	struct task *first, **last;
};

struct loop {
	struct event_base *base;
	struct event wake;
	int wake_fds[2];
	struct task_queue back;
	struct pool *pool;
	struct event relief; /* looks after work that finds no thread */
	_Atomic bool waking; /* a wake-up is already on its way */
	unsigned pending_jobs;
	bool stopping;
	void (*before_sleep)(void *arg);
	void *before_sleep_arg;
	_Atomic int64_t cpu_us;
};

static void task_queue_init(struct task_queue *q)
{
	pthread_mutex_init(&q->lock, NULL);
	q->last = &q->first;
}

static void task_queue_push(struct task_queue *q, struct task *t)
{
	t->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->last = t;
	q->last = &t->next;
	pthread_mutex_unlock(&q->lock);
}

static struct task *task_queue_take_all(struct task_queue *q)
{
	struct task *all;

	pthread_mutex_lock(&q->lock);
	all = q->first;
	q->first = NULL;
	q->last = &q->first;
	pthread_mutex_unlock(&q->lock);
	return all;
}

static void hand_back(struct task *t, void *arg)
{
	struct loop *l = arg;

	task_queue_push(&l->back, t);
	if (!atomic_exchange(&l->waking, true))
		os_wake_send(l->wake_fds[1]);
}

static void run_tasks(struct loop *l)
{
	struct task *t, *next;

	/* Cleared before taking: a post that comes after the take wakes the loop again. */
	atomic_store(&l->waking, false);
	for (t = task_queue_take_all(&l->back); t; t = next) {
		next = t->next;
		if (t->work)
			l->pending_jobs--;
		t->done(t->arg);
		free(t);
	}
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	os_wake_drain((int)fd);
	run_tasks(arg);
}

static void look_after_pool(struct loop *l)
{
	const struct timeval soon = { .tv_usec = RELIEF_MS * USEC_PER_MSEC };

	if (!event_pending(&l->relief, EV_TIMEOUT, NULL))
		event_add(&l->relief, &soon);
}

static void on_relief(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;

	(void)fd;
	(void)what;
	if (pool_relieve(l->pool))
		look_after_pool(l);
}

/* Without memory for it, libevent forgets an event: a daemon that no longer accepts, or no longer hears signals, and
 * looks as if it ran. It gives up as everything else does. */
static void set_allocator(void)
{
	event_set_mem_functions(xmalloc, xrealloc, free);
}

struct loop *loop_new(unsigned workers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct loop *l = xcalloc(1, sizeof *l);
	struct event_config *config;

	pthread_once(&once, set_allocator);
	config = event_config_new();
	/* Deadlines are milliseconds; the precise timer costs nothing here. */
	event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NOLOCK);
	l->base = event_base_new_with_config(config);
	event_config_free(config);
	if (!l->base || os_wake_open(l->wake_fds) < 0) {
		if (l->base)
			event_base_free(l->base);
		free(l);
		return NULL;
	}
	task_queue_init(&l->back);
	event_assign(&l->wake, l->base, l->wake_fds[0], EV_READ | EV_PERSIST, on_wake, l);
	event_add(&l->wake, NULL);
	event_assign(&l->relief, l->base, -1, 0, on_relief, l);
	l->pool = pool_new(workers, hand_back, l);
	return l;
}

void loop_stop_workers(struct loop *l)
{
	if (!l)
		return;
	pool_stop(l->pool);
	run_tasks(l);
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	loop_stop_workers(l);
	pool_free(l->pool);
	event_del(&l->relief);
	event_del(&l->wake);
	os_wake_close(l->wake_fds);
	event_base_free(l->base);
	free(l);
}

void loop_run(struct loop *l)
{
	while (!l->stopping) {
		event_base_loop(l->base, EVLOOP_ONCE);
		if (l->before_sleep)
			l->before_sleep(l->before_sleep_arg);
		atomic_store_explicit(&l->cpu_us, os_thread_cpu_us(), memory_order_relaxed);
	}
}

void loop_stop(struct loop *l)
{
	l->stopping = true;
}

void loop_before_sleep(struct loop *l, void (*fn)(void *arg), void *arg)
{
	l->before_sleep = fn;
	l->before_sleep_arg = arg;
}

int64_t loop_cpu_us(const struct loop *l)
{
	return atomic_load_explicit(&l->cpu_us, memory_order_relaxed);
}

/* -- descriptors ------------------------------------------------------------------------------- */

struct loop_io {
	struct event ev;
	struct event_base *base;
	void (*fn)(int what, void *arg);
	void *arg;
	int fd, what;
};

static void on_io(evutil_socket_t fd, short what, void *arg)
{
	struct loop_io *io = arg;

	(void)fd;
	io->fn((what & EV_READ ? LOOP_READ : 0) | (what & EV_WRITE ? LOOP_WRITE : 0), io->arg);
}

static void io_add(struct loop_io *io)
{
	short what = EV_PERSIST;

	if (!io->what)
		return;
	if (io->what & LOOP_READ)
		what |= EV_READ;
	if (io->what & LOOP_WRITE)
		what |= EV_WRITE;
	event_assign(&io->ev, io->base, io->fd, what, on_io, io);
	event_add(&io->ev, NULL);
}

struct loop_io *loop_io_new(struct loop *l, int fd, int what, void (*fn)(int what, void *arg), void *arg)
{
	struct loop_io *io = xcalloc(1, sizeof *io);

	io->base = l->base;
	io->fd = fd;
	io->what = what;
	io->fn = fn;
	io->arg = arg;
	io_add(io);
	return io;
}

void loop_io_set(struct loop_io *io, int what)
{
	if (io->what == what)
		return;
	if (io->what)
		event_del(&io->ev);
	io->what = what;
	io_add(io);
}

void loop_io_free(struct loop_io *io)
{
	if (!io)
		return;
	if (io->what)
		event_del(&io->ev);
	free(io);
}

/* -- timers and signals ------------------------------------------------------------------------ */

struct loop_timer {
	struct event ev;
	void (*fn)(void *arg);
	void *arg;
};

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;

	(void)fd;
	(void)what;
	t->fn(t->arg);
}

struct loop_timer *loop_timer_new(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct loop_timer *t = xcalloc(1, sizeof *t);

	t->fn = fn;
	t->arg = arg;
	event_assign(&t->ev, l->base, -1, 0, on_timer, t);
	return t;
}

void loop_timer_set(struct loop_timer *t, int64_t us)
{
	struct timeval tv = { .tv_sec = us / USEC_PER_SEC, .tv_usec = us % USEC_PER_SEC };

	if (us < 0)
		event_del(&t->ev);
	else
		event_add(&t->ev, &tv);
}

void loop_timer_free(struct loop_timer *t)
{
	if (!t)
		return;
	event_del(&t->ev);
	free(t);
}

struct loop_signal {
	struct event ev;
	void (*fn)(int signo, void *arg);
	void *arg;
};

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
	struct loop_signal *s = arg;

	(void)what;
	s->fn((int)signo, s->arg);
}

struct loop_signal *loop_signal_new(struct loop *l, int signo, void (*fn)(int signo, void *arg), void *arg)
{
	struct loop_signal *s = xcalloc(1, sizeof *s);

	s->fn = fn;
	s->arg = arg;
	event_assign(&s->ev, l->base, signo, EV_SIGNAL | EV_PERSIST, on_signal, s);
	event_add(&s->ev, NULL);
	return s;
}

void loop_signal_free(struct loop_signal *s)
{
	if (!s)
		return;
	event_del(&s->ev);
	free(s);
}

/* -- work from and for other threads ----------------------------------------------------------- */

void loop_post(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct task *t = xcalloc(1, sizeof *t);

	t->done = fn;
	t->arg = arg;
	hand_back(t, l);
}

void loop_submit(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	loop_submit_lane(l, LOOP_TURN, work, done, arg);
}

void loop_submit_lane(struct loop *l, enum loop_lane lane, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	struct task *t = xcalloc(1, sizeof *t);

	t->work = work;
	t->done = done;
	t->arg = arg;
	t->lane = lane;
	l->pending_jobs++;
	pool_push(l->pool, t);
	look_after_pool(l);
}

unsigned loop_jobs(const struct loop *l)
{
	return l->pending_jobs;
}
