#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

import dataclasses
import math

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture import Antenna, ArrayDescription, ArrayDescriptionError, Input, Source
from gnuradio.aperture.arrays.geometry import (
    enu_to_ecef_rotation,
    geodetic_to_ecef,
    height_above_ellipsoid,
)
from gnuradio.aperture.testing.folders import InFolder

GOOD = """\
name: lab
latitude: 52.0
longitude: 5
height: 1e1
sample_rate: 2.4e6
center_frequency: 1420.4e6
antennas:
  - {name: 1, position: [0, 0, 0]}
  - name: "B"
    position: [10, -2.5e0, .5]
inputs:
  - {antenna: B, polarization: y, gain: [0.9, -0.1], cable_delay: 25e-9}
  - {antenna: 1, polarization: x, gain: 2}
sources:
  - {name: Sun, azimuth: 180, elevation: 35, flux: 2}
  - {name: Cas A, ra: 350.85, dec: 58.815}
  - {name: Moon, body: moon, flux: 0.1}
"""

# the text in GOOD, what replaces it, the line that the error must name, and what it must say
BAD = [
    ("latitude: 52.0\n", "latitude: 91\n", 2, "latitude: 91.0 is not allowed.*-90 to 90"),
    ("latitude: 52.0\n", "latitude: .nan\n", 2, "latitude: '.nan' is not allowed.*-90 to 90"),
    ("latitude: 52.0\n", "latitude: nan\n", 2, "latitude: nan is not allowed.*-90 to 90"),
    ("latitude: 52.0\n", 'latitude: "52"\n', 2, "latitude: '52' is not allowed.*-90 to 90"),
    ("latitude: 52.0\n", "latitude: [52]\n", 2, "latitude: .*is not allowed.*-90 to 90"),
    ("latitude: 52.0\n", "latitude:\n", 2, "latitude: '' is not allowed.*-90 to 90"),
    ("latitude: 52.0\n", "latitude: 52\nlatitude: 53\n", 3, "latitude: given twice.*line 2"),
    ("latitude: 52.0\n", "latitdue: 52\n", 2, "latitdue: not known; allowed: name, latitude"),
    ("latitude: 52.0\n", "", 1, "latitude: missing"),
    ("height: 1e1\n", "height: inf\n", 4, "height: inf is not allowed.*metres"),
    ("sample_rate: 2.4e6", "sample_rate: 0", 5, "sample_rate: 0.0 is not allowed.*1 to 1e12 Hz"),
    ("sample_rate: 2.4e6", "sample_rate: fast", 5, "sample_rate: 'fast' is not allowed.*Hz"),
    ("center_frequency: 1420.4e6", "center_frequency: -1", 6, "center_frequency: -1.0 is not"),
    ("name: 1, position", "name: B, position", 9, r"antennas\[1\].name: 'B'.*antennas\[0\]"),
    ("[0, 0, 0]", "[0, 0]", 8, r"antennas\[0\].position: .*three numbers"),
    ("[0, 0, 0]", "[0, 0, up]", 8, r"antennas\[0\].position: 'up' is not.*three numbers"),
    ("[0, 0, 0]", "[0, 0, nan]", 8, r"antennas\[0\].position: nan is not.*three numbers"),
    ("[0, 0, 0]", "north", 8, r"antennas\[0\].position: 'north' is not.*three numbers"),
    ("position: [10, -2.5e0, .5]", "positoin: [0, 0, 0]", 10, r"antennas\[1\].positoin: not known"),
    ("antenna: B, ", "antenna: C, ", 12, r"inputs\[0\].antenna: 'C' is not allowed.*: 1, B"),
    ("antenna: B, ", "", 12, r"inputs\[0\].antenna: missing"),
    ("polarization: y", "polarization: v", 12, r"inputs\[0\].polarization: 'v'.*x, y, l or r"),
    (
        "antenna: B, polarization: y",
        "antenna: 1, polarization: x",
        13,
        r"inputs\[1\].polarization: '1x' is not allowed; inputs\[0\] is the same",
    ),
    ("gain: 2", "gain: [1, 2, 3]", 13, r"inputs\[1\].gain: .*\[re, im\]"),
    ("gain: 2", "gain: [1, nan]", 13, r"inputs\[1\].gain: .*nan.*\[re, im\]"),
    ("gain: 2", "gain: yes", 13, r"inputs\[1\].gain: 'yes'.*\[re, im\]"),
    ("25e-9", "25", 12, r"inputs\[0\].cable_delay: 25.0 is not allowed.*-1 to 1"),
    ("elevation: 35", "elevation: -1", 15, r"sources\[0\].elevation: -1.0.*0 to 90"),
    ("elevation: 35, ", "", 15, r"sources\[0\]: source 'Sun' has azimuth; it must have azimuth"),
    ("elevation: 35", "elevation: 35, ra: 1", 15, r"sources\[0\]: source 'Sun' has azimuth, elev"),
    ("body: moon", "body: pluto", 17, r"sources\[2\].body: 'pluto' is not allowed.*sun, moon, "),
    (
        "body: moon",
        "body: moon, ra: 1, dec: 2",
        17,
        r"sources\[2\]: source 'Moon' has ra, dec, body; it must have azimuth.* or body",
    ),
    ("flux: 2", "flux: -2", 15, r"sources\[0\].flux: -2.0 is not allowed"),
    ("name: Cas A", "name: Sun", 16, r"sources\[1\].name: 'Sun' is not.*sources\[0\]"),
    ("name: Cas A", "name: ''", 16, r"sources\[1\].name: '' is not allowed.*1 to 64"),
    ("sources:\n", "more:\n", 14, "more: not known; allowed: name,"),
    ("[0, 0, 0]}", "[0, 0, 0], x: 1, x: 2}", 8, r"antennas\[0\].x: given twice.*line 8"),
    ("inputs:\n", "polarizations: xy\ninputs:\n", 11, "polarizations: not allowed beside inputs"),
    ("latitude: 52.0\n", "latitude: [52\n", 3, "not YAML: "),
    (
        "latitude: 52.0\n",
        "itrf: [4e6, 0, 5e6]\nlatitude: 52.0\n",
        2,
        "itrf: not allowed beside lat",
    ),
    ("[0, 0, 0]", "[0, 0, 0], itrf: [1, 2, 3]", 8, r"antennas\[0\]: antenna '1' has position and"),
    ("position: [0, 0, 0]", "itrf: [1, 2, 3]", 8, r"antennas\[0\].itrf: .*6.3e6 to 6.5e6 from"),
    ("position: [0, 0, 0]", "xyz: [6.4e6, 2, 3]", 8, r"antennas\[0\].xyz: .*from the site"),
    ("position: [0, 0, 0]", "itrf: [6.4e6, 0, x]", 8, r"antennas\[0\].itrf: .*three numbers"),
    (", position: [0, 0, 0]", "", 8, r"antennas\[0\].position: missing; .*itrf, xyz"),
    ("[0, 0, 0]", "[0, 0, 0], diameter: 0", 8, r"antennas\[0\].diameter: 0.0 .*above 0, up to"),
    ("[0, 0, 0]", "[0, 0, 0], mount: tripod", 8, r"antennas\[0\].mount: 'tripod' .*alt-az, equa"),
    ("height: 1e1\n", "height: 1e1\nmount: tripod\n", 5, "mount: 'tripod' is not .*fixed, alt-az"),
    ("height: 1e1\n", "height: 1e1\ndiameter: -3\n", 5, "diameter: -3.0 is not allowed.*above 0"),
    ("latitude: 52.0\n", "\tlatitude: 52\n", 2, "not YAML: "),
]


