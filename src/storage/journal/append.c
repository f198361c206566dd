/* Appending: the loop thread's half of the journal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "journal/format.h"
#include "journal/internal.h"

enum {
	CLOCK_STEP_US = 1000000,   /* a smaller step back is not worth a correction */
	CLIENT_LATE_US = 60000000, /* a client that waited longer than this has another clock */
	NUMBERS_TRIED = 64,        /* a segment's number may be taken by a foreign file */
};

void format_segment_header(uint8_t out[SEGMENT_HEADER], uint64_t number, uint64_t identity, uint32_t ends)
{
	memcpy(out, SEGMENT_MAGIC, 8);
	format_put(out + 8, SEGMENT_VERSION, 4);
	format_put(out + 12, ends, 4);
	format_put(out + 16, number, 8);
	format_put(out + 24, identity, 8);
}

int format_add_record(struct buf *b, const struct record *r)
{
	size_t at = b->len, n;
	uint8_t prefix[RECORD_PREFIX] = { 0 };

	/* A longer record would look like damage to the reader, and everything behind it with it. */
	if (buf_add(b, prefix, sizeof prefix) < 0 || record_encode(r, b) < 0 ||
		b->len - at - RECORD_PREFIX > LIMIT_RECORD) {
		b->len = at;
		if (b->cap)
			b->p[at] = 0;
		b->full = false;
		return -E2BIG;
	}
	n = b->len - at - RECORD_PREFIX;
	format_put(b->p + at, n, 4);
	format_put(b->p + at + 4, format_checksum(b->p + at, b->p + at + RECORD_PREFIX, n), 4);
	return 0;
}

void format_segment_name(char out[SEGMENT_NAME], uint64_t number)
{
	snprintf(out, SEGMENT_NAME, "%016llx.j", (unsigned long long)number);
}

int journal_segment_path(char out[4096], const char *dir, uint64_t number)
{
	int n = snprintf(out, FS_PATH, "%s/%016llx.j", dir, (unsigned long long)number);

	return n < 0 || n >= FS_PATH ? -ENAMETOOLONG : 0;
}

/* Leaves the current file descriptor for journal_sync() to sync and close, and continues with the next one. */
static void change_segment(struct journal *j, int fd, const struct journal_pos *next)
{
	pthread_mutex_lock(&j->owed.lock);
	j->owed.dir = true;
	j->owed.end = *next;
	j->owed.zeroed = j->owed.zeroing = 0;
	j->owed.reserved = SEGMENT_HEADER + j->batch.len + SEGMENT_END;
	if (j->fd >= 0) {
		journal_hold(j, j->end.segment, j->fd);
		/* Segments are synced every second, so sixteen closed ones waiting means the disk hangs; then
		 * the kernel writes the oldest back in its own time. */
		if (j->owed.nretired == RETIRED_MAX) {
			close(j->owed.retired[0]);
			memmove(j->owed.retired, j->owed.retired + 1, (RETIRED_MAX - 1) * sizeof(int));
			j->owed.nretired--;
			j->owed.lost = true;
		}
		j->owed.retired[j->owed.nretired++] = j->fd;
	}
	j->owed.file = true; /* its header */
	j->fd = fd;
	pthread_mutex_unlock(&j->owed.lock);
	j->end = *next;
	j->records = 0;
	j->torn = false;
}

