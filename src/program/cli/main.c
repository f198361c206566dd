/* hookd: the map of the program.
 *
 *   hookd run        daemon/   the daemon: loop, journal, store, server, engine
 *   hookd offline    cli/      what hookc hands over to when there is no daemon
 *   hookd init …     install/  agents' hook files
 *   everything else  cli/      asks the daemon through its socket (api/)
 *
 * The path of an event: client/ (hookc) → server/ → engine/pipeline.c → journal/ → store/ + capture/. */
#include "cli/cli.h"

int cli_main(int argc, char **argv);

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
