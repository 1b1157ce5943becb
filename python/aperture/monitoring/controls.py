#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Controls that may be changed from outside: of each block its message ports, what their values must
be, and what setting them does.

Values are set by the setters of the blocks, which check them as their constructors do. No setter is
called here that takes the name of a file.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..beams.beams import Beam
from ..parameters.constructors import values_of
from ..parameters.times import END_OF_TIME
from ..tracking.directions import parse_direction
from . import schemas

#: the largest float32 gains and weights, and seconds of delay
LARGEST_GAIN, LONGEST_DELAY = 1e30, 1e3
MOST_CHANNELS = 1 << 16
#: s within which a block must have accepted what it takes by a message: less than the server waits
ANSWER_TIME = 3.0


@dataclass(frozen=True)
class Control:
    """A setting that may be changed from outside. schema: of the values; apply(value): sets one,
    and raises ValueError or RuntimeError with what is wrong; about: a sentence; kept: whether it
    holds from then on, so that the next flowgraph gets it, too."""

    schema: dict
    apply: Callable
    about: str
    kept: bool = True

    def set(self, value):
        """Checks a value, and sets it."""
        schemas.check(value, self.schema)
        self.apply(value)


def controls_of(block, beams=None):
    """{port: Control} of a block of an instrument; beams: its `pointing`, which makes up for what
    delays follow, or None."""
    found = {}
    kind = type(block).__name__
    if kind == "fx_correlator":
        found.update(_f_engine(block.f_engine))
    elif hasattr(block, "set_delays"):
        found.update(_f_engine(block))
    if hasattr(block, "set_integration"):
        found["integration"] = _integration(block)
    if hasattr(block, "set_weights") and hasattr(block, "set_mask"):
        found["weights"] = _weights(block)
    if hasattr(block, "track"):
        found["direction"] = _direction(block, beams)
    elif kind == "pointing":
        found["direction"] = _beams(block)
    if hasattr(block, "measure"):
        found["command"] = Control(
            schemas.mapping(["command"], command=schemas.text(16, choices=["measure"])),
            lambda value: block.measure(),
            "Measures anew.",
            kept=False,
        )
    if kind == "voltage_ring":
        found["trigger"] = _trigger(block)
    return found


# ---- the F-engine


def _complex():
    part = schemas.number(-LARGEST_GAIN, LARGEST_GAIN)
    return schemas.either(part, schemas.array(part, 2, 2, "[re, im]"))


def _as_complex(value):
    return complex(*value) if isinstance(value, list) else complex(value)


def _f_engine(block):
    about = values_of(block)
    inputs = int(about.get("inputs", 1))
    channels = min(int(about.get("channels", 1)), MOST_CHANNELS)
    which = schemas.integer(0, inputs - 1, "which input; all without it")

    def set_gain(value):
        number = int(value.get("input", -1))
        if "gains" in value:
            block.set_gains([_as_complex(gain) for gain in value["gains"]], number)
        else:
            block.set_gain(_as_complex(value["gain"]), number)

    def set_delays(value):
        parts = [value.get(key, []) for key in ("delay", "delay_rate", "phase", "phase_rate")]
        block.set_delays(
            *[part if isinstance(part, list) else [part] for part in parts],
            input=int(value.get("input", -1)),
            model=value.get("model", ""),
        )

    def numbers(most, about):
        one = schemas.number(-most, most)
        return schemas.either(one, schemas.array(one, 1, inputs, about))

    return {
        "gains": Control(
            schemas.either(
                schemas.mapping(["gain"], gain=_complex(), input=which),
                schemas.mapping(
                    ["gains"],
                    gains=schemas.array(_complex(), channels, channels, "one for each channel"),
                    input=which,
                ),
            ),
            set_gain,
            "Sets the gain of one input, or of all, from the next spectrum on.",
        ),
        "delays": Control(
            schemas.mapping(
                ["delay"],
                delay=numbers(LONGEST_DELAY, "s, one for each input"),
                delay_rate=numbers(1.0, "s/s"),
                phase=numbers(1e9, "rad"),
                phase_rate=numbers(1e9, "rad/s"),
                input=which,
                model=schemas.text(64, "a name; models of several names add up", schemas.ID),
            ),
            set_delays,
            "Sets a model of the delays of one input, or of all, from the next spectrum on.",
        ),
    }


