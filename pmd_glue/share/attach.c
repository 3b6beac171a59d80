/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/attach.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/config/resolve.h"
#include "lib/engine/core/idmap.h"
#include "lib/event/high_fd.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/process/peer_trust.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/hub.h"

#define QPN_BITS 24u
#define COMM_PREFIX_BITS_MAX 14u /* lib/engine/core/lease.h */
#define VLAN_ID_MAX 4094u
#define CONNECT_S 10

/* ---- the connection ------------------------------------------------------ */

static bool is_hub(const char *service)
{
	return strcmp(service, "hub") == 0;
}

static socklen_t address_of(const char *service, struct sockaddr_un *addr)
{
	size_t path_bytes;

	if (is_hub(service))
		return roost_share_hub_address(addr);
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	roost_config_service_port(service, &path_bytes);
	snprintf(addr->sun_path, sizeof(addr->sun_path), "%.*s",
		 (int)path_bytes, service);
	return sizeof(*addr);
}

/* A daemon whose backlog is full is there. */
static bool is_there(const char *service)
{
	struct sockaddr_un addr;
	socklen_t len = address_of(service, &addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	bool there;

	if (fd < 0)
		return false;
	there = connect(fd, (struct sockaddr *)&addr, len) == 0 ||
		errno == EAGAIN;
	close(fd);
	return there;
}

const char *roost_share_pick(const char *service)
{
	if (strcmp(service, "default") != 0)
		return service;
	return is_there(ROOST_SHARE_SYSTEM_SOCKET) ? ROOST_SHARE_SYSTEM_SOCKET
						   : "hub";
}

static void tell_unconnected(const char *service, const char *label, int error)
{
	const char *fix = "start roostd, or name the socket that it has";

	if (error == EAGAIN)
		fix = "end it, or wait";
	else if (is_hub(service))
		fix = "start the program with \"roost run\", which starts it";
	else if (error == EACCES)
		fix = "ask its administrator for access";
	else if (error == EPROTOTYPE)
		fix = "name the socket of roostd";
	roost_report("%s: cannot connect to its daemon: %s; %s", label,
		     strerror(error), fix);
}

/* The name of a hub is free for every user. */
static bool is_our_hub(int fd, struct ucred *cred)
{
	socklen_t len = sizeof(*cred);

	*cred = (struct ucred){ .uid = (uid_t)-1 };
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, cred, &len) == 0 &&
	       cred->uid == geteuid() && roost_uid_is_ours(cred->uid);
}

static int check_owner(int fd, const char *label)
{
	struct ucred cred;

	if (is_our_hub(fd, &cred))
		return 0;
	roost_report("%s: process %d of user %d listens under the name of this "
		     "user's daemon; end it",
		     label, cred.pid, (int)cred.uid);
	return -EPERM;
}

/* While many connect at once, the daemon's backlog is full. connect(2) waits
 * for that only if the socket blocks; then nothing blocks any more.
 */
static int connect_in_time(int fd, const struct sockaddr_un *addr,
			   socklen_t addr_len)
{
	const struct timeval limit = { .tv_sec = CONNECT_S };

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (const struct sockaddr *)addr, addr_len) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK))
		return -errno;
	return 0;
}

int roost_share_connect(const char *service, const char *label, int *fd)
{
	struct sockaddr_un addr;
	socklen_t len = address_of(service, &addr);
	int ret;

	*fd = roost_high_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	ret = *fd < 0 ? -errno : connect_in_time(*fd, &addr, len);
	if (ret)
		tell_unconnected(service, label, -ret);
	if (!ret && is_hub(service))
		ret = check_owner(*fd, label);
	if (!ret)
		ret = roost_fork_guard_add(*fd);
	if (ret && *fd >= 0)
		close(*fd);
	return ret;
}

