/* Codex's log events, in the words of its hooks. The event's name is in the attribute event.name; numbers and booleans
 * are often texts. Tools have the names that the model uses; hooks have others.
 *
 * A decision about a call comes before it and says nothing of its arguments; the result brings them. The text of a
 * prompt is there only if the user's configuration says so; without it there is nothing to tell, and the turn is known
 * by its tools. */
#include "base/clock.h"
#include "json/json.h"
#include "otlp/otlp.h"

enum { PAYLOAD_MAX = 2 * OTLP_BODY_MAX, PAYLOAD_USUAL = 2 << 10 };

struct words {
	const struct otlp_record *record;
	struct json_writer *w;
	struct arena *a;
};

/* -- tools ------------------------------------------------------------------------------------- */

/* Tools that hooks know by another name, or with one text as their input. */
static const struct tool {
	const char *native, *key; /* the argument that is the command; NULL: the arguments are not JSON but that text */
	const char *name;
} tools[] = {
	{ "exec_command", "cmd", "Bash" },
	{ "shell", "command", "Bash" },
	{ "shell_command", "command", "Bash" },
	{ "local_shell", "command", "Bash" },
	{ "container.exec", "command", "Bash" },
	{ "apply_patch", "input", "apply_patch" },
};

static const struct tool *find_tool(str name)
{
	for (size_t i = 0; i < countof(tools); i++)
		if (str_eq(name, str_of(tools[i].native)))
			return &tools[i];
	return NULL;
}

/* A server's tool has the server in its name; a namespace and its tool are joined. */
static str tool_name(const struct words *k)
{
	str name = otlp_text(k->record, "tool_name"), space = otlp_text(k->record, "tool_namespace"),
	    server = otlp_text(k->record, "mcp_server");
	const struct tool *tool = find_tool(name);

	if (tool)
		return str_of(tool->name);
	if (str_starts(name, STR("mcp__")))
		return name;
	if (str_starts(space, STR("mcp__")))
		return arena_strf(k->a, STR_FMT "%s" STR_FMT, STR_ARG(space), str_ends(space, STR("__")) ? "" : "__",
			STR_ARG(name));
	if (!str_empty(server))
		return arena_strf(k->a, "mcp__" STR_FMT "__" STR_FMT, STR_ARG(server), STR_ARG(name));
	if (!str_empty(space) && !str_eq(space, STR("functions")))
		return arena_strf(k->a, STR_FMT STR_FMT, STR_ARG(space), STR_ARG(name));
	return name;
}

static void write_command(struct json_writer *w, str command)
{
	jw_object(w);
	jw_field_str(w, "command", command);
	jw_end_object(w);
}

/* The words of a command, which some of its tools take one by one. */
static str join(struct arena *a, const struct json *words)
{
	str all = STR("");

	if (words->type == JSON_STRING)
		return words->text;
	json_each(word, words)
		all = all.n ? arena_strf(a, STR_FMT " " STR_FMT, STR_ARG(all), STR_ARG(json_str(word)))
			    : arena_str(a, json_str(word));
	return all;
}

static void write_input(const struct words *k)
{
	str text = otlp_text(k->record, "arguments");
	const struct tool *tool = find_tool(otlp_text(k->record, "tool_name"));
	const struct json *command;
	struct json *input = NULL;

	if (str_empty(text))
		return;
	jw_key(k->w, "tool_input");
	if (json_parse(k->a, text, JSON_LENIENT_UTF8, &input, NULL) < 0 || input->type != JSON_OBJECT) {
		if (tool)
			write_command(k->w, text);
		else
			jw_str(k->w, text);
		return;
	}
	command = tool ? json_get(input, str_of(tool->key)) : NULL;
	if (command)
		write_command(k->w, join(k->a, command));
	else
		jw_value(k->w, input);
}

/* Hooks get the bare output of a command; here it has a head, which says how it ended. */
static str bare_output(str output, bool *ret_failed)
{
	static const str mark = STR("\nOutput:\n"), code = STR("Process exited with code ");
	ptrdiff_t end = str_find(output, mark), at;
	str head = str_head(output, end < 0 ? 0 : (size_t)end), line;
	int64_t number = 0;

	at = str_find(head, code);
	if (at < 0)
		return output;
	head = str_from(head, (size_t)at + code.n);
	if (str_split(&head, '\n', &line) && str_to_int(str_trim(line), &number) && number != 0)
		*ret_failed = true;
	return str_from(output, (size_t)end + mark.n);
}

static bool is_false(const struct otlp_attribute *a)
{
	return a && (a->type == OTLP_TEXT ? str_eq(a->text, STR("false")) : a->type == OTLP_BOOL && !a->number);
}

/* -- events ------------------------------------------------------------------------------------ */

static bool write_start(const struct words *k)
{
	jw_field_str(k->w, "source", STR("startup"));
	jw_field_str(k->w, "model", otlp_text(k->record, "model"));
	return true;
}

