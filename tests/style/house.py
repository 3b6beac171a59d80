# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The rooms of the house, and who may know whom: the one table for includes
(rules.py) and for symbols (rooms).

A room is a folder, or one file of it, without the folders below that are rooms
themselves.
"""

# The engine, for those who use it.
ENGINE = ("lib/engine", "lib/engine/core", "lib/engine/sched",
          "lib/engine/transport")

# Every room of pmd_glue may use these.
GLUE = (*ENGINE, "lib/wire", "lib/event", "lib/config")

# Room -> the rooms below, which it may include and call, besides itself.
ARROWS = {
    "lib/wire": (),
    "lib/event": (),
    "lib/config": ("lib/wire",),
    "lib/sysfs": ("lib/wire",),
    # In every program, beside everything: it knows only where a picture is.
    "lib/preload": ("lib/sysfs",),
    "lib/engine/core": ("lib/wire", "lib/event"),
    "lib/engine/cc": ("lib/engine/core", "lib/wire"),
    "lib/engine/sched": ("lib/engine/core", "lib/wire", "lib/event"),
    "lib/engine/transport": ("lib/engine/core", "lib/engine/cc",
                             "lib/engine/sched", "lib/wire", "lib/event"),
    "lib/engine": ("lib/engine/core", "lib/engine/cc", "lib/engine/sched",
                   "lib/engine/transport"),
    "cm": (*ENGINE, "lib/wire", "lib/event"),
    "lib/face": (*ENGINE, "lib/event", "lib/config"),
    "pmd_glue/process": GLUE,
    "pmd_glue/quirks": (*GLUE, "pmd_glue/process"),
    "pmd_glue/progress": (*GLUE, "pmd_glue/process"),
    "pmd_glue/backend": (*GLUE, "pmd_glue/process", "pmd_glue/progress"),
    "pmd_glue/channel": (*GLUE, "pmd_glue/process"),
    "pmd_glue/dump": (*GLUE, "pmd_glue/process", "pmd_glue/channel"),
    "pmd_glue/cable": (*GLUE, "pmd_glue/process", "pmd_glue/channel"),
    "pmd_glue/share": (*GLUE, "pmd_glue/process", "pmd_glue/progress",
                       "pmd_glue/backend", "pmd_glue/kernel", "pmd_glue/host",
                       "pmd_glue/channel"),
    "pmd_glue/kernel": (*GLUE, "pmd_glue/process", "pmd_glue/progress"),
    "pmd_glue/port": (*GLUE, "pmd_glue/process", "pmd_glue/quirks",
                      "pmd_glue/kernel", "pmd_glue/cable"),
    "pmd_glue/host": (*GLUE, "pmd_glue/process", "pmd_glue/kernel"),
    "pmd_glue/netif": (*GLUE, "pmd_glue/process", "pmd_glue/progress",
                       "pmd_glue/backend", "pmd_glue/kernel", "pmd_glue/port",
                       "pmd_glue/cable", "pmd_glue/host"),
    "pmd_glue/ctl": (*GLUE, "pmd_glue/process", "pmd_glue/backend",
                     "pmd_glue/dump"),
    "pmd_glue": (*GLUE, "pmd_glue/process", "pmd_glue/progress",
                 "pmd_glue/backend", "pmd_glue/kernel", "pmd_glue/port",
                 "pmd_glue/host", "pmd_glue/netif", "pmd_glue/ctl",
                 "pmd_glue/share", "pmd_glue/dump", "lib/sysfs", "lib/face"),
    "lib/uncancelled.c": (),
    "lib/verbs": (*ENGINE, "lib/face", "lib/wire", "lib/event", "lib/config"),
    "cm/rdmacm": (*ENGINE, "cm", "lib/verbs", "lib/face", "lib/wire",
                  "lib/event", "lib/config"),
    "cm/rsocket": (),
    # Of any device: on the system's libibverbs and librdmacm.
    "apps/conform": (),
    # A process of roost doctor's that opens a device.
    "apps/probe": (*GLUE, "cm", "lib/face", "pmd_glue", "pmd_glue/backend",
                   "pmd_glue/host", "pmd_glue/process"),
    "apps": ("apps/probe", "lib/config", "lib/wire", "lib/sysfs", "lib/face",
             "pmd_glue/process", "pmd_glue/kernel", "pmd_glue/port",
             "pmd_glue/share", "pmd_glue/dump"),
    "apps/roostd": (*GLUE, "apps", "apps/roostd/switch", "cm", "pmd_glue",
                    "pmd_glue/process", "pmd_glue/channel", "pmd_glue/share",
                    "pmd_glue/ctl", "pmd_glue/host", "pmd_glue/netif",
                    "pmd_glue/dump", "lib/sysfs"),
    "apps/roostd/switch": ("lib/engine/core", "cm", "lib/wire"),
    # As appliances: what public headers declare, wherever its code is.
    "apps/examples": (*ENGINE, "cm", "lib/face", "lib/event", "lib/wire",
                      "lib/config", "pmd_glue"),
}

# Room -> rooms of which it may call what an installed header declares: <roost/
# roost.h>, <infiniband/*>, <rdma/*>. It may include no other of theirs.
CALLS = {
    "apps": ("pmd_glue",),
    "apps/conform": ("lib/verbs", "cm/rdmacm"),
    "lib/verbs": ("pmd_glue",),
    "cm/rdmacm": ("pmd_glue",),
    "cm/rsocket": ("cm/rdmacm", "lib/verbs"),
}

# Whose a public header is; the others are those of the engine's objects.
PUBLIC = "lib/include/roost/"
PUBLIC_ROOMS = {
    "channel.h": "lib/event",
    "cm.h": "cm",
    "config.h": "lib/config",
    "drop.h": "lib/wire",
    "ecn.h": "lib/wire",
    "qos.h": "lib/wire",
    "gid.h": "lib/wire",
    "loop.h": "lib/face",
    "roost.h": "lib/face",
}

# (room, room) -> pairs of files with an arrow that ARROWS does not have. No
# number grows.
DEBTS = {}

# Room -> files in the largest circle inside it, where that is more than one. No
# number grows.
LARGEST_CIRCLE = {
    "cm": 2,
    "cm/rdmacm": 5,
    "cm/rsocket": 5,
    "lib/engine/core": 4,
    "lib/engine/transport": 2,
    "pmd_glue/netif": 3,
}


def room_of(path):
    """The longest room that the path is in; its first folder where none."""
    if path.startswith(PUBLIC):
        return PUBLIC_ROOMS.get(path[len(PUBLIC):], "lib/engine/core")
    rooms = [room for room in ARROWS
             if path == room or path.startswith(room + "/")]
    return max(rooms, key=len) if rooms else path.split("/", 1)[0]


def may_call(caller, callee):
    """By symbols."""
    return callee in ARROWS.get(caller, ()) + CALLS.get(caller, ())
