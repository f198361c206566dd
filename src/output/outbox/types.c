/* The types of sinks. */
#include "outbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

static void write_body(const struct sink *s, const struct outbox_notice *n, struct buf *ret)
{
	(void)s;
	notice_write(n, ret);
}

const struct sink_type_info sink_types[SINK_TYPE_MAX] = {
	[SINK_WEBHOOK] = { "webhook", "a POST of JSON to a web server, signed if there is a secret", write_body,
		send_webhook, check_post },
	[SINK_EXEC] = { "exec", "a program that gets the JSON on its standard input", write_body, send_exec,
		check_exec },
	[SINK_FILE] = { "file", "a file that gets a line of JSON for each event", write_body, send_file, check_file },
	[SINK_OTLP] = { "otlp", "a collector of OpenTelemetry that takes logs by HTTP as JSON", write_otlp, send_post,
		check_post },
	[SINK_NTFY] = { "ntfy", "short messages to a topic of ntfy", write_ntfy, send_post, check_post },
	[SINK_SLACK] = { "slack", "short messages to an incoming webhook of Slack, or of what understands the same",
		write_slack, send_post, check_post },
};

const char *const sink_type_names[SINK_TYPE_MAX] = {
	[SINK_WEBHOOK] = "webhook",
	[SINK_EXEC] = "exec",
	[SINK_FILE] = "file",
	[SINK_OTLP] = "otlp",
	[SINK_NTFY] = "ntfy",
	[SINK_SLACK] = "slack",
};

void sink_write(const struct sink *s, const struct outbox_notice *n, struct buf *ret)
{
	sink_types[s->type].write(s, n, ret);
}

bool sink_check(const struct sink *s, char text[200])
{
	text[0] = 0;
	return sink_types[s->type].check(s, text);
}

enum send_result send_say(struct sending *x, enum send_result r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->error, sizeof x->error, fmt, ap);
	va_end(ap);
	/* Words of others, for one line. */
	for (char *p = x->error; *p; p++)
		*p = (unsigned char)*p < ' ' || *p == 0x7f ? ' ' : *p;
	x->error[str_cut_utf8(str_of(x->error), sizeof x->error - 1).n] = 0;
	return r;
}

int secret_read(str path, char ret[SECRET_MAX], struct err *err)
{
	char name[FS_PATH];
	struct stat st;
	ssize_t n;
	str word;
	int fd, r = 0;

	ret[0] = 0;
	snprintf(name, sizeof name, STR_FMT, STR_ARG(path));
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(err, -errno, "%.200s cannot be read: %s", name, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IRWXG | S_IRWXO))
		r = err_set(err, -EPERM, "%.200s must be a file of yours that nobody else can read (chmod 600)", name);
	n = r < 0 ? -1 : read(fd, ret, SECRET_MAX);
	close(fd);
	if (r < 0)
		return r;
	word = n < 0 ? STR_NONE : str_trim(str_n(ret, (size_t)n));
	for (size_t i = 0; i < word.n && r == 0; i++)
		if ((unsigned char)word.p[i] <= ' ' || (unsigned char)word.p[i] >= 0x7f)
			r = -EBADMSG;
	if (r < 0 || str_empty(word) || n == SECRET_MAX) {
		explicit_bzero(ret, SECRET_MAX);
		return err_set(err, -EBADMSG, "%.200s must hold one word, the secret", name);
	}
	memmove(ret, word.p, word.n);
	ret[word.n] = 0;
	return 0;
}
