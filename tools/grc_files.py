# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of blocks for GNU Radio Companion: a block's description and an overlay make one.

The description (gnuradio.aperture.parameters.description) gives parameters with their types,
defaults, choices and labels, the asserts of their rules, the call of the constructor, the callbacks
of setters, and the documentation. grc/overlay/NAME.yml has what is GRC's alone:

label, category, flags: as in the block's file.
order: parameters that come first; the others follow in the constructor's order.
hidden: parameters that the block's face does not show while they have their defaults.
categories: {tab: parameters}, which are hidden likewise.
parameters: {id: fields}: fields that replace or add to the generated ones. An id that
    the constructor does not have is a parameter of GRC's alone, which is no argument of the call.
inputs, outputs: the ports.
asserts: expressions beyond those of the rules of single parameters.
arguments: {name: text} of the call, where it is not the parameter's own value; null leaves it out.
before, after: lines around the call.
callbacks: those that replace set_NAME(${NAME}) of the parameters named in them, and others.
"""

import inspect
import math
import re
import sys
from pathlib import Path

import yaml
from gnuradio import aperture

from gnuradio.aperture.parameters.description import parameters_of

GRC = Path(__file__).parents[1] / "grc"
MADE = "# Made by tools/update-grc of the block's description and grc/overlay/{}.yml.\n"
TYPES = {
    "int": "int",
    "float": "real",
    "str": "string",
    "bool": "bool",
    "array[float32]": "real_vector",
    "array[complex64]": "complex_vector",
    "list[float]": "real_vector",
}
#: labels of choices that are not words
CHOICES = {
    "fc32": "Complex float",
    "sc16": "Complex 16 bit",
    "sc8": "Complex 8 bit",
    "sc4": "Complex 4 bit",
    "f32": "Real float",
    "s16": "Real 16 bit",
    "s12": "Real 12 bit packed",
    "s10": "Real 10 bit packed",
    "s8": "Real 8 bit",
    "True": "Yes",
    "False": "No",
}
SMALL = {"a", "and", "at", "by", "for", "from", "in", "of", "on", "per", "the", "to"}
DEVICE = (
    "${ device in ('auto', 'cpu', 'cuda') or "
    "(device.startswith('cuda:') and device[5:].isdigit()) }"
)


def label_of(parameter):
    """The label of a parameter: its own, or its name in words, with the unit."""
    words = parameter.name.split("_")
    text = " ".join(
        word if word in SMALL and place else word.capitalize() for place, word in enumerate(words)
    )
    unit = f" ({parameter.unit})" if parameter.unit else ""
    return parameter.label or text + unit


def default_of(parameter):
    """The default as GRC's text."""
    value = parameter.default
    if parameter.needed or parameter.kind == "str" and value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.15g}"
    if hasattr(value, "tolist"):
        value = value.tolist()
    return repr(value)


def hidden_at(name, default, dtype):
    """The expression that hides a parameter from the block's face while it has its default."""
    if dtype == "bool":
        return f"${{ 'none' if {name} else 'part' }}" if default == "False" else "part"
    if default in ("[]", "()", ""):
        return f"${{ 'none' if len({name}) else 'part' }}"
    if default == "None":
        return f"${{ 'part' if {name} is None else 'none' }}"
    shown = default if dtype in ("int", "real", "raw") else repr(default)
    return f"${{ 'part' if {name} == {shown} else 'none' }}"


def entry_of(parameter, extra):
    """A parameter's entry in GRC's file."""
    entry = {"id": parameter.name, "label": label_of(parameter)}
    entry["dtype"] = "enum" if parameter.choices else TYPES.get(parameter.kind, "raw")
    entry["default"] = default_of(parameter)
    choices = parameter.choices or (("True", "False") if parameter.kind == "bool" else ())
    if choices:
        entry["options"] = list(choices)
        entry["option_labels"] = [CHOICES.get(each, each.capitalize()) for each in choices]
    if parameter.category:
        entry.update(category=parameter.category)
    if parameter.category or parameter.name == "device":
        entry.update(hide="default")
    entry.update(extra)
    if entry.get("hide") == "default":
        entry["hide"] = hidden_at(entry["id"], entry["default"], entry["dtype"])
    return entry


def assert_of(parameter):
    """The assert of a parameter's rule, or None."""
    if parameter.name == "device" and parameter.default == "auto":
        return DEVICE
    if not parameter.limited:
        return None
    if parameter.least == -sys.float_info.max:
        return f"${{ abs({parameter.name}) < float('inf') }}"
    sign = "<" if parameter.open else "<="
    below = "" if parameter.least == -math.inf else f"{parameter.least:.15g} {sign} "
    above = f" <= {parameter.most:.15g}"
    if parameter.most == math.inf:
        above = " < float('inf')" if parameter.kind == "float" else ""
    return f"${{ {below}{parameter.name}{above} }}"


