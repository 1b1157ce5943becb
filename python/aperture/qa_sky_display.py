#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""sky_display without its window: what it finds in the simulator's sky, and what it refuses."""

import io
import time
from dataclasses import replace

import matplotlib.image
import numpy as np
import pmt
from gnuradio import aperture, blocks, gr, gr_unittest

from gnuradio.aperture.arrays import geometry
from gnuradio.aperture.displays.sky_image import colours, limits, png
from gnuradio.aperture.displays.sky_view import SkyView
from gnuradio.aperture.imaging.names import names_near
from gnuradio.aperture.imaging.visibilities import ImagingError
from gnuradio.aperture.streams.integration_tags import IntegrationTags
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.qa_tools import run_chain
from gnuradio.aperture.testing.satellites import EPOCH, ORBITS
from gnuradio.aperture.tracking.directions import azimuth_elevation, icrs, parse_direction
from gnuradio.aperture.tracking.satellite_files import satellites_of

START = 1718949600  # 2024-06-21T06:00:00Z: Sun, Cas A and Cyg A are up at y16
CHANNELS = 32


def chain(display, array, samples, type="sc8", start=START, **engine):
    """Runs simulator, F-engine, X-engine and display to their end."""
    inputs = len(array.inputs)
    source = aperture.array_source(
        array, samples=samples, start_time=start, type=type, inputs_per_port=inputs
    )
    f_engine = aperture.f_engine(
        channels=CHANNELS,
        inputs=inputs,
        inputs_per_port=inputs,
        input_type=type,
        output_type="sc8",
        spectra_per_frame=128,
        **engine,
    )
    run_chain(
        source,
        f_engine,
        aperture.xengine(
            channels=CHANNELS, inputs=inputs, spectra_per_frame=128, type="sc8", integration=20
        ),
        display,
    )


def separation(azimuth, elevation, other):
    """Degrees between two directions."""
    one, two = geometry.direction(azimuth, elevation), geometry.direction(*other)
    return np.degrees(2 * np.arcsin(np.linalg.norm(one - two) / 2))


