/* Directives: what a project says to whoever works in a folder. They are looked for from a touched folder up to the
 * root of the project: in each first `.directives/<NAME>.md`, then `<NAME>.md` itself. On workers. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "effort/effort.h"

enum { DEPTH_MAX = 32, FOUND_MAX = 32, HASH_BYTES = 16 };

/* Everybody is given these; the rest only when the skill names it. */
static const struct {
	const char *name;
	bool core;
} names[] = {
	{ "AGENTS", true },
	{ "INVARIANTS", true },
	{ "ARCHITECTURE", true },
	{ "COMMANDS", true },
	{ "TESTING", false },
	{ "PITFALLS", false },
	{ "CONTRIBUTING", false },
	{ "TEMPLATE", false },
	{ "CHECKLIST", false },
};

/* Which file an agent reads by itself, in every folder it works in: it is not given twice. */
static const struct {
	const char *agent, *file;
} native_files[] = {
	{ "claude", "CLAUDE.md" },
	{ "codex", "AGENTS.md" },
	{ "copilot", "AGENTS.md" },
	{ "cursor", "AGENTS.md" },
	{ "opencode", "AGENTS.md" },
	{ "gemini", "GEMINI.md" },
	{ "qwen", "QWEN.md" },
};

/* Of a folder without AGENTS.md, the first of these says the same. */
static const char *const kin[] = { "CLAUDE.md", "GEMINI.md", "QWEN.md" };

static bool is_native(str agent, const char *file)
{
	for (size_t i = 0; i < countof(native_files); i++)
		if (str_eq(agent, str_of(native_files[i].agent)) && strcmp(file, native_files[i].file) == 0)
			return true;
	return false;
}

static bool lists(const struct json *list, const char *name)
{
	json_each(v, list) {
		str word = json_str(v);

		if (str_ends(word, STR(".md")))
			word = str_head(word, word.n - 3);
		if (str_eq_name(word, str_of(name)))
			return true;
	}
	return false;
}

static bool is_plain(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* A link may lead out of the project; what is there is not the project's word. */
static bool is_inside(const char *path, const char *root)
{
	char real[PATH_MAX];
	size_t n = strlen(root);

	return realpath(path, real) && strncmp(real, root, n) == 0 && (real[n] == '/' || n == 1);
}

int effort_file_read(const char *path, size_t most, struct arena *a, str *ret, str *ret_hash)
{
	struct buf b = BUF_INIT(EFFORT_FILE_MAX);
	uint8_t digest[SHA256_BYTES];
	char hex[2 * HASH_BYTES + 1];
	struct sha256 h;
	int r = fs_read_file(path, &b);

	if (r == 0) {
		sha256_init(&h);
		sha256_add(&h, b.p, b.len);
		sha256_end(&h, digest);
		for (int i = 0; i < HASH_BYTES; i++)
			snprintf(hex + 2 * i, 3, "%02x", digest[i]);
		*ret_hash = arena_str(a, str_of(hex));
		*ret = arena_str(a, str_cut_utf8(buf_str(&b), most));
	}
	buf_release(&b);
	return r;
}

struct search {
	const struct effort_discovery *q;
	struct arena *arena;
	struct effort_found **last;
	unsigned n;
};

static bool add(struct search *s, const char *path)
{
	struct effort_found *f;

	if (s->n == FOUND_MAX || !is_plain(path) || !is_inside(path, s->q->root))
		return false;
	f = arena_new(s->arena, struct effort_found);
	f->path = arena_str(s->arena, str_of(path));
	*s->last = f;
	s->last = &f->next;
	s->n++;
	return true;
}

static bool look_for(struct search *s, const char *dir, const char *name)
{
	const char *const forms[] = { "%s/.directives/%s.md", "%s/%s.md" };
	char path[FS_PATH];

	for (size_t i = 0; i < countof(forms); i++) {
		int n = snprintf(path, sizeof path, forms[i], dir, name);

		if (n < (int)sizeof path && is_plain(path))
			return i == 1 && is_native(s->q->agent, path + strlen(dir) + 1) ? true : add(s, path);
	}
	return false;
}

static void look_in(struct search *s, const char *dir)
{
	char path[FS_PATH];
	bool agents = false;

	for (size_t i = 0; i < countof(names); i++)
		if (names[i].core || lists(s->q->also, names[i].name) ||
			(s->q->checklists && strcmp(names[i].name, "CHECKLIST") == 0)) {
			bool found = look_for(s, dir, names[i].name);

			agents |= i == 0 && found;
		}
	for (size_t i = 0; i < countof(kin) && !agents; i++) {
		if (is_native(s->q->agent, kin[i]))
			continue;
		agents = snprintf(path, sizeof path, "%s/%s", dir, kin[i]) < (int)sizeof path && add(s, path);
	}
}

struct effort_found *effort_discover(const struct effort_discovery *q, struct arena *a)
{
	struct effort_found *first = NULL;
	struct search s = { .q = q, .arena = a, .last = &first };
	char dir[PATH_MAX];
	size_t top = strlen(q->root);

	/* The nearest first. */
	if (!realpath(q->dir, dir) || top == 0)
		return NULL;
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		char *slash;

		if (strncmp(dir, q->root, top) != 0 || (dir[top] && dir[top] != '/' && top > 1))
			break;
		look_in(&s, dir);
		slash = strrchr(dir, '/');
		if (!slash || strlen(dir) <= top)
			break;
		*slash = 0;
	}
	return first;
}
