/* The operations that keep the store: rows of ops[]. */
#ifndef HOOKD_API_OPS_STORE_H
#define HOOKD_API_OPS_STORE_H

#include "api/api.h"
#include "capture/capture.h"
#include "json/json.h"

int op_backup(struct op_call *call);
int op_repair(struct op_call *call);
int op_rebuild(struct op_call *call);
int op_purge(struct op_call *call);
int op_purge_preview(struct op_call *call);
int op_retention(struct op_call *call);
int op_retain(struct op_call *call);

/* For purge and retention. */
void op_write_count(struct json_writer *w, const struct capture_count *c);
/* Why the writer did not do it. */
int op_refuse_writer(struct op_call *call, int r);

/* Does again what a purge that was cut off had begun; on a worker. */
void purge_resume(const struct api_context *ctx);

#endif
