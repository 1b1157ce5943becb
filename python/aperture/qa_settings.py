#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Settings that are changed while a flowgraph runs, in the files that it writes."""

import json
import math
from pathlib import Path

import h5py
import numpy as np
import yaml
from astropy.io import fits
from astropy.time import Time
from astropy.utils import iers
from gnuradio import aperture, gr, gr_unittest

from gnuradio.aperture import array_source, delay_tracker, pointing
from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.arrays.array_description import Source
from gnuradio.aperture.beams.beams import Beam
from gnuradio.aperture.formats.uvh5.header import gains_of
from gnuradio.aperture.testing import qa_tools
from gnuradio.aperture.testing.arrays import make_array
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.item_stream import Log, caller
from gnuradio.aperture.testing.power_files import read_filterbank
from gnuradio.aperture.testing.sky_model import geometric_delays
from gnuradio.aperture.testing.voltage_files import read_dada, read_guppi, read_sigmf
from gnuradio.aperture.tracking.directions import Direction

aperture = qa_tools.on_device(aperture)
iers.conf.auto_download = False

START = 1577934245  # 2020-01-02T03:04:05Z: astropy's own table of the Earth's rotation has it
RATE, FREQUENCY = 1e5, 4e8
# an integration has FRAMES frames of FRAME spectra
CHANNELS, FRAME, FRAMES = 16, 3 * qa_tools.frame_length(7), 5
HOP = CHANNELS / RATE
SECONDS = 2.0
PLACES = {"A": (0.0, 0.0, 0.0), "B": (70.0, -20.0, 1.0), "C": (-30.0, 55.0, 0.0)}
INPUTS = len(PLACES)
FLUX = 100.0


def seconds_of(line):
    """Seconds since 1970 with which a line on a setting begins, from START on."""
    text = line.split()[0]
    assert text.endswith("Z")
    whole, _, part = text[:-1].partition(".")
    return int(np.datetime64(whole, "s").astype(int)) - START + float("0." + (part or "0"))


