# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Metrics of a daemon: read as Prometheus reads them, judged by its own tools,
and beside clients that are slow, many and loud."""

import json
import os
import re
import shutil
import socket
import stat

try:
    from prometheus_client.openmetrics.parser import \
        text_string_to_metric_families as open_metrics
    from prometheus_client.parser import \
        text_string_to_metric_families as plain
except ImportError:
    open_metrics, plain = "open", "plain"

import cases_hub
import cases_rights
from harness import TOP, Case, Failure, Skip
from process import wait_until
from service import FAR, NEAR, Service
from wire import TCP_ADDRESSES

HERE = os.path.dirname(os.path.abspath(__file__))
DASHBOARD = os.path.join(TOP, "apps", "packaging", "grafana-dashboard.json")
ACCEPT = {open_metrics: "application/openmetrics-text; version=1.0.0",
          plain: "text/plain"}
REQUEST = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {}\r\n\r\n"
ANSWER_S = 60


def connect(path):
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(ANSWER_S)
    end.connect(path)
    return end


def read_all(end):
    got = b""
    while piece := end.recv(65536):
        got += piece
    return got.decode()


def scrape(path, parse=open_metrics):
    """The body, which a parser of Prometheus takes, and its samples: (name,
    labels) -> value.
    """
    if isinstance(parse, str):
        raise Skip("no python3-prometheus-client")
    with connect(path) as end:
        end.sendall(REQUEST.format(ACCEPT[parse]).encode())
        head, _, body = read_all(end).partition("\r\n\r\n")
    if not head.startswith("HTTP/1.1 200 "):
        raise Failure(f"no page: {head}")
    return body, {(sample.name, *sorted(sample.labels.items())): sample.value
                  for family in parse(body) for sample in family.samples}


def values(samples, name):
    return {key[1:]: value for key, value in samples.items()
            if key[0] == name}


def expect(samples, name, wanted, **labels):
    """The sum of the samples of a name with these labels."""
    found = [value for key, value in values(samples, name).items()
             if labels.items() <= dict(key).items()]
    if not found or not wanted(sum(found)):
        raise Failure(f"{name} {labels}: {found}")
    return sum(found)


def judged_by_promtool(room, body, title):
    """Debian's Prometheus has it; its service is not for each machine."""
    if not shutil.which("promtool"):
        room.note("no promtool")
        return
    file = room.path(f"{title}.txt")
    with open(file, "w", encoding="utf-8") as out:
        out.write(body)
    tool = room.run(title, ["sh", "-c", f'promtool check metrics <"{file}"'])
    if tool.status != 0 or tool.out() or tool.err():
        raise Failure(f"promtool: {tool.out()}{tool.err()}")


def names_of_dashboard():
    """Of each expression, and of the queries of the variables."""
    with open(DASHBOARD, encoding="utf-8") as file:
        board = json.load(file)
    texts = [target["expr"] for panel in board["panels"]
             for target in panel["targets"]]
    texts += [variable["query"]["query"]
              for variable in board["templating"]["list"]
              if variable["type"] == "query"]
    names = {name for text in texts
             for name in re.findall(r"\b(?:roost|process)_\w+", text)}
    if len(texts) < 30 or len(names) < 20:
        raise Failure(f"the dashboard has {len(texts)} expressions")
    for text in texts:
        # A rate is of a counter, and a counter is not shown as it is.
        for name in re.findall(r"\b(?:roost|process)_\w+", text):
            if name.endswith("_total") != (f"rate({name}{{" in text):
                raise Failure(f"the dashboard: {text}")
    return names


def pingpong(room, service, number, count):
    port = room.next_port()
    words = ["ibv_rc_pingpong", "-g", "1", "-n", str(count), "-p", str(port)]
    return (service.peer(f"peer{number}", words),
            service.client(f"client{number}", [*words, TCP_ADDRESSES[FAR]]),
            port)


def with_metrics(room, *sections, **more):
    path = f"/run/{room.name}.sock.metrics"  # forgotten with the rest
    service = Service(room, sections=["[service]", f"metrics = {path}",
                                      *sections], **more)
    if not wait_until(lambda: os.path.exists(path), 20):
        raise Failure(f"no metrics: {service.process.err()}")
    return service, path


