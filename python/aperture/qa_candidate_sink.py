#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""candidate_sink: the table, pictures and what they show, full disks, messages that are none."""

import contextlib
import csv
import sys
import threading
import time
import types
import unittest.mock
from pathlib import Path

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.parameters.times import utc_text
from gnuradio.aperture.testing import disks, pulse_model
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import EPOCH, Flowgraph, comes_true, rx_time, to_pmt
from gnuradio.aperture.transients import dispersion, pictures
from gnuradio.aperture.transients.candidates import COLUMNS, Candidate

MODULE = sys.modules["gnuradio.aperture.candidate_sink"]
SAMPLE_TIME = 2.0**-10
BAND = dict(channels=32, center_frequency=400e6, bandwidth=64e6)
FREQUENCIES = dispersion.channel_frequencies(32, 400e6, 64e6)


def message(number=0, **entries):
    """A candidate's message; the pulse passes the highest channel 2 s after EPOCH."""
    dm = entries.get("dm", 50.0)
    at = 2.0 - dispersion.delay(dm, FREQUENCIES[-1])
    values = dict(
        id=f"pulse-{number}",
        time=rx_time(EPOCH, at),
        dm=dm,
        width=8 * SAMPLE_TIME,
        snr=12.5,
        start=rx_time(EPOCH, 2.0),
        end=rx_time(EPOCH, 2.5),
    )
    values.update(entries)
    made = pmt.make_dict()
    for key, value in values.items():
        value = pmt.intern(value) if isinstance(value, str) else to_pmt(value)
        made = pmt.dict_add(made, pmt.intern(key), value)
    for key in ("beam", "beams"):
        made = pmt.dict_add(made, pmt.intern(key), pmt.from_long(entries.get(key, 1)))
    return made


def dispersed_powers(rng, times=6000, beams=2):
    """[time][beam][channel]; beam 1 has the pulse of message()."""
    powers = rng.standard_normal((times, beams, 32)).astype(np.float32)
    delays = dispersion.delay(50.0, FREQUENCIES, FREQUENCIES[-1])
    for channel, begin in enumerate(np.rint((2.0 + delays) / SAMPLE_TIME).astype(int)):
        powers[begin - 4 : begin + 4, 1, channel] += 3
    return powers


