# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
docs/lab: its commands run and print what the pages say, and the data of each picture obey the
physics that the pages teach.
"""

import contextlib
import copy
import functools
import io
import math
import os
import re
import shlex
import sys
import unittest
from dataclasses import replace
from unittest import mock

import h5py
import numpy as np
import yaml
from gnuradio import aperture, blocks, gr

from gnuradio.aperture.spectrometry import galaxy
from gnuradio.aperture.testing.tiers import long_test
from gnuradio.aperture.testing.visibility_files import write_file
from places import (
    SOURCE,
    controls_without_effect,
    copy_flowgraphs,
    fresh_folder,
    main,
    on_screen_or_fail,
    run_or_fail,
    working_in,
)
from qt_example import load

LAB = SOURCE / "examples/lab"
PAGES = SOURCE / "docs/lab"
sys.path.insert(0, str(LAB))

import drift_scan
import measure
import observing
import pictures
import rotation
import simulated_faults as faults

# sources of fringes.grc, of which those of one kind are enabled
SOURCES = {
    "simulator": ("simulator", "throttle"),
    "file": ("file_0", "file_1"),
    "rtlsdr": ("rtlsdr_0", "rtlsdr_1"),
}
BLUE = f"0,{0x72 / 255},{0xB2 / 255}"  # the first curve of our displays
STEPS = ("noise", "cable", "sun", "tracked")  # pictures of what commands make
#: pictures of the page on hydrogen, which are made of commands, too
HYDROGEN = ("hydrogen", "galaxy", "sun-drift", "gain-drift", "throw")
SPEED_OF_LIGHT, EARTH_RATE = 299792458.0, 7.2921159e-5

# a fault is simulated once, for its numbers and for its picture
for fault in ("clock", "clipped", "swapped", "interference", "crossed", "resolved"):
    setattr(faults, fault, functools.lru_cache(maxsize=None)(getattr(faults, fault)))


def sun(times, longitude):
    """
    Declination and local hour angle of the Sun in radians, after the low-precision formulas of the
    Astronomical Almanac (0.01 degrees).
    """
    days = (np.asarray(times) - 946728000) / 86400  # since 2000-01-01T12:00
    length = 280.460 + 0.9856474 * days
    anomaly = np.radians(357.528 + 0.9856003 * days)
    ecliptic = np.radians(length + 1.915 * np.sin(anomaly) + 0.020 * np.sin(2 * anomaly))
    obliquity = np.radians(23.439 - 4e-7 * days)
    ascension = np.arctan2(np.cos(obliquity) * np.sin(ecliptic), np.cos(ecliptic))
    sidereal = np.radians((18.697374558 + 24.06570982441908 * days) * 15 + longitude)
    return np.arcsin(np.sin(obliquity) * np.sin(ecliptic)), sidereal - ascension


def commands_of(page):
    """The shell commands of a page, which stand there with an indent."""
    text = (PAGES / page).read_text().replace("\\\n", " ")
    return [
        line.strip()
        for line in text.splitlines()
        if re.match(r" {4,}(tools/run|sed) ", line)
        and "gnuradio-companion" not in line
        and "soapy:" not in line
    ]


def printed_on(page):
    """Lines of the outputs that a page shows."""
    text = (PAGES / page).read_text()
    return [
        line
        for block in re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if re.search(r"\d", line) and "─" not in line
    ]


def same_line(told, found):
    """Returns whether two lines differ by no more than the last digits of their numbers."""
    number = r"-?\d+\.?\d*"
    if re.split(number, told) != re.split(number, found):
        return False
    for one, other in zip(re.findall(number, told), re.findall(number, found)):
        last = 10.0 ** -len(one.partition(".")[2])
        if abs(float(one) - float(other)) > 3.001 * last:
            return False
    return True


def size_of(test, path):
    from PIL import Image

    with Image.open(path) as image:
        test.assertEqual(image.mode, "P", path)  # a palette
        return image.size


def check_picture(test, name, folder):
    made = folder / f"{name}.png"
    test.assertEqual(size_of(test, made), size_of(test, PAGES / "pictures" / made.name))
    test.assertGreater(made.stat().st_size, 3000)
    test.assertLess(made.stat().st_size, 60_000)


def compile_flowgraphs(test):
    """All flowgraphs at once: the lab's three, and fringes.grc with its other sources."""
    original = yaml.safe_load((LAB / "fringes.grc").read_text())
    paths = copy_flowgraphs(LAB, test.folder)
    test.assertEqual({path.stem for path in paths}, {"faults", "fringes", "hydrogen"})
    for kind in ("file", "rtlsdr"):
        flowgraph = copy.deepcopy(original)
        for block in flowgraph["blocks"]:
            for other, names in SOURCES.items():
                if block["name"] in names:
                    test.assertEqual(
                        block["states"].get("state", True),
                        True if other == "simulator" else "disabled",
                    )
                    block["states"]["state"] = True if other == kind else "disabled"
        flowgraph["options"]["parameters"]["id"] = f"fringes_{kind}"
        paths.append(test.folder / f"fringes_{kind}.grc")
        paths[-1].write_text(yaml.safe_dump(flowgraph, allow_unicode=True))
    output = run_or_fail(
        test, SOURCE / "tools/run", "grcc", "-o", test.folder, *paths, cwd=test.folder
    )
    test.assertNotIn("rror", output)
    for path in paths:
        made = path.with_suffix(".py")
        test.assertEqual(controls_without_effect(path, made), [], path)


