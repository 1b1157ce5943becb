#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Settings that were made while an instrument ran, which its next flowgraph gets, too."""

import json
import threading
from dataclasses import dataclass

from ..parameters.times import time_text

LONGEST_TEXT = 200  # characters of a value that are told

#: entries of a value that say for whom it is; without one it is for all of them
TARGETS = ("input", "beam")


@dataclass(frozen=True)
class KeptSetting:
    """A setting: names of a block and of its port, the value as it was given, and UTC seconds since
    1970 when it was set."""

    block: str
    port: str
    value: dict
    time: float

    @property
    def target(self):
        """Another one of the same target takes its place."""
        parts = tuple(sorted(key for key in self.value if key not in (*TARGETS, "model")))
        return self.block, self.port, self.value.get("model"), parts

    def takes_the_place_of(self, other):
        """Returns whether another one, which was set earlier, has no effect any more."""
        return self.target == other.target and all(
            key not in self.value or self.value[key] == other.value.get(key) for key in TARGETS
        )

    def __str__(self):
        text = json.dumps(self.value, ensure_ascii=False)
        if len(text) > LONGEST_TEXT:
            text = text[: LONGEST_TEXT - 3] + "..."
        return f"{self.block}/{self.port} {text}, set at {time_text(round(self.time))}"


class KeptSettings:
    """The settings in the order in which they were made; any thread may use them."""

    def __init__(self):
        self._lock = threading.Lock()
        self._kept = []

    def keep(self, setting):
        """Keeps a KeptSetting, in place of those that it makes void."""
        with self._lock:
            self._kept = [each for each in self._kept if not setting.takes_the_place_of(each)]
            self._kept.append(setting)

    def drop(self, is_void):
        """Drops, and returns, all for which is_void(setting) is true."""
        with self._lock:
            void = [each for each in self._kept if is_void(each)]
            self._kept = [each for each in self._kept if each not in void]
        return void

    def all(self):
        """The list of them."""
        with self._lock:
            return list(self._kept)

    def apply(self, set_one, chosen=lambda setting: True):
        """
        Sets all of them that are chosen, in their order.

        Parameters
        ----------
        set_one : callable
            set_one(setting) sets one, and raises where it is not allowed (any more): that one is
            dropped.
        chosen : callable
            chosen(setting) says whether it is set.

        Returns
        -------
        list of (KeptSetting, str)
            Each, and why it could not be set; None: it was.
        """
        found = []
        for setting in filter(chosen, self.all()):
            problem = None
            try:
                set_one(setting)
            except Exception as error:  # the instrument starts, whatever a block says
                problem = " ".join(str(error).split()) or type(error).__name__
                self.drop(lambda each, void=setting: each is void)
            found.append((setting, problem))
        return found
