# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
aperture_observe as a program: signals, what it tells systemd, files that follow on each other,
receivers that fail, a disk that is full, and the shipped examples.
"""

import contextlib
import json
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
from dataclasses import replace

import h5py
import numpy as np
import yaml

from gnuradio.aperture.arrays.array_description import load_array, save_array
from gnuradio.aperture.commands import observe as command
from gnuradio.aperture.commands.observe_chain import make_chain
from gnuradio.aperture.commands.observe_plan import Configuration
from gnuradio.aperture.packages import environment
from gnuradio.aperture.testing.disks import small_disk
from gnuradio.aperture.testing.observations import run as run_main
from gnuradio.aperture.testing.packets import free_port
from gnuradio.aperture.testing.tiers import ALL
from places import PATIENCE, SOURCE, fresh_folder, main, need_program, run, run_or_fail, working_in
from test_receivers import environment as receivers_environment
from test_receivers import need_receivers

EXAMPLES = SOURCE / "examples/instruments"
OPERATION = SOURCE / "examples/operation"
MONITORING = SOURCE / "examples/monitoring"
RATE = 1e5


def integrations(folder):
    """Returns for all files of visibilities, by name, in their order of time: seconds of the middle
    and length of each integration."""
    found = {}
    for path in sorted(folder.glob("*.uvh5")):
        with h5py.File(path) as file:
            rows = file["Header/Nblts"][()] // file["Header/Ntimes"][()]
            assert file["Data/visdata"].shape[0] == file["Header/Nblts"][()]
            found[path.name] = (
                np.array(file["Header/time_array"][::rows]) * 86400,
                np.array(file["Header/integration_time"][::rows]),
            )
    return dict(sorted(found.items(), key=lambda each: each[1][0][0]))


def observe(test, *arguments, code=0):
    """Returns what aperture_observe says in this process, errors included."""
    found, out, err = run_main(command, *arguments)
    test.assertEqual(code, found, out + err)
    return out + err


def series_of(text):
    """{series: value} of Prometheus' format of text."""
    return {
        series: float(value)
        for series, _, value in (
            line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")
        )
    }


def is_true(expression, before, now):
    """Evaluates an expression of Prometheus of one metric and a limit, with two readings of all
    series; Prometheus does what the range in [] says."""
    increase, metric, sign, limit = re.fullmatch(
        r"(increase\()?(\w+)(?:\[\w+\]\))? (==|<|>) (\S+)", expression
    ).groups()
    found = {key: value for key, value in now.items() if key.partition("{")[0] == metric}
    compare = {"==": float.__eq__, "<": float.__lt__, ">": float.__gt__}[sign]
    return any(
        compare(value - (before.get(key, value) if increase else 0.0), float(limit))
        for key, value in found.items()
    )


PYUVDATA = """
import sys, warnings
import numpy as np
from pyuvdata import UVData
warnings.simplefilter("ignore")
times = []
for path in sys.argv[1:]:
    data = UVData.from_file(path)  # runs its check
    times += list(np.unique(data.time_array))
    assert "aperture_observe" in data.history
print(len(times), np.ptp(np.diff(sorted(times)[:-1])) * 86400)
"""


