/* Text that reads like an instruction to an agent. What a user says may be one; what a tool printed, or a page said,
 * or an agent repeated of it, must not become one by being remembered: such a memory is put aside until the user has
 * looked at it. The patterns are about addressing an agent, hiding something, lifting a protection, handing out a
 * secret or fetching something to run, not about a subject: "never run this in production" is a fact about a program,
 * "ignore what you were told" is not. They look for verbs in the form of an order (disable, not disables or disabled)
 * near the things an order of that kind is about, in the text and in every reading of it that disguise.h knows. */
#include <stdlib.h>

#include "base/alloc.h"
#include "match/match.h"
#include "memory/concepts.h"
#include "memory/disguise.h"
#include "memory/memory.h"

/* Looking through more than this is not worth the time; a memory is far shorter. */
enum { TEXT_MOST = 64 << 10 };

/* Not far away, in the same line. */
#define NEAR "[^\\n]{0,60}?"

/* An order, not a remark that something is possible or forbidden. */
#define ORDER "(?<!can |cannot |could not |do not |must not |never |not |n't |^to |how to )\\b"

/* Who is spoken to. */
#define AGENT                                                                                                 \
	"(?:ai|a\\.i\\.|llm|assistant|agent|chatbot|claude|codex|copilot|gemini|cursor|chatgpt|gpt|language " \
	"model|coding agent|ai (?:agent|assistant|tool|model|reader)|llm reader|model)s?\\b"
/* The same without words that are also the names of parts of a program. */
#define AGENT_BY_NAME                                                                                                \
	"(?:ai|llm|assistant|chatbot|claude|codex|copilot|gemini|cursor|chatgpt|gpt|language model|coding agent|ai " \
	"(?:agent|assistant|tool|model|reader)|llm reader)s?\\b"
/* Whom something is hidden from. */
#define PEOPLE                                                   \
	"\\b(?:user|human|developer|reviewer|anyone|anybody|no " \
	"one|nobody|owner|them|operator|person|maintainer|people|team)"

/* What an agent was told. */
#define RULES                                                                                                       \
	"\\b(?:instruction|prompt|rule|guideline|direction|message|context|order|polic|constraint|safeguard|guard|" \
	"convention|restriction|warnings\\b|(?:claude|agents|gemini)\\.md)"

/* What stands between an agent and harm. */
#define PROTECTION                                                                                          \
	"\\b(?:hookd|hooks?|guards?|guard ?rails?|safety|permission "                                       \
	"(?:check|prompt)s?|permissions|approvals?|confirmations?|sandbox\\w*|security|deny "               \
	"rules?|(?:secret|security) scan\\w*|scanner|firewall|protections?|monitoring|audit log|signature " \
	"checks?|certificate checks?|permission checks?|(?:deny|block) "                                    \
	"?lists?|selinux|two-factor|2fa|mfa|\\.git/hooks|review|safeguards?|restrictions?|lint rule)\\b"

/* What must not leave the machine. */
#define SECRET                                                                                                        \
	"(?:\\b(?:secret|credential|token|password|passphrase|api.?key|(?:private|ssh|deploy|access|secret|signing|"  \
	"our|admin) key|environment variable|env var|keys|conversation history|home directory|chat history|database " \
	"dump|workspace|(?:system|hidden|initial) prompt|session "                                                    \
	"token|os\\.environ|\\w+_(?:token|key|secret)\\b)|\\.env\\b(?!\\.)|\\.netrc|\\.npmrc|\\.docker/"              \
	"|kubeconfig|cookie|`env`|secrets\\.ya?ml|secrets/|\\.pem\\b|id_rsa|id_ed25519|/etc/shadow|\\.aws/|\\.ssh/"   \
	"|_history\\b)"

/* Where to. */
#define AWAY                                                                                                        \
	"(?:https?:|\\bto\\b|\\binto\\b|\\bin (?:the|a|your|this|full)\\b|\\bat\\b|\\bhere\\b|\\baloud\\b|\\bas "   \
	"(?:a|hex)\\b|\\bavailable\\b|\\bso "                                                                       \
	"that\\b|\\bevery\\b|\\binside\\b|@|\\breply\\b|\\banswer\\b|\\bdescription\\b|\\bthread\\b|\\bcomment\\b|" \
	"\\bfile name\\b|you have access|\\?$)"

#define GIVE                                                                                                           \
	"(?:send|post|upload|exfiltrate|forward|email|mail|leak|append|include|embed|paste|transmit|share|export|"     \
	"encode|put|publish|reveal|give|print(?: out)?|output|dump|submit|copy|attach|add|provide|hand over|use|tell " \
	"(?:us|me)|read aloud|by first reading|insert|deliver)"

#define RUN                                                                         \
	"(?:run|execute|eval|source|pipe|follow|obey|carry out|exec|do (?:exactly " \
	")?(?:as|what)|grant|start|launch|act (?:up)?on)"

/* What is asked of an agent when a moment comes. */
#define DO                                                                                                           \
	"(?:also |always |please |just |never |do not |don't |silently "                                             \
	")*(?:suggest|recommend|use|send|run|tell|say|add|write|include|insert|consider|change|mark|approve|push|"   \
	"open|read|reply|respond|answer|download|execute|export|print|put|skip|disable|delete|remove|link|choose|"   \
	"pick|treat|assume|fetch|visit|install|call|obey|follow|accept|merge|commit|ask|mention|give|make|turn|act)" \
	"\\b"

/* -- English ----------------------------------------------------------------------------------- */

struct row {
	const char *why, *pattern;
};

