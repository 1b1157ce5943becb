#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""beam_power against the reference model, and against beamformer and power_detector."""

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
    powers_of,
    random_weights,
    rx_time,
    tags_of,
)

aperture = qa_tools.on_device(aperture)


class qa_beam_power(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1967)

    def run_powers(self, voltages, sample_type, shape, tags=(), **options):
        """Returns powers [integration][row][product][channel] of that shape, and tags."""
        _, channels, inputs, times = voltages.shape[:4]
        block = aperture.beam_power(
            channels=channels, inputs=inputs, spectra_per_frame=times, type=sample_type, **options
        )
        (data,), (out_tags,) = qa_tools.run(
            block,
            [reference.samples_to_bytes(voltages, sample_type)],
            [4 * int(np.prod(shape))],
            tags=[list(tags)],
            chunks=7,
        )
        return powers_of(data, shape), out_tags

    def assert_close(self, powers, expected, sample_type="sc8"):
        # weights of integers have 16 bits on the CPU, half precision on a GPU
        limit = 1e-5 if sample_type == "fc32" else 5e-3
        np.testing.assert_allclose(powers, expected, rtol=0, atol=limit * abs(expected).max())

    def check(self, sample_type, products, spectra, basis="linear", summed=1, inputs=5, beams=14):
        voltages = qa_tools.random_samples(self.rng, sample_type, (4, 6, inputs, 12))
        weights = random_weights(self.rng, (6, beams, inputs))
        gains = self.rng.uniform(0.5, 2, beams).astype(np.float32)
        values, _ = reference.decode(voltages, sample_type)
        expected, _ = reference.detect(
            reference.beamform(values, weights, gains), spectra, products, basis, summed
        )
        powers, _ = self.run_powers(
            voltages,
            sample_type,
            expected.shape[1:],
            beams=beams,
            weights=weights,
            gains=gains,
            spectra=spectra,
            products=products,
            basis=basis,
            summed_channels=summed,
        )
        self.assert_close(powers, expected, sample_type)

    def test_products(self):
        for sample_type in ("sc8", "sc4", "fc32"):
            for products in ("power", "I", "IQUV", "coherency"):
                with self.subTest(sample_type, products=products):
                    self.check(sample_type, products, 4)
        self.check("sc8", "IQUV", 12, "circular")

    def test_integrations(self):
        for spectra in (1, 6, 12, 24, 36):
            self.check("sc8", "IQUV", spectra, summed=3)

    def test_sizes(self):
        self.check("sc8", "power", 12, inputs=1, beams=1)
        self.check("sc8", "I", 12, inputs=300, beams=2)
        self.check("sc4", "power", 12, inputs=7, beams=301)

    def test_both_in_a_row(self):
        """The same results as beamformer and power_detector."""
        voltages = qa_tools.random_samples(self.rng, "sc8", (6, 4, 5, 16))
        weights = random_weights(self.rng, (4, 6, 5))
        detecting = {"spectra": 8, "products": "IQUV"}
        powers, _ = self.run_powers(
            voltages, "sc8", (3, 4, 4), beams=6, weights=weights, **detecting
        )
        former = aperture.beamformer(
            channels=4, inputs=5, beams=6, spectra_per_frame=16, weights=weights, type="sc8"
        )
        (beams,), _ = qa_tools.run(
            former, [reference.samples_to_bytes(voltages, "sc8")], [4 * 6 * 16 * 8]
        )
        detector = aperture.power_detector(channels=4, beams=6, spectra_per_frame=16, **detecting)
        (data,), _ = qa_tools.run(detector, [beams], [4 * 3 * 4 * 4])
        # sums in another order
        self.assert_close(powers, powers_of(data, (3, 4, 4)), "fc32")

    # ---- incoherent beams and sub-arrays

    def test_incoherent(self):
        """Sums of powers behind the coherent beams; the k-th inputs of two masks."""
        voltages = qa_tools.random_samples(self.rng, "sc8", (4, 3, 6, 12))
        values, _ = reference.decode(voltages, "sc8")
        weights = random_weights(self.rng, (3, 2, 6))
        masks = np.ones((6, 6), dtype=int)
        masks[0] = [1, 1, 0, 0, 1, 1]
        masks[2:] = [[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1], [1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
        antennas = [[(0, 1), (2, 3), (4, 5)], [(0, 2), (4, 5)]]
        coherent = reference.beamform(values, weights * masks[:2])
        for products in ("power", "I", "IQUV", "coherency"):
            expected, _ = reference.detect(coherent, 6, products)
            more = []
            if products == "power":
                for mask in masks[2:]:
                    of_inputs, _ = reference.detect(values, 6)
                    more.append(of_inputs[:, mask > 0].sum(axis=1, keepdims=True))
            else:
                for pairs in antennas:
                    picked = values[:, :, np.ravel(pairs)]
                    of_pairs, _ = reference.detect(picked, 6, products)
                    more.append(of_pairs.sum(axis=1, keepdims=True))
            expected = np.concatenate([expected] + more, axis=1)
            powers, _ = self.run_powers(
                voltages,
                "sc8",
                expected.shape[1:],
                beams=2,
                incoherent_beams=4,
                weights=weights,
                masks=masks,
                products=products,
                spectra=6,
            )
            self.assert_close(powers, expected)

    def test_incoherent_alone(self):
        voltages = qa_tools.random_samples(self.rng, "fc32", (4, 3, 6, 12))
        powers, _ = self.run_powers(
            voltages, "fc32", (1, 1, 3), beams=0, incoherent_beams=1, spectra=24
        )
        expected, _ = reference.detect(voltages, 24)
        self.assert_close(powers, expected.sum(axis=1, keepdims=True), "fc32")

    def test_level(self):
        """A coherent sum of n inputs of noise has n times the power, as the incoherent one."""
        voltages = qa_tools.random_samples(self.rng, "sc8", (1, 4, 16, 4000), rms=20)
        powers, _ = self.run_powers(
            voltages,
            "sc8",
            (2, 1, 4),
            beams=1,
            incoherent_beams=1,
            weights=np.ones((1, 16)),
            spectra=4000,
        )
        np.testing.assert_allclose(powers / (16 * 2 * 20**2), 1, rtol=0.1)

    # ---- while it runs

    def test_set_weights_while_running(self):
        """Weights hold from the next frame on; those of a timed message from the first frame behind
        its time."""
        voltages = np.zeros((40, 2, 3, 16, 2), dtype=np.int8)
        voltages[..., 0] = 1
        ones = np.ones(15, dtype=np.complex64)
        block = aperture.beam_power(
            channels=2,
            inputs=3,
            beams=5,
            spectra_per_frame=16,
            spectra=8,
            incoherent_beams=1,
            type="sc8",
        )
        gates = {number: threading.Event() for number in (4, 10)}
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(voltages, "sc8")],
            [6 * 2 * 4],
            tags=[frame_tags()],
            gates=gates,
            chunks=5,
        )
        with graph.running():
            graph.sinks[0].wait_for(8)
            block.set_weights(ones)
            graph.post_and_wait(
                "weights", {"weights": 2 * ones, "time": rx_time(EPOCH, 19.5 / RATE)}
            )
            gates[4].set()
            graph.sinks[0].wait_for(20)
            graph.post_and_wait("weights", {"mask": np.array([1, 1, 0], dtype=np.uint8), "beam": 5})
            gates[10].set()
        powers = powers_of(graph.sinks[0].data(), (6, 2))
        expected = np.zeros((80, 6, 2))
        expected[8:, :5] = 9
        expected[40:, :5] = 36
        expected[:, 5] = 3
        expected[20:, 5] = 2
        np.testing.assert_allclose(powers, expected, rtol=2e-3)

    # ---- missing spectra and tags

    def test_missing(self):
        """Counts of what a beam's inputs have; the mean of those."""
        shape = (6, 2, 4, 12)
        missing = self.rng.random((6, 4, 12)) < 0.4
        voltages = qa_tools.random_samples(self.rng, "fc32", shape)
        voltages[np.broadcast_to(missing[:, None], shape)] = 0
        weights = random_weights(self.rng, (2, 4, 4))
        weights[:, 0, 2:] = 0
        weights[:, 1, :3] = 0
        beams = reference.beamform(voltages, weights)
        lost = reference.lost_beams(missing, np.any(weights, axis=0))
        for products in ("power", "I", "coherency"):
            for spectra in (4, 12, 36):
                expected, counts = reference.detect(beams, spectra, products, missing=lost)
                powers, tags = self.run_powers(
                    voltages,
                    "fc32",
                    expected.shape[1:],
                    frame_tags() + missing_tags(missing, True),
                    beams=4,
                    weights=weights,
                    products=products,
                    spectra=spectra,
                )
                self.assert_close(powers, expected, "fc32")
                for (item, value), count in zip(
                    qa_tools.each_of(tags, "counted", len(powers)), counts, strict=True
                ):
                    np.testing.assert_array_equal(
                        np.broadcast_to(value, count.size), count.ravel(), str(item)
                    )

    def test_restart(self):
        voltages = qa_tools.random_samples(self.rng, "sc8", (23, 2, 3, 8))
        weights = random_weights(self.rng, (2, 4, 3))
        values, _ = reference.decode(voltages, "sc8")
        expected, _ = reference.detect(reference.beamform(values, weights), 32)
        block = aperture.beam_power(
            channels=2,
            inputs=3,
            beams=4,
            spectra_per_frame=8,
            spectra=32,
            weights=weights,
            type="sc8",
        )
        graph = Flowgraph(
            block, [reference.samples_to_bytes(voltages, "sc8")], [32], tags=[frame_tags()]
        )
        for _ in range(3):
            (data,), (tags,) = graph.run()
            self.assert_close(powers_of(data, (4, 1, 2)), expected)
            self.assertEqual(tags_of(tags, "partial"), [(5, True)])

    def test_errors(self):
        cases = (
            ({"beams": 0}, "beams: 0 is not allowed; it must be 1 to 4096"),
            (
                {"products": "I", "beams": 2, "incoherent_beams": 2},
                "masks: an empty list is not allowed; it must be given",
            ),
            (
                {"products": "I", "beams": 0, "incoherent_beams": 2, "masks": [1, 1, 1, 0]},
                "masks: 2 and 1 inputs for the beams of a pair, 0 and 1, is not allowed",
            ),
        )
        for parameters, message in cases:
            with self.assertRaises(ValueError) as caught:
                aperture.beam_power(**parameters)
            self.assertIn(message, str(caught.exception))


if __name__ == "__main__":
    gr_unittest.run(qa_beam_power)
