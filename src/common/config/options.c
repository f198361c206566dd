/* The options, and everything that follows from a row alone. */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/url.h"
#include "config/names.h"

static const char *const durabilities[] = { "normal", "strict", NULL };
static const char *const guard_modes[] = { "enforce", "observe", NULL };

static const char *const providers[] = { "none", "openai", "compatible", "anthropic", NULL };

static int check_levels(str value, struct err *err)
{
	return log_set_levels(value, /* apply= */ false, err);
}

/* A relative directory would be another one in every project. */
static int check_path(str value, struct err *err)
{
	char shown[NAME_SHOWN];
	str dir;

	while (str_split(&value, ':', &dir))
		if (str_empty(dir) || dir.p[0] != '/')
			return err_set(err, -EINVAL, "'%s' is not an absolute directory", name_shown(dir, shown));
	return 0;
}

static int check_url(str value, struct err *err)
{
	return str_empty(value) ? 0 : url_check(value, err);
}

/* Whose directory it would be is not known where the file is read. */
static int check_file(str value, struct err *err)
{
	char shown[NAME_SHOWN];

	if (str_empty(value) || value.p[0] == '/' || str_starts(value, STR("~/")))
		return 0;
	return err_set(err, -EINVAL, "'%s' is not an absolute path, nor one from ~/", name_shown(value, shown));
}

static int check_directories(str value, struct err *err)
{
	char shown[NAME_SHOWN];
	str dir;

	while (str_split(&value, ' ', &dir))
		if (!str_empty(dir) && dir.p[0] != '/' && !str_eq(dir, STR("~")) && !str_starts(dir, STR("~/")) &&
			!str_starts(dir, STR("**")))
			return err_set(err, -EINVAL,
				"'%s' names no directory; write it from / or ~, or begin with **/ for anywhere",
				name_shown(dir, shown));
	return 0;
}

static int check_types(str value, struct err *err)
{
	enum { LONGEST = 32 };
	char shown[NAME_SHOWN];
	str name;

	while (str_split(&value, ' ', &name)) {
		bool fits = name.n <= LONGEST;

		for (size_t i = 0; i < name.n; i++)
			fits = fits && strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", name.p[i]);
		if (!fits)
			return err_set(err, -EINVAL, "'%s' must be at most %d small letters, digits, - and _",
				name_shown(name, shown), LONGEST);
	}
	return 0;
}

static int check_reminders(str value, struct err *err)
{
	static const char *const names[] = { "errors", "looking", "plan", "checkpoint" };
	char shown[NAME_SHOWN];
	str name;

	while (str_split(&value, ' ', &name)) {
		bool known = str_empty(name);

		for (size_t i = 0; i < countof(names); i++)
			known = known || str_eq(name, str_of(names[i]));
		if (!known)
			return err_set(err, -EINVAL,
				"there is no reminder '%s'; there are errors, looking, plan, checkpoint",
				name_shown(name, shown));
	}
	return 0;
}