class qa_settings(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.array = make_array(PLACES, rate=RATE, center=FREQUENCY)
        self.one, self.other = self.direction("one", 170, 60), self.direction("other", 95, 35)

    def direction(self, name, azimuth, elevation):
        """A direction that moves and is there at START."""
        array = self.array
        ra, dec = geometry.azel_to_radec(
            azimuth, elevation, START, array.latitude, array.longitude, array.height
        )
        return Direction(name, ra=float(ra), dec=float(dec))

    def source(self, flux=FLUX):
        """The array's samples, of a source in the first direction."""
        return array_source(
            self.array,
            [Source("s", ra=self.one.ra, dec=self.one.dec, flux=flux)],
            samples=int(SECONDS * RATE),
            start_time=START,
            inputs_per_port=INPUTS,
        )

    def front(self, top, change, type="fc32", tracked=True, extra=()):
        """
        Connects source, caller, tracker and F-engine, which is given back; the setting is changed,
        by change(), when half of the samples have come.
        """
        engine = aperture.f_engine(
            channels=CHANNELS,
            inputs=INPUTS,
            inputs_per_port=INPUTS,
            spectra_per_frame=FRAME,
            output_type=type,
            gain=1 if type == "fc32" else 3,
            most_delay=16,
        )
        # GNU Radio's gateway holds no reference
        self.caller = caller(8 * INPUTS, int(SECONDS * RATE / 2), change)
        chain = [self.source(), self.caller]
        if tracked:
            self.tracker = delay_tracker(self.array, self.one, CHANNELS, item_size=8 * INPUTS)
            top.msg_connect(self.tracker, "delays", engine, "delays")
            chain.append(self.tracker)
        top.connect(*chain, *extra, engine)
        return engine

    def visibilities(
        self, change, type="fc32", tracked=True, name="v-{time}.uvh5", log=None, **arguments
    ):
        """Runs the chain to files of visibilities; the sink."""
        top = gr.top_block()
        self.engine = engine = self.front(top, lambda: change(), type, tracked)
        self.xengine = aperture.xengine(
            channels=CHANNELS, inputs=INPUTS, spectra_per_frame=FRAME, type=type, integration=FRAMES
        )
        sink = aperture.uvh5_sink(
            self.folder / name,
            self.array,
            CHANNELS,
            tracked=self.one if tracked else None,
            **arguments,
        )
        if log:
            sink.logger = log
        top.connect(engine, self.xengine, sink)
        top.run()
        return sink

    def read(self, path):
        """{name: value} of all datasets."""
        found = {}
        with h5py.File(path, "r") as file:
            file.visititems(
                lambda name, entry: (
                    found.update({name: entry[()]}) if isinstance(entry, h5py.Dataset) else None
                )
            )
        return found

    def two_files(self, sink):
        """The contents of both files that there are; integrations follow on each other in them."""
        self.assertIsNone(sink.error())
        self.assertEqual(2, len(sink.files()), sink.files())
        files = [self.read(path) for path in sink.files()]
        rows = files[0]["Header/Nbls"]
        middles, lengths = (
            np.concatenate([file[f"Header/{name}"][::rows] for file in files])
            for name in ("time_array", "integration_time")
        )
        steps = np.diff(middles) * 86400
        # a double is good to 40 us in a Julian date
        np.testing.assert_allclose(steps, (lengths[1:] + lengths[:-1]) / 2, atol=1e-4)
        return files

    def lines(self, file):
        """Lines on settings in a file's history."""
        history = file["Header/history"].decode()
        return history.partition("settings: ")[2].split("; ") if "settings: " in history else []

    def begin_of(self, file):
        """Seconds from START to the middle of the first spectrum of a file."""
        first = (file["Header/time_array"][0] - (2440587.5 + START / 86400)) * 86400
        return first - file["Header/integration_time"][0] / 2 + HOP / 2

    # ---- visibilities

    def test_direction(self):
        """Each file has the phases of its own phase centre, in each integration."""
        sink = self.visibilities(lambda: self.tracker.track(self.other))
        files = self.two_files(sink)
        for file, direction in zip(files, (self.one, self.other)):
            catalogue = {
                key.rpartition("/")[2]: value
                for key, value in file.items()
                if "phase_center_catalog" in key
            }
            self.assertEqual(direction.name, catalogue["cat_name"].decode())
            np.testing.assert_allclose(
                np.degrees([catalogue["cat_lon"], catalogue["cat_lat"]]),
                [direction.ra, direction.dec],
                rtol=1e-12,
            )
            rows = file["Header/Nbls"]
            pairs = list(zip(file["Header/ant_1_array"][:rows], file["Header/ant_2_array"][:rows]))
            names = [name.decode() for name in file["Header/antenna_names"]]
            inputs = [self.array.input_names.index(name + "x") for name in names]
            times = file["Header/time_array"][::rows]
            values = file["Data/visdata"].reshape(len(times), rows, CHANNELS)
            self.assertEqual(0, file["Data/flags"].sum())
            for time, visibilities in zip(times, values):
                moment = Time(time, format="jd", scale="utc")
                late = geometric_delays(self.array, self.one.ra, self.one.dec, moment)
                late = late - geometric_delays(self.array, direction.ra, direction.dec, moment)
                for (a, b), found in zip(pairs, visibilities):
                    if a == b:
                        continue
                    delay = late[inputs[b]] - late[inputs[a]]
                    expected = np.exp(-2j * np.pi * file["Header/freq_array"] * delay)
                    # channel 0 straddles the ends of the band; noise is 1 % of the source, and
                    # a direction away phases are those of any angle
                    off = np.angle(found[1:] / expected[1:], deg=True)
                    self.assertLess(np.abs(off).max(), 12)
        lines = self.lines(files[1])
        self.assertEqual(1, len(lines))
        self.assertIn("delays follow other (ra ", lines[0])
        # the direction holds from exactly the first spectrum of the file
        self.assertAlmostEqual(seconds_of(lines[0]), self.begin_of(files[1]), delta=1e-4)
        self.assertIn("delays follow one (ra ", self.lines(files[0])[0])

    def test_direction_in_one_file(self):
        """Without {time} in the name another direction is an error, as another frequency is, and
        the file has what came before."""
        sink = self.visibilities(lambda: self.tracker.track(self.other), name="v.uvh5")
        self.assertRegex(sink.error(), "delays follow other .* after one .* one phase centre")
        file = self.read(self.folder / "v.uvh5")
        self.assertAlmostEqual(
            self.begin_of(file) + file["Header/integration_time"].sum() / file["Header/Nbls"],
            1.0,
            delta=0.2,
        )

    def test_directions_that_the_sink_was_not_told(self):
        """The stream says what is tracked, whatever the sink's parameter says."""
        sink = self.visibilities(lambda: None, tracked=True, name="{phase_center}-{time}.uvh5")
        self.assertIn("one-2020", sink.files()[0])
        top = gr.top_block()
        engine = self.front(top, lambda: None)
        correlator = aperture.xengine(
            channels=CHANNELS, inputs=INPUTS, spectra_per_frame=FRAME, type="fc32"
        )
        sink = aperture.uvh5_sink(
            self.folder / "{phase_center}.uvh5", self.array, CHANNELS, tracked=self.other
        )
        top.connect(engine, correlator, sink)
        top.run()
        self.assertEqual([str(self.folder / "one.uvh5")], sink.files())

    def test_gains(self):
        before = np.array([3.0, 3.0, 3.0])
        sink = self.visibilities(
            lambda: self.engine.set_gain(1.5, 1), "sc8", tracked=False, gains=before
        )
        files = self.two_files(sink)
        gains = [gains_of(file["Header/extra_keywords/GAINS"].decode()) for file in files]
        self.assertEqual({"Ax": 3.0, "Bx": 3.0, "Cx": 3.0}, gains[0])
        self.assertEqual({"Ax": 3.0, "Bx": 1.5, "Cx": 3.0}, gains[1])
        (line,) = self.lines(files[1])
        self.assertIn("gains of input 1: gain 1.5", line)
        self.assertEqual([], self.lines(files[0]))
        # the gain holds from a spectrum of the last integration of the file before, or from its end
        self.assertLess(0, self.begin_of(files[1]) - seconds_of(line) + 1e-4)
        self.assertLess(self.begin_of(files[1]) - seconds_of(line), FRAME * FRAMES * HOP + 1e-4)
        rows = files[0]["Header/Nbls"]
        autos = []
        for file in files:
            places = [
                number
                for number in range(rows)
                if file["Header/ant_1_array"][number]
                == file["Header/ant_2_array"][number]
                == [name.decode() for name in file["Header/antenna_names"]].index("B")
            ]
            values = file["Data/visdata"].reshape(-1, rows, CHANNELS)[:, places[0]].real
            autos.append(values.mean(axis=1))
        # all but the one in which it begins
        np.testing.assert_allclose(autos[0][:-1].mean() / autos[1].mean(), 4, rtol=0.1)

    def test_gains_that_one_number_does_not_say(self):
        sink = self.visibilities(
            lambda: self.engine.set_gains([1j] * CHANNELS, 0), "sc8", False, gains=[3.0] * INPUTS
        )
        files = self.two_files(sink)
        self.assertIn("Header/extra_keywords/GAINS", files[0])
        self.assertNotIn("Header/extra_keywords/GAINS", files[1])
        self.assertIn("gains of input 0: gain of 16 numbers, rms 1", self.lines(files[1])[0])

    def test_delays(self):
        sink = self.visibilities(
            lambda: self.engine.set_delays([2e-6], input=2, model="cable"), tracked=False
        )
        files = self.two_files(sink)
        (line,) = self.lines(files[1])
        self.assertIn("delays of model cable, input 2: delay 2e-06", line)
        # a model that moves follows something, and is followed by others
        sink = self.visibilities(
            lambda: self.engine.set_delays([1e-6], [1e-9]), tracked=False, name="m-{time}.uvh5"
        )
        self.assertEqual(1, len(sink.files()))

    def test_integration(self):
        sink = self.visibilities(lambda: self.xengine.set_integration(3), tracked=False)
        files = self.two_files(sink)
        for file, frames in zip(files, (FRAMES, 3)):
            np.testing.assert_allclose(
                file["Header/integration_time"][: file["Header/Nbls"]], frames * FRAME * HOP
            )
        (line,) = self.lines(files[1])
        self.assertIn("integration: frames 3", line)
        self.assertAlmostEqual(seconds_of(line), self.begin_of(files[1]), delta=1e-4)

    def test_settings_in_one_file(self):
        """Without {time} in the name the file goes on, and the log says what it does not say."""
        log = Log()
        sink = self.visibilities(
            lambda: self.engine.set_gain(1.5, 1), tracked=False, name="v.uvh5", log=log
        )
        self.assertIsNone(sink.error())
        self.assertEqual([str(self.folder / "v.uvh5")], sink.files())
        self.assertEqual(1, len(log.warnings))
        self.assertRegex(log.warnings[0], "gains of input 1: gain 1.5: the file does not say so")

    # ---- beams

    def beams(self):
        return [Beam(**vars(self.one)), Beam("zenith", azimuth=0.0, elevation=90.0)]

    def powers(self, change, sinks, moved=True, spectra=FRAME // 3):
        """Runs a chain with beams to sinks, each a function that makes and connects one."""
        top = gr.top_block()
        self.pointing = pointing(
            self.array,
            self.beams(),
            CHANNELS,
            item_size=8 * INPUTS,
            frame_length=FRAME * HOP,
            phase_error=90,
        )
        self.engine = engine = self.front(
            top, lambda: change(), tracked=False, extra=[self.pointing]
        )
        self.beam_power = aperture.beam_power(
            channels=CHANNELS,
            inputs=INPUTS,
            beams=2,
            spectra_per_frame=FRAME,
            type="fc32",
            spectra=spectra,
        )
        top.connect(engine, self.beam_power)
        top.msg_connect(self.pointing, "weights", self.beam_power, "weights")
        made = [sink(top, engine, self.beam_power) for sink in sinks]
        top.run()
        return made

    def filterbank(self, top, _, powers):
        sink = aperture.filterbank_sink(
            str(self.folder / "{beam}-{time}.fil"), self.array, self.beams(), CHANNELS
        )
        top.connect(powers, sink)
        return sink

    def test_pointing(self):
        """Headers, as the format defines them, say where the beam of the file looks."""
        turned = [Beam(**vars(self.other)), Beam("zenith", azimuth=0.0, elevation=90.0)]
        (sink,) = self.powers(lambda: self.pointing.set_beams(turned), [self.filterbank])
        self.assertIsNone(sink.error())
        names = [Path(path).name.partition("-")[0] for path in sink.files()]
        self.assertEqual(["one", "zenith", "other", "zenith"], names)
        ends = []
        for path, direction in zip(sink.files()[::2], (self.one, self.other)):
            header, data = read_filterbank(path)
            self.assertEqual(direction.name, header["source_name"])
            self.assertAlmostEqual(degrees_of(header["src_raj"]) * 15, direction.ra, delta=1e-5)
            self.assertAlmostEqual(degrees_of(header["src_dej"]), direction.dec, delta=1e-5)
            begin = (header["tstart"] - (40587 + START / 86400)) * 86400
            ends += [begin, begin + len(data) / 4 / CHANNELS * header["tsamp"]]
        # the second file follows on the first
        self.assertAlmostEqual(ends[1], ends[2], delta=1e-5)
        self.assertFalse(Path(sink.files()[0] + ".settings").exists())
        lines = yaml.safe_load(Path(sink.files()[2] + ".settings").read_text())
        self.assertEqual(1, len(lines))
        self.assertIn("beams look at other (ra ", lines[0])
        # tstart is when the samples of the first spectrum begin, the setting's time its middle
        self.assertAlmostEqual(seconds_of(lines[0]), ends[2] + HOP / 2, delta=1e-5)

    def test_weights(self):
        (sink,) = self.powers(lambda: self.beam_power.set_mask([1, 0, 1], 1), [self.filterbank])
        self.assertEqual(4, len(sink.files()))
        lines = yaml.safe_load(Path(sink.files()[3] + ".settings").read_text())
        self.assertIn("weights of beam 1: mask 1 0 1", lines[-1])

    def voltages(self, name, type="fc32", **arguments):
        def connect(top, engine, _):
            sink = aperture.voltage_sink(
                str(self.folder / name), CHANNELS, INPUTS, FRAME, type, **arguments
            )
            top.connect(engine, sink)
            return sink

        return connect

    def test_gains_in_front_of_beams(self):
        """Settings of the F-engine reach the files of powers and voltages."""
        one = dict(selected_channels=[3], selected_inputs=[0])
        powers, several, single = self.powers(
            lambda: self.engine.set_gain(2, 0),
            [
                self.filterbank,
                self.voltages("v-{time}.sigmf-meta", **one),
                self.voltages("one.sigmf-meta", **one),
            ],
        )
        self.assertEqual(4, len(powers.files()))
        lines = yaml.safe_load(Path(powers.files()[2] + ".settings").read_text())
        self.assertIn("gains of input 0: gain 2", " ".join(lines))
        self.assertEqual(4, len(several.files()))
        meta, _ = read_sigmf(several.files()[2])
        (note,) = notes_of(meta)
        self.assertEqual(0, note["core:sample_start"])
        self.assertIn("gains of input 0: gain 2", note["core:comment"])
        # in one recording the note is at the frame from which on all spectra have it
        meta, _ = read_sigmf(self.folder / "one.sigmf-meta")
        (note,) = notes_of(meta)
        place = note["core:sample_start"]
        self.assertEqual(0, place % FRAME)
        begin = seconds_of(meta["captures"][0]["core:datetime"])
        late = begin + place * HOP - seconds_of(note["core:comment"])
        self.assertLessEqual(-1e-6, late)
        self.assertLess(late, FRAME * HOP)

    def test_guppi(self):
        """Each block of a GUPPI raw file has the settings in cards of its header."""
        top = gr.top_block()
        self.engine = self.front(top, lambda: self.engine.set_gain(2, 0), "sc8", tracked=False)
        sink = self.voltages(
            "v-{time}.raw",
            "sc8",
            selected_channels=None,
            selected_inputs=[0],
            blocks_per_file=10**6,
        )(top, self.engine, None)
        top.run()
        self.assertIsNone(sink.error())
        first, second = sink.files()
        self.assertFalse([key for key in read_guppi(first)[0][0] if key.startswith("SET0")])
        for header, _ in read_guppi(second):
            self.assertRegex(header["SET00000"], "^2020-.*Z gains of input 0: gain 2$")

    def test_dumps(self):
        """A dump says in its description, and in its files, which settings held."""
        top = gr.top_block()
        self.engine = self.front(top, lambda: self.engine.set_gain(2, 0), "sc8", tracked=False)
        ring = aperture.voltage_ring(
            str(self.folder / "d-{id}-{time}.dada"),
            "inputs",
            "sc8",
            CHANNELS,
            INPUTS,
            FRAME,
            size=1 << 22,
            memory="host",
        )
        top.connect(self.engine, ring)
        top.start()
        ring.trigger("before", START + 0.2, START + 0.3)
        ring.trigger("after", START + 1.7, START + 1.8)
        top.wait()
        before, after = (
            json.loads(next(self.folder.glob(f"d-{name}-*.json")).read_text())
            for name in ("before", "after")
        )
        self.assertEqual([], before["settings"])
        (line,) = after["settings"]
        self.assertIn("gains of input 0: gain 2", line)
        header, _ = read_dada(after["files"][0])
        self.assertEqual(line, header["SETTING_0"])

    def test_profiles(self):
        """PSRFITS files, read by astropy, say where the beam of each looks, and what was set."""
        bins = 8

        def profiles(top, _, powers):
            folder = aperture.folder(
                channels=CHANNELS, bins=bins, beams=2, subintegration=0.3, period=0.05, epoch=START
            )
            sink = aperture.psrfits_sink(
                str(self.folder / "{beam}-{time}.fits"),
                self.array,
                self.beams(),
                CHANNELS,
                bins,
                period=0.05,
                epoch=START,
            )
            top.connect(powers, folder)
            top.connect((folder, 0), (sink, 0))
            top.connect((folder, 1), (sink, 1))
            return sink

        turned = [Beam(**vars(self.other)), Beam("zenith", azimuth=0.0, elevation=90.0)]
        (sink,) = self.powers(lambda: self.pointing.set_beams(turned), [profiles])
        self.assertIsNone(sink.error())
        names = [Path(path).name.partition("-")[0] for path in sink.files()]
        self.assertEqual(["one", "zenith", "other", "zenith"], names)
        ends = []
        for path, direction in zip(sink.files()[::2], (self.one, self.other)):
            with fits.open(path) as file:
                header, rows = file[0].header, file["SUBINT"].data
                history = "".join(header.get("HISTORY", []))
                self.assertAlmostEqual(degrees_of_text(header["RA"]) * 15, direction.ra, delta=1e-5)
                self.assertAlmostEqual(degrees_of_text(header["DEC"]), direction.dec, delta=1e-5)
                begin = (header["STT_IMJD"] - 40587) * 86400 - START
                begin += header["STT_SMJD"] + header["STT_OFFS"]
                ends += [begin, begin + rows["TSUBINT"].sum()]
                self.assertIn(f"beams look at {direction.name} (ra ", history)
        self.assertAlmostEqual(ends[1], ends[2], delta=1e-4)


def notes_of(meta):
    """The annotations of a SigMF recording on settings."""
    return [each for each in meta["annotations"] if each["core:label"] == "setting"]


def degrees_of(number):
    """Degrees (or hours) of SIGPROC's ddmmss.s."""
    sign, number = math.copysign(1, number), abs(number)
    whole, minutes = divmod(number, 10000)
    minutes, seconds = divmod(minutes, 100)
    return sign * (whole + minutes / 60 + seconds / 3600)


def degrees_of_text(text):
    """Degrees (or hours) of dd:mm:ss.s."""
    whole, minutes, seconds = map(float, text.lstrip("+-").split(":"))
    return (-1 if text.startswith("-") else 1) * (whole + minutes / 60 + seconds / 3600)


if __name__ == "__main__":
    gr_unittest.run(qa_settings)
