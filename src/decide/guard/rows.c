/* rows: rules that are words.
 *
 * A pattern is a list of terms, separated by blanks; all must hold:
 *   word        the next operand is this word; a|b is either, * is a pattern, in any case of
 * letters
 *   ..          any number of operands may stand between
 *   -f|--force  one of these options is there (bundles and abbreviations count; --x=v* looks at the
 * value too)
 *   !-n|--dry   none of these options is there
 *   $           no operand may follow
 * Operands are the words that are neither options nor, as far as the table of value options knows,
 * their values. */
#include "guard/internal.h"

/* Options before or among the words that take a separate value. */
static const struct {
	const char *programs, *shorts, *longs;
	bool single;
} value_options[] = {
	{ "kubectl oc k3s microk8s k", "nslfoc",
		"namespace context cluster kubeconfig user server selector output filename as "
		"token container grace-period timeout field-selector field-manager request-timeout",
		false },
	{ "helm", "nfo", "namespace kube-context kubeconfig values set version repo output timeout", false },
	{ "docker podman nerdctl docker-compose podman-compose", "HcfplvewuhtdnmM",
		"context host config log-level file project-name profile filter format env "
		"env-file volume mount name network user workdir entrypoint project-directory "
		"tlscacert tlscert tlskey since until signal time",
		false },
	{ "aws", "",
		"profile region output endpoint-url query cli-input-json user-name bucket cluster "
		"key role-name policy-arn policy-document stack-name db-instance-identifier "
		"db-cluster-identifier table-name function-name instance-ids group-id name "
		"cluster-name key-id volume-id snapshot-id group-name hosted-zone-id "
		"repository-name load-balancer-arn queue-url topic-arn domain-name bucket-name "
		"exclude include acl distribution-id file-system-id nodegroup-name allocation-id "
		"vpc-id subnet-id secret-id pending-window-in-days user-pool-id cache-cluster-id "
		"identity-pool-id stream-name application-name environment-name",
		false },
	{ "gcloud bq gsutil", "ohu",
		"project account configuration format zone region filter cluster location dataset "
		"project_id organization folder async-after",
		false },
	{ "az", "gnso",
		"resource-group name subscription output query vault-name account-name server ids "
		"location",
		false },
	{ "terraform tofu terragrunt", "",
		"target var var-file state state-out backup chdir lock-timeout parallelism "
		"working-dir",
		true },
	{ "pulumi", "sC", "stack cwd target", false },
	{ "gh glab", "RXHfFBb", "repo method header hostname raw-field field jq template", false },
	{ "heroku", "arp", "app remote confirm", false },
	{ "fly flyctl", "act", "app config org", false },
	{ "doctl", "tc", "context access-token output format", false },
	{ "vercel", "ASt", "token scope local-config cwd", false },
	{ "systemctl", "MHptn", "host machine type state property signal lines output root kill-who", false },
	{ "npm pnpm yarn bun", "Cw", "prefix workspace filter registry dir tag otp cwd", false },
	{ "cargo", "ZCp", "manifest-path package config color target-dir registry token index", false },
	{ "iptables ip6tables", "tw", "table", false },
	{ "mysqladmin", "uhPSi", "user host port socket", false },
	{ "redis-cli", "hpanuirDdxX", "user pass", false },
	{ "firebase", "P", "project token config", false },
	{ "wrangler", "ce", "config env name", false },
	{ "rclone", "", "config transfers checkers exclude include filter", false },
	{ "gpg gpg2", "uo", "homedir output local-user recipient", false },
	{ "eksctl", "nrf", "name region cluster config-file profile", false },
	{ "velero", "n", "namespace kubecontext", false },
	{ "argocd", "", "server auth-token grpc-web-root-path", false },
	{ "linode-cli hcloud scw ibmcloud oci aliyun", "", "context region zone token profile compartment-id", false },
	{ "vagrant", "", "provider", false },
	{ "mix rake rails bin/rails", "f", "", false },
	{ "supabase", "", "project-ref workdir", false },
	{ "git", "Cc", "git-dir work-tree namespace exec-path super-prefix config-env", false },
};

