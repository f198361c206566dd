/* What the operations share. For api/ only; ops.c has the table. */
#ifndef HOOKD_API_OPS_H
#define HOOKD_API_OPS_H

#include "api/api.h"
#include "base/limits.h"
#include "config/names.h"

/* An answer that has grown to this ends where it is and says how to go on; the rest of LIMIT_RPC_REPLY is room for
 * the item that was being written. */
#define OP_ENOUGH MIB(6)

static inline bool op_is_enough(const struct op_call *call)
{
	return call->w->b->len > OP_ENOUGH;
}

/* -- rows -------------------------------------------------------------------------------------- */

/* Columns of a query as members of an object, in order; or what a result is made of, for its JSON Schema. */
struct op_column {
	const char *name; /* NULL ends; "" is skipped */
	char type; /* s text, i whole number, b bool, j JSON; NULL is left out. In results also n number, l list of
			   * objects, o object, t list of texts */
	const struct op_column *members; /* of l and o */
};

void op_write_columns(struct json_writer *w, struct query *q, const struct op_column *columns);
/* {…} for each row; the whole query. 0 or -errno. */
int op_write_rows(struct op_call *call, struct query *q, const struct op_column *columns);
/* The same under a key. */
int op_write_list(struct op_call *call, const char *key, struct query *q, const struct op_column *columns);

/* What results are made of, for their JSON Schema. */
extern const struct op_column op_search_result[], op_timeline_result[], op_get_result[], op_memory_result[],
	op_memories_result[], op_recall_result[], op_context_result[], op_remember_result[], op_change_result[],
	op_related_result[], op_code_result[], op_symbols_result[], op_map_result[], op_index_status_result[];

/* One memory, by its id or the name it was imported under. -ENOENT: err says how to find one. */
int op_find_memory(struct op_call *call, str wanted, int64_t *ret);
int op_write_memory(struct op_call *call, str wanted);

/* -- whom a parameter names (find.c) ----------------------------------------------------------- */

/* A session by its native id, a prefix of one, or its key. -ENOENT, -ENOTUNIQ: err says what to do. */
int op_find_session(struct op_call *call, const struct json *given, const char *param, int64_t *ret);
/* A project by its key, its name, or a path in it. */
int op_find_project(struct op_call *call, const struct json *given, const char *param, int64_t *ret);

/* -- parameters (params.c) --------------------------------------------------------------------- */

/* Checks what was given against the row and converts it. -EINVAL: err says what would be valid. */
int op_take_params(const struct op *op, const struct json *params, struct arena *a, struct op_value **ret,
	struct err *err);
/* Finds the sessions and projects that were named; before run() unless the row says otherwise. */
int op_resolve(struct op_call *call);
void op_write_schema(struct json_writer *w, const struct op *op);
/* Of its result. */
void op_write_result_schema(struct json_writer *w, const struct op *op);

/* What lists have in common. Zero and STR_NONE: no limit. */
struct op_filter {
	int64_t project; /* it and its worktrees */
	str agent, status, text;
	int64_t since_us, until_us;
	int64_t limit;
	bool all; /* with hidden sessions; never those of hookd doctor */
};

void op_read_filter(const struct op_call *call, struct op_filter *ret);

/* What hookd doctor sends to try the hooks is nobody's work, and in no list. */
#define OP_NOT_DOCTOR "s.native_id NOT GLOB 'hookd-doctor-*' "

/* Sessions of a filter bound as ?1 project, ?2 agent, ?3 since, ?4 until, ?5 all. */
#define OP_SCOPE_SQL                                                                             \
	"(?1 IS NULL OR s.project IN (SELECT key FROM projects WHERE key = ?1 OR parent = ?1)) " \
	"AND (?2 IS NULL OR s.agent = ?2) AND s.last_at >= ?3 AND s.started_at <= ?4 "           \
	"AND (?5 OR s.hidden = 0) "
#define OP_FILTER_SQL OP_SCOPE_SQL "AND " OP_NOT_DOCTOR
#define OP_FILTER_TYPES "ksiii"
#define OP_FILTER_ARGS(f) (f)->project, (f)->agent, (f)->since_us, (f)->until_us, (int64_t)(f)->all

/* "waited_us" of an open object: how long agents have waited for their user, in sessions of a filter. */
int op_write_waited(struct op_call *call, const struct op_filter *f);

/* One session's object, as sessions and show have it. -ENOENT when there is none. */
int op_write_session(struct op_call *call, int64_t key);

/* -- what was said about a call ---------------------------------------------------------------- */

/* The decision `d` that was the answer to the call `a`, if hookd denied it or asked about it. */
#define OP_JOIN_VERDICT                                                                          \
	"LEFT JOIN decisions d ON d.key = (SELECT key FROM decisions WHERE session = a.session " \
	"AND call = a.same AND prevailed AND decision <> 'allow' AND kind IN ('PreToolUse', "    \
	"'PermissionRequest') ORDER BY decision = 'deny' DESC, key LIMIT 1) "
