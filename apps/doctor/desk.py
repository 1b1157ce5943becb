#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The computer on a desk, and what is plugged into it, as far as files and drivers tell."""

import contextlib
import grp
import os
from pathlib import Path


def _user_groups():
    names = set()
    for number in os.getgroups():
        with contextlib.suppress(KeyError):
            names.add(grp.getgrgid(number).gr_name)
    return names


def _may_use(path):
    return os.access(path, os.R_OK | os.W_OK)


def _import_soapy():
    try:
        import SoapySDR
    except ImportError:
        return None
    # the doctor reports the same in words of its own
    SoapySDR.setLogLevel(SoapySDR.SOAPY_SDR_FATAL)
    return SoapySDR


class Desk:
    """
    All that an examination reads goes through here, so that it can look at a recorded desk as well.

    Parameters
    ----------
    root : path
        The folder that has the computer's files: proc/, sys/, dev/, usr/, etc/.
    soapy : callable
        Gives Python's module SoapySDR, or None where that is not installed.
    may_use : callable
        may_use(path): whether this user may read and write a device's file.
    groups : callable
        Gives the names of the groups that this user is in.
    """

    def __init__(self, root="/", soapy=_import_soapy, may_use=_may_use, groups=_user_groups):
        self._root = Path(root)
        self._soapy, self._may_use, self._groups = soapy, may_use, groups

    def path(self, name):
        return self._root / name.lstrip("/")

    def read(self, name):
        """The text of a file without the space around it; "" where there is none to be read."""
        try:
            return self.path(name).read_text(errors="replace").strip()
        except OSError:
            return ""

    def read_bytes(self, name):
        """All of a file; b"" where there is none to be read."""
        try:
            return self.path(name).read_bytes()
        except OSError:
            return b""

    def find(self, pattern):
        """Names, from the root on and in order, of what is there by a pattern as of a shell's."""
        return sorted(
            "/" + str(found.relative_to(self._root))
            for found in self._root.glob(pattern.lstrip("/"))
        )

    def exists(self, name):
        return self.path(name).exists()

    def target(self, name):
        """The last part of what a symbolic link leads to; "" where there is none."""
        try:
            return os.path.basename(os.readlink(self.path(name)))
        except OSError:
            return ""

    def may_use(self, name):
        return self._may_use(self.path(name))

    def groups(self):
        return self._groups()

    def soapy(self):
        return self._soapy()
