#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Hidden cables and bandpasses come back from visibilities of an independent model."""

import numpy as np
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.arrays.geometry import rotate_with_sky
from gnuradio.aperture.calibration.calibration import CalibrationError
from gnuradio.aperture.calibration.measure import calibrate_file
from gnuradio.aperture.calibration.outliers import running_median, stand_out
from gnuradio.aperture.calibration.solver import fit_line
from gnuradio.aperture.calibration.sources import NOISE, sky_model
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.testing.calibration_models import (
    START,
    C,
    array_of,
    delays_towards,
    direction_of,
    frequencies_of,
    hidden_gains,
    products_of,
    write_observation,
)
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.tracking.directions import azimuth_elevation

CHANNELS = 45


def away(calibration, gains, names, flux=1.0, common=False):
    """
    Returns how far corrections are from what is hidden: parts of magnitude and degrees,
    [input][channel].

    A correction times the gain times the root of the flux in model units is 1, but for the phase
    of the reference. common: leave out what all magnitudes of a channel have in common, as the
    noise of the source itself, whose power in n spectra is only good to one in the root of n.
    """
    frequencies = frequencies_of(gains.shape[1])
    product = calibration.corrections(frequencies, names) * gains * np.sqrt(flux)
    reference = names.index(calibration.references[0])
    product = product * np.exp(-1j * np.angle(product[reference]))
    if common:
        product = product / np.abs(product).mean(axis=0)
    return np.abs(product) - 1, np.angle(product, deg=True)


