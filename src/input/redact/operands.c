/* Passwords that are operands of programs: sqlcmd -P …, 7z -p…, rabbitmqctl add_user bob ….
 *
 * DESIGN. What the operand of a program means, only that program knows, so this is a table, looked up by the word in
 * the place of a program. It needs no literals in the automaton, which are dear. A text is read line by line and word
 * by word: quotes are respected, an operator begins a new command, and what is between quotes is read as a line of its
 * own (sh -c '…'). Most of what goes by is source code, so not everything is read: a text of one line is, of others
 * the lines that have an option or, if the text is short, begin with a program of the tables. Every byte is read at
 * most once for each of LEVELS of quotes. */
#include <ctype.h>

#include "redact/internal.h"

enum {
	SHORT_TEXT = 4096, /* every line may begin with a program */
	LINE_SIDE = 1024,  /* of a long line: before and after the option */
	LEVELS = 3,
	ROWS_MAX = 6, /* of one program */
	LEAST = 4,
	PROGRAM_MAX = 24,
};

/* verbs: words that must come before, in this order, any of a|b. rules, any of which may hold:
 *
 *   -P     the value of this option, which may be joined to it or follow a '='
 *   -p+    only when joined        -k!  only as a word of its own
 *   >word  the word that follows   2    the second operand after the verbs
 *   <      what is piped into it, or its here-string
 *   =-m    no secret: an option whose value is not an operand
 *
 * and behind a rule: @c the part of the value after c; ~ it must look random, because words may stand there too. */
