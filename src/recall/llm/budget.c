/* How many tokens a day may cost. The file holds what was spent and what is set aside, as one number: if the daemon is
 * killed, what was set aside stays spent. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "llm/internal.h"

enum { FILE_MAX = 4096 };

static void day_of(int64_t now_us, char out[LLM_DAY + 1])
{
	char text[CLOCK_TEXT];

	clock_format(now_us, 0, text);
	memcpy(out, text, LLM_DAY);
	out[LLM_DAY] = 0;
}

static bool is_day(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (i == 4 || i == 7 ? s.p[i] != '-' : s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n == LLM_DAY;
}

static int read_file(struct llm_budget *b)
{
	_cleanup_(arena_release) struct arena a = { 0 };
	struct buf text = BUF_INIT(FILE_MAX);
	struct json *root = NULL;
	int64_t spent = 0;
	str day;
	int r = fs_read_file(b->path, &text);

	if (r == 0)
		r = json_parse(&a, buf_str(&text), 0, &root, NULL);
	if (r == 0) {
		day = json_str(json_get(root, STR("day")));
		if (!is_day(day) || !json_int(json_get(root, STR("tokens")), &spent) || spent < 0)
			r = -EBADMSG;
		else
			memcpy(b->day, day.p, LLM_DAY);
		b->spent = spent;
	}
	buf_release(&text);
	return r;
}

static int write_file(const struct llm_budget *b)
{
	struct buf text = BUF_INIT(FILE_MAX);
	int r;

	buf_addf(&text, "{\"day\": \"%s\", \"tokens\": %lld}\n", b->day, (long long)b->spent);
	r = fs_replace_file(b->path, buf_str(&text), true);
	buf_release(&text);
	return r;
}

/* A new day begins with nothing spent. A day that has not come yet was written by a clock that was wrong: what was
 * spent then counts for today. */
static void turn_page(struct llm_budget *b, int64_t now_us)
{
	char today[LLM_DAY + 1];

	day_of(now_us, today);
	if (strcmp(b->day, today) < 0)
		b->spent = 0;
	memcpy(b->day, today, sizeof today);
}

void llm_budget_open(struct llm_budget *b, const char *path, int64_t now_us)
{
	int r;

	*b = (struct llm_budget){ 0 };
	snprintf(b->path, sizeof b->path, "%s", path);
	r = read_file(b);
	b->broken = r == -ENOENT ? 0 : r;
	turn_page(b, now_us);
}

int llm_budget_take(struct llm_budget *b, int64_t amount, int64_t limit, int64_t now_us, struct llm_ticket *ret)
{
	int r;

	if (b->broken)
		return b->broken;
	turn_page(b, now_us);
	if (amount > limit - b->spent)
		return -EDQUOT;
	b->spent += amount;
	r = write_file(b);
	if (r < 0) {
		b->spent -= amount;
		return r;
	}
	memcpy(ret->day, b->day, sizeof ret->day);
	ret->amount = amount;
	return 0;
}

/* What was set aside yesterday is not given back to today. */
int llm_budget_settle(struct llm_budget *b, const struct llm_ticket *t, int64_t cost, int64_t now_us)
{
	turn_page(b, now_us);
	if (strcmp(b->day, t->day) != 0)
		return 0;
	b->spent = MAX(b->spent - t->amount + cost, INT64_C(0));
	return write_file(b);
}
