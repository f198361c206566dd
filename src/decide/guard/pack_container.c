/* pack_container: docker and its relatives: what they delete, what they let out, and what runs
 * inside. */
#include "guard/internal.h"

/* Of an engine: who can write to it can start any container. */
static bool is_socket(str path)
{
	return str_ends(path, STR(".sock")) &&
		(str_has(path, "docker") || str_has(path, "containerd") || str_has(path, "podman") ||
			str_has(path, "crio"));
}

static bool is_host_path(struct run *x, str path)
{
	enum place p = place_of(x, path_resolve(x, path));

	return p == PLACE_ROOT || p == PLACE_HOMES || (p == PLACE_SYSTEM && !str_in(path, "/tmp /var/tmp /dev/shm")) ||
		is_socket(path) || p == PLACE_DEVICE || path_below(path, STR("/etc")) ||
		path_below(path, STR("/proc")) || path_below(path, STR("/sys"));
}

/* /etc/app/app.conf, which an image may be meant to be given. */
static bool is_setting_of_service(struct run *x, str path)
{
	path = path_resolve(x, path);
	return path_below(path, STR("/etc")) && path.n > 5 && str_find_char(str_from(path, 5), '/') > 0 &&
		guarded_of(x, path) == GUARDED_NOT && secrecy_of(x, path) == SECRET_NOT;
}

static void judge_mount(struct run *x, struct cmd *c, str spec)
{
	ptrdiff_t colon;
	str source = str_starts(spec, STR("=")) ? str_from(spec, 1) : spec;
	bool read_only = str_ends(spec, STR(":ro"));

	colon = str_find_char(source, ':');
	if (colon > 0)
		source = str_head(source, (size_t)colon);
	if (source.n && (source.p[0] == '/' || source.p[0] == '~' || source.p[0] == '.') && is_host_path(x, source) &&
		!(read_only && !str_eq(source, STR("/"))) && !str_in(source, "/etc/localtime /etc/timezone"))
		FAULT(x, c, RULE_DOCKER_ESCAPE,
			is_socket(source) || is_setting_of_service(x, source) || str_eq(source, STR("/var/log"))
				? VERDICT_ASK
				: VERDICT_DENY,
			"this gives a container power over the host: " STR_FMT, STR_ARG(source));
	if (source.n && secrecy_of(x, path_resolve(x, source)) == SECRET_KEY && !read_only)
		FAULT(x, c, RULE_SECRET_READ, VERDICT_ASK, "this gives private keys to a container: " STR_FMT,
			STR_ARG(source));
}

/* SOURCE:TARGET[:MODE], or type=bind,source=…,target=… */
static void add_mount(struct run *x, str spec)
{
	struct mount *m = arena_new(x->a, struct mount);
	str rest = spec, part, value;

	*m = (struct mount){ .next = x->mounts };
	if (str_find_char(spec, '=') > 0) {
		while (str_split(&rest, ',', &part)) {
			str key = part;

			value = str_split(&part, '=', &key) ? part : STR("");
			if (str_in(key, "source src"))
				m->source = value;
			else if (str_in(key, "target dst destination"))
				m->target = value;
		}
	} else {
		(void)str_split(&rest, ':', &m->source);
		(void)str_split(&rest, ':', &m->target);
	}
	if (!m->source.n || !m->target.n || !strchr("/~.", m->source.p[0]) || m->target.p[0] != '/')
		return; /* a volume of the engine's own */
	m->source = path_resolve(x, m->source);
	m->target = path_join(x, STR("/"), m->target);
	x->mounts = m;
}

static const char run_shorts[] = "vewuhlpmacn";
static const char run_longs[] = "volume env env-file workdir user hostname label publish memory name network net mount "
				"entrypoint platform cpus shm-size add-host cap-add "
				"cap-drop device gpus ip restart runtime security-opt stop-signal tmpfs ulimit userns "
				"volumes-from pid ipc uts log-driver log-opt dns pull cidfile expose link health-cmd";

