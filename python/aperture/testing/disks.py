#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Disks and folders on which writing fails, for tests; those that may not make them are skipped."""

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path


def _try(test, *command):
    if shutil.which(command[0]) is None:
        test.skipTest(f"there is no {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        test.skipTest(f"{' '.join(map(str, command))} is not allowed here: {done.stderr.strip()}")


@contextlib.contextmanager
def small_disk(test, kilobytes):
    """The folder of a file system of its own, in memory, of that size."""
    folder = Path(tempfile.mkdtemp(prefix="qa_disk"))
    try:
        _try(test, "mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(folder))
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        folder.rmdir()


@contextlib.contextmanager
def immutable(test, folder):
    """Makes a folder in which nothing can be made, renamed or removed; not even by root."""
    _try(test, "chattr", "+i", str(folder))
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(folder)], check=True)
