#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#

import contextlib
import io
import os
import tempfile

import h5py
import matplotlib.pyplot as plt
import numpy as np
from gnuradio import gr_unittest

from gnuradio.aperture.commands import plot
from gnuradio.aperture.files.uvh5_reader import Product, VisibilityFile
from gnuradio.aperture.plots import plot_data
from gnuradio.aperture.plots.plot_data import PlotError

C = 299792458.0
NUMBER = {"xx": -5, "yy": -6, "xy": -7, "yx": -8}
START = 2460310.5  # Julian date of 2024-01-01


def write_file(filename, visibilities, pairs, hands, frequencies, positions, times=1,
               flags=None, nsamples=None):
    """A UVH5 file with just what plots need, written by h5py alone.

    visibilities: [time][pair][channel][hand]; positions: [antenna][3], metres
    """
    shape = np.shape(visibilities)
    rows = (shape[0] * shape[1],) + shape[2:]
    with h5py.File(filename, "w") as file:
        header, data = file.create_group("Header"), file.create_group("Data")
        header["ant_1_array"] = np.array([a for a, _ in pairs] * times)
        header["ant_2_array"] = np.array([b for _, b in pairs] * times)
        header["time_array"] = np.repeat(START + np.arange(times) / 86400, len(pairs))
        header["integration_time"] = np.ones(rows[0])
        header["freq_array"] = frequencies
        header["channel_width"] = np.full(len(frequencies), abs(frequencies[1] - frequencies[0]))
        header["polarization_array"] = np.array([NUMBER[hand] for hand in hands])
        header["antenna_names"] = np.array([b"A%d" % (i + 1) for i in range(len(positions))])
        header["antenna_numbers"] = np.arange(len(positions))
        header["antenna_positions"] = np.asarray(positions, float)
        header["telescope_name"] = np.bytes_("Synthetic")
        data["visdata"] = np.reshape(visibilities, rows).astype(np.complex64)
        data["flags"] = np.zeros(rows, bool) if flags is None else np.reshape(flags, rows)
        data["nsamples"] = (np.ones(rows) if nsamples is None
                            else np.reshape(nsamples, rows)).astype(np.float32)


def write_array(filename, antennas, hands=("xx",), channels=48, times=1, correlation=0.25,
                flagged=()):
    """An array in a line, 7 m apart, each antenna 30 ns later than the one before; without
    noise, so that every pair has the correlation given and the phase of its delay. The delay
    grows by 2 ns an integration."""
    frequencies = 1400e6 + (np.arange(channels) - channels // 2) * 10e6 / channels
    pairs = [(a, b) for a in range(antennas) for b in range(a, antennas)]
    data = np.zeros((times, len(pairs), channels, len(hands)), complex)
    for t in range(times):
        for i, (a, b) in enumerate(pairs):
            turn = np.exp(-2j * np.pi * frequencies * (b - a) * (30e-9 + 2e-9 * t))
            for h, hand in enumerate(hands):
                auto = a == b and hand[0] == hand[1]
                data[t, i, :, h] = (1 if auto else correlation * turn) * 50 * np.sqrt(
                    (1 + a) * (1 + b))
    flags = np.zeros(data.shape, bool)
    flags[:, :, list(flagged)] = True
    # A value that would stand out if the flag were not heeded.
    data[flags] = 1e6
    positions = [(7.0 * i, 0, 0) for i in range(antennas)]
    write_file(filename, data, pairs, hands, frequencies, positions, times, flags)
    return frequencies


def run(*arguments):
    """Exit code and what went to stderr."""
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr):
        code = plot.main(list(arguments))
    return code, stderr.getvalue()


