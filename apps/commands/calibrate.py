#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_calibrate: what makes an array's inputs equal, from visibilities of a known source."""

import argparse
import os
from dataclasses import replace

import numpy as np

from ..arguments.argument_types import names, number, positive_seconds, whole_number
from ..arguments.command_parser import CommandParser
from ..arrays.earth_rotation import unix_seconds
from ..calibration.calibration import CalibrationError
from ..calibration.calibration_file import load_calibration, save_calibration
from ..calibration.loads import read_powers, with_loads
from ..calibration.measure import (
    MOST_FLAGGED,
    MOST_MISFIT,
    calibrate_file,
    intervals_of,
    levels_of,
    mean_ratios,
)
from ..calibration.sources import FLUXES, RULE, sky_model
from ..calibration.uvcal import save_uvcal
from ..files.file_names import TIME, names_at
from ..formats.uvh5.header import NOT_APPLIED
from ..formats.uvh5.reader import VisibilityFile, check_uvh5
from ..parameters.times import utc_text
from .running import CommandError, run_command
from .tables import seconds_text, shown, table
from .terminal import say, warn

PROGRAM = "aperture_calibrate"
MOST_ROWS = 32  # rows of the table


def integrations_of(text):
    """An argparse type: numbers of integrations such as 0-9 -> (0, 9)."""
    first, _, last = text.partition("-")
    try:
        span = int(first), int(last or first)
    except ValueError:
        span = (-1, -1)
    if not 0 <= span[0] <= span[1]:
        raise argparse.ArgumentTypeError(
            f"{text}: expected numbers of integrations from 0, such as 0-9"
        )
    return span


def chosen(file, span, option):
    """Numbers of integrations of a file; None: all."""
    if span is None:
        return None
    if span[1] >= len(file.times):
        raise CommandError(
            f"{option} {span[0]}-{span[1]}: the file has {len(file.times)}, 0 to "
            f"{len(file.times) - 1}"
        )
    return np.arange(span[0], span[1] + 1)


def open_file(name):
    """A UVH5 file."""
    check_uvh5(name, "visibilities")
    file = VisibilityFile(name)
    file.refuse_baseline_dependent()
    return file


def powers_of(option, words):
    """The Powers of a load: its file, temperature and, if given, integrations."""
    if len(words) not in (2, 3):
        raise CommandError(f"{option}: expected FILE.uvh5 KELVIN, or FILE.uvh5 KELVIN FIRST-LAST")
    try:
        temperature = float(words[1])
    except ValueError:
        raise CommandError(
            f"{option} {' '.join(words)}: {words[1]} is no temperature in kelvin"
        ) from None
    try:
        span = integrations_of(words[2]) if len(words) == 3 else None
    except argparse.ArgumentTypeError as error:
        raise CommandError(f"{option}: {error}") from None
    with open_file(words[0]) as file:
        return read_powers(file, temperature, chosen(file, span, option))


def degrees_text(radians):
    """A phase for a table."""
    return f"{np.degrees(radians):.2f}°"


def report(calibration):
    """The table at the end, as text."""
    rows = [
        (
            "input",
            "delay",
            "phase",
            "S/N",
            "misfit",
            "flagged",
            *(("receiver",) if calibration.has_kelvin else ()),
        )
    ]
    for entry in calibration.inputs[:MOST_ROWS]:
        quality = entry.quality
        there = ~entry.flagged
        size = (
            ""
            if entry.receiver_temperature is None or not there.any()
            else f"{np.median(entry.receiver_temperature[there]):.4g} K"
        )
        rows.append(
            (
                entry.name + (" (reference)" if entry.name in calibration.references else ""),
                f"{entry.delay * 1e9:.3f} ns",
                degrees_text(entry.phase),
                f"{quality.signal_to_noise:.3g}" if np.isfinite(quality.signal_to_noise) else "-",
                f"{100 * quality.misfit:.2g} %" if np.isfinite(quality.misfit) else "-",
                f"{100 * np.mean(entry.flagged):.3g} %",
                size,
            )
        )
    lines = [table(rows)]
    if len(calibration.inputs) > MOST_ROWS:
        lines.append(f"  ... {len(calibration.inputs)} inputs in all")
    return "\n".join(lines)


def impossible_receivers(calibration):
    """Warnings of receivers below 0 K, as [text]."""
    names = [
        entry.name
        for entry in calibration.inputs
        if entry.receiver_temperature is not None and np.median(entry.receiver_temperature) < 0
    ]
    return (
        [
            f"{', '.join(names[:8])}{', ...' * (len(names) > 8)}: receivers below 0 K: the "
            "temperatures of the loads are wrong, or something changed between them (a gain)"
        ]
        if names
        else []
    )


