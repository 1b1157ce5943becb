#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Reading of UVH5 files."""

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.formats.uvh5.reader import Product, VisibilityFile
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.visibility_files import START, write_array, write_file


class qa_uvh5_reader(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.uvh5 = self.path("a.uvh5")

    def test_reading_averages_by_weight(self):
        random = np.random.default_rng(2)
        pairs, hands, times, channels = [(0, 0), (0, 1), (1, 1)], ("xx", "xy"), 7, 5
        shape = (times, len(pairs), channels, len(hands))
        data = random.normal(size=shape) + 1j * random.normal(size=shape)
        flags, nsamples = random.random(shape) < 0.3, random.random(shape)
        flags[:, 1, 2, 1] = True
        write_file(
            self.uvh5,
            data,
            pairs,
            hands,
            1e6 + 1e3 * np.arange(channels),
            [(0, 0, 0), (1, 0, 0)],
            times,
            flags,
            nsamples,
        )
        with VisibilityFile(self.uvh5) as file:
            values, middles = file.read([Product(0, 1, "xy"), Product(1, 1, "xx")], max_times=3)
        bins = [[0, 1, 2], [3, 4], [5, 6]]
        for index, (pair, hand) in enumerate([(1, 1), (2, 0)]):
            weights = np.where(flags, 0, nsamples)[:, pair, :, hand]
            for b, members in enumerate(bins):
                w = weights[members]
                with np.errstate(invalid="ignore"):
                    mean = (w * data[members, pair, :, hand]).sum(0) / w.sum(0)
                # the file holds complex64
                np.testing.assert_allclose(
                    values[index, b], np.where(w.sum(0) > 0, mean, np.nan), atol=1e-6
                )
        self.assertTrue(np.all(np.isnan(values[0, :, 2])))
        # Julian dates resolve 40 us
        np.testing.assert_allclose((middles - START) * 86400, [1, 3.5, 5.5], atol=1e-4)

    def test_descending_frequencies_and_integers(self):
        write_array(self.uvh5, 2)
        with VisibilityFile(self.uvh5) as file:
            ascending = file.read([Product(0, 1, "xx")])[0]
        with h5py.File(self.uvh5, "r+") as file:
            frequencies = file["Header/freq_array"][:][::-1]
            data = file["Data/visdata"][:][:, ::-1]
            integers = np.zeros(data.shape, [("r", "<i4"), ("i", "<i4")])
            integers["r"], integers["i"] = np.rint(data.real), np.rint(data.imag)
            del file["Header/freq_array"], file["Data/visdata"]
            file["Header/freq_array"], file["Data/visdata"] = frequencies, integers
        with VisibilityFile(self.uvh5) as file:
            self.assertTrue(np.all(np.diff(file.frequencies) > 0))
            # rounded to integers
            np.testing.assert_allclose(file.read([Product(0, 1, "xx")])[0], ascending, atol=0.71)


if __name__ == "__main__":
    gr_unittest.run(qa_uvh5_reader)
