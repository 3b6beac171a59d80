/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_MIGRATE_H
#define ROOST_TESTS_SIM_MIGRATE_H

/*
 * What tests of path migration have in common.
 */

#include "tests/sim/sim.h"

#define MIGRATE_ALT_TIMEOUT 9

/* Load the path along that port as the alternate one. Returns as
 * roost_qp_modify(); mask: what else attr brings.
 */
int migrate_load(struct sim_qp *qp, uint8_t port_num,
		 struct roost_qp_attr *attr, uint32_t mask);
/* Load it, and REARM. */
void migrate_rearm(struct sim_qp *qp, uint8_t port_num);
/* Both, and traffic until both are ARMED. */
void migrate_arm(struct sim_qp *a, struct sim_qp *b, uint8_t port_num);

struct roost_qp_attr migrate_query(struct sim_qp *qp);
void migrate_expect_state(struct sim_qp *qp, enum roost_mig_state state);
/* So many PATH_MIG at each, and no PATH_MIG_ERR. */
void migrate_expect_events(struct sim_qp *a, struct sim_qp *b, uint32_t nb);

/* Post so many messages in both directions. */
void migrate_traffic(struct sim_qp *a, struct sim_qp *b, int nb);
/* The same of every kind of request, while time goes on. */
void migrate_mix(struct sim_qp *a, struct sim_qp *b, int nb);

/* Everything sent on that link is lost; and the end of that. */
void migrate_silence(struct sim_link *link);
void migrate_restore(struct sim_link *link);
/* Both links, both directions. */
void migrate_set_faults(struct sim *sim, const struct sim_faults *faults);

#endif