def draw(file, model, calibration, integrations, path):
    """The picture before and after."""
    import matplotlib

    matplotlib.use("Agg")
    from ..plots.picture import save_picture
    from ..plots.plot_calibration import calibration_figure

    products, before = mean_ratios(file, model, integrations, levels_of(file))
    names = calibration.names
    corrections = calibration.corrections(file.frequencies)
    after, flagged = np.empty_like(before), np.empty(before.shape, bool)
    for index, product in enumerate(products):
        first, second = (
            names.index(file.names[antenna] + product.polarization[0])
            for antenna in (product.first, product.second)
        )
        # the ratio is x of `second` times conj(x of `first`)
        after[index] = before[index] * corrections[second] * corrections[first].conj()
        flagged[index] = calibration.inputs[first].flagged | calibration.inputs[second].flagged
    figure = calibration_figure(
        file,
        products,
        before,
        after,
        flagged,
        f"source: {calibration.source}; reference {', '.join(calibration.references)}; grey: not "
        "measured; magnitude before: over its median",
    )
    try:
        save_picture(figure, path, dpi=100)
    except (OSError, ValueError) as error:
        raise CommandError(f"--plot {path}: {error}") from None


def check_files(options):
    """Refuses names of files that contradict what is asked for."""
    if not options.output.endswith((".yml", ".yaml")):
        raise CommandError(f"-o {options.output}: the name of a calibration ends in .yml")
    if (options.hot is None) != (options.cold is None):
        raise CommandError("--hot and --cold: both are needed")
    if options.file is None and options.hot is None:
        raise CommandError("a UVH5 file of a source, or --hot and --cold, or both are needed")
    if options.file is None and options.plot is not None:
        raise CommandError(f"--plot {options.plot}: needs a UVH5 file of a source")
    if options.file is None and options.uvcal is not None:
        # only the file knows of the antennas' places
        raise CommandError(f"--uvcal {options.uvcal}: needs a UVH5 file of a source")
    for option, path in (
        ("-o", options.output),
        ("--plot", options.plot),
        ("--uvcal", options.uvcal),
    ):
        if path is not None and os.path.isdir(path):
            raise CommandError(f"{option} {path}: is a folder")
    if options.interval is None:
        return
    if options.file is None:
        raise CommandError(f"--interval {options.interval:g}: needs a UVH5 file of a source")
    if TIME not in options.output:
        raise CommandError(
            f"-o {options.output}: with --interval there is a calibration for each, so that {TIME} "
            "is to be in the name"
        )
    for option in ("plot", "uvcal", "hot"):
        if getattr(options, option) is not None:
            raise CommandError(f"--{option}: is for one calibration, and not for --interval")


def with_validity(calibration, seconds):
    """The calibration, valid for so long before and after its data; None: always."""
    if seconds is None:
        return calibration
    begin, end = calibration.measured
    return replace(calibration, valid=(max(0.0, begin - seconds), end + seconds))


def measure_intervals(options, file, model, numbers, settings):
    """Writes a calibration for each interval of a file, and says how good each is."""
    numbers = np.arange(len(file.times)) if numbers is None else numbers
    rows, told, taken = [("from", "for", "S/N", "misfit", "flagged", "file")], {}, []
    intervals = intervals_of(file, numbers, options.interval)
    for part in intervals:
        when = utc_text(float(unix_seconds(file.times[part[0]])), 3) + "Z"
        try:
            calibration, texts = calibrate_file(file, model, np.array(part), **settings)
        except CalibrationError as error:
            warn(PROGRAM, f"integrations {part[0]}-{part[-1]}, {when}: no calibration: {error}")
            continue
        # the same one for all, so that phases go on from one to the next
        settings = {**settings, "reference": settings["reference"] or calibration.references[0]}
        for text in texts:
            told.setdefault(text, []).append(when)
        calibration = replace(calibration, history=f"{PROGRAM} {shown(options.file)}")
        calibration = with_validity(calibration, options.valid)
        (name,) = names_at([options.output], calibration.measured[0], taken)
        save_calibration(calibration, name)
        taken.append(name)
        qualities = calibration.quality.values()
        rows.append(
            (
                when,
                seconds_text(calibration.measured[1] - calibration.measured[0]),
                f"{min(quality.signal_to_noise for quality in qualities):.3g}",
                f"{100 * max(quality.misfit for quality in qualities):.2g} %",
                f"{100 * np.mean([entry.flagged for entry in calibration.inputs]):.3g} %",
                shown(name),
            )
        )
    if not taken:
        raise CommandError(f"{options.file}: there is no calibration of any interval")
    for text, times in told.items():
        more = f", and {len(times) - 1} more" if len(times) > 1 else ""
        warn(PROGRAM, f"{times[0]}{more}: {text}")
    say(table(rows[: MOST_ROWS + 1]))
    say(f"{len(taken)} of {len(intervals)} intervals: written")
    return 0


