#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Sections of plans of beams and voltages: what each field means, and the rules between fields."""

import os
from dataclasses import dataclass

from .. import candidate_sink, filterbank_sink, folder, pointing, power_source, vdif_sink
from ..beams.weights import NORMS, TAPERS
from ..formats.psrfits.search_writer import COLUMNS
from ..formats.vdif.writer import BEST_STEPS
from ..formats.voltages import DUMP_ENDINGS, VOLTAGE_ENDINGS
from ..parameters.description import Integer, Number, Switch, Text
from ..parameters.regular_file import check_regular
from . import texts
from .fields import BEAMS, OBSERVE, SEARCH, Bytes, Form, Seconds, key, like
from .names import FILTERBANK, PROFILES, SEARCH_MODE, TABLES, check_file_name

DEFAULT_INTEGRATION = 1e-3  # s, of powers
OF_BEAMS = BEAMS, OBSERVE
UDP = "udp:"  # in front of addresses of VDIF


def voltages_text(what):
    """Returns the meaning of a file of the voltages of each `what`."""
    return (
        f"the voltages of each {what}: .raw (GUPPI raw, with {{{what}}} in the name) or "
        ".sigmf-meta (SigMF, with {channel} in it); {time} becomes the UTC time of the first frame"
    )


def channels_of(text):
    """The numbers of a text of channels, a list; None: all of them."""
    return None if text is None else texts.numbers_of(text)


CHANNELS = Form(
    "with voltages: these channels, from 0, both ends of a range included", texts.numbers_of
)


@dataclass(frozen=True)
class Voltages:
    """Files of the voltages of the inputs."""

    file: Text(f"also write {voltages_text('input')}") = key(None, "--voltages", metavar="FILE")
    channels: CHANNELS = key(None, "--voltage-channels", metavar="N,N-N", otherwise="all")

    @property
    def selected(self):
        """The numbers of the channels, a list; None: all."""
        return channels_of(self.channels)

    def check(self, plan):
        """Refuses what is no name of files of voltages."""
        check_file_name(plan, "voltages.file", VOLTAGE_ENDINGS, ("time", "input", "channel"))


@dataclass(frozen=True)
class Beams:
    """Tied-array beams, and files of their powers."""

    directions: Text(
        "a YAML file, or grid:az=180,el=60,columns=8,rows=2,spacing=1.5 (degrees; ra and dec "
        "instead follow the sky), or grid:ra=83.63,dec=22.01,width=3,overlap=0.5 to fill a circle"
    ) = key(None, "--beams", metavar="BEAMS", needed=(BEAMS,))
    incoherent: Text(
        "one more beam: the sum of the powers of all inputs, or of those of these antennas"
    ) = key(None, "--incoherent", metavar="ANTENNA+ANTENNA", alone="")
    products: like(filterbank_sink, "products", meaning="products of the two polarisations") = key(
        None, "--products", otherwise="I of an array with two polarisations, else power"
    )
    sum_channels: Integer("neighbours that become one in the file", 1, 65536) = key(
        1, "--sum-channels", metavar="N"
    )
    taper: Text("taper of the weights from the middle of the array to its edge", *TAPERS) = key(
        "none", "--taper"
    )
    normalise: Text(
        "noise: a beam has the noise of an input; signal: a source has the power that it has in an "
        "input",
        *NORMS,
    ) = key("noise", "--normalise")
    phase_error: like(
        pointing,
        "phase_error",
        meaning="error that the weights of beams on the sky may have",
        unit="degrees",
    ) = key(1.0, "--phase-error", metavar="DEGREES")
    integration: Seconds(
        "integration of the powers, kept within 1 %, as a whole number of spectra, and where it "
        "has more than 8 MB of voltages, of frames"
    ) = key(None, "--integration", metavar="SECONDS", otherwise=f"{DEFAULT_INTEGRATION:g}")
    file: Text(
        "filterbank file of all beams (.fil), or with {beam} in its name one for each; PSRFITS in "
        "search mode (.sf) has one for each; {time} becomes the UTC time of the first integration; "
        "may be left out with a search or a folding"
    ) = key(None, "-o", "--output", metavar="FILE.fil")
    nbits: Integer(
        "bits of a power in the file: 8 or 32 in a filterbank file", choices=tuple(COLUMNS)
    ) = key(None, "--nbits", otherwise="32, in PSRFITS 8")
    voltages: Text(f"also write {voltages_text('beam')}") = key(None, "--voltages", metavar="FILE")
    voltage_channels: CHANNELS = key(None, "--voltage-channels", metavar="N,N-N", otherwise="all")

    @property
    def is_psrfits(self):
        """The file is PSRFITS in search mode."""
        return self.file is not None and os.path.splitext(self.file)[1] in SEARCH_MODE

    @property
    def bits(self):
        """Bits of a power in the file."""
        return self.nbits or (8 if self.is_psrfits else 32)

    @property
    def selected(self):
        """The numbers of the channels whose voltages are written, a list; None: all."""
        return channels_of(self.voltage_channels)

    def check(self, plan):
        """Refuses files without beams, and beams with which nothing is done."""
        check_file_name(plan, "beams.file", FILTERBANK + SEARCH_MODE, ("beam", "time"))
        if self.bits not in (8, 32) and not self.is_psrfits:
            raise plan.error(
                "beams.nbits",
                "a filterbank file has 8 or 32; PSRFITS, whose name ends in .sf, has others",
                shown=True,
            )
        check_file_name(plan, "beams.voltages", VOLTAGE_ENDINGS, ("time", "beam", "channel"))
        used = ("beams.file", "search.trials", "fold.by", "vdif.to", "beams.voltages")
        if plan.powers.files is not None:
            return
        if self.directions is None:
            for field in ("beams.integration", *used):
                if plan.value(field) is not None:
                    raise plan.error(field, f"needs {plan.naming('beams.directions')}")
        elif plan.network.role != "fx":
            raise plan.error(
                "beams.directions",
                "is not allowed for a host that has a part of the correlator; it must be left out",
            )
        # a command has no run of which voltages are all that remains
        elif not any(map(plan.value, used[: 5 if plan.program == OBSERVE else 4])):
            raise plan.error(
                "beams.file",
                f"is missing, and so are {', '.join(map(plan.naming, used[1:3]))} and "
                f"{plan.naming(used[3])}: nothing is done with the beams",
            )


