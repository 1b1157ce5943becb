#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Each block on the emulated device and on the CPU: the same bits and tags, also of a stream with a
gap, after a restart, and with readers on the host and on the device at once.

What the blocks compute is compared with models elsewhere, on the CPU; the emulated device runs the
same kernels. What it adds are rings, streams and copies, and these are what is tested here.
"""

import functools

import numpy as np
from gnuradio import aperture, blocks, gr_unittest

from gnuradio.aperture.testing import reference
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    ByteSink,
    Flowgraph,
    frame_tags,
    from_pmt,
    random_samples,
    rx_time,
)

SAMPLE_TIME = 2.0**-10
CHANNELS, INPUTS, TIMES = 6, 3, 64


class Case:
    """
    One block, and a stream for it.

    make: device=... -> block
    ports: bytes [item][byte] of each input port
    sizes: bytes of an item of each output port
    tags: of the first item of each port
    gap: item of each port from which on the stream is later than the clock says, and by how many
        items; None where the block does not fill gaps, but passes them on
    said: message ports that are compared, too
    read: block -> what it keeps, for a block without outputs
    """

    def __init__(self, make, ports, sizes, tags, gap, said=(), read=None):
        self.make, self.ports, self.sizes, self.tags = make, ports, sizes, tags
        self.gap, self.said, self.read = gap, said, read

    def with_gap(self):
        """The tags of each port, with an rx_time that jumps."""
        item, items = self.gap
        given = []
        for tags in self.tags:
            rate = next(value for _, key, value in tags if key == "rx_rate")
            start = next(value for _, key, value in tags if key == "rx_time")
            later = rx_time(start[0], start[1] + (item + items) / rate)
            given.append([*tags, (item, "rx_time", later)])
        return given


def weights(beams, inputs):
    """complex64 [channel][beam][input]"""
    rng = np.random.default_rng(9)
    parts = rng.standard_normal((2, CHANNELS, beams, inputs))
    return (parts[0] + 1j * parts[1]).astype(np.complex64)


def frames(sample_type="sc8", count=41, inputs=INPUTS):
    """bytes [frame][byte] of noise, with pulses of interference in a channel of an input"""
    shape = (count, CHANNELS, inputs, TIMES)
    noise = random_samples(np.random.default_rng(11), sample_type, shape)
    noise[count // 3 :, 2, 1, ::16] = 100
    return reference.samples_to_bytes(noise, sample_type)


def spectra(seed, count=1000):
    """bytes [spectrum][byte] of sc8 noise of one input"""
    noise = random_samples(np.random.default_rng(seed), "sc8", (count, CHANNELS))
    return reference.samples_to_bytes(noise, "sc8")


def samples(count=5000, inputs=INPUTS):
    """bytes [time][byte] of fc32 noise, inputs interleaved"""
    noise = random_samples(np.random.default_rng(12), "fc32", (count, inputs))
    return reference.samples_to_bytes(noise, "fc32")


def powers(items, beams, channels):
    """float32 as bytes [item][byte], with a pulse in the middle of all channels"""
    values = np.random.default_rng(13).gamma(16, 1 / 16, (items, beams * channels))
    values[items // 2 : items // 2 + 4] *= 5
    return values.astype(np.float32).view(np.uint8).reshape(items, -1)


def power_tags(rate=1 / SAMPLE_TIME):
    return [
        (0, "rx_time", rx_time(EPOCH, 0.25)),
        (0, "rx_rate", rate),
        (0, "rx_freq", 400e6),
        (0, "bandwidth", 32e6),
        (0, "samples_per_item", 64),
    ]


def sample_tags(rate=2.0**16):
    return [(0, "rx_time", rx_time(EPOCH, 0.5)), (0, "rx_rate", rate), (0, "rx_freq", 400e6)]


FRAME = dict(channels=CHANNELS, inputs=INPUTS, spectra_per_frame=TIMES)
BANK = dict(channels=8, inputs=INPUTS, inputs_per_port=INPUTS)
SEARCH = dict(center_frequency=400e6, bandwidth=32e6, sample_time=SAMPLE_TIME, channels=16)
TRIALS = dict(SEARCH, dms=[0.0, 9.0], times_per_item=60)


def read_ring(ring):
    """The items that an item_ring has, and what it knows of them."""
    first, count = ring.oldest(), ring.items() - ring.oldest()
    settings = [
        (s.item, s.time, s.rate, s.frequency, s.bandwidth, s.approximate) for s in ring.settings()
    ]
    return count, ring.read(first, count)[0].tobytes(), settings


def on_frames(block, sizes, data=None, said=(), read=None, **parameters):
    """A case of a block with one port of frames."""
    data = frames() if data is None else data
    make = functools.partial(block, **parameters)
    return Case(make, [data], sizes, [frame_tags()], (17, 3), said, read)


def on_samples(block, size, **parameters):
    """A case of a filter bank."""
    make = functools.partial(block, **BANK, **parameters)
    return Case(make, [samples()], [size], [sample_tags()], (2000, 333))


def on_powers(block, sizes, tags=None, data=None, gap=(300, 90), said=(), **parameters):
    """A case of a block that follows power_normalizer, or of this one."""
    data = powers(777, 2, 16) if data is None else data
    make = functools.partial(block, beams=2, **parameters)
    return Case(make, [data], sizes, [tags or power_tags()], gap, said)


FRAME_BYTES = 2 * CHANNELS * INPUTS * TIMES
CASES = {
    "beam_power": on_frames(
        aperture.beam_power,
        [4 * 2 * 4 * CHANNELS],
        **FRAME,
        beams=4,
        weights=weights(4, INPUTS),
        spectra=32,
        products="IQUV",
        type="sc8",
    ),
    "beamformer": on_frames(
        aperture.beamformer,
        [8 * CHANNELS * 4 * TIMES],
        **FRAME,
        beams=4,
        weights=weights(4, INPUTS),
        type="sc8",
    ),
    "copy": Case(
        functools.partial(aperture.copy, 2 * CHANNELS),
        [spectra(0)],
        [2 * CHANNELS],
        [sample_tags()],
        (390, 7),
    ),
    "corner_turn": Case(
        functools.partial(aperture.corner_turn, **FRAME, inputs_per_port=1, type="sc8"),
        [spectra(seed) for seed in range(INPUTS)],
        [FRAME_BYTES],
        [frame_tags()] * INPUTS,
        (390, 121),
    ),
    "dedisperser": on_powers(aperture.dedisperser, [4 * 2 * 2 * 60], **TRIALS),
    "exchange": on_frames(
        lambda device: aperture.exchange(
            **FRAME, type="sc8", input_devices=[device], output_devices=[device, device]
        ),
        [FRAME_BYTES // 2] * 2,
    ),
    "f_engine": on_samples(aperture.f_engine, 8 * 8 * INPUTS * TIMES, spectra_per_frame=TIMES),
    "flagger": on_frames(
        aperture.flagger,
        [FRAME_BYTES, CHANNELS * INPUTS],
        **FRAME,
        type="sc8",
        spectra_per_slice=TIMES,
    ),
    "item_ring": on_frames(
        functools.partial(aperture.item_ring, FRAME_BYTES),
        [],
        spectra=TIMES,
        size=2**20,
        read=read_ring,
    ),
    "pfb_channelizer": on_samples(aperture.pfb_channelizer, 8 * 8 * INPUTS),
    "power_detector": on_frames(
        aperture.power_detector,
        [4 * 2 * 4 * CHANNELS],
        frames(inputs=4),
        channels=CHANNELS,
        beams=4,
        spectra_per_frame=TIMES,
        spectra=32,
        products="IQUV",
        type="sc8",
    ),
    "power_normalizer": on_powers(
        aperture.power_normalizer,
        [4 * 2 * 16],
        channels=16,
        sample_time=SAMPLE_TIME,
        window=64 * SAMPLE_TIME,
        segments=4,
    ),
    "pulse_search": on_powers(
        aperture.pulse_search,
        [],
        power_tags(1 / SAMPLE_TIME / 60),
        powers(101, 2, 2 * 60),
        (40, 3),
        ("candidates", "rejected"),
        **TRIALS,
        baseline=1.0,
        widest=16,
    ),
    "select_inputs": on_frames(
        lambda device: aperture.select_inputs(**FRAME, type="sc8", selected=[2, 0], device=device),
        [FRAME_BYTES // INPUTS * 2],
    ),
    "synthesizer": Case(
        functools.partial(
            aperture.synthesizer,
            channels=CHANNELS,
            beams=INPUTS,
            spectra_per_frame=TIMES,
            total_channels=12,
            first_channel=2,
            oversampling="4/3",
            type="sc8",
            output_type="f32",
            input_rate=9 * TIMES * 512.0,
            sample_rate=2e5,
            frequency=-5e4,
        ),
        [frames()],
        [4 * INPUTS],
        [[tag for tag in frame_tags() if tag[1] not in ("bandwidth", "samples_per_item")]],
        (17, 3),
    ),
    "upchanneliser": Case(
        functools.partial(
            aperture.upchanneliser,
            channels=CHANNELS,
            fine=6,
            oversampling="4/3",
            taps=3,
            inputs=INPUTS,
            input_type="sc8",
        ),
        [spectra(seed) for seed in range(INPUTS)],
        [8 * CHANNELS * 6] * INPUTS,
        [[*sample_tags(), (500, "missing", {"input": 0, "first": 500, "count": 3})]] * INPUTS,
        (390, 121),
    ),
    "visibility_averager": Case(
        functools.partial(
            aperture.visibility_averager,
            CHANNELS,
            INPUTS,
            4,
            average_channels=2,
            lengths=[1, 2] * 3,
        ),
        [
            random_samples(np.random.default_rng(14), "fc32", (41, CHANNELS * 6))
            .view(np.uint8)
            .reshape(41, -1)
        ],
        [8 * CHANNELS // 2 * 3] * 2,
        [[*frame_tags(), (0, "spectra", TIMES), (0, "counted", np.array([TIMES - 3]))]],
        (17, 3),
    ),
    "xengine": on_frames(
        aperture.xengine,
        [8 * CHANNELS * INPUTS * (INPUTS + 1) // 2],
        **FRAME,
        integration=4,
        type="sc8",
    ),
    "zoom": Case(
        functools.partial(
            aperture.zoom, frequency=5e3, decimation=6, inputs=INPUTS, inputs_per_port=INPUTS
        ),
        [samples()],
        [8 * INPUTS],
        [sample_tags()],
        (2000, 333),
    ),
}

#: blocks whose own tests always run on the emulated device, too
TESTED_ELSEWHERE = {"device_block_gateway", "discard", "replay", "snapshot"}


def normal(value):
    """Returns a value that can be compared with ==."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: normal(entry) for key, entry in value.items()}
    return value


