#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of all kinds of receivers: their options, and a check that settings are what was
asked.

Devices are separated by semicolons: `soapy:driver=rtlsdr,serial=1;driver=rtlsdr,serial=2,rate=2e6`.
A key of the table of options holds for all of them, and any other key=value belongs to its device.
"""

import re
import time
from dataclasses import dataclass

from ..arrays.array_description import Antenna, ArrayDescription, Input
from ..parameters.rules import number_reader, whole_reader
from .input_format import InputFormat, Option, Request, one_of, split_at
from .live_source import LiveSource, Receiver
from .recordings import describe_with
from .signals import Signals
from .values import hertz

LATEST_EDGE = 1.5  # s, in which a pulse a second must have come
AFTER_EDGE = 0.2  # s after a pulse, when a time is set for the next one
USUAL_GAIN = 0.75  # part of the range of gains


def _text(text):
    if not text:
        raise ValueError("expected a name")
    return text


def _hertz(low, high, least):
    read = hertz(low, high, least)
    return lambda text: float(read(text))


@dataclass(frozen=True)
class NoiseSwitch:
    """
    The switch of a noise source. device: index of the receiver that has it; name: of a setting, or
    of a bank of pins; pin: number of the pin, None for a setting.
    """

    device: int
    name: str
    pin: int | None = None

    def __str__(self):
        return self.name if self.pin is None else f"gpio:{self.name}:{self.pin}"

    @staticmethod
    def read(text):
        """Reads SETTING or gpio:BANK:PIN, with @N behind it for the Nth receiver."""
        name, at, device = text.partition("@")
        found = re.fullmatch(r"gpio:([^:]+):(\d+)", name)
        number = int(device) if device.isdecimal() and device.isascii() else 0
        if not name or (at and number < 1) or (name.startswith("gpio:") and not found):
            raise ValueError("expected SETTING or gpio:BANK:PIN, with @N for the Nth receiver")
        index = number - 1 if at else 0
        return NoiseSwitch(index, found[1], int(found[2])) if found else NoiseSwitch(index, name)


OPTIONS = {
    "rate": Option(_hertz(1, 1e10, 1000), "samples a second of each input", "HZ"),
    "freq": Option(_hertz(0, 1e12, 10_000), "frequency of the middle of the band on the sky", "HZ"),
    "gain": Option(
        number_reader(-200, 200, "dB"),
        "gain of all receivers; automatic gain is switched off in any case (default: "
        "three quarters of what the receiver has)",
        "DB",
    ),
    "bandwidth": Option(
        _hertz(0, 1e10, 1000),
        "bandwidth of the filter before sampling (default: the driver's)",
        "HZ",
    ),
    "antenna": Option(_text, "connector of the receiver (default: the driver's)", "NAME"),
    "channels": Option(whole_reader(1, 64), "inputs of each receiver (default: 1)", "N"),
    "clock": Option(
        _text,
        "source of the receivers' clock, as the driver calls it: internal, external, "
        "gpsdo ... (default: the driver's)",
        "SOURCE",
    ),
    "time": Option(
        _text,
        "source of a pulse a second: external, gpsdo ...; receivers that have one are "
        "lined up by their time (default: none)",
        "SOURCE",
    ),
    "clock_error": Option(
        number_reader(0, 1000, "ppm"),
        "error of the worst of receivers on crystals of their own (default: 0, all "
        "are on one clock)",
        "PPM",
    ),
    "follow_clock": Option(
        one_of("yes", "no"),
        "yes: the receivers' times come from another clock "
        "than their samples, and the time follows it; default: no, what cannot "
        "be placed then is missing",
        "yes|no",
    ),
    "most_offset": Option(
        number_reader(1e-6, 100, "s"),
        "time by which receivers may begin apart that have no true time (default: 0.4)",
        "SECONDS",
    ),
    "search": Option(
        number_reader(1e-6, 100, "s"),
        "length of the samples that are compared to find by how much (default: 0.4); "
        "longer finds fainter sources",
        "SECONDS",
    ),
    "noise": Option(
        NoiseSwitch.read,
        "switch of a noise source, which is on while the inputs are measured, at the start and "
        "after each tuning: a setting of the driver, as biastee, or a pin, as gpio:FP0:3; of the "
        "first receiver, or with @2 of the second (default: none)",
        "SWITCH",
    ),
    "noise_every": Option(
        number_reader(1, 1e6, "s"),
        "with noise: time from one such measurement to the next (default: none more)",
        "SECONDS",
    ),
}


@dataclass(frozen=True)
class Ranges:
    """The values that a driver allows: [(low, high)] in a unit; empty where it does not say."""

    pairs: tuple
    unit: str = "Hz"

    def allow(self, value):
        # ends come as floats
        return not self.pairs or any(
            low * (1 - 1e-9) <= value <= high * (1 + 1e-9) for low, high in self.pairs
        )

    def __str__(self):
        texts = [
            quantity(low, self.unit)
            if low == high
            else f"{quantity(low, self.unit)} to {quantity(high, self.unit)}"
            for low, high in self.pairs
        ]
        return ", ".join(texts[:6]) + (" and more" if len(texts) > 6 else "")


def quantity(value, unit):
    """Returns, for example, 1420.4 MHz or 30 dB."""
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if unit == "Hz" and abs(value) >= size:
            # 1420.4 MHz is how people say it
            size, prefix = (1e6, "M") if prefix == "G" else (size, prefix)
            return f"{value / size:.10g} {prefix}Hz"
    return f"{value:.10g} {unit}"


def ranges_of(found, unit="Hz"):
    """Ranges of what drivers give: objects with minimum() or start(), and so on."""
    return Ranges(
        tuple(
            (float(entry.minimum()), float(entry.maximum()))
            if hasattr(entry, "minimum")
            else (float(entry.start()), float(entry.stop()))
            for entry in found
        ),
        unit,
    )


class Driver:
    """
    A device as one kind of driver has it. What a driver does not have gives nothing: no ranges, no
    names. Settings of a channel have `channel` as their first argument.
    """

    block = None  # GNU Radio's source
    text = ""  # the user's own words
    patience = 3.0  # s, after which a receiver that sends nothing is given up
    tags_tuning = False  # True: the source says where a frequency begins to hold

    def ranges(self, key, channel):
        """Ranges of `rate`, `freq` or `gain`."""
        raise NotImplementedError

    def set(self, key, channel, value):
        """Sets `rate`, `freq`, `gain`, `bandwidth` or `antenna`."""
        raise NotImplementedError

    def get(self, key, channel):
        """Returns the driver's value of a key for a channel."""
        raise NotImplementedError

    def switch_off_automatic_gain(self, channel):
        raise NotImplementedError

    def antennas(self, channel):
        raise NotImplementedError

    def sources(self, key):
        """Names of what `clock` or `time` may be."""
        raise NotImplementedError

    def set_source(self, key, name):
        raise NotImplementedError

    def last_pulse(self):
        """Seconds at the last pulse by the device's clock, None if it does not tell."""
        raise NotImplementedError

    def set_time_at_next_pulse(self, seconds):
        raise NotImplementedError

    def noise_switch(self, switch):
        """
        A function of one argument, True or False, that switches what a NoiseSwitch names.

        Raises:
            ValueError: The device has no such switch; it says what there is.
        """
        raise ValueError(f"{self.text} has no switch that can be used while it runs")

    def error(self):
        """Returns why the source has ended, "" where it has not or does not say."""
        return ""

    def close(self):
        """Gives the device free, where an input cannot be what is said of it."""

    def start_at(self, seconds_from_now):
        """Lets the samples begin at a time, where it can."""

    def now(self):
        """Seconds by the device's clock; None if it does not tell, or cannot begin at a time."""
        return None


