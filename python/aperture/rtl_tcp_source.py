#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that receives the samples of an RTL-SDR from rtl_tcp."""

import weakref
from fractions import Fraction

import numpy as np
import pmt

from . import tags
from .network import rtl_tcp
from .network.addresses import server_address
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import as_number, as_whole, refuse
from .parameters.times import whole_and_fraction
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.status_port import StatusPort
from .streams.tag_values import dict_value, time_value

WAIT = 0.05  # s that a call waits for samples
#: values of unsigned bytes
VALUES = ((np.arange(256) - 127.5) / 128).astype(np.float32)
COMMANDS = (
    "a dictionary with freq (Hz), gain (dB), setting {key: biastee, value: true or false} or gpio "
    "{value, mask}"
)


class rtl_tcp_source(python_block):
    """
    Receives the samples of an RTL-SDR that rtl_tcp serves over a network.

    A port out: samples, fc32, of magnitude below 1 in each part. rtl_tcp tells neither the time of
    a sample nor what it dropped: several receivers are lined up by stream_align behind them. What
    this computer is too slow for is dropped here, and is missing time of a known length. After a
    command that tunes, samples that may be from before it, a transfer of USB and 0.1 s, are
    missing. A connection that is lost is made anew, with all settings, for `silence` seconds; what
    was lost is a gap of unknown length (rx_rate without rx_time).

    Tags: rx_time (the host's clock at the first sample, rx_time_approximate; samples count from
    there on), rx_rate and rx_freq on the first sample; rx_time where time of a known length is
    missing; rx_freq where it changes. After a gap of unknown length no time is known.

    Message ports: `status`, what was counted, once a second (`counts()` gives the same), and
    `command`, a dictionary with `freq` (Hz), `gain` (dB), or what noise_switch sends: `setting`
    {key: biastee, value}, `gpio` {value, mask}. Pins need the rtl_tcp of
    github.com/librtlsdr/librtlsdr; others ignore them. When the flowgraph stops, switches that
    are on are set back.

    Raises:
        ValueError: A parameter is not allowed.
    """

    def __init__(
        self,
        address: Text(
            "HOST:PORT of the server, as roof:1234; the port is 1234 if it is left out."
        ) = "127.0.0.1:1234",
        rate: Number(
            "Samples a second; an RTL-SDR has 225001 to 300000 and 900001 to 3200000.",
            rtl_tcp.RATES[0][0],
            rtl_tcp.RATES[-1][1],
            unit="Hz",
        ) = 2.4e6,
        frequency: Number(
            "Hz, to which the receiver is tuned.",
            1,
            rtl_tcp.MOST_FREQUENCY,
            unit="Hz",
            settable=True,
        ) = 100e6,
        gain: Anything(
            "dB, the nearest that the tuner has; None: three quarters of what it has.",
            settable=True,
        ) = None,
        bias_tee: Switch(
            "True for 4.5 V on the cable, from the start; noise_switch switches it while it runs.",
            settable=True,
        ) = False,
        correction: Integer("ppm by which the dongle's crystal is wrong.", -1000, 1000) = 0,
        samples: Integer("Samples, then the stream ends; 0: no end.", 0) = 0,
        silence: Number(
            "Seconds without a sample after which the stream ends.", 0.1, 3600, unit="s"
        ) = 10.0,
    ):
        host, port = server_address("address", address, rtl_tcp.PORT)
        self._gain = None if gain is None else as_number("gain", gain, -100, 100, "dB")
        self._most, self._correction = samples, correction
        self._dongle = rtl_tcp.Dongle(host, port, silence)
        weakref.finalize(self, self._dongle.close)
        self._told = None
        self.use_rate(rate)
        self.set_frequency(frequency)
        # no automatic gain, neither in the tuner nor in the converter
        self._dongle.set(rtl_tcp.GAIN_MODE, 1)
        self._dongle.set(rtl_tcp.AGC, 0)
        if correction:
            self._dongle.set(rtl_tcp.CORRECTION, correction)
        self.set_bias_tee(bias_tee)
        super().__init__("rtl_tcp_source", in_sig=None, out_sig=[vector_of(np.complex64, 1)])
        self._status = StatusPort(self)
        command = pmt.intern("command")
        self.message_port_register_in(command)
        self.set_msg_handler(command, self._command)

    # ---- what users set and see

    def use_rate(self, rate):
        """Sets the rate, Hz, before the start."""
        if not any(low <= rate <= high for low, high in rtl_tcp.RATES):
            pairs = " or ".join(f"from {low} to {high}" for low, high in rtl_tcp.RATES)
            refuse("rate", rate, f"{pairs} Hz")
        self._rate = round(rate)
        self._dongle.set(rtl_tcp.RATE, self._rate)

    def set_frequency(self, frequency):
        """Tunes, in Hz, at once while the flowgraph runs."""
        hertz = as_number("frequency", frequency, 1, rtl_tcp.MOST_FREQUENCY, "Hz")
        self._frequency = round(hertz)
        self._dongle.set(rtl_tcp.FREQUENCY, self._frequency)
        self._look_at_range()

    def use_bandwidth(self, bandwidth):
        """Sets the bandwidth of the tuner, Hz, 0: as the server has it; rtl_tcp of
        github.com/librtlsdr/librtlsdr alone has a command for it."""
        self._dongle.set(rtl_tcp.BANDWIDTH, round(bandwidth))

    def set_gain(self, gain):
        """Sets the gain, dB, to the nearest that the tuner has; None: three quarters of that."""
        self._gain = None if gain is None else as_number("gain", gain, -100, 100, "dB")
        if self._told is not None:
            self._amplify()

    def set_bias_tee(self, bias_tee):
        """Sets the bias tee, and how it is left at the end."""
        self._dongle.rest(bool(bias_tee))

    def switch_bias_tee(self, on):
        """Switches the bias tee until the flowgraph stops."""
        self._dongle.switch(bool(on))

    def switch_pin(self, pin, on):
        """Switches a pin of the RTL2832, 0 to 7, until the flowgraph stops."""
        self._dongle.switch(bool(on), as_whole("pin", pin, 0, rtl_tcp.PINS - 1))

    def open(self):
        """
        Connects, before the start, and returns the Tuner of the server. What comes before the
        start is dropped. Raises OSError.
        """
        client = self._dongle.connect()
        if self._told is None:
            self._told = client.told
            self._tuner = client.tuner
            self._gains = self._known_gains(client)
            self._amplify()
            self._look_at_range()
        return self._tuner

    def close(self):
        """Ends the connection that open() has made, where the flowgraph is not to start."""
        self._dongle.close()

    def gains(self):
        """Returns the gains that the tuner has, dB, after open(); one is none to choose from."""
        return [gain / 10 for gain in self._gains]

    def gain(self):
        """Returns the gain that was set, dB, after open()."""
        return self._set_gain / 10

    def counts(self):
        """
        Returns what was counted since the start: `dropped` samples, which this computer was too
        slow for, `lost_connections`, and `late`, the ms by which samples have come too late,
        because the network is too slow: then the server drops what nobody is told of.
        """
        dongle = self._dongle
        return {
            "dropped": dongle.dropped,
            "lost_connections": dongle.lost_connections,
            "late": round(1000 * dongle.late),
        }

    def finish(self):
        """Ends the stream: what has come goes out."""
        self._finished = True

    # ---- inside

    def _known_gains(self, client):
        """The list of the tuner, where the number that the server says is its length."""
        kind, count = client.told
        if count == len(client.tuner.gains) and kind in rtl_tcp.TUNERS:
            return client.tuner.gains
        self.logger.warn(
            f"{client.name}: {count} gains of a tuner {client.tuner.name} ({kind}), where "
            f"{len(client.tuner.gains)} are known: gains are sent as they are, and the server "
            "takes what it has"
        )
        return tuple(range(500))

    def _amplify(self):
        gains = self._gains
        wanted = self._gain
        if wanted is None:
            wanted = (gains[0] + 0.75 * (gains[-1] - gains[0])) / 10
        self._set_gain = rtl_tcp.nearest_gain(gains, wanted)
        if self._gain is not None and abs(self._set_gain - 10 * wanted) > 0.5:
            self.logger.warn(f"gain: {self._set_gain / 10:g} dB, the nearest to {wanted:g} dB")
        self._dongle.set(rtl_tcp.GAIN, self._set_gain)

    def _look_at_range(self):
        """Says where a tuner cannot be tuned so; the server says nothing."""
        if self._told is None or not self._tuner.ranges:
            return
        if not any(low <= self._frequency / 1e6 <= high for low, high in self._tuner.ranges):
            ranges = " or ".join(f"{low} to {high} MHz" for low, high in self._tuner.ranges)
            self.logger.warn(
                f"frequency: {self._frequency / 1e6:g} MHz is beyond what a tuner "
                f"{self._tuner.name} has, {ranges}, and rtl_tcp does not tell whether it was tuned"
            )

    def _command(self, message):
        try:
            if not self._carry_out(message):
                text = pmt.write_string(message)[:80]
                self.logger.error(f"command: {text} is not allowed; it must be {COMMANDS}")
        except (OSError, ValueError) as error:
            self.logger.error(printable(f"command: {text_of(error)}"))

    def _carry_out(self, message):
        """Does what a message says; returns whether it was understood."""
        if not pmt.is_dict(message):
            return False
        for key, setter in (("freq", self.set_frequency), ("gain", self.set_gain)):
            value = dict_value(message, key)
            if pmt.is_number(value) and not pmt.is_complex(value):
                setter(pmt.to_double(value))
                return True
        if pmt.dict_has_key(message, pmt.intern("setting")):
            setting = dict_value(message, "setting")
            if not pmt.is_dict(setting):
                return False
            found = [dict_value(setting, key) for key in ("key", "value")]
            key, value = (pmt.symbol_to_string(v) if pmt.is_symbol(v) else "" for v in found)
            if key != "biastee" or value not in ("true", "false"):
                return False
            self.switch_bias_tee(value == "true")
            return True
        if pmt.dict_has_key(message, pmt.intern("gpio")):
            pins = dict_value(message, "gpio")
            if not pmt.is_dict(pins):
                return False
            found = [dict_value(pins, key) for key in ("value", "mask")]
            if not all(pmt.is_integer(v) for v in found):
                return False
            value, mask = (pmt.to_long(v) for v in found)
            if not 0 < mask < 1 << rtl_tcp.PINS:
                return False
            for pin in range(rtl_tcp.PINS):
                if mask >> pin & 1:
                    self.switch_pin(pin, value >> pin & 1)
            return True
        # pins are outputs as soon as they are written
        return pmt.dict_has_key(message, pmt.intern("gpio_dir"))

    def _start(self):
        self._finished, self._sent, self._piece, self._done = False, 0, None, 0
        self._anchor, self._clock = None, 0  # time of sample 0, samples since then
        self._tuned, self._said_loss, self._said_late = None, 0, False
        self.open()
        self._dongle.begin()

    def _stop(self):
        self._dongle.close()
        self._status.tick(self.counts, last=True)

    def _work(self, _, output_items):
        self._status.tick(self.counts)
        self._say_problems()
        out, produced = output_items[0], 0
        room = min(len(out), self._most - self._sent) if self._most else len(out)
        if self._finished or (self._most and room == 0):
            return -1
        while produced < room:
            if self._piece is None:
                try:
                    self._piece, self._done = self._dongle.take(0 if produced else WAIT), 0
                except OSError:
                    if produced:
                        break  # samples that have come go out first
                    raise
                if self._piece is None:
                    break
                self._tag(self._piece, self.nitems_written(0) + produced)
            values = self._piece.values[2 * self._done : 2 * (self._done + room - produced)]
            count = len(values) // 2
            parts = out[produced : produced + count].view(np.float32)
            np.take(VALUES, values, out=parts, mode="clip")
            produced += count
            self._done += count
            self._clock += count
            if 2 * self._done == len(self._piece.values):
                self._piece = None
        self._sent += produced
        return produced

    def _tag(self, piece, item):
        """Tags the first sample of a piece, where there is something to say."""
        found, first = {}, self._tuned is None
        if first:
            self._anchor = Fraction(piece.time)
        else:
            self._clock += piece.before
        retuned = piece.frequency != self._tuned
        if piece.unknown and not first:
            self._anchor = None
        if self._anchor is not None and (first or piece.before or retuned):
            time = self._anchor + Fraction(self._clock, self._rate)
            found[tags.rx_time] = time_value(whole_and_fraction(time))
            found[tags.approximate] = pmt.PMT_T
            found[tags.clock] = pmt.intern("samples")
        if first or (self._anchor is None and (piece.unknown or piece.before)):
            found[tags.rx_rate] = pmt.from_double(float(self._rate))
        if retuned or tags.rx_rate in found:
            found[tags.rx_freq] = pmt.from_double(float(piece.frequency))
        self._tuned = piece.frequency
        for key, value in found.items():
            self.add_item_tag(0, item, pmt.intern(key), value)

    def _say_problems(self):
        counts = self.counts()
        problems = counts["dropped"] + counts["lost_connections"]
        if problems > 2 * self._said_loss:
            self._said_loss = problems
            self.logger.warn(
                f"{self._dongle.name}: {counts['dropped']} samples dropped, for which this "
                f"computer was too slow, and {counts['lost_connections']} connections lost"
            )
        if counts["late"] and not self._said_late:
            self._said_late = True
            self.logger.warn(
                f"{self._dongle.name}: samples come {counts['late'] / 1000:.1f} s too late: the "
                "network is too slow, and rtl_tcp drops some without a word; lower the rate"
            )
