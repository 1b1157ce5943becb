#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The two tiers of tests: `tools/test` runs the quick one, `tools/test --all` both.

A test that takes long belongs to the second tier where a quick test would find nearly all of what
it finds. Whole programs of that tier have ctest's label `all`; single tests have `@long_test`.
"""

import os
import unittest

#: true if both tiers run
ALL = os.environ.get("APERTURE_TEST_ALL", "") not in ("", "0")

#: decorates a test, or a class of tests, of the second tier
long_test = unittest.skipUnless(ALL, "it takes long: tools/test --all runs it")
