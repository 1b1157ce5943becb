#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The section of plans with the products of a correlation: files beside that of all visibilities,
each of chosen inputs, with an integration of its own. Fields, the options that are shorthands for
them, and the rules between them."""

import os
from dataclasses import dataclass, replace

from ..parameters.description import Switch, Text
from ..parameters.rules import NAME_RULE, is_name
from .fields import Seconds, fields_in, key
from .names import VISIBILITIES, check_file_name

INPUTS = (
    "inputs, or antennas with all of their inputs, by names or by numbers from 0, with + between "
    "them: A1x+A1y, A1+A2, 0-47"
)


@dataclass(frozen=True)
class Product:
    """A product of the correlation: visibilities in a file of their own."""

    file: Text("UVH5 file; {time} becomes the UTC time of the first integration") = key(
        None, otherwise="that of all visibilities, with -NAME before .uvh5"
    )
    fast: Switch(
        "an X-engine of its own correlates the inputs, from the same frames: for integrations that "
        "are shorter than those of all inputs"
    ) = False
    inputs: Text(INPUTS) = key(None, otherwise="all")
    integration: Seconds("integration, kept within 1 %") = key(
        None, otherwise="that of all visibilities"
    )

    def check(self, plan, name):
        """Refuses what does not fit together."""
        field = lambda key: f"products.{name}.{key}"
        if not is_name(name):
            raise plan.error(f"products.{name}", f"the name must be {NAME_RULE}")
        if not self.fast:
            raise plan.error(field("fast"), "must be true", shown=True)
        if self.fast and self.integration is None:
            raise plan.error(field("integration"), f"is missing: {plan.naming(field('fast'))}")
        check_file_name(plan, field("file"), VISIBILITIES[:1], ("time",))


def file_of(plan, name):
    """The name of a product's file."""
    file = plan.products[name].file
    if file is not None:
        return file
    stem, ending = os.path.splitext(plan.outputs.file)
    if ending == VISIBILITIES[0] and os.path.splitext(stem)[1] in VISIBILITIES[1:]:
        stem = os.path.splitext(stem)[0]  # a measurement set is made of it
    return f"{stem}-{name}{VISIBILITIES[0]}"


@dataclass(frozen=True)
class Shorthand:
    """An option that makes a product. name: of the product; values: that it has, whatever is said;
    first: key of the word in front, which has no `=`; help: what the option does."""

    name: str
    values: dict
    first: str
    metavar: str
    help: str


#: option -> what it makes
SHORTHANDS = {
    "--fast": Shorthand(
        "fast",
        {"fast": True},
        "inputs",
        "INPUTS,integration=SECONDS[,KEY=VALUE]",
        f"also write visibilities of some {INPUTS}; with a shorter integration of their own, by an "
        "X-engine of their own; file=NAME.uvh5 is their file (default: that of all visibilities, "
        "with -fast before its ending)",
    )
}


def read_shorthand(shorthand, text):
    """
    The Product of an option's text, "A1+A2,integration=0.01".

    Raises
    ------
    ValueError
        The problem, with the word and what is allowed.
    """
    terms, found = fields_in("products", Product), {}
    for number, word in enumerate(text.split(",")):
        term, sign, value = word.partition("=")
        term = term.strip()
        if not sign and number == 0:
            term, value = shorthand.first, word
        elif not sign or term not in terms or term in shorthand.values or term in found:
            allowed = [each for each in terms if each not in shorthand.values]
            raise ValueError(
                f"{word!r} is not allowed: {shorthand.first} first, and then, each once, "
                + ", ".join(f"{each}=" for each in allowed)
            )
        try:
            found[term] = terms[term].read(value)
        except ValueError as error:
            raise ValueError(f"{term}: {error}") from None
    return replace(Product(**found), **shorthand.values)


def check_products(plan):
    """Refuses products that do not fit the plan."""
    if not plan.products:
        return
    files = {}
    for name, product in plan.products.items():
        product.check(plan, name)
    first = f"products.{next(iter(plan.products))}"
    if plan.outputs.file is None:
        raise plan.error(first, f"needs {plan.naming('outputs.file')}, of which it is a part")
    if plan.network.role != "fx":
        raise plan.error(
            first,
            f"not with {plan.naming('network.role')} {plan.network.role}: products are of a "
            "correlator in one process",
        )
    if plan.device.several is not None:
        raise plan.error(
            first, f"not with {plan.naming('device.names')}: no device has all channels"
        )
    if plan.outputs.resume:
        raise plan.error(
            first, f"not with {plan.naming('outputs.resume')}: files of products begin anew"
        )
    files[os.path.abspath(plan.outputs.file)] = plan.naming("outputs.file")
    for name in plan.products:
        path = os.path.abspath(file_of(plan, name))
        if path in files:
            raise plan.error(
                f"products.{name}.file", f"is that of {files[path]}, too", shown=file_of(plan, name)
            )
        files[path] = f"products.{name}"
