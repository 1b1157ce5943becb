#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The section of plans with the products of a correlation: files beside that of all visibilities,
each of chosen inputs, with an integration of its own. Fields, the options that are shorthands for
them, and the rules between them."""

import os
import re
from dataclasses import dataclass, replace

from ..parameters.description import Integer, Number, Switch, Text
from ..parameters.regular_file import check_regular
from ..parameters.rules import NAME_RULE, is_name
from . import texts
from .fields import Form, Seconds, fields_in, key
from .names import VISIBILITIES, check_file_name

MOST_LENGTH = 16  # averages of short baselines beside those of the longest ones
INPUTS = (
    "inputs, or antennas with all of their inputs, by names or by numbers from 0, with + between "
    "them: A1x+A1y, A1+A2, 0-47"
)


def phases_of(text):
    """(begin, end) in cycles of "0.4-0.5", 0 <= begin < 1 and 0 < end <= 1; the end may be before
    the begin."""
    found = re.fullmatch(r"\s*([01]?\.?\d*)-([01]?\.?\d*)\s*", text)
    try:
        begin, end = map(float, found.groups())
    except (AttributeError, ValueError):
        begin = end = -1.0
    if not (0 <= begin <= 1 and 0 <= end <= 1 and begin != end):
        raise ValueError("expected FROM-TO, two phases that differ, from 0 to 1 cycle: 0.4-0.5")
    if (begin, end) == (1, 0):
        raise ValueError("expected FROM-TO, two phases that differ: 0 and 1 are the same")
    return begin % 1, end or 1.0


@dataclass(frozen=True)
class Product:
    """A product of the correlation: visibilities in a file of their own."""

    file: Text(
        "UVH5 file; {time} becomes the UTC time of the first integration, {phase_center} the name "
        "of the phase centre, {bin} the number of the bin"
    ) = key(None, otherwise="that of all visibilities, with -NAME before .uvh5")
    fast: Switch(
        "an X-engine of its own correlates the inputs, from the same frames: for integrations that "
        "are shorter than those of all inputs; without it they are averages of what the X-engine "
        "of all inputs sends"
    ) = False
    inputs: Text(INPUTS) = key(None, otherwise="all")
    baselines: Text("pairs of inputs or antennas instead, with + between them: A1-A2+A1-A1") = None
    integration: Seconds("integration, kept within 1 %") = key(
        None, otherwise="that of all visibilities"
    )
    average_channels: Integer("neighbouring channels that become one", 1, 65536) = 1
    phase_centers: Form(
        "directions to which phases are rotated before they are averaged, with semicolons between "
        "them, each in a file of its own",
        texts.directions,
        named=True,
    ) = None
    gate: Text(
        "timing model of a pulsar (.par): what comes in a gate of its phase, or in bins of it"
    ) = key(None, metavar="FILE.par")
    phases: Form(
        "with a gate: from where to where it is, in cycles: 0.4-0.5, or 0.9-0.1", phases_of
    ) = None
    bins: Integer("with a gate: bins of the pulsar's phase, each in a file of its own", 2, 256) = (
        None
    )
    loss: Number(
        "longer averages on shorter baselines: so much of a source's amplitude may be lost, "
        f"averages are up to {MOST_LENGTH} times as long as the integration",
        0,
        1,
        open=True,
    ) = None
    radius: Number(
        "with a loss: angle at which that is so, from what is tracked or the phase centre",
        0,
        180,
        unit="degrees",
    ) = key(None, otherwise="any source")

    @property
    def centers(self):
        """A list of Direction, empty where phases are left as they are."""
        return texts.directions(self.phase_centers) if self.phase_centers else []

    @property
    def gates(self):
        """(begin, end) in cycles of each gate, or bin; empty: there are none."""
        if self.phases is not None:
            return [phases_of(self.phases)]
        count = self.bins or 0
        return [(number / count, (number + 1) / count) for number in range(count)]

    def check(self, plan, name):
        """Refuses what does not fit together."""
        field = lambda key: f"products.{name}.{key}"
        if not is_name(name):
            raise plan.error(f"products.{name}", f"the name must be {NAME_RULE}")
        if self.fast:
            if self.integration is None:
                raise plan.error(field("integration"), "is missing: it is what makes it fast")
            for each in ("baselines", "phase_centers", "gate", "phases", "bins", "loss", "radius"):
                if getattr(self, each) is not None:
                    raise plan.error(field(each), "not of a fast product")
            if self.average_channels > 1:
                raise plan.error(field("average_channels"), "not of a fast product")
        for one, other in (("inputs", "baselines"), ("phases", "bins")):
            if None not in (getattr(self, one), getattr(self, other)):
                raise plan.error(field(other), f"not together with {one}")
        if self.gate is not None and not self.gates:
            raise plan.error(field("gate"), "needs phases (0.4-0.5) or bins")
        for each, needed in (("phases", "gate"), ("bins", "gate"), ("radius", "loss")):
            if getattr(self, each) is not None and getattr(self, needed) is None:
                raise plan.error(field(each), f"needs {needed}")
        if self.gate is not None:
            check_regular(os.path.expanduser(self.gate), "the timing model")
        if self.average_channels > 1 and plan.calibration.by == "sink" and plan.calibration.file:
            raise plan.error(
                field("average_channels"),
                f"not with {plan.naming('calibration.by')} sink, whose corrections are of channels",
            )
        braces = [*(["phase_center"] * bool(self.centers)), *(["bin"] * bool(self.bins))]
        check_file_name(plan, field("file"), VISIBILITIES[:1], ("time", *braces))
        for brace, several in (("phase_center", len(self.centers) > 1), ("bin", self.bins)):
            if several and self.file is not None and f"{{{brace}}}" not in self.file:
                raise plan.error(
                    field("file"), f"must have {{{brace}}} in it: there are several", shown=True
                )


def file_of(plan, name):
    """The name of a product's files, with {phase_center} and {bin} in it where it has several."""
    product = plan.products[name]
    if product.file is not None:
        return product.file
    stem, ending = os.path.splitext(plan.outputs.file)
    if ending == VISIBILITIES[0] and os.path.splitext(stem)[1] in VISIBILITIES[1:]:
        stem = os.path.splitext(stem)[0]  # a measurement set is made of it
    several = "-{phase_center}" * (len(product.centers) > 1) + "-{bin}" * bool(product.bins)
    return f"{stem}-{name}{several}{VISIBILITIES[0]}"


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
    ),
    "--gate": Shorthand(
        "gate",
        {},
        "gate",
        "FILE.par,phases=FROM-TO|bins=N[,KEY=VALUE]",
        "also write visibilities in a gate of a pulsar's phase (phases=0.4-0.5, in cycles of the "
        "timing model), or in bins of it, a file each",
    ),
    "--baseline-averaging": Shorthand(
        "averaged",
        {},
        "loss",
        "LOSS[,radius=DEGREES][,KEY=VALUE]",
        "also write visibilities of which shorter baselines are averaged for longer: so much of "
        "the amplitude of a source at that angle from the phase centre may be lost, such as 0.02",
    ),
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
