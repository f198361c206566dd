#include "client/client.h"

/* The first few bytes decide whether there will be an end to look for. */
static enum scanner_state first_bytes(struct scanner *s, char c)
{
	switch (s->state) {
	case SCAN_START:
		if (c == '\xEF')
			return SCAN_MARK_2;
		break;
	case SCAN_MARK_2: return c == '\xBB' ? SCAN_MARK_3 : SCAN_OTHER;
	case SCAN_MARK_3: return c == '\xBF' ? SCAN_BLANK : SCAN_OTHER;
	default: break;
	}
	if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
		return SCAN_BLANK;
	if (c != '{' && c != '[')
		return SCAN_OTHER;
	s->depth = 1;
	return SCAN_PLAIN;
}

static enum scanner_state plain_byte(struct scanner *s, char c)
{
	switch (c) {
	case '"': return SCAN_STRING;
	case '{':
	case '[': s->depth++; return SCAN_PLAIN;
	case '}':
	case ']': return --s->depth ? SCAN_PLAIN : SCAN_DONE;
	default: return SCAN_PLAIN;
	}
}

size_t scanner_feed(struct scanner *s, const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && s->state != SCAN_DONE) {
		switch (s->state) {
		case SCAN_PLAIN: s->state = plain_byte(s, p[i++]); break;
		case SCAN_STRING:
			/* Nearly all bytes of a large payload are here, so no state is written
			 * for them. */
			while (i < n && p[i] != '"' && p[i] != '\\')
				i++;
			if (i < n)
				s->state = p[i++] == '"' ? SCAN_PLAIN : SCAN_ESCAPE;
			break;
		case SCAN_ESCAPE:
			i++;
			s->state = SCAN_STRING;
			break;
		case SCAN_OTHER: return n;
		default: s->state = first_bytes(s, p[i++]); break;
		}
	}
	return i;
}
