#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes images of the sky as FITS files."""

import numpy as np

from ..files.checked_file import whole_file
from ..parameters.ascii_text import ascii_text

#: codes of FITS; the mean of two parallel hands is I
STOKES = {"I": 1, "xx": -5, "yy": -6, "rr": -1, "ll": -2}


def write_fits(path, values, image, place, about):
    """
    Writes one image; a file of the name is replaced when the new one is whole.

    Parameters
    ----------
    path : str
    values : float32 [x][y]
        The image or psf of a DirtyImage.
    image : DirtyImage
        For its field and its beam.
    place : (float, float)
        ICRS right ascension and declination of the centre, in degrees.
    about : dict
        frequency and bandwidth (Hz), time (UTC, as FITS writes it), telescope, object, unit,
        stokes (a key of STOKES), history (a list of texts).
    """
    from astropy.io import fits  # 0.3 s, and pictures do without it

    field = image.field
    cell = np.degrees(field.cell)
    header = fits.Header()
    for number, (kind, value, middle, step, unit) in enumerate(
        (
            ("RA---SIN", place[0], field.pixels // 2 + 1, -cell, "deg"),
            ("DEC--SIN", place[1], field.pixels // 2 + 1, cell, "deg"),
            ("FREQ", about["frequency"], 1, about["bandwidth"], "Hz"),
            ("STOKES", STOKES[about["stokes"]], 1, 1, ""),
        ),
        start=1,
    ):
        header[f"CTYPE{number}"], header[f"CRVAL{number}"] = kind, value
        header[f"CRPIX{number}"], header[f"CDELT{number}"] = middle, step
        header[f"CUNIT{number}"] = unit
    header["RADESYS"], header["EQUINOX"] = "ICRS", 2000.0
    # the pixels are in direction cosines, like the beam: both are degrees at the centre
    header["BMAJ"] = np.degrees(image.beam.major), "degrees, full width at half maximum"
    header["BMIN"] = np.degrees(image.beam.minor), "degrees"
    header["BPA"] = image.beam.angle, "degrees from north through east"
    header["BUNIT"], header["BTYPE"] = about["unit"], "Intensity"
    header["RESTFRQ"] = about["frequency"]
    header["DATE-OBS"], header["TIMESYS"] = about["time"], "UTC"
    for key, text in (("TELESCOP", about["telescope"]), ("OBJECT", about["object"])):
        header[key] = ascii_text(text)  # all that FITS has
    header["ORIGIN"] = "gr-aperture"
    for text in about["history"]:
        header.add_history(ascii_text(text))
    # FITS has its fastest axis first: [stokes][frequency][y][x]
    values = np.ascontiguousarray(values.T)[np.newaxis, np.newaxis]
    with whole_file(path) as name:
        fits.writeto(name, values, header, overwrite=True)
