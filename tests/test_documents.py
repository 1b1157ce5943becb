# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""README.md and its neighbours, docs/ and docstrings: what they name is there."""

import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import os
import re
import shlex
import time
import unittest

import numpy as np
import pmt
import yaml
from gnuradio import aperture, blocks, gr
from PIL import Image

from gnuradio.aperture.arrays import array_description
from gnuradio.aperture.arrays.description_keys import keys_of
from gnuradio.aperture.beams import beams as beams_module
from gnuradio.aperture.testing.tiers import long_test
from places import PATIENCE, SOURCE, fresh_folder, main, working_in

README = (SOURCE / "README.md").read_text()
PAGES = [*SOURCE.glob("*.md"), *(SOURCE / "docs").rglob("*.md")]
#: endings of what is to be reached by links
SHOWN = (".md", ".svg", ".png")
#: a page that is longer is two
MOST_LINES = 300

# docs/glossary.md has the words for these: producer, consumer, work tile, schedule, sc4, sc16,
# multiplied by -i, rows of tiles, frame, cycle
OTHER_WORDS = re.compile(
    r"\b(batons?|crews?|helper warps?|helpers|feeders?|laps?|rehears\w*|nibbles?|shorts|strips?"
    r"|turned|turning|half a turn|(full|one|whole) turns?|turns a second"
    r"|spectra (in )?a block|blocks? of (spectra|voltages))\b",
    re.IGNORECASE,
)

# the first words of a sentence without its subject, with which no comment or docstring begins
NO_SUBJECT = set(
    "also and as but how it its likewise nor of or so such than that them they those what whatever "
    "where wherever whether which who whoever whom whose why".split()
)
# with these a docstring begins only where its first sentence has one of VERBS
PREPOSITIONS = set(
    "above across after against along among around at because before behind below beside between "
    "beyond by even except for from if in into like not on only over since through to under unless "
    "until upon when while with within without".split()
)
VERBS = re.compile(
    r"\b(is|are|was|were|be|has|have|had|does|do|did|can|cannot|may|must|will|would|should|could)\b"
)
#: a docstring without a first sentence begins with the fields or the parameters
NO_SENTENCE = re.compile(r"[a-z]+(, [a-z]+)*[;:] |Parameters\n|Args:")
#: the beginning of a comment in Python, and in C++
PYTHON = re.compile(r"(?:^|(?<=  ))#[:!]*\s+(.*)")
CPP = re.compile(r"(?:^|(?<=\s))(?://[!/<]*\s+|/\*[!*]?\s+)(.*)")


def comments(text, mark):
    """(line, text) of each comment; the next line of one that goes on is none of its own."""
    before = None
    for row, line in enumerate(text.splitlines(), start=1):
        if found := mark.search(line):
            place = found.start()
            if before != (row - 1, place) or line[:place].strip():
                yield row, found[1]
            before = row, place


def docstrings(text):
    """(line, first sentence) of each docstring; a sentence ends with the first full stop."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if docstring := ast.get_docstring(node):
                yield node.body[0].lineno, re.split(r"\.\s|\n\n", docstring)[0]


def first_word(sentence):
    """The first word in small letters, or "" where a sentence begins with a name or a sign."""
    found = re.match(r"[A-Z]?[a-z]+\b", sentence)
    return found[0].lower() if found else ""


def headings_of(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for title in re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", title.lower())
        found.add(kept.replace(" ", "-"))
    return found


def own_public_names():
    """name -> object of what this package defines (not what it imports from elsewhere)."""
    found = {}
    for name, value in vars(aperture).items():
        module = getattr(value, "__module__", None) or ""
        if not name.startswith("_") and module.startswith("gnuradio.aperture"):
            found[name] = value
    return found


def described(value):
    """True if the docstring says more than pybind11's line of types."""
    text = inspect.getdoc(value) or ""
    text = re.sub(r"^.*\) -> .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(\d+\.|Overloaded function\.)\s*$", "", text, flags=re.MULTILINE)
    return len(text.strip()) > 10


