#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sections of plans from the input to the correlator: what each field means, and the rules between
fields, which refuse what contradicts itself before anything starts."""

import os
from dataclasses import dataclass

from .. import calibrator, f_engine, upchanneliser, uvh5_sink
from .. import zoom as zoom_block
from ..files.file_names import PHASE_CENTER
from ..inputs.input_format import InputError
from ..inputs.registry import read_input
from ..parameters.description import Integer, Number, Switch, Text
from ..parameters.rules import NAME_PATTERN, NAME_RULE
from ..streams.levels import TARGET_RMS
from ..tracking.directions import parse_direction
from . import texts
from .fields import BEAMS, FX, LONGEST, OBSERVE, OF_SAMPLES, Bytes, Form, Seconds, key, like
from .names import VISIBILITIES, check_file_name

DEFAULT_DURATION = 1.0  # s, of simulations
DEFAULT_INTEGRATION = 1.0  # s, of visibilities
FALSE_ALARMS = 0.0027  # three standard deviations
BEST_SLICE = 256  # spectra; 10 % more power in a cell are three standard deviations
CORRELATORS = FX, OBSERVE
#: fields of a calibration that is measured while it runs
MEASURING = "every", "integrations", "noise_settle", "noise_patience"
#: fields of the flags that flag; where all are None, nothing is flagged
METHODS = "kurtosis_false_alarms", "time_sum_sigma", "channel_sum_sigma", "bad_channels"


@dataclass(frozen=True)
class Instrument:
    """The instrument as a whole."""

    name: Form(
        "name of the instrument, in its histories",
        texts.name,
        NAME_RULE,
        type="string",
        pattern=f"^{NAME_PATTERN}$",
    ) = "instrument"


@dataclass(frozen=True)
class Input:
    """The source of the samples."""

    source: Text(
        "source of the samples, KIND:NAME; --help-input KIND has the options of a kind"
    ) = key(None, "--input", metavar="INPUT", programs=OF_SAMPLES, needed=OF_SAMPLES)
    duration: Seconds("how much of it is taken", endless=True) = key(
        None,
        "--duration",
        metavar="SECONDS",
        otherwise=f"of a simulation {DEFAULT_DURATION:g}, inf: until Ctrl-C; of receivers until "
        "Ctrl-C; of a recording all from its start",
    )
    start: Form(
        "where in a recording to begin: seconds from its beginning, or a time in UTC",
        texts.start,
        type=["number", "string"],
    ) = key(None, "--start", metavar="TIME|SECONDS", otherwise="at its first sample")
    seed: Integer("seed of a simulation", 0, 2**31 - 1) = key(
        None, "--seed", metavar="N", otherwise="1", programs=OF_SAMPLES
    )
    select_channels: Form(
        "channels that are read of an input that has channels, from 0, in the order of sky "
        "frequency, both ends included",
        texts.first_and_last,
    ) = key(None, "--select-channels", metavar="FIRST:LAST", otherwise="all", programs=OF_SAMPLES)

    zoom: Form(
        "take a part of the band only: Hz of its middle above the middle of the band, and the "
        "samples in for one out, 2 to 4096, by which the band gets narrower",
        texts.zoom,
    ) = key(
        None,
        "--zoom",
        metavar="FREQUENCY,DECIMATION",
        otherwise="the whole band",
        programs=OF_SAMPLES,
    )
    zoom_passband: like(
        zoom_block,
        "passband",
        meaning="part of the band of a zoom into which nothing aliases above -80 dB, and in which "
        "the gain varies by less than 0.1 dB",
    ) = key(0.8, "--zoom-passband", metavar="FRACTION", programs=OF_SAMPLES)

    @property
    def zoomed(self):
        """(Hz above the middle of the band, decimation); None: the whole band."""
        return None if self.zoom is None else texts.zoom(self.zoom)

    @property
    def selected(self):
        """(first, last) of the channels that are read; None: all."""
        text = self.select_channels
        return None if text is None else texts.first_and_last(text)

    def check(self, plan):
        """Refuses what is not the text of an input."""
        if self.source is None:
            return  # powers come from files
        if self.zoom is not None and plan.network.role != "fx":
            raise plan.error(
                "input.zoom",
                f"not with {plan.naming('network.role')} {plan.network.role}: the zooms of several "
                "hosts have phases of their own",
                shown=True,
            )
        if self.zoom is None and self.zoom_passband != type(self).zoom_passband:
            raise plan.error(
                "input.zoom_passband", f"needs {plan.naming('input.zoom')}", shown=True
            )
        try:
            read_input(self.source, plan.array.description, self.seed)
        except InputError as error:
            raise plan.input_error(error) from None


@dataclass(frozen=True)
class Array:
    """The antennas."""

    description: Text("array description of a recording or of receivers") = key(
        None,
        "--array",
        metavar="FILE",
        otherwise="of a recording, from its header, of two streams the first is x, the second y; "
        "of receivers, an antenna each",
    )


@dataclass(frozen=True)
class Engines:
    """The F-engine, and how long the correlator integrates."""

    channels: Integer("channels of the band", 4, 65536, even=True) = key(
        None,
        "--channels",
        metavar="N",
        otherwise="1024, fewer of an input with less than 100 spectra",
    )
    taps: like(f_engine, "taps", meaning="taps of the polyphase filter bank") = key(
        8, "--taps", metavar="T"
    )
    oversampling: like(
        f_engine,
        "oversampling",
        meaning="ratio P/Q of the rate of spectra to the spacing of channels, at least 1, such as "
        "32/27 (with 24 taps) or 4/3 (with 8)",
    ) = key("1", "--oversampling", metavar="P/Q")
    window: like(f_engine, "window", meaning="hann, hamming, blackman, rect or kaiser(BETA)") = key(
        "hann", "--window", metavar="NAME"
    )
    upchannelise: Integer(
        "fine channels that each channel, of the filter bank or as recorded, is split into; of "
        "channels oversampled by P/Q a multiple of Q",
        2,
        4096,
    ) = key(None, "--upchannelise", metavar="F", otherwise="channels are not split")
    fine_taps: like(
        upchanneliser, "taps", meaning="taps of the filter bank in each channel that is split"
    ) = key(8, "--fine-taps", metavar="T")
    coarse_taps: Integer(
        "taps of the filter bank, with this window, that made recorded channels which are split "
        "further: their shape is taken out",
        1,
        64,
    ) = key(None, "--coarse-taps", metavar="T", otherwise="it is not known, and stays")
    format: Text(
        "of the voltages after the F-engine; for sc8 the gain of each input is measured from the "
        "first part of the input (of receivers while they run), for an rms of "
        f"{TARGET_RMS:g} steps of the real and the imaginary part",
        "sc8",
        "fc32",
    ) = key("sc8", "--format")
    integration: Seconds(
        "integration of visibilities, kept within 1 %, as a whole number of frames"
    ) = key(
        None,
        "--integration",
        metavar="SECONDS",
        otherwise=f"{DEFAULT_INTEGRATION:g}, or the whole input if that is shorter",
        programs=CORRELATORS,
    )
    spectra_per_frame: Integer("spectra that the X-engine gets at once", 1, 1 << 24) = key(
        None,
        "--spectra-per-frame",
        metavar="N",
        otherwise="so that a frame has 1 to 128 MB where possible, and an integration is a whole "
        "number of frames",
        programs=CORRELATORS,
    )
    gain: Number("gain of all inputs, for sc8, instead of a measured one", 0, open=True) = key(
        None, "--gain", metavar="GAIN", programs=CORRELATORS
    )

    def _check_splitting(self, plan):
        if self.upchannelise is None:
            needed = f"needs {plan.naming('engines.upchannelise')}"
            if self.fine_taps != 8:
                raise plan.error("engines.fine_taps", needed, shown=True)
            if self.coarse_taps is not None:
                raise plan.error("engines.coarse_taps", needed, shown=True)
            return
        one = "must not be given where channels are split further"
        if plan.network.role != "fx":
            raise plan.error(
                "engines.upchannelise", "between hosts channels are not split", shown=True
            )
        if plan.device.names is not None:
            raise plan.error("device.names", f"{one}, which one device does", shown=True)

    def check(self, plan):
        """Refuses frames of a chosen length where beams choose it, and channels that cannot be
        split."""
        self._check_splitting(plan)
        if self.spectra_per_frame is not None and plan.beams.directions is not None:
            raise plan.error(
                "engines.spectra_per_frame",
                "is not allowed with beams, whose integration says how long frames are",
            )


@dataclass(frozen=True)
class Calibration:
    """The calibration that makes the inputs equal."""

    file: Text(
        "calibration that makes the inputs equal, as aperture_calibrate writes it; takes the place "
        "of the description's gains and cable delays"
    ) = key(None, "--calibration", metavar="CAL.yml")
    by: Text(
        "who applies the calibration: f-engine (delays and gains of the voltages), sink (the "
        "visibilities), or nobody (the file notes it)",
        "f-engine",
        "sink",
        "nobody",
    ) = key("f-engine", "--calibrate", metavar="BY", programs=CORRELATORS)
    scale: like(
        uvh5_sink,
        "scale",
        meaning="scale of calibrated visibilities: in units of the source that the calibration was "
        "measured with, or kelvin",
    ) = key("model", "--scale", programs=CORRELATORS)
    measure: Text(
        "measure a calibration while it runs, which the F-engine applies, by what all inputs hear: "
        "noise, or a direction such as sun or 'az=130, el=40', or a YAML file of sources; a noise "
        "source that the receivers can switch (noise= of the input) is on for that alone, and is "
        "flagged"
    ) = key(None, "--measure-calibration", metavar="SOURCE", programs=CORRELATORS)
    every: like(
        calibrator,
        "every",
        meaning="time from one such measurement to the next; 0: at the start, after each tuning, "
        "and when it is told to",
    ) = key(0.0, "--measure-every", metavar="SECONDS", programs=CORRELATORS)
    integrations: like(
        calibrator, "integrations", meaning="integrations of the X-engine that each of them takes"
    ) = key(1, "--measure-integrations", metavar="N", programs=CORRELATORS)
    noise_settle: like(
        calibrator,
        "noise_settle",
        meaning="time from switching the noise source on to the first integration that is measured",
    ) = key(0.5, programs=CORRELATORS)
    noise_patience: like(
        calibrator, "noise_patience", meaning="time in which the noise source's switch has to act"
    ) = key(5.0, programs=CORRELATORS)

    def _check_measuring(self, plan):
        """Refuses what does not go together with a calibration that is measured."""
        refuse = lambda name, problem: plan.error(name, problem, shown=True)
        called = plan.naming("calibration.measure")
        if self.measure is None:
            for name in MEASURING:
                if getattr(self, name) != getattr(Calibration, name):  # the default
                    raise refuse(f"calibration.{name}", f"needs {called}")
            return
        for name, why in (
            ("calibration.file", "its place would be taken by what is measured"),
            ("tracking.direction", "what delays do that follow it would be calibrated away"),
            ("device.names", "one device has to have all channels of all inputs"),
            ("engines.upchannelise", "the channels of F-engine and X-engine are not the same"),
        ):
            if plan.value(name) is not None:
                raise refuse(name, f"not with {called}: {why}")
        if self.by != "f-engine":
            raise refuse("calibration.by", f"not with {called}, which the F-engine applies")
        if plan.network.role != "fx":
            raise refuse("network.role", f"not with {called}: the loop is that of one host")
        if plan.outputs.file is None:
            raise refuse("calibration.measure", f"needs {plan.naming('outputs.file')}")
        if plan.outputs.resume:
            raise refuse("outputs.resume", f"not with {called}: nobody knows what was in force")
        files = {"outputs.file": plan.outputs.file}
        files |= {f"products.{name}.file": entry.file for name, entry in plan.products.items()}
        for name, file in files.items():
            if file is not None and "{time}" not in file:
                raise refuse(
                    name,
                    f"expected {{time}} in the name with {called}: a file holds one calibration, "
                    "and the next one begins another",
                )

    def check(self, plan):
        """Refuses a scale of what is not calibrated, calibrated files of beams that are not, and
        what does not go together with a calibration that is measured."""
        self._check_measuring(plan)
        if self.file is None:
            if self.scale != "model":
                raise plan.error(
                    "calibration.scale", f"needs {plan.naming('calibration.file')}", shown=True
                )
        elif plan.beams.directions is not None and self.by != "f-engine":
            raise plan.error(
                "calibration.by", f"{self.by!r} is not allowed with beams; it must be f-engine"
            )


@dataclass(frozen=True)
class Outputs:
    """The file of visibilities, and the end and the place of all files."""

    file: Text(
        "visibilities: .uvh5, or .ms or .uvfits, which are made of a UVH5 file at the end; {time} "
        "in the name becomes the UTC time of the first integration (not of --role f)"
    ) = key(None, "-o", "--output", metavar="FILE", programs=CORRELATORS)
    overwrite: Switch("replace files that are there when the first integration comes") = key(
        True,
        "--no-overwrite",
        help="refuse to replace files (default: they are replaced when the first integration "
        "comes)",
    )
    resume: Switch(
        "go on with the file of visibilities, or the files of powers, of a run of the same plan "
        "that was stopped, behind the last whole integration; files that are not there are begun"
    ) = key(False, "--resume", programs=(FX, BEAMS))
    keep_uvh5: Switch(
        "with -o x.ms or x.uvfits: keep the UVH5 file, x.uvh5 (default: it is removed)"
    ) = key(False, "--keep-uvh5", programs=(FX,))
    compression: like(
        uvh5_sink,
        "compression",
        meaning="compression of the visibilities, without loss: lzf is fast, gzip smaller, "
        "bitshuffle both, where hdf5plugin is installed",
    ) = key("none", "--compression", programs=CORRELATORS)
    # files are named by the second, and many small ones take longer than what they hold
    roll_seconds: Number(
        "files of visibilities, powers, voltages, candidates and profiles end, and new ones begin, "
        "at whole multiples of it since 1970, UTC: 3600 for each full hour",
        1.0,
        LONGEST,
        unit="seconds",
    ) = key(None, programs=(OBSERVE,))
    roll_bytes: Bytes("and before they are larger than this", least=10**5) = key(
        None, programs=(OBSERVE,)
    )
    least_free_bytes: Bytes(
        "free space that is to be left on the disks on which files are written; 0: nothing is "
        "looked after"
    ) = key(0, programs=(OBSERVE,))
    when_full: Text(
        "stop: nothing is recorded until there is room again; oldest: the oldest files with such "
        "names are removed",
        "stop",
        "oldest",
    ) = key("stop", programs=(OBSERVE,))

    def _check_resume(self, plan):
        """Refuses what cannot go on where it was stopped."""
        refuse = lambda name, problem: plan.error(name, problem, shown=True)
        here = plan.naming("outputs.resume")
        if "{" in (self.file or ""):
            raise refuse("outputs.file", f"{here} goes on with one file, whose name is known")
        if plan.program == BEAMS:
            if plan.beams.file is None:
                raise plan.error("outputs.resume", f"needs {plan.naming('beams.file')}")
            if "{time}" in plan.beams.file:
                raise refuse("beams.file", f"{here} goes on with files whose names are known")
            if plan.beams.is_psrfits:
                raise refuse("beams.file", f"{here} goes on with filterbank files (.fil)")
            if plan.beams.bits != 32:
                raise refuse(
                    "beams.nbits",
                    f"not with {here}: files of 8 bits do not hold the levels that the first "
                    "integrations set",
                )
        for name, why in (
            ("beams.voltages", "files of voltages begin anew"),
            ("vdif.to", "frames of VDIF are written as they come"),
            ("search.trials", "what is found depends on what came before; search the file later"),
            ("fold.by", "profiles begin anew; fold the file later"),
            ("voltages.file", "files of voltages begin anew"),
            ("ring.file", "a ring of voltages begins anew"),
            *(
                (f"flagging.{name}", "what is flagged depends on what came before")
                for name in METHODS[:-1]
            ),
        ):
            if plan.value(name) is not None:
                raise refuse(name, f"not with {here}: {why}")
        if not self.overwrite:
            raise plan.error("outputs.overwrite", f"not with {here}, which goes on with a file")
        if plan.network.role != "fx":
            raise refuse("network.role", f"not with {here}: packets are not sent twice")

    def check(self, plan):
        """Refuses what is no name of a file of visibilities, and plans that write nothing."""
        check_file_name(
            plan,
            "outputs.file",
            VISIBILITIES if plan.program == FX else VISIBILITIES[:1],
            ("time", "phase_center"),
        )
        several = len(plan.tracking.centers) > 1
        if several and self.file is not None and PHASE_CENTER not in self.file:
            stem, ending = os.path.splitext(self.file)
            raise plan.error(
                "outputs.file",
                f"expected a name with {PHASE_CENTER} in it, such as "
                f"{stem}-{PHASE_CENTER}{ending}, as there is a file for each phase centre",
                shown=True,
            )
        wanted = ("beams.directions", "ring.file", "voltages.file")
        if self.resume:
            self._check_resume(plan)
        if (
            plan.program == OBSERVE
            and plan.network.role == "fx"
            and not any(map(plan.value, ("outputs.file", *wanted)))
        ):
            raise plan.error(
                "outputs.file",
                f"is missing, and so are {', '.join(wanted[:-1])} and {wanted[-1]}: there would be "
                "nothing to do",
            )


@dataclass(frozen=True)
class Device:
    """The device on which it is computed, or several."""

    name: Form(
        "auto, cpu, cuda or cuda:N",
        texts.device_name,
        type="string",
        pattern="^(auto|cpu|cuda(:[0-9]+)?)$",
    ) = key("auto", "--device", metavar="NAME", otherwise="auto: a GPU if there is one")
    names: Form(
        "several GPUs, such as cuda:0,cuda:1: each channelises a range of the inputs and "
        "correlates a range of the channels; takes the place of one device",
        texts.device_names,
    ) = key(None, "--devices", metavar="NAME,NAME[,...]", programs=CORRELATORS)

    @property
    def several(self):
        """The names of several devices, a list; None: there is one."""
        return None if self.names is None else texts.device_names(self.names)

    @property
    def first(self):
        """The device of what runs on one, or the first of several."""
        return self.name if self.names is None else self.several[0]

    def check(self, plan):
        """Refuses what several devices cannot do: no one of them has all channels of all inputs."""
        if self.names is None:
            return
        if plan.network.role != "fx":
            raise plan.error(
                "device.names",
                f"not with {plan.naming('network.role')} {plan.network.role}: a part of a "
                "correlator has one device",
                shown=True,
            )
        for field in ("beams.directions", "ring.file", "voltages.file"):
            if plan.value(field) is not None:
                raise plan.error(
                    "device.names",
                    f"is not allowed with {plan.naming(field)}: no device has all channels of "
                    "all inputs",
                )


@dataclass(frozen=True)
class Flagging:
    """Interference that is found and left out."""

    kurtosis_false_alarms: like(
        f_engine,
        "kurtosis_false_alarms",
        least=1e-9,
        meaning="flag interference by spectral kurtosis, such that this fraction of noise is "
        "flagged, too; voltages that are flagged are not counted",
    ) = key(None, "--flag", metavar="FRACTION", alone=FALSE_ALARMS)
    time_sum_sigma: Number(
        "flag powers that stand out along time (SumThreshold), from so many standard deviations "
        "on, such as 6",
        1,
        1000,
        unit="standard deviations",
    ) = key(None, "--flag-time", metavar="SIGMA")
    channel_sum_sigma: Number("likewise along channels", 1, 1000, unit="standard deviations") = key(
        None, "--flag-channels", metavar="SIGMA"
    )
    bad_channels: Form(
        "flag these channels, from 0, both ends of a range included", texts.numbers_of
    ) = key(None, "--bad-channels", metavar="N,N-N")
    spectra_per_slice: like(
        f_engine,
        "spectra_per_slice",
        least=1,
        meaning="spectra that are flagged together, a divisor of those of a frame",
    ) = key(None, "--flag-slice", metavar="SPECTRA", otherwise=f"the one nearest to {BEST_SLICE}")
    grown_slices: like(
        f_engine, "grown_slices", meaning="flag so many slices before and after a flagged one, too"
    ) = key(None, "--grow-slices", metavar="N")
    grown_channels: like(
        f_engine,
        "grown_channels",
        meaning="flag so many channels on each side of a flagged one, too",
    ) = key(None, "--grow-channels", metavar="N")

    @property
    def wanted(self):
        """True if anything is flagged."""
        return any(getattr(self, name) is not None for name in METHODS)

    def check(self, plan):
        """Refuses sizes of flags where nothing is flagged."""
        if self.wanted:
            return
        names = [plan.naming(f"flagging.{name}") for name in METHODS]
        for name in ("spectra_per_slice", "grown_slices", "grown_channels"):
            if getattr(self, name) is not None:
                raise plan.error(
                    f"flagging.{name}", f"needs {', '.join(names[:-1])} or {names[-1]}", shown=True
                )


@dataclass(frozen=True)
class Tracking:
    """The direction on the sky that the delays follow."""

    direction: Form(
        "keep the delays on this direction, so that its fringes stop: sun, 'Cas A', "
        "'23:23:24 +58:48:54' (ICRS), '350.85, 58.815' (degrees), 'az=180, el=45'",
        parse_direction,
        named=True,
    ) = key(None, "--track", metavar="DIRECTION")
    phase_centers: Form(
        "rotate the phases to these directions, each in a file of its own ({phase_center} in the "
        "name), whatever is tracked; where an integration would average them out, before it is "
        "averaged",
        texts.directions,
        named=True,
    ) = key(None, "--phase-centers", metavar="DIRECTION[;...]")

    @property
    def tracked(self):
        """The Direction; None: nothing is tracked."""
        return None if self.direction is None else parse_direction(self.direction)

    @property
    def centers(self):
        """A list of Direction, empty where phases are left as they are."""
        return texts.directions(self.phase_centers) if self.phase_centers else []
