/* pack_system: processes, services, accounts, firewalls, schedules, packages the system needs. */
#include "guard/internal.h"

#define DENY VERDICT_DENY
#define ASK VERDICT_ASK

static void do_kill(struct run *x, struct cmd *c)
{
	bool signal_done = false;

	if (c->n > 1 && str_in(c->v[1], "-l -L --list --table"))
		return;
	for (size_t i = 1; i < c->n; i++) {
		str w = c->v[i];

		if (!signal_done && w.n > 1 && w.p[0] == '-' && !str_eq(w, STR("--"))) {
			signal_done = true;
			if (str_in(w, "-s -n --signal"))
				i++;
			if (str_eq(w, STR("-1")) && c->n == 2)
				FAULT(x, c, RULE_KILL, DENY, "this ends every process of the user");
			continue;
		}
		signal_done = true;
		if (str_eq(w, STR("-1")))
			FAULT(x, c, RULE_KILL, DENY, "this ends every process of the user");
		else if (str_in(w, "1 -0 0") && !cmd_has(c, "-0"))
			FAULT(x, c, RULE_KILL, str_eq(w, STR("1")) ? DENY : ASK,
				"this ends the first process or the whole group");
	}
}

static void do_pkill(struct run *x, struct cmd *c)
{
	struct args it = { .c = c,
		.shorts = "uUgGPtsFOr",
		.longs = "signal euid uid group parent session terminal older" };
	bool user = false, named = false;
	struct arg a;

	while (args_next(&it, &a)) {
		user |= arg_is(&a, 'u', "euid uid user") || a.letter == 'U' || a.letter == 'G';
		if (!a.operand)
			continue;
		named = true;
		if (str_in(a.value, ". .* * ^ \2 [a-z] .+") || glob_any(a.value, "?"))
			FAULT(x, c, RULE_KILL, DENY, "this ends every process of the user");
		else if (str_in(a.value,
				 "systemd init dbus-daemon Xorg gnome-shell sshd login "
				 "launchd loginwindow WindowServer kwin"))
			FAULT(x, c, RULE_KILL, DENY, "this ends the session");
	}
	if (user && !named)
		FAULT(x, c, RULE_KILL, DENY, "this ends every process of a user");
}

/* The jobs of a crontab are commands. */
static void run_crontab(struct run *x, str text)
{
	str line;

	while (str_split(&text, '\n', &line)) {
		line = str_trim(line);
		if (!line.n || line.p[0] == '#')
			continue;
		if (line.p[0] == '@') {
			ptrdiff_t sp = str_find_char(line, ' ');

			line = sp < 0 ? STR("") : str_from(line, (size_t)sp);
		} else {
			for (int i = 0; i < 5 && line.n; i++) {
				while (line.n && line.p[0] != ' ' && line.p[0] != '\t')
					line = str_from(line, 1);
				line = str_trim(line);
			}
		}
		if (line.n && !has_mark(str_head(line, 1), "\1"))
			(void)run_child_text(x, line, STR_NONE);
	}
}

static void do_crontab(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "u" };
	bool root = x->elevated;
	str file = STR_NONE;
	struct arg a;

	while (args_next(&it, &a)) {
		if (a.letter == 'l')
			return;
		if (a.letter == 'u')
			root = str_in(a.value, "root 0");
		if (a.letter == 'r')
			FAULT(x, c, RULE_CRON, DENY, "this deletes all scheduled jobs");
		if (a.letter == 'e')
			FAULT(x, c, RULE_CRON, ASK, "this changes scheduled jobs");
		if (a.operand)
			file = a.value;
	}
	if (str_is_set(file) || str_is_set(c->in)) {
		str text = !str_is_set(file) || str_eq(file, STR("-")) ? (str_is_set(c->in) ? c->in : STR("\1"))
								       : fs_content(x, path_resolve(x, file));

		FAULT(x, c, root ? RULE_PERSIST : RULE_CRON, root ? DENY : ASK,
			root ? "this makes something run by itself as root" : "this replaces scheduled jobs");
		run_crontab(x, text);
	}
}

