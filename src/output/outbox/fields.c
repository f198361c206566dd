#include "outbox/fields.h"

#define POSTS (1 << SINK_WEBHOOK | 1 << SINK_OTLP | 1 << SINK_NTFY | 1 << SINK_SLACK)
#define ANY ((1 << SINK_TYPE_MAX) - 1)
#define WRITES_ALL (1 << SINK_WEBHOOK | 1 << SINK_EXEC | 1 << SINK_FILE | 1 << SINK_OTLP)
#define AT(member) offsetof(struct sink, member)

const struct sink_field sink_fields[] = {
	{ "name", SINK_FIELD_NAME, AT(name), ANY, ANY, .text = "from 1 to 32 small letters, digits, - and _" },
	{ "type", SINK_FIELD_TYPE, AT(type), ANY, ANY,
		.text = "\"webhook\", \"exec\", \"file\", \"otlp\", \"ntfy\" or \"slack\"" },
	{ "enabled", SINK_FIELD_BOOL, AT(enabled), ANY, .text = "true or false" },
	{ "events", SINK_FIELD_EVENTS, AT(types), ANY,
		.text = "a list of names: session_start, prompt, stop, notification, session_end, error, or events by "
			"their own names (PostToolUse)" },
	{ "expires", SINK_FIELD_INT, AT(expires_s), ANY, .minimum = 1, .maximum = INT64_C(253402300799),
		.text = "seconds since 1970" },
	{ "when", SINK_FIELD_WHEN, AT(when), ANY, .text = "an object with type, agent, project and properties" },
	{ "timeout", SINK_FIELD_INT, AT(timeout_s), ANY & ~(1 << SINK_FILE), .minimum = 1, .maximum = 120,
		.text = "a whole number of seconds from 1 to 120" },
	{ "transcript", SINK_FIELD_FORM, AT(markdown), WRITES_ALL, .text = "\"markdown\" or \"none\"" },
	{ "url", SINK_FIELD_URL, AT(url), POSTS, POSTS, .text = "an address: https, or http on this machine" },
	{ "headers", SINK_FIELD_HEADERS, AT(headers), POSTS,
		.text = "an object of at most 4 names and texts, each of one line" },
	{ "secret_file", SINK_FIELD_FILE, AT(secret_file), 1 << SINK_WEBHOOK,
		.text = "an absolute path, or one from ~/, of a file that holds the secret" },
	{ "token_file", SINK_FIELD_FILE, AT(token_file), POSTS,
		.text = "an absolute path, or one from ~/, of a file that holds the token" },
	{ "command", SINK_FIELD_COMMAND, AT(command), 1 << SINK_EXEC, 1 << SINK_EXEC,
		.text = "a list of texts: a program by its absolute path, or one from ~/, and its arguments" },
	{ "path", SINK_FIELD_FILE, AT(path), 1 << SINK_FILE, 1 << SINK_FILE,
		.text = "an absolute path, or one from ~/, of a file" },
	{ "max_mb", SINK_FIELD_INT, AT(max_mb), 1 << SINK_FILE, .minimum = 1, .maximum = 4096,
		.text = "a whole number from 1 to 4096" },
	{ 0 },
};

#define ANY_IN ((1 << INBOUND_TYPE_MAX) - 1)
#define IN(member) offsetof(struct inbound, member)

const struct sink_field inbound_fields[] = {
	{ "name", SINK_FIELD_NAME, IN(name), ANY_IN, ANY_IN, .text = "from 1 to 32 small letters, digits, - and _" },
	{ "type", SINK_FIELD_KIND, IN(type), ANY_IN, ANY_IN, .text = "\"generic\" or \"github\"" },
	{ "enabled", SINK_FIELD_BOOL, IN(enabled), ANY_IN, .text = "true or false" },
	{ "secret_file", SINK_FIELD_FILE, IN(secret_file), ANY_IN, ANY_IN,
		.text = "an absolute path, or one from ~/, of a file that holds the secret" },
	{ "events", SINK_FIELD_TEST, IN(events), ANY_IN, .text = "a list of types, with * for anything" },
	{ "when", SINK_FIELD_WHEN, IN(when), ANY_IN, .text = "an object with type and properties" },
	{ "to", SINK_FIELD_TO, IN(to), ANY_IN, .text = "an object with session, agent and project" },
	{ 0 },
};
