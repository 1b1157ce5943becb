#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_sky: what is up, when, for an array's place, as a table and as a picture."""

import os
import time as host
from dataclasses import dataclass

from ..arguments.argument_types import argument, number
from ..arguments.command_parser import CommandParser
from ..arrays.array_description import load_array, shipped_arrays
from ..arrays.geometry import local_sidereal_time
from ..files.growing_file import check_path
from ..parameters.rules import as_number
from ..parameters.times import TIME_RULE, read_time, utc_text
from ..plots.time_axis import Zone
from ..tracking.directions import age_warnings, catalogue, parse_direction
from ..tracking.passes import galactic_plane, passes
from ..tracking.satellite_files import satellites_of
from .running import CommandError, run_command
from .sky_options import direction
from .tables import table
from .terminal import say, warn

PROGRAM = "aperture_sky"
DAY = 86400.0
ENDINGS = (".png", ".pdf", ".svg")
#: sources of the table where nothing is asked for
BRIGHT = ("sun", "moon", "Cas A", "Cyg A", "Tau A", "Vir A", "Sgr A*")
#: pulsars that small arrays have been seen with, the strongest first
PULSARS = ("B0329+54", "B0833-45", "B0950+08", "B1133+16", "B1929+10")


@dataclass(frozen=True)
class Place:
    """A place on the ground: degrees, and metres above the ellipsoid."""

    name: str
    latitude: float
    longitude: float
    height: float


def place_of(text):
    """The Place of a text LATITUDE,LONGITUDE[,HEIGHT]; raises ValueError."""
    parts = text.split(",")
    if len(parts) not in (2, 3):
        raise ValueError("expected LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,HEIGHT")
    limits = (
        ("latitude", -90, 90, "degrees"),
        ("longitude", -180, 360, "degrees"),
        ("height", -12000, 100000, "metres"),
    )
    values = [0.0, 0.0, 0.0]
    for index, (part, (name, low, high, unit)) in enumerate(zip(parts, limits)):
        try:
            value = float(part)
        except ValueError:
            value = part
        values[index] = as_number(name, value, low, high, unit)
    return Place(f"{values[0]:.4f}°, {values[1]:.4f}°", *values)


def parser():
    """The command line of aperture_sky."""
    result = CommandParser(
        prog=PROGRAM,
        description="Tells when sources and satellites are above the horizon of an array: a table "
        "of when each rises, is highest and sets, and a picture of elevations over time, with UTC "
        "and local sidereal time. Without --source that are the Sun, the Moon, bright sources, "
        "pulsars and the galactic plane.",
    )
    add = result.add_argument
    where = result.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "array",
        nargs="?",
        metavar="ARRAY",
        help=f"array description: a file, or {', '.join(shipped_arrays())}",
    )
    where.add_argument(
        "--place",
        type=argument(place_of, named=True),
        metavar="LAT,LON[,HEIGHT]",
        help="degrees (east is positive; --place=-33.9,18.4 for the south) and metres, instead of "
        "an array",
    )
    add(
        "--at",
        type=argument(read_time),
        metavar="TIME",
        help=f"when to begin: {TIME_RULE} (default: now)",
    )
    add(
        "--hours",
        type=number(0, 240, "hours", above=True),
        default=24.0,
        metavar="HOURS",
        help="for how long (default: %(default)g)",
    )
    add(
        "--source",
        type=direction,
        action="append",
        default=[],
        metavar="DIRECTION",
        help="a direction as --track of aperture_fx has it, instead of those above; may be given "
        "several times",
    )
    add(
        "--satellites",
        action="append",
        default=[],
        metavar="FILE[,NAME]",
        help="also all satellites of a file of elements (TLE), or one of them by name or number; "
        "may be given several times",
    )
    add(
        "--lowest",
        type=number(0, 90, "degrees"),
        default=0.0,
        metavar="DEGREES",
        help="elevation from which on something is up (default: %(default)g)",
    )
    add("-o", "--output", metavar="FILE", help="picture (.png, .pdf, .svg)")
    add(
        "--time-zone",
        metavar="ZONE",
        help="of the picture's second line of times, such as Europe/Berlin (default: that of "
        "this computer)",
    )
    return result


