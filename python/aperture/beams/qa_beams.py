#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

import os
import tempfile
from dataclasses import replace

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture import load_array
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input
from gnuradio.aperture.beams.beams import Beam, beams_of, grid, load_beams, offset, tile
from gnuradio.aperture.testing.arrays import make_array

C = 299792458.0


def directions(beams):
    """[beam][3] in the beams' own coordinates."""
    angles = np.radians([(b.ra, b.dec) if b.moving else (b.azimuth, b.elevation) for b in beams])
    return np.stack(
        [
            np.cos(angles[:, 1]) * np.cos(angles[:, 0]),
            np.cos(angles[:, 1]) * np.sin(angles[:, 0]),
            np.sin(angles[:, 1]),
        ],
        axis=-1,
    )


def apart(one, other):
    """Degrees between unit vectors; exact also where they are close."""
    return np.degrees(2 * np.arcsin(np.linalg.norm(one - other, axis=-1) / 2))


def random_array(extent=(40.0, 15.0), antennas=40):
    """A compact array without regularities, so that its main beam is an ellipse."""
    rng = np.random.default_rng(3)
    places = [Antenna(f"A{i}", (*(rng.normal(size=2) * extent), 0.0)) for i in range(antennas)]
    return make_array(places, center=1.5e8, site=(50.0, 7.0, 0.0), name="random")


def powers(array, beams, where):
    """[beam][direction], 1 where a beam looks; where: unit vectors east, north, up. By the
    definition of a delay, at the top of the band."""
    k = 2 * np.pi * (array.center_frequency + array.sample_rate / 2) / C
    looks = geometry.direction([b.azimuth for b in beams], [b.elevation for b in beams])
    positions = array.input_positions()
    voltages = np.exp(-1j * k * (looks @ positions.T)) @ np.exp(1j * k * (where @ positions.T)).T
    return np.abs(voltages / len(positions)) ** 2


