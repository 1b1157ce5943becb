#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`hydrogen:`, a simulated dish that looks at the 21 cm line."""

from dataclasses import replace
from inspect import signature

from ...arrays.array_description import load_array
from ...hydrogen_source import START_TIME, SWITCHING, hydrogen_source
from ...parameters.times import read_time, whole_and_fraction
from ...spectrometry.switching import TARGETS
from ..input_format import InputFormat, Option, one_of
from ..signals import Signals
from ..values import CENTER, RATE
from .sim import DEFAULT_SEED

_DEFAULTS = {
    name: entry.default for name, entry in signature(hydrogen_source.__init__).parameters.items()
}


def _number(text):
    value = float(text)
    if value != value or abs(value) > 1e12:
        raise ValueError("expected a number")
    return value


def _option(help, unit, default):
    return Option(_number, f"{help} (default: {default:g})", unit)


class Hydrogen(InputFormat):
    kind = "hydrogen"
    summary = "a simulated dish at the 21 cm line; it points to l=30,b=0, or zenith"
    names = "DIRECTION"
    options = {
        "target": Option(
            one_of(*TARGETS), "what is before the antenna (default: sky)", "sky|hot|cold"
        ),
        "start": Option(
            lambda text: whole_and_fraction(read_time(text)),
            "time of the first sample in UTC (default: 2024-06-21T11:00:00)",
            "TIME",
        ),
        "rate": Option(RATE, "samples a second (default: 2.4e6)", "HZ"),
        "freq": Option(CENTER, "middle of the band on the sky (default: 1420e6)", "HZ"),
        "switching": Option(
            one_of(*SWITCHING), "of the receiver (default: none)", "none|load|frequency"
        ),
        "period": _option("of a cycle of switching", "S", _DEFAULTS["period"]),
        "throw": Option(CENTER, "of frequency switching (default: 600e3)", "HZ"),
        "dish": _option("its diameter", "M", _DEFAULTS["dish"]),
        "receiver": _option("temperature of the receiver", "K", _DEFAULTS["t_receiver"]),
        "gain": _option("more than what gives a good level", "DB", _DEFAULTS["gain"]),
        "drift": _option("part by which the gain drifts to each side", "D", _DEFAULTS["drift"]),
        "place": Option(
            str, "an array description, whose place counts (default: one-dish)", "ARRAY"
        ),
    }
    simulates = True

    def open(self, request):
        values = dict(request.values)
        direction = ", ".join(request.names)
        description = load_array(values.pop("place", "one-dish"))
        description.validate()
        made = {
            "sample_rate": float(values.pop("rate", _DEFAULTS["sample_rate"])),
            "center_frequency": float(values.pop("freq", _DEFAULTS["center_frequency"])),
            **({"throw": float(values.pop("throw"))} if "throw" in values else {}),
            "start_time": values.pop("start", (START_TIME, 0.0)),
            **({"t_receiver": values.pop("receiver")} if "receiver" in values else {}),
            **values,
        }
        seed = DEFAULT_SEED if request.seed is None else request.seed
        one = replace(
            description,
            antennas=description.antennas[:1],
            inputs=[replace(description.inputs[0], antenna=description.antennas[0].name)],
            sample_rate=made["sample_rate"],
            center_frequency=made["center_frequency"],
            sources=[],
        )

        def source(samples):
            return hydrogen_source(direction, array=description, samples=samples, seed=seed, **made)

        try:
            source(1)  # the block refuses values that are not allowed
        except ValueError as error:
            raise request.error(str(error)) from None
        return Signals(
            one,
            "fc32",
            made["sample_rate"],
            made["center_frequency"],
            None,
            source,
            made["start_time"],
        )


FORMAT = Hydrogen()
