#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block that follows the sky, and its beams on simulated sources."""

import math
import time as host
import unittest.mock

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import pfb_channelizer, pointing, tags, upchanneliser
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.beams.weights import beam_weights, channel_frequencies
from gnuradio.aperture.pointing import Drift
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.item_stream import Log, clock, stream
from gnuradio.aperture.testing.qa_tools import run_chain
from gnuradio.aperture.testing.satellites import EPOCH, ORBITS
from gnuradio.aperture.tracking.directions import parse_direction

START = 1704067200


def array_of(sample_rate=1e6, frequency=1.5e8, extent=60.0, seed=1):
    """Eight antennas in a plane, single polarisation."""
    rng = np.random.default_rng(seed)
    places = [Antenna(f"A{i}", (*rng.uniform(-extent, extent, 2), 0.0)) for i in range(8)]
    return make_array(places, rate=sample_rate, center=frequency)


def target(array, azimuth=150.0, elevation=60.0, time=START, name="s"):
    """A Beam that moves and is there at that time."""
    ra, dec = geometry.azel_to_radec(
        azimuth, elevation, time, array.latitude, array.longitude, array.height
    )
    return Beam(name, ra=float(ra), dec=float(dec))


def towards(array, target, times):
    """Unit vectors [time][east, north, up] to a target, of unix times."""
    az, el = np.full(len(times), target.azimuth), np.full(len(times), target.elevation)
    if target.moving:
        az, el = geometry.radec_to_azel(
            target.ra, target.dec, np.asarray(times), array.latitude, array.longitude, array.height
        )
    az, el = np.radians(az), np.radians(el)
    return np.stack([np.cos(el) * np.sin(az), np.cos(el) * np.cos(az), np.sin(el)], axis=-1)


def voltages(array, target, times, frequency):
    """[time][input] of a source of power 1, by the definition of a signal."""
    return np.exp(
        2j
        * np.pi
        * frequency
        / 299792458.0
        * (towards(array, target, times) @ array.input_positions().T)
    )


def largest_phases(array, beams, times, weights, frequencies):
    """
    [time], in degrees: how far the inputs of a beam are out of phase on its target at most, in the
    outermost channels.

    weights: [time][channel][beam][input]
    """
    worst = np.zeros(len(times))
    for k in (0, len(frequencies) - 1):
        for m, beam in enumerate(beams):
            lined_up = weights[:, k, m] * voltages(array, beam, times, frequencies[k])
            worst = np.maximum(worst, np.degrees(np.abs(np.angle(lined_up)).max(axis=1)))
    return worst


def time_of(message):
    """Returns the time from which the weights of a message hold; None: at once."""
    time = pmt.dict_ref(message, pmt.intern("time"), pmt.PMT_NIL)
    if pmt.is_null(time):
        return None
    return pmt.to_uint64(pmt.tuple_ref(time, 0)) + pmt.to_double(pmt.tuple_ref(time, 1))


class messages(gr.basic_block):
    """Keeps what comes: (time or None, weights [...])."""

    def __init__(self, shape):
        gr.basic_block.__init__(self, "messages", None, None)
        self.message_port_register_in(pmt.intern("weights"))
        self.set_msg_handler(pmt.intern("weights"), self._take)
        self._shape = shape
        self.found = []

    def _take(self, message):
        weights = pmt.dict_ref(message, pmt.intern("weights"), pmt.PMT_NIL)
        self.found.append(
            (time_of(message), np.reshape(pmt.c32vector_elements(weights), self._shape))
        )


def band(array):
    """Returns the arguments for streams that are slower than their samples."""
    return {"center_frequency": array.center_frequency, "bandwidth": array.sample_rate}


def follow(array, beams, found, items, channels=3, at_once=1000, logger=None, **arguments):
    """Sends items with these tags through `pointing`; its messages. They are of the description's
    band, if not told otherwise."""
    block = pointing(array, beams, channels, item_size=1, **{**band(array), **arguments})
    if logger is not None:
        block.logger = logger
    sink = messages((channels, len(beams), len(array.inputs)))
    top = gr.top_block()
    source = stream(items, found, at_once)
    top.connect(source, block)
    top.msg_connect(block, "weights", sink, "weights")
    top.run()
    assert block.updates() == len(sink.found), (block.updates(), len(sink.found))
    return sink.found


