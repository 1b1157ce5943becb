#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""An instrument is published and commanded, and the data never wait."""

import contextlib
import json
import os
import signal
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from types import SimpleNamespace

import numpy as np
import pmt
from gnuradio import gr

from gnuradio.aperture import monitoring
from gnuradio.aperture.displays.sky_image import png
from gnuradio.aperture.monitoring.plain import plain, plain_message
from gnuradio.aperture.monitoring.publisher import Outbox
from gnuradio.aperture.testing.fed_server import TOKEN, write_token
from gnuradio.aperture.testing.monitored import run, simulated, stop
from gnuradio.aperture.testing.qa_tools import PATIENCE, comes_true
from gnuradio.aperture.testing.tiers import long_test


def wait_for(condition):
    """Returns the value of a condition as soon as it is true."""
    found = comes_true(condition, pause=0.05)
    if not found:
        raise AssertionError("nothing came in time")
    return found


class qa_monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        gr.logging().set_default_level(gr.log_levels.err)
        cls.folder = tempfile.TemporaryDirectory()
        cls.instrument = simulated(folder=cls.folder.name)
        cls.publisher = monitoring.start(
            cls.instrument, {"listen": "127.0.0.1:0", "token_file": write_token(cls.folder.name)}
        )
        run(cls.instrument)

    @classmethod
    def tearDownClass(cls):
        stop(cls.instrument)
        cls.publisher.stop()
        cls.folder.cleanup()

    def get(self, path):
        with urllib.request.urlopen(self.publisher.url + path, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def state(self):
        """Returns the present state; None while the server is not there."""
        try:
            return self.get("api/v1/state")
        except (OSError, ValueError):
            return None

    def post(self, block, port, value):
        """status, JSON."""
        request = urllib.request.Request(
            f"{self.publisher.url}api/v1/blocks/{block}/{port}",
            json.dumps(value).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def test_what_it_does_is_seen(self):
        def whole():
            found = self.state()
            # other tests may have looked elsewhere; Cas A is as strong as half the receivers'
            # noise; the throttle has the signal's pace, but where the machine was busy
            return (
                found
                if found
                and found["sky"].get("serial")
                and found["tracking"]
                and found["bandpasses"]["inputs"][0]["clamped"] is not None
                and abs((found["figures"].get("times_real_time") or 0) - 1) < 0.5
                and found["tracking"]["direction"] == "Cas A"
                and all(
                    abs(fringe["coherence"] - 1 / 3) < 0.08 for fringe in found["fringes"]["newest"]
                )
                else None
            )

        found = wait_for(whole)
        self.assertEqual(28, len(found["fringes"]["newest"]))
        self.assertEqual("N1x", found["bandpasses"]["inputs"][0]["name"])
        self.assertGreater(found["figures"]["blocks"]["f_engine"]["items_out"], 0)
        self.assertIn(["source", "throttle"], [edge[:2] for edge in found["figures"]["edges"]])
        about = self.get("api/v1/about")
        self.assertEqual("f_engine", about["instrument"]["blocks"]["f_engine"]["type"])
        self.assertEqual({"f_engine", "xengine", "tracker", "ring"}, set(about["controls"]))
        self.assertEqual(8, len(about["instrument"]["array"]["antennas"]))

    def test_settings_reach_the_blocks(self):
        engine = self.instrument.blocks["f_engine"]
        self.assertEqual(200, self.post("f_engine", "gains", {"gain": [0.5, 2], "input": 3})[0])
        wait_for(lambda: engine.gains(3)[0] == 0.5 + 2j)
        self.assertEqual(200, self.post("f_engine", "gains", {"gains": [1] * 64, "input": 3})[0])
        wait_for(lambda: engine.gains(3)[0] == 1)
        self.assertEqual(
            200,
            self.post(
                "f_engine", "delays", {"delay": [0, 1e-9, 0, 0, 0, 0, 0, 0], "model": "by-hand"}
            )[0],
        )
        found = wait_for(
            lambda: [setting for setting in engine.delays(1) if setting["model"] == "by-hand"]
        )
        self.assertEqual(1e-9, found[0]["delay"])
        self.assertEqual(
            200, self.post("f_engine", "delays", {"delay": 0.0, "model": "by-hand"})[0]
        )
        correlator = self.instrument.blocks["xengine"]
        before = correlator.frames_per_integration()
        self.assertEqual(200, self.post("xengine", "integration", {"seconds": 0.25})[0])
        wait_for(lambda: correlator.frames_per_integration() == before // 2)
        self.assertEqual(200, self.post("xengine", "integration", {"seconds": 0.5})[0])
        tracker = self.instrument.blocks["tracker"]
        self.assertEqual(200, self.post("tracker", "direction", {"direction": "Cyg A"})[0])
        self.assertEqual("Cyg A", tracker.direction().name)
        self.assertEqual(200, self.post("tracker", "direction", {"direction": "Cas A"})[0])
        self.assertEqual(200, self.post("ring", "trigger", {"id": "x1", "before": 0.01})[0])
        ring = self.instrument.blocks["ring"]
        wait_for(lambda: ring.dumps())
        self.assertEqual("x1", ring.dumps()[-1]["id"])

    def test_blocks_refuse_as_their_constructors_do(self):
        for block, port, value, part in (
            ("tracker", "direction", {"direction": "nowhere"}, "direction"),
            ("tracker", "direction", {"direction": "/etc/passwd"}, "direction"),
            ("f_engine", "delays", {"delay": [0, 1]}, "one for each of 8 inputs"),
            ("f_engine", "delays", {"delay": 1.0}, "most_delay"),
            ("f_engine", "gains", {"gains": [1, 2]}, "64"),
            ("ring", "trigger", {"start": 20, "end": 10}, "end"),
        ):
            status, found = self.post(block, port, value)
            self.assertEqual(422, status, (value, found))
            self.assertIn(part, found["error"])

    def test_a_trigger_that_is_refused(self):
        """A trigger that the ring itself refuses, after it has taken the message, is no success."""
        ring = self.instrument.blocks["ring"]
        before = ring.counts()["refused"]
        far = time.time() + 1e6
        status, found = self.post("ring", "trigger", {"id": "far", "start": far, "end": far + 1})
        self.assertEqual(409, status, found)
        self.assertRegex(found["error"], "end: it is .* s ahead of the stream")
        self.assertEqual(before + 1, ring.counts()["refused"])

    def test_a_server_that_is_killed(self):
        """The flowgraph does not notice, and another server takes its place."""
        wait_for(self.state)
        sink = self.instrument.blocks["sink"]
        restarts, before = self.publisher.server_restarts, sink.nitems_read(0)
        os.kill(self.publisher.server_pid, signal.SIGKILL)
        wait_for(lambda: sink.nitems_read(0) > before + 2)
        wait_for(lambda: self.publisher.server_restarts > restarts)
        # on a port that is chosen anew
        found = wait_for(lambda: (state := self.state()) and state["bandpasses"] and state)
        self.assertEqual("y8", found["name"])
        wait_for(
            lambda: (
                (state := self.state()) and state["figures"].get("server_restarts") == restarts + 1
            )
        )
        self.assertEqual(200, self.post("f_engine", "gains", {"gain": 1})[0])

    @long_test
    def test_a_server_that_stands_still(self):
        """The flowgraph does not notice; what there was no room for is counted."""
        small = simulated(channels=1024, integration=0.1, spectra=8)
        publisher = monitoring.Publisher(small, {"listen": "127.0.0.1:0"}, maxsize=4)
        publisher.start()
        run(small)
        try:
            sink = small.blocks["sink"]
            wait_for(lambda: sink.nitems_read(0) > 2)
            os.kill(publisher.server_pid, signal.SIGSTOP)
            before = sink.nitems_read(0)
            wait_for(lambda: publisher.outbox.dropped > 0)
            wait_for(lambda: sink.nitems_read(0) > before)
            self.assertLessEqual(len(publisher.outbox), 4)
            os.kill(publisher.server_pid, signal.SIGCONT)

            def counted():
                with contextlib.suppress(OSError, ValueError):
                    with urllib.request.urlopen(publisher.url + "api/v1/state") as answer:
                        return json.loads(answer.read())["figures"].get("dropped")

            self.assertGreater(wait_for(counted), 0)
        finally:
            stop(small)
            publisher.stop()

    def test_nothing_changes_while_it_does_not_run(self):
        self.instrument.set_state("restarting")
        try:
            self.assertIn(self.post("f_engine", "gains", {"gain": 1})[0], (409, 422))
        finally:
            self.instrument.set_state("running")
        wait_for(lambda: self.post("f_engine", "gains", {"gain": 1})[0] == 200)


class qa_monitoring_data(unittest.TestCase):
    def test_the_data_are_the_same(self):
        """Every integration is the same with a publisher and without, bit by bit."""
        from gnuradio import blocks

        def integrations(monitored):
            instrument = simulated(samples=200000, throttled=False, type="sc8")
            kept = blocks.vector_sink_c(64 * 36)
            instrument.top.connect(instrument.blocks["xengine"], kept)
            publisher = monitoring.Publisher(instrument) if monitored else None
            if publisher is not None:
                publisher.start()
            instrument.top.run()
            if publisher is not None:
                publisher.stop()
                # the publisher's own thread may have had no time to look
                publisher._look_once()
                self.assertGreater(len(publisher.outbox), 0)
            return np.array(kept.data())

        expected = integrations(False)
        self.assertGreater(len(expected), 0)
        np.testing.assert_array_equal(expected, integrations(True))

    def test_a_flowgraph_in_the_place_of_another(self):
        """An instrument makes a flowgraph anew after a receiver failed."""
        first, second = simulated(samples=20000), simulated(samples=20000, array="two-dish")
        publisher = monitoring.Publisher(first)
        publisher.start()
        run(first)
        first.top.wait()
        first.replace(second.top, second.blocks)
        run(first)
        wait_for(
            lambda: any(
                message[0]["kind"] == "visibilities" and message[0]["inputs"] == [0, 1]
                for message in list(publisher.outbox._waiting)
            )
        )
        first.top.wait()
        publisher.stop()

    def test_the_oldest_is_dropped(self):
        outbox = Outbox(3)
        for number in range(5):
            outbox.put({"number": number})
        self.assertEqual(2, outbox.dropped)
        self.assertEqual([2, 3, 4], [outbox.take()[0]["number"] for _ in range(3)])
        self.assertIsNone(outbox.take(0.01))
        large = np.zeros(40 << 20, np.uint8)
        for _ in range(2):
            outbox.put({}, large)
        self.assertEqual(1, len(outbox))

    def test_pictures_of_candidates(self):
        """Pictures are sent once they are whole, and no name leads to another folder."""
        with tempfile.TemporaryDirectory() as folder:

            class candidate_sink:
                def files(self):
                    return [f"{folder}/found.ecsv"]

            publisher = monitoring.Publisher(simulated(samples=1000))
            publisher._attachment = SimpleNamespace(blocks={"sink": candidate_sink()})
            os.mkdir(f"{folder}/found-pictures")
            whole = png(np.arange(35.0).reshape(7, 5), 0, 35)
            for name in ("secret", "found-pictures/a-1", "found-pictures/half"):
                with open(f"{folder}/{name}.png", "wb") as file:
                    file.write(whole[:-1] if name.endswith("half") else whole)
            for name in ("a-1", "../secret", "half"):
                publisher._take_message(
                    "search",
                    "candidates",
                    time.time(),
                    pmt.dict_add(pmt.make_dict(), pmt.intern("id"), pmt.intern(name)),
                )
            publisher._send_pictures()
            sent = [
                message for message in publisher.outbox._waiting if message[0]["kind"] == "picture"
            ]
            self.assertEqual(
                [({"kind": "picture", "id": "a-1"}, whole)], [message[:2] for message in sent]
            )
            self.assertEqual(["half"], [name for _, name in publisher._pictures])

    def test_plain_values(self):
        counts = pmt.init_u64vector(3, [1, 2, 2**63])
        inner = pmt.dict_add(pmt.make_dict(), pmt.intern("a"), pmt.from_double(float("nan")))
        message = pmt.make_dict()
        for key, value in (
            ("event", pmt.intern("counts")),
            ("missing", counts),
            ("time", pmt.make_tuple(pmt.from_uint64(5), pmt.from_double(0.5))),
            ("gain", pmt.from_complex(1 + 2j)),
            ("inner", inner),
            ("good", pmt.from_bool(True)),
        ):
            message = pmt.dict_add(message, pmt.intern(key), value)
        expected = {
            "event": "counts",
            "missing": [1, 2, 2**63],
            "time": [5, 0.5],
            "gain": [1.0, 2.0],
            "inner": {"a": None},
            "good": True,
        }
        self.assertEqual(expected, plain_message(message))
        self.assertEqual([1, "x"], plain_message(pmt.cons(pmt.from_long(1), pmt.intern("x"))))
        self.assertIsNone(plain_message(pmt.PMT_NIL))
        deep = pmt.PMT_NIL
        for _ in range(50):
            deep = pmt.list1(deep)
        json.dumps(plain_message(deep))
        self.assertEqual(
            [None, 1.5, [0.0, 1.0], "x" * 2000],
            plain([float("inf"), np.float32(1.5), 1j, "x" * 3000]),
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
