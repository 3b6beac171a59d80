#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Debian's pyverbs, and the ways in which Python makes processes.

usage: children.py
"""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys

from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs import enums

CHILD_S = 20


def fails(wanted, call, *args):
    """The call raises this errno, at once."""
    try:
        call(*args)
    except PyverbsRDMAError as error:
        assert error.error_code in (wanted, 0), (call, error)
        return
    except PyverbsError as error:
        assert os.strerror(wanted) in str(error), (call, error)
        return
    raise AssertionError(f"{call} works")


def use(context, pd, cq, channel):
    """What a child tries with what it inherited, and with the device."""
    signal.alarm(CHILD_S)
    fails(errno.EIO, PD, context)
    fails(errno.EIO, context.query_port, 1)
    fails(errno.EIO, MR, pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE)
    fails(errno.EIO, cq.poll)
    fails(errno.EIO, channel.get_cq_event, cq)
    # It may have a device of its own: the link's other end.
    assert opens_anew(0) == enums.IBV_PORT_ACTIVE


def close(context, pd, cq, channel):
    """As finalizers do, but in an order that is known."""
    use(context, pd, cq, channel)
    for thing in (cq, channel, pd, context):
        thing.close()


def well(process):
    process.start()
    process.join(CHILD_S)
    assert process.exitcode == 0, process.exitcode


def by_os_fork(things):
    """A child that ends as a program does, finalizers and all."""
    pid = os.fork()
    if pid == 0:
        use(*things)
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def opens_anew(_number):
    """In a child whose device is its own: the link's other end."""
    with Context(name="roost0") as context:
        return context.query_port(1).state


def main():
    assert get_device_list()
    # One that is forked before the device is opened may open it.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(opens_anew, [0]) == [enums.IBV_PORT_ACTIVE]
    context = Context(name="roost0")
    pd = PD(context)
    channel = CompChannel(context)
    cq = CQ(context, 10, None, channel, 0)
    mr = MR(pd, 4096, enums.IBV_ACCESS_LOCAL_WRITE)
    things = (context, pd, cq, channel)
    fork = multiprocessing.get_context("fork")
    for target in (use, close):
        well(fork.Process(target=target, args=things))
    by_os_fork(things)
    subprocess.run(["true"], check=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(opens_anew, [0]) == [enums.IBV_PORT_ACTIVE]
    # And here nothing has happened.
    assert context.query_port(1).state == enums.IBV_PORT_ACTIVE
    assert cq.poll()[0] == 0
    for thing in (mr, cq, channel, pd, context):
        thing.close()
    print("done")


if __name__ == "__main__":
    main()
