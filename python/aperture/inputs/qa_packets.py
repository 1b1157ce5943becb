#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`pcap:` and `udp:`: packets as inputs of the commands."""

import threading
import time
from unittest import mock

import h5py
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import fx
from gnuradio.aperture.doctor import samples as doctor_samples
from gnuradio.aperture.doctor.recordings import examine_recording
from gnuradio.aperture.inputs.input_format import InputError
from gnuradio.aperture.inputs.registry import open_input
from gnuradio.aperture.testing import packets as net
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run, words
from gnuradio.aperture.testing.played_inputs import read_all

START, RATE, SAMPLES, COUNT = 1700000000, 1e6, 128, 400
REST = f",samples={SAMPLES},inputs=2,rate={RATE:g},freq=1.4e9"


def correlate(text, output, *more):
    """Returns what aperture_fx writes: visibilities and weights, and what it says."""
    options = words("--device cpu --channels 16 --integration 0.01")
    code, out, err = run(fx, "--input", text, "-o", output, *options, *more)
    assert code == 0, out + err
    with h5py.File(output) as file:
        data = file["Data"]
        return data["visdata"][()], data["nsamples"][()], file["Header/time_array"][()]


class qa_packets(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(3)
        self.data = (
            self.rng.normal(scale=20, size=(COUNT * SAMPLES, 2, 2)).clip(-127, 127).astype(np.int8)
        )

    def packets(self):
        return [
            net.plain(500 + i, row.tobytes()) for i, row in enumerate(self.data.reshape(COUNT, -1))
        ]

    def capture(self, lose=()):
        filename = self.path("packets, all of them.pcap")
        net.write_pcap(
            filename,
            [net.ethernet(packet) for i, packet in enumerate(self.packets()) if i not in lose],
        )
        return "pcap:" + filename.replace(",", "\\,") + REST

    def test_samples(self):
        signals = open_input(self.capture() + f",time={START}.5")
        self.assertEqual(
            (signals.sample_type, signals.inputs, signals.ports, signals.samples),
            ("sc8", 2, 1, None),
        )
        seconds, fraction = signals.start_time
        self.assertAlmostEqual(seconds - START + fraction, 0.5 + 500 * SAMPLES / RATE, places=9)
        got, found = read_all(signals)
        np.testing.assert_array_equal(got, self.data)
        self.assertIn("rx_time", [key for _, key, _ in found])
        np.testing.assert_array_equal(read_all(signals, 999)[0], self.data[:999])

    def test_layout_of_a_file(self):
        """Packets of a layout that a file says, which says their shape as well."""
        layout = self.path("my.yml")
        with open(layout, "w", encoding="utf8") as file:
            file.write(
                "packet_layout: mine\nheader: 6\nbyte_order: little\nfields:\n"
                "  number: {offset: 2, width: 4}\n  mark: {offset: 0, width: 2, value: 777}\n"
                "time: {counter: number, counts: packets}\n"
                f"payload: {{order: [time, input], samples: {SAMPLES}, inputs: 2}}\n"
            )
        name = self.path("mine.pcap")
        packets = [
            b"\x09\x03" + (500 + i).to_bytes(4, "little") + row.tobytes()
            for i, row in enumerate(self.data.reshape(COUNT, -1))
        ]
        net.write_pcap(name, [net.ethernet(packet) for packet in packets])
        rest = f"rate={RATE:g},freq=1.4e9"
        got, _ = read_all(open_input(f"pcap:{name},layout={layout},{rest}"))
        np.testing.assert_array_equal(got, self.data)
        with open(layout, "a", encoding="utf8") as file:
            file.write("header: 7\n")
        with self.assertRaisesRegex(InputError, "my.yml:9: header: given twice"):
            open_input(f"pcap:{name},layout={layout},{rest}")

    def test_correlates_as_a_file_of_samples_does(self):
        lose = set(range(100, 110)) | {300}
        kept = self.data.copy().reshape(COUNT, -1)
        kept[list(lose)] = 0
        raw = self.path("same.sc8")
        kept.tofile(raw)
        begin = START + 500 * SAMPLES / RATE
        want, weights, times = correlate(
            f"raw:{raw},inputs=2,rate={RATE:g},freq=1.4e9,time={begin}", self.path("raw.uvh5")
        )
        got, found, same_times = correlate(
            self.capture(lose) + f",time={START}", self.path("pcap.uvh5")
        )
        np.testing.assert_allclose(same_times, times, rtol=0, atol=1e-9)
        whole = (found == found.max()).all(axis=(1, 2))
        self.assertTrue(0 < whole.sum() < len(whole))
        self.assertTrue((weights == weights.max())[:-3].all())
        np.testing.assert_allclose(got[whole], want[whole], rtol=0.03, atol=0.02 * abs(want).max())

    def test_udp(self):
        """A sender, and aperture_fx, which ends by itself after --duration."""
        port, ends, before = net.free_port(), threading.Event(), time.time()

        def send():
            sender, number = net.Sender(port, pause=0), 0
            payloads = self.data.reshape(COUNT, -1)
            # never several at once: with a receiver that has to wait for a second, the system's
            # buffer of 200 kB shall not overflow
            while not ends.wait(SAMPLES / 2e4):
                sender.send([net.plain(number, payloads[number % COUNT].tobytes())])
                number += 1
            sender.close()

        thread = threading.Thread(target=send)
        thread.start()
        try:
            _, weights, times = correlate(
                f"udp:127.0.0.1:{port},samples={SAMPLES},inputs=2,rate=2e4,freq=1.4e9",
                self.path("udp.uvh5"),
                "--duration",
                "1.5",
                "--integration",
                "0.05",
            )
        finally:
            ends.set()
            thread.join()
        self.assertGreater(len(np.unique(times)), 20)
        self.assertGreater(weights.mean(), 0.8)
        # packets were stamped as they came; a Julian date in a double is good to 40 µs
        seconds = (times - 2440587.5) * 86400
        self.assertGreater(seconds.min(), before - 1e-3)
        self.assertLess(seconds.max(), time.time() + 1e-3)

    def test_doctor(self):
        text = self.capture(lose=range(50, 90))
        names = [finding.name for finding in examine_recording(text).findings]
        self.assertIn("missing", names)
        self.assertNotIn("packets-wrong", names)
        name = self.path("half.pcap")
        net.write_pcap(
            name, [net.ethernet(packet + b"x" * (i % 2)) for i, packet in enumerate(self.packets())]
        )
        found = {
            finding.name: finding.what
            for finding in examine_recording(f"pcap:{name}{REST}").findings
        }
        self.assertRegex(found["packets-wrong"], "200 of 400 packets")
        text = f"udp:127.0.0.1:{net.free_port()}{REST}"
        with (
            mock.patch.object(doctor_samples, "PATIENCE", 0.1),
            self.assertRaisesRegex(RuntimeError, "no packets came"),
        ):
            examine_recording(text, seconds=0.1)

    def test_texts_that_are_refused(self):
        capture = self.capture()
        name = capture.split(",samples")[0]
        for text, message in (
            (name + ",rate=1e6,freq=1e9", "samples is missing"),
            (name + ",samples=9,freq=1e9", "rate is missing"),
            (name + ",samples=9,rate=1e6", "freq is missing"),
            (
                capture + ",layout=spead",
                "layout=spead: spead is not allowed; it must be .*plain, .*vdif",
            ),
            (capture + ",layout=best2", "layout=best2: packets of layout best2 have channels"),
            (capture + ",layout=none.yml", "layout=none.yml"),
            (capture + ",coding=s9", "coding=s9"),
            (capture + ",streams=3-1", "streams=3-1.*ranges"),
            (capture + ",senders=a++b", "senders=a..b"),
            (name + ",samples=9,rate=1e6,freq=1e9", "no such packets.*400 received, 400 wrong"),
            (capture + ",address=0.0.0.0:1", "no such packets.*400 passed_over"),
            (capture + ",senders=1.2.3.4", "no such packets.*400 refused"),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(InputError, message):
                open_input(text)
        for text, message in (
            ("pcap:nowhere.pcap" + REST, "nowhere.pcap"),
            ("udp:localhost:1" + REST, "localhost:1.*digits"),
            ("udp:192.0.2.1:4000" + REST, "192.0.2.1:4000.*bound"),
        ):
            with (
                self.subTest(text=text),
                self.assertRaisesRegex((ValueError, RuntimeError, OSError), message),
            ):
                open_input(text)

    def test_spead(self):
        """Heaps of digitisers: what has to be given, and what is made of it."""
        given = "spead:127.0.0.1:7148,rate=1712e6,freq=1284e6,sync=1700000000"
        signals = open_input(given + ",ids=4;7,type=s12")
        self.assertEqual((signals.sample_type, len(signals.description.inputs)), ("s12", 2))
        self.assertEqual((signals.sample_rate, signals.center_frequency), (1712e6, 1284e6))
        for text, problem in (
            (given.replace(",rate=1712e6", "") + ",inputs=2", "rate is missing"),
            (given, "inputs is missing"),
            (given + ",ids=1;2,inputs=3", "ids has 2 numbers for 3 inputs"),
            (given + ",ids=1;1", "different numbers"),
            (given + ",inputs=2,type=s9", "s9"),
        ):
            with self.assertRaisesRegex(InputError, problem):
                open_input(text)


if __name__ == "__main__":
    gr_unittest.run(qa_packets)
