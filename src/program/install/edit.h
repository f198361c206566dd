/* edit: our entries in the text of a settings file; for install/ and its tests. Nothing here
 * touches a file, and everything that is not ours stays byte for byte. */
#ifndef HOOKD_INSTALL_EDIT_H
#define HOOKD_INSTALL_EDIT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "install/install.h"

/* What an edit did, in entries. */
struct install_counts {
	const char *noun; /* what was counted, where it is not what the file is for; or NULL */
	unsigned added, changed, removed;
	bool unused; /* nothing of ours is in the text, nor will be */
	str note;    /* what the user should know, or STR_NONE */
};

/* The text with our entries on every wanted event, in the arena; the same text when they are there
 * already. A blank text counts as an empty object. -EBADMSG names line and column. */
int install_edit_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);

/* The text without our entries. Containers that become empty go as well, unless `original` (the
 * text before the first install; STR_NONE when it is not known) has them. */
int install_edit_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);

/* Our entries in the order of the text. */
int install_edit_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err);

/* Whether nothing but an empty object is left. */
bool install_edit_is_empty(const struct install_request *q, str text);

#endif
