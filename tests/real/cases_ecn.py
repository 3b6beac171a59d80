# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Packets with the mark of a switch, and the CNPs that answer them, as tshark
sees both. The sender of the packets marks them itself, by their traffic class,
or a switch of ours does: a slow wire with a queue before it."""

import re
import signal

import cases_ctl
import dissect
from cases_vlan import finish_all, none_but, send_bw, vlan_options
from harness import Case, Failure
from process import wait_until
from wire import TCP_ADDRESSES, Capture, Wire, relayed

MARKED = 106 | 3  # DSCP 26, ECN = CE
CNP = "infiniband.bth.opcode == 0x81"
BECN_ALONE = "udp.payload[4:1] == 40"
NEVER_MARKED = "ip.dsfield.dscp == 48 && ip.dsfield.ecn == 0"


def answered(room, *options):
    wire = Wire(room)
    capture = Capture(wire)
    finish_all(room, send_bw(
        room, wire, lambda end: vlan_options(end, [0]),
        ["-x", "1", f"--tclass={MARKED}", *options]))
    path = capture.stop()
    dissect.check_malformed(path)
    dissect.check_icrc(path)
    none_but(path, CNP, f"{BECN_ALONE} && {NEVER_MARKED} && "
             "infiniband.bth.psn == 0 && udp.length == 40")
    marked = len(dissect.tshark(
        path, "-Y", f"ip.dsfield.ecn == 3 && !({CNP})").splitlines())
    cnps = len(dissect.tshark(path, "-Y", CNP).splitlines())
    if not 0 < cnps <= marked:
        raise Failure(f"{cnps} CNPs answer {marked} marked packets")
    room.note(f"{cnps} CNPs for {marked} marked packets")


def unmarked(room):
    """ECT(0) alone is no mark."""
    wire = Wire(room)
    capture = Capture(wire)
    finish_all(room, send_bw(
        room, wire, lambda end: vlan_options(end, [0]),
        ["-x", "1", f"--tclass={106}"]))
    path = capture.stop()
    if not dissect.tshark(path, "-Y", "ip.dsfield.ecn == 2 && infiniband"):
        raise Failure("the traffic class is not the program's")
    if dissect.tshark(path, "-Y", CNP):
        raise Failure("a CNP answers a packet without a mark")


def qp_of(room, end, netns):
    qps = cases_ctl.show(room, end, "qp", netns=netns)["qps"]
    return qps[0] if qps else {"cc_rate_kbps": 0}


# Two ends that share processors answer once in milliseconds, which alpha would
# forget. Nothing but time brings the rate back.
SLOW = {"ROOST_DCQCN": "1", "ROOST_DCE_TCP_RTT": "10000",
        "ROOST_RPG_TIME_RESET": "131071", "ROOST_RPG_BYTE_RESET": "0",
        "ROOST_RPG_MIN_RATE": "50"}


def limited(room):
    """All is marked: the rate falls as low as it may. Whoever disables the
    reaction point, by roost ctl, ends that.
    """
    wire = Wire(room)
    port = room.next_port()
    words = ["ib_send_bw", "-p", str(port), "-n", "20000", "-s", "1024", "-x",
             "1", f"--tclass={MARKED}", "-u", "20"]
    server = wire.start("left", "server", vlan_options("left", [0]), words)
    client = wire.start("right", "client", vlan_options("right", [0]),
                        [*words, TCP_ADDRESSES["left"]])
    client["env"] = SLOW
    ends = room.pair_start(server, client, port)
    spaces = [wire.netns["left"], wire.netns["right"]]
    if not wait_until(lambda: cases_ctl.has_socket(ends[1]), 20):
        raise Failure("the client has no control socket")
    if not wait_until(lambda: qp_of(room, ends[1], spaces[1])
                      ["cc_rate_kbps"] == 50000, 20):
        raise Failure("the rate of the client does not fall")
    counters = [cases_ctl.show(room, end, "counters", netns=space)["counters"]
                for end, space in zip(ends, spaces)]
    if counters[0]["np_cnp_sent"] == 0 or counters[1]["rp_cnp_handled"] == 0:
        raise Failure(f"counters: {counters}")
    cases_ctl.ctl(room, ends[1], "ecn", "roce_rp_enable", "0",
                  netns=spaces[1])
    finish_all(room, ends)


# A wire that a slow machine can fill.
RATE_MBPS, QUEUE, MARK_AT = 50, 256, 25


def queued(room, marks, *harm):
    """More than the wire takes: the switch marks and loses nothing, or it
    loses, and all data comes nevertheless. harm: what it does besides.
    """
    harm = [f"rate={RATE_MBPS}", f"queue={QUEUE}", *harm]
    wire = relayed(room, *harm, *([f"mark-at={MARK_AT}"] if marks else []))
    capture = Capture(wire)
    port = room.next_port()
    words = ["ib_write_bw", "-p", str(port), "-x", "1", "-m", "1024", "-s",
             "65536", "-n", "100", "-q", "4", "-F"]
    started = []
    for end, title, rest in (("left", "server", []),
                             ("right", "client", [TCP_ADDRESSES["left"]])):
        started.append(wire.start(
            end, title, ["--ip", f"198.18.0.{1 + (end == 'right')}/24"],
            [*words, *rest]))
        started[-1]["env"] = {"ROOST_ECT": "1"} if marks else {}
    ends = room.pair_start(*started, port)
    finish_all(room, ends)
    path = capture.stop()
    wire.relay.signal(signal.SIGTERM)
    wire.relay.wait(20)
    # The first one is that of the way to the right.
    marked, full, most = (int(number) for number in re.findall(
        r"marked (\d+), no room for (\d+), at most (\d+) in",
        wire.relay.out())[1])
    room.note(f"marked {marked}, lost {full}, at most {most} in the queue")
    ce = len(dissect.tshark(path, "-Y", "ip.dsfield.ecn == 3").splitlines())
    cnps = len(dissect.tshark(path, "-Y", CNP).splitlines())
    if marks != (marked > 0 and ce > 0 and cnps > 0) or marks != (full == 0):
        raise Failure(f"{marked} marked, {ce} seen, {cnps} CNPs, {full} lost")
    room.note(f"CE {ce}, CNPs {cnps} in the capture")
    if marks:
        none_but(path, CNP, f"{BECN_ALONE} && {NEVER_MARKED}")
    if harm[2:]:
        lost = re.search(r"lost (\d+) of \d+ RoCEv2", wire.relay.out())
        if not lost or int(lost.group(1)) == 0:
            raise Failure(f"nothing lost: {wire.relay.out()[-200:]}")
        room.note(lost.group(0))


CASES = [
    Case("ecn-queue-marks", queued, True),
    Case("ecn-queue-loses", queued, False),
    Case("ecn-queue-marks-loss", queued, True, "percent=1", "seed=4791"),
    Case("ecn-rc", answered),
    Case("ecn-uc", answered, "-c", "UC"),
    Case("ecn-ud", answered, "-c", "UD", "-s", "2048"),
    Case("ecn-unmarked", unmarked),
    Case("ecn-limited", limited),
]
