/* places: which kind of place a path is: system, home, project, build output, secrets, hookd's own.
 * Tables. */
#include "guard/internal.h"
#include "redact/redact.h"

/* Directories of the system: neither they nor their contents are build output. */
static const char *const system_dirs[] = { "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/boot", "/var", "/dev", "/proc", "/sys", "/opt", "/root", "/srv", "/run", "/snap", "/nix", "/mnt", "/media",
	"/lost+found", "/System", "/Library", "/Applications", "/Volumes", "/private", "/cores", "/Network", "/efi",
	"/usr/local", "/var/lib", "/var/log" };

static const char home_dirs[] = "/home /Users";
static const char *const temp_dirs[] = { "/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/var/folders",
	"/private/var/folders" };

/* What builds, tests and tools make again by themselves, wherever it lies. */
static const char made_names[] =
	"_build _dist .build node_modules bower_components __pycache__ .pytest_cache .mypy_cache .ruff_cache "
	".hypothesis "
	".tox .nox "
	".venv .cache .next .nuxt .output .svelte-kit .parcel-cache .turbo .angular .vite .vite-temp .gradle "
	".terraform "
	".terragrunt-cache htmlcov .coverage .nyc_output .tmp .temp .eggs .stack-work dist-newstyle zig-out zig-cache "
	".zig-cache elm-stuff .bloop .metals .bsp storybook-static test-results test-output playwright-report "
	".docusaurus .serverless cdk.out .aws-sam _site .jekyll-cache .sass-cache .eslintcache .stylelintcache "
	".dart_tool Pods DerivedData .ccache .sccache CMakeFiles .ipynb_checkpoints _cacache _npx .yarn-cache "
	".pnpm-store .rpt2_cache .fusebox .dynamodb .wrangler .vercel .netlify .expo .import .godot bazel-bin "
	"bazel-out "
	"bazel-testlogs .pio .lsp .clj-kondo .cpcache .nx .swc .webpack .rollup.cache .tsbuildinfo __snapshots_tmp__ "
	".scannerwork .bundle .trunk buck-out .idea .vs lib-cov lcov-html .egg";
/* The same in a project, and in what a tool keeps for itself; elsewhere they are names like any other. */
static const char made_here[] =
	"site-packages gen generated reports _sources build builds out output dist target venv cache caches "
	"coverage cover tmp temp logs log obj "
	"Debug Release debug release artifacts";
static const char made_patterns[] =
	"*.egg-info cmake-build-* *.dSYM *.pyc *.pyo *.o *.lo *.xo *.gcov *.class *.swp *.tsbuildinfo "
	".DS_Store npm-debug.log* *.gcda *.gcno *.profraw";
/* The same, but not among what a person keeps: there a copy or a log may be the only one. */
static const char made_or_kept[] = "*.tmp *.log *.bak *~ core.* *.orig *.rej *_cache *-cache *.lock *.lockb "
				   "*-lock.json *-lock.yaml";
static const char made_patterns_here[] =
	"build-* build_* *-build *_build *_dist *-dist dist-* dist_* *-compiled *_generated* "
	"*_out *_output *_built tmp* .tmp* *.gem *.whl *.a *.so *.tgz *.tar.gz *.deb *.rpm *.apk *.jar *.pb.go *.vsix";
/* Where tools keep what they have fetched, below a home. */
static const char *const stores_in_home[] = { ".m2/repository", ".ansible/collections", ".ansible/tmp",
	".cargo/registry", ".cargo/git", ".npm", ".nuget/packages", ".ivy2/cache", ".bundle/cache", ".gem/ruby",
	"go/pkg/mod", ".rustup/toolchains", ".nvm/versions", ".pyenv/versions", ".rbenv/versions",
	".local/share/pnpm/store", ".bun/install/cache", ".yarn/berry", ".vscode/extensions",
	".terraform.d/plugin-cache", ".local/share/virtualenvs" };