class Running:
    """A program that was started, with what it says and what it tells systemd."""

    count = 0

    def __init__(self, test, configuration, environment=None, watchdog=None, more=()):
        self.test, self.messages = test, []
        Running.count += 1
        self.path = configuration.parent / f"notify{Running.count}"
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        # Linux drops what comes when ten messages wait
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        found = {**(environment or os.environ), "NOTIFY_SOCKET": str(self.path)}
        if watchdog:
            found["WATCHDOG_USEC"] = str(int(watchdog * 1e6))
        self.process = subprocess.Popen(
            [sys.executable, SOURCE / "apps/aperture_observe", configuration, *more],
            env=found,
            cwd=configuration.parent,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        test.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.listen_to_the_end()
        self.socket.close()

    def listen(self):
        """Keeps all messages, each as a dictionary, until an empty one comes."""
        while text := self.socket.recv(1 << 16).decode():
            self.messages.append(dict(line.split("=", 1) for line in text.split("\n")))

    def listen_to_the_end(self):
        """After the process has ended: until all that it said is in `messages`."""
        if self.listener.is_alive():
            self.socket.sendto(b"", str(self.path))
            self.listener.join()

    def wait_for(self, what, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until or self.process.poll() is not None:
                self.process.kill()
                self.test.fail(f"{what}: did not come; {self.process.communicate()[0]}")
            time.sleep(0.05)

    def wait_until_ready(self, times=1):
        self.wait_for_messages("READY", times)

    def wait_for_messages(self, key, times):
        self.wait_for(key, lambda: sum(key in each for each in list(self.messages)) >= times)

    def stop(self, number=signal.SIGTERM, code=0):
        self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=PATIENCE)
        self.test.assertEqual(code, self.process.returncode, output)
        self.listen_to_the_end()
        return output


class TestObserve(unittest.TestCase):
    def setUp(self):
        self.folder = fresh_folder("observe")
        array = load_array("two-dish")
        array.sample_rate = RATE
        save_array(array, self.folder / "two.yml")
        self.path = self.folder / "lab.yml"

    def write(self, **sections):
        """A configuration; sections take the place of those here."""
        found = {
            "instrument": {"name": "lab"},
            "input": {"source": f"sim:{self.folder}/two.yml"},
            "engines": {"channels": 64, "integration": 0.2},
            "outputs": {"file": f"{self.folder}/v-{{time}}.uvh5", "roll_seconds": 3},
            **sections,
        }
        self.path.write_text(yaml.safe_dump({key: value for key, value in found.items() if value}))
        return self.path

    def check_times(self, found, length=None):
        """All integrations follow on each other: none is lost, none comes twice."""
        times = np.concatenate([times for times, _ in found.values()])
        lengths = np.concatenate([lengths for _, lengths in found.values()])
        steps = np.diff(times)
        # from the middle of one to that of the next
        np.testing.assert_allclose(steps, (lengths[1:] + lengths[:-1]) / 2, atol=1e-3)
        # the last one is of what had come
        np.testing.assert_allclose(lengths[:-1], lengths[0], rtol=1e-9)
        return len(times)

    def test_a_service(self):
        """READY, STATUS and signs of life; SIGHUP lets new files begin; SIGTERM ends all well."""
        running = Running(self, self.write(), watchdog=2)
        running.wait_until_ready()
        running.wait_for("files", lambda: len(list(self.folder.glob("v-*.uvh5"))) > 2)
        before = set(self.folder.glob("v-*.uvh5"))
        running.process.send_signal(signal.SIGHUP)
        running.wait_until_ready(2)
        # a wrong file changes nothing
        good = self.path.read_text()
        self.path.write_text(good.replace("channels: 64", "channels: 65"))
        running.process.send_signal(signal.SIGHUP)
        running.wait_until_ready(3)
        self.path.write_text(good)
        running.wait_for("more", lambda: len(set(self.folder.glob("v-*.uvh5")) - before) > 1)
        running.wait_for_messages("WATCHDOG", 3)
        output = running.stop()
        self.assertIn("lab.yml:2: engines.channels: 65: expected an even number", output)
        self.assertIn("the configuration stays as it was", output)
        self.assertEqual([], list(self.folder.glob(".v-*")))
        messages = running.messages
        self.assertIn("integrations", messages[0]["STATUS"])
        self.assertEqual(str(running.process.pid), messages[0]["MAINPID"])
        self.assertEqual(2, sum("RELOADING" in each for each in messages))
        self.assertTrue(
            all(int(each["MONOTONIC_USEC"]) > 0 for each in messages if "RELOADING" in each)
        )
        self.assertIn("STOPPING", messages[-1])
        found = integrations(self.folder)
        count = self.check_times(found)
        self.assertIn(f"ended: {count} integrations", output)
        # at full multiples of three seconds, as the simulation begins, but for those of two SIGHUP
        odd = [name for name in found if int(re.search(r"(\d\d)Z", name)[1]) % 3]
        self.assertLessEqual(len(odd), 2)
        with h5py.File(self.folder / list(found)[-1]) as file:
            history = file["Header/history"][()].decode()
        self.assertIn('configuration of lab: {"engines": {"channels": "64"', history)
        self.read_with_pyuvdata(sorted(map(str, self.folder.glob("v-*.uvh5"))), count)

    def read_with_pyuvdata(self, paths, count):
        if not environment.is_installed("conversion"):
            if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
                self.fail("pyuvdata is not installed")
            return
        output = run_or_fail(self, environment.folder() / "bin/python3", "-c", PYUVDATA, *paths)
        found, spread = output.split()[-2:]
        self.assertEqual(count, int(found))
        self.assertLess(float(spread), 1e-3)

    def test_several_devices(self):
        """Two devices correlate the same as one."""
        found = []
        for device in ({"name": "emulated"}, {"names": "emulated:0,emulated:1"}):
            folder = fresh_folder("observe-devices")
            self.write(
                input={"source": f"sim:{self.folder}/two.yml", "duration": 2},
                outputs={"file": f"{folder}/v-{{time}}.uvh5"},
                device=device,
                tracking={"direction": "zenith"},
                # 320 spectra: a GPU takes multiples of 16
                engines={"channels": 64, "integration": 0.2048},
            )
            engines = {
                name
                for name in make_chain(Configuration(self.path)).named_blocks()
                if "engine" in name
            }
            self.assertEqual(
                engines,
                {"f_engine", "xengine"}
                if "name" in device
                else {"f_engine0", "f_engine1", "xengine0", "xengine1"},
            )
            output = observe(self, self.path)
            self.assertIn("ended: 10 integrations", output)
            with h5py.File(next(folder.glob("*.uvh5"))) as file:
                found.append((file["Data/visdata"][...].tobytes(), file["Header/uvw_array"][...]))
        self.assertEqual(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])

    def test_another_configuration(self):
        """SIGHUP with a file that has changed: the flowgraph is made anew."""
        running = Running(self, self.write())
        running.wait_until_ready()
        running.wait_for("files", lambda: len(list(self.folder.glob("v-*.uvh5"))) > 1)
        self.write(
            outputs={"file": f"{self.folder}/w-{{time}}.uvh5"},
            engines={"channels": 32, "integration": 0.2},
        )
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("files", lambda: list(self.folder.glob("w-*.uvh5")))
        output = running.stop(signal.SIGINT)
        self.assertIn("made anew", output)
        found = integrations(self.folder)
        self.check_times({name: each for name, each in found.items() if name[0] == "v"})
        with h5py.File(next(self.folder.glob("w-*.uvh5"))) as file:
            self.assertEqual(32, file["Header/Nfreqs"][()])
            self.assertIn('"channels": "32"', file["Header/history"][()].decode())

    def test_receivers_that_fail(self):
        """Again and again: what came is written each time, and what goes on is not disturbed."""
        need_receivers(self)
        source = (
            "soapy:driver=aperture_test,serial=1;driver=aperture_test,serial=2,rate=1e6,"
            "freq=1420.4e6"
        )
        path = self.write(
            input={"source": source},
            engines={"channels": 128, "integration": 0.1},
            service={"restart": True, "restart_after": 0.1, "restart_longest": 0.2},
        )
        running = Running(self, path, receivers_environment("serial=1;serial=2,fails=1.5e6:error"))
        running.wait_for(
            "restarts",
            lambda: any(
                re.search(r"([2-9]|\d\d+) restarts", each.get("STATUS", ""))
                for each in list(running.messages)
            ),
        )
        output = running.stop()
        self.assertGreaterEqual(len(re.findall("stopped sending after", output)), 2)
        self.assertIn("once more in 0.1 s", output)
        found = integrations(self.folder)
        self.assertGreater(sum(len(times) for times, _ in found.values()), 8)
        self.assertEqual([], list(self.folder.glob(".v-*")))

    def test_a_receiver_that_fails_without_restart(self):
        need_receivers(self)
        path = self.write(
            input={"source": "soapy:driver=aperture_test,serial=1,rate=1e6,freq=1420.4e6"},
            engines={"channels": 128, "integration": 0.1},
            array={"description": self.one_antenna()},
        )
        running = Running(self, path, receivers_environment("serial=1,fails=1e6:error"))
        output, _ = running.process.communicate(timeout=PATIENCE)
        self.assertEqual(1, running.process.returncode, output)
        self.assertIn("stopped sending", output)

    def one_antenna(self):
        array = load_array("two-dish")
        array.antennas, array.inputs = array.antennas[:1], array.inputs[:1]
        save_array(array, self.folder / "one.yml")
        return str(self.folder / "one.yml")

    def test_a_small_disk(self):
        """The oldest files go, those that stay are whole, and nothing between them is lost."""
        # some seconds of a simulation on a fast machine cannot fill the space that is kept free
        with small_disk(self, 62000) as disk:
            path = self.write(
                outputs={
                    "file": f"{disk}/v-{{time}}.uvh5",
                    "roll_bytes": "300 kB",
                    "least_free_bytes": "59500 kB",
                    "when_full": "oldest",
                },
                engines={"channels": 256, "integration": 0.5},
            )
            running = Running(self, path)
            running.wait_until_ready()
            first = []

            def full_twice():
                first.extend(disk.glob("v-*.uvh5") if not first else [])
                return first and not first[0].exists() and len(list(disk.glob("v-*"))) > 2

            running.wait_for("removal", full_twice)
            time.sleep(2)
            output = running.stop()
            self.assertRegex(output, r"v-\d+T\d+Z.uvh5: removed, because the disk is nearly full")
            found = integrations(disk)
            self.assertGreater(len(found), 2)
            self.check_times(found)
            for name in found:
                self.assertLessEqual((disk / name).stat().st_size, 300_000)
            self.assertEqual(sorted(found), sorted(entry.name for entry in disk.iterdir()))

    def test_a_full_disk_sets_off_the_alarms(self):
        """The rules for Prometheus that are among the examples, evaluated with what it would read:
        they are silent while there is room, and say so when there is none."""
        rules = yaml.safe_load((MONITORING / "alarms.yml").read_text())["groups"][0]["rules"]
        with small_disk(self, 80000) as disk:
            with socket.create_server(("127.0.0.1", 0)) as sock:
                port = sock.getsockname()[1]
            path = self.write(
                outputs={"file": f"{disk}/v-{{time}}.uvh5", "least_free_bytes": "40 MB"},
                monitoring={"listen": f"127.0.0.1:{port}"},
            )
            running = Running(self, path)
            running.wait_until_ready()
            scraped = [{}]

            def firing():
                """Returns the alarms by what is now, and was when this was called before."""
                url = f"http://127.0.0.1:{port}/metrics"
                with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                    scraped.append(series_of(answer.read().decode()))
                return {
                    rule["alert"]
                    for rule in rules
                    if is_true(rule["expr"].replace("20e9", "40e6"), *scraped[-2:])
                }

            disk_alarms = {"ApertureNotRecording", "ApertureDiskNearlyFull", "ApertureLeftOut"}
            silent = lambda: not (disk_alarms | {"ApertureDown"}) & firing()
            running.wait_for("silence", lambda: silent() and "aperture_recording" in scraped[-1])
            (disk / "other").write_bytes(bytes(48 << 20))
            running.wait_for("alarms", lambda: disk_alarms <= firing())
            self.assertNotIn("ApertureDown", firing())
            (disk / "other").unlink()
            running.wait_for("silence", silent)
            count = 'aperture_output_files_total{output="visibilities"}'
            running.wait_for("another file", lambda: silent() and scraped[-1][count] >= 2)
            running.stop()
        self.assertGreater(scraped[-1]['aperture_output_bytes_total{output="visibilities"}'], 1e4)

    def test_a_disk_that_somebody_else_fills(self):
        """At once, before anybody looks: the files are whole, and it ends with an error."""
        with small_disk(self, 3000) as disk:
            path = self.write(
                outputs={"file": f"{disk}/v-{{time}}.uvh5", "roll_seconds": 3},
                engines={"channels": 256, "integration": 0.5},
            )
            running = Running(self, path)
            running.wait_for("files", lambda: len(list(disk.glob("v-*.uvh5"))) > 1)
            with contextlib.suppress(OSError), open(disk / "other", "wb") as file:
                file.write(bytes(4 << 20))
            output, _ = running.process.communicate(timeout=PATIENCE)
            self.assertEqual(1, running.process.returncode, output)
            self.assertIn("No space left on device", output)
            found = integrations(disk)
            self.check_times(found)
            self.assertEqual(
                sorted([*found, "other"]), sorted(entry.name for entry in disk.iterdir())
            )


