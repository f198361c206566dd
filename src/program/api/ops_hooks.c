/* Operations on the user's hooks. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/agents.h"
#include "api/ops.h"
#include "base/clock.h"
#include "guard/guard.h"
#include "hooks/hooks.h"

/* -- hooks ------------------------------------------------------------------------------------- */

static void write_sources(struct json_writer *w, const struct hook_set *s)
{
	jw_key(w, "sources");
	jw_array(w);
	for (const struct hook_source *source = s->sources; source; source = source->next) {
		jw_object(w);
		jw_field_str(w, "path", source->path);
		jw_field_str(w, "scope", str_of(hook_scope_names[source->scope]));
		jw_field_bool(w, "last_good", source->kept);
		jw_field_int(w, "errors", source->errors);
		hooks_write_problems(w, source);
		jw_end_object(w);
	}
	jw_end_array(w);
}

static void write_hook(struct json_writer *w, const struct hook *h)
{
	jw_object(w);
	jw_field_str(w, "hookId", str_of(h->id));
	jw_field_str(w, "name", h->name);
	jw_field_str(w, "event", str_of(event_kinds[h->group->kind].name));
	jw_field_str(w, "matcher", h->group->matcher.all ? STR("*") : h->group->matcher.text);
	jw_field_str(w, "mcpServer", h->group->mcp_server);
	jw_field_str(w, "if", h->condition);
	jw_field_str(w, "type", str_of(hook_type_names[h->type]));
	jw_field_str(w, "command", h->command);
	jw_field_str(w, "url", h->url);
	jw_field_str(w, "prompt", h->prompt);
	if (h->exec_form) {
		jw_key(w, "args");
		jw_array(w);
		for (size_t i = 0; i < h->nargs; i++)
			jw_str(w, h->args[i]);
		jw_end_array(w);
	}
	jw_field_int(w, "timeout_ms", h->timeout_us / USEC_PER_MSEC);
	jw_field_str(w, "on_failure", h->on_failure ? str_of(verdict_action_names[h->on_failure]) : STR("allow"));
	jw_field_str(w, "exit_dialect", h->code_agent ? STR("code-agent") : STR("claude"));
	jw_field_bool(w, "observer", h->observer);
	jw_field_bool(w, "async", h->async);
	jw_field_bool(w, "once", h->once);
	jw_field_str(w, "scope", str_of(hook_scope_names[h->group->source->scope]));
	jw_field_str(w, "source", h->group->source->path);
	jw_field_int(w, "line", h->line);
	jw_field_bool(w, "runs", h->state == HOOK_LIVE);
	jw_field_str(w, "state", str_of(hook_state_names[h->state]));
	jw_field_str(w, "why", str_is_set(h->why) ? h->why : STR(""));
	jw_end_object(w);
}

int op_hooks(struct op_call *call)
{
	const struct paths *p = call->ctx->paths;
	str agent = op_text(call, "agent"), cwd = op_text(call, "cwd");
	struct hooks_where where = { .agent = str_empty(agent) ? NULL : arena_cstr(call->arena, agent),
		.cwd = str_empty(cwd) ? NULL : arena_cstr(call->arena, cwd),
		.home = p->home,
		.user_config = p->config,
		.state = p->state };
	struct hook_set *s = hooks_load(&where);
	struct json_writer *w = call->w;

	jw_object(w);
	jw_field_str(w, "root", s->root);
	jw_field_str(w, "trust", str_of(trust_state_names[s->trust]));
	if (s->trouble.text[0])
		jw_field_str(w, "trouble", str_of(s->trouble.text));
	write_sources(w, s);
	jw_key(w, "hooks");
	jw_array(w);
	for (unsigned i = 0; i < s->count; i++)
		write_hook(w, s->all[i]);
	jw_end_array(w);
	jw_end_object(w);
	hook_set_unref(s);
	return 0;
}

/* -- what runs --------------------------------------------------------------------------------- */

void op_write_hooks_state(struct json_writer *w, struct engine *e)
{
	struct hooks_state s;

	if (!engine_hooks(e))
		return;
	hooks_get_state(engine_hooks(e), &s);
	jw_key(w, "hooks");
	jw_object(w);
	jw_field_int(w, "sessions", s.sessions);
	jw_field_int(w, "running", s.running);
	jw_field_int(w, "queued", s.queued);
	jw_field_int(w, "runs", (int64_t)s.runs);
	jw_field_int(w, "failures", (int64_t)s.failures);
	jw_field_int(w, "timeouts", (int64_t)s.timeouts);
	jw_field_int(w, "broken_files", s.broken);
	jw_end_object(w);
}

