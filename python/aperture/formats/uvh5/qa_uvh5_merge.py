#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of parts of the channels and times, joined into one."""

import os

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import load_array, parse_direction
from gnuradio.aperture.arrays.array_description import Antenna
from gnuradio.aperture.formats.uvh5.header import gains_of, gains_text
from gnuradio.aperture.formats.uvh5.merge import merge
from gnuradio.aperture.formats.uvh5.reader import Uvh5Error
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.uvh5_files import write_file

WIDTH, CHANNELS, TIMES, LENGTH = 1e5, 7, 6, 2.0
BEGIN = 2460000.5


def array_of():
    """Three antennas, in another order than in the file, and names with blanks in them."""
    antennas = [Antenna(f"Dish {i}", (10.0 * i, i * i, 0.0)) for i in (10, 2, 1)]
    return make_array(antennas, center=1e9)


class qa_uvh5_merge(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(0)
        self.array = load_array("two-dish")
        self.products = 3
        shape = (TIMES + 1, CHANNELS, self.products)
        self.values = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)

    def write(self, name, channels, times, counted=100, offset=0.0, **more):
        """A file of some channels (a range) and times, as aperture_fx writes it."""
        layout = Uvh5Layout(
            self.array,
            1e9 + WIDTH * np.arange(channels.start, channels.stop) + offset,
            WIDTH,
            history="a test",
            **more,
        )
        path = self.path(name)
        write_file(
            path,
            layout,
            [
                layout.integration(
                    self.values[time][channels.start : channels.stop],
                    BEGIN + time * LENGTH / 86400,
                    100,
                    np.full(self.products, counted),
                    LENGTH / 100,
                )
                for time in times
            ],
        )
        return path

    def read(self, path):
        with h5py.File(path) as file:
            shape = (-1, int(file["Header/Nbls"][()]), *file["Data/visdata"].shape[1:])
            return {
                **{
                    name: file[f"Data/{name}"][:].reshape(shape)
                    for name in ("visdata", "flags", "nsamples")
                },
                **{
                    name: file[f"Header/{name}"][()]
                    for name in (
                        "freq_array",
                        "time_array",
                        "Ntimes",
                        "Nblts",
                        "Nfreqs",
                        "uvw_array",
                    )
                },
            }

    def test_whole(self):
        """Halves of the channels, in any order, are as one file would have been."""
        for more in ({}, {"phase_center": parse_direction("sun")}, {"compression": "gzip"}):
            whole = self.read(self.write("whole.uvh5", range(CHANNELS), range(TIMES), **more))
            parts = [
                self.write("b.uvh5", range(4, 7), range(TIMES), **more),
                self.write("a.uvh5", range(4), range(TIMES), **more),
            ]
            found = merge(parts, self.path("all.uvh5"))
            self.assertEqual(
                (found["integrations"], found["channels"], found["flagged"]), (TIMES, CHANNELS, 0)
            )
            joined = self.read(self.path("all.uvh5"))
            for name, value in whole.items():
                np.testing.assert_allclose(joined[name], value, rtol=1e-15, err_msg=name)
            with h5py.File(self.path("all.uvh5")) as file:
                if "phase_center" in more:
                    self.assertEqual(
                        file["Header/phase_center_catalog/0/cat_times"].shape, (TIMES,)
                    )

    def test_holes(self):
        """A host was away: what nobody has is flagged; a file that goes on is joined in time."""
        parts = [
            self.write("a.uvh5", range(3), range(TIMES)),
            self.write("b0.uvh5", range(4, 7), range(2), counted=50),
            self.write("b1.uvh5", range(4, 7), [1, 4, 5]),
        ]
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

    def test_not_numbers(self):
        """A value of a part that is no number, flagged or not, is flagged and 0, and another part's
        channel is taken for one that has nothing else."""
        parts = [
            self.write("a.uvh5", range(4), range(TIMES)),
            self.write("b.uvh5", range(3, 7), range(TIMES), counted=50),
        ]
        with h5py.File(parts[0], "r+") as file:
            file["Data/visdata"][0, 1] = complex(np.nan, 0)
            file["Data/visdata"][:, 3] = np.nan
            file["Data/flags"][:, 3] = True
        merge(parts, self.path("all.uvh5"))
        joined = self.read(self.path("all.uvh5"))
        self.assertTrue(np.isfinite(joined["visdata"]).all())
        self.assertFalse(joined["flags"][:, :, 3].any())
        np.testing.assert_array_equal(np.argwhere(joined["flags"].any(axis=-1)), [(0, 0, 1)])
        np.testing.assert_array_equal(joined["flags"], joined["nsamples"] == 0)

    def test_gains(self):
        """
        Runs that measured their own gains for 8 bits: what is joined has those of the first file,
        in its products and in its header, in whatever order they come.
        """
        self.array = array_of()
        inputs = self.array.input_names
        own = [(1.0, 2.0, 3.0), (2.0, 0.5, 7.0), (1.0, 1.0, 1.0)]
        a, b = np.tril_indices(len(inputs))
        self.products = len(a)
        rng = np.random.default_rng(1)
        self.values = (
            rng.normal(size=(TIMES, CHANNELS, len(a)))
            + 1j * rng.normal(size=(TIMES, CHANNELS, len(a)))
        ).astype(np.complex64)
        before = self.values
        whole = self.read(self.write("whole.uvh5", range(CHANNELS), range(TIMES)))["visdata"]
        parts = []
        # two runs, of which the second has its channels in two files; the last knows of no gains
        for number, (channels, times, gains) in enumerate(
            (
                (range(CHANNELS), [0, 1], own[0]),
                (range(3), [2, 3], own[1]),
                (range(3, CHANNELS), [2, 3], own[0]),
                (range(CHANNELS), [4, 5], own[2]),
            )
        ):
            self.values = before * np.float32(np.array(gains)[a] * np.array(gains)[b])
            keywords = {} if number == 3 else {"GAINS": gains_text(inputs, gains)}
            parts.append(self.write(f"{number}.uvh5", channels, times, keywords=keywords))
        for order in ([0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0]):
            found = merge([parts[number] for number in order], self.path("all.uvh5"))
            self.assertEqual(len(found["notes"]), 1)
            with h5py.File(self.path("all.uvh5")) as file:
                keywords = file["Header"].get("extra_keywords", {})
                told = gains_of(keywords["GAINS"][()].decode()) if "GAINS" in keywords else {}
                names = [name.decode() for name in file["Header/antenna_names"]]
                ends = [file[f"Header/ant_{i}_array"][:6] for i in (1, 2)]
            self.assertEqual(told, {} if order[0] == 3 else dict(zip(inputs, own[order[0]])))
            level = np.array(
                [
                    told.get(names[one] + "x", 1.0) * told.get(names[two] + "x", 1.0)
                    for one, two in zip(*ends)
                ]
            )
            np.testing.assert_allclose(
                self.read(self.path("all.uvh5"))["visdata"], whole * level[:, None, None], rtol=1e-6
            )
        # nothing is touched where they agree
        self.values = before
        same = [
            self.write(
                f"same{i}.uvh5",
                range(CHANNELS),
                times,
                keywords={"GAINS": gains_text(inputs, own[0])},
            )
            for i, times in enumerate(([0, 1, 2], [3, 4, 5]))
        ]
        self.assertEqual(merge(same, self.path("all.uvh5"))["notes"], [])
        np.testing.assert_array_equal(self.read(self.path("all.uvh5"))["visdata"], whole)

    def test_calibrations(self):
        """Calibrated parts are joined with calibrated ones, and with none of other units."""
        mine = {"CALIB": "cal.yml: Cas A", "CALSTATE": "applied to the visibilities"}
        other = {"CALIB": "two.yml: noise", "CALSTATE": "applied by the F-engine"}
        noted = {"CALIB": "two.yml: noise", "CALSTATE": "not applied"}
        calibrated = self.write("a.uvh5", range(3), range(2), keywords=mine)
        for keywords, channels, times, refusal in (
            (None, range(3, 7), range(2), "a.uvh5 are calibrated .by cal.yml: Cas A.,"),
            (noted, range(3), range(2, 4), "a.uvh5 are calibrated"),
            (other, range(3, 7), range(2), "same times are calibrated by .*, and by"),
            (other, range(3), range(1, 4), "same times are calibrated"),
            (
                {**mine, "VISUNITS": "K"},
                range(3),
                range(2, 4),
                "in uncalib.* in K|in K.* in uncalib",
            ),
            (mine, range(3, 7), range(2), None),
            (other, range(3), range(2, 4), None),
        ):
            part = self.write("b.uvh5", channels, times, keywords=keywords)
            for pair in ([calibrated, part], [part, calibrated]):
                if refusal is None:
                    merge(pair, self.path("all.uvh5"))
                    with h5py.File(self.path("all.uvh5")) as file:
                        text = file["Header/extra_keywords/CALIB"][()].decode()
                    self.assertEqual(
                        sorted(text.split("; ")), sorted({mine["CALIB"], keywords["CALIB"]})
                    )
                    continue
                with self.assertRaisesRegex(Uvh5Error, refusal):
                    merge(pair, self.path("none.uvh5"))
        self.assertFalse(os.path.exists(self.path("none.uvh5")))

    def test_fields(self):
        """Files of several fields become one, with a catalogue of them, and that again with a
        third; a body that moves has its places at its own times."""
        star, other = parse_direction("Cas A"), parse_direction("Cyg A")
        sun = parse_direction("sun")
        files = [
            self.write("a.uvh5", range(CHANNELS), [0, 1], phase_center=star),
            self.write("b.uvh5", range(CHANNELS), [2], phase_center=sun),
            self.write("c.uvh5", range(CHANNELS), [3], phase_center=star),
            self.write("d.uvh5", range(CHANNELS), [4, 5], phase_center=sun),
            self.write("e.uvh5", range(CHANNELS), range(6, 7), phase_center=other),
        ]
        first = self.path("first.uvh5")
        merge(files[:3], first)
        found = merge([files[4], first, files[3]], self.path("all.uvh5"))
        self.assertEqual((found["integrations"], found["flagged"]), (7, 0))
        expected = [self.read(path) for path in files]
        joined = self.read(self.path("all.uvh5"))
        for name in ("visdata", "flags", "nsamples", "time_array", "uvw_array"):
            np.testing.assert_array_equal(
                joined[name], np.concatenate([each[name] for each in expected]), err_msg=name
            )
        with h5py.File(self.path("all.uvh5")) as file:
            catalogue = file["Header/phase_center_catalog"]
            names = {int(key): entry["cat_name"][()].decode() for key, entry in catalogue.items()}
            ids = file["Header/phase_center_id_array"][()].reshape(7, -1)
            self.assertEqual(file["Header/Nphase"][()], 3)
            self.assertTrue((ids == ids[:, :1]).all())
            self.assertEqual(
                [names[number] for number in ids[:, 0]],
                ["Cas A", "Cas A", "Sun", "Cas A", "Sun", "Sun", "Cyg A"],
            )
            (number,) = (key for key, name in names.items() if name == "Sun")
            times = file["Header/time_array"][()].reshape(7, -1)[[2, 4, 5], 0]
            moved = catalogue[str(number)]
            np.testing.assert_allclose(moved["cat_times"][()], times, rtol=0, atol=1e-9)
            places = []
            for path in (files[1], files[3]):
                with h5py.File(path) as part:
                    places.append(part["Header/phase_center_catalog/0/cat_lon"][()])
            np.testing.assert_array_equal(moved["cat_lon"][()], np.concatenate(places))

    def test_fields_refused(self):
        """One time of two fields, and one name of two places, are refused by name."""
        star = parse_direction("Cas A")
        first = self.write("a.uvh5", range(3), [0, 1], phase_center=star)
        same = self.write("b.uvh5", range(3, 7), [1], phase_center=parse_direction("Cyg A"))
        with self.assertRaisesRegex(Uvh5Error, "differ at the same time: Cas A, Cyg A"):
            merge([first, same], self.path("all.uvh5"))
        with h5py.File(first, "r") as file:
            place = file["Header/phase_center_catalog/0/cat_lon"][()]
        moved = self.write("c.uvh5", range(3), [2], phase_center=star)
        with h5py.File(moved, "r+") as file:
            file["Header/phase_center_catalog/0/cat_lon"][...] = place + 0.01
        with self.assertRaisesRegex(
            Uvh5Error, "c.uvh5: its phase centre Cas A is at another place"
        ):
            merge([first, moved], self.path("all.uvh5"))

    def test_refused(self):
        """Files that do not belong together are refused, and nothing is left behind."""
        first = self.write("a.uvh5", range(3), range(2))
        other = self.write("b.uvh5", range(3, 7), range(2), offset=0.3 * WIDTH)
        with self.assertRaisesRegex(Uvh5Error, "b.uvh5: its channels do not continue"):
            merge([first, other], self.path("all.uvh5"))
        far = self.write("far.uvh5", range(3), range(2), offset=1e5 * WIDTH)
        with self.assertRaisesRegex(
            Uvh5Error,
            "a.uvh5 and .*far.uvh5: 99997 channels lie between theirs, and the files have 6 in all",
        ):
            merge([far, first], self.path("all.uvh5"))
        for name, value, problem in (
            ("Nbls", 0, "Nbls is 0, expected 1 or more"),
            ("channel_width", np.full(3, np.nan), r"channel_width\[0\] is nan, which is to be fin"),
            ("channel_width", WIDTH, "channel_width has 0 axes instead of one"),
            ("channel_width", np.full(2, WIDTH), "freq_array and channel_width are of 3 and 2 ch"),
            ("freq_array", [1e9, 2e9, np.inf], r"freq_array\[2\] is inf, which is to be finite"),
            ("freq_array", np.zeros(0), "freq_array and channel_width are of 0 and 3 channels"),
            ("time_array", np.full(6, np.nan), r"time_array\[0\] is nan"),
            ("integration_time", [2, 2, 2, np.nan, 2, 2], r"integration_time\[3\] is nan, .*above"),
            ("integration_time", np.zeros(6), r"integration_time\[0\] is 0, which is to be"),
            ("integration_time", [2.0], "integration_time has 1 integrations, time_array 2"),
        ):
            damaged = self.write("damaged.uvh5", range(3), range(2))
            with h5py.File(damaged, "r+") as file:
                del file[f"Header/{name}"]
                file[f"Header/{name}"] = value
            with self.assertRaisesRegex(Uvh5Error, "damaged.uvh5: " + problem):
                merge([first, damaged], self.path("all.uvh5"))
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
