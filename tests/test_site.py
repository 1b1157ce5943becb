# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual: the site is built without a warning, its links hold, and blocks and commands are
described by what they say of themselves, there and in manual pages."""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse

from gnuradio.aperture.testing.tiers import long_test
from places import BUILD, SOURCE, fresh_folder, main, run_or_fail

sys.path.insert(0, str(SOURCE / "tools/manual"))

import blocks
import commands
import docstrings
import signatures
import site_sources
from gnuradio import aperture

from gnuradio.aperture.parameters.description import parameters_of


class Page(html.parser.HTMLParser):
    """Links, anchors and text of an HTML page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.fetched, self.text = set(), set(), [], []
        self.feed(path.read_text())
        self.text = "".join(self.text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)
                # addresses that a browser loads with the page, and not when somebody follows them
                if "//" in value and (
                    tag in ("script", "img", "iframe")
                    or tag == "link"
                    and ("rel", "stylesheet") in attributes
                ):
                    self.fetched.append(value)

    def handle_data(self, data):
        self.text.append(data)


class TestSources(unittest.TestCase):
    """The sources of the site, without Sphinx: which pages there are, and what they link to."""

    @classmethod
    def setUpClass(cls):
        # complains of pages that nobody links to, and of links that lead nowhere
        cls.site = site_sources.Site(SOURCE)

    def test_links(self):
        """Every link leads to a page of the site, or to a file that is copied into it."""
        self.assertGreater(len(self.site.pages), 80)
        there = {*self.site.pages, *self.site.copies}
        broken = []
        for name, text in self.site.pages.items():
            code = r"^```.*?^```[ ]*$|`[^`\n]*`"
            for link, _ in site_sources.LINK.findall(re.sub(code, "", text, flags=re.M | re.S)):
                target = os.path.normpath(os.path.join(os.path.dirname(name), link))
                if link and "://" not in link and target not in there:
                    broken.append(f"{name}: {link}")
        self.assertEqual(broken, [])

    def test_contents(self):
        """The contents have every page that somebody wrote, below headings of the index."""
        listed = set()
        for name, text in self.site.pages.items():
            for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
                listed |= {
                    os.path.normpath(os.path.join(os.path.dirname(name), f"{line}.md"))
                    for line in tree.splitlines()
                    if line and line[0] != ":"
                }
        written = {
            path.relative_to(SOURCE / "docs").as_posix() for path in (SOURCE / "docs").rglob("*.md")
        }
        self.assertEqual(written - listed, {"index.md"})
        for caption in ("Begin", "Reference", "The project"):
            self.assertIn(f":caption: {caption}\n", self.site.pages["index.md"])

    def test_blocks(self):
        """Each block has a page with all its parameters, each of which means something."""
        self.assertGreater(len(self.site.blocks), 30)
        unsaid = []
        for block in self.site.blocks.values():
            page = self.site.pages[f"reference/blocks/{block.name}.md"]
            for parameter in parameters_of(block.made_by):
                self.assertIn(f"| `{parameter.name}` |", page, block.name)
                if not parameter.meaning:
                    unsaid.append(f"{block.name}: {parameter.name}")
            for name in block.methods:
                self.assertIn(name, page, block.name)
            self.assertIn(block.label, page)
        self.assertEqual(unsaid, [], "their descriptions are to say what these parameters mean")

    def test_commands(self):
        """Each program has a page and a manual page with all its options, which do not depend on
        whose machine it was."""
        self.assertGreater(len(self.site.commands), 8)
        for name, command in self.site.commands.items():
            page = self.site.pages[f"reference/commands/{name}.md"]
            roff = commands.manual_page(command, aperture.__version__, list(self.site.commands))
            self.assertIn(f"gr-aperture {aperture.__version__}", roff)
            for action in command.parser._actions:
                for option in action.option_strings:
                    self.assertIn(option, page, name)
                    self.assertIn(option, roff.replace("\\-", "-"), name)
            for path in (str(SOURCE), str(BUILD), os.path.expanduser("~")):
                self.assertNotIn(path, page)
                self.assertNotIn(path, roff)

    def test_headers(self):
        """Each public header has a page with all that it says and declares for users."""
        self.assertGreater(len(self.site.headers), 35)
        for path, header in self.site.headers.items():
            page = self.site.pages[header.place]
            plain = re.sub(r"\s+", " ", page.replace("\\", ""))
            for line in header.text.split("\n"):
                # documentation on lines of its own, and what is public of a class or a function
                said = re.match(r"\s*//! (\w[\w ,]*)|(?:class|struct) ([A-Z_]+ \w+)", line)
                if said:
                    self.assertIn((said[1] or said[2]).strip(), plain, path)
            for sign in ("//!", "/*!", "INCLUDED_", "private:", "SPDX", "\\param", "\\throws"):
                self.assertNotIn(sign, page, path)
        device_block = self.site.pages["reference/headers/device_device_block.md"]
        self.assertIn("## device_block\n", device_block)
        self.assertIn("signature_on(const device& d, int streams, int item_size);", device_block)
        self.assertIn("headers/device_device_block.md", self.site.pages["reference/index.md"])
        self.assertIn(
            "(reference/headers/device_device_block.md)", self.site.pages["writing-blocks.md"]
        )


