#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The argument parser of every program: --help, --version, and errors of one line."""

import argparse
import difflib
import re
import sys

from .version import __version__


class CommandParser(argparse.ArgumentParser):
    """
    An argparse.ArgumentParser with --version.

    An error is one line, and names the option that a misspelt one may stand for; --help has the
    rest.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        # "-2e6,8" is a value, too, and not only "-2"; no option begins with a digit
        self._negative_number_matcher = re.compile(r"-[\d.]")
        self.add_argument(
            "--version",
            action="version",
            version=f"%(prog)s (gr-aperture) {__version__}",
            help="print the version of gr-aperture, and do no more",
        )

    def parse_known_args(self, args=None, namespace=None):
        """Parses as argparse does, which would report a missing option first."""
        for word in sys.argv[1:] if args is None else map(str, args):
            if word == "--":
                break
            name = word.partition("=")[0]
            if (
                name.startswith("--")
                and " " not in name
                and not any(known.startswith(name) for known in self._option_string_actions)
            ):
                close = difflib.get_close_matches(name, self._option_string_actions, 1)
                self.error(
                    f"{name}: there is no such option"
                    + (f"; {close[0]} may be meant" if close else "")
                )
        return super().parse_known_args(args, namespace)

    def error(self, message):
        """Prints one line, and ends the program."""
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help lists all options)\n")
