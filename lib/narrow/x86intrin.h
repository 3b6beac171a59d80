/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_NARROW_X86INTRIN_H
#define ROOST_NARROW_X86INTRIN_H

/*
 * In the place of the compiler's header of this name, for DPDK's rte_vect.h,
 * which each file with a struct rte_mbuf includes. gcc takes half a second for
 * all of that header, more than for the rest of most files; DPDK's inline
 * functions need no more than SSE of it, and, as of 24.11, what has no vectors;
 * unless the compiler is told of a processor that has AVX.
 */
#if defined(__AVX__) || defined(__clang__) || !__has_include(<x86gprintrin.h>)
#include_next <x86intrin.h>
#else
#include <nmmintrin.h>
#include <x86gprintrin.h>
#endif

#endif
