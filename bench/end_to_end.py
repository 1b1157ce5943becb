#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures instruments from file to file, as their users have them: aperture_fx from one recording of
8-bit complex samples to UVH5, with and without --track, and the search for pulses in a flowgraph.
Beside each rate stand its bounds, measured in the same run.

    tools/run python3 bench/end_to_end.py [--device cuda] [--json FILE]
    tools/run python3 bench/end_to_end.py --quick --device cpu      # two minutes on two cores

The recording is random, interleaved by inputs, and lies on a RAM disk, as does what is written.
Rates are Gsample/s of all inputs together, as aperture_fx tells them: from when it has taken its
first samples to when its file is whole, without the start. Medians of --turns. On a CPU, which a
table of a machine that others use, too, could not be repeated by the clock, the table has rates by
the time of one processor; the JSON file has both. The bounds are what carries the same samples:

- copy to host: threads that read the recording, 8 MiB a call, each into memory of its own;
- copy to device: the same threads, into pinned memory and from there to the GPU;
- kernels: F- and X-engine in a flowgraph, from samples that are in the device's memory already;
- h5py: one thread that writes the same visibilities, a chunk an integration, to the same place;
- write: one thread that writes as many bytes, with fsync at the end: the disk.

With a GPU these run at once, and the percentage is of the least of them. On a CPU they share the
processors, and it is of the rate at which one does them all, one after the other. Where an
integration is longer than the recording there is no figure. Energy is that of the GPU alone, of
runs of two seconds and more; useful operations of the X-engine are 8 for each product of two
voltages. The search, by bench_search_chain, stands beside its kernels.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import h5py
import numpy as np
from gnuradio import aperture, gr

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.testing.arrays import make_array
from gpu_meters import Driver, Energy, MeterError

CHANNELS = 1024
PIECE = 8 << 20  # bytes of a call of the copies
NOISE = 64 << 20  # bytes of noise, which repeat in the recording
SHORTEST_ENERGY = 2.0  # s
SAMPLE = 2  # bytes
#: rates by the clock, and by the time of one processor
KINDS = ("rate", "by_processor")
#: the bounds that share the processors where there is no GPU
ON_CPU = ("copy_to_host", "kernels", "h5py")
ROOT = Path(__file__).resolve().parent.parent
PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
SKY, START = 150e6, "2024-01-01T00:00:00Z"
TRACKED = "23:23:24 +58:48:54"  # always up at the array's latitude
LATITUDE = 52.0


class BenchError(RuntimeError):
    """A program that failed; the message is what it said."""


def visibility_bytes(inputs):
    """Bytes of the visibilities of an integration."""
    return 8 * CHANNELS * inputs * (inputs + 1) // 2


def useful_operations(samples, inputs):
    """Operations of an X-engine, for so many samples of all inputs together."""
    return 4 * (inputs + 1) * samples


