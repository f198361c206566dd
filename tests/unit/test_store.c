/* store: opening what may be anything, and the writer thread from journal and spool to rows. */
#include "test.h"

#include <sys/stat.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "journal/format.h"
#include "records.h"
#include "stores.h"
#include "store/store.h"

enum { PATIENCE_MS = 20000 };

/* -- opening ----------------------------------------------------------------------------------- */

static int try_open(const char *path, enum store_mode mode)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct err err = { 0 };
	int r = store_open(path, mode, "/nonexistent", &s, &err);

	if (r < 0) {
		assert_null(s);
		assert_true(err.text[0] != 0);
	}
	return r;
}

static void test_open(void **state)
{
	char path[FS_PATH];
	struct buf out = BUF_INIT(KIB(4));
	struct store *s;

	fs_join(path, test_dir(), "hookd.db");
	assert_int_equal(try_open(path, STORE_READ), -ENOENT);
	assert_false(test_exists(path));
	s = open_ok(path, STORE_WRITE);
	assert_int_equal(one_number(s, "PRAGMA user_version"), store_schema_version());
	assert_int_equal(one_number(s, "PRAGMA synchronous"), 2);
	assert_int_equal(one_number(s, "PRAGMA foreign_keys"), 1);
	assert_int_equal(store_check(s, &out), 0);
	assert_int_equal(out.len, 0);
	store_close(s);
	s = open_ok(path, STORE_WRITE);
	store_close(s);
	s = open_ok(path, STORE_READ);
	assert_true(store_exec(s, "DELETE FROM events") < 0);
	store_close(s);
	store_close(NULL);
	buf_release(&out);
}

static void test_newer_is_refused(void **state)
{
	char path[FS_PATH];
	struct store *s;

	fs_join(path, test_dir(), "hookd.db");
	s = open_ok(path, STORE_WRITE);
	assert_int_equal(store_exec(s, "PRAGMA user_version = 4711"), 0);
	store_close(s);
	assert_int_equal(try_open(path, STORE_WRITE), -EPROTONOSUPPORT);
	assert_int_equal(try_open(path, STORE_READ), -EPROTONOSUPPORT);
}

static void test_not_a_store(void **state)
{
	static const char text[] = "Dear diary, this is no database. It only has to be longer than one "
				   "hundred bytes, because shorter files look like new ones to SQLite.";
	const char *dir = test_dir();
	char path[FS_PATH];
	struct buf b = BUF_INIT(KIB(4));

	fs_join(path, dir, "hookd.db");
	test_write(path, text, sizeof text - 1);
	assert_int_equal(try_open(path, STORE_WRITE), -EUCLEAN);
	assert_int_equal(try_open(path, STORE_READ), -EUCLEAN);
	test_read(path, &b);
	assert_str(buf_str(&b), str_of(text));
	buf_release(&b);
	test_write(path, "", 0);
	assert_int_equal(try_open(path, STORE_READ), -ENOENT);
	assert_true(try_open(dir, STORE_WRITE) < 0);
	assert_true(try_open(test_path(dir, "no/such/dir.db"), STORE_WRITE) < 0);
	assert_int_equal(symlink("elsewhere.db", test_path(dir, "link.db")), 0);
	assert_true(try_open(test_path(dir, "link.db"), STORE_WRITE) < 0);
	assert_false(test_exists(test_path(dir, "elsewhere.db")));
}

/* A database of somebody else's is not made ours. */
static void test_foreign_database(void **state)
{
	char path[FS_PATH];
	struct store *s;

	fs_join(path, test_dir(), "other.db");
	s = open_ok(path, STORE_WRITE);
	assert_int_equal(store_exec(s,
				 "DROP TABLE activities; DROP TABLE events; DROP TABLE sessions;"
				 "DROP TABLE journal; CREATE TABLE invoices(n); PRAGMA user_version = 0"),
		0);
	store_close(s);
	assert_int_equal(try_open(path, STORE_WRITE), -EMEDIUMTYPE);
	assert_true(try_open(path, STORE_READ) < 0);
}

/* A home behind a link is nobody's fault. */
static void test_directory_behind_a_link(void **state)
{
	const char *dir = test_dir();
	struct store *s;

	assert_int_equal(mkdir(test_path(dir, "real"), 0700), 0);
	assert_int_equal(symlink("real", test_path(dir, "link")), 0);
	s = open_ok(test_path(dir, "link/hookd.db"), STORE_WRITE);
	store_close(s);
	assert_true(test_exists(test_path(dir, "real/hookd.db")));
}

