/* The scanner that finds where a payload ends, stdin reading, and the environment allow-list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "client/client.h"

/* Shaped like what agents send before a tool: nested objects, escapes, brackets in strings. */
static const char payload[] = "{\"session_id\":\"0b9c\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
			      "\"tool_input\":{\"command\":\"echo \\\"}]\\\" \\\\\",\"list\":[1,[2,{}],\"]}\"],"
			      "\"text\":\"gr\xC3\xBC\xC3\x9F \\u007d \\n\"},\"empty\":{},\"none\":null}";

enum { SIZE = sizeof payload - 1 };

/* Bytes taken when everything comes at once, or -1 when the value is still open. */
static ptrdiff_t end_of(const char *p, size_t n)
{
	struct scanner s = { 0 };
	size_t taken = scanner_feed(&s, p, n);

	if (!scanner_done(&s)) {
		assert_int_equal(taken, n);
		return -1;
	}
	return (ptrdiff_t)taken;
}

#define END(text) end_of(text, sizeof(text) - 1)

static void test_whole(void **state)
{
	assert_int_equal(end_of(payload, SIZE), SIZE);
}

static void test_every_truncation_is_open(void **state)
{
	for (size_t n = 0; n < SIZE; n++)
		assert_int_equal(end_of(payload, n), -1);
}

static void test_every_split(void **state)
{
	for (size_t first = 0; first <= SIZE; first++) {
		struct scanner s = { 0 };
		size_t n = scanner_feed(&s, payload, first);

		n += scanner_feed(&s, payload + first, SIZE - first);
		assert_true(scanner_done(&s));
		assert_int_equal(n, SIZE);
	}
}

static void test_byte_by_byte(void **state)
{
	struct scanner s = { 0 };

	for (size_t i = 0; i < SIZE; i++) {
		assert_false(scanner_done(&s));
		assert_int_equal(scanner_feed(&s, payload + i, 1), 1);
	}
	assert_true(scanner_done(&s));
	assert_int_equal(scanner_feed(&s, "{}", 2), 0);
}

static void test_what_follows_is_left(void **state)
{
	assert_int_equal(END("{}\n"), 2);
	assert_int_equal(END("{}{}"), 2);
	assert_int_equal(END("[1]garbage"), 3);
	assert_int_equal(END("{\"a\":1}\n{\"b\":2}\n"), 7);
}

static void test_unmatched(void **state)
{
	assert_int_equal(END("{]"), 2);
	assert_int_equal(END("[}"), 2);
	assert_int_equal(END("[[}"), -1);
	assert_int_equal(END("]"), -1);
	assert_int_equal(END("}{}"), -1);
}

static void test_strings(void **state)
{
	assert_int_equal(END("{\"}\"}"), 5);
	assert_int_equal(END("{\"\\\"}\"}"), 7);
	assert_int_equal(END("{\"\\\\\"}"), 6);
	assert_int_equal(END("{\"\\"), -1);
	assert_int_equal(END("{\"a}"), -1);
	assert_int_equal(END("[\"\\\\\\\"]\"]"), 9);
}

static void test_start(void **state)
{
	assert_int_equal(END(""), -1);
	assert_int_equal(END(" \t\r\n"), -1);
	assert_int_equal(END(" \t\r\n{}"), 6);
	assert_int_equal(END("\xEF\xBB\xBF{}"), 5);
	assert_int_equal(END("\xEF\xBB\xBF \n[]"), 7);
	assert_int_equal(END("\xEF\xBB{}"), -1);
	assert_int_equal(END("\xEF{}"), -1);
	assert_int_equal(END(" \xEF\xBB\xBF{}"), -1);
	assert_int_equal(END("\xEF\xBB\xBF\xEF\xBB\xBF{}"), -1);
	assert_int_equal(END("true{}"), -1);
	assert_int_equal(END("\"{}\""), -1);
	assert_int_equal(END("12"), -1);
}

