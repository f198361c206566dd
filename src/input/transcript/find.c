#include "transcript/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/agents.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"

/* Years of heavy use leave some ten thousand files; what lies below these folders is not always only history. */
enum { FILES_MAX = 100000, LOOKS_MAX = 400000, DEPTH_MAX = 6 };

static unsigned count_slashes(str rel)
{
	unsigned n = 0;

	for (size_t i = 0; i < rel.n; i++)
		n += rel.p[i] == '/';
	return n;
}

static str base_name(str rel)
{
	size_t i = rel.n;

	while (i > 0 && rel.p[i - 1] != '/')
		i--;
	return str_from(rel, i);
}

/* <project>/<session>.jsonl, and deeper only agent-<id>.jsonl. */
static bool is_claude_file(str rel)
{
	unsigned depth = count_slashes(rel);

	return depth >= 1 && depth <= DEPTH_MAX && str_ends(rel, STR(".jsonl")) &&
		(depth == 1 || str_starts(base_name(rel), STR("agent-")));
}

/* YYYY/MM/DD/rollout-*.jsonl; archived ones lie flat. */
static bool is_codex_file(str rel)
{
	return count_slashes(rel) <= DEPTH_MAX && str_ends(rel, STR(".jsonl")) &&
		str_starts(base_name(rel), STR("rollout-"));
}

/* <project>/chats/session-*.json, .jsonl, and <project>/chats/<session>/<id>.jsonl. */
static bool is_gemini_file(str rel)
{
	str project, chats, rest = rel;
	unsigned depth = count_slashes(rel);

	if (!str_split(&rest, '/', &project) || !str_split(&rest, '/', &chats) || !str_eq(chats, STR("chats")))
		return false;
	if (depth == 2)
		return str_starts(rest, STR("session-")) &&
			(str_ends(rest, STR(".json")) || str_ends(rest, STR(".jsonl")));
	return depth == 3 && str_ends(rest, STR(".jsonl"));
}

/* <session>/events.jsonl. */
static bool is_copilot_file(str rel)
{
	return count_slashes(rel) == 1 && str_eq(base_name(rel), STR("events.jsonl"));
}

/* <project>/chats/<session>.jsonl, and <project>/subagents/<session>/agent-*.jsonl. */
static bool is_qwen_file(str rel)
{
	str project, folder, rest = rel;
	unsigned depth = count_slashes(rel);

	if (!str_split(&rest, '/', &project) || !str_split(&rest, '/', &folder) || !str_ends(rel, STR(".jsonl")))
		return false;
	return depth == 2 ? str_eq(folder, STR("chats"))
			  : depth == 3 && str_eq(folder, STR("subagents")) && str_starts(base_name(rel), STR("agent-"));
}

static bool is_opencode_file(str rel)
{
	return str_eq(rel, STR("opencode.db"));
}

/* Which files below an agent's folders of history are its transcripts. */
static const struct layout {
	const char *agent;
	bool (*fits)(str rel);
	unsigned depth; /* of folders */
} layouts[] = {
	{ "claude", is_claude_file, DEPTH_MAX },
	{ "codex", is_codex_file, DEPTH_MAX },
	{ "gemini", is_gemini_file, DEPTH_MAX },
	{ "copilot", is_copilot_file, DEPTH_MAX },
	{ "qwen", is_qwen_file, DEPTH_MAX },
	{ "opencode", is_opencode_file, 0 },
};

static const struct layout *layout_of(const struct agent *agent)
{
	for (size_t i = 0; i < countof(layouts); i++)
		if (strcmp(layouts[i].agent, agent->name) == 0)
			return &layouts[i];
	return NULL;
}

/* Calls fn with each folder of history of an agent, or of all; until it says true. */
static bool each_root(const char *home, const char *agent,
	bool (*fn)(const struct layout *l, const char *root, void *arg), void *arg)
{
	char dir[FS_PATH], root[FS_PATH];

	for (size_t i = 0; agents[i]; i++) {
		const struct layout *l = layout_of(agents[i]);

		if (!l || !agents[i]->history || (agent && strcmp(agent, agents[i]->name) != 0) ||
			agent_history_dir(agents[i], home, dir) < 0)
			continue;
		for (const char *const *below = agents[i]->history; *below; below++)
			if (fs_join(root, dir, *below) == 0 && fn(l, root, arg))
				return true;
	}
	return false;
}

/* -- walking ----------------------------------------------------------------------------------- */

