# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What the rows of the table have in common."""


class Row:
    """One figure and its peer. Ratios say how near: 1 is as good as it."""

    cores = 1
    least = aim = None  # of the ratio
    more_is_better = True  # of the figures, and of the ratio
    far_matters = True  # how far the cores are from each other, of several
    exact = False  # the same in every run: one pair says all
    pairs = 5  # that are measured, unless --pairs says another number

    def pair(self, bench):
        raise NotImplementedError

    def ratio(self, ours, peer):
        return ours / peer