/* Truncated at each page, and each page zeroed: opening or checking says so, nothing crashes. */
static void test_damaged(void **state)
{
	const char *dir = test_dir();
	struct buf good = BUF_INIT(MIB(4)), out = BUF_INIT(MIB(1));
	char path[FS_PATH];
	struct store *s;
	int found = 0, tried = 0;

	fs_join(path, dir, "hookd.db");
	s = open_ok(path, STORE_WRITE);
	fill_events(s, 2000);
	store_close(s);
	test_read(path, &good);
	for (size_t at = PAGE; at < good.len; at += PAGE)
		for (int zero = 0; zero < 2; zero++) {
			struct err err = { 0 };
			int r;

			test_write(path, good.p, zero ? good.len : at);
			if (zero) {
				int fd = open(path, O_WRONLY | O_CLOEXEC);

				assert_int_equal(pwrite(fd, (char[PAGE]){ 0 }, PAGE, (off_t)at), PAGE);
				close(fd);
			}
			s = NULL;
			r = store_open(path, STORE_WRITE, dir, &s, &err);
			if (r == 0)
				r = store_check(s, &out);
			store_close(s);
			assert_true(r == 0 || r == -EUCLEAN);
			found += r < 0;
			tried++;
			unlink(test_path(dir, "hookd.db-wal"));
			unlink(test_path(dir, "hookd.db-shm"));
		}
	/* The schema was bound to be read, the odd free page is not missed. */
	assert_true(tried > 20 && found >= tried - 4);
	buf_release(&good);
	buf_release(&out);
}

static void test_queries(void **state)
{
	char path[FS_PATH];
	struct store *s;
	struct query *q;

	fs_join(path, test_dir(), "hookd.db");
	s = open_ok(path, STORE_WRITE);
	q = store_query(s, "SELECT ?1, ?2, ?3, ?4, ?5");
	query_bind_int(q, 1, INT64_MIN);
	query_bind_str(q, 2, STR("a\0b"));
	query_bind_str(q, 3, STR_NONE);
	query_bind_str(q, 4, STR(""));
	query_bind_blob(q, 5, "\xFF", 1);
	assert_int_equal(query_step(q), 1);
	assert_int_equal(query_int(q, 0), INT64_MIN);
	assert_str(query_str(q, 1), STR("a\0b"));
	assert_true(query_is_null(q, 2) && !str_is_set(query_str(q, 2)));
	assert_true(!query_is_null(q, 3) && str_is_set(query_str(q, 3)) && query_str(q, 3).n == 0);
	assert_str(query_str(q, 4), STR("\xFF"));
	assert_int_equal(query_step(q), 0);
	/* A statement asked for again is reset and unbound. */
	assert_ptr_equal(store_query(s, "SELECT ?1, ?2, ?3, ?4, ?5"), q);
	assert_int_equal(query_step(q), 1);
	assert_true(query_is_null(q, 0));
	query_reset(q);
	assert_null(store_query(s, "SELECT nothing FROM nowhere"));
	assert_true(query_step(NULL) < 0 && query_run(NULL) < 0);
	query_reset(NULL);
	assert_int_equal(store_exec(s, "INSERT INTO journal VALUES (1, 2, 3)"), 0);
	assert_int_equal(store_changes(s), 1);
	assert_int_equal(store_last_rowid(s), 1);
	assert_int_equal(store_exec(s, "INSERT INTO journal VALUES (1, 2, 3)"), -EEXIST);
	assert_true(strlen(store_error(s)) > 0);
	store_close(s);
}

/* -- the writer -------------------------------------------------------------------------------- */

static _Atomic int fold_calls, fold_failures, commits_told;

static int fold(struct store *s, const struct record *r, enum writer_care care, void *arg)
{
	struct query *q = store_query(s,
		"INSERT OR IGNORE INTO events(id, ord, lag, what, native, marks, payload) "
		"VALUES (?1, ?2, ?2 - ?3, 'k', 'n', ?4, ?5)");
	int got;

	fold_calls++;
	query_bind_blob(q, 1, r->id.b, ULID_BYTES);
	query_bind_int(q, 2, record_number(r));
	query_bind_int(q, 3, r->at_us);
	query_bind_int(q, 4, r->marks);
	query_bind_str(q, 5, r->payload);
	got = query_run(q);
	if (got < 0)
		return got;
	/* After the row, so that only a rollback takes it away again. */
	if (fold_failures > 0) {
		fold_failures--;
		return -ENOSPC;
	}
	return (int)store_changes(s);
}

