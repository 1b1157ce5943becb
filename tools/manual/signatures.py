# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures of functions in Python and of those that pybind11 binds."""

import inspect
import re

from gnuradio.aperture.parameters.constructors import split

#: names of types as pybind11 writes them -> as a user calls them
TYPES = [
    (r"\b(typing|typing_extensions|collections\.abc)\.", ""),
    (r"gnuradio\.(aperture|gr)\.\w*?python\.", ""),
    (r"\bList\b", "list"),
    (r"\bTuple\b", "tuple"),
    (r"<(\w+)\.\w+: [^>]*>", r"\1"),
]


def _bound_line(function):
    """The line "name(self: ..., a: int = 1) -> None" of what pybind11 binds, or None."""
    text = inspect.getdoc(function) or ""
    found = re.search(r"^(?:\d+\. )?\w+\(.*\) -> .*$", text, flags=re.MULTILINE)
    return re.sub(r"^\d+\. ", "", found[0]) if found else None


def parameters(function):
    """{name: text of the default, or None} of a function or constructor, without self."""
    line = _bound_line(function)
    if line is None:
        return {
            name: None if entry.default is entry.empty else repr(entry.default)
            for name, entry in inspect.signature(function).parameters.items()
            if name != "self" and entry.kind not in (entry.VAR_POSITIONAL, entry.VAR_KEYWORD)
        }
    found = {}
    for part in split(line[line.index("(") + 1 : line.rindex(") ->")])[1:]:
        name, _, rest = part.partition(":")
        _, *default = split(rest, "=")
        found[name.strip()] = "=".join(default) if default else None
    return found


def call(name, function):
    """ "name(a, b=1)" and what it returns, for a heading."""
    line = _bound_line(function)
    if line is None:
        try:
            shown = inspect.signature(function)
        except (TypeError, ValueError):
            return f"{name}()"
        kept = [
            entry.replace(annotation=entry.empty)
            for key, entry in shown.parameters.items()
            if key != "self"
        ]
        return name + str(shown.replace(parameters=kept, return_annotation=shown.empty))
    returned = line[line.rindex(") ->") + 4 :].strip()
    for pattern, short in TYPES:
        returned = re.sub(pattern, short, returned)
    given = [
        key if default is None else f"{key}={default}"
        for key, default in parameters(function).items()
    ]
    return f"{name}({', '.join(given)})" + ("" if returned == "None" else f" → {returned}")
