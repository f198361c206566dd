/* trust: which files of a project the user has approved.
 *
 * DESIGN. A tree is the root of a project and the files in it that take part, with their bytes; files that could take
 * part and are not there count as absent, so that adding one is a change like any other. Trust is a record of one
 * tree: real path and owner of the root, name, mode and SHA-256 of every file. It lies under the user's state
 * directory, never in the tree, together with a copy of the files:
 *
 *   <state>/trust/<hash of the root's path>/record.json
 *   <state>/trust/<hash of the root's path>/<digest>/<relative name>
 *
 * What is used later is the copy, so that nothing can be swapped between check and use. A copy is never changed; the
 * last TRUST_COPIES are kept, because active sessions still use theirs. A script that names another file of the tree by
 * a path that leads there, not to the copy, is copied with the copy's path in that place (struct trust_link); what the
 * person saw is kept beside it, in <digest>.seen/, for the next difference.
 *
 * Nothing of a project is opened by its path: each step from the root is a directory that belongs to the user or to
 * root, that nobody else can write to, and that is no link. Everything here may block. */
#ifndef HOOKD_TRUST_TRUST_H
#define HOOKD_TRUST_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/macro.h"
#include "base/sha256.h"
#include "base/str.h"
#include "json/json.h"

enum {
	TRUST_FILES_MAX = 256,
	TRUST_LINKS_MAX = 256, /* of one file */
	TRUST_FILE_MAX = 1 << 20,
	TRUST_COPIES = 4,
};

enum trust_state {
	TRUST_NOTHING, /* the project has nothing that would need it */
	TRUST_NONE,    /* nobody has been asked */
	TRUST_CHANGED, /* it was trusted as something else */
	TRUST_HOLDS,
	TRUST_STATE_MAX,
};
extern const char *const trust_state_names[TRUST_STATE_MAX];

/* Bytes of a script that are something else in its copy. */
struct trust_link {
	struct trust_link *next; /* in the order of the bytes */
	size_t begin, end;
	str text; /* TRUST_COPY in it stands for the directory of the copies, quoted for a shell */
};
#define TRUST_COPY '\1'

struct trust_file {
	str name; /* relative to the root, without . and .. */
	str bytes;
	bool absent, executable;
	uint8_t sha256[SHA256_BYTES];
	struct trust_link *links;
};

struct trust_tree {
	struct arena *arena; /* owns everything */
	int root_fd;
	char root[FS_PATH]; /* real path */
	uid_t owner;
	struct trust_file files[TRUST_FILES_MAX]; /* by name */
	unsigned n;
	uint8_t digest[SHA256_BYTES]; /* of all of it; see trust_tree_finish() */
};

/* -EPERM: the root belongs to somebody else, or others can write to it; err says which. */
int trust_tree_open(const char *root, struct arena *a, struct trust_tree *ret, struct err *err);
void trust_tree_close(struct trust_tree *t);

/* Reads a file into the tree, once. 1: it is there; 0: it is absent; -errno with err: it is there and must not be used
 * (a link, somebody else's, larger than TRUST_FILE_MAX, no plain file). *ret may be NULL. */
int trust_tree_add(struct trust_tree *t, str name, const struct trust_file **ret, struct err *err);
const struct trust_file *trust_tree_find(const struct trust_tree *t, str name);

/* Adds a link to a file of the tree, once. -ENOENT: it has no such file; -EINVAL: it meets another link; -E2BIG. */
int trust_tree_link(struct trust_tree *t, str name, size_t begin, size_t end, str text);

/* Nothing more will be added: computes the digest. */
void trust_tree_finish(struct trust_tree *t);

/* What the records under state say about this tree. ret_copies (which may be NULL) gets the directory of the copies
 * when it holds. */
enum trust_state trust_look(const char *state, const struct trust_tree *t, char ret_copies[FS_PATH]);

/* Whether somebody has seen and trusted this one file of a project with exactly these bytes. */
bool trust_covers(const char *state, const char *root, const char *name, str bytes);

/* Records the tree as trusted and copies its files. */
int trust_grant(const char *state, const struct trust_tree *t, struct err *err);
/* -ENOENT: it was not trusted. */
int trust_revoke(const char *state, const char *root, struct err *err);

/* The difference between what was trusted (nothing, if nothing was) and the tree, for people. */
void trust_write_diff(const char *state, const struct trust_tree *t, struct buf *b);

/* All records as a JSON array: {root, owner, digest, at_us, files: [{name, sha256}]}. */
void trust_write_list(const char *state, struct json_writer *w);

/* -- what others read the same way ------------------------------------------------------------- */

/* Opens a plain file below dir_fd, step by step. -ELOOP: a link on the way; -EPERM: somebody else could have
 * written it. */
int trust_open_below(int dir_fd, str name);

/* Appends a file of a project whoever could have written it, for what can only restrict: to ignore a rule because a
 * group may write to it would be weaker than to follow it. Links are still not followed. 1: it is there; 0: it is
 * not; -errno with err. b must be able to hold TRUST_FILE_MAX + 1. */
int trust_read_restriction(const char *root, const char *name, struct buf *b, struct err *err);

#endif
