#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The flowgraph of a plan whose powers come from files: power_source -> search, folding."""

import math
import os
from types import SimpleNamespace

from ..arrays.array_description import load_array
from ..arrays.telescopes import array_of_recording
from ..beams.beams import Beam
from ..formats.power_files import PowerRecording, as_names
from ..parameters.times import exact, exact_seconds, time_text
from ..plan import texts
from ..power_source import power_source
from ..streams.silent_block import silent
from .input import EXACT, check_writable, keep_what_is_read
from .part_graph import PartGraph
from .powers import Powers, PowerStream
from .units import seconds_text

#: a direction that nobody knows
NOWHERE = (0.0, 0.0)


class PowerFront:
    """The beginning of the flowgraph: powers of files, of which `samples` are read."""

    live = False

    def __init__(self, recording, samples):
        self.source = silent(power_source, filenames=recording, samples=samples)
        self.blocks = {"source": self.source}

    def progress(self):
        """A number that grows as long as data come."""
        return self.source.nitems_written(0)

    samples_done = progress

    def losses(self):
        """Returns what was missing, as text: nothing."""
        return ""


def begin_later(plan, recording):
    """Lets a recording begin where the plan says, if it does."""
    if plan.input.start is None:
        return
    from_begin, wanted = texts.start(plan.input.start)
    length = recording.samples * exact(recording.interval)
    if not from_begin and recording.begin is None:
        raise plan.error(
            "input.start", "the file does not say when it begins; expected seconds", shown=True
        )
    seconds = wanted if from_begin else wanted - exact_seconds(recording.begin)
    samples = seconds / exact(recording.interval)
    # a time is written with some digits only
    first = round(samples) if abs(samples - round(samples)) < EXACT else math.ceil(samples)
    if not 0 <= first < recording.samples:
        begin = "" if recording.begin is None else f"from {time_text(sum(recording.begin))} on, "
        raise plan.error(
            "input.start", f"the recording lasts {begin}{seconds_text(float(length))}", shown=True
        )
    recording.skip(first)


def length_of(plan, recording):
    """The samples of a recording that are read, and what to tell the user of that."""
    duration = plan.input.duration
    if duration is None or math.isinf(duration):
        return recording.samples, []
    samples = max(1, round(duration / recording.interval))
    if samples <= recording.samples:
        return samples, []
    length = seconds_text(recording.samples * recording.interval)
    called = plan.naming("input.duration")
    return recording.samples, [f"{called} {duration:g}: the recording ends after {length}"]


class SearchGraph(PartGraph):
    """
    The flowgraph of a plan of aperture_search, made but not started.

    Attributes
    ----------
    plan : Plan
        Checked.
    recording : PowerRecording
    stream : PowerStream
    sizes : object
        `samples` that are read, `sample_rate`, Hz.
    front : PowerFront
    source : power_source
    powers : Powers
    warnings : list of str
        What to tell the user at the start.

    Raises
    ------
    ValueError, OSError
        As the plan, the files and the blocks raise them.
    """

    def __init__(self, plan):
        super().__init__(plan.program)
        self.plan = plan
        names = as_names(plan.powers.files)
        self.recording = recording = PowerRecording(names, order=plan.powers.order)
        self.warnings = list(recording.warnings)
        begin_later(plan, recording)
        samples, warnings = length_of(plan, recording)
        self.warnings += warnings
        self.sizes = SimpleNamespace(samples=samples, sample_rate=1 / recording.interval)
        self.stream = self._stream_of(samples)
        self.front = PowerFront(recording, samples)
        self.source = self.front.source
        self.powers = Powers(plan, self.stream)
        self.parts = [self.powers]
        self.powers.connect(self, self.source)
        read = SimpleNamespace(files=names)
        for field, block in self._of_parts("results").items():
            check_writable(plan, field, [path for path in block.files() if "{" not in path])
            keep_what_is_read(plan, read, field, block.files(), "powers.files")

    def _stream_of(self, samples):
        plan, recording = self.plan, self.recording
        by_model = plan.fold.by is not None and plan.fold.wanted[2] is not None
        if by_model and recording.barycentric:
            raise plan.error(
                "fold.by",
                "the times of the file are those at the barycentre already; it must be a period",
                shown=True,
            )
        if by_model and recording.begin is None:
            raise plan.error(
                "fold.by", "the file does not say when it begins; it must be a period", shown=True
            )
        place = plan.array.description
        if place is not None:
            array = load_array(place)
        else:
            array, unknown = array_of_recording(
                recording.telescope, 1, recording.bandwidth, recording.center_frequency
            )
            # nothing but a timing model needs the place
            self.warnings += unknown if by_model else []
        directions = [direction or NOWHERE for direction in recording.directions]
        return PowerStream(
            products=recording.products,
            rows=recording.shape[0],
            channels=recording.shape[2],
            center_frequency=recording.center_frequency,
            bandwidth=recording.bandwidth,
            time=recording.interval,
            seconds=samples * recording.interval,
            start_time=recording.begin or (0, 0.0),
            recording=True,
            array=array,
            beams=[
                Beam(name=name, ra=ra, dec=dec)
                for name, (ra, dec) in zip(recording.names, directions)
            ],
            stem=stem_of(recording),
            profiles_ending="-profiles.fits",
            source=recording.source,
            zeros=True,
        )

    def adjust(self):
        """There is nothing that has to be looked after while it runs."""


def stem_of(recording):
    """The beginning of the names of files that are written, in the folder of the command: the name
    of what is read, of several files of the first."""
    first = recording.files[0].filename
    name = os.path.splitext(os.path.basename(first))[0]
    return name.replace("{", "_").replace("}", "_")
