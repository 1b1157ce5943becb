#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The primary header of PSRFITS files, and their times."""

import numpy as np

from ...parameters.ascii_text import ascii_text
from ...parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_MJD, utc_text

VERSION = "6.1"
FITS_BLOCK = 2880  # bytes, of which a file is a multiple


def day_of(time):
    """Whole MJD, whole seconds of that day, and the fraction of one."""
    day, seconds = divmod(int(time[0]), SECONDS_PER_DAY)
    return UNIX_EPOCH_MJD + day, seconds, float(time[1])


def _sexagesimal(degrees, hours):
    value = degrees / 15 if hours else degrees
    sign = "-" if value < 0 else "" if hours else "+"
    thousandths = round(abs(value) * 3600e4)
    whole, rest = divmod(thousandths, 36000000)
    minutes, rest = divmod(rest, 600000)
    return f"{sign}{whole:02d}:{minutes:02d}:{rest / 1e4:07.4f}"


def primary_header(
    mode,
    *,
    channels,
    width,
    beam,
    source,
    seconds,
    site,
    start,
    direction,
    letters="xy",
    tracks=True,
):
    """
    The primary header of a file, as astropy's PrimaryHDU.

    Parameters
    ----------
    mode : str
        PSR: profiles; SEARCH: powers.
    channels : array
        Frequencies in the order of the file, Hz.
    width : float
        MHz from one channel to the next, below 0 where frequencies fall.
    beam, source : str
    seconds : float
        Length of the observation.
    site : ArrayDescription or None
    start : (int, float)
        UTC since 1970.
    direction : (float, float)
        ICRS right ascension and declination, degrees.
    letters : str
        Polarisations of the antennas.
    tracks : bool
        The beam follows the sky.
    """
    from astropy.io import fits

    day, whole, fraction = day_of(start)
    header = fits.PrimaryHDU()
    cards = [
        ("HDRVER", VERSION),
        ("FITSTYPE", "PSRFITS"),
        ("DATE", date_text(start)),
        ("OBSERVER", ""),
        ("PROJID", ""),
        ("TELESCOP", site.name if site else ""),
        ("ANT_X", 0.0),
        ("ANT_Y", 0.0),
        ("ANT_Z", 0.0),
        ("FRONTEND", "gr-aperture"),
        ("NRCVR", 1),
        ("FD_POLN", "CIRC" if letters[0] in "rl" else "LIN"),
        ("FD_HAND", 1),
        ("BACKEND", "gr-aperture"),
        ("BECONFIG", "N/A"),
        ("BE_PHASE", 1),
        ("BE_DCC", 0),
        ("BE_DELAY", 0.0),
        ("TCYCLE", 0.0),
        ("OBS_MODE", mode),
        ("DATE-OBS", date_text(start)),
        ("OBSFREQ", float(np.mean(channels)) * 1e-6),
        ("OBSBW", width * len(channels)),
        ("OBSNCHAN", len(channels)),
        ("CHAN_DM", 0.0),
        ("PNT_ID", beam),
        ("SRC_NAME", source or "unknown"),
        ("COORD_MD", "J2000"),
        ("EQUINOX", 2000.0),
        ("RA", _sexagesimal(direction[0], True)),
        ("DEC", _sexagesimal(direction[1], False)),
        ("BMAJ", 0.0),
        ("BMIN", 0.0),
        ("STT_CRD1", _sexagesimal(direction[0], True)),
        ("STT_CRD2", _sexagesimal(direction[1], False)),
        ("TRK_MODE", "TRACK" if tracks else "DRIFT"),
        ("STP_CRD1", _sexagesimal(direction[0], True)),
        ("STP_CRD2", _sexagesimal(direction[1], False)),
        ("SCANLEN", seconds),
        ("FD_MODE", "FA"),
        ("FA_REQ", 0.0),
        ("CAL_MODE", "OFF"),
        ("CAL_FREQ", 0.0),
        ("CAL_DCYC", 0.0),
        ("CAL_PHS", 0.0),
        ("STT_IMJD", day),
        ("STT_SMJD", whole),
        ("STT_OFFS", fraction),
        ("STT_LST", 0.0),
    ]
    if site is not None:
        from ...arrays.geometry import geodetic_to_ecef, local_sidereal_time

        place = dict(
            zip(
                ("ANT_X", "ANT_Y", "ANT_Z"),
                geodetic_to_ecef(site.latitude, site.longitude, site.height),
            )
        )
        place["STT_LST"] = float(local_sidereal_time(start[0], site.longitude)) * 240
        cards = [(key, place.get(key, value)) for key, value in cards]
    for key, value in cards:
        header.header[key] = ascii_text(value) if isinstance(value, str) else value
    return header


def date_text(time):
    return utc_text(int(time[0]))
