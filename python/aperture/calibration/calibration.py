#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A calibration: for each input the correction that makes the inputs of an array equal.

What is kept are the corrections and not the measured gains, in the convention of the F-engine: the
voltage of an input in the channel at sky frequency f is to be multiplied by

    c(f) = bandpass(f) exp(i (phase - 2 pi (f - reference_frequency) delay)).

`delay` is the amount by which the input is to be delayed to line it up with the others, so that an
input whose cable is 25 ns longer than the reference's has a delay of -25 ns. If the voltages are
x_i = g_i s, c_i is 1/g_i: a visibility x_a conj(x_b), times c_a conj(c_b), is that of the model
by which the calibration was measured.

Beside that an input may have what hot and cold loads say: `kelvin`, what its power is to be
multiplied with to be in kelvin, and `receiver_temperature`, both for each channel.
"""

import math
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ..parameters import rules
from ..parameters.ascii_text import find_name
from ..parameters.errors import ParameterError
from ..parameters.times import utc_text

SCALES = ("model", "kelvin")
#: rules for the time between two calibrations
INTERPOLATIONS = ("linear", "nearest")
MOST_DELAY = 1.0  # s
UNITS = ("", "Jy")


class CalibrationError(ParameterError):
    """An error in a calibration, or the reason why it does not fit what it is to be used for."""


as_number = partial(rules.as_number, error=CalibrationError)
as_whole = partial(rules.as_whole, error=CalibrationError)
refuse = partial(rules.refuse, error=CalibrationError)


def check_text(name, value, most=200):
    """The value, which must be a line of text."""
    if not (isinstance(value, str) and len(value) <= most and value.isprintable()):
        refuse(name, value, f"one line of at most {most} printable characters")
    return str(value)


@dataclass(frozen=True)
class Band:
    """Sky frequencies of the channels, Hz: `first`, `first + width`, ...; `channels` of them."""

    first: float
    width: float
    channels: int

    def __post_init__(self):
        as_number("first", self.first, -1e15, 1e15, "Hz")
        as_number("width", self.width, 1e-6, 1e15, "Hz")
        as_whole("channels", self.channels, 1, 1 << 24)

    @property
    def frequencies(self):
        """[channel], Hz"""
        return self.first + self.width * np.arange(self.channels)

    @classmethod
    def of(cls, frequencies, width):
        """Returns the band of frequencies that ascend evenly."""
        frequencies = np.asarray(frequencies, float)
        if len(frequencies) > 1:
            width = (frequencies[-1] - frequencies[0]) / (len(frequencies) - 1)
            uneven = np.max(np.abs(np.diff(frequencies) - width))
            if uneven > 1e-3 * width:
                raise CalibrationError(
                    "frequencies",
                    f"channels of {width:.10g} Hz are uneven, by up to {uneven:.3g} Hz",
                )
        return cls(float(frequencies[0]), float(width), len(frequencies))

    def __str__(self):
        last = self.first + self.width * (self.channels - 1)
        return (
            f"{self.channels} channels of {self.width / 1e3:.6g} kHz from "
            f"{self.first / 1e6:.9g} to {last / 1e6:.9g} MHz"
        )


@dataclass(frozen=True)
class Quality:
    """
    The quality of a model's fit.

    signal_to_noise: of the gain of a channel, the median over channels; chi_squared: of the
    residuals against the noise that the powers of the inputs make, for each degree of freedom, nan
    where there is none; misfit: the rms of the residuals beyond that noise, as a part of the
    model's.
    """

    signal_to_noise: float = math.nan
    chi_squared: float = math.nan
    misfit: float = math.nan


@dataclass(frozen=True)
class InputCalibration:
    """
    The correction of one input; see the top of this module.

    Parameters
    ----------
    name : str
        Antenna and polarisation, as the array description has it: "A1x".
    delay, phase : float
        Seconds, and radians at the reference frequency.
    bandpass : array of complex
        [channel]; 0 for an input that was not found in the data.
    flagged : array of bool
        [channel]: was not measured (no signal, interference): `bandpass` is there what
        neighbouring channels say.
    kelvin, receiver_temperature : array of float
        [channel], or None: kelvin for each unit of power; kelvin.
    quality : Quality
    """

    name: str
    delay: float = 0.0
    phase: float = 0.0
    bandpass: np.ndarray = None
    flagged: np.ndarray = None
    kelvin: np.ndarray | None = None
    receiver_temperature: np.ndarray | None = None
    quality: Quality = Quality()

    def __post_init__(self):
        check_text("name", self.name, 65)
        as_number("delay", self.delay, -MOST_DELAY, MOST_DELAY, "seconds")
        as_number("phase", self.phase, -1e6, 1e6, "radians")

    def sized(self, channels):
        """The same with arrays of so many channels, which are checked."""
        made = {}
        for key, kind, default in (
            ("bandpass", complex, 1),
            ("flagged", bool, False),
            ("kelvin", float, None),
            ("receiver_temperature", float, None),
        ):
            value = getattr(self, key)
            if value is None:
                if default is None:
                    continue
                value = np.full(channels, default)
            value = np.array(value, kind)
            if value.shape != (channels,):
                refuse(key, f"{value.size} values", f"{channels}, one for each channel")
            if not np.all(np.isfinite(value)):
                refuse(key, value[~np.isfinite(value)][0], "finite")
            if key == "kelvin" and not np.all(value >= 0):
                refuse(key, value.min(), "0 or above")
            made[key] = value
        return replace(self, **made)

    @property
    def found(self):
        """True if there was a signal to calibrate it with."""
        return bool(np.any(self.bandpass != 0))


@dataclass
class Calibration:
    """
    A calibration of an array; see the top of this module.

    Parameters
    ----------
    array : str
        The name of the array.
    band : Band
        The band of the bandpasses.
    inputs : list of InputCalibration
    source : str
        By what it was measured.
    references : list of str
        Names of the inputs whose corrections have no delay and no phase, one a polarisation.
    reference_frequency : float
        Hz, where `phase` holds; by default that of channel n // 2.
    measured : (float, float) or None
        UTC seconds since 1970: from when to when the data are that it was measured with.
    valid : (float, float) or None
        From when to when it may be used; None: at any time.
    quality : dict
        Polarisation to Quality, of all inputs together.
    history : str
        The command that made it.
    unit : str
        The unit of calibrated visibilities: "Jy", or "" where they are in units of the source's
        power.
    """

    array: str
    band: Band
    inputs: list
    source: str = ""
    references: list = field(default_factory=list)
    reference_frequency: float | None = None
    measured: tuple | None = None
    valid: tuple | None = None
    quality: dict = field(default_factory=dict)
    history: str = ""
    unit: str = ""

    def __post_init__(self):
        check_text("array", self.array)
        check_text("source", self.source)
        if self.unit not in UNITS:
            refuse("unit", self.unit, "Jy, or left out")
        if not isinstance(self.band, Band):
            refuse("band", self.band, "a Band")
        if self.reference_frequency is None:
            self.reference_frequency = self.band.frequencies[self.band.channels // 2]
        self.reference_frequency = as_number(
            "reference_frequency", self.reference_frequency, -1e15, 1e15, "Hz"
        )
        made, names = [], {}
        for index, entry in enumerate(self.inputs):
            if not isinstance(entry, InputCalibration):
                refuse(f"inputs[{index}]", entry, "an InputCalibration")
            try:
                made.append(entry.sized(self.band.channels))
            except CalibrationError as error:
                raise CalibrationError(f"inputs[{index}].{error.field}", error.problem) from None
            if entry.name in names:
                raise CalibrationError(
                    f"inputs[{index}].name",
                    f"{entry.name!r} is not allowed; "
                    f"inputs[{names[entry.name]}] is the same already",
                )
            names[entry.name] = index
        if not made:
            refuse("inputs", [], "a list of one at least")
        self.inputs = made
        for index, name in enumerate(self.references):
            if name not in names:
                refuse(f"references[{index}]", name, "the name of an input")
        for key in ("measured", "valid"):
            span = getattr(self, key)
            if span is not None:
                rule = "two times, the first not after the second"
                if len(span) != 2 or not 0 <= span[0] <= span[1] < 1e12:
                    refuse(key, span, rule)
                setattr(self, key, (float(span[0]), float(span[1])))

    # ---- what is asked of it

    @property
    def names(self):
        """Names of its inputs, in order."""
        return [entry.name for entry in self.inputs]

    def of(self, name):
        """The InputCalibration of an input; CalibrationError where there is none."""
        place = find_name(name, self.names)
        if place is not None:
            return self.inputs[place]
        shown = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
        raise CalibrationError(
            "inputs", f"the calibration of array {self.array!r} has no input {name!r}, only {shown}"
        )

    @property
    def has_kelvin(self):
        """True if the powers of all inputs can be given in kelvin."""
        return all(entry.kelvin is not None for entry in self.inputs)

    def bandpasses(self, frequencies, names=None, scale="model"):
        """
        The part of the corrections that has no delay and no phase, complex [input][channel].

        Between the calibration's channels it is interpolated.

        Parameters
        ----------
        frequencies : array of float
            Sky frequencies [channel], Hz.
        names : list of str
            The inputs; by default its own.
        scale : str
            "model": the magnitude is such that visibilities become those of the source it was
            measured with; "kelvin": such that powers become kelvin.

        Raises
        ------
        CalibrationError
            An input or a channel that it says nothing of, or no kelvin.
        """
        if scale not in SCALES:
            refuse("scale", scale, " or ".join(SCALES))
        frequencies = np.atleast_1d(np.asarray(frequencies, float))
        own = self.band.frequencies
        # channel 0 of complex samples straddles both ends of the band, so that finer channels of
        # the same band reach a channel further than the last one's centre
        margin = (1 + 1e-6) * self.band.width
        outside = (frequencies < own[0] - margin) | (frequencies > own[-1] + margin)
        if outside.any():
            raise CalibrationError(
                "frequencies",
                f"the calibration is for {self.band}, and "
                f"{np.count_nonzero(outside)} of {len(frequencies)} channels are outside, the "
                f"first at {frequencies[outside][0] / 1e6:.9g} MHz",
            )
        found = np.empty(
            (len(self.inputs) if names is None else len(names), len(frequencies)), complex
        )
        for row, entry in enumerate(self.inputs if names is None else map(self.of, names)):
            values = entry.bandpass
            if scale == "kelvin":
                if entry.kelvin is None:
                    raise CalibrationError(
                        "scale",
                        f"kelvin is not known for input {entry.name} of the calibration: it must "
                        "have been measured with a hot and a cold load",
                    )
                size = np.abs(values)
                phasor = np.divide(values, size, out=np.ones_like(values), where=size > 0)
                values = np.sqrt(entry.kelvin) * phasor
            found[row] = np.interp(frequencies, own, values.real) + 1j * np.interp(
                frequencies, own, values.imag
            )
        return found

    def delays(self, names=None):
        """Seconds [input] by which the inputs are to be delayed."""
        return np.array(
            [entry.delay for entry in (self.inputs if names is None else map(self.of, names))]
        )

    def phases(self, frequency, names=None):
        """Radians [input] that the delays leave at a sky frequency in Hz."""
        entries = self.inputs if names is None else list(map(self.of, names))
        away = 2 * np.pi * (frequency - self.reference_frequency)
        return np.array([entry.phase - away * entry.delay for entry in entries])

    def corrections(self, frequencies, names=None, scale="model"):
        """c of the top of this module, complex [input][channel]; arguments: as `bandpasses`."""
        frequencies = np.atleast_1d(np.asarray(frequencies, float))
        cycles = np.outer(self.delays(names), frequencies - self.reference_frequency)
        phases = self.phases(self.reference_frequency, names)[:, np.newaxis]
        return self.bandpasses(frequencies, names, scale) * np.exp(
            1j * (phases - 2 * np.pi * cycles)
        )

    def apply(self, visibilities, frequencies, names, scale="model"):
        """
        Corrected visibilities [...][channel][product], with the products of the X-engine: x_a
        conj(x_b) of inputs a >= b at a(a + 1)/2 + b.
        """
        corrections = self.corrections(frequencies, names, scale)
        a, b = np.tril_indices(len(corrections))
        return np.asarray(visibilities) * (corrections[a] * corrections[b].conj()).T

    def after(self, other):
        """
        The calibration that does what `other` and then this one do: of what is left after `other`,
        this one was measured. Both have the same inputs and channels; the rest is as in this one.
        """
        if self.band != other.band:
            raise CalibrationError(
                "band", f"{self.band} is not that of the other calibration, {other.band}"
            )
        made = []
        for entry in self.inputs:
            before = other.of(entry.name)
            phase = (
                entry.phase
                + before.phase
                - 2 * np.pi * before.delay * (self.reference_frequency - other.reference_frequency)
            )
            made.append(
                replace(
                    entry,
                    delay=entry.delay + before.delay,
                    bandpass=entry.bandpass * before.bandpass,
                    phase=float(np.angle(np.exp(1j * phase))),
                )
            )
        return replace(self, inputs=made)

    def scaled(self, factor):
        """The calibration whose corrections are so many times as large, above 0."""
        return replace(
            self, inputs=[replace(entry, bandpass=factor * entry.bandpass) for entry in self.inputs]
        )

    def level(self):
        """The rms over channels of the magnitude of the references' corrections."""
        sizes = np.abs(np.concatenate([self.of(name).bandpass for name in self.references]))
        return float(np.sqrt(np.mean(sizes[sizes > 0] ** 2)))

    def warnings(self, start, stop=None):
        """Returns what to tell a user who applies it for data from `start` to `stop`, UTC seconds
        since 1970: a list of texts."""
        texts = []
        if self.valid is not None:
            stop = start if stop is None else stop
            if start < self.valid[0] or stop > self.valid[1]:
                texts.append(
                    f"the calibration is valid from {utc_text(self.valid[0], 3)}Z to "
                    f"{utc_text(self.valid[1], 3)}Z, the data are of {utc_text(start, 3)}Z"
                )
        lost = [entry.name for entry in self.inputs if not entry.found]
        if lost:
            texts.append(
                f"the calibration has no correction for {', '.join(lost[:8])}"
                f"{', ...' if len(lost) > 8 else ''}, where no signal was found or which were left "
                "out: it is 0 there"
            )
        return texts
