#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_calibrate, and what uses its files, with voltages through the real chain."""

import os
import tempfile
from dataclasses import replace

import h5py
import numpy as np
from gnuradio import aperture, gr, gr_unittest
from gnuradio import filter as fir

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.arrays.array_model import Input, Source
from gnuradio.aperture.commands import beams_command, calibrate, fx
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.formats.uvh5.writer import Uvh5Layout
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.calibration_models import (
    WIDTH,
    array_of,
    delays_towards,
    frequencies_of,
    hidden_gains,
    products_of,
    write_observation,
)
from gnuradio.aperture.testing.observations import run, words
from gnuradio.aperture.testing.qa_tools import DEVICE
from gnuradio.aperture.testing.uvh5_files import write_file

CHANNELS = 32
RATE = 2e6
SPECTRA = 60000
#: delays of the cables (s), gains of the amplifiers, and the filters of each input
CABLES = (0.0, 100e-9, -77e-9)
GAINS = (1.0, 0.6 - 0.5j, -1.1 + 0.2j)
FILTERS = ([1.0], [1.0, 0.25j, -0.1], [0.9, -0.2 + 0.1j])


def bench():
    """Three receivers on one noise source, 30 times as strong as their own noise."""
    return make_array(
        dict.fromkeys("ABC", (0.0, 0.0, 0.0)),
        inputs=[Input(name, "x", gain, cable) for name, gain, cable in zip("ABC", GAINS, CABLES)],
        rate=RATE,
        center=1.42e9,
        name="bench",
        sources=[Source("noise", azimuth=0.0, elevation=90.0, flux=30.0)],
    )


