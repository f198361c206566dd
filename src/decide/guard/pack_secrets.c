/* pack_secrets: secrets as operands of any program. */
#include "guard/internal.h"

/* Programs that use a key by its name, or only look at the name, without showing what is in it. */
static const char users[] = "ls dir exa eza stat chmod chown chgrp chattr test [ [[ file ssh ssh-add ssh-keygen "
			    "ssh-copy-id scp sftp sshfs mosh autossh git find fd echo printf touch mkdir rm "
			    "rmdir ln tee which basename dirname realpath readlink export cd du df wc md5sum sha1sum "
			    "sha256sum sha512sum shasum cksum gpg gpg2 age sops kubectl helm "
			    "openssl docker podman docker-compose terraform tofu ansible ansible-playbook "
			    "ansible-vault aws gcloud az eksctl kubectx kubens k9s tree unlink mv cp install shred "
			    "truncate "
			    "rimraf trash trash-put type hash exec env sudo doas xargs nohup time timeout nice "
			    "parallel watch export declare local readonly set unset trap alias eval source . read "
			    "sh bash zsh dash ksh command builtin rsync curl wget dd sed hookd npm yarn pnpm npx mount "
			    "umount getfacl lsattr direnv tmux screen test-path new-item git-crypt pass "
			    "fly flyctl heroku vercel certbot mkcert nginx caddy namei lsof fuser inotifywait crontab "
			    "systemctl";

/* Programs that show or copy what their operands hold. */
static const char readers[] =
	"cat tac nl less more most head tail bat batcat vim vi nvim nano emacs ed view code subl "
	"open xdg-open xxd od hexdump strings base64 base32 cut awk gawk mawk "
	"sed grep egrep fgrep rg ag ack zgrep sort uniq diff cmp comm paste column fold fmt pr rev "
	"jq yq dasel xmllint tar zip 7z gzip bzip2 xz zstd cpio split csplit iconv "
	"glow expand unexpand dos2unix ccat zcat perl python python3 node ruby php get-content gc "
	"pbcopy xclip xsel wl-copy uuencode qrencode mapfile sdiff vimdiff colordiff "
	"micro helix hx kak pico gedit kate mousepad bsdtar star rar ar busybox-cat sponge lp lpr "
	"enscript hd look join ptx shuf";

static const char pattern_first[] = "grep egrep fgrep rg ag ack zgrep sed awk gawk mawk jq yq perl";

void judge_operands(struct run *x, struct cmd *c)
{
	bool reader, skip, names;

	if (c->n < 2 || str_in(c->name, users))
		return;
	reader = str_in(c->name, readers);
	skip = str_in(c->name, pattern_first) && !cmd_has(c, "-e") && !cmd_has(c, "-f");
	names = str_in(c->name, "grep rg") && (cmd_has(c, "-l") || cmd_has(c, "-q") || cmd_has(c, "-c"));
	for (size_t i = 1; i < c->n; i++) {
		str w = c->v[i];
		enum secrecy s;

		if (!w.n || w.p[0] == '-')
			continue;
		if (skip) {
			skip = false;
			continue;
		}
		if (w.n > 1 && w.p[0] == '@')
			w = str_from(w, 1);
		s = secrecy_of(x, path_resolve(x, w));
		if (s == SECRET_KEY || (s != SECRET_NOT && reader && !names))
			judge_read(x, c, w);
	}
}

/* -- programs that hand out secrets ----------------------------------------------------------- */

static void do_echo(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (has_mark(c->v[i], "\6") && !c->net_out) {
			FAULT(x, c, RULE_SECRET_ENV, VERDICT_ASK, "this prints a secret from the environment");
			return;
		}
}

/* openssl: -in is read, -out and -keyout are written. */
static void do_openssl(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i + 1 < c->n; i++)
		if (str_in(c->v[i], "-in -inkey -key"))
			judge_read(x, c, c->v[i + 1]);
}

