/* Work that can wait: when, and with which claim to the processor. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/os.h"

#ifdef __linux__

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>

enum { SUPPLIES_MAX = 16, LEAST_CLAIM = 19 };

/* On Linux a thread has a claim of its own. */
void os_thread_last(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LEAST_CLAIM);
}

/* The priority of reading has no call of its own in the C library: 1 is the process, 3 the class that gets what is
 * left over. */
void os_process_last(bool idle)
{
	enum { IO_PROCESS = 1, IO_IDLE = 3, IO_CLASS = 13 };
	const struct sched_param none = { 0 };

	(void)setpriority(PRIO_PROCESS, 0, LEAST_CLAIM);
	(void)sched_setscheduler(0, idle ? SCHED_IDLE : SCHED_OTHER, &none);
	(void)syscall(SYS_ioprio_set, IO_PROCESS, 0, IO_IDLE << IO_CLASS);
}

/* Whether a file of a power supply begins with a word. */
static bool says(int dir, const char *supply, const char *file, const char *word)
{
	char path[300], text[32];
	int fd;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof path, "%s/%s", supply, file) >= sizeof path)
		return false;
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text);
	close(fd);
	return n >= (ssize_t)strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

static bool is_on_battery(void)
{
	DIR *dir = opendir("/sys/class/power_supply");
	const struct dirent *entry;
	bool discharging = false, plugged = false;

	for (int i = 0; dir && i < SUPPLIES_MAX && (entry = readdir(dir)); i++) {
		discharging |= says(dirfd(dir), entry->d_name, "status", "Discharging");
		plugged |= says(dirfd(dir), entry->d_name, "type", "Mains") &&
			says(dirfd(dir), entry->d_name, "online", "1");
	}
	if (dir)
		closedir(dir);
	return discharging && !plugged;
}

#else

void os_thread_last(void)
{
}

void os_process_last(bool idle)
{
	(void)idle;
}

static bool is_on_battery(void)
{
	return false;
}

#endif

bool os_should_wait(void)
{
	double load;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return (getloadavg(&load, 1) == 1 && cores > 0 && load > (double)cores + 1) || is_on_battery();
}

void os_limit_memory(size_t bytes)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_AS, &r) < 0 || r.rlim_max <= (rlim_t)bytes)
		return;
	r.rlim_cur = r.rlim_max = (rlim_t)bytes;
	(void)setrlimit(RLIMIT_AS, &r);
}
