#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Powers as files store them, beside NumPy: numbers of every size and order, and their levels."""

from itertools import product

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import stored_powers
from gnuradio.aperture.testing.power_files import packed

BITS = (1, 2, 4, 8, 16, 32)


class qa_stored_powers(gr_unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(3)

    def numbers(self, shape, bits, signed):
        if bits == 32:
            return self.random.standard_normal(shape).astype(np.float32)
        low = -(1 << bits - 1) if signed else 0
        return self.random.integers(low, low + (1 << bits), shape)

    def stored(self, numbers, bits, big_endian, descending):
        """The bytes of numbers [row][channel] in a file, by NumPy."""
        shown = numbers[:, ::-1] if descending else numbers
        if bits < 8:
            return np.frombuffer(packed(shown & (1 << bits) - 1, bits, big_endian), np.uint8)
        kind = {8: "i1", 16: "i2", 32: "f4"}[bits]
        kind = ("" if bits == 8 else ">" if big_endian else "<") + kind
        return np.frombuffer(shown.astype(kind).tobytes(), np.uint8)

    def cases(self):
        for bits, signed, big_endian, descending in product(BITS, *3 * [(False, True)]):
            # rows of whole bytes, of long and short ones, and rows that begin within a byte
            for rows, channels in ((6, 40), (4, 1024), (6, 3), (6, 13)):
                order = dict(signed=signed, big_endian=big_endian, descending=descending)
                with self.subTest(bits=bits, channels=channels, **order):
                    yield bits, self.numbers((rows, channels), bits, signed), order

    def test_unpack(self):
        for bits, numbers, order in self.cases():
            data = self.stored(numbers, bits, order["big_endian"], order["descending"])
            found = np.full(numbers.shape, 77, np.float32)
            stored_powers.unpack(data, bits, found, **order)
            np.testing.assert_array_equal(found, numbers)
            scale, offset = self.random.uniform(0.5, 3, (2, 2, numbers.shape[1])).astype("f4")
            offset[1, 0] = np.nan
            stored_powers.unpack(data, bits, found, 7.5, scale, offset, **order)
            # each operation is rounded, as NumPy does
            right = (numbers.astype("f4") - np.float32(7.5)).reshape(-1, *scale.shape)
            np.testing.assert_array_equal(found, (right * scale + offset).reshape(found.shape))

    def test_pack(self):
        """Half to even, and clamped; what is packed is what unpack() reads."""
        for bits, numbers, order in self.cases():
            offset, step = np.full((2, numbers.shape[1]), 10.0), np.full((2, numbers.shape[1]), 0.5)
            offset[1], step[1] = -3.0, 2.0
            size = -(-numbers.size * bits // 8)
            data, found = np.full(size, 0x5A, np.uint8), np.empty(numbers.shape, np.float32)
            if bits == 32:
                powers = numbers
            else:
                low = -(1 << bits - 1) if order["signed"] else 0
                powers = numbers + self.random.choice([-0.5, 0.0, 0.4, 0.5], numbers.shape)
                powers.flat[:3] = -1e9, 1e9, low + 0.5
                numbers = np.clip(np.rint(powers), low, low + (1 << bits) - 1)
                powers = (powers.reshape(-1, *step.shape) * step + offset).reshape(numbers.shape)
            stored_powers.pack(np.float32(powers), bits, data, offset, step, **order)
            stored_powers.unpack(data, bits, found, **order)
            np.testing.assert_array_equal(found, numbers)
        data = np.full(1, 77, np.uint8)
        stored_powers.pack(np.full((1, 1), np.nan, "f4"), 8, data, *np.ones((2, 1, 1)))
        self.assertEqual(data[0], 0)

    def test_describe(self):
        powers = self.random.normal(1e5, 1, (37, 3, 21)).astype(np.float32)
        finite, low, high, mean, deviation = stored_powers.describe(powers)
        self.assertTrue(finite)
        np.testing.assert_array_equal((low, high), (powers.min(axis=0), powers.max(axis=0)))
        np.testing.assert_allclose(mean, powers.mean(axis=0, dtype=float), rtol=1e-14)
        np.testing.assert_allclose(deviation, powers.std(axis=0, dtype=float), rtol=1e-9)
        for bad in (np.nan, np.inf, -np.inf):
            powers[36, 2, 20] = bad
            self.assertFalse(stored_powers.describe(powers)[0])
        powers[36, 2, 20] = np.nan
        _, low, high, _, _ = stored_powers.describe(powers)
        np.testing.assert_array_equal(
            (low, high), (np.nanmin(powers, axis=0), np.nanmax(powers, axis=0))
        )

    def test_refuses(self):
        row, data, level = np.zeros((2, 9), np.float32), np.zeros(18, np.uint8), np.ones((2, 9))
        for call, text in (
            (lambda: stored_powers.unpack(data, 3, row), "bits: 3 is not allowed"),
            (lambda: stored_powers.unpack(data, 4, row), r"data: the shape .18,. .* \[9\]"),
            (lambda: stored_powers.unpack(data, 8, row[0]), "powers: the shape .9,. is not"),
            (lambda: stored_powers.unpack(data, 8, row, 0, row), "scale, offset: both"),
            (lambda: stored_powers.unpack(data, 8, row, 0, row, row[:1]), "offset: .* that of sc"),
            (
                lambda: stored_powers.pack(row, 8, data, level[:, :8].copy(), level),
                "offset: the shape",
            ),
            (lambda: stored_powers.pack(row, 8, data, level, level[:1]), "step: .* of offset"),
            (lambda: stored_powers.describe(row[:0]), "powers: .* one sample at least"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                call()


if __name__ == "__main__":
    gr_unittest.run(qa_stored_powers)
