#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Settings that were changed while a flowgraph runs, as the tag `settings` tells of them."""

from dataclasses import dataclass

import numpy as np
import pmt

from .. import tags
from ..parameters.times import time_text
from .tag_values import dict_value, tag_value, time_of

#: kinds of settings
DIRECTION, DIRECTIONS, GAINS = "direction", "directions", "gains"
MOST_NUMBERS = 8  # numbers of a setting that are told one by one


@dataclass(frozen=True)
class Setting:
    """
    A setting that holds from a time on.

    kind: direction, directions, gains, delays, weights or integration; time: (whole seconds,
    fraction) since 1970, of the first spectrum or frame that has it; value: what was set, plain
    values by the keys of its message.
    """

    kind: str
    time: tuple
    value: dict

    @property
    def target(self):
        """The kind, and which model, input and beam it is for: another one takes its place."""
        return (self.kind, *(self.value.get(key) for key in (tags.model, tags.input, tags.beam)))

    def same_as(self, other):
        """Returns whether the same was set, at any time."""
        return (
            other is not None
            and self.target == other.target
            and self.value.keys() == other.value.keys()
            and all(_same(value, other.value[key]) for key, value in self.value.items())
        )

    def __str__(self):
        return f"{time_text(self.time)} {self.text()}"

    def text(self):
        """Returns what was set, for people, in ASCII."""
        value = dict(self.value)
        if self.kind == DIRECTION:
            return f"delays follow {place_text(value[tags.direction])}"
        if self.kind == DIRECTIONS:
            places = list(map(place_text, value[tags.directions]))
            more = len(places) - MOST_NUMBERS
            text = "; ".join(places[:MOST_NUMBERS])
            return f"beams look at {text}" + (f" and {more} more" if more > 0 else "")
        whose = [
            f"{name} {value.pop(key)}"
            for key, name in ((tags.model, "model"), (tags.input, "input"), (tags.beam, "beam"))
            if key in value
        ]
        parts = [f"{key} {_numbers(entry)}" for key, entry in value.items()]
        return f"{self.kind}{' of ' * bool(whose)}{', '.join(whose)}: {', '.join(parts)}"


def place_value(direction):
    """The dictionary, as a PMT, that a tag or message has of a Direction."""
    return pmt.to_pmt(
        {
            key: value if isinstance(value, str) else float(value)
            for key, value in {"name": direction.name, **direction.place()}.items()
            if value or (value is not None and key in ("ra", "dec", "azimuth", "elevation"))
        }
    )


def place_text(place):
    """A direction, a dictionary as in the tag, for people."""
    angles = [
        f"{key} {place[key]:.6f} deg"
        for key in ("ra", "dec", "azimuth", "elevation")
        if key in place
    ]
    if "distance" in place:
        angles.append(f"distance {place['distance']:.6g} m")
    if "tle" in place:
        angles.append(f"satellite {place['tle'][2:7].strip()}")
    return f"{place.get('name', '')} ({', '.join(angles) or place.get('body', '')})"


def _same(one, other):
    if isinstance(one, (np.ndarray, list, tuple)) and not isinstance(one, str):
        return np.shape(one) == np.shape(other) and all(map(_same, one, other))
    return one == other


def _numbers(entry):
    if isinstance(entry, (str, int)):
        return str(entry)
    values = np.ravel(np.asarray(entry))
    if values.size > MOST_NUMBERS:
        rms = np.sqrt(np.mean(np.abs(values.astype(complex)) ** 2))
        return f"of {values.size} numbers, rms {rms:.6g}"
    return " ".join(
        f"{value:.9g}" if np.imag(value) else f"{float(np.real(value)):.9g}" for value in values
    )


def settings_of(value):
    """The list of Setting in the value of a `settings` tag; what it raises is what is wrong."""
    found = []
    for number in range(pmt.length(value)):
        entry = pmt.vector_ref(value, number)
        plain = dict(sorted(pmt.to_python(entry).items()))
        kind = plain.pop(tags.setting)
        plain.pop(tags.time)
        found.append(Setting(kind, time_of(dict_value(entry, tags.time)), plain))
    return found


class HeldSettings:
    """The settings that hold at an item of a stream: of each target the newest."""

    def __init__(self):
        self._held = {}

    def take(self, found):
        """
        The settings that are new with an item.

        Parameters
        ----------
        found : dict
            Key to value of the tags on the item.

        Raises
        ------
        ValueError
            The tag's value is not allowed.
        """
        if tags.settings not in found:
            return []
        news = []
        for setting in tag_value(found, tags.settings, settings_of):
            if setting.same_as(self._held.get(setting.target)):
                continue
            if tags.input not in setting.value and tags.beam not in setting.value:
                # one of all inputs takes the place of those of each
                for target in [key for key in self._held if key[:2] == setting.target[:2]]:
                    del self._held[target]
            self._held[setting.target] = setting
            news.append(setting)
        return news

    def lines(self):
        """The settings, each with its time, as texts, in the order of their times."""
        return [str(each) for each in sorted(self._held.values(), key=lambda each: each.time)]
