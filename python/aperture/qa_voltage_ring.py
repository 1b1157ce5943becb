#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Dumps out of a ring, compared byte by byte with the stream, and what is said where they lack
something."""

import contextlib
import json
import resource
import threading
import time
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.dumps import dumper
from gnuradio.aperture.files import checked_file
from gnuradio.aperture.parameters.errors import NotNow
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.disks import small_disk
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import (
    ByteSink,
    ByteSource,
    comes_true,
    from_pmt,
    item_of,
    let_work,
    run_chain,
    to_pmt,
    until_taken,
)
from gnuradio.aperture.testing.voltage_files import read_dada, read_guppi, read_sigmf

aperture = qa_tools.on_device(aperture)

START, FRACTION = 1704067200, 0.125
WIDTH, FREQUENCY = 15625.0, 1.42e9
CHANNELS, INPUTS, SPECTRA = 5, 3, 7
#: samples as they are in memory, of the types that an edge may have
BYTES = {"fc32": 8, "sc16": 4, "sc8": 2, "sc4": 1, "f32": 4, "s16": 2, "s8": 1}


def tags_of_frames(item=0, time=(START, FRACTION), frequency=FREQUENCY):
    return [
        (item, "rx_time", time),
        (item, "rx_freq", frequency),
        (item, "rx_rate", WIDTH / SPECTRA),
        (item, "bandwidth", WIDTH * CHANNELS),
    ]


def tags_of_samples(rate=WIDTH):
    return [(0, "rx_time", (START, FRACTION)), (0, "rx_freq", FREQUENCY), (0, "rx_rate", rate)]


def at(sample, rate=WIDTH):
    """When a sample (of frames: a spectrum) comes: exact, as this rate is a power of two times
    a whole number."""
    exact = START + Fraction(FRACTION) + Fraction(sample) / Fraction(rate)
    return int(exact), float(exact % 1)


class HeldSource(ByteSource):
    """Waits also before its end."""

    def work(self, input_items, output_items):
        gate = self.gates.get(self.sent)
        if gate and self.sent == len(self.data):
            gate.wait(qa_tools.PATIENCE)
        return super().work(input_items, output_items)


class Running:
    """
    A stream into a ring, which waits at some items until pass_on() is called.

    data: [item][byte]; holds: items before which it waits.
    """

    def __init__(self, ring, data, tags, holds=(), chunks=97):
        self.ring, self.data = ring, data
        self.started = False
        self.gates = {hold: threading.Event() for hold in holds}
        self.source = HeldSource(data, tags, chunks, self.gates)
        self.status = blocks.message_debug()
        self.top = gr.top_block()
        self.top.connect(self.source, ring)
        self.top.msg_connect(ring, "status", self.status, "store")

    def __enter__(self):
        if not self.started:
            self.top.start()
        self.started = True
        return self

    def __exit__(self, *_):
        self.started = False
        for gate in self.gates.values():
            gate.set()
        thread = threading.Thread(target=self.top.wait, daemon=True)
        thread.start()
        thread.join(qa_tools.PATIENCE)
        if thread.is_alive():
            self.top.stop()
            raise AssertionError("the flowgraph hangs")
        if self.source.error:
            raise self.source.error

    def until(self, true, what):
        deadline = time.monotonic() + qa_tools.PATIENCE
        while not true():
            if time.monotonic() > deadline:
                for gate in self.gates.values():
                    gate.set()
                raise AssertionError(
                    f"{what}: waited in vain; {self.ring.counts()}, {self.ring.items()} items"
                )
            time.sleep(0.002)

    def held(self, item):
        """Waits until all before an item are in the ring; starts the flowgraph."""
        self.__enter__()
        self.until(lambda: self.ring.items() == item, f"item {item}")
        return self

    def pass_on(self, item):
        self.gates[item].set()

    def ended(self, count=1):
        """Waits until so many triggers came to an end; gives what became of the dumps."""
        self.until(lambda: sum(self.ring.counts().values()) == count, f"{count} triggers")
        return self.ring.dumps()

    def post(self, message):
        """A message to the port, as another block sends it."""
        if not hasattr(message, "__dict__") and isinstance(message, dict):
            message = to_pmt(message)
        self.ring._ring.to_basic_block()._post(pmt.intern("trigger"), message)

    def messages(self):
        return [from_pmt(self.status.get_message(i)) for i in range(self.status.num_messages())]


class qa_voltage_ring(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)

    def frames(self, count, kind=np.int8):
        """[frame][channel][input][time][re, im]"""
        shape = (count, CHANNELS, INPUTS, SPECTRA, 2)
        if kind == np.float32:
            return self.rng.normal(size=shape).astype(np.float32)
        return self.rng.integers(-127, 128, shape).astype(kind)

    def ring(self, frames_held, name="d-{id}-{time}-{channel}.sigmf-meta", **arguments):
        made = {
            "channels": CHANNELS,
            "inputs": INPUTS,
            "spectra_per_frame": SPECTRA,
            "type": "sc8",
            **arguments,
        }
        size = made["channels"] * made["inputs"] * made["spectra_per_frame"] * BYTES[made["type"]]
        ring = aperture.voltage_ring(
            name if str(name).startswith("/") else str(self.folder / name),
            **{"size": frames_held * size + size // 3, **made},
        )
        ring._dumping.set_log_level("off")
        return ring

    def left(self):
        return sorted(path.name for path in self.folder.iterdir())

    def check_voltages(self, result, frames, first, end, kind=np.int8):
        """SigMF of each channel is frames first to before end."""
        self.assertIsNone(result["error"])
        self.assertEqual(len(result["files"]), 2 * len(result["channels"]))
        for channel in result["channels"]:
            meta, data = read_sigmf(
                next(path for path in result["files"] if path.endswith(f"-{channel}.sigmf-meta"))
            )
            np.testing.assert_array_equal(
                data,
                frames[first:end, channel][:, result["inputs"]]
                .transpose(0, 2, 1, 3)
                .reshape(-1, len(result["inputs"]), 2),
            )
            seconds, fraction = at(first * SPECTRA)
            self.assertEqual(
                meta["captures"][0]["core:datetime"],
                "2024-01-01T00:00:%s" % f"{seconds - START + fraction:015.12f}".rstrip("0") + "Z",
            )
            self.assertAlmostEqual(
                meta["captures"][0]["core:frequency"],
                FREQUENCY + (channel - CHANNELS // 2) * WIDTH,
                3,
            )

    # ---- all that flows, in all formats

    def test_frames(self):
        """Frames that lie across the wrap of the ring, of all channels and inputs and some."""
        frames = self.frames(300)
        ring = self.ring(101)
        self.assertEqual(ring.capacity(), 101)
        with Running(ring, frames.view(np.uint8).reshape(300, -1), tags_of_frames(), [250]).held(
            250
        ) as run:
            # 149 is the oldest, the ring wraps at 202; ends within frames
            ring.trigger("all", at(195 * SPECTRA + 2), at(220 * SPECTRA + 1))
            ring.trigger(
                "some", at(149 * SPECTRA), at(250 * SPECTRA), channels=[1, 4], inputs=[2, 0]
            )
            results = {result["id"]: result for result in run.ended(2)}
        self.assertTrue(all(result["complete"] for result in results.values()))
        self.check_voltages(results["all"], frames, 195, 221)
        self.assertEqual((results["some"]["channels"], results["some"]["inputs"]), ([1, 4], [2, 0]))
        self.check_voltages(results["some"], frames, 149, 250)
        self.assertEqual(
            json.loads(Path(results["some"]["description"]).read_text())["bytes"],
            101 * 2 * 2 * SPECTRA * 2,
        )
        self.assertEqual(
            [message["event"] for message in run.messages() if message["id"] == "some"],
            ["accepted", "writing", "written"],
        )
        self.assertFalse([name for name in self.left() if name.startswith(".")])

    def test_guppi(self):
        frames = self.frames(60)
        ring = self.ring(50, "g-{id}-{time}-{input}.raw", names=["a", "b/", "c"], blocks_per_file=7)
        with Running(ring, frames.view(np.uint8).reshape(60, -1), tags_of_frames(), [60]) as run:
            run.held(60)
            ring.trigger("x", at(20 * SPECTRA), at(40 * SPECTRA), channels=[1, 2, 3])
            (result,) = run.ended()
        self.assertEqual(len(result["files"]), 9)
        for number, name in enumerate("abc"):
            found = [
                block
                for path in result["files"]
                if f"Z-{name}." in path
                for block in read_guppi(path)
            ]
            self.assertEqual(len(found), 20)
            for place, (header, block) in enumerate(found):
                np.testing.assert_array_equal(block[:, :, 0], frames[20 + place, 1:4, number])
                self.assertEqual(header["PKTIDX"], place * SPECTRA)
                self.assertAlmostEqual(header["OBSFREQ"], FREQUENCY / 1e6, 9)
            self.assertAlmostEqual(found[0][0]["STT_OFFS"], at(20 * SPECTRA)[1], 12)

    def test_dada(self):
        """Beams of floats are written, all channels in one file, and a file for each channel and
        beam."""
        frames = self.frames(40, np.float32)
        data = frames.view(np.uint8).reshape(40, -1)
        for name in ("d-{id}-{time}.dada", "d-{id}-{time}-{channel}-{beam}.dada"):
            ring = self.ring(
                30,
                name,
                type="fc32",
                kind="beams",
                names=["x", "y", "Cas A#"],
                memory="host",
                array="two-dish",
            )
            with Running(ring, data, tags_of_frames(), [40]).held(40) as run:
                ring.trigger("a", at(12 * SPECTRA), at(31 * SPECTRA), inputs=[2, 1])
                (result,) = run.ended()
            self.assertTrue(result["complete"], result)
            expected = (
                frames[12:31]
                .transpose(0, 3, 1, 2, 4)
                .reshape(-1, CHANNELS, INPUTS, 2)[:, :, [2, 1]]
            )
            if "{" not in name.replace("{id}-{time}", ""):
                header, found = read_dada(result["files"][0])
                np.testing.assert_array_equal(found, expected)
                self.assertEqual(header["SOURCE"], "Cas A_, y")
                self.assertEqual(header["BW"], "0.078125")
                self.assertEqual(
                    (header["UTC_START"], header["PICOSECONDS"]),
                    ("2024-01-01-00:00:00", "130376000000"),
                )
                self.assertEqual(header["FREQ"], "1420")
                self.assertEqual(int(header["FILE_SIZE"]), found.nbytes)
                self.assertEqual(header["MJD_START"][:12], "60310.000001")
                continue
            self.assertEqual(len(result["files"]), 10)
            header, found = read_dada(
                next(path for path in result["files"] if path.endswith("Z-2-4-y.dada"))
            )
            np.testing.assert_array_equal(found[:, 0, 0], expected[:, 4, 1])
            self.assertEqual(float(header["FREQ"]) * 1e6, FREQUENCY + 2 * WIDTH)
            self.assertEqual((header["BW"], header["TSAMP"]), ("0.015625", "64"))

    def test_samples(self):
        """Exactly the samples from start to before end, of each type, in SigMF and DADA."""
        count, inputs, first, end = 30000, 3, 23457, 28999
        for kind, size in BYTES.items():
            data = self.rng.integers(0, 256, (count, inputs * size)).astype(np.uint8)
            if kind in ("fc32", "f32"):  # all numbers: a source takes others as missing
                data = (
                    self.rng.normal(size=(count, size // 4 * inputs))
                    .astype(np.float32)
                    .view(np.uint8)
                )
            ending = "dada" if kind in ("sc16", "f32", "s8") else "sigmf-meta"
            ring = self.ring(
                7919,
                f"{kind}-{{id}}-{{time}}.{ending}",
                kind="samples",
                type=kind,
                channels=1,
                spectra_per_frame=1,
            )
            with Running(ring, data, tags_of_samples(), [count], 5000).held(count) as run:
                ring.trigger("a", at(first - Fraction(1, 2)), at(end))
                (result,) = run.ended()
            self.assertTrue(result["complete"], result)
            expected = data[first:end]
            if ending == "dada":
                # our own source reads them back, with their time
                source = aperture.dada_source(result["files"][0])
                self.assertEqual(
                    (source.type(), source.inputs(), source.start_time()), (kind, inputs, at(first))
                )
                self.assertEqual(source.sample_rate(), WIDTH)
                sink = ByteSink(data.shape[1])
                run_chain(source, sink)
                found = sink.data()
                if kind in ("sc16", "s8"):
                    # the lowest integer is clamped by the source
                    whole = {"sc16": np.int16, "s8": np.int8}[kind]
                    expected = np.maximum(expected.copy().view(whole), -np.iinfo(whole).max)
                    found = np.maximum(found.copy().view(whole), -np.iinfo(whole).max)
            else:
                meta = json.loads(Path(result["files"][0]).read_text())
                found = np.fromfile(result["files"][1], np.uint8)
                self.assertEqual(
                    meta["global"]["core:datatype"],
                    {"fc32": "cf32_le", "sc8": "ci8", "sc4": "ci8", "s16": "ri16_le"}[kind],
                )
                self.assertEqual(meta["captures"][0]["core:frequency"], FREQUENCY)
                if kind == "sc4":
                    signed = np.array(
                        [0, 1, 2, 3, 4, 5, 6, 7, -7, -7, -6, -5, -4, -3, -2, -1], np.int8
                    )
                    expected = np.stack([signed[expected >> 4], signed[expected & 15]], -1)
            np.testing.assert_array_equal(
                np.ravel(found).view(np.uint8), np.ravel(expected).view(np.uint8)
            )

    # ---- time

    def test_clock(self):
        """A clock that walks makes captures, a jump and another frequency new files."""
        frames, spectrum = self.frames(60), 1 / WIDTH
        tags = tags_of_frames() + [
            (20, "rx_time", (START, FRACTION + (20 * SPECTRA + 0.4) * spectrum)),
            (30, "rx_time", (START, FRACTION + (33 * SPECTRA) * spectrum)),
            (40, "rx_freq", 2 * FREQUENCY),
            # received, but lost on the way: across two frames
            (16, "missing", {"input": 1, "first": 16 * SPECTRA + 5, "count": 6}),
        ]
        ring = self.ring(60, selected_channels=[2])
        with Running(ring, frames.view(np.uint8).reshape(60, -1), tags, [60]).held(60) as run:
            ring.trigger("a", at(10 * SPECTRA), at(55 * SPECTRA))
            (result,) = run.ended()
        self.assertEqual(
            set(self.left()),
            {
                f"d-a-20240101T000000Z{number}{rest}"
                for number, rest in (
                    ("-2", "-2.sigmf-data"),
                    ("-2", "-2.sigmf-meta"),
                    ("-3", "-2.sigmf-data"),
                    ("-3", "-2.sigmf-meta"),
                    ("", "-2.sigmf-data"),
                    ("", "-2.sigmf-meta"),
                    ("", ".json"),
                )
            },
        )
        for (first, end, start), recording in zip(
            ((10, 30, 10), (30, 40, 33), (40, 52, 43)), result["recordings"]
        ):
            meta, data = read_sigmf(recording["files"][0])
            np.testing.assert_array_equal(
                data, frames[first:end, 2].transpose(0, 2, 1, 3).reshape(-1, 3, 2)
            )
            self.assertAlmostEqual(
                recording["start"]["fraction"], FRACTION + start * SPECTRA * spectrum, 12
            )
            if first == 10:
                self.assertEqual(
                    [entry["core:sample_start"] for entry in meta["captures"]], [0, 10 * SPECTRA]
                )
                self.assertEqual(
                    [
                        (
                            entry["core:sample_start"],
                            entry["core:sample_count"],
                            entry["aperture:input"],
                        )
                        for entry in meta["annotations"]
                    ],
                    [(6 * SPECTRA + 5, 6, 1)],
                )
        lost = {
            (run["input"], run["reason"]): (run["from"]["fraction"], run["to"]["fraction"])
            for run in result["missing"]
        }
        self.assertFalse(result["complete"])
        np.testing.assert_allclose(
            lost[1, "not received"],
            FRACTION + np.array([16 * SPECTRA + 5, 17 * SPECTRA + 4]) * spectrum,
            rtol=0,
            atol=1e-12,
        )
        np.testing.assert_allclose(
            lost[None, "not received"],
            FRACTION + np.array([30 * SPECTRA + 0.4, 33 * SPECTRA]) * spectrum,
            rtol=0,
            atol=1e-12,
        )
        self.assertEqual(len(lost), 2)

    def test_gap_of_one_sample(self):
        """A gap of one sample is reported and begins another file, also where the time of the stamp
        is rounded."""
        count, lost = 20000, 7777
        data = self.rng.integers(0, 256, (count, 4)).astype(np.uint8)
        for rate in (48000.0, 44100.0, 2.4e6):
            for exact in (True, False):
                if rate > 1e6 and not exact:
                    continue
                seconds = FRACTION + (lost + 1) / rate
                after = (START, seconds if exact else round(seconds, 6))
                ring = self.ring(
                    20000,
                    f"{rate:g}-{exact}-{{id}}-{{time}}.sigmf-meta",
                    kind="samples",
                    channels=1,
                    spectra_per_frame=1,
                    inputs=2,
                )
                tags = tags_of_samples(rate) + [(lost, "rx_time", after)]
                with Running(ring, data, tags, [count], 5000).held(count) as run:
                    ring.trigger("a", at(7000, rate), at(8000, rate))
                    (result,) = run.ended()
                self.assertFalse(result["complete"], (rate, exact))
                self.assertAlmostEqual(result["missing_seconds"] * rate, 1, delta=0.05)
                self.assertEqual([r["samples"] for r in result["recordings"]], [777, 222])

    def test_past(self):
        """Items that were overwritten when the trigger came, or were before the stream, are
        reported."""
        frames = self.frames(200)
        ring = self.ring(50)
        with Running(
            ring, frames.view(np.uint8).reshape(200, -1), tags_of_frames(), [20, 180]
        ) as run:
            run.held(20)
            ring.trigger("early", at(-100), at(3 * SPECTRA))
            run.ended(1)
            run.pass_on(20)
            run.held(180)
            ring.trigger("half", at(110 * SPECTRA), at(140 * SPECTRA))
            ring.trigger("all", at(10 * SPECTRA), at(20 * SPECTRA))
            ring.trigger("before", at(-20), at(-10))
            run.ended(4)
        early, half, gone, before = (
            next(result for result in ring.dumps() if result["id"] == id)
            for id in ("early", "half", "all", "before")
        )
        self.check_voltages(early, frames, 0, 3)
        self.assertEqual(
            [
                (run["reason"], run["from"]["fraction"], run["to"]["fraction"])
                for run in early["missing"]
            ],
            [("before the stream began", at(-100)[1], FRACTION)],
        )
        self.check_voltages(half, frames, 130, 140)
        self.assertEqual(
            [
                (run["reason"], run["from"]["fraction"], run["to"]["fraction"])
                for run in half["missing"]
            ],
            [
                (
                    "overwritten before it could be written",
                    at(110 * SPECTRA)[1],
                    at(130 * SPECTRA)[1],
                )
            ],
        )
        self.assertAlmostEqual(half["missing_seconds"], 20 * SPECTRA / WIDTH, 12)
        self.assertEqual((gone["files"], gone["description"]), ([], None))
        self.assertIn("overwritten", gone["error"])
        self.assertIn("before the stream began", before["error"])
        told = next(
            message
            for message in run.messages()
            if message["id"] == "half" and message["event"] == "written"
        )
        self.assertEqual(
            (told["missing_from"], told["missing_to"], told["complete"]),
            (at(110 * SPECTRA), at(130 * SPECTRA), False),
        )

    def test_future(self):
        """Dumps that overlap follow the stream, longer ones than the ring; others wait in vain."""
        frames = self.frames(400)
        ring = self.ring(40, queue=3, longest_wait=1.0)
        with Running(
            ring,
            frames.view(np.uint8).reshape(400, -1),
            tags_of_frames(),
            [50, *range(60, 400, 20)],
        ) as run:
            run.held(50)
            ring.trigger("long", at(40 * SPECTRA), at(150 * SPECTRA))
            ring.trigger("later", at(100 * SPECTRA), at(120 * SPECTRA), channels=[3])
            ring.trigger("cut", at(390 * SPECTRA), at(500 * SPECTRA), channels=[0])
            ring.trigger("fourth", at(100 * SPECTRA), at(120 * SPECTRA))
            run.ended(1)
            run.pass_on(50)
            for hold in range(60, 400, 20):
                run.held(hold)
                if hold <= 160:
                    run.until(
                        lambda: (
                            "long" in {result["id"] for result in ring.dumps()}
                            or min(dump.next or 10**9 for dump in list(ring._dumping.dumper._dumps))
                            >= min(hold, 150)
                        ),
                        "steps",
                    )
                run.pass_on(hold)
                if hold == 160:
                    run.ended(3)
                    # 40 frames are 18 ms
                    with self.assertRaisesRegex(NotNow, "end: it is .* ahead of the stream"):
                        ring.trigger("far", at(0), at(WIDTH * 2), patience=qa_tools.PATIENCE)
                    with self.assertRaisesRegex(ValueError, "inputs: .* is not allowed"):
                        ring.trigger("no", at(0), at(1), inputs=[99], patience=qa_tools.PATIENCE)
                    run.ended(5)
        results = {result["id"]: result for result in ring.dumps()}
        self.check_voltages(results["long"], frames, 40, 150)
        self.check_voltages(results["later"], frames, 100, 120)
        self.check_voltages(results["cut"], frames, 390, 400)
        (lost,) = results["cut"]["missing"]
        self.assertEqual(lost["reason"], "after the stream ended")
        self.assertAlmostEqual(lost["from"]["fraction"], at(400 * SPECTRA)[1], 12)
        refused = {
            message["id"]: message["reason"]
            for message in run.messages()
            if message["event"] == "refused"
        }
        self.assertIn("queue: 3 dumps", refused["fourth"])
        self.assertIn("ahead of the stream", refused["far"])

    def test_around_now(self):
        """A dump spans `before` and `after` around the newest sample, as buttons and strobes
        ask."""
        frames = self.frames(100)
        ring = self.ring(60, "d-{id}-{time}.dada")
        with Running(
            ring, frames.view(np.uint8).reshape(100, -1), tags_of_frames(), [70, 100]
        ) as run:
            run.held(70)
            message = {
                "id": pmt.intern("b"),
                "before": 10 * SPECTRA / WIDTH,
                "after": 5.0 * SPECTRA / WIDTH,
            }
            run.post(pmt.cons(pmt.intern("pressed"), to_pmt(message)))
            run.until(lambda: ring.pending() == 1, "the trigger")
            run.pass_on(70)
            (result,) = run.ended()
        _, found = read_dada(result["files"][0])
        np.testing.assert_array_equal(
            found, frames[60:75].transpose(0, 3, 1, 2, 4).reshape(-1, CHANNELS, INPUTS, 2)
        )

    # ---- what goes wrong

    @contextlib.contextmanager
    def slow_disk(self):
        """Behind the first write each waits until the event that this gives is set."""
        add, calls, goes_on = checked_file.CheckedFile.add, [], threading.Event()

        def slow(file, *pieces):
            calls.append(None)
            if len(calls) > 1:
                goes_on.wait(qa_tools.PATIENCE)
            add(file, *pieces)

        checked_file.CheckedFile.add = slow
        try:
            yield goes_on
        finally:
            goes_on.set()
            checked_file.CheckedFile.add = add

    def test_slow_disk(self):
        """The stream runs to its end while a write waits; what was overwritten meanwhile is zeros,
        and said, nothing else."""
        count = 4000
        frames = self.frames(count)
        frames[frames == 0] = 1
        ring = self.ring(300, "s-{id}-{time}-{channel}.sigmf-meta", selected_channels=[1])
        with Running(
            ring, frames.view(np.uint8).reshape(count, -1), tags_of_frames(), [100], 20
        ).held(100) as run:
            with self.slow_disk() as goes_on:
                ring.trigger("a", at(0), at(count * SPECTRA))
                run.until(lambda: ring.bytes_written() > 0, "the first bytes")
                run.pass_on(100)
                run.held(count)
                goes_on.set()
                (result,) = run.ended()
        self.assertIsNone(result["error"])
        self.assertFalse(result["complete"])
        meta, data = read_sigmf(result["files"][0])
        self.assertEqual(len(data), count * SPECTRA)
        lost = np.zeros(len(data), bool)
        for entry in meta["annotations"]:
            self.assertEqual(entry["core:label"], "overwritten")
            begin = entry["core:sample_start"]
            lost[begin : begin + entry["core:sample_count"]] = True
        self.assertTrue(lost.any() and not lost.all())
        expected = frames[:, 1].transpose(0, 2, 1, 3).reshape(-1, INPUTS, 2)
        np.testing.assert_array_equal(data, np.where(lost[:, None, None], 0, expected))
        said = np.zeros(len(data), bool)
        for gap in result["missing"]:
            begin, end = (
                round((gap[key]["fraction"] + gap[key]["seconds"] - START - FRACTION) * WIDTH)
                for key in ("from", "to")
            )
            said[begin:end] = True
        np.testing.assert_array_equal(said, lost)

    def test_full_disk(self):
        """One message, whole files of what fitted, and the next dump is written elsewhere."""
        frames = self.frames(3000)
        data = frames.view(np.uint8).reshape(3000, -1)
        with small_disk(self, 192) as disk:
            for name in ("f-{id}-{time}-{channel}.sigmf-meta", "f-{id}-{time}.dada"):
                ring = self.ring(3000, str(disk / name))
                with Running(ring, data, tags_of_frames(), [3000], 1000).held(3000) as run:
                    ring.trigger("big", at(0), at(3000 * SPECTRA))
                    (big,) = run.ended(1)
                    for path in disk.iterdir():
                        path.unlink()
                    ring.trigger("small", at(10 * SPECTRA), at(12 * SPECTRA))
                    small = run.ended(2)[1]
                self.assertRegex(big["error"], "No space left on device")
                self.assertFalse(big["complete"])
                self.assertIsNone(ring.error())
                self.assertIsNone(small["error"])
                self.assertEqual(
                    [message["event"] for message in run.messages() if message["id"] == "big"][-1],
                    "written" if big["files"] else "failed",
                )
                for path in disk.iterdir():
                    self.assertNotEqual(path.name[0], ".")
                    path.unlink()

    def test_limit_of_files(self):
        """A file that may not grow further is as a full disk."""
        frames = self.frames(2000)
        ring = self.ring(2000, "r-{id}-{time}.dada")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        with Running(
            ring, frames.view(np.uint8).reshape(2000, -1), tags_of_frames(), [2000], 1000
        ).held(2000) as run:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, hard))
            try:
                ring.trigger("a", at(0), at(2000 * SPECTRA))
                (result,) = run.ended()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            ring.trigger("b", at(0), at(2000 * SPECTRA))
            again = run.ended(2)[1]
        self.assertRegex(result["error"], "File too large")
        self.assertTrue(again["complete"])

    def test_disk_limit(self):
        frames = self.frames(50)
        size = 20 * CHANNELS * INPUTS * SPECTRA * 2
        ring = self.ring(50, "l-{id}-{time}.dada", disk_limit=2.2 * size)
        with Running(ring, frames.view(np.uint8).reshape(50, -1), tags_of_frames(), [50]).held(
            50
        ) as run:
            for number, id in enumerate("abc", 1):
                ring.trigger(id, at(10 * SPECTRA), at(30 * SPECTRA))
                run.ended(number)
        self.assertEqual((ring.counts()["written"], ring.bytes_written()), (2, 2 * size))
        self.assertIn("disk_limit", run.messages()[-1]["reason"])

    def test_hostile_messages(self):
        """Each is refused with a reason, nothing comes to the disk, and the chain goes on."""
        frames = self.frames(50)
        start, end = at(10 * SPECTRA), at(12 * SPECTRA)
        good = {"id": pmt.intern("ok"), "start": start, "end": end}
        without = lambda key: {name: value for name, value in good.items() if name != key}
        bad = [
            pmt.PMT_NIL,
            pmt.PMT_T,
            pmt.intern("x"),
            pmt.from_double(1),
            pmt.make_vector(3, pmt.PMT_T),
            pmt.cons(pmt.from_long(1), pmt.from_long(2)),
            pmt.init_u8vector(3, [1, 2, 3]),
            *(without(key) for key in good),
            *(
                {**good, "id": pmt.intern(id)}
                for id in ("", "a/b", "../x", ".", "a b", "x" * 65, "a\0b", "ä", "a\n", "{time}")
            ),
            {**good, "id": pmt.from_long(3)},
            {**good, "id": pmt.PMT_NIL},
            {**good, "start": end, "end": start},
            {**good, "end": start},
            *(
                {**good, key: value}
                for key in ("start", "end")
                for value in (
                    1.0,
                    pmt.from_uint64(START),
                    pmt.intern("now"),
                    pmt.make_tuple(pmt.PMT_T),
                    pmt.make_tuple(pmt.from_uint64(START), pmt.from_double(float("nan"))),
                    pmt.make_tuple(pmt.from_uint64(START), pmt.from_double(float("inf"))),
                    pmt.make_tuple(pmt.from_uint64(2**63), pmt.from_double(0)),
                    pmt.make_tuple(pmt.from_double(START), pmt.from_double(0)),
                    pmt.make_tuple(pmt.from_long(-5), pmt.from_double(0)),
                )
            ),
            {**good, "end": (START + 10**6, 0.0)},
            {"id": good["id"], "before": float("nan")},
            {"id": good["id"], "before": -1.0},
            {"id": good["id"], "before": 1.0, "after": float("inf")},
            {"id": good["id"], "before": pmt.intern("1")},
            *(
                {**good, key: value}
                for key in ("inputs", "channels")
                for value in (
                    pmt.init_s32vector(1, [99]),
                    pmt.init_s32vector(1, [-1]),
                    pmt.init_s32vector(2, [1, 1]),
                    pmt.init_s32vector(0, []),
                    pmt.intern("1"),
                    pmt.from_double(1),
                    pmt.init_f64vector(1, [1.0]),
                    pmt.PMT_T,
                    pmt.make_vector(2, pmt.intern("a")),
                    pmt.from_uint64(2**64 - 1),
                    pmt.init_u8vector(70000, [0] * 70000),
                )
            ),
            {**good, "channels": pmt.init_s32vector(2, [0, 2])},
        ]
        ring = self.ring(50, "h-{id}-{time}.dada")
        with Running(ring, frames.view(np.uint8).reshape(50, -1), tags_of_frames(), [40]).held(
            40
        ) as run:
            for number, message in enumerate(bad, 1):
                run.post(message)
                run.until(lambda: ring.counts()["refused"] == number, f"message {message}")
            self.assertEqual(self.left(), [])
            run.post(
                {
                    **good,
                    "candidate": pmt.PMT_T,
                    "dm": float("nan"),
                    "snr": 9.5,
                    "channels": pmt.list2(pmt.from_long(2), pmt.from_long(3)),
                }
            )
            (result,) = run.ended(len(bad) + 1)
        self.assertEqual((result["channels"], result["candidate"]), ([2, 3], {"snr": 9.5}))
        self.assertTrue(result["complete"])
        self.assertTrue(
            all(message["reason"] for message in run.messages() if message["event"] == "refused")
        )
        self.assertIsNone(ring.error())
        with self.assertRaises(RuntimeError):
            ring.trigger("late", start, end)

    def test_no_tags(self):
        frames = self.frames(50)
        for tags, text in (
            ([], "no rx_time"),
            (tags_of_frames()[:1], "no rx_rate"),
            (tags_of_frames()[:3], "no bandwidth"),
        ):
            ring = self.ring(50)
            with Running(ring, frames.view(np.uint8).reshape(50, -1), tags, [50]).held(50) as run:
                ring.trigger("a", at(0), at(SPECTRA))
                run.ended()
            self.assertIn(text, run.messages()[-1]["reason"])
            self.assertEqual(self.left(), [])

    # ---- the flowgraph

    def test_restart(self):
        frames = self.frames(80)
        data = frames.view(np.uint8).reshape(80, -1)
        ring = self.ring(70)
        run = Running(ring, data, tags_of_frames(), [60])
        for number in (1, 2):
            with run:
                run.held(60)
                ring.trigger("a", at(5 * SPECTRA), at(9 * SPECTRA))
                ring.trigger("end", at(70 * SPECTRA), at(100 * SPECTRA), channels=[0])
                run.ended(2 * number - 1)
                run.pass_on(60)
            results = ring.dumps()[-2:]
            self.check_voltages(results[0], frames, 5, 9)
            self.check_voltages(results[1], frames, 70, 80)
            self.assertIn(f"a-20240101T000000Z{'-2' * (number - 1)}-0", results[0]["files"][0])
            run.gates[60].clear()

    def test_no_triggers(self):
        """A flowgraph ends by itself without triggers, and with nothing connected to its ports."""
        data = self.frames(30).view(np.uint8).reshape(30, -1)
        for _ in range(3):
            ring = self.ring(7)
            top = gr.top_block()
            source = ByteSource(data, tags_of_frames())
            top.connect(source, ring)
            thread = threading.Thread(target=top.run, daemon=True)
            thread.start()
            thread.join(qa_tools.PATIENCE)
            self.assertFalse(thread.is_alive())
            self.assertEqual(ring.items(), 30)
        self.assertEqual(self.left(), [])

    def test_trigger_after_the_end(self):
        """A block behind the same source asks when the ring's stream has long ended."""

        class Late(gr.sync_block):
            def __init__(self, size):
                gr.sync_block.__init__(self, "late", [item_of(size)], None)
                self.message_port_register_out(pmt.intern("out"))

            def work(self, input_items, output_items):
                # the whole stream is in our buffer; the ring has it, too
                self.came_late = comes_true(ring._ring.ended)
                self.message_port_pub(
                    pmt.intern("out"),
                    to_pmt(
                        {"id": pmt.intern("late"), "start": at(3 * SPECTRA), "end": at(6 * SPECTRA)}
                    ),
                )
                return len(input_items[0])

        frames = self.frames(20)
        data = frames.view(np.uint8).reshape(20, -1)
        ring, late = self.ring(20), Late(data.shape[1])
        top = gr.top_block()
        source = ByteSource(data, tags_of_frames())
        top.connect(source, ring)
        top.connect(source, late)
        top.msg_connect(late, "out", ring, "trigger")
        thread = threading.Thread(target=top.run, daemon=True)
        thread.start()
        thread.join(qa_tools.PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertTrue(late.came_late)
        self.check_voltages(ring.dumps()[0], frames, 3, 6)

    def test_sender_that_ends(self):
        """One that sends messages and has ended does not end the chain."""
        frames = self.frames(60)
        ring = self.ring(60)
        with Running(ring, frames.view(np.uint8).reshape(60, -1), tags_of_frames(), [30]).held(
            30
        ) as run:
            # GNU Radio sends this to the neighbours of a block that ends
            until_taken(ring._ring, "system", pmt.cons(pmt.intern("done"), pmt.from_long(1)))
            let_work(ring._ring)
            run.pass_on(30)
            run.held(60)

    def test_stopped(self):
        """stop() writes what is there of the dumps that were asked for."""
        frames = self.frames(60)
        ring = self.ring(60)
        run = Running(ring, frames.view(np.uint8).reshape(60, -1), tags_of_frames(), [40])
        run.held(40)
        ring.trigger("a", at(35 * SPECTRA), at(80 * SPECTRA))
        run.until(lambda: ring.pending() == 1, "the trigger")
        run.top.stop()
        run.gates[40].set()
        run.top.wait()
        (result,) = ring.dumps()
        first = frames[35:, 0].transpose(0, 2, 1, 3).reshape(-1, INPUTS, 2)
        _, data = read_sigmf(result["files"][0])
        self.assertGreaterEqual(len(data), 5 * SPECTRA)
        np.testing.assert_array_equal(data, first[: len(data)])
        self.assertEqual(result["missing"][-1]["reason"], "after the stream ended")

    # ---- a recording, which waits

    def test_hold(self):
        """
        With `hold` the stream waits for those who send triggers late, and for what these ask for:
        ten dumps, each of frames that would have been overwritten, are whole.
        """
        frames, held, step = self.frames(400), 40, 36
        ring = self.ring(held, hold=True, queue=1000)
        searched = [0]
        # in the middle of a frame: the rate is no exact number
        ring.follow(lambda: (searched[0] + 0.5) * SPECTRA / WIDTH)
        with Running(ring, frames.view(np.uint8).reshape(400, -1), tags_of_frames()) as run:
            for number in range(10):
                end = min(400, searched[0] + held)
                run.until(lambda end=end: ring.items() >= end, f"item {end}")
                first = searched[0]
                run.post(
                    {
                        "id": pmt.intern(f"late-{number}"),
                        "start": at((first + 3) * SPECTRA),
                        "end": at((first + 30) * SPECTRA),
                    }
                )
                self.assertLessEqual(ring.items(), end)
                searched[0] = first + step
            results = {result["id"]: result for result in run.ended(10)}
        for number in range(10):
            result = results[f"late-{number}"]
            self.assertEqual((result["complete"], result["missing"]), (True, []))
            self.check_voltages(result, frames, step * number + 3, step * number + 30)
        self.assertEqual(ring.problems(), [])

    def test_hold_alone(self):
        """Dumps are waited for where nobody says how far the search is; in vain not for ever."""
        frames = self.frames(300)
        for follow in (False, True):
            ring = self.ring(40, name=f"{follow}-{{id}}-{{time}}-{{channel}}.sigmf-meta", hold=True)
            if follow:
                ring.follow(lambda: 0.0)
            with (
                mock.patch.object(dumper, "PATIENCE", 0.1),
                Running(ring, frames.view(np.uint8).reshape(300, -1), tags_of_frames(), [20]).held(
                    20
                ) as run,
            ):
                ring.trigger("long", at(0), at(290 * SPECTRA))
                run.until(lambda ring=ring: ring.bytes_written() > 0, "the first items")
                run.pass_on(20)
                (result,) = run.ended()
            self.assertEqual(ring.items(), 300)
            if not follow:
                self.assertEqual(result["missing"], [])
                self.check_voltages(result, frames, 0, 290)
            self.assertEqual(
                [text.split(":")[0] for text in ring.problems() if not text.startswith("dump")],
                ["the ring is too short for what sends its triggers"] * follow,
            )

    # ---- the ring itself

    def test_keep_from(self):
        """Nothing from the item that is named on is overwritten, and the stream stands still."""
        data = self.rng.integers(0, 256, (1000, 12)).astype(np.uint8)
        ring = aperture.item_ring(12, size=12 * 64, hold=True)
        top = gr.top_block()
        source = ByteSource(data, (), 150)
        top.connect(source, ring)
        top.start()
        for kept in (0, 1, 500, 900):
            ring.keep_from(kept)
            comes_true(lambda kept=kept: ring.items() == kept + 64)
            let_work(ring)
            self.assertEqual((ring.items(), ring.oldest()), (kept + 64, kept))
            np.testing.assert_array_equal(ring.read(kept, 64)[0], data[kept : kept + 64])
        ring.keep_from(1000)
        top.wait()
        self.assertEqual(ring.items(), 1000)

    def test_read(self):
        """The overwritten items of a read of the ring are always the first ones."""
        data = self.rng.integers(0, 256, (1000, 12)).astype(np.uint8)
        for memory in ("device", "host"):
            ring = aperture.item_ring(12, size=12 * 64 + 5, memory=memory)
            self.assertEqual(ring.capacity(), 64)
            gate = threading.Event()
            source = ByteSource(data, (), 150, {900: gate})
            top = gr.top_block()
            top.connect(source, ring)
            top.start()
            comes_true(lambda ring=ring: ring.items() >= 900)
            self.assertEqual((ring.items(), ring.oldest()), (900, 836))
            found, lost = ring.read(836, 64)
            self.assertEqual(lost, 0)
            np.testing.assert_array_equal(found, data[836:900])
            found, lost = ring.read(830, 30, 3, 5)
            self.assertEqual(lost, 6)
            np.testing.assert_array_equal(found[6:], data[836:860, 3:8])
            found, lost = ring.read(0, 7)
            self.assertEqual(lost, 7)
            for wrong in ((900, 1), (836, 65), (836, 1, 12), (836, 1, 3, 10), (836, -1)):
                with self.assertRaises(ValueError):
                    ring.read(*wrong)
            gate.set()
            top.wait()
            np.testing.assert_array_equal(ring.read(960, 40)[0], data[960:])
            self.assertTrue(ring.ended())

    def test_reads_while_it_is_written(self):
        """Items that a reader gets while the ring runs as fast as it can, and that are not
        overwritten, are right; reads are long enough that the stream overtakes many of them."""
        length, held = 2048, 4000
        data = np.zeros((length, 1024), np.uint32)
        data += np.arange(length, dtype=np.uint32)[:, None]
        for memory in ("device", "host"):
            ring = aperture.item_ring(4096, size=4096 * held, memory=memory)
            top = gr.top_block()
            top.connect(aperture.replay(data.tobytes(), 4096, repeats=0, rate=0), ring)
            top.start()
            partly, begun = 0, time.monotonic()
            while time.monotonic() < begun + 0.7 or (
                (ring.items() < 2 * held or not partly)
                and time.monotonic() < begun + qa_tools.PATIENCE
            ):
                oldest = ring.oldest()
                count = min(held, ring.items() - oldest)
                found, lost = ring.read(oldest, count)
                found = found[lost:].view(np.uint32)
                expected = np.arange(oldest + lost, oldest + count) % length
                np.testing.assert_array_equal(found[:, 0], expected)
                np.testing.assert_array_equal(found[:, -1], expected)
                partly += lost > 0
            top.stop()
            top.wait()
            self.assertGreater(partly, 0)

    def test_refused(self):
        for wrong, text in (
            (dict(kind="x"), "kind"),
            (dict(type="sc16"), "type"),
            (dict(channels=0), "channels"),
            (dict(spectra_per_frame=2**30), "spectra_per_frame: an item would be"),
            (dict(size=100), "size: 100 is not allowed; it must be at least two items of 210"),
            (dict(size=float("nan")), "size"),
            (dict(memory="disk"), "memory"),
            (dict(seconds=1), "rate"),
            (dict(seconds=-1), "seconds"),
            (dict(queue=0), "queue"),
            (dict(disk_limit=0), "disk_limit"),
            (dict(longest_wait=-1), "longest_wait"),
            (dict(polarizations=2), "no pairs"),
            (dict(names=["a"]), "names"),
            (dict(selected_channels=[5]), "0 to 4"),
            (dict(name="x-{id}.dada"), r"\{time\}"),
            (dict(name="x-{time}.dada"), r"\{id\}"),
            (dict(name="x-{id}-{time}.dat"), "ends in"),
            (dict(name="x-{id}-{time}-{y}.dada"), "means nothing"),
            (dict(name="x-{id}-{time}.sigmf-meta"), r"\{channel\}"),
            (dict(name="x-{id}-{time}.raw"), r"\{input\}"),
            (dict(name="x-{id}-{time}.raw", kind="samples"), "GUPPI raw has two"),
            (dict(name="x-{id}-{time}.raw", type="fc32"), "GUPPI raw has 8 bits"),
            (
                dict(size=1e15),
                "size: 1000000000000000 is not allowed: .*1000000000000000|"
                "size: 1000000000000000 is not allowed: .*asked for, .* free",
            ),
        ):
            with self.subTest(**wrong), self.assertRaisesRegex(ValueError, text):
                self.ring(10, **{"name": "x-{id}-{time}.dada", **wrong})
        with self.assertRaises(FileNotFoundError):
            self.ring(10, str(self.folder / "none" / "x-{id}-{time}.dada"))
        self.assertEqual(self.ring(1, seconds=0.5, rate=100.0).capacity(), 50)


if __name__ == "__main__":
    gr_unittest.run(qa_voltage_ring)
