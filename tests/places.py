# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The places of the source tree and the build folder, and how package tests start programs."""

import contextlib
import io
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import unittest
from unittest import mock

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("APERTURE_BUILD", SOURCE / "build")).resolve()
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")

#: the folders whose packages make gnuradio.aperture: what flowgraphs import, what a person starts
PACKAGE, APPS = SOURCE / "python/aperture", SOURCE / "apps"

#: seconds, after which a program hangs: it may run beside many others on a busy machine
PATIENCE = 600

#: ctest's SKIP_RETURN_CODE in tests/CMakeLists.txt
SKIPPED = 77


def python_modules():
    """All modules of gnuradio.aperture with their tests: the folder, PACKAGE or APPS, that each
    lies in, and its path below it."""
    for root in (PACKAGE, APPS):
        for path in sorted(root.rglob("*.py")):
            yield root, path.relative_to(root)


def installed_modules():
    """The paths in gnuradio.aperture of the modules that are installed: all but tests."""
    folders = {path.parent for _, path in python_modules() if path.name == "__init__.py"}
    return [
        path
        for _, path in python_modules()
        if path.parent in folders and not path.name.startswith("qa_") and path.parts[0] != "testing"
    ]


def fresh_folder(name):
    """An empty folder of this name below the build folder."""
    folder = BUILD / "tests" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def copy_flowgraphs(source, folder):
    """Copies flowgraphs of examples and what lies beside them, but for what they have recorded; the
    paths of these flowgraphs, which are compiled and started there, as GNU Radio Companion does."""
    for path in source.iterdir():
        if path.suffix in (".grc", ".par", ".py", ".yml"):
            shutil.copy(path, folder)
    return sorted(folder.glob("*.grc"))


def controls_without_effect(flowgraph, made):
    """Names of a flowgraph's sliders and choosers that reach no block in the Python that grcc has
    made of it: GNU Radio Companion does not find names within the text of an f-string."""
    text, found = made.read_text(), []
    for block in yaml.safe_load(flowgraph.read_text())["blocks"]:
        if re.fullmatch("variable_qtgui_(range|chooser|check_box|entry)", block["id"]):
            name = block["name"]
            setter = re.search(rf"def set_{name}\(.*\n((?: {{8}}.*\n)+)", text)
            if setter and setter[1].count("self.") == 1:
                found.append(name)
    return found


def run(*command, cwd=None, env=None, timeout=PATIENCE, answers=""):
    """Runs a command; returns its exit status and its output, errors included.

    The command reads `answers` from its standard input.
    """
    result = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        input=answers,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    return result.returncode, result.stdout


def run_or_fail(test, *command, **options):
    """Runs a program like run(), and the test fails with the output unless the exit status is 0."""
    status, output = run(*command, **options)
    words = " ".join(str(word) for word in command)
    test.assertEqual(status, 0, f"{words} ended with {status}:\n{output}")
    return output


def on_screen_or_fail(test, *command, env=None, **options):
    """
    Runs a program like run_or_fail(), on a screen of its own, of Xvfb; the test is skipped without.

    Xvfb takes a number that is free. Of xvfb-run, two that start together may take the same one.
    """
    need_program(test, "Xvfb")
    reads, writes = os.pipe()
    words = ["-displayfd", str(writes), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
    server = subprocess.Popen(
        ["Xvfb", *words], pass_fds=[writes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(writes)
    try:
        with os.fdopen(reads) as told:  # nothing where the server ended
            number = told.readline().strip()
        test.assertTrue(number, "Xvfb could not be started")
        there = {**(os.environ if env is None else env), "DISPLAY": f":{number}"}
        return run_or_fail(test, *command, env=there, **options)
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def working_in(folder):
    """The current folder of this process is this one for as long."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_script(path, *arguments):
    """
    Runs a script of Python in this process, as if it had been started with these arguments: a
    process of its own takes longer to import what it needs than most scripts take to run.

    Returns its exit status and its output, errors included.
    """
    output, status = io.StringIO(), 0
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
        mock.patch.object(sys, "argv", [str(path), *map(str, arguments)]),
        mock.patch.object(sys, "path", [str(path.parent), *sys.path]),
    ):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return status, output.getvalue()


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
