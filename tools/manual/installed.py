#!/usr/bin/env python3
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
installed.py FOLDER: the pages of the tree as they are installed, below FOLDER.

Pages link to sources, most of which are not installed with them: links to headers lead to where
these are, and others become text that says where in the source tree it is.
"""

import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]

#: pages and their folders that are installed into share/doc/gr-aperture: docs/CMakeLists.txt
ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
FOLDERS = ("docs", "examples")
OTHERS = ("CITATION.cff", "COPYING")
#: the place of pages, from the prefix
PLACE = "share/doc/gr-aperture"

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def pages():
    """Paths of all pages from the root of the tree."""
    below = [
        path.relative_to(SOURCE)
        for folder in FOLDERS
        for path in sorted((SOURCE / folder).rglob("*.md"))
    ]
    return [*map(pathlib.Path, ROOT_PAGES), *below]


def installed(page):
    """The text of a page as it is installed."""

    def relink(found):
        text, target, heading = found[1], found[2], found[3] or ""
        if "://" in target:
            return found[0]
        path = os.path.normpath(page.parent / target)
        first = pathlib.PurePath(path).parts[0]
        if first in FOLDERS or path in ROOT_PAGES or path in OTHERS:
            return found[0]
        if first == "include":
            place = os.path.relpath(path, pathlib.PurePath(PLACE, page.parent))
            return f"[{text}]({place}{heading})"
        if text.strip("`") in (path, os.path.basename(path)):
            return f"`{path}` of the source"
        return f"{text} (`{path}` of the source)"

    return LINK.sub(relink, (SOURCE / page).read_text())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    wanted = {folder / page: installed(page) for page in pages()}
    for path in set(folder.rglob("*.md")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
