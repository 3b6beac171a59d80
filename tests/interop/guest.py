# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A guest in QEMU that runs Debian's kernel on the machine's own files, and
programs in it."""

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time

import kernel
from harness import Failure
from process import wait_until

BOOT_S = 420
KILL_S = 30
MEMORY_MIB = 1024


class GuestProcess:
    """A program in the guest; looks like process.Process."""

    def __init__(self, guest, title, argv, logs):
        self.guest = guest
        self.title = title
        self.argv = argv
        self.status = None
        self.ended_at = None
        self.out_path = os.path.join(logs, title + ".out")
        self.err_path = os.path.join(logs, title + ".err")
        self.pid = 0  # none on this machine
        # The guest makes them a little later.
        for path in (self.out_path, self.err_path):
            with open(path, "wb"):
                pass
        self.number = guest.start(self)
        self.started_at = time.monotonic()

    def wait(self, limit_s):
        """Returns the exit status, or None when it still runs."""
        wait_until(lambda: self.status is not None or not self.guest.alive(),
                   1e9 if limit_s is None else limit_s)
        if self.status is None and not self.guest.alive():
            self.ended(-signal.SIGKILL)
        return self.status

    def ended(self, status, why=None):
        """why: it could not be started."""
        if why is not None:
            with open(self.err_path, "a") as file:
                file.write(f"the guest cannot start it: {why}\n")
        self.status = status
        self.ended_at = time.monotonic()

    def signal(self, number):
        if self.wait(0) is None:
            self.guest.tell(do="signal", id=self.number, number=int(number))

    def kill(self):
        """SIGKILL, and gone when this returns; with its guest, where that
        cannot do it: the next one boots.
        """
        if self.wait(0) is None:
            self.signal(signal.SIGKILL)
            if self.wait(KILL_S) is None:
                self.guest.close()
                self.wait(None)

    def listens(self, port):
        return self.guest.listens(port)

    def out(self):
        with open(self.out_path, errors="replace") as file:
            return file.read()

    def err(self):
        with open(self.err_path, errors="replace") as file:
            return file.read()


class Guest:
    """One boot. Whoever makes it calls close()."""

    # For all guests from now on: the nice value of QEMU's session among other
    # sessions of the machine (autogroup, sched(7)).
    nice = 0

    def __init__(self, image, shared, logs, devices, netns=None, modules=(),
                 append="", machine="q35,accel=tcg", memory_mib=MEMORY_MIB,
                 folder=None, fds=()):
        """image: a kernel.Kernel; shared: the folder that the guest may write;
        logs: one in it, for itself; devices: words of QEMU's; netns: where
        QEMU runs; modules: what the guest needs besides kernel.BASE; append:
        to the kernel's command line; folder: one that the guest may read, even
        where it is in a place of which it has its own; fds: QEMU gets them.
        """
        self.console = os.path.join(logs, "console.log")
        self.processes = {}
        self.answers = queue.Queue()
        self.lock = threading.Lock()
        self.asking = threading.Lock()
        initramfs = os.path.join(logs, "initramfs")
        kernel.write_initramfs(image, initramfs, modules)
        append = f"{append} roost.logs={shared}"
        if folder is not None:
            append += f" roost.folder={folder}"
        # Not standard output: some of QEMU's devices write there.
        self.agent, theirs = socket.socketpair()
        argv = [] if netns is None else ["nsenter",
                                         f"--net=/run/netns/{netns}"]
        argv += [
            "qemu-system-x86_64", "-machine", machine, "-cpu", "max", "-m",
            str(memory_mib), "-nodefaults", "-no-user-config", "-display",
            "none", "-no-reboot", "-kernel", image.image, "-initrd", initramfs,
            "-append", "console=ttyS0 panic=-1 quiet mitigations=off "
            f"{append}", "-serial", f"file:{self.console}",
            "-chardev", f"socket,id=agent,fd={theirs.fileno()}", "-device",
            "virtio-serial-pci", "-device", "virtserialport,chardev=agent",
            *devices]
        argv += share("root", "/", ",readonly=on")
        argv += share("logs", shared, "")
        if folder is not None:
            argv += share("folder", folder, ",readonly=on")
        with theirs, open(os.path.join(logs, "qemu.log"), "wb") as log:
            self.qemu = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, pass_fds=[theirs.fileno(), *fds])
        self.renice()
        threading.Thread(target=self.listen, daemon=True).start()
        try:
            if "ready" not in self.answers.get(timeout=BOOT_S):
                raise Failure("the guest does not start its agent")
        except queue.Empty as e:
            self.close()
            raise Failure("the guest does not boot; see console.log") from e

    def listen(self):
        try:
            with self.agent.makefile("rb") as lines:
                for line in lines:
                    self.hear(json.loads(line))
        except OSError:
            pass  # QEMU was killed
        self.answers.put({})

    def hear(self, answer):
        if "id" in answer:
            self.processes.pop(answer["id"]).ended(answer["status"],
                                                   answer.get("why"))
        else:
            self.answers.put(answer)

    def alive(self):
        return self.qemu.poll() is None

    def tell(self, **request):
        with self.lock:
            self.agent.sendall(json.dumps(request).encode() + b"\n")

    def renice(self):
        """See nice; as before where the kernel has no such groups, or does not
        let us.
        """
        if self.nice != 0:
            with contextlib.suppress(OSError), \
                    open(f"/proc/{self.qemu.pid}/autogroup", "w") as file:
                file.write(str(self.nice))

    def start(self, process):
        self.renice()
        number = id(process)
        self.processes[number] = process
        self.tell(do="start", id=number, argv=process.argv,
                  out=process.out_path, err=process.err_path)
        return number

    def listens(self, port):
        with self.asking:
            self.tell(do="listens", port=port)
            return self.answers.get(timeout=30).get("listens", False)

    def close(self):
        self.qemu.kill()
        self.qemu.wait()
        self.agent.close()


def share(tag, folder, more):
    return ["-virtfs", f"local,path={folder},mount_tag={tag},"
            f"security_model=none,multidevs=remap{more}"]
