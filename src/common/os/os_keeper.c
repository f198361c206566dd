/* The keeper: see os.h. Messages are eight bytes, so that a pipe takes each whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "os/os.h"

#if defined(__linux__)
#include <sys/prctl.h>

const char *const os_this_program = "/proc/self/exe";

struct message {
	int32_t word, pid;
};

int os_keeper_tell(int keeper, enum os_keeper_word word, pid_t child)
{
	struct message m = { word, child };
	ssize_t n;

	do
		n = write(keeper, &m, sizeof m);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof m ? 0 : n < 0 ? -errno : -EIO;
}

/* -- starting it ------------------------------------------------------------------------------- */

/* Between fork and exec. The second fork makes init its parent: nobody has to wait for it. */
static _Noreturn void become(const char *program, int fd)
{
	char *const argv[] = { (char *)"hooks-keeper", (char *)"keeper", (char *)"--fd", (char *)"3", NULL };
	char *const env[] = { NULL };
	int null = open("/dev/null", O_RDWR);

	setsid();
	if (fork() != 0)
		_exit(0);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	/* Out of the way first: one of them may be 3. */
	fd = fcntl(fd, F_DUPFD, 4);
	dup2(fd, 3);
	os_close_from(4);
	if (chdir("/") == 0)
		execve(program, argv, env);
	_exit(127);
}

int os_keeper_start(const char *program)
{
	int fds[2], r = 0;
	sigset_t all, old;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		become(program, fds[0]);
	if (pid < 0)
		r = -errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fds[0]);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (r < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0) {
		r = r < 0 ? r : -errno;
		close(fds[1]);
		return r;
	}
	return fds[1];
}

/* -- being it ---------------------------------------------------------------------------------- */

enum { CHILDREN_MAX = 4096, PROCESSES_MAX = 32768, ROUNDS = 8 };

static struct process {
	pid_t pid, parent, group;
	bool ours;
} processes[PROCESSES_MAX];
static size_t nprocesses;

/* "4711 (a name (with) all) S 4242 4711 …": parent and group follow the state. */
static bool read_process(const char *pid, struct process *ret)
{
	char path[64], text[512], *end;
	int fd, parent, group;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d %d", &parent, &group) != 2)
		return false;
	*ret = (struct process){ .pid = (pid_t)strtol(pid, NULL, 10), .parent = parent, .group = group };
	return true;
}

static void list_processes(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	nprocesses = 0;
	while (d && nprocesses < PROCESSES_MAX && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && read_process(e->d_name, &processes[nprocesses]))
			nprocesses++;
	if (d)
		closedir(d);
}

static bool is_ours(pid_t pid)
{
	for (size_t i = 0; i < nprocesses; i++)
		if (processes[i].pid == pid)
			return processes[i].ours;
	return false;
}

/* Marks the child, its descendants and its group. */
static void mark(pid_t child)
{
	bool more = true;

	for (size_t i = 0; i < nprocesses; i++)
		processes[i].ours = processes[i].pid == child || processes[i].group == child;
	while (more) {
		more = false;
		for (size_t i = 0; i < nprocesses; i++)
			if (!processes[i].ours && is_ours(processes[i].parent))
				processes[i].ours = more = true;
	}
}

/* Whoever is killed may have started another one just before: until there is none. */
static void kill_descendants(pid_t child, bool gently)
{
	bool more = true;

	for (int round = 0; round < ROUNDS && more; round++) {
		more = false;
		list_processes();
		mark(child);
		for (size_t i = 0; i < nprocesses; i++) {
			const struct process *p = &processes[i];

			if (!p->ours || (gently && p->group == child))
				continue;
			more |= kill(p->pid, SIGKILL) == 0 && p->pid != child;
		}
	}
	if (!gently) {
		kill(-child, SIGKILL);
		return;
	}
	kill(-child, SIGTERM);
	kill(-child, SIGCONT); /* who is stopped cannot end */
}

void os_keeper_run(int fd)
{
	static pid_t children[CHILDREN_MAX];
	struct message m;
	size_t n = 0;
	sigset_t all;
	ssize_t got;

	/* It ends with those who talk to it, and not before. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "hooks-keeper");
	while ((got = read(fd, &m, sizeof m)) == (ssize_t)sizeof m || (got < 0 && errno == EINTR)) {
		if (got < 0)
			continue;
		if (m.word == OS_KEEPER_STARTED && n < CHILDREN_MAX)
			children[n++] = m.pid;
		for (size_t i = 0; i < n && m.word == OS_KEEPER_ENDED; i++)
			if (children[i] == m.pid)
				children[i--] = children[--n];
		if (m.word == OS_KEEPER_EXPIRED || m.word == OS_KEEPER_KILL)
			kill_descendants(m.pid, m.word == OS_KEEPER_EXPIRED);
	}
	for (size_t i = 0; i < n; i++)
		kill_descendants(children[i], false);
}

#else

const char *const os_this_program = NULL;

int os_keeper_start(const char *program)
{
	(void)program;
	return -ENOSYS;
}

int os_keeper_tell(int keeper, enum os_keeper_word word, pid_t child)
{
	(void)keeper;
	(void)word;
	(void)child;
	return -EPIPE;
}

void os_keeper_run(int fd)
{
	(void)fd;
}

#endif
