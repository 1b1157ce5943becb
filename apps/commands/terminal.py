#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The commands' output. Nothing that happens to a terminal, pipe or log reaches the data.

A terminal that was closed (EIO), a reader that has gone (EPIPE) and a log on a full disk (ENOSPC)
silence a stream for the rest of the run, and that is all they do.
"""

import contextlib
import os
import sys


def prepare_streams():
    """
    Makes stdin, stdout and stderr safe to use; to be called first.

    A process that was started with one of them closed would give its number to the next file that
    it opens, and what libraries print would end up in that file. Characters that a stream cannot
    encode (names of files need not be UTF-8) are written as escapes.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # the lowest free number is taken, which is this one
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        # a stream of a test has no such method, one whose file was exchanged cannot be flushed
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")


def show(stream, text):
    """Writes text at once; returns whether that worked. A stream that failed once is silenced."""
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)
        return False
    return True


def _silence(stream):
    """Lets the stream end in /dev/null, with what it still holds: Python flushes it at its exit."""
    try:
        descriptor = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)
    except (OSError, ValueError):
        pass  # no file, or a closed one: nothing is written at the exit, either


def say(text):
    """Prints lines for the user, at once, because the run may take long."""
    show(sys.stdout, text + "\n")


def warn(program, text):
    """Prints a warning of a command."""
    show(sys.stderr, f"{program}: warning: {text}\n")


def fail(program, text):
    """Prints the error that ends a command."""
    show(sys.stderr, f"{program}: error: {text}\n")
