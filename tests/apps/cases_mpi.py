# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""MPI: Debian's Open MPI and MPICH, unmodified, with a program that looks at
every byte (ranks.c), at one hub and over a wire.

All ranks of a machine are started by one `roost run`. More of them than
processors: the libraries are told to yield while they wait.
"""

import os
import shutil
import tempfile

import cases_hub
import cases_libfabric
from cases_sysfs import need
from harness import Case, Failure, Skip
from leftovers import sockets
from process import wait_until
from service import FAR, NEAR, Service
from wire import TCP_ADDRESSES, Wire

HERE = os.path.dirname(os.path.abspath(__file__))
RUN_S = 100
NETPIPE_SIZES = 37

# How a library is told that ranks share processors, and to use RDMA alone.
# What is not in UCX_TLS is not used: no shared memory, no TCP. UCX says at
# "info" what it sends over.
UCX = {"UCX_TLS": "rc_v,ud_v,self", "UCX_LOG_LEVEL": "info",
       "UCX_WARN_UNUSED_ENV_VARS": "n"}
CROWDED = {
    "openmpi": {"OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"},
}
# MPICH has shared memory of its own between ranks of one machine.
RDMA = {
    "openmpi": {**UCX, "OMPI_MCA_pml": "ucx", "OMPI_MCA_osc": "ucx"},
    "mpich": {**UCX, "MPIR_CVAR_NOLOCAL": "1"},
}
OFI = {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_osc": "pt2pt",
       "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm"}
TWO_SIDED = ("messages", "unexpected", "collectives")
ALL = (*TWO_SIDED, "window", "dynamic")

# A remote shell: a host is a network namespace, with a name and a service of
# its own. {roost}, {netns} and {service}: see over_wire.
SHELL = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
shift
exec nsenter --net=/run/netns/{netns} unshare --uts sh -c '
hostname far; exec "$@"' sh {roost} run --service {service} -- sh -c "$*"
"""


def compiled(room, library):
    """ranks.c, by this library's compiler."""
    compiler = f"mpicc.{library}"
    need(compiler, f"mpirun.{library}")
    program = room.path("ranks")
    done = room.run("compiler", [compiler, "-O2", "-w", "-o", program,
                                 os.path.join(HERE, "ranks.c")])
    if done.status != 0:
        raise Failure(f"compiler: exit status {done.status}")
    return program


def check(room, done, ranks, parts):
    """All parts were right, by the ranks themselves, and nobody complained."""
    if done.status != 0:
        raise Failure(f"mpirun: exit status {done.status}")
    lines = [line for line in done.out().splitlines() if " right, " in line]
    wanted = [f"{ranks} ranks: {part}: right" for part in parts]
    if [line.split(",")[0] for line in lines] != wanted:
        raise Failure(f"mpirun: {lines}")
    said = [line for line in done.err().splitlines() if "UCX  INFO" not in line]
    if said:
        raise Failure(f"mpirun: says {said[:3]}")
    room.note("; ".join(line.split(": ", 1)[1] for line in lines))


def check_lanes(done):
    """UCX's own account of what it sends over: Roost's device, and nothing
    else between two ranks.
    """
    text = done.out() + done.err()
    if "rc_verbs/roost0:1" not in text and "ud_verbs/roost0:1" not in text:
        raise Failure("mpirun: UCX does not use roost0")
    for other in ("posix/", "sysv/", "cma/", "tcp/"):
        if other in text:
            raise Failure(f"mpirun: UCX uses {other}")


# ---- at a hub --------------------------------------------------------------

def gone():
    """The hub of the user who ran the ranks."""
    name = f"@roost/{cases_hub.USER}/hub"
    if not wait_until(lambda: name not in sockets(), cases_hub.HUB_END_S):
        raise Failure("the hub stays")


def as_user(room, library, ranks, parts, env, netns=None):
    """All ranks of an ordinary user, who names no port. Returns mpirun, which
    ended."""
    program = compiled(room, library)
    room.defer(gone)
    # The user may not enter the folder of the tests.
    words = room.roost("run", "--", "env", "-C", "/", f"mpirun.{library}",
                       "-np", str(ranks), program, *parts)
    return room.run("mpirun", cases_hub.as_user(room, words), netns,
                    {"HOME": "/", **CROWDED[library], **env}, RUN_S)


def plain(room, library, ranks):
    """Nothing is said but what runs: the library chooses."""
    done = as_user(room, library, ranks, TWO_SIDED, {})
    check(room, done, ranks, TWO_SIDED)


def rdma(room, library, ranks, parts):
    done = as_user(room, library, ranks, parts, RDMA[library])
    check(room, done, ranks, parts)
    check_lanes(done)


def ofi(room, ranks):
    """Open MPI over libfabric, which takes addresses from the kernel."""
    netns = cases_libfabric.known_to_the_kernel(room)
    done = as_user(room, "openmpi", ranks, ALL, OFI, netns)
    check(room, done, ranks, ALL)


def over_ucx(room, ranks, *words):
    """Debian's program, of an ordinary user. Returns what it says."""
    need("mpirun.openmpi")
    room.defer(gone)
    argv = room.roost("run", "--", "env", "-C", "/", "mpirun.openmpi", "-np",
                      str(ranks), *words)
    done = room.run("mpirun", cases_hub.as_user(room, argv), None,
                    {"HOME": "/", **CROWDED["openmpi"], **RDMA["openmpi"]},
                    RUN_S)
    if done.status != 0:
        raise Failure(f"mpirun: exit status {done.status}")
    check_lanes(done)
    return done.out() + done.err()