def tags_of(found):
    """Returns tags for a vector source."""
    made = []
    for item, key, value in found:
        made.append(gr.tag_t())
        made[-1].offset, made[-1].key, made[-1].value = item, pmt.intern(key), value
    return made


class qa_drift(gr_unittest.TestCase):
    def test_satellites(self):
        """Weights made for the middle of the time in which they hold are wrong by no more than was
        asked for at its ends, all along an orbit, beside a star and with tracked delays; by some
        of it where the satellite is near."""
        array = array_of(extent=200.0)
        satellite = Beam("s", tle=ORBITS["station"])
        frequency = [1.5e8]
        used = []
        for tracked in (None, parse_direction("Cas A")):
            for begin in EPOCH + np.arange(0, 86400, 4001.0):
                drift = Drift(array, [satellite, Beam("z", 0.0, 90.0)], frequency, begin, tracked)
                span = drift.span(2.0)
                middle, *ends = (
                    beam_weights(array, [satellite], frequency, time, tracked=tracked)[0, 0]
                    for time in (begin + span / 2, begin, begin + span)
                )
                off = max(np.degrees(np.abs(np.angle(end / middle))).max() for end in ends)
                self.assertLess(off, 2.0 + 1e-3)
                used.append(off)
        self.assertGreater(max(used), 0.3)
        self.assertLess(Drift(array, [satellite], frequency).span(2.0), 1.0)


