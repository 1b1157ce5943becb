# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Receivers, as SoapySDR's driver aperture_test (tests/soapy) plays them: the commands on them find
what they hide.
"""

import glob
import json
import os
import re
import shlex
import signal
import subprocess
import time
import unittest
from unittest import mock

import h5py
import numpy as np

from gnuradio.aperture.arrays.array_description import save_array
from gnuradio.aperture.arrays.earth_rotation import unix_seconds
from gnuradio.aperture.commands import beams_command, fx
from gnuradio.aperture.testing.heimdall_server import HeimdallServer, frame
from gnuradio.aperture.testing.observations import run as run_main
from gnuradio.aperture.testing.receivers import Receiver, Receivers
from gnuradio.aperture.testing.recordings import small_array
from gnuradio.aperture.testing.rtl_tcp_server import BIAS_TEE, Desk
from gnuradio.aperture.testing.tiers import long_test
from places import BUILD, PATIENCE, SOURCE, fresh_folder, main, run

PLUGINS = BUILD / "tests/soapy"
RATE = 2.4e6


def need_receivers(test):
    """Skips a test without SoapySDR; fails it with APERTURE_REQUIRE_OUTSIDE=1."""
    try:
        import SoapySDR  # noqa: F401
        from gnuradio import soapy  # noqa: F401

        missing = "" if list(PLUGINS.glob("*.so")) else "libsoapysdr-dev"
    except ImportError:
        missing = "python3-soapysdr"
    if missing and os.environ.get("APERTURE_REQUIRE_OUTSIDE") == "1":
        test.fail(f"{missing} is not installed")
    elif missing:
        test.skipTest(f"{missing} is not installed")


def environment(connected=None):
    """Returns the environment of a program which finds the played receivers."""
    found = {**os.environ, "SOAPY_SDR_PLUGIN_PATH": str(PLUGINS)}
    found.pop("APERTURE_TEST_RECEIVERS", None)
    if connected is not None:
        found["APERTURE_TEST_RECEIVERS"] = connected
    return found


def played(connected=None):
    """A patch of this process's environment, so that it finds the played receivers."""
    return mock.patch.dict(os.environ, environment(connected), clear=True)


READ = """
import sys, numpy as np, SoapySDR
from SoapySDR import SOAPY_SDR_RX, SOAPY_SDR_CF32
results = []
for arguments, count in zip(sys.argv[2::2], sys.argv[3::2]):
    device = SoapySDR.Device(arguments)
    device.setSampleRate(SOAPY_SDR_RX, 0, 2.4e6)
    device.setFrequency(SOAPY_SDR_RX, 0, 100e6)
    device.setGainMode(SOAPY_SDR_RX, 0, False)
    device.setGain(SOAPY_SDR_RX, 0, 30)
    stream = device.setupStream(SOAPY_SDR_RX, SOAPY_SDR_CF32)
    device.activateStream(stream)
    samples, events, done = np.zeros(int(count), np.complex64), [], 0
    while done < len(samples):
        part = samples[done:done + 9973]
        status = device.readStream(stream, [part], len(part), timeoutUs=1000)
        if status.ret <= 0:
            events.append((done, status.ret, 0))
            if status.ret != SoapySDR.SOAPY_SDR_OVERFLOW:
                break
        else:
            if not events or events[-1][1] < 0:
                events.append((done, 0, status.timeNs))
            done += status.ret
    device.deactivateStream(stream)
    device.closeStream(stream)
    stream = device = None  # a stream has one user at a time
    results += [samples[:done], np.array(events, np.int64)]
np.savez(sys.argv[1], *results)
"""


