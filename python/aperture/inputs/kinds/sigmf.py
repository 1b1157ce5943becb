#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`sigmf:`, recordings whose metadata are SigMF, as GNU Radio and many receivers write them."""

from ...parameters.times import TIME_RULE, read_time
from ..aligned_recordings import ALIGN_OPTIONS, aligned
from ..input_format import InputFormat, Option, one_of
from ..recordings import INVERTED, READERS
from ..values import CENTER, RATE


class SigMF(InputFormat):
    kind = "sigmf"
    summary = "SigMF recordings, with times and frequencies from their metadata"
    names = "FILE.sigmf-meta[,...]"
    packages = "formats"
    modules = ("sigmf",)
    options = {
        "rate": Option(RATE, "samples a second, instead of what the metadata say", "HZ"),
        "freq": Option(
            CENTER,
            "sky frequency of the middle of the band, instead of what the metadata say",
            "HZ",
        ),
        "time": Option(
            read_time,
            f"of the first sample of all recordings, instead of what the metadata say: {TIME_RULE}",
            "TIME",
        ),
        "inverted": INVERTED,
        **ALIGN_OPTIONS,
        "readers": READERS,
        "sha512": Option(
            one_of("check", "ignore"),
            "check: all samples are read first to compare them with the sum in the "
            "metadata; default: ignore",
            "check|ignore",
        ),
    }

    def open(self, request):
        # needs the package, which --help does without
        from ...formats.sigmf.reader import read_recordings

        recordings, files, warnings = read_recordings(request)
        signals = aligned(request, recordings, warnings)
        signals.files = files
        return signals


FORMAT = SigMF()
