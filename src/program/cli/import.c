#include "cli/import.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/agents.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "history/history.h"
#include "wire/wire.h"

enum {
	FRAME_BYTES = 768 << 10,
	FRAME_RECORDS = 1500,
	FILES_MAX = 100000,
	FOLDERS_DEEP = 8,
	PROGRESS_MS = 100,
	ANSWER_MS = 60000,
	REFUSALS_TOLD = 5,
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* -- files ------------------------------------------------------------------------------------- */

static void add_file(struct cli *cli, struct import_files *files, const char *agent, const char *path, int64_t bytes)
{
	if (files->n == files->cap) {
		size_t cap = files->cap ? files->cap * 2 : 64;
		struct import_file *more = arena_alloc(&cli->arena, cap * sizeof *more);

		if (files->n)
			memcpy(more, files->list, files->n * sizeof *more);
		files->list = more;
		files->cap = cap;
	}
	files->list[files->n++] = (struct import_file){ agent, arena_cstr(&cli->arena, str_of(path)), bytes };
	files->bytes += bytes;
}

struct finding {
	struct cli *cli;
	struct import_files *files;
};

static int on_found(const struct transcript_file *f, void *arg)
{
	struct finding *to = arg;

	add_file(to->cli, to->files, f->agent, f->path, f->bytes);
	return 0;
}

int import_find(struct cli *cli, const char *agent, struct import_files *files)
{
	struct finding to = { cli, files };
	const char *home = getenv("HOME");

	if (!home || home[0] != '/')
		return cli_fail("HOME is not set to an absolute path, so the agents' history cannot be found");
	return transcript_find(home, agent, on_found, &to) < 0 ? cli_fail("the agents' folders cannot be read") : 0;
}

static int add_folder(struct cli *cli, const char *path, int deep, struct import_files *files)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	char below[FS_PATH];
	struct stat st;
	int r = 0;

	if (!d)
		return cli_fail("%s cannot be read: %s", path, strerror(errno));
	while (r == 0 && files->n < FILES_MAX && (entry = readdir(d))) {
		str name = str_of(entry->d_name);

		if (name.p[0] == '.' || fs_join(below, path, entry->d_name) < 0 || lstat(below, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && deep < FOLDERS_DEEP)
			r = add_folder(cli, below, deep + 1, files);
		else if (S_ISREG(st.st_mode) && (str_ends(name, STR(".jsonl")) || str_ends(name, STR(".json"))))
			add_file(cli, files, NULL, below, st.st_size);
	}
	closedir(d);
	return r;
}

int import_add_path(struct cli *cli, const char *path, struct import_files *files)
{
	char *real = realpath(path, NULL);
	struct stat st;
	int r = 0;

	if (!real || stat(real, &st) < 0)
		r = cli_fail("%s: %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		r = add_folder(cli, real, 0, files);
	else
		add_file(cli, files, NULL, real, S_ISREG(st.st_mode) ? st.st_size : 0);
	free(real);
	return r;
}

str import_size(struct cli *cli, int64_t bytes)
{
	if (bytes < 1000000)
		return arena_strf(&cli->arena, "%lld KB", (long long)((bytes + 999) / 1000));
	return arena_strf(&cli->arena, "%lld.%lld MB", (long long)(bytes / 1000000), (long long)(bytes / 100000 % 10));
}

str import_describe(struct cli *cli, const struct import_files *files)
{
	struct buf b = BUF_INIT(KIB(4));
	const char *separator = " of ";
	str text;

	buf_addf(&b, "%zu %s", files->n, files->n == 1 ? "file" : "files");
	for (size_t a = 0; agents[a]; a++)
		for (size_t i = 0; i < files->n; i++)
			if (files->list[i].agent && strcmp(files->list[i].agent, agents[a]->name) == 0) {
				buf_addf(&b, "%s%s", separator, agents[a]->label);
				separator = ", ";
				break;
			}
	buf_addf(&b, ", " STR_FMT, STR_ARG(import_size(cli, files->bytes)));
	text = arena_str(&cli->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* -- the way to the daemon --------------------------------------------------------------------- */

struct import {
	struct cli *cli;
	struct import_result *result;
	struct redactor *redactor;
	struct json **known; /* positions, sorted by path */
	size_t nknown;
	struct buf records, frame, record;
	unsigned nrecords;
	int fd;
	bool unanswered; /* a frame is on its way */
	int64_t total, begun_us, shown_us;
	size_t nfiles;
};

static int send_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, ANSWER_MS) == 0)
				return -ETIMEDOUT;
		} else if (sent < 0 && errno != EINTR) {
			return -errno;
		} else if (sent > 0) {
			at += sent;
			n -= (size_t)sent;
		}
	}
	return 0;
}

static int receive_all(int fd, void *p, size_t n)
{
	char *at = p;

	while (n) {
		ssize_t got = recv(fd, at, n, 0);

		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ANSWER_MS) == 0)
				return -ETIMEDOUT;
		} else if (got < 0 && errno != EINTR) {
			return -errno;
		} else if (got == 0) {
			return -EPIPE;
		} else if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

