/* follow: tokens of active sessions. For api/ only. */
#ifndef HOOKD_API_FOLLOW_H
#define HOOKD_API_FOLLOW_H

#include "api/api.h"

struct follow;

struct follow *follow_new(const struct api_context *ctx);
void follow_free(struct follow *f);

/* A turn has ended somewhere: read on soon. Loop thread. */
void follow_soon(struct follow *f);

#endif
