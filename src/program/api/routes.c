/* The routes of HTTP, and the handlers that need no file of their own. */
#include <stdio.h>
#include <stdlib.h>

#include "api/mcp.h"
#include "api/otlp.h"
#include "api/web.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "otlp/otlp.h"
#include "outbox/outbox.h"

/* -- health and login -------------------------------------------------------------------------- */

static void run_health(struct web_call *c)
{
	c->type = "application/json";
	buf_add_str(&c->body, STR("{\"status\":\"ok\"}"));
	web_done(c);
}

/* The code works once; from then on the cookie is the proof. */
static void run_login(struct web_call *c)
{
	char code[WEB_CODE + 2], cookie[WEB_CODE + 1];

	c->type = "text/plain; charset=utf-8";
	if (http_query_value(c->request->head.query, STR("code"), code, sizeof code) &&
		door_log_in(web_door(c->web), code, cookie)) {
		c->status = 303;
		c->type = NULL;
		snprintf(c->fields, sizeof c->fields,
			"Location: /\r\nSet-Cookie: hookd_login=%s; HttpOnly; SameSite=Strict; Path=/\r\n", cookie);
	} else {
		c->status = 403;
		c->guessed = c->request->door == HTTP_TCP;
		buf_add_str(&c->body, STR("This address has been used. Run: hookd url\n"));
	}
	web_done(c);
}

/* -- operations -------------------------------------------------------------------------------- */

static void rpc_replied(str reply, void *arg)
{
	struct web_call *c = arg;

	if (!str_is_set(reply))
		return; /* the daemon stops */
	c->type = "application/json";
	buf_add_str(&c->body, reply);
	web_done(c);
}

static void run_rpc(struct web_call *c)
{
	rpc_call(web_api(c->web), c->request->body, c->request->door == HTTP_TCP, rpc_replied, c);
}

static void mcp_answer(struct web_call *c, struct mcp *m)
{
	c->status = m->status;
	if (m->reply.len) {
		c->type = "application/json";
		buf_add_str(&c->body, buf_str(&m->reply));
	}
	mcp_release(m);
	web_done(c);
}

static void mcp_called(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;
	struct mcp *m = c->state;

	if (!answer) {
		mcp_release(m);
		return;
	}
	mcp_finish(m, answer);
	mcp_answer(c, m);
}

static void run_mcp(struct web_call *c)
{
	const struct http_head *h = &c->request->head;
	const struct mcp_headers headers = { h->mcp_version, h->mcp_method, h->mcp_name };
	struct mcp *m = arena_alloc(&c->arena, sizeof *m);

	mcp_begin(m, c->request->body, &headers);
	/* An old client names no version, or one of its time. */
	if (m->status == 200 && !m->modern && str_is_set(h->mcp_version) && !mcp_knows_version(h->mcp_version)) {
		mcp_release(m);
		web_fail(c, 400, "unsupported MCP-Protocol-Version");
		return;
	}
	c->state = m;
	if (!m->op) {
		mcp_answer(c, m);
		return;
	}
	api_call(web_api(c->web),
		&(struct op_request){ .method = str_of(m->op->name),
			.params = m->arguments,
			.scope = OP_AGENT,
			.done = mcp_called,
			.arg = c });
}

static void run_events(struct web_call *c)
{
	web_done(c);
}

/* -- the page and the counters ----------------------------------------------------------------- */

static void add_html(struct buf *b, str text)
{
	for (size_t i = 0; i < text.n; i++)
		switch (text.p[i]) {
		case '<': buf_add_str(b, STR("&lt;")); break;
		case '>': buf_add_str(b, STR("&gt;")); break;
		case '&': buf_add_str(b, STR("&amp;")); break;
		case ',': buf_add_str(b, STR(",\n")); break;
		default: buf_add_char(b, text.p[i]);
		}
}

static void page_status(const struct op_answer *answer, void *arg)
{
	struct web_call *c = arg;

	if (!answer)
		return;
	c->type = "text/html; charset=utf-8";
	snprintf(c->fields, sizeof c->fields,
		"Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; "
		"frame-ancestors 'none'\r\n");
	buf_add_str(&c->body,
		STR("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hookd</title></head>\n"
		    "<body><h1>hookd</h1>\n<p>The daemon is running. What it has captured: "
		    "<code>hookd sessions</code>, <code>hookd search</code>.</p>\n<pre>"));
	add_html(&c->body, answer->code ? answer->message : answer->result);
	buf_add_str(&c->body, STR("</pre></body></html>\n"));
	web_done(c);
}

static void run_page(struct web_call *c)
{
	api_call(web_api(c->web),
		&(struct op_request){ .method = STR("status"), .scope = OP_VIEWER, .done = page_status, .arg = c });
}

