#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Writes the files that check_calibration.py checks with pyuvdata: write_calibration.py FOLDER

Visibilities of an array with two polarisations and hidden gains, their calibration as a file of
UVCal, and what the visibilities are after it by our own arithmetic.
"""

import sys
from pathlib import Path

import numpy as np
from gnuradio import aperture

from gnuradio.aperture.calibration.measure import calibrate_file
from gnuradio.aperture.calibration.sources import sky_model
from gnuradio.aperture.calibration.uvcal import load_uvcal, save_uvcal
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.testing.calibration_models import (
    array_of,
    delays_towards,
    frequencies_of,
    hidden_gains,
    products_of,
    write_observation,
)

CHANNELS = 45


def main(folder):
    rng = np.random.default_rng(5)
    names = ["B2", "A10", "A9", "C"]  # numbered in another order in the file
    array = array_of(names, letters="xy")
    inputs = len(array.inputs)
    gains, _ = hidden_gains(inputs, CHANNELS)
    frequencies = frequencies_of(CHANNELS)
    # one polarisation does not know of the other's signal
    towards = delays_towards(array, 120, 50)
    products = []
    for _ in range(3):
        parts = [products_of(gains, [(20.0, towards)], frequencies, 2000, rng) for _ in range(2)]
        a, b = np.tril_indices(inputs)
        own = np.array([signal.polarization == "x" for signal in array.inputs])
        products.append(np.where(own[a] & own[b], parts[0], parts[1]))
    path = folder / "raw.uvh5"
    write_observation(path, array, frequencies, products, 2000, flagged=[7, 8, 30])
    with VisibilityFile(path) as file:
        calibration, told = calibrate_file(file, sky_model("az=120,el=50"), reference="A9x")
        assert told == [], told
        save_uvcal(calibration, folder / "cal.calh5", file)
        aperture.save_calibration(calibration, folder / "cal.yml")
    # the object comes back from its own file
    same(load_uvcal(folder / "cal.calh5"), calibration)
    corrected = [calibration.apply(one, frequencies, array.input_names) for one in products]
    np.savez(folder / "corrected.npz", products=corrected, inputs=array.input_names)
    model = []
    phasors = np.exp(-2j * np.pi * np.outer(towards, frequencies))
    for a, b in zip(*np.tril_indices(inputs)):
        model.append(phasors[a] * phasors[b].conj())
    np.save(folder / "model.npy", np.array(model).T)


def same(one, two):
    """Fails if two calibrations differ but for what UVCal has no place for."""
    assert sorted(one.names) == sorted(two.names)
    assert one.references == two.references, (one.references, two.references)
    frequencies = two.band.frequencies
    np.testing.assert_allclose(one.band.frequencies, frequencies)
    np.testing.assert_allclose(one.measured, two.measured, atol=1e-3)
    assert one.source == two.source
    for entry in two.inputs:
        other = one.of(entry.name)
        np.testing.assert_array_equal(other.flagged, entry.flagged)
        there = ~entry.flagged
        np.testing.assert_allclose(
            one.corrections(frequencies, [entry.name])[0][there],
            two.corrections(frequencies, [entry.name])[0][there],
            rtol=1e-6,
        )
        # a line is a line, also where it is found a second time
        assert abs(other.delay - entry.delay) < 2e-9, (other.delay, entry.delay)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        old.unlink()
    main(target)