const struct option options[OPTION_ID_MAX] = {
	[OPTION_CONTEXT_ENABLED] = { "context.enabled", OPTION_BOOL, "true",
		.text = "Whether hookd adds memories and what is known of a project to conversations." },
	[OPTION_CONTEXT_ENCODER] = { "context.encoder", OPTION_BOOL, "true",
		.text = "find memories by what they mean as well, not by their words alone; in force after a restart" },
	[OPTION_CONTEXT_MEMORIES] = { "context.memories", OPTION_INT, "10", .minimum = 0, .maximum = 20,
		.text = "How many memories are added to one prompt at most." },
	[OPTION_CONTEXT_CODE] = { "context.code", OPTION_INT, "3", .minimum = 0, .maximum = 5,
		.text = "How many pieces of code are added to one prompt at most; 0: none." },
	[OPTION_CONTEXT_TOKENS] = { "context.tokens", OPTION_INT, "2000", .minimum = 100, .maximum = 2400,
		.text = "How many tokens are added at once at most, at four bytes each." },
	[OPTION_DURABILITY] = { "durability", OPTION_ENUM, "normal", .choices = durabilities,
		.text = "What an acknowledged event survives. normal: any crash of hookd or of the "
			"agent; a power cut may lose the last second. strict: a power cut as well; "
			"hookd answers only after the event is on the disk." },
	[OPTION_EXTRACT_EXCLUDE] = { "extract.exclude_projects", OPTION_LIST, "", .check = check_directories,
		.text = "Directories of projects from which nothing is learned: absolute or from ~, with * for any "
			"part of a name, ** for any number of directories and ? for one character (a space, for "
			"example). What lies below is meant too. Their events are stored like all others." },
	[OPTION_EXTRACT_MODEL] = { "extract.model", OPTION_BOOL, "true",
		.text = "Whether the model of llm.provider, if there is one, is asked what turns teach and what "
			"sessions were "
			"about. false: it is asked by prompt hooks only." },
	[OPTION_EXTRACT_SKIP] = { "extract.skip_tools", OPTION_LIST,
		"ListMcpResourcesTool SlashCommand Skill TodoWrite AskUserQuestion",
		.text = "Tools from whose use nothing is learned. Their events are stored like all others." },
	[OPTION_FLEET_TMUX] = { "fleet.tmux", OPTION_BOOL, "false",
		.text = "Whether panes and windows of tmux have the colour of what the agents in them are doing. "
			"Selecting a pane then notes that you have looked. When an agent ends, what was set is "
			"unset." },
	[OPTION_GUARD_DISABLE] = { "guard.disable", OPTION_LIST, "",
		.text = "Guard rules that are switched off, built-in or your own." },
	[OPTION_GUARD_MODE] = { "guard.mode", OPTION_ENUM, "enforce", .choices = guard_modes,
		.text = "enforce: guard rules are enforced. observe: their decisions are only recorded; nothing is "
			"denied or asked about." },
	[OPTION_GUARD_OBSERVE] = { "guard.observe", OPTION_LIST, "",
		.text = "Guard rules that are only observed: their decisions are recorded but not enforced." },
	[OPTION_HOOKS_PATH] = { "hooks.path", OPTION_TEXT, PATHS_PROGRAMS, .check = check_path,
		.text = "PATH of the programs that hooks run: absolute directories, separated by colons. The PATH of "
			"the agent or shell that calls is never used." },
	[OPTION_HTTP_ENABLED] = { "http.enabled", OPTION_BOOL, "false",
		.text = "Whether hookd listens on 127.0.0.1 from its start; otherwise only once `hookd url` asks for "
			"it. The Unix socket api.sock is always there." },
	[OPTION_HTTP_PORT] = { "http.port", OPTION_INT, "7717", .minimum = 0, .maximum = 65535,
		.text = "TCP port on 127.0.0.1; if it is taken, or 0, any free one. `hookd status` shows it." },
	[OPTION_INDEX_ENABLED] = { "index.enabled", OPTION_BOOL, "true",
		.text = "Whether the code of git repositories in which agents work is indexed, so that it can be "
			"searched "
			"and found by what a prompt is about. The index stays on this machine." },
	[OPTION_INDEX_EXCLUDE] = { "index.exclude", OPTION_LIST, "",
		.text = "What is not indexed, beside what git ignores: patterns as in a .gitignore at the root of each "
			"repository." },
	[OPTION_INDEX_MAX_FILES] = { "index.max_files", OPTION_INT, "50000", .minimum = 100, .maximum = 200000,
		.text = "How many files of one repository are indexed at most." },
	[OPTION_LLM_BUDGET] = { "llm.budget", OPTION_INT, "200000", .minimum = 0, .maximum = 1000000000,
		.text = "How many tokens, of questions and answers, may be used in a day (of UTC)." },
	[OPTION_LLM_CONTEXT] = { "llm.context", OPTION_INT, "8192", .minimum = 1024, .maximum = 2000000,
		.text = "How many tokens the model takes at once, question and answer together." },
	[OPTION_LLM_KEY_FILE] = { "llm.key_file", OPTION_TEXT, "", .check = check_file,
		.text = "The file that holds the provider's key, readable by you alone; if empty, the key that `hookd "
			"model key` has stored." },
	[OPTION_LLM_MAX_TOKENS] = { "llm.max_tokens", OPTION_INT, "1024", .minimum = 16, .maximum = 65536,
		.text = "How many tokens an answer may have, unless whoever asks wants fewer." },
	[OPTION_LLM_MODEL] = { "llm.model", OPTION_TEXT, "", .text = "The model, as the provider calls it." },
	[OPTION_LLM_PROVIDER] = { "llm.provider", OPTION_ENUM, "none", .choices = providers,
		.text = "Which language model may be asked. none: no model is ever asked. openai, anthropic: these "
			"providers. compatible: a server at llm.url that speaks OpenAI's chat completions (Ollama, "
			"llama.cpp, vLLM, LM Studio)." },
	[OPTION_LLM_TIMEOUT_S] = { "llm.timeout_s", OPTION_INT, "60", .minimum = 1, .maximum = 600,
		.text = "How many seconds one call may take." },
	[OPTION_LLM_URL] = { "llm.url", OPTION_TEXT, "", .check = check_url,
		.text = "Address of the provider's API up to its version, such as http://127.0.0.1:11434/v1: https, or "
			"http on this machine. If empty, the provider's own." },
	[OPTION_LOG_LEVEL] = { "log.level", OPTION_TEXT, "info", .check = check_levels,
		.text = "Level of hookd.log: error, warn, info or debug, for everything or for one module "
			"(\"info,store=debug\")." },
	[OPTION_LOG_MAX_MB] = { "log.max_mb", OPTION_INT, "8", .minimum = 1, .maximum = 1024,
		.text = "Size in MiB at which hookd.log is rotated; one old file is kept." },
	[OPTION_MEMORY_MUTE_AFTER] = { "memory.mute_after", OPTION_INT, "10", .minimum = 0, .maximum = 1000,
		.text = "A memory that was given to agents this many times and never used is muted; 0: never. What you "
			"said "
			"yourself, or pinned, is not." },
	[OPTION_MEMORY_SIMILAR] = { "memory.similar", OPTION_INT, "80", .minimum = 50, .maximum = 100,
		.text = "How much of their words, in percent, two memories of one type must share for the newer one to "
			"supersede the older." },
	[OPTION_MEMORY_TYPES] = { "memory.types", OPTION_LIST, "", .check = check_types,
		.text = "Types of memories of your own, beside gotcha, bug_fix, decision, discovery, trade_off and "
			"session_summary: small letters, digits, - and _." },
	[OPTION_OUTBOX_MAX] = { "outbox.max", OPTION_INT, "10000", .minimum = 100, .maximum = 1000000,
		.text = "How many deliveries may wait for one sink. Near that, events of tools replace older ones of "
			"their "
			"session and in the end are dropped; all others are kept." },
	[OPTION_REMIND] = { "remind", OPTION_LIST, "", .check = check_reminders,
		.text = "What agents are reminded of while they work. errors: the same call has failed three times. "
			"looking: "
			"five calls in a row only looked. plan: their list of tasks is not kept, or not finished when "
			"they "
			"stop. checkpoint: files were changed, and nothing was run since that shows whether they work. "
			"The "
			"last two may have an agent go on with its turn, once." },
	[OPTION_RETENTION_DAYS] = { "retention.days", OPTION_INT, "0", .minimum = 0, .maximum = 36500,
		.text = "Sessions whose last event is older than this many days are deleted; 0 keeps them forever." },
	[OPTION_STORE_LINGER_MS] = { "store.linger_ms", OPTION_INT, "60000", .minimum = 0, .maximum = 600000,
		.text = "Longest time in milliseconds that events stay in the journal before they are folded into the "
			"store. Folding happens earlier after the end of a turn, once 64 events are waiting, or when "
			"somebody reads." },
	[OPTION_STORE_MAX_MB] = { "store.max_mb", OPTION_INT, "2048", .minimum = 16, .maximum = 1048576,
		.text = "Size of the store in MiB above which the oldest sessions are deleted. Active sessions are "
			"never deleted." },
};

