/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_SYSFS_PICTURE_H
#define ROOST_SYSFS_PICTURE_H

/*
 * A picture of devices in sysfs and /dev, for programs that look there: a
 * directory with the trees sys/class/infiniband, sys/class/infiniband_verbs,
 * sys/devices/infiniband_roost and dev/infiniband, in the kernel's formats
 * (drivers/infiniband/core/sysfs.c, uverbs_main.c). lib/preload leads programs
 * there.
 *
 * Each file is replaced as a whole, so a reader sees the old value or the new
 * one. Differences from the kernel: a value that does not exist (the type of an
 * empty GID) reads as an empty file, where the kernel's read fails with EINVAL;
 * a node in /dev/infiniband is a link to /dev/null, because only root can make
 * a device.
 *
 * Functions return 0 or the first -errno of a system call, and go on after it:
 * part of a picture is better than none.
 *
 * Thread: any, one at a time for a picture in one process. Several processes
 * may write to one picture; the last one wins.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>
#include "lib/sysfs/variable.h"

struct roost_picture_dev {
	const char *name; /* "roost0" */
	uint64_t guid;    /* node GUID, host order */
	const char *fw_ver;
	const char *board_id;
	/* Path of the real device in sysfs that it is on; NULL: none. */
	const char *parent;
};

/* The size of tables of a port; more entries are left out. */
#define ROOST_PICTURE_GIDS_MAX 64u
#define ROOST_PICTURE_PKEYS_MAX 16u

/* As lib/verbs shows it: the address of a GID is that of an interface. */
#define ROOST_PICTURE_CAP_MASK (1u << 26)

struct roost_picture_port {
	bool is_active;
	uint16_t lid;
	uint16_t sm_lid;     /* 0: none */
	uint32_t cap_mask;   /* as in ibv_port_attr.port_cap_flags */
	uint32_t speed_mbps; /* 0: not known */
	char interface[16];  /* the kernel's; empty: none */
	struct roost_gid gids[ROOST_PICTURE_GIDS_MAX]; /* zeros: empty */
	uint16_t pkeys[ROOST_PICTURE_PKEYS_MAX];
};

/* X(file) for each counter; the others of the kernel are always 0. No device of
 * the kernel has the last two.
 */
#define ROOST_PICTURE_COUNTERS(X)                                              \
	X("counters", port_xmit_data) /* in units of 4 bytes */                \
	X("counters", port_rcv_data)                                           \
	X("counters", port_xmit_packets)                                       \
	X("counters", port_rcv_packets)                                        \
	X("counters", port_rcv_errors)                                         \
	X("counters", unicast_xmit_packets)                                    \
	X("counters", unicast_rcv_packets)                                     \
	X("hw_counters", duplicate_request)                                    \
	X("hw_counters", out_of_sequence)                                      \
	X("hw_counters", out_of_buffer)                                        \
	X("hw_counters", packet_seq_err)                                       \
	X("hw_counters", rnr_nak_retry_err)                                    \
	X("hw_counters", implied_nak_seq_err)                                  \
	X("hw_counters", local_ack_timeout_err)                                \
	X("hw_counters", rx_icrc_encapsulated)                                 \
	X("hw_counters", req_remote_access_errors)                             \
	X("hw_counters", req_remote_invalid_request)                           \
	X("hw_counters", np_ecn_marked_roce_packets)                           \
	X("hw_counters", np_cnp_sent)                                          \
	X("hw_counters", rp_cnp_handled)                                       \
	X("hw_counters", rp_cnp_ignored)                                       \
	X("hw_counters", unmapped_reads)                                       \
	X("hw_counters", unmapped_writes)

#define ROOST_PICTURE_COUNTER_MEMBER(folder, name) uint64_t name;

struct roost_picture_counters {
	ROOST_PICTURE_COUNTERS(ROOST_PICTURE_COUNTER_MEMBER)
};

/* Remove a picture, or a part of one, with all that is in it, and follow no
 * link. No other user can write there.
 */
void roost_picture_remove(const char *path);

/* Put a device into the picture, with its directories and what never changes;
 * or change its values.
 */
int roost_picture_put_dev(const char *picture,
			  const struct roost_picture_dev *dev);

/* Change the GUID of a device that is there; -ENOENT: it is not. */
int roost_picture_put_guid(const char *picture, const char *name,
			   uint64_t guid);

/* Has the picture this device; and with this GUID? */
bool roost_picture_has_dev(const char *picture, const char *name);
bool roost_picture_has_guid(const char *picture, const char *name,
			    uint64_t guid);
/* Take a device away, with its ports. */
void roost_picture_drop_dev(const char *picture, const char *name);

/* Put a port (from 1) of a device there. before: what was put last; NULL:
 * nothing was. Only what differs from it is written.
 */
int roost_picture_put_port(const char *picture, const char *name,
			   unsigned int port_num,
			   const struct roost_picture_port *port,
			   const struct roost_picture_port *before);
int roost_picture_put_counters(const char *picture, const char *name,
			       unsigned int port_num,
			       const struct roost_picture_counters *counters,
			       const struct roost_picture_counters *before);

#endif
