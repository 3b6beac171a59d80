# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The programs that measure: one alone on a core, or two, each on its own."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from pairs import Failed, Missing
from wires import Veth

PORT = 23700
READS_MAX_S = 1
PORT_MTU = 4200
RUN_S = 30
CROWD_BYTES = 16384
MESSAGES_MIN = 1000
TESTPMD_S = 4  # its start included; it counts by the second
LISTEN_S = 20
ADDRESS = "198.18.0.1"
TCP_SERVERS = {"client": "server", "source": "sink"}  # of bench_tcp
PACKAGES = {"ib_write_bw": "perftest", "valgrind": "valgrind",
            "perf": "linux-perf", "iperf3": "iperf3", "ethtool": "ethtool",
            "dpdk-testpmd": "dpdk-dev", "tc": "iproute2",
            "ucx_perftest": "ucx-utils", "fi_pingpong": "libfabric-bin"}
MEMIF = ("net_memif0,role={},socket-abstract=yes,socket={},bsize=8192,"
         "rsize=10")
# net_tap has the kernel send a signal for each frame, unless none is free.
IGNORE_SIGNALS = "--ignore-signal=" + ",".join(
    str(number) for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1))
EAL = ("--no-huge --no-shconf --no-pci --no-telemetry -m 256 --log-level=1 "
       "--file-prefix=roost-bench-{pid}-{mode} --lcores=0@{cpu},1@{cpu} ")
TESTPMD = ("dpdk-testpmd " + EAL + "{ports} -- --no-mlockall "
           "--forward-mode={mode} --txpkts={size} --stats-period=1 "
           "--mbuf-size=3840 --total-num-mbufs=8192 -a --nb-cores=1")
# Two ports of one program, which end at each other.
BOTH_ENDS = " ".join(
    f"--vdev=net_memif{number},role={role},socket-abstract=yes,"
    "socket=roost-bench-{pid},bsize=2048,rsize=10"
    for number, role in enumerate(("server", "client")))
OWN_BYTES = 60  # of the appliance's own frames
APPLIANCE = "{path} " + EAL + BOTH_ENDS + " -- 198.18.77.1 24 own 7471 1"


def cpu_info(key):
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return ""


def listening(port, pid):
    """In the network namespace of that process."""
    wanted = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}") as table:
            for line in table.readlines()[1:]:
                words = line.split()
                if words[1].endswith(wanted) and words[3] == "0A":
                    return True
    return False


def raw_figure(what, out):
    """Of what bench_raw printed."""
    found = re.search(rf"raw {what} (?:pps|ns) ([0-9.]+)(?:.* lost (\d+))?",
                      out)
    if found is None:
        raise Failed(f"raw {what}: {out.strip()[-80:]}")
    # While it waits for what is lost, it moves nothing.
    if what == "paced" and int(found[2]) > 0:
        raise Failed(f"the raw pump lost {found[2]} frames: no limit of it")
    return float(found[1])


def testpmd_pps(out, ports=1):
    """The best of its seconds, all ports together: in the first and the last,
    one side is not there.
    """
    found = [float(pps) for pps in re.findall(r"Rx-pps:\s+(\d+)", out)]
    found = [sum(found[i:i + ports])
             for i in range(0, len(found) - ports + 1, ports)]
    if not found or max(found) < 1000:
        raise Failed(f"testpmd: {out.strip()[-80:]}")
    return max(found)


