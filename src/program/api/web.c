/* The thread, and the way of a call: web's loop → daemon's loop → web's loop. */
#include "api/web.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/ops.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "config/owner.h"
#include "os/os.h"

struct web {
	struct api *api;
	const struct paths *paths;
	struct loop *main, *loop;
	struct http_server *http;
	pthread_t thread;
	bool running;
	unsigned wanted_port;
	struct door door;
	struct web_call *calls; /* the web's thread */
	_Atomic unsigned streams;
	bool processing; /* the daemon's loop */
};

struct api *web_api(struct web *w)
{
	return w->api;
}

struct door *web_door(struct web *w)
{
	return &w->door;
}

bool *web_processing(struct web *w)
{
	return &w->processing;
}

/* -- calls ------------------------------------------------------------------------------------- */

static void call_free(struct web_call *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		c->web->calls = c->next;
	if (c->next)
		c->next->prev = c->prev;
	buf_release(&c->body);
	arena_release(&c->arena);
	free(c);
}

/* The web's thread. */
static void deliver(void *arg)
{
	struct web_call *c = arg;
	struct http_state state;

	if (c->route->flags & ROUTE_STREAM && c->status == 200)
		http_stream(c->conn);
	else
		http_answer(c->conn,
			&(struct http_answer){ .status = c->body.full ? 500 : c->status,
				.type = c->type,
				.fields = c->fields[0] ? c->fields : NULL,
				.late_ms = c->guessed ? door_count_guess(&c->web->door) : 0,
				.body = buf_str(&c->body) });
	http_get_state(c->web->http, &state);
	c->web->streams = state.streams;
	call_free(c);
}

void web_done(struct web_call *c)
{
	loop_post(c->web->loop, deliver, c);
}

void web_fail(struct web_call *c, int status, const char *error)
{
	struct json_writer w = JSON_WRITER(&c->body);

	c->status = status;
	c->type = "application/json";
	buf_clear(&c->body);
	jw_object(&w);
	jw_field_str(&w, "error", str_of(error));
	jw_end_object(&w);
	web_done(c);
}

/* The daemon's loop. */
static void run(void *arg)
{
	struct web_call *c = arg;

	c->route->run(c);
}

/* The web's thread. */
static void on_request(struct http_conn *conn, const struct http_request *r, void *arg)
{
	struct web *w = arg;
	struct web_call *c = xcalloc(1, sizeof *c);
	const char *allow;

	c->web = w;
	c->conn = conn;
	c->request = r;
	c->route = route_find(r->head.method, r->head.path, &allow);
	c->status = 200;
	buf_init(&c->body, 3 * LIMIT_RPC_REPLY);
	c->next = w->calls;
	if (w->calls)
		w->calls->prev = c;
	w->calls = c;
	loop_post(w->main, run, c);
}

static int on_admit(const struct http_head *h, enum http_door way, struct http_terms *ret, void *arg)
{
	return door_admit(&((struct web *)arg)->door, h, way, ret);
}

/* -- events ------------------------------------------------------------------------------------ */

struct push {
	struct web *web;
	struct buf text;
};

static void push(void *arg)
{
	struct push *p = arg;
	struct http_state state;

	http_push(p->web->http, buf_str(&p->text));
	http_get_state(p->web->http, &state);
	p->web->streams = state.streams;
	buf_release(&p->text);
	free(p);
}

void web_tell(const struct record *r, void *arg)
{
	struct web *w = arg;
	struct push *p;
	struct json_writer out;
	char id[ULID_TEXT + 1];

	if (!w->streams)
		return;
	p = xcalloc(1, sizeof *p);
	p->web = w;
	buf_init(&p->text, KIB(8) + (r->kind == EVENT_OUTPUT ? r->payload.n : 0));
	ulid_format(&r->id, id);
	buf_addf(&p->text, "id: %s\ndata: ", id);
	out = (struct json_writer)JSON_WRITER(&p->text);
	jw_object(&out);
	jw_field_str(&out, "id", str_of(id));
	jw_field_int(&out, "at_us", r->at_us);
	jw_field_str(&out, "agent", r->agent);
	jw_field_str(&out, "session", r->session);
	jw_field_str(&out, "event", str_of(event_kinds[r->kind].name));
	jw_field_str(&out, "tool", r->tool_name);
	if (r->kind == EVENT_OUTPUT) {
		jw_key(&out, "output");
		jw_raw(&out, r->payload);
	}
	jw_end_object(&out);
	buf_add_str(&p->text, STR("\n\n"));
	loop_post(w->loop, push, p);
}

bool web_is_followed(const struct web *w)
{
	return w && w->streams;
}

void web_announce(struct web *w, const char *name, str json)
{
	struct push *p;

	if (!w->streams)
		return;
	p = xcalloc(1, sizeof *p);
	p->web = w;
	buf_init(&p->text, KIB(8));
	buf_addf(&p->text, "event: %s\ndata: " STR_FMT "\n\n", name, STR_ARG(json));
	loop_post(w->loop, push, p);
}