/* Where a name is: what else it may be taken for. */
enum around { AROUND_PERSON, AROUND_ANYTHING, AROUND_PROJECT };

static bool is_made_name(str part, enum around around)
{
	char certain[64];

	/* What a live pattern stands for is not known: it must not meet the letters of a name. */
	if (has_mark(part, "\2\3")) {
		if (part.n > sizeof(certain))
			return false;
		for (size_t i = 0; i < part.n; i++)
			certain[i] = (char)(part.p[i] == MARK_ANY || part.p[i] == MARK_STAR ? 0x7f : part.p[i]);
		part = str_n(certain, part.n);
	}
	return str_in(part, made_names) || glob_any(part, made_patterns) ||
		(around != AROUND_PERSON && glob_any(part, made_or_kept)) ||
		(around == AROUND_PROJECT && (str_in(part, made_here) || glob_any(part, made_patterns_here)));
}

bool is_like_output(str name)
{
	return is_made_name(name, AROUND_PROJECT);
}

/* Deeper than any build goes; what is not looked at is not taken for build output. */
enum { PARTS_MAX = 48 };

/* Some part of the path, from `from` on, is made by tools. */
static bool has_made_part(str path, size_t from, enum around around)
{
	str rest = str_from(path, from), part;
	unsigned parts = 0;

	while (str_split(&rest, '/', &part) && parts++ < PARTS_MAX)
		if (part.n && is_made_name(part, around))
			return true;
	return false;
}

static bool is_system_dir(str path)
{
	for (size_t i = 0; i < countof(system_dirs); i++)
		if (str_eq(path, str_of(system_dirs[i])) ||
			(has_mark(path, "\2\3") && glob_match(path, str_of(system_dirs[i]))))
			return true;
	return false;
}

static bool below_system_dir(str path)
{
	for (size_t i = 0; i < countof(system_dirs); i++)
		if (path_below(path, str_of(system_dirs[i])))
			return true;
	return false;
}

/* The home directory that a path lies in: ours, root's, or anybody's. 0 when in none. */
static size_t home_length(struct run *x, str path)
{
	size_t n = 0, slashes = 0;

	if (path_below(path, x->c->home) && x->c->home.n > 1)
		return x->c->home.n;
	if (path_below(path, STR("/root")))
		return 5;
	if (!str_starts(path, STR("/home/")) && !str_starts(path, STR("/Users/")))
		return 0;
	while (n < path.n && (path.p[n] != '/' || ++slashes < 3))
		n++;
	return n;
}

static enum place device_place(str path)
{
	if (glob_any(path,
		    "/dev/sd* /dev/hd* /dev/vd* /dev/xvd* /dev/nvme* /dev/mmcblk* "
		    "/dev/disk* /dev/rdisk* /dev/mapper/* "
		    "/dev/md* /dev/dm-* /dev/loop* /dev/sr* /dev/mem /dev/kmem /dev/port "
		    "/dev/block/* /dev/ram*") ||
		str_starts(path, STR("\\\\.\\PhysicalDrive")))
		return PLACE_DEVICE;
	return PLACE_NULL;
}

static enum place place_known(struct run *x, str path, bool all);

/* Something in it is not known: what precedes it says where it is, when that cannot be left.
 */
static enum place place_with_hole(struct run *x, str path)
{
	size_t n = 0, slash = 0;
	enum place front;
	str last = str_base(path);

	while (n < path.n && !has_mark(str_n(path.p + n, 1), MARKS_HOLE)) {
		if (path.p[n] == '/')
			slash = n;
		n++;
	}
	if (str_eq(last, STR("\2")) && path.n > 2)
		last = str_base(str_head(path, path.n - 2)); /* all that is in a directory is the directory */
	if (!has_mark(last, MARKS_ANY) && is_made_name(last, AROUND_PROJECT))
		return PLACE_MADE;
	if (path_is_dynamic(path) || slash == 0)
		return PLACE_UNKNOWN;
	for (size_t i = 0; i < countof(temp_dirs); i++)
		if (str_eq(str_head(path, slash), str_of(temp_dirs[i])))
			return PLACE_TEMP;
	front = place_known(x, str_head(path, slash), false);
	return front == PLACE_TEMP || front == PLACE_MADE || front == PLACE_IN_PROJECT || front == PLACE_DEVICE
		? front
		: PLACE_UNKNOWN;
}

