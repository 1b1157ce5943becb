#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_image: a dirty image of the sky from a UVH5 file, as a picture or as FITS."""

import os

import numpy as np

from ..arguments.argument_types import argument, number, numbers, whole_number
from ..arguments.command_parser import CommandParser
from ..files.growing_file import check_path
from ..formats.uvh5.reader import VisibilityFile, check_uvh5
from ..imaging.dirty_image import WHOLE_SKY, Field, find_peak, horizontal, make_image, to_sky
from ..imaging.names import names_near
from ..imaging.visibilities import ImagingError, SkyVisibilities
from ..imaging.weighting import RULE, parse_weighting
from ..packages.environment import require
from ..parameters.times import utc_text
from ..tracking.angle_text import angle_text, hours_text
from ..tracking.directions import Direction, icrs, parse_direction, unit_vectors
from ..tracking.phase_center import place_at
from .running import CommandError, run_command
from .sky_options import CENTRE_HELP, direction
from .tables import seconds_text, table, with_prefix
from .terminal import say, warn

PROGRAM = "aperture_image"
PIXELS_PER_BEAM = 4
FIELD_PIXELS = 512
#: the most of an image of the whole sky: more would be a field
MOST_SKY_PIXELS = 2048
ENDINGS = (".png", ".pdf", ".svg", ".fits")


def check_range(option, chosen, count, what):
    """Refuses a slice of numbers() that asks for what a file does not have."""
    first, end = chosen.start or 0, count if chosen.stop is None else chosen.stop
    if first >= count or end > count:
        text = ":".join(
            "" if number is None else str(number)
            for number in (chosen.start, None if chosen.stop is None else chosen.stop - 1)
        )
        raise CommandError(
            f"{option} {text}: the file has {count} {what}, 0 to {count - 1}, both "
            "ends of a range included"
        )


def parser():
    """The command line of aperture_image."""
    result = CommandParser(
        prog=PROGRAM,
        description="Makes a dirty image of the visibilities in a UVH5 file: of the whole sky "
        "above the horizon, or of a field around a phase centre. All channels and integrations "
        "are one image. Deconvolution (CLEAN) is left to other programs, which read what "
        "aperture_convert writes.",
    )
    add = result.add_argument
    add("file", metavar="FILE.uvh5", help="visibilities")
    add(
        "-o",
        "--output",
        required=True,
        action="append",
        metavar="FILE",
        help="picture (.png, .pdf, .svg) or .fits; may be given several times",
    )
    add("--beam", metavar="FILE.fits", help="write the dirty beam, too")
    add(
        "--centre",
        type=direction,
        metavar="DIRECTION",
        help=f"{CENTRE_HELP} (default: the phase centre of the file; of a small array without one "
        "the whole sky, of a large one the zenith)",
    )
    add(
        "--width",
        type=number(1e-6, 110, "degrees"),
        metavar="DEGREES",
        help=f"of the field (default: {FIELD_PIXELS // PIXELS_PER_BEAM} beams)",
    )
    add(
        "--pixels",
        type=whole_number(16, 16384, even=True),
        metavar="N",
        help=f"along each side (default: {PIXELS_PER_BEAM} or more for a beam)",
    )
    add(
        "--weight",
        type=argument(parse_weighting, named=True),
        default="briggs",
        metavar="WEIGHT",
        help=f"{RULE} (default: %(default)s)",
    )
    add(
        "--polarization",
        metavar="PQ",
        help="xx, yy, rr, ll, or I for the mean of both hands (default: I where there are both)",
    )
    add("--channels", type=numbers, default=":", metavar="FIRST:LAST", help="from 0, both included")
    add(
        "--integrations",
        type=numbers,
        default=":",
        metavar="FIRST:LAST",
        help="from 0, both included",
    )
    scale = result.add_mutually_exclusive_group()
    scale.add_argument(
        "--as-is",
        action="store_true",
        help="take visibilities as they are in the file (default: those in Jy or kelvin; others "
        "are divided by the root of the powers of both inputs, where these are in the file, so "
        "that all baselines count alike and the unit is a correlation coefficient)",
    )
    scale.add_argument(
        "--coherence",
        action="store_true",
        help="divide visibilities in Jy or kelvin by these powers, too",
    )
    add("--no-names", dest="names", action="store_false", help="name no sources in a picture")
    add(
        "--dpi",
        type=whole_number(30, 600),
        default=100,
        metavar="N",
        help="resolution of a picture, dots per inch (default: %(default)s)",
    )
    return result


