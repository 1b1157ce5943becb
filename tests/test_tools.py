# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs in tools/, as far as they can be tested without a fresh machine."""

import os
import re
import shutil
import unittest

import numpy as np

from places import BUILD, SOURCE, fresh_folder, main, run, run_or_fail

#: in place of CMake: writes down what it is asked for, as a configured build does
FAKE_CMAKE = """#!/bin/sh
for argument; do
    case $argument in
    -DENABLE_CUDA=*)
        printf '%s\\n' "CMAKE_HOME_DIRECTORY:INTERNAL=$SOURCE" \\
            "ENABLE_CUDA:STRING=${argument#*=}" CPPUNIT_FOUND:INTERNAL=1 \\
            SOAPYSDR_FOUND:INTERNAL=1 \\
            > "$APERTURE_BUILD/CMakeCache.txt"
        printf '%s\n' qa_mask_cc qa_timeline_cc check_flagging > "$APERTURE_BUILD/test_programs.txt"
        touch "$APERTURE_BUILD/build.ninja" ;;
    esac
done
echo "$*" >> "$APERTURE_BUILD/asked.txt"
"""
#: a machine of so many GPUs that who reads the first line only is not the last to end
FAKE_GPUS = '#!/bin/sh\nfor i in $(seq 3000); do echo "GPU $i: a GPU"; done\n'


class TestSetup(unittest.TestCase):
    def setUp(self):
        self.folder = fresh_folder("tools-setup")
        self.stubs = self.folder / "bin"
        self.stubs.mkdir()
        self.stub("cmake", FAKE_CMAKE)
        self.stub("nvidia-smi", "#!/bin/sh\nexit 9\n")
        self.stub("apt-get", "#!/bin/sh\nexit 1\n")

    def stub(self, name, text):
        (self.stubs / name).write_text(text)
        (self.stubs / name).chmod(0o755)

    def set_up(self, *words, build="build", cuda=""):
        """Runs tools/setup; returns its exit status, output, and the build's ENABLE_CUDA."""
        status, output = run(
            SOURCE / "tools/setup",
            *words,
            env={
                **os.environ,
                "PATH": f"{self.stubs}:{os.environ['PATH']}",
                "APERTURE_BUILD": str(self.folder / build),
                "APERTURE_CUDA": cuda,
                "SOURCE": str(SOURCE),
            },
        )
        cache = self.folder / build / "CMakeCache.txt"
        found = re.search("ENABLE_CUDA:STRING=(.*)", cache.read_text()) if cache.exists() else None
        return status, output, found and found[1]

    def test_kernels_for_cuda(self):
        """Kernels are built where there is a GPU, for tests, or as a user says; a build that has
        them keeps them."""
        for words, cuda, expected in (
            ((), "", "OFF"),
            (("test",), "", "AUTO"),
            ((), "", "AUTO"),
            ((), "ON", "ON"),
            (("test",), "", "ON"),
            ((), "OFF", "OFF"),
            ((), "", "OFF"),
            ((), "AUTO", "AUTO"),
        ):
            with self.subTest(words=words, cuda=cuda):
                status, output, found = self.set_up(*words, cuda=cuda)
                self.assertEqual((status, found), (0, expected), output)
        self.stub("nvidia-smi", FAKE_GPUS)
        status, output, found = self.set_up(build="with-gpus")
        self.assertEqual((status, found), (0, "AUTO"), output)

    def test_targets(self):
        """Users get no tests built, and tests by their names only those programs."""
        for words, expected in (
            ((), ["all"]),
            (("test",), ["all test_programs"]),
            (("test", "mask", "time.*cc$"), ["all test_plugins", "qa_mask_cc qa_timeline_cc"]),
            # a test in Python
            (("test", "documents"), ["all test_plugins"]),
        ):
            with self.subTest(words=words):
                asked = self.folder / "build" / "asked.txt"
                asked.unlink(missing_ok=True)
                status, output, _ = self.set_up(*words)
                self.assertEqual(status, 0, output)
                self.assertEqual(re.findall(r"--target (.*)", asked.read_text()), expected)

    def test_refuses(self):
        for words in ("mask",), ("mask", "test"), ("test", "--mask"):
            status, output, found = self.set_up(*words)
            self.assertEqual(status, 2)
            self.assertIn("mask' is not allowed: test, or --with", output)
            self.assertIsNone(found)
        status, output, found = self.set_up(cuda="maybe")
        self.assertNotEqual(status, 0)
        self.assertIn("APERTURE_CUDA=maybe is not allowed: ON, OFF or AUTO", output)
        self.assertIsNone(found)


