# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The Debian packages that cpack makes: what is in them, on what they depend, how large they are.
tests/long/install-packages installs and runs them in a minimal Debian.
"""

import os
import re
import subprocess
import unittest

from places import (
    BUILD,
    CMAKE,
    SOURCE,
    fresh_folder,
    installed_modules,
    main,
    need_program,
    run_or_fail,
)

#: bytes of what everybody installs: libraries, Python and programs
LARGEST_BASE = 10_000_000
#: lintian's complaints on packages that no archive of Debian takes
EXPECTED = {
    "initial-upload-closes-no-bugs",
    "embedded-javascript-library",
    # CPack writes scripts beside the trigger
    "maintscript-calls-ldconfig",
    # plugins have none; test_install looks for the names of libraries
    "sharedobject-in-library-directory-missing-soname",
}


class TestDebian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        test = cls("test_names")
        need_program(test, "dpkg-shlibdeps")
        cls.folder = fresh_folder("debian")
        cpack = os.path.join(os.path.dirname(CMAKE), "cpack")
        # the build is done, as always in tests: CPack is all that is left
        run_or_fail(
            test,
            cpack,
            "-G",
            "DEB",
            "-B",
            cls.folder,
            "--config",
            BUILD / "CPackConfig.cmake",
            cwd=BUILD,
        )
        cls.packages = {path.name.split("_")[0]: path for path in cls.folder.glob("*.deb")}
        cls.files = {}
        for name, path in cls.packages.items():
            root = cls.folder / "extracted" / name
            root.mkdir(parents=True)
            subprocess.run(["dpkg-deb", "-x", path, root], check=True)
            cls.files[name] = {
                str(file.relative_to(root)): file for file in root.rglob("*") if not file.is_dir()
            }

    def field(self, name, field):
        return run_or_fail(self, "dpkg-deb", "-f", self.packages[name], field).strip()

    @property
    def library(self):
        return next(name for name in self.packages if re.match(r"libgnuradio-aperture\d", name))

    def test_names(self):
        """Libraries, Python, headers, the manual, and what few need apart, of one version."""
        version = re.search(
            r"project\(gr-aperture VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()
        )[1]
        # the version of the interface: a correction does not change it
        self.assertIn(f"libgnuradio-aperture{version.rpartition('.')[0]}", self.packages)
        self.assertEqual(
            set(self.packages) - {"gr-aperture-cuda", "gr-aperture-dpdk", self.library},
            {"gr-aperture", "libgnuradio-aperture-dev", "gr-aperture-doc"},
        )
        for name in self.packages:
            self.assertEqual(self.field(name, "Version"), f"{version}-1")
            self.assertIn("@", self.field(name, "Maintainer"))
            self.assertGreater(len(self.field(name, "Description").splitlines()), 1)

    def test_size(self):
        """The packages that everybody installs are below 10 MB."""
        size = sum(self.packages[name].stat().st_size for name in (self.library, "gr-aperture"))
        self.assertLess(size, LARGEST_BASE)

    def test_contents(self):
        """Everything of the source tree that users need is in its package, and nothing else."""
        python = {
            path: file
            for path, file in self.files["gr-aperture"].items()
            if path.startswith("usr/lib/python3/dist-packages/gnuradio/aperture/")
        }
        for inside in installed_modules():
            self.assertIn(f"usr/lib/python3/dist-packages/gnuradio/aperture/{inside}", python)
        self.assertIn(
            "usr/lib/python3/dist-packages/gnuradio/aperture/arguments/version.py", python
        )
        self.assertTrue(
            any(
                re.fullmatch(
                    r"usr/lib/python3/dist-packages/gr_aperture-[\d.]+"
                    r"\.dist-info/METADATA",
                    path,
                )
                for path in self.files["gr-aperture"]
            )
        )
        for program in (SOURCE / "apps").glob("aperture_*"):
            if "." not in program.name:
                file = self.files["gr-aperture"][f"usr/bin/{program.name}"]
                self.assertTrue(os.access(file, os.X_OK))
                self.assertTrue(file.read_text().startswith("#!/usr/bin/python3\n"))
                self.assertIn(f"usr/share/man/man1/{program.name}.1.gz", self.files["gr-aperture"])
        for block in (SOURCE / "grc").glob("*.block.yml"):
            self.assertIn(f"usr/share/gnuradio/grc/blocks/{block.name}", self.files["gr-aperture"])
        for header in (SOURCE / "include/gnuradio/aperture").rglob("*.h"):
            inside = header.relative_to(SOURCE / "include")
            self.assertIn(f"usr/include/{inside}", self.files["libgnuradio-aperture-dev"])
        documents = self.files["gr-aperture-doc"]
        for path in [
            SOURCE / "README.md",
            *(SOURCE / "docs").rglob("*.md"),
            *(SOURCE / "docs/pictures").iterdir(),
        ]:
            self.assertIn(f"usr/share/doc/gr-aperture/{path.relative_to(SOURCE)}", documents)
        # GNU Radio Companion looks for them there
        for suffix in ("grc", "py", "yml"):
            for path in (SOURCE / "examples").rglob(f"*.{suffix}"):
                inside = path.relative_to(SOURCE / "examples")
                self.assertIn(f"usr/share/gnuradio/examples/gr-aperture/{inside}", documents)
        for name, files in self.files.items():
            self.assertIn(f"usr/share/doc/{name}/copyright", files)
            unwanted = [
                path
                for path in files
                if path.endswith((".pyc", ".pyo"))
                or "__pycache__" in path
                or os.path.basename(path).startswith("qa_")
                or "/aperture/testing/" in path
            ]
            self.assertEqual(unwanted, [], name)

    def test_nothing_is_in_two(self):
        """No file is in two packages."""
        seen = {}
        for name, files in self.files.items():
            for path in files:
                self.assertNotIn(path, seen, f"{name} and {seen.get(path)}")
                seen[path] = name

    def test_paths(self):
        """Nothing says where it was built."""
        for name, files in self.files.items():
            for path, file in files.items():
                if not file.is_symlink():
                    for folder in (SOURCE, BUILD):
                        self.assertNotIn(bytes(folder), file.read_bytes(), f"{name}: {path}")

    def test_libraries(self):
        """Names with versions in the library's package, those to link with among the headers."""
        base = [os.path.basename(path) for path in self.files[self.library] if ".so" in path]
        for name in ("libgnuradio-aperture", "libgnuradio-aperture-device"):
            self.assertTrue(any(file.startswith(f"{name}.so.") for file in base))
            self.assertNotIn(f"{name}.so", base)
            self.assertTrue(
                any(path.endswith(f"/{name}.so") for path in self.files["libgnuradio-aperture-dev"])
            )
        self.assertEqual([file for file in base if "cuda" in file], [])

    def test_dependencies(self):
        """Linked libraries are found by dpkg-shlibdeps; imported and loaded ones are written."""
        library, python = self.field(self.library, "Depends"), self.field("gr-aperture", "Depends")
        for word in ("libgnuradio-runtime", "libvolk", "libfftw3-single3", "libc6"):
            self.assertIn(word, library)
        for word in (
            f"{self.library} (= ",
            "gnuradio,",
            "python3 (>= 3.",
            "python3-numpy",
            "python3-h5py",
            "python3-yaml",
        ):
            self.assertIn(word, python)
        for name in (self.library, "gr-aperture"):
            self.assertNotRegex(self.field(name, "Depends"), "cuda|cufft|nvidia")
        if "gr-aperture-cuda" in self.packages:
            self.assertRegex(self.field("gr-aperture-cuda", "Depends"), r"libcufft-\d+-\d+")
            self.assertTrue(
                any("aperture-cuda.so" in path for path in self.files["gr-aperture-cuda"])
            )

    def test_lintian(self):
        """lintian finds nothing but what such packages cannot do anything about."""
        need_program(self, "lintian")
        names = [
            self.packages[name]
            for name in (self.library, "gr-aperture", "libgnuradio-aperture-dev", "gr-aperture-doc")
        ]
        result = subprocess.run(
            ["lintian", "--allow-root", "--tag-display-limit", "0", *names],
            capture_output=True,
            text=True,
        )
        found = [
            line
            for line in result.stdout.splitlines()
            if re.match(r"[EW]: ", line) and line.split(": ")[2].split()[0] not in EXPECTED
        ]
        self.assertEqual(found, [])


if __name__ == "__main__":
    main()
