#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Inputs must be files on a disk."""

import os
import stat

LARGEST_TEXT = 1 << 24  # bytes of a description; its reading takes memory and time


def kind_of(mode):
    """Returns what is no file on a disk, in words; None: it is one."""
    if stat.S_ISREG(mode):
        return None
    return (
        "a folder"
        if stat.S_ISDIR(mode)
        else "a FIFO"
        if stat.S_ISFIFO(mode)
        else "a device or socket"
    )


def check_regular(filename, what_for):
    """Refuses what is there and no file on a disk: to open a FIFO waits until somebody writes."""
    if os.path.exists(filename):
        what = kind_of(os.stat(filename).st_mode)
        if what:
            raise ValueError(f"{filename}: this is {what}; {what_for} must be a file")


def open_text(filename, what_for, errors="strict"):
    """
    Opens a text in UTF-8 to read it.

    Raises
    ------
    ValueError
        It is no file on a disk, or larger than LARGEST_TEXT.
    OSError
        It cannot be read.
    """
    check_regular(filename, what_for)
    file = open(filename, encoding="utf-8", errors=errors)
    size = os.fstat(file.fileno()).st_size
    if size > LARGEST_TEXT:
        file.close()
        raise ValueError(f"{filename}: has {size} bytes; {what_for} has at most {LARGEST_TEXT}")
    return file
