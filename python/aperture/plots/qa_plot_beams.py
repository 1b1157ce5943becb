#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The plots that aperture_plot makes of the files of aperture_beams."""

import os
import shutil
import struct
import warnings
from dataclasses import replace

import numpy as np
from gnuradio import gr_unittest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.image import imread

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.commands import plot
from gnuradio.aperture.formats.filterbank.reader import FilterbankFile
from gnuradio.aperture.plots import plot_beams
from gnuradio.aperture.testing.observations import Observations, array_of, run, words


class qa_plot_beams(Observations, gr_unittest.TestCase):
    def test_pictures(self):
        two = self.array(letters="xy")
        self.observe(
            *words("--beams grid:az=170,el=55,columns=3,spacing=2 --products IQUV"),
            source=two,
            output="{beam}.fil",
        )
        self.observe("--beams", "grid:az=170,el=55,columns=4,rows=3,spacing=2", source=two)
        for files, names, shape in (
            (["beam_0.fil"], ["beam 0"], (4, 32)),
            (["beam_1.fil", "beam_2.fil"], ["beam 1", "beam 2"], (4, 32)),
            (["out.fil"], [f"beam {i}" for i in range(12)], (1, 32)),
        ):
            found, powers, seconds, _ = plot_beams.read_beams(map(self.path, files))
            self.assertEqual((found, powers.shape[2:]), (names, shape))
            self.assertEqual(len(seconds), powers.shape[1])
            for number, name in enumerate(files):
                file = FilterbankFile(self.path(name)).read()
                np.testing.assert_allclose(powers[number], file[:, : powers.shape[2]], rtol=1e-6)
        # several files with several beams each
        shutil.copy(self.path("out.fil"), self.path("more.fil"))
        found, powers, _, _ = plot_beams.read_beams([self.path("out.fil"), self.path("more.fil")])
        self.assertEqual(
            found, [f"{name}.fil: beam {i}" for name in ("out", "more") for i in range(12)]
        )
        np.testing.assert_array_equal(powers[:12], powers[12:])
        self.assertFalse(np.array_equal(powers[0], powers[1]))
        png = self.path("a.png")
        for arguments in (
            [self.path("beam_0.fil")],
            [self.path(f"beam_{i}.fil") for i in range(3)],
            [self.path("out.fil")],
            [self.path("array.yaml"), "--beams", "grid:az=170,el=55,width=3"],
            ["y8", "--beams", "grid:az=0,el=80", "--field", "0.2"],
        ):
            code, _, err = run(plot, *arguments, "-o", png)
            self.assertEqual((code, err), (0, ""))
            self.assertGreater(os.path.getsize(png), 20000)
            # nothing is cut off at the edge
            pixels = imread(png)[..., :3]
            for edge in (pixels[:5], pixels[-5:], pixels[:, :5], pixels[:, -5:]):
                self.assertEqual(edge.min(), 1, arguments)
            os.unlink(png)
        # many beams, some of them outside of the picture, and no warnings of that
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plt.close(
                plot_beams.pattern_figure(
                    "y8", "grid:az=0,el=80,columns=15,rows=13,spacing=0.5", 0.2
                )
            )
            # neither a field nor an antenna without contours is an error
            plt.close(plot_beams.pattern_figure("y8", "grid:az=0,el=80", 1e-9))
            one = array_of()
            one.antennas, one.inputs = one.antennas[:1], one.inputs[:1]
            save_array(one, self.path("one.yaml"))
            plt.close(plot_beams.pattern_figure(self.path("one.yaml"), "grid:az=0,el=80"))
        for name, change in (
            ("zero.yaml", {"center_frequency": 0.0}),
            ("dead.yaml", {"inputs": [replace(one.inputs[0], gain=0)]}),
        ):
            save_array(replace(one, **change), self.path(name))
        # no beam of a large grid is left out
        figure = plot_beams.pattern_figure(
            "y8", "grid:az=0,el=80,columns=16,rows=16,spacing=0.01", 0.4
        )
        contours = [
            np.concatenate([path.vertices for path in kind.get_paths()])
            for kind in figure.axes[0].collections
            if np.allclose(kind.get_edgecolor(), to_rgba(plot_beams.COLOURS[4]))
        ]
        self.assertEqual(len(contours), 255)
        # around each beam's place, as seen from the first one (whose axes are rotated a little)
        middles = np.array(
            [(contour.max(axis=0) + contour.min(axis=0)) / 2 for contour in contours]
        )
        places = 0.01 * np.stack(np.meshgrid(range(16), range(16)), axis=-1).reshape(-1, 2)[1:]
        np.testing.assert_allclose(middles, places, atol=0.002)
        plt.close(figure)
        # powers that are no numbers leave holes of their size
        for name in ("beam_0.fil", "out.fil"):
            file = FilterbankFile(self.path(name))
            with open(self.path(name), "rb") as opened:
                content = opened.read()
            values = file.read()
            values[3, 0, 5], values[4, 0, :], values[5, 0, 6] = np.nan, np.nan, np.inf
            body = values[..., ::-1].astype("<f4").tobytes()
            with open(self.path("holes.fil"), "wb") as opened:
                opened.write(content[: -len(body)] + body)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                figure = plot_beams.filterbank_figure([self.path("holes.fil")])
            curve = figure.axes[0].lines[0].get_ydata()
            np.testing.assert_array_equal(np.flatnonzero(np.isnan(curve)), [4])
            shown = figure.axes[1].images[0].get_array()
            holes = np.ma.getmaskarray(np.ma.masked_invalid(shown))
            self.assertEqual(holes.sum(), 1 if name == "out.fil" else 2 + 32)
            plt.close(figure)
        # labels of neighbours stand apart
        # (ticks at both ends of the waterfall, and small means of four digits and a sign)
        powers = np.full((100, 4, 32), [[1.0], [-1e-4], [2e-5], [-0.00325]])
        powers *= 1 + 0.01 * np.random.default_rng(1).normal(size=powers.shape)
        figure = plot_beams.one_beam_figure(
            "beam", powers, 0.05 * (np.arange(100) + 0.5), FilterbankFile(self.path("beam_0.fil"))
        )
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        labels = []
        for axes in figure.axes:
            (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
            labels += [
                label.get_window_extent(renderer)
                for axis, begin, end in ((axes.xaxis, left, right), (axes.yaxis, low, high))
                for tick in axis.get_major_ticks()
                if begin <= tick.get_loc() <= end
                for label in (tick.label1, tick.label2)
                if label.get_visible() and label.get_text()
            ]
        self.assertGreater(len(labels), 30)
        for number, one in enumerate(labels):
            for other in labels[:number]:
                self.assertFalse(one.overlaps(other), (one, other))
        plt.close(figure)
        # one integration is a point
        self.observe("--beams", "grid:az=170,el=55", "--integration", 1, source=two)
        curve = plot_beams.filterbank_figure([self.path("out.fil")]).axes[0].lines[0]
        self.assertEqual((len(curve.get_ydata()), curve.get_marker()), (1, "."))
        with open(self.path("out.fil"), "rb") as file:
            content = file.read()
        for name, key, step in (("later.fil", b"tstart", 1e-5), ("above.fil", b"fch1", 1.0)):
            place = content.index(key) + len(key)
            value = struct.pack("<d", struct.unpack_from("<d", content, place)[0] + step)
            with open(self.path(name), "wb") as file:
                file.write(content[:place] + value + content[place + 8 :])
        with open(self.path("bad.fil"), "w") as file:
            file.write("no")
        for arguments, text in (
            ([self.path("bad.fil")], "not a filterbank file"),
            ([self.path("none.fil")], "none.fil"),
            ([self.path("beam_0.fil"), self.path("out.fil")], "other channels"),
            (
                [self.path("out.fil"), self.path("later.fil")],
                "later.fil: begins 0.864 s later than",
            ),
            ([self.path("out.fil"), self.path("above.fil")], "other channels"),
            (["a.uvh5", "b.uvh5"], "one UVH5 file"),
            (
                [self.path("zero.yaml"), "--beams", "grid:az=0,el=80"],
                "zero.yaml: center_frequency is 0",
            ),
            (
                [self.path("dead.yaml"), "--beams", "grid:az=0,el=80"],
                "all inputs of beam 'beam' have a gain of 0",
            ),
            (["y8", "--beams", "grid:ra=0,dec=80"], "azimuth"),
            (["y8", "--beams", "grid:az=0,el=80", "--field", "0"], "--field"),
            (
                [self.path("beam_0.fil"), "--beams", "grid:az=0,el=80"],
                "--beams grid:az=0,el=80 goes with an array description",
            ),
            (["none.yaml", "--beams", "grid:az=0,el=80"], "none.yaml"),
        ):
            code, _, err = run(plot, *arguments, "-o", png)
            self.assertEqual(code, 1)
            self.assertIn(text, err)
            self.assertFalse(os.path.exists(png))


if __name__ == "__main__":
    gr_unittest.run(qa_plot_beams)
