#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that measures a calibration while a flowgraph runs, and lets the F-engine apply it."""

import threading

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .calibration.calibration import Band, CalibrationError
from .calibration.calibration_file import save_calibration
from .calibration.measure import MOST_MISFIT, calibrate, visibilities_of
from .calibration.messages import calibration_messages
from .calibration.sources import sky_model
from .files.file_names import check_text
from .parameters.description import Anything, Integer, Number, Text
from .parameters.rules import inputs_of, item_bytes
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.tag_values import dictionary, require, tag_value, time_of

NEEDED = (tags.rx_time, tags.rx_freq, tags.bandwidth, tags.spectra)
ALMOST_ONE = 0.99  # the mean of phasors that are all but equal
PATIENCE = 200  # measurements that may come before a setting is in force


def _phasors(calibration):
    """Returns phasors of the corrections, [input][channel]; 0 where there are none."""
    values = calibration.corrections(calibration.band.frequencies)
    size = np.abs(values)
    return np.divide(values, size, out=np.zeros_like(values), where=size > 0)


class calibrator(python_block):
    """
    Measures a calibration while a flowgraph runs, and lets the F-engine apply it.

    In: `[channel][product]` of fc32 from `xengine`, one item an integration, while all inputs hear
    a known source. What is measured goes as messages to the ports `delays` and `gains`, to be
    connected with those of `f_engine` or `pfb_channelizer`, whose channels all come here. They are
    the model "calibration" there, which acts beside what others set. A later measurement is of what
    is left, and is added to it.

    A setting holds from `lead` seconds after the last integration that it was measured with; what
    was received before is not measured again. If the F-engine is further ahead, it holds later,
    which is noticed: what is as it was before the setting is left out.

    Message port `command`: a dictionary of `command` with "measure" begins a new measurement.
    Message port `status`: a dictionary of `event`: `calibrated`, or `not_calibrated` with a
    `reason`.

    Tags that are needed: rx_time, rx_freq, bandwidth and spectra, as xengine sends them.

    Raises:
        ValueError, OSError: A parameter is not allowed; a file of sources cannot be read.
    """

    def __init__(
        self,
        array: Text(
            "An array description, or the file or shipped name of one; its inputs are the "
            "X-engine's."
        ) = "two-dish",
        channels: Integer("Channels of an item.", 1, 2**31 - 1) = 1024,
        source: Text(
            '"noise", or a direction such as "sun" or "az=130, el=40", or a YAML file of sources.'
        ) = "noise",
        integrations: Integer("Integrations that a measurement takes.", 1, 1048576) = 1,
        every: Number(
            "Seconds between measurements; 0: one at the start, and on a command.",
            0,
            1000000,
            unit="s",
        ) = 0.0,
        reference: Text(
            'Name of the input that is left as it is but for its magnitude; "": that with the '
            "most signal to noise in the first measurement."
        ) = "",
        lead: Number(
            "Seconds of the stream after a measurement from which its settings hold.",
            0,
            1000000,
            unit="s",
        ) = 1.0,
        filename: Text("If given, the file of the calibration that is in force.") = "",
        inputs: Anything("If given, how many inputs the array must have.") = None,
    ):
        array = load_array(array)
        self._channels = int(channels)
        inputs = inputs_of(array, inputs)
        self._integrations = int(integrations)
        self._every = float(every)
        self._lead = float(lead)
        products = inputs * (inputs + 1) // 2
        item_bytes("channels", 8, channels=channels, products=products)
        if reference:
            array.find_input(reference)
        check_text("filename", filename)
        self._model = sky_model(source)
        self._array, self._products = array, products
        self._reference, self._filename = reference, filename
        self._lock = threading.Lock()
        self._start()
        super().__init__(
            "calibrator", out_sig=None, in_sig=[vector_of(np.complex64, self._channels * products)]
        )
        for port in ("delays", "gains", "status"):
            self.message_port_register_out(pmt.intern(port))
        self.message_port_register_in(pmt.intern("command"))
        self.set_msg_handler(pmt.intern("command"), self._command)

    # ---- what can be asked for

    def calibration(self):
        """The Calibration that was sent last, all that was measured so far; None before."""
        with self._lock:
            return self._total

    def measurements(self):
        """Returns how many have been sent."""
        with self._lock:
            return self._sent

    def measure(self):
        """Begins a new measurement with the next integration."""
        with self._lock:
            self._wanted = True

    # ---- the block

    def _start(self):
        self._total = self._last = self._band = None
        self._sent = self._skipped = 0
        self._wanted = True
        self._gathered, self._times = [], []
        self._clock = None  # (whole seconds, fraction) at which the next integration begins
        self._holds_from = None  # the same for the last correction that was sent
        self._spectra = 1

    def _command(self, message):
        name, command = pmt.intern("command"), pmt.PMT_NIL
        if pmt.is_dict(message):
            command = pmt.dict_ref(message, name, command)
        elif pmt.is_pair(message) and pmt.equal(pmt.car(message), name):
            command = pmt.cdr(message)  # from a QT GUI Msg Push Button
        if pmt.is_symbol(command) and pmt.symbol_to_string(command) == "measure":
            self.measure()
        else:
            self._tell(
                "refused",
                f"{pmt.write_string(message)[:80]}: a dictionary or a pair of "
                'command with "measure" is expected',
            )

    def _tell(self, event, reason=None):
        made = {tags.event: event}
        if reason is not None:
            made[tags.reason] = printable(reason)
            self.logger.warn(printable(reason))
        self.message_port_pub(pmt.intern("status"), dictionary(made))

    def _work(self, input_items, output_items):
        found = self.described(0, len(input_items[0]))
        for item, here in zip(input_items[0], found):
            self._take(np.reshape(item, (self._channels, self._products)), here)
        return len(input_items[0])

    def _take(self, item, found):
        """Takes one integration and its tags."""
        if self._band is None:
            require(found, NEEDED, "X-engine")
        if tags.rx_freq in found or tags.bandwidth in found:
            self._tune(found)
        self._spectra = tag_value(found, tags.spectra, pmt.to_uint64)
        begin = tag_value(found, tags.rx_time, time_of) if tags.rx_time in found else self._clock
        length = self._spectra / self._band.width  # s: spectra are 1 / width apart
        self._clock = self._later(begin, length)
        with self._lock:
            if (
                self._every
                and self._holds_from is not None
                and self._seconds(begin, self._holds_from) >= self._every
            ):
                self._wanted = True
            wanted = self._wanted
        if not wanted or (
            self._holds_from is not None and self._seconds(begin, self._holds_from) < 0
        ):
            return
        self._gathered.append(np.array(item, complex))
        self._times.append(begin[0] + begin[1] + length / 2)
        if len(self._gathered) == self._integrations:
            self._measure()
            self._gathered, self._times = [], []

    @staticmethod
    def _later(time, seconds):
        whole, fraction = divmod(time[1] + seconds, 1.0)
        return time[0] + int(whole), fraction

    @staticmethod
    def _seconds(time, since):
        return (time[0] - since[0]) + (time[1] - since[1])

    def _tune(self, found):
        last = (
            {}
            if self._band is None
            else {tags.rx_freq: self._frequency, tags.bandwidth: self._band.width * self._channels}
        )
        self._frequency = tag_value(found, tags.rx_freq, pmt.to_double, last)
        width = tag_value(found, tags.bandwidth, pmt.to_double, last) / self._channels
        band = Band(self._frequency - (self._channels // 2) * width, width, self._channels)
        if self._band is not None and band != self._band:
            # measurements of another stream are of no use here
            self._total = self._last = self._holds_from = None
            self._gathered, self._times, self._wanted = [], [], True
        self._band = band

    def _measure(self):
        """Sends what the integrations that were gathered say."""
        frequencies = self._band.frequencies
        try:
            visibilities = visibilities_of(
                self._array, self._gathered, self._spectra, frequencies, self._model, self._times
            )
            half = self._spectra / self._band.width / 2
            found, told = calibrate(
                visibilities,
                self._band,
                self._model,
                self._array.name,
                (self._times[0] - half, self._times[-1] + half),
                self._reference or None,
                0,
                MOST_MISFIT,
            )
        except CalibrationError as error:
            self._tell("not_calibrated", text_of(error))
            return
        if self._not_in_force(found):
            return
        for text in told:
            self.logger.warn(printable(text))
        with self._lock:
            self._last = found
            self._total = found if self._total is None else found.after(self._total)
            if not self._reference:
                self._reference = found.references[0]
            self._wanted = False
            self._sent += 1
            total = self._total
        self._holds_from = self._later(self._clock, self._lead)
        for port, message in calibration_messages(
            total, self._array.input_names, frequencies, time=self._holds_from
        ):
            self.message_port_pub(pmt.intern(port), message)
        if self._filename:
            save_calibration(total, self._filename)
        self._tell("calibrated")

    def _not_in_force(self, found):
        """Returns whether this was measured before the last setting, which came late, held."""
        if self._last is None or self._skipped >= PATIENCE:
            self._skipped = 0
            return False
        now, before = _phasors(found), _phasors(self._last)
        there = np.abs(now) * np.abs(before) > 0
        if not there.any():
            return False
        same = np.mean((now * before.conj()).real[there])
        corrected, small = np.mean(now.real[there]), np.mean(before.real[there])
        # nobody can say whether a setting that hardly changed anything is in force
        if same > corrected and same > 0.5 and small < ALMOST_ONE:
            self._skipped += 1
            return True
        self._skipped = 0
        return False
