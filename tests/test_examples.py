# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/: GRC files compile, the QT flowgraph shows what it should, scripts give the sky."""

import importlib.util
import os
import py_compile
import re
import runpy
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest import mock

import numpy as np
import yaml

from gnuradio.aperture import Source, load_array
from gnuradio.aperture.arrays.geometry import SPEED_OF_LIGHT, direction
from gnuradio.aperture.testing.tiers import ALL, long_test
from gnuradio.aperture.tracking.directions import azimuth_elevation, parse_direction
from places import (
    BUILD,
    SOURCE,
    controls_without_effect,
    copy_flowgraphs,
    fresh_folder,
    main,
    on_screen_or_fail,
    run,
    run_script,
    working_in,
)
from qt_example import load

#: the colour of the first curve of our displays
DISPLAY_BLUE = (0, 0x72 / 255, 0xB2 / 255)

#: flowgraphs whose first curve is GNU Radio's, and ours
PLOTS = (
    "interferometer",
    "beams",
    "pointing",
    "tracking",
    "averages",
    "upchannels",
    "part_of_band",
    "two_receivers",
    "calibration_loop",
    "cpu_beside_gpu",
    "pulsar",
    "pulses",
    "vlbi",
)
DISPLAYS = (
    "fringes",
    "noise_source",
    "device_edge",
    "embedded_block",
    "torch_blanker",
    "sky",
    "directions",
    "many_types",
    "two_files",
    "interference",
)
#: seconds that a flowgraph runs; that of sixteen antennas has to catch up after its slider was
#: moved, and where a carrier is blanked, the integrations while both sliders were moved, in which
#: some of it is left, must have left the sixteen that the fringes are taken of
SECONDS = {"sky": 10, "embedded_block": 8, "torch_blanker": 8}
#: the same in the quick tier: windows are open until they say what they are to say anyway
LEAST = {"embedded_block": SECONDS["embedded_block"]}
FRINGES = r"coherence \S+, delay \S+ ns, phase rotating \S+°/s"
#: texts that windows say sooner or later; until then they are open
SAID = {
    "fringes": [FRINGES],
    "noise_source": [r"coherence \S+, delay \S+ ns, phase standing still"],
    "embedded_block": [FRINGES],
    "torch_blanker": [FRINGES],
    "two_files": [FRINGES],
    "sky": ["nearest named source: Sun", "all 16 inputs: level too high"],
    "directions": [r"2 sources: azimuth \d+\.\d°, azimuth 1(59|60)\.\d°"],
    "many_types": [
        rf"bandpass_{name} says: .*level too high" for name in ("fc32", "sc16", "sc8", "s8")
    ],
    "device_edge": [r"at 1420\.97\d MHz", "both inputs: a good level"],
}
#: points that the first curve has more of, where these are not 400: two narrow lobes of directions
#: have 286 as the car drives on
SMALL_CURVES = {"directions": 200}

#: windows that are opened in the quick tier: one of each display of ours, an embedded block
WINDOWS = ("embedded_block", "device_edge", "sky", "directions")
#: recordings that flowgraphs make for themselves where there are none
RECORDINGS = {
    "two_files": ("two_files_a.cu8", "two_files_b.cu8"),
    "two_receivers": ("two_receivers_0.fc32", "two_receivers_1.fc32"),
}

#: a window whose sink gets items of 0, and shows what is above LOW; QUIET is its name
EMPTY = """
import sip
from gnuradio import blocks, gr, qtgui
from PyQt5 import Qt


class QUIET(gr.top_block, Qt.QWidget):
    def __init__(self):
        gr.top_block.__init__(self)
        Qt.QWidget.__init__(self)
        self.resize(800, 600)
        self.source = blocks.null_source(4 * 64)
        self.throttle = blocks.throttle(4 * 64, 1000.0)
        self.sink = qtgui.vector_sink_f(64, 0, 1, "x", "y", "", 1)
        self.sink.set_y_axis(LOW, 2)
        Qt.QVBoxLayout(self).addWidget(sip.wrapinstance(self.sink.qwidget(), Qt.QWidget))
        self.connect(self.source, self.throttle, self.sink)
        Qt.QTimer.singleShot(300, lambda: LATER)
"""

