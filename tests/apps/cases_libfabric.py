# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Programs on libraries that are on librdmacm: both ends, data checked."""

import os

import cases_hub
import rooms
from harness import RUN, Case, Failure, Skip
from process import wait_for_listener
from wire import ip

# The word for an endpoint, and the provider that has it.
LIBFABRIC = {"msg": "verbs", "rdm": "verbs;ofi_rxm"}


def known_to_the_kernel(room):
    """A namespace where interfaces of the kernel have both addresses, as for a
    port that the kernel shares: libfabric takes its addresses from there.
    """
    if not rooms.inside():
        raise Skip("needs network namespaces of its own; run as root")
    netns = f"real-{RUN}-fi-{room.port}"
    ip("netns", "add", netns)
    room.defer(ip, "netns", "del", netns)
    inside = ("-n", netns)
    ip(*inside, "link", "add", "fi0", "type", "veth", "peer", "fi1")
    for number in (1, 2):
        ip(*inside, "addr", "add", f"198.18.0.{number}/24", "dev", "fi0")
    for name in ("lo", "fi0", "fi1"):
        ip(*inside, "link", "set", name, "up")
    return netns


def libfabric(room, ends, endpoint, netns_of=lambda room: None,
              host="198.18.0.1"):
    """Ping-pongs of all sizes up to 1 MiB. ends: of the launcher's options."""
    if not os.path.exists("/usr/bin/fi_pingpong"):
        raise Skip("libfabric-bin is not installed")
    netns = netns_of(room)
    port = str(room.next_port())
    words = ("fi_pingpong", "-c", "-p", LIBFABRIC[endpoint], "-e", endpoint)
    options = [[word.format(link=room.link) for word in end] for end in ends]
    server = room.start("server", room.roost("run", *options[0], "--", *words,
                                             "-B", port), netns)
    if not wait_for_listener(server, int(port), 20):
        raise Failure("server: does not listen")
    client = room.run("client", room.roost("run", *options[1], "--", *words,
                                           "-P", port, host), netns)
    room.finish(server)
    for end in (server, client):
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")
        if "\n1m " not in end.out():
            raise Failure(f"{end.title}: not all sizes")


def at_hub(room, *args):
    room.defer(cases_hub.gone)
    libfabric(room, (["--hub"], ["--hub"]), *args)


LINK = [["--link", "{link}", "--ip", f"198.18.0.{number}/24"]
        for number in (1, 2)]

CASES = [
    # Nothing but the port's GIDs are known: AF_IB, and to 127.0.0.1.
    Case("hub-libfabric-msg", at_hub, "msg", lambda room: None, "127.0.0.1"),
    Case("hub-libfabric-msg-ip", at_hub, "msg", known_to_the_kernel),
    Case("hub-libfabric-rxm-ip", at_hub, "rdm", known_to_the_kernel),
    Case("libfabric-msg", libfabric, LINK, "msg", known_to_the_kernel),
    Case("libfabric-rxm", libfabric, LINK, "rdm", known_to_the_kernel),
]