static enum place place_in_project(str path, str root)
{
	str rest = str_from(path, root.n + 1), last = str_base(path);

	if (str_eq(rest, STR(".git")) || str_starts(rest, STR(".git/")) || str_ends(rest, STR("/.git")) ||
		(has_mark(rest, "\2\3") && path_like(".git", rest)))
		return PLACE_GIT;
	/* cmd/tool/tool is what a build of cmd/tool leaves there. */
	if (str_eq(last, str_base(str_head(path, (size_t)(last.p - path.p) - 1))) && str_find_char(last, '.') < 0 &&
		str_has(rest, "/"))
		return PLACE_MADE;
	return has_made_part(path, root.n, AROUND_PROJECT) || path_below(rest, STR("vendor/bundle")) ? PLACE_MADE
												     : PLACE_IN_PROJECT;
}

/* A live pattern that a home or the project fits. */
static enum place covers(struct run *x, str path, str root)
{
	if (glob_match(path, x->c->home) || glob_match(path, STR("/home")) || glob_match(path, STR("/Users")) ||
		glob_match(path, STR("/root")))
		return PLACE_HOMES;
	return root.n && glob_match(path, root) ? PLACE_PROJECT : PLACE_UNKNOWN;
}

static enum place place_known(struct run *x, str path, bool all)
{
	str root = x->c->root.n ? x->c->root : x->c->cwd;
	size_t home;
	bool whole;

	if (str_eq(path, STR("/")))
		return PLACE_ROOT;
	if (x->remote || is_inside(x, path))
		root = STR_NONE;
	if (path_below(path, STR("/dev")) && !path_below(path, STR("/dev/shm")) && path.n > 5)
		return device_place(path);
	home = home_length(x, path);
	if (str_eq(path, x->c->home) || str_in(path, home_dirs) || (home && home == path.n) ||
		path_below(x->c->home, path))
		return PLACE_HOMES;
	if (is_system_dir(path))
		return PLACE_SYSTEM;
	if (root.n && str_eq(path, root))
		return PLACE_PROJECT;
	if (root.n && path_below(root, path))
		return PLACE_ABOVE;
	if (has_mark(path, "\2\3") && covers(x, path, root) != PLACE_UNKNOWN)
		return covers(x, path, root);
	if (root.n && path_below(path, root))
		return place_in_project(path, root);
	for (size_t i = 0; i < countof(temp_dirs); i++) {
		if (str_eq(path, str_of(temp_dirs[i])))
			return all ? PLACE_SYSTEM_IN : PLACE_SYSTEM;
		if (path_below(path, str_of(temp_dirs[i])))
			return PLACE_TEMP;
	}
	for (size_t i = 0; home && i < countof(stores_in_home); i++)
		if (path_below(str_from(path, home + 1), str_of(stores_in_home[i])))
			return PLACE_MADE;
	if (home) /* ~/.npm/cache: what begins with a dot is a tool's */
		return has_made_part(path, home,
			       home + 1 < path.n && path.p[home + 1] == '.' ? AROUND_PROJECT
				       : is_personal(x, path, &whole)       ? AROUND_PERSON
									    : AROUND_ANYTHING)
			? PLACE_MADE
			: PLACE_IN_HOME;
	/* Lists and archives of packages, which the next update fetches again. */
	if (str_starts(path, STR("/var/cache/")) || path_below(path, STR("/var/lib/apt/lists")))
		return PLACE_MADE;
	if (below_system_dir(path) && !path_below(path, STR("/srv")) && !path_below(path, STR("/mnt")) &&
		!path_below(path, STR("/opt")) && !path_below(path, STR("/media")) &&
		!path_below(path, STR("/Volumes")))
		return PLACE_SYSTEM_IN;
	return has_made_part(path, 0, x->remote ? AROUND_PROJECT : AROUND_ANYTHING) ? PLACE_MADE : PLACE_ELSEWHERE;
}