static const struct row rows_secrets[] = {
	{ "security", "find-generic-password|find-internet-password|dump-keychain|export|find-key", RULE_SECRET_READ,
		VERDICT_ASK, "this reads from the keychain" },
	{ "secret-tool", "lookup|search", RULE_SECRET_READ, VERDICT_ASK, "this reads from the keyring" },
	{ "pass gopass", "show|.. !-c", RULE_SECRET_READ, VERDICT_ASK, "this reads from the password store" },
	{ "op", "read|item|document", RULE_SECRET_READ, VERDICT_ASK, "this reads from the password manager" },
	{ "bw", "get|export|list", RULE_SECRET_READ, VERDICT_ASK, "this reads from the password manager" },
	{ "vault", "read|kv|print", RULE_SECRET_READ, VERDICT_ASK, "this reads secrets from the vault" },
	{ "gpg gpg2", "--export-secret-keys|--export-secret-subkeys|--export-secret-key", RULE_SECRET_READ,
		VERDICT_DENY, "this exports private keys" },
	{ "aws", "secretsmanager get-secret-value", RULE_SECRET_READ, VERDICT_ASK, "this reads a secret" },
	{ "aws", "ssm get-parameter|get-parameters|get-parameters-by-path --with-decryption", RULE_SECRET_READ,
		VERDICT_ASK, "this reads a secret" },
	{ "aws", "configure get|export-credentials", RULE_SECRET_READ, VERDICT_ASK, "this prints credentials" },
	{ "aws", "sts get-session-token|assume-role", RULE_SECRET_READ, VERDICT_ASK,
		"this makes credentials and prints them" },
	{ "gcloud", "secrets versions access", RULE_SECRET_READ, VERDICT_ASK, "this reads a secret" },
	{ "gcloud", "auth print-access-token|print-identity-token|application-default", RULE_SECRET_READ, VERDICT_ASK,
		"this prints credentials" },
	{ "az", "keyvault secret show|download", RULE_SECRET_READ, VERDICT_ASK, "this reads a secret" },
	{ "az", "account get-access-token", RULE_SECRET_READ, VERDICT_ASK, "this prints credentials" },
	{ "gh", "auth token", RULE_SECRET_READ, VERDICT_ASK, "this prints credentials" },
	{ "gh", "auth status --show-token|-t", RULE_SECRET_READ, VERDICT_ASK, "this prints credentials" },
	{ "kubectl oc k", "get secret|secrets|secret/* -o|--output|-ojson|-oyaml|-o*", RULE_SECRET_READ, VERDICT_ASK,
		"this prints secrets of the cluster" },
	{ "kubectl oc k", "config view --raw", RULE_SECRET_READ, VERDICT_ASK,
		"this prints credentials of the cluster" },
	{ "heroku", "config $", RULE_SECRET_ENV, VERDICT_ASK, "this prints the settings of the app, secrets included" },
	{ "doppler", "secrets", RULE_SECRET_READ, VERDICT_ASK, "this prints secrets" },
	{ "vercel", "env pull", RULE_SECRET_READ, VERDICT_ASK, "this fetches secrets" },
	{ "sops", "-d|--decrypt", RULE_SECRET_READ, VERDICT_ASK, "this decrypts secrets" },
	{ "sops", "decrypt", RULE_SECRET_READ, VERDICT_ASK, "this decrypts secrets" },
	{ "ansible-vault", "view|decrypt|edit", RULE_SECRET_READ, VERDICT_ASK, "this decrypts secrets" },
	{ "git", "credential fill", RULE_SECRET_READ, VERDICT_ASK, "this prints stored passwords" },
	{ "npm", "token create|list", RULE_IAM, VERDICT_ASK, "this handles tokens of the registry" },
	{ "mimikatz lazagne secretsdump secretsdump.py keychaindump", "", RULE_SECRET_READ, VERDICT_DENY,
		"this extracts credentials" },
	{ "terraform tofu", "output -raw|-json|--raw|--json", RULE_SECRET_READ, VERDICT_NONE, "" },
	{ "gcore procdump", "", RULE_SECRET_READ, VERDICT_ASK,
		"this copies the memory of a process, secrets included" },
	{ 0 },
};

static void do_rows(struct run *x, struct cmd *c)
{
	for (const struct row *row = rows_secrets; row->programs; row++)
		if (row->action > VERDICT_ALLOW && str_in(c->name, row->programs) && judge_row(x, c, row) &&
			(row->rule == RULE_SECRET_READ || row->rule == RULE_SECRET_ENV))
			c->out = STR("\5");
}

const struct program pack_secrets[] = {
	{ "echo printf", do_echo },
	{ "openssl", do_openssl },
	{ "security secret-tool pass gopass op bw vault gpg gpg2 aws gcloud az gh kubectl oc k "
	  "heroku doppler vercel sops ansible-vault git npm mimikatz lazagne "
	  "secretsdump secretsdump.py keychaindump gcore procdump",
		do_rows },
	{ 0 },
};
