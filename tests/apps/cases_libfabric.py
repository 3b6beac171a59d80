# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Programs on libraries that are on librdmacm: both ends, data checked."""

import os

import cases_hub
import rooms
from harness import RUN, Case, Failure, Skip
from process import wait_for_listener
from wire import ip

# By name: the provider, its word for an endpoint, the largest size.
LIBFABRIC = {
    "msg": ("verbs", "msg", "1m"),
    "dgram": ("verbs", "dgram", "4k"),
    "rxm": ("verbs;ofi_rxm", "rdm", "1m"),
    "rxd": ("verbs;ofi_rxd", "rdm", "1m"),
}


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


def libfabric(room, ends, kind, netns_of=lambda room: None,
              host="198.18.0.1"):
    """Ping-pongs of all sizes. ends: of the launcher's options."""
    if not os.path.exists("/usr/bin/fi_pingpong"):
        raise Skip("libfabric-bin is not installed")
    netns = netns_of(room)
    port = str(room.next_port())
    provider, endpoint, largest = LIBFABRIC[kind]
    words = ("fi_pingpong", "-c", "-p", provider, "-e", endpoint)
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
        if f"\n{largest} " not in end.out():
            raise Failure(f"{end.title}: not all sizes")


def at_hub(room, *args):
    room.defer(cases_hub.gone)
    libfabric(room, (["--hub"], ["--hub"]), *args)


LINK = [["--link", "{link}", "--ip", f"198.18.0.{number}/24"]
        for number in (1, 2)]

# rxm has a thread that closes a connection when the peer has gone. Where the
# program's own thread does not get a processor meanwhile, completions that it
# has not polled yet are lost with the connection, on any device.
CASES = [
    # Nothing but the port's GIDs are known: AF_IB, and to 127.0.0.1.
    Case("hub-libfabric-msg", at_hub, "msg", lambda room: None, "127.0.0.1"),
    Case("hub-libfabric-dgram", at_hub, "dgram", lambda room: None,
         "127.0.0.1"),
    Case("hub-libfabric-rxd", at_hub, "rxd", lambda room: None, "127.0.0.1"),
    Case("hub-libfabric-msg-ip", at_hub, "msg", known_to_the_kernel),
    Case("hub-libfabric-rxm-ip", at_hub, "rxm", known_to_the_kernel,
         alone=True),
    Case("libfabric-msg", libfabric, LINK, "msg", known_to_the_kernel),
    Case("libfabric-rxm", libfabric, LINK, "rxm", known_to_the_kernel,
         alone=True),
]
