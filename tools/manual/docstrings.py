# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docstrings as Markdown: paragraphs, lists, code, and the sections of arguments and errors."""

import re
import textwrap
from dataclasses import dataclass, field

SECTIONS = ("Args", "Arguments", "Parameters", "Raises", "Returns", "Yields")


@dataclass
class Docstring:
    """A docstring, in parts. text: Markdown; sections: title -> [(name, type or "", plain text)],
    or text of Returns."""

    text: str
    sections: dict = field(default_factory=dict)

    @property
    def summary(self):
        """The first sentence of the text, Markdown on one line."""
        first = self.text.split("\n\n")[0].replace("\n", " ")
        found = re.match(r"(.*?[.:])(\s|$)", first)
        return (found[1] if found else first).rstrip(".:")

    def entries(self, *titles):
        """Returns the entries of the first of these sections that is there."""
        for title in titles:
            if title in self.sections:
                return self.sections[title]
        return []


def escaped(text):
    """Plain text as Markdown; `code` stays code."""
    parts = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.DOTALL)
    # Markdown has backslashes for what is punctuation to it
    parts[::2] = [re.sub(r"([\\*_\[\]<>#|~$])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def cell(text):
    """Plain text as a cell of a table."""
    text = escaped(" ".join(text.split()))
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def markdown(text):
    """Plain text of a docstring as Markdown: what is indented is code, "- " begins an entry."""
    made = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if not paragraph.strip():
            continue
        if all(line.startswith("    ") for line in paragraph.splitlines()):
            made.append("```text\n" + textwrap.dedent(paragraph) + "\n```")
        else:
            made.append(escaped(textwrap.dedent(paragraph)))
    # code of several paragraphs is one
    return re.sub(r"\n```\n\n```text\n", "\n\n", "\n\n".join(made))


def _google_entries(body):
    """Reads lines "    name: text", with more of the text on lines that are further indented."""
    entries = []
    for line in textwrap.dedent(body).splitlines():
        found = re.match(r"(\*{0,2}\w[\w, .]*?)\s*(?:\(([^)]*)\))?:(?:\s+(.*))?$", line)
        if found and not line.startswith(" "):
            entries.append([found[1], found[2] or "", found[3] or ""])
        elif entries:
            entries[-1][2] += " " + line.strip()
        elif line.strip():
            entries.append(["", "", line.strip()])
    return [tuple(entry) for entry in entries]


def _numpy_entries(body):
    """Reads lines "name : type", with an indented text below each."""
    entries = []
    for line in textwrap.dedent(body).splitlines():
        if line.startswith(" ") and entries:
            entries[-1][2] = f"{entries[-1][2]} {line.strip()}".strip()
        elif line.strip():
            name, _, kind = line.partition(" : ")
            entries.append([name.strip(), kind.strip(), ""])
    return [tuple(entry) for entry in entries]


def parse(doc):
    """A Docstring of what inspect.getdoc() returns, in Google's or NumPy's style."""
    doc = (
        re.sub(r"^.*\) -> .*$", "", doc or "", count=1, flags=re.MULTILINE)
        if re.match(r"\w+\(.*\) -> ", doc or "")
        else doc or ""
    )
    titles = "|".join(SECTIONS)
    pieces = re.split(rf"^(?:({titles}):|({titles})\n-{{3,}})[ ]*$", doc, flags=re.MULTILINE)
    sections = {}
    for google, numpy, body in zip(pieces[1::3], pieces[2::3], pieces[3::3]):
        if google:
            # text that is not indented any more is text again
            end = re.search(r"\n\n(?=\S)", body)
            if end:
                pieces[0] += body[end.start() :]
                body = body[: end.start()]
        sections[google or numpy] = (_google_entries if google else _numpy_entries)(
            body.strip("\n")
        )
    return Docstring(markdown(pieces[0].strip("\n")), sections)
