#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The order of products in C++, against the same in NumPy."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import baselines
from gnuradio.aperture.arrays.array_description import Input
from gnuradio.aperture.formats.uvh5.header import map_products
from gnuradio.aperture.testing.arrays import make_array

ARRAYS = (
    ["B2x", "A10x", "A9x", "Cx"],
    ["A9y", "B2x", "A9x", "Cy", "B2y", "A10x", "A10y", "Cx"],
    ["A9l", "B2l", "B2r", "A9r"],
    ["B2y"],
    ["B2x", "B2y"],
    # antennas with one of two polarisations, and one without inputs
    ["B2y", "A9x", "A10x", "A10y"],
)


def map_of(inputs):
    places = {name: (10.0 * i, 0.0, 0.0) for i, name in enumerate(("B2", "A10", "A9", "C"))}
    return map_products(make_array(places, inputs=[Input(name[:-1], name[-1]) for name in inputs]))


def ordered(found, visibilities):
    """[channel][product] -> [baseline][channel][polarisation] of a ProductMap."""
    picked = visibilities.T[found.product]
    np.conjugate(picked, out=picked, where=found.conjugate[:, :, np.newaxis])
    picked[found.product < 0] = 0
    own = [p for p, name in enumerate(found.polarizations) if name[0] == name[1]]
    autos = np.flatnonzero(found.ant_1 == found.ant_2)
    picked.imag[np.ix_(autos, own)] *= 0
    return np.ascontiguousarray(picked.transpose(0, 2, 1))


class qa_baseline_order(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1)

    def cases(self):
        """Maps, and visibilities of so many channels of each."""
        for inputs in ARRAYS:
            found, count = map_of(inputs), len(inputs) * (len(inputs) + 1) // 2
            for channels in (1, 7, 8, 9, 61):
                values = self.rng.normal(size=(channels, count, 2)).astype(np.float32)
                yield found, values.view(np.complex64)[..., 0]

    def empty(self, found, channels, kind=np.complex64):
        """Room for results, with something in it."""
        return np.full((*found.product.shape[:1], channels, found.product.shape[1]), 77, kind)

    def test_visibilities(self):
        """The same bits, also of what is no number."""
        for found, values in self.cases():
            order, to = found.order(), self.empty(found, len(values))
            self.assertTrue(order.visibilities(values, to))
            self.assertEqual(to.tobytes(), ordered(found, values).tobytes())
            for bad in (np.nan, -np.nan, np.inf, -np.inf):
                wrong = values.copy()
                wrong.view(np.float32)[
                    self.rng.integers(len(values)), self.rng.integers(2 * values.shape[1])
                ] = bad
                self.assertFalse(order.visibilities(wrong, to))
                np.testing.assert_array_equal(to, ordered(found, wrong))

    def test_factors(self):
        for found, values in self.cases():
            factors = self.rng.normal(size=(*values.shape, 2)).astype(np.float32)
            factors = factors.view(np.complex64)[..., 0]
            to = self.empty(found, len(values))
            self.assertTrue(found.order().visibilities(values, to, factors))
            # a product of two complex numbers has four roundings
            exact = values.astype(complex) * factors
            np.testing.assert_allclose(
                to, ordered(found, exact), rtol=4 * np.finfo(np.float32).eps, atol=1e-7
            )

    def test_rotation(self):
        """Phases are right behind millions of cycles."""
        for found, values in self.cases():
            to = self.empty(found, len(values))
            order = found.order()
            order.visibilities(values, to)
            delays = self.rng.normal(size=len(to)) * 1e-3
            first, width = 1.4e9, 1e5 / 3
            expected = ordered(found, values).astype(complex)
            cycles = np.multiply.outer(delays, first + width * np.arange(len(values)))
            expected *= np.exp(-2j * np.pi * (cycles % 1))[..., np.newaxis]
            order.rotate(to, delays, first, width)
            np.testing.assert_allclose(to, expected, rtol=2e-7, atol=2e-7)

    def test_many_channels_are_rotated(self):
        """Errors of rounding do not add up along the channels."""
        order = baselines.baseline_order(1, [[0]], [[False]], [[False]])
        values = np.ones((1, 100_000, 1), np.complex64)
        order.rotate(values, np.array([1.23e-6]), 1e8, 1234.5)
        cycles = 1.23e-6 * (1e8 + 1234.5 * np.arange(values.size))
        np.testing.assert_allclose(values.ravel(), np.exp(-2j * np.pi * cycles), atol=2e-7)

    def test_fractions(self):
        """The same bits, and what is said of them."""
        for found, values in self.cases():
            order = found.order()
            for least, most in ((0, 48), (1, 48), (47, 48)):
                counts = self.rng.integers(least, most, values.shape, endpoint=True)
                fractions = self.empty(found, len(values), np.float32)
                flags = self.empty(found, len(values), bool)
                said = order.fractions(counts.astype(np.uint32), 48, fractions, flags)
                expected = found.fractions(counts, 48).astype(np.float32)
                self.assertEqual(fractions.tobytes(), expected.tobytes())
                np.testing.assert_array_equal(flags, expected == 0)
                self.assertEqual(said, ((expected == 1).all(), (expected == 0).any()))
            counts = np.full(values.shape, 48, np.uint32)
            nothing = (found.product < 0).any()
            self.assertEqual(order.fractions(counts, 48, fractions, flags), (not nothing, nothing))

    def test_what_is_refused(self):
        one = [[0, 1], [1, 2]]
        no = np.zeros((2, 2), bool)
        for arguments, text in (
            ((0, one, no, no), "products: 0"),
            ((2, one, no, no), "product: 2 is not allowed; it must be from -1 to 1"),
            ((3, [[-2, 1], [1, 2]], no, no), "product: -2"),
            ((3, one, no[:1], no), "conjugate: 2"),
            ((3, one, no, no[:1]), "real: 2"),
            ((3, [0, 1], no, no), "product"),
            ((3, np.zeros((2, 5), int), no, no), "polarizations: 5"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                baselines.baseline_order(*arguments)
        order = baselines.baseline_order(3, one, no, no)
        values, to = np.zeros((4, 3), np.complex64), np.zeros((2, 4, 2), np.complex64)
        for call, text in (
            (lambda: order.visibilities(values[:3], to), r"from: the shape \(3, 3\).*\(4, 3\)"),
            (lambda: order.visibilities(values, to[:1]), r"to: the shape \(1, 4, 2\)"),
            (lambda: order.visibilities(values, to, values[:2]), "factors: the shape"),
            (lambda: order.rotate(to, np.zeros(3), 1.0, 1.0), "delays: the shape"),
            (
                lambda: order.fractions(
                    values.real.astype(np.uint32), 0, to.real.copy(), to.real.astype(bool)
                ),
                "spectra: 0",
            ),
        ):
            with self.assertRaisesRegex(ValueError, text):
                call()
        with self.assertRaises(TypeError):
            order.visibilities(values.astype(complex), to)


if __name__ == "__main__":
    gr_unittest.run(qa_baseline_order)
