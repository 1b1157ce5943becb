#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The system that GNU Radio needs: it says little where that is not there."""

import os
import re
from pathlib import Path

from ..system import linux

#: limits of System V shared memory, of which GNU Radio makes its buffers: what Linux sets, and what
#: they count
USUAL = {
    "shmmni": (4096, "segments"),
    "shmmax": (1 << 30, "bytes of a segment"),
    "shmall": (1 << 20, "pages of all segments"),
}
#: variables below whose folders GNU Radio has its own; before 3.10.10 only in HOME
FOLDERS = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")


def small_limits(kernel=linux.KERNEL_SETTINGS):
    """A sentence about limits of shared memory that are below what is usual; empty: none is."""
    found, commands = [], []
    for name, (usual, what) in USUAL.items():
        try:
            value = int(Path(kernel, name).read_text())
        except (OSError, ValueError):
            continue
        if value < usual:
            found.append(f"kernel.{name} is {value} {what}")
            commands.append(f"kernel.{name}={usual}")
    if not found:
        return ""
    return (
        f"GNU Radio's buffers are System V shared memory, and {', '.join(found)}: "
        f"`sudo sysctl -w {' '.join(commands)}` allows what is usual (a line of each in "
        "/etc/sysctl.d keeps it; a container gets it by --sysctl)"
    )


def advice(error, kernel=linux.KERNEL_SETTINGS):
    """Returns what to do about an error of GNU Radio, in a sentence; empty: nothing is known."""
    text = str(error)
    if isinstance(error, MemoryError) and "bad_alloc" in text:
        return small_limits(kernel)
    found = re.search(r"filesystem error.*\[([^]]*/\.?gnuradio)\b", text)
    if found:
        given = [name for name in FOLDERS if os.environ.get(name)]
        name = next((name for name in given if found[1].startswith(os.environ[name])), "HOME")
        return (
            f"GNU Radio keeps settings in {found[1]}, and {name} is "
            f"{os.environ.get(name) or 'not set'}: set {name} to a folder in which you may write, "
            f"{name}=/tmp for example"
        )
    return ""
