#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Visibilities from one format to another, by pyuvdata: UVH5, measurement sets, UVFITS.

Measurement sets and UVFITS files hold visibilities that are phased to a place on the sky. Those
that are not (phase centre `unprojected`, as the X-engine makes them) are phased to one here: the
phase of a source there becomes 0, and u, v, w are along its east, north and line of sight.
"""

import contextlib
import os
import shutil
import sys
import warnings

import h5py
import numpy as np
from astropy.utils import iers

# nothing is downloaded: what comes with astropy is as good as a prediction for a year
iers.conf.auto_download = False
iers.conf.auto_max_age = None

# pyuvdata asks git for its version, which must not find that of a tree that it is installed in
os.environ.setdefault("GIT_CEILING_DIRECTORIES", os.path.join(sys.prefix, "lib"))

from pyuvdata import UVData

from ...arrays import geometry
from ...parameters.ascii_text import ascii_names, ascii_text
from ...parameters.times import SECONDS_PER_DAY, UNIX_EPOCH_JD
from .header import clear_not_numbers, has_bitshuffle, load_bitshuffle

#: ending -> what a format is called
FORMATS = {".uvh5": "UVH5", ".ms": "measurement set", ".uvfits": "UVFITS"}
#: characters of an antenna's name that UVFITS has room for
UVFITS_NAME = 8
#: m; antennas that are this near have no places of their own, see uvh5_writer.nominal_places
TOGETHER = 0.1
#: pyuvdata's warning of units that are not Jy, of which the caller is told otherwise
UNITS_WARNING = "Writing in the MS file that the units of the data are uncalib"


class ConversionError(ValueError):
    """A file that cannot be converted; the message is for the user."""


def format_of(path):
    """The ending of a path in small letters, one of FORMATS; a / may follow it."""
    ending = os.path.splitext(str(path).rstrip("/"))[1].lower()
    if ending not in FORMATS:
        raise ConversionError(
            f"{path}: its ending is to be one of "
            + ", ".join(f"{ending} ({name})" for ending, name in FORMATS.items())
        )
    return ending


def zenith(seconds, latitude, longitude, height):
    """ICRS right ascension and declination, in degrees, of what is in the zenith."""
    return geometry.azel_to_radec(0.0, 90.0, seconds, latitude, longitude, height)


def is_phased(data):
    """Returns whether all phase centres are fixed on the sky."""
    return all(centre["cat_type"] == "sidereal" for centre in data.phase_center_catalog.values())


def _prepare(path):
    """Loads what h5py needs for the compression of a file; of one that is no UVH5, pyuvdata
    tells."""
    with contextlib.suppress(OSError, KeyError), h5py.File(path) as file:
        if has_bitshuffle(file["Data/visdata"]):
            load_bitshuffle()


def read(path):
    """The visibilities as a pyuvdata.UVData object, and what it warned of, as texts."""
    path = str(path).rstrip("/")
    if not os.path.exists(path):
        raise ConversionError(f"{path}: no such file")
    format_of(path)
    if path.endswith(".uvh5"):
        _prepare(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # autocorrelations that are NaN are cleared below; write() checks them
            data = UVData.from_file(
                path, check_extra=True, run_check_acceptability=True, check_autos=False
            )
        except Exception as error:  # h5py, casacore, astropy and pyuvdata have theirs
            raise ConversionError(f"{path}: pyuvdata cannot read it: {error}") from None
    _make_ascii(data)
    notes = [str(warning.message) for warning in caught]
    if count := clear_not_numbers(data.data_array, data.nsample_array, data.flag_array):
        notes.append(
            f"{count} visibilities that were not flagged are no numbers (NaN, or "
            "infinite): they are flagged now"
        )
    return data, notes


def _make_ascii(data):
    """Makes all texts ASCII, which is all that pyuvdata writes, of what other programs wrote."""
    telescope = data.telescope
    for owner, name in ((data, "history"), (telescope, "name"), (telescope, "instrument")):
        text = getattr(owner, name)
        if isinstance(text, str):
            setattr(owner, name, ascii_text(text))
    telescope.antenna_names = np.array(ascii_names([str(name) for name in telescope.antenna_names]))
    for entries in (data.extra_keywords, *data.phase_center_catalog.values()):
        for key, value in entries.items():
            if isinstance(value, str):
                entries[key] = ascii_text(value)


def phase(data, centre=zenith, name="zenith"):
    """
    Phases visibilities to a place.

    Parameters
    ----------
    data : UVData
    centre : callable
        centre(seconds, latitude, longitude, height): ICRS right ascension and declination in
        degrees of the place, in the middle of the observation as seen from there.
    name : str
        Name of the place.

    Returns
    -------
    str
        What was done.
    """
    middle = (data.time_array.min() + data.time_array.max()) / 2
    seconds = (middle - UNIX_EPOCH_JD) * SECONDS_PER_DAY
    ra, dec = centre(seconds, *data.telescope.location_lat_lon_alt_degrees)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.phase(
            lon=np.radians(ra),
            lat=np.radians(dec),
            cat_name=ascii_text(name),
            cat_type="sidereal",
            phase_frame="icrs",
            epoch="J2000",
        )
    return f"phased to {name}: RA {ra:.5f}°, Dec {dec:+.5f}° (ICRS)"


def _notes_on(data, ending):
    """Returns what the user is to know of data in a file of a format."""
    notes = []
    antennas = data.telescope
    used = np.isin(antennas.antenna_numbers, np.unique(data.ant_1_array))
    places = antennas.antenna_positions[used]
    extent = np.linalg.norm(places - places.mean(axis=0), axis=1).max() if len(places) else 0
    if len(places) > 1 and extent < TOGETHER:
        notes.append(
            "the antennas are all at one place: their positions were not known when the "
            "file was made (aperture_fx --array), and no image can be made of it"
        )
    if ending == ".uvfits":
        long = [name for name in antennas.antenna_names if len(name) > UVFITS_NAME]
        short = [name[:UVFITS_NAME] for name in antennas.antenna_names]
        if len(set(short)) < len(short):
            raise ConversionError(
                f"UVFITS keeps {UVFITS_NAME} characters of the names of "
                f"antennas, by which {', '.join(sorted(long)[:4])} would not be "
                "told apart: write a measurement set"
            )
        if long:
            notes.append(
                f"UVFITS keeps {UVFITS_NAME} characters of the names of antennas: "
                f"{long[0]} becomes {long[0][:UVFITS_NAME]}"
                + (" and so on" if len(long) > 1 else "")
            )
    return notes


def _number_from_one(data):
    """Numbers antennas from 1, as UVFITS has them (AIPS memo 117)."""
    if data.telescope.antenna_numbers.min() > 0:
        return
    data.telescope.antenna_numbers = data.telescope.antenna_numbers + 1
    data.ant_1_array = data.ant_1_array + 1
    data.ant_2_array = data.ant_2_array + 1
    data.baseline_array = data.antnums_to_baseline(data.ant_1_array, data.ant_2_array)


def _remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def write(data, path, overwrite=True, compression="none"):
    """
    Writes a pyuvdata.UVData object in the format of the path's ending, after all of pyuvdata's
    checks. The file appears when it is whole. compression: of UVH5, one of `COMPRESSIONS`. Returns
    what pyuvdata warned of, as texts.
    """
    path = str(path).rstrip("/")
    ending = format_of(path)
    if os.path.lexists(path) and not overwrite:
        raise ConversionError(f"{path}: the file exists")
    folder, name = os.path.split(path)
    partial = os.path.join(folder, f".{name}.part{ending}")
    _remove(partial)
    common = dict(check_extra=True, run_check_acceptability=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if ending == ".ms":
                data.write_ms(partial, **common)
            elif ending == ".uvfits":
                data.write_uvfits(partial, **common)
            else:
                data.write_uvh5(
                    partial,
                    data_compression=None if compression == "none" else compression,
                    **common,
                )
            _remove(path)
            os.rename(partial, path)
        except OSError:
            raise
        except Exception as error:
            raise ConversionError(f"{path}: pyuvdata cannot write it: {error}") from None
        finally:
            _remove(partial)
    return [
        str(warning.message)
        for warning in caught
        if not str(warning.message).startswith(UNITS_WARNING)
    ]


def convert(source, target, centre=None, name="centre", overwrite=True, compression="none"):
    """
    Converts a file.

    Parameters
    ----------
    source, target : str
        Paths; their endings choose the formats.
    centre, name
        As in `phase`; without a centre, visibilities that are phased to the sky stay as they are,
        and others are phased to the zenith if the format asks for a phase centre.
    overwrite : bool
        True if an existing target is replaced.
    compression : str
        Compression of UVH5, one of `COMPRESSIONS`.

    Returns
    -------
    summary : str
    notes : list of str
        Texts for the user.

    Raises
    ------
    ConversionError, OSError
    """
    ending = format_of(target)
    if not overwrite and os.path.lexists(target):
        raise ConversionError(f"{target}: the file exists")
    data, notes = read(source)
    done = []
    if centre is not None or (ending != ".uvh5" and not is_phased(data)):
        done.append(phase(data, centre, name) if centre else phase(data))
    notes += _notes_on(data, ending)
    if ending == ".uvfits":
        _number_from_one(data)
    data.history += ascii_text(
        f"; converted from {os.path.basename(str(source).rstrip('/'))} by gr-aperture"
    )
    notes += write(data, target, overwrite, compression)
    counts = (
        f"{data.Nants_data} antennas, {data.Ntimes} times, {data.Nfreqs} channels, "
        f"{data.Npols} polarisation{'s'[: data.Npols > 1]}"
    )
    return "; ".join([counts, *done]), notes
