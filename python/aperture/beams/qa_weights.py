#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

from dataclasses import replace

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input
from gnuradio.aperture.beams import weights
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.testing.arrays import make_array

C = 299792458.0
EPSILON = 2.0**-24  # relative rounding of float


def array_of(polarizations="x", antennas=7, seed=1):
    """Antennas within 300 m, 150 MHz with 10 MHz; every gain and cable another one."""
    rng = np.random.default_rng(seed)
    places = [Antenna(f"A{i}", tuple(rng.uniform(-300, 300, 3))) for i in range(antennas)]
    inputs = [
        Input(place.name, letter, complex(*rng.uniform(0.5, 2, 2)), rng.uniform(0, 1e-7))
        for place in places
        for letter in polarizations
    ]
    return make_array(places, inputs=inputs, rate=1e7, center=1.5e8, site=(-26.7, 116.7, 370.0))


def voltages(array, azimuth, elevation, frequency):
    """[input] of a source of power 1, by the definition of a signal alone."""
    az, el = np.radians((azimuth, elevation))
    places = {antenna.name: antenna.position for antenna in array.antennas}
    found = []
    for entry in array.inputs:
        east, north, up = places[entry.antenna]
        ahead = (
            east * np.sin(az) * np.cos(el) + north * np.cos(az) * np.cos(el) + up * np.sin(el)
        ) / C
        found.append(entry.gain * np.exp(-2j * np.pi * frequency * (entry.cable_delay - ahead)))
    return np.array(found)


