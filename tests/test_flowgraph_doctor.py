# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""aperture_doctor on flowgraphs: examples are healthy, and with one value changed they are not."""

import json
import os
import pathlib
import unittest

import yaml

from gnuradio.aperture.commands import doctor as command
from gnuradio.aperture.doctor.findings import NOTICE, PROBLEM
from gnuradio.aperture.doctor.flowgraphs import examine_flowgraph
from gnuradio.aperture.testing.observations import run as run_main
from places import SOURCE, copy_flowgraphs, fresh_folder, main, run, working_in

EXAMPLES = sorted((SOURCE / "examples").rglob("*.grc"))


class TestFlowgraphDoctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fresh_folder("flowgraph_doctor")
        # copies of the lab's flowgraphs are examined there
        copy_flowgraphs(SOURCE / "examples/lab", cls.folder)

    def changed(self, example, changes=(), *, states=(), cut=(), key=()):
        """
        The name of a copy of an example: changes are (block, parameter, value), states (block,
        state), cut connections from block to block, key (block, kind of block).
        """
        flowgraph = yaml.safe_load((SOURCE / "examples" / example).read_text())
        blocks = {block["name"]: block for block in flowgraph["blocks"]}
        for name, parameter, value in changes:
            self.assertNotEqual(blocks[name]["parameters"].get(parameter), value)
            blocks[name]["parameters"][parameter] = value
        for name, state in states:
            blocks[name]["states"]["state"] = state
        for name, kind in key:
            blocks[name]["id"] = kind
        kept = [entry for entry in flowgraph["connections"] if (entry[0], entry[2]) not in cut]
        self.assertEqual(len(flowgraph["connections"]) - len(kept), len(cut))
        flowgraph["connections"] = kept
        name = self.folder / f"{self.id().rsplit('.', 1)[1]}.grc"
        name.write_text(yaml.safe_dump(flowgraph))
        return str(name)

    def found(self, name, kind=PROBLEM):
        return [finding for finding in examine_flowgraph(name).findings if finding.kind == kind]

    def only(self, *arguments, kind=PROBLEM, **options):
        """The one finding that the changes make."""
        found = self.found(self.changed(*arguments, **options), kind)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_examples_are_healthy(self):
        self.assertGreater(len(EXAMPLES), 9)
        for path in EXAMPLES:
            self.assertEqual(self.found(str(path)), [], path.name)

    def test_neighbours(self):
        """Both blocks, both values, and what to set."""
        for changes, what, remedy in (
            (("corner_turn", "channels", "128"), None, None),
            (
                ("f_engine", "channels", "128"),
                "f_engine sends 128 channels, and corner_turn expects 256 channels.",
                "Set Channels of corner_turn to 128, or Channels of f_engine to 256.",
            ),
            (
                ("x_engine", "spectra_per_frame", "32"),
                "corner_turn sends 64 spectra a frame, and x_engine expects 32 spectra a frame.",
                "Set Spectra per Frame of x_engine to "
                "64, or Spectra per Frame of corner_turn to 32.",
            ),
            (
                ("x_engine", "type", "fc32"),
                "corner_turn sends samples of the type sc8, and "
                "x_engine expects samples of the type fc32.",
                "Set Input Type of x_engine to sc8",
            ),
            (
                ("baseline", "inputs", "3"),
                "x_engine sends 2 inputs, and baseline expects 3 inputs.",
                "Set Inputs of baseline to 2",
            ),
            (("array_source", "type", "sc8"), "array_source sends", None),
        ):
            found = self.found(self.changed("interferometer.grc", [changes]))
            self.assertEqual({finding.name for finding in found}, {"edge"}, found)
            if what:
                mine = [finding for finding in found if what in finding.what]
                self.assertTrue(mine, found)
                if remedy:
                    self.assertIn(remedy, mine[0].remedy)

    def test_equal_sizes_of_different_shapes(self):
        """GRC compares bytes: 256 × 2 × 64 are as many as 128 × 2 × 128."""
        name = self.changed(
            "interferometer.grc",
            [("x_engine", "channels", "128"), ("x_engine", "spectra_per_frame", "128")],
        )
        found = [finding.what for finding in self.found(name)]
        self.assertIn("corner_turn sends 256 channels, and x_engine expects 128 channels.", found)

    def test_other_blocks(self):
        """GNU Radio's own blocks have items in bytes."""
        found = self.found(self.changed("interferometer.grc", [("amplitude", "vlen", "128")]))
        self.assertEqual({finding.name for finding in found}, {"edge"})
        self.assertIn(
            "amplitude expects items of 128 ×", " ".join(finding.what for finding in found)
        )

    def test_values(self):
        """A name that is not there, and what the constructor says."""
        found = self.found(self.changed("interferometer.grc", [("f_engine", "taps", "tap")]))
        self.assertEqual([finding.name for finding in found], ["value"])
        self.assertIn("Taps of f_engine is tap, which cannot be used", found[0].what)
        finding = self.only("interferometer.grc", [("f_engine", "taps", "65")])
        self.assertEqual(finding.name, "value")
        self.assertRegex(finding.what, r"^f_engine \(.*\) cannot be made: .*taps.*65.*64")

    def test_not_connected(self):
        found = self.found(self.changed("interferometer.grc", cut=[("throttle_b", "f_engine")]))
        self.assertEqual(
            [(finding.name, finding.of) for finding in found], [("not-connected", ("f_engine",))]
        )
        self.assertEqual(found[0].what, "The input in1 of f_engine is not connected.")

    def test_unknown_block(self):
        found = self.found(
            self.changed("interferometer.grc", key=[("throttle_a", "somebody_elses_throttle")])
        )
        self.assertEqual(found[0].name, "unknown-block")

    def test_frames(self):
        """256 channels of 2 inputs of 8 bytes: 2^16 spectra have 256 MiB, and one has 4 kB."""
        found = self.found(
            self.changed("calibration_loop.grc", [("spectra_per_frame", "value", "2**16")])
        )
        self.assertEqual({finding.name for finding in found}, {"large-frames", "integration"})
        self.assertIn("A frame of f_engine_calibrated has 256 MiB", found[0].what)
        found = self.found(
            self.changed("calibration_loop.grc", [("spectra_per_frame", "value", "1")]), NOTICE
        )
        self.assertEqual({finding.name for finding in found}, {"small-frames"})
        self.assertIn("makes 9375 frames a second, of 4.1 kB each", found[0].what)

    def test_integration(self):
        """256 channels, 75 spectra: 8 ms at 2.4 MHz."""
        name = self.changed("calibration_loop.grc", [("integration", "value", "0.001")])
        self.assertEqual({finding.name for finding in self.found(name)}, {"integration"})
        name = self.changed("calibration_loop.grc", [("integration", "value", "0.012")])
        found = self.found(name, NOTICE)
        self.assertEqual({finding.name for finding in found}, {"integration"})
        self.assertIn("a frame has 0.008 s: it will be 2 frames, 0.016 s.", found[0].what)

    def test_gain(self):
        finding = self.only("interferometer.grc", [("f_engine", "gain", "0.5")])
        self.assertEqual((finding.name, finding.of), ("gain", ("f_engine",)))
        self.assertIn("rounded to zero", finding.what)
        finding = self.only("sky.grc", [("f_engine", "gain", "50")])
        self.assertIn("will be clamped", finding.what)

    def test_array(self):
        finding = self.only("fringes.grc", [("file", "array", "nowhere.yml")])
        self.assertEqual(finding.name, "array")
        self.assertIn("nowhere.yml", finding.what)
        finding = self.only("fringes.grc", [("display", "array", "y8")])
        self.assertEqual(finding.name, "array-inputs")
        self.assertIn("display has 2 inputs, and the array y8 has 8.", finding.what)

    def receivers(self, changes=(), **options):
        """The example with its two dongles in place of the files, and without what it shows in
        front of Stream Align."""
        off = (
            "play_0",
            "play_1",
            "throttle_0",
            "throttle_1",
            "oscillator",
            "f_engine_before",
            "x_engine_before",
            "coherence_before",
        )
        return self.changed(
            "two_receivers.grc",
            changes,
            states=[
                *((name, "disabled") for name in off),
                ("rtlsdr_0", "enabled"),
                ("rtlsdr_1", "enabled"),
            ],
            **options,
        )

    def names_of(self, name):
        return {finding.name for finding in self.found(name)}

    def test_receivers(self):
        """On their own blocks they are well but for the plots without a curve."""
        self.assertEqual(self.names_of(self.receivers()) - {"not-connected"}, set())
        notices = {finding.name for finding in self.found(self.receivers(), NOTICE)}
        self.assertIn("clocks-unknown", notices)
        found = self.found(self.receivers([("rtlsdr_1", "samp_rate", "2.0e6")]))
        rates = [finding for finding in found if finding.name == "sample-rates"]
        self.assertTrue(rates)
        self.assertIn("rtlsdr_1 runs at 2000000 samples a second", rates[0].what)

    def test_receivers_with_blocks_left_out(self):
        """Receivers are found around Receiver Tags and Stream Align, and through a throttle."""
        name = self.receivers()
        flowgraph = yaml.safe_load(pathlib.Path(name).read_text())
        straight = [
            entry
            for entry in flowgraph["connections"]
            if "tags" not in entry[0]
            and "tags" not in entry[2]
            and entry[:3:2] != ["align", "f_engine_after"]
        ]
        for target, expected in (
            ("align", {"no-tags"}),
            ("f_engine_after", {"no-tags", "not-aligned"}),
        ):
            flowgraph["connections"] = straight + [
                ["rtlsdr_0", "0", target, "0"],
                ["rtlsdr_1", "0", target, "1"],
            ]
            with open(name, "w") as file:
                yaml.safe_dump(flowgraph, file)
            self.assertEqual(self.names_of(name) & {"no-tags", "not-aligned"}, expected)

    def test_throttled_receiver(self):
        name = self.receivers()
        flowgraph = yaml.safe_load(pathlib.Path(name).read_text())
        for block in flowgraph["blocks"]:
            if block["name"] == "throttle_0":
                block["states"]["state"] = "enabled"
        flowgraph["connections"] = [
            entry
            for entry in flowgraph["connections"]
            if entry[0] != "rtlsdr_0" and entry[2] != "throttle_0"
        ]
        flowgraph["connections"].append(["rtlsdr_0", "0", "throttle_0", "0"])
        with open(name, "w") as file:
            yaml.safe_dump(flowgraph, file)
        self.assertIn("throttle", self.names_of(name))

    def test_rates(self):
        """Throttles may be slower than what they play; a correlator is told the true rate."""
        finding = self.only("fringes.grc", [("throttle_a", "samples_per_second", "1e6")])
        self.assertEqual((finding.name, finding.of), ("sample-rates", ("throttle_a", "throttle_b")))
        name = self.changed("lab/fringes.grc", [("correlator", "sample_rate", "7000")])
        self.assertEqual(self.names_of(name), {"sample-rates"})

    def test_files(self):
        """Files must be there where no snippet makes them."""
        found = self.found(
            self.changed("two_receivers.grc", states=[("play_receivers", "disabled")])
        )
        self.assertEqual(
            [(finding.name, finding.of) for finding in found],
            [("no-file", ("play_0",)), ("no-file", ("play_1",))],
        )

    def test_names_of_files(self):
        """Files are looked for where GNU Radio Companion starts the flowgraph; what is in the
        folder in which the doctor is started does not count, but is told of."""
        array = SOURCE / "examples/lab/sun.yml"
        self.assertEqual(self.found(self.changed("lab/fringes.grc")), [])
        name = self.changed("lab/fringes.grc", [("array", "value", '"elsewhere/sun.yml"')])
        elsewhere = fresh_folder("flowgraph_doctor_elsewhere")
        (elsewhere / "elsewhere").mkdir()
        (elsewhere / "elsewhere/sun.yml").write_text(array.read_text())
        for folder, remedy in (
            (
                elsewhere,
                f"It is in {elsewhere}, but GNU Radio Companion starts "
                f"the flowgraph in {self.folder}",
            ),
            (self.folder, "starts the flowgraph in"),
        ):
            with working_in(folder):
                found = self.found(name)
                self.assertEqual(os.getcwd(), str(folder))
            self.assertEqual({finding.name for finding in found}, {"array"})
            self.assertIn(remedy, found[0].remedy)

    def test_input_source(self):
        """An input's own properties are compared with those that are set."""
        name = self.changed(
            "fringes.grc",
            [("array_source", "input", "sim:y8"), ("array_source", "array", "")],
            key=[("array_source", "aperture_input_source")],
        )
        found = {finding.name: finding for finding in self.found(name)}
        self.assertIn("Inputs of array_source is 2, and sim:y8 has 8.", found["input"].what)
        # the source has one port where the other source has two
        self.assertEqual(found["lost-connection"].of, ("array_source", "throttle_b"))
        name = self.changed(
            "fringes.grc",
            [("array_source", "input", "dada:none.dada")],
            key=[("array_source", "aperture_input_source")],
        )
        found = {finding.name: finding for finding in self.found(name)}
        self.assertIn("none.dada: No such file", found["input"].what)

    def test_clocks(self):
        """USRPs say which clock they use."""
        usrps = [("rtlsdr_0", "uhd_usrp_source"), ("rtlsdr_1", "uhd_usrp_source")]
        self.assertIn("own-clocks", self.names_of(self.receivers(key=usrps)))
        name = self.receivers([(name, "clock_source0", "external") for name, _ in usrps], key=usrps)
        self.assertNotIn("own-clocks", self.names_of(name))

    def test_command(self):
        name = self.changed("interferometer.grc", [("x_engine", "inputs", "3")])
        status, output = run("aperture_doctor", name)
        self.assertEqual(status, 1, output)
        self.assertIn("Flowgraph:\n  test_command.grc: Two-dish interferometer, 15 blocks", output)
        self.assertIn("corner_turn sends 2 inputs, and x_engine expects 3 inputs.", output)
        # from here on in this process
        status, output, _ = run_main(command, "--json", SOURCE / "examples/fringes.grc")
        self.assertEqual((status, json.loads(output)["healthy"]), (0, True))
        broken = self.folder / "broken.grc"
        broken.write_text("{")
        for path, error in (
            (broken, "is not a flowgraph"),
            (self.folder / "none.grc", "No such file"),
        ):
            status, _, errors = run_main(command, path)
            self.assertEqual(status, 1)
            self.assertIn(error, errors)


if __name__ == "__main__":
    main()