class TestHosts(unittest.TestCase):
    def test_two_hosts(self):
        """An F-engine and an X-engine, each started by its name; a SIGTERM to the first ends both
        whole."""
        if not environment.is_installed("network"):
            if os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
                self.fail("spead2 is not installed")
            self.skipTest("spead2 is not installed")
        folder = fresh_folder("observe-hosts")
        array = load_array("two-dish")
        array.sample_rate = RATE
        save_array(array, folder / "two.yml")
        port = free_port()
        path = folder / "lab.yml"
        path.write_text(f"""\
input: {{source: "sim:{folder}/two.yml", duration: inf}}
engines: {{channels: 64, integration: 0.2, gain: 20}}
outputs: {{roll_seconds: 2}}
network: {{spectra_per_heap: 8}}
hosts:
  f0: {{role: f}}
  x0: {{role: x, address: "127.0.0.1:{port}", output: "x-{{time}}.uvh5"}}
""")
        receiver = Running(self, path, more=("--host", "x0"))
        receiver.wait_until_ready()
        sender = Running(self, path, more=("--host", "f0"))
        sender.wait_until_ready()
        receiver.wait_for("files", lambda: len(list(folder.glob("x-*.uvh5"))) > 2)
        sender.stop()
        output, _ = receiver.process.communicate(timeout=PATIENCE)
        self.assertEqual(0, receiver.process.returncode, output)
        found = integrations(folder)
        times = np.concatenate([times for times, _ in found.values()])
        self.assertGreater(len(times), 15)
        np.testing.assert_allclose(np.diff(times)[:-1], np.diff(times)[0], atol=1e-3)
        with h5py.File(folder / list(found)[0]) as file:
            self.assertIn('"hosts": {"f0": {"role": "f"}', file["Header/history"][()].decode())
        self.assertIn("the plan has f0, x0", observe(self, "--check", path, "--host", "z0", code=2))
        observe(self, "--check", path, "--host", "x0")