def call_of(name, entries, described, arguments):
    """The call of the constructor, in several lines."""
    lines = []
    for parameter in described:
        key = parameter.name
        given = arguments.get(key, entries.get(key) and "${%s}" % key)
        if key not in arguments and key in entries and entries[key]["dtype"] == "enum":
            given = f'"{given}"'
        if given is None:
            continue
        # an argument with control lines (% if) has its own form
        lines.append(given if given.startswith("%") else f"    {key}={given},")
    if lines and not lines[-1].startswith("%"):
        lines[-1] = lines[-1][:-1] + ")"
        return "\n".join([f"aperture.{name}(", *lines])
    return "\n".join([f"aperture.{name}(", *lines, ")"])


def file_of(name, overlay):
    """The dictionary of a block's file for GRC."""
    block = getattr(aperture, name)
    described = parameters_of(block)
    extra = {key: dict(fields) for key, fields in overlay.get("parameters", {}).items()}
    for key in overlay.get("hidden", []):
        extra.setdefault(key, {})["hide"] = "default"
    for tab, keys in overlay.get("categories", {}).items():
        for key in keys:
            extra.setdefault(key, {}).update(category=tab, hide="default")
    described = [parameter for parameter in described if parameter.group is None]
    # parameters that the call leaves out, or has an expression for in which they do not stand
    left_out = {
        key
        for key, text in overlay.get("arguments", {}).items()
        if text is None or not re.search(rf"(\$\{{[^}}]*|% if .*)(?<![.\w]){key}\b", text)
    }
    entries = {
        parameter.name: entry_of(parameter, extra.get(parameter.name, {}))
        for parameter in described
        if parameter.name not in left_out
    }
    for key, fields in extra.items():
        if key not in entries:
            entries[key] = {"id": key, **fields}
    first = overlay.get("order", [])
    ordered = [*first, *(key for key in entries if key not in first)]

    asserts = [
        text
        for p in described
        # a choice from a list needs no assert
        if p.name in entries and entries[p.name]["dtype"] != "enum" and (text := assert_of(p))
    ] + overlay.get("asserts", [])
    callbacks = list(overlay.get("callbacks", []))
    own = " ".join(callbacks)
    quote = {key: '"' if entry["dtype"] == "enum" else "" for key, entry in entries.items()}
    callbacks += [
        f"set_{p.name}({quote[p.name]}${{{p.name}}}{quote[p.name]})"
        for p in described
        if p.settable and p.name in entries and f"${{{p.name}}}" not in own
    ]
    make = overlay.get("before", "") + call_of(
        name, entries, described, overlay.get("arguments", {})
    )
    templates = {
        "imports": overlay.get("imports", "from gnuradio import aperture"),
        "make": "\n".join(filter(None, [make, overlay.get("after", "").rstrip("\n")])),
    }
    if callbacks:
        templates["callbacks"] = callbacks
    made = {
        "id": f"aperture_{name}",
        "label": overlay["label"],
        "category": overlay.get("category", "[Aperture]"),
        "flags": overlay.get("flags", ["python"]),
        "parameters": [entries[key] for key in ordered],
    }
    for ports in ("inputs", "outputs"):
        if overlay.get(ports):
            made[ports] = overlay[ports]
    return {
        **made,
        "asserts": asserts,
        "templates": templates,
        "documentation": documentation_of(block),
        "file_format": 1,
    }


def documentation_of(block):
    """The docstring of a block, without the marks of code."""
    return re.sub(r"``?", "", inspect.getdoc(block)).strip("\n")


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and lists of a port or a parameter indented."""

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False)


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def text_of(name, overlay):
    """The text of a block's file for GRC."""
    made = yaml.dump(
        file_of(name, overlay), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return (
        "# Copyright 2026 gr-aperture's authors.\n# SPDX-License-Identifier: GPL-3.0-or-later\n"
        + MADE.format(name)
        + made
    )


def overlays():
    """{name of a block: its overlay}."""
    return {path.stem: yaml.safe_load(path.read_text()) for path in sorted(GRC.glob("overlay/*"))}


def stale():
    """{path: text} of the files that are not as they would be made."""
    texts = {GRC / f"aperture_{name}.block.yml": text_of(name, o) for name, o in overlays().items()}
    return {
        path: text for path, text in texts.items() if not path.exists() or path.read_text() != text
    }


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(f"tools/update-grc: '{' '.join(arguments)}' is not allowed: --check, or nothing")
    found = stale()
    for path, text in found.items():
        print(path.relative_to(GRC.parent))
        if not arguments:
            path.write_text(text)
    sys.exit(bool(found and arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