#define OP_VERDICT_SELECT "d.decision, d.rule, d.reason, d.ran_at"
#define OP_VERDICT_COLUMNS                                       \
	{ "decision", 's' }, { "rule", 's' }, { "reason", 's' }, \
	{                                                        \
		"ran_us", 'i'                                    \
	}

/* -- the operations ---------------------------------------------------------------------------- */

int op_rules(struct op_call *call);
int op_reload(struct op_call *call);
int op_model_test(struct op_call *call);
int op_hello(struct op_call *call);
int op_ops(struct op_call *call);
int op_status(struct op_call *call);
int op_stop(struct op_call *call);
int op_check(struct op_call *call);
int op_hooks(struct op_call *call);
int op_hooks_history(struct op_call *call);
int op_hooks_reload(struct op_call *call);
int op_trigger(struct op_call *call);
int op_call_hook(struct op_call *call);
int op_register(struct op_call *call);
int op_unregister(struct op_call *call);
int op_hooks_toggle(struct op_call *call);
void op_write_hooks_state(struct json_writer *w, struct engine *e);
int op_sessions(struct op_call *call);
int op_show(struct op_call *call);
int op_sums(struct op_call *call);
int op_events(struct op_call *call);
int op_event(struct op_call *call);
int op_session_events(struct op_call *call);
int op_activities(struct op_call *call);
int op_plans(struct op_call *call);
int op_plan(struct op_call *call);
int op_fleet_list(struct op_call *call);
int op_fleet_focus(struct op_call *call);
int op_fleet_wait(struct op_call *call);
int op_fleet_supervise(struct op_call *call);
int op_work_add(struct op_call *call);
int op_work_approve(struct op_call *call);
int op_work_claim(struct op_call *call);
int op_work_done(struct op_call *call);
int op_work_release(struct op_call *call);
int op_work_drop(struct op_call *call);
int op_work_list(struct op_call *call);
int op_fleet_listen(struct op_call *call);
int op_fleet_listeners(struct op_call *call);
int op_fleet_drop(struct op_call *call);
int op_efforts(struct op_call *call);
int op_effort(struct op_call *call);
int op_effort_start(struct op_call *call);
int op_effort_phase(struct op_call *call);
int op_effort_finish(struct op_call *call);
int op_effort_log(struct op_call *call);
int op_effort_checkpoint(struct op_call *call);
int op_effort_artifact(struct op_call *call);
int op_effort_metadata(struct op_call *call);
int op_effort_resume(struct op_call *call);
int op_effort_checklist(struct op_call *call);
int op_session_finish(struct op_call *call);
int op_discover(struct op_call *call);
int op_tasks(struct op_call *call);
int op_task(struct op_call *call);
int op_task_change(struct op_call *call);
int op_skill(struct op_call *call);
int op_context_used(struct op_call *call);
int op_stats(struct op_call *call);
int op_transcripts(struct op_call *call);
int op_settle(struct op_call *call);
int op_search(struct op_call *call);
int op_code(struct op_call *call);
int op_symbols(struct op_call *call);
int op_map(struct op_call *call);
int op_index_status(struct op_call *call);
int op_index_update(struct op_call *call);
int op_usage(struct op_call *call);
int op_decisions(struct op_call *call);
int op_rule_counts(struct op_call *call);
int op_backtest(struct op_call *call);
int op_remember(struct op_call *call);
int op_forget(struct op_call *call);
int op_get(struct op_call *call);
int op_timeline(struct op_call *call);
int op_context(struct op_call *call);
int op_memory_import(struct op_call *call);
int op_memory_change(struct op_call *call);
int op_memory_review(struct op_call *call);
int op_memory_merge(struct op_call *call);
int op_context_switch(struct op_call *call);
int op_related(struct op_call *call);
int op_session_accept(struct op_call *call);
int op_context_switches(struct op_call *call);
int op_memories(struct op_call *call);
int op_memory(struct op_call *call);
int op_recall(struct op_call *call);
int op_jobs(struct op_call *call);
int op_jobs_retry(struct op_call *call);
int op_outbox(struct op_call *call);
int op_outbox_count(struct op_call *call);
int op_outbox_retry(struct op_call *call);
int op_outbox_drop(struct op_call *call);
int op_sinks(struct op_call *call);
int op_sinks_test(struct op_call *call);
int op_contracts_add(struct op_call *call);
int op_contracts_remove(struct op_call *call);
int op_vectors(struct op_call *call);
int op_why(struct op_call *call);
int op_preview(struct op_call *call);
int op_projects(struct op_call *call);
int op_project_rename(struct op_call *call);
int op_project_merge(struct op_call *call);

#endif