static void on_committed(void *arg)
{
	(void)arg;
	commits_told++;
}

/* A daemon's worth of directories; the journal and the writer of one life of it. */
struct life {
	char store[FS_PATH], journal[FS_PATH], spool[FS_PATH], backups[FS_PATH];
	struct journal *j;
	struct writer *w;
	bool stopped;
};

static void life_init(struct life *l)
{
	const char *dir = test_dir();

	*l = (struct life){ 0 };
	fs_join(l->store, dir, "hookd.db");
	fs_join(l->journal, dir, "journal");
	fs_join(l->spool, dir, "spool");
	fs_join(l->backups, dir, "backups");
	fold_calls = fold_failures = commits_told = 0;
}

static void life_start(struct life *l, int linger_ms)
{
	struct writer_config config = { .store_path = l->store,
		.journal_dir = l->journal,
		.spool_dir = l->spool,
		.backup_dir = l->backups,
		.linger_ms = linger_ms,
		.fold = fold,
		.committed = on_committed };

	if (journal_open(l->journal, &l->j) < 0)
		abort();
	config.journal = l->j;
	l->w = writer_start(&config);
}

static void life_end(struct life *l)
{
	if (!l->stopped)
		writer_stop(l->w);
	l->stopped = false;
	writer_free(l->w);
	journal_free(l->j);
	l->w = NULL;
	l->j = NULL;
}

static int write_fact(struct store *s, void *arg)
{
	static int n;

	(void)arg;
	return store_do(s, "INSERT INTO facts VALUES (?1, '')", "i", (int64_t)n++);
}

/* A synced commit: what was committed before is on the disk with it, and its segments may go. */
static void settle(struct life *l)
{
	assert_int_equal(writer_call(l->w, write_fact, NULL), 0);
}

static struct journal_pos append(struct life *l, unsigned from, unsigned to)
{
	struct journal_pos end = { 0 };

	for (unsigned n = from; n < to; n++) {
		struct record r = record_sample(n, STR("{}"));

		if (journal_add(l->j, &r) < 0)
			abort();
	}
	if (journal_flush(l->j, &end) < 0)
		abort();
	return end;
}

/* Segments as an earlier daemon left them: journalled, never folded. */
static void leave_segment(struct life *l, unsigned from, unsigned to)
{
	if (journal_open(l->journal, &l->j) < 0)
		abort();
	append(l, from, to);
	journal_free(l->j);
	l->j = NULL;
}

static const char *segment(struct life *l, uint64_t number)
{
	static char ring[4][FS_PATH];
	static unsigned next;
	char *out = ring[next++ % 4];

	journal_segment_path(out, l->journal, number);
	return out;
}

static int64_t count_rows(struct life *l)
{
	struct store *s = open_ok(l->store, STORE_READ);
	int64_t n = one_number(s, "SELECT count(*) FROM events");

	store_close(s);
	return n;
}

/* Looks until the state is as wanted: no test depends on how fast that is. */
static bool wait_for(struct writer *w, bool (*is)(const struct writer_state *s, uint64_t n), uint64_t n)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	int64_t until = clock_mono_us() + PATIENCE_MS * USEC_PER_MSEC;
	struct writer_state s;

	do {
		writer_get_state(w, &s);
		if (is(&s, n))
			return true;
		nanosleep(&pause, NULL);
	} while (clock_mono_us() < until);
	return false;
}

static bool has_folded(const struct writer_state *s, uint64_t n)
{
	return s->folded >= n;
}

static bool has_spooled(const struct writer_state *s, uint64_t n)
{
	return s->spooled >= n;
}

static bool has_damaged(const struct writer_state *s, uint64_t n)
{
	return s->damaged >= n;
}

static bool has_trouble(const struct writer_state *s, uint64_t n)
{
	return !!s->trouble[0] == (n != 0);
}

