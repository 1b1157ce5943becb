#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that simulates the receiver of one dish in the 21 cm line."""

import threading

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .parameters.description import Anything, Integer, Number, Text
from .parameters.rules import as_number, one_of, refuse
from .parameters.times import as_time, exact, utc_after, whole_and_fraction
from .spectrometry.dish import Dish
from .spectrometry.switching import TARGETS, in_reference
from .streams.python_block import python_block, vector_of
from .streams.tag_values import dict_value, looked_at, time_value

SWITCHING = ("none", "load", "frequency")
START_TIME = 1718967600  # 2024-06-21T11:00:00Z
#: taps of the filter that gives noise its spectrum, and samples that are made at once
TAPS, PIECE = 2048, 1 << 16
#: seconds for which a spectrum of the sky is taken to be the same
FRESH = 5.0
#: rms of a sample for the cold sky, in units of the converter's limit
LEVEL = 0.12


class hydrogen_source(python_block):
    """
    Simulates the samples of one dish at the 21 cm line of hydrogen: noise with the spectrum of the
    sky where the dish points, and of a receiver.

    The sky is the galaxy's hydrogen by spectrometry.galaxy's model, 5 K of the background and the
    atmosphere, and the quiet Sun in a Gaussian beam. Its velocities are those that an observer at
    the array's place sees at the time. The receiver adds noise of t_receiver kelvin; its band falls
    off to the edges and has a ripple, and its gain drifts by `drift` to both sides, once in five
    minutes. Samples beyond ±1 are clamped, as a converter does.

    target: the sky, or a load before the antenna: hot (290 K) or cold (a piece of sky without
    hydrogen, 5 K, and 5 K of ground). With load switching the second half of each cycle is a load
    of 290 K; with frequency switching it is tuned higher by `throw`. Cycles begin at multiples of
    the period since 1970.

    One port out: samples, fc32, with the tags rx_time, rx_rate and rx_freq on the first one, and
    rx_time and rx_freq where the tuning changes. Message port `command`: a dictionary with `freq`
    (Hz), as receivers have it. Message port `look`: sky, hot or cold, as that of `spectrometer`.

    Raises:
        ValueError: names the parameter, its value and what is allowed
    """

    def __init__(
        self,
        direction: Anything(
            "where the dish points: a text such as l=30, b=0 (galactic, degrees), az=180, el=30, "
            "sun or 23:23:24 +58:48:54, or a Direction",
            settable=True,
        ) = "l=30, b=0",
        target: Text("sky, hot or cold", *TARGETS, settable=True) = "sky",
        sample_rate: Number("samples a second", 1e3, 1e9, unit="Hz") = 2.4e6,
        center_frequency: Number("of the band, Hz", 1e6, 1e11, unit="Hz") = 1420.0e6,
        switching: Text("none, load or frequency", *SWITCHING) = "none",
        period: Number("seconds of a cycle of switching", 0.01, 3600, unit="s") = 2.0,
        throw: Number("Hz, by which the reference is tuned higher", -1e9, 1e9, unit="Hz") = 0.6e6,
        array: Text(
            "an ArrayDescription, or the file or shipped name of one: the place"
        ) = "one-dish",
        start_time: Anything(
            "UTC seconds since 1970 of the first sample, a number or (whole seconds, fraction)"
        ) = START_TIME,
        dish: Number("metres, diameter of the dish", 0.3, 100, unit="m") = 2.3,
        t_receiver: Number("kelvin", 1, 1e6, unit="K") = 100.0,
        gain: Number(
            "dB, of the receiver; at 0 a converter has a good level",
            -60,
            60,
            unit="dB",
            settable=True,
        ) = 0.0,
        drift: Number("part by which the gain drifts to each side", 0, 0.5) = 0.01,
        samples: Integer("samples, then the stream ends; 0: no end", 0) = 0,
        seed: Integer("equal seeds give equal samples, of one target and start", 0) = 1,
    ):
        self._lock = threading.Lock()
        self._rate, self._frequency = float(sample_rate), float(center_frequency)
        self._switching, self._period, self._throw = switching, float(period), float(throw)
        self._start_time, self._most, self._seed = as_time("start_time", start_time), samples, seed
        if abs(throw) >= center_frequency:
            refuse("throw", throw, f"below the center frequency, {center_frequency:g} Hz")
        self._dish = Dish(load_array(array), dish, t_receiver, drift)
        self.set_direction(direction)
        self.set_target(target)
        self.set_gain(gain)
        super().__init__("hydrogen_source", None, [vector_of(np.complex64, 1)])
        for name, handler in (("command", self._command), ("look", self._look)):
            self.message_port_register_in(pmt.intern(name))
            self.set_msg_handler(pmt.intern(name), handler)

    # ---- what users set and see

    def set_direction(self, direction):
        """Points the dish, from the next piece of samples on."""
        with self._lock:
            self._dish.point(direction)
            self._known = {}

    def set_target(self, target):
        """Puts a load before the antenna: hot, cold or none, which is sky."""
        with self._lock:
            self._target = one_of("target", target, TARGETS)

    def set_gain(self, gain):
        """Sets the gain in dB."""
        self._gain = 10 ** (as_number("gain", gain, -60, 60, "dB") / 20)

    def finish(self):
        """Ends the stream."""
        self._finished = True

    # ---- inside

    def _command(self, message):
        value = dict_value(message, "freq") if pmt.is_dict(message) else pmt.PMT_NIL
        if pmt.is_number(value) and 1e6 <= pmt.to_double(value) <= 1e11:
            with self._lock:
                self._frequency = pmt.to_double(value)
        else:
            self.logger.error(
                f"command: {message} is not allowed; it must be a dictionary with freq (Hz)"
            )

    def _look(self, message):
        try:
            self.set_target(looked_at(message))
        except ValueError as error:
            self.logger.error(str(error))

    def _start(self):
        # the noise of a load is another one than that of the sky, which it is compared with
        self._random = np.random.default_rng(
            [self._seed, TARGETS.index(self._target), self._start_time[0]]
        )
        self._before = self._noise(TAPS)  # the samples of white noise before the next one
        self._sent, self._finished, self._tuned, self._known = 0, False, None, {}

    def _noise(self, count):
        values = self._random.standard_normal(2 * count, np.float32).view(np.complex64)
        values *= np.float32(np.sqrt(0.5))
        return values

    def _time(self, sample):
        """Seconds since 1970, a float, of a sample."""
        return self._start_time[0] + self._start_time[1] + sample / self._rate

    def _work(self, _, output_items):
        out = output_items[0]
        room = min(len(out), self._most - self._sent) if self._most else len(out)
        if room == 0 or self._finished:
            return -1
        made = 0
        while made < room:
            count, reference = self._piece(min(PIECE, room - made))
            with self._lock:
                frequency, target = self._frequency, self._target
                if reference and self._switching == "frequency":
                    frequency += self._throw
                source = "load" if reference and self._switching == "load" else target
                spectrum = self._spectrum(source, frequency)
            self._tag(self.nitems_written(0) + made, frequency)
            self._make(out[made : made + count], spectrum)
            made += count
            self._sent += count
        return made

    def _piece(self, most):
        """Samples that come before something switches, at most so many, and whether they are those
        of the reference."""
        if self._switching == "none":
            return most, False
        half = self._period / 2
        # in whole samples since 1970, so that pieces of any size switch at the same one
        first = round((self._start_time[0] + self._start_time[1]) * self._rate)
        edge = half * self._rate
        number = int((first + self._sent + 0.5) // edge)
        left = int(np.ceil((number + 1) * edge - (first + self._sent) - 0.5))
        return min(most, max(left, 1)), in_reference((number + 0.5) * half, self._period)

    def _tag(self, item, frequency):
        if frequency == self._tuned:
            return
        start = self._start_time[0] + exact(self._start_time[1])
        time = utc_after(start, exact(self._sent) / exact(self._rate))
        found = {
            tags.rx_time: time_value(whole_and_fraction(time)),
            tags.rx_freq: pmt.from_double(frequency),
        }
        if self._tuned is None:
            found[tags.rx_rate] = pmt.from_double(self._rate)
        for key, value in found.items():
            self.add_item_tag(0, item, pmt.intern(key), value)
        self._tuned = frequency

    def _spectrum(self, source, frequency):
        """The filter's response [frequency] for what the antenna sees, made anew now and then."""
        time = self._time(self._sent)
        key = source, frequency, int(time // FRESH)
        if key not in self._known:
            from scipy import fft  # large, and most flowgraphs do without

            if len(self._known) > 8:
                self._known.clear()
            offsets = fft.fftshift(fft.fftfreq(TAPS, 1 / self._rate))
            power = self._dish.power(source, frequency, offsets, self._rate, time)
            power *= LEVEL**2 / self._dish.quiet
            taps = fft.ifft(fft.ifftshift(np.sqrt(power)))
            # the window halves the frequency resolution, and ends what would ring
            taps = fft.fftshift(taps) * np.hanning(TAPS)
            self._known[key] = fft.fft(taps.astype(np.complex64), PIECE + TAPS)
        return self._known[key]

    def _make(self, out, spectrum):
        """Noise with that spectrum, by overlap and save."""
        from scipy import fft  # keeps single precision, as NumPy does not

        white = np.zeros(PIECE + TAPS, np.complex64)
        new = self._noise(len(out))
        white[:TAPS], white[TAPS : TAPS + len(out)] = self._before, new
        self._before = white[len(out) : len(out) + TAPS].copy()
        shaped = fft.ifft(fft.fft(white) * spectrum)[TAPS : TAPS + len(out)]
        gain = self._gain * self._dish.gain_at(self._time(self._sent))
        out[:] = shaped * np.float32(gain)
        np.clip(out.view(np.float32), -1, 1, out.view(np.float32))