class TestRun(unittest.TestCase):
    def test_nothing_outside(self):
        """HOME and the XDG folders of what is started lie below the build folder."""
        output = run_or_fail(
            self,
            SOURCE / "tools/run",
            "env",
            env={"HOME": "/nowhere", "PATH": "/usr/bin:/bin", "APERTURE_BUILD": str(BUILD)},
        )
        there = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
        for name in (
            "HOME",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
            "XDG_RUNTIME_DIR",
            "MPLCONFIGDIR",
        ):
            self.assertTrue(there[name].startswith(f"{BUILD}/"), f"{name}={there[name]}")

    def test_own_python(self):
        """python3 is GNU Radio's, whatever comes first in PATH."""
        folder = fresh_folder("tools")
        other = folder / "python3"
        other.write_text("#!/bin/sh\necho the wrong one\nexit 1\n")
        other.chmod(0o755)
        output = run_or_fail(
            self,
            SOURCE / "tools/run",
            "python3",
            "-c",
            "from gnuradio import aperture; print(aperture.__file__)",
            env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin"},
        )
        self.assertIn(str(BUILD / "test_modules"), output)

    def test_terminal(self):
        """GNU Radio Companion is told of a terminal by its path, or its first run complains."""
        if not shutil.which("xterm") and not shutil.which("x-terminal-emulator"):
            self.skipTest("no terminal is installed")
        show = (
            "from gnuradio import gr; print(gr.prefs().get_string('grc', 'xterm_executable', ''))"
        )
        environment = {
            name: value
            for name, value in os.environ.items()
            if name != "GR_CONF_GRC_XTERM_EXECUTABLE"
        }
        terminal = run_or_fail(
            self, SOURCE / "tools/run", "python3", "-c", show, env=environment
        ).split()[-1]
        # Companion asks for this (Application.py)
        self.assertTrue(os.path.isabs(terminal) and os.path.exists(terminal), terminal)
        own = run_or_fail(
            self,
            SOURCE / "tools/run",
            "python3",
            "-c",
            show,
            env={**environment, "GR_CONF_GRC_XTERM_EXECUTABLE": "/usr/bin/my-own"},
        )
        self.assertEqual(own.split()[-1], "/usr/bin/my-own")

    def test_exit_status_and_folder(self):
        """tools/run runs in the caller's folder and ends as the command does."""
        folder = fresh_folder("tools")
        status, output = run(SOURCE / "tools/run", "sh", "-c", "pwd; exit 7", cwd=folder)
        self.assertEqual(status, 7)
        self.assertEqual(os.path.realpath(output.strip()), str(folder))

    def test_not_built(self):
        folder = fresh_folder("tools")
        status, output = run(
            SOURCE / "tools/run", "true", env={**os.environ, "APERTURE_BUILD": str(folder)}
        )
        self.assertEqual(status, 1)
        self.assertIn("run tools/setup first", output)

    def test_usage(self):
        status, output = run(SOURCE / "tools/run")
        self.assertNotEqual(status, 0)
        self.assertIn("tools/run COMMAND", output)
        output = run_or_fail(self, SOURCE / "tools/run", "--help")
        self.assertIn("tools/run COMMAND", output)


#: like NVIDIA's, as far as tools/sanitize-gpu knows it; finds what the program's name says
SANITIZER = """#!/bin/sh
case "$*" in
    *--num-cuda-barriers*) ;;
    *synccheck* | *racecheck*) exit 3 ;;
esac
case "$*" in
    *slow*) sleep 600 ;;
    *fails*) echo '========= ERROR SUMMARY: 0 errors'; exit 1 ;;
    *racecheck*faulty*)
        echo '========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)'
        exit 99 ;;
    *racecheck*) echo '========= RACECHECK SUMMARY: 0 hazards displayed' ;;
    *silent*) ;;
    *) echo '========= ERROR SUMMARY: 0 errors'; echo "12 comparisons on $CUDA_VISIBLE_DEVICES" ;;
esac
"""


class TestSanitizeGpu(unittest.TestCase):
    """Tests of what it makes of the sanitizer's answers; what those are takes a GPU."""

    def setUp(self):
        folder = fresh_folder("sanitize-gpu")
        program = folder / "bin" / "compute-sanitizer"
        program.parent.mkdir()
        program.write_text(SANITIZER)
        program.chmod(0o755)
        self.environment = {**os.environ, "CUDA_HOME": str(folder), "APERTURE_BUILD": str(folder)}

    def sanitize(self, *words):
        return run(SOURCE / "tools/sanitize-gpu", *words, env=self.environment)

    def test_clean(self):
        status, output = self.sanitize("qa_copy", "check_pfb quick")
        self.assertEqual(status, 0, output)
        self.assertIn("8 of 8 clean", output)
        self.assertEqual(output.count("12 comparisons"), 6)

    def test_all(self):
        status, output = self.sanitize("--tool", "memcheck")
        self.assertEqual(status, 0, output)
        for test in (
            "check_xengine",
            "check_pfb",
            "check_f_engine",
            "check_beams",
            "qa_copy",
            "qa_xengine",
            "qa_f_engine",
            "qa_beam_power",
            "qa_fx",
        ):
            self.assertIn(f"memcheck  {test}", output)
        self.assertNotIn("qa_tools", output)

    def test_gpus(self):
        status, output = self.sanitize(
            "--gpus",
            "2,5",
            "--jobs",
            "1",
            "--tool",
            "memcheck",
            *[f"check_pfb {i}" for i in range(9)],
        )
        self.assertEqual(status, 0, output)
        for gpu in "2", "5":
            self.assertIn(f"12 comparisons on {gpu}", output)

    def test_found(self):
        for words, said in [
            (["--tool", "racecheck", "faulty"], "2 hazards displayed (2 errors, 0 warnings)"),
            (["--tool", "memcheck", "fails"], "FAULTY"),
            (["--tool", "memcheck", "silent"], "no summary"),
        ]:
            status, output = self.sanitize(*words, "qa_copy")
            self.assertEqual(status, 1, output)
            self.assertIn(said, output)
            self.assertIn("1 of 2 clean", output)

    def test_limit(self):
        """One that does not end is ended; alone, as no limit is long enough for any machine."""
        status, output = self.sanitize("--tool", "memcheck", "--limit", "0.2", "slow")
        self.assertEqual(status, 1, output)
        self.assertIn("not finished after 0.2 s", output)
        self.assertIn("0 of 1 clean", output)

    def test_none(self):
        self.environment.update(CUDA_HOME="/nowhere", PATH="/nowhere")
        status, output = self.sanitize()
        self.assertEqual(status, 1)
        self.assertIn("no compute-sanitizer", output)