def choice(what, wanted, known):
    """Refuses a name that is not among those that a device has."""
    if wanted not in known:
        raise ValueError(
            f"{what} " + (", ".join(known) if known else "nothing") + f", and no {wanted}"
        )


class NamedDriver(Driver):
    """
    A source of GNU Radio whose settings are methods `set_NAME(value, channel)` and
    `get_NAME(channel)`. _names: of keys whose NAME is another; _ranges: methods that give ranges.
    """

    _names: dict = {}
    _ranges: dict = {}

    def ranges(self, key, channel):
        if key == "bandwidth":
            return ranges_of([])
        found = getattr(self.block, self._ranges[key])(*(() if key == "rate" else (channel,)))
        unit = "dB" if key == "gain" else "Hz"
        try:
            return ranges_of([found], unit)
        except RuntimeError:  # the source has no such setting
            return ranges_of([], unit)

    def set(self, key, channel, value):
        if key == "rate":
            getattr(self.block, f"set_{self._names[key]}")(value)
        else:
            getattr(self.block, f"set_{self._names.get(key, key)}")(value, channel)

    def get(self, key, channel):
        if key == "rate":
            return getattr(self.block, f"get_{self._names[key]}")()
        return getattr(self.block, f"get_{self._names.get(key, key)}")(channel)

    def antennas(self, channel):
        return list(self.block.get_antennas(channel))

    def sources(self, key):
        return list(getattr(self.block, f"get_{key}_sources")(0))

    def set_source(self, key, name):
        getattr(self.block, f"set_{key}_source")(name, 0)

    def last_pulse(self):
        return self.block.get_time_last_pps().get_real_secs()


