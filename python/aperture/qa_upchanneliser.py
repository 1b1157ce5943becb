#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""upchanneliser against the reference model, and against one fine filter bank."""

from fractions import Fraction

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, jump, ports_of, rx_time, tags_of

aperture = qa_tools.on_device(aperture)

RATE = float(2**20)  # samples a second
FREQUENCY = 408e6


def spectra_of(outputs, sample_type, inputs_per_port):
    """Bytes of each port -> [input][spectrum][channel] (sc8: [...][2])."""
    inputs = []
    for data in outputs:
        channels = data.shape[1] // inputs_per_port // (2 if sample_type == "sc8" else 8)
        flat = reference.samples_from_bytes(data, sample_type, inputs_per_port * channels)
        shape = (len(data), inputs_per_port, channels) + flat.shape[2:]
        inputs.extend(np.swapaxes(flat.reshape(shape), 0, 1))
    return np.array(inputs)


def coarse_tags(channels, oversampling=1, rate=RATE, seconds=0.0):
    """Tags of the spectra of a filter bank of so many channels, of samples of this rate."""
    return [
        (0, "rx_time", rx_time(EPOCH, seconds)),
        (0, "rx_rate", float(rate / channels * Fraction(oversampling))),
        (0, "rx_freq", FREQUENCY),
        (0, "bandwidth", rate),
        (0, "samples_per_item", int(channels / Fraction(oversampling))),
    ]


