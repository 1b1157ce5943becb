#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""How a command runs its flowgraph, and what it says while and after it runs."""


import math
import signal
import sys
import threading
import time

TOGETHER = 0.2           # s
INTERRUPTED = 130        # exit code, as shells count signals: 128 + SIGINT


class CommandError(Exception):
    """Something that the user can change; the message says what."""


class Interrupts:
    """Counts Ctrl-C (and SIGTERM) while it is entered, instead of KeyboardInterrupt. Such that come
    together are one: `timeout -s INT` sends two."""

    def __init__(self):
        self.count = 0
        self._before = {}
        self._last = -math.inf

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, *_):
        now = time.monotonic()
        if now - self._last > TOGETHER:
            self.count += 1
        self._last = now

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)


def run_chain(chain, bar):
    """Runs the flowgraph to its end. The first interrupt ends the source, so that all that
    was in flight is written; the second stops the flowgraph as it is.

    Returns the seconds it took and the number of interrupts.
    """
    with Interrupts() as interrupts:
        begin = time.monotonic()
        chain.start()
        # In the main thread wait() would keep Python from seeing signals.
        waiter = threading.Thread(target=chain.wait, daemon=True)
        waiter.start()
        handled = 0
        while waiter.is_alive():
            waiter.join(0.1)
            if interrupts.count > handled:
                handled += 1
                if handled == 1:
                    chain.source.finish()
                else:
                    chain.stop()
            bar.show(chain.samples_done(), "ending, again Ctrl-C stops at once"
                     if handled == 1 else "stopping" if handled else "")
        return time.monotonic() - begin, interrupts.count


def error_text(error):
    """What an exception tells a user."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def say(text):
    """A line for the user, at once: the run may take long."""
    print(text, flush=True)


def warn(text, program="aperture_fx"):
    print(f"{program}: warning: {text}", file=sys.stderr, flush=True)
