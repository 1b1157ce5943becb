#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_merge: joins UVH5 files of parts of the channels, times and fields into one."""

import os

from ..arguments.command_parser import CommandParser
from ..files.growing_file import check_path
from .output_names import add_no_overwrite
from .running import CommandError, run_command
from .terminal import say, warn

PROGRAM = "aperture_merge"


def parser():
    """The command line of aperture_merge."""
    result = CommandParser(
        prog=PROGRAM,
        description="Joins UVH5 files that the hosts of one correlator wrote, each with some of "
        "the channels, into one with all of them. Several files of the same channels, as a host "
        "that was started again writes them, are joined in time; they may be of several fields, "
        "phase centres one after the other. What no file has is flagged.",
    )
    add = result.add_argument
    add("input", nargs="+", metavar="PART.uvh5", help="files that aperture_fx wrote")
    add("-o", "--output", required=True, metavar="FILE.uvh5", help="file to write")
    add_no_overwrite(add, "a file (default: it is replaced when the new one is whole)")
    return result


def merge(options):
    """Does what the options say; returns the exit code."""
    # not at the top: to load h5py takes long
    from ..formats.uvh5.merge import merge as merge_files
    from ..formats.uvh5.reader import check_uvh5

    for path in options.input:
        if not os.path.exists(path):
            raise CommandError(f"{path}: no such file")
        check_uvh5(path, "a file of visibilities")
        if os.path.exists(options.output) and os.path.samefile(path, options.output):
            raise CommandError(f"{options.output}: this is what is read")
    check_path(options.output, options.overwrite)
    found = merge_files(options.input, options.output)
    for note in found["notes"]:
        warn(PROGRAM, note)
    lost = f", {100 * found['flagged']:.3g} % of them in no file" if found["flagged"] else ""
    say(
        f"{options.output}: {found['integrations']} integrations of {found['channels']} "
        f"channels{lost}"
    )
    return 0


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), merge, arguments)