class TestPlayedReceivers(unittest.TestCase):
    """The driver itself: what it hides is what its description says."""

    def setUp(self):
        need_receivers(self)

    def read(self, *arguments_and_counts):
        """[(samples, events)] of receivers with these arguments."""
        path = BUILD / "tests/read.npz"
        words = []
        for arguments, count in arguments_and_counts:
            words += [f"driver=aperture_test,paced=0,{arguments}", count]
        status, output = run("python3", "-c", READ, path, *words, env=environment())
        self.assertEqual(status, 0, output)
        with np.load(path) as found:
            parts = [found[f"arr_{i}"] for i in range(2 * len(arguments_and_counts))]
        return list(zip(parts[::2], parts[1::2]))

    def test_offset(self):
        """Start, phase and level are those that are hidden; the crystal's error is on top."""
        count, start, phase, ppm = 1 << 17, 1234.375, 2.0, 3.0
        (a, _), (b, _), (c, _) = self.read(
            ("serial=1", 2 * count),
            (f"serial=2,start={start},phase={phase},level=0.05", count),
            (f"serial=2,start={start},phase=0,level=0.1,ppm={ppm}", count),
        )
        # the sum of 2 count squares that are exponentially distributed: six deviations
        self.assertAlmostEqual(
            np.mean(np.abs(b) ** 2) / 0.05**2, 1, delta=6 / np.sqrt(count) + 0.08
        )
        frequency = np.fft.fftfreq(count)
        inner = np.abs(frequency) < 0.45
        whole = int(start)
        spectrum = np.fft.fft(a[whole : whole + count])
        shift = np.exp(2j * np.pi * frequency * (start - whole))
        cross = (np.fft.fft(b) * (spectrum * shift).conj())[inner]
        # samples across the ends of the block: half the filter's 64 taps of 2^17 samples, 1e-3
        ratio = cross.mean() / np.mean(np.abs(spectrum[inner]) ** 2)
        np.testing.assert_allclose(ratio, 0.5 * np.exp(1j * phase), atol=1e-3)

        # within a short part at the end, the crystal has drifted so far
        part, end = 1 << 12, count - (1 << 12)
        drift = end * (1 / (1 + 1e-6 * ppm) - 1)
        spectrum = np.fft.fft(a[whole + end : whole + end + part])
        frequency = np.fft.fftfreq(part)
        inner = np.abs(frequency) < 0.45
        shift = np.exp(2j * np.pi * frequency * (start - whole + drift))
        # 300 Hz at 100 MHz, by which the phase rotates within the part
        time = (start + end + np.arange(part)) / RATE
        oscillator = np.exp(-2j * np.pi * 100e6 * (1 - 1 / (1 + 1e-6 * ppm)) * time)
        cross = (np.fft.fft(c[end:] * oscillator.conj()) * (spectrum * shift).conj())[inner]
        ratio = cross.mean() / np.mean(np.abs(spectrum[inner]) ** 2)
        # 64 of 4096 samples lie across the ends
        np.testing.assert_allclose(ratio, 1, atol=0.03)

    def test_losses(self):
        """Lost samples lack, are told or not, and a clock that counts knows of those it told."""
        (whole, _), (true, events), (counts, counted) = self.read(
            ("serial=1", 20000),
            ("serial=1,hwtime=true,losses=5000:300/9000:41:silent", 9000),
            ("serial=1,hwtime=counts,losses=5000:300/9000:41:silent", 9000),
        )
        expected = np.r_[whole[:5000], whole[5300:9000], whole[9041:9341]]
        np.testing.assert_array_equal(true, expected)
        np.testing.assert_array_equal(counts, expected)
        self.assertEqual([tuple(event[:2]) for event in events], [(0, 0), (5000, -4), (5000, 0)])
        self.assertEqual(events[2][2] - events[0][2], round(5300 / RATE * 1e9))
        self.assertEqual(events[0][2], 1800000000 * 10**9)
        self.assertEqual([event[2] for event in counted], [0, 0, round(5300 / RATE * 1e9)])

    def test_failures(self):
        """A receiver ends with an error of its stream, or falls silent."""
        for what, expected in (("error", -2), ("silence", -1)):
            ((samples, events),) = self.read((f"serial=1,fails=1000:{what}", 5000))
            self.assertEqual(len(samples), 1000)
            self.assertEqual(tuple(events[-1][:2]), (1000, expected))


class TestDoctor(unittest.TestCase):
    """aperture_doctor receivers with drivers that are there."""

    def setUp(self):
        need_receivers(self)

    def findings(self, connected, seconds=0.7):
        """
        {name of a finding: text} of these receivers, and the things that were found. Few samples a
        second come, which a busy computer takes, too.
        """
        status, output = run(
            "aperture_doctor",
            "receivers",
            "--json",
            f"--seconds={seconds}",
            "--sample-rate=100e3",
            env=environment(connected),
        )
        found = json.loads(output[output.index("{") :])
        self.assertEqual(status, 0 if found["healthy"] else 1)
        texts = {finding["name"]: finding["what"] for finding in found["findings"]}
        return texts, [
            thing["name"] for thing in found["receivers"] if thing.get("driver") == "aperture_test"
        ]

    def test_receivers(self):
        """Two healthy receivers, but for what each must be told."""
        found, names = self.findings("serial=1,agc=0;serial=2")
        self.assertEqual(names, ["Played receiver 1", "Played receiver 2"])
        self.assertIn("Played receiver 2 is set to automatic gain", found["automatic-gain"])
        self.assertNotIn("Played receiver 1", found["automatic-gain"])
        self.assertIn("own-clocks", found)
        self.assertNotIn("losses", found)

    def test_what_is_wrong(self):
        """Losses, a receiver that is silent, and one that fails, each by its name."""
        found, _ = self.findings("serial=1,storm=2000:10;serial=2,fails=0:silence", 2)
        self.assertRegex(found["losses"], r"Played receiver 1 .* reported \d+ losses")
        self.assertIn(
            "Played receiver 2 does not run: it opens, but no samples come", found["does-not-run"]
        )
        found, _ = self.findings("serial=1;serial=2,fails=2000:error", 2)
        self.assertIn(
            "Played receiver 2 does not run: reading samples failed (STREAM_ERROR)",
            found["does-not-run"],
        )

    def test_equal_serials(self):
        """Drivers open receivers by their serial numbers; two with one number are one."""
        found, _ = self.findings("serial=1;serial=1,label=the other", seconds=0)
        self.assertIn(
            "Played receiver 1 and the other have the same serial number, 1", found["equal-serials"]
        )


