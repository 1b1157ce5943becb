#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of voltages: what formats can hold, and how channels and inputs are spread over them."""

import os

from ..files.file_names import check_different, name_text
from ..parameters.rules import refuse
from ..system import linux
from .dada.writer import DadaWriter
from .guppi.header import numbered, sequence
from .guppi.writer import GuppiWriter
from .sigmf.writer import SigmfWriter, both_names
from .voltages import GUPPI_ENDING, SIGMF_ENDINGS

CHANNEL = "{channel}"
SPARE_FILES = 64  # descriptors that are left to everything else


class VoltageFiles:
    """
    The files of some channels and inputs (or beams) of an edge; the ending of the name chooses the
    format.

    Attributes: `guppi` and `sigmf`, whether it is that format; `pairs`, lists of numbers of inputs,
    one each or those of two polarisations; `parts`, of each file (channels, numbers of inputs);
    `patterns`, its name without {channel}, {input} and {beam}.

    Parameters
    ----------
    name : str
    endings : sequence of str
        The first of each format that is allowed.
    edge : dumps.voltage_edge.VoltageEdge
    channels, inputs : list of int
    polarizations : int
        How many inputs in a row belong together.
    names : callable
        names(pairs): the name of each of the pairs.
    channels_are : str
        The parameter that has the channels.
    more : int
        Files that are open beside these.

    Raises
    ------
    ParameterError
        The format cannot hold this.
    """

    def __init__(
        self,
        name,
        endings,
        edge,
        channels,
        inputs,
        polarizations,
        names,
        channels_are="channels",
        more=0,
    ):
        self.name, self.guppi = name, name.endswith(GUPPI_ENDING)
        self.sigmf = name.endswith(SIGMF_ENDINGS)
        rows, together = edge.rows, polarizations
        if not (self.sigmf or name.endswith(tuple(endings))):
            refuse("filename", name, f"a name that ends in {', '.join(endings)}")
        if self.guppi and edge.type == "fc32":
            refuse("type", edge.type, "sc8 or sc4: GUPPI raw has 8 bits")
        if len(inputs) % together:
            problem = f"1: {len(inputs)} {rows} are written, which are no pairs"
            refuse("polarizations", together, problem)
        self.pairs = [inputs[i : i + together] for i in range(0, len(inputs), together)]
        neighbours = channels == list(range(channels[0], channels[0] + len(channels)))
        if self.sigmf and len(channels) > 1 and CHANNEL not in name:
            problem = (
                f"a name with {CHANNEL} in it: a SigMF recording has one frequency, and "
                f"{len(channels)} channels are written (or choose one of them)"
            )
            refuse("filename", name, problem)
        if self.guppi and len(self.pairs) > 1 and edge.field not in name:
            problem = (
                f"a name with {edge.field} in it: a GUPPI raw file has one of the "
                f"{len(self.pairs)} {rows} (or pairs of them)"
            )
            refuse("filename", name, problem)
        if self.guppi and len(channels) < 2:
            problem = (
                "at least two channels: readers of GUPPI raw take those of one for real samples"
            )
            refuse(channels_are, channels, problem)
        if not (self.sigmf or neighbours or CHANNEL in name):
            problem = "neighbours in ascending order, as GUPPI raw and DADA have them"
            refuse(channels_are, channels, problem)
        places = [[place] for place in range(len(self.pairs))]
        if edge.field not in name:
            places = [sum(places, [])]
        groups = [[channel] for channel in channels] if CHANNEL in name else [channels]
        self.parts = [
            (group, [number for place in row for number in self.pairs[place]])
            for group in groups
            for row in places
        ]
        texts, digits = names(self.pairs), len(str(edge.channels - 1))
        self.patterns = [
            name.replace(CHANNEL, f"{group[0]:0{digits}d}").replace(
                edge.field, name_text(texts[row[0]])
            )
            for group in groups
            for row in places
        ]
        check_different(name, self.patterns, rows)
        count = len(self.parts) * (2 if self.sigmf else 1) + more
        most = linux.most_open_files() - SPARE_FILES
        if count > most:
            problem = (
                f"at most {most} files at a time, as this process may open no more (ulimit -n), "
                f"and these are {count}: choose channels or inputs"
            )
            refuse("filename", name, problem)

    def first_names(self, path):
        """The files that are made first of a path."""
        if self.guppi:
            return [numbered(path, 0)]
        return both_names(path) if self.sigmf else [path]

    def is_there(self, path):
        """Returns whether one of the files of a path is there."""
        found = sequence(path) if self.guppi else ()
        return bool(found) or any(map(os.path.lexists, self.first_names(path)))

    def writer(self, path, recording, dtype, spectra, blocks, overwrite):
        """The writer of a Recording; spectra, blocks: of GUPPI raw."""
        if self.guppi:
            return GuppiWriter(path, recording, spectra, blocks, overwrite)
        return (SigmfWriter if self.sigmf else DadaWriter)(path, recording, dtype, overwrite)


def missing_of(inputs, missing):
    """
    The runs of a file's inputs, by their places; None where all of them are missing.

    missing: list of (input, first, count, ...); an input of None: of all.
    """
    if not missing:
        return []
    of_all = [(None, *run[1:]) for run in missing if run[0] is None]
    runs = [[run[1:] for run in missing if run[0] == number] for number in inputs]
    if all(run == runs[0] for run in runs):
        return of_all + [(None, *run) for run in runs[0]]
    return of_all + [(place, *run) for place, several in enumerate(runs) for run in several]
