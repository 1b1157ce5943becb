#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""beamformer against the reference model: sums, weights that change while it runs, tags."""

import threading

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    RATE,
    Flowgraph,
    frame_tags,
    missing_of,
    missing_tags,
    random_weights,
    rx_time,
    tags_of,
)

aperture = qa_tools.on_device(aperture)


class qa_beamformer(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(2014)

    def beams_of(self, data, channels, beams, spectra_per_frame, output_type="fc32"):
        """bytes -> complex [frame][channel][beam][time]"""
        values = reference.samples_from_bytes(data, output_type)
        values, _ = reference.decode(values, output_type)
        return values.reshape(-1, channels, beams, spectra_per_frame)

    def run_beams(self, voltages, sample_type, weights, tags=(), chunks=7, **options):
        """[frame][channel][input][time], [channel][beam][input] -> beams, tags, block"""
        _, channels, inputs, times = voltages.shape[:4]
        beams = weights.shape[1]
        output_type = options.get("output_type", "fc32")
        block = aperture.beamformer(
            channels=channels,
            inputs=inputs,
            beams=beams,
            spectra_per_frame=times,
            type=sample_type,
            weights=weights,
            **options,
        )
        size = channels * beams * times * (2 if output_type == "sc8" else 8)
        (data,), (out_tags,) = qa_tools.run(
            block,
            [reference.samples_to_bytes(voltages, sample_type)],
            [size],
            tags=[list(tags)],
            chunks=chunks,
        )
        return self.beams_of(data, channels, beams, times, output_type), out_tags, block

    def check(self, sample_type, output_type, frames, channels, inputs, beams, spectra_per_frame):
        voltages = qa_tools.random_samples(
            self.rng, sample_type, (frames, channels, inputs, spectra_per_frame)
        )
        weights = random_weights(self.rng, (channels, beams, inputs))
        gains = self.rng.uniform(0.2, 1, beams).astype(np.float32) / np.sqrt(inputs)
        values, _ = reference.decode(voltages, sample_type)
        expected = reference.beamform(values, weights, gains)
        rms = np.sqrt(np.mean(abs(expected) ** 2))
        y, _, block = self.run_beams(
            voltages, sample_type, weights, output_type=output_type, gains=gains
        )
        if output_type == "fc32":
            # weights of integers have 16 bits on the CPU, half precision on a GPU
            limit = 1e-5 if sample_type == "fc32" else 5e-3
            self.assertLess(np.max(abs(y - expected)), limit * rms)
            return
        rounded, clamped = reference.quantise(expected)
        rounded, _ = reference.decode(rounded, "sc8")
        off = abs(y - rounded)
        self.assertLess(np.max(np.maximum(abs(off.real), abs(off.imag))), 1.5)
        self.assertLess(np.mean(off > 0), 1e-2)
        near = np.abs(np.maximum(abs(expected.real), abs(expected.imag)) - 127.5) < 0.1
        counts = np.array(block.clamped())
        exact = clamped.sum(axis=(0, 1, 3))
        self.assertTrue(np.all(abs(counts - exact) <= near.sum(axis=(0, 1, 3))))

    def test_shapes(self):
        """All types, numbers that fill no tile."""
        for sample_type in ("sc8", "sc4", "fc32"):
            for output_type in ("fc32", "sc8"):
                for shape in ((5, 3, 5, 7, 33), (2, 1, 1, 1, 1), (3, 4, 16, 13, 64)):
                    with self.subTest(sample_type, output_type=output_type, shape=shape):
                        self.check(sample_type, output_type, *shape)

    def test_many(self):
        """More inputs than an int32 can sum, and more beams than there are inputs."""
        self.check("sc8", "fc32", 2, 2, 300, 3, 40)
        self.check("sc4", "fc32", 2, 2, 4, 600, 40)

    def test_no_conjugate(self):
        """y = w x with w = i rotates a phasor forwards."""
        voltages = np.ones((1, 1, 1, 4), dtype=np.complex64)
        y, _, _ = self.run_beams(voltages, "fc32", np.full((1, 1, 1), 1j, np.complex64))
        np.testing.assert_array_equal(y, 1j * np.ones((1, 1, 1, 4)))

    # ---- weights

    def test_each_weight_moves_its_own_input(self):
        """One weight of one channel, beam and input: no other beam or channel has it."""
        channels, inputs, beams, times = 3, 4, 5, 16
        voltages = qa_tools.random_samples(self.rng, "sc8", (1, channels, inputs, times))
        values, _ = reference.decode(voltages, "sc8")
        block = aperture.beamformer(
            channels=channels, inputs=inputs, beams=beams, spectra_per_frame=times, type="sc8"
        )
        data = reference.samples_to_bytes(voltages, "sc8")
        graph = Flowgraph(block, [data], [channels * beams * times * 8])
        for k, m, i in self.rng.permutation(
            [(k, m, i) for k in range(channels) for m in range(beams) for i in range(inputs)]
        )[:12]:
            weights = np.zeros((channels, beams, inputs), dtype=np.complex64)
            weights[k, m, i] = 0.5 - 2j
            block.set_weights(weights)
            (data,), _ = graph.run()
            expected = np.zeros((1, channels, beams, times), dtype=complex)
            expected[0, k, m] = (0.5 - 2j) * values[0, k, i]
            y = self.beams_of(data, channels, beams, times)
            np.testing.assert_allclose(y, expected, rtol=0, atol=0.1)

    def test_power_goes_with_the_weight(self):
        """Weights of 1/2, 1 and 2: 8-bit powers within 5 %."""
        voltages = qa_tools.random_samples(self.rng, "sc8", (3, 2, 4, 2000), rms=10)
        weights = np.ones((2, 3, 4), dtype=np.complex64) * np.array([0.5, 1, 2])[:, None]
        y, _, block = self.run_beams(voltages, "sc8", weights, output_type="sc8")
        powers = np.mean(abs(y) ** 2, axis=(0, 1, 3))
        np.testing.assert_allclose(powers / powers[1], [0.25, 1, 4], rtol=0.05)

    def test_shapes_of_weights(self):
        """[beam][input] for all channels alike; one beam; what weights() gives back."""
        block = aperture.beamformer(channels=3, inputs=4, beams=2, spectra_per_frame=8, type="sc8")
        alike = random_weights(self.rng, (2, 4))
        block.set_weights(alike)
        np.testing.assert_array_equal(np.reshape(block.weights(1), (3, 4)), [alike[1]] * 3)
        one = random_weights(self.rng, (3, 4))
        block.set_weights(one, 0)
        np.testing.assert_array_equal(np.reshape(block.weights(0), (3, 4)), one)
        np.testing.assert_array_equal(np.reshape(block.weights(1), (3, 4)), [alike[1]] * 3)

    def test_masks(self):
        """Sub-arrays: inputs that are left out, also with weights that come later."""
        voltages = qa_tools.random_samples(self.rng, "fc32", (2, 3, 5, 12))
        weights = random_weights(self.rng, (3, 2, 5))
        masks = np.array([[1, 0, 1, 1, 0], [0, 1, 0, 1, 1]])
        y, _, block = self.run_beams(voltages, "fc32", weights, masks=masks)
        expected = reference.beamform(voltages, weights * masks)
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-3)
        np.testing.assert_array_equal(np.reshape(block.weights(1), (3, 5)), weights[:, 1])

    # ---- while it runs

    def live_run(self, actions, count=40, beams=9, channels=3, inputs=2, spectra_per_frame=16):
        """
        All inputs are 1, and actions {block: function(flowgraph)} happen between frames.

        Returns the beams [frame][beam], one number for a frame (or the test fails: no frame
        may have two), and the flowgraph.
        """
        voltages = np.zeros((count, channels, inputs, spectra_per_frame, 2), dtype=np.int8)
        voltages[..., 0] = 1
        block = aperture.beamformer(
            channels=channels,
            inputs=inputs,
            beams=beams,
            spectra_per_frame=spectra_per_frame,
            type="sc8",
        )
        gates = {number: threading.Event() for number in actions}
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(voltages, "sc8")],
            [channels * beams * spectra_per_frame * 8],
            tags=[frame_tags()],
            gates=gates,
            chunks=5,
        )
        with graph.running():
            for number, action in sorted(actions.items()):
                graph.sinks[0].wait_for(number)
                action(graph)
                gates[number].set()
        y = self.beams_of(graph.sinks[0].data(), channels, beams, spectra_per_frame)
        self.assertEqual(len(y), count)
        np.testing.assert_array_equal(y, y[:, :1, :, :1] * np.ones_like(y))
        return y[:, 0, :, 0], graph

    def test_set_weights_while_running(self):
        one = np.ones((9, 2), dtype=np.complex64)
        y, _ = self.live_run(
            {
                5: lambda graph: graph.block.set_weights(one),
                12: lambda graph: graph.block.set_weights(2 * one[0], 3),
                20: lambda graph: graph.block.set_gains(0.5),
                30: lambda graph: graph.block.set_mask([1, 0], 8),
            }
        )
        expected = np.zeros((40, 9))
        expected[5:] = 2
        expected[12:, 3] = 4
        expected[20:] *= 0.5
        expected[30:, 8] *= 0.5
        np.testing.assert_allclose(y, expected, rtol=2e-3)

    def test_messages(self):
        """Messages without a time set all beams, one beam, gain and mask; all of a message at
        once."""
        ones = np.ones(18, dtype=np.complex64)
        mask = np.array([0, 1], dtype=np.uint8)
        y, graph = self.live_run(
            {
                5: lambda graph: graph.post_and_wait("weights", {"weights": ones}),
                12: lambda graph: graph.post_and_wait(
                    "weights", {"weights": 3 * ones[:2], "beam": 4, "gain": 0.25}
                ),
                20: lambda graph: graph.post_and_wait("weights", {"mask": mask, "beam": 0}),
            }
        )
        expected = np.zeros((40, 9))
        expected[5:] = 2
        expected[12:, 4] = 1.5
        expected[20:, 0] = 1
        np.testing.assert_allclose(y, expected, rtol=2e-3)
        self.assertEqual(graph.messages(), [])

    def test_timed_messages(self):
        """Weights hold from the first frame that starts at or after the time, whatever comes
        first."""
        ones = np.ones(18, dtype=np.complex64)

        def post(graph):
            for frame, value in ((20, 4), (7.5, 1), (13, 2), (20, 5)):
                graph.post_and_wait(
                    "weights", {"weights": value * ones, "time": rx_time(EPOCH, frame / RATE)}
                )

        y, graph = self.live_run({2: post})
        expected = np.zeros((40, 9))
        expected[8:] = 2
        expected[13:] = 4
        expected[20:] = 10
        np.testing.assert_allclose(y, expected, rtol=2e-3)
        self.assertEqual(graph.messages(), [])

    def test_late_message(self):
        """Holds at once, and status says so."""
        message = {"weights": np.ones(18, dtype=np.complex64), "time": rx_time(EPOCH, 2 / RATE)}
        y, graph = self.live_run({10: lambda graph: graph.post_and_wait("weights", message)})
        np.testing.assert_allclose(y[:10], 0)
        np.testing.assert_allclose(y[10:], 2, rtol=2e-3)
        (event,) = graph.messages()
        self.assertEqual((event["event"], event["count"]), ("late", 8))

    def test_repointing_all_the_time(self):
        """Weights change from another thread as fast as it can: no frame mixes two."""
        done, changed = threading.Event(), threading.Event()
        gates = {number: threading.Event() for number in range(30, 300, 30)}

        def change(block):
            number = 0
            while not done.is_set():
                number = number % 100 + 1
                block.set_weights(number * np.ones((300, 2), dtype=np.complex64))
                changed.set()

        voltages = np.zeros((300, 5, 2, 32, 2), dtype=np.int8)
        voltages[..., 0] = 1
        block = aperture.beamformer(
            channels=5, inputs=2, beams=300, spectra_per_frame=32, type="sc8"
        )
        block.set_weights(np.ones((300, 2), dtype=np.complex64))
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(voltages, "sc8")],
            [5 * 300 * 32 * 8],
            chunks=3,
            gates=gates,
        )
        thread = threading.Thread(target=change, args=(block,))
        thread.start()
        try:
            with graph.running():
                for number, gate in gates.items():
                    graph.sinks[0].wait_for(number)
                    # the first one may be of the weights that the last frames had
                    for _ in range(2):
                        changed.clear()
                        self.assertTrue(changed.wait(qa_tools.PATIENCE))
                    gate.set()
        finally:
            done.set()
            thread.join()
        y = self.beams_of(graph.sinks[0].data(), 5, 300, 32)
        np.testing.assert_array_equal(y, y[:, :1, :1, :1] * np.ones_like(y))
        self.assertGreater(len(np.unique(y.real)), 3)

    def test_bad_messages(self):
        """Refused with a reason; nothing else happens."""
        bad = [
            {"weights": np.ones(5, dtype=np.complex64)},
            {"gain": 1.0, "beam": 9},
            {"gain": 1.0, "beam": 2**32},
            {"mask": np.array([2, 0], dtype=np.uint8), "beam": 1},
            {"beam": 1},
            {"gain": float("nan")},
        ]

        def post(graph):
            for message in bad:
                graph.post_and_wait("weights", message)

        y, graph = self.live_run({3: post})
        np.testing.assert_array_equal(y, 0)
        self.assertEqual([m["event"] for m in graph.messages()], ["refused"] * len(bad))

    def test_long_message(self):
        """A refusal counts the numbers of a vector and does not list them."""
        message = {"wieghts": np.ones(10**6, dtype=np.complex64), "beams": {"of": 7}}
        _, graph = self.live_run({3: lambda graph: graph.post_and_wait("weights", message)})
        (event,) = graph.messages()
        self.assertEqual(event["event"], "refused")
        self.assertIn("wieghts: 1000000 numbers", event["reason"])
        self.assertIn("beams: {of: 7}", event["reason"])
        self.assertLess(len(event["reason"]), 400)

    def test_turned_arrays(self):
        """An array whose last axis is not the inputs' has another order."""
        block = aperture.beamformer(channels=2, inputs=4, beams=3, spectra_per_frame=8, type="sc8")
        for shape in ((3, 4), (2, 3, 4), (12,), (24,)):
            block.set_weights(np.ones(shape))
        block.set_weights(np.ones((2, 4)), 1)
        for shape in ((4, 3), (2, 4, 3)):
            with self.assertRaisesRegex(ValueError, r"weights: .*\(.*4, 3\).* the 4 inputs"):
                block.set_weights(np.ones(shape))
        with self.assertRaisesRegex(ValueError, "mask: .* the 4 inputs"):
            block.set_mask(np.ones((4, 3), dtype=int))
        with self.assertRaisesRegex(ValueError, "weights: .* the 4 inputs"):
            aperture.beamformer(channels=2, inputs=4, beams=3, weights=np.ones((4, 3)), type="sc8")

    def test_weights_one_after_the_other(self):
        """Weights of all, of one beam and masks: each is kept, as is the array that was given."""
        block = aperture.beamformer(channels=2, inputs=4, beams=3, spectra_per_frame=8, type="sc8")
        weights = np.arange(24, dtype=np.complex64).reshape(2, 3, 4)
        block.set_weights(weights)
        block.set_mask([0, 1, 1, 0], 2)
        block.set_weights([1, 2, 3, 4], 1)
        np.testing.assert_array_equal(weights.ravel(), np.arange(24))
        np.testing.assert_array_equal(block.weights(1), [1, 2, 3, 4] * 2)
        np.testing.assert_array_equal(block.weights(2), [8, 9, 10, 11, 20, 21, 22, 23])

    # ---- tags

    def test_tags(self):
        voltages = qa_tools.random_samples(self.rng, "sc8", (6, 2, 3, 10))
        weights = random_weights(self.rng, (2, 4, 3))
        edge = frame_tags(0.125)
        tags = edge + [(4, "rx_freq", 410e6), (4, "rx_time", rx_time(EPOCH, 0.125 + 4 / RATE))]
        tags += [(5, "partial", True)]
        _, out_tags, _ = self.run_beams(voltages, "sc8", weights, tags)
        for key in ("rx_rate", "bandwidth", "samples_per_item", "rx_time", "rx_freq"):
            first = [value for item, name, value in edge if name == key]
            self.assertEqual(tags_of(out_tags, key)[0], (0, first[0]))
        self.assertEqual(tags_of(out_tags, "rx_freq")[1:], [(4, 410e6)])
        self.assertEqual(tags_of(out_tags, "partial"), [(5, True)])

    def test_missing(self):
        """A beam's spectrum is missing where all inputs are that it uses."""
        shape = (7, 2, 3, 10)
        missing = self.rng.random((7, 3, 10)) < 0.5
        voltages = qa_tools.random_samples(self.rng, "fc32", shape)
        voltages[np.broadcast_to(missing[:, None], shape)] = 0
        weights = random_weights(self.rng, (2, 5, 3))
        weights[:, 0, 1] = 0  # uses two
        weights[:, 1, :2] = 0  # uses one
        weights[0, 2] = 0  # in one channel only
        weights[:, 3] = 0  # uses none: never missing
        masks = np.ones((5, 3), dtype=int)
        masks[4, 0] = 0
        y, tags, _ = self.run_beams(
            voltages, "fc32", weights, frame_tags() + missing_tags(missing, True), masks=masks
        )
        np.testing.assert_allclose(
            y, reference.beamform(voltages, weights * masks), rtol=0, atol=1e-3
        )
        used = np.any(weights * masks, axis=0)
        expected = reference.lost_beams(missing, used)
        found = missing_of(tags, 5, 70)
        np.testing.assert_array_equal(found, np.moveaxis(expected, 0, 1).reshape(5, 70))

    def test_gap(self):
        """Blocks that were lost before the beamformer: zeros that are missing."""
        voltages = qa_tools.random_samples(self.rng, "fc32", (6, 2, 3, 10))
        weights = random_weights(self.rng, (2, 4, 3))
        tags = frame_tags() + [(4, "rx_time", rx_time(EPOCH, 7 / RATE))]
        y, out_tags, _ = self.run_beams(voltages, "fc32", weights, tags)
        laid_out = np.zeros((9, 2, 3, 10), dtype=complex)
        laid_out[:4], laid_out[7:] = voltages[:4], voltages[4:]
        np.testing.assert_allclose(y, reference.beamform(laid_out, weights), rtol=0, atol=1e-3)
        expected = np.zeros((4, 90), dtype=bool)
        expected[:, 40:70] = True
        np.testing.assert_array_equal(missing_of(out_tags, 4, 90), expected)

    # ---- start and stop

    def test_restart(self):
        """Nothing is left of the run before; stopped half way, too."""
        voltages = qa_tools.random_samples(self.rng, "fc32", (23, 2, 3, 8))
        weights = random_weights(self.rng, (2, 4, 3))
        expected = reference.beamform(voltages, weights)
        gate = threading.Event()
        block = aperture.beamformer(
            channels=2, inputs=3, beams=4, spectra_per_frame=8, type="fc32", weights=weights
        )
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(voltages, "fc32")],
            [2 * 4 * 8 * 8],
            tags=[frame_tags()],
            gates={10: gate},
        )
        with graph.running():
            graph.sinks[0].wait_for(3)
            graph.top.stop()
        for _ in range(3):
            (data,), tags = graph.run()
            np.testing.assert_allclose(self.beams_of(data, 2, 4, 8), expected, rtol=0, atol=1e-3)
            self.assertEqual(len(tags_of(tags[0], "rx_time")), 1)

    def test_lock(self):
        """A sink is added while it runs: it gets successive frames, and so does the first."""
        voltages = qa_tools.random_samples(self.rng, "fc32", (5, 2, 3, 8))
        weights = random_weights(self.rng, (2, 4, 3))
        expected = reference.beamform(voltages, weights)
        block = aperture.beamformer(
            channels=2, inputs=3, beams=4, spectra_per_frame=8, type="fc32", weights=weights
        )
        data = reference.samples_to_bytes(voltages, "fc32")
        source = blocks.vector_source_b(data.ravel().tolist(), True, data.shape[1])
        sinks = [qa_tools.ByteSink(2 * 4 * 8 * 8) for _ in range(2)]
        top = gr.top_block()
        top.connect(source, block, sinks[0])
        top.start()
        try:
            sinks[0].wait_for(10)
            top.lock()
            top.connect(block, sinks[1])
            top.unlock()
            for sink in sinks:
                sink.wait_for(10)
        finally:
            top.stop()
            top.wait()
        for sink in sinks:
            y = self.beams_of(sink.data(), 2, 4, 8)[:20]
            first = np.argmin([abs(y[0] - e).max() for e in expected])
            order = (first + np.arange(len(y))) % 5
            np.testing.assert_allclose(y, expected[order], rtol=0, atol=1e-3)

    # ---- errors

    def test_errors(self):
        cases = (
            ({"beams": 0}, "beams: 0 is not allowed; it must be 1 to 4096"),
            ({"type": "sc16"}, "type: 'sc16' is not allowed; it must be fc32, sc8 or sc4"),
            (
                {"inputs": 3, "beams": 2, "weights": np.ones(5)},
                "weights: 5 numbers is not allowed; it must be 6 numbers (2 coherent beams x "
                "3 inputs), or as many for each of 1024 channels",
            ),
            ({"masks": [0, 2]}, "mask: 2 is not allowed; it must be 0 or 1"),
            ({"gains": [1, 2, 3]}, "gains: 3 numbers is not allowed"),
        )
        for parameters, message in cases:
            with self.assertRaises(ValueError) as caught:
                aperture.beamformer(**parameters)
            self.assertIn(message, str(caught.exception))


if __name__ == "__main__":
    gr_unittest.run(qa_beamformer)