static struct args args_for(const struct cmd *c)
{
	struct args it = { .c = c };

	for (size_t i = 0; i < countof(value_options); i++)
		if (str_in(c->name, value_options[i].programs)) {
			it.shorts = value_options[i].shorts;
			it.longs = value_options[i].longs;
			it.single = value_options[i].single;
			break;
		}
	return it;
}

static bool alternatives(str term, str word)
{
	str one;

	while (str_split(&term, '|', &one)) {
		if (str_eq_nocase(one, word) || (str_find_char(one, '*') >= 0 && glob_match(one, word)))
			return true;
	}
	return false;
}

static bool option_there(const struct cmd *c, str term)
{
	str one;
	char name[64];

	while (str_split(&term, '|', &one)) {
		if (one.n >= sizeof(name))
			continue;
		if (str_find_char(one, '=') >= 0 || str_find_char(one, '*') >= 0) {
			for (size_t i = 1; i < c->n; i++)
				if (glob_match(one, c->v[i]))
					return true;
			continue;
		}
		memcpy(name, one.p, one.n);
		name[one.n] = 0;
		if (cmd_has(c, name))
			return true;
	}
	return false;
}

static bool operand_fits(struct args *it, str term, bool anywhere)
{
	struct arg a;

	while (args_next(it, &a)) {
		if (!a.operand)
			continue;
		if (alternatives(term, a.value))
			return true;
		if (!anywhere)
			return false;
	}
	return false;
}

bool row_matches(const struct cmd *c, const char *pattern)
{
	struct args it = args_for(c);
	str rest = str_of(pattern), term;
	bool anywhere = false;
	struct arg a;

	while (str_split(&rest, ' ', &term)) {
		if (!term.n)
			continue;
		if (str_eq(term, STR(".."))) {
			anywhere = true;
		} else if (str_eq(term, STR("$"))) {
			while (args_next(&it, &a))
				if (a.operand)
					return false;
		} else if (term.p[0] == '!') {
			if (option_there(c, str_from(term, 1)))
				return false;
		} else if (term.p[0] == '-') {
			if (!option_there(c, term))
				return false;
		} else {
			if (!operand_fits(&it, term, anywhere))
				return false;
			anywhere = false;
		}
	}
	return true;
}

/* Nothing happens: help is shown, or the program only says what it would do. */
static bool only_tells(const struct cmd *c, enum rule rule)
{
	if (cmd_has(c, "--help") || (c->n == 3 && str_eq(c->v[2], STR("help"))))
		return true;
	if (rule != RULE_CLOUD && rule != RULE_K8S && rule != RULE_IAC && rule != RULE_IAM &&
		rule != RULE_DOCKER_PRUNE && rule != RULE_PKG_PUBLISH && rule != RULE_PKG_REMOVE)
		return false;
	for (size_t i = 1; i < c->n && !str_eq(c->v[i], STR("--")); i++)
		if (str_in(c->v[i],
			    "--dry-run --dryrun --dry-run=client --dry-run=server "
			    "--dry-run=true --dry_run"))
			return true;
	return false;
}

/* A listing of everything among the operands: "get … -o name | xargs delete". */
static bool takes_listing(const struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (c->v[i].n && c->v[i].p[0] != '-' && c->v[i].p[c->v[i].n - 1] == MARK_STAR)
			return true;
	return false;
}

bool judge_row(struct run *x, struct cmd *c, const struct row *row)
{
	enum verdict_action action = row->action;

	if (!spend(x, 2 + (unsigned)c->n) || !row_matches(c, row->pattern) || only_tells(c, row->rule))
		return false;
	if ((row->rule == RULE_CLOUD || row->rule == RULE_K8S || row->rule == RULE_IAC ||
		    row->rule == RULE_DOCKER_PRUNE) &&
		takes_listing(c))
		action = VERDICT_DENY;
	FAULT(x, c, row->rule, action, "%s (" STR_FMT ")", row->reason, STR_ARG(cmd_text(x, c)));
	return true;
}
