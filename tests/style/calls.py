# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the table of rooms (house.py) says of calls: of {(file, file that it
calls): set of symbols}, as symbols.py reads them from a build.

A check returns lines: what is wrong and, indented, where. It has a sample that
breaks it: before it looks at the tree, it has to find that.
"""

import collections

import house


def circles(graph):
    """The groups of two nodes or more that reach each other (strongly
    connected components), the largest first; graph: {node: nodes}.
    """
    heads = {node: set(graph[node]) for node in graph}
    for node in {head for group in graph.values() for head in group}:
        heads.setdefault(node, set())
    tails = collections.defaultdict(set)
    for node in heads:
        for head in heads[node]:
            tails[head].add(node)

    def reach(root, edges, closed):
        """What is reached from root, in the order in which it is left."""
        order, walk = [], [(root, iter(edges[root]))]
        closed.add(root)
        while walk:
            node, rest = walk[-1]
            following = next((head for head in rest if head not in closed),
                             None)
            if following is None:
                order.append(node)
                walk.pop()
            else:
                closed.add(following)
                walk.append((following, iter(edges[following])))
        return order

    # Kosaraju's two walks.
    order, closed = [], set()
    for node in sorted(heads):
        if node not in closed:
            order += reach(node, heads, closed)
    closed = set()
    groups = [sorted(reach(node, tails, closed)) for node in reversed(order)
              if node not in closed]
    return sorted((group for group in groups if len(group) > 1),
                  key=lambda group: (-len(group), group))


def arrows(calls):
    """{(room, room): [(file, file, symbols)]} across rooms."""
    found = collections.defaultdict(list)
    for (caller, callee), names in sorted(calls.items()):
        arrow = house.room_of(caller), house.room_of(callee)
        if arrow[0] != arrow[1]:
            found[arrow].append((caller, callee, sorted(names)))
    return dict(sorted(found.items()))


def rooms_below(calls):
    """A room calls those that its row has."""
    wrong = []
    for (caller, callee), pairs in arrows(calls).items():
        owed = house.DEBTS.get((caller, callee), 0)
        if house.may_call(caller, callee) or len(pairs) <= owed:
            continue
        wrong.append(f"{caller} may not call {callee}, and does from file to "
                     f"file {len(pairs)} times" +
                     (f", where {owed} are known" if owed else ""))
        wrong += [f"  {source} -> {', '.join(names)} -> {target}"
                  for source, target, names in pairs]
    return wrong


def room_circles(calls):
    """Rooms that call each other, debts left out."""
    graph = collections.defaultdict(set)
    for caller, callee in arrows(calls):
        if (caller, callee) not in house.DEBTS:
            graph[caller].add(callee)
    return [" <-> ".join(group) for group in circles(graph)]


def file_groups(calls):
    """{room: circles of its files, the largest first}."""
    graphs = {room: collections.defaultdict(set) for room in house.ARROWS}
    for caller, callee in calls:
        room = house.room_of(caller)
        if room == house.room_of(callee):
            graphs.setdefault(room, collections.defaultdict(set))
            graphs[room][caller].add(callee)
    return {room: circles(graph) for room, graph in graphs.items()}


def group_lines(room, group):
    return [f"{room}: {len(group)} files in a circle",
            *("  " + path for path in group)]


def file_circles(calls):
    """Circles of files are no larger than the room's number."""
    return [line for room, groups in file_groups(calls).items()
            for group in groups
            if len(group) > house.LARGEST_CIRCLE.get(room, 1)
            for line in group_lines(room, group)]


def table(_calls):
    """The table's own arrows go down."""
    graph = {room: {*below, *house.CALLS.get(room, ())}
             for room, below in house.ARROWS.items()}
    return [" <-> ".join(group) for group in circles(graph)] + \
        [f"{room} may call {lower}, which has no row"
         for room, below in graph.items() for lower in sorted(below)
         if lower not in house.ARROWS]


UP = {("lib/wire/a.c", "lib/engine/b.c"): {"f"}}
ROUND = {**UP, ("lib/engine/b.c", "lib/wire/a.c"): {"g"}}
INSIDE = {("lib/wire/a.c", "lib/wire/b.c"): {"f"},
          ("lib/wire/b.c", "lib/wire/c.c"): {"g"},
          ("lib/wire/c.c", "lib/wire/a.c"): {"h"}}
CHECKS = (
    ("a room calls those below it", rooms_below, UP),
    ("rooms call each other in no circle", room_circles, ROUND),
    ("files of a room in few circles", file_circles, INSIDE),
)


def checks(calls):
    """[(name, lines)]."""
    done = [("the table of rooms has no circle", table(calls))]
    for name, check, sample in CHECKS:
        done.append((name, check(calls) if check(sample) else
                     ["the check does not find its own sample"]))
    return done


def notes(calls, every):
    """Numbers of the table that may be smaller; every: and all circles."""
    lines = []
    for room, groups in file_groups(calls).items():
        largest = len(groups[0]) if groups else 1
        known = house.LARGEST_CIRCLE.get(room, 1)
        if largest < known:
            lines.append(f"{room}: write {largest} for {known} in house.py")
        if every:
            lines += [line for group in groups
                      for line in group_lines(room, group)]
    found = arrows(calls)
    for arrow, owed in house.DEBTS.items():
        if len(found.get(arrow, ())) < owed:
            lines.append(f"{arrow}: write {len(found.get(arrow, ()))} for "
                         f"{owed} in house.py")
    return lines
