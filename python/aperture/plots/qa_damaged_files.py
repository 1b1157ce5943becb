#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_plot of files with flipped bytes: a picture or one error, in little time and memory."""

import os
import resource
import struct

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import plot
from gnuradio.aperture.formats.filterbank.header import header_bytes
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.tiers import ALL
from gnuradio.aperture.testing.visibility_files import write_array

FILES = 30 if ALL else 8  # files of each kind, with the same flipped bytes each time
MEMORY = 4 << 30  # bytes of address space: the program itself takes about 1
LONGEST = 20  # seconds of the processor: a picture takes about half of one


class qa_damaged_files(InFolder, gr_unittest.TestCase):
    def plot(self, name):
        """Exit code, message and seconds of the processor of the command in a process of its own,
        with limits."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.dup2(writer, 2)
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                code = plot.main([name, "-o", self.path("a.png"), "--dpi", "30"])
            finally:
                os._exit(code)
        os.close(writer)
        with open(reader, errors="replace") as messages:
            text = messages.read()
        _, status, used = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(status), text, used.ru_utime + used.ru_stime

    def check(self, name):
        """A picture without a word, or one message that this file is no good."""
        code, text, seconds = self.plot(name)
        self.assertLess(seconds, LONGEST)
        if code == 0:
            self.assertEqual(text, "")
        else:
            self.assertEqual((code, text.count("\n")), (1, 1), text)
            self.assertIn(f"aperture_plot: error: {name}: ", text)
            self.assertNotIn("this should not happen", text)
        return code

    def check_flipped(self, name, head):
        """Files with up to 40 flipped bytes; of half of them, all in the first `head` ones."""
        with open(name, "rb") as file:
            good = file.read()
        self.assertEqual(self.check(name), 0)
        random = np.random.default_rng(7)
        codes = []
        for number in range(FILES):
            bytes_ = np.frombuffer(good, np.uint8).copy()
            places = random.integers(0, head if number % 2 else len(good), random.integers(1, 40))
            bytes_[places] ^= random.integers(1, 256, len(places), dtype=np.uint8)
            bytes_.tofile(name)
            with self.subTest(number=number):
                codes.append(self.check(name))
        self.assertEqual(set(codes), {0, 1})

    def test_uvh5(self):
        name = self.path("a.uvh5")
        write_array(name, 2, integrations=3)
        self.check_flipped(name, 12000)

    def test_filterbank(self):
        name = self.path("a.fil")
        self.write_filterbank(name)
        self.check_flipped(name, 300)

    def write_filterbank(self, name, **changes):
        values = {
            "source_name": "beam",
            "nchans": 16,
            "nbits": 32,
            "nifs": 1,
            "fch1": 1500.0,
            "foff": -1.0,
            "tsamp": 1e-3,
            "tstart": 60000.0,
            **changes,
        }
        with open(name, "wb") as file:
            file.write(header_bytes(values))
            random = np.random.default_rng(1)
            random.exponential(size=(400, 16)).astype(np.float32).tofile(file)

    def test_what_a_header_may_claim(self):
        """Lengths that the file does not have, numbers that are none, names that are none."""
        name = self.path("a.uvh5")

        def replace(path, make):
            def change(file):
                values = make(file[path][()])
                del file[path]
                file[path] = values

            return change

        def enlarge(file):
            for path in ("Header/freq_array", "Data/visdata"):
                shape = list(file[path].shape)
                shape[-1 if path[0] == "H" else 1] = 1 << 36
                kind = file[path].dtype
                del file[path]
                file.create_dataset(path, shape, kind, chunks=tuple(min(n, 64) for n in shape))

        for change, text in (
            (enlarge, "is said to be of shape"),
            (replace("Header/freq_array", lambda old: old * np.nan), "freq_array has values"),
            (replace("Header/freq_array", lambda old: old * 0), "channels of 0 Hz"),
            (replace("Header/time_array", lambda old: old * 1e300), "time_array has values"),
            (replace("Header/time_array", lambda old: np.bytes_("x")), "is not what UVH5 has"),
            (replace("Header/ant_1_array", lambda old: old + 0.5), "is not what UVH5 has"),
            (replace("Header/freq_array", lambda old: old[1:]), "9 rows, 47 channels"),
            (replace("Header/telescope_name", lambda old: np.bytes_(b"$\xff\x01$^{")), None),
            (replace("Header/antenna_names", lambda old: [b"$_\xff", b"$^\n$"]), None),
            (replace("Header/antenna_positions", lambda old: old + np.inf), None),
        ):
            write_array(name, 2, integrations=3)
            with h5py.File(name, "r+") as file:
                change(file)
            code, message, _ = self.plot(name)
            self.assertEqual(code, 1 if text else 0, message)
            if text:
                self.assertIn(text, message)

        name = self.path("a.fil")
        for changes in (
            dict(source_name="$\n$^{"),
            dict(nchans=2**24, nifs=2**24),
            dict(nbeams=-1),
            dict(nifs=4, nbeams=3),
        ):
            self.write_filterbank(name, **changes)
            self.check(name)
        with open(name, "wb") as file:
            file.write(struct.pack("<i", 2**31 - 1))
        self.assertEqual(self.check(name), 1)


if __name__ == "__main__":
    gr_unittest.run(qa_damaged_files)
