/* Changing one option in the user's file, and describing the file. */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "config/names.h"
#include "json/edit.h"

/* -- the text ---------------------------------------------------------------------------------- */

static void write_value(struct json_writer *w, const struct option *o, str value)
{
	str name;

	if (o->type == OPTION_INT || o->type == OPTION_BOOL) {
		jw_raw(w, value);
	} else if (o->type == OPTION_LIST) {
		jw_array(w);
		while (str_split(&value, ' ', &name))
			if (name.n)
				jw_str(w, name);
		jw_end_array(w);
	} else {
		jw_str(w, value);
	}
}

/* The steps from `level` on around the value, as a tree: {"level": "debug"}. */
static struct json *nested_value(struct arena *a, const struct option *o, unsigned level, str value)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct json_writer w = JSON_WRITER(&b);
	struct json *v = NULL;
	unsigned depth = 0;

	for (; str_is_set(option_step(o, level)); level++, depth++) {
		jw_object(&w);
		jw_key_str(&w, option_step(o, level));
	}
	write_value(&w, o, value);
	while (depth--)
		jw_end_object(&w);
	if (json_parse(a, arena_str(a, buf_str(&b)), 0, &v, NULL) < 0)
		v = NULL;
	buf_release(&b);
	return v;
}

static int edit_object(struct arena *a, str text, const struct option *o, str value, struct buf *ret, struct err *err)
{
	struct json *at, *next, *with;
	struct json_edit e;
	unsigned level = 0, line, col;
	int r = json_parse(a, text, JSON_COMMENTS, &at, err);

	if (r < 0)
		return r;
	json_edit_init(&e, a, text, at);
	while (at->type == JSON_OBJECT && str_is_set(option_step(o, level)) &&
		(next = json_get(at, option_step(o, level)))) {
		at = next;
		level++;
	}
	if (str_is_set(option_step(o, level)) && at->type != JSON_OBJECT) {
		json_locate(text, at->begin, &line, &col);
		return err_set_at(err, -EBADMSG, line, col, "%s cannot be set: this should be an object, not %s",
			o->name, json_type_name(at->type));
	}
	with = nested_value(a, o, level, value);
	if (!with)
		return err_set(err, -EINVAL, "%s cannot be written as JSON", o->name);
	if (str_is_set(option_step(o, level)))
		json_edit_append(&e, at, with);
	else
		json_edit_replace(&e, at, with);
	return json_edit_apply(&e, ret) < 0 ? err_set(err, -EFBIG, "the file would become too large") : 0;
}

/* Reads the changed text back: what was set must be what counts. */
static int verify(str text, const struct option *o, str value, struct err *err)
{
	struct config_problem *problems;
	struct config c;
	bool holds;

	config_parse(text, &c, &problems);
	holds = str_eq(config_text(&c, (enum option_id)(o - options)), value);
	config_release(&c);
	config_problems_free(problems);
	return holds ? 0 : err_set(err, -EIO, "%s could not be changed in this file; change it by hand", o->name);
}

int config_edit(str text, const struct option *o, str value, struct buf *ret, struct err *err)
{
	const str mark = STR("\xEF\xBB\xBF");
	bool marked = str_starts(text, mark);
	str body = marked ? str_from(text, mark.n) : text;
	size_t begin = ret->len;
	struct arena a;
	int r = config_check(o, value, NULL, err);

	if (r < 0)
		return r;
	arena_init(&a);
	if (marked)
		buf_add_str(ret, mark);
	if (str_empty(str_trim(body)))
		body = STR("{}\n");
	r = edit_object(&a, body, o, value, ret, err);
	if (r == 0)
		r = verify(str_from(buf_str(ret), begin), o, value, err);
	arena_release(&a);
	return r;
}

/* -- the file ---------------------------------------------------------------------------------- */

static int make_parent(const char *path)
{
	char dir[FS_PATH];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (!slash || slash == path)
		return 0;
	snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
	/* An existing directory keeps its mode: it may be shared with other programs. */
	return stat(dir, &st) == 0 ? 0 : fs_private_dir(dir);
}

/* A link (dotfile managers make them) stays a link: its target is replaced. */
static int write_file(const char *path, str text)
{
	char *target = realpath(path, NULL);
	int r = target ? 0 : make_parent(path);

	if (r == 0)
		r = fs_replace_file(target ? target : path, text, /* sync= */ true);
	free(target);
	return r;
}

int config_write(const char *path, str text, struct err *err)
{
	int r = write_file(path, text);

	return r < 0 ? err_set(err, r, "%s cannot be written: %s", path, strerror(-r)) : 0;
}

int config_set(const char *path, const struct option *o, str value, struct err *err)
{
	struct buf old = BUF_INIT(LIMIT_CONFIG), changed = BUF_INIT(LIMIT_CONFIG);
	int r = fs_read_file(path, &old);

	if (r < 0 && r != -ENOENT) {
		r = err_set(err, r, "%s cannot be read: %s", path,
			r == -EFBIG            ? "larger than 1 MiB"
				: r == -EINVAL ? "not a plain file"
					       : strerror(-r));
	} else {
		r = config_edit(buf_str(&old), o, value, &changed, err);
		if (r == 0 && !str_eq(buf_str(&old), buf_str(&changed)))
			r = config_write(path, buf_str(&changed), err);
	}
	buf_release(&changed);
	buf_release(&old);
	return r;
}