class qa_beams(gr_unittest.TestCase):
    def setUp(self):
        self.array = load_array("y8")

    def test_a_beam_stands_still_or_moves(self):
        self.assertFalse(Beam("a", 10.0, 20.0).moving)
        self.assertTrue(Beam("a", ra=10.0, dec=-20.0).moving)
        for arguments, text in (
            (dict(azimuth=1.0), "beam 'a' has azimuth"),
            (dict(azimuth=1.0, elevation=91.0), "elevation: 91.0"),
            (dict(ra=1.0, dec=1.0, antennas="A1"), "antennas: 'A1'"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                Beam("a", **arguments)

    def test_grid(self):
        for centre in (Beam("g", 350.0, 60.0), Beam("g", 10.0, 89.0), Beam("g", ra=3.0, dec=-85.0)):
            beams = grid(centre, 5, 3, 0.7)
            self.assertEqual([beam.name for beam in beams][:2], ["g 00", "g 01"])
            self.assertTrue(all(beam.moving == centre.moving for beam in beams))
            places = directions(beams).reshape(3, 5, 3)
            # along the middle row and column, neighbours are the spacing apart
            np.testing.assert_allclose(apart(places[1, 1:], places[1, :-1]), 0.7, rtol=1e-9)
            np.testing.assert_allclose(apart(places[1:, 2], places[:-1, 2]), 0.7, rtol=1e-9)
            # a corner is as far away as the tangent plane says, along a great circle
            np.testing.assert_allclose(
                apart(places[0, 0], places[1, 2]), np.hypot(1.4, 0.7), rtol=1e-9
            )
            np.testing.assert_allclose(places[1, 2], directions([centre])[0], atol=1e-12)
        beams = grid(Beam("g", 180.0, 40.0), 2, 2, 1.0)
        self.assertLess(beams[0].azimuth, beams[1].azimuth)
        self.assertLess(beams[0].elevation, beams[2].elevation)

    def test_tiling_meets_at_the_overlap(self):
        array = random_array()
        for overlap in (0.3, 0.5, 0.8):
            for centre in (Beam("t", 40.0, 75.0), Beam("t", 170.0, 50.0)):
                beams = tile(array, centre, 8.0, overlap)
                np.testing.assert_allclose(
                    (beams[0].azimuth, beams[0].elevation), (centre.azimuth, centre.elevation)
                )
                look = geometry.direction([b.azimuth for b in beams], [b.elevation for b in beams])
                # halfway to the six neighbours, which are those of highest power
                middles = look[1:] + look[0]
                middles /= np.linalg.norm(middles, axis=1, keepdims=True)
                near = np.sort(powers(array, beams[:1], middles)[0])[::-1][:7]
                # not quite an ellipse, and the elevation changes over the tiling
                np.testing.assert_allclose(near[:6], overlap, atol=0.06)
                self.assertLess(near[6], overlap - 0.1)

    def test_tiling_leaves_no_holes(self):
        array, centre = random_array(), Beam("t", 40.0, 75.0)
        beams = tile(array, centre, 8.0, 0.5)
        look = geometry.direction([b.azimuth for b in beams], [b.elevation for b in beams])
        middle = look[0]
        rng = np.random.default_rng(1)
        where = middle + 0.07 * rng.normal(size=(20000, 3))
        where /= np.linalg.norm(where, axis=1, keepdims=True)
        distance = apart(where, middle)
        where = where[distance < 4.0]
        self.assertGreater(np.count_nonzero(distance[distance < 4.0] > 3.9), 100)
        # in the middle of three Gaussian beams: half the power to the 4/3
        level = 0.5 ** (4 / 3) - 0.04
        found = powers(array, beams, where)
        self.assertGreater(found.max(axis=0).min(), level)
        # no beam sees nothing of the circle, whose rim is exact here
        angles = np.radians(np.arange(0, 360, 0.5))
        rim = offset(40.0, 75.0, 4.0 * np.cos(angles), 4.0 * np.sin(angles))
        found = np.concatenate([found, powers(array, beams, geometry.direction(*rim))], axis=1)
        self.assertGreater(found.max(axis=1).min(), level)

    def test_tiling_of_a_row_and_of_one_antenna(self):
        row = make_array(
            {f"A{i}": (5.0 * i, 0, 0) for i in range(8)},
            center=4e8,
            site=(50.0, 7.0, 0.0),
            name="row",
        )
        beams = tile(row, Beam("t", 0.0, 60.0), 10.0)
        # fans: beams east and west of each other only, over the whole width
        self.assertGreater(len(beams), 5)
        self.assertLess(max(abs(beam.elevation - 60) for beam in beams), 1.0)
        across = offset(0.0, 60.0, np.linspace(-5, 5, 201), np.zeros(201))
        found = powers(row, beams, geometry.direction(*across))
        self.assertGreater(found.max(axis=0).min(), 0.5 - 0.02)
        one = make_array(
            row.antennas[:1], inputs=row.inputs[:1], center=4e8, site=(50.0, 7.0, 0.0), name="one"
        )
        self.assertEqual(len(tile(one, Beam("t", 0.0, 60.0), 10.0)), 1)

    def test_tiling_on_the_sky(self):
        array, time = random_array(), 1704067200
        ra, dec = geometry.azel_to_radec(
            40.0, 75.0, time, array.latitude, array.longitude, array.height
        )
        fixed = tile(array, Beam("t", 40.0, 75.0), 4.0)
        moving = tile(array, Beam("t", ra=float(ra), dec=float(dec)), 4.0, time=time)
        self.assertEqual([beam.name for beam in fixed], [beam.name for beam in moving])
        seen = geometry.radec_to_azel(
            np.array([b.ra for b in moving]),
            np.array([b.dec for b in moving]),
            time,
            array.latitude,
            array.longitude,
            array.height,
        )
        np.testing.assert_allclose(
            geometry.direction(*seen),
            geometry.direction([b.azimuth for b in fixed], [b.elevation for b in fixed]),
            atol=1e-8,
        )
        with self.assertRaisesRegex(ValueError, "time"):
            tile(array, Beam("t", ra=float(ra), dec=float(dec)), 4.0)

    def test_file(self):
        text = """beams:
  - {name: zenith, azimuth: 0, elevation: 90}
  - {name: 3C48, ra: 24.42, dec: 3.3e1, antennas: [1, N2]}
  - {name: row, azimuth: 180, elevation: 60, columns: 3, spacing: 1.5}
  - {azimuth: 1, elevation: 2}
  - {azimuth: 3, elevation: 4}
  - {name: no, azimuth: 3, elevation: 4, incoherent: no}
  - {name: 12:30, incoherent: Yes}
  - &five {name: five, azimuth: 5, elevation: 6, antennas: [N2]}
  - {<<: *five, name: six, elevation: 7}
"""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            # a number is a legal name, and YAML reads it, and "no", as something else
            array = replace(
                self.array,
                antennas=[Antenna("1", (0, 0, 0)), Antenna("N2", (9, 0, 0))],
                inputs=[Input("1", "x"), Input("N2", "x")],
            )
            beams = load_beams(file.name, array)
        self.assertEqual(
            [beam.name for beam in beams],
            [
                "zenith",
                "3C48",
                "row 0",
                "row 1",
                "row 2",
                "beam",
                "beam (6)",
                "no",
                "five",
                "six",
                "12:30",
            ],
        )
        self.assertEqual([beam.incoherent for beam in beams[-4:]], [False, False, False, True])
        self.assertEqual(beams[-2], Beam("six", 5.0, 7.0, antennas=("N2",)))
        self.assertEqual(beams[1], Beam("3C48", ra=24.42, dec=33.0, antennas=("1", "N2")))
        np.testing.assert_allclose((beams[3].azimuth, beams[3].elevation), (180.0, 60.0))

    def test_incoherent_beams_come_last(self):
        beams = beams_of(
            self.array,
            [
                dict(incoherent=True),
                dict(azimuth=1, elevation=2),
                dict(name="i", ra=3, dec=4, incoherent=True, antennas=["N3"]),
                dict(name="no", azimuth=5, elevation=6, incoherent=False),
            ],
        )
        self.assertEqual(
            beams,
            [
                Beam("beam", 1.0, 2.0),
                Beam("no", 5.0, 6.0),
                Beam("incoherent", 0.0, 90.0, incoherent=True),
                Beam("i", ra=3.0, dec=4.0, antennas=("N3",), incoherent=True),
            ],
        )

    def test_command_line(self):
        self.assertEqual(
            load_beams("grid:az=180,el=60,columns=3,rows=2,spacing=1.5", self.array),
            beams_of(self.array, [dict(azimuth=180, elevation=60, columns=3, rows=2, spacing=1.5)]),
        )
        one = load_beams("grid:ra=10,dec=-5,antennas=N1+N2,name=x", self.array)
        self.assertEqual(one, [Beam("x", ra=10.0, dec=-5.0, antennas=("N1", "N2"))])
        self.assertEqual(
            load_beams("grid:incoherent=true,antennas=N1,name=x", self.array),
            [Beam("x", 0.0, 90.0, antennas=("N1",), incoherent=True)],
        )
        self.assertGreater(len(load_beams("grid:az=0,el=80,width=0.5", self.array)), 7)

    def test_refuses(self):
        for entry, text in (
            ({"azimuth": 1}, r"beams\[0\]: beam 'beam' has azimuth"),
            ({"azimuth": 1, "elevation": 2, "flux": 1}, r"beams\[0\].flux: not known"),
            ({"azimuth": 1, "elevation": "low"}, r"beams\[0\].elevation: 'low'"),
            ({"azimuth": 1, "elevation": 2, "columns": 2}, r"beams\[0\].spacing: missing"),
            ({"azimuth": 1, "elevation": 2, "columns": 2.5, "spacing": 1}, "columns: 2.5"),
            ({"azimuth": 1, "elevation": 2, "columns": 0, "spacing": 1}, "columns: 0"),
            ({"azimuth": 1, "elevation": 2, "rows": 3, "spacing": 5}, "above the horizon"),
            ({"azimuth": 1, "elevation": 60, "spacing": 1, "width": 5}, "either a grid"),
            ({"azimuth": 1, "elevation": 60, "overlap": 0.5}, r"beams\[0\].width: missing"),
            ({"azimuth": 1, "elevation": 60, "width": 5, "overlap": 1}, "overlap: 1"),
            ({"azimuth": 1, "elevation": 60, "width": 60, "overlap": 0.99}, "width: 60"),
            (
                {"azimuth": 1, "elevation": 60, "columns": 80, "rows": 80, "spacing": 0.1},
                "columns x rows",
            ),
            (7, r"beams\[0\]: 7"),
            ("zenit", r"beams\[0\].direction"),
            ({"azimuth": 1, "elevation": 60, "antennas": ["Q"]}, r"beams\[0\].*'Q'"),
            ({"azimuth": 1, "elevation": 60, "antennas": 5}, "antennas: 5 .* list of names"),
            ({"azimuth": 1, "elevation": 60, "name": True}, r"beams\[0\].name: True"),
            ({"incoherent": "very"}, r"beams\[0\]"),
            ({"azimuth": 1, "elevation": 60, "incoherent": 1}, "incoherent: 1"),
            ({"incoherent": True, "width": 5}, "left out of an incoherent beam"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                beams_of(self.array, [entry])
        for text in ("grid:az=1", "grid:az,el=1", "grid:az=1,az=2,el=3"):
            with self.assertRaisesRegex(ValueError, "beam"):
                load_beams(text, self.array)
        with self.assertRaises(FileNotFoundError):
            load_beams("/nowhere/beams.yaml", self.array)
        entry = "beams:\n  - {azimuth: 1, elevation: 60}\n  - {azimuth: 1, elevation: 60, %s}\n"
        for content, text in (
            ("beams: [", "b.yaml:1: not YAML"),
            ("- 1", "b.yaml: beams: "),
            ("", "b.yaml: beams: "),
            ("beams: 3", "b.yaml:1: beams: '3'"),
            ("beams: []", r"b.yaml:1: beams: \[\]"),
            ("beams: \x00", "b.yaml: not a text file"),
            ("secret: 1", "b.yaml: beams: missing: this is not a description of beams$"),
            ("- beams", "b.yaml: beams: missing: this is not a description of beams$"),
            ("beams: &a [*a]", "b.yaml: .*nested too deeply"),
            # ten times ten times ... as many as there are lines
            (
                "beams:\n- &l0 [0]\n"
                + "".join(f"- &l{i + 1} [{', '.join([f'*l{i}'] * 10)}]\n" for i in range(8)),
                "b.yaml:[0-9]+: beams.*too many values: at most 262144",
            ),
            # twice, of which YAML takes the last
            ("beams: [{azimuth: 1, elevation: 2}]\nbeams: []", "b.yaml:2: beams: given twice"),
            (entry % "azimuth: 2", r"b.yaml:3: beams\[1\].azimuth: given twice, first on line 3"),
            # 330 and 80 by YAML 1.1
            ("beams: [{ra: 5:30, dec: 1}]", r"beams\[0\].ra: '5:30' is not allowed"),
            ("beams: [{ra: 5, dec: 1:20}]", r"beams\[0\].dec: '1:20' is not allowed"),
            (entry % "name: ", r"b.yaml:3: beams\[1\].name: '' is not allowed"),
            (entry % "<<: 5", r"b.yaml:3: beams\[1\]: <<: '5' is not allowed"),
            (entry % "name: [a]", r"beams\[1\].name: \['a'\] is not allowed"),
            (entry % "antennas: [[N1]]", r"beams\[1\].antennas: \['N1'\] is not allowed"),
            (entry % "incoherent: 1", r"beams\[1\].*incoherent: '1' is not allowed"),
            (entry % "width: 1e-300", r"b.yaml:3: beams\[1\].width: 1e-300 is not allowed"),
            (entry % "columns: 2.5, spacing: 1", r"beams\[1\].columns: '2.5' is not allowed"),
        ):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "b.yaml")
                with open(path, "w") as file:
                    file.write(content)
                with self.assertRaisesRegex(ValueError, text):
                    load_beams(path, self.array)


if __name__ == "__main__":
    gr_unittest.run(qa_beams)
