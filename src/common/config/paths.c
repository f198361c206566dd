#include "config/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "os/os.h"

/* XDG wants absolute paths and says to ignore others. */
static const char *absolute_env(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

static int xdg_dir(char out[FS_PATH], const char *name, const char *home_part, struct err *err)
{
	const char *base = absolute_env(name), *home = absolute_env("HOME");
	int n;

	if (base)
		n = snprintf(out, FS_PATH, "%s/hookd", base);
	else if (home)
		n = snprintf(out, FS_PATH, "%s/%s/hookd", home, home_part);
	else
		return err_set(err, -EINVAL,
			"HOME is not set to an absolute path, so there is no place for hookd's files; "
			"set HOME or HOOKD_DIR");
	return n < 0 || n >= FS_PATH - 64 ? err_set(err, -ENAMETOOLONG, "the path from %s is too long", name) : 0;
}

static void copy_path(char out[FS_PATH], str path)
{
	snprintf(out, FS_PATH, STR_FMT, STR_ARG(path));
}

/* "config=/…", "data=/…", "runtime=/…" and "home=/…" lines; absent or foreign: everything in the one directory. The
 * home is read however the directory was found. */
static void read_places_file(struct paths *p, bool only_home)
{
	char path[FS_PATH];
	struct buf b = BUF_INIT(KIB(16));
	struct stat st;
	str rest, line;

	if (fs_join(path, p->state, "places") < 0 || lstat(path, &st) < 0 || st.st_uid != geteuid())
		return;
	if (fs_read_file(path, &b) == 0) {
		rest = buf_str(&b);
		while (str_split(&rest, '\n', &line)) {
			if (str_starts(line, STR("home=/")))
				copy_path(p->home, str_from(line, 5));
			else if (only_home)
				continue;
			else if (str_starts(line, STR("config=/")))
				copy_path(p->config, str_from(line, 7));
			else if (str_starts(line, STR("data=/")))
				copy_path(p->data, str_from(line, 5));
			else if (str_starts(line, STR("runtime=/")))
				copy_path(p->runtime_socket, str_from(line, 8));
		}
	}
	buf_release(&b);
}

/* The environment is asked only where the system knows no account, as in some containers. */
static void account_home(char out[FS_PATH])
{
	const char *env = absolute_env("HOME");

	if (os_account_home(out, FS_PATH) < 0)
		copy_path(out, str_of(env ? env : ""));
}

static void fill_state_paths(struct paths *p)
{
	static const struct {
		size_t offset;
		const char *name;
	} parts[] = {
		{ offsetof(struct paths, journal), "journal" },
		{ offsetof(struct paths, spool), "spool" },
		{ offsetof(struct paths, backups), "backups" },
		{ offsetof(struct paths, index), "index" },
		{ offsetof(struct paths, log), "hookd.log" },
		{ offsetof(struct paths, run), "run" },
		{ offsetof(struct paths, lock), "run/hookd.lock" },
		{ offsetof(struct paths, socket), "run/hookd.sock" },
		{ offsetof(struct paths, token), "owner.token" },
		{ offsetof(struct paths, http_token), "http.token" },
		{ offsetof(struct paths, api_socket), "run/api.sock" },
		{ offsetof(struct paths, changes), "changes.jsonl" },
	};

	for (size_t i = 0; i < countof(parts); i++)
		fs_join((char *)p + parts[i].offset, p->state, parts[i].name);
	fs_join(p->store, p->data, "hookd.db");
}

static int use_one_dir(struct paths *p, const char *dir, struct err *err)
{
	if (dir[0] != '/' || strlen(dir) >= FS_PATH - 64)
		return err_set(err, -EINVAL, "'%s' is not an absolute path that hookd can use", dir);
	copy_path(p->state, str_of(dir));
	/* "/x/" and "/x" are the same place, and the hook line should not change between them. */
	for (size_t n = strlen(p->state); n > 1 && p->state[n - 1] == '/'; n--)
		p->state[n - 1] = 0;
	copy_path(p->data, str_of(p->state));
	return fs_join(p->config, p->state, "config.json");
}

int paths_find(const char *dir, struct paths *ret, struct err *err)
{
	struct paths p = { 0 };
	const char *runtime = absolute_env("XDG_RUNTIME_DIR"), *hookd_dir = getenv("HOOKD_DIR");
	char config[FS_PATH];
	int r;

	if (dir) {
		r = use_one_dir(&p, dir, err);
	} else if (hookd_dir && hookd_dir[0]) {
		r = use_one_dir(&p, hookd_dir, err);
	} else {
		r = xdg_dir(config, "XDG_CONFIG_HOME", ".config", err);
		if (r == 0)
			r = fs_join(p.config, config, "config.json");
		if (r == 0)
			r = xdg_dir(p.data, "XDG_DATA_HOME", ".local/share", err);
		if (r == 0)
			r = xdg_dir(p.state, "XDG_STATE_HOME", ".local/state", err);
		if (r == 0 && runtime && strlen(runtime) < FS_PATH - 64)
			snprintf(p.runtime_socket, sizeof p.runtime_socket, "%s/hookd/hookd.sock", runtime);
	}
	account_home(p.home);
	if (r < 0) {
		memcpy(ret->home, p.home, sizeof p.home);
		return r;
	}
	read_places_file(&p, /* only_home= */ !dir);
	fill_state_paths(&p);
	*ret = p;
	return 0;
}

void paths_installed(const char *name, char ret[FS_PATH])
{
	static const char *const places[] = { "../share/hookd", ".", "../data" };
	char self[FS_PATH];
	char *slash;

	ret[0] = 0;
	if (os_self_path(self, sizeof self) < 0 || !(slash = strrchr(self, '/')))
		return;
	*slash = 0;
	for (size_t i = 0; i < countof(places); i++)
		if (snprintf(ret, FS_PATH, "%s/%s/%s", self, places[i], name) < FS_PATH && access(ret, R_OK) == 0)
			return;
}

bool paths_are_new(const struct paths *p)
{
	char path[FS_PATH];

	return fs_join(path, p->state, "places") == 0 && access(path, F_OK) < 0 && errno == ENOENT;
}

static int make_dirs(const char *const *dirs, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = fs_private_dir(dirs[i]);

		if (r < 0)
			return err_set(err, r, "the directory %s cannot be used: %s", dirs[i],
				r == -EPERM ? "it belongs to another user" : strerror(-r));
	}
	return 0;
}

