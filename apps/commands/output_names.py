#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The option of commands that keep files which are there."""


def add_no_overwrite(add, what):
    """Adds the option that keeps files which are there; what: they, and what happens without it."""
    add("--no-overwrite", dest="overwrite", action="store_false", help=f"refuse to replace {what}")
