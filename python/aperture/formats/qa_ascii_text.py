#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""All text in files is ASCII: every writer, with every kind of direction and with names that are
not ASCII."""

import json
import re
from dataclasses import replace

import h5py
import numpy as np
import yaml
from astropy.io import fits
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.arrays import earth_rotation
from gnuradio.aperture.arrays.array_description import Antenna, Source
from gnuradio.aperture.calibration.calibration import Band, Calibration, InputCalibration
from gnuradio.aperture.calibration.uvcal import load_uvcal, save_uvcal
from gnuradio.aperture.commands import fx
from gnuradio.aperture.formats.dada.writer import DadaWriter
from gnuradio.aperture.formats.filterbank import header as filterbank
from gnuradio.aperture.formats.guppi.writer import GuppiWriter
from gnuradio.aperture.formats.power_lists import MissingSamples
from gnuradio.aperture.formats.psrfits.profiles import read_profiles, write_profiles
from gnuradio.aperture.formats.sigmf.writer import SigmfWriter
from gnuradio.aperture.formats.uvh5.merge import merge
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.formats.voltages import Moment, Recording
from gnuradio.aperture.imaging.dirty_image import Beam, DirtyImage, Field
from gnuradio.aperture.imaging.image_file import write_fits
from gnuradio.aperture.parameters.ascii_text import ascii_names, ascii_text, find_name, quoted
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run, words
from gnuradio.aperture.testing.uvh5_files import write_file
from gnuradio.aperture.transients.folding import FoldedProfiles

START = 1704067200
#: every way to give one, and what it is called in a file
DIRECTIONS = {
    "sun": "Sun",
    "zenith": "zenith",
    "Cas A": "Cas A",
    "PSR B0329+54": "B0329+54",
    "23:23:24 +58:48:54": "ra 350.85000 deg dec +58.81500 deg",
    "23h23m24s −58°48′54″": "ra 350.85000 deg dec -58.81500 deg",
    "350.85, 58.815": "ra 350.85000 deg dec +58.81500 deg",
    "az=180, el=45": "az 180.000 deg el 45.000 deg",
    (350.85, 58.815): "ra 350.85000 deg dec +58.81500 deg",
}
NAMED = {"name": "Grüße, Ωmega", "ra": 10.0, "dec": 20.0}


def directions():
    """(Direction, its name in a file)."""
    return [(aperture.parse_direction(given), name) for given, name in DIRECTIONS.items()] + [
        (aperture.parse_direction(NAMED), "Grusse, ?mega")
    ]


def array_of():
    """Names of which some differ in their accents only."""
    antennas = [Antenna(name, (10.0 * i, i, 0.0)) for i, name in enumerate(("Süd", "Sud", "Öst"))]
    return make_array(antennas, center=1.4e9, site=(47.4, 2.2, 150.0), name="Nançay µ")


class qa_ascii_text(InFolder, gr_unittest.TestCase):
    def check_text(self, path):
        """All bytes of a file, of which those that are no text are zeros."""
        with open(path, "rb") as file:
            data = file.read()
        self.assertTrue(data.isascii(), f"{path}: {re.sub(rb'[ -~]+', b' ', data)[:80]}")
        return data

    def check_hdf5(self, path):
        """All texts of a file; returns them by their names."""
        found = {}

        def look(name, entry):
            if isinstance(entry, h5py.Dataset) and entry.dtype.kind in "SO":
                for text in np.ravel(entry[()]):
                    text = text.encode() if isinstance(text, str) else bytes(text)
                    self.assertTrue(text.isascii(), f"{path}, {name}: {text}")
                    found[name] = text.decode()

        with h5py.File(path) as file:
            file.visititems(look)
        return found

    def write_uvh5(self, name, array, **more):
        layout = Uvh5Layout(array, 1.4e9 + 1e5 * np.arange(5), 1e5, **more)
        products = len(array.inputs) * (len(array.inputs) + 1) // 2
        write_file(
            self.path(name),
            layout,
            [
                layout.integration(
                    np.ones((5, products), np.complex64),
                    earth_rotation.julian_date(START),
                    1,
                    [1],
                    1.0,
                )
            ],
        )
        return self.path(name)

    def test_texts(self):
        for text, plain in (
            ("plain", "plain"),
            ("é ñ ² Å", "e n 2 A"),
            ("−10°±3′", "-10 deg+-3'"),
            ("µs × 2", "us x 2"),
            ("北", "?"),
            ("", ""),
        ):
            self.assertEqual(ascii_text(text), plain)
        names = ["Süd", "Sud", "Öst", "北", "南"]
        found = ascii_names(names)
        self.assertTrue("".join(found).isascii())
        self.assertEqual(len(set(found)), len(names))
        self.assertEqual(found[1:3], ["Sud", "Ost"])
        for place, name in enumerate(found):
            self.assertEqual(find_name(name, names), place)
            self.assertEqual(find_name(names[place], found), place)
        self.assertIsNone(find_name("West", names))
        for text in ("°", 'a"b\\c\n\t', "北🛰", "\x7f\x85\u2028"):
            self.assertTrue(quoted(text).isascii())
            self.assertEqual(yaml.safe_load(quoted(text)), text)

    def test_uvh5(self):
        for direction, name in directions():
            for more in ({"phase_center": direction}, {"tracked": direction}):
                path = self.write_uvh5(
                    "a.uvh5",
                    array_of(),
                    history=f"aperture_fx --track {name}°",
                    keywords={"CALIB": f"{direction}"},
                    statistics=True,
                    **more,
                )
                texts = self.check_hdf5(path)
                self.assertEqual(texts["Header/phase_center_catalog/0/cat_name"], name)
                with VisibilityFile(path) as file:
                    self.assertEqual(list(file.names.values()), ["Sud", r"S\xfcd", "Ost"])

    def test_joined(self):
        """A file of an earlier version, and one of another program, are as others behind it."""
        path = self.write_uvh5(
            "old.uvh5", array_of(), phase_center=aperture.parse_direction("10, 20")
        )
        new = self.write_uvh5(
            "new.uvh5", array_of(), phase_center=aperture.parse_direction("10, 20")
        )
        with h5py.File(path, "r+") as file:
            for name, text in (
                ("history", "at 10°"),
                ("telescope_name", "Nançay µ"),
                ("phase_center_catalog/0/cat_name", "ra 10.00000° dec +20.00000°"),
            ):
                del file["Header"][name]
                file["Header"][name] = np.bytes_(text.encode())
        merge([path, new], self.path("all.uvh5"))
        texts = self.check_hdf5(self.path("all.uvh5"))
        self.assertEqual(texts["Header/telescope_name"], "Nancay u")

    def test_voltages(self):
        for direction, name in directions():
            recording = Recording(
                (1.4e9,),
                1e6,
                1e6,
                Moment(START, 0.0),
                ("Süd x", "Öst x"),
                direction.name,
                0,
                "Nançay",
                (47.0, 2.0, 100.0),
                f"{direction} with ±",
            )
            voltages = np.zeros((64, 2), np.uint16)
            for kind, ending in ((DadaWriter, "dada"), (SigmfWriter, "sigmf-meta")):
                writer = kind(self.path(f"a.{ending}"), recording, voltages.dtype)
                writer.add(voltages, [(0, 3, 4)])
                writer.finish()
            self.assertTrue(name.encode() in self.check_text(self.path("a.dada")), name)
            self.check_text(self.path("a.sigmf-meta"))
            with open(self.path("a.sigmf-meta"), encoding="ascii") as file:
                self.assertEqual(json.load(file)["global"]["core:hw"], "Nançay")
            writer = GuppiWriter(self.path("a.raw"), recording, 64, 1)
            writer.add(voltages, 0)
            writer.finish()
            self.assertTrue(name.encode() in self.check_text(self.path("a.0000.raw")), name)

    def test_filterbank(self):
        for direction, name in directions():
            header = filterbank.header_bytes({"source_name": direction.name, "rawdatafile": "é°"})
            self.assertTrue(header.isascii())
            self.assertTrue(name.encode() in header, name)
        with open(self.path("Süd.fil"), "wb"):
            pass
        MissingSamples(self.path("Süd.fil")).add(0, np.ones((3, 1), bool))
        self.check_text(self.path("Süd.fil.missing"))

    def test_fits(self):
        for direction, name in directions():
            field = Field(direction, 8, 1e-3)
            values = np.zeros((8, 8), np.float32)
            image = DirtyImage(field, values, values, Beam(1e-3, 1e-3, 0.0), 3)
            about = dict(
                frequency=1.4e9,
                bandwidth=1e6,
                time="2024-01-01T00:00:00",
                telescope="Nançay µ",
                object=direction.name,
                unit="",
                stokes="I",
                history=[f"phased to {direction}"],
            )
            write_fits(self.path("a.fits"), values, image, (10.0, 20.0), about)
            self.check_text(self.path("a.fits"))
            self.assertEqual(fits.getheader(self.path("a.fits"))["OBJECT"], name)
            powers = np.ones((1, 1, 3, 16))
            folded = FoldedProfiles(
                powers,
                powers,
                [(START, 0.0)],
                np.ones(1),
                np.ones(1),
                1e9 + 1e6 * np.arange(3),
                source=direction.name,
                beam="Süd",
            )
            write_profiles(self.path("b.fits"), folded, replace(array_of(), name="Nançay"))
            with open(self.path("b.fits"), "rb") as file:
                self.assertTrue(file.read(2 * 2880).isascii())
            self.assertEqual(read_profiles(self.path("b.fits")).source, name)

    def test_descriptions(self):
        """Files of this module lose nothing."""
        array = array_of()
        array.sources = [Source("Grüße 北🛰", ra=1.0, dec=2.0)]
        aperture.save_array(array, self.path("array.yml"))
        self.check_text(self.path("array.yml"))
        self.assertEqual(aperture.load_array(self.path("array.yml")), array)
        for direction, _ in directions():
            calibration = Calibration(
                array.name,
                Band(1.4e9, 1e5, 5),
                [InputCalibration(name) for name in array.input_names],
                source=str(direction),
                references=["Südx"],
                measured=(START, START + 1),
                history=f"aperture_calibrate --source {direction}",
            )
            aperture.save_calibration(calibration, self.path("cal.yml"))
            self.check_text(self.path("cal.yml"))
            found = aperture.load_calibration(self.path("cal.yml"))
            self.assertEqual((found.source, found.names), (calibration.source, calibration.names))
            path = self.write_uvh5("a.uvh5", array, tracked=direction)
            with VisibilityFile(path) as file:
                # names as the file has them, of which the array's own are found
                named = replace(
                    calibration,
                    references=[],
                    inputs=[
                        InputCalibration(file.names[number] + "x", delay=number * 1e-9)
                        for number in sorted(file.names)
                    ],
                )
                save_uvcal(named, self.path("cal.calh5"), file)
            self.check_hdf5(self.path("cal.calh5"))
            self.assertEqual(len(load_uvcal(self.path("cal.calh5")).inputs), 3)
            np.testing.assert_array_equal(named.delays(array.input_names), [1e-9, 0, 2e-9])

    def test_command(self):
        """aperture_fx with a tracked place, a history and a plan of its options."""
        for plan in ([f"--write-plan={self.path('plan.yml')}"], []):
            code, _, errors = run(
                fx,
                *words("--input sim:two-dish --duration 0.02 --channels 16 --device cpu --track"),
                "23h23m24s +58°48′54″",
                "-o",
                self.path("fx.uvh5"),
                *plan,
            )
            self.assertEqual(code, 0, errors)
        self.check_text(self.path("plan.yml"))
        self.check_hdf5(self.path("fx.uvh5"))


if __name__ == "__main__":
    gr_unittest.run(qa_ascii_text)
