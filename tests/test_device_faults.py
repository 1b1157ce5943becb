# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests of devices see it when a wait or a copy of the runtime is not done."""

import concurrent.futures
import os
import re
import subprocess
import unittest

from places import BUILD, CMAKE, SOURCE, main, run_or_fail

TEST = "qa_device_order_cc"


class TestDeviceFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build = BUILD / "tests" / "faults"
        cls.build.mkdir(parents=True, exist_ok=True)

    def run_with(self, fault):
        environment = dict(os.environ, APERTURE_FAULT=fault)
        try:
            result = subprocess.run([self.build / "tests" / "cpp" / TEST, "--first-failure"],
                                    env=environment, timeout=300, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return "timeout"
        return result.returncode

    def is_seen(self, fault):
        # what a missing wait does depends on timing, and is not seen each time on a busy machine
        return any(self.run_with(fault) != 0 for _ in range(12))

    def test_each_fault_is_seen(self):
        faults = set()
        for path in (SOURCE / "lib").rglob("*.cc"):
            faults |= set(re.findall(r'left_out\("([^"]+)"\)', path.read_text()))
        self.assertGreaterEqual(len(faults), 15)

        run_or_fail(self, CMAKE, "-S", SOURCE, "-B", self.build, "-DAPERTURE_FAULTS=ON",
                    "-DENABLE_PYTHON=OFF", "-DENABLE_CUDA=OFF")
        run_or_fail(self, CMAKE, "--build", self.build, "--target", TEST, "--parallel", "2",
                    timeout=1200)
        self.assertEqual(self.run_with(""), 0, "without a fault")
        # they wait most of the time, for threads that are late by design
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            seen = dict(zip(sorted(faults), pool.map(self.is_seen, sorted(faults))))
        unseen = [fault for fault in seen if not seen[fault]]
        self.assertEqual(unseen, [], "left out, and no test failed")


if __name__ == "__main__":
    main()