#: stands for a file of GNU Radio's tests
FAKE_QA = """
from gnuradio import blocks, gr, gr_unittest

class qa_fake(gr_unittest.TestCase):
    def test_items(self):
        top, sink = gr.top_block(), blocks.vector_sink_i()
        top.connect(blocks.vector_source_i([1, 2, 3]), sink)
        top.run()
        self.assertEqual(sink.data(), [1, 2, 3])
        self.assertEqual({expected}, 'copy' in top.edge_list() or 'copy' in top.msg_edge_list())

if __name__ == '__main__':
    gr_unittest.run(qa_fake)
"""


class TestGnuradioQa(unittest.TestCase):
    """tools/gnuradio-qa, with files that stand for GNU Radio's."""

    def check(self, *files):
        folder = fresh_folder("tools-gnuradio-qa")
        (folder / "gr-blocks").mkdir()
        for name, text in files:
            (folder / "gr-blocks" / name).write_text(text)
        return run(
            SOURCE / "tools/run",
            SOURCE / "tools/gnuradio-qa",
            folder,
            "--jobs",
            "2",
            env={**os.environ, "APERTURE_BUILD": str(BUILD)},
        )

    def test_copies_are_in_the_edges(self):
        status, output = self.check(
            ("qa_good.py", FAKE_QA.format(expected="True")),
            ("qa_other.py", FAKE_QA.format(expected="False")),
            ("qa_bad.py", "raise SystemExit(3)\n"),
        )
        self.assertEqual(status, 1, output)
        self.assertRegex(
            output,
            r"passed +1 tests +1 copies +gr-blocks/qa_good.py"
            r" +\(as it is: failed\)",
        )
        # this one finds no copy in its flowgraph as it is, and one with the copies
        self.assertRegex(
            output,
            r"failed +1 tests +1 copies +gr-blocks/qa_other.py"
            r" +\(as it is: passed\)",
        )
        self.assertIn(
            "1 files passed (1 tests, 1 copies), 1 failed with the copies only, "
            "1 also as they are, 0 ran no test, 0 left out",
            output,
        )
        # in this order, whichever ends first
        self.assertEqual(
            re.findall(r"\d copies  gr-blocks/(\w+)\.py", output),
            ["qa_bad", "qa_good", "qa_other"],
            output,
        )

    def test_refuses(self):
        status, output = self.check()
        self.assertEqual(status, 2)
        self.assertIn("holds no qa_*.py; allowed is a source tree of GNU Radio", output)


class TestSynthesisedRecording(unittest.TestCase):
    def test_statistics(self):
        """Power slope, level and coherence are those that the program's text promises."""
        path = fresh_folder("tools") / "synthesised.dada"
        run_or_fail(self, SOURCE / "tools/synthesise-recording", path)
        content = path.read_bytes()
        self.assertIn(b"TELESCOPE    Effelsberg", content[:4096])
        data = np.frombuffer(content[4096:], np.int8).reshape(16000, 2, 2)
        x, y = (data[..., 0] + 1j * data[..., 1]).T
        # N complex samples give a relative error of 1/sqrt(N) = 0.008; five of them
        tolerance = 5 / np.sqrt(len(x))
        for voltages in (x, y):
            self.assertAlmostEqual(np.mean(abs(voltages) ** 2) / (2 * 20**2), 1, delta=tolerance)
            power = abs(np.fft.fftshift(np.fft.fft(voltages))) ** 2
            lower, upper = power[:8000].mean(), power[8000:].mean()
            # 2/3 to 4/3: the halves have means 5/6 and 7/6
            self.assertAlmostEqual(upper / lower, 7 / 5, delta=4 * tolerance)
        coherence = np.vdot(y, x) / np.sqrt(np.vdot(x, x) * np.vdot(y, y)).real
        self.assertAlmostEqual(abs(coherence - 0.5), 0, delta=tolerance)


if __name__ == "__main__":
    main()
