#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Drawings of the powers of beams: spectra, and total powers against time."""

import time as host
from collections import deque

import numpy as np

from ...displays.bandpass_view import decibel_span
from .drawings import AVERAGING, HISTORY, finite


class BeamDrawings:
    """
    Makes of the powers of beams what the page shows. All methods but the constructor and history()
    are for one thread.

    now: a dictionary for JSON, the newest; empty before the first.
    """

    def __init__(self):
        self.now = {}
        self._key, self._directions = None, []
        self._powers, self._when = None, 0.0
        # names and (time, dB of each); replaced as a whole, because another thread reads it
        self._past = [], deque(maxlen=HISTORY)

    def draw(self, message, payload, about):
        """
        Takes an integration.

        Parameters
        ----------
        message, payload : dict, bytes
            A message and its bytes that beam_look.py made.
        about : dict
            The message about the instrument; its `beams`, those of beams_section(), may be missing.
        """
        known = about.get("beams")
        known = known if isinstance(known, list) and len(known) == message["all"] else []
        key = (
            message["block"],
            message["all"],
            message["channels"],
            message["beams"],
            message["first"],
            message["width"],
            known,
        )
        if key != self._key:
            self._key = key
            names, self._directions = _names(message["beams"], known)
            self._past, self._powers = (names, deque(maxlen=HISTORY)), None
        names, past = self._past
        if past and message["time"] < past[-1][0]:  # the flowgraph begins anew
            past = deque(maxlen=HISTORY)
            self._past, self._powers = (names, past), None
        self._average(np.frombuffer(payload, np.float32).reshape(len(names), -1))
        decibels = [
            None if power is None else finite(10 * np.log10(power)) for power in message["powers"]
        ]
        past.append((message["time"], decibels))
        self.now = self._picture(message, names, decibels)

    def _average(self, powers):
        """Averages each point over time; a point without power is none, and begins anew after
        it."""
        new = np.where(np.isfinite(powers) & (powers > 0), powers, np.nan).astype(float)
        now = host.monotonic()
        if self._powers is None:
            self._powers = new
        else:
            part = 1 - np.exp(-max(now - self._when, 1e-3) / AVERAGING)
            before = np.where(np.isnan(self._powers), new, self._powers)
            self._powers = before + part * (new - before)
        self._when = now

    def _picture(self, message, names, totals):
        curves = 10 * np.log10(self._powers)
        channels, together = message["channels"], message["together"]
        starts = np.arange(0, channels, together)
        places = (starts + np.minimum(starts + together, channels) - 1) / 2
        low, high = decibel_span(curves)
        return {
            "time": message["time"],
            "all": message["all"],
            "frequencies": None
            if message["first"] is None
            else [finite(value, 9) for value in message["first"] + message["width"] * places],
            # at once, as there may be many
            "decibels": np.where(np.isnan(curves), None, np.round(curves, 2)).tolist(),
            "low": finite(low),
            "high": finite(high),
            "beams": [
                {
                    "number": number,
                    "name": name,
                    "direction": _place(name, now or said),
                    "power": finite(power),
                    "decibels": total,
                }
                for number, name, now, said, power, total in zip(
                    message["beams"],
                    names,
                    message["directions"],
                    self._directions,
                    message["powers"],
                    totals,
                )
            ],
        }

    def history(self):
        """Times, and the total powers in dB of all beams that are followed."""
        names, past = self._past
        past = list(past)
        return {
            "times": [time for time, _ in past],
            "beams": [
                {"name": name, "decibels": [decibels[place] for _, decibels in past]}
                for place, name in enumerate(names)
            ],
        }


def _names(numbers, known):
    """Names, no two of which are alike, and directions of beams with these numbers."""
    names, directions = [], []
    for number in numbers:
        about = known[number] if known and isinstance(known[number], dict) else {}
        name = str(about.get("name", number))
        names.append(f"{name} ({number})" if name in names else name)
        directions.append(about.get("direction"))
    return names, directions


def _place(name, direction):
    """A direction without the beam's own name; None where it is not known."""
    if isinstance(direction, str) and direction.startswith(f"{name} (") and direction[-1] == ")":
        return direction[len(name) + 2 : -1]
    return direction if isinstance(direction, str) else None
