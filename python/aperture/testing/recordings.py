#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Recordings and arrays that tests of the commands read, and what is in the files they write."""

import h5py
import numpy as np

from ..arrays.array_description import Antenna, Source
from .arrays import make_array

HEADER = """HEADER DADA
HDR_VERSION 1.0
HDR_SIZE 4096
UTC_START 2013-07-02-01:37:40
OBS_OFFSET 6400000000
TELESCOPE {telescope}
SOURCE 2016+28
FREQ 320.0
BW {bandwidth}
TSAMP {interval}
NBIT 8
NDIM {dimensions}
NPOL {streams}
NCHAN 1
"""


def write_dada(filename, samples, telescope="Effelsberg", bandwidth=16):
    """Writes a DADA file. samples: int8 [time][stream] (real), or [time][stream][2]; bandwidth:
    MHz"""
    dimensions = samples.ndim - 1
    text = HEADER.format(
        telescope=telescope,
        dimensions=dimensions,
        streams=samples.shape[1],
        bandwidth=bandwidth,
        interval=dimensions / 2 / abs(bandwidth),
    )
    if samples.shape[1:] != (2, 2):
        text = text.replace("6400000000", "0")
    with open(filename, "wb") as file:
        file.write(text.encode().ljust(4096, b"\0") + samples.astype(np.int8).tobytes())


def noise(samples, streams=2, rms=18.0, seed=7):
    """Gaussian int8 [time][stream][2] whose streams share a fifth of their power."""
    random = np.random.default_rng(seed)
    common = random.normal(size=(samples, 1, 2))
    own = random.normal(size=(samples, streams, 2))
    values = rms * (np.sqrt(0.2) * common + np.sqrt(0.8) * own)
    return np.clip(np.rint(values), -127, 127).astype(np.int8)


def small_array(sample_rate=1e5, antennas=2):
    """Antennas 15 m apart in a line, and a source of the flux 0.5."""
    places = [Antenna(f"A{i + 1}", (15.0 * i, 0.0, 0.0)) for i in range(antennas)]
    return make_array(
        places,
        rate=sample_rate,
        center=4.08e8,
        site=(50.0, 7.0, 100.0),
        name="line",
        sources=[Source("s", azimuth=80.0, elevation=40.0, flux=0.5)],
    )


def visibilities(filename):
    """The file's data as [integration][row of a time][channel][polarisation], and the rest as a
    dictionary."""
    with h5py.File(filename, "r") as file:
        header = {
            name: file["Header"][name][()]
            for name in file["Header"]
            if isinstance(file["Header"][name], h5py.Dataset)
        }
        times = len(np.unique(header["time_array"]))
        shape = (times, -1, len(header["freq_array"].ravel()), len(header["polarization_array"]))
        for name in ("visdata", "flags", "nsamples"):
            header[name] = file["Data"][name][()].reshape(shape)
    header["times"] = np.unique(header["time_array"])
    return header
