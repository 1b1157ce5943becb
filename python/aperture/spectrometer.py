#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A whole spectrometer in one block: from samples to spectra in kelvin."""

import math
import threading
import time

import numpy as np
import pmt
from gnuradio import gr

from . import tags
from .aperture_python import f_engine, power_detector, receiver_tags
from .fx_correlator import INPUT_TYPE, samples_in_item, spectra_in_frame
from .parameters.description import Integer, Number, Switch, Text
from .parameters.rules import as_number, item_bytes, one_of, refuse
from .spectrometry.switching import MODES, TARGETS, SwitchedSpectra, in_reference
from .streams.integration_tags import IntegrationTags
from .streams.python_block import python_block, rate_block, vector_of
from .streams.tag_values import dictionary, looked_at, time_value

#: values of re and im that are looked at for clipping, of as many times more
LOOKED, OF, MOST_LOOKED = 8192, 16, 1 << 16
CLIPPED_AGAIN = 2.0  # s
#: part of them at their limit from which on it is told; and their limit in units of the rms
CLIPPED, CREST = 1e-3, 3.5
#: part by which the lengths of integrations may differ that have one rate
SAME_RATE = 1e-3
#: types whose items NumPy reads as they are
COMPONENTS = {
    "fc32": np.float32,
    "f32": np.float32,
    "sc16": np.int16,
    "s16": np.int16,
    "sc8": np.int8,
    "s8": np.int8,
}


def clipped_part(values):
    """
    The part of some samples' components that are at a converter's limit, 0 where there is none.

    Noise has its largest value once or twice among thousands; clipped noise has it often, and no
    more than CREST times its rms away.
    """
    values = np.abs(values.astype(np.float64))
    limit = values.max(initial=0.0)
    rms = np.sqrt(np.mean(values**2)) if len(values) else 0.0
    if not 0 < limit < CREST * rms:
        return 0.0
    part = float(np.mean(values >= 0.999 * limit))
    return part if part > CLIPPED else 0.0


class _level_probe(python_block):
    """Looks at samples, and tells `found(part)` where they are clipped, at most once in
    CLIPPED_AGAIN seconds."""

    def __init__(self, dtype, components, found):
        super().__init__("level_probe", [vector_of(dtype, components)], None)
        self._found = found

    def _start(self):
        self._next = 0.0  # the host's time at which it may be told again

    def _work(self, input_items, _):
        values = input_items[0].reshape(-1)
        if len(values) >= LOOKED // 4 and time.monotonic() >= self._next:
            part = clipped_part(values[:MOST_LOOKED])
            if part:
                self._next = time.monotonic() + CLIPPED_AGAIN
                self._found(part)
        return len(input_items[0])