def choose_hands(file, asked):
    """The polarisations to take, and what their mean is called."""
    parallel = [name for name in file.polarizations if len(name) == 2 and name[0] == name[1]]
    if asked is None or asked == "I":
        if not parallel or (asked == "I" and len(parallel) < 2):
            raise ImagingError(f"--polarization I: the file has {', '.join(file.polarizations)}")
        return parallel, "I" if len(parallel) == 2 else parallel[0]
    if asked not in parallel:
        raise ImagingError(f"--polarization {asked}: the file has {', '.join(parallel)}")
    return [asked], asked


def even(number):
    """The even number at or above a number."""
    return 2 * int(np.ceil(number / 2))


def choose_field(options, visibilities, file_centre):
    """The Field, and whether it is the whole sky."""
    beam = 1 / visibilities.longest  # radians, roughly
    centre = options.centre or file_centre
    wanted = even(WHOLE_SKY * PIXELS_PER_BEAM / beam)
    if centre is None and options.width is None:
        pixels = options.pixels or max(256, wanted)
        if options.pixels or pixels <= MOST_SKY_PIXELS:
            return Field(zenith(visibilities), pixels, WHOLE_SKY / pixels), True
    if centre is None:
        centre = zenith(visibilities)
    if options.width is None:
        pixels = options.pixels or FIELD_PIXELS
        cell = min(beam / PIXELS_PER_BEAM, 2 * np.sin(np.radians(55)) / pixels)
        return Field(centre, pixels, cell), False
    width = 2 * np.sin(np.radians(options.width / 2))
    pixels = options.pixels or int(np.clip(even(width * PIXELS_PER_BEAM / beam), 256, 4096))
    return Field(centre, pixels, width / pixels), False


def zenith(visibilities):
    """Returns the zenith in the middle of the observation, as a Direction on the sky."""
    ra, dec = icrs(
        Direction("zenith", azimuth=0.0, elevation=90.0), visibilities.middle, visibilities.array
    )[:2]
    return Direction("zenith", ra=float(ra), dec=float(dec))


def phase_centre_of(file):
    """The phase centre of a file as a Direction; None if it has none on the sky, or several."""
    centre = file.phase_center()
    return (
        None
        if centre is None
        else parse_direction({"name": centre[0], "ra": centre[1] % 360, "dec": centre[2]})
    )


def check_outputs(options):
    """Refuses files that could not be written, before anything is computed."""
    for path in options.output:
        if os.path.splitext(path)[1].lower() not in ENDINGS:
            raise CommandError(f"-o {path}: its ending is to be one of {', '.join(ENDINGS)}")
    if options.beam and not options.beam.lower().endswith(".fits"):
        raise CommandError(f"--beam {options.beam}: its ending is to be .fits")
    for path in [*options.output, *([options.beam] if options.beam else [])]:
        check_path(path, overwrite=True)
        if os.path.exists(path) and os.path.samefile(path, options.file):
            raise CommandError(f"{path}: this is what is read")


def image_file(options):
    """Does what the options say; returns the exit code."""
    require("imaging")
    check_uvh5(options.file, "the file of visibilities")
    with VisibilityFile(options.file) as file:
        file.refuse_baseline_dependent()
        check_outputs(options)
        hands, stokes = choose_hands(file, options.polarization)
        pairs = {(a, a, hand) for a in file.antennas for hand in hands}
        coherence = pairs <= {(auto.first, auto.second, auto.polarization) for auto in file.autos()}
        if options.coherence and not coherence:
            raise CommandError(
                f"--coherence: {options.file} does not have the powers of all inputs"
            )
        coherence &= options.coherence or not (options.as_is or file.unit)
        check_range("--channels", options.channels, len(file.frequencies), "channels")
        check_range("--integrations", options.integrations, len(file.times), "integrations")
        visibilities = SkyVisibilities(
            file, hands, coherence, options.channels, options.integrations
        )
        field, whole_sky = choose_field(options, visibilities, phase_centre_of(file))
        beam = 1 / visibilities.longest
        if field.cell > beam / 2:
            warn(
                PROGRAM,
                f"pixels are as wide as {field.cell / beam:.2g} beams: fine detail is "
                f"lost (--pixels {even(field.width * PIXELS_PER_BEAM / beam)})",
            )
        elevation = unit_vectors([field.centre], visibilities.middle, visibilities.array)[0, 2]
        if elevation < 0:
            warn(PROGRAM, f"{field.centre.name}: is below the horizon")
        image = make_image(visibilities, field, options.weight)
        write_outputs(options, file, visibilities, image, stokes, coherence, whole_sky)
    return 0