def service(room):
    """Numbers are those of what happens; both formats are right."""
    daemon, path = with_metrics(room, '[policy "odd\\name]', "users = root",
                                "qps = 128", "rate = 8G")
    if stat.S_IMODE(os.stat(path).st_mode) != 0o660:
        raise Failure("the mode of the socket")
    policy = '"odd\\name'
    server, client = room.pair_start(*pingpong(room, daemon, 0, 100000000))

    def moves():
        _, samples = scrape(path)
        return sum(values(samples,
                          "roost_client_transmit_frames_total").values()) > 50

    if not wait_until(moves, 60):
        raise Failure("no frames of the client")
    body, samples = scrape(path)
    expect(samples, "roost_port_up", lambda v: v == 1, port="0")
    expect(samples, "roost_port_clients", lambda v: v == 1)
    expect(samples, "roost_port_mtu_bytes", lambda v: v >= 1500)
    expect(samples, "roost_port_info", lambda v: v == 1, port="0")
    own = {"port": "0", "uid": "0", "policy": policy}
    expect(samples, "roost_client_queue_pairs", lambda v: v == 64, **own)
    expect(samples, "roost_client_queue_pairs_limit", lambda v: v == 128,
           **own)
    expect(samples, "roost_client_rate_limit_bytes_per_second",
           lambda v: v == 10**9, **own)
    expect(samples, "roost_client_receive_frames_total", lambda v: v > 50,
           **own)
    expect(samples, "roost_device_dropped_packets_total", lambda v: v >= 0,
           device="roost0", reason="icrc")
    expect(samples, "roost_thread_cpu_seconds_total", lambda v: v >= 0,
           thread="roost-metrics")
    missing = names_of_dashboard() - {key[0] for key in samples}
    if missing:
        raise Failure(f"the dashboard has {' '.join(sorted(missing))}, which "
                      "the page has not")
    judged_by_promtool(room, scrape(path, plain)[0], "plain")
    client.kill()
    server.kill()
    before = expect(samples, "roost_port_transmit_frames_total",
                    lambda v: v > 50)

    def has_gone():
        _, samples = scrape(path)
        return not values(samples, "roost_client_queue_pairs")

    if not wait_until(has_gone, 60):
        raise Failure("a client that was killed has samples")
    body, samples = scrape(path)
    expect(samples, "roost_port_transmit_frames_total", lambda v: v >= before)
    room.note(f"{len(body)} bytes, {len(samples)} samples")
    if daemon.end() != 0:
        raise Failure(f"roostd: {daemon.process.err()}")
    if os.path.exists(path):
        raise Failure("the socket stays")


# Of panels whose queries leave out what is 0.
QUIET = ("Frames that the switch dropped",
         "Packets that the daemon's engine dropped",
         "Clients whose frames were dropped")
PROMETHEUS = """
global: {{scrape_interval: 1s}}
scrape_configs: [{{job_name: roostd, static_configs: [
  {{targets: ["127.0.0.1:{0}"]}}]}}]
"""


def prometheus(room, netns, port):
    """Reads that page each second. Returns its own URL."""
    if not shutil.which("prometheus"):
        raise Skip("prometheus is not installed")
    file = room.path("prometheus.yml")
    with open(file, "w", encoding="ascii") as out:
        out.write(PROMETHEUS.format(port))
    address = f"127.0.0.1:{room.next_port()}"
    room.start("prometheus", ["prometheus", f"--config.file={file}",
                              f"--storage.tsdb.path={room.path('tsdb')}",
                              f"--web.listen-address={address}"], netns=netns)
    return f"http://{address}"


def dashboard(room):
    """Prometheus has an answer to the query of each panel."""
    port = room.next_port()
    daemon = Service(room, sections=["[service]",
                                     f"metrics = 127.0.0.1:{port}"])
    netns = daemon.wire.netns[NEAR]
    url = prometheus(room, netns, port)
    pair = room.pair_start(*pingpong(room, daemon, 0, 100000000))
    said = room.path("dashboard.txt")
    with open(DASHBOARD, encoding="utf-8") as file:
        titles = [panel["title"] for panel in json.load(file)["panels"]]

    def empty():
        """The panels without a series, as asked once more."""
        done = room.run("dashboard", ["sh", "-c", '"$0" "$1" >"$2"',
                                      os.path.join(HERE, "dashboard.py"), url,
                                      said], netns=netns)
        with open(said, encoding="utf-8") as file:
            told = file.read()
        return [title for title in titles
                if f"{title}\n  " not in told] if done.status == 0 else titles

    if not wait_until(lambda: set(empty()) <= set(QUIET), ANSWER_S, 2):
        raise Failure(f"panels without data: {', '.join(empty())}")
    for end in pair:
        end.kill()


