#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The block that folds, and the file of its profiles."""

import math
import os
import tempfile
from decimal import Decimal, getcontext

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture import Pulsar, Source
from gnuradio.aperture.formats.psrfits.profiles import read_profiles
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.qa_tools import gr_tag, gr_tags, on_device, run_chain
from gnuradio.aperture.transients.dispersion import delay
from gnuradio.aperture.transients.folding import FoldedProfiles, dedispersed, profile
from gnuradio.aperture.transients.par_file import parse_par

getcontext().prec = 60
aperture = on_device(aperture)
START = (1704067200, 0.75)
CENTER, RATE = 408e6, 100e3


def revolutions_of(period, derivative, epoch, phase, time):
    """In 60 digits, of doubles as they are."""
    dt = Decimal(time[0]) - Decimal(epoch[0]) + Decimal(time[1]) - Decimal(epoch[1])
    p = Decimal(period)
    return Decimal(phase) + dt / p - Decimal(derivative) * dt * dt / (2 * p * p)


def stream_tags(start, rate, spectra=None, frequency=CENTER, width=RATE):
    values = {
        "rx_time": start,
        "rx_rate": rate,
        "rx_freq": frequency,
        "bandwidth": width,
        "spectra": spectra,
    }
    return gr_tags(0, values)


class Tags(gr.sync_block):
    """Keeps the dictionaries of `folded`, and where there is `partial`."""

    def __init__(self, size):
        gr.sync_block.__init__(self, "tags", [(np.float32, size)], None)
        self.found = []

    def work(self, input_items, _):
        self.found += [
            (t.offset, pmt.symbol_to_string(t.key), pmt.to_python(t.value))
            for t in self.get_tags_in_window(0, 0, len(input_items[0]))
        ]
        return len(input_items[0])


def fold(powers, tags, type="f32", **arguments):
    """Powers [item][beam][product][channel] -> profiles and counts, [subintegration][beam]
    [product][channel][bin], and the tags."""
    _, beams, products, channels = powers.shape
    block = aperture.folder(
        beams=beams, products=products, channels=channels, type=type, **arguments
    )
    size = beams * products * channels
    feed = {
        "f32": blocks.vector_source_f,
        "s8": blocks.vector_source_b,
        "u8": blocks.vector_source_b,
    }[type]
    values = powers.ravel()
    if type == "s8":
        values = values.astype(np.int8).view(np.uint8)
    source = feed(values.tolist(), False, size, tags)
    out = size * arguments.get("bins", 128)
    profiles, counts, seen = blocks.vector_sink_f(out), blocks.vector_sink_i(out), Tags(out)
    top = gr.top_block()
    top.connect(source, block, profiles)
    top.connect(block, seen)
    top.connect((block, 1), counts)
    top.run()
    shape = (-1, beams, products, channels, arguments.get("bins", 128))
    return (
        np.array(profiles.data()).reshape(shape),
        np.array(counts.data()).reshape(shape),
        seen.found,
        block,
    )


