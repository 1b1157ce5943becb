#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
pfb_channelizer -> corner_turn -> xengine against the reference model, on random samples and
on a recording of a telescope.
"""

import calendar
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.qa_tools import ByteSink, ByteSource, rx_time, tags_of

aperture = qa_tools.on_device(aperture)

EPOCH = 1700000000
# A power of two: all times below are exact in float64.
RATE = float(2**20)
RECORDING = "effelsberg-b2016+28.dada"


def find_recording():
    """Returns the recording in the folder APERTURE_DATA, or in shared/data beside the clone; None
    without."""
    folders = [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]
    if "APERTURE_DATA" in os.environ:
        folders.insert(0, Path(os.environ["APERTURE_DATA"]))
    for folder in folders:
        if (folder / RECORDING).is_file():
            return folder / RECORDING
    return None


def synthesise_recording(path):
    """Writes a file like the recording: two polarisations, 16000 samples, of noise in part
    common."""
    rng = np.random.default_rng(2016)
    header = {
        "HEADER": "DADA",
        "HDR_VERSION": "1.0",
        "HDR_SIZE": "4096",
        "FILE_SIZE": "64000",
        "UTC_START": "2013-07-02-01:37:40",
        "OBS_OFFSET": "6400000000",
        "TELESCOPE": "Effelsberg",
        "SOURCE": "noise",
        "FREQ": "320.0",
        "BW": "16",
        "TSAMP": "0.0625",
        "NBIT": "8",
        "NDIM": "2",
        "NPOL": "2",
        "NCHAN": "1",
    }
    text = "".join(f"{key:12} {value}\n" for key, value in header.items()).encode()
    common = rng.standard_normal((16000, 1, 2))
    noise = 15 * (rng.standard_normal((16000, 2, 2)) + common)
    samples = np.clip(np.rint(noise), -127, 127).astype(np.int8)
    path.write_bytes(text.ljust(4096, b"\0") + samples.tobytes())
    return path


def read_recording(path):
    """Header as a dictionary, and complex int8 [time][input][2]."""
    data = path.read_bytes()
    header = {}
    for line in data[:4096].split(b"\0")[0].decode("ascii").splitlines():
        words = line.split("#")[0].split()
        if len(words) > 1:
            header[words[0]] = words[1]
    payload = np.frombuffer(data[int(header["HDR_SIZE"]) :], dtype=np.int8)
    return header, payload.reshape(-1, int(header["NPOL"]), 2)


class Chain(qa_tools.Running):
    """
    sources -> pfb_channelizer -> corner_turn -> xengine, with a sink at the end and one at
    the frames in between, of frame_length(times) spectra.
    """

    def __init__(
        self,
        sources,
        inputs,
        channels,
        taps,
        spectra_per_frame,
        integration,
        sample_type,
        chunks=0,
        inputs_per_port=1,
        selection=(0, 0),
        **options,
    ):
        spectra_per_frame = qa_tools.frame_length(spectra_per_frame, sample_type)
        self.inputs, self.spectra_per_frame = inputs, spectra_per_frame
        self.sample_type = sample_type
        first, selected = selection
        self.channels = selected or channels - first
        self.pfb = aperture.pfb_channelizer(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs_per_port,
            taps=taps,
            output_type=sample_type,
            **options,
        )
        self.corner_turn = aperture.corner_turn(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs_per_port,
            spectra_per_frame=spectra_per_frame,
            type=sample_type,
            first_channel=first,
            selected_channels=selected,
        )
        self.xengine = aperture.xengine(
            channels=self.channels,
            inputs=inputs,
            spectra_per_frame=spectra_per_frame,
            type=sample_type,
            integration=integration,
        )
        size = 2 if sample_type == "sc8" else 8
        chunks = chunks or 10**9
        self.frames = ByteSink(size * self.channels * inputs * spectra_per_frame, chunks)
        products = inputs * (inputs + 1) // 2
        self.sink = ByteSink(8 * self.channels * products, chunks, seed=1)
        self.top = gr.top_block()
        for port, source in enumerate(sources):
            self.top.connect((source, 0), (self.pfb, port))
            self.top.connect((self.pfb, port), (self.corner_turn, port))
        self.top.connect(self.corner_turn, self.xengine, self.sink)
        self.top.connect(self.corner_turn, self.frames)
        # GNU Radio does not keep blocks of Python alive
        self.kept = sources
        self.sources = [source for source in sources if isinstance(source, ByteSource)]
        self.sinks = [self.sink, self.frames]

    def voltages(self):
        """[frame][channel][input][time]"""
        count = self.channels * self.inputs * self.spectra_per_frame
        flat = reference.samples_from_bytes(self.frames.data(), self.sample_type, count)
        shape = (-1, self.channels, self.inputs, self.spectra_per_frame) + flat.shape[2:]
        return flat.reshape(shape)

    def visibilities(self):
        """[integration][channel][product]"""
        flat = np.frombuffer(self.sink.data().tobytes(), dtype=np.complex64)
        return flat.reshape(-1, self.channels, self.inputs * (self.inputs + 1) // 2)

    def counted(self):
        """int64 [integration][product]"""
        found = [v for _, v in qa_tools.each_of(self.sink.tags, "counted", self.sink.count)]
        products = self.inputs * (self.inputs + 1) // 2
        return np.array([np.broadcast_to(value, products) for value in found])


class qa_chain(gr_unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(408)

    def compare(self, chain, expected_spectra, missing, integration, gain=1.0, selection=(0, 0)):
        """
        Blocks and visibilities of a chain that ran, with those of the model.

        fc32: within 5e-6 of the product of the inputs' rms (channeliser and sums in fp32).
        sc8: voltages by the rule for quantisers (assert_steps_agree);
        visibilities bit by bit those of the voltages of the chain, and in each channel where
        no voltage differs (most of them, unless transformed in half precision) those of the
        model.
        """
        model = expected_spectra * gain
        if chain.sample_type == "sc8":
            model, _ = reference.quantise(model)
        model, lost = reference.corner_turn(model, chain.spectra_per_frame, *selection, missing)
        expected, counted = reference.correlate(model, integration, lost)
        voltages, visibilities = chain.voltages(), chain.visibilities()
        self.assertEqual(voltages.shape, model.shape)
        self.assertEqual(visibilities.shape, expected.shape)
        np.testing.assert_array_equal(chain.counted(), counted)
        if chain.sample_type == "sc8":
            qa_tools.assert_steps_agree(voltages, model, chain.pfb)
            exact, _ = reference.correlate(voltages, integration, lost)
            np.testing.assert_array_equal(visibilities, exact)
            same = (voltages == model).all(axis=(0, 2, 3, 4))
            if not qa_tools.in_half_precision(chain.pfb):
                self.assertGreater(np.mean(same), 0.8)
            np.testing.assert_array_equal(visibilities[:, same], expected[:, same])
            return
        index = [a * (a + 1) // 2 + a for a in range(chain.inputs)]
        power = expected[..., index].real.mean(axis=(0, 1))
        for p, (a, b) in enumerate(reference.products(chain.inputs)):
            limit = 5e-6 * np.sqrt(power[a] * power[b])
            np.testing.assert_allclose(visibilities[..., p], expected[..., p], rtol=0, atol=limit)

    def random_chain(
        self,
        sample_type,
        input_type="sc8",
        channels=20,
        taps=4,
        spectra_per_frame=7,
        integration=3,
        length=4321,
        losses=((), ()),
        selection=(0, 0),
        chunks=97,
        **options,
    ):
        """
        Two ports of two inputs, of which one loses samples; runs and compares.

        Returns the chain.
        """
        samples = qa_tools.random_samples(self.rng, input_type, (4, length))
        sources, laid_out, stretches = [], [], []
        for port in range(2):
            tags = [(0, "rx_time", rx_time(EPOCH)), (0, "rx_rate", RATE), (0, "rx_freq", 408e6)]
            lost = 0
            for item, count in losses[port]:
                lost += count
                tags.append((item, "rx_time", rx_time(EPOCH, (item + lost) / RATE)))
            part = samples[2 * port : 2 * port + 2]
            data = reference.samples_to_bytes(np.swapaxes(part, 0, 1), input_type)
            sources.append(ByteSource(data, tags, chunks, seed=port))
            for row in part:
                items, stretch = reference.lay_out(row, losses[port])
                laid_out.append(items)
                stretches.append(stretch)
        gain = 1.0 if sample_type == "sc8" else 0.0
        chain = Chain(
            sources,
            4,
            channels,
            taps,
            spectra_per_frame,
            integration,
            sample_type,
            chunks,
            inputs_per_port=2,
            input_type=input_type,
            selection=selection,
            gain=gain,
            **options,
        )
        chain.run()
        hop = channels if reference.is_complex(input_type) else 2 * channels
        common = min(len(row) for row in laid_out)
        missing = np.array(
            [reference.missing_spectra(row[:common], hop, taps) for row in stretches]
        )
        values, _ = reference.decode(np.array([row[:common] for row in laid_out]), input_type)
        spectra = reference.pfb(
            values,
            channels,
            reference.prototype(hop, taps),
            options.get("inverted", False),
            missing,
        )
        self.compare(chain, spectra, missing, integration, selection=selection)
        return chain

    def test_random_samples(self):
        for input_type in ("sc8", "s16", "fc32"):
            for sample_type in ("fc32", "sc8"):
                self.random_chain(sample_type, input_type)

    def test_odd_sizes(self):
        for sample_type in ("fc32", "sc8"):
            self.random_chain(sample_type, channels=6, taps=1, spectra_per_frame=1, integration=1)
            self.random_chain(sample_type, channels=90, taps=8, spectra_per_frame=64, integration=2)
            self.random_chain(
                sample_type, channels=4, taps=13, spectra_per_frame=33, integration=100
            )

    def test_channel_range(self):
        for sample_type in ("fc32", "sc8"):
            self.random_chain(sample_type, selection=(3, 11))

    def test_lost_samples(self):
        """Counted down to the product, through all blocks."""
        for sample_type in ("fc32", "sc8"):
            for input_type in ("sc8", "s8"):
                chain = self.random_chain(
                    sample_type,
                    input_type,
                    losses=(((3000, 1),), ((777, 333), (1500, 20))),
                    length=6000,
                    inverted=True,
                )
                different = [len(set(row)) for row in chain.counted().tolist()]
                self.assertGreater(max(different), 1)

    def test_tags(self):
        """Integrations have a time, frequencies and rates, from those of the samples."""
        chain = self.random_chain("fc32", selection=(3, 11))
        edge = reference.pfb_edge(408e6, RATE, 20, 4)
        edge = reference.corner_turn_edge(edge, 20, 7, 3, 11)
        edge = reference.xengine_edge(edge, 3)
        tags = chain.sink.tags
        for key in ("rx_freq", "rx_rate", "bandwidth", "samples_per_item"):
            self.assertAlmostEqual(tags_of(tags, key)[0][1], edge[key], delta=1e-6)
        times = qa_tools.each_of(tags, "rx_time", chain.sink.count)
        self.assertEqual(len(times), chain.sink.count)
        for number, (offset, value) in enumerate(times):
            self.assertEqual(offset, number)
            expected = rx_time(EPOCH, edge["delay"] + number * 20 * 7 * 3 / RATE)
            error = qa_tools.seconds_between(value, expected)
            self.assertAlmostEqual(error, 0, delta=1e-12)

    def test_no_spectrum_is_lost(self):
        """No spectrum is lost, whatever the number of samples is modulo spectra, frames and
        integrations."""
        n, taps, times, integration = 8, 3, qa_tools.frame_length(4), 2
        # samples of 3 frames and of 8 integrations
        whole = [n * (count * times + taps - 1) for count in (3, 8 * integration)]
        around = [length + extra for length in whole for extra in (-n, -1, 0, 1, n)]
        for length in list(range(n * taps, n * taps + 9)) + around:
            samples = qa_tools.random_samples(self.rng, "sc8", (length, 1))
            source = ByteSource(reference.samples_to_bytes(samples, "sc8"), chunks=31)
            chain = Chain([source], 1, n, taps, times, integration, "sc8", input_type="sc8")
            chain.run()
            self.assertEqual(chain.counted().sum(), length // n - taps + 1)

    def test_restart_and_two_at_once(self):
        """The same bits each time, alone and beside another chain."""
        samples = qa_tools.random_samples(self.rng, "sc8", (2, 20000, 2))
        results = []
        chains = []
        for part in samples:
            source = ByteSource(reference.samples_to_bytes(part, "sc8"), chunks=501)
            chains.append(
                Chain([source], 2, 16, 4, 9, 3, "sc8", inputs_per_port=2, input_type="sc8")
            )
        for _ in range(2):
            for chain in chains:
                chain.run()
                results.append(chain.visibilities())
        qa_tools.run_at_once(chains)
        results += [chain.visibilities() for chain in chains]
        self.assertGreater(len(results[0]), 20)
        for number in (2, 3, 4, 5):
            np.testing.assert_array_equal(results[number], results[number % 2])
        self.assertFalse(np.array_equal(results[0], results[1]))

    def test_split_by_channels(self):
        """Two corner turns of half the channels each, one of all: the same visibilities."""
        samples = qa_tools.random_samples(self.rng, "sc8", (5000, 2))
        source = ByteSource(reference.samples_to_bytes(samples, "sc8"), chunks=0x1FF)
        pfb = aperture.pfb_channelizer(
            channels=10, inputs=2, inputs_per_port=2, input_type="sc8", output_type="sc8"
        )
        top = gr.top_block()
        top.connect(source, pfb)
        sinks = []
        for first, selected in ((0, 10), (0, 5), (5, 5)):
            corner_turn = aperture.corner_turn(
                channels=10,
                inputs=2,
                inputs_per_port=2,
                spectra_per_frame=16,
                first_channel=first,
                selected_channels=selected,
                type="sc8",
            )
            xengine = aperture.xengine(
                channels=selected, inputs=2, spectra_per_frame=16, integration=4, type="sc8"
            )
            picked = aperture.select(selected, 2, [(1, 0)])
            sinks.append(ByteSink(8 * selected))
            top.connect(pfb, corner_turn, xengine, picked, sinks[-1])
        top.run()
        whole, low, high = (sink.data() for sink in sinks)
        self.assertEqual(len(whole), -(-(500 - 7) // 64))
        np.testing.assert_array_equal(whole, np.concatenate([low, high], axis=1))

    # ---- a recording

    def test_recording(self):
        """
        The visibilities of the file are those of the model on the same bytes; all spectra
        that fit are there; time and frequencies are those of the header.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = find_recording() or synthesise_recording(Path(folder) / RECORDING)
            header, samples = read_recording(path)
            self.assertEqual((header["NBIT"], header["NDIM"]), ("8", "2"))
            values, _ = reference.decode(samples, "sc8")
            if float(header["BW"]) < 0:
                values = values.conj()
            inputs = int(header["NPOL"])
            for channels, taps, times, integration in ((64, 8, 32, 3), (30, 4, 50, 100)):
                spectra = reference.pfb(values.T, channels, reference.prototype(channels, taps))
                count = len(samples) // channels - taps + 1
                missing = np.zeros((inputs, count), dtype=bool)
                for sample_type in ("fc32", "sc8"):
                    source = aperture.dada_source(filename=str(path))
                    chain = Chain(
                        [source],
                        inputs,
                        channels,
                        taps,
                        times,
                        integration,
                        sample_type,
                        inputs_per_port=inputs,
                        input_type="sc8",
                    )
                    chain.run()
                    self.compare(chain, spectra, missing, integration)
                    self.assertTrue((chain.counted().sum(axis=0) == count).all())
                    self.check_header(chain, header, channels, taps)

    def check_header(self, chain, header, channels, taps):
        interval = float(header["TSAMP"]) * 1e-6
        tags = chain.sink.tags
        start = calendar.timegm(time.strptime(header["UTC_START"], "%Y-%m-%d-%H:%M:%S"))
        sample_bytes = 2 * int(header["NPOL"])
        offset = int(header["OBS_OFFSET"]) / sample_bytes * interval
        offset += (channels * taps - 1) / 2 * interval
        error = qa_tools.seconds_between(tags_of(tags, "rx_time")[0][1], rx_time(start, offset))
        # the offset is 100 s in float64: 1e-14
        self.assertAlmostEqual(error, 0, delta=1e-12)
        self.assertEqual(tags_of(tags, "rx_freq")[0], (0, float(header["FREQ"]) * 1e6))
        # Hz; the sum of channels in float64
        bandwidth = tags_of(tags, "bandwidth")[0][1]
        self.assertAlmostEqual(bandwidth, abs(float(header["BW"])) * 1e6, delta=1e-6)
        self.assertEqual(tags_of(tags, "partial"), [(chain.sink.count - 1, True)])


if __name__ == "__main__":
    gr_unittest.run(qa_chain)
