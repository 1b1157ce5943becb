#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""UVH5 files of tests."""

from ..files.growing_file import GrowingFile


def write_file(path, layout, integrations):
    """Writes the integrations of a Uvh5Layout, each of which is published before the next."""
    file = GrowingFile(path, layout.begin)
    for integration in integrations:
        file.add([integration])
    file.close()
