# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
GCC's sanitizers find nothing, with all assertions.

The quick tier runs what finds most: the tests of the runtime with ThreadSanitizer, and the readers
of packets and files with AddressSanitizer and UndefinedBehaviorSanitizer and random input, from
objects that the build has made for this (tests/sanitizers/CMakeLists.txt). tools/test --all builds
the library twice more: the tests of the runtime and of threads under all three sanitizers, those
of kernels under the first two (OpenMP's threads are not instrumented).
"""

import concurrent.futures
import os
import subprocess
import unittest

from gnuradio.aperture.testing.tiers import long_test
from places import BUILD, CMAKE, SOURCE, main, run_or_fail

THREADS = (
    "qa_device_runtime_cc",
    "qa_device_order_cc",
    "qa_device_waits_cc",
    "qa_device_flow_cc",
    "qa_device_repeats_cc",
    "qa_timed_beam_settings_cc",
)
KERNELS = (
    "qa_kernels_cc",
    "qa_beam_kernels_cc",
    "qa_f_engine_kernels_cc",
    "qa_synthesis_kernels_cc",
    "qa_zoom_kernels_cc",
    "qa_averaging_kernels_cc",
)
PROGRAMS = BUILD / "tests" / "sanitizers"
SUPPRESSIONS = SOURCE / "tests" / "sanitizers" / "thread.supp"

#: arguments for a program with a fault -> the sanitizer's text
FAULTS = {
    "thread": {"race": "ThreadSanitizer: data race"},
    "address_undefined": {
        "freed": "AddressSanitizer: heap-use-after-free",
        "overflow": "runtime error: signed integer overflow",
    },
}


def run(command, limit=1800, **environment):
    """Returns the exit status of a program and what it wrote."""
    result = subprocess.run(
        command,
        timeout=limit,
        env=dict(os.environ, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return result.returncode, result.stdout


class Sanitizers(unittest.TestCase):
    def assert_clean(self, commands, **environment):
        """Programs end well; two of them run at a time, as those with threads often wait."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = pool.map(lambda command: run(command, **environment), commands)
        for command, (status, output) in zip(commands, results):
            with self.subTest(command=" ".join(str(word) for word in command)):
                self.assertEqual(status, 0, output[-8000:])

    def assert_finds(self, program, faults):
        """The sanitizer is at work: it finds what is wrong with such a program."""
        for fault, said in faults.items():
            with self.subTest(fault=fault):
                status, output = run([program, fault], TSAN_OPTIONS="")
                self.assertIn(said, output)
                self.assertNotEqual(status, 0)


class TestOwnObjects(Sanitizers):
    """Tests of programs that are parts of the build."""

    def program(self, name):
        path = PROGRAMS / name
        if not path.exists():
            missing = f"{path} was not built: does the compiler have no such sanitizer?"
            if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
                self.fail(missing)
            self.skipTest(missing)
        return path

    def test_threads_of_the_runtime(self):
        program = self.program("runtime_thread")
        self.assert_clean(
            [
                [program, *suites]
                for suites in (
                    ["qa_device_flow"],
                    [
                        "qa_device_order",
                        "qa_device_waits",
                        "qa_device_repeats",
                        "qa_device_runtime",
                        "qa_timed_beam_settings",
                        "qa_packet_window",
                        "qa_recording_reader",
                    ],
                )
            ],
            TSAN_OPTIONS=f"suppressions={SUPPRESSIONS}",
            APERTURE_TEST_ALL="",
        )

    def test_hostile_packets_and_files(self):
        self.assert_clean(
            [[self.program("fuzz_packets"), "1e6", "46"], [self.program("fuzz_files"), "1e4", "46"]]
        )

    def test_they_find_faults(self):
        for name, faults in FAULTS.items():
            self.assert_finds(self.program(f"faulty_{name}"), faults)


@long_test
class TestWholeTree(Sanitizers):
    """Tests of the library, built with each sanitizer."""

    def check(self, name, sanitizers, tests, **environment):
        build = BUILD / "tests" / f"{name}-sanitizer"
        build.mkdir(parents=True, exist_ok=True)
        flags = f"-fsanitize={sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer"
        run_or_fail(
            self,
            CMAKE,
            "-S",
            SOURCE,
            "-B",
            build,
            f"-DCMAKE_CXX_FLAGS={flags}",
            # not its -DNDEBUG: assertions are wanted; lines of the source are enough
            # to find what a sanitizer reports, and variables would take long
            "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
            "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1",
            "-DENABLE_PYTHON=OFF",
            "-DENABLE_CUDA=OFF",
            timeout=1200,
        )
        run_or_fail(
            self, CMAKE, "--build", build, "--target", *tests, "--parallel", "2", timeout=7200
        )
        self.assert_clean([[build / "tests" / "cpp" / test] for test in tests], **environment)

    def test_address(self):
        self.check("address", "address,undefined", THREADS + KERNELS)

    def test_thread(self):
        self.check("thread", "thread", THREADS, TSAN_OPTIONS=f"suppressions={SUPPRESSIONS}")


if __name__ == "__main__":
    main()
