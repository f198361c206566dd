/* Where skills are, and what was read of them. On workers. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "effort/effort.h"

enum { CACHED_MAX = 64 };

/* A file as it was when it was read. */
struct cached {
	char *path, *config;
	int64_t changed_ns;
	int64_t bytes;
	uint64_t inode;
};

struct effort_skills {
	pthread_mutex_t lock;
	struct cached list[CACHED_MAX];
	size_t n, next; /* next: which is replaced */
};

/* Below the project, then below the home. A project's own come first. */
static const char *const places[] = { ".hookd/skills", ".claude/skills", ".agents/skills", ".codex/skills" };

struct effort_skills *effort_skills_new(void)
{
	struct effort_skills *s = xcalloc(1, sizeof *s);

	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void release(struct cached *c)
{
	free(c->path);
	free(c->config);
	*c = (struct cached){ 0 };
}

void effort_skills_drop(struct effort_skills *s)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++)
		release(&s->list[i]);
	s->n = s->next = 0;
	pthread_mutex_unlock(&s->lock);
}

void effort_skills_free(struct effort_skills *s)
{
	if (!s)
		return;
	effort_skills_drop(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static bool is_as_it_was(const struct cached *c, const char *path, const struct stat *st)
{
	return strcmp(c->path, path) == 0 && c->bytes == st->st_size && c->inode == st->st_ino &&
		c->changed_ns == (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool recall(struct effort_skills *s, const char *path, const struct stat *st, struct arena *a, str *ret)
{
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n && !found; i++)
		if (is_as_it_was(&s->list[i], path, st)) {
			*ret = arena_str(a, str_of(s->list[i].config));
			found = true;
		}
	pthread_mutex_unlock(&s->lock);
	return found;
}

static void remember(struct effort_skills *s, const char *path, const struct stat *st, str config)
{
	struct cached *c = NULL;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n && !c; i++)
		if (strcmp(s->list[i].path, path) == 0)
			c = &s->list[i];
	if (!c)
		c = s->n < CACHED_MAX ? &s->list[s->n++] : &s->list[s->next++ % CACHED_MAX];
	release(c);
	*c = (struct cached){ .path = xstrdup(path),
		.config = xstrndup(config.p, config.n),
		.bytes = st->st_size,
		.inode = st->st_ino,
		.changed_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec };
	pthread_mutex_unlock(&s->lock);
}

static int read_skill(struct effort_skills *s, const char *path, const struct stat *st, struct arena *a, str *ret)
{
	struct buf b = BUF_INIT(EFFORT_SKILL_MAX);
	int r;

	if (recall(s, path, st, a, ret))
		return 0;
	r = fs_read_file(path, &b);
	if (r == 0)
		r = effort_skill_parse(arena_str(a, buf_str(&b)), a, ret);
	buf_release(&b);
	if (r == 0)
		remember(s, path, st, *ret);
	return r;
}

/* A link in a project may lead to the user's own skills, but nowhere else. */
static bool is_ours(const char *path, const char *root, const char *home)
{
	const char *const tops[] = { root, home };
	char real[PATH_MAX];

	if (!realpath(path, real))
		return false;
	for (size_t i = 0; i < countof(tops); i++) {
		size_t n = tops[i] ? strlen(tops[i]) : 0;

		if (n > 1 && strncmp(real, tops[i], n) == 0 && real[n] == '/')
			return true;
	}
	return false;
}

int effort_skill_find(struct effort_skills *s, const char *root, const char *home, str name, struct arena *a,
	str *ret_path, str *ret_config)
{
	const char *const tops[] = { root, home };
	struct stat st;

	if (!effort_is_name(name))
		return -EINVAL;
	for (size_t t = 0; t < countof(tops); t++)
		for (size_t i = 0; tops[t] && tops[t][0] && i < countof(places); i++) {
			str path = arena_strf(a, "%s/%s/" STR_FMT "/SKILL.md", tops[t], places[i], STR_ARG(name));

			if (stat(path.p, &st) < 0 || !S_ISREG(st.st_mode) || !is_ours(path.p, root, home))
				continue;
			*ret_path = path;
			return read_skill(s, path.p, &st, a, ret_config);
		}
	return -ENOENT;
}
