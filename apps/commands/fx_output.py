#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The output of aperture_fx: a UVH5 file, and what is made of it at the end."""

import os
import subprocess

from ..packages import environment
from .terminal import fail, say

ENDINGS = (".uvh5", ".ms", ".uvfits")


class FxOutput:
    """
    The files of `-o`. While data come, a UVH5 file grows; at the end aperture_convert, which runs
    in the environment that has pyuvdata, makes a measurement set or a UVFITS file of it.

    Attributes: `name`, that of `-o`; `uvh5`, the name of that file ({time} is not replaced yet);
    `files`, all names that are written.

    Raises
    ------
    PackageError
        The packages for another format are not there: to be known before anything is computed.
    """

    def __init__(self, program, plan):
        self.name = plan.outputs.file
        self._program, self._overwrite = program, plan.outputs.overwrite
        stem, self._ending = os.path.splitext(self.name)
        self._converted = self.name if self._ending != ENDINGS[0] else None
        self._keep = plan.outputs.keep_uvh5
        if self._converted is None:
            self.uvh5 = self.name
        else:
            environment.require_installed("conversion")
            # a file that is removed in the end must not take the place of a file of the user's
            self.uvh5 = stem + ".uvh5" if self._keep else self.name + ".uvh5"
        self.files = [self.uvh5, *([self._converted] if self._converted else [])]

    def convert(self, path):
        """Makes what was asked for of the UVH5 file, `path`; returns the exit code."""
        if self._converted is None:
            return 0
        target = path[: -len(".uvh5")]
        if self._keep:
            target += self._ending
        command = environment.command(
            "gnuradio.aperture.commands.convert",
            path,
            target,
            *([] if self._overwrite else ["--no-overwrite"]),
        )
        say(f"converting into {target}")
        code = subprocess.run(command).returncode
        if code:
            fail(self._program, f"{target} was not written; the visibilities are in {path}")
        elif not self._keep:
            os.unlink(path)
        return code
