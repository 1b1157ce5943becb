# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
An instrument that runs for hours: the simulated Y array with tracking, beams, search, ring of
voltages and monitoring, whose settings are changed at random, and whose receivers are lost and
found. Memory, threads, descriptors and shared memory must stay flat, and every spectrum that came
must be in the files, once. tools/soak runs it; docs/performance.md has figures of long runs.
"""

import argparse
import gc
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pmt
from gnuradio import gr

from gnuradio.aperture import array_source, monitoring
from gnuradio.aperture.arguments.version import __version__
from gnuradio.aperture.arrays.array_description import load_array, save_array
from gnuradio.aperture.commands.observe_plan import Configuration
from gnuradio.aperture.commands.observe_service import Service
from gnuradio.aperture.commands.terminal import prepare_streams
from gnuradio.aperture.inputs import registry
from gnuradio.aperture.inputs.input_format import InputFormat
from gnuradio.aperture.inputs.signals import Signals
from gnuradio.aperture.observatory.instrument import Instrument
from gnuradio.aperture.observatory.notify import Notifier

CHANNELS, TAPS, INTEGRATION = 64, 8, 0.5
#: growth of a run that is allowed beside a slope: allocators and caches settle
SETTLED_MEGABYTES, MEGABYTES_AN_HOUR = 40.0, 20.0
#: spectra of a run that its start and its end take: the F-engine reads on for delays
EDGE_SPECTRA = 3


class Receivers(InputFormat):
    """`soak:`, the array as receivers that are lost and found; their clock goes on meanwhile."""

    kind = "soak"
    summary = "for tools/soak"
    names = "ARRAY.yml"
    simulates = live = True

    def __init__(self, chance, rng):
        self._chance, self._rng = chance, rng
        self._time = (1704067200, 0.0)
        self.source = None
        self.runs = []  # (start, samples) of each
        self.lost = self.absent = 0

    def open(self, request):
        if self.runs and self._rng.random() < self._chance:
            self.absent += 1
            raise ValueError("the receivers are not there")
        description = load_array(request.names[0])
        start = self._time

        def source(samples):
            made = array_source(
                description,
                type="fc32",
                samples=samples,
                start_time=start,
                inputs_per_port=len(description.inputs),
                seed=len(self.runs) + 1,
            )
            if samples:  # for the gains
                return made
            self.source = Source(made, start)
            return self.source

        return Signals(
            description,
            "fc32",
            description.sample_rate,
            description.center_frequency,
            None,
            source,
            start,
        )

    def lose(self):
        """The receivers that run are unplugged."""
        if self.source is not None:
            self.lost += 1
            self.source.fail()

    def released(self, rate):
        """The flowgraph has ended: notes how many samples came; ten seconds pass."""
        if self.source is None:
            return
        samples = self.source.nitems_written(0)
        self.runs.append((self.source.start[0] + self.source.start[1], samples))
        end = self.source.start[1] + samples / rate + 10.25
        self._time = self.source.start[0] + int(end), end % 1
        self.source = None


class Source(gr.hier_block2):
    """The simulator, with the methods of a LiveSource that the commands call."""

    def __init__(self, block, start):
        size = block.output_signature().sizeof_stream_item(0)
        gr.hier_block2.__init__(
            self, "receivers", gr.io_signature(0, 0, 0), gr.io_signature(1, 1, size)
        )
        self._block, self._error, self.start_time = block, "", start
        self.connect(block, self)

    @property
    def start(self):
        return self.start_time

    def nitems_written(self, port):
        return self._block.nitems_written(port)

    def finish(self):
        self._block.finish()

    def fail(self):
        self._error = "the receivers were unplugged"
        self._block.finish()

    def error(self):
        return self._error


def resources(pid="self"):
    """Returns what a process holds now: MB, threads, descriptors, and segments of shared memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    number = int(Path(f"/proc/{pid}/status").read_text().split("\nPid:")[1].split()[0])
    field = lambda name: int(status.split(f"\n{name}:")[1].split()[0])
    segments = sum(
        int(line.split()[4]) == number or int(line.split()[5]) == number
        for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    )
    return {
        "megabytes": field("VmRSS") / 1024,
        "threads": field("Threads"),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "segments": segments,
    }