class qa_calibration_solver(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "a.uvh5")
        self.rng = np.random.default_rng(11)

    def observe(self, array, gains, sources, spectra=4000, integrations=1, flagged=(), **options):
        """Writes a file of sources, list of (flux, delays [input])."""
        frequencies = frequencies_of(gains.shape[1])
        write_observation(
            self.path,
            array,
            frequencies,
            [
                products_of(gains, sources, frequencies, spectra, self.rng, **options)
                for _ in range(integrations)
            ],
            spectra,
            flagged,
        )

    def calibrate(self, source=NOISE, **options):
        with VisibilityFile(self.path) as file:
            return calibrate_file(file, source, **options)

    def check(self, calibration, gains, array, flux=1.0, degrees=1.0, part=0.01, common=False):
        size, phase = away(calibration, gains, array.input_names, flux, common)
        self.assertLess(np.abs(phase).max(), degrees)
        self.assertLess(np.abs(size).max(), part)

    def test_noise_source_flags_and_interference(self):
        """+-100 ns and bandpasses, of 20 % flagged channels and in spite of strong interference, to
        1 degree and 1 %: coherence 50/51, and the noise's own power in 60000 spectra is good to
        0.4 %, half of that in magnitudes."""
        for inputs in (2, 3, 6):
            with self.subTest(inputs=inputs):
                array = array_of([f"A{i}" for i in range(inputs)])
                gains, delays = hidden_gains(inputs, CHANNELS, seed=inputs)
                flagged = np.sort(self.rng.choice(np.arange(2, CHANNELS - 2), 9, replace=False))
                loud = np.setdiff1d(np.arange(4, CHANNELS - 4), flagged)[[3, 11, 20]]
                self.observe(
                    array,
                    gains,
                    [(50.0, np.zeros(inputs))],
                    flagged=flagged,
                    integrations=15,
                    interference=dict.fromkeys(loud, 10000.0),
                )
                calibration, _ = self.calibrate()
                # channels that were not measured too: bandpasses are smooth, and one at an end is
                # as its neighbour
                self.check(calibration, gains, array, 50.0)
                for entry in calibration.inputs:
                    np.testing.assert_array_equal(entry.flagged[flagged], True)
                    self.assertTrue(entry.flagged[loud].all())
                    self.assertLess(entry.flagged.sum(), len(flagged) + len(loud) + 3)

    def test_sign(self):
        """A longer cable makes a negative delay: the other inputs are those to be delayed."""
        array = array_of(["A", "B"])
        away = frequencies_of(CHANNELS) - 1.42e9
        gains = np.stack([np.ones(CHANNELS), np.exp(-2j * np.pi * (1.42e9 + away) * 30e-9)])
        self.observe(array, gains, [(50.0, np.zeros(2))])
        calibration, _ = self.calibrate(reference="Ax")
        # 0.1 degrees over 2.8 MHz of 45 channels: 0.03 ns; five deviations
        self.assertAlmostEqual(calibration.of("Bx").delay * 1e9, -30.0, delta=0.15)
        self.assertEqual(calibration.of("Ax").delay, 0.0)
        self.assertEqual(calibration.of("Ax").phase, 0.0)
        # 1.42e9 * 30e-9 = 42.6 cycles, in the middle channel; to be added
        expected = np.angle(np.exp(2j * np.pi * 0.6))
        self.assertAlmostEqual(calibration.of("Bx").phase, expected, delta=0.01)

    def test_point_source(self):
        """One of known azimuth and elevation, by seven antennas; reference chosen."""
        array = array_of([f"A{i}" for i in range(7)])
        gains, delays = hidden_gains(7, CHANNELS)
        self.observe(array, gains, [(3.0, delays_towards(array, 130, 40))], integrations=4)
        calibration, told = self.calibrate(sky_model("az=130,el=40"))
        self.assertEqual(told, [])
        # coherence 3/4 of 16000 spectra and 7 antennas: 0.25 degrees, 0.4 %; the worst of 315
        self.check(calibration, gains, array, 3.0, degrees=1.2, part=0.018, common=True)
        # the residual of the fit is as much as the noise makes
        self.assertAlmostEqual(calibration.quality["x"].chi_squared, 1, delta=0.35)
        self.assertLess(calibration.quality["x"].misfit, 0.02)
        # in wavelengths the array is so large that another direction is another phase
        other, _ = self.calibrate(sky_model("az=130,el=41"))
        _, phase = away(other, gains, array.input_names)
        self.assertGreater(np.abs(phase).max(), 10)

    def test_phased_files(self):
        """Files whose phases were rotated to a phase centre give the same gains."""
        array = array_of(["A", "B", "C", "D"])
        gains, _ = hidden_gains(4, CHANNELS)
        frequencies = frequencies_of(CHANNELS)
        products = [
            products_of(gains, [(30.0, delays_towards(array, 130, 40))], frequencies, 500, self.rng)
            for _ in range(3)
        ]
        found = []
        for center in (
            None,
            aperture.parse_direction("az=130,el=40"),
            aperture.parse_direction("Cas A"),
        ):
            write_observation(self.path, array, frequencies, products, 500, phase_center=center)
            found.append(self.calibrate(sky_model("az=130,el=40"), reference="Ax")[0])
        for other in found[1:]:
            np.testing.assert_allclose(
                other.corrections(frequencies), found[0].corrections(frequencies), atol=1e-4
            )

    def test_moving_source(self):
        """Cas A for two hours and the model with it: as well as one that stands still."""
        array = array_of([f"A{i}" for i in range(5)], spread=300)
        gains, _ = hidden_gains(5, CHANNELS)
        frequencies = frequencies_of(CHANNELS)
        source = aperture.parse_direction("Cas A")
        products = []
        for number in range(8):
            # rotate_with_sky knows of no astropy: 0.5 arc seconds a day
            azimuth, elevation = azimuth_elevation(source, START, array)
            towards = rotate_with_sky(direction_of(azimuth, elevation), 52.0, 900.0 * number)
            products.append(
                products_of(
                    gains,
                    [(30.0, -array.input_positions() @ towards / C)],
                    frequencies,
                    1000,
                    self.rng,
                )
            )
        write_observation(self.path, array, frequencies, products, 1000, step=900.0)
        calibration, told = self.calibrate(sky_model("Cas A"))
        self.assertEqual(told, [])
        self.check(calibration, gains, array, 30.0, degrees=1.0, part=0.012, common=True)
        # a snapshot fits a wrong place as well, two hours do not
        with self.assertRaisesRegex(CalibrationError, "Cyg A is not what the visibilities of "):
            self.calibrate(sky_model("Cyg A"))

    def test_several_sources(self):
        """A model of two with their fluxes; half of it is noticed as wrong."""
        array = array_of([f"A{i}" for i in range(6)])
        gains, _ = hidden_gains(6, CHANNELS)
        self.observe(
            array,
            gains,
            [(4.0, delays_towards(array, 130, 40)), (2.0, delays_towards(array, 220, 60))],
            integrations=2,
        )
        model = str(self.folder / "model.yml")
        with open(model, "w") as file:
            file.write(
                "sources:\n- {name: one, azimuth: 130, elevation: 40, flux: 4}\n"
                "- {name: two, azimuth: 220, elevation: 60, flux: 2}\n"
            )
        calibration, told = self.calibrate(sky_model(model))
        self.assertEqual(told, [])
        # units of the model: fluxes of 4 and 2; 8000 spectra, whose signals do not add up quite as
        # the model has them
        self.check(calibration, gains, array, degrees=2.5, part=0.05)
        with self.assertRaisesRegex(
            CalibrationError,
            r"az=130,el=40 is not what the visibilities "
            r"of polarisation x show: [3-7]\d(\.\d)? % of the model",
        ):
            self.calibrate(sky_model("az=130,el=40"), most_misfit=0.2)
        _, told = self.calibrate(sky_model("az=130,el=40"), most_misfit=0.9)
        self.assertRegex(told[0], r"^polarisation x: the residuals are \d+(\.\d)? % of the model")

    def test_no_signal(self):
        array = array_of(["A", "B", "C"])
        gains, _ = hidden_gains(3, CHANNELS)
        self.observe(array, gains, [])
        with self.assertRaisesRegex(CalibrationError, "no two inputs of polarisation x correlate"):
            self.calibrate()

    def test_dead_input(self):
        """One that does not hear the source gets 0, and the others what they would get."""
        array = array_of(["A", "B", "C", "D"])
        gains, _ = hidden_gains(4, CHANNELS)
        frequencies = frequencies_of(CHANNELS)
        products = products_of(gains, [(50.0, np.zeros(4))], frequencies, 4000, self.rng)
        deaf = products_of(gains, [], frequencies, 4000, self.rng)
        a, b = np.tril_indices(4)
        products[:, (a == 2) | (b == 2)] = deaf[:, (a == 2) | (b == 2)]
        write_observation(self.path, array, frequencies, [products], 4000)
        calibration, told = self.calibrate()
        self.assertEqual(told, ["no signal was found in Cx: the correction is 0 there"])
        self.assertFalse(calibration.of("Cx").found)
        np.testing.assert_array_equal(calibration.corrections(frequencies, ["Cx"]), 0)
        size, phase = away(calibration, gains[[0, 1, 3]], ["Ax", "Bx", "Dx"], 50.0, common=True)
        self.assertLess(np.abs(phase).max(), 1)
        self.assertLess(np.abs(size).max(), 0.01)
        with self.assertRaisesRegex(CalibrationError, "no signal was found in Cx"):
            self.calibrate(reference="Cx")

    def test_faint_source_shares_gains(self):
        """A channel with too little signal is averaged with its neighbours, after their delays."""
        array = array_of([f"A{i}" for i in range(5)])
        gains, delays = hidden_gains(5, 120)
        self.observe(array, gains, [(0.05, np.zeros(5))], spectra=3000)
        calibration, told = self.calibrate()
        self.assertRegex(told[-1], r"^polarisation x: \d+ channels share a gain")
        size, phase = away(calibration, gains, array.input_names, 0.05)
        # coherence 1/21, 3000 spectra of about 16 channels and four baselines: about 5 degrees,
        # and what the bandpass bends within an average
        self.assertLess(np.sqrt(np.mean(phase**2)), 9)
        # over the band: 120 channels, 7.5 MHz: 0.9 ns
        found = calibration.delays(array.input_names)
        expected = -(delays - delays[array.input_names.index(calibration.references[0])])
        np.testing.assert_allclose(found, expected, atol=5e-9)

    def test_two_polarisations(self):
        """Each by itself; the reference is that of the same antenna; cross-hands are left."""
        array = array_of(["A", "B", "C"], letters="xy")
        gains, _ = hidden_gains(6, CHANNELS)
        frequencies = frequencies_of(CHANNELS)
        x = products_of(gains, [(50.0, np.zeros(6))], frequencies, 3000, self.rng)
        write_observation(self.path, array, frequencies, [x], 3000)
        calibration, _ = self.calibrate(reference="Bx")
        self.assertEqual(calibration.references, ["Bx", "By"])
        self.assertEqual(set(calibration.names), set(array.input_names))
        for letter in "xy":
            names = [name for name in array.input_names if name[-1] == letter]
            rows = [array.input_names.index(name) for name in names]
            product = calibration.corrections(frequencies, names) * gains[rows] * np.sqrt(50)
            product *= np.exp(-1j * np.angle(product[1]))
            self.assertLess(np.abs(np.angle(product, deg=True)).max(), 1)
            self.assertLess(np.abs(np.abs(product) - 1).max(), 5 * 0.5 / np.sqrt(3000))
        with self.assertRaisesRegex(CalibrationError, "reference: 'Dx' is not allowed; it must be"):
            self.calibrate(reference="Dx")

    def test_sources_that_make_no_sense(self):
        for text in ("", "az=1", "az=1,el=2,ra=3,dec=4", "ra=1,dec=x", "sunny", 3):
            with self.subTest(source=text), self.assertRaisesRegex(ValueError, "source"):
                sky_model(text)

    def test_fit_line(self):
        """Delays up to half of what a channel resolves, flagged channels among them."""
        frequencies = frequencies_of(63)
        weights = np.ones(63)
        weights[[0, 1, 5, 33, 34, 62]] = 0
        for delay in (0.0, 1e-9, -70e-9, 7.9e-6, -7.9e-6):
            gains = 3 * np.exp(1j * (2.0 - 2 * np.pi * (frequencies - 1.42e9) * delay))
            gains[[5, 33]] = 7j
            line = fit_line(frequencies, gains, weights, 1.42e9)
            self.assertAlmostEqual(line.delay, delay, delta=1e-15)
            self.assertAlmostEqual(line.phase, 2.0, delta=1e-7)
        self.assertEqual(fit_line(frequencies, gains, 0 * weights, 1.42e9).delay, 0.0)

    def test_medians(self):
        values = np.array([[1.0, 9, 2, np.nan, 3, 8, 1]])
        np.testing.assert_array_equal(running_median(values, 3), [[5, 2, 5.5, 2.5, 5.5, 3, 4.5]])

    def test_stand_out(self):
        """Outliers are found at the ends and in rows, too; steep edges and bends are none."""
        place = np.linspace(-1, 1, 129)
        smooth = np.stack(
            [
                np.linspace(1, 2, 129) * np.exp(2j * place),
                1 + 0.3 * np.cos(5 * place),
                1 / (1 + (place / 0.8) ** 8),
            ]
        )
        noise = 1e-3 * self.rng.standard_normal((2, *smooth.shape))
        smooth = smooth + noise[0] + 1j * noise[1]
        self.assertFalse(stand_out(smooth).any())
        for channels in ([17], [0], [128], [60, 61, 62], [5, 11, 30]):
            for factor in (1.2, 1 + 0.1j, 1000, 0.0):
                with self.subTest(channels=channels, factor=factor):
                    values = smooth.copy()
                    values[1, channels] *= factor
                    np.testing.assert_array_equal(np.flatnonzero(stand_out(values)), channels)
        values[:, 30:36] = np.nan
        np.testing.assert_array_equal(np.flatnonzero(stand_out(values)), channels[:2])


if __name__ == "__main__":
    gr_unittest.run(qa_calibration_solver)