const char *const config_origin_names[ORIGIN_MAX] = { [ORIGIN_DEFAULT] = "default", [ORIGIN_USER] = "user" };

/* -- suggestions ------------------------------------------------------------------------------- */

enum { NAME_COMPARED = 32 };

/* Levenshtein distance of the first NAME_COMPARED bytes. */
static unsigned edit_distance(str a, str b)
{
	unsigned row[NAME_COMPARED + 1];

	a = str_head(a, NAME_COMPARED);
	b = str_head(b, NAME_COMPARED);
	for (unsigned j = 0; j <= b.n; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b.n; j++) {
			unsigned change = corner + (a.p[i - 1] != b.p[j - 1]);

			corner = row[j];
			row[j] = MIN(MIN(row[j], row[j - 1]) + 1, change);
		}
	}
	return row[b.n];
}

void name_suggest(struct name_suggestion *s, str wrong, str candidate)
{
	unsigned distance = str_eq_name(wrong, candidate) ? 0 : edit_distance(wrong, candidate);

	/* Up to a third of the letters may differ: a typo. More than that is a different word. */
	if (distance * 3 > MAX(wrong.n, candidate.n) || (s->best.p && distance >= s->distance))
		return;
	s->best = candidate;
	s->distance = distance;
}

const char *name_shown(str value, char out[NAME_SHOWN])
{
	str cut = str_cut_utf8(value, NAME_SHOWN - 8);
	size_t n = 0;

	for (size_t i = 0; i < cut.n; i++)
		out[n++] = (unsigned char)cut.p[i] < 0x20 || cut.p[i] == 0x7f ? '?' : cut.p[i];
	snprintf(out + n, NAME_SHOWN - n, "%s", cut.n < value.n ? "…" : "");
	return out;
}

