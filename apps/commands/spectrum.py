#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""aperture_spectrum: calibrated spectra of one dish, over velocity."""

import os
import sys
from dataclasses import dataclass

import numpy as np

from ..arguments.argument_types import number, positive_seconds, whole_number
from ..arguments.command_parser import CommandParser
from ..arrays import geometry
from ..arrays.array_description import load_array
from ..files.growing_file import check_path
from ..inputs.registry import kinds_text
from ..parameters.times import utc_text
from ..spectrometry import kelvin
from ..spectrometry.spectrum_file import ENDING, LOADS, SERIES, SPECTRUM, read_table, write_table
from ..spectrometry.switching import MODES
from ..spectrometry.velocity import HYDROGEN, KM_S, lsr_correction, velocities
from ..tracking.directions import icrs
from .output_names import add_no_overwrite
from .progress import ProgressBar
from .running import INTERRUPTED, CommandError, run_chain, run_command
from .sky_options import direction
from .spectrum_chain import SpectrumChain
from .tables import seconds_text, table, with_prefix
from .terminal import say, warn

PROGRAM = "aperture_spectrum"
PICTURES = (".png", ".pdf", ".svg")
ENDINGS = (ENDING, ".fil", *PICTURES)
#: kelvin of the loads where neither an option nor a file says them
LOAD_KELVIN = {"--t-hot": 290.0, "--t-cold": 10.0}
#: part of a channel by which the velocity of the Earth may change in an observation
SMEARED = 0.5
#: part of a band by which that of its loads may be elsewhere
SAME_BAND = 0.01
#: key of center and width (Hz) of the band in the file of loads
BAND = "band_hz"
EPILOG = f"""\
Kinds of inputs (aperture_fx --help-input KIND has their options):
{kinds_text()}

Examples:
  aperture_spectrum --input hydrogen:l=30,b=0 --direction l=30,b=0 --duration 10 \\
      --hot hydrogen:l=30,b=0,target=hot --cold hydrogen:l=30,b=0,target=cold \\
      --loads loads.ecsv -o l30.ecsv -o l30.png
  aperture_spectrum --input soapy:driver=rtlsdr,rate=2.4e6,freq=1420e6,gain=40 --pause \\
      --hot soapy:driver=rtlsdr,rate=2.4e6,freq=1420e6,gain=40 --loads loads.ecsv ...
"""


