#include "transcript/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "base/limits.h"

static const struct transcript_format *const formats[] = {
	&transcript_qwen, /* before Claude Code's, which looks much like it */
	&transcript_claude,
	&transcript_codex,
	&transcript_gemini,
	&transcript_copilot,
	&transcript_opencode,
};

/* Enough for the first lines of any agent; a line that goes on beyond it is looked at as far as it goes. */
enum { HEAD_BYTES = 64 << 10, IDENTITY_BYTES = 4096 };

/* -- items ------------------------------------------------------------------------------------- */

/* A line may hold a hundred thousand items and a folder's name four kilobytes: one copy serves them all. */
static str share(struct transcript *t, enum memory_text which)
{
	str text = memory_get(&t->now, which);

	if (!str_eq(t->shared[which], text))
		t->shared[which] = arena_str(&t->a, text);
	return str_is_set(text) ? t->shared[which] : STR_NONE;
}

struct transcript_item *emit(struct transcript *t, enum transcript_kind kind, str id)
{
	struct queued *q = arena_new(&t->a, struct queued);
	const struct memory *m = &t->now;

	q->item = (struct transcript_item){
		.kind = kind,
		.at_us = m->number[MEMORY_AT] ? m->number[MEMORY_AT] : t->mtime_us,
		.id = arena_str(&t->a, str_cut_utf8(id, LIMIT_NAME)),
		.session = share(t, MEMORY_SESSION),
		.cwd = share(t, MEMORY_CWD),
		.model = share(t, MEMORY_MODEL),
		.prompt_id = share(t, MEMORY_PROMPT),
		.agent_id = share(t, MEMORY_AGENT_ID),
		.agent_type = share(t, MEMORY_AGENT_TYPE),
		.sidechain = m->number[MEMORY_SIDECHAIN] != 0,
	};
	/* Only those without a name are counted: usage that waited may come in this line or before it. */
	if (str_empty(id))
		q->item.id = arena_strf(&t->a, "%lld.%u", (long long)t->line_offset, t->place++);
	*t->last = q;
	t->last = &q->next;
	return &q->item;
}

void emit_start(struct transcript *t, str id)
{
	struct transcript_item *item = emit(t, TRANSCRIPT_START, id);

	/* Nothing has been asked yet. */
	item->prompt_id = STR_NONE;
}

void set_time(struct transcript *t, str text)
{
	(void)clock_parse(text.p, text.n, &t->now.number[MEMORY_AT]);
}

struct json *make_text(struct arena *a, str text)
{
	struct json *v = arena_new(a, struct json);

	v->type = JSON_STRING;
	v->text = text;
	return v;
}

struct json *make_object(struct arena *a, const str *keys, const struct json *const *values, size_t n)
{
	struct json *v = arena_new(a, struct json), **last = &v->first;

	v->type = JSON_OBJECT;
	for (size_t i = 0; i < n; i++) {
		struct json *m;

		if (!values[i])
			continue;
		m = arena_new(a, struct json);
		*m = *values[i];
		m->key = keys[i];
		m->next = NULL;
		*last = m;
		last = &m->next;
		v->count++;
	}
	return v;
}

/* One pass to measure and one to copy: a prompt may be megabytes, and most have one part, which is borrowed. */
str join_texts(struct arena *a, const struct json *content, str separator)
{
	str only = json_str(content);
	size_t total = 0, parts = 0, at = 0;
	char *out;

	if (str_is_set(only))
		return only;
	for (unsigned pass = 0; pass < 2; pass++) {
		out = pass && parts > 1 ? arena_bytes(a, total) : NULL;
		json_each(part, content) {
			str text = json_str(json_get(part, STR("text")));

			if (part->type == JSON_STRING)
				text = part->text;
			if (str_empty(text))
				continue;
			if (pass == 0) {
				only = text;
				total += text.n + (parts++ > 0 ? separator.n : 0);
				continue;
			}
			if (at > 0)
				memcpy(out + at, separator.p, separator.n);
			at += at > 0 ? separator.n : 0;
			memcpy(out + at, text.p, text.n);
			at += text.n;
		}
		if (parts <= 1)
			return only;
	}
	return str_n(out, total);
}

