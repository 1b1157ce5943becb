#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that finds the directions of transmitters with an array of a few antennas."""

import math
import os
import threading
from dataclasses import dataclass

import numpy as np
import pmt

from . import tags
from .arrays.array_description import load_array
from .arrays.geometry import SPEED_OF_LIGHT, fraunhofer_distance, longest_baseline
from .beams.weights import find_polarizations
from .calibration.calibration_file import load_calibration
from .direction_finding.estimators import Finder, Found, ambiguity, covariance
from .files.growing_file import check_path, file_name
from .files.sample_file import SampleFile
from .parameters.description import Anything, Integer, Number, Switch, Text
from .parameters.rules import inputs_of, item_bytes, refuse
from .parameters.times import utc_text, whole_and_fraction
from .streams.integration_tags import IntegrationTags
from .streams.python_block import python_block, vector_of
from .streams.tag_values import dictionary, time_value

PORT = pmt.intern("found")
#: cycles by which the phase between the outermost antennas may change over a band: 4 degrees to
#: each side of its middle
MOST_CYCLES = 0.02
MOST_BANDS = 64
#: fixes that a display has, the newest last
KEPT = 200
HEADER = (
    "# gr-aperture: directions of {array}, method {method}; time: UTC, the middle; azimuth (from "
    "north through east), elevation: degrees; power: dB over the noise of an antenna\n"
    "time,azimuth,elevation,power\n"
)


@dataclass(frozen=True)
class Fix:
    """
    The directions at a time.

    time: UTC seconds since 1970, the middle of the data; found: estimators.Found; decibels: powers
    over the noise [source].
    """

    time: float
    found: Found
    decibels: np.ndarray