def parser():
    """The command line of aperture_spectrum."""
    result = CommandParser(
        prog=PROGRAM,
        description="Makes a calibrated spectrum of one dish's samples: in kelvin, by a hot and a "
        "cold load, over the velocity in the local standard of rest.",
        epilog=EPILOG,
    )
    add = result.add_argument
    add("--input", required=True, metavar="INPUT", help="samples of the sky, as KIND:NAME")
    add("--array", metavar="ARRAY", help="description whose place counts, for recordings")
    add("--seed", type=whole_number(0, 2**31), metavar="N", help="of a simulation")
    add(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="the mean spectrum as a table (.ecsv) or a picture (.png, .pdf, .svg), or all spectra "
        "as a filterbank file (.fil); may be given several times",
    )
    add(
        "--over-time",
        metavar="FILE.ecsv",
        help="the mean temperature of the band in each integration, as of a drift scan",
    )
    add_no_overwrite(add, "files that are there (default: they are replaced)")
    add("--duration", type=positive_seconds(False), metavar="S", help="seconds (default: all)")
    add(
        "--integration",
        type=number(0.001, 1e6, "seconds"),
        default=1.0,
        metavar="S",
        help="seconds of a spectrum, of which the mean is taken (default: %(default)g)",
    )
    add(
        "--channels",
        type=whole_number(4, 65536, even=True),
        default=512,
        metavar="N",
        help="of the band (default: %(default)s)",
    )
    add(
        "--direction",
        type=direction,
        metavar="DIRECTION",
        help="where the dish points, for velocities: 'l=30, b=0' (galactic), 'az=180, el=45', a "
        "name or right ascension and declination (default: velocities as they are observed)",
    )
    add(
        "--rest",
        type=number(1e6, 1e12, "Hz"),
        default=HYDROGEN,
        metavar="HZ",
        help="rest frequency of the line (default: hydrogen's, 1420.405752 MHz)",
    )
    add(
        "--mode",
        choices=MODES,
        default="total",
        help="total power, load switching or frequency switching (default: %(default)s)",
    )
    add(
        "--period",
        type=number(0.01, 3600, "seconds"),
        default=2.0,
        metavar="S",
        help="of a cycle of switching (default: %(default)g)",
    )
    add(
        "--settling",
        type=number(0, 60, "seconds"),
        default=0.0,
        metavar="S",
        help="left out after each switch (default: %(default)g)",
    )
    add("--hot", metavar="INPUT", help="samples of the hot load")
    add("--cold", metavar="INPUT", help="samples of the cold load, or of a cold piece of sky")
    add(
        "--loads",
        metavar="FILE.ecsv",
        help="powers of the loads: written if --hot and --cold are given, read if not",
    )
    for option, default, what in (
        ("--t-hot", None, "of the hot load"),
        ("--t-cold", None, "of the cold load or sky, with the ground that the dish sees beside it"),
        ("--t-load", 290.0, "of the load of the switch"),
        ("--t-receiver", 120.0, "of the receiver, where no loads are measured"),
    ):
        add(
            option,
            type=number(0, 1e6, "kelvin", above=True),
            default=default,
            metavar="K",
            help=f"temperature {what} (default: "
            + (
                f"{LOAD_KELVIN[option]:g}, or what the file of --loads says)"
                if default is None
                else "%(default)g)"
            ),
        )
    add(
        "--load-duration",
        type=positive_seconds(False),
        default=10.0,
        metavar="S",
        help="seconds of each load (default: %(default)g)",
    )
    add(
        "--pause",
        action="store_true",
        help="wait for Enter before hot, cold and sky are taken, so that somebody can go and turn "
        "the dish",
    )
    add("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: %(default)s)")
    return result


def check_outputs(options):
    """Refuses files that could not be written, before anything is observed."""
    for path in options.output:
        if os.path.splitext(path)[1].lower() not in ENDINGS:
            raise CommandError(f"-o {path}: its ending is to be one of {', '.join(ENDINGS)}")
    written = [*options.output, *filter(None, [options.over_time])]
    if bool(options.hot) != bool(options.cold):
        raise CommandError("--hot and --cold go together: both loads are needed")
    if options.hot and options.loads:
        written.append(options.loads)
    for option, path in (("--over-time", options.over_time), ("--loads", options.loads)):
        if path and os.path.splitext(path)[1].lower() != ENDING:
            raise CommandError(f"{option} {path}: its ending is to be {ENDING}")
    if sum(path.lower().endswith(".fil") for path in options.output) > 1:
        raise CommandError("-o: one filterbank file can be written at a time")
    if len(set(map(os.path.abspath, written))) < len(written):
        raise CommandError("-o, --over-time, --loads: each file is to be named once")
    for path in written:
        check_path(path, overwrite=options.overwrite)


def wait_for(options, what):
    """Waits for Enter, if that is wanted."""
    if options.pause:
        say(f"{what}; then press Enter")
        sys.stdin.readline()


@dataclass(frozen=True)
class Loads:
    """The Scale of a hot and a cold load, the name of where it is from, and the center and width
    (Hz) of the band of each load, as far as they are known."""

    scale: kelvin.Scale
    name: str
    bands: list

    def check(self, signals, text):
        """Refuses signals of other inputs, those of the input `text`, and warns of another band."""
        inputs = len(self.scale.gain)
        if signals.inputs != inputs:
            raise CommandError(
                f"{self.name}: loads of {inputs} inputs, and --input {text} has {signals.inputs}"
            )
        here = band_of(signals)
        for band in self.bands:
            if not np.allclose(band, here, rtol=0, atol=SAME_BAND * here[1]):
                warn(
                    PROGRAM,
                    f"{self.name}: a load has the band {band_text(band)}, and --input {text} "
                    f"{band_text(here)}: a receiver has other gains in another band",
                )
                break


def band_of(signals):
    """Center and width of a band, Hz."""
    return float(signals.center_frequency), float(signals.bandwidth)