class Bench:
    """Where the programs are, and which cores they get."""

    def __init__(self, build, cpus, seconds, near_ns=None):
        self.build = build
        self.near_ns = near_ns  # farther cores do not count; None: they do
        self.all_cpus = cpus
        self.cpus = cpus[:2]
        self.seconds = seconds
        self.port = PORT
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("ROOST_")}

    def built(self, *words):
        path = os.path.join(self.build, "tests", *words)
        if not os.path.exists(path):
            raise Missing(f"{path} is not built: ninja -C {self.build}")
        return path

    def path(self, name):
        return self.built("bench", "bench_" + name)

    def need(self, program):
        if shutil.which(program) is None:
            raise Missing(f"{program} (package {PACKAGES[program]})")

    def need_cores(self, count):
        if len(self.all_cpus) < count:
            raise Missing(f"{count} cores; there are {len(self.all_cpus)}")

    def messages(self, per_s):
        """How many last as long as a peer that runs for --seconds."""
        return max(MESSAGES_MIN, round(per_s * self.seconds))

    def roost_run(self, *options):
        """The words that run others over a port."""
        return [os.path.join(self.build, "apps", "roost"), "run", *options,
                "--"]

    def link(self):
        """Options of roost run: a link, to the other program that says so."""
        return ["--link", f"bench-{os.getpid()}", "--mtu", str(PORT_MTU)]

    # ---- one program ------------------------------------------------------

    def output(self, argv, cpu=None, stderr=subprocess.DEVNULL):
        pin = ["taskset", "-c", str(self.cpus[0] if cpu is None else cpu)]
        try:
            done = subprocess.run(pin + argv, stdout=subprocess.PIPE,
                                  stderr=stderr, text=True, env=self.env,
                                  timeout=RUN_S, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{argv[0]} did not end") from None
        return done.stdout

    def words(self, argv, start):
        """{name: value} of the first line that begins with these words."""
        for line in self.output(argv).splitlines():
            if line.startswith(start + " "):
                words = line[len(start):].split()
                return {words[i]: float(words[i + 1])
                        for i in range(0, len(words) - 1, 2)}
        raise Failed(f"{os.path.basename(argv[0])} printed no '{start}'")

    def line_ns(self):
        cpus = [str(cpu) for cpu in self.cpus[:2]]
        out = subprocess.run([self.path("line"), *cpus], text=True,
                             stdout=subprocess.PIPE, timeout=RUN_S,
                             check=False).stdout
        return float(out.split()[2])

    def engine(self, case, per_s, *options):
        return self.words([self.path("engine"), "-n",
                           str(self.messages(per_s)), *options, case],
                          f"engine {case}")

    def workers(self, nb, *options):
        """Messages a second of so many workers, a core for each."""
        cpus = ",".join(map(str, self.all_cpus[:nb]))
        return self.words([self.path("workers"), *options, "-t",
                           str(self.seconds), "-c", cpus], "workers")["pps"]

    def verbs_ns(self, size):
        """A message, by a program with both ends of a link, on one core."""
        link = ["--link", f"bench-{os.getpid()}"]
        return self.words(
            [*self.roost_run(*link, *link), self.path("verbs"), "-s",
             str(size)], "verbs")["ns"]

    def rate(self, size, per_s, *options):
        """Messages a second, from one program to another one, over a link."""
        return self.rate_over(self.link(), size, per_s, *options)

    def rate_over(self, port, size, per_s, *options):
        cpus = f"{self.cpus[0]},{self.cpus[1]}"
        return self.words(
            [*self.roost_run(*port), self.path("rate"), "-s", str(size), "-c",
             cpus, "-n", str(self.messages(per_s)), *options], "rate")["pps"]

    def rate_by_memif(self, size, per_s):
        """The same, over a port of DPDK's memif at each end. Both are in
        children of one process, where random addresses would be the same.
        """
        server, client = (
            MEMIF.format(role, f"roost-bench-{os.getpid()}") +
            f",mac=02:00:00:00:00:0{number}"
            for number, role in enumerate(("server", "client")))
        return self.rate_over(["--port", client, "--mtu", str(PORT_MTU)],
                              size, per_s, "-p", server)

    def reads(self, interval_us, per_s, pause_us):
        """How long READs take of a program that polls so often. Between two of
        its polls is one READ.
        """
        count = self.messages(per_s)
        if interval_us > 0:
            count = min(count, int(READS_MAX_S * 1e6 / interval_us))
        cpus = f"{self.cpus[0]},{self.cpus[1]}"
        return self.words(
            [*self.roost_run(*self.link()), self.path("reads"), "-g",
             str(pause_us), "-c", cpus, "-n", str(count), "-i",
             str(interval_us)], "reads")

    def kernels(self, size):
        """{kernel: {figure: value}}"""
        found = {}
        for line in self.output([self.path("kernels"),
                                 str(size)]).splitlines():
            words = line.split()
            found[words[1]] = {words[i]: float(words[i + 1])
                               for i in range(3, len(words), 2)}
        if not found:
            raise Failed("bench_kernels printed nothing")
        return found

    def instructions(self, case, messages):
        self.need("valgrind")
        text = self.output(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             self.path("engine"), "-n", str(messages), case],
            stderr=subprocess.STDOUT)
        found = re.search(r"Collected : (\d+)", text)
        if found is None:
            raise Failed("callgrind counted nothing")
        return int(found[1])

    def hub_frame(self, size):
        """{figure: value} of a frame of so many bytes."""
        return self.words([self.path("hub"), str(size)], "hub")

    def channel(self, what, size):
        """Frames a second, or ns there and back, of a channel alone."""
        return self.words(
            [self.path("channel"), what, str(size), str(self.seconds),
             *map(str, self.cpus[:2])], f"channel {what}")

    def at_hub(self, name, start, *words):
        """The numbers of a line of a program of tests/real, at a hub of its
        own.
        """
        path = self.built("real", name)
        # On all cores: the program is one of several processes.
        done = subprocess.run(
            ["unshare", "-rn", *self.roost_run("--hub"), path, *words],
            stdout=subprocess.PIPE, text=True, env=self.env, timeout=RUN_S,
            check=False)
        for line in done.stdout.splitlines():
            if line.startswith(start + " "):
                return [float(word) for word in re.findall(r"\d+", line)]
        raise Failed(f"{name} printed no '{start}'")

    # ---- two programs -----------------------------------------------------

    def both(self, server, client, wait, free=False):
        """What the server and the client wrote. Each has a core of its own,
        or, if free, both cores.
        """
        cores = [",".join(map(str, self.cpus))] * 2 if free else self.cpus
        first = subprocess.Popen(
            ["taskset", "-c", str(cores[0]), *server], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.env)
        second = ""
        try:
            wait(first)
            second = self.output(client, cores[1], subprocess.STDOUT)
            return first.communicate(timeout=RUN_S)[0], second
        except subprocess.TimeoutExpired:
            raise Failed("the server did not end; the client said: "
                         + second.strip()[-80:]) from None
        finally:
            if first.poll() is None:
                first.kill()
                first.wait()

    def raw(self, what, size, wire=None):
        """The limit of memif, or of a wire's port: pump and paced in packets
        a second, pong in ns.
        """
        socket = f"roost-bench-{os.getpid()}"
        argvs = []
        for number, role in enumerate(("server", "client")):
            port = wire.raw_port(number) if wire else MEMIF.format(role,
                                                                   socket)
            argvs.append([*(wire.inside(number) if wire else []),
                          self.path("raw"), what, str(size),
                          str(self.seconds), role, port,
                          str(self.cpus[number])])
        return raw_figure(what, "".join(self.both(*argvs, lambda _: None)))

    def testpmd(self, size, wire):
        """Frames a second that arrive where one testpmd sends as fast as it
        can, and another one counts.
        """
        self.need("dpdk-testpmd")
        argvs = []
        for number, mode in enumerate(("rxonly", "txonly")):
            words = TESTPMD.format(pid=os.getpid(), mode=mode, size=size,
                                   cpu=self.cpus[number],
                                   ports="--vdev=" +
                                   wire.raw_port(number)).split()
            argvs.append([*wire.inside(number), "env", IGNORE_SIGNALS,
                          "timeout", "-s", "INT", str(TESTPMD_S), *words])
        return testpmd_pps(self.both(*argvs, lambda _: None)[0])

    def for_a_while(self, words):
        """What a program printed that went on until it was interrupted."""
        return self.output(["timeout", "-s", "INT", str(TESTPMD_S),
                            *words.split()])

    def testpmd_alone(self):
        """Frames a second that one testpmd forwards between its two ports."""
        self.need("dpdk-testpmd")
        return testpmd_pps(self.for_a_while(TESTPMD.format(
            pid=os.getpid(), mode="io", size=OWN_BYTES, cpu=self.cpus[0],
            ports=BOTH_ENDS.format(pid=os.getpid())) + " --tx-first"), 2)

    def appliance(self):
        """The same of the example, the best of its seconds, too."""
        path = os.path.join(self.build, "apps", "examples", "roost-appliance")
        if not os.path.exists(path):
            raise Missing(f"{path} is not built: ninja -C {self.build}")
        out = self.for_a_while(APPLIANCE.format(
            path=path, pid=os.getpid(), mode="own", cpu=self.cpus[0]))
        found = [float(pps) for pps in
                 re.findall(r"own forwarded (\d+) frames/s", out)]
        if not found:
            raise Failed("roost-appliance forwarded nothing")
        return max(found)

    def wait_for(self, server):
        deadline = time.monotonic() + LISTEN_S
        while (server.poll() is None and
               not listening(self.port, server.pid)):
            if time.monotonic() > deadline:
                raise Failed("the server does not listen")
            time.sleep(0.02)

    def next_port(self):
        """Of TCP; no earlier connection has it."""
        self.port = PORT + (self.port - PORT + 1) % 100
        return str(self.port)

    def perftest(self, program, *words, wire=None, options=(), free=False):
        """The fields of the client's last row; over a link, or over the port
        of a wire. options: of roost run. free: as of both().
        """
        self.need("ib_write_bw")
        self.next_port()
        argvs = []
        for number in (0, 1):
            port = wire.roost_options(number) if wire else self.link()
            argvs.append([*(wire.inside(number) if wire else []),
                          *self.roost_run(*port, *options), program, "-F",
                          "-x", "1", "-p", str(self.port), *words])
        argvs[1].append(wire.host if wire else "localhost")
        _, out = self.both(*argvs, self.wait_for, free)
        rows = [line.split() for line in out.splitlines()
                if re.match(r"\s*\d+\s+\d+\s+[0-9.]+", line)]
        if not rows:
            raise Failed(f"{program}: {out.strip()[-80:]}")
        return [float(word) for word in rows[-1]]

    def connections(self, what, *words):
        """{figure: value} of one sort of runs of cm_churn, over a link."""
        argvs = [[*self.roost_run(*self.link(), "--ip",
                                  f"198.18.0.{number}/24"),
                  self.built("real", "cm_churn"), role, ADDRESS, "-f", *more]
                 for number, role, more in ((1, "-s", ()),
                                            (2, "-c", ("-l", *words)))]
        _, out = self.both(*argvs, lambda server: server.stdout.readline())
        found = [line.split() for line in out.splitlines()
                 if line.startswith(f"run {what} ")]
        if not found:
            raise Failed(f"cm_churn: {out.strip()[-80:]}")
        return {found[-1][i]: float(found[-1][i + 1])
                for i in range(3, len(found[-1]), 2)}

    def crowd_mb_s(self, wire, nb, seconds):
        """What each of so many pairs of ib_write_bw moves over a wire at the
        same time, in MB/s. On all cores.
        """
        self.need("ib_write_bw")
        ports = [str(PORT + 100 + i) for i in range(nb)]
        words = ["ib_write_bw", "-F", "-x", "1", "-s", str(CROWD_BYTES), "-D",
                 str(seconds), "-p"]
        argvs = [[*wire.inside(end), *self.roost_run(
            *wire.roost_options(end)), *words, port, *host]
                 for end, host in ((0, []), (1, [wire.host]))
                 for port in ports]
        started = []
        try:
            for number, argv in enumerate(argvs):
                if number == nb:
                    for port, server in zip(ports, started):
                        self.port = int(port)
                        self.wait_for(server)
                started.append(subprocess.Popen(
                    argv, text=True, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, env=self.env))
            outs = [client.communicate(timeout=RUN_S + seconds)[0]
                    for client in started[nb:]]
        except subprocess.TimeoutExpired:
            raise Failed("a client did not end") from None
        finally:
            for process in started:
                process.kill()
                process.wait()
        rows = [re.findall(rf"^\s*{CROWD_BYTES}\s+\d+\s+\S+\s+(\S+)", out,
                           re.M) for out in outs]
        if not all(rows):
            raise Failed(f"ib_write_bw: {outs[rows.index([])].strip()[-80:]}")
        return [float(row[-1]) for row in rows]

    def tcp(self, name, role, size):
        """Over a veth between two network namespaces, made for this: client,
        ns there and back; source, Gb/s. name: tcp or uring.
        """
        with Veth() as veth:
            argv = [self.path(name), "{}", veth.host, str(PORT)]
            server, client = [
                [*veth.inside(number), argv[0], end, *argv[2:]]
                for number, end in enumerate((TCP_SERVERS[role], role))]
            out = "".join(self.both(server,
                                    [*client, str(size), str(self.seconds)],
                                    lambda _: None))
        found = re.search(r"tcp (?:ns|gbps) ([0-9.]+)", out)
        if found is None:
            raise Failed(f"{name}: {out.strip()[-80:]}")
        return float(found[1])

    def iperf_gbps(self, segments):
        """One connection of iperf3 over a veth, as it is set up by default."""
        self.need("iperf3")
        self.need("ethtool")
        with Veth(segments=segments) as veth:
            argv = ["iperf3", "-p", str(self.port)]
            _, out = self.both(
                [*veth.inside(0), *argv, "-s", "-1"],
                [*veth.inside(1), *argv, "-c", veth.host, "-t",
                 str(max(1, round(2 * self.seconds))), "-J"], self.wait_for)
        try:
            found = json.loads(out)
            return found["end"]["sum_received"]["bits_per_second"] / 1e9
        except (ValueError, KeyError):
            raise Failed(f"iperf3: {out.strip()[-80:]}") from None

    def loss(self, rate, *options):
        """Goodput, the bound of it, and more, in virtual time."""
        return self.words([self.path("loss"), *options, rate], f"loss {rate}")

    def net(self, *options):
        """Many senders into one wire, in virtual time."""
        return self.words([self.path("net"), *options], "net")

    def net_series(self, *options):
        """Of the same, over time: [ms, frames in the queue, Gb/s...]."""
        out = self.output([self.path("net"), *options])
        return [[float(word) for word in line.split()[1:]]
                for line in out.splitlines() if line.startswith("at ")]

    def event_ratio(self):
        argv = [*self.roost_run(*self.link()),
                self.built("real", "event_cost")]
        try:
            out = subprocess.run(argv, stdout=subprocess.PIPE, text=True,
                                 env=self.env, timeout=2 * RUN_S,
                                 check=False).stdout
        except subprocess.TimeoutExpired:
            raise Failed("event_cost did not end") from None
        found = re.search(r"wake bare_ns (\d+) event_ns (\d+)", out)
        if found is None:
            raise Failed("event_cost printed no 'wake'")
        return float(found[2]), float(found[1])