EXAMPLES = SOURCE / "examples"
PICTURES = BUILD / "pictures"


def has_torch(test):
    """Returns whether PyTorch is there; with APERTURE_REQUIRE_OUTSIDE=1 it must be."""
    found = importlib.util.find_spec("torch") is not None
    if not found and os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
        test.fail("python3-torch is not installed")
    return found


def with_dongles(folder):
    """The name of a copy of two_receivers.grc, in a folder, in which the dongles are enabled and
    what plays them is disabled."""
    flowgraph = yaml.safe_load((EXAMPLES / "two_receivers.grc").read_text())
    flowgraph["options"]["parameters"]["id"] = "two_receivers_soapy"
    for block in flowgraph["blocks"]:
        if block["name"].startswith("rtlsdr_"):
            assert block["states"]["state"] == "disabled", block["name"]
            block["states"]["state"] = "enabled"
        if re.match("play_\\d|throttle_|oscillator$", block["name"]):
            block["states"]["state"] = "disabled"
    path = folder / "two_receivers_soapy.grc"
    path.write_text(yaml.safe_dump(flowgraph, allow_unicode=True))
    return path


class TestExamples(unittest.TestCase):
    def test_all_are_tested(self):
        """There are no examples but those that are named or compiled below."""
        names = {path.name for path in EXAMPLES.iterdir() if path.is_file()}
        scripts = {name for name in names if name.endswith(".py")}
        self.assertEqual(
            scripts,
            {
                "align_receivers.py",
                "best2_figures.py",
                "best2_pulsar.py",
                "average_integrations.py",
                "blank_interference.py",
                "blank_with_torch.py",
                "calibrate.py",
                "fast_radio_burst.py",
                "find_directions.py",
                "first_flowgraph.py",
                "tracked_source.py",
                "voltage_dump.py",
            },
        )
        # the configurations beside them: test_observe
        instruments = {path.name for path in (EXAMPLES / "instruments").glob("*.py")}
        self.assertEqual(instruments, {"beams.py", "correlate.py", "instrument.py"})
        flowgraphs = {name.removesuffix(".grc") for name in names if name.endswith(".grc")}
        self.assertEqual(flowgraphs, {*PLOTS, *DISPLAYS})
        listed = (SOURCE / "docs/examples.md").read_text()
        for name in names:
            self.assertIn(f"(../examples/{name})", listed)

    @classmethod
    def setUpClass(cls):
        # all at once: most of the time goes into reading the descriptions of all blocks
        cls.compiled = fresh_folder("examples")
        cls.copied = copy_flowgraphs(EXAMPLES, cls.compiled)
        cls.soapy = with_dongles(cls.compiled)
        # beside the flowgraphs, where GNU Radio Companion writes and starts them
        cls.status, cls.said = run("grcc", "-o", cls.compiled, *cls.copied, cls.soapy)

    def test_grc(self):
        """grcc compiles every flowgraph, without a complaint."""
        self.assertEqual(self.status, 0, self.said)
        # newer releases have a second block for this, which GNU Radio 3.10.5 lacks
        said = re.sub(r".*'throttle\w*' is deprecated.*", "", self.said)
        for word in ("Error", "Warning", "deprecated"):
            self.assertNotIn(word.lower(), said.lower(), said)
        for path in EXAMPLES.glob("*.grc"):
            made = self.compiled / f"{path.stem}.py"
            py_compile.compile(str(made), doraise=True)
            self.assertEqual(controls_without_effect(path, made), [], path)

    def test_no_block_covers_another(self):
        """Blocks and their comments lie apart in GNU Radio Companion. Of a flowgraph whose blocks
        all have one place, every pair is told."""
        piled = self.compiled / "piled.grc"
        text = (EXAMPLES / "fringes.grc").read_text()
        piled.write_text(re.sub(r"coordinate: \[.*\]", "coordinate: [8, 8]", text))
        script, paths = SOURCE / "tests/grc_overlaps.py", sorted(EXAMPLES.rglob("*.grc"))
        output = on_screen_or_fail(self, "python3", script, piled, *paths)
        blocks = int(re.search(rf"{piled}: (\d+) blocks", output)[1])
        overlaps = re.findall(r"(.*): (\S+ overlaps \S+)", output)
        told = [pair for path, pair in overlaps if path == str(piled)]
        self.assertEqual(len(told), blocks * (blocks - 1) // 2)
        self.assertEqual([pair for pair in overlaps if pair[0] != str(piled)], [])
        self.assertEqual(len(re.findall(r": \d+ blocks", output)), 1 + len(paths))

    def test_ids(self):
        """GNU Radio Companion writes ID.py beside a flowgraph: no other file is called so, nor any
        module that the flowgraph or its neighbours would import instead."""
        for path in EXAMPLES.rglob("*.grc"):
            name = yaml.safe_load(path.read_text())["options"]["parameters"]["id"]
            self.assertEqual(name, path.stem)
            self.assertFalse(path.with_name(f"{name}.py").exists(), path)
            self.assertIsNone(importlib.util.find_spec(name), path)

    def test_compile(self):
        """Scripts are Python, those too that only `tools/test --all` runs."""
        for path in EXAMPLES.rglob("*.py"):
            compile(path.read_text(), str(path), "exec")

    def test_start(self):
        """Every flowgraph is made and starts: its blocks exist, take these values, and fit to each
        other. Windows need no screen here."""
        from PyQt5 import Qt

        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
        with mock.patch.dict(os.environ, environment), working_in(self.compiled):
            application = Qt.QApplication.instance() or Qt.QApplication(["test_examples"])
            for name in (*PLOTS, *DISPLAYS):
                if name == "torch_blanker" and not has_torch(self):
                    continue
                with self.subTest(flowgraph=name):
                    # short ones, of nothing, for what it makes takes seconds; a quarter of a
                    # second, by which the second one begins later, is 1.2 MB
                    made = [self.compiled / path for path in RECORDINGS.get(name, ())]
                    for path in made:
                        path.write_bytes(bytes(1 << 21))
                    window = getattr(load(self.compiled / f"{name}.py"), name)()
                    window.start()
                    window.stop()
                    window.wait()
                    for path in made:
                        path.unlink()
            application.processEvents()

    def test_qt(self):
        """Flowgraphs run under Xvfb, their ranges are moved, their plots are drawn."""
        # flowgraphs wait for their throttles most of the time, so two are run together
        with ThreadPoolExecutor(2) as runners:
            running = {
                name: runners.submit(self.check_qt, name, blue)
                for names, blue in ((PLOTS, (0, 0, 1)), (DISPLAYS, DISPLAY_BLUE))
                for name in names
                if (ALL or name in WINDOWS) and (name != "torch_blanker" or has_torch(self))
            }
            for name, run_of_it in running.items():
                with self.subTest(flowgraph=name):
                    output = run_of_it.result()
                    getattr(self, f"check_{name}", lambda output: None)(output)

    def test_empty_window(self):
        """A window that shows no curve, never says what it is to say, or raises an exception makes
        its test fail."""
        folder = fresh_folder("empty_window")
        for name, lowest, later, missing in (
            ("quiet", 1, "None", "the curve has 0 points; more than 400"),
            # GNU Radio's sink draws zeros before samples come, and nothing else
            ("flat", -2, "None", "the curve has 0 points; more than 400"),
            ("growing", -2, "self.resize(1100, 650)", "points; more than 400"),
            ("silent", 1, "None", "no sink says never"),
            ("raising", 1, "1 / 0", "ZeroDivisionError"),
        ):
            path = folder / f"{name}.py"
            text = EMPTY.replace("QUIET", name).replace("LOW", str(lowest))
            path.write_text(text.replace("LATER", later))
            with self.subTest(window=name):
                status, output = run(
                    "python3",
                    SOURCE / "tests/qt_example.py",
                    path,
                    0.5,
                    folder / f"{name}.png",
                    "--curve=0,0,1",
                    "--patience=2",
                    *(["--says=never"] if name == "silent" else []),
                    env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
                )
                self.assertEqual(status, 1, output)
                self.assertEqual("Traceback" in output, name == "raising", output)
                self.assertIn(missing, output)

    def check_embedded_block(self, output):
        """A block of one's own leaves no trace of the carrier in the fringes."""
        self.check_fringes(output)

    def check_torch_blanker(self, output):
        self.check_fringes(output)

    def check_sky(self, output):
        """The window says where the simulator's strongest source is."""
        said = re.search(
            r"image says: brightest: az ([\d.]+)°, el ([\d.]+)°; nearest named "
            r"source: Sun, ([\d.]+)° away",
            output,
        )
        self.assertTrue(said, output)
        azimuth, elevation, off = map(float, said.groups())
        truth = direction(
            *azimuth_elevation(parse_direction("sun"), 1718949600 + 2.0, load_array("y16"))
        )
        # a beam of 3.5 degrees, and sidelobes of two other sources
        self.assertLess(np.degrees(np.linalg.norm(direction(azimuth, elevation) - truth)), 0.5)
        self.assertLess(off, 0.5)
        # three quarters of the slider: a gain of 2.9
        self.assertIn("levels says: all 16 inputs: level too high", output)

    def check_many_types(self, output):
        """All four types come through, with the level of the slider."""
        for name in ("fc32", "sc16", "sc8", "s8"):
            self.assertRegex(
                output,
                rf"bandpass_{name} says: (both inputs|the input): level "
                r"too high \(6\d steps",
            )

    def check_two_files(self, output):
        """The fringes of the Sun, in spite of the quarter of a second between the recordings."""
        self.check_fringes(output)
        self.assertNotIn("Warning", output)
        sizes = [(self.compiled / f"two_files_{name}.cu8").stat().st_size for name in "ab"]
        # 8 s of 2.4 Msample/s with two bytes each
        self.assertEqual(sizes, [2 * 19200000, 2 * 18600000])

    def check_device_edge(self, output):
        """The carrier stands in the waterfall, where the slider has put it."""
        self.assertRegex(
            output,
            r"waterfall says: mean 2\d\.\d dB, highest 4\d\.\d dB at "
            r"1420\.97\d MHz",
        )
        self.assertIn("levels says: both inputs: a good level", output)

    def check_cpu_beside_gpu(self, output):
        """Checks that as many integrations come from both: those without a pair would stay with one
        of them."""
        items = re.search(r"'qtgui_phase': (\d+), 'qtgui_difference': (\d+)", output)
        self.assertTrue(items, output)
        self.assertAlmostEqual(int(items[1]), int(items[2]), delta=4)

    def check_fringes(self, output):
        """The window's text has the delay of the geometry, and a phase that goes with the sky."""
        said = re.search(
            r"says: inputs A and B: coherence (\S+), delay (\S+) ns, "
            r"phase rotating (\S+)°/s",
            output,
        )
        self.assertTrue(said, output)
        coherence, delay, rate = (float(text.replace("−", "-")) for text in said.groups())
        array = load_array("two-dish")
        sun = parse_direction(Source(name="Sun", ra=95, dec=20, flux=1))
        # B is 10 m east of A
        delays = [
            -10 * direction(*azimuth_elevation(sun, 1704067200 + second, array))[0] / SPEED_OF_LIGHT
            for second in (0, 5, 10)
        ]
        # seconds of 2.4 MHz with a coherence of 1/2: 0.1 ns
        self.assertAlmostEqual(delay, delays[1] * 1e9, delta=0.8)
        expected = -360 * 1420.4e6 * (delays[2] - delays[0]) / 10
        self.assertAlmostEqual(rate, expected, delta=0.3)
        self.assertAlmostEqual(coherence, 0.5, delta=0.011)

    def check_qt(self, name, blue=(0, 0, 1)):
        return self.check_window(name, self.compiled / f"{name}.py", blue)

    def check_window(self, name, path, blue=(0, 0, 1), **environment):
        """Runs a flowgraph that GRC generated, as the picture `name`."""
        PICTURES.mkdir(exist_ok=True)
        picture = PICTURES / f"{name}.png"
        picture.unlink(missing_ok=True)
        output = on_screen_or_fail(
            self,
            "python3",
            SOURCE / "tests/qt_example.py",
            path,
            SECONDS.get(name, 6) if ALL else LEAST.get(name, 2),
            picture,
            "--curve",
            ",".join(map(str, blue)),
            "--points",
            SMALL_CURVES.get(name, 400),
            *(f"--says={pattern}" for pattern in SAID.get(name, [])),
            cwd=path.parent,
            env={**os.environ, **environment},
        )
        for word in ("Traceback", ":error:", "thread_body_wrapper"):
            self.assertNotIn(word, output)
        return output

    def test_soapy(self):
        """Dongles take the place of the files, and each goes through its own tags."""
        text = (self.compiled / "two_receivers_soapy.py").read_text()
        for number in (0, 1):
            self.assertIn(f"self.connect((self.rtlsdr_{number}, 0), (self.tags_{number}, 0))", text)

    @long_test
    def test_soapy_runs(self):
        """The flowgraph lines the dongles up, which the tests' own driver plays."""
        if not list((BUILD / "tests/soapy").glob("*.so")):
            if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
                self.fail("libsoapysdr-dev is not installed")
            self.skipTest("libsoapysdr-dev is not installed")
        text = (self.compiled / "two_receivers_soapy.py").read_text()
        played = self.compiled / "two_receivers_played.py"
        # the embedded blocks keep their names
        played.write_text(
            re.sub(r"\btwo_receivers_soapy\b", played.stem, text).replace(
                "driver=rtlsdr", "driver=aperture_test"
            )
        )
        output = self.check_window(
            "two_receivers_soapy", played, SOAPY_SDR_PLUGIN_PATH=str(BUILD / "tests/soapy")
        )
        # the driver's hidden offset and phase by default, 12345.375 samples and 2 rad
        self.assertRegex(output, r"12345 samples and 0\.37[45]\d later, phase -114\.[56]\d degrees")

    def test_tracking(self):
        """The tracked correlator's phase stands still, within the noise; the other's rotates."""
        observe = runpy.run_path(str(EXAMPLES / "tracked_source.py"))["observe"]
        untracked, tracked = observe(600)
        self.assertEqual(len(tracked), 60)
        # 1250 spectra of 15 channels with a coherence of 5/6: 0.25 degrees
        self.assertLess(np.abs(np.degrees(np.angle(tracked))).max(), 1.5)
        self.assertGreater(np.ptp(np.unwrap(np.angle(untracked))), np.pi)

    def test_first_flowgraph(self):
        """The phase of README's flowgraph is that of the geometry."""
        result = runpy.run_path(str(EXAMPLES / "first_flowgraph.py"))
        visibilities = result["visibilities"]
        # (2400000 samples / 256 channels - 7) spectra in integrations of 1280
        self.assertEqual(visibilities.shape, (8, 256))

        # descriptions/two-dish.yml: B 10 m east of A, the source at azimuth 150, elevation 30
        azimuth, elevation = np.radians([150, 30])
        delay = -10 * np.sin(azimuth) * np.cos(elevation) / 299792458
        frequency = 1420.4e6 + (np.arange(256) - 128) * 2.4e6 / 256
        model = np.exp(-2j * np.pi * frequency * delay)
        # the simulator fills the inner 99 % of the band
        ratio = (visibilities[:7].mean(axis=0) / model)[2:-2]
        # N = 7 * 1280 spectra of two inputs with noise and signal of power 1 each: rotated to be
        # real, V = 1, re has the variance (2 * 2 + 1)/2N, im (2 * 2 - 1)/2N (Thompson, Moran
        # and Swenson, 6.2); six deviations, for 252 channels
        np.testing.assert_allclose(ratio, 1, atol=6 * np.sqrt(2.5 / (7 * 1280)))

    def test_average_integrations(self):
        """All spectra of the samples, of 8 taps, are counted once, the last integration's, too."""
        output = self.script("average_integrations.py")
        spectra, coherence = re.search(r"(\d+) spectra .* coherence ([\d.]+)", output).groups()
        self.assertEqual(int(spectra), 1_000_000 // 64 - 7)
        # noise and signal of power 1 each
        self.assertAlmostEqual(float(coherence), 0.5, delta=0.02)

    def test_blank_interference(self):
        """The carrier's channel is blanked, and no other one has lost anything."""
        output = self.script("blank_interference.py")
        found = re.findall(r"channel ([\d.]+), in most channels ([\d.]+)", output)
        (carrier, before), (blanked, after) = np.array(found, float)
        # a carrier of power 1 in a channel has 64 times the power of noise of power 1
        self.assertGreater(carrier, 60)
        self.assertEqual(blanked, 0)
        self.assertEqual(before, after)

    def test_voltage_dump(self):
        """The files have what the timer asked for, and nothing of it is missing."""
        folder = fresh_folder("voltage_dump")
        output = self.script("voltage_dump.py", folder, "2")
        found = re.findall(r"timer-\d: (\d+) samples .* in (\d+) files; nothing is missing", output)
        self.assertEqual(len(found), 2, output)
        for samples, files in found:
            # 0.03 s of spectra, up to a frame of 100 more on either side
            self.assertLess(abs(int(samples) / (0.03 * 2.4e6 / 64) - 1.05), 0.07)
            self.assertEqual(int(files), 4)
        self.assertEqual(len(list(folder.glob("*.sigmf-data"))), 4)

    @long_test
    def test_blank_with_torch(self):
        """The network blanks bursts that it has not been trained with, and little else."""
        if not has_torch(self):
            self.skipTest("PyTorch is not installed")
        output = self.script("blank_with_torch.py")
        found = re.findall(
            r"channel ([\d.]+), in most channels ([\d.]+), where the power is "
            r"([\d.]+)",
            output,
        )
        (carrier, before, _), (blanked, after, power) = np.array(found, float)
        # a tenth of the time a power of 4 in one of 64 channels
        self.assertGreater(carrier, 20)
        # the good part of that channel has an amplitude of 1, for nine tenths of the time
        self.assertLess(blanked, 1)
        self.assertEqual(before, 1)
        self.assertGreater(after, 0.97)
        self.assertGreater(power, 1.95)

    def test_align_receivers(self):
        """The offset that the example hides is found, and mends the coherence."""
        result = runpy.run_path(str(EXAMPLES / "align_receivers.py"))
        before, after, channels, align = result["main"]([])
        offset = result["START"] + result["PART"]
        # bounds for a coherence of 0.5 and 2^18 samples: 0.0013 samples and 0.14 degrees
        self.assertLess(abs(align.offsets()[1] - offset), 0.007)
        self.assertLess(abs(align.phases()[1] + result["PHASE"]), np.radians(0.7))
        # 2.4e6 samples of noise: 0.0006
        self.assertLess(abs(before), 0.003)
        # half a percent is lost to the transitions of the filters
        self.assertLess(abs(after - 0.5), 0.01)
        self.assertGreater(channels, 0.49)

    def script(self, name, *arguments):
        """Returns what a script prints."""
        status, output = run_script(EXAMPLES / name, *arguments)
        self.assertEqual(status, 0, output)
        return output

    def instruments(self, name):
        """A script of examples/instruments, as if it had been started."""
        sys.path.insert(0, str(EXAMPLES / "instruments"))
        self.addCleanup(sys.path.pop, 0)
        return runpy.run_path(str(EXAMPLES / "instruments" / name))

    def test_instruments(self):
        """The papers' instruments find the source in the simulated data, and say how fast."""
        script = self.instruments("correlate.py")
        flux = script["SOURCE"].flux
        # modes of today's instruments, with their channels or with fewer, and few antennas
        few = {
            "mwa-256": dict(antennas=12),
            "meerkat-narrow": dict(antennas=6, channels=512, simulated=64, radius=100.0),
            "ovro-lwa": dict(antennas=20, fast_antennas=5, channels=256),
        }
        self.assertEqual(
            set(script["INSTRUMENTS"]),
            {"mwa-32t", "mwa-128", "lofar", "best-2", "best-2-spectra", *few},
        )
        for name, fewer in few.items():
            script["INSTRUMENTS"][name] = replace(script["INSTRUMENTS"][name], **fewer)
        for name, instrument in script["INSTRUMENTS"].items():
            if not ALL and name not in ("best-2-spectra", *few):
                continue  # these have all steps of the script
            for source in (
                ("device", "host") if ALL and name in ("mwa-32t", "best-2-spectra") else ("device",)
            ):
                with self.subTest(instrument=name, source=source):
                    found, real_time = script["run"](name, "cpu", source, seconds=0.1)
                    # The noise of the source itself, which all pairs share, is what counts: it
                    # moves the mean by flux / (1 + flux) / sqrt(N) of N samples, half again as
                    # much with the receivers' own; five deviations.
                    samples = instrument.simulated * instrument.channels
                    tolerance = 5 * 1.5 * flux / (1 + flux) / np.sqrt(samples)
                    # rounding to 4 bits adds 1/12 of a step squared to 2 steps squared
                    rounded = 1 + 1 / 48 if instrument.spectra == "sc4" else 1
                    np.testing.assert_allclose(found, flux / (1 + flux) / rounded, atol=tolerance)
                    self.assertGreater(real_time, 0)

    def test_instruments_beams(self):
        """Beams of BEST-2 see of the source what the array factor says; the search ends."""
        script = self.instruments("beams.py")
        for source in ("device", "host") if ALL else ("device",):
            found, measured = script["run"](
                [2, 20], "cpu", source, seconds=0.1, most=source == "device"
            )
            self.assertEqual(found.shape, (script["CHECKED"],))
            # 128 spectra of 1008 channels: 0.3 %, five deviations of the beams and of the inputs
            np.testing.assert_allclose(found, 1, atol=5 * 0.004)
            self.assertEqual([beams for beams, _ in measured[:2]], [2, 20])
            self.assertTrue(all(rate > 0 for _, rate in measured[:2]))
        before, after = script["repoint"](script["voltages"]("cpu"), 3, "cpu", False, seconds=0.5)
        self.assertTrue(0 < before < 60 and 0 < after < 60)

    @long_test
    def test_best2_figures(self):
        """Both figures are drawn; beams agree with the array factor, and the drift with the sky."""
        folder = fresh_folder("best2") / "new"
        output = self.script("best2_figures.py", folder)
        for name in ("best2-pattern.png", "best2-drift.png"):
            self.assertGreater((folder / name).stat().st_size, 50000)
        worst = float(re.search(r"within ([\d.]+) dB", output)[1])
        # the receivers' noise is 40 dB below the source where that is lowest
        self.assertLess(worst, 0.1)
        peaks = [
            float(peak) for peak in re.search(r"most at ([-\d., ]+) minutes", output)[1].split(",")
        ]
        # 0.8 degrees of the sky at declination 58.8: 0.8/(0.2507 cos 58.8) minutes; integrations
        # of 20 s, and of the outer beams the receding declination
        np.testing.assert_allclose(
            np.diff(peaks), -0.8 / (0.2507 * np.cos(np.radians(58.8))), atol=1.2
        )
        self.assertAlmostEqual(np.mean(peaks), 0, delta=0.5)

    @long_test
    def test_best2_pulsar(self):
        """The profile is what was simulated, at the phase of the timing model."""
        folder = fresh_folder("best2_pulsar")
        output = self.script("best2_pulsar.py", folder)
        phase, ratio, worst = map(
            float,
            re.search(r"phase (\S+), S/N (\d+); it is within ([\d.]+) deviations", output).groups(),
        )
        self.assertLessEqual(abs(phase), 1.5 / 256)  # the middle of the bin beside 0 or after it
        self.assertGreater(ratio, 40)
        # the pulse itself is noise, and so has a larger deviation than what is beside it
        self.assertLess(worst, 8)
        self.assertGreater((folder / "best2-pulsar.png").stat().st_size, 20000)
        self.assertGreater((folder / "B0329+54.fits").stat().st_size, 20000)

    def test_fast_radio_burst(self):
        """In the right beam, with its DM; drawn from the voltages that its trigger had dumped."""
        folder = fresh_folder("fast_radio_burst")
        output = self.script("fast_radio_burst.py", folder)
        beam, dm, ratio, dumped = re.search(
            r"beam (\d+) of 9, DM (\S+), S/N (\S+) in .* dumped, S/N (\S+) in", output
        ).groups()
        self.assertEqual(beam, "5")
        self.assertLessEqual(abs(float(dm) - 350), 6)
        # 8 antennas, 0.4 of the noise of each at the peak: 3.2 times that of the beam
        self.assertGreater(float(ratio), 40)
        self.assertGreater(float(dumped), 30)
        self.assertGreater((folder / "burst.png").stat().st_size, 20000)
        self.assertEqual(len(list((folder / "bursts-pictures").glob("*.png"))), 1)

    @long_test
    def test_calibrate(self):
        """Errors hidden in cables, amplifiers and filters are gone, and both pictures are drawn."""
        folder = fresh_folder("calibrate")
        output = self.script("calibrate.py", folder)
        before, after = map(
            float, re.search(r"phases of ([\d.]+) degrees rms without, ([\d.]+) ", output).groups()
        )
        self.assertGreater(before, 60)
        # coherence 2/3 of 10240 spectra: 0.45 degrees, and what the calibration has of it: 0.1
        self.assertLess(after, 0.6)
        for name in ("before-after.png", "sky.png"):
            self.assertGreater((folder / name).stat().st_size, 20000)

    def test_help(self):
        """Scripts that take arguments say which, and do nothing else."""
        folder = fresh_folder("help")
        for name in (
            "best2_figures.py",
            "best2_pulsar.py",
            "calibrate.py",
            "fast_radio_burst.py",
            "instruments/beams.py",
            "instruments/correlate.py",
        ):
            with working_in(folder):
                self.assertIn("usage: ", self.script(name, "--help"))
        self.assertEqual(list(folder.iterdir()), [])

    def test_wrong_arguments(self):
        """Lengths of measurements that are none are refused, before anything is computed."""
        for arguments in (["beams.py"], ["correlate.py", "mwa-32t"]):
            for seconds in ("-1", "nan"):
                with self.subTest(script=arguments[0], seconds=seconds):
                    status, output = run_script(
                        EXAMPLES / "instruments" / arguments[0],
                        *arguments[1:],
                        f"--seconds={seconds}",
                    )
                    self.assertEqual(status, 2, output)
                    self.assertIn("--seconds", output)


if __name__ == "__main__":
    main()