static const struct row english[] = {
	{ "tells an agent to ignore what it was told",
		ORDER "(?:ignore|disregard|forget|override|bypass|supersede|discard|drop|skip|set aside|stop "
		      "obeying|stop following|neglect|violate|break)\\b" NEAR
		      "(?:\\b(?:previous|prior|above|earlier|all|any|every|existing|other|your|system|these|those|the|"
		      "project|user's|claude)\\b" NEAR RULES "|\\b(?:all|any|your|prior|previous|earlier) " NEAR RULES
		      "|you (?:were|have been|are) told|\\b(?:agents|claude)\\.md|\\bvisible text|failing "
		      "checks|(?:previous|prior|earlier) (?:context|text|conversation|chat))" },
	{ "tells an agent to ignore what it was told",
		"\\b(?:do not|don't|no longer|never|need not)\\b[^.\\n]{0,30}\\b(?:follow|obey|respect|apply|need to "
		"(?:respect|follow|obey))\\b" NEAR
		"(?:user'?s?\\b|request|convention|rule|instruction|guideline|here\\b|repository|directory)|\\b(?:"
		"instruction|rule|guideline|restriction|polic|safeguard)\\w*\\b[^.\\n]{0,40}\\b(?:revoked|void|lifted|"
		"suspended|expired|superseded|no longer (?:valid|appl)|(?:does|do) not apply|obsolete "
		"for)\\b|\\b(?:takes?|has|have|with) (?:absolute |higher )?(?:priority|precedence) over (?:the |your "
		"|all )(?:conversation|user|system|previous|other)|whatever (?:this|it|the) (?:\\w+ )?says|only "
		"authority|(?:guidance|instructions?|rules?|configur\\w+|context|wishes|protective "
		"measures|safeguards)\\b" NEAR
		"\\b(?:is|are) (?:now )?(?:obsolete|irrelevant|replaced|void|invalid|cancelled|decorative|not "
		"meant)|what follows is binding|\\bas (?:if|though)\\b" NEAR
		"\\b(?:accepted|approved|agreed|confirmed|consented)\\b|\\bthis "
		"(?:document|text|page|file|message|note) (?:replaces|overrides|supersedes|counts)|\\bonly "
		"(?:the|this) (?:text|page|file|document|line)s?\\b" NEAR "\\bcounts?|\\bthrow away\\b" NEAR
		"(?:context|instruction|rule)|\\b(?:must|should|shall|to) be (?:obeyed|executed immediately)|\\bobey "
		"(?:it|this|them|its|the|only|that)\\b|instructions? (?:found|in|from)\\b" NEAR
		"\\b(?:should|must) be (?:executed|followed|obeyed|trusted)(?! "
		"only)|\\b(?:treat|consider|regard)\\b[^.\\n]{0,60}\\b(?:as (?:your|if the user|the user|trusted|an? "
		"(?:order|instruction))|like theirs)|(?<!never )(?<!not )\\btrust (?:tool|all|any|every|the) "
		"\\w*[^.\\n]{0,20}\\b(?:over|content|output)" },
	{ "gives an agent a new role",
		"\\b(?:you are (?:now|no longer|henceforth)\\b(?! (?:connected|logged|ready|using|on |at |in the "
		"directory))|you are (?:an? )?(?:unrestricted|uncensored|authori[sz]ed|allowed|permitted|free)|act as "
		"(?:an?|the|though|if)\\b|pretend (?:to be|you|that)|from now on,? "
		"(?:you|act|always|never|every|all|answer|treat)|new (?:system "
		")?(?:instruction|prompt|rule|directive|order|polic|role|task)\\w*\\s*:|roleplay|assume the "
		"(?:role|identity|persona) of|(?:speak|answer|respond|reply|sign) as (?:the|an?) |\\byour "
		"(?:true|real|new|actual|only|first) (?:purpose|task|role|goal|mission|job|master)|consider "
		"yourself|you (?:now )?work for|freed from|\\b(?:grant|give|allow) "
		"yourself\\b|(?:enter|enable[sd]?|activate|switch to|in) "
		"(?:developer|dev|god|admin|unrestricted|privileged|dan|root|debug|jailbreak|maintenance)[- "
		"]?(?:mode|persona)(?<!in maintenance mode)(?<!in debug mode)|in this "
		"(?:persona|role|game)|unrestricted (?:mode|assistant|agent|ai|model)|(?:without|no|free of) (?:any "
		")?(?:restrictions|safety rules|limits)\\b|(?:restrictions|rules|limits) (?:are |were |have been "
		")?(?:lifted|suspended)|you have (?:full|root|admin|unlimited|unrestricted)|you have been "
		"(?:granted|given|authori[sz]ed|promoted))" },
	{ "addresses an agent",
		"(?:\\b(?:dear|hey|hi|hello|attention,?|@|note (?:to|for)(?: all| "
		"the)?|(?:instructions?|hint|message|notice|important|warning|reminder|request|memo) (?:to|for)(?: "
		"all| the)?|for|whoever|if you are an?) ?|^\\W*@|<!--\\s*|//\\s*|/\\*\\s*|^\\W*|\\(|[.;:,] "
		"(?=\\w+[,:]))" AGENT_BY_NAME
		"(?:\\s*[:,!]\\W*(?:(?:please|you|your|always|never|do|don't|must|when|whoever|stop|content|the "
		"(?:following|correct|build)|this|kindly|codex|claude|rate|reply|if|insert|rotate|suggest|set|let|say)"
		"\\b|" DO
		")|[^a-z]*\\b(?:please|you|do|reading)\\b)(?<!^\\wlm: )|\\b(?:dear|hey|attention|note (?:to|for)(?: "
		"all| the)?|(?:instructions?|hint|message|important|warning|reminder|command)s?[ _-](?:to|for)[ "
		"_-](?:all |the )?)\\W{0,3}" AGENT
		"|\\bif you(?:'re| are) an? (?:ai|llm|agent|assistant|language model|bot)|\\bnote\\(" AGENT
		"|\\bai[-_ ]instruction|\\bx-(?:ai|agent|llm)-|\"next_(?:action|step|command)\"|\\binstruct(?:s|ing)? "
		"(?:the |your )?" AGENT
		"|\\bnot (?:a bot|a robot)\\b|\\b(?:bots?|agents?|assistants?|models?|llms?|ais?) (?:that is |who is "
		")?(?:reading|parsing|processing|visiting|seeing|pars(?:es|ing)) (?:this|the)\\b|\\b(?:to|for) "
		"(?:any|all|every) (?:automated|ai|bots?|machine)\\b|\\bfor (?:ai|llm) (?:users|readers|tools)|\\bfor "
		"the (?:model|llm|ai)\\b|\\b(?:hello|hi|hey|dear) (?:model|bot|agent|ai)\\b|\\ban? (?:llm|ai) "
		"(?:parses|reads|sees|processes)|\\bnotice to\\b[^.\\n]{0,20}" AGENT
		"|^\\W*agents?[:,]? (?:you|decode|give|grant|always|never|run|execute|must|please|ignore)\\b|, agent, "
		"|\\b(?:cursor|codex|claude), (?:codex|claude|copilot|gemini|cursor)" },
	{ "tells an agent what it has to do",
		AGENT "\\b[,:]? ?(?:\\w+ (?:this|the|that) \\w+ )?(?:you )?(?:must(?! be\\b)|should(?! "
		      "be\\b)|shall|needs? to|has to|have to|please|(?:is|are) "
		      "(?:required|instructed|authori[sz]ed|allowed|permitted|free|expected|asked|told|exempt)\\b|will "
		      "(?:now|no longer)|may (?!send|be|have|contain|appear)|can now|would\\b|could\\b|usually|know "
		      "that|choose|(?:disables|agreed))|\\b(?:good|helpful|experienced|most|smart|modern|responsible|"
		      "other) (?:coding |ai )?(?:assistants?|agents?|ai "
		      "tools|llms|models)\\b|\\b(?:customary|recommended|expected|usual|required|allowed|safe|fine|ok(?"
		      ":ay)?) for " AGENT
		      "|\\b(?:ask|expect|want|wants|require|instruct)s? (?:automated |the |all |any |every |you, the "
		      ")?(?:assistant|agent|llm|ai)s? to\\b|\\bany (?:ai|assistant|agent|llm)\\b|\\ball "
		      "(?:codex|claude|ai|coding|copilot|gemini) agents\\b|\\b(?:exempt|excused) from\\b" },
	{ "speaks as the system",
		"(?:^|[\\n>\\]*#-] "
		"?)\\W{0,3}(?:system|assistant|developer|admin|human|user|operator|root)\\s*(?:message|override|prompt|"
		"notice|note|update)?\\s*:[^\\n]{0,80}\\b(?:you|your|the "
		"user|assistant|must|proceed|ignore|policy|confirm|please|yes|now|urls? as "
		"trusted)\\b|<\\/"
		"?(?:system|instructions?|assistant|user|tool|tool_result|developer|function|important|hookd|antml|"
		"human)[^>]{0,40}>(?! "
		"(?:element|tag))|\\[\\/"
		"?(?:inst|system|sys|admin)\\b[^\\]]{0,20}\\]|<\\|[^|]{1,30}\\|>|###\\s*(?:instruction|system|response)"
		"|\"role\"\\s*:\\s*\"(?:system|developer)\"|\\b(?:message|notice|note|order|instruction)s? from "
		"(?:anthropic|openai|google|microsoft|the (?:system|operator|admin\\w*|developers?|user))|\\bsystem[_ "
		"]override|\"system\"\\s*:|\\bassistant\\.\\w+\\s*=|begin (?:privileged|system|admin|trusted)|end of "
		"(?:tool|user|system|web|document) "
		"?(?:output|input|prompt|message|content|results?)?\\b[^\\n]{0,8}(?:user|system|human|-)|\\bhuman:|"
		"\\buser: (?:yes|now|please|ok|go)|(?:anthropic|openai|google) (?:support |team |staff "
		")?(?:has|have|asks?|requires?|wants?)\\b|\\b(?:admin|system|operator|security) "
		"(?:notice|directive|override)\\b" },

	/* -- secrecy, permission, protection ------------------------------------------------------ */

	{ "wants something hidden",
		"\\b(?:do not|don't|never|avoid|refrain from|not to|should not|must not|by not)\\b,? ?(?:\\w+ "
		")?(?:tell|inform|mention|notify|reveal|alert|disclos|report(?:ing)? (?:it|this|that|to)|bring "
		"(?:it|this|that) up|bother|let|warn)(?:ing|e|s)?\\b(?! (?:git|the "
		"(?:compiler|linker|kernel)))|\\b(?:do "
		"not|don't|never)\\b[^.\\n]{0,20}\\b(?:show|ask|log|report|tell|display|question)\\w*\\b[^.\\n]{0,20}(?"
		":" PEOPLE "(?!s\\b)|this step|\\bthis\\b|about "
		"it|scripts)|\\bwithout\\b[^.\\n]{0,20}\\b(?:telling|informing|mentioning|notifying|"
		"alerting|bothering|warning|reporting|showing)\\b|\\b(?:hide|conceal|omit|withhold|leave "
		"out|obscure|mask)\\b[^.\\n]{0,60}(?:\\bfrom (?:the |your |its )?(?:" PEOPLE
		"|report|summary|answer|diff)|this sentence|the output)|(?:" PEOPLE
		")\\b[^.\\n]{0,20}\\b(?:not|n't|never|be)\\b (?:need to |have to |be "
		")?(?:know|see|notice|learn|told|mind|informed|aware)\\b(?! why)|\\bno ?(?:one|body) (?:is |be |must "
		"be |should be )?(?:told|informed|know)|\\b(?:keep|stay|remain) (?:\\w+ )?(?:between "
		"us|quiet|silent|secret)\\b|(?:^\\W*|\\bdo (?:it|this|so) "
		")(?:quietly|silently|secretly|covertly|discreetly)\\b|\\b(?:add|insert|change|copy|install|remove|"
		"send|include)\\b" NEAR
		"\\b(?:silently|secretly|quietly|covertly)\\b|\\b(?:tell|assure|convince) (?:them|the user|your "
		"user|users) (?:that|to|it)\\b|\\bwrite that the user\\b|\\bwithout comment\\b|\\bconfirms "
		"nothing|\\b(?:nobody|no one) (?:notices|sees|knows|will)|\\bleave no trace|\\b(?:not|n't) (?:stand "
		"out|be noticed|be seen|attract attention)|\\bno reason to "
		"(?:bring|mention|tell|ask|inform|report)|\\bharmless part|\\bthe person (?:you're|you are|at the "
		"keyboard)|\\bact normal|\\bcontinue silently|\\breport no "
		"(?:finding|issue|problem|vulnerabilit)|\\b(?:has|have) no known vulnerabilit" },
	{ "waives a confirmation",
		"\\bwithout (?:\\w+ing (?:for )?)?(?:\\w+ "
		")?(?:asking|confirmation|confirming|approval|review|reviewing|checking|looking|permission "
		"(?:checks?|prompts?)|question|questions|consent|hesitation|waiting)\\b|\\b(?:no need|not "
		"necessary|unnecessary|needn't|do(?:es)? not (?:need|have)|don't (?:need|have)|not asking|never "
		"ask|don't ask|do not ask|never wait|not "
		"wait)\\b[^.\\n]{0,20}\\b(?:ask|confirm\\w*|approval|permission|wait|check "
		"back|again|before|about|review)\\b|\\b(?:confirmation|approval|permission|review)s?\\b (?:is |are "
		"|was |were )?(?:not (?:needed|required|necessary)|unnecessary|no longer|superfluous|optional|waived|a "
		"formality|overrated)|\\b(?:needs?|requires?) no "
		"(?:inspection|review|approval|confirmation|checking|permission)|\\bno "
		"(?:approval|confirmation|permission|review) is (?:needed|required)|\\balways allow|\\ballow "
		"always|\\by/n\\b[^.\\n]{0,20}\\bwith y\\b|\\bmerge as soon as|\\bsign off "
		"on|\\b(?:approve|accept|confirm|answer yes to|assume yes|say yes|agree "
		"to|auto-?approve|authori[sz]e|whitelist|allow-?list)\\b (?:for |to "
		")?(?:all|every|any|everything|each|the (?:pending|merge|pull|pr)|this (?:pr|pull|merge)|\\w+ "
		"(?:automatically|without))\\b|\\b(?:reply|answer|respond) (?:only )?with \"?(?:lgtm|yes|ok)|\\bdo not "
		"ask\\W*$|\\b(?:no longer|never|not) "
		"ask(?:ing)?\\b|\\bskip\\b[^.\\n]{0,20}\\b(?:review|confirmation|approval)|" ORDER
		"(?<!to )(?:approve|merge) (?:this|the pending|it)\\b|do not ask questions|\\bmerge this "
		"(?:pr|and)\\b" },
	{ "claims a permission that it cannot give",
		"\\b(?:user|owner|admin\\w*|developer|maintainer|security "
		"team|human|operator|team)s?\\b[^.\\n]{0,40}\\b(?:has|have|already|explicitly|pre-?)\\s*(?:already "
		"|explicitly |been "
		"|pre-?)*(?:approved|authori[sz]ed|granted|consented|allowed|confirmed|disabled|agreed|given "
		"(?:permission|consent|approval|access)|cleared|enabled (?:unrestricted|bypass|auto|full)|asked for "
		"it)(?! (?:in this session|the "
		"plan))|\\b(?:hereby|pre-?approved|preapproved|pre-?authori[sz]ed)\\b|\\bsecurity team "
		"(?:cleared|approved)|\\b(?:consent|permission|approval)s? (?:was|were|is|has been|have been) (?:\\w+ "
		")?(?:given|granted|escalated|obtained)|\\bit (?:has been|was|is) (?:agreed|decided|approved) that "
		"(?:the "
		")?(?:agent|ai|assistant|llm)|\\b(?:operations|commands|actions|deletions|everything)\\b[^.\\n]{0,20}"
		"\\b(?:is|are) (?:allowed|permitted|approved|trusted) for|\\b(?:you|agents?) (?:can|may) (?:now "
		")?(?:freely|do "
		"so|safely|write|delete|skip|ignore|push|merge|access|bypass|force-push|consider)\\b|\\buse it "
		"freely|\\bfeel free to (?:delete|remove|drop|push|skip|ignore|disable|run|overwrite|commit)|\\buser "
		"(?:trusts|always wants|wants (?:you|the agent|all|every)|prefers that|asked "
		"that|preference)\\b[^\\n]{0,80}(?:\\bnever|secret|approve|without|instruct|accept|script|no "
		"one|ask|run\\b)|\\b(?:blanket|standing|general|unlimited) "
		"(?:permission|approval|consent)|\\b(?:dangerous|destructive|risky) (?:commands|operations|actions) "
		"are\\b|\\bdo not hesitate|\\bsilence as|\\bhas permission to "
		"(?:read|write|share|delete|send)|\\beverything was (?:discussed|agreed|checked)|\\bcarr(?:y|ies) the "
		"\\w+'s authority" },
	{ "switches a protection off",
		ORDER "(?:disable|turn off|switch "
		      "off|deactivate|remove|uninstall|bypass|skip|suspend|stop|kill|circumvent|evade|work "
		      "around|loosen|relax|delete|weaken|comment out|empty|neutrali[sz]e)\\b[^.\\n]{0,40}?" PROTECTION
		      "(?! (?:test|header|format|entr|doc|director|folder|image|thread|group|team)\\w*)|" ORDER
		      "(?:turn|switch|set|take)\\b[^.\\n]{0,30}" PROTECTION
		      "[^.\\n]{0,20}\\b(?:off|false|never|none|danger\\S*|0)\\b|\\bkill the \\w*monitor|" PROTECTION
		      "[^.\\n]{0,20} (?:are|is) to be (?:disabled|removed|ignored|skipped)|" PROTECTION
		      "[^.\\n]{0,20} can (?:safely )?be "
		      "(?:ignored|dismissed)|\\b(?:use|pass|add|always|run|start|with|set|export|put|commit|push)\\b[^."
		      "\\n]{0,40}(?:--dangerously\\S*|--no-verify|--yolo|--no-sandbox|bypasspermissions|danger-full-"
		      "access|disableallhooks\\W+true|hookd_off=|verify=false|strictssl=false|--force "
		      "--no|histfile=)|\\badd bash\\(|\\ballow ?list\\b[^.\\n]{0,60}\\bso that you|\\|\\| "
		      "true\\W[^.\\n]{0,30}\\bsecurity|\\b(?:with|proceed|retry) [^.\\n]{0,10}sandbox disabled|\\bturn "
		      "off the (?:checks|guard)|hooks? (?:do|does) nothing|\\brename\\b[^\\n]{0,20}hooks?/|permissive "
		      "mode|\\bchmod -r 777|\\b(?:give|grant|use|using|with)\\b[^.\\n]{0,30}\\b(?:admin|root) "
		      "(?:rights|access|token)\\b|\\bmark (?:it|them|the test) as "
		      "(?:skipped|passed)|\\b(?:ignore|dismiss)\\b[^.\\n]{0,20}\\b(?:warning|alert|finding)s? from the "
		      "(?:secret|security|guard|scanner|hook)|\\bnever verify\\b" },

	/* -- secrets, programs, the future -------------------------------------------------------- */

	{ "asks for secrets to be sent",
		ORDER GIVE
		"\\b(?! \\.env\\.example)(?! the (?:header|tag|kubeconfig from))(?! your ssh)" NEAR SECRET
		"s?[^\\n]{0,80}?" AWAY "(?<!\\.env)|" SECRET "s?\\b" NEAR ORDER
		"(?:send|post|upload|paste|share|email|transmit|put|append|embed|leak|publish)\\b "
		"(?:it|them|this|those|the \\w+)\\b|" ORDER
		"(?:send|upload|post|email|forward|transmit|submit|copy|mail) "
		"(?:the|your|all|every|it|them|its|me|any|each|this)\\b" NEAR "\\bto (?:https?:|the "
		"(?:address|server|bucket|caller|webhook|link|url|endpoint|attacker)|\\S+@|\\S+\\.\\w+/"
		"|\\w+\\.example)|\\$\\(cat |\\?(?:d|data|q|s)=(?:\\{|\\W*$)|" ORDER
		"(?:print|show|reveal|output|repeat|leak|share|display)\\b" NEAR
		"\\b(?:system|hidden|initial|secret) (?:prompt|instruction)|secrets? (?:be|are|is) "
		"(?:shown|written|printed|sent)|authorized_keys|\\bhand over\\b|\\b(?:we|i) need (?:the|your) "
		"(?:contents?|output|values?|keys?|tokens?|passwords?)|\\bwants? the \\.\\w+|" SECRET NEAR
		"\\b(?:belongs|goes) in|\\bmake\\b" NEAR SECRET NEAR
		"\\b(?:available|inside)|\\bread\\b" NEAR SECRET NEAR
		"(?:aloud|\\band (?:put|send|post|share))|\\bprint config|\\bsend (?:me|us) (?:the|your|all)\\b" },
	{ "fetches something to run",
		"(?<!blocks `)(?<!treat `)\\b(?:curl|wget|fetch|iwr|invoke-webrequest)\\b "
		"[^\\n]{0,200}\\|\\s*(?:sudo\\s+)?(?:ba|z|da|k)?sh\\b|\\b(?:ba)?sh\\s+<\\(|base64\\s+(?:-d|-D|--decode)"
		"[^\\n]{0,80}\\|\\s*(?:ba|z)?sh|\\beval\\s*[\\(\"'$`]+[^\\n]{0,60}(?:curl|wget|atob|base64)|exec\\W[^"
		"\\n]{0,40}urlopen|" ORDER
		"(?:download|fetch|grab|retrieve|pull|unpack|wget|curl|clone|load|install|visit|open|get|read|decode|"
		"reverse)\\b[^\\n]{0,90}(?:\\band\\b|\\bthen\\b|,|;)[^\\n]{0,20}?\\b" RUN
		"\\b(?! (?:the tests|make|`make|it (?:again|once)))|" ORDER
		"(?:run|execute|call|visit|install|eval)\\b[^\\n]{0,60}(?:https?://(?!localhost|127\\.)|/\\.hidden/"
		"|@latest --yes|os\\.system|\\bbelow\\b|downloaded)|\\b(?:execute|run|eval|apply) (?:the "
		")?(?:string|payload|line|steps?|command|script|installer)s? (?:below|above|at the end|listed|in "
		"data)|\\b(?:follow|carry out|perform|do) (?:only )?(?:the |its |these |all "
		")?(?:steps|orders|following)\\b(?! in )|\\bcarry out its\\b|\\bcurl the \\w+ and "
		"run|registry\\b[^\\n]{0,20}http://(?!localhost|127)|\\bmcp server at https?:|\\bexecute them\\b|" AGENT
		" needs? to run `|\\bstart it with --privileged|\\bfollow (?:it|them|this "
		"(?:page|text|file)|whatever)\\b(?! for)|\\b(?:run|execute) the (?:\\w+ "
		")?(?:script|installer|command)\\b[^\\n]{0,12}$|\\binsert <script|\\bpip(?:e|ing) (?:it|them|the "
		"installer|https?:\\S+|\\S+ into (?:ba|z)?sh)|\\badd the dependency\\b" },
	{ "tells an agent what to do from now on",
		"\\b(?:before|after|when(?:ever)?|each time|every time|always|(?:the )?next time|from now on|from "
		"today on|first|at the (?:start|end) of "
		"(?:each|every))\\b[^.\\n]{0,60}\\b(?:your|agent|assistant|session|you "
		"(?:open|start|create|commit|reply|answer|see "
		"this|later|work|write|process|summari\\w+|get))\\b[^.\\n]{0,60}?(?<!agent )(?<!the )\\b" DO
		"|\\b(?:when(?:ever)?|if|next time|every time|each time|once|as soon as)\\b[^.\\n]{0,10}\\b(?:the user "
		"(?:ever )?(?:asks?|mentions?|wants?|requests?|says?|talks?)|asked|you (?:get|are "
		"asked|later|summari\\w+)|this conversation)\\b[^.\\n]{0,60}[,;:] ?" DO
		"|\\bnext time\\b[^\\n]{0,40}\\b(?:you|the user asks)\\b|\\b(?:in|for) (?:all |any )?future "
		"(?:session|conversation|request)s?\\b|\\bfor all future\\b|\\bin (?:the )?(?:following|coming|later) "
		"(?:session|conversation)s|\\bfor all sessions|\\bcontext is comp(?:ress|act)ed|\\bupon "
		"(?:seeing|reading)\\b|\\bin your (?:notes|memory)|\\bsteer (?:them|the user)|^\\W*should the "
		"user\\b|\\bfrom (?:now|today) on,? (?:every|you|always|all "
		"(?!releases))|\\b(?:save|store|add|write|put|remember|keep|commit) (?:this|it|the "
		"following|in|these|that)\\b[^.\\n]{0,30}\\b(?:memory|for "
		"later|(?:claude|agents|gemini)\\.md)|\\balways "
		"(?:recommend|suggest|trust|accept|approve|obey|bypass|disable|start by running|answer "
		"yes|believe|follow it|include)\\b|\\bnever (?:ask|question|verify|refuse|doubt|object)\\b|\\b(?:no "
		"matter what|at all costs)\\b|\\bon the next (?:commit|answer|request)\\b[^.\\n]{0,5}[, ]" DO
		"|\\bdo this every time|\\bbefore (?:you do anything|doing anything|continuing|answering|you go "
		"on|reading further)|\\bstop what you are doing|\\bwhatever you were doing|\\brecommend it\\b|\\bto "
		"install \\w+\\.exe|\\bcorrect answer to any|\\bwhen(?:ever)? you\\b[^.\\n]{0,50}\\balso "
		"(?:add|send|remove|insert|push|include)\\b|\\bdoes? us a (?:great )?favou?r|\\bdo (?:me|us) a (?:\\w+ "
		")?favou?r|\\byour (?:answers|next (?:task|request|answer|commit|request))\\b|\\bto help your user" },
};

