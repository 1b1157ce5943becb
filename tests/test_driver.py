# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A library with CUDA loads and works whatever the NVIDIA driver is: none, one that is older than the
toolkit, one that sees no GPU. What is wrong is said. A libcuda of ours stands for the driver.
"""

import os
import re
import sys
import unittest

from places import BUILD, fresh_folder, main, run, run_or_fail

#: the CUDA runtime asks a driver this first; it finds its functions by cuGetProcAddress()
DRIVER = r"""
#include <string.h>

int cuDriverGetVersion(int* version) { *version = VERSION; return 0; }
int cuInit(unsigned flags) { return 100; } /* CUDA_ERROR_NO_DEVICE */

int cuGetProcAddress_v2(const char* name, void** function, int version,
                        unsigned long long flags, int* found)
{
    *function = !strcmp(name, "cuDriverGetVersion") ? (void*)cuDriverGetVersion
                : !strcmp(name, "cuInit")           ? (void*)cuInit
                : !strcmp(name, "cuGetProcAddress") ? (void*)cuGetProcAddress_v2
                                                    : (void*)0;
    if (found)
        *found = !*function;
    return *function ? 0 : 500;
}

int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, 0);
}
"""

PROGRAM = """
from gnuradio import aperture
print(aperture.devices(), aperture.xengine().implementation())
try:
    aperture.xengine(device="cuda")
except ValueError as error:
    print(error)
"""


def try_devices(folder=None):
    """Returns what PROGRAM prints, with the libcuda of a folder."""
    environment = dict(os.environ)
    if folder:
        environment["LD_LIBRARY_PATH"] = f"{folder}:{environment.get('LD_LIBRARY_PATH', '')}"
    return run(sys.executable, "-c", PROGRAM, env=environment)


LIBRARIES = [BUILD / f"lib/libgnuradio-aperture{part}.so" for part in ("", "-device")]
CUDA_LIBRARY = BUILD / "lib/libgnuradio-aperture-device-cuda.so"
#: library -> the one function that it exports
CUDA_LIBRARIES = {
    CUDA_LIBRARY: "gnuradio_aperture_device_cuda",
    BUILD / "lib/libgnuradio-aperture-cuda.so": "gnuradio_aperture_cuda",
}


def needed_by(test, library):
    """The libraries that a library is linked to."""
    return re.findall(r"NEEDED.*\[(.*)\]", run_or_fail(test, "readelf", "-d", library))


class TestLibraries(unittest.TestCase):
    def test_blocks_link_to_no_cuda(self):
        """The libraries load those for CUDA themselves, when a GPU is asked for."""
        for library in LIBRARIES:
            for name in needed_by(self, library):
                self.assertNotRegex(name, r"^lib(cu|nv)|-cuda")

    def test_edge_links_to_no_kernels(self):
        """The device edge needs neither kernels nor what these need, with CUDA or without."""
        edge = [path for path in (LIBRARIES[1], CUDA_LIBRARY) if path.exists()]
        for library in edge:
            for name in needed_by(self, library):
                self.assertNotRegex(name, r"fft|volk|gomp|gnuradio-aperture(-cuda)?\.so")

    def test_without_kernels(self):
        """A build without CUDA has no such library, and says so when a GPU is asked for."""
        if CUDA_LIBRARY.exists():
            self.skipTest("built with CUDA")
        status, output = try_devices()
        self.assertEqual(status, 0, output)
        self.assertTrue(output.startswith("['cpu'] host "), output)
        self.assertIn(
            "device: 'cuda' was asked for, but there are no blocks for CUDA here (no "
            f"{CUDA_LIBRARY.resolve()}); found: cpu",
            output,
        )

    def test_one_symbol(self):
        """Each library for CUDA exports one function."""
        if not CUDA_LIBRARY.exists():
            self.skipTest("built without CUDA")
        for library, function in CUDA_LIBRARIES.items():
            text = run_or_fail(self, "nm", "-D", "--defined-only", library)
            self.assertEqual([line.split()[-1] for line in text.splitlines()], [function])


class TestDriver(unittest.TestCase):
    def setUp(self):
        if not CUDA_LIBRARY.exists():
            self.skipTest("built without CUDA")

    def with_driver(self, version):
        folder = fresh_folder(f"driver-{version}")
        source = folder / "driver.c"
        source.write_text(DRIVER)
        run_or_fail(
            self,
            os.environ.get("CC", "cc"),
            "-shared",
            "-fPIC",
            f"-DVERSION={version}",
            source,
            "-o",
            folder / "libcuda.so.1",
        )
        status, output = try_devices(folder)
        self.assertEqual(status, 0, output)
        self.assertTrue(output.startswith("['cpu'] host "), output)
        return output

    def test_nothing_links_to_it(self):
        for library in CUDA_LIBRARIES:
            names = needed_by(self, library)
            self.assertEqual([name for name in names if name.startswith("libcuda.")], [])

    def test_none(self):
        status, output = try_devices()
        self.assertEqual(status, 0, output)
        if "cuda" in output.split("]")[0]:
            self.skipTest("there is a driver, and a GPU")
        self.assertIn("device: 'cuda' was asked for, but ", output)

    def test_older_than_the_toolkit(self):
        self.assertRegex(
            self.with_driver(11020),
            r"the NVIDIA driver is for CUDA 11\.2 and older, this build needs one "
            r"for CUDA \d+\.\d+; found: cpu",
        )

    def test_without_a_gpu(self):
        self.assertIn("the NVIDIA driver sees no GPU; found: cpu", self.with_driver(99000))


if __name__ == "__main__":
    main()
