/* names: what a definition is called, from the text that names it. */
#ifndef HOOKD_CHUNK_NAMES_H
#define HOOKD_CHUNK_NAMES_H

#include "base/arena.h"
#include "base/str.h"

/* An identifier with what qualifies it, as "Buffer<T>::next(int)" or "*exports.read": `qualified` has dots and lies
 * in the arena, `last` is its last part in the text. False: it is none. */
bool name_identifier(str text, struct arena *a, str *qualified, str *last);
/* Any text on one line: a heading, a key, perhaps in quotes. */
bool name_plain(str text, str *ret);
/* "Server" of "(s *Server[T])". */
str name_receiver(str text);

#endif
