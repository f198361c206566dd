/* Starting a program in a process group of its own. */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/macro.h"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

/* A limit only ever gets lower. */
static void lower(int what, rlim_t to)
{
	struct rlimit r;

	if (getrlimit(what, &r) < 0)
		return;
	r.rlim_max = MIN(r.rlim_max, to);
	r.rlim_cur = MIN(r.rlim_cur, r.rlim_max);
	setrlimit(what, &r);
}

static void take_limits(unsigned cpu_seconds)
{
	lower(RLIMIT_CORE, 0);
	lower(RLIMIT_CPU, cpu_seconds);
	lower(RLIMIT_FSIZE, (rlim_t)1 << 30);
	lower(RLIMIT_NOFILE, 4096);
#ifdef RLIMIT_NPROC
	lower(RLIMIT_NPROC, 4096); /* of the whole user: a fence against runaways, no budget */
#endif
}

static void say(const char *text)
{
	(void)!write(2, text, strlen(text));
}

static _Noreturn void give_up(const char *what, const char *name, int code)
{
	say("hookd: ");
	say(what);
	say(name);
	say("\n");
	_exit(code);
}

static void take_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Looks where the program itself would look, and only in absolute places. */
static void exec_from_path(const struct os_child *c)
{
	size_t name = strlen(c->path), n;
	const char *dirs = "";
	char path[4096];
	int said = ENOENT;

	for (char *const *e = c->envp; *e; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			dirs = *e + 5;
	for (; *dirs; dirs += n + (dirs[n] == ':')) {
		n = strcspn(dirs, ":");
		if (dirs[0] != '/' || n + name + 2 > sizeof path)
			continue;
		memcpy(path, dirs, n);
		path[n] = '/';
		memcpy(path + n + 1, c->path, name + 1);
		execve(path, c->argv, c->envp);
		if (errno != ENOENT && errno != ENOTDIR)
			said = errno;
	}
	errno = said;
}

/* Between fork and exec: nothing but what is safe there. */
static _Noreturn void become(const struct os_child *c, pid_t parent)
{
	int fds[4], n = c->more > 0 ? 4 : 3;

	setpgid(0, 0);
#if defined(__linux__)
	/* A daemon that is killed takes its hooks with it. The keeper has to see whose child is whose, so without need
	 * this process does not die before it has looked; and what is left behind by its parent comes to this one, not
	 * to init. */
	if (c->keeper >= 0 && os_keeper_tell(c->keeper, OS_KEEPER_STARTED, getpid()) == 0)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	else
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have been killed just now. */
	if (getppid() != parent)
		_exit(126);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#else
	(void)parent;
#endif
	/* Out of the way first: one of them may be where another one belongs. */
	for (int i = 0; i < n; i++)
		fds[i] = fcntl(i < 3 ? c->fds[i] : c->more, F_DUPFD, n);
	for (int i = 0; i < n; i++)
		dup2(fds[i], i);
	os_close_from(n);
	take_signals();
	if (chdir(c->dir) < 0 && chdir("/") < 0)
		give_up("no directory to run in: ", c->dir, 126);
	take_limits(c->cpu_seconds);
	if (strchr(c->path, '/'))
		execve(c->path, c->argv, c->envp);
	else
		exec_from_path(c);
	give_up("cannot be started: ", c->path, errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

int os_child_start(const struct os_child *c, pid_t *ret)
{
	pid_t parent = getpid(), pid;
	sigset_t all, old;

	/* No handler of ours may run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		become(c, parent);
	if (pid > 0)
		setpgid(pid, pid); /* parent or child, whichever comes first */
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return -errno;
	*ret = pid;
	return 0;
}
