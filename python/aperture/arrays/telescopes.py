#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The places of telescopes, by the names that headers of recordings give them."""

from .array_description import Antenna, ArrayDescription, Input

# name: latitude, longitude (degrees, WGS84), height above the ellipsoid (m). From the geocentric
# coordinates that pulsar timing packages use (tempo2, PINT); arrays: their reference point.
TELESCOPES = {
    "Arecibo": (18.344176, -66.752696, 451.2),
    "ATCA": (-30.312870, 149.579101, 239.5),
    "CHIME": (49.320709, -119.623677, 555.4),
    "Effelsberg": (50.524836, 6.883616, 416.7),
    "FAST": (25.652946, 106.856666, 1109.1),
    "GBT": (38.433130, -79.839843, 823.7),
    "GMRT": (19.093003, 74.056561, 497.0),
    "Hobart": (-42.805000, 147.439167, 50.0),
    "LOFAR": (52.915119, 6.869833, 49.4),
    "Lovell": (53.236543, -2.308571, 179.4),
    "LWA1": (34.068900, -107.627670, 2127.0),
    "Medicina": (44.520493, 11.646933, 67.1),
    "MeerKAT": (-30.711056, 21.443889, 1086.6),
    "Molonglo": (-35.370709, 149.424692, 741.0),
    "MWA": (-26.703319, 116.670815, 377.8),
    "Nancay": (47.373602, 2.197478, 190.9),
    "Ooty": (11.383404, 76.666160, 2240.0),
    "Parkes": (-32.998406, 148.263510, 414.8),
    "SRT": (39.493072, 9.245151, 671.7),
    "VLA": (34.078751, -107.618390, 2117.1),
    "WSRT": (52.915292, 6.633334, 71.2),
}

# Other spellings, and the one-letter codes of TEMPO that some headers carry.
ALIASES = {
    "effelsberg100m": "Effelsberg",
    "eff": "Effelsberg",
    "ef": "Effelsberg",
    "g": "Effelsberg",
    "greenbank": "GBT",
    "gb": "GBT",
    "1": "GBT",
    "pks": "Parkes",
    "pk": "Parkes",
    "7": "Parkes",
    "murriyang": "Parkes",
    "jodrell": "Lovell",
    "jodrellbank": "Lovell",
    "jb": "Lovell",
    "8": "Lovell",
    "ao": "Arecibo",
    "3": "Arecibo",
    "jvla": "VLA",
    "vl": "VLA",
    "6": "VLA",
    "nrt": "Nancay",
    "ncy": "Nancay",
    "nançay": "Nancay",
    "f": "Nancay",
    "westerbork": "WSRT",
    "i": "WSRT",
    "sardinia": "SRT",
    "srt64": "SRT",
    "most": "Molonglo",
    "utmost": "Molonglo",
    "mk": "MeerKAT",
    "m": "MeerKAT",
    "r": "GMRT",
    "ugmrt": "GMRT",
    "narrabri": "ATCA",
    "ort": "Ooty",
    "lwa": "LWA1",
    "x": "LWA1",
    "k": "FAST",
    "u": "MWA",
    "ho": "Hobart",
    "4": "Hobart",
}


def find_telescope(name):
    """Name, latitude, longitude (degrees) and height (m) of a telescope, or None.

    Upper and lower case, blanks, hyphens and underscores make no difference.
    """
    plain = "".join(letter for letter in name.lower() if letter not in " -_")
    known = {key.lower(): key for key in TELESCOPES}
    key = known.get(plain) or ALIASES.get(plain)
    return (key, *TELESCOPES[key]) if key else None


def array_of_recording(
    name, inputs, sample_rate, center_frequency, place=None, polarizations=True, antennas=None
):
    """An array description for a recording that comes without one.

    name: the telescope's, from the header (may be empty); inputs: streams in the recording; place:
    (latitude, longitude, height) in degrees and m, where the header says it. antennas: names of
    those that the header tells of, each with one stream or two, polarisation x or x and y. Where
    it tells of none, or there are other streams than theirs, with `polarizations` two streams are
    the polarisations x and y of one antenna; otherwise, and of any other number, streams are as
    many antennas with polarisation x, all at one place, because the header does not say where.
    Returns the description and a list of warnings about what had to be assumed.
    """
    place = (name or "recording", *place) if place else find_telescope(name)
    warnings = []
    if place is None:
        named = f"telescope {name!r} is not known" if name else "the recording names no telescope"
        place = (name or "unknown", 0.0, 0.0, 0.0)
        warnings.append(
            f"{named}: taken to be at latitude 0°, longitude 0° (--array gives the right place)"
        )
    if not antennas or inputs not in (len(antennas), 2 * len(antennas)):
        antennas = (
            [place[0]]
            if inputs == 1 or inputs == 2 and polarizations
            else [f"A{i + 1}" for i in range(inputs)]
        )
    letters = "xy"[: inputs // len(antennas)]
    signals = [Input(antenna, letter) for antenna in antennas for letter in letters]
    if len(antennas) > 1:
        to = "and" if len(antennas) == 2 else "to"
        warnings.append(
            f"{inputs} streams: taken to be antennas {antennas[0]} {to} {antennas[-1]},"
            f" polarisation{'' if len(letters) == 1 else 's'} {' and '.join(letters)}, "
            "all at one place (--array gives the right ones)"
        )
    antennas = [Antenna(antenna, (0.0, 0.0, 0.0)) for antenna in antennas]
    description = ArrayDescription(
        name=place[0],
        latitude=place[1],
        longitude=place[2],
        height=place[3],
        antennas=antennas,
        inputs=signals,
        sample_rate=sample_rate,
        center_frequency=center_frequency,
    )
    return description, warnings