class ReceiverFormat(InputFormat):
    """A kind of receivers; `open_devices` makes Drivers of texts."""

    names = "DEVICE[;DEVICE...]"
    options = OPTIONS
    live = True

    def open_devices(self, request, channels):
        """A Driver of each name of the request."""
        raise NotImplementedError

    def parse(self, text, array=None, seed=None):
        whole = f"{self.kind}:{text}"
        names, values = [], {}
        for device in split_at(text, ";"):
            names.append(",".join(self.take_values(whole, device, values)))
        request = Request(whole, tuple(names), values, array, seed)
        for key in ("rate", "freq"):
            if key not in values:
                raise request.error(f"{key} is missing, {self.options[key].help}: {key}=HZ")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise request.error(
                f"{twice or 'one receiver'} is named twice; each receiver is "
                "named once, by its serial number for example"
            )
        return request

    def open(self, request):
        channels = request.values.get("channels", 1)
        drivers = self.open_devices(request, channels)
        try:
            return self._signals(request, drivers, channels)
        except BaseException:
            for driver in drivers:
                driver.close()
            raise

    def _signals(self, request, drivers, channels):
        """Sets up what was opened, and makes Signals of it."""
        values, warnings = request.values, []
        for driver in drivers:
            warnings += self._set_up(request, driver, channels)
        if "time" in values:
            self._set_times(request, drivers)
        rates = {driver.get("rate", 0) for driver in drivers}
        if len(rates) > 1:
            raise request.error(
                "the receivers do not have one rate: "
                + ", ".join(
                    f"{driver.text} has {quantity(driver.get('rate', 0), 'Hz')}"
                    for driver in drivers
                )
            )
        rate, frequency = rates.pop(), drivers[0].get("freq", 0)
        receivers = [
            Receiver(
                f"{self.kind}:{driver.text}",
                driver.block,
                channels,
                rate,
                driver.get("freq", 0),
                driver,
            )
            for driver in drivers
        ]
        count = channels * len(receivers)
        description, more = describe_with(
            request,
            "receivers",
            lambda: array_of_receivers(count, rate, frequency),
            count,
            rate,
            frequency,
        )
        options = {
            key: values[key] for key in ("clock_error", "most_offset", "search") if key in values
        }
        options["follow_clock"] = values.get("follow_clock") == "yes"
        if "noise" in values:
            options["noise"] = self._noise_switch(request, drivers, count)
            options["noise_every"] = values.get("noise_every", 0)
        elif "noise_every" in values:
            raise request.error("noise_every belongs to noise")
        now = time.time()

        def source(samples):
            return LiveSource(receivers, samples, **options)

        return Signals(
            description,
            "fc32",
            rate,
            frequency,
            None,
            source,
            (int(now), now % 1),
            warnings=warnings + more,
            live=True,
            ports=count,
        )

    @staticmethod
    def _noise_switch(request, drivers, inputs):
        """The function that switches the noise source of a request."""
        switch = request.values["noise"]
        name = f"noise={switch}" + (f"@{switch.device + 1}" if switch.device else "")
        if inputs < 2:
            raise request.error(f"{name}: one input has nothing to be measured with")
        if request.values.get("clock_error", 0):
            raise request.error(
                f"{name}: inputs on clocks of their own (clock_error) need a source that is on all "
                "the time"
            )
        if switch.device >= len(drivers):
            raise request.error(f"{name}: there are {len(drivers)} receivers")
        try:
            return drivers[switch.device].noise_switch(switch)
        except ValueError as error:
            raise request.error(f"{name}: {error}") from None

    def _set_up(self, request, driver, channels):
        """Sets all that was asked for; returns warnings of what the driver made of it."""
        warnings, values = [], request.values
        for key in ("clock", "time"):
            if key in values:
                known = driver.sources(key)
                if values[key] not in known:
                    raise request.error(
                        f"{key}={values[key]}: {driver.text} has "
                        + (", ".join(known) if known else f"no choice of its {key} source")
                    )
                driver.set_source(key, values[key])
        for channel in range(channels):
            driver.switch_off_automatic_gain(channel)
            if "antenna" in values:
                known = driver.antennas(channel)
                if known and values["antenna"] not in known:
                    raise request.error(
                        f"antenna={values['antenna']}: {driver.text} has " + ", ".join(known)
                    )
                driver.set("antenna", channel, values["antenna"])
            for key, unit, tolerance in (
                ("rate", "Hz", 1e-9),
                ("bandwidth", "Hz", 1e-3),
                ("freq", "Hz", 1e-9),
                ("gain", "dB", 1e-3),
            ):
                value = values.get(key)
                allowed = driver.ranges(key, channel)
                if key == "gain" and value is None and allowed.pairs:
                    low, high = allowed.pairs[0][0], allowed.pairs[-1][1]
                    driver.set("gain", channel, low + USUAL_GAIN * (high - low))
                if value is None:
                    continue
                if not allowed.allow(value):
                    raise request.error(f"{key}={value:.10g}: {driver.text} allows {allowed}")
                try:
                    driver.set(key, channel, value)
                except (RuntimeError, ValueError) as error:
                    raise request.error(f"{key}={value:.10g}: {driver.text}: {error}") from None
                there = driver.get(key, channel)
                if abs(there - value) > tolerance * max(abs(value), 1) and channel == 0:
                    warnings.append(
                        f"{driver.text} has {key}={there:.10g}, the nearest to "
                        f"{value:.10g} {unit} that it can do"
                    )
        return warnings

    @staticmethod
    def _set_times(request, drivers):
        """Gives all devices one time at a pulse."""
        first = drivers[0]
        before, begin = first.last_pulse(), time.monotonic()
        if before is None:
            raise request.error(
                f"time={request.values['time']}: the driver of {first.text} sets no time at a pulse"
            )
        while first.last_pulse() == before:
            if time.monotonic() > begin + LATEST_EDGE:
                raise request.error(
                    f"time={request.values['time']}: no pulse a second comes to {first.text}"
                )
            time.sleep(0.005)
        time.sleep(AFTER_EDGE)
        next_pulse = round(time.time() - AFTER_EDGE) + 1
        for driver in drivers:
            driver.set_time_at_next_pulse(next_pulse)
        time.sleep(1)


def array_of_receivers(inputs, sample_rate, center_frequency):
    """A description for receivers of which nobody says where they are, and what is to be said."""
    antennas = [Antenna(f"R{i + 1}", (0.0, 0.0, 0.0)) for i in range(inputs)]
    description = ArrayDescription(
        name="receivers",
        latitude=0.0,
        longitude=0.0,
        height=0.0,
        antennas=antennas,
        inputs=[Input(antenna.name, "x") for antenna in antennas],
        sample_rate=sample_rate,
        center_frequency=center_frequency,
    )
    what = "antenna R1" if inputs == 1 else f"antennas R1 to R{inputs}, all at one place"
    return description, [
        f"the receivers are taken to be {what}, at latitude 0°, longitude 0° "
        "(--array says where they are)"
    ]
