#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Kinds of inputs, and how the text that names an input is read.

`KIND:NAME[,NAME...][,key=value...]`: what stands between commas is an option if its text before `=`
is an option of the kind, and else a name; `\\,` is a comma in either.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .signals import Signals


class InputError(ValueError):
    """
    An input that cannot be what is said of it.

    what: "input", "array", "seed" or "selected"; value: what was said of it; problem: what is
    wrong with that.
    """

    def __init__(self, what, value, problem):
        super().__init__(f"{what} {value}: {problem}")
        self.what, self.value, self.problem = what, value, problem


@dataclass(frozen=True)
class Option:
    """
    An option of a kind of input.

    read: makes its value of a text, and raises ValueError that says what is expected; help: what
    it means, for the table of options; shown: its value in that table.
    """

    read: Callable
    help: str
    shown: str


@dataclass(frozen=True)
class Request:
    """
    A request to open an input.

    text: as the user wrote it; names: of files or devices, in their order; values: of the options
    that were given; array: the description of a recording's array (a name, a file or an
    ArrayDescription), None for the one that the input says; seed: of a simulation, None for its
    default; selected: (first, last) of the channels of a recording of channels, None for all.
    """

    text: str
    names: tuple
    values: dict = field(default_factory=dict)
    array: object = None
    seed: int | None = None
    selected: tuple | None = None

    def error(self, problem):
        """An InputError about the text."""
        return InputError("input", self.text, problem)


class InputFormat:
    """
    A kind of input; a module of the package `kinds` has an instance of a derived class as FORMAT.

    kind: what stands before the colon; summary: a line of --help; names: what its names are, as
    FILE[,FILE...]; options: {key: Option}; options_of_a_name: the same of those that stand behind
    one name and hold for it alone, which `open` reads; packages: group of packages from PyPI that
    it needs, or ""; modules: those of the group that it needs, if not all; simulates: whether it
    has a seed, and brings its own array; live: whether it comes from receivers or a network, which
    may be there at one time and not at another.

    Names that are FILE... are looked for as input_files.look_for() does.
    """

    kind = ""
    summary = ""
    names = "FILE"
    options: dict = {}
    options_of_a_name: dict = {}
    packages = ""
    modules = ()
    simulates = live = False

    def open(self, request: Request) -> Signals:
        """The signals; raises ValueError, RuntimeError or OSError that tell the user why not."""
        raise NotImplementedError

    def parse(self, text, array=None, seed=None):
        """A Request, of what stands behind the colon."""
        whole = f"{self.kind}:{text}"
        values = {}
        names = self.take_values(whole, text, values)
        if not names:
            raise InputError("input", whole, f"expected {self.kind}:{self.names}")
        return Request(whole, tuple(names), values, array, seed)

    def take_values(self, whole, text, values):
        """The parts of a text that are no KEY=VALUE; those that are go into `values`."""
        names = []
        for token in split_at(text, ","):
            key, equals, value = token.partition("=")
            if equals and key in self.options:
                values[key] = self._value(whole, key, value, values)
            elif token:
                names.append(token)
            elif text:
                raise InputError(
                    "input",
                    whole,
                    "there is nothing between two commas, or at an end; expected "
                    f"{self.kind}:{self.names}",
                )
        return names

    def _value(self, whole, key, text, values):
        if key in values:
            raise InputError("input", whole, f"{key} is given twice")
        try:
            return self.options[key].read(text)
        except ValueError as error:
            raise InputError("input", whole, f"{key}={text}: {error}") from None


def split_at(text, separator):
    """Parts of a text between separators; a backslash before one makes it part of the text."""
    parts = re.split(r"(?<!\\)" + re.escape(separator), text)
    return [part.replace("\\" + separator, separator) for part in parts]


def one_of(*words):
    """Reads one of some words."""

    def read(text):
        if text not in words:
            raise ValueError(f"expected {', '.join(words[:-1])} or {words[-1]}")
        return text

    return read
