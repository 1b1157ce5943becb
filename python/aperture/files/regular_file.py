#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Inputs must be files on a disk."""

import os
import stat


def check_regular(filename, what_for):
    """Refuses what is there and no file on a disk: to open a FIFO waits until somebody writes."""
    if os.path.exists(filename) and not os.path.isfile(filename):
        what = (
            "a folder"
            if os.path.isdir(filename)
            else "a FIFO"
            if stat.S_ISFIFO(os.stat(filename).st_mode)
            else "a device or socket"
        )
        raise ValueError(f"{filename}: this is {what}; {what_for} must be a file")
