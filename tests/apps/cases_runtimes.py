# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Programs of languages with a runtime of their own: Go's, with its signal
stacks and signals between threads, and Java's VM, which makes exceptions of
SIGSEGV. Many connections at one hub; their peers write memory that goes away.
"""

import os

import cases_hub
from cases_hub import ADDRESS, hub
from cases_sysfs import need
from cases_tools import ended_well, says
from harness import Case, Failure

HERE = os.path.dirname(os.path.abspath(__file__))
MESSAGES = "800 messages"


def made(room, title, words, **env):
    done = room.run(title, words, env={**os.environ, **env})
    if done.status != 0:
        raise Failure(f"{title}: exit status {done.status}")


def echo(room, words):
    """A server and a client, of the same words."""
    room.defer(cases_hub.gone)
    port = str(room.next_port())
    server = room.start("server", hub(room, *words, "server", ADDRESS, port))
    says(server, "listening")
    client = room.start("client", hub(room, *words, "client", ADDRESS, port))
    ended_well(client, server)
    for end in (server, client):
        if MESSAGES not in end.out():
            raise Failure(f"{end.title}: does not say '{MESSAGES}'")


def library(room, *words):
    """echo_end.c, by the C compiler."""
    need("cc")
    path = room.path("libecho_end.so")
    made(room, "compiler", ["cc", "-O2", "-w", "-shared", "-fPIC", "-I", HERE,
                            "-o", path, os.path.join(HERE, "echo_end.c"),
                            *words, "-lrdmacm", "-libverbs"])
    return path


def go(room):
    need("go")
    path = library(room)
    program = room.path("echo")
    made(room, "go", ["env", "-C", os.path.join(HERE, "go"), "go", "build",
                      "-o", program],
         GO111MODULE="off", GOCACHE=room.path("cache"), GOFLAGS="",
         CGO_ENABLED="1", CGO_CFLAGS=f"-I{HERE}",
         CGO_LDFLAGS=f"-L{room.logs} -lecho_end "
         f"-Wl,-rpath,{os.path.dirname(path)}")
    echo(room, [program])


def java(room):
    need("javac", "java")
    home = os.path.dirname(os.path.dirname(os.path.realpath(
        "/usr/bin/javac")))
    include = os.path.join(home, "include")
    path = library(room, os.path.join(HERE, "java", "echo_jni.c"),
                   "-I", include, "-I", os.path.join(include, "linux"))
    # Without its file in /tmp.
    quiet = "-XX:-UsePerfData"
    made(room, "javac", ["javac", f"-J{quiet}", "-d", room.logs,
                         os.path.join(HERE, "java", "Echo.java")])
    echo(room, ["java", quiet, "-Xmx64m", "-cp", room.logs,
                f"-Decho.library={path}", "Echo"])


CASES = [
    Case("runtime-go", go),
    Case("runtime-java", java),
]
