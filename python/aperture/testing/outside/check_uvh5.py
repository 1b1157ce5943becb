#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Checks the files of write_uvh5.py with pyuvdata: check_uvh5.py FOLDER

Runs in the venv of tools/outside-venv, which has no GNU Radio and nothing of this module. Any
warning of pyuvdata is an error.
"""

import json
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import h5py
import numpy as np
from astropy.utils import iers
from pyuvdata import UVData

# nothing is downloaded: what comes with the pinned astropy-iers-data is enough for these dates
iers.conf.auto_download = False
iers.conf.auto_max_age = None

FOLDER = Path(".")


def read(path):
    """The file as pyuvdata has it; what it warns of is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = UVData.from_file(path)
        if not data.check(check_extra=True, run_check_acceptability=True):
            raise AssertionError(f"{path}: check() is not content")
    return data


def phased_to(data, ra, dec):
    """Cross-correlations of parallel hands, phased to a source: [time][baseline][channel][p]."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.phase(
            lon=np.radians(ra),
            lat=np.radians(dec),
            cat_name="source",
            cat_type="sidereal",
            phase_frame="icrs",
        )
        data.check()
    shape = (data.Ntimes, data.Nbls, data.Nfreqs, data.Npols)
    values = np.ma.array(data.data_array, mask=data.flag_array).reshape(shape)
    crosses = (data.ant_1_array != data.ant_2_array)[: data.Nbls]
    parallel = np.isin(data.polarization_array, (-1, -2, -5, -6))
    return values[:, crosses][..., parallel]


def phase_of_direction(data):
    """
    Degrees by which phases may differ on the longest baseline.

    The Earth's rotation of both the simulator and the file is good to 3 ms (0.05 arc seconds), and
    the simulator's sky rotates evenly. A wrong sign gives many cycles.
    """
    wavelengths = np.linalg.norm(data.uvw_array, axis=1).max() * data.freq_array.max() / 299792458
    return 360 * wavelengths * np.radians(0.07 / 3600)


class check_uvh5(unittest.TestCase):
    def test_no_warnings(self):
        paths = sorted(FOLDER.glob("*.uvh5"))
        self.assertGreater(len(paths), 15)
        for path in paths:
            with self.subTest(path.name):
                read(path)

    def test_products(self):
        # the voltages are small integers: products and their sums are exact
        for path in sorted(FOLDER.glob("products-*.npz")):
            expected = np.load(path)
            inputs = list(expected["inputs"])
            data = read(path.with_suffix(".uvh5"))
            numbers = dict(zip(data.telescope.antenna_names, data.telescope.antenna_numbers))
            seen = 0
            for one in {name[:-1] for name in inputs}:
                for two in {name[:-1] for name in inputs}:
                    key = int(numbers[one]), int(numbers[two])
                    for _column, product in enumerate(data.get_pols()):
                        # pyuvdata names x and y by where they point: north, east
                        p, q = product.translate(str.maketrans("ne", "xy"))
                        names = one + p, two + q
                        got = data.get_data((*key, product))
                        nsamples = data.get_nsamples((*key, product))
                        flags = data.get_flags((*key, product))
                        if not set(names) <= set(inputs):
                            np.testing.assert_array_equal(flags, True)
                            np.testing.assert_array_equal(nsamples, 0)
                            np.testing.assert_array_equal(got, 0)
                            continue
                        a, b = (inputs.index(name) for name in names)
                        x = expected["voltages"]
                        np.testing.assert_array_equal(
                            got, (x[:, a].conj() * x[:, b]).sum(-1), f"{path.name} {names}"
                        )
                        a, b = max(a, b), min(a, b)
                        counted = expected["counted"][:, a * (a + 1) // 2 + b, np.newaxis]
                        np.testing.assert_array_equal(
                            nsamples,
                            np.repeat(counted / expected["spectra"], 6, 1).astype(np.float32),
                        )
                        np.testing.assert_array_equal(flags, nsamples == 0)
                        seen += 1
            self.assertEqual(seen, len(inputs) ** 2)

    def test_units(self):
        for name, unit in (("linear", "uncalib"), ("circular", "Jy")):
            self.assertEqual(read(FOLDER / f"products-{name}.uvh5").vis_units, unit)

    def test_feeds(self):
        # x points north and y east
        data = read(FOLDER / "products-linear.uvh5")
        self.assertEqual(data.telescope.get_x_orientation_from_feeds(), "north")
        np.testing.assert_array_equal(data.telescope.feed_array, [["x", "y"]] * 4)

    def test_places(self):
        data = read(FOLDER / "products-linear.uvh5")
        self.assertEqual(list(data.telescope.antenna_names), ["A9", "A10", "B2", "C"])
        # geocentric and back, in doubles: nanometres
        np.testing.assert_allclose(
            data.telescope.get_enu_antpos(),
            [(0, 0, 0), (-220, 5, -3), (3, 140, 1), (100, -50, 2)],
            rtol=0,
            atol=1e-6,
        )
        np.testing.assert_allclose(
            data.telescope.location_lat_lon_alt_degrees, (52, 5, 10), rtol=0, atol=1e-8
        )

    def test_one_place(self):
        """pyuvdata reads it, and no baseline is so long that a phase would show it."""
        data = read(FOLDER / "one-place.uvh5")
        lengths = np.linalg.norm(data.uvw_array[data.ant_1_array != data.ant_2_array], axis=1)
        np.testing.assert_allclose(sorted(lengths), np.array([2, 2, 2, 4, 4, 6]) / 1000, atol=1e-9)

    def test_dates(self):
        # half of the 5 ms that pyuvdata allows are the fortnightly tide, see ut1_minus_utc
        paths = sorted(FOLDER.glob("date-*.uvh5"))
        self.assertEqual(len(paths), 8)
        for path in paths:
            data = read(path)
            found = data.lst_array.copy()
            data.set_lsts_from_time_array()
            error = np.angle(np.exp(1j * (found - data.lst_array))) / (2 * np.pi) * 86400
            self.assertLess(np.abs(error).max(), 3e-3, path.name)

    def test_source(self):
        paths = sorted(FOLDER.glob("source-*.json"))
        self.assertEqual(len(paths), 3)
        for path in paths:
            sky = json.loads(path.read_text())
            data = read(path.with_suffix(".uvh5"))
            limit = phase_of_direction(data)
            values = phased_to(data, sky["ra"], sky["dec"])
            self.assertGreater(values.count(), 8 * 5 * 6)
            self.assertLess(np.abs(np.angle(values.compressed(), deg=True)).max(), limit, path.name)

    def test_turned(self):
        """Each file has the phase centre that held, and pyuvdata phases it to the source; channel
        0 straddles the ends of the band, and noise is 1 % of the source."""
        told = json.loads((FOLDER / "turned.json").read_text())
        self.assertEqual(2, len(told["files"]))
        _, ra, dec = told["directions"][0]
        for name, (direction, *place) in zip(told["files"], told["directions"]):
            data = read(FOLDER / name)
            (center,) = data.phase_center_catalog.values()
            self.assertEqual(direction, center["cat_name"])
            found = np.degrees([center["cat_lon"], center["cat_lat"]])
            np.testing.assert_allclose(found, place, atol=1e-3)
            self.assertIn(f"delays follow {direction} (ra ", data.history)
            limit = phase_of_direction(data)
            values = phased_to(data, ra, dec)[:, :, 1:]
            # five integrations or so: a message comes between two calls, whose lengths differ
            self.assertGreaterEqual(values.count(), 4 * 6 * 15)
            self.assertLess(np.abs(np.angle(values.compressed(), deg=True)).max(), limit + 8, name)

    def test_phase_centers(self):
        """
        Apparent coordinates, u, v, w and phases are those that pyuvdata computes of the catalogue's
        entry: to 0.06 arc seconds, the tide in UT1. What was tracked is phased to where the other
        file's phase centre is.
        """
        limit = np.radians(0.06 / 3600)
        for name in ("star", "sun", "moon", "fixed", "pulsar", "pole"):
            for tracked in ("untracked", "tracked"):
                with self.subTest(name, tracked=tracked):
                    data = read(FOLDER / f"center-{name}-{tracked}.uvh5")
                    (center,) = data.phase_center_catalog.values()
                    expected = read(FOLDER / f"center-none-{tracked}.uvh5")
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        expected.phase(
                            lon=center["cat_lon"],
                            lat=center["cat_lat"],
                            cat_name="again",
                            cat_type=center["cat_type"],
                            phase_frame=center["cat_frame"],
                            ephem_times=center.get("cat_times"),
                            pm_ra=center.get("cat_pm_ra"),
                            pm_dec=center.get("cat_pm_dec"),
                        )
                    np.testing.assert_allclose(data.uvw_array, expected.uvw_array, atol=300 * limit)
                    for key in ("app_ra", "app_dec", "frame_pa"):
                        angles = getattr(data, f"phase_center_{key}")
                        off = angles - getattr(expected, f"phase_center_{key}")
                        # right ascensions crowd around the pole
                        scale = 1 if key == "app_dec" else np.cos(expected.phase_center_app_dec)
                        self.assertLess(
                            np.abs(np.angle(np.exp(1j * off)) * scale).max(), limit, key
                        )
                    rotated = np.angle(data.data_array * expected.data_array.conj(), deg=True)
                    self.assertLess(np.abs(rotated).max(), phase_of_direction(data))

    def test_averages(self):
        """
        A file of some baselines, some of which are averaged for longer, is what pyuvdata makes of
        the file of short averages: times, lengths, samples, apparent places and u, v, w. With a
        phase centre phases of averages are those of their middles.
        """
        for name in ("none", "star", "sun"):
            with self.subTest(name):
                fine = read(FOLDER / f"averages-{name}-fine.uvh5")
                found = read(FOLDER / f"averages-{name}-averaged.uvh5")
                self.assertNotEqual(found.Nblts, found.Nbls * found.Ntimes)
                self.assertEqual((found.Nbls, fine.Nbls), (3, 3))
                self.assertEqual(set(map(tuple, fine.get_antpairs())), set(found.get_antpairs()))
                lengths = set()
                for pair in found.get_antpairs():
                    rows, own = (
                        np.arange(data.Nblts)[data.antpair2ind(pair)] for data in (fine, found)
                    )
                    count = len(rows) // len(own)
                    lengths.add(count)
                    np.testing.assert_allclose(found.integration_time[own], count)
                    times = fine.time_array[rows].reshape(-1, count).mean(axis=1)
                    np.testing.assert_allclose(found.time_array[own], times, rtol=0, atol=1e-9)
                    samples = fine.nsample_array[rows].reshape(len(own), count, 5, -1).mean(axis=1)
                    np.testing.assert_allclose(found.nsample_array[own], samples, rtol=1e-6)
                    uvw = fine.uvw_array[rows].reshape(-1, count, 3).mean(axis=1)
                    np.testing.assert_allclose(found.uvw_array[own], uvw, rtol=0, atol=1e-5)
                    if name == "none":
                        values = fine.data_array[rows].reshape(len(own), count, 5, -1).mean(axis=1)
                        np.testing.assert_allclose(found.data_array[own], values, atol=1e-6)
                self.assertEqual(lengths, {1, 2, 4})
                # averages that end early have a middle in common
                early = read(FOLDER / f"averages-{name}-early.uvh5")
                more = np.setdiff1d(early.time_array, found.time_array)
                self.assertEqual(early.Ntimes, found.Ntimes + len(more))
                self.assertLess(len(more), 7)
                self.assertGreater(early.Nblts, found.Nblts)

    def test_chain(self):
        # 100000 samples of 32 channels: 3118 spectra in integrations of 800, coherence 25/26: the
        # phase of a channel and integration has an rms of sqrt((26/25)^2 - 1) / sqrt(2 800)
        # = 0.41 degrees, and that of the mean over 31 channels and 3 integrations of 0.04
        for name in ("y8", "mwa"):
            path = FOLDER / f"chain-{name}.json"
            sky = json.loads(path.read_text())
            data = read(path.with_suffix(".uvh5"))
            limit = phase_of_direction(data)
            values = phased_to(data, sky["ra"], sky["dec"])
            # channel 0 straddles both ends of the band, where the sources have nothing
            values = values[:3, :, 1:]
            phases = np.angle(values.filled(), deg=True)
            self.assertLess(np.abs(phases).max(), 6 * 0.41 + limit, name)
            means = np.angle(values.mean(axis=(0, 2)).filled(), deg=True)
            self.assertLess(np.abs(means).max(), 6 * 0.04 + limit, name)

    def test_tracked(self):
        """
        Tracking by the F-engine phases to where pyuvdata phases an untracked run: 1 degree, of 6250
        spectra with a coherence of 25/26 in each channel (0.25 degrees), and of 0.07 arc seconds on
        500 m. The source is there, and the tracked file says so.
        """
        tracked, plain = (read(FOLDER / f"fx-{name}.uvh5") for name in ("tracked", "untracked"))
        (center,) = tracked.phase_center_catalog.values()
        self.assertEqual((center["cat_name"], center["cat_type"]), ("Cas A", "sidereal"))
        (before,) = plain.phase_center_catalog.values()
        self.assertEqual(before["cat_type"], "unprojected")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plain.phase(
                lon=center["cat_lon"],
                lat=center["cat_lat"],
                cat_name="Cas A",
                cat_type="sidereal",
                phase_frame="icrs",
            )
        np.testing.assert_allclose(tracked.uvw_array, plain.uvw_array, atol=2e-4)
        crosses = tracked.ant_1_array != tracked.ant_2_array
        phases = [
            np.angle(data.data_array[crosses, 1:].mean(axis=1), deg=True)
            for data in (tracked, plain)
        ]
        self.assertLess(np.abs(phases[0] - phases[1]).max(), 1)
        self.assertLess(np.abs(phases[0]).max(), 1)
        each = np.angle(tracked.data_array[crosses, 1:], deg=True)
        self.assertLess(np.abs(each).max(), 6 * 0.25 + phase_of_direction(tracked))

    def test_written_again(self):
        """pyuvdata writes what was tracked, by its name or by coordinates, in its formats."""
        for path in (
            *FOLDER.glob("fx-*ed.uvh5"),
            FOLDER / "fx-coordinates.uvh5",
            *FOLDER.glob("center-*.uvh5"),
        ):
            data = read(path)
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                data.write_uvh5(f"{folder}/again.uvh5")
                self.assertTrue(read(f"{folder}/again.uvh5").history.isascii())
                if {entry["cat_type"] for entry in data.phase_center_catalog.values()} == {
                    "sidereal"
                }:
                    data.write_uvfits(f"{folder}/again.uvfits")
                    again = UVData.from_file(f"{folder}/again.uvfits")
                    np.testing.assert_allclose(again.uvw_array, data.uvw_array, atol=1e-3)

    def test_order_of_inputs(self):
        one, two = ({}, {})
        for found, name in ((one, "mwa"), (two, "mwa-shuffled")):
            with h5py.File(FOLDER / f"chain-{name}.uvh5", "r") as file:
                file.visititems(
                    lambda key, entry: (
                        found.update({key: entry[()]}) if isinstance(entry, h5py.Dataset) else None
                    )
                )
        self.assertEqual(one.keys(), two.keys())
        for key in one:
            np.testing.assert_array_equal(one[key], two[key], key)

    def test_compressed(self):
        """pyuvdata reads bitshuffle, which hdf5plugin brings."""
        plain, compressed = (
            read(FOLDER / f"compressed-{name}.uvh5") for name in ("none", "bitshuffle")
        )
        self.assertEqual(plain.data_array.shape, (30, 6, 1))
        self.assertGreater(np.abs(plain.data_array).min(), 0)
        np.testing.assert_array_equal(compressed.data_array, plain.data_array)

    def test_killed(self):
        data = read(FOLDER / "killed.uvh5")
        self.assertGreater(data.Ntimes, 1)
        np.testing.assert_array_equal(
            data.data_array.reshape(data.Ntimes, data.Nbls, 6, 4)[..., 0].max(axis=(1, 2)).real,
            np.arange(data.Ntimes),
        )

    def test_recording(self):
        if not (FOLDER / "recording.uvh5").exists():
            self.skipTest("there is no recording")
        data = read(FOLDER / "recording.uvh5")
        # 16000 samples: 243 spectra of 4 us, from 2013-07-02T01:39:20 on, 64 an integration
        self.assertEqual((data.Ntimes, data.Nbls, data.Nfreqs, data.Npols), (4, 1, 64, 4))
        np.testing.assert_allclose(data.freq_array, 320e6 + (np.arange(64) - 32) * 250e3)
        middle = 511 / 2 / 16e6 + 63 / 2 * 4e-6
        # a double is good to 40 us in a Julian date, half of it when rounded
        self.assertAlmostEqual((data.time_array[0] - 2456475.5) * 86400, 5960 + middle, delta=21e-6)


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop())
    unittest.main()