class Integrations:
    """Reads files that are whole, and removes them: times, lengths and counted spectra."""

    def __init__(self):
        self.times, self.lengths, self.counted = [], [], []
        self.files = Counter()

    def take(self, path):
        self.files[Path(path).suffix] += 1
        if path.endswith(".uvh5"):
            with h5py.File(path) as file:
                rows = file["Header/Nblts"][()] // file["Header/Ntimes"][()]
                self.times += list((file["Header/time_array"][::rows] - 2440587.5) * 86400)
                self.lengths += list(file["Header/integration_time"][::rows])
                self.counted += list(
                    file["Data/nsamples"][::rows, 0, 0] * file["Header/integration_time"][::rows]
                )
        for name in (path, path + ".yml", path + ".missing"):
            if os.path.exists(name):
                os.unlink(name)

    def problems(self, runs, rate):
        """Returns what is wrong with them, a line each; runs: (start, samples)."""
        order = np.argsort(self.times)
        times, lengths, counted = (
            np.array(each)[order] for each in (self.times, self.lengths, self.counted)
        )
        begins, ends = times - lengths / 2, times + lengths / 2
        hop = CHANNELS / rate
        found = []
        for start, samples in runs:
            inside = (times > start) & (times < start + samples / rate + INTEGRATION)
            wanted = max(0, samples // CHANNELS - TAPS + 1)
            spectra = counted[inside].sum() / hop
            if not wanted - EDGE_SPECTRA - 0.5 <= spectra <= wanted + 0.5:
                found.append(
                    f"of the run at {start:.3f}: {spectra:.1f} spectra are in the files, "
                    f"and {wanted} came"
                )
            steps = begins[inside][1:] - ends[inside][:-1]
            if len(steps) and np.max(np.abs(steps)) > 1e-3:
                found.append(
                    f"of the run at {start:.3f}: a step of {np.max(np.abs(steps)):.6f} s "
                    "between two integrations"
                )
        if len(np.unique(np.round(times, 3))) < len(times):
            found.append("an integration comes twice")
        return found


def slope(samples, name):
    """Per hour, of the second half of a run, by least squares; and its last less its first."""
    half = [(at, each[name]) for at, each in samples if at > samples[-1][0] / 3]
    if len(half) < 5:
        return 0.0, 0.0
    at, values = np.array(half, float).T
    rate = np.polyfit(at / 3600, values, 1)[0]
    return float(rate), float(rate * (at[-1] - at[0]) / 3600)


class Soak:
    """All of it, for so many hours."""

    def __init__(self, options):
        self.options, self.rng = options, random.Random(options.seed)
        self.folder = Path(tempfile.mkdtemp(prefix="soak", dir=options.folder))
        self.receivers = Receivers(0.3, self.rng)
        registry.kinds()["soak"] = self.receivers
        self.done, self.alarms, self.problems = Counter(), Counter(), []
        self.samples, self.server_samples = [], []
        self.integrations, self.whole = Integrations(), []
        self.begun = time.monotonic()
        self.stopping = threading.Event()
        self.instrument = self.publisher = None

    def configuration(self):
        array = load_array("y8")
        array.sample_rate = self.options.rate
        save_array(array, self.folder / "y8.yml")
        port = self.options.port
        path = self.folder / "soak.yml"
        path.write_text(f"""\
instrument: {{name: soak}}
input: {{source: "soak:{self.folder}/y8.yml"}}
engines: {{channels: {CHANNELS}, taps: {TAPS}, integration: {INTEGRATION}}}
tracking: {{direction: "Cas A"}}
outputs: {{file: "{self.folder}/v-{{time}}.uvh5", roll_seconds: 20, roll_bytes: 50 MB}}
beams:
  directions: "grid:ra=350.85,dec=58.815,columns=2,rows=1,spacing=0.02"
  file: "{self.folder}/p-{{time}}-{{beam}}.fil"
  integration: 0.01024
search: {{trials: "dm=0:20:5,threshold=12", candidates: "{self.folder}/c-{{time}}.ecsv"}}
ring: {{file: "{self.folder}/d-{{time}}-{{id}}.dada", seconds: 5, most_bytes: 1 TB}}
monitoring: {{listen: "127.0.0.1:{port}"}}
service: {{restart: true, restart_after: 0.2, restart_longest: 0.8, watchdog: 60}}
device: {{name: "{self.options.device}"}}
""")
        return Configuration(str(path))

    # ---- threads beside the instrument

    def listen(self, event):
        kind = event["event"]
        self.done[kind] += 1
        if kind == "file":
            self.whole.append(event["path"])
        elif kind == "alarm":
            self.alarms[event["text"].split(":")[0][:60]] += 1
        elif kind == "released":
            self.receivers.released(self.options.rate)

    def sample(self):
        """Looks at what is held, and takes the files, once a second."""
        while not self.stopping.wait(1.0):
            while self.whole:
                self.integrations.take(self.whole.pop(0))
            for pattern in ("d-*", "c-*.ecsv"):
                for path in self.folder.glob(pattern):
                    if time.time() - path.stat().st_mtime > 20:
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
            if self.instrument.state != "running":
                continue
            at = time.monotonic() - self.begun
            self.samples.append((at, resources()))
            pid = self.publisher.server_pid
            if pid is not None:
                try:
                    self.server_samples.append((at, resources(pid)))
                except OSError:
                    pass

    def disturb(self):
        """Changes settings at random, and loses the receivers."""
        next_loss = time.monotonic() + self.options.lost_every
        while not self.stopping.wait(self.rng.uniform(0.2, 1.0)):
            if time.monotonic() > next_loss and self.instrument.state == "running":
                next_loss = time.monotonic() + self.rng.uniform(0.7, 1.3) * self.options.lost_every
                self.receivers.lose()
                continue
            blocks = dict(self.instrument.blocks)
            if not blocks or self.instrument.state != "running":
                continue
            name = self.rng.choice(("direction", "gains", "pointing", "dump", "roll", "hangup"))
            try:
                getattr(self, f"change_{name}")(blocks)
                self.done[f"changed {name}"] += 1
            except RuntimeError:
                self.done["too late"] += 1  # the flowgraph has just ended
            del blocks

    def change_direction(self, blocks):
        direction = self.rng.choice(("Cas A", "Cyg A", "az=120, el=60", "zenith"))
        blocks["tracker"].track(direction)
        blocks["pointing"].set_tracked(direction)

    def change_gains(self, blocks):
        """Changes gains by a message, as from outside."""
        message = pmt.make_dict()
        for key, value in (
            ("input", pmt.from_long(self.rng.randrange(8))),
            ("gain", pmt.from_complex(complex(self.rng.uniform(20, 25)))),
        ):
            message = pmt.dict_add(message, pmt.intern(key), value)
        blocks["f_engine"].to_basic_block()._post(pmt.intern("gains"), message)

    def change_pointing(self, blocks):
        blocks["pointing"].set_phase_error(self.rng.uniform(0.5, 3))

    def change_dump(self, blocks):
        blocks["ring"].trigger(before=self.rng.uniform(0.1, 2.0), after=0.0)

    def change_roll(self, blocks):
        for name in ("visibilities", "powers"):
            blocks[name].roll_over()

    def change_hangup(self, blocks):
        if self.rng.random() < 0.2:
            os.kill(os.getpid(), signal.SIGHUP)

    def browse(self):
        """Requests what a page asks for."""
        number = 0
        while not self.stopping.wait(0.5):
            number += 1
            for page in ("/", "/metrics", "/api/v1/status", "/api/v1/state"):
                try:
                    with urllib.request.urlopen(
                        self.publisher.url.rstrip("/") + page, timeout=10
                    ) as answer:
                        answer.read()
                        self.done[f"GET {page} {answer.status}"] += 1
                except urllib.error.HTTPError as error:
                    self.done[f"GET {page} {error.code}"] += 1
                except OSError as error:
                    self.done[f"GET {page} {type(error).__name__}"] += 1

    def end(self):
        """Ends the instrument when its time has come."""
        if not self.stopping.wait(self.options.hours * 3600):
            os.kill(os.getpid(), signal.SIGTERM)

    # ---- the run

    def run(self):
        configuration = self.configuration()
        self.instrument = Instrument("soak", configuration.sections, __version__)
        self.instrument.on_publish(self.listen)
        self.publisher = monitoring.start(self.instrument, configuration.sections["monitoring"])
        threads = [
            threading.Thread(target=target, daemon=True)
            for target in (self.sample, self.disturb, self.browse, self.end)
        ]
        try:
            for thread in threads:
                thread.start()
            code = Service(configuration, self.instrument, Notifier({})).run()
            if code:
                self.problems.append(f"the service ended with {code}")
        finally:
            self.stopping.set()
            for thread in threads:
                thread.join(30)
            self.publisher.stop()
        for path in self.whole:
            self.integrations.take(path)
        gc.collect()
        self.check()
        return self.report()

    def check(self):
        self.problems += self.integrations.problems(self.receivers.runs, self.options.rate)
        hours = (time.monotonic() - self.begun) / 3600
        for what, samples in (("", self.samples), ("server: ", self.server_samples)):
            if len(samples) < 10:
                self.problems.append(f"{what}only {len(samples)} samples of resources")
                continue
            _, grown = slope(samples, "megabytes")
            allowed = SETTLED_MEGABYTES + MEGABYTES_AN_HOUR * hours
            if grown > allowed:
                self.problems.append(
                    f"{what}memory grew by {grown:.1f} MB; {allowed:.0f} are allowed"
                )
            third = len(samples) // 3
            for name in ("threads", "descriptors", "segments"):
                # a flowgraph that has just ended may still be held: what is there without it
                early = np.percentile([each[name] for _, each in samples[:third]], 25)
                late = np.percentile([each[name] for _, each in samples[-third:]], 25)
                if late > early + 4:
                    self.problems.append(f"{what}{name} grew from {early:.0f} to {late:.0f}")
        left = [path.name for path in self.folder.iterdir() if path.name.startswith(".")]
        if left:
            self.problems.append(f"hidden files are left: {', '.join(sorted(left))[:200]}")

    def report(self):
        hours = (time.monotonic() - self.begun) / 3600
        samples = sum(samples for _, samples in self.receivers.runs)
        found = {
            "hours": hours,
            "version": __version__,
            "sample_rate": self.options.rate,
            "signal_hours": samples / self.options.rate / 3600,
            "times_real_time": samples / self.options.rate / 3600 / hours,
            "runs": len(self.receivers.runs),
            "lost": self.receivers.lost,
            "not_there": self.receivers.absent,
            "restarts": self.instrument.restarts,
            "integrations": len(self.integrations.times),
            "files": dict(self.integrations.files),
            "done": dict(sorted(self.done.items())),
            "alarms": dict(self.alarms.most_common(12)),
            "resources": {
                what: {
                    name: {
                        "first": each[0][1][name],
                        "last": each[-1][1][name],
                        "most": max(entry[name] for _, entry in each),
                        "per_hour": slope(each, name)[0],
                    }
                    for name in each[0][1]
                }
                for what, each in (("instrument", self.samples), ("server", self.server_samples))
                if each
            },
            "problems": self.problems,
        }
        if self.options.report:
            Path(self.options.report).write_text(json.dumps(found, indent=2) + "\n")
        print(json.dumps(found, indent=2))
        return 1 if self.problems else 0


def main():
    parser = argparse.ArgumentParser(prog="tools/soak", description=__doc__)
    parser.add_argument("hours", type=float, help="how long, such as 2 or 0.05")
    parser.add_argument(
        "--rate",
        type=float,
        default=1e5,
        help="samples a second of each of eight "
        "inputs; they come as fast as they are taken (default: %(default)g)",
    )
    parser.add_argument(
        "--lost-every",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="between two failures of the receivers (default: %(default)g)",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=0, help="of the server (default: a free one)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--folder", help="where files are written and removed again")
    parser.add_argument("--report", metavar="FILE.json", help="the figures, which are printed, too")
    options = parser.parse_args()
    if not 0 < options.hours < math.inf:
        parser.error("hours: a number above 0")
    prepare_streams()
    gr.logging().set_default_level(gr.log_levels.err)
    soak = Soak(options)
    try:
        return soak.run()
    finally:
        shutil.rmtree(soak.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