class TestLab(unittest.TestCase):
    """Pages, flowgraphs, and the faults that scripts simulate."""

    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("lab-faults")
        compile_flowgraphs(cls())

    def runTest(self):
        """Lets setUpClass fail with the output of a command."""

    # --- pages ---

    def test_pages(self):
        for page in PAGES.glob("*.md"):
            self.assertLessEqual(len(page.read_text().splitlines()), 300, page.name)
            self.assertLessEqual(max(len(line) for line in page.read_text().splitlines()), 220)
        for name in pictures.PICTURES:
            self.assertTrue(
                any(f"](pictures/{name}.png)" in page.read_text() for page in PAGES.glob("*.md")),
                name,
            )

    def test_committed_pictures(self):
        """The pictures in docs are the ones that the script makes, and small."""
        there = {path.stem: path for path in (PAGES / "pictures").iterdir()}
        self.assertEqual(set(there), set(pictures.PICTURES))
        for path in there.values():
            self.assertLess(path.stat().st_size, 60_000, path.name)

    @long_test
    def test_pictures_of_faults(self):
        for name in set(pictures.PICTURES) - {*STEPS, *HYDROGEN}:
            with self.subTest(name):
                pictures.drawing.save(pictures.PICTURES[name](None), self.folder / f"{name}.png")
                check_picture(self, name, self.folder)

    # --- flowgraphs ---

    def test_sources(self):
        """The flowgraph compiles with dongles and with files in the place of the simulator."""
        for kind in ("file", "rtlsdr"):
            text = (self.folder / f"fringes_{kind}.py").read_text()
            for number in (0, 1):
                self.assertIn(
                    f"self.connect((self.{kind}_{number}, 0), (self.tags_{number}, 0))", text
                )
            self.assertNotIn("self.simulator", text)

    def test_start(self):
        """Scripts start in their own folder, as GNU Radio Companion starts them, and from
        elsewhere: what they read is beside them."""
        from PyQt5 import Qt

        with mock.patch.dict(os.environ, {"QT_QPA_PLATFORM": "offscreen"}):
            application = Qt.QApplication.instance() or Qt.QApplication(["test_lab"])
            for name in ("fringes", "faults"):
                for folder in (self.folder, fresh_folder("lab-elsewhere")):
                    with self.subTest(flowgraph=name, started_in=folder), working_in(folder):
                        window = getattr(load(self.folder / f"{name}.py"), name)()
                        window.start()
                        window.stop()
                        window.wait()
                        application.processEvents()

    # --- measure.py ---

    def test_missing_integrations(self):
        """Integrations of which there is nothing are left out and counted, channels likewise: what
        is measured of the others is as it was."""
        rng = np.random.default_rng(1)
        frequencies, times = 1415e6 + 37.5e3 * (np.arange(64) - 32), np.arange(30)
        coherence = 0.5 * np.exp(
            -2j * np.pi * ((frequencies - 1415e6) * 101e-9 - 0.01 * times[:, None])
        )
        noise = rng.normal(0, 0.005, (2, *coherence.shape))
        data = np.ones((30, 3, 64, 1), complex)
        data[:, 1, :, 0] = coherence + noise[0] + 1j * noise[1]
        flags = np.zeros(data.shape, bool)
        flags[[4, 17]] = True
        flags[:, :, 20] = True
        data[flags] = 0
        path = self.folder / "missing.uvh5"
        write_file(
            path,
            data,
            [(0, 0), (0, 1), (1, 1)],
            ["xx"],
            frequencies,
            [(0, 0, 0), (10, 0, 0)],
            30,
            flags,
        )
        with h5py.File(path, "a") as file:
            for name, value in (("latitude", 52.0), ("longitude", 5.0), ("altitude", 10.0)):
                file["Header"][name] = value
        baseline = observing.read(path)
        self.assertEqual((baseline.missing, len(baseline.times)), (2, 28))
        # the first integration, before the fringe has gone on
        first = replace(
            baseline,
            times=baseline.times[:1],
            cross=baseline.cross[:1],
            powers=baseline.powers[:, :1],
        )
        seconds, error = observing.delay(first)
        self.assertLess(abs(seconds - 101e-9), 4 * error)
        self.assertLess(error, 0.5e-9)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            measure.main([str(path), "--tracked", "-o", str(self.folder / "missing.png")])
        self.assertNotIn("nan", output.getvalue())
        self.assertIn("2 of 30 integrations", output.getvalue())
        rate = re.search(r"fringe rate +(\S+) \+- (\S+) mHz", output.getvalue())
        self.assertLess(abs(float(rate[1]) - 10), 4 * float(rate[2]) + 1e-4)

    # --- the disc ---

    def test_resolved(self):
        """2 J1(x)/x; 194e3 values of each point: 0.005. The points' disc is the formula's within
        0.01."""
        baselines = tuple(range(0, 65, 5))
        found = faults.resolved(0.53, baselines)
        model = np.abs(faults.visibility_of_disc(0.53, baselines, 1415e6))
        np.testing.assert_allclose(found, model, atol=0.02)

    # --- the faults ---

    def test_clock(self):
        """The slope of the phase is the clock's error: 1415 Hz for 1 ppm, within a thousandth; a
        long integration has sin(x)/x of the coherence."""
        for ppm in (0.0, 1.0):
            baseline = faults.clock(ppm)
            mean, times = baseline.mean(), baseline.times - baseline.times[0]
            slope, error, _ = observing.line(times, np.angle(mean))
            self.assertLess(error / (2 * np.pi), 1)
            self.assertLess(abs(-slope / (2 * np.pi) / 1415 - ppm), 1e-3)
            step = times[1] - times[0]
            for count in (3, 5, 10):
                share = np.sinc(1415 * ppm * step * count)
                # 256 samples in an integration, of a coherence of 0.9: 0.02
                self.assertLess(abs(abs(mean[:count].mean()) - abs(share) * 10 / 11), 0.03)
        self.assertLess(abs(mean.mean()), 0.01)

    @long_test
    def test_clipped(self):
        """Power and coherence of clipped noise are Bussgang's: 1.2e6 values, 0.001 of 0.2, and the
        terms of third order in the coherence, 1 %."""
        for rms in np.geomspace(0.2, 3000, 15):
            power, coherence, clamped = faults.clipped(rms)
            model_power, model = faults.clipped_model(rms, 0.2)
            if rms > 3:  # below, steps are rounded, which the formula leaves out
                self.assertLess(abs(power / (model_power + 1 / 6) - 1), 0.01)
                self.assertLess(abs(abs(coherence) / model - 1), 0.025)
            outside = 1 - math.erf(127.5 / rms / math.sqrt(2))
            self.assertLess(abs(clamped - (1 - (1 - outside) ** 2)), 0.004)
        self.assertLess(abs(model - 0.2 * 2 / math.pi), 4e-3)
        self.assertLess(abs(faults.clipped(np.geomspace(0.2, 3000, 15)[0])[1]), 0.1)

    def test_swapped(self):
        """The fringes run backwards, and twice as fast once the expected ones are taken out."""
        right, wrong = faults.swapped()
        model, _ = observing.fringe_rate(right.times, right.expected_phase())
        for baseline, factor in ((right, 1), (wrong, -1)):
            rate, _ = observing.fringe_rate(baseline.times, np.angle(baseline.mean()))
            self.assertLess(abs(rate / model - factor), 1e-3)
            left = baseline.mean() * np.exp(-1j * baseline.expected_phase())
            rate, _ = observing.fringe_rate(baseline.times, np.angle(left))
            self.assertLess(abs(rate / model - (factor - 1)), 1e-3)

    @long_test
    def test_interference(self):
        """One channel has a phase that stands still; the others have the fringes; the mean over
        the band is their circle, moved by that channel's share."""
        coherence = faults.interference().coherence()
        still = np.abs(coherence.mean(axis=0))  # NaN in channel 0
        (bad,) = np.flatnonzero(still > 0.2)
        self.assertEqual(bad, 16 + round(1.22e3 / 250))
        self.assertLess(abs(still[bad] - 0.84), 0.02)
        good = np.delete(coherence[:, 1:], bad - 1, axis=1)
        self.assertLess(abs(np.abs(good.mean(axis=1)).mean() - 0.07 / 1.07), 1e-3)
        self.assertLess(np.abs(good.mean(axis=0)).max(), 0.01)
        self.assertLess(abs(abs(np.nanmean(coherence)) - 0.84 / 31), 2e-3)

    def test_crossed(self):
        """cos of the angle in the co-polar products, sin in the cross-polar: 4.5e5 values: 0.002
        each."""
        for angle in range(0, 91, 10):
            found = faults.crossed(angle)
            cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            for pair, model in (("xx", cosine), ("yy", cosine), ("xy", -sine), ("yx", sine)):
                self.assertLess(abs(found[pair] - model / 2), 0.01, (angle, pair))


