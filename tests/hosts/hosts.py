# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
An array on several hosts, each a network namespace of this computer, with a cable to one switch:
digitisers, two F-engines, two X-engines. Needs root.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from places import SOURCE

PORT = 7148
SYNC = 1700000000
RATE = 200000  # Hz
INPUTS, CHANNELS, TAPS = 4, 32, 4
HOP = 2 * CHANNELS
SPECTRA = 64  # spectra of a heap and of a frame
FRAMES = 25  # frames of an integration
GAIN = 0.4
SAMPLES = 2048  # samples of a digitiser's heap
INTEGRATION = FRAMES * SPECTRA * HOP / RATE  # s, 0.512
ROUNDED = 510  # error of an integration's sum: two steps of one voltage
PATIENCE = 200  # s, for what takes seconds where nothing else runs
HOSTS = {"d": 1, "f0": 2, "f1": 3, "x0": 4, "x1": 5}

ARRAY = """name: hosts
latitude: -30.7
longitude: 21.4
height: 1000
sample_rate: {rate}
center_frequency: 1.0e+9
antennas:
  - {{name: A, position: [0, 0, 0]}}
  - {{name: B, position: [30, 10, 0]}}
inputs:
  - {{antenna: A, polarization: x}}
  - {{antenna: A, polarization: y}}
  - {{antenna: B, polarization: x}}
  - {{antenna: B, polarization: y}}
"""

INPUT = (
    "spead::{port},rate={rate},freq=1e9,sync={sync},type=s8,samples={samples},inputs=4,"
    "heaps=4,window=48"
)
PLAN = """input: {{source: "{input}"}}
array: {{description: "{folder}/array.yml"}}
engines: {{channels: {channels}, taps: {taps}, spectra_per_frame: {spectra},
          integration: {integration}, gain: {gain}}}
device: {{name: emulated}}
network: {{spectra_per_heap: {spectra}, window: {window}, rate_factor: 0}}
hosts:
  f0: {{role: f, inputs: 0/2}}
  f1: {{role: f, inputs: 1/2, device: "emulated:1"}}
  x0: {{role: x, channels: 0/2, address: "10.37.0.4:{port}", output: "{folder}/x0-{{time}}.uvh5"}}
  x1: {{role: x, channels: 1/2, address: "10.37.0.5:{port}", output: "{folder}/x1-{{time}}.uvh5",
       device: "emulated:1"}}
"""


def may_use_namespaces():
    """Returns whether this process may make network namespaces."""
    name = f"gap{os.getpid()}t"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
    if made:
        subprocess.run(["ip", "netns", "del", name])
    return made


def ip(*words, check=True):
    subprocess.run(
        ["ip", *map(str, words)],
        check=check,
        stdout=subprocess.DEVNULL,
        stderr=None if check else subprocess.DEVNULL,
    )


