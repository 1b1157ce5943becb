#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that keeps the delays of an array on a direction of the sky."""

import numpy as np
import pmt

from . import tags
from .following_block import following_block
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import as_number, refuse
from .streams.python_block import printable, text_of
from .streams.settings import place_value
from .streams.tag_values import dict_value, dictionary, time_value
from .tracking.delay_model import DelayModel
from .tracking.directions import parse_direction

MODEL = "geometry"  # name of what it sends, beside a user's and the calibration's
SHORTEST = 1e-3  # s between models: calls of ERFA take 0.1 ms


def delays_message(segment, frequency, model=MODEL, direction=None):
    """
    The message for the port `delays` of an F-engine.

    Parameters
    ----------
    segment : tracking.delay_model.Segment
    frequency : float
        Sky frequency of channel n/2, Hz, for the phases -2 pi f d.
    model : str
    direction : Direction
        The direction that they follow, which the F-engine tells those behind it; None: nobody is
        told.
    """
    cycles = frequency * segment.delays
    values = {
        tags.delay: segment.delays,
        tags.delay_rate: segment.rates,
        tags.phase: -2 * np.pi * (cycles - np.rint(cycles)),
        tags.phase_rate: -2 * np.pi * frequency * segment.rates,
    }
    if direction is not None:
        values[tags.direction] = place_value(direction)
    return dictionary({tags.model: model, tags.time: time_value(segment.time), **values})


def direction_of(message):
    """The Direction of a message: a text, a pair with one behind it, or a dictionary."""
    if pmt.is_dict(message):
        inner = dict_value(message, tags.direction)
        if not pmt.is_null(inner):
            message = inner
    elif pmt.is_pair(message):
        message = pmt.cdr(message)
    value = pmt.to_python(message)
    if isinstance(value, (tuple, list, np.ndarray)):
        value = tuple(float(number) for number in value)
    return parse_direction(value)


