/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/setup_service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/setup_file.h"
#include "lib/config/resolve.h"

#define CONF_MAX 65536
#define ADDRESSES "# ip = ADDRESS/LENGTH: without it, it has link-local ones\n"

/* ---- roost.conf ---------------------------------------------------------- */

static void block_of(const struct roost_setup *s, unsigned int port, char *text)
{
	snprintf(text, ROOST_SETUP_TEXT_MAX,
		 "# By roost setup\n[port%u]\ndevargs = %s\n" ADDRESSES, port,
		 s->nic);
}

/* Sections that are roostd's own stay as they are. */
static int skip_section(void *ctx, const char *where, const char *name,
			char *err)
{
	(void)ctx;
	(void)where;
	(void)name;
	(void)err;
	return 0;
}

static int skip_entry(void *ctx, const char *where, const char *key,
		      const char *value, char *err)
{
	(void)ctx;
	(void)where;
	(void)key;
	(void)value;
	(void)err;
	return 0;
}

/* What Roost reads in the file. 0, or err is written. */
static int parse(const char *path, struct roost_config *c, char *err)
{
	const struct roost_config_sections others = { NULL, skip_section,
						      skip_entry };

	return roost_config_resolve_file(c, path, &others, err);
}

/* The whole file, to be freed; empty: there is none. NULL: it cannot be read,
 * is too long, or is no plain file.
 */
