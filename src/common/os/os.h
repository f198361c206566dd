/* os: what POSIX does not have. Each call has one implementation for Linux and one that any POSIX system can run, so
 * that a port fills in faster versions and nothing else. Everything returns 0 or a file descriptor, or -errno. File
 * descriptors are close-on-exec. No allocation: hookc uses this too. */
#ifndef HOOKD_OS_OS_H
#define HOOKD_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The effective user of the process at the other end of a Unix socket. */
int os_peer_uid(int fd, uid_t *ret);
/* A Unix socket that listens at path, mode 0600, nonblocking; or -errno. A dead daemon's socket file is removed;
 * -EADDRINUSE: something else is in the way. At start only: it may change the working directory for a moment. */
int os_listen_unix(const char *path, int backlog);
/* The process that opened the other end (who listens, seen from a client). -ENOSYS where nobody can tell. */
int os_peer_pid(int fd, pid_t *ret);

/* An anonymous file in memory (elsewhere: an unlinked file in dir). It survives exec when the caller
 * clears close-on-exec. */
int os_memory_file(const char *name, const char *dir);

/* Closes every descriptor from this one on; safe between fork and exec. */
void os_close_from(int fd);

/* Path of the running program. */
int os_self_path(char *out, size_t size);

/* Gives back the pages of code and constants, most of which only the start needed; what is used again is mapped again,
 * at a microsecond for each few pages. */
void os_release_code(void);

/* When this machine started, by its wall clock; in microseconds. */
int64_t os_boot_us(void);

/* The first process at or above this one that is no shell: who had a command run. 0: not known. */
uint32_t os_program_above(uint32_t pid);

/* realpath() from the kernel's cache alone, so that no file system is asked and nothing can block. 0; -ENOENT:
 * nothing is there; -EAGAIN: it is not cached (always, where the system has no such call). */
int os_real_path_cached(const char *path, char *out, size_t size);

/* When the status of a file last changed, in wall-clock microseconds, from the kernel's cache alone. 0; -ENOENT,
 * -EAGAIN as above. */
int os_changed_cached(const char *path, int64_t *ret_us);

/* A file descriptor that becomes readable when a file appears in dir; os_watch_drain() clears it. -ENOSYS where the
 * system has no such call: the caller polls every few seconds instead. */
int os_watch_dir(const char *dir);
void os_watch_drain(int fd);
/* A descriptor that only holds a file: it can be looked at with fstat(), and closing it does not drop the locks that
 * the process has on it, as closing any other would. -ENOSYS where the system has no such thing. */
int os_hold_file(const char *path);
/* As os_watch_dir(), for a directory that is moved or removed, and for names that go from another one inside it. */
int os_watch_place(const char *dir, const char *inside);

/* Changes below directories that are added one by one. The name of what changed in one comes with the number that
 * adding it gave; name NULL: some were missed. -ENOSYS where the system cannot tell: then nobody is told. */
int os_tree_watch(void);
/* Its number, or -errno. One that is added again keeps it. */
int os_tree_watch_add(int watch, const char *dir);
enum os_tree_change { OS_TREE_FILE, OS_TREE_DIRECTORY, OS_TREE_MISSED };
/* What there is now; never waits. */
void os_tree_watch_read(int watch, void (*fn)(int number, enum os_tree_change change, const char *name, void *arg),
	void *arg);

/* A pair for waking a loop from another thread: write end, read end (the same one on Linux). */
int os_wake_open(int ret_fds[2]);
void os_wake_send(int fd);
void os_wake_drain(int fd);
void os_wake_close(int fds[2]);

/* A program to be started as the leader of a process group of its own, with limits on what it can use up, default
 * signals, and no descriptor but these. Where the system can do it, it gains no privileges and dies with us. */
/* With a keeper, so do its descendants, even those in sessions of their own. */
struct os_child {
	const char *path; /* without a slash: looked for in the PATH of envp */
	char *const *argv, *const *envp;
	const char *dir; /* its working directory; / when it cannot be entered */
	int fds[3];      /* stay the caller's */
	int more;        /* becomes descriptor 3, and stays the caller's too; 0: none */
	unsigned cpu_seconds;
	int keeper; /* os_keeper_start(), or -1 */
};

/* Not being able to exec is exit code 127 (nothing there) or 126, with a line on the child's stderr. */
int os_child_start(const struct os_child *c, pid_t *ret);

/* A process that knows which children run, and kills them and all their descendants when this process is gone, however
 * it went. Nothing else can: a process that is killed cannot tell its grandchildren. It is a program of its own
 * (`program keeper --fd N`, which calls os_keeper_run()), because a copy of this process would hold on to its memory.
 * -ENOSYS where descendants cannot be found; then a child's death with its parent is best effort. */
enum os_keeper_word {
	OS_KEEPER_STARTED = '+', /* said by the child itself */
	OS_KEEPER_ENDED = '-',   /* what it left running on purpose is left alone */
	OS_KEEPER_EXPIRED = 't', /* TERM for its group, KILL for what has left that */
	OS_KEEPER_KILL = 'k',    /* KILL for all */
};
int os_keeper_start(const char *program);
extern const char *const os_this_program; /* to be started again, even if its file was replaced; NULL: unknown */
/* -EPIPE: it is gone; the caller closes the descriptor and starts another. Never blocks. */
int os_keeper_tell(int keeper, enum os_keeper_word word, pid_t child);
/* The keeper itself: returns when nobody can tell it anything any more and everything is dead. */
void os_keeper_run(int fd);

/* Where at or after offset a file has bytes on disk: the holes of a sparse file read as NULs and need not be
 * read. -ENXIO: nowhere up to its end. Where the system cannot tell, everything is data and the answer is offset. */
long long os_next_data(int fd, long long offset);

/* Calls fn, on this thread. 0: it came back; else the signal of the crash that ended it: a fault, an abort, a stack
 * that ran out. fn must be safe to abandon half-way: it holds no lock, and what it allocates belongs to the caller
 * (an arena). Crashes outside such a call, and in other threads, end the process as usual. os_catch_crashes() comes
 * first, once in a process and again after anybody else has set handlers for these signals; before it nothing is
 * caught. */
void os_catch_crashes(void);
int os_call_guarded(void (*fn)(void *arg), void *arg);

/* Shown by ps and top; best effort. */
void os_thread_name(const char *name);

/* The calling thread gets only time that nothing else wants; best effort. */
void os_thread_last(void);
/* The same for the whole process and what it reads from disks; idle: not even a little time while others want it. */
void os_process_last(bool idle);
/* No more memory than this from now on: asking for more fails. */
void os_limit_memory(size_t bytes);
/* The machine is busy, or runs on a battery: what can wait should. False where nobody can tell. */
bool os_should_wait(void);

/* CPU time used by the calling thread, in microseconds. */
long long os_thread_cpu_us(void);

/* Few arenas, and freed memory goes back early: for a process that mostly sleeps. Before there are threads. */
void os_keep_memory_small(void);
/* Returns memory that the allocator keeps in reserve. */
void os_give_memory_back(void);

/* Home of this user's account, whatever the environment says. -ENOENT: there is no account. May ask a directory
 * service. */
int os_account_home(char *out, size_t size);

/* Resident memory of this process in bytes, or 0 when unknown. */
size_t os_resident_bytes(void);

#endif
