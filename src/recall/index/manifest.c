/* What an index consists of. A small file with a checksum; whoever reads it trusts nothing of it before that. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "index/internal.h"

enum { FORMAT = 2 };

static const char magic[8] = "hookdidx", slots_magic[8] = "hookdslt";

struct head {
	char magic[8];
	uint32_t format, checksum; /* of what follows */
	uint64_t identity;
	int64_t updated_us;
	uint64_t files, chunks, symbols, skipped, vectors;
	uint32_t encoder, nparts, next, zero;
};

struct part {
	uint32_t number, docs;
};

/* -- names ------------------------------------------------------------------------------------- */

int index_file(const char *dir, const char *name, char ret[FS_PATH])
{
	return fs_join(ret, dir, name);
}

int index_segment(const char *dir, uint32_t number, const char *ending, char ret[FS_PATH])
{
	char name[64];

	snprintf(name, sizeof name, "%06u.%s", number, ending);
	return fs_join(ret, dir, name);
}

int code_directory(const char *dir, const char *root, char ret[FS_PATH])
{
	enum { NAME_HEX = 24 };
	char hex[SHA256_HEX + 1];
	uint8_t digest[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, root, strlen(root));
	sha256_end(&s, digest);
	sha256_hex(digest, hex);
	hex[NAME_HEX] = 0;
	return fs_join(ret, dir, hex);
}

/* -- the manifest ------------------------------------------------------------------------------ */

static size_t dead_bytes(uint32_t docs)
{
	return docs / 8 + 1;
}

void manifest_release(struct manifest *m)
{
	for (size_t i = 0; i < m->nparts; i++)
		free(m->parts[i].dead);
	m->nparts = 0;
}

void manifest_format(const struct manifest *m, struct buf *ret)
{
	struct head head = { .format = FORMAT,
		.identity = m->identity,
		.updated_us = m->updated_us,
		.files = m->files,
		.chunks = m->chunks,
		.symbols = m->symbols,
		.skipped = m->skipped,
		.vectors = m->vectors,
		.encoder = m->encoder,
		.next = m->next,
		.nparts = (uint32_t)m->nparts };
	size_t from = offsetof(struct head, checksum) + sizeof head.checksum;

	memcpy(head.magic, magic, sizeof magic);
	buf_add(ret, &head, sizeof head);
	for (size_t i = 0; i < m->nparts; i++) {
		struct part p = { m->parts[i].number, m->parts[i].docs };

		buf_add(ret, &p, sizeof p);
		buf_add(ret, m->parts[i].dead, dead_bytes(p.docs));
	}
	head.checksum = crc32c(0, ret->p + from, ret->len - from);
	memcpy(ret->p, &head, sizeof head);
}

static bool take_part(str *rest, struct manifest_part *ret)
{
	struct part p;

	if (rest->n < sizeof p)
		return false;
	memcpy(&p, rest->p, sizeof p);
	*rest = str_from(*rest, sizeof p);
	if (p.docs > SEGMENT_DOCS_MAX || rest->n < dead_bytes(p.docs))
		return false;
	*ret = (struct manifest_part){ p.number, p.docs, xmalloc(dead_bytes(p.docs)) };
	memcpy(ret->dead, rest->p, dead_bytes(p.docs));
	*rest = str_from(*rest, dead_bytes(p.docs));
	return true;
}

int manifest_parse(str bytes, struct manifest *ret)
{
	struct head head;
	size_t from = offsetof(struct head, checksum) + sizeof head.checksum;
	str rest = str_from(bytes, sizeof head);

	*ret = (struct manifest){ 0 };
	if (bytes.n < sizeof head)
		return -EBADMSG;
	memcpy(&head, bytes.p, sizeof head);
	if (memcmp(head.magic, magic, sizeof magic) != 0 || head.format != FORMAT || head.nparts > SEGMENTS_MAX ||
		head.checksum != crc32c(0, bytes.p + from, bytes.n - from))
		return -EBADMSG;
	*ret = (struct manifest){ .identity = head.identity,
		.updated_us = head.updated_us,
		.files = head.files,
		.chunks = head.chunks,
		.symbols = head.symbols,
		.skipped = head.skipped,
		.vectors = head.vectors,
		.encoder = head.encoder,
		.next = head.next };
	while (ret->nparts < head.nparts && take_part(&rest, &ret->parts[ret->nparts]))
		ret->nparts++;
	if (ret->nparts == head.nparts && !rest.n)
		return 0;
	manifest_release(ret);
	return -EBADMSG;
}

int manifest_read(const char *dir, struct manifest *ret)
{
	struct buf b = BUF_INIT(MIB(4));
	char path[FS_PATH];
	int r = index_file(dir, "manifest", path);

	*ret = (struct manifest){ 0 };
	if (r == 0)
		r = fs_read_file(path, &b);
	if (r == 0)
		r = manifest_parse(buf_str(&b), ret);
	buf_release(&b);
	return r;
}

/* -- which vector is whose --------------------------------------------------------------------- */

struct slots_head {
	char magic[8];
	uint32_t docs, checksum;
};

int slots_write(const char *dir, uint32_t number, const uint32_t *slots, size_t docs)
{
	struct slots_head head = { .docs = (uint32_t)docs, .checksum = crc32c(0, slots, docs * sizeof *slots) };
	struct buf b = BUF_INIT(MIB(1));
	char path[FS_PATH];
	int r = index_segment(dir, number, "slots", path);

	memcpy(head.magic, slots_magic, sizeof slots_magic);
	buf_add(&b, &head, sizeof head);
	buf_add(&b, slots, docs * sizeof *slots);
	if (r == 0)
		r = fs_replace_file(path, buf_str(&b), false);
	buf_release(&b);
	return r;
}

int slots_read(const char *dir, uint32_t number, size_t docs, uint64_t vectors, uint32_t *ret)
{
	struct buf b = BUF_INIT(MIB(1));
	struct slots_head head = { 0 };
	char path[FS_PATH];
	int r = index_segment(dir, number, "slots", path);

	if (r == 0)
		r = fs_read_file(path, &b);
	if (r == 0 && b.len == sizeof head + docs * sizeof *ret)
		memcpy(&head, b.p, sizeof head);
	if (r == 0 &&
		(memcmp(head.magic, slots_magic, sizeof slots_magic) != 0 || head.docs != docs ||
			head.checksum != crc32c(0, b.p + sizeof head, docs * sizeof *ret)))
		r = -EBADMSG;
	if (r == 0)
		memcpy(ret, b.p + sizeof head, docs * sizeof *ret);
	for (size_t i = 0; i < docs && r == 0; i++)
		ret[i] = ret[i] < vectors ? ret[i] : NO_VECTOR;
	buf_release(&b);
	return r;
}
