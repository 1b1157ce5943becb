#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Names of files to be written: those that are there, and those that could not be made."""

import os

from ..files.growing_file import check_path
from ..plan.names import is_measurement_set
from .running import CommandError


def check_writable(path, overwrite):
    """Refuses, before anything is computed, a file that could not be written in the end."""
    if not overwrite and os.path.lexists(path):
        raise CommandError(f"-o {path}: the file exists, and --no-overwrite keeps it")
    if not is_measurement_set(path):
        check_path(path, overwrite)


def add_no_overwrite(add, what):
    """Adds the option that keeps files which are there; what: they, and what happens without it."""
    add("--no-overwrite", dest="overwrite", action="store_false", help=f"refuse to replace {what}")
