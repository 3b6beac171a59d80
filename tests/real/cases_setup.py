# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""roost setup with made-up NICs, and with huge pages that the kernel gives."""

import fcntl
import json
import os
import shutil
import tempfile

from harness import Case, Failure, Skip

NIC = "0000:7e:00.0"
NODE = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB"
PAGES = NODE + "/nr_hugepages"
# Fewer than a port takes: whoever runs beside keeps ordinary memory.
EXTRA = 4
PLACES = {"devices": "/sys/bus/pci/devices", "lib": "/var/lib",
          "tmpfiles": "/etc/tmpfiles.d"}
# Where there is systemd, too.
SYSTEMD = "/etc/systemd/system"
SECTION = f"""# By roost setup
[port0]
devargs = {NIC}
# ip = ADDRESS/LENGTH: without it, it has link-local ones
"""


def pages():
    with open(PAGES) as file:
        return int(file.read())


def set_pages(number):
    with open(PAGES, "w") as file:
        file.write(str(number))


def alone(room):
    """Until the end of the case no other one here sets huge pages."""
    if os.geteuid() != 0 or not os.access(PAGES, os.W_OK):
        raise Skip(f"{PAGES} cannot be written here")
    lock = os.open(PAGES, os.O_RDONLY)
    room.defer(os.close, lock)
    fcntl.flock(lock, fcntl.LOCK_EX)
    before = pages()
    room.defer(set_pages, before)
    return before


def conf_folder(room):
    """Of roost.conf, as this build has it."""
    with open(os.path.join(room.build, "meson-info",
                           "intro-buildoptions.json")) as file:
        options = {one["name"]: one["value"] for one in json.load(file)}
    return os.path.join(options["prefix"], options["sysconfdir"])


class Machine:
    """A machine with one NIC, in this driver. What setup writes stays in a
    folder, but for the huge pages."""

    def __init__(self, room, driver, pci_class="0x020000"):
        self.room = room
        self.folder = tempfile.mkdtemp()
        room.defer(shutil.rmtree, self.folder)
        self.places = dict(PLACES, conf=conf_folder(room))
        if os.path.isdir(SYSTEMD):
            self.places["system"] = SYSTEMD
        for name, place in self.places.items():
            if not os.path.isdir(place):
                raise Skip(f"there is no {place}")
            os.mkdir(os.path.join(self.folder, name))
        nic = os.path.join(self.folder, "devices", NIC)
        os.mkdir(nic)
        for name, text in (("class", pci_class), ("numa_node", "-1"),
                           ("driver_override", "(null)")):
            with open(os.path.join(nic, name), "w") as file:
                file.write(text + "\n")
        os.symlink("/nowhere/" + driver, os.path.join(nic, "driver"))

    def setup(self, title, *words, status=0, said=""):
        """Returns what it printed."""
        binds = " && ".join(f"mount --bind {self.folder}/{name} {place}"
                            for name, place in self.places.items())
        done = self.room.run(title, [
            "unshare", "--mount", "sh", "-c", f'{binds} && exec "$@"', "sh",
            *self.room.roost("setup", *words)])
        if done.status != status or said not in done.err() + done.out():
            raise Failure(f"{title}: {done.status}: {done.out()}{done.err()}")
        if status > 1 and len(done.err().splitlines()) != 1:
            raise Failure(f"{title}: not one line: {done.err()}")
        return done.out()

    def written(self):
        return sorted(os.listdir(os.path.join(self.folder, "tmpfiles")) +
                      os.listdir(os.path.join(self.folder, "lib",
                                              "roost-setup")) +
                      os.listdir(os.path.join(self.folder, "conf")))


