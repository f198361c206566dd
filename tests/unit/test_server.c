/* Connections: who owns them while a request is under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/server.h"

struct fixture {
	struct loop *loop;
	struct server *server;
	struct loop_timer *timer;
	struct conn *held; /* by the handler */
	char dir[64], path[96];
	int client;
	int rounds;
};

static void on_hook(struct conn *c, str body, void *arg)
{
	(void)body;
	((struct fixture *)arg)->held = c;
}

static void on_line(struct conn *c, str line, void *arg)
{
	(void)line;
	((struct fixture *)arg)->held = c;
}

static char wait_frame[1024];
static const struct iovec piece = { wait_frame, sizeof wait_frame };

/* Three moments of a loop that runs: the request is there; its client has gone; that was noticed. */
static void tick(void *arg)
{
	struct fixture *f = arg;

	f->rounds++;
	if (f->rounds == 5) {
		assert_non_null(f->held);
		for (int i = 0; i < 2000; i++) /* more than any socket's buffer holds */
			conn_send(f->held, &piece, 1);
		assert_false(conn_is_gone(f->held));
		close(f->client);
		f->client = -1;
	}
	if (f->rounds == 10)
		loop_stop(f->loop);
	loop_timer_set(f->timer, USEC_PER_MSEC);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct server_handlers handlers = { .hook = on_hook, .line = on_line, .arg = f };
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(f->dir, sizeof f->dir, "/tmp/hk-server-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof f->path, "%s/s", f->dir);
	f->loop = loop_new(0);
	f->server = server_new(f->loop, &handlers);
	f->timer = loop_timer_new(f->loop, tick, f);
	assert_int_equal(server_listen(f->server, f->path), 0);
	memcpy(a.sun_path, f->path, strlen(f->path) + 1);
	f->client = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(f->client, (struct sockaddr *)&a, sizeof a), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->client >= 0)
		close(f->client);
	loop_timer_free(f->timer);
	server_free(f->server);
	loop_free(f->loop);
	rmdir(f->dir);
	free(f);
	return 0;
}

/* A client that neither reads its WAIT frames nor stays: the connection is the turn's until it answers. */
static void test_a_held_connection_outlives_its_client(void **state)
{
	struct fixture *f = *state;
	struct server_state s;

	assert_int_equal(write(f->client, "x\n", 2), 2);
	loop_timer_set(f->timer, 0);
	loop_run(f->loop);
	server_get_state(f->server, &s);
	assert_int_equal(s.connections, 1);
	assert_true(conn_is_gone(f->held));
	conn_answer(f->held, &piece, 1);
	server_get_state(f->server, &s);
	assert_int_equal(s.connections, 0);
	assert_int_equal(s.busy, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_held_connection_outlives_its_client, setup, teardown),
	};

	return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
