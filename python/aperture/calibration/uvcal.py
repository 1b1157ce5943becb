#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Calibrations as pyuvdata's UVCal has them, in its HDF5 files (CalH5), with h5py alone.

UVCal has gains G of antennas and polarisations, by which its program divides a visibility (ant_1,
ant_2) as G_1 conj(G_2). As that of a UVH5 file is conj(x_1) x_2 and x = g s, G is conj(g), which is
one over the conjugate of our correction. Delays and phases are part of the gains.
"""

import os

import h5py
import numpy as np

from ..arrays.earth_rotation import julian_date, unix_seconds
from ..files.checked_file import whole_file
from ..formats.uvh5.header import ascii_entry, entry_text
from ..parameters.ascii_text import ascii_text
from .calibration import Band, Calibration, CalibrationError, InputCalibration, Quality
from .solver import fit_line, over_channels

#: polarisation of an input -> code of the format
JONES = {"r": -1, "l": -2, "x": -5, "y": -6}
#: the keys of the antennas' places, copied from a UVH5 file as they are
TELESCOPE = (
    "telescope_frame",
    "latitude",
    "longitude",
    "altitude",
    "telescope_name",
    "instrument",
    "Nants_telescope",
    "antenna_names",
    "antenna_numbers",
    "antenna_positions",
    "mount_type",
    "Nfeeds",
    "feed_array",
    "feed_angle",
    "x_orientation",
)
NEEDED = (
    "antenna_names",
    "antenna_numbers",
    "ant_array",
    "jones_array",
    "freq_array",
    "gain_convention",
    "cal_type",
)


def save_uvcal(calibration, path, file):
    """
    Writes a calibration as a CalH5 file.

    Parameters
    ----------
    calibration : Calibration
    path : str
    file : VisibilityFile
        A file of the same array: where its antennas are.

    Raises
    ------
    CalibrationError, OSError
    """
    if not os.fspath(path).endswith(".calh5"):
        raise CalibrationError("uvcal", f"{path}: the name of such a file ends in .calh5")
    numbers = {name: number for number, name in file.names.items()}
    places = [(numbers.get(name[:-1]), name[-1]) for name in calibration.names]
    if any(antenna is None for antenna, _ in places):
        raise CalibrationError(
            "uvcal", f"{path}: the UVH5 file has not all antennas of the calibration"
        )
    antennas = sorted({antenna for antenna, _ in places})
    letters = [letter for letter in JONES if letter in {letter for _, letter in places}]
    frequencies = calibration.band.frequencies
    shape = (len(antennas), len(frequencies), 1, len(letters))
    gains, flags = np.ones(shape, complex), np.ones(shape, bool)
    qualities = np.full(shape, np.nan, np.float32)
    for (antenna, letter), entry, row in zip(
        places, calibration.inputs, calibration.corrections(frequencies)
    ):
        at = antennas.index(antenna), slice(None), 0, letters.index(letter)
        gains[at] = np.divide(1, row.conj(), out=np.ones_like(row), where=row != 0)
        flags[at] = entry.flagged | (row == 0)
        qualities[at] = entry.quality.chi_squared
    begin, end = calibration.measured or (0.0, 0.0)
    text = lambda value: np.bytes_(ascii_text(value).encode())
    header = {
        "version": text("0.1"),
        "history": text(calibration.history),
        "Nants_data": len(antennas),
        "Nfreqs": len(frequencies),
        "Njones": len(letters),
        "Nspws": 1,
        "Ntimes": 1,
        "integration_time": np.array([max(end - begin, 1e-9)]),
        "jones_array": np.array([JONES[letter] for letter in letters]),
        "spw_array": np.array([0]),
        "flex_spw_id_array": np.zeros(len(frequencies), int),
        "ant_array": np.array(antennas),
        "cal_type": text("gain"),
        "cal_style": text("sky"),
        "gain_convention": text("divide"),
        "wide_band": False,
        "channel_width": np.full(len(frequencies), calibration.band.width),
        "freq_array": frequencies,
        "gain_scale": text(calibration.unit or "uncalib"),
        "time_range": np.array([[julian_date(begin), julian_date(end)]]),
        "sky_catalog": text(calibration.source or "unknown"),
        "ref_antenna_name": text(
            calibration.references[0][:-1] if calibration.references else file.names[antennas[0]]
        ),
    }
    with whole_file(path) as new, h5py.File(new, "w") as made:
        group = made.create_group("Header")
        for name, value in {**file.header(TELESCOPE), **header}.items():
            group[name] = ascii_entry(value)
        data = made.create_group("Data")
        for name, value in (("gains", gains), ("flags", flags), ("qualities", qualities)):
            data.create_dataset(name, data=value, compression="gzip", compression_opts=1)


def load_uvcal(path):
    """
    Reads a CalH5 file into a Calibration, whose delays and phases are lines through the gains.

    Raises CalibrationError for what is no such file, or has more than one time; OSError.
    """
    with open(path, "rb"):
        pass  # Python says why it cannot be read
    try:
        with h5py.File(path, "r") as file:
            return _calibration_of(path, file)
    except CalibrationError:
        raise
    except Exception as error:  # h5py raises nearly anything of a damaged file
        text = " ".join(str(error).split()) or type(error).__name__
        raise CalibrationError("", f"{path}: damaged, or not a CalH5 file: {text}") from None


def _calibration_of(path, file):
    header, data = file["Header"], file["Data"]
    absent = [name for name in NEEDED if name not in header] + [
        name for name in ("gains", "flags") if name not in data
    ]
    if absent:
        raise CalibrationError(
            "", f"{path}: not a CalH5 file with gains: it lacks {', '.join(absent)}"
        )
    gains = data["gains"][()]
    if gains.ndim != 4 or gains.shape[2] != 1:
        raise CalibrationError(
            "",
            f"{path}: has gains of shape {gains.shape}: one time is "
            "expected, [antenna][channel][1][polarisation]",
        )
    flags = data["flags"][()].astype(bool)
    convention = entry_text(header["gain_convention"][()])
    frequencies = header["freq_array"][()].astype(float)
    # descending frequencies are written, too
    direction = -1 if frequencies[0] > frequencies[-1] else 1
    frequencies = frequencies[::direction]
    width = float(np.ravel(header["channel_width"][()])[0])
    band = Band.of(frequencies, abs(width))
    names = dict(
        zip(header["antenna_numbers"][()].tolist(), map(entry_text, header["antenna_names"][()]))
    )
    letters = {code: letter for letter, code in JONES.items()}
    center = frequencies[len(frequencies) // 2]
    inputs = []
    for row, antenna in enumerate(header["ant_array"][()].tolist()):
        for column, code in enumerate(header["jones_array"][()].tolist()):
            if code not in letters:
                continue  # leakage from one polarisation into the other
            values = gains[row, ::direction, 0, column].astype(complex)
            flagged = flags[row, ::direction, 0, column] | ~np.isfinite(values) | (values == 0)
            name = names[antenna] + letters[code]
            if flagged.all():
                inputs.append(
                    InputCalibration(
                        name, bandpass=np.zeros(len(values)), flagged=flagged, quality=Quality(0.0)
                    )
                )
                continue
            # our corrections, see the top of this module
            corrections = (
                values.conj()
                if convention == "multiply"
                else np.divide(1, values.conj(), out=np.zeros_like(values), where=~flagged)
            )
            line = fit_line(frequencies, corrections, np.where(flagged, 0.0, 1.0), center)
            straight = corrections * np.exp(
                -1j * (line.phase - 2 * np.pi * (frequencies - center) * line.delay)
            )
            places = np.arange(len(frequencies))
            bandpass = np.where(
                flagged, over_channels(straight[None], places, ~flagged, len(places))[0], straight
            )
            inputs.append(InputCalibration(name, line.delay, line.phase, bandpass, flagged))
    span = None
    if "time_range" in header:
        span = np.ravel(header["time_range"][()])
    elif "time_array" in header:
        span = np.repeat(np.ravel(header["time_array"][()])[:1], 2)
    reference = entry_text(header["ref_antenna_name"][()]) if "ref_antenna_name" in header else ""
    found = [entry.name for entry in inputs]
    return Calibration(
        array=entry_text(header["telescope_name"][()]),
        band=band,
        inputs=inputs,
        source=entry_text(header["sky_catalog"][()]) if "sky_catalog" in header else "",
        references=[reference + letter for letter in "xyrl" if reference + letter in found],
        measured=None if span is None else tuple(unix_seconds(span)),
        history=" ".join(entry_text(header["history"][()]).split()) if "history" in header else "",
        unit="Jy"
        if "gain_scale" in header and entry_text(header["gain_scale"][()]) == "Jy"
        else "",
    )