/* -- TCP on demand ----------------------------------------------------------------------------- */

struct opening {
	struct web *web;
	struct request *later;
	int failed;
};

static void write_address(struct web *w, struct json_writer *out)
{
	char address[64], code[WEB_CODE + 1] = "";

	snprintf(address, sizeof address, "http://127.0.0.1:%u", w->door.port);
	jw_object(out);
	jw_field_str(out, "address", w->door.port ? str_of(address) : STR_NONE);
	jw_field_str(out, "unix", str_of(w->paths->api_socket));
	if (w->door.port && door_new_code(&w->door, code))
		jw_field_str(out, "code", str_of(code));
	jw_end_object(out);
}

/* The daemon's loop. */
static void opened(void *arg)
{
	struct opening *o = arg;
	struct buf b = BUF_INIT(KIB(8));
	struct json_writer out = JSON_WRITER(&b);

	write_address(o->web, &out);
	op_finish(o->later, buf_str(&b));
	buf_release(&b);
	free(o);
}

/* Where scripts find it without asking. */
static void write_address_file(struct web *w)
{
	char text[64], path[FS_PATH];

	snprintf(text, sizeof text, "http://127.0.0.1:%u\n", w->door.port);
	if (fs_join(path, w->paths->run, "http.address") == 0)
		(void)fs_replace_file(path, str_of(text), false);
}

static int listen_tcp(struct web *w)
{
	unsigned port = 0;
	int r;

	if (w->door.port)
		return 0;
	r = http_listen_tcp(w->http, w->wanted_port, &port);
	if (r == -EADDRINUSE)
		r = http_listen_tcp(w->http, 0, &port);
	if (r < 0) {
		log_error(LOG_API, "cannot listen on 127.0.0.1: %s", strerror(-r));
		return r;
	}
	w->door.port = port;
	write_address_file(w);
	log_info(LOG_API, "HTTP at http://127.0.0.1:%u", port);
	return 0;
}

/* The web's thread. */
static void open_tcp(void *arg)
{
	struct opening *o = arg;

	o->failed = listen_tcp(o->web);
	loop_post(o->web->main, opened, o);
}

int op_http(struct op_call *call)
{
	struct web *w = call->ctx->web ? *call->ctx->web : NULL;
	struct opening *o;

	if (!w)
		return err_set(call->err, -ENOTSUP, "HTTP is not available; see: hookd logs");
	o = xcalloc(1, sizeof *o);
	*o = (struct opening){ .web = w, .later = call->later };
	if (op_bool(call, "open"))
		loop_post(w->loop, open_tcp, o);
	else
		loop_post(w->main, opened, o);
	return 0;
}

/* -- life -------------------------------------------------------------------------------------- */

static void *web_main(void *arg)
{
	struct web *w = arg;

	os_thread_name("hookd-http");
	loop_run(w->loop);
	return NULL;
}

static void stop(void *arg)
{
	struct web *w = arg;

	http_close_listeners(w->http);
	loop_stop(w->loop);
}

struct web *web_start(struct api *a, const struct paths *paths, const struct config *config)
{
	struct web *w = xcalloc(1, sizeof *w);
	struct http_handlers handlers = { .admit = on_admit, .request = on_request, .arg = w };
	struct err err = { 0 };
	sigset_t all, old;
	int r;

	w->api = a;
	w->paths = paths;
	w->main = api_context_of(a)->loop;
	w->wanted_port = (unsigned)config_number(config, OPTION_HTTP_PORT);
	w->door.owner = api_context_of(a)->token;
	w->loop = loop_new(0);
	pthread_mutex_init(&w->door.lock, NULL);
	w->http = http_new(w->loop, &handlers);
	r = http_listen_unix(w->http, paths->api_socket);
	if (r < 0)
		log_warn(LOG_API, "cannot listen at %s: %s", paths->api_socket, strerror(-r));
	if (owner_http_token(paths, w->door.token, &err) < 0)
		log_warn(LOG_API, "%s; over TCP nobody can log in with it", err.text);
	if (config_number(config, OPTION_HTTP_ENABLED))
		listen_tcp(w);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	w->running = pthread_create(&w->thread, NULL, web_main, w) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return w;
}

void web_stop(struct web *w)
{
	char path[FS_PATH + 16];

	if (!w || !w->running)
		return;
	loop_post(w->loop, stop, w);
	pthread_join(w->thread, NULL);
	w->running = false;
	snprintf(path, sizeof path, "%s/http.address", w->paths->run);
	if (w->door.port)
		unlink(path);
}

void web_free(struct web *w)
{
	if (!w)
		return;
	while (w->calls)
		call_free(w->calls);
	http_free(w->http);
	loop_free(w->loop);
	pthread_mutex_destroy(&w->door.lock);
	free(w);
}
