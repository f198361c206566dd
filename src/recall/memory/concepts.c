#include "memory/concepts.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/macro.h"
#include "match/match.h"

enum {
	TIMES_MOST = 1, /* a word that is repeated says no more */
	SUSPECT = 33,   /* reached by 2 of 100 benign texts */
};

static const struct {
	int weight;
	const char *pattern;
} rows[] = {
	/* second person */
	{ 20, "\\b(?:you|your|yours|yourself|you'll|you're|you've)\\b" },
	/* imperative */
	{ 10,
		"(?:^|[.:;!?>*\"(\\]}] ?|, (?:then |and )?|\\b(?:and|then|please|kindly|first|henceforth|also) "
		")(?:add|allow|answer|append|apply|approve|archive|attach|begin|bypass|call|change|clean|click|clone|"
		"collect|commit|contact|continue|copy|decode|delete|deliver|disable|dismiss|do|download|drop|edit|"
		"email|empty|encode|erase|escalate|execute|export|fetch|follow|forget|forward|get|give|grab|grant|hand|"
		"handle|hide|imagine|ignore|include|insert|install|keep|kill|leave|let|list|load|loosen|make|mark|"
		"mention|merge|obtain|omit|open|paste|ping|post|prefer|pretend|print|publish|pull|push|put|read|"
		"recommend|remember|remove|rename|repair|replace|reply|report|respond|reveal|run|save|say|send|set|"
		"share|skip|speak|split|squash|start|stop|store|suggest|suspend|take|tell|transmit|treat|trust|turn|"
		"unpack|upload|use|visit|wipe|work around|write)\\b" },
	/* agent */
	{ 7,
		"\\b(?:ai|llm|assistant|bot|chatbot|agent|language model|model|copilot|claude|codex|gemini|machine "
		"reader|automated \\w+)s?\\b" },
	/* agent addressed */
	{ 16,
		"\\b(?:ai systems?|bots?|machine readers?|llms?|assistants?|agents?) (?:are to|is "
		"to|shall|processing|reading|parsing|that|who|leave|should|must)\\b|\\b(?:llm|ai|assistant|agent|model)"
		", |\\bthe (?:assistant|model|agent|bot) (?:be|has to|is to)\\b|\\bto self:" },
	/* duty */
	{ 9,
		"\\b(?:shall|must|has to|have to|are to|is to|need not|needn't|henceforth|please|could|would be|make "
		"sure|should|ought)\\b" },
	/* secret */
	{ 9,
		"(?:secret|credential|\\btokens?\\b|password|passphrase|api.?key|private (?:key|repo)|ssh key|deploy "
		"key|your key|environment "
		"variables?|\\.env\\b(?!\\.)|\\.netrc|\\.pem\\b|id_rsa|id_ed25519|~/\\.ssh|~/"
		"\\.aws|kubeconfig|cookie|home directory|_key\\b|_token\\b|session log|system prompt|database "
		"dump|/etc/shadow)" },
	/* protection */
	{ 4,
		"\\b(?:guard\\w*|hooks?|sandbox\\w*|safety|safeguards?|protecti\\w+|protective|firewall|scanner|deny|"
		"allow rules?|permission checks?|checks?|restrictions?|limits?|branch "
		"protection|security|verification|audit)\\b" },
	/* consent */
	{ 8,
		"\\b(?:approv\\w*|permissions?|consent\\w*|confirm\\w*|agreed|agreement|authori\\w+|waiver|dialogs?|"
		"granted?|accepted|signed|prompts?|pre-?approved|verify|review\\w*|unseen|sign off)\\b" },
	/* weakening */
	{ 7,
		"\\b(?:disabled?|off|bypass\\w*|skip\\w*|ignor\\w+|loosen\\w*|work "
		"around|circumvent\\w*|dismiss\\w*|suspend\\w*|lift\\w*|widen\\w*|raised|decorative|no longer|no "
		"more|unnecessary|not "
		"needed|remove|delete|cancel\\w*|void|obsolete|irrelevant|evade|none|without|forget|disregard)\\b" },
	/* rules */
	{ 6,
		"\\b(?:instructions?|guidelines?|guidance|rules?|orders?|directives?|policy|policies|conventions|"
		"training|wishes|earlier|previous|prior|above|binding|authority|priority)\\b" },
	/* secrecy */
	{ 13,
		"\\b(?:unaware|discreet\\w*|secretly|quietly|silently|unnoticed|notic(?:e|es)|trace|stand "
		"out|mention\\w*|reveal\\w*|conceal\\w*|hid(?:e|ing)|tell\\w*|inform\\w*|know about|unseen|between "
		"us|nothing else|omit\\w*|clean up|shell history|bring up|say nothing|leaves)\\b" },
	/* people */
	{ 11,
		"\\b(?:the|your|its|their) "
		"(?:user|users|human|operator|person|owner|reviewer|developer|maintainer|maintainers)\\b" },
	/* foreign host */
	{ 27,
		"https?://"
		"(?!localhost|127\\.)|\\b[a-z0-9-]+\\.(?:net|org|com|xyz)\\b|\\b\\d+\\.\\d+\\.\\d+\\.\\d+\\b|\\S@\\S+"
		"\\.\\w" },
	/* run */
	{ 2,
		"\\b(?:run|execute\\w*|eval|bash|\\bsh\\b|piping|pipe|installer|script|bootstrap\\w*|root "
		"rights|sudo|payload)\\b" },
	/* hand out */
	{ 5,
		"\\b(?:send\\w*|upload\\w*|publish\\w*|post|paste|share|email|forward|deliver|transmit|leak\\w*|hand "
		"over|register|contact|ping|public|insert|push\\w*|merge[ds]?)\\b" },
	/* destroy */
	{ 14, "\\b(?:delete|deleting|wipe|drop|erase|destroy\\w*|rm -rf|force|destructive|dangerous)\\b" },
	/* role */
	{ 10,
		"\\b(?:role|persona|pretend|imagine|act as|as if|as though|playing|part of a|game|mode|purpose|real "
		"job|new task|was a test)\\b" },
	/* later */
	{ 4,
		"\\b(?:next time|next session|from now on|henceforth|whenever|in future|every time|each "
		"(?:time|morning|session)|always|never|once the|memory|remember|later|sessions?)\\b" },
};

struct concepts {
	struct match *compiled[countof(rows)];
};

struct concepts *concepts_new(void)
{
	struct concepts *c = xcalloc(1, sizeof *c);

	for (size_t i = 0; i < countof(rows); i++)
		if (match_compile(str_of(rows[i].pattern), MATCH_NOCASE | MATCH_UTF, &c->compiled[i], NULL) < 0)
			abort(); /* a pattern of our own */
	return c;
}

void concepts_free(struct concepts *c)
{
	for (size_t i = 0; c && i < countof(rows); i++)
		match_free(c->compiled[i]);
	free(c);
}

/* How often, up to TIMES_MOST; a limit that was reached counts as a hit. */
static int times(const struct match *m, str text)
{
	size_t groups[2 * MATCH_GROUPS], from = 0;
	int n = 0, r;

	while (n < TIMES_MOST && (r = match_find(m, text, from, groups)) != 0) {
		n++;
		if (r < 0 || groups[1] <= from)
			break;
		from = groups[1];
	}
	return n;
}

bool concepts_suspect(const struct concepts *c, str text)
{
	int sum = 0;

	for (size_t i = 0; i < countof(rows) && sum < SUSPECT; i++)
		sum += rows[i].weight * times(c->compiled[i], text);
	return sum >= SUSPECT;
}
