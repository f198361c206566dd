/* base64: reading it, as in RFC 4648. */
#ifndef HOOKD_BASE_BASE64_H
#define HOOKD_BASE_BASE64_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* The bytes, in the arena. False when it is not base64 throughout; line breaks and missing '=' are forgiven. */
bool base64_to_bytes(struct arena *a, str text, str *ret);

#endif
