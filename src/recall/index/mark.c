/* A page that outlives the indexer. A file that is about to be parsed is named in it first, which costs a copy of its
 * name and no write: the page is mapped, and belongs to the system's cache whatever becomes of the process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "index/internal.h"

enum { FILE_CPU_S = 10 }; /* for one file, which has at most a mebibyte */

static const char magic[8] = "hookdmk1";
static struct mark *watched; /* by the handlers */

int mark_open(const char *dir, bool write, struct mark **ret)
{
	char path[FS_PATH];
	int r = index_file(dir, "mark", path);
	_close_ int fd = r < 0 ? -1 : open(path, (write ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	void *map;

	if (fd < 0)
		return r < 0 ? r : -errno;
	if (fstat(fd, &st) < 0 || (write && ftruncate(fd, sizeof(struct mark)) < 0))
		return -errno;
	if (!S_ISREG(st.st_mode) || (!write && st.st_size != sizeof(struct mark)))
		return -EBADMSG;
	map = mmap(NULL, sizeof(struct mark), PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret = map;
	if (memcmp((*ret)->magic, magic, sizeof magic) != 0 || (*ret)->length > PATH_BYTES_MAX) {
		if (!write) {
			munmap(map, sizeof(struct mark));
			return -EBADMSG;
		}
		memset(map, 0, sizeof(struct mark));
		memcpy((*ret)->magic, magic, sizeof magic);
	}
	return 0;
}

static void set_limit(int seconds)
{
	const struct itimerval limit = { .it_value = { .tv_sec = seconds } };

	setitimer(ITIMER_PROF, &limit, NULL);
}

void mark_close(struct mark *m)
{
	if (!m)
		return;
	if (watched == m) {
		set_limit(0);
		watched = NULL;
	}
	munmap(m, sizeof *m);
}

void mark_begin(struct mark *m, str path)
{
	path = str_head(path, PATH_BYTES_MAX);
	memcpy(m->path, path.p, path.n);
	m->length = (uint32_t)path.n;
	__atomic_store_n(&m->state, MARK_READING, __ATOMIC_RELEASE);
	watched = m;
	set_limit(FILE_CPU_S);
}

void mark_end(struct mark *m)
{
	set_limit(0);
	watched = NULL;
	__atomic_store_n(&m->state, MARK_NONE, __ATOMIC_RELEASE);
}

/* -- handlers ---------------------------------------------------------------------------------- */

/* Being killed says nothing about the file; these do. */
static void on_crash(int signo)
{
	struct mark *m = watched;

	if (m)
		__atomic_store_n(&m->state, MARK_CRASHED, __ATOMIC_RELEASE);
	signal(signo, SIG_DFL);
	raise(signo);
}

void indexer_note_crashes(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPROF, SIGXCPU, SIGSYS, SIGTRAP };
	static char room[65536]; /* a stack that ran out has none for a handler */
	stack_t stack = { .ss_sp = room, .ss_size = sizeof room };

	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < countof(signals); i++) {
		struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER };

		sigaction(signals[i], &action, NULL);
	}
}
