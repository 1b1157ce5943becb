#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""power_detector against the reference model: products, integrations, counts, tags."""

import threading

import numpy as np
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    RATE,
    Flowgraph,
    frame_tags,
    missing_tags,
    powers_of,
    rx_time,
    tags_of,
)

aperture = qa_tools.on_device(aperture)


def counted_of(tags, shape, items):
    """Returns the counts of the tags: int64 [integration][row][product]."""
    counts = [np.asarray(value) for _, value in qa_tools.each_of(tags, "counted", items)]
    return np.stack(
        [np.broadcast_to(c, shape) if len(c) == 1 else c.reshape(shape) for c in counts]
    )


class qa_power_detector(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1852)

    def check(
        self,
        sample_type="fc32",
        frames=5,
        channels=6,
        beams=4,
        spectra_per_frame=12,
        spectra=6,
        products="power",
        basis="linear",
        summed=1,
        mean=True,
        missing=None,
        tags=(),
        end=None,
    ):
        """Runs it, compares with the reference; returns the tags."""
        shape = (frames, channels, beams, spectra_per_frame)
        voltages = qa_tools.random_samples(self.rng, sample_type, shape)
        if missing is not None:
            voltages[np.broadcast_to(missing[:, None], shape)] = 0
            tags = list(tags) + missing_tags(missing, True)
        block = aperture.power_detector(
            channels=channels,
            beams=beams,
            spectra_per_frame=spectra_per_frame,
            type=sample_type,
            products=products,
            basis=basis,
            spectra=spectra,
            summed_channels=summed,
            mean=mean,
        )
        values, _ = reference.decode(voltages, sample_type)
        expected, counts = reference.detect(values, spectra, products, basis, summed, mean, missing)
        expected, counts = expected[:end], counts[:end]
        (data,), (out_tags,) = qa_tools.run(
            block,
            [reference.samples_to_bytes(voltages, sample_type)],
            [4 * expected[0].size],
            tags=[list(tags)],
            chunks=7,
        )
        powers = powers_of(data, expected.shape[1:])
        # sums in fp32 within 512 spectra; differences of large numbers: of the intensity
        largest = abs(expected).max()
        np.testing.assert_allclose(powers, expected, rtol=0, atol=2e-6 * largest)
        np.testing.assert_array_equal(counted_of(out_tags, counts.shape[1:], len(powers)), counts)
        return out_tags

    def test_products(self):
        for sample_type in ("fc32", "sc8"):
            for products in ("power", "I", "IQUV", "coherency"):
                for basis in ("linear", "circular"):
                    with self.subTest(sample_type, products=products, basis=basis):
                        self.check(sample_type, products=products, basis=basis)

    def test_integrations(self):
        """Parts of a frame, a frame, several frames; the last one shorter."""
        for spectra in (1, 4, 12, 24, 36, 120):
            for mean in (True, False):
                with self.subTest(spectra=spectra, mean=mean):
                    tags = self.check(spectra=spectra, mean=mean, products="IQUV", frames=7)
                    partial = [84 // spectra] * (84 % spectra > 0)
                    self.assertEqual(tags_of(tags, "partial"), [(i, True) for i in partial])
                    lengths = [n for _, n in qa_tools.each_of(tags, "spectra", -(-84 // spectra))]
                    self.assertEqual(
                        lengths, [spectra] * (84 // spectra) + [84 % spectra] * (84 % spectra > 0)
                    )

    def test_channels(self):
        for summed in (2, 3, 6):
            self.check(summed=summed, products="coherency")
            self.check(summed=summed, spectra=24)

    def test_sizes(self):
        self.check(channels=1, beams=1, spectra_per_frame=1, spectra=1)
        self.check(channels=3, beams=7, spectra_per_frame=1100, spectra=1100)
        self.check(channels=2, beams=130, spectra_per_frame=35, spectra=5, products="I")

    def test_polarisations(self):
        """Right-hand circular is y = -i x and has V > 0, in both bases."""
        x = self.rng.standard_normal(16) + 1j * self.rng.standard_normal(16)
        linear = np.stack([x, -1j * x])
        circular = np.stack([linear[0] + 1j * linear[1], linear[0] - 1j * linear[1]])
        for pair, basis in ((linear, "linear"), (circular / np.sqrt(2), "circular")):
            voltages = pair.astype(np.complex64).reshape(1, 1, 2, 16)
            block = aperture.power_detector(
                channels=1, beams=2, spectra_per_frame=16, spectra=16, products="IQUV", basis=basis
            )
            (data,), _ = qa_tools.run(block, [reference.samples_to_bytes(voltages, "fc32")], [16])
            power = 2 * np.mean(abs(x) ** 2)
            np.testing.assert_allclose(
                powers_of(data, (4,))[0], [power, 0, 0, power], rtol=0, atol=1e-5
            )

    def test_missing(self):
        """Each part is divided by its own count."""
        for products in ("power", "I", "IQUV", "coherency"):
            for spectra in (4, 12, 24):
                with self.subTest(products, spectra=spectra):
                    missing = self.rng.random((5, 4, 12)) < 0.3
                    missing[2] = True
                    self.check(products=products, spectra=spectra, missing=missing)
                    self.check(products=products, spectra=spectra, missing=missing, mean=False)

    def test_gap(self):
        """Blocks that were lost before it."""
        for spectra in (6, 24):
            voltages = qa_tools.random_samples(self.rng, "fc32", (6, 2, 3, 12))
            block = aperture.power_detector(
                channels=2, beams=3, spectra_per_frame=12, spectra=spectra
            )
            tags = frame_tags() + [(3, "rx_time", rx_time(EPOCH, 6 / RATE))]
            (data,), (out_tags,) = qa_tools.run(
                block, [reference.samples_to_bytes(voltages, "fc32")], [24], tags=[tags]
            )
            laid_out = np.zeros((9, 2, 3, 12), dtype=complex)
            laid_out[:3], laid_out[6:] = voltages[:3], voltages[3:]
            missing = np.zeros((9, 3, 12), dtype=bool)
            missing[3:6] = True
            expected, counts = reference.detect(laid_out, spectra, missing=missing)
            powers = powers_of(data, expected.shape[1:])
            np.testing.assert_allclose(powers, expected, rtol=1e-5)
            np.testing.assert_array_equal(
                counted_of(out_tags, counts.shape[1:], len(powers)), counts
            )

    def test_tags(self):
        edge = {"rx_freq": 408e6, "rx_rate": RATE, "bandwidth": 2e6, "samples_per_item": 768}
        tags = [(0, "rx_time", rx_time(EPOCH, 0.125))]
        tags += [(0, key, value) for key, value in edge.items()]
        for spectra, summed in ((6, 1), (12, 2), (24, 3), (3, 6)):
            out_tags = self.check(spectra=spectra, summed=summed, frames=6, tags=tags)
            expected = reference.detector_edge(edge, 6, 12, spectra, summed)
            for key, value in expected.items():
                self.assertEqual(tags_of(out_tags, key), [(0, value)])
            times = [
                (i, rx_time(EPOCH, 0.125 + i * spectra / 12 / RATE)) for i in range(72 // spectra)
            ]
            found = qa_tools.each_of(out_tags, "rx_time", len(times))
            self.assertEqual(len(found), len(times))
            for (item, time), (_, wanted) in zip(found, times):
                self.assertLess(abs(qa_tools.seconds_between(time, wanted)), 1e-12, item)

    def test_partial_frame(self):
        """
        The corner turn's padding, here behind 7 spectra of the last frame: it is not counted,
        the last integration that has any of those is partial, and none comes after it.
        """
        missing = np.zeros((4, 4, 12), dtype=bool)
        missing[3, :, 7:] = True
        missing[3, 1, 2:] = True
        missing[0, :, 6:] = True  # is lost, and no padding
        for spectra, last in ((1, 42), (3, 14), (4, 10), (6, 7), (12, 3), (24, 1), (36, 1)):
            with self.subTest(spectra=spectra):
                tags = self.check(
                    frames=4,
                    spectra=spectra,
                    missing=missing,
                    tags=[(3, "partial", True)],
                    end=last + 1,
                )
                # one spectrum is whole
                partial = [] if spectra == 1 else [(last, True)]
                self.assertEqual(tags_of(tags, "partial"), partial)

    def test_nothing_behind_the_end(self):
        """Frames that come from the corner turn, whose last has 5 of 16 spectra, give nothing
        behind the end."""
        spectra = qa_tools.random_samples(self.rng, "fc32", (16 * 6 + 5, 2, 3))
        top = gr.top_block()
        sources = [
            blocks.vector_source_c(row.ravel().tolist(), False, 3)
            for row in np.moveaxis(spectra, 1, 0)
        ]
        corner_turn = aperture.corner_turn(channels=3, inputs=2, spectra_per_frame=16, type="fc32")
        weights = np.array([[1, 0], [0, 1], [0, 0]], dtype=np.complex64)
        beamformer = aperture.beamformer(
            channels=3, inputs=2, beams=3, spectra_per_frame=16, type="fc32", weights=weights
        )
        detector = aperture.power_detector(channels=3, beams=3, spectra_per_frame=16, spectra=4)
        powers = aperture.beam_power(
            channels=3,
            inputs=2,
            beams=3,
            spectra_per_frame=16,
            type="fc32",
            weights=weights,
            spectra=4,
        )
        sinks = [blocks.vector_sink_f(9), blocks.vector_sink_f(9)]
        for port, source in enumerate(sources):
            top.connect(source, (corner_turn, port))
        top.connect(corner_turn, beamformer, detector, sinks[0])
        top.connect(corner_turn, powers, sinks[1])
        top.run()
        expected, _ = reference.detect(np.moveaxis(spectra, (0, 1, 2), (2, 1, 0))[None], 4)
        # each divided by what was counted
        for sink in sinks:
            made = np.reshape(sink.data(), (-1, 3, 3))
            self.assertEqual(len(made), 26)
            np.testing.assert_allclose(made[:, :2], expected[:, :, 0], rtol=1e-5)
            self.assertFalse(made[:, 2].any())
            partial = [t.offset for t in sink.tags() if str(t.key) == "partial"]
            self.assertEqual(partial, [25])

    def test_restart(self):
        """Nothing is left of the run before, not even of a partial integration."""
        voltages = qa_tools.random_samples(self.rng, "fc32", (23, 2, 3, 8))
        gate = threading.Event()
        block = aperture.power_detector(channels=2, beams=3, spectra_per_frame=8, spectra=32)
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(voltages, "fc32")],
            [24],
            tags=[frame_tags()],
            gates={10: gate},
        )
        with graph.running():
            graph.sinks[0].wait_for(2)
            graph.top.stop()
        expected, _ = reference.detect(voltages, 32)
        for _ in range(2):
            (data,), _ = graph.run()
            np.testing.assert_allclose(powers_of(data, expected.shape[1:]), expected, rtol=1e-5)

    def test_errors(self):
        cases = (
            ({"spectra": 100}, "spectra: 100 is not allowed; it must be a divisor or"),
            (
                {"products": "IQ"},
                "products: 'IQ' is not allowed; it must be power, I, IQUV or coherency",
            ),
            ({"products": "I", "beams": 3}, "beams: 3 is not allowed; it must be even"),
            ({"summed_channels": 3}, "summed_channels: 3 is not allowed; it must be a div"),
            ({"basis": "x"}, "basis: 'x' is not allowed; it must be linear or circular"),
            ({"type": "sc4"}, "type: 'sc4' is not allowed; it must be fc32 or sc8"),
        )
        for parameters, message in cases:
            with self.assertRaises(ValueError) as caught:
                aperture.power_detector(**parameters)
            self.assertIn(message, str(caught.exception))


if __name__ == "__main__":
    gr_unittest.run(qa_power_detector)
