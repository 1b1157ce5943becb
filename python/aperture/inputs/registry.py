#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The kinds of inputs that there are."""

import functools
import importlib
import os
import pkgutil
import textwrap
from dataclasses import replace

from ..arrays.array_description import shipped_arrays
from ..parameters.input_files import look_for, looked_in
from ..parameters.times import exact, leap_seconds, time_text
from . import kinds as modules
from .input_format import InputError, split_at

#: ending of a recording's name -> kind of input
ENDINGS = {
    ".sigmf": "sigmf",
    ".sigmf-meta": "sigmf",
    ".sigmf-data": "sigmf",
    ".sigmf-collection": "sigmf",
    ".dada": "dada",
    ".drx": "drx",
    ".m4": "mark4",
    ".m5a": "mark4",
    ".m5b": "mark5b",
    ".timestamp": "gsb",
    ".vdif": "vdif",
    ".raw": "guppi",
    **{
        f".{ending}": "raw"
        for ending in (
            "cu8",
            "cs8",
            "cs16",
            "cf32",
            "cfile",
            "sc8",
            "sc16",
            "fc32",
            "u8",
            "s8",
            "s16",
            "f32",
        )
    },
}
#: endings of files that are no recordings
OTHER_ENDINGS = {".pcap": "pcap", ".pcapng": "pcap", ".yml": "sim", ".yaml": "sim"}


@functools.cache
def kinds():
    """{kind: InputFormat} of all modules of the package `kinds`, in the order of their names."""
    found = [
        importlib.import_module(f"{modules.__name__}.{entry.name}").FORMAT
        for entry in pkgutil.iter_modules(modules.__path__)
        if not entry.name.startswith("qa_")
    ]
    return {entry.kind: entry for entry in found}


def find_kind(text):
    """The InputFormat of an input, and what its text has behind the colon."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in kinds():
        likely = kind_by_name(text, {**ENDINGS, **OTHER_ENDINGS}) or (
            "sim" if text in shipped_arrays() else None
        )
        meant = "" if likely is None else f"; {likely}:{text} may be meant"
        raise InputError(
            "input", text, f"expected KIND:NAME, where KIND is {', '.join(kinds())}" + meant
        )
    return kinds()[kind], rest


def kind_by_name(text, endings=ENDINGS):
    """The kind of input that the ending of its first file's name says; None if it says none."""
    return endings.get(os.path.splitext(split_at(text, ",")[0])[1].lower())


def read_input(text, array=None, seed=None):
    """The InputFormat of an input, and the Request to open it; the parameters are those of
    open_input(), which raises InputError as this does."""
    found, rest = find_kind(text)
    request = found.parse(rest, array, seed)
    if found.simulates and array is not None:
        raise InputError("array", array, f"a simulation has its array in its input, {text}")
    if not found.simulates and seed is not None:
        raise InputError("seed", seed, "only simulations have one")
    return found, request


def open_input(text, array=None, seed=None, selected=None):
    """
    The Signals of an input.

    Parameters
    ----------
    text : str
        A text as the head of input_format.py describes it.
    array : str, path or ArrayDescription, optional
        Description for a recording or receivers, instead of what the input says.
    seed : int, optional
        Seed of a simulation.
    selected : (int, int), optional
        First and last of the channels of a recording of channels; None: all.

    Raises
    ------
    InputError (a ValueError)
        The text is not that of an input.
    ValueError, RuntimeError, OSError
        The input cannot be opened; the message names file, key, value and what is allowed.
    PackageError (a RuntimeError)
        A package is missing; the message has the command that installs it.
    """
    found, request = read_input(text, array, seed)
    if found.packages:
        # not at the top: what makes and enters environments is much to load for most flowgraphs
        from ..packages.environment import make_importable, require

        make_importable(found.packages)
        require(found.packages, modules=found.modules)
    if found.names.startswith(("FILE", "FOLDER", "TIMESTAMPS")):
        request = replace(request, names=tuple(look_for(name) or name for name in request.names))
    request = replace(request, selected=selected)
    try:
        signals = found.open(request)
    except FileNotFoundError as error:
        if error.filename is not None:
            error.strerror += looked_in(error.filename)
        raise
    if selected and not signals.channels:
        value = ":".join(map(str, selected))
        raise InputError("selected", value, f"{text} has samples, and not channels")
    if not found.simulates:
        signals.warnings += _leap_seconds_within(text, signals)
    return signals


def _leap_seconds_within(text, signals):
    """Warns of leap seconds in a recording, whose clock goes on as if there were none."""
    if signals.samples is None or signals.live:
        return []
    begin = signals.start_time[0] + exact(signals.start_time[1])
    last = begin + signals.samples / exact(signals.sample_rate)
    return [
        f"{text}: a leap second ends at {time_text(leap)}, within it: the times of all samples "
        "behind it are 1 s late"
        for leap in leap_seconds()
        if begin < leap < last
    ]


def kinds_text():
    """The kinds, a line each."""
    heads = {kind: f"{kind}:{entry.names}" for kind, entry in kinds().items()}
    width = max(map(len, heads.values()))
    return "\n".join(
        f"  {head.ljust(width)}  {kinds()[kind].summary}" for kind, head in heads.items()
    )


def options_text(kind):
    """Returns the options of inputs of a kind, as a table."""
    entry = kinds()[kind]
    lines = [
        f"{kind}:{entry.names}" + ("[,key=value...]" if entry.options else ""),
        f"  {entry.summary}",
    ]
    tables = [entry.options, entry.options_of_a_name]
    width = max((len(_head(*row)) for table in tables for row in table.items()), default=0)
    for table in tables:
        if table is entry.options_of_a_name and table:
            lines.append("behind one name, for it alone:")
        for key, option in table.items():
            lines += _row(_head(key, option), width, option.help)
    return "\n".join(lines)


def _head(key, option):
    return f"{key}={option.shown}"


def _row(head, width, text):
    first, *rest = textwrap.wrap(text, max(30, 96 - width))
    return [f"  {head.ljust(width)}  {first}", *(" " * (width + 4) + line for line in rest)]
