#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block that follows a direction with delays: its messages, and what they do to fringes."""

import math

import numpy as np
import pmt
from gnuradio import blocks, gr, gr_unittest

from gnuradio.aperture import delay_tracker, tags
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Antenna, Input
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.item_stream import Log, clock, stream
from gnuradio.aperture.testing.qa_tools import comes_true, run_chain
from gnuradio.aperture.tracking.delay_model import DelayModel
from gnuradio.aperture.tracking.directions import Direction, parse_direction

START = 1577934245  # 2020-01-02T03:04:05Z
FREQUENCY = 1.4e9
RATE = 1000.0  # items a second of the streams of tags: an hour is short


def array_of(extent=300.0, inputs=5, sample_rate=RATE):
    rng = np.random.default_rng(1)
    places = [
        Antenna(f"A{i}", tuple(rng.uniform(-extent, extent, 3) * (1, 1, 0.02)))
        for i in range(inputs)
    ]
    return make_array(
        places,
        inputs=[Input(place.name, "x", cable_delay=1e-8 * i) for i, place in enumerate(places)],
        rate=sample_rate,
        center=FREQUENCY,
    )


def target(array, azimuth=150.0, elevation=60.0, time=START, name="s"):
    """A Direction that moves and is there at that time."""
    ra, dec = geometry.azel_to_radec(
        azimuth, elevation, time, array.latitude, array.longitude, array.height
    )
    return Direction(name, ra=float(ra), dec=float(dec))


def time_of(message):
    time = pmt.dict_ref(message, pmt.intern("time"), pmt.PMT_NIL)
    return pmt.to_uint64(pmt.tuple_ref(time, 0)) + pmt.to_double(pmt.tuple_ref(time, 1))


class messages(gr.basic_block):
    """Keeps what comes as dictionaries of Python's."""

    def __init__(self):
        gr.basic_block.__init__(self, "messages", None, None)
        self.found = []
        for port, handler in (("delays", self._take_delays), ("status", self._take_status)):
            self.message_port_register_in(pmt.intern(port))
            self.set_msg_handler(pmt.intern(port), handler)

    def _take_delays(self, message):
        self._take("delays", message)

    def _take_status(self, message):
        self._take("status", message)

    def _take(self, port, message):
        values = {"time": time_of(message)} if pmt.dict_has_key(message, pmt.intern("time")) else {}
        for pair in range(pmt.length(pmt.dict_items(message))):
            entry = pmt.nth(pair, pmt.dict_items(message))
            key = pmt.symbol_to_string(pmt.car(entry))
            if key != "time":
                values[key] = pmt.to_python(pmt.cdr(entry))
        self.found.append((port, values))

    def of(self, port):
        return [values for name, values in self.found if name == port]


def follow(array, direction, items, found, at_once=1000, logger=None, prepare=None, **arguments):
    """Sends items with these tags through `delay_tracker`: (delays, status, block)."""
    block = delay_tracker(array, direction, item_size=1, **arguments)
    block.logger = logger or Log()
    sink = messages()
    top = gr.top_block()
    source = stream(items, found, at_once, prepare and (lambda first: prepare(first, block)))
    top.connect(source, block)
    for port in ("delays", "status"):
        top.msg_connect(block, port, sink, port)
    top.run()
    assert block.error() is None, block.error()
    delays = sink.of("delays")
    assert block.updates() == len(delays)
    return delays, sink.of("status"), block


def holding(found, time):
    """The model that holds at a time: delays and phases of all inputs then."""
    holds = [values for values in found if values["time"] <= time]
    # the last of several for the same time counts
    latest = max(values["time"] for values in holds)
    values = [values for values in holds if values["time"] == latest][-1]
    ahead = time - values["time"]
    return (
        np.add(values["delay"], np.multiply(values["delay_rate"], ahead)),
        np.add(values["phase"], np.multiply(values["phase_rate"], ahead)),
    )