class delay_tracker(following_block):
    """
    Keeps an array's delays on a direction: its fringes stop, and its inputs line up for beams.

    In: any stream with the tags rx_time, rx_freq and rx_rate, of which only the tags are read:
    connect what the source sends, an item a sample of each input. It says what time it is, and what
    the frequency of channel channels//2 is. Without, they are the description's and the host's.

    Connect it beside the F-engine, to what this reads, or a block before it: an F-engine waits
    until this block has read its samples, so that delays are never late, however fast a recording
    is read. Where it has read nothing for a minute, the F-engine warns, and waits no more.

    Out: optionally the same stream, each item after all models that hold from its time on, for what
    does not wait; a block in Python copies all samples.

    Further output: messages on the port `delays`, for the port of that name of `f_engine` and
    `pfb_channelizer`: for all inputs `delay`, `delay_rate`, `phase`, `phase_rate`, the `time` from
    which they hold and count, and the `model` "geometry". Each input is delayed by
    d = max tau - tau, tau being its geometric and cable delay, and its phase rotated by
    -2 pi f d, f the sky frequency of the middle channel. One message follows another when a
    straight line would be off by `phase_error` on the longest baseline at the highest frequency,
    and comes `lead` seconds before its time. The accuracy of delays is described in
    `aperture.tracking.delay_model`; a warning is logged where the Earth's rotation is not known,
    or the elements of a satellite are old. Delays towards a satellite, or a transmitter with a
    distance, are the differences of the paths.

    Message port `direction` in: another direction to follow from now on, a text (or a pair with one
    behind it, as GNU Radio Companion's edit boxes send, or a dictionary with `direction`).
    Message port `status` out: dictionaries with `event` (`tracking` at the start, with each other
    direction and each `status_period`; `below_horizon` and `above_horizon` when it sets and rises;
    `refused` with a `reason` for a direction that is none), `direction` (its name), `azimuth` and
    `elevation` (degrees), `time`. Delays are sent below the horizon, too.

    Raises:
        ValueError: A parameter is not allowed.
    """

    def __init__(
        self,
        array: Text("An array description, or the file or shipped name of one.") = "two-dish",
        direction: Text(
            'sun, Cas A, B0329+54, "23:23:24 +58:48:54", "az=180, el=45", "tle=FILE, NAME" (a '
            "satellite), as `aperture.parse_direction` has them."
        ) = "zenith",
        channels: Integer(
            "Channels of the F-engine; it makes a difference for real samples of an inverted "
            "band only.",
            1,
            2**24,
        ) = 1024,
        center_frequency: Number(
            "Hz, of channel channels//2. 0: as the stream says.", 0, unit="Hz"
        ) = 0.0,
        phase_error: Number(
            "Degrees by which straight lines between exact delays may be wrong, 0.001 to 90.",
            0.001,
            90,
            unit="deg",
            settable=True,
        ) = 0.1,
        lead: Number(
            "Seconds, 0 to 3600, by which models are sent ahead of the stream; at least what its "
            "buffers hold, for what does not wait for them.",
            0,
            3600,
            unit="s",
        ) = 1.0,
        status_period: Number(
            "Seconds of the stream between messages of status; 0: at changes only.", 0, unit="s"
        ) = 10.0,
        item_size: Integer("As `pointing` has them.", 1, 2**31 - 1) = 8,
        inputs: Anything("As `pointing` has them.") = None,
        real: Switch("As `pointing` has them.") = False,
        inverted: Switch("As `pointing` has them.") = False,
        samples_per_item: Integer("As `pointing` has them.", 1, 2**31 - 1) = 1,
    ):
        self._status_period = float(status_period)
        self._given = float(center_frequency)
        self._phase_error = float(phase_error)
        super().__init__(
            "delay_tracker",
            array,
            channels,
            lead,
            item_size,
            inputs,
            real,
            inverted,
            samples_per_item,
        )
        self._direction = parse_direction(direction)
        self._model = DelayModel(self._array, self._direction)
        self._clear()
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
            self._aged = False

    def set_phase_error(self, phase_error):
        """Sets degrees; from the next model on."""
        with self._lock:
            self._phase_error = as_number("phase_error", phase_error, 1e-3, 90, "degrees")

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
            return self._interval(self._time)

    def center_frequency(self):
        """Hz, of channel channels//2, as it is now."""
        with self._lock:
            return self._frequency

    # ---- the block

    def _clear(self):
        super()._clear()
        self._time = None
        self._up = None  # true if the direction is above the horizon; None: not told
        self._told = 0.0  # when the status was told
        self._looked = 0.0  # when that was looked at
        self._set_band()

    def _set_band(self):
        band = self._stream.of_channels(self._channels)
        self._frequency = self._given or band.center
        self._highest = self._frequency + band.width / 2

    def _interval(self, time):
        interval = self._model.interval(self._highest, self._phase_error, time)
        if interval < SHORTEST:
            refuse(
                "phase_error",
                self._phase_error,
                f"such that models hold for {SHORTEST:g} s at least, not {interval:.3g} s",
            )
        return interval

    def _work(self, input_items, output_items):
        count = len(input_items[0])
        with self._lock:
            self._come(count)
        for passed_on in output_items:
            passed_on[:] = input_items[0]
        return count

    def _take_band(self, item, found):
        before = self._frequency
        self._stream.take(found)
        self._set_band()
        if self._frequency != before:
            self._due = None  # phases are for another frequency, from this item on

    def _follow(self, item, until):
        super()._follow(item, until)
        self._tell_place()

    def _send(self, begin):
        """Sends a model that holds from `begin` on."""
        if self._direction.moving:
            self._warn_of_sky([self._direction], begin)
        end = self._end_of(begin, self._interval(begin))
        segment = self._model.segment(begin, end)
        self._publish(delays_message(segment, self._frequency, direction=self._direction))
        self._sent(end)

    def _publish(self, message):
        self.message_port_pub(self._delays_port, message)

    def _tell_place(self):
        """Sends the status where the direction is new, sets or rises, or the period is over."""
        period = self._status_period
        if self._up is not None and 0 <= self._time - self._looked < min(period or 1.0, 1.0):
            return
        self._looked = self._time
        azimuth, elevation = self._model.azimuth_elevation(self._time)
        up, before = elevation >= 0, self._up
        place = {tags.azimuth: float(azimuth), tags.elevation: float(elevation)}
        self._up = up
        if before is None or (period and not 0 <= self._time - self._told < period):
            self._told = self._time
            self._tell("tracking", place)
        if up != (True if before is None else before):
            if not up:
                self.logger.warn(
                    f"{self._direction.name} is below the horizon: elevation "
                    f"{elevation:.1f} degrees"
                )
            self._tell("above_horizon" if up else "below_horizon", place)

    def _tell(self, event, values):
        about = {tags.event: event, tags.direction: printable(self._direction.name), **values}
        if self._time is not None:
            about[tags.time] = time_value(self._time)
        self.message_port_pub(self._status_port, dictionary(about))
