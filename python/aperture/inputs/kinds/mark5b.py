#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`mark5b:`, recordings of Mark 5B of VLBI."""

from ...formats.baseband_files import open_mark5b
from ...parameters.rules import whole_reader
from ..baseband_input import BasebandInput
from ..input_format import Option

WORD = 32  # bits, which a sample of all channels divides


class Mark5B(BasebandInput):
    kind = "mark5b"
    summary = "Mark 5B recordings of VLBI; each channel is an input"
    what = "Mark 5B"
    lacks = (
        "the last three digits of the day (MJD) only; add ,date=2014-06-13 for example, a day "
        "within 500 days, or a year"
    )
    options = {
        "nchan": Option(
            whole_reader(1, WORD),
            "channels of the files, which headers do not say: 1, 2, 4, 8, 16 or 32; must be given",
            "N",
        ),
        "bps": Option(whole_reader(1, 2), "bits of a sample: 1 or 2; default: 2", "N"),
        **BasebandInput.options,
    }

    def open(self, request):
        nchan, bits = request.values.get("nchan"), request.values.get("bps", 2)
        if nchan is None:
            raise request.error(
                "nchan is missing: headers of Mark 5B do not say how many channels there are; add "
                ",nchan=8 for example, and bps=1 for samples of one bit"
            )
        if WORD % (nchan * bits):
            raise request.error(
                f"nchan={nchan}, bps={bits}: expected {nchan * bits} bits of all channels to be 1, "
                f"2, 4, 8, 16 or {WORD}"
            )
        return super().open(request)

    def open_file(self, name, near, year, values, center, inverted):
        rate, choose = values.get("rate"), values.get("channel")
        nchan, bits = values["nchan"], values.get("bps", 2)
        return open_mark5b(name, near, year, rate, nchan, bits, choose, center, inverted)


FORMAT = Mark5B()
