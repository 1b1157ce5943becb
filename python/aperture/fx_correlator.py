#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A whole FX correlator in one block."""

from gnuradio import gr

from .aperture_python import f_engine, receiver_tags, xengine
from .parameters.description import Integer, Number, Switch, Text

FRAME_BYTES = 1 << 20
MOST_SPECTRA, FEWEST_SPECTRA = 1024, 16
#: frames in an integration, at least, where the rate is known: its length is a whole number of them
FRAMES_IN_INTEGRATION = 8


def spectra_in_frame(channels, inputs, integration, spectra_a_second=0):
    """
    Spectra in a frame: about a megabyte of them, a power of two from 16 to 1024.

    integration: seconds; spectra_a_second: 0 if they are not known. If they are, frames are so
    short that an integration is at least eight, as far as one spectrum allows.
    """
    most = max(FEWEST_SPECTRA, min(MOST_SPECTRA, FRAME_BYTES // (8 * channels * inputs)))
    if spectra_a_second > 0:
        most = max(1, min(most, int(integration * spectra_a_second / FRAMES_IN_INTEGRATION)))
    return 1 << (most.bit_length() - 1)


#: Types of the samples that blocks with an F-engine inside take.
INPUT_TYPE = Text(
    "fc32, sc16, sc8, sc4, f32, s16, s12, s10 or s8",
    *("fc32", "sc16", "sc8", "sc4", "f32", "s16", "s12", "s10", "s8"),
)


class fx_correlator(gr.hier_block2):
    """
    Correlates samples: from N inputs to the visibilities of all their pairs.

    F-engine and X-engine in one block, for a beginning: how finely to look at the band, and for how
    long to sum, is all that has to be said. The separate blocks f_engine and xengine, and before
    them stream_align for receivers that begin at different times, have all other choices.

    Ports in: inputs / inputs_per_port, of samples as f_engine has them. One port out:
    [channel][product] of fc32, an item an integration, for fringe_display, uvh5_sink and select.
    Message ports: delays and gains in, to the F-engine; status out, of both.

    Raises:
        ValueError: names the parameter, its value and what is allowed
    """

    def __init__(
        self,
        channels: Integer("of the band: even, 4 to 65536", 4, 65536) = 1024,
        integration: Number(
            "seconds that are summed to one item, rounded to frames",
            0,
            1e9,
            open=True,
            unit="s",
            settable=True,
        ) = 0.5,
        inputs: Integer("antennas times polarisations", 1, 65536) = 2,
        input_type: INPUT_TYPE = "fc32",
        inputs_per_port: Integer("interleaved sample by sample", 1, 65536) = 1,
        sample_rate: Number(
            "samples a second of an input, for sources that do not say it; 0: the stream says "
            "it (tag rx_rate)",
            0,
            unit="Hz",
        ) = 0.0,
        center_frequency: Number(
            "Hz, the sky frequency of the middle of the band, for sources that do not say it; "
            "0: the stream says it (tag rx_freq), or it is not known",
            0,
            unit="Hz",
        ) = 0.0,
        inverted: Switch("the mixer mirrored the band") = False,
        device: Text("auto, cpu, cuda or cuda:N") = "auto",
    ):
        # checks all that both take
        spectra = spectra_in_frame(
            max(int(channels), 1),
            max(int(inputs), 1),
            integration,
            sample_rate
            / max(int(channels), 1)
            / (1 if input_type in ("fc32", "sc16", "sc8", "sc4") else 2),
        )
        #: the two blocks inside
        self.f_engine = f_engine(
            channels=channels,
            inputs=inputs,
            inputs_per_port=inputs_per_port,
            input_type=input_type,
            spectra_per_frame=spectra,
            inverted=inverted,
            device=device,
        )
        self.xengine = xengine(
            channels=channels,
            inputs=inputs,
            spectra_per_frame=spectra,
            type="fc32",
            integration=integration,
            integration_unit="seconds",
            device=device,
        )
        into, out = self.f_engine.input_signature(), self.xengine.output_signature()
        ports, size = into.max_streams(), into.sizeof_stream_item(0)
        gr.hier_block2.__init__(
            self,
            "fx_correlator",
            gr.io_signature(ports, ports, size),
            gr.io_signature(1, 1, out.sizeof_stream_item(0)),
        )
        # an item of packed samples holds several
        items_a_second = sample_rate / samples_in_item(input_type, inputs_per_port, size)
        for port in range(ports):
            last = self
            if sample_rate or center_frequency:
                # no times: the F-engine takes the host's clock for all of them together, where
                # times of their own would differ by when the host came to each
                tags = receiver_tags(
                    item_size=size,
                    rate=items_a_second,
                    center_frequency=center_frequency,
                    clock="none",
                )
                self.connect((self, port), tags)
                last = tags
            self.connect((last, port if last is self else 0), (self.f_engine, port))
        self.connect(self.f_engine, self.xengine, self)
        for name in ("delays", "gains"):
            self.message_port_register_hier_in(name)
            self.msg_connect(self, name, self.f_engine, name)
        self.message_port_register_hier_out("status")
        for block in (self.f_engine, self.xengine):
            self.msg_connect(block, "status", self, "status")

    def set_integration(self, seconds):
        """Sums for so many seconds from the next integration on."""
        self.xengine.set_integration(seconds, "seconds")

    def tapped_block(self, port):
        """The block within that has an output, and which of that block's it is: for tap()."""
        return self.xengine, port

    def device_name(self):
        """Returns where it runs: cpu, cuda:0, ..."""
        return self.xengine.device_name()

    def error(self):
        """Returns what ended it before its time; empty if there was no error since the last
        start."""
        return self.f_engine.error() or self.xengine.error()


def samples_in_item(input_type, inputs_per_port, item_size):
    """Samples of each input in an item of a port, which is larger than 1 of packed samples."""
    bits = {"s12": 12, "s10": 10}.get(input_type)
    return item_size * 8 // (bits * inputs_per_port) if bits else 1