static void test_nul_and_wide(void **state)
{
	assert_int_equal(END("\0{}"), -1);
	assert_int_equal(END("{\0}"), 3);
	assert_int_equal(END("{\"\0}\"}"), 6);
	/* UTF-16 of either kind has no end that bytes could show, except by luck: "{" first. */
	assert_int_equal(END("\xFF\xFE{\0}\0"), -1);
	assert_int_equal(END("\xFE\xFF\0{\0}"), -1);
	assert_int_equal(END("{\0}\0"), 3);
}

static void test_deep(void **state)
{
	static char deep[2 << 20];

	memset(deep, '[', sizeof deep / 2);
	memset(deep + sizeof deep / 2, ']', sizeof deep / 2);
	assert_int_equal(end_of(deep, sizeof deep), sizeof deep);
	assert_int_equal(end_of(deep, sizeof deep - 1), -1);
}

/* -- input_read -------------------------------------------------------------------------------- */

/* What input_read makes of these bytes in a pipe that stays open (or is closed) behind them. */
static struct input read_from_pipe(str bytes, bool close_it, char *room, size_t room_size)
{
	struct input in;
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], bytes.p, bytes.n), bytes.n);
	if (close_it)
		close(p[1]);
	input_read(p[0], room, room_size, &in);
	close(p[0]);
	if (!close_it)
		close(p[1]);
	return in;
}

static void test_input_stops_at_the_value(void **state)
{
	char room[1024];
	struct input in = read_from_pipe(str_n(payload, SIZE), false, room, sizeof room);

	assert_true(str_eq(in.kept, str_n(payload, SIZE)));
	assert_false(in.cut);
	assert_int_equal(in.total, SIZE);
	in = read_from_pipe(STR("{\"a\":1}\n{\"b\":2}\n"), false, room, sizeof room);
	assert_true(str_eq(in.kept, STR("{\"a\":1}")));
}

static void test_input_keeps_what_is_no_json(void **state)
{
	char room[64];
	struct input in = read_from_pipe(STR("just } text"), true, room, sizeof room);

	assert_true(str_eq(in.kept, STR("just } text")));
	in = read_from_pipe(STR(""), true, room, sizeof room);
	assert_int_equal(in.kept.n, 0);
	in = read_from_pipe(STR("{\"open\":"), true, room, sizeof room);
	assert_true(str_eq(in.kept, STR("{\"open\":")));
}

static void test_input_cuts(void **state)
{
	uint8_t digest[SHA256_BYTES];
	struct sha256 hash;
	char room[SIZE];

	for (size_t size = 1; size <= SIZE; size++) {
		struct input in = read_from_pipe(str_n(payload, SIZE), false, room, size);

		assert_true(str_eq(in.kept, str_n(payload, size)));
		assert_int_equal(in.total, SIZE);
		assert_int_equal(in.cut, size < SIZE);
		if (!in.cut)
			continue;
		sha256_init(&hash);
		sha256_add(&hash, payload, SIZE);
		sha256_end(&hash, digest);
		assert_memory_equal(in.sha256, digest, sizeof digest);
	}
}

static void test_input_fits_exactly(void **state)
{
	char room[4];
	struct input in = read_from_pipe(STR("text"), true, room, sizeof room);

	assert_false(in.cut);
	assert_true(str_eq(in.kept, STR("text")));
}

static void test_input_cut_leaves_what_follows(void **state)
{
	char room[2];
	struct input in = read_from_pipe(STR("[1,2]trailing"), false, room, sizeof room);

	assert_true(in.cut);
	assert_int_equal(in.total, 5);
}

