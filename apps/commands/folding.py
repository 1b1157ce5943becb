#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Folding in a plan: profiles of a pulsar that aperture_beams writes."""

import math
import os

from ..arguments.argument_types import argument, positive_seconds, whole_number
from ..files.regular_file import check_regular
from ..filterbank_sink import PRODUCTS
from ..folder import folder
from ..psrfits_sink import psrfits_sink
from ..streams.silent_block import silent
from ..transients.folding import profile, signal_to_noise
from ..transients.par_file import read_par
from .output_names import check_output_name
from .tables import seconds_text, with_prefix

#: the plan's section: key -> attribute of the options
FOLD_SCHEMA = {
    "fold": {
        "by": "fold",
        "file": "profiles",
        "bins": "fold_bins",
        "subintegration": "subintegration",
    }
}
ENDINGS = (".fits", ".ar")
HOURS_OF_ENDLESS = 24.0


def parse_fold(text):
    """
    Returns (period, dm, file) of --fold, the first two or the last one None.

    Raises
    ------
    ValueError
    """
    if text.endswith(".par"):
        return None, None, text
    words = text.split(",")
    try:
        period = float(words[0])
        dm = 0.0
        for word in words[1:]:
            if not word.startswith("dm="):
                raise ValueError
            dm = float(word[3:])
        if not (1e-4 <= period <= 1e5 and 0 <= dm <= 1e6):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{text!r} is not allowed: a period from 1e-4 to 1e5 s, with the "
            "dispersion measure where it is known (0.7145,dm=26.76), or a file that "
            "ends in .par"
        ) from None
    return period, dm, None


def add_fold_options(add):
    """The options of a command that may fold."""
    add(
        "--fold",
        type=argument(parse_fold, kept=True, named=True),
        metavar="PERIOD|FILE.par",
        help="also fold the powers of all beams, with a period in seconds at the telescope "
        "(0.7145,dm=26.76) or by a timing model",
    )
    add(
        "--profiles",
        metavar="FILE.fits",
        help="with --fold: the PSRFITS file, with {beam} in its name where there are "
        "several; {time} becomes the UTC time of the first sub-integration (default: "
        "named after -o, or profiles-{time}.fits)",
    )
    add(
        "--fold-bins",
        type=whole_number(2, 65536),
        default=128,
        metavar="N",
        help="with --fold: bins of a revolution (default: %(default)s)",
    )
    add(
        "--subintegration",
        type=positive_seconds(False),
        default=10.0,
        metavar="SECONDS",
        help="with --fold: length of a sub-integration (default: %(default)s)",
    )


def profiles_name(options, beams):
    """Returns the name of the files of --fold; beams: rows of the powers."""
    if options.profiles is not None:
        return options.profiles
    if options.output is not None:
        return (
            os.path.splitext(options.output)[0]
            + ("-{beam}" if beams > 1 and "{beam}" not in options.output else "")
            + ".fits"
        )
    return "profiles-{time}-{beam}.fits" if beams > 1 else "profiles-{time}.fits"


def check_fold(options):
    """Refuses, before anything else, what cannot be."""
    if options.profiles is not None:
        check_output_name(options.profiles, ENDINGS, ["beam", "time"], "--profiles")
    if options.fold is not None and parse_fold(options.fold)[2] is not None:
        check_regular(os.path.expanduser(options.fold), "the timing model")


class Folding:
    """The blocks of --fold; rows: beams of the powers."""

    def __init__(self, options, plan, signals, array, beams, rows):
        period, dm, file = parse_fold(options.fold)
        model = None if file is None else read_par(os.path.expanduser(file))
        seconds = (
            HOURS_OF_ENDLESS * 3600 if plan.samples is None else plan.samples / plan.sample_rate
        )
        start = signals.start_time
        phases = dict(
            par=model,
            array=array,
            start_time=(start[0] - 60, start[1]),
            hours=min(8800.0, max(1.0, math.ceil(seconds / 3600 + 0.1))),
        )
        if model is None:
            phases = dict(period=period, epoch=start)
        channels = plan.channels // options.sum_channels
        self.folder = silent(
            folder,
            channels=channels,
            beams=rows,
            products=len(PRODUCTS[options.products]),
            bins=options.fold_bins,
            subintegration=options.subintegration,
            **phases,
        )
        phases["array"] = array
        self.sink = silent(
            psrfits_sink,
            filename=profiles_name(options, rows),
            beams=beams,
            channels=channels,
            bins=options.fold_bins,
            products=options.products,
            dm=dm,
            overwrite=options.overwrite,
            rows=rows,
            **phases,
        )
        self.what = f"with a period of {period:.12g} s" if model is None else f"by {file}"

    def connect(self, flowgraph, powers):
        """Takes the powers of a block."""
        flowgraph.connect(powers, self.folder)
        for port in range(2):
            flowgraph.connect((self.folder, port), (self.sink, port))

    def parts(self):
        """The blocks."""
        return [self.folder, self.sink]

    def last(self):
        """Returns the blocks that end last."""
        return self.sink

    def rows(self):
        """Returns rows of the table at the end."""
        count = self.sink.subintegrations()
        found = [("folded", f"{self.what}: {count} sub-integration{'s'[: count != 1]}")]
        folded = self.sink.profiles()
        files = self.sink.files()
        if folded is None:
            return found
        length = seconds_text(float(sum(folded.lengths)))
        newest = ", of the newest file" if len(folded.times) < count else ""
        found[0] = (
            "folded",
            f"{found[0][1]}{newest}, {length}, S/N "
            f"{signal_to_noise(profile(folded)):.1f} in a bin of {folded.beam}",
        )
        size = sum(os.path.getsize(path) for path in files if os.path.exists(path))
        found.append(
            (
                "profiles",
                files[0]
                + (f" ... {files[-1]}" if len(files) > 1 else "")
                + f", {with_prefix(size, 'B')}",
            )
        )
        return found
