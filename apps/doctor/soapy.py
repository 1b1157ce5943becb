#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Receivers by SoapySDR: what its drivers tell of them, and how their samples arrive."""

import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

MODULE_FOLDERS = (
    "/usr/local/lib/SoapySDR/modules*",
    "/usr/local/lib/*/SoapySDR/modules*",
    "/usr/lib/SoapySDR/modules*",
    "/usr/lib/*/SoapySDR/modules*",
)
NOT_RADIOS = {"audio", "null"}  # drivers of SoapySDR that are no receivers

READ = 1 << 16  # samples in a call
LEAST_SPAN = 0.5  # s, below which a rate says nothing
START = 0.3  # s, in which a stream may stumble
WAIT = 500_000  # µs, of a call
LAST = 3  # calls


def installed_modules(desk):
    """Paths of the drivers for SoapySDR."""
    return [name for folder in MODULE_FOLDERS for name in desk.find(folder + "/*.so")]


def listed(soapy):
    """Returns what SoapySDR finds: dictionaries with `driver`, mostly with `serial` and `label`."""
    return [
        entry
        for entry in (dict(found) for found in soapy.Device.enumerate())
        if entry.get("driver") not in NOT_RADIOS
    ]


@dataclass
class Trial:
    """
    The trial of a receiver.

    name: what it is called in findings; driver: its name in SoapySDR; error: why it could not be
    opened or read, ""; automatic_gain: whether that is on when nobody asks for it; clock: the
    source of its clock, where the driver tells; sample_rate: asked for; samples and span: how many
    came in how many seconds; overflows: how often the driver said that samples were lost.
    """

    name: str
    driver: str
    error: str = ""
    automatic_gain: bool = False
    clock: str = ""
    sample_rate: float = 0.0
    samples: int = 0
    span: float = 0.0
    overflows: int = 0

    @property
    def measured_rate(self) -> float | None:
        return self.samples / self.span if self.span >= LEAST_SPAN else None


def _nearest_rate(ranges, wanted):
    """Returns the rate that the driver allows, nearest to the wanted one; the wanted one where it
    does not say."""
    allowed = [min(max(wanted, entry.minimum()), entry.maximum()) for entry in ranges]
    return min(allowed, key=lambda rate: abs(rate - wanted), default=wanted)


def _prepare(soapy, entry, trial, wanted_rate):
    """Opens a receiver and sets its rate; returns it, or None and says why in the trial."""
    try:
        # a dictionary itself loses its values on the way with Python 3.13 (Debian 13's 0.8.1)
        device = soapy.Device(soapy.SoapySDRKwargs(entry))
        receive = soapy.SOAPY_SDR_RX
        trial.automatic_gain = bool(
            device.hasGainMode(receive, 0) and device.getGainMode(receive, 0)
        )
        if device.listClockSources():
            trial.clock = device.getClockSource()
        trial.sample_rate = _nearest_rate(device.getSampleRateRange(receive, 0), wanted_rate)
        device.setSampleRate(receive, 0, trial.sample_rate)
        return device
    except Exception as error:  # the drivers' own, of any kind
        trial.error = str(error) or type(error).__name__
        return None


def _receive(soapy, device, trial, seconds, clock):
    """Counts what comes for a while."""
    try:
        stream = device.setupStream(soapy.SOAPY_SDR_RX, soapy.SOAPY_SDR_CF32)
        try:
            device.activateStream(stream)
            begin = clock()
            first, quiet = None, 0.0
            # (seconds since the first, samples) at the end of the last calls that gave some
            came = deque([(0.0, 0)], LAST)
            buffer = np.empty(READ, np.complex64)
            while (now := clock()) < begin + START + seconds:
                status = device.readStream(stream, [buffer], len(buffer), timeoutUs=WAIT).ret
                now = clock()
                if status == soapy.SOAPY_SDR_TIMEOUT:
                    quiet = now
                    continue
                if now < begin + START:
                    continue
                if status == soapy.SOAPY_SDR_OVERFLOW:
                    trial.overflows += 1
                elif status < 0:
                    raise RuntimeError(f"reading samples failed ({soapy.errToStr(status)})")
                elif first is None:
                    # earlier samples are of no known time
                    first = now
                else:
                    came.append((now - first, came[-1][1] + status))
            if first is None:
                trial.error = "it opens, but no samples come"
            else:
                # samples that a busy computer is late with come with the next call, but there is
                # none after the last one: among the last calls the one that was least late counts
                trial.span, trial.samples = max(
                    came, key=lambda each: each[1] / each[0] if each[0] else 0.0
                )
                # silence at the end counts, but for a call that is being waited for
                trial.span = max(trial.span, quiet - first - WAIT / 1e6)
            device.deactivateStream(stream)
        finally:
            device.closeStream(stream)
    except Exception as error:  # the driver's own, as above
        trial.error = str(error) or type(error).__name__


def try_receivers(soapy, entries, seconds, clock=time.monotonic):
    """
    Runs receivers together, as a flowgraph will.

    entries: [(name, samples a second, what SoapySDR lists of it)]; seconds: for how long.
    Returns a Trial for each.
    """
    trials, running = [], []
    for name, rate, entry in entries:
        trial = Trial(name, entry.get("driver", ""))
        trials.append(trial)
        device = _prepare(soapy, entry, trial, rate)
        if device is not None:
            running.append(
                (
                    device,
                    threading.Thread(target=_receive, args=(soapy, device, trial, seconds, clock)),
                )
            )
    for _, thread in running:
        thread.start()
    for _, thread in running:
        thread.join()
    running.clear()  # closes them
    return trials
