# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives each test a folder of its own."""

import pathlib
import tempfile


class InFolder:
    """The base of tests that write files: `folder`, a Path, is empty before each and gone after."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        """The name of a file in the folder, as text."""
        return str(self.folder / name)