def band_text(band):
    """A band for people."""
    return f"{band[0] / 1e6:.6g} ± {band[1] / 2e6:.4g} MHz"


def observe(options, text, look, seconds, loads=None, filterbank=None):
    """Runs a SpectrumChain to its end, and returns it and whether it was interrupted."""
    chain = SpectrumChain(
        text,
        dict(
            channels=options.channels,
            integration=options.integration,
            mode=options.mode,
            look=look,
            t_hot=options.t_hot,
            t_cold=options.t_cold,
            t_load=options.t_load,
            t_receiver=options.t_receiver,
            period=options.period,
            settling=options.settling,
            device=options.device,
        ),
        seconds,
        filterbank,
        options.array,
        options.seed,
    )
    if loads is not None:
        loads.check(chain.signals, text)
        chain.spectrometer.take_scale(loads.scale)
    for warning in chain.signals.warnings:
        warn(PROGRAM, warning)
    bar = ProgressBar(sys.stderr, chain.samples, chain.signals.sample_rate)
    run = run_chain(chain, bar)
    bar.clear()
    if errors := chain.errors():
        raise CommandError("; ".join(errors))
    for fault in chain.spectrometer.faults():
        warn(PROGRAM, fault)
    return chain, run.interrupts


def take_temperatures(options, hot, cold):
    """Lets the loads have the kelvin hot and cold, where no option says others."""
    if options.t_hot is None:
        options.t_hot = hot
    if options.t_cold is None:
        options.t_cold = cold
    if options.t_hot <= options.t_cold:
        raise CommandError(
            f"--t-hot {options.t_hot:g}: is to be above --t-cold, {options.t_cold:g}"
        )


def measured_loads(options):
    """The Loads of --hot and --cold, or of the file of --loads; None where there are none."""
    if options.hot or not options.loads:
        take_temperatures(options, *LOAD_KELVIN.values())
    if not options.hot:
        if not options.loads:
            return None
        columns, meta = read_table(options.loads, LOADS)
        inputs = sum(name.startswith("hot_") for name in columns)
        try:
            powers = {
                name: np.array([columns[f"{name}_{number}"] for number in range(inputs)], float)
                for name in ("hot", "cold")
            }
            t_hot, t_cold = float(meta["t_hot"]), float(meta["t_cold"])
            bands = []
            if BAND in meta:  # files of earlier versions lack it
                center, width = map(float, meta[BAND])
                bands.append((center, width))
        except (KeyError, TypeError, ValueError) as error:
            raise CommandError(
                f"--loads {options.loads}: is damaged, or was not written by {PROGRAM}: {error}"
            ) from None
        if powers["hot"].shape[1:] != (options.channels,):
            raise CommandError(
                f"--loads {options.loads}: has {powers['hot'].shape[-1]} channels, and --channels "
                f"is {options.channels}"
            )
        take_temperatures(options, t_hot, t_cold)
        return Loads(
            kelvin.hot_and_cold(powers["hot"], powers["cold"], options.t_hot, options.t_cold),
            f"--loads {options.loads}",
            bands,
        )
    powers, bands = {}, []
    for name, text, what in (
        ("hot", options.hot, "Put the hot load before the antenna"),
        ("cold", options.cold, "Point the dish to the cold sky"),
    ):
        wait_for(options, what)
        chain, interrupts = observe(options, text, name, options.load_duration)
        if interrupts:
            raise KeyboardInterrupt
        bands.append(band_of(chain.signals))
        powers.update(chain.spectrometer.loads())
        if name not in powers:
            raise CommandError(f"--{name} {text}: gave no power, it may be too short")
    if powers["hot"].shape != powers["cold"].shape:
        raise CommandError(
            f"--hot {options.hot}: has {len(powers['hot'])} inputs, and --cold {options.cold} "
            f"{len(powers['cold'])}"
        )
    scale = kelvin.hot_and_cold(powers["hot"], powers["cold"], options.t_hot, options.t_cold)
    if options.loads:
        columns = {
            f"{name}_{number}": (row, "")
            for name in ("hot", "cold")
            for number, row in enumerate(powers[name])
        }
        write_table(
            options.loads,
            LOADS,
            columns,
            {"t_hot": options.t_hot, "t_cold": options.t_cold, BAND: list(bands[0])},
            options.overwrite,
        )
    return Loads(scale, "--hot, --cold", bands)


