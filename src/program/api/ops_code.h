/* Code in answers. Internal to api/. */
#ifndef HOOKD_API_OPS_CODE_H
#define HOOKD_API_OPS_CODE_H

#include "api/api.h"
#include "index/index.h"

/* The repository that a directory lies in, or a project by its name; STR_NONE: that of the newest session. -ENOENT. */
int op_root_of(struct op_call *call, str wanted, char ret[FS_PATH]);
/* Members of an open object. */
void op_write_code_hit(struct op_call *call, const struct code_hit *h);
/* Its text without secrets; STR_NONE: the file has changed since. */
str op_read_code(struct op_call *call, const char *root, const struct code_hit *h, unsigned lines);

/* An item of `get` by an id such as src/main.c:10-40; *ret: it is one, and was written or refused. */
int op_write_code_item(struct op_call *call, str id, bool *ret);

#endif
