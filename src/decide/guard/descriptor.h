/* descriptor: what is known of one program, as data. For guard/ only.
 *
 * data/programs/ has a file for each program, or for several that are used alike; docs/guard.md says how to write one.
 * The files are compiled in as text. A descriptor is read when its program is first met, kept, and never changed: any
 * number of threads may use it.
 *
 *   describe.c   the text of a descriptor → struct descriptor, with the place of each mistake
 *   programs.c   which descriptor knows a program, by its name; and the handlers
 *   perform.c    what a command does according to its descriptor: runs, reads, writes, deletes, sends
 *
 * What no descriptor can say (interpreters, git, find, shells) is a handler in C, which descriptors name: "read_by". */
#ifndef HOOKD_GUARD_DESCRIPTOR_H
#define HOOKD_GUARD_DESCRIPTOR_H

#include "guard/internal.h"
#include "json/json.h"

enum {
	DESCRIPTOR_RULES = 64,
	DESCRIPTOR_FORMS = 16,
	DESCRIPTOR_OPTIONS = 160,
	DESCRIPTOR_OPERANDS = 16,
	DESCRIPTOR_HANDLERS = 6,
};

/* What the value of an option or an operand is to the program. */
enum role {
	ROLE_VALUE,       /* nothing that matters */
	ROLE_DIRECTORY,   /* where what it runs is run */
	ROLE_ASSIGNMENTS, /* NAME=value, any number of them: variables of what it runs */
	ROLE_COMMAND,     /* a program; all that follows are its arguments */
	ROLE_SHELL,       /* a text for a shell */
	ROLE_WORDS,       /* with all that follows a text for a shell */
	ROLE_CODE,        /* a text for an interpreter */
	ROLE_SQL,
	ROLE_SQL_FILE,
	ROLE_READS,
	ROLE_WRITES,
	ROLE_EDITS, /* changes it in place */
	ROLE_DELETES,
	ROLE_TREE, /* deletes it with everything in it */
	ROLE_SENDS,
	ROLE_MAX,
};

struct role_use {
	enum role role;
	str language; /* ROLE_CODE */
};

struct option_use {
	char letter; /* or 0 */
	str name;    /* or STR_NONE: without dashes */
	struct role_use use;
};

/* With whose rights, and where, something is run. */
enum {
	AS_ROOT = 1 << 0,
	AS_REMOTE = 1 << 1, /* on another machine, or in something that lives on: paths are not ours */
};

/* One way to use the program. */
struct form {
	const char *when; /* a pattern of words (rows.c); NULL: always */
	struct option_use *options;
	size_t noptions;
	const char *shorts, *longs; /* of options with a value, as struct args wants them */
	bool posix, single;
	struct role_use *operands;
	size_t noperands;
	bool goes_on;          /* the last role is that of all further operands */
	bool behind_dashes;    /* what follows -- is a command */
	struct role_use input; /* ROLE_VALUE: what comes in does not matter */
	const char *input_when;
	unsigned as;
};

/* One thing that it may be denied or asked about. */
struct program_rule {
	const char *when;
	enum rule rule;
	enum verdict_action action;
	const char *reason; /* what would happen */
};

/* What it does with files that it is only given by name. */
enum touch {
	TOUCH_UNKNOWN,
	TOUCH_USES,  /* uses them, or looks at the name; shows nothing */
	TOUCH_SHOWS, /* shows or copies what they hold */
};

struct descriptor {
	struct fields names;
	const struct handler *handlers[DESCRIPTOR_HANDLERS]; /* asked first, in this order */
	size_t nhandlers;
	struct form base;
	struct form *forms; /* beside the base: the first that holds */
	size_t nforms;
	struct program_rule *rules;
	size_t nrules;
	enum touch touch;
	bool pattern_first; /* the first operand is a pattern or a program, unless -e or -f gives it */
};

/* Everything is in the arena, which outlives it. -EINVAL, -EBADMSG: err says what is wrong, and where. */
int descriptor_read(struct arena *a, str text, struct descriptor *ret, struct err *err);
/* The same for a value somewhere in a text. */
int descriptor_take(struct arena *a, str text, const struct json *root, struct descriptor *ret, struct err *err);

/* programs.c. The descriptor of a program; NULL: none knows it. */
const struct descriptor *descriptor_of(str name);
const struct handler *handler_of(str name);

/* One file of data/programs, as the build has found it. */
struct program_text {
	const char *file, *text;
	size_t size;
};

struct program_name {
	const char *name;
	unsigned file; /* in program_texts[] */
};

extern const struct program_text program_texts[];
extern const size_t program_texts_count;
extern const struct program_name program_names[]; /* sorted by bytes */
extern const size_t program_names_count;

/* perform.c */
void perform(struct run *x, struct cmd *c, const struct descriptor *d);
/* The arguments of a command, with what its descriptor says of their options. */
struct args args_of(const struct cmd *c);
/* rows.c: whether the rule held, whatever the policy makes of it. */
bool judge_program_rule(struct run *x, struct cmd *c, const struct program_rule *r);

#endif
