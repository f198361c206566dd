/* Where the journal lies. Its directory may be moved, removed or replaced while it is open; what was acknowledged is
 * then still in open files, which are held until they have been read. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/internal.h"

int journal_settle(struct journal *j)
{
	int fd = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), old;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;

		fs_closep(&fd);
		return r;
	}
	pthread_mutex_lock(&j->owed.lock);
	old = j->owed.dir_fd;
	j->owed.dir_fd = fd;
	j->owed.dev = st.st_dev;
	j->owed.ino = st.st_ino;
	pthread_mutex_unlock(&j->owed.lock);
	fs_closep(&old);
	atomic_store_explicit(&j->astray, false, memory_order_relaxed);
	return 0;
}

void journal_set_claim(struct journal *j, bool (*is_ours)(void *arg), void *arg)
{
	j->is_ours = is_ours;
	j->ours_arg = arg;
}

static bool is_place(struct journal *j, const struct stat *st)
{
	bool same;

	pthread_mutex_lock(&j->owed.lock);
	same = st->st_dev == j->owed.dev && st->st_ino == j->owed.ino;
	pthread_mutex_unlock(&j->owed.lock);
	return same;
}

int journal_check_place(struct journal *j)
{
	struct stat st;

	if (stat(j->dir, &st) == 0 ? is_place(j, &st) : errno != ENOENT)
		return 0;
	atomic_store_explicit(&j->astray, true, memory_order_relaxed);
	return -ESTALE;
}

int journal_dir_open(const char *dir, struct journal *j)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (j && (fstat(fd, &st) < 0 || !is_place(j, &st))) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* -- files that may have no name --------------------------------------------------------------- */

void journal_hold(struct journal *j, uint64_t number, int fd)
{
	unsigned at = j->owed.next_held++ % JOURNAL_HELD_MAX;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	if (j->owed.held[at].number)
		close(j->owed.held[at].fd);
	j->owed.held[at].number = number;
	j->owed.held[at].fd = copy;
}

int journal_reader_open_held(struct journal_reader *r, struct journal *j, uint64_t number)
{
	int from = -1, fd = -1;

	pthread_mutex_lock(&j->owed.lock);
	if (j->owed.end.segment == number)
		from = j->fd;
	for (int i = 0; i < JOURNAL_HELD_MAX && from < 0; i++)
		if (j->owed.held[i].number == number)
			from = j->owed.held[i].fd;
	if (from >= 0)
		fd = fcntl(from, F_DUPFD_CLOEXEC, 0);
	else
		errno = ENOENT;
	pthread_mutex_unlock(&j->owed.lock);
	return journal_reader_start(r, fd);
}

size_t journal_list_held(struct journal *j, uint64_t numbers[JOURNAL_OPEN_MAX])
{
	size_t n = 0;

	pthread_mutex_lock(&j->owed.lock);
	numbers[n++] = j->owed.end.segment;
	for (int i = 0; i < JOURNAL_HELD_MAX; i++)
		if (j->owed.held[i].number)
			numbers[n++] = j->owed.held[i].number;
	pthread_mutex_unlock(&j->owed.lock);
	return n;
}

void journal_let_go(struct journal *j, uint64_t number)
{
	pthread_mutex_lock(&j->owed.lock);
	for (int i = 0; i < JOURNAL_HELD_MAX; i++)
		if (number && j->owed.held[i].number == number) {
			close(j->owed.held[i].fd);
			j->owed.held[i].number = 0;
		}
	pthread_mutex_unlock(&j->owed.lock);
}

bool journal_is_unlinked(struct journal *j)
{
	struct stat st;
	bool is;

	pthread_mutex_lock(&j->owed.lock);
	is = j->fd >= 0 && fstat(j->fd, &st) == 0 && st.st_nlink == 0;
	pthread_mutex_unlock(&j->owed.lock);
	return is;
}