static const struct operand {
	const char *programs, *verbs, *rules;
} operands[] = {
	/* Databases. */
	{ "sqlcmd|osql|bcp|tsql|sqsh|isql-fb|fisql", "", "-P" },
	{ "isql|iusql", "", "3~" },
	{ "cqlsh|mycli|mssql-cli|litecli|cypher-shell|beeline|hbase-shell|vsql|nzsql|monetdb", "", "-p" },
	{ "mysqladmin|mariadb-admin", "", ">password" },
	{ "mysqlsh|mysqlpump|mysqlimport|mysqlcheck|mysqlslap|mytop|innotop|xtrabackup|mariabackup", "", "-p+" },
	{ "vsql", "", "-w" },
	{ "sqlplus|sqlcl|sql|rman|expdp|impdp|sqlldr", "", "1@/" },
	{ "db2", "connect|attach", ">using >USING" },
	{ "neo4j-admin", "set-initial-password", "1" },
	{ "influx", "", "-password" },
	{ "etcdctl", "", "--user@:" },
	{ "couchbase-cli|cbbackupmgr", "", "-p --password" },
	{ "redis-benchmark", "", "-a" },
	{ "rabbitmqctl|rabbitmqadmin", "add_user|change_password|authenticate_user", "2" },
	{ "rabbitmqadmin", "", "-p" },
	{ "mosquitto_pub|mosquitto_sub|mosquitto_rr", "", "-P --pw" },
	{ "mosquitto_passwd", "-b", "3" },
	{ "kcadm.sh|kcadm", "", "--password --secret" },
	/* Archives and documents. */
	{ "7z|7za|7zr|7zz|rar|unrar", "", "-p+ -hp+" },
	{ "pdftk", "", ">user_pw >owner_pw >input_pw" },
	{ "openssl", "enc", "-k! -K!" },
	{ "openssl", "passwd", "1~ =-salt =-in" },
	{ "ssh-keygen", "", "-N! -P!" },
	{ "steghide", "", "-p! --passphrase" },
	{ "mkpasswd", "", "1~ =-m =-S =-R" },
	{ "wpa_passphrase", "", "2" },
	{ "ansible-vault", "encrypt_string", "1~ =-n =--name =--vault-id" },
	{ "rclone", "obscure", "1" },
	{ "rclone", "config", ">pass >password" },
	/* Machines, networks, mail. */
	{ "ipmitool|ipmi-power|ipmi-sensors", "", "-P" },
	{ "ipmi-power|ipmi-sensors", "", "-p" },
	{ "racadm|perccli|omconfig", "", "-p" },
	{ "snmpwalk|snmpget|snmpset|snmpgetnext|snmpbulkwalk|snmpbulkget|snmptable|snmptrap|snmpinform", "",
		"-A! -X! -c!" },
	{ "nmcli", "", ">password >wifi-sec.psk >802-11-wireless-security.psk >vpn.secrets" },
	{ "iwconfig", "", ">key" },
	{ "lftp", "", "-u@, --user@," },
	{ "ncftp|ncftpget|ncftpput|ncftpls", "", "-p" },
	{ "rpcclient|smbget|smbcacls|smbcquotas|wmic|winexe|net", "", "-U@% --user@%" },
	{ "smbmap|enum4linux-ng|bloodhound-python|ldapdomaindump|certipy|rpcdump.py", "", "-p" },
	{ "crackmapexec|cme|nxc|netexec|evil-winrm|winrm|psexec|psexec64|plink|pscp|psftp", "", "-p! -pw!" },
	{ "winrs", "", "-p:+ /p:+ -password:+ /password:+" },
	{ "xfreerdp|xfreerdp3|wlfreerdp|sdl-freerdp", "", "/p:+ /gp:+" },
	{ "rdesktop", "", "-p" },
	{ "net", "user", "2~" },
	{ "net", "use", "3~" },
	{ "schtasks", "", "/rp! /p!" },
	{ "cmdkey", "", "/pass:+" },
	{ "impacket-psexec|impacket-smbexec|impacket-wmiexec|impacket-secretsdump|impacket-smbclient|impacket-"
	  "mssqlclient|"
	  "psexec.py|smbexec.py|wmiexec.py|secretsdump.py|smbclient.py|mssqlclient.py|GetUserSPNs.py|GetNPUsers.py",
		"", "1@:" },
	{ "swaks", "", "-ap! --auth-password" },
	{ "sendemail|sendEmail", "", "-xp!" },
	{ "fetchmail|offlineimap|imapsync", "", "--password1 --password2" },
	/* Requests. */
	{ "http|https|xh|xhs", "", "-a@: --auth@:" },
	{ "ab", "", "-A@: -P@:" },
	{ "hey|bombardier|vegeta", "", "-a@:" },
	{ "aria2c", "", "--http-passwd --ftp-passwd" },
	/* Registries, clouds, password stores. */
	{ "twine", "", "-p" },
	{ "gh|glab", "secret|variable", "-b --body -v" },
	{ "gh|glab", "auth", "-t! --token" },
	{ "doctl", "", "-t --access-token" },
	{ "tailscale", "", "--authkey --auth-key" },
	{ "ngrok", "authtoken|add-authtoken", "1" },
	{ "mc|mcli", "set", "4~" },
	{ "security", "add-generic-password|add-internet-password|unlock-keychain|create-keychain|import", "-w -p -P" },
	{ "bw", "login", "2" },
	{ "bw", "unlock", "1~" },
	{ "dscl", "-passwd", "2 3~" },
	{ "pass|gopass", "insert", "<" },
	{ "secret-tool", "store", "<" },
	{ "wrangler", "secret", "<" },
	{ "gh", "secret", "<" },
	{ "kinit|su|cryptsetup|smbpasswd", "", "<" },
	{ "sudo", "-S", "<" },
	/* Lines of configuration: redis, ldap, kickstart. */
	{ "requirepass|masterauth|bindpw|rootbindpw|rootpw", "", "1" },
};

/* Commands that run what their arguments say. */
static const char *const carriers[] = { "sudo", "doas", "env", "nohup", "nice", "ionice", "timeout", "stdbuf", "setsid",
	"xargs", "docker", "podman", "kubectl", "oc", "ssh", "nsenter", "chroot", "runuser", "busybox", "npx", "uvx",
	"pipx", "poetry", "uv", "python", "python3", "docker-compose", "watch", "flock", "strace", "proxychains",
	"proxychains4" };
/* Words in front of a command that are part of none. */
static const char *const before_commands[] = { "then", "do", "else", "if", "elif", "while", "until", "!", "time",
	"exec", "command", "builtin", "RUN", "CMD" };
/* They say what is piped into the next command. */
static const char *const sayers[] = { "echo", "printf" };

/* -- programs ------------------------------------------------------------------------------------ */

/* Every program, by a hash of its name: what is looked up are the words of texts, nearly all of which are none. */
enum { NAMES_MAX = 512, NO_ROW = 0xFF };
_Static_assert(countof(operands) < NO_ROW, "rows are numbered by a byte");

static struct known_name {
	str name;
	uint8_t row; /* the first one of operands[] */
	bool carries, goes_before, says;
} names[NAMES_MAX];

/* The first two letters that occur: enough to know most words. */
static uint32_t starts[32];
/* Of the options: what may come behind the dash. */
static bool letters[256];

