# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The rows in virtual time: what losses and queues of a network cost."""

from row import Row


class Loss(Row):
    name, title = "loss-1e-4", "goodput, 1 in 10,000 lost : go-back-N's bound"
    unit, least, aim = "Gb/s", 0.90, 1.0
    exact = True
    rate = "1e-4"

    def pair(self, bench):
        found = bench.loss(self.rate)
        return found["gbps"], found["bound"]


class MoreLoss(Loss):
    name, title = "loss-1e-3", "goodput, 1 in 1,000 lost : go-back-N's bound"
    rate = "1e-3"


class MuchLoss(Loss):
    name, title = "loss-1e-2", "goodput, 1 in 100 lost : go-back-N's bound"
    rate = "1e-2"


class LossBothWays(Row):
    name = "loss-both-ways"
    title = "goodput, 1 in 100 lost of data and answers : without loss"
    unit, least, aim = "Gb/s", 0.80, 0.90
    exact = True
    rate, options, path = "1e-2", ("-a",), ()

    def pair(self, bench):
        return (bench.loss(self.rate, "-e", *self.path, *self.options)["gbps"],
                bench.loss("0", "-e", *self.path)["gbps"])


class LossFar(LossBothWays):
    name = "loss-far"
    title = "goodput, 1 in 100 lost on a path of 1 ms : without loss"
    options, path = (), ("-d", "500000", "-q", "48")


class Late(LossBothWays):
    name = "late-1e-2"
    title = "goodput, 1 in 100 late by up to 32 frames : without"
    rate, options = "0", ("-o", "1e-2")


class LossTail(Row):
    """What the slowest 5 of 10,000 need more than without loss."""

    name = "loss-tail"
    title = "one WRITE of 4 KiB, 1 in 1,000 lost both ways : 2 RTT + 100 us"
    unit, least, aim = "ns", 1.2, 1.0
    more_is_better = False
    exact = True
    at_once = "1"

    def pair(self, bench):
        with_loss, without = (
            bench.loss(rate, "-e", "-a", "-v", "500", "-l", self.at_once)
            for rate in ("1e-3", "0"))
        return with_loss["p9995"] - without["p9995"], 2 * 6000 + 100000


class LossTail32(LossTail):
    name = "loss-tail-32"
    title = "32 WRITEs of 4 KiB, 1 in 1,000 lost both ways : 2 RTT + 100 us"
    at_once = "32"


class Queue(Row):
    """A request that failed makes it 0: the network is a healthy one."""

    name, title = "queue-16", "16 QPs into a queue : the wire behind it"
    unit, least, aim = "share", 0.90, 0.95
    exact = True
    nb_qps = 16

    def pair(self, bench):
        found = bench.net("-e", "-q", str(self.nb_qps), "-v", "1000")
        return found["share"] if found["failed"] == 0 else 0, 1


class Queue512(Queue):
    name, title = "queue-512", "512 QPs into a queue : the wire behind it"
    nb_qps = 512


class Queue2k(Queue):
    name, title = "queue-2048", "2,048 QPs into a queue : the wire behind it"
    nb_qps = 2048


class Queue8k(Queue):
    name, title = "queue-8192", "8,192 QPs into a queue : the wire behind it"
    nb_qps = 8192


class Marks(Row):
    """A lost frame makes it 1: marks are there so that none is."""

    name, title = "marks-16", "16 QPs into a queue that marks : its length"
    unit, least, aim = "frames", 0.33, 0.15
    more_is_better = False
    exact = True
    nb_qps = 16

    def pair(self, bench):
        found = bench.net("-e", "-m", "102", "-q", str(self.nb_qps), "-v",
                          "1000")
        return found["queue"] if found["lost"] < 1e-4 else 1024, 1024


class Marks128(Marks):
    name, title = "marks-128", "128 QPs into a queue that marks : its length"
    nb_qps = 128


class Marks8k(Marks):
    name = "marks-8192"
    title = "8,192 QPs into a queue that marks : its length"
    nb_qps = 8192


class Incast(Row):
    name, title = "incast", "64 senders of 1 MiB at once : the wire alone"
    unit, least, aim = "times", 1.30, 1.10
    more_is_better = False
    exact = True

    def pair(self, bench):
        return bench.net("-e", "-n", "64", "-q", "1", "-i",
                         "1048576")["ratio"], 1


ROWS = (Loss, MoreLoss, MuchLoss, LossBothWays, LossFar, Late, LossTail,
        LossTail32, Queue, Queue512, Queue2k, Queue8k, Marks, Marks128, Marks8k,
        Incast)
