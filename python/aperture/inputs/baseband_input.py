#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of inputs of the formats that the package `baseband` decodes."""

import re

from ..formats.recordings import check_recording
from ..parameters.rules import numbers_reader
from ..parameters.times import read_time
from .input_format import InputFormat, Option
from .packaged_recordings import continued, signals_of_packages
from .recordings import INVERTED, center_of, listed
from .values import CENTER, RATE


def date(text):
    """A time near a recording's, and the year that it has to be of (None: any): of a year, or of a
    time."""
    if re.fullmatch(r"\d{4}", text):
        return read_time(f"{text}-07-02"), int(text)
    return read_time(text), None


OPTIONS = {
    "rate": Option(
        RATE, "samples a second of a channel; default: what the times of frames say", "HZ"
    ),
    "freq": Option(
        CENTER,
        "sky frequency of the middle of the band, which the files do not say; default: that of "
        "--array, or 0",
        "HZ",
    ),
    "inverted": INVERTED,
}


class BasebandInput(InputFormat):
    """
    An input of files of VLBI tapes. what: the format's name; lacks: what its headers lack of a
    date, with an example of `date`.
    """

    names = "FILE[,FILE...]"
    packages = "formats"
    modules = ("baseband",)
    what = lacks = ""
    options = {
        "date": Option(
            date,
            "year of the recording, or a day near it, as 2014 or 2014-06-13; must be given",
            "DATE",
        ),
        "channel": Option(
            numbers_reader(63, "+"), "channels that are read, from 0 on; default: all", "N[+N...]"
        ),
        **OPTIONS,
    }

    def open_file(self, name, near, year, values, center, inverted):
        """A Recording of a file, and the reader of its pieces."""
        raise NotImplementedError

    def open(self, request):
        from astropy.time import Time

        values = request.values
        if "date" not in values:
            raise request.error(f"date is missing: {self.what} has {self.lacks}")
        seconds, year = values["date"]
        near = Time(float(seconds), format="unix")
        near.format = "isot"
        inverted = {"yes": True, "no": False, None: None}[values.get("inverted")]
        recordings, readers = [], {}
        for name in request.names:
            check_recording(name)
            recording, reader = self.open_file(name, near, year, values, 0.0, inverted)
            recordings.append(recording)
            readers[name] = reader
        recordings = continued(recordings)
        inputs, rate = sum(entry.inputs for entry in recordings), float(recordings[0].rate)
        center, told = center_of(request, listed(request.names), self.what, inputs, rate)
        for entry in recordings:
            entry.center_frequency = center
        return signals_of_packages(request, recordings, readers, list(request.names), told)
