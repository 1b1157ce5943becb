#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pulses of array_source's sources. Tolerances of statistical tests are 5 standard deviations; with
the seeds given they either hold always or never."""

import math
import os
import tempfile

import numpy as np
from gnuradio import aperture, blocks, gr_unittest
from scipy.stats import exponnorm

from gnuradio.aperture import Antenna, Input, Pulsar, Pulse, Source
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.testing import arrays
from gnuradio.aperture.testing.qa_tools import run_chain
from gnuradio.aperture.testing.simulator_noise import model_noise

K = 1e4 / 2.41  # s MHz^2 cm^3 / pc
RATE, CENTER = 1e6, 400e6
START = (1704067200, 0.75)
DELAY = 12.3e-6


def make_array(inputs=1):
    """One antenna, or two of which the second has a longer cable."""
    return arrays.make_array(
        [Antenna("A", (0, 0, 0)), Antenna("B", (0, 0, 0))][:inputs],
        inputs=[Input("A", "x"), Input("B", "x", 1, DELAY)][:inputs],
        rate=RATE,
        center=CENTER,
        site=(44, 11, 0),
    )


def collect(sources, samples, inputs=1, max_items=None, start_time=START):
    """Samples [input][time], float64."""
    feed = aperture.array_source(
        make_array(inputs),
        sources,
        samples=samples,
        seed=3,
        inputs_per_port=inputs,
        start_time=start_time,
    )
    sink = blocks.vector_sink_c(inputs)
    if max_items:
        feed.set_max_noutput_items(max_items)
    run_chain(feed, sink)
    return np.array(sink.data(), complex).reshape(-1, inputs).T


def sky_frequencies(count):
    return CENTER + np.fft.fftfreq(count, 1 / RATE)


def chirp(dm, frequencies, sign):
    """The medium's filter (sign 1), or the one that undoes it, for infinite frequency."""
    cycles = K * 1e12 * dm / frequencies
    return np.exp(2j * np.pi * sign * (cycles % 1))


def in_band(spectrum, frequencies):
    return np.where(np.abs(frequencies - CENTER) < 0.49 * RATE, spectrum, 0)


def burst(**changes):
    arguments = dict(
        azimuth=0, elevation=90, dm=3.0, pulses=[Pulse((START[0], 0.85), width=2e-3, peak_flux=1e6)]
    )
    return Source("burst", **{**arguments, **changes})


