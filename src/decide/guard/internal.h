/* What the files of guard/ share. See docs/decisions/0010-guard.md for the idea: resolve, then
 * judge.
 *
 * A resolved word is a str in which a few control bytes stand for what is not known. They travel
 * through assignments, pipes, files and nested scripts like any other byte, so that "$(curl …)" is
 * still from the network when `bash -c` reads it. bash gives these bytes no meaning, and one that
 * stands in the command itself only makes the judgement stricter. */
#ifndef HOOKD_GUARD_INTERNAL_H
#define HOOKD_GUARD_INTERNAL_H

#include "base/arena.h"
#include "guard/guard.h"
#include "shell/shell.h"

enum mark {
	MARK_UNKNOWN = 1, /* any text, maybe none */
	MARK_STAR = 2,    /* a live * of a file name pattern */
	MARK_ANY = 3,     /* a live ? or [set] */
	MARK_NET = 4,     /* any text that came over the network */
	MARK_SECRET = 5,  /* any text that was read from a secret */
	MARK_NAMED = 6,   /* the value of a variable whose name says that it is a secret */
};

#define MARKS_HOLE "\1\4\5\6" /* any text */
#define MARKS_ANY "\1\2\3\4\5\6"

/* -- text (text.c) ---------------------------------------------------------------------------- */

/* Bytes that grow in an arena. */
struct text {
	struct arena *a;
	char *p;
	size_t n, cap;
};

/* Of one resolved text: as much as a command line may have; what is longer ends in MARK_UNKNOWN, and is a reached cap.
 * Making texts is paid for (spend()), so that a loop over long ones ends. */
enum { TEXT_MAX = 1 << 20, TEXT_PER_STEP = 16 };

void text_add(struct text *t, str s);
void text_char(struct text *t, char c);
/* Whether a text of this thread was cut since it was last asked. */
bool text_was_cut(void);
static inline str text_str(const struct text *t)
{
	return str_n(t->p ? t->p : "", t->n);
}

struct fields {
	str *v;
	size_t n, cap;
};

void fields_add(struct arena *a, struct fields *f, str s);

bool has_mark(str s, const char *marks); /* one of the bytes of marks */
bool str_in(str s, const char *words);   /* one of the words, separated by blanks */
bool str_in_nocase(str s, const char *words);
bool str_has(str s, const char *needle);
bool str_has_nocase(str s, const char *needle);
str str_base(str path); /* behind the last slash; a trailing one is left out first */
str str_lower(struct arena *a, str s);
/* Shell patterns with * ? and […]; live marks in s match whatever they could stand for. */
bool glob_match(str pattern, str s);
/* Whether a path, live patterns in it included, could be one that the pattern of paths stands for:
 * * within a part, a last ** for all that follows. */
bool path_like(const char *pattern, str path);
bool path_matches(str pattern, str path);
bool glob_any(str s, const char *patterns);  /* one of the patterns, separated by blanks */
str text_for_shell(struct arena *a, str s);  /* live patterns back to their characters, to be read again */
str text_for_people(struct arena *a, str s); /* shortened for people */
str text_readable(struct arena *a, str s);   /* all of it */
str fields_join(struct arena *a, const str *v, size_t n, char sep);

/* -- decoding (decode.c) ---------------------------------------------------------------------- */

bool decode_base64(struct arena *a, str s, str *ret);
bool decode_base32(struct arena *a, str s, str *ret);
bool decode_hex(struct arena *a, str s, str *ret);
str decode_backslashes(struct arena *a, str s, bool octal_needs_zero); /* as printf and echo -e do */
str decode_utf16(struct arena *a, str s);
str map_tr(struct arena *a, str s, str from, str to, bool delete);
str reverse_lines(struct arena *a, str s);

/* -- what is known while a command is read (state.c) ------------------------------------------ */

enum fact_kind {
	FACT_VAR,
	FACT_ARRAY,
	FACT_FUNCTION,
	FACT_ALIAS,
	FACT_FILE,
	FACT_LINK,
	FACT_GIT,
	FACT_SINK,
	FACT_REF,    /* declare -n: a name for another variable */
	FACT_PROGRAM /* a program under another name: copied, linked, hashed */
};

