/* indexer: the process that reads a repository; started by the daemon, or by `hookd index`. It ends when its standard
 * input does, or when nothing has happened for a while, and may be killed at any moment. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "cli/commands.h"
#include "config/config.h"
#include "index/index.h"
#include "os/os.h"
#include "project/project.h"

enum {
	IDLE_S = 600,     /* without a change: nobody works here any more */
	SETTLE_MS = 20,   /* files that are written together are read together */
	ENCODE_MS = 2000, /* between two looks at whether the machine is busy */
	BUSY_MS = 2000,   /* and when it is */
	RESCAN_US = 200000,
	RESCAN_TIMES = 10, /* as long as the last one took */
	WATCHES_MAX = 32768,
	MEMORY_MAX = 1536, /* MiB, with what is mapped */
};

struct watching {
	struct indexer *indexer;
	const char *root;
	bool once, ended, rescan; /* rescan: everything has to be looked at */
	bool asked;               /* for that, by somebody who waits */
	bool hurry;               /* and for vectors */
	int64_t scan_us, took_us; /* when that was done last, and how long it took */
	int watch;
	char **directories; /* by number */
	size_t ndirectories;
	struct buf paths; /* to look at, each with a NUL; below the root */
	struct buf input; /* of stdin, until the next NUL */
	int64_t last_us;
};

/* -- what changes ------------------------------------------------------------------------------ */

static void add_path(struct watching *w, str path)
{
	if (buf_add(&w->paths, path.p, path.n) < 0 || buf_add_char(&w->paths, 0) < 0)
		w->rescan = true; /* that many at once: a checkout */
}

static void on_change(int number, enum os_tree_change change, const char *name, void *arg)
{
	struct watching *w = arg;
	char path[FS_PATH];
	const char *dir = number >= 0 && (size_t)number < w->ndirectories ? w->directories[number] : NULL;

	w->rescan |= change != OS_TREE_FILE;
	if (change != OS_TREE_FILE || !dir)
		return;
	if (snprintf(path, sizeof path, "%s%s%s", dir, dir[0] ? "/" : "", name) < FS_PATH)
		add_path(w, str_of(path));
}

/* Before a directory is read, so that nothing is missed. */
static void enters(const char *path, void *arg)
{
	struct watching *w = arg;
	char whole[FS_PATH];
	int number;

	if (w->watch < 0 || snprintf(whole, sizeof whole, "%s%s%s", w->root, path[0] ? "/" : "", path) >= FS_PATH)
		return;
	number = os_tree_watch_add(w->watch, whole);
	if (number < 0 || number > WATCHES_MAX)
		return;
	if ((size_t)number >= w->ndirectories) {
		size_t n = MAX(2 * w->ndirectories, (size_t)number + 64);

		w->directories = xrealloc(w->directories, n * sizeof *w->directories);
		memset(w->directories + w->ndirectories, 0, (n - w->ndirectories) * sizeof *w->directories);
		w->ndirectories = n;
	}
	free(w->directories[number]);
	w->directories[number] = xstrdup(path);
}

/* A path as the daemon has it: absolute, or below the root; nothing: everything. */
static void take_word(struct watching *w, str word)
{
	size_t n = strlen(w->root);

	if (!word.n)
		w->rescan = w->asked = w->hurry = true;
	else if (word.p[0] != '/')
		add_path(w, word);
	else if (word.n > n + 1 && memcmp(word.p, w->root, n) == 0 && word.p[n] == '/')
		add_path(w, str_from(word, n + 1));
}

static void read_input(struct watching *w)
{
	char room[16384];
	ssize_t n = read(STDIN_FILENO, room, sizeof room);
	ptrdiff_t end;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0 || buf_add(&w->input, room, (size_t)n) < 0) {
		w->ended = true;
		return;
	}
	while ((end = str_find_char(buf_str(&w->input), 0)) >= 0) {
		take_word(w, str_head(buf_str(&w->input), (size_t)end));
		buf_consume(&w->input, (size_t)end + 1);
	}
}

/* Waits for a change at most that long. */
static void wait_for(struct watching *w, int ms)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = w->watch, .events = POLLIN } };

	if (poll(p, countof(p), ms) <= 0)
		return;
	if (p[0].revents)
		read_input(w);
	if (p[1].revents)
		os_tree_watch_read(w->watch, on_change, w);
	if (w->paths.len || w->rescan)
		w->last_us = clock_mono_us();
}

/* Somebody waits for something else. */
static bool is_over(void *arg)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	(void)arg;
	return poll(&p, 1, 0) == 1;
}

/* -- work -------------------------------------------------------------------------------------- */

static int touch_all(struct watching *w, struct err *err)
{
	str rest = buf_str(&w->paths), path;
	int r = 0;

	os_process_last(false);
	while (r >= 0 && rest.n) {
		path = str_of(rest.p);
		rest = str_from(rest, path.n + 1);
		r = indexer_touch(w->indexer, path, err);
		w->rescan |= r > 0;
	}
	buf_clear(&w->paths);
	return r < 0 ? r : indexer_publish(w->indexer, err);
}

