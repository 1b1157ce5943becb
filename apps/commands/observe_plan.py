#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The configuration of aperture_observe: the plan that all commands share, with more sections, in
one YAML file that is checked before anything starts."""

import argparse
import os
import re

from ..arguments.argument_types import allowed, argument, number, positive_seconds
from ..files.file_names import TIME
from ..inputs.input_format import InputError
from ..inputs.registry import find_kind
from ..monitoring.section import Section
from ..observatory.disk_guard import WHEN_FULL
from ..parameters.errors import ParameterError
from ..parameters.rules import NAME_PATTERN, NAME_RULE, is_name
from . import fx
from .beam_forming import BEAM_KEYS, add_beam_options
from .folding import FOLD_SCHEMA, add_fold_options, check_fold
from .hosts import HOSTS, check_role, take_host
from .output_names import check_output_name
from .plan import Named, PlanReader, extend
from .plan_schema import json_schema
from .running import CommandError
from .searching import DUMP_ENDINGS, SEARCH_SCHEMA, add_search_options, check_search
from .voltages import channel_text, check_voltages

PROGRAM = "aperture_observe"
UVH5, FILTERBANK = ".uvh5", ".fil"

#: section -> key -> attribute of the options
SCHEMA = {
    "instrument": {"name": "name"},
    **extend(
        fx.SCHEMA,
        outputs={
            "roll_seconds": "roll_seconds",
            "roll_bytes": "roll_bytes",
            "least_free_bytes": "least_free",
            "when_full": "when_full",
        },
    ),
    "beams": {("directions" if key == "beams" else key): name for key, name in BEAM_KEYS.items()}
    | {
        "integration": "beam_integration",
        "file": "beam_file",
        "nbits": "nbits",
        "voltages": "beam_voltages",
        "voltage_channels": "beam_voltage_channels",
    },
    **SEARCH_SCHEMA,
    **FOLD_SCHEMA,
    "ring": {
        "file": "ring",
        "seconds": "ring_seconds",
        "most_bytes": "ring_bytes",
        "by_search": "ring_by_search",
    },
    "monitoring": {
        name: f"monitoring_{name}"
        for name in ("listen", "token_file", "tls_certificate", "tls_key", "proxy", "hosts")
    },
    **HOSTS,
    "service": {
        "restart": "restart",
        "restart_after": "restart_after",
        "restart_longest": "restart_longest",
        "watchdog": "watchdog",
    },
}
del SCHEMA["outputs"]["keep_uvh5"]  # a UVH5 file is all that is written
REQUIRED = {"input": ["source"]}
DESCRIPTIONS = {
    "instrument": "name of the instrument",
    "input": "source of the samples",
    "array": "the antennas, where the input does not say",
    "engines": "the F-engine, and how long the correlator integrates",
    "calibration": "calibration that makes the inputs equal",
    "tracking": "direction on the sky that the delays follow",
    "flagging": "interference that is found and left out",
    "outputs": "the file of visibilities, when the next file of each kind begins, and what is done "
    "before the disk is full",
    "network": "network between the hosts of a correlator",
    "voltages": "files of the voltages of the inputs",
    "device": "device on which it is computed",
    "beams": "tied-array beams, and files of their powers",
    "search": "search for dispersed pulses",
    "fold": "profiles of a pulsar",
    "ring": "the last voltages, written when a trigger comes",
    "monitoring": "a page in the browser, metrics and control over HTTP, by a process of its own",
    "hosts": "parts of a correlator that the hosts have; --host says which one is started",
    "service": "actions when something fails",
}


class InputFailure(CommandError):
    """The input could not be opened; it may be there a moment later."""


def whole_bytes(text):
    """An argparse type: bytes, with or without an SI prefix: 2e9, 2GB, 500 MB."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*(?:([kMGT])?B)?\s*", text)
    try:
        value = float(match[1]) * 1000 ** " kMGT".index(match[2] or " ") if match else -1
    except ValueError:
        value = -1
    if not 0 <= value < 2**62:
        raise argparse.ArgumentTypeError(f"{text}: expected bytes, such as 2000000000 or 2 GB")
    return int(value)


allowed(
    whole_bytes,
    anyOf=[
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": r"^\s*[0-9.]+\s*[kMGT]?B\s*$"},
    ],
)


def _name(text):
    if not is_name(text):
        raise ValueError(f"expected {NAME_RULE}")
    return text


name_text = argument(_name, type="string", pattern=f"^{NAME_PATTERN}$")