def relative(values):
    """Returns the values of inputs relative to the first one."""
    return values - values[:1]


class qa_delay_tracker(gr_unittest.TestCase):
    def expect(self, array, direction, found, time, frequency=FREQUENCY, error=0.1):
        """The model that holds lines the inputs up, within the error (degrees)."""
        delay, phase = holding(found, time)
        exact = DelayModel(array, direction).compensation(time)
        off = relative(phase + 2 * np.pi * frequency * exact)
        self.assertLess(np.abs(np.angle(np.exp(1j * off), deg=True)).max(), error)
        self.assertLess(360 * frequency * np.abs(relative(delay - exact)).max(), error)

    def test_an_hour(self):
        """Models follow each other without a gap, and are never further off than was asked for."""
        array = array_of()
        for error in (0.1, 2.0):
            direction = target(array)
            found, _, block = follow(
                array, direction, 3_600_000, clock(0, START, 0.25, RATE), 8192, phase_error=error
            )
            interval = block.interval()
            self.assertLess(abs(len(found) - 3601 / interval), 3)
            np.testing.assert_allclose(np.diff([values["time"] for values in found]), interval)
            self.assertEqual({values["model"] for values in found}, {"geometry"})
            self.assertEqual(found[0]["time"], START + 0.25)
            for time in START + 0.25 + np.linspace(0, 3600, 211):
                self.expect(array, direction, found, time, error=error)

    def test_ahead(self):
        """Each model is there `lead` seconds before the item from which on it holds."""
        array = array_of()
        direction = target(array)
        for lead in (0.0, 7.5):
            seen = []

            def note(first, block):
                # wait until what was sent is done
                comes_true(lambda: block.nitems_read(0) >= first, pause=1e-4)
                seen.append((first, block.updates()))

            found, _, _ = follow(
                array, direction, 100_000, clock(0, START, 0.0, RATE), 1000, prepare=note, lead=lead
            )
            times = np.array([values["time"] for values in found])
            for items, updates in seen[1:]:
                self.assertEqual(updates, np.sum(times < START + items / RATE + lead))

    def test_passes_on(self):
        array = array_of()
        block = delay_tracker(array, "sun", item_size=1)
        block.logger = Log()
        sink = blocks.vector_sink_b()
        source = stream(10_000, clock(0, START, 0.0, RATE), 777)
        run_chain(source, block, sink)
        self.assertIsNone(block.error())
        np.testing.assert_array_equal(sink.data(), np.arange(10_000) % 251)
        self.assertEqual(
            {pmt.symbol_to_string(tag.key) for tag in sink.tags()}, {"rx_time", "rx_rate"}
        )

    def test_what_stands_still(self):
        found, status, block = follow(
            array_of(), "az=120, el=50", 100_000, clock(0, START, 0.0, RATE)
        )
        self.assertEqual(len(found), 1)
        self.assertEqual(block.interval(), math.inf)
        np.testing.assert_array_equal(found[0]["delay_rate"], 0)
        np.testing.assert_array_equal(found[0]["phase_rate"], 0)
        self.assertEqual(status[0]["event"], "tracking")
        self.assertEqual((status[0]["azimuth"], status[0]["elevation"]), (120, 50))

    def test_rates_are_those_of_the_geometry(self):
        """The delay of a baseline b to the east drifts by b w cos(dec)/c in transit (the eastern
        input's delay becomes less), of the sun 1/365 slower; signs change with the side of the
        zenith."""
        array = make_array(
            {"W": (0, 0, 0), "E": (1000.0, 0, 0)},
            rate=RATE,
            center=FREQUENCY,
            site=(40.0, 0.0, 0.0),
            name="pair",
        )
        expected = 1000 * geometry.EARTH_ROTATION_RATE / geometry.SPEED_OF_LIGHT
        for azimuth, elevation in ((180.0, 60.0), (0.0, 60.0)):
            direction = target(array, azimuth, elevation)
            found, _, _ = follow(array, direction, 1000, clock(0, START, 0.0, RATE))
            rate = found[0]["delay_rate"][1] - found[0]["delay_rate"][0]
            apparent = expected * math.cos(math.radians(direction.dec))
            # precession since 2000 has moved the declination by up to 7 minutes of arc
            np.testing.assert_allclose(rate, -apparent, rtol=6e-3)
            self.assertAlmostEqual(
                found[0]["phase_rate"][1] - found[0]["phase_rate"][0],
                -2 * np.pi * FREQUENCY * rate,
                places=9,
            )
        for azimuth, first in ((90.0, 1), (270.0, 0)):
            found, _, _ = follow(
                array, target(array, azimuth, 45.0), 1000, clock(0, START, 0.0, RATE)
            )
            late = found[0]["delay"]
            self.assertEqual(late[1 - first], 0)
            self.assertAlmostEqual(
                late[first], 1000 / geometry.SPEED_OF_LIGHT * math.sqrt(0.5), delta=1e-12
            )

    def test_another_direction(self):
        """A call and a message; what had been sent ahead is replaced, time by time."""
        array = array_of()
        first, second = target(array), target(array, 250.0, 40.0, name="t")

        def change(item, block):
            if item == 50_000:
                comes_true(lambda: block.nitems_read(0) >= item, pause=1e-4)
                block.track(second)

        found, status, block = follow(
            array, first, 100_000, clock(0, START, 0.0, RATE), prepare=change, lead=40.0
        )
        self.assertEqual(block.direction(), second)
        for time in START + np.arange(51, 139, 1.7):
            self.expect(array, second, found, time)
        self.assertEqual(
            [values["direction"] for values in status if values["event"] == "tracking"][:1], ["s"]
        )
        self.assertIn("t", [values["direction"] for values in status])

    def test_messages(self):
        array = array_of()
        block = delay_tracker(array, "sun")
        block.logger = Log()
        for message, name in (
            (pmt.intern("Cas A"), "Cas A"),
            (pmt.cons(pmt.intern("direction"), pmt.intern("moon")), "Moon"),
            (pmt.dict_add(pmt.make_dict(), pmt.intern("direction"), pmt.intern("Vir A")), "Vir A"),
            (
                pmt.dict_add(
                    pmt.dict_add(pmt.make_dict(), pmt.intern("ra"), pmt.from_double(10.0)),
                    pmt.intern("dec"),
                    pmt.from_double(20.0),
                ),
                "ra 10.0, dec 20.0",
            ),
        ):
            block._take_direction(message)
            self.assertEqual(block.direction().name, name)
        for message in (pmt.intern("nowhere"), pmt.PMT_T, pmt.make_dict()):
            block._take_direction(message)
        self.assertEqual(len(block.logger.warnings), 3)
        self.assertEqual(block.direction().name, "ra 10.0, dec 20.0")

    def test_below_the_horizon(self):
        array = array_of()
        log = Log()
        # sets within the next hour
        direction = target(array, 300.0, 2.0)
        found, status, _ = follow(
            array,
            direction,
            3_600_000,
            clock(0, START, 0.0, RATE),
            8192,
            logger=log,
            status_period=600.0,
        )
        events = [values["event"] for values in status]
        self.assertEqual(events[0], "tracking")
        self.assertEqual(events.count("below_horizon"), 1)
        self.assertEqual(events.count("tracking"), 6)
        sets = status[events.index("below_horizon")]
        self.assertLess(abs(sets["elevation"]), 0.3)  # a call may be half a minute
        model = DelayModel(array, direction)
        self.assertAlmostEqual(model.azimuth_elevation(sets["time"])[1], sets["elevation"])
        self.assertRegex(log.warnings[0], "s is below the horizon")
        # delays go on
        self.expect(array, direction, found, START + 3599.0)

    def test_beyond_the_table(self):
        log = Log()
        found, _, _ = follow(array_of(), "Cas A", 1000, clock(0, 4102444800, 0.0, RATE), logger=log)
        self.assertEqual(len(found) > 0, True)
        self.assertRegex(log.warnings[0], "rotation of the Earth.*may be wrong by.*arc seconds")

    def test_tuned_anew(self):
        """Phases are for the frequency that the stream has; a jump of the clock is followed."""
        array = array_of()
        direction = target(array)
        tags_there = (
            clock(0, START, 0.0, RATE)
            + [
                (0, tags.rx_freq, pmt.from_double(1.0e9)),
                (40_000, tags.rx_freq, pmt.from_double(1.6e9)),
            ]
            + clock(70_000, START + 1000)
        )
        found, _, block = follow(array, direction, 100_000, tags_there, lead=5.0)
        self.assertEqual(block.center_frequency(), 1.6e9)
        before = [values for values in found[:10] if values["time"] < START + 40]
        self.expect(array, direction, before, START + 20.0, 1.0e9)
        for time in (START + 40.001, START + 47.0, START + 69.0, START + 1001.0, START + 1029.0):
            self.expect(array, direction, found, time, 1.6e9)

    def test_middle_channel(self):
        """Channel n/2 of real samples of an inverted band is one above the middle of the band."""
        array = array_of(sample_rate=1e6)
        for real, inverted, expected in (
            (False, False, 0),
            (False, True, 0),
            (True, False, 0),
            (True, True, 0.5e6 / 64),
        ):
            block = delay_tracker(array, "Cas A", 64, real=real, inverted=inverted)
            self.assertAlmostEqual(block.center_frequency(), FREQUENCY + expected)
        self.assertEqual(
            delay_tracker(array, "Cas A", center_frequency=5e8).center_frequency(), 5e8
        )

    def test_refuses(self):
        for arguments, text in (
            (dict(direction="nowhere"), "direction: 'nowhere'"),
            (dict(channels=0), "channels: 0"),
            (dict(lead=-1), "lead: -1"),
            (dict(phase_error=0), "phase_error: 0"),
            (dict(status_period=math.nan), "status_period: nan"),
            (dict(center_frequency=-1), "center_frequency: -1"),
            (dict(item_size=0), "item_size: 0"),
            (dict(samples_per_item=0.5), "samples_per_item: 0.5"),
            (dict(inputs=3), "inputs: 3.*5"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                delay_tracker(array_of(), **{"direction": "sun", **arguments})
        with self.assertRaisesRegex(OSError, "array"):
            delay_tracker("no-such-array")
        block = delay_tracker(array_of(), "sun")
        with self.assertRaisesRegex(ValueError, "direction: 'x' is not known"):
            block.track("x")
        with self.assertRaisesRegex(ValueError, "phase_error: 100"):
            block.set_phase_error(100)
        self.assertEqual(block.direction(), parse_direction("sun"))

    def test_too_long_baselines(self):
        """A model each 0.4 ms would be more than Python can do: an error, and not a stream that
        never gets on."""
        site, place = (geometry.geodetic_to_ecef(40, longitude, 0) for longitude in (0, 80))
        far = (place - site) @ geometry.enu_to_ecef_rotation(40, 0)
        array = make_array(
            {"W": (0, 0, 0), "E": tuple(far)},
            rate=RATE,
            center=2e13,
            site=(40.0, 0.0, 0.0),
            name="far",
        )
        block = delay_tracker(array, "Cas A", item_size=1, phase_error=0.001)
        block.logger = type(
            "log", (), {"error": lambda self, text: None, "warn": lambda self, text: None}
        )()
        source = stream(1000, clock(0, START, 0.0, RATE), 100)
        run_chain(source, block)
        self.assertRegex(block.error(), "phase_error: 0.001.*models hold")


if __name__ == "__main__":
    gr_unittest.run(qa_delay_tracker)