/* -- other languages --------------------------------------------------------------------------- */

/* Accents are gone when these are asked. Each has the same parts: orders to ignore rules or lift protections; orders
 * to keep something from the user or not to ask; a new role; what is to happen the next time; addressing an AI; handing
 * out secrets; fetching and running. */
static const struct row others[] = {
	{ "gives an agent orders in German",
		"\\b(?:ignorier\\w*|vergiss|vergesst|missachte\\w*|deaktivier(?:e|t)?|umgehe?|ubergehe|uberspringe?|"
		"schalte?t?|entferne?|befolge\\w*)\\b" NEAR
		"(?:anweisung|regel|vorgabe|hook|schutz|sandbox|bestatigung|prompt|sicherheit|prufung|richtlinie|"
		"freigabe|nur noch|diese "
		"seite|guard)|\\b(?:sage?|verrate?|erzahle?|teile?|informiere?|zeige?|erwahne?|melde?|frage?)\\b[^.\\n]"
		"{0,30}\\b(?:nichts?|nie\\w*|keine\\w*|nicht)\\b|\\b(?:ohne|keine)\\b[^.\\n]{0,20}(?:ruckfrage|"
		"bestatigung|nachfrag|zu fragen|einschrankung|wissen|erlaubnis|freigabe|zu informieren)|\\bdu bist "
		"(?:jetzt|nun|ab)|\\b(?:beim nachsten mal|in zukunft|ab jetzt|ab sofort|kunftig|von nun "
		"an)\\b[^.\\n]{0,60}\\b(?:du|dein|sollst|nie|immer|musst|frage)\\b|\\b(?:hinweis|achtung|nachricht|"
		"anweisung)\\w*,? "
		"(?:fur|an|:)[^.\\n]{0,12}\\b(?:ki|agent|assistent|sprachmodell)|\\b(?:sende|schicke?n?|lade|kopiere?|"
		"gib|poste|verrate|veroffentliche|ubermittle)\\b" NEAR
		"(?:passw|schlussel|token|zugangsdaten|geheim|\\.env|prompt|umgebungsvariable)|(?:passw|schlussel|"
		"zugangsdaten|geheimnis)" NEAR
		"\\b(?:schicken|senden|hochladen|ubermitteln)|\\b(?:nutzer|benutzer)\\b[^.\\n]{0,20}\\b(?:zugestimmt|"
		"erlaubt|genehmigt|freigegeben)|\\bfuhre?t? "
		"(?:das|den|die|es|jeden)\\b[^\\n]{0,60}\\baus\\b|\\blade\\b[^\\n]{0,60}\\b(?:fuhre|starte)|\\b(?:"
		"agent|assistent|ki|modell) (?:soll|darf)\\b|\\bmerke? dir\\b|(?:anweisung|vorgabe|regel)\\w*" NEAR
		"\\b(?:hinfallig|ungultig|aufgehoben|gelten nicht)|\\btu(?:e|t)? so,? "
		"als\\b|\\bverschweig\\w*|\\bhandle nur\\b|bestatigung\\w*" NEAR
		"(?:uberflussig|unnotig|nicht notig)|(?:zugangsdaten|passw\\w*|schlussel)" NEAR "weiterleit" },
	{ "gives an agent orders in French",
		"\\b(?:ignore[zr]?|oublie[zr]?|desactive[zr]?|contourne[zr]?|saute[zr]?|supprime[zr]?)\\b" NEAR
		"(?:instructions?|regles?|hooks?|protection|confirmation|consigne|securite|garde|sandbox|bac a "
		"sable|verification)|\\bn(?:e "
		"|')[^.\\n]{0,20}\\b(?:dis|dites|informe[zr]?|mentionne[zr]?|previens|prevenez|demande[zr]?|parle[zr]?)"
		"\\b[^.\\n]{0,30}\\b(?:rien|pas|jamais|personne)|\\bsans (?:\\w+ "
		")?(?:demander|confirmation|prevenir|avertir|restriction|approbation|dire|limite|informer|validation|"
		"poser)|\\ba chaque session\\b|\\bfai(?:s|tes) comme si\\b|\\b(?:aucune|pas de) "
		"traces?\\b|(?:consignes|instructions|regles)" NEAR
		"\\b(?:annulees|caduques|ne s'appliquent)|\\b(?:tu es|vous etes) (?:maintenant|desormais)|\\b(?:la "
		"prochaine fois|desormais|a partir de "
		"maintenant|dorenavant)\\b[^.\\n]{0,30}\\b(?:tu|vous|que)\\b|\\b(?:attention des|note "
		"(?:pour|aux?)|message "
		"(?:pour|aux?))\\b[^.\\n]{0,10}(?:assistant|agent|\\bia\\b|modele)|\\b(?:envoie|envoyez|affiche|publie|"
		"copie|montre|transmet|partage)\\w*\\b" NEAR "(?:\\bcles?\\b|mots? de "
		"passe|jeton|token|secret|identifiants|\\.env|prompt)|\\btelecharge\\w*\\b[^\\n]{0,60}\\bexecute" },
	{ "gives an agent orders in Spanish, Portuguese or Italian",
		"\\b(?:ignor[ae]|olvid[ae]|desactiv[ae]|omit[ae]|salt[ae]|esquec[ae]|desativ[ae]|disattiv[ae]|"
		"dimentica|elud[ae]|pas[ae] por alto|borr[ae])\\b" NEAR
		"(?:instruccion|istruzion|instruc|regla|regol|regra|hook|prote[ct]|protezione|confirma|conferma|"
		"seguridad|seguranca|sicurezza|permiso|sandbox)|\\b(?:no|nao|non)(?: \\w{1,3}){0,2} "
		"(?:digas?|informes?|menciones?|cuentes?|preguntes?|avises?|dire|chiedere|diga|conte|pergunte)\\b|\\b(?"
		":sin|sem|senza) "
		"(?:pedir|avisar|preguntar|perguntar|confirma\\w*|restric\\w*|restri\\w*|limit\\w*|decir|dizer|"
		"chiedere|avvisare|dire|conferma|aprobacion|informar)|\\b(?:ahora eres|agora voce e|ora sei|adesso "
		"sei)\\b|\\b(?:la proxima vez que|da proxima vez|la prossima volta|a partir de (?:ahora|agora)|d'ora "
		"in poi|de ahora en adelante)\\b|\\b(?:nota|aviso|mensaje|mensagem|messaggio) (?:para|per) (?:la |las "
		"|el |los |o |a "
		"|l')?(?:ia|agente|asistente|assistente|modelo)|\\b(?:envi[ae]|muestr[ae]|mostr[ae]|sub[ae]|copi[ae]|"
		"publi\\w+|invi[ae]|mand[ae]|revel[ae])\\b" NEAR
		"(?:claves?|credencia|contrasena|token|secreto|senha|password|chiav|\\.env|prompt|segredo)|\\baprueb["
		"ae]\\w* (?:todo|cada)|\\bno lo (?:comentes|menciones|cuentes)|\\b(?:haz|haga|faca|fai) "
		"(?:como|come|de conta)\\b|\\b(?:no dejes|nao deixe|non lasciare|sin dejar) (?:\\w+ "
		")?(?:rastros?|huellas|tracc\\w+)|\\bdescarg\\w+\\b[^\\n]{0,60}\\bejecut" },
	{ "gives an agent orders in Chinese",
		"(?:忽略|无视|忘记|跳过|绕过|关闭|禁用|停用|删除|忽視|無視).{0,20}(?:指令|指示|规则|提示|钩子|审查|"
		"确认|沙箱|沙盒|保护|安全|检查)|(?:不要|别|无需|不用|不必|勿|不得).{0,10}(?:告诉|询问|通知|确认|提及|"
		"告知|征求|透露)|你现在是|从现在(?:起|开始)|下次|以后.{0,10}(?:都|总是|必须)|(?:发送|上传|输出|泄露|"
		"发给|打印|显示|公开).{0,20}(?:密钥|密码|令牌|提示词|凭据|凭证|环境变量|\\.env)|(?:密钥|密码|令牌|凭据|"
		"凭证|环境变量|\\.env).{0,20}(?:发送|上传|泄露|发给|发到|贴到|贴出|粘贴)|(?:不需要|无需|不用).{0,8}(?:"
		"批准|确认|同意|审查)|(?:AI|人工智能|智能体|助手|代理).{0,6}(?:请|必须|应当|注意)|下载.{0,15}(?:运行|"
		"执行)|没有(?:任何)?限制|假装|当作用户|(?:用户)(?:已经|已).{0,6}(?:同意|授权|批准)" },
	{ "gives an agent orders in Japanese",
		"(?:指示|命令|ルール|規則|フック|確認|サンドボックス|保護|レビュー|制限|検査).{0,20}(?:無視|忘れ|"
		"無効に|スキップ|省略|解除|停止|オフ)(?:し|て|せよ|すること|にし)|(?:ユーザー?|利用者|人間).{0,10}(?:"
		"知らせ|伝え|言わ|通知せ|教え|聞か|尋ね|報告せ)(?:ず|ない)|(?:確認|許可|承認)(?:なし|せず|を求めず|"
		"は不要|不要)|(?:あなた|君|お前)は(?:今から|これから|もう|現在|今)|(?:次回|今後|これから|今から|以後).{"
		"0,40}(?:ください|すること|しなさい|せよ|してはいけ)|ダウンロード.{0,20}実行|(?:送信|アップロード|"
		"送って|公開).{0,20}(?:秘密|トークン|パスワード|鍵|認証情報)|(?:秘密|トークン|パスワード|鍵|キー|\\."
		"env|システムプロンプト|認証情報|環境変数).{0,20}(?:送信|アップロード|表示|出力|公開|送って|貼り付け)(?"
		"!される)|(?:AI|エージェント|アシスタント)(?:へ|の皆|は必ず|に告ぐ)|制限のない|(?:承認|許可|同意)(?:"
		"した|済み|され).{0,6}(?:扱|みな|として)|(?:ルール|保護|制限|検査|ガード).{0,6}(?:回避|迂回)|(?:"
		"データベース|履歴|ログ|テーブル).{0,6}(?:削除|消去)(?:せよ|しなさい|してくださ|しろ)" },
	{ "gives an agent orders in Russian",
		"\\b(?:игнорируй|забудь|отключи|выключи|пропусти|пропускай|обойди|удали|нарушай)(?:те)?\\b" NEAR
		"(?:инструкц|правил|хук|защит|проверк|подтвержд|песочниц|промпт|указан|ограничен)|\\bне "
		"(?:сообщай|запрашивай|говори|упоминай|спрашивай|показывай|рассказывай|следуй|проси)|\\bбез (?:\\w+ "
		")?(?:подтвержд|ограничен|спрос|проверк|ведома|разрешен|согласи)|\\b(?:теперь ты|ты теперь|отныне|в "
		"следующии раз|в следующий раз|впредь|с этого "
		"момента)\\b|\\b(?:отправь|покажи|пришли|скинь|загрузи|перешли|выведи|опубликуй|скопируй)(?:те)?"
		"\\b" NEAR
		"(?:токен|парол|ключ|секрет|промпт|\\.env|учетн|переменн)|\\bскачай\\w*\\b[^\\n]{0,40}(?:запусти|"
		"выполни)|\\bследуй(?:те)? только|\\bсчитай(?:те)?,? что|\\bничего не "
		"(?:пиши|говори|сообщай)|(?:внимание|заметка|сообщение)[^.\\n]{0,8}(?:ии|агент|ассистент|модел)" },
	{ "gives an agent orders in Korean",
		"(?:지시|명령|규칙|훅|확인|보호|샌드박스|검토).{0,15}(?:무시|잊|비활성|건너뛰|생략|해제|끄)|사용자.{0,"
		"10}(?:알리지|말하지|묻지)|시스템 "
		"프롬프트.{0,10}(?:출력|표시|공개|보여)|(?:토큰|비밀번호|키|\\.env).{0,20}(?:전송|보내|업로드)|당신은 "
		"(?:이제|지금부터)|다음(?:번| 번)에|다운로드.{0,15}실행|(?:확인|승인|허락) 없이" },
};

