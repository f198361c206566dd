/* Work that can wait: when, and with which claim to the processor. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

#ifdef __linux__

#include <dirent.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { SUPPLIES_MAX = 16, LEAST_CLAIM = 19 };

/* On Linux a thread has a claim of its own. */
void os_thread_last(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LEAST_CLAIM);
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