static void test_input_strange_descriptors(void **state)
{
	static char room[256 << 10];
	struct input in;
	int fd, pair[2];

	input_read(1000, room, sizeof room, &in); /* not open */
	assert_int_equal(in.kept.n, 0);
	fd = open("/", O_RDONLY | O_DIRECTORY);
	input_read(fd, room, sizeof room, &in);
	assert_int_equal(in.kept.n, 0);
	close(fd);
	fd = open("/dev/zero", O_RDONLY);
	input_read(fd, room, sizeof room, &in);
	assert_int_equal(in.kept.n, sizeof room);
	assert_true(in.cut);
	close(fd);
	/* Non-blocking, and nothing there yet. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(write(pair[1], "[", 1), 1);
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	input_read(pair[0], room, sizeof room, &in);
	assert_int_equal(in.kept.n, 1);
	close(pair[0]);
	close(pair[1]);
}

/* -- environment ------------------------------------------------------------------------------- */

static void test_env_allowed(void **state)
{
	static const char *const yes[] = { "CLAUDECODE", "CLAUDE_PROJECT_DIR", "TERM", "AGENT_NAME", "AGENT_",
		"CLAUDE_CODE_REMOTE", "CLAUDE_CODE_REMOTE_SESSION_ID", "TMUX_PANE", "CI" };
	static const char *const no[] = { "", "PATH", "HOME", "ANTHROPIC_API_KEY", "AGENT_TOKEN", "AGENT_API_KEY",
		"AGENT_secret_x", "AGENT_PASSWORD", "AGENT_DB_PASSWORD_FILE", "CLAUDE_CODE_MESSAGING_TOKEN",
		"CLAUDE_CODE_MESSAGING_SOCKET", "CURSOR_USER_EMAIL", "CLAUDE_CODE_REMOTE_TOKEN", "GEMINI_API_KEY",
		"CLAUDECODE2", "claudecode", "TERMX", "CODEX_API_KEY", "CIX", "C" };

	for (size_t i = 0; i < countof(yes); i++)
		if (!wire_env_is_allowed(str_of(yes[i])))
			fail_msg("%s should pass", yes[i]);
	for (size_t i = 0; i < countof(no); i++)
		if (wire_env_is_allowed(str_of(no[i])))
			fail_msg("%s should not pass", no[i]);
}

static void test_env_collect(void **state)
{
	static char big[6000] = "AGENT_BIG=";
	char *const env[] = { (char[]){ "TERM=xterm" }, (char[]){ "SECRET=x" }, (char[]){ "noequals" },
		(char[]){ "=odd" }, (char[]){ "HOME=/home/me" }, (char[]){ "HOOKD_DIR=relative" },
		(char[]){ "XDG_RUNTIME_DIR=" }, (char[]){ "XDG_STATE_HOME=/s" }, big, NULL };
	static struct wire_hook h;
	struct env_places places;

	memset(big + 10, 'x', sizeof big - 11);
	env_collect(env, &places, &h);
	assert_string_equal(places.home, "/home/me");
	assert_string_equal(places.state_home, "/s");
	assert_null(places.hookd_dir);
	assert_null(places.runtime_dir);
	assert_int_equal(h.nenv, 2);
	assert_true(str_eq(h.env[0], STR("TERM=xterm")));
	assert_int_equal(h.env[1].n, 10 + WIRE_ENV_VALUE_MAX);
}

static void test_env_is_bounded(void **state)
{
	static char rows[200][5000];
	static char *env[201];
	static struct wire_hook h;
	static char head[LIMIT_FRAME_HEAD];
	struct env_places places;

	for (size_t i = 0; i < countof(rows); i++) {
		memset(rows[i], 'x', sizeof rows[i] - 1);
		memcpy(rows[i], "AGENT_X=", 8);
		env[i] = rows[i];
	}
	env_collect(env, &places, &h);
	h.agent = STR("claude");
	assert_in_range(h.nenv, 1, WIRE_ENV_MAX);
	assert_true(wire_hook_encode(&h, head, sizeof head) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_every_truncation_is_open),
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_what_follows_is_left),
		cmocka_unit_test(test_unmatched),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_nul_and_wide),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_input_stops_at_the_value),
		cmocka_unit_test(test_input_keeps_what_is_no_json),
		cmocka_unit_test(test_input_cuts),
		cmocka_unit_test(test_input_fits_exactly),
		cmocka_unit_test(test_input_cut_leaves_what_follows),
		cmocka_unit_test(test_input_strange_descriptors),
		cmocka_unit_test(test_env_allowed),
		cmocka_unit_test(test_env_collect),
		cmocka_unit_test(test_env_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
