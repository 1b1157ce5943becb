#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The plan of an instrument: all that it does, as typed sections.

    input: {source: "sim:y8", duration: 10.0}
    engines: {channels: 512, integration: 0.5}
    calibration: {file: "cal.yml"}
    outputs: {file: "y8.uvh5"}
    device: {name: cpu}

All that is written here in YAML has an option of the commands as its shorthand, where it has one.
Names of files are relative to the folder in which the command is started.
"""

import contextlib
import dataclasses
import functools
from dataclasses import dataclass, field
from types import MappingProxyType

from ..monitoring.section import Section as Monitoring
from ..parameters.errors import ParameterError
from .beam_sections import Beams, Fold, Powers, Ring, Search, Vdif, Voltages
from .fields import BEAMS, FX, OBSERVE, SEARCH, fields_in
from .product_sections import Product, check_products
from .service_sections import HOST_PLACES, Host, Network, Service, values_of_host
from .signal_sections import (
    Array,
    Calibration,
    Device,
    Engines,
    Flagging,
    Input,
    Instrument,
    Outputs,
    Tracking,
)


class PlanError(ParameterError):
    """A field of a plan has a value that is not allowed, or that others contradict. field: section
    and key, whatever the user has written; where: "FILE:LINE", or None."""

    def __init__(self, field, name, problem, where=None):
        super().__init__(name, problem, where)
        self.field = field


@dataclass(frozen=True)
class Source:
    """
    The source of a plan's values.

    options: names of the fields that options gave; products: name of one -> option that made it;
    keys: name of a field -> field as it was written, of those that a file gave; reader: YamlReader
    of the file, or None; tree: the file as written, section -> key -> text.
    """

    options: frozenset = frozenset()
    products: dict = field(default_factory=dict)
    keys: dict = field(default_factory=dict)
    reader: object = None
    tree: dict = field(default_factory=dict)


def section(about, make, *programs, search=None):
    """A section of a plan; make: its class, or what else makes one; programs: that have it; search:
    what it is about for aperture_search, which knows no voltages."""
    found = {"about": about, "programs": programs, SEARCH: search or about}
    return field(default_factory=make, metadata=found)


@dataclass(frozen=True)
class Plan:
    """
    All that an instrument does.

    Sections are always there, with the defaults of their fields, but for `monitoring`, which is
    None where there is no server. hosts: name -> Host. program: that runs it; host: the one of
    several that it is the plan of.
    """

    instrument: Instrument = section("name of the instrument", Instrument, OBSERVE)
    powers: Powers = section("files of powers", Powers, SEARCH)
    input: Input = section(
        "source of the samples, and how much of it is taken",
        Input,
        FX,
        BEAMS,
        OBSERVE,
        SEARCH,
        search="how much of the files is taken",
    )
    array: Array = section(
        "the antennas, where the input does not say",
        Array,
        FX,
        BEAMS,
        OBSERVE,
        SEARCH,
        search="place of the telescope, for the times of pulsars, where the files do not say",
    )
    engines: Engines = section(
        "the F-engine, and how long the correlator integrates", Engines, FX, BEAMS, OBSERVE
    )
    calibration: Calibration = section(
        "calibration that makes the inputs equal", Calibration, FX, BEAMS, OBSERVE
    )
    outputs: Outputs = section(
        "the file of visibilities, when the next file of each kind begins, and what is done before "
        "the disk is full",
        Outputs,
        FX,
        BEAMS,
        OBSERVE,
        SEARCH,
        search="whether files that are there are replaced",
    )
    products: dict = section(
        "more products of the correlation, each by its name: visibilities of some inputs, with an "
        "integration and a file of their own",
        dict,
        FX,
        OBSERVE,
    )
    device: Device = section("device on which it is computed", Device, FX, BEAMS, OBSERVE, SEARCH)
    flagging: Flagging = section("interference that is found and left out", Flagging, FX, OBSERVE)
    tracking: Tracking = section(
        "direction on the sky that the delays follow", Tracking, FX, OBSERVE
    )
    voltages: Voltages = section("files of the voltages of the inputs", Voltages, FX, OBSERVE)
    network: Network = section("network between the hosts of a correlator", Network, FX, OBSERVE)
    beams: Beams = section("tied-array beams, and files of their powers", Beams, BEAMS, OBSERVE)
    vdif: Vdif = section("samples of the beams in VDIF, for VLBI", Vdif, BEAMS, OBSERVE)
    search: Search = section("search for dispersed pulses", Search, BEAMS, OBSERVE, SEARCH)
    fold: Fold = section("profiles of a pulsar", Fold, BEAMS, OBSERVE, SEARCH)
    ring: Ring = section("the last voltages, written when a trigger comes", Ring, OBSERVE)
    monitoring: Monitoring = section(
        "a page in the browser, metrics and control over HTTP, by a process of its own",
        lambda: None,
        OBSERVE,
    )
    hosts: dict = section(
        "parts of a correlator that the hosts have; --host says which one is started",
        dict,
        FX,
        OBSERVE,
    )
    service: Service = section("actions when something fails", Service, OBSERVE)
    program: str = OBSERVE
    host: str | None = None
    source: Source = field(default_factory=Source, compare=False, repr=False)

    # ---- values

    def value(self, name):
        """The value of a field, section.key, or of one of several by names, section.name.key."""
        section, key = name.split(".", 1)
        found = getattr(self, section)
        if section in NAMED:
            entry, _, key = key.partition(".")
            found = found.get(entry)
        return getattr(found, key, None)

    def replaced(self, values, **more):
        """A plan with other values, {section.key: value}, and what else of the plan is another."""
        sections = {}
        for name, value in values.items():
            section, key = name.split(".")
            sections.setdefault(section, {})[key] = value
        changed = {
            section: dataclasses.replace(getattr(self, section) or SECTIONS[section](), **keys)
            for section, keys in sections.items()
        }
        return dataclasses.replace(self, **changed, **more)

    def of_host(self, name):
        """
        The plan of one of the hosts; None: this plan.

        Raises
        ------
        PlanError
            There is no such host, or the hosts do not fit each other.
        """
        if name is None:
            return self
        if name not in self.hosts:
            problem = "the plan has " + (", ".join(self.hosts) or "no section `hosts`")
            reader = self.source.reader
            raise PlanError("hosts", f"--host {name}", problem, reader and reader.name)
        values = values_of_host(self, name)
        keys = {
            **self.source.keys,
            **{
                field: f"hosts.{name}.{key}"
                for key, field in HOST_PLACES.items()
                if field in values
            },
        }
        source = dataclasses.replace(
            self.source, keys=keys, options=self.source.options - set(values)
        )
        return self.replaced(values, host=name, source=source)

    # ---- errors

    def naming(self, name):
        """A field as the user calls it: its option, or section.key. A product that an option made
        is called by it."""
        section, _, key = name.partition(".")
        product, _, key = key.partition(".")
        if section == "products" and product in self.source.products:
            return f"{self.source.products[product]}{':' * bool(key)} {key}".strip()
        return self._option(name) or self.source.keys.get(name, name)

    def _option(self, name):
        """The option of a field, where the user is told of that; else None."""
        options = FIELDS[name].place.options if name in FIELDS else ()
        by_option = name in self.source.options or not (
            name in self.source.keys or self.source.reader or self.program == OBSERVE
        )
        return options[0] if options and by_option else None

    def error(self, name, problem, shown=False):
        """
        A PlanError of a field, section.key.

        shown: True if the value is said before the problem; or the text that is said.
        """
        called = self.naming(name)
        if shown is True:
            value = self.value(name)
            shown = f"{value:g}" if isinstance(value, float) else str(value)
        reader = self.source.reader
        if self._option(name) or called.startswith("-") or reader is None:
            return PlanError(name, f"{called} {shown}" if shown else called, problem)
        return PlanError(
            name,
            called,
            f"{shown}: {problem}" if shown else problem,
            f"{reader.name}:{reader.line(called)}",
        )

    def input_error(self, error):
        """A PlanError of an InputError."""
        name = {"input": "input.source", "array": "array.description", "seed": "input.seed"}
        name |= {"selected": "input.select_channels"}
        return self.error(name[error.what], error.problem, shown=str(error.value))

    def of_parameters(self, error, **names):
        """The PlanError of a block's ParameterError; names: parameter=section.key. Of a parameter
        that has no field, the error itself."""
        return self.error(names[error.field], error.problem) if error.field in names else error

    @contextlib.contextmanager
    def giving(self, **names):
        """Lets blocks be made whose parameters are fields, parameter=section.key: what they refuse
        is an error of the field."""
        try:
            yield
        except ParameterError as error:
            raise self.of_parameters(error, **names) from None

    # ---- rules

    def check(self):
        """Refuses what contradicts itself, as far as it can be known without the input. Raises
        PlanError, of the first field."""
        for name in needed_by(self.program):
            if self.value(name) is None:
                raise self.error(name, "is missing")
        check_products(self)
        for name in SECTIONS:
            rules = getattr(getattr(self, name), "check", None)
            if rules is not None and name != "monitoring":
                rules(self)
        if self.monitoring is not None:
            try:
                self.monitoring.check()
            except ParameterError as error:
                raise self.error(error.field, error.problem) from None


#: section -> its class
SECTIONS = {
    entry.name: entry.type
    for entry in dataclasses.fields(Plan)
    if dataclasses.is_dataclass(entry.type) and entry.metadata
}
#: section with several of a kind, by their names -> their class
NAMED = {"hosts": Host, "products": Product}
#: the same -> key -> Field
NAMED_FIELDS = {name: fields_in(name, kind) for name, kind in NAMED.items()}
#: section.key -> Field
FIELDS = {
    found.name: found for name, kind in SECTIONS.items() for found in fields_in(name, kind).values()
}
_ENTRIES = {entry.name: entry for entry in dataclasses.fields(Plan)}


def about_section(name, program=None):
    """A sentence about a section, as a program has it; None: of all."""
    metadata = _ENTRIES[name].metadata
    return metadata.get(program, metadata["about"])


@functools.cache
def fields_for(program):
    """{section: {key: Field}} of a program, in the order of a plan; those
    with several of a kind (NAMED) have its fields."""
    found = {}
    for entry in dataclasses.fields(Plan):
        if program not in entry.metadata.get("programs", ()):
            continue
        keys = NAMED_FIELDS.get(entry.name) or fields_in(entry.name, SECTIONS[entry.name])
        found[entry.name] = {
            key: each
            for key, each in keys.items()
            if each.place.programs is None or program in each.place.programs
        }
    return MappingProxyType(found)


def needed_by(program):
    """Names of the fields, section.key, without which a program does nothing."""
    return [name for name, field in FIELDS.items() if program in field.place.needed]
