/* The list of tasks that an agent keeps for itself: TodoWrite and its like bring the whole list, TaskCreate and
 * TaskUpdate one task at a time. */
#include <stdio.h>

#include "base/macro.h"
#include "event/event.h"

static str first_text(const struct json *v, const char *const *names)
{
	for (; *names; names++) {
		str text = json_str(json_get(v, str_of(*names)));

		if (!str_empty(text))
			return text;
	}
	return STR_NONE;
}

static enum todo_status status_of(str word)
{
	static const struct {
		const char *word;
		enum todo_status status;
	} words[] = { { "completed", TODO_DONE }, { "done", TODO_DONE }, { "in_progress", TODO_ACTIVE },
		{ "deleted", TODO_DROPPED }, { "cancelled", TODO_DROPPED } };

	for (size_t i = 0; i < countof(words); i++)
		if (str_eq(word, str_of(words[i].word)))
			return words[i].status;
	return TODO_PENDING;
}

/* In one line. */
static void keep_text(char to[TODO_TEXT], str text)
{
	size_t n = 0;

	text = str_cut_utf8(str_trim(text), TODO_TEXT - 1);
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] > ' ' || (n && to[n - 1] != ' '))
			to[n++] = (unsigned char)text.p[i] > ' ' ? text.p[i] : ' ';
	to[n] = 0;
}

static void append(struct todos *t, str id, str text, enum todo_status status)
{
	struct todo *one;

	if (t->n == TODOS_MAX || str_empty(str_trim(text)))
		return;
	one = &t->v[t->n++];
	snprintf(one->id, sizeof one->id, STR_FMT, STR_ARG(str_cut_utf8(id, sizeof one->id - 1)));
	keep_text(one->text, text);
	one->status = status;
}

static bool take_list(struct todos *t, const struct json *input)
{
	static const char *const lists[] = { "todos", "plan", "items", NULL };
	static const char *const texts[] = { "content", "step", "description", "text", "title", NULL };
	const struct json *list = NULL;

	for (size_t i = 0; lists[i] && !list; i++)
		list = json_get(input, str_of(lists[i]));
	if (!list || list->type != JSON_ARRAY)
		return false;
	t->n = 0;
	json_each(v, list)
		append(t, STR(""), first_text(v, texts), status_of(json_str(json_get(v, STR("status")))));
	return true;
}

static str id_of(const struct json *v)
{
	return v && (v->type == JSON_STRING || v->type == JSON_NUMBER) ? v->text : STR_NONE;
}

static struct todo *find(struct todos *t, str id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].id[0] && str_eq(str_of(t->v[i].id), id))
			return &t->v[i];
	return NULL;
}

static bool take_one(struct todos *t, const struct json *input, const struct json *response)
{
	const struct json *made = json_get(response, STR("task"));
	const struct json *status = json_get(input, STR("status"));
	str id = id_of(json_get(made, STR("id")));
	struct todo *known;

	if (str_is_set(id)) {
		if (!find(t, id))
			append(t, id, json_str(json_get(made, STR("subject"))), TODO_PENDING);
		return true;
	}
	id = id_of(json_get(input, STR("taskId")));
	known = str_is_set(id) ? find(t, id) : NULL;
	if (known && status)
		known->status = status_of(json_str(status));
	return known && status;
}

bool todos_are_kept_by(str tool)
{
	static const char *const tools[] = { "TodoWrite", "todo_write", "write_todos", "todowrite", "update_todo",
		"update_plan", "TaskCreate", "TaskUpdate" };

	for (size_t i = 0; i < countof(tools); i++)
		if (str_eq(tool, str_of(tools[i])))
			return true;
	return false;
}

bool todos_take(struct todos *t, const struct json *input, const struct json *response)
{
	return take_list(t, input) || take_one(t, input, response);
}
