/* Who had a command run. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "os/os.h"

#if defined(__linux__)

enum { STEPS_MAX = 4 };

/* "123 (name) S 45 …": the name may hold anything, so it ends at the last bracket. */
static uint32_t parent_of(uint32_t pid, char *name, size_t size)
{
	char path[32], text[256], *open_at, *close_at;
	unsigned parent = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open_at || !close_at || close_at < open_at || sscanf(close_at + 1, " %*c %u", &parent) != 1)
		return 0;
	snprintf(name, size, "%.*s", (int)(close_at - open_at - 1), open_at + 1);
	return parent;
}

uint32_t os_program_above(uint32_t pid)
{
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", "env",
		"timeout" };

	for (int i = 0; i < STEPS_MAX && pid > 1; i++) {
		char name[32];
		uint32_t parent = parent_of(pid, name, sizeof name);
		bool shell = false;

		if (!parent)
			return 0;
		for (size_t k = 0; k < countof(shells); k++)
			shell |= strcmp(name, shells[k]) == 0;
		if (!shell)
			return pid;
		pid = parent;
	}
	return 0;
}

#else

uint32_t os_program_above(uint32_t pid)
{
	(void)pid;
	return 0;
}

#endif