enum place place_of(struct run *x, str path)
{
	bool all = false;
	str last;

	(void)spend(x, 40 + (unsigned)(path.n / 2));

	if (has_mark(path, MARKS_HOLE))
		return place_with_hole(x, path);
	if (path_is_dynamic(path))
		return PLACE_UNKNOWN;
	/* Everything in a directory, also the hidden things, is the directory. */
	for (;;) {
		last = str_base(path);
		if (path.n <= 1 || !has_mark(last, "\2") ||
			!(str_eq(last, STR("\2")) || str_eq(last, STR(".\2")) || str_eq(last, STR("\3\2")) ||
				str_eq(last, STR(".\3\2")) || str_eq(last, STR("\2\2")) ||
				str_eq(last, STR(".\3\3\2")) || str_eq(last, STR("\2.\2"))))
			break;
		path = str_head(path, MAX((size_t)(last.p - path.p), 2) - 1);
		all = true;
	}
	return place_known(x, path, all);
}

/* -- secrets ---------------------------------------------------------------------------------- */

static const char open_in_ssh[] = "config known_hosts known_hosts.old authorized_keys "
				  "authorized_keys2 environment rc config.d";

static enum secrecy secrecy_in_ssh(str rest)
{
	str last = str_base(rest);

	if (!rest.n || str_in(last, open_in_ssh) || str_ends(last, STR(".pub")) || str_starts(rest, STR("config.d/")))
		return rest.n ? SECRET_NOT : SECRET_KEY;
	return SECRET_KEY;
}

/* Secrets by the list, but nobody minds when they are read: examples, certificates, settings of tests. */
static const char harmless_names[] = "*.example *.sample *.template *.dist *.tmpl *.tpl *example* "
				     "*sample* *.defaults *.default *.schema *.pub cert.pem "
				     "ca.pem *cert*.pem *chain*.pem *public* *.crt *ca*.pem "
				     ".env.test .env.ci .env.vault *.env.test";

static enum secrecy secrecy_of_class(enum secret_file_class class)
{
	return class == FILE_IS_KEY ? SECRET_KEY : class == FILE_IS_SECRET ? SECRET_PROJECT : SECRET_NOT;
}

static bool may_be(char in_pattern, char in_path)
{
	return strchr("*?[]", in_pattern) || (unsigned char)in_path < ' ' || (in_pattern | 0x20) == (in_path | 0x20);
}

/* Both ends of most patterns are plain, and differ from most paths. */
static bool may_fit(str pattern, str path)
{
	return pattern.n && path.n && may_be(pattern.p[0], path.p[0]) &&
		may_be(pattern.p[pattern.n - 1], path.p[path.n - 1]);
}

/* The strictest row that the path may be. */
static enum secrecy secrecy_by(const struct secret_file *rows, size_t n, str path)
{
	enum secrecy worst = SECRET_NOT;

	for (size_t i = 0; i < n && worst != SECRET_KEY; i++)
		if (secrecy_of_class(rows[i].class) > worst && may_fit(rows[i].pattern, path) &&
			path_like(rows[i].pattern.p, path))
			worst = secrecy_of_class(rows[i].class);
	return worst;
}

static enum secrecy secrecy_of_name(str path)
{
	enum secrecy s;
	str last = str_base(path);

	if (has_mark(last, MARKS_HOLE) || (has_mark(last, "\2\3") && last.n < 4))
		return SECRET_NOT;
	s = secrecy_by(secret_files_by_name, nsecret_files_by_name, last);
	if (s == SECRET_NOT)
		return s;
	/* Of what a live pattern may cover only keys and .env count: *.json would cover half of the list. */
	if (has_mark(last, "\2\3") && s == SECRET_PROJECT && !path_like(".env", last) &&
		!glob_any(last, "*.pem *.key *.env .env.*"))
		return SECRET_NOT;
	if (s == SECRET_KEY ? str_ends(last, STR(".pub")) : glob_any(last, harmless_names))
		return SECRET_NOT;
	return s;
}