static int fail_frame(int r, str why)
{
	if (!str_empty(why))
		return cli_fail("the daemon could not store what was read: " STR_FMT "; see: hookd status",
			STR_ARG(why));
	return cli_fail("the daemon did not accept all of it (%s); what it accepted is kept; run the import again",
		strerror(-r));
}

/* The answer to the frame before. 0, or an exit code. */
static int take_answer(struct import *m)
{
	uint8_t head[WIRE_HEADER];
	char body[8192];
	struct wire_header h;
	struct wire_reply reply;
	struct json *result = NULL;
	int64_t n;
	int r;

	if (!m->unanswered)
		return 0;
	m->unanswered = false;
	r = receive_all(m->fd, head, sizeof head);
	if (r == 0 && (wire_header_decode(head, &h) < 0 || h.length > sizeof body))
		r = -EPROTO;
	if (r == 0 && h.type == WIRE_REFUSED)
		return cli_fail("the running daemon is too old to import; run: hookd restart");
	if (r == 0)
		r = receive_all(m->fd, body, h.length);
	if (r == 0)
		r = wire_reply_decode(h.type, str_n(body, h.length), &reply);
	if (r == 0)
		r = json_parse(&m->cli->arena, arena_str(&m->cli->arena, reply.out), 0, &result, NULL);
	if (r < 0 || reply.stored != WIRE_STORED_COMMITTED)
		return fail_frame(r, json_str(json_get(result, STR("error"))));
	if (json_int(json_get(result, STR("new")), &n))
		m->result->fresh += n;
	if (json_int(json_get(result, STR("known")), &n))
		m->result->known += n;
	return 0;
}

/* What has been gathered, with how far the file has been read. */
static int send_frame(struct import *m, struct history *h, const char *path)
{
	struct buf head = BUF_INIT(MIB(1));
	uint8_t header[WIRE_HEADER];
	int r = take_answer(m);

	if (r == 0) {
		history_write_head(h, path, &head);
		wire_records_begin(&m->frame, buf_str(&head));
		buf_add_str(&m->frame, buf_str(&m->records));
		wire_header_encode(header, WIRE_RECORDS, (uint32_t)m->frame.len);
		r = m->frame.full ? -E2BIG : send_all(m->fd, header, sizeof header);
		if (r == 0)
			r = send_all(m->fd, m->frame.p, m->frame.len);
		m->unanswered = r == 0;
		r = r < 0 ? fail_frame(r, STR_NONE) : 0;
	}
	buf_release(&head);
	buf_clear(&m->records);
	m->nrecords = 0;
	return r;
}

/* -- progress ---------------------------------------------------------------------------------- */

static void show_progress(struct import *m, int64_t in_file, bool last)
{
	int64_t now = clock_mono_us(), done = m->result->bytes + in_file, took = MAX(now - m->begun_us, 1);

	if (!isatty(STDERR_FILENO) || (!last && now - m->shown_us < PROGRESS_MS * USEC_PER_MSEC))
		return;
	m->shown_us = now;
	if (last)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r\033[K[%3lld%%] %llu of %zu files, " STR_FMT ", %lld MB/s",
			(long long)(m->total ? done * 100 / m->total : 100), (unsigned long long)m->result->files,
			m->nfiles, STR_ARG(import_size(m->cli, done)), (long long)(done / took));
}

/* -- one file ---------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
	struct json *const *x = a, *const *y = b;
	str p = json_str(json_get(*x, STR("path"))), q = json_str(json_get(*y, STR("path")));
	int order = memcmp(p.p, q.p, MIN(p.n, q.n));

	return order ? order : (p.n > q.n) - (p.n < q.n);
}

static const struct json *find_known(const struct import *m, const char *path)
{
	size_t low = 0, high = m->nknown;
	str wanted = str_of(path);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		str p = json_str(json_get(m->known[mid], STR("path")));
		int order = memcmp(p.p, wanted.p, MIN(p.n, wanted.n));

		order = order ? order : (p.n > wanted.n) - (p.n < wanted.n);
		if (order == 0)
			return m->known[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static int read_file(struct import *m, struct history *h, const char *path)
{
	struct transcript_counts n;
	struct record record;
	int got, r = 0;

	while (r == 0 && !interrupted && (got = history_next(h, &record)) == 1) {
		buf_clear(&m->record);
		if (record_encode(&record, &m->record) == 0) {
			wire_records_add(&m->records, buf_str(&m->record));
			m->nrecords++;
		}
		if (m->records.len > FRAME_BYTES || m->nrecords >= FRAME_RECORDS)
			r = send_frame(m, h, path);
		transcript_get_counts(history_transcript(h), &n);
		show_progress(m, (int64_t)n.bytes, false);
	}
	/* A file without anything for us is remembered too, so that it is not read again. */
	if (r == 0)
		r = send_frame(m, h, path);
	return r;
}

