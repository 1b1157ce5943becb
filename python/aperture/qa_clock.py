#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Clocks of streams in flowgraphs: every sample is one of a noise that is known at all times, so
that the spectra show whether it lies where its time says.
"""

import re
import time
from fractions import Fraction

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import Flowgraph, rx_time, tags_of

RATE = 4.8e5  # rounded to 1 us, stamps are wrong by less than a quarter of an item
EPOCH = 1700000000
CHANNELS, TAPS = 8, 2


def stamp(item, tick, rate=RATE):
    """Returns a tag that says that an item was at a tick (a whole number or not) since EPOCH."""
    seconds = Fraction(tick) / Fraction(rate)
    whole = seconds.numerator // seconds.denominator
    return (int(item), "rx_time", rx_time(EPOCH + whole, float(seconds - whole)))


def bytes_of(samples):
    return reference.samples_to_bytes(np.ascontiguousarray(samples)[:, None], "fc32")


class Stream:
    """
    A stream that a source might send: the ticks of its samples, and its tags.

    wrong: stamps that are not true; dense: others than those at losses
    """

    def __init__(self, rng, items, dense, wrong, jitter=0.0, rounding=0.0, first=True):
        period = int(rng.integers(20, 90))
        now, right, self.ticks, self.tags = int(rng.integers(0, 60)), 0, [], []
        for item in range(items):
            jumped = item > 0 and rng.random() < 1 / 500
            if jumped:
                now += (
                    int(rng.integers(5, 300)) if rng.random() < 0.75 else -int(rng.integers(5, 60))
                )
            self.ticks.append(now)
            if (item == 0 and first) or jumped or (item and dense and item % period == 0):
                at = now + jitter * rng.uniform(-1, 1)
                if item and not jumped:
                    if wrong and right >= 2 and rng.random() < 0.12:
                        at += rng.choice([-1, 1]) * rng.uniform(20, 1e6)
                    else:
                        right += 1
                seconds = at / RATE
                if rounding:
                    seconds = round(seconds / rounding) * rounding
                self.tags.append(stamp(item, Fraction(seconds) * Fraction(RATE)))
            now += 1
        self.tags.append((0, "rx_rate", RATE))


class qa_clock(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(310)

    def spectra(self, streams, noise, chunks=0, **options):
        """
        Each port's spectra against the noise at their time: (those that are good, all of them).
        """
        block = aperture.pfb_channelizer(
            channels=CHANNELS, taps=TAPS, inputs=len(streams), **options
        )
        graph = Flowgraph(
            block,
            [bytes_of(noise[np.array(s.ticks)]) for s in streams],
            [8 * CHANNELS] * len(streams),
            tags=[s.tags for s in streams],
            chunks=chunks,
        )
        data, tags = graph.run()
        if not len(data[0]):
            return 0, 0
        ((_, value), *later) = tags_of(tags[0], "rx_time")
        self.assertFalse(later)
        late = qa_tools.seconds_between(value, rx_time(EPOCH, 0)) * RATE
        start = late - (TAPS * CHANNELS - 1) / 2
        self.assertAlmostEqual(start, round(start), delta=0.5)
        expected = reference.pfb(
            noise[None, round(start) :], CHANNELS, reference.prototype(CHANNELS, TAPS)
        )[0]
        good = 0
        for port in range(len(streams)):
            actual = reference.samples_from_bytes(data[port], "fc32", CHANNELS)
            missing = qa_tools.missing_of(tags[port], 1, len(actual))[0]
            self.assertTrue((actual[missing] == 0).all())
            present = ~missing[: len(expected)]
            # single precision, of sums of 16 numbers about 1
            np.testing.assert_allclose(
                actual[: len(expected)][present], expected[: len(actual)][present], atol=1e-4
            )
            good += present.sum()
        return good, sum(len(part) for part in data)

    def test_random_streams(self):
        """No spectrum of samples in the wrong place counts; and most others do."""
        shares = {}
        for number in range(200):
            rng = np.random.default_rng(number)
            dense = number % 3 > 0
            wrong = number % 3 == 2
            trouble = number % 4
            noise = (rng.normal(size=(12000, 2)) @ [1, 1j]).astype(np.complex64)
            streams = [
                Stream(
                    rng,
                    2500,
                    dense,
                    wrong,
                    jitter=0.24 * (trouble == 1),
                    rounding=1e-6 * (trouble == 2),
                    first=trouble < 3 or port == 0,
                )
                for port in range(2 + number % 3)
            ]
            with self.subTest(number=number):
                good, all_of_them = self.spectra(streams, noise, chunks=int(rng.integers(2)) * 100)
                total = shares.setdefault((dense, wrong), [0, 0])
                total[0] += good
                total[1] += all_of_them
        for (_, wrong), (good, all_of_them) in shares.items():
            self.assertGreater(good, (0.4 if wrong else 0.5) * all_of_them, shares)

    def test_back_in_time(self):
        """By more than a buffer holds: what was there before is dropped, and nothing hangs."""
        noise = (self.rng.normal(size=(900000, 2)) @ [1, 1j]).astype(np.complex64)
        for back, forward in ((20000, 0), (500000, 0), (9000, 7000)):
            stream = Stream(self.rng, 1, False, False)
            ticks = np.arange(600000)
            ticks[1000:] += forward
            ticks[2000:] -= back
            stream.ticks = np.where(ticks < 0, 0, ticks)
            stream.tags = [stamp(0, 0), (0, "rx_rate", RATE), stamp(2000, ticks[2000])]
            if forward:
                stream.tags.append(stamp(1000, ticks[1000]))
            good, all_of_them = self.spectra([stream], noise)
            self.assertGreater(good, 2000 / CHANNELS - 2 * TAPS)
            self.assertLessEqual(good, all_of_them)
            if back < 100000:
                self.assertGreater(good, 500000 / CHANNELS)

    def test_samples_that_come_again(self):
        """Spectra are whole before them or with them; only what is in neither is missing."""
        noise = (self.rng.normal(size=(1000, 2)) @ [1, 1j]).astype(np.complex64)
        # windows of 16, every 8, that end behind tick 400 and begin before what comes again
        for back, missing in ((1, 1), (8, 0), (9, 0), (16, 0), (40, 0)):
            stream = Stream(self.rng, 1, False, False)
            stream.ticks = np.arange(1000)
            stream.ticks[400:] -= back
            stream.tags = [stamp(0, 0), (0, "rx_rate", RATE), stamp(400, 400 - back)]
            good, all_of_them = self.spectra([stream], noise)
            self.assertEqual(all_of_them - good, missing)
            block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=1)
            graph = Flowgraph(
                block, [bytes_of(noise[stream.ticks])], [8 * CHANNELS], tags=[stream.tags]
            )
            graph.run()
            self.assertEqual(block.missing(), [missing])
            (message,) = graph.messages()
            self.assertEqual((message["event"], message["count"]), ("overlap", back))

    def test_regular_losses(self):
        """Losses of whole samples, with a stamp at each, are no drift of a clock, and nothing else
        is lost."""
        for lost, variation, restated in ((10, 0.02, False), (1, 0, False), (10, 0, True)):
            rng = np.random.default_rng(5)
            whole, losing = Stream(rng, 1, False, False), Stream(rng, 1, False, False)
            whole.ticks, losing.ticks = np.arange(60000), np.arange(59000)
            whole.tags = [stamp(0, 0), (0, "rx_rate", RATE)]
            losing.tags = list(whole.tags)
            at = 0
            for _ in range(25):
                at += round(2000 * (1 + variation * rng.uniform(-1, 1)))
                losing.ticks[at:] += lost
                losing.tags.append(stamp(at, losing.ticks[at]))
                if restated:
                    losing.tags.append((at, "rx_rate", RATE))
            noise = (rng.normal(size=(61000, 2)) @ [1, 1j]).astype(np.complex64)
            good, _ = self.spectra([whole, losing], noise)
            # each loss costs what it has, and a window
            self.assertGreater(good, 2 * (59000 // CHANNELS) - 25 * (lost // CHANNELS + TAPS + 1))

    def drifting(self, chain, seconds, drift=50e-6, tags=()):
        """
        A sample clock beside that of the stamps, which come every 10 ms. Returns the graph, the
        output's tags, and by how many samples each of its rx_time is wrong.
        """
        samples = round(seconds * RATE)
        times = [
            stamp(item, Fraction(item) * Fraction(1 + drift))
            for item in range(0, samples, round(0.01 * RATE))
        ]
        noise = (self.rng.normal(size=(samples, 2)) @ [1, 1j]).astype(np.complex64)
        size = chain[-1].output_signature().sizeof_stream_item(0)
        graph = Flowgraph(
            chain,
            [bytes_of(noise)],
            [size],
            chunks=0,
            tags=[[*times, (0, "rx_rate", RATE), (0, "rx_freq", 1e8), *tags]],
        )
        (data,), (out,) = graph.run()
        ((_, length),) = tags_of(out, "samples_per_item")
        middle = (TAPS * CHANNELS - 1) / 2
        errors = [
            qa_tools.seconds_between(value, rx_time(EPOCH, 0)) * RATE
            - (item * length + middle) * (1 + drift)
            for item, value in qa_tools.each_of(out, "rx_time", len(data))
        ]
        return graph, out, errors

    def test_times_that_follow_a_clock(self):
        """Frames and integrations follow a clock to some samples, where that is asked for, or
        said."""
        times = 128
        common = {"channels": CHANNELS, "inputs": 1, "spectra_per_frame": times}
        fx = [lambda: aperture.xengine(**common, type="fc32", integration=20)]
        beams = [lambda: aperture.beam_power(**common, type="fc32", beams=1, spectra=20 * times)]
        beamed = [lambda: aperture.beamformer(**common, type="fc32", beams=1)] + fx
        said = (0, "rx_time_clock", pmt.intern("gps"))
        for behind, follow, tags in ((fx, True, ()), (beams, True, ()), (beamed, False, (said,))):
            chain = [aperture.f_engine(**common, taps=TAPS, follow_clock=follow)]
            chain += [make() for make in behind]
            graph, out, errors = self.drifting(chain, 2.5, tags=tags)
            self.assertGreater(len(errors), 50)
            self.assertLess(np.abs(errors).max(), 5)
            self.assertEqual([m["event"] for m in graph.messages()], [])
            self.assertEqual([value for _, value in tags_of(out, "rx_time_clock")], ["followed"])

    def test_clock_that_is_not_followed(self):
        """A clock that is not followed is reported once, and what cannot be placed is missing."""
        common = {"channels": CHANNELS, "inputs": 1, "spectra_per_frame": 128}
        chain = [
            aperture.f_engine(**common, taps=TAPS),
            aperture.xengine(**common, type="fc32", integration=20),
        ]
        graph, out, _ = self.drifting(chain, 1)
        (message,) = graph.messages()
        self.assertEqual(message["event"], "clock_drift")
        self.assertAlmostEqual(message["ppm"], 50, delta=5)
        self.assertIn("follow_clock", message["reason"])
        counted = [value[0] for _, value in qa_tools.each_of(out, "counted", graph.sinks[0].count)]
        self.assertGreater(counted[0], 0)
        self.assertEqual(set(counted[2:]), {0})

    def test_multiples_of_decimal_fractions(self):
        """A tenth of a second is a tenth, though no double is."""
        rate = 1000
        for align in (0.1, 0.2, 0.3, 0.7, 0.007, 0.011, 0.64, 0.9, 1.1, 2.3):
            for start in (Fraction(0), Fraction(1, 1000), Fraction(123, 1000)):
                period = Fraction(str(align))
                first = EPOCH + start
                wait = -first % period * rate
                expected = first + Fraction(-(-wait.numerator // wait.denominator), rate)
                block = aperture.corner_turn(
                    channels=1, inputs=1, spectra_per_frame=1, type="fc32", align=align
                )
                tags = [stamp(0, start * rate, rate), (0, "rx_rate", float(rate))]
                _, (out,) = qa_tools.run(block, [np.zeros((2500, 8), np.uint8)], [8], tags=[tags])
                (_, value), *_ = tags_of(out, "rx_time")
                error = qa_tools.seconds_between(value, rx_time(EPOCH, float(expected - EPOCH)))
                self.assertAlmostEqual(error, 0, delta=1e-9, msg=f"{align} from {start}")

    def test_gap_that_is_too_long(self):
        """The integration before it ends as a partial one; the next one has the right time."""
        later = 61
        noise = (self.rng.normal(size=(8000, 2)) @ [1, 1j]).astype(np.complex64)
        for jump in (later, -later):
            chain = [
                aperture.f_engine(channels=CHANNELS, taps=TAPS, spectra_per_frame=8, inputs=1),
                aperture.xengine(
                    channels=CHANNELS, inputs=1, spectra_per_frame=8, type="fc32", integration=10
                ),
            ]
            tags = [
                stamp(0, 0),
                (0, "rx_rate", RATE),
                (0, "rx_freq", 1e8),
                stamp(3001, 3001 + jump * int(RATE)),
            ]
            graph = Flowgraph(chain, [bytes_of(noise)], [8 * CHANNELS], tags=[tags])
            (data,), (out,) = graph.run()
            # floor(3001 / 8) - 1 = 374 spectra are 4 integrations of 80 and 54 in another
            times = qa_tools.each_of(out, "rx_time", len(data))
            partial = [offset for offset, _ in tags_of(out, "partial")]
            spectra = [value for _, value in qa_tools.each_of(out, "spectra", len(data))]
            counted = [value[0] for _, value in qa_tools.each_of(out, "counted", len(data))]
            self.assertEqual(spectra[:6], [80, 80, 80, 80, 56, 80])
            self.assertEqual(counted[:6], [80, 80, 80, 80, 54, 80])
            self.assertEqual(partial[0], 4)
            elapsed = qa_tools.seconds_between(times[5][1], rx_time(EPOCH, 0))
            middle = (TAPS * CHANNELS - 1) / 2
            self.assertAlmostEqual(elapsed, jump + (3001 + middle) / RATE, delta=1e-9)
            self.assertEqual([offset for offset, _ in tags_of(out, "rx_freq")], [0, 5])
            events = [message["event"] for message in graph.messages()]
            self.assertEqual(events, ["clock_jump"])

    def test_streams_that_cannot_be_lined_up(self):
        """One word each on `status`; streams of different years end with an error."""
        x = bytes_of(np.ones(4000, np.complex64))
        rate = (0, "rx_rate", RATE)
        for tags, events, any_data in (
            ([[rate], [rate]], ["no_rx_time"], True),
            ([[rate, stamp(0, 0)], [rate]], ["no_rx_time"], True),
            ([[stamp(0, 0)], [stamp(0, 0)]], ["no_rx_rate"], True),
            ([[rate, stamp(0, 0)], [rate, stamp(0, 10**9 * int(RATE))]], [], False),
        ):
            block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=2)
            graph = Flowgraph(block, [x, x], [8 * CHANNELS] * 2, tags=tags)
            data, _ = graph.run()
            self.assertEqual([m["event"] for m in graph.messages()], events)
            self.assertEqual(len(data[0]) > 0, any_data)

    def test_rates_that_are_none(self):
        """The error says which tag, what it says, and what is allowed."""
        x = bytes_of(np.ones(4000, np.complex64))
        for value, text in (
            (float("inf"), "inf"),
            (float("nan"), "nan"),
            (-2.5, "-2.5"),
            (0.0, "0"),
            (pmt.intern("fast"), "fast"),
            (1j, "1"),
            (True, "t"),
        ):
            for item in (0, 1003):
                block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=1)
                graph = Flowgraph(block, [x], [8 * CHANNELS], tags=[[(item, "rx_rate", value)]])
                graph.run()
                self.assertRegex(
                    block.error(),
                    f"rx_rate of port 0: .*{re.escape(text)}.* at item "
                    f"{item} is not allowed; it must be a finite number above 0",
                )

    def test_first_stamp_sets_the_time(self):
        """A first sample without rx_time, as behind skip_head: nothing before it counts."""
        noise = (self.rng.normal(size=(9000, 2)) @ [1, 1j]).astype(np.complex64)
        whole, late = Stream(self.rng, 1, False, False), Stream(self.rng, 1, False, False)
        whole.ticks, late.ticks = np.arange(5000), np.arange(5000) + 777
        whole.tags = [stamp(0, 0), (0, "rx_rate", RATE)]
        late.tags = [stamp(1000, 1777)]
        good, _ = self.spectra([whole, late], noise)
        self.assertGreater(good, 2 * 5000 / CHANNELS - 1777 / CHANNELS - 10)

    def test_guessed_times(self):
        """
        The dates of files, or hosts' clocks, line nothing up: ports that know no better begin
        together, and one beside a port that knows its time is missing until it says its own.
        """
        guess = (0, "rx_time_approximate", True)
        rate = (0, "rx_rate", RATE)
        x = bytes_of(self.rng.normal(size=(4000, 2)).view(np.complex128)[:, 0])
        first = stamp(0, 0)
        for other, events, _missing in (
            ([stamp(0, 777), guess], [0, 1], 0),  # both guess
            ([stamp(0, 0), guess], [], 0),  # the same: of one source
            ([stamp(0, 1e9 * RATE), guess], [0, 1], 0),
        ):
            block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=2)
            graph = Flowgraph(
                block, [x, x], [8 * CHANNELS] * 2, tags=[[first, guess, rate], other + [rate]]
            )
            data, (out, _) = graph.run()
            said = graph.messages()
            self.assertEqual(
                [(m["event"], m["port"]) for m in said], [("not_aligned", port) for port in events]
            )
            self.assertTrue(all("together" in m["reason"] for m in said))
            np.testing.assert_array_equal(data[0], data[1])
            self.assertEqual(len(data[0]), 4000 // CHANNELS - TAPS + 1)
            self.assertEqual(block.missing(), [0, 0])
            self.assertEqual(tags_of(out, "rx_time_approximate"), [(0, True)])

        true = [first, rate]
        for later in (
            [],
            [stamp(2000, 1777), (2000, "rx_time_approximate", True)],
            [stamp(2000, 2777)],
        ):
            for chunks in (0, 100):
                block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=2)
                graph = Flowgraph(
                    block,
                    [x, x],
                    [8 * CHANNELS] * 2,
                    chunks=chunks,
                    tags=[true, [stamp(0, 333), guess, rate] + later],
                )
                data, tags = graph.run()
                said = graph.messages()
                self.assertEqual((said[0]["event"], said[0]["port"]), ("not_aligned", 1))
                self.assertIn("it is missing until it says its time", said[0]["reason"])
                present = [
                    ~qa_tools.missing_of(found, 1, len(part))[0] for found, part in zip(tags, data)
                ]
                if len(later) != 1:
                    self.assertFalse(present[1].any())
                    self.assertTrue(present[0].all())
                    self.assertGreater(len(data[0]), 4000 // CHANNELS - TAPS)
                    continue
                # from its own time on it lies where that says: here 777 samples later
                self.assertEqual([m["event"] for m in said[1:]], ["first_stamp"])
                both = np.flatnonzero(present[0] & present[1])
                self.assertGreater(len(both), (4000 - 2777) // CHANNELS - 2 * TAPS)
                times = tags_of(tags[0], "rx_time")
                item, value = times[-1]
                start = qa_tools.seconds_between(value, rx_time(EPOCH, 0)) * RATE
                start = round(start - (TAPS * CHANNELS - 1) / 2)
                samples = np.ascontiguousarray(x).view(np.complex64)[:, 0]
                h = reference.prototype(CHANNELS, TAPS)
                for port, shift in ((0, 0), (1, 777)):
                    expected = reference.pfb(samples[None, start - shift :], CHANNELS, h)[0]
                    actual = reference.samples_from_bytes(data[port], "fc32", CHANNELS)[item:]
                    count = min(len(actual), len(expected))
                    there = present[port][item:][:count]
                    self.assertGreater(there.sum(), 100)
                    np.testing.assert_allclose(
                        actual[:count][there], expected[:count][there], atol=1e-4
                    )

    def test_times_of_other_centuries(self):
        """1975 is a time; 10 days are since a start, or are what the user says; 2^60 is none."""
        for seconds, options, approximate in (
            (158000000, {}, False),
            (864000, {}, True),
            (EPOCH, {"relative_time": True}, True),
            (2**60, {}, True),
        ):
            block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=1, **options)
            tags = [(0, "rx_time", rx_time(seconds, 0.25)), (0, "rx_rate", RATE)]
            x = bytes_of(np.ones(100, np.complex64))
            graph = Flowgraph(block, [x], [8 * CHANNELS], tags=[tags])
            before = time.time()
            _, (out,) = graph.run()
            after = time.time()
            ((_, value),) = tags_of(out, "rx_time")
            self.assertEqual(len(tags_of(out, "rx_time_approximate")), approximate)
            if approximate:
                # the middle of the first window is some samples later
                self.assertTrue(before - 1 < value[0] + value[1] < after + 1)
            else:
                self.assertEqual(value[0], seconds)
            events = [message["event"] for message in graph.messages()]
            self.assertEqual(events, ["refused"] if seconds == 2**60 else [])

    def test_times_as_python_makes_them(self):
        """Times may be signed integers, and have no fraction; one before 1970 is refused."""
        x = bytes_of(np.ones(2000, np.complex64))
        for value, wanted in (((EPOCH, 0.25), 0.25), ((EPOCH, 0), 0.0), ((-EPOCH, 0.25), None)):
            block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=1)
            tags = [(0, "rx_rate", RATE), (0, "rx_time", pmt.to_pmt(value))]
            graph = Flowgraph(block, [x], [8 * CHANNELS], tags=[tags])
            _, (out,) = graph.run()
            ((_, found),) = tags_of(out, "rx_time")
            self.assertEqual(len(tags_of(out, "rx_time_approximate")), wanted is None)
            if wanted is not None:
                self.assertEqual(found[0], EPOCH)
                self.assertAlmostEqual(found[1], wanted + (TAPS * CHANNELS - 1) / 2 / RATE, 12)

    def test_frequency_that_is_said_again(self):
        """
        On each buffer, as sources of users do, nothing is lost; what says that a source began anew
        without saying when, its rate or another frequency, is a loss of unknown length.
        """
        x = bytes_of(self.rng.normal(size=(4000, 2)).view(np.complex128)[:, 0])
        begin = [stamp(0, 0), (0, "rx_rate", RATE), (0, "rx_freq", 1e8)]
        plain, _ = Flowgraph(
            aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=1),
            [x],
            [8 * CHANNELS],
            tags=[begin],
        ).run()
        for more, events, frequencies in (
            ([(item, "rx_freq", 1e8) for item in range(50, 4000, 50)], [], 1),
            ([(1003, "rx_freq", 2e8)], ["lost_unknown"], 2),
            ([(1003, "rx_rate", RATE), (1003, "rx_freq", 1e8)], ["lost_unknown"], 1),
        ):
            block = aperture.pfb_channelizer(channels=CHANNELS, taps=TAPS, inputs=1)
            graph = Flowgraph(block, [x], [8 * CHANNELS], tags=[begin + more])
            data, (out,) = graph.run()
            self.assertEqual([m["event"] for m in graph.messages()], events)
            self.assertEqual(len(tags_of(out, "rx_freq")), frequencies)
            self.assertEqual(block.missing(), [TAPS if events else 0])
            if not events:
                np.testing.assert_array_equal(data[0], plain[0])

    def test_most_gap_is_checked(self):
        for value in (-1.0, float("nan"), 1e7):
            for make in (aperture.pfb_channelizer, aperture.corner_turn, aperture.f_engine):
                with self.assertRaisesRegex(ValueError, "most_gap"):
                    make(most_gap=value)


if __name__ == "__main__":
    gr_unittest.run(qa_clock)