static void test_live(void **state)
{
	struct writer_state s;
	struct journal_pos end;
	struct life l;

	life_init(&l);
	life_start(&l, 5);
	for (unsigned i = 0; i < 20; i++) {
		end = append(&l, 10 * i, 10 * i + 10);
		writer_notify(l.w, end, 1, i % 2);
	}
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	writer_get_state(l.w, &s);
	assert_true(s.open && !s.trouble[0]);
	assert_int_equal(s.folded, 200);
	assert_int_equal(s.taken, 200);
	assert_int_equal(s.doubled + s.damaged + s.spooled, 0);
	assert_int_equal(s.unfolded_bytes, 0);
	assert_int_equal(s.oldest_unfolded_us, 0);
	assert_int_equal(journal_pos_cmp(&s.committed, &end), 0);
	assert_true(s.commits >= 1 && commits_told >= 1);
	assert_int_equal(count_rows(&l), 200);
	/* The newest segment is never deleted. */
	assert_true(test_exists(segment(&l, 1)));
	assert_int_equal(writer_wait(l.w, end, 0), 0);
	life_end(&l);
}

static void test_replay_of_several_segments(void **state)
{
	struct life l;

	life_init(&l);
	for (unsigned i = 0; i < 4; i++)
		leave_segment(&l, 600 * i, 600 * i + 600); /* more than one commit each */
	life_start(&l, 5);
	assert_int_equal(writer_wait(l.w, journal_end(l.j), PATIENCE_MS), 0);
	settle(&l);
	assert_int_equal(count_rows(&l), 2400);
	for (unsigned i = 1; i <= 4; i++)
		assert_false(test_exists(segment(&l, i)));
	assert_true(test_exists(segment(&l, 5)));
	life_end(&l);
	assert_int_equal(fold_calls, 2400);
}

static void test_resumes_where_it_was(void **state)
{
	struct journal_pos end;
	struct life l;

	life_init(&l);
	life_start(&l, 5);
	end = append(&l, 0, 10);
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	writer_stop(l.w);
	writer_free(l.w);
	append(&l, 10, 15); /* acknowledged, and then the daemon was gone */
	journal_free(l.j);
	fold_calls = 0;
	life_start(&l, 5);
	assert_int_equal(writer_wait(l.w, journal_end(l.j), PATIENCE_MS), 0);
	settle(&l);
	assert_int_equal(fold_calls, 5);
	assert_int_equal(count_rows(&l), 15);
	assert_false(test_exists(segment(&l, 1)));
	life_end(&l);
	/* Nothing is left to fold, and no position of a segment that is gone. */
	fold_calls = 0;
	life_start(&l, 5);
	assert_int_equal(writer_wait(l.w, journal_end(l.j), PATIENCE_MS), 0);
	assert_int_equal(fold_calls, 0);
	life_end(&l);
	struct store *s = open_ok(l.store, STORE_READ);
	assert_int_equal(one_number(s, "SELECT count(*) FROM journal WHERE segment = 1"), 0);
	store_close(s);
}

/* Another file with the number of one that was folded: nothing of it may be skipped. */
static void test_impostor_segment(void **state)
{
	struct journal_pos end;
	struct life l;

	life_init(&l);
	life_start(&l, 5);
	end = append(&l, 0, 10);
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	life_end(&l);
	unlink(segment(&l, 1));
	leave_segment(&l, 100, 110);
	assert_true(test_exists(segment(&l, 1)));
	life_start(&l, 5);
	assert_int_equal(writer_wait(l.w, journal_end(l.j), PATIENCE_MS), 0);
	assert_int_equal(count_rows(&l), 20);
	life_end(&l);
}

/* A power cut may take back bytes behind a committed position. */
static void test_position_past_the_end(void **state)
{
	struct journal_pos end;
	struct life l;

	life_init(&l);
	life_start(&l, 5);
	end = append(&l, 0, 10);
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	life_end(&l);
	assert_int_equal(truncate(segment(&l, 1), (off_t)end.offset - 7), 0);
	life_start(&l, 5);
	end = append(&l, 10, 12);
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	assert_int_equal(count_rows(&l), 12);
	life_end(&l);
}

static void test_doubles_count_once(void **state)
{
	struct writer_state s;
	struct journal_pos end;
	struct record r = record_sample(3, STR("{}"));
	struct life l;

	life_init(&l);
	leave_segment(&l, 0, 10);
	assert_int_equal(spool_write(l.spool, &r, false), 0);
	life_start(&l, 5);
	end = append(&l, 5, 15);
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	assert_true(wait_for(l.w, has_spooled, 1));
	writer_get_state(l.w, &s);
	assert_int_equal(s.folded, 15);
	assert_int_equal(s.doubled, 6);
	assert_int_equal(count_rows(&l), 15);
	life_end(&l);
}

