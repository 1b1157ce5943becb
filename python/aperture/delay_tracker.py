#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that keeps the delays of an array on a direction of the sky."""

import math
import sys
import threading
import time as host
from numbers import Real

import numpy as np
import pmt
from gnuradio import gr

from . import tags
from .arrays import earth_rotation
from .arrays.array_description import ArrayDescription, load_array
from .parameters.errors import refuse
from .streams.item_clock import ItemClock, time_tuple
from .streams.python_block import printable, python_block, text_of
from .streams.stream_band import Band, StreamBand
from .tracking.delay_model import DelayModel
from .tracking.directions import parse_direction

MODEL = "geometry"       # name of what it sends, beside a user's and the calibration's
LONGEST_LEAD = 3600.0    # s
SHORTEST = 1e-3          # s between models: calls of ERFA take 0.1 ms
SETTLE = 0.05            # s for which the first items wait, so that the first model is there before
MAX_CHANNELS = 1 << 24   # what the blocks take


def _is_number(value, low, high=sys.float_info.max):
    """Whether it is one from low to high, and finite."""
    return isinstance(value, Real) and low <= value <= high


def delays_message(segment, frequency, model=MODEL):
    """
    The message for the port `delays` of an F-engine.

    Parameters
    ----------
    segment : tracking.delay_model.Segment
    frequency : float
        Sky frequency of channel n/2, Hz, for the phases -2 pi f d.
    """
    turns = frequency * segment.delays
    values = {tags.delay: segment.delays, tags.delay_rate: segment.rates,
              tags.phase: -2 * np.pi * (turns - np.rint(turns)),
              tags.phase_rate: -2 * np.pi * frequency * segment.rates}
    message = pmt.dict_add(pmt.make_dict(), pmt.intern(tags.model), pmt.intern(model))
    message = pmt.dict_add(message, pmt.intern(tags.time), time_tuple(segment.time))
    for key, numbers in values.items():
        message = pmt.dict_add(message, pmt.intern(key),
                               pmt.init_f64vector(len(numbers), numbers.tolist()))
    return message


def direction_of(message):
    """The Direction of a message: a text, a pair with one behind it, or a dictionary."""
    if pmt.is_dict(message):
        inner = pmt.dict_ref(message, pmt.intern(tags.direction), pmt.PMT_NIL)
        if not pmt.is_null(inner):
            message = inner
    elif pmt.is_pair(message):
        message = pmt.cdr(message)
    value = pmt.to_python(message)
    if isinstance(value, (tuple, list, np.ndarray)):
        value = tuple(float(number) for number in value)
    return parse_direction(value)


