#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The description of a block's parameters.

A block in C++ says of each parameter, in describe() of its header, its type, default, range or
choices, unit, meaning, label, category and whether a setter follows it. A block in Python says
the same in the annotations of its constructor, which are Parameters without name and default. The
checks of constructors, the manual, and the files for GNU Radio Companion are made of these.
"""

import dataclasses
import inspect
import math
import textwrap
from dataclasses import dataclass
from types import SimpleNamespace

from .rules import HIGHEST, as_number, as_whole, one_of, refuse

#: stands for a default where a parameter has to be given
REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One parameter: kind is a type as Python writes it ("int", "list[float]", or "object" for one
    that the block checks itself), open says that `least` itself is not allowed, settable that
    set_NAME() changes it while the block runs."""

    kind: str
    meaning: str
    least: float = -math.inf
    most: float = math.inf
    open: bool = False
    choices: tuple = ()
    unit: str = ""
    label: str = ""
    category: str = ""
    settable: bool = False
    name: str = ""
    default: object = REQUIRED
    #: a dataclass whose object stands for the arguments that have the names of its fields
    group: type | None = None
    #: True for an integer that must be even
    even: bool = False
    #: a function that reads what users write, and raises ValueError that says what is expected;
    #: None: a text is read as its kind says
    reader: object = None
    #: the entry of a JSON schema for what it reads; None: that of the kind
    form: object = None
    #: the values that it reads, in words
    allowed: str = ""

    @property
    def needed(self):
        """True if it has to be given."""
        return self.default is REQUIRED

    @property
    def limited(self):
        """True for a number of which not every one is allowed."""
        return (self.least, self.most) != (-math.inf, math.inf)

    @property
    def explanation(self):
        """The meaning, and the rule where the meaning does not say it already."""
        told = (
            all(choice in self.meaning for choice in self.choices)
            if self.choices
            else (not self.limited or self.rule in self.meaning)
        )
        return self.meaning.rstrip(".") + ("" if told else f" ({self.rule})")

    @property
    def rule(self):
        """The allowed values in words: "1 to 16", "above 0 and at most 10 s", "a or b"."""
        if self.choices:
            *others, last = map(str, self.choices)
            return " or ".join(filter(None, (", ".join(others), last)))
        unit, bounded = self.unit and f" {self.unit}", self.most < HIGHEST
        most = f"{self.most:.15g}"
        if self.least == -HIGHEST:
            return "finite"
        if self.least == -math.inf:
            return f"at most {most}{unit}"
        least = f"{self.least:.15g}"
        if self.open:
            return f"above {least}" + (f" and at most {most}" if bounded else "") + unit
        return (f"{least} to {most}" if bounded else f"at least {least}") + unit

    def check(self, value):
        """Raises ParameterError for a value that its rule does not allow."""
        limits = max(self.least, -HIGHEST), min(self.most, HIGHEST)
        if self.choices:
            one_of(self.name, value, self.choices)
        elif self.kind == "int":
            if as_whole(self.name, value, *limits, self.unit) % 2 and self.even:
                refuse(self.name, value, "an even number")
        elif self.limited:
            as_number(self.name, value, *limits, self.unit, above=self.open)


# These stand in the place of types, as annotations of a constructor's arguments.


def Integer(meaning, least=-math.inf, most=math.inf, **more):
    """An integer from `least` to `most`."""
    return Parameter("int", meaning, least, most, **more)


def Number(meaning, least=-math.inf, most=math.inf, **more):
    """A real number from `least` to `most`."""
    return Parameter("float", meaning, least, most, **more)


def Text(meaning, *choices, **more):
    """A text, one of the choices if there are any."""
    return Parameter("str", meaning, choices=choices, **more)


def Switch(meaning, **more):
    """True or False."""
    return Parameter("bool", meaning, **more)


def Anything(meaning, **more):
    """A value that the block checks itself."""
    return Parameter("object", meaning, **more)


def Together(group, meaning):
    """An object of a dataclass in the place of the arguments that have the names of its fields."""
    return Parameter("object", meaning, group=group)


def fields_of(group):
    """The Parameters of the fields of a dataclass, as attributes of their names."""
    return SimpleNamespace(**group.__annotations__)


def spread(name, parameters, given):
    """
    The arguments {name: value} that were given to a block of this name, with those that come
    together spread over the arguments that they stand for.
    """
    spread_out = dict(given)
    for parameter in parameters:
        value = given.get(parameter.name)
        if parameter.group is None or value is None:
            continue
        if not isinstance(value, parameter.group):
            refuse(parameter.name, value, f"None, or a {parameter.group.__name__}")
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        for field in fields.keys() & given.keys():
            raise TypeError(
                f"{field}: is given to {name} twice, by its name and in {parameter.name}"
            )
        spread_out.update(fields)
    return spread_out


def parameters_of(block):
    """
    The Parameters of a block (or of a struct of parameters, or of a function that makes a block),
    in the order of its arguments. Those of Python that are not described have no meaning.
    """
    if hasattr(block, "_describe"):
        return tuple(Parameter(**entry) for entry in block._describe())
    function = block.__init__ if inspect.isclass(block) else block
    found = []
    for argument in inspect.signature(function).parameters.values():
        about = argument.annotation
        if not isinstance(about, Parameter):
            about = Parameter("object", "")
        found.append(dataclasses.replace(about, name=argument.name, default=argument.default))
    return tuple(found[inspect.isclass(block) :])


def with_arguments(doc, parameters):
    """A docstring with a section of arguments, before the one of errors if there is one."""
    lines = ["Args:"]
    for parameter in parameters:
        lines += textwrap.wrap(
            f"{parameter.name}: {parameter.explanation}",
            90,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    before, raises, after = inspect.cleandoc(doc).partition("\nRaises:\n")
    return "\n".join([before.rstrip("\n"), "", *lines, raises + after])
