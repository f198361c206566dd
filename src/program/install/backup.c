#include "install/backup.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "json/json.h"

static void hash(str contents, char out[SHA256_HEX + 1])
{
	uint8_t digest[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, contents.p, contents.n);
	sha256_end(&s, digest);
	sha256_hex(digest, out);
}

static int file_path(char out[FS_PATH], const char *state, const char *path, const char *suffix)
{
	char name[SHA256_HEX + 1];
	int n;

	hash(str_of(path), name);
	n = snprintf(out, FS_PATH, "%s/install/%s%s", state, name, suffix);
	return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
}

static int read_part(const char *state, const char *path, const char *suffix, struct arena *a, str *ret)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	char file[FS_PATH];
	int r = file_path(file, state, path, suffix);

	if (r == 0)
		r = fs_read_file(file, &b);
	if (r == 0)
		*ret = arena_str(a, buf_str(&b));
	buf_release(&b);
	return r;
}

static int write_part(const char *state, const char *path, const char *suffix, str contents)
{
	char file[FS_PATH];
	int r = file_path(file, state, path, suffix);

	return r < 0 ? r : fs_replace_file(file, contents, /* sync= */ true);
}

int backup_read(const char *state, const char *path, struct arena *a, struct backup *ret)
{
	char sum[SHA256_HEX + 1];
	struct json *meta;
	str text, wrote;

	*ret = (struct backup){ 0 };
	if (read_part(state, path, ".meta", a, &text) < 0 || json_parse(a, text, 0, &meta, NULL) < 0 ||
		!str_eq(json_str(json_get(meta, STR("path"))), str_of(path)))
		return -ENOENT;
	ret->existed = json_true(json_get(meta, STR("existed")));
	ret->made_dir = arena_str(a, json_str(json_get(meta, STR("made_dir"))));
	wrote = json_str(json_get(meta, STR("sha256")));
	if (wrote.n == SHA256_HEX)
		memcpy(ret->wrote, wrote.p, wrote.n);
	if (!ret->existed)
		return 0;
	/* Bytes that are not what was kept are worse than none. */
	if (read_part(state, path, ".orig", a, &text) == 0) {
		hash(text, sum);
		if (str_eq(json_str(json_get(meta, STR("original_sha256"))), str_of(sum)))
			ret->original = text;
	}
	return 0;
}

int backup_write(const char *state, const char *path, const struct backup *b)
{
	struct buf meta = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&meta);
	char dir[FS_PATH], sum[SHA256_HEX + 1];
	int r = fs_join(dir, state, "install");

	if (r == 0)
		r = fs_private_dir(dir);
	if (r == 0 && str_is_set(b->original))
		r = write_part(state, path, ".orig", b->original);
	hash(b->original, sum);
	jw_object(&w);
	jw_field_str(&w, "path", str_of(path));
	jw_field_bool(&w, "existed", b->existed);
	if (str_is_set(b->original))
		jw_field_str(&w, "original_sha256", str_of(sum));
	jw_field_str(&w, "sha256", str_of(b->wrote));
	jw_field_str(&w, "made_dir", b->made_dir);
	jw_end_object(&w);
	buf_add_char(&meta, '\n');
	if (r == 0)
		r = meta.full ? -E2BIG : write_part(state, path, ".meta", buf_str(&meta));
	buf_release(&meta);
	return r;
}

void backup_drop(const char *state, const char *path)
{
	char file[FS_PATH];

	/* The description first: without it the bytes mean nothing. */
	if (file_path(file, state, path, ".meta") == 0)
		unlink(file);
	if (file_path(file, state, path, ".orig") == 0)
		unlink(file);
}

bool backup_matches(const struct backup *b, str contents)
{
	char sum[SHA256_HEX + 1];

	hash(contents, sum);
	return str_eq(str_of(b->wrote), str_of(sum));
}

void backup_note_written(struct backup *b, str contents)
{
	hash(contents, b->wrote);
}
