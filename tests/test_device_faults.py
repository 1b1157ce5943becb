# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests of devices see it when a wait or a copy of the runtime is not done."""

import concurrent.futures
import os
import re
import subprocess
import unittest

from gnuradio.aperture.testing.tiers import long_test
from places import BUILD, SOURCE, main


def names_of_faults():
    faults = set()
    for path in (SOURCE / "lib").rglob("*.cc"):
        faults |= set(re.findall(r'left_out\("([^"]+)"\)', path.read_text()))
    return sorted(faults)


class TestDeviceFaults(unittest.TestCase):
    def assert_each_is_seen(self, test, tries):
        program = BUILD / "tests" / "cpp" / f"{test}_with_faults"

        def run_with(fault):
            try:
                result = subprocess.run(
                    [program, "--first-failure"],
                    timeout=1800,
                    env=dict(os.environ, APERTURE_FAULT=fault),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
            except subprocess.TimeoutExpired:
                return "timeout", ""
            return result.returncode, result.stdout

        faults = names_of_faults()
        self.assertGreaterEqual(len(faults), 15)
        status, output = run_with("")
        self.assertEqual(status, 0, f"without a fault: {output}")
        # the runs wait most of the time, for threads that are late by design
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            seen = pool.map(
                lambda fault: any(run_with(fault)[0] != 0 for _ in range(tries)), faults
            )
            unseen = [fault for fault, one in zip(faults, seen) if not one]
        self.assertEqual(unseen, [], "left out, and no test failed")

    def test_each_fault_is_seen_at_once(self):
        """By tests in which one side of each wait is as late as the others allow."""
        self.assert_each_is_seen("qa_device_waits", 1)

    @long_test
    def test_each_fault_is_seen_by_tests_with_random_delays(self):
        """The effect of a missing wait there depends on timing, and is not seen each time."""
        self.assert_each_is_seen("qa_device_order", 12)


if __name__ == "__main__":
    main()
