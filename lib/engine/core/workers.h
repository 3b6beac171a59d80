/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_WORKERS_H
#define ROOST_ENGINE_CORE_WORKERS_H

/*
 * The workers of a device and the objects that they serve, for the code that
 * lets workers run: pmd_glue, simulations.
 */

#include <stdbool.h>
#include <stdint.h>

struct roost_cq;
struct roost_dev;
struct roost_qp;
struct roost_worker;

unsigned int roost_dev_nb_workers(const struct roost_dev *dev);
/* A worker of this device, by its number. */
struct roost_worker *roost_dev_worker_at(struct roost_dev *dev,
					 unsigned int index);
/* The first worker, which also sends the frames of the IP host (ARP, ND, ...).
 */
struct roost_worker *roost_dev_worker(struct roost_dev *dev);

/* The number of the QP's worker, which never changes. */
unsigned int roost_qp_worker(const struct roost_qp *qp);
/* The workers whose QPs complete to the CQ: bit 1 << number. Thread: any. */
uint32_t roost_cq_workers(const struct roost_cq *cq);

/*
 * True if the QP allows the request that was added to wait for later posts
 * (doorbell batching). One small request may wait if enough packets are in
 * flight that their acknowledgements arrive after the request can be sent.
 * waiting: number of posts that wait already, also of other QPs. To be called
 * between roost_qp_send_begin() and roost_qp_send_end().
 */
bool roost_qp_send_can_wait(const struct roost_qp *qp, uint32_t waiting);
/* As roost_qp_send_end(), for the holder of the worker's turn: rings no
 * doorbell, because the holder's next iteration looks at the queue.
 */
void roost_qp_send_end_in_turn(struct roost_qp *qp);

#endif
