#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Any input as one block of a flowgraph."""

from gnuradio import gr

from ..parameters.description import Integer, Text
from ..parameters.rules import refuse
from .registry import open_input


class input_source(gr.hier_block2):
    """
    Samples of a simulated array, or of recordings of any format that the commands read.

    One port out: an item is one sample of each input, [input]. The tags rx_time, rx_rate and
    rx_freq are on the first item, `missing` where samples are; rx_time_approximate where a
    recording does not say when it began, and the date of its file is all there is. The text of an
    input is that of `aperture_fx --input`; `aperture_fx --help` lists the kinds.

    Raises:
        ValueError: names the parameter or the file, its value and what is allowed
        PackageError: a RuntimeError that names the command that installs what is missing
    """

    def __init__(
        self,
        input: Text(
            "KIND:NAME[,NAME...][,key=value...], as sim:two-dish or sigmf:a.sigmf-meta"
        ) = "sim:two-dish",
        type: Text(
            "of the samples, as the input has them: fc32, sc16, sc8, f32, s16 or s8"
        ) = "fc32",
        inputs: Integer("how many the input has", 1) = 2,
        array: Text(
            "description of the array, a file or the name of a shipped one; empty: what the "
            "input says"
        ) = "",
        samples: Integer(
            "of each input, then the stream ends; 0: all there are, of simulations without end", 0
        ) = 0,
    ):
        if not isinstance(input, str):
            refuse("input", input, "a text, KIND:NAME")
        signals = open_input(input, None if array == "" else array)
        if signals.ports != 1:
            refuse(
                "input",
                input,
                "an input whose samples are in one port; several receivers are "
                "lined up by stream_align, behind sources of their own",
            )
        if type != signals.sample_type:
            refuse("type", type, f"{signals.sample_type!r}, which is what {input} has")
        if inputs != signals.inputs:
            refuse("inputs", inputs, f"{signals.inputs}, as {input} has so many")
        if (
            not isinstance(samples, int)
            or samples < 0
            or (signals.samples is not None and samples > signals.samples)
        ):
            refuse(
                "samples",
                samples,
                "0 or more"
                if signals.samples is None
                else f"from 0 to the {signals.samples} that {input} has",
            )
        #: the opened input, see inputs.signals.Signals
        self.signals = signals
        #: the block inside
        self.source = signals.source(samples)
        gr.hier_block2.__init__(
            self,
            "input_source",
            gr.io_signature(0, 0, 0),
            gr.io_signature(1, 1, self.source.output_signature().sizeof_stream_item(0)),
        )
        self.connect(self.source, self)
        for text in signals.warnings:
            gr.logger("input_source").warn(text)

    def tapped_block(self, port):
        """The block within that has an output, and which of that block's it is: for tap()."""
        return self.source, port

    def sample_rate(self):
        """Samples a second of each input."""
        return self.signals.sample_rate

    def center_frequency(self):
        """Hz, of the middle of the band."""
        return self.signals.center_frequency

    def start_time(self):
        """Whole seconds since 1970, and their fraction, of the first sample."""
        return self.signals.start_time

    def inverted(self):
        """Returns whether real samples have their band reversed, which the channeliser has to
        know."""
        return self.signals.inverted

    def array(self):
        """The ArrayDescription: that of the input, or the one given."""
        return self.signals.description

    def error(self):
        """Returns why reading ended before its time, or ""."""
        return getattr(self.source, "error", lambda: "")()

    def finish(self):
        """Ends the stream: blocks downstream get all that was sent, and then end as well."""
        self.source.finish()
