/* pack_disk: disks, partitions and file systems. */
#include "guard/internal.h"

static void do_dd(struct run *x, struct cmd *c)
{
	bool endless = false, bounded = false;

	for (size_t i = 1; i < c->n; i++) {
		endless |= str_in(c->v[i], "if=/dev/zero if=/dev/urandom if=/dev/random");
		bounded |= str_starts(c->v[i], STR("count=")) || str_in(c->v[i], "of=/dev/null");
	}
	if (endless && !bounded)
		FAULT(x, c, RULE_DISKFILL, VERDICT_ASK, "this writes until the disk is full");
	for (size_t i = 1; i < c->n; i++) {
		if (str_starts(c->v[i], STR("of=")))
			judge_write(x, c, str_from(c->v[i], 3), STR("\1"), false);
		else if (str_starts(c->v[i], STR("if=")) && !str_starts(c->v[i], STR("if=/dev/")))
			judge_read(x, c, str_from(c->v[i], 3));
	}
}

static void do_mkfs(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "tLUbiNOEmTn", .longs = "type label" };
	bool dry = cmd_has(c, "-n") && !str_in(c->name, "mkfs.vfat mkfs.fat mkfs.exfat");
	struct arg a;

	while (args_next(&it, &a)) {
		enum place p;

		if (!a.operand)
			continue;
		p = place_of(x, path_resolve(x, a.value));
		if (p == PLACE_DEVICE || p == PLACE_UNKNOWN || p == PLACE_NULL)
			FAULT(x, c, RULE_MKFS, dry ? VERDICT_ASK : VERDICT_DENY,
				"this makes a new file system and loses what is on " STR_FMT, STR_ARG(a.value));
	}
}

/* Tools that change a disk when asked to; reading is fine. */
static void do_partition(struct run *x, struct cmd *c)
{
	bool looks = cmd_has(c, "-l") || cmd_has(c, "--list") || cmd_has(c, "-p") || cmd_has(c, "--print") ||
		cmd_has(c, "-d") || cmd_has(c, "--dump");
	bool on_disk = false;

	for (size_t i = 1; i < c->n; i++) {
		looks |= str_in(c->v[i], "print -v --version --help");
		on_disk |= place_of(x, path_resolve(x, c->v[i])) == PLACE_DEVICE;
	}
	if (str_in(c->name, "sgdisk sfdisk") &&
		(cmd_has(c, "-Z") || cmd_has(c, "--zap-all") || cmd_has(c, "--delete") || cmd_has(c, "-o") ||
			cmd_has(c, "--clear")))
		looks = false;
	if (!looks && on_disk)
		FAULT(x, c, RULE_PARTITION, VERDICT_DENY, "this changes the partitions of a disk");
}

const struct handler pack_disk[] = {
	{ "dd", do_dd },
	{ "mkfs", do_mkfs },
	{ "partition", do_partition },
	{ 0 },
};
