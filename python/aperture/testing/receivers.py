#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Receivers that are not lined up: what each of them delivers, and the truth about them.

They hear one signal, a noise source or the sky, with hidden start offsets, fractions of a sample,
phases, gains and errors of their crystals; they lose samples, are tuned anew, and stamp their
samples as true or as badly as real ones do. Everything is a function of the number of the sample,
so that any part of a stream can be made by itself, and a start offset costs no memory.

Times are in samples of a perfect clock, which starts when nothing of interest has happened yet.
"""

import os
from dataclasses import dataclass, field

import numpy as np

BLOCK = 8192  # samples of a window of the signal; they overlap by half
KINDS = ("fc32", "u8")


@dataclass
class Loss:
    """`count` samples from the device's sample `first` on are not delivered.

    Announced: the next one has an rx_time (of receivers that stamp at all).
    """

    first: int
    count: int
    announced: bool = True


@dataclass
class Receiver:
    """A receiver, and the faults of it that nobody is told of.

    Attributes:
        start: time of its sample 0, whole samples and fraction
        phase: radians, of its oscillator at time 0
        gain: amplitude
        ppm: error of its crystal, of the sampling and of the oscillator together; positive: fast
        share: share of its power that the common signal has; the coherence of two receivers is
            the square root of the product of their shares
        stamps: "true" (rx_time is the time of the sample), "private" (it counts from the first
            sample, as SoapyRTLSDR does), or "none"
        jitter: samples, stamps are wrong by up to so much either way
        losses: [Loss], in order
        retune_phases: radians, one for each retune of the receivers; missing ones are random
    """

    start: float = 0.0
    phase: float = 0.0
    gain: float = 1.0
    ppm: float = 0.0
    share: float = 0.5
    stamps: str = "true"
    jitter: float = 0.0
    losses: list = field(default_factory=list)
    retune_phases: list = field(default_factory=list)

    def __post_init__(self):
        if self.stamps not in ("true", "private", "none"):
            raise ValueError(
                f"stamps: {self.stamps!r} is not allowed; it must be true, private or none"
            )
        if not 0 <= self.share <= 1:
            raise ValueError(f"share: {self.share} is not allowed; it must be 0 to 1")


def random_losses(number, within, longest, seed=0, announced=True):
    """`number` losses of 1 to `longest` samples at random places before the sample `within`."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(np.arange(1, within // (longest + 1)), number, replace=False))
    return [
        Loss(int(place) * (longest + 1), int(rng.integers(1, longest + 1)), announced)
        for place in places
    ]


def _chirp(values, step):
    """sum_k values[..., k] exp(2 pi i k step j) for j below their number, any step (Bluestein)."""
    count = values.shape[-1]
    n = np.arange(count, dtype=float)
    squares = np.pi * np.remainder(step * n * n, 2)
    points = 1 << (2 * count - 1).bit_length()
    kernel = np.zeros(points, complex)
    kernel[:count] = np.exp(-1j * squares)
    kernel[points - count + 1 :] = kernel[count - 1 : 0 : -1]
    product = np.fft.fft(values * np.exp(1j * squares), points) * np.fft.fft(kernel)
    return np.fft.ifft(product)[..., :count] * np.exp(1j * squares)


