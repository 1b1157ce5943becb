#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""HDF5 files that grow, read, changed and copied by the HDF5 library."""

import os
import zlib
from unittest import mock

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.files.growing_file import Space
from gnuradio.aperture.formats.uvh5.growing_hdf5 import GrowingHdf5
from gnuradio.aperture.formats.uvh5.repeated import deflate_repeated
from gnuradio.aperture.testing.folders import InFolder

ROWS, CHANNELS, PARTS = 3, 6, 3
ROW_CHUNK = 100
PAGE = 4096  # bytes, at whose multiples a write ends if its process is killed


def fill(file):
    header, data = file.create_group("Header"), file.create_group("Data")
    for number in range(60):
        header[f"fixed{number}"] = number
    header["text"] = np.bytes_(b"a text")
    header["count"] = 0
    header.create_dataset("time", (0,), "f8", maxshape=(None,), chunks=(ROW_CHUNK,))
    header.create_dataset("uvw", (0, 3), "f8", maxshape=(None, 3), chunks=(ROW_CHUNK, 3))
    size = {
        "shape": (0, CHANNELS, 4),
        "maxshape": (None, CHANNELS, 4),
        "chunks": (ROWS, CHANNELS // PARTS, 4),
    }
    data.create_dataset("values", dtype="c8", **size)
    data.create_dataset("weights", dtype="f4", compression="gzip", fillvalue=1.0, **size)


class qa_growing_hdf5(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "growing.h5"
        self.rng = np.random.default_rng(1)

    def begin(self):
        """An empty file; what is expected in it is in self.values and self.weights."""
        self.space = Space()
        self.space.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.addCleanup(os.close, self.space.descriptor)
        self.file = GrowingHdf5(self.space, fill, ("Header/count",))
        self.values, self.weights = [], []

    def add(self, alone=True):
        """Adds three rows, of which weights are stored in some parts, and publishes them."""
        count = len(self.values)
        values = self.rng.normal(size=(ROWS, CHANNELS, 4, 2)).astype("f4").view("c8")[..., 0]
        weights = np.ones((ROWS, CHANNELS, 4), np.float32)
        self.file.reserve(
            {"Header/time": ROWS, "Header/uvw": ROWS}, {"Data/values": PARTS, "Data/weights": PARTS}
        )
        width = CHANNELS // PARTS
        for part in range(PARTS):
            offset, channels = (
                [ROWS * count, width * part, 0],
                slice(width * part, width * part + 2),
            )
            stored = np.ascontiguousarray(values[:, channels])
            address = self.space.allocate(stored)
            self.file.add_chunks("Data/values", [offset], [address], stored.nbytes)
            kind = self.rng.integers(3)
            if kind == 0:
                continue  # none is stored: all are 1
            weights[:, channels] = self.rng.random((ROWS, width, 4))
            stored, mask = np.ascontiguousarray(weights[:, channels]), 1
            if kind == 2:
                stored, mask = zlib.compress(stored), 0
            address = self.space.allocate(stored)
            size = memoryview(stored).nbytes
            self.file.add_chunks("Data/weights", [offset], [address], size, mask)
        rows = np.arange(ROWS * count, ROWS * (count + 1))
        self.file.write_rows("Header/time", rows)
        self.file.write_rows("Header/uvw", np.arange(9 * count, 9 * count + 9).reshape(3, 3))
        for name in ("Header/time", "Header/uvw", "Data/values", "Data/weights"):
            self.file.grow(name, ROWS)
        self.values.append(values)
        self.weights.append(weights)
        self.file.set("Header/count", count + 1)
        self.file.publish(alone)

    def check(self, file, count):
        self.assertEqual(file["Header/count"][()], count)
        np.testing.assert_array_equal(file["Header/time"][()], np.arange(ROWS * count))
        np.testing.assert_array_equal(file["Header/uvw"][()].ravel(), np.arange(9 * count))
        for name, expected in (("values", self.values), ("weights", self.weights)):
            np.testing.assert_array_equal(
                file[f"Data/{name}"][()], np.reshape(expected[:count], (-1, CHANNELS, 4))
            )
        self.assertEqual([file[f"Header/fixed{i}"][()] for i in range(60)], list(range(60)))
        self.assertEqual(file["Header/text"][()], b"a text")

    def test_levels_of_trees(self):
        """64 entries are a node: up to three levels, checked where a node or level begins."""
        self.begin()
        for number in range(1, 1400):
            self.add(alone=number % 3 != 0)
            if number < 25 or number % 64 == 0 or number % 97 == 0:
                with h5py.File(self.path) as file:
                    self.check(file, number)
        self.assertGreater(PARTS * 1399, 64 * 64)
        with h5py.File(self.path) as file:
            self.check(file, 1399)

    def test_older_states(self):
        """A reader that has opened a state goes on reading it."""
        self.begin()
        kept = []
        for number in range(1, 80):
            self.add(alone=False)
            if number in (1, 5, 21, 22, 23, 60):
                # each is a copy: the library would take one file for the other
                copy = self.folder / f"{number}.h5"
                copy.write_bytes(self.path.read_bytes())
                kept.append((number, copy, copy.read_bytes()[:96]))
        content = self.path.read_bytes()
        for number, copy, superblock in kept:
            copy.write_bytes(superblock + content[96:])
            with h5py.File(copy) as file:
                self.check(file, number)

    def add_by_writes(self, alone):
        """Adds three rows as add(), and gives what each write has written: (address, bytes)."""
        written, write = [], Space.write

        def record(space, data, address):
            left, at = bytes(memoryview(data).cast("B")), address
            while left:
                length = PAGE - at % PAGE
                written.append((at, left[:length]))
                left, at = left[length:], at + length
            write(space, data, address)

        with mock.patch.object(Space, "write", record):
            self.add(alone)
        return written

    def check_by_walk(self, file):
        """Walks through all trees, which reading needs not do, and copies."""
        with h5py.File("walk", "w", driver="core", backing_store=False) as copy:
            for name in ("Data/values", "Data/weights", "Header/time", "Header/uvw"):
                data = file[name]
                for number in range(data.id.get_num_chunks()):
                    stored = data.id.get_chunk_info(number)
                    self.assertEqual(stored.chunk_offset[0] % data.chunks[0], 0)
                file.copy(name, copy, name=name)
                np.testing.assert_array_equal(copy[name][()], data[()])

    def test_killed_at_any_write(self):
        """After each write of one that publishes, the file holds the state before or the new one:
        where nodes and levels of the trees begin (64 entries are a node), and where none does."""
        self.begin()
        seen = set()
        path = self.folder / "killed.h5"
        for number in range(1, 66):
            if number not in (2, 22, 43, 44, 65):
                self.add()
                continue
            content = bytearray(self.path.read_bytes())
            for address, data in [(0, b""), *self.add_by_writes(alone=number % 2 == 0)]:
                content.extend(bytes(max(0, address + len(data) - len(content))))
                content[address : address + len(data)] = data
                # a file that grows is longer than its contents
                path.write_bytes(content + bytes(1 << 16))
                with h5py.File(path) as file:
                    count = int(file["Header/count"][()])
                    self.assertIn(count, (number - 1, number))
                    self.check(file, count)
                    self.check_by_walk(file)
                seen.add((number, number - count))
            self.assertEqual(bytes(content), self.path.read_bytes())
        self.assertEqual(seen, {(n, old) for n in (2, 22, 43, 44, 65) for old in (0, 1)})

    def test_copy_that_is_given_up(self):
        """A state that was published in a copy of the file alone is published in the file later,
        with the nodes of trees that it changes."""
        self.begin()
        for _ in range(42):
            self.add()
        with mock.patch.object(self.file, "publish"):
            self.add()
        roots, ours = self.file.roots, self.space.descriptor
        copy = self.folder / "copy.h5"
        copy.write_bytes(self.path.read_bytes())
        self.space.descriptor = os.open(copy, os.O_RDWR)
        self.addCleanup(os.close, self.space.descriptor)
        self.file.publish(True)
        self.space.descriptor, self.file.roots = ours, roots
        for path, count in ((copy, 43), (self.path, 42)):
            with h5py.File(path) as file:
                self.check(file, count)
        self.add()
        with h5py.File(self.path) as file:
            self.check(file, 44)
            self.check_by_walk(file)

    def test_changed_by_the_library(self):
        """A file that has been closed is changed by HDF5 like its own."""
        for count in (1, 22, 300):
            self.begin()
            for _ in range(count):
                self.add()
            rows = ROWS * count
            with h5py.File(self.path, "r+") as file:
                file["Data/weights"][:, 2] = 0.5
                for name, value in (("values", 7), ("weights", 0.25)):
                    file[f"Data/{name}"].resize(rows + 200, axis=0)
                    file[f"Data/{name}"][rows:] = value
                file["Header/new"] = np.arange(5)
                file["Header/time"].attrs["unit"] = "s"
                del file["Header/fixed7"]
                file.create_dataset("Data/more", data=np.ones((50, 50)), chunks=(7, 7))
            with h5py.File(self.path) as file:
                values, weights = file["Data/values"][()], file["Data/weights"][()]
                np.testing.assert_array_equal(
                    values[:rows], np.reshape(self.values, (-1, CHANNELS, 4))
                )
                self.assertTrue((values[rows:] == 7).all() and (weights[rows:] == 0.25).all())
                expected = np.reshape(self.weights, (-1, CHANNELS, 4))
                expected[:, 2] = 0.5
                np.testing.assert_array_equal(weights[:rows], expected)
                self.assertEqual(file["Header/new"][4], 4)
                self.assertNotIn("fixed7", file["Header"])
                self.assertEqual(file["Header/time"].attrs["unit"], "s")
                self.assertTrue((file["Data/more"][()] == 1).all())
            # the library copies what it reads, and finds nothing else
            with h5py.File(self.path) as file, h5py.File(self.folder / "copy.h5", "w") as copy:
                for name in file:
                    file.copy(name, copy)
                np.testing.assert_array_equal(copy["Data/values"][()], values)

    def test_repeated(self):
        """Streams that are composed are what zlib would have read."""
        for rows, width, count in (
            *((rows, width, 62) for rows in (1, 3, 528) for width in (1, 4, 16)),
            *((2, width, count) for width in (1, 4, 16) for count in range(1, 300, 7)),
            (5, 16, 129),
            (3, 16, 8001),
            (3, 1, 65537),
            (2000, 16, 13),
        ):
            patterns = self.rng.integers(0, 256, (rows, width)).astype(np.uint8)
            stream = deflate_repeated(patterns, count)
            self.assertEqual(
                zlib.decompress(stream), np.repeat(patterns[:, np.newaxis], count, 1).tobytes()
            )
            if count * width > 1000:
                self.assertLess(len(stream), rows * (60 + 3 * width + count * width / 50))
        # the last bytes of the checksum's sums
        for patterns in (np.zeros((7, 4), np.float32), np.full((7, 4), np.nan, np.float32)):
            self.assertEqual(
                zlib.decompress(deflate_repeated(patterns, 1000)),
                np.repeat(patterns[:, np.newaxis], 1000, 1).tobytes(),
            )


if __name__ == "__main__":
    gr_unittest.run(qa_growing_hdf5)
