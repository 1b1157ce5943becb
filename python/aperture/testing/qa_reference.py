#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The reference model against closed forms and against sums written out."""

import numpy as np
from gnuradio import gr_unittest
from scipy import signal

from gnuradio.aperture.testing import reference

# Everything here is float64: what is left are rounding errors of sums of up to 1e4 terms.
EXACT = 1e-11


class qa_reference(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(20160228)

    def complex_noise(self, *shape):
        return (self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape)) / np.sqrt(2)

    def close(self, actual, expected, tolerance=EXACT):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)

    # ---- samples

    def test_bytes(self):
        """Bytes of each type written by hand, and back."""
        cases = {
            "sc8": ([[[1, -2]], [[-128, 127]]], "01fe807f"),
            "sc4": ([[[1, -2]], [[-8, 7]]], "1e87"),
            "s12": ([[0x123], [-2]], "123ffe"),
            "s10": ([[1], [-1], [-512], [256]], "007ff80100"),
            "s8": ([[1], [-2]], "01fe"),
            "sc16": ([[[1, -2]]], "0100feff"),
            "s16": ([[256]], "0001"),
            "f32": ([[1.0]], "0000803f"),
            "fc32": ([[1 - 2j]], "0000803f000000c0"),
        }
        for name, (samples, written) in cases.items():
            data = reference.samples_to_bytes(samples, name)
            self.assertEqual(data.tobytes().hex(), written)
            items = len(samples) // reference.samples_in_item(name)
            self.assertEqual(len(data), items)
            back = reference.samples_from_bytes(data, name)
            np.testing.assert_array_equal(back, samples)
        # two inputs in an item: sample by sample
        data = reference.samples_to_bytes([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "sc8")
        self.assertEqual(data.tolist(), [[1, 2, 3, 4], [5, 6, 7, 8]])
        self.assertEqual(reference.samples_from_bytes(data, "sc8", 2)[1, 0].tolist(), [5, 6])

    def test_decode(self):
        values, clamped = reference.decode([[-128, -128], [5, -128], [-127, 127]], "sc8")
        self.assertEqual(values.tolist(), [-127 - 127j, 5 - 127j, -127 + 127j])
        self.assertEqual(clamped.tolist(), [True, True, False])
        values, clamped = reference.decode([[-8, 7], [-7, 3], [1, -8]], "sc4")
        self.assertEqual(values.tolist(), [-7 + 7j, -7 + 3j, 1 - 7j])
        self.assertEqual(clamped.tolist(), [True, False, True])
        values, clamped = reference.decode([-128, 3], "s8")
        self.assertEqual(values.tolist(), [-127, 3])
        self.assertEqual(clamped.tolist(), [True, False])
        values, clamped = reference.decode([[-128, -32768]], "sc16")
        self.assertEqual(values.tolist(), [-128 - 32768j])
        self.assertFalse(clamped.any())
        values, clamped = reference.decode([1 - 2j], "fc32")
        self.assertEqual(values.tolist(), [1 - 2j])
        self.assertFalse(clamped.any())

    def test_quantise(self):
        """Half to even, +-127, one count for a complex sample."""
        cases = [
            (0.5 + 1.5j, [0, 2], False),
            (-0.5 - 1.5j, [0, -2], False),
            (2.5 - 2.5j, [2, -2], False),
            (127.4 - 127.4j, [127, -127], False),
            (127.5 + 0j, [127, 0], True),
            (-128 + 300j, [-127, 127], True),
            (3 - 1e9j, [3, -127], True),
        ]
        steps, clamped = reference.quantise(np.array([case[0] for case in cases]))
        self.assertEqual(steps.dtype, np.int8)
        self.assertEqual(steps.tolist(), [case[1] for case in cases])
        self.assertEqual(clamped.tolist(), [case[2] for case in cases])

    # ---- prototype

    def test_windows(self):
        """The symmetric windows of scipy.signal."""
        for length in (2, 7, 64, 1001):
            for name, equal in [
                ("hann", "hann"),
                ("hamming", "hamming"),
                ("blackman", "blackman"),
                ("rect", "boxcar"),
                ("kaiser(0)", ("kaiser", 0)),
                ("kaiser(8.6)", ("kaiser", 8.6)),
            ]:
                expected = signal.get_window(equal, length, fftbins=False)
                self.close(reference.window(name, length), expected)
        with self.assertRaisesRegex(ValueError, "window: 'sine'.*hann"):
            reference.window("sine", 8)

    def test_prototype(self):
        for hop, taps in [(4, 1), (6, 3), (64, 8), (1000, 2)]:
            h = reference.prototype(hop, taps, "hamming")
            self.assertEqual(len(h), hop * taps)
            self.assertAlmostEqual(np.sum(h**2), 1, delta=EXACT)
            self.close(h, h[::-1])
            # the ratio of two taps, of which the sum of squares says nothing
            j = np.array([0, (hop * taps) // 3])
            t = (j - (hop * taps - 1) / 2) / hop
            shape = np.sin(np.pi * t) / (np.pi * t)
            shape *= signal.get_window("hamming", hop * taps, fftbins=False)[j]
            self.assertAlmostEqual(h[j[0]] / h[j[1]], shape[0] / shape[1], delta=1e-10)

    def test_prototype_is_low_pass(self):
        """Half the power at the edge of a channel, nothing in the next but one."""
        h = reference.prototype(64, 8)
        gain = np.abs(reference.response(h, np.array([0, 0.5, 1.5]) / 64)) ** 2 / 64
        # the edge of a sinc filter is at half the amplitude
        self.assertAlmostEqual(gain[1] / gain[0], 0.25, delta=0.01)
        self.assertLess(gain[2] / gain[0], 10**-5.3)

    # ---- channeliser

    def test_pfb_written_out(self):
        """Each number by its sum over all samples under the prototype."""
        for n, taps, count in [(4, 1, 3), (6, 3, 4), (10, 2, 2)]:
            h = self.rng.standard_normal(taps * n)  # no symmetry that hides an order
            x = self.complex_noise(2, (count + taps - 1) * n + n - 1)
            y = reference.pfb(x, n, h)
            self.assertEqual(y.shape, (2, count, n))
            for i, m, k in np.ndindex(*y.shape):
                expected = sum(
                    h[j] * x[i, m * n + j] * np.exp(-2j * np.pi * (k - n / 2) * j / n)
                    for j in range(taps * n)
                )
                self.assertAlmostEqual(y[i, m, k], expected, delta=EXACT)

    def test_pfb_of_real_samples_written_out(self):
        for n, taps, count in [(4, 1, 3), (6, 3, 4)]:
            h = self.rng.standard_normal(taps * 2 * n)
            x = self.rng.standard_normal((2, (count + taps - 1) * 2 * n + 1))
            y = reference.pfb(x, n, h)
            reverse = reference.pfb(x, n, h, inverted=True)
            self.assertEqual(y.shape, (2, count, n))
            for i, m, k in np.ndindex(*y.shape):
                expected = sum(
                    h[j] * x[i, 2 * n * m + j] * np.exp(-2j * np.pi * k * j / (2 * n))
                    for j in range(taps * 2 * n)
                )
                self.assertAlmostEqual(y[i, m, k], expected, delta=EXACT)
                self.assertAlmostEqual(reverse[i, m, n - 1 - k], expected.conjugate(), delta=EXACT)

    def test_tone(self):
        """A tone of f cycles a sample: exp(2 pi i f m n) H(f - (k - n/2)/n)."""
        n, taps = 16, 8
        h = reference.prototype(n, taps)
        k = np.arange(n)
        for f in (0, 0.0312, -0.3, 0.499):
            x = np.exp(2j * np.pi * f * np.arange(12 * n))
            y = reference.pfb(x, n, h)
            m = np.arange(len(y))[:, None]
            expected = np.exp(2j * np.pi * f * m * n) * reference.response(h, f - (k - n / 2) / n)
            self.close(y, expected)
            # upside down: the tone lies at -f
            expected = np.exp(-2j * np.pi * f * m * n) * reference.response(h, -f - (k - n / 2) / n)
            self.close(reference.pfb(x, n, h, inverted=True), expected)

    def test_real_tone(self):
        """A cosine is two tones."""
        n, taps = 16, 4
        h = reference.prototype(2 * n, taps)
        f, phase = 5.2 / (2 * n), 0.7
        x = np.cos(2 * np.pi * f * np.arange(9 * 2 * n) + phase)
        y = reference.pfb(x, n, h)
        m, k = np.arange(len(y))[:, None], np.arange(n)
        expected = 0
        for sign in (1, -1):
            phasor = np.exp(sign * 1j * (2 * np.pi * f * m * 2 * n + phase))
            expected += 0.5 * phasor * reference.response(h, sign * f - k / (2 * n))
        self.close(y, expected)
        self.assertTrue((np.abs(y).argmax(axis=1) == 5).all())
        reverse = np.abs(reference.pfb(x, n, h, inverted=True)).argmax(axis=1)
        self.assertTrue((reverse == n - 1 - 5).all())

    def test_delayed_tone(self):
        """A delayed tone is rotated by the phase and by the delay in the middle of each channel,
        exactly."""
        n, taps, spectra = 12, 3, 9
        m = np.arange(spectra)
        for whole in (0, 5, -31):
            delay = whole + 0.3 + 0.002 * m
            phase = 0.7 - 0.1 * m
            for real in (False, True):
                for inverted in (False, True):
                    hop = 2 * n if real else n
                    h = reference.prototype(hop, taps)
                    t = np.arange((spectra - 1 + taps) * hop)
                    # spectra where zeros would come in
                    reach = -(-abs(whole) // hop) + 1
                    inside = slice(reach, spectra - reach)
                    for k in range(1, n - 1):
                        sky = k if real else k - n // 2
                        if inverted:
                            sky = n - 1 - k if real else -sky
                        tone = np.exp(2j * np.pi * sky / hop * t)

                        def spectra_of(make, *options):
                            if not real:
                                return make(tone, n, h, *options)[inside, k]
                            # the half of a real tone that lies at positive frequencies
                            both = [make(x, n, h, *options) for x in (tone.real, tone.imag)]
                            return (both[0] + (-1j if inverted else 1j) * both[1])[inside, k]

                        y = spectra_of(reference.pfb, inverted)
                        delayed = spectra_of(reference.delayed_pfb, delay, phase, inverted)
                        cycles = -(k - n / 2) / hop * delay
                        factor = np.exp(1j * phase + 2j * np.pi * cycles)
                        self.assertGreater(np.abs(y).min(), 0.1)
                        self.close(delayed, y * factor[inside])

    def test_delayed_noise(self):
        """
        White noise that was delayed in its whole band: the slope over channels has one value
        for all of a channel, so that with half a sample 2 pi / 4n radians are left at its
        edges, and 0.9 / n on average.
        """
        n, taps, count = 64, 8, 64 * 512
        h = reference.prototype(n, taps)
        noise = self.complex_noise(count)
        for delay in (0.5, 3.0, 70.4, -17.3):
            cycles = np.fft.fftfreq(count) * delay
            late = np.fft.ifft(np.fft.fft(noise) * np.exp(-2j * np.pi * cycles))
            expected = reference.pfb(late, n, h)[4:-4]
            delayed = reference.delayed_pfb(noise, n, h, delay)[4:-4]
            # channel 0 straddles the edge of the band
            error = np.abs(delayed - expected)[:, 1:]
            rest = abs(delay - np.rint(delay))
            self.assertLess(np.sqrt(np.mean(error**2)), 2 / n * rest + 1e-3)

    def test_parseval(self):
        """
        A one at sample t puts the power n sum_p h[t + p n]^2 into the spectra, and so n
        sum h^2 = n over all t modulo n: the noise gain of each channel is 1.
        """
        n, taps = 12, 5
        h = reference.prototype(n, taps, "blackman")
        total = 0
        for t in range(n):
            x = np.zeros((2 * taps - 1) * n, dtype=complex)
            x[(taps - 1) * n + t] = 1
            power = np.sum(np.abs(reference.pfb(x, n, h)) ** 2)
            self.assertAlmostEqual(power, n * np.sum(h[t::n] ** 2), delta=EXACT)
            total += power
        self.assertAlmostEqual(total, n, delta=EXACT)

    def test_noise_gain(self):
        """1 for noise. 2e5 samples: standard deviation 0.4%, so 2% is five of them."""
        h = reference.prototype(16, 8)
        y = reference.pfb(self.complex_noise(200000), 16, h)
        self.assertAlmostEqual(np.mean(np.abs(y) ** 2), 1, delta=0.02)
        h = reference.prototype(32, 8)
        y = reference.pfb(self.rng.standard_normal(200000), 16, h)
        # channel 0 of real samples is real at its middle, but has the same power
        self.assertAlmostEqual(np.mean(np.abs(y) ** 2), 1, delta=0.02)

    def test_number_of_spectra(self):
        for samples, count in [(0, 0), (15, 0), (16, 1), (19, 1), (20, 2)]:
            self.assertEqual(reference.spectra_of(samples, 4, 4), count)
            y = reference.pfb(np.zeros(samples, dtype=complex), 4, np.ones(16))
            self.assertEqual(y.shape, (count, 4))

    # ---- lost samples

    def test_lay_out(self):
        items = np.arange(1, 9)
        laid_out, stretch = reference.lay_out(items, [(3, 2), (6, 0)])
        self.assertEqual(laid_out.tolist(), [1, 2, 3, 0, 0, 4, 5, 6, 7, 8])
        self.assertEqual(stretch.tolist(), [0, 0, 0, -1, -1, 1, 1, 1, 2, 2])
        laid_out, stretch = reference.lay_out(items, [(3, 2)], start=-4)
        self.assertEqual(laid_out.tolist(), [0, 4, 5, 6, 7, 8])
        self.assertEqual(stretch.tolist(), [-1, 1, 1, 1, 1, 1])
        laid_out, stretch = reference.lay_out(items[:2], start=1)
        self.assertEqual(laid_out.tolist(), [0, 1, 2])
        self.assertEqual(stretch.tolist(), [-1, 0, 0])

    def test_missing_spectra(self):
        # ticks 0 to 11, two are lost at 5 and 6: windows of 4 samples each 2 samples
        _, stretch = reference.lay_out(np.zeros(10), [(5, 2)])
        lost = reference.missing_spectra(stretch, 2, 2)
        self.assertEqual(lost.tolist(), [False, True, True, True, False])
        # loss of unknown length before tick 4: the window that starts there is whole
        _, stretch = reference.lay_out(np.zeros(10), [(4, 0)])
        lost = reference.missing_spectra(stretch, 2, 2)
        self.assertEqual(lost.tolist(), [False, True, False, False])
        y = reference.pfb(np.ones(10), 1, np.ones(4), missing=lost)
        self.assertEqual(y[:, 0].tolist(), [4, 0, 4, 4])

    # ---- corner turn

    def test_corner_turn(self):
        """Each number by its place."""
        inputs, count, channels, times = 3, 11, 5, 4
        spectra = self.complex_noise(inputs, count, channels)
        lost = self.rng.random((inputs, count)) < 0.3
        for first, selected in [(0, 0), (1, 3), (4, 0)]:
            frames, missing = reference.corner_turn(spectra, times, first, selected, lost)
            width = selected or channels - first
            self.assertEqual(frames.shape, (3, width, inputs, times))
            self.assertEqual(missing.shape, (3, inputs, times))
            for b, c, i, t in np.ndindex(*frames.shape):
                m = b * times + t
                expected = spectra[i, m, first + c] if m < count else 0
                self.assertEqual(frames[b, c, i, t], expected)
                self.assertEqual(missing[b, i, t], lost[i, m] if m < count else True)
        # complex integers stay pairs
        integers = self.rng.integers(-127, 128, (inputs, count, channels, 2))
        frames, _ = reference.corner_turn(integers, times, 1, 3)
        self.assertEqual(frames.shape, (3, 3, inputs, times, 2))
        self.assertEqual(frames[1, 2, 0, 3].tolist(), integers[0, 7, 3].tolist())

    # ---- correlator

    def test_products(self):
        pairs = reference.products(5)
        self.assertEqual(len(pairs), 15)
        for index, (a, b) in enumerate(pairs):
            self.assertGreaterEqual(a, b)
            self.assertEqual(index, a * (a + 1) // 2 + b)

    def test_correlate_written_out(self):
        """Python's integers cannot overflow or round."""
        frames, channels, inputs, times = 3, 2, 4, 5
        x = self.rng.integers(-127, 128, (frames, channels, inputs, times, 2))
        for per_integration in (1, 2, 3):
            sums, _ = reference.correlate(x, per_integration, normalise=False)
            self.assertEqual(sums.dtype, np.complex64)
            self.assertEqual(len(sums), -(-frames // per_integration))
            for i, c, p in np.ndindex(*sums.shape):
                a, b = reference.products(inputs)[p]
                re = im = 0
                for frame in range(i * per_integration, (i + 1) * per_integration):
                    if frame == frames:
                        break
                    for t in range(times):
                        (ar, ai), (br, bi) = x[frame, c, a, t], x[frame, c, b, t]
                        re += int(ar) * int(br) + int(ai) * int(bi)
                        im += int(ai) * int(br) - int(ar) * int(bi)
                self.assertEqual(sums[i, c, p], np.complex64(complex(re, im)))
            # the voltages as complex numbers
            voltages = x[..., 0] + 1j * x[..., 1]
            as_complex, _ = reference.correlate(voltages, per_integration, normalise=False)
            self.close(sums, as_complex, 1e-2)  # sums up to 5e5 in fp32

    def test_correlate_normalises_by_what_is_there(self):
        frames, inputs, times = 4, 3, 6
        x = np.ones((frames, 1, inputs, times, 2), dtype=np.int8) * [3, 4]
        missing = self.rng.random((frames, inputs, times)) < 0.4
        missing[2:, 2] = True  # nothing of input 2 in the second integration
        x[missing[:, None]] = 0
        visibilities, counted = reference.correlate(x, 2, missing)
        for i in range(2):
            for p, (a, b) in enumerate(reference.products(inputs)):
                part = missing[2 * i : 2 * i + 2]
                there = int(np.sum(~part[:, a] & ~part[:, b]))
                self.assertEqual(counted[i, p], there)
                # float32(25 n / n)
                self.assertAlmostEqual(visibilities[i, 0, p], 25 if there else 0, delta=1e-5)
        self.assertEqual(counted[1, 3], 0)

    def test_known_visibility(self):
        """x_i = exp(i phi_i) gives exp(i (phi_a - phi_b))."""
        phases = np.array([0.3, -1.1, 2.0])
        x = np.broadcast_to(np.exp(1j * phases)[:, None], (2, 1, 3, 7))
        visibilities, counted = reference.correlate(x, 2)
        for p, (a, b) in enumerate(reference.products(3)):
            expected = np.exp(1j * (phases[a] - phases[b]))
            self.assertAlmostEqual(visibilities[0, 0, p], expected, delta=EXACT)
        self.assertTrue((counted == 14).all())

    def test_select(self):
        visibilities = self.complex_noise(2, 5, 6)
        first, second, third = reference.select(visibilities, [(2, 1), (1, 2), (0, 0)])
        np.testing.assert_array_equal(first, visibilities[..., 4])
        np.testing.assert_array_equal(second, visibilities[..., 4].conj())
        np.testing.assert_array_equal(third, visibilities[..., 0])

    # ---- tags

    def test_edges(self):
        """A tone at the sky frequency that an edge gives its channel peaks in it."""
        n, taps, rate, rx_freq = 10, 4, 4e6, 400e6
        for real in (False, True):
            for inverted in (False, True):
                edge = reference.pfb_edge(rx_freq, rate, n, taps, real, inverted)
                sky = reference.channel_frequencies(edge["rx_freq"], edge["bandwidth"], n)
                self.close(np.diff(sky), edge["bandwidth"] / n, 1e-6)
                h = reference.prototype(edge["samples_per_item"], taps)
                self.assertEqual(edge["rx_rate"] * edge["samples_per_item"], rate)
                t = np.arange(len(h)) / rate
                middle = rate / 4 if real else 0
                for k in range(n):
                    above = rx_freq - sky[k] if inverted else sky[k] - rx_freq
                    baseband = above + middle
                    x = np.exp(2j * np.pi * baseband * t)
                    y = reference.pfb(x.real if real else x, n, h, inverted)
                    self.assertEqual(np.abs(y[0]).argmax(), k)
                # symmetric filter: the spectrum belongs to the middle of its samples
                self.assertAlmostEqual(edge["delay"], (t[0] + t[-1]) / 2, delta=1e-15)
        part = reference.corner_turn_edge(edge, n, 7, 2, 5)
        selected = reference.channel_frequencies(part["rx_freq"], part["bandwidth"], 5)
        self.close(selected, sky[2:7], 1e-6)
        self.assertEqual(part["samples_per_item"], 7 * 20)
        integration = reference.xengine_edge(part, 3)
        self.assertAlmostEqual(integration["rx_rate"], rate / (20 * 7 * 3), delta=1e-9)
        self.assertEqual(integration["samples_per_item"], 7 * 20 * 3)


if __name__ == "__main__":
    gr_unittest.run(qa_reference)
