/* Internal to remind/. */
#ifndef HOOKD_REMIND_INTERNAL_H
#define HOOKD_REMIND_INTERNAL_H

#include "base/macro.h"
#include "remind/remind.h"

enum {
	ERRORS_KEPT = 3,
	ERROR_TEXT = 160,
	CHANGED_KEPT = 16,
	PATH_KEPT = 192,
	OWED_KEPT = 1024,
};

/* -- check.c ----------------------------------------------------------------------------------- */

/* Kinds of files that want something of whoever changes them. */
enum file_kind { FILE_CODE, FILE_NEEDS, FILE_SCHEMA, FILE_KINDS };

struct file_check {
	const char *what, *wants;
	bool (*is_done_by)(str command);
};

extern const struct file_check file_checks[FILE_KINDS];

/* FILE_KINDS: nothing is wanted. */
enum file_kind file_kind_of(str path);

/* -- tally.c ----------------------------------------------------------------------------------- */

struct failure {
	uint64_t hash;
	unsigned times;
	char text[ERROR_TEXT];
};

struct changed {
	char path[PATH_KEPT];
	int64_t at_us;
	enum file_kind kind;
};

struct tally {
	struct todos todos;
	bool keeps_todos; /* the agent has a list */
	/* Of this turn. */
	int64_t began_us;
	struct failure failures[ERRORS_KEPT]; /* the last one last */
	size_t nfailures;
	unsigned looks;  /* calls in a row that changed nothing */
	unsigned unkept; /* files changed since the list was last kept */
	struct changed changed[CHANGED_KEPT];
	size_t nchanged, nmore;
	int64_t changed_at[FILE_KINDS], done_at[FILE_KINDS], failed_at[FILE_KINDS]; /* wall clock, µs; 0: never */
	bool worked;                                                                /* it has called a tool */
	bool said_looks, said_unkept, said_failures;
	char owed[OWED_KEPT]; /* what is still to be said */
};

#endif
