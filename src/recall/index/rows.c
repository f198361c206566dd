/* The database of an index. Keys of pieces are never used twice: a segment that names a piece which is gone must not
 * find another one. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "index/internal.h"

static const char schema[] =
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;"
	"CREATE TABLE files(key INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
	"  ctime INTEGER NOT NULL, hash INTEGER NOT NULL, language TEXT NOT NULL, class INTEGER NOT NULL,"
	"  strikes INTEGER NOT NULL, skipped TEXT) STRICT;"
	"CREATE TABLE chunks(key INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, line INTEGER NOT NULL,"
	"  lines INTEGER NOT NULL, symbol TEXT, kind INTEGER NOT NULL, hash INTEGER NOT NULL) STRICT;"
	"CREATE INDEX chunks_by_file ON chunks(file);"
	"CREATE TABLE symbols(name TEXT NOT NULL COLLATE NOCASE, chunk INTEGER NOT NULL, line INTEGER NOT NULL,"
	"  kind INTEGER NOT NULL, PRIMARY KEY(name, chunk, line)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX symbols_by_chunk ON symbols(chunk);";

uint64_t index_hash(uint64_t seed, str bytes)
{
	uint64_t h = seed ^ (bytes.n * 0x9E3779B97F4A7C15u), word;

	for (; bytes.n >= sizeof word; bytes = str_from(bytes, sizeof word)) {
		memcpy(&word, bytes.p, sizeof word);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	word = 0;
	if (bytes.n)
		memcpy(&word, bytes.p, bytes.n);
	h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
	h ^= h >> 29;
	h *= 0x9E3779B97F4A7C15u;
	return h ^ h >> 32;
}

str index_title(struct arena *a, str path, str symbol)
{
	return str_empty(symbol) ? path : arena_strf(a, STR_FMT " " STR_FMT, STR_ARG(path), STR_ARG(symbol));
}

/* -- opening ----------------------------------------------------------------------------------- */

static void discard(const char *dir)
{
	static const char *const names[] = { "index.db", "index.db-wal", "index.db-shm", "manifest" };
	char path[FS_PATH];

	for (size_t i = 0; i < countof(names); i++)
		if (index_file(dir, names[i], path) == 0)
			unlink(path);
}

static int check(struct store *s)
{
	struct err err = { 0 };

	return store_quick_check(s, &err);
}

int rows_open(const char *dir, struct store **ret)
{
	char path[FS_PATH];
	int r = index_file(dir, "index.db", path);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		r = store_open_cache(path, schema, ROWS_VERSION, ret);
		if (r == 0 && (r = check(*ret)) < 0)
			store_close(TAKE(*ret));
		if (r != -EUCLEAN && r != -ESTALE && r != -EPROTO)
			return r;
		log_info(LOG_STORE, "%s cannot be used (%s) and is made again", path, strerror(-r));
		discard(dir);
	}
	return r;
}

int rows_identity(struct store *s, uint64_t *ret)
{
	int64_t value = 0;
	int got = store_number(s, &value, "SELECT value FROM meta WHERE name = 'identity'", "");

	if (got == 0) {
		value = clock_wall_us();
		got = store_do(s, "INSERT INTO meta VALUES('identity', ?1)", "i", value);
	}
	*ret = (uint64_t)value;
	return MIN(got, 0);
}

/* -- files ------------------------------------------------------------------------------------- */

#define FILE_COLUMNS "key, path, size, ctime, hash, strikes, skipped IS NOT NULL"

static void read_file(struct query *q, struct arena *a, struct file_row *ret)
{
	*ret = (struct file_row){ .key = query_int(q, 0),
		.path = a ? arena_str(a, query_str(q, 1)) : STR_NONE,
		.size = query_int(q, 2),
		.ctime_ns = query_int(q, 3),
		.hash = (uint64_t)query_int(q, 4),
		.strikes = query_int(q, 5),
		.skipped = query_int(q, 6) };
}

int rows_files(struct store *s, struct arena *a, struct file_row **ret, size_t *ret_n)
{
	struct query *q;
	int64_t count = 0;
	size_t n = 0;
	int got = store_number(s, &count, "SELECT count(*) FROM files", "");

	if (got < 0)
		return got;
	*ret = arena_alloc(a, ((size_t)count + 1) * sizeof **ret);
	q = store_query(s, "SELECT " FILE_COLUMNS " FROM files ORDER BY path");
	while ((got = query_step(q)) == 1 && n < (size_t)count)
		read_file(q, a, &(*ret)[n++]);
	query_reset(q);
	*ret_n = n;
	return MIN(got, 0);
}

int rows_file(struct store *s, str path, struct file_row *ret)
{
	struct query *q = store_ask(s, "SELECT " FILE_COLUMNS " FROM files WHERE path = ?1", "s", path);
	int got = query_step(q);

	*ret = (struct file_row){ .path = path };
	if (got == 1)
		read_file(q, NULL, ret);
	ret->path = path;
	query_reset(q);
	return MIN(got, 0);
}

int rows_put_file(struct store *s, struct file_row *f, const struct language *l, enum file_class class,
	const char *skipped)
{
	int r = store_do(s,
		"INSERT INTO files(path, size, ctime, hash, language, class, strikes, skipped) "
		"VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(path) DO UPDATE SET size = ?2, ctime = ?3, "
		"hash = ?4, language = ?5, class = ?6, strikes = ?7, skipped = ?8",
		"siiisiis", f->path, f->size, f->ctime_ns, (int64_t)f->hash, str_of(language_name(l)), (int64_t) class,
		f->strikes, str_of(skipped));

	if (r == 0 && !f->key)
		r = MIN(store_number(s, &f->key, "SELECT key FROM files WHERE path = ?1", "s", f->path), 0);
	return r;
}

