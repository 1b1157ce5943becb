# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each block: its docstring, which describe() makes in C++, and its file for GRC."""

import inspect
import re

import docstrings
import signatures
import yaml
from gnuradio import aperture, gr

from gnuradio.aperture import aperture_python
from gnuradio.aperture.parameters.description import parameters_of

#: methods of GNU Radio's own, and of what all blocks on a device have
COMMON = (
    set(dir(gr.basic_block))
    | set(dir(gr.sync_block))
    | set(dir(gr.hier_block2))
    | {"make", "to_basic_block"}
)


class Block:
    """A block of the manual: name, label in GRC, docstring, parameters, ports, methods."""

    def __init__(self, path):
        self.grc = yaml.safe_load(path.read_text())
        self.name = path.name.split(".")[0].removeprefix("aperture_")
        self.made_by = getattr(aperture, self.name)
        self.doc = docstrings.parse(inspect.getdoc(self.made_by))
        is_class = inspect.isclass(self.made_by)
        # a function in Python makes a block in C++
        self.type = self.made_by if is_class else getattr(aperture_python, self.name)
        self.methods = {
            name: value
            for name, value in vars(self.type).items()
            if not name.startswith("_")
            and name not in COMMON
            and (inspect.isroutine(value) or isinstance(value, property))
        }

    @property
    def label(self):
        return self.grc["label"]

    @property
    def folder(self):
        """The category in which GNU Radio Companion lists it, such as "Displays"."""
        return re.sub(r"[\[\]]", "", self.grc.get("category", "")).replace("/", " → ")

    def labels(self):
        """{name of a parameter: its label in GRC}."""
        return {
            entry["id"]: entry["label"]
            for entry in self.grc.get("parameters", [])
            if "label" in entry
        }


def _parameters(block):
    labels = block.labels()
    rows = []
    for parameter in parameters_of(block.made_by):
        shown = "" if parameter.needed else f"`{parameter.default!r}`".replace("|", "\\|")
        rule = parameter.rule if parameter.choices or parameter.limited else ""
        rows.append(
            f"| `{parameter.name}` | {docstrings.cell(labels.get(parameter.name, ''))} | {shown} "
            f"| {docstrings.cell(rule)} | {docstrings.cell(parameter.meaning)} |"
        )
    if not rows:
        return []
    return [
        "## Parameters",
        "",
        "| parameter | in GRC | default | allowed | meaning |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]


def _type(block, text):
    """The type of a port; of one that a parameter chooses, all that it may be."""
    found = re.fullmatch(r"\$\{\s*(\w+)\.(\w+)\s*\}", text)
    for entry in block.grc.get("parameters", []):
        if found and entry["id"] == found[1] and "option_attributes" in entry:
            names = dict.fromkeys(entry["option_attributes"][found[2]])
            return f"by `{found[1]}`: " + ", ".join(f"`{name}`" for name in names)
    return _expression(text)


def _expression(text):
    return "`" + re.sub(r"\$\{\s*(.*?)\s*\}", r"\1", str(text)).replace("|", "\\|") + "`"


def _ports(block):
    rows = []
    for key, way in (("inputs", "in"), ("outputs", "out")):
        for port in block.grc.get(key, []):
            name = port.get("label") or port.get("id", "")
            if port.get("domain") == "message":
                rows.append(f"| {way} | `{name}` | messages | |")
                continue
            kind = port.get("dtype", "")
            vlen = port.get("vlen")
            rows.append(
                f"| {way} | `{name}` | {_type(block, kind)} | "
                f"{_expression(vlen) if vlen is not None else 'one'} |"
            )
    if not rows:
        return []
    return [
        "## Ports",
        "",
        "Sizes are in the parameters' names in GNU Radio Companion. "
        "[Writing flowgraphs](../../flowgraphs.md#ports) says how ports and inputs belong "
        "together, [tags and messages](../../tags.md) what comes with items.",
        "",
        "| | port | type | elements of an item |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def _methods(block):
    if not block.methods:
        return []
    lines = ["## Methods", ""]
    for name, method in block.methods.items():
        if isinstance(method, property):
            heading, doc = name, docstrings.parse(inspect.getdoc(method))
        else:
            heading = signatures.call(name, getattr(block.type, name))
            doc = docstrings.parse(_without_signatures(inspect.getdoc(method) or ""))
        lines += [f"### {name}", "", f"`{heading}`", "", doc.text, ""]
        for title in ("Args", "Parameters", "Returns", "Raises"):
            entries = doc.entries(title)
            if not entries:
                continue
            lines += [f"*{title}:*", ""]
            for entry, kind, text in entries:
                head = f"`{entry}`" + (f" ({docstrings.escaped(kind)})" if kind else "")
                lines.append(f"- {head + ': ' if entry else ''}{docstrings.escaped(text)}")
            lines.append("")
    return lines


def _without_signatures(doc):
    """Returns pybind11's docstring without lines of types, and without numbers of overloads."""
    doc = re.sub(r"^(\d+\. )?\w+\(.*\) -> .*$", "", doc, flags=re.MULTILINE)
    return re.sub(r"^Overloaded function\.$", "", doc, flags=re.MULTILINE).strip("\n")


def _raises(block):
    entries = block.doc.entries("Raises")
    if not entries:
        return []
    return [
        "## Errors",
        "",
        *(
            f"- {'`' + name + '`: ' if name else ''}{docstrings.escaped(text)}"
            for name, _, text in entries
        ),
        "",
    ]


def _introduction(block):
    lines = [block.doc.text, ""]
    if block.type is not block.made_by:
        lines += [docstrings.parse(_without_signatures(inspect.getdoc(block.type) or "")).text, ""]
    return lines


def page(block, mentions):
    """Markdown of a block's page; mentions: [(title, link)] of pages and examples with it."""
    lines = [
        f"# {block.label}",
        "",
        f"`aperture.{block.name}`, in GNU Radio Companion *{block.folder} → {block.label}*",
        "",
        *_introduction(block),
        *_parameters(block),
        *_ports(block),
        *_raises(block),
        *_methods(block),
    ]
    if mentions:
        lines += [
            "## Pages and examples with it",
            "",
            *(f"- [{title}]({link})" for title, link in mentions),
            "",
        ]
    return "\n".join(lines)


def all_blocks(source):
    """All blocks of the source tree, in the order of their names."""
    return [Block(path) for path in sorted((source / "grc").glob("aperture_*.block.yml"))]
