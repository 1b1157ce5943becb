#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Folding of the powers of beams: profiles of a pulsar."""

import math
import os

from ..power_file_sink import PRODUCTS
from ..folder import folder
from ..psrfits_sink import psrfits_sink
from ..streams.silent_block import silent
from ..transients.folding import profile, signal_to_noise
from ..transients.par_file import read_par
from .units import seconds_text, with_prefix

HOURS_OF_ENDLESS = 24.0


def profiles_name(plan, stream):
    """Returns the name of the files of a PowerStream."""
    if plan.fold.file is not None:
        return plan.fold.file
    several, stem = stream.rows > 1, stream.stem
    if stem is not None:
        beam = "-{beam}" if several and "{beam}" not in stem else ""
        return stem + beam + stream.profiles_ending
    return "profiles-{time}-{beam}.fits" if several else "profiles-{time}.fits"


class Folding:
    """The blocks that fold a PowerStream."""

    def __init__(self, plan, stream):
        array, rows, products = stream.array, stream.rows, stream.products
        period, dm, file = plan.fold.wanted
        model = None if file is None else read_par(os.path.expanduser(file))
        seconds = HOURS_OF_ENDLESS * 3600 if stream.seconds is None else stream.seconds
        start = stream.start_time
        phases = dict(
            par=model,
            array=array,
            start_time=(start[0] - 60, start[1]),
            hours=min(8800.0, max(1.0, math.ceil(seconds / 3600 + 0.1))),
        )
        if model is None:
            phases = dict(period=period, epoch=start)
        channels = stream.channels
        self.folder = silent(
            folder,
            channels=channels,
            beams=rows,
            products=len(PRODUCTS[products]),
            bins=plan.fold.bins,
            subintegration=plan.fold.subintegration,
            zeros=stream.zeros,
            **phases,
        )
        phases["array"] = array
        self.sink = silent(
            psrfits_sink,
            filename=profiles_name(plan, stream),
            beams=stream.beams,
            source=stream.source,
            channels=channels,
            bins=plan.fold.bins,
            products=products,
            dm=dm,
            overwrite=plan.outputs.overwrite,
            rows=rows,
            **phases,
        )
        self.what = f"with a period of {period:.12g} s" if model is None else f"by {file}"

    def connect(self, flowgraph, powers):
        """Takes the powers of a block."""
        flowgraph.connect(powers, self.folder)
        for port in range(2):
            flowgraph.connect((self.folder, port), (self.sink, port))

    @property
    def blocks(self):
        """Name -> block."""
        return {"folder": self.folder, "profiles": self.sink}

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
