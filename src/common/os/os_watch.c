/* Changes in many directories. */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "os/os.h"

#if defined(__linux__)

#include <sys/inotify.h>

int os_tree_watch(void)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int os_tree_watch_add(int watch, const char *dir)
{
	int number = inotify_add_watch(watch, dir,
		IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW |
			IN_EXCL_UNLINK);

	return number < 0 ? -errno : number;
}

/* A file that is made says so again when it is closed. */
static bool is_worth_telling(const struct inotify_event *e)
{
	return !(e->mask & IN_IGNORED) && (e->mask & IN_ISDIR || e->mask & ~(uint32_t)IN_CREATE);
}

void os_tree_watch_read(int watch, void (*fn)(int number, enum os_tree_change change, const char *name, void *arg),
	void *arg)
{
	_Alignas(struct inotify_event) char room[16384];
	ssize_t n;

	while ((n = read(watch, room, sizeof room)) > 0)
		for (char *p = room; p < room + n;) {
			const struct inotify_event *e = (const struct inotify_event *)(void *)p;

			if (e->mask & IN_Q_OVERFLOW)
				fn(-1, OS_TREE_MISSED, NULL, arg);
			else if (e->len && is_worth_telling(e))
				fn(e->wd, e->mask & IN_ISDIR ? OS_TREE_DIRECTORY : OS_TREE_FILE, e->name, arg);
			p += sizeof *e + e->len;
		}
}

#else

int os_tree_watch(void)
{
	return -ENOSYS;
}

int os_tree_watch_add(int watch, const char *dir)
{
	(void)watch;
	(void)dir;
	return -ENOSYS;
}

void os_tree_watch_read(int watch, void (*fn)(int number, enum os_tree_change change, const char *name, void *arg),
	void *arg)
{
	(void)watch;
	(void)fn;
	(void)arg;
}

#endif
