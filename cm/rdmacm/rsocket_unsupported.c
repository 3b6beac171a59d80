/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * rsockets are not supported: each call answers -1 and EOPNOTSUPP. Programs
 * are linked against all names of the library, whichever they call. An answer
 * looks at none of its arguments, so one function serves calls of every
 * signature: the calling conventions of Linux leave arguments to the caller.
 */

#include <errno.h>

#include <rdma/rsocket.h>

static __attribute__((used)) long minus_one(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

/* The attribute of another signature is what this file is about. */
#pragma GCC diagnostic ignored "-Wattribute-alias"
#define UNSUPPORTED(name)                                                      \
	extern __typeof__(name) name __attribute__((alias("minus_one")))

UNSUPPORTED(rsocket);
UNSUPPORTED(rbind);
UNSUPPORTED(rlisten);
UNSUPPORTED(raccept);
UNSUPPORTED(rconnect);
UNSUPPORTED(rshutdown);
UNSUPPORTED(rclose);
UNSUPPORTED(rrecv);
UNSUPPORTED(rrecvfrom);
UNSUPPORTED(rrecvmsg);
UNSUPPORTED(rsend);
UNSUPPORTED(rsendto);
UNSUPPORTED(rsendmsg);
UNSUPPORTED(rread);
UNSUPPORTED(rreadv);
UNSUPPORTED(rwrite);
UNSUPPORTED(rwritev);
UNSUPPORTED(rpoll);
UNSUPPORTED(rselect);
UNSUPPORTED(rgetpeername);
UNSUPPORTED(rgetsockname);
UNSUPPORTED(rsetsockopt);
UNSUPPORTED(rgetsockopt);
UNSUPPORTED(rfcntl);
UNSUPPORTED(riomap);
UNSUPPORTED(riounmap);
UNSUPPORTED(riowrite);
