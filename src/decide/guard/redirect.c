#include "guard/redirect.h"

static bool is_net(str path)
{
	return str_starts(path, STR("/dev/tcp/")) || str_starts(path, STR("/dev/udp/"));
}

static str target_of(struct run *x, const struct shell_redirect *r)
{
	const struct guard_watcher *watcher = x->watcher;
	struct fields f = { 0 };

	if (r->op != SHELL_IN)
		x->watcher = NULL; /* what is written is not what is run */
	expand_words(x, r->target, &f);
	x->watcher = watcher;
	return f.n ? f.v[0] : STR("\1");
}

static str fd_key(struct run *x, str fd)
{
	return arena_strf(x->a, "fd " STR_FMT, STR_ARG(fd));
}

static void add_out(struct run *x, struct joint *j, str path, bool append, bool output)
{
	struct joint_out *o = arena_new(x->a, struct joint_out);

	*o = (struct joint_out){ .path = path, .append = append, .output = output };
	if (!j->tail)
		j->tail = &j->outs;
	*j->tail = o;
	j->tail = &o->next;
	j->taken |= output;
	j->net_out |= is_net(path);
	if (x->watcher && x->watcher->writes)
		x->watcher->writes(path, x->watcher->arg);
}

/* What comes in: for the command, or by a number for whoever asks for that. */
static void take_in(struct run *x, const struct shell_redirect *r, str content)
{
	if (r->fd <= 0)
		x->in = content;
	else
		var_set(x, fd_key(x, arena_strf(x->a, "%d", r->fd)), content);
}

static void read_from(struct run *x, struct joint *j, const struct shell_redirect *r, str word)
{
	str path = path_resolve(x, word);

	if (is_net(path)) {
		j->net_in = true;
		var_set(x, fd_key(x, arena_strf(x->a, "%d", r->fd < 0 ? 0 : r->fd)), STR("\4"));
		if (r->fd <= 0)
			x->in = STR("\4");
		return;
	}
	judge_read(x, NULL, word);
	take_in(x, r, fs_content(x, path));
}

static void dup_in(struct run *x, const struct shell_redirect *r, str word)
{
	const struct fact *f = fact_find(x, x->st.facts, FACT_VAR, fd_key(x, word));

	if (f && r->fd <= 0)
		x->in = f->value;
}

static void dup_out(struct run *x, struct joint *j, str word, bool output)
{
	const struct fact *f = fact_find(x, x->st.facts, FACT_VAR, fd_key(x, word));
	str path = arena_strf(x->a, "/dev/fd/" STR_FMT, STR_ARG(word));

	if (f && str_eq(f->value, STR("\4")))
		j->net_out = true;
	else if (x->fs && fact_find(x, x->fs, FACT_SINK, path))
		add_out(x, j, path, false, output);
}

void redirect_begin(struct run *x, const struct shell_redirect *r, struct joint *j)
{
	for (; r && spend(x, 1); r = r->next) {
		struct text t = { .a = x->a };
		str word = r->op == SHELL_HEREDOC || r->op == SHELL_HERESTRING ? STR_NONE : target_of(x, r);

		switch (r->op) {
		case SHELL_HEREDOC: take_in(x, r, expand_one(x, r->body)); break;
		case SHELL_HERESTRING:
			text_add(&t, expand_one(x, r->target));
			text_char(&t, '\n');
			take_in(x, r, text_str(&t));
			break;
		case SHELL_IN: read_from(x, j, r, word); break;
		case SHELL_INOUT:
			read_from(x, j, r, word);
			if (!is_net(word))
				add_out(x, j, word, true, false);
			break;
		case SHELL_DUP_IN: dup_in(x, r, word); break;
		case SHELL_DUP_OUT: dup_out(x, j, word, r->fd < 0 || r->fd == 1); break;
		case SHELL_OUT:
		case SHELL_APPEND: add_out(x, j, word, r->op == SHELL_APPEND, r->fd < 0 || r->fd == 1); break;
		case SHELL_BOTH:
		case SHELL_BOTH_APPEND:
			if (x->fs &&
				fact_find(x, x->fs, FACT_SINK, arena_strf(x->a, "/dev/fd/" STR_FMT, STR_ARG(word))))
				dup_out(x, j, word, true); /* >&"${COPROC[1]}" */
			else
				add_out(x, j, word, r->op == SHELL_BOTH_APPEND, true);
			break;
		}
	}
}

str redirect_end(struct run *x, struct joint *j, str out)
{
	for (const struct joint_out *o = j->outs; o; o = o->next) {
		if (is_net(o->path)) {
			if (o->output && has_mark(out, "\5"))
				FAULT(x, NULL, RULE_SECRET_EXFIL, VERDICT_DENY,
					"this sends secrets to another machine");
			continue;
		}
		judge_write(x, NULL, o->path, o->output ? out : STR("\1"), o->append);
	}
	return j->taken ? STR("") : out;
}
