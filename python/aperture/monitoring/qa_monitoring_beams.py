#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Powers of beams, from the flowgraph to what the page shows of them."""

import json
import unittest
from types import SimpleNamespace

import numpy as np
from gnuradio import aperture, gr

from gnuradio.aperture import Beam, monitoring, parse_direction
from gnuradio.aperture.arrays.geometry import SPEED_OF_LIGHT
from gnuradio.aperture.monitoring.beam_look import MOST_BEAMS, MOST_POINTS, BeamLook
from gnuradio.aperture.monitoring.server.beam_drawings import BeamDrawings
from gnuradio.aperture.testing import qa_tools, reference
from gnuradio.aperture.testing.monitored import simulated
from gnuradio.aperture.testing.qa_tools import DEVICE, Flowgraph, frame_tags
from gnuradio.aperture.tracking.directions import unit_vectors

DEVICES = sorted({"cpu", "emulated", DEVICE})
CHANNELS, RATE = 66, 2e5
#: the tone's channel, and its power in units of the receivers' noise
TONE, STRENGTH = 47, 4.0
FLUXES = {"Cas A": 0.5, "Cyg A": 0.25}
DARK = {"name": "dark", "azimuth": 180, "elevation": 50}


def newest_powers(publisher):
    """The last message of powers that waits to be sent, and its payload."""
    return [
        (message, payload)
        for message, payload, _ in publisher.outbox._waiting
        if message["kind"] == "powers"
    ][-1]


def beam_factors(array, beams, time):
    """Power that each source has in each beam [beam][source], when the noise of a beam is that of
    an input."""
    places = {name: unit_vectors([direction], time, array)[0] for name, direction in beams.items()}
    wave = SPEED_OF_LIGHT / array.center_frequency
    positions = array.input_positions()
    return np.array(
        [
            [
                flux
                * abs(np.exp(2j * np.pi / wave * positions @ (places[source] - places[beam])).sum())
                ** 2
                / len(positions)
                for source, flux in FLUXES.items()
            ]
            for beam in beams
        ]
    )


