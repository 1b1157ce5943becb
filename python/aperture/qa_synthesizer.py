#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
synthesizer compared with known signals.

These are channelised in float64, and compared with themselves at the times that the tags give;
missing spectra, retuning, gaps, cuts of calls, bad parameters.
"""

from fractions import Fraction

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import EPOCH, missing_of, rx_time, seconds_between, tags_of
from gnuradio.aperture.testing.tiers import long_test

aperture = qa_tools.on_device(aperture)


def tones(frequencies, seed=5):
    """A sum of complex tones of these frequencies in Hz, as a function of seconds."""
    rng = np.random.default_rng(seed)
    levels = rng.uniform(0.5, 1.5, len(frequencies))
    phases = rng.uniform(0, 1, len(frequencies))

    def signal(seconds):
        cycles = np.multiply.outer(np.asarray(seconds, np.float64), frequencies) + phases
        return np.exp(2j * np.pi * cycles) @ levels

    return signal


class Bank:
    """
    An F-engine in float64, and the frames that a beamformer would make of its channels.

    start: seconds of the first sample behind EPOCH
    selected: first channel of the frames, and how many
    """

    def __init__(
        self,
        channels=32,
        oversampling="32/27",
        taps=24,
        real=False,
        rate=2.0**20,
        start=0.25,
        times=50,
        selected=None,
        frequency=400e6,
    ):
        self.channels, self.ratio, self.taps, self.real = channels, oversampling, taps, real
        self.rate, self.start, self.times = rate, start, times
        self.first, self.count = selected or (0, channels)
        self.frequency = frequency
        self.length = 2 * channels if real else channels
        self.hop = int(self.length / Fraction(oversampling))
        self.spacing = rate / self.length
        #: Hz from 0 Hz of the samples to the middle of the frames' channel n/2
        self.middle = (self.first + self.count // 2 - (0 if real else channels // 2)) * self.spacing

    def samples(self, signals, count, skipped=0):
        """[beam][time] of signals that are functions of seconds since EPOCH"""
        at = self.start + (skipped + np.arange(count)) / self.rate
        made = np.stack([signal(at) for signal in signals])
        return made.real if self.real else made

    def frames(self, samples):
        """[frame][channel][beam][time] of [beam][time]"""
        h = reference.prototype(self.length, self.taps)
        spectra = reference.pfb(samples, self.channels, h, oversampling=self.ratio)
        spectra = spectra[..., self.first : self.first + self.count]
        number = spectra.shape[1] // self.times
        spectra = spectra[:, : number * self.times]
        shaped = spectra.reshape(len(spectra), number, self.times, self.count)
        return np.ascontiguousarray(shaped.transpose(1, 3, 0, 2)).astype(np.complex64)

    def samples_of(self, frames):
        """The samples that so many frames take."""
        return (frames * self.times - 1) * self.hop + self.taps * self.length

    def tags(self, first_spectrum=None):
        middle = (first_spectrum or 0) * self.hop + (self.taps * self.length - 1) / 2
        made = [
            (0, "rx_time", rx_time(EPOCH, self.start + middle / self.rate)),
            (0, "rx_rate", self.rate / self.hop / self.times),
            (0, "rx_freq", self.frequency),
            (0, "bandwidth", self.spacing * self.count),
            (0, "samples_per_item", self.hop * self.times),
        ]
        if first_spectrum is not None:
            made.append((0, "first_spectrum", first_spectrum))
        return made

    def block(self, **more):
        options = dict(
            channels=self.count,
            spectra_per_frame=self.times,
            total_channels=self.channels,
            first_channel=self.first,
            real_input=self.real,
            oversampling=self.ratio,
            taps=self.taps,
        )
        if more.get("output_type") == "f32":
            options["input_rate"] = self.rate
        return aperture.synthesizer(**{**options, **more})


class Output:
    """The samples of a run, [time][beam], and what their tags say."""

    def __init__(self, data, tags, beams, real):
        kind = np.float32 if real else np.complex64
        self.samples = np.ascontiguousarray(data).view(kind).reshape(-1, beams)
        self.tags = tags
        first = {tag.key: tag.value for tag in tags if tag.offset == 0}
        self.time, self.rate = first["rx_time"], first["rx_rate"]
        self.frequency, self.bandwidth = first["rx_freq"], first["bandwidth"]

    def seconds(self):
        """The times of the samples behind EPOCH."""
        return seconds_between(self.time, (EPOCH, 0.0)) + np.arange(len(self.samples)) / self.rate


def run(block, frames, tags, beams=1, real=False, chunks=7):
    sizes = [beams * (4 if real else 8)]
    data = reference.samples_to_bytes(frames, "fc32")
    (made,), (out,) = qa_tools.run(block, [data], sizes, tags=[tags], chunks=chunks)
    return Output(made, out, beams, real)


def cycles_since_1970(frequency, seconds):
    """Cycles of a frequency in Hz at seconds behind EPOCH, without whole ones at that time."""
    return float(Fraction(frequency) * EPOCH % 1) + float(frequency) * seconds


def decibels(error, signal):
    return 10 * np.log10(np.mean(abs(error) ** 2) / np.mean(abs(signal) ** 2))


class qa_synthesizer(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1931)

    def complex_output(self, bank, frames=7, beams=2, limit=-60, edge=0.98, **options):
        """Compares tones at any places of the band with themselves."""
        half = bank.count / 2 * bank.spacing * edge
        centre = bank.middle - (bank.spacing / 2 if bank.count % 2 == 0 else 0)
        signals = [tones(centre + self.rng.uniform(-half, half, 11), seed) for seed in range(beams)]
        voltages = bank.frames(bank.samples(signals, bank.samples_of(frames)))
        block = bank.block(beams=beams, **options)
        made = run(block, voltages, bank.tags(), beams)
        points = -(-bank.count // Fraction(bank.ratio).numerator)
        points *= Fraction(bank.ratio).numerator
        self.assertAlmostEqual(made.rate / (points * bank.spacing), 1, delta=1e-12)
        self.assertEqual(made.frequency, bank.frequency)
        self.assertEqual(made.bandwidth, made.rate)
        seconds = made.seconds()
        # phases count from 1970, whatever the F-engine's began with
        turned = np.exp(-2j * np.pi * cycles_since_1970(bank.middle, seconds))
        scale = np.sqrt(bank.length / points)
        expected = np.stack([signal(seconds) for signal in signals], 1) * turned[:, None]
        if bank.real:
            expected = expected / 2
        error = made.samples - scale * expected
        self.assertGreater(len(made.samples), 100)
        self.assertLess(decibels(error, scale * expected), limit)
        # nothing but the two prototypes is lost
        taps = options.get("synthesis_taps") or (
            bank.taps + 4 if Fraction(bank.ratio) > 1 else bank.taps + (bank.taps + 1) // 2 * 2
        )
        hop = points * bank.hop // bank.length
        self.assertEqual(
            len(made.samples), voltages.shape[0] * bank.times * hop - taps * points + hop
        )
        return block

    def test_whole_band(self):
        """Complex samples come back as they were: the error is the prototype's, which the block
        says."""
        for ratio, taps in (("32/27", 24), ("32/27", 16), ("4/3", 8), ("8/7", 17), ("2", 3)):
            with self.subTest(ratio, taps=taps):
                block = self.complex_output(Bank(oversampling=ratio, taps=taps))
                self.assertLess(block.error_power(), -60)

    def test_other_grids(self):
        """Some neighbours of the channels, odd numbers of them, and those of real samples."""
        self.complex_output(Bank(channels=96, selected=(20, 33)), edge=0.9)
        self.complex_output(Bank(channels=120, oversampling="4/3", taps=9, selected=(7, 101)))
        self.complex_output(Bank(real=True, channels=64), edge=0.9)
        self.complex_output(Bank(real=True, channels=64, selected=(11, 32), taps=16), edge=0.9)

    def test_phases_count_from_1970(self):
        """A stream that began at another time, in spectra too, gives the same samples."""
        signal = tones([12345.6, 23456.7, -34567.8])
        made = []
        for start, skipped in ((0.25, 0), (0.25 + 5e-3, 0), (0.25, 50 * 27 + 7 * 27)):
            bank = Bank(selected=(3, 20), start=start)
            spectra = skipped // 27
            samples = bank.samples([signal], bank.samples_of(6) + skipped)
            # frames whose first spectrum is not the stream's
            h = reference.prototype(32, 24)
            all_spectra = reference.pfb(samples, 32, h, oversampling="32/27")
            one = all_spectra[0, spectra : spectra + 300, 3:23]
            frames = one.reshape(6, 50, 1, 20).transpose(0, 3, 2, 1).astype(np.complex64)
            made.append(run(bank.block(), frames, bank.tags(spectra)))
        for out in made:
            seconds = out.seconds()
            turned = np.exp(-2j * np.pi * cycles_since_1970(-3 * 2.0**15, seconds))
            expected = signal(seconds) * turned
            self.assertLess(decibels(out.samples[:, 0] - expected, expected), -60)

    def test_noise(self):
        """White noise keeps its power, and comes back."""
        for ratio, taps, limit in (("32/27", 24, -80), ("4/3", 8, -70), ("1", 8, -18)):
            bank = Bank(oversampling=ratio, taps=taps)
            count = bank.samples_of(20)
            noise = self.rng.standard_normal((1, count, 2)) @ [1, 1j]
            block = bank.block()
            made = run(block, bank.frames(noise), bank.tags())
            first = round((made.seconds()[0] - bank.start) * bank.rate)
            expected = noise[0, first : first + len(made.samples)]
            found = decibels(made.samples[:, 0] - expected, expected)
            self.assertLess(found, limit, ratio)
            self.assertAlmostEqual(found, block.error_power(), delta=1.5)
            self.assertAlmostEqual(np.mean(abs(made.samples) ** 2), 2, delta=0.1)

    def test_quantised_channels(self):
        bank = Bank()
        noise = 20 * self.rng.standard_normal((1, bank.samples_of(8), 2)) @ [1, 1j]
        steps = np.round(bank.frames(noise)).view(np.float32).clip(-127, 127).astype(np.int8)
        steps = steps.reshape(8, -1).view(np.uint8)
        (data,), (tags,) = qa_tools.run(
            bank.block(type="sc8"), [steps], [8], tags=[bank.tags()], chunks=1000
        )
        made = Output(data, tags, 1, False)
        first = round((made.seconds()[0] - bank.start) * bank.rate)
        expected = noise[0, first : first + len(made.samples)]
        # rounding adds the power of 1/6 of a step, of which the synthesis passes 27/32
        error = made.samples[:, 0] - expected
        self.assertAlmostEqual(np.mean(abs(error) ** 2), 27 / 32 / 6, delta=0.02)

    def real_output(self, bank, sample_rate, offset, frames=7, beams=2, limit=-60, **options):
        """Compares tones in a band's pass band with what a receiver of that band would sample."""
        passed = options.get("passband", 0.95)
        width = sample_rate / 2
        sky = bank.frequency if options.get("frequency_is") == "sky" else 0
        given = offset + sky
        signals = []
        for seed in range(beams):
            inside = self.rng.uniform((1 - passed) / 2, (1 + passed) / 2, 9) * width
            # others must not alias into the band
            outside = self.rng.uniform(1.06, 1.1, 2) * width
            signals.append(
                (
                    tones(bank.middle + offset + inside, seed),
                    tones(bank.middle + offset + outside, seed + 9),
                )
            )
        voltages = bank.frames(
            bank.samples(
                [lambda t, s=s: s[0](t) + s[1](t) for s in signals], bank.samples_of(frames)
            )
        )
        block = bank.block(
            beams=beams, output_type="f32", sample_rate=sample_rate, frequency=given, **options
        )
        made = run(block, voltages, bank.tags(), beams, real=True, chunks=70)
        self.assertEqual(made.rate, sample_rate)
        self.assertAlmostEqual(made.frequency, bank.frequency + offset + width / 2, delta=1e-6)
        self.assertEqual(made.bandwidth, width)
        number = made.time[1] * sample_rate
        self.assertAlmostEqual(number, round(number), delta=1e-6)
        seconds = (round(number) + np.arange(len(made.samples))) / sample_rate
        seconds = (made.time[0] - EPOCH) + seconds
        # in 1.7e9 s the rounding of a sum of doubles would make cycles
        low = Fraction(bank.middle) + Fraction(given) - Fraction(sky)
        mixer = np.exp(-2j * np.pi * cycles_since_1970(low, seconds))[:, None]
        inside = np.stack([s[0](seconds) for s in signals], 1) * mixer
        # the power of white noise is kept: that of a tone grows with the rate
        scale = np.sqrt(2 * bank.rate / width) / (2 if bank.real else 1)
        expected = inside.real * scale
        self.assertGreater(len(made.samples), 200)
        self.assertLess(decibels(made.samples - expected, expected), limit)
        return made, inside * scale

    def test_real_samples(self):
        """Rates above and below the channels', that fit or not, of bands anywhere in them."""
        self.real_output(Bank(), 2.0**20, -3e5)
        self.real_output(Bank(rate=2e6), 1.28e6, -5e5)
        self.real_output(Bank(rate=2.5e6, channels=64), 2.0**21, 1e5)
        self.real_output(Bank(channels=128, selected=(17, 64)), 5e5, -2.2e5)
        self.real_output(Bank(real=True, channels=64, rate=2.0**21), 2.0**20, -212345.67)
        self.real_output(
            Bank(oversampling="4/3", taps=8), 1234567.0, -3e5, frequency_is="sky", passband=0.9
        )

    def test_whole_band_of_real_samples(self):
        """Samples of the same rate come back one by one."""
        bank = Bank(real=True, channels=64, rate=2.0**20, start=0.5)
        noise = self.rng.standard_normal((1, bank.samples_of(8)))
        spectrum = np.fft.rfft(noise)
        places = np.linspace(0, 1, spectrum.shape[1])
        spectrum[:, (places < 0.03) | (places > 0.97)] = 0
        noise = np.fft.irfft(spectrum, noise.shape[1])
        made = run(
            bank.block(output_type="f32", sample_rate=bank.rate, frequency=-bank.rate / 4),
            bank.frames(noise),
            bank.tags(),
            real=True,
            chunks=100,
        )
        first = round((made.seconds()[0] - bank.start) * bank.rate)
        expected = noise[0, first : first + len(made.samples)]
        # mixers that count from 1970 are at 0 at this start
        self.assertLess(decibels(made.samples[:, 0] - expected, expected), -60)

    def test_phase_over_the_band(self):
        """A tone's phase in VLBI's samples is that on the sky within one degree."""
        bank = Bank(rate=2.0**20, channels=32)
        sample_rate, offset = 2.0**19 * 3, -4.2e5
        worst = 0
        for part in np.linspace(0.03, 0.97, 15):
            frequency = offset + part * sample_rate / 2
            signal = tones([frequency], 3)
            frames = bank.frames(bank.samples([signal], bank.samples_of(5)))
            block = bank.block(output_type="f32", sample_rate=sample_rate, frequency=offset)
            made = run(block, frames, bank.tags(), real=True, chunks=300)
            seconds = made.seconds()
            tone = signal(seconds) * np.exp(-2j * np.pi * cycles_since_1970(offset, seconds))
            window = np.hanning(len(seconds))
            # the conjugate of the tone is far away, as is the tone from 0 Hz
            phase = np.angle(np.sum(window * made.samples[:, 0] * tone.conj()))
            worst = max(worst, abs(np.degrees(phase)))
        self.assertLess(worst, 0.2)

    def lost_outputs(self, bank, places, hop, taps, points, lost, first_sample):
        """bool of samples from first_sample on that the lost spectra go into."""
        made = np.zeros(places, bool)
        lead = (taps - bank.taps) * points // 2
        for spectrum in np.flatnonzero(lost):
            begin = spectrum * hop - lead - first_sample
            made[max(0, begin) : max(0, begin + taps * points)] = True
        return made

    def test_missing(self):
        """Samples that a missing spectrum goes into are zeros and missing, all others not."""
        bank = Bank(oversampling="4/3", taps=8, times=21)
        frames, beams = 9, 3
        signals = [tones(self.rng.uniform(-5e5, 5e5, 5), seed) for seed in range(beams)]
        voltages = bank.frames(bank.samples(signals, bank.samples_of(frames)))
        missing = np.zeros((frames, beams, bank.times), bool)
        missing[2, 1, 5:9] = missing[4, 1, 20] = missing[5, 1, 0] = missing[4, 2, 3] = True
        voltages[np.broadcast_to(missing[:, None], voltages.shape)] = 0
        tags = bank.tags() + qa_tools.missing_tags(missing, True)
        taps, points, hop = 12, 33, 24
        points = 32
        block = bank.block(beams=beams)
        made = run(block, voltages, tags, beams)
        count = len(made.samples)
        lead = (taps - bank.taps) * points // 2
        first = -hop - lead + taps * points
        lost = missing.transpose(1, 0, 2).reshape(beams, -1)
        expected = np.stack(
            [
                self.lost_outputs(bank, count, hop, taps, points, each, first)[:count]
                for each in lost
            ]
        )
        np.testing.assert_array_equal(missing_of(made.tags, beams, count), expected)
        self.assertEqual(block.missing(), expected.sum(axis=1).tolist())
        np.testing.assert_array_equal(made.samples[expected.T], 0)
        signal = np.stack([s(made.seconds()) for s in signals], 1)
        error = (made.samples - signal)[~expected.T]
        self.assertLess(decibels(error, signal), -60)
        # real output lacks those that the filter takes from them, too
        real = bank.block(beams=beams, output_type="f32", sample_rate=1e6, frequency=-2e5)
        out = run(real, voltages, tags, beams, real=True, chunks=40)
        whole = run(
            bank.block(beams=beams, output_type="f32", sample_rate=1e6, frequency=-2e5),
            bank.frames(bank.samples(signals, bank.samples_of(frames))),
            bank.tags(),
            beams,
            real=True,
        )
        gone = missing_of(out.tags, beams, len(out.samples)).T
        np.testing.assert_array_equal(out.samples[gone], 0)
        np.testing.assert_allclose(out.samples[~gone], whole.samples[~gone], atol=1e-5)
        self.assertEqual(gone[:, 0].sum(), 0)
        ratio = 1e6 / bank.rate
        filter_taps = (80 - 7.95) / 14.36 / (0.05 * 0.5e6 / bank.rate) + 17
        for beam in (1, 2):
            least = expected[beam].sum() * ratio
            self.assertTrue(least < gone[:, beam].sum() < least + 2 * filter_taps * ratio + 4)

    def test_gap(self):
        """Frames that never came are missing, and the samples behind them have their times."""
        bank = Bank(oversampling="4/3", taps=8, times=32)
        signal = tones(self.rng.uniform(-4e5, 4e5, 5))
        voltages = bank.frames(bank.samples([signal], bank.samples_of(12)))
        whole = run(bank.block(), voltages, bank.tags())
        kept = np.delete(voltages, [5, 6], axis=0)
        time = bank.tags()[0][2]
        jump = rx_time(time[0], time[1] + 7 * bank.times * bank.hop / bank.rate)
        made = run(bank.block(), kept, bank.tags() + [(5, "rx_time", jump)])
        gone = missing_of(made.tags, 1, len(made.samples))[0]
        self.assertEqual(len(made.samples), len(whole.samples))
        np.testing.assert_array_equal(made.samples[~gone], whole.samples[~gone])
        np.testing.assert_array_equal(made.samples[gone], 0)
        self.assertEqual(gone.sum(), 63 * 24 + 12 * 32)

    def test_another_beginning(self):
        """A gap that is too long to be filled begins the output anew, on the same grid."""
        bank = Bank(times=64, taps=16)
        signal = tones(self.rng.uniform(-4e5, 4e5, 5))
        one = bank.frames(bank.samples([signal], bank.samples_of(4)))
        later = 128 + 3e-3
        bank2 = Bank(times=64, taps=16, start=bank.start + later)
        two = bank2.frames(bank2.samples([signal], bank2.samples_of(4)))
        tags = bank.tags(0) + [
            (4, key, value)
            for _, key, value in bank2.tags(0)
            if key in ("rx_time", "first_spectrum")
        ]
        options = dict(output_type="f32", sample_rate=1e6, frequency=-3e5)
        made = run(bank.block(**options), np.concatenate([one, two]), tags, real=True)
        parts = [
            run(b.block(**options), f, b.tags(0), real=True) for b, f in ((bank, one), (bank2, two))
        ]
        begin = len(parts[0].samples)
        times = tags_of(made.tags, "rx_time")
        self.assertEqual([item for item, _ in times], [0, begin])
        self.assertEqual(times[1][1], parts[1].time)
        # times that count from another frame may differ by a rounding
        np.testing.assert_allclose(
            made.samples, np.concatenate([part.samples for part in parts]), rtol=0, atol=1e-5
        )

    def test_numbers_go_on_behind_a_long_gap(self):
        """Frames that were lost on their way, for longer than a gap is filled, still count in the
        number of a spectrum, from which phases count."""
        bank, frames = Bank(times=50, selected=(3, 20)), 48_000  # a multiple of the 32 of 32/27
        signal = tones(self.rng.uniform(-4e5, 1.8e5, 5))
        skipped = frames * bank.times * bank.hop
        parts = [
            bank.frames(bank.samples([signal], bank.samples_of(4), before))
            for before in (0, skipped)
        ]
        time = bank.tags()[0][2]
        later = rx_time(time[0], time[1] + skipped / bank.rate)
        self.assertGreater(skipped / bank.rate, 60)
        made = run(bank.block(), np.concatenate(parts), bank.tags(0) + [(4, "rx_time", later)])
        (_, begin), (item, time) = tags_of(made.tags, "rx_time")
        seconds = np.concatenate(
            [
                seconds_between(start, (EPOCH, 0.0)) + np.arange(count) / made.rate
                for start, count in ((begin, item), (time, len(made.samples) - item))
            ]
        )
        mixer = np.exp(-2j * np.pi * cycles_since_1970(bank.middle, seconds))
        expected = signal(seconds) * mixer
        for part in (slice(0, item), slice(item, None)):
            error = made.samples[part, 0] - expected[part]
            self.assertGreater(len(error), 1000)
            self.assertLess(decibels(error, expected[part]), -60)

    def test_retuned(self):
        """Samples of two frequencies are missing; the band goes along, or stays on the sky."""
        bank = Bank(times=64, taps=16, frequency=400e6)
        signal = tones([1.1e5])
        voltages = bank.frames(bank.samples([signal], bank.samples_of(10)))
        for on_sky in (False, True):
            for step in (5e4, -5e4):
                tags = bank.tags()
                time = tags[0][2]
                when = rx_time(time[0], time[1] + 5 * bank.times * bank.hop / bank.rate)
                tags += [(5, "rx_freq", 400e6 + step), (5, "rx_time", when)]
                made = run(
                    bank.block(
                        output_type="f32",
                        sample_rate=6e5,
                        frequency=400e6 - 1e5 if on_sky else -1e5,
                        frequency_is="sky" if on_sky else "offset",
                    ),
                    voltages,
                    tags,
                    real=True,
                )
                gone = missing_of(made.tags, 1, len(made.samples))[0]
                edges = np.flatnonzero(np.diff(gone.astype(int)))
                self.assertEqual(len(edges), 2)
                np.testing.assert_array_equal(made.samples[gone], 0)
                middle = 400e6 - 1e5 + 1.5e5
                seconds = made.seconds()
                for part, low, said in (
                    (slice(0, edges[0] + 1), -1e5, middle),
                    (
                        slice(edges[1] + 1, None),
                        -1e5 - step if on_sky else -1e5,
                        middle if on_sky else middle + step,
                    ),
                ):
                    mixer = np.exp(-2j * np.pi * cycles_since_1970(low, seconds[part]))
                    expected = (signal(seconds[part]) * mixer).real * np.sqrt(2 * bank.rate / 3e5)
                    error = made.samples[part, 0] - expected
                    self.assertLess(decibels(error, expected), -60)
                    states = dict(qa_tools.each_of(made.tags, "rx_freq", len(made.samples)))
                    item = range(len(seconds))[part][-1]
                    self.assertAlmostEqual(states[item], said, delta=1e-3)

    def test_followed_clock(self):
        """Outputs stay with an rx_time that walks; real ones stay on their grid of times."""
        bank, walk, frames = Bank(times=200), 20e-6, 12
        at = bank.start + np.arange(bank.samples_of(frames)) / bank.rate * (1 + walk)
        signal = tones([1e5])
        voltages = bank.frames(signal(at)[None])
        middle = (bank.taps * bank.length - 1) / 2
        tags = [tag for tag in bank.tags() if tag[1] != "rx_time"]
        tags.append((0, "rx_time_clock", pmt.intern("followed")))
        for frame in range(frames):
            samples = frame * bank.times * bank.hop + middle
            time = rx_time(EPOCH, bank.start + samples / bank.rate * (1 + walk))
            tags.append((frame, "rx_time", time))
        real = dict(output_type="f32", sample_rate=1e6, frequency=-3e5)
        for options in ({}, real):
            made = run(bank.block(**options), voltages, tags, real=bool(options))
            times = qa_tools.each_of(made.tags, "rx_time", len(made.samples))
            seconds = np.array([seconds_between(time, (EPOCH, 0.0)) for _, time in times])
            tone = signal(seconds)
            if options:
                tone = tone * np.exp(-2j * np.pi * cycles_since_1970(-3e5, seconds))
                self.assertEqual(len(tags_of(made.tags, "rx_time")), 1)
            for part in np.split(np.arange(len(seconds) // 8 * 8), 8):
                window = np.hanning(len(part))
                phase = np.angle(np.sum(window * made.samples[part, 0] * tone[part].conj()))
                # the clock is followed frame by frame, and a frame walks by 0.1 us
                self.assertLess(abs(np.degrees(phase)), 4)

    def test_partial(self):
        """The zeros that fill the last frame make no samples."""
        bank = Bank(times=100, taps=16)
        signal = tones([2e5, -1e5])
        voltages = bank.frames(bank.samples([signal], bank.samples_of(3)))
        whole = run(bank.block(), voltages, bank.tags())
        voltages[2, ..., 37:] = 0
        missing = np.zeros((3, 1, 100), bool)
        missing[2, :, 37:] = True
        tags = bank.tags() + qa_tools.missing_tags(missing, True) + [(2, "partial", True)]
        made = run(bank.block(), voltages, tags)
        self.assertEqual(len(made.samples), len(whole.samples) - 63 * 27)
        np.testing.assert_array_equal(made.samples, whole.samples[: len(made.samples)])
        self.assertEqual(tags_of(made.tags, "missing"), [])

    def test_cuts_and_restarts(self):
        """The same bits however calls are cut, and after another start."""
        bank = Bank(times=33)
        signals = [tones(self.rng.uniform(-5e5, 5e5, 5), seed) for seed in range(2)]
        voltages = bank.frames(bank.samples(signals, bank.samples_of(9)))
        data = reference.samples_to_bytes(voltages, "fc32")
        for options in ({}, dict(output_type="f32", sample_rate=1.1e6, frequency=-5e5)):
            size = 8 if options else 16
            seen = []
            for chunks in (1, 13, 0):
                graph = qa_tools.Flowgraph(
                    bank.block(beams=2, **options),
                    [data],
                    [size],
                    tags=[bank.tags()],
                    chunks=chunks,
                )
                for _ in range(2):
                    seen.append(graph.run()[0][0].tobytes())
            self.assertEqual(len(set(seen)), 1)

    def test_errors(self):
        good = dict(channels=64, oversampling="32/27", taps=24)
        real = dict(good, output_type="f32", input_rate=64e6, sample_rate=64e6)
        for parameters, words in (
            (dict(channels=7), "channels: 7 .*even"),
            (dict(oversampling="27/32"), "oversampling: '27/32' .*at least 1"),
            (dict(good, oversampling="5/4"), "oversampling: '5/4' .*64 channels"),
            (dict(good, total_channels=32), "total_channels: 32 .*at least the 64"),
            (dict(good, first_channel=1), "first_channel: 1 .*0 to 0"),
            (dict(good, prototype=[1.0]), "prototype: 1 coefficients .*1536"),
            (dict(good, synthesis_taps=25), "synthesis_taps: 25 .*even number"),
            (dict(good, sample_rate=1e6), "sample_rate: .*0 for fc32"),
            (dict(real, input_rate=0), "input_rate: 0 .*given for f32"),
            (dict(real, sample_rate=0), "sample_rate: 0 .*given for f32"),
            (dict(real, sample_rate=256e6), "sample_rate: .*at most twice"),
            (dict(real, sample_rate=1000.0), "sample_rate: 1000 .*65536 taps"),
            (dict(real, frequency=1e6), "frequency: 1e.?0?6|frequency: 1000000 .*at least"),
            (dict(good, window="bartlett"), "window: 'bartlett'"),
            (dict(good, passband=1), "passband: 1 .*0.995"),
            (dict(good, type="sc4"), "type: 'sc4'"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                aperture.synthesizer(**parameters)

    def test_contradictions(self):
        """Tags that contradict the parameters end the flowgraph with their names."""
        bank = Bank(times=32)
        frames = bank.frames(bank.samples([tones([1e5])], bank.samples_of(4)))
        options = dict(output_type="f32", sample_rate=6e5)
        for block, drop, change, words in (
            (bank.block(), (), ("samples_per_item", 7), "total_channels, real_input"),
            (bank.block(), (), ("bandwidth", 3e6), "oversampling: 32/27"),
            (bank.block(**options), ("rx_rate",), None, "rx_rate"),
            (bank.block(**{**options, "input_rate": 1e6}), (), None, "input_rate: 1000000 Hz"),
            (bank.block(**options, frequency_is="sky"), ("rx_freq",), None, "frequency_is"),
            (bank.block(**options, frequency_is="sky", frequency=401e6), (), None, "frequency: 4"),
        ):
            tags = [tag for tag in bank.tags() if tag[1] not in drop]
            if change:
                tags = [(0, *change) if tag[1] == change[0] else tag for tag in tags]
            size = [4 if "rx" in words or "freq" in words or "input_rate" in words else 8]
            data = reference.samples_to_bytes(frames, "fc32")
            try:
                qa_tools.run(block, [data], size, tags=[tags])
            except RuntimeError:
                pass
            self.assertRegex(block.error(), words)

    def test_behind_a_chain(self):
        """f_engine, beamformer, synthesizer: a tone comes out where the tags say, also with frames
        that begin on a multiple of a time."""
        rate, tone = 2.0**20, 123456.0
        count = 60000
        at = np.arange(count) / rate
        x = np.exp(2j * np.pi * tone * at).astype(np.complex64)
        data = x.view(np.uint8).reshape(-1, 8)
        for align in (0, 2.0**-9 * 3):
            f_engine = aperture.f_engine(
                channels=64,
                inputs=1,
                spectra_per_frame=25,
                oversampling="32/27",
                taps=16,
                align=align,
            )
            beams = aperture.beamformer(
                channels=64, inputs=1, beams=1, spectra_per_frame=25, weights=np.ones((64, 1, 1))
            )
            block = aperture.synthesizer(
                channels=64, spectra_per_frame=25, oversampling="32/27", taps=16
            )
            (out,), (tags,) = qa_tools.run(
                [f_engine, beams, block],
                [data],
                [8],
                tags=[
                    [(0, "rx_time", rx_time(EPOCH, 0.0)), (0, "rx_rate", rate), (0, "rx_freq", 1e9)]
                ],
            )
            made = Output(out, tags, 1, False)
            expected = np.exp(2j * np.pi * tone * made.seconds())
            self.assertLess(decibels(made.samples[:, 0] - expected, expected), -60)

    @long_test
    def test_large(self):
        """Many channels, and odd rates."""
        self.complex_output(Bank(channels=4096, rate=2.0**25, times=3), frames=60)
        self.real_output(
            Bank(channels=1024, rate=107e6, times=11, start=3.5), 64e6, -30e6, frames=40
        )


if __name__ == "__main__":
    gr_unittest.run(qa_synthesizer)
