#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that receives coherent samples of a KrakenSDR."""

import queue
import threading
import time
from fractions import Fraction

import numpy as np
import pmt

from . import tags
from .network import heimdall
from .network.addresses import server_address
from .network.tcp_client import ProtocolError
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import as_number
from .parameters.times import whole_and_fraction
from .streams.python_block import python_block, vector_of
from .streams.status_port import StatusPort
from .streams.tag_values import time_value

WAIT = 0.05  # s that a call waits for a frame
#: frames that wait; while there are so many none is asked for, and the server drops those that come
WAITING = 3
#: the difference that stamps, ms of a computer's clock, may have from a sum of lengths, s
STAMP_JITTER = 0.05


class heimdall_source(python_block):
    """
    Receives the coherent channels of a KrakenSDR from its data acquisition, heimdall_daq_fw, over
    TCP (`out_data_iface_type = eth`).

    A port out for each channel: samples, fc32. The channels of a frame are simultaneous, and their
    delays and phases are corrected already, so that no aligner stands behind this block. Samples
    go out of frames of data with both flags of synchronisation, and without the noise source.
    What comes in between (calibration at the start, after a change of frequency and in bursts) and
    what was lost is missing time: rx_time jumps over it, by the sum of the lengths where these are
    known, otherwise by the stamps of the server. The first two frames of a connection are left out:
    they may have waited for a client for hours.

    Tags on all ports: rx_time, rx_rate and rx_freq on the first sample; rx_time where time is
    missing, and rx_freq where it changes. The first time is that of the server's clock, in ms
    (rx_time_approximate): a stamp is of the end of its frame. The samples count from there on. When
    the flowgraph stops, the frame that was asked for is waited for, since a server whose client
    leaves before that ends. Message ports:
    `status`, what was counted, once a second (`counts()` gives the same), and `command`, a
    dictionary with `freq` (Hz) or `gain` (dB). The stream ends, with an error, where the server
    ends it, sends nothing, or changes rate or channels.

    Raises:
        ValueError: A parameter is not allowed.
    """

    def __init__(
        self,
        address: Text(
            "HOST:PORT of the IQ server, as krakensdr.local; the port is 5000 if it is left out."
        ) = "127.0.0.1:5000",
        channels: Integer("Channels that the server has.", 1, heimdall.MOST_CHANNELS) = 5,
        frequency: Number(
            "Hz, to which the receivers are tuned at the start; 0: as they are.",
            0,
            1e12,
            unit="Hz",
            settable=True,
        ) = 0.0,
        gain: Anything(
            "dB of all channels, the nearest that tuners have; None: as it is.", settable=True
        ) = None,
        samples: Integer("Samples of each channel, then the stream ends; 0: no end.", 0) = 0,
        calibrated: Switch(
            "True if phases have to be corrected (`en_iq_cal`), False if only delays are."
        ) = True,
        control_port: Integer(
            "Port of the hardware controller at the same host.", 1, 65535
        ) = heimdall.CONTROL_PORT,
        silence: Number(
            "Seconds without a frame after which the stream ends.", 0.1, 3600, unit="s"
        ) = 10.0,
    ):
        self._host, self._port = server_address("address", address, heimdall.PORT)
        if gain is not None:
            as_number("gain", gain, -100, 100, "dB")
        self._channels, self._most = channels, samples
        self._frequency, self._gain = frequency, gain
        self._calibrated, self._control, self._silence = calibrated, control_port, silence
        self._client = None
        self._empty_counts()
        super().__init__(
            "heimdall_source", in_sig=None, out_sig=[vector_of(np.complex64, 1)] * channels
        )
        self._status = StatusPort(self)
        port = pmt.intern("command")
        self.message_port_register_in(port)
        self.set_msg_handler(port, self._command)

    # ---- what users set and see

    def set_frequency(self, frequency):
        """Tunes all channels, in Hz, at once while the flowgraph runs; samples of the new frequency
        come after the server has calibrated itself anew."""
        self._frequency = float(as_number("frequency", frequency, 0, 1e12, "Hz"))
        if self._client is not None and self._frequency:
            self._tune()

    def set_gain(self, gain):
        """Sets the gain of all channels, dB, to the nearest that the tuner has, at once while the
        flowgraph runs."""
        self._gain = None if gain is None else as_number("gain", gain, -100, 100, "dB")
        if self._client is not None and self._gain is not None:
            self._amplify()

    def _tune(self):
        self._send("FREQ", heimdall.frequency_payload(self._frequency))

    def _amplify(self):
        nearest = heimdall.nearest_gain(self._gain)
        if abs(nearest - 10 * self._gain) > 0.5:
            self.logger.warn(f"gain: {nearest / 10:g} dB, the nearest to {self._gain:g} dB")
        self._send("GAIN", heimdall.gain_payload([nearest] * self._channels))

    def counts(self):
        """
        Returns what was counted since the start: `frames` that came, `lost` ones (gaps in their
        numbers: this computer or the network was too slow), `flagged` samples of each channel that
        were none of the sky, `unknown`: how often time of unknown length went by, `overdriven`
        frames in which any channel was.
        """
        return dict(self._counts)

    def finish(self):
        """Ends the stream: what has come goes out."""
        self._finished = True

    # ---- inside

    def _empty_counts(self):
        self._counts = dict.fromkeys(("frames", "lost", "flagged", "unknown", "overdriven"), 0)
        self._finished = False

    def _send(self, text, payload):
        heimdall.command(self._host, self._control, text, payload, self._silence)

    def _command(self, message):
        for key, setter in (("freq", self.set_frequency), ("gain", self.set_gain)):
            value = (
                pmt.dict_ref(message, pmt.intern(key), pmt.PMT_NIL)
                if pmt.is_dict(message)
                else pmt.PMT_NIL
            )
            if pmt.is_number(value):
                try:
                    setter(pmt.to_double(value))
                except (OSError, ValueError) as error:
                    self.logger.error(f"{key}: {error}")
                return
        self.logger.error(
            f"command: {message} is not allowed; it must be a dictionary with "
            "freq (Hz) or gain (dB)"
        )

    def _start(self):
        self._empty_counts()
        self._header, self._frame, self._done = None, None, 0
        self._sent = 0
        self._expected = self._last = None  # number of the next frame, header of the last good one
        self._pending, self._unknown = 0, False  # samples, and time of unknown length, since then
        self._anchor, self._clock = None, 0  # time of sample 0, samples since then
        self._reason = self._failure = None
        self._client = None
        if self._frequency:
            self._tune()
        if self._gain is not None:
            self._amplify()
        self._client = heimdall.Client(self._host, self._port, self._silence)
        self._waiting, self._ending = queue.Queue(WAITING), threading.Event()
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _stop(self):
        if self._client is None:
            return
        self._ending.set()
        # the server does not outlive a client that leaves before a frame that it has asked for
        end = time.monotonic() + self._silence
        while self._thread.is_alive():
            if time.monotonic() > end:
                self._client.close()
            try:  # the thread may wait for room
                self._waiting.get_nowait()
            except queue.Empty:
                self._thread.join(WAIT)
        self._client.close()
        self._client = None
        self._status.tick(self.counts, last=True)

    def _receive(self):
        """Puts frames into the queue, and the exception that ended them."""
        try:
            while not self._ending.is_set():
                self._waiting.put(self._client.next())
        except Exception as error:
            self._waiting.put(error)

    def _work(self, _, output_items):
        self._status.tick(self.counts)
        room, produced = len(output_items[0]), 0
        if self._most:
            room = min(room, self._most - self._sent)
        if self._finished or (self._most and room == 0):
            return -1
        while produced < room:
            if self._frame is None:
                try:
                    if not self._take(0 if produced else WAIT, produced):
                        break
                except OSError as error:
                    if not produced:
                        raise
                    self._failure = error  # samples that have come go out first
                    break
            if self._frame is None:
                continue
            count = min(room - produced, self._frame.shape[1] - self._done)
            for out, samples in zip(output_items, self._frame):
                out[produced : produced + count] = samples[self._done : self._done + count]
            produced += count
            self._done += count
            if self._done == self._frame.shape[1]:
                self._frame = None
        self._sent += produced
        return produced

    def _take(self, patience, produced):
        """Takes the next frame, of which samples are in self._frame if they are of the sky;
        returns whether there was one."""
        if self._failure is not None:
            raise self._failure
        try:
            found = self._waiting.get(timeout=patience) if patience else self._waiting.get_nowait()
        except queue.Empty:
            return False
        if isinstance(found, Exception):
            raise found
        header, samples = found
        self._counts["frames"] += 1
        self._counts["overdriven"] += header.overdriven != 0
        self._check(header)
        lost = 0 if self._expected is None else (header.index - self._expected) % 2**32
        self._expected = (header.index + 1) % 2**32
        if lost:
            self._counts["lost"] += lost
            self._say_loss()
        reason = header.reason(self._calibrated)
        if reason != self._reason and (reason or self._reason):
            self.logger.info(
                f"samples are flagged: {reason}" if reason else "samples of the sky come"
            )
        self._reason = reason
        if reason:
            length = self._length(header)
            self._counts["flagged"] += length
            self._pending += length
            self._unknown |= header.samples == 0
            # lengths of frames of calibration differ from those of data
            self._unknown |= lost > 0
            return True
        self._begin(header, lost, self.nitems_written(0) + produced)
        self._frame, self._done = samples, 0
        return True

    def _check(self, header):
        """Refuses a server that changes what the ports have."""
        if header.channels != self._channels:
            raise ProtocolError(
                f"channels: {self._channels} is not what {self._client.name} has: {header.channels}"
            )
        # frames of calibration are not decimated
        is_data = header.frame_type == 0
        if is_data and self._last is not None and header.rate != self._last.rate:
            raise ProtocolError(
                f"{self._client.name}: the rate has changed from {self._last.rate} to "
                f"{header.rate} Hz; start the flowgraph anew"
            )

    def _length(self, header):
        """Samples of data that are as long as a frame."""
        if self._last is None:
            return header.samples
        return round(header.samples * Fraction(self._last.rate, header.rate))

    def _say_loss(self):
        lost = self._counts["lost"]
        if lost & (lost - 1) == 0 or lost < 4:  # at 1, 2, 4, 8 ...
            self.logger.warn(
                f"{lost} frame{'s'[: lost > 1]} lost: the network or this computer is too slow"
            )

    def _begin(self, header, lost, item):
        """Moves the clock to a frame of samples, and tags its first one."""
        first, last = self._last is None, self._last
        jumped = first
        if first:
            # the stamp is of the end of the frame
            length = Fraction(header.samples, header.rate)
            self._anchor, self._clock = Fraction(header.time_stamp, 1000) - length, 0
        elif self._pending or self._unknown or lost:
            self._clock += self._gap(header, lost)
            jumped = True
        found = {}
        if jumped or header.frequency != last.frequency:
            begin = self._anchor + Fraction(self._clock, header.rate)
            found[tags.rx_time] = time_value(whole_and_fraction(begin))
            found[tags.approximate] = pmt.PMT_T
            found[tags.clock] = pmt.intern("samples")
        if first:
            found[tags.rx_rate] = pmt.from_double(float(header.rate))
        if first or header.frequency != last.frequency:
            found[tags.rx_freq] = pmt.from_double(float(header.frequency))
        for port in range(self._channels):
            for key, value in found.items():
                self.add_item_tag(port, item, pmt.intern(key), value)
        self._clock += header.samples
        self._pending, self._unknown, self._last = 0, False, header

    def _gap(self, header, lost):
        """Returns the samples between the end of the last good frame and this one."""
        last = self._last
        stamped = (header.time_stamp - last.time_stamp) * header.rate / 1000 - header.samples
        known = self._pending + lost * header.samples
        jitter = STAMP_JITTER * header.rate + header.samples / 2
        if not self._unknown and abs(stamped - known) <= jitter:
            return known
        self._counts["unknown"] += 1
        # at least what came
        return max(self._pending, round(stamped))
