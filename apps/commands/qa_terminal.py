#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Commands print where nobody can read it."""

import io
import os
import pty
import subprocess
import sys
import tempfile

from gnuradio import gr_unittest

from gnuradio.aperture.commands import progress, terminal
from gnuradio.aperture.testing.qa_tools import PATIENCE

#: prints more than a buffer holds, then as much again, and tells in a file what came of it
PROGRAM = """
import sys
from gnuradio.aperture.commands import terminal
terminal.prepare_streams()
with open(sys.argv[1], "w") as told:
    for _ in range(2):
        terminal.say("x" * 100000)
        terminal.warn("program", "y")
    told.write("done")
"""


class qa_terminal(gr_unittest.TestCase):
    def start(self, name, **streams):
        return subprocess.Popen([sys.executable, "-c", PROGRAM, name], **streams)

    def check(self, process, name):
        self.assertEqual(process.wait(PATIENCE), 0)
        with open(name) as file:
            self.assertEqual(file.read(), "done")
        os.unlink(name)

    def test_streams_that_nobody_reads(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        name = os.path.join(folder.name, "told")
        with open("/dev/full", "w") as full:  # ENOSPC
            self.check(self.start(name, stdout=full, stderr=full), name)
        reader, writer = os.pipe()  # EPIPE
        os.close(reader)
        self.check(self.start(name, stdout=writer, stderr=writer), name)
        os.close(writer)
        leader, follower = pty.openpty()  # EIO
        os.close(leader)
        self.check(self.start(name, stdout=follower, stderr=follower), name)
        os.close(follower)
        # closed: the file that is opened next must not get what is printed
        self.check(
            self.start(name, preexec_fn=lambda: (os.close(0), os.close(1), os.close(2))), name
        )

    def test_a_progress_bar_ends_with_its_terminal(self):
        class gone(io.StringIO):
            def isatty(self):
                return True

            def write(self, text):
                raise OSError(5, "Input/output error")

        bar = progress.ProgressBar(gone(), 1000, 1e3)
        bar.show(10)
        self.assertFalse(bar.visible)
        bar.show(20)
        bar.clear()

    def test_characters_that_a_stream_cannot_encode(self):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        stdout, sys.stdout = sys.stdout, stream
        try:
            terminal.prepare_streams()
            terminal.say("µ \udcff")
        finally:
            sys.stdout = stdout
        self.assertEqual(stream.buffer.getvalue(), b"\\xb5 \\udcff\n")


if __name__ == "__main__":
    gr_unittest.run(qa_terminal)
