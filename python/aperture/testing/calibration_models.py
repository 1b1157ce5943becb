#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Visibilities of arrays with hidden cables and bandpasses, from voltages made with NumPy alone.

The voltage of an input in a channel is its gain times receiver noise of power 1 and the sources'
signals, each late by tau = -r.s/c; products of these are summed, as a correlator would.
"""

import numpy as np

from ..formats.uvh5.writer import Uvh5Layout
from .arrays import make_array
from .uvh5_files import write_file

C = 299792458.0  # m/s
START = 1704067200  # 2024-01-01
WIDTH = 62500.0  # Hz


def array_of(names, seed=3, spread=40.0, letters="x"):
    """Antennas at random places within `spread` metres."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-spread, spread, (len(names), 3)) * (1, 1, 0.05)
    return make_array(
        {name: tuple(place) for name, place in zip(names, places)},
        inputs=letters,
        rate=4e6,
        center=1.42e9,
    )


def frequencies_of(channels, center=1.42e9):
    """[channel], Hz"""
    return center + (np.arange(channels) - channels // 2) * WIDTH


def hidden_gains(inputs, channels, seed=7, longest=100e-9):
    """
    Complex gains [input][channel] of cables of up to `longest` seconds, either way, phases, and
    bandpasses whose magnitude and phase vary smoothly; and the delays [input].
    """
    rng = np.random.default_rng(seed)
    away = frequencies_of(channels) - 1.42e9
    place = np.linspace(-1, 1, channels)
    delays = rng.uniform(-longest, longest, inputs)
    delays[0], delays[-1] = longest, -longest
    level = rng.uniform(0.5, 2, inputs)[:, None]
    ripple = 1 + 0.2 * np.cos(
        np.outer(rng.uniform(1, 5, inputs), place) + rng.uniform(0, 6, inputs)[:, None]
    )
    phase = rng.uniform(-3, 3, inputs)[:, None] + 0.4 * np.outer(
        rng.uniform(-1, 1, inputs), place**2
    )
    return level * ripple * np.exp(1j * (phase - 2 * np.pi * np.outer(delays, away))), delays


def direction_of(azimuth, elevation):
    """Unit vector (east, north, up); degrees."""
    az, el = np.radians([azimuth, elevation])
    return np.array([np.sin(az) * np.cos(el), np.cos(az) * np.cos(el), np.sin(el)])


def delays_towards(array, azimuth, elevation):
    """tau = -r.s/c of each input, s"""
    return -array.input_positions() @ direction_of(azimuth, elevation) / C


def products_of(gains, sources, frequencies, spectra, rng, receiver=1.0, interference=None):
    """
    One integration, [channel][product] of the X-engine.

    gains: complex [input][channel]; sources: list of (flux, delays [input]); receiver: power of the
    receivers' noise before the gains; interference: {channel: power}, a transmitter of a phase of
    its own in each input.
    """
    inputs, channels = gains.shape

    def noise(*shape):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)

    voltages = np.sqrt(receiver) * noise(inputs, channels, spectra)
    for flux, delays in sources:
        phasors = np.exp(-2j * np.pi * np.outer(delays, frequencies))
        voltages += np.sqrt(flux) * phasors[:, :, None] * noise(channels, spectra)
    for channel, power in (interference or {}).items():
        phasors = np.exp(2j * np.pi * rng.uniform(size=inputs))
        voltages[:, channel] += np.sqrt(power) * phasors[:, None] * noise(spectra)
    voltages *= gains[:, :, None]
    found = np.einsum("akt,bkt->kab", voltages, voltages.conj()) / spectra
    a, b = np.tril_indices(inputs)
    return found[:, a, b]


def write_observation(
    path,
    array,
    frequencies,
    integrations,
    spectra,
    flagged=(),
    keywords=None,
    start=START,
    step=1.0,
    phase_center=None,
):
    """
    Writes integrations, [channel][product] each, of so many spectra, into a UVH5 file.

    flagged: channels; step: seconds from one integration to the next; phase_center: a Direction.
    """
    layout = Uvh5Layout(
        array, frequencies, WIDTH, "a test", keywords=keywords, phase_center=phase_center
    )
    rows = [
        layout.integration(
            products.astype(np.complex64),
            2440587.5 + (start + number * step) / 86400,
            spectra,
            [spectra],
            1 / WIDTH,
        )
        for number, products in enumerate(integrations)
    ]
    write_file(path, layout, rows)
    if len(flagged):
        import h5py

        with h5py.File(path, "r+") as file:
            for channel in flagged:
                file["Data/flags"][:, channel] = True
                # a value that would be seen if a flag were not heeded
                file["Data/visdata"][:, channel] = 1e6
