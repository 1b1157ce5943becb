#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The flowgraph of aperture_spectrum: an input, a spectrometer, and what it makes."""

from gnuradio import blocks, gr

from ..filterbank_sink import filterbank_sink
from ..fx_correlator import spectra_in_frame
from ..inputs.registry import open_input
from ..spectrometer import spectrometer


class SpectrumChain(gr.top_block):
    """
    Makes spectra of an input.

    Parameters
    ----------
    text : str
        The input, as all commands have it.
    options : dict
        Parameters of the spectrometer.
    seconds : float or None
        Of the input that are taken; None: all.
    filterbank : str or None
        Name of a filterbank file of all spectra.
    array, seed : as of open_input()

    Raises
    ------
    ValueError, RuntimeError, OSError
        As the input and the blocks raise them.
    """

    def __init__(self, text, options, seconds=None, filterbank=None, array=None, seed=None):
        gr.top_block.__init__(self, "aperture_spectrum")
        self.signals = signals = open_input(text, array, seed)
        if signals.channels:
            raise ValueError(f"input {text}: has channels that others made, and not samples")
        wanted = None if seconds is None else round(seconds * signals.sample_rate)
        if signals.samples is not None:
            wanted = signals.samples if wanted is None else min(wanted, signals.samples)
        #: samples that are taken of each input; None: until it ends, or Ctrl-C
        self.samples = wanted
        self.source = signals.source(wanted or 0)
        shortest = min(options["integration"], options["period"] / 2)
        spectra_a_second = signals.sample_rate / options["channels"] / (2 if signals.real else 1)
        self.spectrometer = spectrometer(
            inputs=signals.inputs,
            inputs_per_port=signals.inputs // signals.ports,
            input_type=signals.sample_type,
            inverted=signals.inverted,
            spectra_per_frame=spectra_in_frame(
                options["channels"], signals.inputs, shortest, spectra_a_second
            ),
            **options,
        )
        #: all spectra, in the order of their times
        self.spectra = []
        self.spectrometer.on_spectrum(self.spectra.append)
        for port in range(signals.ports):
            self.connect((self.source, port), (self.spectrometer, port))
        size = self.spectrometer.output_signature().sizeof_stream_item(0)
        self.sink = None
        if filterbank:
            self.sink = filterbank_sink(
                filename=filterbank,
                channels=options["channels"],
                rows=signals.inputs,
                products="power",
            )
        self.connect(self.spectrometer, self.sink or blocks.null_sink(size))

    def start(self, *arguments):
        """Starts it; receivers begin now."""
        if self.signals.live and hasattr(self.source, "prepare"):
            self.source.prepare()
        super().start(*arguments)

    def adjust(self):
        """Looks after receivers; to be called from time to time while it runs."""
        if self.signals.live and hasattr(self.source, "watch"):
            self.source.watch()

    def ended(self):
        """Returns whether all that comes has been looked at."""
        return False

    def samples_done(self):
        """Samples of each input that were taken."""
        done = self.source.nitems_written(0)
        return done if self.samples is None else min(done, self.samples)

    def losses(self):
        """Returns what was missing or clamped so far, as text."""
        engine = self.spectrometer.f_engine
        counts = (("missing", sum(engine.missing())), ("clamped", sum(engine.clamped())))
        return ", ".join(f"{count} {name}" for name, count in counts if count)

    def errors(self):
        """Returns what ended it before its time, as texts."""
        found = [getattr(self.source, "error", lambda: "")(), self.spectrometer.error()]
        if self.sink:
            found.append(self.sink.error())
        return [text for text in found if text]
