# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Checks that the package keeps its public names, so that scripts and flowgraphs of users go on
working however its modules are arranged: public_names.yml lists them, and has all that pages and
examples import. test_install looks for the same in an installation.
"""

import ast
import importlib
import json
import re
import types
import unittest

import yaml

from places import SOURCE, main
from public_names import ROOT, missing_names, part_of, public_names

PAGES = [*SOURCE.glob("*.md"), *(SOURCE / "docs").rglob("*.md")]
#: code in a line of text that names something in the package
INLINE = re.compile(r"`(?:gnuradio\.)?aperture\.((?:\w+\.)*\w+)\b[^`\n]*`")
#: NAME stands for names, and testing is not installed
NOT_PUBLIC = re.compile(r"NAME$|testing(\.|$)")


def code_of(path):
    """The pieces of Python in a page, a script, a notebook or a flowgraph."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.findall(r"^ *```python\n(.*?)^ *```", text, flags=re.MULTILINE | re.DOTALL)
    if path.suffix == ".py":
        return [text]
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return [re.sub(r"^[%!].*", "pass", "".join(cell["source"]), flags=re.M) for cell in cells]
    if path.suffix == ".grc":
        parameters = [block["parameters"] for block in yaml.safe_load(text)["blocks"]]
        return [
            value
            for each in parameters
            for key, value in each.items()
            if key in ("imports", "_source_code") and isinstance(value, str)
        ]
    return []


class Uses(ast.NodeVisitor):
    """Collects what code imports of the package and uses of it: `found`, {(module, name)}."""

    def __init__(self):
        self.found = set()
        #: name in the code -> (module, name or "")
        self._bound = {"aperture": (ROOT, "")}

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.startswith(ROOT):
                self.found.add((alias.name, ""))
                if alias.asname:
                    self._bound[alias.asname] = alias.name, ""

    def visit_ImportFrom(self, node):
        for alias in node.names:
            name = alias.asname or alias.name
            if f"{node.module}.{alias.name}" == ROOT:
                self._bound[name] = ROOT, ""
            elif node.level == 0 and node.module.startswith(ROOT):
                self.found.add((node.module, alias.name))
                self._bound[name] = node.module, alias.name

    def visit_Attribute(self, node):
        parts, value = [], node
        while isinstance(value, ast.Attribute):
            parts.insert(0, value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in self._bound:
            module, name = self._bound[value.id]
            self.found.add((module, ".".join([*filter(None, [name]), *parts])))
        self.generic_visit(node)


def place_of(module, name):
    """The module that has a name, and the name without what follows the first part that is no
    module: methods and their results."""
    value, parts = importlib.import_module(module), []
    for part in name.split("."):
        parts.append(part)
        try:
            value = part_of(value, part)
        except AttributeError:
            break
        if not isinstance(value, types.ModuleType):
            break
        if value.__name__ == f"{module}.{part}":
            module, parts = value.__name__, []
    return module, ".".join(parts)


def documented_names():
    """{(module, name): the file that has it} of all pages and examples."""
    found = {}
    for path in [*PAGES, *(SOURCE / "examples").rglob("*")]:
        uses = Uses()
        for code in code_of(path) if path.is_file() else []:
            # "..." for arguments that are left out
            uses.visit(ast.parse(re.sub(r"\.\.\.(?=\s*\))", "**others", code)))
        if path.suffix == ".md":
            uses.found |= {(ROOT, name) for name in INLINE.findall(path.read_text())}
        for module, name in uses.found:
            if not NOT_PUBLIC.search(f"{module}.{name}"):
                place = str(path.relative_to(SOURCE))
                found[place_of(module, name) if name else (module, "")] = place
    return found


class TestPublicNames(unittest.TestCase):
    def test_all_are_there(self):
        """No public name is gone: who takes one away breaks somebody's script, and says so in
        CHANGELOG.md."""
        self.assertEqual(missing_names(public_names()), [])

    def test_a_missing_name_is_found(self):
        """Modules, names in them and parts of these names are found to be missing."""
        wanted = {
            ROOT: ["xengine", "geometry.delays", "geometry.nothing", "nothing"],
            f"{ROOT}.nothing": [],
            f"{ROOT}.observatory.instrument": ["Instrument.replace", "Instrument.nothing"],
        }
        missing = [text.split(": ")[:2] for text in missing_names(wanted)]
        self.assertEqual(
            [text[-1].removeprefix("No module named ").strip("'") for text in missing],
            ["geometry.nothing", "nothing", f"{ROOT}.nothing", "Instrument.nothing"],
        )

    def test_the_documented_are_listed(self):
        """Names that pages and examples show are public: public_names.yml is to have them."""
        listed, documented = public_names(), documented_names()
        self.assertGreater(len(documented), 80)
        self.assertIn(("gnuradio.aperture.observatory.instrument", "Instrument"), documented)
        lacking = [
            f"{place}: {module}: {name}"
            for (module, name), place in sorted(documented.items())
            if module not in listed or name and name not in listed[module]
        ]
        self.assertEqual(lacking, [])


if __name__ == "__main__":
    main()
