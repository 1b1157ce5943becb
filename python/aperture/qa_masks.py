#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""xengine, power_detector and beam_power with masks of flags, and sinks with their counts."""

import math

import h5py
import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import (
    EPOCH,
    RATE,
    frame_tags,
    missing_tags,
    rx_time,
    tags_of,
)

DEVICES = ("cpu", "emulated") if qa_tools.DEVICE == "cpu" else (qa_tools.DEVICE,)


def whole_slices(spectra):
    """The least multiple of so many spectra, and with it of its slices, that the device takes."""
    return math.lcm(spectra, qa_tools.FRAME_MULTIPLE)


def pack(flags):
    """bool [frame][channel][input][slice] -> masks, bytes [frame][...]: the definition."""
    bits = np.packbits(flags, axis=3, bitorder="little")
    return bits.reshape(len(bits), -1)


def array_of(inputs, polarizations="x"):
    return make_array(
        {f"A{n}": (10.0 * n, n * n, 0.0) for n in range(inputs)}, inputs=polarizations
    )


class Scene:
    """Voltages, random masks and missing spectra of some frames."""

    def __init__(
        self,
        rng,
        sample_type="sc8",
        frames=7,
        channels=5,
        inputs=3,
        spectra=24,
        slices=8,
        missing="parts",
        flagged=0.3,
    ):
        self.shape = frames, channels, inputs, spectra
        self.type, self.slice = sample_type, spectra // slices
        self.flags = rng.random((frames, channels, inputs, slices)) < flagged
        self.flags[:, 0] = False  # a channel without flags,
        self.flags[:, -1, 0] = True  # an input that has nothing left,
        self.flags[2, 1] = True  # a frame of a channel
        self.missing = np.zeros((frames, inputs, spectra), bool)
        if missing:
            self.missing[1, 0, 2:5] = self.missing[1, -1, 4:9] = True
            self.missing[3, 0] = self.missing[4, 0, :1] = True
        if missing == "whole slices":
            self.missing[...] = False
            self.missing[3, 0] = self.missing[4, -1, : 2 * self.slice] = True
        flagged = np.repeat(self.flags, self.slice, axis=3)
        self.lost = flagged | self.missing[:, np.newaxis]
        self.voltages = qa_tools.random_samples(rng, sample_type, self.shape)
        self.voltages[self.lost] = 0
        self.masks = pack(self.flags)
        self.values = reference.decode(self.voltages, sample_type)[0]

    def ports(self):
        return [reference.samples_to_bytes(self.voltages, self.type), self.masks]

    def tags(self, masks=frame_tags()):
        return [frame_tags() + missing_tags(self.missing, False), masks]

    def names(self, **arguments):
        frames, channels, inputs, spectra = self.shape
        return dict(
            channels=channels,
            spectra_per_frame=spectra,
            type=self.type,
            spectra_per_slice=self.slice,
            **arguments,
        )

    def times(self, values):
        """[frame][channel][...][time] -> [channel][...][time]"""
        return np.concatenate(list(values), axis=-1)

    def correlate(self, integration):
        """Sums, complex128, and counts [integration][channel][product]."""
        x, there = self.times(self.values), self.times(~self.lost)
        a, b = np.tril_indices(self.shape[2])
        starts = np.arange(0, x.shape[-1], integration * self.shape[3])
        sums = np.add.reduceat(x[:, a] * x[:, b].conj(), starts, axis=2)
        counts = np.add.reduceat((there[:, a] & there[:, b]).astype(int), starts, axis=2)
        return np.moveaxis(sums, 2, 0), np.moveaxis(counts, 2, 0)


