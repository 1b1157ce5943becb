# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The server of monitoring is as it describes itself: schemathesis reads its OpenAPI description, and
asks what is allowed and what is not, in thousands of ways. It is in the environment of
tools/outside-venv.
"""

import os
import pathlib
import sys
import tempfile
import unittest

from gnuradio.aperture.testing.fed_server import TOKEN, FedServer, write_token
from places import BUILD, SKIPPED, main, run

PROGRAM = pathlib.Path(
    os.environ.get("APERTURE_SCHEMATHESIS", BUILD / "outside-venv/bin/schemathesis")
)
#: requests of each path, in each of schemathesis' phases
EXAMPLES = int(os.environ.get("APERTURE_EXAMPLES", "25"))


class TestMonitoringApi(unittest.TestCase):
    def test_schemathesis(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            FedServer({"token_file": write_token(folder)}, request_time=15.0) as server,
        ):
            for _ in range(3):
                server.feed()
            status, output = run(
                PROGRAM,
                "run",
                "--no-color",
                "--header",
                f"Authorization: Bearer {TOKEN}",
                "--max-examples",
                EXAMPLES,
                "--generation-deterministic",
                # methods that are none are refused before it is known of what they would be
                "--phases",
                "examples,coverage,fuzzing",
                "--exclude-checks",
                "unsupported_method",
                "--suppress-health-check",
                "all",
                "--request-timeout",
                30,
                f"{server.url}openapi.json",
                # neither the caller's packages nor its proxies
                cwd=folder,
                env={"PATH": os.environ["PATH"], "HOME": folder},
            )
            self.assertIsNone(server.ended())
            self.assertGreater(len(server.commands), 10)
            self.assertEqual(0, status, output[-6000:])


if __name__ == "__main__":
    if not PROGRAM.exists():
        print(f"{PROGRAM} is not there: tools/outside-venv makes it", file=sys.stderr)
        sys.exit(1 if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1" else SKIPPED)
    main()
