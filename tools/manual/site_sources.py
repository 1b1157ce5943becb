# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The sources of the site: the pages of docs/ and of the root, with links that hold in the site, and
the reference of blocks, commands and headers. Contents are made from links: a page stands below the
heading of docs/index.md that links to it first, or else below the page that does so first.
"""

import os
import re
import shutil

import blocks
import commands
import headers

#: pages outside of docs/ -> their names in the site
ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "releases.md",
    "SECURITY.md": "security.md",
}
#: pages that the site has in others' places
INSTEAD = {"README.md": "index.md"}

#: the head of a page that is in no contents
ORPHAN = "---\norphan: true\n---\n\n"

LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")


class SiteError(Exception):
    """The reason why the site cannot be made; the message says what to do."""


def outside_code(text, change):
    """The text with change() done to what is no code, in fences, indented, or in backticks."""
    pieces = re.split(r"(^```.*?^```[ ]*$|`[^`\n]*`)", text, flags=re.MULTILINE | re.DOTALL)
    pieces[::2] = [change(piece) for piece in pieces[::2]]
    return "".join(pieces)


class Site:
    """The sources of a site, as {path: text}, and files that are copied into it."""

    def __init__(self, source):
        self.source = source
        self.pages = {}  # path in the site -> Markdown
        self.copies = {}  # path in the site -> path in the tree
        self.headers = {
            f"{headers.FOLDER}/{header.name}": header for header in headers.all_headers(source)
        }
        self.folders = set()  # folders of the tree to which pages link
        self._read()
        self._add_reference()
        self._add_contents()

    # ---- pages of the tree

    def _read(self):
        docs = self.source / "docs"
        for path in sorted(docs.rglob("*")):
            name = path.relative_to(docs).as_posix()
            if path.suffix == ".md":
                self._add(path, name)
            elif path.is_file():
                self.copies[name] = path
        for name, place in ROOT_PAGES.items():
            self._add(self.source / name, place)
        for folder in sorted(self.folders):
            self._add_folder(folder)

    def _add(self, path, name, head=""):
        self.pages[name] = head  # here, also to what it links to

        def relink(found):
            target, heading = found[1], found[2] or ""
            if "://" in target or not target:
                return found[0]
            return f"]({self._place_of(path, target, name)}{heading})"

        self.pages[name] += outside_code(path.read_text(), lambda text: LINK.sub(relink, text))

    def _place_of(self, page, link, name):
        """Returns the place of what a page of the tree links to, from the page `name` of the
        site."""
        target = (page.parent / link).resolve()
        try:
            inside = target.relative_to(self.source).as_posix()
        except ValueError:
            raise SiteError(f"{page}: {link} is outside of the source tree") from None
        if not target.exists():
            raise SiteError(f"{page}: {link} is not there")
        if inside in INSTEAD:
            place = INSTEAD[inside]
        elif inside in ROOT_PAGES:
            place = ROOT_PAGES[inside]
        elif inside.startswith("docs/"):
            place = inside[len("docs/") :]
        elif inside in self.headers:
            place = self.headers[inside].place
        elif target.is_dir():
            self.folders.add(inside)
            place = f"sources/{inside}.md"
        elif target.suffix == ".md":
            place = f"sources/{inside}"
            if place not in self.pages:
                self._add(target, place, ORPHAN)
        else:
            place = f"files/{inside}"
            self.copies[place] = target
        return os.path.relpath(place, os.path.dirname(name) or ".")

    def _add_folder(self, folder):
        """A page with what a folder of the tree holds."""
        name = f"sources/{folder}.md"
        lines = [f"# {folder}", ""]
        for path in sorted((self.source / folder).iterdir()):
            if path.is_file() and not path.name.endswith("~"):
                place = self._place_of(self.source / folder / "page", path.name, name)
                lines.append(f"- [{path.name}]({place})")
        self.pages[name] = ORPHAN + "\n".join(lines) + "\n"

    # ---- reference

    def _add_reference(self):
        self.blocks = {block.name: block for block in blocks.all_blocks(self.source)}
        self.commands = {command.name: command for command in commands.all_commands(self.source)}
        places = {
            **{name: f"reference/blocks/{name}.md" for name in self.blocks},
            **{name: f"reference/commands/{name}.md" for name in self.commands},
        }
        mentions = {name: self._mentions(name, place) for name, place in places.items()}
        for name, block in self.blocks.items():
            self.pages[places[name]] = blocks.page(block, mentions[name])
        for name, command in self.commands.items():
            self.pages[places[name]] = commands.page(command, mentions[name])

        table = self.pages["blocks.md"]
        self.pages["blocks.md"] = re.sub(
            r"^\| `(\w+)` \|",
            lambda found: (
                f"| [`{found[1]}`]({places[found[1]]}) |" if found[1] in places else found[0]
            ),
            table,
            flags=re.MULTILINE,
        )
        index = self.pages["reference/index.md"].rstrip("\n").split("\n")
        index += ["", "## Commands", ""]
        index += [
            f"- [{name}](commands/{name}.md): {command.summary[0].lower()}{command.summary[1:]}"
            for name, command in self.commands.items()
        ]
        index += ["", "## Blocks", ""]
        index += [
            f"- [{name}](blocks/{name}.md): {block.doc.summary}"
            for name, block in self.blocks.items()
        ]
        index += [
            "",
            "## Headers",
            "",
            "In C++, `#include <gnuradio/aperture/...>`; those in "
            "`device/` are for [blocks of other modules](../writing-blocks.md#in-c).",
            "",
        ]
        for header in self.headers.values():
            self.pages[header.place] = headers.page(header)
            place = os.path.relpath(header.place, "reference")
            index.append(f"- [{header.name}]({place}): {header.summary}".rstrip(": "))
        self.pages["reference/index.md"] = "\n".join(index) + "\n"

    def _mentions(self, name, place):
        """[(title, link)] of pages and examples that have a name, those that say most first."""
        found = []
        for page, text in self.pages.items():
            number = len(re.findall(rf"\b{name}\b", text))
            if (
                number
                and not page.startswith(("notes/", "reference/", "sources/"))
                and page not in ("index.md", "releases.md")
            ):
                found.append((-number, self.title(page), page))
        made = [
            (title, os.path.relpath(page, os.path.dirname(place)))
            for _, title, page in sorted(found)[:8]
        ]
        for path in sorted((self.source / "examples").rglob("*")):
            pattern = rf"\baperture_{name}\b" if path.suffix == ".grc" else rf"\baperture\.{name}\("
            if path.suffix in (".grc", ".py") and re.search(pattern, path.read_text()):
                inside = f"files/{path.relative_to(self.source).as_posix()}"
                self.copies[inside] = path
                made.append(
                    (
                        path.relative_to(self.source / "examples").as_posix(),
                        os.path.relpath(inside, os.path.dirname(place)),
                    )
                )
        return made

    def title(self, page):
        found = re.search(r"^# (.*)$", self.pages[page], flags=re.MULTILINE)
        if not found:
            raise SiteError(f"{page}: a page begins with a heading, # ...")
        return found[1]

    # ---- contents

    def _links(self, text, page):
        """Pages of the site to which a text of a page links, each once."""
        made = []

        def note(piece):
            for target, _ in LINK.findall(piece):
                place = os.path.normpath(os.path.join(os.path.dirname(page), target))
                if place in self.pages and place not in made and not place.startswith("sources/"):
                    made.append(place)
            return piece

        # code in links' texts is no matter here
        note(re.sub(r"^```.*?^```[ ]*$", "", text, flags=re.MULTILINE | re.DOTALL))
        return made

    def _add_contents(self):
        seen, queue = {"index.md"}, []
        trees = []
        sections = re.split(r"^## (.*)$", self.pages["index.md"], flags=re.MULTILINE)
        for caption, text in zip(sections[1::2], sections[2::2]):
            pages = [page for page in self._links(text, "index.md") if page not in seen]
            seen.update(pages)
            queue += pages
            trees.append(self._tree("index.md", pages, caption))
        self.pages["index.md"] += "".join(trees)
        while queue:
            page = queue.pop(0)
            pages = [other for other in self._links(self.pages[page], page) if other not in seen]
            seen.update(pages)
            queue += pages
            if pages:
                self.pages[page] += self._tree(page, pages)
        left = [page for page in self.pages if page not in seen and not page.startswith("sources/")]
        if left:
            raise SiteError(
                f"no page links to {', '.join(left)}: docs/index.md is the place, "
                "below the heading where it is to stand in the contents"
            )

    def _tree(self, page, pages, caption=None):
        lines = ["", "```{toctree}", ":hidden:"]
        if caption:
            lines += [f":caption: {caption}"]
        folder = os.path.dirname(page) or "."
        lines += [
            "",
            *(os.path.relpath(other, folder).removesuffix(".md") for other in pages),
            "```",
            "",
        ]
        return "\n".join(lines)

    # ---- out

    def write(self, folder):
        """Writes the sources into a folder; what is the same as before keeps its time."""
        wanted = {folder / name: text for name, text in self.pages.items()}
        for name, path in self.copies.items():
            self._update(folder / name, path.read_bytes())
        for path, text in wanted.items():
            self._update(path, text.encode())
        here = pathlib_files(folder)
        for path in here - set(wanted) - {folder / name for name in self.copies}:
            path.unlink()

    @staticmethod
    def _update(path, data):
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def pathlib_files(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def add_theme(folder, source):
    """Configuration and styles, beside the sources."""
    shutil.copytree(source / "tools/manual/static", folder / "static", dirs_exist_ok=True)
    shutil.copy2(source / "tools/manual/conf.py", folder / "conf.py")
