#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Fields of plans: the description of each, as blocks describe their parameters, and what is made
of it: the value of a text, the help of an option, and the entry of a JSON schema."""

import argparse
import dataclasses
import json
import math
import re
from dataclasses import dataclass

from ..parameters.ascii_text import quoted
from ..parameters.description import REQUIRED, Number, Parameter, Text, parameters_of
from ..parameters.rules import (
    HIGHEST,
    INT32,
    number_reader,
    refuse,
    seconds_reader,
    short,
    whole_reader,
)

PROGRAMS = FX, BEAMS, OBSERVE, SEARCH = (
    "aperture_fx",
    "aperture_beams",
    "aperture_observe",
    "aperture_search",
)
#: programs whose input are samples
OF_SAMPLES = FX, BEAMS, OBSERVE
#: most seconds that make sense anywhere: 31 years
LONGEST = 1e9
NEVER = object()


@dataclass(frozen=True)
class Place:
    """The place of a field beside its section: the option that is its shorthand, and the programs
    that have it.

    options: as on the command line, none for a key that has no option; a word without hyphens is
    the name of arguments that stand without an option; metavar: its value in --help; help: what it
    does, where that is not what the field means; otherwise: the default in words, where it is no
    value; alone: the value of the option without one; programs: that have this field, None for all
    that have the section; needed: those that do nothing without it.
    """

    options: tuple = ()
    metavar: str | None = None
    help: str = ""
    otherwise: str = ""
    alone: object = NEVER
    programs: tuple | None = None
    needed: tuple = ()


def key(default=None, *options, **place):
    """The default of a field of a section, with its options and what else a Place has."""
    return dataclasses.field(default=default, metadata={"place": Place(options, **place)})


def like(block, name, **changes):
    """The description of a block's parameter, with changes: of a field that becomes it."""
    found = next(entry for entry in parameters_of(block) if entry.name == name)
    return dataclasses.replace(found, **changes)


# ---- more kinds of values


def Seconds(meaning, endless=False, most=LONGEST):
    """A time above 0; endless: inf is allowed, too."""
    seconds = {"type": "number", "exclusiveMinimum": 0, "maximum": most}
    return Number(
        meaning,
        0,
        math.inf if endless else most,
        open=True,
        unit="s",
        reader=seconds_reader(endless, most),
        form={"anyOf": [seconds, {"enum": ["inf"]}]} if endless else seconds,
        allowed=f"above 0 and at most {short(most)} s" + (", or inf" if endless else ""),
    )


def Bytes(meaning, least=0):
    """Bytes, with or without an SI prefix: 2e9, 2GB, 500 MB; least: as many at least."""
    limits = "bytes, such as 2000000000 or 2 GB" + (f", {least} at least" if least else "")

    def read(text):
        match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*(?:([kMGT])?B)?\s*", text)
        try:
            value = float(match[1]) * 1000 ** " kMGT".index(match[2] or " ") if match else -1
        except ValueError:
            value = -1
        if not least <= value < 2**62:
            raise ValueError(f"expected {limits}")
        return int(value)

    form = [
        {"type": "number", "minimum": least},
        {"type": "string", "pattern": r"^\s*[0-9.]+\s*[kMGT]?B\s*$"},
    ]
    return Parameter(
        "int", meaning, 0, unit="bytes", reader=read, form={"anyOf": form}, allowed="bytes"
    )


def Form(meaning, parse, allowed="", named=False, **form):
    """A text that parse() reads, and which stays a text; parse raises ValueError that says what is
    expected. named: it names the text as well; form: for the JSON schema."""

    def read(text):
        try:
            parse(text)
        except ValueError as error:
            if named:
                raise Named(error) from None
            raise ValueError(getattr(error, "problem", error)) from None
        return str(text)

    return Text(meaning, reader=read, allowed=allowed, form=form or None)


class Named(ValueError):
    """An error whose text names the value by itself."""


# ---- the field of a section