class Recording:
    """Noise of an rms of 20 steps in one file, and descriptions of arrays that it may be of."""

    def __init__(self, folder, size, rate):
        self.folder, self.path, self.rate = folder, folder / "bench.sc8", rate
        noise = np.random.default_rng(1).normal(0, 20, min(size, NOISE)).round().clip(-127, 127)
        self.noise, self.size = noise.astype(np.int8).tobytes(), 0
        with open(self.path, "wb", buffering=0) as file:
            while self.size < size:
                self.size += file.write(self.noise[: size - self.size])

    def seconds(self, inputs):
        """Returns its length, of so many inputs."""
        return self.size / (SAMPLE * inputs * self.rate)

    def options(self, inputs):
        """Options of aperture_fx that read it."""
        path = self.folder / f"array-{inputs}.yml"
        if not path.exists():
            letters = "xy" if inputs % 2 == 0 else "x"
            places = {f"A{i}": (10.0 * i, 0.1 * i * i, 0.0) for i in range(inputs // len(letters))}
            save_array(
                make_array(places, letters, self.rate, SKY, site=(LATITUDE, 5.0, 10.0)), path
            )
        raw = f"raw:{self.path},type=sc8,rate={self.rate:g},freq={SKY:g},inputs={inputs}"
        return ["--input", f"{raw},time={START}", "--array", str(path)]


# ---- aperture_fx


def speed_in(report):
    """Samples a second of all inputs in the report of aperture_fx; None: too short to measure."""
    found = re.search(r"([0-9.e+]+) ([kMG]?)sample/s of all", report)
    return float(found[1]) * PREFIXES[found[2]] if found else None


def run_program(command):
    """Runs a program; returns its lines, when each came (time.monotonic()), what the processors had
    done for it by then, and have in all, in seconds. BenchError: it failed."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    lines, times, used = [], [], []
    try:
        for line in process.stdout:
            lines.append(line)
            times.append(time.monotonic())
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            used.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()
    if process.returncode:
        raise BenchError(errors.strip() or "".join(lines))
    return lines, times, used, usage.ru_utime + usage.ru_stime


def correlate(recording, inputs, integration, seconds, device, output, more=()):
    """
    Runs aperture_fx once. Returns a dict: rate in samples a second and by_processor, in those of
    one processor; seconds that it took with its start; frames and spectra of an integration; begin
    and end of its flowgraph, by time.monotonic().
    """
    program = ROOT / "apps/aperture_fx"
    begin = time.monotonic()
    lines, times, used, processor = run_program(
        [
            sys.executable,
            str(program) if program.exists() else shutil.which("aperture_fx"),
            *recording.options(inputs),
            *("--channels", str(CHANNELS), "--integration", f"{integration:g}"),
            *("--duration", f"{seconds:.9g}", "--device", device, "-o", str(output)),
            *more,
        ]
    )
    output.unlink()
    text = "".join(lines)
    sizes = re.search(r"(\d+) frames? of (\d+) spectra", text)
    # the last line before the flowgraph starts; what comes next is the report behind it
    started = next(i for i, line in enumerate(lines) if line.startswith("gain for"))
    samples = seconds * recording.rate * inputs
    return {
        "rate": speed_in(text) or samples / (times[started + 1] - times[started]),
        "by_processor": samples / (processor - used[started]),
        "seconds": time.monotonic() - begin,
        "frames": int(sizes[1]),
        "spectra": int(sizes[2]),
        "begin": times[started],
        "end": times[started + 1],
    }


# ---- bounds


class Watch:
    """Seconds by the clock, and those of this process's processors, since it was made."""

    def __init__(self):
        self.begin, self._used = time.monotonic(), time.process_time()

    def rates(self, amount):
        """An amount a second, by both."""
        seconds, used = time.monotonic() - self.begin, time.process_time() - self._used
        return {"rate": amount / seconds, "by_processor": amount / max(used, 1e-9)}


def scaled(rates, factor):
    return {name: factor * rate for name, rate in rates.items()}


def copy_rate(path, size, threads, driver=None):
    """Rates in bytes of so many threads that read the first `size` bytes of a file, and with a
    driver copy them to its GPU."""
    pieces = iter(range(0, size, PIECE))
    lock, errors = threading.Lock(), []
    ready = threading.Barrier(threads + 1)

    def memory():
        if driver:
            return driver.copier(PIECE)
        return contextlib.nullcontext(([bytearray(PIECE) for _ in range(2)], lambda *_: None))

    def work():
        try:
            with memory() as (buffers, copy):
                ready.wait()
                number = 0
                while True:
                    with lock:
                        at = next(pieces, None)
                    if at is None:
                        return
                    count = min(PIECE, size - at)
                    done = os.preadv(file, [memoryview(buffers[number])[:count]], at)
                    copy(number, done)
                    number = 1 - number
        except Exception as error:
            errors.append(error)
            ready.abort()

    file = os.open(path, os.O_RDONLY)
    try:
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        with contextlib.suppress(threading.BrokenBarrierError):
            ready.wait()
        watch = Watch()
        for worker in workers:
            worker.join()
        rates = watch.rates(size)
    finally:
        os.close(file)
    if errors:
        raise errors[0]
    return rates


def kernels_rate(recording, inputs, frames, spectra, device, seconds):
    """Rates in samples of F- and X-engine whose samples are in the device's memory, and when they
    were measured."""
    # the noise is of whole samples of all inputs
    data = recording.noise[: len(recording.noise) // (SAMPLE * inputs) * SAMPLE * inputs]
    parameters = dict(channels=CHANNELS, inputs=inputs, spectra_per_frame=spectra, device=device)
    source = aperture.replay(
        data, SAMPLE * inputs, repeats=0, rate=recording.rate, center_frequency=SKY, device=device
    )
    engine = aperture.f_engine(
        inputs_per_port=inputs, input_type="sc8", output_type="sc8", **parameters
    )
    correlator = aperture.xengine(type="sc8", integration=frames, **parameters)
    on_device = device != "cpu"
    source.set_min_output_buffer(2 * (4 if on_device else 1) * spectra * CHANNELS)
    engine.set_min_output_buffer(8 if on_device else 2)
    top = gr.top_block()
    end = aperture.discard(visibility_bytes(inputs), device=device)
    top.connect(source, engine, correlator, end)

    def wait_for_more(than):
        """Until the engine has read more: it reads in whole frames."""
        limit = time.monotonic() + 300
        while engine.nitems_read(0) <= than:
            if time.monotonic() > limit:
                raise BenchError(f"the flowgraph of kernels stands still: {engine.error()}")
            time.sleep(0.0005)
        return engine.nitems_read(0)

    top.start()
    try:
        wait_for_more(0)
        time.sleep(seconds / 4)  # rings are full
        first, watch = wait_for_more(engine.nitems_read(0)), Watch()
        time.sleep(seconds)
        last = wait_for_more(engine.nitems_read(0))
        rates = watch.rates((last - first) * inputs)
        now = time.monotonic()
    finally:
        top.stop()
        top.wait()
    return {**rates, "begin": watch.begin, "end": now}


def write_rates(folder, inputs, size):
    """Rates in bytes of visibilities at which h5py writes, and at which write(2) and fsync do."""
    shape = (CHANNELS, inputs * (inputs + 1) // 2)
    values = np.random.default_rng(1).normal(size=(*shape, 2)).astype(np.float32)
    values = values.view(np.complex64)[..., 0]
    count = max(3, min(300, size // values.nbytes))
    path = folder / "bench-visibilities.tmp"
    try:
        watch = Watch()
        with h5py.File(path, "w") as file:
            data = file.create_dataset(
                "visdata", (0, *shape), values.dtype, maxshape=(None, *shape), chunks=(1, *shape)
            )
            for number in range(count):
                data.resize(number + 1, axis=0)
                data[number] = values
        by_h5py = watch.rates(count * values.nbytes)
        path.unlink()
        watch = Watch()
        with open(path, "wb", buffering=0) as file:
            for _ in range(count):
                left = memoryview(values).cast("B")
                while len(left):
                    left = left[file.write(left) :]
            os.fsync(file.fileno())
        return {"h5py": by_h5py, "write": watch.rates(count * values.nbytes)}
    finally:
        path.unlink(missing_ok=True)


# ---- the search


def search(device, beams, seconds, folder):
    """Rows of bench_search_chain, with the time at which each was printed; None: it is not
    built."""
    program = Path(os.environ.get("APERTURE_BUILD", ROOT / "build")) / "bench/bench_search_chain"
    if not program.exists():
        return None
    found = folder / "search.json"
    lines, times, _, _ = run_program(
        [str(program), device, f"{seconds:g}", str(found), "beams=" + ",".join(map(str, beams))]
    )
    ends = [at for line, at in zip(lines, times) if re.match(r"\| \d", line)]
    rows = json.loads(found.read_text())["rows"]
    return [
        {
            "beams": row["beams"],
            "times_real_time": row["flowgraph"],
            "kernels": row["times_real_time"],
            "of_kernels": row["flowgraph"] / row["times_real_time"],
            "begin": at - seconds,
            "end": at,
        }
        for row, at in zip(rows, ends)
    ]


# ---- tables


def markdown(head, rows):
    return "\n".join(
        [
            "| " + " | ".join(head) + " |",
            "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in rows),
        ]
    )


def figure(samples_a_second):
    """Gsample/s with three digits."""
    if samples_a_second is None:
        return ""
    rate = samples_a_second / 1e9
    return f"{rate:.0f}" if rate >= 100 else f"{rate:#.3g}"


def length_text(seconds):
    return f"{seconds:g} s"


def rates_table(rows, integrations, kind):
    """A row for each number of inputs, columns for each integration. kind: rate or by_processor."""
    shared = [name for name in ("copy_to_host", "copy_to_device") if name in rows[0]["bounds"]]
    apart = ("kernels", "h5py", "write")
    head = ["inputs"]
    for name in ("aperture_fx", *apart):
        head += [f"{name}, {length_text(each)}" for each in integrations]
    head += [name.replace("_", " ") for name in shared]
    lines = []
    for inputs in dict.fromkeys(row["inputs"] for row in rows):
        of_length = {row["integration"]: row for row in rows if row["inputs"] == inputs}
        found = [of_length.get(each) for each in integrations]
        cells = [
            f"{figure(row[kind])} ({100 * row['of_bounds'][kind]:.0f} %)" if row else "–"
            for row in found
        ]
        for name in apart:
            cells += [figure(row["bounds"][name][kind]) if row else "–" for row in found]
        some = next(iter(of_length.values()))
        cells += [figure(some["bounds"][name][kind]) for name in shared]
        lines.append([str(inputs), *cells])
    return markdown(head, lines)


def energy_table(rows):
    lines = [
        [
            str(row["inputs"]),
            length_text(row["integration"]),
            f"{row[key]['watts']:.0f}",
            f"{row[key]['gsamples_a_joule']:.3g}",
            f"{row[key]['tops_a_joule']:.3g}",
            {"energy": "aperture_fx", "kernels_energy": "kernels"}[key],
        ]
        for row in rows
        for key in ("energy", "kernels_energy")
        if row.get(key)
    ]
    head = ("inputs", "integrations", "W", "Gsample/J", "TOP/J", "of")
    return markdown(head, lines) if lines else ""


def track_table(row, kind):
    head = ("inputs", "integrations", "aperture_fx", "with --track", "of it")
    cells = (
        str(row["inputs"]),
        length_text(row["integration"]),
        figure(row["without"][kind]),
        figure(row[kind]),
        f"{100 * row[kind] / row['without'][kind]:.0f} %",
    )
    return markdown(head, [cells])


def search_table(rows):
    head = ("beams", "times real time", "kernels", "of them", "W")
    lines = [
        [
            str(row["beams"]),
            f"{row['times_real_time']:.3g}",
            f"{row['kernels']:.3g}",
            f"{100 * row['of_kernels']:.0f} %",
            f"{row['watts']:.0f}" if row.get("watts") else "",
        ]
        for row in rows
    ]
    return markdown(head, lines)


class Bench:
    """All measurements with these options."""

    def __init__(self, options, folder, output, driver, energy):
        self.options, self.folder, self.energy = options, folder, energy
        self.output, self.driver = output / "bench.uvh5", driver
        longest = max(options.inputs)
        wanted = max(
            options.gigabytes * 1e9, 2 * max(options.integrations) * options.rate * longest * SAMPLE
        )
        size = int(min(wanted, 1e9 * options.most, 0.4 * room(folder)))
        self.recording = Recording(folder, max(1, size // PIECE) * PIECE, options.rate)
        self._copies = {}

    def medians(self, call):
        """Medians of the rates that a call returns, over the turns."""
        found = [call() for _ in range(self.options.turns)]
        return {name: statistics.median(each[name] for each in found) for name in found[0]}

    def seconds_of(self, inputs, integration):
        """Length of the signal that is taken, None: the recording is shorter than an integration.
        Whole integrations, and what the filter's window takes."""
        window = 8 * CHANNELS / self.options.rate
        most = self.recording.seconds(inputs) - window
        wanted = self.options.gigabytes * 1e9 / (SAMPLE * inputs * self.options.rate)
        count = int(min(max(wanted, 2 * integration), most) / integration)
        return None if count < 1 else count * integration + window

    def copies(self):
        """Bounds of the copies in samples, measured once."""
        if not self._copies:
            for name, driver in (("copy_to_host", None), ("copy_to_device", self.driver)):
                if driver or name == "copy_to_host":
                    call = lambda driver=driver: copy_rate(
                        self.recording.path, self.recording.size, self.options.threads, driver
                    )
                    call()  # the warm-up
                    self._copies[name] = scaled(self.medians(call), 1 / SAMPLE)
        return self._copies

    def watts(self, run):
        if self.energy is None or run["end"] - run["begin"] < SHORTEST_ENERGY:
            return None
        return self.energy.watts(run["begin"], run["end"])

    def energy_of(self, run, inputs):
        """The work of a joule, of a run with rate, begin and end; None: not measured."""
        watts = self.watts(run)
        if not watts:
            return None
        return {
            "watts": watts,
            "gsamples_a_joule": run["rate"] / watts / 1e9,
            "tops_a_joule": useful_operations(run["rate"], inputs) / watts / 1e12,
        }

    def correlated(self, inputs, integration, *more):
        """The run of aperture_fx of the median rate; None: the recording is too short."""
        seconds = self.seconds_of(inputs, integration)
        if seconds is None:
            return None
        runs = [
            correlate(
                self.recording, inputs, integration, seconds, self.options.device, self.output, more
            )
            for _ in range(self.options.turns)
        ]
        return sorted(runs, key=lambda run: run["rate"])[len(runs) // 2]

    def rates(self, say):
        rows = []
        for inputs in self.options.inputs:
            written = None
            for integration in self.options.integrations:
                run = self.correlated(inputs, integration)
                if run is None:
                    say(f"{inputs} inputs, {integration:g} s: the recording is shorter")
                    continue
                written = written or write_rates(
                    self.output.parent, inputs, int(1e9 * min(1, self.options.gigabytes))
                )
                kernels = kernels_rate(
                    self.recording,
                    inputs,
                    run["frames"],
                    run["spectra"],
                    self.options.device,
                    self.options.kernel_seconds,
                )
                # samples that a byte of visibilities stands for
                each = inputs * self.options.rate * integration / visibility_bytes(inputs)
                bounds = {
                    **self.copies(),
                    "kernels": {name: kernels[name] for name in KINDS},
                    **{name: scaled(rates, each) for name, rates in written.items()},
                }
                rows.append(
                    {
                        "inputs": inputs,
                        "integration": integration,
                        **run,
                        "bounds": bounds,
                        "of_bounds": {
                            "rate": run["rate"] / min(each["rate"] for each in bounds.values()),
                            "by_processor": run["by_processor"]
                            * sum(1 / bounds[name]["by_processor"] for name in ON_CPU),
                        },
                        "energy": self.energy_of(run, inputs),
                        "kernels_energy": self.energy_of(kernels, inputs),
                    }
                )
                say(
                    f"{inputs} inputs, {integration:g} s: {figure(run['rate'])} Gsample/s, "
                    f"{run['rate'] / inputs / self.options.rate:.3g} x real time at "
                    f"{self.options.rate / 1e6:g} MHz; bounds "
                    + ", ".join(f"{name} {figure(each['rate'])}" for name, each in bounds.items())
                )
        return rows

    def track(self, rows, say):
        """aperture_fx with --track, beside the row without it, in the middle of them."""
        row = rows[len(rows) // 2]
        run = self.correlated(row["inputs"], row["integration"], "--track", TRACKED)
        say(f"{row['inputs']} inputs with --track: {figure(run['rate'])} Gsample/s")
        names = ("inputs", "integration")
        return {
            **{name: row[name] for name in names},
            **run,
            "without": {name: row[name] for name in KINDS},
        }

    def search(self, say):
        rows = search(
            self.options.device, self.options.beams, self.options.search_seconds, self.folder
        )
        if rows is None:
            say("no search: build it with ninja -C build bench_search_chain")
            return []
        for row in rows:
            row["watts"] = self.watts(row)
        return rows


def room(folder):
    """Bytes that are free in a folder, and in memory."""
    found = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    return min(shutil.disk_usage(folder).free, 1024 * int(found[1]))


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    number = lambda text: float(text) if float(text) > 0 else parser.error(f"{text}: above 0")
    parser.add_argument("--folder", type=Path, default="/dev/shm", help="of the recording")
    parser.add_argument("--output-folder", type=Path, help="of what is written (default: --folder)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--inputs", type=int, nargs="+", default=[2, 16, 64])
    parser.add_argument("--integrations", type=number, nargs="+", default=[0.1, 2.0], metavar="S")
    parser.add_argument("--rate", type=number, default=20e6, help="Hz of each input")
    parser.add_argument(
        "--gigabytes",
        type=number,
        help="of the recording that a run takes, or two integrations (default: GPU 8, CPU 1)",
    )
    parser.add_argument(
        "--most", type=number, default=12, help="gigabytes of the recording at most"
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(16, os.cpu_count()), help="of copies")
    parser.add_argument("--kernel-seconds", type=number, default=2.5)
    parser.add_argument(
        "--beams", type=int, nargs="*", help="of the search (default: GPU 4 64 500, CPU none)"
    )
    parser.add_argument("--search-seconds", type=number, default=2.5)
    parser.add_argument("--no-track", action="store_true", help="leave out the row with --track")
    parser.add_argument("--json", help="write the figures into this file, too")
    parser.add_argument("--quick", action="store_true", help="small sizes and one turn")
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(gigabytes=0.15, most=0.5, turns=1, kernel_seconds=1)
        parser.set_defaults(search_seconds=1, integrations=[0.1, 1.0])
        options = parser.parse_args()
    options.output_folder = options.output_folder or options.folder
    if min(options.inputs) < 1 or min(options.turns, options.threads) < 1:
        parser.error("--inputs, --turns and --threads must be 1 and more")
    return options


def main():
    # an exit removes the recording from the RAM disk, a signal would not
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = arguments()
    gr.logging().set_default_level(gr.log_levels.warn)
    driver = energy = None
    with contextlib.ExitStack() as stack:
        try:
            if options.device != "cpu":
                driver = Driver(int(options.device.partition(":")[2] or 0))
        except MeterError as error:
            if options.device != "auto":
                raise SystemExit(f"--device {options.device}: {error}") from None
        options.device = "cpu" if driver is None else options.device.replace("auto", "cuda")
        if driver:
            try:
                energy = stack.enter_context(Energy(driver.bus_address()))
            except MeterError as error:
                print(f"no energy: {error}")
        if options.gigabytes is None:
            options.gigabytes = 8 if driver else 1
        if options.beams is None:
            options.beams = [4, 64, 500] if driver else []
        name = driver.name() if driver else "CPU"
        machine = f"{name}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
        print(f"{machine}; {' '.join(sys.argv)}", flush=True)
        folders = [
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="end-to-end-", dir=each)))
            for each in (options.folder, options.output_folder)
        ]
        bench = Bench(options, *folders, driver, energy)
        say = lambda text: print(text, flush=True)
        try:
            rows = bench.rates(say)
            track = None if options.no_track or not rows else bench.track(rows, say)
            found = bench.search(say) if options.beams else []
        except BenchError as error:
            raise SystemExit(f"{Path(sys.argv[0]).name}: {error}") from None
    if options.json:
        figures = {
            "machine": machine,
            "command": sys.argv,
            "options": vars(options),
            "rows": rows,
            "track": track,
            "search": found,
        }
        Path(options.json).write_text(json.dumps(figures, indent=1, default=str) + "\n")
    kind = "rate" if driver else "by_processor"
    tables = [
        rates_table(rows, options.integrations, kind) if rows else "",
        energy_table(rows),
        track_table(track, kind) if track else "",
        search_table(found) if found else "",
    ]
    print("\n" + "\n\n".join(table for table in tables if table))


if __name__ == "__main__":
    main()