static int import_file(struct import *m, const struct import_file *f)
{
	const struct json *known = find_known(m, f->path);
	struct transcript_request q = { .path = f->path, .agent = f->agent };
	struct transcript_counts n;
	struct history *h;
	struct err err = { 0 };
	int r;

	if (known) {
		q.identity = json_str(json_get(known, STR("identity")));
		q.state = json_str(json_get(known, STR("state")));
		json_int(json_get(known, STR("offset")), &q.offset);
	}
	r = history_open(&q, m->redactor, &h, &err);
	m->result->files++;
	if (r < 0) {
		m->result->bytes += f->bytes;
		if (m->result->refused++ < REFUSALS_TOLD) {
			show_progress(m, 0, true);
			cli_fail("%s; skipped", err.text);
		}
		return 0;
	}
	m->result->replaced += transcript_was_replaced(history_transcript(h));
	if (known && !transcript_was_replaced(history_transcript(h)) &&
		q.offset >= transcript_size(history_transcript(h)))
		m->result->unchanged++;
	else
		r = read_file(m, h, f->path);
	transcript_get_counts(history_transcript(h), &n);
	m->result->lines += n.lines;
	m->result->broken += n.broken + n.long_lines;
	m->result->bytes += f->bytes;
	history_close(h);
	return r;
}

/* -- all of them ------------------------------------------------------------------------------- */

static int read_known(struct import *m)
{
	struct cli *cli = m->cli;
	str after = STR("");
	size_t cap = 0, here;

	do {
		struct buf b = BUF_INIT(KIB(64));
		struct json_writer w = JSON_WRITER(&b);
		struct json *result;

		jw_object(&w);
		jw_field_str(&w, "after", after);
		jw_field_int(&w, "limit", 2000);
		jw_end_object(&w);
		result = cli_ask(cli, "transcripts", buf_str(&b));
		buf_release(&b);
		if (!result)
			return EXIT_FAILED;
		here = 0;
		json_each(t, json_get(result, STR("transcripts"))) {
			if (m->nknown == cap)
				m->known = xrealloc(m->known, (cap = cap ? cap * 2 : 256) * sizeof *m->known);
			m->known[m->nknown++] = t;
			after = json_str(json_get(t, STR("path")));
			here++;
		}
	} while (here);
	if (m->nknown)
		qsort(m->known, m->nknown, sizeof *m->known, compare_paths);
	return 0;
}

/* Sessions that got something from before what they had are put in order now. */
static int settle(struct cli *cli)
{
	struct json *result;
	int64_t left = 1;

	while (left > 0) {
		result = cli_ask(cli, "settle", STR_NONE);
		if (!result)
			return EXIT_FAILED;
		left = cell_int(result, "left");
	}
	return 0;
}

static int import_all(struct import *m, const struct import_files *files)
{
	int r = read_known(m);

	if (r)
		return r;
	m->fd = wire_connect(m->cli->paths.socket, clock_mono_us() + USEC_PER_SEC);
	if (m->fd < 0)
		return cli_fail("no daemon answers at %s", m->cli->paths.socket);
	for (size_t i = 0; i < files->n && r == 0 && !interrupted; i++)
		r = import_file(m, &files->list[i]);
	if (r == 0)
		r = take_answer(m);
	show_progress(m, 0, true);
	close(m->fd);
	return r ? r : settle(m->cli);
}

int import_run(struct cli *cli, const struct import_files *files, struct import_result *ret)
{
	struct import m = { .cli = cli,
		.result = ret,
		.redactor = redactor_new(),
		.total = files->bytes,
		.nfiles = files->n,
		.begun_us = clock_mono_us() };
	struct sigaction now = { .sa_handler = on_interrupt }, before;
	int r;

	*ret = (struct import_result){ 0 };
	buf_init(&m.records, LIMIT_FRAME - MIB(1));
	buf_init(&m.frame, LIMIT_FRAME);
	buf_init(&m.record, LIMIT_RECORD);
	interrupted = 0;
	sigaction(SIGINT, &now, &before);
	/* Agents and their hooks come first. */
	setpriority(PRIO_PROCESS, 0, 10);
	r = import_all(&m, files);
	sigaction(SIGINT, &before, NULL);
	ret->interrupted = interrupted;
	redactor_free(m.redactor);
	buf_release(&m.records);
	buf_release(&m.frame);
	buf_release(&m.record);
	free(m.known);
	return r;
}

bool import_offer(struct cli *cli, bool agreed, bool quiet, struct import_result *ret)
{
	struct import_files files = { 0 };

	*ret = (struct import_result){ 0 };
	if (import_find(cli, NULL, &files) || !files.n)
		return false;
	if (!quiet)
		printf("\nThere is history to import: " STR_FMT ".\n", STR_ARG(import_describe(cli, &files)));
	fflush(stdout);
	if (!agreed && !cli_confirm("Import it now, so that it can be searched?")) {
		puts("Not imported; run hookd import at any time.");
		return false;
	}
	if (import_run(cli, &files, ret))
		return false;
	if (!quiet)
		printf("%lld events are new, %lld were known.\n", (long long)ret->fresh, (long long)ret->known);
	return true;
}
