#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The beginning of a flowgraph: an input, what follows it, and F-engines that make frames of it."""

import math
from fractions import Fraction

import numpy as np

from ..arrays.geometry import SPEED_OF_LIGHT, longest_baseline
from ..delay_tracker import delay_tracker
from ..streams.silent_block import silent
from .f_engines import FEngines, shared_tracker
from .flags import flagging_parameters
from .levels import channelizer_parameters
from .recorded_channels import RecordedChannels
from .split_channels import SplitEngines
from .zooming import ZoomedSignals


def most_delay(description, sample_rate):
    """Samples by which the F-engine may have to delay an input of an array."""
    cables = np.ptp([entry.cable_delay for entry in description.inputs])
    longest = longest_baseline(description.input_positions()) / SPEED_OF_LIGHT + cables
    return math.ceil(longest * sample_rate) + 1


def tracked_delay(signals, calibrator):
    """Samples by which the F-engine may have to delay an input that is tracked and calibrated."""
    return most_delay(signals.description, signals.sample_rate) + calibrator.most_delay(
        signals.sample_rate
    )


def splitting_parameters(plan, sizes):
    """Parameters of the upchanneliser of a plan, but for inputs, channels, types and device; empty
    where channels are not split."""
    if sizes.fine == 1:
        return {}
    return dict(
        fine=sizes.fine,
        taps=sizes.fine_taps,
        window=plan.engines.window,
        oversampling=str(Fraction(sizes.fine_points, sizes.fine)),
        coarse_taps=(plan.engines.coarse_taps or 0) if sizes.recorded else sizes.taps,
        coarse_window=plan.engines.window,
    )


class FrontEnd:
    """
    source -> zoom, where a part of the band is wanted -> blocks that follow the stream ->
    F-engines, or, of recorded channels, corner turn.

    Attributes
    ----------
    source : block
    zoom : block
        None where the whole band is taken.
    stream : block
        The one whose samples F-engines take: the zoom, or the source.
    tracker : delay_tracker
        None where nothing is tracked.
    f_engines : FEngines or RecordedChannels
    flagging : dict
        Parameters of the F-engines for flags, empty where nothing flags.
    frames : block
        The block whose port 0 sends frames and whose port 1 sends masks; of several devices, the
        one on the first.
    live : bool
        The source is a LiveSource.
    """

    def __init__(self, plan, signals, sizes, calibrator):
        self.flagging, self.tracker = flagging_parameters(plan, sizes), None
        self.live, self._samples_of_item = signals.live, signals.channels or 1
        self.zoom = None
        if signals.channels:
            self.source = self.stream = signals.source(sizes.samples or 0, plan.engines.format)
            self.f_engines = RecordedChannels(
                self.source,
                splitting_parameters(plan, sizes),
                self.flagging,
                channels=sizes.channels,
                inputs=signals.inputs,
                spectra_per_frame=sizes.spectra_per_frame,
                type=plan.engines.format,
                device=plan.device.first,
            )
        else:
            self._make_engines(plan, signals, sizes, calibrator)
        self.frames = self.f_engines.frames

    def _make_engines(self, plan, signals, sizes, calibrator):
        self.source, delays = signals.source(sizes.samples or 0), {}
        if isinstance(signals, ZoomedSignals):
            self.zoom = signals.zoom(plan.device.first)
            self.zoom.set_log_level("warning")  # lost samples, for example
        self.stream = self.zoom or self.source
        if plan.tracking.direction is not None:
            self.tracker = silent(
                shared_tracker if plan.device.several else delay_tracker,
                array=signals.description,
                direction=plan.tracking.direction,
                channels=sizes.coarse.channels,
                real=signals.real,
                inverted=signals.inverted,
                item_size=self.stream.output_signature().sizeof_stream_item(0),
            )
            delays["most_delay"] = tracked_delay(signals, calibrator)
        filtering = dict(
            gain=0 if plan.engines.format == "fc32" else 1,
            **channelizer_parameters(plan, signals, sizes),
            **delays,
        )
        with plan.giving(window="engines.window"):
            if sizes.fine > 1:
                self.f_engines = SplitEngines(
                    signals,
                    filtering,
                    splitting_parameters(plan, sizes),
                    self.flagging,
                    channels=sizes.channels,
                    spectra_per_frame=sizes.spectra_per_frame,
                    type=plan.engines.format,
                    device=plan.device.first,
                )
            else:
                self.f_engines = FEngines(
                    plan.device.several or [plan.device.name],
                    signals,
                    output_type=plan.engines.format,
                    spectra_per_frame=sizes.spectra_per_frame,
                    **filtering,
                    **self.flagging,
                )
        self.f_engines.calibrate(calibrator)

    @property
    def blocks(self):
        """Name -> block."""
        tracker = {"tracker": self.tracker} if self.tracker else {}
        zoom = {"zoom": self.zoom} if self.zoom else {}
        return {"source": self.source, **zoom, **tracker, **self.f_engines.blocks}

    def connect(self, flowgraph, followers):
        """Connects these blocks. followers: more blocks that follow the stream."""
        before = [self.tracker] if self.tracker else []
        if self.zoom:
            for port in range(self.zoom.input_signature().min_streams()):
                flowgraph.connect((self.source, port), (self.zoom, port))
        self.f_engines.connect(flowgraph, self.stream, [*before, *followers], self.tracker)

    def set_gains(self, gains):
        """Sets the gain of each input."""
        self.f_engines.set_gains(gains)

    def progress(self):
        """A number that grows as long as data come."""
        return self.frames.nitems_written(0)

    def samples_done(self):
        """Samples of each input that the F-engines have taken."""
        # at the end they read on into what they need for delays, which nobody has sent
        sent = self.stream.nitems_written(0) * self._samples_of_item
        return min(self.f_engines.samples_read(), sent)

    def _clamped_by_zoom(self):
        return sum(self.zoom.clamped_samples()) if self.zoom else 0

    def losses(self):
        """Returns what was missing or clamped so far, for example "12 missing, 3 clamped"; "" if
        nothing."""
        counts = (
            ("missing", sum(self.f_engines.missing())),
            ("clamped", sum(self.f_engines.clamped()) + self._clamped_by_zoom()),
            ("late settings", self.f_engines.late_settings()),
        )
        return ", ".join(f"{count} {name}" for name, count in counts if count)
