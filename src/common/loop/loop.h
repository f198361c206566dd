/* loop: the one event loop of the daemon, a façade over libevent.
 *
 * DESIGN. One thread runs loop_run(). It waits for file descriptors, timers, signals and posts from other threads,
 * runs their callbacks, and then the before-sleep step, where one write to the journal serves all events of an
 * iteration. No callback may block or take longer than a millisecond; what takes longer is a job, which runs on a
 * worker thread and comes back as a callback on the loop. No callback ever runs on a foreign thread.
 *
 * Ownership: handles belong to whoever made them and are freed by their own _free(), also from inside
 * their callback. Only loop_post() may be called from other threads. */
#ifndef HOOKD_LOOP_LOOP_H
#define HOOKD_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/str.h"

struct loop;
struct loop_io;
struct loop_timer;
struct loop_signal;

struct loop *loop_new(unsigned workers);
void loop_free(struct loop *l);
DEFINE_FREEP(struct loop, loop_free);

/* Runs until loop_stop(). */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Called once per iteration, after all callbacks and before sleeping. */
void loop_before_sleep(struct loop *l, void (*fn)(void *arg), void *arg);

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

/* Watches fd for the events in `what` until freed or changed. The caller keeps ownership of fd. */
struct loop_io *loop_io_new(struct loop *l, int fd, int what, void (*fn)(int what, void *arg), void *arg);
void loop_io_set(struct loop_io *io, int what);
void loop_io_free(struct loop_io *io);

/* Fires once, `us` microseconds after loop_timer_set(); setting it again moves it, a negative time
 * disarms it. */
struct loop_timer *loop_timer_new(struct loop *l, void (*fn)(void *arg), void *arg);
void loop_timer_set(struct loop_timer *t, int64_t us);
void loop_timer_free(struct loop_timer *t);

struct loop_signal *loop_signal_new(struct loop *l, int signo, void (*fn)(int signo, void *arg), void *arg);
void loop_signal_free(struct loop_signal *s);

/* Runs fn(arg) on the loop thread soon. From any thread, in order of posting. */
void loop_post(struct loop *l, void (*fn)(void *arg), void *arg);

/* Who waits for a job: lanes of strict priority (pool.c). */
enum loop_lane {
	LOOP_TURN,       /* an agent */
	LOOP_CONTEXT,    /* an agent, which can continue without it */
	LOOP_PEOPLE,     /* somebody who asked */
	LOOP_BACKGROUND, /* nobody */
	LOOP_LANE_MAX,
};

/* Runs work(arg) on a worker thread, then done(arg) on the loop thread. From the loop thread only. */
void loop_submit_lane(struct loop *l, enum loop_lane lane, void (*work)(void *arg), void (*done)(void *arg), void *arg);
/* The same for a turn. */
void loop_submit(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg);

/* Lets the workers finish their current jobs, stops them, and runs the callbacks that are due: after it,
 * nothing runs on another thread on behalf of this loop. loop_free() does it too. */
void loop_stop_workers(struct loop *l);

/* Jobs submitted and not yet done; a stop waits for them. */
unsigned loop_jobs(const struct loop *l);

/* -- child.c: programs ------------------------------------------------------------------------- */

/* Child processes of the loop. It feeds, reads and watches them without ever blocking on them. A child leads its own
 * process group. When it times out, the group gets TERM, and KILL after another CHILD_KILL_MS. The run is over when
 * the first process exits, even if descendants still hold the pipes; what is left of the group is then killed. A
 * descendant that started its own session is left alone then, but ends with a child that times out, is killed, or
 * loses this process. Output past the limit is read and counted, so that writing never blocks. The process must ignore
 * SIGPIPE. */
struct loop_children;
struct loop_child;

enum { CHILD_KILL_MS = 2000 };

struct child_spec {
	const char *path; /* without a slash: looked for in the PATH of envp */
	char *const *argv, *const *envp;
	const char *dir;
	str input; /* for its stdin; must live until done */
	bool stays; /* its stdin stays open, for loop_child_write(); and it may take forever */
	int64_t timeout_us;
	size_t output_max; /* of stdout and of stderr */
};

struct child_result {
	int error;     /* -errno: it was never started */
	int exit_code; /* -1: ended by a signal */
	int signal;
	bool timed_out, killed; /* timed out; by loop_child_kill() */
	str out, err;           /* until the callback returns */
	uint64_t out_total, err_total;
	int64_t duration_us, timeout_us;
};

/* keeper: the program that ends what runs when this process is killed, see os_keeper_start(); NULL: none. */
struct loop_children *loop_children_new(struct loop *l, const char *keeper);
/* Kills what still runs, without calling back. */
void loop_children_free(struct loop_children *all);

/* Copies argv, envp and dir. done is called exactly once, never from inside this function; the child is gone after
 * it. */
struct loop_child *loop_child_start(struct loop_children *all, const struct child_spec *spec,
	void (*done)(const struct child_result *r, void *arg), void *arg);
/* More for its stdin; copied. -EPIPE: it does not read any more; -ENOBUFS: it is far behind. */
int loop_child_write(struct loop_child *c, str bytes);
/* It is expected to end soon. */
void loop_child_end_input(struct loop_child *c);
/* With KILL at once, without TERM first. */
void loop_child_kill(struct loop_child *c);

/* Microseconds of CPU time the loop thread has used; from any thread, at most an iteration old. */
int64_t loop_cpu_us(const struct loop *l);

#endif
