#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Beams of a flowgraph as samples in VDIF."""

import math
import os
from fractions import Fraction

from .. import beamformer, synthesizer
from ..formats.vdif.writer import frames_fit
from ..parameters.times import exact
from ..streams.silent_block import silent
from ..vdif_sink import vdif_sink
from .units import seconds_text

USUAL_DATA = 8000  # bytes of a frame
ROUND = 1e4  # Hz, in whole numbers of which a band begins where it can
MOST_LEVELS = 8  # levels that a table has
#: parameter of a block -> field of the plan
FIELDS = {
    "filename": "vdif.to",
    "address": "vdif.to",
    "station": "vdif.station",
    "data_bytes": "vdif.data_bytes",
    "sample_rate": "vdif.bandwidth",
    "edv": "vdif.edv",
    "frequency": "vdif.frequency",
    "passband": "vdif.passband",
}


def choose_band(plan, low, high):
    """
    The band that is written: (Hz on the sky at which it begins, its width).

    low, high: Hz, of the channels' band.

    Raises
    ------
    PlanError
        The band does not lie in the channels.
    """
    section, most = plan.vdif, high - low
    inside = f"the channels have {low:.12g} to {high:.12g} Hz"
    width = section.bandwidth
    if width is None:
        # a little more than there is, for a rate that is not exactly one
        width = 1e6 * 2.0 ** math.floor(math.log2(most * (1 + 1e-9) / 1e6))
        if section.frequency is not None:
            left = high - section.frequency
            width = min(width, 1e6 * 2.0 ** math.floor(math.log2(max(left, 1e3) / 1e6)))
    if width > most * (1 + 1e-9):
        raise plan.error("vdif.bandwidth", f"{inside}, {most:.12g} in all", shown=True)
    begin = section.frequency
    if begin is None:
        begin = (low + high - width) / 2
        rounded = round(begin / ROUND) * ROUND
        if low <= rounded and rounded + width <= high:
            begin = rounded
    slack = 1e-9 * most
    if begin < low - slack or begin + width > high + slack:
        raise plan.error(
            "vdif.frequency", f"{inside}, and the band is {width:.12g} wide", shown=f"{begin:.12g}"
        )
    return begin, width


def choose_data(plan, rate):
    """Bytes of data of a frame: those of the plan, or the most up to the usual ones that make
    whole frames."""
    if plan.vdif.data_bytes is not None:
        return plan.vdif.data_bytes
    if plan.vdif.edv == 3:
        return 5000
    for size in range(USUAL_DATA, 0, -8):
        if frames_fit(size, plan.vdif.bits, exact(rate)):
            return size
    raise plan.error(
        "vdif.bandwidth",
        f"no frame of up to {USUAL_DATA} bytes makes a whole number of them in a second",
        shown=f"{rate / 2:.12g}",
    )


class VlbiBeams:
    """
    beamformer -> synthesizer -> vdif_sink.

    beams: list of Beam, none of them incoherent; polarizations: how many each has; shared:
    parameters of beamformers.

    Attributes: `beamformer`, `synthesizer`, `sink`; `blocks`, name -> block; `band`, (Hz on the
    sky, width).
    """

    def __init__(self, plan, signals, sizes, beams, polarizations, masks, **shared):
        if sizes.recorded:
            raise plan.error(
                "vdif.to",
                "the channels of the input are as recorded, and who made them, by which filter, is "
                "not known: it needs samples",
            )
        width = sizes.width
        middle = signals.description.center_frequency
        # channel n/2 has rx_freq: the band of complex samples begins half a band below its middle
        low = middle - sizes.channels // 2 * width
        self.band = choose_band(plan, low, low + sizes.channels * width)
        rate, section, engines = 2 * self.band[1], plan.vdif, plan.engines
        self._section, self._critical = section, sizes.hop == sizes.length
        count = len(beams) * polarizations
        self.beamformer = beamformer(beams=count, masks=masks, output_type="fc32", **shared)
        with plan.giving(**FIELDS):
            self.synthesizer = synthesizer(
                channels=sizes.channels,
                beams=count,
                spectra_per_frame=sizes.spectra_per_frame,
                type="fc32",
                real_input=signals.real,
                oversampling=engines.oversampling,
                taps=sizes.taps,
                window=engines.window,
                output_type="f32",
                input_rate=sizes.sample_rate,
                sample_rate=rate,
                frequency=self.band[0],
                frequency_is="sky",
                passband=section.passband,
                device=plan.device.first,
            )
            self.sink = silent(
                vdif_sink,
                filename=section.file,
                address=section.address,
                inputs=count,
                type="f32",
                sample_rate=rate,
                bits=section.bits,
                station=section.station,
                data_bytes=choose_data(plan, rate),
                polarizations=polarizations,
                edv=section.edv,
                level_time=section.level_time,
                names=[beam.name for beam in beams],
                sequence_numbers=section.sequence_numbers,
                overwrite=plan.outputs.overwrite,
            )
        self.synthesizer.set_log_level("warning")
        self.blocks = {
            "vdif_beams": self.beamformer,
            "synthesizer": self.synthesizer,
            "vdif": self.sink,
        }

    def connect(self, flowgraph, front):
        """Connects the chain behind the frames."""
        flowgraph.connect(front.frames, self.beamformer, self.synthesizer, self.sink)

    def text(self):
        """Returns what is written, for a user."""
        begin, width = self.band
        return (
            f"{begin / 1e6:.12g} to {(begin + width) / 1e6:.12g} MHz, upper sideband, "
            f"{2 * width / 1e6:.12g} MHz of {self._section.bits} bits, station "
            f"{self._section.station}, to {self._section.to}"
        )

    def problems(self):
        """Returns what the user is to know of what was written, as texts."""
        counts = self.sink.counts()
        if not counts["invalid"]:
            return []
        return [
            f"VDIF: {counts['invalid']} of {counts['frames']} frames are invalid, as samples of "
            "them are missing"
        ]

    def warnings(self, plan):
        """Returns what the user is to know before it starts."""
        if not self._critical:
            return []
        called = plan.naming("engines.oversampling")
        return [
            f"{plan.naming('vdif.to')}: {called} 1: critically sampled channels have lost what lies "
            f"between them, and samples have an error of -20 dB: {called} 32/27 with "
            f"{plan.naming('engines.taps')} 24 has one of -82 dB"
        ]

    def rows(self):
        """Rows of the table at the end."""
        counts, levels = self.sink.counts(), self.sink.levels()
        files = [path for path in self.sink.files() if self._section.file and os.path.exists(path)]
        size = sum(map(os.path.getsize, files))
        where = self._section.address
        if files:
            where = files[0] if len(files) == 1 else f"{files[0]} ... {files[-1]}"
            where += f", {size} bytes"
        shown = ", ".join(f"{level:.3g}" for level in levels[:MOST_LEVELS])
        more = f" and {len(levels) - MOST_LEVELS} more" if len(levels) > MOST_LEVELS else ""
        length = Fraction(counts["frames"], len(levels) or 1) * self.sink.frame_length()
        return [
            ("VDIF", where),
            (
                "frames",
                f"{counts['frames']}, {seconds_text(float(length))} of each thread; "
                f"{counts['invalid']} invalid",
            ),
            ("levels", f"{shown}{more} rms"),
        ]
