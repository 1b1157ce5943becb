# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
aperture_fx on several hosts: two F-engines and two X-engines on emulated devices, in network
namespaces of this computer, against one process. tests/long/host_failures.py has more of what can
happen.
"""

import os
import pathlib
import sys
import unittest

from places import enter_environment, fresh_folder, main, need_program

enter_environment("network")

import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "hosts"))
from hosts import INTEGRATION, Network, Observation, compare, end, may_use_namespaces

CUT = 0.6  # s
LATE = 3.0  # s, by which a process is late on a busy machine
AFTER = 16  # integrations, after the cable is in again


class TestHosts(unittest.TestCase):
    def test_hosts(self):
        """All that is there is what a single process gives, whatever happens to one host: an
        X-engine is killed and comes back, the cable of an F-engine is taken out."""
        if not may_use_namespaces():
            if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1" and os.geteuid() == 0:
                self.fail("network namespaces cannot be made")
            self.skipTest("network namespaces need root")
        need_program(self, "ip")
        observation = Observation(fresh_folder("hosts"))
        running = {}
        with Network() as network:
            try:
                for host in ("x1", "f0", "x0", "f1"):
                    running[host] = observation.start_host(network, host)
                network.wait_for(running)
                running["d"] = observation.start_digitisers(network)
                observation.wait_for_files("x1-*.uvh5", 1)
                running["x1"].kill()
                running["x1"].wait()
                running["x1"] = observation.start_host(network, "x1")
                observation.wait_for_files("x1-*.uvh5", 2)
                before = time.monotonic()
                network.cut("f1", True)
                time.sleep(CUT)
                network.cut("f1", False)
                cut = time.monotonic() - before
                time.sleep(AFTER * INTEGRATION)
                observation.stop()
                codes = {host: end(process) for host, process in running.items()}
            finally:
                for process in running.values():
                    process.kill()
                    process.wait()
        logs = "\n".join(f"{host}:\n{observation.log(host).read_text()}" for host in codes)
        self.assertEqual(codes, dict.fromkeys(codes, 0), logs)
        single = observation.single()
        found = compare(single, observation.merged())
        self.assertEqual((found["wrong"], found["alien"]), (0, 0), logs)
        # a cell in a thousand has a voltage that two FFTs round to neighbouring steps
        self.assertLessEqual(found["rounded"], 0.01 * found["complete"].size, logs)
        self.assertEqual(set(range(len(single[0]) - 1)) - set(found["times"]), set(), logs)
        own, other = found["complete"][:, :16], found["complete"][:, 16:]
        self.assertTrue((own == own[:, :1]).all() and (other == other[:, :1]).all(), logs)
        # the channels of the host that went on: complete but where a cable was out
        lost = np.count_nonzero(~own[:-1, 0])
        # Linux takes up to a second to see that the cable is in again; if nobody went on, all would
        # be lost that came after
        most = np.ceil((cut + 1 + LATE) / INTEGRATION) + 3
        self.assertLess(most, cut / INTEGRATION + AFTER)
        self.assertLessEqual(lost, most, logs)
        self.assertGreater(lost, 0, logs)
        # the others are away for as long as the host was, and come back
        self.assertTrue(found["flagged"][:, 16:].any(), logs)
        self.assertFalse(found["flagged"][:, :16].any(), logs)
        self.assertTrue(other[0, 0], logs)
        self.assertTrue(other[-AFTER:, 0].any(), logs)


if __name__ == "__main__":
    main()
