# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source tree: gr_modtool knows it, bindings are in step, C++ is formatted."""

import ast
import graphlib
import hashlib
import os
import re
import shutil
import sys
import unittest

from gnuradio.aperture.packages.environment import GROUPS
from places import (
    APPS,
    BUILD,
    CMAKE,
    PACKAGE,
    SOURCE,
    fresh_folder,
    main,
    need_program,
    python_modules,
    run,
    run_or_fail,
)

HEADERS = SOURCE / "include/gnuradio/aperture"
BINDINGS = SOURCE / "python/aperture/bindings"
LIBRARY = SOURCE / "lib"

# packages of gnuradio.aperture that others may import; "blocks": modules of that folder
ANYTHING = {
    "arguments",
    "arrays",
    "beams",
    "blocks",
    "builder",
    "calibration",
    "commands",
    "conversion",
    "direction_finding",
    "displays",
    "doctor",
    "files",
    "formats",
    "imaging",
    "inputs",
    "monitoring",
    "network",
    "observatory",
    "packages",
    "plan",
    "parameters",
    "plots",
    "spectrometry",
    "streams",
    "system",
    "testing",
    "tracking",
    "transients",
    "visibilities",
}
MAY_IMPORT = {
    "system": set(),
    "arguments": {"parameters"},
    "parameters": set(),
    "arrays": {"parameters"},
    "tracking": {"arrays", "parameters"},
    "beams": {"arrays", "parameters", "tracking"},
    "builder": {
        "arrays",
        "beams",
        "blocks",
        "calibration",
        "files",
        "formats",
        "inputs",
        "monitoring",
        "parameters",
        "plan",
        "streams",
        "tracking",
        "transients",
    },
    "conversion": {"arrays", "calibration", "formats", "parameters"},
    "direction_finding": {"arrays", "parameters"},
    "doctor": {
        "arrays",
        "blocks",
        "inputs",
        "network",
        "parameters",
        "streams",
        "system",
        "tracking",
    },
    "dumps": {"arrays", "files", "formats", "parameters", "streams", "system"},
    "files": {"parameters", "system"},
    "formats": {
        "arrays",
        "system",
        "files",
        "network",
        "packages",
        "parameters",
        "tracking",
        "transients",
        "streams",
    },
    "visibilities": {"formats"},
    "imaging": {"arrays", "files", "formats", "parameters", "tracking", "system"},
    "monitoring": {
        "arrays",
        "system",
        "beams",
        "blocks",
        "displays",
        "parameters",
        "plots",
        "streams",
        "tracking",
        "visibilities",
    },
    "network": {"packages", "parameters", "system"},
    "observatory": {"files", "parameters"},
    "packages": set(),
    "plan": {
        "arguments",
        "beams",
        "blocks",
        "files",
        "formats",
        "inputs",
        "monitoring",
        "network",
        "parameters",
        "streams",
        "tracking",
        "transients",
    },
    "spectrometry": {"arrays", "files", "parameters", "tracking"},
    "streams": {"parameters"},
    "inputs": {
        "arrays",
        "system",
        "blocks",
        "files",
        "formats",
        "network",
        "packages",
        "parameters",
        "spectrometry",
        "streams",
    },
    "calibration": {"arrays", "files", "formats", "parameters", "streams", "tracking"},
    "transients": {"arrays", "files", "packages", "parameters", "streams", "tracking"},
    "plots": {
        "arrays",
        "beams",
        "files",
        "formats",
        "parameters",
        "tracking",
        "transients",
        "visibilities",
    },
    "displays": {
        "arrays",
        "imaging",
        "parameters",
        "plots",
        "spectrometry",
        "streams",
        "tracking",
        "visibilities",
    },
    "blocks": {
        "arrays",
        "beams",
        "calibration",
        "direction_finding",
        "displays",
        "dumps",
        "files",
        "formats",
        "imaging",
        "network",
        "parameters",
        "spectrometry",
        "streams",
        "tracking",
        "transients",
    },
    "commands": ANYTHING - {"commands", "testing"},
    "testing": ANYTHING - {"testing"},
}
# the folders of lib/ that one of them may include; the blocks, in lib/ itself, may know all
GROUND = {"common", "system", "runtime", "kernels/common", "kernels/gpu"}
MAY_INCLUDE = {
    "common": set(),
    "system": set(),
    "runtime": {"common", "system"},
    "kernels/common": {"common", "runtime", "system"},
    "kernels/gpu": GROUND - {"kernels/gpu"},
    "kernels/masks": GROUND,
    "kernels/detection": GROUND,
    "kernels/averaging": GROUND,
    "kernels/beamformer": GROUND,
    "kernels/beam_power": GROUND | {"kernels/beamformer", "kernels/detection"},
    "kernels/conditioning": GROUND,
    "kernels/corner_turn": GROUND,
    "kernels/dedispersion": GROUND,
    "kernels/exchange": GROUND,
    "kernels/pfb": GROUND,
    "kernels/pfb/fused": GROUND | {"kernels/pfb"},
    "kernels/pfb/tensor": GROUND | {"kernels/pfb", "kernels/pfb/fused"},
    "kernels/pfb/cufft": GROUND | {"kernels/pfb", "kernels/pfb/fused", "kernels/pfb/tensor"},
    "kernels/f_engine": GROUND
    | {"kernels/corner_turn", "kernels/pfb", "kernels/pfb/fused", "kernels/pfb/tensor"},
    "kernels/flagging": GROUND | {"kernels/masks"},
    "kernels/mask_counts": GROUND | {"kernels/masks"},
    "kernels/power_detector": GROUND | {"kernels/detection"},
    "kernels/power_means": GROUND | {"kernels/detection", "kernels/masks"},
    "kernels/pulses": GROUND | {"kernels/dedispersion"},
    "kernels/select": GROUND,
    "kernels/synthesis": GROUND,
    "kernels/xengine": GROUND,
    "kernels/zoom": GROUND,
}
MAY_INCLUDE["kernels/registry"] = {"common", "runtime"} | {
    folder for folder in MAY_INCLUDE if folder.startswith("kernels/")
}
MAY_INCLUDE |= {
    "formats": {"common", "kernels/common"},
    "formats/dada": {"common", "formats"},
    "formats/packets": {"common", "formats", "formats/vdif", "kernels/common"},
    "formats/recordings": {"common", "formats", "kernels/common", "system"},
    "formats/vdif": {"common", "formats", "formats/recordings", "kernels/common"},
    "network": {"common", "formats", "formats/packets", "kernels/common", "runtime", "system"},
    "network/dpdk": {"common", "kernels/common", "network", "system"},
    "network/xdp": {"common", "kernels/common", "network", "system"},
    "signal/alignment": {"common", "kernels/common"},
    "signal/folding": {"common", "kernels/common"},
    "signal/products": {"common", "kernels/common"},
    "signal/simulator": {"common", "kernels/common", "kernels/dedispersion"},
}
MAY_INCLUDE["stream"] = set(MAY_INCLUDE)
MAY_INCLUDE["control"] = set(MAY_INCLUDE)
# calls and files that only Linux has, and the only modules that use them: a port to another system
# begins there; docs/design/other-systems.md says with what
ONLY_IN_PYTHON = {
    r"\b(import|from) (fcntl|resource|ctypes)\b|\bos\.(sched_|copy_file_range|posix_fallocate)|"
    r"\bos\.(eventfd|memfd_create|O_DIRECT|O_TMPFILE|splice|pidfd_open|setns|unshare)\b|"
    r"\bos\.sysconf\(|\bselect\.epoll|\bAF_(PACKET|NETLINK)\b|\"/(proc|sys)/|f\"/proc/": {
        "system/linux.py"
    }
}
ONLY_IN_LIBRARY = {
    r"\b(sched_[gs]etaffinity|cpu_set_t|pthread_\w+_np|eventfd|prctl)\b|/proc/(meminfo|cpuinfo)": {
        "system/linux.h"
    },
    r"\b(memfd_create|posix_fallocate)\b": {"runtime/host_memory.cc"},
    r"\bmadvise\b|/proc/self|/sys/fs": {"stream/free_memory.cc"},
    r"\brecvmmsg\b|<linux/filter\.h>": {"network/socket_queue.cc"},
    r"\bsendmmsg\b": {"network/udp_sender.cc"},
    r"<linux/(ethtool|sockios)\.h>": {"network/system_interface.cc"},
    r"<linux/if_link\.h>": {"network/xdp/redirection.cc"},
    r"\"/sys/(class|bus)/": {"network/xdp/xdp_queue.cc", "network/dpdk/dpdk_device.cc"},
    r"\bepoll_\w+|\bio_uring_\w+|\binotify_\w+|\bsignalfd\b|\btimerfd_\w+": set(),
}
# modules from elsewhere that our Python imports: what the Debian package depends on, recommends,
# and what aperture_packages installs
DEPENDS = {
    "PyQt5",
    "astropy",
    "gnuradio",
    "h5py",
    "jsonschema",
    "matplotlib",
    "numpy",
    "packaging",
    "pmt",
    "pyqtgraph",
    "scipy",
    "sip",
    "yaml",
}
RECOMMENDS = {"aiohttp", "prometheus_client"}
FROM_PYPI = {name for group in GROUPS.values() for name in group.modules}
# modules of the bindings that everybody may know
IN_CPP = {
    "baselines",
    "file_order",
    "stored_powers",
    "logged",
    "packet_layouts",
    "references",
    "spead",
    "stream_states",
    "tags",
    "vdif",
}


