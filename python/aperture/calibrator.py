#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that measures a calibration while a flowgraph runs, and lets the F-engine apply it."""

import threading
from dataclasses import replace

import numpy as np
import pmt
from gnuradio import gr

from . import tags
from .arrays.array_description import load_array
from .calibration.calibration import Band, CalibrationError
from .calibration.calibration_file import save_calibration
from .calibration.measure import MOST_MISFIT, calibrate, visibilities_of
from .calibration.messages import MODEL, calibration_messages
from .calibration.noise_cycle import PAUSE, NoiseCycle, coherence_of
from .calibration.sources import sky_model
from .files.file_names import check_text
from .parameters.description import Anything, Integer, Number, Text
from .parameters.rules import inputs_of, item_bytes
from .streams.python_block import printable, python_block, text_of, vector_of
from .streams.tag_values import dictionary, require, spectrum_interval, tag_value, time_of

NEEDED = (tags.rx_time, tags.rx_freq, tags.bandwidth, tags.spectra)
ALMOST_ONE = 0.99  # the mean of phasors that are all but equal
NOTHING = pmt.init_u64vector(1, [0])  # counted of an integration that has the noise source
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

    A noise source with a switch: with `noise_source="message"` the port `noise` sends {"noise":
    true} before a measurement and false after it, to a noise_switch. The integrations of an
    optional output are those that come in, but for those in which the source may be on: they are
    zeros, and count nothing (`counted` is 0). It counts as off once the coherence has fallen.
    Where stream_align uses the same source, by the same noise_switch, it comes first: its cycle
    is missing in the stream, and an integration that counts nothing ends a measurement, which
    begins anew behind it.

    Message port `command`: a dictionary of `command` with "measure" begins a new measurement.
    Message port `status`: a dictionary of `event`: `calibrated`, or `not_calibrated` with a
    `reason`; `noise_silent` and `noise_stays` where the switch of the noise source does not answer.

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
        noise_source: Text(
            "message: a noise source is switched by the messages of port `noise`; none: it is on, "
            "or there is none.",
            "none",
            "message",
        ) = "none",
        noise_settle: Number(
            "Seconds of the stream from switching it on to the first integration that is measured.",
            0,
            3600,
            unit="s",
        ) = 0.5,
        noise_patience: Number(
            "Seconds of the stream in which its switch has to act.", 0.01, 3600, unit="s"
        ) = 5.0,
        scale: Text(
            "model: voltages become those of the source, whose power is 1 if nobody says another; "
            "level: those of the reference keep their mean power, as voltages of 8 bits need it.",
            "model",
            "level",
        ) = "model",
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
        self._switches, self._scale = noise_source == "message", scale
        self._settle, self._patience = float(noise_settle), float(noise_patience)
        self._lock = threading.Lock()
        self._start()
        items = [vector_of(np.complex64, self._channels * products)]
        super().__init__("calibrator", items, gr.py_io_signature(0, 1, items))
        self.set_tag_propagation_policy(gr.TPP_DONT)
        for port in ("delays", "gains", "noise", "status"):
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

    def why_not(self):
        """Returns why nothing was measured by the integrations that were gathered last."""
        with self._lock:
            return self._why

    def measuring(self):
        """Returns whether a measurement was begun, or its noise source may be on."""
        with self._lock:
            return self._wanted or (self._cycle is not None and self._cycle.active)

    def measure(self):
        """Begins a new measurement with the next integration."""
        with self._lock:
            self._wanted = True

    # ---- the block

    def _start(self):
        self._total = self._last = self._band = None
        self._applied = None  # the Calibration that was sent last, of the channels of now
        self._sent = self._skipped = 0
        self._wanted = True
        self._gathered, self._times = [], []
        self._interval = None  # s, from a spectrum to the next
        self._clock = None  # (whole seconds, fraction) at which the next integration begins
        self._holds_from = None  # the same for the last correction that was sent
        self._spectra = 1
        self._cycle = NoiseCycle(self._settle, self._patience) if self._switches else None
        self._origin = None  # time of the first integration
        self._try_from = 0.0  # s after that, before which the source is left alone
        self._why = "no integration has come since"  # reason why nothing was measured last
        self._counted = None  # `counted` as the output said it last

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
        count = len(output_items[0]) if output_items else len(input_items[0])
        found = self.described(0, count)
        passed = output_items[0] if output_items else None
        if passed is not None:
            passed[:] = input_items[0][:count]
            for tag in self.get_tags_in_window(0, 0, count):
                if not pmt.equal(tag.key, pmt.intern(tags.counted)):
                    self.add_item_tag(0, tag.offset, tag.key, tag.value)
        for index, (item, here) in enumerate(zip(input_items[0], found)):
            noisy = self._take(np.reshape(item, (self._channels, self._products)), here)
            if passed is None:
                continue
            counted = NOTHING if noisy else here.get(tags.counted)
            if noisy:
                passed[index] = 0
            if counted is not None and not (self._counted and pmt.equal(counted, self._counted)):
                item = self.nitems_written(0) + index
                self.add_item_tag(0, item, pmt.intern(tags.counted), counted)
                self._counted = counted
        return count

    def _take(self, item, found):
        """Takes one integration and its tags; returns whether the noise source may be in it."""
        if self._band is None:
            require(found, NEEDED, "X-engine")
        if tags.rx_freq in found or tags.bandwidth in found:
            self._tune(found)
        self._spectra = tag_value(found, tags.spectra, pmt.to_uint64)
        begin = tag_value(found, tags.rx_time, time_of) if tags.rx_time in found else self._clock
        self._interval = spectrum_interval(
            found, self._channels, self._band.width * self._channels, self._interval
        )
        length = self._spectra * self._interval  # s
        self._clock = self._later(begin, length)
        with self._lock:
            if (
                self._every
                and self._holds_from is not None
                and self._seconds(begin, self._holds_from) >= self._every
            ):
                self._wanted = True
            wanted = self._wanted
        wanted = wanted and (
            self._holds_from is None or self._seconds(begin, self._holds_from) >= 0
        )
        if self._origin is None:
            self._origin = begin
        now = self._seconds(begin, self._origin)
        missing = tags.counted in found and not any(pmt.u64vector_elements(found[tags.counted]))
        noisy = self._follow_noise(item, now, length, wanted, missing)
        if not wanted or missing or (self._cycle is not None and not self._cycle.ready(now)):
            return noisy
        self._gathered.append(np.array(item, complex))
        self._times.append(begin[0] + begin[1] + length / 2)
        if len(self._gathered) == self._integrations:
            before = self._sent
            self._measure()
            self._gathered, self._times = [], []
            if self._cycle is not None and self._sent > before:
                self._cycle.end(now + length, coherence_of(item))
                self._switch(False)
        return noisy

    def _follow_noise(self, item, now, length, wanted, missing):
        """Switches the noise source; returns whether an integration may have it. now: s since the
        first one, when it begins; missing: whether it counts nothing."""
        cycle = self._cycle
        if cycle is None:
            return False
        if not cycle.active:
            if not wanted or missing or now < self._try_from:
                return False
            cycle.begin(now)
            self._switch(True)
        elif missing:
            if cycle.searching:
                # stream_align has the source now, and waits for it to go off
                cycle.cancel()
                self._switch(False)
                self._gathered, self._times = [], []
            else:
                cycle.wait(length)
        elif cycle.silent(now):
            self._tell(
                "noise_silent",
                f"the noise source does not answer: nothing could be calibrated {self._patience:g} "
                f"s after it was switched on ({self._why}); is port noise connected to what "
                "switches it?",
            )
            cycle.end(now)
            self._switch(False)
            self._gathered, self._times = [], []
            self._try_from = now + max(PAUSE, self._every)
        elif not cycle.searching:
            outcome = cycle.look(now + length, coherence_of(item))
            if outcome == "stays":
                self._tell(
                    "noise_stays",
                    "the noise source does not answer: the coherence is the same "
                    f"{self._patience:g} s after it was switched off",
                )
        return True

    def _switch(self, on):
        self.message_port_pub(
            pmt.intern("noise"),
            dictionary({tags.noise: pmt.from_bool(bool(on)), tags.model: MODEL}),
        )

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
        if self._band is None or band.width != self._band.width:
            self._interval = None
        if self._band is not None and band != self._band:
            # measurements of another stream are of no use here; what was sent stays in force,
            # channel by channel, or comes in force yet
            self._total = self._last = None
            if self._applied is not None:
                self._applied = replace(self._applied, band=band, reference_frequency=None)
            self._gathered, self._times, self._wanted = [], [], True
        self._band = band

    def _measure(self):
        """Sends what the integrations that were gathered say."""
        frequencies = self._band.frequencies
        try:
            visibilities = visibilities_of(
                self._array, self._gathered, self._spectra, frequencies, self._model, self._times
            )
            half = self._spectra * self._interval / 2
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
            # the source may come on in a moment: what its silence is told with
            self._why = text_of(error)
            if self._cycle is None:
                self._tell("not_calibrated", self._why)
            return
        if self._not_in_force(found):
            return
        for text in told:
            self.logger.warn(printable(text))
        with self._lock:
            self._last = found
            self._total = found if self._applied is None else found.after(self._applied)
            if not self._reference:
                self._reference = found.references[0]
            self._wanted = False
            self._sent += 1
            total = self._total
            level = 1 / total.level() if self._scale == "level" else 1.0
            self._applied = total.scaled(level)
        self._holds_from = self._later(self._clock, self._lead)
        for port, message in calibration_messages(
            self._applied, self._array.input_names, frequencies, time=self._holds_from
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
