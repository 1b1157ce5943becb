#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Texts in plans that have a form of their own: parts of a whole, searches, foldings, devices."""

import re
from dataclasses import dataclass
from fractions import Fraction

from .. import power_normalizer, pulse_search
from ..files.file_names import name_text
from ..parameters.description import Number, Switch, Text
from ..parameters.rules import NAME_RULE, device_name, is_name, numbers_reader
from ..parameters.times import read_time
from ..tracking.directions import parse_direction
from ..transients.trials import plan_trials
from .fields import fields_in, like

#: the numbers that "3,7,500-503" names
numbers_of = numbers_reader(65536, ",", once=False)


def first_and_last(text):
    """The two numbers that FIRST:LAST names."""
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if not found or int(found[1]) > int(found[2]):
        raise ValueError("expected FIRST:LAST, two whole numbers from 0, in that order")
    return int(found[1]), int(found[2])


def zoom(text):
    """The frequency in Hz and the decimation that FREQUENCY,DECIMATION names."""
    found = re.fullmatch(r"([+-]?\d{1,15}(?:\.\d{0,9})?(?:e[+-]?\d{1,2})?),(\d{1,4})", text.strip())
    if not found or not 2 <= int(found[2]) <= 4096:
        raise ValueError(
            "expected FREQUENCY,DECIMATION, Hz above the middle of the band and a whole number "
            "from 2 to 4096"
        )
    return float(found[1]), int(found[2])


@dataclass(frozen=True, repr=False)
class Part:
    """Part `number`, from 0, of `count` equal ones."""

    number: int
    count: int

    def range_of(self, name, total, multiple=1):
        """
        (first, how many) of so many things, of which parts are a multiple.

        Raises
        ------
        ValueError
            They cannot be divided so; the message begins with the name.
        """
        if total % self.count or total // self.count % multiple:
            raise ValueError(
                f"{name}: {total} cannot be divided into {self.count} equal parts"
                + (f" of a multiple of {multiple}" if multiple > 1 else "")
            )
        each = total // self.count
        return self.number * each, each

    def __repr__(self):
        # the form of plans
        return f"{self.number}/{self.count}"


def part(text):
    """The Part that K/N names."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not found or int(found[1]) >= int(found[2]):
        raise ValueError("expected K/N, part K of N, from 0/N to (N-1)/N")
    return Part(int(found[1]), int(found[2]))


def name(text):
    """A name that can stand everywhere."""
    if not is_name(text):
        raise ValueError(f"expected {NAME_RULE}")
    return text


def start(text):
    """(True, seconds from the beginning of a recording) or (False, seconds since 1970), Fractions,
    of a number or a time in UTC."""
    text = str(text).strip()
    if re.fullmatch(r"\d{1,12}(\.\d{0,18})?(e[+-]?\d{1,2})?", text):
        return True, Fraction(text)
    try:
        return False, read_time(text)
    except ValueError:
        raise ValueError(
            "expected seconds from the recording's beginning, or UTC as 2024-06-01T12:30:00.25Z"
        ) from None


def device_names(text):
    """The names of devices between commas, as a list."""
    try:
        return [device_name(each) for each in text.split(",")]
    except ValueError:
        raise ValueError(
            "expected auto, cpu, cuda or cuda:N, several with commas between them"
        ) from None


def directions(text):
    """The Directions of a text, with semicolons between them; each has a file name of its own."""
    found = [parse_direction(each) for each in text.split(";")]
    names = [name_text(direction.name) for direction in found]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(
                f"expected different directions: '{found[number].name}' is named twice"
            )
    return found


def yes_or_no(text):
    """True or False, of a word."""
    if text not in ("yes", "no"):
        raise ValueError("expected yes or no")
    return text == "yes"


@dataclass(frozen=True)
class Search:
    """The terms of a search, dm=LOW:HIGH:STEP,threshold=7 and so on."""

    dm: Text("LOW:HIGH:STEP in pc/cm^3, without HIGH; or LOW:HIGH for as many trials as are needed")
    threshold: like(pulse_search, "threshold") = 7.0
    pulse_width: Number("of LOW:HIGH: the narrowest pulse", 0, 1e3, unit="s") = 0.0
    smearing: Number("of LOW:HIGH: how much wider it may become", 1, 100, open=True) = 1.1
    widest: Number("the widest boxcar", 0, 1e3, unit="s") = 0.25
    baseline: like(pulse_search, "baseline", meaning="the window of the running median") = 4.0
    window: like(power_normalizer, "window", meaning="the window of the bandpass") = 2.0
    cells: like(power_normalizer, "cell_threshold") = 20.0
    channels: like(power_normalizer, "channel_threshold") = 8.0
    spectra: like(power_normalizer, "spectrum_threshold") = 8.0
    zero_dm: Switch(
        "yes: the mean of all channels is subtracted", reader=yes_or_no, allowed="yes or no"
    ) = False
    min_dm: like(pulse_search, "min_dm") = 0.0
    most_beams: like(pulse_search, "most_beams") = 0


def parse_search(text):
    """
    "dm=0:86.4:0.1,threshold=7" -> Search.

    Raises
    ------
    ValueError
        The text is not that of a search; the message names what is wrong, and what is allowed.
    """
    terms, found = fields_in("search", Search), {}
    for word in text.split(","):
        name, sign, value = word.partition("=")
        name = name.strip()
        if not sign or name not in terms or name in found:
            raise ValueError(
                f"{word!r} is not allowed: dm=LOW:HIGH:STEP or dm=LOW:HIGH (pc/cm^3), "
                f"and, each once, {', '.join(list(terms)[1:])}"
            )
        try:
            found[name] = terms[name].read(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if "dm" not in found:
        raise ValueError(f"{text!r} lacks dm=LOW:HIGH:STEP, in pc/cm^3")
    # checks the form of a range; the band is not known yet
    plan_trials(found["dm"], 16, 1e9, 1e6, 1.0, pulse_width=1.0)
    return Search(**found)


def parse_fold(text):
    """
    Returns (period, dm, file) of what folds, the first two or the last one None.

    Raises
    ------
    ValueError
        The text is neither a period nor a file.
    """
    if text.endswith(".par"):
        return None, None, text
    words = text.split(",")
    try:
        period = float(words[0])
        dm = 0.0
        for word in words[1:]:
            if not word.startswith("dm="):
                raise ValueError
            dm = float(word[3:])
        if not (1e-4 <= period <= 1e5 and 0 <= dm <= 1e6):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{text!r} is not allowed: a period from 1e-4 to 1e5 s, with the "
            "dispersion measure where it is known (0.7145,dm=26.76), or a file that "
            "ends in .par"
        ) from None
    return period, dm, None