class direction_finder(python_block):
    """
    Finds the directions of transmitters with 3 to 16 antennas, on a line or a circle or anywhere.

    In: `[channel][product]` of fc32 from `xengine`, one item an integration, with the tags
    rx_time, rx_freq, bandwidth, spectra and counted.

    Message port `found` out: for each estimate a dictionary of `time` (tuple(uint64, double) as
    rx_time, of the middle), `azimuth`, `elevation` (f64vector, degrees, a value for each source,
    the strongest first; azimuth from north through east) and `power` (f64vector, dB over the noise
    of an antenna).

    File: a line for each source and estimate, of time, azimuth, elevation and power, as comma
    separated values. `qwidget()` makes a window with the spectrum over azimuth and the last
    directions, which needs a QApplication; without one the block computes all the same.

    Inputs of one polarization are used: y where the array has no x, l where it has no r. Sources
    are at one `elevation`, or each at its own with search="sky". A spectrum of a channel counts
    as one snapshot. Waves are taken to be plane, so transmitters have to be further away than 2
    D^2/lambda, D being the longest baseline; `remarks()` says how far that is, and where
    directions are ambiguous. Estimators and their sources:
    `aperture.direction_finding.estimators`.

    Raises:
        ValueError, OSError: A parameter is not allowed; a file cannot be read or written.
    """

    def __init__(
        self,
        array: Text(
            "An array description, or the file or shipped name of one; its inputs are the "
            "X-engine's."
        ) = "circle5",
        channels: Integer("Channels of an item.", 1, 2**31 - 1) = 1024,
        inputs: Anything("If given, how many inputs the array must have.") = None,
        method: Text(
            "music, which tells sources apart that are closer, or capon, whose spectrum is power.",
            "music",
            "capon",
        ) = "music",
        sources: Integer("How many sources there are; 0: as many as the criterion finds.", 0) = 0,
        criterion: Text(
            "Criterion of the number of sources: mdl, or aic, which finds weaker ones, and more "
            "often some that are none.",
            "mdl",
            "aic",
        ) = "mdl",
        smoothing: Text(
            "For a line of antennas at equal spacings: forward-backward averages, or spatial "
            "smoothing, which tells a transmitter from its reflections.",
            "none",
            "forward-backward",
            "spatial",
        ) = "none",
        search: Text(
            "azimuth: sources are at one `elevation`; sky: the elevation of each is found, too, by "
            "antennas that are on no line.",
            "azimuth",
            "sky",
        ) = "azimuth",
        elevation: Number(
            "Elevation of the sources, where azimuths are searched.", 0, 89, unit="degrees"
        ) = 0.0,
        integrations: Integer("Integrations that an estimate takes.", 1, 1048576) = 1,
        frequency: Number(
            "Middle of the channels that are used; of no use where bandwidth is 0.", 0, unit="Hz"
        ) = 0.0,
        bandwidth: Number("Width of the channels that are used; 0: all.", 0, unit="Hz") = 0.0,
        calibration: Text(
            '"description": the gains and cable delays of the array are taken out; "applied": '
            "nothing is left to do, as behind an F-engine that a calibrator sets; otherwise the "
            "file of a calibration."
        ) = "description",
        filename: Text('If given, the file of directions (.csv); "": none.') = "",
        overwrite: Switch(
            "True if an existing file is replaced; if not, it is refused, and a flowgraph that "
            "starts again goes on in its own."
        ) = True,
        title: Text('Title of the window; "": that of the array.') = "",
    ):
        array = load_array(array)
        inputs = inputs_of(array, inputs)
        products = inputs * (inputs + 1) // 2
        item_bytes("channels", 8, channels=channels, products=products)
        self._array, self._shape = array, (int(channels), products)
        letter = find_polarizations(array)[0]
        self._chosen = np.array(
            [
                number
                for number, entry in enumerate(array.inputs)
                if entry.polarization == letter and entry.gain != 0
            ],
            dtype=int,
        )
        self._places = array.input_positions()[self._chosen]
        self._finder = Finder(
            self._places, method, int(sources), criterion, smoothing, float(elevation), search
        )
        self._integrations = int(integrations)
        self._band = float(frequency), float(bandwidth)
        self._calibration = None
        self._applied = calibration == "applied"
        if calibration not in ("description", "applied"):
            self._calibration = load_calibration(calibration)
        self._filename, self._overwrite = file_name(filename), bool(overwrite)
        if self._filename:
            check_path(self._filename, self._overwrite)
        self._title = title or array.name
        self._lock = threading.Lock()
        self._widget = self._file = None
        self._left = None  # the file as the last run has left it
        self._tags = None
        self._reset()
        super().__init__(
            "direction_finder",
            out_sig=None,
            in_sig=[vector_of(np.complex64, self._shape[0] * products)],
        )
        self.message_port_register_out(PORT)

    # ---- what can be asked for

    def qwidget(self):
        """The window, a QWidget, made when it is first asked for; in Qt's thread."""
        if self._widget is None:
            from .displays.direction_widget import DirectionPanel

            self._widget = DirectionPanel(self._newest, self._title)
        return self._widget

    def fixes(self):
        """The last Fix objects, at most KEPT, the newest last."""
        with self._lock:
            return list(self._fixes)

    def remarks(self):
        """Returns what a user is to know of this array at the frequency of the description, or of
        the stream once it has come: a list of texts."""
        frequency = self._array.center_frequency if self._bands is None else self._middle
        near = fraunhofer_distance(self._places, frequency)
        found = [f"waves are plane from {near:.2g} m on; nearer transmitters are off"]
        text = ambiguity(self._places, frequency, self._finder.search)
        return [*found, *(text.split("; ") if text else ())]

    # ---- the block

    def _reset(self):
        self._sum = self._counted = None
        self._gathered, self._begin = 0, 0.0
        self._frequencies = self._bands = None
        self._middle = self._array.center_frequency
        self._fixes = []

    def _start(self):
        self._tags = IntegrationTags(*self._shape)
        with self._lock:
            self._reset()
        if self._filename:
            self._open()

    def _open(self):
        """Opens the file; a flowgraph that starts again goes on in what it has left there, unless
        it overwrites."""
        again = not self._overwrite and self._left and self._left == self._state_of_file()
        check_path(self._filename, self._overwrite or again)
        self._file = SampleFile(self._filename, overwrite=self._overwrite or again)
        if again:
            self._file.keep(self._left[-1])
        else:
            header = HEADER.format(array=self._array.name, method=self._finder.method)
            self._file.begin(header.encode())

    def _state_of_file(self):
        """Returns which file is there and how long it is, None where there is none."""
        try:
            found = os.stat(self._filename)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino, found.st_size

    def _stop(self):
        if self._file is not None:
            file, self._file = self._file, None
            file.close()
            self._left = self._state_of_file()

    def _work(self, input_items, output_items):
        found = self.described(0, len(input_items[0]))
        for item, here in zip(input_items[0], found):
            self._take(np.reshape(item, self._shape), self._tags.take(here))
        return len(input_items[0])

    def _take(self, values, integration):
        if self._frequencies is not integration.frequencies:
            self._tune(integration.frequencies)
        if self._sum is None:
            self._sum = np.zeros(self._shape, complex)
            self._counted, self._gathered = 0.0, 0
            self._begin = integration.begin
        counted = np.broadcast_to(integration.counted, self._shape[1:])
        # values that are no numbers have no weight
        self._sum += np.where(np.isfinite(values), values, 0) * counted
        self._counted = self._counted + counted
        self._gathered += 1
        if self._gathered == self._integrations:
            self._estimate((self._begin + integration.end) / 2)
            self._sum = None

    def _tune(self, frequencies):
        """Chooses channels and cuts them into bands."""
        self._frequencies = frequencies
        middle, width = self._band
        used = np.arange(len(frequencies))
        if width:
            used = np.flatnonzero(np.abs(frequencies - middle) <= width / 2)
            if not len(used):
                refuse(
                    "frequency, bandwidth",
                    (middle, width),
                    f"within the band, {frequencies[0]:.9g} to {frequencies[-1]:.9g} Hz",
                )
        step = (frequencies[-1] - frequencies[0]) / max(len(frequencies) - 1, 1)
        reach = longest_baseline(self._places) / SPEED_OF_LIGHT
        count = math.ceil(step * len(used) * reach / MOST_CYCLES)
        self._bands = np.array_split(used, min(max(count, 1), MOST_BANDS, len(used)))
        self._middle = float(frequencies[used].mean())
        self._corrections = self._corrections_at(frequencies)
        self._sum = None
        for text in self.remarks()[1:]:
            self.logger.warn(text)

    def _corrections_at(self, frequencies):
        """Returns factors of the voltages [channel][antenna]."""
        entries = [self._array.inputs[number] for number in self._chosen]
        if self._applied:
            return np.ones((len(frequencies), len(entries)), complex)
        if self._calibration is not None:
            names = [entry.name for entry in entries]
            return self._calibration.corrections(frequencies, names).T
        cables = np.array([entry.cable_delay for entry in entries])
        gains = np.array([entry.gain for entry in entries])
        return np.exp(2j * np.pi * np.outer(frequencies, cables)) / gains

    def _estimate(self, time):
        counted = covariance(self._counted, len(self._array.inputs)).real
        counted = counted[np.ix_(self._chosen, self._chosen)]
        if not (counted > 0).all():
            return  # nothing is there of some pair
        matrices, frequencies, snapshots = [], [], []
        for band in self._bands:
            matrix = covariance(self._sum[band], len(self._array.inputs))
            matrix = matrix[:, self._chosen][:, :, self._chosen] / counted
            factors = self._corrections[band]
            matrix = factors[:, :, None] * matrix * factors[:, None, :].conj()
            matrices.append(matrix.mean(axis=0))
            frequencies.append(self._frequencies[band].mean())
            snapshots.append(max(float(counted.min()) * len(band), 1.0))
        if not all(np.trace(matrix).real > 0 for matrix in matrices):
            return
        found = self._finder.find(matrices, frequencies, snapshots)
        with np.errstate(divide="ignore"):
            decibels = 10 * np.log10(found.powers / max(found.noise, 1e-300))
        decibels = np.maximum(decibels, -99.0)
        with self._lock:
            self._fixes = [*self._fixes[1 - KEPT :], Fix(time, found, decibels)]
        self._tell(time, found, decibels)

    def _tell(self, time, found, decibels):
        message = {
            tags.time: time_value(time),
            tags.azimuth: found.azimuths,
            tags.elevation: found.elevations,
            "power": decibels,
        }
        self.message_port_pub(PORT, dictionary(message))
        if self._file is not None:
            when = utc_text(sum(whole_and_fraction(time)), 6)
            lines = [
                f"{when}Z,{azimuth:.3f},{elevation:.3f},{power:.2f}\n"
                for azimuth, elevation, power in zip(found.azimuths, found.elevations, decibels)
            ]
            self._file.add("".join(lines).encode())

    def _newest(self):
        """Returns for the window the last fixes, what is to be known, and an error."""
        return self.fixes(), self.remarks(), self.error() or ""