# modules that scripts of users import from where they once were: public_names.yml has their names
MOVED = {"files/uvh5_reader.py", "plots/plot_data.py"}
# modules of formats that every room of it may know, and those that know several
OF_ALL_FORMATS = {"header_values", "powers", "recordings", "voltages"}
OF_SEVERAL_FORMATS = {"power_files", "voltage_files"}


def names_imported(root, path):
    """The names that a file of PACKAGE or APPS imports of gnuradio.aperture, as their parts below
    it."""
    folder, names = path.parent.parts, set()
    for node in ast.walk(ast.parse((root / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) + 1 - node.level] if node.level else ()
            base = ("gnuradio", "aperture", *above) if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            names |= {(*base, alias.name) for alias in node.names}
    return {name[2:] for name in names if name[:2] == ("gnuradio", "aperture")}


def packages_imported(root, path):
    """The packages of gnuradio.aperture, or "blocks", whose modules a Python file imports."""
    ours = {name[0] if name else "blocks" for name in names_imported(root, path)} - IN_CPP
    own = path.parts[0] if path.parent.parts else "blocks"
    known = lambda name: any((folder / name).is_dir() for folder in (PACKAGE, APPS))
    return {name if known(name) else "blocks" for name in ours} - {own}


def included(path):
    """The files of lib/ that a file of it includes between quotes, by their paths there."""
    for name in re.findall(r'^\s*#\s*include\s*"([^"@]+)"', path.read_text(), re.MULTILINE):
        # CMake makes some of a file of the same name with .in
        found = [
            folder / f"{name}{suffix}"
            for folder in (path.parent, LIBRARY)
            for suffix in ("", ".in")
            if (folder / f"{name}{suffix}").is_file()
        ]
        yield name, found[0].resolve().relative_to(LIBRARY.resolve()) if found else None


class TestSourceTree(unittest.TestCase):
    def test_gr_modtool_info(self):
        """gr_modtool recognises a module of GNU Radio 3.10 by the name of aperture."""
        output = run_or_fail(self, "gr_modtool", "info", "--python-readable", cwd=SOURCE)
        # the last line; warnings of Python packages may come before it
        info = eval(output.strip().splitlines()[-1], {})
        self.assertEqual(info["modname"], "aperture")
        self.assertEqual(info["version"], "310")
        self.assertEqual(os.path.realpath(info["base_dir"]), str(SOURCE))

    def test_gr_modtool_add(self):
        """gr_modtool adds blocks in C++ and in Python, and the tree still configures."""
        copy = fresh_folder("source_tree") / "gr-aperture"
        built = shutil.ignore_patterns("build*", "__pycache__", ".*")
        shutil.copytree(SOURCE, copy, symlinks=True, ignore=built)
        for language in ("cpp", "python"):
            # an empty line answers what its options cannot: whether C++ tests are wanted
            run_or_fail(
                self,
                "gr_modtool",
                "add",
                *f"--lang {language} --block-type sync --argument-list".split(),
                "int channels",
                "--copyright",
                "A. N. Other",
                *f"--add-python-qa --scm-mode no trial_{language}".split(),
                cwd=copy,
                answers="\n" * 5,
            )
        cmake = [
            CMAKE,
            "-S",
            copy,
            "-B",
            copy / "build",
            "-DENABLE_CUDA=OFF",
            f"-DPYTHON_EXECUTABLE={sys.executable}",
        ]
        if shutil.which("ninja"):
            cmake += ["-G", "Ninja"]
        run_or_fail(self, *cmake)
        # Ninja reads its rules only now, and refuses two for one file
        run_or_fail(self, CMAKE, "--build", copy / "build", "--target", "help")
        for made in (
            "lib/trial_cpp_impl.cc",
            "python/aperture/bindings/trial_cpp_python.cc",
            "python/aperture/trial_python.py",
            "grc/aperture_trial_cpp.block.yml",
            "grc/aperture_trial_python.block.yml",
            # the bindings of gr_modtool include it
            "build/python/aperture/bindings/trial_cpp_pydoc.h",
        ):
            self.assertTrue((copy / made).exists(), made)

        # the build refuses bindings that are older than their header
        header = copy / "include/gnuradio/aperture/trial_cpp.h"
        header.write_text(header.read_text() + "\n")
        status, output = run(*cmake)
        self.assertNotEqual(status, 0)
        self.assertIn("tools/update-binding-hashes", output)

        # the others stay as they are, or they would all be compiled again
        bindings = copy / "python/aperture/bindings"
        before = {path: path.stat().st_mtime_ns for path in bindings.glob("*.cc")}
        run_or_fail(self, copy / "tools/update-binding-hashes")
        written = [path.name for path in before if path.stat().st_mtime_ns != before[path]]
        self.assertEqual(written, ["trial_cpp_python.cc"])
        run_or_fail(self, *cmake)

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
            self.assertEqual(
                recorded[1],
                hashlib.md5(header.read_bytes()).hexdigest(),
                f"{source.name} is older than {header.name}: check the bindings, "
                "then run tools/update-binding-hashes",
            )
            seen.add(header.name)
        public = {path.name for path in HEADERS.glob("*.h")} - {
            "api.h",
            "beam_parameters.h",
            "flagging_parameters.h",
            "input_settings.h",
            "parameter.h",
        }
        self.assertEqual(public - seen, set(), "headers without bindings")

    def test_parameters_are_described(self):
        """Each field of a block's struct of parameters is in its describe()."""
        seen, missing = 0, []
        for header in sorted(HEADERS.glob("*.h")):
            text = header.read_text()
            for found in re.finditer(r"^( *)struct (\w*parameters)\b[^{;]*\{$", text, re.MULTILINE):
                body = text[found.end() : text.index(f"\n{found[1]}}};", found.end())]
                body = re.sub(r"//.*", "", body).split("static auto describe")[0]
                fields = re.findall(
                    r"^ *[\w:<>, ]+? (\w+) *(?:=[^;]*|\{[^;]*\})?;", body, re.MULTILINE
                )
                described = re.findall(r"parameter(?:<[^(]*>)?\(\s*\"(\w+)\"", text)
                described += re.findall(r"(\w+)_parameter<", text)
                seen += len(fields)
                missing += [
                    f"{header.name}: {found[2]}.{name}" for name in fields if name not in described
                ]
        self.assertGreater(seen, 200)
        self.assertEqual(missing, [])

    def test_headers_are_installed(self):
        listed = (HEADERS / "CMakeLists.txt").read_text()
        for header in HEADERS.rglob("*.h"):
            self.assertIn(f" {header.relative_to(HEADERS)}\n", listed)

    def test_copyright(self):
        """Every source file of ours says whose it is and under which licence."""
        for pattern in (
            "lib/**/*.cc",
            "lib/**/*.h",
            "python/aperture/**/*.py",
            "tests/**/*.py",
            "include/**/*.h",
            "grc/*.yml",
            "tools/*",
            "apps/*",
            "apps/**/*.py",
        ):
            paths = [path for path in SOURCE.glob(pattern) if path.is_file()]
            for path in paths:
                if path.suffix in (".pyc", ".txt"):
                    continue
                head = path.read_text()[:600]
                self.assertIn("SPDX-License-Identifier: GPL-3.0-or-later", head, path)
                self.assertIn("Copyright", head, path)

    def test_no_test_hides_another(self):
        """Two tests of a class, and two files of tests, have different names: or one never runs."""
        twice, tests = [], 0
        ours = [root / path for root, path in python_modules()]
        for path in sorted([*ours, *(SOURCE / "tests").rglob("*.py")]):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.ClassDef):
                    continue
                # accessors of a property have its name
                names = [
                    each.name
                    for each in node.body
                    if not any(
                        isinstance(one, ast.Attribute)
                        for one in getattr(each, "decorator_list", [])
                    )
                    and isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
                ]
                tests += sum(name.startswith("test_") for name in names)
                twice += [
                    f"{path.relative_to(SOURCE)}: {node.name}.{name}"
                    for name in sorted(set(names))
                    if names.count(name) > 1
                ]
        self.assertGreater(tests, 1000)
        # CTest knows a file of tests by its name alone
        files = sorted(path.stem for _, path in python_modules() if path.stem.startswith("qa_"))
        twice += sorted({name for name in files if files.count(name) > 1})
        self.assertEqual(twice, [])

    def test_directions_of_imports(self):
        """Packages know each other in one direction; arrays and files know no blocks."""
        # raises CycleError, with the packages, where the table goes round in a circle
        graphlib.TopologicalSorter(MAY_IMPORT).prepare()
        folders, wrong = {"blocks"}, []
        for root, path in python_modules():
            folder = path.parts[0] if path.parent.parts else "blocks"
            folders.add(folder)
            # modules of which scripts of users know the old place import from the new one
            if path.name.startswith("qa_") or path.as_posix() in ("__init__.py", *MOVED):
                continue
            for name in sorted(packages_imported(root, path) - MAY_IMPORT[folder]):
                wrong.append(f"{path} imports from {name}")
        self.assertEqual(wrong, [])
        self.assertEqual(folders, set(MAY_IMPORT))

    def test_programs_are_above_blocks(self):
        """Modules of apps/ import those of python/aperture, and these know none of them."""
        in_apps = {path.with_suffix("").parts for root, path in python_modules() if root == APPS}
        self.assertGreater(len(in_apps), 50)
        wrong = [
            f"{path} imports {'.'.join(name)}"
            for root, path in python_modules()
            if root == PACKAGE and not path.name.startswith("qa_")
            for name in sorted(names_imported(root, path))
            # a module, or a name in it
            if {name, name[:-1]} & in_apps and "outside" not in path.parts
        ]
        self.assertEqual(wrong, [])

    def test_directions_of_includes(self):
        """Folders of lib/ include each other in one direction, which a table fixes."""
        # raises CycleError, with the folders, where the table goes round in a circle
        graphlib.TopologicalSorter(MAY_INCLUDE).prepare()
        folders, wrong = set(), []
        for path in sorted(LIBRARY.rglob("*")):
            if path.suffix not in (".cc", ".cu", ".cuh", ".h", ".in"):
                continue
            folder = path.parent.relative_to(LIBRARY).as_posix()
            folders.add(folder)
            for name, file in included(path):
                of = file and file.parent.as_posix()
                if not file:
                    wrong.append(f"{path.relative_to(LIBRARY)}: there is no {name}")
                elif folder not in (".", of) and of not in MAY_INCLUDE[folder]:
                    wrong.append(f"{path.relative_to(LIBRARY)} includes {file}")
        self.assertEqual(wrong, [])
        self.assertEqual(folders - {"."}, set(MAY_INCLUDE))

    def test_calls_of_linux(self):
        """Calls that only Linux has stand behind one interface each."""
        python = [
            (path.as_posix(), (root / path).read_text())
            for root, path in python_modules()
            if not path.name.startswith("qa_") and path.parts[0] != "testing"
        ]
        library = [
            (path.relative_to(LIBRARY).as_posix(), re.sub(r"//.*", "", path.read_text()))
            for path in sorted(LIBRARY.rglob("*"))
            if path.suffix in (".cc", ".cu", ".cuh", ".h", ".in")
        ]
        for table, texts in ((ONLY_IN_PYTHON, python), (ONLY_IN_LIBRARY, library)):
            for pattern, allowed in table.items():
                found = {name for name, text in texts if re.search(pattern, text)}
                # a file that no longer uses it is no longer to be named
                self.assertEqual(found, allowed, pattern)

    def test_rooms_of_formats(self):
        """No format knows another one."""
        formats = PACKAGE / "formats"
        rooms = {path.stem for path in formats.iterdir() if not path.name.startswith(("_", "qa_"))}
        wrong = []
        for path in sorted(formats.rglob("*.py")):
            room = path.relative_to(formats).with_suffix("").parts[0]
            found = re.findall(r"^\s*from (\.+)(\w+)", path.read_text(), re.MULTILINE)
            depth = len(path.relative_to(formats).parts)
            names = {name for dots, name in found if len(dots) == depth} & rooms
            if not path.name.startswith("qa_") and room not in OF_SEVERAL_FORMATS:
                wrong += [f"{room} knows {name}" for name in names - OF_ALL_FORMATS - {room}]
        self.assertTrue(OF_ALL_FORMATS <= rooms)
        self.assertEqual(wrong, [])

    def test_packages_that_are_imported(self):
        """Modules that are imported at the top come with a package that ours names."""
        imported = set()
        for root, path in python_modules():
            if not path.name.startswith("qa_") and path.parts[0] != "testing":
                imported |= set(
                    re.findall(r"^(?:import|from) (\w+)", (root / path).read_text(), re.MULTILINE)
                )
        known = DEPENDS | RECOMMENDS | FROM_PYPI | set(sys.stdlib_module_names)
        self.assertEqual(
            imported - known,
            set(),
            "cmake/Modules/ApertureDebian.cmake is to depend on the package of these",
        )

    def test_no_standard_module_is_hidden(self):
        """No folder that a test or script is started from hides a module of Python's own.

        Python puts the folder of the script first in sys.path, so that a package `array` beside
        it would be taken for the standard module of that name, also by other packages.
        """
        folders = {
            path.parent
            for folder in ("apps", "python", "tests", "examples", "bench")
            for path in (SOURCE / folder).rglob("*.py")
        }
        self.assertGreater(len(folders), 8)
        hidden = [
            str(path.relative_to(SOURCE))
            for folder in sorted(folders)
            for path in sorted(folder.iterdir())
            if (path.is_dir() and any(path.glob("*.py")) or path.suffix == ".py")
            and path.stem in sys.stdlib_module_names
        ]
        self.assertEqual(hidden, [])

    def test_format(self):
        """Python is as ruff.toml wants it, and C++ as .clang-format does, by fixed versions."""
        for program in ("ruff", "clang-format"):
            need_program(self, BUILD / "outside-venv/bin" / program)
        status, output = run(
            SOURCE / "tools/format", "--check", env={**os.environ, "APERTURE_BUILD": str(BUILD)}
        )
        self.assertEqual(status, 0, output + "\nrun tools/format")


if __name__ == "__main__":
    main()
