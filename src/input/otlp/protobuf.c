/* The protobuf form: a reader of the wire format that knows the few fields it needs by number.
 *
 *   ExportLogsServiceRequest  1 ResourceLogs ─ 2 ScopeLogs ─ 2 LogRecord
 *   LogRecord   1 time · 6 attribute · 11 observed time
 *   KeyValue    1 key · 2 AnyValue      AnyValue  1 text · 2 bool · 3 int · 4 double · 5 array · 6 list of KeyValue */
#include <errno.h>

#include "otlp/otlp.h"

/* What is left of one message. */
struct wire {
	const unsigned char *p, *end;
};

enum wire_kind { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct field {
	uint64_t number;
	enum wire_kind kind;
	uint64_t value;
	struct wire bytes;
};

static bool read_varint(struct wire *w, uint64_t *ret)
{
	uint64_t value = 0;

	/* Nearly all are one byte. */
	if (w->p < w->end && *w->p < 0x80) {
		*ret = *w->p++;
		return true;
	}
	for (unsigned shift = 0; shift < 70 && w->p < w->end; shift += 7) {
		unsigned char c = *w->p++;

		if (shift == 63 && c > 1)
			return false; /* the tenth byte has one bit to give */
		value |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool read_fixed(struct wire *w, unsigned bytes, uint64_t *ret)
{
	*ret = 0;
	if ((size_t)(w->end - w->p) < bytes)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		*ret |= (uint64_t)w->p[i] << 8 * i;
	w->p += bytes;
	return true;
}

static bool read_bytes(struct wire *w, struct wire *ret)
{
	uint64_t length;

	if (!read_varint(w, &length) || length > (uint64_t)(w->end - w->p))
		return false;
	*ret = (struct wire){ w->p, w->p + length };
	w->p += length;
	return true;
}

/* 1: a field; 0: the message ends; -EBADMSG. */
static int next_field(struct wire *w, struct field *f)
{
	uint64_t tag;
	bool ok;

	if (w->p == w->end)
		return 0;
	if (!read_varint(w, &tag) || tag > UINT32_MAX || !(tag >> 3))
		return -EBADMSG;
	f->number = tag >> 3;
	f->kind = (enum wire_kind)(tag & 7);
	f->value = 0;
	f->bytes = (struct wire){ NULL, NULL };
	switch (f->kind) {
	case VARINT: ok = read_varint(w, &f->value); break;
	case FIXED64: ok = read_fixed(w, 8, &f->value); break;
	case FIXED32: ok = read_fixed(w, 4, &f->value); break;
	case BYTES: ok = read_bytes(w, &f->bytes); break;
	default: ok = false; /* groups, and what is no kind */
	}
	return ok ? 1 : -EBADMSG;
}

static bool is(const struct field *f, uint64_t number, enum wire_kind kind)
{
	return f->number == number && f->kind == kind;
}

static str text_of(struct wire w)
{
	return str_n((const char *)w.p, (size_t)(w.end - w.p));
}

/* -- values ------------------------------------------------------------------------------------ */

static int read_value(struct wire w, int depth, struct otlp_attribute *ret);

/* An array of values (1 AnyValue), or a list of pairs (1 KeyValue, 2 of which is an AnyValue): only checked. */
static int check_nested(struct wire w, bool pairs, int depth)
{
	struct otlp_attribute ignored;
	struct field f;
	int r;

	if (depth > OTLP_DEPTH_MAX)
		return -E2BIG;
	while ((r = next_field(&w, &f)) == 1) {
		struct wire pair = f.bytes;

		if (!is(&f, 1, BYTES))
			continue;
		if (!pairs) {
			r = read_value(f.bytes, depth + 1, &ignored);
			if (r < 0)
				return r;
			continue;
		}
		while ((r = next_field(&pair, &f)) == 1)
			if (is(&f, 2, BYTES) && (r = read_value(f.bytes, depth + 1, &ignored)) < 0)
				return r;
		if (r < 0)
			return r;
	}
	return r;
}

static int read_value(struct wire w, int depth, struct otlp_attribute *ret)
{
	struct field f;
	int r;

	while ((r = next_field(&w, &f)) == 1) {
		if (is(&f, 1, BYTES)) {
			ret->type = OTLP_TEXT;
			ret->text = text_of(f.bytes);
		} else if (is(&f, 2, VARINT) || is(&f, 3, VARINT)) {
			ret->type = f.number == 2 ? OTLP_BOOL : OTLP_INT;
			ret->number = f.number == 2 ? f.value != 0 : (int64_t)f.value;
		} else if (f.number >= 4 && f.number <= 7) {
			ret->type = OTLP_OTHER;
			if (is(&f, 5, BYTES) || is(&f, 6, BYTES))
				r = check_nested(f.bytes, f.number == 6, depth);
			if (r < 0)
				return r;
		}
	}
	return r;
}

static int read_attribute(struct wire w, struct otlp_record *rec)
{
	struct otlp_attribute ignored, *a;
	struct field f;
	int r;

	a = rec->nattributes < OTLP_ATTRIBUTES_MAX ? &rec->attributes[rec->nattributes++] : &ignored;
	*a = (struct otlp_attribute){ .key = STR("") };
	while ((r = next_field(&w, &f)) == 1) {
		if (is(&f, 1, BYTES))
			a->key = text_of(f.bytes);
		else if (is(&f, 2, BYTES) && (r = read_value(f.bytes, 0, a)) < 0)
			return r;
	}
	return r;
}

/* -- records ----------------------------------------------------------------------------------- */

static int read_record(struct wire w, struct otlp_reading *reading)
{
	struct otlp_record rec;
	struct field f;
	int r;

	if (++reading->records > OTLP_RECORDS_MAX)
		return -E2BIG;
	rec.time_ns = rec.observed_ns = 0;
	rec.nattributes = 0;
	while ((r = next_field(&w, &f)) == 1) {
		if (is(&f, 1, FIXED64))
			rec.time_ns = f.value;
		else if (is(&f, 11, FIXED64))
			rec.observed_ns = f.value;
		else if (is(&f, 6, BYTES) && (r = read_attribute(f.bytes, &rec)) < 0)
			return r;
	}
	if (r == 0 && reading->record)
		reading->record(&rec, reading->arg);
	return r;
}

/* The messages around the records, by how deep they are: the number of the field that leads further in. */
static const uint64_t inward[] = { 1, 2, 2 };

static int read_message(struct wire w, size_t level, struct otlp_reading *reading)
{
	struct field f;
	int r;

	while ((r = next_field(&w, &f)) == 1) {
		if (!is(&f, inward[level], BYTES))
			continue;
		r = level + 1 < countof(inward) ? read_message(f.bytes, level + 1, reading)
						: read_record(f.bytes, reading);
		if (r < 0)
			return r;
	}
	return r;
}

int otlp_read_protobuf(str body, struct otlp_reading *reading)
{
	const unsigned char *p = (const unsigned char *)(body.p ? body.p : "");

	return read_message((struct wire){ p, p + body.n }, 0, reading);
}
