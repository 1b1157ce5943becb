#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Flux densities of calibrators over frequency: Perley and Butler (2017), ApJS 230, 7.

log10(S / Jy) = a0 + a1 log10(f / GHz) + a2 log10(f / GHz)^2 + ... with the coefficients of the
fits to twenty sources in the paper (arXiv:1609.05940, its table of fitted coefficients), which say
in what range of frequencies each holds. The scale is good to 3 to 5 %; Cas A loses some 0.6 % a
year, Tau A 0.2 %, and both are as they were about 2016.
"""

from dataclasses import dataclass

import numpy as np

from .calibration import CalibrationError

NAME = "perley-butler-2017"


@dataclass(frozen=True)
class FluxModel:
    """
    The flux density of a source over frequency.

    name: of the source in our catalogue; low, high: GHz, between which it holds; coefficients: a0,
    a1, ...
    """

    name: str
    low: float
    high: float
    coefficients: tuple

    def __call__(self, frequencies):
        """Jy at frequencies in Hz. Raises CalibrationError for those that it does not hold for."""
        gigahertz = np.asarray(frequencies, float) / 1e9
        if np.any((gigahertz < self.low) | (gigahertz > self.high)):
            raise CalibrationError(
                "fluxes",
                f"{NAME} has {self.name} at {self.low:g} to {self.high:g} GHz, the data are at "
                f"{np.min(gigahertz):.6g} to {np.max(gigahertz):.6g} GHz",
            )
        powers = np.log10(gigahertz)[..., np.newaxis] ** np.arange(len(self.coefficients))
        return 10 ** (powers @ np.array(self.coefficients))


#: name in our catalogue -> FluxModel
PERLEY_BUTLER_2017 = {
    name: FluxModel(name, low, high, coefficients)
    for name, low, high, coefficients in (
        ("3C 48", 0.05, 50, (1.3253, -0.7553, -0.1914, 0.0498)),
        ("For A", 0.2, 0.5, (2.2180, -0.6610)),
        ("3C 123", 0.05, 50, (1.8017, -0.7884, -0.1035, -0.0248, 0.0090)),
        ("3C 138", 0.2, 50, (1.0088, -0.4981, -0.155, -0.010, 0.022)),
        ("Pic A", 0.2, 4, (1.9380, -0.7470, -0.074)),
        ("Tau A", 0.05, 4, (2.9516, -0.217, -0.047, -0.067)),
        ("3C 147", 0.05, 50, (1.4516, -0.6961, -0.201, 0.064, -0.046, 0.029)),
        ("3C 196", 0.05, 50, (1.2872, -0.8530, -0.153, -0.0200, 0.0201)),
        ("Hyd A", 0.05, 12, (1.7795, -0.9176, -0.084, -0.0139, 0.030)),
        ("Vir A", 0.05, 3, (2.4466, -0.8116, -0.048)),
        ("3C 286", 0.05, 50, (1.2481, -0.4507, -0.1798, 0.0357)),
        ("3C 295", 0.05, 50, (1.4701, -0.7658, -0.2780, -0.0347, 0.0399)),
        ("Her A", 0.2, 12, (1.8298, -1.0247, -0.0951)),
        ("3C 353", 0.2, 4, (1.8627, -0.6938, -0.100, -0.032)),
        ("3C 380", 0.05, 4, (1.2320, -0.791, 0.095, 0.098, -0.18, -0.16)),
        ("Cyg A", 0.05, 12, (3.3498, -1.0022, -0.225, 0.023, 0.043)),
        ("Cas A", 0.2, 4, (3.3584, -0.7518, -0.035, -0.071)),
    )
}