def unit_of(file, coherence):
    """The unit of an image: for people, and as FITS has it."""
    if coherence:
        return "correlation coefficient", ""
    if not file.unit:
        return "power (not calibrated)", "uncalib"
    # a point source has its flux density at its peak, which is one beam; others have one in all
    unit = {"Jy": "Jy/beam", "K str": "K sr/beam"}.get(file.unit, file.unit)
    return unit, unit


def write_outputs(options, file, visibilities, image, stokes, coherence, whole_sky):
    """Writes the files, and tells what is in them."""
    field = image.field
    ra, dec = (
        float(value) for value in icrs(field.centre, visibilities.middle, visibilities.array)[:2]
    )
    to_uvw = place_at(field.centre, visibilities.middle, visibilities.array).to_uvw
    peak, l, m = find_peak(image.image, field)
    peak_ra, peak_dec = (float(value) for value in to_sky(l, m, ra, dec))
    azimuth, elevation = horizontal(l, m, to_uvw)
    beam = f"{angle_text(image.beam.major)} × {angle_text(image.beam.minor)}"
    length = file.integration_time or 0
    start = visibilities.times[0] - length / 2
    time = utc_text(start, 3)
    width = with_prefix(file.channel_width * len(visibilities.frequencies), "Hz")
    frequency = float(visibilities.frequencies.mean())
    unit, fits_unit = unit_of(file, coherence)
    height = f"{peak:.4g}" + (f" {unit}" if file.unit and not coherence else "")
    rows = [
        ("centre", f"{field.centre.name}: {hours_text(ra, dec, field.cell)}"),
        (
            "field",
            f"{field.pixels} × {field.pixels} pixels of {angle_text(field.cell, 6)}"
            + (", the whole sky" if whole_sky else f", {angle_text(field.width)} wide"),
        ),
        ("weights", f"{options.weight}; {image.visibilities} visibilities"),
        ("beam", f"{beam}, position angle {image.beam.angle:.0f}°"),
        (
            "peak",
            f"{height} at {hours_text(peak_ra, peak_dec, field.cell)}, azimuth "
            f"{azimuth:.2f}°, elevation {elevation:.2f}°",
        ),
    ]
    about = {
        "frequency": frequency,
        "time": time,
        "telescope": file.telescope,
        "bandwidth": file.channel_width * len(visibilities.frequencies),
        "object": field.centre.name,
        "unit": fits_unit,
        "stokes": stokes,
        "history": [f"aperture_image: {os.path.basename(options.file)}, weights {options.weight}"],
    }
    for path in options.output:
        if path.lower().endswith(".fits"):
            write_image(path, image.image, image, (ra, dec), about)
            continue
        draw(
            path,
            options.dpi,
            image,
            whole_sky,
            names_near(field, visibilities.middle, visibilities.array, to_uvw, whole_sky)
            if options.names
            else [],
            f"{file.telescope}: {field.centre.name}"
            if not whole_sky
            else f"{file.telescope}: the whole sky",
            [
                f"{with_prefix(frequency, 'Hz')}, {width}, {len(visibilities.times)} "
                f"integration{'s'[: len(visibilities.times) > 1]} of {seconds_text(length, 3)}, "
                f"from {time.replace('T', ' ').removesuffix('.000')} UTC",
                *(
                    f"{name}\n  "
                    + text.replace(" at ", "\n  at ")
                    .replace(", azimuth", "\n  azimuth")
                    .replace("; ", "\n  ")
                    .replace(", position", "\n  position")
                    .replace(": ", "\n  ")
                    .replace(" of ", "\n  of ", 1)
                    .replace(", the", "\n  the")
                    for name, text in rows
                ),
            ],
            unit,
            to_uvw,
        )
    if options.beam:
        write_image(options.beam, image.psf, image, (ra, dec), {**about, "unit": ""})
    say(table(rows))


def write_image(path, values, image, place, about):
    """A FITS file; astropy is loaded only for that."""
    from ..imaging.image_file import write_fits

    write_fits(path, values, image, place, about)


def draw(path, dpi, image, whole_sky, sources, title, lines, unit, to_uvw):
    """Writes a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from ..plots.picture import save_picture
    from ..plots.plot_sky import sky_figure

    figure = sky_figure(image, sources, title, lines, unit, to_uvw if whole_sky else None)
    save_picture(figure, path, dpi=dpi)


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), image_file, arguments)
