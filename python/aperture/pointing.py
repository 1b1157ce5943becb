#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that keeps beams on the sky."""

import math
import time as host
from dataclasses import replace

import numpy as np
import pmt

from . import c32vector, tags
from .arrays.geometry import SPEED_OF_LIGHT
from .beams.beams import Beam, beams_of, coherent, in_order
from .beams.weights import beam_weights, channel_frequencies
from .following_block import following_block
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import as_number, is_number, refuse
from .streams.settings import place_value
from .streams.stream_band import Band
from .streams.tag_values import dictionary, time_value
from .tracking.directions import Direction, angular_rate, motions, parse_direction

SHORTEST = 1e-6  # s for which weights hold; times in a double are good to 0.2 us

#: the direction of a block that nobody told where to look
ZENITH = ({"name": "zenith", "azimuth": 0, "elevation": 90},)


def as_beams(array, beams, time=None):
    """Beams from a list of Beam, or of entries as in a file (beams.py), incoherent ones behind
    the others."""
    if not isinstance(beams, (list, tuple)) or not beams:
        refuse("beams", beams, "a list of Beam, or of dictionaries as in a file of beams")
    if all(isinstance(beam, Beam) for beam in beams):
        return in_order(beams)
    return beams_of(array, beams, time)


def looking_at(beams, directions):
    """
    Beams in the order of beam_power, of which the coherent ones look elsewhere.

    directions: a dictionary for each of these, as a `settings` tag has it.

    Raises ValueError: there are not as many.
    """
    ours = coherent(beams)
    if len(directions) != len(ours):
        refuse("directions", f"{len(directions)} directions", f"{len(ours)}, one for each beam")
    places = [Direction(**place) for place in directions]
    turned = [replace(beam, name=place.name, **place.place()) for beam, place in zip(ours, places)]
    return turned + [beam for beam in beams if beam.incoherent]


class Drift:
    """
    The drift of inputs' phases from weights that are made for one time.

    With a source's direction s, which rotates with the sky (w), the phase of an input at r rotates
    by 2 pi f/c r.(w x s) a second, and that rate changes by w^2 |r| 2 pi f/c a second at most.
    rate: rad/s, change: rad/s^2, of the input and the beam that drift the most; longest: seconds
    for which these hold. For satellites w is that of directions.angular_rate().
    """

    def __init__(self, array, beams, frequencies, time=None, tracked=None):
        """
        Computes the rates of the drift.

        time: UTC seconds since 1970, when the rate is taken; None: when it is the largest.
        tracked: a Direction that delays follow, so that only what moves against it drifts.
        """
        beams = [beam for beam in beams if not beam.incoherent]
        followed = [tracked] if tracked is not None and tracked.moving else []
        moving = [beam for beam in beams if beam.moving] + followed
        self.rate = self.change = 0.0
        self.longest = math.inf
        if not moving:
            return
        positions = array.input_positions()
        lengths = np.linalg.norm(positions, axis=1)
        per_metre = 2 * np.pi * np.max(np.abs(frequencies)) / SPEED_OF_LIGHT
        rates = [angular_rate(entry, time, array) for entry in beams + followed]
        fastest = max(rates)
        if time is None:
            # lengths of baselines across the pole, along which a star moves
            latitude = np.radians(array.latitude)
            pole = np.array([0.0, math.cos(latitude), math.sin(latitude)])
            across = np.linalg.norm(np.cross(positions, pole), axis=1)
            speed = (1 + len(followed)) * max(
                np.max(lengths) * rate
                if entry.tle is not None
                else np.max(across)
                * rate
                * (1.0 if entry.dec is None else math.cos(math.radians(entry.dec)))
                for entry, rate in zip(beams + followed, rates)
                if entry.moving
            )
        else:
            motion = motions(beams + followed, time, array)
            if followed:
                motion = motion[:-1] - motion[-1]
            speed = np.max(np.abs(motion @ positions.T))
        self.rate = per_metre * speed
        self.change = (1 + len(followed)) * per_metre * fastest**2 * np.max(lengths)
        self.longest = 1 / fastest if any(entry.tle for entry in beams + followed) else math.inf

    def span(self, phase_error):
        """
        Seconds from the time on in which no input's phase strays by more than `phase_error`
        (degrees) from weights that are made for the middle of them. Infinite where none does.
        """
        error = np.radians(phase_error)
        # half of it is x: rate x + 3/2 change x^2 = error in the second half, at most; solved
        # without the cancellation of the usual formula
        root = self.rate + math.sqrt(self.rate * self.rate + 6 * self.change * error)
        return min(2 * (2 * error / root) if root > 0 else math.inf, self.longest)

    def error(self, span):
        """The inverse of span(): degrees by which phases stray within so many seconds."""
        if self.rate == self.change == 0:
            return 0.0  # for an infinite span, too
        return math.degrees(self.rate * span / 2 + 1.5 * self.change * (span / 2) ** 2)