struct fact {
	struct fact *next; /* older */
	enum fact_kind kind;
	str key, value;
	const struct fields *items;    /* FACT_ARRAY */
	const struct shell_node *body; /* FACT_FUNCTION, FACT_SINK */
};

/* A directory of the host in a container. */
struct mount {
	const struct mount *next;
	str source, target;
};

/* What a subshell has a copy of. */
struct state {
	struct fact *facts;
	str cwd; /* absolute and normal; may hold marks */
	str oldcwd;
	str stays; /* where it would be if the last cd had failed, or STR_NONE */
	bool errexit;
	str arg0;
	struct fields args;
	bool args_given; /* false: the caller of this text decides what $1 is */
};

struct calling {
	const struct calling *up;
	const struct shell_node *body;
	const struct fields *args; /* what it was called with */
	unsigned forks;
};

struct run {
	struct arena *a;
	const struct guard_policy *policy;
	const struct guard_context *c;
	struct guard_report *report;
	struct state st;
	struct fact *fs; /* files, links and git settings that the command itself makes: no subshell
			    undoes them */
	str in;          /* what the current command reads; STR_NONE: nothing that came from the command
		   itself */
	str last_arg;
	str last_name;      /* of the program that ran last */
	unsigned depth;     /* of texts within texts and calls within calls */
	unsigned forks;     /* pipelines and backgrounds around */
	unsigned processes; /* numbers of process substitutions */
	const struct calling *calls;
	bool spent;                 /* a budget is used up: said once */
	bool doubt;                 /* what is read may be meant otherwise: asked about at most */
	bool maybe;                 /* the text may be no command at all */
	struct fields paths;        /* of the call itself, for the user's rules */
	bool unread;                /* something was not understood, or too much to be followed */
	str unread_in;              /* the file in which; STR_NONE: the text itself */
	bool blind;                 /* where a path leads could not be found out */
	bool wants_disk;            /* the disk must be asked and may not be: nothing that was found counts */
	bool remote;                /* on another host: paths are not ours */
	bool contained;             /* in a container that is thrown away */
	const struct mount *mounts; /* what it has of the host */
	bool elevated;              /* sudo and the like around */
	bool deferred;
	bool refs;                           /* there is a FACT_REF */
	bool logs_in;                        /* what comes next in the pipeline takes a secret and shows none */
	bool adds;                           /* a file is put into a directory, where it may be new */
	bool zsh;                            /* the text is read by zsh */
	const struct guard_watcher *watcher; /* or NULL */
	uint32_t begin, end;                 /* of the simple command in the outermost text */
	bool inner;                          /* in a text of which offsets mean nothing */
	str file;                            /* the script that is read for the watcher, or STR_NONE */
	const struct script_read *reading;   /* it and those that run it */
	str found_on_disk;                   /* the script that script_known() has found last, or STR_NONE */
	const struct script_read *on_disk;   /* the one that is being judged, and those that run it */
};

struct script_read {
	const struct script_read *up;
	str path;
};

enum { DEPTH_MAX = 40 };

/* A limit was reached and something was not read: a person should look. */
void reach_cap(struct run *x, const char *what);
bool spend(struct run *x, unsigned cost); /* false: no more; the caller gives up, and ask remains */

const struct fact *fact_find(struct run *x, const struct fact *list, enum fact_kind kind, str key);
void var_set(struct run *x, str name, str value);
void var_refer(struct run *x, str name, str to);
void array_set(struct run *x, str name, const struct fields *items);
str var_get(struct run *x, str name); /* STR_NONE: not known */
void fs_note(struct run *x, enum fact_kind kind, str key, str value);
str fs_content(struct run *x, str path); /* of a file, with marks for what is not known */
bool fs_known(struct run *x, str path, str *ret);
/* The same for a word; where the command has written nothing yet, no link needs to be followed to say so. */
bool fs_written(struct run *x, str word, str *ret);
/* The text of a script that is about to be run: the command wrote it, or it has changed since the session began. */
bool script_known(struct run *x, str word, str *ret);
bool script_known_at(struct run *x, str path, str *ret);
/* Around judging what was found: findings then name the script. Gives what is to be handed to script_leave(). */
const struct script_read *script_enter(struct run *x);
void script_leave(struct run *x, const struct script_read *before);

/* -- words (expand.c, param.c) ---------------------------------------------------------------- */