class qa_weights(gr_unittest.TestCase):
    def test_channel_frequencies(self):
        np.testing.assert_allclose(weights.channel_frequencies(4, 100.0, 8.0), [96, 98, 100, 102])
        np.testing.assert_allclose(
            weights.channel_frequencies(5, 100.0, 5.0), [98, 99, 100, 101, 102]
        )

    def test_a_source_adds_up_in_every_channel(self):
        array = array_of()
        beams = [Beam("a", 35.0, 50.0), Beam("b", 280.0, 12.0), Beam("c", 0.0, 90.0)]
        frequencies = weights.array_frequencies(array, 33)
        self.assertEqual(frequencies[16], 1.5e8)
        found = weights.beam_weights(array, beams, frequencies, normalise="signal")
        self.assertEqual((found.dtype, found.shape), (np.complex64, (33, 3, 7)))
        for k, frequency in enumerate(frequencies):
            for m, beam in enumerate(beams):
                x = voltages(array, beam.azimuth, beam.elevation, frequency)
                # seven weights, each rounded in both parts
                self.assertLess(abs(found[k, m].astype(complex) @ x - 1), 7 * 2 * EPSILON)
        # the phase is that of each channel: that of the middle one leaves the edges out of step
        x = voltages(array, 35.0, 50.0, frequencies[0])
        self.assertLess(abs(found[16, 0] @ x), 0.5)

    def test_a_transmitter_nearby(self):
        """A beam with a distance adds up what comes from there, by the lengths of paths; one of
        the same direction without it does not."""
        array = array_of()
        place = 400.0 * geometry.direction(35.0, 20.0)
        paths = np.linalg.norm(place - array.input_positions(), axis=1) - 400.0
        late = paths / C + [entry.cable_delay for entry in array.inputs]
        x = np.exp(-2j * np.pi * 1.5e8 * late) * [entry.gain for entry in array.inputs]
        near, far = weights.beam_weights(
            array,
            [Beam("near", 35.0, 20.0, distance=400.0), Beam("far", 35.0, 20.0)],
            [1.5e8],
            normalise="signal",
        )[0]
        self.assertLess(abs(near @ x - 1), 7 * 2 * EPSILON)
        self.assertLess(abs(far @ x), 0.7)

    def test_normalisation(self):
        array = array_of()
        frequencies = weights.array_frequencies(array, 5)
        beams = [Beam("a", 35.0, 50.0), Beam("few", 35.0, 50.0, antennas=("A1", "A5"))]
        for taper in ("none", "gaussian", "hamming", np.arange(7.0)):
            noise = weights.beam_weights(array, beams, frequencies, taper=taper)
            np.testing.assert_allclose(np.sum(np.abs(noise) ** 2, axis=-1), 1, rtol=1e-6)
            plain = weights.beam_weights(array, beams, frequencies, taper=taper, normalise="none")
            reals = plain[:, 0] * np.array([entry.gain for entry in array.inputs])
            np.testing.assert_allclose(
                np.abs(reals), np.tile(weights.taper_of(array, taper), (5, 1)), rtol=1e-6
            )
            # normalising takes one real factor of each beam and channel
            ratio = noise[:, 0, 1:] / plain[:, 0, 1:]
            np.testing.assert_allclose(ratio, np.abs(ratio[:, :1]) * np.ones(6), rtol=1e-5)

    def test_sub_arrays(self):
        array = array_of()
        beams = [Beam("few", 35.0, 50.0, antennas=("A1", "A5")), Beam("all", 35.0, 50.0)]
        found = weights.beam_weights(array, beams, [1.5e8], normalise="signal")[0]
        self.assertEqual(list(np.flatnonzero(found[0])), [1, 5])
        self.assertEqual(np.count_nonzero(found[1]), 7)
        x = voltages(array, 35.0, 50.0, 1.5e8)
        self.assertAlmostEqual(abs(found[0] @ x - 1), 0, delta=1e-6)

    def test_masks_of_incoherent_beams(self):
        array = array_of("xy", antennas=4)
        inputs = list(array.inputs)
        inputs[3] = replace(inputs[3], gain=0)  # A1y: its x has no partner then
        array = replace(array, inputs=inputs)
        beams = [
            Beam("all", 0.0, 90.0, incoherent=True),
            Beam("two", 0.0, 90.0, antennas=("A1", "A3"), incoherent=True),
        ]
        np.testing.assert_array_equal(
            weights.incoherent_masks(array, beams),
            [
                [1, 0, 0, 0, 1, 0, 1, 0],
                [0, 1, 0, 0, 0, 1, 0, 1],
                [0, 0, 0, 0, 0, 0, 1, 0],
                [0, 0, 0, 0, 0, 0, 0, 1],
            ],
        )
        with self.assertRaisesRegex(ValueError, "gain of 0"):
            weights.incoherent_masks(array, [replace(beams[0], antennas=("A1",))])
        # A0 has no y; the y of A2 and A3 are in another order than their x
        for wrong in (inputs[:1] + inputs[2:], inputs[:5] + [inputs[7], inputs[6], inputs[5]]):
            with self.assertRaisesRegex(ValueError, "in one order"):
                weights.incoherent_masks(replace(array, inputs=wrong), beams[:1])

    def test_polarisations_are_pairs(self):
        for letters, order in (("yx", "xy"), ("lr", "rl"), ("y", "y")):
            array = array_of(letters, antennas=3)
            beams = [Beam("a", 35.0, 50.0), Beam("b", 90.0, 60.0)]
            found = weights.beam_weights(array, beams, [1.5e8])[0]
            self.assertEqual(len(found), 2 * len(order))
            for m, row in enumerate(found):
                used = {array.inputs[i].polarization for i in np.flatnonzero(row)}
                self.assertEqual(used, {order[m % len(order)]})
                self.assertEqual(np.count_nonzero(row), 3)
        with self.assertRaisesRegex(ValueError, "linear or with circular"):
            weights.find_polarizations(array_of("xl"))

    def test_tapers(self):
        array = array_of()
        positions = array.input_positions()
        distance = np.linalg.norm(positions - positions.mean(axis=0), axis=1)
        reach = distance / distance.max()
        for name, edge, model in (
            ("gaussian", 10**-0.5, np.exp(-(reach**2) * np.log(10) / 2)),
            ("hamming", 0.08, 0.54 + 0.46 * np.cos(np.pi * reach)),
        ):
            taper = weights.taper_of(array, name)
            self.assertAlmostEqual(taper[np.argmax(distance)], edge, places=12)
            np.testing.assert_allclose(taper, model, rtol=1e-12)
            # from the middle outwards it falls
            self.assertTrue(np.all(np.diff(taper[np.argsort(distance)]) < 0))
        np.testing.assert_array_equal(weights.taper_of(array), np.ones(7))

    def test_calibration(self):
        array, rng = array_of(), np.random.default_rng(2)
        beams = [Beam("a", 35.0, 50.0)]
        frequencies = weights.array_frequencies(array, 3)
        plain = weights.beam_weights(
            array, beams, frequencies, calibration=np.ones(7), normalise="none"
        )
        np.testing.assert_allclose(np.abs(plain), 1, rtol=1e-6)
        for shape in ((7,), (3, 7)):
            gains = rng.normal(size=shape) + 1j * rng.normal(size=shape)
            found = weights.beam_weights(
                array, beams, frequencies, calibration=gains, normalise="none"
            )
            np.testing.assert_allclose(found[:, 0], plain[:, 0] * gains, rtol=1e-5)
        # an input that is known to be dead is left out
        dead = array_of()
        dead.inputs[3] = Input("A3", "x", gain=0)
        found = weights.beam_weights(dead, beams, frequencies)
        self.assertTrue(np.all((found == 0) == (np.arange(7) == 3)))

    def test_beams_that_move(self):
        array, time = array_of(), 1704117200.0
        ra, dec = geometry.azel_to_radec(
            200.0, 40.0, time, array.latitude, array.longitude, array.height
        )
        beams = [Beam("fixed", 200.0, 40.0), Beam("moves", ra=float(ra), dec=float(dec))]
        then = weights.beam_weights(array, beams, [1.5e8], time)[0]
        np.testing.assert_allclose(then[0], then[1], atol=1e-6)
        later = weights.beam_weights(array, beams, [1.5e8], time + 60)[0]
        np.testing.assert_array_equal(later[0], then[0])
        azimuth, elevation = geometry.radec_to_azel(
            ra, dec, time + 60, array.latitude, array.longitude, array.height
        )
        x = voltages(array, azimuth, elevation, 1.5e8)
        self.assertAlmostEqual(abs(later[1] @ x), np.sum(np.abs(later[1] * x)), delta=1e-5)
        with self.assertRaisesRegex(ValueError, "time: None"):
            weights.beam_weights(array, beams, [1.5e8])

    def test_array_factor(self):
        array = array_of()
        frequencies = weights.array_frequencies(array, 3)
        beams = [Beam("a", 35.0, 50.0), Beam("b", 280.0, 12.0)]
        found = weights.beam_weights(array, beams, frequencies)
        places = [(35.0, 50.0), (36.0, 50.0), (100.0, 20.0)]
        factor = weights.array_factor(
            array, found, geometry.direction(*np.transpose(places)), frequencies
        )
        for k in range(3):
            for d, place in enumerate(places):
                np.testing.assert_allclose(
                    factor[k, :, d],
                    found[k].astype(complex) @ voltages(array, *place, frequencies[k]),
                    atol=1e-12,
                )

    def test_refuses(self):
        array, beams = array_of(), [Beam("a", 35.0, 50.0)]
        for arguments, text in (
            (dict(beams=[]), "beams"),
            (dict(normalise="power"), "normalise: 'power'"),
            (dict(taper="hann"), "taper: 'hann'"),
            (dict(taper=[1.0] * 6), "taper: .* 7 numbers"),
            (dict(calibration=np.ones(6)), r"calibration: .*\(7,\)"),
            (dict(calibration=np.full(7, np.nan)), "calibration: .*finite"),
            (dict(beams=[Beam("a", 1.0, 1.0, antennas=("A1", "Z"))]), "'Z' is not allowed"),
            (dict(beams=[Beam("a", 1.0, 1.0, antennas=())]), "beam 'a': antennas"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                weights.beam_weights(
                    **{"array": array, "beams": beams, "frequencies": [1e8], **arguments}
                )


if __name__ == "__main__":
    gr_unittest.run(qa_weights)