def take_spectrum(options):
    """Does what the options say; returns the exit code."""
    check_outputs(options)
    loads = measured_loads(options)
    wait_for(options, "Point the dish to the sky")
    filterbank = next((path for path in options.output if path.lower().endswith(".fil")), None)
    chain, interrupts = observe(options, options.input, "sky", options.duration, loads, filterbank)
    spectra = chain.spectra
    if not spectra:
        raise CommandError(
            f"--input {options.input}: is too short for a spectrum of "
            f"{seconds_text(options.integration)}"
        )
    found = Result(options, chain, load_array(options.array) if options.array else None)
    say(table(found.rows(chain.spectrometer.scale())))
    for path in options.output:
        if path.lower().endswith(ENDING):
            found.write(path)
        elif path.lower().endswith(PICTURES):
            found.draw(path)
    if options.over_time:
        found.write_series(options.over_time)
    return INTERRUPTED if interrupts and chain.samples is not None else 0


class Result:
    """The mean of an observation's spectra, and its axes."""

    def __init__(self, options, chain, array):
        self._options, self._chain = options, chain
        spectra = chain.spectra
        last = spectra[-1]
        # the newest band counts, where a receiver was tuned elsewhere
        self.spectra = [
            one
            for one in spectra
            if (one.frequency, one.bandwidth) == (last.frequency, last.bandwidth)
        ]
        weights = np.array([one.seconds for one in self.spectra])
        self.seconds = float(weights.sum())
        values = np.array([one.kelvin for one in self.spectra])
        self.kelvin = np.tensordot(weights, values, 1) / self.seconds
        self.system = np.average([one.system for one in self.spectra], axis=0, weights=weights)
        channels = self.kelvin.shape[1]
        self.width = last.bandwidth / channels
        self.frequencies = last.frequency + (np.arange(channels) - channels // 2) * self.width
        self.begin, self.end = self.spectra[0].begin, last.end
        self._array = array or chain.signals.description
        self.correction = self._correction()
        self.velocities = velocities(self.frequencies, self.correction, options.rest)
        # a line adds to the noise of its channels
        system = self.system[:, None] + self.kelvin - kelvin.middle(self.kelvin)
        self.noise = kelvin.radiometer_noise(system, self.width, self.seconds, options.mode)

    def _correction(self):
        where = self._options.direction
        if where is None:
            return 0.0
        times = np.array([self.begin, (self.begin + self.end) / 2, self.end])
        begin, middle, end = (float(value) for value in lsr_correction(where, times, self._array))
        channel = KM_S * self.width / self._options.rest
        # a drift scan is not for lines
        if abs(end - begin) > SMEARED * channel and not self._options.over_time:
            warn(
                PROGRAM,
                f"the Earth's motion changes velocities by {abs(end - begin):.2f} km/s within the "
                f"observation, and a channel has {channel:.2f} km/s: lines are smeared; take it in "
                "shorter pieces",
            )
        return middle

    def rows(self, scale):
        """Returns the rows of the table that is printed."""
        rows = []
        for index, name in enumerate(self._chain.signals.description.input_names):
            values, inner = self.kelvin[index], self._inner()
            highest = int(np.nanargmax(np.where(inner, values, -np.inf)))
            text = f"T_sys {self.system[index]:.1f} K"
            if scale is not None and scale.measured:
                receiver = float(kelvin.middle(scale.receiver)[index, 0])
                text += f", receiver {receiver:.1f} K (Y = {scale.y[index]:.3f})"
            else:
                text += ", assumed: no loads were measured"
            rows += [
                (name, text),
                (
                    "",
                    f"highest {values[highest]:.1f} ± {self.noise[index, highest]:.1f} K at "
                    f"{self.velocities[highest]:.1f} km/s, "
                    f"{self.frequencies[highest] / 1e6:.4f} MHz",
                ),
            ]
        frame = "LSRK" if self._options.direction is not None else "as it is observed"
        step = KM_S * self.width / self._options.rest
        return rows + [
            ("velocity", f"{frame}, {self.correction:+.2f} km/s"),
            ("channel", f"{with_prefix(self.width, 'Hz')}, {step:.2f} km/s"),
            (
                "time",
                f"{utc_text(self.begin, 1)}, {len(self.spectra)} × "
                f"{seconds_text(self.seconds / len(self.spectra))}",
            ),
        ]

    def _inner(self):
        """Returns where the receiver does not cut off the band: all but its outer tenths."""
        part = np.abs(self.frequencies - self.frequencies[len(self.frequencies) // 2])
        return part < 0.4 * self.width * len(self.frequencies)

    def _meta(self):
        options = self._options
        where, sky = "", {}
        if options.direction is not None:
            where = str(options.direction).replace("°", " deg")
            ra, dec = icrs(options.direction, (self.begin + self.end) / 2, self._array)[:2]
            longitude, latitude = geometry.radec_to_galactic(ra, dec)
            sky = {
                "galactic_longitude_deg": round(float(longitude), 6) % 360,
                "galactic_latitude_deg": round(float(latitude), 6),
            }
        return {
            "input": options.input,
            "begin": utc_text(self.begin, 3),
            "end": utc_text(self.end, 3),
            "seconds": self.seconds,
            "mode": options.mode,
            "direction": where,
            **sky,
            "velocity_frame": "LSRK" if where else "topocentric",
            "velocity_convention": "radio",
            "velocity_correction_km_s": float(self.correction),
            "rest_frequency_hz": options.rest,
            "latitude_deg": self._array.latitude,
            "longitude_deg": self._array.longitude,
            "height_m": self._array.height,
            "system_temperature_k": [float(value) for value in self.system],
            "calibrated": bool(self.spectra[-1].measured),
        }

    def _endings(self):
        """Returns the endings of columns' names, for each input."""
        count = len(self.kelvin)
        return [""] if count == 1 else [f"_{index}" for index in range(count)]

    def write(self, path):
        """Writes the mean spectrum."""
        columns = {"frequency": (self.frequencies, "Hz"), "velocity": (self.velocities, "km/s")}
        for index, end in enumerate(self._endings()):
            columns["temperature" + end] = (self.kelvin[index], "K")
            columns["uncertainty" + end] = (self.noise[index], "K")
        write_table(path, SPECTRUM, columns, self._meta(), self._options.overwrite)

    def series(self):
        """Seconds since 1970, and the mean kelvin of the band [integration][input]."""
        inner = self._inner()
        times = np.array([(one.begin + one.end) / 2 for one in self.spectra])
        return times, np.array([np.nanmean(one.kelvin[:, inner], axis=1) for one in self.spectra])

    def write_series(self, path):
        """Writes the mean of the band over time."""
        times, values = self.series()
        columns = {"time": (times, "s")}
        for index, end in enumerate(self._endings()):
            system = np.array([one.system[index] for one in self.spectra])
            columns["temperature" + end] = (values[:, index], "K")
            columns["system" + end] = (system, "K")
        write_table(path, SERIES, columns, self._meta(), self._options.overwrite)

    def draw(self, path):
        """Draws the mean spectrum, and the band over time where there are many integrations."""
        import matplotlib

        matplotlib.use("Agg")
        from ..plots.picture import save_picture
        from ..plots.plot_spectrum import spectrum_figure

        options = self._options
        where = options.direction.name if options.direction is not None else options.input
        figure = spectrum_figure(
            self.velocities,
            np.where(self._inner(), self.kelvin, np.nan),
            self._chain.signals.description.input_names,
            f"{where}, {utc_text(self.begin, 0)}, {seconds_text(self.seconds)}",
            "velocity (km/s, LSR)" if options.direction is not None else "velocity (km/s)",
            self.series(),
            float(np.nanmedian(self.noise)),
            self.spectra[-1].measured,
        )
        save_picture(figure, path, dpi=100)


def main(arguments=None):
    """Runs the command; returns its exit code."""
    return run_command(PROGRAM, parser(), take_spectrum, arguments)
