/* What the files of redact/ share; nothing outside the folder includes it but its tests.
 *
 * DESIGN. One string goes this way:
 *
 *   known.c      nothing is done again for what was found clean a moment ago
 *   automaton.c  one pass over the bytes; stops at every literal of the three tables below
 *     tags.c     a literal of privacy_tags[]: the string is rewritten without the tags and rescanned
 *     secrets.c  a literal of secrets[]: its pattern is tried at that place, and only there
 *     base64.c   the beginning of a secret, in base64: the run is decoded and looked into
 *     assign.c   a literal of keywords[]: is it the name of a value, and is the value a secret?
 *     tables.c   or the heading of a column of secrets?
 *     files.c    a file in a diff: is it one that is a secret?
 *   operands.c   programs and which of their operands is a password
 *   tongues.c    the names of passwords in other languages, where names end
 *   secrets.c    what was found is merged and written as [redacted:<name>]
 *
 * Every step looks at a bounded number of bytes around a literal, so that time stays linear however
 * hostile the string. Order cannot matter: what is found is sorted by place, and where two overlap
 * the row that comes first in its table (the more specific one) gives the name. */
#ifndef HOOKD_REDACT_INTERNAL_H
#define HOOKD_REDACT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "match/match.h"
#include "redact/redact.h"

struct span {
	size_t begin, end;
	const char *name;
	unsigned rank;
};

/* -- automaton.c ------------------------------------------------------------------------------- */

struct automaton;

/* Literals are found without regard to ASCII case. Build once after the last literal: -E2BIG when
 * the tables would not fit their 16 bit offsets. */
struct automaton *automaton_new(void);
void automaton_free(struct automaton *a);
void automaton_add(struct automaton *a, str literal, unsigned value);
int automaton_build(struct automaton *a);
size_t automaton_bytes(const struct automaton *a);

struct automaton_hit {
	unsigned value;    /* as given to automaton_add() */
	size_t begin, end; /* of the literal in the text */
};

/* Zeroed, with text set, to begin with. */
struct automaton_scan {
	str text;
	size_t at;
	uint32_t state;
	const struct automaton_output *out;
	unsigned nout;
};

/* The next literal, in order of where it ends; false at the end of the text. */
bool automaton_next(const struct automaton *a, struct automaton_scan *s, struct automaton_hit *ret);

/* -- tags.c ------------------------------------------------------------------------------------ */

enum { PRIVACY_TAGS = 6 };
extern const char *const privacy_tags[PRIVACY_TAGS]; /* the first is "private" */

struct tags_report {
	unsigned removed[PRIVACY_TAGS];
};

/* Appends s without tags and what they enclose. ret (which may be NULL) is added to. */
void tags_strip(struct buf *b, str s, struct tags_report *ret);

/* -- secrets.c --------------------------------------------------------------------------------- */

enum secret_check {
	CHECK_NONE,
	CHECK_MIXED, /* letters and digits both occur, as in everything random of that length */
	CHECK_VALUE, /* not a placeholder or a reference to a variable */
	CHECK_BOTH,  /* random in one way or the other, and no placeholder */
	CHECK_USER,  /* base64 of user:password */
};

enum {
	SECRET_WORD = 1 << 0,   /* the literal begins a word */
	SECRET_NOCASE = 1 << 1, /* pattern and literal, otherwise both in the case of the table */
	SECRET_PEM = 1 << 2,    /* the hit is the first line of a block: goes on to its END */
};

/* A row. The pattern is tried at the place of the literal, or, when `back` is given, from that many
 * bytes before it on; it sees at most `ahead` bytes (0: SECRET_AHEAD) from the literal on. Its
 * first group, when it has one, is what is replaced; else all of it. */
struct secret {
	const char *name;
	const char *literals; /* one of them must occur; blanks between them */
	const char *pattern;
	uint8_t run; /* this many of [A-Za-z0-9_-] must follow the literal: a cheap way to say no */
	uint8_t back;
	uint16_t ahead;
	uint8_t flags;
	enum secret_check check;
};

enum { SECRET_AHEAD = 600 };

extern const struct secret secrets[];
extern const size_t nsecrets;

enum file_key {
	FILE_KEY_NONE,
	FILE_KEY_PATH,     /* names a file */
	FILE_KEY_CONTENT,  /* what is or was in it */
	FILE_KEY_RESPONSE, /* output of a tool */
	FILE_KEY_INPUT,    /* input of a tool */
	FILE_KEY_COMMAND,
	FILE_KEY_PLAIN, /* never contents: kept when a response is not */
};

/* What the key of a member says about its value. */
struct key_facts {
	str clean;        /* what is kept of the key */
	const char *name; /* under which its value is a secret, or NULL */
	bool pin;         /* its value is the number of a card, or the like */
	enum file_key kind;
};

enum { KNOWN_KEYS = 128, KNOWN_VALUES = 64, KNOWN_COMMANDS = 32 };

