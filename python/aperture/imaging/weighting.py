#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Weights of visibilities in an image: natural, uniform, Briggs."""

from dataclasses import dataclass

import numpy as np

RULE = "natural, uniform, briggs, or briggs with a robustness from -2 to 2 (briggs=0.5)"


@dataclass(frozen=True)
class Weighting:
    """
    The weighting of visibilities; robustness: None: natural, -inf: uniform, otherwise that of
    Briggs (1995), from -2 (nearly uniform) to 2 (nearly natural).
    """

    robustness: float = None

    def __str__(self):
        if self.robustness is None:
            return "natural"
        return "uniform" if np.isinf(self.robustness) else f"Briggs {self.robustness:g}"


def parse_weighting(text):
    """A Weighting of a text as RULE has it; ValueError otherwise."""
    name, _, value = text.strip().lower().partition("=")
    if not value and name in ("natural", "uniform", "briggs"):
        return Weighting({"natural": None, "uniform": -np.inf, "briggs": 0.0}[name])
    try:
        robustness = float(value)
    except ValueError:
        robustness = np.nan
    if name != "briggs" or not -2 <= robustness <= 2:
        raise ValueError(f"{text!r} is not allowed: {RULE}")
    return Weighting(robustness)


class UVDensity:
    """
    Sums of weights in cells of the u, v plane, which uniform and Briggs weights divide by.

    A cell is as wide as the structure that an image of this width can tell apart: 1 / width
    wavelengths. A visibility and its conjugate at -u, -v are one.

    Parameters
    ----------
    width : float
        Width of the image in direction cosines.
    longest : float
        Longest baseline in wavelengths.
    """

    def __init__(self, width, longest):
        self._width = width
        self._half = int(np.ceil(longest * width)) + 1
        self._sums = np.zeros((2 * self._half + 1) * (self._half + 1))

    def _cells(self, u, v):
        """Index of the cell of each u, v (wavelengths)."""
        u, v = np.rint(u * self._width).astype(int), np.rint(v * self._width).astype(int)
        other = (v < 0) | ((v == 0) & (u < 0))
        u, v = np.where(other, -u, u), np.where(other, -v, v)
        return v * (2 * self._half + 1) + u + self._half

    def add(self, u, v, weights):
        """Counts visibilities; u, v in wavelengths, and weights, of one shape."""
        self._sums += np.bincount(self._cells(u, v).ravel(), weights.ravel(), len(self._sums))

    def weigh(self, weighting, u, v, weights):
        """The weights in the image of visibilities with these natural weights."""
        # (without any sums all is flagged)
        if weighting.robustness is None or not self._sums.any():
            return weights
        density = self._sums[self._cells(u, v)]
        if np.isinf(weighting.robustness):
            return np.divide(weights, density, out=np.zeros_like(weights), where=weights > 0)
        mean = np.sum(self._sums**2) / np.sum(self._sums)
        return weights / (1 + density * (5 * 10**-weighting.robustness) ** 2 / mean)
