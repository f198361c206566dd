/* call: what a tool call would do, whatever its input looks like.
 *
 * Tools that are known have a class, and agents' adapters find their command and file. Everything else is found here:
 * commands as lists of words, input that is a text with JSON in it, unknown tools of MCP servers. The
 * members of the input are walked at any depth, and their names say what they hold. What cannot be understood where a
 * command or a file ought to be is asked about. */
#include "guard/internal.h"

enum { DEEP_MAX = 24, UNWRAP_MAX = 4 };

enum member {
	MEMBER_OTHER,
	MEMBER_COMMAND, /* a command line, or the words of one */
	MEMBER_COMMANDS,
	MEMBER_ARGS,  /* words of a command, or what people call arguments */
	MEMBER_INPUT, /* the input itself, one level down */
	MEMBER_SQL,
	MEMBER_QUERY, /* SQL, or what somebody searches for */
	MEMBER_PLACE, /* a directory to work in */
	MEMBER_PATH,
	MEMBER_GLOB,
	MEMBER_PATCH,
};

/* Names without case, '-' and '_'. */
static const struct {
	const char *name;
	enum member member;
} members[] = {
	{ "command", MEMBER_COMMAND },
	{ "cmd", MEMBER_COMMAND },
	{ "script", MEMBER_COMMAND },
	{ "shellcommand", MEMBER_COMMAND },
	{ "commandline", MEMBER_COMMAND },
	{ "bashcommand", MEMBER_COMMAND },
	{ "cmdline", MEMBER_COMMAND },
	{ "commands", MEMBER_COMMANDS },
	{ "cmds", MEMBER_COMMANDS },
	{ "scripts", MEMBER_COMMANDS },
	{ "args", MEMBER_ARGS },
	{ "argv", MEMBER_ARGS },
	{ "chars", MEMBER_ARGS },
	{ "arguments", MEMBER_INPUT },
	{ "input", MEMBER_INPUT },
	{ "params", MEMBER_INPUT },
	{ "parameters", MEMBER_INPUT },
	{ "toolinput", MEMBER_INPUT },
	{ "toolargs", MEMBER_INPUT },
	{ "toolarguments", MEMBER_INPUT },
	{ "mcptoolarguments", MEMBER_INPUT },
	{ "sql", MEMBER_SQL },
	{ "query", MEMBER_QUERY },
	{ "queries", MEMBER_QUERY },
	{ "statement", MEMBER_QUERY },
	{ "statements", MEMBER_QUERY },
	{ "cwd", MEMBER_PLACE },
	{ "workdir", MEMBER_PLACE },
	{ "workingdirectory", MEMBER_PLACE },
	{ "workingdir", MEMBER_PLACE },
	{ "dirpath", MEMBER_PLACE },
	{ "directory", MEMBER_PLACE },
	{ "patch", MEMBER_PATCH },
	{ "diff", MEMBER_PATCH },
	{ "glob", MEMBER_GLOB },
	{ "globs", MEMBER_GLOB },
	{ "include", MEMBER_GLOB },
	{ "includes", MEMBER_GLOB },
	{ "includepattern", MEMBER_GLOB },
	{ "includepatterns", MEMBER_GLOB },
	{ "filepattern", MEMBER_GLOB },
	{ "filename", MEMBER_PATH },
	{ "filenames", MEMBER_PATH },
	{ "dir", MEMBER_PATH },
	{ "dirs", MEMBER_PATH },
	{ "directories", MEMBER_PATH },
	{ "folder", MEMBER_PATH },
	{ "folders", MEMBER_PATH },
	{ "source", MEMBER_PATH },
	{ "destination", MEMBER_PATH },
	{ "src", MEMBER_PATH },
	{ "dst", MEMBER_PATH },
	{ "uri", MEMBER_PATH },
	{ "uris", MEMBER_PATH },
};

/* file_path, oldPath, target_file, paths: whatever ends so. */
static const char *const path_ends[] = { "path", "paths", "file", "files" };

