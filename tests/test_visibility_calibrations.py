# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Calibrations that aperture_convert applies, and the places that it phases to: beside what the
correlator makes of the same voltages, and what pyuvdata makes of the same file.
"""

import unittest
from dataclasses import replace

from places import enter_environment, fresh_folder, main

enter_environment("conversion")

import h5py
import numpy as np
from pyuvdata import UVCal, UVData
from pyuvdata.utils import uvcalibrate

from gnuradio.aperture.calibration.calibration import Band, Calibration, InputCalibration
from gnuradio.aperture.calibration.calibration_file import save_calibration
from gnuradio.aperture.calibration.uvcal import save_uvcal
from gnuradio.aperture.commands import calibrate, fx
from gnuradio.aperture.commands import convert as command
from gnuradio.aperture.formats.uvh5.header import gains_of
from gnuradio.aperture.formats.uvh5.reader import VisibilityFile
from gnuradio.aperture.testing.calibration_models import (
    array_of,
    frequencies_of,
    hidden_gains,
    products_of,
    write_observation,
)
from gnuradio.aperture.testing.observations import run as run_main

CHANNELS = 16
RUN = (
    "--input",
    "sim:y8",
    "--duration",
    "0.05",
    "--channels",
    CHANNELS,
    "--integration",
    "0.01",
    "--device",
    "cpu",
)


def contents(path):
    """Visibilities, flags, u, v, w, and texts of a UVH5 file."""
    with h5py.File(path) as file:
        header = file["Header"]
        keywords = {key: value[()] for key, value in header.get("extra_keywords", {}).items()}
        return (
            file["Data/visdata"][()],
            file["Data/flags"][()],
            header["uvw_array"][()],
            {**keywords, "unit": header["vis_units"][()]},
        )


class TestCalibrations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The same voltages, correlated without a calibration, and with one that the sink
        applies."""
        cls.folder = fresh_folder("visibility_calibrations")
        cls.raw, cls.calibrated = cls.folder / "raw.uvh5", cls.folder / "calibrated.uvh5"
        cls.result = cls.folder / "result.uvh5"
        cls.correlate(cls.raw, "--format", "sc8")
        with VisibilityFile(cls.raw) as file:
            cls.names = [file.names[antenna] + "x" for antenna in file.antennas]
            band = Band.of(file.frequencies, file.channel_width)
            cls.middle = (file.start - 2440587.5) * 86400
        rng = np.random.default_rng(3)
        cls.calibration = Calibration(
            array="y8",
            band=band,
            inputs=[
                InputCalibration(
                    name,
                    rng.uniform(-1e-8, 1e-8),
                    rng.uniform(-3, 3),
                    rng.uniform(0.5, 2, CHANNELS) * np.exp(1j * rng.uniform(-1, 1, CHANNELS)),
                )
                for name in cls.names
            ],
            source="a test",
            measured=(cls.middle - 60, cls.middle + 60),
            unit="Jy",
        )
        cls.file = cls.folder / "cal.yml"
        save_calibration(cls.calibration, cls.file)
        cls.correlate(
            cls.calibrated, "--format", "sc8", "--calibration", cls.file, "--calibrate", "sink"
        )

    @classmethod
    def correlate(cls, path, *options):
        code, _, errors = run_main(fx, *RUN, "-o", path, *options)
        assert code == 0, errors

    def convert(self, source, *options):
        code, output, errors = run_main(command, source, self.result, *options)
        self.assertEqual(code, 0, errors)
        return output + errors

    def test_as_the_correlator(self):
        """A file is corrected afterwards as it is by the sink while it is correlated."""
        output = self.convert(self.raw, "--calibration", self.file)
        self.assertIn("calibrated by cal.yml", output)
        found, flags, _, texts = contents(self.result)
        expected, _, _, words = contents(self.calibrated)
        scale = np.abs(expected).max()
        self.assertGreater(np.abs(found / contents(self.raw)[0] - 1).max(), 0.1)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * scale)
        self.assertFalse(flags.any())
        for key in ("CALSTATE", "unit"):
            self.assertEqual(texts[key], words[key])
        self.assertEqual(texts["unit"], b"Jy")
        self.assertNotIn("GAINS", texts)
        self.assertIn(b"cal.yml: a test, measured", texts["CALIB"])
        # a second one says so
        code, _, errors = run_main(
            command, self.result, self.folder / "twice.uvh5", "--calibration", self.file
        )
        self.assertEqual(code, 0)
        self.assertIn("a calibration was applied to the visibilities: this one comes on", errors)

    def test_as_pyuvdata(self):
        """The same calibration as a CalH5 file: pyuvdata's uvcalibrate() makes the same of it."""
        path = self.folder / "cal.calh5"
        with VisibilityFile(self.raw) as file:
            levels = gains_of(file.keywords["GAINS"])
            level = {number: levels[name + "x"] for number, name in file.names.items()}
            save_uvcal(self.calibration, str(path), file)
        expected = UVData.from_file(str(self.raw))
        uvcalibrate(expected, UVCal.from_file(str(path)), time_check=False)
        expected.data_array /= np.array(
            [level[a] * level[b] for a, b in zip(expected.ant_1_array, expected.ant_2_array)]
        )[:, None, None]
        self.convert(self.raw, "--calibration", path)
        found, flags, _, _ = contents(self.result)
        scale = np.abs(expected.data_array).max()
        np.testing.assert_allclose(found, expected.data_array, rtol=0, atol=1e-5 * scale)
        np.testing.assert_array_equal(flags, expected.flag_array)

    def test_phased(self):
        """Phased to a source: as by pyuvdata's phase(), and near what --track makes of it."""
        place = "23:23:24 +58:48:54"
        output = self.convert(self.raw, "--centre", place)
        found, _, uvw, _ = contents(self.result)
        expected = UVData.from_file(str(self.raw))
        ra, dec = (
            float(word.strip("°, ")) for word in output.split("RA ")[1].split(" (")[0].split("Dec")
        )
        expected.phase(lon=np.radians(ra), lat=np.radians(dec), cat_name="a")
        np.testing.assert_allclose(uvw, expected.uvw_array, rtol=0, atol=1e-3)
        # the place was said to five digits
        scale = np.abs(expected.data_array).max()
        np.testing.assert_allclose(found, expected.data_array, rtol=0, atol=1e-4 * scale)
        tracked = self.folder / "tracked.uvh5"
        self.correlate(tracked, "--format", "fc32", "--track", place)
        plain = self.folder / "plain.uvh5"
        self.correlate(plain, "--format", "fc32")
        self.convert(plain, "--centre", place)
        found, _, uvw, _ = contents(self.result)
        values, _, places, _ = contents(tracked)
        np.testing.assert_allclose(uvw, places, rtol=0, atol=2e-3)
        # fractional delays leave some of the noise different in the voltages
        self.assertLess(np.abs(found - values).std(), 0.1 * np.abs(values).std())

    def test_series(self):
        """Each integration gets the calibration of several that was measured nearest to it."""
        with VisibilityFile(self.raw) as file:
            times = (file.times - 2440587.5) * 86400
        self.assertGreaterEqual(len(times), 2)
        later = replace(
            self.calibration,
            measured=(times[-1], times[-1] + 0.02),
            inputs=[
                replace(entry, bandpass=entry.bandpass * 2) for entry in self.calibration.inputs
            ],
        )
        first = replace(self.calibration, measured=(times[0], times[0]))
        names = [self.folder / "first.yml", self.folder / "later.yml"]
        for calibration, name in zip((first, later), names):
            save_calibration(calibration, name)
        self.convert(self.raw, "--calibration", *names, "--interpolation", "nearest")
        self.assertIn(b"; 2 calibrations, the nearest one", contents(self.result)[3]["CALIB"])
        found, alone = contents(self.result)[0], contents(self.calibrated)[0]
        rows = len(found) // len(times)
        for number, time in enumerate(times):
            factor = 1 if time - times[0] < times[-1] + 0.01 - time else 4
            part = slice(number * rows, (number + 1) * rows)
            np.testing.assert_allclose(
                found[part], factor * alone[part], rtol=0, atol=1e-5 * np.abs(found).max()
            )

    def interpolated(self, moments, corrections, times):
        """
        Corrections [time][input][channel] between some, [moment][input][channel], by the
        definition: magnitudes are linear, and so are phases that are unwrapped along the band
        from its middle, where they go the shorter way; before and after all these they stay.
        """
        sizes, middle = np.abs(corrections), CHANNELS // 2
        above = np.unwrap(np.angle(corrections[..., middle:]), axis=-1)
        below = np.unwrap(np.angle(corrections[..., middle::-1]), axis=-1)[..., :0:-1]
        phases = np.concatenate([below, above], axis=-1)
        straight = np.unwrap(phases[..., middle], axis=0)
        phases += (straight - phases[..., middle])[..., None]
        at = lambda values: np.array(
            [
                [[np.interp(time, moments, values[:, i, k]) for k in range(CHANNELS)] for i in ins]
                for time in times
            ]
        )
        ins = range(len(self.names))
        return at(sizes) * np.exp(1j * at(phases))

    def test_interpolated(self):
        """Between calibrations, one of which may have another reference, and beyond them."""
        with VisibilityFile(self.raw) as file:
            times, frequencies = (file.times - 2440587.5) * 86400, file.frequencies
        rng = np.random.default_rng(8)
        # files say times to the millisecond
        moments = np.round(times[0] + np.array([0.002, 0.027, 0.036]), 3)
        width = CHANNELS * self.calibration.band.width
        series = []
        for number, moment in enumerate(moments):
            entries = [
                InputCalibration(
                    name,
                    # by up to three cycles over the band, the reference aside
                    (place > 0) * rng.uniform(-1.5, 1.5) / width,
                    (place > 0) * (2.0 + 0.9 * number * (-1) ** place),
                    rng.uniform(0.5, 2, CHANNELS)
                    * np.exp((place > 0) * 1j * rng.uniform(-0.3, 0.3, CHANNELS)),
                )
                for place, name in enumerate(self.names)
            ]
            series.append(
                replace(
                    self.calibration,
                    inputs=entries,
                    references=self.names[:1],
                    measured=(moment, moment),
                )
            )
        corrections = np.array([each.corrections(frequencies, self.names) for each in series])
        expected = self.interpolated(moments, corrections, times)
        plain = self.convert_with(*series)
        with VisibilityFile(self.raw) as file:
            raw = contents(self.raw)[0][..., 0]
            levels = gains_of(file.keywords["GAINS"])
            place_of = {number: self.names.index(name + "x") for number, name in file.names.items()}
            level = np.array([levels[name] for name in self.names])
            first, second = (
                np.array([place_of[number] for number in ants])
                for ants in (file.first, file.second)
            )
            time_of = np.repeat(np.arange(len(times)), len(raw) // len(times))
        factors = (
            expected[time_of, first].conj()
            * expected[time_of, second]
            / (level[first] * level[second])[:, None]
        )
        scale = np.abs(raw * factors).max()
        np.testing.assert_allclose(plain, raw * factors, rtol=0, atol=3e-6 * scale)
        # the same corrections with another reference: a phase of all inputs in common
        other = series[1].inputs[3]
        bend = np.exp(-1j * np.angle(other.bandpass))
        series[1] = replace(
            series[1],
            references=[other.name],
            inputs=[
                replace(
                    entry,
                    delay=entry.delay - other.delay,
                    phase=entry.phase - other.phase,
                    bandpass=entry.bandpass * bend,
                )
                for entry in series[1].inputs
            ],
        )
        np.testing.assert_allclose(
            self.convert_with(*reversed(series)), plain, rtol=0, atol=3e-6 * scale
        )
        # an input that one of them did not find has nothing up to the next ones
        lost = replace(series[2].inputs[5], bandpass=np.zeros(CHANNELS))
        series[2] = replace(series[2], inputs=[*series[2].inputs[:5], lost, *series[2].inputs[6:]])
        self.convert_with(*series)
        flagged = contents(self.result)[1].all(axis=(1, 2))
        mine = (first == 5) | (second == 5)
        late = times[time_of] > moments[1]
        np.testing.assert_array_equal(flagged, mine & late)

    def convert_with(self, *series):
        """Visibilities that some calibrations correct."""
        names = [self.folder / f"of-{number}.yml" for number in range(len(series))]
        for calibration, name in zip(series, names):
            save_calibration(calibration, name)
        self.convert(self.raw, "--calibration", *names)
        return contents(self.result)[0][..., 0]

    def test_steep(self):
        """A phase of which nobody knows the way around is told."""
        turned = [replace(entry, phase=entry.phase + 2.5) for entry in self.calibration.inputs[1:]]
        later = replace(
            self.calibration,
            inputs=[self.calibration.inputs[0], *turned],
            measured=(self.middle + 90, self.middle + 90),
        )
        path = self.folder / "turned.yml"
        save_calibration(later, path)
        output = self.convert(self.raw, "--calibration", self.file, path)
        self.assertRegex(output, r"changes by 143° from \S+Z to \S+Z, and perhaps the other way")

    def test_intervals(self):
        """aperture_calibrate --interval, and its calibrations applied: phases that drift stand
        still."""
        array, frequencies, integrations = array_of("ABCD"), frequencies_of(8), 6
        gains, _ = hidden_gains(4, 8)
        rng = np.random.default_rng(4)
        drift = np.exp(1j * np.radians(15) * np.outer(np.arange(integrations), [0, 1, -1, 2]))
        products = [
            products_of(gains * phasor[:, None], [(30.0, np.zeros(4))], frequencies, 2000, rng)
            for phasor in drift
        ]
        path, folder = self.folder / "drift.uvh5", fresh_folder("visibility_calibrations/cal")
        write_observation(path, array, frequencies, products, 2000)
        code, output, errors = run_main(
            calibrate, path, "-o", folder / "{time}.yml", "--interval", 1
        )
        self.assertEqual(code, 0, errors)
        self.assertIn("6 of 6 intervals: written", output)
        output = self.convert(path, "--calibration", *sorted(folder.iterdir()))
        self.assertIn("calibrated by ", output)
        found = contents(self.result)[0]
        # noise of a thirtieth of a power that is 1 now
        np.testing.assert_allclose(found.real[..., 0], 1, atol=0.15)
        self.assertLess(np.abs(np.angle(found, deg=True)).max(), 3.0)

    def test_lost_inputs(self):
        """Products of an input that the calibration did not find are flagged, and it is said."""
        inputs = list(self.calibration.inputs)
        inputs[1] = replace(inputs[1], bandpass=np.zeros(CHANNELS))
        path = self.folder / "lost.yml"
        save_calibration(replace(self.calibration, inputs=inputs), path)
        output = self.convert(self.raw, "--calibration", path)
        self.assertIn(f"the calibration has no correction for {self.names[1]}, ", output)
        with VisibilityFile(self.result) as file:
            number = file.antennas[1]
            mine = (file.first == number) | (file.second == number)
        np.testing.assert_array_equal(contents(self.result)[1].all(axis=(1, 2)), mine)

    def test_refused(self):
        bare = self.folder / "bare.yml"
        save_calibration(
            replace(self.calibration, inputs=self.calibration.inputs[:-1], unit=""), bare
        )
        other = self.folder / "other.yml"
        save_calibration(
            replace(self.calibration, band=Band(1e9, 1e5, CHANNELS), reference_frequency=1e9), other
        )
        for words, text in (
            (("--calibration", bare), f"has no input '{self.names[-1]}'"),
            (("--calibration", other), "channels are outside"),
            (("--calibration", self.file, bare), "some are in Jy, others are not"),
            (("--calibration", self.folder / "none.yml"), "none.yml"),
            (
                ("--calibration", self.file, "--scale", "kelvin"),
                "scale: kelvin is not known for input",
            ),
        ):
            with self.subTest(words):
                self.result.unlink(missing_ok=True)
                code, _, errors = run_main(command, self.raw, self.result, *words)
                self.assertEqual(code, 1, errors)
                self.assertIn(text, errors)
                self.assertNotIn("this should not happen", errors)
                self.assertFalse(self.result.exists())


if __name__ == "__main__":
    main()
