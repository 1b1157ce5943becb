# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The tests of the runtime and of threads find nothing under AddressSanitizer and ThreadSanitizer,
those of kernels nothing under the first (OpenMP's threads are not instrumented), with all
assertions.
"""

import concurrent.futures
import os
import subprocess
import unittest

from places import BUILD, CMAKE, SOURCE, main, run_or_fail

THREADS = ("qa_device_runtime_cc", "qa_device_order_cc", "qa_device_flow_cc",
           "qa_device_repeats_cc", "qa_timed_beam_settings_cc")
KERNELS = ("qa_kernels_cc", "qa_beam_kernels_cc", "qa_f_engine_kernels_cc")
HERE = SOURCE / "tests"


class TestSanitizers(unittest.TestCase):
    def check(self, name, sanitizers, tests, **options):
        build = BUILD / "tests" / name
        build.mkdir(parents=True, exist_ok=True)
        flags = f"-fsanitize={sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer"
        run_or_fail(self, CMAKE, "-S", SOURCE, "-B", build, f"-DCMAKE_CXX_FLAGS={flags}",
                    # not its -DNDEBUG: assertions are wanted; lines of the source are enough
                    # to find what a sanitizer reports, and variables would take long
                    "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1",
                    "-DENABLE_PYTHON=OFF", "-DENABLE_CUDA=OFF")
        run_or_fail(self, CMAKE, "--build", build, "--target", *tests, "--parallel", "2",
                    timeout=2400)

        def run(test):
            return subprocess.run([build / "tests" / "cpp" / test], timeout=600,
                                  env=dict(os.environ, **options),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace")

        # the tests of threads sleep much of the time
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = pool.map(run, tests)
        for test, result in zip(tests, results):
            with self.subTest(test=test):
                self.assertEqual(result.returncode, 0, result.stdout[-8000:])
        self.check_finds(build, flags, options)

    def check_finds(self, build, flags, options):
        """A program with a fault of each kind fails: the sanitizer is at work."""
        program = build / "faulty"
        run_or_fail(self, os.environ.get("CXX", "c++"), *flags.split(), "-pthread",
                    HERE / "sanitizers" / "faulty.cc", "-o", program)
        result = subprocess.run([program], env=dict(os.environ, **options), timeout=60,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertNotEqual(result.returncode, 0)

    def test_address(self):
        self.check("address-sanitizer", "address,undefined", THREADS + KERNELS)

    def test_thread(self):
        self.check("thread-sanitizer", "thread", THREADS,
                   TSAN_OPTIONS=f"suppressions={HERE / 'sanitizers' / 'thread.supp'}")


if __name__ == "__main__":
    main()
