#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""UVH5 files for tests, written by h5py alone."""

import h5py
import numpy as np

NUMBER = {"xx": -5, "yy": -6, "xy": -7, "yx": -8}
START = 2460310.5  # Julian date of 2024-01-01


def write_file(
    filename,
    visibilities,
    pairs,
    hands,
    frequencies,
    positions,
    integrations=1,
    flags=None,
    nsamples=None,
):
    """A UVH5 file with just what plots need, written by h5py alone.

    visibilities: [time][pair][channel][hand]; positions: [antenna][3], metres
    """
    shape = np.shape(visibilities)
    rows = (shape[0] * shape[1],) + shape[2:]
    with h5py.File(filename, "w") as file:
        header, data = file.create_group("Header"), file.create_group("Data")
        header["ant_1_array"] = np.array([a for a, _ in pairs] * integrations)
        header["ant_2_array"] = np.array([b for _, b in pairs] * integrations)
        header["time_array"] = np.repeat(START + np.arange(integrations) / 86400, len(pairs))
        header["integration_time"] = np.ones(rows[0])
        header["freq_array"] = frequencies
        header["channel_width"] = np.full(len(frequencies), abs(frequencies[1] - frequencies[0]))
        header["polarization_array"] = np.array([NUMBER[hand] for hand in hands])
        header["antenna_names"] = np.array([b"A%d" % (i + 1) for i in range(len(positions))])
        header["antenna_numbers"] = np.arange(len(positions))
        header["antenna_positions"] = np.asarray(positions, float)
        header["telescope_name"] = np.bytes_("Synthetic")
        data["visdata"] = np.reshape(visibilities, rows).astype(np.complex64)
        data["flags"] = np.zeros(rows, bool) if flags is None else np.reshape(flags, rows)
        data["nsamples"] = (
            np.ones(rows) if nsamples is None else np.reshape(nsamples, rows)
        ).astype(np.float32)


def write_array(
    filename, antennas, hands=("xx",), channels=48, integrations=1, correlation=0.25, flagged=()
):
    """An array in a line, 7 m apart, each antenna 30 ns later than the one before; without
    noise, so that every pair has the correlation given and the phase of its delay. The delay
    grows by 2 ns an integration."""
    frequencies = 1400e6 + (np.arange(channels) - channels // 2) * 10e6 / channels
    pairs = [(a, b) for a in range(antennas) for b in range(a, antennas)]
    data = np.zeros((integrations, len(pairs), channels, len(hands)), complex)
    for t in range(integrations):
        for i, (a, b) in enumerate(pairs):
            phasor = np.exp(-2j * np.pi * frequencies * (b - a) * (30e-9 + 2e-9 * t))
            for h, hand in enumerate(hands):
                auto = a == b and hand[0] == hand[1]
                data[t, i, :, h] = (
                    (1 if auto else correlation * phasor) * 50 * np.sqrt((1 + a) * (1 + b))
                )
    flags = np.zeros(data.shape, bool)
    flags[:, :, list(flagged)] = True
    # A value that would stand out if the flag were not heeded.
    data[flags] = 1e6
    positions = [(7.0 * i, 0, 0) for i in range(antennas)]
    write_file(filename, data, pairs, hands, frequencies, positions, integrations, flags)
    return frequencies
