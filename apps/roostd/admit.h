/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_ADMIT_H
#define ROOST_APPS_ROOSTD_ADMIT_H

/*
 * What the policy says of one session: may it become a client, and with what
 * limits (policy.h); and the policies of a file that was read again, applied to
 * the clients that there are.
 *
 * Thread: the daemon's first one, which holds the others (crew.h);
 * roostd_admit_refuse(): the port's, too.
 */

#include "apps/roostd/policy.h"
#include "apps/roostd/port.h"

struct roostd_admission {
	struct roost_client_conf conf;
	struct roost_shm_shape shape; /* of the memory for it */
};

/*
 * May the session attach to the port? Has no effect but on what the client
 * remembers of its policy. had: it has a ticket of the daemon before, and had
 * this address of its own (zeros: none), which it has again if the policy still
 * has that; it is not one client more. NULL: it is new. Returns 0; -EACCES,
 * -EDQUOT: no, and refusal has the rule; -errno of getsockopt(2), -ENOMEM, with
 * an empty refusal.
 */
int roostd_admit(struct roostd_port *port, struct roostd_client *c,
		 const struct roost_gid *had,
		 struct roostd_admission *admission,
		 char refusal[ROOSTD_REFUSAL_MAX]);

/* The line for a client that has what its policy allows of it. */
void roostd_admit_refuse(const struct roostd_port *port,
			 const struct roostd_client *c, enum roostd_limit limit,
			 char refusal[ROOSTD_REFUSAL_MAX]);

/*
 * The policies have changed: limits, rates and weights of the port's clients
 * follow. Nobody is dropped: what a client has beyond a new limit stays its
 * own, and a client that no policy is for any more keeps its limits, with a
 * line on stderr; `direct = no` of the service is for it too. Addresses are for
 * new clients.
 */
void roostd_admit_again(struct roostd_port *port);

#endif
