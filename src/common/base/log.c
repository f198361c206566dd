#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/utf8.h"

enum { LINE_MAX_BYTES = 2000, GATHER_BYTES = 8192 };

const char *const log_level_names[LOG_LEVEL_MAX] = {
	[LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"
};

const char *const log_component_names[LOG_COMPONENT_MAX] = {
	[LOG_DAEMON] = "daemon",
	[LOG_SERVER] = "server",
	[LOG_ENGINE] = "engine",
	[LOG_JOURNAL] = "journal",
	[LOG_STORE] = "store",
	[LOG_SPOOL] = "spool",
	[LOG_CONFIG] = "config",
	[LOG_API] = "api",
	[LOG_LLM] = "llm",
	[LOG_OUTBOX] = "outbox",
};

/* Levels are read by every thread without the lock. */
static _Atomic unsigned char levels[LOG_COMPONENT_MAX] = { LOG_INFO, LOG_INFO, LOG_INFO, LOG_INFO, LOG_INFO, LOG_INFO,
	LOG_INFO, LOG_INFO };

static struct {
	pthread_mutex_t lock;
	int fd;
	bool also_stderr;
	size_t size, max;
	char path[FS_PATH];
	bool gathering;
	size_t gathered;
	char lines[GATHER_BYTES];
} out = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static int find_name(const char *const *names, int n, str word)
{
	for (int i = 0; i < n; i++)
		if (str_eq_nocase(word, str_of(names[i])))
			return i;
	return -1;
}

static int set_one(str piece, unsigned char to[LOG_COMPONENT_MAX], struct err *err)
{
	ptrdiff_t eq = str_find_char(piece, '=');
	str level_word = str_trim(eq < 0 ? piece : str_from(piece, (size_t)eq + 1));
	int level = find_name(log_level_names, LOG_LEVEL_MAX, level_word), component;

	if (level < 0)
		return err_set(err, -EINVAL, "unknown log level '" STR_FMT "'; use error, warn, info or debug",
			STR_ARG(level_word));
	if (eq < 0) {
		memset(to, level, LOG_COMPONENT_MAX);
		return 0;
	}
	component = find_name(log_component_names, LOG_COMPONENT_MAX, str_trim(str_head(piece, (size_t)eq)));
	if (component < 0)
		return err_set(err, -EINVAL,
			"unknown log component '" STR_FMT
			"'; use daemon, server, engine, journal, store, spool, config or api",
			STR_ARG(str_head(piece, (size_t)eq)));
	to[component] = (unsigned char)level;
	return 0;
}

int log_set_levels(str spec, bool apply, struct err *err)
{
	unsigned char to[LOG_COMPONENT_MAX];
	str rest = spec, piece;
	int r;

	memset(to, LOG_INFO, sizeof to);
	while (str_split(&rest, ',', &piece)) {
		r = set_one(str_trim(piece), to, err);
		if (r < 0)
			return r;
	}
	for (int i = 0; apply && i < LOG_COMPONENT_MAX; i++)
		levels[i] = to[i];
	return 0;
}

bool log_wanted(enum log_component c, enum log_level level)
{
	return level <= levels[c];
}

static int open_file(void)
{
	struct stat st;

	out.fd = open(out.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out.fd < 0)
		return -errno;
	out.size = fstat(out.fd, &st) == 0 ? (size_t)st.st_size : 0;
	return 0;
}

int log_open(const char *path, size_t max_bytes, bool also_stderr)
{
	int r = 0;

	pthread_mutex_lock(&out.lock);
	out.also_stderr = also_stderr;
	out.max = max_bytes;
	if (path) {
		snprintf(out.path, sizeof out.path, "%s", path);
		r = open_file();
	}
	pthread_mutex_unlock(&out.lock);
	return r;
}

/* The next four are called with the lock held. */
static void rotate(void)
{
	char old[FS_PATH + 4];

	snprintf(old, sizeof old, "%s.1", out.path);
	close(out.fd);
	rename(out.path, old);
	open_file();
}

static void put(const char *lines, size_t n)
{
	if (out.fd >= 0) {
		if (out.size + n > out.max && out.max)
			rotate();
		if (out.fd >= 0 && write(out.fd, lines, n) == (ssize_t)n)
			out.size += n;
	}
	if (out.also_stderr)
		(void)!write(STDERR_FILENO, lines, n);
}

static void put_gathered(void)
{
	if (out.gathered)
		put(out.lines, out.gathered);
	out.gathered = 0;
}

static void put_line(const char *line, size_t n, bool may_wait)
{
	if (out.gathered + n > sizeof out.lines)
		put_gathered();
	memcpy(out.lines + out.gathered, line, n);
	out.gathered += n;
	if (!may_wait || !out.gathering)
		put_gathered();
}

void log_gather(void)
{
	pthread_mutex_lock(&out.lock);
	out.gathering = true;
	pthread_mutex_unlock(&out.lock);
}

void log_flush(void)
{
	pthread_mutex_lock(&out.lock);
	out.gathering = false;
	put_gathered();
	pthread_mutex_unlock(&out.lock);
}

void log_close(void)
{
	pthread_mutex_lock(&out.lock);
	put_gathered();
	fs_closep(&out.fd);
	out.also_stderr = false;
	pthread_mutex_unlock(&out.lock);
}

/* Nothing in a line may look like another line or drive a terminal; terminals also take U+0080 to
 * U+009F (C2 80 to C2 9F) as commands. */
static size_t make_visible(char *line, size_t n)
{
	unsigned char *p = (unsigned char *)line;

	for (size_t i = 0, len; i < n; i += len) {
		len = 1;
		if (p[i] >= 0x20 && p[i] < 0x7F)
			continue;
		len = utf8_sequence(p + i, n - i);
		if (len == 0) {
			p[i] = '?';
			len = 1;
		} else if (p[i] < 0x20 || p[i] == 0x7F || (p[i] == 0xC2 && p[i + 1] < 0xA0)) {
			memset(p + i, ' ', len);
		}
	}
	line[n] = '\n';
	return n + 1;
}

/* The beginning of a line up to the milliseconds is the same for a second, and most lines come in bursts. */
static size_t begin_line(char *line, enum log_component c, enum log_level level)
{
	static _Thread_local char when[CLOCK_TEXT];
	static _Thread_local int64_t second = -1;
	int64_t now = clock_wall_us();
	unsigned ms = (unsigned)(now % USEC_PER_SEC / USEC_PER_MSEC);
	size_t n;

	if (now < 0 || now / USEC_PER_SEC != second) {
		clock_format(now, 0, when);
		second = now / USEC_PER_SEC;
	}
	n = strlen(when);
	memcpy(line, when, n);
	if (now >= 0 && n > 4) {
		line[n - 4] = (char)('0' + ms / 100);
		line[n - 3] = (char)('0' + ms / 10 % 10);
		line[n - 2] = (char)('0' + ms % 10);
	}
	return n +
		(size_t)snprintf(line + n, LINE_MAX_BYTES - n, " %-5s %-7s ", log_level_names[level],
			log_component_names[c]);
}

void log_write(enum log_component c, enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES + 2];
	size_t len = begin_line(line, c, level);
	va_list ap;
	int more;

	va_start(ap, fmt);
	more = vsnprintf(line + len, LINE_MAX_BYTES - len, fmt, ap);
	va_end(ap);
	len += more < 0 ? 0 : (size_t)more;
	if (len >= LINE_MAX_BYTES)
		len = str_cut_utf8(str_n(line, LINE_MAX_BYTES - 1), LINE_MAX_BYTES - 2).n;
	len = make_visible(line, len);
	pthread_mutex_lock(&out.lock);
	put_line(line, len, level >= LOG_INFO);
	pthread_mutex_unlock(&out.lock);
}
