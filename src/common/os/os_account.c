/* What the system knows of the user who runs this process. */
#include "os/os.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

int os_account_home(char *out, size_t size)
{
	struct passwd entry, *found = NULL;
	char room[16384];
	int n;

	if (getpwuid_r(geteuid(), &entry, room, sizeof room, &found) != 0 || !found || !found->pw_dir ||
		found->pw_dir[0] != '/')
		return -ENOENT;
	n = snprintf(out, size, "%s", found->pw_dir);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