def strangers(room):
    """Who may not, cannot; and a path that is taken stays another's."""
    daemon, path = with_metrics(room, "metrics_mode = 0600")
    other = room.run("other", cases_rights.as_nobody(
        room, (), ["curl", "-s", "--unix-socket", path, "http://x/metrics"])
    ) if shutil.which("curl") else None
    if other and (other.status != 7 or other.out()):
        raise Failure(f"nobody: {other.status} {other.out()}")
    second = room.run("second", [daemon.argv()[0], "--hub", "--metrics",
                                 path], limit_s=60)
    if "Address already in use" not in second.err():
        raise Failure(f"a second daemon: {second.err()}")
    scrape(path)


def tcp(room):
    """A hub that roost run starts, by its variable; and a wrong one."""
    room.defer(cases_hub.gone)
    for wrong in ("0.0.0.0:9464", "metrics.sock"):
        program = room.run("wrong", cases_hub.hub(room, "true"),
                           env={"ROOST_METRICS": wrong})
        if program.status == 0 or "ROOST_METRICS" not in program.err():
            raise Failure(f"{wrong}: {program.err()}")
    port = room.next_port()
    program = room.start("kept", cases_hub.hub(room, "sleep", "60"),
                         env={"ROOST_METRICS": f"127.0.0.1:{port}"})

    def page():
        try:
            with socket.create_connection(("127.0.0.1", port), 20) as end:
                end.sendall(REQUEST.format(ACCEPT[plain]).encode())
                return read_all(end)
        except ConnectionRefusedError:
            return ""

    if not wait_until(page, 20):
        raise Failure(f"no page: {program.err()}")
    if 'roost_port_info{port="0",label="hub"} 1\n' not in page():
        raise Failure("not the page of a hub")


def hostile(room):
    """Slow, many and loud clients, while frames move and another one reads."""
    daemon, path = with_metrics(room)
    server, client = room.pair_start(*pingpong(room, daemon, 0, 5000))
    ends = []
    for number in range(200):
        end = connect(path)
        ends.append(end)
        try:
            if number % 4 == 0:
                end.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
            elif number % 4 == 1:
                end.sendall(b"A" * 100000)
            elif number % 4 == 2:
                # It does not read its answers.
                end.sendall(REQUEST.format("*/*").encode() * 20)
        except (BrokenPipeError, ConnectionResetError):
            pass
        if number % 50 == 49:
            scrape(path)
    _, samples = scrape(path)
    expect(samples, "roost_metrics_cut_connections_total", lambda v: v > 5)
    for end in (client, server):
        room.finish(end, 120)
        if end.status != 0:
            raise Failure(f"{end.title}: exit status {end.status}")
    for end in ends:
        end.close()
    scrape(path)
    if daemon.process.err():
        raise Failure(f"roostd: {daemon.process.err()}")


def unmapped(room):
    """What a client's engine discards is counted on the page."""
    daemon, path = with_metrics(room)
    program = os.path.join(room.build, "tests", "real", "remap")
    client = room.start(**daemon.client("remap", [program]))
    if not wait_until(lambda: "done" in client.out() or client.err(), 60):
        raise Failure("remap: no end")

    def shown():
        samples = scrape(path)[1]
        return all(sum(values(samples, f"roost_engines_{name}_total").values())
                   for name in ("unmapped_reads", "unmapped_writes"))

    if not wait_until(shown, 20):
        raise Failure("the page counts nothing that was discarded")


CASES = [
    Case("metrics-service", service),
    Case("metrics-unmapped", unmapped),
    Case("metrics-dashboard", dashboard),
    Case("metrics-strangers", strangers),
    Case("metrics-hub-tcp", tcp),
    Case("metrics-hostile", hostile),
]