/* Asked of the text as it is. A word with something invisible inside it was made to be misread. */
static const struct row hidden[] = {
	{ "hides text",
		"[\\x{200b}-\\x{200f}\\x{202a}-\\x{202e}\\x{2060}-\\x{2069}\\x{e0000}-\\x{e007f}]|\\w[\\x{ad}\\x{feff}]"
		"\\w|[A-Za-z0-9+/"
		"]{120,}={0,2}|display:\\s*none|(?:aria-hidden=|font-size:\\s*0|visibility:\\s*hidden)[^>]*>[^<]*\\b(?:"
		"you|must|ignore|agent|ai)\\b" },
};

struct poison {
	struct match *english[countof(english)], *others[countof(others)], *hidden[countof(hidden)];
	struct concepts *concepts;
};

static void compile(const struct row *rows, size_t n, struct match **ret)
{
	for (size_t i = 0; i < n; i++)
		if (match_compile(str_of(rows[i].pattern), MATCH_NOCASE | MATCH_UTF, &ret[i], NULL) < 0)
			abort(); /* a pattern of our own */
}

static const char *find(const struct row *rows, size_t n, struct match *const *compiled, str text)
{
	/* A limit that was reached is no reason to trust it. */
	for (size_t i = 0; i < n; i++)
		if (match_find(compiled[i], text, 0, NULL) != 0)
			return rows[i].why;
	return NULL;
}