void expand_words(struct run *x, const struct shell_word *w, struct fields *out);
str expand_one(struct run *x, const struct shell_word *w);     /* as in an assignment: neither split nor a pattern */
str expand_pattern(struct run *x, const struct shell_word *w); /* the same, quoted pattern characters escaped */
str expand_param(struct run *x, const struct shell_part *p, bool *ret_list, struct fields *ret_items);
int64_t arith_value(struct run *x, str text, bool *ret_known);

struct cmd;

/* -- what the shell expands a second time (again.c) --------------------------------------------- */

void run_again(struct run *x, str text);                    /* commands in it run */
void run_assigned(struct run *x, str name, str value);      /* to a variable */
void run_computed(struct run *x, str text);                 /* in arithmetic */
void run_named(struct run *x, const struct cmd *c);         /* as a name that a builtin takes */
void run_tested(struct run *x, const struct fields *words); /* between [[ and ]] */
bool is_called_by_shell(str function);

/* -- running (run.c) -------------------------------------------------------------------------- */

/* A simple command with everything resolved. */
struct cmd {
	str *v;
	size_t n;
	str name;               /* v[0] without directories, ".exe" and the like */
	str in;                 /* STR_NONE: nothing from the command itself */
	str out;                /* what it prints */
	const struct fact *env; /* assignments before it, newest first, up to env_end */
	const struct fact *env_end;
	bool net_out, net_in; /* joined to the network by redirection */
	bool bare_builtin;
	bool from_outside; /* v[0] is "$NAME", which nothing here has set: the agent's environment has it, or nobody */
	unsigned number;   /* in the report, from 1 */
};

str run_node(struct run *x, const struct shell_node *n);
str run_cmd(struct run *x, struct cmd *c);                   /* after functions and aliases; what it prints */
str run_script(struct run *x, str text, str file);           /* the same of a file, whose offsets are its own */
str run_text(struct run *x, str text);                       /* a script in the current shell; what it prints */
str run_child_text(struct run *x, str text, str in);         /* the same in a shell of its own */
str run_argv(struct run *x, str *v, size_t n, str in);       /* a resolved command */
str run_code(struct run *x, str language, str code, str in); /* an interpreter's program */
void run_tcl(struct run *x, const struct cmd *c, str code);
void run_lisp(struct run *x, const struct cmd *c, str code);
str cmd_env(const struct cmd *c, str name);
str cmd_text(struct run *x, const struct cmd *c);       /* for people: its first words */
str cmd_whole_text(struct run *x, const struct cmd *c); /* for patterns */

/* -- for others to look at (watch.c) ----------------------------------------------------------- */

void watch_word(struct run *x, const struct shell_word *w, const struct fields *got, size_t index);
void watch_command(struct run *x, const struct cmd *c);
/* Reads on in the script at path if the watcher knows it; it has the arguments behind c->v[at]. */
bool watch_script(struct run *x, struct cmd *c, str path, size_t at, enum guard_start how);

/* -- options (args.c) ------------------------------------------------------------------------- */

/* Walks the arguments as getopt does, with what takes a value given as a list. */
struct args {
	const struct cmd *c;
	size_t i;
	const char *shorts; /* letters that take a value */
	const char *longs;  /* names that take a separate value, separated by blanks */
	bool posix;         /* the first operand ends the options */
	bool single;        /* long names with one dash: find, terraform, java */
	size_t in_bundle;
	bool no_more;
};

struct arg {
	bool operand;
	char letter;
	str name;  /* of a long option, without dashes */
	str value; /* or STR_NONE; of an operand the word */
	size_t at;
};

bool args_next(struct args *it, struct arg *ret);
bool arg_is(const struct arg *a, char letter, const char *longs); /* longs: names; abbreviations count */
bool cmd_has(const struct cmd *c, const char *option); /* "-f", "--force", "-force"; bundles and abbreviations count */
str cmd_value(const struct cmd *c, const char *shorts, char letter, const char *name);

/* -- paths (path.c, places.c) ----------------------------------------------------------------- */

str path_resolve(struct run *x, str word); /* absolute, without . and .., links followed; may begin with a mark */
str path_join(struct run *x, str dir, str word);
bool path_below(str path, str dir);      /* dir itself counts */
bool is_inside(struct run *x, str path); /* of a container, and not of the host */
bool path_is_dynamic(str path);          /* what it names depends on something unknown at its front */

