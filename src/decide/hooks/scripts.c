/* The scripts of the user's own hooks. They run where they are, because many look beside themselves; but whoever
 * changes one changes what runs, so their hashes are remembered and a change is told: in the record of changes, which
 * status shows, and to the person at the start of the session that first sees it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "config/owner.h"
#include "hooks/internal.h"

enum { SCRIPTS_MAX = 128 };

struct scripts {
	struct arena *a;
	struct script {
		str path;
		char hash[SHA256_HEX + 1];
	} list[SCRIPTS_MAX];
	unsigned n;
};

static bool hash_file(const char *path, char ret[SHA256_HEX + 1])
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t digest[SHA256_BYTES];
	char piece[16384];
	struct sha256 h;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TRUST_FILE_MAX)
		return false;
	sha256_init(&h);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		sha256_add(&h, piece, (size_t)n);
	sha256_end(&h, digest);
	sha256_hex(digest, ret);
	return n == 0;
}

static void take_script(str path, void *arg)
{
	struct scripts *s = arg;

	for (unsigned i = 0; i < s->n; i++)
		if (str_eq(s->list[i].path, path))
			return;
	if (s->n < SCRIPTS_MAX && hash_file(arena_cstr(s->a, path), s->list[s->n].hash))
		s->list[s->n++].path = arena_str(s->a, path);
}

/* Scripts that no hook names at the moment keep their hash: they may come back. */
static void write_pins(const struct scripts *s, const struct json *old, struct buf *b)
{
	struct json_writer w = JSON_WRITER(b);
	unsigned kept = 0;

	jw_object(&w);
	for (unsigned i = 0; i < s->n; i++) {
		jw_key_str(&w, s->list[i].path);
		jw_str(&w, str_of(s->list[i].hash));
	}
	json_each(m, old) {
		bool known = false;

		for (unsigned i = 0; i < s->n; i++)
			known |= str_eq(s->list[i].path, m->key);
		if (known || kept++ >= SCRIPTS_MAX)
			continue;
		jw_key_str(&w, m->key);
		jw_str(&w, json_str(m));
	}
	jw_end_object(&w);
	buf_add_char(b, '\n');
}

static void tell_change(struct hook_set *set, const char *state, str path)
{
	struct paths p = { 0 };

	if (fs_join(p.changes, state, "changes.jsonl") == 0)
		owner_note(&p, "hook script", path, "unknown");
	set->changed_script = arena_str(&set->arena, path);
}

void hook_scripts_check(struct hook_set *set, const char *state)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	_cleanup_(arena_release) struct arena once = { 0 };
	struct scripts s = { .a = &once };
	struct buf old = BUF_INIT(MIB(1)), changed = BUF_INIT(MIB(1));
	struct json *pins = NULL;
	char path[FS_PATH], dir[FS_PATH];

	for (unsigned i = 0; i < set->count; i++)
		if (set->all[i]->state == HOOK_LIVE && set->all[i]->group->source->scope == HOOK_USER)
			hook_each_script(set->all[i], set->home, &once, take_script, &s);
	if (!s.n || fs_join(dir, state, "hooks") < 0 || fs_join(path, dir, "scripts.json") < 0)
		return;
	pthread_mutex_lock(&lock);
	if (fs_read_file(path, &old) < 0 || json_parse(&once, arena_str(&once, buf_str(&old)), 0, &pins, NULL) < 0)
		pins = NULL;
	for (unsigned i = 0; i < s.n; i++) {
		str was = json_str(json_get(pins, s.list[i].path));

		if (str_is_set(was) && !str_eq(was, str_of(s.list[i].hash)))
			tell_change(set, state, s.list[i].path);
	}
	write_pins(&s, pins, &changed);
	if (!changed.full && !str_eq(buf_str(&old), buf_str(&changed)) && fs_private_dir(dir) == 0)
		(void)fs_replace_file(path, buf_str(&changed), false);
	pthread_mutex_unlock(&lock);
	buf_release(&old);
	buf_release(&changed);
}
