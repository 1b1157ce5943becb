# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Visibilities that aperture_convert selects and averages: beside pyuvdata's own functions on the same
file, and a mean in float64 by NumPy; in pieces of a few visibilities, and as a whole.
"""

import itertools
import shutil
import tracemalloc
import unittest
from unittest import mock

from places import enter_environment, fresh_folder, main

enter_environment("conversion")

import h5py
import numpy as np
from astropy.io import fits
from casacore.tables import table
from pyuvdata import UVData

from gnuradio.aperture.arrays import earth_rotation
from gnuradio.aperture.arrays.array_description import Input
from gnuradio.aperture.commands import calibrate, merge, plot
from gnuradio.aperture.commands import convert as command
from gnuradio.aperture.conversion import visibility_files
from gnuradio.aperture.conversion.convert import Averages, Selection, convert
from gnuradio.aperture.conversion.visibility_files import VisibilityReader
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.observations import run as run_main
from gnuradio.aperture.testing.tiers import long_test
from gnuradio.aperture.testing.uvh5_files import write_file
from gnuradio.aperture.tracking.directions import parse_direction

START, CHANNELS, INTEGRATIONS, LENGTH = 1704067200, 12, 11, 8.0
FREQUENCIES = 1.4e9 + 1e5 * np.arange(CHANNELS)
PLACES = {"A-1": (0.0, 0.0, 0.0), "A2": (300.0, 10.0, 1.0), "A3": (-50.0, 200.0, -3.0)}
INPUTS = ("A2y", "A-1x", "A2x", "A-1y", "A3x", "A3y")


def write(path, tracked="Cas A", integrations=INTEGRATIONS, channels=CHANNELS, gap=(), start=START):
    """Noise, with parts of integrations missing or flagged; a gap before the numbers of `gap`."""
    array = make_array(PLACES, inputs=[Input(name[:-1], name[-1]) for name in INPUTS], center=1.4e9)
    layout = Uvh5Layout(
        array, 1.4e9 + 1e5 * np.arange(channels), 1e5, tracked=tracked and parse_direction(tracked)
    )
    rng = np.random.default_rng(5)
    products, seconds, made = len(INPUTS) * (len(INPUTS) + 1) // 2, start, []
    for number in range(integrations):
        seconds += LENGTH * (7 if number in gap else 1)
        values = rng.normal(size=(2, channels, products))
        counted = rng.integers(0, 11, (channels, products))
        counted[:, : 4 + number] = 0
        made.append(
            layout.integration(
                (values[0] + 1j * values[1]).astype(np.complex64),
                earth_rotation.julian_date(seconds),
                10,
                counted,
                LENGTH / 10,
            )
        )
    write_file(path, layout, made)


def contents(path):
    """The arrays of a UVH5 file."""
    with h5py.File(path) as file:
        found = {name: file[f"Data/{name}"][()] for name in ("visdata", "flags", "nsamples")}
        for name in ("time_array", "integration_time", "ant_1_array", "ant_2_array", "uvw_array"):
            found[name] = file[f"Header/{name}"][()]
        for name in ("freq_array", "channel_width", "polarization_array", "lst_array"):
            found[name] = file[f"Header/{name}"][()]
    return found


class TestAverages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("visibility_averages")
        cls.path, cls.result = cls.folder / "in.uvh5", cls.folder / "out.uvh5"
        write(cls.path)
        cls.data = UVData.from_file(str(cls.path))

    @staticmethod
    def averaged(data, times, channels=1, **options):
        """By pyuvdata, which divides by 0 where there are no samples, even below flags."""
        data = data.copy()
        data.nsample_array[data.flag_array] = 1
        if times > 1:
            data.downsample_in_time(n_times_to_avg=times, **options)
        if channels > 1:
            data.frequency_average(channels)
        return data

    def compare(self, found, expected, tolerance=1e-6, metres=1e-5):
        """Rows of a file beside those of a UVData object, in any order."""
        order = np.lexsort((expected.ant_2_array, expected.ant_1_array, expected.time_array))
        rows = np.lexsort((found["ant_2_array"], found["ant_1_array"], found["time_array"]))
        for name in ("ant_1_array", "ant_2_array"):
            np.testing.assert_array_equal(found[name][rows], getattr(expected, name)[order])
        np.testing.assert_allclose(
            found["time_array"][rows], expected.time_array[order], rtol=0, atol=2e-9
        )
        for name, places in (
            ("integration_time", 1e-9),
            ("uvw_array", metres),
            ("lst_array", 1e-8),
        ):
            np.testing.assert_allclose(
                found[name][rows], getattr(expected, name)[order], rtol=0, atol=places
            )
        np.testing.assert_array_equal(found["flags"][rows], expected.flag_array[order])
        there = ~expected.flag_array[order]
        self.assertTrue(0.2 < there.mean() < 1)
        for name, values in (
            ("nsamples", expected.nsample_array),
            ("visdata", expected.data_array),
        ):
            np.testing.assert_allclose(
                found[name][rows][there], values[order][there], rtol=0, atol=tolerance
            )
        np.testing.assert_allclose(found["freq_array"], expected.freq_array)
        np.testing.assert_allclose(found["channel_width"], expected.channel_width)
        np.testing.assert_array_equal(found["polarization_array"], expected.polarization_array)

    def run_with(self, *options, source=None, piece=None):
        """Runs the command; with `piece`, of no more than so many visibilities at a time."""
        piece = piece or visibility_files.PIECE
        with mock.patch.object(visibility_files, "PIECE", piece):
            code, output, errors = run_main(command, source or self.path, self.result, *options)
        self.assertEqual(code, 0, errors)
        return contents(self.result), errors + output

    def test_selected(self):
        """Each kind of selection, and all of them, takes what pyuvdata's select() does."""
        times = np.unique(self.data.time_array)
        kinds = (
            (("--integrations", "2:6"), dict(times=times[2:7])),
            (("--select-channels", "3:"), dict(freq_chans=np.arange(3, CHANNELS))),
            (("--antennas", "A-1,A3"), dict(antenna_names=["A-1", "A3"])),
            (("--baselines", "A3-A-1,A2-A2"), dict(bls=[(1, 2), (0, 0)])),
            (("--polarizations", "yy,xy"), dict(polarizations=[-6, -7])),
        )
        everything = tuple(itertools.chain(*(words for words, _ in kinds[:2] + kinds[3:])))
        together = {
            key: value for _, chosen in kinds[:2] + kinds[3:] for key, value in chosen.items()
        }
        for words, chosen in (*kinds, (everything, together)):
            for piece in (100,) if words is everything else (None,):
                with self.subTest(words, piece=piece):
                    expected = self.data.select(inplace=False, **chosen)
                    found, _ = self.run_with(*words, piece=piece)
                    self.compare(found, expected, 0)

    def test_averaged(self):
        """Means over time and channels are those of pyuvdata's functions, whole or in pieces."""
        expected = self.averaged(self.data, 4, 3)
        # 9 rows of 12 channels and 4 polarisations are 432: one integration, all of a mean, several
        for piece in (400, 3000, None):
            with self.subTest(piece=piece):
                found, output = self.run_with(
                    "--average-integrations", 4, "--average-channels", 3, piece=piece
                )
                self.compare(found, expected)
                self.assertIn("4 integrations averaged; 3 channels averaged", output)
                check = UVData.from_file(str(self.result))
                self.assertEqual((check.Nblts, check.Ntimes, check.Nbls), (18, 3, 6))

    def test_model(self):
        """Means by NumPy in float64: of what is not flagged, weighted by what was there."""
        before = contents(self.path)
        baselines, count = 6, 5
        shape = (INTEGRATIONS, baselines, CHANNELS, 4)
        values, flags, samples = (
            before[name].reshape(shape) for name in ("visdata", "flags", "nsamples")
        )
        found, _ = self.run_with("--average-integrations", count)
        for place, first in enumerate(range(0, INTEGRATIONS, count)):
            part = slice(first, min(first + count, INTEGRATIONS))
            weights = np.where(flags[part], 0, samples[part]).astype(float)
            total = weights.sum(axis=0)
            rows = slice(place * baselines, (place + 1) * baselines)
            np.testing.assert_array_equal(found["flags"][rows], flags[part].all(axis=0))
            np.testing.assert_allclose(
                found["nsamples"][rows], total / (part.stop - part.start), rtol=1e-6, atol=1e-9
            )
            mean = (values[part].astype(complex) * weights).sum(axis=0)
            good = total > 0
            np.testing.assert_allclose(
                found["visdata"][rows][good], mean[good] / total[good], rtol=0, atol=3e-7
            )
            self.assertEqual(
                found["integration_time"][rows.start], LENGTH * (part.stop - part.start)
            )
        self.assertTrue(flags.all(axis=0).any() and (found["nsamples"] > 0).any())

    def test_gap(self):
        """Averages end at a gap, and where some baselines have no row in an integration."""
        source = self.folder / "gap.uvh5"
        write(source, gap=(5,))
        found, _ = self.run_with("--average-integrations", 3, source=source)
        np.testing.assert_allclose(found["integration_time"][::6] / LENGTH, [3, 2, 3, 3], rtol=1e-9)
        # without the second row, of baseline 0-1
        data = UVData.from_file(str(source))
        data.select(blt_inds=np.delete(np.arange(data.Nblts), 1))
        source.unlink()
        data.write_uvh5(str(source))
        found, _ = self.run_with("--average-integrations", 3, source=source)
        lengths = found["integration_time"].reshape(4, 6) / LENGTH
        self.assertEqual(sorted(lengths[0]), [2, 3, 3, 3, 3, 3])
        np.testing.assert_allclose(lengths[1:], [[2] * 6, [3] * 6, [3] * 6])
        # the mean is that of the other two
        with h5py.File(source) as file:
            rows = np.flatnonzero(
                (file["Header/ant_1_array"][()] == 0) & (file["Header/ant_2_array"][()] == 1)
            )[:2]
            times = file["Header/time_array"][()][rows]
        place = int(np.argmin(lengths[0]))
        np.testing.assert_allclose(found["time_array"][place], times.mean(), rtol=0, atol=1e-9)

    def test_unprojected(self):
        """Phases that are left as they are stay so: the mean is that of the numbers."""
        source = self.folder / "unprojected.uvh5"
        write(source, tracked=None)
        found, _ = self.run_with("--average-integrations", INTEGRATIONS, source=source)
        data = UVData.from_file(str(source))
        self.compare(found, self.averaged(data, INTEGRATIONS, allow_drift=True))

    @long_test
    def test_other_formats(self):
        """Pieces of measurement sets and UVFITS, read and written, are what the whole is."""
        expected = self.data.select(freq_chans=np.arange(2, 10), inplace=False)
        expected = self.averaged(expected, 2)
        for ending in (".ms", ".uvfits"):
            made, back = (self.folder / (name + ending) for name in ("made", "back"))
            with self.subTest(ending), mock.patch.object(visibility_files, "PIECE", 900):
                convert(str(self.path), str(made))
                code, _, errors = run_main(
                    command, made, back, "--select-channels", "2:9", "--average-integrations", 2
                )
                self.assertEqual(code, 0, errors)
                convert(str(back), str(self.result))
                found = contents(self.result)
                lowest = found["ant_1_array"].min()  # UVFITS numbers from 1
                for name in ("ant_1_array", "ant_2_array"):
                    found[name] = found[name] - lowest
                order = [found["polarization_array"].tolist().index(n) for n in (-5, -6, -7, -8)]
                found["polarization_array"] = found["polarization_array"][order]
                for name in ("visdata", "flags", "nsamples"):
                    found[name] = found[name][..., order]
                # single precision of u, v, w in seconds, and of times in UVFITS
                self.compare(found, expected, 2e-6, 1e-4)

    def test_without_exposure(self):
        """INTERVAL stands for an EXPOSURE of 0, in pieces and of a file as a whole."""
        made = self.folder / "exposure.ms"
        convert(str(self.path), str(made))
        with table(str(made), ack=False, readonly=False) as rows:
            rows.putcol("EXPOSURE", np.where(np.arange(rows.nrows()) % 7 == 3, 0, LENGTH))
        for piece in (900, None):
            found, output = self.run_with(source=made, piece=piece)
            np.testing.assert_array_equal(found["integration_time"], LENGTH)
            self.assertIn("EXPOSURE is 0 in 9 rows: INTERVAL is taken for it", output)

    def test_one_channel(self):
        """A measurement set of one channel is written and read."""
        made = self.folder / "one.ms"
        convert(str(self.path), str(made), selection=Selection(channels=slice(5, 6)))
        found, _ = self.run_with(source=made)
        np.testing.assert_array_equal(found["freq_array"], FREQUENCIES[5:6])
        self.assertEqual(len(found["visdata"]), len(self.data.time_array))

    def test_fields(self):
        """Files of two fields, merged, are what pyuvdata makes of them; averages end where the
        field changes, and a measurement set has both, with scans."""
        parts = [self.folder / f"field{number}.uvh5" for number in range(3)]
        for number, (path, name) in enumerate(zip(parts, ("Cas A", "Cyg A", "Cas A"))):
            write(path, name, integrations=3, start=START + 24 * number)
        whole = self.folder / "fields.uvh5"
        code, _, errors = run_main(merge, *parts, "-o", whole)
        self.assertEqual(code, 0, errors)
        expected = UVData.from_file(str(parts[0]))
        for path in parts[1:]:
            expected += UVData.from_file(str(path))
        found = UVData.from_file(str(whole))
        self.compare(contents(whole), expected, 0)
        names = lambda data: [
            data.phase_center_catalog[n]["cat_name"] for n in data.phase_center_id_array
        ]
        self.assertEqual(names(found), names(expected))
        self.assertEqual(set(names(found)), {"Cas A", "Cyg A"})
        made = self.folder / "fields.ms"
        with mock.patch.object(visibility_files, "PIECE", 900):
            code, _, errors = run_main(command, whole, made, "--average-integrations", 2)
        self.assertEqual(code, 0, errors)
        rows, field = table(str(made), ack=False), table(str(made / "FIELD"), ack=False)
        order = np.argsort(rows.getcol("TIME"), kind="stable")[::6]
        self.assertEqual(
            [field.getcol("NAME")[n] for n in rows.getcol("FIELD_ID")[order]],
            ["Cas A"] * 2 + ["Cyg A"] * 2 + ["Cas A"] * 2,
        )
        self.assertEqual(rows.getcol("SCAN_NUMBER")[order].tolist(), [1, 1, 2, 2, 3, 3])
        np.testing.assert_allclose(rows.getcol("EXPOSURE")[order] / LENGTH, [2, 1] * 3)
        # the way back, from pieces of the measurement set
        with mock.patch.object(visibility_files, "PIECE", 900):
            convert(str(made), str(self.result))
        back = UVData.from_file(str(self.result))
        self.assertEqual(sorted(set(names(back))), ["Cas A", "Cyg A"])
        self.assertEqual(names(back)[::6], ["Cas A"] * 2 + ["Cyg A"] * 2 + ["Cas A"] * 2)

    def test_uvfits_in_pieces(self):
        """Header and rows of UVFITS that was put together of pieces are, byte for byte, what
        pyuvdata writes at once; past midnight its times, which count from the day of each piece,
        are those of the input."""
        whole, pieces = self.folder / "whole.uvfits", self.folder / "pieces.uvfits"
        convert(str(self.path), str(whole))
        with mock.patch.object(visibility_files, "PIECE", 900):
            convert(str(self.path), str(pieces))
        with fits.open(pieces) as opened, fits.open(whole) as expected:
            end = expected[1].fileinfo()["hdrLoc"]
            self.assertEqual(pieces.read_bytes()[:end], whole.read_bytes()[:end])
            self.assertEqual(pieces.stat().st_size, whole.stat().st_size)
            self.assertEqual([hdu.name for hdu in opened], [hdu.name for hdu in expected])
            # places of antennas are computed for each piece, and rounded
            np.testing.assert_allclose(
                opened["AIPS AN"].data["STABXYZ"],
                expected["AIPS AN"].data["STABXYZ"],
                rtol=0,
                atol=1e-8,
            )
        late = self.folder / "late.uvh5"
        write(late, start=START + 86400 - 3.5 * LENGTH)
        with mock.patch.object(visibility_files, "PIECE", 900):
            convert(str(late), str(pieces))
            convert(str(pieces), str(self.result))
        with fits.open(pieces) as opened, h5py.File(late) as file:
            times = file["Header/time_array"][()]
            self.assertEqual(np.ptp(np.floor(times - 0.5)), 1)
            # two numbers of single precision: 2^-48 of a day and a half
            np.testing.assert_allclose(opened[0].data.par("DATE"), times, rtol=0, atol=1e-9)
            self.assertEqual(opened[0].header["GCOUNT"], len(times))
        found, expected = contents(self.result), contents(late)
        rows = np.lexsort((found["ant_2_array"], found["ant_1_array"], found["time_array"]))
        places = [found["polarization_array"].tolist().index(n) for n in (-5, -6, -7, -8)]
        there = ~expected["flags"]
        for name in ("visdata", "nsamples"):
            np.testing.assert_allclose(
                found[name][rows][..., places][there], expected[name][there], atol=2e-6, rtol=0
            )

    def test_memory(self):
        """A file of 9 MB of visibilities, flags and samples never is in memory as a whole."""
        source = self.folder / "large.uvh5"
        write(source, integrations=600, channels=48)
        made = self.folder / "large.uvfits"
        for path, result, averages in (
            (source, self.result, Averages(10, 2)),
            (source, made, Averages()),
            (made, self.result, Averages(10, 2)),
        ):
            with mock.patch.object(visibility_files, "PIECE", 1 << 15):
                convert(str(self.path), str(self.result))  # loads packages
                tracemalloc.start()
                try:
                    convert(str(path), str(result), averages=averages)
                    most = tracemalloc.get_traced_memory()[1]
                finally:
                    tracemalloc.stop()
            size = path.stat().st_size
            self.assertGreater(size, 6e6)
            self.assertLess(most, 0.6 * size, (path, result))

    def test_baseline_dependent(self):
        """Baseline-dependent averages are converted as they are, and not averaged, by name."""
        source = self.folder / "dependent.uvh5"
        long = self.data.select(bls=[(0, 0), (1, 1), (0, 1)], inplace=False)
        long = self.averaged(long, 2)
        short = self.data.select(bls=[(2, 2), (0, 2), (1, 2)], inplace=False)
        both = short + long
        both.write_uvh5(str(source), clobber=True)
        self.assertTrue(VisibilityReader(str(source)).is_baseline_dependent)
        self.assertFalse(VisibilityReader(str(self.path)).is_baseline_dependent)
        found, _ = self.run_with(source=source)
        self.compare(found, both, 0)
        code, _, errors = run_main(command, source, self.result, "--average-integrations", 2)
        self.assertEqual(code, 1)
        self.assertIn("dependent.uvh5: its baselines have integrations of different", errors)
        code, _, errors = run_main(calibrate, source, "-o", self.folder / "c.yml")
        self.assertEqual(code, 1)
        self.assertIn("dependent.uvh5: its baselines have integrations of different", errors)
        code, _, errors = run_main(plot, source, "-o", self.folder / "p.png")
        self.assertEqual(code, 0, errors)

    def test_order_of_rows(self):
        """Rows in the order of baselines, in a file that does not say so, and missing rows:
        pyuvdata finds each baseline where the header says that it is."""
        data = self.data.copy()
        missing = np.flatnonzero((data.ant_1_array == 0) & (data.ant_2_array == 0))[::4]
        for rows in (np.arange(data.Nblts), np.setdiff1d(np.arange(data.Nblts), missing)):
            data = self.data.select(blt_inds=rows, inplace=False)
            data.reorder_blts(order="baseline", minor_order="time")
            source = self.folder / "baselines.uvh5"
            data.write_uvh5(str(source), clobber=True)
            with h5py.File(source, "r+") as file:
                del file["Header/blt_order"]
            for piece in (1000, None):
                with self.subTest(rows=len(rows), piece=piece):
                    self.run_with(source=source, piece=piece)
                    check = UVData.from_file(str(self.result))
                    self.assertEqual(check.Nblts, len(rows))
                    self.assertEqual(bool(check.blts_are_rectangular), len(rows) == data.Ntimes * 6)
                    for pair in data.get_antpairs():
                        np.testing.assert_array_equal(check.get_data(pair), data.get_data(pair))

    def test_no_weights(self):
        """Weights that are none, NaN or negative, are flagged and counted, and spoil no mean; for
        lengths that are none there is no mean."""
        source = self.folder / "weights.uvh5"
        shutil.copy(self.path, source)
        with h5py.File(source, "r+") as file:
            wrong = np.zeros(file["Data/flags"].shape, bool)
            wrong[4], wrong[9, 2] = True, True
            samples, flags = file["Data/nsamples"][()], file["Data/flags"][()]
            samples[4], samples[9, 2] = np.nan, -1
            file["Data/nsamples"][...] = samples
        count = np.count_nonzero(wrong & ~flags)
        self.assertGreater(count, 4)
        data = self.data.copy()
        data.flag_array[wrong], data.nsample_array[wrong] = True, 0
        for times, piece in ((1, None), (4, None), (4, 400)):
            found, output = self.run_with(
                "--average-integrations", times, source=source, piece=piece
            )
            self.compare(found, self.averaged(data, times))
            self.assertTrue(all(np.isfinite(found[name]).all() for name in ("visdata", "nsamples")))
            self.assertIn(f"{count} visibilities that were not flagged have nsamples that", output)
        for row, length, text in ((3, 0, "0"), (7, np.nan, "nan"), (0, -8, "-8")):
            with h5py.File(source, "r+") as file:
                file["Header/integration_time"][row] = length
            code, _, errors = run_main(command, source, self.result)
            self.assertEqual(code, 1)
            self.assertIn(
                f"weights.uvh5: integration_time of row {row} is {text} s, which is to be above 0",
                errors,
            )
            with h5py.File(source, "r+") as file:
                file["Header/integration_time"][row] = LENGTH

    def test_refused(self):
        for words, text in (
            (("--integrations", "5:11"), "--integrations 5:11: the file has 11 integrations, 0 to"),
            (("--select-channels", "12:"), "--select-channels 12:11: the file has 12 channels"),
            (("--average-channels", 5), "12 channels are no multiple of it; --select-channels 0:9"),
            (("--average-channels", 13), "--average-channels 13: 12 channels are no multiple"),
            (
                ("--antennas", "A2,A7"),
                "--antennas A7: the file has no such antenna, only A2, A3, A-1",
            ),
            (("--baselines", "A2"), "--baselines A2: expected two antennas (A-B) of these: A2"),
            (("--polarizations", "rr"), "--polarizations rr: the file has xx, yy, xy, yx"),
            (("--average-integrations", "0"), "0"),
        ):
            with self.subTest(words):
                self.result.unlink(missing_ok=True)
                code, _, errors = run_main(command, self.path, self.result, *words)
                self.assertNotEqual(code, 0)
                self.assertIn(text, errors)
                self.assertFalse(self.result.exists())
        self.assertEqual([path.name for path in self.folder.glob(".*")], [])


if __name__ == "__main__":
    main()