def settings():
    """All options that keys stand for: attribute -> action of argparse."""
    parser = argparse.ArgumentParser(add_help=False)
    add = parser.add_argument
    fx.add_options(add)
    add_beam_options(add, required=False)
    add_search_options(add)
    add_fold_options(add)
    add(
        "--name",
        type=name_text,
        default="instrument",
        help="name of the instrument, in its histories",
    )
    add(
        "--roll-seconds",
        type=positive_seconds(False),
        metavar="SECONDS",
        help="files of visibilities, powers, voltages, candidates and profiles end, and new ones "
        "begin, at whole multiples of it since 1970, UTC: 3600 for each full hour",
    )
    add(
        "--roll-bytes",
        type=whole_bytes,
        metavar="BYTES",
        help="and before they are larger than this",
    )
    add(
        "--least-free",
        type=whole_bytes,
        default=0,
        metavar="BYTES",
        help="free space that is to be left on the disks on which files are written "
        "(default: 0, nothing is looked after)",
    )
    add(
        "--when-full",
        choices=WHEN_FULL,
        default=WHEN_FULL[0],
        help="stop: nothing is recorded until there is room again; oldest: the oldest files with "
        "such names are removed",
    )
    add(
        "--beam-integration",
        type=positive_seconds(False),
        metavar="SECONDS",
        help="integration of the powers of beams (default: 0.001)",
    )
    add(
        "--beam-file",
        metavar="FILE.fil",
        help="filterbank file of all beams, or with {beam} in "
        "its name one for each, with {time} in it",
    )
    add(
        "--beam-voltages",
        metavar="FILE",
        help="voltages of each beam, as `voltages` has them of the inputs",
    )
    add(
        "--beam-voltage-channels",
        type=channel_text,
        metavar="N,N-N",
        help="channels whose voltages are written",
    )
    add(
        "--ring",
        metavar="FILE",
        help="files of dumps, with {time} and {id} in the name: .sigmf-meta, .raw or .dada",
    )
    add(
        "--ring-seconds",
        type=positive_seconds(False),
        default=10.0,
        metavar="SECONDS",
        help="time for which voltages are kept in memory",
    )
    add(
        "--ring-bytes",
        type=whole_bytes,
        default=10**11,
        metavar="BYTES",
        help="most bytes of all dumps together",
    )
    add(
        "--no-ring-by-search",
        dest="ring_by_search",
        action="store_false",
        help="true if candidates of the search trigger dumps",
    )
    add(
        "--restart",
        action="store_true",
        help="true if the flowgraph is made anew when a receiver fails or integrations stop",
    )
    add(
        "--restart-after",
        type=positive_seconds(False),
        default=1.0,
        metavar="SECONDS",
        help="the first wait before that; each one is twice the one before",
    )
    add(
        "--restart-longest",
        type=positive_seconds(False),
        default=60.0,
        metavar="SECONDS",
        help="wait",
    )
    add(
        "--watchdog",
        type=number(0, 1e6, "seconds"),
        metavar="SECONDS",
        help="without an integration, after which something has failed (default: 10, and five "
        "integrations; 0: nothing is looked after)",
    )
    add(
        "--monitoring-listen",
        default="127.0.0.1:8080",
        metavar="ADDRESS:PORT",
        help="address of the server",
    )
    add(
        "--monitoring-token-file",
        metavar="FILE",
        help="file with the token with which settings are changed, mode 0600",
    )
    add("--monitoring-tls-certificate", metavar="FILE.pem", help="certificate, needed off loopback")
    add("--monitoring-tls-key", metavar="FILE.pem", help="key of that certificate, mode 0600")
    add(
        "--monitoring-proxy", metavar="NAME", help="the only proxy from which connections are taken"
    )
    add("--monitoring-hosts", metavar="NAME,NAME", help="names by which browsers call the server")
    return {action.dest: action for action in parser._actions}


def schema_of():
    """The JSON schema of the file."""
    return json_schema(
        SCHEMA, settings(), "Configuration of aperture_observe", DESCRIPTIONS, REQUIRED
    )