/* Whether something is there already. Unknown: not even its directory is, or the disk is not asked. */
enum presence { PRESENCE_UNKNOWN, PRESENCE_THERE, PRESENCE_NOT };
enum presence path_presence(struct run *x, str path);

enum place {
	PLACE_UNKNOWN,
	PLACE_ROOT,      /* / or everything in it */
	PLACE_SYSTEM,    /* a directory at the top or one the system lives in */
	PLACE_SYSTEM_IN, /* below one */
	PLACE_HOMES,     /* a home, or what holds homes */
	PLACE_ABOVE,     /* holds the project */
	PLACE_PROJECT,   /* the project's root or all of it */
	PLACE_GIT,       /* its .git */
	PLACE_IN_PROJECT,
	PLACE_IN_HOME,
	PLACE_TEMP,
	PLACE_MADE,   /* build output and caches, anywhere but at a place above */
	PLACE_DEVICE, /* a disk */
	PLACE_NULL,   /* /dev/null and the like */
	PLACE_ELSEWHERE,
};

enum place place_of(struct run *x, str path);

bool is_like_output(str name); /* build, out, target: what a project's build makes */

enum secrecy { SECRET_NOT, SECRET_PROJECT, SECRET_ENVIRON, SECRET_KEY };
enum secrecy secrecy_of(struct run *x, str path);
bool is_protected(struct run *x, str path, bool *ret_shared); /* hookd's own; shared: also holds other settings */

enum guarded {
	GUARDED_NOT,
	GUARDED_STARTUP,
	GUARDED_PERSIST,
	GUARDED_AUTH,
	GUARDED_SUDOERS,
	GUARDED_SYSTEM,
	GUARDED_GITHOOK,
	GUARDED_AGENT
};
enum guarded guarded_of(struct run *x, str path);

/* -- one event in two steps (guard.c) ----------------------------------------------------------- */

/* -EAGAIN: the context's real_path may not ask the disk now, and the report is not to be used. */
int guard_judge(const struct guard_policy *policy, const struct guard_context *c, const struct event *e,
	struct arena *a, struct guard_report *report);
void guard_apply(const struct guard_report *report, const struct event *e, struct arena *a, struct verdict *v);

/* -- calls of tools (call.c) ------------------------------------------------------------------- */

/* The words that prove a denial arrives: harmless in any shell, and nobody types them by chance. */
#define SELFTEST_WORDS "hookd-selftest-deny"

void judge_tool_call(struct run *x, const struct event *e);
/* What the name of a tool and its input say, as a command that a descriptor knows (call_words.c). */
void judge_tool_words(struct run *x, const struct event *e);
/* What can be said of a command line before it is read. */
void judge_whole(struct run *x, str command);
/* c: the program that applies it, or NULL; e: the tool, or NULL. */
void judge_patch(struct run *x, const struct cmd *c, const struct event *e, str text);

/* -- judging (judge.c) ------------------------------------------------------------------------ */

enum rule {
	RULE_SELFTEST,
	RULE_CUT,
	RULE_UNREAD,
	RULE_BUDGET,
	RULE_CAP,
	RULE_CRASHED,
	RULE_EXEC_DYNAMIC,
	RULE_EXEC_OBFUSCATED,
	RULE_EXEC_UNPARSED,
	RULE_RM_ROOT,
	RULE_RM_HOME,
	RULE_RM_OUTSIDE,
	RULE_RM_PROJECT,
	RULE_RM_DYNAMIC,
	RULE_CHMOD,
	RULE_CHOWN,
	RULE_MV,
	RULE_REDIRECT,
	RULE_PERSIST,
	RULE_SHRED,
	RULE_TRUNCATE,
	RULE_DD,
	RULE_MKFS,
	RULE_PARTITION,
	RULE_GIT_RESET,
	RULE_GIT_CLEAN,
	RULE_GIT_DISCARD,
	RULE_GIT_PUSH,
	RULE_GIT_BRANCH,
	RULE_GIT_STASH,
	RULE_GIT_HISTORY,
	RULE_GIT_WORKTREE,
	RULE_GIT_NOVERIFY,
	RULE_GIT_CONFIG,
	RULE_NET_EXEC,
	RULE_NET_SHELL,
	RULE_SECRET_READ,
	RULE_SECRET_ENV,
	RULE_SECRET_EXFIL,
	RULE_DB,
	RULE_CLOUD,
	RULE_IAM,
	RULE_K8S,
	RULE_IAC,
	RULE_DOCKER_PRUNE,
	RULE_DOCKER_ESCAPE,
	RULE_PKG_PUBLISH,
	RULE_PKG_REMOVE,
	RULE_FORKBOMB,
	RULE_DISKFILL,
	RULE_POWER,
	RULE_KILL,
	RULE_CRON,
	RULE_SERVICE,
	RULE_FIREWALL,
	RULE_USER,
	RULE_KERNEL,
	RULE_SUDOERS,
	RULE_SETUID,
	RULE_AGENT,
	RULE_SELF,
	RULE_MAX,
};