static char *read_conf(const char *path, struct stat *st)
{
	char *text = calloc(1, CONF_MAX + 1);
	const int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const bool none = fd < 0 && errno == ENOENT;

	if (text && !none &&
	    (fd < 0 || fstat(fd, st) != 0 || !S_ISREG(st->st_mode) ||
	     st->st_size > CONF_MAX ||
	     read(fd, text, CONF_MAX) != st->st_size)) {
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

void roost_setup_conf_now(const struct roost_setup *s, char *text)
{
	char path[PATH_MAX], *conf;
	struct stat st;

	text[0] = '\0';
	roost_setup_path(s, path, "%s", ROOST_CONF_FILE);
	conf = read_conf(path, &st);
	for (unsigned int i = 0; conf && i < ROOST_PORTS_MAX; i++) {
		block_of(s, i, text);
		if (strstr(conf, text))
			break;
		text[0] = '\0';
	}
	free(conf);
}

/* Is the port on this interface of the kernel's? */
static bool is_on(const struct roost_port_config *port, const char *iface)
{
	const char *at = strstr(port->devargs, "iface=");

	if (iface[0] == '\0')
		return false;
	if (strcmp(port->devargs, iface) == 0)
		return true;
	return at && strncmp(at + 6, iface, strlen(iface)) == 0 &&
	       strchr(",", at[6 + strlen(iface)]) != NULL;
}

/* Look at the file. found: it has a port on the NIC. on_iface: on its interface
 * of the kernel's. Returns the number of its ports; -1: it is not in order, and
 * err is written.
 */
static int look(const struct roost_setup *s, bool *found, bool *on_iface,
		char *err)
{
	struct roost_config *c = malloc(sizeof(*c));
	char path[PATH_MAX], name[ROOST_PCI_NAME_MAX], *conf;
	struct roost_pci_device d;
	struct stat st;
	int nb = 0;

	*found = *on_iface = false;
	roost_setup_path(s, path, "%s", ROOST_CONF_FILE);
	roost_setup_read_device(s, &d);
	conf = read_conf(path, &st);
	if (!conf || !c) {
		snprintf(err, ROOST_CONFIG_ERR_MAX,
			 "%s is no file of up to %u bytes that can be read; "
			 "make it one",
			 ROOST_CONF_FILE, CONF_MAX);
		nb = -1;
	} else if (conf[0]) {
		nb = parse(path, c, err) == 0 ? (int)c->nb_ports : -1;
	}
	for (int i = 0; i < nb; i++) {
		if (roost_pci_is(c->ports[i].devargs, name) &&
		    strcmp(name, s->nic) == 0)
			*found = true;
		*on_iface |= is_on(&c->ports[i], d.iface);
	}
	free(conf);
	free(c);
	return nb;
}

void roost_setup_conf_wanted(const struct roost_setup *s, char *text)
{
	char err[ROOST_CONFIG_ERR_MAX];
	bool found, on_iface;
	const int nb = look(s, &found, &on_iface, err);

	text[0] = '\0';
	if (!found)
		block_of(s, nb < 0 ? 0 : (unsigned int)nb, text);
}

void roost_setup_conf_refuse(const struct roost_setup *s, char *why)
{
	char err[ROOST_CONFIG_ERR_MAX];
	bool found, on_iface;
	const int nb = look(s, &found, &on_iface, err);

	why[0] = '\0';
	if (nb < 0)
		snprintf(why, ROOST_SETUP_TEXT_MAX, "%s", err);
	else if (nb >= (int)ROOST_PORTS_MAX)
		snprintf(why, ROOST_SETUP_TEXT_MAX,
			 "%s has %d ports, which is the most; take one out",
			 ROOST_CONF_FILE, nb);
	else if (on_iface)
		snprintf(why, ROOST_SETUP_TEXT_MAX,
			 "%s has a port on its interface; write devargs = %s "
			 "there",
			 ROOST_CONF_FILE, s->nic);
}

/* A new file in place of the old one, for the same people, if Roost reads it.
 */
static int replace(const char *path, const char *conf, const struct stat *st)
{
	struct roost_config *c = malloc(sizeof(*c));
	char made[PATH_MAX + 16], err[ROOST_CONFIG_ERR_MAX];
	const size_t len = strlen(conf);
	int fd, ret = 0;

	if (!c)
		return -ENOMEM;
	snprintf(made, sizeof(made), "%s.roost-setup", path);
	unlink(made);
	fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(c);
		return -errno;
	}
	if (write(fd, conf, len) != (ssize_t)len ||
	    fchown(fd, st->st_uid, st->st_gid) != 0 ||
	    fchmod(fd, st->st_mode & 07777) != 0 || fsync(fd) != 0)
		ret = errno ? -errno : -EIO;
	close(fd);
	if (ret == 0 && parse(made, c, err) != 0)
		ret = -EUCLEAN;
	if (ret == 0 && rename(made, path) != 0)
		ret = -errno;
	if (ret)
		unlink(made);
	free(c);
	return ret;
}

/* With the lines `to` instead of ours, which may be nowhere. */
static int edit(const char *path, char *conf, const struct stat *st,
		const char *ours, const char *to)
{
	char *at = ours[0] ? strstr(conf, ours) : NULL, *made;
	const size_t len = strlen(conf);
	int ret;

	made = calloc(1, len + ROOST_SETUP_TEXT_MAX + 2);
	if (!made)
		return -ENOMEM;
	if (at)
		sprintf(made, "%.*s%s%s", (int)(at - conf), conf, to,
			at + strlen(ours));
	else
		sprintf(made, "%s%s%s", conf,
			len > 0 && conf[len - 1] != '\n' ? "\n" : "", to);
	/* It had nothing before. */
	ret = made[0]             ? replace(path, made, st)
	      : unlink(path) == 0 ? 0
				  : -errno;
	free(made);
	return ret;
}

int roost_setup_conf_change(const struct roost_setup *s, const char *to)
{
	struct stat st = { .st_mode = 0644,
			   .st_uid = geteuid(),
			   .st_gid = getegid() };
	char path[PATH_MAX], ours[ROOST_SETUP_TEXT_MAX], *conf;
	int ret;

	roost_setup_path(s, path, "%s", ROOST_CONF_FILE);
	roost_setup_conf_now(s, ours);
	if (strcmp(ours, to) == 0)
		return 0;
	ret = roost_setup_make_folder(path);
	if (ret)
		return ret;
	conf = read_conf(path, &st);
	ret = conf ? edit(path, conf, &st, ours, to) : -EUCLEAN;
	free(conf);
	return ret;
}

/* ---- the unit ------------------------------------------------------------ */

/* Where systemd finds roostd.service; empty: nowhere, or it is masked. Without
 * the root.
 */
static void unit_path(const struct roost_setup *s, char *unit)
{
	static const char *const folders[] = { "/etc/systemd/system",
					       "/usr/local/lib/systemd/system",
					       "/usr/lib/systemd/system",
					       "/lib/systemd/system" };
	char path[PATH_MAX], target[16];
	struct stat st;

	unit[0] = '\0';
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		roost_setup_path(s, path, "%s/roostd.service", folders[i]);
		if (lstat(path, &st) != 0)
			continue;
		if (!S_ISLNK(st.st_mode) ||
		    readlink(path, target, sizeof(target)) != 9 ||
		    memcmp(target, "/dev/null", 9) != 0)
			snprintf(unit, ROOST_SETUP_TEXT_MAX, "%s",
				 path + strlen(s->root));
		return;
	}
}

