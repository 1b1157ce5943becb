# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment with packages from PyPI, over GNU Radio's."""

import os
import re
import subprocess
import unittest
from unittest import mock

import numpy as np

from places import SOURCE, enter_environment, fresh_folder, main, run, run_or_fail

enter_environment("compression", "conversion", "digitalrf", "formats", "imaging", "timing")

from gnuradio.aperture.arrays.array_description import load_array
from gnuradio.aperture.commands import convert, fx, packages_command
from gnuradio.aperture.packages import environment
from gnuradio.aperture.testing.observations import run as run_main
from gnuradio.aperture.testing.tiers import long_test
from gnuradio.aperture.transients.barycentre import barycentric_time
from gnuradio.aperture.transients.par_file import ParError, parse_par
from gnuradio.aperture.transients.phase_model import par_segments

TIMING = "PSR J1\nRAJ 03:32\nDECJ 54:34\nF0 641.928221\nPEPOCH 55500\nUNITS TDB\n"

SYSTEM_PYTHON = "/usr/bin/python3"
VERSIONS = "import numpy, scipy; print(numpy.__version__, scipy.__version__)"


class TestPackages(unittest.TestCase):
    def test_together(self):
        """All packages load beside GNU Radio, with the system's NumPy and SciPy."""
        import astropy
        import baseband
        import casacore
        import digital_rf
        import ducc0
        import h5py
        import hdf5plugin
        import numpy
        import pyuvdata
        import scipy
        import sigmf
        from gnuradio import aperture

        from gnuradio.aperture.conversion import convert  # noqa: F401 (tells pyuvdata of the tree)

        inside = str(environment.folder())
        for module in (
            astropy,
            baseband,
            casacore,
            digital_rf,
            ducc0,
            h5py,
            hdf5plugin,
            pyuvdata,
            sigmf,
        ):
            self.assertTrue(module.__file__.startswith(inside), module.__file__)
        system = subprocess.run(
            [SYSTEM_PYTHON, "-c", VERSIONS], text=True, capture_output=True, check=True
        )
        self.assertEqual(system.stdout.split(), [numpy.__version__, scipy.__version__])
        self.assertIsNotNone(aperture.pfb_channelizer(channels=64, inputs=1))
        # not that of the tree that build/ is in
        self.assertRegex(pyuvdata.__version__, r"^\d+\.\d+\.\d+$")

    def test_orbits(self):
        """Delays of orbits against Kepler's equation, solved for the time at which each pulse was
        sent: models of binaries leave out (x n)^2 x of that (x the size of the orbit in light
        seconds, n its angular frequency), 2e-8 s here."""
        size, days, omega = 1.8979, 1.5334494, np.radians(130.25)
        time = np.linspace(0.0, 40.0, 401)  # days after the periastron of MJD 55501.25
        for eccentricity, lines in (
            (0.0, "BINARY ELL1\nEPS1 0\nEPS2 0\nTASC 55501.25\n"),
            (0.0, "BINARY ELL1H\nEPS1 0\nEPS2 0\nH3 0\nTASC 55501.25\n"),
            (0.35, "BINARY BT\nECC 0.35\nOM 130.25\nT0 55501.25\n"),
            (0.35, "BINARY DD\nE 0.35\nOM 130.25\nT0 55501.25\n"),
        ):
            model = parse_par(TIMING + f"PB {days}\nA1 {size}\n" + lines)
            found = model.orbit.delay(55501, (time + 0.25) * 86400)
            periastron = omega if eccentricity else 0.0
            sent = time * 86400
            for _ in range(8):
                anomaly = mean = 2 * np.pi * sent / (days * 86400)
                for _ in range(40):
                    anomaly = mean + eccentricity * np.sin(anomaly)
                away = np.sin(periastron) * (np.cos(anomaly) - eccentricity) + np.cos(
                    periastron
                ) * np.sqrt(1 - eccentricity**2) * np.sin(anomaly)
                sent = time * 86400 - size * away
            np.testing.assert_allclose(found, size * away, atol=5e-8, err_msg=lines)
            self.assertGreater(np.ptp(found), 3)

    def test_fast_orbit(self):
        """Polynomials of a fast, eccentric orbit are as good as those of a single pulsar, and cover
        the time without a gap."""
        site, start = load_array("best-2"), 1600000000
        model = parse_par(TIMING + "BINARY DD\nPB 0.1\nA1 0.9\nECC 0.6\nOM 30\nT0 55501.1\n")
        segments = par_segments(model, site, start, 10000)
        self.assertGreater(len(segments), 6)
        for before, after in zip(segments, segments[1:]):
            self.assertEqual(before.start[0] + before.length, after.start[0])
        for segment in segments:
            seconds = segment.start[0] + np.arange(0, int(segment.length), 7)
            nothing = np.zeros(len(seconds))
            wanted = model.phase(*barycentric_time(seconds, nothing, model, site, "TDB"))
            revolutions, _ = segment.at(seconds)
            off = np.asarray(revolutions + segment.turns - wanted, float)
            # the polynomials are compared at other times, between which they vary little
            np.testing.assert_array_less(np.abs(off), 2e-6)

    def test_refused_orbits(self):
        """PINT's own words are passed on."""
        for lines, rule in (
            ("BINARY DD\nA1 1\nPB x\nT0 55500\n", "BINARY: DD: PINT says: .*x"),
            ("BINARY ELL1\nA1 1\nPB 1\n", "BINARY: ELL1: PINT says: .*TASC is required"),
        ):
            with self.assertRaisesRegex(ParError, rule):
                parse_par(TIMING + lines)

    def test_versions(self):
        """Every package is of one version and has hashes; NumPy is left to the system."""
        for group in environment.GROUPS:
            text = re.sub(r"^#.*\n", "", environment.locked_versions(group).read_text(), flags=re.M)
            packages = re.split(r"\n(?=[a-z])", text.strip())
            for package in packages:
                self.assertRegex(
                    package,
                    r"^[a-z0-9-]+==[0-9.]+ \\\n( +--hash=sha256:[0-9a-f]{64}"
                    r"( \\\n)?)+$",
                )
                self.assertNotRegex(package, "^(numpy|scipy)=")

    def test_places(self):
        for given, expected in (
            ({"APERTURE_VENV": "/a/b", "XDG_DATA_HOME": "/c"}, "/a/b"),
            ({"XDG_DATA_HOME": "/c"}, "/c/gr-aperture/venv"),
            ({"HOME": "/h"}, "/h/.local/share/gr-aperture/venv"),
        ):
            with mock.patch.dict(os.environ, given, clear=True):
                self.assertEqual(str(environment.folder()), expected)

    def test_what_to_type(self):
        """A user who lacks a package is told which command installs it."""
        nothing = {"APERTURE_VENV": "/nowhere"}
        with (
            mock.patch("importlib.util.find_spec", return_value=None),
            mock.patch.dict(os.environ, nothing, clear=True),
        ):
            for check in (environment.require, environment.require_installed):
                with self.assertRaisesRegex(
                    environment.PackageError,
                    "this needs ducc0 from PyPI: aperture_packages imaging installs it",
                ):
                    check("imaging")
            os.environ["APERTURE_BUILD"] = "build"
            with self.assertRaisesRegex(
                environment.PackageError, "tools/setup --with conversion installs it"
            ):
                environment.require("conversion")

    def test_bitshuffle(self):
        """The system's Python writes it without entering the environment; that, and pyuvdata, read
        it, and aperture_convert writes it, too."""
        import numpy

        from gnuradio.aperture.formats.uvh5.reader import VisibilityFile

        folder = fresh_folder("bitshuffle")
        tool = SOURCE / "tools/run"
        paths = [folder / f"{name}.uvh5" for name in ("none", "bitshuffle", "converted")]
        arguments = "--input sim:y8 --channels 64 --duration 0.2 --integration 0.05 -o".split()
        self.assertEqual(run_main(fx, *arguments, paths[0])[0], 0)
        run_or_fail(self, tool, "aperture_fx", *arguments, paths[1], "--compression", "bitshuffle")
        self.assertEqual(run_main(convert, *paths[1:], "--compression", "bitshuffle")[0], 0)
        values = []
        for path in paths:
            with VisibilityFile(str(path)) as file:
                values.append(file.read(file.crosses())[0])
        # two processes may measure two FFTs as the fastest, which round a voltage in 10^5 otherwise
        numpy.testing.assert_allclose(values[0], values[1], rtol=1e-3)
        numpy.testing.assert_array_equal(values[1], values[2])
        # the header, which is not compressed, is much of such short files
        self.assertLess(paths[1].stat().st_size, 0.96 * paths[0].stat().st_size)
        path = paths[1]
        code, _, errors = run_main(convert, path, folder / "x.ms", "--compression", "lzf")
        self.assertEqual(code, 1)
        self.assertIn("--compression lzf: is for UVH5", errors)
        # all programs say what to type where it is not installed
        apart = {**os.environ, "APERTURE_VENV": "/nowhere"}
        for command in (
            [
                "aperture_fx",
                *"--input sim:y8 --compression bitshuffle -o".split(),
                folder / "y.uvh5",
            ],
            ["aperture_plot", path, "-o", folder / "y.png"],
        ):
            code, output = run(tool, *command, env=apart)
            self.assertEqual(code, 1)
            self.assertRegex(
                output,
                "this needs hdf5plugin from PyPI: tools/setup --with compression installs it",
            )
        self.assertFalse((folder / "y.uvh5").exists())

    def test_list(self):
        """aperture_packages lists what there is."""
        code, listed, _ = run_main(packages_command)
        self.assertEqual(code, 0)
        self.assertRegex(
            listed,
            r"imaging +installed .*\n.*conversion +installed .*\n.*"
            r"formats +installed .*\n.*digitalrf +installed .*\n.*network +installed .*\n"
            r".*timing +installed .*\n.*compression +installed",
        )

    @long_test
    def test_command(self):
        """aperture_packages leaves nothing half-installed."""
        program = SOURCE / "tools/run", "aperture_packages"
        folder = fresh_folder("packages") / "venv"
        # without a network
        apart = {
            **os.environ,
            "APERTURE_VENV": str(folder),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": "",
        }
        code, output = run(*program, "imaging", env=apart)
        self.assertEqual(code, 1)
        self.assertIn("imaging: pip could not install it", output)
        self.assertRegex(run_or_fail(self, *program, env=apart), "imaging +not installed")
        code, output = run(*program, "maps", env=apart)
        self.assertEqual(code, 1)
        self.assertIn(
            "maps: there is no such group: imaging, conversion, formats, digitalrf, network, "
            "timing, compression or all",
            output,
        )


if __name__ == "__main__":
    main()