def comparable(tags):
    """
    The tags of a port, sorted, with what is missing as a dictionary: where one `missing` tag ends
    and the next begins is where calls of work() happen to end.
    """
    missing = {}
    for entry in (tag.value for tag in tags if tag.key == "missing"):
        spectra = missing.setdefault(entry["input"], set())
        spectra.update(range(entry["first"], entry["first"] + entry["count"]))
    others = sorted(
        (tag.offset, tag.key, repr(normal(tag.value))) for tag in tags if tag.key != "missing"
    )
    return others, missing


class Run:
    """The results of a block: data and tags of each port, messages, what it keeps."""

    def __init__(self, case, device, gap=False, times=1, fan_out=False):
        self.block = case.make(device=device)
        graph = Flowgraph(
            self.block,
            case.ports,
            case.sizes,
            tags=case.with_gap() if gap else case.tags,
            chunks=37,
        )
        copies = []
        if fan_out:
            # in front of a reader on the device, and another one on the host
            for number, size in enumerate(case.sizes):
                on_device, sink = aperture.copy(size, device=device), ByteSink(size, 5, 77)
                graph.top.connect((self.block, number), on_device, sink)
                copies.append(sink)
            graph.sinks += copies
        heard = {}
        for port in case.said:
            heard[port] = blocks.message_debug()
            graph.top.msg_connect((self.block, port), (heard[port], "store"))
        self.results = []
        for _ in range(times):
            before = {port: debug.num_messages() for port, debug in heard.items()}
            data, tags = graph.run()
            said = {
                port: [
                    normal(from_pmt(debug.get_message(i)))
                    for i in range(before[port], debug.num_messages())
                ]
                for port, debug in heard.items()
            }
            tags = [comparable(port) for port in tags]
            count = len(case.sizes)
            kept = case.read(self.block) if case.read else None
            self.results.append((data[:count], tags[:count], said, kept))
            self.copies = data[count:], tags[count:]
        self.error = self.block.error()