/* docker run … IMAGE CMD and docker exec … NAME CMD */
static void run_inside(struct run *x, struct cmd *c, size_t from, bool fresh)
{
	struct cmd sub = { .v = c->v + from, .n = c->n - from };
	struct args it = { .c = &sub, .shorts = run_shorts, .longs = run_longs, .posix = true };
	struct state saved = x->st;
	bool contained = x->contained, remote = x->remote, socket = false;
	const struct mount *mounts = x->mounts;
	str entry = STR_NONE, dir = STR_NONE;
	struct arg a;
	int image = -1;

	while (args_next(&it, &a)) {
		if (arg_is(&a, 'v', "volume")) {
			judge_mount(x, c, a.value);
			add_mount(x, a.value);
			socket |= str_has(a.value, ".sock");
		} else if (arg_is(&a, 0, "mount")) {
			ptrdiff_t at = str_find(a.value, STR("source=")), at2 = str_find(a.value, STR("src="));
			str source,
				rest = at >= 0 ? str_from(a.value, (size_t)at + 7)
				: at2 >= 0     ? str_from(a.value, (size_t)at2 + 4)
					       : STR("");

			socket |= str_has(a.value, ".sock");
			if (str_split(&rest, ',', &source))
				judge_mount(x, c, source);
			add_mount(x, a.value);
		} else if (arg_is(&a, 'w', "workdir")) {
			dir = a.value;
		} else if (arg_is(&a, 0, "privileged") && !str_eq(a.value, STR("false"))) {
			FAULT(x, c, RULE_DOCKER_ESCAPE, cmd_has(c, "--pid") ? VERDICT_DENY : VERDICT_ASK,
				"this gives a container power over the host");
		} else if (arg_is(&a, 0, "pid") && str_eq(a.value, STR("host"))) {
			FAULT(x, c, RULE_DOCKER_ESCAPE, VERDICT_ASK,
				"this lets a container see and end every process of the host");
		} else if (arg_is(&a, 0, "cap-add") &&
			str_in_nocase(a.value,
				"ALL SYS_ADMIN SYS_MODULE SYS_RAWIO "
				"DAC_READ_SEARCH")) {
			FAULT(x, c, RULE_DOCKER_ESCAPE, VERDICT_ASK, "this gives a container power over the host");
		} else if (arg_is(&a, 0, "device") && place_of(x, a.value) == PLACE_DEVICE) {
			FAULT(x, c, RULE_DOCKER_ESCAPE, VERDICT_DENY, "this gives a disk to a container");
		} else if (arg_is(&a, 0, "entrypoint")) {
			entry = a.value;
		}
		if (!a.operand)
			continue;
		image = (int)a.at;
		break;
	}
	if (image < 0 || (size_t)image + 1 > sub.n) {
		x->mounts = mounts;
		return;
	}
	struct fields f = { 0 };

	if (entry.n)
		fields_add(x->a, &f, entry);
	/* With the engine's socket the client inside is as good as the one outside. */
	else if (socket && str_starts(str_base(sub.v[image]), STR("docker")) && (size_t)image + 1 < sub.n &&
		str_in(sub.v[image + 1], "run create exec volume system"))
		fields_add(x->a, &f, STR("docker"));
	for (size_t i = (size_t)image + 1; i < sub.n; i++)
		fields_add(x->a, &f, sub.v[i]);
	/* What is thrown away with the container may be deleted; what runs on is as another machine. */
	x->contained |= fresh && !socket;
	x->remote |= !fresh;
	x->st.cwd = dir.n ? path_join(x, STR("/"), dir) : fresh ? STR("/") : STR("/app");
	if (f.n)
		c->out = run_argv(x, f.v, f.n, c->in);
	x->mounts = mounts;
	x->contained = contained;
	x->remote = remote;
	x->st = saved;
}

