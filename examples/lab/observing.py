#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The common parts of the lab's scripts: a flowgraph that correlates a simulated array, the reading of
UVH5 files, and the arithmetic of fringes.
"""

from dataclasses import dataclass, replace

import numpy as np
from gnuradio import aperture, blocks, gr

from gnuradio.aperture import geometry
from gnuradio.aperture.arrays.earth_rotation import unix_seconds
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.tracking.directions import azimuth_elevation

NOON = 1718967600  # 2024-06-21T11:00:00Z; at 5 degrees east the Sun transits at 11:42


@dataclass
class Baseline:
    """
    Two inputs, correlated.

    names: of both; vector: metres [east, north, up] from the first to the second; site: an
    ArrayDescription or what else has latitude, longitude and height; times [time]: UTC seconds
    since 1970, of the middles of integrations; frequencies [channel]: Hz; cross [time][channel]:
    second times conj(first); powers [2][time][channel]; missing: integrations that were left out.
    """

    names: tuple
    vector: np.ndarray
    site: object
    times: np.ndarray
    frequencies: np.ndarray
    cross: np.ndarray
    powers: np.ndarray
    missing: int = 0

    def coherence(self):
        """Complex [time][channel], NaN where data are missing. Channel 0 is NaN: it has both ends
        of the band in it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            coherence = self.cross / np.sqrt(self.powers[0] * self.powers[1])
        coherence[:, 0] = np.nan
        return coherence

    def mean(self):
        """Complex [time]: the coherence, averaged over the channels."""
        return np.nanmean(self.coherence(), axis=1)

    def along_band(self):
        """Hz [channel], from the centre of the band, and complex [channel]: the coherence, averaged
        over time, of those channels that have any."""
        coherence = self.coherence()
        seen = np.isfinite(coherence).any(axis=0)
        return self.frequencies[seen] - self.frequency, np.nanmean(coherence[:, seen], axis=0)

    def wavelengths(self):
        """Length of the baseline at the centre of the band."""
        return np.linalg.norm(self.vector) * self.frequency / geometry.SPEED_OF_LIGHT

    @property
    def frequency(self):
        """Hz, of the centre of the band, that of channel n/2."""
        return self.frequencies[len(self.frequencies) // 2]

    def expected_phase(self, direction="sun"):
        """
        Radians [time] at the centre of the band, of a wave from there: the second antenna, at b
        from the first, hears it b.s/c earlier, so that its phase is ahead by 2 pi f b.s/c.
        """
        return (
            2
            * np.pi
            * self.frequency
            / geometry.SPEED_OF_LIGHT
            * (self.directions(direction) @ self.vector)
        )

    def directions(self, direction):
        """Unit vectors [time][east, north, up]."""
        return geometry.direction(
            *azimuth_elevation(aperture.parse_direction(direction), self.times, self.site)
        )


# --- where baselines come from -------------------------------------------------------------------


def observe(
    array,
    seconds,
    integration,
    channels,
    start=NOON,
    chains=(),
    type="fc32",
    noise_rms=0,
    sources=None,
    seed=1,
):
    """
    Simulates an array and correlates it; returns a function: (first, second) -> Baseline.

    Parameters
    ----------
    array : ArrayDescription
    seconds, integration : float
        The latter is rounded to whole spectra.
    channels : int
    chains : sequence of (ports, block)
        What stands between the simulator and the F-engine: a block, and the inputs that go
        through it, by their numbers. All others are connected as they are.
    type, noise_rms, sources, seed
        Those of array_source.
    """
    inputs = len(array.inputs)
    spectra = max(1, round(integration * array.sample_rate / channels))
    frame = next(length for length in range(min(spectra, 512), 0, -1) if spectra % length == 0)
    flowgraph = gr.top_block()
    source = aperture.array_source(
        array,
        sources=sources,
        type=type,
        start_time=start,
        seed=seed,
        samples=int(seconds * array.sample_rate),
        noise_rms=noise_rms,
    )
    f_engine = aperture.f_engine(
        channels=channels,
        inputs=inputs,
        spectra_per_frame=frame,
        input_type=type,
        output_type="fc32",
    )
    x_engine = aperture.xengine(
        channels=channels,
        inputs=inputs,
        spectra_per_frame=frame,
        integration=spectra // frame,
        normalise=True,
    )
    sink = blocks.vector_sink_c(channels * inputs * (inputs + 1) // 2)
    ends = {port: (source, port) for port in range(inputs)}
    for ports, block in chains:
        for number, port in enumerate(ports):
            flowgraph.connect(ends[port], (block, number))
            ends[port] = (block, number)
    for port, end in ends.items():
        flowgraph.connect(end, (f_engine, port))
    flowgraph.connect(f_engine, x_engine, sink)
    flowgraph.run()

    products = np.reshape(sink.data(), (-1, channels, inputs * (inputs + 1) // 2))
    # the last integration may not be whole
    products = products[:-1] if len(products) > 1 else products
    frequencies = (
        array.center_frequency
        + (np.arange(channels) - channels // 2) * array.sample_rate / channels
    )
    # a spectrum's time is the middle of the 8 times `channels` samples that are weighted
    times = (
        start
        + (np.arange(len(products)) + 0.5) * spectra * channels / array.sample_rate
        + 3.5 * channels / array.sample_rate
    )
    places = array.input_positions()

    def baseline(first=0, second=1):
        pairs = (first, second), (first, first), (second, second)
        cross, *powers = np.moveaxis(
            products[:, :, [max(pair) * (max(pair) + 1) // 2 + min(pair) for pair in pairs]], 2, 0
        )
        # a product is that of the input with the larger number, times the other one's conjugate
        cross = cross if second > first else np.conj(cross)
        return Baseline(
            (array.input_names[first], array.input_names[second]),
            places[second] - places[first],
            array,
            times,
            frequencies,
            cross,
            np.real(powers),
        )

    return baseline


def read(path):
    """The first Baseline between two antennas of a UVH5 file, without the integrations in which
    nothing was received."""
    with VisibilityFile(path) as file:
        product = file.crosses()[0]
        autos = file.autos_of(product)
        values, dates = file.read([product, *autos], max_times=100_000)
        places = file.places()
        name = {number: file.names[number] for number in (product.first, product.second)}
        found = Baseline(
            (name[product.first], name[product.second]),
            places[product.second] - places[product.first],
            file.site,
            np.asarray(unix_seconds(dates)),
            file.frequencies,
            values[0],
            np.real(values[1:]),
        )
    seen = np.isfinite(found.coherence()).any(axis=1)
    if not seen.any():
        raise SystemExit(f"{path}: all of its {len(seen)} integrations are missing")
    return replace(
        found,
        times=found.times[seen],
        cross=found.cross[seen],
        powers=found.powers[:, seen],
        missing=int(np.sum(~seen)),
    )


# --- what is measured of them --------------------------------------------------------------------


def line(x, phases):
    """Slope and its standard deviation, and the value at x = 0, of unwrapped phases [x]."""
    phases = np.unwrap(phases)
    (slope, offset), covariance = (
        np.polyfit(x, phases, 1, cov=True)
        if len(x) > 3
        else (np.polyfit(x, phases, 1), np.full((2, 2), np.nan))
    )
    return slope, np.sqrt(covariance[0, 0]), offset


def fringe_rate(times, phases):
    """Hz and their standard deviation: cycles of the phase in a second, as a mean."""
    slope, error, _ = line(times - times.mean(), phases)
    return slope / (2 * np.pi), error / (2 * np.pi)


def fit_baseline(baseline, direction="sun"):
    """
    Metres to the east and to the north from the first to the second antenna, and their standard
    deviations, of the phases over hours; the height is taken for right.
    """
    east, north, up = baseline.directions(direction).T
    wavenumber = 2 * np.pi * baseline.frequency / geometry.SPEED_OF_LIGHT
    phases = np.unwrap(np.angle(baseline.mean())) - wavenumber * up * baseline.vector[2]
    equations = np.stack([wavenumber * east, wavenumber * north, np.ones_like(east)], axis=1)
    found, squares, _, _ = np.linalg.lstsq(equations, phases, rcond=None)
    covariance = np.linalg.inv(equations.T @ equations) * squares[0] / (len(phases) - 3)
    return found[:2], np.sqrt(np.diag(covariance))[:2]


def delay(baseline):
    """
    Seconds by which the signal reaches the second input later, and their standard deviation: of
    the slope of the phase along the band. The fringe must not have gone on much in between.
    """
    offsets, coherence = baseline.along_band()
    slope, error, _ = line(offsets, np.angle(coherence))
    return -slope / (2 * np.pi), error / (2 * np.pi)


def noise_of(baseline):
    """
    Standard deviation of the real part of the mean coherence of one integration, for a faint
    source: 1/sqrt(2 B t), of the bandwidth that is averaged and the time.
    """
    channels = len(baseline.frequencies)
    width = baseline.frequencies[1] - baseline.frequencies[0]
    time = np.median(np.diff(baseline.times)) if len(baseline.times) > 1 else np.nan
    return 1 / np.sqrt(2 * (channels - 1) * width * time)
