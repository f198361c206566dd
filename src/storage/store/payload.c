/* Payloads as they are stored: zstd with a dictionary made from typical payloads.
 *
 * events.payload is TEXT (JSON as it came, when packing gains nothing) or a BLOB: the number of the dictionary,
 * then a zstd frame that names its size. A dictionary that was ever written with stays in the table forever. Alone
 * a payload of half a kilobyte hardly shrinks; what it repeats is in other payloads, and so in the dictionary. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define ZSTD_STATIC_LINKING_ONLY /* it is linked so */
#include <zstd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "store/dictionary.h"
#include "store/internal.h"

enum {
	LEVEL = 1,
	DICTIONARY = 1, /* the one that is written with */
	PACK_MIN = 64,
	MAGIC_BYTES = 4, /* of a zstd frame */
};

static const char magic[MAGIC_BYTES] = { 0x28, (char)0xB5, 0x2F, (char)0xFD };

/* By number; shared by all threads, never freed. */
static struct {
	const unsigned char *bytes;
	const size_t *size;
	ZSTD_DDict *read;
	pthread_once_t once;
} dictionaries[] = {
	{ 0 },
	{ dictionary_1, &dictionary_1_size, NULL, PTHREAD_ONCE_INIT },
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

/* Once and for all, so it must not fail for a moment's lack of memory: no payload could be read any more. */
static void make_first(void)
{
	const ZSTD_customMem memory = { allocate, release, NULL };

	dictionaries[1].read = ZSTD_createDDict_advanced(dictionaries[1].bytes, *dictionaries[1].size, ZSTD_dlm_byRef,
		ZSTD_dct_auto, memory);
}

static const ZSTD_DDict *dictionary_of(uint8_t number)
{
	if (number == 0 || number >= countof(dictionaries))
		return NULL;
	pthread_once(&dictionaries[number].once, make_first);
	return dictionaries[number].read;
}

struct packer {
	ZSTD_CCtx *write;
	ZSTD_CDict *dictionary;
	ZSTD_DCtx *read;
	struct buf packed, text;
};

struct packer *packer_new(void)
{
	struct packer *p = xcalloc(1, sizeof *p);

	buf_init(&p->packed, ZSTD_COMPRESSBOUND(LIMIT_RECORD) + 1);
	buf_init(&p->text, LIMIT_RECORD);
	return p;
}

void packer_trim(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->write);
	ZSTD_freeCDict(p->dictionary);
	ZSTD_freeDCtx(p->read);
	buf_release(&p->packed);
	buf_release(&p->text);
	p->write = NULL;
	p->dictionary = NULL;
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

/* Which dictionary it is says the byte before the frame. */
static bool prepare_to_write(struct packer *p)
{
	ZSTD_CCtx *w = ZSTD_createCCtx();

	/* Without memory zstd 1.5.4 crashes here; we give up with a message. */
	if (!p->dictionary) {
		free(xmalloc(ZSTD_estimateCDictSize(dictionary_1_size, LEVEL) + KIB(64)));
		p->dictionary = ZSTD_createCDict(dictionary_1, dictionary_1_size, LEVEL);
	}
	if (!w || !p->dictionary || ZSTD_isError(ZSTD_CCtx_setParameter(w, ZSTD_c_dictIDFlag, 0)) ||
		ZSTD_isError(ZSTD_CCtx_refCDict(w, p->dictionary))) {
		ZSTD_freeCCtx(w);
		return false;
	}
	p->write = w;
	return true;
}

bool packer_pack(struct packer *p, str text, str *ret)
{
	size_t bound = ZSTD_compressBound(text.n), n;
	char *out;

	if (text.n < PACK_MIN || !(out = room_in(&p->packed, bound + 1)))
		return false;
	if (!p->write && !prepare_to_write(p))
		return false;
	out[0] = DICTIONARY;
	n = ZSTD_compress2(p->write, out + 1, bound, text.p, text.n);
	if (ZSTD_isError(n) || n + 1 >= text.n)
		return false;
	*ret = str_n(out, n + 1);
	return true;
}

bool payload_is_packed(str bytes)
{
	return bytes.n > 1 + MAGIC_BYTES && bytes.p[0] > 0 && (size_t)bytes.p[0] < countof(dictionaries) &&
		memcmp(bytes.p + 1, magic, MAGIC_BYTES) == 0;
}

int64_t payload_size(str packed)
{
	unsigned long long size = payload_is_packed(packed) ? ZSTD_getFrameContentSize(packed.p + 1, packed.n - 1) : 0;

	return size > LIMIT_RECORD ? 0 : (int64_t)size;
}

int packer_unpack(struct packer *p, str packed, str *ret)
{
	const ZSTD_DDict *d = payload_is_packed(packed) ? dictionary_of((uint8_t)packed.p[0]) : NULL;
	size_t size = (size_t)payload_size(packed), n;
	char *out;

	if (!d || !(out = room_in(&p->text, size + 1)))
		return -EBADMSG;
	if (!p->read && !(p->read = ZSTD_createDCtx()))
		return -ENOMEM;
	n = ZSTD_decompress_usingDDict(p->read, out, size, packed.p + 1, packed.n - 1, d);
	if (ZSTD_isError(n) || n != size)
		return -EBADMSG;
	*ret = str_n(out, n);
	return 0;
}

/* -- for SQL ----------------------------------------------------------------------------------- */

static str bytes_of(sqlite3_value *v)
{
	const char *p = sqlite3_value_blob(v); /* before its length, which may change with it */

	return str_n(p, (size_t)sqlite3_value_bytes(v));
}

/* payload_text(x): JSON, whichever way it is stored. Damaged bytes are NULL, which readers take for none. */
static void sql_text(sqlite3_context *q, int n, sqlite3_value **v)
{
	struct store *s = sqlite3_user_data(q);
	str text;

	(void)n;
	if (sqlite3_value_type(v[0]) != SQLITE_BLOB)
		sqlite3_result_value(q, v[0]);
	else if (packer_unpack(s->packer, bytes_of(v[0]), &text) == 0)
		sqlite3_result_text64(q, text.p, text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		sqlite3_result_null(q);
}

/* payload_bytes(x): how long that is, without making it. */
static void sql_bytes(sqlite3_context *q, int n, sqlite3_value **v)
{
	bool packed = sqlite3_value_type(v[0]) == SQLITE_BLOB;

	(void)n;
	sqlite3_result_int64(q, packed ? payload_size(bytes_of(v[0])) : sqlite3_value_bytes(v[0]));
}

/* payload_pack(x): as it is stored now; for migrations. */
static void sql_pack(sqlite3_context *q, int n, sqlite3_value **v)
{
	struct store *s = sqlite3_user_data(q);
	str packed;

	(void)n;
	if (sqlite3_value_type(v[0]) == SQLITE_TEXT && packer_pack(s->packer, bytes_of(v[0]), &packed))
		sqlite3_result_blob64(q, packed.p, packed.n, SQLITE_TRANSIENT);
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

int store_add_functions(struct store *s)
{
	static const struct {
		const char *name;
		void (*run)(sqlite3_context *q, int n, sqlite3_value **v);
	} functions[] = { { "payload_text", sql_text }, { "payload_bytes", sql_bytes }, { "payload_pack", sql_pack },
		{ "ulid_text", sql_ulid } };
	int rc = SQLITE_OK;

	s->packer = packer_new();
	for (size_t i = 0; i < countof(functions) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function(s->db, functions[i].name, 1,
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
