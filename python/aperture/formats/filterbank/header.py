#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""SIGPROC's filterbank files (.fil): the header, and numbers of telescopes.

The format is that of the SIGPROC manual (Lorimer 2011, sigproc.sourceforge.net): a header of
keywords, each a length (int32), that many characters and a value; then samples
[sample][if][channel], one after the other until the file ends. What is given here in ascending
frequency is written as most programs expect it: the highest channel first, foff negative.
"""

import struct

from ...arrays.telescopes import find_telescope
from ...parameters.ascii_text import ascii_text

#: names of telescopes.py -> SIGPROC's telescope_id
TELESCOPE_IDS = {
    "Arecibo": 1,
    "Ooty": 2,
    "Nancay": 3,
    "Parkes": 4,
    "Lovell": 5,
    "GBT": 6,
    "GMRT": 7,
    "Effelsberg": 8,
    "ATCA": 9,
    "SRT": 10,
    "LOFAR": 11,
    "VLA": 12,
    "CHIME": 20,
    "FAST": 21,
    "MeerKAT": 64,
}

# the storage of a value ("s": a string with its length in front; "l": a long of C, of 8 bytes or 4;
# "": there is none) -> keywords
_KINDS = {
    "s": "source_name rawdatafile",
    "i": "machine_id telescope_id data_type nchans nbits nifs nbeams ibeam nsamples nbins"
    " barycentric pulsarcentric",
    "d": "fch1 foff tstart tsamp src_raj src_dej az_start za_start refdm period fchannel",
    "b": "signed",
    "l": "npuls",
    "": "FREQUENCY_START FREQUENCY_END",
}
KEYWORDS = {key: kind for kind, keys in _KINDS.items() for key in keys.split()}
NEEDED = ("nchans", "nbits", "tsamp")


def telescope_id(name):
    """SIGPROC's number of a telescope, 0 if it has none."""
    place = find_telescope(name)
    return TELESCOPE_IDS.get(place[0], 0) if place else 0


def sexagesimal(degrees, hours):
    """An angle as SIGPROC writes it: hhmmss.s (of degrees / 15) or ddmmss.s, in one number."""
    value = abs(degrees) / (15 if hours else 1)
    # to 0.1 ms of time or 1 mas, so that there never are 60 seconds
    digits = 4 if hours else 3
    total = round(value * 3600, digits)
    whole = int(total // 60)
    packed = whole // 60 * 10000 + whole % 60 * 100 + round(total - 60 * whole, digits)
    return packed if degrees >= 0 else -packed


def degrees_of(packed, hours):
    """The angle, in degrees, of a number as SIGPROC writes it; None of one that is no angle."""
    value = abs(packed)
    if not value < 1e7:  # NaN is none
        return None
    whole, minutes, seconds = int(value // 10000), int(value // 100 % 100), value % 100
    if minutes > 59 or seconds >= 60 or whole >= (24 if hours else 91):
        return None
    degrees = (whole + minutes / 60 + seconds / 3600) * (15 if hours else 1)
    return degrees if packed >= 0 else -degrees


def telescope_name(number):
    """The name of SIGPROC's telescope of a number, empty where it has none here."""
    return next((name for name, found in TELESCOPE_IDS.items() if found == number), "")


def _string(text):
    data = ascii_text(text).encode("ascii")[:80]
    return struct.pack("<i", len(data)) + data


def header_bytes(values):
    """The header for a dictionary of keywords and values."""
    parts = [HEADER_START]
    for key, value in values.items():
        kind = KEYWORDS[key]
        parts += [_string(key), _string(value) if kind == "s" else struct.pack("<" + kind, value)]
    return b"".join(parts) + _string("HEADER_END")


#: the bytes at the begin of every file
HEADER_START = _string("HEADER_START")