class qa_array_description(InFolder, gr_unittest.TestCase):
    def test_far_antennas(self):
        """Antennas of a plane, which is 340 km above the ground at 2100 km, are refused; places on
        the ground are not, whatever their distance."""
        for latitude, longitude in ((50.5, 6.9), (-30.7, 21.4)):
            site = np.array(geodetic_to_ecef(latitude, longitude, 100.0))
            rotation = enu_to_ecef_rotation(latitude, longitude)
            make = lambda place: aperture.ArrayDescription(
                name="test",
                latitude=latitude,
                longitude=longitude,
                height=100.0,
                antennas=[aperture.Antenna("A", (0, 0, 0)), aperture.Antenna("B", place)],
                inputs=[aperture.Input("B", "x")],
                sample_rate=1e6,
                center_frequency=1e9,
            )
            for height in (-400.0, 0.0, 5000.0):
                other = geodetic_to_ecef(latitude - 15, longitude + 13, height)
                place = (other - site) @ rotation
                self.assertGreater(np.linalg.norm(place), 1.5e6)
                # the other way round, to what is promised
                self.assertAlmostEqual(
                    float(height_above_ellipsoid(np.array(other))), height, delta=1
                )
                make(tuple(place))
                with self.assertRaisesRegex(
                    ValueError,
                    r"antennas\[1\].position: .* a place on "
                    "the ground: .* km from the site it is",
                ):
                    make((place[0], place[1], 0.0))
            make((90e3, 0.0, 0.0))
            with self.assertRaisesRegex(ValueError, "2100 km from the site it is 33.* km above"):
                make((2.1e6, 0.0, 0.0))

    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "array.yml")

    def load(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        return aperture.load_array(self.path)

    def test_good(self):
        array = self.load(GOOD)
        expected = ArrayDescription(
            name="lab",
            latitude=52.0,
            longitude=5.0,
            height=10.0,
            sample_rate=2.4e6,
            center_frequency=1420.4e6,
            antennas=[Antenna("1", (0, 0, 0)), Antenna("B", (10, -2.5, 0.5))],
            inputs=[Input("B", "y", 0.9 - 0.1j, 25e-9), Input("1", "x", 2)],
            sources=[
                Source("Sun", azimuth=180, elevation=35, flux=2),
                Source("Cas A", ra=350.85, dec=58.815),
                Source("Moon", body="moon", flux=0.1),
            ],
        )
        self.assertEqual(array, expected)
        self.assertEqual([source.moving for source in array.sources], [False, True, True])

    def test_inputs(self):
        array = self.load(GOOD)
        self.assertEqual(array.input_names, ["By", "1x"])
        positions = array.input_positions()
        self.assertEqual(positions.dtype, np.float64)
        np.testing.assert_array_equal(positions, [[10, -2.5, 0.5], [0, 0, 0]])
        for wanted in ("1x", 1, "1", np.int64(1)):
            self.assertEqual(array.find_input(wanted), 1)
        self.assertEqual(array.antenna_of("By"), Antenna("B", (10, -2.5, 0.5)))
        for wanted in ("1y", 2, -1, "2", 1.0, None):
            with self.assertRaisesRegex(ValueError, "input: .*0 to 1, or one of By, 1x"):
                array.find_input(wanted)

    def test_bad(self):
        """Each error is one line that names file, line, field and what is allowed."""
        for good, bad, line, message in BAD:
            self.assertEqual(GOOD.count(good), 1, good)
            with self.subTest(bad):
                with self.assertRaises(ArrayDescriptionError) as caught:
                    self.load(GOOD.replace(good, bad))
                self.assertRegex(str(caught.exception), f"^{self.path}:{line}: {message}")
                self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_not_a_description(self):
        for text in ("", "- 1\n- 2\n", "just text\n", "&a [*a]\n"):
            with self.assertRaisesRegex(ArrayDescriptionError, f"^{self.path}(:1)?: "):
                self.load(text)
        with open(self.path, "wb") as file:
            file.write(b"name: \xff\xfe\x00")
        with self.assertRaisesRegex(ArrayDescriptionError, "not a text file"):
            aperture.load_array(self.path)
        missing = str(self.folder / "none.yml")
        with self.assertRaisesRegex(
            FileNotFoundError,
            "none.yml.*best-2, best-2-pulsar, circle5, mwa-32t, one-dish, two-dish, y16, y8",
        ):
            aperture.load_array(missing)
        for value in (5, None, ["y8"]):
            with self.assertRaisesRegex(ValueError, r"^array: .* is not allowed; .*best-2.* y8"):
                aperture.load_array(value)

    def test_polarizations(self):
        start = GOOD[: GOOD.index("inputs:")]
        self.assertEqual(self.load(start).input_names, ["1x", "Bx"])
        self.assertEqual(
            self.load(start + "polarizations: yx\n").input_names, ["1y", "1x", "By", "Bx"]
        )
        for letters in ("xx", "xz", "''", "[x, y]"):
            with self.assertRaisesRegex(ArrayDescriptionError, ":11: polarizations: .*such as xy"):
                self.load(start + f"polarizations: {letters}\n")

    def test_made_in_python(self):
        """The same rules hold without a file, and after a change."""
        array = self.load(GOOD)
        with self.assertRaisesRegex(ArrayDescriptionError, "^position: "):
            Antenna("A", (0, 0, math.inf))
        with self.assertRaisesRegex(ArrayDescriptionError, r"^inputs\[0\]: .* of class Input"):
            dataclasses.replace(array, inputs=["1x"])
        with self.assertRaisesRegex(ArrayDescriptionError, "^inputs: "):
            dataclasses.replace(array, inputs=[])
        with self.assertRaisesRegex(ArrayDescriptionError, "^sample_rate: True"):
            dataclasses.replace(array, sample_rate=True)
        array.latitude = 100
        with self.assertRaisesRegex(ArrayDescriptionError, "^latitude: 100"):
            array.validate()

    def test_geocentric_places(self):
        """Antennas in east, north, up and in geocentric axes, about a site in either, are the same
        to a micrometre, by rotations that are written out here: about the pole by the longitude,
        about the east by the latitude."""
        latitude, longitude, height = -30.7, 291.3, 1050.0
        semi_axis, flattening = 6378137.0, 1 / 298.257223563  # WGS84
        squared = flattening * (2 - flattening)
        lat, lon = np.radians(latitude), np.radians(longitude)
        normal = semi_axis / np.sqrt(1 - squared * np.sin(lat) ** 2)
        site = np.array(
            [
                (normal + height) * np.cos(lat) * np.cos(lon),
                (normal + height) * np.cos(lat) * np.sin(lon),
                (normal * (1 - squared) + height) * np.sin(lat),
            ]
        )
        local = np.array([[0.0, 0.0, 0.0], [812.5, -33.25, 4.5], [-10.0, 90.0, -1.0]])
        meridian = np.stack(  # in the plane of the site's meridian, east, and to the pole
            [
                np.cos(lat) * local[:, 2] - np.sin(lat) * local[:, 1],
                local[:, 0],
                np.sin(lat) * local[:, 2] + np.cos(lat) * local[:, 1],
            ],
            axis=-1,
        )
        xyz = np.stack(
            [
                np.cos(lon) * meridian[:, 0] - np.sin(lon) * meridian[:, 1],
                np.sin(lon) * meridian[:, 0] + np.cos(lon) * meridian[:, 1],
                meridian[:, 2],
            ],
            axis=-1,
        )
        by_angles = f"latitude: {latitude}\nlongitude: {longitude}\nheight: {height}\n"
        for place in (by_angles, f"itrf: {(site).tolist()}\n"):
            for key, places in (("position", local), ("xyz", xyz), ("itrf", xyz + site)):
                text = f"name: test\n{place}sample_rate: 1e6\ncenter_frequency: 1e9\nantennas:\n"
                for index, where in enumerate(places):
                    text += f"  - {{name: A{index}, {key}: {where.tolist()}}}\n"
                array = self.load(text)
                np.testing.assert_allclose(array.input_positions(), local, atol=1e-6)
                self.assertAlmostEqual(array.latitude, latitude, delta=1e-10)
                self.assertAlmostEqual(array.longitude % 360, longitude, delta=1e-10)
                self.assertAlmostEqual(array.height, height, delta=1e-6)

    def test_dishes(self):
        """Diameter and mount of an antenna are its own, or those at the top; both are written."""
        text = GOOD.replace("[0, 0, 0]", "[0, 0, 0], diameter: 25, mount: ALT-AZ")
        array = self.load(text)
        self.assertEqual(
            [(antenna.diameter, antenna.mount) for antenna in array.antennas],
            [(25.0, "alt-az"), (None, None)],
        )
        array = self.load(text + "diameter: 3.5\nmount: X-Y\n")
        self.assertEqual(
            [(antenna.diameter, antenna.mount) for antenna in array.antennas],
            [(25.0, "alt-az"), (3.5, "x-y")],
        )
        aperture.save_array(array, self.path)
        self.assertEqual(aperture.load_array(self.path), array)

    def test_round_trip(self):
        """Every double comes back, whatever the digits; names with YAML's own characters, too."""
        rng = np.random.default_rng(1)
        names = ["no", "1.5", "a: b", "#7", "{x}", "é\"'", "~"]
        antennas = [
            Antenna(name, tuple(rng.normal(size=3) * 10.0 ** rng.integers(-20, 5)))
            for name in names
        ]
        array = ArrayDescription(
            name="null",
            latitude=-1e-9,
            longitude=1 / 3,
            height=-0.0,
            antennas=antennas,
            inputs=[
                Input(name, pol, complex(*rng.normal(size=2)), rng.normal() * 1e-9)
                for name in names
                for pol in "lyrx"
            ],
            sample_rate=1e12,
            center_frequency=1e15 / 3,
            sources=[
                Source("s", azimuth=1e-7, elevation=2 / 3, flux=1e-12),
                Source("t", ra=359.99999999, dec=-1 / 7, flux=0),
            ],
        )
        aperture.save_array(array, self.path)
        self.assertEqual(aperture.load_array(self.path), array)

    def test_save_errors(self):
        array = self.load(GOOD)
        for path in (str(self.folder / "none" / "a.yml"), "/dev/full"):
            with self.assertRaisesRegex(OSError, path):
                aperture.save_array(array, path)

    def test_shipped(self):
        inputs = {name: len(aperture.load_array(name).inputs) for name in aperture.shipped_arrays()}
        self.assertEqual(
            inputs,
            {
                "best-2": 32,
                "best-2-pulsar": 32,
                "circle5": 5,
                "mwa-32t": 64,
                "one-dish": 1,
                "two-dish": 2,
                "y16": 16,
                "y8": 8,
            },
        )

    def test_shipped_rules(self):
        """The positions are those that the comments in the files describe (to their digits)."""
        n = np.arange(1, 33)
        angle, radius = np.radians((n - 1) * 137.508), 175 * ((n - 0.5) / 32) ** 0.75
        mwa = np.array([antenna.position for antenna in aperture.load_array("mwa-32t").antennas])
        np.testing.assert_allclose(
            mwa,
            np.stack([radius * np.sin(angle), radius * np.cos(angle), 0 * radius], axis=1),
            atol=0.00501,
        )
        baselines = np.linalg.norm(mwa[:, None] - mwa, axis=-1)
        self.assertLessEqual(baselines.max(), 350)
        self.assertGreater(baselines[~np.eye(32, dtype=bool)].min(), 5)  # tiles are 5 m wide

        y8 = aperture.load_array("y8")
        for antenna in y8.antennas:
            angle = np.radians({"N": 355, "E": 115, "W": 236}[antenna.name[0]])
            radius = 40 * int(antenna.name[1]) ** 1.716
            np.testing.assert_allclose(
                antenna.position, [radius * np.sin(angle), radius * np.cos(angle), 0], atol=0.00501
            )

        grid = aperture.load_array("best-2").input_positions().reshape(8, 4, 3)
        np.testing.assert_allclose(np.diff(grid, axis=1)[..., 0], 5.68)
        np.testing.assert_allclose(np.diff(grid, axis=0)[..., 1], 10)


if __name__ == "__main__":
    gr_unittest.run(qa_array_description)
