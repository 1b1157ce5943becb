#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The run of a command's flowgraph, and its end."""

import math
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass

from gnuradio import gr

from .progress import ProgressBar
from .surroundings import advice
from .terminal import fail, prepare_streams, say, warn

TOGETHER = 0.2  # s
INTERRUPTED = 130  # exit code, as shells count signals: 128 + SIGINT
SHORTEST_MEASURED = 0.5  # s, of a run whose speed is told


class CommandError(Exception):
    """Something that the user can change; the message says what."""


@dataclass(frozen=True)
class Run:
    """
    The result of a flowgraph's run.

    interrupts: how many there were; speed: samples of each input in a second, from when the first
    ones were taken to the end, without the start-up; None if that was too short to measure.
    """

    interrupts: int
    speed: float | None


class Interrupts:
    """Counts Ctrl-C, SIGTERM and SIGHUP (the terminal was closed) while it is entered, instead of
    what Python does then. Signals that come together are one: `timeout -s INT` sends two. A SIGHUP
    that is ignored, as by nohup, stays so."""

    def __init__(self):
        self.count = 0
        self._before = {}
        self._last = -math.inf

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
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
    was in flight is written; the second stops the flowgraph as it is. Returns a Run."""
    with Interrupts() as interrupts:
        chain.start()
        # In the main thread wait() would keep Python from seeing signals.
        waiter = threading.Thread(target=chain.wait, daemon=True)
        waiter.start()
        try:
            handled, first = 0, None
            while waiter.is_alive():
                waiter.join(0.1)
                chain.adjust()
                if chain.ended():
                    # a source that sends nothing never sees that it is not wanted any more
                    chain.stop()
                now, samples = time.monotonic(), chain.samples_done()
                if first is None and samples > 0:
                    first = now, samples
                if interrupts.count > handled:
                    handled += 1
                    if handled == 1:
                        chain.source.finish()
                    else:
                        chain.stop()
                bar.show(
                    samples,
                    "ending, again Ctrl-C stops at once"
                    if handled == 1
                    else "stopping"
                    if handled
                    else "",
                    chain.losses(),
                )
        except BaseException:
            # the files must be whole whatever happens here
            chain.stop()
            waiter.join()
            raise
        speed = None
        if first is not None and now - first[0] >= SHORTEST_MEASURED:
            speed = (samples - first[1]) / (now - first[0])
        return Run(interrupts.count, speed or None)


def observe(program, chain, plan, output, report):
    """
    Runs a command's flowgraph, tells how it went, and returns the exit code.

    Parameters
    ----------
    program : str
        Its name.
    chain : gr.top_block
        A chain with source, integrations(), samples_done(), losses(), errors(), and adjust(), which
        is called from time to time, ended(), and problems().
    plan : fx_plan.Plan
    output : str
        Name of the file where nothing was written.
    report : callable
        report(run): the table at the end, as text.
    """
    bar = ProgressBar(sys.stderr, plan.samples, plan.sample_rate)
    run = run_chain(chain, bar)
    bar.clear()
    errors = chain.errors()
    if errors:
        if getattr(chain.source, "error", lambda: "")() and chain.integrations() > 0:
            say(report(run))  # the samples from before a receiver failed
            errors.append("what came before is written")
        raise CommandError("; ".join(errors))
    if chain.integrations() == 0:
        raise CommandError(f"{output}: nothing was written, the input gave no integration")
    say(report(run))
    problems, failed = chain.problems()
    for text in problems:
        warn(program, text)
    if run.interrupts > 1:
        warn(program, "stopped at once: what was in flight is not in the file")
        return INTERRUPTED
    if run.interrupts and plan.samples is not None:
        warn(program, "interrupted before the end of the input")
        return INTERRUPTED
    return int(failed)


def error_text(error):
    """Returns what an exception tells a user, in one line."""
    remedy = advice(error)
    if remedy:
        return remedy
    if isinstance(error, OSError) and error.filename and error.strerror:
        return " ".join(f"{os.fsdecode(error.filename)}: {error.strerror}".split())
    if isinstance(error, MemoryError):
        return "there is not enough memory for this" + (f": {error}" if str(error) else "")
    return " ".join(str(error).split()) or type(error).__name__


def unexpected_text(error):
    """Returns what an exception that nobody thought of tells a user: the place is for a bug
    report."""
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    place = f"{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"
    return (
        f"this should not happen, please report it: {type(error).__name__}: "
        f"{error_text(error)} ({place})"
    )


def run_command(program, parser, work, arguments):
    """
    Parses the arguments (None: those of the process), calls work(options), which returns an exit
    code, and turns all that can happen into an exit code and one message. Where a plan is to be
    written, that is all that is done.
    """
    prepare_streams()
    options = parser.parse_args(arguments)
    # GNU Radio tells much about its buffers, as warnings too, that is of no use here.
    gr.logging().set_default_level(gr.log_levels.err)
    try:
        if getattr(options, "write_plan", None) is not None:
            parser.write_plan(options)
            return 0
        return work(options)
    except KeyboardInterrupt:
        fail(program, "interrupted before anything was observed")
        return INTERRUPTED
    except (CommandError, ValueError, OSError, RuntimeError, MemoryError) as error:
        fail(program, error_text(error))
    except Exception as error:
        fail(program, unexpected_text(error))
    return 1