class Configuration:
    """
    A file that was read and checked.

    host: which one of the section `hosts` is meant.

    Attributes: `path`, `host`; `sections`, section -> key -> text, as written; `options`, a
    namespace as those of the commands.

    Raises
    ------
    ParameterError
        Something in it is not allowed: file, line, field, and what is.
    OSError
        It cannot be read.
    """

    def __init__(self, path, host=None):
        self.path, self.host = path, host
        actions = settings()
        if os.path.exists(path) and not os.path.isfile(path):
            raise ParameterError("", "is no file", path)
        reader = PlanReader(path, ParameterError)
        with open(path, encoding="utf-8") as file:
            found = reader.read(file, SCHEMA, actions)
        self.sections = reader.sections
        self._reader, self._actions = reader, actions
        self.options = argparse.Namespace(
            **{name: found.get(name, action.default) for name, action in actions.items()},
            hosts=found.get("hosts"),
        )
        self.options.host = host
        self._fields = {
            name: f"{section}.{key}"
            for section, keys in SCHEMA.items()
            if not isinstance(keys, Named)
            for key, name in keys.items()
        }
        reader.with_line(self._check)

    def _check(self):
        """Checks what can be known without an input; raises ParameterError of a field."""
        options = self.options
        for section, keys in REQUIRED.items():
            for key in keys:
                if key not in self.sections.get(section, {}):
                    raise ParameterError(f"{section}.{key}", "is missing")
        if "monitoring" in self.sections:
            Section.of(self.sections["monitoring"])
        try:
            take_host(options)
            check_role(options)
            self._check_names(options)
            kind, rest = find_kind(options.input)
            kind.parse(rest, options.array, options.seed)
        except (CommandError, InputError) as error:
            raise self.located(error) from None
        if options.devices is not None:
            self._check_devices(options)
        if options.role != "fx":
            self._check_part(options)
        elif not any((options.output, options.beams, options.ring, options.voltages)):
            raise ParameterError(
                "outputs.file",
                "is missing, and so are beams.directions, ring."
                "file and voltages.file: there would be nothing to do",
            )

    def _check_devices(self, options):
        """Only what correlates can have several devices."""
        for name in ("beams", "ring", "voltages"):
            if getattr(options, name) is not None:
                raise ParameterError(
                    "device.names",
                    f"is not allowed with {self._fields[name]}, "
                    "which need all channels of all inputs on one device",
                )

    def _check_part(self, options):
        """Checks one host of several, which only correlates."""
        for name in ("beams", "ring"):
            if getattr(options, name) is not None:
                raise ParameterError(
                    self._fields[name],
                    "is not allowed for a host that has a "
                    "part of the correlator; it must be left out",
                )
        if options.role == "x" and options.output is None:
            raise ParameterError(
                f"hosts.{self.host}.output" if self.host else "outputs.file", "is missing"
            )

    def _check_names(self, options):
        for name, endings, fields in (
            ("output", UVH5, ["time", "phase_center"]),
            ("beam_file", FILTERBANK, ["beam", "time"]),
            ("ring", DUMP_ENDINGS, ["id", "time", "input", "channel"]),
        ):
            value = getattr(options, name)
            if value is not None:
                check_output_name(value, endings, fields, self._fields[name])
        for name in (
            "output",
            "beam_file",
            "voltages",
            "beam_voltages",
            "ring",
            "candidates",
            "profiles",
        ):
            value = getattr(options, name)
            if value is not None and TIME not in value:
                raise ParameterError(
                    self._fields[name],
                    f"{value!r} is not allowed; it must be a "
                    f"name with {TIME} in it: files follow on each other",
                )
        for name in ("ring", "dump"):
            value = getattr(options, name)
            if value is not None and "{id}" not in value:
                raise ParameterError(
                    self._fields[name],
                    f"{value!r} is not allowed; it must be a "
                    "name with {id} in it: a dump must not replace another",
                )
        check_voltages(options, "input")
        for name in ("beam_integration", "beam_file", "beam_voltages", "search", "fold"):
            if options.beams is None and getattr(options, name) is not None:
                raise ParameterError(self._fields[name], "needs beams.directions")
        if options.beams is not None:
            beams = beam_options(options)
            check_voltages(beams, "beam")
            check_search(beams)
            check_fold(beams)
            if not any((options.beam_file, options.search, options.fold, options.beam_voltages)):
                raise ParameterError(
                    "beams.file",
                    "is missing, and so are search.trials and "
                    "fold.by: nothing is done with the beams",
                )
            if options.spectra_per_frame is not None:
                raise ParameterError(
                    "engines.spectra_per_frame",
                    "is not allowed with beams, whose integration says how long frames are",
                )
            if options.calibration is not None and options.calibrate != "f-engine":
                raise ParameterError(
                    "calibration.by",
                    f"{options.calibrate!r} is not allowed with beams; it must be f-engine",
                )
        if options.ring is not None and options.dump is not None:
            raise ParameterError(
                "search.dump",
                "is not allowed beside a section ring, whose dumps candidates trigger",
            )

    def located(self, error):
        """A ParameterError of the field whose option the text of an error begins with; of another
        error, one without a field."""
        text = str(error)
        host = re.match(r"(hosts(?:\.[^:.\s]+)*): ", text)
        if host:
            return ParameterError(host[1], text[host.end() :])
        word = re.match(r"(?:--?)?[a-z][a-z._-]*|-o", text)
        name = word[0] if word else ""
        for attribute, field in self._fields.items():
            options = self._actions[attribute].option_strings
            if name == field or name in options or f"--{name}" in options:
                return ParameterError(field, text[len(name) :].lstrip(" :"))
        return ParameterError("", text)

    def error(self, error):
        """Returns the text of an error that came later, with file and line where it is of a
        field."""
        if isinstance(error, ParameterError) and error.where:
            return error
        found = self.located(error)
        where = f"{self.path}:{self._reader.line(found.field)}" if found.field else self.path
        return ParameterError(found.field, found.problem, where)


def beam_options(options):
    """The options as those of aperture_beams."""
    return argparse.Namespace(
        **{
            **vars(options),
            "output": options.beam_file,
            "integration": options.beam_integration,
            "voltages": options.beam_voltages,
            "voltage_channels": options.beam_voltage_channels,
        }
    )