int roost_share_connect_again(const char *service, int *fd)
{
	struct sockaddr_un addr;
	socklen_t len = address_of(service, &addr);
	struct ucred cred;
	int ret = 0;

	*fd = roost_high_fd(
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0));
	if (*fd < 0)
		return -errno;
	if (connect(*fd, (struct sockaddr *)&addr, len) != 0)
		ret = -errno;
	else if (is_hub(service) && !is_our_hub(*fd, &cred))
		ret = -EPERM;
	else
		ret = roost_fork_guard_add(*fd);
	if (ret)
		close(*fd);
	return ret;
}

/* ---- what is granted ----------------------------------------------------- */

static bool is_printable(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	for (size_t i = 0; i < len; i++)
		if (!isprint((unsigned char)text[i]))
			return false;
	return len > 0 && len < size;
}

static bool is_mac(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return (mac[0] & 1) == 0 && memcmp(mac, none, 6) != 0;
}

static bool are_qpns(const struct roost_share_attached *a)
{
	return a->qpn_index_bits > ROOST_IDMAP_PAGE_SHIFT &&
	       a->qpn_index_bits < QPN_BITS &&
	       a->qpn_block_shift <= a->qpn_index_bits &&
	       a->qpn_block >> (a->qpn_index_bits - a->qpn_block_shift) == 0;
}

static bool are_comm_ids(const struct roost_share_attached *a)
{
	return a->comm_prefix_bits >= 1 &&
	       a->comm_prefix_bits <= COMM_PREFIX_BITS_MAX &&
	       a->comm_prefix >> a->comm_prefix_bits == 0;
}

/* Returns what is wrong with it, or NULL. */
static const char *find_wrong(const struct roost_share_attached *a)
{
	if (!is_printable(a->label, sizeof(a->label)))
		return "label";
	if (!is_mac(a->mac))
		return "MAC address";
	if (a->node_guid == 0)
		return "GUID";
	if (a->vlan_id > VLAN_ID_MAX)
		return "VLAN";
	if (!are_qpns(a))
		return "QPNs";
	if (!are_comm_ids(a))
		return "communication ids";
	if (a->max_qps == 0 || a->max_half_open == 0 ||
	    a->patience_ms > ROOST_SHARE_PATIENCE_MAX_MS)
		return "limits";
	return NULL;
}

static int map_page(int fd, struct roost_share_grant *grant, const char **what)
{
	struct roost_share_facts facts;
	uint32_t generation;
	int ret = roost_share_page_map(fd, &grant->page);

	*what = "page";
	if (ret) {
		grant->page = NULL;
		return ret;
	}
	ret = roost_share_page_read(grant->page, &facts, &generation);
	return ret == -EAGAIN ? -EPROTO : ret;
}

int roost_share_grant_take(struct roost_share_packet *packet,
			   struct roost_share_grant *grant, const char **what)
{
	enum {
		MEMORY,
		DOORBELL,
		PAGE
	};
	int ret;

	*grant = (struct roost_share_grant){
		.attached = packet->msg.attached,
		.doorbell = -1,
	};
	*what = "type";
	if (packet->msg.type != ROOST_SHARE_ATTACHED) {
		ret = -EPROTO;
		goto out;
	}
	ret = packet->msg.status;
	if (ret)
		goto out;
	*what = find_wrong(&grant->attached);
	ret = *what ? -EPROTO : 0;
	if (ret)
		goto out;
	*what = "memory";
	ret = roost_shm_memory_map(packet->fds[MEMORY], &grant->memory);
	if (ret) {
		grant->memory.base = NULL;
		goto out;
	}
	ret = map_page(packet->fds[PAGE], grant, what);
	if (ret)
		goto out;
	grant->doorbell = packet->fds[DOORBELL];
	packet->fds[DOORBELL] = -1;
out:
	roost_share_packet_close(packet);
	if (ret)
		roost_share_grant_drop(grant);
	return ret;
}

void roost_share_grant_drop(struct roost_share_grant *grant)
{
	if (grant->memory.base)
		roost_shm_memory_close(&grant->memory);
	grant->memory.base = NULL;
	if (grant->doorbell >= 0)
		close(grant->doorbell);
	grant->doorbell = -1;
	if (grant->page)
		roost_share_page_close(grant->page);
	grant->page = NULL;
}
