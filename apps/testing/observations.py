#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of tests of aperture_beams and of its files."""

import contextlib
import io
import signal
import subprocess
import sys

import numpy as np

from ..arrays.array_description import Antenna, Input, Source, save_array
from ..commands import beams_command
from .arrays import make_array
from .folders import InFolder
from .qa_tools import DEVICE, PATIENCE, comes_true

PROGRAM = (
    "import sys; from gnuradio.aperture.commands.beams_command import main; "
    "sys.exit(main(sys.argv[1:]))"
)


def array_of(letters="x", gains=True):
    """Ten antennas within 60 m, 150 MHz, and a source of flux 2."""
    rng = np.random.default_rng(5)
    places = [Antenna(f"A{i}", (*rng.uniform(-60, 60, 2), 0.0)) for i in range(10)]
    inputs = [
        Input(
            place.name,
            letter,
            complex(*rng.uniform(0.5, 2, 2)) if gains else 1,
            rng.uniform(0, 2e-8),
        )
        for place in places
        for letter in letters
    ]
    return make_array(
        places,
        inputs=inputs,
        center=1.5e8,
        sources=[Source("s", azimuth=170.0, elevation=55.0, flux=2.0)],
    )


def words(text):
    """The words of a command line, in which no name has a blank."""
    return text.split()


def run(command, *arguments):
    """Exit code, stdout and stderr of main() in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command.main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code
    return code, out.getvalue(), err.getvalue()


class Observations(InFolder):
    """The base of tests with a folder in which there are files of beams."""

    def array(self, **arguments):
        save_array(array_of(**arguments), self.path("array.yaml"))
        return "sim:" + self.path("array.yaml")

    def observe(self, *arguments, source=None, output="out.fil"):
        """Runs the command on 32 channels; its stdout."""
        code, out, err = run(
            beams_command,
            "--input",
            source or self.array(),
            *words(f"--channels 32 --duration 0.2 --device {DEVICE} -o {self.path(output)}"),
            *arguments,
        )
        self.assertEqual(code, 0, err)
        return out

    def interrupt(self, ready, *arguments):
        """Runs the command without end on 32 channels until ready() is true, then sends it
        Ctrl-C; its stdout."""
        child = subprocess.Popen(
            [
                sys.executable,
                "-c",
                PROGRAM,
                *words(f"--channels 32 --duration inf --device {DEVICE}"),
                *map(str, arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        self.assertTrue(comes_true(lambda: ready() or child.poll() is not None, pause=0.02))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE)
        self.assertEqual((child.returncode, err), (0, ""))
        return out
