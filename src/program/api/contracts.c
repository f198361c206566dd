/* /hooks/contracts and /hooks/properties: sinks that programs add for a time, in the shape of a REST interface. Each is
 * an operation (ops_outbox.c) under another name; the owner's token opens the door and is handed on. */
#include "api/web.h"
#include "outbox/outbox.h"

static const struct {
	int code, status;
} statuses[] = { { OP_BAD_PARAMS, 400 }, { OP_NOT_OWNER, 403 }, { OP_FAILED, 409 } };

static void fail(struct web_call *c, const struct op_answer *answer)
{
	int status = 500;

	for (size_t i = 0; i < countof(statuses); i++)
		if (statuses[i].code == answer->code)
			status = statuses[i].status;
	web_fail(c, status, arena_cstr(&c->arena, answer->message));
}

static void answer_as_is(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;

	if (!answer)
		return; /* the daemon stops */
	if (answer->code) {
		fail(c, answer);
		return;
	}
	c->type = "application/json";
	buf_add_str(&c->body, answer->result);
	web_done(c);
}

static void answer_made(const struct op_answer *answer, void *arg)
{
	if (answer && !answer->code)
		((struct web_call *)arg)->status = 201;
	answer_as_is(answer, arg);
}

/* Of all sinks those that were added so. */
static void answer_contracts(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;
	struct json_writer w = JSON_WRITER(&c->body);
	struct json *parsed = NULL;

	if (!answer || answer->code) {
		answer_as_is(answer, arg);
		return;
	}
	(void)json_parse(&c->arena, answer->result, 0, &parsed, NULL);
	jw_object(&w);
	jw_key(&w, "contracts");
	jw_array(&w);
	json_each(sink, json_get(parsed, STR("sinks")))
		if (str_eq(json_str(json_get(sink, STR("origin"))), STR("api")))
			jw_value(&w, sink);
	jw_end_array(&w);
	jw_end_object(&w);
	c->type = "application/json";
	web_done(c);
}

static void ask(struct web_call *c, const char *method, const struct json *params,
	void (*done)(const struct op_answer *answer, void *arg))
{
	api_call(web_api(c->web),
		&(struct op_request){ .method = str_of(method),
			.params = params,
			.token = door_bearer(&c->request->head),
			.over_tcp = c->request->door == HTTP_TCP,
			.done = done,
			.arg = c });
}

void web_run_contracts_list(struct web_call *c)
{
	ask(c, "sinks", NULL, answer_contracts);
}

void web_run_contracts_add(struct web_call *c)
{
	struct json *params = NULL;

	if (json_parse(&c->arena, c->request->body, 0, &params, NULL) < 0 || params->type != JSON_OBJECT)
		web_fail(c, 400, "the body must be a JSON object");
	else
		ask(c, "contracts_add", params, answer_made);
}

void web_run_contracts_remove(struct web_call *c)
{
	str name = str_from(c->request->head.path, strlen(c->route->path));
	struct json *params = NULL;

	/* The door lets names pass that need no escapes. */
	(void)json_parse(&c->arena, arena_strf(&c->arena, "{\"name\":\"" STR_FMT "\"}", STR_ARG(name)), 0, &params,
		NULL);
	ask(c, "contracts_remove", params, answer_as_is);
}

/* What `events` and `when` of a contract may name. */
void web_run_properties(struct web_call *c)
{
	struct json_writer w = JSON_WRITER(&c->body);

	c->type = "application/json";
	outbox_write_vocabulary(&w);
	web_done(c);
}
