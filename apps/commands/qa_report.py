#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The report of aperture_plot: what it says of delays that are known, with all pictures in it."""

import base64
import os
import re
from html.parser import HTMLParser

import h5py
import numpy as np
from gnuradio import gr_unittest
from matplotlib import pyplot as plt

from gnuradio.aperture.commands import plot
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.plots.plot_fringes import coverage_figure
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run
from gnuradio.aperture.testing.visibility_files import write_array


class Page(HTMLParser):
    """Collects pictures, headings and the texts of cells; every element must be closed."""

    def __init__(self, text):
        super().__init__()
        self.pictures, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.pictures.append(dict(attributes)["src"])
        elif tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.texts.append(data.strip())


class qa_report(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.uvh5, self.html = (self.path(name) for name in ("a<b.uvh5", "r.html"))

    def report(self, *arguments):
        code, _, errors = run(plot, self.uvh5, "-o", self.html, "--dpi", 40, *arguments)
        self.assertEqual((code, errors), (0, ""))
        with open(self.html, encoding="utf-8") as file:
            text = file.read()
        # nothing is loaded from elsewhere
        self.assertEqual(
            re.findall(r"""(?:src|href)=["'](?!data:)|https?:|url\(|<script""", text), []
        )
        page = Page(text)
        self.assertEqual(page.open, [])
        for source in page.pictures:
            kind, _, data = source.partition(",")
            self.assertEqual(kind, "data:image/png;base64")
            self.assertTrue(base64.b64decode(data).startswith(b"\x89PNG"))
        return page

    def test_delays(self):
        """Antennas 30 ns apart, 2 ns more a second at 1400 MHz: the phase falls by 2.8 circles a
        second, which is 0.8 less than 2 (one baseline), and so on."""
        write_array(self.uvh5, 3, ("xx", "yy"), channels=50, integrations=7, flagged=(5,))
        page = self.report("--time-zone", "Asia/Kathmandu")
        for text in (
            "2024-01-01 05:44:59 +0545 to 2024-01-01 05:45:06 +0545",
            "Overview",
            "Fringes",
            "Closure phases",
            "A1x–A2x",
            "a<b.uvh5",
            "2023-12-31 23:59:59.500 to 2024-01-01 00:00:06.500",
        ):
            self.assertIn(text, page.texts)
        # overview, closure phases, three baselines of two polarisations
        self.assertEqual(len(page.pictures), 8)
        row = page.texts[page.texts.index("A1x–A2x") :][:4]
        self.assertEqual(row[1], "7 m")
        delay, rate = map(
            float,
            re.search(r"delay ([\d.]+) ± .* ns, rate ([−\d.]+) ±", row[3])
            .expand(r"\1 \2")
            .replace("−", "-")
            .split(),
        )
        # in the middle of the observation
        self.assertAlmostEqual(delay, 36, delta=0.5)
        self.assertAlmostEqual(rate, 200, delta=6)

    def test_coverage(self):
        """u and v of cross-correlations in wavelengths, and their opposites."""
        frequencies = write_array(self.uvh5, 3)
        with h5py.File(self.uvh5, "a") as file:
            uvw = np.arange(18.0).reshape(6, 3)
            file["Header/uvw_array"] = uvw
        with VisibilityFile(self.uvh5) as file:
            figure = coverage_figure(file)
        line = figure.axes[0].lines[1]
        crosses = uvw[[1, 2, 4]] * frequencies[0] / 299792458
        np.testing.assert_allclose(line.get_xdata(), [*crosses[:, 0], *-crosses[:, 0]])
        np.testing.assert_allclose(line.get_ydata(), [*crosses[:, 1], *-crosses[:, 1]])
        plt.close(figure)
        self.assertIn("u, v coverage", self.report().texts)

    def test_inputs(self):
        """Statistics of the inputs, where the file has them: means weighted by what was there."""
        write_array(self.uvh5, 2)
        self.assertNotIn("Inputs", self.report("--baselines", "A1-A2").texts)
        with h5py.File(self.uvh5, "a") as file:
            group = file.create_group("InputStatistics")
            group["inputs"] = [b"A0x", b"A<1x", b"dead"]
            group["time_array"] = 2460310.5 + np.arange(3) / 86400
            group["spectra"] = [100, 100, 200]
            none = np.nan
            for name, values in (
                ("rms_re", [[20, 3, none]] * 3),
                ("rms_im", [[19, 4, none]] * 3),
                ("kurtosis", [[1, 1, none], [2, 1, none], [1, 4, none]]),
                ("clamped", [[0, 0.01, none]] * 3),
                ("missing", [[0, 0.5, 1], [0, 0.5, 1], [0, 0, 1]]),
            ):
                group[name] = np.array(values, np.float32)
        page = self.report("--baselines", "A1-A2")
        at = page.texts.index("Inputs")
        rows = [text for text in page.texts[at : at + 40] if text]
        for row in (
            ["A0x", "20, 19", "1.250", "1.000, 2.000", "0", "0"],
            # 50, 50 and 200 spectra
            ["A<1x", "3, 4", "3.000", "1.000, 4.000", "1 %", "25 %"],
            ["dead", "-", "-", "-", "-", "100 %"],
        ):
            begin = rows.index(row[0])
            self.assertEqual(rows[begin : begin + 6], row)
        with h5py.File(self.uvh5, "a") as file:
            del file["InputStatistics/clamped"]
        code, _, errors = run(plot, self.uvh5, "-o", self.html)
        self.assertEqual(code, 1)
        self.assertRegex(errors, "damaged, or not a UVH5 file")

    def test_one_integration(self):
        write_array(self.uvh5, 2, integrations=1)
        page = self.report()
        self.assertEqual(len(page.pictures), 2)
        self.assertNotIn("Closure phases", page.texts)
        self.assertRegex(" ".join(page.texts), r"delay 30 ± 1 ns(?!, rate)")

    def test_refuses(self):
        write_array(self.uvh5, 2)
        for arguments, text in (
            ([self.uvh5, self.uvh5], "a report is of one UVH5 file"),
            (["a.fil"], "a report is of one UVH5 file"),
            (["y8", "--beams", "grid:az=0,el=80"], "of one UVH5 file"),
            (["none.uvh5"], "none.uvh5: no such file"),
            ([self.uvh5, "--time-zone", "Mars"], "Mars: no such zone"),
        ):
            code, _, errors = run(plot, *arguments, "-o", self.html)
            self.assertEqual(code, 1)
            self.assertIn(text, errors)
            self.assertFalse(os.path.exists(self.html))


if __name__ == "__main__":
    gr_unittest.run(qa_report)
