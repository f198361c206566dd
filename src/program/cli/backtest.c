#include "cli/backtest.h"

#include <stdio.h>

#include "base/limits.h"
#include "guard/guard.h"

enum {
	RULES_MAX = 512,
	/* Habits: so often, on so many days, and nobody ever said no. */
	LEARN_TIMES = 5,
	LEARN_DAYS = 2,
};

/* Sums over the pages of an answer: each ends after some seconds. */
struct sums {
	int64_t calls, denied, asked;
	const struct json *rules[RULES_MAX]; /* of the first page that has it */
	int64_t times[RULES_MAX], ran[RULES_MAX], days[RULES_MAX];
	size_t n;
};

static void add_page(struct sums *s, const struct json *page)
{
	s->calls += cell_int(page, "calls");
	s->denied += cell_int(page, "denied");
	s->asked += cell_int(page, "asked");
	json_each(rule, json_get(page, STR("rules"))) {
		size_t i = 0;

		while (i < s->n &&
			!(str_eq(cell_text(s->rules[i], "rule"), cell_text(rule, "rule")) &&
				str_eq(cell_text(s->rules[i], "decision"), cell_text(rule, "decision"))))
			i++;
		if (i == RULES_MAX)
			continue;
		if (i == s->n) {
			s->rules[s->n] = rule;
			s->times[s->n] = s->ran[s->n] = s->days[s->n] = 0;
			s->n++;
		}
		s->times[i] += cell_int(rule, "times");
		s->ran[i] += cell_int(rule, "ran");
		s->days[i] += cell_int(rule, "days");
	}
}

/* 0, or an exit code after printing the reason. */
static int ask_all(struct cli *cli, struct sums *s)
{
	int64_t after = 0;
	struct json *page;
	int r;

	*s = (struct sums){ 0 };
	do {
		struct buf b = BUF_INIT(KIB(8));
		struct json_writer w = JSON_WRITER(&b);

		jw_object(&w);
		r = cli_add_filter(cli, &w);
		jw_field_int(&w, "after", after);
		jw_end_object(&w);
		page = r ? NULL : cli_ask(cli, "backtest", buf_str(&b));
		buf_release(&b);
		if (!page)
			return r ? r : EXIT_FAILED;
		add_page(s, page);
		after = cell_int(page, "next");
	} while (after);
	return 0;
}

static int print_json(const struct sums *s)
{
	struct buf b = BUF_INIT(MIB(16));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_int(&w, "calls", s->calls);
	jw_field_int(&w, "denied", s->denied);
	jw_field_int(&w, "asked", s->asked);
	jw_key(&w, "rules");
	jw_array(&w);
	for (size_t i = 0; i < s->n; i++) {
		jw_object(&w);
		jw_field_str(&w, "rule", cell_text(s->rules[i], "rule"));
		jw_field_str(&w, "decision", cell_text(s->rules[i], "decision"));
		jw_field_int(&w, "times", s->times[i]);
		jw_field_int(&w, "ran", s->ran[i]);
		jw_field_int(&w, "days", s->days[i]);
		jw_key(&w, "examples");
		jw_value(&w, json_get(s->rules[i], STR("examples")));
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
	return EXIT_DONE;
}

static void print_rule(const struct sums *s, size_t i)
{
	printf("\n" STR_FMT " ", STR_ARG(cell_text(s->rules[i], "decision")));
	cli_print_safe(cell_text(s->rules[i], "rule"));
	printf("  %lld %s\n", (long long)s->times[i], s->times[i] == 1 ? "time" : "times");
	json_each(e, json_get(s->rules[i], STR("examples"))) {
		printf("    ");
		cli_print_safe(str_cut_utf8(cell_text(e, "command"), 200));
		putchar('\n');
	}
}

int backtest_run(struct cli *cli)
{
	struct sums s;
	int r = ask_all(cli, &s);

	if (r)
		return r;
	if (cli_has(cli, "json"))
		return print_json(&s);
	printf("of %lld calls in the store, %lld would be denied now and %lld asked about\n", (long long)s.calls,
		(long long)s.denied, (long long)s.asked);
	for (size_t i = 0; i < s.n; i++)
		print_rule(&s, i);
	return EXIT_DONE;
}

/* -- learning ---------------------------------------------------------------------------------- */

/* A built-in rule that asks about what is done here all the time, and never about anything that was stopped. Those
 * that deny are for a person to look at one by one, and what protects hookd cannot be switched. */
static bool is_habit(const struct sums *s, size_t i)
{
	str rule = cell_text(s->rules[i], "rule");

	return str_eq(cell_text(s->rules[i], "decision"), STR("ask")) && s->times[i] >= LEARN_TIMES &&
		s->ran[i] == s->times[i] && s->days[i] >= LEARN_DAYS && !str_starts(rule, STR("hookd."));
}

static int print_proposals_json(const struct sums *s)
{
	struct buf b = BUF_INIT(MIB(16));
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	jw_field_int(&w, "calls", s->calls);
	jw_key(&w, "observe");
	jw_array(&w);
	for (size_t i = 0; i < s->n; i++) {
		if (!is_habit(s, i))
			continue;
		jw_object(&w);
		jw_field_str(&w, "rule", cell_text(s->rules[i], "rule"));
		jw_field_int(&w, "times", s->times[i]);
		jw_field_int(&w, "days", s->days[i]);
		jw_key(&w, "examples");
		jw_value(&w, json_get(s->rules[i], STR("examples")));
		jw_end_object(&w);
	}
	jw_end_array(&w);
	jw_end_object(&w);
	puts(b.p);
	buf_release(&b);
	return EXIT_DONE;
}

int backtest_learn(struct cli *cli)
{
	struct sums s;
	size_t habits = 0;
	int r = ask_all(cli, &s);

	if (r)
		return r;
	if (cli_has(cli, "json"))
		return print_proposals_json(&s);
	for (size_t i = 0; i < s.n; i++)
		if (is_habit(&s, i)) {
			habits++;
			print_rule(&s, i);
			printf("    ran every time, on %lld days; to have it recorded and no longer asked about:\n"
			       "        hookd rules observe " STR_FMT "\n",
				(long long)s.days[i], STR_ARG(cell_text(s.rules[i], "rule")));
		}
	if (!habits)
		printf("of %lld calls in the store, none shows a habit that a rule asks about: %d times or more, on %d "
		       "days or more, and never stopped\n",
			(long long)s.calls, LEARN_TIMES, LEARN_DAYS);
	return EXIT_DONE;
}

void backtest_tell(struct cli *cli)
{
	struct sums s;

	if (ask_all(cli, &s) || !s.calls)
		return;
	printf("Of %lld calls in it, hookd's rules would have denied %lld and asked about %lld; "
	       "hookd guard backtest shows them.\n",
		(long long)s.calls, (long long)s.denied, (long long)s.asked);
}