def mpi4py(room):
    python = "/usr/bin/python3"
    if room.run("module", [python, "-c", "import mpi4py"]).status != 0:
        raise Skip("python3-mpi4py is not installed")
    said = over_ucx(room, 4, python, "-B", os.path.join(HERE, "mpi_python.py"))
    if "4 ranks: right" not in said:
        raise Failure("mpirun: does not say that all is right")


def netpipe(room):
    """Its own look at each byte, of 5 bytes to 1 MiB."""
    need("NPopenmpi")
    said = over_ucx(room, 2, "NPopenmpi", "-i", "-n", "20", "-u", "1048580",
                    "-o", "/dev/null")
    if said.count("Integrity check passed") < NETPIPE_SIZES:
        raise Failure("mpirun: not all sizes")
    if "failed" in said:
        raise Failure("mpirun: a byte is wrong")


HPCC_SAMPLE = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
HPCC_SMALLER = (("1000         Ns", "400 Ns"), ("1200 10000 30000", "200"))
# What it says of its own results, in the end.
HPCC_RIGHT = ("Success=1", "PTRANS_residual=0",
              "MPIRandomAccess_ErrorsFraction=0",
              "MPIRandomAccess_LCG_ErrorsFraction=0")


def hpcc(room):
    """The HPC Challenge: HPL, PTRANS, RandomAccess and FFT look at what they
    have computed.
    """
    need("hpcc", "mpirun.openmpi")
    room.defer(gone)
    with open(HPCC_SAMPLE, encoding="ascii") as file:
        text = file.read()
    for old, new in HPCC_SMALLER:
        text = text.replace(old, new)
    place = tempfile.mkdtemp(prefix="roost-hpcc-")
    room.defer(shutil.rmtree, place)
    os.chown(place, int(cases_hub.USER), int(cases_hub.USER))
    with open(os.path.join(place, "hpccinf.txt"), "w",
              encoding="ascii") as file:
        file.write(text)
    words = room.roost("run", "--", "env", "-C", place, "mpirun.openmpi",
                       "-np", "4", "hpcc")
    done = room.run("mpirun", cases_hub.as_user(room, words), None,
                    {"HOME": "/", **CROWDED["openmpi"], **RDMA["openmpi"]},
                    RUN_S)
    if done.status != 0:
        raise Failure(f"mpirun: exit status {done.status}")
    check_lanes(done)
    with open(os.path.join(place, "hpccoutf.txt"), encoding="ascii") as file:
        result = file.read()
    missing = [line for line in HPCC_RIGHT if line not in result.split("\n")]
    if missing or "FAILED" in result or "...... PASSED" not in result:
        raise Failure(f"hpcc: no {missing}, or a part failed")


# ---- over a wire -----------------------------------------------------------

def far_shell(room, service):
    path = room.path("shell")
    with open(path, "w", encoding="ascii") as file:
        file.write(SHELL.format(
            roost=room.roost()[0], netns=service.wire.netns[FAR],
            service=service.path))
    os.chmod(path, 0o755)
    return path


LAUNCH = {
    "openmpi": ["--allow-run-as-root", "--mca", "plm_rsh_agent", "{shell}",
                "--host", "{near}:2,{far}:2", "-np", "4"],
    "mpich": ["-launcher", "ssh", "-launcher-exec", "{shell}", "-hosts",
              "{near}:2,{far}:2", "-np", "4"],
}


def over_wire(room, library, env, parts):
    """Two ranks in each of two namespaces, behind a daemon each."""
    program = compiled(room, library)
    wire = Wire(room)
    near, far = (Service(room, wire=wire, end=end, ips=env is not OFI,
                         path=f"/run/{room.name}-{end}.sock")
                 for end in (NEAR, FAR))
    known = {"shell": far_shell(room, far), "near": TCP_ADDRESSES[NEAR],
             "far": TCP_ADDRESSES[FAR]}
    launch = [word.format(**known) for word in LAUNCH[library]]
    done = room.run(**near.client("mpirun", [
        f"mpirun.{library}", *launch, program, *parts]),
        env={**CROWDED[library], **env}, limit_s=RUN_S)
    check(room, done, 4, parts)
    if env is not OFI:
        check_lanes(done)


CASES = [Case(f"mpi-{library}", plain, library, 4) for library in CROWDED]
CASES += [Case(f"mpi-{library}-rdma-{ranks}", rdma, library, ranks, parts)
          for library, ranks, parts in (
              ("openmpi", 2, ALL), ("openmpi", 4, ALL),
              ("openmpi", 8, TWO_SIDED), ("mpich", 2, ALL), ("mpich", 4, ALL),
              ("mpich", 8, ALL))]
# Debian's MPICH cannot, over TCP and shared memory either.
CASES += [Case("mpi-openmpi-spawn", rdma, "openmpi", 2, ("spawn",))]
CASES += [Case("mpi-python", mpi4py), Case("mpi-netpipe", netpipe)]
CASES += [Case("mpi-hpcc", hpcc)]
CASES += [Case(f"mpi-openmpi-ofi-{ranks}", ofi, ranks) for ranks in (2, 4)]
CASES += [Case(f"mpi-{library}-wire", over_wire, library, RDMA[library], ALL)
          for library in CROWDED]
CASES += [Case("mpi-openmpi-wire-ofi", over_wire, "openmpi", OFI, TWO_SIDED)]