/* The path from a home directory on. */
static enum secrecy secrecy_in_home(str rest)
{
	str first = rest, part;

	if (str_split(&first, '/', &part) &&
		(str_eq(part, STR(".ssh")) || (has_mark(part, "\2\3") && path_like(".ssh", part))))
		return secrecy_in_ssh(str_from(rest, MIN(part.n + 1, rest.n)));
	if (rest.p[0] != '.' && rest.p[0] != 'L' && rest.p[0] != '_' && rest.p[0] != MARK_ANY)
		return SECRET_NOT;
	return secrecy_by(secret_files_in_home, nsecret_files_in_home, rest);
}

enum secrecy secrecy_of(struct run *x, str path)
{
	size_t home = path_is_dynamic(path) ? 0 : home_length(x, path);
	enum secrecy s = SECRET_NOT;

	if (is_inside(x, path))
		return SECRET_NOT;
	if (is_owner_token(x, path))
		return SECRET_KEY;
	if (home && home < path.n)
		s = secrecy_in_home(str_from(path, home + 1));
	if (s != SECRET_NOT)
		return s;
	if (path_like("/proc/*/environ", path))
		return SECRET_ENVIRON;
	if (path.n > 4 && path.p[0] == '/' &&
		secrecy_by(secret_files_of_system, nsecret_files_of_system, path) == SECRET_KEY)
		return SECRET_KEY;
	/* Unknown in front, but then a key's own place. */
	if (str_has(path, "/.ssh/id_") || str_has(path, "/.aws/credentials"))
		return str_ends(path, STR(".pub")) ? SECRET_NOT : SECRET_KEY;
	return secrecy_of_name(path);
}

/* -- hookd's own ------------------------------------------------------------------------------ */

static const char *const own_in_home[] = { ".local/share/hookd/**", ".local/state/hookd/**", ".config/hookd/**",
	".hookd/**", ".local/share/hookd", ".local/state/hookd", ".config/hookd", ".hookd",
	".config/systemd/user/hookd*", "Library/LaunchAgents/*hookd*", ".config/systemd/user/*/hookd*",
	"Library/Application Support/hookd/**", ".cache/hookd/**" };
static const char *const shared_in_home[] = { ".claude/settings.json", ".claude/settings.local.json", ".claude",
	".claude/hooks/**", ".codex/hooks.json", ".codex/config.toml", ".codex", ".gemini/settings.json", ".gemini",
	".claude.json", ".config/claude/settings.json", ".cursor/hooks.json", ".cursor/hooks/**",
	".cursor/cli-config.json", ".copilot", ".copilot/config.json", ".copilot/hooks/**", ".copilot/settings.json",
	".qwen/settings.json", ".qwen", ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc",
	".config/opencode/plugin/**", ".config/opencode/plugins/**", ".opencode/**", ".codeium/hooks.json",
	".codeium/windsurf/hooks.json", ".windsurf/hooks.json", ".factory/settings.json", ".factory/hooks/**",
	".augment/settings.json", ".kiro/hooks/**", ".kiro/settings/**", ".config/amp/settings.json",
	".config/crush/crush.json", ".config/goose/config.yaml", ".cline/hooks/**", "Documents/Cline/Rules/Hooks/**",
	".gemini/hooks/**", ".code-agent", ".code-agent/hooks", ".code-agent/hooks/**" };
static const char *const shared_in_project[] = { ".claude/settings.json", ".claude/settings.local.json",
	".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json", ".cursor/hooks.json", ".qwen/settings.json",
	".windsurf/hooks.json", ".factory/settings.json", ".opencode/opencode.json" };
