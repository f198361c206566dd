#include "api/learning.h"

#include <errno.h>
#include <stdio.h>

#include "json/json.h"

enum { CATCH_UP_MS = 5000 };

/* -- the way ----------------------------------------------------------------------------------- */

void lesson_add(struct lesson *l, const struct ulid *id, const struct ulid *memory, str payload)
{
	unsigned secrets;

	if (l->n == l->max)
		return;
	memory_event(id, memory, payload, l->call.arena, &l->events[l->n]);
	engine_redact(l->call.ctx->engine, l->call.arena, &l->events[l->n], &l->records[l->n], &secrets);
	l->n++;
}

str lesson_stored(struct lesson *l, const char *member)
{
	struct json *root = NULL;
	struct err err = { 0 };

	if (!l->n || json_parse(l->call.arena, l->records[l->n - 1].payload, 0, &root, &err) < 0)
		return STR_NONE;
	return json_str(json_get(root, str_of(member)));
}

/* On a worker. */
static void study(void *arg)
{
	struct lesson *l = arg;
	const struct api_context *ctx = l->call.ctx;
	struct store *s = NULL;

	/* Old rows are better than none. */
	(void)writer_wait(ctx->writer, l->seen, CATCH_UP_MS);
	l->failed = readers_take(ctx->readers, &s, l->call.err);
	if (!s)
		return;
	l->call.store = s;
	if (l->failed == 0)
		l->failed = store_exec(s, "BEGIN");
	if (l->failed == 0)
		l->failed = l->prepare(l);
	store_exec(s, "ROLLBACK");
	if (l->failed == -EUCLEAN)
		store_close(s);
	else
		readers_give_back(ctx->readers, s);
	l->call.store = NULL;
}

static void stored(bool is_stored, void *arg)
{
	struct lesson *l = arg;

	if (is_stored)
		op_finish(l->call.later, l->result);
	else
		op_give_up(l->call.later, "the journal cannot be written; see: hookd status");
}

static void studied(void *arg)
{
	struct lesson *l = arg;
	const char *why = l->call.err->text;

	if (l->failed < 0)
		op_give_up(l->call.later, why[0] ? arena_strf(l->call.arena, "%s", why).p : strerror(-l->failed));
	else if (l->n)
		engine_store(l->call.ctx->engine, l->records, l->n, stored, l);
	else
		op_finish(l->call.later, l->result);
}

int learn(struct op_call *call, size_t max, int (*prepare)(struct lesson *l))
{
	struct lesson *l = arena_new(call->arena, struct lesson);

	*l = (struct lesson){ .call = *call, .seen = journal_end(call->ctx->journal), .prepare = prepare, .max = max };
	l->events = arena_alloc(call->arena, (max + 1) * sizeof *l->events);
	l->records = arena_alloc(call->arena, (max + 1) * sizeof *l->records);
	loop_submit_lane(call->ctx->loop, LOOP_PEOPLE, study, studied, l);
	return 0;
}

/* -- what prepare() asks ----------------------------------------------------------------------- */

int lesson_find(struct lesson *l, str id, struct memory_state *ret)
{
	struct arena *a = l->call.arena;
	struct query *q;
	int got;

	*ret = (struct memory_state){ .key = 0 };
	if (!ulid_parse(id, &ret->uid))
		return err_set(l->call.err, -EINVAL,
			"'id' must be the 26 characters of a memory's id; see: hookd memories");
	q = store_ask(l->call.store,
		"SELECT key, project, importance, type, text, file, status, trust, reason, successor FROM memories "
		"WHERE uid = ?1 AND status <> 'forgotten'",
		"b", ret->uid.b, (size_t)ULID_BYTES);
	got = query_step(q);
	if (got == 1) {
		ret->key = query_int(q, 0);
		ret->project = query_int(q, 1);
		ret->importance = query_int(q, 2);
		ret->type = arena_str(a, query_str(q, 3));
		ret->text = arena_str(a, query_str(q, 4));
		ret->file = arena_str(a, query_str(q, 5));
		ret->status = arena_str(a, query_str(q, 6));
		ret->trust = arena_str(a, query_str(q, 7));
		ret->reason = arena_str(a, query_str(q, 8));
		ret->superseded = query_str(q, 9).n == ULID_BYTES;
		if (ret->superseded)
			memcpy(ret->successor.b, query_str(q, 9).p, ULID_BYTES);
	}
	query_reset(q);
	if (got == 0)
		return err_set(l->call.err, -ENOENT, "there is no memory '" STR_FMT "'; list them with: hookd memories",
			STR_ARG(str_cut_utf8(id, 100)));
	return MIN(got, 0);
}

int lesson_take_type(struct op_call *call, str given, str *ret)
{
	const struct memory_type *type = memory_type_find(given);
	char list[400] = "", shown[NAME_SHOWN];
	str own = config_text(call->ctx->config, OPTION_MEMORY_TYPES);

	if (type || (given.n && config_lists(call->ctx->config, OPTION_MEMORY_TYPES, given))) {
		*ret = type ? str_of(type->name) : given;
		return 0;
	}
	for (const struct memory_type *t = memory_types; t->name; t++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", t->name);
	return err_set(call->err, -EINVAL, "'%s' is not a type of memory; types: %s%s" STR_FMT,
		name_shown(given, shown), list, str_empty(own) ? "" : ", ", STR_ARG(str_cut_utf8(own, 120)));
}

static bool lists_text(const struct json *list, str text)
{
	json_each(item, list)
		if (str_eq_name(json_str(item), text))
			return true;
	return false;
}

int lesson_take_concepts(struct op_call *call, const struct json *list, str also, str *ret)
{
	struct buf b = BUF_INIT(4096);
	struct json_writer w = JSON_WRITER(&b);
	size_t n = 0;

	*ret = STR_NONE;
	jw_array(&w);
	if (str_is_set(also) && !lists_text(list, also)) {
		jw_str(&w, also);
		n++;
	}
	json_each(item, list) {
		str text = item->type == JSON_STRING ? str_trim(item->text) : STR_NONE;

		if (str_empty(text) || text.n > MEMORY_CONCEPT_BYTES || ++n > MEMORY_CONCEPTS_MAX) {
			buf_release(&b);
			return err_set(call->err, -EINVAL, "'concepts' must be at most %d texts of 1 to %d bytes",
				MEMORY_CONCEPTS_MAX, MEMORY_CONCEPT_BYTES);
		}
		jw_str(&w, text);
	}
	jw_end_array(&w);
	if (n)
		*ret = arena_str(call->arena, buf_str(&b));
	buf_release(&b);
	return 0;
}

int lesson_check_text(struct op_call *call, str text)
{
	if (str_empty(str_trim(text)))
		return err_set(call->err, -EINVAL, "'text' is empty; say what is to be remembered");
	if (text.n > MEMORY_TEXT_MAX)
		return err_set(call->err, -EINVAL, "'text' has %zu bytes; a memory holds at most %d: shorten it",
			text.n, MEMORY_TEXT_MAX);
	return 0;
}

/* The file is shown beside the text. */
const char *lesson_suspect(struct lesson *l, str text, str file)
{
	const struct op_call *call = &l->call;

	if (call->owner)
		return NULL;
	return memories_suspect(call->ctx->memories,
		arena_strf(call->arena, STR_FMT "%s" STR_FMT, STR_ARG(text), file.n ? "\n" : "", STR_ARG(file)));
}