def huge_pages(room):
    """Shown, then done, then done already, then undone."""
    before = alone(room)
    machine = Machine(room, "mlx5_core")
    wanted = ["--hugepages", str(before + EXTRA), NIC]
    machine.setup("plan", *wanted, said=f"{before} -> {before + EXTRA}")
    if pages() != before:
        raise Failure("the plan has changed the huge pages")
    machine.setup("do", *wanted, "--yes")
    if pages() != before + EXTRA:
        raise Failure(f"{pages()} huge pages")
    if machine.written() != [NIC + ".json", f"roost-{NIC}.conf", "roost.conf"]:
        raise Failure(f"wrote {machine.written()}")
    with open(os.path.join(machine.folder, "conf", "roost.conf")) as file:
        if file.read() != SECTION:
            raise Failure("the configuration is another one")
    if "->" in machine.setup("again", NIC, "--yes"):
        raise Failure("it is not done at once")
    machine.setup("number", "--hugepages", str(before + 1), NIC, status=1,
                  said="--undo that first")
    machine.setup("undo", "--undo", "--yes", NIC)
    if pages() != before or machine.written():
        raise Failure(f"left {pages()} huge pages and {machine.written()}")


def file_of_a_person(room):
    """It stays, the command ends there, and what was begun is undone."""
    before = alone(room)
    machine = Machine(room, "mlx5_core")
    path = os.path.join(machine.folder, "tmpfiles", f"roost-{NIC}.conf")
    with open(path, "w") as file:
        file.write("# mine\n")
    machine.setup("file", "--hugepages", str(before + EXTRA), NIC, "--yes",
                  status=125, said="somebody else wrote")
    record = os.path.join(machine.folder, "lib", "roost-setup", NIC + ".json")
    with open(record) as file:
        if list(json.load(file)["before"]) != ["huge pages at boot"]:
            raise Failure("the record has more than what was begun")
    machine.setup("undo", "--undo", "--yes", NIC)
    if os.path.exists(record) or pages() != before:
        raise Failure("the undo is not whole")
    with open(path) as file:
        if file.read() != "# mine\n":
            raise Failure("the person's file is gone")


def configuration_of_a_person(room):
    """The section comes behind what is there, and goes; a broken file is
    refused before anything changes."""
    before = alone(room)
    machine = Machine(room, "mlx5_core")
    path = os.path.join(machine.folder, "conf", "roost.conf")
    mine = "# mine\n[port0]\ndevargs = eth1\n[policy all]\nclients = 4\n"
    with open(path, "w") as file:
        file.write(mine)
    wanted = ["--hugepages", str(before + EXTRA), NIC, "--yes"]
    machine.setup("do", *wanted)
    with open(path) as file:
        if file.read() != mine + SECTION.replace("[port0]", "[port1]"):
            raise Failure("the section is not behind the person's")
    machine.setup("undo", "--undo", "--yes", NIC)
    with open(path) as file:
        if file.read() != mine:
            raise Failure("the person's file is another one")
    with open(path, "w") as file:
        file.write("[port0]\ndevorgs = eth1\n")
    machine.setup("broken", *wanted, status=1, said="devargs")
    if pages() != before or machine.written() != ["roost.conf"]:
        raise Failure(f"changed {machine.written()}")


def refused(room):
    """A driver without an IOMMU, a disk, a name of nobody; nothing is done."""
    before = alone(room)
    machine = Machine(room, "ice")
    machine.setup("iommu", "--force", "--yes", NIC, status=1,
                  said="intel_iommu=on")
    machine.setup("name", "nobody0", "--yes", status=1, said="roost ports")
    machine.setup("option", "--yse", NIC, status=2, said="--yes")
    if pages() != before or machine.written():
        raise Failure(f"wrote {machine.written()}")
    disk = Machine(room, "nvme", "0x010802")
    disk.setup("disk", "--force", "--yes", NIC, status=1,
               said="no network device")


CASES = [
    Case("setup-huge-pages", huge_pages),
    Case("setup-file-of-a-person", file_of_a_person),
    Case("setup-configuration-of-a-person", configuration_of_a_person),
    Case("setup-refused", refused),
]
