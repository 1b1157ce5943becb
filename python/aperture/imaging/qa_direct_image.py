#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Images by exact sums over antennas, against sums over pairs in double precision."""

import time
from dataclasses import replace

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_model import Antenna, ArrayDescription, Input
from gnuradio.aperture.imaging.direct_image import longest_for, make_direct_image, on_grid
from gnuradio.aperture.imaging.dirty_image import WHOLE_SKY, Field, horizontal
from gnuradio.aperture.imaging.live_visibilities import VisibilityMatrices, add_up
from gnuradio.aperture.imaging.names import nearest_name
from gnuradio.aperture.imaging.visibilities import ImagingError
from gnuradio.aperture.imaging.weighting import parse_weighting
from gnuradio.aperture.tracking.directions import parse_direction, unit_vectors
from gnuradio.aperture.tracking.phase_center import place_at

START = 1704067200
WIDTH, CHANNELS = 2e5, 11
FREQUENCIES = 1.5e8 + WIDTH * (np.arange(CHANNELS) - CHANNELS // 2)
ZENITH = parse_direction("zenith")
SKY = np.eye(3)


def array_of(antennas=7, letters="x", flat=False, reach=30.0, seed=5):
    """Antennas at random places, also above each other, whose inputs are not in their order."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-reach, reach, (antennas, 3)) * (1, 1, 0 if flat else 0.3)
    names = [Antenna(f"A{number}", tuple(place)) for number, place in enumerate(places)]
    inputs = [
        Input(f"A{number}", letter) for letter in letters for number in rng.permutation(antennas)
    ]
    return ArrayDescription("test", 52.0, 5.0, 10.0, names, inputs, 2.2e6, 1.5e8)


def visibilities_of(array, sources, frequencies=FREQUENCIES, gains=None, noise=1.0):
    """[channel][product] of point sources (unit vector, flux) by the definitions of a product:
    parallel hands correlate, and each input has receiver noise."""
    a, b = np.tril_indices(len(array.inputs))
    letters = np.array([entry.polarization for entry in array.inputs])
    found = np.zeros((len(frequencies), len(a)), complex)
    for place, flux in sources:
        delays = geometry.delays(array.input_positions(), place)
        voltages = np.exp(-2j * np.pi * np.multiply.outer(frequencies, delays))
        found += flux * voltages[:, a] * voltages[:, b].conj()
    found[:, a == b] += noise
    found *= letters[a] == letters[b]
    if gains is not None:
        found *= gains[:, a] * gains[:, b].conj()
    return found.astype(np.complex64)


def exact(array, values, weights, frequencies, towards, scale):
    """The image in directions towards [direction][3]: one sum over the products."""
    a, b = np.tril_indices(len(array.inputs))
    places, total, norm = array.input_positions(), np.zeros(len(towards)), 0.0
    letters = [entry.polarization for entry in array.inputs]
    antennas = [entry.antenna for entry in array.inputs]
    for number, (i, j) in enumerate(zip(a, b)):
        if letters[i] != letters[j] or antennas[i] == antennas[j]:
            continue
        delay = (towards @ (places[i] - places[j])) / geometry.SPEED_OF_LIGHT
        cycles = np.multiply.outer(delay, frequencies)
        total += weights[number] * (values[:, number] * np.exp(-2j * np.pi * cycles)).real.sum(1)
        norm += weights[number] * len(frequencies)
    return total / norm / scale


class qa_direct_image(gr_unittest.TestCase):
    def test_exact_sums(self):
        """The whole sky and a field, antennas at all heights, hands, weights: 1e-5 of the flux."""
        array = array_of(letters="yx")
        places = [(geometry.direction(143.2, 51.0), 2.0), (geometry.direction(300.0, 20.0), 1.0)]
        values = visibilities_of(array, places)
        rng = np.random.default_rng(2)
        weights = rng.integers(5, 100, values.shape[1]).astype(float)
        weights[rng.integers(0, len(weights), 9)] = 0
        a, b = np.tril_indices(len(array.inputs))
        weights[a == b] = 100.0
        matrices = VisibilityMatrices(array, CHANNELS)
        for centre, pixels, cell in (
            (ZENITH, 32, WHOLE_SKY / 32),
            (parse_direction("az=140, el=47"), 20, 0.01),
        ):
            to_uvw = SKY if centre is ZENITH else place_at(centre, START, array).to_uvw
            field = Field(centre, pixels, cell)
            binned = matrices.reduce(values, weights, FREQUENCIES, to_uvw, CHANNELS)
            image, peak = make_direct_image(binned, field, parse_weighting("natural"))
            l, m = np.meshgrid(*field.cosines(), indexing="ij")
            seen = l * l + m * m < 1
            towards = (
                np.stack([l, m, np.sqrt(1 - l * l - m * m, where=seen, out=np.zeros_like(l))], -1)[
                    seen
                ]
                @ to_uvw
            )
            # coherence: power 4 of an input, source and noise
            expected = exact(array, values, weights, FREQUENCIES, towards, 4)
            np.testing.assert_allclose(image.image[seen], expected, atol=2e-6)
            self.assertTrue(np.isnan(image.image[~seen]).all())
            self.assertAlmostEqual(
                image.psf[image.psf.shape[0] // 2, image.psf.shape[1] // 2], 1, 5
            )
            if centre is ZENITH:
                continue  # the pixels are wider than the beam
            azimuth, elevation = horizontal(peak.l, peak.m, to_uvw)
            # sidelobes of the other source move the peak
            tenth = np.degrees(image.beam.minor) / 10
            self.assertAlmostEqual(azimuth, 143.2, delta=tenth / np.cos(np.radians(51)))
            self.assertAlmostEqual(elevation, 51.0, delta=tenth / np.sin(np.radians(51)))

    def test_gains_and_tracking(self):
        """Gains and bandpasses make no difference, nor does a delay model that was applied."""
        array = array_of()
        values = visibilities_of(array, [(geometry.direction(143.2, 51.0), 2.0)])
        rng = np.random.default_rng(7)
        gains = rng.uniform(0.2, 5, (CHANNELS, len(array.inputs)))
        matrices = VisibilityMatrices(array, CHANNELS)
        field = Field(ZENITH, 32, WHOLE_SKY / 32)
        plain = on_grid(*self.parts(matrices.reduce(values, 1, FREQUENCIES, SKY, 3)), field)
        other = on_grid(
            *self.parts(
                matrices.reduce(
                    visibilities_of(array, [(geometry.direction(143.2, 51.0), 2.0)], gains=gains),
                    1,
                    FREQUENCIES,
                    SKY,
                    3,
                )
            ),
            field,
        )
        np.testing.assert_allclose(other, plain, atol=1e-4 * np.nanmax(plain), rtol=0)
        # the F-engine takes the phases out of a direction
        tracked = geometry.direction(100.0, 60.0)
        a, b = np.tril_indices(len(array.inputs))
        lengths = -geometry.delays(array.input_positions(), tracked)
        cycles = np.multiply.outer(FREQUENCIES, lengths[a] - lengths[b])
        late = geometry.delays(matrices.places, tracked)
        moved = (values * np.exp(-2j * np.pi * cycles)).astype(np.complex64)
        other = on_grid(
            *self.parts(matrices.reduce(moved, 1, FREQUENCIES, SKY, 3, tracked=late)), field
        )
        np.testing.assert_allclose(other, plain, atol=1e-4 * np.nanmax(plain), rtol=0)

    @staticmethod
    def parts(binned):
        return binned.sums, binned.frequencies, binned.places

    def test_missing(self):
        """Inputs and channels without power take no part; an image of nothing is an error."""
        array = array_of(reach=15.0)
        values = visibilities_of(array, [(geometry.direction(143.2, 51.0), 1.0)])
        a, b = np.tril_indices(len(array.inputs))
        values[:, (a == 3) | (b == 3)] = 0  # an input that is not there
        values[4:6, (a == 1) | (b == 1)] = 0  # channels that are not there
        values[6, 5] = np.nan  # the power of input 2
        matrices = VisibilityMatrices(array, CHANNELS)
        binned = matrices.reduce(values, 10, FREQUENCIES, SKY, CHANNELS)
        used = np.count_nonzero(binned.weights) / 2
        self.assertEqual(used, CHANNELS * 15 - 2 * 5 - 5)
        image, peak = make_direct_image(
            binned, Field(ZENITH, 128, WHOLE_SKY / 128), parse_weighting("natural")
        )
        self.assertEqual(image.visibilities, used)
        self.assertGreater(peak.value, 0.45)
        self.assertLessEqual(peak.value, 0.5)
        nothing = matrices.reduce(0 * values, 10, FREQUENCIES, SKY, 1)
        with self.assertRaisesRegex(ImagingError, "nothing is there"):
            make_direct_image(
                nothing, Field(ZENITH, 128, WHOLE_SKY / 128), parse_weighting("natural")
            )

    def test_bins(self):
        """Averaging over channels loses 6 % of a source on the horizon at most, by the longest
        baseline; integrations add up."""
        array = array_of(reach=200.0, flat=True)
        frequencies = 1.5e8 + 2e4 * np.arange(100)
        matrices = VisibilityMatrices(array, 100)
        place = geometry.direction(70.0, 0.5)
        values = visibilities_of(array, [(place, 1.0)], frequencies)
        bins = matrices.bins(frequencies, WHOLE_SKY)
        self.assertGreater(bins, 5)
        self.assertEqual(matrices.bins(frequencies, 0.01), 1)
        for count, loss in ((bins, 0.06), (1, 1.0)):
            binned = matrices.reduce(values, 1, frequencies, SKY, count)
            amplitudes = np.abs(binned.sums).sum(0) / np.maximum(binned.weights.sum(0), 1)
            worst = 0.5 - amplitudes[binned.weights.sum(0) > 0].min()
            self.assertLess(worst, 0.5 * loss)
            self.assertGreater(worst, 0.5 * loss / 3)
        two = add_up([binned, binned])
        np.testing.assert_allclose(two.sums, 2 * binned.sums)
        np.testing.assert_allclose(two.weights, 2 * binned.weights)

    def test_weights(self):
        """Uniform weights make the beam narrower, as the baselines lie closer in the middle of the
        u, v plane; without long baselines it is wider."""
        array = array_of(20, reach=12.0, flat=True)
        values = visibilities_of(array, [(geometry.direction(143.2, 51.0), 1.0)])
        matrices = VisibilityMatrices(array, CHANNELS)
        binned = matrices.reduce(values, 1, FREQUENCIES, SKY, 1)
        field = Field(ZENITH, 64, WHOLE_SKY / 64)
        found = {
            text: make_direct_image(binned, field, parse_weighting(text))
            for text in ("natural", "uniform", "briggs")
        }
        self.assertLess(found["uniform"][0].beam.minor, found["natural"][0].beam.minor)
        for _image, peak in found.values():
            self.assertAlmostEqual(peak.value, 0.5, delta=0.02)
        longest = longest_for(WHOLE_SKY / 16, FREQUENCIES[-1])
        fewer = binned.within(longest)
        self.assertLessEqual(fewer.longest, 16 / WHOLE_SKY / 3)
        self.assertLess(np.count_nonzero(fewer.weights), np.count_nonzero(binned.weights))
        wider = make_direct_image(fewer, field, parse_weighting("natural"))[0].beam
        self.assertGreater(wider.major, found["natural"][0].beam.major)

    def test_refuses(self):
        array = array_of()
        with self.assertRaisesRegex(ImagingError, "no two antennas"):
            VisibilityMatrices(replace(array, inputs=array.inputs[:1]), CHANNELS)
        lone = replace(
            array, antennas=[replace(entry, position=(0.0, 0.0, 0.0)) for entry in array.antennas]
        )
        with self.assertRaisesRegex(ImagingError, "all its antennas at one place"):
            VisibilityMatrices(lone, CHANNELS)
        with self.assertRaisesRegex(ImagingError, "which are not those of the array"):
            VisibilityMatrices(array, CHANNELS).reduce(
                np.zeros((4, 28), np.complex64), 1, FREQUENCIES, SKY, 1
            )

    def test_nearest_name(self):
        array = array_of()
        place = unit_vectors([parse_direction("Cas A")], START, array)[0]
        name, angle = nearest_name(place, START, array)
        self.assertEqual(name, "Cas A")
        self.assertLess(angle, 1e-6)
        azimuth, elevation = geometry.azimuth_elevation(place)
        name, angle = nearest_name(geometry.direction(azimuth, elevation + 0.4), START, array)
        self.assertEqual(name, "Cas A")
        self.assertAlmostEqual(angle, 0.4, 6)

    def test_time(self):
        """Thirty-two antennas, the whole sky: two images a second on one core are promised, and a
        test machine may be four times as slow."""
        array = array_of(32, reach=60.0)
        frequencies = 1.5e8 + 1e4 * np.arange(128)
        values = visibilities_of(array, [(geometry.direction(143.2, 51.0), 1.0)], frequencies)
        matrices = VisibilityMatrices(array, 128)
        field = Field(ZENITH, 256, WHOLE_SKY / 256)
        longest = longest_for(field.cell, frequencies[-1])
        bins = matrices.bins(frequencies, WHOLE_SKY, longest)
        seconds = []
        for _ in range(3):
            begin = time.thread_time()
            binned = matrices.reduce(values, 1, frequencies, SKY, bins).within(longest)
            make_direct_image(binned, field, parse_weighting("briggs"))
            seconds.append(time.thread_time() - begin)
        self.assertLess(min(seconds), 2.0)


if __name__ == "__main__":
    gr_unittest.run(qa_direct_image)