int op_hooks_history(struct op_call *call)
{
	jw_object(call->w);
	jw_key(call->w, "runs");
	hooks_write_history(engine_hooks(call->ctx->engine), call->w, (unsigned)op_int(call, "limit"));
	jw_end_object(call->w);
	return 0;
}

/* -- reload ------------------------------------------------------------------------------------ */

static void reloaded(unsigned sessions, unsigned broken, void *arg)
{
	struct buf b = BUF_INIT(KIB(1));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_int(&w, "sessions", sessions);
	jw_field_int(&w, "broken", broken);
	jw_end_object(&w);
	op_finish(arg, buf_str(&b));
	buf_release(&b);
}

int op_hooks_reload(struct op_call *call)
{
	guard_forget_projects(call->ctx->guard);
	hooks_reload(engine_hooks(call->ctx->engine), reloaded, call->later);
	return 0;
}

/* -- trigger ----------------------------------------------------------------------------------- */

struct trigger {
	struct request *later;
	struct hooks *hooks;
	struct arena *arena;
	struct event event;
	struct verdict verdict;
};

static const char *decision_of(enum verdict_action a)
{
	return a == VERDICT_DENY ? "block" : a == VERDICT_ALLOW ? "allow" : a == VERDICT_ASK ? "ask" : "continue";
}

static void write_outcome(struct json_writer *w, const struct hook_outcome *o)
{
	jw_object(w);
	jw_field_str(w, "hookId", str_of(o->hook->id));
	jw_field_str(w, "name", o->hook->name);
	jw_field_bool(w, "success", o->success);
	if (!str_empty(o->output))
		jw_field_str(w, "output", o->output);
	if (!str_empty(o->error))
		jw_field_str(w, "error", o->error);
	jw_field_str(w, "decision", str_of(decision_of(o->decision)));
	jw_end_object(w);
}

static void triggered(struct hook_outcome *list, void *arg)
{
	struct trigger *t = arg;
	struct buf b = BUF_INIT(LIMIT_RPC_REPLY / 2);
	struct json_writer w = JSON_WRITER(&b);
	const struct verdict *v = &t->verdict;

	jw_object(&w);
	jw_field_bool(&w, "allowed", v->action < VERDICT_ASK && !v->continue_turn);
	jw_field_str(&w, "decision", str_of(decision_of(v->continue_turn ? VERDICT_DENY : v->action)));
	if (!str_empty(v->reason))
		jw_field_str(&w, "reason", v->reason);
	if (v->updated_input) {
		jw_key(&w, "updatedInput");
		jw_value(&w, v->updated_input);
	}
	jw_key(&w, "results");
	jw_array(&w);
	for (const struct hook_outcome *o = list; o; o = o->next)
		write_outcome(&w, o);
	jw_end_array(&w);
	jw_end_object(&w);
	op_finish(t->later, buf_str(&b));
	buf_release(&b);
}