def detect(y, lost, spectra, products, basis, summed, mean):
    """Powers of y [channel][beam][time], and counts: [integration][row][(product)][channel]."""
    channels, starts = len(y), np.arange(0, y.shape[2], spectra)

    def total(values):
        sums = np.add.reduceat(values, starts, axis=2)  # [channel][row][integration]
        return np.moveaxis(
            sums.reshape(channels // summed, summed, *sums.shape[1:]).sum(1), (0, 1, 2), (2, 1, 0)
        )

    def part(values, there):
        count = total(there.astype(int))
        sums = total(values)
        return np.where(count > 0, sums / np.maximum(count, 1), 0) if mean else sums, count

    if products == "power":
        power, count = part(abs(y) ** 2, ~lost)
        return power[:, :, np.newaxis], count
    (x, y), (no_x, no_y) = (y[:, ::2], y[:, 1::2]), (lost[:, ::2], lost[:, 1::2])
    xx, yy = part(abs(x) ** 2, ~no_x)[0], part(abs(y) ** 2, ~no_y)[0]
    xy, count = part(x * y.conj(), ~(no_x | no_y))
    q, u, v = xx - yy, 2 * xy.real, 2 * xy.imag
    made = {
        "I": [xx + yy],
        "coherency": [xx, yy, xy.real, xy.imag],
        "IQUV": [xx + yy, q, u, v] if basis == "linear" else [xx + yy, u, v, q],
    }[products]
    return np.stack(made, axis=2), count


class qa_masks(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1999)

    def correlate(
        self,
        scene,
        integration=3,
        device="cpu",
        normalise=True,
        chunks=3,
        tags=None,
        graphs=1,
        ports=None,
    ):
        """Visibilities and counts of the block [integration][channel][product], and its tags."""
        products = scene.shape[2] * (scene.shape[2] + 1) // 2
        block = aperture.xengine(
            inputs=scene.shape[2],
            integration=integration,
            normalise=normalise,
            device=device,
            **scene.names(),
        )
        size = scene.shape[1] * products
        graph = qa_tools.Flowgraph(
            block,
            ports or scene.ports(),
            [8 * size, 4 * size],
            tags=tags or scene.tags(),
            chunks=chunks,
        )
        (values, counts), found = graph.run()
        shape = (-1, scene.shape[1], products)
        return (
            np.frombuffer(values.tobytes(), np.complex64).reshape(shape),
            np.frombuffer(counts.tobytes(), np.uint32).reshape(shape),
            found,
            block,
        )

    def check_xengine(self, scene, integration=3, normalise=True, **options):
        sums, counts = scene.correlate(integration)
        scale = np.where(counts > 0, 1 / np.maximum(counts, 1), 0) if normalise else 1
        expected = sums * scale
        values, found, tags, _ = self.correlate(scene, integration, normalise=normalise, **options)
        np.testing.assert_array_equal(found, counts)
        if scene.type == "fc32":
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6 * abs(expected).max())
        else:
            np.testing.assert_array_equal(values, expected.astype(np.complex64))
        return tags

    # ---- xengine

    def test_xengine(self):
        """Slices of one byte, of three with bits to spare, of one spectrum; missing spectra that
        cut slices, that do not, and none."""
        for device in DEVICES:
            for spectra, slices in ((24, 8), (24, 24), (24, 3), (80, 20), (80, 80), (48, 1)):
                for missing in ("parts", "whole slices", None):
                    with self.subTest(device=device, slices=slices, missing=missing):
                        spectra = whole_slices(spectra)
                        scene = Scene(self.rng, spectra=spectra, slices=slices, missing=missing)
                        self.check_xengine(scene, device=device)

    def test_xengine_sizes(self):
        for device in DEVICES:
            for sample_type, inputs, integration, chunks in (
                ("sc8", 1, 1, 1),
                ("sc4", 2, 7, 0),
                ("fc32", 9, 2, 5),
                ("sc8", 67, 4, 2),
            ):
                with self.subTest(device=device, inputs=inputs):
                    scene = Scene(
                        self.rng,
                        sample_type,
                        inputs=inputs,
                        slices=4,
                        channels=3,
                        spectra=qa_tools.frame_length(20),
                    )
                    self.check_xengine(
                        scene, integration, device=device, chunks=chunks, normalise=inputs != 9
                    )

    def test_xengine_many_frames(self):
        """More frames in a call than are counted together, whose last integration is partial."""
        for device in DEVICES:
            scene = Scene(self.rng, frames=300, channels=2, inputs=3, spectra=16, slices=2)
            tags = self.check_xengine(scene, 170, device=device, chunks=0)
            self.assertEqual(
                qa_tools.each_of(tags[1], "spectra", 2), [(0, 170 * 16), (1, 130 * 16)]
            )
            self.assertEqual(tags_of(tags[1], "partial"), [(1, True)])
            self.assertEqual(tags_of(tags[1], "rx_time"), tags_of(tags[0], "rx_time"))

    def test_counted_is_the_most(self):
        """The tag does not know of flags: it is what no count exceeds, and what those of a
        channel without flags are."""
        scene = Scene(self.rng)
        _, counts, tags, _ = self.correlate(scene)
        for item, value in qa_tools.each_of(tags[0], "counted", len(counts)):
            np.testing.assert_array_equal(np.broadcast_to(value, counts.shape[2]), counts[item, 0])
            self.assertTrue((counts[item] <= value).all())

    def test_lost_frames(self):
        """Frames that never come have no masks either, and are not counted."""
        scene = Scene(self.rng, spectra=whole_slices(24), frames=6, missing=None)
        gap = (4, "rx_time", rx_time(EPOCH, 6 / RATE))  # two frames before it
        for device in DEVICES:
            values, counts, _, _ = self.correlate(
                scene, 8, device, tags=[frame_tags() + [gap], frame_tags() + [gap]]
            )
            self.assertEqual(len(counts), 1)
            np.testing.assert_array_equal(counts, scene.correlate(8)[1])

    def test_restart(self):
        scene = Scene(self.rng, spectra=whole_slices(24))
        for device in DEVICES:
            products = 6 * scene.shape[1]
            block = aperture.xengine(inputs=3, integration=2, device=device, **scene.names())
            for _ in range(2):
                (_, counts), _ = qa_tools.run(
                    block, scene.ports(), [8 * products, 4 * products], tags=scene.tags()
                )
                np.testing.assert_array_equal(
                    np.frombuffer(counts.tobytes(), np.uint32).reshape(-1, scene.shape[1], 6),
                    scene.correlate(2)[1],
                )

    def test_masks_that_do_not_fit(self):
        """Fewer masks than frames, and masks of another time: an error; what came before it is
        right."""
        scene = Scene(self.rng, missing=None)
        ports = scene.ports()
        _, counts, _, block = self.correlate(scene, 2, ports=[ports[0], ports[1][:5]])
        self.assertIn("the masks (port 1) end after 5 items", block.error())
        np.testing.assert_array_equal(counts, scene.correlate(2)[1][:2])

        for late in (
            frame_tags(seconds=1 / RATE),
            frame_tags(seconds=-3.0),
            frame_tags() + [(3, "rx_time", rx_time(EPOCH, 4 / RATE))],
        ):
            _, counts, _, block = self.correlate(scene, 2, tags=[frame_tags(), late])
            self.assertIn("(port 1): rx_time at item", block.error())
            self.assertLess(len(counts), 4)
        self.assertEqual(self.correlate(scene, 2, tags=[frame_tags(), []])[3].error(), "")

    def test_parameters(self):
        for make in (aperture.xengine, aperture.power_detector, aperture.beam_power):
            for wrong in (-1, 5, 48):
                with self.assertRaisesRegex(ValueError, f"spectra_per_slice: {wrong}"):
                    make(
                        channels=4,
                        spectra_per_frame=24,
                        spectra=24,
                        spectra_per_slice=wrong,
                        device="cpu",
                    ) if make is not aperture.xengine else make(
                        channels=4, spectra_per_frame=24, spectra_per_slice=wrong, device="cpu"
                    )

    # ---- powers

    def check_powers(
        self,
        scene,
        block,
        beams,
        lost,
        spectra,
        products="power",
        basis="linear",
        summed=1,
        mean=True,
        chunks=7,
    ):
        """beams [channel][beam][time] and what they lack, against the block."""
        expected, counts = detect(beams, lost, spectra, products, basis, summed, mean)
        (data, found), tags = qa_tools.run(
            block,
            scene.ports(),
            [4 * expected[0].size, 4 * counts[0].size],
            tags=scene.tags(),
            chunks=chunks,
        )
        np.testing.assert_array_equal(
            np.frombuffer(found.tobytes(), np.uint32).reshape(-1, *counts.shape[1:]), counts
        )
        powers = np.frombuffer(data.tobytes(), np.float32).reshape(-1, *expected.shape[1:])
        # sums in fp32 of up to 512 terms
        np.testing.assert_allclose(powers, expected, rtol=0, atol=3e-6 * abs(expected).max())
        self.assertEqual(tags_of(tags[0], "spectra"), tags_of(tags[1], "spectra"))

    def test_power_detector(self):
        """Integrations that cut slices, hold several, and hold frames."""
        for device in DEVICES:
            for products, basis in (
                ("power", "linear"),
                ("I", "linear"),
                ("IQUV", "linear"),
                ("IQUV", "circular"),
                ("coherency", "linear"),
            ):
                for spectra, slices in ((4, 4), (8, 8), (24, 3), (48, 12), (72, 2), (240, 24)):
                    with self.subTest(device, products=products, spectra=spectra):
                        scene = Scene(self.rng, "fc32", channels=6, inputs=4, slices=slices)
                        options = dict(
                            spectra=spectra, products=products, basis=basis, mean=spectra != 72
                        )
                        summed = 3 if spectra in (8, 72) else 1
                        block = aperture.power_detector(
                            beams=4, device=device, summed_channels=summed, **scene.names(**options)
                        )
                        self.check_powers(
                            scene,
                            block,
                            scene.times(scene.values),
                            scene.times(scene.lost),
                            summed=summed,
                            **options,
                        )

    def test_beam_power(self):
        """A spectrum counts while any input of the beam is there; an incoherent beam behind."""
        for device in DEVICES:
            for spectra, slices in ((8, 8), (24, 3), (72, 12)):
                with self.subTest(device, spectra=spectra):
                    scene = Scene(self.rng, "fc32", channels=4, inputs=5, slices=slices)
                    weights = self.rng.normal(size=(2, 5)) + 1j * self.rng.normal(size=(2, 5))
                    weights[0, 2:] = 0
                    weights[1, 0] = 0
                    mask = np.array([1, 0, 0, 1, 1])
                    block = aperture.beam_power(
                        inputs=5,
                        beams=2,
                        incoherent_beams=1,
                        weights=weights,
                        masks=[1] * 10 + list(mask),
                        device=device,
                        **scene.names(spectra=spectra),
                    )
                    x, lost = scene.times(scene.values), scene.times(scene.lost)
                    coherent = np.einsum("bi,cit->cbt", weights, x)
                    incoherent = np.sqrt((abs(x[:, mask > 0]) ** 2).sum(axis=1))[:, None]
                    lacks = [
                        lost[:, used].all(axis=1)
                        for used in (weights[0] != 0, weights[1] != 0, mask > 0)
                    ]
                    self.check_powers(
                        scene,
                        block,
                        np.concatenate([coherent, incoherent], axis=1),
                        np.stack(lacks, axis=1),
                        spectra,
                    )

    # ---- files

    def to_sink(self, scene, engine, sink, integrations=None):
        top = gr.top_block()
        sources = [
            qa_tools.ByteSource(data, tags, 3, None, 1)
            for data, tags in zip(scene.ports(), scene.tags())
        ]
        for port, source in enumerate(sources):
            top.connect((source, 0), (engine, port))
        for port in range(2):
            top.connect((engine, port), (sink, port))
        top.run()
        self.assertIsNone(sink.error())

    def test_uvh5(self):
        """nsamples and flags of each channel and product; the last integration is partial."""
        scene = Scene(self.rng)
        engine = aperture.xengine(inputs=3, integration=3, device="cpu", **scene.names())
        path = self.folder / "test.uvh5"
        sink = aperture.uvh5_sink(str(path), array_of(3), channels=scene.shape[1], counts=True)
        self.to_sink(scene, engine, sink)
        _, counts = scene.correlate(3)
        full = np.array([72, 72, 24])[:, None, None]
        with h5py.File(path) as file:
            data = {name: file["Data"][name][()] for name in ("nsamples", "flags", "visdata")}
            one, two = (file["Header"][f"ant_{i}_array"][:6] for i in (1, 2))
        for row, (a, b) in enumerate(zip(two, one)):
            product = max(a, b) * (max(a, b) + 1) // 2 + min(a, b)
            fractions = (counts / full)[:, :, product]
            np.testing.assert_allclose(data["nsamples"][row::6, :, 0], fractions, rtol=1e-6)
            np.testing.assert_array_equal(data["flags"][row::6, :, 0], fractions == 0)
            self.assertTrue((data["visdata"][row::6, :, 0][fractions == 0] == 0).all())
        self.assertTrue(data["flags"].any() and not data["flags"].all())

    def test_filterbank(self):
        """A channel of which nothing is left in an integration becomes the mean of the others, as
        floats and with 8 bits, and other cells stay as they are."""
        scene = Scene(
            self.rng, "fc32", frames=40, channels=4, inputs=2, slices=2, missing=None, flagged=0.2
        )
        flagged = np.repeat(scene.flags[..., 0] & scene.flags[..., 1], 1, axis=0)
        for nbits in (32, 8):
            engine = aperture.power_detector(
                beams=2, device="cpu", spectra=24, products="power", **scene.names()
            )
            path = self.folder / f"test{nbits}.fil"
            sink = aperture.filterbank_sink(
                str(path),
                array_of(1),
                [Beam("a", 0.0, 90.0), Beam("b", 0.0, 80.0)],
                4,
                nbits=nbits,
                counts=True,
            )
            self.to_sink(scene, engine, sink)
            kind = np.float32 if nbits == 32 else np.uint8
            size = 40 * 2 * 4 * np.dtype(kind).itemsize
            found = np.frombuffer(path.read_bytes()[-size:], kind).reshape(40, 2, 4)[..., ::-1]
            cells = np.swapaxes(flagged, 1, 2)
            self.assertAlmostEqual(sink.flagged(), cells.mean())
            expected = detect(
                scene.times(scene.values), scene.times(scene.lost), 24, "power", "linear", 1, True
            )[0][:, :, 0]
            if nbits == 8:
                offset, step = (part[:, 0] for part in sink.levels())
                self.assertTrue((found[cells] == 64).all())
                expected = np.clip(np.rint((expected - offset) / np.where(step, step, 1)), 0, 255)
                self.assertLessEqual(abs(found[~cells] - expected[~cells]).max(), 1)
                continue
            np.testing.assert_allclose(found[~cells], expected[~cells], rtol=1e-5)
            # means of what came before, or at first with it
            for item, beam, channel in np.argwhere(cells):
                known = expected[:, beam, channel][~cells[:, beam, channel]]
                if len(known):
                    self.assertTrue(known.min() <= found[item, beam, channel] <= known.max())
            self.assertTrue(cells.any())


if __name__ == "__main__":
    gr_unittest.run(qa_masks)