class qa_folder(gr_unittest.TestCase):
    def check(
        self,
        powers,
        rate,
        period,
        derivative,
        epoch,
        phase,
        bins,
        spectra=None,
        counted=None,
        type="f32",
        mean=True,
        subintegration=1e5,
        start=START,
    ):
        """One sub-integration against sums in float64, with phases in 60 digits."""
        tags = stream_tags(start, rate, spectra)
        for item, values in (counted or {}).items():
            tags.append(gr_tag(item, "counted", np.array(values)))
        found, counts, seen, _ = fold(
            powers,
            tags,
            type,
            period=period,
            period_derivative=derivative,
            epoch=epoch,
            phase=phase,
            bins=bins,
            subintegration=subintegration,
            mean=mean,
        )
        rows = powers.shape[1] * powers.shape[2]
        sums = np.zeros((bins, rows, powers.shape[3]))
        weights = np.zeros((bins, rows))
        for item, values in enumerate(powers.reshape(len(powers), rows, -1)):
            # spectra are said on the first item, where they are, and hold for all
            middle = (spectra - 1) / (2 * spectra) if spectra else 0.5
            offset = (item + middle) / rate
            revolutions = revolutions_of(
                period, derivative, epoch, phase, (start[0], start[1] + offset)
            )
            place = int((revolutions - revolutions.to_integral_value("ROUND_FLOOR")) * bins)
            here = max((i for i in counted or {} if i <= item), default=None)
            weight = np.ones(rows) * ((spectra or 1) if here is None else counted[here])
            sums[place] += values * (weight[:, None] if mean else weight[:, None] > 0)
            weights[place] += weight
        expected = (sums / np.maximum(weights, 1)[..., None]).transpose(1, 2, 0)
        self.assertEqual(len(found), 1)
        np.testing.assert_array_equal(
            counts[0].reshape(rows, -1, bins),
            np.broadcast_to(weights.T[:, None].astype(int), expected.shape),
        )
        np.testing.assert_allclose(found[0].reshape(expected.shape), expected, rtol=1e-6, atol=1e-6)
        return seen

    def test_fold(self):
        """Every power is in its bin, of odd sizes, with counts of rows that differ, some of which
        hold for several items."""
        rng = np.random.default_rng(1)
        powers = rng.random((997, 3, 2, 5)).astype(np.float32)
        counted = {17: [0] * 6, 20: [8], 30: [3, 0, 1, 2, 0, 7], 33: [4], 34: [8]}
        for mean in (True, False):
            self.check(
                powers,
                123.0,
                0.7145,
                1e-9,
                (START[0] - 1000, 0.25),
                0.3,
                37,
                spectra=8,
                counted=counted,
                mean=mean,
            )

    def test_middle(self):
        """A power is of the middle of its spectra: of two, the first at rx_time, a quarter of an
        item later; of many, and where nothing is said, half of one; of one at rx_time."""
        powers = np.arange(1, 65, dtype=np.float32).reshape(-1, 1, 1, 1)
        # items of 10 ms begin 6 ms after the border of a bin of 10 ms
        epoch = (START[0], START[1] - 0.006)
        for spectra, late in ((1, 0), (2, 0), (1000, 1), (None, 1)):
            tags = stream_tags(START, 100.0)
            if spectra:
                tags += [gr_tag(item, "spectra", spectra) for item in range(64)]
            found, _, _, _ = fold(powers, tags, period=0.64, epoch=epoch, bins=64)
            np.testing.assert_array_equal(found[0].ravel(), np.roll(powers.ravel(), late))

    def test_flagged(self):
        """Powers that are NaN do not count, channel by channel, nor those that are exactly 0,
        unless `zeros` says so."""
        rng = np.random.default_rng(5)
        powers = (1 + rng.random((400, 2, 2, 5))).astype(np.float32)
        powers[rng.random(powers.shape) < 0.1] = 0
        powers[:, 1, 0, 3] = 0
        powers[7, 0, 0, 0] = np.nan
        for mean, zeros in ((True, True), (True, False), (False, False)):
            tags = stream_tags(START, 100.0) + [
                gr_tag(item, "counted", np.array([count])) for item, count in ((30, 3), (31, 1))
            ]
            found, counts, _, _ = fold(
                powers,
                tags,
                period=0.4321,
                epoch=START,
                bins=7,
                subintegration=100,
                mean=mean,
                zeros=zeros,
            )
            places = (((np.arange(400) + 0.5) / 100 / 0.4321) % 1 * 7).astype(int)
            there = np.isfinite(powers) if zeros else np.abs(powers) > 0
            weights = there * np.where(np.arange(400) == 30, 3, 1)[:, None, None, None]
            for place in range(7):
                of = places == place
                np.testing.assert_array_equal(counts[0, ..., place], weights[of].sum(axis=0))
                sums = np.sum(
                    np.nan_to_num(powers[of]).astype(float) * (weights[of] if mean else 1), axis=0
                )
                np.testing.assert_allclose(
                    found[0, ..., place], sums / np.maximum(weights[of].sum(axis=0), 1), rtol=1e-6
                )
        self.assertEqual(found[0, 1, 0, 3].max(), 0)

    def test_counts(self):
        """Counts of each channel and beam, of a port of their own, are the weights."""
        rng = np.random.default_rng(6)
        powers = (1 + rng.random((300, 2, 3, 5))).astype(np.float32)
        cells = rng.integers(0, 9, (300, 2, 5))
        rate, period = 100.0, 0.4321
        places = (((np.arange(300) + 7 / 16) / rate / period) % 1 * 7).astype(int)
        tags = stream_tags(START, rate) + [
            tag
            for item in range(300)
            for tag in gr_tags(item, {"spectra": 8, "counted": np.array([8])})
        ]
        for mean in (True, False):
            block = aperture.folder(
                beams=2,
                products=3,
                channels=5,
                bins=7,
                period=period,
                epoch=START,
                mean=mean,
                counts=True,
                subintegration=100,
            )
            profiles, counts = blocks.vector_sink_f(210), blocks.vector_sink_i(210)
            top = gr.top_block()
            top.connect(
                blocks.vector_source_f(powers.ravel().tolist(), False, 30, tags), block, profiles
            )
            top.connect(blocks.vector_source_i(cells.ravel().tolist(), False, 10), (block, 1))
            top.connect((block, 1), counts)
            top.run()
            self.assertEqual(block.error(), "")
            found = np.array(profiles.data()).reshape(2, 3, 5, 7)
            weights = np.broadcast_to(cells[:, :, None], powers.shape)
            for place in range(7):
                total = weights[places == place].sum(axis=0)
                np.testing.assert_array_equal(
                    np.array(counts.data()).reshape(2, 3, 5, 7)[..., place], total
                )
                factor = weights[places == place] if mean else weights[places == place] > 0
                sums = np.sum(powers[places == place] * factor.astype(float), axis=0)
                np.testing.assert_allclose(
                    found[..., place], sums / np.maximum(total, 1), rtol=1e-6
                )

    def test_types(self):
        rng = np.random.default_rng(2)
        powers = rng.integers(-127, 128, (301, 2, 1, 7))
        self.check(powers, 50.0, 0.3137, 0, START, 0.0, 16, type="s8")
        self.check(np.abs(powers), 50.0, 0.3137, 0, START, 0.0, 16, type="u8")

    def test_exact(self):
        """A pulsar of a millisecond and a bit, a year after its epoch: within 1e-3 revolutions,
        that is in the right ones of 1000 bins but for one beside a border. Powers are the number of
        the item."""
        period, derivative = 0.0011234567890123, 1.3e-19
        epoch, bins, rate = (START[0] - 31557600, 0.123456789), 1000, 7919.0
        items = 500
        powers = np.arange(1, items + 1, dtype=np.float32).reshape(-1, 1, 1, 1)
        found, counts, _, _ = fold(
            powers,
            stream_tags(START, rate),
            period=period,
            period_derivative=derivative,
            epoch=epoch,
            bins=bins,
            subintegration=1e4,
        )
        right = 0
        for item in range(items):
            middle = Decimal(item) / Decimal(rate) + Decimal("0.5") / Decimal(rate)
            revolutions = revolutions_of(period, derivative, epoch, 0, START) + middle / Decimal(
                period
            )
            part = (revolutions - revolutions.to_integral_value("ROUND_FLOOR")) * bins
            places = {int(part - Decimal("0.01")) % bins, int(part + Decimal("0.01")) % bins}
            right += any(counts[0, 0, 0, 0, place] > 0 for place in places)
        self.assertEqual(right, items)
        self.assertEqual(counts.sum(), items)

    def test_subintegrations(self):
        """Sub-integrations begin with the first item, end with the input, and tell of their
        middle."""
        rate, items = 100.0, 1234
        powers = np.ones((items, 1, 1, 2), np.float32)
        found, counts, seen, _ = fold(
            powers,
            stream_tags(START, rate, None),
            period=0.1,
            epoch=START,
            bins=8,
            subintegration=2.5,
        )
        self.assertEqual([int(c.sum()) for c in counts], [500, 500, 500, 500, 468])
        folded = [value for _, key, value in seen if key == "folded"]
        self.assertEqual([f["items"] for f in folded], [250, 250, 250, 250, 234])
        for number, f in enumerate(folded):
            late = f["middle"][0] - START[0] + f["middle"][1] - START[1]
            length = 2.5 if number < 4 else 2.34
            self.assertAlmostEqual(f["length"], length, 9)
            self.assertAlmostEqual(late, 2.5 * number + length / 2, 9)
            self.assertAlmostEqual(f["turns"] + f["phase"], late / 0.1, 6)
            self.assertAlmostEqual(f["frequency"], 10, 9)
        self.assertEqual([offset for offset, key, _ in seen if key == "partial"], [4])

    def test_gap(self):
        """Lost items do not count, and later items keep their phase."""
        rate, items = 100.0, 400
        powers = np.ones((items, 1, 1, 1), np.float32)
        tags = stream_tags(START, rate) + [gr_tag(200, "rx_time", (START[0] + 5, START[1]))]
        _, counts, _, _ = fold(powers, tags, period=7.0, epoch=START, bins=7, subintegration=100)
        np.testing.assert_array_equal(counts[0].ravel(), [100, 100, 0, 0, 0, 100, 100])

    def test_errors(self):
        """One clear error each."""
        for rule, arguments in (
            ("period: 0 is not allowed", dict(period=0)),
            ("period: -1 is not", dict(period=-1)),
            ("bins: 1 is not allowed", dict(period=1, bins=1)),
            ("subintegration: 0 is not", dict(period=1, subintegration=0)),
            ("type: 'f64' is not", dict(period=1, type="f64")),
            ("period_derivative: 1 is not", dict(period=1, period_derivative=1)),
            ("epoch: -5 is not", dict(period=1, epoch=-5)),
            (r"par\[0\]: 1 is not allowed", dict(par=[1])),
            ("2000000000 x bins|2\\^31|bytes", dict(period=1, channels=1 << 20, bins=65536)),
        ):
            with self.assertRaisesRegex(ValueError, rule):
                aperture.folder(**arguments)
        powers = np.ones((10, 1, 1, 1), np.float32)
        *_, block = fold(powers, stream_tags(START, 10.0)[:1], period=1.0, bins=4)
        self.assertRegex(block.error(), "rx_rate")
        segment = aperture.aperture_python.folder.segment
        late = segment((START[0] + 100, 0.0), 10.0, (START[0] + 105, 0.0), 0, 0.0, [1.0])
        block = aperture.aperture_python.folder(segments=[late], channels=1, bins=4)
        source = blocks.vector_source_f([1.0] * 10, False, 1, stream_tags(START, 10.0))
        run_chain(source, block, blocks.null_sink(16))
        self.assertRegex(block.error(), "segments: none holds at 1704067200 s")

    # --- from voltages to the file ---

    def chain(self, folder, filename, period, dm=20.0, seconds=4.0, fold_period=None):
        """A simulated pulsar through filter bank, detector, folder and file."""
        channels, bins = 8, 64
        array = make_array({"A": (0, 0, 0)}, rate=RATE, center=CENTER, site=(44, 11, 0))
        source = Source(
            "p",
            azimuth=0,
            elevation=90,
            dm=dm,
            pulsars=[Pulsar(period, width=0.04 * period, mean_flux=0.5, epoch=START, phase=0.25)],
        )
        feed = aperture.array_source(array, [source], samples=int(seconds * RATE), start_time=START)
        # a beam of the one input
        spectra = 10
        frames = aperture.f_engine(channels=channels, inputs=1, spectra_per_frame=250)
        power = aperture.power_detector(
            channels=channels, beams=1, spectra_per_frame=250, spectra=spectra
        )
        model = dict(period=fold_period or period, epoch=START, phase=0.25)
        fold_block = aperture.folder(channels=channels, bins=bins, subintegration=1.0, **model)
        sink = aperture.psrfits_sink(
            os.path.join(folder, filename),
            array=array,
            channels=channels,
            bins=bins,
            source="B0000+00",
            dm=dm,
            **model,
        )
        top = gr.top_block()
        top.connect(feed, frames, power, fold_block, sink)
        top.connect((fold_block, 1), (sink, 1))
        top.run()
        self.assertIsNone(sink.error())
        return sink

    def test_pulsar(self):
        """The profile of a simulated pulsar has its peak, width and flux; a wrong period smears it;
        the file gives back what was folded."""
        period = 0.1234567
        with tempfile.TemporaryDirectory() as folder:
            sink = self.chain(folder, "p-{time}.fits", period)
            self.assertEqual(
                [os.path.basename(path) for path in sink.files()], ["p-20240101T000000Z.fits"]
            )
            kept, read = sink.profiles(), read_profiles(sink.files()[0])
            self.assertEqual(kept.powers.shape, (4, 1, 8, 64))
            span = np.ptp(kept.powers, axis=-1, keepdims=True)
            np.testing.assert_array_less(np.abs(read.powers - kept.powers) - span / 65000, 1e-6)
            np.testing.assert_array_equal(read.counts, kept.counts)
            np.testing.assert_allclose(read.channels, kept.channels, rtol=1e-12)
            self.assertAlmostEqual(read.period, period, 9)
            self.assertEqual((read.source, read.dm), ("B0000+00", 20.0))
            for time in read.times:
                revolutions = revolutions_of(period, 0, START, 0.25, time)
                self.assertLess(abs(revolutions - revolutions.to_integral_value()), 1e-6)
            wrong = profile(
                self.chain(folder, "w.fits", period, fold_period=period * 1.02).profiles()
            )
        pulsed = profile(kept)
        bins = len(pulsed)
        phases = (np.arange(bins) + 0.5) / bins
        angle = np.angle(np.sum(pulsed * np.exp(2j * np.pi * phases)))
        # power in a bin: chi^2 of so many spectra; the phase of the first harmonic has then
        spectra = kept.counts.sum() / 8 / bins * 8
        deviation = 1.5 / math.sqrt(spectra)
        harmonic = np.abs(np.sum(pulsed * np.exp(-2j * np.pi * phases)))
        limit = 5 * deviation * math.sqrt(bins / 2) / harmonic
        self.assertLess(limit, 0.3)
        self.assertLess(abs(angle), limit + 0.02)
        shape = np.exp(-4 * math.log(2) * ((phases + 0.5) % 1 - 0.5) ** 2 / 0.04**2)
        # the model's mean is 0.5 of the noise; what is pulsed is relative to the mean
        expected = (1 + 0.5 * shape / shape.mean()) / 1.5 - 1
        error = pulsed - expected
        self.assertLess(
            np.abs(error).max(), 6 * deviation * pulsed.max() / 1.5 + 0.12 * expected.max()
        )
        self.assertLess(wrong.max(), 0.5 * pulsed.max())

    def check_polyco(self, path, tolerance):
        """The phase of the polynomials in a file, by TEMPO's formula, is whole at the times of its
        sub-integrations, and the frequency is that of their periods."""
        from astropy.io import fits

        with fits.open(path) as file:
            header, rows, table = file[0].header, file["POLYCO"].data, file["SUBINT"].data
            self.assertGreater(len(table), 0)
            for offset, period in zip(table["OFFS_SUB"], table["PERIOD"]):
                seconds = header["STT_SMJD"] + header["STT_OFFS"] + offset
                days = (header["STT_IMJD"] - rows["REF_MJD"]) + seconds / 86400
                row = rows[np.argmin(np.abs(days))]
                minutes = (header["STT_IMJD"] - row["REF_MJD"]) * 1440 + seconds / 60
                self.assertLessEqual(abs(minutes), row["NSPAN"] / 2 + 1)
                phase = (
                    row["REF_PHS"]
                    + 60 * minutes * row["REF_F0"]
                    + np.polyval(row["COEFF"][::-1], minutes)
                )
                self.assertLess(abs(phase - round(phase)), tolerance)
                slope = row["REF_F0"] + np.polyval(np.polyder(row["COEFF"][::-1]), minutes) / 60
                self.assertAlmostEqual(slope * period, 1, 6)

    def test_polyco(self):
        """Periods with a derivative, and timing models, are folded. A modified Julian date in a
        double is good to 1 us, 2e-5 revolutions here."""
        par = parse_par(
            "PSR X\nRAJ 03:32:59\nDECJ 54:34:43\nF0 20.5\nF1 -1e-10\nPEPOCH 60000\nDM 5\nDM1 1\n"
        )
        start = (1704070790, 0.5)  # two segments of a model that begins at START
        for model in (
            dict(period=0.05, period_derivative=1e-6, epoch=(START[0] + 3000, 0.5)),
            dict(par=par, array="best-2", start_time=START, hours=2),
        ):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "x.fits")
                block = aperture.folder(channels=2, bins=8, subintegration=5.0, **model)
                sink = aperture.psrfits_sink(
                    path, channels=2, bins=8, **{"array": "best-2", **model}
                )
                source = blocks.vector_source_f(
                    [1.0, 2.0] * 2000, False, 2, stream_tags(start, 100.0, 10)
                )
                top = gr.top_block()
                top.connect(source, block, sink)
                top.connect((block, 1), (sink, 1))
                top.run()
                self.assertIsNone(sink.error())
                self.assertEqual(sink.subintegrations(), 4)
                self.check_polyco(path, 5e-5)
                # DM1 is a year's, from PEPOCH to the day of the file
                dm = 5 + (start[0] / 86400 + 40587 - 60000) / 365.25 if "par" in model else 0.0
                self.assertAlmostEqual(read_profiles(path).dm, dm, 9)

    def test_channels_lined_up(self):
        """Each channel's peak comes K DM / f^2 late, and dedispersed at the same phase."""
        period, dm = 0.05, 20.0
        with tempfile.TemporaryDirectory() as folder:
            kept = self.chain(folder, "c.fits", period, dm=dm).profiles()
        phases = (np.arange(64) + 0.5) / 64
        for powers, late in (
            (kept.powers, delay(dm, kept.channels) / period),
            (dedispersed(kept), 0 * kept.channels),
        ):
            mean = np.average(powers[:, 0], axis=0, weights=kept.counts[:, 0])
            angles = np.angle(mean @ np.exp(2j * np.pi * phases)) / (2 * np.pi)
            off = (angles - late + 0.5) % 1 - 0.5
            np.testing.assert_array_less(np.abs(off[1:]), 0.02)

    def test_short_sub_integration(self):
        """A last sub-integration of a few bins leaves the profile of the others as it is."""
        channels, bins = 1.2e9 + 1e6 * np.arange(16), 64
        phases = (np.arange(bins) + 0.5) / bins
        pulse = 5 + np.exp(-(((phases - 0.4) / 0.03) ** 2))
        late = delay(30.0, channels) / 0.25
        powers = np.stack([np.interp((phases - each) % 1, phases, pulse) for each in late])
        powers = np.broadcast_to(powers, (2, 1, 16, bins)).copy()
        counts = np.full(powers.shape, 1000.0)
        few = (phases > 0.7) & (phases < 0.8)
        counts[1], powers[1, ..., ~few] = few, 0
        make = lambda part: FoldedProfiles(
            powers=powers[part],
            counts=counts[part],
            times=[(START, 0.0), (START, 10.0)][part],
            lengths=np.array([10.0, 0.03])[part],
            frequencies=np.full(2, 4.0)[part],
            channels=channels,
            dm=30.0,
        )
        np.testing.assert_allclose(profile(make(slice(None))), profile(make(slice(1))), atol=1e-4)

    def test_sink_errors(self):
        good = dict(period=1.0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.fits")
            two = [
                aperture.Beam("a", azimuth=0, elevation=90),
                aperture.Beam("b", azimuth=0, elevation=80),
            ]
            for rule, arguments in (
                ("dm: -1 is not", dict(dm=-1, **good)),
                ("products: 'Q' is not", dict(products="Q", **good)),
                ("bins: 1 is not", dict(bins=1, **good)),
                ("filename: .*beam", dict(beams=two, **good)),
                ("period: 0 is not", dict(period=0)),
            ):
                with self.assertRaisesRegex(ValueError, rule):
                    aperture.psrfits_sink(path, **arguments)
            with self.assertRaises(OSError):
                aperture.psrfits_sink(os.path.join(folder, "none", "a.fits"), **good)
            sink = aperture.psrfits_sink(path, channels=1, bins=4, **good)
            top = gr.top_block()
            top.connect(blocks.vector_source_f([0.0] * 8, False, 4), (sink, 0))
            top.connect(blocks.vector_source_i([0] * 8, False, 4), (sink, 1))
            top.run()
            self.assertRegex(sink.error(), "a.fits: .*rx_time")


if __name__ == "__main__":
    gr_unittest.run(qa_folder)