class delay_tracker(python_block):
    """
    Keeps an array's delays on a direction: its fringes stop, and its inputs line up for beams.

    In: any stream with the tags rx_time, rx_freq and rx_rate, of which only the tags are read:
    connect what the source sends, an item a sample of each input. It says what time it is, and what
    the frequency of channel channels//2 is. Without, they are the description's and the host's.

    Out: optionally the same stream, each item after all models that hold from its time on. Put
    between the source and the F-engine, delays are never late, however fast the stream comes.
    Without, beside the F-engine, nothing is copied, and `lead` must do.

    Also out: messages on the port `delays`, for the port of that name of `f_engine` and
    `pfb_channelizer`: for all inputs `delay`, `delay_rate`, `phase`, `phase_rate`, the `time` from
    which they hold and count, and the `model` "geometry". Each input is delayed by
    d = max tau - tau, tau being its geometric and cable delay, and its phase turned by
    -2 pi f d, f the sky frequency of the middle channel. One message follows another when a
    straight line would be off by `phase_error` on the longest baseline at the highest frequency,
    and comes `lead` seconds before its time. How far delays are right is said in
    `aperture.tracking.delay_model`; a warning is logged where the Earth's rotation is not known.

    Message port `direction` in: another direction to follow from now on, a text (or a pair with one
    behind it, as GNU Radio Companion's edit boxes send, or a dictionary with `direction`).
    Message port `status` out: dictionaries with `event` (`tracking` at the start, with each other
    direction and each `status_period`; `below_horizon` and `above_horizon` when it sets and rises;
    `refused` with a `reason` for a direction that is none), `direction` (its name), `azimuth` and
    `elevation` (degrees), `time`. Delays are sent below the horizon, too.

    Parameters
    ----------
    array : ArrayDescription, or str
        An array description, or the file or shipped name of one.
    direction : Direction or str
        sun, Cas A, B0329+54, "23:23:24 +58:48:54", "az=180, el=45", as `aperture.parse_direction`
        has them.
    channels : int
        Channels of the F-engine; it makes a difference for real samples of an inverted band only.
    center_frequency : float
        Hz, of channel channels//2. 0: as the stream says.
    phase_error : float
        Degrees by which straight lines between exact delays may be wrong, 0.001 to 90.
    lead : float
        Seconds, 0 to 3600: beside the F-engine, at least what the stream's buffers hold between the
        source and the F-engine.
    status_period : float
        Seconds of the stream between messages of status; 0: at changes only.
    item_size, inputs, real, inverted, samples_per_item
        As `pointing` has them.

    Raises
    ------
    ValueError
        A parameter is not allowed.
    """

    def __init__(self, array="two-dish", direction="zenith", channels=1024, center_frequency=0.0,
                 phase_error=0.1, lead=1.0, status_period=10.0, item_size=8, inputs=None,
                 real=False, inverted=False, samples_per_item=1):
        if not isinstance(array, ArrayDescription):
            array = load_array(array)
        for name, value, least, most in (("channels", channels, 1, MAX_CHANNELS),
                                         ("item_size", item_size, 1, 2**31 - 1),
                                         ("samples_per_item", samples_per_item, 1, 2**31 - 1)):
            if not isinstance(value, (int, np.integer)) or not least <= value <= most:
                refuse(name, value, f"a whole number from {least} to {most}")
        if not _is_number(lead, 0, LONGEST_LEAD):
            refuse("lead", lead, f"0 to {LONGEST_LEAD:g} seconds")
        if not _is_number(status_period, 0):
            refuse("status_period", status_period, "0 seconds or more")
        if not _is_number(center_frequency, 0):
            refuse("center_frequency", center_frequency, "0 Hz or more, and finite")
        if not _is_number(phase_error, 1e-3, 90):
            refuse("phase_error", phase_error, "0.001 to 90 degrees")
        if inputs is not None and inputs != len(array.inputs):
            refuse("inputs", inputs, f"{len(array.inputs)}, as array {array.name!r} has so many")
        self._array, self._channels, self._lead = array, int(channels), float(lead)
        self._phase_error, self._status_period = float(phase_error), float(status_period)
        self._given = float(center_frequency)
        self._real, self._inverted = bool(real), bool(inverted)
        self._samples = int(samples_per_item)
        self._lock = threading.RLock()
        self._direction = parse_direction(direction)
        self._model = DelayModel(array, self._direction)
        self._clear()
        # NumPy deprecates what GNU Radio makes of a vector of one
        items = [(np.uint8, int(item_size)) if item_size > 1 else np.uint8]
        super().__init__("delay_tracker", items, gr.py_io_signature(0, 1, items))
        self._delays_port, self._status_port = pmt.intern("delays"), pmt.intern("status")
        self.message_port_register_out(self._delays_port)
        self.message_port_register_out(self._status_port)
        self.message_port_register_in(pmt.intern(tags.direction))
        self.set_msg_handler(pmt.intern(tags.direction), self._take_direction)

    # ---- what may change while it runs

    def track(self, direction):
        """Follows another direction, from what comes next on."""
        found = parse_direction(direction)
        with self._lock:
            if found == self._direction:
                return
            self._direction = found
            self._model = DelayModel(self._array, found)
            self._due = self._up = None

    def set_phase_error(self, phase_error):
        """Degrees; from the next model on."""
        if not _is_number(phase_error, 1e-3, 90):
            refuse("phase_error", phase_error, "0.001 to 90 degrees")
        with self._lock:
            self._phase_error = float(phase_error)

    def _take_direction(self, message):
        try:
            self.track(direction_of(message))
        except Exception as error:
            # a message must not end a flowgraph
            reason = text_of(error)
            self.logger.warn(f"direction refused: {reason}")
            self._tell("refused", {tags.reason: pmt.intern(printable(reason))})

    # ---- what can be asked for

    def direction(self):
        """The Direction that it follows."""
        return self._direction

    def delays(self, time):
        """Seconds [input] by which inputs are delayed at a time, UTC seconds since 1970."""
        return self._model.compensation(time)

    def interval(self):
        """Seconds from one model to the next; infinite where the direction stands still."""
        with self._lock:
            return self._interval()

    def center_frequency(self):
        """Hz, of channel channels//2, as it is now."""
        with self._lock:
            return self._frequency

    def updates(self):
        """How many models it has sent since the start."""
        return self._updates

    # ---- the block

    def _clear(self):
        array = self._array
        self._due = None         # from when on the next model holds; None: at once
        self._later = []         # times of the models that do not hold yet
        self._time = None        # UTC seconds since 1970 up to which the stream has come
        self._up = None          # whether the direction is above the horizon; None: not told
        self._told = 0.0         # when the status was told
        self._looked = 0.0       # when that was looked at
        self._asked = False      # whether the rotation of the Earth is known
        self._updates = 0
        self._clock = ItemClock(array.sample_rate / self._samples)
        self._stream = StreamBand(
            Band(array.center_frequency, array.sample_rate / (2 if self._real else 1)), self._real,
            self._inverted, self._samples)
        self._set_band()

    def _set_band(self):
        band = self._stream.of_channels(self._channels)
        self._frequency = self._given or band.center
        self._highest = self._frequency + band.width / 2

    def _interval(self):
        interval = self._model.interval(self._highest, self._phase_error)
        if interval < SHORTEST:
            refuse("phase_error", self._phase_error, f"such that models hold for {SHORTEST:g} s "
                   f"at least, not {interval:.3g} s")
        return interval

    def _start(self):
        with self._lock:
            self._clear()

    def _work(self, input_items, output_items):
        count = len(input_items[0])
        first = self._updates == 0
        with self._lock:
            begin = self._read_tags(count)
            self._follow(begin, self._clock.at(self.nitems_read(0) + count) + self._lead)
        if first and output_items:
            # the F-engine looks for messages before it works, but not in between: with the items it
            # could begin a moment before the first model comes
            host.sleep(SETTLE)
        for passed_on in output_items:
            passed_on[:] = input_items[0]
        return count

    def _read_tags(self, count):
        """Follows what the stream says in these items, up to the last that does, which it
        returns."""
        begin = self.nitems_read(0)
        found = {}
        for tag in self.get_tags_in_window(0, 0, count):
            found.setdefault(tag.offset, {})[pmt.symbol_to_string(tag.key)] = tag.value
        if not self._clock.running:
            self._clock.begin(begin)
        for item in sorted(found):
            if item > begin:
                # what comes before it is for the clock and the band up to there
                self._follow(begin, self._clock.at(item))
                begin = item
            if abs(self._clock.take(item, found[item])) > self._lead / 2:
                self._due = None
            before = self._frequency
            self._stream.take(found[item])
            self._set_band()
            if self._frequency != before and self._due is not None:
                # phases are for another frequency, from this item on
                self._due = None
        return begin

    def _follow(self, item, until):
        """The stream has come to an item: sends all models that hold from a time before
        `until`."""
        self._time = self._clock.at(item)
        if self._due is None:
            self._send(self._time)
        while self._due < until:
            self._send(self._due)
        self._tell_place()

    def _send(self, begin):
        """A model that holds from `begin` on."""
        if not self._asked and self._direction.moving:
            self._asked = True
            whole = math.floor(begin)
            if text := earth_rotation.warning(earth_rotation.julian_date(whole, begin - whole)):
                self.logger.warn(text)
        interval = self._interval()
        # after a change, what was sent ahead is sent once more, for the same times
        self._later = [time for time in self._later if time > self._time]
        end = min([begin + interval] + [time for time in self._later if time > begin])
        self.message_port_pub(self._delays_port,
                              delays_message(self._model.segment(begin, end), self._frequency))
        self._updates += 1
        self._due = end
        if not math.isinf(end) and end not in self._later:
            self._later.append(end)

    def _tell_place(self):
        """Status where the direction is new, sets or rises, or the period is over."""
        period = self._status_period
        if self._up is not None and 0 <= self._time - self._looked < min(period or 1.0, 1.0):
            return
        self._looked = self._time
        azimuth, elevation = self._model.azimuth_elevation(self._time)
        up, before = elevation >= 0, self._up
        place = {tags.azimuth: pmt.from_double(azimuth),
                 tags.elevation: pmt.from_double(elevation)}
        self._up = up
        if before is None or (period and not 0 <= self._time - self._told < period):
            self._told = self._time
            self._tell("tracking", place)
        if up != (True if before is None else before):
            if not up:
                self.logger.warn(f"{self._direction.name} is below the horizon: elevation "
                                 f"{elevation:.1f} degrees")
            self._tell("above_horizon" if up else "below_horizon", place)

    def _tell(self, event, values):
        message = pmt.make_dict()
        for key, value in {tags.event: pmt.intern(event),
                           tags.direction: pmt.intern(printable(self._direction.name)),
                           **values}.items():
            message = pmt.dict_add(message, pmt.intern(key), value)
        if self._time is not None:
            message = pmt.dict_add(message, pmt.intern(tags.time), time_tuple(self._time))
        self.message_port_pub(self._status_port, message)