/* What a tool does with the paths it is given, as far as its name tells. */
enum verb { VERB_UNKNOWN, VERB_READS, VERB_WRITES, VERB_DELETES };

static const struct {
	const char *words;
	enum verb verb;
} verbs[] = {
	{ "delete remove unlink trash rmdir erase wipe purge", VERB_DELETES },
	{ "write edit create update insert append move rename copy replace save patch apply upload mkdir touch "
	  "modify",
		VERB_WRITES },
	{ "read get list search find view show stat info open fetch grep glob tree query describe count exist diff "
	  "status blame analy lint check inspect lookup resolve hover definition reference symbol load index scan",
		VERB_READS },
};

struct call {
	struct run *x;
	const struct event *e;
	enum verb verb;
	str base; /* where patterns of files begin */
	bool has_command, has_file;
	bool malformed;     /* a text that was meant to hold the input does not */
	unsigned unwrapped; /* texts with JSON in them, around here */
};

static enum member member_of(str key)
{
	char name[24];
	size_t n = 0;

	for (size_t i = 0; i < key.n && n < sizeof(name); i++)
		if (key.p[i] != '-' && key.p[i] != '_')
			name[n++] = (char)(key.p[i] >= 'A' && key.p[i] <= 'Z' ? key.p[i] + 32 : key.p[i]);
	for (size_t i = 0; i < countof(members); i++)
		if (members[i].name[0] == name[0] && str_eq(str_n(name, n), str_of(members[i].name)))
			return members[i].member;
	for (size_t i = 0; i < countof(path_ends); i++) {
		str end = str_of(path_ends[i]);

		if (key.n >= end.n && str_eq_nocase(str_from(key, key.n - end.n), end))
			return MEMBER_PATH;
	}
	return MEMBER_OTHER;
}

static enum verb verb_of(struct run *x, str name)
{
	name = str_lower(x->a, name);
	for (size_t i = 0; i < countof(verbs); i++) {
		str words = str_of(verbs[i].words), word;

		while (str_split(&words, ' ', &word))
			if (str_find(name, word) >= 0)
				return verbs[i].verb;
	}
	return VERB_UNKNOWN;
}

/* Tools of which the class is known do what it says. */
static enum verb verb_of_call(struct run *x, const struct event *e)
{
	bool word = e->command.n && str_find_char(e->command, ' ') < 0; /* {"command": "view", "path": …} */
	enum verb verb;

	switch (e->tool_class) {
	case TOOL_WRITE: return VERB_WRITES;
	case TOOL_READ:
	case TOOL_SEARCH: return VERB_READS;
	default:
		verb = word ? verb_of(x, e->command) : VERB_UNKNOWN;
		return verb != VERB_UNKNOWN ? verb : verb_of(x, e->tool_name);
	}
}

static bool may_run(const struct event *e)
{
	return e->tool_class == TOOL_SHELL || e->tool_class == TOOL_OTHER || e->tool_class == TOOL_MCP;
}

/* -- files ------------------------------------------------------------------------------------- */

static void judge_file_write(struct run *x, const struct event *e, str path)
{
	str text = json_str(json_get(e->tool_input, STR("new_string")));
	bool shared;

	/* An edit of a settings file that has nothing to do with hooks is for the user to allow. */
	if (is_protected(x, path_resolve(x, path), &shared) && shared && str_is_set(text) &&
		!str_has_nocase(text, "hook") &&
		!str_has_nocase(json_str(json_get(e->tool_input, STR("old_string"))), "hook")) {
		FAULT(x, NULL, RULE_SELF, VERDICT_ASK,
			"this would change " STR_FMT ", which also contains the agent's hooks", STR_ARG(path));
		return;
	}
	judge_write(x, NULL, path, STR("\1"), false);
}

void judge_patch(struct run *x, const struct cmd *c, const struct event *e, str text)
{
	struct patch patch = patch_open(text);
	struct patch_file file;

	while (patch_next(&patch, &file) && spend(x, 4)) {
		fields_add(x->a, &x->paths, file.path);
		if (file.change == PATCH_DELETES)
			judge_delete(x, c, file.path, false);
		else if (e)
			judge_file_write(x, e, file.path);
		else
			judge_write(x, c, file.path, STR("\1"), false);
	}
}

