# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each public header: its comments of documentation as text, its declarations between
them."""

import re
import textwrap

import docstrings

FOLDER = "include/gnuradio/aperture"

#: a comment of documentation: a block, or lines that follow on each other
COMMENT = re.compile(r"^[ ]*/\*!(.*?)\*/[ ]*\n|((?:^[ ]*//![^\n]*\n)+)", re.MULTILINE | re.DOTALL)
#: text that is no declaration for users: licence, guards, includes, namespaces, private parts
ELSE = re.compile(
    r"\A(?:\s*/\*(?!!).*?\*/)+|^#(?:ifndef|define) INCLUDED_\w+$|^#endif /\* INCLUDED"
    r"[^\n]*|^#include [^\n]*|^(?:\} // )?namespace [^\n;]*$|"
    r"^( *)private:\n.*?(?=^\1\};)",
    re.MULTILINE | re.DOTALL,
)
#: commands of Doxygen, and their text for a reader
COMMANDS = {
    "param": "`{}`:",
    "throws": "Throws `{}`",
    "exception": "Throws `{}`",
    "returns": "Returns",
    "return": "Returns",
}


class Header:
    """A header of the tree: name from the folder of all, title and text."""

    def __init__(self, path, root):
        self.name = path.relative_to(root / FOLDER).as_posix()
        self.text = path.read_text()

    @property
    def place(self):
        """The page in the site."""
        return f"reference/headers/{self.name.removesuffix('.h').replace('/', '_')}.md"

    @property
    def summary(self):
        """The first sentence that it says of what it is for."""
        for found in COMMENT.finditer(self.text):
            text = docstrings.Docstring(_markdown(found)).summary
            if text:
                return text
        return ""


def _words(found):
    """A comment's text without its signs."""
    if found[1] is not None:
        text = re.sub(r"^[ ]*\*(?: |$)?", "", found[1], flags=re.MULTILINE)
        return textwrap.dedent(text.strip("\n"))
    return re.sub(r"^[ ]*//!?[ ]?", "", found[2], flags=re.MULTILINE)


def _markdown(found):
    """A comment as Markdown; what Doxygen is told by commands becomes a list."""
    made = []
    # clang-format joins them with the text before them, and breaks lines behind them
    command = rf"[\\@](?:{'|'.join(COMMANDS)})\b(?:\[\w+\])?"
    words = re.sub(rf"[ \n]+(?={command})", "\n", _words(found).strip())
    words = re.sub(rf"({command})\s+", r"\1 ", words)
    for line in words.split("\n"):
        command = re.match(r"\s*[\\@](\w+)(?:\[\w+\])?\s*(.*)$", line)
        if not command:
            made.append(line)
        elif command[1] in COMMANDS:
            form, rest = COMMANDS[command[1]], command[2]
            if "{}" in form:
                name = re.match(r"((?:[\w:]+,\s*)*[\w:]+)\s*(.*)$", rest)
                form, rest = form.format(name[1]), name[2]
            made += ["", f"@ {form} {rest}".rstrip()]
        elif command[1] in ("brief", "file"):
            made.append(command[2])
    # each entry of a list is a paragraph here, which markdown() joins and escapes
    text = "\n".join(made).strip()
    return re.sub(r"^@ ", "- ", _escaped(text), flags=re.MULTILINE)


def _escaped(text):
    """Paragraphs escaped, but for what is indented, which is code."""
    pieces = []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.strip() and all(line.startswith("    ") for line in paragraph.split("\n")):
            pieces.append("```cpp\n" + textwrap.dedent(paragraph) + "\n```")
        elif paragraph.startswith("@ "):
            parts = paragraph.split("`", 2)
            if len(parts) == 3:
                pieces.append(f"{parts[0]}`{parts[1]}`{docstrings.escaped(parts[2])}")
            else:
                pieces.append("@ " + docstrings.escaped(paragraph[2:]))
        else:
            pieces.append(docstrings.escaped(paragraph))
    return "\n\n".join(pieces)


def _code(text):
    """Lines with declarations as a block of code; none where there are none."""
    code = textwrap.dedent(re.sub(r"\n{3,}", "\n\n", text).strip("\n")).rstrip()
    # comments behind a declaration stay there
    return ["```cpp", re.sub("//!<?", "//", code), "```", ""] if code else []


def page(header):
    """Markdown of a header's page."""
    lines = [
        f"# {header.name}",
        "",
        "```cpp",
        f"#include <gnuradio/aperture/{header.name}>",
        "```",
        "",
    ]
    text = ELSE.sub("", header.text)
    end = 0
    for found in COMMENT.finditer(text):
        lines += _code(text[end : found.start()])
        end = found.end()
        kind = re.match(r"\s*(?:class|struct|enum class) (?:[A-Z_]+ )?(\w+)", text[end:])
        if kind and not found[0].startswith(" "):
            lines += [f"## {kind[1]}", ""]
        lines += [_markdown(found), ""]
    lines += _code(text[end:])
    return "\n".join(lines)


def all_headers(root):
    """All public headers, those for blocks of other modules first."""
    paths = sorted((root / FOLDER).rglob("*.h"))
    return [
        Header(path, root) for path in sorted(paths, key=lambda path: path.parent.name != "device")
    ]
