#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Commands run a flowgraph to its end, and report it."""

import argparse
import contextlib
import io
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from gnuradio import gr_unittest

from gnuradio.aperture.commands import running, surroundings, tables
from gnuradio.aperture.testing.qa_tools import PATIENCE


class qa_running(gr_unittest.TestCase):
    def setUp(self):
        self.now = 7.0  # the chain's clock, 0.1 s later at each look

    def chain(self, seconds, samples):
        """Returns a chain that runs for so long, and has taken samples(seconds since its start)."""
        begin, stopped = self.now, threading.Event()

        def adjust():
            self.now += 0.1
            if self.now - begin >= seconds:
                stopped.set()

        return SimpleNamespace(
            source=SimpleNamespace(finish=stopped.set),
            stop=stopped.set,
            start=lambda: None,
            wait=stopped.wait,
            samples_done=lambda: samples(self.now - begin),
            losses=lambda: "",
            adjust=adjust,
            ended=lambda: False,
        )

    def test_the_speed_is_measured_after_the_start(self):
        bar = SimpleNamespace(show=lambda *_: None)
        with mock.patch.object(running.time, "monotonic", lambda: self.now):
            # 0.8 s in which nothing comes, then 1000 samples a second
            run = running.run_chain(self.chain(2.0, lambda t: int(max(0, 1000 * (t - 0.8)))), bar)
            self.assertAlmostEqual(run.speed, 1000, delta=5)
            run = running.run_chain(self.chain(0.3, lambda t: 10**6), bar)
            self.assertIsNone(run.speed)
        self.assertEqual(tables.speed_text(None, 1e3), ("too short to measure",) * 2)
        self.assertEqual(tables.speed_text(2.5e6, 1e6), ("2.5 Msample/s of each input", "x 2.5"))

    def test_an_error_of_the_display_leaves_a_whole_file(self):
        ended = []
        chain = self.chain(30, lambda t: 0)
        wait = chain.wait
        chain.wait = lambda: (wait(), ended.append(True))

        def show(*_):
            raise KeyError("display")

        with self.assertRaises(KeyError):
            running.run_chain(chain, SimpleNamespace(show=show))
        self.assertEqual(ended, [True])

    def test_a_lost_terminal_is_an_interrupt_unless_it_is_ignored(self):
        before = signal.getsignal(signal.SIGHUP)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        for handler, count in ((signal.SIG_DFL, 1), (signal.SIG_IGN, 0)):
            signal.signal(signal.SIGHUP, handler)
            with running.Interrupts() as interrupts:
                signal.raise_signal(signal.SIGHUP)  # has come when this returns
            self.assertEqual(interrupts.count, count)
            self.assertEqual(signal.getsignal(signal.SIGHUP), handler)

    def test_any_exception_is_one_message_and_an_exit_code(self):
        parser = argparse.ArgumentParser()
        for error, text in (
            (
                KeyError("x"),
                r"this should not happen, please report it: KeyError: 'x' "
                r"\(qa_running.py:\d+\)",
            ),
            (ValueError("one\ntwo"), "one two"),
            (RuntimeError(), "RuntimeError"),
            (MemoryError(), "there is not enough memory for this"),
            (OSError(28, "No space left", b"/a\xff"), r"/a\\?.*: No space left"),
            (running.CommandError("told"), "told"),
        ):

            def work(_):
                raise error

            with contextlib.redirect_stderr(io.StringIO()) as stderr:
                self.assertEqual(running.run_command("program", parser, work, []), 1)
            self.assertRegex(stderr.getvalue(), f"^program: error: {text}\n$")

        def interrupted(_):
            raise KeyboardInterrupt

        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.assertEqual(running.run_command("program", parser, interrupted, []), 130)
        self.assertEqual(
            stderr.getvalue(), "program: error: interrupted before anything was observed\n"
        )

    def test_limits_of_the_system(self):
        """GNU Radio's own words are followed by what is to be done."""
        with tempfile.TemporaryDirectory(prefix="qa_running") as kernel:
            limits = {"shmmni": 4096, "shmmax": 18446744073692774399, "shmall": 1 << 40}

            def advice(error, **changed):
                for name, value in {**limits, **changed}.items():
                    Path(kernel, name).write_text(f"{value}\n")
                return surroundings.advice(error, kernel)

            lost = MemoryError("std::bad_alloc")
            self.assertEqual(advice(lost), "")
            self.assertIn(
                "kernel.shmmni is 32 segments: `sudo sysctl -w kernel.shmmni=4096`",
                advice(lost, shmmni=32),
            )
            self.assertIn(
                "sysctl -w kernel.shmmax=1073741824 kernel.shmall=1048576`",
                advice(lost, shmmax=33554432, shmall=8192),
            )
            self.assertEqual(advice(MemoryError("Unable to allocate 9 GiB"), shmmni=32), "")
            for name in limits:  # another kernel
                Path(kernel, name).unlink()
            self.assertEqual(surroundings.advice(lost, kernel), "")
            self.assertEqual(advice(RuntimeError("filesystem error: cannot create [/a/b]")), "")
            with mock.patch.dict(os.environ, HOME="/h", XDG_STATE_HOME="/s", XDG_CACHE_HOME=""):
                for path, expected in (
                    ("/h/.gnuradio/prefs", "settings in /h/.gnuradio, and HOME is /h: set HOME "),
                    ("/h/.config/gnuradio", "settings in /h/.config/gnuradio, and HOME is /h: "),
                    ("/s/gnuradio/x", "settings in /s/gnuradio, and XDG_STATE_HOME is /s: set "),
                ):
                    error = RuntimeError(f"filesystem error: cannot create: No such file [{path}]")
                    self.assertIn(expected, advice(error))

    def test_second_interrupt_stops_at_once(self):
        calls, ended = [], threading.Event()

        def stop():
            calls.append("stop")
            ended.set()

        chain = SimpleNamespace(
            source=SimpleNamespace(finish=lambda: calls.append("finish")),
            stop=stop,
            start=lambda: calls.append("start"),
            wait=lambda: ended.wait(PATIENCE),
            samples_done=lambda: 0,
            losses=lambda: "",
            adjust=lambda: None,
            ended=lambda: False,
        )

        def interrupt():
            while not calls:  # until the chain starts, signals are Python's
                time.sleep(0.05)
            for number in (1, 2):
                os.kill(os.getpid(), signal.SIGINT)
                while len(calls) <= number and not ended.is_set():
                    time.sleep(0.05)
                time.sleep(1.5 * running.TOGETHER)

        before = signal.getsignal(signal.SIGINT)
        thread = threading.Thread(target=interrupt)
        thread.start()
        run = running.run_chain(chain, SimpleNamespace(show=lambda *_: None))
        thread.join()
        self.assertEqual((calls, run.interrupts), (["start", "finish", "stop"], 2))
        self.assertEqual(signal.getsignal(signal.SIGINT), before)

    def test_interrupts_that_come_together_are_one(self):
        with (
            mock.patch.object(running.time, "monotonic", lambda: self.now),
            running.Interrupts() as interrupts,
        ):
            for count in (1, 2):
                for _ in range(2):
                    signal.raise_signal(signal.SIGINT)
                    self.now += 0.5 * running.TOGETHER
                self.assertEqual(interrupts.count, count)
                self.now += running.TOGETHER


if __name__ == "__main__":
    gr_unittest.run(qa_running)
