# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the source tree and the build folder are, and how package tests start programs."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("APERTURE_BUILD", SOURCE / "build")).resolve()
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")

#: ctest's SKIP_RETURN_CODE in tests/CMakeLists.txt
SKIPPED = 77


def fresh_folder(name):
    """An empty folder of this name below the build folder."""
    folder = BUILD / "tests" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(*command, cwd=None, env=None, timeout=280, answers=""):
    """Runs a command; returns its exit status and its output, errors included.

    The command reads `answers` from its standard input.
    """
    result = subprocess.run([str(word) for word in command], cwd=cwd, env=env,
                            input=answers, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=timeout)
    return result.returncode, result.stdout


def run_or_fail(test, *command, **options):
    """As run(), and the test fails with the output unless the exit status is 0."""
    status, output = run(*command, **options)
    words = " ".join(str(word) for word in command)
    test.assertEqual(status, 0, f"{words} ended with {status}:\n{output}")
    return output


def enter_environment(*groups):
    """
    Runs this program again in the environment with packages from PyPI (tools/setup --with all)
    unless it runs there; to be called before anything else is imported. Where packages of these
    groups are missing, the test counts as skipped, or, with APERTURE_REQUIRE_OUTSIDE=1, as failed.
    """
    from gnuradio.aperture.packages import environment

    environment.enter()
    try:
        environment.require(*groups)
    except environment.PackageError as error:
        print(error)
        sys.exit(1 if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1" else SKIPPED)


def need_program(test, name):
    """Skips a test without this program; fails it with APERTURE_REQUIRE_OUTSIDE=1."""
    if shutil.which(name) is None:
        if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
            test.fail(f"{name} is not installed")
        test.skipTest(f"{name} is not installed")


def main():
    """unittest.main() that ends with SKIPPED if every test was skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun and len(result.skipped) == result.testsRun else 0)