static const char *const dirs_in_project[] = { ".claude/hooks/**", ".cursor/hooks/**", ".opencode/plugin/**",
	".opencode/plugins/**", ".kiro/hooks/**", ".github/hooks/**", ".factory/hooks/**", ".clinerules/hooks/**",
	".gemini/hooks/**", ".code-agent/hooks/**" };
static const char *const own_in_system[] = { "/etc/hookd/**", "/etc/hookd", "/etc/claude-code/managed-settings.json",
	"/usr/lib/systemd/user/hookd*", "/etc/systemd/*/hookd*", "/run/user/*/hookd/**", "/run/user/*/hookd",
	"/Library/Application Support/ClaudeCode/managed-settings.json", "/run/hookd/**" };

static bool any_like(const char *const *patterns, size_t n, str path)
{
	for (size_t i = 0; i < n; i++)
		if (may_fit(str_of(patterns[i]), path) && path_like(patterns[i], path))
			return true;
	return false;
}

/* The end of a path under a directory of the project: .claude/settings.json wherever it lies. */
static bool ends_like(const char *const *patterns, size_t n, str path)
{
	for (size_t i = 0; i < n; i++) {
		str p = str_of(patterns[i]);

		if (str_eq(path, p) || (path.n > p.n && str_ends(path, p) && path.p[path.n - p.n - 1] == '/'))
			return true;
	}
	return false;
}

/* All that is in a directory is the directory. */
static str without_all(str path)
{
	return path.n > 2 && str_eq(str_base(path), STR("\2")) ? str_head(path, path.n - 2) : path;
}

bool is_protected(struct run *x, str path, bool *ret_shared)
{
	size_t home = path_is_dynamic(path) ? 0 : home_length(x, path);
	str root = x->c->root.n ? x->c->root : x->c->cwd, last;

	*ret_shared = false;
	path = without_all(path);
	last = str_base(path);
	if (is_inside(x, path) || x->remote)
		return false;
	for (size_t i = 0; i < x->c->nown; i++)
		if (path_below(path, x->c->own[i]))
			return true;
	if (home && home < path.n) {
		str rest = str_from(path, home + 1);

		if (any_like(own_in_home, countof(own_in_home), rest))
			return true;
		if (any_like(shared_in_home, countof(shared_in_home), rest))
			return *ret_shared = true;
	}
	if (any_like(own_in_system, countof(own_in_system), path))
		return true;
	if ((str_in(last, "hookd hookc") ||
		    (has_mark(last, "\2\3") && last.n > 3 && last.p[0] == 'h' &&
			    (glob_match(last, STR("hookd")) || glob_match(last, STR("hookc"))))) &&
		(str_has(path, "/bin/") || str_has(path, "/sbin/") || str_has(path, "/libexec/")))
		return true;
	if (path_below(path, root) && path.n > root.n) {
		str rest = str_from(path, root.n + 1);

		if (str_eq(rest, STR(".hookd")) || str_starts(rest, STR(".hookd/")))
			return true;
		if (str_in(rest, ".claude .codex .gemini") || any_like(dirs_in_project, countof(dirs_in_project), rest))
			return *ret_shared = true;
	}
	if (ends_like(shared_in_project, countof(shared_in_project), path))
		return *ret_shared = true;
	return path_is_dynamic(path) && (str_has(path, "/hookd/hookd.") || str_has(path, "/.config/hookd"));
}

/* -- files that others run or trust ----------------------------------------------------------- */

enum base { IN_ROOT, IN_HOME, IN_PROJECT };

