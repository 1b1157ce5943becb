#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
stream_align: samples of the same number were received at the same time, whatever the receivers
say of it, and what is left is tagged.

The signals are noise that all receivers have in common, and noise of each. Receiver p's sample
i is exp(i phase_p) common(i + start_p - extra_p): it begins start_p samples later than the
others, and its cable is extra_p samples longer, so that it is to be delayed by start_p - extra_p
to line up. Phases are checked within five standard deviations of the bound sqrt((1 - c^2)/2)/(c
sqrt(N)), with c the coherence and N the samples that are compared.
"""

import os
import tempfile
import threading
import time

import numpy as np
import pmt
from gnuradio import aperture, gr_unittest

from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.qa_tools import Flowgraph, run_chain, rx_time, tags_of

RATE = 2.0**20  # all times of samples are exact in float64
EPOCH = 1700000000
SEARCH = 1 << 15
COHERENCE = 0.7


def delayed(signal, delay):
    """By a part of a sample, as if the signal were periodic."""
    frequencies = np.fft.fftfreq(len(signal))
    return np.fft.ifft(np.fft.fft(signal) * np.exp(-2j * np.pi * frequencies * delay))


def noise(rng, count):
    return (rng.standard_normal(count) + 1j * rng.standard_normal(count)) / np.sqrt(2)


class Receivers:
    """The samples that receivers make of one signal. coherence: of two of them"""

    def __init__(self, seed, count, starts, extras=None, phases=None, coherence=COHERENCE):
        rng = np.random.default_rng(seed)
        ports = len(starts)
        self.starts, self.count = starts, count
        self.extras = extras or [0.0] * ports
        self.phases = phases or [0.0] * ports
        common = noise(rng, count + max(starts) + 64)
        self.samples = []
        for start, extra, phase in zip(starts, self.extras, self.phases):
            seen = delayed(common, extra) if extra else common
            own = noise(rng, count)
            mixed = np.sqrt(coherence) * seen[start : start + count]
            mixed = np.exp(1j * phase) * mixed + np.sqrt(1 - coherence) * own
            self.samples.append(mixed.astype(np.complex64))

    def offset(self, port, reference=0):
        """Samples by which a port is to be delayed."""
        return (self.starts[port] - self.extras[port]) - (
            self.starts[reference] - self.extras[reference]
        )

    def ports(self):
        return [s.view(np.uint8).reshape(-1, 8) for s in self.samples]


def start_tags(time=None, frequency=None):
    tags = [(0, "rx_rate", RATE)]
    if time is not None:
        tags.append((0, "rx_time", time))
    if frequency is not None:
        tags.append((0, "rx_freq", frequency))
    return tags


class Aligned:
    """
    A flowgraph of one stream_align that has run, and what came out of it.

    paced: the source waits every 20000 samples until searches have ended, so that their answers
    come in good time
    """

    def __init__(self, ports, tags, chunks=10000, paced=False, **parameters):
        parameters = {
            "inputs": len(ports),
            "search_samples": SEARCH,
            "most_offset": 1 << 13,
            "watch": 0,
            **parameters,
        }
        size = ports[0].shape[1]
        self.block = aperture.stream_align(**parameters)
        steps = range(20000, len(ports[0]), 20000) if paced else ()
        self.gates = {step: threading.Event() for step in steps}
        self.graph = Flowgraph(
            self.block, ports, [size] * len(ports), tags=tags, chunks=chunks, gates=self.gates
        )
        self.run()

    def run(self):
        with self.graph.running():
            for item, gate in self.gates.items():
                for source in self.graph.sources:
                    qa_tools.comes_true(
                        lambda: source.nitems_written(0) >= min(item, len(source.data))
                    )
                qa_tools.comes_true(self.has_settled)
                if item == max(self.gates):
                    # published messages are to be kept before the end
                    status = self.graph.status.to_basic_block()
                    qa_tools.comes_true(lambda: not status.nmsgs(pmt.intern("store")))
                gate.set()
        self.data = [sink.data() for sink in self.graph.sinks]
        self.tags = [sink.tags for sink in self.graph.sinks]
        if self.data[0].shape[1] == 8:
            self.data = [np.ascontiguousarray(d).view(np.complex64)[:, 0] for d in self.data]
        self.messages = self.graph.messages()

    def has_settled(self):
        """All that was sent has been looked at, and the answers of searches have been taken."""
        qa_tools.let_work(self.block)
        return not self.block.searching()

    def missing(self, port):
        """bool [sample], by the tags."""
        missing = np.zeros(len(self.data[port]), bool)
        for item, entry in tags_of(self.tags[port], "missing"):
            assert item == entry["first"]
            missing[item : item + entry["count"]] = True
        return missing

    def events(self, name):
        return [m for m in self.messages if m["event"] == name]

    def last(self, port, key):
        """(item, value) of the last tag of a key"""
        item, value = tags_of(self.tags[port], key)[-1]
        return item, value[0]

    def coherence(self, a, b, part=slice(None)):
        """Complex, of what is missing on neither port."""
        there = ~(self.missing(a) | self.missing(b))
        there[: part.start or 0] = False
        if part.stop:
            there[part.stop :] = False
        x, y = self.data[a][there], self.data[b][there]
        return np.vdot(y, x) / np.sqrt(np.vdot(x, x).real * np.vdot(y, y).real)


class qa_stream_align(gr_unittest.TestCase):
    def check_phase(self, measured, expected, coherence=COHERENCE, samples=SEARCH):
        sigma = np.sqrt((1 - coherence**2) / 2) / (coherence * np.sqrt(samples))
        difference = np.angle(np.exp(1j * (measured - expected)))
        self.assertLess(abs(difference), 5 * sigma)

    def check_delay(self, measured, expected, coherence=COHERENCE, samples=SEARCH):
        """In samples; the bound for a flat band is sqrt(12) / 2 pi of that of the phase."""
        sigma = np.sqrt((1 - coherence**2) / 2) / (coherence * np.sqrt(samples))
        self.assertLess(abs(measured - expected), 5 * sigma * np.sqrt(12) / (2 * np.pi))

    def check_shifted(self, aligned, receivers, port, offset):
        """
        Outputs are the inputs from the latest start on. offset: samples by which this port
        is later than the latest, 0 or below.
        """
        expected = receivers.samples[port][-offset:]
        there = ~aligned.missing(port)
        count = min(len(expected), len(there))
        np.testing.assert_array_equal(
            aligned.data[port][:count][there[:count]], expected[:count][there[:count]]
        )

    # ---- by rx_time

    def test_stamps(self):
        """To the sample; the part of one is tagged, and nothing is held back."""
        receivers = Receivers(1, 5003, [100, 0, 37])
        parts = [0.0, 0.3125, -0.25]
        tags = [
            start_tags(rx_time(EPOCH, (start + part) / RATE), 1e9)
            for start, part in zip(receivers.starts, parts)
        ]
        out = Aligned(receivers.ports(), tags)
        self.assertEqual([len(d) for d in out.data], [4903] * 3)
        for port, (start, part) in enumerate(zip(receivers.starts, parts)):
            self.check_shifted(out, receivers, port, start - 100)
            item, delay = out.last(port, "delay")
            self.assertEqual(item, 0)
            self.assertAlmostEqual(delay * RATE, part, 9)
            self.assertEqual(tags_of(out.tags[port], "rx_time"), [(0, rx_time(EPOCH, 100 / RATE))])
            self.assertEqual(tags_of(out.tags[port], "rx_rate"), [(0, RATE)])
            self.assertEqual(tags_of(out.tags[port], "rx_freq"), [(0, 1e9)])
            self.assertEqual(tags_of(out.tags[port], "phase"), [])
        np.testing.assert_allclose(
            out.block.offsets(), np.add(receivers.starts, parts) - 100, atol=1e-9
        )
        self.assertEqual(out.block.dropped(), [0, 100, 63])
        self.assertEqual(out.block.measurements(), 0)
        self.assertEqual(out.block.aligned(), [True] * 3)

    def test_time_that_comes_late(self):
        """
        A port says its true time, or counts from elsewhere, in the middle: nothing is lost, and
        the ports stay together.
        """

        def at(item, seconds=EPOCH, first=0):
            return (item, "rx_time", rx_time(seconds, (item + first) / RATE))

        true, other = start_tags(rx_time(EPOCH)), start_tags(rx_time(EPOCH, 300 / RATE))
        private = start_tags(rx_time(7))
        late = at(50000, first=300)
        for tags, event in (
            ([start_tags(), start_tags() + [late]], "first_stamp"),
            ([start_tags() + [at(50000)], start_tags()], "first_stamp"),
            ([start_tags() + [at(60000)], start_tags() + [late]], "first_stamp"),
            ([true, start_tags() + [late]], "first_stamp"),
            ([start_tags() + [at(50000)], other], "first_stamp"),
            ([private, private + [late]], "first_stamp"),
            ([true, private + [late]], "first_stamp"),
            ([true, other + [at(50000, 3), at(90000, 3)]], None),
            ([private, private + [at(50000, 1007)]], "clock_jump"),
            ([true, private + [at(50000, 1007)]], "clock_jump"),
            ([true + [at(50000, EPOCH + 1000)], start_tags()], "clock_jump"),
            ([true, start_tags() + [at(50000, EPOCH + 1000)]], "odd_stamp"),
        ):
            receivers = Receivers(2, 200000, [0, 300])
            out = Aligned(receivers.ports(), tags, paced=True)
            self.assertEqual(out.block.error(), "")
            self.assertEqual(bool(event), any(m["event"] == event for m in out.messages))
            self.assertGreaterEqual(len(out.data[0]), 200000 - 10300)
            for port, last in enumerate((200000, 199700)):
                np.testing.assert_array_equal(
                    out.data[port][-1000:], receivers.samples[port][last - 1000 : last]
                )
            if event == "first_stamp":
                item, (seconds, part) = tags_of(out.tags[0], "rx_time")[-1]
                behind = len(out.data[0]) - item
                self.assertEqual((seconds, round(part * RATE, 3)), (EPOCH, 200000 - behind))

    def test_rate_and_time_that_come_late(self):
        """A port that said nothing before is told its rate and time late: the flowgraph goes on to
        its end."""
        tags = [[], [(50000, "rx_rate", RATE), (50000, "rx_time", rx_time(EPOCH, 50300 / RATE))]]
        for method in ("auto", "correlation"):
            out = Aligned(Receivers(2, 200000, [0, 300]).ports(), tags, paced=True, method=method)
            self.assertEqual(out.block.error(), "")
            self.assertEqual(len(out.data[0]), 199700)
            self.assertTrue(out.events("lost_unknown"))

    def test_search_beside_an_input_without_a_place(self):
        """
        An input waits for its own time where another said its time late, and the search for as much
        of it as says that it is missing: more need not come while the first one's buffer is full.
        """
        late = [(50000, "rx_rate", RATE), (50000, "rx_time", rx_time(EPOCH, 50300 / RATE))]
        block = aperture.stream_align(
            method="correlation", search_samples=SEARCH, most_offset=1 << 13, watch=0
        )
        graph = Flowgraph(
            block, Receivers(2, 200000, [0, 300]).ports(), [8, 8], tags=[[], late], chunks=10000
        )
        # the whole of a search is there, and 40000 more, when the time comes
        ahead, late = graph.sources
        ahead.gates, late.gates = {125000: threading.Event()}, {50000: threading.Event()}
        with graph.running():
            self.assertTrue(
                qa_tools.comes_true(lambda: ahead.sent == 125000 and late.sent == 50000)
            )
            qa_tools.let_work(block)
            late.gates[50000].set()
            self.assertTrue(qa_tools.comes_true(lambda: block.nitems_written(0) > 50000))
        self.assertEqual(block.error(), "")

    def test_late_time_of_a_reference(self):
        """An offset that was measured against it by correlation alone is measured again."""
        receivers = Receivers(2, 200000, [0, 300])
        late = (90000, "rx_time", rx_time(EPOCH, 90000 / RATE))
        tags = [start_tags() + [late], start_tags(rx_time(EPOCH, 300 / RATE))]
        out = Aligned(receivers.ports(), tags, paced=True, method="correlation")
        self.assertGreater(abs(out.coherence(0, 1, slice(len(out.data[0]) - 9000, None))), 0.6)

    def test_overflow(self):
        """A loss that an rx_time with a jump reports becomes zeros that are said to be missing."""
        receivers = Receivers(2, 9001, [0, 0])
        ports = receivers.ports()
        lost = 555
        ports[1] = np.delete(ports[1], slice(3000, 3000 + lost), axis=0)
        tags = [start_tags(rx_time(EPOCH)), start_tags(rx_time(EPOCH))]
        tags[1] += start_tags(rx_time(EPOCH, (3000 + lost) / RATE), 1e9)[1:] and [
            (3000, "rx_time", rx_time(EPOCH, (3000 + lost) / RATE)),
            (3000, "rx_rate", RATE),
        ]
        out = Aligned(ports, tags)
        expected = np.zeros(len(out.data[1]), bool)
        expected[3000 : 3000 + lost] = True
        np.testing.assert_array_equal(out.missing(1), expected)
        self.assertFalse(out.missing(0).any())
        np.testing.assert_array_equal(out.data[1][expected], 0)
        self.check_shifted(out, receivers, 1, 0)
        self.assertEqual(out.block.zeros(), [0, lost])

    def test_overflows_counted_behind(self):
        """A channeliser counts the zeros as missing: no spectrum with one of them is good."""
        receivers = Receivers(3, 9001, [0, 0])
        ports = receivers.ports()
        ports[1] = np.delete(ports[1], slice(3000, 3555), axis=0)
        tags = [start_tags(rx_time(EPOCH), 1e9), start_tags(rx_time(EPOCH), 1e9)]
        tags[1] += [(3000, "rx_time", rx_time(EPOCH, 3555 / RATE)), (3000, "rx_rate", RATE)]
        align = aperture.stream_align(watch=0)
        channels, taps = 16, 4
        pfb = aperture.pfb_channelizer(channels=channels, taps=taps, inputs=2, device="cpu")
        graph = Flowgraph([align, pfb], ports, [8 * channels] * 2, tags=tags)
        _, out_tags = graph.run()
        spectra = (9001 // channels) - taps + 1
        missing = qa_tools.missing_of(out_tags[1], 1, spectra)[0]
        first = np.arange(spectra) * channels
        expected = (first + taps * channels > 3000) & (first < 3555)
        np.testing.assert_array_equal(missing, expected)
        self.assertEqual(pfb.missing(), [0, expected.sum()])

    def test_visibilities(self):
        """Visibilities through f_engine and xengine are those of inputs that begin together and
        lose nothing."""
        receivers = Receivers(27, 100003, [0, 0])
        tags = [start_tags(rx_time(EPOCH), 1e9), start_tags(rx_time(EPOCH), 1e9)]
        channels = 16

        def correlate(first, ports, tags):
            chain = [
                aperture.f_engine(channels=channels, inputs=2, spectra_per_frame=10, device="cpu"),
                aperture.xengine(
                    channels=channels, inputs=2, spectra_per_frame=10, integration=5, device="cpu"
                ),
            ]
            data, tags = Flowgraph(first + chain, ports, [channels * 24], tags=tags).run()
            counted = [value for _, value in qa_tools.each_of(tags[0], "counted", len(data[0]))]
            return data[0].view(np.complex64).reshape(-1, channels, 3), counted

        clean, _ = correlate([], receivers.ports(), tags)
        # the same, but port 1 begins 160 samples earlier, and loses 700 of them
        ports, lossy = receivers.ports(), [tags[0], start_tags(rx_time(EPOCH, -160 / RATE), 1e9)]
        extra = np.zeros((160, 8), np.uint8)
        ports[1] = np.concatenate([extra, np.delete(ports[1], slice(50000, 50700), axis=0)])
        lossy[1] += [(50160, "rx_time", rx_time(EPOCH, 50700 / RATE)), (50160, "rx_rate", RATE)]
        actual, counted = correlate([aperture.stream_align(watch=0)], ports, lossy)
        self.assertEqual(actual.shape, clean.shape)
        whole = np.array([value.min() == 50 for value in counted])
        # 700 samples, 44 spectra and 7 more, are in two integrations of 50 spectra
        self.assertEqual(len(whole) - whole[:-1].sum() - 1, 2)
        np.testing.assert_array_equal(actual[:-1][whole[:-1]], clean[:-1][whole[:-1]])

    def test_random_overflows(self):
        """Inputs overflow at random places: every sample that was received is where it belongs."""
        for seed in range(3):
            rng = np.random.default_rng(seed)
            count = 150000
            receivers = Receivers(40 + seed, count, [int(n) for n in rng.integers(0, 5000, 3)])
            ports, tags, there = [], [], []
            for port, data in enumerate(receivers.ports()):
                kept = np.ones(count, bool)
                for first in rng.choice(np.arange(1000, count - 6000, 3000), 5, replace=False):
                    kept[first : first + rng.integers(1, 2900)] = False
                numbers = np.flatnonzero(kept)
                ports.append(data[kept])
                tags.append(start_tags(rx_time(10 * port), 1e9))
                for item in np.flatnonzero(np.diff(numbers) > 1) + 1:
                    time_of = rx_time(10 * port, numbers[item] / RATE)
                    tags[port] += [(int(item), "rx_time", time_of), (int(item), "rx_rate", RATE)]
                there.append(kept)
            out = Aligned(ports, tags)
            latest = max(receivers.starts)
            for port, start in enumerate(receivers.starts):
                self.check_shifted(out, receivers, port, start - latest)
                missing = out.missing(port)
                np.testing.assert_array_equal(
                    ~missing, there[port][latest - start :][: len(missing)]
                )
                self.assertEqual(out.block.zeros()[port], missing.sum())
            self.assertEqual(out.block.measurements(), 1)

    def test_phase_of_stamped(self):
        """Receivers with true times get their phases, too, where they are asked for."""
        for method in ("auto", "time"):
            receivers = Receivers(43, 300000, [0, 70], [0.0, 0.25], [0.0, 1.0])
            tags = [start_tags(rx_time(EPOCH, s / RATE), 1e9) for s in receivers.starts]
            block = aperture.stream_align(
                search_samples=SEARCH, most_offset=1 << 13, watch=0, method=method
            )
            gates = {50000: threading.Event(), 200000: threading.Event()}
            graph = Flowgraph(block, receivers.ports(), [8, 8], tags=tags, gates=gates)
            with graph.running():
                graph.sinks[1].wait_for(49000)
                block.measure()
                gates[50000].set()
                qa_tools.comes_true(lambda: block.measurements() == 1)
            item, (phase,) = tags_of(graph.sinks[1].tags, "phase")[-1]
            self.assertGreaterEqual(item, 49000)
            self.check_phase(phase, -1.0)
            item, (delay,) = tags_of(graph.sinks[1].tags, "delay")[-1]
            self.check_delay(delay * RATE, -0.25)
            np.testing.assert_array_equal(graph.sinks[0].data(), graph.sources[0].data[70:])

    def test_jitter(self):
        """Stamps that scatter neither move a sample nor, within half a sample, lose any."""
        for spread in (0.25, 0.5):
            rng = np.random.default_rng(4)
            receivers = Receivers(4, 60000, [40, 0])
            tags = []
            for start in receivers.starts:
                tags.append(start_tags(rx_time(EPOCH, start / RATE)))
                for item in range(500, 60000, 500):
                    late = (start + item + rng.uniform(-spread, spread)) / RATE
                    tags[-1].append((item, "rx_time", rx_time(EPOCH, late)))
            out = Aligned(receivers.ports(), tags)
            for port in range(2):
                self.check_shifted(out, receivers, port, receivers.starts[port] - 40)
                # until it is known how far they scatter, one may be taken for a jump
                most = 0 if spread == 0.25 else 1500
                self.assertLessEqual(out.block.zeros()[port], most)
            # the mean of up to 32 uniform ones, whose deviation is spread / sqrt(3)
            self.assertLess(abs(out.last(1, "delay")[1] * RATE), spread)

    # ---- by correlation

    def check_found(self, out, receivers, coherence=COHERENCE):
        """All inputs were put where they belong, from the first sample that all have."""
        latest = max(receivers.starts)
        for port in range(len(receivers.starts)):
            whole = round(receivers.offset(port))
            lead = max(round(receivers.offset(p)) for p in range(len(receivers.starts)))
            self.check_shifted(out, receivers, port, whole - lead)
            item, delay = out.last(port, "delay")
            self.assertEqual(item, 0)
            self.check_delay(delay * RATE, receivers.offset(port) - whole, coherence)
            item, phase = out.last(port, "phase")
            self.assertEqual(item, 0)
            self.check_phase(phase, receivers.phases[0] - receivers.phases[port], coherence)
            self.assertEqual(out.missing(port).sum(), 0)
        self.assertGreaterEqual(min(len(d) for d in out.data), receivers.count - latest - 8)
        self.assertEqual(out.block.aligned(), [True] * len(receivers.starts))

    def test_no_stamps(self):
        """Start, part of a sample and phase are hidden in the samples alone."""
        receivers = Receivers(5, 120000, [1500, 0, 5077], [0.0, 0.37, -2.2], [0.3, -2.0, 3.0])
        tags = [start_tags(frequency=1e9) for _ in range(3)]
        out = Aligned(receivers.ports(), tags)
        self.check_found(out, receivers)
        for port in (1, 2):
            self.assertAlmostEqual(out.block.offsets()[port], receivers.offset(port), 1)
            self.assertGreater(out.block.snr()[port], 20)
        self.assertEqual(out.block.measurements(), 1)
        self.assertEqual(sorted(m["port"] for m in out.events("aligned")), [1, 2])
        # the time is the host's, and nobody is told otherwise
        self.assertEqual(tags_of(out.tags[0], "rx_time_approximate"), [(0, True)])

    def test_private_epochs(self):
        """Times that count from the start of each device are not compared."""
        receivers = Receivers(6, 100000, [0, 3333])
        tags = [start_tags(rx_time(5, 0.25)), start_tags(rx_time(17, 0.5))]
        out = Aligned(receivers.ports(), tags)
        self.check_found(out, receivers)

    def test_approximate_times(self):
        """Times of the host's clock are approximate, too; of the two, a true time is the
        output's."""
        receivers = Receivers(7, 100000, [2222, 0])
        tags = [start_tags(rx_time(EPOCH, 0.5)), start_tags(rx_time(EPOCH + 1))]
        tags[0].append((0, "rx_time_approximate", True))
        out = Aligned(receivers.ports(), tags)
        for port in range(2):
            self.check_shifted(out, receivers, port, receivers.starts[port] - 2222)
        self.assertEqual(tags_of(out.tags[0], "rx_time"), [(0, rx_time(EPOCH + 1, 2222 / RATE))])
        self.assertEqual(tags_of(out.tags[0], "rx_time_approximate"), [])

    def recordings(self, receivers, *more):
        """Each as a file of nothing but samples, of its own date; what is said of its time."""
        ports, tags = [], []
        with tempfile.TemporaryDirectory(prefix="qa_stream_align") as folder:
            for number, (samples, said) in enumerate(zip(receivers.samples, more)):
                name = os.path.join(folder, f"{number}.cfile")
                samples.tofile(name)
                os.utime(name, (EPOCH + 5 * number, EPOCH + 5.25 * number))
                source = aperture.input_source(
                    f"raw:{name},rate={RATE:.0f},freq=1e8{said}", inputs=1
                )
                sink = qa_tools.ByteSink(8)
                run_chain(source, sink)
                ports.append(sink.data())
                tags.append([(t.offset, t.key, t.value) for t in sink.tags])
        return ports, tags

    def test_recordings_without_times(self):
        """
        The dates of their files are guesses: they are searched for around no offset at all. A
        time that was given is a time.
        """
        receivers = Receivers(107, 100000, [0, 1234])
        for method in ("auto", "correlation"):
            out = Aligned(*self.recordings(receivers, "", ""), method=method)
            self.check_found(out, receivers)
            self.assertEqual(tags_of(out.tags[0], "rx_time_approximate"), [(0, True)])
        out = Aligned(*self.recordings(receivers, "", f",time={EPOCH}"))
        self.check_found(out, receivers)
        self.assertEqual(tags_of(out.tags[0], "rx_time_approximate"), [])
        given = [f",time={EPOCH}", f",time={EPOCH}.{round(1234 / RATE * 1e18):018d}"]
        self.assertLess(abs(float(given[1][6:]) - EPOCH - 1234 / RATE), 0.3 / RATE)
        for method in ("auto", "time"):
            out = Aligned(*self.recordings(receivers, *given), method=method)
            self.assertEqual(out.block.measurements(), 0)
            for port in range(2):
                self.check_shifted(out, receivers, port, receivers.starts[port] - 1234)

    def test_recordings_that_nothing_lines_up(self):
        """Inputs that are not found are reported and missing; by time alone, there is nothing to
        begin with."""
        receivers = Receivers(108, 100000, [0, 0], coherence=0.0)
        for said in (("", ""), (f",time={EPOCH}", "")):
            out = Aligned(*self.recordings(receivers, *said))
            self.assertEqual([m["port"] for m in out.events("not_aligned")][:1], [1])
            self.assertTrue(out.missing(1).all())
            self.assertFalse(out.missing(0).any())
            out = Aligned(*self.recordings(receivers, *said), method="time")
            port = 1 if said[0] else 0
            self.assertRegex(
                out.block.error(),
                f"method: time is not allowed: the rx_time of port "
                f"{port} is a guess .*; auto and correlation",
            )
            self.assertEqual(len(out.data[0]), 0)

    def test_types(self):
        receivers = Receivers(8, 60000, [0, 707])
        tags = [start_tags(), start_tags()]
        for name, dtype, scale in (("sc16", np.int16, 1000), ("sc8", np.int8, 20)):
            ports = []
            for s in receivers.samples:
                pairs = np.clip(np.rint(scale * s.view(np.float32)), -127 * scale, 127 * scale)
                ports.append(pairs.astype(dtype).view(np.uint8).reshape(len(s), -1))
            out = Aligned(ports, tags, type=name)
            np.testing.assert_array_equal(out.data[0], ports[0][707 : 707 + len(out.data[0])])
            np.testing.assert_array_equal(out.data[1], ports[1][: len(out.data[1])])
        packed = []
        for s in receivers.samples:
            pairs = np.clip(np.rint(2 * s.view(np.float32)), -7, 7).astype(np.int8)
            pairs = pairs.reshape(-1, 2)
            packed.append((((pairs[:, :1] & 15) << 4) | (pairs[:, 1:] & 15)).astype(np.uint8))
        out = Aligned(packed, tags, type="sc4")
        np.testing.assert_array_equal(out.data[0], packed[0][707 : 707 + len(out.data[0])])

    def test_overflow_of_private_clock(self):
        """A device that counts what it lost is believed, though its epoch is its own."""
        receivers = Receivers(9, 150000, [0, 3001])
        ports = receivers.ports()
        ports[1] = np.delete(ports[1], slice(90000, 90999), axis=0)
        tags = [start_tags(rx_time(1)), start_tags(rx_time(2))]
        tags[1] += [(90000, "rx_time", rx_time(2, 90999 / RATE)), (90000, "rx_rate", RATE)]
        out = Aligned(ports, tags)
        self.check_found_with_gap(out, receivers, 90000, 999)
        self.assertEqual(out.block.measurements(), 1)

    def check_found_with_gap(self, out, receivers, first, count):
        expected = np.zeros(len(out.data[1]), bool)
        expected[first : first + count] = True
        np.testing.assert_array_equal(out.missing(1), expected)
        for port in range(2):
            self.check_shifted(out, receivers, port, receivers.starts[port] - max(receivers.starts))

    def test_loss_of_unknown_length(self):
        """The length of a loss is measured, and becomes zeros; the output waits for it."""
        for port in (0, 1):
            receivers = Receivers(10, 200000, [0, 3001])
            ports = receivers.ports()
            # on port 0 at the same output sample
            item = 90000 + (3001 if port == 0 else 0)
            ports[port] = np.delete(ports[port], slice(item, item + 777), axis=0)
            tags = [start_tags(), start_tags()]
            tags[port].append((item, "rx_rate", RATE))
            out = Aligned(ports, tags)
            self.assertEqual(out.block.measurements(), 2)
            expected = np.zeros(len(out.data[port]), bool)
            expected[90000:90777] = True
            np.testing.assert_array_equal(out.missing(port), expected)
            self.assertFalse(out.missing(1 - port).any())
            for p in range(2):
                self.check_shifted(out, receivers, p, receivers.starts[p] - 3001)

    def test_retune(self):
        """The phase is measured anew, and holds from the very sample of the new rx_freq."""
        receivers = Receivers(11, 200000, [0, 1234], phases=[0.0, 1.0])
        rotated_from = 90001
        receivers.samples[1][rotated_from:] *= -1j
        tags = [start_tags(frequency=1e9), start_tags(frequency=1e9)]
        tags[0].append((rotated_from + 1234, "rx_freq", 1.1e9))
        tags[0].append((rotated_from + 1234, "rx_time", rx_time(EPOCH)))
        tags[1].append((rotated_from, "rx_freq", 1.1e9))
        for port, item in ((0, rotated_from + 1234), (1, rotated_from)):
            tags[port] = start_tags(rx_time(3), 1e9)
            tags[port].append((item, "rx_time", rx_time(3, item / RATE)))
            tags[port].append((item, "rx_freq", 1.1e9))
        out = Aligned(receivers.ports(), tags)
        for port in range(2):
            self.check_shifted(out, receivers, port, receivers.starts[port] - 1234)
            self.assertEqual(tags_of(out.tags[port], "rx_freq"), [(0, 1e9), (rotated_from, 1.1e9)])
        phases = tags_of(out.tags[1], "phase")
        self.assertEqual([item for item, _ in phases], [0, rotated_from])
        self.check_phase(phases[0][1][0], -1.0)
        self.check_phase(phases[1][1][0], -1.0 + np.pi / 2)
        self.assertEqual(out.block.measurements(), 2)
        self.assertEqual(out.block.slips(), [0, 0])

    def test_retune_while_measuring_by_time(self):
        """By time alone the output does not wait: a measurement that was under way when the
        receivers were tuned begins anew, and knows nothing of the samples before."""
        receivers = Receivers(37, 200000, [0, 0], phases=[0.0, 1.0])
        tuned = 10001
        receivers.samples[1][tuned:] *= -1j
        tags = start_tags(rx_time(EPOCH), 1e9)
        tags += [(tuned, "rx_time", rx_time(EPOCH, tuned / RATE)), (tuned, "rx_freq", 1.1e9)]
        block = aperture.stream_align(method="time", search_samples=SEARCH, watch=0)
        gates = {500: threading.Event(), 100000: threading.Event()}
        graph = Flowgraph(block, receivers.ports(), [8, 8], tags=[tags] * 2, gates=gates)
        with graph.running():
            graph.sinks[1].wait_for(500)
            graph.post_and_wait("command", {"command": pmt.mp("measure")})
            gates[500].set()
            self.assertTrue(qa_tools.comes_true(lambda: block.measurements() == 1))
            gates[100000].set()
        (said,) = tags_of(graph.sinks[1].tags, "phase")
        self.assertGreaterEqual(said[0], tuned + SEARCH)
        self.check_phase(said[1][0], -1.0 + np.pi / 2)
        self.assertEqual(block.measurements(), 1)
        np.testing.assert_array_equal(
            graph.sinks[1].data().view(np.complex64)[:, 0], receivers.samples[1]
        )

    def test_slip(self):
        """Samples that vanish without a word are noticed, and what follows is put right."""
        for port in (0, 1):
            receivers = Receivers(12, 400000, [0, 1000], phases=[0.0, 0.5])
            ports = receivers.ports()
            item = 150000 + (1000 if port == 0 else 0)
            ports[port] = np.delete(ports[port], slice(item, item + 3), axis=0)
            tags = [start_tags(), start_tags()]
            out = Aligned(ports, tags, watch=SEARCH / RATE, paced=True)
            self.assertEqual(sum(out.block.slips()), 1)
            (said,) = out.events("slip")
            self.assertEqual(said["samples"], 3 if port == 1 else -3)
            before, after = slice(0, 140000), slice(300000, None)
            for part in (before, after):
                self.assertGreater(abs(out.coherence(1, 0, part)), COHERENCE - 0.02)

    def test_slip_further_than_watched(self):
        """A long one makes the inputs disappear, and they are searched for."""
        receivers = Receivers(13, 600000, [0, 1000])
        ports = receivers.ports()
        ports[1] = np.delete(ports[1], slice(150000, 154321), axis=0)
        out = Aligned(ports, [start_tags(), start_tags()], watch=SEARCH / RATE, paced=True)
        self.assertEqual(out.block.slips(), [0, 1])
        self.assertGreater(abs(out.coherence(1, 0, slice(450000, None))), COHERENCE - 0.02)

    def check_doubted(self, out, first):
        """
        Port 1 was missing in one stretch, from when it was noticed that it no longer correlates,
        at the first sample given or later, until it had been searched for. Returns the sample
        behind this stretch.
        """
        (said,) = out.events("doubted")
        self.assertEqual(said["port"], 1)
        missing = np.flatnonzero(out.missing(1))
        self.assertGreater(missing[0], first)
        self.assertGreaterEqual(missing[0], said["item"])
        # the samples that are searched, and no hole within them
        self.assertGreaterEqual(len(missing), SEARCH)
        self.assertEqual(missing[-1] - missing[0], len(missing) - 1)
        np.testing.assert_array_equal(out.data[1][missing], 0)
        self.assertFalse(out.missing(0).any())
        self.assertEqual(out.block.zeros(), [0, len(missing)])
        self.assertEqual(out.block.aligned(), [True, True])
        return missing[-1] + 1

    def test_missing_while_doubted(self):
        """From when a long slip is noticed until it is mended, no sample counts as good."""
        receivers = Receivers(34, 600000, [0, 1000])
        ports, item, slip = receivers.ports(), 150000, 4321
        ports[1] = np.delete(ports[1], slice(item, item + slip), axis=0)
        out = Aligned(ports, [start_tags(), start_tags()], watch=SEARCH / RATE, paced=True)
        mended = self.check_doubted(out, item)
        # from there on every sample is where it belongs
        count = min(len(out.data[1]), len(receivers.samples[1])) - mended
        np.testing.assert_array_equal(
            out.data[1][mended:][:count], receivers.samples[1][mended:][:count]
        )
        self.assertGreater(count, 100000)

    def test_source_switched_off(self):
        """Inputs that no longer correlate, and are found nowhere else, go on as they were."""
        loud = Receivers(35, 200000, [0, 1000])
        quiet = Receivers(36, 400000, [0, 0], coherence=0.0)
        ports = [np.concatenate([a, b]) for a, b in zip(loud.ports(), quiet.ports())]
        out = Aligned(ports, [start_tags(), start_tags()], watch=SEARCH / RATE, paced=True)
        found = self.check_doubted(out, 150000)
        self.assertEqual(out.block.slips(), [0, 0])
        sent = ports[1].view(np.complex64)[found : len(out.data[1]), 0]
        np.testing.assert_array_equal(out.data[1][found:], sent)
        self.assertGreater(len(sent), 100000)

    def test_request(self):
        """Messages (a pair is what GRC's buttons send) measure again, while the output goes on."""
        for message in (
            {"command": pmt.mp("measure")},
            pmt.cons(pmt.mp("command"), pmt.mp("measure")),
        ):
            self.check_request(message)

    def check_request(self, message):
        receivers = Receivers(14, 400000, [0, 50], phases=[0.0, 0.25])
        receivers.samples[1][100000:] *= 1j
        block = aperture.stream_align(
            method="correlation", search_samples=SEARCH, most_offset=1 << 13, watch=0
        )
        gates = {150000: threading.Event(), 300000: threading.Event()}
        graph = Flowgraph(
            block, receivers.ports(), [8, 8], tags=[start_tags(), start_tags()], gates=gates
        )
        with graph.running():
            graph.sinks[1].wait_for(149000)
            graph.post_and_wait("command", message)
            gates[150000].set()
            qa_tools.comes_true(lambda: block.measurements() == 2)
        phases = tags_of(graph.sinks[1].tags, "phase")
        self.assertEqual(len(phases), 2)
        self.check_phase(phases[0][1][0], -0.25)
        self.assertGreaterEqual(phases[1][0], 149000)
        self.check_phase(phases[1][1][0], -0.25 - np.pi / 2)

    def test_refused_setting(self):
        """A setting that is not allowed is refused, and does no harm."""
        block = aperture.stream_align()
        with self.assertRaises(ValueError):
            block.set_interval(-1)

    def test_interval(self):
        receivers = Receivers(15, 600000, [0, 50])
        out = Aligned(
            receivers.ports(), [start_tags(), start_tags()], interval=100000 / RATE, paced=True
        )
        self.assertGreaterEqual(out.block.measurements(), 3)
        self.assertEqual(out.block.slips(), [0, 0])
        self.assertFalse(out.missing(1).any())

    def test_applied(self):
        """
        Behind f_engine and xengine the visibilities of receivers that nobody has synchronised, one
        of which loses samples and is tuned, are those of synchronised ones within the noise.
        """
        count, channels, lost = 400000, 16, 3000
        receivers = Receivers(28, count, [0, 1500], [0.0, -0.4], [0.0, 2.0])
        ports, tuned = receivers.ports(), 220000
        receivers.samples[1][tuned:] *= -1j  # the oscillator's new phase; the ports share memory
        ports[1] = np.delete(ports[1], slice(120000, 120000 + lost), axis=0)
        tags = [start_tags(rx_time(1), 1e9), start_tags(rx_time(2), 1e9)]
        tags[1].append((120000, "rx_rate", RATE))
        for port, item in ((0, tuned + 1500), (1, tuned - lost)):
            tags[port].append((item, "rx_freq", 1.1e9))
            tags[port].append((item, "rx_time", rx_time(port + 1, item / RATE)))
        chain = [
            aperture.stream_align(search_samples=SEARCH, most_offset=1 << 13, watch=0),
            aperture.f_engine(channels=channels, inputs=2, spectra_per_frame=10, device="cpu"),
            aperture.xengine(
                channels=channels, inputs=2, spectra_per_frame=10, integration=10, device="cpu"
            ),
        ]
        data, out_tags = Flowgraph(chain, ports, [channels * 24], tags=tags).run()
        v = data[0].view(np.complex64).reshape(-1, channels, 3)
        counted = [value.min() for _, value in qa_tools.each_of(out_tags[0], "counted", len(v))]
        good = np.array(counted) == 100
        # all but those with what was lost, where it was tuned, and the last one
        self.assertGreater(good.sum(), len(good) - 8)
        v = v[good]
        normalised = v[:, :, 1] / np.sqrt(v[:, :, 0].real * v[:, :, 2].real)
        # the channel on either edge of the band is left out, where a part of a sample has no phase
        normalised = normalised[:, 1:]
        mean = normalised.mean(axis=1)
        # in each integration of 1600 samples, and in all; the offsets' own errors are smaller
        sigma = 1 / np.sqrt(100 * (channels - 1))
        self.assertLess(np.abs(mean - COHERENCE).max(), 5 * sigma)
        self.assertLess(abs(mean.mean() - COHERENCE), 5 * sigma / np.sqrt(good.sum()) + 0.003)
        # the phase has no slope over the band, either
        slope = normalised.mean(axis=0)
        self.assertLess(np.abs(np.angle(slope)).max(), 0.03)

    def test_separate_clocks(self):
        """Rates of separate crystals are measured, and tagged."""
        count, ppm = 300000, 2e-6
        rng = np.random.default_rng(29)
        # the second crystal is slow: its samples lie ppm further apart, and its oscillator is
        # as much lower, which rotates the phase at 30 MHz of a band of 1 MHz
        frequency = 30e6
        common = noise(rng, count + 4096)
        index = np.arange(count)
        # band limited, so that linear interpolation of eight times as many points is exact enough
        wide = np.fft.fft(common)
        wide = np.concatenate(
            [wide[: len(wide) // 2], np.zeros(7 * len(wide)), wide[len(wide) // 2 :]]
        )
        fine = 8 * np.fft.ifft(wide)
        places = 8 * (index * (1 + ppm) + 700)
        low = places.astype(int)
        part = places - low
        seen = fine[low] * (1 - part) + fine[low + 1] * part
        seen = seen * np.exp(2j * np.pi * frequency * ppm * index / RATE)
        signals = []
        for signal in (common[:count], seen):
            signals.append(
                (np.sqrt(0.8) * signal + np.sqrt(0.2) * noise(rng, count)).astype(np.complex64)
            )
        ports = [s.view(np.uint8).reshape(-1, 8) for s in signals]
        tags = [start_tags(frequency=frequency), start_tags(frequency=frequency)]
        out = Aligned(ports, tags, clock_error=2.0, search_samples=1 << 17)
        self.assertEqual(out.block.aligned(), [True, True])
        _, delay_rate = out.last(1, "delay_rate")
        _, phase_rate = out.last(1, "phase_rate")
        # the second one's samples come from later and later, so that it is delayed ever more
        self.assertLess(abs(delay_rate - ppm), 0.2 * ppm)
        self.assertLess(abs(phase_rate + 2 * np.pi * frequency * ppm), 3)

    # ---- what can go wrong

    def test_nothing_in_common(self):
        """An input that does not correlate is missing, with a warning, and nothing stops."""
        receivers = Receivers(16, 300000, [0, 0], coherence=0.0)
        tags = [start_tags(), start_tags()]
        out = Aligned(receivers.ports(), tags)
        np.testing.assert_array_equal(out.data[0], receivers.samples[0])
        self.assertTrue(out.missing(1).all())
        np.testing.assert_array_equal(out.data[1], 0)
        self.assertEqual(out.block.aligned(), [True, False])
        said = out.events("not_aligned")
        self.assertIn("these inputs do not correlate: offset unknown", said[0]["reason"])
        # `unaligned` lets them through nevertheless
        out = Aligned(receivers.ports(), tags, unaligned=True)
        for port in range(2):
            np.testing.assert_array_equal(out.data[port], receivers.samples[port])

    def test_found_later(self):
        """The noise source is switched on after the start: the next try finds the inputs."""
        quiet = Receivers(17, 150000, [0, 0], coherence=0.0)
        loud = Receivers(18, 1500000, [0, 2000])
        ports = [np.concatenate([a, b]) for a, b in zip(quiet.ports(), loud.ports())]
        tags = [[(0, "rx_rate", 1e5)], [(0, "rx_rate", 1e5)]]
        out = Aligned(ports, tags, paced=True)
        self.assertEqual(out.block.aligned(), [True, True])
        self.assertEqual(round(out.block.offsets()[1]), 2000)
        self.assertGreater(abs(out.coherence(1, 0, slice(1000000, None))), COHERENCE - 0.02)

    def test_one_of_three(self):
        """Two that correlate are lined up, though a third has nothing in common with them."""
        receivers = Receivers(19, 100000, [0, 0, 444])
        rng = np.random.default_rng(1900)
        receivers.samples[1] = noise(rng, 100000).astype(np.complex64)
        out = Aligned(receivers.ports(), [start_tags()] * 3)
        self.assertEqual(out.block.aligned(), [True, False, True])
        self.check_shifted(out, receivers, 0, -444)
        self.check_shifted(out, receivers, 2, 0)

    def test_end_within_search(self):
        """Streams shorter than what a search wants are searched as they are, and all comes."""
        receivers = Receivers(20, 20011, [0, 300])
        out = Aligned(receivers.ports(), [start_tags(), start_tags()])
        for port in range(2):
            self.check_shifted(out, receivers, port, receivers.starts[port] - 300)
        self.assertGreaterEqual(len(out.data[0]), 20011 - 300)
        # the inputs are so short that there is nothing to be found
        receivers = Receivers(21, 500, [0, 3])
        out = Aligned(receivers.ports(), [start_tags(), start_tags()])
        np.testing.assert_array_equal(out.data[0], receivers.samples[0])
        self.assertTrue(out.missing(1).all())

    def test_one_ends_early(self):
        receivers = Receivers(22, 120000, [0, 300])
        ports = receivers.ports()
        ports[0] = ports[0][:70000]
        out = Aligned(ports, [start_tags(), start_tags()])
        self.assertEqual(len(out.data[0]), 70000 - 300)
        self.check_shifted(out, receivers, 0, -300)

    def test_one_stalls(self):
        """The log and `status` say which input keeps the others waiting."""
        receivers = Receivers(30, 100000, [0, 300])
        block = aperture.stream_align(search_samples=1 << 16, most_offset=1 << 13)
        graph = Flowgraph(block, receivers.ports(), [8, 8], tags=[start_tags(), start_tags()])
        # port 0 goes on slowly, port 1 does not
        graph.sources[0].gates = {n: threading.Event() for n in range(1000, 20000, 1000)}
        graph.sources[1].gates = {500: threading.Event()}
        with graph.running():
            # otherwise it would be said that port 1 had sent nothing at all
            qa_tools.comes_true(lambda: graph.sources[1].nitems_written(0) == 500)
            qa_tools.let_work(block)
            for gate in graph.sources[0].gates.values():
                time.sleep(0.07)
                gate.set()
            qa_tools.comes_true(lambda: any(m["event"] == "stalled" for m in graph.messages()))
            (said,) = [m for m in graph.messages() if m["event"] == "stalled"]
        self.assertEqual((said["port"], said["item"]), (1, 500))
        self.assertEqual(round(block.offsets()[1]), 300)

    def test_one_stalls_behind_fast_ones(self):
        """A stall is reported, too, when the others are so fast that their buffers are full."""
        receivers = Receivers(33, 200000, [0, 300])
        for silent_from in (0, 500, 100000):
            block = aperture.stream_align(search_samples=1 << 14, most_offset=1 << 10)
            graph = Flowgraph(block, receivers.ports(), [8, 8], tags=[start_tags(), start_tags()])
            graph.sources[1].gates = {silent_from: threading.Event()}

            def stalls():
                """Returns the stalls: a slow machine has others, which are reported as well."""
                return [
                    m["port"]
                    for m in graph.messages()
                    if m["event"] == "stalled" and m["item"] == silent_from
                ]

            with graph.running():
                qa_tools.comes_true(stalls)
                graph.sources[1].gates[silent_from].set()
            self.assertEqual(stalls(), [1])

    def test_held(self):
        """The output waits until it is let go, and begins with the same sample as without."""
        receivers = Receivers(35, 60000, [0, 300])
        for tags in (start_tags(), start_tags(rx_time(EPOCH))):
            block = aperture.stream_align(search_samples=1 << 14, most_offset=1 << 10)
            block.hold_back()
            later = [
                entry if entry[1] != "rx_time" else (0, "rx_time", rx_time(EPOCH, 300 / RATE))
                for entry in tags
            ]
            graph = Flowgraph(block, receivers.ports(), [8, 8], tags=[tags, later])
            with graph.running():
                qa_tools.comes_true(lambda: graph.sources[1].sent > 1 << 13)
                qa_tools.let_work(block)
                self.assertEqual(graph.sinks[0].count, 0)
                block.release()
            for port, sink in enumerate(graph.sinks):
                data = np.ascontiguousarray(sink.data()).view(np.complex64)[:, 0]
                first = 300 - receivers.starts[port]
                np.testing.assert_array_equal(
                    data[:59700], receivers.samples[port][first : first + 59700]
                )

    def test_stop_within_long_search(self):
        """
        A search that takes seconds is given up at once: a small part of the whole one's work is
        done after the stop, by the processor's time, of which a slow machine takes more for both.
        """
        rng = np.random.default_rng(34)
        ports = [noise(rng, 3 << 19).astype(np.complex64) for _ in range(2)]
        ports = [p.view(np.uint8).reshape(-1, 8) for p in ports]

        def work(stopped):
            block = aperture.stream_align(inputs=4, search_samples=1 << 20, most_offset=1 << 19)
            graph = Flowgraph(
                block, ports + ports, [8] * 4, tags=[start_tags()] * 4, chunks=1 << 18
            )
            graph.start()
            self.assertTrue(qa_tools.comes_true(block.searching))
            began = time.process_time()
            if not stopped:
                self.assertTrue(qa_tools.comes_true(lambda: not block.searching()))
            graph.top.stop()
            graph.wait()
            self.assertFalse(block.searching())
            return time.process_time() - began

        # this thread itself may be late to stop it, but hardly each time
        least = min(work(stopped=True) for _ in range(3))
        self.assertLess(least, work(stopped=False) / 2)

    def test_stop_while_searching(self):
        """A flowgraph that is stopped does not hang, whether it collects or searches."""
        receivers = Receivers(31, 200000, [0, 300])
        for until in (lambda block: True, lambda block: block.searching()):
            block = aperture.stream_align(search_samples=1 << 17, most_offset=1 << 15)
            graph = Flowgraph(block, receivers.ports(), [8, 8], tags=[start_tags(), start_tags()])
            graph.start()
            qa_tools.comes_true(lambda: until(block))
            graph.top.stop()
            graph.wait()

    def test_carrier(self):
        """A strong carrier that all receivers have lines nothing up, and is no slip."""
        carrier = 30 * np.exp(0.7j * np.arange(300000)).astype(np.complex64)
        for coherence in (0.0, COHERENCE):
            receivers = Receivers(32, 300000, [0, 999], coherence=coherence)
            for samples in receivers.samples:
                samples += carrier
            out = Aligned(
                receivers.ports(), [start_tags()] * 2, paced=True, watch=0.05, interval=0.1
            )
            self.assertEqual(out.block.aligned(), [True, coherence > 0])
            self.assertEqual(round(out.block.offsets()[1]), 999 if coherence else 0)
            self.assertEqual(out.events("slip"), [])

    def test_not_a_number(self):
        """A few samples that are no numbers spoil nothing else."""
        receivers = Receivers(23, 100000, [0, 999])
        receivers.samples[1][5000:5010] = np.nan
        receivers.samples[0][7000] = np.inf
        out = Aligned(receivers.ports(), [start_tags(), start_tags()])
        self.assertEqual(round(out.block.offsets()[1]), 999)
        # lost samples are zeros that are said to be missing, and nothing else is
        for port, place in ((0, [7000 - 999]), (1, range(5000, 5010))):
            bad = np.zeros(len(out.data[port]), bool)
            bad[place] = True
            np.testing.assert_array_equal(out.missing(port), bad)
            self.assertTrue((out.data[port][bad] == 0).all())
            self.assertTrue(np.isfinite(out.data[port]).all())
        self.assertEqual(
            sorted((m["port"], m["count"]) for m in out.events("not_numbers")), [(0, 1), (1, 10)]
        )

    def test_restart(self):
        """Each start begins anew, with the same numbers."""
        receivers = Receivers(24, 100000, [0, 999], [0, 0.25])
        out = Aligned(receivers.ports(), [start_tags(), start_tags()])
        data, offsets = out.data, out.block.offsets()
        out.run()
        for before, after in zip(data, out.data):
            np.testing.assert_array_equal(before, after)
        self.assertEqual(out.block.offsets(), offsets)

    def test_other_tags(self):
        """Tags of others stay at their samples."""
        receivers = Receivers(25, 100000, [0, 999])
        tags = [start_tags(), start_tags()]
        tags[0].append((70000, "mine", 3.0))
        tags[0].append((5, "dropped", 3.0))
        out = Aligned(receivers.ports(), tags)
        self.assertEqual(tags_of(out.tags[0], "mine"), [(70000 - 999, 3.0)])
        self.assertEqual(tags_of(out.tags[0], "dropped"), [])

    def test_state(self):
        receivers = Receivers(26, 200000, [0, 999])
        out = Aligned(receivers.ports(), [start_tags(), start_tags()], status_interval=1e-6)
        state = out.events("state")[-1]
        np.testing.assert_array_equal(state["aligned"], [1, 1])
        self.assertAlmostEqual(state["offsets"][1], 999, 1)

    def test_refused(self):
        for parameters in (
            {"inputs": 0},
            {"inputs": 1001},
            {"type": "f32"},
            {"method": "luck"},
            {"search_samples": 10},
            {"most_offset": 0},
            {"reference": 2},
            {"clock_error": -1.0},
            {"interval": -1.0},
            {"watch": float("nan")},
            {"false_alarms": 0.0},
            {"most_gap": -1.0},
            {"status_interval": -1.0},
        ):
            with self.assertRaisesRegex(ValueError, next(iter(parameters))):
                aperture.stream_align(**parameters)


if __name__ == "__main__":
    gr_unittest.run(qa_stream_align)
