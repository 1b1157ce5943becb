# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Installs into a folder, uses the installed package from C++, Python and GRC in a clean
environment, uninstalls, and looks for what was left behind.
"""

import os
import pathlib
import re
import shutil
import unittest

import yaml

from places import BUILD, CMAKE, SOURCE, fresh_folder, installed_modules, main, run, run_or_fail

MANIFEST = BUILD / "install_manifest.txt"

VERSION = re.search(r"project\(gr-aperture VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[
    1
]
#: the part of the version that changes with the interface
INTERFACE = re.match(r"0\.\d+|[1-9]\d*", VERSION)[0].replace(".", r"\.")

#: runs all programs that it is given with --version, and says that of the package
VERSIONS = """
import contextlib, runpy, sys
for program in sys.argv[1:]:
    sys.argv = [program, "--version"]
    with contextlib.suppress(SystemExit):
        runpy.run_path(program, run_name="__main__")
from gnuradio import aperture
print(aperture.__version__)
"""


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


class TestInstall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("install")
        cls.stage = cls.folder / "stage"
        # an installation of the user's own stays uninstallable
        cls.kept = cls.folder / "kept_manifest.txt"
        if MANIFEST.exists():
            shutil.copy2(MANIFEST, cls.kept)
        run_or_fail(cls("test_1_package"), CMAKE, "--install", BUILD, "--prefix", cls.stage)
        cls.installed = files_below(cls.stage)
        packages = list(cls.stage.rglob("gnuradio/aperture/__init__.py"))
        cls.python_path = packages[0].parent.parent.parent if packages else None

    @classmethod
    def tearDownClass(cls):
        if cls.kept.exists():
            shutil.move(cls.kept, MANIFEST)
        elif MANIFEST.exists():
            MANIFEST.unlink()

    def environment(self):
        """Returns the environment of a user who installed into a prefix of his own: nothing of the
        build."""
        library = next(self.stage.rglob("libgnuradio-aperture.so")).parent
        return {
            "PATH": f"{self.stage}/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": os.environ["HOME"],
            "LD_LIBRARY_PATH": str(library),
            "PYTHONPATH": str(self.python_path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CMAKE_GENERATOR": os.environ.get("CMAKE_GENERATOR", "Unix Makefiles"),
        }

    def test_1_package(self):
        """Library, headers, CMake package, Python modules, arrays, GRC blocks, programs."""
        names = [pathlib.PurePath(path) for path in self.installed]
        in_source = {
            "include/gnuradio/aperture": (SOURCE / "include/gnuradio/aperture").glob("*.h"),
            "include/gnuradio/aperture/device": (SOURCE / "include/gnuradio/aperture/device").glob(
                "*.h"
            ),
            "gnuradio/aperture/arrays/descriptions": (
                SOURCE / "python/aperture/arrays/descriptions"
            ).glob("*.y*ml"),
            "share/gnuradio/grc/blocks": (SOURCE / "grc").glob("*.block.yml"),
            "bin": [path for path in (SOURCE / "apps").glob("aperture_*") if path.is_file()],
        }
        for module in installed_modules():
            folder = str(pathlib.PurePath("gnuradio/aperture") / module.parent)
            in_source.setdefault(folder, []).append(module)
        self.assertIn("gnuradio/aperture/arrays", in_source)
        for folder, sources in in_source.items():
            wanted = {path.name for path in sources}
            there = {path.name for path in names if str(path.parent).endswith(folder)}
            self.assertTrue(wanted, f"nothing in the source tree for {folder}")
            self.assertEqual(wanted - there, set(), f"not installed into {folder}")
        # parts of tests are not there, either
        tests = [path for path in names if path.name.startswith("qa_") or "testing" in path.parts]
        self.assertEqual(tests, [])

    def test_2_cmake_package(self):
        """find_package(gnuradio-aperture) in another project, and a flowgraph in C++."""
        build = self.folder / "consumer"
        environment = self.environment()
        run_or_fail(
            self,
            CMAKE,
            "-S",
            SOURCE / "tests/consumer",
            "-B",
            build,
            f"-DCMAKE_PREFIX_PATH={self.stage}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra",
            env=environment,
        )
        output = run_or_fail(self, CMAKE, "--build", build, env=environment)
        self.assertNotIn("warning:", output)
        self.assertIn("cpu", run_or_fail(self, build / "minimal", env=environment).split())
        run_or_fail(self, build / "flowgraph", env=environment)

    def test_2_pkg_config(self):
        """A compiler finds headers and library by pkg-config."""
        library = next(self.stage.rglob("libgnuradio-aperture.so")).parent
        environment = {**self.environment(), "PKG_CONFIG_PATH": str(library / "pkgconfig")}
        flags = run_or_fail(
            self,
            "pkg-config",
            f"--define-variable=prefix={self.stage}",
            "--cflags",
            "--libs",
            f"gnuradio-aperture = {VERSION}",
            env=environment,
        )
        program = self.folder / "by_pkg_config"
        source = SOURCE / "tests/consumer/minimal.cc"
        run_or_fail(self, "c++", "-std=c++17", source, "-o", program, *flags.split())
        self.assertIn("cpu", run_or_fail(self, program, env=environment).split())

    def test_2_manifest(self):
        """GNU Radio Companion finds the module's manifest, and its examples as they are here."""
        (path,) = (self.stage / "share/gnuradio/manifests/aperture").iterdir()
        manifest = yaml.safe_load(path.read_text())
        self.assertEqual(str(manifest["version"]), VERSION)
        here = yaml.safe_load((SOURCE / "MANIFEST.md").read_text().split("---")[0])
        self.assertEqual({**manifest, **here}, manifest)
        self.assertIn("tools/demo", manifest["description"])
        examples = self.stage / "share/gnuradio/examples/gr-aperture"
        for path in (SOURCE / "examples").rglob("*.grc"):
            inside = path.relative_to(SOURCE / "examples")
            self.assertEqual((examples / inside).read_bytes(), path.read_bytes())

    def test_2_links(self):
        """Links of installed pages lead to what is installed."""
        documents = self.stage / "share/doc/gr-aperture"
        pages = list(documents.rglob("*.md"))
        self.assertEqual(
            sum((SOURCE / page.relative_to(documents)).is_file() for page in pages), len(pages)
        )
        links = broken = 0
        for page in pages:
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text):
                if "://" not in target:
                    links += 1
                    if not (page.parent / target).exists():
                        broken += 1
                        print(f"{page.relative_to(documents)}: {target}")
        self.assertGreater(links, 500)
        self.assertEqual(broken, 0)

    def test_2_names(self):
        """The libraries' name changes with the interface, and not with each correction."""
        for name in ("libgnuradio-aperture", "libgnuradio-aperture-device"):
            library = next(self.stage.rglob(f"{name}.so")).resolve()
            said = run_or_fail(self, "readelf", "-d", library)
            self.assertRegex(said, rf"SONAME.*\[{name}\.so\.{INTERFACE}\]")

    def test_2_device_module(self):
        """A block of another module on the device edge, by itself and beside our blocks: the
        installed example."""
        build = self.folder / "device_module"
        environment = self.environment()
        example = self.stage / "share/doc/gr-aperture/examples/device_module"
        run_or_fail(
            self,
            CMAKE,
            "-S",
            example,
            "-B",
            build,
            f"-DCMAKE_PREFIX_PATH={self.stage}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra",
            env=environment,
        )
        output = run_or_fail(self, CMAKE, "--build", build, env=environment)
        self.assertNotIn("warning:", output)
        for program in ("alone", "beside"):
            # without a kernel of its own for CUDA it does not run there
            output = run_or_fail(
                self, build / program, env={**environment, "CUDA_VISIBLE_DEVICES": ""}
            )
            names = [line for line in output.splitlines() if " " not in line]
            self.assertEqual(names, ["cpu", "emulated"])

    def test_3_python(self):
        """from gnuradio import aperture is the installed one, and works."""
        self.assertIsNotNone(self.python_path)
        program = (
            "from gnuradio import aperture; print(aperture.__file__); "
            "aperture.pfb_channelizer(channels=64, inputs=1)"
        )
        output = run_or_fail(self, "/usr/bin/python3", "-c", program, env=self.environment())
        self.assertIn(str(self.stage), output)

    def test_3_public_names(self):
        """The installed package has all names that users may import."""
        program = SOURCE / "tests/public_names.py"
        run_or_fail(self, "/usr/bin/python3", program, env=self.environment())

    def test_3_metadata(self):
        """The version is known without an import, of one installation."""
        environment = self.environment()
        environment["PYTHONPATH"] = str(self.python_path)
        output = run_or_fail(
            self,
            "/usr/bin/python3",
            "-c",
            "from importlib import metadata as m; "
            "print(m.version('gr-aperture'), sum(d.name == 'gr-aperture' "
            "for d in m.distributions()))",
            env=environment,
        )
        self.assertEqual(output.split(), [VERSION, "1"])

    def test_3_another_prefix(self):
        """The variables of docs/install.md lead GNU Radio Companion, Python and libraries there."""
        page = (SOURCE / "docs/install.md").read_text()
        variables = dict(re.findall(r"^export (\w+)=\$HOME/aperture/([^:\n]+)", page, flags=re.M))
        self.assertEqual(
            set(variables), {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "GRC_BLOCKS_PATH"}
        )
        # files that depend on the machine
        library = next(self.stage.rglob("libgnuradio-aperture.so")).parent
        variables["PYTHONPATH"] = self.python_path.relative_to(self.stage)
        variables["LD_LIBRARY_PATH"] = library.relative_to(self.stage)
        environment = {name: f"{self.stage}/{place}" for name, place in variables.items()}
        environment["PATH"] += ":/usr/bin:/bin"
        environment["HOME"] = os.environ["HOME"]
        flowgraph = self.stage / "share/doc/gr-aperture/examples/device_edge.grc"
        run_or_fail(self, "grcc", "-o", self.folder, flowgraph, env=environment)
        run_or_fail(self, "aperture_fx", "--version", env=environment)

    def test_4_programs(self):
        """The installed programs start with GNU Radio's Python and say their version."""
        version = VERSION
        self.assertRegex(version, r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$")
        programs = sorted((self.stage / "bin").glob("aperture_*"))
        self.assertGreater(len(programs), 6)
        for program in programs:
            self.assertTrue(os.access(program, os.X_OK), program)
            self.assertTrue(program.read_text().startswith("#!/usr/bin/python3\n"), program)
        self.assertEqual(
            run_or_fail(self, programs[0], "--version", env=self.environment()),
            f"{programs[0].name} (gr-aperture) {version}\n",
        )
        # the others in one process, as each imports the same
        output = run_or_fail(
            self, "/usr/bin/python3", "-c", VERSIONS, *programs, env=self.environment()
        )
        self.assertEqual(
            output.splitlines(),
            [f"{program.name} (gr-aperture) {version}" for program in programs] + [version],
        )

    def test_5_packages(self):
        """The installed programs find packages from PyPI below the user's data folder."""
        environment = self.environment()
        data = self.folder / "data"
        (data / "gr-aperture").mkdir(parents=True)
        environment["XDG_DATA_HOME"] = str(data)
        program = self.stage / "bin" / "aperture_convert"
        status, output = run(program, "a.uvh5", "a.ms", env=environment)
        self.assertEqual(status, 1)
        self.assertIn("aperture_packages conversion installs it", output)
        if not (BUILD / "venv/conversion.txt").exists():
            self.skipTest("build/venv is not there: tools/setup --with conversion makes it")
        (data / "gr-aperture/venv").symlink_to(BUILD / "venv")
        output = run_or_fail(self, self.stage / "bin" / "aperture_packages", env=environment)
        self.assertRegex(output, "conversion +installed")
        run_or_fail(
            self,
            self.stage / "bin" / "aperture_fx",
            "--input",
            "sim:two-dish",
            "--duration",
            "0.01",
            "--device",
            "cpu",
            "-o",
            self.folder / "a.ms",
            env=environment,
        )
        self.assertTrue((self.folder / "a.ms/table.dat").exists())

    def test_6_uninstall(self):
        """Nothing that was installed is left, and no folder of our own."""
        self.assertGreater(len(self.installed), 20)
        # byte code, as it appears when somebody has imported the package
        for folder in ("gnuradio/aperture", "gnuradio/aperture/arrays"):
            cache = self.python_path / folder / "__pycache__"
            cache.mkdir(exist_ok=True)
            (cache / "tags.cpython-3.pyc").write_text("")
        run_or_fail(self, CMAKE, "--build", BUILD, "--target", "uninstall")
        self.assertEqual(files_below(self.stage), [])
        folders = [path for path in self.stage.rglob("*aperture*") if path.is_dir()]
        self.assertEqual(folders, [])


if __name__ == "__main__":
    main()
