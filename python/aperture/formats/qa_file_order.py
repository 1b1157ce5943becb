#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Elements in the order of files, and powers in 8 bits, beside NumPy."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import file_order
from gnuradio.aperture.dumps.voltage_edge import arranged, time_first
from gnuradio.aperture.formats.filterbank.writer import Levels

TYPES = (np.uint8, np.uint16, np.float32, np.complex64, np.complex128)


class qa_file_order(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1)

    def noise(self, shape, kind):
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        return self.rng.integers(0, 255, size, dtype=np.uint8).view(kind).reshape(shape)

    def assert_same(self, one, other):
        """Bit by bit: some are no numbers."""
        self.assertEqual(one.shape, other.shape)
        self.assertEqual(one.tobytes(), other.tobytes())

    def test_transpose(self):
        for kind in TYPES:
            for shape in (
                (1, 1, 1),
                (3, 2, 257),
                (2, 7, 70),
                (2, 33, 65),
                (5, 64, 32),
                (2, 7, 1),
                (0, 3, 4),
            ):
                given = self.noise(shape, kind)
                found = self.noise((shape[0], shape[2], shape[1]), kind)
                file_order.transpose(given, found)
                self.assert_same(found, given.swapaxes(1, 2))

    def test_parts(self):
        """Rows of what is read and written may be parts of longer ones."""
        for kind in TYPES:
            given, whole = self.noise((4, 40, 100), kind), self.noise((6, 70, 50), kind)
            before = whole.copy()
            file_order.transpose(given[1:, 3:39, 30:95], whole[::2, 2:67, 5:41])
            before[::2, 2:67, 5:41] = given[1:, 3:39, 30:95].swapaxes(1, 2)
            self.assert_same(whole, before)

    def test_refuses(self):
        here = np.zeros((2, 3, 4), np.uint16)
        for given, found, text in (
            (here, np.zeros((2, 3, 4), np.uint16), "to: the shape .2, 3, 4. is not allowed"),
            (here, np.zeros((2, 4, 3), np.uint8), "to: the shape"),
            (here[0], np.zeros((4, 3), np.uint16), "from_: the shape .3, 4. is not allowed"),
            (here[..., ::2], np.zeros((2, 2, 3), np.uint16), "from_: the shape"),
            (np.zeros((1, 1, 1), "u1,u2"), np.zeros((1, 1, 1), "u1,u2"), "from_: elements of 3"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                file_order.transpose(given, found)
        with self.assertRaisesRegex(ValueError, "to: "):
            constant = np.zeros((2, 4, 3), np.uint16)
            constant.flags.writeable = False
            file_order.transpose(here, constant)
        powers, cell = np.zeros((2, 3, 4), np.float32), np.ones((3, 4))
        for found, level in (
            (np.zeros((2, 3, 5), np.uint8), cell),
            (np.zeros((2, 3, 4), np.uint8), np.ones((4, 3))),
            (np.zeros((2, 3, 8), np.uint8)[..., ::2], cell),
        ):
            with self.assertRaisesRegex(ValueError, "to: "):
                file_order.to_bytes(powers, level, cell, found)

    def expected(self, powers, offset, step):
        with np.errstate(invalid="ignore"):
            return np.minimum(np.fmax(np.rint((powers - offset) / step), 0), 255).astype(np.uint8)

    def test_bytes(self):
        """Every value, halves and numbers beside them, and what is no number."""
        for shape in ((3, 5), (2, 3, 31), (4, 3, 2, 33), (1, 1, 1), (2, 1, 1, 1)):
            powers = self.rng.normal(100, 90, shape).astype(np.float32)
            flat = powers.reshape(-1)
            halves = np.arange(-3, 260, 0.5, np.float32)[: flat.size]
            flat[: halves.size] = halves
            special = (np.nan, np.inf, -np.inf, 3e38, -3e38)[: flat.size]
            flat[-len(special) :] = special
            for offset, step in (
                (np.zeros(shape[1:]), np.ones(shape[1:])),
                (self.rng.normal(size=shape[1:]), self.rng.uniform(0.1, 3, shape[1:])),
            ):
                for reverse in (1, -1):
                    found = self.noise(shape, np.uint8)[..., ::reverse]
                    Levels(offset, step).write_bytes(powers, found)
                    self.assert_same(found, self.expected(powers, offset, step))

    def test_bytes_of_files(self):
        """The room of a file for each beam: [sample] is not the slowest axis there."""
        powers = self.rng.normal(100, 90, (6, 3, 4, 21)).astype(np.float32)
        level = np.full((3, 4, 21), 0.3), np.full((3, 4, 21), 1.1)
        found = self.noise((3, 9, 4, 21), np.uint8)
        Levels(*level).write_bytes(powers, found[:, 2:8].swapaxes(0, 1)[..., ::-1])
        self.assert_same(found[:, 2:8, :, ::-1], self.expected(powers, *level).swapaxes(0, 1))

    def test_voltages(self):
        for kind in (np.uint16, np.complex64, np.int8):
            for shape in ((1, 5, 3, 40), (3, 4, 2, 17), (2, 3, 4, 1), (2, 2, 1, 9)):
                samples = self.noise(shape, kind)
                _, channels, inputs, _ = shape
                for some in (list(range(channels)), [1], [0, channels - 1]):
                    for each in (list(range(inputs)), [inputs - 1], [inputs - 1, 0][:inputs]):
                        picked = samples[:, some][:, :, each]
                        self.assert_same(
                            arranged(samples, some, each),
                            picked.transpose(1, 0, 3, 2).reshape(len(some), -1, len(each)),
                        )
                        self.assert_same(
                            time_first(samples, some, each),
                            picked.transpose(0, 3, 1, 2).reshape(-1, len(some), len(each)),
                        )


if __name__ == "__main__":
    gr_unittest.run(qa_file_order)