def clock(moment, start):
    """The time of a Moment: hours and minutes, and the day where it is another one."""
    if moment is None:
        return "-"
    text = utc_text(round(moment.time), between=" ")
    return text[11:] if text[:10] == utc_text(start)[:10] else text[5:]


def sidereal(time, array):
    """Local sidereal time in hours and minutes."""
    minutes = int(local_sidereal_time(time, array.longitude) * 4)
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def compass(azimuth):
    """An azimuth in whole degrees, 0 to 359."""
    return f"{round(float(azimuth)) % 360}°"


def rows_of(look, array, start, seconds, lowest):
    """Rows of the table, of each pass of a direction one."""
    found = passes(look, array, start, seconds, lowest)
    if not found:
        return [(look.name, "not up")]
    rows = []
    for each in found:
        always = each.rise is None and each.set is None
        rows.append(
            (
                look.name,
                "always up" if always else "up" if each.rise is None else clock(each.rise, start),
                "" if each.rise is None else compass(each.rise.azimuth),
                clock(each.highest, start),
                sidereal(each.highest.time, array),
                f"{each.highest.elevation:.1f}°",
                compass(each.highest.azimuth),
                "" if always else "stays up" if each.set is None else clock(each.set, start),
                "" if each.set is None else compass(each.set.azimuth),
            )
        )
    return rows


def plane_row(plane, array, start):
    """A row of the galactic plane, half of which is always up: when it is highest."""
    best = int(plane.elevation.argmax())
    time = float(plane.times[best])
    return (
        f"galactic plane, l {plane.longitude[best]:.0f}°",
        "in part",
        "",
        utc_text(round(time))[11:]
        if utc_text(time)[:10] == utc_text(start)[:10]
        else utc_text(round(time), between=" ")[5:],
        sidereal(time, array),
        f"{plane.elevation[best]:.1f}°",
        compass(plane.azimuth[best]),
    )


def check_output(path):
    """Refuses a picture that could not be written, before anything is computed."""
    if os.path.splitext(path)[1].lower() not in ENDINGS:
        raise CommandError(f"-o {path}: its ending is to be one of {', '.join(ENDINGS)}")
    check_path(path, overwrite=True)


def show(options):
    """Does what the options say; returns the exit code."""
    array = options.place or load_array(options.array)
    start = host.time() if options.at is None else float(options.at)
    seconds = options.hours * 3600
    zone = Zone(options.time_zone)
    if options.output:
        check_output(options.output)
    known = {entry.name: entry for entry in catalogue()}
    looks = list(options.source) or [
        *map(parse_direction, BRIGHT),
        *(known[name] for name in PULSARS),
    ]
    satellites, damaged = satellites_of(options.satellites, "--satellites")
    for text in damaged:
        warn(PROGRAM, text)
    plane = None if options.source else galactic_plane(array, start, seconds)
    for text in age_warnings([*looks, *satellites], start + seconds / 2):
        warn(PROGRAM, text)
    rows = [
        row
        for look in looks + satellites
        for row in rows_of(look, array, start, seconds, options.lowest)
    ]
    if plane is not None:
        rows.append(plane_row(plane, array, start))
    begin = utc_text(round(start), between=" ")
    above = f", above {options.lowest:g}°" if options.lowest else ""
    title = f"{array.name}: what is up from {begin} UTC on, for {options.hours:g} h{above}"
    say(title)
    say(f"  sidereal time at the start {sidereal(start, array)}; times are UTC")
    head = ("source", "rises", "az", "highest", "LST", "el", "az", "sets", "az")
    say(table([head, *rows]))
    if options.output:
        import matplotlib

        matplotlib.use("Agg")
        from ..plots.picture import save_picture
        from ..plots.plot_passes import passes_figure

        figure = passes_figure(
            looks + satellites, plane, array, start, seconds, zone, title, options.lowest
        )
        save_picture(figure, options.output, dpi=100)
        say(f"  picture: {options.output}")
    return 0


def main(arguments=None):
    """Runs aperture_sky; arguments: those of the process if None. Returns the exit code."""
    return run_command(PROGRAM, parser(), show, arguments)
