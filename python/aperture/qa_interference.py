#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Interference from the simulator to the visibilities: transmitters, flags, counts."""

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import Source
from gnuradio.aperture.testing import flagging_theory as theory
from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.arrays import make_array

RATE, CENTER = 1e6, 1.4e9


def two_antennas():
    return make_array(
        {"A": (0, 0, 0), "B": (30, 0, 0)}, rate=RATE, center=CENTER, site=(40, 10, 0), name="pair"
    )


def samples_of(samples, **more):
    """complex [input][time]"""
    top = gr.top_block()
    source = aperture.array_source(two_antennas(), sources=[], samples=samples, **more)
    sinks = [blocks.vector_sink_c(), blocks.vector_sink_c()]
    for port, sink in enumerate(sinks):
        top.connect((source, port), sink)
    top.run()
    return np.array([sink.data() for sink in sinks])


class qa_interference(gr_unittest.TestCase):
    def check(self, transmitter, on, frequency, samples=50000):
        """
        Returns what a transmitter adds: on [time], and Hz from the centre at each sample.
        """
        power = np.broadcast_to(transmitter.get("power", 1), 2)
        added = samples_of(samples, interference=[transmitter]) - samples_of(samples)
        for number in range(2):
            voltages = added[number]
            # single precision of the noise beside it
            np.testing.assert_allclose(
                abs(voltages), np.sqrt(power[number]) * on, rtol=0, atol=1e-5
            )
            both = on[1:] & on[:-1] & (abs(np.diff(frequency)) < 1e5)
            cycles = np.angle(voltages[1:] * voltages[:-1].conj())[both] / (2 * np.pi)
            expected = ((frequency[1:] + frequency[:-1]) / 2 / RATE)[both]
            error = cycles - expected
            self.assertLess(abs(error - np.rint(error)).max(), 2e-5)

    def test_transmitters(self):
        time = np.arange(50000) / RATE
        always = np.ones(50000, dtype=bool)
        self.check(dict(frequency=CENTER + 123.4e3), always, np.full(50000, 123.4e3))
        self.check(
            dict(
                frequency=CENTER - 4e5, power=[2, 0.5], start=0.01, end=0.03, period=7e-4, duty=0.25
            ),
            (time >= 0.01 - 1e-12)
            & (time < 0.03 - 1e-12)
            & ((np.arange(50000) - 10000) % 700 < 175),
            np.full(50000, -4e5),
        )
        # the signal leaves the band, where it is not heard
        drifting = 3e5 + 1e7 * time
        self.check(dict(frequency=CENTER + 3e5, drift=1e7), abs(drifting) < RATE / 2, drifting)
        sweeping = 1e5 - (np.arange(50000) % 20000) / RATE * 1e7
        self.check(dict(frequency=CENTER + 1e5, drift=-1e7, sweep=2e5), always, sweeping)

    def test_errors(self):
        for wrong, message in (
            (dict(frequency=1e9, duty=2), "interference[0].duty: 2 is not allowed"),
            (dict(frequency=1e9, power=[1, 2, 3]), "interference[0].power: 3 numbers is not"),
            (dict(frequency=1e9, period=1e-9), "interference[0].period: 1e-09 is not allowed"),
            (dict(frequency=1e9, colour=3), "is not allowed; it may have name, frequency"),
            (dict(power=1), "it must be a dictionary with frequency"),
        ):
            with self.assertRaises(ValueError) as caught:
                aperture.array_source(two_antennas(), interference=[wrong])
            self.assertIn(message, str(caught.exception))

    def test_theory(self):
        """The distribution of SK under interference that docs/interference.md states."""
        rng = np.random.default_rng(3)
        for ratio, duty in ((1.0, 1.0), (2.0, 0.1)):
            pairs = rng.standard_normal((500, 2000, 2)) * np.sqrt(0.5)
            x = pairs[..., 0] + 1j * pairs[..., 1]
            x += np.sqrt(ratio) * (np.arange(2000) < duty * 2000)
            p = abs(x) ** 2
            values = 2001 / 1999 * (2000 * (p**2).sum(1) / p.sum(1) ** 2 - 1)
            mean, deviation = theory.kurtosis_distribution(2000, ratio, duty)
            self.assertLess(abs(values.mean() - mean), 5 * deviation / np.sqrt(500) + 1e-3)
            self.assertLess(abs(values.std() / deviation - 1), 5 / np.sqrt(1000))
        # the limit: at 0.13 % false alarms in 2000 spectra
        self.assertGreater(theory.kurtosis_detection(2000, 0.0013, 1), 0.99)
        self.assertGreater(theory.kurtosis_detection(2000, 0.0013, 2, 0.1, noise=True), 0.99)
        self.assertGreater(theory.power_detection(2000, 3.2, 2, 0.1), 0.99)

    def test_pulse(self):
        """A pulse with a duty of 10 % and +3 dB: a carrier by its power, noise by its kurtosis."""
        rng = np.random.default_rng(4)
        frames, cells, spectra = 12, 200, 2000
        noise = rng.standard_normal((frames, cells, 1, spectra, 2), np.float32) * np.sqrt(0.5)
        clean = (noise[..., 0] + 1j * noise[..., 1]).astype(np.complex64)
        for pulse, method in (
            ("carrier", dict(kurtosis_false_alarms=0, time_sigma=3.2)),
            ("noise", dict(kurtosis_false_alarms=0.0013)),
        ):
            voltages = clean.copy()
            if pulse == "carrier":
                voltages[-1, ..., :200] += np.sqrt(2) * np.exp(0.7j * np.arange(200))
            else:
                voltages[-1, ..., :200] *= np.sqrt(3)
            block = aperture.flagger(
                channels=cells, inputs=1, spectra_per_frame=spectra, device="cpu", **method
            )
            (_, masks), _ = qa_tools.run(
                block, [reference.samples_to_bytes(voltages, "fc32")], [voltages[0].nbytes, cells]
            )
            flags = masks.reshape(frames, cells) & 1
            self.assertGreaterEqual(flags[-1].mean(), 0.99, pulse)
            # five standard deviations above 0.13 %
            self.assertLess(flags[:-1].mean(), 0.0013 + 5 * np.sqrt(0.0013 / flags[:-1].size))

    def visibilities(self, interference, flagged):
        """Sum [channel] of the visibilities of the pair, and how many spectra they have."""
        channels, spectra = 32, 1 << 16
        array = two_antennas()
        array.sources = [Source("weak", azimuth=0, elevation=90, flux=0.1)]
        source = aperture.array_source(
            array, samples=channels * (spectra + 7), interference=interference
        )
        methods = dict(
            spectra_per_slice=256,
            kurtosis_false_alarms=0.003,
            time_sum_sigma=6.0,
            channel_sum_sigma=6.0,
            grown_slices=1,
            grown_channels=1,
        )
        engine = aperture.f_engine(
            channels=channels,
            inputs=2,
            spectra_per_frame=4096,
            device="cpu",
            **(methods if flagged else {}),
        )
        correlator = aperture.xengine(
            channels=channels,
            inputs=2,
            spectra_per_frame=4096,
            type="fc32",
            integration=16,
            normalise=False,
            device="cpu",
            spectra_per_slice=256 if flagged else 0,
        )
        top = gr.top_block()
        for port in range(2):
            top.connect((source, port), (engine, port))
        sink = blocks.vector_sink_c(channels * 3)
        top.connect(engine, correlator, sink)
        if flagged:
            counts = blocks.vector_sink_i(channels * 3)
            top.connect((engine, 1), (correlator, 1))
            top.connect((correlator, 1), counts)
        top.run()
        sums = np.array(sink.data()).reshape(channels, 3)[:, 1]
        if not flagged:
            return sums, np.full(channels, spectra)
        self.assertLess(0.01, sum(engine.flagged_of_inputs()) / sum(engine.cells()))
        return sums, np.array(counts.data()).reshape(channels, 3)[:, 1]

    def test_visibilities(self):
        """A weak source's visibility under interference is that of a clean run within 1 %."""
        interference = [
            dict(frequency=CENTER + 2.1e5, power=0.1),
            dict(frequency=CENTER - 3.3e5, power=2.0, period=0.11, duty=0.1),
            dict(frequency=CENTER - 1e5, power=0.3, drift=2e5, sweep=2e5, start=0.2),
        ]
        clean, spectra = self.visibilities([], False)
        expected = clean.sum() / spectra.sum()
        self.assertLess(abs(expected / 0.1 - 1), 0.05)
        spoilt, spectra = self.visibilities(interference, False)
        self.assertGreater(abs(spoilt.sum() / spectra.sum() / expected - 1), 0.1)
        flagged, spectra = self.visibilities(interference, True)
        self.assertLess(abs(flagged.sum() / spectra.sum() / expected - 1), 0.01)
        self.assertGreater(spectra.sum(), 0.5 * 32 * (1 << 16))


if __name__ == "__main__":
    gr_unittest.run(qa_interference)