static bool may_be_name(str word)
{
	return word.n > 1 && word.n <= PROGRAM_MAX &&
		starts[(unsigned char)word.p[0] & 31] >> ((unsigned char)word.p[1] & 31) & 1;
}

static size_t name_hash(str name)
{
	unsigned h = (unsigned)name.n;

	for (size_t i = 0; i < name.n; i++)
		h = h * 31 + ((unsigned char)name.p[i] | 32u);
	return (h ^ h >> 9) % NAMES_MAX;
}

/* Where the name is, or where it would be. */
static struct known_name *find_known(str name)
{
	size_t i = name_hash(name);

	while (names[i].name.n && !str_eq_nocase(names[i].name, name))
		i = (i + 1) % NAMES_MAX;
	return &names[i];
}

static struct known_name *add_name(str name)
{
	struct known_name *known = find_known(name);

	if (!known->name.n)
		*known = (struct known_name){ .name = name, .row = NO_ROW };
	starts[(unsigned char)name.p[0] & 31] |= 1u << ((unsigned char)(name.n > 1 ? name.p[1] : 0) & 31);
	return known;
}

void operands_init(void)
{
	str rest, name;

	for (size_t i = countof(operands); i-- > 0;) {
		for (rest = str_of(operands[i].programs); str_split(&rest, '|', &name);)
			add_name(name)->row = (uint8_t)i;
		for (rest = str_of(operands[i].rules); str_split(&rest, ' ', &name);)
			letters[(unsigned char)name.p[1]] |= name.p[0] == '-';
	}
	for (size_t i = 0; i < countof(carriers); i++)
		add_name(str_of(carriers[i]))->carries = true;
	for (size_t i = 0; i < countof(sayers); i++)
		add_name(str_of(sayers[i]))->says = true;
	for (size_t i = 0; i < countof(before_commands); i++)
		add_name(str_of(before_commands[i]))->goes_before = true;
}

static bool is_among(const char *choices, str word)
{
	str rest = str_of(choices), choice;

	while (str_split(&rest, '|', &choice))
		if (choice.n && str_eq_nocase(choice, word))
			return true;
	return false;
}

static str program_name(str word)
{
	size_t i = word.n;

	while (i > 0 && word.p[i - 1] != '/' && word.p[i - 1] != '\\')
		i--;
	word = str_from(word, i);
	if (word.n > 4 && str_eq_nocase(str_from(word, word.n - 4), STR(".exe")))
		word.n -= 4;
	return word;
}

/* -- rules ----------------------------------------------------------------------------------------- */

struct rule {
	str name;
	char split;
	bool joined, alone, random;
};