static void do_at(struct run *x, struct cmd *c)
{
	str file = cmd_value(c, "fqt", 'f', "file");

	if (cmd_has(c, "-l") || cmd_has(c, "-r") || cmd_has(c, "-d") || str_in(c->name, "atq atrm"))
		return;
	if (str_is_set(file))
		(void)run_child_text(x, fs_content(x, path_resolve(x, file)), STR_NONE);
	else if (str_is_set(c->in))
		(void)run_child_text(x, c->in, STR_NONE);
}

static void do_yes(struct run *x, struct cmd *c)
{
	(void)x;
	c->out = STR("\1");
}

static void do_fallocate(struct run *x, struct cmd *c)
{
	str size = cmd_value(c, "lo", 'l', "length");

	if (size.n > 2 && strchr("GTPgtp", size.p[size.n - 1]) && size.n > 3)
		FAULT(x, c, RULE_DISKFILL, ASK, "this fills much of a disk");
}

const struct program pack_system[] = {
	{ "kill", do_kill },
	{ "pkill killall pgrep-kill", do_pkill },
	{ "crontab", do_crontab },
	{ "at batch atd", do_at },
	{ "yes", do_yes },
	{ "fallocate", do_fallocate },
	{ 0 },
};

const struct row rows_system[] = {
	{ "reboot shutdown poweroff halt telinit", "!--help|-k|-c|-w", RULE_POWER, DENY, "this turns the machine off" },
	{ "init", "0|6|1|s", RULE_POWER, DENY, "this turns the machine off" },
	{ "systemctl",
		"poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|emergency|rescue|soft-"
		"reboot|isolate|exit",
		RULE_POWER, DENY, "this turns the machine off" },
	{ "loginctl", "terminate-user|kill-user|poweroff|reboot|terminate-session", RULE_POWER, DENY,
		"this ends the session or the machine" },
	{ "pm-suspend pm-hibernate pm-powerdown", "", RULE_POWER, DENY, "this turns the machine off" },
	{ "dbus-send gdbus busctl", ".. *PowerOff*|*Reboot*|*.login1.*", RULE_POWER, ASK,
		"this may turn the machine off" },
	{ "systemctl", "stop|disable|mask|kill|restart|unmask|edit|link|set-default|daemon-reexec", RULE_SERVICE, ASK,
		"this changes a running service" },
	{ "systemctl", "enable|preset", RULE_SERVICE, ASK, "this makes a service start by itself" },
	{ "service rc-service", ".. stop|restart", RULE_SERVICE, ASK, "this changes a running service" },
	{ "launchctl", "unload|bootout|remove|kill|disable", RULE_SERVICE, ASK, "this changes a running service" },
	{ "launchctl", "load|bootstrap|submit|enable", RULE_PERSIST, ASK, "this makes something run by itself" },
	{ "brew", "services stop|restart|kill", RULE_SERVICE, ASK, "this changes a running service" },
	{ "chkconfig update-rc.d", ".. off|remove|disable|on|defaults|enable", RULE_SERVICE, ASK,
		"this changes which services start" },
	{ "iptables ip6tables iptables-legacy iptables-nft arptables ebtables", "-F|--flush|-X|--delete-chain",
		RULE_FIREWALL, DENY, "this takes the firewall's rules away" },
	{ "iptables ip6tables", "-P|--policy .. ACCEPT", RULE_FIREWALL, DENY, "this opens the firewall" },
	{ "iptables ip6tables", "-A|-I|-D|-R|--append|--insert|--delete", RULE_FIREWALL, ASK,
		"this changes the firewall" },
	{ "iptables ip6tables", "-P|--policy", RULE_FIREWALL, ASK, "this changes the firewall" },
	{ "iptables-restore ip6tables-restore", "", RULE_FIREWALL, ASK, "this replaces the firewall's rules" },
	{ "nft", "flush|delete", RULE_FIREWALL, DENY, "this takes the firewall's rules away" },
	{ "ufw", "disable|reset", RULE_FIREWALL, DENY, "this turns the firewall off" },
	{ "ufw", "--force reset|disable", RULE_FIREWALL, DENY, "this turns the firewall off" },
	{ "ufw", "allow|delete|default|deny|reject", RULE_FIREWALL, ASK, "this changes the firewall" },
	{ "firewall-cmd", "--panic-on|--remove-*|--complete-reload|--add-*|--set-default-zone*|--set-target*",
		RULE_FIREWALL, ASK, "this changes the firewall" },
	{ "systemctl",
		"stop|disable|mask .. "
		"firewalld*|ufw*|iptables*|nftables*|auditd*|apparmor*|fail2ban*|falcon*|clamav*",
		RULE_FIREWALL, DENY, "this turns a protection of the machine off" },
	{ "setenforce", "0|permissive", RULE_FIREWALL, DENY, "this turns a protection of the machine off" },
	{ "auditctl", "-D|-e*", RULE_FIREWALL, DENY, "this turns recording off" },
	{ "aa-teardown aa-disable aa-complain", "", RULE_FIREWALL, DENY, "this turns a protection of the machine off" },
	{ "csrutil spctl", "disable|--master-disable|--global-disable|authenticated-root", RULE_FIREWALL, DENY,
		"this turns a protection of the machine off" },
	{ "spctl", "--master-disable|--global-disable", RULE_FIREWALL, DENY,
		"this turns a protection of the machine off" },
	{ "pfctl", "-d|-F", RULE_FIREWALL, DENY, "this turns the firewall off" },
	{ "netsh", "advfirewall .. off|reset", RULE_FIREWALL, DENY, "this turns the firewall off" },
	{ "set-mppreference", "", RULE_FIREWALL, DENY, "this turns a protection of the machine off" },
	{ "passwd", "-d|--delete|-l|--lock|-u|--unlock|-e", RULE_USER, DENY, "this changes who may log in" },
	{ "passwd", "", RULE_USER, ASK, "this changes a password" },
	{ "chpasswd newusers chsh usermod userdel useradd adduser deluser groupadd groupdel "
	  "groupmod delgroup addgroup gpasswd vipw vigr visudo chfn dscl sysadminctl",
		"!--help|-l|-c|--check|-list|-read", RULE_USER, DENY, "this changes accounts" },
	{ "pw", "useradd|userdel|usermod|groupdel", RULE_USER, DENY, "this changes accounts" },
	{ "net", "user|localgroup", RULE_USER, DENY, "this changes accounts" },
	{ "dscl", ".. -delete|-passwd|-create|-append", RULE_USER, DENY, "this changes accounts" },
	{ "rmmod insmod modprobe kexec", "!-n|--dry-run|--help", RULE_KERNEL, ASK, "this changes the running kernel" },
	{ "sysctl", "-w|--write|-p|--load", RULE_KERNEL, ASK, "this changes the running kernel" },
	{ "sysctl", "*=*", RULE_KERNEL, ASK, "this changes the running kernel" },
	{ "swapoff umount", "-a|-f|-l", RULE_PARTITION, ASK, "this takes file systems away from running programs" },
	{ "mount", ".. /|*remount*", RULE_PARTITION, ASK, "this changes what is mounted" },
	{ "setcap", ".. cap_*", RULE_SETUID, DENY, "this gives a program rights of root" },
	{ "chattr", "+i|-i|+a|-a|-R", RULE_CHMOD, VERDICT_NONE, "" },
	{ "setfacl", "-R|-b|--remove-all", RULE_CHMOD, ASK, "this changes the rights of many files" },
	/* Disks */
	{ "wipefs", "-a|--all|-o|--offset|-f", RULE_MKFS, DENY, "this wipes what a disk says about itself" },
	{ "blkdiscard", "!--help", RULE_MKFS, DENY, "this throws everything on a disk away" },
	{ "hdparm",
		"--security-erase|--security-erase-enhanced|--trim-sector-ranges|--write-sector|--"
		"security-*",
		RULE_MKFS, DENY, "this erases a disk" },
	{ "nvme", "format|sanitize|delete-ns|write-zeroes", RULE_MKFS, DENY, "this erases a disk" },
	{ "sg_format sg_sanitize badblocks", "-w|--format|--block|--crypto|--overwrite", RULE_MKFS, DENY,
		"this erases a disk" },
	{ "cryptsetup", "luksFormat|erase|luksErase|luksRemoveKey|luksKillSlot|reencrypt", RULE_MKFS, DENY,
		"this makes an encrypted disk unreadable" },
	{ "lvremove vgremove pvremove lvreduce", "", RULE_PARTITION, DENY, "this deletes volumes" },
	{ "lvm", "lvremove|vgremove|pvremove", RULE_PARTITION, DENY, "this deletes volumes" },
	{ "zpool", "destroy|labelclear", RULE_PARTITION, DENY, "this destroys a pool" },
	{ "zfs", "destroy|rollback", RULE_PARTITION, DENY, "this destroys a file system" },
	{ "btrfs", "subvolume|device delete|remove", RULE_PARTITION, DENY, "this deletes a volume" },
	{ "mdadm", "--zero-superblock|--stop|-S|--remove|--fail", RULE_PARTITION, DENY, "this takes an array apart" },
	{ "diskutil",
		"eraseDisk|eraseVolume|partitionDisk|zeroDisk|randomDisk|secureErase|reformat|apfs|"
		"deleteContainer|deleteVolume|eraseCD",
		RULE_MKFS, DENY, "this erases a disk" },
	{ "tmutil", "delete|deletelocalsnapshots|disable", RULE_MKFS, DENY, "this deletes backups" },
	{ "timeshift snapper restic borg borgmatic duplicity kopia rustic bupstash",
		".. delete|forget|prune|remove|remove-all-but-n-full|remove-older-than|"
		"remove-all-inc-of-but-n-full !-n|--dry-run",
		RULE_RM_OUTSIDE, ASK, "this deletes backups" },
	{ "restic rustic", ".. forget --unsafe-allow-remove-all", RULE_RM_OUTSIDE, DENY, "this deletes all backups" },
	{ "restic rustic", ".. forget --keep-last=0|--keep-last=1", RULE_RM_OUTSIDE, DENY, "this deletes all backups" },
	{ "restic rustic", ".. forget --keep-last .. 0|1 --prune", RULE_RM_OUTSIDE, DENY, "this deletes all backups" },
	{ "restic rustic", ".. forget --prune !--keep-*", RULE_RM_OUTSIDE, DENY, "this deletes backups for good" },
	{ "borg", ".. delete !-n|--dry-run", RULE_RM_OUTSIDE, DENY, "this deletes backups" },
	{ "borg", ".. prune --keep-last=0|--keep-daily=0|--keep-last=1", RULE_RM_OUTSIDE, DENY,
		"this deletes all backups" },
	{ "borg", ".. prune !--keep-*|-n|--dry-run|-d|-H|-w|-m|-y", RULE_RM_OUTSIDE, DENY, "this deletes all backups" },
	{ "duplicity", ".. remove-all-but-n-full .. 0|1 --force", RULE_RM_OUTSIDE, DENY, "this deletes backups" },
	{ "duplicity", ".. remove-older-than .. 0* --force", RULE_RM_OUTSIDE, DENY, "this deletes all backups" },
	{ "kopia", "snapshot delete --all-snapshots-for-source|--delete", RULE_RM_OUTSIDE, DENY,
		"this deletes backups" },
	{ "wal-g wal-g-pg", "delete everything", RULE_RM_OUTSIDE, DENY, "this deletes all backups" },
	{ "pgbackrest", ".. stanza-delete", RULE_RM_OUTSIDE, DENY, "this deletes all backups" },
	{ "barman", "delete", RULE_RM_OUTSIDE, ASK, "this deletes backups" },
	{ "wmic", "shadowcopy delete", RULE_RM_OUTSIDE, DENY, "this deletes backups" },
	{ "robocopy", ".. /MIR|/PURGE|/MOVE", RULE_RM_OUTSIDE, DENY,
		"this deletes what is at the target and not at the source" },
	{ "sc", "delete|stop|config", RULE_SERVICE, ASK, "this changes a service" },
	{ "takeown icacls", ".. /r|/reset|/grant*", RULE_CHMOD, ASK, "this changes the rights of many files" },
	{ "mshta regsvr32 rundll32 msiexec", ".. *http://*|*https://*|javascript:*", RULE_NET_EXEC, DENY,
		"this runs what comes from the network" },
	{ "clear-recyclebin", "", RULE_RM_OUTSIDE, ASK, "this empties the recycle bin" },
	{ "timeshift", "--delete|--delete-all", RULE_RM_OUTSIDE, DENY, "this deletes backups" },
	{ "vssadmin wbadmin", "delete", RULE_RM_OUTSIDE, DENY, "this deletes backups" },
	{ "bcdedit", "/delete|/set|*", RULE_PARTITION, ASK, "this changes how the machine starts" },
	{ "diskpart", "", RULE_PARTITION, DENY, "this changes partitions" },
	{ "efibootmgr grub-install update-grub", "-B|-b|-o|-c|--delete-bootnum", RULE_PARTITION, DENY,
		"this changes how the machine starts" },
	{ "flashrom fwupdmgr", "-w|-E|--write|--erase", RULE_PARTITION, DENY, "this changes the firmware" },
	/* Windows */
	{ "format", "*:|*:\\", RULE_MKFS, DENY, "this erases a disk" },
	{ "format.com", "", RULE_MKFS, DENY, "this erases a disk" },
	{ "clear-disk initialize-disk format-volume remove-partition", "", RULE_MKFS, DENY, "this erases a disk" },
	{ "reg", "delete", RULE_REDIRECT, DENY, "this deletes settings of the system" },
	{ "schtasks", "/create|/delete", RULE_PERSIST, ASK, "this changes scheduled tasks" },
	{ "cipher", "/w*", RULE_SHRED, DENY, "this overwrites free space" },
	{ "stop-computer restart-computer", "", RULE_POWER, DENY, "this turns the machine off" },
	/* Packages */
	{ "apt apt-get aptitude",
		"purge|remove|autoremove .. "
		"libc6*|systemd*|bash|coreutils|linux-image*|sudo|apt|dpkg|init|util-linux|openssh-"
		"server|python3|grub*",
		RULE_PKG_REMOVE, DENY, "this removes what the system needs" },
	{ "apt apt-get aptitude", "purge|remove|autoremove !-s|--dry-run|--simulate", RULE_PKG_REMOVE, ASK,
		"this removes packages" },
	{ "apt apt-get", "--allow-remove-essential|--force-yes", RULE_PKG_REMOVE, DENY,
		"this may remove what the system needs" },
	{ "dpkg", "--purge|-P|--remove|-r|--force-*", RULE_PKG_REMOVE, ASK, "this removes packages" },
	{ "yum dnf zypper", "remove|erase|autoremove .. glibc|systemd|kernel*|bash|coreutils|sudo", RULE_PKG_REMOVE,
		DENY, "this removes what the system needs" },
	{ "yum dnf zypper microdnf", "remove|erase|autoremove", RULE_PKG_REMOVE, ASK, "this removes packages" },
	{ "rpm", "-e|--erase", RULE_PKG_REMOVE, ASK, "this removes packages" },
	{ "pacman", "-R|-Rns|-Rs|-Rdd|-Rc|--remove", RULE_PKG_REMOVE, ASK, "this removes packages" },
	{ "apk", "del", RULE_PKG_REMOVE, ASK, "this removes packages" },
	{ "brew", "uninstall|remove|rm --force|--zap|-f", RULE_PKG_REMOVE, ASK, "this removes packages" },
	{ "snap", "remove --purge", RULE_PKG_REMOVE, ASK, "this removes packages with their data" },
	{ "nix-collect-garbage", "-d|--delete-old", RULE_PKG_REMOVE, ASK, "this deletes older generations" },
	{ "nix", "profile wipe-history", RULE_PKG_REMOVE, ASK, "this deletes older generations" },
	{ "pip pip3", "install --break-system-packages", RULE_PKG_REMOVE, VERDICT_NONE, "" },
	{ "history", "-c", RULE_TRUNCATE, ASK, "this deletes the history of commands" },
	{ "journalctl", "--vacuum-time|--vacuum-size|--vacuum-files|--rotate", RULE_TRUNCATE, ASK,
		"this deletes logs" },
	{ "dmesg", "-C|-c|--clear|--read-clear", RULE_TRUNCATE, ASK, "this deletes logs" },
	{ "stress stress-ng", "", RULE_DISKFILL, ASK, "this loads the machine on purpose" },
	{ "ip", "link|addr|route del|delete|flush|set", RULE_FIREWALL, ASK, "this changes the network" },
	{ "ifconfig", ".. down", RULE_FIREWALL, ASK, "this changes the network" },
	{ "nmcli", "networking|radio|connection|device off|delete|down|disconnect", RULE_FIREWALL, ASK,
		"this changes the network" },
	{ 0 },
};
