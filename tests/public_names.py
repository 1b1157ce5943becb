# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Looks up the public names of gnuradio.aperture, which public_names.yml lists. As a program it prints
those that the package lacks.
"""

import importlib
import importlib.util
import pathlib
import sys

import yaml

ROOT = "gnuradio.aperture"


def public_names():
    """module -> list of names; a name may have parts: `geometry.delays`, `Instrument.replace`."""
    text = pathlib.Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
    return {module: (names or "").split() for module, names in yaml.safe_load(text).items()}


def part_of(value, name):
    """An attribute of a module or a class, or a module below the module."""
    if not hasattr(value, name) and hasattr(value, "__path__"):
        path = f"{value.__name__}.{name}"
        if importlib.util.find_spec(path) is not None:
            return importlib.import_module(path)
    return getattr(value, name)


def missing_names(names):
    """The modules and names of a table as public_names() gives it that cannot be had: texts, each
    with the error."""
    found = []
    for module, wanted in names.items():
        try:
            loaded = importlib.import_module(module)
        except ImportError as error:
            found.append(f"{module}: {error}")
            continue
        for name in wanted:
            value = loaded
            try:
                for part in name.split("."):
                    value = part_of(value, part)
            except (AttributeError, ImportError) as error:
                found.append(f"{module}: {name}: {error}")
    return found


if __name__ == "__main__":
    missing = missing_names(public_names())
    print("\n".join(missing), end="\n" if missing else "")
    sys.exit(len(missing) > 0)