class qa_plot(gr_unittest.TestCase):

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.uvh5 = os.path.join(self._folder.name, "a.uvh5")
        self.png = os.path.join(self._folder.name, "a.png")

    def tearDown(self):
        plt.close("all")
        self._folder.cleanup()

    # the numbers

    def test_lags_of_a_delay_are_the_dirichlet_kernel(self):
        channels, width, delay = 31, 12.5e3, 7.3e-6
        spectrum = 0.4 * np.exp(-2j * np.pi * width * np.arange(channels) * delay + 1j)
        delays, found = plot_data.lags(spectrum, width)
        x = np.pi * width * (delays - delay)
        expected = 0.4 * np.abs(np.sin(channels * x) / (channels * np.sin(x)))
        # float64 FFT of 248 points
        np.testing.assert_allclose(np.abs(found), expected, atol=1e-12)
        self.assertLess(abs(delays[np.argmax(np.abs(found))] - delay), 1 / (16 * channels * width))

    def test_lags_leave_flagged_channels_out(self):
        spectrum = np.full(20, 0.5 + 0j)
        spectrum[[3, 4, 11]] = np.nan
        delays, found = plot_data.lags(spectrum, 1e3)
        self.assertAlmostEqual(abs(found[np.flatnonzero(delays == 0)[0]]), 0.5, places=12)
        self.assertTrue(np.all(np.isfinite(found)))
        self.assertFalse(np.any(plot_data.lags(np.full(20, np.nan + 0j), 1e3)[1]))

    def test_lags_over_time_are_a_root_mean_square(self):
        random = np.random.default_rng(1)
        values = random.normal(size=(3, 7, 40000)) + 1j * random.normal(size=(3, 7, 40000))
        delays, found = plot_data.root_mean_square_lags(values, 100.0)
        whole = np.sqrt(np.mean(np.abs(plot_data.lags(values[1], 100.0)[1])**2, axis=0))
        np.testing.assert_allclose(found[1], whole, rtol=1e-10)
        # Fringes that turn by half a circle an integration must not cancel.
        values = np.ones((1, 4, 16)) * np.array([1, -1, 1, -1])[:, None] + 0j
        delays, found = plot_data.root_mean_square_lags(values, 1.0)
        self.assertAlmostEqual(found[0][np.flatnonzero(delays == 0)[0]], 1.0, places=12)

    def test_coherence_and_decibels(self):
        found = plot_data.coherence(np.array([3 + 4j, 1, 1]), np.array([25.0, 0, np.nan]),
                                    np.array([4.0, 1, 1]))
        self.assertAlmostEqual(found[0], 0.3 + 0.4j)
        self.assertTrue(np.all(np.isnan(found[1:])))
        levels = plot_data.decibels([100.0, 0.5, 0.0, -1.0])
        np.testing.assert_allclose(levels[:2], [20, -3.0103], atol=1e-4)
        self.assertTrue(np.all(np.isnan(levels[2:])))

    def test_reading_averages_by_weight(self):
        random = np.random.default_rng(2)
        pairs, hands, times, channels = [(0, 0), (0, 1), (1, 1)], ("xx", "xy"), 7, 5
        shape = (times, len(pairs), channels, len(hands))
        data = random.normal(size=shape) + 1j * random.normal(size=shape)
        flags, nsamples = random.random(shape) < 0.3, random.random(shape)
        flags[:, 1, 2, 1] = True
        write_file(self.uvh5, data, pairs, hands, 1e6 + 1e3 * np.arange(channels),
                   [(0, 0, 0), (1, 0, 0)], times, flags, nsamples)
        with VisibilityFile(self.uvh5) as file:
            values, middles = file.read([Product(0, 1, "xy"), Product(1, 1, "xx")], max_times=3)
        bins = [[0, 1, 2], [3, 4], [5, 6]]
        for index, (pair, hand) in enumerate([(1, 1), (2, 0)]):
            weights = np.where(flags, 0, nsamples)[:, pair, :, hand]
            for b, members in enumerate(bins):
                w = weights[members]
                with np.errstate(invalid="ignore"):
                    mean = (w * data[members, pair, :, hand]).sum(0) / w.sum(0)
                # the file holds complex64
                np.testing.assert_allclose(values[index, b], np.where(w.sum(0) > 0, mean, np.nan),
                                           atol=1e-6)
        self.assertTrue(np.all(np.isnan(values[0, :, 2])))
        # Julian dates resolve 40 us
        np.testing.assert_allclose((middles - START) * 86400, [1, 3.5, 5.5], atol=1e-4)

    def test_descending_frequencies_and_integers(self):
        write_array(self.uvh5, 2)
        with VisibilityFile(self.uvh5) as file:
            ascending = file.read([Product(0, 1, "xx")])[0]
        with h5py.File(self.uvh5, "r+") as file:
            frequencies = file["Header/freq_array"][:][::-1]
            data = file["Data/visdata"][:][:, ::-1]
            integers = np.zeros(data.shape, [("r", "<i4"), ("i", "<i4")])
            integers["r"], integers["i"] = np.rint(data.real), np.rint(data.imag)
            del file["Header/freq_array"], file["Data/visdata"]
            file["Header/freq_array"], file["Data/visdata"] = frequencies, integers
        with VisibilityFile(self.uvh5) as file:
            self.assertTrue(np.all(np.diff(file.frequencies) > 0))
            # rounded to integers
            np.testing.assert_allclose(file.read([Product(0, 1, "xx")])[0], ascending, atol=0.71)

    def test_matrix_has_correlation_and_phase_at_band_centre(self):
        frequencies = write_array(self.uvh5, 3, ("xx", "yy", "xy", "yx"), channels=50,
                                  correlation=0.2)
        centre = (frequencies[0] + frequencies[-1]) / 2
        with VisibilityFile(self.uvh5) as file:
            matrix, inputs = plot_data.correlation_matrix(file, 0)
        self.assertEqual(inputs, [(a, p) for a in range(3) for p in "xy"])
        for i, (a, _) in enumerate(inputs):
            for j, (b, _) in enumerate(inputs[:i]):
                # The grid of lags has steps of a half: it misses the peak by at most a quarter
                # of the resolution, where the Dirichlet kernel is 0.90
                self.assertLess(abs(abs(matrix[j, i]) - 0.19), 0.011)
                phase = np.angle(matrix[j, i] * np.exp(2j * np.pi * centre * 30e-9 * (a - b)))
                self.assertLess(abs(phase), 1e-4)
                self.assertEqual(matrix[i, j], np.conj(matrix[j, i]))
        np.testing.assert_allclose(np.diag(matrix), 1, atol=1e-6)

    def test_products_by_name(self):
        write_array(self.uvh5, 3, ("xx", "yy", "xy", "yx"))
        with VisibilityFile(self.uvh5) as file:
            self.assertEqual(plot_data.find_products(file, "A1-A3, A3y-A2x"),
                             [Product(0, 2, "xx"), Product(0, 2, "yy"), Product(1, 2, "xy")])
            self.assertEqual(plot_data.find_products(file, "A3-A1"),
                             [Product(0, 2, "xx"), Product(0, 2, "yy")])
            self.assertEqual(plot_data.find_products(file, "A2-A2"), [Product(1, 1, "xy")])
            self.assertEqual(file.label(Product(1, 2, "xy")), "A2x–A3y")
            self.assertEqual(file.length(Product(0, 2, "xx")), 14)
            for wrong in ("A1-A4", "A1", "", "A1x-A2"):
                with self.assertRaisesRegex(PlotError, "--baselines"):
                    plot_data.find_products(file, wrong)
            chosen = plot_data.spread(file.crosses(), 4, file)
        lengths = [abs(product.first - product.second) for product in chosen]
        self.assertEqual((len(chosen), lengths[0], lengths[-1]), (4, 1, 2))

    # the pictures

    def check_picture(self, columns_at_least, dpi=50):
        """The picture that run() left is there, of the size, and has many colours."""
        picture = plt.imread(self.png)
        self.assertGreaterEqual(picture.shape[1], columns_at_least)
        self.assertLess(max(picture.shape[:2]), 30 * dpi)
        colours = np.unique((picture[..., :3] * 255).astype(np.uint32) @ (65536, 256, 1))
        self.assertGreater(len(colours), 50)
        return picture

    def test_one_antenna_shows_the_coherence_of_its_polarisations(self):
        frequencies = write_array(self.uvh5, 1, ("xx", "yy", "xy", "yx"), flagged=(5,))
        self.assertEqual(run(self.uvh5, "-o", self.png, "--dpi", "50"), (0, ""))
        self.check_picture(600)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        titles = [axis.get_title() for axis in figure.axes]
        self.assertIn("A1x–A1y", titles)
        lines = [line for axis in figure.axes for line in axis.get_lines()
                 if len(line.get_xdata()) == len(frequencies)]
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

    def test_waterfalls_have_the_phases_of_the_delays(self):
        frequencies = write_array(self.uvh5, 2, times=6, flagged=(9,))
        self.assertEqual(run(self.uvh5, "-o", self.png, "--dpi", "50"), (0, ""))
        self.check_picture(600)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        images = [image for axis in figure.axes for image in axis.get_images()
                  if np.shape(image.get_array()) == (6, len(frequencies))]
        self.assertEqual([image.get_cmap().name for image in images], ["viridis", "twilight"])
        amplitude, phase = (np.ma.filled(image.get_array(), np.nan) for image in images)
        good = np.arange(len(frequencies)) != 9
        np.testing.assert_allclose(amplitude[:, good], 0.25, atol=1e-6)
        delays = 30e-9 + 2e-9 * np.arange(6)
        expected = np.exp(-2j * np.pi * np.outer(delays, frequencies))
        turned = np.angle(np.exp(1j * np.radians(phase)) / expected)
        np.testing.assert_allclose(turned[:, good], 0, atol=1e-5)
        self.assertTrue(np.all(np.isnan(phase[:, 9])))
        self.assertTrue(any("grey: flagged" in text.get_text() for text in figure.texts))
        # time runs upwards, from half an integration before the first middle to one after
        self.assertEqual(images[0].origin, "lower")
        np.testing.assert_allclose(images[0].get_extent()[2:], [-0.5, 5.5], atol=1e-3)

    def test_one_integration_of_several(self):
        write_array(self.uvh5, 2, times=6)
        with VisibilityFile(self.uvh5) as file:
            for number in (2, -4):
                figure = plot.make_figure(file, integration=number)
                self.assertTrue(any("integration 2" in text.get_text() for text in figure.texts))
                self.assertFalse(any(axis.get_images() for axis in figure.axes))
            with self.assertRaisesRegex(PlotError, "--integration 6: the file has 6, 0 to 5"):
                plot.make_figure(file, integration=6)

    def test_all_baselines_of_eight_antennas(self):
        write_array(self.uvh5, 8, times=3)
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
        # 90 ns on a grid of an eighth of 100 ns
        self.assertLess(abs(x[np.argmax(y)] - 90), 100 / 16)
        self.assertAlmostEqual(np.max(y), 0.25, delta=0.005)

    def test_of_many_baselines_a_choice_is_shown_and_said(self):
        write_array(self.uvh5, 32, ("xx", "yy", "xy", "yx"), channels=8)
        self.assertEqual(run(self.uvh5, "-o", self.png, "--dpi", "50"), (0, ""))
        self.check_picture(1000)
        with VisibilityFile(self.uvh5) as file:
            figure = plot.make_figure(file)
        self.assertTrue(any("28 of 992 baselines" in text.get_text() for text in figure.texts))
        lags = [axis for axis in figure.axes if axis.get_xlabel().startswith("delay (")]
        self.assertEqual(len(lags), 28)

    def test_without_autocorrelations(self):
        frequencies = 1e8 + 1e4 * np.arange(16)
        write_file(self.uvh5, np.full((1, 1, 16, 1), 3 + 4j), [(0, 1)], ("xx",), frequencies,
                   [(0, 0, 0), (5, 0, 0)])
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
        absent = os.path.join(self._folder.name, "absent.uvh5")
        self.check_error("absent.uvh5: no such file", absent, "-o", self.png)
        with open(self.uvh5, "w") as file:
            file.write("not HDF5")
        self.check_error("a.uvh5: not a readable HDF5 file", self.uvh5, "-o", self.png)
        with h5py.File(self.uvh5, "w") as file:
            file["Header/ant_1_array"] = [0]
        self.check_error("not a UVH5 file: it lacks Header/ant_2_array", self.uvh5, "-o", self.png)
        write_array(self.uvh5, 2)
        for output in ("", "a", ".png", self._folder.name, "a.fil"):
            self.check_error("-o .*: its ending is to be a format: .*png", self.uvh5, "-o", output)
        self.check_error("-o /nowhere/a.png: there is no folder for this file", self.uvh5, "-o",
                         "/nowhere/a.png")
        self.check_error(f"{self._folder.name}: is a folder", self._folder.name, "-o", self.png)
        self.check_error("--dpi 7: expected 30 to 600", self.uvh5, "-o", self.png, "--dpi", "7")
        self.check_error("--baselines B-C: no such baseline.*A1, A2", self.uvh5, "-o", self.png,
                         "--baselines", "B-C")
        self.check_error("--field 3.0: chooses what is shown of the pattern of an array, not of a UVH5 "
                         "file", self.uvh5, "-o", self.png, "--field", "3")
        self.check_error("--integration 0: .*not of filterbank files", "a.fil", "-o", self.png,
                         "--integration", "0")
        self.check_error("--baselines A-B: .*not of the pattern", "best-2", "-o", self.png,
                         "--beams", "0,90", "--baselines", "A-B")
        self.check_error("best-2: .*that --beams says", "best-2", "-o", self.png)
        self.check_error("-o .*a.jpgx", self.uvh5, "-o", self.png[:-3] + "jpgx")
        self.check_error("-o /nowhere/a.png", self.uvh5, "-o", "/nowhere/a.png")
        with h5py.File(self.uvh5, "r+") as file:
            del file["Header/time_array"]
            file["Header/time_array"] = np.zeros(2)
        self.check_error("visdata has 3 rows, but time_array has 2", self.uvh5, "-o", self.png)
        with h5py.File(self.uvh5, "r+") as file:
            for name in ("Header/ant_1_array", "Header/ant_2_array", "Header/time_array",
                         "Data/visdata", "Data/flags", "Data/nsamples"):
                empty = file[name][:0]
                del file[name]
                file[name] = empty
        self.check_error("no integrations", self.uvh5, "-o", self.png)


if __name__ == '__main__':
    gr_unittest.run(qa_plot)
