#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""zoom against its model: numbers, filters, times, tags, lost samples, chains."""

import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference, zooming
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    Flowgraph,
    jump,
    missing_of,
    ports_of,
    rx_time,
    seconds_between,
    stream_tags,
    tags_of,
)

aperture = qa_tools.on_device(aperture)

# A power of two: all times below are exact in float64.
RATE = float(2**20)
FREQUENCY = 408e6


def samples_of(outputs, sample_type="fc32", inputs_per_port=1):
    """Bytes of each port -> [input][time] (sc8: [...][2])."""
    inputs = []
    for data in outputs:
        values = reference.samples_from_bytes(data, sample_type, inputs_per_port)
        inputs.extend(np.swapaxes(values, 0, 1))
    return np.array(inputs)


def tone(frequency, count, rate=RATE, amplitude=1.0):
    """complex64 [1][time] with phase 0 at the first sample."""
    cycles = frequency / rate * np.arange(count) % 1
    return (amplitude * np.exp(2j * np.pi * cycles)).astype(np.complex64)[np.newaxis]


class qa_zoom(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(19690720)

    def run_zoom(self, block, samples, sample_type="fc32", per_port=1, tags=None, chunks=997):
        """(samples [input][time], tags of each port)"""
        given = ports_of(samples, sample_type, per_port)
        output, tags = qa_tools.run(
            block,
            given,
            [8 * per_port] * len(given),
            tags=[tags or stream_tags(rate=RATE / reference.samples_in_item(sample_type, per_port))]
            * len(given),
            chunks=chunks,
        )
        return samples_of(output, "fc32", per_port), tags

    def assert_close(self, actual, expected, scale):
        """Within 2e-6 of the rms of the input: sums in fp32 of some hundred products, and phasors
        that are good to 2e-7."""
        self.assertEqual(actual.shape, expected.shape)
        self.assertGreater(actual.shape[1], 0)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6 * scale)

    # ---- numbers

    def check_type(self, sample_type, per_port, ports, decimation, inverted, frequency):
        inputs, unit = per_port * ports, reference.samples_in_item(sample_type, per_port)
        block = aperture.zoom(
            frequency=frequency,
            decimation=decimation,
            inputs=inputs,
            inputs_per_port=per_port,
            input_type=sample_type,
            inverted=inverted,
        )
        length = (block.length() + 20 * decimation + decimation // 2) // unit * unit
        samples = qa_tools.random_samples(self.rng, sample_type, (inputs, length))
        if sample_type in ("sc8", "s8"):
            samples[0, 5::7] = -128
        actual, _ = self.run_zoom(block, samples, sample_type, per_port, chunks=97)
        values, low = reference.decode(samples, sample_type)
        expected = zooming.zoom(values, frequency, RATE, block.stages(), inverted)
        self.assert_close(actual, expected, np.sqrt(np.mean(np.abs(values) ** 2)))
        used = block.length() + (actual.shape[1] - 1) * decimation
        self.assertEqual(block.clamped_samples(), low[:, :used].sum(axis=1).tolist())

    def test_types(self):
        """Each type of sample, of one input and several, real and complex, inverted or not."""
        for number, (sample_type, per_port, ports, decimation) in enumerate(
            [
                ("fc32", 1, 2, 7),
                ("fc32", 3, 1, 64),
                ("sc16", 2, 2, 5),
                ("sc8", 1, 1, 16),
                ("sc4", 3, 1, 2),
                ("f32", 1, 1, 3),
                ("s16", 4, 1, 11),
                ("s12", 1, 2, 6),
                ("s10", 1, 1, 20),
                ("s10", 4, 1, 9),
                ("s8", 5, 1, 8),
            ]
        ):
            for inverted in (False, True):
                with self.subTest(sample_type, inverted=inverted):
                    shift = RATE / 33.3 if decimation > 2 else 1234.5
                    self.check_type(
                        sample_type, per_port, ports, decimation, inverted, (-1) ** number * shift
                    )

    def test_stages(self):
        """Many decimations, among them primes and products of three stages."""
        for decimation in (2, 3, 13, 17, 40, 97, 256, 1000, 1024):
            with self.subTest(decimation=decimation):
                self.check_type("fc32", 1, 1, decimation, False, -RATE / 7)

    def test_eight_bits(self):
        """sc8 differs by at most one step, in few samples; what does not fit is counted."""
        block = aperture.zoom(
            frequency=1e5, decimation=4, inputs=1, output_type="sc8", gain=1.5, input_type="sc8"
        )
        samples = qa_tools.random_samples(self.rng, "sc8", (1, 20000), rms=60)
        output, _ = qa_tools.run(
            block, ports_of(samples, "sc8", 1), [2], tags=[stream_tags()], chunks=500
        )
        values, _ = reference.decode(samples, "sc8")
        expected, clamped = reference.quantise(
            1.5 * zooming.zoom(values, 1e5, RATE, block.stages())
        )
        off = np.abs(samples_of(output, "sc8").astype(int) - expected)
        self.assertLessEqual(off.max(), 1)
        self.assertLessEqual(np.mean(off > 0), 1e-4)
        self.assertGreater(clamped.sum(), 10)
        self.assertLessEqual(abs(block.clamped()[0] - clamped.sum()), 1)

    def test_cuts(self):
        """However calls cut the stream, and started again: the same bits."""
        samples = qa_tools.random_samples(self.rng, "fc32", (2, 30000))
        for decimation in (5, 96):
            make = lambda decimation=decimation: aperture.zoom(
                frequency=RATE / 9, decimation=decimation, inputs=2
            )
            expected, _ = self.run_zoom(make(), samples, chunks=0)
            for chunks in (1, 83, 4000):
                given = ports_of(samples, "fc32", 1)
                graph = Flowgraph(make(), given, [8, 8], [stream_tags()] * 2, chunks=chunks)
                for _ in range(2):
                    found = samples_of(graph.run()[0])
                    self.assertEqual(found.tobytes(), expected.tobytes())

    # ---- the filter

    def test_filter(self):
        """The filter as it is: what the block says of it, and what is promised."""
        for decimation, passband in [(2, 0.8), (3, 0.95), (12, 0.8), (48, 0.9), (256, 0.6)]:
            with self.subTest(decimation=decimation, passband=passband):
                block = aperture.zoom(decimation=decimation, passband=passband, inputs=1)
                h = zooming.whole_filter(block.stages())
                self.assertEqual(len(h), block.length())
                points = 64 * (len(h) // decimation) * decimation
                gain = np.abs(np.fft.rfft(h, points))
                # frequencies in units of the output's rate, and what they alias to
                f = np.arange(len(gain)) * decimation / points
                passed, folded = f <= passband / 2, np.abs(f - np.rint(f)) <= passband / 2
                ripple = 20 * np.log10(gain[passed].max() / gain[passed].min())
                alias = 20 * np.log10(gain[folded & ~passed].max())
                self.assertLess(ripple, 0.1)
                self.assertLess(alias, -80)
                # coefficients are of single precision, and the block's figure is a bound
                self.assertAlmostEqual(block.ripple(), ripple, delta=2e-4)
                self.assertLess(alias, -block.attenuation() + 0.1)
                self.assertGreater(alias, -block.attenuation() - 3)

    def test_filter_response(self):
        """
        The measure of katgpucbf's test_filter_response: 1712 MHz of real samples, 107 MHz out, of
        which 64 are used. Tones over twice the output's band, one an input; response in the
        frequency that each appears at.
        """
        rate, decimation, passed = 1712e6, 16, 64e6
        width = rate / decimation
        offsets = (np.arange(-64, 64) + 0.5) * width / 64
        block = aperture.zoom(
            frequency=50e6,
            decimation=decimation,
            passband=passed / width,
            inputs=len(offsets),
            inputs_per_port=len(offsets),
            input_type="f32",
        )
        times = np.arange(block.length() + 127 * decimation) / rate
        tones = np.cos(2 * np.pi * (rate / 4 + 50e6 + offsets)[:, np.newaxis] * times)
        found, _ = self.run_zoom(
            block, tones.astype(np.float32), "f32", len(offsets), stream_tags(rate=rate)
        )
        taken = np.exp(-2j * np.pi * offsets[:, np.newaxis] / width * np.arange(128))
        response = 20 * np.log10(np.abs(np.mean(found * taken, axis=1)))
        wanted = np.abs(offsets) <= passed / 2
        self.assertLess(np.ptp(response[wanted]), 0.1)
        self.assertLess(np.max(np.abs(response[wanted])), 0.05)  # tones keep their amplitude
        folded = (offsets + width / 2) % width - width / 2
        aliases = (np.abs(folded) <= passed / 2) & ~wanted
        self.assertEqual((wanted.sum(), aliases.sum()), (38, 38))
        self.assertLess(np.max(response[aliases]), -80)

    # ---- times, phases and tags

    def test_phase(self):
        """A tone of phase 0 has, at the time of each sample, the phase that its frequency and that
        of the zoom give: after 3 million samples, too, to what single precision has."""
        frequency, sky, decimation = 123456.789, 131072.0, 32
        block = aperture.zoom(frequency=frequency, decimation=decimation, inputs=1)
        found, tags = self.run_zoom(block, tone(sky, 3_000_000), chunks=0)
        (first,) = [value for offset, value in tags_of(tags[0], "rx_time") if offset == 0]
        start = seconds_between(first, rx_time(EPOCH))
        self.assertEqual(start, (block.length() - 1) / 2 / RATE)
        for m in (0, 1, 50_001, found.shape[1] - 1):
            time = start + m * decimation / RATE
            expected = np.exp(2j * np.pi * (sky - frequency) * time)
            self.assertLess(abs(found[0, m] - expected), 1e-3)  # the ripple, and rounding
            self.assertLess(abs(np.angle(found[0, m] / expected)), 3e-6)

    def test_tags(self):
        """States: times, rate, frequency and bandwidth, and those of a receiver tuned anew."""
        block = aperture.zoom(frequency=65536.0, decimation=8, inputs=2, input_type="sc8")
        samples = qa_tools.random_samples(self.rng, "sc8", (2, 6000))
        tuned = [*stream_tags(0.25), (2001, "rx_freq", 420e6), jump(2001, 0.25 + 2001 / RATE)]
        length = block.length()
        _, tags = self.run_zoom(block, samples, "sc8", tags=tuned)
        first = (EPOCH, 0.25 + (length - 1) / 2 / RATE)
        item = -(-2001 // 8)  # the first one whose filter lies behind the change
        across = (2001 - length) // 8 + 1  # the first one whose filter does not lie before it
        for number, port in enumerate(tags):
            (lost,) = tags_of(port, "missing")
            self.assertEqual(
                lost, (across, {"input": 0, "first": across, "count": item - across}), number
            )
            port = [tag for tag in port if tag.key != "missing"]
            self.assertEqual(
                sorted((t.offset, t.key, t.value) for t in port),
                sorted(
                    [
                        (0, "rx_time", first),
                        (0, "rx_rate", RATE / 8),
                        (0, "bandwidth", RATE / 8),
                        (0, "rx_freq", 408e6 + 65536),
                        (item, "rx_freq", 420e6 + 65536),
                        (item, "rx_time", (EPOCH, first[1] + item * 8 / RATE)),
                    ]
                ),
            )

    def test_small_steps_of_frequency(self):
        """
        A receiver that follows a Doppler shift, by 1 Hz or 100 Hz at 1.4 GHz: each step is said
        behind the block, from the sample on whose filter lies behind it. The second port's tuner
        rounds otherwise, which is no step; what the first one says counts.
        """
        sky, decimation, offset = 1.4e9, 8, 65536.0
        steps = {2001: sky + 1, 3000: sky + 2, 4003: sky - 98, 4105: sky - 97, 5200: sky - 96}
        samples = qa_tools.random_samples(self.rng, "fc32", (2, 9000))
        begin = [tag for tag in stream_tags() if tag[1] != "rx_freq"]

        def tags_with(rounding):
            tuned = {0: sky, **steps}.items()
            return [
                *begin,
                *((at, "rx_freq", value + rounding) for at, value in tuned),
                *(jump(at, at / RATE) for at in steps),
            ]

        # the first sample whose filter lies behind a step as a whole
        expected = [(0, sky + offset)]
        expected += [(-(-at // decimation), value + offset) for at, value in steps.items()]
        for rounding in (0.0, 0.25):
            for chunks in (97, 0):
                with self.subTest(rounding=rounding, chunks=chunks):
                    graph = Flowgraph(
                        aperture.zoom(frequency=offset, decimation=decimation, inputs=2),
                        ports_of(samples, "fc32", 1),
                        [8, 8],
                        [tags_with(0.0), tags_with(rounding)],
                        chunks=chunks,
                    )
                    for _ in range(2):
                        _, found = graph.run()
                        for port in found:
                            self.assertEqual(tags_of(port, "rx_freq"), expected)

    def test_rate_of_packed_items(self):
        """rx_rate of packed samples counts items of two or four samples."""
        block = aperture.zoom(frequency=-3000.0, decimation=12, inputs=1, input_type="s10")
        samples = qa_tools.random_samples(self.rng, "s10", (1, 2000))
        _, tags = self.run_zoom(block, samples, "s10")
        self.assertEqual(tags_of(tags[0], "rx_rate"), [(0, RATE / 12)])
        (time,) = tags_of(tags[0], "rx_time")
        self.assertEqual(seconds_between(time[1], rx_time(EPOCH)), (block.length() - 1) / 2 / RATE)

    def test_lost_samples(self):
        """A gap and NaN give zeros with `missing` tags, and all others as without a loss."""
        samples = qa_tools.random_samples(self.rng, "fc32", (2, 9000))
        decimation, gap = 6, 1001  # samples lost before number 4000 of the second port
        block = aperture.zoom(frequency=-1e5, decimation=decimation, inputs=2)
        wrong = samples.copy()
        wrong[0, 6000] = np.nan
        wrong[0, 6003] = 1j * np.inf
        ports = [wrong[:1], np.delete(wrong[1:], np.s_[4000 : 4000 + gap], axis=1)]
        tags = [stream_tags(), [*stream_tags(), jump(4000, (4000 + gap) / RATE)]]
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(port.T, "fc32") for port in ports],
            [8, 8],
            tags,
            chunks=700,
        )
        expected = zooming.zoom(samples.astype(complex), -1e5, RATE, block.stages())
        starts = np.arange(expected.shape[1]) * decimation
        lost = lambda first, end: (starts < end) & (starts + block.length() > first)
        missing = np.array([lost(6000, 6004), lost(4000, 4000 + gap)])
        if qa_tools.DEVICE != "cpu":
            missing[0] = False  # nobody looks there
        for _ in range(2):
            before = graph.status.num_messages()
            output, found = graph.run()
            actual = samples_of(output)
            np.testing.assert_array_equal(missing_of_ports(found, expected.shape[1]), missing)
            if qa_tools.DEVICE != "cpu":
                bad = lost(6000, 6004)
                self.assertTrue(np.isnan(actual[0, bad]).all())
                actual[0, bad] = expected[0, bad]
            self.assertFalse(actual[missing].any())
            self.assert_close(np.where(missing, expected, actual), expected, 20 * np.sqrt(2))
            self.assertGreater(graph.status.num_messages(), before)
        events = {message["event"] for message in graph.messages()}
        self.assertIn("lost", events)
        self.assertEqual(block.missing()[1], 2 * missing[1].sum())

    def test_filled_samples(self):
        """`missing` tags on samples are gaps, as for a filter bank behind a zoom."""
        samples = qa_tools.random_samples(self.rng, "sc16", (1, 3000))
        block = aperture.zoom(decimation=4, inputs=1, input_type="sc16")
        entry = {"input": 0, "first": 1200, "count": 7}
        _, tags = self.run_zoom(
            block, samples, "sc16", tags=[*stream_tags(), (1200, "missing", entry)]
        )
        count = (3000 - block.length()) // 4 + 1
        starts = np.arange(count) * 4
        np.testing.assert_array_equal(
            missing_of(tags[0], 1, count)[0], (starts < 1207) & (starts + block.length() > 1200)
        )

    def test_long_gap(self):
        """Behind a gap that is not filled, the phase counts from the first sample there."""
        samples = qa_tools.random_samples(self.rng, "fc32", (1, 4000))
        block = aperture.zoom(frequency=99999.0, decimation=10, inputs=1, most_gap=1)
        tags = [*stream_tags(), jump(1777, 50.0)]
        found, told = self.run_zoom(block, samples, tags=tags)
        values = samples.astype(complex)
        parts = [values[:, :1777], values[:, 1777:]]
        expected = [zooming.zoom(part, 99999.0, RATE, block.stages()) for part in parts]
        self.assert_close(found, np.concatenate(expected, axis=1), 20 * np.sqrt(2))
        item = expected[0].shape[1]
        (later,) = [value for offset, value in tags_of(told[0], "rx_time") if offset == item]
        self.assertEqual(
            seconds_between(later, rx_time(EPOCH, 50.0)), (block.length() - 1) / 2 / RATE
        )

    # ---- chains

    def test_delays(self):
        """
        An input that comes later, with the tags that stream_align sends for it, is lined up behind
        a zoom as it is without one: the phase of the product is the same in each channel.
        """
        count, frequency, late = 2**17, 150000.0, 2.7e-6
        spectrum = np.fft.fft(self.rng.standard_normal((2, count)).T @ [1, 1j])
        turns = np.fft.fftfreq(count, 1 / RATE)
        phase = 0.4
        # input 0 is ahead by `late`, and rotated: delay and phase line it up
        ahead = np.fft.ifft(spectrum * np.exp(2j * np.pi * turns * late - 1j * phase))
        samples = 20 * np.array([ahead, np.fft.ifft(spectrum)]).astype(np.complex64)
        vector = lambda *values: pmt_vector(values)
        tags = [
            *stream_tags(),
            (0, "delay", vector(late, 0.0)),
            (0, "delay_rate", vector(0.0, 0.0)),
            (0, "phase", vector(phase, 0.0)),
            (0, "phase_rate", vector(0.0, 0.0)),
        ]
        zoom = aperture.zoom(frequency=frequency, decimation=8, inputs=2, inputs_per_port=2)
        bank = aperture.pfb_channelizer(channels=64, inputs=2, inputs_per_port=2)
        output, _ = qa_tools.run(
            [zoom, bank], ports_of(samples, "fc32", 2), [8 * 128], tags=[tags], chunks=0
        )
        spectra = reference.samples_from_bytes(output[0], "fc32", 128).reshape(-1, 2, 64)
        products = np.mean(spectra[:, 0] * spectra[:, 1].conj(), axis=0)
        middle = np.abs(np.arange(64) - 32) < 0.38 * 64
        # a tenth of a sample of the zoom is 0.3 rad at the edges of the band
        self.assertLess(np.max(np.abs(np.angle(products[middle]))), 0.02)

    def test_delay_tags(self):
        """Phases become those at the new middle, and rates go on until the sample that has them."""
        samples = qa_tools.random_samples(self.rng, "fc32", (1, 4000))
        for inverted in (False, True):
            block = aperture.zoom(frequency=1e5, decimation=5, inputs=1, inverted=inverted)
            tags = [*stream_tags()]
            for item, values in [(0, (1e-6, 1e-9, 0.5, 3.0)), (1003, (2e-6, 0.0, -0.25, 0.0))]:
                for key, value in zip(("delay", "delay_rate", "phase", "phase_rate"), values):
                    tags.append((item, key, pmt_vector([value])))
            _, told = self.run_zoom(block, samples, tags=tags)
            sign = -1 if inverted else 1
            for item, begin, (delay, rate, phase, phase_rate) in [
                (0, 0, (1e-6, 1e-9, 0.5, 3.0)),
                (201, 1003, (2e-6, 0.0, -0.25, 0.0)),
            ]:
                later = (item * 5 + (block.length() - 1) / 2 - begin) / RATE
                now = delay + rate * later
                expected = {
                    "delay": now,
                    "delay_rate": rate,
                    "phase": sign * (phase + phase_rate * later) - 2 * np.pi * 1e5 * now,
                    "phase_rate": sign * phase_rate - 2 * np.pi * 1e5 * rate,
                }
                for key, value in expected.items():
                    (found,) = [v for offset, v in tags_of(told[0], key) if offset == item]
                    self.assertAlmostEqual(found[0], value, delta=1e-12)

    def test_fan_out(self):
        """Several zooms beside the full band: each as alone, and tones in the same sky channel."""
        count = 60_000
        sky = [-200_000.0, 10_000.0, 333_333.0]
        samples = sum(tone(f, count, amplitude=5.0) for f in sky)
        samples += qa_tools.random_samples(self.rng, "fc32", (1, count), rms=0.1)
        source = qa_tools.ByteSource(
            reference.samples_to_bytes(samples.T, "fc32"), stream_tags(), 3000
        )
        top, sinks = gr.top_block(), []
        zooms = [
            (f + 1000.0, aperture.zoom(frequency=f + 1000.0, decimation=d, inputs=1))
            for f, d in zip(sky, (16, 10, 24))
        ]
        banks = [aperture.pfb_channelizer(channels=64, inputs=1) for _ in range(4)]
        for (_, zoom), bank in zip(zooms, banks):
            top.connect(source, zoom, bank)
        top.connect(source, banks[3])
        for bank in banks:
            sinks.append(qa_tools.ByteSink(8 * 64))
            top.connect(bank, sinks[-1])
        kept = [qa_tools.ByteSink(8, 100) for _ in zooms]
        for (_, zoom), sink in zip(zooms, kept):
            top.connect(zoom, sink)
        top.run()
        for (frequency, zoom), sink, fine, f in zip(zooms, kept, sinks, sky):
            expected = zooming.zoom(samples.astype(complex), frequency, RATE, zoom.stages())
            self.assert_close(samples_of([sink.data()]), expected, 9)
            edge = {tag.key: tag.value for tag in fine.tags}
            width = edge["bandwidth"] / 64
            spectra = reference.samples_from_bytes(fine.data(), "fc32", 64)
            peak = np.argmax(np.mean(np.abs(spectra) ** 2, axis=0))
            found = edge["rx_freq"] + (peak - 32) * width
            self.assertLessEqual(abs(found - FREQUENCY - f), width / 2)
        # the full band is there, too
        spectra = reference.samples_from_bytes(sinks[3].data(), "fc32", 64)
        strong = np.argsort(np.mean(np.abs(spectra) ** 2, axis=0))[-3:]
        nearest = [round(f / RATE * 64) + 32 for f in sky]
        self.assertEqual(sorted(strong), sorted(nearest))

    # ---- errors

    def test_refused(self):
        for parameters, words in [
            (dict(decimation=1), "decimation: 1 is not allowed"),
            (dict(decimation=4097), "decimation: 4097"),
            (dict(passband=0.96), "passband: 0.96"),
            (dict(output_type="sc8"), "gain: 0"),
            (dict(input_type="s12", inputs=1, decimation=3), "multiple of 2"),
            (dict(input_type="sc12"), "input_type"),
            (dict(inputs=3, inputs_per_port=2), "inputs_per_port"),
            (dict(frequency=float("nan")), "frequency"),
            (dict(gain=1e39), "gain"),
            # the window of a port takes more than a buffer can have
            (
                dict(decimation=4096, inputs=8192, inputs_per_port=8192),
                "window of a port: .* taps x 8192 inputs x 8 bytes",
            ),
        ]:
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                aperture.zoom(**parameters)

    def fails(self, tags, words, **parameters):
        block = aperture.zoom(inputs=1, **parameters)
        samples = np.zeros((1, 4000), np.complex64)
        block.set_log_level("off")
        found, _ = self.run_zoom(block, samples, tags=tags)
        self.assertEqual(found.size, 0)
        self.assertIn(words, block.error())

    def test_band(self):
        """A part beyond the band, and samples without a rate, end with an error."""
        rate = [(0, "rx_rate", RATE)]
        self.fails(rate, "must be from -", frequency=0.4 * RATE, decimation=3)
        self.fails([(0, "rx_freq", 1e8)], "no tag rx_rate")


def pmt_vector(values):
    import pmt

    return pmt.init_f64vector(len(values), list(values))


def missing_of_ports(tags, count):
    """bool [port][sample], of ports of one input each"""
    return np.array([missing_of(port, 1, count)[0] for port in tags])


if __name__ == "__main__":
    gr_unittest.run(qa_zoom)