static int rescan(struct watching *w, struct err *err)
{
	struct indexer_sums sums;
	int r;

	if (!w->once)
		os_process_last(true);
	w->rescan = w->asked = false;
	w->scan_us = clock_mono_us();
	r = indexer_update(w->indexer, &sums, err);
	w->took_us = clock_mono_us() - w->scan_us;
	w->rescan |= sums.interrupted;
	w->asked |= sums.interrupted;
	if (r == 0 && sums.read + sums.removed)
		log_info(LOG_STORE, "%s: %llu of %llu files read, %llu removed", w->root, (unsigned long long)sums.read,
			(unsigned long long)sums.files, (unsigned long long)sums.removed);
	return r;
}

/* Without a change: vectors, or nothing. */
static int64_t rest(struct watching *w, int64_t left, struct err *err)
{
	w->hurry &= left != 0;
	if (!left || (!w->hurry && os_should_wait())) {
		os_give_memory_back();
		wait_for(w, left ? BUSY_MS : IDLE_S * 1000 / 4);
		return left;
	}
	os_process_last(true);
	return indexer_encode(w->indexer, ENCODE_MS, err);
}

/* Directories come and go while something is built; looking at everything each time would never end. */
static bool may_rescan(const struct watching *w)
{
	return w->asked || !w->scan_us || clock_mono_us() - w->scan_us > MAX(RESCAN_TIMES * w->took_us, RESCAN_US);
}

static int watch(struct watching *w, struct err *err)
{
	int64_t left = 1;
	int r = 0;

	w->last_us = clock_mono_us();
	w->rescan = true;
	while (r >= 0 && !w->ended) {
		wait_for(w, 0);
		if (w->paths.len) {
			wait_for(w, SETTLE_MS);
			r = touch_all(w, err);
			left = 1;
		} else if (w->rescan && may_rescan(w)) {
			r = rescan(w, err);
			left = 1;
		} else if (w->rescan) {
			wait_for(w, SETTLE_MS);
		} else if (clock_mono_us() - w->last_us > IDLE_S * USEC_PER_SEC && !left) {
			return 0;
		} else {
			left = rest(w, left, err);
			r = left < 0 ? (int)left : 0;
		}
	}
	return r;
}

/* Somebody waits for it, so vectors do not wait for a quiet moment. */
static int update_once(struct watching *w, bool vectors, struct err *err)
{
	int64_t left = vectors;
	int r = rescan(w, err);

	while (r == 0 && left > 0) {
		left = indexer_encode(w->indexer, ENCODE_MS, err);
		r = (int)MIN(left, 0);
	}
	return r;
}

/* -- the command ------------------------------------------------------------------------------- */

static int run(struct cli *cli)
{
	struct watching w = { .once = cli_has(cli, "once"), .watch = -1 };
	struct indexer_options o = { .enters = enters, .is_over = w.once ? NULL : is_over, .arg = &w };
	char weights[FS_PATH] = "", grammars[FS_PATH] = "", dir[FS_PATH], state[PATH_MAX], data[PATH_MAX];
	const char *const own[] = { realpath(cli->paths.state, state), realpath(cli->paths.data, data), NULL };
	struct config config;
	struct config_problem *problems = NULL;
	struct project project;
	struct err err = { 0 };
	int r = project_find(cli->args[0], cli->paths.home, &project);

	if (r < 0 || fs_join(dir, cli->paths.data, "code") < 0)
		return cli_fail("%s cannot be indexed: it is no absolute path", cli->args[0]);
	signal(SIGPIPE, SIG_IGN);
	if (!w.once)
		os_process_last(true);
	os_limit_memory(MIB(MEMORY_MAX));
	indexer_note_crashes();
	log_open(cli->paths.log, 0, false);
	config_load(cli->paths.config, &config, &problems); /* the daemon tells of them */
	if (config_number(&config, OPTION_CONTEXT_ENCODER))
		paths_installed("encoder.bin", weights);
	paths_installed("grammars", grammars);
	o.dir = dir;
	o.root = w.root = cli->args[0];
	o.main = project.main;
	o.home = cli->paths.home;
	o.own = own;
	o.grammars = grammars[0] ? grammars : NULL;
	o.weights = weights;
	o.exclude = config_text(&config, OPTION_INDEX_EXCLUDE).p;
	o.max_files = (uint64_t)config_number(&config, OPTION_INDEX_MAX_FILES);
	buf_init(&w.paths, MIB(1));
	buf_init(&w.input, KIB(64));
	w.watch = w.once ? -1 : os_tree_watch();
	r = indexer_open(&o, &w.indexer, &err);
	if (r == 0)
		r = w.once ? update_once(&w, !cli_has(cli, "no-vectors"), &err) : watch(&w, &err);
	indexer_close(w.indexer);
	config_problems_free(problems);
	config_release(&config);
	if (r < 0 && r != -EWOULDBLOCK)
		log_warn(LOG_STORE, "%s", err.text);
	return r == -EWOULDBLOCK ? EXIT_BUSY : r < 0 ? cli_fail("%s", err.text) : EXIT_DONE;
}

static const struct cmd_option indexer_options[] = {
	{ "once", 0, NULL, false, "end when everything is up to date" },
	{ "no-vectors", 0, NULL, false, "once: leave out what takes longest" },
	{ 0 },
};

const struct cmd cmd_indexer = {
	.name = "indexer",
	.args = "ROOT",
	.text = "Read the code of a repository, and follow its changes; started by hookd.",
	.flags = CMD_HIDDEN,
	.min_args = 1,
	.max_args = 1,
	.options = indexer_options,
	.run = run,
};
