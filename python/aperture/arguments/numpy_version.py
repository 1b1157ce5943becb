#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""GNU Radio and we were built for one NumPy: another one that comes before it stops both."""

import sys
from pathlib import Path

from .version import built_with_numpy


def remedy(version, place):
    """Returns what to do about the NumPy of a version in a folder; None: it fits.

    Extensions that were built for NumPy 1 cannot be used with NumPy 2; the other way round they
    can.
    """
    if int(version.split(".")[0]) <= int(built_with_numpy.split(".")[0]):
        return None
    folder = Path(place).parents[1]
    return (
        f"NumPy {version} in {folder} comes before the {built_with_numpy} that GNU Radio was "
        "built with, and does not work with it: `/usr/bin/python3 -m pip uninstall numpy` "
        "removes one that pip has installed for you, PYTHONNOUSERSITE=1 in the environment "
        "leaves it out, and programs that need it can have it in a virtual environment of "
        "their own"
    )


def check():
    """Raises ImportError where extensions would fail with pages of text. Our own commands end."""
    import numpy

    text = remedy(numpy.__version__, numpy.__file__)
    if text is None:
        return
    program = Path(sys.argv[0]).name
    if program.startswith("aperture_"):
        sys.exit(f"{program}: error: {text}")
    raise ImportError(text)
