/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/mtu_loan.h"

#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/process/fork_guard.h"

#define RECORD "roost-mtu-%u-was-%u-set-%u"
#define ASK_BYTES 512u
#define NAME_BYTES 128 /* ALTIFNAMSIZ of the kernel */
#define TIMEOUT_S 2

struct record {
	uint32_t was_bytes, set_bytes;
	bool found;
	char name[NAME_BYTES];
};

/* ---- alternative names --------------------------------------------------- */

static int take_prop(const struct nlattr *attr, void *arg)
{
	struct record *r = arg;
	unsigned int ifindex;

	if (mnl_attr_get_type(attr) != IFLA_ALT_IFNAME)
		return MNL_CB_OK;
	if (sscanf(mnl_attr_get_str(attr), RECORD, &ifindex, &r->was_bytes,
		   &r->set_bytes) == 3) {
		snprintf(r->name, sizeof(r->name), "%s",
			 mnl_attr_get_str(attr));
		r->found = true;
	}
	return MNL_CB_OK;
}

static int take_attr(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == IFLA_PROP_LIST)
		mnl_attr_parse_nested(attr, take_prop, arg);
	return MNL_CB_OK;
}

static int take_link(const struct nlmsghdr *msg, void *arg)
{
	return mnl_attr_parse(msg, sizeof(struct ifinfomsg), take_attr, arg);
}

static struct nlmsghdr *question(void *buf, uint16_t type, uint16_t flags,
				 unsigned int ifindex)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *info;

	msg->nlmsg_type = type;
	msg->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	info = mnl_nlmsg_put_extra_header(msg, sizeof(*info));
	info->ifi_index = (int)ifindex;
	return msg;
}

/* Returns 0, or what the kernel says. */
static int ask(const struct nlmsghdr *msg, struct record *record)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct mnl_socket *s = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	_Alignas(4) char buf[16384];
	ssize_t got;
	int ret = 0;

	if (!s)
		return -errno;
	setsockopt(mnl_socket_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &timeout,
		   sizeof(timeout));
	if (mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(s, msg, msg->nlmsg_len) < 0)
		ret = -errno;
	if (ret == 0) {
		got = mnl_socket_recvfrom(s, buf, sizeof(buf));
		if (got < 0 ||
		    mnl_cb_run(buf, (size_t)got, 0, mnl_socket_get_portid(s),
			       record ? take_link : NULL, record) < 0)
			ret = -errno;
	}
	mnl_socket_close(s);
	return ret;
}

static void read_record(unsigned int ifindex, struct record *record)
{
	_Alignas(4) char buf[ASK_BYTES];

	*record = (struct record){ .found = false };
	ask(question(buf, RTM_GETLINK, 0, ifindex), record);
}

static int change_record(unsigned int ifindex, const char *name, bool add)
{
	const uint16_t flags =
		add ? NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND : 0;
	_Alignas(4) char buf[ASK_BYTES];
	struct nlmsghdr *msg =
		question(buf, add ? RTM_NEWLINKPROP : RTM_DELLINKPROP,
			 (uint16_t)(NLM_F_ACK | flags), ifindex);
	struct nlattr *list = mnl_attr_nest_start(msg, IFLA_PROP_LIST);

	mnl_attr_put_strz(msg, IFLA_ALT_IFNAME, name);
	mnl_attr_nest_end(msg, list);
	return ask(msg, NULL);
}

/* ---- users of the raised MTU --------------------------------------------- */

static int hold(unsigned int ifindex)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timespec now;
	int fd, len, ret;

	clock_gettime(CLOCK_MONOTONIC, &now);
	len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		       "roost/mtu/%u/%d-%lx%lx", ifindex, getpid(),
		       (unsigned long)now.tv_sec, (unsigned long)now.tv_nsec);
	fd = roost_high_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     (size_t)len)) < 0)
		ret = -errno;
	else
		ret = roost_fork_guard_add(fd);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

static bool is_used(unsigned int ifindex)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char line[512], wanted[64];
	bool found = false;

	snprintf(wanted, sizeof(wanted), "@roost/mtu/%u/", ifindex);
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, wanted) != NULL;
	if (file)
		fclose(file);
	return found;
}

/* ---- the MTU ------------------------------------------------------------- */

uint32_t roost_mtu_loan_left(unsigned int ifindex, uint32_t mtu_bytes)
{
	struct record record;

	read_record(ifindex, &record);
	if (!record.found || is_used(ifindex) ||
	    change_record(ifindex, record.name, false) != 0)
		return 0;
	return record.set_bytes == mtu_bytes ? record.was_bytes : 0;
}

int roost_mtu_loan_take(struct roost_mtu_loan *loan, unsigned int ifindex,
			uint32_t was_bytes, uint32_t set_bytes)
{
	struct record record;
	char name[NAME_BYTES];
	int ret;

	read_record(ifindex, &record);
	if (was_bytes == 0 && !record.found)
		return 0;
	ret = hold(ifindex);
	if (ret < 0)
		return ret;
	atomic_store(&loan->is_over, false);
	loan->ifindex = ifindex;
	loan->fd = ret;
	if (was_bytes == 0)
		return 0;
	/* Raised again: the first record has the MTU to restore. */
	if (record.found) {
		was_bytes = record.was_bytes;
		change_record(ifindex, record.name, false);
	}
	snprintf(name, sizeof(name), RECORD, ifindex, was_bytes, set_bytes);
	return change_record(ifindex, name, true);
}

static void put_back(unsigned int ifindex, const struct record *record)
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && if_indextoname(ifindex, ifr.ifr_name) &&
	    ioctl(fd, SIOCGIFMTU, &ifr) == 0 &&
	    ifr.ifr_mtu == (int)record->set_bytes) {
		ifr.ifr_mtu = (int)record->was_bytes;
		ioctl(fd, SIOCSIFMTU, &ifr);
	}
	if (fd >= 0)
		close(fd);
}

void roost_mtu_loan_return(struct roost_mtu_loan *loan)
{
	const unsigned int ifindex = loan->ifindex;
	struct record record;

	if (ifindex == 0)
		return;
	loan->ifindex = 0;
	atomic_store(&loan->is_over, true);
	roost_fork_guard_remove(loan->fd);
	close(loan->fd);
	if (is_used(ifindex))
		return;
	read_record(ifindex, &record);
	if (!record.found)
		return;
	put_back(ifindex, &record);
	change_record(ifindex, record.name, false);
}