struct found {
	const char *agent, *path;
	int64_t bytes, mtime_us;
};

struct walk {
	struct arena a;
	struct found *files;
	size_t n, cap;
	unsigned looks;
	const struct layout *layout;
	char path[FS_PATH];
	size_t root; /* length of the root in path, with its slash */
};

static void add_file(struct walk *w, const struct stat *st)
{
	if (!w->layout->fits(str_of(w->path + w->root)) || st->st_uid != geteuid() || w->n >= FILES_MAX)
		return;
	if (w->n == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 256;
		w->files = xrealloc(w->files, w->cap * sizeof *w->files);
	}
	w->files[w->n++] = (struct found){
		.agent = w->layout->agent,
		.path = arena_cstr(&w->a, str_of(w->path)),
		.bytes = st->st_size,
		.mtime_us = (int64_t)st->st_mtim.tv_sec * USEC_PER_SEC + st->st_mtim.tv_nsec / 1000,
	};
}

/* Looks at the folder that is open as fd (and is closed here) and whose path is w->path[0..n). */
static void walk_dir(struct walk *w, int fd, size_t n, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		close(fd);
		return;
	}
	while ((e = readdir(dir)) && w->looks < LOOKS_MAX) {
		size_t len = strlen(e->d_name);
		struct stat st;
		int inner;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || n + len + 2 > sizeof w->path)
			continue;
		w->looks++;
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		w->path[n] = '/';
		memcpy(w->path + n + 1, e->d_name, len + 1);
		if (S_ISREG(st.st_mode))
			add_file(w, &st);
		if (S_ISDIR(st.st_mode) && depth < w->layout->depth) {
			inner = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (inner >= 0)
				walk_dir(w, inner, n + 1 + len, depth + 1);
		}
		w->path[n] = 0;
	}
	closedir(dir);
}

static int newest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->mtime_us != y->mtime_us)
		return x->mtime_us < y->mtime_us ? 1 : -1;
	/* One order on every run. */
	return strcmp(y->path, x->path);
}

static bool walk_root(const struct layout *l, const char *root, void *arg)
{
	struct walk *w = arg;
	/* The folder itself may be a link, as it may for the agent. */
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return false;
	w->layout = l;
	w->root = (size_t)snprintf(w->path, sizeof w->path, "%s", root) + 1;
	walk_dir(w, fd, w->root - 1, 0);
	return false;
}

int transcript_find(const char *home, const char *agent, int (*fn)(const struct transcript_file *f, void *arg),
	void *arg)
{
	struct walk *w = xcalloc(1, sizeof *w);
	int r = 0;

	arena_init(&w->a);
	(void)each_root(home, agent, walk_root, w);
	if (w->n > 0)
		qsort(w->files, w->n, sizeof *w->files, newest_first);
	for (size_t i = 0; r == 0 && i < w->n; i++) {
		const struct transcript_file f = {
			.agent = w->files[i].agent,
			.path = w->files[i].path,
			.bytes = w->files[i].bytes,
			.mtime_us = w->files[i].mtime_us,
		};

		r = fn(&f, arg);
	}
	arena_release(&w->a);
	free(w->files);
	free(w);
	return r;
}

/* Neither "", "." nor ".." between the slashes. */
static bool is_tidy(str rel)
{
	str part;

	if (str_empty(rel) || rel.p[rel.n - 1] == '/')
		return false;
	while (str_split(&rel, '/', &part))
		if (str_empty(part) || str_eq(part, STR(".")) || str_eq(part, STR("..")))
			return false;
	return true;
}

/* Whether a part of the path below the root is a link; what does not exist is none. */
static bool has_link(const char *path, size_t root)
{
	char part[FS_PATH];
	size_t n = strlen(path);
	struct stat st;

	for (size_t i = root; i <= n; i++) {
		if (path[i] != '/' && path[i] != 0)
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode))
			return true;
	}
	return false;
}

static bool is_below(const struct layout *l, const char *root, void *arg)
{
	const char *path = arg;
	size_t n = strlen(root);

	if (strncmp(path, root, n) != 0 || path[n] != '/')
		return false;
	return is_tidy(str_of(path + n + 1)) && l->fits(str_of(path + n + 1)) && !has_link(path, n + 1);
}

bool transcript_is_history(const char *home, const char *agent, const char *path)
{
	return path && strlen(path) < FS_PATH && each_root(home, agent, is_below, (void *)path);
}