class _kelvin_scale(rate_block):
    """Mean powers [input][channel] in, calibrated spectra out."""

    def __init__(self, inputs, channels, spectra, period, throw):
        items = [vector_of(np.float32, inputs * channels)]
        super().__init__("kelvin_scale", items, items)
        self._shape = inputs, channels
        self._spectra, self._period, self._throw = spectra, period, throw
        self._lock = threading.RLock()
        self._home = None  # Hz, that the receiver was tuned to before it was told anything
        self.listeners, self.faults = [], {}  # faults: key -> text
        self._port = {name: pmt.intern(name) for name in ("spectra", "status", "command", "look")}
        for name in ("spectra", "status", "command"):
            self.message_port_register_out(self._port[name])
        self.message_port_register_in(self._port["look"])
        self.set_msg_handler(self._port["look"], self._look)
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def look_at(self, target):
        with self._lock:
            self._spectra.look_at(target)

    def change(self, name, value):
        """Sets a parameter of the spectra, from the next integration on."""
        with self._lock:
            setattr(self._spectra, name, value)

    def scale(self):
        with self._lock:
            return self._spectra.scale

    def loads(self):
        with self._lock:
            return dict(self._spectra.loads)

    def take_scale(self, scale):
        with self._lock:
            self._spectra.set_scale(scale)

    def notify(self, event, values):
        """Publishes an event on `status`, and writes faults into the log."""
        if event == "fault":
            if values["fault"] not in self.faults:
                self.logger.warn(values["reason"])
            self.faults[values["fault"]] = values["reason"]
        self.message_port_pub(self._port["status"], dictionary({tags.event: event, **values}))

    def _look(self, message):
        target = looked_at(message)
        if target not in TARGETS:
            self.logger.error(
                f"look: {target!r} is not allowed; it must be {', '.join(TARGETS)}, or a "
                "dictionary with one of them as `look`"
            )
            return
        self.look_at(target)

    def _start(self):
        self._follow = IntegrationTags(self._shape[1], self._shape[0])
        self._commanded, self._rate = None, 0.0
        self.faults.clear()
        with self._lock:
            self._spectra.clear()

    def _stop(self):
        with self._lock:
            self._spectra.note_load()

    def _work(self, input_items, output_items):
        made = taken = 0
        for item, found in zip(input_items[0], self.described(0, len(input_items[0]))):
            taken += 1
            now = self._follow.take(found)
            self._command(now)
            if not np.min(now.counted) > 0:
                continue  # nothing of it was there
            with self._lock:
                spectrum = self._spectra.take(
                    item.reshape(self._shape),
                    now.begin,
                    now.end,
                    float(now.frequencies[self._shape[1] // 2]),
                    float(self._shape[1] * (now.frequencies[1] - now.frequencies[0])),
                )
            if spectrum is not None:
                output_items[0][made] = spectrum.kelvin.reshape(-1)
                self._tell(spectrum, self.nitems_written(0) + made)
                made += 1
                if made == len(output_items[0]):
                    break
        self.consume_each(taken)
        return made

    def _command(self, now):
        """Tells what switches: the load, or the tuning."""
        if not self._period:
            return
        reference = in_reference(now.end, self._period)
        if reference == self._commanded:
            return
        first, self._commanded = self._commanded is None, reference
        mode = self._spectra.mode
        if mode == "load":
            message = {"load": pmt.from_bool(reference)}
        elif self._throw:
            if first:
                self._home = self._tuned_before(float(now.frequencies[self._shape[1] // 2]))
                with self._lock:
                    self._spectra.signal_at(self._home)
            message = {"freq": self._home + self._throw * reference}
        else:
            return
        self.message_port_pub(self._port["command"], dictionary(message))

    def _tuned_before(self, frequency):
        """The frequency of the signal: a receiver may still be where the last run left it."""
        left = self._home is not None and abs(frequency - self._home - self._throw) < 1.0
        return self._home if left else frequency

    def _rate_of(self, spectrum):
        """Spectra a second: it stays what it is where times, in seconds since 1970, differ by
        rounding."""
        length = spectrum.end - spectrum.begin
        if self._period:
            # the first one may have begun within a cycle
            cycles = math.ceil(self._spectra.integration / self._period - 1e-6)
            length = max(cycles, 1) * self._period
        if abs(self._rate * length - 1) > SAME_RATE:
            self._rate = 1 / length
        return self._rate

    def _tell(self, spectrum, item):
        inputs, channels = self._shape
        for function in self.listeners:
            function(spectrum)
        about = {
            tags.rx_time: time_value(spectrum.begin),
            tags.rx_freq: pmt.from_double(spectrum.frequency),
            tags.bandwidth: pmt.from_double(spectrum.bandwidth),
        }
        count = max(1, round(spectrum.seconds * spectrum.bandwidth / channels))
        states = {
            **about,
            tags.rx_rate: pmt.from_double(self._rate_of(spectrum)),
            tags.spectra: pmt.from_uint64(count),
            tags.counted: pmt.init_u64vector(1, [count]),
        }
        for key, value in states.items():
            self.add_item_tag(0, item, pmt.intern(key), value)
        self.message_port_pub(
            self._port["spectra"],
            dictionary(
                {
                    **about,
                    "kelvin": np.asarray(spectrum.kelvin).reshape(-1),
                    "power": np.asarray(spectrum.power).reshape(-1),
                    "inputs": pmt.from_long(inputs),
                    "system": spectrum.system,
                    "end": time_value(spectrum.end),
                    "seconds": float(spectrum.seconds),
                    "measured": pmt.from_bool(spectrum.measured),
                    "mode": self._spectra.mode,
                }
            ),
        )


class spectrometer(gr.hier_block2):
    """
    Makes calibrated spectra of one dish's samples: one block from a receiver to kelvin.

    F-engine, power detector and calibration in one block, for one input or several (polarisations,
    or dishes that have nothing to do with each other). How kelvin come about:

    - Hot and cold: while the antenna looks at a load of known temperature (an absorber; the sky
      away from the galaxy), set_look() or a message on the port `look` says so: "hot", "cold", and
      "sky" when it looks at the sky again. Both give the gain and the receiver's temperature in
      each channel by the Y-factor method. Until both were measured, a receiver of t_receiver
      kelvin with one gain in all channels is assumed, so that its bandpass is in the spectra.
    - total: the antenna temperature from power and gain.
    - load: the switch before the amplifier shows antenna and load in turn, so that drifts of the
      gain cancel. Cycles begin at multiples of the period since 1970, with the antenna. The port
      `command` sends {load: True or False} when the switch is to change.
    - frequency: the receiver is tuned to a second frequency in turn, which the stream says by its
      tag rx_freq; what is the same in both cancels, and a line stays. Both sides are averaged
      (folded). With `throw`, `command` sends {freq: Hz} at each half of a cycle.

    Ports in: inputs / inputs_per_port, of samples as f_engine has them. Out: [input][channel] of
    f32 in kelvin, an item an integration, of the sky only, with the tags rx_time, rx_rate, rx_freq,
    bandwidth, spectra and counted. An integration that is not full when the samples end is not
    sent. Message ports: `spectra`, each spectrum as a dictionary (kelvin, power, inputs, system,
    rx_time, end, seconds, rx_freq, bandwidth, measured, mode); `status`: dictionaries of `event`,
    which are `measured` (target, seconds; y and receiver, kelvin, of each input) and `fault`
    (fault, reason: samples are clipped, no switching is seen, hot equals cold, the band has no
    hydrogen line).

    Raises:
        ValueError: names the parameter, its value and what is allowed
    """

    def __init__(
        self,
        channels: Integer("of the band: even, 4 to 65536", 4, 65536) = 512,
        integration: Number(
            "seconds of a spectrum, at least: switched ones end with a whole cycle",
            0,
            1e6,
            open=True,
            unit="s",
            settable=True,
        ) = 2.0,
        mode: Text("total, load (switching) or frequency (switching)", *MODES) = "total",
        inputs: Integer("polarisations or dishes", 1, 64) = 1,
        input_type: INPUT_TYPE = "fc32",
        inputs_per_port: Integer("interleaved sample by sample", 1, 64) = 1,
        look: Text("what the antenna looks at: sky, hot or cold", *TARGETS, settable=True) = "sky",
        t_hot: Number(
            "kelvin, of the hot load", 0, 1e6, open=True, unit="K", settable=True
        ) = 290.0,
        t_cold: Number(
            "kelvin, of the cold load or sky, with the ground that the antenna sees beside it",
            0,
            1e6,
            open=True,
            unit="K",
            settable=True,
        ) = 10.0,
        t_load: Number(
            "kelvin, of the switch's load", 0, 1e6, open=True, unit="K", settable=True
        ) = 290.0,
        t_receiver: Number(
            "kelvin, of the receiver, until hot and cold were measured",
            0,
            1e6,
            open=True,
            unit="K",
            settable=True,
        ) = 120.0,
        period: Number(
            "seconds of a cycle of load or frequency switching", 0.01, 3600, unit="s"
        ) = 2.0,
        throw: Number(
            "Hz, by which the receiver is tuned away for the reference; 0: others tune it",
            -1e9,
            1e9,
            unit="Hz",
        ) = 0.0,
        settling: Number("seconds after each change that are left out", 0, 60, unit="s") = 0.0,
        sample_rate: Number(
            "samples a second of an input, for sources that do not say it; 0: the stream says "
            "it (tag rx_rate)",
            0,
            unit="Hz",
        ) = 0.0,
        center_frequency: Number(
            "Hz, the sky frequency of the middle of the band, for sources that do not say it; "
            "0: the stream says it (tag rx_freq)",
            0,
            unit="Hz",
        ) = 0.0,
        inverted: Switch("the mixer mirrored the band") = False,
        spectra_per_frame: Integer(
            "spectra that are summed before anything looks at them, which must last much less than "
            "an integration and half a cycle; 0: chosen, for 1 MB or by sample_rate",
            0,
            1 << 20,
        ) = 0,
        device: Text("auto, cpu, cuda or cuda:N") = "auto",
    ):
        if t_hot <= t_cold:
            refuse("t_hot", t_hot, f"above t_cold, {t_cold:g} K")
        if settling >= period / 2 and mode != "total":
            refuse("settling", settling, f"below half the period, {period / 2:g} s")
        real = input_type not in ("fc32", "sc16", "sc8", "sc4")
        spectra_a_second = sample_rate / max(int(channels), 1) / (2 if real else 1)
        # items are much shorter than an integration, and than half a cycle, whose edges they lose
        shortest = min(integration, period / 2) if mode == "load" else integration
        spectra = spectra_per_frame or spectra_in_frame(
            max(int(channels), 1), max(int(inputs), 1), shortest, spectra_a_second
        )
        item_bytes("channels", 4, channels=channels, inputs=inputs)
        #: the blocks inside
        self.f_engine = f_engine(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs_per_port,
            input_type=input_type,
            spectra_per_frame=spectra,
            inverted=inverted,
            device=device,
        )
        self.power_detector = power_detector(
            type="fc32",
            channels=channels,
            beams=inputs,
            spectra_per_frame=spectra,
            spectra=spectra,
            device=device,
        )
        made = SwitchedSpectra(
            mode,
            float(integration),
            float(period),
            float(settling),
            float(t_hot),
            float(t_cold),
            float(t_load),
            float(t_receiver),
            lambda event, values: self._kelvin.notify(event, values),
        )
        self._kelvin = _kelvin_scale(
            inputs, channels, made, period if mode != "total" else 0.0, float(throw)
        )
        into = self.f_engine.input_signature()
        ports, size = into.max_streams(), into.sizeof_stream_item(0)
        gr.hier_block2.__init__(
            self,
            "spectrometer",
            gr.io_signature(ports, ports, size),
            gr.io_signature(1, 1, 4 * channels * inputs),
        )
        items_a_second = sample_rate / samples_in_item(input_type, inputs_per_port, size)
        self._probes = []
        for port in range(ports):
            last = (self, port)
            if sample_rate or center_frequency:
                tagged = receiver_tags(
                    item_size=size,
                    rate=items_a_second,
                    center_frequency=center_frequency,
                    clock="none",
                )
                self.connect(last, tagged)
                last = (tagged, 0)
            self.connect(last, (self.f_engine, port))
            if input_type in COMPONENTS:
                self._look_at_levels(last, size, COMPONENTS[input_type])
        self.connect(self.f_engine, self.power_detector, self._kelvin, self)
        self.message_port_register_hier_in("look")
        self.msg_connect(self, "look", self._kelvin, "look")
        for name in ("spectra", "status", "command"):
            self.message_port_register_hier_out(name)
            self.msg_connect(self._kelvin, name, self, name)
        self.set_look(look)

    def _look_at_levels(self, source, size, dtype):
        components = size // np.dtype(dtype).itemsize
        few = max(1, LOOKED // components)
        from gnuradio import blocks  # 4 MB, which few flowgraphs need of this module

        keep = blocks.keep_m_in_n(size, few, OF * few, 0)
        probe = _level_probe(dtype, components, self._clipped)
        self.connect(source, keep, probe)
        self._probes += [keep, probe]

    def _clipped(self, part):
        self._kelvin.notify(
            "fault",
            {
                "fault": "clipping",
                "reason": f"{100 * part:.2g} % of the samples are clipped: turn the gain down, as "
                "kelvin are wrong by any factor",
            },
        )

    def set_look(self, look):
        """The antenna looks at the sky, hot or cold, from now on; hot and cold are measured as long
        as this is so."""
        self._kelvin.look_at(one_of("look", look, TARGETS))

    def set_integration(self, seconds):
        """Seconds of a spectrum, from the next one on."""
        self._kelvin.change("integration", as_number("integration", seconds, 0, 1e6, above=True))

    def set_t_hot(self, kelvin):
        """Kelvin of the hot load, for the next measurement of hot or cold."""
        self._kelvin.change("t_hot", as_number("t_hot", kelvin, 0, 1e6, above=True))

    def set_t_cold(self, kelvin):
        """Kelvin of the cold load, for the next measurement of hot or cold."""
        self._kelvin.change("t_cold", as_number("t_cold", kelvin, 0, 1e6, above=True))

    def set_t_load(self, kelvin):
        """Kelvin of the switch's load."""
        self._kelvin.change("t_load", as_number("t_load", kelvin, 0, 1e6, above=True))

    def set_t_receiver(self, kelvin):
        """Kelvin of the receiver, until hot and cold were measured."""
        self._kelvin.change("t_receiver", as_number("t_receiver", kelvin, 0, 1e6, above=True))

    def scale(self):
        """Returns the spectrometry.kelvin.Scale in force; None before anything has come."""
        return self._kelvin.scale()

    def take_scale(self, scale):
        """Takes a Scale that was measured before, in the place of hot and cold."""
        self._kelvin.take_scale(scale)

    def on_spectrum(self, function):
        """Calls function(spectrum) with each spectrometry.switching.Spectrum, by the block's
        thread."""
        self._kelvin.listeners.append(function)

    def faults(self):
        """Returns what is wrong, as far as it was seen since the start: a list of texts."""
        return list(self._kelvin.faults.values())

    def loads(self):
        """Returns mean powers [input][channel] of the loads that were measured: {"hot": ...}."""
        return self._kelvin.loads()

    def tapped_block(self, port):
        """The block within that has an output, and which of that block's it is: for tap()."""
        return self._kelvin, port

    def device_name(self):
        """Returns where it runs: cpu, cuda:0, ..."""
        return self.power_detector.device_name()

    def error(self):
        """Returns what ended it before its time; empty if there was no error since the last
        start."""
        return self.f_engine.error() or self.power_detector.error() or self._kelvin.error() or ""
