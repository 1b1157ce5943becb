# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""ENABLE_CUDA and CMAKE_CUDA_ARCHITECTURES: what cmake says and decides, with made-up nvccs."""

import os
import unittest

from places import CMAKE, SOURCE, fresh_folder, main, run


class TestCudaOption(unittest.TestCase):
    def configure(self, *options, architectures=None, environment={}):
        """Status and output of cmake with an nvcc that compiles for these; None: no nvcc."""
        folder = fresh_folder("cuda_option")
        nvcc = folder / "nvcc"
        if architectures is not None:
            names = " ".join(f"compute_{number}" for number in architectures)
            nvcc.write_text(
                f"#!/bin/sh\n[ \"$1\" = --list-gpu-arch ] || exit 1\nprintf '%s\\n' {names}\n"
            )
            nvcc.chmod(0o755)
        env = {**os.environ, "CUDACXX": str(nvcc), **environment}
        status, output = run(
            CMAKE, "-S", SOURCE / "tests/cuda", "-B", folder / "build", *options, env=env
        )
        # cmake breaks the lines of its errors
        return status, " ".join(output.split())

    def test_without_nvcc(self):
        """Nothing but one line; an error only if CUDA was asked for."""
        for options in ([], ["-DENABLE_CUDA=AUTO"], ["-DENABLE_CUDA=auto"]):
            status, output = self.configure(*options)
            self.assertEqual(status, 0, output)
            self.assertIn("CUDA: no nvcc found, building for the CPU", output)
            self.assertIn("kernels [FALSE]", output)
        status, output = self.configure("-DENABLE_CUDA=ON")
        self.assertNotEqual(status, 0)
        self.assertIn("ENABLE_CUDA=ON, but there is no nvcc", output)

    def test_off(self):
        status, output = self.configure("-DENABLE_CUDA=OFF", architectures=[75])
        self.assertEqual(status, 0, output)
        self.assertIn("CUDA: switched off (ENABLE_CUDA=OFF)", output)

    def test_bad_value(self):
        status, output = self.configure("-DENABLE_CUDA=maybe")
        self.assertNotEqual(status, 0)
        self.assertIn("ENABLE_CUDA=maybe: allowed are AUTO, ON and OFF", output)

    def test_default_architectures(self):
        """Turing to Blackwell, as far as this nvcc knows them; PTX of the newest alone."""
        for known, wanted in (
            ([50, 60, 70, 75, 80, 86, 87, 89, 90], "75-real;80-real;86-real;89-real;90"),
            (
                [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121],
                "75-real;80-real;86-real;89-real;90-real;100-real;110-real;120",
            ),
            ([75], "75"),
        ):
            status, output = self.configure(architectures=known)
            self.assertEqual(status, 0, output)
            self.assertIn(f"architectures [{wanted}]", output)

    def test_architectures_of_this_machine(self):
        """The architectures are those of the machine's GPUs; all where nvcc does not know one;
        without a GPU, Hopper."""
        known = [75, 80, 86, 89, 90]
        folder = fresh_folder("nvidia-smi")
        for found, wanted in (
            (["9.0", "9.0"], "90-real"),
            (["8.6", "9.0"], "86-real;90-real"),
            (["12.0"], "75-real;80-real;86-real;89-real;90"),
            ([], "90-real"),
        ):
            program = folder / "nvidia-smi"
            lines = [f"echo {number}" for number in found] or ["echo no devices", "exit 9"]
            program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
            program.chmod(0o755)
            path = {"PATH": f"{folder}:{os.environ['PATH']}"}
            status, output = self.configure(
                "-DAPERTURE_CUDA_FOR=here", architectures=known, environment=path
            )
            self.assertEqual(status, 0, output)
            self.assertIn(f"architectures [{wanted}]", output)
        status, output = self.configure("-DAPERTURE_CUDA_FOR=mars", architectures=known)
        self.assertNotEqual(status, 0)
        self.assertIn("APERTURE_CUDA_FOR=mars: allowed are all and here", output)

    def test_users_architectures(self):
        status, output = self.configure(
            "-DCMAKE_CUDA_ARCHITECTURES=90a;86-virtual", architectures=[75, 86, 90]
        )
        self.assertEqual(status, 0, output)
        self.assertIn("architectures [90a;86-virtual]", output)
        status, output = self.configure(architectures=[75, 86, 90], environment={"CUDAARCHS": "86"})
        self.assertIn("architectures [86]", output)

    def test_nvcc_too_old(self):
        status, output = self.configure(architectures=[35, 50])
        self.assertEqual(status, 0, output)
        self.assertIn("knows no GPU from Turing on, building for the CPU", output)
        status, output = self.configure("-DENABLE_CUDA=ON", architectures=[35, 50])
        self.assertNotEqual(status, 0)
        self.assertIn("compiles for none of", output)


if __name__ == "__main__":
    main()