class qa_emulated_device(gr_unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.on_cpu = {name: Run(case, "cpu").results[0] for name, case in CASES.items()}
        cls.with_gap = {name: Run(case, "cpu", gap=True).results[0] for name, case in CASES.items()}

    def assert_same(self, found, expected):
        for port, (data, wanted) in enumerate(zip(found[0], expected[0], strict=True)):
            np.testing.assert_array_equal(data, wanted, f"data of port {port}")
        self.assertEqual(found[1:], expected[1:])

    def for_each(self, check):
        for name, case in CASES.items():
            with self.subTest(block=name):
                check(name, case)

    def test_same_bits(self):
        """The same as on the CPU, of which there is something."""

        def check(name, case):
            made = Run(case, "emulated")
            self.assertEqual(made.error, "")
            self.assertIn("emulated", made.block.device_name())
            self.assert_same(made.results[0], self.on_cpu[name])
            self.assertTrue(all(port.any() for port in made.results[0][0]))
            self.assertTrue(made.results[0][0] or any(made.results[0][2].values()) or case.read)

        self.for_each(check)

    def test_gap(self):
        """A gap is filled or passed on as on the CPU, and is not passed over."""

        def check(name, case):
            made = Run(case, "emulated", gap=True)
            self.assert_same(made.results[0], self.with_gap[name])
            with self.assertRaises(AssertionError):
                self.assert_same(made.results[0], self.on_cpu[name])

        self.for_each(check)

    def test_restart(self):
        """Twice the same, of a stream with a gap, from whose end nothing is left."""

        def check(name, case):
            for found in Run(case, "emulated", gap=True, times=2).results:
                self.assert_same(found, self.with_gap[name])

        self.for_each(check)

    def test_fan_out(self):
        """Readers on the host and on the device get the same."""

        def check(name, case):
            made = Run(case, "emulated", fan_out=True)
            self.assert_same(made.results[0], self.on_cpu[name])
            self.assert_same((*made.copies, {}, None), (*self.on_cpu[name][:2], {}, None))

        for name, case in CASES.items():
            if case.sizes:
                with self.subTest(block=name):
                    check(name, case)

    def test_no_block_is_left_out(self):
        """Each block that has a device has a case here, or tests of its own."""
        found = set()
        for name in dir(aperture):
            text = getattr(getattr(aperture, name), "__init__", None).__doc__ or ""
            if isinstance(getattr(aperture, name), type) and "device: str" in text:
                found.add(name)
        self.assertEqual(found - TESTED_ELSEWHERE - set(CASES), set())


if __name__ == "__main__":
    gr_unittest.run(qa_emulated_device)