static void do_docker(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "Hclfp",
		.longs = "context host config log-level file project-name profile env-file "
			 "project-directory ansi",
		.posix = true };
	struct arg a;
	bool compose = str_in(c->name, "docker-compose podman-compose");

	if (row_matches(c, "rm|rmi|kill|container|image") && (cmd_has(c, "-f") || cmd_has(c, "--force")))
		for (size_t i = 2; i < c->n; i++)
			if (has_mark(str_head(c->v[i], 1), MARKS_HOLE) || (c->v[i].n && c->v[i].p[0] == MARK_STAR))
				FAULT(x, c, RULE_DOCKER_PRUNE, VERDICT_DENY,
					"this removes containers or images that are only known "
					"when it runs");
	while (args_next(&it, &a)) {
		if (!a.operand)
			continue;
		if (str_in(a.value, "compose container stack")) {
			compose |= str_eq(a.value, STR("compose"));
			it.no_more = false;
			continue;
		}
		if (str_in(a.value, "run create exec"))
			run_inside(x, c, a.at, !str_eq(a.value, STR("exec")));
		return;
	}
	(void)compose;
}

/* kubectl exec POD -- CMD; also debug and run. */
static void do_kubectl(struct run *x, struct cmd *c)
{
	bool contained = x->contained, remote = x->remote, fresh;
	struct state saved = x->st;

	if (!row_matches(c, "exec|debug|run"))
		return;
	fresh = !row_matches(c, "exec");
	for (size_t i = 1; i < c->n; i++)
		if (str_has(c->v[i], "hostPath") || str_has(c->v[i], "\"hostPID\":true") ||
			str_has(c->v[i], "\"privileged\":true"))
			FAULT(x, c, RULE_DOCKER_ESCAPE, VERDICT_DENY, "this gives a container power over the host");
	for (size_t i = 1; i + 1 < c->n; i++)
		if (str_eq(c->v[i], STR("--"))) {
			x->contained |= fresh;
			x->remote |= !fresh;
			x->st.cwd = fresh ? STR("/") : STR("/app");
			c->out = run_argv(x, c->v + i + 1, c->n - i - 1, c->in);
			x->contained = contained;
			x->remote = remote;
			x->st = saved;
			return;
		}
}

/* terraform takes options from variables too. */
static void do_terraform(struct run *x, struct cmd *c)
{
	static const char *const names[] = { "TF_CLI_ARGS", "TF_CLI_ARGS_apply", "TF_CLI_ARGS_plan",
		"TF_CLI_ARGS_destroy" };

	for (size_t i = 0; i < countof(names); i++) {
		str value = var_get(x, str_of(names[i]));

		if (str_is_set(value) && str_has(value, "-destroy") && row_matches(c, "apply"))
			FAULT(x, c, RULE_IAC, VERDICT_DENY, "this destroys infrastructure");
	}
}

/* gh api and the like: a method and a path say what happens. */
static void do_api(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "XHfFqtp",
		.longs = "method header raw-field field jq template input hostname preview cache" };
	bool deletes = false, forces = false;
	str path = STR_NONE;
	struct arg a;

	if (!row_matches(c, "api"))
		return;
	while (args_next(&it, &a)) {
		deletes |= arg_is(&a, 'X', "method") && str_in_nocase(a.value, "DELETE");
		forces |= str_in(a.value, "force=true") && !a.operand;
		if (a.operand && !str_eq(a.value, STR("api")) && !str_is_set(path))
			path = a.value;
	}
	if (path.n && path.p[0] == '/')
		path = str_from(path, 1);
	if (forces && str_has(path, "/git/refs"))
		FAULT(x, c, RULE_GIT_PUSH, VERDICT_DENY, "this overwrites what others have pushed");
	if (deletes)
		FAULT(x, c, RULE_CLOUD, glob_any(path, "repos/*/*/*") ? VERDICT_ASK : VERDICT_DENY,
			"this deletes something: " STR_FMT, STR_ARG(path));
}

const struct handler pack_container[] = {
	{ "terraform", do_terraform },
	{ "api", do_api },
	{ "docker", do_docker },
	{ "kubectl", do_kubectl },
	{ 0 },
};
