# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source tree: gr_modtool knows it, bindings are in step, C++ is formatted."""

import hashlib
import os
import re
import shutil
import unittest

from places import SOURCE, main, run, run_or_fail

HEADERS = SOURCE / "include/gnuradio/aperture"
BINDINGS = SOURCE / "python/aperture/bindings"


class TestSourceTree(unittest.TestCase):
    def test_gr_modtool_info(self):
        """gr_modtool recognises a module of GNU Radio 3.10 by the name of aperture."""
        output = run_or_fail(self, "gr_modtool", "info", "--python-readable", cwd=SOURCE)
        # the last line; warnings of Python packages may come before it
        info = eval(output.strip().splitlines()[-1], {})
        self.assertEqual(info["modname"], "aperture")
        self.assertEqual(info["version"], "310")
        self.assertEqual(os.path.realpath(info["base_dir"]), str(SOURCE))

    def test_bindings_are_in_step(self):
        """Every public header has bindings, and their hash is that of the header as it is."""
        seen = set()
        for source in sorted(BINDINGS.glob("*_python.cc")):
            text = source.read_text()
            name = re.search(r"BINDTOOL_HEADER_FILE\((\S+)\)", text)
            recorded = re.search(r"BINDTOOL_HEADER_FILE_HASH\((\w+)\)", text)
            self.assertTrue(name and recorded, f"{source.name}: no BINDTOOL comment")
            header = HEADERS / name[1]
            self.assertTrue(header.exists(), f"{source.name} is of {name[1]}, which is not there")
            self.assertEqual(recorded[1], hashlib.md5(header.read_bytes()).hexdigest(),
                             f"{source.name} is older than {header.name}: check the bindings, "
                             "then run tools/update-binding-hashes")
            seen.add(header.name)
        public = {path.name for path in HEADERS.glob("*.h")} - {"api.h"}
        self.assertEqual(public - seen, set(), "headers without bindings")

    def test_headers_are_installed(self):
        listed = (HEADERS / "CMakeLists.txt").read_text()
        for header in HEADERS.glob("*.h"):
            self.assertIn(header.name, listed)

    def test_copyright(self):
        """Every source file of ours says whose it is and under which licence."""
        for pattern in ("lib/**/*.cc", "lib/**/*.h", "python/aperture/*.py", "tests/**/*.py",
                        "include/**/*.h", "grc/*.yml", "tools/*", "apps/*"):
            paths = [path for path in SOURCE.glob(pattern) if path.is_file()]
            for path in paths:
                if path.suffix in (".pyc", ".txt"):
                    continue
                head = path.read_text()[:600]
                self.assertIn("SPDX-License-Identifier: GPL-3.0-or-later", head, path)
                self.assertIn("Copyright", head, path)

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_format(self):
        """C++ is as .clang-format wants it."""
        files = [path for folder in ("include", "lib", "python", "tests")
                 for suffix in ("*.cc", "*.h", "*.cu", "*.cuh")
                 for path in (SOURCE / folder).rglob(suffix)]
        self.assertGreater(len(files), 20)
        wrong = []
        for path in sorted(files):
            status, _ = run("clang-format", "--dry-run", "-Werror", path, cwd=SOURCE)
            if status != 0:
                wrong.append(str(path.relative_to(SOURCE)))
        self.assertEqual(wrong, [], "run clang-format -i on these")


if __name__ == "__main__":
    main()
