/* Sinks that were added by an operation, for a time: a file of hookd's own beside the user's, in the same form. It is
 * written anew for every change, without those that have expired. */
#include "outbox/internal.h"

#include <errno.h>
#include <stdio.h>

static bool stays(const struct json *v, str but)
{
	int64_t expires = 0;

	(void)json_int(json_get(v, STR("expires")), &expires);
	return !str_eq(json_str(json_get(v, STR("name"))), but) && expires > clock_wall_us() / USEC_PER_SEC;
}

/* The file as it will be: without that one, and with the entry, if there is one. 1: it was there. */
static int rewrite(const char *path, str but, str entry, struct buf *ret, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct json_writer w = JSON_WRITER(ret);
	struct json *root = NULL;
	struct arena a;
	int r = fs_read_file(path, &b), found = 0;

	arena_init(&a);
	if (r < 0 && r != -ENOENT)
		r = err_set(err, r, "%.200s cannot be read: %s", path, strerror(-r));
	else
		r = 0;
	/* One that is broken has nothing that could be kept. */
	if (r == 0 && b.len)
		(void)json_parse(&a, buf_str(&b), 0, &root, NULL);
	jw_object(&w);
	jw_key(&w, "sinks");
	jw_array(&w);
	json_each(v, json_get(root, STR("sinks"))) {
		found |= str_eq(json_str(json_get(v, STR("name"))), but);
		if (stays(v, but))
			jw_value(&w, v);
	}
	if (str_is_set(entry))
		jw_raw(&w, entry);
	jw_end_array(&w);
	jw_end_object(&w);
	buf_add_char(ret, '\n');
	arena_release(&a);
	buf_release(&b);
	return r < 0 ? r : ret->full ? err_set(err, -E2BIG, "there are too many contracts") : found;
}

/* What is wrong with it must be told now: later nobody is there to read it. */
static int check(struct outbox *o, str name, str entry, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	struct sinks *alone, *now = outbox_sinks(o);
	const struct sink *same = sinks_find(now, name);
	int r = 0;

	buf_addf(&b, "{\"sinks\":[" STR_FMT "]}", STR_ARG(entry));
	alone = sinks_parse(buf_str(&b), o->config.home);
	if (alone->problems)
		r = err_set(err, -EINVAL, "%s", alone->problems->err.text);
	else if (same && !same->contract)
		r = err_set(err, -EEXIST, "the user's own file has a sink of that name");
	else if (!same && now->n == SINKS_MAX)
		r = err_set(err, -ENOSPC, "there are %d sinks already", SINKS_MAX);
	sinks_unref(alone);
	sinks_unref(now);
	buf_release(&b);
	return r;
}

static int change(struct outbox *o, str name, str entry, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG);
	unsigned problems;
	int r;

	if (!o->config.contracts)
		return err_set(err, -ENOTSUP, "there is no place for contracts");
	pthread_mutex_lock(&o->contracts);
	r = rewrite(o->config.contracts, name, entry, &b, err);
	if (r == 0 && !str_is_set(entry))
		r = err_set(err, -ENOENT, "no contract has that name; see: hookd sinks");
	if (r >= 0) {
		r = fs_replace_file(o->config.contracts, buf_str(&b), true);
		if (r < 0)
			err_set(err, r, "%.200s cannot be written: %s", o->config.contracts, strerror(-r));
	}
	pthread_mutex_unlock(&o->contracts);
	buf_release(&b);
	return r < 0 ? r : outbox_reload(o, &problems, err);
}

int contract_add(struct outbox *o, str name, str entry, struct err *err)
{
	int r = check(o, name, entry, err);

	return r < 0 ? r : change(o, name, entry, err);
}

int contract_remove(struct outbox *o, str name, struct err *err)
{
	return change(o, name, STR_NONE, err);
}
