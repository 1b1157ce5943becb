#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

import contextlib
import io
import os

import h5py
import matplotlib.pyplot as plt
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import plot
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.plots.plot_flags import lost_of
from gnuradio.aperture.plots.plot_fringes import baseline_figure
from gnuradio.aperture.plots.style import PlotError
from gnuradio.aperture.plots.time_axis import Zone
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import words
from gnuradio.aperture.testing.visibility_files import write_array, write_file


def run(*arguments):
    """Exit code and what went to stderr."""
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr):
        code = plot.main(list(arguments))
    return code, stderr.getvalue()


class qa_plot(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.uvh5 = self.path("a.uvh5")
        self.png = self.path("a.png")

    def tearDown(self):
        plt.close("all")

    # the pictures

    def check_picture(self, columns_at_least, dpi=50):
        """The picture that run() left is there, of the size, and has many colours."""
        picture = plt.imread(self.png)
        self.assertGreaterEqual(picture.shape[1], columns_at_least)
        self.assertLess(max(picture.shape[:2]), 30 * dpi)
        colours = np.unique((picture[..., :3] * 255).astype(np.uint32) @ (65536, 256, 1))
        self.assertGreater(len(colours), 50)
        return picture

    def test_power_has_the_unit_of_the_file(self):
        write_array(self.uvh5, 1, ("xx", "yy", "xy", "yx"))
        for unit, label in (
            ("uncalib", "power (dB, not calibrated)"),
            ("Jy", "power (dB above 1 Jy)"),
        ):
            with h5py.File(self.uvh5, "r+") as file:
                if "vis_units" in file["Header"]:
                    del file["Header/vis_units"]
                file["Header/vis_units"] = np.bytes_(unit)
            with VisibilityFile(self.uvh5) as file:
                figure = plot.make_figure(file)
            self.assertIn(label, [axis.get_ylabel() for axis in figure.axes])

    def test_one_antenna_shows_the_coherence_of_its_polarisations(self):
        frequencies = write_array(self.uvh5, 1, ("xx", "yy", "xy", "yx"), flagged=(5,))
        self.assertEqual(run(self.uvh5, "-o", self.png, "--dpi", "50"), (0, ""))
        self.check_picture(600)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        titles = [axis.get_title() for axis in figure.axes]
        self.assertIn("A1x–A1y", titles)
        lines = [
            line
            for axis in figure.axes
            for line in axis.get_lines()
            if len(line.get_xdata()) == len(frequencies)
        ]
        bandpasses = [line for line in lines if line.get_label() in ("A1x", "A1y")]
        self.assertEqual(len(bandpasses), 2)
        good = np.arange(len(frequencies)) != 5
        for line in bandpasses:
            level = np.asarray(line.get_ydata())
            np.testing.assert_allclose(level[good], 10 * np.log10(50), atol=1e-5)
            self.assertTrue(np.isnan(level[5]))
        correlation = next(axis for axis in figure.axes if axis.get_ylabel() == "correlation")
        shown = np.asarray(correlation.get_lines()[0].get_ydata())
        np.testing.assert_allclose(shown[good], 0.25, atol=1e-6)
        self.assertTrue(np.isnan(shown[5]))

    def test_what_was_flagged_is_shown_where_it_differs_from_channel_to_channel(self):
        write_array(self.uvh5, 3, integrations=8)
        with VisibilityFile(self.uvh5) as file:
            self.assertFalse(lost_of(file).by_channel)
            self.assertFalse(
                [
                    axis
                    for axis in plot.make_figure(file).axes
                    if axis.get_title(loc="left").startswith("Flagged")
                ]
            )
        rng = np.random.default_rng(1)
        with h5py.File(self.uvh5, "r+") as file:
            first, second = (file[f"Header/ant_{i}_array"][()] for i in (1, 2))
            fractions = rng.random(file["Data/nsamples"].shape)
            fractions[:, 7] = 0
            file["Data/nsamples"][...] = fractions
            file["Data/flags"][...] = fractions == 0
        # rows are in order of time
        expected = 1 - fractions[first == second, :, 0].reshape(8, 3, -1).mean(axis=1)
        with VisibilityFile(self.uvh5) as file:
            np.testing.assert_allclose(lost_of(file).lost, expected, atol=1e-6)
            np.testing.assert_allclose(
                lost_of(file, 2).lost, expected.reshape(2, 4, -1).mean(axis=1), atol=1e-6
            )
            shown = [
                axis
                for axis in plot.make_figure(file).axes
                if axis.get_title(loc="left").startswith("Flagged or missing")
            ]
        self.assertEqual(len(shown), 1)
        np.testing.assert_allclose(shown[0].images[0].get_array(), 100 * expected, atol=1e-4)

    def test_waterfalls_have_the_phases_of_the_delays(self):
        frequencies = write_array(self.uvh5, 2, integrations=6, flagged=(9,))
        self.assertEqual(run(self.uvh5, "-o", self.png, "--dpi", "50"), (0, ""))
        self.check_picture(600)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        images = [
            image
            for axis in figure.axes
            for image in axis.get_images()
            if np.shape(image.get_array()) == (6, len(frequencies))
        ]
        self.assertEqual([image.get_cmap().name for image in images], ["viridis", "twilight"])
        amplitude, phase = (np.ma.filled(image.get_array(), np.nan) for image in images)
        good = np.arange(len(frequencies)) != 9
        np.testing.assert_allclose(amplitude[:, good], 0.25, atol=1e-6)
        delays = 30e-9 + 2e-9 * np.arange(6)
        expected = np.exp(-2j * np.pi * np.outer(delays, frequencies))
        rotated = np.angle(np.exp(1j * np.radians(phase)) / expected)
        np.testing.assert_allclose(rotated[:, good], 0, atol=1e-5)
        self.assertTrue(np.all(np.isnan(phase[:, 9])))
        self.assertTrue(any("grey: flagged" in text.get_text() for text in figure.texts))
        # time runs upwards, from the start of the first integration to the end of the last
        self.assertEqual(images[0].origin, "lower")
        np.testing.assert_allclose(images[0].get_extent()[2:], [0, 6], atol=1e-3)

    def test_one_integration_of_several(self):
        write_array(self.uvh5, 2, integrations=6)
        with VisibilityFile(self.uvh5) as file:
            for number in (2, -4):
                figure = plot.make_figure(file, integration=number)
                self.assertTrue(any("integration 2" in text.get_text() for text in figure.texts))
                self.assertFalse(any(axis.get_images() for axis in figure.axes))
            with self.assertRaisesRegex(PlotError, "--integration 6: the file has 6, 0 to 5"):
                plot.make_figure(file, integration=6)

    def test_all_baselines_of_eight_antennas(self):
        write_array(self.uvh5, 8, integrations=3)
        self.assertEqual(run(self.uvh5, "-o", self.png, "--dpi", "50"), (0, ""))
        self.check_picture(1000)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        lags = [axis for axis in figure.axes if axis.get_xlabel().startswith("delay (")]
        self.assertEqual(len(lags), 28)
        titles = {axis.get_title().split("   ")[0] for axis in figure.axes}
        self.assertTrue({f"A{a}x–A{b}x" for b in range(2, 9) for a in range(1, b)} <= titles)

    def test_lag_panels_peak_at_the_delay(self):
        write_array(self.uvh5, 4)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file, baselines="A1-A4")
        axis = next(axis for axis in figure.axes if axis.get_xlabel() == "delay (ns)")
        x, y = axis.get_lines()[0].get_data()
        # 90 ns on a grid of a 200th of the axis
        self.assertLess(abs(x[np.argmax(y)] - 90), x[-1] / 200)
        self.assertAlmostEqual(np.max(y), 0.25, delta=0.0005)
        # the peak is named; splines and the parabola are good to a thousandth of its 100 ns
        (name,) = [text.get_text() for text in axis.texts]
        self.assertAlmostEqual(
            float(name.removeprefix("peak at ").removesuffix(" ns")), 90, delta=0.15
        )

    def test_edge_of_the_band(self):
        """The first channel has both ends of the band in it, and counts neither in the lags nor in
        the fringe of a report: that would be 98 ns for 101."""
        frequencies = 1415e6 + 37.5e3 * (np.arange(64) - 32)
        data = np.ones((8, 3, 64, 1), complex)
        data[:, 1, :, 0] = 0.9 * np.exp(-2j * np.pi * (frequencies - 1415e6) * 101e-9)
        data[:, 1, 0, 0] = 0.9 * np.cos(2 * np.pi * 1.2e6 * 101e-9)
        write_file(
            self.uvh5,
            data,
            [(0, 0), (0, 1), (1, 1)],
            ["xx"],
            frequencies,
            [(0, 0, 0), (10, 0, 0)],
            8,
        )
        with VisibilityFile(self.uvh5) as file:
            panels = plot.read_panels(file, file.crosses(), None)
            _, fringe = baseline_figure(panels, 0, file.times, None, Zone())
        self.assertLess(abs(fringe.delay - 101e-9), 0.5e-9)
        self.assertAlmostEqual(fringe.period, 1 / 37.5e3)
        self.assertLess(abs(plot.peak_of(panels.delays, panels.lags[0]) - 101e-9), 0.5e-9)

    def test_lag_axes_show_what_the_geometry_allows(self):
        """21 m are 70 ns: with a fifth more and the peak's width of 100 ns, +-184 ns; here the
        peak at 90 ns (of cables, too) is what counts: 208 ns."""
        write_array(self.uvh5, 4)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file, baselines="A1-A4")
        axis = next(axis for axis in figure.axes if axis.get_xlabel() == "delay (ns)")
        self.assertAlmostEqual(axis.get_xlim()[1], 1.2 * 90 + 100, delta=1.2 * 100 / 16)
        # grey is what a source can have
        (grey,) = axis.patches
        corners = grey.get_path().transformed(grey.get_patch_transform()).vertices
        self.assertAlmostEqual(corners[:, 0].max(), 21 / 0.299792458, places=3)

    def test_start_is_where_the_first_integration_begins(self):
        """time_array holds the middles: of integrations of 1 s at 0 s, the start is at -0.5 s."""
        write_array(self.uvh5, 2, integrations=3)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        self.assertTrue(
            any("from 2023-12-31 23:59:59.500 UTC" in text.get_text() for text in figure.texts)
        )

    def test_axes_of_narrow_bands(self):
        """Frequencies stand as they are, without an offset such as +1.42e3 beside the axis."""
        frequencies = 1420.4e6 + 100.0 * np.arange(16)
        data = np.ones((3, 3, 16, 1)) * np.array([1, 0.5, 1])[:, None, None]
        write_file(
            self.uvh5,
            data,
            [(0, 0), (0, 1), (1, 1)],
            ("xx",),
            frequencies,
            [(0, 0, 0), (10, 0, 0)],
            3,
        )
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        figure.canvas.draw()
        shown = [axis for axis in figure.axes if axis.get_xlabel().startswith("frequency")]
        self.assertEqual(len(shown), 2)
        for axis in shown:
            self.assertEqual(axis.xaxis.get_offset_text().get_text(), "")
            self.assertIn("1420.4", "".join(text.get_text() for text in axis.get_xticklabels()))

    def test_of_many_baselines_a_choice_is_shown_and_said(self):
        write_array(self.uvh5, 32, ("xx", "yy", "xy", "yx"), channels=8)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        self.assertTrue(any("28 of 992 baselines" in text.get_text() for text in figure.texts))
        lags = [axis for axis in figure.axes if axis.get_xlabel().startswith("delay (")]
        self.assertEqual(len(lags), 28)

    def test_without_autocorrelations(self):
        frequencies = 1e8 + 1e4 * np.arange(16)
        write_file(
            self.uvh5,
            np.full((1, 1, 16, 1), 3 + 4j),
            [(0, 1)],
            ("xx",),
            frequencies,
            [(0, 0, 0), (5, 0, 0)],
        )
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        axis = next(axis for axis in figure.axes if axis.get_ylabel() == "amplitude")
        np.testing.assert_allclose(axis.get_lines()[0].get_ydata(), 5)

    # errors: one line that names the thing

    def check_error(self, pattern, *arguments):
        code, text = run(*arguments)
        self.assertNotEqual(code, 0)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertRegex(text, "^aperture_plot: error: .*" + pattern)
        self.assertFalse(os.path.exists(self.png))

    def test_errors(self):
        absent = self.path("absent.uvh5")
        self.check_error("absent.uvh5: no such file", absent, "-o", self.png)
        with open(self.uvh5, "w") as file:
            file.write("not HDF5")
        self.check_error("a.uvh5: not a readable HDF5 file", self.uvh5, "-o", self.png)
        with h5py.File(self.uvh5, "w") as file:
            file["Header/ant_1_array"] = [0]
        self.check_error("not a UVH5 file: it lacks Header/ant_2_array", self.uvh5, "-o", self.png)
        write_array(self.uvh5, 2)
        for output in ("", "a", ".png", str(self.folder), "a.fil"):
            self.check_error("-o .*: its ending is to be a format: .*png", self.uvh5, "-o", output)
        self.check_error(
            "-o /nowhere/a.png: there is no folder for this file", self.uvh5, "-o", "/nowhere/a.png"
        )
        os.mkdir(self.path("x.ms"))
        self.check_error(
            "x.ms: this is a measurement set, and UVH5 is read here: "
            "aperture_convert .*x.ms .*x.uvh5 makes",
            self.path("x.ms/"),
            "-o",
            self.png,
        )
        self.check_error(f"{self.folder}: this is a folder", str(self.folder), "-o", self.png)
        self.check_error("--dpi 7: expected 30 to 600", self.uvh5, "-o", self.png, "--dpi", "7")
        self.check_error(
            "--baselines B-C: no such baseline.*A1, A2",
            self.uvh5,
            *words(f"-o {self.png} --baselines B-C"),
        )
        self.check_error(
            "--field 3.0: chooses what is shown of the pattern of an array, not of a UVH5 file",
            self.uvh5,
            *words(f"-o {self.png} --field 3"),
        )
        self.check_error(
            "--integration 0: .*not of filterbank files",
            "a.fil",
            *words(f"-o {self.png} --integration 0"),
        )
        self.check_error(
            "--baselines A-B: .*not of the pattern",
            "best-2",
            *words(f"-o {self.png} --beams 0,90 --baselines A-B"),
        )
        self.check_error(
            "best-2: an array description is drawn with its beams: add --beams, for example",
            "best-2",
            "-o",
            self.png,
        )
        fifo = self.path("fifo.uvh5")
        os.mkfifo(fifo)
        for arguments in ((fifo,), ("best-2", "--beams", fifo)):
            self.check_error(
                "fifo.uvh5: this is a FIFO; .*must be a file", *arguments, "-o", self.png
            )
        self.check_error("-o .*a.jpgx", self.uvh5, "-o", self.png[:-3] + "jpgx")
        self.check_error("-o /nowhere/a.png", self.uvh5, "-o", "/nowhere/a.png")
        with h5py.File(self.uvh5, "r+") as file:
            del file["Header/time_array"]
            file["Header/time_array"] = np.zeros(2)
        self.check_error("visdata has 3 rows, but time_array has 2", self.uvh5, "-o", self.png)
        with h5py.File(self.uvh5, "r+") as file:
            for name in (
                "Header/ant_1_array",
                "Header/ant_2_array",
                "Header/time_array",
                "Data/visdata",
                "Data/flags",
                "Data/nsamples",
            ):
                empty = file[name][:0]
                del file[name]
                file[name] = empty
        self.check_error("no integrations", self.uvh5, "-o", self.png)


if __name__ == "__main__":
    gr_unittest.run(qa_plot)