def measure(options):
    """Does what the options say; returns the exit code."""
    check_files(options)
    calibration = load_calibration(options.base) if options.base else None
    told = []
    if options.file is not None:
        model = sky_model(options.source, options.fluxes)
        with open_file(options.file) as file:
            numbers = chosen(file, options.integrations, "--integrations")
            state = file.keywords.get("CALSTATE", NOT_APPLIED)
            if state != NOT_APPLIED:
                warn(
                    PROGRAM,
                    f"{options.file}: a calibration was {state}: what is measured is "
                    "what is left after it, and does not take its place",
                )
            settings = dict(
                reference=options.reference,
                average=options.average,
                most_misfit=options.most_misfit,
                most_flagged=options.most_flagged,
                leave_out=options.leave_out,
            )
            try:
                if options.interval is not None:
                    return measure_intervals(options, file, model, numbers, settings)
                calibration, told = calibrate_file(file, model, numbers, **settings)
            except CalibrationError as error:
                raise CommandError(f"{options.file}: {error}") from None
            calibration = replace(calibration, history=f"{PROGRAM} {shown(options.file)}")
            if options.plot is not None:
                draw(file, model, calibration, numbers, options.plot)
    if options.hot is not None:
        calibration = with_loads(
            calibration, powers_of("--hot", options.hot), powers_of("--cold", options.cold)
        )
        calibration = replace(
            calibration,
            history=(
                (calibration.history or PROGRAM) + f", hot {shown(' '.join(options.hot))}, cold "
                f"{shown(' '.join(options.cold))}"
            ),
        )
        told += impossible_receivers(calibration)
    calibration = with_validity(calibration, options.valid)
    if options.uvcal is not None:
        with open_file(options.file) as file:
            save_uvcal(calibration, options.uvcal, file)
    save_calibration(calibration, options.output)
    for text in told:
        warn(PROGRAM, text)
    length = calibration.measured[1] - calibration.measured[0]
    say(
        f"{calibration.array}: {len(calibration.inputs)} inputs, {calibration.band}, "
        f"{seconds_text(length)} of {calibration.source}"
    )
    say(report(calibration))
    say(f"{options.output}: written")
    return 0


def parser():
    """The command line of aperture_calibrate."""
    result = CommandParser(
        prog=PROGRAM,
        description="Measures by what the inputs of an array differ - cables, phases, bandpasses - "
        "from visibilities of a known source, and writes what makes them equal, for --calibration "
        "of aperture_fx, aperture_beams and aperture_convert.",
    )
    add = result.add_argument
    add(
        "file",
        metavar="FILE.uvh5",
        nargs="?",
        help="visibilities of the source, without a calibration; left out where only loads are "
        "measured",
    )
    add("-o", "--output", required=True, metavar="CAL.yml", help="calibration to write")
    add("--source", default="noise", metavar="SOURCE", help=f"{RULE} (default: %(default)s)")
    add(
        "--fluxes",
        choices=tuple(FLUXES),
        help="catalogue of fluxes in Jy of a --source such as '3C 286', so that calibrated "
        "visibilities are in Jy (default: none, its power is 1)",
    )
    add(
        "--reference",
        metavar="INPUT",
        help="input that is left as it is but for its magnitude; with two polarisations, "
        "the antenna's other one, too (default: the one with the most signal to "
        "noise)",
    )
    add(
        "--integrations",
        type=integrations_of,
        metavar="FIRST-LAST",
        help="integrations that are used, from 0 (default: all)",
    )
    add(
        "--interval",
        type=positive_seconds(False),
        metavar="SECONDS",
        help=f"a calibration for each so many seconds of the file, with {TIME} in the name of -o; "
        "aperture_convert --calibration takes them all (default: one for all)",
    )
    add(
        "--leave-out",
        type=names,
        default=(),
        metavar="INPUT,...",
        help="inputs, or antennas, that take no part, as those that a first run named as bad",
    )
    add(
        "--average",
        type=whole_number(0, 1 << 20),
        default=0,
        metavar="N",
        help="channels that share a gain (default: 0, as many as give a signal to noise of 10)",
    )
    add(
        "--most-misfit",
        type=number(0, 1e6, above=True),
        default=MOST_MISFIT,
        metavar="PART",
        help="part of the model that may be left as residuals beyond the noise (default: "
        "%(default)s)",
    )
    add(
        "--most-flagged",
        type=number(0, 1e6, above=True),
        default=MOST_FLAGGED,
        metavar="PART",
        help="part of the channels that may not be measured, for which neighbours stand "
        "(default: %(default)s)",
    )
    add(
        "--hot",
        nargs="+",
        metavar=("FILE.uvh5", "KELVIN"),
        help="a recording with hot loads in front of all receivers, their temperature, and if "
        "wanted the integrations as FIRST-LAST",
    )
    add("--cold", nargs="+", metavar=("FILE.uvh5", "KELVIN"), help="the same with cold loads")
    add(
        "--base",
        metavar="CAL.yml",
        help="without FILE.uvh5: a calibration to which what the loads say is added",
    )
    add(
        "--valid",
        type=positive_seconds(False),
        metavar="SECONDS",
        help="time before and after the data for which it may be used (default: always)",
    )
    add("--plot", metavar="PNG", help="picture of the visibilities before and after")
    add("--uvcal", metavar="CAL.calh5", help="the same calibration as a file of pyuvdata's UVCal")
    return result


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), measure, arguments)