static void run_metrics(struct web_call *c)
{
	const struct api_context *ctx = api_context_of(web_api(c->web));
	struct engine_state e;
	struct writer_state w;
	struct otlp_counts o;

	otlp_get_counts(&o);
	engine_get_state(ctx->engine, &e);
	writer_get_state(ctx->writer, &w);
	c->type = "text/plain; version=0.0.4; charset=utf-8";
	buf_addf(&c->body,
		"# TYPE hookd_events_received_total counter\nhookd_events_received_total %llu\n"
		"# TYPE hookd_events_journaled_total counter\nhookd_events_journaled_total %llu\n"
		"# TYPE hookd_events_unstored_total counter\nhookd_events_unstored_total %llu\n"
		"# TYPE hookd_events_late_total counter\nhookd_events_late_total %llu\n"
		"# TYPE hookd_secrets_removed_total counter\nhookd_secrets_removed_total %llu\n"
		"# TYPE hookd_events_folded_total counter\nhookd_events_folded_total %llu\n",
		(unsigned long long)e.received, (unsigned long long)e.journaled, (unsigned long long)e.unstored,
		(unsigned long long)e.late, (unsigned long long)e.secrets, (unsigned long long)w.folded);
	buf_addf(&c->body,
		"# TYPE hookd_otlp_requests_total counter\nhookd_otlp_requests_total %llu\n"
		"# TYPE hookd_otlp_records_total counter\nhookd_otlp_records_total %llu\n"
		"# TYPE hookd_otlp_events_total counter\nhookd_otlp_events_total %llu\n"
		"# TYPE hookd_otlp_refused_total counter\nhookd_otlp_refused_total %llu\n"
		"# TYPE hookd_otlp_postponed_total counter\nhookd_otlp_postponed_total %llu\n",
		(unsigned long long)o.requests, (unsigned long long)o.records, (unsigned long long)o.events,
		(unsigned long long)o.refused, (unsigned long long)o.postponed);
	buf_add_str(&c->body, STR("# TYPE hookd_decisions_total counter\n"));
	for (int i = 0; i < VERDICT_ACTION_MAX; i++)
		buf_addf(&c->body, "hookd_decisions_total{action=\"%s\"} %llu\n", verdict_action_names[i],
			(unsigned long long)e.verdicts[i]);
	web_done(c);
}

const struct route routes[] = {
	{ "GET", "/api/health", run_health, .flags = ROUTE_OPEN },
	{ "GET", "/login", run_login, .flags = ROUTE_OPEN },
	{ "GET", "/", run_page },
	{ "GET", "/events", run_events, .flags = ROUTE_STREAM },
	{ "GET", "/metrics", run_metrics },
	{ "POST", "/rpc", run_rpc, LIMIT_RPC_LINE, ROUTE_JSON },
	{ "GET", "/api/context/inject", web_run_mem_inject },
	{ "POST", "/sessions/", web_run_mem_init, LIMIT_PAYLOAD, ROUTE_JSON | ROUTE_PREFIX },
	{ "POST", "/api/sessions/init", web_run_mem_init, LIMIT_PAYLOAD, ROUTE_JSON },
	{ "POST", "/api/sessions/observations", web_run_mem_observation, LIMIT_PAYLOAD, ROUTE_JSON },
	{ "POST", "/api/sessions/summarize", web_run_mem_summarize, LIMIT_PAYLOAD, ROUTE_JSON },
	{ "POST", "/api/sessions/complete", web_run_mem_complete, LIMIT_PAYLOAD, ROUTE_JSON },
	{ "POST", "/api/processing", web_run_mem_processing, LIMIT_RPC_LINE, ROUTE_JSON },
	{ "POST", "/api/oak/ci/", web_run_oak, LIMIT_PAYLOAD, ROUTE_JSON | ROUTE_PREFIX },
	{ "POST", "/hooks/inbound/", web_run_inbound, INBOUND_BODY, ROUTE_JSON | ROUTE_NAME | ROUTE_SIGNED },
	{ "GET", "/hooks/contracts", web_run_contracts_list, .flags = ROUTE_OWNER },
	{ "POST", "/hooks/contracts", web_run_contracts_add, LIMIT_RPC_LINE, ROUTE_JSON | ROUTE_OWNER },
	{ "DELETE", "/hooks/contracts/", web_run_contracts_remove, .flags = ROUTE_NAME | ROUTE_OWNER },
	{ "GET", "/hooks/properties", web_run_properties, .flags = ROUTE_OWNER },
	{ "POST", "/mcp", run_mcp, LIMIT_RPC_LINE, ROUTE_JSON },
	{ "POST", "/v1/logs", run_otlp_logs, OTLP_BODY_MAX, ROUTE_OTLP, OTLP_GZIP_MAX },
	{ 0 },
};