const struct option *config_find(str name, struct err *err)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (size_t i = 0; i < OPTION_ID_MAX; i++) {
		if (str_eq_name(name, str_of(options[i].name)))
			return &options[i];
		name_suggest(&near, name, str_of(options[i].name));
	}
	if (near.best.p)
		err_set(err, -ENOENT, "there is no option '%s'; did you mean '" STR_FMT "'?", name_shown(name, shown),
			STR_ARG(near.best));
	else
		err_set(err, -ENOENT, "there is no option '%s'; 'hookd config show' lists them all",
			name_shown(name, shown));
	return NULL;
}

/* -- values ------------------------------------------------------------------------------------ */

static int check_int(const struct option *o, str value, int64_t *ret)
{
	return str_to_int(value, ret) && *ret >= o->minimum && *ret <= o->maximum ? 0 : -ERANGE;
}

static int check_bool(const struct option *o, str value, int64_t *ret)
{
	(void)o;
	*ret = str_eq(value, STR("true"));
	return *ret || str_eq(value, STR("false")) ? 0 : -EINVAL;
}

static int check_choice(const struct option *o, str value, int64_t *ret)
{
	for (*ret = 0; o->choices[*ret]; ++*ret)
		if (str_eq(value, str_of(o->choices[*ret])))
			return 0;
	return -EINVAL;
}

static int check_text(const struct option *o, str value, int64_t *ret)
{
	(void)o;
	*ret = 0;
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < 0x20)
			return -EINVAL;
	return 0;
}

/* Names of rules, separated by blanks. */
static int check_list(const struct option *o, str value, int64_t *ret)
{
	str name;

	(void)o;
	*ret = 0;
	while (str_split(&value, ' ', &name)) {
		for (size_t i = 0; i < name.n; i++)
			if ((unsigned char)name.p[i] <= 0x20 || strchr(",;\"'[]{}\\", name.p[i]))
				return -EINVAL;
		*ret += name.n > 0;
	}
	return 0;
}

static int (*const checks[])(const struct option *o, str value, int64_t *ret) = {
	[OPTION_BOOL] = check_bool,
	[OPTION_INT] = check_int,
	[OPTION_ENUM] = check_choice,
	[OPTION_TEXT] = check_text,
	[OPTION_LIST] = check_list,
};

void option_describe(const struct option *o, struct buf *b)
{
	switch (o->type) {
	case OPTION_BOOL: buf_add_str(b, STR("true or false")); return;
	case OPTION_INT:
		buf_addf(b, "a whole number from %lld to %lld", (long long)o->minimum, (long long)o->maximum);
		return;
	case OPTION_ENUM:
		for (size_t i = 0; o->choices[i]; i++)
			buf_addf(b, "%s\"%s\"", i == 0 ? "" : o->choices[i + 1] ? ", " : " or ", o->choices[i]);
		return;
	case OPTION_TEXT: buf_add_str(b, STR("a line of text")); return;
	case OPTION_LIST: buf_add_str(b, STR("a list of names, separated by spaces")); return;
	}
}

int config_check(const struct option *o, str value, struct config_value *ret, struct err *err)
{
	struct buf fit = BUF_INIT(256);
	char shown[NAME_SHOWN];
	struct err why;
	int64_t number;
	int r = checks[o->type](o, value, &number);

	if (r == 0 && o->check && o->check(value, &why) < 0) {
		/* The reason quotes the value itself, so it is made visible as a whole. */
		char text[sizeof why.text];

		snprintf(text, sizeof text, "%s", why.text);
		for (char *p = text; *p; p++)
			*p = (unsigned char)*p < 0x20 ? '?' : *p;
		return err_set(err, why.code, "%s: %s", o->name, text);
	}
	if (r < 0) {
		option_describe(o, &fit);
		err_set(err, r, "%s must be " STR_FMT ", not '%s'", o->name, STR_ARG(buf_str(&fit)),
			name_shown(value, shown));
		buf_release(&fit);
		return r;
	}
	if (ret)
		*ret = (struct config_value){ .text = xstrndup(value.p ? value.p : "", value.n), .number = number };
	return 0;
}
