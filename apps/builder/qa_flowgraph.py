#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Flowgraphs of plans with different sections, and what is in their files."""

import time
from dataclasses import replace
from unittest import mock

import h5py
import numpy as np
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture import delay_tracker
from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.arrays.array_model import Input, Source
from gnuradio.aperture.builder.calibrating import check_switched
from gnuradio.aperture.builder.flowgraph import Flowgraph
from gnuradio.aperture.builder.input import InputFailure
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.parameters.errors import ParameterError
from gnuradio.aperture.plan.fields import BEAMS, FX, OBSERVE
from gnuradio.aperture.plan.yaml_plans import load_plan
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import DEVICE, ON_GPU
from gnuradio.aperture.testing.recordings import small_array

FRONT = {"source", "f_engine"}
CORRELATOR = {"xengine", "snapshot", "visibilities"}
BEAM = {"pointing", "beams"}
VISIBILITIES = "outputs: {file: 'v-{time}.uvh5'}\n"
DIRECTIONS = "directions: 'grid:az=80,el=40'"


class qa_flowgraph(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        gr.logging().set_default_level(gr.log_levels.err)
        save_array(small_array(antennas=3), self.path("array.yml"))

    def plan(self, sections, program=OBSERVE, engines="channels: 32", duration=2):
        path = self.path("plan.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f"input: {{source: 'sim:{self.path('array.yml')}', duration: {duration}}}\n"
                f"engines: {{{engines}}}\n{sections}"
                + (f"device: {{name: '{DEVICE}'}}\n" if "device:" not in sections else "")
            )
        plan = load_plan(path, program)
        plan.check()
        return plan

    def test_sections_say_what_stands_behind(self):
        beams = f"beams: {{{DIRECTIONS}, file: 'b-{{time}}.fil'}}\n"
        for sections, names in (
            (VISIBILITIES, CORRELATOR),
            ("tracking: {direction: 'Cas A'}\n" + VISIBILITIES, CORRELATOR | {"tracker"}),
            (beams, BEAM | {"powers"}),
            (VISIBILITIES + beams, CORRELATOR | BEAM | {"powers"}),
            (
                f"beams: {{{DIRECTIONS}, voltages: 'w-{{time}}-{{beam}}.raw'}}\n",
                BEAM | {"voltage_beams", "beam_voltages"},
            ),
            (
                f"beams: {{{DIRECTIONS}}}\nsearch: {{trials: 'dm=0:1', dump: 'd-{{time}}-{{id}}.dada'}}\n",
                BEAM | {"normalizer", "dedisperser", "search", "candidates", "dumps"},
            ),
            (f"beams: {{{DIRECTIONS}}}\nfold: {{by: '0.3'}}\n", BEAM | {"folder", "profiles"}),
            ("voltages: {file: 'v-{time}-{input}.raw'}\n", {"voltages"}),
            ("ring: {file: 'r-{time}-{id}.dada', seconds: 1}\n", {"ring"}),
        ):
            with self.subTest(sections=sections):
                graph = Flowgraph(self.plan(sections))
                self.assertEqual(FRONT | names, set(graph.named_blocks()))
                graph.release()

    def test_programs_are_presets(self):
        """The same sections make the same, whatever program has them."""
        beams = f"beams: {{{DIRECTIONS}, file: 'b-{{time}}.fil'}}\n"
        for sections, programs in ((VISIBILITIES, (FX, OBSERVE)), (beams, (BEAMS, OBSERVE))):
            first, second = (Flowgraph(self.plan(sections, program)) for program in programs)
            self.assertEqual(first.sizes, second.sizes)
            self.assertEqual(set(first.named_blocks()), set(second.named_blocks()))

    def test_several_devices(self):
        graph = Flowgraph(self.plan("device: {names: 'emulated:0,emulated:1'}\n" + VISIBILITIES))
        self.assertEqual(
            {
                "source",
                "snapshot",
                "visibilities",
                "f_engine0",
                "f_engine1",
                "xengine0",
                "xengine1",
            },
            set(graph.named_blocks()),
        )
        self.assertEqual([(0, 1), (1, 2)], graph.front.f_engines.ranges)
        # without masks, there is one exchange and one join
        self.assertEqual(2, len(graph.correlator.others))

    def test_measured_calibration(self):
        """
        Three receivers of other gains and cables hear one noise source: what is measured while it
        runs is what the simulation hides, and what is written then is flat. 8-bit voltages keep
        their level.
        """
        gains, cables = np.array([1, 0.6 - 0.5j, -1.1 + 0.2j]), np.array([0, 2e-6, -1.5e-6])
        array = make_array(
            dict.fromkeys("ABC", (0.0, 0.0, 0.0)),
            inputs=[Input(n, "x", g, d) for n, g, d in zip("ABC", gains, cables)],
            rate=1e5,
            center=1.42e9,
            name="bench",
            sources=[Source("noise", azimuth=0.0, elevation=90.0, flux=30.0)],
        )
        save_array(array, self.path("array.yml"))
        graph = Flowgraph(
            self.plan(
                "calibration: {measure: noise, integrations: 4}\n"
                f"outputs: {{file: '{self.path('v-{time}.uvh5')}'}}\n",
                engines="channels: 32, integration: 0.1024",
                # on a GPU more of it is on its way when the corrections come
                duration=120 if ON_GPU else 12,
            )
        )
        self.assertEqual(FRONT | CORRELATOR | {"calibrator"}, set(graph.named_blocks()))
        graph.level(lambda _: None, self.fail)
        graph.run()
        self.assertEqual((graph.errors(), graph.problems()), ([], ([], False)))
        block = graph.named_blocks()["calibrator"]
        self.assertEqual(block.measurements(), 1)
        found = block.calibration()
        relative = found.delays() - found.delays()[0]
        np.testing.assert_allclose(relative, -cables, atol=2e-8)
        # the corrections are of voltages, which have the gains for 8 bits
        sizes = np.abs(found.corrections(found.band.frequencies))[:, 1:].mean(axis=1)
        sizes *= np.abs(gains) * graph.gains
        np.testing.assert_allclose(sizes / sizes[0], 1, rtol=0.02)
        products, times = [], []
        for path in graph.files():
            with h5py.File(path) as file:
                products += list(np.reshape(file["Data/visdata"], (-1, 6, 32)))
                times += list(file["Header/time_array"][::6])
        last = np.array(products)[np.argsort(times)][-20:, :, 1:]
        self.assertGreater(len(times), 100)
        names = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        with h5py.File(path) as file:
            pairs = zip(file["Header/ant_1_array"][:6], file["Header/ant_2_array"][:6])
            self.assertEqual([tuple(map(int, pair)) for pair in pairs], names)
        for number, (a, b) in enumerate(names):
            if a != b:
                self.assertLess(np.abs(np.angle(last[:, number].mean(axis=0), deg=True)).max(), 4)
        # an rms of 20 steps of both parts, in units of a step
        for number in (0, 3, 5):
            self.assertAlmostEqual(last[:, number].mean().real, 800, delta=60)

    def test_measured_with_a_switch(self):
        """Outputs that would have the noise source in them without a flag are refused."""
        measured = "calibration: {measure: noise}\n" + VISIBILITIES
        check_switched(self.plan(measured))
        for sections, name in (
            (f"beams: {{{DIRECTIONS}, file: 'b-{{time}}.fil'}}\n", "beams.directions"),
            ("voltages: {file: 'v-{time}-{input}.raw'}\n", "voltages.file"),
            ("ring: {file: 'r-{time}-{id}.dada', seconds: 1}\n", "ring.file"),
            ("flagging: {time_sum_sigma: 6}\n", "flagging.time_sum_sigma"),
            (
                "products: {p: {integration: 0.01, fast: true, file: 'p-{time}.uvh5'}}\n",
                "products.p.integration",
            ),
        ):
            with self.subTest(sections), self.assertRaises(ParameterError) as caught:
                check_switched(self.plan(measured + sections))
            self.assertEqual(caught.exception.field, name)

    def test_tracked_settings_are_not_late(self):
        """However fast samples are made, and on one or several devices, which give the same bits:
        a tracker that takes longer is waited for, and stands in no stream."""
        send = delay_tracker._send

        def slowly(tracker, begin):
            time.sleep(5e-3)
            send(tracker, begin)

        array = small_array(sample_rate=1e4, antennas=3)
        array.antennas = [
            replace(antenna, position=(900.0 * number, 400.0 * number**2, 0.0))
            for number, antenna in enumerate(array.antennas)
        ]
        save_array(array, self.path("array.yml"))
        found = []
        for device in ("{name: 'emulated:0'}", "{names: 'emulated:0,emulated:1'}"):
            path = self.path("v.uvh5")
            graph = Flowgraph(
                self.plan(
                    f"device: {device}\noutputs: {{file: '{path}'}}\n"
                    "tracking: {direction: 'Cas A'}\n",
                    FX,
                    engines="channels: 16, integration: 0.512, gain: 4",
                    duration=61.44,
                )
            )
            graph.level(lambda _: None, lambda _: None)
            with mock.patch.object(delay_tracker, "_send", slowly):
                graph.run()
            self.assertEqual([], graph.errors())
            self.assertGreater(graph.front.tracker.updates(), 5)
            self.assertEqual(graph.front.f_engines.late_settings(), 0)
            with self.assertRaisesRegex(ValueError, "n_output_items"):  # there is no such output
                graph.front.tracker.nitems_written(0)
            with h5py.File(path) as file:
                found.append(file["Data/visdata"][()])
        self.assertEqual(len(found[0]), 6 * 120)
        np.testing.assert_array_equal(found[1], found[0])

    def test_integrations_in_the_files(self):
        """Both are what was asked for within 1 %, and exactly where they are whole spectra: 0.16 ms
        each at 200 kHz."""
        array = small_array(sample_rate=2e5, antennas=3)
        save_array(array, self.path("array.yml"))
        for asked, powers, exact in ((0.5, 0.01, False), (0.48, 0.008, True), (1.0, 0.0016, False)):
            with self.subTest(asked=asked, powers=powers):
                name = self.path(f"v{asked}-{{time}}.uvh5")
                graph = Flowgraph(
                    self.plan(
                        f"outputs: {{file: '{name}'}}\n"
                        f"beams: {{{DIRECTIONS}, file: '{self.path('b-{time}.fil')}', "
                        f"integration: {powers}}}\n",
                        engines=f"channels: 32, integration: {asked}, format: fc32",
                    )
                )
                graph.run()
                self.assertEqual([], graph.errors())
                with h5py.File(graph.correlator.sink.files()[0]) as file:
                    lengths = file["Header/integration_time"][()]
                found = FilterbankFile(graph.beams.sink.files()[0]).header["tsamp"]
                tolerance = 1e-9 if exact else 0.01
                # the last one may be partial, and says its whole length
                np.testing.assert_allclose(lengths, asked, rtol=tolerance)
                np.testing.assert_allclose(found, powers, rtol=tolerance)

    def test_smearing(self):
        """Integrations and channels that average phases out are said with the baseline and what
        would be fine; less than a quarter of a cycle is not."""
        wide = small_array(sample_rate=2e7, antennas=3)
        wide.antennas[2] = aperture.Antenna("A3", (700.0, 40.0, 0.0), diameter=2.0)

        def warnings(engines, tracking="", **first):
            wide.antennas[0] = aperture.Antenna("A1", (0, 0, 0), **first)
            wide.antennas[1] = aperture.Antenna("A2", (15, 0, 0), **first)
            save_array(wide, self.path("array.yml"))
            graph = Flowgraph(self.plan(VISIBILITIES + tracking, FX, engines, duration=200))
            found = graph.warnings
            graph.release()
            return found

        # 7.29e-5 rad/s x 700.4 m (across the pole) x 418 MHz / c: 0.0712 cycles a second
        long = "channels: 1024, integration: 50"
        time, *rest = warnings(long)
        self.assertEqual(rest, [])
        self.assertRegex(
            time,
            # frames are longer on a GPU
            f"^engines.integration {'50.0171' if ON_GPU else '50'} s: .* baseline A1-A3 .* 3.6 cycles .*"
            "tracking.direction follows .* take 1.8 s or",
        )
        # 701.1 m are 2.34 us: 1.46 cycles of 625 kHz
        (band,) = warnings("channels: 32, integration: 0.05")
        self.assertRegex(
            band, "^engines.channels 32: .* baseline A1-A3 .* 1.5 cycles .* 625 kHz, .*tracking.direction follows .* take 512 "
        )
        self.assertEqual(warnings("channels: 256, integration: 3"), [])
        track = "tracking: {direction: 'az=80, el=40'}\n"
        self.assertEqual(warnings("channels: 32, integration: 50", track), [])
        # 0.6 wavelengths over 2 m are 0.22 rad = 13 degrees: 0.22 of the cycles
        time, band = warnings("channels: 32, integration: 50", track, diameter=25.0)
        self.assertRegex(time, "13° from the tracked direction, .* A1-A3 .* 0.78 cycles .*: take 8 s")
        self.assertRegex(band, "13° from .* A1-A3 .* 0.32 cycles .*: take 128 or more")

    def test_refused_by_field(self):
        """The error names the field, its line and what can be had."""
        with self.assertRaisesRegex(
            ParameterError,
            r"plan.yml:4: beams.integration: 0.0005: cannot be had within 1 %: .*expected "
            "0.00032 or 0.00064 s$",
        ):
            Flowgraph(
                self.plan(
                    VISIBILITIES
                    + f"beams: {{{DIRECTIONS}, file: 'b-{{time}}.fil', integration: 0.0005}}\n"
                )
            )

    def test_what_may_be_there_later(self):
        """A receiver that is not there is another failure than an array that is not there."""
        with self.assertRaises(OSError):
            plan = self.plan(VISIBILITIES)
            (self.folder / "array.yml").unlink()
            Flowgraph(plan)
        path = self.folder / "plan.yml"
        path.write_text(f"input: {{source: 'soapy:driver=nowhere'}}\n{VISIBILITIES}")
        with self.assertRaises(InputFailure):
            Flowgraph(load_plan(str(path), OBSERVE))


if __name__ == "__main__":
    gr_unittest.run(qa_flowgraph)
