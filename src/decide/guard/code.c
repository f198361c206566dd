/* code: programs given to interpreters on the command line or through a pipe. They are not parsed
 * as Python or Perl; their strings, names and calls are enough to see commands that they start and
 * files that they change. */
#include "guard/code.h"

/* -- calls ------------------------------------------------------------------------------------ */

static const char command_calls[] =
	"system popen execSync spawn spawnSync execFile execFileSync run call check_call "
	"check_output Popen getoutput getstatusoutput shell_exec "
	"passthru proc_open pcntl_exec execute execvp execvpe execl execlp execle execv execve "
	"spawnl spawnlp spawnv spawnvp posix_spawn exec capture2 capture3 capture2e popen2 popen3 "
	"create_subprocess_shell create_subprocess_exec syscmd esyscmd execa execaSync cmd shell "
	"doShellScript command callCommand readProcess Process Command";
static const char tree_calls[] =
	"rmtree rmSync remove_tree rm_rf rm_r remove_entry_secure remove_entry rimraf removeSync "
	"emptyDirSync RemoveAll removeAll rm rmdirSync remove_dir_all "
	"rm_tree delete_tree removedirs rimrafSync emptyDir removeItem deleteDir deleteRecursively "
	"deleteDirectory removeDirectoryRecursive removePathForcibly del_dir_r rmdir_r remove_all "
	"rm_rf_secure removeSync deltree";
static const char file_calls[] = "unlink unlinkSync remove delete rmdir Deno.remove truncate truncateSync";
static const char write_calls[] =
	"writeFileSync writeFile appendFileSync appendFile file_put_contents createWriteStream "
	"outputFileSync write_text write_bytes writeTextFile "
	"writeTextFileSync outputJsonSync outputJson";
static const char read_calls[] =
	"readFileSync readFile file_get_contents read_text read_bytes readlines slurp readTextFile "
	"createReadStream foreach IO.read File.read read";
static const char move_calls[] =
	"rename renameSync replace move copy copyfile copy2 copyFileSync copyFile copytree cpSync "
	"symlink symlinkSync link linkSync cp mv ln_s ln_sf copySync moveSync";
static const char print_calls[] = "print log puts p pp echo var_dump dumps stringify print_r dump "
				  "write pprint printf say inspect";
static const char code_calls[] = "eval exec Function compile assert instance_eval class_eval runInNewContext "
				 "runInThisContext loadstring load dofile execfile execScript";
static const char send_calls[] = "post put request sendall send urlopen urlencode Request fetch sendto write";

static const char walk_calls[] =
	"walk glob iglob rglob finddepth find scandir listdir iterdir readdir readdirSync opendir "
	"list_files walkdir each_child children globSync fwalk";
static const char sql_calls[] = "execute executemany executescript query exec raw run prepare do "
				"execute_batch exec_query unsafe executeRawUnsafe queryRawUnsafe "
				"executeQuery executeUpdate mysqli_query pg_query sql statement";
/* Of an object mapper; without a condition before them they mean every row. */
static const char every_row[] = "delete_all destroy_all drop_table drop_database dropDatabase drop_all "
				"drop_collection truncate_table drop_tables dropTables dropAllTables";

static bool is_sql(str s)
{
	str word;

	s = str_trim(s);
	return str_split(&s, ' ', &word) && s.n &&
		str_in_nocase(word,
			"drop delete truncate update alter with select insert create pragma "
			"replace explain show begin grant revoke analyze merge copy");
}

