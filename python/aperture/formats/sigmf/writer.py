#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes voltages of one channel as a SigMF recording, NAME.sigmf-data and NAME.sigmf-meta."""

import json
import os

import numpy as np

from ...files.checked_file import PartFile
from ...parameters.times import utc_text
from ..voltages import SIGMF_ENDINGS, components

#: label of an annotation -> what happened to these samples
REASONS = {
    "missing": "nothing was received",
    "overwritten": "overwritten before they could be written",
}
ROOM = 16384  # bytes of metadata that are reserved at a time,
ENTRY = 400  # the most bytes of a capture or an annotation


def datetime_text(moment):
    """ISO 8601 with as many digits as a double has, at most picoseconds."""
    return utc_text((moment.seconds, moment.fraction), 12).rstrip("0").rstrip(".") + "Z"


def datatype(dtype):
    """The name of a type of samples."""
    bits, count = components(dtype)
    kind = ("r", "c")[count - 1] + ("f" if dtype.kind in "fc" else "i")
    return f"{kind}{bits}" + ("_le" if bits > 8 else "")


def both_names(path):
    """The names of the metadata and of the data, of either."""
    stem = os.path.splitext(path)[0]
    return [stem + ending for ending in SIGMF_ENDINGS]


class SigmfWriter:
    """
    One recording: voltages of a channel, of several inputs or beams interleaved.

    Both files have their names when they are whole. Room for the metadata is kept on the disk from
    the start, so that the voltages that fitted are never without them.

    Parameters
    ----------
    path : str
        Path of the metadata or the data.
    recording : Recording
        Recording with one channel.
    dtype : numpy.dtype
        Type of a sample, as components() takes it.
    overwrite : bool
        True if existing files are replaced.
    """

    def __init__(self, path, recording, dtype, overwrite=True):
        self._recording, self._dtype = recording, np.dtype(dtype)
        self.paths = both_names(path)
        self._samples = 0
        self._captures, self._annotations = [], []
        self._last = {}  # missing inputs -> the annotation that the next run continues
        # bytes of the metadata, at most, but for captures and annotations, and of all comments
        self._global_size, self._comments = 4096 + len(json.dumps(self._global())), 0
        self._meta = PartFile(self.paths[0], overwrite)
        try:
            self._data = PartFile(self.paths[1], overwrite)
        except BaseException:
            self._meta.abandon()
            raise
        self.capture(recording.start, recording.frequencies[0])
        for text in recording.settings:
            self.note(text)

    def note(self, text):
        """Annotates the next sample with a setting that holds from there on."""
        self._add_annotation(
            {
                "core:sample_start": self._samples,
                "core:sample_count": 0,
                "core:label": "setting",
                "core:comment": text,
            }
        )

    def _add_annotation(self, entry):
        self._annotations.append(entry)
        self._comments += len(entry["core:comment"])

    def capture(self, moment, frequency):
        """Begins a capture with this time and frequency (Hz) at the next sample."""
        entry = {
            "core:sample_start": self._samples,
            "core:frequency": frequency,
            "core:datetime": datetime_text(moment),
        }
        if self._captures and self._captures[-1]["core:sample_start"] == self._samples:
            self._captures.pop()
        self._captures.append(entry)
        self._last = {}

    def add(self, voltages, missing=()):
        """
        Adds voltages to the recording.

        Parameters
        ----------
        voltages : array
            [time][input], contiguous.
        missing : list of (input, first, count) or (input, first, count, reason)
            Samples that are zeros; an input of None: of all; a reason of REASONS, without one that
            nothing was received.
        """
        entries = len(self._captures) + len(self._annotations) + len(missing)
        size = self._global_size + ENTRY * entries + self._comments
        self._meta.reserve(-(-size // ROOM) * ROOM)
        self._data.add(voltages)
        for number, first, count, *reason in missing:
            self._annotate(number, self._samples + first, count, *reason)
        self._samples += len(voltages)

    def _annotate(self, number, first, count, reason="missing"):
        last = self._last.get((number, reason))
        if last is not None and last["core:sample_start"] + last["core:sample_count"] == first:
            last["core:sample_count"] += count
            return
        entry = {
            "core:sample_start": first,
            "core:sample_count": count,
            "core:label": reason,
            "core:comment": f"{REASONS[reason]}: zeros",
        }
        if number is not None:
            entry["core:comment"] = f"{REASONS[reason]} of {self._recording.names[number]}: zeros"
            entry["aperture:input"] = number
        self._add_annotation(entry)
        self._last[number, reason] = entry

    def _global(self):
        recording = self._recording
        found = {
            "core:version": "1.0.0",
            "core:datatype": datatype(self._dtype),
            "core:sample_rate": recording.rate,
            "core:num_channels": len(recording.names),
            "core:recorder": "gr-aperture",
            "core:description": recording.description,
            "core:extensions": [{"name": "aperture", "version": "1.0.0", "optional": True}],
            "aperture:channel": recording.channel,
            "aperture:channel_width": recording.width,
            "aperture:names": list(recording.names),
        }
        if recording.telescope:
            found["core:hw"] = recording.telescope
        if recording.site is not None:
            latitude, longitude, height = recording.site
            found["core:geolocation"] = {
                "type": "Point",
                "coordinates": [longitude, latitude, height],
            }
        return found

    def finish(self):
        """Gives both files their names, removes those without samples; OSError: one has none."""
        if not self._samples:
            self._data.abandon()
            self._meta.abandon()
            self.paths = []
            return
        # at the very end a time may have come of which there is no sample
        captures = [entry for entry in self._captures if entry["core:sample_start"] < self._samples]
        annotations = sorted(self._annotations, key=lambda entry: entry["core:sample_start"])
        text = json.dumps(
            {"global": self._global(), "captures": captures, "annotations": annotations}, indent=2
        )
        try:
            self._data.finish()
        except BaseException:
            self._meta.abandon()
            raise
        self._meta.replace(text.encode())
        self._meta.finish()