def update_interval(span, frame_length):
    """
    Seconds between weights that hold for `span` seconds, where they change at the starts of
    frames of `frame_length` seconds only: a message holds until the frame in which the next one
    comes has ended. A quarter of a frame where frames last longer than weights hold.
    """
    return max(span - frame_length, frame_length / 4)


class pointing(following_block):
    """
    Points beams, and follows the sky with those that move with it.

    In: any stream with the tags rx_time, rx_freq and rx_rate, of which only the tags are read:
    connect what the source sends, an item a sample of each input. It says what time it is, and
    what the frequencies of the channels are: rx_freq is that of channel channels//2 (of real
    samples of an inverted band that of the one below), rx_rate (times samples_per_item, of real
    samples half of that) the width of all. Without, they are the description's. A stream that is
    tuned anew gets weights for it, from the time of the tag on.

    Connect it beside the channeliser, to what this reads, or a block before it: a beamformer waits
    until this block has read these samples, so that weights are never late, however fast a
    recording is read. Where it has read nothing for a minute, the beamformer warns, and waits no
    more.

    Out: optionally the same stream, each item after all weights that hold from its time on, for
    what does not wait; a block in Python copies all samples.

    Further output: messages on the port `weights`, for the port of that name of `beamformer` and
    `beam_power`: dictionaries of `weights` (c32vector, [channel][beam][input], of all beams) and
    `time` (tuple(uint64, double) as rx_time: from when on they hold). The first has no time: it
    holds at once. More follow as often as `phase_error` asks for (never, where no beam moves), each
    `lead` seconds before its time, and made for the middle of the time in which it holds. A
    beamformer changes at the start of a frame: `frame_length` says how long these last, so that
    weights follow each other that much sooner. Where frames last longer than weights hold, phases
    are wrong by more: the log warns, and `largest_error()` says by how much.

    Weights: see `aperture.beams.weights.beam_weights`; beams: `aperture.beams.beams`. An array with
    two polarisations has two beams for each one here, 2m and 2m + 1. Where rx_time does not come
    from a clock, or there is none, the host's clock at the first item is taken.

    Any error (an rx_rate below 1 item/s, an rx_freq below 0) is logged, ends the flowgraph,
    and is given by `error()`.

    Raises:
        ValueError: A parameter is not allowed.
    """

    def __init__(
        self,
        array: Text("An array description, or the file or shipped name of one.") = "two-dish",
        beams: Anything(
            "Objects of `aperture.Beam`, or dictionaries as in a file of beams or texts such "
            'as sun, Cas A or "23:23:24 +58:48:54", of which a tiling that follows the sky is '
            "made for the host's clock: for a recording, `load_beams(file, array, time)` "
            "makes it. Incoherent ones are left out: they have no weights.",
            settable=True,
        ) = ZENITH,
        channels: Integer("Channels of the beamformer.", 1, 2**24) = 1024,
        fine: Integer(
            "Channels that `upchanneliser` has made of each of the F-engine's: a divisor of "
            "`channels`.",
            1,
            4096,
        ) = 1,
        center_frequency: Number(
            "Hz, of channel channels//2 and of all channels, where these are not those of the "
            "whole stream. 0: those of the stream. A warning is logged, once, where the "
            "stream's band does not hold the one that is given.",
            0,
            unit="Hz",
        ) = 0,
        bandwidth: Number(
            "Hz, of channel channels//2 and of all channels, where these are not those of the "
            "whole stream. 0: those of the stream. A warning is logged, once, where the "
            "stream's band does not hold the one that is given.",
            0,
            unit="Hz",
        ) = 0,
        phase_error: Number(
            "Degrees by which the weight of any input may be wrong, 0.001 to 90.",
            0.001,
            90,
            unit="deg",
            settable=True,
        ) = 1.0,
        frame_length: Number(
            "Seconds, 0 to 3600, that a frame of the beamformer lasts: its spectra_per_frame "
            "times the time from one spectrum to the next. What it lasts comes on top of the "
            "error where this is 0.",
            0,
            3600,
            unit="s",
        ) = 0.0,
        lead: Number(
            "Seconds, 0 to 3600, by which weights are sent ahead of the stream; at least what its "
            "buffers hold, for what does not wait for them.",
            0,
            3600,
            unit="s",
        ) = 1.0,
        calibration: Anything(
            "A calibration, or the file of one, that the weights apply; None: none.", settable=True
        ) = None,
        taper: Text(
            "The taper of the inputs' weights, as `beam_weights` takes it.", settable=True
        ) = "none",
        normalise: Text(
            "What the weights keep: the noise, the signal, or neither, as `beam_weights` takes it.",
            "noise",
            "signal",
            "none",
            settable=True,
        ) = "noise",
        item_size: Integer("Bytes of an item of the stream.", 1, 2**31 - 1) = 8,
        inputs: Anything("If given, how many inputs the array must have.") = None,
        real: Switch("True if the stream's samples are real.") = False,
        inverted: Switch(
            "True if the band of real samples is inverted, as the channeliser is told."
        ) = False,
        samples_per_item: Integer(
            "Samples of each input in an item; more than one of packed ones.", 1, 2**31 - 1
        ) = 1,
        tracked: Anything(
            "The direction that the F-engine's delays follow (see `delay_tracker`): the "
            "weights do the rest. None: there are no such delays.",
            settable=True,
        ) = None,
    ):
        if channels % fine:
            refuse("fine", fine, f"a divisor of {channels} channels")
        self._frame_length, self._fine = float(frame_length), fine
        self._origin = None  # see continue_from()
        super().__init__(
            "pointing", array, channels, lead, item_size, inputs, real, inverted, samples_per_item
        )
        self._given = None  # the band that was asked for; None: the stream's
        if center_frequency or bandwidth:
            if not (is_number(center_frequency, 0) and is_number(bandwidth, 0) and bandwidth):
                refuse(
                    "center_frequency, bandwidth",
                    (center_frequency, bandwidth),
                    "both above 0 and finite, or both 0",
                )
            self._given = Band(float(center_frequency), float(bandwidth))
        self._clear()
        self._made = dict(
            calibration=calibration,
            taper=taper,
            normalise=normalise,
            tracked=None if tracked is None else parse_direction(tracked, "tracked"),
        )
        self._beams = self._directions = None  # the latter as messages have them
        self._port = pmt.intern(tags.weights)
        self.message_port_register_out(self._port)
        self.set_phase_error(phase_error)
        self.set_beams(beams)

    # ---- what may change while it runs

    def continue_from(self, begin):
        """
        Lets weights follow each other as if the stream had begun at a time, UTC seconds since 1970,
        before its first item; to be called before the start, by who goes on with a stream that was
        stopped.
        """
        self._origin = float(begin)

    def set_beams(self, beams):
        """Points all beams anew, at once. Their number must stay as it is."""
        with self._lock:
            beams = coherent(
                as_beams(self._array, beams, host.time() if self._time is None else self._time)
            )
            if not beams:
                refuse("beams", beams, "a list of one at least that is not incoherent")
            if self._beams is not None and len(beams) != len(self._beams):
                refuse(
                    "beams",
                    f"{len(beams)} beams",
                    f"{len(self._beams)}, as the beamformer has so many",
                )
            before, self._beams = self._beams, beams
            try:
                self.weights(0.0)  # complains about what is not allowed
            except ValueError:
                self._beams = before
                raise
            self._directions = pmt.make_vector(len(beams), pmt.PMT_NIL)
            for number, beam in enumerate(beams):
                pmt.vector_set(self._directions, number, place_value(beam))
            self._due = None

    def set_phase_error(self, phase_error):
        """Sets degrees; from the next weights on."""
        with self._lock:
            self._phase_error = as_number("phase_error", phase_error, 1e-3, 90, "degrees")

    def set_calibration(self, calibration):
        """Sets gains [input] or [channel][input], or None for the description's; at once."""
        self._set("calibration", calibration)

    def set_tracked(self, tracked):
        """Sets what the F-engine's delays follow, a direction or None; at once."""
        self._set("tracked", None if tracked is None else parse_direction(tracked, "tracked"))

    def set_taper(self, taper):
        """Sets the taper: a name, or a number for each input; at once."""
        self._set("taper", taper)

    def set_normalise(self, normalise):
        """Sets the scale of the weights: noise, signal or none; at once."""
        self._set("normalise", normalise)

    def _set(self, key, value):
        with self._lock:
            before = self._made[key]
            self._made[key] = value
            try:
                self.weights(0.0)
            except ValueError:
                self._made[key] = before
                raise
            self._due = None

    # ---- what can be asked for

    def beams(self):
        """The beams that it points, a list of Beam."""
        with self._lock:
            return list(self._beams)

    def weights(self, time):
        """complex64 [channel][beam x polarisation][input] at a time, UTC seconds since 1970."""
        with self._lock:
            return beam_weights(self._array, self._beams, self._frequencies, time, **self._made)

    def frequencies(self):
        """Sky frequencies [channel], Hz, of the weights as they are now."""
        with self._lock:
            return self._frequencies.copy()

    def largest_error(self):
        """Degrees by which the weights of any input have been wrong, at most, since the start."""
        return self._largest_error

    # ---- the block

    def _clear(self):
        super()._clear()
        self._set_band(self._given or self._stream.of_channels(self._channels, self._fine))
        self._told = False  # true once another band of the stream was reported
        self._largest_error = 0.0

    def _set_band(self, band):
        self._frequencies = channel_frequencies(self._channels, band.center, band.width)

    def _work(self, input_items, output_items):
        count = len(input_items[0])
        with self._lock:
            self._come(count)
            for passed_on in output_items:
                passed_on[:] = input_items[0]
        return count

    def _take_band(self, item, found):
        before, given = self._stream.of_channels(self._channels, self._fine), self._given
        band = self._stream.take(found)
        ours = self._stream.of_channels(self._channels, self._fine)
        if given is None and ours != before:
            self._set_band(ours)
            if self._due is not None:
                self._send(self._clock.at(item))
        if (
            given is not None
            and self._stream.tuned
            and not self._told
            and not band.holds(given, given.width / self._channels)
        ):
            self._told = True
            self.logger.warn(
                f"center_frequency, bandwidth: {given}, were given, but the stream's "
                f"tags say {band}: the weights are for what was given"
            )

    def _note_error(self, error):
        """Notes degrees of weights that are sent now."""
        first = self._largest_error <= self._phase_error
        self._largest_error = max(self._largest_error, error)
        if first and error > self._phase_error * (1 + 1e-6):
            self.logger.warn(
                f"frames of {self._frame_length:g} s are too long: phases are wrong "
                f"by up to {error:.3g} degrees, not {self._phase_error:g}"
            )

    def _send(self, begin):
        """Sends weights that hold from `begin` on."""
        timed = self._due is not None
        if self._origin is not None:
            # the first weights of a stream that goes on are those that held there before
            begin, self._origin = self._last_before(begin, self._origin), None
        end, middle = self._span_from(begin)
        weights = self.weights(middle)
        message = {tags.weights: c32vector(weights), tags.directions: self._directions}
        if timed:
            message[tags.time] = time_value(begin)
        self.message_port_pub(self._port, dictionary(message))
        self._sent(end)

    def _last_before(self, time, begin):
        """The last of the times at which weights begin to hold, the first at `begin`, that is not
        after a time."""
        while (end := self._span_from(begin)[0]) <= time:
            begin = end
        return begin

    def _span_from(self, begin):
        """Until when weights hold that hold from a time on, and the time that they are made for."""
        tracked = self._made["tracked"]
        followed = self._beams if tracked is None else [*self._beams, tracked]
        if any(entry.moving for entry in followed):
            self._warn_of_sky(followed, begin)
        # the rate at which phases rotate is nearly the same half an interval later
        drift = Drift(self._array, self._beams, self._frequencies, begin, tracked)
        span = drift.span(self._phase_error)
        if not span >= SHORTEST:
            refuse(
                "rx_freq",
                self._frequencies.max(),
                "such that weights hold for 1 us at least: "
                f"at a phase error of {self._phase_error:g} degrees they would for {span:.3g} s",
            )
        end = self._end_of(begin, update_interval(span, self._frame_length))
        middle = begin
        if not math.isinf(end):
            # each end of the time in which they hold comes up to a frame late
            middle = (begin + end + self._frame_length) / 2
            self._note_error(drift.error(end - begin + self._frame_length))
        return end, middle