int64_t get_count(const struct json *obj, const char *key)
{
	int64_t n = 0;

	/* Sums of a few of them must fit, and no model ever read that much. */
	return json_int(json_get(obj, str_of(key)), &n) && n > 0 ? MIN(n, INT64_C(1) << 50) : 0;
}

int64_t text_hash(str text)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < text.n; i++)
		h = (h ^ (unsigned char)text.p[i]) * UINT64_C(1099511628211);
	/* Positive, so that it is written as a plain number, and never 0, which says that there is none. */
	return (int64_t)(h >> 1 | 1);
}

str path_part(const char *path, unsigned nth)
{
	str rest = str_of(path);
	size_t end = rest.n, i = rest.n;

	for (;;) {
		while (i > 0 && rest.p[i - 1] != '/')
			i--;
		if (nth == 0)
			return str_n(rest.p + i, end - i);
		if (i == 0)
			return STR_NONE;
		end = --i;
		nth--;
	}
}

/* -- opening ----------------------------------------------------------------------------------- */

static int refuse_kind(const char *path, mode_t mode, struct err *err)
{
	static const struct {
		mode_t mode;
		const char *name;
	} kinds[] = {
		{ S_IFDIR, "a directory" },
		{ S_IFLNK, "a link" },
		{ S_IFIFO, "a FIFO" },
		{ S_IFSOCK, "a socket" },
		{ S_IFCHR, "a device" },
		{ S_IFBLK, "a device" },
	};

	for (size_t i = 0; i < countof(kinds); i++)
		if ((mode & S_IFMT) == kinds[i].mode)
			return err_set(err, -EINVAL, "%s is %s, not a plain file", path, kinds[i].name);
	return err_set(err, -EINVAL, "%s is not a plain file", path);
}

/* Looked at before it is opened, because opening a device may do something; and after, because it may have been
 * exchanged in between. */
