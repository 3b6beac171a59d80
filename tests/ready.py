# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Packages and a build, by the functions of apps/setup.sh: a program that is
started in a fresh clone makes itself ready with them.
"""

import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(TOP, "build")
SCRIPT = '. "$1/apps/setup.sh"; top=$1; shift; '


def shell(command, words, env=None):
    return subprocess.run(["sh", "-c", SCRIPT + command, "sh", TOP, *words],
                          env=env, check=False).returncode == 0


def install(who, *lists):
    """Those of the lists of apps/setup.sh that are missing. False, and said
    why: not all are there.
    """
    names = " ".join("$packages_" + name for name in lists)
    return shell(f'packages_install "$@" {names}', [who])


def set_up(who, folder=BUILD, options=(), compiler="gcc"):
    """Configured, once."""
    return shell('set_up "$@"', [who, folder, *options],
                 dict(os.environ, CC=compiler))


def build(who, folder=BUILD, options=(), compiler="gcc", targets=()):
    """Set up and built, or up to date. False: the compiler has said why."""
    return set_up(who, folder, options, compiler) and \
        shell('build "$@"', [who, folder, *targets])
