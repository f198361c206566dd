/* model_test: whether the configured model answers. */
#include "api/ops.h"
#include <errno.h>

#include "llm/llm.h"

static void answered(const struct llm_answer *a, void *arg)
{
	struct buf b = BUF_INIT(KIB(64));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_bool(&w, "ok", a->result == LLM_ANSWERED);
	jw_field_str(&w, "result", str_of(llm_result_names[a->result]));
	jw_field_str(&w, "answer", str_cut_utf8(a->text, 1000));
	jw_field_str(&w, "trouble", a->why);
	jw_field_int(&w, "tokens", a->tokens_in + a->tokens_out);
	jw_end_object(&w);
	op_finish(arg, buf_str(&b));
	buf_release(&b);
}

int op_model_test(struct op_call *call)
{
	const struct llm_request q = { .purpose = "test",
		.system = STR("You are asked whether you can be reached."),
		.user = STR("Answer with the one word READY."),
		.lane = LLM_URGENT,
		.max_tokens = 64,
		.done = answered,
		.arg = call->later };

	if (!call->ctx->llm)
		return err_set(call->err, -ENOTSUP, "this daemon asks no model");
	llm_ask(call->ctx->llm, &q);
	return 0;
}
