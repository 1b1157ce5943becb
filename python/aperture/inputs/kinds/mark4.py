#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`mark4:`, recordings of Mark 4 tapes of VLBI."""

from ...formats.baseband_files import open_mark4
from ..baseband_input import BasebandInput


class Mark4(BasebandInput):
    kind = "mark4"
    summary = "Mark 4 recordings of VLBI; each channel is an input"
    what = "Mark 4"
    lacks = (
        "the last digit of the year only; add ,date=2014 for example, or a day within 4 years of it"
    )

    def open_file(self, name, near, year, values, center, inverted):
        rate, choose = values.get("rate"), values.get("channel")
        return open_mark4(name, near, year, rate, choose, center, inverted)


FORMAT = Mark4()