class TestHydrogen(unittest.TestCase):
    """The scripts of the page on hydrogen, of spectra that are known."""

    def test_rotation(self):
        """The tangent points of the model have its speed: 220 km/s, within 3 of half an edge."""
        speeds = np.arange(-150.0, 310.0, 1.0)
        for longitude in pictures.LONGITUDES:
            kelvin = 10 + galaxy.brightness(longitude, 0.0, speeds)
            for order in (slice(None), slice(None, None, -1)):
                edge = rotation.fastest(speeds[order], kelvin[order])
                radius, speed = rotation.tangent(longitude, edge, galaxy.SIGMA)
                self.assertAlmostEqual(speed, galaxy.SUN_SPEED, delta=3.0, msg=longitude)
                self.assertAlmostEqual(radius, 8.5 * math.sin(math.radians(longitude)))

    def test_drift(self):
        """A beam of 5 degrees, through which the Sun goes 15 degrees cos(declination) an hour."""
        # 11:42 UTC, the Sun in the south: by the Almanac's formulas
        times = 1718967600 + 2520 + np.arange(-3600.0, 3600.0, 10.0)
        meta = {"latitude_deg": 52.0, "longitude_deg": 5.0, "height_m": 10.0}
        declination, hour_angle = sun(times, 5.0)
        elevation = math.degrees(declination.mean()) + 38.0
        meta["direction"] = f"az 180.000 deg el {elevation:.3f} deg"
        apart = np.degrees(np.angle(np.exp(1j * hour_angle))) * np.cos(declination)
        kelvin = 9.0 + 300 * np.exp(-4 * np.log(2) * (apart / 5.0) ** 2)
        (base, height, width), found = drift_scan.measure(times, kelvin, meta)
        np.testing.assert_allclose((base, height, width), (9.0, 300.0, 5.0), rtol=0.01)
        # a circle of declination and a great circle differ by 0.1 degrees so far away
        np.testing.assert_allclose(found, apart, atol=0.2)

    @long_test
    def test_page(self):
        """The commands of the page print what the page shows, and draw its pictures."""
        folder = fresh_folder("lab-hydrogen")
        text = (PAGES / "hydrogen.md").read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if re.match(r" {4,}(tools/run|for) ", line)]
        script = "\n".join(
            line.strip().replace("tools/run", str(SOURCE / "tools/run"))
            for line in lines
            if not re.search("gnuradio-companion|soapy:", line)
        ).replace("examples/lab", str(LAB))
        output = run_or_fail(self, "sh", "-ec", script, cwd=folder)
        printed = output.splitlines()
        for told in printed_on("hydrogen.md"):
            self.assertTrue(any(same_line(told, found) for found in printed), (told, output))
        for name in ("galaxy", "sun-drift"):
            check_picture(self, name, folder)