# ---- X-engine and beams


def _integration(block):
    # fx_correlator takes seconds alone
    units = () if type(block).__name__ == "fx_correlator" else ("seconds",)
    return Control(
        schemas.mapping(["seconds"], seconds=schemas.number(1e-6, 1e6, "s, rounded to frames")),
        lambda value: block.set_integration(float(value["seconds"]), *units),
        "Sets the length of integrations, from the next one on.",
    )


def _weights(block):
    about = values_of(block)
    beams, inputs = int(about.get("beams", 1)), int(about.get("inputs", 1))
    most = min(beams * inputs, MOST_CHANNELS)

    def apply(value):
        beam = int(value.get("beam", -1))
        shape = (inputs,) if beam >= 0 else (beams, inputs)
        if not {"weights", "gain", "mask"} & set(value):
            raise ValueError("value: must have one of weights, gain, mask")
        # all are checked before the first is set
        made = {
            key: np.array([convert(one) for one in value[key]], kind)
            for key, convert, kind in (
                ("weights", _as_complex, np.complex64),
                ("mask", int, np.uint8),
            )
            if key in value
        }
        for key, values in made.items():
            if values.size != int(np.prod(shape)):
                raise ValueError(f"value.{key}: must have {int(np.prod(shape))} entries")
        if "weights" in made:
            block.set_weights(made["weights"].reshape(shape), beam)
        if "gain" in value:
            block.set_gains([float(value["gain"])] * (1 if beam >= 0 else beams), beam)
        if "mask" in made:
            block.set_mask(made["mask"].reshape(shape), beam)

    return Control(
        schemas.mapping(
            [],
            weights=schemas.array(_complex(), 1, most, "[beam][input], or [input] of one beam"),
            gain=schemas.number(-LARGEST_GAIN, LARGEST_GAIN),
            mask=schemas.array(schemas.integer(0, 1), 1, most, "0: the input is left out"),
            beam=schemas.integer(0, beams - 1, "which one; all without it"),
        ),
        apply,
        "Sets weights, gains or masks of one beam, or of all, from the next frame on.",
    )


# ---- where it looks

_DIRECTION = schemas.text(128, "sun, Cas A, B0329+54, '23:23:24 +58:48:54', 'az=180, el=45'")


def _direction(block, beams):
    def apply(value):
        found = parse_direction(value["direction"])
        block.track(found)
        if beams is not None:
            beams.set_tracked(found)

    return Control(
        schemas.mapping(["direction"], direction=_DIRECTION),
        apply,
        "Follows another direction from what comes next on.",
    )


def _beams(block):
    def apply(value):
        found = [parse_direction(one) for one in value["directions"]]
        block.set_beams([Beam(**vars(direction)) for direction in found])

    return Control(
        schemas.mapping(["directions"], directions=schemas.array(_DIRECTION, 1, 4096)),
        apply,
        "Points all beams anew, one direction for each.",
    )


# ---- dumps of voltages


def _trigger(block):
    second = schemas.number(0, 1e6, "s")
    time = schemas.number(0, END_OF_TIME - 1, "UTC, s since 1970")
    name = schemas.text(64, "of the dump", schemas.ID)
    return Control(
        schemas.either(
            schemas.mapping(["before"], id=name, before=second, after=second),
            schemas.mapping(["start", "end"], id=name, start=time, end=time),
        ),
        lambda value: block.trigger(**value, patience=ANSWER_TIME),
        "Writes the voltages around now, or between two times, into files.",
        kept=False,
    )
