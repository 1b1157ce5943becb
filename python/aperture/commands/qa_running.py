#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""How commands run a flowgraph."""

import os
import signal
import threading
import time
from types import SimpleNamespace

from gnuradio import gr_unittest
from gnuradio.aperture.commands import running


class qa_running(gr_unittest.TestCase):

    def test_second_interrupt_stops_at_once(self):
        calls, ended = [], threading.Event()

        def stop():
            calls.append("stop")
            ended.set()

        chain = SimpleNamespace(
            source=SimpleNamespace(finish=lambda: calls.append("finish")), stop=stop,
            start=lambda: calls.append("start"), wait=lambda: ended.wait(30),
            samples_done=lambda: 0)

        def interrupt():
            for number in (1, 2):
                os.kill(os.getpid(), signal.SIGINT)
                while len(calls) <= number and not ended.is_set():
                    time.sleep(0.05)
                time.sleep(1.5 * running.TOGETHER)

        before = signal.getsignal(signal.SIGINT)
        thread = threading.Timer(0.3, interrupt)
        thread.start()
        _, count = running.run_chain(chain, SimpleNamespace(show=lambda *_: None))
        thread.join()
        self.assertEqual((calls, count), (["start", "finish", "stop"], 2))
        self.assertEqual(signal.getsignal(signal.SIGINT), before)

    def test_interrupts_that_come_together_are_one(self):
        with running.Interrupts() as interrupts:
            for count in (1, 2):
                for _ in range(2):
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.01)
                self.assertEqual(interrupts.count, count)
                time.sleep(1.5 * running.TOGETHER)


if __name__ == '__main__':
    gr_unittest.run(qa_running)