@long_test
class TestSteps(unittest.TestCase):
    """Tests of what students type, one page after the other, and what comes of it."""

    @classmethod
    def setUpClass(cls):
        """The commands of all pages, one after the other, as a student types them."""
        cls.folder = fresh_folder("lab")
        os.symlink(SOURCE / "examples", cls.folder / "examples")
        cls.outputs, done, cls.measured = {}, set(), False
        for page in ("index.md", "noise-source.md", "the-sun.md", "exercises.md", "directions.md"):
            cls.outputs[page] = ""
            for command in commands_of(page):
                if command not in done:
                    cls.outputs[page] += cls.typed(command)
                    done.add(command)
        cls.commands = len(done)

    @classmethod
    def typed(cls, command):
        """The output of a command. `measure.py` is started as a program once: that takes longer
        than it does."""
        words = shlex.split(command)
        if words[1:3] == ["python3", "examples/lab/measure.py"] and cls.measured:
            output, here = io.StringIO(), os.getcwd()
            os.chdir(cls.folder)
            try:
                with contextlib.redirect_stdout(output):
                    measure.main(words[3:])
            finally:
                os.chdir(here)
            return output.getvalue()
        cls.measured |= "examples/lab/measure.py" in words
        return run_or_fail(
            cls(),
            "sh",
            "-ec",
            command.replace("tools/run", str(SOURCE / "tools/run")),
            cwd=cls.folder,
        )

    def runTest(self):
        """Lets setUpClass fail with the output of a command."""

    # --- pages ---

    def test_commands(self):
        self.assertGreater(self.commands, 10)

    def test_printed(self):
        """The commands print what the pages show."""
        for page in ("noise-source.md", "the-sun.md", "directions.md"):
            lines = printed_on(page)
            self.assertGreater(len(lines), 3)
            found = self.outputs[page].splitlines()
            for told in lines:
                self.assertTrue(
                    any(same_line(told, line) for line in found),
                    f"{page}: {told}\nis not in:\n{self.outputs[page]}",
                )

    # --- pictures ---

    def test_pictures_of_steps(self):
        """The commands of the pages draw what the script draws; the script draws one of them."""
        for name in STEPS:
            check_picture(self, name, self.folder)
        output = run_or_fail(
            self,
            SOURCE / "tools/run",
            "python3",
            LAB / "pictures.py",
            self.folder / "drawn",
            "noise",
            cwd=self.folder,
        )
        self.assertIn("noise.png", output)
        self.assertNotIn("arning", output)
        check_picture(self, "noise", self.folder / "drawn")

    # --- flowgraphs ---

    def start(self, name, seconds, *said):
        """Runs a flowgraph in a window, at least until this is said; returns what it printed."""
        if not (self.folder / "fringes.py").exists():
            compile_flowgraphs(self)
        output = on_screen_or_fail(
            self,
            SOURCE / "tools/run",
            "python3",
            SOURCE / "tests/qt_example.py",
            self.folder / f"{name}.py",
            seconds,
            self.folder / f"{name}-window.png",
            "--curve",
            BLUE,
            *(f"--says={pattern}" for pattern in said),
            cwd=self.folder,
        )
        for word in ("Traceback", ":error:", "thread_body_wrapper"):
            self.assertNotIn(word, output)
        return output

    def test_faults(self):
        """Every slider is moved, and the display goes on."""
        self.start("faults", 5)

    def test_live(self):
        """
        The flowgraph of the lab shows the simulated Sun, and what it writes has the phase of the
        geometry; longer integrations, for which a slider is moved, smear it by a fifth at most.
        """
        said = "display says: inputs A and B: coherence 0.0[567]"
        output = self.start("fringes", 6, said)
        self.assertRegex(output, said)
        # a second file begins where the slider is moved: one has integrations of one length
        paths = sorted(self.folder.glob("fringes-2024*.uvh5"))
        self.assertEqual(len(paths), 2)
        self.assertIn("20240621T110000Z", paths[0].name)
        for path in paths:
            self.check_fringes(observing.read(path))

    def check_fringes(self, baseline):
        """Checks amplitude and phase of the simulated Sun."""
        self.assertGreater(len(baseline.times), 2)
        left = baseline.mean() * np.exp(-1j * baseline.expected_phase())
        self.assertLess(abs(np.abs(left).mean() - 0.06), 0.015)
        # 0.0025 of 0.065 is 2 degrees
        phases = np.angle(left / left.mean())
        self.assertLess(np.degrees(np.abs(phases)).max(), 15)

    def test_recorded_files(self):
        """Files of receivers that began 1234 samples apart: they are lined up by the noise source,
        and have its coherence, 10/11."""
        array = faults.array_of("noise")
        array.sample_rate = 8e3
        flowgraph = gr.top_block()
        source = aperture.array_source(array, samples=2_500_000)
        size = gr.sizeof_gr_complex
        for port, late in enumerate((0, 1234)):
            file = blocks.file_sink(size, str(self.folder / f"receiver{port}.fc32"))
            flowgraph.connect((source, port), blocks.skiphead(size, late), file)
        flowgraph.run()
        said = "display says: inputs A and B: coherence 0.9[01]"
        self.assertRegex(self.start("fringes_file", 6, said), said)

    # --- the steps ---

    def test_noise(self):
        """Ten times the receivers' noise: 10/11. 2.36e6 values: 1e-4; the phase is the gain's."""
        baseline = observing.read(self.folder / "noise.uvh5")
        mean = baseline.mean()[0]
        self.assertLess(abs(abs(mean) - 10 / 11), 1e-3)
        self.assertLess(abs(np.angle(mean) - math.atan2(0.4, 0.6)), 2e-3)
        self.assertLess(abs(observing.delay(baseline)[0]), 0.3e-9)

    def test_cable(self):
        """The delay of the cable, and what the slope costs in the average over the band."""
        baseline = observing.read(self.folder / "cable.uvh5")
        self.assertLess(abs(observing.delay(baseline)[0] - 101e-9), 0.3e-9)
        loss = np.sinc(63 * 37.5e3 * 101e-9)
        self.assertLess(abs(abs(baseline.mean()[0]) - 10 / 11 * loss), 2e-3)

    def test_fringes(self):
        """
        The phase is -2 pi b/lambda cos(delta) sin(H) within 0.3 degrees (the Almanac's 0.01
        degrees of 47 wavelengths are 3) but for a constant, and so is the rate, which falls.
        """
        baseline = observing.read(self.folder / "sun.uvh5")
        declination, hour_angle = sun(baseline.times, 5.0)
        wavelengths = 10.0 * 1415e6 / SPEED_OF_LIGHT
        self.assertAlmostEqual(baseline.wavelengths(), wavelengths, places=2)
        model = -2 * np.pi * wavelengths * np.cos(declination) * np.sin(hour_angle)
        left = baseline.mean() * np.exp(-1j * model)
        constant = np.angle(left.mean())
        self.assertLess(abs(np.degrees(constant)), 4)  # calibrated: the geometry and no more
        self.assertLess(abs(abs(left.mean()) - 0.07 / 1.07), 5 * 0.0025 / math.sqrt(360))
        rate, error = observing.fringe_rate(baseline.times, np.angle(baseline.mean()))
        self.assertLess(error, 1e-6)
        expected = -wavelengths * EARTH_RATE * np.mean(np.cos(declination) * np.cos(hour_angle))
        # a mean over the hour by a fit, and a Sun that moves among the stars: 0.4 %
        self.assertLess(abs(rate / expected - 1), 0.004)
        self.assertLess(abs(rate - observing.fringe_rate(baseline.times, model)[0]), 5e-6)
        # the noise of the radiometer, of 360 values to 4 %
        residual = left * np.exp(-1j * np.angle(left.mean()))
        self.assertLess(abs(np.std(residual.real) / observing.noise_of(baseline) - 1), 0.2)

    def test_tracked(self):
        """No fringes are left: 0.1 fringes in the 20 minutes would be 8e-5 Hz."""
        baseline = observing.read(self.folder / "tracked.uvh5")
        rate, _ = observing.fringe_rate(baseline.times, np.angle(baseline.mean()))
        self.assertLess(abs(rate), 8e-6)
        self.assertLess(abs(abs(baseline.mean().mean()) - 0.07 / 1.07), 5 * 0.0025 / 11)

    def test_baseline_is_measured(self):
        baseline = observing.read(self.folder / "garden.uvh5")
        found, errors = observing.fit_baseline(baseline)
        for value, error, truth, most in zip(found, errors, (9.98, 0.35), (5e-4, 1e-2)):
            self.assertLess(error, most)
            self.assertLess(abs(value - truth), 5 * error)


if __name__ == "__main__":
    main()
