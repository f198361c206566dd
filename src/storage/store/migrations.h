/* migrations: schema/NNNN_name.sql in order, compiled in by tools/embed_sql.py. */
#ifndef HOOKD_STORE_MIGRATIONS_H
#define HOOKD_STORE_MIGRATIONS_H

#include <stddef.h>

struct migration {
	const char *name, *sql;
};

extern const struct migration migrations[];
extern const size_t migrations_count;

#endif