class qa_sky_display(InFolder, gr_unittest.TestCase):
    def test_whole_sky(self):
        """The brightest place is the Sun, within a tenth of the beam, and is said to be."""
        array = aperture.load_array("y16")
        display = aperture.sky_display(array, CHANNELS, averaging=10.0)
        chain(display, array, 400000)
        self.assertIsNone(display.error())
        picture = display.picture()
        beam = np.degrees(picture.image.beam.minor)
        self.assertTrue(2 < beam < 5, beam)
        # the simulated source moves with the sky; so does what the display says of the time
        self.assertAlmostEqual(picture.time, START + 0.2, delta=0.2)
        truth = azimuth_elevation(parse_direction("sun"), picture.time, array)
        # two others shine through the sidelobes: without them
        alone = replace(array, sources=array.sources[:1])
        display = aperture.sky_display(alone, CHANNELS, averaging=10.0, centre="sky")
        chain(display, alone, 400000)
        picture = display.picture()
        self.assertLess(separation(picture.azimuth, picture.elevation, truth), beam / 10)
        self.assertRegex(
            picture.brightest,
            r"^brightest: az \d+\.\d°, el \d+\.\d°; nearest named "
            r"source: Sun, 0\.\d+° away$",
        )
        ra, dec = np.radians([picture.ra, picture.dec])
        ra_sun, dec_sun = np.radians(icrs(parse_direction("sun"), picture.time, array)[:2])
        off = np.degrees(
            np.arccos(
                np.sin(dec) * np.sin(dec_sun) + np.cos(dec) * np.cos(dec_sun) * np.cos(ra - ra_sun)
            )
        )
        self.assertLess(off, beam / 10)
        # power 0.7 beside receiver noise of power 1
        self.assertAlmostEqual(picture.peak.value, 0.7 / 1.7, delta=0.03)

    def test_satellites(self):
        """Satellites that are up are named where they are, and move; damaged elements are left
        out with file and line."""
        array, path = aperture.load_array("y16"), self.path("some.txt")
        names = list(ORBITS)
        lines = "".join(f"{name}\n{ORBITS[name]}\n" for name in names)
        with open(path, "w") as file:
            file.write(lines + "broken\n" + ORBITS["station"].replace(" 51.6", " 52.6"))
        found, damaged = satellites_of([path])
        self.assertEqual([entry.name for entry in found], names)
        (problem,) = damaged
        self.assertTrue(problem.startswith(f"{path}:{3 * len(names) + 2}: broken is left out: "))
        display = aperture.sky_display(array, CHANNELS, satellites=path)
        places = []
        for start in (EPOCH, EPOCH + 600):
            chain(display, array, 200000, start=start)
            self.assertIsNone(display.error())
            picture = display.picture()
            seen = {name: (l, m) for name, l, m in picture.sources if name in names}
            for entry in found:
                az, el = azimuth_elevation(entry, picture.time, array)
                self.assertEqual(entry.name in seen, el > 0)
                if el > 0:
                    np.testing.assert_allclose(
                        seen[entry.name], geometry.direction(az, el)[:2], atol=1e-6
                    )
            places.append(seen)
        both = set(places[0]) & set(places[1])
        self.assertTrue(any(places[0][name] != places[1][name] for name in both))
        with self.assertRaisesRegex(ValueError, "broken is left out: .*; no other satellite"):
            with open(path, "w") as file:
                file.write("broken\n" + ORBITS["station"].replace(" 51.6", " 52.6"))
            aperture.sky_display(array, CHANNELS, satellites=path)

    def test_field(self):
        """A field around a source, from an edge whose phases are those of a tracked direction."""
        array = aperture.load_array("y16")
        array = replace(array, sources=array.sources[1:2])
        cas = parse_direction("Cas A")
        to_cas = geometry.direction(*azimuth_elevation(cas, START + 0.2, array))
        delays = geometry.delays(array.input_positions(), to_cas)
        # design: d = max tau - tau, phase -2 pi f d
        lined_up = delays.max() - delays
        view = dict(centre="23:24 +59:30", width=20.0, averaging=10.0)
        for tracked in ("", "Cas A"):
            display = aperture.sky_display(array, CHANNELS, tracked=tracked, **view)
            inputs = len(array.inputs)
            top = gr.top_block()
            source = aperture.array_source(
                array, samples=400000, start_time=START, type="sc8", inputs_per_port=inputs
            )
            f_engine = aperture.f_engine(
                channels=CHANNELS,
                inputs=inputs,
                inputs_per_port=inputs,
                input_type="sc8",
                output_type="sc8",
                spectra_per_frame=128,
            )
            if tracked:
                f_engine.set_delays(
                    lined_up.tolist(),
                    phases=(-2 * np.pi * array.center_frequency * lined_up).tolist(),
                    delay_rates=[0.0] * inputs,
                    phase_rates=[0.0] * inputs,
                )
            top.connect(
                source,
                f_engine,
                aperture.xengine(
                    channels=CHANNELS,
                    inputs=inputs,
                    spectra_per_frame=128,
                    type="sc8",
                    integration=20,
                ),
                display,
            )
            top.run()
            picture = display.picture()
            beam = np.degrees(picture.image.beam.minor)
            truth = azimuth_elevation(cas, picture.time, array)
            self.assertLess(separation(picture.azimuth, picture.elevation, truth), beam / 10)
            self.assertIn("nearest named source: Cas A, 0.", picture.brightest)
            self.assertFalse(picture.whole)

    def test_noise(self):
        """Noise of receivers alone is never called a source."""
        array = replace(aperture.load_array("y16"), sources=[])
        display = aperture.sky_display(array, CHANNELS, averaging=10.0)
        chain(display, array, 200000)
        self.assertRegex(display.picture().brightest, "^nothing stands out")

    def test_earth_rotation(self):
        """Marks and words go with the time of the tags: three hours rotate the sky by 45
        degrees."""
        array = aperture.load_array("y16")
        array = replace(array, sources=array.sources[1:2])
        places = []
        for start in (START, START + 3 * 3600):
            display = aperture.sky_display(array, CHANNELS, averaging=10.0)
            chain(display, array, 200000, start=start)
            picture = display.picture()
            name, l, m = next(entry for entry in picture.sources if entry[0] == "Cas A")
            self.assertLess(
                np.hypot(picture.peak.l - l, picture.peak.m - m), picture.image.beam.minor / 10
            )
            places.append((l, m))
        self.assertGreater(np.hypot(*np.subtract(*places)), 0.2)

    def test_rate(self):
        """All integrations count, the images are at the rate, and nothing waits for them."""
        array = aperture.load_array("y16")
        display = aperture.sky_display(array, CHANNELS, averaging=0.0, rate=1.0)
        begin = time.monotonic()
        chain(display, array, 400000)
        took = time.monotonic() - begin
        self.assertLessEqual(display.images(), took + 2)
        # the last image is of all that came since the one before: 12499 - 7 spectra
        integrations = (400000 // CHANNELS - 7) // 2560
        self.assertEqual(display.nitems_read(0), integrations + 1)
        self.assertGreater(display.picture().seconds, 0.0)

    def test_settings(self):
        """Setters hold from the next image on, and refuse what the constructor refuses."""
        view = SkyView(aperture.load_array("y16"), CHANNELS)
        frequencies = 1.5e8 + 1e6 / CHANNELS * (np.arange(CHANNELS) - CHANNELS // 2)
        values = np.ones((CHANNELS, 136), np.complex64)  # a source at the zenith, in effect

        def picture(at):
            return view.picture(values, np.ones(1), frequencies, START + at, 0.5)

        self.assertTrue(picture(0).whole)
        self.assertAlmostEqual(picture(0.5).seconds, 1.0)
        self.assertAlmostEqual(picture(1.0).seconds, 1.5)
        view.set_averaging(0.5)
        self.assertAlmostEqual(picture(1.5).seconds, 0.5)
        view.set_averaging(3600)
        for number in range(200):
            seconds = picture(2 + number / 2).seconds
        self.assertAlmostEqual(seconds, 100.5)
        # a time that jumps back begins anew
        self.assertAlmostEqual(picture(-1000).seconds, 0.5)
        view.set_centre("az=10, el=80")
        found = picture(-999)
        self.assertFalse(found.whole)
        self.assertAlmostEqual(found.seconds, 0.5)
        view.set_width(30.0)
        self.assertAlmostEqual(np.degrees(2 * np.arcsin(picture(-998).image.field.width / 2)), 30)
        with self.assertRaisesRegex(ValueError, "centre: .* is not known"):
            view.set_centre("nowhere")
        self.assertEqual(picture(-997).image.field.centre.name, found.image.field.centre.name)
        with self.assertRaisesRegex(ImagingError, "nothing is there"):
            view.picture(0 * values, np.ones(1), frequencies, START + 9000, 0.5)

    def test_refuses(self):
        for arguments, text in (
            (dict(array="y8"), "the shortest baseline, 68.9 m, is too long for a picture"),
            (dict(array="nowhere"), "neither a file nor the name"),
            (dict(channels=0), "channels: 0 is not allowed"),
            (dict(inputs=3), "inputs: 3 is not allowed; it must be 2"),
            (dict(width=111), "width: 111 is not allowed"),
            (dict(pixels=7), "pixels: 7 is not allowed"),
            (dict(weight="best"), "weight: 'best' is not allowed"),
            (dict(averaging=-1), "averaging: -1 is not allowed"),
            (dict(dynamic_range=200), "dynamic_range: 200 is not allowed"),
            (dict(rate=0), "rate: 0 is not allowed"),
            (dict(centre="nowhere"), "centre: 'nowhere' is not known"),
            (dict(tracked="nowhere"), "tracked: 'nowhere' is not known"),
        ):
            with self.assertRaisesRegex((ValueError, OSError), text):
                aperture.sky_display(**arguments)
        aperture.sky_display(array="y8", centre="Cas A")

    def test_tags(self):
        """An edge that nobody tagged ends with a message that says what to do."""
        display = aperture.sky_display(channels=4)
        run_chain(blocks.vector_source_c([1] * 120, vlen=12), display)
        self.assertRegex(display.error(), "the first integration has no rx_time, rx_freq")

    def test_integration_tags(self):
        """Times are continued where no tag says them; what is tuned anew is followed."""
        reader = IntegrationTags(5, 3)
        counted = pmt.init_u64vector(1, [90])
        found = reader.take(
            {
                "rx_time": pmt.make_tuple(pmt.from_uint64(1000), pmt.from_double(0.25)),
                "rx_freq": pmt.from_double(1e8),
                "bandwidth": pmt.from_double(500.0),
                "spectra": pmt.from_uint64(100),
                "counted": counted,
            }
        )
        # spectra are 10 ms apart; rx_time is the middle of the first one
        self.assertAlmostEqual(found.begin, 1000.245)
        self.assertAlmostEqual(found.end, 1001.245)
        np.testing.assert_allclose(found.frequencies, 1e8 + 100 * np.arange(-2, 3))
        again = reader.take(
            {
                "spectra": pmt.from_uint64(50),
                "counted": pmt.init_u64vector(3, [50, 0, 1]),
                "rx_freq": pmt.from_double(2e8),
            }
        )
        self.assertAlmostEqual(again.middle, 1001.495)
        self.assertEqual(again.frequencies[2], 2e8)
        for wrong in ([60], [1, 2]):
            with self.assertRaisesRegex(ValueError, "do not fit 3 products"):
                reader.take(
                    {
                        "spectra": pmt.from_uint64(50),
                        "counted": pmt.init_u64vector(len(wrong), wrong),
                    }
                )

    def test_colours(self):
        image = np.array([[np.nan, -1.0], [0.5, 1.0]], np.float32)
        low, high = limits(image)
        self.assertEqual((low, high), (0.5, 1.0))
        found = colours(image, low, high)
        self.assertEqual(found[0, 0, 3], 0)
        self.assertEqual(found[1, 1].tolist(), colours(np.ones((1, 1)), 0, 1)[0, 0].tolist())
        low, high = limits(image, 20.0)
        self.assertAlmostEqual(low, 0.01)
        one = colours(np.array([[0.1]]), low, high, 20.0)[0, 0]
        np.testing.assert_array_equal(one, colours(np.array([[0.5]]), 0, 1)[0, 0])

    def test_png(self):
        """Another reader finds the same colours: x to the right, y up, clear where it is NaN."""
        image = np.linspace(-0.2, 1.2, 35).reshape(7, 5)
        image[2, 3] = np.nan
        found = (255 * matplotlib.image.imread(io.BytesIO(png(image, 0, 1)))).round()
        expected = np.swapaxes(colours(image, 0, 1), 0, 1)[::-1].astype(float)
        self.assertEqual((5, 7, 4), found.shape)
        self.assertEqual([(1, 2)], list(zip(*np.nonzero(found[..., 3] == 0))))
        # one of 255 levels is for clear pixels, so others differ by a level
        clear = expected[..., 3] == 0
        self.assertLess(np.abs(found - expected)[~clear].max(), 8)

    def test_marks(self):
        """Marks are above the horizon and in the field."""
        array, view = aperture.load_array("y16"), SkyView(aperture.load_array("y16"), CHANNELS)
        frequencies = 1.5e8 + 1e4 * np.arange(CHANNELS)
        picture = view.picture(
            np.ones((CHANNELS, 136), np.complex64), np.ones(1), frequencies, START, 1.0
        )
        self.assertEqual(
            picture.sources, names_near(picture.image.field, START, array, np.eye(3), True)
        )
        names = [name for name, _, _ in picture.sources]
        self.assertTrue({"Sun", "Cas A", "Cyg A"} <= set(names))
        self.assertNotIn("Vir A", names)
        self.assertNotIn("B0329+54", names)


if __name__ == "__main__":
    gr_unittest.run(qa_sky_display)
