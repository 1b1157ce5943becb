#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The server's knowledge of the instrument: the newest of everything, and a bounded past."""

import asyncio
import itertools
import re
import time
from collections import OrderedDict, deque

from ..schemas import ID

MOST_LOG, MOST_CANDIDATES, MOST_PICTURES, MOST_EVENTS = 500, 200, 24, 64
MOST_FIGURES = 600
#: s since a line of the log came last within which another one like it is counted there
REPEATED = 600.0
#: events of `status` that are no news: they come every second
REGULAR = {"counts", "state", "flags", "flagged", "tracking"}
ALARMS = {
    "lost",
    "lost_unknown",
    "refused",
    "stalled",
    "not_calibrated",
    "not_aligned",
    "doubted",
    "clock_jump",
    "clock_drift",
    "failed",
    "no_rx_rate",
    "odd_stamp",
    "slip",
    "below_horizon",
    "between_spectra",
    "no_delays",
    "noise_silent",
    "noise_stays",
}
#: entries of a message of status by which two of them may differ and are still alike
DIFFERENT = {"id", "files", "description", "time"}
_NAME = re.compile(ID.strip("^$"))


def is_id(text):
    """Returns whether a text may be the name of a block, a port or a candidate."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


class Observed:
    """
    Takes the messages of the publisher. `version` counts what changed, and changed() waits for it.
    """

    def __init__(self):
        self.about, self.controls = {}, {}
        #: true if one of its blocks makes visibilities
        self.correlates = False
        #: block -> event -> {time, value}
        self.status = {}
        #: serial -> line of the log, and what makes lines alike -> serial of the newest such
        self._lines, self._alike = OrderedDict(), {}
        self.figures, self.history = {}, deque(maxlen=MOST_FIGURES)
        self.candidates = deque(maxlen=MOST_CANDIDATES)
        self.pictures = OrderedDict()
        #: when the publisher was heard last
        self.heard = time.time()
        self._serials = itertools.count(1)
        self.version = 0
        self._changed = asyncio.Event()

    async def changed(self, version, timeout):
        """Waits until something is newer than a version; whether it is."""
        if self.version != version:
            return True
        event = self._changed
        try:
            await asyncio.wait_for(event.wait(), timeout)
        except asyncio.TimeoutError:
            return False
        return True

    def touch(self):
        """Notes that something changed."""
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def take(self, message, payload):
        """A message of the publisher, other than visibilities and answers."""
        self.heard = time.time()
        function = getattr(self, "_take_" + message["kind"], None)
        if function is not None:
            function(message, payload)
            self.touch()

    def _take_about(self, message, _):
        self.about, self.correlates = message["instrument"], message["correlates"]
        self.controls = {name: ports for name, ports in message["controls"].items() if is_id(name)}
        self.status = {
            name: events for name, events in self.status.items() if name in self.blocks()
        }

    def blocks(self):
        """{name: {type, in, out}}."""
        return {name: about for name, about in self.about.get("blocks", {}).items() if is_id(name)}

    def _take_status(self, message, _):
        name, value = message["block"], message["value"]
        event = value.get("event")
        event = event if isinstance(event, str) else "status"
        events = self.status.setdefault(name, {})
        if event in events or len(events) < MOST_EVENTS:
            events[event] = {"time": message["time"], "value": value}
        if event not in REGULAR:
            self.add_log(
                message["time"],
                "alarm" if event in ALARMS else "info",
                name,
                status_text(event, value),
                status_text(
                    event, {key: part for key, part in value.items() if key not in DIFFERENT}
                ),
            )

    def _take_event(self, message, _):
        event = message["event"]
        kind = event.get("event", "event")
        if kind == "integration":
            return
        text = event.get("text")
        if kind == "state" and isinstance(event.get("state"), str):
            self.about["state"] = text = event["state"]
        self.add_log(
            message["time"],
            "alarm" if kind == "alarm" else "info",
            "instrument",
            text if isinstance(text, str) else status_text(kind, event),
        )

    @property
    def log(self):
        """The lines of the log, that which came last at the end."""
        return list(self._lines.values())

    def add_log(self, moment, level, source, text, alike=None):
        """
        Adds a line; level: info or alarm.

        One that is like another of the last minutes but for its numbers takes the place of that
        one, whose `count`, `first` (its serial) and `since` it keeps, so that what is said again
        and again pushes nothing else out of the log. alike: what has to be the same instead of the
        text, numbers apart.
        """
        serial = next(self._serials)
        key = level, source, re.sub(r"[0-9]+", "#", text if alike is None else alike)[:500]
        last = self._lines.get(self._alike.get(key))
        if last is not None and moment - last["time"] <= REPEATED:
            del self._lines[last["serial"]]
        else:
            last = {"first": serial, "since": moment, "count": 0}
        self._alike[key] = serial
        self._lines[serial] = {
            "serial": serial,
            "first": last["first"],
            "time": moment,
            "since": last["since"],
            "count": last["count"] + 1,
            "level": level,
            "source": source,
            "text": text[:500],
        }
        while len(self._lines) > MOST_LOG:
            self._lines.popitem(last=False)
        if len(self._alike) > 2 * MOST_LOG:
            self._alike = {
                key: number for key, number in self._alike.items() if number in self._lines
            }

    def _take_figures(self, message, _):
        last, self.figures = (
            self.figures,
            {key: value for key, value in message.items() if key != "kind"},
        )
        elapsed = message["time"] - last.get("time", message["time"])
        for name, counts in self.figures["blocks"].items():
            before = last.get("blocks", {}).get(name, {})
            for key in ("items_in", "items_out"):
                if elapsed > 0 and counts.get(key, 0) >= before.get(key, 0) and key in before:
                    counts["rate_" + key[6:]] = (counts[key] - before[key]) / elapsed
        self.history.append(
            (message["time"], message.get("times_real_time"), message.get("latency"))
        )

    def _take_candidate(self, message, _):
        value = message["value"]
        if isinstance(value, dict) and is_id(value.get("id")):
            self.candidates.append(
                {
                    "time": message["time"],
                    **{
                        key: value.get(key) for key in ("id", "dm", "snr", "width", "beam", "beams")
                    },
                    "picture": False,
                }
            )

    def _take_picture(self, message, payload):
        if not is_id(message["id"]):
            return
        self.pictures[message["id"]] = payload
        while len(self.pictures) > MOST_PICTURES:
            self.pictures.popitem(last=False)
        for candidate in self.candidates:
            candidate["picture"] = candidate["id"] in self.pictures

    def counts(self):
        """[(block, value)] of the newest messages `counts`, which have vectors of inputs."""
        return [
            (name, events["counts"]["value"])
            for name, events in self.status.items()
            if "counts" in events
        ]


def status_text(event, value):
    """A message of status as a line of the log."""
    parts = [f"{key} {short(entry)}" for key, entry in value.items() if key != "event"]
    return event.replace("_", " ") + (": " + ", ".join(parts) if parts else "")


def short(value):
    """A value in few letters."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return (
            "["
            + ", ".join(short(entry) for entry in value[:4])
            + (", …]" if len(value) > 4 else "]")
        )
    return str(value)[:120]
