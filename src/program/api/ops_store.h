/* The operations that keep the store: rows of ops[]. */
#ifndef HOOKD_API_OPS_STORE_H
#define HOOKD_API_OPS_STORE_H

#include "api/api.h"

int op_backup(struct op_call *call);
int op_repair(struct op_call *call);
int op_rebuild(struct op_call *call);
int op_purge(struct op_call *call);
int op_purge_preview(struct op_call *call);
int op_retention(struct op_call *call);
int op_retain(struct op_call *call);

#endif