class Noise:
    """Complex Gaussian noise of power 1 at every time, whole or not.

    The time is divided into windows of BLOCK samples that overlap by half, each of the shape of
    half a period of a sine. In each the noise is a sum of exponentials, whose frequencies are
    multiples of 1/BLOCK within the band, and whose amplitudes are random: a formula, which is
    exact wherever it is evaluated.
    """

    def __init__(self, seed, bandwidth=0.9):
        """Sets up the noise. seed: integers; bandwidth: share of the sample rate"""
        if not 0 < bandwidth <= 1:
            raise ValueError(
                f"bandwidth: {bandwidth} is not allowed; it must be more than 0 and at most 1"
            )
        self._seed = [int(part) for part in np.atleast_1d(seed)]
        half = min(int(bandwidth * BLOCK / 2), BLOCK // 2 - 1)
        self._frequencies = np.arange(-half, half + 1)  # in 1/BLOCK

    def _amplitudes(self, window):
        count = len(self._frequencies)
        # numbers of windows may be negative
        rng = np.random.default_rng([*self._seed, window & 0xFFFFFFFFFFFFFFFF])
        parts = rng.standard_normal(2 * count, dtype=np.float32)
        return parts.view(np.complex64) / np.sqrt(2 * count)

    def at(self, first, step, count):
        """complex128 [count] at the times first, first + step, ..."""
        result = np.zeros(count, complex)
        hop = BLOCK // 2
        # the window w begins at w hop
        begin = int(np.floor(first / hop)) - 1
        end = int(np.floor((first + step * (count - 1)) / hop)) + 1
        for window in range(begin, end):
            start = window * hop
            low = max(0, int(np.ceil((start - first) / step)))
            high = min(count, int(np.ceil((start + BLOCK - first) / step)))
            if high <= low:
                continue
            offset = first + step * low - start  # offset of the first sample in the window
            values = np.zeros(BLOCK if step == 1 else BLOCK + 64, complex)
            cycles = self._frequencies * (offset / BLOCK)
            amplitudes = self._amplitudes(window) * np.exp(2j * np.pi * cycles)
            if step == 1:
                values[self._frequencies % BLOCK] = amplitudes
                values = np.fft.ifft(values) * BLOCK
            else:
                lowest = self._frequencies[0]
                values[: len(amplitudes)] = amplitudes
                values = _chirp(values, step / BLOCK)
                n = np.arange(len(values))
                values *= np.exp(2j * np.pi * lowest * step / BLOCK * n)
            times = offset + step * np.arange(high - low)
            result[low:high] += values[: high - low] * np.sin(np.pi * times / BLOCK)
        return result


class Receivers:
    """Some receivers and what they hear."""

    def __init__(
        self,
        receivers,
        sample_rate=2.4e6,
        center_frequency=1.42e9,
        retunes=(),
        bandwidth=0.9,
        start_time=1700000000,
        stamp_interval=0,
        seed=0,
    ):
        """
        Sets up receivers of one signal.

        Args:
            receivers: [Receiver]
            sample_rate: samples a second, of a perfect clock
            center_frequency: Hz
            retunes: [(time, frequency in Hz)], the same for all, in order of time; the phases of
                the oscillators jump
            bandwidth: of signal and noise, as a share of the sample rate
            start_time: whole seconds since 1970 at the time 0
            stamp_interval: of receivers with stamps, one every so many samples; 0: only the
                first one and those after announced losses
            seed: of signal, noise and jitter
        """
        self.receivers = list(receivers)
        self.sample_rate, self.center_frequency = sample_rate, center_frequency
        self.retunes = list(retunes)
        self._start_time, self._stamp_interval = int(start_time), int(stamp_interval)
        self._signal = Noise([seed, 0], bandwidth)
        self._noise = [Noise([seed, 1, i], bandwidth) for i in range(len(self.receivers))]
        self._jitter = np.random.default_rng([seed, 2]).uniform(-1, 1, (len(self.receivers), 4096))
        phases = np.random.default_rng([seed, 3]).uniform(
            -np.pi, np.pi, (len(self.receivers), len(self.retunes))
        )
        for i, receiver in enumerate(self.receivers):
            given = receiver.retune_phases[: len(self.retunes)]
            phases[i, : len(given)] = given
        self._phases = phases

    # ---- the truth

    def time_of(self, receiver, sample):
        """Time of a device's sample (those that it lost are counted)."""
        one = self.receivers[receiver]
        return one.start + np.asarray(sample) / (1 + 1e-6 * one.ppm)

    def device_sample(self, receiver, item):
        """Number of the device's sample that it delivers as the item of that number."""
        sample = np.asarray(item)
        for loss in self.receivers[receiver].losses:
            sample = np.where(sample >= loss.first, sample + loss.count, sample)
        return sample

    def retune_sample(self, receiver, retune):
        """The device's first sample after a retune."""
        one = self.receivers[receiver]
        time = self.retunes[retune][0]
        return max(0, int(np.ceil((time - one.start) * (1 + 1e-6 * one.ppm))))

    def _oscillator(self, receiver, time):
        """Phase in radians of what a receiver makes of the signal at these times."""
        one = self.receivers[receiver]
        time = np.asarray(time, float)
        phase = np.full(time.shape, one.phase)
        frequency = np.full(time.shape, self.center_frequency)
        for (at, new), jump in zip(self.retunes, self._phases[receiver]):
            phase = np.where(time >= at, phase + jump, phase)
            frequency = np.where(time >= at, new, frequency)
        return phase - 2 * np.pi * frequency / self.sample_rate * 1e-6 * one.ppm * time

    def truth(self, receiver, reference=0, sample=0):
        """Returns what measure_offsets() is to find at a device's sample of the reference.

        Returns:
            a dictionary: delay (samples), phase (radians, -pi to pi), gain, delay_rate (samples
            per sample), phase_rate (radians per sample), coherence; of devices without losses
        """
        one, ref = self.receivers[receiver], self.receivers[reference]
        fast, ref_fast = 1 + 1e-6 * one.ppm, 1 + 1e-6 * ref.ppm
        time = self.time_of(reference, sample)
        frequency = self.center_frequency
        for at, new in self.retunes:
            frequency = new if time >= at else frequency
        phase = self._oscillator(reference, time) - self._oscillator(receiver, time)
        return {
            "delay": float((one.start - ref.start) * fast + sample * (1 - fast / ref_fast)),
            "phase": float(np.remainder(phase + np.pi, 2 * np.pi) - np.pi),
            "gain": ref.gain / one.gain,
            "delay_rate": 1 - fast / ref_fast,
            "phase_rate": 2e-6
            * np.pi
            * frequency
            / self.sample_rate
            * (one.ppm - ref.ppm)
            / ref_fast,
            "coherence": np.sqrt(one.share * ref.share),
        }

    # ---- what is delivered

    def _device_samples(self, receiver, first, count):
        one = self.receivers[receiver]
        step = 1 / (1 + 1e-6 * one.ppm)
        time = self.time_of(receiver, first + np.arange(count))
        signal = self._signal.at(one.start + first * step, step, count)
        noise = self._noise[receiver].at(float(first), 1, count)
        samples = np.sqrt(one.share) * signal + np.sqrt(1 - one.share) * noise
        return one.gain * samples * np.exp(1j * self._oscillator(receiver, time))

    def samples(self, receiver, first, count):
        """complex64 [count] of the items from `first` on."""
        result = np.empty(count, np.complex64)
        item = first
        # items in a row, without a loss between them
        for edge in [*self._item_edges(receiver), first + count]:
            end = min(max(edge, item), first + count)
            piece = 1 << 20  # bounds the memory
            for at in range(item, end, piece):
                length = min(piece, end - at)
                device = int(self.device_sample(receiver, at))
                result[at - first : at - first + length] = self._device_samples(
                    receiver, device, length
                )
            item = end
        return result

    def _item_edges(self, receiver):
        """Items before which samples were lost."""
        edges, lost = [], 0
        for loss in self.receivers[receiver].losses:
            edges.append(loss.first - lost)
            lost += loss.count
        return edges

    def _stamp(self, receiver, sample):
        """rx_time of a device's sample: (whole seconds, fraction)."""
        one = self.receivers[receiver]
        if one.stamps == "private":
            samples, origin = float(sample), 0
        else:
            samples, origin = float(self.time_of(receiver, sample)), self._start_time
        samples += one.jitter * self._jitter[receiver, sample % 4096]
        if one.stamps == "private":
            samples = max(samples, 0.0)
        whole = int(samples // self.sample_rate)
        return origin + whole, float(samples - whole * self.sample_rate) / self.sample_rate

    def tags(self, receiver, first, count):
        """[(item, key, value)] of these items in order; rx_time is (whole seconds, fraction)."""
        one, found = self.receivers[receiver], []
        last = first + count
        if first == 0 and count:
            found += [(0, "rx_rate", self.sample_rate), (0, "rx_freq", self._frequency(receiver))]
        stamped = {0} if one.stamps != "none" else set()
        if one.stamps != "none":
            stamped |= {
                edge for edge, loss in zip(self._item_edges(receiver), one.losses) if loss.announced
            }
            if self._stamp_interval:
                every = self._stamp_interval
                stamped |= set(range(-(-first // every) * every, last, every))
        for item in stamped:
            if first <= item < last:
                sample = int(self.device_sample(receiver, item))
                found.append((item, "rx_time", self._stamp(receiver, sample)))
        for number, (_, frequency) in enumerate(self.retunes):
            item = self._item_of(receiver, self.retune_sample(receiver, number))
            if first <= item < last and item > 0:
                found.append((item, "rx_freq", frequency))
        return sorted(found, key=lambda tag: (tag[0], tag[1]))

    def _frequency(self, receiver):
        """Returns the frequency to which a receiver is tuned when it starts."""
        frequency = self.center_frequency
        for number, (_, new) in enumerate(self.retunes):
            if self.retune_sample(receiver, number) == 0:
                frequency = new
        return frequency

    def _item_of(self, receiver, sample):
        """The first item at or after a device's sample."""
        item = sample
        for loss in self.receivers[receiver].losses:
            if sample >= loss.first:
                item -= min(loss.count, sample - loss.first)
        return item

    # ---- as files and as a block

    def write(self, folder, count, kind="fc32", rms=30.0):
        """Writes `count` items of every receiver to raw files; returns their names.

        Args:
            kind: "fc32" (complex64), or "u8" (re, im, 127.5 is zero: as rtl_sdr writes)
            rms: of a component of u8, at a gain of 1
        """
        if kind not in KINDS:
            raise ValueError(f"kind: {kind!r} is not allowed; it must be one of {KINDS}")
        names = []
        for i in range(len(self.receivers)):
            names.append(os.path.join(folder, f"receiver{i}.{kind}"))
            with open(names[-1], "wb") as file:
                for at in range(0, count, 1 << 20):
                    samples = self.samples(i, at, min(1 << 20, count - at))
                    if kind == "u8":
                        parts = samples.view(np.float32) * (rms * np.sqrt(2)) + 127.5
                        samples = np.clip(np.rint(parts), 0, 255).astype(np.uint8)
                    file.write(samples.tobytes())
        return names

    def source(self, count, at_once=65536, before_each=None):
        """A GNU Radio source with a port of fc32 for each receiver, which ends after `count`.

        Args:
            at_once: samples that are delivered together at most
            before_each: is called before each delivery, and may wait there
        """
        import pmt
        from gnuradio import gr

        receivers = self

        def to_pmt(value):
            if isinstance(value, tuple):
                return pmt.make_tuple(pmt.from_uint64(value[0]), pmt.from_double(value[1]))
            return pmt.from_double(value)

        class source(gr.sync_block):
            """Plays the receivers."""

            def __init__(self):
                gr.sync_block.__init__(
                    self, "receivers", None, [np.complex64] * len(receivers.receivers)
                )

            def start(self):
                self._done = 0
                return True

            def work(self, input_items, output_items):
                length = min(len(output_items[0]), count - self._done, at_once)
                if length == 0:
                    return -1
                if before_each:
                    before_each()
                for port, output in enumerate(output_items):
                    output[:length] = receivers.samples(port, self._done, length)
                    for item, key, value in receivers.tags(port, self._done, length):
                        self.add_item_tag(port, item, pmt.intern(key), to_pmt(value))
                self._done += length
                return length

        return source()