def hidden():
    """Responses [input][channel] of all of that."""
    baseband = (np.arange(CHANNELS) - CHANNELS // 2) * RATE / CHANNELS
    return np.array(
        [
            gain
            * np.exp(-2j * np.pi * (1.42e9 + baseband) * cable)
            * (
                np.exp(-2j * np.pi * np.outer(baseband / RATE, np.arange(len(taps))))
                @ np.array(taps)
            )
            for gain, cable, taps in zip(GAINS, CABLES, FILTERS)
        ]
    )


class Correlator(gr.top_block):
    """The bench's correlator: its samples through a filter for each input, into a UVH5 file."""

    def __init__(self, path, spectra, seed=1, **options):
        super().__init__()
        array = bench()
        self.source = aperture.array_source(array, samples=(spectra + 7) * CHANNELS, seed=seed)
        self.f_engine = aperture.f_engine(
            channels=CHANNELS, inputs=3, spectra_per_frame=500, device=DEVICE
        )
        self.correlator = aperture.xengine(
            channels=CHANNELS, inputs=3, spectra_per_frame=500, integration=20, device=DEVICE
        )
        self.sink = aperture.uvh5_sink(path, array, CHANNELS, **options)
        for port, taps in enumerate(FILTERS):
            self.connect((self.source, port), fir.fir_filter_ccc(1, taps), (self.f_engine, port))
        self.connect(self.f_engine, self.correlator, self.sink)

    def observe(self):
        self.run()
        if self.sink.error():
            raise AssertionError(self.sink.error())


def visibilities(path):
    """Means over time, complex [channel], of A-B, A-C, B-C; and the file's header."""
    with VisibilityFile(path) as file:
        products = file.crosses()
        values, _ = file.read(products, max_times=1)
        return values[:, 0], file.keywords


class qa_calibrate(gr_unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.raw = os.path.join(cls._folder.name, "raw.uvh5")
        Correlator(cls.raw, SPECTRA).observe()
        cls.made = os.path.join(cls._folder.name, "bench.yml")
        cls.picture = os.path.join(cls._folder.name, "bench.png")
        cls.said = run(
            calibrate, cls.raw, "-o", cls.made, "--reference", "Ax", "--plot", cls.picture
        )

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def calibrate(self, *arguments):
        code, out, err = run(calibrate, *arguments)
        self.assertEqual(code, 0, err)
        return out, err

    def refused(self, *arguments):
        code, out, err = run(calibrate, *arguments)
        self.assertIn(code, (1, 2))
        self.assertNotIn("Traceback", err)
        self.assertNotIn("this should not happen", err)
        return err

    def test_hidden_responses_come_back(self):
        """Cables of +-100 ns, gains and filters, through the whole chain: to 1 degree and 1 %."""
        code, out, err = self.said
        self.assertEqual((code, err), (0, ""))
        self.assertIn("bench: 3 inputs, 32 channels of 62.5 kHz from 1419 to 1420.9375 MHz", out)
        self.assertIn("Ax (reference)", out)
        calibration = aperture.load_calibration(self.made)
        frequencies = frequencies_of(CHANNELS)
        product = calibration.corrections(frequencies, ["Ax", "Bx", "Cx"]) * hidden() * np.sqrt(30)
        product *= np.exp(-1j * np.angle(product[0]))
        # the simulator leaves out the outer percent of the band, where channel 0 is
        self.assertTrue(calibration.inputs[0].flagged[0])
        self.assertEqual(calibration.inputs[0].flagged.sum(), 1)
        self.assertLess(np.abs(np.angle(product[:, 1:], deg=True)).max(), 1)
        self.assertLess(np.abs(np.abs(product[:, 1:]) - 1).max(), 0.01)
        # a filter's own delay is a part of it: of B's taps about 0.1 samples
        self.assertAlmostEqual(calibration.of("Cx").delay * 1e9, 77, delta=120)
        self.assertGreater(os.path.getsize(self.picture), 20000)

    def test_sink_applies_it(self):
        """A recording with the calibration applied is flat; one where it is only noted, or was
        applied before, is as it was."""
        for how in ("apply", "note", "applied"):
            path = self.path(f"{how}.uvh5")
            Correlator(path, 20000, seed=2, calibration=self.made, calibrate=how).observe()
            values, keywords = visibilities(path)
            self.assertIn("noise", keywords["CALIB"])
            self.assertIn(self.made, keywords["CALIB"])
            self.assertEqual(
                keywords["CALSTATE"],
                {
                    "apply": "applied to the visibilities",
                    "note": "not applied",
                    "applied": "applied by the F-engine",
                }[how],
            )
            _, err = self.calibrate(path, "-o", self.path("left.yml"))
            self.assertEqual("what is left after it" in err, how != "note")
            if how == "apply":
                left = aperture.load_calibration(self.path("left.yml"))
                np.testing.assert_allclose(left.delays(), 0, atol=0.2e-9)
                # the flux is the model's unit: the noise of 20000 and of 60000 spectra
                np.testing.assert_allclose(values[:, 1:], 1, atol=0.05)
                self.assertLess(np.abs(np.angle(values[:, 1:], deg=True)).max(), 1)
                mean = values
            else:
                calibration = aperture.load_calibration(self.made)
                corrections = calibration.corrections(frequencies_of(CHANNELS))
                a, b = np.array([[0, 1], [0, 2], [1, 2]]).T
                np.testing.assert_allclose(
                    values * corrections[b] * corrections[a].conj(), mean, rtol=1e-5
                )

    def test_wrong_parameters_of_the_sink(self):
        for options, text in (
            (dict(calibrate="maybe"), "calibrate: 'maybe' is not allowed; it must be apply, "),
            (dict(scale="Jy"), "scale: 'Jy' is not allowed"),
            (dict(gains=[1, 2]), "gains: .* a factor above 0 for each of 3"),
            (dict(gains=[1, 2, 0]), "gains: "),
            (dict(calibration=self.made, scale="kelvin"), "kelvin is not known for input Ax"),
            (dict(calibration=self.made, array="two-dish"), None),
        ):
            array = options.pop("array", bench())
            if text is None:
                aperture.uvh5_sink(self.path("x.uvh5"), array, CHANNELS, **options)
                continue
            with self.assertRaisesRegex(ValueError, text):
                aperture.uvh5_sink(self.path("x.uvh5"), array, CHANNELS, **options)
        with self.assertRaisesRegex(ValueError, "has no input 'N1x'"):
            aperture.uvh5_sink(self.path("x.uvh5"), "y8", CHANNELS, calibration=self.made)

    def test_other_channels_end_the_flowgraph(self):
        """A calibration of another band is an error that says which, before a file is begun."""
        calibration = aperture.load_calibration(self.made)
        calibration.band = type(calibration.band)(1.5e9, 62500.0, CHANNELS)
        correlator = Correlator(self.path("other.uvh5"), 1000, calibration=calibration)
        correlator.run()
        self.assertIn(
            "the calibration is for 32 channels of 62.5 kHz from 1500 to 1501.9375 MHz",
            correlator.sink.error(),
        )
        self.assertFalse(os.path.exists(self.path("other.uvh5")))

    def test_gains_for_8_bits(self):
        """Gains for 8 bits are noted, and the calibration is that of the inputs before them."""
        path = self.path("levels.uvh5")
        levels = np.array([3.0, 20.0, 0.5])
        frequencies = frequencies_of(45)
        array = array_of("ABC")
        gains, _ = hidden_gains(3, 45)
        rng = np.random.default_rng(3)
        products = products_of(
            gains * levels[:, None], [(50.0, np.zeros(3))], frequencies, 4000, rng
        )
        write_observation(
            path, array, frequencies, [products], 4000, keywords={"GAINS": "Ax:3 Bx:20 Cx:0.5"}
        )
        self.calibrate(path, "-o", self.path("levels.yml"))
        calibration = aperture.load_calibration(self.path("levels.yml"))
        product = np.abs(calibration.corrections(frequencies, ["Ax", "Bx", "Cx"]) * gains)
        np.testing.assert_allclose(product * np.sqrt(50), 1, atol=0.04)
        with h5py.File(path, "r+") as file:
            del file["Header/extra_keywords/GAINS"]
            file["Header/extra_keywords/GAINS"] = np.bytes_("Ax:3 Bx")
        self.assertIn(
            "GAINS has 'Bx', which is no gain", self.refused(path, "-o", self.path("levels.yml"))
        )

    def test_janskys(self):
        """
        After a model with fluxes in Jy visibilities are in Jy, and the file says so; it does not
        of other models, and not of what is only noted.
        """
        model = self.path("model.yml")
        with open(model, "w") as file:
            file.write("sources:\n  - {name: s, azimuth: 0, elevation: 90, flux: 300}\n")
        made, other = self.path("jansky.yml"), self.path("array.yml")
        self.calibrate(
            self.raw, "-o", made, "--source", model, "--uvcal", self.path("jansky.calh5")
        )
        for name in (made, self.path("jansky.calh5")):
            self.assertEqual(aperture.load_calibration(name).unit, "Jy")
        with h5py.File(self.path("jansky.calh5")) as file:
            self.assertEqual(file["Header/gain_scale"][()], b"Jy")
        # fluxes of an array are in units of the receivers' noise
        save_array(bench(), other)
        self.calibrate(self.raw, "-o", self.path("other.yml"), "--source", other)
        for calibration, how, unit in (
            (made, "apply", "Jy"),
            (made, "note", "uncalib"),
            (self.path("other.yml"), "apply", "uncalib"),
        ):
            path = self.path("janskys.uvh5")
            Correlator(path, 10000, seed=2, calibration=calibration, calibrate=how).observe()
            with h5py.File(path) as file:
                self.assertEqual(file["Header/vis_units"][()].decode(), unit)
                self.assertEqual("pol_convention" in file["Header"], unit == "Jy")
            if unit == "Jy":
                # 10000 spectra and 30 times the receiver's noise give a percent
                np.testing.assert_allclose(visibilities(path)[0][:, 1:], 300, rtol=0.06)

    def test_washed_out(self):
        """Integrations that are longer than a fringe are named as the cause; tracked, or short
        ones, have nothing to be told."""
        array, frequencies = array_of("ABCD", spread=2000.0), frequencies_of(5)
        path, start = self.path("long.uvh5"), 1704067200
        star = aperture.parse_direction("23:23:24 +58:48:54")
        a, b = np.tril_indices(4)
        for length, center, cause in ((15.0, None, True), (0.05, None, False), (15.0, star, False)):
            products = []
            for number in range(4):
                moments = start + number * length + (np.arange(40) - 19.5) / 40 * length
                if center is not None:  # the F-engine followed it: delays are those of the middle
                    moments = moments[19:21].mean(keepdims=True)
                sums = 0
                for moment in moments:
                    place = geometry.radec_to_azel(star.ra, star.dec, moment, 52.0, 5.0, 10.0)
                    phasors = np.exp(
                        -2j * np.pi * np.outer(frequencies, delays_towards(array, *place))
                    )
                    sums = sums + phasors[:, a] * phasors[:, b].conj() / len(moments)
                if center is not None:
                    sums = np.ones_like(sums)
                sums[:, a == b] = 1.01
                products.append(sums)
            spectra = int(length * WIDTH)
            if center is None:
                write_observation(path, array, frequencies, products, spectra, step=length)
            else:
                layout = Uvh5Layout(array, frequencies, WIDTH, tracked=center)
                write_file(
                    path,
                    layout,
                    [
                        layout.integration(
                            each.astype(np.complex64),
                            2440587.5 + (start + i * length) / 86400,
                            spectra,
                            [spectra],
                            1 / WIDTH,
                        )
                        for i, each in enumerate(products)
                    ],
                )
            code, _, err = run(
                calibrate, path, "-o", self.path("w.yml"), "--source", "23:23:24 +58:48:54"
            )
            self.assertEqual(
                "an integration of 15 s is" in err
                and "cycles of the fringes" in err
                and "aperture_fx --track" in err,
                cause,
                err,
            )
            self.assertEqual(code, 0, err)

    def test_few_channels(self):
        """A calibration without most channels is refused, unless it is asked for."""
        array, frequencies = array_of("ABC"), frequencies_of(45)
        gains, _ = hidden_gains(3, 45)
        rng = np.random.default_rng(3)
        write_observation(
            self.path("few.uvh5"),
            array,
            frequencies,
            [products_of(gains, [(50.0, np.zeros(3))], frequencies, 4000, rng)],
            4000,
            flagged=range(8, 45),
        )
        made = self.path("few.yml")
        self.assertRegex(
            self.refused(self.path("few.uvh5"), "-o", made),
            r"8\d.* % of the channels could not be measured in polarisation x, at "
            "most 75 % are",
        )
        self.assertFalse(os.path.exists(made))
        self.calibrate(self.path("few.uvh5"), "-o", made, "--most-flagged", 0.9)
        self.assertTrue(os.path.exists(made))

    def loads(self):
        """Recordings with hot and cold loads of receivers of 50, 80 and 120 K, whose gains are
        hidden; and these gains [input][channel]."""
        array, frequencies = array_of("ABC"), frequencies_of(45)
        gains, _ = hidden_gains(3, 45)
        rng = np.random.default_rng(9)
        receivers = np.array([50.0, 80.0, 120.0])
        for name, temperature in (("hot", 295.0), ("cold", 77.0)):
            own = np.sqrt(receivers + temperature)[:, None] * gains
            write_observation(
                self.path(f"{name}.uvh5"),
                array,
                frequencies,
                [products_of(own, [], frequencies, 4000, rng) for _ in range(10)],
                4000,
            )
        return gains, receivers, frequencies

    def write_drift(self, name, antennas="ABCDE", integrations=6, loose=None):
        """
        A noise source whose phase in B drifts by 4 degrees from one integration to the next, and
        is random in `loose`. Returns the path, gains [integration][input][channel], frequencies.
        """
        array, frequencies = array_of(antennas), frequencies_of(9)
        gains, _ = hidden_gains(len(antennas), 9)
        rng = np.random.default_rng(11)
        phases = np.zeros((integrations, len(antennas)))
        phases[:, 1] = np.radians(4) * np.arange(integrations)
        if loose is not None:
            phases[:, antennas.index(loose)] = rng.uniform(-1.2, 1.2, integrations)
        all_gains = gains * np.exp(1j * phases)[..., None]
        products = [
            products_of(each, [(30.0, np.zeros(len(antennas)))], frequencies, 3000, rng)
            for each in all_gains
        ]
        path = self.path(name)
        write_observation(path, array, frequencies, products, 3000)
        return path, all_gains, frequencies

    def test_intervals(self):
        """A calibration for each two integrations follows a phase that drifts."""
        path, gains, frequencies = self.write_drift("drift.uvh5")
        with VisibilityFile(path) as file:
            length = file.times[1] - file.times[0]
        folder = tempfile.mkdtemp(dir=self._folder.name)
        out, err = self.calibrate(
            path, "-o", f"{folder}/cal-{{time}}.yml", "--interval", 2 * 86400 * length
        )
        self.assertIn("3 of 3 intervals: written", out)
        names = sorted(os.listdir(folder))
        self.assertEqual(len(names), 3)
        self.assertEqual(names[0], "cal-20231231T235959Z.yml")
        for number, name in enumerate(names):
            calibration = aperture.load_calibration(os.path.join(folder, name))
            self.assertEqual(
                calibration.references, aperture.load_calibration(f"{folder}/{names[0]}").references
            )
            means = gains[2 * number : 2 * number + 2].sum(axis=0)
            product = calibration.corrections(frequencies) * means
            product *= np.exp(-1j * np.angle(product[:1]))
            # 4 degrees within the interval, 24 in all
            self.assertLess(np.abs(np.angle(product, deg=True)).max(), 2.0)
            begin, end = calibration.measured
            self.assertAlmostEqual((begin + end) / 2, 1704067200.5 + 2 * number, delta=0.01)

    def test_bad_interval(self):
        """An interval without a signal is named, and the others are written."""
        path, _, _ = self.write_drift("bad.uvh5")
        with h5py.File(path, "r+") as file:
            rows = len(file["Header/time_array"]) // 3
            file["Data/flags"][rows : 2 * rows] = True
        folder = tempfile.mkdtemp(dir=self._folder.name)
        out, err = self.calibrate(path, "-o", f"{folder}/{{time}}.yml", "--interval", 2)
        self.assertIn("integrations 2-3, 2024-01-01T00:00:02.000Z: no calibration: ", err)
        self.assertIn("2 of 3 intervals: written", out)
        self.assertEqual(len(os.listdir(folder)), 2)
        with h5py.File(path, "r+") as file:
            file["Data/flags"][:] = True
        self.assertIn(
            "flagged", self.refused(path, "-o", f"{folder}/{{time}}.yml", "--interval", 2)
        )

    def test_named_inputs(self):
        """An input whose clock is not locked, and one of a hundredth of the gain, are named;
        without them the calibration is as good as if they were not there."""
        path, gains, frequencies = self.write_drift("loose.uvh5", "ABCDEFGH", loose="D")
        with h5py.File(path, "r+") as file:
            first, second = (file[f"Header/ant_{n}_array"][()] for n in (1, 2))
            scale = 0.01 ** ((first == 6).astype(int) + (second == 6))
            file["Data/visdata"][:] = file["Data/visdata"][()] * scale[:, None, None]
        _, err = self.calibrate(path, "-o", self.path("loose.yml"), "--integrations", "0-2")
        self.assertRegex(err, "Gx: its gain is 0.0[01][0-9]* times that of the others")
        self.assertRegex(err, "Dx: it correlates with other inputs, but")
        self.assertNotIn("Ax: ", err)
        self.assertNotIn("Cx: ", err)
        _, err = self.calibrate(
            path, "-o", self.path("good.yml"), "--integrations", "0-0", "--leave-out", "Dx,G"
        )
        self.assertNotIn("Dx", err)
        self.assertNotIn("Gx", err)
        calibration = aperture.load_calibration(self.path("good.yml"))
        found = [entry.found for entry in calibration.inputs]
        self.assertEqual(found, [True, True, True, False, True, True, False, True])
        product = (calibration.corrections(frequencies) * gains[0])[found]
        np.testing.assert_allclose(np.angle(product / product[:1]), 0, atol=0.05)
        self.assertIn(
            "leave_out: Z is no input or antenna of Ax, Bx",
            self.refused(path, "-o", self.path("good.yml"), "--leave-out", "Z"),
        )

    def test_intervals_refused(self):
        for options, text in (
            (("--interval", 2), "with --interval there is a calibration for each"),
            (("--interval", 2, "--plot", "x.png"), "{time} is to be in the name"),
        ):
            self.assertIn(text, self.refused(self.raw, "-o", self.path("a.yml"), *options))
        name = self.path("{time}.yml")
        for options in (("--plot", "x.png"), ("--uvcal", "x.calh5"), ("--hot", self.raw, "300")):
            more = ("--cold", self.raw, "10") if options[0] == "--hot" else ()
            err = self.refused(self.raw, "-o", name, "--interval", 2, *options, *more)
            self.assertIn(f"{options[0]}: is for one calibration", err)

    def test_fluxes(self):
        """A calibration by a source with fluxes of Perley and Butler makes Jy."""
        array, frequencies = array_of("ABCD"), frequencies_of(5)
        gains, _ = hidden_gains(4, 5)
        place = aperture.parse_direction("Cas A")
        azimuth, elevation = geometry.radec_to_azel(
            place.ra, place.dec, 1704067200, 52.0, 5.0, 10.0
        )
        source = (40.0, delays_towards(array, azimuth, elevation))
        products = products_of(gains, [source], frequencies, 20000, np.random.default_rng(2))
        path, made = self.path("cas.uvh5"), self.path("cas.yml")
        write_observation(path, array, frequencies, [products], 20000)
        self.calibrate(path, "-o", made, "--source", "Cas A", "--fluxes", "perley-butler-2017")
        calibration = aperture.load_calibration(made)
        self.assertEqual(calibration.unit, "Jy")
        # at 1.42 GHz, by the paper's formula; the gains' mean is 40 for each unit
        x = np.log10(frequencies / 1e9)
        flux = 10 ** (3.3584 - 0.7518 * x - 0.035 * x**2 - 0.071 * x**3)
        power = np.abs(calibration.corrections(frequencies) * gains) ** 2 * 40
        np.testing.assert_allclose(power, np.broadcast_to(flux, power.shape), rtol=0.04)

    def test_kelvin(self):
        """Hot and cold loads give receiver temperatures, and powers in kelvin."""
        gains, receivers, frequencies = self.loads()
        out, _ = self.calibrate(
            *words(
                f"-o {self.path('kelvin.yml')} --hot {self.path('hot.uvh5')} 295 --cold "
                f"{self.path('cold.uvh5')} 77"
            )
        )
        self.assertIn("receiver", out)
        calibration = aperture.load_calibration(self.path("kelvin.yml"))
        # a cold load that is said to be warmer than it was: C has (295 - 2.11 * 220)/1.11 < 0
        _, warnings = self.calibrate(
            *words(
                f"-o {self.path('k.yml')} --hot {self.path('hot.uvh5')} 295 --cold "
                f"{self.path('cold.uvh5')} 220"
            )
        )
        self.assertIn("Ax, Bx, Cx: receivers below 0 K", warnings)
        for name, receiver, gain in zip(["Ax", "Bx", "Cx"], receivers, gains):
            entry = calibration.of(name)
            # 40000 spectra: powers to 0.5 %; a difference of 218 K of 345 K at least
            np.testing.assert_allclose(entry.kelvin * np.abs(gain) ** 2, 1, atol=0.06)
            np.testing.assert_allclose(entry.receiver_temperature, receiver, atol=20)
            self.assertAlmostEqual(np.mean(entry.receiver_temperature), receiver, delta=3)
        # the same recording in two ranges of time
        self.assertIn(
            "does not rise",
            self.refused(
                *words(
                    f"-o {self.path('k.yml')} --hot {self.path('hot.uvh5')} 295 0-4 --cold "
                    f"{self.path('hot.uvh5')} 77 5-9"
                )
            ),
        )
        # beside a source, and into an older calibration
        rng = np.random.default_rng(4)
        path = self.path("source.uvh5")
        source = products_of(gains, [(3000.0, np.zeros(3))], frequencies, 4000, rng, 100.0)
        write_observation(path, array_of("ABC"), frequencies, [source], 4000)
        loads = ("--hot", self.path("hot.uvh5"), 295, "--cold", self.path("cold.uvh5"), 77)
        self.calibrate(path, "-o", self.path("both.yml"), *loads)
        self.calibrate(path, "-o", self.path("first.yml"))
        self.calibrate("--base", self.path("first.yml"), "-o", self.path("second.yml"), *loads)
        both, second = (
            aperture.load_calibration(self.path(name)) for name in ("both.yml", "second.yml")
        )
        self.assertTrue(both.has_kelvin)
        np.testing.assert_allclose(both.corrections(frequencies), second.corrections(frequencies))
        np.testing.assert_allclose(both.inputs[1].kelvin, second.inputs[1].kelvin)
        # a source of 3000 K at all inputs is that after it, and receivers of 100 K are
        corrected = both.apply(source, frequencies, ["Ax", "Bx", "Cx"], "kelvin")
        np.testing.assert_allclose(np.abs(corrected[:, [1, 3, 4]]), 3000, rtol=0.15)
        np.testing.assert_allclose(
            np.mean(np.abs(corrected[:, [0, 2, 5]]), axis=0), 3100, rtol=0.03
        )

    def test_kelvin_in_the_file(self):
        calibration = aperture.load_calibration(self.made)
        for index, entry in enumerate(calibration.inputs):
            object.__setattr__(entry, "kelvin", np.full(CHANNELS, 2.0 + index))
        Correlator(self.path("k.uvh5"), 10000, calibration=calibration, scale="kelvin").observe()
        values, keywords = visibilities(self.path("k.uvh5"))
        self.assertEqual(keywords["VISUNITS"], "K")
        # V sqrt(k_a k_b) and the phase of the correction
        a, b = np.array([[0, 1], [0, 2], [1, 2]]).T
        expected = 30 * np.abs(hidden()[a] * hidden()[b]) * np.sqrt((2 + a) * (2 + b))[:, None]
        np.testing.assert_allclose(values[:, 1:], expected[:, 1:], rtol=0.06)

    def correlate(self, *arguments, output="fx.uvh5"):
        """aperture_fx of the bench, whose filters are left out; means and keywords."""
        save_array(bench(), self.path("bench.yaml"))
        code, out, err = run(
            fx,
            *words(
                f"--input sim:{self.path('bench.yaml')} --channels {CHANNELS} --duration 0.4 "
                f"--device {DEVICE} -o {self.path(output)}"
            ),
            *arguments,
        )
        self.assertEqual((code, err), (0, ""), err)
        return visibilities(self.path(output))

    def test_fx(self):
        """The F-engine applies it to voltages of 8 bits, whatever their gains, and to floating
        point; so does the sink: visibilities are 1."""
        self.correlate(output="bare.uvh5")
        self.calibrate(self.path("bare.uvh5"), "-o", self.path("bare.yml"))
        found = {}
        for by in ("f-engine", "sink", "nobody"):
            for kind in ("sc8", "fc32"):
                values, keywords = self.correlate(
                    *words(
                        f"--calibration {self.path('bare.yml')} --calibrate {by} --format {kind} "
                        "--seed 2"
                    )
                )
                self.assertEqual("GAINS" in keywords, by == "nobody" and kind == "sc8")
                found[by, kind] = values[:, 1:]
                if by != "nobody":
                    # the source's own noise in 25000 spectra: 0.7 %, of both runs; and no phase
                    np.testing.assert_allclose(np.abs(found[by, kind]), 1, atol=0.05)
                    self.assertLess(np.abs(np.angle(found[by, kind], deg=True)).max(), 1)
        self.assertGreater(np.abs(np.angle(found["nobody", "fc32"], deg=True)).max(), 30)
        # whole delays of voltages and their phases in channels of 62.5 kHz are the same
        np.testing.assert_allclose(found["f-engine", "fc32"], found["sink", "fc32"], atol=2e-3)

    def test_plan(self):
        plan = self.path("plan.yml")
        code, _, err = run(
            fx,
            *words(
                "--input sim:two-dish -o x.uvh5 --calibration cal.yml --calibrate sink "
                f"--scale kelvin --write-plan {plan}"
            ),
        )
        self.assertEqual(code, 0, err)
        with open(plan) as file:
            text = file.read()
        self.assertIn('calibration:\n  file: "cal.yml"\n  by: "sink"\n  scale: "kelvin"\n', text)
        code, _, err = run(fx, "--plan", plan)
        self.assertEqual(code, 1)
        self.assertIn("cal.yml: No such file", err)
        with open(plan, "w") as file:
            file.write(text.replace('"sink"', '"me"'))
        code, _, err = run(fx, "--plan", plan)
        self.assertEqual(code, 2)
        self.assertIn("calibration.by: 'me' is not allowed; it must be f-engine, sink, nobody", err)

    def test_fx_errors(self):
        for arguments, text in (
            (("--scale", "kelvin"), "--scale kelvin: needs --calibration"),
            (("--calibration", self.made, "--scale", "kelvin"), "kelvin is not known for input Ax"),
            (("--calibration", self.path("none.yml")), "none.yml: No such file"),
            (("--calibration", self.raw), "not a text file|not YAML"),
            (("--calibration", self._folder.name), "this is a folder"),
            (
                ("--calibration", self.made, "--input", "sim:two-dish"),
                "frequencies: the calibration is for",
            ),
        ):
            save_array(bench(), self.path("bench.yaml"))
            code, _, err = run(
                fx,
                *words(
                    f"--input sim:{self.path('bench.yaml')} --duration 0.1 -o "
                    f"{self.path('none.uvh5')}"
                ),
                *arguments,
            )
            with self.subTest(arguments=arguments):
                self.assertEqual(code, 1)
                self.assertRegex(err, text)
        self.assertFalse(os.path.exists(self.path("none.uvh5")))

    def test_beams(self):
        """A beam on a source, and one beside it: with the calibration of that source as with the
        gains and cables that the description knows, though these are made up where it is used."""
        array = array_of([f"A{i}" for i in range(6)])
        rng = np.random.default_rng(2)
        inputs = [
            Input(entry.antenna, "x", complex(*rng.uniform(0.5, 1.5, 2)), rng.uniform(-1e-7, 1e-7))
            for entry in array.inputs
        ]
        array = replace(
            array,
            inputs=inputs,
            sample_rate=RATE,
            sources=[Source("s", azimuth=130.0, elevation=50.0, flux=4.0)],
        )
        save_array(array, self.path("array.yaml"))
        sim = "sim:" + self.path("array.yaml")
        code, _, err = run(
            fx,
            *words(
                f"--input {sim} --channels {CHANNELS} --duration 0.3 -o "
                f"{self.path('six.uvh5')} --device {DEVICE}"
            ),
        )
        self.assertEqual(code, 0, err)
        self.calibrate(
            self.path("six.uvh5"), "-o", self.path("six.yml"), "--source", "az=130,el=50"
        )
        with open(self.path("beams.yml"), "w") as file:
            file.write(
                "beams:\n- {name: on, azimuth: 130, elevation: 50}\n"
                "- {name: off, azimuth: 300, elevation: 60}\n"
            )
        ratios = []
        for more in ((), ("--calibration", self.path("six.yml"))):
            code, _, err = run(
                beams_command,
                *words(
                    f"--input {sim} --channels {CHANNELS} --duration 0.3 -o {self.path('six.fil')} "
                    f"--beams {self.path('beams.yml')} --integration 0.01 --device {DEVICE}"
                ),
                *more,
            )
            self.assertEqual((code, err), (0, ""), err)
            rows = FilterbankFile(self.path("six.fil")).read()
            ratios.append(np.mean(rows[:, 0], axis=0)[2:-2] / np.mean(rows[:, 1], axis=0)[2:-2])
        self.assertGreater(ratios[0].min(), 5)
        # 19000 spectra: 1 % for each beam
        np.testing.assert_allclose(ratios[1], ratios[0], rtol=0.05)

    def test_what_is_refused(self):
        made = self.path("no.yml")
        for arguments, text in (
            ((self.raw, "-o", self.path("no.txt")), "the name of a calibration ends in .yml"),
            (("-o", made), "a UVH5 file of a source, or --hot and --cold"),
            (("-o", made, "--hot", self.raw, "295"), "--hot and --cold: both are needed"),
            (("-o", made, "--hot", self.raw, "x", "--cold", self.raw, "77"), "x is no temperature"),
            (
                ("-o", made, "--hot", self.raw, "77", "--cold", self.raw, "295"),
                "77 K of the hot load is not above 295 K",
            ),
            (("-o", made, "--hot", self.raw, "--cold", self.raw, "77"), "expected FILE.uvh5"),
            ((self.path("not.uvh5"), "-o", made), "not.uvh5: no such file"),
            ((self.made, "-o", made), "not a readable HDF5 file"),
            ((self.raw, "-o", made, "--source", "sunny"), "source: 'sunny' is not known"),
            ((self.raw, "-o", made, "--source", self.made), "missing: this is not a list of"),
            ((self.raw, "-o", made, "--reference", "Q"), "reference: 'Q' is not allowed"),
            ((self.raw, "-o", made, "--integrations", "0-99"), "--integrations 0-99: the file"),
            ((self.raw, "-o", made, "--integrations", "x"), "expected numbers of integrations"),
            ((self.raw, "-o", made, "--average", "-1"), "expected a whole number"),
            ((self.raw, "-o", made, "--most-misfit", "0"), "expected a number above 0"),
            ((self.raw, "-o", made, "--uvcal", self.path("a.fits")), "ends in .calh5"),
            ((self.raw, "-o", made, "--plot", self._folder.name), "is a folder"),
            (
                (self.raw, "-o", os.path.join(self._folder.name, "no", "cal.yml")),
                "there is no folder",
            ),
            (
                ("-o", made, "--base", self.raw, "--hot", self.raw, "9", "--cold", self.raw, "1"),
                "not a text file|not YAML",
            ),
        ):
            with self.subTest(arguments=[os.path.basename(str(one)) for one in arguments]):
                self.assertRegex(self.refused(*arguments), text)
                self.assertFalse(os.path.exists(made))

    def test_validity(self):
        self.calibrate(
            self.raw, "-o", self.path("valid.yml"), "--valid", 60, "--integrations", "1-3"
        )
        calibration = aperture.load_calibration(self.path("valid.yml"))
        begin, end = calibration.measured
        # integrations of 10000 spectra of 16 us, from the second on
        self.assertAlmostEqual(end - begin, 3 * 0.16, delta=1e-3)
        self.assertAlmostEqual(begin, 1704067200 + 0.16, delta=1e-3)
        np.testing.assert_allclose(calibration.valid, (begin - 60, end + 60), atol=2e-3)


if __name__ == "__main__":
    gr_unittest.run(qa_calibrate)
