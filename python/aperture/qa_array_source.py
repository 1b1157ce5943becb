#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Tolerances of statistical tests are 5 standard deviations of the estimate; with the seeds given
they either hold always or never."""

import math
import time

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest
from scipy.interpolate import CubicSpline

from gnuradio.aperture import Antenna, Input, Source
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.testing import arrays
from gnuradio.aperture.testing.satellites import EPOCH, ORBITS
from gnuradio.aperture.testing.simulator_noise import model_noise, philox
from gnuradio.aperture.tracking.directions import Direction, azimuth_elevation, distance

ZENITH = Source("zenith", azimuth=0, elevation=90)


def make_array(
    positions,
    polarizations="x",
    sample_rate=1e6,
    center_frequency=1.4e9,
    gains=None,
    cables=None,
    latitude=40.0,
):
    """Antennas A, B, ... at positions, each with the polarizations."""
    names = [chr(ord("A") + i) for i in range(len(positions))]
    pairs = [(name, letter) for name in names for letter in polarizations]
    gains = gains or [1] * len(pairs)
    cables = cables or [0] * len(pairs)
    return arrays.make_array(
        [Antenna(*entry) for entry in zip(names, positions)],
        inputs=[Input(*pair, gain, cable) for pair, gain, cable in zip(pairs, gains, cables)],
        rate=sample_rate,
        center=center_frequency,
        site=(latitude, 10, 0),
    )


def east_of(longitude, latitude=40.0):
    """The place of an antenna on the ground, m east, north and up of make_array()'s site, which is
    so many degrees of longitude further east."""
    site, place = (
        geometry.geodetic_to_ecef(latitude, 10 + further, 0) for further in (0, longitude)
    )
    return tuple((place - site) @ geometry.enu_to_ecef_rotation(latitude, 10))


def sink_for(type, inputs):
    return {
        "fc32": lambda: blocks.vector_sink_c(inputs),
        "sc16": lambda: blocks.vector_sink_s(2 * inputs),
        "sc8": lambda: blocks.vector_sink_b(2 * inputs),
    }[type]()


def collect(array, samples, type="fc32", inputs_per_port=1, max_items=None, runs=1, **arguments):
    """Runs an array_source; returns the samples [input][time], the block and the sinks."""
    source = aperture.array_source(
        array, type=type, samples=samples, inputs_per_port=inputs_per_port, **arguments
    )
    top = gr.top_block()
    sinks = [sink_for(type, inputs_per_port) for _ in range(len(array.inputs) // inputs_per_port)]
    for port, sink in enumerate(sinks):
        top.connect((source, port), sink)
    if max_items:
        source.set_max_noutput_items(max_items)
    for _ in range(runs):
        for sink in sinks:
            sink.reset()
        top.run()
    data = []
    for sink in sinks:
        values = np.array(sink.data())
        if type == "sc8":
            values = values.astype(np.uint8).view(np.int8)
        if type != "fc32":
            values = values[0::2].astype(float) + 1j * values[1::2]
        data.append(values.reshape(-1, inputs_per_port).T)
    return np.concatenate(data), source, sinks


def coefficient(a, b):
    """Correlation coefficient <a conj(b)> / sqrt(<|a|^2><|b|^2>)."""
    return np.vdot(b, a) / math.sqrt(np.vdot(a, a).real * np.vdot(b, b).real)


def in_band(values, limit=0.49):
    """Spectrum of the part of the band where sources are exact by the documentation (|f| < 0.495 of
    the rate), at frequencies in units of the rate. The window keeps the ends of the series from
    spilling into all frequencies."""
    window = np.blackman(values.shape[-1])
    spectrum = np.fft.fft(values * window)
    frequencies = np.fft.fftfreq(values.shape[-1])
    chosen = np.abs(frequencies) < limit
    return spectrum[..., chosen], frequencies[chosen]


class qa_array_source(gr_unittest.TestCase):
    # --- against an independent model ---

    def test_model_itself(self):
        """The known answers that the authors of Philox publish."""
        for counter, key, answer in (
            ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
            ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
            (
                [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
                [0xA4093822, 0x299F31D0],
                "d16cfe09 94fdcceb 5001e420 24126ea1",
            ),
        ):
            words = philox(np.array([counter]), key)[0]
            self.assertEqual(" ".join(f"{int(word):08x}" for word in words), answer)

    def test_noise(self):
        """Receiver noise is the documented function of seed, name and sample number. 2e-6: single
        precision of values up to 4.7."""
        seed = 0x123456789ABCDEF
        array = make_array([(0, 0, 0), (1, 2, 3)], "xy")
        samples, _, _ = collect(array, 20001, seed=seed, sources=[])
        for data, name in zip(samples, array.input_names):
            expected = model_noise(seed, f"input {name}", 0, 20002)[:20001]
            np.testing.assert_allclose(data, expected, rtol=0, atol=2e-6)

    def check_against_model(self, array, sources, samples=30000):
        """The whole output against the formula, with delays made by one long transform. Limit: the
        sources' band is flat within 1e-4 (a power of 1e-8) inside of it."""
        seed = 5
        margin = 2**15
        data, _, _ = collect(array, samples, seed=seed, sources=sources)
        frequencies = np.fft.fftfreq(samples + 2 * margin)
        for index, entry in enumerate(array.inputs):
            total = model_noise(seed, f"input {entry.name}", 0, samples)
            for source in sources:
                sky = geometry.direction(source.azimuth, source.elevation)
                delay = geometry.delays(array.input_positions(), sky)[index] + entry.cable_delay
                x, y = (
                    model_noise(
                        seed, f"source {source.name} {letter}", -margin, samples + 2 * margin
                    )
                    for letter in "xy"
                )
                signal = {
                    "x": x,
                    "y": y,
                    "r": (x + 1j * y) / math.sqrt(2),
                    "l": (x - 1j * y) / math.sqrt(2),
                }[entry.polarization]
                rotated = np.fft.fft(signal) * np.exp(
                    -2j * np.pi * frequencies * delay * array.sample_rate
                )
                total += (
                    math.sqrt(source.flux)
                    * np.fft.ifft(rotated)[margin : margin + samples]
                    * np.exp(-2j * np.pi * array.center_frequency * delay)
                )
            expected, _ = in_band(entry.gain * total)
            found, _ = in_band(data[index])
            error = np.sum(np.abs(found - expected) ** 2) / np.sum(np.abs(expected) ** 2)
            self.assertLess(error, 2e-8, entry.name)

    def test_model_of_array(self):
        array = make_array(
            [(0, 0, 0), (1234.5, -777.7, 3.25), (-33.3, 8e3, -10)],
            "xylr",
            gains=list(np.exp(1j * np.arange(12)) * np.linspace(0.5, 2, 12)),
            cables=list(np.linspace(-3e-6, 7.77e-6, 12)),
        )
        self.check_against_model(
            array,
            [
                Source("a", azimuth=111, elevation=22, flux=3),
                Source("b", azimuth=-40, elevation=70, flux=0.3),
            ],
        )

    def test_model_of_long_delays(self):
        """Delays that need a longer transform, and a large one that all inputs have in common."""
        array = make_array([(0, 0, 0), east_of(36)], cables=[0.0123456789, 0.0123])
        self.check_against_model(array, [Source("a", azimuth=80, elevation=1, flux=2)])

    # --- against closed forms ---

    def test_power(self):
        """|gain|^2 (1 + sum of fluxes), less the edges of the sources' band: 0.5 %."""
        n = 400000
        array = make_array([(0, 0, 0), (50, 20, 0)], gains=[1, 0.25j])
        samples, _, _ = collect(
            array,
            n,
            sources=[
                Source("a", azimuth=30, elevation=40, flux=0.7),
                Source("b", azimuth=130, elevation=50, flux=0.5),
            ],
        )
        power = np.mean(np.abs(samples) ** 2, axis=1)
        expected = np.array([1, 0.25**2]) * (1 + 1.2)
        np.testing.assert_allclose(power / expected, 1, atol=0.005 * 1.2 / 2.2 + 5 / math.sqrt(n))

    def test_spectrum_is_white(self):
        """Flux is the same in every channel up to the documented edge. 16 bands of each 6e3 values:
        the power's deviation is 1/sqrt(6e3)."""
        n = 10**5
        samples, _, _ = collect(
            make_array([(0, 0, 0)]), n, sources=[Source("a", azimuth=0, elevation=90, flux=1e6)]
        )
        spectrum, frequencies = in_band(samples[0], 0.495)
        power = np.abs(spectrum) ** 2 / np.sum(np.blackman(n) ** 2) / 1e6
        # the window correlates neighbouring bins: 1.73 is its equivalent noise bandwidth in bins
        for band in np.array_split(power[np.argsort(frequencies)], 16):
            self.assertLess(abs(np.mean(band) - 1), 5 * math.sqrt(1.73 / len(band)))

    def test_correlation_coefficient(self):
        """S/(1 + S) of two inputs that see one source, 0 of noise alone."""
        n = 400000
        array = make_array([(0, 0, 0), (30, -20, 0), (-7, 5, 0)])
        for flux in (0.0, 0.1, 1.0, 10.0):
            samples, _, _ = collect(
                array, n, sources=[Source("a", azimuth=0, elevation=90, flux=flux)]
            )
            spectra, _ = in_band(samples)
            expected = flux / (1 + flux)
            # std of a coefficient's estimate; 1.73: the window's equivalent noise bandwidth
            limit = 5 * math.sqrt(1.73 / n) * max(1 - expected**2, 0.01)
            for a, b in ((1, 0), (2, 0), (2, 1)):
                self.assertLess(abs(coefficient(spectra[a], spectra[b]) - expected), limit)

    def fitted_delay(self, a, b, rate, expected):
        """By how many samples a is behind b, from the phase over frequency, and the phase in
        degrees at the centre, both less what is expected (in seconds): a's spectrum is
        b's times exp(-2 pi i (f0 + f) tau)."""
        whole = round(expected * rate)
        length, count = 1024, (len(b) - abs(whole)) // 1024
        start_a, start_b = max(whole, 0), max(-whole, 0)
        window = np.hanning(length)
        spectra = [
            np.fft.fft(series[start : start + length * count].reshape(count, length) * window)
            for series, start in ((a, start_a), (b, start_b))
        ]
        cross = np.fft.fftshift(np.sum(spectra[0] * np.conj(spectra[1]), axis=0))
        f = np.arange(-length // 2, length // 2) / length
        cross, f = cross[np.abs(f) < 0.49], f[np.abs(f) < 0.49]
        rest = expected * rate - whole
        phase = np.unwrap(np.angle(cross * np.exp(2j * np.pi * f * rest)))
        slope, offset = np.polyfit(f, phase, 1)
        return -slope / (2 * np.pi), offset, phase - offset

    def test_delay(self):
        """A source whose flux is 1e8 is delayed by whole samples and fractions, within 0.001
        samples and, at each frequency of the band, within the phase that this is there (f <= 0.49:
        3 mrad)."""
        array = make_array(
            [(0, 0, 0), (311.1, 0, 0), (-76.543, 1234.5, 10), (0, 0, 149.9)],
            sample_rate=3e6,
            cables=[0, 0, 1.23e-6, 0],
        )
        source = Source("a", azimuth=77, elevation=12, flux=1e8)
        samples, _, _ = collect(array, 200000, sources=[source])
        delays = geometry.delays(array.input_positions(), geometry.direction(77, 12))
        delays += [entry.cable_delay for entry in array.inputs]
        for index in (1, 2, 3):
            expected = delays[index] - delays[0]
            slope, offset, phase = self.fitted_delay(samples[index], samples[0], 3e6, expected)
            self.assertLess(abs(slope), 0.001)
            self.assertLess(np.abs(phase).max(), 0.003)
            center = np.angle(np.exp(1j * (offset + 2 * np.pi * 1.4e9 * expected)))
            self.assertLess(abs(center), 1e-3)

    def test_sign(self):
        """A whole-sample delay, by hand: the source is in the east, and the eastern antenna hears
        it three samples earlier, with the phase +2 pi f0 3 / rate there."""
        rate, f0 = 1e6, 1.4e9 + 0.125e6
        east = 3 * geometry.SPEED_OF_LIGHT / rate
        array = make_array([(0, 0, 0), (east, 0, 0)], sample_rate=rate, center_frequency=f0)
        samples, _, _ = collect(
            array, 5000, sources=[Source("a", azimuth=90, elevation=0, flux=1e10)]
        )
        phase = np.exp(2j * np.pi * f0 * 3 / rate)
        np.testing.assert_allclose(samples[1, :-3], samples[0, 3:] * phase, atol=1e-3 * 1e5)
        self.assertGreater(abs(samples[1, :-3] - samples[0, :-3] * phase).max(), 1e5)

    def test_polarizations(self):
        """x and y of one antenna, and r and l, are independent; r = (x + iy)/sqrt(2)."""
        n = 300000
        samples, _, _ = collect(
            make_array([(0, 0, 0)], "xylr"),
            n,
            sources=[Source("a", azimuth=0, elevation=90, flux=1e6)],
        )
        x, y, left, right = samples
        half = math.sqrt(0.5)
        for a, b, expected in (
            (x, y, 0),
            (left, right, 0),
            (right, x, half),
            (right, y, 1j * half),
            (left, x, half),
            (left, y, -1j * half),
        ):
            self.assertLess(abs(coefficient(a, b) - expected), 5 / math.sqrt(n))

    def test_sources_are_independent(self):
        n = 100000
        array = make_array([(0, 0, 0)])
        one, _, _ = collect(array, n, sources=[Source("a", azimuth=0, elevation=90, flux=1e6)])
        two, _, _ = collect(array, n, sources=[Source("b", azimuth=0, elevation=90, flux=1e6)])
        self.assertLess(abs(coefficient(one[0], two[0])), 5 / math.sqrt(n))

    # --- sources that move ---

    def check_fringes(self, array, samples, delay, limit):
        """Phase of input 1 against input 0, whose delays differ by `delay` [time] in seconds:
        within `limit` degrees. The fraction of a sample is made by one long transform with the mean
        delay; the delays here change by less than 0.002 samples."""
        n = len(delay)
        rate = array.sample_rate
        self.assertLess(np.ptp(delay) * rate, 0.002)
        self.assertGreater(np.ptp(delay) * array.center_frequency, 5)  # fringes
        spectrum = np.fft.fft(samples[0]) * np.exp(
            -2j * np.pi * np.fft.fftfreq(n) * np.mean(delay) * rate
        )
        expected = np.fft.ifft(spectrum) * np.exp(-2j * np.pi * array.center_frequency * delay)
        inside = slice(1000, n - 1000)  # the transform wraps around
        product = samples[1, inside] * np.conj(expected[inside])
        # 100 samples: the edges of the band, where the transform differs, average out; at a few
        # fringes a second the phase hardly rotates in them
        phases = np.degrees(np.angle(np.add.reduceat(product, np.arange(0, len(product), 100))))
        self.assertLess(np.abs(phases).max(), limit)

    def test_fringes(self):
        """Phase and delay of a moving source follow geometry.py for 20 s, 7 fringes of a 1 km
        baseline."""
        rate, n, start = 10e3, 200000, 1577934245.5
        array = make_array([(0, 0, 0), (1000, 300, 5)], sample_rate=rate)
        ra, dec = geometry.azel_to_radec(150, 40, start, array.latitude, array.longitude)
        source = Source("a", ra=float(ra), dec=float(dec), flux=1e9)
        samples, _, _ = collect(array, n, sources=[source], start_time=start)
        # every 0.1 s: between these a straight line is good to 1e-16 s
        coarse = np.linspace(0, n / rate, 201)
        az, el = geometry.radec_to_azel(
            source.ra, source.dec, start + coarse, array.latitude, array.longitude
        )
        delays = geometry.delays(array.input_positions(), geometry.direction(az, el))
        self.check_fringes(
            array, samples, np.interp(np.arange(n) / rate, coarse, delays[:, 1] - delays[:, 0]), 0.1
        )

    def test_bodies(self):
        """Fringes of the Sun and the Moon for an hour, 187 wavelengths: among the stars these move
        by 0.04 and half a degree, and so rotate their phases by 40 and 500 degrees. An arc second
        is 0.3 degrees; the Moon's parallax bends its way by up to 30 of them."""
        rate, n, start = 100.0, 360000, 1718960400.25  # 2024-06-21T09:00:00Z
        array = make_array([(0, 0, 0), (38, 12, 0)], sample_rate=rate, latitude=-10.0)
        coarse = np.linspace(0, n / rate, 361)
        for body, limit in (("sun", 0.5), ("moon", 12)):
            source = Source("a", body=body, flux=1e9)
            az, el = azimuth_elevation(Direction(body, body=body), start + coarse, array)
            if el.min() < 5:  # a full Moon: seen where the Sun is not
                array.longitude = (array.longitude + 180) % 360
                az, el = azimuth_elevation(Direction(body, body=body), start + coarse, array)
            self.assertGreater(el.min(), 5)
            samples, _, _ = collect(array, n, sources=[source], start_time=start)
            delays = geometry.delays(array.input_positions(), geometry.direction(az, el))
            with self.subTest(body):
                # every 10 s, where a cubic line is good to 1e-15 s
                self.check_fringes(
                    array,
                    samples,
                    CubicSpline(coarse, delays[:, 1] - delays[:, 0])(np.arange(n) / rate),
                    limit,
                )

    def test_satellites_and_transmitters_nearby(self):
        """Delays and phases are the differences of paths, at every sample: of a satellite that
        rises, for 20 s, and of a car that passes the antennas."""
        rate, n = 10e3, 200000
        times = np.arange(n) / rate
        # a satellite: known every second, where a cubic line is good to 1e-6 of a wave
        array = make_array([(0, 0, 0), (300, 90, 5)], sample_rate=rate, latitude=52.1)
        look = Direction("s", tle=ORBITS["station"])
        coarse = np.linspace(0, n / rate, 21)
        towards = geometry.direction(*azimuth_elevation(look, EPOCH + coarse, array))
        away = distance(look, EPOCH + coarse, array)
        paths = np.linalg.norm(
            away[:, None, None] * towards[:, None] - array.input_positions(), axis=-1
        )
        delays = CubicSpline(coarse, (paths[:, 1] - paths[:, 0]) / geometry.SPEED_OF_LIGHT)(times)
        samples, _, _ = collect(
            array, n, sources=[Source("s", tle=look.tle, flux=1e9)], start_time=EPOCH
        )
        self.check_fringes(array, samples, delays, 0.2)
        array = make_array([(-10, 3, 0), (15, -4, 2)], sample_rate=rate)
        velocity = (7.0, -3.0, 0.1)
        source = Source(
            "car", azimuth=300.0, elevation=5.0, distance=80.0, velocity=velocity, flux=1e9
        )
        place = 80.0 * geometry.direction(300.0, 5.0) + np.multiply.outer(times, velocity)
        paths = np.linalg.norm(place[:, None] - array.input_positions(), axis=-1)
        samples, _, _ = collect(array, n, sources=[source])
        self.check_fringes(
            array, samples, (paths[:, 1] - paths[:, 0]) / geometry.SPEED_OF_LIGHT, 0.2
        )

    def test_path_that_stops(self):
        """The velocities of the waypoints do not bound those between: of 120 m in 6 s from rest to
        rest, the phase is followed as it is where they are given."""
        block = aperture.aperture_python.array_source
        rate, n = 10e3, 60000
        array = make_array([(0, 0, 0), (100, 20, 3)], sample_rate=rate, center_frequency=1.4e9)
        ends = np.array([(-60.0, 10.0, 40.0), (60.0, 10.0, 40.0)])
        path = [block.waypoint(6.0 * i, tuple(end), (0, 0, 0)) for i, end in enumerate(ends)]
        source = block(
            [block.input(str(i), position=p) for i, p in enumerate(array.input_positions())],
            [block.source("drone", 0, 90, flux=1e9, path=path)],
            sample_rate=rate,
            center_frequency=array.center_frequency,
            samples=n,
        )
        top = gr.top_block()
        sinks = [blocks.vector_sink_c() for _ in range(2)]
        for port, sink in enumerate(sinks):
            top.connect((source, port), sink)
        top.run()
        part = np.arange(n) / n
        place = ends[0] + np.multiply.outer(part**2 * (3 - 2 * part), ends[1] - ends[0])
        paths = np.linalg.norm(place[:, None] - array.input_positions(), axis=-1)
        delays = (paths[:, 1] - paths[:, 0]) / geometry.SPEED_OF_LIGHT
        product = np.multiply(sinks[1].data(), np.conj(sinks[0].data()))
        product *= np.exp(2j * np.pi * array.center_frequency * delays)
        phases = np.degrees(np.angle(np.add.reduceat(product, np.arange(0, n, 50))))
        # phases are linear in pieces of 2e-4 of a cycle, 0.07 degrees, for each input
        self.assertLess(np.abs(phases).max(), 0.4)

    def test_fast_fringes(self):
        """100 km at a rate of 2 kHz: some 20 fringes a second, their rate changing, and no jump
        where one stretch of the computation ends and the next begins. 0.2 degrees: 0.03 of them are
        the documented linear phase, the rest is how much coherence the edges of the band cost."""
        rate, n, start = 2e3, 60000, 1.7e9
        array = make_array([(0, 0, 0), (1e5, 0, 0)], sample_rate=rate)
        ra, dec = (
            float(angle)
            for angle in geometry.azel_to_radec(110, 30, start, array.latitude, array.longitude)
        )
        samples, _, _ = collect(
            array, n, start_time=start, sources=[Source("a", ra=ra, dec=dec, flux=1e9)]
        )
        sky = geometry.rotate_with_sky(
            geometry.direction(
                *geometry.radec_to_azel(ra, dec, start, array.latitude, array.longitude)
            ),
            array.latitude,
            np.arange(n) / rate,
        )
        delays = geometry.delays(array.input_positions(), sky)
        self.check_fringes(array, samples, delays[:, 1] - delays[:, 0], 0.2)

    def test_fast_delay(self):
        """5000 km at 1 MHz: the delay runs through a sample in 1 s, and is within the documented
        0.0005 samples, phase and all, at every time. The limit is the power of the error of a delay
        that is off by 0 to 0.0005 samples, (2 pi)^2 <f^2> 0.0005^2/3 = 2.6e-7, and room for what
        the model does: constant delays for 200 samples (1e-4 samples)."""
        rate, n, start, seed, block, margin = 1e6, 40000, 1.7e9, 3, 200, 2000
        array = make_array([east_of(62)], sample_rate=rate, center_frequency=1e8)
        ra, dec = (
            float(angle)
            for angle in geometry.azel_to_radec(170, 40, start, array.latitude, array.longitude)
        )
        samples, _, _ = collect(
            array, n, start_time=start, seed=seed, sources=[Source("a", ra=ra, dec=dec, flux=1e12)]
        )
        first = geometry.direction(
            *geometry.radec_to_azel(ra, dec, start, array.latitude, array.longitude)
        )
        delay = geometry.delays(
            array.input_positions(),
            geometry.rotate_with_sky(first, array.latitude, np.arange(n) / rate),
        )[:, 0]
        self.assertGreater(np.ptp(delay) * rate, 0.02)
        whole = 2 * int(np.mean(delay) * rate / 2)
        signal = model_noise(seed, "source a x", -whole - margin, n + 2 * margin)
        frequencies = np.fft.fftfreq(block + 2 * margin)
        expected = np.empty(n, complex)
        for begin in range(0, n, block):
            rest = delay[begin + block // 2] * rate - whole
            spectrum = np.fft.fft(signal[begin : begin + block + 2 * margin])
            expected[begin : begin + block] = np.fft.ifft(
                spectrum * np.exp(-2j * np.pi * frequencies * rest)
            )[margin : margin + block]
        expected *= 1e6 * np.exp(-2j * np.pi * 1e8 * delay)
        # |f| < 0.45: what the model's transforms, 4200 samples long, do near half the rate
        (found, _), (expected, _) = in_band(samples[0], 0.45), in_band(expected, 0.45)
        error = np.sum(np.abs(found - expected) ** 2) / np.sum(np.abs(expected) ** 2)
        self.assertLess(error, 4e-7)

    def test_horizon(self):
        """A source that has not risen is not there; one that has is."""
        array = make_array([(0, 0, 0)])
        for elevation, power in ((-5, 1), (5, 1001)):
            ra, dec = geometry.azel_to_radec(90, elevation, 1.7e9, array.latitude, array.longitude)
            samples, _, _ = collect(
                array,
                20000,
                start_time=1.7e9,
                sources=[Source("a", ra=float(ra), dec=float(dec), flux=1000)],
            )
            self.assertLess(abs(np.mean(np.abs(samples) ** 2) / power - 1), 5 / math.sqrt(20000))

    # --- what must make no difference, and what must ---

    def test_chunks(self):
        """The scheduler's cuts and the way inputs share ports change nothing."""
        array = make_array([(0, 0, 0), (50, 20, 0), (5, 0, 0)], "xy")
        sources = [Source("a", azimuth=10, elevation=20), Source("b", ra=100, dec=80, flux=0.2)]
        whole, _, _ = collect(array, 30011, sources=sources)
        self.assertEqual(whole.shape, (6, 30011))
        for inputs_per_port, max_items in ((1, 777), (2, 4099), (6, 1), (3, None)):
            samples = 3001 if max_items == 1 else 30011
            cut, _, _ = collect(
                array,
                samples,
                sources=sources,
                max_items=max_items,
                inputs_per_port=inputs_per_port,
            )
            np.testing.assert_array_equal(cut, whole[:, :samples])

    def test_restart(self):
        array = make_array([(0, 0, 0), (50, 20, 0)])
        once, first, _ = collect(array, 12345, type="sc8", sources=[ZENITH], noise_rms=60)
        twice, second, sinks = collect(
            array, 12345, type="sc8", sources=[ZENITH], noise_rms=60, runs=2
        )
        np.testing.assert_array_equal(once, twice)
        self.assertEqual(first.clamped(), second.clamped())
        self.assertEqual([tag.offset for tag in sinks[0].tags()], [0, 0, 0])

    def test_seed(self):
        array = make_array([(0, 0, 0)])
        n = 100000
        runs = [
            collect(array, n, seed=seed, sources=[ZENITH])[0][0]
            for seed in (1, 2, 1, 2**64 - 1, 2**32 + 1)
        ]
        np.testing.assert_array_equal(runs[0], runs[2])
        for a, b in ((0, 1), (0, 3), (0, 4), (1, 3), (1, 4), (3, 4)):
            self.assertLess(abs(coefficient(runs[a], runs[b])), 5 / math.sqrt(n))

    def test_order_of_inputs(self):
        """An input keeps its samples, wherever it stands in the description."""
        array = make_array([(0, 0, 0), (50, 20, 0), (5, 0, 0)], "xy")
        sources = [Source("a", azimuth=10, elevation=20)]
        samples, _, _ = collect(array, 9000, sources=sources)
        order = [3, 0, 5, 1, 4, 2]
        array.inputs = [array.inputs[i] for i in order]
        shuffled, _, _ = collect(array, 9000, sources=sources)
        np.testing.assert_array_equal(shuffled, samples[order])

    # --- integers ---

    def test_integer_rms(self):
        """re and im have noise_rms^2 (1 + S), and 1/12 of a step from rounding, each."""
        n = 300000
        array = make_array([(0, 0, 0)])
        source = Source("a", azimuth=0, elevation=90, flux=1)
        for type, given, rms in (
            ("sc8", 0, 20),
            ("sc8", 5, 5),
            ("sc16", 0, 1000),
            ("sc16", 4000, 4000),
            ("fc32", 3, 3),
        ):
            samples, block, _ = collect(array, n, type=type, noise_rms=given, sources=[source])
            rounding = 0 if type == "fc32" else 1 / 12
            for part in (samples.real, samples.imag):
                # 0.25 %: the edges of the source's band
                self.assertLess(
                    abs(np.var(part) / (rms**2 * 2 + rounding) - 1), 0.0025 + 5 * math.sqrt(2 / n)
                )
            if type != "sc8" or rms < 20:  # else the sum reaches 4.5 standard deviations
                self.assertEqual(block.clamped(), [0])

    def test_clamping(self):
        """Integers are the clamped, rounded floats; what was clamped is counted once a complex
        sample, and as often as the normal distribution has it beyond 127.5 steps."""
        n = 100000
        array = make_array([(0, 0, 0), (9, 9, 0)], gains=[1, 1e-3])
        for type, limit in (("sc8", 127), ("sc16", 32767)):
            rms = limit / 2.0
            exact, _, _ = collect(array, n, noise_rms=rms, sources=[ZENITH])
            found, block, _ = collect(array, n, type=type, noise_rms=rms, sources=[ZENITH])
            rounded = np.stack([np.rint(exact.real), np.rint(exact.imag)])
            clipped = np.clip(rounded, -limit, limit)
            np.testing.assert_array_equal(found, clipped[0] + 1j * clipped[1])
            counts = np.count_nonzero(np.abs(rounded).max(axis=0) > limit, axis=1)
            self.assertEqual(block.clamped(), list(counts))
            inside = math.erf((limit + 0.5) / (rms * math.sqrt(2)) / math.sqrt(2))
            expected = 1 - inside**2
            # 0.5 %: the edges of the source's band make tails a little thinner
            self.assertLess(abs(counts[0] / n - expected), 0.005 + 5 * math.sqrt(expected / n))
            self.assertEqual(counts[1], 0)

    # --- the block in a flowgraph ---

    def test_tags(self):
        array = make_array([(0, 0, 0), (1, 0, 0)], sample_rate=2.5e6, center_frequency=408e6)
        for given, expected in (
            (1700000000.25, (1700000000, 0.25)),
            ((1700000000, 0.1), None),
            (None, (1704067200, 0.0)),
        ):
            arguments = {} if given is None else {"start_time": given}
            _, _, sinks = collect(array, 20000, max_items=3000, **arguments)
            for sink in sinks:
                tags = {
                    pmt.symbol_to_string(tag.key): (tag.offset, pmt.to_python(tag.value))
                    for tag in sink.tags()
                }
                self.assertEqual(
                    tags,
                    {
                        "rx_time": (0, expected or given),
                        "rx_freq": (0, 408e6),
                        "rx_rate": (0, 2.5e6),
                    },
                )
                self.assertEqual(len(sink.tags()), 3)

    def test_finish(self):
        """An endless source ends when it is told to, in the middle of a run."""
        source = aperture.array_source("two-dish")
        top = gr.top_block()
        for port in range(2):
            top.connect((source, port), blocks.null_sink(gr.sizeof_gr_complex))
        top.start()
        while source.nitems_written(0) == 0:
            time.sleep(0.001)
        source.finish()
        top.wait()  # the test's time limit is the check

    def test_shipped(self):
        """The sources of the description are used where none are given: every pair of inputs of
        one polarisation sees them at its own delay."""
        array = aperture.load_array("y8")
        self.assertTrue(array.sources)
        flux = sum(source.flux for source in array.sources)
        samples, _, _ = collect(array, 100000)
        power = np.mean(np.abs(samples) ** 2, axis=1)
        np.testing.assert_allclose(power, 1 + flux, rtol=0.005 + 5 / math.sqrt(100000))

    def test_errors(self):
        array = make_array([(0, 0, 0), (1, 0, 0), (2, 0, 0)])
        for arguments, message in (
            ({"type": "sc4"}, "type: 'sc4' is not allowed.*fc32, sc16, sc8"),
            ({"samples": -1}, "samples: -1 is not allowed"),
            ({"inputs_per_port": 2}, "inputs_per_port: 2 is not allowed.*inputs, 3"),
            ({"inputs_per_port": 0}, "inputs_per_port: 0 is not allowed.*from 1 to 65536"),
            ({"noise_rms": -1}, "noise_rms: -1 is not allowed"),
            ({"noise_rms": math.nan}, "noise_rms: nan is not allowed"),
            ({"inputs": 2}, "inputs: 2 is not allowed; it must be 3"),
            ({"sources": ["Sun"]}, r"sources\[0\]: 'Sun' is not allowed"),
            ({"sources": [ZENITH, ZENITH]}, r"sources\[1\].name: 'zenith' is not allowed"),
            ({"start_time": math.nan}, "start_time: nan is not allowed"),
            ({"start_time": math.inf}, "start_time: inf is not allowed"),
            ({"start_time": 2.0**60}, "start_time: .* before the year 10000"),
            ({"start_time": (2**60, 0.0)}, "start_time: .* before the year 10000"),
            ({"start_time": "now"}, "start_time: 'now' is not allowed"),
            ({"start_time": -5}, "start_time: -5 is not allowed"),
            ({"start_time": (5, 1.5)}, r"start_time: \(5, 1.5\) is not allowed"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, message):
                aperture.array_source(array, **arguments)
        for sources in (1, "a", Source("a", azimuth=1, elevation=1)):
            with self.assertRaisesRegex(
                ValueError, "sources: .* is not allowed; .* list of Source"
            ):
                aperture.array_source(array, sources=sources)
        with self.assertRaisesRegex(FileNotFoundError, "array: 'y9'.*y8"):
            aperture.array_source("y9")
        wide = make_array([(0, 0, 0), east_of(80, 0)], latitude=0, sample_rate=2e9)
        with self.assertRaisesRegex(ValueError, "sample_rate: delays from .* samples.*within"):
            aperture.array_source(wide, sources=[Source("a", azimuth=90, elevation=0)])

    def test_block_errors(self):
        """The C++ block checks what does not come from a description."""
        block = aperture.aperture_python.array_source
        for inputs, sources, message in (
            ([], [], "inputs: none is not allowed"),
            ([block.input("a", polarization="v")], [], r"inputs\[0\].polarization: 'v'"),
            ([block.input("a", polarization="xy")], [], r"inputs\[0\].polarization: 'xy'"),
            ([block.input("a"), block.input("a")], [], r"inputs\[1\].name: 'a'"),
            ([block.input("a", position=(0, math.nan, 0))], [], r"inputs\[0\].position: nan"),
            ([block.input("a", gain=math.inf)], [], r"inputs\[0\].gain: inf"),
            ([block.input("a", cable_delay=2)], [], r"inputs\[0\].cable_delay: 2 "),
            ([block.input("a")], [block.source("s", elevation=91)], r"sources\[0\].elevation"),
            ([block.input("a")], [block.source("s", azimuth=math.nan)], r"sources\[0\].azimu"),
            ([block.input("a")], [block.source("s", flux=-1)], r"sources\[0\].flux: -1 "),
            (
                [block.input("a")],
                [block.source("s", moving=True, drift=(0, 0.1, 0))],
                r"sources\[0\].drift: 0.1 .*up to 1e-3",
            ),
            (
                [block.input("a")],
                [block.source("s", drift=(0, 1e-6, 0))],
                r"sources\[0\].drift: 1e-06 .*stands still",
            ),
            (
                [block.input("a")],
                [block.source("s", moving=True, drift=(0, math.nan, 0))],
                r"sources\[0\].drift: nan ",
            ),
            ([block.input(str(i)) for i in range(1025)], [], "ports .*1025 is not allowed"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                block(inputs, sources)
        with self.assertRaisesRegex(ValueError, "sample_rate: 0 is not allowed"):
            block([block.input("a")], [], sample_rate=0)


if __name__ == "__main__":
    gr_unittest.run(qa_array_source)