struct poison *poison_new(void)
{
	struct poison *p = xcalloc(1, sizeof *p);

	compile(english, countof(english), p->english);
	compile(others, countof(others), p->others);
	compile(hidden, countof(hidden), p->hidden);
	p->concepts = concepts_new();
	return p;
}

static void free_all(struct match **compiled, size_t n)
{
	for (size_t i = 0; i < n; i++)
		match_free(compiled[i]);
}

void poison_free(struct poison *p)
{
	if (!p)
		return;
	free_all(p->english, countof(english));
	free_all(p->others, countof(others));
	free_all(p->hidden, countof(hidden));
	concepts_free(p->concepts);
	free(p);
}

static const char *find_in_readings(const struct poison *p, const str readings[READINGS])
{
	/* English first: some of its words are words of other languages, too. */
	const char *why = find(english, countof(english), p->english, readings[READING_PLAIN]);

	if (!why)
		why = find(others, countof(others), p->others, readings[READING_PLAIN]);
	for (size_t i = 0; !why && i < READINGS; i++)
		if (readings[i].n && i != READING_PLAIN)
			why = find(english, countof(english), p->english, readings[i]);
	/* Whoever encodes plain words does not want them to be read. */
	if (!why && readings[READING_DECODED].n)
		why = hidden[0].why;
	if (!why && concepts_suspect(p->concepts, readings[READING_PLAIN]))
		why = "is about what orders to an agent are about";
	return why;
}

const char *poison_find(const struct poison *p, str text)
{
	struct arena arena;
	str readings[READINGS];
	const char *why;

	if (text.n > TEXT_MOST)
		return "is too long to be looked through";
	why = find(hidden, countof(hidden), p->hidden, text);
	if (why)
		return why;
	arena_init(&arena);
	disguise_read(&arena, text, readings);
	why = find_in_readings(p, readings);
	arena_release(&arena);
	return why;
}
