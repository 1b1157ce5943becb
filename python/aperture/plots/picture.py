#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Pictures as files."""

import os

import matplotlib.pyplot as plt

from ..files.checked_file import whole_file


def save_picture(figure, path, **options):
    """
    Writes a matplotlib figure in the format that the ending of the name says, and closes it.

    What was there stays until the new picture is whole. options: as of savefig().

    Raises
    ------
    OSError
        It could not be written; the error names `path`.
    """
    kind = os.path.splitext(path)[1][1:].lower()
    try:
        with whole_file(path) as part:
            figure.savefig(part, format=kind, **options)
    finally:
        plt.close(figure)
