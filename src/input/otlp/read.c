/* What both forms share. */
#include "otlp/otlp.h"

int otlp_read(str body, enum otlp_type type, struct otlp_reading *reading)
{
	reading->records = 0;
	return type == OTLP_JSON ? otlp_read_json(body, reading) : otlp_read_protobuf(body, reading);
}

const struct otlp_attribute *otlp_find(const struct otlp_record *r, str key)
{
	for (size_t i = 0; i < r->nattributes; i++)
		if (str_eq(r->attributes[i].key, key))
			return &r->attributes[i];
	return NULL;
}

str otlp_text(const struct otlp_record *r, const char *key)
{
	const struct otlp_attribute *a = otlp_find(r, str_of(key));

	return a && a->type == OTLP_TEXT ? a->text : STR_NONE;
}

bool otlp_number(const struct otlp_record *r, const char *key, int64_t *ret)
{
	const struct otlp_attribute *a = otlp_find(r, str_of(key));

	if (a && a->type == OTLP_TEXT)
		return str_to_int(a->text, ret);
	if (!a || a->type != OTLP_INT)
		return false;
	*ret = a->number;
	return true;
}