@dataclass(frozen=True)
class Vdif:
    """Samples of the beams in VDIF, for correlators of VLBI."""

    to: Text(
        "also write samples of each beam in VDIF: FILE.vdif, with {beam} in the name where there "
        "are several, {time} becomes the UTC time of the first frame; or udp:HOST:PORT, to which "
        "they are sent; best with --oversampling 32/27 --taps 24"
    ) = key(None, "--vdif", metavar="FILE.vdif|udp:HOST:PORT")
    station: Text("with VDIF: the station ID, two characters or a number") = key(
        "AP", "--station", metavar="ID"
    )
    bits: Integer("with VDIF: bits of a sample", choices=tuple(BEST_STEPS)) = key(2, "--vdif-bits")
    bandwidth: Number(
        "with VDIF: width of the band, half the rate of its samples", 1, 1e12, unit="Hz"
    ) = key(
        None,
        "--vdif-bandwidth",
        metavar="HZ",
        otherwise="the largest power of two of MHz that the channels have",
    )
    frequency: Number("with VDIF: sky frequency at which the band begins", 0, 1e12, unit="Hz") = (
        key(
            None,
            "--vdif-frequency",
            metavar="HZ",
            otherwise="such that it is in the middle of the channels, in whole 10 kHz where it can",
        )
    )
    data_bytes: like(vdif_sink, "data_bytes", meaning="bytes of data of a frame") = key(
        None, otherwise="8000, or the most below it of which a second has a whole number"
    )
    edv: like(vdif_sink, "edv", meaning="extended data version: 0, 1 or 3") = 0
    sequence_numbers: Switch("true if packets have a number in front of the frame") = False
    level_time: like(
        vdif_sink, "level_time", meaning="time over which the level of the samples is followed"
    ) = 10.0
    passband: Number("part of the band that is flat and free of aliases", 0.5, 0.995) = 0.95

    @property
    def address(self):
        """HOST:PORT to which frames are sent; "": none."""
        return self.to.removeprefix(UDP) if self.to and self.to.startswith(UDP) else ""

    @property
    def file(self):
        """The file; "": none."""
        return "" if self.to is None or self.address else self.to

    def check(self, plan):
        """Refuses what is no name of a file of VDIF and no address, and what belongs to it without
        it."""
        if self.to is None:
            for name in self.__dataclass_fields__:
                if getattr(self, name) != getattr(type(self), name):
                    raise plan.error(
                        f"vdif.{name}",
                        f"is of {plan.naming('vdif.to')}, which is not given",
                        shown=True,
                    )
            return
        if plan.beams.directions is None:
            raise plan.error("vdif.to", f"needs {plan.naming('beams.directions')}")
        if plan.engines.upchannelise is not None:
            raise plan.error(
                "vdif.to",
                f"not with {plan.naming('engines.upchannelise')}: samples are made of the channels "
                "of the F-engine",
            )
        if self.address:
            return
        check_file_name(plan, "vdif.to", (".vdif",), ("time", "beam"))


@dataclass(frozen=True)
class Powers:
    """Files of powers, in the place of beams."""

    files: Text(
        "filterbank files of SIGPROC, or PSRFITS in search mode; several are beams side by side, "
        "of one recording; in a plan with commas between them"
    ) = key(None, "FILE", needed=(SEARCH,))
    order: like(
        power_source,
        "order",
        meaning="products of filterbank files of four IFs, which do not say which they are",
    ) = key("IQUV", "--ifs", metavar="ORDER")

    def check(self, plan):
        """Refuses files with which nothing is done."""
        if self.files is not None and plan.search.trials is None and plan.fold.by is None:
            raise plan.error(
                "search.trials",
                f"is missing, and so is {plan.naming('fold.by')}: nothing is done with the powers",
            )


