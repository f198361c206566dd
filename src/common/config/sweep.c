/* Left-over temporary files. Whatever is written in one piece is written under another name first, and a process that
 * is killed in between leaves that behind; it may hold what was captured. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "config/paths.h"

/* "config.json.hookd-Ab12xY": fs_replace_file(). */
static bool is_replacement(str name)
{
	static const char mark[] = ".hookd-";
	const size_t tail = sizeof mark - 1 + 6;

	return name.n > tail && memcmp(name.p + name.n - tail, mark, sizeof mark - 1) == 0;
}

/* ".01J….tmp" and what SQLite puts beside it: the spool's. */
static bool is_spool_temp(str name)
{
	return name.p[0] == '.' && str_find(name, STR(".tmp")) > 0;
}

/* "auto-….db.part" and what SQLite puts beside it: a backup. */
static bool is_backup_temp(str name)
{
	return str_ends(name, STR(".part")) || str_find(name, STR(".part-")) > 0;
}

static void sweep(const char *dir, bool (*is_temp)(str name), time_t before)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		if (!is_temp(str_of(e->d_name)) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISREG(st.st_mode) || st.st_mtime > before)
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) == 0)
			log_info(LOG_DAEMON, "a left-over temporary file was deleted: %s/%s", dir, e->d_name);
	}
	if (d)
		closedir(d);
}

void paths_sweep(const struct paths *p, int age_s)
{
	time_t before = time(NULL) - age_s;
	char config[FS_PATH];
	const char *slash = strrchr(p->config, '/');

	snprintf(config, sizeof config, "%.*s", slash ? (int)(slash - p->config) : 0, p->config);
	sweep(p->state, is_replacement, before);
	sweep(p->run, is_replacement, before);
	sweep(p->data, is_replacement, before);
	sweep(config, is_replacement, before);
	sweep(p->spool, is_spool_temp, before);
	sweep(p->backups, is_backup_temp, before);
}
