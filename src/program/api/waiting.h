/* waiting: calls that are answered when an agent stops, waits for its user, or fails. For api/ only. */
#ifndef HOOKD_API_WAITING_H
#define HOOKD_API_WAITING_H

#include "api/api.h"

struct waiting;

struct waiting *waiting_new(const struct api_context *ctx);
void waiting_free(struct waiting *w);
struct waiting *api_waiting(struct api *a);

#endif