def shell_lines(text):
    """Lines of what a page shows indented, or in a fence without a language, joined at "\\"."""
    fences = r"^```(\w*)\n(.*?)^```"
    shown = [
        code
        for language, code in re.findall(fences, text, flags=re.MULTILINE | re.DOTALL)
        if language in ("", "sh", "bash")
    ]
    rest = re.sub(fences, "", text, flags=re.MULTILINE | re.DOTALL)
    shown += re.findall(r"(?<=\n\n)(?:    .*\n)+", rest)
    for code in shown:
        for line in re.sub(r"\\\n\s*", "", code).splitlines():
            if re.match(
                r"\s*(\w+=\S+ )*(sudo )?(tools/\w+ .*&& )?(tools/run )?aperture_\w+ ", line
            ):
                yield line.strip()


class TestDocuments(unittest.TestCase):
    def test_manifest(self):
        """gr_modtool's keys are filled in."""
        header = (SOURCE / "MANIFEST.md").read_text().split("\n---\n")[0]
        manifest = yaml.safe_load(header)
        for key in (
            "title",
            "brief",
            "tags",
            "author",
            "copyright_owner",
            "license",
            "gr_supported_version",
        ):
            self.assertTrue(manifest[key], key)
        self.assertEqual(manifest["license"], "GPL-3.0-or-later")
        for template in ("Author Name", "Short description", "Copyright Owner 1"):
            self.assertNotIn(template, header)

    def test_version(self):
        """CMake's version is that of the newest release and of what is cited."""
        version = re.search(
            r"^project\(gr-aperture VERSION (\S+)",
            (SOURCE / "CMakeLists.txt").read_text(),
            flags=re.MULTILINE,
        )[1]
        self.assertEqual(aperture.__version__, version)
        releases = re.findall(r"^## (.*?) \(", (SOURCE / "CHANGELOG.md").read_text(), re.MULTILINE)
        self.assertEqual(releases[0], version)
        citation = yaml.safe_load((SOURCE / "CITATION.cff").read_text())
        self.assertEqual(citation["version"], version)
        for key in ("cff-version", "message", "title", "authors", "license", "references"):
            self.assertTrue(citation[key], key)
        for paper in citation["references"]:
            self.assertTrue(
                paper["type"]
                and paper["title"]
                and paper["authors"]
                and paper["year"]
                and ("journal" in paper or "identifiers" in paper or "collection-title" in paper),
                paper["title"],
            )

    def test_lengths(self):
        """README is short, and no page is so long that nobody reads it."""
        self.assertLessEqual(len(README.splitlines()), 120)
        long = {str(page.relative_to(SOURCE)): len(page.read_text().splitlines()) for page in PAGES}
        self.assertEqual({page: lines for page, lines in long.items() if lines > MOST_LINES}, {})

    def pictures(self):
        """tools/pictures as a module, and {name: path} of the pictures that are kept."""
        name = str(SOURCE / "tools/pictures")
        loader = importlib.machinery.SourceFileLoader("pictures", name)
        pictures = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("pictures", loader)
        )
        loader.exec_module(pictures)
        return pictures, {path.stem: path for path in (SOURCE / "docs/pictures").iterdir()}

    def test_pictures(self):
        """Pictures are small, and made by tools/pictures."""
        pictures, here = self.pictures()
        self.assertEqual(set(here), set(pictures.PICTURES), "tools/pictures makes all of them")
        for path in here.values():
            self.assertLessEqual(path.stat().st_size, pictures.MOST_BYTES, path)

    @long_test
    def test_picture_of_readme(self):
        """The picture is what today's commands draw."""
        pictures, here = self.pictures()
        folder = fresh_folder("pictures")
        pictures.make("fringes", folder)
        with Image.open(folder / "fringes.png") as made, Image.open(here["fringes"]) as kept:
            small = [
                np.asarray(picture.convert("RGB").resize((160, 160)), float)
                for picture in (made, kept)
            ]
        # levels of 256; another signal has other colours in a third of the picture
        self.assertLess(
            np.abs(small[0] - small[1]).mean(),
            3,
            "docs/pictures/fringes.png is not what tools/pictures makes",
        )

    def test_commands(self):
        """The commands that pages show have options and values that these commands take."""
        parsers = {
            path.name: importlib.import_module(
                "gnuradio.aperture."
                + re.search(r"from gnuradio\.aperture\.([\w.]+) import main", path.read_text())[1]
            ).parser
            for path in (SOURCE / "apps").glob("aperture_*")
            if "." not in path.name
        }
        number, refused = 0, []
        for page in PAGES:
            for line in shell_lines(page.read_text()):
                words = shlex.split(line, comments=True)
                programs = [place for place, word in enumerate(words) if word in parsers]
                # "..." leaves something out, as do capitals in the place of a value
                if not programs or re.search(r"\.\.\.|…|\b[A-Z]{3,}\b", line):
                    continue
                words = words[programs[0] :]
                ends = [
                    place
                    for place, word in enumerate(words)
                    if word in ("&&", "|", ">", "2>", "&", ";")
                ]
                words = words[: ends[0]] if ends else words
                number += 1
                said = io.StringIO()
                try:
                    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                        parsers[words[0]]().parse_args(words[1:])
                except SystemExit as end:
                    # a file of the reader's own
                    if end.code and "no such file" not in said.getvalue():
                        refused.append(f"{page.name}: {line}: {said.getvalue().splitlines()[-1]}")
        self.assertGreater(number, 40)
        self.assertEqual(refused, [])

    def test_code(self):
        """Python in the pages is Python, and YAML is YAML."""
        for page in PAGES:
            for language, code in re.findall(
                r"^```(\w+)\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL
            ):
                with self.subTest(page=page.name, code=code[:60]):
                    if language == "python":
                        # "..." for arguments that are left out
                        ast.parse(re.sub(r"\.\.\.(?=\s*\))", "**others", code))
                    elif language in ("yaml", "yml"):
                        yaml.safe_load(code)

    def test_snippets_run(self):
        """Python on these pages runs as it stands, and without an error."""
        for name in ("zoom", "synthesizer", "vlbi", "visibility-averages", "products"):
            page = (SOURCE / f"docs/{name}.md").read_text()
            snippets = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
            self.assertTrue(snippets, name)
            with self.subTest(page=name), working_in(fresh_folder(f"snippets_{name}")):
                for code in snippets:
                    made = {}
                    exec(compile(code, f"{name}.md", "exec"), made)
                    errors = [value.error() for value in made.values() if hasattr(value, "error")]
                    self.assertEqual([error for error in errors if error], [])

    def test_readmes_commands(self):
        for command in ("tools/demo", "tools/test", "tools/run", "tools/setup"):
            self.assertIn(command, README)
            self.assertTrue(os.access(SOURCE / command, os.X_OK), command)

    def test_readmes_flowgraph(self):
        """README's Python is examples/first_flowgraph.py, which test_examples runs."""
        for page in (README, (SOURCE / "docs/first-flowgraph.md").read_text()):
            code = re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)[1]
            self.assertIn(code, (SOURCE / "examples/first_flowgraph.py").read_text())
            self.assertLessEqual(len([line for line in code.splitlines() if line.strip()]), 12)

    def test_block_of_your_own(self):
        """The block in docs/writing-blocks.md is the example's, which test_examples runs."""
        page = (SOURCE / "docs/writing-blocks.md").read_text()
        code = re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)[1]
        self.assertIn(code, (SOURCE / "examples/blank_interference.py").read_text())
        code = re.search(r"```python\n(class averager.*?)```", page, flags=re.DOTALL)[1]
        self.assertIn(code, (SOURCE / "examples/average_integrations.py").read_text())

    def test_module_of_your_own(self):
        """The snippets of C++ and CMake there are examples/device_module's, which test_install
        builds and runs."""
        page = (SOURCE / "docs/writing-blocks.md").read_text()
        snippets = re.findall(r"```(cpp|cmake)\n(.*?)```", page, flags=re.DOTALL)
        self.assertGreater(len(snippets), 5)
        for language, code in snippets:
            name = "CMakeLists.txt" if language == "cmake" else "scaler.cu"
            self.assertIn(code, (SOURCE / "examples/device_module" / name).read_text())

    def test_table_of_blocks(self):
        """Every block that GRC shows is in docs/blocks.md, below the name of its folder there, and
        the other way round."""
        in_grc, in_table, folder = {}, {}, None
        for path in (SOURCE / "grc").glob("aperture_*.block.yml"):
            category = re.search(r"^category: '\[Aperture\]/(.*)'$", path.read_text(), re.MULTILINE)
            in_grc[path.name.split(".")[0][len("aperture_") :]] = category[1]
        for line in (SOURCE / "docs/blocks.md").read_text().splitlines():
            folder = line[len("## ") :] if line.startswith("## ") else folder
            if name := re.match(r"\| `(\w+)` \|", line):
                in_table[name[1]] = folder
        self.assertEqual(in_table, in_grc)
        for name in in_grc:
            self.assertTrue(hasattr(aperture, name), name)

    def test_places_of_blocks_and_kinds_of_inputs(self):
        """Each block has tests and a page that tells of it, and so has each kind of inputs."""
        pages = [page.read_text() for page in (SOURCE / "docs").glob("*.md")]
        tests = "".join(
            path.read_text()
            for folder, pattern in (
                ("apps", "**/qa_*.py"),
                ("python/aperture", "**/qa_*.py"),
                ("tests", "test_*.py"),
            )
            for path in (SOURCE / folder).glob(pattern)
        )
        missing = []
        for path in (SOURCE / "grc").glob("aperture_*.block.yml"):
            name = path.name.split(".")[0][len("aperture_") :]
            if f"aperture.{name}(" not in tests:
                missing.append(f"a test of {name}")
            # the table of all blocks is one page of at least two
            if sum(f"`{name}`" in page or f"{name}(" in page for page in pages) < 2:
                missing.append(f"a page that tells of {name}")
        for path in (SOURCE / "python/aperture/inputs/kinds").glob("[a-z]*.py"):
            if f"{path.stem}:" not in tests:
                missing.append(f"a test of inputs {path.stem}:")
            if f"`{path.stem}:" not in (SOURCE / "docs/inputs.md").read_text():
                missing.append(f"{path.stem}: in docs/inputs.md")
        self.assertEqual(missing, [])

    def test_gain_message(self):
        """The message in docs/flowgraphs.md sets the gain of input 1, and of that alone."""
        page = (SOURCE / "docs/flowgraphs.md").read_text()
        code = re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)[1]
        flowgraph = gr.top_block()
        source = aperture.array_source("two-dish", inputs_per_port=2)
        channelizer = aperture.pfb_channelizer(channels=16, inputs=2, inputs_per_port=2)
        flowgraph.connect(source, channelizer, blocks.null_sink(2 * 16 * gr.sizeof_gr_complex))
        flowgraph.start()
        try:
            exec(code, {"pmt": pmt, "channelizer": channelizer})
            deadline = time.monotonic() + PATIENCE
            while channelizer.gains(1)[0] != 10 and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(list(channelizer.gains(1)), [10] * 16)
            self.assertEqual(list(channelizer.gains(0)), [1] * 16)
        finally:
            flowgraph.stop()
            flowgraph.wait()

    def test_beams_files(self):
        """The files of beams in docs/beams.md and in beams.py are ones, for the array y8."""
        page = (SOURCE / "docs/beams.md").read_text()
        texts = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
        texts += re.findall(r"^    beams:\n(?:      .*\n)+", inspect.getdoc(beams_module), re.M)
        self.assertEqual(len(texts), 2)
        for text in texts:
            beams = beams_module.beams_of("y8", yaml.safe_load(text)["beams"], 1704067200)
            self.assertEqual([beam.name for beam in beams[:3]], ["zenith", "Cas A", "core"])
            self.assertTrue(beams[-1].incoherent)

    def test_array_descriptions(self):
        """The example in docs/flowgraphs.md is a description, and the section names every key but
        those of pulses, and every shipped description."""
        section = (SOURCE / "docs/flowgraphs.md").read_text().split("## Array descriptions")[1]
        example = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1]
        path = fresh_folder("documents_array") / "lab.yml"
        path.write_text(example)
        array = array_description.load_array(path)
        self.assertEqual(array.input_names, ["Ax", "Bx"])
        tables = (
            array_description.TOP,
            array_description.ANTENNA,
            keys_of(aperture.Input),
            keys_of(aperture.Source),
        )
        words = set(re.findall(r"\w+", section))
        self.assertEqual({key for table in tables for key in table} - words, set())
        self.assertEqual(
            [name for name in array_description.shipped_arrays() if f"`{name}`" not in section], []
        )

    def test_tags_page(self):
        """docs/tags.md describes every key of tags.h."""
        header = (SOURCE / "include/gnuradio/aperture/tags.h").read_text()
        page = (SOURCE / "docs/tags.md").read_text()
        keys = re.findall(r'constexpr char (\w+)\[\] = "(\w+)";', header)
        self.assertGreater(len(keys), 10)
        for name, key in keys:
            self.assertIn(f"`{key}`", page)
            self.assertEqual(getattr(aperture.tags, name), key)

    def test_links(self):
        """Relative links of the pages lead to a file, and to a heading of it."""
        self.assertGreater(len(PAGES), 15)
        for page in PAGES:
            text = page.read_text()
            for link, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
                if "://" in link:
                    continue
                target = page.parent / link if link else page
                self.assertTrue(target.exists(), f"{page.name}: {link}")
                if heading:
                    self.assertIn(heading, headings_of(target), f"{page.name}: {link}")

    def test_every_page_is_linked(self):
        """A reader who begins at the README comes to every page and picture."""
        reached, new = set(), [SOURCE / "README.md"]
        while new:
            page = new.pop()
            reached.add(page)
            if page.suffix == ".md":
                for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
                    target = (page.parent / link).resolve()
                    if target.suffix in SHOWN and target not in reached:
                        new.append(target)
        here = [path for path in (SOURCE / "docs").rglob("*.*") if path.suffix in SHOWN]
        self.assertEqual([path for path in here if path not in reached], [])

    def test_performance_page_is_short(self):
        """The page of current figures stays readable; trials that failed go to docs/notes."""
        lines = (SOURCE / "docs/performance.md").read_text().splitlines()
        self.assertLessEqual(len(lines), 250)
        self.assertLessEqual(max(len(line) for line in lines if not line.startswith("|")), 200)

    def test_words(self):
        """The pages use the glossary's words, not those that an earlier draft had made up."""
        found = []
        for path in [*PAGES, *(SOURCE / "docs").glob("*.svg")]:
            if path.parent.name == "notes":
                continue
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                found += [f"{path.name}:{number}: {word[0]}" for word in OTHER_WORDS.finditer(line)]
        self.assertEqual(found, [])

    def test_sentences(self):
        """Comments and docstrings begin with their subject or verb, in the glossary's words."""
        found, number = [], 0
        for folder in ("apps", "bench", "examples", "include", "lib", "python", "tests", "tools"):
            for path in (SOURCE / folder).rglob("*"):
                name = str(path.relative_to(SOURCE))
                is_cpp = path.suffix in (".h", ".cc", ".cu", ".cuh")
                if not (is_cpp or (path.is_file() and path.suffix in ("", ".py"))):
                    continue
                text = path.read_text()
                if not (is_cpp or path.suffix or "python" in text[:30]):
                    continue
                wrong = [
                    (line, sentence)
                    for line, sentence in comments(text, CPP if is_cpp else PYTHON)
                    if first_word(sentence) in NO_SUBJECT or OTHER_WORDS.search(sentence)
                ]
                for line, sentence in () if is_cpp else docstrings(text):
                    number += 1
                    word = first_word(sentence)
                    if (
                        word in NO_SUBJECT
                        or (word in PREPOSITIONS and not VERBS.search(sentence))
                        or NO_SENTENCE.match(sentence)
                        or OTHER_WORDS.search(sentence)
                    ):
                        wrong.append((line, sentence))
                found += [f"{name}:{line}: {text}" for line, text in wrong]
        self.assertGreater(number, 3000)
        self.assertEqual(found, [])

    def test_docstrings(self):
        """Public classes, functions, and the methods and properties of our classes."""
        names = own_public_names()
        self.assertIn("pfb_channelizer", names)
        inherited = set(dir(gr.basic_block)) | set(dir(gr.sync_block)) | set(dir(gr.hier_block2))
        bare = []
        for name, value in names.items():
            if not (inspect.isclass(value) or callable(value)):
                continue
            if not described(value):
                bare.append(name)
            if inspect.isclass(value):
                for member, method in vars(value).items():
                    public = not member.startswith("_") and member not in inherited
                    is_code = inspect.isroutine(method) or isinstance(method, property)
                    # part of GNU Radio's own interface
                    if (
                        public
                        and is_code
                        and member not in ("work", "general_work", "forecast", "make")
                    ):
                        if not described(method):
                            bare.append(f"{name}.{member}")
        self.assertEqual(bare, [], "no docstring")


if __name__ == "__main__":
    main()