int rows_put_stat(struct store *s, const struct file_row *f)
{
	return store_do(s, "UPDATE files SET size = ?2, ctime = ?3 WHERE key = ?1", "iii", f->key, f->size,
		f->ctime_ns);
}

/* Whatever the file is then, it is looked at again. */
int rows_strike(struct store *s, str path, int strikes)
{
	return store_do(s,
		"INSERT INTO files(path, size, ctime, hash, language, class, strikes) VALUES(?1, -1, 0, 0, '', 0, ?2) "
		"ON CONFLICT(path) DO UPDATE SET size = -1, ctime = 0, hash = 0, strikes = strikes + ?2",
		"si", path, (int64_t)strikes);
}

int rows_forgive(struct store *s, str path)
{
	return store_do(s, "UPDATE files SET strikes = 0 WHERE strikes BETWEEN 1 AND ?1 - 1 AND path <> ?2", "is",
		(int64_t)STRIKES_PLAIN, str_is_set(path) ? path : STR(""));
}

int rows_drop_file(struct store *s, int64_t file)
{
	return store_do(s, "DELETE FROM files WHERE key = ?1", "i", file);
}

/* -- pieces ------------------------------------------------------------------------------------ */

int rows_drop_chunks(struct store *s, int64_t file, struct buf *ret)
{
	struct query *q = store_ask(s, "SELECT key FROM chunks WHERE file = ?1", "i", file);
	int got, n = 0;

	for (; (got = query_step(q)) == 1; n++)
		buf_add(ret, &(int64_t){ query_int(q, 0) }, sizeof(int64_t));
	query_reset(q);
	if (got < 0 || !n)
		return got;
	got = store_do(s, "DELETE FROM symbols WHERE chunk IN (SELECT key FROM chunks WHERE file = ?1)", "i", file);
	return got < 0 ? got : store_do(s, "DELETE FROM chunks WHERE file = ?1", "i", file);
}

int rows_add_chunk(struct store *s, int64_t file, const struct chunk *c, uint64_t hash, int64_t *ret_key)
{
	int r = store_do(s, "INSERT INTO chunks(file, line, lines, symbol, kind, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		"iiisii", file, (int64_t)c->line, (int64_t)c->lines, c->symbol, (int64_t)c->kind, (int64_t)hash);

	*ret_key = store_last_rowid(s);
	return r;
}

int rows_add_symbol(struct store *s, int64_t chunk, const struct chunk_symbol *y)
{
	return store_do(s, "INSERT OR IGNORE INTO symbols VALUES(?1, ?2, ?3, ?4)", "siii",
		str_cut_utf8(y->name, CHUNK_SYMBOL_BYTES), chunk, (int64_t)y->line, (int64_t)y->kind);
}

/* -- all of them ------------------------------------------------------------------------------- */

int rows_count(struct store *s, struct manifest *ret)
{
	const struct {
		const char *sql;
		uint64_t *to;
	} counts[] = { { "SELECT count(*) FROM files WHERE skipped IS NULL", &ret->files },
		{ "SELECT count(*) FROM chunks", &ret->chunks }, { "SELECT count(*) FROM symbols", &ret->symbols },
		{ "SELECT count(*) FROM files WHERE skipped IS NOT NULL", &ret->skipped } };
	int got = 0;

	for (size_t i = 0; i < countof(counts) && got >= 0; i++) {
		int64_t n = 0;

		got = store_number(s, &n, counts[i].sql, "");
		*counts[i].to = (uint64_t)n;
	}
	return MIN(got, 0);
}

int rows_keys(struct store *s, int64_t **ret, size_t *ret_n)
{
	struct query *q = store_query(s, "SELECT key FROM chunks ORDER BY key");
	size_t n = 0, cap = 0;
	int64_t *keys = NULL;
	int got;

	while ((got = query_step(q)) == 1) {
		if (n == cap)
			keys = xrealloc(keys, (cap = cap ? 2 * cap : 1024) * sizeof *keys);
		keys[n++] = query_int(q, 0);
	}
	query_reset(q);
	*ret = keys;
	*ret_n = n;
	return got;
}

int rows_forget_file_of(struct store *s, int64_t chunk)
{
	return store_do(s,
		"UPDATE files SET size = -1, ctime = 0, hash = 0 WHERE key = (SELECT file FROM chunks WHERE key = ?1)",
		"i", chunk);
}

int rows_hit(struct store *s, int64_t key, struct arena *a, struct code_hit *ret)
{
	struct query *q = store_ask(s,
		"SELECT f.path, c.symbol, c.line, c.lines, c.kind, f.class, f.language, f.size, f.ctime FROM chunks c "
		"JOIN files f ON f.key = c.file WHERE c.key = ?1",
		"i", key);
	int got = query_step(q);

	if (got == 1)
		*ret = (struct code_hit){ .path = arena_str(a, query_str(q, 0)),
			.symbol = arena_str(a, query_str(q, 1)),
			.line = (unsigned)query_int(q, 2),
			.lines = (unsigned)query_int(q, 3),
			.kind = (enum chunk_kind)MIN((uint64_t)query_int(q, 4), (uint64_t)CHUNK_DATA),
			.class = (enum file_class)MIN((uint64_t)query_int(q, 5), (uint64_t)FILE_I18N),
			.language = language_find(query_str(q, 6)),
			.size = query_int(q, 7),
			.ctime_ns = query_int(q, 8),
			.key = key };
	query_reset(q);
	return got;
}
