/* capture: the rows do not depend on the order in which records arrive, nor on how often. */
#include "test.h"

#include "agents/agents.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "records.h"

/* A day's work, told as a list: each line becomes one record. more is what its payload holds besides
 * session and directory. */
struct line {
	unsigned ms; /* after the day began */
	const char *agent, *session;
	enum event_kind kind;
	const char *tool, *use, *cwd, *more;
};

#define PROMPT(id, text) "\"prompt_id\":\"" id "\",\"prompt\":\"" text "\""
/* What hookd said about the line above. */
#define SAID_NO "\"event\":\"PreToolUse\",\"rulings\":[{\"rule\":\"fs.rm\",\"decision\":\"deny\",\"prevailed\":true}]"
#define ID(id) "\"prompt_id\":\"" id "\""

static const struct line day[] = {
	{ 0, "claude", "s1", EVENT_SESSION_START, NULL, NULL, "/p",
		"\"source\":\"startup\",\"transcript_path\":\"/t/1\",\"model\":\"m1\"" },
	{ 5, "claude", "s1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/p", PROMPT("p1", "build it") },
	/* The same prompt reported by a second hook, and the same words as another prompt. */
	{ 6, "claude", "s1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/p", PROMPT("p1", "build it") },
	{ 9, "claude", "s1", EVENT_PRE_TOOL_USE, "Bash", "u1", "/p", ID("p1") ",\"tool_input\":{\"command\":\"ls\"}" },
	{ 9, "claude", "s1", EVENT_POST_TOOL_USE, "Bash", "u1", "/p",
		ID("p1") ",\"tool_response\":{\"stdout\":\"a\"},\"duration_ms\":7" },
	{ 12, "claude", "s1", EVENT_PRE_TOOL_USE, "Read", "u2", "/p/sub",
		ID("p1") ",\"tool_input\":{\"file_path\":\"/p/x.c\"}" },
	{ 12, "claude", "s1", EVENT_PRE_TOOL_USE, "Write", "u3", "/p/sub",
		ID("p1") ",\"tool_input\":{\"file_path\":\"/p/.claude/plans/a.md\",\"content\":\"# Plan "
			 "A\\n1\"}" },
	{ 14, "claude", "s1", EVENT_POST_TOOL_USE, "Write", "u3", "/p/sub",
		ID("p1") ",\"tool_input\":{\"file_path\":\"/p/.claude/plans/a.md\",\"content\":\"# Plan "
			 "A\\n1\"},\"tool_response\":{\"type\":\"create\"}" },
	{ 15, "claude", "s1", EVENT_POST_TOOL_USE, "Read", "u2", "/p/sub",
		ID("p1") ",\"tool_input\":{\"file_path\":\"/p/x.c\"},\"tool_response\":\"text\"" },
	{ 20, "claude", "s1", EVENT_STOP, NULL, NULL, "/p", ID("p1") ",\"last_assistant_message\":\"done one\"" },
	{ 21, "claude", "s1", EVENT_STOP, NULL, NULL, "/p", ID("p1") ",\"last_assistant_message\":\"done one\"" },
	{ 30, "claude", "s1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/p", PROMPT("p2", "build it") },
	{ 31, "claude", "s1", EVENT_SUBAGENT_START, NULL, NULL, "/p",
		ID("p2") ",\"agent_id\":\"a1\",\"agent_type\":\"general\"" },
	{ 32, "claude", "s1", EVENT_PRE_TOOL_USE, "Bash", "u4", "/p",
		ID("p2") ",\"agent_id\":\"a1\",\"tool_input\":{\"command\":\"x\"}" },
	{ 33, "claude", "s1", EVENT_POST_TOOL_USE_FAILURE, "Bash", "u4", "/p",
		ID("p2") ",\"agent_id\":\"a1\",\"error\":\"exit 3\"" },
	{ 34, "claude", "s1", EVENT_SUBAGENT_STOP, NULL, NULL, "/p",
		ID("p2") ",\"agent_id\":\"a1\",\"agent_type\":\"general\",\"last_assistant_message\":\"sub\"" },
	{ 35, "claude", "s1", EVENT_PRE_COMPACT, NULL, NULL, "/p", ID("p2") ",\"trigger\":\"auto\"" },
	/* What writes the summary ends like a subagent that never started. */
	{ 35, "claude", "s1", EVENT_SUBAGENT_STOP, NULL, NULL, "/p",
		ID("p2") ",\"agent_id\":\"a2\",\"agent_type\":\"\",\"last_assistant_message\":\"sum\"" },
	{ 36, "claude", "s1", EVENT_SESSION_START, NULL, NULL, "/p", "\"source\":\"compact\"" },
	{ 37, "claude", "s1", EVENT_PRE_TOOL_USE, "Edit", "u5", "/p",
		ID("p2") ",\"tool_input\":{\"file_path\":\"/p/.claude/plans/"
			 "a.md\",\"old_string\":\"1\",\"new_string\":\"2\"}" },
	{ 38, "claude", "s1", EVENT_POST_TOOL_USE, "Edit", "u5", "/p",
		ID("p2") ",\"tool_input\":{\"file_path\":\"/p/.claude/plans/"
			 "a.md\",\"old_string\":\"1\",\"new_string\":\"2\"},\"tool_response\":{}" },
	/* A Stop that a hook answered with "go on": the batch is reopened and stopped again. */
	{ 40, "claude", "s1", EVENT_STOP, NULL, NULL, "/p", ID("p2") ",\"last_assistant_message\":\"first try\"" },
	{ 41, "claude", "s1", EVENT_PRE_TOOL_USE, "Bash", "u6", "/p", ID("p2") },
	{ 42, "claude", "s1", EVENT_POST_TOOL_USE, "Bash", "u6", "/p", ID("p2") },
	{ 43, "claude", "s1", EVENT_STOP, NULL, NULL, "/p", ID("p2") ",\"last_assistant_message\":\"done two\"" },
	{ 50, "claude", "s1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/p", PROMPT("p3", "<task-notification>x") },
	{ 51, "claude", "s1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/p",
		PROMPT("p4", "Implement the following plan: # B\\nx") },
	{ 60, "claude", "s1", EVENT_SESSION_END, NULL, NULL, "/p", "\"reason\":\"clear\"" },
	{ 61, "claude", "s1", EVENT_SESSION_END, NULL, NULL, "/p", "\"reason\":\"clear\"" },
	/* Cleared into another session; a tool before any prompt. */
	{ 62, "claude", "s1b", EVENT_SESSION_START, NULL, NULL, "/p", "\"source\":\"clear\"" },
	{ 63, "claude", "s1b", EVENT_PRE_TOOL_USE, "Glob", "u1", "/p", "\"tool_input\":{}" },
	{ 64, "claude", "s1b", EVENT_POST_TOOL_USE, "Glob", "u1", "/p", "\"tool_input\":{}" },
	/* The same id at another named agent is another session. */
	{ 2, "codex", "s2", EVENT_SESSION_START, NULL, NULL, "/c", "\"source\":\"startup\"" },
	{ 3, "codex", "s2", EVENT_PRE_TOOL_USE, "shell", "u1", "/c", NULL },
	{ 4, "codex", "s2", EVENT_POST_TOOL_USE, "shell", "u1", "/c", NULL },
	{ 8, "codex", "s2", EVENT_STOP, NULL, NULL, "/c", NULL },
	{ 8, "codex", "s2", EVENT_SESSION_END, NULL, NULL, "/c", NULL },
	{ 7, "gemini", "s2", EVENT_SESSION_END, NULL, NULL, "/c", NULL },
	/* An agent that also runs another one's hooks: one session under its own name. */
	{ 70, "claude", "s4", EVENT_SESSION_START, NULL, NULL, "/r", "\"source\":\"startup\"" },
	{ 71, "cursor", "s4", EVENT_SESSION_START, NULL, NULL, "/r", "\"source\":\"startup\"" },
	{ 72, "cursor", "s4", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/r", "\"prompt\":\"hello\"" },
	{ 73, "claude", "s4", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/r", "\"prompt\":\"hello\"" },
	{ 74, "claude", "s4", EVENT_STOP, NULL, NULL, "/r", NULL },
	{ 75, "cursor", "s4", EVENT_STOP, NULL, NULL, "/r", "\"last_assistant_message\":\"late\"" },
	/* Odd ends: no start, an end without a beginning, no use id, no session. */
	{ 81, "claude", "s5", EVENT_POST_TOOL_USE, "Edit", "u9", "/late", NULL },
	{ 86, "claude", "s5", EVENT_POST_TOOL_USE, "Glob", NULL, "/late", NULL },
	{ 87, "claude", "s5", EVENT_NOTIFICATION, NULL, NULL, NULL, "\"message\":\"look\"" },
	{ 88, "claude", "s5", EVENT_UNKNOWN, NULL, NULL, NULL, NULL },
	{ 89, "claude", "s5", EVENT_STOP, NULL, NULL, NULL, NULL },
	{ 90, "claude", NULL, EVENT_NOTIFICATION, NULL, NULL, "/n", NULL },
	{ 91, "claude", NULL, EVENT_PRE_TOOL_USE, "Bash", "u1", NULL, NULL },
	{ 95, "claude", "s6", EVENT_SESSION_END, NULL, NULL, "/e", NULL },
	{ 96, "claude", "s6", EVENT_SESSION_START, NULL, NULL, "/e", "\"source\":\"resume\"" },
	/* Set up before it starts; another model; a turn that fails, told twice. */
	{ 100, "claude", "s7", EVENT_SETUP, NULL, NULL, "/s", "\"trigger\":\"init\"" },
	{ 101, "claude", "s7", EVENT_SESSION_START, NULL, NULL, "/s", "\"source\":\"startup\",\"model\":\"m1\"" },
	{ 102, "claude", "s7", EVENT_POST_MODEL_SWITCH, NULL, NULL, "/s", "\"from_model\":\"m1\",\"to_model\":\"m2\"" },
	{ 103, "claude", "s7", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/s", PROMPT("p1", "try") },
	{ 104, "claude", "s7", EVENT_STOP_FAILURE, NULL, NULL, "/s",
		ID("p1") ",\"error\":\"rate_limit\",\"last_assistant_message\":\"too many\"" },
	{ 105, "claude", "s7", EVENT_STOP_FAILURE, NULL, NULL, "/s",
		ID("p1") ",\"error\":\"rate_limit\",\"last_assistant_message\":\"too many\"" },
	/* A subagent that works on after the answer; the last is one whose agent gives no ids of prompts. */
	{ 110, "claude", "s8", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/b", PROMPT("p1", "ask") },
	{ 111, "claude", "s8", EVENT_SUBAGENT_START, NULL, NULL, "/b",
		ID("p1") ",\"agent_id\":\"a1\",\"agent_type\":\"general\"" },
	{ 112, "claude", "s8", EVENT_STOP, NULL, NULL, "/b", ID("p1") ",\"last_assistant_message\":\"asked\"" },
	{ 113, "claude", "s8", EVENT_PRE_TOOL_USE, "Bash", "u1", "/b", ID("p1") ",\"agent_id\":\"a1\"" },
	{ 114, "claude", "s8", EVENT_PRE_TOOL_USE, "Bash", "u2", "/b", "\"agent_id\":\"a1\"" },
	{ 115, "claude", "s8", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/b", PROMPT("p2", "more") },
	/* Resumed, ended, resumed, killed, resumed (told twice), all within seconds. */
	{ 120, "claude", "s9", EVENT_SESSION_START, NULL, NULL, "/k", "\"source\":\"resume\"" },
	{ 121, "claude", "s9", EVENT_SESSION_END, NULL, NULL, "/k", "\"reason\":\"other\"" },
	{ 122, "claude", "s9", EVENT_SESSION_START, NULL, NULL, "/k", "\"source\":\"resume\"" },
	{ 123, "claude", "s9", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/k", PROMPT("p1", "go") },
	{ 124, "claude", "s9", EVENT_SESSION_START, NULL, NULL, "/k", "\"source\":\"resume\"" },
	{ 125, "claude", "s9", EVENT_SESSION_START, NULL, NULL, "/k", "\"source\":\"resume\"" },
	{ 126, "claude", "s9", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/k", PROMPT("p2", "go on") },
	/* Answered twice with nothing in between that reopens it. */
	{ 130, "claude", "s10", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/t", PROMPT("p1", "say") },
	{ 131, "claude", "s10", EVENT_STOP, NULL, NULL, "/t", ID("p1") ",\"last_assistant_message\":\"one\"" },
	{ 132, "claude", "s10", EVENT_STOP, NULL, NULL, "/t", ID("p1") ",\"last_assistant_message\":\"two\"" },
	{ 133, "claude", "s10", EVENT_STOP, NULL, NULL, "/t", ID("p1") ",\"last_assistant_message\":\"two\"" },
	/* Tasks are a plan. */
	{ 140, "claude", "s11", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/t", PROMPT("p1", "plan it") },
	{ 141, "claude", "s11", EVENT_TASK_CREATED, NULL, NULL, "/t", ID("p1") ",\"task_subject\":\"first\"" },
	{ 142, "claude", "s11", EVENT_TASK_CREATED, NULL, NULL, "/t", ID("p1") ",\"task_subject\":\"second\"" },
	/* Denied: heeded, told as a failure, and run all the same. */
	{ 200, "claude", "s19", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/d", PROMPT("p1", "tidy up") },
	{ 201, "claude", "s19", EVENT_PRE_TOOL_USE, "Bash", "no1", "/d", ID("p1") },
	{ 201, "claude", "s19", EVENT_DECISION, "Bash", "no1", NULL, SAID_NO },
	{ 202, "claude", "s19", EVENT_PRE_TOOL_USE, "Bash", "no2", "/d", ID("p1") },
	{ 202, "claude", "s19", EVENT_DECISION, "Bash", "no2", NULL, SAID_NO },
	{ 203, "claude", "s19", EVENT_POST_TOOL_USE_FAILURE, "Bash", "no2", "/d", ID("p1") ",\"error\":\"no\"" },
	{ 204, "claude", "s19", EVENT_PRE_TOOL_USE, "Bash", "no3", "/d", ID("p1") },
	{ 204, "claude", "s19", EVENT_DECISION, "Bash", "no3", NULL, SAID_NO },
	{ 205, "claude", "s19", EVENT_POST_TOOL_USE, "Bash", "no3", "/d", ID("p1") },
	/* One prompt told with and without its id, then the same words as another one; answers that are plans. */
	{ 300, "cursor", "s20", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/q", "\"prompt\":\"plan it\"" },
	{ 301, "claude", "s20", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/q", PROMPT("g1", "plan it") },
	{ 302, "cursor", "s20", EVENT_STOP, NULL, NULL, "/q",
		"\"last_assistant_message\":\"Sure.\\n\\n## Implementation Plan\\n1. x\"" },
	{ 303, "claude", "s20", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/q", PROMPT("g2", "plan it") },
	{ 304, "cursor", "s20", EVENT_STOP, NULL, NULL, "/q",
		ID("g2") ",\"last_assistant_message\":\"Plan B failed, so I did it by hand.\"" },
	{ 305, "cursor", "s20", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/q",
		PROMPT("g3", "Implement the plan as specified, it is attached for your reference.") },
};

#define TURN(id) "\"turn_id\":\"" id "\",\"permission_mode\":\"default\""
#define SUB(turn, id) TURN(turn) ",\"agent_id\":\"" id "\",\"agent_type\":\"default\""
#define SHELL(command) "\"tool_input\":{\"command\":\"" command "\"}"
#define TOLD(turn, prompt, answer)                                                      \
	"\"type\":\"agent-turn-complete\",\"turn-id\":\"" turn "\",\"input-messages\":" \
	"[\"" prompt "\"],\"last-assistant-message\":" answer

/* Codex: hooks, and turns told beside them. */
static const struct line codex[] = {
	{ 0, "codex", "r1", EVENT_SESSION_START, NULL, NULL, "/c",
		"\"source\":\"startup\",\"model\":\"m\",\"transcript_path\":\"/t/r1\"" },
	{ 1, "codex", "r1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/c", TURN("t1") ",\"prompt\":\"Say hello\"" },
	{ 2, "codex", "r1", EVENT_PRE_TOOL_USE, "Bash", "c1", "/c", TURN("t1") "," SHELL("echo hi") },
	{ 3, "codex", "r1", EVENT_POST_TOOL_USE, "Bash", "c1", "/c",
		TURN("t1") "," SHELL("echo hi") ",\"tool_response\":\"hi\\n\"" },
	{ 4, "codex", "r1", EVENT_PRE_TOOL_USE, "apply_patch", "c2", "/c",
		TURN("t1") "," SHELL("*** Begin Patch\\n*** Add File: a.txt\\n+hello\\n*** End Patch\\n") },
	{ 5, "codex", "r1", EVENT_PERMISSION_REQUEST, "apply_patch", NULL, "/c",
		TURN("t1") "," SHELL("*** Begin Patch\\n*** Add File: a.txt\\n+hello\\n*** End Patch\\n") },
	{ 6, "codex", "r1", EVENT_POST_TOOL_USE, "apply_patch", "c2", "/c",
		TURN("t1") "," SHELL("*** Begin Patch\\n*** Add File: a.txt\\n+hello\\n*** End "
				     "Patch\\n") ",\"tool_response\":\"Success\"" },
	/* Made to go on once. */
	{ 7, "codex", "r1", EVENT_STOP, NULL, NULL, "/c", TURN("t1") ",\"last_assistant_message\":\"Finished.\"" },
	{ 8, "codex", "r1", EVENT_STOP, NULL, NULL, "/c",
		TURN("t1") ",\"stop_hook_active\":true,\"last_assistant_message\":\"Continued.\"" },
	{ 9, "codex", "r1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("t1", "Say hello", "\"Continued.\"") },
	/* A subagent: its tools have another turn, its turn another thread. */
	{ 20, "codex", "r1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/c",
		TURN("t2") ",\"prompt\":\"Let others do it\"" },
	{ 21, "codex", "r1", EVENT_PRE_TOOL_USE, "collaborationspawn_agent", "c3", "/c",
		TURN("t2") ",\"tool_input\":{\"message\":\"task\"}" },
	{ 22, "codex", "r1", EVENT_SUBAGENT_START, NULL, NULL, "/c", SUB("u1", "a1") ",\"transcript_path\":\"/t/a1\"" },
	{ 22, "codex", "r1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/c", SUB("u1", "a1") ",\"prompt\":\"task\"" },
	{ 23, "codex", "r1", EVENT_PRE_TOOL_USE, "Bash", "c4", "/c",
		SUB("u1", "a1") "," SHELL("echo sub") ",\"transcript_path\":\"/t/a1\"" },
	{ 24, "codex", "r1", EVENT_POST_TOOL_USE, "Bash", "c4", "/c",
		SUB("u1", "a1") "," SHELL("echo sub") ",\"tool_response\":\"sub\",\"transcript_path\":\"/t/a1\"" },
	{ 25, "codex", "r1", EVENT_SUBAGENT_STOP, NULL, NULL, "/c",
		SUB("u1", "a1") ",\"last_assistant_message\":\"sub "
				"result\",\"transcript_path\":\"/t/r1\"" },
	{ 26, "codex", "a1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("u1", "task", "\"sub result\"") },
	{ 27, "codex", "r1", EVENT_POST_TOOL_USE, "collaborationspawn_agent", "c3", "/c",
		TURN("t2") ",\"tool_input\":{\"message\":\"task\"},\"tool_response\":\"{}\"" },
	/* One whose start was not seen, one that says nothing at its stop, and one whose turn seems
	 * to end before it starts. */
	{ 28, "codex", "r1", EVENT_PRE_TOOL_USE, "Bash", "c5", "/c", SUB("u2", "a2") "," SHELL("ls") },
	{ 29, "codex", "a2", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("u2", "task two", "\"two\"") },
	{ 30, "codex", "r1", EVENT_SUBAGENT_START, NULL, NULL, "/c", SUB("u3", "a3") },
	{ 31, "codex", "a3", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("u3", "task three", "\"three\"") },
	{ 32, "codex", "r1", EVENT_SUBAGENT_STOP, NULL, NULL, "/c", SUB("u3", "a3") },
	{ 33, "codex", "a4", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("u4", "task four", "\"four\"") },
	{ 34, "codex", "r1", EVENT_SUBAGENT_START, NULL, NULL, "/c", SUB("u4", "a4") },
	/* The stop brings no answer; what is told beside it does. */
	{ 40, "codex", "r1", EVENT_STOP, NULL, NULL, "/c", TURN("t2") ",\"last_assistant_message\":null" },
	{ 41, "codex", "r1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("t2", "Let others do it", "\"All done.\"") },
	/* Interrupted; then a turn of which only a tool, and one of which nothing was seen by
	   hooks. */
	{ 50, "codex", "r1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/c", TURN("t3") ",\"prompt\":\"wait\"" },
	{ 51, "codex", "r1", EVENT_PRE_TOOL_USE, "Bash", "c6", "/c", TURN("t3") "," SHELL("sleep 9") },
	{ 52, "codex", "r1", EVENT_INTERRUPT, NULL, NULL, "/c", TURN("t3") },
	{ 70000, "codex", "r1", EVENT_PRE_TOOL_USE, "Bash", "c7", "/c", TURN("t4") "," SHELL("date") },
	{ 70001, "codex", "r1", EVENT_POST_TOOL_USE, "Bash", "c7", "/c", TURN("t4") "," SHELL("date") },
	{ 70002, "codex", "r1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("t4", "What day is it", "\"Sunday\"") },
	{ 70010, "codex", "r1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("t5", "Told aside", "\"Yes\"") },
	{ 70011, "codex", "r1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("t5", "Told aside", "\"Yes\"") },
	/* Over before its last turn is told. */
	{ 70020, "codex", "r1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/c", TURN("t6") ",\"prompt\":\"bye\"" },
	{ 70021, "codex", "r1", EVENT_STOP, NULL, NULL, "/c", TURN("t6") ",\"last_assistant_message\":\"Bye.\"" },
	{ 70022, "codex", "r1", EVENT_SESSION_END, NULL, NULL, "/c", "\"reason\":\"other\"" },
	{ 70023, "codex", "r1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("t6", "bye", "\"Bye.\"") },
	/* Nobody has agreed to the hooks of this one. */
	{ 100, "codex", "r2", EVENT_TURN_COMPLETE, NULL, NULL, "/d", TOLD("v1", "first", "\"one\"") },
	{ 200, "codex", "r2", EVENT_TURN_COMPLETE, NULL, NULL, "/d", TOLD("v2", "second", "null") },
};

#define CALL(command) SHELL(command)
#define SAID(text) ",\"tool_response\":{\"llmContent\":\"Output: " text "\",\"returnDisplay\":\"" text "\"}"
#define FAILED ",\"tool_response\":{\"llmContent\":\"Output: no\\nExit Code: 3\",\"returnDisplay\":\"no\"}"

/* Gemini: no ids at all, and calls side by side. */
static const struct line gemini[] = {
	{ 0, "gemini", "g1", EVENT_SESSION_START, NULL, NULL, "/g", "\"source\":\"startup\"" },
	{ 1, "gemini", "g1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/g", "\"prompt\":\"do it\"" },
	{ 2, "gemini", "g1", EVENT_PRE_COMPACT, NULL, NULL, "/g", "\"trigger\":\"auto\"" },
	{ 10, "gemini", "g1", EVENT_PRE_TOOL_USE, "run_shell_command", NULL, "/g", CALL("make") },
	{ 10, "gemini", "g1", EVENT_PRE_TOOL_USE, "run_shell_command", NULL, "/g", CALL("make") },
	{ 11, "gemini", "g1", EVENT_PRE_TOOL_USE, "run_shell_command", NULL, "/g", CALL("make check") },
	{ 11, "gemini", "g1", EVENT_PRE_TOOL_USE, "read_file", NULL, "/g", "\"tool_input\":{\"file_path\":\"/g/x\"}" },
	{ 12, "gemini", "g1", EVENT_POST_TOOL_USE, "run_shell_command", NULL, "/g", CALL("make check") SAID("ok") },
	{ 13, "gemini", "g1", EVENT_POST_TOOL_USE_FAILURE, "run_shell_command", NULL, "/g", CALL("make") FAILED },
	{ 13, "gemini", "g1", EVENT_POST_TOOL_USE, "run_shell_command", NULL, "/g", CALL("make") SAID("made") },
	{ 14, "gemini", "g1", EVENT_POST_TOOL_USE, "read_file", NULL, "/g",
		"\"tool_input\":{\"file_path\":\"/g/"
		"x\"},\"tool_response\":{\"llmContent\":\"text\",\"returnDisplay\":\"\"}" },
	/* Refused, so it never ends. */
	{ 15, "gemini", "g1", EVENT_PRE_TOOL_USE, "run_shell_command", NULL, "/g", CALL("rm x") },
	{ 15, "gemini", "g1", EVENT_DECISION, "run_shell_command", NULL, NULL, SAID_NO },
	{ 16, "gemini", "g1", EVENT_PRE_COMPACT, NULL, NULL, "/g", "\"trigger\":\"auto\"" },
	{ 20, "gemini", "g1", EVENT_STOP, NULL, NULL, "/g", "\"prompt\":\"do it\",\"prompt_response\":\"Done.\"" },
	/* A hook made it go on. */
	{ 21, "gemini", "g1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/g", "\"prompt\":\"run the tests\"" },
	{ 22, "gemini", "g1", EVENT_STOP, NULL, NULL, "/g",
		"\"prompt\":\"do it\",\"prompt_response\":\"Tested.\",\"stop_hook_active\":true" },
	{ 30000, "gemini", "g1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/g", "\"prompt\":\"again\"" },
	{ 30001, "gemini", "g1", EVENT_PRE_COMPACT, NULL, NULL, "/g", "\"trigger\":\"auto\"" },
	{ 30002, "gemini", "g1", EVENT_PRE_TOOL_USE, "run_shell_command", NULL, "/g", CALL("rm x") },
	{ 30003, "gemini", "g1", EVENT_POST_TOOL_USE, "run_shell_command", NULL, "/g", CALL("rm x") SAID("gone") },
	{ 30004, "gemini", "g1", EVENT_PRE_TOOL_USE, "run_shell_command", NULL, "/g", CALL("make") },
	{ 30005, "gemini", "g1", EVENT_POST_TOOL_USE, "run_shell_command", NULL, "/g", CALL("make") SAID("made") },
	/* The end overtook the beginning; an end alone; the same long after that is another call.
	 */
	{ 30010, "gemini", "g1", EVENT_POST_TOOL_USE, "glob", NULL, "/g",
		"\"tool_input\":{\"pattern\":\"*.c\"}" SAID("a.c") },
	{ 30011, "gemini", "g1", EVENT_PRE_TOOL_USE, "glob", NULL, "/g", "\"tool_input\":{\"pattern\":\"*.c\"}" },
	{ 30012, "gemini", "g1", EVENT_POST_TOOL_USE, "glob", NULL, "/g",
		"\"tool_input\":{\"pattern\":\"*.h\"}" SAID("a.h") },
	{ 45000, "gemini", "g1", EVENT_PRE_TOOL_USE, "glob", NULL, "/g", "\"tool_input\":{\"pattern\":\"*.h\"}" },
	{ 45001, "gemini", "g1", EVENT_POST_TOOL_USE, "glob", NULL, "/g",
		"\"tool_input\":{\"pattern\":\"*.h\"}" SAID("b.h") },
	{ 45002, "gemini", "g1", EVENT_PRE_COMPACT, NULL, NULL, "/g", "\"trigger\":\"manual\"" },
	{ 45010, "gemini", "g1", EVENT_STOP, NULL, NULL, "/g",
		"\"prompt\":\"again\",\"prompt_response\":\"Done again.\"" },
	{ 45020, "gemini", "g1", EVENT_SESSION_END, NULL, NULL, "/g", "\"reason\":\"exit\"" },
	{ 45021, "gemini", "g1", EVENT_SESSION_END, NULL, NULL, "/g", "\"reason\":\"exit\"" },
	{ 45022, "gemini", "g1", EVENT_SESSION_END, NULL, NULL, "/g", "\"reason\":\"exit\"" },
};

enum { LINES = countof(day), LINES_MAX = 120, DOUBLES = 12, ROUNDS = 1000 };

static const struct line *story = day; /* the one that is being told */

/* The agent's own name of a kind: what the fold reads again is the agent's words. */
static str native_of(str agent, enum event_kind kind)
{
	if (kind == EVENT_POST_TOOL_USE_FAILURE && str_eq(agent, STR("gemini")))
		kind = EVENT_POST_TOOL_USE;
	for (const struct agent_event *row = agent_find(agent)->events; row->native; row++)
		if (row->kind == kind && !str_eq(agent, STR("cursor")))
			return str_of(row->native);
	return str_of(event_kinds[kind].name);
}

static struct record record_of(struct arena *a, unsigned i)
{
	const struct line *l = &story[i];
	struct record r = record_sample(i, STR_NONE);
	struct event e;
	char about[ULID_TEXT + 1], decided[ULID_TEXT + 20] = "";
	const char *session_key = l->kind == EVENT_TURN_COMPLETE ? ",\"thread-id\":\"" : ",\"session_id\":\"";
	uint8_t random[10] = { 0 };

	if (l->kind == EVENT_DECISION) {
		random[0] = (uint8_t)(i - 1);
		r.id = ulid_from(1700000000000 + l[-1].ms, random);
		ulid_format(&r.id, about);
		snprintf(decided, sizeof decided, ",\"event_id\":\"%s\"", about);
	}
	/* Two records of one millisecond are told apart by the random part alone. */
	random[0] = (uint8_t)i;
	r.id = ulid_from(1700000000000 + l->ms, random);
	r.at_us = (1700000000000 + l->ms) * INT64_C(1000);
	r.order_us = r.at_us;
	r.kind = l->kind;
	r.agent = str_of(l->agent);
	r.native = native_of(r.agent, l->kind);
	r.session = str_of(l->session);
	r.tool_name = str_of(l->tool);
	r.tool_use_id = str_of(l->use);
	r.agent_id = STR_NONE;
	r.cwd = STR_NONE;
	r.transcript_path = STR_NONE;
	r.payload = arena_strf(a, "{\"x\":1%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s}", decided, l->session ? session_key : "",
		l->session ? l->session : "", l->session ? "\"" : "", l->cwd ? ",\"cwd\":\"" : "", l->cwd ? l->cwd : "",
		l->cwd ? "\"" : "", l->tool ? ",\"tool_name\":\"" : "", l->tool ? l->tool : "", l->tool ? "\"" : "",
		l->use ? ",\"tool_use_id\":\"" : "", l->use ? l->use : "", l->use ? "\"" : "", l->more ? "," : "",
		l->more ? l->more : "");
	agent_read_record(&r, a, &e);
	r.agent_id = e.agent_id;
	return r;
}

/* Every table without the numbers that count arrivals; rows are named by what they are. */
static const char *const dumps[] = {
	"SELECT hex(e.id), e.ord, e.at, s.agent, s.native_id, e.kind, e.native, e.tool, e.tool_use_id, "
	"e.marks, hex(o.id), e.agent_id, payload_text(e.payload) "
	"FROM events e JOIN sessions s ON s.key = e.session LEFT JOIN events o ON o.seq = e.same_as ORDER BY e.id",
	"SELECT s.agent, s.native_id, s.cwd, s.transcript, s.status, s.started_at, s.last_at, s.ended_at, "
	"s.events, s.prompts, s.tools, s.model, "
	"s.title, s.end_reason, p.native_id, s.parent_reason, s.last_user, s.last_assistant, s.closed_by, "
	"j.path, s.last_ord, hex(s.last_id) "
	"FROM sessions s LEFT JOIN sessions p ON p.key = s.parent LEFT JOIN projects j ON j.key = s.project "
	"ORDER BY 1, 2",
	"SELECT s.native_id, w.ord, w.agent_id, w.agent_type, p.ord, v.ord, w.source, w.model, "
	"w.started_at, w.ended_at, w.end_reason, "
	"w.message FROM windows w JOIN sessions s ON s.key = w.session LEFT JOIN windows p ON p.key = w.parent "
	"LEFT JOIN windows v ON v.key = w.previous ORDER BY s.agent, 1, 2, 3",
	"SELECT s.native_id, b.ord, w.ord, b.number, b.source, b.prompt, b.prompt_id, b.length, b.status, "
	"b.closed_by, b.started_at, b.last_at, "
	"b.ended_at, b.response, b.late, b.activities FROM batches b JOIN sessions s ON s.key = b.session LEFT "
	"JOIN windows w ON w.key = b.window "
	"ORDER BY s.agent, 1, 2",
	"SELECT s.native_id, a.same, w.ord, b.ord, a.ord, a.kind, a.tool, a.class, a.agent_id, a.input, "
	"a.output, a.file, a.change, a.state, a.error, "
	"a.started_at, a.ended_at, a.duration_ms FROM activities a JOIN sessions s ON s.key = a.session LEFT "
	"JOIN windows w ON w.key = a.window "
	"LEFT JOIN batches b ON b.key = a.batch ORDER BY s.agent, 1, 2, a.ord, a.kind, a.output",
	"SELECT s.native_id, p.path, p.title, p.created_at, p.updated_at, v.version, v.ord, v.source, "
	"v.content FROM plans p "
	"JOIN sessions s ON s.key = p.session JOIN plan_versions v ON v.plan = p.key ORDER BY 1, 2, 6",
	"SELECT s.native_id, d.event, d.rule, d.decision, d.prevailed, d.call, d.ran_at FROM decisions d "
	"JOIN sessions s ON s.key = d.session ORDER BY 1, 2, 3",
};

static const int columns[] = { 13, 22, 12, 16, 18, 9, 7 };

static void dump(struct store *s, struct buf *out)
{
	for (size_t i = 0; i < countof(dumps); i++) {
		struct query *q = store_query(s, dumps[i]);
		int r;

		buf_addf(out, "-- table %zu\n", i);
		while ((r = query_step(q)) == 1) {
			for (int c = 0; c < columns[i]; c++)
				buf_addf(out, "%s" STR_FMT, c ? "|" : "",
					STR_ARG(query_is_null(q, c) ? STR("null") : query_str(q, c)));
			buf_add_char(out, '\n');
		}
		assert_int_equal(r, 0);
		query_reset(q);
	}
	assert_false(out->full);
}

static struct store *fresh_store(void)
{
	struct store *s = NULL;
	struct err err = { 0 };

	if (store_open(test_path(test_dir(), "hookd.db"), STORE_WRITE, "/nonexistent", &s, &err) < 0)
		fail_msg("%s", err.text);
	/* Nothing here is about surviving a power cut. */
	store_exec(s, "PRAGMA synchronous = OFF");
	return s;
}

static void clear(struct store *s)
{
	assert_int_equal(store_exec(s,
				 "DELETE FROM plan_versions; DELETE FROM plans; DELETE FROM activities; DELETE "
				 "FROM batches; "
				 "DELETE FROM windows; DELETE FROM decisions; DELETE FROM events; DELETE FROM blocks; "
				 "DELETE FROM sessions; DELETE FROM directories; DELETE FROM projects"),
		0);
}

static void commit(struct capture *c, struct store *s)
{
	assert_int_equal(capture_finish(c, s), 0);
	assert_int_equal(store_exec(s, "COMMIT"), 0);
}

/* In transactions of random size; now and then the daemon dies in the middle of one and is started
 * again, and then gets the records of it once more. */
static void fold_in_order(struct store *s, const unsigned *order, size_t n, uint64_t *seed)
{
	struct capture *c = capture_new();
	struct arena a = { 0 };
	size_t begun = 0;

	assert_int_equal(store_exec(s, "BEGIN"), 0);
	for (size_t i = 0; i < n; i++) {
		struct record r = record_of(&a, order[i]);
		unsigned die = seed ? test_random(seed) % 20 : 5;

		if (seed && test_random(seed) % 4 == 0)
			r.marks |= EVENT_SPOOLED;
		assert_true(capture_fold(c, s, &r) >= 0);
		if (die == 0) {
			capture_forget(c);
			assert_int_equal(store_exec(s, "ROLLBACK; BEGIN"), 0);
			i = begun - 1;
			seed = NULL;
			continue;
		}
		if (die < 3) {
			commit(c, s);
			assert_int_equal(store_exec(s, "BEGIN"), 0);
			begun = i + 1;
		}
	}
	commit(c, s);
	capture_free(c);
	arena_release(&a);
}

static void shuffle(unsigned *order, size_t n, uint64_t *seed)
{
	for (size_t i = n - 1; i > 0; i--) {
		size_t k = test_random(seed) % (i + 1);
		unsigned t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
}

/* Names the first line that differs: two dumps in full would be unreadable. */
static void check_same(str a, str b, int round)
{
	str x, y;

	while (str_split(&a, '\n', &x) && str_split(&b, '\n', &y))
		if (!str_eq(x, y))
			fail_msg("shuffle %d:\n  " STR_FMT "\n  " STR_FMT, round, STR_ARG(x), STR_ARG(y));
}

/* However the lines of a story come: shuffled, some twice, through the spool, with a daemon that dies. */
static void tell_in_any_order(const struct line *told, unsigned lines, int rounds)
{
	struct buf want = BUF_INIT(KIB(256)), got = BUF_INIT(KIB(256));
	unsigned order[LINES_MAX + DOUBLES];
	struct store *s = fresh_store();
	uint64_t seed = 20260101;

	assert_true(lines <= LINES_MAX);
	story = told;
	for (unsigned i = 0; i < lines; i++)
		order[i] = i;
	fold_in_order(s, order, lines, NULL);
	/* Marks tell the way an event came, which differs. */
	store_exec(s, "UPDATE events SET marks = 0");
	dump(s, &want);
	for (int round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < lines + DOUBLES; i++)
			order[i] = i < lines ? i : test_random(&seed) % lines;
		shuffle(order, lines + DOUBLES, &seed);
		clear(s);
		fold_in_order(s, order, lines + DOUBLES, &seed);
		store_exec(s, "UPDATE events SET marks = 0");
		buf_clear(&got);
		dump(s, &got);
		check_same(buf_str(&want), buf_str(&got), round);
		assert_str(buf_str(&got), buf_str(&want));
	}
	if (getenv("SHOW"))
		puts(want.p);
	story = day;
	store_close(s);
	buf_release(&want);
	buf_release(&got);
}

static void test_any_order(void **state)
{
	tell_in_any_order(day, countof(day), ROUNDS);
}

static void test_any_order_of_codex(void **state)
{
	tell_in_any_order(codex, countof(codex), ROUNDS);
}

static void test_any_order_of_gemini(void **state)
{
	tell_in_any_order(gemini, countof(gemini), ROUNDS);
}

/* What the rows say, spelled out once. */
static void check_row(struct store *s, const char *sql, const char *want)
{
	struct query *q = store_query(s, sql);

	assert_int_equal(query_step(q), 1);
	assert_str(query_str(q, 0), str_of(want));
	query_reset(q);
}

static void test_rows(void **state)
{
	unsigned order[LINES];
	struct store *s = fresh_store();
	struct buf out = BUF_INIT(KIB(4));

	for (unsigned i = 0; i < LINES; i++)
		order[i] = LINES - 1 - i;
	fold_in_order(s, order, LINES, NULL);
	check_row(s,
		"SELECT group_concat(number || source || ':' || coalesce(closed_by, 'open') || ':' || "
		"coalesce(response, '-'), ' ') FROM "
		"(SELECT * FROM batches WHERE session = (SELECT key FROM sessions WHERE native_id = 's1') "
		"ORDER BY ord)",
		"1plan:stop:done one 2plan:stop:done two 3agent_notification:prompt:- 4plan:end:-");
	check_row(s,
		"SELECT group_concat(coalesce(source, '?') || coalesce(agent_id, ''), ' ') FROM (SELECT * FROM "
		"windows WHERE session = "
		"(SELECT key FROM sessions WHERE native_id = 's1') ORDER BY ord)",
		"startup subagenta1 compact");
	check_row(s,
		"SELECT p.native_id || s.parent_reason FROM sessions s JOIN sessions p ON p.key = s.parent "
		"WHERE s.native_id = 's1b'",
		"s1clear");
	check_row(s,
		"SELECT source || number || prompt FROM batches WHERE session = (SELECT key FROM sessions "
		"WHERE native_id = 's1b')",
		"system0[Session continuation]");
	check_row(s, "SELECT agent || prompts || last_assistant FROM sessions WHERE native_id = 's4'", "cursor1late");
	check_row(s,
		"SELECT count(*) FROM windows WHERE session = (SELECT key FROM sessions WHERE native_id = "
		"'s4')",
		"1");
	check_row(s, "SELECT count(*) FROM sessions WHERE native_id = 's2'", "2");
	check_row(s,
		"SELECT group_concat(version || source || content, '/') FROM plan_versions WHERE plan = "
		"(SELECT key FROM plans WHERE path LIKE '%a.md')",
		"1write# Plan A\n1/2edit# Plan A\n2");
	check_row(s, "SELECT state || error FROM activities WHERE same = 'u4'", "failedexit 3");
	check_row(s, "SELECT file || change FROM activities WHERE same = 'u3'", ".claude/plans/a.mdcreated");
	check_row(s, "SELECT input FROM activities WHERE same = 'u3'",
		"{\"file_path\":\"/p/.claude/plans/a.md\",\"content\":\"<10 chars>\"}");
	check_row(s, "SELECT status FROM sessions WHERE native_id = 's6'", "active");
	check_row(s,
		"SELECT b.source || v.version || v.content FROM sessions s JOIN batches b ON b.session = s.key "
		"JOIN plans p ON p.session = s.key JOIN plan_versions v ON v.plan = p.key WHERE s.native_id = 's11' "
		"ORDER BY v.version DESC LIMIT 1",
		"derived_plan2# Tasks\n- first\n- second\n");
	check_row(s,
		"SELECT group_concat(w.source || a.kind) FROM activities a JOIN windows w ON w.key = a.window "
		"WHERE a.kind = 'Setup'",
		"startupSetup");
	check_row(s, "SELECT model FROM sessions WHERE native_id = 's7'", "m2");
	check_row(s,
		"SELECT group_concat(b.closed_by || a.state || a.error) FROM activities a JOIN batches b ON "
		"b.key = a.batch "
		"WHERE a.kind = 'StopFailure'",
		"failurefailedrate_limit");
	check_row(s,
		"SELECT s.events || b.closed_by || b.response || b.late FROM sessions s JOIN batches b ON "
		"b.session = s.key "
		"WHERE s.native_id = 's10'",
		"3stoptwo0");
	check_row(s, "SELECT group_concat(agent_id || output) FROM activities WHERE kind = 'SubagentStop'", "a1sub");
	check_row(s,
		"SELECT group_concat(a.same || b.closed_by || b.response) FROM activities a JOIN batches b ON "
		"b.key = a.batch "
		"WHERE a.tool IS NOT NULL AND a.session = (SELECT key FROM sessions WHERE native_id = 's8')",
		"u1stopasked,u2stopasked");
	check_row(s,
		"SELECT count(DISTINCT w.key) || group_concat(DISTINCT b.closed_by) FROM windows w LEFT JOIN "
		"batches b ON b.window = w.key "
		"WHERE w.session = (SELECT key FROM sessions WHERE native_id = 's9')",
		"3window");
	assert_int_equal(store_check(s, &out), 0);
	store_close(s);
	buf_release(&out);
}

/* Backwards, so that every turn told aside comes before the hooks that say whose it is. */
static struct store *knows_backwards(const struct line *told, unsigned lines)
{
	struct store *s = fresh_store();
	unsigned order[LINES_MAX];

	story = told;
	for (unsigned i = 0; i < lines; i++)
		order[i] = lines - 1 - i;
	fold_in_order(s, order, lines, NULL);
	story = day;
	return s;
}

static void test_rows_of_denials_and_plans(void **state)
{
	struct store *s = knows_backwards(day, LINES);

	check_row(s,
		"SELECT group_concat(a.state || coalesce(d.ran_at % 1000000, ''), ' ') FROM activities a "
		"JOIN decisions d ON d.session = a.session AND d.call = a.same "
		"WHERE a.session = (SELECT key FROM sessions WHERE native_id = 's19')",
		"denied denied done205000");
	check_row(s,
		"SELECT group_concat(number || source || ':' || coalesce(prompt_id, '-'), ' ') FROM batches "
		"WHERE session = (SELECT key FROM sessions WHERE native_id = 's20')",
		"1plan:g1 2user:g2 3plan:g3");
	check_row(s,
		"SELECT group_concat(p.path || ':' || v.source || ':' || p.title, ' ') FROM plans p "
		"JOIN plan_versions v ON v.plan = p.key "
		"WHERE session = (SELECT key FROM sessions WHERE native_id = 's20')",
		"answer:1:answer:Sure.");
	store_close(s);
}

static void test_rows_of_codex(void **state)
{
	struct store *s = knows_backwards(codex, countof(codex));

	check_row(s,
		"SELECT group_concat(native_id || status || coalesce(transcript, ''), ' ') FROM "
		"(SELECT * FROM sessions "
		"ORDER BY native_id)",
		"r1completed/t/r1 r2active");
	check_row(s,
		"SELECT group_concat(number || source || ':' || coalesce(prompt_id, '') || ':' || "
		"prompt || ':' || closed_by || "
		"':' || coalesce(response, '-') || ':' || activities || late, '; ') FROM (SELECT "
		"b.* FROM batches b JOIN "
		"sessions s ON s.key = b.session WHERE native_id = 'r1' ORDER BY ord)",
		"1user:t1:Say hello:stop:Continued.:20; 2user:t2:Let others do it:stop:All "
		"done.:31; "
		"3user:t3:wait:interrupt:-:10; 4user:t4:What day is it:stop:Sunday:10; "
		"5user:t5:Told aside:stop:Yes:00; "
		"6user:t6:bye:stop:Bye.:00");
	check_row(s,
		"SELECT group_concat(prompt || closed_by || coalesce(response, '-')) FROM (SELECT "
		"b.* FROM batches b "
		"JOIN sessions s ON s.key = b.session WHERE native_id = 'r2' ORDER BY ord)",
		"firststopone,secondstop-");
	check_row(s, "SELECT last_user || title || last_assistant || prompts FROM sessions WHERE native_id = 'r1'",
		"byeSay helloBye.6");
	/* One row per call, in the window of who made it. */
	check_row(s,
		"SELECT group_concat(same || state || coalesce(w.agent_id, ''), ' ') FROM (SELECT "
		"* FROM activities WHERE kind "
		"= 'tool' ORDER BY same) a JOIN windows w ON w.key = a.window",
		"c1done c2done c3done c4donea1 c5starteda2 c6started c7done");
	check_row(s, "SELECT file || change || coalesce(output, '') FROM activities WHERE same = 'c2'",
		"a.txtcreatedSuccess");
	check_row(s,
		"SELECT group_concat(agent_id || coalesce(message, '-'), ' ') FROM (SELECT * FROM windows WHERE "
		"agent_id IS NOT NULL ORDER BY agent_id)",
		"a1sub result a2two a3three a4-");
	check_row(s,
		"SELECT group_concat(what, ' ') FROM (SELECT a.kind || coalesce(b.prompt_id, '-') AS what "
		"FROM activities a "
		"JOIN batches b ON b.key = a.batch WHERE a.kind IN ('Interrupt', 'PermissionRequest') ORDER BY a.ord)",
		"PermissionRequestt1 Interruptt3");
	/* What is told twice points to what it doubles: the stop, the subagent's stop, the first telling. */
	check_row(s,
		"SELECT group_concat(o.kind || coalesce(e.agent_id, ''), ' ') FROM (SELECT * FROM events WHERE kind = "
		"'TurnComplete' AND same_as IS NOT NULL ORDER BY ord) e JOIN events o ON o.seq = e.same_as",
		"Stop SubagentStopa1 TurnComplete Stop");
	store_close(s);
}

static void test_rows_of_gemini(void **state)
{
	struct store *s = knows_backwards(gemini, countof(gemini));

	check_row(s,
		"SELECT group_concat(json_extract(input, '$.command') || ':' || state || ':' || "
		"coalesce(error, '') || ':' || "
		"coalesce(output, '') || ':' || number, '; ') FROM (SELECT a.*, b.number FROM "
		"activities a JOIN batches b ON "
		"b.key = a.batch WHERE tool = 'run_shell_command' ORDER BY a.ord, same)",
		"make:failed:Exit Code: 3:no:1; make:done::made:1; make check:done::ok:1; rm "
		"x:denied:::1; rm x:done::gone:3; "
		"make:done::made:3");
	check_row(s,
		"SELECT group_concat((coalesce(started_at, 0) % 1000000000) || '-' || (ended_at % "
		"1000000000) || output, ' ') "
		"FROM (SELECT * FROM activities WHERE tool = 'glob' ORDER BY ord)",
		"30011000-30010000a.c 0-30012000a.h 45000000-45001000b.h");
	check_row(s,
		"SELECT count(DISTINCT substr(same, 1, 17)) || group_concat(DISTINCT length(same)) "
		"FROM activities WHERE "
		"same LIKE '~%'",
		"624");
	check_row(s, "SELECT group_concat(kind || output) FROM activities WHERE kind <> 'tool'", "PreCompactmanual");
	check_row(s, "SELECT group_concat(source || response, ' ') FROM (SELECT * FROM batches ORDER BY ord)",
		"userDone. systemTested. userDone again.");
	check_row(s, "SELECT count(*) || count(same_as) FROM events WHERE kind = 'SessionEnd'", "32");
	check_row(s, "SELECT status || tools || prompts FROM sessions", "completed103");
	store_close(s);
}

/* A subagent's thread that was resumed by hand is a session as well, and stays one. */
static void test_thread_that_is_a_session(void **state)
{
	static const struct line lines[] = {
		{ 0, "codex", "a1", EVENT_SESSION_START, NULL, NULL, "/c", "\"source\":\"resume\"" },
		{ 1, "codex", "a1", EVENT_USER_PROMPT_SUBMIT, NULL, NULL, "/c", TURN("t9") ",\"prompt\":\"more\"" },
		{ 2, "codex", "a1", EVENT_STOP, NULL, NULL, "/c", TURN("t9") ",\"last_assistant_message\":\"done\"" },
		{ 3, "codex", "a1", EVENT_TURN_COMPLETE, NULL, NULL, "/c", TOLD("t9", "more", "\"done\"") },
		{ 4, "codex", "r1", EVENT_SUBAGENT_STOP, NULL, NULL, "/c", SUB("u1", "a1") },
	};
	struct store *s = knows_backwards(lines, countof(lines));

	check_row(s,
		"SELECT group_concat(native_id || events || coalesce(last_assistant, ''), ' ') "
		"FROM (SELECT * FROM "
		"sessions ORDER BY native_id)",
		"a13done r12");
	store_close(s);
	tell_in_any_order(lines, countof(lines), 50);
}

/* What time does, and that a later event undoes it. */
static void test_time(void **state)
{
	struct store *s = fresh_store();
	struct capture *c = capture_new();
	struct arena a = { 0 };
	struct record r = record_of(&a, 1), late;

	assert_int_equal(capture_fold(c, s, &r), 1);
	assert_int_equal(capture_complete_stale(s, r.at_us + 299 * INT64_C(1000000)), 0);
	assert_true(capture_complete_stale(s, r.at_us + 301 * INT64_C(1000000)) > 0);
	check_row(s, "SELECT closed_by FROM batches", "janitor");
	check_row(s, "SELECT status FROM sessions", "active");
	assert_true(capture_complete_stale(s, r.at_us + 3601 * INT64_C(1000000)) > 0);
	check_row(s, "SELECT status || closed_by FROM sessions", "completedjanitor");
	late = record_of(&a, 3);
	assert_int_equal(capture_fold(c, s, &late), 1);
	check_row(s, "SELECT status FROM sessions", "active");
	check_row(s, "SELECT status || activities FROM batches", "active1");
	store_close(s);
	capture_free(c);
	arena_release(&a);
}

/* Every key of every projection, mixed into one number. */
#define KEYS                                                                                \
	"SELECT (SELECT sum(key * 3) FROM windows) + (SELECT sum(key * 5) FROM batches) + " \
	"(SELECT sum(key * 7) FROM activities) + (SELECT coalesce(sum(key * 11), 0) FROM plans)"

static int64_t one_number(struct store *s, const char *sql)
{
	int64_t n = 0;

	assert_int_equal(store_number(s, &n, sql, ""), 1);
	return n;
}

/* Everything folded again gives the same rows under the same keys. */
static void test_rebuild(void **state)
{
	int64_t keys;
	struct buf want = BUF_INIT(KIB(256)), got = BUF_INIT(KIB(256));
	struct store *s = fresh_store();
	struct capture *c = capture_new();
	unsigned order[LINES];
	int r;

	for (unsigned i = 0; i < LINES; i++)
		order[i] = i;
	fold_in_order(s, order, LINES, NULL);
	assert_true(capture_complete_stale(s, clock_wall_us()) >= 0); /* as a rebuild does at its end */
	dump(s, &want);
	keys = one_number(s, KEYS);
	assert_int_equal(store_exec(s,
				 "DELETE FROM facts; DELETE FROM activities WHERE key % 2; UPDATE batches SET "
				 "prompt = 'x'"),
		0);
	while ((r = capture_rebuild_some(c, s)) == 1)
		;
	assert_int_equal(r, 0);
	dump(s, &got);
	check_same(buf_str(&want), buf_str(&got), 0);
	assert_int_equal(one_number(s, KEYS), keys);
	assert_int_equal(capture_rebuild_some(c, s), 0);
	store_close(s);
	capture_free(c);
	buf_release(&want);
	buf_release(&got);
}

/* A clock at 1970, or before, ends nothing. */
static void test_odd_clocks(void **state)
{
	struct store *s = fresh_store();
	struct capture *c = capture_new();
	struct record r = record_sample(1, STR("{}"));

	r.at_us = r.order_us = 0;
	assert_int_equal(capture_fold(c, s, &r), 1);
	check_row(s, "SELECT status FROM sessions", "active");
	r = record_sample(2, STR("{}"));
	r.at_us = r.order_us = -5000000;
	r.kind = EVENT_SESSION_END;
	r.session = STR("before");
	assert_int_equal(capture_fold(c, s, &r), 1);
	assert_int_equal(capture_finish(c, s), 0);
	check_row(s, "SELECT status || ended_at FROM sessions WHERE native_id = 'before'", "completed-5000000");
	store_close(s);
	capture_free(c);
}

/* One half of a call, as it came to the journal and as its sender's clock said. */
static struct record half_of_call(unsigned n, bool begins, int64_t order_us, int64_t at_us)
{
	struct record r = record_sample(n,
		STR("{\"session_id\":\"s-1\",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_1\","
		    "\"tool_input\":{\"command\":\"make\"}}"));

	r.kind = begins ? EVENT_PRE_TOOL_USE : EVENT_POST_TOOL_USE;
	r.native = str_of(event_kinds[r.kind].name);
	r.order_us = order_us;
	r.at_us = at_us;
	return r;
}

/* Rows have differences of times; what is read is what was told, whichever half came first. */
static void test_times_of_a_call(void **state)
{
	static const struct {
		int64_t order[2], at[2]; /* of its beginning, of its end */
		const char *want;
	} calls[] = {
		{ { 5000000, 9000000 }, { 4999700, 8999800 }, "4999700 8999800 5000000 4000" },
		{ { 5000000, 5000100 }, { 5000000, 5000000 }, "5000000 5000000 5000000 0" },
		{ { 5000000, 9000000 }, { 7000000, 6000000 }, "7000000 6000000 5000000 0" },
		{ { 0, 1 }, { -3000000, -1000000 }, "-3000000 -1000000 0 2000" },
	};

	for (size_t i = 0; i < 2 * countof(calls); i++) {
		size_t of = i / 2, first = i % 2;
		struct store *s = fresh_store();
		struct capture *c = capture_new();

		clear(s);
		for (size_t half = 0; half < 2; half++) {
			size_t which = half ^ first;
			struct record r = half_of_call((unsigned)which + 1, which == 0, calls[of].order[which],
				calls[of].at[which]);

			assert_int_equal(capture_fold(c, s, &r), 1);
			assert_int_equal(capture_finish(c, s), 0);
		}
		check_row(s, "SELECT started_at || ' ' || ended_at || ' ' || ord || ' ' || duration_ms FROM activities",
			calls[of].want);
		store_close(s);
		capture_free(c);
	}
}

/* Times that no difference can be made of are no reason to do without the call. */
static void test_absurd_times_of_a_call(void **state)
{
	static const int64_t ats[] = { INT64_MIN, INT64_MIN + 1, -1, INT64_MAX };

	for (size_t i = 0; i < countof(ats) * countof(ats) * 2; i++) {
		struct store *s = fresh_store();
		struct capture *c = capture_new();

		clear(s);
		for (size_t half = 0; half < 2; half++) {
			bool begins = half == i % 2;
			struct record r = half_of_call((unsigned)half + 1, begins, 5000000 + (int64_t)half,
				ats[begins ? i / 2 % countof(ats) : i / 2 / countof(ats)]);

			assert_int_equal(capture_fold_carefully(c, s, &r), 1);
		}
		assert_int_equal(capture_finish(c, s), 0);
		check_row(s, "SELECT count(*) || typeof(lag) || typeof(took) || state FROM activities",
			"1integerintegerdone");
		store_close(s);
		capture_free(c);
	}
}

/* Bytes that are not for SQL, and fields that are missing. */
static void test_odd_records(void **state)
{
	struct store *s = fresh_store();
	struct capture *c = capture_new();
	struct record r = { .agent = STR("a'; DROP TABLE events; --"), .session = STR("x\0y"), .tool_use_id = STR("") };

	assert_int_equal(capture_fold(c, s, &r), 1);
	assert_int_equal(capture_fold(c, s, &r), 0);
	check_row(s, "SELECT payload_text(payload) || native FROM events", "{}");
	check_row(s, "SELECT length(cast(native_id AS BLOB)) FROM sessions", "3");
	r = record_sample(3, STR("{}"));
	r.marks = EVENT_SPOOLED;
	r.order_us = 1;
	assert_int_equal(capture_fold(c, s, &r), 1);
	assert_int_equal(capture_finish(c, s), 0);
	check_row(s, "SELECT ord = at FROM events WHERE marks <> 0", "1");
	store_close(s);
	capture_free(c);
}

/* A decision about nothing: its row must name an event. */
static struct record poisoned(unsigned n)
{
	struct record r = record_sample(n, STR("{\"rulings\":[{\"rule\":\"x\",\"decision\":\"deny\"}]}"));

	r.kind = EVENT_DECISION;
	r.native = STR("Decision");
	return r;
}

static void test_what_cannot_be_folded_is_kept_as_an_event(void **state)
{
	struct store *s = fresh_store();
	struct capture *c = capture_new();
	struct record bad = poisoned(1), good = record_sample(2, STR("{}"));

	assert_int_equal(store_exec(s, "BEGIN"), 0);
	assert_true(capture_fold(c, s, &bad) < 0);
	assert_non_null(strstr(store_failure(s, -EEXIST), "NOT NULL constraint failed: decisions.event"));
	assert_int_equal(store_exec(s, "ROLLBACK"), 0);
	capture_forget(c);
	assert_int_equal(store_exec(s, "BEGIN"), 0);
	assert_int_equal(capture_fold_carefully(c, s, &bad), CAPTURE_KEPT);
	assert_int_equal(capture_fold_carefully(c, s, &good), 1);
	assert_int_equal(capture_fold_carefully(c, s, &bad), 0);
	assert_int_equal(store_exec(s, "COMMIT"), 0);
	check_row(s, "SELECT group_concat(marks) FROM events", "128,0");
	check_row(s, "SELECT count(*) FROM decisions", "0");
	check_row(s, "SELECT count(*) FROM quarantine", "0");
	store_close(s);
	capture_free(c);
}

static void test_what_is_not_even_an_event_is_kept_as_bytes_until_it_is(void **state)
{
	struct store *s = fresh_store();
	struct capture *c = capture_new();
	struct record bad = record_sample(1, STR("{}")), good = record_sample(2, STR("{}"));
	int r;

	/* Stands for anything that keeps one row out. */
	assert_int_equal(store_exec(s,
				 "CREATE TEMP TRIGGER no BEFORE INSERT ON main.events "
				 "WHEN new.tool_use_id = 'no' "
				 "BEGIN SELECT raise(ABORT, 'not this one'); END"),
		0);
	bad.tool_use_id = STR("no");
	assert_int_equal(capture_fold_carefully(c, s, &bad), CAPTURE_KEPT);
	assert_int_equal(capture_fold_carefully(c, s, &good), 1);
	check_row(s, "SELECT count(*) FROM events", "1");
	check_row(s, "SELECT count(*) || (why LIKE 'not this one%') || (length(record) > 40) FROM quarantine", "111");
	/* A later release tries again, in vain or not. */
	for (int life = 0; life < 2; life++) {
		if (life == 1)
			assert_int_equal(store_exec(s, "DROP TRIGGER no"), 0);
		assert_int_equal(capture_rebuild(c, s), 0);
		while ((r = capture_rebuild_some(c, s)) == 1)
			;
		assert_int_equal(r, 0);
		check_row(s, "SELECT count(*) FROM quarantine", life == 0 ? "1" : "0");
	}
	check_row(s, "SELECT count(*) FROM events", "2");
	store_close(s);
	capture_free(c);
}

static void test_a_rebuild_goes_around_what_it_cannot_fold(void **state)
{
	struct store *s = fresh_store();
	struct capture *c = capture_new();
	struct record bad = poisoned(1), good = record_sample(2, STR("{}"));
	int r;

	assert_int_equal(capture_fold_carefully(c, s, &bad), CAPTURE_KEPT);
	assert_int_equal(capture_fold_carefully(c, s, &good), 1);
	assert_int_equal(store_exec(s, "UPDATE events SET marks = 0; DELETE FROM facts"), 0);
	while ((r = capture_rebuild_some(c, s)) == 1)
		;
	assert_int_equal(r, 0);
	check_row(s, "SELECT group_concat(marks) FROM (SELECT marks FROM events ORDER BY seq)", "128,0");
	store_close(s);
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_any_order_of_codex),
		cmocka_unit_test(test_any_order_of_gemini),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_rows_of_denials_and_plans),
		cmocka_unit_test(test_rows_of_codex),
		cmocka_unit_test(test_rows_of_gemini),
		cmocka_unit_test(test_thread_that_is_a_session),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_rebuild),
		cmocka_unit_test(test_odd_clocks),
		cmocka_unit_test(test_times_of_a_call),
		cmocka_unit_test(test_absurd_times_of_a_call),
		cmocka_unit_test(test_odd_records),
		cmocka_unit_test(test_what_cannot_be_folded_is_kept_as_an_event),
		cmocka_unit_test(test_what_is_not_even_an_event_is_kept_as_bytes_until_it_is),
		cmocka_unit_test(test_a_rebuild_goes_around_what_it_cannot_fold),
	};

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
