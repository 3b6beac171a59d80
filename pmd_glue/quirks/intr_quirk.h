/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_INTR_QUIRK_H
#define ROOST_PMD_GLUE_QUIRKS_INTR_QUIRK_H

/*
 * The interrupt gate (pmd_glue/quirks/intr_gate.h) as members of a struct
 * roost_quirk, for the drivers that need it. Thread: as there.
 */

#include "pmd_glue/quirks/quirk.h"

int roost_intr_quirk_open(struct roost_quirk_port *port,
			  const struct roost_quirk_conf *conf, char *why,
			  size_t size);
void roost_intr_quirk_close(struct roost_quirk_port *port);
void roost_intr_quirk_enter(struct roost_quirk_port *port);
/* The gate takes the worker's turn, too. */
void roost_intr_quirk_add_worker(struct roost_quirk_worker *w,
				 struct roost_worker *worker);
void roost_intr_quirk_del_worker(struct roost_quirk_worker *w);
void roost_intr_quirk_hang_up(const struct roost_quirk_port *port);
bool roost_intr_quirk_is_busy(const struct roost_quirk_port *port);

#endif
