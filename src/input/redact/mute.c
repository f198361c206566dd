/* Muted sessions as marker files. The name is a hash because a session id is whatever an agent
 * sent: it may hold slashes, or be a megabyte long. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "redact/redact.h"

enum { MARKER_NAME = sizeof "muted/" + SHA256_HEX };

static void marker_name(str agent, str session, char out[MARKER_NAME])
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, agent.n ? agent.p : "", agent.n);
	/* A zero between them: agent "ab", session "c" is not agent "a", session "bc". */
	sha256_add(&s, "", 1);
	sha256_add(&s, session.n ? session.p : "", session.n);
	sha256_end(&s, digest);
	sha256_hex(digest, hex);
	snprintf(out, MARKER_NAME, "muted/%s", hex);
}

static int open_dir(const char *run_dir)
{
	int fd = open(run_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool redact_is_muted(const char *run_dir, str agent, str session)
{
	char name[MARKER_NAME], path[FS_PATH + MARKER_NAME];
	struct stat st;
	int n;

	/* One call and not three: every event asks this. */
	marker_name(agent, session, name);
	n = snprintf(path, sizeof path, "%s/%s", run_dir, name);
	return n > 0 && (size_t)n < sizeof path && lstat(path, &st) == 0;
}

static int make_marker(int dir, const char *name)
{
	int fd;

	if (mkdirat(dir, "muted", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int redact_set_muted(const char *run_dir, str agent, str session, bool muted)
{
	char name[MARKER_NAME];
	int dir, r;

	dir = open_dir(run_dir);
	if (dir < 0)
		return dir;
	marker_name(agent, session, name);
	if (muted)
		r = make_marker(dir, name);
	else
		r = unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	close(dir);
	return r;
}

void redact_and_mute(struct redactor *r, struct arena *a, const char *run_dir, const struct event *e,
	struct record *ret, struct redact_report *ret_report)
{
	bool prompt = e->kind == EVENT_USER_PROMPT_SUBMIT;
	bool muted = redact_is_muted(run_dir, e->agent, e->session), mute;

	redact(r, a, e, muted && !prompt ? REDACT_MUTED : 0, ret, ret_report);
	mute = prompt && ret_report->wholly_private;
	if (mute != muted && (prompt || e->kind == EVENT_SESSION_END) && (mute || !(e->marks & EVENT_LATE)))
		(void)redact_set_muted(run_dir, e->agent, e->session, mute);
}
