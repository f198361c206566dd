/* Payloads as they are stored: zstd with a dictionary made from typical payloads.
 *
 * events.payload is one of three:
 *
 *   TEXT     JSON as it came, when packing gains nothing
 *   BLOB     packed by itself: the number of the dictionary, then a zstd frame that names its size
 *   INTEGER  64 * the number of the block it is in + its place there
 *
 * Alone a payload of half a kilobyte hardly shrinks; what it repeats is in other payloads, and so in the dictionary.
 * The ids and paths it repeats are in its neighbours: what one commit stores of a session is a block (capture/block.c),
 * in some rows of `blocks`. It is BLOCK_FORM + the number of the dictionary, and a frame of: how many texts, the length
 * of each, the texts. A dictionary that was ever written with stays in the table forever. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define ZSTD_STATIC_LINKING_ONLY /* it is linked so */
#include <zstd.h>

#include "base/alloc.h"
#include "base/codec.h"
#include "base/limits.h"
#include "store/dictionary.h"
#include "store/internal.h"

enum {
	DICTIONARY = 2, /* the one that is written with */
	PACK_MIN = 64,
	MAGIC_BYTES = 4, /* of a zstd frame */
	BLOCK_FORM = 0x40,
	SIZE_BYTES = 2,        /* of the length of a text in a block */
	BLOCK_TEXT = KIB(8),   /* a longer one repeats enough by itself */
	BLOCK_BYTES = KIB(32), /* and no reader shall unpack much more than it wants */
	BLOCKS_KEPT = 4,       /* unpacked, by one reader: sessions take turns in what it reads */
};

/* How much time is spent. The second saves another sixth, for four times as much of it. */
enum effort { FAST, THOROUGH, EFFORTS };
static const int levels[EFFORTS] = { 1, 6 };

static const char magic[MAGIC_BYTES] = { 0x28, (char)0xB5, 0x2F, (char)0xFD };

/* By number; shared by all threads, never freed. The first knew Claude Code, Codex and Gemini only. */
static struct {
	const unsigned char *bytes;
	const size_t *size;
	ZSTD_DDict *read;
} dictionaries[] = {
	{ 0 },
	{ dictionary_1, &dictionary_1_size, NULL },
	{ dictionary_2, &dictionary_2_size, NULL },
};

static void *allocate(void *arg, size_t n)
{
	(void)arg;
	return xmalloc(n);
}

static void release(void *arg, void *p)
{
	(void)arg;
	free(p);
}

/* Without memory zstd 1.5.4 crashes in the middle of making a dictionary; ours gives up with a message before. */
static const ZSTD_customMem memory = { allocate, release, NULL };

/* Once and for all, so it must not fail for a moment's lack of memory: no payload could be read any more. */
static void make_all(void)
{
	for (size_t i = 1; i < countof(dictionaries); i++)
		dictionaries[i].read = ZSTD_createDDict_advanced(dictionaries[i].bytes, *dictionaries[i].size,
			ZSTD_dlm_byRef, ZSTD_dct_auto, memory);
}

static const ZSTD_DDict *dictionary_of(uint8_t number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (number == 0 || number >= countof(dictionaries))
		return NULL;
	pthread_once(&once, make_all);
	return dictionaries[number].read;
}

/* A block that was read, and what it was made from: its number may have been given to another one since. */
struct unpacked {
	struct buf body, content;
};

struct packer {
	ZSTD_CCtx *write;
	ZSTD_CDict *dictionaries[EFFORTS];
	ZSTD_DCtx *read;
	struct buf packed, text, body;
	struct unpacked blocks[BLOCKS_KEPT];
	unsigned next; /* to be replaced */
};

struct packer *packer_new(void)
{
	struct packer *p = xcalloc(1, sizeof *p);

	buf_init(&p->packed, ZSTD_COMPRESSBOUND(LIMIT_RECORD) + 1);
	buf_init(&p->text, LIMIT_RECORD);
	buf_init(&p->body, LIMIT_RECORD);
	for (size_t i = 0; i < BLOCKS_KEPT; i++) {
		buf_init(&p->blocks[i].body, LIMIT_RECORD);
		buf_init(&p->blocks[i].content, LIMIT_RECORD);
	}
	return p;
}

void packer_trim(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->write);
	for (size_t i = 0; i < EFFORTS; i++) {
		ZSTD_freeCDict(p->dictionaries[i]);
		p->dictionaries[i] = NULL;
	}
	ZSTD_freeDCtx(p->read);
	buf_release(&p->packed);
	buf_release(&p->text);
	buf_release(&p->body);
	for (size_t i = 0; i < BLOCKS_KEPT; i++) {
		buf_release(&p->blocks[i].body);
		buf_release(&p->blocks[i].content);
	}
	p->write = NULL;
	p->read = NULL;
}

