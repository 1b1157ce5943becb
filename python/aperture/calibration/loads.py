#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Kelvin from hot and cold loads: the Y-factor of each input and channel.

With a load of temperature T in front of a receiver of temperature R, its power is P = G (T + R).
From two loads, Y = P_hot / P_cold gives R = (T_hot - Y T_cold) / (Y - 1), and one unit of power is
(T_hot - T_cold) / (P_hot - P_cold) kelvin.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..arrays.earth_rotation import unix_seconds
from .calibration import Band, Calibration, CalibrationError, InputCalibration, as_number
from .measure import levels_of
from .solver import over_channels

LEAST_STEPS = 5.0  # deviations by which the powers of hot and cold must differ


@dataclass(frozen=True)
class Powers:
    """
    Powers with a load in front of the receivers.

    temperature: kelvin; names: of inputs; powers, deviations: [input][channel], in units of the
    samples, nan where flagged, and one standard deviation of them; span: UTC seconds since 1970.
    """

    temperature: float
    names: list
    powers: np.ndarray
    deviations: np.ndarray
    band: Band
    array: str
    span: tuple


def read_powers(file, temperature, integrations=None):
    """The Powers of a UVH5 file: its autocorrelations, of all or some integrations."""
    as_number("temperature", temperature, 0, 1e9, "kelvin")
    autos = file.autos()
    if not autos:
        raise CalibrationError("", "the file has no autocorrelations")
    chosen = np.arange(len(file.times)) if integrations is None else np.asarray(integrations)
    values, _ = file.read(autos, chosen, max_times=1, max_cells=np.inf)
    powers = values[:, 0].real
    names = [file.names[auto.first] + auto.polarization[0] for auto in autos]
    levels = levels_of(file)
    powers = powers / np.array([levels.get(name, 1.0) for name in names])[:, None] ** 2
    # a power of n independent spectra is good to one in sqrt(n)
    number = max(1.0, file.channel_width * (file.integration_time or 1.0) * len(chosen))
    times, half = unix_seconds(file.times[chosen]), (file.integration_time or 0) / 2
    return Powers(
        float(temperature),
        names,
        powers,
        np.abs(powers) / np.sqrt(number),
        Band.of(file.frequencies, file.channel_width),
        file.telescope,
        (float(times[0] - half), float(times[-1] + half)),
    )


def kelvin(hot, cold):
    """
    Returns for each input, from two Powers: {name: (kelvin for a unit of power [channel], receiver
    temperature in kelvin [channel], flagged [channel])}.

    Raises CalibrationError where they do not belong together, or do not differ.
    """
    if not hot.temperature > cold.temperature:
        raise CalibrationError(
            "temperature",
            f"{hot.temperature:g} K of the hot load is not above "
            f"{cold.temperature:g} K of the cold one",
        )
    if hot.band.channels != cold.band.channels or not np.allclose(
        hot.band.frequencies, cold.band.frequencies, rtol=0, atol=1e-3 * hot.band.width
    ):
        raise CalibrationError("band", f"the hot load has {hot.band}, the cold one {cold.band}")
    if sorted(hot.names) != sorted(cold.names):
        raise CalibrationError(
            "inputs",
            f"the hot load is of {', '.join(hot.names[:8])}, the cold "
            f"one of {', '.join(cold.names[:8])}",
        )
    found = {}
    for number, name in enumerate(hot.names):
        other = cold.names.index(name)
        high, low = hot.powers[number], cold.powers[other]
        step = np.hypot(hot.deviations[number], cold.deviations[other])
        with np.errstate(all="ignore"):
            usable = (high - low > LEAST_STEPS * step) & (low > 0)
            ratio = high / low
            receiver = (hot.temperature - ratio * cold.temperature) / (ratio - 1)
            unit = (hot.temperature - cold.temperature) / (high - low)
        if not usable.any():
            raise CalibrationError(
                "loads",
                f"the power of input {name} does not rise from the cold to the hot load: "
                "were the loads in front of its receiver, and was its gain the same?",
            )
        places, channels = np.arange(len(high)), len(high)
        rows = over_channels(
            np.stack([unit, receiver]).astype(complex), places, usable, channels
        ).real
        found[name] = rows[0], rows[1], ~usable
    return found


def with_loads(calibration, hot, cold):
    """
    A calibration with what loads say: of the same array and channels, or where `calibration` is
    None a new one, which has no more than that.
    """
    found = kelvin(hot, cold)
    if calibration is None:
        span = min(hot.span[0], cold.span[0]), max(hot.span[1], cold.span[1])
        inputs = [
            InputCalibration(name, flagged=flagged, kelvin=unit, receiver_temperature=receiver)
            for name, (unit, receiver, flagged) in found.items()
        ]
        return Calibration(
            hot.array,
            hot.band,
            inputs,
            measured=span,
            source=f"loads of {hot.temperature:g} K and {cold.temperature:g} K",
        )
    band = calibration.band
    if band.channels != hot.band.channels or not np.allclose(
        band.frequencies, hot.band.frequencies, rtol=0, atol=1e-3 * band.width
    ):
        raise CalibrationError("band", f"the calibration has {band}, the loads have {hot.band}")
    lacking = [name for name in calibration.names if name not in found]
    if lacking:
        raise CalibrationError("inputs", f"the loads are not of input {lacking[0]}")
    inputs = [
        replace(entry, kelvin=found[entry.name][0], receiver_temperature=found[entry.name][1])
        for entry in calibration.inputs
    ]
    return replace(calibration, inputs=inputs)