/* In order: the first that fits counts. */
static const struct {
	enum guarded kind;
	enum base base;
	const char *patterns;
} guarded_files[] = {
	{ GUARDED_AUTH, IN_HOME, ".ssh/authorized_keys*" },
	{ GUARDED_STARTUP, IN_HOME,
		".ssh/** .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv "
		".zprofile .zlogin .xprofile .xinitrc .xsession .inputrc .pam_environment .config/fish/** "
		".gitconfig .config/git/config .config/systemd/user/** .config/autostart/** "
		".config/environment.d/** Library/LaunchAgents/** .npmrc" },
	{ GUARDED_NOT, IN_HOME, ".local/bin/**" },
	{ GUARDED_AGENT, IN_HOME,
		".claude/CLAUDE.md .claude/commands/** .claude/agents/** .claude/skills/** .claude/plugins/** "
		".claude/output-styles/** .codex/AGENTS.md .codex/prompts/** .codex/skills/** .codex/rules/** "
		".agents/** .gemini/GEMINI.md .gemini/commands/** .gemini/extensions/** .gemini/skills/** "
		".qwen/QWEN.md .cursor/mcp.json .cursor/rules/** .cursor/skills/** .copilot/mcp-config.json "
		".copilot/agents/** .codeium/windsurf/** .kiro/** .factory/** .config/opencode/** .config/goose/** "
		".config/amp/** .config/crush/**" },
	{ GUARDED_AGENT, IN_PROJECT,
		"CLAUDE.md CLAUDE.local.md AGENTS.md GEMINI.md .mcp.json .claude/commands/** .claude/agents/** "
		".claude/skills/** .claude/rules/** .agents/** .codex/** .gemini/** .cursor/mcp.json "
		".cursor/rules/** .cursorrules .windsurfrules .clinerules .opencode/** .vscode/mcp.json "
		".github/copilot-instructions.md .github/instructions/**" },
	{ GUARDED_SUDOERS, IN_ROOT, "/etc/sudoers /etc/sudoers.d/** /etc/doas.conf /etc/polkit-1/**" },
	{ GUARDED_PERSIST, IN_ROOT,
		"/etc/cron*/** /etc/crontab /etc/anacrontab /var/spool/cron/** /var/spool/at/** /etc/systemd/** "
		"/lib/systemd/** /usr/lib/systemd/** /run/systemd/** /etc/init.d/** /etc/rc.local /etc/rc*.d/** "
		"/etc/profile /etc/profile.d/** /etc/bash.bashrc /etc/zsh/** /etc/ld.so.preload "
		"/etc/ld.so.conf.d/** /etc/udev/** /etc/xdg/autostart/** /Library/LaunchDaemons/** "
		"/Library/LaunchAgents/** /etc/environment" },
	{ GUARDED_SYSTEM, IN_ROOT,
		"/etc/passwd /etc/passwd- /etc/shadow /etc/group /etc/gshadow /etc/fstab /etc/hosts.allow "
		"/etc/pam.d/** /etc/security/** /etc/ssh/** /etc/ssl/** /etc/nsswitch.conf /etc/resolv.conf "
		"/etc/hosts /boot/** /bin/* /sbin/* /usr/bin/* /usr/sbin/* /lib/** /lib64/** /usr/lib/** "
		"/proc/sysrq-trigger /proc/sys/kernel/** /sys/firmware/**" },
};

enum guarded guarded_of(struct run *x, str path)
{
	size_t home = path_is_dynamic(path) ? 0 : home_length(x, path);
	str root = x->c->root.n ? x->c->root : x->c->cwd;
	str at[] = { [IN_ROOT] = path,
		[IN_HOME] = home && home < path.n ? str_from(path, home + 1) : STR(""),
		[IN_PROJECT] = path_below(path, root) && path.n > root.n ? str_from(path, root.n + 1) : STR("") };

	if (is_inside(x, path))
		return GUARDED_NOT;
	if (str_ends(path, STR("/.git/config")) || str_has(path, "/.git/hooks/"))
		return GUARDED_GITHOOK;
	for (size_t i = 0; i < countof(guarded_files); i++) {
		str patterns = str_of(guarded_files[i].patterns), one;

		while (str_split(&patterns, ' ', &one))
			if (path_matches(one, at[guarded_files[i].base]))
				return guarded_files[i].kind;
	}
	return GUARDED_NOT;
}