void packer_free(struct packer *p)
{
	packer_trim(p);
	free(p);
}

/* The buffer of a giant payload is freed at the next ordinary one. */
static char *room_in(struct buf *b, size_t need)
{
	if (b->cap > MIB(1) && need <= KIB(64))
		buf_release(b);
	buf_clear(b);
	return buf_reserve(b, need);
}

static ZSTD_CDict *dictionary_to_write(enum effort effort)
{
	ZSTD_CCtx_params *params = ZSTD_createCCtxParams();
	ZSTD_CDict *d = NULL;

	if (params && !ZSTD_isError(ZSTD_CCtxParams_init(params, levels[effort])))
		d = ZSTD_createCDict_advanced2(dictionaries[DICTIONARY].bytes, *dictionaries[DICTIONARY].size,
			ZSTD_dlm_byRef, ZSTD_dct_auto, params, memory);
	ZSTD_freeCCtxParams(params);
	return d;
}

/* Which dictionary it is says the byte before the frame. */
static bool prepare_to_write(struct packer *p, enum effort effort)
{
	ZSTD_CDict **d = &p->dictionaries[effort];

	if (!*d)
		*d = dictionary_to_write(effort);
	if (!p->write)
		p->write = ZSTD_createCCtx();
	return p->write && *d && !ZSTD_isError(ZSTD_CCtx_setParameter(p->write, ZSTD_c_dictIDFlag, 0)) &&
		!ZSTD_isError(ZSTD_CCtx_refCDict(p->write, *d));
}

/* form, then the frame. */
static bool pack_as(struct packer *p, char form, enum effort effort, str text, str *ret)
{
	size_t bound = ZSTD_compressBound(text.n), n;
	char *out = room_in(&p->packed, bound + 1);

	if (!out || !prepare_to_write(p, effort))
		return false;
	out[0] = form;
	n = ZSTD_compress2(p->write, out + 1, bound, text.p, text.n);
	if (ZSTD_isError(n))
		return false;
	*ret = str_n(out, n + 1);
	return true;
}

bool packer_pack(struct packer *p, str text, str *ret)
{
	return text.n >= PACK_MIN && pack_as(p, DICTIONARY, FAST, text, ret) && ret->n < text.n;
}

static bool is_packed_as(str bytes, int form)
{
	int dictionary = bytes.n > 1 + MAGIC_BYTES ? (unsigned char)bytes.p[0] - form : 0;

	return dictionary > 0 && (size_t)dictionary < countof(dictionaries) &&
		memcmp(bytes.p + 1, magic, MAGIC_BYTES) == 0;
}

bool payload_is_packed(str bytes)
{
	return is_packed_as(bytes, 0);
}

bool payload_is_block(str bytes)
{
	return is_packed_as(bytes, BLOCK_FORM);
}

static int64_t content_size(str packed)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed.p + 1, packed.n - 1);

	return size > LIMIT_RECORD ? 0 : (int64_t)size;
}

int64_t payload_size(str packed)
{
	return payload_is_packed(packed) ? content_size(packed) : 0;
}

static int unpack_into(struct packer *p, str packed, int form, struct buf *to)
{
	const ZSTD_DDict *d = dictionary_of((uint8_t)(packed.p[0] - form));
	size_t size = (size_t)content_size(packed), n;
	char *out = d ? room_in(to, size + 1) : NULL;

	if (!out)
		return -EBADMSG;
	if (!p->read && !(p->read = ZSTD_createDCtx()))
		return -ENOMEM;
	n = ZSTD_decompress_usingDDict(p->read, out, size, packed.p + 1, packed.n - 1, d);
	if (ZSTD_isError(n) || n != size)
		return -EBADMSG;
	to->len = n;
	return 0;
}

