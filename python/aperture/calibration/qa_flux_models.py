#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Fluxes of calibrators beside those of CASA, and models with them."""

import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.calibration.calibration import CalibrationError
from gnuradio.aperture.calibration.flux_models import NAME, PERLEY_BUTLER_2017
from gnuradio.aperture.calibration.sources import sky_model
from gnuradio.aperture.tracking.directions import parse_direction

#: name, GHz, Jy: what CASA's test of its flux standards expects of Perley-Butler 2017 (casa6,
#: FluxStandard2_GTest.cc), by a table of NRAO's that has the coefficients to one digit more
CASA = (
    ("3C48", 2.0, 12.0766376419),
    ("3C48", 20.0, 1.34376748572),
    ("Fornax A", 0.2, 477.792755885),
    ("Fornax A", 0.5, 260.831709946),
    ("3C123", 2.0, 35.8415070329),
    ("3C123", 20.0, 3.73204541165),
    ("3C138", 2.0, 6.99355160643),
    ("3C138", 20.0, 1.37874384626),
    ("Pictor A", 2.0, 50.8667294544),
    ("Taurus A", 2.0, 758.684772777),
    ("3C147", 2.0, 16.7997184717),
    ("3C147", 20.0, 2.09874986844),
    ("3C196", 2.0, 10.3786270159),
    ("3C196", 20.0, 0.853708631823),
    ("Hydra A", 2.0, 31.2967163783),
    ("Virgo A", 2.0, 157.72738616),
    ("3C286", 2.0, 12.5056530041),
    ("3C286", 20.0, 2.72898772521),
    ("3C295", 2.0, 16.3591315603),
    ("3C295", 20.0, 1.09928230977),
    ("Hercules A", 2.0, 32.562420997),
    ("3C353", 2.0, 43.9344075193),
    ("3C380", 2.0, 10.0762542624),
    ("Cygnus A", 2.0, 1068.37333938),
    ("Cassiopeia A", 2.0, 1339.73252473),
)


class qa_flux_models(gr_unittest.TestCase):
    def test_beside_casa(self):
        """All sources have the fluxes that CASA expects, to the rounding of the coefficients."""
        for name, gigahertz, flux in CASA:
            model = PERLEY_BUTLER_2017[parse_direction(name).name]
            self.assertLess(abs(float(model(gigahertz * 1e9)) / flux - 1), 0.003, name)
        names = {parse_direction(name).name for name, _, _ in CASA}
        self.assertEqual(names, set(PERLEY_BUTLER_2017))

    def test_in_a_model(self):
        """The visibilities of a source have its spectrum, and their unit is Jy."""
        model = sky_model("3C286", NAME)
        self.assertEqual(model.unit, "Jy")
        self.assertIn("3C 286", model.name)
        frequencies = np.array([1e9, 2e9, 20e9])
        found = model.visibilities(
            np.array([[0.0, 0.0, 1.0]]), np.array([[10.0, 0.0, 0.0], [0.0, 0.0, 3.0]]), frequencies
        )
        expected = [10**1.2481, 12.5056530041, 2.72898772521]
        np.testing.assert_allclose(np.abs(found), [expected] * 2, rtol=1e-6)
        # without a scale of fluxes its power is 1
        plain = sky_model("3C286")
        self.assertEqual((plain.unit, plain.sources[0][1]), ("", 1.0))

    def test_refused(self):
        for text, scale, words in (
            ("3C286", "baars", "perley-butler-2017"),
            ("sun", NAME, "has no sun, only 3C 48, For A"),
            ("noise", NAME, "has no noise, only"),
            ("3C273", NAME, "has no 3C273"),
        ):
            with self.assertRaisesRegex(CalibrationError, words):
                sky_model(text, scale)
        with self.assertRaisesRegex(CalibrationError, "Vir A at 0.05 to 3 GHz, the data are at 4"):
            PERLEY_BUTLER_2017["Vir A"]([4e9, 5e9])


if __name__ == "__main__":
    gr_unittest.run(qa_flux_models)