class qa_candidate_sink(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1967)
        # no search says that it is done
        MODULE.PATIENCE = 0.2

    def table(self, path):
        """Lines of a table, without those of ECSV, as dictionaries."""
        with open(path, encoding="ascii", newline="") as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))

    def sink(self, name="table.ecsv", **parameters):
        given = dict(BAND, sample_time=SAMPLE_TIME, beams=2, seconds=4.0)
        return aperture.candidate_sink(str(self.folder / name), **dict(given, **parameters))

    @contextlib.contextmanager
    def running(self, sink, powers):
        """Runs the sink, with all powers but the last ones in it."""
        data = powers.reshape(len(powers), -1).view(np.uint8)
        gate = threading.Event()
        tags = [(0, "rx_time", rx_time(EPOCH))]
        graph = Flowgraph(sink, [data], [], tags=[tags], chunks=500, gates={len(data) - 10: gate})
        with graph.running():
            comes_true(lambda: sink.nitems_read(0) >= len(data) - 11)
            yield graph

    @contextlib.contextmanager
    def clock(self):
        """The sink's clock, a list of one number of seconds, which only the test moves on."""
        now = [1000.0]
        given = types.SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep, time=time.time)
        with unittest.mock.patch.object(MODULE, "time", given):
            yield now

    def test_table_and_picture(self):
        sink = self.sink()
        with self.running(sink, dispersed_powers(self.rng)) as graph:
            graph.post_and_wait("candidates", message())
            graph.post_and_wait("candidates", message(1, snr=7.25, dm=10.0))
            comes_true(lambda: sink.candidates() >= 2)
            # a line is there at once
            self.assertEqual(len(self.table(self.folder / "table.ecsv")), 2)
            # too old, and a beam that is not there
            graph.post_and_wait("candidates", message(2, time=rx_time(EPOCH - 9)))
            graph.post_and_wait("candidates", message(3, beam=2))
        first, second, *rest = self.table(self.folder / "table.ecsv")
        self.assertEqual(list(first), list(COLUMNS))
        self.assertEqual(
            (first["id"], first["beam"], float(first["dm"]), float(first["snr"])),
            ("pulse-0", "1", 50.0, 12.5),
        )
        self.assertEqual(float(first["width"]), 8 * SAMPLE_TIME)
        self.assertEqual(first["start"], "2023-11-14T22:13:22.000000000")
        self.assertEqual([line["picture"] for line in rest], ["", ""])
        for line in (first, second):
            picture = self.folder / line["picture"]
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual((sink.candidates(), sink.drawn(), sink.not_drawn()), (4, 2, 2))

    def test_what_a_picture_shows(self):
        # the pulse in the middle, in all channels; and the plane's maximum where it is
        candidate = Candidate.of_message(message())
        cutout = pictures.Cutout(candidate, FREQUENCIES, SAMPLE_TIME)
        powers = dispersed_powers(self.rng)[:, 1]
        first = round((2.0 + cutout.first) / SAMPLE_TIME)
        waterfall, plane = pictures.planes(powers[first : first + cutout.count], candidate, cutout)
        middle = pictures.BINS // 2
        self.assertGreater(waterfall[middle - 3 : middle + 3].mean(axis=0).min(), 1.5)
        self.assertLess(abs(waterfall[: middle - 12].mean()), 0.1)
        trial, place = np.unravel_index(np.argmax(plane), plane.shape)
        self.assertLess(abs(cutout.dms[trial] - 50), 2)
        self.assertLess(abs(place - middle), 6)
        # 3 rms in 8 samples of 32 channels
        self.assertAlmostEqual(plane.max() / (3 * np.sqrt(8 * 32)), 1, delta=0.15)

    def test_empty_where_the_stream_had_not_begun(self):
        """A picture that begins before the powers is drawn, and is empty there."""
        drawn = []
        with unittest.mock.patch.object(pictures, "draw", lambda path, *rest: drawn.append(rest)):
            sink = self.sink(seconds=6.0)
            with self.running(sink, dispersed_powers(self.rng)) as graph:
                # begins 4.2 s before the pulse, of which there are two
                graph.post_and_wait("candidates", message(width=0.1))
                comes_true(lambda: sink.drawn() == 1)
        ((powers, _, cutout),) = drawn
        before = round(-cutout.first / SAMPLE_TIME) - round(2.0 / SAMPLE_TIME)
        self.assertGreater(before, 100)
        empty = np.isnan(powers)
        self.assertTrue(empty[: before - 1].all())
        self.assertFalse(empty[before + 1 :].any())
        waterfall, plane = pictures.planes(powers, Candidate.of_message(message(width=0.1)), cutout)
        self.assertTrue(np.isfinite(plane).all())
        self.assertTrue(np.isnan(waterfall[0, -1]) and np.isfinite(waterfall[128]).all())

    def test_powers_wait_for_the_search(self):
        """With `wait`, powers that a candidate to come may need are not overwritten, however fast
        they come; a search that stands still does not hold them for ever."""
        position = [0.0]
        sink = self.sink(wait=True, seconds=3.0)
        sink.follow(lambda: position[0])
        powers = dispersed_powers(self.rng, times=9000)
        data = powers.reshape(len(powers), -1).view(np.uint8)
        graph = Flowgraph(sink, [data], [], tags=[[(0, "rx_time", rx_time(EPOCH))]], chunks=500)
        with self.clock() as now, graph.running():
            comes_true(lambda: sink.nitems_read(0) >= 3072)
            time.sleep(0.1)
            self.assertEqual(sink.nitems_read(0), 3072)
            graph.post_and_wait("candidates", message())
            comes_true(lambda: sink.drawn() == 1)
            position[0] = 1000.0
            comes_true(lambda: sink.nitems_read(0) >= 4072)
            time.sleep(0.1)
            self.assertEqual(sink.nitems_read(0), 4072)
            now[0] += MODULE.LONGEST_WAIT + 1
            comes_true(lambda: sink.nitems_read(0) >= 8999)
            # the last item may not have come to the block, and then waits on a clock that stands
            MODULE.PATIENCE = 0
        self.assertIsNone(sink.error())

    def test_search_ahead_of_powers(self):
        """A candidate that comes before its powers waits for them, with `wait`: before any of them,
        and before those that its picture needs."""
        data = dispersed_powers(self.rng).reshape(6000, -1).view(np.uint8)
        tags = [(0, "rx_time", rx_time(EPOCH))]
        for come in (0, 1000):
            with self.subTest(come=come):
                sink = self.sink(wait=True)
                gate = threading.Event()
                graph = Flowgraph(sink, [data], [], tags=[tags], chunks=500, gates={come: gate})
                with graph.running():
                    comes_true(lambda: sink.nitems_read(0) >= come - 1)
                    graph.post_and_wait("candidates", message())
                    self.assertEqual(sink.candidates(), 0)
                    gate.set()
                    comes_true(lambda: sink.drawn() == 1)
                self.assertEqual((sink.candidates(), sink.not_drawn()), (1, 0))

    def test_most_pictures_a_minute(self):
        sink = self.sink(pictures=2.0)
        with self.clock():  # all of them come within the minute
            with self.running(sink, dispersed_powers(self.rng)) as graph:
                for number in range(5):
                    graph.post_and_wait("candidates", message(number))
                MODULE.PATIENCE = 0
        self.assertEqual((sink.candidates(), sink.drawn(), sink.not_drawn()), (5, 2, 3))

    def test_minutes_of_the_stream(self):
        """Pictures are drawn for so many candidates in a minute of the stream, however fast that
        comes and in which order; with `wait` none is left out because drawing takes longer."""
        drawn, drawing = [], threading.Event()

        def draw(path, *_):
            drawing.wait(60)
            drawn.append(Path(path).name)

        sink = self.sink(pictures=2.0, wait=True)
        with (
            unittest.mock.patch.object(pictures, "draw", draw),
            unittest.mock.patch.object(MODULE.candidate_sink, "_cut_out", lambda *_: (0,) * 3),
            unittest.mock.patch.object(MODULE.candidate_sink, "_is_early", lambda *_: False),
        ):
            with self.clock(), self.running(sink, dispersed_powers(self.rng)) as graph:
                # more than wait to be drawn at a time, and the first are drawn now
                for number, minute in enumerate((0, 3, 6, 0, 3, 6, 0, 3, 6)):
                    if number == 6:
                        drawing.set()
                    graph.post("candidates", message(number, time=rx_time(EPOCH, 60.0 * minute)))
                comes_true(lambda: sink.candidates() == 9)
                MODULE.PATIENCE = 0
        self.assertEqual(drawn, [f"pulse-{number}.png" for number in range(6)])
        self.assertEqual((sink.drawn(), sink.not_drawn()), (6, 3))

    def test_the_last_candidates(self):
        # powers end before the search of the same data, which then has candidates
        times = 512
        values = 1e3 + self.rng.standard_normal((40, times))
        values[39, 200:220] += 8
        search = aperture.pulse_search(
            dms=[50.0],
            sample_time=SAMPLE_TIME,
            times_per_item=times,
            threshold=8.0,
            device="cpu",
            **BAND,
        )
        sink = self.sink()
        powers = dispersed_powers(self.rng, 3000)
        gate = threading.Event()
        graph = Flowgraph(
            search,
            [pulse_model.items_of([[values.reshape(-1)]], times)],
            [],
            tags=[[(0, "rx_time", rx_time(EPOCH))]],
            gates={30: gate},
        )
        source = blocks.vector_source_f(powers.reshape(-1).tolist(), False, 64)
        graph.top.connect(source, sink)
        graph.top.msg_connect((search, "candidates"), (sink, "candidates"))
        with self.clock() as now, graph.running():
            comes_true(lambda: sink.nitems_read(0) >= len(powers) - 1)
            gate.set()
            self.assertTrue(comes_true(lambda: sink.candidates() == 1))
            # the sink waited for as long as its clock stood still
            self.assertEqual(sink.nitems_read(0), len(powers) - 1)
            now[0] += 2 * MODULE.PATIENCE
        self.assertEqual(search.candidates(), 1)
        self.assertEqual(len(self.table(self.folder / "table.ecsv")), 1)

    def tables_of(self, sink, times, ask_before=None):
        """The ids in each table after candidates of these times, (seconds, fraction)."""
        top = gr.top_block()
        strobe = blocks.message_strobe(pmt.PMT_NIL, 200)
        top.msg_connect((strobe, "strobe"), (sink, "candidates"))
        top.start()
        self.assertEqual(sink.whole_files(), [])
        for number, moment in enumerate(times):
            if number == ask_before:
                sink.roll_over()
            sink.to_basic_block()._post(pmt.intern("candidates"), message(number, time=moment))
            comes_true(lambda count=number + 1: sink.candidates() >= count)
        self.assertEqual(sink.whole_files(), sink.files()[:-1])
        top.stop()
        top.wait()
        self.assertIsNone(sink.error())
        self.assertEqual(sink.whole_files(), sink.files())
        return [[int(line["id"][6:]) for line in self.table(path)] for path in sink.files()]

    def test_without_powers(self):
        # {time}, csv, and tables of two lines
        sink = self.sink("t-{time}.csv", pictures=0, rows_per_file=2)
        found = self.tables_of(sink, [(EPOCH + number, 0.5) for number in range(5)])
        self.assertEqual(found, [[0, 1], [2, 3], [4]])
        self.assertEqual(self.table(sink.files()[1])[0]["time"], "2023-11-14T22:13:22.500000000")
        self.assertTrue(sink.files()[1].endswith("t-20231114T221322Z.csv"))

    def test_tables_by_time(self):
        # a recording, whose times are before that of the start: a table for each ten seconds
        sink = self.sink("t-{time}.ecsv", pictures=0)
        sink.set_roll_over(seconds=10)
        seconds = [0.5, 9.25, 12.0, 9.75, 19.5, 45.0, 46.0]  # EPOCH ends with a zero
        found = self.tables_of(sink, [(EPOCH + int(each), each % 1) for each in seconds])
        self.assertEqual(found, [[0, 1], [2, 3, 4], [5, 6]])
        self.assertEqual(
            [Path(path).name for path in sink.files()[1:]],
            ["t-20231114T221332Z.ecsv", "t-20231114T221405Z.ecsv"],
        )

    def test_tables_of_now(self):
        # none has come in the seconds of the start, nor in the hour of it
        sink = self.sink("t-{time}.ecsv", pictures=0)
        sink.set_roll_over(seconds=3600)
        now = int(time.time())
        self.assertEqual(self.tables_of(sink, [(now + 7200, 0.0), (now + 7200, 0.5)]), [[], [0, 1]])

    def test_tables_by_size_and_on_request(self):
        sink = self.sink("t-{time}.csv", pictures=0)
        sink.set_roll_over(size=MODULE.LONGEST_LINE + 400)
        self.assertEqual(self.tables_of(sink, [(EPOCH, 0.5)] * 6), [[0, 1, 2], [3, 4, 5]])
        self.assertTrue(
            all(Path(path).stat().st_size < MODULE.LONGEST_LINE + 400 for path in sink.files())
        )
        sink = self.sink("u-{time}.csv", pictures=0)
        self.assertEqual(self.tables_of(sink, [(EPOCH, 0.5)] * 4, ask_before=1), [[0], [1, 2, 3]])
        with self.assertRaisesRegex(ValueError, "{time}"):
            self.sink("u.csv").roll_over()

    def test_messages_that_are_none(self):
        sink = self.sink()
        with self.running(sink, dispersed_powers(self.rng, 2000)) as graph:
            for wrong in (
                pmt.PMT_T,
                message(id="../x"),
                message(id="x" * 65),
                message(snr=np.nan),
                message(width=-1.0),
                message(time=(2**63, 0.0)),
                message(width=1j),
                pmt.make_dict(),
                pmt.dict_delete(message(), pmt.intern("end")),
            ):
                sink.to_basic_block()._post(pmt.intern("candidates"), wrong)
            graph.post_and_wait("candidates", message(7))
        self.assertIsNone(sink.error())
        self.assertEqual(
            [line["id"] for line in self.table(self.folder / "table.ecsv")], ["pulse-7"]
        )

    def test_full_disk(self):
        # one error; what is there are whole lines
        with disks.small_disk(self, 16) as folder:
            sink = aperture.candidate_sink(
                str(folder / "t.csv"),
                beams=2,
                pictures=10.0,
                sample_time=SAMPLE_TIME,
                seconds=1.0,
                **BAND,
            )
            with self.running(sink, dispersed_powers(self.rng, 6000)):
                for number in range(300):
                    sink.to_basic_block()._post(
                        pmt.intern("candidates"), message(number, time=rx_time(EPOCH - 9))
                    )
                comes_true(lambda: sink.error() is not None)
            self.assertIn("No space left", sink.error())
            self.assertIn("t.csv", sink.error())
            lines = self.table(folder / "t.csv")
            self.assertGreater(len(lines), 20)
            self.assertEqual({len(line) for line in lines}, {len(COLUMNS)})
            self.assertTrue(all(line["picture"] is not None for line in lines))

    def test_overwrite(self):
        (self.folder / "table.csv").write_text("mine")
        with self.assertRaises(FileExistsError):
            self.sink("table.csv", overwrite=False)
        self.assertEqual((self.folder / "table.csv").read_text(), "mine")

    def test_refusals(self):
        for name, value in (
            ("filename", "x.txt"),
            ("beams", 0),
            ("channels", 0),
            ("type", "f64"),
            ("pictures", -1.0),
            ("seconds", 0.0),
            ("sample_time", 0.0),
            ("bandwidth", -1.0),
            ("center_frequency", 1.0),
            ("rows_per_file", 0),
            ("seconds", 1e5),
        ):
            with self.assertRaisesRegex(ValueError, name):
                aperture.candidate_sink(**{name: value})

    def test_utc_text(self):
        self.assertEqual(utc_text((EPOCH, 0.9999999999), 9), "2023-11-14T22:13:21.000000000")


if __name__ == "__main__":
    gr_unittest.run(qa_candidate_sink)
