# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""mpi4py: pickled objects, buffers, and a window; each rank looks at all that
it gets.

usage: mpirun -np N python3 mpi_python.py
"""

import array

from mpi4py import MPI

WORDS, BYTES = 100_000, 3_000_000

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
before, after = (rank - 1) % ranks, (rank + 1) % ranks


def is_right(what, good):
    if not good:
        print(f"rank {rank}: {what} is wrong", flush=True)
        world.Abort(1)


objects = world.allgather({"rank": rank, "text": "x" * WORDS})
is_right("allgather", objects == [{"rank": i, "text": "x" * WORDS}
                                  for i in range(ranks)])
mine = array.array("d", [rank] * WORDS)
total = array.array("d", [0.0]) * WORDS
world.Allreduce(mine, total)
is_right("Allreduce", set(total) == {ranks * (ranks - 1) / 2})
got = world.sendrecv(bytes([rank]) * BYTES, dest=after, source=before)
is_right("sendrecv", got == bytes([before]) * BYTES)
window = MPI.Win.Allocate(BYTES, 1, comm=world)
window.Fence()
window.Put(bytearray([rank + 1]) * BYTES, after)
window.Fence()
is_right("Put", bytes(window.tomemory()) == bytes([before + 1]) * BYTES)
window.Free()
world.Barrier()
if rank == 0:
    print(f"{ranks} ranks: right", flush=True)
