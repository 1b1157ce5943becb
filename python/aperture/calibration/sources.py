#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""By what an array is calibrated: a noise source, a direction, or several sources with fluxes."""

import os
from dataclasses import dataclass

import numpy as np

from ..arrays import geometry
from ..arrays.array_description import read_sources
from ..arrays.array_model import ArrayDescriptionError
from ..parameters.errors import ParameterError
from ..parameters.input_files import look_for
from ..tracking import directions
from .calibration import CalibrationError, refuse
from .flux_models import NAME, PERLEY_BUTLER_2017

#: catalogues of fluxes
FLUXES = {NAME: PERLEY_BUTLER_2017}

RULE = (
    '"noise" (one signal in all inputs), '
    + directions.RULE
    + ", or a YAML file with sources as an array description has them, their fluxes in Jy"
)


@dataclass(frozen=True)
class SkyModel:
    """
    A model of the sky, or a noise source.

    name: for people; sources: (Direction, flux) of each, none for a noise source, which is the same
    in all inputs; unit: of the fluxes, "Jy" or "" where they are relative. A flux is a number, or a
    function of frequencies in Hz, such as a FluxModel.
    """

    name: str
    sources: tuple = ()
    unit: str = ""

    def __post_init__(self):
        for direction, _ in self.sources:
            if direction.distance is not None:
                refuse("source", str(direction), "far away: the model's waves are plane")

    @property
    def is_noise(self):
        return not self.sources

    def directions(self, times, site):
        """
        Unit vectors [time][source][east, north, up].

        times: UTC seconds since 1970; site: with latitude, longitude (degrees), height (metres).
        """
        found = np.empty((len(times), len(self.sources), 3))
        for number, (direction, _) in enumerate(self.sources):
            found[:, number] = geometry.direction(
                *directions.azimuth_elevation(direction, np.asarray(times), site)
            )
        return found

    def visibilities(self, directions, baselines, frequencies):
        """
        x_i conj(x_j) of equal inputs, complex [baseline][channel], at one time.

        directions: [source][east, north, up]; baselines: places of i minus places of j, metres
        [baseline][east, north, up]; frequencies: Hz [channel].
        """
        if self.is_noise:
            return np.ones((len(baselines), len(frequencies)), complex)
        delays = geometry.delays(baselines, directions)  # [source][baseline]
        found = np.zeros((len(baselines), len(frequencies)), complex)
        for (_, flux), delay in zip(self.sources, delays):
            if callable(flux):
                flux = flux(frequencies)
            found += flux * np.exp(-2j * np.pi * np.outer(delay, frequencies))
        return found


NOISE = SkyModel("noise")


def _of_catalogue(text, fluxes):
    """The model of a source whose fluxes are in a catalogue."""
    if fluxes not in FLUXES:
        refuse("fluxes", fluxes, ", ".join(FLUXES))
    models = FLUXES[fluxes]
    try:
        direction = directions.parse_direction(text)
    except ParameterError:
        direction = None
    if direction is None or direction.name not in models:
        raise CalibrationError("fluxes", f"{fluxes} has no {text}, only {', '.join(models)}")
    return SkyModel(
        f"{direction.name}, fluxes of {fluxes}", ((direction, models[direction.name]),), "Jy"
    )


def sky_model(text, fluxes=None):
    """
    The SkyModel that a text names: see RULE.

    Fluxes in a file of sources are in Jy; those of an array description are in units of the
    receivers' noise, and what is named by its direction has a flux of 1, or with `fluxes` (one of
    FLUXES) that in Jy of a catalogue.

    Raises CalibrationError; ArrayDescriptionError for what is wrong in a file; OSError.
    """
    if not isinstance(text, str) or not text.strip():
        refuse("source", text, RULE)
    if fluxes is not None:
        return _of_catalogue(text, fluxes)
    if text == "noise":
        return NOISE
    if text.endswith((".yml", ".yaml")) or os.path.isfile(look_for(text) or ""):
        found, alone = read_sources(text)
        sources = tuple((directions.parse_direction(source), source.flux) for source in found)
        if not any(flux > 0 for _, flux in sources):
            raise ArrayDescriptionError(
                "sources", "a model needs one source of a flux above 0", text
            )
        return SkyModel(text, sources, "Jy" if alone else "")
    try:
        return SkyModel(text, ((directions.parse_direction(text, "source"), 1.0),))
    except ParameterError as error:
        raise CalibrationError(error.field, error.problem.replace(directions.RULE, RULE)) from None
