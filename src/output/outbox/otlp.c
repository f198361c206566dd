/* OpenTelemetry: one log record, as the collector's HTTP endpoint takes it in JSON. What the ordinary body has, the
 * record has as attributes. */
#include "outbox/internal.h"

#include <stdio.h>

enum { SEVERITY_INFO = 9, SEVERITY_ERROR = 17 };

static void add_value(struct json_writer *w, const char *key, str text)
{
	jw_key(w, key);
	jw_object(w);
	jw_field_str(w, "stringValue", text);
	jw_end_object(w);
}

static void add_attribute(struct json_writer *w, const char *prefix, str key, str text)
{
	char name[LIMIT_NAME];

	snprintf(name, sizeof name, "%s" STR_FMT, prefix, STR_ARG(key));
	jw_object(w);
	jw_field_str(w, "key", str_of(name));
	add_value(w, "value", text);
	jw_end_object(w);
}

/* Texts as they are, everything else as its JSON. */
static void add_members(struct json_writer *w, const char *prefix, const struct json *object)
{
	struct buf b = BUF_INIT(OUTBOX_BODY);

	json_each(m, object) {
		if (str_eq(m->key, STR("data")))
			continue;
		buf_clear(&b);
		if (m->type != JSON_STRING)
			json_write(&b, m);
		add_attribute(w, prefix, m->key, m->type == JSON_STRING ? m->text : buf_str(&b));
	}
	buf_release(&b);
}

static void add_record(struct json_writer *w, const struct outbox_notice *n, const struct json *body)
{
	bool error = n->meaning.type == OUTBOX_ERROR;
	struct buf line = BUF_INIT(KIB(2));
	char when[32], name[DELIVERY_TYPE + 8];

	snprintf(when, sizeof when, "%lld000", (long long)n->at_us);
	snprintf(name, sizeof name, "hookd." STR_FMT, STR_ARG(n->type));
	notice_headline(n, &line);
	jw_object(w);
	jw_field_str(w, "timeUnixNano", str_of(when));
	jw_field_str(w, "observedTimeUnixNano", str_of(when));
	jw_field_int(w, "severityNumber", error ? SEVERITY_ERROR : SEVERITY_INFO);
	jw_field_str(w, "severityText", error ? STR("ERROR") : STR("INFO"));
	jw_field_str(w, "eventName", str_of(name));
	add_value(w, "body", buf_str(&line));
	jw_key(w, "attributes");
	jw_array(w);
	add_members(w, "hookd.", body);
	add_members(w, "hookd.data.", json_get(body, STR("data")));
	jw_end_array(w);
	jw_end_object(w);
	buf_release(&line);
}

static void write_all(struct buf *ret, const struct outbox_notice *n, const struct json *body)
{
	struct json_writer w = JSON_WRITER(ret);

	jw_object(&w);
	jw_key(&w, "resourceLogs");
	jw_array(&w);
	jw_object(&w);
	jw_key(&w, "resource");
	jw_object(&w);
	jw_key(&w, "attributes");
	jw_array(&w);
	add_attribute(&w, "", STR("service.name"), STR("hookd"));
	jw_end_array(&w);
	jw_end_object(&w);
	jw_key(&w, "scopeLogs");
	jw_array(&w);
	jw_object(&w);
	jw_key(&w, "scope");
	jw_object(&w);
	jw_field_str(&w, "name", STR("hookd"));
	jw_field_str(&w, "version", STR(HOOKD_VERSION));
	jw_end_object(&w);
	jw_key(&w, "logRecords");
	jw_array(&w);
	add_record(&w, n, body);
	jw_end_array(&w);
	jw_end_object(&w);
	jw_end_array(&w);
	jw_end_object(&w);
	jw_end_array(&w);
	jw_end_object(&w);
}

void write_otlp(const struct sink *s, const struct outbox_notice *n, struct buf *ret)
{
	struct buf body = BUF_INIT(OUTBOX_BODY);
	struct json *root;
	struct arena a;

	(void)s;
	arena_init(&a);
	for (unsigned level = 0; level < NOTICE_LEVELS; level++) {
		buf_clear(ret);
		buf_clear(&body);
		ret->full = body.full = false;
		notice_write_at(n, level, &body);
		arena_reset(&a);
		if (!body.full && json_parse(&a, buf_str(&body), 0, &root, NULL) == 0)
			write_all(ret, n, root);
		if (!body.full && !ret->full)
			break;
	}
	arena_release(&a);
	buf_release(&body);
}