class qa_monitoring_beams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        gr.logging().set_default_level(gr.log_levels.err)

    def observe(self, device, hidden=()):
        """A publisher that has seen a simulated array of two sources, and its instrument."""
        array = aperture.load_array("y8")
        places = {name: parse_direction(name) for name in FLUXES}
        sources = [
            aperture.Source(name, ra=places[name].ra, dec=places[name].dec, flux=flux)
            for name, flux in FLUXES.items()
        ]
        tone = {
            "power": STRENGTH,
            "frequency": array.center_frequency + (TONE - CHANNELS // 2) * RATE / CHANNELS,
        }
        instrument = simulated(
            rate=RATE,
            channels=CHANNELS,
            samples=60000,
            integration=0.25,
            throttled=False,
            sources=sources,
            interference=[tone],
            device=device,
            beams=[*FLUXES, DARK],
        )
        instrument.blocks = {
            name: block for name, block in instrument.blocks.items() if name not in hidden
        }
        publisher = monitoring.Publisher(instrument)
        publisher.start()
        instrument.top.run()
        # the publisher's own thread does not look at the same time
        publisher.stop()
        publisher._look_once()
        return publisher, instrument, tone["frequency"]

    def test_two_sources(self):
        """Each beam has the power of its source, and the tone is in its channel."""
        array = aperture.load_array("y8")
        beams = {name: parse_direction(name) for name in FLUXES} | {"dark": Beam(**DARK)}
        for device in DEVICES:
            with self.subTest(device=device):
                publisher, instrument, frequency = self.observe(device)
                message, payload = newest_powers(publisher)
                self.assertEqual("dark (az 180.000° el 50.000°)", message["directions"][2])
                spectra = payload.reshape(3, CHANNELS)
                self.assertEqual([TONE] * 3, spectra.argmax(axis=1).tolist())
                quiet = np.delete(spectra, [TONE - 1, TONE, TONE + 1], axis=1).mean(axis=1)
                expected = 1 + beam_factors(array, beams, message["time"]).sum(axis=1)
                # 10000 values of noise in each at least, and sources that move meanwhile
                np.testing.assert_allclose(quiet, expected, rtol=0.05)
                self.assertGreater(quiet[0], 1.3 * quiet[1])
                self.assertGreater(quiet[1], 1.3 * quiet[2])
                drawings = BeamDrawings()
                drawings.draw(message, payload.tobytes(), instrument.describe())
                found = drawings.now
                self.assertEqual(
                    ["Cas A", "Cyg A", "dark"], [beam["name"] for beam in found["beams"]]
                )
                self.assertEqual("az 180.000° el 50.000°", found["beams"][2]["direction"])
                for curve, beam, powers in zip(found["decibels"], found["beams"], spectra):
                    self.assertAlmostEqual(
                        frequency, found["frequencies"][np.argmax(curve)], delta=10
                    )
                    self.assertAlmostEqual(float(powers.mean()), beam["power"], delta=1e-4)
                    self.assertAlmostEqual(10 * np.log10(powers.mean()), beam["decibels"], 3)

    def test_without_a_correlator(self):
        """Speed and integrations are then those of the powers."""
        publisher, instrument, _ = self.observe("cpu", hidden=("xengine",))
        figures = publisher._figures(publisher._attachment)
        self.assertEqual(instrument.blocks["beams"].nitems_written(0), figures["integrations"])
        self.assertGreater(figures["integrations"], 0)
        self.assertIsNotNone(publisher._progress)

    def look_at(self, channels, beams, products, incoherent=0, device="cpu", pointing=None):
        """Returns what a look takes of the powers of random voltages, and all of them
        [beam][product] [channel]: the first channel has no signal, the last but one is strong, one
        is NaN."""
        inputs, times = 3, 4
        rng = np.random.default_rng(channels)
        voltages = qa_tools.random_samples(rng, "fc32", (2, channels, inputs, times), rms=1)
        voltages[:, 0] = 0
        voltages[:, -2:-1] *= 30
        voltages[:, 300:301] = np.nan
        weights = rng.standard_normal((beams, inputs)).astype(np.complex64)
        weights[-1] = 0
        block = aperture.beam_power(
            channels=channels,
            inputs=inputs,
            beams=beams,
            incoherent_beams=incoherent,
            spectra_per_frame=times,
            type="fc32",
            spectra=times,
            products=products,
            device=device,
            masks=np.ones((beams + incoherent) * inputs, int).tolist(),
        )
        block.set_weights(weights)
        rows = (beams + incoherent) // (1 if products == "power" else 2)
        shape = rows, 4 if products in ("IQUV", "coherency") else 1, channels
        graph = Flowgraph(
            block,
            [reference.samples_to_bytes(voltages, "fc32")],
            [4 * int(np.prod(shape))],
            tags=[frame_tags()],
        )
        look = BeamLook(graph.top, "beams", block, pointing)
        (data,), _ = graph.run()
        found = look.take()
        self.assertIsNone(look.take())
        return *found, np.frombuffer(data.tobytes(), np.float32).reshape(-1, *shape)[-1]

    def test_what_is_sent(self):
        """The strongest channel of each point, and the mean of those that have power."""
        for channels, beams, products, incoherent, device in (
            (1031, 2, "power", 1, "cpu"),
            (257, 4, "IQUV", 0, "emulated"),
            (1031, 4, "coherency", 2, "cpu"),
            (1, 2, "I", 0, "cpu"),
            (1, 1, "power", 0, DEVICE),
            (7, 1000, "power", 0, "cpu"),
            (512, 2, "I", 0, DEVICE),
        ):
            with self.subTest(channels=channels, beams=beams, products=products, device=device):
                message, payload, powers = self.look_at(
                    channels, beams, products, incoherent, device
                )
                stokes = powers[:, 0] + (powers[:, 1] if products == "coherency" else 0)
                chosen, step = message["beams"], message["together"]
                self.assertEqual(len(powers), message["all"])
                self.assertEqual(min(len(powers), MOST_BEAMS), len(chosen))
                self.assertEqual({0, len(powers) - 1}, {chosen[0], chosen[-1]})
                self.assertEqual((len(chosen), -(-channels // step)), payload.shape)
                self.assertLessEqual(payload.shape[1], MOST_POINTS)
                for beam, row, power in zip(chosen, payload, message["powers"]):
                    for place, value in enumerate(row):
                        part = stokes[beam, place * step : (place + 1) * step]
                        part = part[~np.isnan(part)]
                        np.testing.assert_equal(value, part.max() if len(part) else np.nan)
                    good = [float(value) for value in stokes[beam] if value > 0]
                    if good:
                        np.testing.assert_allclose(power, np.mean(good), rtol=1e-6)
                    else:
                        self.assertIsNone(power)
                drawings = BeamDrawings()
                drawings.draw(message, payload.tobytes(), {})
                json.dumps([drawings.now, drawings.history()], allow_nan=False)
                self.assertEqual(
                    [str(number) for number in chosen],
                    [beam["name"] for beam in drawings.now["beams"]],
                )
                if channels > 2:
                    # 2 MHz about channel n // 2, of which the last but one is strong
                    strong = 408e6 + (channels - 2 - channels // 2) * 2e6 / channels
                    peak = int(np.nanargmax(np.array(drawings.now["decibels"][0], float)))
                    self.assertAlmostEqual(
                        strong,
                        drawings.now["frequencies"][peak],
                        delta=2e6 / channels * step / 2 + 10,
                    )

    def test_where_beams_look(self):
        """The page has the directions of the block that points beams, for both polarisations; none
        without one."""
        pointing = SimpleNamespace(
            beams=lambda: [Beam("a", azimuth=0, elevation=90), Beam("b", azimuth=90, elevation=45)]
        )
        a, b = "a (az 0.000° el 90.000°)", "b (az 90.000° el 45.000°)"
        for beams, products, incoherent, expected in (
            (2, "power", 1, [a, b, None]),
            (4, "I", 0, [a, b]),
            (4, "power", 2, [a, a, b, b, None, None]),
            (3, "power", 0, [None] * 3),
        ):
            message, _, _ = self.look_at(5, beams, products, incoherent, pointing=pointing)
            self.assertEqual(expected, message["directions"])

    def test_names_of_rows(self):
        beams = [Beam(**DARK), Beam("all", azimuth=0, elevation=90, incoherent=True)]
        found = monitoring.beams_section(aperture.load_array("mwa-32t"), beams)
        self.assertEqual(["dark x", "dark y", "all x", "all y"], [row["name"] for row in found])
        self.assertEqual(
            ["dark (az 180.000° el 50.000°)"] * 2 + ["all that its antennas see"] * 2,
            [row["direction"] for row in found],
        )
        found = monitoring.beams_section("mwa-32t", ["Cas A"], "IQUV")
        self.assertEqual(["Cas A"], [row["name"] for row in found])
        self.assertIn("ra 350.8", found[0]["direction"])

    def draw(self, drawings, time, powers, about=None):
        """Draws a spectrum of seven channels, two of them a point, the last one alone."""
        values = np.repeat(np.array(powers, np.float32)[:, np.newaxis], 4, axis=1)
        drawings.draw(
            {
                "block": "beams",
                "all": len(powers),
                "beams": list(range(len(powers))),
                "channels": 7,
                "together": 2,
                "first": 100e6,
                "width": 1e6,
                "time": time,
                "powers": [power if power > 0 else None for power in powers],
                "directions": [None] * len(powers),
            },
            values.tobytes(),
            about or {},
        )
        json.dumps([drawings.now, drawings.history()], allow_nan=False)
        return drawings.now

    def test_drawings(self):
        drawings = BeamDrawings()
        self.assertEqual({"times": [], "beams": []}, drawings.history())
        about = {"beams": [{"name": "a", "direction": "north"}, {"name": "a"}, "odd"]}
        found = self.draw(drawings, 1.0, [10, 0, np.nan], about)
        self.assertEqual([100.5e6, 102.5e6, 104.5e6, 106e6], found["frequencies"])
        self.assertEqual([[10.0] * 4, [None] * 4, [None] * 4], found["decibels"])
        self.assertEqual(
            [("a", "north"), ("a (1)", None), ("2", None)],
            [(beam["name"], beam["direction"]) for beam in found["beams"]],
        )
        # one that had no power begins anew, and one that has lost it has none at once
        found = self.draw(drawings, 2.0, [0, 100, 1], about)
        self.assertEqual([[None] * 4, [20.0] * 4, [0.0] * 4], found["decibels"])
        for time in range(3, 1000):
            self.draw(drawings, time, [1, 1, 1], about)
        self.assertEqual(600, len(drawings.history()["times"]))
        self.assertEqual(999, drawings.history()["times"][-1])
        # a flowgraph in the place of another: the same beams, and others
        self.draw(drawings, 5.0, [1, 1, 1000], about)
        self.assertEqual(
            {
                "times": [5.0],
                "beams": [
                    {"name": "a", "decibels": [0.0]},
                    {"name": "a (1)", "decibels": [0.0]},
                    {"name": "2", "decibels": [30.0]},
                ],
            },
            drawings.history(),
        )
        self.draw(drawings, 6.0, [1, 1])
        self.assertEqual(["0", "1"], [beam["name"] for beam in drawings.history()["beams"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
