#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_convert: visibilities from UVH5 to measurement sets and UVFITS, and back."""

import os

from ..arguments.argument_types import names, numbers, whole_number
from ..arguments.command_parser import CommandParser
from ..calibration.calibration import INTERPOLATIONS, SCALES
from ..calibration.calibration_file import load_calibration
from ..files.growing_file import check_path
from ..formats.uvh5.header import COMPRESSIONS
from ..packages.environment import require
from ..parameters.regular_file import check_regular
from ..plan.names import is_measurement_set
from .output_names import add_no_overwrite
from .running import CommandError, run_command
from .sky_options import CENTRE_HELP, direction, place_of
from .tables import shown
from .terminal import say, warn

PROGRAM = "aperture_convert"
MOST_NAMES = 3  # calibrations that the file names


def calibration_of(options):
    """The Series of calibrations that the options name."""
    # not at the top: it needs packages that a bare installation lacks
    from ..conversion.changes import Series

    return Series(
        [load_calibration(name) for name in options.calibration],
        ", ".join(map(shown, map(os.path.basename, options.calibration[:MOST_NAMES])))
        + ", ..." * (len(options.calibration) > MOST_NAMES),
        options.scale,
        options.interpolation,
    )


def parser():
    """The command line of aperture_convert."""
    result = CommandParser(
        prog=PROGRAM,
        description="Converts visibilities between UVH5, measurement sets and UVFITS, as the "
        "endings of the names say (.uvh5, .ms, .uvfits), by pyuvdata; a part of them, averages, or "
        "what a calibration makes of them. "
        "Visibilities that are not phased to a place on the sky are phased to one for a "
        "measurement set or UVFITS.",
    )
    add = result.add_argument
    add("input", metavar="IN", help="visibilities in one of these formats")
    add("output", metavar="OUT", help="file (or folder, of a measurement set) to write")
    add(
        "--centre",
        type=direction,
        metavar="DIRECTION",
        help=f"phase centre: {CENTRE_HELP} (default: the one that the file has, else what was in "
        "the zenith in the middle of the observation)",
    )
    add(
        "--integrations",
        type=numbers,
        metavar="FIRST:LAST",
        help="integrations that are taken, from 0, both included (default: all)",
    )
    add(
        "--select-channels",
        type=numbers,
        metavar="FIRST:LAST",
        help="channels that are taken, from 0, the lowest, both included (default: all)",
    )
    add(
        "--antennas",
        type=names,
        metavar="A,B,...",
        help="antennas of which all baselines between each other, and autocorrelations, are taken "
        "(default: all)",
    )
    add(
        "--baselines",
        type=names,
        metavar="A-B,...",
        help="baselines that are taken; A-A is the autocorrelation (default: all)",
    )
    add(
        "--polarizations",
        type=names,
        metavar="PQ,...",
        help="polarisation products that are taken, such as xx,yy (default: all)",
    )
    add(
        "--calibration",
        nargs="+",
        metavar="CAL.yml",
        help="calibration that is applied, of aperture_calibrate (.yml) or pyuvdata (.calh5); of "
        "several, each integration gets what --interpolation says",
    )
    add(
        "--interpolation",
        choices=INTERPOLATIONS,
        default=INTERPOLATIONS[0],
        help="with several calibrations: between two of them magnitude and phase of corrections "
        "are linear, or those of the one that was measured nearest to the integration (default: "
        "%(default)s)",
    )
    add(
        "--scale",
        choices=SCALES,
        default=SCALES[0],
        help="with --calibration: the scale of its source's model, or kelvin as hot and cold loads "
        "say (default: %(default)s)",
    )
    add(
        "--average-integrations",
        type=whole_number(1, 1 << 30),
        default=1,
        metavar="N",
        help="average N integrations that follow on each other, after --centre was applied; "
        "averages end at gaps (default: 1)",
    )
    add(
        "--average-channels",
        type=whole_number(1, 1 << 24),
        default=1,
        metavar="N",
        help="average N neighbouring channels (default: 1)",
    )
    add(
        "--compression",
        choices=tuple(COMPRESSIONS),
        help="compression of the visibilities in a .uvh5 (default: none), as in aperture_fx",
    )
    add_no_overwrite(add, "a file (default: it is replaced when the new one is whole)")
    return result


def convert(options):
    """Does what the options say; returns the exit code."""
    require("conversion")
    # not at the top: it needs what `require` looks for
    from ..conversion.convert import Averages, Selection
    from ..conversion.convert import convert as convert_file
    from ..conversion.visibility_files import format_of

    for path in (options.input, options.output):
        format_of(path)
    if not os.path.exists(options.input):
        raise CommandError(f"{options.input}: no such file")
    if not is_measurement_set(options.output.rstrip("/")):
        check_path(options.output, options.overwrite)
    if os.path.isfile(options.input):
        check_regular(options.input, "the file of visibilities")
    if os.path.exists(options.output) and os.path.samefile(options.input, options.output):
        raise CommandError(f"{options.output}: this is what is read")
    if options.compression is not None and format_of(options.output) != ".uvh5":
        raise CommandError(
            f"--compression {options.compression}: is for UVH5, not for {options.output}"
        )
    if options.compression == "bitshuffle":
        require("compression")
    centre = options.centre
    summary, notes = convert_file(
        options.input,
        options.output,
        centre and place_of(centre),
        centre and centre.name,
        options.overwrite,
        options.compression or "none",
        Selection(
            options.integrations,
            options.select_channels,
            options.antennas,
            options.baselines,
            options.polarizations,
        ),
        Averages(options.average_integrations, options.average_channels),
        options.calibration and calibration_of(options),
    )
    for note in notes:
        warn(PROGRAM, note)
    say(f"{options.output}: {summary}")
    return 0


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), convert, arguments)