class Network:
    """The hosts, as a context manager."""

    def __init__(self):
        self._mark = f"gap{os.getpid()}"
        self._switch = f"{self._mark}s"

    def namespace(self, host):
        return f"{self._mark}{host}"

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self):
        ip("netns", "add", self._switch)
        ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self._switch, "link", "set", "bridge", "up")
        for host, number in HOSTS.items():
            there = self.namespace(host)
            ip("netns", "add", there)
            ip(
                "link",
                "add",
                "name",
                f"to-{host}",
                "netns",
                self._switch,
                "mtu",
                9000,
                "type",
                "veth",
                "peer",
                "name",
                "eth",
                "netns",
                there,
                "mtu",
                9000,
            )
            ip("-n", self._switch, "link", "set", f"to-{host}", "master", "bridge", "up")
            ip("-n", there, "addr", "add", f"10.37.0.{number}/24", "dev", "eth")
            ip("-n", there, "link", "set", "eth", "up")
            ip("-n", there, "link", "set", "lo", "up")

    def __exit__(self, *_):
        for host in HOSTS:
            ip("netns", "del", self.namespace(host), check=False)
        ip("netns", "del", self._switch, check=False)

    def start(self, host, *command, log):
        """A process on a host."""
        with open(log, "a") as file:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.namespace(host), *map(str, command)],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def command(self, host, *words):
        """A command on a host, to its end."""
        subprocess.run(
            ["ip", "netns", "exec", self.namespace(host), *map(str, words)],
            check=True,
            capture_output=True,
        )

    def listens(self, host):
        """Returns whether somebody listens to the port there."""
        found = subprocess.run(
            ["ip", "netns", "exec", self.namespace(host), "cat", "/proc/net/udp"],
            capture_output=True,
            text=True,
        ).stdout
        return f":{PORT:04X} " in found

    def wait_for(self, hosts, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not all(self.listens(host) for host in hosts):
            if time.monotonic() > end:
                raise TimeoutError(f"not all of {hosts} listen")
            time.sleep(0.05)

    # ---- what may happen to a cable

    def cut(self, host, on):
        """Takes a host's cable out, or puts it in again."""
        ip("-n", self._switch, "link", "set", f"to-{host}", "down" if on else "up")

    def lose(self, host, percent):
        """Lets what comes to a host be lost at random; 0: no more."""
        self.command(host, "nft", "flush", "ruleset")
        if percent:
            self.command(
                host,
                "nft",
                "add table inet t; add chain inet t c { type filter hook "
                "input priority 0 ; }; add rule inet t c udp dport "
                f"{PORT} numgen random mod 100 < {percent} drop",
            )

    def slow(self, host, kilobits):
        """Makes what leaves a host that slow; 0: no more."""
        base = ["tc", "qdisc"]
        if kilobits:
            self.command(
                host,
                *base,
                "replace",
                "dev",
                "eth",
                "root",
                "tbf",
                "rate",
                f"{kilobits}kbit",
                "burst",
                "32k",
                "latency",
                "200ms",
            )
        else:
            self.command(host, *base, "del", "dev", "eth", "root")


class Observation:
    """
    The files of a run, its processes, and what a single process makes of the same samples, which
    are sent again and again, of so many seconds, until stop().
    """

    def __init__(self, folder, seconds=10, seed=1, window=3.0):
        self.folder = pathlib.Path(folder)
        rng = np.random.default_rng(seed)
        common = rng.normal(size=int(seconds * RATE))
        own = rng.normal(size=(INPUTS, len(common)))
        self.samples = np.clip(np.rint(20 * (0.5 * common + own)), -127, 127).astype(np.int8)
        np.save(self.folder / "samples.npy", self.samples)
        (self.folder / "array.yml").write_text(ARRAY.format(rate=float(RATE)))
        (self.folder / "plan.yml").write_text(
            PLAN.format(
                input=INPUT.format(port=PORT, rate=RATE, sync=SYNC, samples=SAMPLES),
                port=PORT,
                folder=self.folder,
                channels=CHANNELS,
                taps=TAPS,
                spectra=SPECTRA,
                integration=INTEGRATION,
                gain=GAIN,
                window=window,
            )
        )

    def log(self, host):
        return self.folder / f"{host}.log"

    def start_host(self, network, host):
        return network.start(
            host,
            SOURCE / "tools/run",
            "aperture_fx",
            "--plan",
            self.folder / "plan.yml",
            "--host",
            host,
            log=self.log(host),
        )

    def start_digitisers(self, network):
        return network.start(
            "d",
            SOURCE / "tools/run",
            "python3",
            SOURCE / "tests/hosts/digitisers.py",
            self.folder / "samples.npy",
            log=self.log("d"),
        )

    def stop(self):
        """Lets the digitisers end what they send."""
        (self.folder / "stop").touch()

    def wait_for_files(self, pattern, count, seconds=PATIENCE):
        """Until there are so many files of a pattern."""
        end_ = time.monotonic() + seconds
        while len(list(self.folder.glob(pattern))) < count:
            if time.monotonic() > end_:
                raise TimeoutError(f"{pattern}: not {count} files")
            time.sleep(0.05)

    def single(self):
        """(times, visibilities [integration][baseline][channel][polarisation]) of one process."""
        raw = self.folder / "samples.s8"
        sent = int((self.folder / "sent").read_text())
        self.samples[:, np.arange(sent) % self.samples.shape[1]].T.tofile(raw)
        done = subprocess.run(
            [
                SOURCE / "tools/run",
                "aperture_fx",
                "--input",
                f"raw:{raw},type=s8,rate={RATE},freq=1e9,inputs={INPUTS},time={SYNC}",
                "--array",
                self.folder / "array.yml",
                "--channels",
                str(CHANNELS),
                "--taps",
                str(TAPS),
                "--spectra-per-frame",
                str(SPECTRA),
                "--integration",
                str(INTEGRATION),
                "--gain",
                str(GAIN),
                "--device",
                "cpu",
                "-o",
                self.folder / "single.uvh5",
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return read(self.folder / "single.uvh5")

    def merged(self):
        """Returns all files of the X-engines together, as read() does."""
        parts = sorted(self.folder.glob("x?-*.uvh5"))
        done = subprocess.run(
            [SOURCE / "tools/run", "aperture_merge", *parts, "-o", self.folder / "merged.uvh5"],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return read(self.folder / "merged.uvh5")


def read(path):
    """Times (Julian dates), visibilities and nsamples, [integration][baseline][channel][pol], of
    integrations that were not cut off."""
    with h5py.File(path) as file:
        baselines = int(file["Header/Nbls"][()])
        shape = (-1, baselines, *file["Data/visdata"].shape[1:])
        whole = file["Header/integration_time"][::baselines] > 0.999 * INTEGRATION
        return (
            file["Header/time_array"][::baselines][whole],
            file["Data/visdata"][:].reshape(shape)[whole],
            file["Data/nsamples"][:].reshape(shape)[whole],
        )


def compare(single, merged):
    """
    Compares the integrations of several hosts with those of a single process.

    They are the same, bit by bit, but for a voltage in some 10^7 that two FFTs round to
    neighbouring steps, which changes a sum by 2 * 127 + 1 at most, where wrong samples change it by
    thousands.

    Returns a dictionary: `times`, that both have; `complete`, which of them are, [time][channel];
    `wrong`, complete cells that differ by more than ROUNDED; `rounded`, that differ by less;
    `alien`, times that the single has not; `partial`, `flagged`, cells of which some, or none, of
    the spectra are there.
    """
    times, values, _ = single
    found, visibilities, samples = merged
    length = INTEGRATION / 86400
    place = np.rint((found - times[0]) / length).astype(int)
    near = np.abs(found - times[0] - place * length) < 0.01 * length
    known = near & (place >= 0) & (place < len(times))
    complete = (samples == 1).all(axis=(1, 3))[known]
    step = np.abs(visibilities[known] - values[place[known]]).max(axis=(1, 3)) * FRAMES * SPECTRA
    return dict(
        times=place[known],
        complete=complete,
        wrong=int((complete & (step > ROUNDED)).sum()),
        rounded=int((complete & (step > 0) & (step <= ROUNDED)).sum()),
        alien=int((~known).sum()),
        partial=((samples > 0) & (samples < 1)).any(axis=(1, 3))[known],
        flagged=(samples == 0).all(axis=(1, 3))[known],
    )


def end(process, seconds=30, number=signal.SIGINT):
    """Ends a process, if it does not end by itself; returns its exit code, None: it hung."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return None