@dataclass(frozen=True)
class Search:
    """The search for dispersed pulses."""

    trials: Form(
        "also search for dispersed pulses, with trials of these dispersion measures (pc/cm^3; "
        "without STEP as many as are needed); behind commas threshold=7 (S/N), widest=0.25 (s), "
        "min_dm, most_beams and more, see docs/beams.md",
        texts.parse_search,
        named=True,
    ) = key(None, "--search", metavar="dm=LOW:HIGH:STEP")
    candidates: Text(
        "with a search: the table of candidates, .ecsv or .csv; {time} becomes the UTC time of the "
        "start"
    ) = key(
        None,
        "--candidates",
        metavar="FILE.ecsv",
        otherwise="named after the file of beams or powers, or candidates-{time}.ecsv",
    )
    pictures: like(
        candidate_sink,
        "pictures",
        meaning="with a search: most pictures of candidates in a minute, beside the table; 0: none",
    ) = key(10.0, "--pictures", metavar="N")
    dump: Text(
        "with a search: the voltages of all inputs around each candidate: .sigmf-meta, .raw (GUPPI "
        "raw) or .dada, with {time} in the name, which becomes the UTC time of the first spectrum; "
        "{id} becomes the name of the candidate, and {input} or {channel} makes a file for each"
    ) = key(None, "--dump", metavar="FILE", programs=OF_BEAMS)
    dump_seconds: Seconds("with dumps: time for which voltages are kept in memory") = key(
        None,
        "--dump-seconds",
        metavar="SECONDS",
        otherwise="as long as the search takes to find a pulse",
        programs=OF_BEAMS,
    )

    @property
    def wanted(self):
        """The parameters of the search; None: there is none."""
        return None if self.trials is None else texts.parse_search(self.trials)

    def check(self, plan):
        """Refuses files of a search that is not there, and dumps beside those of the ring."""
        if self.trials is None:
            for name in ("candidates", "dump", "dump_seconds"):
                if getattr(self, name) is not None:
                    raise plan.error(
                        f"search.{name}",
                        f"is of {plan.naming('search.trials')}, which is not given",
                    )
            return
        check_file_name(plan, "search.candidates", TABLES, ("time",))
        check_file_name(
            plan, "search.dump", DUMP_ENDINGS, ("id", "time", "input", "channel"), ("id",)
        )
        if self.dump is not None and plan.ring.file is not None:
            raise plan.error(
                "search.dump",
                "is not allowed beside a section ring, whose dumps candidates trigger",
            )


@dataclass(frozen=True)
class Fold:
    """The profiles of a pulsar."""

    by: Form(
        "also fold the powers of all beams, with a period in seconds at the telescope "
        "(0.7145,dm=26.76) or by a timing model",
        texts.parse_fold,
        named=True,
    ) = key(None, "--fold", metavar="PERIOD|FILE.par")
    file: Text(
        "with a folding: the PSRFITS file, with {beam} in its name where there are several; {time} "
        "becomes the UTC time of the first sub-integration"
    ) = key(
        None,
        "--profiles",
        metavar="FILE.fits",
        otherwise="named after the file of beams or powers, or profiles-{time}.fits",
    )
    bins: like(folder, "bins", meaning="with a folding: bins of a revolution") = key(
        128, "--fold-bins", metavar="N"
    )
    subintegration: Seconds(
        "with a folding: length of a sub-integration", most=like(folder, "subintegration").most
    ) = key(10.0, "--subintegration", metavar="SECONDS")

    @property
    def wanted(self):
        """(period, dm, file), the first two or the last one None; None: nothing is folded."""
        return None if self.by is None else texts.parse_fold(self.by)

    def check(self, plan):
        """Refuses what is no name of profiles, and a timing model that is no file."""
        check_file_name(plan, "fold.file", PROFILES, ("beam", "time"))
        if self.by is not None and self.wanted[2] is not None:
            check_regular(os.path.expanduser(self.by), "the timing model")


@dataclass(frozen=True)
class Ring:
    """The last voltages, written when a trigger comes."""

    file: Text("files of dumps, with {time} and {id} in the name: .sigmf-meta, .raw or .dada") = (
        None
    )
    seconds: Seconds("time for which voltages are kept in memory") = 10.0
    most_bytes: Bytes("most bytes of all dumps together") = 10**11
    by_search: Switch("true if candidates of the search trigger dumps") = True

    def check(self, plan):
        """Refuses what is no name of dumps."""
        check_file_name(
            plan, "ring.file", DUMP_ENDINGS, ("id", "time", "input", "channel"), ("time", "id")
        )
        if self.file is not None and plan.network.role != "fx":
            raise plan.error(
                "ring.file",
                "is not allowed for a host that has a part of the correlator; it must be left out",
            )
