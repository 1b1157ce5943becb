#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The argument parser of every program: --help, and --version."""


import argparse

from .version import __version__


class CommandParser(argparse.ArgumentParser):
    """An argparse.ArgumentParser with --version."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.add_argument("--version", action="version",
                          version=f"%(prog)s (gr-aperture) {__version__}",
                          help="print the version of gr-aperture, and do no more")