static bool write_prompt(const struct words *k)
{
	str prompt = otlp_text(k->record, "prompt");

	if (str_empty(prompt) || str_eq(prompt, STR("[REDACTED]")))
		return false;
	jw_field_str(k->w, "prompt", prompt);
	return true;
}

static bool write_call(const struct words *k)
{
	str name = tool_name(k);

	if (str_empty(name))
		return false;
	jw_field_str(k->w, "tool_name", name);
	jw_field_str(k->w, "tool_use_id", otlp_text(k->record, "call_id"));
	return true;
}

static bool write_decision(const struct words *k)
{
	str decision = otlp_text(k->record, "decision");

	jw_field_str(k->w, "decision", decision);
	return write_call(k);
}

static bool write_result(const struct words *k)
{
	bool failed = is_false(otlp_find(k->record, STR("success")));
	str output = bare_output(otlp_text(k->record, "output"), &failed);
	int64_t ms;

	if (!write_call(k))
		return false;
	write_input(k);
	jw_field_str(k->w, "tool_response", output);
	jw_field_bool(k->w, "success", !failed);
	if (failed)
		jw_field_str(k->w, "error", str_cut_utf8(output, 2000));
	if (otlp_number(k->record, "duration_ms", &ms) && ms >= 0)
		jw_field_int(k->w, "duration_ms", ms);
	return true;
}

static int64_t tokens(const struct words *k, const char *key)
{
	int64_t n = 0;

	return otlp_number(k->record, key, &n) && n > 0 ? n : 0;
}

/* The end of an answer says what it cost; what was cached is part of the input. */
static bool write_usage(const struct words *k)
{
	int64_t read = tokens(k, "cached_token_count"), written = tokens(k, "cache_write_token_count");
	int64_t input = tokens(k, "input_token_count"), output = tokens(k, "output_token_count");

	if (!str_eq(otlp_text(k->record, "event.kind"), STR("response.completed")) || (!input && !output))
		return false;
	jw_field_str(k->w, "model", otlp_text(k->record, "model"));
	jw_field_int(k->w, "input_tokens", input > read + written ? input - read - written : 0);
	jw_field_int(k->w, "cache_read_tokens", read);
	jw_field_int(k->w, "cache_write_tokens", written);
	jw_field_int(k->w, "output_tokens", output);
	jw_field_int(k->w, "reasoning_tokens", tokens(k, "reasoning_token_count"));
	return true;
}

static const struct row {
	const char *name;
	bool (*write)(const struct words *k); /* false: nothing that a hook would report */
	bool is_usage;
} rows[] = {
	{ "codex.conversation_starts", write_start },
	{ "codex.user_prompt", write_prompt },
	{ "codex.tool_decision", write_decision },
	{ "codex.tool_result", write_result },
	{ "codex.sse_event", write_usage, true },
};

/* -- all of it --------------------------------------------------------------------------------- */

static const struct row *find_row(const struct otlp_record *r)
{
	str name = otlp_text(r, "event.name");

	for (size_t i = 0; i < countof(rows); i++)
		if (str_eq(name, str_of(rows[i].name)))
			return &rows[i];
	return NULL;
}

/* The key: what it says, and when, to the nanosecond; the same from both encodings. */
static void set_id(const struct otlp_record *r, str said, struct otlp_hook *ret)
{
	uint64_t ns = r->time_ns ? r->time_ns : r->observed_ns;
	uint8_t hash[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, &ns, sizeof ns);
	sha256_add(&s, ret->event, strlen(ret->event) + 1);
	sha256_add(&s, said.p, said.n);
	sha256_end(&s, hash);
	ret->at_us = (int64_t)(ns / 1000);
	ret->id = ulid_from(ret->at_us / USEC_PER_MSEC, hash);
}

bool otlp_hook(const struct otlp_record *r, struct arena *a, struct otlp_hook *ret)
{
	const struct row *row = find_row(r);
	str session = otlp_text(r, "conversation.id");
	struct buf b = BUF_INIT(PAYLOAD_MAX);
	struct json_writer w = JSON_WRITER(&b);
	struct words k = { r, &w, a };
	char id[ULID_TEXT + 1];
	bool told;

	if (!row || str_empty(session))
		return false;
	(void)buf_reserve(&b, PAYLOAD_USUAL);
	*ret = (struct otlp_hook){ .agent = "codex", .event = row->name, .is_usage = row->is_usage };
	jw_object(&w);
	jw_field_str(&w, "session_id", session);
	told = row->write(&k);
	if (told)
		set_id(r, buf_str(&b), ret);
	if (told && row->is_usage) {
		ulid_format(&ret->id, id);
		jw_field_str(&w, "message_id", arena_strf(a, OTLP_MESSAGE "%s", id));
	}
	jw_end_object(&w);
	told = told && !b.full;
	if (told)
		ret->payload = arena_str(a, buf_str(&b));
	buf_release(&b);
	return told;
}