static void damage(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char c;

	assert_int_equal(pread(fd, &c, 1, at), 1);
	c = (char)~c;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void test_damaged_segment(void **state)
{
	struct writer_state s;
	struct life l;

	life_init(&l);
	for (unsigned i = 0; i < 4; i++)
		leave_segment(&l, 10 * i, 10 * i + 10);
	damage(segment(&l, 2), 800); /* inside its records */
	damage(segment(&l, 3), 0);   /* its header */
	life_start(&l, 5);
	assert_int_equal(writer_wait(l.w, journal_end(l.j), PATIENCE_MS), 0);
	settle(&l);
	writer_get_state(l.w, &s);
	assert_int_equal(s.damaged, 2);
	assert_true(s.folded > 20 && s.folded < 30);
	assert_true(test_exists(test_path(l.journal, "0000000000000002.j.damaged")));
	assert_true(test_exists(test_path(l.journal, "0000000000000003.j.damaged")));
	assert_false(test_exists(segment(&l, 1)) || test_exists(segment(&l, 4)));
	/* Life goes on. */
	assert_int_equal(writer_wait(l.w, append(&l, 50, 60), PATIENCE_MS), 0);
	assert_int_equal(count_rows(&l), (int64_t)s.folded + 10);
	life_end(&l);
}

/* A torn tail is what a crash leaves of something nobody acknowledged: no damage. */
static void test_torn_segment(void **state)
{
	struct writer_state s;
	struct stat st;
	struct life l;

	life_init(&l);
	leave_segment(&l, 0, 10);
	assert_int_equal(stat(segment(&l, 1), &st), 0);
	assert_int_equal(truncate(segment(&l, 1), st.st_size - SEGMENT_END - 5), 0);
	life_start(&l, 5);
	assert_int_equal(writer_wait(l.w, journal_end(l.j), PATIENCE_MS), 0);
	settle(&l);
	writer_get_state(l.w, &s);
	assert_int_equal(s.folded, 9);
	assert_int_equal(s.damaged, 0);
	assert_false(test_exists(segment(&l, 1)));
	life_end(&l);
}

/* A segment with a body this release does not understand, written whole and with its checksum. */
static void write_unknown_record(const char *path, uint64_t number)
{
	struct buf b = BUF_INIT(KIB(4));
	uint8_t header[SEGMENT_HEADER], prefix[RECORD_PREFIX];
	static const char body[] = "\x63 of a later release";
	struct record r = record_sample(77, STR("{}"));

	format_segment_header(header, number, 99, 0);
	buf_add(&b, header, sizeof header);
	format_put(prefix, sizeof body, 4);
	format_put(prefix + 4, format_checksum(prefix, body, sizeof body), 4);
	buf_add(&b, prefix, sizeof prefix);
	buf_add(&b, body, sizeof body);
	if (number)
		format_add_record(&b, &r);
	test_write(path, b.p, b.len);
	buf_release(&b);
}

/* What was acknowledged by a later release is not thrown away by an earlier one. */
static void test_unknown_records_are_kept(void **state)
{
	struct writer_state s;
	struct life l;

	life_init(&l);
	assert_int_equal(fs_private_dir(l.journal), 0);
	assert_int_equal(fs_private_dir(l.spool), 0);
	write_unknown_record(segment(&l, 1), 1);
	write_unknown_record(test_path(l.spool, "01ARYZ6S410000000000000000.j"), 0);
	life_start(&l, 5);
	assert_int_equal(writer_wait(l.w, journal_end(l.j), PATIENCE_MS), 0);
	writer_stop(l.w);
	l.stopped = true;
	writer_get_state(l.w, &s);
	assert_int_equal(s.folded, 1);
	assert_int_equal(s.damaged, 2);
	life_end(&l);
	assert_true(test_exists(test_path(l.journal, "0000000000000001.j.damaged")));
	assert_true(test_exists(test_path(l.spool, "01ARYZ6S410000000000000000.j.damaged")));
}

static void test_spool(void **state)
{
	struct writer_state s;
	struct record r;
	struct life l;
	char path[FS_PATH], id[ULID_TEXT + 1];
	struct store *store;

	life_init(&l);
	for (unsigned i = 0; i < 5; i++) {
		r = record_sample(i, STR("{}"));
		assert_int_equal(spool_write(l.spool, &r, false), 0);
		ulid_format(&r.id, id);
		snprintf(path, sizeof path, "%.4000s/%s.j", l.spool, id);
		if (i == 1)
			damage(path, 60);
		if (i == 2)
			assert_int_equal(truncate(path, 60), 0); /* torn */
		if (i == 3)
			assert_int_equal(truncate(path, 0), 0); /* empty, as after a power cut */
	}
	test_write(test_path(l.spool, "note.txt"), "hi", 2);
	test_write(test_path(l.spool, ".tmp.j"), "hi", 2);
	life_start(&l, 5);
	assert_true(wait_for(l.w, has_spooled, 2));
	assert_true(wait_for(l.w, has_damaged, 3));
	/* Later ones are found when somebody says so. */
	r = record_sample(9, STR("{}"));
	assert_int_equal(spool_write(l.spool, &r, true), 0);
	writer_notify_spool(l.w);
	assert_true(wait_for(l.w, has_spooled, 3));
	writer_get_state(l.w, &s);
	assert_int_equal(s.folded, 3);
	assert_int_equal(s.damaged, 3);
	life_end(&l);
	store = open_ok(l.store, STORE_READ);
	assert_int_equal(one_number(store, "SELECT count(*) FROM events WHERE marks & 16"), 3);
	store_close(store);
	/* Three set aside, and the two that are none of ours. */
	DIR *d = opendir(l.spool);
	unsigned aside = 0, others = 0;
	for (struct dirent *e; (e = readdir(d));) {
		aside += str_ends(str_of(e->d_name), STR(".j.damaged"));
		others += strcmp(e->d_name, "note.txt") == 0 || strcmp(e->d_name, ".tmp.j") == 0;
		assert_false(strlen(e->d_name) == ULID_TEXT + 2);
	}
	closedir(d);
	assert_int_equal(aside, 3);
	assert_int_equal(others, 2);
}

/* A damaged file alone is counted as well. */
static void test_spool_only_damaged(void **state)
{
	struct life l;

	life_init(&l);
	assert_int_equal(fs_private_dir(l.spool), 0);
	test_write(test_path(l.spool, "01ARYZ6S410000000000000000.j"), "nonsense", 8);
	life_start(&l, 5);
	assert_true(wait_for(l.w, has_damaged, 1));
	life_end(&l);
}

static void test_fold_error_is_tried_again(void **state)
{
	struct writer_state s;
	struct journal_pos end;
	struct life l;

	life_init(&l);
	fold_failures = 1;
	life_start(&l, 5);
	end = append(&l, 0, 10);
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	writer_get_state(l.w, &s);
	assert_int_equal(fold_calls, 11);
	assert_int_equal(s.folded, 10);
	assert_int_equal(s.doubled, 0); /* the first try left nothing behind */
	assert_string_equal(s.trouble, "");
	assert_int_equal(count_rows(&l), 10);
	life_end(&l);
}

static void test_spool_fold_error_is_tried_again(void **state)
{
	struct record r = record_sample(4, STR("{}"));
	struct writer_state s;
	struct life l;

	life_init(&l);
	assert_int_equal(spool_write(l.spool, &r, false), 0);
	fold_failures = 1;
	life_start(&l, 5);
	assert_true(wait_for(l.w, has_spooled, 1));
	writer_get_state(l.w, &s);
	assert_true(s.folded == 1 && s.doubled == 0);
	assert_string_equal(s.trouble, "");
	assert_int_equal(count_rows(&l), 1);
	life_end(&l);
}

static void test_store_that_cannot_be_opened(void **state)
{
	struct life l;

	/* A directory is in the way: nothing that hookd would move by itself. */
	life_init(&l);
	assert_int_equal(mkdir(l.store, 0700), 0);
	life_start(&l, 5);
	writer_notify(l.w, append(&l, 0, 10), 1, true);
	assert_true(wait_for(l.w, has_trouble, 1));
	assert_true(test_exists(segment(&l, 1)));
	/* Somebody moves it away. */
	assert_int_equal(rmdir(l.store), 0);
	assert_true(wait_for(l.w, has_folded, 10));
	assert_true(wait_for(l.w, has_trouble, 0));
	assert_int_equal(count_rows(&l), 10);
	life_end(&l);
}

static void test_wait(void **state)
{
	struct journal_pos end, later;
	struct life l;

	life_init(&l);
	life_start(&l, 5);
	end = append(&l, 0, 3);
	later = end;
	later.offset++;
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	assert_int_equal(writer_wait(l.w, later, 20), -ETIMEDOUT);
	writer_stop(l.w);
	assert_int_equal(writer_wait(l.w, end, 0), 0);
	assert_int_equal(writer_wait(l.w, later, PATIENCE_MS), -ECANCELED);
	writer_free(l.w);
	journal_free(l.j);
	writer_stop(NULL);
	writer_free(NULL);
}

static void test_stop_commits_what_is_there(void **state)
{
	struct life l;

	life_init(&l);
	life_start(&l, 3600 * 1000);
	writer_notify(l.w, append(&l, 0, 30), 1, false);
	life_end(&l);
	assert_int_equal(count_rows(&l), 30);
}

static void *wait_in_thread(void *arg)
{
	struct life *l = arg;

	return (void *)(intptr_t)writer_wait(l->w, (struct journal_pos){ .segment = 999 }, PATIENCE_MS);
}

static void test_stop_frees_who_waits(void **state)
{
	pthread_t t;
	void *result;
	struct life l;

	life_init(&l);
	life_start(&l, 5);
	assert_int_equal(pthread_create(&t, NULL, wait_in_thread, &l), 0);
	writer_stop(l.w);
	pthread_join(t, &result);
	assert_int_equal((intptr_t)result, -ECANCELED);
	writer_free(l.w);
	journal_free(l.j);
}

static void *open_again_and_again(void *arg)
{
	struct life *l = arg;

	for (int i = 0; i < 20; i++) {
		struct store *s = NULL;
		int r = store_open(l->store, STORE_READ, NULL, &s, NULL);

		if (r == 0)
			(void)one_number(s, "SELECT count(*) FROM events");
		store_close(s);
	}
	return NULL;
}

/* Readers come and go while the writer writes and the loop appends. */
static void test_readers_beside_the_writer(void **state)
{
	pthread_t t[2];
	struct journal_pos end = { 0 };
	struct life l;

	life_init(&l);
	life_start(&l, 1);
	for (size_t i = 0; i < countof(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, open_again_and_again, &l), 0);
	for (unsigned i = 0; i < 50; i++) {
		end = append(&l, 5 * i, 5 * i + 5);
		writer_notify(l.w, end, 1, i % 3 == 0);
	}
	assert_int_equal(writer_wait(l.w, end, PATIENCE_MS), 0);
	for (size_t i = 0; i < countof(t); i++)
		pthread_join(t[i], NULL);
	assert_int_equal(count_rows(&l), 250);
	life_end(&l);
}

static int case_commit_fails(const char *dir)
{
	struct journal_pos end;
	struct writer_state s;
	struct life l;

	(void)dir;
	life_init(&l);
	life_start(&l, 5);
	end = append(&l, 0, 10);
	CHECK(writer_wait(l.w, end, PATIENCE_MS) == 0);
	writer_get_state(l.w, &s);
	CHECK(s.folded == 10 && s.doubled == 0 && fold_calls == 20);
	life_end(&l);
	return 0;
}

static const struct test_case cases[] = { { "commit", case_commit_fails } };

static void test_failing_commit(void **state)
{
	assert_int_equal(test_rerun("commit", "-", "commit:1"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_newer_is_refused),
		cmocka_unit_test(test_not_a_store),
		cmocka_unit_test(test_foreign_database),
		cmocka_unit_test(test_directory_behind_a_link),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_replay_of_several_segments),
		cmocka_unit_test(test_resumes_where_it_was),
		cmocka_unit_test(test_impostor_segment),
		cmocka_unit_test(test_position_past_the_end),
		cmocka_unit_test(test_doubles_count_once),
		cmocka_unit_test(test_damaged_segment),
		cmocka_unit_test(test_torn_segment),
		cmocka_unit_test(test_unknown_records_are_kept),
		cmocka_unit_test(test_spool),
		cmocka_unit_test(test_spool_only_damaged),
		cmocka_unit_test(test_fold_error_is_tried_again),
		cmocka_unit_test(test_spool_fold_error_is_tried_again),
		cmocka_unit_test(test_store_that_cannot_be_opened),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_stop_commits_what_is_there),
		cmocka_unit_test(test_stop_frees_who_waits),
		cmocka_unit_test(test_readers_beside_the_writer),
		cmocka_unit_test(test_failing_commit),
	};

	if (argc == 3)
		return test_run_case(cases, countof(cases), argv);
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