@long_test
class TestSite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Sphinx does again what has changed
        run_or_fail(cls("test_links"), SOURCE / "tools/site", BUILD / "site")
        cls.html = BUILD / "site/html"
        cls.pages = {path: Page(path) for path in cls.html.rglob("*.html")}

    def test_links(self):
        """Every link of every page leads to a file, and to an anchor of it; nothing is loaded from
        the network."""
        self.assertGreater(len(self.pages), 80)
        broken = []
        for path, page in self.pages.items():
            for link in page.links:
                parts = urllib.parse.urlsplit(link)
                if parts.scheme in ("http", "https", "data", "mailto"):
                    continue
                target = path
                if parts.path:
                    target = (path.parent / urllib.parse.unquote(parts.path)).resolve()
                if not target.is_file():
                    broken.append(f"{path.relative_to(self.html)}: {link}")
                elif (
                    parts.fragment
                    and target in self.pages
                    and urllib.parse.unquote(parts.fragment) not in self.pages[target].anchors
                ):
                    broken.append(f"{path.relative_to(self.html)}: {link}")
        self.assertEqual(broken, [])
        self.assertEqual([link for page in self.pages.values() for link in page.fetched], [])

    def test_reference(self):
        """The pages of blocks and commands have become pages, with what stands in them."""
        for block in blocks.all_blocks(SOURCE):
            page = self.pages[self.html / f"reference/blocks/{block.name}.html"]
            named = [parameter.name for parameter in parameters_of(block.made_by)]
            for name in (*named, *block.methods, block.label):
                self.assertIn(name, page.text, block.name)
        for command in commands.all_commands(SOURCE):
            page = self.pages[self.html / f"reference/commands/{command.name}.html"]
            for action in command.parser._actions:
                for option in action.option_strings:
                    self.assertIn(option, page.text, command.name)

    def test_manual_pages(self):
        """`man` shows each without a warning, with all options."""
        folder = fresh_folder("man")
        run_or_fail(self, sys.executable, SOURCE / "tools/manual/make.py", "man", folder)
        made = commands.all_commands(SOURCE)
        self.assertEqual(
            {path.name for path in folder.iterdir()}, {f"{command.name}.1" for command in made}
        )
        for command in made:
            shown = self.man(folder / f"{command.name}.1")
            for action in command.parser._actions:
                for option in action.option_strings:
                    self.assertIn(option, shown, command.name)

    def man(self, roff):
        """Returns what `man` shows; the test fails with what it warns of."""
        if shutil.which("man") is None:
            return roff.read_text().replace("\\-", "-")
        result = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", str(roff)],
            capture_output=True,
            text=True,
            env={**os.environ, "MANWIDTH": "400", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"},
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""), roff.name)
        return re.sub(".\b", "", result.stdout)

    def test_contents(self):
        """The contents on the left have every page that somebody wrote."""
        index = self.pages[self.html / "index.html"]
        reached, new = set(), [self.html / "index.html"]
        while new:
            path = new.pop()
            for link in self.pages[path].links:
                target = (path.parent / link.split("#")[0]).resolve()
                if target in self.pages and target not in reached:
                    reached.add(target)
                    new.append(target)
        written = {
            self.html / path.relative_to(SOURCE / "docs").with_suffix(".html")
            for path in (SOURCE / "docs").rglob("*.md")
        }
        self.assertEqual(written - reached, set())
        for caption in ("Begin", "Reference", "The project"):
            self.assertIn(caption, index.text)


class TestDocstrings(unittest.TestCase):
    def test_google(self):
        """Text, arguments over several lines, and what may be raised, in Google's style."""
        doc = docstrings.parse(
            "Sums a*b_c.\n\nMore.\n\nArgs:\n    a: of a\n        frame\n"
            "    b (int): the other\n\nRaises:\n    ValueError: if not"
        )
        self.assertEqual(doc.text, r"Sums a\*b\_c." + "\n\nMore.")
        self.assertEqual(doc.summary, r"Sums a\*b\_c")
        self.assertEqual(doc.entries("Args"), [("a", "", "of a frame"), ("b", "int", "the other")])
        self.assertEqual(doc.entries("Raises"), [("ValueError", "", "if not")])

    def test_numpy(self):
        """The same in NumPy's style."""
        doc = docstrings.parse(
            "Sums.\n\nParameters\n----------\na : int\n    Of a\n    frame.\n"
            "\nRaises\n------\nValueError\n    If not."
        )
        self.assertEqual(doc.entries("Parameters"), [("a", "int", "Of a frame.")])
        self.assertEqual(doc.entries("Raises"), [("ValueError", "", "If not.")])

    def test_tables(self):
        """A pipe ends no cell, also in code."""
        self.assertEqual(docstrings.cell("|x| `a|b`\nc"), r"\|x\| `a\|b` c")

    def test_signatures(self):
        """Defaults of functions, and of what pybind11 binds."""

        def function(a, b=(1, 2)):
            """Adds."""

        self.assertEqual(signatures.parameters(function), {"a": None, "b": "(1, 2)"})
        self.assertEqual(signatures.split("a, (b, c), 'd,'"), ["a", "(b, c)", "'d,'"])
        found = signatures.parameters(aperture.xengine.set_integration)
        self.assertEqual(found, {"length": None, "unit": "'frames'"})


if __name__ == "__main__":
    main()