struct redactor {
	const struct automaton *automaton;
	struct match **patterns; /* one per row of secrets[], compiled on first use */
	struct {
		uint32_t turn;
		size_t end;
	} * done;      /* per row, one for keywords, base64, diffs: nothing is looked for again before `end` */
	uint32_t turn; /* one per string */
	struct {
		uint32_t turn;
		size_t head, end; /* its line of headings; nothing else in it is one */
		unsigned columns; /* with secrets */
	} table;                  /* the last one of the string */
	struct {
		uint32_t turn;
		size_t end;
	} manifest;          /* likewise */
	uint32_t no_pem_end; /* in which the rest of the string had no END: not searched again */
	struct span *spans;
	size_t nspans, cap;
	struct buf untagged, text, out;
	struct known_key {
		struct key_facts facts;
		uint8_t n;
		char text[31];
	} keys[KNOWN_KEYS];
	struct known_value {
		uint8_t n;
		char text[127];
	} values[KNOWN_VALUES], paths[KNOWN_VALUES];
	struct known_command {
		uint16_t n;
		char text[510];
	} commands[KNOWN_COMMANDS];
	unsigned secrets; /* pieces replaced since the caller last set it to 0 */
};

int secrets_init(struct redactor *r);
void secrets_release(struct redactor *r);

/* s after tags and secrets were taken out: s itself when there was nothing to do, else memory of
 * the redactor that is good until the next call. ret_key (which may be NULL) gets the name under
 * which a value under this key belongs, or NULL. */
str secrets_clean(struct redactor *r, str s, const char **ret_key);

/* For those who find secrets in the string that secrets_clean() is at. What has no row of secrets[] or keywords[] has a
 * rank behind all of them. */
enum { OPERANDS_RANK = 1 << 16 };
void secrets_add(struct redactor *r, struct span span);

/* What a text holds, by name, or NULL: for texts that are only looked into. */
const char *secrets_name_in(struct redactor *r, str s);

/* -- known.c ----------------------------------------------------------------------------------- */

/* secrets_clean() and what else a string's bytes alone decide, remembered for strings that come again. */
struct key_facts known_key(struct redactor *r, str key);
str known_clean(struct redactor *r, str s);
/* file_is_secret() and command_touches(). */
bool known_path_is_secret(struct redactor *r, str path, str *ret_base);
bool known_command_touches(struct redactor *r, struct arena *a, str command, str *ret_base);

/* -- base64.c ---------------------------------------------------------------------------------- */

void base64_add_literals(struct automaton *a, unsigned value);
/* A beginning of a secret is at [begin, end) as base64 spells it: what the run around it holds, or NULL. ret is
 * the run, as far as it was looked at. */
const char *base64_find(struct redactor *r, str s, size_t begin, size_t end, struct span *ret);
/* Bytes of out; what is no base64 is skipped. */
size_t base64_decode(str s, char *out, size_t max);
bool base64_is_user_and_password(str s);

/* -- assign.c ---------------------------------------------------------------------------------- */

struct keyword {
	const char *literal, *name;
	unsigned flags;
};

extern const struct keyword keywords[];
extern const size_t nkeywords;
/* Of other languages: found where names end, not by the automaton. */
extern const struct keyword foreign_keywords[];
extern const size_t nforeign_keywords;
#define WIDE_COLON "\xEF\xBC\x9A" /* of Chinese and Japanese */

/* The keyword is at [begin, end) of s. True when it is (part of) the name of a value that must
 * not be kept; ret says where the value is. */
bool assign_find(str s, const struct keyword *k, size_t begin, size_t end, struct span *ret);

/* May the value be anything at all, as that of a password? */
bool assign_is_password(const struct keyword *k);

/* Is s as a whole the name of something secret (a JSON key, a flag)? */
bool assign_is_name(str s, const struct keyword *k, size_t begin, size_t end);

/* Under a name that says so: false for what is too short, a type, or a reference to a variable. */
bool value_is_secret(str value);
/* The same in running text, where examples, paths and names of variables say nothing either. */
bool value_is_placeholder(str value);
/* Letters and digits both. */
bool value_is_mixed(str value);
/* As tokens are: letters and digits take turns. */
bool value_is_random(str value);
/* Letters alone, drawn by lot. */
bool value_is_drawn(str value);
/* A number under the name of a secret: long enough to be one. */
bool value_is_secret_number(const char *name, str value);
/* A JSON key that names a short number which must not be kept: pin, otp, cvv. */
bool assign_is_pin(str key);

/* -- operands.c, tongues.c, tables.c ------------------------------------------------------------- */

void operands_init(void);
void operands_find(struct redactor *r, str s);

/* The same for a command that comes as a list: true when (a part of) the next word is a secret. */
struct command;
struct command *operands_begin(struct arena *a);
bool operands_next(struct command *c, str word, struct span *ret);

void tongues_init(void);
void tongues_find(struct redactor *r, str s);

/* The keyword at [begin, end) may be the heading of a column. */
void table_find(struct redactor *r, str s, const struct keyword *k, size_t begin, size_t end);

/* -- files.c ----------------------------------------------------------------------------------- */

/* Does the path name a file that is a secret as a whole? ret_base gets its last component. */
bool file_is_secret(str path, str *ret_base);

/* -- commands.c -------------------------------------------------------------------------------- */

/* Does the command show, copy or change such a file? ret_base is its name, in the arena. */
bool command_touches(struct arena *a, str command, str *ret_base);
/* Appends a command that touches `file` without what it puts into it; true when there was anything of that kind. */
bool command_mask(struct buf *out, str command, str file);

/* -- members.c --------------------------------------------------------------------------------- */

/* A patch, in place of a command (apply_patch) or in one, that touches a secret file. */
bool file_patch_touches(str patch, str *ret_file);

/* What a member of that name holds in the payloads of the agents. */
enum file_key file_key_of(str key);

#endif
