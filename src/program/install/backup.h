/* backup: what a settings file was before the first install, kept under <state>/install/. For
 * install/ only.
 *
 * <sha256 of the path>.orig holds the bytes, .meta says whether there was a file, what install
 * wrote last, and which directory it made. The bytes are put back only while the file still is what
 * install wrote; otherwise somebody else's change would be lost. */
#ifndef HOOKD_INSTALL_BACKUP_H
#define HOOKD_INSTALL_BACKUP_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "base/str.h"

struct backup {
	bool existed;               /* there was a file */
	str original;               /* its bytes; STR_NONE when they are gone */
	char wrote[SHA256_HEX + 1]; /* what install wrote last; "": the file may not be put back */
	str made_dir;               /* made by install, ends in NUL; or STR_NONE */
};

/* -ENOENT: there is none. A damaged one counts as none. */
int backup_read(const char *state, const char *path, struct arena *a, struct backup *ret);

/* On disk when it returns. */
int backup_write(const char *state, const char *path, const struct backup *b);

void backup_drop(const char *state, const char *path);

/* Whether these bytes are what install wrote last. */
bool backup_matches(const struct backup *b, str contents);
void backup_note_written(struct backup *b, str contents);

#endif