int paths_make_spool(const struct paths *p, struct err *err)
{
	const char *dirs[] = { p->state, p->run, p->spool };

	return make_dirs(dirs, countof(dirs), err);
}

int paths_make(const struct paths *p, struct err *err)
{
	const char *dirs[] = { p->state, p->data, p->run, p->journal, p->spool };
	char path[FS_PATH], own[FS_PATH], text[4 * FS_PATH + 64];
	struct buf b = BUF_INIT(sizeof text);
	int r;

	account_home(own);
	r = make_dirs(dirs, countof(dirs), err);
	if (r < 0)
		return r;
	snprintf(text, sizeof text, "config=%s\ndata=%s\nruntime=%s\n%s%s%s", p->config, p->data, p->runtime_socket,
		strcmp(p->home, own) ? "home=" : "", strcmp(p->home, own) ? p->home : "",
		strcmp(p->home, own) ? "\n" : "");
	r = fs_join(path, p->state, "places");
	if (r == 0 && (fs_read_file(path, &b) < 0 || !str_eq(buf_str(&b), str_of(text))))
		r = fs_replace_file(path, str_of(text), false);
	buf_release(&b);
	if (r < 0)
		return err_set(err, r, "%s cannot be written: %s", path, strerror(-r));
	return 0;
}
