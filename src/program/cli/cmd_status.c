/* status: is it well? */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"
#include "cli/policy.h"
#include "config/owner.h"

static int64_t number(const struct json *root, const char *a, const char *b)
{
	int64_t value = 0;

	json_int(b ? json_path(root, a, b, NULL) : json_path(root, a, NULL), &value);
	return value;
}

static str text(const struct json *root, const char *a, const char *b)
{
	return json_str(b ? json_path(root, a, b, NULL) : json_path(root, a, NULL));
}

static void print_line(const char *name, const char *fmt, ...) _printf_(2, 3);
static void print_line(const char *name, const char *fmt, ...)
{
	va_list ap;

	printf("%-12s ", name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* What needs attention; each as one sentence. Returns how many there were. */
static int print_trouble(const struct json *s)
{
	static const struct {
		const char *a, *b;
	} texts[] = { { "journal", "trouble" }, { "store", "trouble" } };
	int n = 0;

	for (size_t i = 0; i < countof(texts); i++) {
		str t = text(s, texts[i].a, texts[i].b);

		if (!str_empty(t)) {
			print_line("TROUBLE", STR_FMT, STR_ARG(t));
			n++;
		}
	}
	if (number(s, "events", "unstored")) {
		print_line("TROUBLE", "%lld events were answered but could not be stored (disk full?)",
			(long long)number(s, "events", "unstored"));
		n++;
	}
	if (number(s, "store", "missing"))
		print_line("recovery",
			"a segment of the journal was cut off or damaged: %lld or more events may be missing; "
			"see: hookd logs",
			(long long)number(s, "store", "missing"));
	if (number(s, "store", "damaged")) {
		print_line("TROUBLE", "%lld damaged pieces of the journal or spool were set aside; see: hookd logs",
			(long long)number(s, "store", "damaged"));
		n++;
	}
	json_each(a, json_get(s, STR("agents")))
		if (json_true(json_get(a, STR("misses_before")))) {
			print_line("TROUBLE",
				STR_FMT " reports tools after they ran but never before, so no rule can stop one; "
					"run: hookd doctor",
				STR_ARG(json_str(json_get(a, STR("agent")))));
			n++;
		}
	if (number(s, "spool", "oldest_age_us") > 60 * USEC_PER_SEC) {
		print_line("TROUBLE", "events have been waiting in the spool for more than a minute");
		n++;
	}
	if (number(s, "store", "unfolded") || number(s, "store", "quarantined")) {
		print_line("TROUBLE",
			"%lld events could not be folded into the store and are set aside; see: hookd logs; a later "
			"release retries them, as does: hookd db rebuild",
			(long long)(number(s, "store", "unfolded") + number(s, "store", "quarantined")));
		n++;
	}
	if (number(s, "privacy", "unwritten_markers")) {
		print_line("TROUBLE",
			"%lld private sessions cannot be marked as private (" STR_FMT
			"): only this daemon process knows about them",
			(long long)number(s, "privacy", "unwritten_markers"), STR_ARG(text(s, "privacy", "trouble")));
		n++;
	}
	if (number(s, "config_problems", NULL)) {
		print_line("TROUBLE", "the config file has problems; see: hookd config validate");
		n++;
	}
	if (number(s, "journal", "oldest_unfolded_age_us") > 600 * USEC_PER_SEC) {
		print_line("TROUBLE",
			"the oldest event that is not in the store yet has waited for more than 10 minutes");
		n++;
	}
	return n;
}

/* How the model fares that hookd may ask; nothing if it asks none. Trouble with it is no trouble of hookd's own, except
 * that what needs an answer does not get one. */
static int print_model(struct cli *cli, const struct json *s)
{
	str name = text(s, "model", "model"), state = text(s, "model", "state"), trouble = text(s, "model", "trouble");
	int64_t paused = number(s, "model", "paused_us");

	if (!str_is_set(name))
		return 0;
	printf("%-12s ", "model");
	cli_print_safe(arena_strf(&cli->arena, STR_FMT " (" STR_FMT "): " STR_FMT ", %lld of %lld tokens today",
		STR_ARG(name), STR_ARG(text(s, "model", "provider")), STR_ARG(state),
		(long long)number(s, "model", "tokens_today"), (long long)number(s, "model", "budget")));
	putchar('\n');
	if (!paused && str_empty(trouble))
		return 0;
	printf("%-12s ", "TROUBLE");
	cli_print_safe(paused
			? arena_strf(&cli->arena, "the model (" STR_FMT ") is not asked for another %lld s: " STR_FMT,
				  STR_ARG(name), (long long)(paused / USEC_PER_SEC + 1), STR_ARG(trouble))
			: arena_strf(&cli->arena, "the model (" STR_FMT ") could not be asked: " STR_FMT, STR_ARG(name),
				  STR_ARG(trouble)));
	putchar('\n');
	return 1;
}

/* Where events go, and how far that is behind. Returns how many of them need attention. */
static int print_sinks(struct cli *cli, const struct json *s)
{
	int troubles = 0;

	json_each(k, json_get(s, STR("sinks"))) {
		const struct json *lag = json_get(k, STR("lag"));
		str name = cell_text(k, "name"), trouble = cell_text(k, "trouble");
		int64_t dead = cell_int(k, "dead");

		printf("%-12s " STR_FMT ": " STR_FMT ", %lld waiting, %lld given up", "sink", STR_ARG(name),
			STR_ARG(cell_text(k, "state")), (long long)cell_int(k, "waiting"), (long long)dead);
		if (lag)
			printf(", lag %lld ms (p95 %lld, p99 %lld)", (long long)cell_int(lag, "p50_ms"),
				(long long)cell_int(lag, "p95_ms"), (long long)cell_int(lag, "p99_ms"));
		putchar('\n');
		if (str_empty(trouble) && !dead)
			continue;
		troubles++;
		printf("%-12s ", "TROUBLE");
		cli_print_safe(str_empty(trouble) ? arena_strf(&cli->arena,
							    "%lld deliveries to " STR_FMT
							    " were given up; see: hookd outbox --sink " STR_FMT,
							    (long long)dead, STR_ARG(name), STR_ARG(name))
						  : arena_strf(&cli->arena, "the sink " STR_FMT ": " STR_FMT,
							    STR_ARG(name), STR_ARG(trouble)));
		putchar('\n');
	}
	return troubles;
}

/* Its model could not be reached when a turn ended last. */
static void print_available(const struct json *a)
{
	str is = json_str(json_get(a, STR("available")));
	char since[CLOCK_TEXT], until[CLOCK_TEXT] = "";
	int64_t at = 0;

	if (str_empty(is) || str_eq(is, STR("available")))
		return;
	json_int(json_get(a, STR("since_us")), &at);
	clock_format_age(clock_wall_us() - at, since);
	if (json_int(json_get(a, STR("until_us")), &at))
		clock_format(at, 1, until);
	print_line("agent", STR_FMT " is " STR_FMT ", since %s ago (" STR_FMT ")%s%s",
		STR_ARG(json_str(json_get(a, STR("agent")))), STR_ARG(is), since,
		STR_ARG(json_str(json_get(a, STR("why")))), until[0] ? ", until " : "", until);
}

static void print_agents(const struct json *s)
{
	json_each(a, json_get(s, STR("agents"))) {
		char ago[CLOCK_TEXT];
		int64_t last = 0;

		json_int(json_get(a, STR("last_us")), &last);
		clock_format_age(clock_wall_us() - last, ago);
		print_line("agent", STR_FMT ", last event %s ago", STR_ARG(json_str(json_get(a, STR("agent")))), ago);
		print_available(a);
	}
}

/* The rules in effect may differ from the rules in the file. */
static void print_guard(struct cli *cli)
{
	struct policy_view view;

	policy_view_load(cli, false, &view);
	if (guard_policy_observes(view.in_force, STR("")))
		print_line("guard", "observe mode: nothing is denied or asked about");
	if (view.differs)
		print_line("guard", "%s", policy_difference(&view));
	policy_view_release(&view);
}

static void print_status(struct cli *cli, const struct json *s)
{
	char up[CLOCK_TEXT], last[CLOCK_TEXT] = "none yet";
	int64_t last_us = number(s, "events", "last_at_us"), received = number(s, "events_received", NULL);
	int troubles;

	clock_format_age(number(s, "uptime_us", NULL), up);
	if (last_us) {
		clock_format_age(clock_wall_us() - last_us, last);
		snprintf(last + strlen(last), sizeof last - strlen(last), " ago");
	}
	print_line("daemon", "running for %s, pid %lld, version " STR_FMT, up, (long long)number(s, "pid", NULL),
		STR_ARG(text(s, "version", NULL)));
	print_line("events", "%lld since start, last one: %s", (long long)received, last);
	print_line("durability", STR_FMT " (loss window: " STR_FMT ")", STR_ARG(text(s, "durability", NULL)),
		STR_ARG(text(s, "loss_window", NULL)));
	print_line("journal", "%lld events not yet in the store, %lld bytes in %lld segments",
		(long long)number(s, "journal", "unfolded_records"), (long long)number(s, "journal", "bytes"),
		(long long)number(s, "journal", "segments"));
	print_line("spool", "%lld files waiting, %lld picked up", (long long)number(s, "spool", "files"),
		(long long)number(s, "spool", "picked_up"));
	print_line("store", STR_FMT ", %.1f MB and %.1f MB of WAL, %lld MB free", STR_ARG(text(s, "store", "path")),
		(double)number(s, "store", "bytes") / 1e6, (double)number(s, "store", "wal_bytes") / 1e6,
		(long long)(number(s, "store", "free_bytes") >> 20));
	if (!str_empty(text(s, "store", "recovery")))
		print_line("recovery", STR_FMT, STR_ARG(text(s, "store", "recovery")));
	if (number(s, "store", "replayed"))
		print_line("recovery",
			"%lld events of an earlier daemon were still in the journal and are now in the store",
			(long long)number(s, "store", "replayed"));
	print_agents(s);
	/* Starting costs as much as a thousand events; before that an average would mislead. */
	if (received >= 1000)
		print_line("cost", "%.1f MB of memory, %lld µs of CPU per event in the loop",
			(double)number(s, "rss_bytes", NULL) / 1e6,
			(long long)(number(s, "cpu", "loop_us") / received));
	else
		print_line("cost", "%.1f MB of memory", (double)number(s, "rss_bytes", NULL) / 1e6);
	print_guard(cli);
	troubles = print_model(cli, s) + print_sinks(cli, s);
	if (!(print_trouble(s) + troubles))
		print_line("health", "ok");
}

/* -- what the owner changed -------------------------------------------------------------------- */

static str author_of(const struct json *change)
{
	static const struct {
		const char *by, *text;
	} authors[] = { { "terminal", "at a terminal" }, { "token", "with the owner's token" },
		{ "program", "by a program without a terminal" } };

	for (size_t i = 0; i < countof(authors); i++)
		if (str_eq(json_str(json_get(change, STR("by"))), str_of(authors[i].by)))
			return str_of(authors[i].text);
	return STR("author unknown");
}

/* Until a person has seen them: an agent that asks must not make them disappear. */
static void print_changes(struct cli *cli)
{
	struct buf b = BUF_INIT(MIB(1));
	struct json_writer w = JSON_WRITER(&b);
	unsigned unseen = owner_write_changes(&cli->paths, &w);
	struct json *list;

	if (unseen && json_parse(&cli->arena, arena_str(&cli->arena, buf_str(&b)), 0, &list, NULL) == 0)
		json_each(c, list) {
			str detail = json_str(json_get(c, STR("detail")));

			if (json_true(json_get(c, STR("seen"))))
				continue;
			printf("%-12s ", "changed");
			cli_print_safe(arena_strf(&cli->arena, STR_FMT "%s" STR_FMT ", " STR_FMT ", " STR_FMT,
				STR_ARG(json_str(json_get(c, STR("what")))), detail.n ? " " : "", STR_ARG(detail),
				STR_ARG(cell_time(cli, c, "at_us")), STR_ARG(author_of(c))));
			putchar('\n');
		}
	if (unseen && cli_has_terminal())
		owner_changes_seen(&cli->paths);
	buf_release(&b);
}

/* The daemon's answer, if there is one, and what was changed. */
static int print_json(struct cli *cli, const struct json *s)
{
	struct buf b = BUF_INIT(MIB(4));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	if (!s)
		jw_field_bool(&w, "running", false);
	json_each(m, s) {
		jw_key_str(&w, m->key);
		jw_value(&w, m);
	}
	jw_key(&w, "changes");
	(void)owner_write_changes(&cli->paths, &w);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
	return s ? EXIT_DONE : EXIT_FAILED;
}

static int run(struct cli *cli)
{
	struct json *s = NULL;
	struct err err = { 0 };
	int r = cli_call(cli, false, "status", STR_NONE, &s, &err);

	if (r < 0 && r != -ENOENT)
		return cli_fail("%s", err.text);
	if (cli_has(cli, "json"))
		return print_json(cli, r == 0 ? s : NULL);
	if (r == 0)
		print_status(cli, s);
	else
		printf("hookd is not running; the next hook starts it, or: hookd start\n");
	print_changes(cli);
	return r == 0 ? EXIT_DONE : EXIT_FAILED;
}

static const struct cmd_option status_options[] = { { "json", 0, NULL, false, "print JSON" }, { 0 } };

const struct cmd cmd_status = {
	.name = "status",
	.args = "",
	.text = "Show whether the daemon is running and healthy.",
	.options = status_options,
	.run = run,
};
