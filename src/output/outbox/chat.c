/* Short messages for people. */
#include "outbox/internal.h"

enum { GIST = 500, TITLE = 200, PRIORITY_HIGH = 4, PRIORITY_NORMAL = 3 };

static bool is_urgent(const struct outbox_notice *n)
{
	return n->meaning.type == OUTBOX_NOTIFICATION || n->meaning.type == OUTBOX_ERROR;
}

/* Published as JSON, because its headers take no text but ASCII. The topic is the last part of the address. */
void write_ntfy(const struct sink *s, const struct outbox_notice *n, struct buf *ret)
{
	struct buf title = BUF_INIT(TITLE * 4), message = BUF_INIT(GIST * 4);
	struct json_writer w = JSON_WRITER(ret);

	notice_headline(n, &title);
	notice_gist(n, GIST, &message);
	jw_object(&w);
	jw_field_str(&w, "topic", s->topic);
	jw_field_str(&w, "title", buf_str(&title));
	jw_field_str(&w, "message", message.len ? buf_str(&message) : buf_str(&title));
	jw_field_int(&w, "priority", is_urgent(n) ? PRIORITY_HIGH : PRIORITY_NORMAL);
	jw_key(&w, "tags");
	jw_array(&w);
	jw_str(&w, n->type);
	jw_str(&w, n->agent);
	jw_end_array(&w);
	jw_end_object(&w);
	buf_release(&title);
	buf_release(&message);
}

/* These three mean something in Slack's texts: <!channel> calls everybody. */
static void add_escaped(struct buf *b, str text)
{
	for (size_t i = 0; i < text.n; i++)
		switch (text.p[i]) {
		case '&': buf_add_str(b, STR("&amp;")); break;
		case '<': buf_add_str(b, STR("&lt;")); break;
		case '>': buf_add_str(b, STR("&gt;")); break;
		default: buf_add_char(b, text.p[i]);
		}
}

void write_slack(const struct sink *s, const struct outbox_notice *n, struct buf *ret)
{
	struct buf title = BUF_INIT(TITLE * 4), gist = BUF_INIT(GIST * 4), text = BUF_INIT(KIB(16));
	struct json_writer w = JSON_WRITER(ret);

	(void)s;
	notice_headline(n, &title);
	notice_gist(n, GIST, &gist);
	add_escaped(&text, buf_str(&title));
	if (gist.len)
		buf_add_str(&text, STR("\n> "));
	add_escaped(&text, buf_str(&gist));
	jw_object(&w);
	jw_field_str(&w, "text", buf_str(&text));
	jw_end_object(&w);
	buf_release(&title);
	buf_release(&gist);
	buf_release(&text);
}
