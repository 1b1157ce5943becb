#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The service in this process, with flowgraphs that fail as tests want them to; tests/
test_observe.py has the program."""

import contextlib
import gc
import io
import itertools
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import h5py
import numpy as np
from gnuradio import gr, gr_unittest

from gnuradio.aperture.arrays.array_description import load_array, save_array
from gnuradio.aperture.builder.input import InputFailure
from gnuradio.aperture.commands.observe_chain import make_chain
from gnuradio.aperture.commands.observe_plan import Configuration
from gnuradio.aperture.commands.observe_service import Service
from gnuradio.aperture.formats.psrfits.profiles import read_profiles
from gnuradio.aperture.monitoring.publisher import Publisher
from gnuradio.aperture.observatory.instrument import Instrument
from gnuradio.aperture.observatory.notify import Notifier
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import DEVICE, comes_true


class qa_observe_service(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        gr.logging().set_default_level(gr.log_levels.err)
        array = load_array("two-dish")
        array.sample_rate = 1e5
        save_array(array, self.folder / "two.yml")
        self.events = []

    def configuration(self, more="", **outputs):
        path = self.folder / "c.yml"
        path.write_text(
            f'instrument: {{name: test}}\ninput: {{source: "sim:{self.folder}/two.yml"}}\n'
            f'engines: {{channels: 32, integration: 0.25}}\ndevice: {{name: "{DEVICE}"}}\n'
            f'outputs: {{file: "{self.folder}/v-{{time}}.uvh5"'
            + "".join(f", {key}: {value}" for key, value in outputs.items())
            + "}\n"
            + more
        )
        return Configuration(str(path))

    def run_service(self, configuration, after=None, **arguments):
        """Runs it; after(instrument) is called in another thread. Exit code, stdout, stderr."""
        instrument = Instrument("test", configuration.sections, "0")
        instrument.on_publish(self.events.append)
        service = Service(configuration, instrument, Notifier({}), **arguments)
        out, err = io.StringIO(), io.StringIO()
        helper = threading.Thread(target=after, args=(instrument,)) if after else None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if helper:
                helper.start()
            code = service.run()
        if helper:
            helper.join()
        return code, out.getvalue(), err.getvalue()

    def sky(self, **more):
        """A configuration with a tracked direction and beams; more: of its sections."""
        sections = {
            "tracking": '{direction: "Cas A"}',
            "beams": f'{{directions: "grid:az=180,el=60", file: "{self.folder}/p-{{time}}.fil"}}',
            "service": "{restart: true, restart_after: 0.1, watchdog: 2}",
            **more,
        }
        return self.configuration("".join(f"{key}: {text}\n" for key, text in sections.items()))

    def run_watched(self, configuration, after, **arguments):
        """Runs it with a publisher, as with a section `monitoring`; after(instrument, set) is
        called when it runs, set(block, port, value) sets as the server does, and gives what was
        wrong."""
        make, publishers, failures = Instrument, [], []

        def made(*args):
            instrument = make(*args)
            publishers.append(Publisher(instrument))
            return instrument

        def called(instrument):
            try:
                self.wait_for(lambda: instrument.state == "running" and self.of("integration"))
                after(
                    instrument,
                    lambda block, port, value: publishers[0]._command(
                        {"id": 1, "block": block, "port": port, "value": value}
                    )["error"],
                )
            except Exception as error:
                failures.append(error)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

        with mock.patch(f"{__name__}.Instrument", made):
            found = self.run_service(configuration, after=called, **arguments)
        if failures:
            raise failures[0]
        return found

    def of(self, event):
        return [each for each in self.events if each["event"] == event]

    def wait_for(self, condition):
        comes_true(condition, pause=0.02)

    def times(self):
        """Returns the times of all integrations in all files, in the order of the files' names."""
        found = []
        for path in sorted(self.folder.glob("v-*.uvh5")):
            with h5py.File(path) as file:
                rows = file["Header/Nblts"][()] // file["Header/Ntimes"][()]
                found += list(file["Header/time_array"][::rows] * 86400)
        return np.array(found)

    def test_all_outputs_make_room(self):
        """The oldest files go, whatever output they are of; samples that are sent have none."""
        (self.folder / "sub").mkdir()
        outputs = [
            "v-20000101T000001Z.uvh5",
            "v-20000101T000000Z-quick.uvh5",
            "sub/slow-20000101T000002Z.uvh5",
            "x-20000101T000003Z-b1.vdif",
            "x-20000101T000003Z-b1.vdif.yml",
        ]
        strange = self.folder / "v-20000101T000000Z-other.uvh5"
        for to, left in (("x-{time}-{beam}.vdif", []), ("udp:127.0.0.1:4001", outputs[3:])):
            for path in (strange, *(self.folder / name for name in outputs)):
                path.write_bytes(b"")
            sections = (
                f"products:\n  quick: {{fast: true, integration: 0.01}}\n"
                f'  slow: {{integration: 2, file: "{self.folder}/sub/slow-{{time}}.uvh5"}}\n'
                'beams: {directions: "grid:az=180,el=60"}\n'
                f'vdif: {{to: "{to if "udp" in to else self.folder / to}"}}\n'
            )
            configuration = self.configuration(sections, least_free_bytes=1, when_full="oldest")
            service = Service(
                configuration,
                Instrument("test", configuration.sections, "0"),
                Notifier({}),
                statvfs=lambda _: SimpleNamespace(f_bavail=0, f_frsize=1),
            )
            service._guard.look()
            self.assertEqual([name for name in outputs if (self.folder / name).exists()], left)
            self.assertTrue(strange.exists())

    def test_an_input_that_ends(self):
        self.configuration(roll_seconds=1)
        code, out, err = self.run_service(Configuration(str(self.edited("duration: 5"))))
        self.assertEqual((0, ""), (code, err))
        np.testing.assert_allclose(np.diff(self.times()), 0.25, rtol=0.03)
        self.assertEqual(20, len(self.times()))
        files = [event["path"] for event in self.of("file")]
        self.assertEqual(sorted(map(str, self.folder.glob("*.uvh5"))), files)
        self.assertGreaterEqual(len(files), 4)
        self.assertEqual(
            ["starting", "running", "stopped"], [event["state"] for event in self.of("state")]
        )
        self.assertIn("32 channels", out)

    def test_candidates_and_profiles(self):
        """Files of candidates and profiles follow on each other as other files do, with the
        configuration beside them, and are written however full the disk is."""
        more = f"""\
beams: {{directions: "grid:az=180,el=60"}}
search: {{trials: "dm=0:20:10", candidates: "{self.folder}/c-{{time}}.ecsv", pictures: 0}}
fold: {{by: "0.5", file: "{self.folder}/p-{{time}}.fits", bins: 16, subintegration: 0.5}}
"""
        self.configuration(more, roll_seconds=2, least_free_bytes="1 GB")
        code, _, err = self.run_service(
            Configuration(str(self.edited("duration: 5"))),
            statvfs=lambda _: SimpleNamespace(f_bavail=10**6, f_frsize=1),
        )
        self.assertEqual(0, code)
        self.assertIn("recording stops", err)
        tables, profiles = (
            sorted(map(str, self.folder.glob(name))) for name in ("c-*.ecsv", "p-*.fits")
        )
        self.assertEqual(1, len(tables))
        self.assertIn(len(profiles), (3, 4))
        lengths = [sum(read_profiles(path).lengths) for path in profiles]
        self.assertLessEqual(max(lengths), 2.51)
        self.assertAlmostEqual(sum(lengths), 5, delta=0.1)
        told = [event["path"] for event in self.of("file")]
        for path in tables + profiles:
            self.assertIn(path, told)
            self.assertIn("subintegration: 0.5", Path(path + ".yml").read_text())

    def edited(self, text):
        """The configuration's file with more of its section input."""
        path = self.folder / "c.yml"
        path.write_text(path.read_text().replace('two.yml"}', f'two.yml", {text}}}'))
        return path

    def test_history_has_configuration_and_versions(self):
        self.configuration()
        self.run_service(Configuration(str(self.edited("duration: 1"))))
        (path,) = self.folder.glob("*.uvh5")
        with h5py.File(path) as file:
            text = file["Header/history"][()].decode()
        self.assertIn(f"GNU Radio {gr.version()}", text)
        self.assertIn('"engines": {"channels": "32", "integration": "0.25"}', text)

    def test_a_watchdog_that_fires(self):
        """Integrations stop; without `restart` that is an error, with it another begins."""
        made = []

        def make(configuration):
            chain = make_chain(configuration)
            progress = chain.progress
            made.append(chain)
            # the second one may start slowly without an error
            chain.progress = (
                (lambda: min(progress(), 3)) if len(made) == 1 else itertools.count(1).__next__
            )
            return chain

        code, _, err = self.run_service(self.configuration("service: {watchdog: 1}\n"), make=make)
        self.assertEqual(1, code)
        self.assertEqual("aperture_observe: no integration has come for 1 s\n", err)
        self.assertEqual(1, len(self.of("alarm")))
        made.clear()

        def stop(instrument):
            self.wait_for(
                lambda: (
                    instrument.restarts
                    and instrument.state == "running"
                    and instrument.describe()["blocks"]
                )
            )
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGTERM)

        code, _, err = self.run_service(
            self.configuration("service: {watchdog: 1, restart: true, restart_after: 0.1}\n"),
            after=stop,
            make=make,
        )
        self.assertEqual(0, code)
        self.assertEqual(2, len(made))

    def test_an_input_that_is_not_there(self):
        tries = []

        def make(configuration):
            tries.append(time.monotonic())
            if len(tries) < 4:
                raise InputFailure("no receiver")
            return make_chain(configuration)

        self.configuration("service: {restart: true, restart_after: 0.1, restart_longest: 0.3}\n")
        found = Configuration(str(self.edited("duration: 1")))
        code, _, err = self.run_service(found, make=make)
        self.assertEqual(0, code)
        self.assertEqual("aperture_observe: no receiver\n" * 3, err)
        waits = np.diff(tries)
        np.testing.assert_array_less([0.09, 0.19, 0.29], waits)
        self.assertEqual(3, self.of("state")[-1]["restarts"])
        # without `restart` it is an error
        tries.clear()
        self.assertEqual(1, self.run_service(self.configuration(), make=make)[0])

    def test_a_disk_that_is_nearly_full(self):
        """Recording stops, without an error and with whole files, and goes on."""
        free = [10**9]
        statvfs = lambda _: SimpleNamespace(f_bavail=free[0], f_frsize=1)

        def fill(instrument):
            self.wait_for(lambda: self.of("integration"))
            free[0] = 10**6
            self.wait_for(lambda: any("stops" in each["text"] for each in self.of("alarm")))
            self.wait_for(lambda: instrument.blocks["visibilities"].left_out() > 5)
            self.wait_for(lambda: instrument.figures["outputs"]["visibilities"]["left_out"] > 5)
            figures.append(instrument.figures)
            hidden.append(list(self.folder.glob(".v-*")))
            free[0] = 10**9
            self.wait_for(lambda: any("goes on" in each["text"] for each in self.of("alarm")))
            self.wait_for(lambda: len(list(self.folder.glob("v-*.uvh5"))) > 1)
            left_out.append(instrument.blocks["visibilities"].left_out())
            self.wait_for(lambda: instrument.figures["recording"])
            figures.append(instrument.figures)
            os.kill(os.getpid(), signal.SIGTERM)

        hidden, left_out, figures = [], [], []
        code, _, err = self.run_service(
            self.configuration(least_free_bytes="2 MB"), after=fill, statvfs=statvfs
        )
        self.assertEqual(0, code)
        self.assertEqual([[]], hidden)
        steps = np.diff(self.times())
        gap = np.max(steps)
        self.assertEqual(left_out[0], round(gap / np.median(steps)) - 1)
        self.assertEqual(1, np.sum(steps > 1.5 * np.median(steps)))
        # monitoring is told this
        full, free = figures
        self.assertEqual((False, [10**6]), (full["recording"], list(full["free"].values())))
        self.assertEqual((True, [10**9]), (free["recording"], list(free["free"].values())))
        self.assertEqual(1, full["outputs"]["visibilities"]["files"])
        self.assertGreater(full["outputs"]["visibilities"]["bytes"], 10000)

    def test_a_folder_that_vanishes(self):
        """With `restart` it is tried again until the folder is back; nothing is written elsewhere,
        and what was written stays."""
        out, away = self.folder / "out", self.folder / "away"
        out.mkdir()
        self.configuration("service: {restart: true, restart_after: 0.05, restart_longest: 0.2}\n")
        path = self.folder / "c.yml"
        path.write_text(path.read_text().replace(f"{self.folder}/v-", f"{out}/v-"))

        def take_away(instrument):
            self.wait_for(lambda: list(out.glob("v-*.uvh5")))
            out.rename(away)
            self.wait_for(lambda: instrument.restarts >= 3)
            self.assertEqual([], list(self.folder.rglob("out/*")))
            before.extend(away.glob("v-*.uvh5"))
            away.rename(out)
            self.wait_for(lambda: len(list(out.glob("v-*.uvh5"))) > len(before))
            os.kill(os.getpid(), signal.SIGTERM)

        before = []
        code, out_text, err = self.run_service(Configuration(str(path)), after=take_away)
        self.assertEqual(0, code, err)
        self.assertEqual(1, len(before))
        for text in ("there is no folder for this file", "no such file or directory"):
            self.assertIn(text, err.lower())
        self.assertIn("once more in 0.1 s", out_text)
        # the file of before is there, and another one
        self.assertTrue((out / before[0].name).exists())

    def test_a_folder_that_vanishes_without_restart(self):
        out = self.folder / "out"
        out.mkdir()
        self.configuration()
        path = self.folder / "c.yml"
        path.write_text(path.read_text().replace(f"{self.folder}/v-", f"{out}/v-"))

        def take_away(_):
            self.wait_for(lambda: list(out.glob("v-*.uvh5")))
            out.rename(self.folder / "away")

        self.assertEqual(1, self.run_service(Configuration(str(path)), after=take_away)[0])

    def test_files_of_an_earlier_run_stay(self):
        """A run that begins in the second in which another one began, as each of a simulation
        does, replaces none of its files."""
        configuration = self.configuration(f"""\
beams: {{directions: "grid:az=180,el=60", file: "{self.folder}/p-{{time}}.fil",
  voltages: "{self.folder}/b-{{time}}-{{channel}}.sigmf-meta", voltage_channels: "3"}}
voltages: {{file: "{self.folder}/i-{{time}}-{{input}}.raw"}}
fold: {{by: "0.5", file: "{self.folder}/f-{{time}}.fits", bins: 16, subintegration: 0.5}}
""")
        configuration = Configuration(str(self.edited("duration: 1")))
        contents = []
        for run in range(3):
            code, _, err = self.run_service(configuration)
            self.assertEqual((0, ""), (code, err))
            contents.append(
                {
                    path.name: path.read_bytes()
                    for path in self.folder.iterdir()
                    if path.suffix not in (".yml", "")
                }
            )
            for name, data in contents[0].items():
                self.assertEqual(data, contents[-1][name], f"{name}: run {run}")
        kinds = {"uvh5", "fil", "sigmf-meta", "sigmf-data", "raw", "fits"}
        self.assertEqual(kinds, {name.rpartition(".")[2] for name in contents[0]})
        self.assertEqual(
            [len(contents[0]) * (run + 1) for run in range(3)], [len(each) for each in contents]
        )
        self.assertIn("v-20240101T000000Z-3.uvh5", contents[-1])
        self.assertFalse([name for name in contents[-1] if name.startswith(".")])

    def test_flowgraphs_are_freed(self):
        """With all that is in them, or a receiver could not be opened again."""
        self.configuration(f"""\
tracking: {{direction: "Cas A"}}
beams: {{directions: "grid:az=180,el=60", file: "{self.folder}/p-{{time}}.fil"}}
search: {{trials: "dm=0:20:10", candidates: "{self.folder}/c-{{time}}.ecsv"}}
ring: {{file: "{self.folder}/d-{{id}}-{{time}}.dada", seconds: 1}}
""")
        configuration = Configuration(str(self.edited("duration: 0.5")))
        held = []
        for _ in range(3):
            self.assertEqual(0, self.run_service(configuration)[0])
            gc.collect()
            # descriptors of buffers between blocks, in shared memory
            held.append(
                sum(
                    str(os.getpid()) == line.split()[4]
                    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
                )
            )
        self.assertEqual(held[0], held[-1])

    def test_settings_stay_after_a_failure(self):
        """Settings are made in the next flowgraph, stand in its files, and are said."""
        made, errors = [], []

        def make(configuration):
            chain = make_chain(configuration)
            progress = chain.progress
            if not made:
                chain.progress = lambda: 3 if fails.is_set() else progress()
            made.append(chain)
            return chain

        settings = [
            ("tracker", "direction", {"direction": "Cyg A"}),
            ("pointing", "direction", {"directions": ["az=90, el=50"]}),
            ("f_engine", "gains", {"gain": 2, "input": 1}),
            ("f_engine", "gains", {"gain": 3, "input": 1}),
            ("f_engine", "delays", {"delay": 1e-6, "input": 0, "model": "cable"}),
            ("xengine", "integration", {"seconds": 0.5}),
            ("beams", "weights", {"gain": 2}),
        ]
        fails = threading.Event()

        def after(instrument, set_one):
            for setting in settings:
                errors.append(set_one(*setting))
            # one that is refused is not kept
            self.assertIn("gain", set_one("f_engine", "gains", {"gain": "x"}))
            fails.set()
            self.wait_for(lambda: instrument.restarts and instrument.state == "running")
            self.wait_for(lambda: instrument.blocks["visibilities"].integrations() > 1)
            engine = instrument.blocks["f_engine"]
            found.update(
                direction=instrument.blocks["tracker"].direction().name,
                beam=instrument.blocks["pointing"].beams()[0].azimuth,
                gain=engine.gains(1)[0],
                delays=[d["delay"] for d in engine.delays(0) if d["model"] == "cable"],
                weights=instrument.blocks["beams"].gains(),
                about=instrument.describe()["settings"],
            )

        found = {}
        code, out, _ = self.run_watched(self.sky(), after, make=make)
        self.assertEqual(0, code)
        self.assertEqual([None] * len(settings), errors)
        self.assertEqual(("Cyg A", 90.0), (found["direction"], found["beam"]))
        self.assertEqual(3, found["gain"])
        self.assertEqual([1e-6], found["delays"])
        np.testing.assert_array_equal(2, found["weights"])
        # the second gain has taken the place of the first
        self.assertEqual(
            [(block, port, value) for block, port, value in settings if value.get("gain") != 2]
            + [settings[-1]],
            sorted_as(settings, found["about"]),
        )
        kept = [line for line in out.splitlines() if "kept: " in line]
        self.assertEqual(len(settings) - 1, len(kept), out)
        self.assertIn("6 settings made while it ran", out)
        last = sorted(self.folder.glob("v-*.uvh5"), key=os.path.getmtime)[-1]
        with h5py.File(last) as file:
            history = file["Header/history"][()].decode()
            self.assertEqual(b"Cyg A", file["Header/phase_center_catalog/0/cat_name"][()])
            np.testing.assert_allclose(file["Header/integration_time"][0], 0.5, rtol=0.05)
        for text in ("delays follow Cyg A (ra ", "gains of input 1: gain 3", "model cable"):
            self.assertIn(text, history)
        beside = sorted(self.folder.glob("p-*.fil.yml"), key=os.path.getmtime)[-1].read_text()
        self.assertIn('# tracker/direction {"direction": "Cyg A"}, set at 2', beside)

    def test_settings_and_a_new_configuration(self):
        """A new configuration wins where it changes what was set, and only there."""
        configuration = self.sky()

        def after(instrument, set_one):
            self.assertIsNone(set_one("tracker", "direction", {"direction": "Cyg A"}))
            self.assertIsNone(set_one("f_engine", "gains", {"gain": 2, "input": 1}))
            self.assertIsNone(set_one("pointing", "direction", {"directions": ["az=90, el=50"]}))
            first = instrument.blocks["tracker"]
            self.sky(
                tracking='{direction: "Tau A"}',
                service="{restart: true, restart_after: 0.1, watchdog: 3}",
            )
            os.kill(os.getpid(), signal.SIGHUP)
            self.wait_for(lambda: instrument.blocks.get("tracker") not in (None, first))
            self.wait_for(lambda: instrument.state == "running")
            found.append(instrument.blocks["tracker"].direction().name)
            found.append(abs(instrument.blocks["f_engine"].gains(1)[0]))
            found.append(instrument.blocks["pointing"].beams()[0].azimuth)
            found.append([each["port"] for each in instrument.describe()["settings"]])

        found = []
        code, out, _ = self.run_watched(configuration, after)
        self.assertEqual(0, code)
        self.assertEqual(["Tau A", 2.0, 90.0, ["gains", "direction"]], found)
        self.assertIn('not kept: tracker/direction {"direction": "Cyg A"}, set at 2', out)
        self.assertIn("the new configuration has another tracking.direction", out)

    def test_settings_that_the_next_flowgraph_refuses(self):
        """One for a block that is no more there is said, and is gone."""

        def after(instrument, set_one):
            self.assertIsNone(set_one("beams", "weights", {"gain": 2}))
            self.configuration("service: {watchdog: 3}\n")
            os.kill(os.getpid(), signal.SIGHUP)
            self.wait_for(
                lambda: (
                    instrument.state == "running"
                    and instrument.blocks
                    and "beams" not in instrument.blocks
                )
            )
            self.assertEqual([], instrument.describe()["settings"])

        # the section goes, and with it all that it says
        with mock.patch("gnuradio.aperture.commands.observe_service.said_by", lambda *_: None):
            code, _, err = self.run_watched(self.sky(), after)
        self.assertEqual(0, code)
        self.assertIn('not kept: beams/weights {"gain": 2}, set at 2', err)
        self.assertIn("there is no such control", err)

    def test_hooks_see_the_blocks(self):
        """Hooks see the blocks as monitoring does: before the start, by name, with their ports."""
        configuration = self.configuration(f"""\
ring: {{file: "{self.folder}/d-{{id}}-{{time}}.dada", seconds: 1}}
tracking: {{direction: "Cas A"}}
beams: {{directions: "grid:az=180,el=60", file: "{self.folder}/p-{{time}}.fil"}}
""")
        self.edited("duration: 1")
        instrument = Instrument("test", configuration.sections, "0")
        seen = []
        instrument.before_start(lambda found: seen.append(found.describe()))
        with contextlib.redirect_stdout(io.StringIO()):
            Service(Configuration(configuration.path), instrument, Notifier({})).run()
        (about,) = seen
        self.assertEqual("voltage_ring", about["blocks"]["ring"]["type"])
        self.assertIn("gains", about["blocks"]["f_engine"]["in"])
        self.assertIn("status", about["blocks"]["tracker"]["out"])
        self.assertEqual(2, len(about["array"]["antennas"]))
        self.assertEqual("beam_power", about["blocks"]["beams"]["type"])
        self.assertEqual(1, len(about["beams"]))
        self.assertIn("az 180.000° el 60.000°", about["beams"][0]["direction"])
        self.assertEqual("starting", about["state"])


def sorted_as(order, about):
    """(block, port, value) of descriptions of settings, in the order of a list of such."""
    found = [(each["block"], each["port"], each["value"]) for each in about]
    return sorted(found, key=order.index)


if __name__ == "__main__":
    gr_unittest.run(qa_observe_service)