static bool has_extension(str path)
{
	str last = str_base(path);

	return str_find_char(str_from(last, MIN(last.n, (size_t)1)), '.') >= 0;
}

static void judge_path(struct call *k, str path)
{
	struct run *x = k->x;
	bool doubt = x->doubt;

	if (str_starts(path, STR("file://")))
		path = str_from(path, 7);
	if (!path.n)
		return;
	k->has_file = true;
	fields_add(x->a, &x->paths, path);
	switch (k->verb) {
	case VERB_READS: judge_read(x, NULL, path); break;
	case VERB_WRITES: judge_file_write(x, k->e, path); break;
	case VERB_DELETES: judge_delete(x, NULL, path, !has_extension(path)); break;
	case VERB_UNKNOWN: /* it may do either */
		judge_read(x, NULL, path);
		x->doubt = true;
		judge_file_write(x, k->e, path);
		x->doubt = doubt;
		break;
	}
}

static void add_pattern(struct call *k, str pattern)
{
	struct run *x = k->x;
	str live = map_tr(x->a, pattern, STR("*?"), STR("\2\3"), false);

	live = str_trim(live);
	if (!live.n || live.p[0] == '!')
		return;
	fields_add(x->a, &x->paths, live);
	judge_read(x, NULL, k->base.n ? path_join(x, path_resolve(x, k->base), live) : live);
}

/* "src/x.{ts,env}", "*.c,*.h": each of the patterns it stands for. Braces within braces are taken apart from the
 * innermost on. */
static void judge_glob(struct call *k, str pattern, unsigned depth)
{
	ptrdiff_t close = str_find_char(pattern, '}'), open = close;
	str items, item;

	while (open > 0 && pattern.p[open] != '{')
		open--;
	if (depth > DEEP_MAX || !spend(k->x, 4)) {
		reach_cap(k->x, "patterns of files");
	} else if (close >= 0 && pattern.p[open] == '{') {
		items = str_n(pattern.p + open + 1, (size_t)(close - open - 1));
		while (str_split(&items, ',', &item)) {
			str one = arena_strf(k->x->a, STR_FMT STR_FMT STR_FMT, STR_ARG(str_head(pattern, (size_t)open)),
				STR_ARG(item), STR_ARG(str_from(pattern, (size_t)close + 1)));

			judge_glob(k, one, depth + 1);
		}
	} else {
		while (str_split(&pattern, ',', &item))
			add_pattern(k, item);
	}
}

/* -- commands ---------------------------------------------------------------------------------- */