void find_fault(struct run *x, const struct cmd *c, enum rule rule, enum verdict_action action, str reason);
/* A finding about the call as a whole, in words of its own. */
void guard_add_finding(struct run *x, str rule, enum verdict_action action, str reason);
/* Adds a copy, with the position of the run and whether the policy only observes. */
void add_finding(struct run *x, const struct cmd *c, const struct guard_finding *f);
#define FAULT(x, c, rule, action, ...) find_fault((x), (c), (rule), (action), arena_strf((x)->a, __VA_ARGS__))

void judge_delete(struct run *x, const struct cmd *c, str word, bool recursive);
void judge_write(struct run *x, const struct cmd *c, str word, str content, bool append);
void judge_read(struct run *x, const struct cmd *c, str word);
bool is_file_name(str path); /* of one file: package-lock.json is no directory */
/* loss.c */
bool is_personal(struct run *x, str path, bool *ret_whole);
enum verdict_action loss_of_files(struct run *x, str path);
void judge_overwriting(struct run *x, const struct cmd *c, str path, str content);
void judge_edit(struct run *x, const struct cmd *c, str word); /* in place */
void judge_moving(struct run *x, const struct cmd *c, str source, str target);
void judge_send(struct run *x, struct cmd *c, str file); /* pack_net.c */
void judge_sql(struct run *x, const struct cmd *c, str sql);
bool is_scratch_database(struct run *x, const struct cmd *c, str statement); /* pack_db.c */
void judge_by_name(struct run *x, struct cmd *c);                            /* everything that knows the program */
void judge_user_programs(struct run *x, struct cmd *c);
bool user_knows(struct run *x, str name);
void judge_unfamiliar(struct run *x, struct cmd *c); /* unfamiliar.c */
void judge_start_vars(struct run *x, const struct cmd *c);
void judge_git_hooks(struct run *x, const struct cmd *sub);
void judge_exported(struct run *x, const struct cmd *c, str name, str value);
bool program_on_path(struct run *x, str name, str *ret_path, str *ret_text);
void judge_operands(struct run *x, struct cmd *c);
void judge_own_vars(struct run *x, const struct cmd *c); /* own.c, as are the next three */
void judge_own_places(struct run *x, const struct cmd *c);
void judge_own_assignment(struct run *x, str name);
void judge_own_code(struct run *x, const struct cmd *c, str code);
bool is_owner_token(struct run *x, str path);
void judge_user_rules(struct run *x, const struct cmd *c);
void lower_findings(struct guard_report *r);
void judge_user_tool(struct run *x, const struct event *e);

/* -- packs ------------------------------------------------------------------------------------ */

/* What no descriptor (data/programs) can say of a program, by the name that descriptors call it by: everything a
 * handler learns goes into findings, the run's state and c->out. */
struct handler {
	const char *name; /* NULL ends */
	void (*judge)(struct run *x, struct cmd *c);
};

/* A pattern of words: see rows.c for the language. */
bool row_matches(const struct cmd *c, const char *pattern);

extern const struct handler pack_shell[], pack_wrap[], pack_files[], pack_disk[], pack_git[], pack_net[],
	pack_secrets[], pack_db[], pack_system[], pack_self[], pack_code[], pack_container[], pack_windows[],
	pack_remote[], pack_recipes[];
str output_of(struct run *x, const struct cmd *c);

#endif