@dataclass(frozen=True)
class Field:
    """A field of a plan. about: its Parameter."""

    section: str
    key: str
    about: Parameter
    place: Place

    @property
    def name(self):
        """The name in files: section.key."""
        return f"{self.section}.{self.key}"

    @property
    def is_operand(self):
        """True if it is given by arguments without an option."""
        return bool(self.place.options) and not self.place.options[0].startswith("-")

    @property
    def default(self):
        """The default; None where the program chooses."""
        return self.about.default

    def read(self, text):
        """
        The value of a text.

        Raises
        ------
        ValueError
            The problem, with the text and what is allowed.
        """
        about = self.about
        if about.choices:
            for choice in about.choices:
                if str(choice) == text:
                    return choice
            text = int(text) if re.fullmatch("[0-9]{1,9}", text) and self._numbered else str(text)
            refuse("", text, ", ".join(map(str, about.choices)), _problem)
        if about.kind == "bool" and about.reader is None:
            if text not in ("true", "false"):
                refuse("", text, "true or false", _problem)
            return text == "true"
        try:
            return self._reader()(text)
        except Named:
            raise
        except ValueError as error:
            raise ValueError(f"{text}: {error}") from None

    @property
    def _numbered(self):
        return all(isinstance(choice, int) for choice in self.about.choices)

    def _reader(self):
        about = self.about
        if about.reader is not None:
            return about.reader
        least, most = max(about.least, -HIGHEST), min(about.most, HIGHEST)
        if about.kind == "int":
            return whole_reader(least, most, about.even)
        if about.kind == "float":
            return number_reader(least, most, about.unit, about.open)
        return str

    @property
    def allowed(self):
        """The allowed values in words; empty: any text."""
        about = self.about
        if about.allowed:
            return about.allowed
        if about.kind == "bool":
            return "true or false"
        rule = about.rule if about.choices or about.limited else ""
        return f"even, {rule}" if about.even else rule

    @property
    def help(self):
        """The text of the option: what it means, its range, and its default."""
        place, about, default = self.place, self.about, self.place.otherwise
        if place.help:
            return place.help
        if not default and self.default not in (None, "") and about.kind != "bool":
            default = f"{self.default:g}" if isinstance(self.default, float) else self.default
        notes = [f"default: {default}"] if default else []
        if not about.allowed and about.limited and about.most < INT32 and about.least > -INT32:
            notes.insert(0, self.allowed)
        if place.alone not in (NEVER, ""):
            notes.append(f"{place.options[0]} alone: {place.alone}")
        return about.meaning + (f" ({'; '.join(notes)})" if notes else "")

    def schema(self):
        """The entry of a JSON schema."""
        default = self.place.otherwise and f" (default: {self.place.otherwise})"
        found = {**self._type(), "description": self.about.meaning + default}
        if self.default not in (None, ""):
            found["default"] = self.default
        return found

    def _type(self):
        about = self.about
        if about.form is not None:
            return about.form
        if about.kind == "bool":
            return {"type": "boolean"}
        if about.choices:
            return {"enum": list(about.choices)}
        if about.kind not in ("int", "float"):
            # a text may look like a number: "5" is a list of bad channels
            return {"type": ["string", "number"]}
        found = {"type": "integer" if about.kind == "int" else "number"}
        if about.even:
            found["multipleOf"] = 2
        if about.least > -HIGHEST:
            found["exclusiveMinimum" if about.open else "minimum"] = about.least
        if about.most < HIGHEST:
            found["maximum"] = about.most
        return found

    def added_to(self, parser):
        """Adds the option to a parser of argparse, under the field's name."""
        place, about, more = self.place, self.about, {}
        if about.kind == "bool":
            more["action"] = "store_false" if self.default else "store_true"
        else:
            more["metavar"] = place.metavar
            if about.choices:
                more["choices"] = about.choices
                if self._numbered:
                    more["type"] = int
            else:

                def convert(text):
                    try:
                        return self.read(text)
                    except ValueError as error:
                        raise argparse.ArgumentTypeError(str(error)) from None

                more["type"] = convert
            if place.alone is not NEVER:
                more.update(nargs="?", const=place.alone)
        text = self.help.replace("%", "%%")
        if self.is_operand:
            return parser.add_argument(
                self.name, nargs="+", action=Joined, metavar=place.options[0], help=text
            )
        return parser.add_argument(
            *place.options, dest=self.name, default=self.default, help=text, **more
        )


class Joined(argparse.Action):
    """Makes one text of all arguments, with commas between them."""

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, ",".join(values))


def _problem(_, problem):
    """An error of a field that is not known here."""
    return ValueError(problem)


def written(value):
    """A value as it stands in YAML."""
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value) if isinstance(value, bool) else repr(value)


def fields_in(name, section):
    """{key: Field} of a section, a dataclass; name: of the section."""
    found = {}
    for entry in dataclasses.fields(section):
        default = REQUIRED if entry.default is dataclasses.MISSING else entry.default
        about = dataclasses.replace(entry.type, name=entry.name, default=default)
        found[entry.name] = Field(name, entry.name, about, entry.metadata.get("place", Place()))
    return found