static int open_plain(struct transcript *t, const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse_kind(path, st.st_mode, err);
	t->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->fd < 0)
		return err_set(err, errno == ELOOP || errno == ENXIO ? -EINVAL : -errno, "%s: %s", path,
			strerror(errno));
	if (fstat(t->fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse_kind(path, st.st_mode, err);
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM, "%s belongs to another user (%u)", path, (unsigned)st.st_uid);
	t->size = st.st_size;
	t->mtime_us = (int64_t)st.st_mtim.tv_sec * USEC_PER_SEC + st.st_mtim.tv_nsec / 1000;
	buf_addf(&t->identity, "%llx:%llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return 0;
}

ssize_t read_at(int fd, char *p, size_t n, int64_t offset)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(fd, p + got, n - got, (off_t)(offset + (int64_t)got));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

const struct json *read_again(struct transcript *t, int64_t at, int64_t bytes)
{
	struct json *line = NULL;
	char *room;

	if (at < 0 || bytes <= 0 || bytes > TRANSCRIPT_LINE_MAX + 2)
		return NULL;
	room = arena_bytes(&t->a, (size_t)bytes);
	if (read_at(t->fd, room, (size_t)bytes, at) != bytes ||
		json_parse(&t->a, str_trim(str_n(room, (size_t)bytes)), JSON_LENIENT_UTF8, &line, NULL) < 0)
		return NULL;
	return line;
}

/* A hash of the first line, because that stays when a file grows; of none while it is not whole. */
static void add_identity(struct transcript *t, str head)
{
	ptrdiff_t nl;
	size_t n;

	head = str_head(head, IDENTITY_BYTES);
	nl = str_find_char(head, '\n');
	n = nl >= 0 ? (size_t)nl : head.n == IDENTITY_BYTES ? head.n : 0;
	buf_addf(&t->identity, ":%zx:%08x", n, n ? (unsigned)crc32c(0, head.p, n) : 0);
}

static bool is_same_file(str now, str then)
{
	static const str unread = STR(":0:00000000");

	if (str_empty(then) || str_eq(now, then))
		return true;
	/* It had no whole line when it was seen last: device and inode are all there is to compare. */
	return str_ends(then, unread) && str_starts(now, str_head(then, then.n - unread.n + 1));
}

/* Whether reading can go on at this offset: only behind the end of a line, or in the midst of one that is skipped. */
static bool can_go_on(const struct transcript *t, int64_t offset)
{
	char before;

	if (offset == 0 || t->now.number[MEMORY_SKIPPING] || t->document)
		return true;
	return read_at(t->fd, &before, 1, offset - 1) == 1 && before == '\n';
}

static const struct transcript_format *find_format(const char *agent, str head)
{
	for (size_t i = 0; i < countof(formats); i++)
		if (agent ? strcmp(agent, formats[i]->agent) == 0 : formats[i]->knows(head))
			return formats[i];
	return NULL;
}

static bool is_database(const struct transcript_format *f, str head)
{
	return f->database && str_starts(head, STR("SQLite format 3\0"));
}

static void restart(struct transcript *t)
{
	memory_release(&t->now);
	memory_init(&t->now);
	t->replaced = true;
}

static void go_to(struct transcript *t, const struct transcript_request *q)
{
	int64_t offset = q->offset > 0 ? q->offset : 0;
	bool fits = is_same_file(buf_str(&t->identity), q->identity) && offset <= t->size &&
		memory_read(&t->now, q->state) == 0 && can_go_on(t, offset);

	/* A document is always rewritten as a whole; only an unchanged one need not be read again. */
	if (fits && t->document && offset > 0)
		fits = offset == t->size && t->now.number[MEMORY_DOCUMENT] == t->mtime_us;
	if (!fits) {
		restart(t);
		offset = 0;
	}
	/* The line it begins in is cut: it is skipped like one that is too long. */
	if (q->tail > 0 && !t->document && t->size - offset > q->tail) {
		offset = t->size - q->tail;
		t->now.number[MEMORY_SKIPPING] = 1;
	}
	t->before_offset = offset;
	lines_init(&t->lines, t->fd, offset, t->size, t->now.number[MEMORY_SKIPPING] != 0);
	t->now.number[MEMORY_SKIPPING] = 0;
}

static int open_transcript(struct transcript *t, const struct transcript_request *q, struct err *err)
{
	_cleanup_(freep) char *room = xmalloc(HEAD_BYTES);
	ssize_t got;
	str head;
	int r = open_plain(t, q->path, err);

	if (r < 0)
		return r;
	got = read_at(t->fd, room, HEAD_BYTES, 0);
	if (got < 0)
		return err_set(err, (int)got, "%s: %s", q->path, strerror((int)-got));
	head = str_n(room, (size_t)got);
	/* The beginning of a database changes with every change of it. */
	add_identity(t, str_starts(head, STR("SQLite format 3\0")) ? STR("") : head);
	if (str_starts(head, STR("\xEF\xBB\xBF")))
		head = str_from(head, 3);
	t->format = find_format(q->agent, head);
	if (!t->format)
		return err_set(err, -ENOMSG, "%s is not a transcript of an agent that hookd knows", q->path);
	t->path = xstrdup(q->path);
	t->document = t->format->is_document && t->format->is_document(t->path);
	if (t->document && t->size > TRANSCRIPT_LINE_MAX)
		return err_set(err, -EFBIG, "%s: one JSON document of %lld bytes; the limit is %d", q->path,
			(long long)t->size, TRANSCRIPT_LINE_MAX);
	go_to(t, q);
	if (is_database(t->format, head))
		return database_open(t->path, t->format->database, t->now.number[MEMORY_NEWEST], &t->database, err);
	if (t->format->begin)
		t->format->begin(t);
	return 0;
}

int transcript_open(const struct transcript_request *q, struct transcript **ret, struct err *err)
{
	struct transcript *t = xcalloc(1, sizeof *t);
	int r;

	t->fd = -1;
	t->last = &t->first;
	t->state = xcalloc(1, sizeof *t->state);
	buf_init(t->state, MIB(1));
	buf_init(&t->identity, 256);
	arena_init(&t->a);
	memory_init(&t->now);
	memory_init(&t->before);
	r = open_transcript(t, q, err);
	if (r < 0) {
		transcript_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

void transcript_close(struct transcript *t)
{
	if (!t)
		return;
	lines_release(&t->lines);
	database_close(t->database);
	memory_release(&t->now);
	memory_release(&t->before);
	arena_release(&t->a);
	buf_release(&t->identity);
	buf_release(t->state);
	free(t->state);
	free(t->path);
	fs_closep(&t->fd);
	free(t);
}

/* -- reading ----------------------------------------------------------------------------------- */

static void read_line(struct transcript *t, str line)
{
	struct json *tree = NULL;

	t->line_bytes = t->lines.end - t->line_offset;
	if (!t->format->wants(t, line)) {
		t->skipped++;
		return;
	}
	if (json_parse(&t->a, line, JSON_LENIENT_UTF8, &tree, NULL) < 0 || tree->type != JSON_OBJECT) {
		t->broken++;
		return;
	}
	t->format->line(t, tree);
	if (!t->first)
		t->skipped++;
}

/* The whole file as one value. One that does not parse is being written: it is left for the next time. */
static int read_document(struct transcript *t)
{
	struct json *tree = NULL;
	char *room;
	ssize_t got;

	if (t->document_read || t->lines.end >= t->size)
		return 0;
	t->document_read = true;
	room = arena_bytes(&t->a, (size_t)t->size);
	got = read_at(t->fd, room, (size_t)t->size, 0);
	if (got < 0)
		return (int)got;
	t->lines.counts.lines++;
	t->lines.counts.bytes += (uint64_t)got;
	if (json_parse(&t->a, str_trim(str_n(room, (size_t)got)), JSON_LENIENT_UTF8, &tree, NULL) < 0 ||
		tree->type != JSON_OBJECT) {
		t->broken++;
		return 0;
	}
	t->lines.end = t->size;
	t->now.number[MEMORY_DOCUMENT] = t->mtime_us;
	t->format->line(t, tree);
	return 1;
}

/* The position stays at the beginning: what matters is when the newest message was changed, and that is known once all
 * have been read. */
static int read_database(struct transcript *t)
{
	str line;
	int r = database_next(t->database, &line);

	if (r == 0)
		t->now.number[MEMORY_NEWEST] = database_newest(t->database);
	if (r != 1)
		return r;
	t->lines.counts.lines++;
	t->lines.counts.bytes += line.n;
	if (str_is_set(line))
		read_line(t, line);
	else
		t->broken++;
	return 1;
}

/* Reads one line into the queue. 0: there is none. */
static int read_more(struct transcript *t)
{
	str line;
	int r;

	arena_reset(&t->a);
	for (size_t i = 0; i < MEMORY_TEXTS; i++)
		t->shared[i] = STR_NONE;
	memory_copy(&t->before, &t->now);
	t->before.number[MEMORY_SKIPPING] = t->lines.skipping;
	t->before_offset = lines_offset(&t->lines);
	t->place = 0;
	t->line_offset = t->lines.end;
	if (t->database)
		return read_database(t);
	if (t->document)
		r = read_document(t);
	else
		r = lines_next(&t->lines, &line, &t->line_offset);
	if (r == 1 && !t->document)
		read_line(t, line);
	return r;
}

int transcript_next(struct transcript *t, struct transcript_item *ret)
{
	while (!t->first) {
		int r = read_more(t);

		if (r < 0)
			return r;
		if (r == 0 && t->ended)
			return 0;
		if (r == 0 && t->format->end)
			t->format->end(t);
		t->ended = r == 0;
	}
	*ret = t->first->item;
	t->first = t->first->next;
	if (!t->first)
		t->last = &t->first;
	return 1;
}

const char *transcript_agent(const struct transcript *t)
{
	return t->format->agent;
}

bool transcript_was_replaced(const struct transcript *t)
{
	return t->replaced;
}

void transcript_get_counts(const struct transcript *t, struct transcript_counts *ret)
{
	*ret = t->lines.counts;
	ret->broken = t->broken;
	ret->skipped = t->skipped;
}

int64_t transcript_size(const struct transcript *t)
{
	return t->size;
}

void transcript_position(const struct transcript *t, struct transcript_position *ret)
{
	buf_clear(t->state);
	if (t->first) {
		/* Some of this line is still to come: the next reader begins with it again. */
		memory_write(&t->before, t->state);
		ret->offset = t->before_offset;
	} else {
		struct memory now = t->now;

		now.number[MEMORY_SKIPPING] = t->lines.skipping;
		memory_write(&now, t->state);
		ret->offset = lines_offset(&t->lines);
	}
	ret->state = buf_str(t->state);
	ret->identity = buf_str(&t->identity);
}