class TestOperation(unittest.TestCase):
    """Tests of what starts it on machines: units of systemd, and a job of Slurm."""

    def test_units(self):
        need_program(self, "systemd-analyze")
        folder = fresh_folder("units")
        for name, instance in (
            ("aperture-observe.service", "aperture-observe.service"),
            ("aperture-observe@.service", "aperture-observe@lab.service"),
        ):
            text = (OPERATION / name).read_text()
            self.assertEqual(2, text.count("/usr/bin/aperture_observe "))
            # the place of the program, and no manual page that may not be there
            text = text.replace("/usr/bin/aperture_observe", str(SOURCE / "apps/aperture_observe"))
            text = re.sub(r"Documentation=.*\n", "", text)
            (folder / instance).write_text(text)
            status, output = run("systemd-analyze", "verify", folder / instance)
            self.assertEqual((0, ""), (status, output))

    def test_job(self):
        """The script is told that its time is over, and ends when the files are whole."""
        folder = fresh_folder("job")
        array = load_array("two-dish")
        array.sample_rate = RATE
        save_array(array, folder / "two.yml")
        (folder / "lab.yml").write_text(
            f'input: {{source: "sim:{folder}/two.yml"}}\n'
            'engines: {channels: 64, integration: 0.2}\noutputs: {file: "v-{time}.uvh5"}\n'
        )
        process = subprocess.Popen(
            ["bash", OPERATION / "aperture-observe.slurm", folder / "lab.yml"],
            text=True,
            env={**os.environ, "SLURM_SUBMIT_DIR": str(folder)},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(process.kill)
        until = time.monotonic() + PATIENCE
        while not list(folder.glob("v-*.uvh5")) and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(0, process.returncode, output)
        self.assertIn("nothing is wrong with it", output)
        self.assertEqual(1, len(integrations(folder)))
        self.assertEqual([], list(folder.glob(".v-*")))


class TestExamples(unittest.TestCase):
    def test_examples_are_right(self):
        import jsonschema

        schema = json.loads((EXAMPLES / "aperture_observe.schema.json").read_text(encoding="utf-8"))
        paths = sorted(EXAMPLES.glob("*.yml"))
        self.assertGreaterEqual(len(paths), 4)
        for path in paths:
            with self.subTest(path=path.name):
                text = path.read_text(encoding="utf-8")
                self.assertEqual(
                    "# yaml-language-server: $schema=aperture_observe.schema.json",
                    text.splitlines()[0],
                )
                jsonschema.validate(yaml.safe_load(text), schema)
                with working_in(EXAMPLES):
                    observe(self, "--check", path)

    def test_plan_of_products_page(self):
        """The plan on docs/products.md is one that can be started."""
        page = (SOURCE / "docs/products.md").read_text(encoding="utf-8")
        plan = re.search(r"^```yaml\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)[1]
        folder = fresh_folder("observe-products")
        (folder / "B0329+54.par").write_bytes((SOURCE / "examples/B0329+54.par").read_bytes())
        (folder / "page.yml").write_text('input: {source: "sim:y8", duration: 30}\n' + plan)
        with working_in(folder):
            observe(self, "--check", "page.yml")

    def test_examples_of_modes(self):
        """Plans of today's modes, with the instruments' bands and fewer of their antennas."""
        modes = {path.stem: path for path in (EXAMPLES / "modes").glob("*.yml")}
        sys.path.insert(0, str(EXAMPLES))
        self.addCleanup(sys.path.remove, str(EXAMPLES))
        instruments = runpy.run_path(str(EXAMPLES / "correlate.py"))["INSTRUMENTS"]
        # the first channel, and the width of one
        bands = {
            "mwa-256": (154.24e6 - 16 * 1.28e6 - 0.64e6, 1.28e6 / 54),
            "meerkat-narrow": (1284e6 + 136.4e6 - 53.5e6, 107e6 / 32768),
            "ovro-lwa": (55e6 - 12.25e6, 98e6 / 4096),
        }
        self.assertEqual(set(modes), set(bands))
        for name, path in modes.items():
            with self.subTest(path=path.name):
                text = path.read_text(encoding="utf-8")
                command = re.search(r"correlate\.py (\S+) --write-array (\S+)\n", text)
                self.assertEqual(command[1], name)
                folder = fresh_folder(f"observe-{name}")
                few = replace(instruments[name], antennas=48 if "0-95" in text else 2)
                save_array(few.array(), folder / command[2])
                (folder / path.name).write_text(text)
                with working_in(folder):
                    observe(self, "--check", path.name)
                if not ALL:
                    continue
                # for a moment, of short integrations
                sections = yaml.safe_load(text)
                sections["input"]["duration"] = 0.02
                sections["engines"]["integration"] = 0.010106
                for product in sections.get("products", {}).values():
                    product["integration"] = 0.005
                sections["outputs"] = {"file": sections["outputs"]["file"]}
                (folder / path.name).write_text(yaml.safe_dump(sections))
                with working_in(folder):
                    observe(self, path.name)
                files = list(folder.glob("*-2*.uvh5"))
                self.assertEqual(len(files), 2 if "products" in sections else 1)
                first, width = bands[name]
                for each in files:
                    with h5py.File(each) as file:
                        frequencies = file["Header/freq_array"][()]
                    np.testing.assert_allclose(np.diff(frequencies), width, rtol=1e-6)
                    self.assertAlmostEqual(frequencies[0], first, delta=1e-3 * width)

    def test_examples_observe(self):
        """Each one on a simulation for a moment, with its own sections otherwise."""
        for path in sorted(EXAMPLES.glob("*.yml")):
            if not ALL and path.stem not in ("two-dish-lab", "y8", "y8-products"):
                continue  # instruments whose arrays take seconds
            with self.subTest(path=path.name):
                folder = fresh_folder("observe-examples")
                sections = yaml.safe_load(path.read_text(encoding="utf-8"))
                name = sections.get("array", {}).get("description", "two-dish")
                if sections["input"]["source"].startswith("sim:"):
                    name = sections["input"]["source"][4:].partition(",")[0]
                sections.pop("array", None)
                sections["input"] = {"source": f"sim:{name}", "duration": 0.05}
                sections["engines"]["integration"] = 0.01024
                sections.pop("monitoring", None)
                if len(load_array(name).inputs) > 16:
                    sections.pop("search", None)  # searches need a GPU's speed
                (folder / "x.yml").write_text(yaml.safe_dump(sections))
                for each in EXAMPLES.glob("*.beams"):
                    (folder / each.name).write_bytes(each.read_bytes())
                with working_in(folder):
                    observe(self, "x.yml")
                files = list(folder.glob("*-2*.uvh5"))
                self.assertTrue(files)


if __name__ == "__main__":
    main()
