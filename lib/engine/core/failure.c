/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * QPs that fail by themselves, for those who watch (flight.h). The holder of
 * the turn copies the QP into a slot; the control thread tells it. A program
 * may destroy the QP meanwhile, or exit: then its last call tells it.
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/core/flight.h"
#include "lib/engine/core/qp_priv.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/view_priv.h"

struct roost_failures {
	struct roost_dev_service service;
	void (*fn)(void *arg, const struct roost_qp_view *qp,
		   unsigned int lost);
	void *arg;
	struct roost_spin lock; /* of all below */
	unsigned int first, nb; /* of the ring of slots */
	unsigned int lost;
	struct roost_qp_view slots[ROOST_FAILURES_MAX];
};

/* Returns false: there is none. The lock is held. */
static bool take(struct roost_failures *f, struct roost_qp_view *qp,
		 unsigned int *lost)
{
	bool any = f->nb > 0;

	if (any) {
		*qp = f->slots[f->first];
		*lost = f->lost;
		f->first = (f->first + 1) % ROOST_FAILURES_MAX;
		f->nb--;
		f->lost = 0;
	}
	return any;
}

/* Thread: the control thread. */
static void tell(struct roost_failures *f)
{
	struct roost_qp_view qp;
	unsigned int lost;
	bool any = true;

	while (any) {
		roost_spin_lock(&f->lock);
		any = take(f, &qp, &lost);
		roost_spin_unlock(&f->lock);
		if (any)
			f->fn(f->arg, &qp, lost);
	}
}

/* At the exit of the process, who has the lock may be gone. */
static void flush(void *arg)
{
	struct roost_failures *f = arg;
	struct roost_qp_view qp;
	unsigned int lost;
	bool any = true;

	while (any && roost_spin_try(&f->lock)) {
		any = take(f, &qp, &lost);
		roost_spin_unlock(&f->lock);
		if (any)
			f->fn(f->arg, &qp, lost);
	}
}

static uint64_t run(void *arg, uint64_t now_ns __attribute__((unused)))
{
	tell(arg);
	return UINT64_MAX;
}

int roost_dev_watch_failures(struct roost_dev *dev,
			     void (*fn)(void *arg,
					const struct roost_qp_view *qp,
					unsigned int lost),
			     void *arg)
{
	struct roost_failures *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fn = fn;
	f->arg = arg;
	f->service = (struct roost_dev_service){
		.run = run,
		.flush = flush,
		.arg = f,
	};
	dev->failures = f;
	roost_dev_service_add(dev, &f->service);
	return 0;
}

void roost_dev_unwatch_failures(struct roost_dev *dev)
{
	struct roost_failures *f = dev->failures;

	if (!f)
		return;
	roost_dev_service_remove(dev, &f->service);
	tell(f);
	dev->failures = NULL;
	free(f);
}

void roost_failure_note(struct roost_qp *qp)
{
	struct roost_failures *f = qp->dev->failures;

	if (!f || roost_qp_error_code(qp) == ROOST_QPE_MODIFIED)
		return;
	roost_spin_lock(&f->lock);
	if (f->nb < ROOST_FAILURES_MAX) {
		roost_view_qp(
			qp, &f->slots[(f->first + f->nb) % ROOST_FAILURES_MAX]);
		f->nb++;
	} else {
		f->lost++;
	}
	roost_spin_unlock(&f->lock);
	roost_dev_service_wake(qp->dev);
}