class qa_simulated_pulses(gr_unittest.TestCase):
    def test_model(self):
        """A dispersed burst and a pulsar against the formulas, in float64: the noise that is
        numbered by the sample of the highest frequency, its amplitude, and the filter. 2e-8 of the
        power: amplitudes are right within 1e-4 of the peak, the band within 1e-4."""
        samples, dm = 100000, 3.0
        width, period, mean = 2e-3, 0.0331, 3e4
        pulsar = Pulsar(
            period,
            1.5e-3,
            mean,
            epoch=(START[0] - 86400 * 365, 0.125),
            phase=0.3,
            period_derivative=4.2e-13,
        )
        source = Source(
            "s",
            azimuth=0,
            elevation=90,
            dm=dm,
            pulsars=[pulsar],
            flux=10,
            pulses=[Pulse((START[0], 0.72), width=width, fluence=50.0)],
        )
        count, before = 1 << 18, 1 << 16
        late = K * dm / ((CENTER + RATE / 2) * 1e-6) ** 2
        times = (np.arange(count, dtype=np.longdouble) - before) / RATE - late
        dt = times + 86400 * 365 + np.longdouble(0.625)
        cycles = (
            np.longdouble(0.3)
            + dt / np.longdouble(period)
            - np.longdouble(4.2e-13) * dt**2 / (2 * np.longdouble(period) ** 2)
        )
        # the period has grown by 4e-4 of itself
        offset = ((cycles - np.round(cycles)) * (period + 4.2e-13 * dt)).astype(float)

        def gaussian(t, fwhm):
            sigma = fwhm / math.sqrt(8 * math.log(2))
            return np.exp(-(t**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))

        flux = (
            10
            + mean * period * gaussian(offset, 1.5e-3)
            + 50 * gaussian((times + np.longdouble(0.03)).astype(float), width)
        )
        noise = model_noise(3, "source s x", -before, count)
        frequencies = sky_frequencies(count)
        # relative to the delay of the highest frequency, which is in `times`
        cycles = K * dm * 1e12 / frequencies + late * (frequencies - CENTER)
        response = np.exp(2j * np.pi * ((cycles - K * dm * 1e12 / (CENTER + RATE / 2)) % 1))
        response *= np.exp(-2j * np.pi * (late * RATE / 2 % 1))
        expected = np.fft.ifft(np.fft.fft(np.sqrt(flux) * noise) * response)
        expected = expected[before : before + samples] + model_noise(3, "input Ax", 0, samples)
        found = collect([source], samples)[0]
        window = np.blackman(samples)
        f = CENTER + np.fft.fftfreq(samples, 1 / RATE)
        spectra = [in_band(np.fft.fft(series * window), f) for series in (found, expected)]
        error = np.sum(np.abs(spectra[0] - spectra[1]) ** 2) / np.sum(np.abs(spectra[1]) ** 2)
        self.assertLess(error, 2e-8)

    def test_dedispersion(self):
        """Coherently dedispersed, a burst is at its time with its width and fluence; of two inputs
        the second hears it later."""
        samples = 200000
        a, b = collect([burst()], samples, inputs=2)
        frequencies = sky_frequencies(samples)
        spectra = [
            in_band(np.fft.fft(series), frequencies) * chirp(3.0, frequencies, -1)
            for series in (a, b)
        ]
        power = np.abs(np.fft.ifft(spectra[0])) ** 2
        times = np.arange(samples) / RATE
        sigma, fluence = 2e-3 / math.sqrt(8 * math.log(2)), 1e6 * 2e-3 / 0.93943728
        near = np.abs(times - 0.1) < 8 * sigma
        # accuracy of a sum of so many independent powers
        independent = 2 * math.sqrt(math.pi) * sigma * RATE * 0.98
        energy = np.sum(power[near])
        self.assertLess(abs(energy / RATE / fluence / 0.98 - 1), 5 / math.sqrt(independent))
        centroid = np.sum(power[near] * times[near]) / energy
        self.assertLess(abs(centroid - 0.1), 5 * sigma / math.sqrt(2 * independent))
        spread = math.sqrt(np.sum(power[near] * (times[near] - centroid) ** 2) / energy)
        self.assertLess(abs(spread / sigma - 1), 5 * math.sqrt(3 / 8 / independent))
        self.assertGreater(energy / np.sum(power), 0.999)  # all of it is there
        cross = spectra[1] * np.conj(spectra[0])
        cycles = cross * np.exp(2j * np.pi * DELAY * frequencies)
        self.assertGreater(np.abs(np.sum(cycles)) / np.sum(np.abs(cross)), 0.999)
        self.assertLess(abs(np.angle(np.sum(cycles))), 1e-3)

    def test_incoherent(self):
        """The power of each of 16 channels comes K DM / f^2 after the time at infinite
        frequency."""
        samples, channels = 200000, 16
        series = collect([burst()], samples)[0]
        spectra = np.fft.fftshift(np.fft.fft(series.reshape(-1, channels), axis=1), axes=1)
        times = (np.arange(len(spectra)) * channels + (channels - 1) / 2) / RATE
        sigma = 2e-3 / math.sqrt(8 * math.log(2))
        independent = 2 * math.sqrt(math.pi) * sigma * RATE / channels
        for channel in range(1, channels):
            frequency = CENTER + (channel - channels / 2) * RATE / channels
            power = np.abs(spectra[:, channel]) ** 2
            arrival = 0.1 + K * 3 / (frequency * 1e-6) ** 2
            near = np.abs(times - arrival) < 8 * sigma
            centroid = np.sum(power[near] * times[near]) / np.sum(power[near])
            self.assertLess(abs(centroid - arrival), 5 * sigma / math.sqrt(2 * independent))

    def test_scattering(self):
        """The power of a scattered burst is a Gaussian convolved with an exponential whose length
        goes with a power of the frequency: SciPy's density of both added, at both ends of the
        band. The exponent is a large one, for it to matter within a narrow band."""
        samples, width, tau, index = 120000, 1e-3, 4e-3, -300
        with self.assertRaisesRegex(ValueError, "scattering_index: -300 is not allowed"):
            Source("x", azimuth=0, elevation=90, scattering_index=index)
        index = -20
        pulse = Pulse(0.03, width=width, fluence=1e4)
        source = Source(
            "s",
            azimuth=0,
            elevation=90,
            dm=1.0,
            pulses=[pulse],
            scattering_time=tau,
            scattering_frequency=1.01 * CENTER,
            scattering_index=index,
        )
        series = collect([source], samples)[0]
        frequencies = sky_frequencies(samples)
        spectrum = np.fft.fft(series) * chirp(1.0, frequencies, -1)
        sigma = width / math.sqrt(8 * math.log(2))
        times = np.arange(samples) / RATE
        for low, high in ((-0.49, -0.3), (0.3, 0.49)):
            f = (frequencies - CENTER) / RATE
            power = np.abs(np.fft.ifft(np.where((low < f) & (f < high), spectrum, 0))) ** 2
            here = tau * ((1 + (low + high) / 2 * RATE / CENTER) / 1.01) ** index
            cells = 60
            bins = np.linspace(0.027, 0.06, cells + 1)
            place = np.digitize(times, bins) - 1
            found = np.array([power[place == cell].sum() for cell in range(cells)]) / RATE
            shape = exponnorm(here / sigma, 0.03, sigma)
            expected = 1e4 * (high - low) * np.diff(shape.cdf(bins))
            cell = bins[1] - bins[0]
            deviation = expected / math.sqrt(cell * RATE * (high - low))
            chosen = expected > 0.002 * expected.max()
            np.testing.assert_array_less(
                np.abs(found - expected)[chosen], (5 * deviation + 0.01 * expected.max())[chosen]
            )
            # mean delay: that of the exponential
            centroid = np.sum(found * (bins[1:] + bins[:-1]) / 2) / np.sum(found) - 0.03
            clipped = shape.expect(lambda t: t - 0.03, lb=bins[0], ub=bins[-1], conditional=True)
            self.assertLess(abs(centroid / clipped - 1), 0.06)

    def test_shape(self):
        """Scattering of the shortest and of the longest kind, without dispersion: the envelope's
        closed form keeps within the range of numbers."""
        for tau in (1e-9, 1e-6, 1e-2):
            source = Source(
                "s",
                azimuth=0,
                elevation=90,
                pulses=[Pulse(0.05, 1e-3, fluence=1e5)],
                scattering_time=tau,
            )
            series = collect([source], 100000)[0]
            power = np.abs(series) ** 2
            self.assertTrue(np.all(np.isfinite(power)))
            self.assertLess(abs(np.sum(power) / RATE / 1e5 / 0.995 - 1), 0.15)

    def test_cuts(self):
        """Samples do not depend on how the scheduler takes them, and a second run begins anew."""
        sources = [burst(scattering_time=1e-3)]
        whole = collect(sources, 200000)
        np.testing.assert_array_equal(collect(sources, 200000, max_items=9973), whole)

    def test_moving(self):
        """A pulsar that moves with the sky: the delay of its pulses between two antennas follows
        it."""
        array = arrays.make_array(
            {"A": (0, 0, 0), "B": (3000.0, 0, 0)}, rate=RATE, center=CENTER, site=(44, 11, 0)
        )
        ra, dec = geometry.azel_to_radec(90.0, 40.0, START[0] + START[1], 44, 11, 0)
        source = Source(
            "p", ra=float(ra), dec=float(dec), dm=3.0, pulsars=[Pulsar(0.05, 5e-3, peak_flux=1e6)]
        )
        feed = aperture.array_source(
            array, [source], samples=200000, start_time=START, inputs_per_port=2
        )
        sink = blocks.vector_sink_c(2)
        run_chain(feed, sink)
        a, b = np.array(sink.data(), complex).reshape(-1, 2).T
        frequencies = sky_frequencies(len(a))
        cross = in_band(np.fft.fft(b) * np.conj(np.fft.fft(a)), frequencies)
        cross, frequencies = cross[::97], frequencies[::97]  # enough of it
        delays = np.arange(-12e-6, 12e-6, 1e-8)
        lags = [
            abs(np.sum(cross * np.exp(2j * np.pi * (frequencies - CENTER) * delay)))
            for delay in delays
        ]
        expected = -3000 * math.cos(math.radians(40)) / geometry.SPEED_OF_LIGHT
        self.assertLess(abs(delays[np.argmax(lags)] - expected), 3e-8)

    def test_description(self):
        """Pulses in YAML come back from a file that is saved."""
        text = """
name: a
latitude: 44
longitude: 11
height: 0
sample_rate: 1e6
center_frequency: 4e8
antennas: [{name: A, position: [0, 0, 0]}]
sources:
  - {name: p, ra: 53, dec: 54, dm: 26.76, scattering_time: 1e-4,
     pulsars: [{period: 0.7145, width: 6e-3, mean_flux: 0.1, epoch: [1704067200, 0.25]}]}
  - name: b
    azimuth: 0
    elevation: 80
    flux: 0.5
    pulses:
      - {time: 2.5, width: 2e-3, peak_flux: 10}
      - {time: 3.5, width: 2e-3, fluence: WIDE}
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.yml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("WIDE", "0.5"))
            array = aperture.load_array(path)
            self.assertEqual([source.flux for source in array.sources], [0, 0.5])
            self.assertEqual(array.sources[0].pulsars[0].epoch, (1704067200, 0.25))
            self.assertEqual(array.sources[1].pulses[0].time, (2, 0.5))
            aperture.save_array(array, path)
            self.assertEqual(aperture.load_array(path), array)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("WIDE", "-1"))
            with self.assertRaisesRegex(
                ValueError,
                r"a.yml:18: sources\[1\].pulses\[1\].fluence: "
                "'?-1.0'? is not allowed",
            ):
                aperture.load_array(path)

    def test_bad_parameters(self):
        """One error, which names the parameter, its value and what is allowed."""
        good = dict(azimuth=0, elevation=90)
        for rule, make in (
            ("width: 0 is not", lambda: Pulsar(1, 0, 1)),
            ("period: nan is not", lambda: Pulsar(math.nan, 1e-3, 1)),
            ("one of mean_flux and peak_flux", lambda: Pulsar(1, 1e-3)),
            ("one of fluence and peak_flux", lambda: Pulse(1, 1e-3, 1, 1)),
            ("time: -1 is not", lambda: Pulse(-1, 1e-3, 1)),
            ("time: .1.5, 0. is not", lambda: Pulse((1.5, 0), 1e-3, 1)),
            ("dm: -1 is not", lambda: Source("s", dm=-1, **good)),
            (r"pulses\[0\]: 1 is not", lambda: Source("s", pulses=[1], **good)),
        ):
            with self.assertRaisesRegex(ValueError, rule):
                make()
        for rule, changes in (
            (
                r"sources\[0\].pulses\[0\].width: 1e-06 is not allowed.*two samples",
                dict(pulses=[Pulse(1, 1e-6, 1)]),
            ),
            (
                r"sources\[0\].dm: 1e\+06 .*2\^24|sources\[0\].dm: 1000000 .a delay of",
                dict(pulses=[Pulse(1, 1e-3, 1)], dm=1e6),
            ),
            (
                r"sources\[0\].pulsars\[0\].period: 0.0001 is not allowed.*1000 pulses",
                dict(pulsars=[Pulsar(1e-4, 1e-5, 1)], scattering_time=1.0),
            ),
            (
                r"sources\[0\].pulsars\[0\].period_derivative: -0.001 is not allowed",
                dict(pulsars=[Pulsar(1, 1e-2, 1, period_derivative=-1e-3, epoch=1.0e9)]),
            ),
        ):
            with self.assertRaisesRegex(ValueError, rule):
                aperture.array_source(make_array(), [Source("s", **{**good, **changes})])
        low = make_array()
        low.center_frequency = RATE / 4
        with self.assertRaisesRegex(ValueError, "center_frequency: 250000 Hz is not allowed"):
            aperture.array_source(low, [burst()])


if __name__ == "__main__":
    gr_unittest.run(qa_simulated_pulses)