int packer_unpack(struct packer *p, str packed, str *ret)
{
	int r = payload_is_packed(packed) ? unpack_into(p, packed, 0, &p->text) : -EBADMSG;

	if (r == 0)
		*ret = buf_str(&p->text);
	return r;
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* STR_NONE: there is none. */
static str text_at(str content, unsigned index)
{
	unsigned count = content.n ? (unsigned char)content.p[0] : 0;
	size_t at = 1 + SIZE_BYTES * (size_t)count, size;

	if (index >= count || at > content.n)
		return STR_NONE;
	for (unsigned i = 0;; i++) {
		size = (size_t)get_le(content.p + 1 + SIZE_BYTES * (size_t)i, SIZE_BYTES);
		if (size > content.n - at)
			return STR_NONE;
		if (i == index)
			return str_n(content.p + at, size);
		at += size;
	}
}

/* The content of a block; it may be known from the last time. */
static int unpack_block(struct packer *p, str body, str *ret)
{
	struct unpacked *u;
	int r;

	for (size_t i = 0; i < BLOCKS_KEPT; i++)
		if (str_eq(buf_str(&p->blocks[i].body), body)) {
			*ret = buf_str(&p->blocks[i].content);
			return 0;
		}
	u = &p->blocks[p->next++ % BLOCKS_KEPT];
	r = payload_is_block(body) ? unpack_into(p, body, BLOCK_FORM, &u->content) : -EBADMSG;
	buf_clear(&u->body);
	if (r == 0)
		buf_add_str(&u->body, body);
	*ret = buf_str(&u->content);
	return r;
}

int packer_unpack_from(struct packer *p, str body, unsigned index, str *ret)
{
	str content;
	int r = unpack_block(p, body, &content);

	if (r < 0)
		return r;
	*ret = text_at(content, index);
	return str_is_set(*ret) ? 0 : -EBADMSG;
}

/* What is put together: the head, then the texts. NULL: too much. */
static char *begin_block(struct packer *p, const struct payload_block *b, size_t *ret_size)
{
	size_t head = 1 + SIZE_BYTES * (size_t)b->n;
	char *out = room_in(&p->text, head + b->texts.len);

	if (!out)
		return NULL;
	out[0] = (char)b->n;
	for (unsigned i = 0; i < b->n; i++)
		put_le(out + 1 + SIZE_BYTES * (size_t)i, b->sizes[i], SIZE_BYTES);
	memcpy(out + head, b->texts.p, b->texts.len);
	*ret_size = head + b->texts.len;
	return out;
}

int store_write_block(struct store *s, const struct payload_block *b, bool hurry)
{
	size_t size = 0;
	const char *content = begin_block(s->packer, b, &size);
	size_t count, from;
	str body;
	int r = 0;

	if (!content)
		return -E2BIG;
	if (!pack_as(s->packer, BLOCK_FORM + DICTIONARY, hurry ? FAST : THOROUGH, str_n(content, size), &body))
		return -ENOMEM;
	count = (body.n + PAYLOAD_PART - 1) / PAYLOAD_PART;
	for (size_t i = 0; i < count && r == 0; i++) {
		from = body.n * i / count;
		r = store_do(s, "INSERT INTO blocks(key, body) VALUES (?1, ?2)", "ib",
			b->number * PAYLOAD_PARTS_MAX + (int64_t)i, body.p + from, body.n * (i + 1) / count - from);
	}
	return r;
}

int store_delete_block(struct store *s, int64_t number)
{
	return store_do(s, "DELETE FROM blocks WHERE key >= ?1 AND key < ?2", "ii", number * PAYLOAD_PARTS_MAX,
		(number + 1) * PAYLOAD_PARTS_MAX);
}

int store_last_block(struct store *s, int64_t *ret)
{
	int got = store_number(s, ret, "SELECT max(key) FROM blocks", "");

	*ret /= PAYLOAD_PARTS_MAX;
	return got < 0 ? got : 0;
}

bool payload_block_fits(const struct payload_block *b, str text)
{
	return text.n <= BLOCK_TEXT && b->n < PAYLOAD_BLOCK_MAX && b->texts.len + text.n <= BLOCK_BYTES;
}

int64_t payload_block_add(struct payload_block *b, str text)
{
	b->sizes[b->n] = (uint16_t)text.n;
	buf_add_str(&b->texts, text);
	return b->number * PAYLOAD_BLOCK_MAX + b->n++;
}

/* -- for SQL ----------------------------------------------------------------------------------- */

static str bytes_of(sqlite3_value *v)
{
	const char *p = sqlite3_value_blob(v); /* before its length, which may change with it */

	return str_n(p, (size_t)sqlite3_value_bytes(v));
}

static int read_from_block(struct store *s, int64_t ref, str *ret)
{
	int64_t first = ref / PAYLOAD_BLOCK_MAX * PAYLOAD_PARTS_MAX;
	struct buf *body = &s->packer->body;
	struct query *q = store_ask(s, "SELECT body FROM blocks WHERE key >= ?1 AND key < ?2 ORDER BY key", "ii", first,
		first + PAYLOAD_PARTS_MAX);
	int r;

	buf_clear(body);
	while ((r = query_step(q)) == 1)
		buf_add_str(body, query_str(q, 0));
	query_reset(q);
	if (r < 0)
		return r;
	return packer_unpack_from(s->packer, buf_str(body), (unsigned)(ref % PAYLOAD_BLOCK_MAX), ret);
}

static int text_of(struct store *s, sqlite3_value *v, str *ret)
{
	switch (sqlite3_value_type(v)) {
	case SQLITE_INTEGER: return read_from_block(s, sqlite3_value_int64(v), ret);
	case SQLITE_BLOB: return packer_unpack(s->packer, bytes_of(v), ret);
	default: *ret = bytes_of(v); return 0;
	}
}

/* payload_text(x): JSON, whichever way it is stored. Damaged bytes are NULL, which readers take for none. */
static void sql_text(sqlite3_context *q, int n, sqlite3_value **v)
{
	str text;
	int r = text_of(sqlite3_user_data(q), v[0], &text);

	(void)n;
	if (r == 0)
		sqlite3_result_text64(q, text.p, text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
	else if (r == -EBADMSG || ((struct store *)sqlite3_user_data(q))->still)
		sqlite3_result_null(q);
	else
		sqlite3_result_error_code(q, sqlite3_extended_errcode(sqlite3_context_db_handle(q)));
}

/* payload_bytes(x): how long that is. */
static void sql_bytes(sqlite3_context *q, int n, sqlite3_value **v)
{
	str text = STR_NONE;

	(void)n;
	if (sqlite3_value_type(v[0]) == SQLITE_BLOB)
		sqlite3_result_int64(q, payload_size(bytes_of(v[0])));
	else
		sqlite3_result_int64(q, text_of(sqlite3_user_data(q), v[0], &text) == 0 ? (int64_t)text.n : 0);
}

/* payload_pack(x): stored by itself; for migrations, and for one that leaves its block. */
static void sql_pack(sqlite3_context *q, int n, sqlite3_value **v)
{
	struct store *s = sqlite3_user_data(q);
	bool in_block = sqlite3_value_type(v[0]) == SQLITE_INTEGER;
	str text, packed;
	int r = 0;

	(void)n;
	if (sqlite3_value_type(v[0]) == SQLITE_BLOB) {
		sqlite3_result_value(q, v[0]);
		return;
	}
	r = text_of(s, v[0], &text);
	/* What cannot be read stays as it is: it may be read by other means. */
	if (r == -EBADMSG)
		sqlite3_result_value(q, v[0]);
	else if (r < 0)
		sqlite3_result_error_code(q, sqlite3_extended_errcode(sqlite3_context_db_handle(q)));
	else if (packer_pack(s->packer, text, &packed))
		sqlite3_result_blob64(q, packed.p, packed.n, SQLITE_TRANSIENT);
	else if (in_block)
		sqlite3_result_text64(q, text.p, text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		sqlite3_result_value(q, v[0]);
}

/* ulid_text(x): a key as people write it. */
static void sql_ulid(sqlite3_context *q, int n, sqlite3_value **v)
{
	str bytes = sqlite3_value_type(v[0]) == SQLITE_BLOB ? bytes_of(v[0]) : STR_NONE;
	char text[ULID_TEXT + 1];
	struct ulid id;

	(void)n;
	if (bytes.n != ULID_BYTES) {
		sqlite3_result_null(q);
		return;
	}
	memcpy(id.b, bytes.p, ULID_BYTES);
	ulid_format(&id, text);
	sqlite3_result_text(q, text, ULID_TEXT, SQLITE_TRANSIENT);
}

/* apart(x, y): x - y, a time as a difference. What is too far apart for that is taken for the same. */
static void sql_apart(sqlite3_context *q, int n, sqlite3_value **v)
{
	int64_t apart;

	(void)n;
	if (sqlite3_value_type(v[0]) == SQLITE_NULL || sqlite3_value_type(v[1]) == SQLITE_NULL)
		sqlite3_result_null(q);
	else if (__builtin_sub_overflow(sqlite3_value_int64(v[0]), sqlite3_value_int64(v[1]), &apart))
		sqlite3_result_int64(q, 0);
	else
		sqlite3_result_int64(q, apart);
}

int store_add_functions(struct store *s)
{
	static const struct {
		const char *name;
		int n;
		void (*run)(sqlite3_context *q, int n, sqlite3_value **v);
	} functions[] = { { "payload_text", 1, sql_text }, { "payload_bytes", 1, sql_bytes },
		{ "payload_pack", 1, sql_pack }, { "ulid_text", 1, sql_ulid }, { "apart", 2, sql_apart } };
	int rc = SQLITE_OK;

	s->packer = packer_new();
	for (size_t i = 0; i < countof(functions) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function(s->db, functions[i].name, functions[i].n,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, s, functions[i].run, NULL, NULL);
	return store_errno(rc);
}

void query_bind_payload(struct query *q, int at, str text)
{
	str packed;

	/* Its bytes stay where they are until the next payload is packed, after this one has been stored. */
	if (q && packer_pack(q->store->packer, text, &packed))
		query_bind_blob(q, at, packed.p, packed.n);
	else
		query_bind_str(q, at, text);
}
