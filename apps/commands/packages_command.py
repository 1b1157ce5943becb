#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_packages: installs packages from PyPI that other commands need."""

from .. import aperture_python
from ..arguments.command_parser import CommandParser
from ..packages import environment
from .running import run_command
from .tables import table
from .terminal import say


def parser():
    """The command line of aperture_packages."""
    result = CommandParser(
        prog=environment.PROGRAM,
        description="Installs packages from PyPI that other commands need, into a virtual "
        f"environment over the system's packages, {environment.folder()} (APERTURE_VENV in the "
        "environment names another). Without a group, it lists what there is, and by which "
        "transports packets can be received.",
    )
    result.add_argument(
        "groups",
        metavar="GROUP",
        nargs="*",
        default=[],
        help=", ".join([*environment.GROUPS, "all"]),
    )
    return result


def install(options):
    """Does what the options say; returns the exit code."""
    known = environment.GROUPS
    for group in options.groups:
        if group not in (*known, "all"):
            raise environment.PackageError(
                f"{group}: there is no such group: {', '.join(known)} or all"
            )
    groups = list(known) if "all" in options.groups else options.groups
    installed = environment.install(groups)
    if not groups:
        say(
            table(
                [
                    (
                        name,
                        "installed" if environment.is_installed(name) else "not installed",
                        group.purpose,
                    )
                    for name, group in known.items()
                ]
            )
        )
        transports = aperture_python.packet_transports()
        say(
            table(
                [
                    (f"packets by {name}", "not there" if missing else "there", missing)
                    for name, missing in transports.items()
                ]
            )
        )
    for group in groups:
        say(f"{group}: {'installed in' if group in installed else 'is in'} {environment.folder()}")
    return 0


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(environment.PROGRAM, parser(), install, arguments)
