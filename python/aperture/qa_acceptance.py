#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Acceptance tests of channeliser, corner turn and correlator, after the qualification tests
of the MeerKAT correlator: limits that an astronomer relies on, measured from outside.
"""

import re
import unittest

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference

aperture = qa_tools.on_device(aperture)

#: spectra in a frame of f_engine
TIMES = 16

#: samples of tones that are channelised at a time
MOST_SAMPLES = 2**22


def decibel(power):
    """A power of nothing is -200 dB."""
    return 10 * np.log10(np.maximum(power, 1e-20))


def tone_in_spectra(y, phasor):
    """
    Power and offset of a channel that has a tone and noise.

    y: complex [spectrum]; phasor: the tone at each spectrum's first sample, of amplitude 1.
    Returns the power of what is coherent with the tone, which noise and rounding errors average
    out of, and the magnitude of the mean of what is not.
    """
    phasor = phasor[: len(y)]
    amplitude = np.vdot(phasor, y) / len(y)
    return np.abs(amplitude) ** 2, np.abs(np.mean(y - amplitude * phasor))


def check_linear(powers):
    """Within 0.1 dB, of amplitudes that are halved from step to step."""
    expected = decibel(powers[0]) - 20 * np.log10(2) * np.arange(len(powers))
    np.testing.assert_allclose(decibel(np.array(powers)), expected, atol=0.1)


def check_unbiased(offsets, spectra):
    """
    Checks outputs of 8 bits with noise of half a step in re and in im, which rounding makes 0.58
    steps: six deviations of the mean of 2 spectra values. Rounding down is off by 0.7 steps.
    """
    np.testing.assert_array_less(offsets, 6 * 0.58 * np.sqrt(2 / spectra))


class FEngine:
    """
    Tests of what makes channels: pfb_channelizer, or f_engine where in_frames is true.

    n: channels. On a GPU, 32 go through cuFFT and 64 to 8192 through the fused kernel, of
    three passes from 2048 on; those of 8 bits from sc8, sc4 and s8 samples (EightBits,
    RealEightBits and so on) through tensor cores, on a Hopper GPU.
    types: of input and output, that are tried.
    spectra: whose powers are measured; linear_spectra: of so many tones at once, where they
    are weak
    every: of the tones within a channel, so many are tried; 1: all
    """

    in_frames = False
    on_one_port = True  # all inputs
    types = [(i, o) for i in ("fc32", "sc8", "sc4", "f32", "s12", "s10") for o in ("fc32", "sc8")]
    spectra = 2500
    linear_spectra, linear_tones = 2000, 1
    every = 1
    leakage_channels = 0, 1

    def setUp(self):
        self.rng = np.random.default_rng(64)

    # ---- what the tests measure with

    def channelise(self, samples, input_type="fc32", output_type="fc32", **options):
        """
        Channelises samples.

        samples: [input][time]; complex integers [input][time][2]
        Returns complex128 [input][spectrum][channel], and the block.
        """
        inputs = len(samples)
        block = self.make(inputs, input_type, output_type, **options)
        return self.run_block(block, samples, input_type, output_type, **options), block

    def make(self, inputs, input_type, output_type, **options):
        options.update(inputs=inputs, inputs_per_port=inputs if self.on_one_port else 1)
        options.update(input_type=input_type, output_type=output_type)
        if self.in_frames:
            return aperture.f_engine(spectra_per_frame=TIMES, **options)
        return aperture.pfb_channelizer(**options)

    def run_block(self, block, samples, input_type, output_type, channels, **options):
        """complex128 [input][spectrum][channel], of samples as in channelise()."""
        inputs = len(samples)
        each = inputs if self.on_one_port else 1
        ports = [
            reference.samples_to_bytes(np.swapaxes(part, 0, 1), input_type)
            for part in np.split(samples, inputs // each)
        ]
        length = channels * (inputs * TIMES if self.in_frames else each)
        sizes = [(2 if output_type == "sc8" else 8) * length]
        if not self.in_frames:
            sizes *= len(ports)
        data, _ = qa_tools.run(block, ports, sizes, chunks=0)
        values = []
        for port in data:
            flat = reference.samples_from_bytes(port, output_type, length)
            values.append(reference.decode(flat, output_type)[0])
        if not self.in_frames:
            spectra = [np.swapaxes(port.reshape(-1, each, channels), 0, 1) for port in values]
            return np.concatenate(spectra)
        # [frame][channel][input][time], and no padding
        frames = values[0].reshape(-1, channels, inputs, TIMES)
        spectra = np.moveaxis(frames, (2, 0, 3, 1), (0, 1, 2, 3))
        hop = channels if reference.is_complex(input_type) else 2 * channels
        count = reference.spectra_of(samples.shape[1], hop, options.get("taps", 8))
        return spectra.reshape(inputs, -1, channels)[:, :count]

    def tones(self, frequencies, n, taps, amplitude=1.0, noise=0.0):
        """
        One tone after the other, each long enough for one spectrum of its own: spectrum
        number i taps is that of tone i.

        frequencies: in channels above the middle of channel n/2
        noise: rms of re and of im of the noise that goes with them
        Returns complex64 [1][time]
        """
        t = np.arange(n * taps)
        phase = self.rng.uniform(0, 2 * np.pi, (len(frequencies), 1))
        phasors = np.asarray(frequencies)[:, None] * t / n
        tones = amplitude * np.exp(2j * np.pi * phasors + 1j * phase)
        if noise:
            tones += noise * self.rng.standard_normal(tones.shape)
            tones += 1j * noise * self.rng.standard_normal(tones.shape)
        return tones.reshape(1, -1).astype(np.complex64)

    def tone_powers(self, frequencies, n, taps=8, amplitude=1.0, noise=0.0, **options):
        """Power of each tone in each channel: [tone][channel]; and the block."""
        parts = -(-len(frequencies) * n * taps // MOST_SAMPLES)
        powers = []
        for part in np.array_split(frequencies, parts):
            samples = self.tones(part, n, taps, amplitude, noise)
            samples = self.quantised(samples, options.get("input_type"))
            spectra, block = self.channelise(samples, channels=n, taps=taps, **options)
            powers.append(np.abs(spectra[0, ::taps]) ** 2)
        return np.concatenate(powers), block

    @staticmethod
    def quantised(samples, input_type):
        """In steps of a type of integers; others as they are."""
        if input_type in (None, "fc32", "f32"):
            return samples
        dtype, _ = reference.SAMPLE_TYPES[input_type]
        limit = 2 ** (reference.PACKED_BITS.get(input_type, 8 * dtype.itemsize) - 1) - 1
        if reference.is_complex(input_type):
            samples = np.stack([samples.real, samples.imag], axis=-1)
        return np.clip(np.rint(np.real(samples)), -limit, limit).astype(dtype)

    @staticmethod
    def crossing(offset, level, limit, outermost):
        """Returns where the level falls through the limit, between the points."""
        above = np.flatnonzero(level >= limit)
        i = above[-1] if outermost else np.flatnonzero(level < limit)[0] - 1
        part = (level[i] - limit) / (level[i] - level[i + 1])
        return offset[i] + part * (offset[i + 1] - offset[i])

    def width(self, offsets, level, limit, outermost):
        """Returns the width of a channel whose middle is that of the offsets, at this level."""
        middle = len(offsets) // 2
        right = self.crossing(offsets[middle:], level[middle:], limit, outermost)
        left = self.crossing(-offsets[middle::-1], level[middle::-1], limit, outermost)
        return right + left

    def check_widths(self, top, foot, message=None):
        """Checks the widths at -3 and -53 dB, in channels."""
        # the channel is about as wide as the step from one to the next
        self.assertAlmostEqual(top, 0.9, delta=0.05)
        self.assertLessEqual(foot, 2 * top, message)

    @property
    def saturating(self):
        """
        Options for 8-bit output at a gain of 100, where rounding does not hide what leaks.
        The amplitude gives 127 steps at gain 1.
        """
        amplitude = 127 / self.height
        return {"output_type": "sc8", "gain": 100.0, "amplitude": amplitude}

    @property
    def height(self):
        """The level in the middle of a channel, of a tone of amplitude 1."""
        return np.sum(reference.prototype(self.n, 8))

    def peak(self, gain, amplitude, **_):
        """Power of a tone in the middle of its channel, were it not for saturation."""
        return (gain * amplitude * self.height) ** 2

    @staticmethod
    def some_channels(n):
        """All of them, or of many the outermost, those in the middle, and others."""
        if n <= 512:
            return np.arange(n)
        places = [0, 1, n // 2 - 1, n // 2, n // 2 + 1, n - 2, n - 1]
        return np.union1d(places, np.arange(5, n, n // 64 + 1))

    @unittest.skipUnless(qa_tools.ON_GPU, "it is about the kernels of a GPU")
    def test_path(self):
        """A GPU goes the way that is meant here, for every type."""
        for input_type, output_type in self.types:
            block = self.make(2, input_type, output_type, channels=self.n, gain=1.0)
            if self.n == 32:
                path = "cufft"
            elif self.on_hopper(block):
                few_bits = ("sc8", "sc4", "s8") if self.n <= 1024 else ("sc8", "sc4")
                on_tensor_cores = input_type in few_bits and output_type == "sc8"
                path = "tensor" if on_tensor_cores else "fused"
            elif self.n == 64 or isinstance(self, EightBits):
                path = "fused"
            else:
                path = "fused|cufft"  # shared memory decides
            self.assertRegex(block.implementation(), path, (input_type, output_type))

    @staticmethod
    def on_hopper(block):
        return re.search("H100|H200|H800|GH200", block.device_description())

    # ---- channels

    def test_channel_shape(self):
        """
        Tones every 1/128 channel over +-1.5 channels: the -53 dB width is at most twice the
        -3 dB width.
        """
        n = self.n
        offsets = np.arange(-192, 193, self.every) / 128
        # 120 steps
        amplitude = 1.2 / self.height
        for options in (
            {},
            {"input_type": "sc8", "amplitude": 120.0},
            {"output_type": "sc8", "gain": 100.0, "amplitude": amplitude},
        ):
            powers, _ = self.tone_powers(offsets, n, **options)
            level = decibel(powers[:, n // 2])
            level -= level[len(offsets) // 2]
            # rounding to 8 bits is up to 0.71 of 120 steps, either way
            self.assertLess(level.max(), 0.11)
            top = self.width(offsets, level, -3, outermost=False)
            foot = self.width(offsets, level, -53, outermost=True)
            self.check_widths(top, foot, options)

    def check_leakage(self, saturated=False, **options):
        """A tone anywhere in a channel, for some channels with the first and the last."""
        n = self.n
        offsets = np.arange(-32, 33, self.every) / 64
        for channel in (*self.leakage_channels, n // 2, n - 1):
            powers, block = self.tone_powers(channel - n // 2 + offsets, n, **options)
            if saturated:
                peak = self.peak(**options)
                own = powers[:, channel]
                self.assertGreaterEqual(own.min(), 127**2)
                self.assertGreater(block.clamped()[0], 0)
            else:
                peak = powers[len(offsets) // 2, channel]
            for i, offset in enumerate(offsets):
                others = np.ones(n, dtype=bool)
                others[channel] = False
                if offset <= 0:
                    others[channel - 1] = False
                if offset >= 0:
                    others[(channel + 1) % n] = False
                worst = decibel(powers[i, others].max() / peak)
                self.assertLessEqual(worst, -53, (channel, offset, options))

    def test_leakage(self):
        """A tone leaks at most -53 dB into all channels but its own and the nearer neighbour."""
        self.check_leakage()
        self.check_leakage(input_type="sc8", amplitude=120.0)

    def test_leakage_of_8_bit_output(self):
        """The tone's own channel is saturated."""
        self.check_leakage(saturated=True, **self.saturating)

    def test_tone_in_any_channel(self):
        """
        A tone peaks in its channel, 53 dB above all other channels (spurious-free dynamic range).
        With 8 bits half a step of noise goes with it: the rounding of a bare tone of few samples a
        period is a tone as well, whatever comes behind it.
        """
        noisy = {"input_type": "sc8", "amplitude": 125.0, "noise": 0.5}
        for n, options in [
            (self.n, {}),
            (self.n, self.saturating),
            (30, {}),
            (max(self.n, 512), noisy),
        ]:
            channels = self.some_channels(n)
            powers, _ = self.tone_powers(channels - n // 2, n, **options)
            own, others = self.own_and_highest_other(powers, channels)
            if options == self.saturating:
                own = self.peak(**options)
            self.assertGreaterEqual(decibel(own / others).min(), 53)

    def own_and_highest_other(self, powers, channels):
        """Returns from [tone][channel]: powers in the tones' channels, which are the highest, and
        beside."""
        self.assertEqual(powers.argmax(axis=1).tolist(), channels.tolist())
        tones = np.arange(len(channels))
        own = powers[tones, channels]
        others = powers.copy()
        others[tones, channels] = 0
        return own, others.max(axis=1)

    def test_real_tone_in_any_channel(self):
        n, taps = self.n, 8
        for inverted in (False, True):
            t = np.arange(2 * n * taps)
            channels = self.some_channels(n)
            tones = np.cos(np.pi * channels[:, None] * t / n + 0.3)
            samples = tones.reshape(1, -1).astype(np.float32)
            spectra, _ = self.channelise(samples, "f32", channels=n, taps=taps, inverted=inverted)
            powers = np.abs(spectra[0, ::taps]) ** 2
            if inverted:
                powers = powers[:, ::-1]
            own, others = self.own_and_highest_other(powers, channels)
            self.assertGreaterEqual(decibel(own / others).min(), 53)

    # ---- powers

    def test_noise_gain(self):
        """
        White noise keeps its power, within 1%: 4e5 samples, five standard deviations. With
        8 bits, the power of the steps and of their rounding.
        """
        for input_type, output_type in self.types:
            # most samples of long transforms shall lie within the first and the last prototype
            shape = 2, max(200000, 80 * self.n)
            samples = qa_tools.random_samples(self.rng, input_type, shape, 20.0)
            spectra, _ = self.channelise(
                samples, input_type, output_type, channels=self.n, taps=8, gain=1.0
            )
            values, _ = reference.decode(samples, input_type)
            power = np.mean(np.abs(values) ** 2)
            rounding = 1 / 6 if output_type == "sc8" else 0
            ratio = np.mean(np.abs(spectra) ** 2) / (power + rounding)
            self.assertAlmostEqual(ratio, 1, delta=0.01)

    def test_linearity(self):
        """
        The power of a tone within 0.1 dB of the square of its amplitude, over 2^0 ... 2^-9
        (8 bits down to 2^-5).

        With 8 bits noise of half a step in re and in im goes with it, at the input or so much that
        it is half a step at the output, and the power is that of what is coherent with the tone.
        qa_linearity_of_rounding shows why: rounding a bare tone to whole steps is not linear
        within 0.1 dB, however well it is done, and with noise, which a telescope always has, it
        is; an error of the rounding shows in both.
        """
        n, taps, count, tones = self.n, 8, self.linear_spectra, self.linear_tones
        # far enough apart that they do not meet
        above_middle = 5 + n // 2 // tones * np.arange(tones)
        t = np.arange(n * count)
        phasors = [np.exp(2j * np.pi * (k + 0.0137) / n * t) for k in above_middle]
        h = np.sum(reference.prototype(n, taps))
        for input_type, output_type, steps, amplitude, gain, rms in [
            ("fc32", "fc32", 10, 1.0, 1.0, 0.0),
            ("sc8", "fc32", 6, 120.0 / tones, 1.0, 0.5),
            ("fc32", "sc8", 6, 115.0, 1 / h, 0.5 * h),
            ("sc8", "sc8", 6, 115.0, 1 / h, 0.5 * h),
            ("sc16", "sc8", 6, 115.0 * 256, 1 / h / 256, 0.5 * h * 256),
        ]:
            if (input_type, output_type) not in self.types:
                continue
            if input_type in ("sc8", "sc16") and output_type == "sc8" and tones > 1:
                continue  # tones have no room at the input
            powers = []
            for step in range(steps):
                noise = rms * self.rng.standard_normal((2, len(t)))
                signal = amplitude * 2.0**-step * sum(phasors) + noise[0] + 1j * noise[1]
                samples = self.quantised(signal.astype(np.complex64), input_type)
                spectra, _ = self.channelise(
                    samples[None], input_type, output_type, channels=n, taps=taps, gain=gain
                )
                found = [
                    tone_in_spectra(spectra[0, :, n // 2 + k], phasor[::n])
                    for k, phasor in zip(above_middle, phasors)
                ]
                powers.append(sum(power for power, _ in found))
                if output_type == "sc8":
                    check_unbiased([offset for _, offset in found], spectra.shape[1])
            check_linear(powers)

    def test_gains(self):
        """
        The gain of an input and channel changes just that one: within 0.1% of fc32, 10% of
        8 bits, where the error is the noise of rounding re and im: 1/12 of a step squared
        each.
        """
        n, inputs = self.n, 3
        input_type = self.types[0][0]
        for output_type, delta in (("fc32", 1e-3), ("sc8", 0.1)):
            if (input_type, output_type) not in self.types:
                continue
            hop = n if reference.is_complex(input_type) else 2 * n
            shape = inputs, (self.spectra + 7) * hop
            samples = qa_tools.random_samples(self.rng, input_type, shape, 10.0)
            plain, _ = self.channelise(samples, input_type, output_type, channels=n, gain=1.0)
            unrounded, _ = self.channelise(samples, input_type, channels=n)
            for changed, channel, gain in [(1, 3, 2.0), (0, 0, 0.5), (2, n - 1, 3j)]:
                block = self.make(inputs, input_type, output_type, channels=n, gain=1.0)
                gains = np.ones(n, dtype=complex)
                gains[channel] = gain
                block.set_gains(self.as_stored(gains), changed)
                values = self.run_block(block, samples, input_type, output_type, channels=n)
                old = plain[changed, :, channel]
                new = values[changed, :, channel]
                # the complex gain that fits best
                ratio = np.vdot(old, new) / np.vdot(old, old)
                self.assertLess(abs(ratio / gain - 1), delta)
                if output_type == "sc8":
                    error = new - gain * unrounded[changed, :, channel]
                    # 2500 spectra: 20% is ten standard deviations; 400: six; 128: four
                    self.assertLess(np.mean(np.abs(error) ** 2), 1.2 / 6)
                values[changed, :, channel] = old
                np.testing.assert_array_equal(values, plain)

    @staticmethod
    def as_stored(values):
        """[...][channel]: the block's from the tests', and the other way round."""
        return values

    def long_tone(self):
        """[1][time]: of 100 spectra's samples, near the middle of a channel."""
        t = np.arange(self.n * 100)
        return np.exp(2j * np.pi * (2.01 / self.n) * t)[None]

    def test_saturation_is_counted(self):
        """The samples at the limit are counted, of a tone that is twice too strong."""
        n, input_type = self.n, self.types[0][0]
        amplitude = 1.0 if input_type == "fc32" else 120.0
        gain = 254 / amplitude / self.height
        samples = self.quantised(amplitude * self.long_tone(), input_type)
        spectra, block = self.channelise(samples, input_type, "sc8", channels=n, gain=gain)
        limit = np.maximum(np.abs(spectra.real), np.abs(spectra.imag)) == 127
        # a circle of 254 steps leaves the square of 127 for all phases
        self.assertEqual(np.sum(limit), spectra.shape[1])
        self.assertEqual(block.clamped(), [spectra.shape[1]])


class EightBits(FEngine):
    """
    Samples to 8-bit spectra. On a Hopper GPU, the transform of sc8, sc4 and s8 samples is two
    products of matrices in half precision.
    """

    on_one_port = False
    types = [("sc8", "sc8")]
    step = 1.0  # the step of samples, in steps of 8 bits
    spectra = 400

    @property
    def saturating(self):
        """Half a step of noise goes with the tone, as in test_tone_in_any_channel."""
        amplitude = 120.0 / self.step
        gain = 100 * 127 / amplitude / self.height
        return {
            "input_type": self.types[0][0],
            "output_type": "sc8",
            "gain": gain,
            "amplitude": amplitude,
            "noise": 0.5,
        }

    def test_channel_shape(self):
        """The top of the channel at a gain that leaves it whole, its foot at 100 times that."""
        n, options = self.n, self.saturating
        offsets = np.arange(-192, 193, self.every) / 128
        widths = []
        for limit, outermost, divisor in ((-3, False, 100), (-53, True, 1)):
            tones = {**options, "gain": options["gain"] / divisor}
            powers, _ = self.tone_powers(offsets, n, **tones)
            level = decibel(powers[:, n // 2] / self.peak(**tones))
            # noise of half a step and rounding
            self.assertLess(level.max(), 0.11)
            widths.append(self.width(offsets, level, limit, outermost))
        self.check_widths(*widths)

    def test_tone_in_any_channel(self):
        n, own = self.n, self.peak(**self.saturating)
        tones = self.some_channels(n) if self.every > 1 else np.arange(n)
        for first in range(0, len(tones), 128):
            channels = tones[first : first + 128]
            powers, _ = self.tone_powers(channels - n // 2, n, **self.saturating)
            _, others = self.own_and_highest_other(powers, channels)
            self.assertGreaterEqual(decibel(own / others).min(), 53)

    # other types are not tested for leakage
    test_leakage = None
    test_real_tone_in_any_channel = None


class RealEightBits(EightBits):
    """
    Real samples. In tones of an amplitude, half of it is at positive frequencies. Those of
    channel 0, whose own image lies there, are left out.
    """

    types = [("s8", "sc8")]
    leakage_channels = 1, 2

    @property
    def height(self):
        return np.sum(reference.prototype(2 * self.n, 8)) / 2

    @staticmethod
    def some_channels(n):
        return EightBits.some_channels(n)[1:]

    def cycles(self, frequencies, t):
        """Returns cycles of tones so many channels above the middle of channel n/2: [tone][time]"""
        return (np.asarray(frequencies)[:, None] + self.n // 2) * t / (2 * self.n)

    def tones(self, frequencies, n, taps, amplitude=1.0, noise=0.0):
        t = np.arange(2 * n * taps)
        phase = self.rng.uniform(0, 2 * np.pi, (len(frequencies), 1))
        tones = amplitude * np.cos(2 * np.pi * self.cycles(frequencies, t) + phase)
        tones += noise * self.rng.standard_normal(tones.shape)
        return tones.reshape(1, -1).astype(np.float32)

    def test_linearity(self):
        """Rounding is linear, as of complex samples, with noise of half a step at the output."""
        n, taps, count = self.n, 8, self.linear_spectra
        t = np.arange(2 * n * count)
        cycles = self.cycles([5.0137], t)[0]
        input_type = self.types[0][0]
        powers = []
        for step in range(6):
            signal = 115.0 * 2.0**-step * np.cos(2 * np.pi * cycles)
            signal += np.sqrt(2) * self.height * self.rng.standard_normal(len(t)) / 2
            samples = self.quantised(signal / self.step, input_type)
            gain = self.step / self.height
            spectra, _ = self.channelise(
                samples[None], input_type, "sc8", channels=n, taps=taps, gain=gain
            )
            power, offset = tone_in_spectra(
                spectra[0, :, n // 2 + 5], np.exp(2j * np.pi * cycles[:: 2 * n])
            )
            powers.append(power)
            check_unbiased(offset, spectra.shape[1])
        check_linear(powers)

    def long_tone(self):
        return np.cos(2 * np.pi * self.cycles([2.01], np.arange(2 * self.n * 100)))


class InvertedRealEightBits(RealEightBits):
    """The tests with channels in the other order, conjugated, which are brought back here."""

    def make(self, *arguments, **options):
        return super().make(*arguments, inverted=True, **options)

    def run_block(self, *arguments, **options):
        return self.as_stored(super().run_block(*arguments, **options))

    @staticmethod
    def as_stored(values):
        return np.conj(values[..., ::-1])


class RealTenBits(RealEightBits):
    """Packed, in steps a quarter as large."""

    types = [("s10", "sc8")]
    step = 0.25


class InvertedRealTenBits(InvertedRealEightBits, RealTenBits):
    """The tests with inverted real samples of 10 bits."""


class RealTwelveBits(RealTenBits):
    """Packed, in steps a sixteenth as large."""

    types = [("s12", "sc8")]
    step = 1 / 16


class InvertedRealTwelveBits(InvertedRealEightBits, RealTwelveBits):
    """The tests with inverted real samples of 12 bits."""


class SixteenBits(EightBits):
    """Samples of 16 bits, in steps 1/256 as large."""

    types = [("sc16", "sc8")]
    step = 1 / 256


class FewEightBits(EightBits):
    """Each power is the mean of eight spectra, as each channel has more of the noise of samples."""

    def tone_powers(self, frequencies, *arguments, **options):
        powers, block = super().tone_powers(np.repeat(frequencies, 8), *arguments, **options)
        return powers.reshape(len(frequencies), 8, -1).mean(axis=1), block


class FewRealEightBits(FewEightBits, RealEightBits):
    """The tests with few channels of real samples of 8 bits."""


class FewInvertedRealEightBits(FewEightBits, InvertedRealEightBits):
    """The tests with few channels of inverted real samples of 8 bits."""


class FewRealTenBits(FewEightBits, RealTenBits):
    """The tests with few channels of real samples of 10 bits."""


class FewRealTwelveBits(FewEightBits, RealTwelveBits):
    """The tests with few channels of real samples of 12 bits."""


class FewSixteenBits(FewEightBits, SixteenBits):
    """The tests with few channels of samples of 16 bits."""


class LongEightBits(EightBits):
    """The tests of few tones and spectra, like Long."""

    spectra = 128
    every = 4

    # samples of 8 bits have no room for the noise that it wants
    test_linearity = None


class Fused(FEngine):
    """The tests with fewer spectra, and more tones in each."""

    spectra = 400
    linear_spectra, linear_tones = 250, 8


class Long(Fused):
    """
    Long transforms, of few tones and spectra: what becomes of a tone within its channel is
    the prototype's doing, as with the shorter ones.
    """

    types = [("fc32", "fc32"), ("fc32", "sc8"), ("sc8", "fc32"), ("sc8", "sc8"), ("s12", "sc8")]
    types += [("sc4", "sc8")]
    spectra = 128
    every = 4


class OtherTypes(Fused):
    """All but 8 bits to 8 bits."""

    types = [pair for pair in FEngine.types if pair != ("sc8", "sc8")]
    types += [("sc16", "fc32"), ("sc16", "sc8"), ("s16", "fc32"), ("s8", "sc8")]


#: endings of the names of classes, tests and channels
TESTED = [
    ("", FEngine, 32),
    ("_64", FEngine, 64),
    ("_64_of_8_bits", FewEightBits, 64),
    ("_64_of_real_8_bits", FewRealEightBits, 64),
    ("_64_of_inverted_real_8_bits", FewInvertedRealEightBits, 64),
    ("_64_of_real_10_bits", FewRealTenBits, 64),
    ("_64_of_real_12_bits", FewRealTwelveBits, 64),
    ("_64_of_16_bits", FewSixteenBits, 64),
    ("_128", Fused, 128),
    ("_128_of_8_bits", EightBits, 128),
    ("_128_of_real_8_bits", RealEightBits, 128),
    ("_256", Fused, 256),
    ("_256_of_8_bits", EightBits, 256),
    ("_256_of_real_8_bits", RealEightBits, 256),
    ("_256_of_16_bits", SixteenBits, 256),
    ("_512", Fused, 512),
    ("_512_of_8_bits", EightBits, 512),
    ("_512_of_real_8_bits", RealEightBits, 512),
    ("_1024", EightBits, 1024),
    ("_1024_of_real_8_bits", RealEightBits, 1024),
    ("_1024_of_inverted_real_8_bits", InvertedRealEightBits, 1024),
    ("_1024_of_real_10_bits", RealTenBits, 1024),
    ("_1024_of_inverted_real_10_bits", InvertedRealTenBits, 1024),
    ("_1024_of_real_12_bits", RealTwelveBits, 1024),
    ("_1024_of_inverted_real_12_bits", InvertedRealTwelveBits, 1024),
    ("_1024_of_16_bits", SixteenBits, 1024),
    ("_1024_of_other_types", OtherTypes, 1024),
    ("_2048", Long, 2048),
    ("_2048_of_8_bits", LongEightBits, 2048),
    ("_4096", Long, 4096),
    ("_4096_of_8_bits", LongEightBits, 4096),
    ("_8192", Long, 8192),
    ("_8192_of_8_bits", LongEightBits, 8192),
]

#: On the CPU all shapes go through one kernel: one of each length and kind of samples is enough
#: there. qa_channelizer_1024_on_one_port is a sixth.
ON_CPU = {"", "_64_of_real_12_bits", "_256_of_16_bits", "_1024_of_inverted_real_8_bits", "_4096"}

# each of a channeliser alone, and of channeliser and corner turn in one
for ending, tests, channels in TESTED:
    if not qa_tools.ON_GPU and ending not in ON_CPU:
        continue
    for name, in_frames in (("qa_channelizer", False), ("qa_f_engine", True)):
        members = {"n": channels, "in_frames": in_frames}
        globals()[name + ending] = type(name + ending, (tests, gr_unittest.TestCase), members)


class qa_channelizer_1024_on_one_port(EightBits, gr_unittest.TestCase):
    """Inputs that are taken apart before."""

    n = 1024
    on_one_port = True


class qa_linearity_of_rounding(gr_unittest.TestCase):
    """Tests of how linearity of 8 bits is measured: right rounding passes, wrong rounding does
    not."""

    def check(self, rounding, noise, amplitude=115.0, spectra=2000):
        """Tests a rounding as test_linearity does: a tone, and noise of so many steps in re and in
        im."""
        rng = np.random.default_rng(64)
        phasor = np.exp(2j * np.pi * 0.0137 * np.arange(spectra))
        powers = []
        for step in range(6):
            parts = amplitude * 2.0**-step * np.stack([phasor.real, phasor.imag])
            re, im = rounding(parts + noise * rng.standard_normal(parts.shape))
            power, offset = tone_in_spectra(re + 1j * im, phasor)
            powers.append(power)
            if noise:
                check_unbiased(offset, spectra)
        check_linear(powers)

    def test_right_rounding(self):
        for spectra in (250, 2000):
            self.check(np.rint, 0.5, spectra=spectra)

    def test_wrong_rounding(self):
        """Towards zero, downwards, to steps twice as large, or to 100 of them at most."""
        for rounding in (
            np.trunc,
            np.floor,
            lambda x: 2 * np.rint(x / 2),
            lambda x: np.clip(np.rint(x), -100, 100),
        ):
            for spectra in (250, 2000):
                with self.assertRaises(AssertionError):
                    self.check(rounding, 0.5, spectra=spectra)

    def test_a_bare_tone_is_not_enough(self):
        """Rounding is right here, and off by more than 0.1 dB."""
        with self.assertRaises(AssertionError):
            self.check(np.rint, 0.0, amplitude=127.0)


class qa_correlator(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(64)

    def correlate(self, voltages, sample_type, **options):
        """Correlates voltages. voltages: [frame][channel][input][time]; returns
        [integration][channel][product]"""
        frames, channels, inputs, times = voltages.shape[:4]
        block = aperture.xengine(
            channels=channels, inputs=inputs, spectra_per_frame=times, type=sample_type, **options
        )
        port = reference.samples_to_bytes(voltages, sample_type)
        products = inputs * (inputs + 1) // 2
        (data,), _ = qa_tools.run(block, [port], [8 * channels * products], chunks=0)
        visibilities = np.frombuffer(data.tobytes(), dtype=np.complex64)
        return visibilities.reshape(-1, channels, products)

    def test_only_the_pair_that_is_on(self):
        """Each pair in turn: no other product is anything but zero."""
        inputs, times = 7, 16
        pairs = [(a, b) for a, b in reference.products(inputs) if a != b]
        for sample_type in ("sc8", "fc32"):
            voltages = np.zeros((len(pairs), 2, inputs, times, 2), dtype=np.int8)
            for i, (a, b) in enumerate(pairs):
                voltages[i, :, a] = [3, 4]
                voltages[i, :, b] = [5, -2]
            if sample_type == "fc32":
                voltages = voltages[..., 0] + 1j * voltages[..., 1]
            visibilities = self.correlate(voltages, sample_type)
            expected = np.zeros_like(visibilities)
            for i, (a, b) in enumerate(pairs):
                for first, second, value in [(a, a, 25), (b, b, 29), (a, b, (3 + 4j) * (5 + 2j))]:
                    expected[i, :, reference.products(inputs).index((first, second))] = value
            np.testing.assert_array_equal(visibilities, expected)

    def test_every_channel_is_its_own(self):
        """A channel that is on leaves the others at zero."""
        channels, inputs, times = 33, 3, qa_tools.frame_length(8)
        voltages = np.zeros((channels, channels, inputs, times, 2), dtype=np.int8)
        for i in range(channels):
            voltages[i, i] = [i + 1, -i]
        visibilities = self.correlate(voltages, "sc8")
        expected = np.zeros_like(visibilities)
        for i in range(channels):
            expected[i, i] = (i + 1) ** 2 + i**2
        np.testing.assert_array_equal(visibilities, expected)

    def test_autocorrelation_power(self):
        """
        The power is that of the noise, within 1% (5e5 values: 0.15% is one standard deviation);
        cross products of independent noise are sqrt(1/N) of it.
        """
        for sample_type in ("sc8", "fc32"):
            voltages = qa_tools.random_samples(self.rng, sample_type, (16, 8, 3, 4096), 20.0)
            visibilities = self.correlate(voltages, sample_type, integration=16)[0]
            # sigma^2 of re and of im, and of rounding to whole steps
            power = 2 * 20.0**2 + (1 / 6 if sample_type == "sc8" else 0)
            for index in (0, 2, 5):
                ratio = np.mean(visibilities[:, index].real) / power
                self.assertAlmostEqual(ratio, 1, delta=0.01)
                self.assertTrue((visibilities[:, index].imag == 0).all())
            cross = np.abs(visibilities[:, [1, 3, 4]]) / power
            self.assertLess(cross.max(), 5 / np.sqrt(16 * 4096))

    def test_bit_exact(self):
        """All products of many random voltages, against 64-bit integers."""
        shape = (4, 16, 12, qa_tools.frame_length(250), 2)
        voltages = self.rng.integers(-127, 128, shape).astype(np.int8)
        visibilities = self.correlate(voltages, "sc8", integration=2, normalise=False)
        expected, _ = reference.correlate(voltages, 2, normalise=False)
        np.testing.assert_array_equal(visibilities, expected)

    def test_place_of_each_value(self):
        """
        Channel, input and time through corner turn and correlator: each channel of each
        input has a phase of its own.
        """
        channels, inputs, times = 12, 5, 6
        phase = self.rng.uniform(-np.pi, np.pi, (inputs, 1, channels))
        spectra = np.exp(1j * phase) * np.ones((1, 4 * times, 1))
        block = aperture.corner_turn(
            channels=channels, inputs=inputs, spectra_per_frame=times, type="fc32", first_channel=4
        )
        ports = [reference.samples_to_bytes(row, "fc32") for row in spectra]
        (data,), _ = qa_tools.run(block, ports, [8 * 8 * inputs * times])
        voltages = np.frombuffer(data.tobytes(), dtype=np.complex64)
        voltages = voltages.reshape(-1, 8, inputs, times)
        visibilities = self.correlate(voltages, "fc32", integration=4)[0]
        for p, (a, b) in enumerate(reference.products(inputs)):
            expected = np.exp(1j * (phase[a, 0, 4:] - phase[b, 0, 4:]))
            np.testing.assert_allclose(visibilities[:, p], expected, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
