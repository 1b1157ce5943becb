# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page, and a manual page, for each command: from its parser."""

import argparse
import importlib
import os
import re
import textwrap

# the manual must not depend on the machine on which it is made
os.environ["COLUMNS"] = "96"
os.environ.pop("APERTURE_VENV", None)
os.environ["XDG_DATA_HOME"] = "~/.local/share"

import docstrings


class Command:
    """A program of apps/: name, summary of its file, and the parser of its module."""

    def __init__(self, path):
        text = path.read_text()
        self.name = path.name
        self.summary = re.search(r'"""(.*?)[;.](?= see|""")', text, flags=re.DOTALL)[1]
        module = re.search(r"from gnuradio\.aperture\.([\w.]+) import main", text)[1]
        self.parser = importlib.import_module(f"gnuradio.aperture.{module}").parser()

    def usage(self):
        text = self.parser.format_usage().removeprefix("usage: ")
        return re.sub(r"^ +", "    ", text.strip(), flags=re.MULTILINE)

    def description(self):
        return " ".join((self.parser.description or "").split())

    def epilog(self):
        """Returns the epilog's lines as --help has them."""
        formatter = self.parser._get_formatter()
        formatter.add_text(self.parser.epilog)
        return textwrap.dedent(formatter.format_help()).strip("\n")

    def groups(self):
        """[(title, [(option as written, meaning)])]."""
        found = []
        for group in self.parser._action_groups:
            entries = []
            for action in group._group_actions:
                if action.help == argparse.SUPPRESS:
                    continue
                formatter = self.parser._get_formatter()
                shown = formatter._format_action_invocation(action)
                entries.append(
                    (shown, " ".join(formatter._expand_help(action).split()) if action.help else "")
                )
            if entries:
                found.append((group.title, entries))
        return found


def all_commands(source):
    """All programs of the source tree, in the order of their names."""
    return [
        Command(path)
        for path in sorted((source / "apps").glob("aperture_*"))
        if path.is_file() and "." not in path.name and not path.name.endswith("~")
    ]


def page(command, mentions):
    """Markdown of a command's page."""
    lines = [
        f"# {command.name}",
        "",
        docstrings.escaped(command.description()),
        "",
        "```text",
        command.usage(),
        "```",
        "",
    ]
    for title, entries in command.groups():
        lines += [f"## {title[0].upper() + title[1:]}", ""]
        for shown, meaning in entries:
            lines += [f"`{shown}`", f": {docstrings.escaped(meaning) or '&nbsp;'}", ""]
    if command.epilog():
        lines += ["## More", "", "```text", command.epilog(), "```", ""]
    if mentions:
        lines += ["## Pages with it", "", *(f"- [{title}]({link})" for title, link in mentions), ""]
    return "\n".join(lines)


def _roff(text):
    """Text for a manual page: backslashes, hyphens of options and lines that begin with a dot."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def manual_page(command, version, others):
    """A manual page in roff; others: names of commands to be seen, too."""
    name = command.name
    made = [
        f'.TH {name.upper()} 1 "" "gr-aperture {version}" "gr-aperture"',
        ".SH NAME",
        _roff(f"{name} - {command.summary[0].lower() + command.summary[1:]}").replace(
            " \\- ", " \\- ", 1
        ),
        ".SH SYNOPSIS",
        ".nf",
        _roff(command.usage()),
        ".fi",
        ".SH DESCRIPTION",
        _roff(command.description()),
    ]
    for title, entries in command.groups():
        made.append(f".SH {_roff(title.upper())}")
        for shown, meaning in entries:
            made += [".TP", r"\fB" + _roff(shown) + r"\fR", _roff(meaning) or r"\&"]
    if command.epilog():
        made += [".SH NOTES", ".nf", _roff(command.epilog()), ".fi"]
    made += [
        ".SH SEE ALSO",
        ",\n".join(f".BR {_roff(other)} (1)" for other in others if other != name).replace(
            ",\n", " ,\n"
        ),
        ".PP",
        _roff(
            "The manual is below /usr/share/doc/gr-aperture, or where gr-aperture was installed."
        ),
    ]
    return "\n".join(made) + "\n"
