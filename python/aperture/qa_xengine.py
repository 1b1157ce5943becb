#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""xengine against the reference model: exact sums, counts, tags, lengths of integrations."""

import threading

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    RATE,
    Flowgraph,
    frame_tags,
    missing_tags,
    rx_time,
    tags_of,
)

aperture = qa_tools.on_device(aperture)


class qa_xengine(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1984)

    def visibilities_of(self, data, channels, inputs):
        """bytes -> [integration][channel][product]"""
        shape = (-1, channels, inputs * (inputs + 1) // 2)
        return np.frombuffer(data.tobytes(), dtype=np.complex64).reshape(shape)

    def counted_of(self, tags, integrations, inputs):
        """Returns the counts of the tags: int64 [integration][product]."""
        counted = np.full((integrations, inputs * (inputs + 1) // 2), -1)
        found = qa_tools.each_of(tags, "counted", integrations)
        self.assertEqual([offset for offset, _ in found], list(range(integrations)))
        for offset, value in found:
            self.assertIn(len(value), (1, counted.shape[1]))
            counted[offset] = value
        return counted

    def assert_equal(self, actual, expected, voltages):
        """
        Integers: bit by bit. fc32: within 2e-6 of the product of the two inputs' rms, as
        sums of up to 1000 terms in fp32 are (2^-24 sqrt(1000), five times).
        """
        self.assertEqual(actual.shape, expected.shape)
        if expected.dtype == np.complex64:
            # exactly, but for the sign of 0
            np.testing.assert_array_equal(actual + 0, expected + 0)
            return
        inputs = voltages.shape[2]
        index = [a * (a + 1) // 2 + a for a in range(inputs)]
        power = np.abs(expected[..., index]).max(axis=(0, 1))
        for p, (a, b) in enumerate(reference.products(inputs)):
            limit = 2e-6 * np.sqrt(power[a] * power[b])
            np.testing.assert_allclose(actual[..., p], expected[..., p], rtol=0, atol=limit)

    def check(
        self,
        channels=3,
        inputs=3,
        spectra_per_frame=10,
        frames=7,
        integration=1,
        sample_type="sc8",
        normalise=True,
        missing=None,
        split=False,
        voltages=None,
        tags=(),
        chunks=5,
        rms=40,
    ):
        """Runs a block and compares it with the model. Returns the block and its tags."""
        if voltages is None:
            spectra_per_frame = qa_tools.frame_length(spectra_per_frame, sample_type)
            shape = (frames, channels, inputs, spectra_per_frame)
            voltages = qa_tools.random_samples(self.rng, sample_type, shape, rms)
        frames, channels, inputs, spectra_per_frame = voltages.shape[:4]
        tags = list(tags)
        if missing is not None:
            voltages[np.broadcast_to(missing[:, None], voltages.shape[:4])] = 0
            tags += missing_tags(missing, split)
        block = aperture.xengine(
            channels=channels,
            inputs=inputs,
            spectra_per_frame=spectra_per_frame,
            type=sample_type,
            integration=integration,
            normalise=normalise,
        )
        (data,), (out_tags,) = qa_tools.run(
            block,
            [reference.samples_to_bytes(voltages, sample_type)],
            [8 * channels * inputs * (inputs + 1) // 2],
            tags=[tags],
            chunks=chunks,
        )
        expected, counted = reference.correlate(voltages, integration, missing, normalise)
        actual = self.visibilities_of(data, channels, inputs)
        self.assert_equal(actual, expected, voltages)
        found = self.counted_of(out_tags, len(expected), inputs)
        np.testing.assert_array_equal(found, counted)
        lengths = [spectra_per_frame * integration] * (frames // integration)
        rest = frames % integration
        lengths += [spectra_per_frame * rest] if rest else []
        found = qa_tools.each_of(out_tags, "spectra", len(lengths))
        self.assertEqual(found, list(enumerate(lengths)))
        partial = [(len(lengths) - 1, True)] if rest else []
        self.assertEqual([tag for tag in tags_of(out_tags, "partial") if tag[1]], partial)
        return block, out_tags

    # ---- values

    def test_shapes(self):
        """Odd sizes, and those around the width of a register or a tile."""
        for channels, inputs, times, frames, integration in [
            (1, 1, 1, 3, 1),
            (1, 2, 7, 5, 2),
            (5, 3, 8, 4, 3),
            (2, 4, 31, 3, 1),
            (3, 5, 32, 3, 2),
            (2, 7, 33, 4, 4),
            (3, 8, 64, 3, 1),
            (2, 9, 63, 3, 3),
            (1, 16, 100, 2, 2),
            (2, 17, 128, 2, 1),
            (1, 33, 257, 2, 2),
            (1, 64, 96, 2, 1),
            (130, 2, 16, 3, 2),
        ]:
            for sample_type in ("sc8", "sc4", "fc32"):
                for normalise in (True, False):
                    with self.subTest(channels=channels, inputs=inputs, spectra_per_frame=times):
                        self.check(
                            channels, inputs, times, frames, integration, sample_type, normalise
                        )

    def test_chunks(self):
        for chunks in (1, 3, 0):
            for integration in (1, 4, 100):
                self.check(frames=43, integration=integration, chunks=chunks)

    def test_every_size(self):
        """Each number of inputs from 2 to 130: through two tiles and a bit, whatever they are."""
        for inputs in range(2, 131):
            for sample_type, rms in (("sc8", 40), ("sc4", 3)):
                with self.subTest(inputs=inputs, sample_type=sample_type):
                    self.check(
                        channels=2,
                        inputs=inputs,
                        spectra_per_frame=33 + inputs % 16,
                        frames=3,
                        integration=2,
                        sample_type=sample_type,
                        normalise=False,
                        chunks=0,
                        rms=rms,
                    )

    def test_many_inputs(self):
        self.check(channels=1, inputs=256, spectra_per_frame=32, frames=2, integration=2)

    def test_extremes(self):
        """Nothing but +-127: the largest sums there are."""
        for inputs, times in ((2, 1024), (5, 1000), (16, 1023)):
            shape = (6, 2, inputs, qa_tools.frame_length(times), 2)
            voltages = self.rng.choice([-127, 127], shape).astype(np.int8)
            self.check(voltages=voltages, integration=3, normalise=False)
            voltages[:] = -127
            self.check(voltages=voltages, integration=6, normalise=False)

    def test_lowest_of_4_bits(self):
        """-8 is read as -7; all 256 bytes."""
        voltages = self.rng.integers(-8, 8, (3, 2, 5, 1040, 2)).astype(np.int8)
        block = aperture.xengine(
            channels=2, inputs=5, spectra_per_frame=1040, type="sc4", integration=3, normalise=False
        )
        port = reference.samples_to_bytes(voltages, "sc4")
        self.assertEqual(len(np.unique(port)), 256)
        (data,), _ = qa_tools.run(block, [port], [8 * 2 * 15])
        expected, _ = reference.correlate(np.maximum(voltages, -7), 3, normalise=False)
        self.assert_equal(self.visibilities_of(data, 2, 5), expected, voltages)

    def test_long_sums(self):
        """More than fits into 32 bits: 2 x 127^2 x 98304 = 3.2e9."""
        voltages = np.full((96, 1, 2, 1024, 2), 127, dtype=np.int8)
        voltages[:, :, 1, :, 1] = -127
        voltages[0, 0, 0, 0, 0] = 126
        for integration in (96, 70):
            self.check(voltages=voltages, integration=integration, normalise=False)
            self.check(voltages=voltages, integration=integration)

    def test_rounded_once(self):
        """float(double(sum) scale) where fp32 sums, or a scale in fp32, would not do."""
        self.check(
            channels=20,
            inputs=4,
            spectra_per_frame=333,
            frames=21,
            integration=21,
            rms=60,
            chunks=0,
        )
        self.check(
            channels=20,
            inputs=4,
            spectra_per_frame=333,
            frames=21,
            integration=21,
            normalise=False,
            rms=60,
        )

    def test_largest_arrays(self):
        """2048 inputs exactly; of 4096, more channels than an item can have are refused."""
        inputs, times = 2048, 16
        voltages = qa_tools.random_samples(self.rng, "sc8", (2, 1, inputs, times), 60)
        block = aperture.xengine(
            channels=1,
            inputs=inputs,
            spectra_per_frame=times,
            type="sc8",
            integration=2,
            normalise=False,
        )
        port = reference.samples_to_bytes(voltages, "sc8")
        (data,), _ = qa_tools.run(block, [port], [8 * inputs * (inputs + 1) // 2])
        # sums of so few products of int8 are exact in float64
        x = (voltages[:, 0] @ [1, 1j]).transpose(1, 0, 2).reshape(inputs, -1)
        expected = (x @ x.conj().T)[np.tril_indices(inputs)]
        np.testing.assert_array_equal(self.visibilities_of(data, 1, inputs)[0, 0], expected)
        with self.assertRaisesRegex(ValueError, "at most 31 channels of this size"):
            aperture.xengine(channels=32, inputs=4096, spectra_per_frame=16, type="sc8")

    def test_accuracy_of_fc32(self):
        """
        docs/conventions.md: the parts of a visibility are wrong by at most 3.2e-5 of
        sum |x_a| |x_b|, and by 1e-6 of it for noise, where roundings go both ways; not more
        of a long integration. Voltages of one sign do not cancel, and large ones among them
        make the roundings of those that follow large.
        """
        channels, inputs, times, frames = 3, 5, 2048, 40
        shape = (frames, channels, inputs, times)
        noise = qa_tools.random_samples(self.rng, "fc32", shape)
        steady = (1 + self.rng.random(shape) * (1 + 1j)).astype(np.complex64)
        uneven = steady.copy()
        uneven[..., ::512] *= 2.0**12
        worst = {}
        for name, voltages, limit in [
            ("noise", noise, 1e-6),
            ("steady", steady, 3.2e-5),
            ("uneven", uneven, 3.2e-5),
        ]:
            for integration in (1, frames):
                block = aperture.xengine(
                    channels=channels,
                    inputs=inputs,
                    spectra_per_frame=times,
                    type="fc32",
                    integration=integration,
                    normalise=False,
                )
                port = reference.samples_to_bytes(voltages, "fc32")
                (data,), _ = qa_tools.run(block, [port], [8 * channels * 15])
                actual = self.visibilities_of(data, channels, inputs)
                expected, _ = reference.correlate(voltages, integration, normalise=False)
                sizes, _ = reference.correlate(np.abs(voltages) + 0j, integration, normalise=False)
                error = actual.astype(np.complex128) - expected
                error = np.maximum(np.abs(error.real), np.abs(error.imag)) / sizes.real
                worst[name, integration] = error.max()
                self.assertLessEqual(error.max(), limit, (name, integration))
        # errors are roundings, not zeros
        self.assertGreater(worst["noise", 1], 1e-9)

    def test_sign(self):
        """V[a,b] = x_a conj(x_b), a above b: its phase is that of a minus that of b."""
        times = qa_tools.frame_length(4)
        voltages = np.zeros((1, 1, 2, times, 2), dtype=np.int8)
        voltages[0, 0, 0] = [100, 0]
        voltages[0, 0, 1] = [0, 50]
        for sample_type in ("sc8", "fc32"):
            if sample_type == "fc32":
                voltages = voltages[..., 0].astype(np.complex64) + 1j * voltages[..., 1]
            block = aperture.xengine(
                channels=1, inputs=2, spectra_per_frame=times, type=sample_type
            )
            (data,), _ = qa_tools.run(
                block, [reference.samples_to_bytes(voltages, sample_type)], [24]
            )
            actual = self.visibilities_of(data, 1, 2)[0, 0]
            self.assertEqual(actual.tolist(), [10000, 5000j, 2500])

    # ---- missing spectra

    def test_missing(self):
        """Each product is divided by the spectra that both of its inputs have."""
        for density in (0.01, 0.4):
            for split in (False, True):
                for sample_type in ("sc8", "fc32"):
                    times = qa_tools.frame_length(12, sample_type)
                    missing = self.rng.random((9, 4, times)) < density
                    missing = np.repeat(missing, 3, axis=2)[..., :times]
                    for normalise in (True, False):
                        self.check(
                            inputs=4,
                            spectra_per_frame=times,
                            frames=9,
                            integration=2,
                            missing=missing,
                            split=split,
                            sample_type=sample_type,
                            normalise=normalise,
                        )

    def test_all_missing(self):
        """Zeros, not nan: of one input, of all."""
        for sample_type in ("sc8", "fc32"):
            times = qa_tools.frame_length(10, sample_type)
            missing = np.zeros((6, 3, times), dtype=bool)
            missing[2:5, 1] = True
            missing[4] = True
            for split in (False, True):
                self.check(
                    spectra_per_frame=times,
                    frames=6,
                    integration=2,
                    missing=missing,
                    split=split,
                    sample_type=sample_type,
                )

    def test_missing_in_one_run(self):
        """One tag over many integrations, the last one partial."""
        times = qa_tools.frame_length(10)
        missing = np.zeros((23, 3, times), dtype=bool)
        flat = missing.swapaxes(0, 1).reshape(3, -1)
        flat[2, 17:203] = True
        missing = flat.reshape(3, 23, times).swapaxes(0, 1)
        for chunks in (1, 0):
            self.check(frames=23, integration=3, missing=missing, chunks=chunks)

    def test_counted_agrees(self):
        """One value where all products have the same count."""
        _, tags = self.check(spectra_per_frame=10, frames=2)
        counted = [list(value) for _, value in qa_tools.each_of(tags, "counted", 2)]
        self.assertEqual(counted, [[qa_tools.frame_length(10)]] * 2)

    # ---- tags

    def test_tags(self):
        for integration, frames in ((1, 5), (3, 8), (4, 8)):
            _, tags = self.check(integration=integration, frames=frames, tags=frame_tags(0.125))
            for key, value in (
                ("rx_rate", RATE / integration),
                ("rx_freq", 408e6),
                ("bandwidth", 2e6),
                ("samples_per_item", 640 * integration),
            ):
                self.assertEqual(tags_of(tags, key)[0], (0, value))
                self.assertTrue(all(tag[1] == value for tag in tags_of(tags, key)))
            times = qa_tools.each_of(tags, "rx_time", -(-frames // integration))
            expected = [
                (i, rx_time(EPOCH, 0.125 + i * integration / RATE))
                for i in range(-(-frames // integration))
            ]
            self.assertEqual(times, expected)

    def test_partial_frame(self):
        """The corner turn's padding: partial, and not counted."""
        times = qa_tools.frame_length(10)
        missing = np.zeros((4, 3, times), dtype=bool)
        missing[3, :, 6:] = True
        for integration in (1, 2, 3, 4):
            voltages = qa_tools.random_samples(self.rng, "sc8", (4, 2, 3, times))
            voltages[np.broadcast_to(missing[:, None], (4, 2, 3, times))] = 0
            block = aperture.xengine(
                channels=2, inputs=3, spectra_per_frame=times, integration=integration, type="sc8"
            )
            tags = missing_tags(missing, True) + [(3, "partial", True)]
            (data,), (out_tags,) = qa_tools.run(
                block, [reference.samples_to_bytes(voltages, "sc8")], [96], tags=[tags]
            )
            expected, counted = reference.correlate(voltages, integration, missing)
            self.assert_equal(self.visibilities_of(data, 2, 3), expected, voltages)
            found = self.counted_of(out_tags, len(expected), 3)
            np.testing.assert_array_equal(found, counted)
            self.assertEqual(tags_of(out_tags, "partial"), [(len(expected) - 1, True)])

    # ---- length of an integration

    def seconds_run(self, seconds, frames=23, rate=RATE):
        times = qa_tools.frame_length(8)
        voltages = qa_tools.random_samples(self.rng, "sc8", (frames, 2, 2, times))
        block = aperture.xengine(
            channels=2,
            inputs=2,
            spectra_per_frame=times,
            integration=seconds,
            integration_unit="seconds",
            type="sc8",
        )
        self.assertEqual(block.frames_per_integration(), 0)
        (data,), (tags,) = qa_tools.run(
            block, [reference.samples_to_bytes(voltages, "sc8")], [48], tags=[frame_tags(0, rate)]
        )
        return voltages, self.visibilities_of(data, 2, 2), tags, block

    def test_seconds(self):
        """Rounded to whole frames, at least one."""
        for seconds, frames in [
            (5 / RATE, 5),
            (4.6 / RATE, 5),
            (5.4 / RATE, 5),
            (0.1 / RATE, 1),
            (1000, 23),
        ]:
            voltages, actual, tags, block = self.seconds_run(seconds)
            expected, _ = reference.correlate(voltages, frames)
            self.assert_equal(actual, expected, voltages)
            length = max(1, round(seconds * RATE))
            self.assertEqual(block.frames_per_integration(), length)
            self.assertEqual(tags_of(tags, "rx_rate")[0], (0, RATE / length))

    def test_set_integration(self):
        """The integration changes from the next one on, while it runs."""
        times = qa_tools.frame_length(8)
        for arguments, length in [((2,), 2), ((6 / RATE, "seconds"), 6)]:
            voltages = qa_tools.random_samples(self.rng, "sc8", (32, 2, 3, times))
            gate = threading.Event()
            block = aperture.xengine(
                channels=2, inputs=3, spectra_per_frame=times, integration=4, type="sc8"
            )
            graph = Flowgraph(
                block,
                [reference.samples_to_bytes(voltages, "sc8")],
                [96],
                tags=[frame_tags()],
                gates={10: gate},
            )
            with graph.running():
                graph.sinks[0].wait_for(2)
                # a third one may have begun
                block.set_integration(*arguments)
            tags = graph.sinks[0].tags
            items = graph.sinks[0].count
            lengths = [value // times for _, value in qa_tools.each_of(tags, "spectra", items)]
            self.assertEqual(sum(lengths), 32)
            self.assertEqual(lengths[:2], [4, 4])
            changed = 2 if lengths[2] == length else 3
            self.assertTrue(all(value == 4 for value in lengths[:changed]))
            self.assertTrue(all(value == length for value in lengths[changed:-1]), lengths)
            self.assertEqual(block.frames_per_integration(), length)
            ends = np.cumsum(lengths)
            actual = self.visibilities_of(graph.sinks[0].data(), 2, 3)
            for i, (end, frames) in enumerate(zip(ends, lengths)):
                expected, _ = reference.correlate(voltages[end - frames : end], frames)
                self.assert_equal(actual[i : i + 1], expected, voltages)
            # the new rate, and the time of each integration
            rates = tags_of(tags, "rx_rate")
            self.assertEqual(rates[0], (0, RATE / 4))
            self.assertEqual(rates[-1], (changed, RATE / length))
            for (_, value), end, frames in zip(
                qa_tools.each_of(tags, "rx_time", items), ends, lengths
            ):
                self.assertEqual(value, rx_time(EPOCH, (end - frames) / RATE))

    def test_set_normalise(self):
        times = qa_tools.frame_length(8)
        voltages = qa_tools.random_samples(self.rng, "sc8", (8, 2, 3, times))
        block = aperture.xengine(
            channels=2, inputs=3, spectra_per_frame=times, integration=4, type="sc8"
        )
        block.set_normalise(False)
        (data,), _ = qa_tools.run(block, [reference.samples_to_bytes(voltages, "sc8")], [96])
        expected, _ = reference.correlate(voltages, 4, normalise=False)
        self.assert_equal(self.visibilities_of(data, 2, 3), expected, voltages)

    def test_nothing(self):
        times = qa_tools.frame_length(8)
        block = aperture.xengine(channels=2, inputs=3, spectra_per_frame=times, type="sc8")
        (data,), _ = qa_tools.run(block, [np.zeros((0, 12 * times), np.uint8)], [96])
        self.assertEqual(len(data), 0)

    # ---- running

    def test_restart(self):
        """Nothing is left of the run before, not even of a partial integration."""
        times = qa_tools.frame_length(8)
        voltages = qa_tools.random_samples(self.rng, "sc8", (23, 2, 3, times))
        missing = self.rng.random((23, 3, times)) < 0.1
        voltages[np.broadcast_to(missing[:, None], (23, 2, 3, times))] = 0
        block = aperture.xengine(
            channels=2, inputs=3, spectra_per_frame=times, integration=4, type="sc8"
        )
        tags = frame_tags() + missing_tags(missing, False)
        graph = Flowgraph(block, [reference.samples_to_bytes(voltages, "sc8")], [96], tags=[tags])
        expected, counted = reference.correlate(voltages, 4, missing)
        for _ in range(3):
            (data,), (out_tags,) = graph.run()
            self.assert_equal(self.visibilities_of(data, 2, 3), expected, voltages)
            found = self.counted_of(out_tags, 6, 3)
            np.testing.assert_array_equal(found, counted)

    def test_stopped_half_way(self):
        """stop() within an integration, then all from the start."""
        times = qa_tools.frame_length(8)
        voltages = qa_tools.random_samples(self.rng, "sc8", (23, 2, 3, times))
        gate = threading.Event()
        block = aperture.xengine(
            channels=2, inputs=3, spectra_per_frame=times, integration=4, type="sc8"
        )
        graph = Flowgraph(
            block, [reference.samples_to_bytes(voltages, "sc8")], [96], gates={10: gate}
        )
        with graph.running():
            graph.sinks[0].wait_for(2)
            graph.top.stop()
        (data,), _ = graph.run()
        expected, _ = reference.correlate(voltages, 4)
        self.assert_equal(self.visibilities_of(data, 2, 3), expected, voltages)

    def test_two_at_once(self):
        cases = []
        for inputs, integration in ((3, 4), (8, 1)):
            voltages = qa_tools.random_samples(self.rng, "sc8", (400, 2, inputs, 32))
            block = aperture.xengine(
                channels=2, inputs=inputs, spectra_per_frame=32, integration=integration, type="sc8"
            )
            size = 8 * 2 * inputs * (inputs + 1) // 2
            data = reference.samples_to_bytes(voltages, "sc8")
            cases.append((Flowgraph(block, [data], [size]), voltages, inputs, integration))
        qa_tools.run_at_once([graph for graph, *_ in cases])
        for graph, voltages, inputs, integration in cases:
            actual = self.visibilities_of(graph.sinks[0].data(), 2, inputs)
            expected, _ = reference.correlate(voltages, integration)
            self.assert_equal(actual, expected, voltages)

    # ---- errors

    def test_lengths_that_a_gpu_refuses(self):
        """A GPU refuses integers but for multiples of 16; the CPU takes any, as all devices do of
        fc32."""
        for sample_type in ("sc8", "fc32"):
            sizes = dict(channels=2, inputs=3, spectra_per_frame=17, type=sample_type)
            with self.subTest(sample_type=sample_type):
                if qa_tools.ON_GPU and sample_type != "fc32":
                    with self.assertRaisesRegex(ValueError, "spectra_per_frame.*17.*16"):
                        aperture.package.xengine(device=qa_tools.DEVICE, **sizes)
                else:
                    self.assertEqual(aperture.xengine(**sizes).error(), "")

    def test_errors(self):
        wrong = [
            (dict(channels=0), "channels.*0"),
            (dict(inputs=0), "inputs.*0"),
            (dict(spectra_per_frame=0), "spectra_per_frame.*0"),
            (dict(type="sc16"), "type.*sc16.*sc8"),
            (dict(integration=0), "integration.*0"),
            (dict(integration=-1), "integration.*-1"),
            (dict(integration=1.5), "integration.*1.5"),
            (dict(integration=float("nan")), "integration.*nan"),
            (dict(integration=float("inf")), "integration.*inf"),
            (dict(integration_unit="hours"), "unit.*hours.*seconds"),
            (dict(integration=0, integration_unit="seconds"), "integration.*0"),
            (dict(device="toaster"), "device.*toaster.*cpu"),
            # 65536 x 64 x 1024 x 2 bytes in
            (dict(channels=65536, inputs=64, spectra_per_frame=1024), "65536.*64.*1024"),
            # items of 16384 x 1024 x 1 x 2 bytes give 16384 x 524800 x 8 bytes
            (dict(channels=16384, inputs=1024, spectra_per_frame=1), "16384.*524800"),
        ]
        for parameters, message in wrong:
            with self.subTest(**parameters):
                with self.assertRaisesRegex(ValueError, message):
                    aperture.xengine(**parameters)
        block = aperture.xengine(integration=3, type="sc8")
        for arguments, message in [
            ((0,), "0"),
            ((1.5,), "1.5"),
            ((float("nan"), "seconds"), "nan"),
            ((1, "hours"), "hours"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                block.set_integration(*arguments)
        self.assertEqual(block.frames_per_integration(), 3)


if __name__ == "__main__":
    gr_unittest.run(qa_xengine)