static bool next_rule(str *rest, struct rule *ret)
{
	struct rule rule = { 0 };
	size_t n = 1;
	str text;

	if (!str_split(rest, ' ', &text) || !text.n)
		return false;
	while (n < text.n && !memchr("+!@~", text.p[n], 4))
		n++;
	rule.name = str_head(text, n);
	for (; n < text.n; n++) {
		rule.joined |= text.p[n] == '+';
		rule.alone |= text.p[n] == '!';
		rule.random |= text.p[n] == '~';
		if (text.p[n] == '@' && n + 1 < text.n)
			rule.split = text.p[++n];
	}
	*ret = rule;
	return true;
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static struct span unquoted(str word, struct span v)
{
	if (v.begin < v.end && is_quote(word.p[v.begin])) {
		if (v.end - v.begin > 1 && word.p[v.end - 1] == word.p[v.begin])
			v.end--;
		v.begin++;
	} else if (v.begin < v.end && is_quote(word.p[v.end - 1])) {
		v.end--; /* "me:…" */
	}
	return v;
}

/* Which part of a value is the secret, if any. */
static bool cut(const struct rule *rule, str word, size_t from, struct span *ret)
{
	struct span v = unquoted(word, (struct span){ .begin = from, .end = word.n });
	str text = str_n(word.p + v.begin, v.end - v.begin);

	if (rule->split) {
		ptrdiff_t at = str_find_char(text, rule->split);

		if (at < 0)
			return false;
		v.begin += (size_t)at + 1;
		/* user/password@place, but "p@ss" is a password as well */
		for (size_t i = v.end; isdigit((unsigned char)rule->name.p[0]) && i > v.begin; i--)
			if (word.p[i - 1] == '@') {
				v.end = i - 1;
				break;
			}
		v = unquoted(word, v);
		text = str_n(word.p + v.begin, v.end - v.begin);
	}
	if (text.n < LEAST || memchr("$<-`", text.p[0], 4) || value_is_placeholder(text))
		return false;
	if (rule->random && !value_is_mixed(text) && !value_is_drawn(text))
		return false;
	v.name = "command-password";
	*ret = v;
	return true;
}

/* -- a command, word by word ------------------------------------------------------------------------ */

struct active {
	const struct operand *row;
	unsigned verbs, operands; /* so far */
};

struct command {
	struct active rows[ROWS_MAX];
	unsigned nrows;
	struct rule pending; /* the next word is its value */
	bool skip;           /* the next word is the value of a harmless option */
	bool placed;         /* the program was seen */
	bool carried;        /* by one that runs another */
	bool says;           /* echo, printf */
};

static void set_program(struct command *c, str word)
{
	str name = program_name(word);
	const struct known_name *known;

	c->placed = true;
	c->says = false;
	if (!may_be_name(name))
		return;
	known = find_known(name);
	if (!known->name.n)
		return;
	c->says = known->says;
	c->placed = !known->goes_before;
	c->carried |= known->carries;
	if (known->row == NO_ROW)
		return;
	c->nrows = 0;
	c->pending = (struct rule){ 0 };
	c->skip = false;
	for (size_t i = known->row; i < countof(operands) && c->nrows < ROWS_MAX; i++)
		if (is_among(operands[i].programs, name))
			c->rows[c->nrows++] = (struct active){ &operands[i], 0, 0 };
}

/* Marks in front of a command: prompts, what a shell that is traced prints, the key in YAML. */
static bool is_prompt(str word)
{
	return word.n && word.n < 40 && memchr("$#>%+:*", word.p[word.n - 1], 7);
}

static bool is_assignment(str word)
{
	size_t i = 0;

	while (i < word.n && (isalnum((unsigned char)word.p[i]) || word.p[i] == '_'))
		i++;
	return i && i < word.n && word.p[i] == '=';
}

/* The words before, and in the place of, the program. */
static void place(struct command *c, str word)
{
	if (!c->placed && (is_prompt(word) || is_assignment(word)))
		return;
	if (word.n && word.p[0] == '-')
		return;
	set_program(c, word);
}

/* The verb that the row waits for, if it waits for one. */
static bool verb_of(const struct operand *row, unsigned number, str *ret)
{
	str rest = str_of(row->verbs);

	for (unsigned i = 0; str_split(&rest, ' ', ret) && ret->n; i++)
		if (i == number)
			return true;
	return false;
}

static bool verb_fits(str verb, str word)
{
	str choice;

	while (str_split(&verb, '|', &choice))
		if (str_eq(choice, word))
			return true;
	return false;
}

static bool starts_option(str word)
{
	return word.n > 1 && word.p[0] == '-';
}

/* What one rule makes of a word. */
static bool apply(struct command *c, const struct rule *rule, str word, unsigned operand, struct span *ret)
{
	str name = rule->name;

	if (isdigit((unsigned char)name.p[0]))
		return operand == (unsigned)(name.p[0] - '0') && cut(rule, word, 0, ret);
	if (name.p[0] == '=') {
		c->skip |= str_eq(word, str_from(name, 1));
		return false;
	}
	if (name.p[0] == '>') {
		if (str_eq(word, str_from(name, 1)))
			c->pending = *rule;
		return false;
	}
	if (name.p[0] == '<' || !str_starts(word, name))
		return false;
	if (word.n == name.n) {
		if (!rule->joined)
			c->pending = *rule;
		return false;
	}
	if (word.p[name.n] == '=' && !rule->joined)
		return cut(rule, word, name.n + 1, ret);
	/* -Psecret, but not --password-file */
	if (rule->alone || (!rule->joined && name.n > 2))
		return false;
	return cut(rule, word, name.n, ret);
}

/* The next word of the command; true when (a part of) it is a secret. */
static bool take(struct command *c, str raw, struct span *ret)
{
	struct span inside = unquoted(raw, (struct span){ .end = raw.n });
	str word = str_n(raw.p + inside.begin, inside.end - inside.begin);

	if (c->pending.name.n) {
		struct rule rule = c->pending;

		c->pending = (struct rule){ 0 };
		if (cut(&rule, raw, 0, ret))
			return true;
		if (!starts_option(word))
			return false;
	}
	if (c->skip) {
		c->skip = false;
		return false;
	}
	if (!c->placed || (c->carried && !starts_option(word))) {
		const struct operand *before = c->nrows ? c->rows[0].row : NULL;

		place(c, word);
		if (!c->carried || (c->nrows && c->rows[0].row != before))
			return false;
	}
	for (unsigned i = 0; i < c->nrows; i++) {
		str rest = str_of(c->rows[i].row->rules), verb;
		struct rule rule;

		if (verb_of(c->rows[i].row, c->rows[i].verbs, &verb)) {
			c->rows[i].verbs += verb_fits(verb, word);
			continue;
		}
		c->rows[i].operands += !starts_option(word);
		while (next_rule(&rest, &rule))
			if (apply(c, &rule, raw, starts_option(word) ? 0 : c->rows[i].operands, ret))
				return true;
	}
	return false;
}

/* Does it read a secret from its input? */
static bool reads_secret(const struct command *c)
{
	str verb;

	for (unsigned i = 0; i < c->nrows; i++)
		if (c->rows[i].row->rules[0] == '<' && !verb_of(c->rows[i].row, c->rows[i].verbs, &verb))
			return true;
	return false;
}

/* -- lines ------------------------------------------------------------------------------------------ */

struct reading {
	struct redactor *r;
	str s;
	size_t end;
	struct command command;
	struct span said; /* what is piped into the command */
	bool spoke;       /* the last command says something: its last word */
	struct span last;
};

static void add(struct reading *g, size_t at, struct span span)
{
	span.begin += at;
	span.end += at;
	span.rank = OPERANDS_RANK;
	secrets_add(g->r, span);
}

static void heard(struct reading *g)
{
	static const struct rule plain = { .name = { "<", 1 } };
	struct span span;

	if (g->said.end <= g->said.begin || !reads_secret(&g->command))
		return;
	if (cut(&plain, str_n(g->s.p + g->said.begin, g->said.end - g->said.begin), 0, &span))
		add(g, g->said.begin, span);
	g->said = (struct span){ 0 };
}

static void read_line(struct redactor *r, str s, size_t at, size_t end, unsigned level);

/* What a byte is to the shell. */
enum { BLANK = 1 << 0, OPERATOR = 1 << 1, QUOTE = 1 << 2, ESCAPE = 1 << 3 };
static const uint8_t classes[256] = { [' '] = BLANK,
	['\t'] = BLANK,
	['\r'] = BLANK,
	['\n'] = BLANK,
	['|'] = OPERATOR,
	[';'] = OPERATOR,
	['&'] = OPERATOR,
	['('] = OPERATOR,
	[')'] = OPERATOR,
	['<'] = OPERATOR,
	['>'] = OPERATOR,
	['`'] = OPERATOR,
	['{'] = OPERATOR,
	['}'] = OPERATOR,
	['"'] = QUOTE,
	['\''] = QUOTE,
	['\\'] = ESCAPE };

static unsigned class_at(str s, size_t at)
{
	return classes[(unsigned char)s.p[at]];
}

/* A line that goes on behind a backslash has a blank there. */
static bool is_blank_at(str s, size_t at, size_t end)
{
	unsigned class = class_at(s, at);

	return class == BLANK || (class == ESCAPE && at + 1 < end && (s.p[at + 1] == '\n' || s.p[at + 1] == '\r'));
}

/* The end of the word at `at`; what it has between quotes is read as well, if there are several words. */
static size_t word_end(struct reading *g, size_t at, unsigned level)
{
	while (at < g->end && !is_blank_at(g->s, at, g->end) && class_at(g->s, at) != OPERATOR) {
		size_t close = at + 1;
		bool words = false;

		if (class_at(g->s, at) != QUOTE) {
			at += class_at(g->s, at) == ESCAPE && at + 1 < g->end ? 2 : 1;
			continue;
		}
		while (close < g->end && g->s.p[close] != g->s.p[at]) {
			words |= g->s.p[close] == ' ';
			close += g->s.p[close] == '\\' && g->s.p[at] == '"' ? 2 : 1;
		}
		if (close >= g->end)
			return at + 1; /* an apostrophe: read on behind it */
		if (words && level < LEVELS)
			read_line(g->r, g->s, at + 1, close, level + 1);
		at = close + 1;
	}
	return MIN(at, g->end);
}

/* An operator ends the command; what it said goes into the next one behind a pipe. */
static size_t take_operator(struct reading *g, size_t at)
{
	bool pipe = g->s.p[at] == '|' && (at + 1 >= g->end || g->s.p[at + 1] != '|');

	if (g->end - at >= 3 && memcmp(g->s.p + at, "<<<", 3) == 0) {
		size_t from = at + 3, to;

		while (from < g->end && is_blank_at(g->s, from, g->end))
			from++;
		to = word_end(g, from, LEVELS);
		g->said = (struct span){ .begin = from, .end = to };
		heard(g);
		return MAX(to, at + 3);
	}
	if (g->s.p[at] == '<' || g->s.p[at] == '>')
		return at + 1;
	g->said = pipe && g->command.says ? g->last : (struct span){ 0 };
	g->command = (struct command){ 0 };
	while (at < g->end && (g->s.p[at] == '|' || g->s.p[at] == '&'))
		at++;
	return at + (at < g->end && memchr(";()`{}", g->s.p[at], 6) ? 1 : 0);
}

static void read_line(struct redactor *r, str s, size_t at, size_t end, unsigned level)
{
	struct reading g = { .r = r, .s = s, .end = end };

	while (at < end) {
		size_t to;
		struct span span;

		if (is_blank_at(s, at, end)) {
			at++;
			continue;
		}
		if (class_at(s, at) == OPERATOR) {
			at = take_operator(&g, at);
			continue;
		}
		to = MAX(word_end(&g, at, level), at + 1);
		if (take(&g.command, str_n(s.p + at, to - at), &span))
			add(&g, at, span);
		g.last = (struct span){ .begin = at, .end = to };
		heard(&g);
		at = to;
		/* Nothing is known about the command: on to the next one, or to what is quoted. */
		if (g.command.placed && !g.command.nrows && !g.command.carried && !g.command.says)
			while (at < end && !(class_at(s, at) & (OPERATOR | QUOTE | ESCAPE)))
				at++;
	}
}

/* -- texts ------------------------------------------------------------------------------------------ */

/* The end of the line at `at`, which goes on behind a backslash. */
static size_t line_end(str s, size_t at, size_t most)
{
	for (;;) {
		const char *p = memchr(s.p + at, '\n', s.n - at);
		size_t end = p ? (size_t)(p - s.p) : s.n;

		if (end >= most)
			return most;
		if (end >= s.n || end == 0 || s.p[end - 1] != '\\')
			return end;
		at = end + 1;
	}
}

/* Does the line begin with a word of the tables? */
static bool begins_known(str s, size_t at)
{
	const struct known_name *known;
	size_t end;

	while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t' || s.p[at] == '$'))
		at++;
	for (end = at; end < s.n && end - at <= PROGRAM_MAX && !class_at(s, end);)
		end++;
	if (!may_be_name(str_n(s.p + at, end - at)))
		return false;
	known = find_known(str_n(s.p + at, end - at));
	return known->name.n && (known->row != NO_ROW || known->carries || known->says);
}

/* Where the next option is that may be one of the tables; s.n: there is none. */
static size_t next_option(str s, size_t at)
{
	for (; at < s.n; at++) {
		const char *p = memchr(s.p + at, '-', s.n - at);

		if (!p)
			break;
		at = (size_t)(p - s.p);
		if (at > 0 && at + 1 < s.n && class_at(s, at - 1) == BLANK && letters[(unsigned char)s.p[at + 1]])
			return at;
	}
	return s.n;
}

void operands_find(struct redactor *r, str s)
{
	size_t at = 0, option, begin, end;

	if (!memchr(s.p, ' ', s.n))
		return;
	if (s.n <= LINE_SIDE && !memchr(s.p, '\n', s.n)) {
		read_line(r, s, 0, s.n, 0);
		return;
	}
	option = next_option(s, 0);
	while (at < s.n && s.n <= SHORT_TEXT) {
		end = line_end(s, at, s.n);
		if (option < at)
			option = next_option(s, at);
		if (option < end || begins_known(s, at))
			read_line(r, s, at, end, 0);
		at = end + 1;
	}
	while (s.n > SHORT_TEXT && option < s.n) {
		for (begin = option; begin > at && option - begin < LINE_SIDE && s.p[begin - 1] != '\n';)
			begin--;
		end = line_end(s, option, MIN(s.n, option + LINE_SIDE));
		read_line(r, s, begin, end, 0);
		at = end + 1;
		option = next_option(s, at);
	}
}

/* ["sqlcmd", "-P", "…"]: the same for words that come one by one. */
struct command *operands_begin(struct arena *a)
{
	return arena_alloc(a, sizeof(struct command));
}

bool operands_next(struct command *c, str word, struct span *ret)
{
	return take(c, word, ret);
}
