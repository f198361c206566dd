/* keep: copies of the store, and what can be read of a damaged one. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "stores.h"

static void test_backup_and_inspect(void **state)
{
	const char *dir = test_dir();
	char store[FS_PATH], copy[FS_PATH], odd[FS_PATH], aside[FS_PATH];
	struct store_summary is;
	struct err err = { 0 };
	struct stat st;
	struct store *s;

	fs_join(store, dir, "hookd.db");
	fs_join(copy, dir, "copy.db");
	fs_join(odd, dir, "what? a 100%#name.db");
	assert_int_equal(store_backup(store, copy, &is, &err), -ENOENT);
	s = open_ok(store, STORE_WRITE);
	fill_events(s, 100);
	assert_int_equal(store_backup(store, copy, &is, &err), 0);
	assert_int_equal(is.events, 100);
	assert_int_equal(is.version, store_schema_version());
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(store_backup(store, copy, &is, &err), -EEXIST);
	assert_int_equal(store_backup(store, odd, &is, &err), 0);
	assert_int_equal(store_inspect(odd, &is, &err), 0);
	assert_false(test_exists(test_path(dir, "copy.db-wal")));
	store_close(s);
	assert_int_equal(store_restore(odd, store, aside, &err), 0);
	assert_true(test_exists(aside));
	s = open_ok(store, STORE_WRITE);
	assert_int_equal(one_number(s, "SELECT count(*) FROM events"), 100);
	assert_int_equal(store_exec(s, "PRAGMA user_version = 99"), 0);
	store_close(s);
	assert_int_equal(store_inspect(store, &is, &err), -EPROTONOSUPPORT);
	assert_true(store_inspect(dir, &is, &err) < 0);
	test_write(copy, "text", 4);
	assert_int_equal(store_inspect(copy, &is, &err), -EUCLEAN);
}

static void make_older(const char *path, time_t by_s)
{
	struct timespec times[2] = { { .tv_sec = time(NULL) - by_s }, { .tv_sec = time(NULL) - by_s } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_daily_backups(void **state)
{
	const char *dir = test_dir();
	char store[FS_PATH], backups[FS_PATH], first[FS_PATH], path[FS_PATH];
	struct store_summary is;
	struct err err = { 0 };
	struct store *s;

	fs_join(store, dir, "hookd.db");
	fs_join(backups, dir, "backups");
	s = open_ok(store, STORE_WRITE);
	fill_events(s, 10);
	assert_int_equal(store_newest_backup(backups, path, &is), -ENOENT);
	assert_int_equal(store_backup_daily(store, backups, false, first, &err), 1);
	assert_int_equal(store_backup_daily(store, backups, false, path, &err), 0);
	make_older(first, 90000);
	assert_int_equal(store_backup_daily(store, backups, false, path, &err), 0); /* nothing has changed */
	assert_int_equal(store_exec(s,
				 "INSERT INTO events(id, ord, lag, what, native, payload) "
				 "VALUES (zeroblob(16), 1, 0, '', '', '{}')"),
		0);
	assert_int_equal(store_backup_daily(store, backups, false, path, &err), 1);
	for (int i = 0; i < 3; i++) {
		assert_true(test_exists(first) == (i < 2));
		assert_int_equal(store_backup_daily(store, backups, true, path, &err), 1);
	}
	assert_int_equal(store_newest_backup(backups, first, &is), 0);
	assert_string_equal(first, path);
	assert_int_equal(is.events, 11);
	/* A bad one is passed over. */
	test_write(path, "text", 4);
	assert_int_equal(store_newest_backup(backups, first, &is), 0);
	assert_string_not_equal(first, path);
	store_close(s);
}

struct taken {
	uint64_t seen; /* a bit per row: one that is read in two ways comes twice */
	unsigned whole;
};

static int take(const struct record *r, void *arg)
{
	struct taken *t = arg;

	if (t->seen >> r->order_us & 1)
		return 0;
	t->seen |= UINT64_C(1) << r->order_us;
	t->whole += r->payload.n == 20002 && str_eq(r->agent, STR("claude")) && str_eq(r->session, STR("s-1"));
	return 1;
}

/* Rows with long payloads, of which many pages are needed; then each page of the file in turn is lost. */
static void test_salvage(void **state)
{
	enum { ROWS = 20 };
	const char *dir = test_dir();
	struct buf good = BUF_INIT(MIB(4));
	char path[FS_PATH], bad[FS_PATH];
	struct store *s, *into;
	unsigned most_lost = 0;

	fs_join(path, dir, "hookd.db");
	fs_join(bad, dir, "bad.db");
	into = open_ok(test_path(dir, "into.db"), STORE_WRITE);
	s = open_ok(path, STORE_WRITE);
	assert_int_equal(store_exec(s,
				 "INSERT INTO sessions(key, agent, native_id, started_at, last_at) "
				 "VALUES (7, 'claude', 's-1', 1, 1)"),
		0);
	for (int64_t i = 0; i < ROWS; i++)
		assert_int_equal(store_do(s,
					 "INSERT INTO events(id, ord, lag, session, what, native, payload) VALUES "
					 "(randomblob(16), ?1, 0, 7, 17, 'Stop', "
					 "printf('\"%.*c\"', 20000, 'x'))",
					 "i", i),
			0);
	store_close(s);
	test_read(path, &good);
	for (size_t at = 0; at < good.len; at += PAGE) {
		struct taken t = { 0 };
		const struct salvage_sink sink = { .take = take, .arg = &t };
		struct salvage found;
		int fd;

		test_write(bad, good.p, good.len);
		fd = open(bad, O_WRONLY | O_CLOEXEC);
		assert_int_equal(pwrite(fd, (char[PAGE]){ 0 }, PAGE, (off_t)at), PAGE);
		close(fd);
		assert_int_equal(store_salvage(bad, into, &sink, &found), 0);
		/* A page belongs to one payload, or to a leaf with a handful of rows. */
		assert_true(found.fresh >= ROWS - 8 && found.fresh <= ROWS);
		most_lost = MAX(most_lost, ROWS - found.fresh);
		if (at == 0)
			assert_int_equal(t.whole, ROWS);
	}
	assert_true(most_lost > 0);
	store_close(into);
	buf_release(&good);
}

static void test_presence(void **state)
{
	const char *dir = test_dir();
	char path[FS_PATH], wal[FS_PATH], copy[FS_PATH];
	struct store *s;

	fs_join(path, dir, "hookd.db");
	fs_join(wal, dir, "hookd.db-wal");
	fs_join(copy, dir, "rescued.db");
	s = open_ok(path, STORE_WRITE);
	fill_events(s, 10);
	assert_int_equal(store_presence(s), STORE_PRESENT);
	assert_true(store_owns_wal(s));
	unlink(wal);
	assert_int_equal(store_presence(s), STORE_WAL_GONE);
	unlink(path);
	assert_int_equal(store_presence(s), STORE_GONE);
	assert_int_equal(store_rescue(s, copy), 0);
	test_write(path, "x", 1);
	assert_int_equal(store_presence(s), STORE_REPLACED);
	store_close(s);
	s = open_ok(copy, STORE_WRITE);
	assert_int_equal(one_number(s, "SELECT count(*) FROM events"), 10);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backup_and_inspect),
		cmocka_unit_test(test_daily_backups),
		cmocka_unit_test(test_salvage),
		cmocka_unit_test(test_presence),
	};

	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