const char *roost_setup_no_service(const struct roost_setup *s)
{
	char path[PATH_MAX], unit[ROOST_SETUP_TEXT_MAX];

	/* As sd_booted(3). */
	roost_setup_path(s, path, "/run/systemd/system");
	if (access(path, F_OK) != 0)
		return "systemd does not run here; start roostd by other means";
	unit_path(s, unit);
	return unit[0] ? NULL : "roostd.service is not installed, or is masked";
}

#define LIMIT "LimitMEMLOCK=infinity\n"
static const char drop_in[] = "# By roost setup\n[Service]\n" LIMIT;

static void drop_in_path(const struct roost_setup *s, char *path)
{
	roost_setup_path(s, path, ROOST_SETUP_DROP_IN);
}

void roost_setup_memlock_now(const struct roost_setup *s, char *text)
{
	char path[PATH_MAX];

	drop_in_path(s, path);
	roost_setup_slurp(path, text);
}

void roost_setup_memlock_wanted(const struct roost_setup *s, char *text)
{
	char path[PATH_MAX], now[ROOST_SETUP_TEXT_MAX], *unit;
	struct stat st;

	text[0] = '\0';
	roost_setup_memlock_now(s, now);
	if (roost_setup_no_service(s) || strcmp(now, drop_in) == 0)
		return;
	unit_path(s, now);
	roost_setup_path(s, path, "%s", now);
	unit = read_conf(path, &st);
	if (!unit || !strstr(unit, "\n" LIMIT))
		snprintf(text, ROOST_SETUP_TEXT_MAX, "%s", drop_in);
	free(unit);
}

int roost_setup_memlock_change(const struct roost_setup *s, const char *to)
{
	char path[PATH_MAX];

	drop_in_path(s, path);
	return roost_setup_change_file(path, drop_in, to);
}

void roost_setup_enable_now(const struct roost_setup *s, char *text)
{
	char path[PATH_MAX];
	ssize_t len;

	roost_setup_path(s, path, ROOST_SETUP_WANTS);
	len = readlink(path, text, ROOST_SETUP_TEXT_MAX - 1);
	text[len < 0 ? 0 : len] = '\0';
}

void roost_setup_enable_wanted(const struct roost_setup *s, char *text)
{
	roost_setup_enable_now(s, text);
	if (text[0] || roost_setup_no_service(s))
		text[0] = '\0';
	else
		unit_path(s, text);
}

int roost_setup_enable_change(const struct roost_setup *s, const char *to)
{
	char path[PATH_MAX], now[ROOST_SETUP_TEXT_MAX];
	char unit[ROOST_SETUP_TEXT_MAX];
	int ret;

	roost_setup_path(s, path, ROOST_SETUP_WANTS);
	roost_setup_enable_now(s, now);
	unit_path(s, unit);
	if (strcmp(now, to) == 0)
		return 0;
	if (now[0] && unit[0] && strcmp(now, unit) != 0)
		return -EEXIST;
	if (!to[0])
		return unlink(path) == 0 ? 0 : -errno;
	ret = roost_setup_make_folder(path);
	if (ret)
		return ret;
	return symlink(to, path) == 0 ? 0 : -errno;
}