class qa_upchanneliser(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(19670807)

    def assert_equal_fc32(self, actual, expected):
        """Compares as qa_pfb_channelizer does: fp32 sums and FFTs."""
        self.assertEqual(actual.shape, expected.shape)
        rms = np.sqrt(np.mean(np.abs(expected) ** 2)) if expected.size else 0
        np.testing.assert_allclose(actual, expected, rtol=0, atol=3e-6 * rms)

    def check(
        self,
        channels=5,
        fine=4,
        oversampling="1",
        taps=3,
        inputs=2,
        inputs_per_port=2,
        input_type="fc32",
        output_type="fc32",
        gain=0.0,
        coarse_taps=0,
        coarse=None,
        count=7,
        chunks=61,
        limit=0,
        **options,
    ):
        """Runs a block on noise and compares it with the model; returns it."""
        points = int(fine * Fraction(oversampling))
        length = (count + taps - 1) * points + points - 1
        x = qa_tools.random_samples(self.rng, input_type, (inputs, length, channels))
        h = options.get("prototype")
        if h is None:
            h = reference.prototype(points, taps, options.get("window", "hann"))
        block = aperture.upchanneliser(
            channels=channels,
            fine=fine,
            oversampling=oversampling,
            taps=taps,
            inputs=inputs,
            inputs_per_port=inputs_per_port,
            input_type=input_type,
            output_type=output_type,
            gain=gain,
            coarse_taps=coarse_taps,
            **options,
        )
        if limit:
            block.set_max_noutput_items(limit)
        size = (2 if output_type == "sc8" else 8) * channels * fine * inputs_per_port
        outputs, _ = qa_tools.run(
            block,
            ports_of(x, input_type, inputs_per_port),
            [size] * (inputs // inputs_per_port),
            chunks=chunks,
        )
        values, low = reference.decode(x, input_type)
        expected = reference.upchannelise(
            values, fine, np.asarray(h), oversampling, coarse, max(1, coarse_taps)
        ) * (gain or 1)
        self.assertEqual(expected.shape[1], count)
        actual = spectra_of(outputs, output_type, inputs_per_port)
        if output_type == "sc8":
            expected, clamped = reference.quantise(expected)
            qa_tools.assert_steps_agree(actual, expected, block)
            self.assertEqual(block.clamped(), clamped.sum(axis=(1, 2)).tolist())
        else:
            self.assert_equal_fc32(actual, expected)
            self.assertEqual(block.clamped(), [0] * inputs)
        used = (count - 1 + taps) * points
        self.assertEqual(block.clamped_samples(), low[:, :used].sum(axis=(1, 2)).tolist())
        self.assertEqual(block.missing(), [0] * inputs)
        return block

    # ---- values

    def test_types(self):
        for input_type in ("fc32", "sc8", "sc4"):
            for output_type, gain in (("fc32", 0.0), ("sc8", 2.5)):
                for inputs, inputs_per_port in ((1, 1), (3, 1), (6, 3)):
                    with self.subTest(input_type=input_type, output_type=output_type):
                        self.check(
                            inputs=inputs,
                            inputs_per_port=inputs_per_port,
                            input_type=input_type,
                            output_type=output_type,
                            gain=gain,
                        )

    def test_sizes(self):
        """Odd and even numbers of fine channels, the smallest, one channel, one tap, many, and
        ratios that leave an even or an odd number out."""
        for channels, fine, ratio, taps, count in (
            (4, 2, "1", 2, 9),
            (1, 3, "1", 4, 9),
            (7, 9, "1", 2, 5),
            (3, 6, "4/3", 3, 8),
            (3, 3, "4/3", 3, 8),
            (2, 27, "32/27", 3, 4),
            (2, 54, "64/54", 2, 3),
            (3, 5, "2", 2, 5),
            (3, 5, "7/5", 64, 2),
            (130, 16, "1", 8, 40),
            (1, 4096, "1", 1, 1),
        ):
            with self.subTest(channels=channels, fine=fine, oversampling=ratio):
                self.check(channels=channels, fine=fine, oversampling=ratio, taps=taps, count=count)

    def test_calls_of_any_length(self):
        for chunks, limit in ((1, 1), (7, 2), (1000, 0)):
            self.check(chunks=chunks, limit=limit, count=23, input_type="sc8")

    def test_prototypes(self):
        """Windows and coefficients of both filters."""
        self.check(window="kaiser(5.5)", taps=4)
        self.check(prototype=list(self.rng.standard_normal(12)), taps=3)
        coarse = reference.prototype(10, 6, "hamming")
        for ratio in ("1", "3/2"):
            self.check(
                channels=10,
                oversampling=ratio,
                coarse_taps=6,
                coarse_window="hamming",
                coarse=coarse,
            )
        coarse = reference.prototype(64, 12, "blackman")
        self.check(
            coarse_taps=12,
            coarse_prototype=list(np.float32(3 * coarse)),
            coarse=np.float64(np.float32(coarse)),
            oversampling="5/4",
            output_type="sc8",
            gain=0.7,
        )

    def chain(self, x, n, fine, ratio, coarse_taps, taps=8, **options):
        """[input][spectrum][channel x fine] of samples [input][time] through both blocks."""
        inputs = len(x)
        shared = dict(inputs=inputs, inputs_per_port=inputs, oversampling=ratio)
        bank = aperture.pfb_channelizer(channels=n, taps=coarse_taps, **shared)
        split = aperture.upchanneliser(
            channels=n, fine=fine, taps=taps, coarse_taps=coarse_taps, **shared, **options
        )
        (data,), _ = qa_tools.run(
            [bank, split],
            ports_of(x, "fc32", inputs),
            [8 * n * fine * inputs],
            tags=[qa_tools.stream_tags()],
        )
        return spectra_of([data], "fc32", inputs)

    def test_behind_pfb_channelizer(self):
        """Both blocks are both models, one behind the other."""
        for n, fine, ratio, coarse_taps in ((12, 6, "4/3", 5), (10, 7, "1", 3)):
            x = qa_tools.random_samples(self.rng, "fc32", (3, 2500))
            coarse = reference.prototype(n, coarse_taps)
            y = reference.pfb(x, n, coarse, oversampling=ratio)
            h = reference.prototype(int(fine * Fraction(ratio)), 2)
            expected = reference.upchannelise(y, fine, h, ratio, coarse, coarse_taps)
            self.assert_equal_fc32(self.chain(x, n, fine, ratio, coarse_taps, 2), expected)

    def levels(self, places, n, fine, ratio, coarse_taps):
        """
        Levels, dB, of tones at `places` (fine channels) in each fine channel, of the amplitude that
        one bank of n fine channels gives a tone in the middle of a channel: [tone][channel].
        """
        hop = float(n / Fraction(ratio))
        length = int((coarse_taps * n + 9 * 8 * fine * float(Fraction(ratio)) * hop) // n * n)
        t = np.arange(length)
        x = np.exp(2j * np.pi * np.asarray(places)[:, None] / (n * fine) * t).astype(np.complex64)
        found = np.abs(self.chain(x, n, fine, ratio, coarse_taps)).max(axis=1)
        whole = np.sum(reference.prototype(n * fine, 8))
        return 20 * np.log10(np.maximum(found / whole, 1e-9))

    def test_tones_across_the_seams(self):
        """Each fine channel is where it belongs, as high as all others within 0.1 dB, with no
        channel twice and none left out, and aliases are 65 dB down."""
        n, fine = 32, 27
        # channel n/2 of the coarse ones is in the middle of the band
        middle = n // 2 * fine + fine // 2
        channels = np.concatenate(
            [middle + np.arange(-30, 30), np.arange(28), n * fine - 1 - np.arange(28)]
        )
        levels = self.levels(channels - middle, n, fine, "32/27", 24)
        np.testing.assert_array_equal(np.argmax(levels, axis=1), channels)
        own = levels[np.arange(len(channels)), channels]
        np.testing.assert_allclose(own, 0, atol=0.1)
        # the bank's own sides reach two channels far
        away = np.abs(np.arange(n * fine) - channels[:, None])
        away = np.minimum(away, n * fine - away)
        self.assertLess(levels[away > 2].max(), -65)
        # between two channels, of the same coarse one or not, a tone is in both alike; on a seam
        # 3 dB lower, as the coarse filter falls by that from the middle of the last fine channel on
        between = np.array([-14, -1, 0, 13, 40])
        levels = self.levels(between + 0.5, n, fine, "32/27", 24)
        for level, place, seam in zip(levels, between + middle, (1, 0, 0, 1, 1)):
            np.testing.assert_allclose(level[[place, place + 1]], level.max(), atol=0.1)
            self.assertAlmostEqual(level.max(), -6.05 - 3.1 * seam, delta=0.15)

    def test_tones_in_critically_sampled_channels(self):
        """The shape is taken out there, too; an alias is as strong as a tone on a seam, and less
        and less inside."""
        n, fine = 16, 16
        middle = n // 2 * fine + fine // 2
        places = np.array([0, 1, 3, 5, 6, 7, -8, -7])
        levels = self.levels(places, n, fine, "1", 8)
        own = levels[np.arange(len(places)), places + middle]
        np.testing.assert_allclose(own, 0, atol=0.1)
        # a tone that is `place` above the middle of a channel is in the next channel as far below
        # its lower edge, and aliases to below its upper one
        response = lambda place: np.abs(
            reference.response(reference.prototype(n, 8), place / 16 / n)
        )
        for number, place in enumerate(places):
            further = fine if place > 0 else -fine
            alias = levels[number, middle + place + further]
            expected = 20 * np.log10(response(abs(place) - 16) / response(abs(place)))
            if place:
                self.assertAlmostEqual(alias, expected, delta=0.2)

    def test_noise(self):
        """White noise has the same power in all channels, that of the samples; in critically
        sampled ones twice that at the edges."""
        for ratio, taps in (("4/3", 12), ("1", 8)):
            n, fine = 8, 48
            x = qa_tools.random_samples(self.rng, "fc32", (24, 30000))
            power = np.mean(np.abs(self.chain(x, n, fine, ratio, taps)) ** 2, axis=(0, 1))
            power /= np.mean(np.abs(x) ** 2)
            of_channel = power.reshape(n, fine).mean(axis=0)
            inner = slice(10, 39) if ratio == "1" else slice(None)
            # 24 x 71 x 8 powers, some of which share samples
            np.testing.assert_allclose(of_channel[inner], 1, atol=0.05)
            self.assertAlmostEqual(of_channel[inner].mean(), 1, delta=0.01)
            if ratio == "1":
                self.assertAlmostEqual(of_channel[0], 2, delta=0.1)

    def test_visibilities(self):
        """A source's visibilities are those of one bank of as many channels."""
        n, fine, late = 32, 27, 3
        common = qa_tools.random_samples(self.rng, "fc32", (120000,))
        own = qa_tools.random_samples(self.rng, "fc32", (2, 120000)) * 0.3
        x = (np.stack([common, np.roll(common, late)]) + own).astype(np.complex64)
        split = self.chain(x, n, fine, "32/27", 24)
        direct, _ = qa_tools.run(
            aperture.pfb_channelizer(channels=n * fine, inputs=2, inputs_per_port=2),
            ports_of(x, "fc32", 2),
            [16 * n * fine],
        )
        direct = spectra_of(direct, "fc32", 2)
        # half a coarse channel lies below the band of the samples, which is at its upper end
        split = np.roll(split, -(fine // 2), axis=-1)
        place = (np.arange(n * fine) - n * fine // 2) / (n * fine)
        rotation = np.exp(2j * np.pi * place * late)
        for spectra in (split, direct):
            products = np.mean(spectra[1] * spectra[0].conj(), axis=0)
            powers = np.mean(np.abs(spectra) ** 2, axis=1)
            coherence = products * rotation / np.sqrt(powers[0] * powers[1])
            # about 125 spectra of a coherence of 1 / 1.09
            np.testing.assert_allclose(np.angle(coherence), 0, atol=0.2)
            np.testing.assert_allclose(np.abs(coherence), 1 / 1.09, atol=0.09)
            self.assertAlmostEqual(np.mean(coherence), 1 / 1.09, delta=5e-3)
            edges = np.roll(coherence, fine // 2).reshape(n, fine)[:, [0, -1]]
            self.assertAlmostEqual(np.mean(edges), 1 / 1.09, delta=0.015)
        # the same noise, seen through two filters
        ratio = np.mean(np.abs(split[:, :100]) ** 2) / np.mean(np.abs(direct[:, :100]) ** 2)
        self.assertAlmostEqual(ratio, 1, delta=0.03)

    def test_delays_of_coarse_channels(self):
        """The phase that is left of a delay of half a sample and a whole one."""
        n, fine, delay = 32, 27, 1.5
        x = np.repeat(qa_tools.random_samples(self.rng, "fc32", (1, 40000)), 2, axis=0)
        shared = dict(inputs=2, inputs_per_port=2, oversampling="32/27")
        bank = aperture.pfb_channelizer(channels=n, taps=24, **shared)
        bank.set_delays([0.0, delay / RATE])
        split = aperture.upchanneliser(channels=n, fine=fine, coarse_taps=24, **shared)
        (data,), _ = qa_tools.run(
            [bank, split],
            ports_of(x, "fc32", 2),
            [16 * n * fine],
            tags=[qa_tools.stream_tags(rate=RATE)],
        )
        z = spectra_of([data], "fc32", 2)
        products = np.mean(z[1] * z[0].conj(), axis=0)
        place = (np.arange(n * fine) - n // 2 * fine - fine // 2) / (n * fine)
        left = np.angle(products * np.exp(2j * np.pi * place * delay)).reshape(n, fine)
        # half a sample over half a channel; the noise of 35 spectra that differ by 1.5 samples
        offsets = (np.arange(fine) - fine // 2) / fine
        expected = 2 * np.pi * offsets / n * 0.5 * np.sign(np.mean(left[:, -1]))
        np.testing.assert_allclose(np.mean(left, axis=0), expected, atol=0.01)
        self.assertLess(np.abs(expected).max(), np.pi / (2 * n))

    # ---- tags

    def test_tags(self):
        for channels, fine, ratio in ((4, 6, "1"), (5, 6, "4/3"), (5, 3, "4/3"), (4, 3, "1")):
            with self.subTest(channels=channels, fine=fine, oversampling=ratio):
                points, taps = int(fine * Fraction(ratio)), 3
                x = qa_tools.random_samples(self.rng, "sc8", (4, 100, channels))
                block = aperture.upchanneliser(
                    channels=channels,
                    fine=fine,
                    oversampling=ratio,
                    taps=taps,
                    inputs=4,
                    inputs_per_port=2,
                    input_type="sc8",
                )
                tags = coarse_tags(channels, ratio, seconds=0.75)
                _, out = qa_tools.run(
                    block, ports_of(x, "sc8", 2), [16 * channels * fine] * 2, tags=[tags] * 2
                )
                rate, spacing = {key: value for _, key, value in tags}["rx_rate"], RATE / channels
                for port in out:
                    found = {tag.key: tag.value for tag in port}
                    self.assertTrue(all(tag.offset == 0 for tag in port))
                    self.assertEqual(
                        set(found),
                        {"rx_time", "rx_freq", "rx_rate", "bandwidth", "samples_per_item"},
                    )
                    # the middle of the first and the last spectrum under the filter
                    late = 0.75 + (taps * points - 1) / 2 / rate
                    error = qa_tools.seconds_between(found["rx_time"], rx_time(EPOCH, late))
                    self.assertAlmostEqual(error, 0, delta=1e-12)
                    self.assertAlmostEqual(found["rx_rate"], rate / points, delta=1e-9)
                    self.assertAlmostEqual(found["rx_rate"], spacing / fine, delta=1e-6)
                    self.assertEqual(found["bandwidth"], RATE)
                    self.assertEqual(
                        found["samples_per_item"], points * int(channels / Fraction(ratio))
                    )
                    # fine channel fine//2 of a coarse channel is in its middle
                    frequencies = reference.channel_frequencies(
                        found["rx_freq"], found["bandwidth"], channels * fine
                    )
                    coarse = reference.channel_frequencies(FREQUENCY, RATE, channels)
                    np.testing.assert_allclose(
                        frequencies[fine // 2 :: fine], coarse, rtol=0, atol=1e-6
                    )

    def test_without_bandwidth(self):
        """The bandwidth follows from the rate; nothing else is made up."""
        x = qa_tools.random_samples(self.rng, "fc32", (1, 100, 4))
        for ratio in ("1", "4/3"):
            options = dict(channels=4, fine=3, oversampling=ratio, inputs=1, taps=2)
            for tags, bandwidth in (([], None), ([(0, "rx_rate", 512.0)], 2048.0)):
                _, (out,) = qa_tools.run(
                    aperture.upchanneliser(**options), ports_of(x, "fc32", 1), [96], tags=[tags]
                )
                found = dict(tags_of(out, "bandwidth")).get(0)
                wanted = bandwidth and bandwidth / float(Fraction(ratio))
                self.assertEqual(found, wanted)
                self.assertFalse({tag.key for tag in out} & {"rx_freq", "missing"})

    def test_tags_that_contradict_the_ratio(self):
        """Oversampled channels that are taken for others end it with one message."""
        x = qa_tools.random_samples(self.rng, "fc32", (1, 100, 4))
        block = aperture.upchanneliser(channels=4, fine=3, inputs=1, taps=2)
        (data,), _ = qa_tools.run(block, ports_of(x, "fc32", 1), [96], tags=[coarse_tags(4, "4/3")])
        self.assertEqual(len(data), 0)
        self.assertRegex(block.error(), "oversampling: 1/1 .*contradicts.*ratio of 1.333")

    # ---- lost spectra

    def lossy(self, losses, gaps=None, **options):
        """
        Two ports of two inputs, each with `missing` tags in front of it.

        losses: [input][(first, count)]; gaps: of each port, as reference.lay_out() takes them
        Returns the flowgraph.
        """
        channels, fine, ratio, taps = 3, 6, "4/3", 3
        points = 8
        x = qa_tools.random_samples(self.rng, "fc32", (4, 700, channels))
        gone = np.zeros((4, 700), bool)
        tags = [coarse_tags(channels, ratio), coarse_tags(channels, ratio)]
        rate = tags[0][1][2]
        for number, parts in enumerate(losses):
            for first, count in parts:
                gone[number, first : first + count] = True
                entry = {"input": number % 2, "first": first, "count": count}
                tags[number // 2].append((first, "missing", entry))
        # zeros stand there, of a block before; where they do not, they are not used either
        values, stretches = [], []
        for port in range(2):
            lost = 0
            for item, count in gaps[port] if gaps else ():
                lost += count
                tags[port].append(jump(item, (item + lost) / rate))
            for number in (2 * port, 2 * port + 1):
                laid, stretch = reference.lay_out(np.arange(700), gaps[port] if gaps else ())
                kept = stretch >= 0
                value = np.zeros((len(laid), channels), complex)
                value[kept] = x[number, laid[kept]]
                stretch = np.where(kept, np.where(gone[number, laid], -1, stretch), -1)
                values.append(value)
                stretches.append(stretch)
        common = min(len(stretch) for stretch in stretches)
        block = aperture.upchanneliser(
            channels=channels,
            fine=fine,
            oversampling=ratio,
            taps=taps,
            inputs=4,
            inputs_per_port=2,
            coarse_taps=0,
            **options,
        )
        graph = Flowgraph(
            block,
            ports_of(x, "fc32", 2),
            [16 * channels * fine] * 2,
            tags=[sorted(own, key=lambda tag: tag[0]) for own in tags],
            chunks=50,
        )
        missing = np.array([reference.missing_spectra(s[:common], points, taps) for s in stretches])
        expected = reference.upchannelise(
            np.array([value[:common] for value in values]),
            fine,
            reference.prototype(points, taps),
            ratio,
            missing=missing,
        )
        for again in range(2):
            outputs, out_tags = graph.run()
            actual = spectra_of(outputs, "fc32", 2)
            self.assert_equal_fc32(actual, expected)
            self.assertTrue((actual[missing] == 0).all())
            for port in range(2):
                found = qa_tools.missing_of(out_tags[port], 2, expected.shape[1])
                np.testing.assert_array_equal(found, missing[2 * port : 2 * port + 2])
                for offset, entry in tags_of(out_tags[port], "missing"):
                    self.assertEqual(offset, entry["first"])
                self.assertEqual(len(tags_of(out_tags[port], "rx_time")), 1)
            self.assertEqual(block.missing(), (missing.sum(axis=1) * (again + 1)).tolist())
        return graph

    def test_missing_spectra_of_an_input(self):
        """All fine spectra over a missing coarse one are missing, of this input alone; twice."""
        self.lossy([[], [(100, 1)], [(0, 30), (333, 7)], [(690, 10)]])

    def test_gaps(self):
        """Jumps of rx_time, on one port or both, and what is missing beside them."""
        self.lossy([[(50, 3)], [], [], []], [[(200, 30)], []])
        self.lossy([[], [], [(640, 2)], []], [[(200, 8)], [(300, 100), (500, 1)]])

    def test_not_numbers(self):
        """NaN in a channel: that input is missing there. On a GPU they are left to the flags."""
        x = qa_tools.random_samples(self.rng, "fc32", (2, 200, 3))
        clean = x.copy()
        x[1, 77, 2], clean[1, 77, 2] = np.nan, 0
        block = aperture.upchanneliser(
            channels=3, fine=4, taps=2, inputs=2, inputs_per_port=2, coarse_taps=0
        )
        graph = Flowgraph(block, ports_of(x, "fc32", 2), [8 * 3 * 4 * 2])
        outputs, out_tags = graph.run()
        if block.device_name() != "cpu":
            return
        missing = np.zeros((2, 49), bool)
        missing[1, 18:20] = True
        expected = reference.upchannelise(clean, 4, reference.prototype(4, 2), missing=missing)
        self.assert_equal_fc32(spectra_of(outputs, "fc32", 2), expected)
        np.testing.assert_array_equal(qa_tools.missing_of(out_tags[0], 2, 49), missing)
        events = [message["event"] for message in graph.messages()]
        self.assertEqual(set(events), {"not_numbers"})

    def test_retuned(self):
        """The new frequency holds from the first spectrum behind it as a whole."""
        channels, fine, taps = 4, 6, 2
        x = qa_tools.random_samples(self.rng, "fc32", (1, 300, channels))
        tags = coarse_tags(channels)
        rate = tags[1][2]
        tags += [jump(100, 100 / rate), (100, "rx_freq", 500e6)]
        _, (out,) = qa_tools.run(
            aperture.upchanneliser(channels=channels, fine=fine, taps=taps, inputs=1),
            ports_of(x, "fc32", 1),
            [8 * channels * fine],
            tags=[tags],
        )
        half = fine // 2 * RATE / channels / fine
        self.assertEqual(tags_of(out, "rx_freq"), [(0, FREQUENCY - half), (17, 500e6 - half)])
        self.assertEqual([entry["first"] for _, entry in tags_of(out, "missing")], [15])

    # ---- parameters

    def test_refused(self):
        for options, expected in (
            (dict(fine=1), "fine: 1 .*2 to 4096"),
            (dict(fine=4097), "fine: 4097 .*2 to 4096"),
            (dict(fine=16, oversampling="32/27"), "fine: 16 of .*32/27.*multiple of 27"),
            (dict(fine=4096, oversampling="17"), "fine: 4096 of .*17/1.*at most 65536"),
            (dict(oversampling="27/32"), "oversampling: '27/32' .*at least 1"),
            (dict(oversampling="x"), "oversampling: 'x' "),
            (dict(channels=0), "channels: 0 "),
            (dict(inputs=3, inputs_per_port=2), "inputs.*3"),
            (dict(input_type="f32"), "input_type: 'f32' .*fc32, sc8 or sc4"),
            (dict(output_type="sc8"), "gain: 0 .*given for sc8 from fc32"),
            (dict(gain=float("nan")), "gain: nan"),
            (dict(taps=65), "taps: 65 "),
            (dict(taps=2, prototype=[1.0] * 31), "prototype.*31.*32"),
            (dict(coarse_taps=65), "coarse_taps: 65 "),
            (dict(coarse_window="hat"), "window: 'hat'"),
            (dict(fine=2, taps=1), "window: 'hann' of 2 samples .*other than zero"),
            (dict(coarse_taps=3, coarse_prototype=[1.0] * 31), "coarse_prototype: 31 .*multiple"),
            (dict(coarse_taps=0, coarse_prototype=[1.0] * 30), "coarse_prototype: 30 "),
            (dict(coarse_taps=1, coarse_prototype=[float("nan")]), "coarse_prototype.*finite"),
            (dict(coarse_taps=2, coarse_prototype=[0.0] * 8), "coarse_prototype.*-60 dB"),
            (dict(channels=65536, fine=4096, taps=64), "window of a port.*64.*4096.*65536"),
        ):
            with self.subTest(options):
                with self.assertRaisesRegex(ValueError, expected):
                    aperture.upchanneliser(**options)


if __name__ == "__main__":
    gr_unittest.run(qa_upchanneliser)