class qa_pointing(gr_unittest.TestCase):
    def holding(self, found, time):
        """The weights of the messages that hold at a time."""
        holds = [weights for since, weights in found if since is None or since <= time]
        return holds[-1]

    def test_phases_stay_within_the_error(self):
        array = array_of()
        beams = [target(array), Beam("fixed", 10.0, 50.0), target(array, 30.0, 40.0)]
        frequencies = channel_frequencies(3, array.center_frequency, array.sample_rate)
        counts = []
        for phase_error in (0.5, 1.0, 4.0):
            found = follow(
                array, beams, clock(0, START, rate=1.0), 1200, at_once=10, phase_error=phase_error
            )
            self.assertIsNone(found[0][0])
            self.assertTrue(
                all(a < b for a, b in zip([m[0] for m in found[1:]], [m[0] for m in found[2:]]))
            )
            times = np.arange(START, START + 1200, 13.3)
            weights = np.stack([self.holding(found, time) for time in times])
            worst = largest_phases(array, beams, times, weights, frequencies).max()
            self.assertLess(worst, phase_error * 1.001)
            # weights are not sent much more often than it takes: the bound is that of the farthest
            # antenna
            self.assertGreater(worst, phase_error * 0.6)
            counts.append(len(found))
        np.testing.assert_allclose(counts[0] / counts[2], 8, rtol=0.1)

    def test_frames_at_whose_starts_weights_change(self):
        """
        The error is kept where frames are shorter than the time for which weights hold, 4 s
        here; where they are longer, it is what largest_error() and the log say.
        """
        array = array_of()
        beams = [target(array), target(array, 30.0, 40.0)]
        frequencies = channel_frequencies(3, array.center_frequency, array.sample_rate)
        for frame, kept in ((0.3, True), (1.7, True), (7.3, False)):
            log = Log()
            block = pointing(array, beams, 3, item_size=1, frame_length=frame, **band(array))
            block.logger = log
            sink = messages((3, 2, len(array.inputs)))
            top = gr.top_block()
            source = stream(500, clock(0, START, rate=1.0), 10)
            top.connect(source, block)
            top.msg_connect(block, "weights", sink, "weights")
            top.run()
            times = np.arange(START, START + 500, 4.7)
            # frames start anywhere
            begins = START + 0.21 + frame * np.floor((times - START - 0.21) / frame)
            weights = np.stack([self.holding(sink.found, begin) for begin in begins])
            worst = largest_phases(array, beams, times, weights, frequencies).max()
            error = block.largest_error()
            self.assertLess(worst, error * 1.001)
            self.assertGreater(worst, error * 0.6)
            self.assertEqual(error < 1.001, kept)
            self.assertEqual(len(log.warnings), 0 if kept else 1)

    def test_ahead_of_time(self):
        array = array_of()
        beams = [target(array)]
        # ends after 100 s: all that holds up to 20 s after that has been sent
        found = follow(array, beams, clock(0, START, rate=10.0), 1000, lead=20.0)
        sent = [time for time, _ in found[1:]]
        step = np.diff(sent).mean()
        self.assertLess(sent[-1], START + 120)
        self.assertGreater(sent[-1], START + 120 - 2 * step)

    def test_hands_on_what_is_pointed_at(self):
        """Each item comes, without a lead, after all weights that hold from its time on."""
        array = array_of()

        class reader(gr.sync_block):
            """A reader like a beamformer: messages are taken between two calls of work(), and
            before items that came after them."""

            def __init__(self):
                gr.sync_block.__init__(self, "reader", [np.uint8], None)
                self.message_port_register_in(pmt.intern("weights"))
                self.set_msg_handler(pmt.intern("weights"), self._take)
                self.found, self.tags = [], []

            def _take(self, message):
                if (time := time_of(message)) is not None:
                    self.found.append((time, self.nitems_read(0)))

            def work(self, inputs, _):
                while (message := self.delete_head_nowait(pmt.intern("weights"))) is not None:
                    self._take(message)
                self.tags += self.get_tags_in_window(0, 0, len(inputs[0]))
                return len(inputs[0])

        block = pointing(array, [target(array)], 3, item_size=1, lead=0.0, **band(array))
        source, sink, copy = (
            stream(3600, clock(0, START, rate=1.0), 700),
            reader(),
            blocks.vector_sink_b(),
        )
        top = gr.top_block()
        top.connect(source, block, sink)
        top.connect(block, copy)
        top.msg_connect(block, "weights", sink, "weights")
        top.run()
        self.assertEqual(list(copy.data()), [item % 251 for item in range(3600)])
        self.assertEqual(
            {pmt.symbol_to_string(tag.key) for tag in sink.tags}, {"rx_time", "rx_rate"}
        )
        self.assertGreater(len(sink.found), 100)
        for time, items in sink.found:
            self.assertLessEqual(items, time - START + 1)

    def test_beams_that_stand_still_are_sent_once(self):
        array = array_of()
        beams = [Beam("a", 10.0, 50.0), Beam("b", 20.0, 50.0)]
        found = follow(array, beams, clock(0, START, rate=1.0), 36000)
        self.assertEqual([time for time, _ in found], [None])
        expected = beam_weights(array, beams, channel_frequencies(3, 1.5e8, 1e6))
        np.testing.assert_array_equal(found[0][1], expected)

    def test_a_jump_in_time(self):
        array = array_of()
        beams = [target(array)]
        found = follow(
            array, beams, clock(0, START, 0.25, 1.0) + clock(500, START + 5000), 600, at_once=100
        )
        untimed = [i for i, (time, _) in enumerate(found) if time is None]
        self.assertEqual(len(untimed), 2)
        weights = found[untimed[-1]][1]
        x = voltages(array, beams[0], [START + 5000], 1.5e8)[0]
        self.assertLess(np.degrees(np.abs(np.angle(weights[1, 0] * x)).max()), 1.01)

    def test_the_hosts_clock(self):
        array = array_of()
        beams = [target(array, time=START + 1000)]
        x = voltages(array, beams[0], [START + 1000], 1.5e8)[0]
        with unittest.mock.patch("time.time", return_value=START + 1000.0):
            for found in ([], clock(0, 3, 0.5, 1.0)):  # none, and one that counts from the start
                weights = follow(array, beams, found, 10)[0][1]
                self.assertLess(np.degrees(np.abs(np.angle(weights[1, 0] * x)).max()), 1.01)

    def test_pointing_anew_replaces_what_was_sent_ahead(self):
        array = array_of()
        first, second = target(array), target(array, 30.0, 40.0)
        block = pointing(array, [first], 3, item_size=1, lead=60.0, **band(array))
        sink = messages((3, 1, 8))
        feed = stream(100, clock(0, START, rate=1.0), 10)
        top = gr.top_block()

        class change(gr.sync_block):
            """Points anew when item 50 comes by."""

            def __init__(self):
                gr.sync_block.__init__(self, "change", [np.uint8], [np.uint8])
                self.done = False

            def work(self, inputs, outputs):
                if self.nitems_read(0) >= 50 and not self.done:
                    while block.nitems_read(0) < 50:
                        host.sleep(0.001)
                    block.set_beams([second])
                    self.done = True
                outputs[0][:] = inputs[0]
                return len(outputs[0])

        changer = change()
        changer.set_max_noutput_items(10)  # item 50 comes apart from the first
        top.connect(feed, changer, block)
        top.msg_connect(block, "weights", sink, "weights")
        top.run()
        again = [i for i, (time, _) in enumerate(sink.found) if time is None]
        self.assertEqual(len(again), 2)
        # later messages for a time replace earlier ones, as in a beamformer
        known = {}
        for time, weights in sink.found[again[1] + 1 :]:
            known[time] = weights
        # the new weights would hold longer than the old ones, so that these set the pace
        old = {
            time for time, _ in sink.found[: again[1]] if time is not None and time >= min(known)
        }
        self.assertIn(min(known), old)
        self.assertGreater(len(old), 3)
        self.assertTrue(old <= set(known))
        for time, weights in known.items():
            x = voltages(array, second, [time], 1.5e8)[0]
            self.assertLess(np.degrees(np.abs(np.angle(weights[1, 0] * x)).max()), 1.01)

    def test_the_streams_band(self):
        """rx_freq and rx_rate, or bandwidth, say where the channels are, not the description."""
        array, beams = array_of(), [Beam("a", 10.0, 50.0)]
        tuned = clock(0, START, rate=2e6) + [(0, tags.rx_freq, pmt.from_double(1.42e9))]
        channelised = [(0, tags.bandwidth, pmt.from_double(5e5))]
        for found, arguments, frequency, width in (
            (tuned, {}, 1.42e9, 2e6),
            (tuned, {"real": True}, 1.42e9, 1e6),
            (tuned + channelised, {}, 1.42e9, 5e5),
            (clock(0, START), {}, 1.5e8, 1e6),
            (clock(0, START), {"real": True}, 1.5e8, 5e5),
            ([], {}, 1.5e8, 1e6),
            (tuned, {"samples_per_item": 4}, 1.42e9, 8e6),
            (tuned, {"samples_per_item": 2, "real": True}, 1.42e9, 2e6),
            ([], {"samples_per_item": 2}, 1.5e8, 1e6),
            (tuned, band(array), 1.5e8, 1e6),
        ):
            messages = follow(
                array,
                beams,
                found,
                10,
                logger=Log(),
                **{"center_frequency": 0, "bandwidth": 0, **arguments},
            )
            self.assertEqual(len(messages), 1)
            expected = beam_weights(array, beams, channel_frequencies(3, frequency, width))
            np.testing.assert_array_equal(messages[0][1], expected)

    def test_where_a_tone_comes_out(self):
        """A carrier is in that channel of the channeliser whose frequency the weights are for, also
        where each channel is split."""
        for real in (False, True):
            for inverted in (False, True):
                for fine in (1, 2, 3):
                    self.check_tones(real, inverted, fine)

    def check_tones(self, real, inverted, fine):
        array, channels, rate, middle = array_of(), 8, 1000.0, 1.5e8
        found = clock(0, START, rate=rate) + [(0, tags.rx_freq, pmt.from_double(middle))]
        block = pointing(
            array,
            [Beam("a", 10.0, 50.0)],
            channels * fine,
            fine=fine,
            real=real,
            inverted=inverted,
            item_size=4 if real else 8,
        )
        spacing = rate / channels / (2 if real else 1)
        for place in np.arange(-3, 4):
            frequency = middle + (place + (place % 2 if fine == 3 else 0) / 3) * spacing
            offset = (middle - frequency if inverted else frequency - middle) / rate
            cycles = (offset + 0.25 * real) * np.arange(600)
            wave = np.exp(2j * np.pi * cycles)
            source = (
                blocks.vector_source_f(wave.real, tags=tags_of(found))
                if real
                else blocks.vector_source_c(wave, tags=tags_of(found))
            )
            bank = pfb_channelizer(
                channels=channels,
                inputs=1,
                inverted=inverted,
                device="cpu",
                input_type="f32" if real else "fc32",
            )
            chain = [source, block, bank]
            if fine > 1:
                chain.append(upchanneliser(channels=channels, fine=fine, inputs=1, device="cpu"))
            sink = blocks.vector_sink_c(channels * fine)
            run_chain(*chain, sink)
            power = np.mean(np.abs(np.reshape(sink.data(), (-1, channels * fine))) ** 2, axis=0)
            self.assertGreater(power.max(), 0.9 * power.sum())
            self.assertAlmostEqual(
                block.frequencies()[power.argmax()], frequency, delta=1e-3 * spacing
            )

    def test_tuned_anew(self):
        """Weights for the new band hold from the tag on, those before it are for the old one."""
        array = array_of()
        beams = [target(array), Beam("fixed", 10.0, 50.0)]
        old = channel_frequencies(3, 1.5e8, 10.0)
        new = channel_frequencies(3, 1.6e8, 10.0)
        for lead in (0.0, 40.0):
            for at_once in (7, 1000):
                found = follow(
                    array,
                    beams,
                    clock(0, START, rate=10.0)
                    + [
                        (0, tags.rx_freq, pmt.from_double(1.5e8)),
                        (503, tags.rx_freq, pmt.from_double(1.6e8)),
                    ],
                    1000,
                    at_once=at_once,
                    lead=lead,
                    center_frequency=0,
                    bandwidth=0,
                )
                self.assertEqual([time for time, _ in found].count(None), 1)
                # later messages for a time replace earlier ones, as in a beamformer
                known = sorted({time or 0: weights for time, weights in found}.items())
                self.assertIn(START + 50.3, [time for time, _ in known])
                times = np.concatenate([np.arange(START, START + 100, 0.71), [START + 50.3]])
                for part, frequencies in (
                    (times < START + 50.3, old),
                    (times >= START + 50.3, new),
                ):
                    weights = np.stack([self.holding(known, time) for time in times[part]])
                    worst = largest_phases(array, beams, times[part], weights, frequencies)
                    self.assertLess(worst.max(), 1.001)

    def test_a_band_that_is_not_the_streams(self):
        """Is said once; a part of the stream's band is not."""
        array, beams = array_of(), [Beam("a", 10.0, 50.0)]

        def tuned(item, frequency):
            return [(item, tags.rx_freq, pmt.from_double(frequency))]

        right = clock(0, START, rate=1e6) + tuned(0, 1.5e8)
        for found, arguments, warnings in (
            (right, {}, 0),
            (right, {"center_frequency": 1.503e8, "bandwidth": 4e5}, 0),
            (right, {"center_frequency": 1.515e8, "bandwidth": 4e5}, 1),
            (right, {"bandwidth": 2e6}, 1),
            (clock(0, START, rate=3e6), {}, 0),
            (right + tuned(20, 1.6e8) + tuned(30, 1.7e8), {}, 1),
            (right, {"real": True}, 1),
            (right, {"real": True, "bandwidth": 5e5}, 0),
        ):
            log = Log()
            follow(array, beams, found, 100, logger=log, **arguments)
            self.assertEqual(len(log.warnings), warnings, (found, arguments))
            for text in log.warnings:
                self.assertRegex(
                    text,
                    r"center_frequency, bandwidth: 15[\d.]+ Hz, \d+ Hz, were "
                    r"given, but the stream's tags say \d+ Hz, \d+ Hz",
                )

    def test_times_of_which_the_rotation_of_the_earth_is_not_known(self):
        """Are told once, where beams follow the sky."""
        array, late = array_of(), 1893456000  # 2030
        for time, beam, warnings in (
            (late, target(array, time=late), 1),
            (late, Beam("a", 1.0, 50.0), 0),
            (START, target(array), 0),
        ):
            log = Log()
            follow(array, [beam], clock(0, time, rate=1.0), 600, logger=log)
            self.assertEqual(len(log.warnings), warnings)
            for text in log.warnings:
                self.assertIn("rotation of the Earth at Julian date 2462502.5 is not known", text)

    def test_tags_that_are_wrong(self):
        """A rate that is none ends the block with an error, a time that is none is ignored."""
        array = array_of()
        for value in (
            pmt.from_double(0.0),
            pmt.from_double(-1.0),
            pmt.from_double(math.nan),
            pmt.from_double(math.inf),
            pmt.intern("fast"),
        ):
            block = pointing(array, [target(array)], 3, item_size=1)
            block.set_log_level("off")
            source = stream(100, clock(0, START) + [(10, tags.rx_rate, value)], 10)
            run_chain(source, block)
            self.assertRegex(block.error(), "rx_rate")
            self.assertLessEqual(block.nitems_read(0), 10)
        for key, value in ((tags.rx_freq, -1.0), (tags.rx_freq, math.nan), (tags.bandwidth, 0.0)):
            block = pointing(array, [target(array)], 3, item_size=1)
            block.set_log_level("off")
            source = stream(100, [(10, key, pmt.from_double(value))], 100)
            run_chain(source, block)
            self.assertRegex(block.error(), f"{key}: {value} is not allowed")
        right = follow(array, [target(array)], clock(0, START, rate=1.0), 600)
        for value in (
            pmt.intern("now"),
            pmt.make_tuple(pmt.from_uint64(START)),
            pmt.make_tuple(pmt.from_uint64(START), pmt.from_double(math.nan)),
            pmt.make_tuple(pmt.from_double(START), pmt.from_double(0.0)),
            pmt.make_tuple(pmt.from_uint64(2**64 - 1), pmt.from_double(0.0)),
        ):
            found = follow(
                array,
                [target(array)],
                clock(0, START, rate=1.0) + [(300, tags.rx_time, value)],
                600,
            )
            self.assertEqual([time for time, _ in found], [time for time, _ in right])

    def test_refuses(self):
        array = array_of()
        beams = [Beam("a", 10.0, 50.0)]
        for arguments, text in (
            (dict(channels=0), "channels: 0"),
            (dict(channels=2**31), "channels: 2147483648"),
            (dict(bandwidth=math.inf, center_frequency=1e9), "bandwidth: inf"),
            (dict(bandwidth=1e6, center_frequency=math.inf), "center_frequency: inf"),
            (dict(phase_error=0), "phase_error: 0"),
            (dict(phase_error=91), "phase_error: 91"),
            (dict(frame_length=-1), "frame_length: -1"),
            (dict(frame_length="a"), "frame_length: 'a' is not allowed"),
            (dict(phase_error="a"), "phase_error: 'a' is not allowed"),
            (dict(lead="a"), "lead: 'a'"),
            (dict(lead=3601), "lead: 3601 .* 0 to 3600 s"),
            (dict(center_frequency="a"), "center_frequency: 'a'"),
            (dict(lead=-1), "lead: -1"),
            (dict(lead=math.nan), "lead: nan"),
            (dict(item_size=0), "item_size: 0"),
            (dict(samples_per_item=0), "samples_per_item: 0"),
            (dict(bandwidth=1e6, center_frequency=-1), "center_frequency: -1"),
            (dict(inputs=9), "inputs: 9"),
            (dict(beams=[]), "beams"),
            (dict(taper="x"), "taper: 'x'"),
            (dict(taper=[1, [2]]), r"taper: \[1, \[2\]\] is not"),
            (dict(calibration=[1]), r"calibration: \(1,\) is not"),
            (dict(calibration="x"), "calibration: 'x' is not"),
            (dict(calibration=[1] * 7 + [{}]), "calibration: .*{}] is not"),
            (dict(calibration=[1] * 7 + [math.nan]), r"calibration: \(nan\+0j\) is not"),
            (dict(lead=10**400), "lead: 1000"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                pointing(**{"array": array, "beams": beams, **arguments})
        block = pointing(array, beams)
        with self.assertRaisesRegex(ValueError, "2 beams"):
            block.set_beams(beams * 2)
        for wrong in (
            lambda: block.set_taper("x"),
            lambda: block.set_calibration([1, 2]),
            lambda: block.set_normalise("x"),
            lambda: block.set_phase_error(0),
            lambda: block.set_beams([Beam("a", 1.0, 1.0, antennas=("Z",))]),
        ):
            with self.assertRaises(ValueError):
                wrong()
        # a refused setting changed nothing
        self.assertEqual(block.beams(), beams)
        np.testing.assert_array_equal(
            block.weights(START), beam_weights(array, beams, channel_frequencies(1024, 1.5e8, 1e6))
        )


if __name__ == "__main__":
    gr_unittest.main()
