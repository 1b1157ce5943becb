# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Measurement sets and UVFITS files: what casacore and astropy read in those that aperture_convert
and aperture_fx write, beside the UVH5 file as h5py has it.
"""

import os
import shutil
import unittest
from dataclasses import replace
from unittest import mock

from places import SOURCE, enter_environment, fresh_folder, main, run

enter_environment("conversion")

import h5py
import numpy as np
from astropy.io import fits
from casacore.tables import table

from gnuradio.aperture.arrays import earth_rotation, geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input
from gnuradio.aperture.commands import convert as command
from gnuradio.aperture.commands import fx
from gnuradio.aperture.conversion import visibility_files
from gnuradio.aperture.conversion.convert import convert
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.observations import run as run_main
from gnuradio.aperture.testing.tiers import long_test
from gnuradio.aperture.testing.uvh5_files import write_file
from gnuradio.aperture.tracking.directions import parse_direction

START = 1704067200
SECONDS = 40.0  # between integrations
CHANNELS = 7
FREQUENCIES = 1.4e9 + 1e6 * np.arange(CHANNELS)
PLACES = {
    "B2": (30.0, 14.0, 1.0),
    "A10": (-22.0, 5.0, -3.0),
    "A9": (0.0, 0.0, 0.0),
    "Effelsberg": (10.0, -50.0, 2.0),
}
RA, DEC = 350.85, 58.815
CONVERT = (SOURCE / "tools/run", "aperture_convert")


def array_of(inputs):
    return make_array(PLACES, inputs=[Input(name[:-1], name[-1]) for name in inputs], center=1.4e9)


def source_visibilities(array, seconds):
    """[channel][product] of a source at RA, DEC, by the definitions of signal and product."""
    azimuth, elevation = geometry.radec_to_azel(
        RA, DEC, seconds, array.latitude, array.longitude, array.height
    )
    delays = geometry.delays(array.input_positions(), geometry.direction(azimuth, elevation))
    voltages = np.exp(-2j * np.pi * np.multiply.outer(FREQUENCIES, delays))
    a, b = np.tril_indices(len(delays))
    return voltages[:, a] * voltages[:, b].conj()


class TestConversion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A source with another amplitude in every product, channel and integration; inputs that
        are missing in whole or in part."""
        cls.folder = fresh_folder("conversion")
        cls.uvh5 = cls.folder / "in.uvh5"
        # one antenna has but one polarisation
        array = array_of(["B2y", "A9x", "B2x", "A9y", "A10x", "Effelsbergy", "Effelsbergx"])
        layout = Uvh5Layout(array, FREQUENCIES, 1e6, "a test", compression="lzf")
        rng = np.random.default_rng(1)
        products = len(array.inputs) * (len(array.inputs) + 1) // 2
        cls.integrations = 3
        integrations = []
        for number in range(cls.integrations):
            seconds = START + SECONDS * number
            amplitudes = rng.uniform(1, 2, (CHANNELS, products))
            integrations.append(
                layout.integration(
                    (amplitudes * source_visibilities(array, seconds)).astype(np.complex64),
                    earth_rotation.julian_date(seconds),
                    10,
                    rng.integers(0, 11, products),
                    0.1,
                )
            )
        write_file(cls.uvh5, layout, integrations)
        cls.ms, cls.uvfits = cls.folder / "a.ms", cls.folder / "a.uvfits"
        code, output, errors = run_main(command, cls.uvh5, cls.uvfits, "--centre", "Cas A")
        output = errors + output
        # the user is told this, and nothing else
        assert output == (
            "aperture_convert: warning: UVFITS keeps 8 characters of the names of antennas: "
            f"Effelsberg becomes Effelsbe\n{cls.uvfits}: 4 antennas, 3 times, 7 channels, 4 "
            "polarisations; phased to Cas A: RA 350.85000°, Dec +58.81500° (ICRS)\n"
        ), output
        summary, notes = convert(cls.uvh5, cls.ms, lambda *_: (RA, DEC), "Cas A")
        assert notes == [], notes
        with h5py.File(cls.uvh5, "r") as opened:
            cls.values = opened["Data/visdata"][()]
            cls.flags = opened["Data/flags"][()]
            cls.weights = opened["Data/nsamples"][()]
            cls.first = opened["Header/ant_1_array"][()]
            cls.second = opened["Header/ant_2_array"][()]
            cls.names = [name.decode() for name in opened["Header/antenna_names"]]
            cls.polarizations = list(opened["Header/polarization_array"])
            cls.places = opened["Header/antenna_positions"][()]
            cls.times = opened["Header/time_array"][()]

    def check_rows(self, first, second, values, flags, weights, polarizations):
        """Rows of another file, [row][channel][polarisation], antennas as numbers of the UVH5
        file's: the same amplitudes, flags and weights; phases of 0 but for those of a gain."""
        found = {(a, b): [] for a, b in zip(self.first, self.second)}
        for row, pair in enumerate(zip(self.first, self.second)):
            found[pair].append(row)
        self.assertEqual(len(first), len(self.first))
        seen = dict.fromkeys(found, 0)
        order = [self.polarizations.index(code) for code in polarizations]
        for row, (a, b) in enumerate(zip(first, second)):
            # the other antenna may come first, with xy and yx exchanged and conjugated
            swapped = (a, b) not in found
            key = (b, a) if swapped else (a, b)
            here = found[key][seen[key]]
            seen[key] += 1
            use = [{2: 3, 3: 2}.get(p, p) if swapped else p for p in order]
            good = ~self.flags[here][:, use]
            np.testing.assert_array_equal(flags[row], ~good)
            np.testing.assert_allclose(
                weights[row][good], self.weights[here][:, use][good], rtol=1e-6
            )
            np.testing.assert_allclose(
                np.abs(values[row][good]), np.abs(self.values[here][:, use][good]), rtol=1e-5
            )
            # 60 m are 290 wavelengths, and directions differ by 0.65 arc seconds (polar motion)
            self.assertLess(np.abs(np.angle(values[row][good], deg=True)).max(initial=0), 0.4)

    def test_visibilities(self):
        """A measurement set has the visibilities, as casacore reads it."""
        rows = table(str(self.ms), ack=False)
        antennas = table(str(self.ms / "ANTENNA"), ack=False)
        names = antennas.getcol("NAME")
        self.assertEqual(names, self.names)
        with h5py.File(self.uvh5, "r") as opened:
            header = opened["Header"]
            site = geometry.geodetic_to_ecef(
                *(header[key][()] for key in ("latitude", "longitude", "altitude"))
            )
        np.testing.assert_allclose(antennas.getcol("POSITION"), site + self.places, atol=1e-6)
        polarizations = table(str(self.ms / "POLARIZATION"), ack=False).getcol("CORR_TYPE")[0]
        # casacore's numbers: XX 9, XY 10, YX 11, YY 12
        codes = [{9: -5, 10: -7, 11: -8, 12: -6}[number] for number in polarizations]
        np.testing.assert_allclose(
            table(str(self.ms / "SPECTRAL_WINDOW"), ack=False).getcol("CHAN_FREQ")[0], FREQUENCIES
        )
        field = table(str(self.ms / "FIELD"), ack=False)
        self.assertEqual(field.getcol("NAME"), ["Cas A"])
        np.testing.assert_allclose(
            np.degrees(field.getcol("PHASE_DIR").ravel()) % 360, [RA, DEC], atol=1e-9
        )
        # a double is good to a microsecond for modified Julian dates in seconds
        np.testing.assert_allclose(
            np.unique(rows.getcol("TIME")) / 86400 + 2400000.5,
            np.unique(self.times),
            rtol=0,
            atol=1e-9,
        )
        np.testing.assert_allclose(rows.getcol("EXPOSURE"), 1.0)
        self.check_rows(
            rows.getcol("ANTENNA1"),
            rows.getcol("ANTENNA2"),
            rows.getcol("DATA"),
            rows.getcol("FLAG"),
            rows.getcol("WEIGHT_SPECTRUM"),
            codes,
        )

    def test_uvfits(self):
        """UVFITS has the visibilities, as astropy reads it."""
        with fits.open(self.uvfits) as file:
            groups, header = file[0].data, file[0].header
            antennas = file["AIPS AN"].data
        self.assertEqual(list(antennas["ANNAME"]), [name[:8] for name in self.names])
        # the axes: COMPLEX, STOKES, FREQ, (IF,) RA, DEC, from the last one of the array
        axes = {header[f"CTYPE{i}"]: i for i in range(2, header["NAXIS"] + 1)}
        self.assertEqual(
            (header["OBJECT"], header[f"CRVAL{axes['FREQ']}"]), ("Cas A", FREQUENCIES[0])
        )
        np.testing.assert_allclose(
            [header[f"CRVAL{axes[key]}"] for key in ("RA", "DEC")], [RA, DEC]
        )
        codes = header[f"CRVAL{axes['STOKES']}"] + header[f"CDELT{axes['STOKES']}"] * np.arange(4)
        data = groups.data.reshape(len(groups), CHANNELS, 4, 3)
        values, weights = data[..., 0] + 1j * data[..., 1], data[..., 2]
        # 256 * first + second, both from 1
        baselines = groups.par("BASELINE").astype(int)
        self.check_rows(
            baselines // 256 - 1,
            baselines % 256 - 1,
            values,
            weights <= 0,
            np.abs(weights),
            codes.astype(int),
        )

    def test_metadata(self):
        """Diameters, mounts, times and units, as the array description and the file have them, in
        measurement sets and UVFITS."""
        array = array_of(["A9x", "B2x", "A10x"])
        array.antennas = [
            replace(antenna, diameter=diameter, mount=mount)
            for antenna, diameter, mount in zip(
                array.antennas[:3], (12.0, 13.5, 25.0), ("alt-az", None, "equatorial")
            )
        ]
        source, target = self.folder / "dishes.uvh5", self.folder / "dishes.ms"
        layout = Uvh5Layout(array, FREQUENCIES, 1e6, mount="x-y", unit="Jy")
        times = [earth_rotation.julian_date(START + SECONDS * i) for i in range(3)]
        write_file(
            source,
            layout,
            [
                layout.integration(np.ones((CHANNELS, 6), np.complex64), time, 5, [5], 2.0)
                for time in times
            ],
        )
        expected = {
            antenna.name: (antenna.diameter, (antenna.mount or "x-y").upper())
            for antenna in array.antennas
        }
        with mock.patch.object(visibility_files, "PIECE", 100):  # an integration at a time
            convert(source, target, lambda *_: (RA, DEC), "Cas A")
        antennas = table(str(target / "ANTENNA"), ack=False)
        columns = (antennas.getcol(name) for name in ("NAME", "DISH_DIAMETER", "MOUNT"))
        self.assertEqual(
            {name: pair for name, *pair in zip(*columns)},
            {name: list(pair) for name, pair in expected.items()},
        )
        span = table(str(target / "OBSERVATION"), ack=False).getcol("TIME_RANGE")[0]
        np.testing.assert_allclose(
            span / 86400 + 2400000.5,
            [times[0] - 5 / 86400, times[-1] + 5 / 86400],
            rtol=0,
            atol=1e-9,
        )
        # arrays are of as many receptors as the table says
        with table(str(target / "FEED"), ack=False) as feeds:
            shapes = {
                name: feeds.getcell(name, 0).shape for name in ("BEAM_OFFSET", "POL_RESPONSE")
            }
            count = feeds.getcell("NUM_RECEPTORS", 0)
            self.assertEqual(shapes, {"BEAM_OFFSET": (count, 2), "POL_RESPONSE": (count, count)})
        # nothing says where antennas point
        self.assertEqual(table(str(target / "POINTING"), ack=False).nrows(), 0)
        rows = table(str(target), ack=False)
        self.assertEqual(rows.nrows(), 18)
        self.assertEqual(rows.getcolkeyword("DATA", "QuantumUnits"), "Jy")
        self.assertEqual(set(rows.getcol("SCAN_NUMBER")), {1})
        np.testing.assert_allclose(rows.getcol("INTERVAL"), 10.0)
        convert(source, self.folder / "dishes.uvfits", lambda *_: (RA, DEC), "Cas A")
        with fits.open(self.folder / "dishes.uvfits") as file:
            found = file["AIPS AN"].data
            self.assertEqual(file[0].header["BUNIT"].strip(), "Jy")
            self.assertEqual(
                dict(zip(found["ANNAME"], found["DIAMETER"])),
                {name: pair[0] for name, pair in expected.items()},
            )
        back = self.folder / "dishes-back.uvh5"
        convert(target, back)
        with h5py.File(back) as file, h5py.File(source) as before:
            for name in ("antenna_diameters", "mount_type", "vis_units"):
                np.testing.assert_array_equal(
                    file[f"Header/{name}"][()], before[f"Header/{name}"][()]
                )
        # the format has diameters of all antennas, or of none
        array.antennas[1] = replace(array.antennas[1], diameter=None)
        layout = Uvh5Layout(array, FREQUENCIES, 1e6)
        values = np.ones((CHANNELS, 6), np.complex64)
        write_file(source, layout, [layout.integration(values, times[0], 5, [5], 2.0)])
        with h5py.File(source) as file:
            self.assertNotIn("antenna_diameters", file["Header"])

    def test_back(self):
        """A measurement set and back is what it was, in the order of antennas and products."""
        for name in ("a.ms", "a.uvfits"):
            back = self.folder / "back.uvh5"
            _, notes = convert(self.folder / name, back)
            self.assertEqual(notes, [])
            with h5py.File(back, "r") as opened:
                codes = list(opened["Header/polarization_array"])
                self.check_rows(
                    opened["Header/ant_1_array"][()] - (name == "a.uvfits"),
                    opened["Header/ant_2_array"][()] - (name == "a.uvfits"),
                    opened["Data/visdata"][()],
                    opened["Data/flags"][()],
                    opened["Data/nsamples"][()],
                    codes,
                )

    def test_not_numbers(self):
        """NaN and infinity, under flags as calibration programs leave them, or not, in auto- and
        cross-correlations: 0 and flagged, in all formats; a file that is flagged as a whole."""
        source = self.folder / "nan.uvh5"
        for whole in (False, True):
            shutil.copy(self.uvh5, source)
            with h5py.File(source, "r+") as file:
                values, flags = file["Data/visdata"][()], file["Data/flags"][()]
                bad = np.zeros(values.shape, bool)
                bad[:, :2] = bad[0] = True
                flags[:, :2] = True
                if whole:
                    flags[:] = bad[:] = True
                values[bad] = complex(np.nan, np.nan)
                values[0, 3] = complex(np.inf, 0)
                file["Data/visdata"][...], file["Data/flags"][...] = values, flags
            unflagged = np.count_nonzero(bad & ~flags & (self.weights > 0))
            self.assertEqual(unflagged > 0, not whole)
            for ending in ("ms", "uvfits", "uvh5"):
                target = self.folder / f"nan-{whole}.{ending}"
                _, notes = convert(source, target, lambda *_: (RA, DEC), "Cas A")
                self.assertEqual(
                    sum(
                        f"{unflagged} visibilities that were not flagged are no numbers" in note
                        for note in notes
                    ),
                    int(not whole),
                )
                if ending == "ms":
                    rows = table(str(target), ack=False)
                    got, out, n = (
                        rows.getcol(name) for name in ("DATA", "FLAG", "WEIGHT_SPECTRUM")
                    )
                elif ending == "uvfits":
                    with fits.open(target) as file:
                        data = file[0].data.data.reshape(len(file[0].data), CHANNELS, 4, 3)
                        got, n = data[..., 0] + 1j * data[..., 1], data[..., 2]
                        out = n <= 0
                else:
                    with h5py.File(target) as file:
                        got, out, n = (
                            file[f"Data/{name}"][()] for name in ("visdata", "flags", "nsamples")
                        )
                self.assertTrue(np.isfinite(got).all() and np.isfinite(n).all(), ending)
                self.assertEqual(out.sum(), (bad | flags).sum(), ending)

    FX = ("--input", "sim:two-dish", "--duration", "0.02", "--channels", "16", "--device", "cpu")

    def test_correlator(self):
        """aperture_fx -o x.ms: written without the UVH5 file, and not replaced if not wanted."""
        target = self.folder / "fx.ms"
        self.assertEqual(run_main(fx, *self.FX, "-o", target)[0], 0)
        self.assertEqual(table(str(target), ack=False).nrows(), 3)
        self.assertEqual(list(self.folder.glob("fx*.uvh5")), [])
        code, _, errors = run_main(fx, *self.FX, "-o", target, "--no-overwrite")
        self.assertEqual(code, 1)
        self.assertIn("the file exists", errors)

    def test_tracked(self):
        """
        Files that were tracked or phased, in every way to name a direction, in all formats and back
        again; and one of an earlier version, with a degree sign in its texts.
        """
        array = array_of(["A9x", "B2x"])
        array.name = "Nançay"
        array.antennas = array.antennas[:3]  # UVFITS has room for their names
        old = self.folder / "old.uvh5"
        names = {
            "sun": None,
            "Cas A": "Cas A",
            "az=180, el=45": None,
            "23:23:24 +58:48:54": "ra 350.85000 deg dec +58.81500 deg",
            "350.85, 58.815": "ra 350.85000 deg dec +58.81500 deg",
        }
        for text, name in names.items():
            place = parse_direction(text)
            layout = Uvh5Layout(
                array,
                FREQUENCIES,
                1e6,
                f"aperture_fx, tracked {place}",
                tracked=place,
                keywords={"CALIB": str(place)},
            )
            source = self.folder / "tracked.uvh5"
            write_file(
                source,
                layout,
                [
                    layout.integration(
                        np.ones((CHANNELS, 3), np.complex64),
                        earth_rotation.julian_date(START + SECONDS * i),
                        1,
                        [1],
                        1.0,
                    )
                    for i in range(2)
                ],
            )
            shutil.copy(source, old)
            with h5py.File(old, "r+") as opened:
                for key, value in (
                    ("history", f"tracked {place}"),
                    ("phase_center_catalog/0/cat_name", place.name),
                ):
                    del opened["Header"][key]
                    opened["Header"][key] = np.bytes_(value.encode())
            for start in (source, old):
                for ending in ("uvfits", "ms", "uvh5"):
                    with self.subTest(text, file=start.name, ending=ending):
                        made, back = (self.folder / f"{word}.{ending}" for word in ("made", "back"))
                        self.assertEqual(convert(start, made)[1], [])
                        self.assertEqual(convert(made, back)[1], [])
            with fits.open(self.folder / "back.uvfits") as opened:
                # UVFITS keeps 20 letters of it
                self.assertEqual(opened[0].header["OBJECT"], (name or "zenith")[:20])
                self.assertTrue(opened[0].header.tostring().isascii())

    @long_test
    def test_both(self):
        """aperture_fx -o x.ms --keep-uvh5, where there is one already."""
        target = self.folder / "both.ms"
        for more in ((), ("--keep-uvh5",)):
            self.assertEqual(run_main(fx, *self.FX, "-o", target, *more)[0], 0)
        self.assertEqual(table(str(target), ack=False).nrows(), 3)
        self.assertTrue((self.folder / "both.uvh5").exists())

    def test_one_place(self):
        """Antennas that are all at one place are told of, and phased to the zenith."""
        lone = self.folder / "lone.uvh5"
        array = array_of(["A9x", "B2x"])
        array.antennas = [Antenna(name, (0.0, 0.0, 0.0)) for name in ("A9", "B2")]
        layout = Uvh5Layout(array, FREQUENCIES, 1e6)
        write_file(
            lone,
            layout,
            [
                layout.integration(
                    np.ones((CHANNELS, 3), np.complex64),
                    earth_rotation.julian_date(START),
                    1,
                    [1],
                    1.0,
                )
            ],
        )
        summary, notes = convert(lone, self.folder / "lone.ms")
        self.assertIn("the antennas are all at one place", " ".join(notes))
        self.assertIn("phased to zenith", summary)
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir() if path.name.startswith(".")), []
        )

    def test_refuses(self):
        damaged = self.folder / "damaged.uvh5"
        damaged.write_bytes(self.uvh5.read_bytes()[:3000])
        os.chdir(self.folder)
        for arguments, text in (
            (("none.uvh5", "a.ms"), "none.uvh5: no such file"),
            (("in.uvh5", "a.fits"), "a.fits: its ending is to be one of .uvh5"),
            (("in.uvh5", "in.uvh5"), "in.uvh5: this is what is read"),
            (("in.uvh5", "b.ms", "--centre", "north"), "'north' is not known; it must be a name"),
            (("in.uvh5", "a.ms", "--no-overwrite"), "a.ms: the file exists"),
            (("in.uvh5", "none/b.ms"), "there is no folder for this file"),
            (("damaged.uvh5", "b.ms"), "damaged.uvh5: pyuvdata cannot read it"),
        ):
            code, _, errors = run_main(command, *arguments)
            self.assertNotEqual(code, 0)
            self.assertIn(text, errors)
        self.assertFalse((self.folder / "b.ms").exists())
        code, output = run(
            *CONVERT,
            self.uvh5,
            "b.ms",
            cwd=self.folder,
            env={**os.environ, "APERTURE_VENV": str(self.folder / "none")},
        )
        self.assertEqual(code, 1)
        self.assertIn("tools/setup --with conversion installs it", output)


if __name__ == "__main__":
    main()