/* The event as Claude Code would say it. */
static str payload_of(struct op_call *call, const char *name)
{
	static const struct {
		const char *from, *to;
	} renamed[] = { { "toolName", "tool_name" }, { "input", "tool_input" }, { "output", "tool_response" } };
	struct buf b = BUF_INIT(LIMIT_RPC_LINE * 2);
	struct json_writer w = JSON_WRITER(&b);
	str text;

	jw_object(&w);
	jw_field_str(&w, "hook_event_name", str_of(name));
	jw_field_str(&w, "session_id", op_text(call, "sessionId"));
	jw_field_str(&w, "cwd", op_text(call, "cwd"));
	json_each(m, op_json(call, "payload")) {
		const char *to = NULL;

		for (size_t i = 0; i < countof(renamed); i++)
			if (str_eq(m->key, str_of(renamed[i].from)))
				to = renamed[i].to;
		jw_key_str(&w, to ? str_of(to) : m->key);
		jw_value(&w, m);
	}
	jw_end_object(&w);
	text = arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* Starts from a clean stack: the answer must not come while the operation still runs. */
static void fire(void *arg)
{
	struct trigger *t = arg;
	struct hooks_request q = { .event = &t->event,
		.arena = t->arena,
		.verdict = &t->verdict,
		.done = triggered,
		.arg = t };

	hooks_fire(t->hooks, &q);
}

int op_trigger(struct op_call *call)
{
	struct trigger *t = arena_alloc(call->arena, sizeof *t);
	enum event_kind kind = event_kind_by_name(op_text(call, "type"));
	str agent = op_text(call, "agent");
	struct wire_hook hook = { 0 };
	int64_t at_ms = clock_wall_us() / USEC_PER_MSEC;

	if (kind == EVENT_UNKNOWN)
		return err_set(call->err, -EINVAL, "there is no event of this type");
	if (op_has(call, "timestamp"))
		at_ms = op_int(call, "timestamp");
	t->later = call->later;
	t->hooks = engine_hooks(call->ctx->engine);
	t->arena = call->arena;
	hook.at_ms = at_ms;
	hook.event = str_of(event_kinds[kind].name);
	hook.payload = payload_of(call, event_kinds[kind].name);
	agent_parse(agent_find(str_empty(agent) ? STR("claude") : agent), &hook, call->arena, &t->event);
	t->event.agent = str_empty(agent) ? STR("") : agent; /* nobody's: every file counts */
	loop_post(call->ctx->loop, fire, t);
	return 0;
}

/* -- register, unregister ---------------------------------------------------------------------- */

/* Two at once would each write what the other one does not know of. */
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;

static int change(struct op_call *call, const char *path, int (*edit)(struct op_call *call, str old, struct buf *ret))
{
	struct buf old = BUF_INIT(LIMIT_CONFIG), changed = BUF_INIT(LIMIT_CONFIG);
	char *target;
	int r;

	pthread_mutex_lock(&file_lock);
	r = fs_read_file(path, &old);
	if (r == 0 || r == -ENOENT)
		r = edit(call, buf_str(&old), &changed);
	else
		err_set(call->err, r, "%s cannot be read: %s", path, strerror(-r));
	if (r == 0) {
		/* A link stays a link. */
		target = realpath(path, NULL);
		r = fs_replace_file(target ? target : path, buf_str(&changed), true);
		free(target);
		if (r < 0)
			err_set(call->err, r, "%s cannot be written: %s", path, strerror(-r));
	}
	pthread_mutex_unlock(&file_lock);
	buf_release(&old);
	buf_release(&changed);
	return r;
}

static int edit_add(struct op_call *call, str old, struct buf *ret)
{
	const struct json *hook = op_json(call, "hook");
	char id[HOOK_ID + 1];
	int r;

	if (!hook || hook->type != JSON_OBJECT)
		return err_set(call->err, -EINVAL, "hook, an object, is missing");
	r = hooks_edit_add(old, op_text(call, "event"), op_text(call, "matcher"), hook, ret, id, call->err);
	if (r == 0) {
		jw_object(call->w);
		jw_field_str(call->w, "hookId", str_of(id));
		jw_end_object(call->w);
	}
	return r;
}

int op_register(struct op_call *call)
{
	return change(call, call->ctx->paths->config, edit_add);
}

static int edit_remove(struct op_call *call, str old, struct buf *ret)
{
	int r = hooks_edit_remove(old, op_text(call, "event"), op_text(call, "hookId"), ret, call->err);

	if (r == 0) {
		jw_object(call->w);
		jw_field_bool(call->w, "removed", true);
		jw_end_object(call->w);
	}
	return r;
}

int op_unregister(struct op_call *call)
{
	return change(call, call->ctx->paths->config, edit_remove);
}

static int toggle(struct op_call *call, enum hook_form form, str old, struct buf *ret)
{
	bool enabled = op_bool(call, "enabled");
	int r = hooks_edit_toggle(old, form, op_text(call, "hookId"), !enabled, ret, call->err);

	if (r == 0) {
		jw_object(call->w);
		jw_field_str(call->w, "hookId", op_text(call, "hookId"));
		jw_field_bool(call->w, "enabled", enabled);
		jw_end_object(call->w);
	}
	return r;
}

static int toggle_own(struct op_call *call, str old, struct buf *ret)
{
	return toggle(call, HOOK_FORM_OWN, old, ret);
}

static int toggle_code_agent(struct op_call *call, str old, struct buf *ret)
{
	return toggle(call, HOOK_FORM_CODE_AGENT, old, ret);
}

/* In the user's files that know the word. Those of Claude Code and of projects are theirs to change. */
int op_hooks_toggle(struct op_call *call)
{
	const struct paths *p = call->ctx->paths;
	char path[FS_PATH];
	int r = change(call, p->config, toggle_own);

	if (r == -ENOENT && p->home[0] && fs_join(path, p->home, HOOK_CODE_AGENT_FILE) == 0 && access(path, F_OK) == 0)
		r = change(call, path, toggle_code_agent);
	return r;
}
