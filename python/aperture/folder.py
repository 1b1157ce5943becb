#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block that folds, for a period or a .par file."""

import time as host

from . import aperture_python
from .arrays.array_description import load_array
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import as_number, refuse
from .transients.par_file import TimingModel, read_par
from .transients.phase_model import Segment, par_segments, period_segments


def phase_segments(
    par=None,
    period=1.0,
    period_derivative=0.0,
    epoch=(0, 0.0),
    phase=0.0,
    array=None,
    start_time=None,
    hours=24.0,
):
    """
    The model of the phase that `folder` and `psrfits_sink` take: a list of Segment.

    Parameters
    ----------
    par : str, TimingModel, or list of Segment
        A .par file, whose model is computed for the place of the array; or what was made before.
    period, period_derivative, epoch, phase : float, float, time, float
        Without `par`: as of transients.phase_model.period_segments(), at the telescope.
    array : ArrayDescription, or str
        Description of the telescope's place, with `par`.
    start_time : number or (whole seconds, fraction)
        UTC since 1970: from here on a .par file's model is computed; None: an hour ago.
    hours : float
        Hours that the model spans.

    Raises
    ------
    ParameterError, OSError
    """
    if par is None or par == "":
        return period_segments(period, period_derivative, epoch, phase)
    if isinstance(par, (list, tuple)):
        for index, segment in enumerate(par):
            if not isinstance(segment, Segment):
                refuse(f"par[{index}]", segment, "a Segment")
        return list(par)
    model = par if isinstance(par, TimingModel) else read_par(par)
    if array is None:
        refuse("array", array, "an array description where a .par file is given: the site counts")
    start = host.time() - 3600 if start_time is None else start_time
    as_number("hours", hours, 0, 8800, above=True)
    return par_segments(model, load_array(array), start, 3600.0 * hours)


def block_segments(segments):
    """The list of `aperture_python.folder.segment` that blocks take, of a list of Segment."""
    segment = aperture_python.folder.segment
    return [
        segment(s.start, s.length, s.reference, s.turns, s.phase, list(s.coefficients))
        for s in segments
    ]


def folder(
    par: Anything(
        "a .par file, a transients.par_file.TimingModel, or a list of "
        "transients.phase_model.Segment, in the place of the period; None: the period"
    ) = None,
    period: Number("seconds, at the telescope", 1e-6, 1e6, unit="s") = 1.0,
    period_derivative: Number("seconds a second", -0.001, 0.001) = 0.0,
    epoch: Anything(
        "UTC since 1970, of period and phase: a number or (whole seconds, fraction)"
    ) = (0, 0.0),
    phase: Number("revolutions at the epoch", -1000000000000000.0, 1000000000000000.0) = 0.0,
    array: Anything(
        "an ArrayDescription, or the file or shipped name of one: the site, with `par`"
    ) = None,
    start_time: Anything(
        "UTC since 1970 from which on a .par file's model is computed; None: an hour ago"
    ) = None,
    hours: Number(
        "how long; what comes outside of it ends the flowgraph", 0, 8800, open=True
    ) = 24.0,
    channels: Integer("of an item", 1, 2**24) = 1024,
    beams: Integer("of an item, or pairs of them", 1, 1048576) = 1,
    products: Integer("of each beam, 1 to 4", 1, 4) = 1,
    bins: Integer("of a revolution", 2, 65536) = 128,
    subintegration: Number("seconds that become one item", 0, 1e6, open=True, unit="s") = 10.0,
    type: Text("of the powers, f32, s8 or u8", "f32", "s8", "u8") = "f32",
    mean: Switch(
        "the powers are means of what was counted, as power_detector's by default; or sums"
    ) = True,
    counts: Switch(
        "whether port 1 takes what was counted in each power, u32 [beam or "
        "pair][channel], from power_detector or beam_power with masks"
    ) = False,
    zeros: Switch(
        "powers of f32 that are exactly 0 count, as in files of few bits; or they are missing"
    ) = False,
    latency: Number(
        "the longest wait of a call for more input, in seconds",
        0,
        10,
        unit="s",
        category="Advanced",
        settable=True,
    ) = 0.1,
):
    """A block that folds the powers of beams with the period of a pulsar.

    Ports, tags and how it counts are documented at the block's class,
    `aperture.aperture_python.folder`. The phase is given by a .par file, whose model is predicted
    for the site of the array (polynomials of an hour each, from `start_time` for `hours`), or by a
    period at the telescope.

    Raises ValueError that names the parameter (of a .par file also the line), its value and what is
    allowed; OSError.
    """
    segments = phase_segments(
        par, period, period_derivative, epoch, phase, array, start_time, hours
    )
    return aperture_python.folder(
        segments=block_segments(segments),
        channels=channels,
        beams=beams,
        products=products,
        bins=bins,
        subintegration=subintegration,
        type=type,
        mean=mean,
        counts=counts,
        zeros=zeros,
        latency=latency,
    )
