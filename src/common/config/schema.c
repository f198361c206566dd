/* The JSON Schema of the file, from the table. */
#include "config/config.h"
#include "config/names.h"
#include "json/json.h"

static const char *const types[] = {
	[OPTION_BOOL] = "boolean",
	[OPTION_INT] = "integer",
	[OPTION_ENUM] = "string",
	[OPTION_TEXT] = "string",
	[OPTION_LIST] = "array",
};

static void write_option(struct json_writer *w, const struct option *o)
{
	jw_object(w);
	jw_field_str(w, "description", str_of(o->text));
	jw_field_str(w, "type", str_of(types[o->type]));
	if (o->type == OPTION_INT) {
		jw_field_int(w, "minimum", o->minimum);
		jw_field_int(w, "maximum", o->maximum);
	}
	if (o->type == OPTION_ENUM) {
		jw_key(w, "enum");
		jw_array(w);
		for (size_t i = 0; o->choices[i]; i++)
			jw_str(w, str_of(o->choices[i]));
		jw_end_array(w);
	}
	if (o->type == OPTION_LIST) {
		jw_key(w, "items");
		jw_raw(w, STR("{\"type\":\"string\"}"));
	}
	jw_key(w, "default");
	if (o->type == OPTION_LIST)
		jw_raw(w, STR("[]"));
	else if (o->type == OPTION_BOOL || o->type == OPTION_INT)
		jw_raw(w, str_of(o->fallback));
	else
		jw_str(w, str_of(o->fallback));
	jw_end_object(w);
}

/* A list of objects that others read. */
static void write_list(struct json_writer *w, const char *name, const char *text)
{
	jw_key(w, name);
	jw_object(w);
	jw_field_str(w, "type", STR("array"));
	jw_key(w, "items");
	jw_raw(w, STR("{\"type\":\"object\"}"));
	jw_field_str(w, "description", str_of(text));
	jw_end_object(w);
}

/* An object whose members are the options [first, end) one step further down. */
static void write_object(struct json_writer *w, size_t first, size_t end, unsigned level)
{
	bool hooks = level == 1 && str_eq(option_step(&options[first], 0), STR("hooks"));

	jw_field_str(w, "type", STR("object"));
	if (hooks)
		jw_field_str(w, "description",
			STR("Programs to run at events, by the event's name; hookd hooks validate checks them."));
	jw_field_bool(w, "additionalProperties", hooks);
	jw_key(w, "properties");
	jw_object(w);
	if (level == 0) {
		jw_key(w, "$schema");
		jw_raw(w, STR("{\"type\":\"string\"}"));
		write_list(w, "sinks", "Where events are sent, see docs/outbox.md; hookd config validate checks them.");
		write_list(w, "inbound", "What may come in, see docs/outbox.md; hookd config validate checks it.");
	}
	if (level == 1 && str_eq(option_step(&options[first], 0), STR("guard"))) {
		write_list(w, "rules", "Your own rules, see docs/guard.md; hookd guard validate checks them.");
	}
	for (size_t i = first, next; i < end; i = next) {
		next = option_group_end(i, level + 1);
		jw_key_str(w, option_step(&options[i], level));
		if (option_is_leaf(&options[i], level)) {
			write_option(w, &options[i]);
		} else {
			jw_object(w);
			write_object(w, i, next, level + 1);
			jw_end_object(w);
		}
	}
	jw_end_object(w);
}

void config_write_schema(struct buf *b)
{
	struct json_writer w = JSON_WRITER(b);

	jw_object(&w);
	jw_field_str(&w, "$schema", STR("https://json-schema.org/draft/2020-12/schema"));
	jw_field_str(&w, "title", STR("hookd config.json"));
	jw_field_str(&w, "description",
		STR("Options of hookd. The file may contain comments and a comma before a closing bracket."));
	write_object(&w, 0, OPTION_ID_MAX, 0);
	jw_end_object(&w);
}
