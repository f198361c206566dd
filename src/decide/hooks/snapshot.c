/* The hooks of a session, kept over restarts: the texts they were made from, so that a new daemon makes the same. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "hooks/internal.h"

void hook_snapshot_path(const char *run, str agent, str session, char out[FS_PATH])
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, agent.p ? agent.p : "", agent.n);
	sha256_add(&h, "", 1);
	sha256_add(&h, session.p ? session.p : "", session.n);
	sha256_end(&h, digest);
	sha256_hex(digest, hex);
	if (snprintf(out, FS_PATH, "%s/hooks/%.40s", run, hex) >= FS_PATH)
		out[0] = 0;
}

static void write_set(struct json_writer *w, const struct hook_set *s)
{
	jw_object(w);
	jw_field_int(w, "version", 1);
	jw_field_str(w, "root", s->root);
	jw_field_str(w, "home", s->home);
	jw_field_int(w, "trust", s->trust);
	jw_field_str(w, "copies", s->copies);
	jw_key(w, "sources");
	jw_array(w);
	for (const struct hook_source *source = s->sources; source; source = source->next) {
		jw_object(w);
		jw_field_int(w, "scope", source->scope);
		jw_field_int(w, "form", source->form);
		jw_field_bool(w, "kept", source->kept);
		jw_field_str(w, "path", source->path);
		jw_field_str(w, "text", source->text);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_end_object(w);
}

struct kept {
	char name[64];
	struct timespec at;
};

static int newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->at, *y = &((const struct kept *)b)->at;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* Looks only when there are clearly too many, so that it is rare. */
static void prune(const char *dir)
{
	enum { ROOM = 2 * HOOK_SNAPSHOTS };
	struct kept *all = calloc(ROOM, sizeof *all);
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	size_t n = 0;

	while (all && d && n < ROOM && (e = readdir(d)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < sizeof all->name &&
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			memcpy(all[n].name, e->d_name, strlen(e->d_name) + 1);
			all[n++].at = st.st_mtim;
		}
	if (n > HOOK_SNAPSHOTS + HOOK_SNAPSHOTS / 4) {
		qsort(all, n, sizeof *all, newest_first);
		for (size_t i = HOOK_SNAPSHOTS; i < n; i++)
			unlinkat(dirfd(d), all[i].name, 0);
	}
	if (d)
		closedir(d);
	free(all);
}

void hook_snapshot_clear(const char *run)
{
	char dir[FS_PATH];
	DIR *d = fs_join(dir, run, "hooks") == 0 ? opendir(dir) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

int hook_snapshot_write(const char *run, str agent, str session, const struct hook_set *s)
{
	struct buf b = BUF_INIT(HOOK_SNAPSHOT_MAX);
	struct json_writer w = JSON_WRITER(&b);
	char path[FS_PATH], dir[FS_PATH];
	int r = fs_join(dir, run, "hooks");

	hook_snapshot_path(run, agent, session, path);
	if (r == 0)
		r = fs_private_dir(dir);
	if (r == 0) {
		write_set(&w, s);
		r = b.full ? -EFBIG : fs_replace_file(path, buf_str(&b), false);
	}
	buf_release(&b);
	if (r == 0)
		prune(dir);
	return r;
}

static bool read_sources(struct hook_set *s, const struct json *list)
{
	json_each(v, list) {
		struct hook_source *source;
		int64_t scope, form = HOOK_FORM_MAX;

		if (!json_int(json_get(v, STR("scope")), &scope) || scope < 0 || scope >= HOOK_SCOPE_MAX)
			return false;
		if (!json_int(json_get(v, STR("form")), &form) || form < 0 || form >= HOOK_FORM_MAX)
			return false;
		source = hook_source_new(s, (enum hook_scope)scope, (enum hook_form)form,
			json_str(json_get(v, STR("path"))), json_str(json_get(v, STR("text"))));
		source->kept = json_true(json_get(v, STR("kept")));
		hooks_parse(s, source);
	}
	return true;
}

struct hook_set *hook_snapshot_read(const char *run, str agent, str session)
{
	struct buf b = BUF_INIT(HOOK_SNAPSHOT_MAX);
	struct hook_set *s = hook_set_new();
	char path[FS_PATH];
	int64_t version = 0, trust = 0;
	struct json *v;
	bool good = false;

	hook_snapshot_path(run, agent, session, path);
	if (fs_read_file(path, &b) == 0 && json_parse(&s->arena, arena_str(&s->arena, buf_str(&b)), 0, &v, NULL) == 0 &&
		json_int(json_get(v, STR("version")), &version) && version == 1) {
		str root = json_str(json_get(v, STR("root"))), copies = json_str(json_get(v, STR("copies")));

		s->root = root;
		s->home = json_str(json_get(v, STR("home")));
		s->copies = copies;
		(void)json_int(json_get(v, STR("trust")), &trust);
		s->trust = trust >= 0 && trust < TRUST_STATE_MAX ? (enum trust_state)trust : TRUST_NONE;
		good = read_sources(s, json_get(v, STR("sources")));
		hook_set_settle(s, str_empty(copies) ? NULL : arena_cstr(&s->arena, copies));
	}
	buf_release(&b);
	if (!good) {
		hook_set_unref(s);
		return NULL;
	}
	return s;
}