class TestCommands(unittest.TestCase):
    """aperture_fx and aperture_beams on receivers find what these hide."""

    #: the second receiver's hidden offset and phase by default: samples, rad
    OFFSET, PHASE = 12345.375, 2.0

    def setUp(self):
        need_receivers(self)
        self.folder = fresh_folder("receivers")

    def fx(self, devices, *words, kind="soapy", options="", status=0, paced=False, connected=None):
        """
        Runs aperture_fx on devices of aperture_test, which arguments describe; returns what it
        printed. As fast as samples are taken, unless they are paced. Libraries other than SoapySDR
        keep what they found, and get a process of their own each time.
        """
        head = {"soapy": "", "uhd": "type=soapy,", "osmosdr": "soapy=0,"}[kind]
        names = [
            f"{head}driver=aperture_test,{device}" + ("" if paced else ",paced=0")
            for device in devices
        ]
        options = options if "rate=" in options else options + ",rate=2.4e6"
        options = options if "freq=" in options else options + ",freq=1420.4e6"
        arguments = (
            "--input",
            f"{kind}:{';'.join(names)}{options}",
            "--channels=256",
            "-o",
            self.folder / "x.uvh5",
            *words,
        )
        if kind == "soapy":
            with played(connected):
                found, out, err = run_main(fx, *arguments)
            output = err + out
        else:
            found, output = run("aperture_fx", *arguments, env=environment(connected))
        self.assertEqual(found, status, output)
        return output

    def states(self, output):
        """Returns the table of receivers: offset (samples), phase (degrees), slips, missing, losses
        of each input; None for an offset that is unknown."""
        rows = re.findall(
            r"^  [RA]\d+x  .*?  (?:([-\d.]+) samples|unknown) +(-|[-\d.]+°) +"
            r"(?:-|[\d.e+]+) +(?:-|[-+\d.e]+ ppm) +(\d+) +(\d+) samples +(\d+)$",
            output,
            re.MULTILINE,
        )
        self.assertTrue(rows, output)
        return [
            (
                float(offset) if offset else None,
                float(phase.strip("°")) if offset else None,
                *map(int, rest),
            )
            for offset, phase, *rest in rows
        ]

    def integrations(self):
        """The number of those in the file, which may be growing, or not be there yet."""
        import h5py

        try:
            with h5py.File(self.folder / "x.uvh5", "r", locking=False) as file:
                return int(file["Header/Ntimes"][()])
        except OSError:
            return 0

    def visibilities(self):
        """complex [time][channel][product]: (0,0), (1,1), and conj(x_0) x_1, and the fraction
        [time][product] of the samples that was there."""
        import h5py

        with h5py.File(self.folder / "x.uvh5") as file:
            data = (
                file["Data/visdata"][:, :, 0]
                if file["Data/visdata"].ndim == 3
                else file["Data/visdata"][:, 0, :, 0]
            )
            ant_1, ant_2 = file["Header/ant_1_array"][:], file["Header/ant_2_array"][:]
            there = file["Data/nsamples"][:].reshape(len(data), -1)[:, 0]
        pairs = [(a, b) for a, b in zip(ant_1, ant_2)]
        products = [(0, 0), (1, 1), (0, 1)]
        pick = [[i for i, pair in enumerate(pairs) if pair == product] for product in products]
        return (
            np.stack([data[rows] for rows in pick], axis=-1),
            np.stack([there[rows] for rows in pick], axis=-1),
        )

    def check_fringes(self, first=0):
        """The coherence is 1 and its phase 0, in the inner part of the band, from an integration
        on: both hear the same. Returns the fraction of samples [time][product]."""
        data, there = self.visibilities()
        aa, bb, ab = np.moveaxis(data[first:], -1, 0)
        coherence = (ab / np.sqrt(aa.real * bb.real))[:, 20:-20]
        # rounding to 8 bits at an rms of 20 steps costs 1/12 of 400; what is left of delays
        # between samples, by linear phases of the filter bank, and its noise: 1e-3, and more where
        # the last integration is a part
        off = np.abs(coherence - 1) * np.sqrt(there[first:, 2:])
        np.testing.assert_allclose(off, 0, atol=3e-3)
        return there

    def check_second(self, output, slips=0, missing=0, losses=0):
        """The second receiver is where it should be."""
        first, second = self.states(output)
        self.assertEqual(first[0], 0)
        # the bounds are 0 at a coherence of 1: three decimals are printed
        self.assertAlmostEqual(second[0], self.OFFSET, delta=0.002)
        self.assertAlmostEqual(second[1], -np.degrees(self.PHASE), delta=0.11)
        self.assertEqual(second[2:], (slips, missing, losses))

    def test_fringes(self):
        """In real time, with hidden offsets, phase and gain; nothing is lost."""
        output = self.fx(["serial=1", "serial=2"], "--duration=3", paced=True)
        self.check_second(output)
        there = self.check_fringes()
        np.testing.assert_array_equal(there, 1)
        self.assertEqual(len(there), 3)
        # levels: 0.1 and 0.05 at 30 dB; the default is 45 of 60 dB
        low, high = map(float, re.search(r"steps: ([\d.]+) to ([\d.]+)", output).groups())
        self.assertAlmostEqual(low, 20 / (0.1 * 10**0.75 / np.sqrt(2)), delta=0.03 * low)
        self.assertAlmostEqual(high / low, 2, delta=0.06)

    def test_settings(self):
        """A gain acts on the samples, and what the driver changed is said and used."""
        output = self.fx(
            ["serial=1,rate_step=1e5", "serial=2,rate_step=1e5"],
            "--duration=1",
            options=",rate=2.43e6,gain=30,clock=external,antenna=RX2",
        )
        self.assertIn("has rate=2400000, the nearest to 2430000 Hz", output)
        self.assertIn("2 inputs, fc32, 2.4 Msample/s", output)
        low = float(re.search(r"steps: ([\d.]+) to", output)[1])
        self.assertAlmostEqual(low, 20 / (0.1 / np.sqrt(2)), delta=0.03 * low)
        self.check_second(output)

    def test_inputs_of_one_device(self):
        """Several inputs of each receiver, in fc32."""
        output = self.fx(
            ["serial=1,inputs=2,phase=0/1", "serial=2,inputs=2,phase=2/0.5"],
            "--duration=1",
            "--format=fc32",
            options=",channels=2",
        )
        states = self.states(output)
        expected = [(0, 0), (0, 1), (self.OFFSET, 2), (self.OFFSET, 0.5)]
        for state, (offset, phase) in zip(states, expected, strict=True):
            self.assertAlmostEqual(state[0], offset, delta=0.002)
            self.assertAlmostEqual(state[1], -np.degrees(phase), delta=0.11)

    def test_interrupt(self):
        """Without a duration it runs until Ctrl-C, and all that came is in the file."""
        process = subprocess.Popen(
            [
                "aperture_fx",
                "--input",
                "soapy:driver=aperture_test,serial=1;driver=aperture_test,"
                "serial=2,rate=2.4e6,freq=1420.4e6",
                "--channels=256",
                "--integration=0.5",
                "-o",
                str(self.folder / "x.uvh5"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        )
        try:
            until = time.monotonic() + PATIENCE
            while self.integrations() < 3 and time.monotonic() < until:
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0, output)
        self.check_second(output)
        signal_seconds = float(re.search(r"signal +([\d.]+) s", output)[1])
        there = self.check_fringes()
        # the last integration is partial: what is less than a spectrum and a filter's length
        self.assertAlmostEqual(there[:, 2].sum() * 0.5, signal_seconds, delta=0.26)
        self.assertGreater(signal_seconds, 1)

    def test_losses(self):
        """Samples that a driver says it lost are missing; a loss without a word is a slip."""
        output = self.fx(["serial=1", "serial=2,hwtime=counts,losses=4e6:5000"], "--duration=3")
        # counted in samples that came
        first, second = self.states(output)
        self.assertAlmostEqual(second[0], self.OFFSET + 5000, delta=0.002)
        self.assertEqual(second[2:], (0, 5000, 1))
        there = self.check_fringes()
        # 5000 samples and the 7 spectra whose prototypes reach into them
        self.assertAlmostEqual(3 - there[:, 2].sum(), (5000 / 256 + 8) * 256 / 2.4e6, delta=2e-4)
        output = self.fx(["serial=1", "serial=2,losses=3e6:300:silent"], "--duration=8")
        offset, slips = self.states(output)[1][0], self.states(output)[1][2]
        self.assertAlmostEqual(offset, self.OFFSET + 300, delta=0.002)
        self.assertEqual(slips, 1)
        # the time until it is found depends on how busy this machine is
        self.check_fringes(first=-1)

    def test_clocks_of_their_own(self):
        """Two crystals that differ are followed, where both hear enough of one source."""
        output = self.fx(
            ["serial=1", "serial=2,ppm=2"], "--duration=3", options=",clock_error=3,freq=100e6"
        )
        data, _ = self.visibilities()
        aa, bb, ab = np.moveaxis(data[2], -1, 0)
        coherence = np.abs(ab / np.sqrt(aa.real * bb.real))[20:-20]
        # 200 Hz between the oscillators within channels of 9.4 kHz
        self.assertGreater(coherence.min(), 0.95, output)

    def test_clocks_of_their_own_that_nobody_said(self):
        """The end says that there are two, by how much they differ, and how much is possible."""
        output = self.fx(["serial=1", "serial=2,ppm=2"], "--duration=0.5", options=",freq=100e6")
        self.assertRegex(
            output,
            r"R2x and R1x: these inputs drift apart by 2(\.\d)? ppm, they are "
            r"on two clocks: .* at most 0\.0\d+ ppm .*clock_error",
        )

    def test_follow_clock(self):
        """The option reaches the block that follows, and is off where nothing is said."""
        patch = played()
        patch.start()
        self.addCleanup(patch.stop)
        from gnuradio.aperture.inputs import live_source, registry

        for option, follow in (
            (",follow_clock=yes", True),
            (",follow_clock=no", False),
            ("", False),
        ):
            with mock.patch.object(
                live_source.aperture_python,
                "stream_align",
                wraps=live_source.aperture_python.stream_align,
            ) as made:
                registry.open_input(
                    f"soapy:driver=aperture_test,serial=1,rate=1e6,freq=100e6{option}"
                ).source(0)
            self.assertIs(made.call_args.kwargs["follow_clock"], follow)

    def test_tune(self):
        """Receivers that are tuned while they run are lined up anew, with another phase."""
        patch = played()
        patch.start()
        self.addCleanup(patch.stop)
        from gnuradio import blocks, gr

        from gnuradio.aperture.inputs import registry

        source = registry.open_input(
            "soapy:driver=aperture_test,serial=1;driver=aperture_test,serial=2,retune_phase=1,"
            "settle=1000,rate=1e6,freq=100e6,search=0.1,most_offset=0.1"
        ).source(0)
        top = gr.top_block()
        sinks = [blocks.vector_sink_c(), blocks.vector_sink_c()]
        for port, sink in enumerate(sinks):
            top.connect((source, port), sink)

        def wait_for(phase):
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and abs(source.states()[1].phase + phase) > 0.01:
                time.sleep(0.05)
            self.assertAlmostEqual(source.states()[1].phase, -phase, delta=0.01)

        top.start()
        try:
            wait_for(self.PHASE)
            source.tune(101e6)
            wait_for(self.PHASE + 1)
            source.finish()
        finally:
            top.stop()
            top.wait()
        self.assertAlmostEqual(source.states()[1].offset, self.OFFSET, delta=0.01)
        for sink in sinks:
            said = [tag for tag in sink.tags() if str(tag.key) == "rx_freq"]
            self.assertEqual([str(tag.value) for tag in said], ["1e+08", "1.01e+08"])

    def test_noise_source(self):
        """A noise source that a receiver's setting switches: at the start, after each tuning, and
        when told. What passes has nothing of it, and it is off at the end."""
        patch = played("serial=1;serial=2,start=12345.375,phase=2,level=0.05;serial=3")
        patch.start()
        self.addCleanup(patch.stop)
        import SoapySDR
        from gnuradio import blocks, gr

        from gnuradio.aperture.inputs import registry

        def receiver(more):
            return f"driver=aperture_test,{more},coherence=0.01,switched=0.9,switch_delay=20000"

        text = f"soapy:{receiver('serial=1')};{receiver('serial=2,retune_phase=1')}"
        signals = registry.open_input(
            text + ",rate=1e6,freq=100e6,search=0.1,most_offset=0.1,gain=30,noise=biastee@2"
        )
        source = signals.source(0)
        # the block of GNU Radio 3.10.5 gives no text of a setting; the source is one for all
        device = SoapySDR.Device("driver=aperture_test,serial=3")
        top = gr.top_block()
        sinks = [blocks.vector_sink_c(), blocks.vector_sink_c()]
        for port, sink in enumerate(sinks):
            top.connect((source, port), sink)

        def wait_for(measurements):
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and (
                source.align.measurements() < measurements or source.align.noise_on()
            ):
                time.sleep(0.01)
            self.assertFalse(source.align.noise_on())

        top.start()
        try:
            phases = []
            for count, step in enumerate(
                (lambda: None, lambda: source.tune(101e6), lambda: source.measure()), 1
            ):
                step()
                # each cycle switches it on and off
                wait_for(count)
                passed = source.nitems_written(0) + 50000
                while source.nitems_written(0) < passed:
                    time.sleep(0.01)
                phases.append(source.states()[1].phase)
            source.finish()
        finally:
            top.stop()
            top.wait()
        for phase, wanted in zip(phases, (self.PHASE, self.PHASE + 1, self.PHASE + 1)):
            # 10^5 samples of a coherence of 0.9: 0.001 rad
            self.assertAlmostEqual(np.angle(np.exp(1j * (phase + wanted))), 0, delta=0.01)
        turned = [entry.split(":") for entry in device.readSetting("biastee").split()]
        self.assertEqual([on for _, on in turned], ["1", "0"] * 3)
        # all that passed has the coherence of the sky, 0.01, in every window
        data = [np.array(sink.data()) for sink in sinks]
        there = (data[0] != 0) & (data[1] != 0)
        windows = [entry[there][: there.sum() // 4096 * 4096] for entry in data]
        x, y = (entry.reshape(-1, 4096) for entry in windows)
        self.assertGreater(len(x), 10)
        coherence = np.abs(np.sum(x * y.conj(), axis=1)) / np.sqrt(
            np.sum(np.abs(x) ** 2, axis=1) * np.sum(np.abs(y) ** 2, axis=1)
        )
        # exponentially distributed squares of mean 1/4096: none of some thousands is above this
        self.assertLess(coherence.max(), 0.01 + 4 / np.sqrt(4096))
        for option, problem in (
            ("noise=amplifier", "has the settings biastee, and no amplifier"),
            ("noise=gpio:FP0:1", "has the banks nothing, and no FP0"),
            ("noise=biastee@3", "there are 2 receivers"),
            ("noise=biastee,clock_error=3", "need a source that is on all the time"),
            ("noise_every=60", "noise_every belongs to noise"),
        ):
            with self.assertRaisesRegex(ValueError, problem):
                registry.open_input(f"{text},rate=1e6,freq=100e6,{option}")

    def test_calibration_loop(self):
        """
        A plan measures its calibration by the same noise source: at the start, after a tuning, when
        it is told, and behind a measurement of stream_align, which has the source first.

        The driver knows between which samples it was on: each stretch of these is in one stretch of
        integrations that are flagged, and no other integration is flagged. What is found are
        the receivers' gains and phases.
        """
        patch = played("serial=1;serial=2,phase=2,level=0.05;serial=3")
        patch.start()
        self.addCleanup(patch.stop)
        import SoapySDR

        from gnuradio.aperture.builder.flowgraph import Flowgraph
        from gnuradio.aperture.plan.fields import FX
        from gnuradio.aperture.plan.yaml_plans import load_plan

        epoch, rate, width = 1800000000, 1e6, 20000
        played_so = f"coherence=0.01,switched=0.9,switch_delay=20000,hwtime=true,epoch={epoch}"
        devices = [f"driver=aperture_test,{one},{played_so}" for one in ("serial=1", "serial=2")]
        plan = self.folder / "plan.yml"
        plan.write_text(
            f'input: {{source: "soapy:{devices[0]};{devices[1]},retune_phase=1,rate=1e6,'
            'freq=100e6,search=0.1,most_offset=0.1,gain=30,noise=biastee@2"}\n'
            "engines: {channels: 64, taps: 4, integration: 0.02, format: fc32}\n"
            "calibration: {measure: noise, integrations: 5, noise_settle: 0.2, "
            "noise_patience: 20.0}\n"
            f"outputs: {{file: '{self.folder}/x-{{time}}.uvh5'}}\ndevice: {{name: cpu}}\n"
        )
        plan = load_plan(plan, FX)
        plan.check()
        graph = Flowgraph(plan)
        device = SoapySDR.Device("driver=aperture_test,serial=3")
        source, loop = graph.source, graph.named_blocks()["calibrator"]
        turned = lambda: [entry.split(":") for entry in device.readSetting("biastee").split()]

        def wait_for(true):
            deadline = time.monotonic() + PATIENCE
            while not true():
                self.assertEqual(graph.errors(), [])
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)

        def wait_for_measurement(number):
            wait_for(lambda: loop.measurements() == number and not loop.measuring())
            # integrations of the sky
            integrations = graph.integrations() + 20
            wait_for(lambda: graph.integrations() >= integrations)

        found = []
        graph.start()
        try:
            for number, step in enumerate(
                (lambda: None, lambda: source.tune(101e6), loop.measure), 1
            ):
                step()
                wait_for_measurement(number)
                found.append((loop.calibration(), source.states()[1].phase))
            # both measure, one after the other: on and off for each
            source.measure()
            loop.measure()
            wait_for_measurement(4)
            wait_for(lambda: not source.align.noise_on())
            source.finish()
            wait_for(graph.ended)
        finally:
            graph.stop()
            graph.wait()
        self.assertEqual(graph.problems(), ([], False))
        for number, (calibration, lined_up) in enumerate(found):
            # 5 integrations of 312 spectra in 64 channels of a coherence of 0.9; stream_align has
            # found the phase already, but for its noise
            corrections = calibration.corrections(calibration.band.frequencies)
            ratio = np.mean(corrections[1, 1:] / corrections[0, 1:])
            phase = np.angle(ratio) + lined_up + self.PHASE + min(number, 1)
            self.assertAlmostEqual(np.angle(np.exp(1j * phase)), 0, delta=0.01)
            self.assertAlmostEqual(abs(ratio), 2, delta=0.02)
        begins, ends = [], []  # samples; what was on and is told to be on stays so
        for at, on in turned():
            if (on == "1") == (len(begins) == len(ends)):
                (begins if on == "1" else ends).append(int(at))
        self.assertEqual(len(begins), len(ends))
        # stream_align and the loop, at the start and after the tuning; the loop; and both, which
        # may be one, or two of the loop's beside it
        self.assertIn(len(begins), (6, 7, 8))
        begins, ends = np.array(begins), np.array(ends)
        times, counted = [], []
        for name in sorted(self.folder.glob("x-*.uvh5")):
            with h5py.File(name) as file:
                header = file["Header"]
                rows = slice(None, None, 3)
                times += list(unix_seconds(header["time_array"][rows]))
                counted += list(file["Data/nsamples"][rows].mean(axis=(1, 2)))
                np.testing.assert_array_equal(file["Data/flags"], file["Data/nsamples"][()] == 0)
        order = np.argsort(times)
        middle, counted = (np.array(times)[order] - epoch) * rate, np.array(counted)[order]
        self.assertTrue(np.all(np.diff(middle) > width / 2))
        # samples with the source are not counted; stream_align leaves a part of an integration.
        # Times are days with a fraction, to 40 us, and a spectrum reaches over 256 samples
        for begin, end in zip(begins, ends):
            heard = np.minimum(middle + width / 2, end) - np.maximum(middle - width / 2, begin)
            self.assertTrue(np.all((counted == 0) | (counted * width <= width - heard + 400)))
        flagged = counted == 0
        edges = np.flatnonzero(np.diff(np.r_[0, flagged.astype(int), 0])).reshape(-1, 2)
        for low, high in edges:
            inside = (begins > middle[low] - width) & (ends < middle[high - 1] + width)
            self.assertTrue(inside.any(), (begins, ends, middle[low], middle[high - 1]))

    # ---- the lines of docs/receivers.md, on doubles

    def line(self, output, inputs, exchange, *more):
        """
        Runs the page's line with this output, and --array as a description of so many inputs;
        exchange: {what the page says: what the double is called}. Returns what it printed.
        """
        page = (SOURCE / "docs/receivers.md").read_text(encoding="utf-8")
        (words,) = re.findall(rf"^    tools/run (aperture_fx .* -o {output}\.uvh5)$", page, re.M)
        words = shlex.split(words)
        described, written = self.folder / "lab.yml", self.folder / "x.uvh5"
        save_array(small_array(sample_rate=2.4e6, antennas=inputs), str(described))
        asked = words[words.index("--input") + 1]
        for said, double in exchange.items():
            self.assertIn(said, asked)
            asked = asked.replace(said, double)
        words[words.index("--input") + 1] = asked
        words[words.index("--array") + 1] = str(described)
        words[words.index("-o") + 1] = str(written)
        found, output = run(*words, "--channels=256", *more, env=environment())
        self.assertEqual(found, 0, output)
        return output

    def clock(self, output):
        """The ppm of the second input, as the table at the end has it."""
        return float(re.search(r"^  \S+ .*?([-+][\d.e-]+) ppm .*\n.*?(\S+) ppm", output, re.M)[2])

    def test_lines_of_krakensdr(self):
        samples = np.random.default_rng(3).normal(size=(2, 1 << 15))
        common = np.broadcast_to(samples[0] + 1j * samples[1], (5, 1 << 15)).astype(np.complex64)
        with HeimdallServer([frame(common, index) for index in range(24)]) as server:
            output = self.line(
                "kraken",
                5,
                {"krakensdr.local": f"127.0.0.1:{server.port},control={server.control_port}"},
                "--duration=0.2",
            )
        self.assertIn("5 inputs, fc32, 2.4 Msample/s", output)
        told = [(name, int.from_bytes(rest[:8], "little")) for name, rest in server.commands]
        self.assertIn((b"FREQ", 1_420_400_000), told)
        self.check_fringes()

    def test_lines_of_rtl_tcp(self):
        """Dongles of another computer, and a plan in which the bias tee of one feeds the noise
        source: on while they are measured, and off again."""
        desk = Desk(phase=0.7)
        with desk.servers[0] as first, desk.servers[1] as second:
            servers = f"{first.address};{second.address}"
            self.line(
                "a", 2, {"roof:1234;roof:1235": servers, "rate=2.4e6": "rate=250e3"}, "--duration=1"
            )
            self.assertEqual(second.told(BIAS_TEE), [0])
        desk = Desk(phase=0.7)
        with desk.servers[0] as first, desk.servers[1] as second:
            settings = "rate=250e3,freq=100e6,gain=29.7,search=0.1,noise=biastee@2"
            plan = self.folder / "plan.yml"
            # the servers go on while this computer is busy, and so a measurement takes more of them
            plan.write_text(
                f'input: {{source: "rtl_tcp:{first.address};{second.address},{settings}", '
                "duration: 8.0}\nengines: {channels: 64}\n"
                f"outputs: {{file: {self.folder / 'x.uvh5'}}}\n"
            )
            found, output = run("aperture_fx", "--plan", str(plan))
            self.assertEqual(found, 0, output)
            self.assertEqual(second.told(BIAS_TEE), [0, 1, 0])
            self.assertEqual(first.told(BIAS_TEE), [0])
        # the phase by the noise source, of the second line of the table
        phase = float(re.search(r"^  R2x .* samples +(\S+)°", output, re.M)[1])
        self.assertAlmostEqual(phase, -np.degrees(0.7), delta=1.5)
        self.assertNotIn(" 0 samples", output.rsplit("losses", 1)[1])

    def test_lines_of_dongles(self):
        """Dongles on one clock, and on one each."""
        dongles = {
            "driver=rtlsdr,serial=1": "driver=aperture_test,serial=1,paced=0",
            "driver=rtlsdr,serial=2": "driver=aperture_test,serial=2,paced=0",
        }
        output = self.line("one-clock", 2, dongles, "--duration=3")
        self.check_second(output)
        self.check_fringes()
        self.assertLess(abs(self.clock(output)), 1e-3)
        dongles["driver=rtlsdr,serial=2"] += ",ppm=2"
        output = self.line("two-clocks", 2, dongles, "--duration=3")
        self.assertAlmostEqual(self.clock(output), 2, delta=0.01)
        data, _ = self.visibilities()
        aa, bb, ab = np.moveaxis(data[2], -1, 0)
        # 200 Hz between the oscillators within channels of 9.4 kHz
        self.assertGreater(np.abs(ab / np.sqrt(aa.real * bb.real))[20:-20].min(), 0.95, output)

    @long_test
    def test_lines_of_recordings_made_apart(self):
        apart = Receivers(
            [
                Receiver(0.0, 0.3, share=0.9, stamps="none"),
                Receiver(61234.3, -1.0, ppm=2.0, share=0.9, stamps="none"),
            ],
            sample_rate=2.4e6,
            center_frequency=100e6,
        )
        names = {}
        for number, name in enumerate(("a.cu8", "b.cu8")):
            parts = apart.samples(number, 0, 3_000_000).view(np.float32)
            path = self.folder / name
            np.clip(np.rint(25 * parts + 127.5), 0, 255).astype(np.uint8).tofile(path)
            names[name] = str(path)
        output = self.line("apart", 2, names)
        self.assertAlmostEqual(self.clock(output), 2, delta=0.01)
        self.assertRegex(output, "(?m)^  A2x .* 612[0-9][0-9]\\.")

    def test_lines_of_usrps(self):
        if not glob.glob("/usr/lib/*/uhd/modules/libsoapySupport.so"):
            self.skipTest("uhd-soapysdr is not installed")
        double = "type=soapy,driver=aperture_test,hwtime=true,paced=0,serial="
        output = self.line(
            "two-b210",
            2,
            {"serial=31B5F27": double + "1", "serial=31B5F28": double + "2"},
            "--duration=1",
        )
        for offset, _, slips, missing, losses in self.states(output):
            self.assertAlmostEqual(offset % 1, 0.375 if offset else 0, delta=0.01)
            self.assertEqual((slips, missing, losses), (0, 0, 0))

    def test_uhd(self):
        """Receivers that share a pulse a second are lined up by their time, and start together."""
        if not glob.glob("/usr/lib/*/uhd/modules/libsoapySupport.so"):
            self.skipTest("uhd-soapysdr is not installed")
        output = self.fx(
            ["serial=1,hwtime=true", "serial=2,hwtime=true"],
            "--duration=1",
            kind="uhd",
            options=",clock=external,time=external",
        )
        for offset, _, slips, missing, losses in self.states(output):
            # times of samples are rounded to nanoseconds, 0.0024 samples
            self.assertAlmostEqual(offset % 1, 0.375 if offset else 0, delta=0.01)
            self.assertEqual((slips, missing, losses), (0, 0, 0))
        data, _ = self.visibilities()
        aa, bb, ab = np.moveaxis(data, -1, 0)
        coherence = (ab / np.sqrt(aa.real * bb.real))[:, 20:-20]
        # nothing measured the phase: conj(x_0) x_1 has that of the second oscillator
        np.testing.assert_allclose(coherence, np.exp(1j * self.PHASE), atol=0.03)
        self.assertIn("UHD finds", self.fx(["serial=77"], kind="uhd", status=1))

    def need_osmosdr(self):
        try:
            import osmosdr  # noqa: F401
        except ImportError:
            self.skipTest("gr-osmosdr is not installed")

    def test_osmosdr(self):
        self.need_osmosdr()
        output = self.fx(["serial=1", "serial=2"], "--duration=1", kind="osmosdr")
        self.check_second(output)
        self.check_fringes()

    @long_test
    def test_osmosdr_that_fails(self):
        """A source of gr-osmosdr cannot be told to end: what came is written nevertheless."""
        self.need_osmosdr()
        output = self.fx(["serial=1", "serial=2,fails=3e6:silence"], kind="osmosdr", status=1)
        self.assertIn("stopped sending after 1.2 s", output)
        self.check_fringes()

    def test_beams(self):
        """A beam adds both in phase: twice the power of two that do not know each other."""
        path = self.folder / "x.fil"
        with played():
            status, output, errors = run_main(
                beams_command,
                "--input",
                "soapy:driver=aperture_test,serial=1,paced=0;"
                "driver=aperture_test,serial=2,paced=0,rate=2.4e6,freq=1420.4e6",
                "--channels=256",
                "--beams=grid:az=0,el=90,columns=1,rows=1,spacing=1",
                "--duration=1",
                "-o",
                path,
            )
        self.assertEqual(status, 0, errors)
        self.check_second(output)
        self.assertGreater(path.stat().st_size, 100000)

    def test_what_fails_while_it_runs(self):
        """One message for each, and the file has what came before."""
        for devices, message in (
            (
                ["serial=1", "serial=2,fails=0:silence"],
                "no samples come from soapy:driver=aperture_test,serial=2",
            ),
            (
                ["serial=1", "serial=2,fails=3e6:error"],
                "serial=2.*stopped sending after 1.2 s .*; what came before is written",
            ),
            (
                ["serial=1", "serial=2,storm=50000:1000"],
                "serial=2.*loses samples all the time, "
                r"\d+ times in",
            ),
        ):
            with self.subTest(devices=devices):
                output = self.fx(devices, status=1)
                (told,) = re.findall("^.*error: .*$", output, re.MULTILINE)
                self.assertRegex(told, message)
                if "3e6" in devices[1]:
                    self.check_second(output)
                    self.check_fringes()

    def test_nothing_in_common(self):
        output = self.fx(["serial=1", "serial=2,coherence=0"], "--duration=1")
        self.assertIn("R2x does not correlate with R1x: its offset is unknown", output)
        _, there = self.visibilities()
        self.assertEqual(there[:, 2].sum(), 0)
        self.assertEqual(there[:, 0].min(), 1)

    def test_what_is_wrong_before(self):
        """One message for each, at once."""
        both = ["serial=1", "serial=2"]
        from gnuradio.aperture.inputs import registry

        for devices, options, connected, message in (
            (
                ["serial=1", "serial=3"],
                "",
                None,
                "no receiver is driver=aperture_test,serial=3,"
                "paced=0; SoapySDR finds driver=aperture_test,serial=1 and driver=aperture_test,"
                "serial=2",
            ),
            (
                both,
                ",rate=5e7",
                None,
                "rate=50000000: driver=aperture_test,serial=1,paced=0 allows 100 kHz to 10 MHz",
            ),
            (both, ",freq=9e9", None, "freq=9000000000: .* allows 1 MHz to 6000 MHz"),
            (both, ",gain=99", None, "gain=99: .* allows 0 dB to 60 dB"),
            (both, ",clock=gps", None, "clock=gps: .* has internal, external"),
            (both, ",antenna=TX", None, "antenna=TX: .* has RX, RX2"),
            (both, ",time=external", None, "time=external: .* sets no time at a pulse"),
            (
                ["serial=1", "serial=1"],
                "",
                None,
                "driver=aperture_test,serial=1,paced=0 is named twice",
            ),
            (
                ["label=a", "serial=1"],
                "",
                "serial=1,label=a;serial=2",
                "are one receiver, driver=aperture_test,serial=1",
            ),
            (
                ["serial=1", "serial=2"],
                "",
                "serial=1;serial=1;serial=2",
                "2 receivers are driver=aperture_test,serial=1",
            ),
        ):
            with self.subTest(devices=devices, options=options):
                names = ";".join(f"driver=aperture_test,{device},paced=0" for device in devices)
                options += "" if "rate=" in options else ",rate=2.4e6"
                options += "" if "freq=" in options else ",freq=1420.4e6"
                with played(connected), self.assertRaisesRegex(ValueError, message) as caught:
                    registry.open_input(f"soapy:{names}{options}")
                self.assertTrue(str(caught.exception).startswith("input soapy:"))
        self.assertIn("aperture_fx: error: --input soapy:", self.fx(["serial=3"], status=1))


if __name__ == "__main__":
    main()