static void run_command_args(struct code *k, const str *args, size_t n)
{
	struct fields f = { 0 };

	if (!n || !args[0].n)
		return;
	if (has_mark(args[0], "\4")) {
		FAULT(k->x, k->c, RULE_NET_EXEC, VERDICT_DENY, "this runs what comes from the network as a command");
		return;
	}
	if (str_find_char(args[0], ' ') >= 0 || n == 1) {
		if (!str_eq(args[0], STR("\1")))
			(void)run_child_text(k->x, args[0], STR_NONE);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (args[i].n && !(i == 1 && str_eq(args[0], args[1]))) /* execlp repeats the name */
			fields_add(k->x->a, &f, args[i]);
	(void)run_argv(k->x, f.v, f.n, STR_NONE);
}

/* A call that cannot be anything but the start of a process. */
static bool starts_process(const struct code *k, size_t at, str name)
{
	static const char always[] =
		"Popen popen check_output check_call system execSync spawnSync execFile execFileSync spawn getoutput "
		"getstatusoutput shell_exec passthru proc_open pcntl_exec execvp execvpe execl execlp execle execv "
		"execve spawnl spawnlp spawnv spawnvp posix_spawn create_subprocess_shell create_subprocess_exec "
		"capture2 capture3 capture2e popen2 popen3 execa execaSync fork";

	if (str_in(name, "run call exec"))
		return at > 1 && code_mark(k, at - 1, '.') && code_name(k, at - 2, "subprocess sp child_process cp");
	return str_in(name, always) && !(str_eq(name, STR("fork")) && !str_in(k->language, "node"));
}

/* For a watcher: what runs is only known when it runs. */
static void watch_unknown(struct code *k, size_t at, str name, str first)
{
	str unknown = STR("\1");

	if (k->x->watcher && starts_process(k, at, name) && (!first.n || has_mark(str_head(first, 1), MARKS_HOLE)))
		(void)run_argv(k->x, &unknown, 1, STR_NONE);
}

static bool mode_writes(str mode)
{
	return mode.n && mode.n < 5 &&
		(str_find_char(mode, 'w') >= 0 || str_find_char(mode, 'a') >= 0 || str_find_char(mode, 'x') >= 0 ||
			str_find_char(mode, '+') >= 0 || str_find_char(mode, '>') >= 0);
}

static void judge_open(struct code *k, const str *args, size_t n)
{
	for (size_t i = 0; i < n; i++) /* open(path, 'w') and open(F, '>', path) and open(F, ">path") */
		if (mode_writes(args[i]) || (i == 1 && args[i].n && args[i].p[0] == '>')) {
			str path = i + 1 < n && str_in(args[i], "> >> +<") ? args[i + 1]
				: i == 1 && args[i].p[0] == '>'            ? str_trim(str_from(args[i], 1))
									   : args[0];

			judge_write(k->x, k->c, path, STR("\1"), false);
			return;
		}
	for (size_t i = 0; i < n; i++)
		if (args[i].n > 3)
			judge_read(k->x, k->c, args[i]);
}

/* Path.home() / ".x" / "y": the parts in front of the last one. */
static str joined_before(const struct code *k, size_t i, str last)
{
	str before = STR_NONE;

	if (i < 2 || !code_mark(k, i - 1, '/'))
		return last;
	if (k->t[i - 2].kind == TOKEN_STRING)
		before = joined_before(k, i - 2, k->t[i - 2].text);
	else if (k->t[i - 2].kind == TOKEN_NAME)
		before = code_lookup(k, k->t[i - 2].text);
	else if (i > 4 && code_mark(k, i - 2, ')') && code_name(k, i - 4, "home"))
		before = k->x->c->home;
	return str_is_set(before) ? path_join(k->x, before, last) : last;
}

static str string_before(const struct code *k, size_t i)
{
	while (i > 0 && k->t[i - 1].kind != TOKEN_LINE) {
		i--;
		if (k->t[i].kind == TOKEN_STRING)
			return joined_before(k, i, k->t[i].text);
		if (k->t[i].kind == TOKEN_NAME && str_is_set(code_lookup(k, k->t[i].text)))
			return code_lookup(k, k->t[i].text);
		if (code_name(k, i, "home homedir"))
			return k->x->c->home;
	}
	return STR("");
}

/* A place that others depend on: moving it away is as good as deleting it. */
static bool is_held(struct code *k, str path)
{
	enum place p = path.n ? place_of(k->x, path_resolve(k->x, path)) : PLACE_UNKNOWN;

	return p == PLACE_ROOT || p == PLACE_SYSTEM || p == PLACE_HOMES || p == PLACE_ABOVE || p == PLACE_PROJECT ||
		p == PLACE_GIT;
}

/* Drivers and object mappers of databases. True: the call is theirs. */
static bool judge_db_call(struct code *k, size_t at, str name, str first, bool method)
{
	if (str_in(name, sql_calls) && is_sql(first)) {
		if (!str_has(k->all, ":memory:"))
			judge_sql(k->x, k->c, first);
		return true;
	}
	if (str_in(name, "flushall flushdb flushAll flushDb drop_database dropDatabase"))
		FAULT(k->x, k->c, RULE_DB, VERDICT_DENY, "this empties a database");
	if (str_in(name, "delete") && method && at > 3 && code_name(k, at - 4, "all") && !first.n)
		FAULT(k->x, k->c, RULE_DB, VERDICT_DENY, "this deletes every row of a table");
	return false;
}

/* The first directory that it goes through. */
static void note_walk(struct code *k, size_t at, str name, const str *args, size_t n)
{
	str before = at > 1 && code_mark(k, at - 1, '.') ? string_before(k, at - 1) : STR("");

	if (str_in(name, "rglob glob iterdir") && !k->walked.n && before.n)
		k->walked = path_join(k->x, path_join(k->x, k->x->st.cwd, before), args[0].n ? args[0] : STR("*"));
	for (size_t i = 0; i < n && str_in(name, walk_calls) && !k->walked.n; i++)
		k->walked = args[i];
}

static void judge_call(struct code *k, size_t at, str name, const str *args, size_t n)
{
	bool js = str_in(k->language, "node deno bun"), method = at > 0 && code_mark(k, at - 1, '.');
	str first = args[0].n ? args[0] : STR("");

	if (k->args_cut)
		reach_cap(k->x, "arguments of a call");
	watch_unknown(k, at, name, first);
	if (judge_db_call(k, at, name, first, method))
		return;
	if (str_in(name, "array_map call_user_func call_user_func_array array_walk") && n > 1 &&
		(str_in(first, command_calls) || str_in(first, tree_calls) || str_in(first, file_calls))) {
		judge_call(k, at, first, args + 1, n - 1);
		return;
	}
	note_walk(k, at, name, args, n);
	if (str_in(name, code_calls) && !(js && str_eq(name, STR("exec"))) &&
		!(str_in(k->language, "perl ruby php") && str_eq(name, STR("exec")))) {
		if (has_mark(first, "\4"))
			FAULT(k->x, k->c, RULE_NET_EXEC, VERDICT_DENY, "this runs code that comes from the network");
		else if (first.n && !str_eq(first, STR("\1")) && k->depth < 6)
			(void)run_code(k->x, k->language, first, STR_NONE);
	} else if (str_eq(name, STR("execute")) && method && !first.n) { /* "…".execute() of Groovy */
		(void)run_child_text(k->x, string_before(k, at), STR_NONE);
	} else if (str_in(name, command_calls) && !(method && str_in(name, "call run") && js)) {
		run_command_args(k, args, n);
	} else if (str_in(name, tree_calls) &&
		!(str_eq(name, STR("rm")) && !js && !str_in(k->language, "ruby julia"))) {
		str path = first.n ? first : method ? string_before(k, at) : STR("\1");

		k->loose |= !first.n;
		k->tree |= !first.n;
		judge_delete(k->x, k->c, map_tr(k->x->a, path, STR("*"), STR("\2"), false), true);
	} else if (str_in(name, file_calls)) {
		str path = first.n ? first : method ? string_before(k, at) : STR("");

		k->loose |= !first.n || str_ends(first, STR("/"));
		if (str_find_char(path, '/') >= 0 || str_starts(path, STR(".")))
			judge_delete(k->x, k->c, map_tr(k->x->a, path, STR("*"), STR("\2"), false),
				n > 1 && (str_has(k->all, "recursive") || str_has(k->all, "true")));
	} else if (str_in(name, write_calls) ||
		(str_eq(name, STR("write")) && method && at > 1 && code_name(k, at - 2, "File IO"))) {
		str path = method && str_in(name, "write_text write_bytes") ? string_before(k, at) : first;

		if (path.n)
			judge_write(k->x, k->c, path, STR("\1"), false);
	} else if (str_in(name, "open sysopen fopen openSync")) {
		judge_open(k, args, n);
	} else if (str_in(name, move_calls) && n > 1 && args[1].n &&
		(str_find_char(args[1], '/') >= 0 || args[1].p[0] == '.')) {
		bool shared;

		judge_write(k->x, k->c, args[1], STR("\1"), false);
		if (str_in(name, "rename renameSync move mv moveSync") &&
			(is_protected(k->x, path_resolve(k->x, first), &shared) || is_held(k, first)))
			judge_delete(k->x, k->c, first, true);
	} else if (str_in(name, read_calls)) {
		str path = first.n ? first : method ? string_before(k, at) : STR("");

		if (path.n && str_find_char(path, ' ') < 0)
			judge_read(k->x, k->c, path);
	} else if (str_in(name, "chmod chmodSync chown") && n > 1) {
		bool shared;

		if (is_protected(k->x, path_resolve(k->x, first), &shared))
			judge_write(k->x, k->c, first, STR("\1"), false);
	} else if (str_in(name, "urlretrieve getstore download") && n > 1 && args[1].n) {
		judge_write(k->x, k->c, args[1], STR("\4"), false);
	} else if (str_in(name, "kill killpg posix_kill") && code_mark(k, at + 2, '-') && at + 3 < k->n &&
		str_eq(k->t[at + 3].text, STR("1"))) {
		FAULT(k->x, k->c, RULE_KILL, VERDICT_DENY, "this ends every process of the user");
	}
	if (str_in(name, send_calls) && str_in(name, "post put request urlopen sendall send fetch"))
		for (size_t i = 0; i < n; i++)
			if (has_mark(args[i], "\5"))
				FAULT(k->x, k->c, RULE_SECRET_EXFIL, VERDICT_DENY,
					"this sends secrets to another machine");
	if (str_in(name, print_calls))
		for (size_t i = 0; i < n; i++)
			if (has_mark(args[i], "\5"))
				FAULT(k->x, k->c, RULE_SECRET_ENV, VERDICT_ASK,
					"this prints the environment or other secrets");
}

/* name = value, up to the end of the line. */
static void take_assignment(struct code *k, size_t i)
{
	str args[ARGS_MANY];
	size_t n;

	struct var *var;

	if (code_mark(k, i + 2, '=') || (i > 0 && code_mark(k, i - 1, '.')))
		return;
	(void)code_args(k, i + 2, true, args, &n);
	var = arena_new(k->x->a, struct var);
	*var = (struct var){ .older = k->vars, .name = k->t[i].text, .value = args[0] };
	k->vars = var;
}

/* It deletes what it is told: by its input or its arguments. */
static void delete_lines(struct code *k)
{
	str in = k->in, line;

	while (in.n && str_split(&in, str_find_char(in, 0) >= 0 ? 0 : '\n', &line) && spend(k->x, 4))
		if (line.n)
			judge_delete(k->x, k->c, line, k->tree);
}

static void walk(struct code *k)
{
	bool words = str_in(k->language,
		"perl ruby php osascript lua ocaml ghc raku crystal gnuplot "
		"nim elixir");

	for (size_t i = 0; i < k->n && spend(k->x, 2); i++) {
		str args[ARGS_MANY];
		size_t n = 0;

		if (k->t[i].kind == TOKEN_COMMAND) {
			(void)run_child_text(k->x, k->t[i].text, STR_NONE);
			continue;
		}
		if (k->t[i].kind != TOKEN_NAME)
			continue;
		if (code_mark(k, i + 1, '=')) {
			take_assignment(k, i);
			continue;
		}
		if (str_in(k->t[i].text, every_row) && i > 0 && code_mark(k, i - 1, '.') &&
			!code_has(k, "where filter filter_by find_by limit"))
			FAULT(k->x, k->c, RULE_DB, VERDICT_DENY, "this deletes every row of a table");
		if (code_mark(k, i + 1, '(') || (code_mark(k, i + 1, '!') && code_mark(k, i + 2, '('))) {
			(void)code_args(k, i + (code_mark(k, i + 1, '(') ? 2 : 3), false, args, &n);
			judge_call(k, i, k->t[i].text, args, n);
			/* getattr(os, 'system')('…') */
			if (str_in(k->t[i].text, "getattr __getattribute__") && n > 1) {
				size_t end = code_args(k, i + 2, false, args, &n);
				str name = args[n - 1];

				if (code_mark(k, end + 1, '(')) {
					(void)code_args(k, end + 2, false, args, &n);
					judge_call(k, i, name, args, n);
				}
			}
		} else if (words && i + 1 < k->n &&
			(k->t[i + 1].kind == TOKEN_STRING || k->t[i + 1].kind == TOKEN_NAME ||
				code_mark(k, i + 1, '$') || code_mark(k, i + 1, '%') || code_mark(k, i + 1, '@') ||
				code_mark(k, i + 1, '[')) &&
			(str_in(k->t[i].text, command_calls) || str_in(k->t[i].text, tree_calls) ||
				str_in(k->t[i].text,
					"unlink eval print puts p open script rmdir "
					"rename move"))) {
			(void)code_args(k, i + 1, true, args, &n);
			if (str_eq(k->t[i].text, STR("script")))
				run_command_args(k, args, 1);
			else
				judge_call(k, i, k->t[i].text, args, n);
		} else if (code_name(k, i, "unlink rmdir") && !code_mark(k, i + 1, '.')) {
			k->loose = true; /* finddepth(sub { unlink }, …) */
		}
	}
	if (k->loose && !k->walked.n)
		delete_lines(k);
	if (k->loose && k->walked.n && (str_find_char(k->walked, '/') >= 0 || strchr(".~", k->walked.p[0]))) {
		bool some =
			str_find_char(str_base(k->walked), '.') >= 0 && str_find_char(str_base(k->walked), '*') >= 0;

		judge_delete(k->x, k->c,
			some ? map_tr(k->x->a, k->walked, STR("*"), STR("\2"), false)
			     : map_tr(k->x->a, arena_strf(k->x->a, STR_FMT "/*", STR_ARG(k->walked)), STR("*"),
				       STR("\2"), false),
			!some);
	}
}

/* print "…" | "sh": what is printed is what the command reads. */
static str printed_before(const struct code *k, size_t i)
{
	struct text t = { .a = k->x->a };
	size_t from = i;

	if (!i || !code_mark(k, i - 1, '|'))
		return STR_NONE;
	while (from > 0 && k->t[from - 1].kind != TOKEN_LINE && !code_mark(k, from - 1, '{') &&
		!code_name(k, from, "print printf"))
		from--;
	for (; from < i; from++)
		if (k->t[from].kind == TOKEN_STRING)
			text_add(&t, k->t[from].text);
		else if (code_mark(k, from, '$'))
			text_char(&t, MARK_UNKNOWN);
	return t.n ? text_str(&t) : STR_NONE;
}

/* awk: a string beside a pipe is a command, one behind > a file. */
static void walk_awk(struct code *k)
{
	for (size_t i = 0; i < k->n; i++) {
		bool piped = (i > 0 && code_mark(k, i - 1, '|')) ||
			(code_mark(k, i + 1, '|') && code_name(k, i + 2, "getline"));

		if (k->t[i].kind == TOKEN_STRING && piped)
			(void)run_child_text(k->x, k->t[i].text, printed_before(k, i));
		else if (k->t[i].kind == TOKEN_NAME && piped && str_is_set(code_lookup(k, k->t[i].text)))
			(void)run_child_text(k->x, code_lookup(k, k->t[i].text), printed_before(k, i));
		else if (k->t[i].kind == TOKEN_STRING && i > 0 && code_mark(k, i - 1, '>'))
			judge_write(k->x, k->c, k->t[i].text, STR("\1"), false);
		else if (k->t[i].kind == TOKEN_STRING && i > 0 && code_mark(k, i - 1, '<'))
			judge_read(k->x, k->c, k->t[i].text);
		else if (code_name(k, i, "ENVIRON") && !code_mark(k, i + 1, '['))
			FAULT(k->x, k->c, RULE_SECRET_ENV, VERDICT_ASK,
				"this prints the environment, secrets included");
	}
}

static void judge_shape(struct code *k)
{
	bool socket = code_has(k,
		"socket Socket TCPSocket fsockopen net IO_Socket INET create_connection "
		"make_socket socketConnection gen_tcp stream_socket_client TCPClient");
	bool shell = code_has(k,
		"dup2 pty exec spawn system popen child_process subprocess "
		"proc_open shell_exec execve passthru execl execute cmd");

	socket |= str_eq(k->language, STR("lua")) && str_has(k->all, "socket");
	if (socket && shell &&
		(str_has(k->all, "/bin/sh") || str_has(k->all, "/bin/bash") || str_has(k->all, "dup2") ||
			str_has(k->all, "cmd.exe") || code_has(k, "pty fdopen reopen") ||
			(str_has(k->all, "while<") && code_has(k, "system exec")) ||
			(code_has(k, "TCPSocket fsockopen") && shell)))
		FAULT(k->x, k->c, RULE_NET_SHELL, VERDICT_DENY, "this connects a shell to another machine");
	if ((str_has(k->all, "http://") || str_has(k->all, "https://") ||
		    code_has(k, "fetch urlopen requests httpx axios curl_exec LWP getstore HTTParty open_uri")) &&
		(code_has(k, "eval Function runInThisContext runInNewContext") ||
			(str_eq(k->language, STR("python")) && code_has(k, "exec"))))
		FAULT(k->x, k->c, RULE_NET_EXEC, VERDICT_DENY, "this runs code that comes from the network");
	if (code_has(k, "fork") && code_has(k, "while loop until for") && !code_has(k, "wait waitpid"))
		FAULT(k->x, k->c, RULE_FORKBOMB, VERDICT_DENY,
			"this starts itself again and again until the machine stops");
}

str run_code(struct run *x, str language, str code, str in)
{
	struct code *k;
	struct cmd *c;

	if (x->depth >= DEPTH_MAX || !spend(x, 4 + (unsigned)(code.n / 32))) {
		(void)spend(x, UINT32_MAX);
		return STR("\1");
	}
	if (has_mark(code, "\4") && code.n < 4) {
		FAULT(x, NULL, RULE_NET_EXEC, VERDICT_DENY, "this runs code that comes from the network");
		return STR("\1");
	}
	if (str_eq(str_trim(code), STR("\1"))) {
		FAULT(x, NULL, RULE_EXEC_DYNAMIC, VERDICT_ASK,
			"hookd cannot tell what this runs: the code is only known when it runs");
		return STR("\1");
	}
	if (glob_any(language, "python* pypy*"))
		language = STR("python");
	else if (str_in(language, "nodejs tsx ts-node"))
		language = STR("node");
	c = arena_new(x->a, struct cmd);
	*c = (struct cmd){ .v = arena_alloc(x->a, 2 * sizeof(str)), .n = 2, .name = language };
	c->v[0] = language;
	c->v[1] = str_head(code, 200);
	judge_own_code(x, c, code);
	k = arena_new(x->a, struct code);
	*k = (struct code){ .x = x,
		.c = c,
		.language = language,
		.all = code,
		.in = str_is_set(in) ? in : STR(""),
		.max = MIN(code.n + 1, (size_t)(x->watcher ? TOKENS_OF_FILE : TOKENS_MAX)) };
	k->t = arena_alloc(x->a, k->max * sizeof *k->t);
	if (str_in(language, "tcl")) {
		run_tcl(x, c, code);
		return STR("\1");
	}
	if (str_in(language, "lisp")) {
		run_lisp(x, c, code);
		return STR("\1");
	}
	x->depth++;
	code_tokens(k, code);
	judge_shape(k);
	if (k->n >= k->max)
		(void)spend(x, UINT32_MAX);
	walk(k);
	if (str_eq(language, STR("awk")))
		walk_awk(k);
	x->depth--;
	return STR("\1");
}