static int create_segment(struct journal *j, struct journal_pos *next, char name[SEGMENT_NAME])
{
	int fd = -1, r = 0;

	for (int i = 0; i < NUMBERS_TRIED && fd < 0 && r == 0; i++) {
		format_segment_name(name, ++next->segment);
		fd = openat(j->owed.dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			r = -errno;
	}
	return fd >= 0 ? fd : r < 0 ? r : -EEXIST;
}

/* Somebody removed or replaced the directory. Records go to a new one at the same path, unless another daemon is at
 * home there by now: then they stay where they are. */
static int move_back(struct journal *j)
{
	int r = j->is_ours && !j->is_ours(j->ours_arg) ? -ESTALE : fs_private_dir(j->dir);

	return r < 0 ? r : journal_settle(j);
}

/* Opens the segment after the current one. */
static int open_segment(struct journal *j)
{
	uint8_t header[SEGMENT_HEADER + SEGMENT_END] = { 0 };
	struct journal_pos next = { .segment = j->end.segment, .offset = SEGMENT_HEADER };
	char name[SEGMENT_NAME];
	int fd, r;

	if (getrandom(&next.identity, sizeof next.identity, 0) < 0)
		next.identity = (uint64_t)clock_wall_us();
	next.identity &= INT64_MAX; /* kept in a signed column of the store */
	if (atomic_load_explicit(&j->astray, memory_order_relaxed))
		(void)move_back(j);
	fd = create_segment(j, &next, name);
	if (fd == -ENOENT && move_back(j) == 0) {
		next.segment = j->end.segment;
		fd = create_segment(j, &next, name);
	}
	if (fd < 0)
		return fd;
	/* The count is the next one's to know: a file that lost its end has lost whatever it said itself. */
	format_segment_header(header, next.segment, next.identity,
		ENDS_IN_ZEROS | (j->fd >= 0 && next.segment == j->end.segment + 1 ? j->records + 1 : 0));
	r = journal_fault("write");
	if (r == 0)
		r = fs_write_all(fd, header, sizeof header);
	if (r < 0) {
		close(fd);
		unlinkat(j->owed.dir_fd, name, 0);
		return r;
	}
	change_segment(j, fd, &next);
	return 0;
}

/* The clock may have been set back between two daemons as well. 0: there is no record in this segment. */
static int64_t last_order(struct journal *j, uint64_t number)
{
	struct journal_reader reader;
	struct record record;
	int64_t last = 0;
	str body;

	if (journal_reader_open_at(&reader, j->owed.dir_fd, number) < 0)
		return 0;
	while (journal_reader_next(&reader, &body) == 1)
		if (record_decode(body, &record) == 0 && !(record.marks & EVENT_SPOOLED))
			last = MAX(last, record.order_us);
	journal_reader_close(&reader);
	return last;
}

int journal_open(const char *dir, struct journal **ret)
{
	struct journal *j = xcalloc(1, sizeof *j);
	_cleanup_(freep) uint64_t *numbers = NULL;
	size_t n = 0;
	int r;

	snprintf(j->dir, sizeof j->dir, "%s", dir);
	j->fd = j->owed.dir_fd = -1;
	pthread_mutex_init(&j->owed.lock, NULL);
	buf_init(&j->batch, 4 * LIMIT_RECORD + SEGMENT_END);
	buf_init(&j->failed, 4 * LIMIT_RECORD + SEGMENT_END);
	r = fs_private_dir(dir);
	if (r == 0)
		r = journal_settle(j);
	if (r == 0)
		r = journal_list_at(j->owed.dir_fd, &numbers, &n);
	for (size_t i = n; r == 0 && i-- > 0 && !j->now_us;)
		j->now_us = last_order(j, numbers[i]);
	if (r == 0) {
		j->end.segment = n ? numbers[n - 1] : 0;
		r = open_segment(j);
	}
	if (r < 0) {
		journal_free(j);
		return r;
	}
	*ret = j;
	return 0;
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	/* What is left of the zeros says nothing. */
	if (j->fd >= 0 && !j->torn)
		(void)!ftruncate(j->fd, (off_t)j->end.offset + SEGMENT_END);
	for (int i = 0; i < j->owed.nretired; i++)
		close(j->owed.retired[i]);
	for (int i = 0; i < JOURNAL_HELD_MAX; i++)
		if (j->owed.held[i].number)
			close(j->owed.held[i].fd);
	fs_closep(&j->fd);
	fs_closep(&j->owed.dir_fd);
	pthread_mutex_destroy(&j->owed.lock);
	buf_release(&j->batch);
	buf_release(&j->failed);
	free(j);
}

struct journal_pos journal_end(const struct journal *j)
{
	return j->end;
}

/* A daemon that is behind meets two events of one millisecond after it is over: the later one still comes after the
 * first. */
static int64_t place_in(struct journal *j, int64_t ms, int64_t us)
{
	size_t at = (size_t)ms % JOURNAL_MOMENTS;

	if (j->moments[at].ms == ms)
		us = MAX(us, j->moments[at].last_us + 1);
	j->moments[at].ms = ms;
	j->moments[at].last_us = us;
	return us;
}

/* An event's place in the order is the moment its client had it, because hooks that run in parallel overtake each
 * other on their way here. Two corrections are made: backward steps of the clock are removed, and an impossible
 * client time is replaced by ours, which always increases. Clients report milliseconds; within one, whoever arrived
 * first was first: a hook that waited for the answer to another one may well begin in the same millisecond. */
static int64_t order_of(struct journal *j, int64_t at_us)
{
	int64_t now = clock_wall_us() + j->step_us;

	if (now < j->now_us - CLOCK_STEP_US)
		j->step_us += j->now_us - now;
	j->now_us = MAX(now, j->now_us + 1);
	at_us += j->step_us;
	if (at_us > j->now_us || at_us <= j->now_us - CLIENT_LATE_US)
		return j->now_us;
	return place_in(j, at_us / USEC_PER_MSEC, MIN(j->now_us, at_us + USEC_PER_MSEC - 1));
}

static int add_to_batch(struct journal *j, const struct record *r)
{
	int result = format_add_record(&j->batch, r);

	j->batch_records += result == 0;
	return result;
}

int journal_add(struct journal *j, struct record *r)
{
	if (!(r->marks & EVENT_SPOOLED))
		r->order_us = order_of(j, r->at_us);
	return add_to_batch(j, r);
}

/* A write that did not happen in full must leave no trace, or the next record would follow a torn
 * one and be lost with it. */
static void undo_write(struct journal *j)
{
	j->torn = journal_fault("truncate") < 0 || ftruncate(j->fd, (off_t)j->end.offset) < 0;
	if (!j->torn) {
		(void)!ftruncate(j->fd, (off_t)j->end.offset + SEGMENT_END);
		/* The zeros went with it; those that are just being written only make the file longer. */
		pthread_mutex_lock(&j->owed.lock);
		j->owed.zeroed = 0;
		pthread_mutex_unlock(&j->owed.lock);
		return;
	}
	log_warn(LOG_JOURNAL, "segment %016llx cannot be truncated after a failed write, leaving it",
		(unsigned long long)j->end.segment);
	(void)open_segment(j);
}

/* The current segment must be one whose records will be read. */
static int make_ready(struct journal *j)
{
	if (j->torn)
		undo_write(j);
	if (j->torn)
		return -EIO;
	if (atomic_load_explicit(&j->abandoned, memory_order_relaxed) == j->end.segment)
		return open_segment(j);
	return 0;
}

/* Takes the room for the batch. False: another thread is writing zeros there just now; nobody waits for them. */
static bool reserve(struct journal *j)
{
	uint64_t end = j->end.offset + j->batch.len + SEGMENT_END;
	bool is_free;

	pthread_mutex_lock(&j->owed.lock);
	is_free = !j->owed.zeroing || end <= j->owed.zeroing;
	if (is_free)
		j->owed.reserved = end;
	pthread_mutex_unlock(&j->owed.lock);
	return is_free;
}

static int write_batch(struct journal *j)
{
	static const char end[SEGMENT_END];
	size_t n = j->batch.len;
	int r = journal_fault("write");

	/* In one write, and over the zeros that the last one left. */
	if (r == 0)
		r = buf_add(&j->batch, end, sizeof end);
	if (r == 0)
		r = fs_write_all_at(j->fd, j->batch.p, j->batch.len, j->end.offset);
	j->batch.len = n;
	if (r < 0) {
		undo_write(j);
		return r;
	}
	pthread_mutex_lock(&j->owed.lock);
	j->end.offset += n;
	j->records += j->batch_records;
	j->owed.end = j->end;
	j->owed.file = true;
	pthread_mutex_unlock(&j->owed.lock);
	return 0;
}

int journal_flush(struct journal *j, struct journal_pos *ret_end)
{
	int r;

	if (j->batch.len) {
		r = make_ready(j);
		if (r == 0 && !reserve(j))
			r = open_segment(j); /* which reserves it there */
		if (r == 0)
			r = write_batch(j);
		if (r < 0) {
			buf_release(&j->failed);
			j->failed = j->batch;
			buf_init(&j->batch, j->failed.max);
			j->batch_records = 0;
			return r;
		}
		j->batch_records = 0;
		/* A burst or a giant payload must not keep its memory forever. */
		if (j->batch.cap > MIB(1))
			buf_release(&j->batch);
		else
			buf_clear(&j->batch);
	}
	*ret_end = j->end;
	if (j->end.offset >= LIMIT_SEGMENT)
		(void)open_segment(j);
	return 0;
}

struct buf journal_take_failed(struct journal *j)
{
	struct buf taken = j->failed;

	buf_init(&j->failed, taken.max);
	return taken;
}

void journal_abandon(struct journal *j, uint64_t segment)
{
	atomic_store_explicit(&j->abandoned, segment, memory_order_relaxed);
}

int journal_rotate(struct journal *j, struct journal_pos *ret_before)
{
	int r = make_ready(j);

	*ret_before = j->end;
	if (r == 0)
		r = open_segment(j);
	return r;
}
