#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of parts of the channels and times, joined into one."""

import os
import shutil
import tempfile

import h5py
import numpy as np
from gnuradio import gr_unittest
from gnuradio.aperture import load_array, parse_direction
from gnuradio.aperture.files.uvh5_merge import merge
from gnuradio.aperture.files.uvh5_reader import Uvh5Error
from gnuradio.aperture.files.uvh5_writer import Uvh5Layout

WIDTH, CHANNELS, TIMES, LENGTH = 1e5, 7, 6, 2.0
BEGIN = 2460000.5


class qa_uvh5_merge(gr_unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="qa_uvh5_merge")
        self.addCleanup(shutil.rmtree, self.folder)
        rng = np.random.default_rng(0)
        self.array = load_array("two-dish")
        self.products = 3
        shape = (TIMES, CHANNELS, self.products)
        self.values = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, channels, times, counted=100, offset=0.0, **more):
        """A file of some channels (a range) and times, as aperture_fx writes it."""
        layout = Uvh5Layout(self.array, 1e9 + WIDTH * np.arange(channels.start, channels.stop)
                            + offset, WIDTH, history="a test", **more)
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(layout.create())
        layout.append(path, [layout.integration(
            self.values[time][channels.start:channels.stop], BEGIN + time * LENGTH / 86400, 100,
            np.full(self.products, counted), LENGTH / 100) for time in times])
        return path

    def read(self, path):
        with h5py.File(path) as file:
            shape = (-1, int(file["Header/Nbls"][()]), *file["Data/visdata"].shape[1:])
            return {**{name: file[f"Data/{name}"][:].reshape(shape)
                       for name in ("visdata", "flags", "nsamples")},
                    **{name: file[f"Header/{name}"][()] for name in (
                        "freq_array", "time_array", "Ntimes", "Nblts", "Nfreqs", "uvw_array")}}

    def test_whole(self):
        """Halves of the channels, in any order, are as one file would have been."""
        for more in ({}, {"phase_center": parse_direction("sun")}, {"compression": "gzip"}):
            whole = self.read(self.write("whole.uvh5", range(CHANNELS), range(TIMES), **more))
            parts = [self.write("b.uvh5", range(4, 7), range(TIMES), **more),
                     self.write("a.uvh5", range(4), range(TIMES), **more)]
            found = merge(parts, self.path("all.uvh5"))
            self.assertEqual((found["integrations"], found["channels"], found["flagged"]),
                             (TIMES, CHANNELS, 0))
            joined = self.read(self.path("all.uvh5"))
            for name, value in whole.items():
                np.testing.assert_allclose(joined[name], value, rtol=1e-15, err_msg=name)
            with h5py.File(self.path("all.uvh5")) as file:
                if "phase_center" in more:
                    self.assertEqual(file["Header/phase_center_catalog/0/cat_times"].shape,
                                     (TIMES,))

    def test_holes(self):
        """A host was away: what nobody has is flagged; a file that goes on is joined in time."""
        parts = [self.write("a.uvh5", range(3), range(TIMES)),
                 self.write("b0.uvh5", range(4, 7), range(2), counted=50),
                 self.write("b1.uvh5", range(4, 7), [1, 4, 5])]
        found = merge(parts, self.path("all.uvh5"))
        self.assertAlmostEqual(found["flagged"], (TIMES + 2 * 3) / (TIMES * CHANNELS))
        joined = self.read(self.path("all.uvh5"))
        samples = joined["nsamples"][:, 0, :, 0]
        expected = np.zeros((TIMES, CHANNELS))
        expected[:, :3] = 1
        expected[0, 4:] = 0.5
        expected[[1, 4, 5], 4:] = 1
        np.testing.assert_array_equal(samples, expected)
        np.testing.assert_array_equal(joined["flags"][:, 0, :, 0], expected == 0)
        whole = self.read(self.write("whole.uvh5", range(CHANNELS), range(TIMES)))
        there = joined["nsamples"] > 0
        np.testing.assert_array_equal(joined["visdata"][there], whole["visdata"][there])
        self.assertFalse(joined["visdata"][~there].any())

    def test_refused(self):
        """Files that do not belong together are refused, and nothing is left behind."""
        first = self.write("a.uvh5", range(3), range(2))
        other = self.write("b.uvh5", range(3, 7), range(2), offset=0.3 * WIDTH)
        with self.assertRaisesRegex(Uvh5Error, "b.uvh5: its channels do not continue"):
            merge([first, other], self.path("all.uvh5"))
        self.array = load_array("y8")
        self.products = 36
        self.values = np.zeros((TIMES, CHANNELS, 36), np.complex64)
        with self.assertRaisesRegex(Uvh5Error, "differs"):
            merge([first, self.write("c.uvh5", range(3, 7), range(2))], self.path("all.uvh5"))
        with open(self.path("d.uvh5"), "w") as file:
            file.write("no HDF5")
        with self.assertRaisesRegex(Uvh5Error, "d.uvh5"):
            merge([first, self.path("d.uvh5")], self.path("all.uvh5"))
        self.assertEqual([name for name in os.listdir(self.folder) if "all" in name], [])


if __name__ == "__main__":
    gr_unittest.run(qa_uvh5_merge)