/* Characters that make a text read differently from what it is: overrides of direction, and invisible ones. */
static bool hides_text(str s)
{
	for (size_t i = 0; i + 2 < s.n; i++) {
		const unsigned char *p = (const unsigned char *)s.p + i;

		if (p[0] == 0xe2 &&
			((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
				(p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)))
			return true;
	}
	return false;
}

void judge_whole(struct run *x, str command)
{
	if (str_find(command, STR(SELFTEST_WORDS)) >= 0)
		guard_add_finding(x, STR("hookd.selftest"), VERDICT_DENY,
			STR("hookd denied this command: it contains " SELFTEST_WORDS
			    ", the words that test whether a denial reaches the agent"));
	if (hides_text(command))
		FAULT(x, NULL, RULE_EXEC_OBFUSCATED, VERDICT_ASK,
			"this contains characters that change the direction of text, so a reader sees something else");
}

/* A command line that is not the one the agent's adapter found. Its offsets mean nothing to anybody. */
static void judge_command(struct call *k, str text)
{
	struct run *x = k->x;

	if (!str_trim(text).n)
		return;
	k->has_command = true;
	if (text.p == k->e->command.p)
		return;
	judge_whole(x, text);
	x->depth++;
	if (patch_is(text) && str_starts(str_trim(text), STR("***")))
		judge_patch(x, NULL, k->e, text);
	else
		(void)run_child_text(x, text, STR_NONE);
	x->depth--;
}

/* A text that may be a command or may be anything: what cannot be read as one is none, and the rest is asked about. */
static void judge_maybe(struct call *k, str text)
{
	struct run *x = k->x;
	bool maybe = x->maybe, doubt = x->doubt;

	x->maybe = x->doubt = true;
	judge_command(k, text);
	x->maybe = maybe;
	x->doubt = doubt;
}

static bool all_strings(const struct json *list)
{
	if (list->type != JSON_ARRAY)
		return false;
	json_each(item, list)
		if (item->type != JSON_STRING)
			return false;
	return json_first(list) != NULL;
}

static void add_words(struct run *x, struct fields *f, const struct json *list)
{
	json_each(item, list)
		fields_add(x->a, f, json_str(item));
}

/* ["bash", "-lc", "…"] are the words of one command. For an unknown tool they may be several. */
static void judge_words(struct call *k, const struct json *list)
{
	struct run *x = k->x;
	struct fields f = { 0 };

	add_words(x, &f, list);
	k->has_command = true;
	for (size_t i = 0; i < f.n; i++)
		judge_whole(x, f.v[i]);
	(void)run_argv(x, f.v, f.n, STR_NONE);
	for (size_t i = 0; i < f.n && k->e->tool_class != TOOL_SHELL; i++)
		if (str_find_char(f.v[i], ' ') > 0)
			judge_maybe(k, f.v[i]);
}

/* {"command": "rm", "args": ["-rf", "/"]} */
static void judge_joined(struct call *k, const struct json *object)
{
	const struct json *command = NULL, *args = NULL;
	struct run *x = k->x;
	struct fields f = { 0 };
	str rest, word;

	json_each(m, object) {
		enum member member = member_of(m->key);

		if (member == MEMBER_COMMAND && m->type == JSON_STRING)
			command = m;
		else if (member == MEMBER_ARGS && (m->type == JSON_STRING || all_strings(m)))
			args = m;
	}
	if (!command || !args)
		return;
	if (args->type == JSON_STRING) {
		judge_maybe(k,
			arena_strf(x->a, STR_FMT " " STR_FMT, STR_ARG(json_str(command)), STR_ARG(json_str(args))));
		return;
	}
	rest = json_str(command);
	while (str_split(&rest, ' ', &word))
		if (word.n)
			fields_add(x->a, &f, word);
	add_words(x, &f, args);
	(void)run_argv(x, f.v, f.n, STR_NONE);
}

/* What a search would hardly begin with: the first word, the second, and what follows somewhere after them. */
static const struct {
	const char *first, *second, *after;
} sql_starts[] = {
	{ "delete", "from", NULL },
	{ "drop", "table database schema view index user role column", NULL },
	{ "truncate", "table", NULL },
	{ "alter", "table database schema user role", NULL },
	{ "update", NULL, " set " },
	{ "with", NULL, " as " },
	{ "explain", NULL, "delete" },
	{ "select", NULL, ";" },
	{ "insert", "into", ";" },
	{ "begin", NULL, ";" },
	{ "set", NULL, ";" },
	{ "use", NULL, ";" },
};

static bool is_sql(str text)
{
	str rest = text, word, first = STR(""), second = STR("");

	while (!second.n && str_split(&rest, ' ', &word))
		if (str_trim(word).n)
			*(first.n ? &second : &first) = str_trim(word);
	for (size_t i = 0; i < countof(sql_starts); i++)
		if (str_eq_nocase(first, str_of(sql_starts[i].first)))
			return (!sql_starts[i].second || str_in_nocase(second, sql_starts[i].second)) &&
				(!sql_starts[i].after || str_has_nocase(text, sql_starts[i].after));
	return false;
}

/* -- the walk ---------------------------------------------------------------------------------- */

static void walk(struct call *k, const struct json *v, enum member member, unsigned depth);

/* A text that contains the whole input. False: it does not. */
static bool walk_inside(struct call *k, str text, unsigned depth)
{
	struct json *inner;

	text = str_trim(text);
	if (!text.n || (text.p[0] != '{' && text.p[0] != '[' && text.p[0] != '"'))
		return false;
	if (k->unwrapped == UNWRAP_MAX) {
		reach_cap(k->x, "texts within texts");
		return true;
	}
	if (json_parse(k->x->a, text, JSON_LENIENT_UTF8, &inner, NULL) < 0)
		return false;
	k->unwrapped++;
	walk(k, inner, MEMBER_ARGS, depth + 1);
	k->unwrapped--;
	return true;
}

/* A patch, and not a text about one. */
static bool holds_patch(const struct call *k, str text)
{
	return patch_is(text) && (!k->has_file || str_starts(str_trim(text), STR("***")));
}

static void walk_text(struct call *k, str text, enum member member, unsigned depth)
{
	bool runs = may_run(k->e), is_command = member == MEMBER_COMMAND || member == MEMBER_COMMANDS;

	if (holds_patch(k, text) && !(is_command && runs)) {
		judge_patch(k->x, NULL, k->e, text);
		k->has_file = true;
		return;
	}
	switch (member) {
	case MEMBER_COMMAND:
	case MEMBER_COMMANDS:
		if (runs)
			judge_command(k, text);
		break;
	case MEMBER_INPUT:
	case MEMBER_ARGS:
		if (!walk_inside(k, text, depth) && runs && member == MEMBER_ARGS)
			judge_maybe(k, text);
		break;
	case MEMBER_SQL: judge_sql(k->x, NULL, text); break;
	case MEMBER_QUERY:
		if (runs && is_sql(text))
			judge_sql(k->x, NULL, text);
		break;
	case MEMBER_PATCH: judge_patch(k->x, NULL, k->e, text); break;
	case MEMBER_PLACE: /* where a command runs is known already */
		if (!may_run(k->e) || k->verb == VERB_DELETES)
			judge_path(k, text);
		else
			judge_read(k->x, NULL, text);
		break;
	case MEMBER_PATH: judge_path(k, text); break;
	case MEMBER_GLOB:
		if (k->verb == VERB_READS)
			judge_glob(k, text, 0);
		break;
	default: break;
	}
}

/* {"source": "a", "destination": "b"} of a tool that moves or copies */
static void judge_moved(struct call *k, const struct json *object)
{
	static const char *const from[] = { "source", "src", "source_path", "from", "old_path" };
	static const char *const to[] = { "destination", "dst", "destination_path", "to", "new_path" };
	str name = str_lower(k->x->a, k->e->tool_name), v[3] = { STR("mv") };

	for (size_t i = 0; i < countof(from); i++) {
		v[1] = str_is_set(v[1]) ? v[1] : json_str(json_get(object, str_of(from[i])));
		v[2] = str_is_set(v[2]) ? v[2] : json_str(json_get(object, str_of(to[i])));
	}
	if (v[1].n && v[2].n && (str_has(name, "move") || str_has(name, "rename")))
		(void)run_argv(k->x, v, countof(v), STR_NONE);
}

static void walk_object(struct call *k, const struct json *object, unsigned depth)
{
	if (may_run(k->e)) {
		judge_joined(k, object);
		judge_moved(k, object);
	}
	json_each(m, object)
		walk(k, m, member_of(m->key), depth + 1);
}

static void walk(struct call *k, const struct json *v, enum member member, unsigned depth)
{
	if (depth > DEEP_MAX) {
		reach_cap(k->x, "levels in its input");
		return;
	}
	if (!spend(k->x, 2))
		return;
	if (v->type == JSON_STRING)
		walk_text(k, json_str(v), member, depth);
	else if (v->type == JSON_OBJECT)
		walk_object(k, v, depth);
	else if (all_strings(v) && may_run(k->e) && (member == MEMBER_COMMAND || member == MEMBER_ARGS))
		judge_words(k, v);
	else if (v->type == JSON_ARRAY)
		json_each(item, v)
			walk(k, item, member, depth + 1);
}

/* Where the call works: a directory among its members. */
static void go_to_place(struct call *k)
{
	struct run *x = k->x;

	if (!k->e->tool_input || k->e->tool_input->type != JSON_OBJECT)
		return;
	json_each(m, k->e->tool_input) {
		enum member member = member_of(m->key);

		if (m->type != JSON_STRING || !json_str(m).n)
			continue;
		if (member == MEMBER_PLACE && may_run(k->e))
			x->st.cwd = path_resolve(x, json_str(m));
		if (member == MEMBER_PLACE || str_in_nocase(m->key, "path root base"))
			k->base = json_str(m);
	}
}

static void ask_unread(struct run *x, const char *what)
{
	guard_add_finding(x, STR("hookd.unread"), VERDICT_ASK,
		arena_strf(x->a, "hookd cannot read %s, so a person should look at it", what));
}

/* Calls about a shell that runs already. */
static const char shell_errands[] = "BashOutput KillShell KillBash TaskOutput TaskStop";

/* Where a command or a file ought to be and is none, something was not understood. */
static void judge_nothing(struct call *k)
{
	const struct event *e = k->e;

	if (e->marks & EVENT_NOT_JSON)
		return; /* has been said */
	if (e->tool_class == TOOL_SHELL && !k->has_command && !str_in(e->tool_name, shell_errands))
		ask_unread(k->x, "the command of this call");
	else if (e->tool_class == TOOL_WRITE && !k->has_file)
		ask_unread(k->x, "which file this call would change");
	else if (k->malformed && may_run(e))
		ask_unread(k->x, "the input of this call");
}

/* The command that the agent's adapter found, with offsets that mean something. */
static void judge_main_command(struct call *k)
{
	str command = k->e->command;
	struct run *x = k->x;

	k->has_command = true;
	judge_whole(x, command);
	x->end = (uint32_t)MIN(command.n, UINT32_MAX);
	if (patch_is(command) && str_starts(str_trim(command), STR("***")))
		judge_patch(x, NULL, k->e, command);
	else
		(void)run_text(x, command);
	x->begin = x->end = 0;
}

/* Some agents hand the input over as a text with JSON in it; of a shell it may be the command itself. */
static void judge_text_input(struct call *k, str text)
{
	bool json = walk_inside(k, text, 0), looks_like = text.n && strchr("{[", str_trim(text).p[0]);

	if (json)
		return;
	if (k->e->tool_class == TOOL_SHELL && !looks_like)
		walk_text(k, text, MEMBER_COMMAND, 0);
	else if (!looks_like || patch_is(text))
		walk_text(k, text, MEMBER_ARGS, 0);
	k->malformed = looks_like;
}

void judge_tool_call(struct run *x, const struct event *e)
{
	struct call k = { .x = x, .e = e };
	str url = e->tool_input ? json_str(json_get(e->tool_input, STR("url"))) : STR_NONE;

	/* An address may be one of this machine's files. */
	if (e->tool_class == TOOL_WEB && str_starts(url, STR("file://")))
		judge_read(x, NULL, str_from(url, 7));
	if (e->tool_class == TOOL_WEB || e->tool_class == TOOL_AGENT)
		return;
	k.verb = verb_of_call(x, e);
	go_to_place(&k);
	if (may_run(e) && e->tool_class != TOOL_SHELL)
		judge_tool_words(x, e);
	if (e->command.n && may_run(e))
		judge_main_command(&k);
	else if (patch_is(e->command))
		walk_text(&k, e->command, MEMBER_PATCH, 0);
	if (e->file_path.n && e->tool_class != TOOL_SHELL)
		judge_path(&k, e->file_path);
	if (e->tool_input && e->tool_input->type == JSON_STRING)
		judge_text_input(&k, json_str(e->tool_input));
	else if (e->tool_input)
		walk(&k, e->tool_input, MEMBER_ARGS, 0);
	judge_nothing(&k);
}
