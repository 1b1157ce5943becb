#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Drawings of integrations: levels and bandpasses, fringes, and the sky, in one thread."""

import math
import time

import numpy as np

from ...displays.axes import Channels
from ...displays.bandpass_view import BAD, GOOD, NEUTRAL, WARN, BandpassView
from ...displays.fringe_record import fringe_text
from ...displays.sky_image import limits, png
from ...displays.sky_view import SkyView
from ..array_values import array_of
from .fringes import Fringes

#: seconds over which bandpasses are averaged
AVERAGING = 2.0
#: baselines whose fringes are followed, and integrations of each that are kept
MOST_BASELINES, HISTORY = 36, 600
#: points of a bandpass
MOST_POINTS = 256
#: s from one image of the sky to the next, and the part of the time that they may take
SKY_PAUSE, SKY_SHARE = 5.0, 0.03
SKY_AVERAGING = 10.0
GRADES = {GOOD: "good", WARN: "warn", BAD: "bad", NEUTRAL: "unknown"}
COUNTS = ("spectra", "channels", "clamped", "clamped_samples", "missing")


def finite(value, digits=6):
    """A number with so many digits; None where it is not finite."""
    return float(f"{value:.{digits}g}") if value is not None and math.isfinite(value) else None


class Drawings:
    """
    Makes of integrations what the page shows. All methods but the constructor are for one thread.

    bandpasses, fringes, sky: dictionaries for JSON, the newest; picture: the sky as PNG.
    """

    def __init__(self):
        self.bandpasses, self.fringes, self.sky = {}, {}, {}
        self.picture = b""
        self._key, self._view, self._fringes, self._sky = None, None, None, None
        self._next_sky, self._words = 0.0, ""
        self._whole, self._followed, self._waiting = False, None, None
        self._names, self._inputs = [], []

    def draw(self, message, payload, about, counts):
        """
        Takes an integration.

        Parameters
        ----------
        message, payload : dict, bytes
            A message and its bytes that visibility_look.py made.
        about : dict
            The message about the instrument; its `array` may be missing.
        counts : list of dict
            The newest messages `counts` of F-engines.
        """
        array = about.get("array") if isinstance(about.get("array"), dict) else {}
        key = (
            message["block"],
            message["channels"],
            tuple(message["inputs"]),
            message["type"],
            repr(array),
        )
        if key != self._key:
            self._begin(message, array)
            self._key = key
        values = np.frombuffer(payload, np.complex64).reshape(message["channels"], -1)
        frequencies = None
        channels = None
        if message["first"] is not None:
            channels = Channels(message["first"], message["width"], message["channels"])
            frequencies = channels.frequencies()
        self._draw_bandpasses(values, message, frequencies, counts)
        if channels is not None:
            self._draw_fringes(values, message, channels)
            self._draw_sky(values, message, frequencies)

    def _begin(self, message, array):
        chosen = message["inputs"]
        known = array.get("inputs")
        names = (
            [str(entry["name"]) for entry in known]
            if isinstance(known, list) and len(known) > max(chosen)
            else [str(number) for number in range(max(chosen) + 1)]
        )
        self._names, self._inputs = [names[number] for number in chosen], chosen
        self._view = BandpassView(self._names, message["channels"], message["type"], AVERAGING)
        count = len(chosen)
        pairs = [(b, a) for b in range(count) for a in range(b + 1, count)]
        if len(pairs) > MOST_BASELINES:
            pairs = [(0, a) for a in range(1, count)][:MOST_BASELINES]
        self._fringes = Fringes(pairs, HISTORY)
        self.bandpasses, self.fringes, self.sky, self.picture = {}, {}, {}, b""
        self._sky, self._words, self._followed, self._waiting = None, "", None, None
        description = array_of(array, chosen) if array else None
        if description is None:
            self._words = "the array's description is not known"
        elif len(pairs) > 0:
            self._sky = self._sky_view(description, message["channels"])

    def _sky_view(self, description, channels):
        """Returns a view of the whole sky where the array can see it, otherwise of the zenith."""
        for centre in ("sky", "zenith"):
            try:
                self._whole = centre == "sky"
                return SkyView(description, channels, centre, averaging=SKY_AVERAGING)
            except ValueError as error:
                self._words = str(error)
        return None

    def follow(self, tracked):
        """
        Takes out what delays do to the sky, and looks there, if not at all of it. tracked: a
        dictionary of a direction, as parse_direction() has it; None: delays follow nothing.
        """
        if self._sky is None or tracked == self._followed:
            return
        self._followed = tracked
        try:
            self._sky.set_tracked(tracked)
            if not self._whole:
                self._sky.set_centre(tracked or "zenith")
        except ValueError as error:
            self._words = str(error)
        self._waiting, self._next_sky = None, 0.0

    def _draw_bandpasses(self, values, message, frequencies, counts):
        for count in counts:
            if (
                all(key in count for key in COUNTS)
                and isinstance(count["missing"], list)
                and len(count["missing"]) > max(self._inputs)
            ):
                chosen = {
                    key: [count[key][number] for number in self._inputs]
                    if isinstance(count[key], list)
                    else count[key]
                    for key in COUNTS
                }
                try:
                    self._view.add_counts(chosen)
                except (ValueError, TypeError, ZeroDivisionError):
                    pass  # another block with other inputs
        counted = None if message["counted"] is None else np.array(message["counted"])
        self._view.add_visibilities(values, counted, message["spectra"], frequencies)
        shown = self._view.picture()
        step = -(-message["channels"] // MOST_POINTS)
        starts = np.arange(0, message["channels"], step)
        curves = [np.fmax.reduceat(state.decibels, starts) for state in shown.inputs]
        places = starts + (np.minimum(starts + step, message["channels"]) - 1 - starts) / 2
        self.bandpasses = {
            "time": message["time"],
            "words": shown.words,
            "frequencies": None
            if frequencies is None
            else [finite(value, 9) for value in message["first"] + message["width"] * places],
            "decibels": [[finite(value, 4) for value in curve] for curve in curves],
            "low": finite(shown.low),
            "high": finite(shown.high),
            "inputs": [
                {
                    "number": number,
                    "name": state.name,
                    "rms": finite(state.rms, 4),
                    "level": state.level,
                    "clamped": finite(state.clamped, 3),
                    "missing": finite(state.missing, 3),
                    "grade": GRADES[state.grade],
                }
                for number, state in zip(self._inputs, shown.inputs)
            ],
        }

    def _draw_fringes(self, values, message, channels):
        found = self._fringes.add(message["time"], channels, values)
        newest = []
        for (pair, points), fringe in zip(self._fringes.points.items(), found):
            if fringe is None:
                continue
            names = [self._names[number] for number in pair]
            newest.append(
                {
                    "pair": "-".join(map(str, pair)),
                    "names": names,
                    "point": points[-1],
                    "coherence": finite(fringe.coherence, 3),
                    "clear": fringe.clear,
                    "text": fringe_text(names, fringe),
                }
            )
        self.fringes = {"time": message["time"], "newest": newest}

    def history(self):
        """All points of all baselines that are followed."""
        if self._fringes is None:
            return []
        return [
            {
                "pair": "-".join(map(str, pair)),
                "names": [self._names[number] for number in pair],
                "points": list(points),
            }
            for pair, points in list(self._fringes.points.items())
        ]

    def _draw_sky(self, values, message, frequencies):
        if self._sky is None:
            self.sky = {"words": self._words}
            return
        begin = time.monotonic()
        count = values.shape[1]
        weights = (
            np.ones(count)
            if message["counted"] is None
            else np.broadcast_to(np.array(message["counted"], float), count)
        )
        waiting = self._waiting
        if waiting is None or not 0 < message["time"] - waiting[3] < 10 * SKY_PAUSE:
            waiting = [np.zeros(values.shape, np.complex64), np.zeros(count), 0.0, message["time"]]
        waiting[0] += values * weights
        waiting[1] = waiting[1] + weights
        waiting[2] += message["interval"] or 1.0
        self._waiting = waiting
        if begin < self._next_sky:
            return
        self._waiting = None
        try:
            found = self._sky.picture(
                waiting[0] / np.maximum(waiting[1], 1),
                waiting[1],
                frequencies,
                (waiting[3] + message["time"]) / 2,
                waiting[2],
            )
        except ValueError as error:  # ImagingError among them
            self.sky = {"words": str(error)}
            self._next_sky = begin + SKY_PAUSE
            return
        low, high = limits(found.image.image)
        self.picture = png(found.image.image, low, high)
        field = found.image.field
        self.sky = {
            "serial": self.sky.get("serial", 0) + 1,
            "time": found.time,
            "whole": found.whole,
            "words": found.brightest,
            "lines": [list(line) for line in found.lines],
            "centre": "the whole sky" if found.whole else field.centre.name,
            "pixels": field.pixels,
            "cell": field.cell,
            "low": finite(low, 3),
            "high": finite(high, 3),
            "peak": [finite(found.peak.l), finite(found.peak.m)],
            "sources": [[str(name), finite(l), finite(m)] for name, l, m in found.sources],
        }
        took = time.monotonic() - begin
        self._next_sky = begin + max(SKY_PAUSE, took / SKY_SHARE)
